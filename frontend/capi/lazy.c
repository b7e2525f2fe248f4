/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy.c - values computed on demand: what is missing is extracted, planned or found, run, and kept
 * with its node. */
#include "frontend/capi/key.h"

/* ---- results --------------------------------------------------------------------------------- */

/* Memory for a result, as the last entry of the table; it is filled, or goes with drop_stored. */
static fusec_status store(fusec_graph *g, fc_node n, size_t bytes, fc_error *e) {
    fc_device *d = g->ctx->device;
    fc_stored r = {0};
    if (n >= g->stored_of.len) {
        if (!fc_reserve(g->ir.alloc, &g->stored_of, (size_t)n + 1)) return fc_oom(e);
        memset(g->stored_of.at + g->stored_of.len, 0,
               (n + 1 - g->stored_of.len) * sizeof *g->stored_of.at);
        g->stored_of.len = (size_t)n + 1;
    }
    FC_TRY(fc_context_memory(g->ctx->runtime, d, NULL, bytes, &r.data, e));
    if (!fc_push(g->ir.alloc, &g->stored, r)) {
        d->ops->free(d, NULL, r.data);
        return fc_oom(e);
    }
    return FUSEC_OK;
}

static void drop_stored(fusec_graph *g, size_t keep) {
    fc_device *d = g->ctx->device;
    while (g->stored.len > keep) d->ops->free(d, NULL, g->stored.at[--g->stored.len].data);
}

/* Where the node's data is if it is there: a result, or an array in memory that the
 * device reads. */
static const void *data_of(const fusec_graph *g, fc_node n, bool *there) {
    const fc_stored *r = fc_result_of(g, n);
    *there = true;
    if (r) return r->data;
    const fc_ninfo *i = fc_at(&g->ir, n);
    if (i->op == FC_OP_INPUT) {
        const fc_leaf *leaf = &g->leaves.at[i->attr];
        if (leaf->bound && (leaf->on_device || g->ctx->device->host_memory)) return leaf->data;
    }
    *there = false;
    return NULL;
}

/* ---- inputs of a run ------------------------------------------------------------------------- */

/* A rank-0 input is read by the host: brings its element there, once. */
static fusec_status scalar_to_host(fusec_graph *g, fc_node n, const void *from, uint64_t *to,
                                   fc_error *e) {
    fc_device *d = g->ctx->device;
    size_t bytes = fc_dtypes[fc_at(&g->ir, n)->dtype].bytes;
    FC_TRY(d->ops->download(d, NULL, to, from, bytes, e));
    return d->ops->sync(d, NULL, e);
}

static fusec_status input_of(fusec_graph *g, fc_node n, fc_arena *arena, fc_tensor *t,
                             fc_error *e) {
    uint32_t rank = fc_rank(&g->ir, n), i = n < g->stored_of.len ? g->stored_of.at[n] : 0;
    int64_t *shape = fc_arena_alloc(arena, (rank + 1) * sizeof *shape);
    if (!shape) return fc_oom(e);
    FC_TRY(fc_known_shape(g, n, shape, NULL, e));
    *t = (fc_tensor){.dtype = (fusec_dtype)fc_at(&g->ir, n)->dtype, .rank = rank, .shape = shape};
    if (fc_at(&g->ir, n)->op == FC_OP_CONST && !i) { /* a number that is an argument */
        if (!(t->data = fc_arena_alloc(arena, sizeof(uint64_t)))) return fc_oom(e);
        memcpy(t->data, &fc_at(&g->ir, n)->attr, sizeof(uint64_t));
        return FUSEC_OK;
    }
    fc_stored *r = i ? &g->stored.at[i - 1] : NULL;
    const fc_leaf *leaf = r ? NULL : &g->leaves.at[fc_at(&g->ir, n)->attr];
    t->data = r ? r->data : (void *)(uintptr_t)leaf->data;
    t->on_device = r || leaf->on_device;
    if (rank || !t->on_device || g->ctx->device->host_memory) return FUSEC_OK;
    uint64_t *word = r ? r->scalar : fc_arena_alloc(arena, 2 * sizeof *word);
    if (!word) return fc_oom(e);
    if (!r || !r->has_scalar) FC_TRY(scalar_to_host(g, n, t->data, word, e));
    if (r) r->has_scalar = true;
    t->data = word;
    t->on_device = false;
    return FUSEC_OK;
}

/* Sizes that no array of the run has: the program asks for them by name. */
static fc_dim_value *free_sizes(const fc_planned *p, const fc_key *k, fc_arena *arena) {
    fc_dim_value *v = fc_arena_alloc(arena, (p->nfree + 1) * sizeof *v);
    for (uint32_t i = 0; v && i < p->nfree; i++)
        v[i] = (fc_dim_value){.sym = p->free[i].sym, .value = k->sizes.at[p->free[i].named]};
    return v;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Runs the expression's program; the results of `nodes` are the last entries of g->stored. */
static fusec_status run(fusec_graph *g, const fc_planned *p, const fc_key *k, const fc_node *nodes,
                        uint32_t n, fc_arena *arena, fc_error *e) {
    size_t first = g->stored.len, nin = k->inputs.len;
    fc_dim_value *sizes = free_sizes(p, k, arena);
    fc_tensor *in = fc_arena_alloc(arena, (nin + 1) * sizeof *in),
              *out = fc_arena_alloc(arena, n * sizeof *out);
    if (!in || !out || !sizes) return fc_oom(e);
    bool from_host = false;
    for (size_t i = 0; i < nin; i++) {
        FC_TRY(input_of(g, k->inputs.at[i], arena, &in[i], e));
        from_host |= !in[i].on_device;
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t *shape = fc_arena_alloc(arena, (fc_rank(&g->ir, nodes[i]) + 1) * sizeof *shape);
        size_t bytes;
        if (!shape) return fc_oom(e);
        FC_TRY(fc_known_shape(g, nodes[i], shape, &bytes, e));
        FC_TRY(store(g, nodes[i], bytes, e));
        out[i] = (fc_tensor){.dtype = (fusec_dtype)fc_at(&g->ir, nodes[i])->dtype,
                             .rank = fc_rank(&g->ir, nodes[i]),
                             .shape = shape,
                             .data = g->stored.at[first + i].data,
                             .on_device = true};
    }
    fc_device *d = g->ctx->device;
    fusec_status s =
        fc_program_run(p->program, NULL, (uint32_t)nin, in, p->nfree, sizes, n, out, e);
    /* the caller may change or free its arrays when we return, and page-locked memory is copied
     * later */
    if (!s && from_host && !d->host_memory) s = d->ops->sync(d, NULL, e);
    return s;
}

/* The program of an expression that is new. */
static fusec_status plan(fusec_graph *g, const fc_key *k, bool has_key, const fc_node *nodes,
                         uint32_t n, fc_planned **out, fc_error *e) {
    fc_extract x;
    fusec_status s = fc_extract_make(g, nodes, n, &x, e);
    if (!s)
        s = has_key ? fc_plans_make(g->ctx, k, &x.graph, (uint32_t)x.sizes.len, x.sizes.at, out, e)
                    : fc_oom(e);
    fc_extract_free(g, &x);
    return s;
}

static fusec_status compute(fusec_graph *g, const fc_node *nodes, uint32_t n, fc_error *e) {
    fc_arena arena;
    fc_key k;
    size_t first = g->stored.len;
    fusec_status s = FUSEC_OK;
    fc_arena_init(&arena, g->ir.alloc);
    bool has_key = fc_key_make(g, nodes, n, &k);
    fc_planned *p = has_key ? fc_plans_find(g->ctx, &k) : NULL;
    if (!p) s = plan(g, &k, has_key, nodes, n, &p, e);
    if (!s) s = run(g, p, &k, nodes, n, &arena, e);
    if (s)
        drop_stored(g, first);
    else
        for (uint32_t i = 0; i < n; i++) {
            g->stored_of.at[nodes[i]] = (uint32_t)(first + i + 1);
            fc_extract_is_stored(g, nodes[i]);
        }
    fc_plans_release(g->ctx, p);
    fc_key_free(&k);
    fc_arena_free(&arena);
    return s;
}

/* The caller's array in memory of the device. */
static fusec_status upload(fusec_graph *g, fc_node n, fc_error *e) {
    int64_t shape[FC_MAX_RANK];
    size_t bytes, first = g->stored.len;
    fc_device *d = g->ctx->device;
    FC_TRY(fc_known_shape(g, n, shape, &bytes, e));
    FC_TRY(store(g, n, bytes, e));
    fusec_status s = d->ops->upload(d, NULL, g->stored.at[first].data,
                                    g->leaves.at[fc_at(&g->ir, n)->attr].data, bytes, e);
    if (!s) s = d->ops->sync(d, NULL, e);
    if (s)
        drop_stored(g, first);
    else
        g->stored_of.at[n] = (uint32_t)(first + 1);
    return s;
}

/* ---- the public functions -------------------------------------------------------------------- */

static fusec_status eval(fusec_graph *g, const fusec_value *v, int n, fc_error *e) {
    fc_device *d;
    fc_node few[16], *todo = few;
    uint32_t count = 0;
    bool there;
    FC_TRY(fc_open_device(g->ctx, &d, e));
    if (n > (int)FC_COUNT(few)) todo = fc_malloc(g->ir.alloc, (size_t)n * sizeof *todo);
    if (!todo) return fc_oom(e);
    fusec_status s = FUSEC_OK;
    for (int i = 0; i < n && !s; i++) {
        const fc_ninfo *info = fc_at(&g->ir, v[i].node);
        bool again = false;
        for (uint32_t k = 0; k < count; k++) again |= todo[k] == v[i].node;
        data_of(g, v[i].node, &there);
        if (there || again) continue;
        if (info->op == FC_OP_INPUT && g->leaves.at[info->attr].bound)
            s = upload(g, v[i].node, e);
        else
            todo[count++] = v[i].node;
    }
    if (!s && count) s = compute(g, todo, count, e);
    if (todo != few) fc_free(g->ir.alloc, todo);
    return s;
}

fusec_status fusec_eval(const fusec_value *v, int n) {
    fc_error e = {0};
    if (n < 0 || (n > 0 && !v))
        return fc_report_text(FUSEC_INVALID, "fusec_eval: %d values at %p", n, (const void *)v);
    for (int i = 0; i < n; i++) {
        FC_TRY(fc_check_value("fusec_eval", v[i]));
        if (v[i].graph != v[0].graph)
            return fc_report_text(FUSEC_INVALID, "fusec_eval: value %d belongs to another graph",
                                  i + 1);
    }
    if (n == 0 || !eval(v[0].graph, v, n, &e)) return FUSEC_OK;
    return fc_report(&e);
}

static fusec_status read_value(fusec_graph *g, fusec_value v, void *out, size_t bytes,
                               fc_error *e) {
    int64_t shape[FC_MAX_RANK];
    size_t have;
    bool there;
    FC_TRY(fc_known_shape(g, v.node, shape, &have, e));
    if (have != bytes)
        return fc_fail(e, FUSEC_INVALID,
                       "fusec_read: the result has %zu bytes, but there is memory for %zu", have,
                       bytes);
    if (bytes && !out) return fc_fail(e, FUSEC_INVALID, "fusec_read: the memory is NULL");
    const fc_ninfo *i = fc_at(&g->ir, v.node);
    const fc_leaf *leaf = i->op == FC_OP_INPUT ? &g->leaves.at[i->attr] : NULL;
    if (leaf && leaf->bound && !leaf->on_device) {
        if (bytes) memcpy(out, leaf->data, bytes);
        return FUSEC_OK;
    }
    FC_TRY(eval(g, &v, 1, e));
    const void *data = data_of(g, v.node, &there);
    fc_device *d = g->ctx->device;
    if (!bytes) return FUSEC_OK;
    FC_TRY(d->ops->download(d, NULL, out, data, bytes, e));
    return d->ops->sync(d, NULL, e);
}

fusec_status fusec_read(fusec_value v, void *out, size_t bytes) {
    fc_error e = {0};
    FC_TRY(fc_check_value("fusec_read", v));
    return read_value(v.graph, v, out, bytes, &e) ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_data(fusec_value v, const void **data) {
    fc_error e = {0};
    bool there;
    if (!data) return fc_report_text(FUSEC_INVALID, "fusec_data: the result pointer is NULL");
    *data = NULL;
    FC_TRY(fc_check_value("fusec_data", v));
    if (eval(v.graph, &v, 1, &e)) return fc_report(&e);
    *data = data_of(v.graph, v.node, &there);
    return FUSEC_OK;
}

fusec_status fusec_shape(fusec_value v, int64_t *shape) {
    fc_error e = {0};
    FC_TRY(fc_check_value("fusec_shape", v));
    if (!shape && fc_rank(&v.graph->ir, v.node))
        return fc_report_text(FUSEC_INVALID, "fusec_shape: shape is NULL");
    return fc_known_shape(v.graph, v.node, shape, NULL, &e) ? fc_report(&e) : FUSEC_OK;
}
