/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_dot.c - contractions: the builder of the node dot, and what `@` and einsum mean by it.
 *
 * In: two operands whose axes carry labels, and the labels of the result. A label is batch (both
 * operands, kept), m (left only, kept), n (right only, kept) or k (both, summed over); one that an
 * operand has alone and the result lacks is summed first. Out: a reduction of two operands that are
 * spread over one domain.
 *
 *     with m and n      domain batch, m, n, k     contraction tree (docs/semantics.md); the kept
 *                       axes as in the result, if those of one operand are around the other's there
 *     without one       the axes of the operand that has all labels, in its order: the inner tree
 *                       if its innermost axis is summed over, else the outer one
 *
 * Labels decide, never sizes, with one exception that is not one: a kept axis of literal size 1
 * against another size is broadcast, as everywhere, and its operand does not have that label.
 *
 * An operand that lacks axes of the domain is spread by a broadcast to leading axes and a permute,
 * and in no other way: so the printer finds the labels again (fc_dot_operand). */
#include "ir/complex.h"
#include "ir/expand.h"

typedef struct side {
    fc_node n;
    uint32_t rank;
    uint8_t label[FC_MAX_RANK];
} side;

typedef struct product {
    fc_graph *g;
    side x[2];
    uint32_t nout;
    const uint8_t *out;
    uint32_t rank; /* of the domain */
    uint8_t domain[FC_MAX_RANK];
} product;

static int find(const uint8_t *labels, uint32_t n, uint8_t label) {
    for (uint32_t i = 0; i < n; i++)
        if (labels[i] == label) return (int)i;
    return -1;
}
static int axis_of(const side *s, uint8_t label) {
    return find(s->label, s->rank, label);
}
static bool kept(const product *p, uint8_t label) {
    return find(p->out, p->nout, label) >= 0;
}
static bool summed(const product *p, uint8_t label) {
    return !kept(p, label);
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Axes that are summed together, or kept side by side, with different sizes. */
static fc_node fail_axes(fc_graph *g, const char *what, const fc_node n[2], const int axis[2],
                         const fc_dim size[2]) {
    fc_str s;
    fc_str_init(&s, g->alloc);
    for (int i = 0; i < 2; i++) {
        fc_str_printf(&s, i ? " and axis %d of the right one, " : "axis %d of the left operand, ",
                      axis[i]);
        fc_dim_print(&g->dims, size[i], &s);
        fc_str_char(&s, ',');
    }
    fc_str_add(&s, " go together");
    fc_node r = s.oom ? (fc_oom(&g->error), FC_NONODE)
                      : fc_fail_types(g, FUSEC_SHAPE_MISMATCH, what, n[0], n[1], s.data);
    fc_str_free(&s);
    return r;
}

/* ---- operands -------------------------------------------------------------------------------- */

static void take_out(side *s, uint32_t axis) {
    s->rank--;
    memmove(s->label + axis, s->label + axis + 1, s->rank - axis);
}

/* The operand without an axis of literal size 1. */
static void drop_axis(fc_graph *g, side *s, uint32_t axis) {
    fc_dim shape[FC_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->rank; i++)
        if (i != axis) shape[n++] = fc_axis(g, s->n, i);
    s->n = fc_build_reshape(g, s->n, n, shape);
    take_out(s, axis);
}

/* Labels that both have: of one size, or kept and broadcast. */
static bool match_axes(product *p, const char *what) {
    fc_graph *g = p->g;
    const fc_node given[2] = {p->x[0].n, p->x[1].n};
    const side whole[2] = {p->x[0], p->x[1]};
    for (uint32_t i = 0; i < whole[0].rank; i++) {
        const uint8_t label = whole[0].label[i];
        const int j = axis_of(&whole[1], label);
        if (j < 0) continue;
        const int axis[2] = {(int)i, j};
        const fc_dim size[2] = {fc_axis(g, given[0], i), fc_axis(g, given[1], (uint32_t)j)};
        const bool one[2] = {fc_dim_is(&g->dims, size[0], 1), fc_dim_is(&g->dims, size[1], 1)};
        if (one[0] != one[1] && kept(p, label)) {
            side *s = &p->x[one[1]];
            drop_axis(g, s, (uint32_t)axis_of(s, label));
        } else if (one[0] != one[1] || !fc_same_size(g, size[0], size[1])) {
            return fail_axes(g, what, given, axis, size), false;
        }
    }
    return !g->error.code;
}

/* What an operand has alone and the result lacks is summed first. */
static void sum_alone(product *p, int k) {
    side *s = &p->x[k];
    int64_t axes[FC_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->rank; i++)
        if (summed(p, s->label[i]) && axis_of(&p->x[!k], s->label[i]) < 0) axes[n++] = i;
    if (!n) return;
    s->n = fc_build_reduce(p->g, FC_OP_sum, s->n, n, axes, false);
    for (uint32_t i = n; i-- > 0;) take_out(s, (uint32_t)axes[i]);
}

/* Sums of integers are wider than their elements; a cast of the other operand changes nothing. */
static bool one_dtype(product *p) {
    fusec_dtype t;
    if (!fc_usable(p->g, p->x[0].n) || !fc_usable(p->g, p->x[1].n)) return false;
    const fusec_dtype a = (fusec_dtype)fc_at(p->g, p->x[0].n)->dtype,
                      b = (fusec_dtype)fc_at(p->g, p->x[1].n)->dtype;
    if (a == b) return true;
    if (!fc_promote(fc_red_dtype(FC_OP_dot, a), fc_red_dtype(FC_OP_dot, b), &t)) return false;
    for (int k = 0; k < 2; k++) p->x[k].n = fc_build_cast(p->g, p->x[k].n, t);
    return !p->g->error.code;
}

/* Of both operands, if both have it: by a condition of the call the sizes are equal. */
static fc_dim size_of(const product *p, uint8_t label) {
    const int first = axis_of(&p->x[0], label);
    return first >= 0 ? fc_axis(p->g, p->x[0].n, (uint32_t)first)
                      : fc_axis(p->g, p->x[1].n, (uint32_t)axis_of(&p->x[1], label));
}

/* The operand with the axes of the domain, of which it lacks some. `spreads`, if a contraction
 * wants to know: whether a node did that, one of its own even if the operand is a broadcast. */
static fc_node spread(const product *p, const side *s, bool *spreads) {
    fc_graph *g = p->g;
    int64_t own[FC_MAX_RANK] = {0}, perm[FC_MAX_RANK];
    fc_dim shape[FC_MAX_RANK];
    uint32_t nown = 0, lacking = 0, at_own = 0, at_lacking = 0;
    for (uint32_t i = 0; i < p->rank; i++) {
        const int axis = axis_of(s, p->domain[i]);
        if (axis >= 0)
            own[nown++] = axis;
        else
            lacking++;
    }
    fc_node n = fc_build_permute(g, s->n, own);
    if (!fc_usable(g, n)) return n;
    for (uint32_t i = 0; i < p->rank; i++) {
        const bool has = axis_of(s, p->domain[i]) >= 0;
        perm[i] = has ? lacking + at_own++ : at_lacking++;
        shape[perm[i]] = size_of(p, p->domain[i]);
    }
    const fc_node wide =
        spreads ? fc_build_spread(g, n, p->rank, shape) : fc_build_broadcast(g, n, p->rank, shape);
    if (spreads) *spreads = wide != n;
    return fc_build_permute(g, wide, perm);
}

/* ---- the domain ------------------------------------------------------------------------------ */

/* 0: both operands have it, 1: the left one alone, 2: the right one. */
static int kind_of(const product *p, uint8_t label) {
    const bool left = axis_of(&p->x[0], label) >= 0, right = axis_of(&p->x[1], label) >= 0;
    return left && right ? 0 : left ? 1 : 2;
}

/* Whether axes of one operand are on both sides of the other one's in the result, as the pictures
 * and the places of a convolution around its filters: batch, m, n and batch, n, m are two other
 * orders. The domain then has that of the result, if its last axis is of one operand. */
static bool is_interleaved(const product *p) {
    unsigned turns = 0;
    if (!kind_of(p, p->out[p->nout - 1])) return false;
    for (uint32_t i = 1; i < p->nout; i++)
        turns += kind_of(p, p->out[i]) != kind_of(p, p->out[i - 1]);
    return turns > (kind_of(p, p->out[0]) ? 1u : 2u);
}

static void swap_sides(product *p) {
    const side x = p->x[0];
    p->x[0] = p->x[1];
    p->x[1] = x;
}

/* Labels of the domain, in order; gives the tree. */
static uint32_t choose_domain(product *p) {
    const side *x = &p->x[0], *y = &p->x[1];
    uint32_t nm = 0, nn = 0;
    for (uint32_t i = 0; i < x->rank; i++) nm += axis_of(y, x->label[i]) < 0;
    for (uint32_t i = 0; i < y->rank; i++) nn += axis_of(x, y->label[i]) < 0;
    p->rank = 0;
    if (!nm || !nn) {
        const side *full = nn ? y : x;
        memcpy(p->domain, full->label, full->rank);
        p->rank = full->rank;
        return p->rank && summed(p, p->domain[p->rank - 1]) ? FC_TREE_INNER : FC_TREE_OUTER;
    }
    if (is_interleaved(p)) {
        memcpy(p->domain, p->out, p->nout);
        p->rank = p->nout;
        if (kind_of(p, p->out[p->nout - 1]) == 1) swap_sides(p);
    } else {
        for (int kind = 0; kind < 3; kind++) /* batch, m, n in the order of the result */
            for (uint32_t i = 0; i < p->nout; i++)
                if (kind_of(p, p->out[i]) == kind) p->domain[p->rank++] = p->out[i];
    }
    for (uint32_t i = 0; i < x->rank; i++)
        if (summed(p, x->label[i])) p->domain[p->rank++] = x->label[i];
    return FC_TREE_DOT;
}

/* The axes of the result, which are the kept ones of the domain, in the order asked for. */
static fc_node in_order(const product *p, fc_node n) {
    int64_t perm[FC_MAX_RANK];
    if (!fc_usable(p->g, n)) return FC_NONODE;
    for (uint32_t i = 0; i < p->nout; i++) {
        uint32_t at = 0;
        for (uint32_t k = 0; p->domain[k] != p->out[i]; k++) at += kept(p, p->domain[k]);
        perm[i] = at;
    }
    return fc_build_permute(p->g, n, perm);
}

/* Nothing is summed: a product, element by element, of the dtype that sums have. */
static fc_node outer_product(const product *p) {
    const fusec_dtype t = fc_red_dtype(FC_OP_dot, (fusec_dtype)fc_at(p->g, p->x[0].n)->dtype);
    fc_node a = fc_build_cast(p->g, spread(p, &p->x[0], NULL), t),
            b = fc_build_cast(p->g, spread(p, &p->x[1], NULL), t);
    return in_order(p, fc_op2(p->g, FC_OP_mul, a, b));
}

static fc_node make(product *p) {
    fc_graph *g = p->g;
    int64_t axes[FC_MAX_RANK], shape[FC_MAX_RANK];
    uint32_t nred = 0, nkept = 0;
    const uint32_t tree = choose_domain(p);
    for (uint32_t i = 0; i < p->rank; i++) {
        if (summed(p, p->domain[i])) axes[nred++] = i;
    }
    if (!nred) return outer_product(p);
    bool spreads[2] = {false, false};
    const bool own = tree == FC_TREE_DOT;
    fc_node a = spread(p, &p->x[0], own ? &spreads[0] : NULL),
            b = spread(p, &p->x[1], own ? &spreads[1] : NULL);
    if (!fc_usable(g, a) || !fc_usable(g, b)) return FC_NONODE;
    for (uint32_t i = 0; i < p->rank; i++)
        if (kept(p, p->domain[i])) shape[nkept++] = fc_axis(g, a, i);
    fc_ninfo n = {.op = FC_OP_dot, .nops = 2, .src = {a, b, FC_NONODE}, .axis_kind = tree};
    n.flags = (spreads[0] ? FC_NODE_SPREAD : 0u) | (spreads[1] ? FC_NODE_SPREAD << 1 : 0u);
    n.dtype = (uint8_t)fc_red_dtype(FC_OP_dot, (fusec_dtype)fc_at(g, a)->dtype);
    n.attr = fc_intern_list(g, axes, nred);
    n.shape = fc_intern_list(g, shape, nkept);
    return in_order(p, fc_graph_node(g, n));
}

static bool labels_fine(product *p, const char *what) {
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < p->x[k].rank; i++)
            if (find(p->x[k].label, i, p->x[k].label[i]) >= 0)
                return fc_fail_types(p->g, FUSEC_SHAPE_MISMATCH, what, p->x[k].n, FC_NONODE,
                                     "two axes have one label; a diagonal can't be taken"),
                       false;
    return true;
}

static fc_node build(fc_graph *g, const char *what, fc_node x, const uint8_t *xl, fc_node y,
                     const uint8_t *yl, uint32_t nout, const uint8_t *out);

/* Four products of parts; two where an operand is real. */
static fc_node of_parts(fc_graph *g, const char *what, fc_node x, const uint8_t *xl, fc_node y,
                        const uint8_t *yl, uint32_t nout, const uint8_t *out) {
    const bool real[2] = {fc_is_real_pair(g, fc_complex_parts(g, x)),
                          fc_is_real_pair(g, fc_complex_parts(g, y))};
    const fc_parts a = fc_full_parts(g, x), b = fc_full_parts(g, y);
    fc_node re = build(g, what, a.re, xl, b.re, yl, nout, out), im = FC_NONODE;
    if (!real[0] && !real[1]) {
        const fc_node less = build(g, what, a.im, xl, b.im, yl, nout, out);
        re = fc_op2(g, FC_OP_sub, re, less);
    }
    if (!real[1]) im = build(g, what, a.re, xl, b.im, yl, nout, out);
    if (!real[0]) {
        const fc_node more = build(g, what, a.im, xl, b.re, yl, nout, out);
        im = im == FC_NONODE ? more : fc_op2(g, FC_OP_add, im, more);
    }
    if (real[0] && real[1]) im = fc_complex_parts(g, x).im;
    return fc_build_pair(g, re, im);
}

static fc_node build(fc_graph *g, const char *what, fc_node x, const uint8_t *xl, fc_node y,
                     const uint8_t *yl, uint32_t nout, const uint8_t *out) {
    if (!fc_usable(g, x) || !fc_usable(g, y)) return FC_NONODE;
    if (fc_at(g, x)->dtype != fc_at(g, y)->dtype)
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, what, x, y,
                             "an operation takes one dtype; cast one of them");
    if (fc_has_parts(g, x)) return of_parts(g, what, x, xl, y, yl, nout, out);
    product p = {.g = g, .nout = nout, .out = out};
    p.x[0] = (side){.n = x, .rank = fc_rank(g, x)};
    p.x[1] = (side){.n = y, .rank = fc_rank(g, y)};
    memcpy(p.x[0].label, xl, p.x[0].rank);
    memcpy(p.x[1].label, yl, p.x[1].rank);
    uint32_t all = p.x[0].rank;
    for (uint32_t i = 0; i < p.x[1].rank; i++) all += axis_of(&p.x[0], p.x[1].label[i]) < 0;
    if (all > g->limits.rank || all > FC_MAX_RANK)
        return fc_fail_types(g, FUSEC_LIMIT, what, x, y, "together they have too many axes");
    if (!labels_fine(&p, what) || !match_axes(&p, what)) return FC_NONODE;
    sum_alone(&p, 0);
    sum_alone(&p, 1);
    return one_dtype(&p) ? make(&p) : FC_NONODE;
}

fc_node fc_build_dot(fc_graph *g, fc_node x, const uint8_t *xl, fc_node y, const uint8_t *yl,
                     uint32_t nout, const uint8_t *out) {
    return build(g, "dot", x, xl, y, yl, nout, out);
}

/* ---- matmul ---------------------------------------------------------------------------------- */

enum { LABEL_M = 60, LABEL_K, LABEL_N };

fc_node fc_build_matmul(fc_graph *g, fc_node a, fc_node b) {
    if (!fc_usable(g, a) || !fc_usable(g, b)) return FC_NONODE;
    const uint32_t ra = fc_rank(g, a), rb = fc_rank(g, b);
    if (!ra || !rb)
        return fc_fail_types(g, FUSEC_SHAPE_MISMATCH, "matmul", a, b,
                             "a number has no axis to sum over; multiply with *");
    uint8_t la[FC_MAX_RANK], lb[FC_MAX_RANK], out[FC_MAX_RANK + 2];
    const uint32_t ba = ra > 1 ? ra - 2 : 0, bb = rb > 1 ? rb - 2 : 0, nb = ba > bb ? ba : bb;
    uint32_t nout = 0;
    for (uint32_t i = 0; i < nb; i++) out[nout++] = (uint8_t)i;
    for (uint32_t i = 0; i < ba; i++) la[i] = (uint8_t)(nb - ba + i);
    for (uint32_t i = 0; i < bb; i++) lb[i] = (uint8_t)(nb - bb + i);
    if (ra > 1) out[nout++] = la[ra - 2] = LABEL_M;
    if (rb > 1) out[nout++] = lb[rb - 1] = LABEL_N;
    la[ra - 1] = LABEL_K;
    lb[rb > 1 ? rb - 2 : 0] = LABEL_K;
    return build(g, "matmul", a, la, b, lb, nout, out);
}

/* ---- einsum ---------------------------------------------------------------------------------- */

enum { LETTERS = 52, MAX_OPERANDS = 8 };

typedef struct term {
    uint8_t label[FC_MAX_RANK];
    uint32_t rank;
    int dots; /* where "..." stands; -1: nowhere */
} term;

static int letter(char c) {
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

static const char *read_term(const char *s, term *t) {
    *t = (term){.dots = -1};
    for (;; s++) {
        const int l = letter(*s);
        if (*s == ' ') continue;
        if (l >= 0 && t->rank < FC_MAX_RANK) {
            t->label[t->rank++] = (uint8_t)l;
        } else if (*s == '.' && s[1] == '.' && s[2] == '.' && t->dots < 0) {
            t->dots = (int)t->rank;
            s += 2;
        } else {
            return s;
        }
    }
}

/* Puts `n` labels from LETTERS + first on where "..." stands. */
static bool put_dots(term *t, uint32_t first, uint32_t n) {
    if (t->dots < 0) return true;
    if (t->rank + n > FC_MAX_RANK) return false;
    memmove(t->label + t->dots + n, t->label + t->dots, t->rank - (uint32_t)t->dots);
    for (uint32_t i = 0; i < n; i++) t->label[t->dots + (int)i] = (uint8_t)(LETTERS + first + i);
    t->rank += n;
    return true;
}

static fc_node bad_text(fc_graph *g, fusec_status s, const char *text, const char *fmt,
                        uint32_t number, char c) {
    fc_str why;
    fc_str_init(&why, g->alloc);
    fc_str_printf(&why, fmt, number, c);
    if (!g->error.code) fc_fail(&g->error, s, "einsum \"%.80s\": %s", text, why.data);
    fc_str_free(&why);
    return FC_NONODE;
}

static char letter_of(uint8_t label) {
    return label >= LETTERS ? '.' : label < 26 ? (char)('a' + label) : (char)('A' + label - 26);
}

/* Without "->": the axes of "...", then the letters that occur once, in the order of the alphabet,
 * capitals first, as in NumPy. */
static void implicit_result(const term *t, uint32_t n, uint32_t dots, term *out) {
    unsigned count[LETTERS] = {0};
    *out = (term){.dots = 0};
    put_dots(out, 0, dots);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < t[i].rank; k++)
            if (t[i].label[k] < LETTERS) count[t[i].label[k]]++;
    for (int k = 0; k < LETTERS; k++) {
        const int l = (k + 26) % LETTERS;
        if (count[l] == 1 && out->rank < FC_MAX_RANK) out->label[out->rank++] = (uint8_t)l;
    }
}

/* "ab,bc->ac": the labels of the operands and of the result. */
static bool read_text(fc_graph *g, const char *text, uint32_t n, const fc_node *x, term *t,
                      term *out) {
    const char *s = text;
    uint32_t dots = 0, own[MAX_OPERANDS] = {0};
    for (uint32_t i = 0; i < n; i++) {
        s = read_term(s, &t[i]);
        const uint32_t rank = fc_rank(g, x[i]);
        if (i + 1 < n && *s != ',' && (*s == 0 || *s == '-'))
            return bad_text(g, FUSEC_SHAPE_MISMATCH, text,
                            "more operands are given than the %u it has letters for", i + 1, 0),
                   false;
        if (i + 1 < n ? *s != ',' : *s != 0 && *s != '-' && *s != ',')
            return bad_text(g, FUSEC_UNKNOWN_NAME, text,
                            "at character %u: `%c` is no letter of an axis",
                            (uint32_t)(s - text) + 1, *s),
                   false;
        if (t[i].rank > rank || (t[i].dots < 0 && t[i].rank != rank))
            return bad_text(g, FUSEC_SHAPE_MISMATCH, text,
                            "operand %u has another number of axes than letters", i + 1, 0),
                   false;
        own[i] = rank - t[i].rank;
        if (t[i].dots >= 0 && own[i] > dots) dots = own[i];
        if (*s == ',') s++;
    }
    if (*s == ',' || s[-1] == ',')
        return bad_text(g, FUSEC_SHAPE_MISMATCH, text,
                        "it has letters for more operands than the %u given", n, 0),
               false;
    for (uint32_t i = 0; i < n; i++)
        if (!put_dots(&t[i], dots - own[i], own[i])) return false;
    if (*s == 0) return implicit_result(t, n, dots, out), true;
    if (s[1] != '>')
        return bad_text(g, FUSEC_UNKNOWN_NAME, text,
                        "at character %u: `%c` is no letter of an axis", (uint32_t)(s - text) + 1,
                        *s),
               false;
    s = read_term(s + 2, out);
    if (*s)
        return bad_text(g, FUSEC_UNKNOWN_NAME, text,
                        "at character %u: `%c` is no letter of an axis", (uint32_t)(s - text) + 1,
                        *s),
               false;
    return put_dots(out, 0, dots);
}

static bool check_result(fc_graph *g, const char *text, const term *t, uint32_t n,
                         const term *out) {
    for (uint32_t i = 0; i < out->rank; i++) {
        bool there = false;
        if (find(out->label, i, out->label[i]) >= 0)
            return bad_text(g, FUSEC_DUPLICATE_NAME, text,
                            "axis %u of the result, `%c`, is there twice", i,
                            letter_of(out->label[i])),
                   false;
        for (uint32_t k = 0; k < n; k++) there |= find(t[k].label, t[k].rank, out->label[i]) >= 0;
        if (!there)
            return bad_text(g, FUSEC_UNKNOWN_NAME, text,
                            "axis %u of the result, `%c`, is in no operand", i,
                            letter_of(out->label[i])),
                   false;
    }
    return true;
}

/* Axes of one letter have one size. */
static bool same_letter(fc_graph *g, const char *text, uint32_t number, fc_node x, const term *t,
                        uint32_t a, uint32_t b) {
    const fc_dim size[2] = {fc_axis(g, x, a), fc_axis(g, x, b)};
    fc_str why;
    if (fc_same_size(g, size[0], size[1])) return true;
    if (g->error.code) return false;
    fc_str_init(&why, g->alloc);
    fc_str_printf(&why, "axes %u and %u of operand %u are both `%c`, but ", a, b, number + 1,
                  letter_of(t->label[b]));
    fc_dim_print(&g->dims, size[0], &why);
    fc_str_add(&why, " and ");
    fc_dim_print(&g->dims, size[1], &why);
    fc_str_add(&why, " long");
    if (why.oom)
        fc_oom(&g->error);
    else
        fc_fail(&g->error, FUSEC_SHAPE_MISMATCH, "einsum \"%.80s\": %s", text, why.data);
    fc_str_free(&why);
    return false;
}

/* An operand with a letter twice is its diagonal: the axis stays where the letter is first, and all
 * axes of the letter are read at one index. */
static fc_node diagonal(fc_graph *g, const char *text, uint32_t number, fc_node x, term *t) {
    fc_dim shape[FC_MAX_RANK];
    fc_view_axis axes[FC_MAX_RANK];
    int64_t step[FC_MAX_RANK][FC_MAX_RANK] = {{0}};
    term kept = {.dots = -1};
    for (uint32_t i = 0; i < t->rank; i++) {
        int at = find(kept.label, kept.rank, t->label[i]);
        if (at < 0) {
            at = (int)kept.rank;
            shape[kept.rank] = fc_axis(g, x, i);
            kept.label[kept.rank++] = t->label[i];
        } else if (!same_letter(g, text, number, x, t, (uint32_t)find(t->label, i, t->label[i]),
                                i)) {
            return FC_NONODE;
        }
        step[i][at] = 1;
        axes[i] = (fc_view_axis){fc_dim_const(&g->dims, 0), FC_EDGE_NONE, step[i]};
    }
    if (kept.rank == t->rank) return x;
    *t = kept;
    return fc_build_view(g, x, kept.rank, shape, axes);
}

/* One operand: what the result lacks is summed, the rest put in order. */
static fc_node of_one(fc_graph *g, fc_node x, term *t, const term *out) {
    product p = {.g = g, .nout = out->rank, .out = out->label};
    p.x[0] = (side){.n = x, .rank = t->rank};
    memcpy(p.x[0].label, t->label, t->rank);
    p.x[1] = (side){.n = x};
    sum_alone(&p, 0);
    if (!fc_usable(g, p.x[0].n)) return FC_NONODE;
    p.rank = p.x[0].rank;
    memcpy(p.domain, p.x[0].label, p.rank);
    return in_order(&p, p.x[0].n);
}

/* What is left after the first operands: labels that the result or a later operand has. */
static void still_wanted(const term *a, const term *b, const term *later, uint32_t nlater,
                         const term *out, term *to) {
    const term *both[2] = {a, b};
    *to = (term){.dots = -1};
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < both[k]->rank; i++) {
            const uint8_t l = both[k]->label[i];
            bool wanted = find(out->label, out->rank, l) >= 0;
            for (uint32_t j = 0; j < nlater; j++)
                wanted |= find(later[j].label, later[j].rank, l) >= 0;
            if (wanted && find(to->label, to->rank, l) < 0 && to->rank < FC_MAX_RANK)
                to->label[to->rank++] = l;
        }
}

fc_node fc_build_einsum(fc_graph *g, const char *text, uint32_t n, const fc_node *given) {
    term t[MAX_OPERANDS], out, now;
    fc_node x[MAX_OPERANDS];
    for (uint32_t i = 0; i < n; i++)
        if (!fc_usable(g, given[i])) return FC_NONODE;
    if (n == 0 || n > MAX_OPERANDS)
        return bad_text(g, FUSEC_LIMIT, text, "it takes one to %u operands", MAX_OPERANDS, 0);
    if (!read_text(g, text, n, given, t, &out)) {
        if (!g->error.code) bad_text(g, FUSEC_LIMIT, text, "more than %u axes", FC_MAX_RANK, 0);
        return FC_NONODE;
    }
    if (!check_result(g, text, t, n, &out)) return FC_NONODE;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = diagonal(g, text, i, given[i], &t[i]);
        if (!fc_usable(g, x[i])) return FC_NONODE;
    }
    if (n == 1) return of_one(g, x[0], &t[0], &out);
    fc_node r = x[0];
    for (uint32_t i = 1; i < n; i++) {
        const term *to = &out;
        if (i + 1 < n) {
            still_wanted(&t[0], &t[i], t + i + 1, n - i - 1, &out, &now);
            to = &now;
        }
        const fc_node next =
            build(g, "einsum", r, t[0].label, x[i], t[i].label, to->rank, to->label);
        if (next == FC_NONODE) return next;
        r = next;
        if (i + 1 < n) {
            t[0] = now;
            /* sums of integers are i64 */
            fusec_dtype of = (fusec_dtype)fc_at(g, r)->dtype;
            if (fc_at(g, x[i + 1])->dtype != of && !fc_is_float(of))
                r = fc_build_cast(g, r, (fusec_dtype)fc_at(g, x[i + 1])->dtype);
        }
    }
    return r;
}

/* ---- reading --------------------------------------------------------------------------------- */

fc_node fc_dot_operand(const fc_graph *g, fc_node dot, int k, uint8_t *labels) {
    const fc_ninfo *d = fc_at(g, dot);
    fc_node n = d->src[k];
    uint32_t rank = fc_rank(g, n), skip = 0;
    const int64_t *perm = NULL;
    if (d->axis_kind == FC_TREE_DOT && d->flags & FC_NODE_SPREAD << k) {
        fc_node b = n;
        if (fc_at(g, b)->op == FC_OP_PERMUTE) b = fc_at(g, b)->src[0];
        if (fc_at(g, b)->op == FC_OP_BROADCAST) {
            if (b != n) perm = fc_list_at(g, (fc_list)fc_at(g, n)->attr);
            n = fc_at(g, b)->src[0];
            skip = rank - fc_rank(g, n);
        }
    }
    for (uint32_t i = 0; i < rank; i++) {
        const uint32_t at = perm ? (uint32_t)perm[i] : i;
        if (at >= skip) labels[at - skip] = (uint8_t)i;
    }
    return n;
}
