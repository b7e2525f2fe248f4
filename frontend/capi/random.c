/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random.c - arrays of random numbers: shape, seed and stream in, a node out. */
#include "frontend/capi/capi.h"

/* A scalar of dtype t; numbers take it. */
static fc_node scalar(fusec_graph *g, const char *what, const char *name, fusec_value v,
                      fusec_dtype t) {
    fusec_value failed;
    if (!fc_is_node(&v)) {
        const fc_node n = fc_as_node(g, v);
        return g->ir.error.code ? FC_NONODE : fc_build_cast(&g->ir, n, t);
    }
    if (fc_node_graph(what, v, &failed) != g) {
        if (!g->ir.error.code)
            fc_fail(&g->ir.error, FUSEC_INVALID, "%s: %s is of another graph", what, name);
        return FC_NONODE;
    }
    if (fc_rank(&g->ir, v.node) != 0 || (!fc_is_float(t) && fc_is_float(fusec_dtype_of(v)))) {
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: %s is no integer", what, name);
        return FC_NONODE;
    }
    return fc_build_cast(&g->ir, v.node, t);
}

static bool take_draw(fusec_graph *g, const char *what, int rank, const fusec_dim *shape,
                      fusec_value seed, fusec_value stream, fc_dim dims[FC_MAX_RANK], fc_draw *d) {
    if (!fc_take_shape(g, what, rank, shape, dims)) return false;
    d->rank = (uint32_t)rank;
    d->shape = dims;
    d->seed = scalar(g, what, "the seed", seed, FUSEC_U64);
    d->stream = scalar(g, what, "the stream", stream, FUSEC_U64);
    return !g->ir.error.code;
}

static bool is_one_of(fusec_graph *g, const char *what, fusec_dtype t, bool good) {
    if (!good)
        fc_fail(&g->ir.error, FUSEC_DTYPE_MISMATCH, "%s does not make %s", what, fc_dtypes[t].name);
    return good;
}

typedef fc_node make_fn(fc_graph *g, const fc_draw *d, fusec_dtype t);

static fusec_value made(fusec_graph *g, const char *what, make_fn *make, bool bits, fusec_dtype t,
                        int rank, const fusec_dim *shape, fusec_value seed, fusec_value stream) {
    fc_dim dims[FC_MAX_RANK];
    fc_draw d;
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!fc_dtype_ok(g, what, t) || !take_draw(g, what, rank, shape, seed, stream, dims, &d) ||
        !is_one_of(g, what, t, bits ? t == FUSEC_U32 || t == FUSEC_U64 : fc_is_float(t)))
        return fc_value(g, FC_NONODE);
    return fc_value(g, make(&g->ir, &d, t));
}

fusec_value fusec_bits(fusec_graph *g, fusec_dtype t, int rank, const fusec_dim *shape,
                       fusec_value seed, fusec_value stream) {
    return made(g, "fusec_bits", fc_build_bits, true, t, rank, shape, seed, stream);
}

fusec_value fusec_uniform(fusec_graph *g, fusec_dtype t, int rank, const fusec_dim *shape,
                          fusec_value seed, fusec_value stream) {
    return made(g, "fusec_uniform", fc_build_uniform, false, t, rank, shape, seed, stream);
}

fusec_value fusec_normal(fusec_graph *g, fusec_dtype t, int rank, const fusec_dim *shape,
                         fusec_value seed, fusec_value stream) {
    return made(g, "fusec_normal", fc_build_normal, false, t, rank, shape, seed, stream);
}

fusec_value fusec_randint(fusec_graph *g, fusec_value lo, fusec_value hi, int rank,
                          const fusec_dim *shape, fusec_value seed, fusec_value stream) {
    static const char what[] = "fusec_randint";
    fc_dim dims[FC_MAX_RANK];
    fc_draw d;
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!take_draw(g, what, rank, shape, seed, stream, dims, &d)) return fc_value(g, FC_NONODE);
    const fc_node from = scalar(g, what, "the low end", lo, FUSEC_I64);
    const fc_node to = scalar(g, what, "the high end", hi, FUSEC_I64);
    if (g->ir.error.code) return fc_value(g, FC_NONODE);
    return fc_value(g, fc_build_randint(&g->ir, &d, from, to));
}

fusec_value fusec_bernoulli(fusec_graph *g, fusec_value p, int rank, const fusec_dim *shape,
                            fusec_value seed, fusec_value stream) {
    static const char what[] = "fusec_bernoulli";
    fc_dim dims[FC_MAX_RANK];
    fusec_value failed;
    fc_draw d;
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!take_draw(g, what, rank, shape, seed, stream, dims, &d)) return fc_value(g, FC_NONODE);
    if (fc_is_node(&p) && fc_node_graph(what, p, &failed) != g) {
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: p is of another graph", what);
        return fc_value(g, FC_NONODE);
    }
    fc_node n = fc_as_node(g, p);
    if (!g->ir.error.code && !fc_is_float((fusec_dtype)fc_at(&g->ir, n)->dtype))
        n = fc_build_cast(&g->ir, n, g->ir.default_float);
    return fc_value(g, fc_build_bernoulli(&g->ir, &d, n));
}

fusec_value fusec_permutation(fusec_graph *g, fusec_dim n, fusec_value seed, fusec_value stream) {
    fc_dim dims[FC_MAX_RANK];
    fc_draw d;
    if (!g) return fc_failed(FUSEC_INVALID);
    if (!take_draw(g, "fusec_permutation", 1, &n, seed, stream, dims, &d))
        return fc_value(g, FC_NONODE);
    return fc_value(g, fc_build_permutation(&g->ir, dims[0], d.seed, d.stream));
}
