/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* index_map.c - see index_map.h. */
#include "passes/index_map.h"
#include "ir/plant.h"

#include <stdlib.h>

/* ---- indices -----------------------------------------------------------------------------------
 */

/* An index while it is made: terms in any order, each at most once. */
typedef struct sum {
    fc_dim start;
    uint32_t n;
    fc_index_term term[FC_MAX_TERMS];
} sum;

static fc_list too_large(fc_graph *g) {
    if (!g->error.code) fc_fail(&g->error, FUSEC_LIMIT, "an index has too many terms");
    return FC_NOMAP;
}

static fc_list intern(fc_graph *g, sum *s);

static int64_t both(uint32_t first, uint32_t second) {
    return (int64_t)((uint64_t)first << 32 | second);
}

/* What there is so far as one term: divided by 1. */
static void one_term(fc_graph *g, sum *s) {
    const fc_list all = intern(g, s);
    *s = (sum){
        .start = fc_dim_const(&g->dims, 0), .n = 1, .term = {{FC_TERM_QUOTIENT, both(all, 1), 1}}};
}

static bool add_term(fc_graph *g, sum *s, fc_index_term t) {
    uint32_t i = 0;
    if (t.step == 0) return true;
    while (i < s->n && (s->term[i].what != t.what || s->term[i].which != t.which)) i++;
    if (i < s->n) {
        if (!fc_add_ok(s->term[i].step, t.step, &s->term[i].step)) return false;
        if (s->term[i].step == 0) s->term[i] = s->term[--s->n];
        return true;
    }
    if (s->n == FC_MAX_TERMS) one_term(g, s);
    s->term[s->n++] = t;
    return true;
}

/* s += step * index */
static bool add_index(fc_graph *g, sum *s, fc_list index, int64_t step) {
    fc_index_term part[FC_MAX_TERMS];
    const fc_index_term *t;
    const fc_dim start = fc_index_start(g, index);
    const uint32_t n = fc_index_terms(g, index, &t);
    memcpy(part, t, n * sizeof *part);
    s->start =
        fc_dim_add(&g->dims, s->start, fc_dim_mul(&g->dims, start, fc_dim_const(&g->dims, step)));
    if (s->start == FC_DIM_NONE) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!fc_mul_ok(part[i].step, step, &part[i].step) || !add_term(g, s, part[i])) return false;
    }
    return true;
}

static int by_term(const void *a, const void *b) {
    const fc_index_term *x = a, *y = b;
    if (x->what != y->what) return x->what < y->what ? -1 : 1;
    return x->which < y->which ? -1 : x->which > y->which;
}

static fc_list intern(fc_graph *g, sum *s) {
    int64_t v[1 + 3 * FC_MAX_TERMS];
    if (s->n > 1) qsort(s->term, s->n, sizeof *s->term, by_term);
    v[0] = s->start;
    for (uint32_t i = 0; i < s->n; i++) {
        v[1 + 3 * i] = s->term[i].what;
        v[2 + 3 * i] = s->term[i].which;
        v[3 + 3 * i] = s->term[i].step;
    }
    return fc_intern_list(g, v, 1 + 3 * s->n);
}

/* Only a start, or an axis, a value or a continued index as it is. */
static fc_list index_of_start(fc_graph *g, fc_dim start) {
    const int64_t v[] = {start};
    return fc_intern_list(g, v, 1);
}
static fc_list index_of_term(fc_graph *g, int64_t what, int64_t which) {
    const int64_t v[] = {fc_dim_const(&g->dims, 0), what, which, 1};
    return fc_intern_list(g, v, 4);
}

/* ---- maps --------------------------------------------------------------------------------------
 */

/* A map while it is made. */
typedef struct making {
    uint32_t rank, n; /* n: numbers of the guards */
    int64_t at[FC_MAX_RANK + 3 * FC_MAX_TERMS];
} making;

static fc_list finish(fc_graph *g, const making *m) {
    fc_list l = fc_intern_list(g, m->at, m->rank + m->n);
    if (g->dims.oom) fc_oom(&g->error); /* a start that could not be made */
    return g->error.code ? FC_NOMAP : l;
}

static void copy_guards(const fc_graph *g, fc_list map, uint32_t rank, making *m) {
    m->n = fc_list_len(g, map) - rank;
    if (m->n) memcpy(m->at + m->rank, fc_list_at(g, map) + rank, m->n * sizeof *m->at);
}

/* A guard that is there already is not added. */
static bool add_guard(fc_graph *g, making *m, int64_t what, int64_t which, fc_dim size) {
    int64_t *to = m->at + m->rank;
    for (uint32_t i = 0; i < m->n; i += 3)
        if (to[i] == what && to[i + 1] == which && to[i + 2] == size) return true;
    if (m->n + 3 > 3 * FC_MAX_TERMS) return too_large(g), false;
    to[m->n++] = what;
    to[m->n++] = which;
    to[m->n++] = size;
    return true;
}

bool fc_map_is_affine(const fc_graph *g, fc_list map, uint32_t rank) {
    if (fc_list_len(g, map) != rank) return false;
    for (uint32_t i = 0; i < rank; i++) {
        const fc_index_term *t;
        const uint32_t n = fc_index_terms(g, fc_map_index(g, map, i), &t);
        if (n && t[n - 1].what != FC_TERM_AXIS) return false; /* they ascend */
    }
    return true;
}

fc_list fc_map_identity(fc_graph *g, fc_list shape) {
    making m = {.rank = fc_list_len(g, shape)};
    const fc_dim zero = fc_dim_const(&g->dims, 0);
    for (uint32_t i = 0; i < m.rank; i++) {
        const bool one = fc_dim_is(&g->dims, (fc_dim)fc_list_at(g, shape)[i], 1);
        m.at[i] = one ? index_of_start(g, zero) : index_of_term(g, FC_TERM_AXIS, i);
    }
    return finish(g, &m);
}

fc_list fc_map_match(fc_graph *g, fc_list shape, fc_list domain, uint64_t mask) {
    making m = {.rank = fc_list_len(g, shape)};
    const fc_dim zero = fc_dim_const(&g->dims, 0);
    uint32_t drank = fc_list_len(g, domain), d = 0;
    for (uint32_t i = 0; i < m.rank; i++) {
        fc_dim size = (fc_dim)fc_list_at(g, shape)[i];
        if (fc_dim_is(&g->dims, size, 1)) {
            m.at[i] = index_of_start(g, zero);
            continue;
        }
        while (d < drank &&
               (!(mask >> d & 1) || fc_dim_is(&g->dims, (fc_dim)fc_list_at(g, domain)[d], 1)))
            d++;
        if (d == drank || (fc_dim)fc_list_at(g, domain)[d] != size) return FC_NOMAP;
        m.at[i] = index_of_term(g, FC_TERM_AXIS, d++);
    }
    for (; d < drank; d++) /* every axis that takes part must have been used */
        if ((mask >> d & 1) && !fc_dim_is(&g->dims, (fc_dim)fc_list_at(g, domain)[d], 1))
            return FC_NOMAP;
    return finish(g, &m);
}

/* ---- views -------------------------------------------------------------------------------------
 */

/* The operand axis of each result axis that is not of literal size 1, or false. */
static bool reshape_axes(fc_graph *g, fc_node n, int32_t *operand_to_result) {
    fc_node a = fc_at(g, n)->src[0];
    uint32_t ra = fc_rank(g, a), rn = fc_rank(g, n), j = 0;
    for (uint32_t i = 0; i < ra; i++) {
        operand_to_result[i] = -1;
        if (fc_axis_is_one(g, a, i)) continue;
        while (j < rn && fc_axis_is_one(g, n, j)) j++;
        if (j == rn || fc_axis(g, n, j) != fc_axis(g, a, i)) return false;
        operand_to_result[i] = (int32_t)j++;
    }
    for (; j < rn; j++)
        if (!fc_axis_is_one(g, n, j)) return false;
    return true;
}

bool fc_reshape_is_free(fc_graph *g, fc_node n) {
    int32_t axes[FC_MAX_RANK];
    return reshape_axes(g, n, axes);
}

/* ---- reshapes that merge or split axes ------------------------------------------------------- */

/* The axes of the operand and of the result that differ, and how far elements lie apart along each
 * of them. */
typedef struct run {
    uint32_t start, end_from, end_to;
    int64_t apart_from[FC_MAX_RANK], apart_to[FC_MAX_RANK];
} run;

/* False: a size that counts is no number, or there are no elements. */
static bool find_apart(const fc_graph *g, fc_list shape, uint32_t start, uint32_t end,
                       int64_t *apart) {
    int64_t all = 1, size;
    for (uint32_t i = end; i-- > start;) {
        apart[i] = all;
        if (i == start) break;
        if (!fc_dim_is_const(&g->dims, (fc_dim)fc_list_at(g, shape)[i], &size) || size < 1 ||
            !fc_mul_ok(all, size, &all) || all > INT32_MAX)
            return false;
    }
    return true;
}

static bool find_run(const fc_graph *g, fc_node n, run *r) {
    const fc_list from = fc_at(g, fc_at(g, n)->src[0])->shape, to = fc_at(g, n)->shape;
    const uint32_t a = fc_list_len(g, from), b = fc_list_len(g, to);
    const int64_t *x = fc_list_at(g, from), *y = fc_list_at(g, to);
    uint32_t p = 0, q = 0;
    while (p < a && p < b && x[p] == y[p]) p++;
    while (p + q < a && p + q < b && x[a - 1 - q] == y[b - 1 - q]) q++;
    *r = (run){.start = p, .end_from = a - q, .end_to = b - q};
    return find_apart(g, from, p, a - q, r->apart_from) && find_apart(g, to, p, b - q, r->apart_to);
}

bool fc_reshape_has_map(fc_graph *g, fc_node n) {
    run r;
    return fc_reshape_is_free(g, n) || find_run(g, n, &r);
}

/* s += step * floor(index / by): what `by` divides is divided, the rest is a term. */
static bool add_quotient(fc_graph *g, sum *s, fc_list index, int64_t by, int64_t step) {
    const fc_dim zero = fc_dim_const(&g->dims, 0);
    sum whole = {.start = zero}, rest = {.start = zero};
    fc_index_term part[FC_MAX_TERMS];
    const fc_index_term *t;
    const uint32_t n = fc_index_terms(g, index, &t);
    int64_t start;
    memcpy(part, t, n * sizeof *part);
    rest.start = fc_index_start(g, index);
    if (fc_dim_is_const(&g->dims, rest.start, &start)) {
        const int64_t below = (start % by + by) % by;
        whole.start = fc_dim_const(&g->dims, (start - below) / by);
        rest.start = fc_dim_const(&g->dims, below);
    }
    for (uint32_t i = 0; i < n; i++) {
        const bool divides = part[i].step % by == 0;
        if (divides) part[i].step /= by;
        if (!add_term(g, divides ? &whole : &rest, part[i])) return false;
    }
    if (!add_index(g, s, intern(g, &whole), step)) return false;
    const bool none = rest.n == 0 && fc_dim_is_const(&g->dims, rest.start, &start);
    if (none) return true; /* less than `by` */
    int64_t twice;
    if (rest.n == 1 && rest.term[0].what == FC_TERM_QUOTIENT && rest.term[0].step == 1 &&
        fc_dim_is(&g->dims, rest.start, 0) &&
        fc_mul_ok(by, fc_which_second(rest.term[0].which), &twice) && twice <= INT32_MAX) {
        const fc_index_term both_of = {
            FC_TERM_QUOTIENT, both(fc_which_first(rest.term[0].which), (uint32_t)twice), step};
        return add_term(g, s, both_of);
    }
    const fc_index_term quotient = {FC_TERM_QUOTIENT, both(intern(g, &rest), (uint32_t)by), step};
    return add_term(g, s, quotient);
}

/* s += step * floor(number of an element of the run / by). Of the axes that lie less than `by`
 * apart only the outermost decides, if `by` is a multiple of how far apart it lies. */
static bool add_number(fc_graph *g, fc_node n, const run *r, fc_list map, int64_t by, int64_t step,
                       sum *s) {
    sum rest = {.start = fc_dim_const(&g->dims, 0)};
    bool mixed = false;
    for (uint32_t i = r->start; i < r->end_to; i++) {
        const int64_t apart = r->apart_to[i];
        const fc_list index = fc_map_index(g, map, i);
        int64_t size;
        if (apart % by == 0) {
            if (!add_index(g, s, index, step * (apart / by))) return false;
        } else if (by % apart == 0 && !mixed) {
            if (fc_dim_is_const(&g->dims, fc_axis(g, n, i), &size) && size <= by / apart)
                return true;
            return add_quotient(g, s, index, by / apart, step);
        } else {
            mixed = true;
            if (!add_index(g, &rest, index, apart)) return false;
        }
    }
    return !mixed || add_quotient(g, s, intern(g, &rest), by, step);
}

/* Axis i of the operand of a reshape. */
static bool reshaped_axis(fc_graph *g, fc_node n, const run *r, uint32_t i, fc_list map,
                          int64_t *to) {
    const fc_node a = fc_at(g, n)->src[0];
    sum s = {.start = fc_dim_const(&g->dims, 0)};
    int64_t size;
    if (i < r->start || i >= r->end_from) {
        *to = fc_map_index(g, map, i < r->start ? i : i - r->end_from + r->end_to);
        return true;
    }
    const int64_t apart = r->apart_from[i];
    if (!add_number(g, n, r, map, apart, 1, &s)) return false;
    if (i > r->start && fc_dim_is_const(&g->dims, fc_axis(g, a, i), &size) &&
        !add_number(g, n, r, map, apart * size, -size, &s))
        return false;
    *to = intern(g, &s);
    return true;
}

static uint32_t divisions(const fc_graph *g, fc_list index) {
    const fc_index_term *t;
    uint32_t all = 0;
    for (uint32_t i = fc_index_terms(g, index, &t); i-- > 0;) all += t[i].what == FC_TERM_QUOTIENT;
    return all;
}

void fc_map_join_axes(fc_graph *g, fc_list *shape, fc_list *map) {
    int64_t dims[FC_MAX_RANK], size;
    making m = {.rank = fc_list_len(g, *shape)};
    uint32_t rank = 0;
    copy_guards(g, *map, m.rank, &m);
    for (uint32_t i = 0; i < m.rank; i++) {
        dims[rank] = fc_list_at(g, *shape)[i];
        m.at[rank] = fc_map_index(g, *map, i);
        rank++;
        while (rank > 1 && fc_dim_is_const(&g->dims, (fc_dim)dims[rank - 1], &size)) {
            const fc_list outer = (fc_list)m.at[rank - 2], inner = (fc_list)m.at[rank - 1];
            sum s = {.start = fc_dim_const(&g->dims, 0)};
            const fc_dim both_of =
                fc_dim_mul(&g->dims, (fc_dim)dims[rank - 2], fc_dim_const(&g->dims, size));
            if (both_of == FC_DIM_NONE || divisions(g, outer) + divisions(g, inner) == 0 ||
                !add_index(g, &s, outer, size) || !add_index(g, &s, inner, 1))
                break;
            const fc_list joined = intern(g, &s);
            if (divisions(g, joined) >= divisions(g, outer) + divisions(g, inner)) break;
            rank--;
            dims[rank - 1] = both_of;
            m.at[rank - 1] = joined;
        }
    }
    if (rank == m.rank) return;
    memmove(m.at + rank, m.at + m.rank, m.n * sizeof *m.at);
    m.rank = rank;
    *shape = fc_intern_list(g, dims, rank);
    *map = finish(g, &m);
}

/* start + step * index, for a slice. */
static bool slice_axis(fc_graph *g, fc_dim start, int64_t step, fc_list index, int64_t *to) {
    sum s = {.start = fc_dim_const(&g->dims, 0)};
    if (!add_index(g, &s, index, step)) return false;
    if (FC_PLANTED(slice_step) && s.n) s.term[0].step = step;
    if (!FC_PLANTED(slice_start))
        s.start = fc_dim_add(&g->dims, s.start, start);
    else
        s.start = start;
    if (s.start == FC_DIM_NONE) return false;
    *to = intern(g, &s);
    return true;
}

/* Axis i of a general view's operand. `v`: its part of the node's list. */
static bool view_axis(fc_graph *g, fc_node n, uint32_t i, fc_list map, making *m) {
    const fc_dim size = fc_axis(g, fc_at(g, n)->src[0], i);
    const fc_view_axis axis = fc_view_axis_of(g, fc_at(g, n), i);
    const int64_t mode = axis.edge;
    sum s = {.start = axis.start};
    for (uint32_t k = 0; k < fc_rank(g, n); k++) {
        const int64_t step = fc_view_axis_of(g, fc_at(g, n), i).step[k]; /* lists may move */
        if (step && !add_index(g, &s, fc_map_index(g, map, k), step)) return false;
    }
    const fc_list index = intern(g, &s);
    m->at[i] = index;
    if (mode == FC_EDGE_ZERO)
        return FC_PLANTED(lost_guard) || add_guard(g, m, FC_GUARD_INDEX, both(index, 0), size);
    if (mode != FC_EDGE_NONE) m->at[i] = index_of_term(g, FC_TERM_EDGE + mode, both(index, size));
    return !g->error.code;
}

fc_list fc_map_view(fc_graph *g, fc_node n, fc_list map) {
    const fc_ninfo *v = fc_at(g, n);
    const uint32_t rn = fc_rank(g, n);
    const fc_op op = (fc_op)v->op;
    const fc_list attr = (fc_list)v->attr;
    making m = {.rank = fc_rank(g, v->src[0])};
    int32_t axes[FC_MAX_RANK];
    const fc_node a = v->src[0];
    const fc_dim zero = fc_dim_const(&g->dims, 0);
    if (map == FC_NOMAP) return FC_NOMAP;
    copy_guards(g, map, rn, &m);
    const bool free_axes = op == FC_OP_RESHAPE && reshape_axes(g, n, axes);
    run r;
    if (op == FC_OP_RESHAPE && !free_axes && !find_run(g, n, &r)) return FC_NOMAP;
    for (uint32_t i = 0; i < m.rank; i++) {
        if (op == FC_OP_BROADCAST) {
            const uint32_t from = FC_PLANT(broadcast_axis, i, rn - m.rank + i);
            m.at[i] =
                fc_axis_is_one(g, a, i) ? index_of_start(g, zero) : fc_map_index(g, map, from);
        } else if (op == FC_OP_PERMUTE) {
            const int64_t axis = fc_list_at(g, attr)[i], to = FC_PLANT(permute_inverse, i, axis);
            m.at[to] = fc_map_index(g, map, to == axis ? i : (uint32_t)axis);
        } else if (op == FC_OP_SLICE) {
            const int64_t *s = fc_list_at(g, attr) + 3 * i;
            if (!slice_axis(g, (fc_dim)s[0], s[1], fc_map_index(g, map, i), &m.at[i]))
                return FC_NOMAP;
        } else if (op == FC_OP_VIEW) {
            if (!view_axis(g, n, i, map, &m)) return FC_NOMAP;
        } else if (!free_axes) {
            if (!reshaped_axis(g, n, &r, i, map, &m.at[i])) return FC_NOMAP;
        } else {
            m.at[i] =
                axes[i] < 0 ? index_of_start(g, zero) : fc_map_index(g, map, (uint32_t)axes[i]);
        }
    }
    return finish(g, &m);
}

fc_list fc_map_put(fc_graph *g, fc_node n, fc_list map) {
    const fc_ninfo t = *fc_at(g, n);
    const uint32_t axis = fc_computed_axis(&t), lead = fc_rank(g, t.src[1]) - fc_rank(g, n);
    const int64_t which = both(t.src[1], map);
    making m = {.rank = fc_rank(g, n)};
    if (map == FC_NOMAP) return FC_NOMAP;
    for (uint32_t i = 0; i < m.rank; i++)
        m.at[i] = fc_axis_is_one(g, n, i) && i != axis
                      ? index_of_start(g, fc_dim_const(&g->dims, 0))
                      : fc_map_index(g, map, lead + i);
    m.at[axis] = index_of_term(g, FC_TERM_VALUE, which);
    if (!(t.flags & FC_NODE_INSIDE) && !FC_PLANTED(lost_guard) &&
        !add_guard(g, &m, FC_GUARD_VALUE, which, fc_axis(g, n, axis)))
        return FC_NOMAP;
    return finish(g, &m);
}

fc_list fc_map_take(fc_graph *g, fc_node n, fc_list map) {
    const fc_ninfo t = *fc_at(g, n);
    const int64_t which = both(t.src[1], map);
    making m = {.rank = fc_rank(g, n)};
    if (map == FC_NOMAP) return FC_NOMAP;
    copy_guards(g, map, m.rank, &m);
    for (uint32_t i = 0; i < m.rank; i++)
        m.at[i] = fc_axis_is_one(g, t.src[0], i) && i != t.attr
                      ? index_of_start(g, fc_dim_const(&g->dims, 0))
                      : fc_map_index(g, map, i);
    m.at[t.attr] = index_of_term(g, FC_TERM_VALUE, which);
    if (!(t.flags & FC_NODE_INSIDE) && !FC_PLANTED(lost_guard) &&
        !add_guard(g, &m, FC_GUARD_VALUE, which, fc_axis(g, t.src[0], (uint32_t)t.attr)))
        return FC_NOMAP;
    return finish(g, &m);
}
