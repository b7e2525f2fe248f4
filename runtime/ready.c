/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ready.c - see ready.h. */
#include "runtime/ready.h"

#include "runtime/apart.h"
#include "runtime/outside.h"

#include <stdatomic.h>

enum {
    KEPT_SCRATCH = 1 << 20, /* a GPU's scratch up to this size stays allocated between calls */
    PATIENCE = 16,          /* calls that found nothing ready, until one takes another's place */
    LONG_PATIENCE = 256     /* where the device has to finish everything for that */
};

/* A word of a parameter block and where its value comes from. */
typedef struct patch {
    int64_t *word;
    uint32_t from;  /* argument: inputs, then outputs */
    uint16_t bytes; /* of a scalar that is read; 0: the pointer itself */
    uint16_t skip;  /* bytes of the argument before it */
    uint32_t launch;
    uint32_t call; /* of a series: the number of the call; else 0 */
} patch;

typedef struct shape {
    uint32_t dtype, rank;
    const int64_t *size, *strides; /* strides NULL: dense */
    size_t bytes;
    uintptr_t odd; /* bits of an address that is not aligned to an element */
} shape;

struct fc_ready {
    fc_bound *b; /* holds it */
    fc_arena arena;
    shape *args;        /* inputs, then outputs */
    fc_dim_value *dims; /* sizes that no argument has */
    uint32_t ndims;
    fc_extent *room; /* two for each of many arguments; NULL: they are few */
    fc_prepared *launches;
    uint32_t nlaunches, npatches, nscratch;
    patch *patches;
    patch *in_scratch; /* from is unused: offsets[i] in the scratch block */
    size_t *offsets;
    void *scratch;    /* NULL: none is needed, or it comes with each call */
    fc_stream stream; /* that the scratch belongs to; NULL: the device's own */
    uint64_t stream_id;
    void *graph; /* of the device; NULL: kernels are launched one by one */
    bool series; /* several calls (fc_series_make), which are in no place of the program */
};

/* ---- the arguments --------------------------------------------------------------------------- */

uint32_t fc_common_alignment(const fc_device *d, uint32_t nin, const fc_tensor *in, uint32_t nout,
                             const fc_tensor *out) {
    uintptr_t bits = 64;
    for (uint32_t i = 0; i < nin; i++)
        if (in[i].rank && (d->host_memory || in[i].on_device)) bits |= (uintptr_t)in[i].data;
    for (uint32_t i = 0; i < nout; i++)
        if (d->host_memory || out[i].on_device) bits |= (uintptr_t)out[i].data;
    uint32_t low = (uint32_t)(bits & (~bits + 1));
    return low >= 64 ? 64 : low >= 16 ? 16 : low;
}

static inline bool same_shape(const shape *s, const fc_tensor *t) {
    if ((uint32_t)t->dtype != s->dtype || t->rank != s->rank) return false;
    for (uint32_t i = 0; i < s->rank; i++)
        if (t->shape[i] != s->size[i]) return false;
    if (s->strides || t->strides) {
        if (!s->strides || !t->strides) return false;
        for (uint32_t i = 0; i < s->rank; i++)
            if (t->strides[i] != s->strides[i]) return false;
    }
    return (t->data || !s->bytes) && !((uintptr_t)t->data & s->odd);
}

enum { FEW_PAIRS = 64 }; /* that are compared each with each */

static bool are_few(uint32_t nin, uint32_t nout) {
    return (uint64_t)nout * (nin + nout) <= FEW_PAIRS;
}

static bool all_apart(const fc_ready *r, uint32_t nin, const fc_tensor *in, uint32_t nout,
                      const fc_tensor *out) {
    const uint32_t n = nin + nout;
    for (uint32_t i = 0; i < n; i++) {
        const uintptr_t at = (uintptr_t)(i < nin ? in[i].data : out[i - nin].data);
        r->room[i] = (fc_extent){at - r->b->before[i], at + r->b->from[i], i >= nin};
    }
    return fc_apart(r->room, n, r->room + n);
}

/* Everything that the long way would check, for arguments like those of the call before. */
static bool matches(const fc_program *p, const fc_ready *r, uint32_t nin, const fc_tensor *in,
                    uint32_t ndims, const fc_dim_value *dims, uint32_t nout, const fc_tensor *out) {
    const bool host = p->device->host_memory;
    const shape *s = r->args, *so = r->args + nin;
    if (ndims != r->ndims) return false;
    for (uint32_t i = 0; i < ndims; i++)
        if (dims[i].sym != r->dims[i].sym || dims[i].value != r->dims[i].value) return false;
    for (uint32_t i = 0; i < nin; i++)
        if (!same_shape(&s[i], &in[i]) || !(host || in[i].on_device || !s[i].rank)) return false;
    for (uint32_t o = 0; o < nout; o++) {
        if (!same_shape(&so[o], &out[o]) || !(host || out[o].on_device)) return false;
        if (r->room) continue;
        for (uint32_t i = 0; i < nin; i++)
            if (!fc_bound_apart(r->b, nin + o, out[o].data, i, in[i].data) &&
                !fc_bound_in_place(r->b, nin, i, in[i].data, o, out[o].data))
                return false;
        for (uint32_t i = 0; i < o; i++)
            if (!fc_bound_apart(r->b, nin + o, out[o].data, nin + i, out[i].data)) return false;
    }
    return fc_common_alignment(p->device, nin, in, nout, out) == r->b->align &&
           (!r->room || all_apart(r, nin, in, nout, out));
}

/* ---- running --------------------------------------------------------------------------------- */

static void set_word(fc_ready *r, const patch *x, int64_t value) {
    if (*x->word == value) return;
    *x->word = value;
    r->launches[x->launch].changed = true;
}

/* What comes with a call, or with each of a series. */
static void set_words(fc_ready *r, uint32_t nin, const fc_tensor *in, uint32_t nout,
                      const fc_tensor *out) {
    for (uint32_t i = 0; i < r->npatches; i++) {
        const patch *x = &r->patches[i];
        void *data = x->from < nin ? in[x->call * nin + x->from].data
                                   : out[x->call * nout + x->from - nin].data;
        int64_t value = (int64_t)(uintptr_t)data;
        if (x->bytes) {
            value = 0;
            memcpy(&value, (const char *)data + x->skip, x->bytes);
        }
        set_word(r, x, value);
    }
}

static fusec_status run(fc_program *p, fc_ready *r, fc_stream s, uint32_t nin, const fc_tensor *in,
                        uint32_t nout, const fc_tensor *out, fc_error *e) {
    fc_device *d = p->device;
    void *scratch = NULL;
    set_words(r, nin, in, nout, out);
    if (r->b->scratch && !r->scratch) {
        FC_TRY(d->ops->alloc(d, s, r->b->scratch, &scratch, e));
        for (uint32_t i = 0; i < r->nscratch; i++)
            set_word(r, &r->in_scratch[i], (int64_t)((uintptr_t)scratch + r->offsets[i]));
    }
    fusec_status status = FUSEC_OK;
    if (scratch && r->b->tickets_bytes)
        status = d->ops->zero(d, s, (char *)scratch + r->b->tickets_begin, r->b->tickets_bytes, e);
    if (!status)
        status = r->graph ? d->ops->graph_run(d, s, r->graph, r->launches, r->nlaunches, e)
                          : d->ops->launch_all(d, s, r->launches, r->nlaunches, e);
    if (!status && scratch && r->b->report != SIZE_MAX)
        status = fc_outside_look(
            p, r->b, (const uint64_t *)(const void *)((char *)scratch + r->b->report), e);
    if (scratch) d->ops->free(d, s, scratch);
    return status;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Threads start at different places, so that they do not meet. */
static inline uint32_t first_place(void) {
    return (uint32_t)(((uintptr_t)pthread_self() >> 12) * 0x9e3779b1u >> 16) % FC_READY_PLACES;
}

static void destroy(fc_program *p, fc_ready *r) {
    if (!r) return;
    fc_device *d = p->device;
    if (r->graph) d->ops->graph_free(d, r->graph);
    if (r->scratch && r->stream)
        d->ops->free_used(d, r->scratch); /* the stream may not exist any more */
    else if (r->scratch)
        d->ops->free(d, NULL, r->scratch);
    fc_bound *b = r->b;
    const bool series = r->series;
    fc_arena arena = r->arena; /* holds r itself */
    fc_arena_free(&arena);
    if (b) fc_bound_release(p, b);
    if (!series) atomic_fetch_sub(&p->nready, 1);
}

/* There is a place for each that exists. */
static void put_back(fc_program *p, fc_ready *r, uint32_t first) {
    for (uint32_t k = 0; k < FC_READY_PLACES; k++) {
        fc_ready *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&p->ready[(first + k) % FC_READY_PLACES], &none,
                                                    r, memory_order_acq_rel, memory_order_relaxed))
            return;
    }
    destroy(p, r);
}

/* On a GPU kept scratch belongs to one stream, in whose order it is used, or to the graph. `gone`:
 * that stream does not exist any more, another one has taken its place in memory. */
static bool usable_on(const fc_program *p, const fc_ready *r, fc_stream s, bool *gone) {
    uint64_t id = 0;
    if (!r->scratch || r->graph) return true;
    if (s != r->stream) return false;
    if (!s) return true;
    if (!p->device->ops->stream_id(p->device, s, &id)) return false;
    *gone = id != r->stream_id;
    return !*gone;
}

bool fc_ready_run(fc_program *p, fc_stream s, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                  const fc_dim_value *dims, uint32_t nout, const fc_tensor *out,
                  fusec_status *status, fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    const uint32_t first = first_place();
    if (nin != g->inputs.len || nout != g->outputs.len) return false;
    for (uint32_t k = 0; k < FC_READY_PLACES; k++) {
        _Atomic(fc_ready *) *place = &p->ready[(first + k) % FC_READY_PLACES];
        if (!atomic_load_explicit(place, memory_order_relaxed)) continue;
        fc_ready *r = atomic_exchange_explicit(place, NULL, memory_order_acquire);
        if (!r) continue;
        bool gone = false,
             found = matches(p, r, nin, in, ndims, dims, nout, out) && usable_on(p, r, s, &gone);
        if (found) *status = run(p, r, s, nin, in, nout, out, e);
        if (gone)
            destroy(p, r);
        else
            put_back(p, r, (first + k) % FC_READY_PLACES);
        if (found) return true;
    }
    return p->stored && fc_ready_run(p->stored, s, nin, in, ndims, dims, nout, out, status, e);
}

void fc_ready_free_all(fc_program *p) {
    for (uint32_t i = 0; i < FC_READY_PLACES; i++) destroy(p, atomic_exchange(&p->ready[i], NULL));
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool take_shapes(fc_ready *r, uint32_t nin, const fc_tensor *in, uint32_t nout,
                        const fc_tensor *out) {
    r->args = fc_arena_alloc(&r->arena, (nin + nout + 1) * sizeof *r->args);
    if (!are_few(nin, nout))
        r->room = fc_arena_alloc(&r->arena, 2 * (size_t)(nin + nout) * sizeof *r->room);
    if (!r->args || (!r->room && !are_few(nin, nout))) return false;
    for (uint32_t i = 0; i < nin + nout; i++) {
        const fc_tensor *t = i < nin ? &in[i] : &out[i - nin];
        int64_t *size = fc_arena_alloc(&r->arena, (t->rank + 1) * sizeof *size);
        if (!size) return false;
        if (t->rank) memcpy(size, t->shape, t->rank * sizeof *size);
        const fc_bound *b = r->b;
        r->args[i] = (shape){.dtype = (uint32_t)t->dtype,
                             .rank = t->rank,
                             .size = size,
                             .strides = b->strides ? b->strides[i] : NULL,
                             .bytes = b->bytes[i],
                             .odd = i < nin && !t->rank ? 0 : fc_dtype_align(t->dtype) - 1u};
    }
    return true;
}

static bool take_dims(fc_ready *r, uint32_t ndims, const fc_dim_value *dims) {
    r->dims = fc_arena_alloc(&r->arena, (ndims + 1) * sizeof *r->dims);
    if (r->dims && ndims) memcpy(r->dims, dims, ndims * sizeof *dims);
    r->ndims = ndims;
    return r->dims != NULL;
}

/* What comes with a call into one step's part of the block. */
static void add_step(fc_program *p, fc_ready *r, uint32_t call, uint32_t step, fc_layout at,
                     int64_t *words) {
    const fc_kernel *k = &p->plan->steps.at[step]->kernel;
    const uint32_t nargs = (uint32_t)(p->plan->graph.inputs.len + p->plan->graph.outputs.len),
                   launch = r->nlaunches - 1;
    for (uint32_t a = 0; a < k->args.len; a++) {
        uint32_t buffer = k->args.at[a].buffer;
        patch x = {.word = words + at.args + a, .from = buffer, .launch = launch, .call = call};
        if (buffer < nargs) {
            r->patches[r->npatches++] = x;
        } else {
            r->offsets[r->nscratch] = r->b->place[buffer] + (size_t)words[at.args + a];
            r->in_scratch[r->nscratch++] = x;
        }
    }
    for (uint32_t i = 0; i < k->params.len; i++) {
        const fc_scalar *v = &k->params.at[i];
        if (v->is_dim) continue;
        r->patches[r->npatches++] = (patch){.word = words + at.params + i,
                                            .from = v->source,
                                            .bytes = fc_dtypes[v->dtype].bytes,
                                            .skip = v->part * fc_dtypes[v->dtype].bytes,
                                            .launch = launch,
                                            .call = call};
    }
}

static void add_launch(fc_program *p, fc_ready *r, uint32_t call, const fc_bound_launch *l,
                       int64_t *words) {
    const fc_bound_step *s = &r->b->steps[l->steps[0]];
    r->launches[r->nlaunches++] = (fc_prepared){.code = s->variant->code,
                                                .cls = &s->cls,
                                                .launch = &s->launch,
                                                .params = words,
                                                .words = l->nwords,
                                                .strips = l->strips};
    memcpy(words, l->words, l->nwords * sizeof *words);
    for (uint32_t i = 0; i < l->n; i++)
        add_step(p, r, call, l->steps[i], fc_launch_layout(s, l, i), words);
    const bool reports =
        r->b->report != SIZE_MAX && p->plan->steps.at[l->steps[0]]->kernel.checks.len;
    const size_t report =
        reports ? r->b->report + fc_outside_offset(p->plan, l->steps[0]) : SIZE_MAX;
    const size_t extra[3] = {s->workspace, s->tickets, report};
    const int word[3] = {FC_PB_WORKSPACE, FC_PB_TICKETS, FC_PB_REPORT};
    if (p->report)
        words[s->layout.extra + FC_PB_REPORT] = fc_outside_address(p, r->b, l->steps[0], NULL);
    for (int i = 0; i < 3; i++) {
        if (extra[i] == SIZE_MAX) continue;
        r->offsets[r->nscratch] = extra[i];
        r->in_scratch[r->nscratch++] =
            (patch){.word = words + s->layout.extra + word[i], .launch = r->nlaunches - 1};
    }
}

/* Of `calls` calls, each with parameter blocks of its own. */
static bool add_launches(fc_program *p, fc_ready *r, uint32_t calls) {
    const fc_bound *b = r->b;
    size_t npatches = 0, nscratch = 3 * b->nlaunches, words = 0;
    for (uint32_t i = 0; i < b->nlaunches; i++) {
        words += b->launches[i].nwords;
        for (uint32_t m = 0; m < b->launches[i].n; m++) {
            const fc_kernel *k = &p->plan->steps.at[b->launches[i].steps[m]]->kernel;
            npatches += k->args.len + k->params.len;
            nscratch += k->args.len;
        }
    }
    r->launches =
        fc_arena_alloc(&r->arena, (calls * (size_t)b->nlaunches + 1) * sizeof *r->launches);
    r->patches = fc_arena_alloc(&r->arena, (calls * npatches + 1) * sizeof *r->patches);
    r->in_scratch = fc_arena_alloc(&r->arena, (calls * nscratch + 1) * sizeof *r->in_scratch);
    r->offsets = fc_arena_alloc(&r->arena, (calls * nscratch + 1) * sizeof *r->offsets);
    int64_t *block = fc_arena_alloc(&r->arena, (calls * words + 1) * sizeof *block);
    if (!r->launches || !r->patches || !r->in_scratch || !r->offsets || !block) return false;
    for (uint32_t call = 0; call < calls; call++)
        for (uint32_t i = 0; i < b->nlaunches; i++) {
            const fc_bound_launch *l = &b->launches[i];
            if (b->steps[l->steps[0]].nest.empty) continue;
            add_launch(p, r, call, l, block);
            block += l->nwords;
        }
    return true;
}

/* Scratch that stays: tickets are zeroed once, for kernels leave them so. A stream of the caller's
 * comes after what the device's own one has done to it. */
static bool keep_scratch(fc_program *p, fc_ready *r, fc_stream stream) {
    fc_device *d = p->device;
    const bool graph = r->series || (p->graph && d->ops->graph_make && r->nlaunches > 1);
    if (!r->b->scratch || d->host_memory || (!graph && r->b->scratch > KEPT_SCRATCH)) return true;
    if (stream && !graph) {
        if (!d->ops->stream_id(d, stream, &r->stream_id)) return false;
        if (!r->stream_id) return true;
        r->stream = stream;
    }
    if (d->ops->alloc(d, NULL, r->b->scratch, &r->scratch, NULL)) return false;
    if (r->b->tickets_bytes &&
        d->ops->zero(d, NULL, (char *)r->scratch + r->b->tickets_begin, r->b->tickets_bytes, NULL))
        return false;
    if (r->stream && d->ops->sync(d, NULL, NULL)) return false;
    for (uint32_t i = 0; i < r->nscratch; i++)
        *r->in_scratch[i].word = (int64_t)((uintptr_t)r->scratch + r->offsets[i]);
    return true;
}

static fc_ready *empty(fc_program *p, fc_bound *b) {
    fc_arena arena;
    fc_arena_init(&arena, p->alloc);
    fc_ready *r = fc_arena_alloc(&arena, sizeof *r);
    if (!r) {
        fc_arena_free(&arena);
        return NULL;
    }
    memset(r, 0, sizeof *r);
    r->arena = arena;
    r->b = fc_bound_hold(p, b);
    return r;
}

/* Counted in nready by the caller; whatever fails uncounts it. */
static fc_ready *make(fc_program *p, fc_stream s, fc_bound *b, uint32_t nin, const fc_tensor *in,
                      uint32_t ndims, const fc_dim_value *dims, uint32_t nout,
                      const fc_tensor *out) {
    fc_device *d = p->device;
    fc_ready *r = empty(p, b);
    if (!r) {
        atomic_fetch_sub(&p->nready, 1);
        return NULL;
    }
    bool ok = take_shapes(r, nin, in, nout, out) && take_dims(r, ndims, dims) &&
              add_launches(p, r, 1) && keep_scratch(p, r, s);
    /* a driver without graphs: the same kernels one by one */
    if (ok && p->graph && d->ops->graph_make && r->nlaunches > 1 &&
        d->ops->graph_make(d, r->launches, r->nlaunches, &r->graph, NULL))
        r->graph = NULL;
    if (ok) return r;
    destroy(p, r);
    return NULL;
}

/* The next call finds room where this one leaves some. */
static void make_room(fc_program *p, uint32_t place) {
    const uint32_t misses = atomic_fetch_add(&p->misses, 1);
    if (misses % PATIENCE) return;
    fc_ready *r = atomic_exchange(&p->ready[place], NULL);
    if (r && r->stream && misses % LONG_PATIENCE)
        put_back(p, r, place);
    else
        destroy(p, r);
}

void fc_ready_keep(fc_program *p, fc_stream s, fc_bound *b, uint32_t nin, const fc_tensor *in,
                   uint32_t ndims, const fc_dim_value *dims, uint32_t nout, const fc_tensor *out) {
    const fc_device *d = p->device;
    for (uint32_t i = 0; i < nin; i++) /* what must be copied is never ready */
        if (in[i].rank && !d->host_memory && !in[i].on_device) return;
    for (uint32_t i = 0; i < nout; i++)
        if (!d->host_memory && !out[i].on_device) return;
    const uint32_t first = first_place();
    if (atomic_fetch_add(&p->nready, 1) >= FC_READY_PLACES) {
        atomic_fetch_sub(&p->nready, 1);
        make_room(p, first);
        return;
    }
    fc_ready *r = make(p, s, b, nin, in, ndims, dims, nout, out);
    if (r) put_back(p, r, first);
}

/* ---- series ---------------------------------------------------------------------------------- */

enum { MOST_NODES = 128, MOST_SCRATCH = 8 << 20 };

bool fc_series_possible(const fc_program *p, fc_stream s) {
    fc_device *d = p->device;
    uint64_t id;
    if (!d->ops->graph_make || d->host_memory) return false;
    for (size_t i = 0; i < p->plan->steps.len; i++)
        if (p->plan->steps.at[i]->kind != FC_STEP_KERNEL) return false;
    return !s || (d->ops->stream_id && d->ops->stream_id(d, s, &id)); /* it is not recorded */
}

fc_ready *fc_series_make(fc_program *p, fc_bound *b, uint32_t calls, uint32_t nin,
                         const fc_tensor *in, uint32_t nout, const fc_tensor *out) {
    fc_device *d = p->device;
    if (b->scratch > MOST_SCRATCH || calls * (size_t)b->nlaunches > MOST_NODES) return NULL;
    fc_ready *r = empty(p, b);
    if (!r) return NULL;
    r->series = true;
    bool ok = add_launches(p, r, calls) && r->nlaunches && keep_scratch(p, r, NULL);
    if (ok) set_words(r, nin, in, nout, out);
    ok = ok && !d->ops->graph_make(d, r->launches, r->nlaunches, &r->graph, NULL);
    for (uint32_t i = 0; ok && i < r->nlaunches; i++) r->launches[i].changed = false;
    if (ok) return r;
    destroy(p, r);
    return NULL;
}

fusec_status fc_series_run(fc_program *p, fc_ready *r, fc_stream s, uint32_t nin,
                           const fc_tensor *in, uint32_t nout, const fc_tensor *out, fc_error *e) {
    return run(p, r, s, nin, in, nout, out, e);
}

uint32_t fc_series_alignment(const fc_ready *r) {
    return r->b->align;
}

void fc_series_free(fc_program *p, fc_ready *r) {
    destroy(p, r);
}
