/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stage.c - see stage.h. Host memory is copied by a loop, memory of a device by a program of one
 * kernel, y = x, which a context makes when it is first needed, one for each width and rank. */
#include "runtime/stage.h"

#include "runtime/strides.h"

/* ---- copies on the device -------------------------------------------------------------------- */

struct fc_copier {
    struct fc_copier *next;
    fc_device *device;
    fusec_dtype dtype;
    uint32_t rank;
    fc_program *p;
};

static struct fc_copier *find_copier(fc_context *c, const fc_device *d, fusec_dtype t,
                                     uint32_t rank) {
    pthread_mutex_lock(&c->lock);
    struct fc_copier *k = c->copiers;
    while (k && (k->device != d || k->dtype != t || k->rank != rank)) k = k->next;
    pthread_mutex_unlock(&c->lock);
    return k;
}

static fusec_status make_program(fc_context *c, fc_device *d, fusec_dtype t, uint32_t rank,
                                 fc_program **p, fc_error *e) {
    fc_graph g;
    fc_dim shape[FC_MAX_RANK];
    fc_graph_init(&g, &c->config.alloc, NULL);
    for (uint32_t i = 0; i < rank; i++) {
        char name[16] = {'n', (char)('a' + i % 26), (char)('a' + i / 26)};
        shape[i] = fc_dim_named(&g.dims, name);
    }
    fc_build_output(&g, "y", fc_build_input(&g, "x", t, rank, shape));
    fusec_status s = g.error.code ? (*e = g.error, e->code) : FUSEC_OK;
    if (!s) s = fc_program_new(c, &g, &(fc_program_options){.device = d, .name = "copy"}, p, e);
    fc_graph_free(&g);
    return s;
}

/* Two threads may make the same one; then there are two. */
static fusec_status copier(fc_context *c, fc_device *d, fusec_dtype t, uint32_t rank,
                           fc_program **p, fc_error *e) {
    struct fc_copier *k = find_copier(c, d, t, rank);
    if (!k) {
        if (!(k = fc_calloc(&c->config.alloc, 1, sizeof *k))) return fc_oom(e);
        *k = (struct fc_copier){.device = d, .dtype = t, .rank = rank};
        if (make_program(c, d, t, rank, &k->p, e)) {
            fc_free(&c->config.alloc, k);
            return e->code;
        }
        pthread_mutex_lock(&c->lock);
        k->next = c->copiers;
        c->copiers = k;
        pthread_mutex_unlock(&c->lock);
    }
    *p = k->p;
    return FUSEC_OK;
}

void fc_copiers_free(fc_context *c) {
    while (c->copiers) {
        struct fc_copier *k = c->copiers;
        c->copiers = k->next;
        fc_program_free(k->p);
        fc_free(&c->config.alloc, k);
    }
}

static fusec_dtype same_width(fusec_dtype t) {
    switch (fc_dtypes[t].bytes) {
    case 1: return FUSEC_U8;
    case 2: return FUSEC_U16;
    case 4: return FUSEC_U32;
    case 16: return FUSEC_C128;
    default: return FUSEC_U64;
    }
}

static fusec_status copy(fc_stage *s, const fc_tensor *from, const fc_tensor *to, fc_error *e) {
    const fusec_dtype t = same_width(from->dtype);
    if (!from->on_device || s->p->device->host_memory) {
        fc_strided_copy(fc_dtypes[t].bytes, from->rank, from->shape, to->data, to->strides,
                        from->data, from->strides);
        return FUSEC_OK;
    }
    fc_program *p = NULL;
    fc_tensor x = *from, y = *to;
    x.dtype = y.dtype = t;
    FC_TRY(copier(s->p->ctx, s->p->device, t, from->rank, &p, e));
    return fc_program_run(p, s->stream, 1, &x, 0, NULL, 1, &y, e);
}

/* ---- arguments ------------------------------------------------------------------------------- */

void fc_stage_open(fc_stage *s, fc_program *p, fc_stream stream, uint32_t nin, const fc_tensor *in,
                   uint32_t nout, const fc_tensor *out) {
    *s = (fc_stage){.p = p, .stream = stream, .nin = nin, .nout = nout, .in = in, .out = out};
}

static bool on_host(const fc_stage *s, const fc_tensor *t) {
    return s->p->device->host_memory || !t->on_device;
}

static const fc_tensor *argument(const fc_stage *s, uint32_t i) {
    return i < s->nin ? &s->in[i] : &s->out[i - s->nin];
}

static const char *name_of(const fc_stage *s, uint32_t i) {
    const fc_graph *g = &s->p->plan->graph;
    return i < s->nin ? g->inputs.at[i].name : g->outputs.at[i - s->nin].name;
}

fusec_status fc_stage_start(fc_stage *s, fc_error *e) {
    const bool host = s->p->device->host_memory;
    for (uint32_t i = 0; i < s->nin + s->nout; i++) {
        const fc_tensor *t = argument(s, i);
        const bool odd = ((uintptr_t)t->data & (fc_dtype_align(t->dtype) - 1u)) != 0;
        if (i < s->nin && !t->rank && on_host(s, t)) continue; /* read byte by byte */
        if (odd && !on_host(s, t))
            return fc_fail(e, FUSEC_INVALID, "%s is not aligned to its elements of %u bytes",
                           name_of(s, i), fc_dtype_align(t->dtype));
        if (host ? odd : t->strides && !t->on_device) FC_TRY(fc_stage_replace(s, i, e));
    }
    return FUSEC_OK;
}

static fusec_status make_room(fc_stage *s, fc_error *e) {
    const fc_alloc *a = s->p->alloc;
    const uint32_t n = s->nin + s->nout;
    s->memory = fc_calloc(a, n, sizeof *s->memory);
    s->args = fc_calloc(a, n, sizeof *s->args);
    if (!s->args || !s->memory) {
        fc_free(a, s->memory);
        fc_free(a, s->args);
        s->args = NULL;
        return fc_oom(e);
    }
    for (uint32_t i = 0; i < n; i++) s->args[i] = *argument(s, i);
    return FUSEC_OK;
}

static bool is_huge(const fc_tensor *t, size_t *bytes) {
    int64_t n = fc_dtypes[t->dtype].bytes;
    *bytes = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->shape[i] == 0) return false;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->shape[i] < 0 || !fc_mul_ok(n, t->shape[i], &n)) return true;
    *bytes = (size_t)n;
    return false;
}

fusec_status fc_stage_replace(fc_stage *s, uint32_t i, fc_error *e) {
    fc_device *d = s->p->device;
    const fc_tensor *t = argument(s, i);
    size_t bytes;
    if (!s->args) FC_TRY(make_room(s, e));
    /* what is wrong with it is for the call to say */
    if (is_huge(t, &bytes) || !bytes || !t->data) {
        s->args[i].strides = NULL; /* of no element they say nothing */
        return FUSEC_OK;
    }
    if (!d->host_memory && !t->on_device) {
        if (!(s->memory[i] = fc_malloc(s->p->alloc, bytes))) return fc_oom(e);
    } else {
        FC_TRY(fc_context_memory(s->p->ctx, d, s->stream, bytes, &s->memory[i], e));
    }
    s->args[i].data = s->memory[i];
    s->args[i].strides = NULL;
    return i < s->nin ? copy(s, t, &s->args[i], e) : FUSEC_OK;
}

fusec_status fc_stage_finish(fc_stage *s, fc_error *e) {
    for (uint32_t i = s->nin; s->args && i < s->nin + s->nout; i++)
        if (s->memory[i]) FC_TRY(copy(s, &s->args[i], argument(s, i), e));
    return FUSEC_OK;
}

void fc_stage_close(fc_stage *s) {
    fc_device *d = s->p->device;
    for (uint32_t i = 0; s->args && i < s->nin + s->nout; i++) {
        if (!s->memory[i]) continue;
        if (d->host_memory || argument(s, i)->on_device)
            d->ops->free(d, s->stream, s->memory[i]);
        else
            fc_free(s->p->alloc, s->memory[i]);
    }
    fc_free(s->p->alloc, s->args);
    if (s->args) fc_free(s->p->alloc, s->memory);
    s->args = NULL;
}
