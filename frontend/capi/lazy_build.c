/* lazy_build.c - operations by number: their names, and how each is built in a graph.
 *
 * In: an operation, its attributes, nodes. Out: a node. All rows of ir/ops.def come by themselves;
 * what is no row stands in one table (names) and one switch (fc_lazy_build). */
#include "frontend/capi/lazy.h"

typedef struct special {
    int op, arity;
    const char *name, *doc;
} special;

static const special specials[] = {
    {FC_OP_IOTA, 0, "iota", "0, 1, 2, ... as i64"},
    {FC_OP_CAST, 1, "cast", "another dtype; float to integer truncates and saturates"},
    {FC_OP_BITCAST, 1, "bitcast", "the same bits in a dtype of the same width"},
    {FC_OP_BROADCAST, 1, "broadcast", "to a shape, axes aligned from the right"},
    {FC_OP_PERMUTE, 1, "permute", "the axes in another order"},
    {FC_OP_SLICE, 1, "slice", "every step-th element of each axis"},
    {FC_OP_RESHAPE, 1, "reshape", "the same elements in C order in another shape"},
    {FC_OP_MATERIALIZE, 1, "materialize", "the value is stored: nothing fuses across"},
    {FC_OP_LOGSUMEXP, 1, "logsumexp", "log(sum(exp(x))) without overflow"},
    {FC_OP_MATMUL, 2, "matmul", "the product of matrices, and of stacks of them"},
    {FC_OP_TAKE_AXIS, 2, "take", "the axes of the indices in place of axes[0]"},
    {FC_OP_TAKE_ALONG, 2, "take_along", "elements along axes[0] at indices as large"},
    {FC_OP_PAD, 1, "pad", "start[i] elements before and step[i] behind axis i, by the mode"},
    {FC_OP_ROLL, 1, "roll", "start[0] places further along axes[0], and round"},
    {FC_OP_TILE, 1, "tile", "start[i] times over along axis i, aligned from the right"},
    {FC_OP_REPEAT, 1, "repeat", "every element start[0] times over along axes[0]"},
    {FC_OP_WINDOW, 1, "window", "windows of start[0] elements every step[0] along axes[0]"},
    {FC_OP_CONCAT, FC_ANY_ARITY, "concat", "one after the other along axes[0]"},
    {FC_OP_STACK, FC_ANY_ARITY, "stack", "one after the other along a new axis axes[0]"},
    {FC_OP_CUMSUM, 1, "cumsum", "sums of the elements so far along axes[0]; mode: FUSEC_SCAN_*"},
    {FC_OP_CUMPROD, 1, "cumprod", "products so far along axes[0]; mode: FUSEC_SCAN_*"},
    {FC_OP_CUMMIN, 1, "cummin", "the smallest so far along axes[0]; mode: FUSEC_SCAN_*"},
    {FC_OP_CUMMAX, 1, "cummax", "the largest so far along axes[0]; mode: FUSEC_SCAN_*"},
    {FC_OP_CUMANY, 1, "cumany", "any so far along axes[0]; mode: FUSEC_SCAN_*"},
    {FC_OP_CUMALL, 1, "cumall", "all so far along axes[0]; mode: FUSEC_SCAN_*"},
};

static const special *special_of(int op) {
    for (size_t i = 0; i < FC_COUNT(specials); i++)
        if (specials[i].op == op) return &specials[i];
    return NULL;
}

static bool is_row(int op) {
    const bool kind = fc_is_elementwise(op) || (fc_is_reduction(op) && fc_ops[op].arity == 1);
    return kind && !(fc_ops[op].flags & FC_F_HIDDEN);
}

int fc_lazy_arity(int op) {
    if (is_row(op)) return fc_ops[op].arity;
    const special *s = special_of(op);
    return s ? s->arity : -1;
}

int fusec_op_find(const char *name) {
    if (!name) return -1;
    for (size_t i = 0; i < FC_COUNT(specials); i++)
        if (!strcmp(specials[i].name, name)) return specials[i].op;
    const fc_op op = fc_op_by_name(name, strlen(name));
    return op == FC_OP_NONE || !is_row(op) ? -1 : (int)op;
}

int fusec_op_count(void) {
    return FC_OPS_WITH_COMPOSITES;
}

int fusec_op_arity(int op) {
    return fc_lazy_arity(op); /* the public header says -2, too */
}

int fusec_op_is_reduction(int op) {
    return op == FC_OP_LOGSUMEXP || (is_row(op) && fc_is_reduction(op));
}

const char *fusec_op_name(int op) {
    const special *s = special_of(op);
    return s ? s->name : is_row(op) ? fc_ops[op].name : NULL;
}

const char *fusec_op_doc(int op) {
    const special *s = special_of(op);
    return s ? s->doc : is_row(op) ? fc_ops[op].doc : "";
}

/* ---- building -------------------------------------------------------------------------------- */

static bool extents(fusec_graph *g, uint32_t n, const int64_t *size, fc_dim *out) {
    for (uint32_t i = 0; i < n; i++)
        if ((out[i] = fc_extent_of(g, size[i])) == FC_DIM_NONE) return false;
    return true;
}

static fc_node permute(fusec_graph *g, fc_node x, const fusec_attr *a) {
    int64_t perm[FC_MAX_RANK];
    const int64_t rank = fc_rank(&g->ir, x);
    if (a->axes && a->naxes != rank) {
        fc_fail(&g->ir.error, FUSEC_BAD_AXIS, "permute: %d axes, but the array has %lld",
                (int)a->naxes, (long long)rank);
        return FC_NONODE;
    }
    for (int64_t i = 0; i < rank; i++)
        perm[i] = !a->axes ? rank - 1 - i : a->axes[i] < 0 ? a->axes[i] + rank : a->axes[i];
    return fc_build_permute(&g->ir, x, perm);
}

static fc_node slice(fusec_graph *g, fc_node x, const fusec_attr *a) {
    fc_slice s[FC_MAX_RANK];
    const uint32_t rank = fc_rank(&g->ir, x);
    if ((uint32_t)a->rank != rank || (rank && !a->start)) {
        fc_fail(&g->ir.error, FUSEC_INVALID, "slice: %d axes, but the array has %u", (int)a->rank,
                rank);
        return FC_NONODE;
    }
    for (uint32_t i = 0; i < rank; i++) {
        s[i].step = a->step ? a->step[i] : 1;
        if (!extents(g, 1, &a->start[i], &s[i].start) || !extents(g, 1, &a->shape[i], &s[i].size))
            return FC_NONODE;
    }
    return fc_build_slice(&g->ir, x, s);
}

static fc_node iota(fusec_graph *g, const fusec_attr *a, const fc_dim *dims) {
    if (a->rank == 1) return fc_build_iota(&g->ir, dims[0]);
    fc_fail(&g->ir.error, FUSEC_INVALID, "iota: the shape has one length, not %d", (int)a->rank);
    return FC_NONODE;
}

/* By the functions for values of a graph, which check their arguments. */
static fc_node composite(fusec_graph *g, int op, const fusec_attr *a, int n, const fc_node *src) {
    const bool lists = op != FC_OP_MATMUL && op != FC_OP_TILE && op != FC_OP_PAD;
    const char *name = fusec_op_name(op);
    if (lists &&
        (!a->axes || a->naxes != 1 || a->axes[0] < -FC_MAX_RANK || a->axes[0] > FC_MAX_RANK))
        fc_fail(&g->ir.error, FUSEC_BAD_AXIS, "%s: attributes with one axis are needed", name);
    const bool amount = op >= FC_OP_PAD && op <= FC_OP_WINDOW;
    const int need = op == FC_OP_PAD ? (int)fc_rank(&g->ir, src[0]) : op == FC_OP_TILE ? 0 : 1;
    if (amount && (a->rank < need || a->rank > FC_MAX_RANK || (a->rank && !a->start)))
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: attributes with start are needed", name);
    if (op == FC_OP_WINDOW && !g->ir.error.code && !a->step)
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: attributes with step are needed", name);
    fusec_value few[4], *v = few, r = {0};
    if (!g->ir.error.code && n > 4 && !(v = fc_malloc(g->ir.alloc, (size_t)n * sizeof *v)))
        fc_oom(&g->ir.error);
    if (g->ir.error.code) return FC_NONODE;
    const int axis = lists ? (int)a->axes[0] : 0;
    for (int i = 0; i < n; i++) v[i] = fc_value(g, src[i]);
    switch (op) {
    case FC_OP_MATMUL: r = fusec_matmul(v[0], v[1]); break;
    case FC_OP_TAKE_AXIS: r = fusec_take(v[0], v[1], axis); break;
    case FC_OP_TAKE_ALONG: r = fusec_take_along(v[0], v[1], axis); break;
    case FC_OP_PAD:
        r = fusec_pad(v[0], a->start, a->step, a->mode ? (fusec_edge)a->mode : FUSEC_EDGE_ZERO,
                      (fusec_value){0});
        break;
    case FC_OP_ROLL: r = fusec_roll(v[0], a->start[0], axis); break;
    case FC_OP_TILE: r = fusec_tile(v[0], a->rank, a->start); break;
    case FC_OP_REPEAT: r = fusec_repeat(v[0], a->start[0], axis); break;
    case FC_OP_WINDOW: r = fusec_window(v[0], a->start[0], axis, a->step[0]); break;
    case FC_OP_CONCAT: r = fusec_concat(n, v, axis); break;
    case FC_OP_CUMSUM: r = fusec_cumsum(v[0], axis, a->mode); break;
    case FC_OP_CUMPROD: r = fusec_cumprod(v[0], axis, a->mode); break;
    case FC_OP_CUMMIN: r = fusec_cummin(v[0], axis, a->mode); break;
    case FC_OP_CUMMAX: r = fusec_cummax(v[0], axis, a->mode); break;
    case FC_OP_CUMANY: r = fusec_cumany(v[0], axis, a->mode); break;
    case FC_OP_CUMALL: r = fusec_cumall(v[0], axis, a->mode); break;
    default: r = fusec_stack(n, v, axis); break;
    }
    if (v != few) fc_free(g->ir.alloc, v);
    return fc_is_node(&r) ? r.node : FC_NONODE;
}

static bool takes_shape(int op) {
    return op == FC_OP_BROADCAST || op == FC_OP_RESHAPE || op == FC_OP_SLICE || op == FC_OP_IOTA;
}

/* What no builder looks at. */
static bool check(fusec_graph *g, int op, const fusec_attr *a) {
    fc_error *e = &g->ir.error;
    const char *name = fusec_op_name(op);
    if ((op == FC_OP_CAST || op == FC_OP_BITCAST) && a->dtype >= FC_DTYPE_COUNT)
        fc_fail(e, FUSEC_INVALID, "%s: %u is not a dtype", name, a->dtype);
    if (takes_shape(op) && (a->rank < 0 || (a->rank && !a->shape)))
        fc_fail(e, FUSEC_INVALID, "%s: attributes with a shape are needed", name);
    else if (takes_shape(op) && a->rank > FC_MAX_RANK)
        fc_fail(e, FUSEC_LIMIT, "%s: rank %d is above the limit of %d", name, (int)a->rank,
                FC_MAX_RANK);
    for (int i = 0; takes_shape(op) && !e->code && i < a->rank; i++)
        if (a->shape[i] < 0)
            fc_fail(e, FUSEC_INPUT_SHAPE, "%s: axis %d has the negative size %lld", name, i,
                    (long long)a->shape[i]);
    if (a->axes && (a->naxes < 0 || a->naxes > FC_MAX_RANK))
        fc_fail(e, FUSEC_BAD_AXIS, "%s: %d axes", name, (int)a->naxes);
    return !e->code;
}

fc_node fc_lazy_build(fusec_graph *g, int op, const fusec_attr *a, int n, const fc_node *src) {
    fc_dim dims[FC_MAX_RANK];
    fc_graph *ir = &g->ir;
    if (ir->error.code || !check(g, op, a)) return FC_NONODE;
    const uint32_t rank = takes_shape(op) ? (uint32_t)a->rank : 0;
    if (op != FC_OP_SLICE && !extents(g, rank, a->shape, dims)) return FC_NONODE;
    if (fc_lazy_is_composite(op)) return composite(g, op, a, n, src);
    switch (op) {
    case FC_OP_IOTA: return iota(g, a, dims);
    case FC_OP_CAST: return fc_build_cast(ir, src[0], (fusec_dtype)a->dtype);
    case FC_OP_BITCAST: return fc_build_bitcast(ir, src[0], (fusec_dtype)a->dtype);
    case FC_OP_BROADCAST: return fc_build_broadcast(ir, src[0], rank, dims);
    case FC_OP_RESHAPE: return fc_build_reshape(ir, src[0], rank, dims);
    case FC_OP_PERMUTE: return permute(g, src[0], a);
    case FC_OP_SLICE: return slice(g, src[0], a);
    case FC_OP_MATERIALIZE: return fc_build_materialize(ir, src[0]);
    case FC_OP_LOGSUMEXP:
        return fc_build_logsumexp(ir, src[0], (uint32_t)a->naxes, a->axes, a->keepdims != 0);
    default:
        if (fc_is_reduction(op))
            return fc_build_reduce(ir, (fc_op)op, src[0], (uint32_t)a->naxes, a->axes,
                                   a->keepdims != 0);
        return fc_build_op(ir, (fc_op)op, src[0], n > 1 ? src[1] : FC_NONODE,
                           n > 2 ? src[2] : FC_NONODE);
    }
}

fusec_attr fc_lazy_attributes(const fusec_lazy *v) {
    const int64_t *words = fc_lazy_attr(v);
    fusec_attr a = FUSEC_ATTR_INIT;
    a.dtype = v->dtype;
    a.keepdims = v->keepdims;
    a.rank = v->rank;
    a.shape = v->words;
    if (fc_lazy_is_composite(v->op)) {
        a.mode = v->mode;
        a.rank = v->nlist;
        a.naxes = v->naxes;
        a.axes = v->naxes ? words : NULL;
        a.start = words + v->naxes;
        a.step = a.start + v->nlist;
    } else if (v->op == FC_OP_SLICE) {
        a.start = words;
        a.step = words + v->rank;
    } else {
        a.naxes = v->nattr;
        a.axes = words;
    }
    return a;
}
