/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* match.c - finds the rule that fits a node: see match.h. */
#include "passes/match.h"

#include "ir/code.h"

uint32_t fc_for_dtype(fusec_dtype t) {
    switch (fc_dtypes[t].kind) {
    case FC_KIND_BOOL: return FC_FOR_BOOL;
    case FC_KIND_SIGNED: return FC_FOR_SIGNED;
    case FC_KIND_UNSIGNED: return FC_FOR_UNSIGNED;
    case FC_KIND_COMPLEX: return 0; /* rules are for its parts */
    case FC_KIND_FLOAT: break;
    }
    return fc_is_half(t) ? FC_FOR_HALF : FC_FOR_WIDE;
}

/* ---- constants ------------------------------------------------------------------------------- */

bool fc_pterm_bits(const fc_pterm *p, fusec_dtype t, uint64_t *bits) {
    bool is_bool = t == FUSEC_BOOL;
    switch (p->what) {
    case FC_P_BOOL: return *bits = p->value != 0, is_bool;
    case FC_P_MIN: return *bits = fc_const_min(t), fc_is_int(t);
    case FC_P_MAX: return *bits = fc_const_max(t), fc_is_int(t);
    default: break;
    }
    if (is_bool) return false;
    if (fc_is_float(t)) return *bits = fc_const_bits(t, p->value), true;
    /* -1 is all ones in unsigned dtypes too: algebra modulo 2^n */
    if (!(p->value > -128 && p->value < 128) || p->value != (double)(int64_t)p->value) return false;
    return *bits = fc_const_int(t, (int64_t)p->value), true;
}

static bool const_fits(const fc_pterm *p, fusec_dtype t, uint64_t bits) {
    if (fc_is_float(t) && (p->what == FC_P_PLAIN || p->what == FC_P_SIGNED)) {
        if (p->what == FC_P_PLAIN && p->value == 0) return fc_const_value(t, bits) == 0;
        return fc_const_is(t, bits, p->value);
    }
    uint64_t wanted;
    return fc_pterm_bits(p, t, &wanted) && wanted == bits;
}

static bool reciprocal_is_normal(fusec_dtype t, uint64_t bits, bool power_of_two) {
    static const double smallest[] = {[FUSEC_F16] = 0x1p-14,
                                      [FUSEC_BF16] = 0x1p-126,
                                      [FUSEC_F32] = 0x1p-126,
                                      [FUSEC_F64] = 0x1p-1022};
    double v = fc_const_value(t, bits), r = 1 / v, mag = r < 0 ? -r : r;
    if (!(mag >= smallest[t] && mag <= fc_const_value(t, fc_const_max(t)))) return false;
    if (!power_of_two) return true;
    uint64_t mantissa; /* of an f64: every value of the other dtypes is a normal one there */
    memcpy(&mantissa, &r, sizeof mantissa);
    return !(mantissa & 0xfffffffffffffu) && 1 / r == v;
}

uint32_t fc_log2_bits(uint64_t bits) {
    uint32_t k = 0;
    while (bits >>= 1) k++;
    return k;
}

static bool condition_holds(fc_pwhat what, fusec_dtype t, uint64_t bits) {
    switch (what) {
    case FC_P_POW2:
        if (fc_is_float(t)) return reciprocal_is_normal(t, bits, true);
        return fc_is_int(t) && bits && !(bits & (bits - 1)) && bits <= fc_const_max(t);
    case FC_P_RECIP: return fc_is_float(t) && reciprocal_is_normal(t, bits, false);
    case FC_P_WIDE: return fc_is_int(t) && bits >= fc_dtypes[t].bits;
    default: return true;
    }
}

/* ---- terms ----------------------------------------------------------------------------------- */

/* Recursion over the pattern, which is a few terms of our own. */
static bool match_term(const fc_graph *g, const fc_pterm *terms, unsigned i, unsigned swaps,
                       fc_node n, fc_match *m) {
    const fc_pterm *t = &terms[i];
    const fc_ninfo *v = fc_at(g, n);
    switch (t->kind) {
    case FC_P_ANY_CONST:
        if (v->op != FC_OP_CONST || !condition_holds(t->what, (fusec_dtype)v->dtype, v->attr))
            return false;
        /* fall through */
    case FC_P_VALUE:
        if (m->at[t->slot] != FC_NONODE) return m->at[t->slot] == n;
        m->at[t->slot] = n;
        return true;
    case FC_P_CONST: return v->op == FC_OP_CONST && const_fits(t, (fusec_dtype)v->dtype, v->attr);
    default: break;
    }
    if (v->op != t->op) return false;
    for (unsigned k = 0; k < t->nkids; k++) {
        unsigned from = swaps & t->swap ? 1 - k : k;
        if (!match_term(g, terms, t->kid[from], swaps, v->src[k], m)) return false;
    }
    return true;
}

static bool match_variant(const fc_ruleset *s, const fc_graph *g, const fc_variant *v,
                          const fc_ninfo *n, fc_match *m) {
    const fc_compiled *c = &s->rules.at[v->rule];
    const fc_pterm *root = &c->pattern[0];
    memset(m, 0xff, sizeof *m); /* FC_NONODE */
    for (unsigned k = 0; k < root->nkids; k++) {
        unsigned from = v->swaps & root->swap ? 1 - k : k;
        if (!match_term(g, c->pattern, root->kid[from], v->swaps, n->src[k], m)) return false;
    }
    return fc_for_dtype((fusec_dtype)fc_at(g, m->at[0])->dtype) & c->rule->dtypes;
}

const fc_compiled *fc_rules_match(const fc_ruleset *s, const fc_graph *g, const fc_ninfo *n,
                                  fc_match *m) {
    uint16_t ops[3] = {0};
    uint32_t i = s->first[n->op], end = s->first[n->op + 1];
    for (int k = 0; i < end && k < n->nops; k++) ops[k] = fc_at(g, n->src[k])->op;
    for (; i < end; i++) {
        const fc_variant *v = &s->variants.at[i];
        bool fits = !(s->rules.at[v->rule].rule->licence & ~s->mode);
        for (int k = 0; k < n->nops; k++)
            fits &= v->expect[k] == FC_OP_NONE || v->expect[k] == ops[k];
        if (fits && match_variant(s, g, v, n, m)) return &s->rules.at[v->rule];
    }
    return NULL;
}
