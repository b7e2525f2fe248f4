/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph_eval.c - see graph_eval.h. */
#include "tests/support/graph_eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/code.h"
#include "ir/eval.h"

/* ---- values ---------------------------------------------------------------------------------- */

static int64_t axis_size(const fc_graph *g, fc_list shape, uint32_t i) {
    int64_t v = 0;
    fc_dim_is_const(&g->dims, (fc_dim)fc_list_at(g, shape)[i], &v);
    return v;
}

static size_t count_of(const fc_graph *g, fc_list shape) {
    size_t n = 1;
    for (uint32_t i = 0; i < fc_list_len(g, shape); i++) n *= (size_t)axis_size(g, shape, i);
    return n;
}

size_t fc_values_count(const fc_graph *g, fc_node n) {
    return count_of(g, fc_at(g, n)->shape);
}

static uint64_t no_payload(fusec_dtype t, uint64_t bits) {
    return fc_is_float(t) && isnan(fc_const_value(t, bits)) ? fc_const_bits(t, (double)NAN) : bits;
}

static uint64_t some_value(fusec_dtype t, uint64_t h) {
    static const double special[] = {0.0, -0.0, 1, -1, 2, 0.5, -3, 100};
    h = fc_mix(h, t);
    if (t == FUSEC_BOOL) return h & 1;
    if (h % 3 == 0 && fc_is_float(t)) return fc_const_bits(t, special[h / 3 % FC_COUNT(special)]);
    if (h % 3 == 0) return fc_const_int(t, (int64_t)(h / 3 % 9) - 4);
    if (h % 31 == 1 && fc_is_float(t))
        return fc_const_bits(t, h & 64 ? (double)NAN : (double)INFINITY);
    if (fc_is_float(t)) return fc_const_bits(t, (double)(int64_t)(h / 8 % 4001) / 16 - 125);
    return fc_dtypes[t].bytes == 8 ? h : h & ((1ull << 8 * fc_dtypes[t].bytes) - 1);
}

static bool eval_row(const fc_graph *g, fc_node id, uint64_t **v) {
    const fc_ninfo *n = fc_at(g, id);
    fusec_dtype t = (fusec_dtype)fc_at(g, n->src[n->op == FC_OP_where ? 1 : 0])->dtype;
    for (size_t i = 0; i < fc_values_count(g, id); i++) {
        uint64_t in[3] = {0}, h = n->op;
        for (int k = 0; k < n->nops; k++) {
            in[k] = v[n->src[k]][fc_at(g, n->src[k])->shape ? i : 0];
            h = fc_mix(h, no_payload((fusec_dtype)fc_at(g, n->src[k])->dtype, in[k]));
        }
        if (!fc_fold((fc_op)n->op, t, (fusec_dtype)n->dtype, in, &v[id][i]))
            v[id][i] = some_value((fusec_dtype)n->dtype, h);
    }
    return true;
}

/* Index of the operand's element for each element of a view. */
static size_t operand_index(const fc_graph *g, const fc_ninfo *n, size_t flat) {
    fc_list inner = fc_at(g, n->src[0])->shape;
    uint32_t r = fc_list_len(g, n->shape), ri = fc_list_len(g, inner);
    int64_t at[FC_MAX_RANK], to[FC_MAX_RANK] = {0};
    if (n->op == FC_OP_RESHAPE) return flat;
    for (uint32_t i = r; i-- > 0; flat /= (size_t)axis_size(g, n->shape, i))
        at[i] = (int64_t)(flat % (size_t)axis_size(g, n->shape, i));
    const int64_t *attr = fc_list_at(g, (fc_list)n->attr);
    for (uint32_t i = 0; i < ri; i++) {
        int64_t start = 0;
        if (n->op == FC_OP_BROADCAST) to[i] = axis_size(g, inner, i) == 1 ? 0 : at[r - ri + i];
        if (n->op == FC_OP_PERMUTE) to[attr[i]] = at[i];
        if (n->op == FC_OP_SLICE) {
            fc_dim_is_const(&g->dims, (fc_dim)attr[3 * i], &start);
            to[i] = start + at[i] * attr[3 * i + 1];
        }
    }
    size_t index = 0;
    for (uint32_t i = 0; i < ri; i++)
        index = index * (size_t)axis_size(g, inner, i) + (size_t)to[i];
    return index;
}

static bool eval_reduction(const fc_graph *g, fc_node id, uint64_t **v) {
    const fc_ninfo *n = fc_at(g, id);
    const fc_ninfo *a = fc_at(g, n->src[0]);
    fusec_dtype t = (fusec_dtype)a->dtype, to = (fusec_dtype)n->dtype;
    fc_op row = n->op == FC_OP_sum ? FC_OP_add : FC_OP_maximum;
    if (fc_is_float(t) || (n->op != FC_OP_sum && n->op != FC_OP_max)) return false;
    uint64_t reduced = 0;
    for (uint32_t i = 0; i < fc_list_len(g, (fc_list)n->attr); i++)
        reduced |= 1ull << fc_list_at(g, (fc_list)n->attr)[i];
    for (size_t i = 0; i < fc_values_count(g, id); i++)
        v[id][i] = n->op == FC_OP_sum ? 0 : fc_const_min(to);
    for (size_t i = 0; i < fc_values_count(g, n->src[0]); i++) {
        size_t rest = i, out = 0, stride = 1;
        for (uint32_t k = fc_list_len(g, a->shape); k-- > 0;) {
            size_t size = (size_t)axis_size(g, a->shape, k), at = rest % size;
            rest /= size;
            if (reduced >> k & 1) continue;
            out += at * stride;
            stride *= size;
        }
        uint64_t in[3] = {v[id][out], v[n->src[0]][i], 0};
        const uint64_t element[3] = {in[1], 0, 0};
        if (t != to && !fc_fold(FC_OP_CAST, t, to, element, &in[1])) return false;
        if (!fc_fold(row, to, to, in, &v[id][out])) return false;
    }
    return true;
}

static bool eval_node(const fc_graph *g, fc_node id, uint64_t **v) {
    const fc_ninfo *n = fc_at(g, id);
    size_t count = fc_values_count(g, id);
    switch (n->op) {
    case FC_OP_INPUT:
        for (size_t i = 0; i < count; i++)
            v[id][i] = some_value((fusec_dtype)n->dtype, fc_mix(n->attr + 1, i));
        return true;
    case FC_OP_CONST: return v[id][0] = n->attr, true;
    case FC_OP_DIM: return v[id][0] = 0, false;
    case FC_OP_IOTA: return false;
    case FC_OP_MATERIALIZE: return memcpy(v[id], v[n->src[0]], count * sizeof **v), true;
    default: break;
    }
    if (fc_is_reduction(n->op)) return eval_reduction(g, id, v);
    if (n->op == FC_OP_VIEW || n->op == FC_OP_TAKE || n->op == FC_OP_CHECK || n->op == FC_OP_SCAN ||
        fc_is_part(n->op) || n->op == FC_OP_HOLE || n->op == FC_OP_RESULT ||
        n->op == FC_OP_SCATTER)
        return false;
    if (!fc_is_view(n->op)) return eval_row(g, id, v);
    for (size_t i = 0; i < count; i++) v[id][i] = v[n->src[0]][operand_index(g, n, i)];
    return true;
}

uint64_t **fc_values(const fc_graph *g) {
    uint64_t **v = calloc(g->nodes.len + 1, sizeof *v);
    if (!v) abort();
    for (fc_node n = 0; n < g->nodes.len; n++) {
        v[n] = calloc(fc_values_count(g, n) + 1, sizeof **v);
        if (!v[n]) abort();
        if (!eval_node(g, n, v)) return fc_values_free(g, v), NULL;
    }
    return v;
}

void fc_values_free(const fc_graph *g, uint64_t **values) {
    for (size_t n = 0; values && n < g->nodes.len; n++) free(values[n]);
    free(values);
}

static bool same_output(const fc_graph *a, uint64_t **va, const fc_graph *b, uint64_t **vb,
                        size_t o, char *why, size_t size) {
    fc_node x = a->outputs.at[o].node, y = b->outputs.at[o].node;
    fusec_dtype t = (fusec_dtype)fc_at(a, x)->dtype;
    const char *name = a->outputs.at[o].name;
    if (strcmp(name, b->outputs.at[o].name) != 0 || fc_at(b, y)->dtype != t ||
        fc_list_len(a, fc_at(a, x)->shape) != fc_list_len(b, fc_at(b, y)->shape) ||
        fc_values_count(a, x) != fc_values_count(b, y))
        return snprintf(why, size, "output %s has another name or type", name), false;
    for (size_t i = 0; i < fc_values_count(a, x); i++)
        if (no_payload(t, va[x][i]) != no_payload(t, vb[y][i]))
            return snprintf(why, size, "output %s: element %zu is %g and %g", name, i,
                            fc_const_value(t, va[x][i]), fc_const_value(t, vb[y][i])),
                   false;
    return true;
}

bool fc_same_outputs(const fc_graph *a, const fc_graph *b, char *why, size_t size) {
    uint64_t **va = fc_values(a), **vb = fc_values(b);
    bool same = va && vb && a->outputs.len == b->outputs.len;
    snprintf(why, size, "a graph that can't be computed, or another number of outputs");
    for (size_t i = 0; same && i < a->outputs.len; i++)
        same = same_output(a, va, b, vb, i, why, size);
    fc_values_free(a, va);
    fc_values_free(b, vb);
    return same;
}

/* ---- random graphs --------------------------------------------------------------------------- */

typedef struct maker {
    fc_graph *g;
    uint64_t state;
    fc_node pool[512];
    unsigned n;
} maker;

static unsigned pick(maker *m, unsigned n) {
    m->state = fc_mix(m->state, 12345);
    return (unsigned)(m->state >> 20) % n;
}

static void keep(maker *m, fc_node n) {
    if (n != FC_NONODE && m->n < FC_COUNT(m->pool)) m->pool[m->n++] = n;
}

static fusec_dtype some_dtype(maker *m) {
    static const fusec_dtype t[] = {FUSEC_F32,  FUSEC_F32, FUSEC_I32, FUSEC_U8,
                                    FUSEC_BOOL, FUSEC_F16, FUSEC_I8};
    return t[pick(m, FC_COUNT(t))];
}

/* A shape of 24 elements, or with axes of size 1 one that broadcasts to it. */
static uint32_t some_shape(maker *m, fc_dim *out, bool whole) {
    static const int64_t shapes[][5] = {{1, 24},      {2, 4, 6},       {2, 6, 4},    {3, 2, 3, 4},
                                        {3, 4, 1, 6}, {4, 2, 2, 3, 2}, {2, 1, 24},   {2, 4, 1},
                                        {1, 6},       {1, 4},          {3, 2, 1, 4}, {0}};
    const int64_t *s = shapes[pick(m, whole ? 7 : FC_COUNT(shapes))];
    for (int64_t i = 0; i < s[0]; i++) out[i] = fc_dim_const(&m->g->dims, s[1 + i]);
    return (uint32_t)s[0];
}

/* A constant, or a node of the pool that an operation with `like` takes. */
static fc_node partner(maker *m, fc_node like) {
    fusec_dtype t = (fusec_dtype)fc_at(m->g, like)->dtype;
    static const double numbers[] = {0.0, -0.0, 1, -1, 2, 4, 0.5, 8};
    if (pick(m, 4) == 0) return fc_build_number(m->g, t, numbers[pick(m, FC_COUNT(numbers))]);
    for (int tries = 0; tries < 12; tries++) {
        fc_node b = m->pool[pick(m, m->n)];
        if (fc_at(m->g, b)->dtype != t) continue;
        if (fc_at(m->g, b)->shape == fc_at(m->g, like)->shape || fc_rank(m->g, b) == 0) return b;
    }
    return like;
}

static fc_node random_row(maker *m) {
    fc_node a = m->pool[pick(m, m->n)];
    fusec_dtype t = (fusec_dtype)fc_at(m->g, a)->dtype;
    for (;;) {
        fc_op op = (fc_op)(FC_OP_FIRST_ELEMENTWISE +
                           (int)pick(m, FC_OP_FIRST_REDUCTION - FC_OP_FIRST_ELEMENTWISE));
        const fc_op_info *row = &fc_ops[op];
        /* copysign and signbit show the sign of a nan, which is nobody's promise */
        if (row->flags & FC_F_HIDDEN || op == FC_OP_pow || op == FC_OP_copysign ||
            op == FC_OP_signbit)
            continue;
        if (row->flags & FC_F_TRANSCENDENTAL && pick(m, 4)) continue;
        bool numeric = row->rule == FC_RULE_ARITH || row->rule == FC_RULE_ANY;
        if ((row->rule == FC_RULE_FLOAT && !fc_is_float(t)) ||
            (row->rule == FC_RULE_LOGIC && t != FUSEC_BOOL) ||
            (row->rule == FC_RULE_BITS && !fc_is_int(t)) || (numeric && t == FUSEC_BOOL))
            continue;
        if (op != FC_OP_where) return fc_build_op(m->g, op, a, partner(m, a), partner(m, a));
        fc_node b = fc_build_op(m->g, FC_OP_lt, a, partner(m, a), FC_NONODE);
        return fc_build_op(m->g, op, b, a, partner(m, a));
    }
}

static fc_node random_view(maker *m) {
    fc_graph *g = m->g;
    fc_node a = m->pool[pick(m, m->n)];
    uint32_t rank = fc_rank(g, a);
    fc_dim shape[FC_MAX_RANK];
    int64_t perm[FC_MAX_RANK];
    fc_slice slices[FC_MAX_RANK];
    switch (pick(m, 4)) {
    case 0: /* only what fits: an axis of 1, or in front */
        for (uint32_t i = 0; i < rank; i++)
            shape[i] = fc_axis_is_one(g, a, i) ? fc_dim_const(&g->dims, 6) : fc_axis(g, a, i);
        return fc_values_count(g, a) > 24 ? a : fc_build_broadcast(g, a, rank, shape);
    case 1:
        for (uint32_t i = 0; i < rank; i++) perm[i] = (i + 1) % rank;
        return fc_build_permute(g, a, perm);
    case 2:
        for (uint32_t i = 0; i < rank; i++) {
            int64_t size = 0;
            fc_dim_is_const(&g->dims, fc_axis(g, a, i), &size);
            bool back = pick(m, 2);
            slices[i] = (fc_slice){fc_dim_const(&g->dims, back ? size - 1 : 0), back ? -1 : 1,
                                   fc_axis(g, a, i)};
        }
        return fc_build_slice(g, a, slices);
    default:
        if (fc_values_count(g, a) != 24) return a;
        rank = some_shape(m, shape, true);
        return fc_build_reshape(g, a, rank, shape);
    }
}

static fc_node random_reduction(maker *m) {
    fc_node a = m->pool[pick(m, m->n)];
    fusec_dtype t = (fusec_dtype)fc_at(m->g, a)->dtype;
    uint32_t rank = fc_rank(m->g, a);
    if (!fc_is_int(t) || !rank) return FC_NONODE;
    int64_t axis = pick(m, rank);
    fc_node r = fc_build_reduce(m->g, pick(m, 2) ? FC_OP_sum : FC_OP_max, a, 1, &axis, true);
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) shape[i] = fc_axis(m->g, a, i);
    keep(m, r);
    return fc_build_cast(m->g, fc_build_broadcast(m->g, r, rank, shape), t);
}

void fc_random_graph(fc_graph *g, uint64_t seed, unsigned nodes) {
    maker m = {.g = g, .state = fc_mix(seed, 99)};
    fc_dim shape[FC_MAX_RANK];
    for (unsigned i = 0; i < 6; i++) {
        char name[4] = {'i', (char)('0' + i), 0, 0};
        uint32_t rank = some_shape(&m, shape, i < 4);
        keep(&m, fc_build_input(g, name, some_dtype(&m), rank, shape));
    }
    while (g->nodes.len < nodes && m.n < FC_COUNT(m.pool)) {
        unsigned what = pick(&m, 10);
        if (what < 6)
            keep(&m, random_row(&m));
        else if (what == 6)
            keep(&m, fc_build_cast(g, m.pool[pick(&m, m.n)], some_dtype(&m)));
        else if (what < 9)
            keep(&m, random_view(&m));
        else
            keep(&m, random_reduction(&m));
    }
    for (unsigned i = 0; i < 3; i++) {
        char name[4] = {'o', (char)('0' + i), 0, 0};
        fc_build_output(g, name, m.pool[m.n - 1 - (i ? pick(&m, m.n / 2) : 0)]);
    }
}
