/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random_graph_build.c - from a recipe to a graph, its input values, and to smaller recipes. */
#include "tests/support/random_graph.h"

#include "ir/code.h"
#include "ir/expand.h"
#include "ir/fold.h"

#include <math.h>
#include <stdio.h>

/* ---- validity -------------------------------------------------------------------------------- */

static int64_t value(const rg *r, int size) {
    return r->size[size].value;
}

static bool slice_ok(const rg *r, const rg_node *n) {
    const rg_node *s = &r->node[n->src[0]];
    for (int k = 0; k < n->rank; k++) {
        const rg_cut *c = &n->cut[k];
        int64_t axis = value(r, s->shape[k]), size = value(r, n->shape[k]);
        int64_t start = c->from + (c->of < 0 ? 0 : value(r, c->of)),
                last = start + (size - 1) * c->step;
        int64_t low = c->step > 0 ? start : last, high = c->step > 0 ? last : start;
        if (low < 0 || high > axis - 1) return false;
    }
    return true;
}

bool rg_view_ok(const rg *r, const rg_node *n) {
    const rg_node *s = &r->node[n->src[0]];
    for (int k = 0; k < s->rank; k++) {
        int64_t low = n->cut[k].from, high = low, size = value(r, s->shape[k]);
        for (int t = 0; t < 2; t++) {
            if (n->index[k].axis[t] < 0) continue;
            if (n->index[k].axis[t] >= n->rank) return false;
            int64_t span = n->index[k].step[t] * (value(r, n->shape[n->index[k].axis[t]]) - 1);
            *(span > 0 ? &high : &low) += span;
        }
        if (n->index[k].edge == FC_EDGE_NONE && (low < 0 || high >= size)) return false;
        if (n->index[k].edge > FC_EDGE_ZERO && size == 0) return false;
    }
    for (int k = 0; k < n->rank; k++) /* of an empty range the builder asks for more */
        if (value(r, n->shape[k]) == 0) return false;
    return true;
}

bool rg_take_ok(const rg *r, const rg_node *n) {
    const rg_node *s = &r->node[n->src[0]], *x = &r->node[n->src[1]];
    if (!fc_is_int(x->t) || s->rank != x->rank || n->axes[0] >= s->rank) return false;
    for (int k = 0; k < s->rank; k++)
        if (k != n->axes[0] && s->shape[k] != x->shape[k]) return false;
    return value(r, s->shape[n->axes[0]]) > 0;
}

/* The oracle compares each element of a row with each. */
bool rg_sort_ok(const rg *r, const rg_node *n) {
    enum { COMPARED = 1 << 20 };
    const rg_node *s = &r->node[n->src[0]];
    const bool some = n->naxes == RG_TOP || n->naxes == RG_TOP_POSITIONS;
    int64_t compared = 1;
    if (n->rank != s->rank || n->axes[0] >= s->rank) return false;
    if (n->naxes == RG_SEARCHED && s->rank != 1) return false;
    for (int k = 0; k < s->rank; k++) {
        const int64_t size = value(r, s->shape[k]);
        compared *= k == n->axes[0] ? size * size : size;
        if (some && k == n->axes[0] ? value(r, n->shape[k]) > size : n->shape[k] != s->shape[k])
            return false;
    }
    return compared <= COMPARED;
}

const fc_op rg_scatters[6] = {FC_OP_NONE, FC_OP_sum, FC_OP_min, FC_OP_max, FC_OP_any, FC_OP_all};

bool rg_scatter_ok(const rg *r, const rg_node *n) {
    const rg_node *s = &r->node[n->src[0]], *x = &r->node[n->src[1]], *v = &r->node[n->src[2]];
    const int lead = x->rank - s->rank;
    if (!fc_is_int(x->t) || v->t != s->t || n->t != s->t || lead < 0 || v->rank != x->rank ||
        n->rank != s->rank || n->axes[0] >= s->rank || x->rank >= RG_RANK)
        return false;
    if (!fc_can_scatter(rg_scatters[n->naxes], s->t)) return false;
    for (int k = 0; k < x->rank; k++) {
        if (v->shape[k] != x->shape[k]) return false;
        if (k >= lead && k - lead != n->axes[0] && s->shape[k - lead] != x->shape[k]) return false;
    }
    for (int k = 0; k < s->rank; k++)
        if (n->shape[k] != s->shape[k]) return false;
    return value(r, s->shape[n->axes[0]]) > 0;
}

static int64_t count(const rg *r, const rg_node *n) {
    int64_t c = 1;
    for (int k = 0; k < n->rank; k++) c *= value(r, n->shape[k]);
    return c;
}

static bool reduction_ok(const rg *r, const rg_node *n) {
    const rg_node *s = &r->node[n->src[0]];
    bool needs = n->kind == RG_LOGSUMEXP || fc_ops[n->op].flags & FC_F_EMPTY_IS_ERROR;
    for (int i = 0; needs && i < n->naxes; i++)
        if (value(r, s->shape[n->axes[i]]) == 0) return false;
    return true;
}

bool rg_dot_shape(const rg *r, const rg_node *n, int *rank, int *shape) {
    const rg_node *a = &r->node[n->src[0]], *b = &r->node[n->src[1]];
    bool in_b[RG_RANK] = {false};
    *rank = 0;
    if (n->naxes != b->rank || a->t != b->t || n->bits >> a->rank) return false;
    for (int k = 0; k < b->rank; k++) {
        if (n->axes[k] >= RG_RANK) continue;
        if (n->axes[k] >= a->rank || a->shape[n->axes[k]] != b->shape[k]) return false;
        in_b[n->axes[k]] = true;
    }
    for (int k = 0; k < a->rank; k++) {
        if (n->bits >> k & 1 && !in_b[k]) return false;
        if (!(n->bits >> k & 1)) shape[(*rank)++] = a->shape[k];
    }
    for (int k = 0; k < b->rank; k++) {
        if (n->axes[k] < RG_RANK) continue;
        if (*rank == RG_RANK) return false;
        shape[(*rank)++] = b->shape[k];
    }
    return true;
}

static bool dot_ok(const rg *r, const rg_node *n) {
    int rank, shape[RG_RANK];
    return rg_dot_shape(r, n, &rank, shape) && rank == n->rank &&
           !memcmp(shape, n->shape, (size_t)rank * sizeof *shape);
}

static fc_node build_dot(fc_graph *g, const rg *r, const rg_node *n, const fc_node x[2]) {
    const rg_node *a = &r->node[n->src[0]];
    uint8_t la[RG_RANK], lb[RG_RANK], out[2 * RG_RANK];
    uint32_t nout = 0;
    for (int k = 0; k < a->rank; k++) {
        la[k] = (uint8_t)k;
        if (!(n->bits >> k & 1)) out[nout++] = (uint8_t)k;
    }
    for (int k = 0; k < n->naxes; k++) {
        lb[k] = (uint8_t)n->axes[k];
        if (n->axes[k] >= RG_RANK) out[nout++] = lb[k];
    }
    return fc_build_dot(g, x[0], la, x[1], lb, nout, out);
}

static int operands(const rg_node *n) {
    if (n->kind == RG_DOT) return 2;
    if (n->kind == RG_OP) return fc_ops[n->op].arity;
    if (n->kind == RG_SCATTER) return 3;
    return n->kind == RG_TAKE || n->kind == RG_LOOP ? 2 : n->kind > RG_OP;
}

/* What comes out of the dtypes of the operands is what the node says. */
static bool typed(const rg *r, const rg_node *n) {
    const rg_node *s = &r->node[n->src[0]];
    switch (n->kind) {
    case RG_INPUT:
    case RG_NUMBER:
    case RG_CAST: return true;
    case RG_DIM:
    case RG_IOTA: return n->t == FUSEC_I64;
    case RG_BITCAST:
        return fc_dtypes[n->t].bytes == fc_dtypes[s->t].bytes && n->t != FUSEC_BOOL &&
               s->t != FUSEC_BOOL;
    case RG_REDUCE:
    case RG_SCAN:
    case RG_SORT:
    case RG_DOT:
    case RG_LOGSUMEXP: return n->t == rg_result(n, s->t);
    case RG_LOOP: {
        const rg_node *z = &r->node[n->src[1]];
        return n->t == s->t && z->t == s->t && z->rank == s->rank && fc_op_takes(n->op, s->t) &&
               !memcmp(z->shape, s->shape, (size_t)s->rank * sizeof s->shape[0]);
    }
    case RG_OP: break;
    default: return n->t == s->t;
    }
    bool select = fc_ops[n->op].rule == FC_RULE_SELECT;
    fusec_dtype t = r->node[n->src[select]].t;
    if (select && s->t != FUSEC_BOOL) return false;
    for (int k = select; k < operands(n); k++)
        if (r->node[n->src[k]].t != t) return false;
    return fc_op_takes(n->op, t) && n->t == rg_result(n, t);
}

/* Sizes refer to earlier sizes only. */
bool rg_valid(rg *r) {
    for (int i = 0; i < r->nsizes; i++) {
        rg_size *s = &r->size[i];
        if (s->kind == RG_NAME) s->value = r->name[s->a];
        if (s->kind == RG_PLUS) s->value = value(r, s->a) + s->c;
        if (s->kind == RG_TIMES) s->value = value(r, s->a) * value(r, s->b);
        if (s->kind == RG_OVER) {
            if (value(r, s->a) % s->c) return false;
            s->value = value(r, s->a) / s->c;
        }
        if (s->value < 0) return false;
    }
    for (int i = 0; i < r->nnodes; i++) {
        const rg_node *n = &r->node[i];
        if (!typed(r, n)) return false;
        if (n->kind == RG_SLICE && !slice_ok(r, n)) return false;
        if (n->kind == RG_VIEW && !rg_view_ok(r, n)) return false;
        if (n->kind == RG_TAKE && !rg_take_ok(r, n)) return false;
        if (n->kind == RG_SCATTER && !rg_scatter_ok(r, n)) return false;
        if (n->kind == RG_SORT && !rg_sort_ok(r, n)) return false;
        if (n->kind == RG_RESHAPE && count(r, n) != count(r, &r->node[n->src[0]])) return false;
        if (n->kind == RG_DOT && !dot_ok(r, n)) return false;
        if (n->kind == RG_LOOP && n->bits & RG_LOOP_REDUCES && !count(r, n)) return false;
        if ((n->kind == RG_REDUCE || n->kind == RG_LOGSUMEXP) && !reduction_ok(r, n)) return false;
    }
    return true;
}

bool rg_other(const rg *r, rg *out) {
    if (!r->has_other) return false;
    *out = *r;
    memcpy(out->name, r->other, sizeof out->name);
    return rg_valid(out);
}

static void find_live(const rg *r, bool *live) {
    memset(live, 0, RG_NODES * sizeof *live);
    for (int i = 0; i < r->noutputs; i++) live[r->output[i]] = true;
    for (int i = r->nnodes; i-- > 0;)
        for (int k = 0; live[i] && k < operands(&r->node[i]); k++) live[r->node[i].src[k]] = true;
}

/* ---- building -------------------------------------------------------------------------------- */

typedef struct builder {
    const rg *r;
    fc_graph *g;
    bool strided, externs;
    fc_dim dim[RG_SIZES];
    fc_node node[RG_NODES];
} builder;

const char *const rg_names[RG_NAMES] = {"n", "m", "k", "p"};

static void build_sizes(builder *b, bool symbolic, int64_t *syms) {
    fc_dimtab *t = &b->g->dims;
    for (int i = 0; i < b->r->nsizes; i++) {
        const rg_size *s = &b->r->size[i];
        fc_dim d = fc_dim_const(t, s->value), c = fc_dim_const(t, s->c);
        uint32_t sym;
        if (symbolic && s->kind == RG_NAME) {
            d = fc_dim_named(t, rg_names[s->a]);
            if (fc_dim_is_sym(t, d, &sym)) syms[sym] = s->value;
        }
        if (symbolic && s->kind == RG_PLUS) d = fc_dim_add(t, b->dim[s->a], c);
        if (symbolic && s->kind == RG_TIMES) d = fc_dim_mul(t, b->dim[s->a], b->dim[s->b]);
        if (symbolic && s->kind == RG_OVER) d = fc_dim_floordiv(t, b->dim[s->a], c);
        b->dim[i] = d;
    }
}

static fc_node build_slice(builder *b, const rg_node *n) {
    fc_slice s[RG_RANK];
    fc_dimtab *t = &b->g->dims;
    for (int k = 0; k < n->rank; k++) {
        const rg_cut *c = &n->cut[k];
        fc_dim start = fc_dim_const(t, c->from);
        if (c->of >= 0) start = fc_dim_add(t, b->dim[c->of], start);
        s[k] = (fc_slice){start, c->step, b->dim[n->shape[k]]};
    }
    return fc_build_slice(b->g, b->node[n->src[0]], s);
}

static fc_node build_view(builder *b, const rg_node *n, const fc_dim *shape) {
    fc_view_axis axes[RG_RANK];
    int64_t step[RG_RANK][RG_RANK] = {{0}};
    const int rank = b->r->node[n->src[0]].rank;
    for (int k = 0; k < rank; k++) {
        for (int t = 0; t < 2; t++)
            if (n->index[k].axis[t] >= 0) step[k][n->index[k].axis[t]] += n->index[k].step[t];
        axes[k] =
            (fc_view_axis){fc_dim_const(&b->g->dims, n->cut[k].from), n->index[k].edge, step[k]};
    }
    return fc_build_view(b->g, b->node[n->src[0]], (uint32_t)n->rank, shape, axes);
}

/* Indices that are all inside and said to be, or as they come. */
static fc_node build_index(builder *b, const rg_node *n) {
    fc_graph *g = b->g;
    const fc_node a = b->node[n->src[0]];
    const uint32_t axis = (uint32_t)n->axes[0];
    fc_node x = fc_build_cast(g, b->node[n->src[1]], FUSEC_I64);
    if (n->keep && a != FC_NONODE) {
        const fc_dim size = b->dim[b->r->node[n->src[0]].shape[axis]];
        x = fc_build_op(g, FC_OP_mod, x, fc_build_dim(g, size), FC_NONODE);
        x = fc_build_check(g, x, size);
    }
    return x;
}

static fc_node build_take(builder *b, const rg_node *n) {
    return fc_build_take(b->g, b->node[n->src[0]], build_index(b, n), (uint32_t)n->axes[0]);
}

static fc_node build_scatter(builder *b, const rg_node *n) {
    const fc_scatter s = {rg_scatters[n->naxes], (uint32_t)n->axes[0], false};
    return fc_build_scatter(b->g, b->node[n->src[0]], build_index(b, n), b->node[n->src[2]], s);
}

/* ---- inputs as views of larger ones */

typedef struct layout {
    int axis; /* that is stepped over or reversed; -1: none */
    bool reversed, transposed;
} layout;

static layout layout_of(const rg *r, const rg_node *n) {
    layout l = {-1, false, false};
    if (n->rank == 0) return l;
    uint64_t h = n->bits >> 20;
    l.transposed = h % 3 == 0;
    if (h / 3 % 4 && n->rank) l.axis = (int)(h / 12 % (uint64_t)n->rank);
    if (l.axis >= 0) l.reversed = h / 96 % 2 && value(r, n->shape[l.axis]) > 0;
    return l;
}

static fc_node build_strided(builder *b, const rg_node *n, const char *name) {
    fc_dimtab *t = &b->g->dims;
    layout l = layout_of(b->r, n);
    fc_dim shape[RG_RANK];
    fc_slice s[RG_RANK];
    int64_t order[RG_RANK];
    fc_dim one = fc_dim_const(t, 1);
    for (int k = 0; k < n->rank; k++) {
        fc_dim d = b->dim[n->shape[k]];
        int at = l.transposed ? n->rank - 1 - k : k;
        order[k] = at;
        s[k] = (fc_slice){fc_dim_const(t, 0), 1, d};
        if (k == l.axis && l.reversed) s[k] = (fc_slice){fc_dim_sub(t, d, one), -1, d};
        if (k == l.axis && !l.reversed) {
            s[k] = (fc_slice){one, 2, d};
            d = fc_dim_add(t, fc_dim_mul(t, d, fc_dim_const(t, 2)), one);
        }
        shape[at] = d;
    }
    fc_node x = fc_build_input(b->g, name, n->t, (uint32_t)n->rank, shape);
    if (l.transposed) x = fc_build_permute(b->g, x, order);
    return l.axis < 0 ? x : fc_build_slice(b->g, x, s);
}

void rg_spread(const rg *r, int node, const fc_tensor *from, fc_tensor *to) {
    const rg_node *n = &r->node[node];
    layout l = layout_of(r, n);
    int64_t count = fc_array_count(from), wide = fc_array_count(to), at[RG_RANK];
    fc_rng rng = {n->bits + 1};
    for (int64_t i = 0; i < wide; i++)
        fc_oracle_store(to->dtype, to->data, i, fc_random_value(to->dtype, &rng, false));
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, place = 0;
        for (int k = n->rank; k-- > 0; rest /= from->shape[k]) {
            at[k] = rest % from->shape[k];
            if (k == l.axis) at[k] = l.reversed ? from->shape[k] - 1 - at[k] : 2 * at[k] + 1;
        }
        for (int k = 0; k < n->rank; k++)
            place = place * to->shape[k] + at[l.transposed ? n->rank - 1 - k : k];
        fc_oracle_store(to->dtype, to->data, place, fc_oracle_load(from->dtype, from->data, i));
    }
}

/* The same reduction by a body of its own. */
static fc_node build_fold(fc_graph *g, const rg_node *n, fc_node x) {
    static const fc_op joins[] = {[FC_OP_sum - FC_OP_FIRST_REDUCTION] = FC_OP_add,
                                  [FC_OP_prod - FC_OP_FIRST_REDUCTION] = FC_OP_mul,
                                  [FC_OP_min - FC_OP_FIRST_REDUCTION] = FC_OP_minimum,
                                  [FC_OP_max - FC_OP_FIRST_REDUCTION] = FC_OP_maximum,
                                  [FC_OP_any - FC_OP_FIRST_REDUCTION] = FC_OP_logical_or,
                                  [FC_OP_all - FC_OP_FIRST_REDUCTION] = FC_OP_logical_and};
    if (x == FC_NONODE) return x;
    const fusec_dtype from = (fusec_dtype)fc_at(g, x)->dtype, t = fc_acc_dtype(n->op, from);
    if (!fc_is_half(from) || t == FUSEC_BOOL) x = fc_build_cast(g, x, t);
    const bool least = n->op == FC_OP_min;
    const fc_op join = joins[n->op - FC_OP_FIRST_REDUCTION];
    uint64_t bits = fc_const_int(t, n->op == FC_OP_prod || n->op == FC_OP_all);
    if (least || n->op == FC_OP_max)
        bits = fc_is_float(t) ? fc_const_bits(t, least ? INFINITY : -INFINITY)
               : least        ? fc_const_max(t)
                              : fc_const_min(t);
    const fc_node start = fc_build_const(g, t, bits),
                  body = fc_build_op(g, join, fc_build_slot(g, t, 0),
                                     fc_build_slot(g, t, FC_MAX_RECORD), FC_NONODE);
    fc_node out = FC_NONODE;
    const fc_fold_args args = {.what = "reduce",
                               .n = 1,
                               .element = &x,
                               .start = &start,
                               .body = &body,
                               .naxes = (uint32_t)n->naxes,
                               .axes = n->axes,
                               .keepdims = n->keep};
    fc_build_fold(g, &args, &out);
    return out;
}

/* Where an element is above 1 (or true) a stretch begins; a recurrence is of x with itself. */
static fc_node build_scan(fc_graph *g, const rg_node *n, fc_node x) {
    const bool exclusive = n->bits & 1, reverse = n->bits & 2;
    if (x == FC_NONODE) return x;
    const fusec_dtype t = (fusec_dtype)fc_at(g, x)->dtype;
    const bool linear = (n->bits & 8) && t == n->t && t != FUSEC_BOOL, resets = n->bits & 4;
    if (!resets && !linear) return fc_build_scan(g, n->op, x, n->axes[0], exclusive, reverse);
    const fc_node when =
        t == FUSEC_BOOL ? x : fc_build_op(g, FC_OP_gt, x, fc_build_number(g, t, 1), FC_NONODE);
    const fc_fold_args how = {
        .exclusive = exclusive, .reverse = reverse, .resets = resets, .reset = when};
    if (linear) return fc_build_linrec(g, x, x, FC_NONODE, n->axes[0], how);
    return fc_build_scan_reset(g, n->op, x, when, n->axes[0], exclusive, reverse);
}

static fc_node build_sort(builder *b, const rg_node *n, fc_node x) {
    fc_graph *g = b->g;
    fc_node top[2] = {FC_NONODE, FC_NONODE};
    const bool down = n->bits & 1;
    switch ((rg_order)n->naxes) {
    case RG_SORTED: return fc_build_sort(g, x, n->axes[0], down);
    case RG_POSITIONS: return fc_build_argsort(g, x, n->axes[0], down);
    case RG_SEARCHED: return fc_build_searchsorted(g, fc_build_sort(g, x, 0, false), x, down);
    default:
        fc_build_topk(g, x, b->dim[n->shape[n->axes[0]]], n->axes[0], top);
        return top[n->naxes == RG_TOP_POSITIONS];
    }
}

static fc_node build_node(builder *b, int i) {
    const rg_node *n = &b->r->node[i];
    fc_graph *g = b->g;
    fc_dim shape[RG_RANK];
    fc_node x[3] = {FC_NONODE, FC_NONODE, FC_NONODE};
    char name[16];
    snprintf(name, sizeof name, "x%d", i);
    for (int k = 0; k < n->rank; k++) shape[k] = b->dim[n->shape[k]];
    for (int k = 0; k < operands(n); k++) x[k] = b->node[n->src[k]];
    switch (n->kind) {
    case RG_INPUT:
        if (b->strided) return build_strided(b, n, name);
        return fc_build_input(g, name, n->t, (uint32_t)n->rank, shape);
    case RG_NUMBER: return fc_build_const(g, n->t, n->bits);
    case RG_DIM: return fc_build_dim(g, b->dim[n->naxes]);
    case RG_IOTA: return fc_build_iota(g, shape[0]);
    case RG_OP: {
        const fc_node user = b->externs ? rg_build_extern(g, n->op, x) : FC_NONODE;
        return user != FC_NONODE ? user : fc_build_op(g, n->op, x[0], x[1], x[2]);
    }
    case RG_CAST: return fc_build_cast(g, x[0], n->t);
    case RG_BITCAST: return fc_build_bitcast(g, x[0], n->t);
    case RG_BROADCAST: return fc_build_broadcast(g, x[0], (uint32_t)n->rank, shape);
    case RG_PERMUTE: return fc_build_permute(g, x[0], n->axes);
    case RG_SLICE: return build_slice(b, n);
    case RG_RESHAPE: return fc_build_reshape(g, x[0], (uint32_t)n->rank, shape);
    case RG_VIEW: return build_view(b, n, shape);
    case RG_TAKE: return build_take(b, n);
    case RG_SCATTER: return build_scatter(b, n);
    case RG_STORE: return fc_build_materialize(g, x[0]);
    case RG_REDUCE:
        if ((n->bits & 1) && n->naxes && fc_can_scan(n->op)) return build_fold(g, n, x[0]);
        return fc_build_reduce(g, n->op, x[0], (uint32_t)n->naxes, n->axes, n->keep);
    case RG_SCAN: return build_scan(g, n, x[0]);
    case RG_SORT: return build_sort(b, n, x[0]);
    case RG_DOT: return build_dot(g, b->r, n, x);
    case RG_LOOP: return rg_build_loop(g, n, x[0], x[1]);
    default: return fc_build_logsumexp(g, x[0], (uint32_t)n->naxes, n->axes, n->keep);
    }
}

void rg_build(const rg *r, int form, fc_graph *g, int *input, int64_t *syms) {
    bool live[RG_NODES];
    builder b = {.r = r, .g = g, .strided = form & RG_STRIDED, .externs = form & RG_EXTERN};
    char name[16];
    fc_graph_init(g, &fc_libc_alloc, NULL);
    find_live(r, live);
    memset(syms, 0, 256 * sizeof *syms);
    build_sizes(&b, form & RG_SYMBOLIC, syms);
    for (int i = 0; i < r->nnodes; i++) {
        if (!live[i]) continue;
        if (r->node[i].kind == RG_INPUT) *input++ = i;
        b.node[i] = build_node(&b, i);
    }
    for (int i = 0; i < r->noutputs; i++) {
        snprintf(name, sizeof name, r->noutputs > 1 ? "y%d" : "out", i);
        fc_build_output(g, name, b.node[r->output[i]]);
    }
}

/* A value of t in the middle between two neighbours of a narrower float, or a little beside it:
 * where rounding twice is not rounding once. */
static uint64_t near_tie(fusec_dtype t, fc_rng *rng) {
    static const fusec_dtype narrow[] = {FUSEC_F16, FUSEC_BF16, FUSEC_F32};
    static const double beside[] = {0, 0x1p-50, -0x1p-50, 0x1p-23, -0x1p-23};
    fusec_dtype n = narrow[fc_below(rng, t == FUSEC_F32 ? 2 : 3)];
    uint64_t bits = fc_random_value(n, rng, fc_below(rng, 2));
    double a = fc_o_value(n, bits), b = fc_o_value(n, bits + 1);
    double v = (a / 2 + b / 2) * (1 + beside[fc_below(rng, FC_COUNT(beside))]);
    if (!isfinite(v)) v = 1;
    return fc_is_float(t) ? fc_o_bits(t, v) : fc_o_cast(FUSEC_F64, t, fc_o_bits(FUSEC_F64, v));
}

/* Half of the inputs have special values among the others, so that the rest says something about
 * ordinary ones. */
void rg_fill(uint64_t seed, fc_tensor *t) {
    fc_rng rng = {seed};
    int64_t n = fc_array_count(t);
    bool tame = fc_random(&rng) % 2;
    bool extreme = fc_random(&rng) % 8 == 0; /* nan, infinities, zeros, ones: many are equal */
    for (int64_t i = 0; i < n; i++) {
        uint64_t how = fc_below(&rng, 4);
        uint32_t specials = fc_special_count(t->dtype);
        if (specials > 9 && fc_below(&rng, 2))
            specials = 9; /* nan, infinities, zeros, ones, twos */
        uint64_t bits = fc_random_value(t->dtype, &rng, tame || how < 1);
        if (extreme)
            bits = fc_special(t->dtype, (uint32_t)fc_below(&rng, specials < 7 ? specials : 7));
        else if (!tame && how == 2 && fc_dtypes[t->dtype].bytes >= 4)
            bits = near_tie(t->dtype, &rng);
        else if (!tame && how == 3)
            bits = fc_special(t->dtype, (uint32_t)fc_below(&rng, specials));
        fc_oracle_store(t->dtype, t->data, i, bits);
    }
}

/* ---- shrinking ------------------------------------------------------------------------------- */

typedef struct shrinker {
    rg *best;
    rg_fails *fails;
    void *arg;
    int tries;
} shrinker;

/* Takes the changed recipe if it is valid and still fails. */
static bool take(shrinker *s, rg *changed) {
    if (s->tries <= 0 || !rg_valid(changed)) return false;
    s->tries--;
    if (!s->fails(changed, s->arg)) return false;
    *s->best = *changed;
    return true;
}

static bool drop_outputs(shrinker *s) {
    bool any = false;
    for (int i = s->best->noutputs; i-- > 0 && s->best->noutputs > 1;) {
        rg r = *s->best;
        r.output[i] = r.output[--r.noutputs];
        any |= take(s, &r);
    }
    return any;
}

/* An output moves to an operand: what comes after it is not needed. */
static bool raise_outputs(shrinker *s) {
    bool any = false;
    for (int i = 0; i < s->best->noutputs; i++)
        for (int k = 0; k < operands(&s->best->node[s->best->output[i]]); k++) {
            rg r = *s->best;
            r.output[i] = r.node[r.output[i]].src[k];
            if (take(s, &r)) any = true;
        }
    return any;
}

static bool same_type(const rg_node *a, const rg_node *b) {
    return a->t == b->t && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]);
}

/* A node becomes one of its operands, or an input. */
static bool cut_nodes(shrinker *s) {
    bool any = false, live[RG_NODES];
    for (int i = s->best->nnodes; i-- > 0;) {
        find_live(s->best, live);
        const rg_node old = s->best->node[i];
        if (!live[i] || old.kind == RG_INPUT) continue;
        bool done = false;
        for (int k = 0; !done && k < operands(&old); k++) {
            if (!same_type(&old, &s->best->node[old.src[k]])) continue;
            rg r = *s->best;
            for (int j = i + 1; j < r.nnodes; j++)
                for (int q = 0; q < operands(&r.node[j]); q++)
                    if (r.node[j].src[q] == i) r.node[j].src[q] = old.src[k];
            for (int j = 0; j < r.noutputs; j++)
                if (r.output[j] == i) r.output[j] = old.src[k];
            done = take(s, &r);
        }
        if (!done) {
            rg r = *s->best;
            r.node[i].kind = RG_INPUT;
            r.node[i].bits = (uint64_t)i;
            done = take(s, &r);
        }
        any |= done;
    }
    return any;
}

/* Names, and the numbers in the table. */
static bool shrink_sizes(shrinker *s) {
    static const int64_t smaller[] = {1, 2, 3, 7, 8, 16, 33, 128};
    bool any = false;
    for (int i = 0; i < RG_NAMES + s->best->nsizes; i++)
        for (size_t k = 0; k < FC_COUNT(smaller); k++) {
            rg r = *s->best;
            bool named = i < RG_NAMES;
            if (!named && r.size[i - RG_NAMES].kind != RG_CONST) break;
            int64_t *v = named ? &r.name[i] : &r.size[i - RG_NAMES].value;
            if (smaller[k] >= *v || (!named && smaller[k] == 1)) break;
            *v = smaller[k];
            if (take(s, &r)) {
                any = true;
                break;
            }
        }
    if (s->best->has_other) {
        rg r = *s->best;
        r.has_other = false;
        any |= take(s, &r);
    }
    return any;
}

static bool simplify_numbers(shrinker *s) {
    bool any = false;
    for (int i = 0; i < s->best->nnodes; i++)
        for (int64_t v = 0; v < 3 && s->best->node[i].kind == RG_NUMBER; v++) {
            rg r = *s->best;
            uint64_t bits = fc_o_cast(FUSEC_I64, r.node[i].t, (uint64_t)v);
            if (bits == r.node[i].bits) break;
            r.node[i].bits = bits;
            if (take(s, &r)) {
                any = true;
                break;
            }
        }
    return any;
}

/* All values of one dtype get another, more usual one; what follows from their dtypes too. */
static bool change_dtype(shrinker *s, fusec_dtype from, fusec_dtype to) {
    rg r = *s->best;
    bool found = false;
    for (int i = 0; i < r.nnodes; i++) {
        rg_node *n = &r.node[i];
        bool leaf = n->kind == RG_INPUT || n->kind == RG_NUMBER || n->kind == RG_CAST;
        bool select = n->kind == RG_OP && fc_ops[n->op].rule == FC_RULE_SELECT;
        if (leaf && n->t == from) {
            found = true;
            if (n->kind == RG_NUMBER) n->bits = fc_o_cast(from, to, n->bits);
            n->t = to;
        } else if (n->kind == RG_OP || n->kind == RG_REDUCE || n->kind == RG_LOGSUMEXP ||
                   n->kind == RG_DOT || n->kind == RG_SCAN || n->kind == RG_SORT) {
            n->t = rg_result(n, r.node[n->src[select]].t);
        } else if (operands(n) && n->kind != RG_CAST && n->kind != RG_BITCAST) {
            n->t = r.node[n->src[0]].t;
        }
    }
    return found && take(s, &r);
}

static bool simplify_dtypes(shrinker *s) {
    bool any = false;
    for (int t = 0; t < FC_DTYPE_COUNT; t++) {
        fusec_dtype from = (fusec_dtype)t, plain = fc_is_float(from) ? FUSEC_F32 : FUSEC_I32;
        if (from != FUSEC_BOOL && from != plain) any |= change_dtype(s, from, plain);
    }
    return any;
}

void rg_shrink(rg *r, rg_fails *fails, void *arg, int tries) {
    shrinker s = {r, fails, arg, tries};
    for (bool any = true; any && s.tries > 0;) {
        any = drop_outputs(&s);
        any |= raise_outputs(&s);
        any |= cut_nodes(&s);
        any |= shrink_sizes(&s);
        any |= simplify_numbers(&s);
        any |= simplify_dtypes(&s);
    }
}
