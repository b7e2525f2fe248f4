/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random_graph.c - the generator: every step adds one node that is valid by construction. */
#include "tests/support/random_graph.h"

#include <math.h>

typedef struct maker {
    rg *r;
    fc_rng *rng;
    const rg_options *o;
} maker;

static int64_t pick(maker *m, int64_t n) {
    return (int64_t)fc_below(m->rng, (uint64_t)n);
}
static bool chance(maker *m, int percent) {
    return pick(m, 100) < percent;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static int add_size(rg *r, rg_size s) {
    if (s.kind == RG_CONST && s.value == 1) return 0;
    for (int i = 1; i < r->nsizes; i++) {
        const rg_size *x = &r->size[i];
        if (x->kind == s.kind && x->a == s.a && x->b == s.b && x->c == s.c && x->value == s.value)
            return i;
    }
    if (r->nsizes == RG_SIZES) return -1;
    r->size[r->nsizes] = s;
    return r->nsizes++;
}

static int constant(rg *r, int64_t v) {
    return add_size(r, (rg_size){.kind = RG_CONST, .value = v});
}
static int plus(rg *r, int a, int64_t c) {
    if (c == 0) return a;
    if (r->size[a].kind == RG_CONST) return constant(r, r->size[a].value + c);
    return add_size(r, (rg_size){.kind = RG_PLUS, .a = a, .c = c, .value = r->size[a].value + c});
}
static int times(rg *r, int a, int b) {
    if (a == 0) return b;
    if (b == 0) return a;
    int64_t v = r->size[a].value * r->size[b].value;
    if (r->size[a].kind == RG_CONST && r->size[b].kind == RG_CONST) return constant(r, v);
    return add_size(r, (rg_size){.kind = RG_TIMES, .a = a, .b = b, .value = v});
}

static int64_t value(const rg *r, int size) {
    return r->size[size].value;
}

static int64_t count(const rg *r, const rg_node *n) {
    int64_t c = 1;
    for (int k = 0; k < n->rank; k++) c *= value(r, n->shape[k]);
    return c;
}

/* Also of empty arrays the other axes are of a bearable size: what is 0 now may be something else
 * after a reduction, and a product beyond 63 bits is an error whatever else is 0. */
static bool fits(const maker *m, const rg_node *n) {
    int64_t c = 1;
    for (int k = 0; k < n->rank; k++) {
        int64_t v = value(m->r, n->shape[k]);
        c *= v ? v : 1;
        if (c > 16 * m->o->elements) return false;
    }
    return count(m->r, n) <= m->o->elements;
}

static bool same_shape(const rg_node *a, const rg_node *b) {
    if (a->rank != b->rank) return false;
    for (int k = 0; k < a->rank; k++)
        if (a->shape[k] != b->shape[k]) return false;
    return true;
}

static const int64_t awkward[] = {0, 1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 129, 1023, 1025};

static void make_sizes(maker *m) {
    rg *r = m->r;
    r->size[0] = (rg_size){.kind = RG_CONST, .value = 1};
    r->nsizes = 1;
    for (int i = 0; i < RG_NAMES; i++) {
        int64_t v = chance(m, 4)    ? 0
                    : chance(m, 70) ? awkward[1 + pick(m, 8)]
                                    : awkward[pick(m, (int64_t)FC_COUNT(awkward))];
        if (v > m->o->elements) v = 5;
        r->name[i] = v;
        add_size(r, (rg_size){.kind = RG_NAME, .a = i, .value = v});
    }
}

/* Other values for the names with which every shape still works out. */
static void make_other_sizes(maker *m) {
    rg *r = m->r;
    rg changed;
    for (int tries = 0; tries < 12 && !r->has_other; tries++) {
        for (int i = 0; i < RG_NAMES; i++) {
            bool stays = chance(m, tries < 6 ? 30 : 60);
            r->other[i] = stays           ? r->name[i]
                          : chance(m, 50) ? awkward[pick(m, 10)]
                                          : r->name[i] + pick(m, 9) - 2;
            if (r->other[i] < 0) r->other[i] = 4;
        }
        r->has_other = true;
        r->has_other = memcmp(r->other, r->name, sizeof r->name) != 0 && rg_other(r, &changed);
        maker n = {&changed, m->rng, m->o};
        for (int i = 0; r->has_other && i < r->nnodes; i++)
            r->has_other = fits(&n, &changed.node[i]);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The number of the node, -1 if there is no room or it would be too large. */
static int add(maker *m, const rg_node *n) {
    rg *r = m->r;
    if (r->nnodes == RG_NODES || n->rank > RG_RANK) return -1;
    for (int k = 0; k < n->rank; k++)
        if (n->shape[k] < 0 || value(r, n->shape[k]) > m->o->elements) return -1;
    if (!fits(m, n)) return -1;
    r->node[r->nnodes] = *n;
    return r->nnodes++;
}

static fusec_dtype any_dtype(maker *m) {
    static const fusec_dtype often[] = {FUSEC_F32, FUSEC_F64, FUSEC_I32,
                                        FUSEC_F16, FUSEC_I64, FUSEC_BOOL};
    return chance(m, 60) ? often[pick(m, (int64_t)FC_COUNT(often))]
                         : (fusec_dtype)pick(m, FC_DTYPE_COUNT);
}

static int make_input(maker *m, fusec_dtype t, const rg_node *like) {
    rg_node n = {.kind = RG_INPUT, .t = t, .bits = fc_random(m->rng)};
    /* the same seed as another input: if their shapes are equal, they are one array */
    if (like && like->kind == RG_INPUT && like->t == t && chance(m, 50)) n.bits = like->bits;
    if (like) {
        n.rank = like->rank;
        memcpy(n.shape, like->shape, sizeof n.shape);
        return add(m, &n);
    }
    n.rank = (int)(chance(m, 6) ? pick(m, RG_RANK + 1) : pick(m, 4));
    for (;;) {
        for (int k = 0; k < n.rank; k++)
            n.shape[k] = chance(m, 8)    ? 0
                         : chance(m, 12) ? constant(m->r, awkward[1 + pick(m, 8)])
                                         : 1 + (int)pick(m, RG_NAMES);
        if (fits(m, &n)) break;
        n.rank--;
    }
    return add(m, &n);
}

static int make_number(maker *m, fusec_dtype t) {
    rg_node n = {.kind = RG_NUMBER, .t = t};
    n.bits = chance(m, 50) ? fc_random_value(t, m->rng, true)
                           : fc_special(t, (uint32_t)pick(m, fc_special_count(t)));
    if (chance(m, 40)) n.bits = fc_o_cast(FUSEC_I64, t, (uint64_t)(pick(m, 5) - 1));
    if (chance(m, 10) && fc_is_float(t)) n.bits = fc_o_bits(t, -0.0);
    return add(m, &n);
}

static int any_node(maker *m) {
    return (int)(chance(m, 50) && m->r->nnodes > 4 ? m->r->nnodes - 1 - pick(m, 4)
                                                   : pick(m, m->r->nnodes));
}

/* The shape two operands have together. */
static bool together(const rg_node *a, const rg_node *b, rg_node *out) {
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int k = 0; k < out->rank; k++) {
        int ia = k + a->rank - out->rank, ib = k + b->rank - out->rank;
        int x = ia < 0 ? 0 : a->shape[ia], y = ib < 0 ? 0 : b->shape[ib];
        if (x && y && x != y) return false;
        /* an axis that one operand lacks keeps the other's size, even if that is the literal 1 */
        out->shape[k] = x ? x : y;
    }
    return true;
}

/* An operand of dtype t that broadcasts with `first`. */
static int partner(maker *m, const rg_node *first, fusec_dtype t) {
    rg *r = m->r;
    rg_node n;
    int64_t how = pick(m, 10);
    for (int tries = 0; how < 6 && tries < 12; tries++) {
        int i = any_node(m);
        if (r->node[i].t == t && together(first, &r->node[i], &n) && count(r, &n) <= m->o->elements)
            return i;
    }
    if (how < 3)
        for (int i = r->nnodes; i-- > 0;)
            if (same_shape(&r->node[i], first)) {
                n = (rg_node){.kind = RG_CAST, .t = t, .src = {i}, .rank = first->rank};
                memcpy(n.shape, first->shape, sizeof n.shape);
                return r->node[i].t == t ? i : add(m, &n);
            }
    if (how < 8) return make_number(m, t);
    n = *first;
    if (n.rank && chance(m, 40)) n.shape[pick(m, n.rank)] = 0;
    if (n.rank && chance(m, 20))
        memmove(n.shape, n.shape + 1, (size_t)--n.rank * sizeof n.shape[0]);
    return make_input(m, t, &n);
}

/* ---- elementwise ----------------------------------------------------------------------------- */

static bool wanted(const maker *m, fc_op op) {
    const fc_op_info *row = &fc_ops[op];
    if (row->flags & FC_F_HIDDEN) return false;
    return !m->o->exact || row->flags & FC_F_EXACT;
}

fusec_dtype rg_result(const rg_node *n, fusec_dtype t) {
    bool real = fc_is_float(t);
    if (n->kind == RG_LOGSUMEXP) return real ? t : FUSEC_F32;
    if (n->kind == RG_SORT) return n->naxes == RG_SORTED || n->naxes == RG_TOP ? t : FUSEC_I64;
    switch (fc_ops[n->op].rule) {
    case FC_RULE_COMPARE:
    case FC_RULE_TEST:
    case FC_RULE_BOOL: return FUSEC_BOOL;
    case FC_RULE_FLOAT:
    case FC_RULE_MEAN: return real ? t : FUSEC_F32;
    case FC_RULE_INDEX: return FUSEC_I64;
    case FC_RULE_SUM: return real ? t : fc_is_unsigned(t) ? FUSEC_U64 : FUSEC_I64;
    default: return t;
    }
}

static int make_op(maker *m) {
    static const fc_op common[] = {FC_OP_add,   FC_OP_mul, FC_OP_sub,     FC_OP_div,
                                   FC_OP_where, FC_OP_lt,  FC_OP_maximum, FC_OP_neg};
    rg *r = m->r;
    fc_op op = chance(m, 35) ? common[pick(m, (int64_t)FC_COUNT(common))]
                             : (fc_op)(FC_OP_FIRST_ELEMENTWISE +
                                       pick(m, FC_OP_FIRST_REDUCTION - FC_OP_FIRST_ELEMENTWISE));
    int arity = fc_ops[op].arity, a = any_node(m);
    if (!wanted(m, op)) return -1;
    bool select = fc_ops[op].rule == FC_RULE_SELECT;
    rg_node n = {.kind = RG_OP, .op = op};
    if (select) {
        n.src[1] = a;
        n.src[0] = partner(m, &r->node[a], FUSEC_BOOL);
        n.src[2] = partner(m, &r->node[a], r->node[a].t);
    } else {
        if (!fc_op_takes(op, r->node[a].t)) return -1;
        n.src[0] = a;
        if (arity > 1) n.src[1] = partner(m, &r->node[a], r->node[a].t);
        if (arity > 2) n.src[2] = partner(m, &r->node[a], r->node[a].t);
    }
    fusec_dtype t = r->node[a].t;
    if (op == FC_OP_pow && fc_is_signed(t))
        n.src[1] = make_input(m, t, &r->node[a]); /* a constant may be negative */
    for (int k = 0; k < arity; k++)
        if (n.src[k] < 0) return -1;
    n.t = rg_result(&n, t);
    rg_node all = r->node[n.src[0]];
    for (int k = 1; k < arity; k++) {
        rg_node so_far = all;
        if (!together(&so_far, &r->node[n.src[k]], &all)) return -1;
    }
    n.rank = all.rank;
    memcpy(n.shape, all.shape, sizeof n.shape);
    return add(m, &n);
}

/* ---- conversions and leaves ------------------------------------------------------------------ */

static int make_conversion(maker *m) {
    int a = any_node(m);
    rg_node n = m->r->node[a];
    n.src[0] = a;
    if (chance(m, 15)) {
        n.kind = RG_STORE;
        return add(m, &n);
    }
    bool bits = chance(m, 25);
    n.t = any_dtype(m);
    n.kind = bits ? RG_BITCAST : RG_CAST;
    if (bits && (fc_dtypes[n.t].bytes != fc_dtypes[m->r->node[a].t].bytes || n.t == FUSEC_BOOL ||
                 m->r->node[a].t == FUSEC_BOOL))
        return -1;
    return add(m, &n);
}

static int make_leaf(maker *m) {
    int64_t how = pick(m, 6);
    if (how == 0)
        return add(m,
                   &(rg_node){.kind = RG_DIM, .t = FUSEC_I64, .naxes = 1 + (int)pick(m, RG_NAMES)});
    if (how == 1) {
        rg_node n = {
            .kind = RG_IOTA, .t = FUSEC_I64, .rank = 1, .shape = {1 + (int)pick(m, RG_NAMES)}};
        return add(m, &n);
    }
    if (how == 2) return make_number(m, any_dtype(m));
    return make_input(m, any_dtype(m), how == 3 ? &m->r->node[any_node(m)] : NULL);
}

/* ---- views ----------------------------------------------------------------------------------- */

static int make_broadcast(maker *m) {
    int a = any_node(m);
    rg_node n = m->r->node[a];
    n.kind = RG_BROADCAST;
    n.src[0] = a;
    for (int k = 0; k < n.rank; k++)
        if (n.shape[k] == 0) n.shape[k] = 1 + (int)pick(m, RG_NAMES);
    if (n.rank < RG_RANK && (chance(m, 60) || same_shape(&n, &m->r->node[a]))) {
        memmove(n.shape + 1, n.shape, (size_t)n.rank * sizeof n.shape[0]);
        n.shape[0] = chance(m, 20) ? 0 : 1 + (int)pick(m, RG_NAMES);
        n.rank++;
    }
    return add(m, &n);
}

static int make_permute(maker *m) {
    int a = any_node(m);
    rg_node n = m->r->node[a];
    if (n.rank < 2) return -1;
    n.kind = RG_PERMUTE;
    n.src[0] = a;
    for (int k = 0; k < n.rank; k++) n.axes[k] = k;
    for (int k = n.rank - 1; k > 0; k--) {
        int64_t j = pick(m, k + 1), x = n.axes[k];
        n.axes[k] = n.axes[j];
        n.axes[j] = x;
    }
    for (int k = 0; k < n.rank; k++) n.shape[k] = m->r->node[a].shape[n.axes[k]];
    return add(m, &n);
}

static void cut_axis(maker *m, rg_node *n, int k) {
    rg *r = m->r;
    int d = n->shape[k];
    int64_t v = value(r, d), how = pick(m, 5);
    n->cut[k] = (rg_cut){.of = -1, .step = 1};
    if (how == 0) { /* reversed */
        n->cut[k] = (rg_cut){.of = d, .from = -1, .step = -1};
    } else if (how == 1 && v > 0) { /* without the first */
        n->cut[k].from = 1 + pick(m, v < 4 ? v : 4);
        n->shape[k] = plus(r, d, -n->cut[k].from);
    } else if (how == 2 && v > 1) { /* some */
        n->cut[k].from = pick(m, v);
        n->shape[k] = constant(r, pick(m, v - n->cut[k].from + 1));
    } else if (how == 3 && v > 1) { /* every second or third */
        n->cut[k].step = 2 + pick(m, 2);
        n->cut[k].from = pick(m, 2);
        n->shape[k] = constant(r, (v - n->cut[k].from + n->cut[k].step - 1) / n->cut[k].step);
    } else if (how == 4 && v > 2) { /* the same from behind */
        int64_t size = 1 + pick(m, v / 2);
        n->cut[k].step = -2;
        n->cut[k].from = 2 * (size - 1);
        n->shape[k] = constant(r, size);
    }
}

static int make_slice(maker *m) {
    int a = any_node(m);
    rg_node n = m->r->node[a];
    if (n.rank == 0) return -1;
    n.kind = RG_SLICE;
    n.src[0] = a;
    for (int k = 0; k < n.rank; k++) {
        n.cut[k] = (rg_cut){.of = -1, .step = 1};
        if (chance(m, 60)) cut_axis(m, &n, k);
    }
    return add(m, &n);
}

/* An index of up to two terms for each axis of the operand; valid as rg_view_ok says. */
static int make_view(maker *m) {
    rg *r = m->r;
    int a = any_node(m);
    const rg_node *s = &r->node[a];
    rg_node n = *s;
    if (s->rank == 0) return -1;
    n.kind = RG_VIEW;
    n.src[0] = a;
    n.rank = (int)(chance(m, 60) ? s->rank : pick(m, s->rank + 2));
    if (n.rank > RG_RANK) return -1;
    for (int k = 0; k < n.rank; k++)
        n.shape[k] = k < s->rank && chance(m, 60) ? s->shape[k]
                     : chance(m, 50)              ? constant(r, 1 + pick(m, 5))
                                                  : 1 + (int)pick(m, RG_NAMES);
    for (int k = 0; k < s->rank; k++) {
        n.cut[k] = (rg_cut){.of = -1};
        n.index[k].edge = (fc_edge)pick(m, FC_EDGE_COUNT);
        for (int t = 0; t < 2; t++) {
            n.index[k].axis[t] = n.rank && chance(m, t ? 30 : 90) ? (int)pick(m, n.rank) : -1;
            n.index[k].step[t] = chance(m, 70) ? 1 : pick(m, 7) - 3;
        }
        if (n.rank > k && chance(m, 60)) n.index[k].axis[0] = k;
        if (n.index[k].edge || chance(m, 20)) n.cut[k].from = pick(m, 7) - 3;
    }
    if (!rg_view_ok(r, &n)) {
        if (chance(m, 30)) return -1;
        for (int k = 0; k < s->rank; k++) /* a mode helps, but not on an empty axis */
            if (!n.index[k].edge) n.index[k].edge = FC_EDGE_ZERO;
        if (!rg_view_ok(r, &n)) return -1;
    }
    return add(m, &n);
}

/* Of an array and integers; indices outside are either made good or read 0. */
static int make_take(maker *m) {
    rg *r = m->r;
    int a = any_node(m), index = -1;
    rg_node n = r->node[a], like;
    if (n.rank == 0) return -1;
    const int axis = (int)pick(m, n.rank);
    like = n;
    like.kind = RG_NUMBER;
    if (chance(m, 60)) like.shape[axis] = 1 + (int)pick(m, RG_NAMES);
    for (int i = r->nnodes; i-- > 0 && index < 0;)
        if (fc_is_int(r->node[i].t) && same_shape(&r->node[i], &like) && chance(m, 50)) index = i;
    if (index < 0) index = make_input(m, (fusec_dtype)(FUSEC_I8 + pick(m, 8)), &like);
    if (index < 0 || !fc_is_int(r->node[index].t)) return -1;
    memcpy(n.shape, r->node[index].shape, sizeof n.shape);
    n.kind = RG_TAKE;
    n.src[0] = a;
    n.src[1] = index;
    n.axes[0] = axis;
    n.keep = chance(m, 60);
    if (!rg_take_ok(r, &n)) return -1;
    return add(m, &n);
}

/* A node like this one that is there already, or a new input. */
static int find_or_make(maker *m, const rg_node *like, fusec_dtype t, bool ints) {
    rg *r = m->r;
    for (int i = r->nnodes; i-- > 0;)
        if ((ints ? fc_is_int(r->node[i].t) : r->node[i].t == t) && same_shape(&r->node[i], like) &&
            chance(m, 50))
            return i;
    return make_input(m, t, like);
}

/* The values are any node, the array has their last axes, one of them of another size. */
static int make_scatter(maker *m) {
    rg *r = m->r;
    const int v = any_node(m);
    rg_node n = r->node[v], like = r->node[v];
    if (n.rank == 0 || n.rank + 1 >= RG_RANK) return -1;
    const int lead = chance(m, 70) ? 0 : (int)pick(m, n.rank);
    n.rank -= lead;
    memmove(n.shape, n.shape + lead, (size_t)n.rank * sizeof n.shape[0]);
    const int axis = (int)pick(m, n.rank);
    if (chance(m, 60)) n.shape[axis] = 1 + (int)pick(m, RG_NAMES);
    n.kind = RG_NUMBER;
    const int index = find_or_make(m, &like, (fusec_dtype)(FUSEC_I8 + pick(m, 8)), true);
    const int base = index < 0 ? index : find_or_make(m, &n, n.t, false);
    if (base < 0 || !fc_is_int(r->node[index].t)) return -1;
    n.kind = RG_SCATTER;
    n.src[0] = base;
    n.src[1] = index;
    n.src[2] = v;
    n.axes[0] = axis;
    n.naxes = (int)pick(m, FC_COUNT(rg_scatters));
    n.keep = chance(m, 80);
    if (!rg_scatter_ok(r, &n)) return -1;
    return add(m, &n);
}

/* Merges axis k and the next. */
static void merge(rg *r, rg_node *n, int k) {
    n->shape[k] = times(r, n->shape[k], n->shape[k + 1]);
    memmove(n->shape + k + 1, n->shape + k + 2, (size_t)(n->rank - k - 2) * sizeof n->shape[0]);
    n->rank--;
}

static void insert(rg_node *n, int k, int size) {
    if (n->rank == RG_RANK) return;
    memmove(n->shape + k + 1, n->shape + k, (size_t)(n->rank - k) * sizeof n->shape[0]);
    n->shape[k] = size;
    n->rank++;
}

static void split(maker *m, rg_node *n, int k) {
    rg *r = m->r;
    int64_t v = value(r, n->shape[k]);
    int64_t factors[] = {2, 3, 4, 7, 8, 31};
    int64_t f = factors[pick(m, (int64_t)FC_COUNT(factors))];
    if (v % f || n->rank == RG_RANK) return;
    int rest =
        r->size[n->shape[k]].kind == RG_CONST
            ? constant(r, v / f)
            : add_size(r, (rg_size){.kind = RG_OVER, .a = n->shape[k], .c = f, .value = v / f});
    bool outer = chance(m, 50);
    n->shape[k] = outer ? rest : constant(r, f);
    insert(n, k + 1, outer ? constant(r, f) : rest);
}

static int make_reshape(maker *m) {
    int a = any_node(m);
    rg_node n = m->r->node[a];
    n.kind = RG_RESHAPE;
    n.src[0] = a;
    for (int64_t steps = 1 + pick(m, 3); steps > 0; steps--) {
        int k = n.rank ? (int)pick(m, n.rank) : 0;
        int64_t how = pick(m, 5);
        if (how == 0 && n.rank > 1)
            while (n.rank > 1) merge(m->r, &n, 0);
        else if (how == 1 && k + 1 < n.rank)
            merge(m->r, &n, k);
        else if (how == 2)
            insert(&n, (int)pick(m, n.rank + 1), 0);
        else if (how == 3 && n.rank)
            split(m, &n, k);
        else if (how == 4 && n.rank && n.shape[k] == 0) {
            memmove(n.shape + k, n.shape + k + 1, (size_t)(n.rank - k - 1) * sizeof n.shape[0]);
            n.rank--;
        }
        for (int i = 0; i < n.rank; i++)
            if (n.shape[i] < 0) return -1;
    }
    return add(m, &n);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static int make_reduction(maker *m) {
    rg *r = m->r;
    int a = any_node(m);
    rg_node n = r->node[a];
    bool log = chance(m, 8) && !m->o->exact;
    fc_op op = (fc_op)(FC_OP_FIRST_REDUCTION + pick(m, FC_OP_dot - FC_OP_FIRST_REDUCTION));
    if (fc_ops[op].flags & FC_F_HIDDEN) op = FC_OP_var; /* part of it */
    int rank = n.rank, kept = 0;
    bool empty = false;
    n.kind = log ? RG_LOGSUMEXP : RG_REDUCE;
    n.op = op;
    n.src[0] = a;
    n.naxes = 0;
    n.keep = chance(m, 50) && rank > 0;
    for (int k = 0; k < rank; k++) {
        bool reduced = chance(m, 45) || (k == rank - 1 && n.naxes == 0);
        if (reduced) {
            empty |= value(r, n.shape[k]) == 0;
            n.axes[n.naxes++] = k;
            if (n.keep) n.shape[kept++] = 0;
        } else {
            n.shape[kept++] = n.shape[k];
        }
    }
    n.rank = kept;
    if (empty && (log || fc_ops[op].flags & FC_F_EMPTY_IS_ERROR)) return -1;
    n.t = rg_result(&n, r->node[a].t);
    n.bits = chance(m, 30); /* by a body, where the row has one */
    return add(m, &n);
}

static int make_scan(maker *m) {
    static const fc_op rows[] = {FC_OP_sum, FC_OP_prod, FC_OP_min, FC_OP_max, FC_OP_any, FC_OP_all};
    const int a = any_node(m);
    rg_node n = m->r->node[a];
    if (n.rank == 0) return -1;
    n.kind = RG_SCAN;
    n.op = rows[pick(m, FC_COUNT(rows))];
    n.src[0] = a;
    n.axes[0] = pick(m, n.rank);
    n.bits = (uint64_t)pick(m, 4) | (chance(m, 40) ? 4u : 0) | (chance(m, 20) ? 8u : 0);
    n.t = rg_result(&n, m->r->node[a].t);
    return add(m, &n);
}

/* Some elements of a row are equal: whose order counts, too. */
static int make_sort(maker *m) {
    const int a = any_node(m);
    rg_node n = m->r->node[a];
    if (n.rank == 0) return -1;
    n.kind = RG_SORT;
    n.src[0] = a;
    n.axes[0] = pick(m, n.rank);
    n.naxes = (int)pick(m, RG_SEARCHED + 1);
    n.bits = (uint64_t)pick(m, 2);
    if (n.naxes == RG_TOP || n.naxes == RG_TOP_POSITIONS) {
        if (chance(m, 80)) n.shape[n.axes[0]] = (int)pick(m, m->r->nsizes);
        n.bits = 1;
    }
    n.t = rg_result(&n, n.t);
    return rg_sort_ok(m->r, &n) ? add(m, &n) : -1;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static int make_loop(maker *m) {
    static const fc_op rows[] = {FC_OP_add, FC_OP_maximum, FC_OP_sub, FC_OP_minimum};
    rg *r = m->r;
    const int a = any_node(m);
    rg_node n = r->node[a];
    n.kind = RG_LOOP;
    n.src[0] = n.src[1] = a;
    for (int tries = 0; tries < 4; tries++) {
        const int b = any_node(m);
        const rg_node *z = &r->node[b];
        if (z->t == n.t && z->rank == n.rank &&
            !memcmp(z->shape, n.shape, (size_t)n.rank * sizeof n.shape[0]))
            n.src[1] = b;
    }
    n.op = n.t == FUSEC_BOOL ? FC_OP_logical_and : rows[pick(m, FC_COUNT(rows))];
    n.bits = (uint64_t)pick(m, 1 << 15);
    for (int k = 0; k < n.rank; k++)
        if (value(r, n.shape[k]) == 0) n.bits &= ~(uint64_t)RG_LOOP_REDUCES;
    return add(m, &n);
}

/* ---- contractions ---------------------------------------------------------------------------- */

/* The second operand: an input with some axes of the first and some of its own, in any order. */
static int make_dot(maker *m) {
    rg *r = m->r;
    const int a = any_node(m);
    const rg_node x = r->node[a];
    rg_node n = {.kind = RG_DOT, .op = FC_OP_dot, .src = {a}}, y = {.kind = RG_INPUT};
    if (x.rank == 0 || x.rank > RG_RANK - 2 || (m->o->exact && fc_is_half(x.t))) return -1;
    int64_t domain = 1;
    for (int k = 0; k < x.rank; k++) {
        domain *= value(r, x.shape[k]);
        const bool last = k == x.rank - 1, shared = last || chance(m, 50);
        if (shared && (last || chance(m, 50))) n.bits |= UINT64_C(1) << k;
        if (shared) {
            y.shape[y.rank] = x.shape[k];
            n.axes[y.rank++] = k;
        }
    }
    for (int64_t own = pick(m, 3); own > 0 && y.rank < RG_RANK; own--) {
        y.shape[y.rank] = 1 + (int)pick(m, RG_NAMES);
        domain *= value(r, y.shape[y.rank]);
        n.axes[y.rank] = RG_RANK + y.rank;
        y.rank++;
    }
    for (int k = y.rank - 1; k > 0; k--) { /* any order */
        const int j = (int)pick(m, k + 1), shape = y.shape[k];
        const int64_t axis = n.axes[k];
        y.shape[k] = y.shape[j];
        n.axes[k] = n.axes[j];
        y.shape[j] = shape;
        n.axes[j] = axis;
    }
    if (domain > 100000) return -1;
    n.naxes = y.rank;
    n.src[1] = make_input(m, x.t, &y);
    if (n.src[1] < 0 || !rg_dot_shape(r, &n, &n.rank, n.shape)) return -1;
    n.t = rg_result(&n, x.t);
    return add(m, &n);
}

/* ---- a recipe -------------------------------------------------------------------------------- */

static void make_outputs(maker *m) {
    rg *r = m->r;
    bool used[RG_NODES] = {false};
    r->noutputs = 0;
    for (int i = 0; i < r->nnodes; i++)
        for (int k = 0; k < 3; k++) used[r->node[i].src[k]] |= r->node[i].src[k] < i;
    for (int i = r->nnodes; i-- > 0 && r->noutputs < RG_OUTPUTS;)
        if (!used[i] || chance(m, 8)) r->output[r->noutputs++] = i;
}

/* Whether some values are fixed within bounds only. */
static bool bounded(const rg *r) {
    for (int i = 0; i < r->nnodes; i++) {
        const rg_node *n = &r->node[i];
        if (n->kind == RG_LOGSUMEXP) return true;
        if (n->kind == RG_DOT && fc_is_half(n->t)) return true;
        if (n->kind == RG_OP && !(fc_ops[n->op].flags & FC_F_EXACT) &&
            !(n->op == FC_OP_pow && !fc_is_float(n->t)))
            return true;
    }
    return false;
}

void rg_make(rg *r, fc_rng *rng, const rg_options *o) {
    maker m = {r, rng, o};
    memset(r, 0, sizeof *r);
    make_sizes(&m);
    int64_t nodes = 1 + pick(&m, o->nodes), inputs = 1 + pick(&m, 3);
    while (inputs-- > 0) make_input(&m, any_dtype(&m), NULL);
    for (int tries = 0; r->nnodes < nodes && tries < 400; tries++) {
        int64_t how = pick(&m, 100);
        if (how < 55)
            make_op(&m);
        else if (how < 65)
            make_conversion(&m);
        else if (how < 70)
            make_leaf(&m);
        else if (how < 75)
            make_broadcast(&m);
        else if (how < 80)
            make_permute(&m);
        else if (how < 85)
            make_slice(&m);
        else if (how < 88)
            make_reshape(&m);
        else if (how < 90)
            make_view(&m);
        else if (how < 91)
            make_take(&m);
        else if (how < 92)
            make_scatter(&m);
        else if (how < 95)
            make_reduction(&m);
        else if (how < 96)
            make_scan(&m);
        else if (how < 97)
            make_sort(&m);
        else if (how < 98)
            make_loop(&m);
        else
            make_dot(&m);
    }
    make_outputs(&m);
    make_other_sizes(&m);
    r->exact = !bounded(r);
}
