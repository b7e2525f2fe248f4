/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* inside.c - see inside.h.
 *
 * In: a kernel's code. Out: the same code, rewritten from its leaves on. Every value has a kind:
 * how it changes along the axis. Sums of what is affine are kept as linear forms, so that an index
 * less itself is 0, and two ways to write an index are one. A choice by what is known throughout a
 * part is moved outwards, through sums and comparisons, so that comparisons are of affine numbers.
 */
#include "codegen/inside.h"
#include "codegen/linear.h"

/* One index that wraps around has 6 comparisons whose values are known. With many such indices each
 * keeps its choices in registers (13 taps: 155 of them on sm_90, 64 without), so those that are
 * FEW_ELEMENTS or fewer away are asked to stay inside instead. */
enum { MOST_CODE = 4096, MOST_FUNCTIONS = 8, FEW_KNOWN = 6, FEW_ELEMENTS = 32 };

typedef enum kind {
    SAME,   /* along the whole axis */
    PART,   /* throughout a part */
    AFFINE, /* i64: indices and what is the same */
    OTHER
} kind;

typedef struct maker {
    const fc_kernel *k;
    const fc_class *cls;
    unsigned axis;
    fc_inside_of of;
    const fc_alloc *alloc;
    fc_inside *out;
    FC_VEC(uint8_t) kinds; /* of out->code */
    unsigned known;
    const uint8_t *chooses; /* [k->code] comparisons that only choose between indices; NULL: choices
                               by them are known, not asked for */
    bool oom;
} maker;

/* ---- kinds ----------------------------------------------------------------------------------- */

static kind kind_of(const maker *m, fc_val v) {
    return v < m->kinds.len ? (kind)m->kinds.at[v] : OTHER;
}

static fc_move move_of(const maker *m, const fc_instr *i, unsigned axis) {
    return fc_class_move(m->cls, (uint32_t)i->imm, axis);
}

static bool is_anywhere(const maker *m) {
    return m->of == FC_INSIDE_VECTORS || m->of == FC_INSIDE_ELEMENTS;
}

/* Whether an index grows by one each time that the inner of two axes has been passed. */
static bool passes(const maker *m, const fc_instr *i) {
    return m->of == FC_INSIDE_JOINED && move_of(m, i, m->axis) == FC_MOVE_ZERO &&
           move_of(m, i, m->axis - 1) == FC_MOVE_ONE;
}

/* For a vector of a thread. */
static kind kind_anywhere(const maker *m, const fc_instr *i) {
    bool moves = m->of == FC_INSIDE_ELEMENTS && m->k->accesses.at[i->imm].level == FC_POINT;
    for (unsigned x = 0; x <= m->axis; x++) moves |= move_of(m, i, x) != FC_MOVE_ZERO;
    if (!moves) return SAME;
    return i->op == FC_OP_INDEX && move_of(m, i, m->axis) != FC_MOVE_ANY ? AFFINE : OTHER;
}

static kind kind_of_access(const maker *m, const fc_instr *i) {
    const fc_move move = move_of(m, i, m->axis);
    if (is_anywhere(m)) return kind_anywhere(m, i);
    if (i->op == FC_OP_INDEX && passes(m, i)) return AFFINE;
    if (m->of == FC_INSIDE_JOINED && move_of(m, i, m->axis - 1) != move) return OTHER;
    if (move == FC_MOVE_ZERO) return SAME;
    return i->op == FC_OP_INDEX && move == FC_MOVE_ONE ? AFFINE : OTHER;
}

/* Of a new instruction. A product is affine by a constant only. */
static kind kind_of_new(const maker *m, const fc_instr *i) {
    const fc_code *c = &m->out->code;
    kind most = SAME;
    switch (i->op) {
    case FC_OP_CONST:
    case FC_OP_PARAM:
    case FC_OP_COUNT: return SAME;
    case FC_OP_LOAD:
    case FC_OP_INDEX: return kind_of_access(m, i);
    case FC_OP_ACC:
    case FC_OP_PUT_AT: return OTHER;
    default: break;
    }
    for (int n = 0; n < fc_instr_arity(i); n++) {
        const kind of = kind_of(m, fc_instr_operand(i, n));
        if (of > most) most = of;
    }
    if (most != AFFINE) return most;
    if (i->op == FC_OP_where && i->dtype == FUSEC_I64 && kind_of(m, i->a) <= PART) return AFFINE;
    if (!fc_is_linear_row(i)) return OTHER;
    if (i->op != FC_OP_mul) return AFFINE;
    return c->ins.at[i->a].op == FC_OP_CONST || c->ins.at[i->b].op == FC_OP_CONST ? AFFINE : OTHER;
}

/* Kinds of what was added since. */
static fc_val noted(maker *m, fc_val v) {
    while (m->kinds.len < m->out->code.ins.len && !m->oom) {
        const uint8_t of = (uint8_t)kind_of_new(m, &m->out->code.ins.at[m->kinds.len]);
        if (!fc_push(m->alloc, &m->kinds, of)) m->oom = true;
    }
    return v;
}

static fc_val op(maker *m, fc_op row, fc_val a, fc_val b, fc_val c) {
    return noted(m, fc_val_op(&m->out->code, row, a, b, c));
}

static fc_val number(maker *m, int64_t v) {
    return noted(m, fc_val_i64(&m->out->code, v));
}

static const fc_instr *at(const maker *m, fc_val v) {
    static const fc_instr none = {.op = FC_OP_COUNT_};
    return v < m->out->code.ins.len ? &m->out->code.ins.at[v] : &none;
}

/* ---- linear forms ---------------------------------------------------------------------------- */

static fc_val times(maker *m, fc_val v, int64_t by) {
    return by == 1 ? v : op(m, FC_OP_mul, v, number(m, by), FC_NOVAL);
}

/* What is the same first: so that it is added once, and indices last. */
static fc_val rebuilt(maker *m, const fc_linear *f) {
    fc_val sum = f->constant ? number(m, f->constant) : FC_NOVAL;
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < f->n; i++) {
            if ((kind_of(m, f->term[i].of) != SAME) != (pass == 1)) continue;
            const fc_val t = times(m, f->term[i].of, f->term[i].by);
            sum = sum == FC_NOVAL ? t : op(m, FC_OP_add, sum, t, FC_NOVAL);
        }
    return sum == FC_NOVAL ? number(m, 0) : sum;
}

/* By how much a form grows along the axis; INT32_MAX: it is not affine, or not by a known number.
 */
static int slope_of(const maker *m, const fc_linear *f, bool *by_pass) {
    int64_t slope = 0;
    unsigned n = 0, passing = 0;
    for (unsigned i = 0; i < f->n; i++) {
        const kind of = kind_of(m, f->term[i].of);
        if (of == SAME) continue;
        if (of != AFFINE || at(m, f->term[i].of)->op != FC_OP_INDEX) return INT32_MAX;
        if (move_of(m, at(m, f->term[i].of), m->axis) == FC_MOVE_ZERO &&
            !passes(m, at(m, f->term[i].of)))
            continue; /* along another axis */
        if (!fc_add_ok(slope, f->term[i].by, &slope)) return INT32_MAX;
        passing += passes(m, at(m, f->term[i].of));
        n++;
    }
    *by_pass = passing > 0;
    if (passing && passing < n) return INT32_MAX;
    return slope > 2 || slope < -2 ? INT32_MAX : (int)slope;
}

/* ---- choices move outwards ------------------------------------------------------------------- */

static bool is_choice(const maker *m, fc_val v) {
    const fc_instr *i = at(m, v);
    return i->op == FC_OP_where && i->dtype == FUSEC_I64 && kind_of(m, i->a) == PART;
}

static fc_val chosen(maker *m, fc_val which, fc_val a, fc_val b) {
    return a == b ? a : op(m, FC_OP_where, which, a, b);
}

/* A sum, difference or product of i64. Recursion ends as each level takes a choice away. */
static fc_val sum(maker *m, fc_op row, fc_val a, fc_val b, unsigned depth) {
    if (depth && (is_choice(m, a) || is_choice(m, b))) {
        const bool left = is_choice(m, a);
        const fc_instr i = *at(m, left ? a : b);
        const fc_val p = sum(m, row, left ? i.b : a, left ? b : i.b, depth - 1);
        const fc_val q = sum(m, row, left ? i.c : a, left ? b : i.c, depth - 1);
        return chosen(m, i.a, p, q);
    }
    fc_linear f = {0};
    const fc_val plain = op(m, row, a, b, FC_NOVAL);
    if (plain == FC_NOVAL || !fc_linear_add(&m->out->code, plain, 1, &f)) return plain;
    return rebuilt(m, &f);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

enum { FEW_CHOICES = 4 };

/* Whether `number` is at least 0, as a value; FC_NOVAL: it is no comparison of an affine one. */
static fc_val at_least_0(maker *m, fc_val a, unsigned depth) {
    if (depth && is_choice(m, a)) {
        const fc_instr i = *at(m, a);
        const fc_val p = at_least_0(m, i.b, depth - 1), q = at_least_0(m, i.c, depth - 1);
        if (p == FC_NOVAL || q == FC_NOVAL) return FC_NOVAL;
        const fc_val no =
            op(m, FC_OP_eq, i.a, noted(m, fc_val_bits(&m->out->code, FUSEC_BOOL, 0)), FC_NOVAL);
        return op(m, FC_OP_bit_or, op(m, FC_OP_bit_and, i.a, p, FC_NOVAL),
                  op(m, FC_OP_bit_and, no, q, FC_NOVAL), FC_NOVAL);
    }
    fc_linear f = {0};
    if (!fc_linear_add(&m->out->code, a, 1, &f)) return FC_NOVAL;
    bool by_pass;
    const int slope = slope_of(m, &f, &by_pass);
    if (slope == INT32_MAX) return FC_NOVAL;
    const fc_val v = op(m, FC_OP_ge, rebuilt(m, &f), number(m, 0), FC_NOVAL);
    if (slope == 0 && v != FC_NOVAL && kind_of(m, v) == OTHER) m->kinds.at[v] = PART;
    if (slope == 0 || v == FC_NOVAL) return v;
    for (size_t i = 0; i < m->out->bounds.len; i++)
        if (m->out->bounds.at[i].value == v) return v;
    if (m->known == FC_INSIDE_KNOWN) return FC_NOVAL;
    const fc_inside_bound b = {
        .number = at(m, v)->a, .passes = by_pass, .slope = slope, .value = v};
    if (at(m, b.number)->op == FC_OP_CONST || !fc_push(m->alloc, &m->out->bounds, b)) {
        m->oom = true;
        return FC_NOVAL;
    }
    m->known++;
    m->kinds.at[v] = PART;
    return v;
}

/* Whether a < b (`strict`) or a <= b. */
static fc_val ordered(maker *m, fc_val a, fc_val b, bool strict) {
    fc_val d = sum(m, FC_OP_sub, b, a, FEW_CHOICES);
    if (strict) d = sum(m, FC_OP_add, d, number(m, -1), FEW_CHOICES);
    return at_least_0(m, d, FEW_CHOICES);
}

/* Of two bounds that differ by a constant the smaller one is asked for. */
static bool ask_for(maker *m, fc_inside_bound bound, const fc_linear *f) {
    for (size_t i = 0; i < m->out->bounds.len; i++) {
        fc_inside_bound *b = &m->out->bounds.at[i];
        fc_linear other = {0};
        if (b->value != FC_NOVAL || !fc_linear_add(&m->out->code, b->number, 1, &other) ||
            !fc_linear_same_terms(&other, f))
            continue;
        if (f->constant < other.constant) b->number = bound.number;
        return true;
    }
    return fc_push(m->alloc, &m->out->bounds, bound);
}

/* Asks for a <= b or a < b. False: that can't be known. */
static bool ask(maker *m, fc_val a, fc_val b, bool strict) {
    fc_linear f = {0};
    fc_val d = sum(m, FC_OP_sub, b, a, FEW_CHOICES);
    if (strict) d = sum(m, FC_OP_add, d, number(m, -1), FEW_CHOICES);
    bool by_pass = false;
    if (at(m, d)->op == FC_OP_CONST) return (int64_t)at(m, d)->imm >= 0; /* nothing to ask for */
    const int slope = !is_choice(m, d) && fc_linear_add(&m->out->code, d, 1, &f)
                          ? slope_of(m, &f, &by_pass)
                          : INT32_MAX;
    const bool is_number = slope != 0 || is_anywhere(m);
    if (slope == INT32_MAX || !is_number) {
        const fc_val v = at_least_0(m, d, FEW_CHOICES);
        return v != FC_NOVAL && fc_push(m->alloc, &m->out->needed, v);
    }
    const fc_inside_bound bound = {
        .number = rebuilt(m, &f), .passes = by_pass, .slope = slope, .value = FC_NOVAL};
    return ask_for(m, bound, &f);
}

/* ---- choices that are asked for ----------------------------------------------------------------
 */

static bool is_index_choice(const fc_instr *i) {
    return i->op == FC_OP_where && i->dtype == FUSEC_I64;
}

static void find_choosers(const fc_kernel *k, uint8_t *chooses) {
    for (fc_val v = 0; v < k->code.ins.len; v++) {
        const fc_instr *i = &k->code.ins.at[v];
        chooses[v] = i->op == FC_OP_lt || i->op == FC_OP_ge;
        for (int n = 0; n < fc_instr_arity(i); n++)
            if (n || !is_index_choice(i)) chooses[fc_instr_operand(i, n)] = 0;
    }
}

/* Of an index that may wrap around the index as it is, if it is a few elements away and may be
 * asked to stay inside. */
static fc_val unwrapped(maker *m, const fc_instr *i, fc_val as_it_is) {
    const fc_instr *by = &m->k->code.ins.at[i->a];
    fc_linear f = {0};
    if (!m->chooses || !m->chooses[i->a] || kind_of(m, as_it_is) != AFFINE ||
        !fc_linear_add(&m->out->code, as_it_is, 1, &f) || f.constant > FEW_ELEMENTS ||
        f.constant < -FEW_ELEMENTS)
        return FC_NOVAL;
    for (unsigned n = 0; n < f.n; n++)
        if (at(m, f.term[n].of)->op != FC_OP_INDEX) return FC_NOVAL;
    const fc_val a = m->out->map[by->a], b = m->out->map[by->b];
    const bool no = by->op == FC_OP_lt ? ask(m, b, a, false) : ask(m, a, b, true);
    return no ? as_it_is : FC_NOVAL;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool is_affine(const maker *m, fc_val v) {
    return kind_of(m, v) == AFFINE;
}

static bool rises(const maker *m, const fc_linear *f) {
    bool by_pass;
    if (!is_anywhere(m)) return slope_of(m, f, &by_pass) == 1;
    for (unsigned i = 0; i < f->n; i++)
        if (kind_of(m, f->term[i].of) == AFFINE && f->term[i].by < 0) return false;
    return true;
}

/* Of two indices the one that grows, as that is the one that is read at. */
static bool is_first(const maker *m, fc_val a, fc_val b) {
    fc_linear f = {0};
    if (!is_affine(m, a) || !is_affine(m, b)) return is_affine(m, a);
    return is_choice(m, a) || (fc_linear_add(&m->out->code, a, 1, &f) && rises(m, &f));
}

/* The operand that minimum, maximum or mod give back inside; FC_NOVAL: it stays. */
static fc_val given_back(maker *m, fc_op row, fc_val a, fc_val b) {
    const bool left = row == FC_OP_mod || is_first(m, a, b);
    const fc_val i = left ? a : b, limit = left ? b : a;
    if (!is_affine(m, i) || kind_of(m, limit) == OTHER) return FC_NOVAL;
    if (row == FC_OP_minimum) return ask(m, i, limit, false) ? i : FC_NOVAL;
    if (row == FC_OP_maximum) return ask(m, limit, i, false) ? i : FC_NOVAL;
    if (kind_of(m, limit) != SAME) return FC_NOVAL;
    return ask(m, number(m, 0), i, false) && ask(m, i, limit, true) ? i : FC_NOVAL;
}

/* 0 <= v < n as one comparison of unsigned numbers (passes/lower_index.c). */
static fc_val guard(maker *m, const fc_instr *i, fc_val a, fc_val b) {
    const fc_instr *v = at(m, a), *n = at(m, b);
    if (i->op != FC_OP_lt || v->op != FC_OP_CVT || n->op != FC_OP_CVT) return FC_NOVAL;
    const fc_val index = v->a, size = n->a;
    const fc_instr *of = at(m, size);
    const bool is_size = of->op == FC_OP_PARAM || (of->op == FC_OP_CONST && (int64_t)of->imm >= 0);
    if (v->dtype != FUSEC_U64 || n->dtype != FUSEC_U64 || of->dtype != FUSEC_I64 || !is_size ||
        !is_affine(m, index))
        return FC_NOVAL;
    const fc_val low = ordered(m, number(m, 0), index, false);
    const fc_val high = low == FC_NOVAL ? low : ordered(m, index, size, true);
    return high == FC_NOVAL ? high : op(m, FC_OP_bit_and, low, high, FC_NOVAL);
}

static fc_val compared(maker *m, const fc_instr *i, fc_val a, fc_val b) {
    if (fc_val_dtype(&m->out->code, a) != FUSEC_I64) return guard(m, i, a, b);
    if (!is_affine(m, a) && !is_affine(m, b)) return FC_NOVAL;
    if (kind_of(m, a) == OTHER || kind_of(m, b) == OTHER) return FC_NOVAL;
    switch (i->op) {
    case FC_OP_lt: return ordered(m, a, b, true);
    case FC_OP_le: return ordered(m, a, b, false);
    case FC_OP_gt: return ordered(m, b, a, true);
    case FC_OP_ge: return ordered(m, b, a, false);
    default: return FC_NOVAL;
    }
}

static fc_val same_as_before(maker *m, const fc_instr *i, const fc_val v[3]) {
    fc_code *c = &m->out->code;
    if (fc_is_elementwise(i->op)) {
        c->node16 = (uint8_t)i->imm;
        const fc_val r = fc_val_op(c, (fc_op)i->op, v[0], v[1], v[2]);
        c->node16 = 0;
        return r;
    }
    fc_instr same = *i;
    same.a = v[0];
    same.b = v[1];
    same.c = v[2];
    return fc_code_add(c, same);
}

static fc_val rewritten(maker *m, fc_val of) {
    const fc_instr *i = &m->k->code.ins.at[of];
    fc_val v[3] = {FC_NOVAL, FC_NOVAL, FC_NOVAL}, r = FC_NOVAL;
    for (int n = 0; n < fc_instr_arity(i); n++) v[n] = m->out->map[fc_instr_operand(i, n)];
    const bool index = i->dtype == FUSEC_I64;
    if (index && fc_is_linear_row(i)) {
        r = sum(m, (fc_op)i->op, v[0], v[1], FEW_CHOICES);
    } else if (index && (i->op == FC_OP_minimum || i->op == FC_OP_maximum || i->op == FC_OP_mod)) {
        r = given_back(m, (fc_op)i->op, v[0], v[1]);
    } else if (is_index_choice(i)) {
        r = v[1] == v[2] ? v[1] : unwrapped(m, i, v[2]);
        if (r == FC_NOVAL && m->chooses && m->chooses[i->a]) { /* far away: known, as it was */
            const fc_instr *by = &m->k->code.ins.at[i->a];
            const fc_val known = compared(m, by, m->out->map[by->a], m->out->map[by->b]);
            if (known != FC_NOVAL) v[0] = known;
        }
    } else if (m->chooses && m->chooses[of]) {
        r = FC_NOVAL; /* stays, and mostly is not needed */
    } else if (fc_is_elementwise(i->op) && fc_ops[i->op].rule == FC_RULE_COMPARE) {
        r = compared(m, i, v[0], v[1]);
    }
    return noted(m, r == FC_NOVAL ? same_as_before(m, i, v) : r);
}

/* ---- the whole code -------------------------------------------------------------------------- */

static bool is_worth_it(const fc_kernel *k) {
    uint32_t ops, functions;
    bool any = false;
    fc_kernel_cost(k, &ops, &functions);
    for (size_t i = 0; i < k->code.ins.len; i++) any |= k->code.ins.at[i].op == FC_OP_INDEX;
    return any && functions <= MOST_FUNCTIONS && k->code.ins.len <= MOST_CODE;
}

void fc_inside_free(fc_inside *in) {
    const fc_alloc *alloc = in->code.alloc;
    if (!alloc) return;
    fc_free(alloc, in->map);
    fc_vec_free(alloc, &in->bounds);
    fc_vec_free(alloc, &in->needed);
    fc_code_free(&in->code);
    in->map = NULL;
}

static fusec_status make(maker *m) {
    fc_inside *out = m->out;
    const size_t n = m->k->code.ins.len;
    memset(out, 0, sizeof *out);
    fc_code_init(&out->code, m->alloc);
    out->map = fc_malloc(m->alloc, n * sizeof *out->map);
    if (!out->map) return FUSEC_OUT_OF_MEMORY;
    for (fc_val i = 0; i < n && !m->oom && out->code.status == FUSEC_OK; i++)
        out->map[i] = rewritten(m, i);
    fc_vec_free(m->alloc, &m->kinds);
    return m->oom ? FUSEC_OUT_OF_MEMORY : out->code.status;
}

fusec_status fc_inside_make(const fc_kernel *k, const fc_class *cls, unsigned axis, fc_inside_of of,
                            const fc_alloc *alloc, fc_inside *out) {
    maker m = {.k = k, .cls = cls, .axis = axis, .of = of, .alloc = alloc, .out = out};
    memset(out, 0, sizeof *out);
    fc_code_init(&out->code, alloc);
    if (!is_worth_it(k)) return FUSEC_OK;
    fusec_status st = make(&m);
    if (st != FUSEC_OK || (m.known <= FEW_KNOWN && of != FC_INSIDE_ELEMENTS)) return st;
    uint8_t *chooses = fc_malloc(alloc, k->code.ins.len);
    if (!chooses) return FUSEC_OUT_OF_MEMORY;
    find_choosers(k, chooses);
    fc_inside_free(out);
    m.known = 0;
    m.chooses = chooses;
    st = make(&m);
    fc_free(alloc, chooses);
    return st;
}
