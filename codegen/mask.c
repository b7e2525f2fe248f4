/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mask.c - see mask.h.
 *
 * Each bool that is made of indices is tried, as true and as false: the code is copied with it, and
 * choices by what is known give way to what they choose. Copies are in one code, where equal values
 * are one, so two conditions hide the same elements if their roots are equal. */
#include "codegen/mask.h"

enum { MOST_CODE = 512, MOST_DEPTH = 64 };

/* ---- conditions ------------------------------------------------------------------------------ */

static bool is_whole(const fc_code *c, fc_val v) {
    const fusec_dtype t = fc_val_dtype(c, v);
    return fc_is_int(t) && t != FUSEC_BOOL && t != FUSEC_U64;
}

static bool is_number(const fc_code *c, fc_val v) {
    return c->ins.at[v].op == FC_OP_CONST && is_whole(c, v);
}

/* Read at one place, whichever element of the tile it is for. */
static bool stays(const fc_access *a, uint64_t apart) {
    for (int32_t axis = 0; axis < FC_MAX_AXES; axis++)
        if (!(apart >> axis & 1) && fc_access_moves(a, axis)) return false;
    return true;
}

static bool has_ends(const fc_kernel *k, fc_val v, uint64_t apart, unsigned depth) {
    const fc_code *c = &k->code;
    const fc_instr *i = &c->ins.at[v];
    if (depth > MOST_DEPTH || (!is_whole(c, v) && i->dtype != FUSEC_BOOL)) return false;
    switch (i->op) {
    case FC_OP_CONST: return true;
    case FC_OP_INDEX:
    case FC_OP_PARAM: return is_whole(c, v);
    case FC_OP_LOAD: return is_whole(c, v) && stays(&k->accesses.at[i->imm], apart);
    case FC_OP_shl:
    case FC_OP_shr:
        return is_number(c, i->b) &&
               fc_const_value((fusec_dtype)i->dtype, c->ins.at[i->b].imm) >= 0 &&
               fc_const_value((fusec_dtype)i->dtype, c->ins.at[i->b].imm) < 32 &&
               has_ends(k, i->a, apart, depth + 1);
    case FC_OP_CAST:
    case FC_OP_CVT:
    case FC_OP_abs:
    case FC_OP_neg:
        if (!is_whole(c, i->a) || i->dtype == FUSEC_BOOL) return false;
        break;
    case FC_OP_add:
    case FC_OP_sub:
    case FC_OP_mul:
    case FC_OP_minimum:
    case FC_OP_maximum:
        if (i->dtype == FUSEC_BOOL) return false;
        break;
    case FC_OP_eq:
    case FC_OP_ne:
    case FC_OP_lt:
    case FC_OP_le:
    case FC_OP_gt:
    case FC_OP_ge:
        if (!is_whole(c, i->a)) return false;
        break;
    case FC_OP_logical_and:
    case FC_OP_logical_or:
    case FC_OP_logical_not: break;
    default: return false;
    }
    for (int n = 0; n < fc_instr_arity(i); n++)
        if (!has_ends(k, fc_instr_operand(i, n), apart, depth + 1)) return false;
    return true;
}

bool fc_mask_has_ends(const fc_kernel *k, fc_val v, uint64_t apart) {
    return has_ends(k, v, apart, 0);
}

/* ---- the code with a condition --------------------------------------------------------------- */

typedef struct copy {
    const fc_kernel *k;
    const fc_mask_query *q;
    fc_code *to;
    fc_val *map;
} copy;

static bool is_bool(const copy *x, fc_val v, bool *value) {
    const fc_instr *i = &x->to->ins.at[v];
    *value = i->imm != 0;
    return i->op == FC_OP_CONST && i->dtype == FUSEC_BOOL;
}

static bool is_infinite(const copy *x, fc_val v) {
    const fc_instr *i = &x->to->ins.at[v];
    return i->op == FC_OP_CONST && i->dtype == FUSEC_F32 && (i->imm & 0x7fffffffu) == 0x7f800000u;
}

/* What an instruction is where its operands, which are new, say so; FC_NOVAL: itself. */
static fc_val known(const copy *x, const fc_instr *i) {
    bool a = false, b = false;
    const bool ka = fc_instr_arity(i) > 0 && is_bool(x, i->a, &a),
               kb = fc_instr_arity(i) > 1 && is_bool(x, i->b, &b);
    switch (i->op) {
    case FC_OP_where: return ka ? (a ? i->b : i->c) : i->b == i->c ? i->b : FC_NOVAL;
    case FC_OP_logical_not: return ka ? fc_val_bits(x->to, FUSEC_BOOL, !a) : FC_NOVAL;
    case FC_OP_logical_and: return ka ? (a ? i->b : i->a) : kb ? (b ? i->a : i->b) : FC_NOVAL;
    case FC_OP_logical_or: return ka ? (a ? i->a : i->b) : kb ? (b ? i->b : i->a) : FC_NOVAL;
    case FC_OP_add:
        if (!x->q->finite || i->dtype != FUSEC_F32) return FC_NOVAL;
        return is_infinite(x, i->a) ? i->a : is_infinite(x, i->b) ? i->b : FC_NOVAL;
    case FC_OP_fma: return x->q->finite && is_infinite(x, i->c) ? i->c : FC_NOVAL;
    default: return FC_NOVAL;
    }
}

/* Where each of n conditions has its value, or with `other` the other one. */
static void copy_with(copy *x, const fc_way *way, unsigned n, bool other) {
    const fc_code *c = &x->k->code;
    for (fc_val v = 0; v < c->ins.len && x->to->status == FUSEC_OK; v++) {
        fc_instr i = c->ins.at[v];
        fc_val *const operand[3] = {&i.a, &i.b, &i.c};
        for (int k = 0; k < fc_instr_arity(&i); k++) *operand[k] = x->map[*operand[k]];
        if (fc_instr_arity(&i) && !fc_is_at_element(i.op)) i.level = FC_ROW; /* that of operands */
        fc_val as = known(x, &i);
        for (unsigned w = 0; w < n; w++)
            if (way[w].condition == v) as = fc_val_bits(x->to, FUSEC_BOOL, way[w].when != other);
        x->map[v] = as == FC_NOVAL ? fc_code_add(x->to, i) : as;
    }
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Whether roots are the same for all elements of a row. */
static bool is_hidden(const copy *x, uint8_t *need) {
    memset(need, 0, x->to->ins.len);
    for (size_t r = 0; r < x->q->n; r++) fc_kernel_slice(x->to, &x->map[x->q->roots[r]], 1, need);
    for (fc_val v = 0; v < x->to->ins.len; v++) {
        const fc_instr *i = &x->to->ins.at[v];
        if (!need[v]) continue;
        if (fc_is_at_element(i->op)) return false;
        if ((i->op == FC_OP_LOAD || i->op == FC_OP_INDEX) &&
            fc_access_moves(&x->k->accesses.at[i->imm], (int32_t)x->q->along))
            return false;
    }
    return true;
}

static bool same_roots(const copy *x, const fc_val *first) {
    for (size_t r = 0; r < x->q->n; r++)
        if (x->map[x->q->roots[r]] != first[x->q->roots[r]]) return false;
    return true;
}

static void try_way(copy *x, fc_mask *out, fc_way way, uint8_t *need) {
    if (out->n == FC_MASK_WAYS) return;
    copy_with(x, &way, 1, false);
    if (x->to->status != FUSEC_OK || !is_hidden(x, need)) return;
    if (out->n && !same_roots(x, out->map)) return;
    if (!out->n) memcpy(out->map, x->map, x->k->code.ins.len * sizeof *x->map);
    out->way[out->n++] = way;
}

/* Bools that are no constants and have ends. */
static bool is_condition(const fc_kernel *k, fc_val v, uint64_t apart) {
    const fc_instr *i = &k->code.ins.at[v];
    return i->dtype == FUSEC_BOOL && i->op != FC_OP_CONST && has_ends(k, v, apart, 0);
}

fusec_status fc_mask_find(const fc_kernel *k, const fc_mask_query *q, const fc_alloc *alloc,
                          fc_mask *out) {
    const size_t n = k->code.ins.len;
    size_t ways = 0;
    memset(out, 0, sizeof *out);
    fc_code_init(&out->code, alloc);
    for (fc_val v = 0; n <= MOST_CODE && v < n; v++) ways += is_condition(k, v, q->apart);
    if (!ways) return FUSEC_OK;
    copy x = {.k = k, .q = q, .to = &out->code};
    out->map = fc_calloc(alloc, 2 * n + 1, sizeof *out->map);
    x.map = out->shown = out->map ? out->map + n : NULL;
    /* a copy has at most one instruction and one constant for each of the kernel's */
    uint8_t *need = fc_calloc(alloc, (2 * ways + 1) * (2 * n + 2), 1);
    const bool room = out->map && need;
    for (fc_val v = 0; room && v < n; v++) {
        if (!is_condition(k, v, q->apart)) continue;
        try_way(&x, out, (fc_way){v, true}, need);
        try_way(&x, out, (fc_way){v, false}, need);
    }
    if (room && out->n) copy_with(&x, out->way, out->n, true);
    fc_free(alloc, need);
    return room ? out->code.status : FUSEC_OUT_OF_MEMORY;
}

void fc_mask_free(fc_mask *m) {
    const fc_alloc *alloc = m->code.alloc;
    if (!alloc) return;
    fc_free(alloc, m->map);
    fc_code_free(&m->code);
    memset(m, 0, sizeof *m);
}

bool fc_mask_constant(const fc_mask *m, fc_val v, double *value) {
    const fc_instr *i = &m->code.ins.at[v];
    const fusec_dtype t = (fusec_dtype)i->dtype;
    if (i->op == FC_OP_CONST) return *value = fc_const_value(t, i->imm), true;
    if (i->op != FC_OP_CAST && i->op != FC_OP_CVT) return false;
    if (!fc_mask_constant(m, i->a, value)) return false;
    *value = fc_const_value(t, fc_const_bits(t, *value));
    return true;
}
