/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph.c - a graph's life, its sizes, inputs, arrays and outputs. */
#include "frontend/capi/capi.h"

/* ---- life ------------------------------------------------------------------------------------ */

static void free_results(fusec_graph *g) {
    for (size_t i = 0; i < g->stored.len; i++)
        g->ctx->device->ops->free(g->ctx->device, NULL, g->stored.at[i].data);
    g->stored.len = 0;
}

/* What was launched may still read them. */
static void release_arrays(fusec_graph *g) {
    bool any = false;
    for (size_t i = 0; i < g->leaves.len; i++) any |= g->leaves.at[i].release != NULL;
    if (any && g->ctx->device) (void)g->ctx->device->ops->sync(g->ctx->device, NULL, NULL);
    for (size_t i = 0; any && i < g->leaves.len; i++)
        if (g->leaves.at[i].release) g->leaves.at[i].release(g->leaves.at[i].user);
    g->leaves.len = 0;
}

static uint64_t next_stamp(fusec_context *c) {
    return atomic_fetch_add(&c->stamps, 1) + 1;
}

fusec_status fusec_graph_new(fusec_context *ctx, fusec_graph **out) {
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_graph_new: the result pointer is NULL");
    *out = NULL;
    if (!ctx) return fc_report_text(FUSEC_INVALID, "fusec_graph_new: the context is NULL");
    fusec_graph *g = fc_calloc(&ctx->alloc, 1, sizeof *g);
    if (!g) return fc_report_text(FUSEC_OUT_OF_MEMORY, "out of memory");
    fc_limits limits = ctx->runtime->config.limits;
    limits.inputs =
        limits.nodes; /* bound arrays are no inputs of a program; fusec_input keeps the limit */
    g->ctx = ctx;
    g->stamp = next_stamp(ctx);
    g->mode = ctx->runtime->config.mode;
    fc_graph_init(&g->ir, &ctx->alloc, &limits);
    g->ir.default_float = ctx->default_float;
    if (g->ir.error.code) {
        fusec_status s = fc_report(&g->ir.error);
        fusec_graph_free(g);
        return s;
    }
    *out = g;
    return FUSEC_OK;
}

void fusec_graph_free(fusec_graph *g) {
    if (!g) return;
    const fc_alloc *a = &g->ctx->alloc;
    free_results(g);
    release_arrays(g);
    fc_graph_free(&g->ir);
    fc_vec_free(a, &g->leaves);
    fc_vec_free(a, &g->stored);
    fc_vec_free(a, &g->stored_of);
    fc_vec_free(a, &g->syms);
    fc_vec_free(a, &g->dims);
    fc_vec_free(a, &g->node_map);
    fc_vec_free(a, &g->fixed);
    fc_vec_free(a, &g->dim_map);
    fc_vec_free(a, &g->sym_map);
    for (size_t i = 0; i < FC_COUNT(g->list_map); i++) fc_vec_free(a, &g->list_map[i]);
    fc_vec_free(a, &g->hashes);
    fc_vec_free(a, &g->stack);
    fc_free(a, g);
}

/* Keeps the memory: a loop that builds the same again allocates nothing. */
void fusec_graph_reset(fusec_graph *g) {
    if (!g) return;
    free_results(g);
    release_arrays(g);
    fc_graph_clear(&g->ir);
    g->stored_of.len = g->syms.len = g->dims.len = g->hashes.len = 0;
    memset(g->recent, 0, sizeof g->recent);
    g->tested = 0;
    g->ninputs = 0;
    g->stamp = next_stamp(g->ctx);
}

fusec_status fusec_graph_status(const fusec_graph *g) {
    if (!g) return fc_report_text(FUSEC_INVALID, "fusec_graph_status: the graph is NULL");
    return g->ir.error.code ? fc_report(&g->ir.error) : FUSEC_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static fusec_dim dim_result(fusec_graph *g, fc_dim d) {
    if (d == FC_DIM_NONE && !g->ir.error.code) fc_dim_fail(&g->ir.dims, &g->ir.error, "a size");
    return (fusec_dim){.graph = g, .id = d};
}

static const fusec_dim no_dim = {.graph = NULL, .id = FC_DIM_NONE};

/* A letter, then letters, digits and _: other names are the library's. */
static bool is_name(const char *s) {
    for (const char *p = s; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        if (!letter && (p == s || *p < '0' || *p > '9')) return false;
    }
    return *s != 0;
}

fusec_dim fusec_sym(fusec_graph *g, const char *name) {
    if (!g) return no_dim;
    if (g->ir.error.code) return (fusec_dim){.graph = g, .id = FC_DIM_NONE};
    if (!name || !is_name(name)) {
        fc_fail(&g->ir.error, FUSEC_INVALID, "fusec_sym: %s%.40s%s is no name of a size",
                name ? "\"" : "", name ? name : "NULL", name ? "\"" : "");
        return (fusec_dim){.graph = g, .id = FC_DIM_NONE};
    }
    return dim_result(g, fc_dim_named(&g->ir.dims, name));
}

fusec_dim fusec_size(fusec_graph *g, int64_t n) {
    return g ? dim_result(g, fc_dim_const(&g->ir.dims, n)) : no_dim;
}

typedef fc_dim (*dim_fn)(fc_dimtab *t, fc_dim a, fc_dim b);

static fusec_dim combine(fusec_dim a, fusec_dim b, dim_fn fn) {
    fusec_graph *g = a.graph ? a.graph : b.graph;
    if (!g) return no_dim;
    if (!g->ir.error.code && a.graph == b.graph && a.id < g->ir.dims.forms.len &&
        b.id < g->ir.dims.forms.len)
        return dim_result(g, fn(&g->ir.dims, a.id, b.id));
    fc_fail(&g->ir.error, FUSEC_INVALID, "two sizes are not of the same graph");
    return (fusec_dim){.graph = g, .id = FC_DIM_NONE};
}

fusec_dim fusec_dim_add(fusec_dim a, fusec_dim b) {
    return combine(a, b, fc_dim_add);
}

fusec_dim fusec_dim_sub(fusec_dim a, fusec_dim b) {
    return combine(a, b, fc_dim_sub);
}

fusec_dim fusec_dim_mul(fusec_dim a, fusec_dim b) {
    return combine(a, b, fc_dim_mul);
}

fusec_dim fusec_dim_of(fusec_value v, int axis) {
    fusec_value failed;
    fusec_graph *g = fc_node_graph("fusec_dim_of", v, &failed);
    if (!g) return (fusec_dim){.graph = failed.graph, .id = FC_DIM_NONE};
    int rank = (int)fc_rank(&g->ir, v.node), at = axis < 0 ? axis + rank : axis;
    if (at >= 0 && at < rank)
        return (fusec_dim){.graph = g, .id = fc_axis(&g->ir, v.node, (uint32_t)at)};
    fc_fail(&g->ir.error, FUSEC_BAD_AXIS, "fusec_dim_of: axis %d does not exist, the rank is %d",
            axis, rank);
    return (fusec_dim){.graph = g, .id = FC_DIM_NONE};
}

int fusec_dim_known(fusec_dim d, int64_t *n) {
    int64_t room;
    return d.graph && d.id < d.graph->ir.dims.forms.len &&
           fc_dim_is_const(&d.graph->ir.dims, d.id, n ? n : &room);
}

fusec_value fusec_dim_value(fusec_dim d) {
    if (!d.graph) return fc_failed(FUSEC_INVALID);
    if (d.id >= d.graph->ir.dims.forms.len)
        fc_fail(&d.graph->ir.error, FUSEC_INVALID, "fusec_dim_value: not a size of this graph");
    return fc_value(d.graph, d.graph->ir.error.code ? FC_NONODE : fc_build_dim(&d.graph->ir, d.id));
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static fusec_value add_leaf(fusec_graph *g, const char *name, fusec_dtype t, int rank,
                            const fc_dim *shape, fc_leaf leaf) {
    if (!fc_push(g->ir.alloc, &g->leaves, leaf)) {
        fc_oom(&g->ir.error);
        return fc_value(g, FC_NONODE);
    }
    const fc_node n = fc_build_input(&g->ir, name, t, (uint32_t)rank, shape);
    if (n == FC_NONODE) g->leaves.at[g->leaves.len - 1].release = NULL;
    return fc_value(g, n);
}

fusec_value fusec_input(fusec_graph *g, const char *name, fusec_dtype t, int rank,
                        const fusec_dim *shape) {
    fc_dim dims[FC_MAX_RANK];
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!fc_dtype_ok(g, "fusec_input", t) || !fc_take_shape(g, "fusec_input", rank, shape, dims))
        return fc_value(g, FC_NONODE);
    uint32_t most = g->ctx->runtime->config.limits.inputs;
    if (g->ninputs >= most) fc_fail(&g->ir.error, FUSEC_LIMIT, "more than %u inputs", most);
    if (!name) fc_fail(&g->ir.error, FUSEC_INVALID, "fusec_input: the name is NULL");
    for (size_t i = 0; name && i < g->leaves.len; i++)
        if (!g->leaves.at[i].bound && !strcmp(g->ir.inputs.at[i].name, name))
            fc_fail(&g->ir.error, FUSEC_DUPLICATE_NAME, "two inputs are called %.100s", name);
    if (g->ir.error.code) return fc_value(g, FC_NONODE);
    g->ninputs++;
    return add_leaf(g, name, t, rank, dims, (fc_leaf){.bound = false});
}

static fusec_value bind_array(fusec_graph *g, const char *what, fusec_dtype t, int rank,
                              const int64_t *shape, fc_leaf leaf) {
    const void *data = leaf.data;
    fc_dim dims[FC_MAX_RANK];
    size_t bytes;
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!fc_dtype_ok(g, what, t)) return fc_value(g, FC_NONODE);
    fc_error *e = &g->ir.error;
    if (rank < 0 || (rank > 0 && !shape))
        fc_fail(e, FUSEC_INVALID, "%s: rank %d%s", what, rank, rank > 0 ? " without a shape" : "");
    else if (rank > FC_MAX_RANK)
        fc_fail(e, FUSEC_LIMIT, "%s: rank %d is above the limit of %d", what, rank, FC_MAX_RANK);
    for (int i = 0; i < rank && !e->code; i++) {
        if (shape[i] < 0)
            fc_fail(e, FUSEC_INPUT_SHAPE, "%s: axis %d has the negative size %lld", what, i,
                    (long long)shape[i]);
        else if ((dims[i] = fc_extent_of(g, shape[i])) == FC_DIM_NONE)
            fc_oom(e);
    }
    if (e->code) return fc_value(g, FC_NONODE);
    if (!fc_array_bytes(t, (uint32_t)rank, shape, &bytes))
        fc_fail(e, FUSEC_INPUT_SHAPE, "%s: the array has more bytes than memory can address", what);
    else if (bytes && !data)
        fc_fail(e, FUSEC_INVALID, "%s: the data of a non-empty array is NULL", what);
    if (e->code) return fc_value(g, FC_NONODE);
    leaf.bound = true;
    return add_leaf(g, "array", t, rank, dims, leaf);
}

fusec_value fusec_array(fusec_graph *g, fusec_dtype t, int rank, const int64_t *shape,
                        const void *data) {
    return bind_array(g, "fusec_array", t, rank, shape, (fc_leaf){.data = data});
}

fusec_value fusec_device_array(fusec_graph *g, fusec_dtype t, int rank, const int64_t *shape,
                               const void *data) {
    return bind_array(g, "fusec_device_array", t, rank, shape,
                      (fc_leaf){.data = data, .on_device = true});
}

static bool is_dense(const fusec_tensor *t) {
    int64_t step = 1;
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] == 0) return true;
    for (int i = t->rank; t->strides && i-- > 0;) {
        if (t->shape[i] != 1 && t->strides[i] != step) return false;
        if (__builtin_mul_overflow(step, t->shape[i], &step)) return false;
    }
    return true;
}

fusec_value fusec_array_from(fusec_graph *g, const fusec_tensor *t, void (*release)(void *user),
                             void *user) {
    if (!g) return fc_failed(FUSEC_INVALID);
    const bool shaped = t && t->rank >= 0 && t->rank <= FC_MAX_RANK && (t->shape || !t->rank);
    if (!t || (shaped && !is_dense(t)) ||
        (t->place != FUSEC_HOST && t->place != FUSEC_DEVICE && t->place != FUSEC_CUDA)) {
        fc_fail(&g->ir.error, FUSEC_INVALID, "fusec_array_from: %s",
                !t                       ? "the array is NULL"
                : shaped && !is_dense(t) ? "it is not dense: use fusec_lazy_from, or a program"
                                         : "its place is none");
        return fc_value(g, FC_NONODE);
    }
    return bind_array(g, "fusec_array_from", (fusec_dtype)t->dtype, t->rank, t->shape,
                      (fc_leaf){.data = t->data,
                                .on_device = t->place != FUSEC_HOST,
                                .release = release,
                                .user = user});
}

void fusec_output(fusec_graph *g, const char *name, fusec_value v) {
    if (!g || g->ir.error.code) return;
    if (!name) {
        fc_fail(&g->ir.error, FUSEC_INVALID, "fusec_output: the name is NULL");
        return;
    }
    if (!fc_is_number(&v) && v.graph != g) {
        fc_fail(&g->ir.error, v.kind == FC_EMPTY && v.bits ? (fusec_status)v.bits : FUSEC_INVALID,
                "fusec_output: %.100s is not a value of this graph", name);
        return;
    }
    fusec_value failed;
    if (!fc_is_number(&v) && !fc_node_graph("fusec_output", v, &failed)) return;
    fc_build_output(&g->ir, name, fc_as_node(g, v));
}
