/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rule_check.c - see rule_check.h. */
#include "tests/support/rule_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/eval.h"
#include "passes/plan.h"

enum {
    BLOCK = 4096,
    MAX_INSTR = 2000,
    SPECIALS = 24,
    OTHERS = 10,
    LETTERS = 5 /* x y z p q; c and d are constants */
};

static const uint32_t ROUNDS = FC_MODE_REASSOC | FC_MODE_RECIP | FC_MODE_APPROX | FC_MODE_CONTRACT;

typedef struct trial {
    const fc_compiled *c;
    fc_rule_report *out;
    fusec_dtype t, cast_to; /* of x; of a cast */
    uint64_t constants[2];  /* c and d */
    bool rounds, libm;
    fc_code code;
    fc_val sides[2];
    fc_val steps[2 * FC_P_TERMS];
    unsigned nsteps;
    unsigned char *value[MAX_INSTR]; /* a block for each instruction */
    uint64_t *points[LETTERS];       /* storage bits of every point */
    unsigned char *loaded[LETTERS];  /* the same as fc_eval has them; NULL: not made */
    size_t npoints;
    bool used[FC_P_SLOTS];
} trial;

/* ---- code of both sides ---------------------------------------------------------------------- */

static fusec_dtype letter_dtype(const trial *r, unsigned slot) {
    return slot == 3 || slot == 4 ? FUSEC_BOOL : r->t;
}

static bool is_number(const fc_pterm *p) {
    return p->kind == FC_P_CONST && (p->what == FC_P_PLAIN || p->what == FC_P_SIGNED);
}

/* The dtype of the operands of a comparison, or of the arms of a choice. */
static fusec_dtype shared_dtype(const trial *r, const fc_pterm *terms, unsigned i) {
    unsigned first = terms[i].op == FC_OP_where;
    for (unsigned k = first; k < terms[i].nkids; k++) {
        const fc_pterm *kid = &terms[terms[i].kid[k]];
        if (kid->kind == FC_P_OP && kid->op == FC_OP_CAST) return r->cast_to;
        if (is_number(kid) && r->t == FUSEC_BOOL) return r->cast_to;
    }
    return r->t;
}

static fc_val code_term(trial *r, const fc_pterm *terms, unsigned i, fusec_dtype t);

static fc_val code_row(trial *r, const fc_pterm *terms, unsigned i, fusec_dtype t) {
    const fc_pterm *p = &terms[i];
    fc_val v[3] = {FC_NOVAL, FC_NOVAL, FC_NOVAL};
    if (p->op == FC_OP_CAST)
        return fc_val_cast(&r->code, code_term(r, terms, p->kid[0], r->t), r->cast_to);
    fc_rule rule = fc_ops[p->op].rule;
    if (rule == FC_RULE_COMPARE || rule == FC_RULE_TEST) t = shared_dtype(r, terms, i);
    for (unsigned k = 0; k < p->nkids; k++)
        v[k] = code_term(r, terms, p->kid[k], p->op == FC_OP_where && k == 0 ? FUSEC_BOOL : t);
    return fc_val_op(&r->code, (fc_op)p->op, v[0], v[1], v[2]);
}

static fc_val code_term(trial *r, const fc_pterm *terms, unsigned i, fusec_dtype t) {
    const fc_pterm *p = &terms[i];
    uint64_t bits = 0;
    fc_val v;
    switch (p->kind) {
    case FC_P_VALUE: v = fc_val_arg(&r->code, p->slot, letter_dtype(r, p->slot), FC_POINT); break;
    case FC_P_ANY_CONST:
        bits = r->constants[p->slot - 5];
        v = fc_val_bits(&r->code, t, p->what == FC_P_LOG2 ? fc_log2_bits(bits) : bits);
        break;
    case FC_P_CONST:
        v = fc_pterm_bits(p, t, &bits) ? fc_val_bits(&r->code, t, bits) : FC_NOVAL;
        break;
    default: v = code_row(r, terms, i, t);
    }
    r->steps[r->nsteps++] = v;
    return v;
}

static bool make_code(trial *r) {
    const fc_pterm *root = &r->c->pattern[0];
    fc_rule rule = fc_ops[root->op].rule;
    bool to_bool = rule == FC_RULE_COMPARE || rule == FC_RULE_TEST || rule == FC_RULE_LOGIC;
    fusec_dtype t = root->op == FC_OP_where ? shared_dtype(r, r->c->pattern, 0)
                    : to_bool               ? FUSEC_BOOL
                                            : r->t;
    r->nsteps = 0;
    fc_code_init(&r->code, &fc_libc_alloc);
    r->code.target = FC_TARGET_INTERP;
    r->sides[0] = code_term(r, r->c->pattern, 0, t);
    r->sides[1] = code_term(r, r->c->result, 0, t);
    return !r->code.status && r->sides[0] != FC_NOVAL && r->sides[1] != FC_NOVAL &&
           fc_val_dtype(&r->code, r->sides[0]) == fc_val_dtype(&r->code, r->sides[1]) &&
           r->code.ins.len <= MAX_INSTR;
}

/* ---- running --------------------------------------------------------------------------------- */

static void store_bits(fusec_dtype t, const uint64_t *bits, size_t n, void *block) {
    unsigned char raw[8 * BLOCK];
    for (size_t k = 0; k < n; k++)
        memcpy(raw + k * fc_dtypes[t].bytes, &bits[k], fc_dtypes[t].bytes);
    fc_eval_load(t, n, raw, 1, block);
}

/* n times the first of them. */
static void repeat(void *block, size_t size, size_t n) {
    for (size_t done = 1; done < n; done *= 2)
        memcpy((char *)block + done * size, block, (done < n - done ? done : n - done) * size);
}

static void load_letter(const trial *r, unsigned l, size_t from, size_t n, void *block) {
    const fusec_dtype t = letter_dtype(r, l);
    if (r->loaded[l])
        memcpy(block, r->loaded[l] + from * fc_eval_size(t), n * fc_eval_size(t));
    else
        store_bits(t, r->points[l] + from, n, block);
}

static bool run_block(trial *r, size_t from, size_t n) {
    for (size_t k = 0; k < r->code.ins.len; k++) {
        const fc_instr *i = &r->code.ins.at[k];
        const fusec_dtype t = (fusec_dtype)i->dtype;
        const uint64_t bits = (uint64_t)i->imm;
        if (!r->value[k]) r->value[k] = malloc(8 * BLOCK);
        if (i->op == FC_OP_ARG) {
            load_letter(r, (unsigned)i->imm, from, n, r->value[k]);
            continue;
        }
        if (i->op == FC_OP_CONST) {
            store_bits(t, &bits, 1, r->value[k]);
            repeat(r->value[k], fc_eval_size(t), n);
            continue;
        }
        fc_val typed = i->op == FC_OP_where ? i->b : i->a;
        if (!fc_eval((fc_op)i->op, fc_val_dtype(&r->code, typed), t, n, r->value[i->a],
                     i->b == FC_NOVAL ? NULL : r->value[i->b],
                     i->c == FC_NOVAL ? NULL : r->value[i->c], r->value[k]))
            return false;
    }
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static double number(const trial *r, fc_val v, size_t k) {
    fusec_dtype t = fc_val_dtype(&r->code, v);
    if (t == FUSEC_F64) return ((const double *)(const void *)r->value[v])[k];
    if (fc_is_float(t)) return (double)((const float *)(const void *)r->value[v])[k];
    uint64_t bits = 0;
    memcpy(&bits, r->value[v] + k * fc_dtypes[t].bytes, fc_dtypes[t].bytes);
    return fc_const_value(t, bits);
}

/* Whether the point keeps the promises of the licence; the size of the largest step. */
static bool counts(const trial *r, size_t k, double *largest) {
    *largest = 0;
    for (unsigned s = 0; s < r->nsteps; s++) {
        if (!fc_is_float(fc_val_dtype(&r->code, r->steps[s]))) continue;
        double v = number(r, r->steps[s], k);
        if (isnan(v) && r->c->rule->licence & FC_MODE_NNAN) return false;
        if (isinf(v) && r->c->rule->licence & FC_MODE_NINF) return false;
        if (fabs(v) > *largest) *largest = fabs(v);
    }
    return true;
}

static bool agree(const trial *r, size_t k, double largest) {
    fc_val a = r->sides[0], b = r->sides[1];
    fusec_dtype t = fc_val_dtype(&r->code, a);
    size_t size = fc_eval_size(t);
    if (!memcmp(r->value[a] + k * size, r->value[b] + k * size, size)) return true;
    if (!fc_is_float(t)) return false;
    double x = number(r, a, k), y = number(r, b, k);
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (x == 0 && y == 0) return r->rounds || r->c->rule->licence & FC_MODE_NSZ;
    return r->rounds && !isinf(x) && !isinf(y) && fabs(x - y) <= 1e-9 * largest;
}

static void print_point(const trial *r, size_t at, size_t k) {
    static const char *const names[] = {"x", "y", "z", "p", "q"};
    char *s = r->out->first;
    size_t left = sizeof r->out->first;
    int n = snprintf(s, left, "%s -> %s in %s:", r->c->rule->pattern, r->c->rule->result,
                     fc_dtypes[r->t].name);
    for (unsigned l = 0; l < LETTERS && n > 0 && (size_t)n < left; l++)
        if (r->used[l])
            n += snprintf(s + n, left - (size_t)n, " %s=%g", names[l],
                          fc_const_value(letter_dtype(r, l), r->points[l][at]));
    for (unsigned l = 0; l < 2 && n > 0 && (size_t)n < left; l++)
        if (r->used[5 + l])
            n += snprintf(s + n, left - (size_t)n, " %c=%g", "cd"[l],
                          fc_const_value(r->t, r->constants[l]));
    if (n > 0 && (size_t)n < left)
        snprintf(s + n, left - (size_t)n, " gives %g and %g", number(r, r->sides[0], k),
                 number(r, r->sides[1], k));
}

/* Whether every point of the block counts, and both sides have the same bits. */
static bool is_plainly_right(const trial *r, size_t n) {
    const fc_val a = r->sides[0], b = r->sides[1];
    return !(r->c->rule->licence & (FC_MODE_NNAN | FC_MODE_NINF)) &&
           !memcmp(r->value[a], r->value[b], n * fc_eval_size(fc_val_dtype(&r->code, a)));
}

static void compare(trial *r) {
    bool ok = make_code(r);
    for (size_t at = 0; ok && !r->out->wrong && at < r->npoints; at += BLOCK) {
        size_t n = r->npoints - at < BLOCK ? r->npoints - at : BLOCK;
        ok = run_block(r, at, n);
        if (ok && is_plainly_right(r, n)) {
            r->out->points += n;
            continue;
        }
        for (size_t k = 0; ok && k < n; k++) {
            double largest;
            if (!counts(r, k, &largest)) continue;
            r->out->points++;
            if (agree(r, k, largest)) continue;
            if (!r->out->wrong++) print_point(r, at + k, k);
        }
    }
    if (!ok && !r->out->wrong++)
        snprintf(r->out->first, sizeof r->out->first, "%s -> %s can't be computed in %s",
                 r->c->rule->pattern, r->c->rule->result, fc_dtypes[r->t].name);
    fc_code_free(&r->code);
}

/* ---- values ---------------------------------------------------------------------------------- */

static unsigned special_values(fusec_dtype t, uint64_t out[SPECIALS]) {
    /* the most telling first: sweeps use OTHERS of them */
    static const double floats[] = {0.0, -0.0, -1.5, 1, -1, 2, -2, 0.5, 3, 10, 0.1, 4, -0.25, 100};
    static const int64_t ints[] = {0, 1, -1, 2, -2, 3, 4, 5, 7, 8, 31, 32, 63, 64, -8, 100};
    unsigned n = 0;
    if (t == FUSEC_BOOL) return out[0] = 0, out[1] = 1, 2;
    out[n++] = fc_const_min(t);
    out[n++] = fc_const_max(t);
    if (!fc_is_float(t)) {
        for (size_t i = 0; i < FC_COUNT(ints); i++) out[n++] = fc_const_int(t, ints[i]);
        return n;
    }
    out[n++] = fc_const_bits(t, (double)INFINITY);
    out[n++] = fc_const_bits(t, -(double)INFINITY);
    out[n++] = fc_const_bits(t, (double)NAN);
    out[n++] = 1; /* the smallest subnormal */
    out[n++] = t == FUSEC_F16    ? 0x0400
               : t == FUSEC_BF16 ? 0x0080
               : t == FUSEC_F32  ? 0x800000
                                 : 1ull << 52;
    for (size_t i = 0; i < FC_COUNT(floats); i++) out[n++] = fc_const_bits(t, floats[i]);
    return n;
}

/* Values of 16-bit floats, also where the computation is in f64. */
static uint64_t from_half(const trial *r, fusec_dtype t, uint64_t bits) {
    return r->rounds && t != FUSEC_BOOL ? fc_const_bits(t, fc_const_value(FUSEC_F16, bits)) : bits;
}

static unsigned specials_of(const trial *r, fusec_dtype t, uint64_t out[SPECIALS]) {
    unsigned n = special_values(r->rounds && t == FUSEC_F64 ? FUSEC_F16 : t, out);
    for (unsigned i = 0; i < n; i++) out[i] = from_half(r, t, out[i]);
    return n;
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t v = *state ^ *state >> 29;
    v *= 0xbf58476d1ce4e5b9u;
    return v ^ v >> 32;
}

static uint64_t random_value(fusec_dtype t, uint64_t *state) {
    uint64_t v = next_random(state);
    if (t == FUSEC_BOOL) return v & 1;
    if (v >> 62 == 0 && fc_is_float(t))
        return fc_const_bits(t, (double)(int64_t)(v % 2001) / 8 - 125);
    return fc_dtypes[t].bytes == 8 ? v : v & ((1ull << 8 * fc_dtypes[t].bytes) - 1);
}

static uint64_t random_for(const trial *r, fusec_dtype t, uint64_t *state) {
    if (r->rounds && t != FUSEC_BOOL) return from_half(r, t, next_random(state) & 0xffff);
    return random_value(t, state);
}

/* The C library's functions may give nan for a signalling nan where a quiet one gives a number. */
static uint64_t quiet(fusec_dtype t, uint64_t bits) {
    static const uint64_t bit[FC_DTYPE_COUNT] = {
        [FUSEC_F16] = 0x200, [FUSEC_BF16] = 0x40, [FUSEC_F32] = 0x400000, [FUSEC_F64] = 1ull << 51};
    return isnan(fc_const_value(t, bits)) ? bits | bit[t] : bits;
}

static void add_point(trial *r, const uint64_t v[LETTERS]) {
    for (unsigned l = 0; l < LETTERS; l++) {
        uint64_t *grown = r->points[l];
        if ((r->npoints & (r->npoints - 1)) == 0) /* a power of two: full */
            grown = realloc(grown, 2 * (r->npoints + 1) * sizeof *grown);
        if (!grown) abort();
        r->points[l] = grown;
        grown[r->npoints] = r->libm ? quiet(letter_dtype(r, l), v[l]) : v[l];
    }
    r->npoints++;
}

/* Every combination of special values. */
static void special_points(trial *r) {
    uint64_t s[LETTERS][SPECIALS], v[LETTERS] = {0};
    unsigned n[LETTERS], at[LETTERS] = {0}, l = 0;
    for (unsigned k = 0; k < LETTERS; k++)
        n[k] = r->used[k] ? specials_of(r, letter_dtype(r, k), s[k]) : 0;
    while (l < LETTERS) {
        for (unsigned k = 0; k < LETTERS; k++) v[k] = n[k] ? s[k][at[k]] : 0;
        add_point(r, v);
        for (l = 0; l < LETTERS && (!n[l] || ++at[l] == n[l]); l++) at[l] = 0;
    }
}

/* All 2^bits values of each letter, against what `others` says: all values, special ones, or random
 * ones. */
static void swept_points(trial *r, unsigned letter, uint64_t *state) {
    uint64_t s[SPECIALS], v[LETTERS];
    fusec_dtype t = letter_dtype(r, letter);
    bool byte = fc_dtypes[t].bytes == 1;
    unsigned others = 0, rounds = 1, nspecial = specials_of(r, r->t, s);
    for (unsigned l = 0; l < LETTERS; l++) others += r->used[l] && l != letter;
    if (others) rounds = byte ? 256 : nspecial < OTHERS ? nspecial : OTHERS;
    for (unsigned i = 0; i < rounds; i++)
        for (uint64_t x = 0; x < (byte ? 256u : 65536u); x++) {
            unsigned other = 0;
            for (unsigned l = 0; l < LETTERS; l++) {
                fusec_dtype lt = letter_dtype(r, l);
                v[l] = random_for(r, lt, state);
                if (lt != FUSEC_BOOL && l != letter && !other++) v[l] = byte ? i : s[i];
            }
            v[letter] = byte ? x : from_half(r, t, x);
            add_point(r, v);
        }
}

static void make_points(trial *r) {
    uint64_t state = 1, v[LETTERS];
    for (unsigned l = 0; l < LETTERS; l++) {
        free(r->points[l]);
        r->points[l] = NULL;
    }
    r->npoints = 0;
    special_points(r);
    unsigned letters = 0;
    for (unsigned l = 0; l < LETTERS; l++) letters += r->used[l];
    /* every constant takes all points again: combinations leave less time for each */
    bool pairs = r->used[6] || (r->used[5] && letters > 1);
    bool sweep = r->t != FUSEC_BOOL && (fc_dtypes[r->t].bytes <= 2 || r->rounds) && !pairs;
    if (r->t == FUSEC_BF16 && letters > 1) sweep = false; /* as f16 */
    for (unsigned l = 0; l < 3; l++)
        if (sweep && r->used[l] && (l == 0 || fc_dtypes[r->t].bytes > 1))
            swept_points(r, l, &state);
    for (int i = 0; i < (pairs ? 1000 : 5000); i++) {
        for (unsigned l = 0; l < LETTERS; l++) v[l] = random_for(r, letter_dtype(r, l), &state);
        add_point(r, v);
    }
}

/* ---- constants of the pattern ---------------------------------------------------------------- */

/* Whether the pattern takes this constant: asks the matcher, on a condition of its own. */
static bool constant_fits(const trial *r, unsigned which, uint64_t bits) {
    fc_pwhat what = FC_P_PLAIN;
    for (unsigned i = 0; i < r->c->npattern; i++)
        if (r->c->pattern[i].kind == FC_P_ANY_CONST && r->c->pattern[i].slot == 5 + which)
            what = (fc_pwhat)r->c->pattern[i].what;
    double v = fc_const_value(r->t, bits), inverse = fabs(1 / v);
    int e;
    switch (what) {
    case FC_P_POW2:
        if (!fc_is_float(r->t)) return v > 0 && __builtin_popcountll(bits) == 1;
        if (fabs(frexp(v, &e)) != 0.5) return false;
        /* fall through */
    case FC_P_RECIP:
        return inverse >= (r->t == FUSEC_F16   ? 0x1p-14
                           : r->t == FUSEC_F64 ? 0x1p-1022
                                               : 0x1p-126) &&
               inverse <= fc_const_value(r->t, fc_const_max(r->t));
    case FC_P_WIDE: return bits >= fc_dtypes[r->t].bits;
    default: return true;
    }
}

static void try_constants(trial *r) {
    uint64_t all[2][256 + SPECIALS];
    unsigned n[2] = {1, 1};
    for (unsigned w = 0; w < 2; w++) {
        all[w][0] = 0;
        if (!r->used[5 + w]) continue;
        uint64_t s[256 + SPECIALS], state = 7;
        unsigned count = specials_of(r, r->t, s);
        bool byte = fc_dtypes[r->t].bytes == 1;
        if (byte && !r->used[6])
            for (count = 0; count < 256; count++) s[count] = count;
        bool pairs = r->used[6];
        for (unsigned k = 0; !byte && !pairs && k < 24; k++) /* powers of two, of both signs */
            s[count++] = fc_is_float(r->t) ? fc_const_bits(r->t, ldexp(k & 1 ? -1 : 1, (int)k - 15))
                                           : 1ull << (k < fc_dtypes[r->t].bits - 1u ? k : 0u);
        for (unsigned k = 0; !byte && !pairs && k < 6; k++)
            s[count++] = random_for(r, r->t, &state);
        n[w] = 0;
        for (unsigned k = 0; k < count; k++)
            if (constant_fits(r, w, s[k])) all[w][n[w]++] = s[k];
    }
    for (unsigned i = 0; i < n[0]; i++)
        for (unsigned k = 0; k < n[1]; k++) {
            r->constants[0] = all[0][i];
            r->constants[1] = all[1][k];
            compare(r);
        }
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static bool has_transcendental(const fc_compiled *c) {
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i < (side ? c->nresult : c->npattern); i++) {
            const fc_pterm *p = side ? &c->result[i] : &c->pattern[i];
            if (p->kind == FC_P_OP && fc_ops[p->op].flags & FC_F_TRANSCENDENTAL) return true;
        }
    return false;
}

static bool tries_dtype(const fc_compiled *c, fusec_dtype t) {
    bool rounds = c->rule->licence & ROUNDS;
    if (!(fc_for_dtype(t) & c->rule->dtypes)) return false;
    if (t == FUSEC_I16 || t == FUSEC_U16 || t == FUSEC_I32 || t == FUSEC_U32)
        return false; /* as 8 and 64 bits */
    if (fc_is_float(t) && rounds) return t == FUSEC_F64;
    /* functions of 16 bits round to the same value; of more they differ in the last place */
    return !(fc_is_float(t) && has_transcendental(c)) || fc_is_half(t);
}

static trial *begin(const fc_compiled *c, fc_rule_report *out) {
    trial *r = calloc(1, sizeof *r);
    if (!r) abort();
    memset(out, 0, sizeof *out);
    r->c = c;
    r->out = out;
    r->libm = has_transcendental(c);
    for (unsigned i = 0; i < c->npattern; i++)
        if (c->pattern[i].slot != FC_P_NOSLOT) r->used[c->pattern[i].slot] = true;
    return r;
}

static void end(trial *r) {
    for (unsigned l = 0; l < LETTERS; l++) {
        free(r->points[l]);
        free(r->loaded[l]);
    }
    for (unsigned i = 0; i < MAX_INSTR; i++) free(r->value[i]);
    free(r);
}

void fc_rule_check(const fc_compiled *c, fc_rule_report *out) {
    static const fusec_dtype casts[] = {FUSEC_I8, FUSEC_U64, FUSEC_F16, FUSEC_F32};
    trial *r = begin(c, out);
    for (int t = 0; t < FC_DTYPE_COUNT; t++) {
        uint64_t before = out->points;
        if (!tries_dtype(c, (fusec_dtype)t)) continue;
        r->t = (fusec_dtype)t;
        r->rounds = fc_is_float(r->t) && c->rule->licence & ROUNDS;
        make_points(r);
        for (size_t k = 0; k < (t == FUSEC_BOOL ? FC_COUNT(casts) : 1); k++) {
            r->cast_to = casts[k];
            try_constants(r);
        }
        if (out->points == before && !out->wrong++)
            snprintf(out->first, sizeof out->first, "%s was never tried in %s", c->rule->pattern,
                     fc_dtypes[t].name);
    }
    end(r);
}

/* ---- all pairs of f16 ------------------------------------------------------------------------ */

enum { ALL = 1 << 16 };

/* The two places of 16 bits, letters before constants; false: there are not two. */
static bool two_places(const fc_compiled *c, unsigned place[2]) {
    bool used[FC_P_SLOTS] = {false};
    unsigned n = 0;
    for (unsigned i = 0; i < c->npattern; i++)
        if (c->pattern[i].slot != FC_P_NOSLOT) used[c->pattern[i].slot] = true;
    for (unsigned l = 0; l < FC_P_SLOTS; l++) {
        if (!used[l] || l == 3 || l == 4) continue; /* p and q are bool */
        if (n == 2) return false;
        place[n++] = l;
    }
    return n == 2 && place[0] < LETTERS;
}

bool fc_rule_has_pairs(const fc_compiled *c) {
    unsigned place[2];
    return fc_for_dtype(FUSEC_F16) & c->rule->dtypes && two_places(c, place);
}

/* Every value at the first place, with `bits` at the second. */
static void one_column(trial *r, const unsigned place[2], uint64_t bits) {
    if (place[1] >= LETTERS) {
        r->constants[place[1] - 5] = from_half(r, r->t, bits);
        if (!constant_fits(r, place[1] - 5, r->constants[place[1] - 5])) return;
    } else {
        const unsigned l = place[1];
        for (size_t x = 0; x < ALL; x++) r->points[l][x] = from_half(r, r->t, bits);
        if (r->libm)
            for (size_t x = 0; x < ALL; x++) r->points[l][x] = quiet(r->t, r->points[l][x]);
        store_bits(r->t, r->points[l], 1, r->loaded[l]);
        repeat(r->loaded[l], fc_eval_size(r->t), ALL);
    }
    for (uint64_t choice = 0; choice < 4 && !r->out->wrong; choice++) {
        if ((choice & 1 && !r->used[3]) || (choice & 2 && !r->used[4])) continue;
        for (size_t x = 0; x < ALL; x++) {
            if (r->used[3]) r->points[3][x] = choice & 1;
            if (r->used[4]) r->points[4][x] = choice >> 1;
        }
        compare(r);
    }
}

void fc_rule_check_pairs(const fc_compiled *c, fc_rule_report *out) {
    unsigned place[2];
    trial *r = begin(c, out);
    if (!two_places(c, place)) abort();
    r->rounds = (c->rule->licence & ROUNDS) != 0;
    r->t = r->rounds ? FUSEC_F64 : FUSEC_F16;
    r->npoints = ALL;
    for (unsigned l = 0; l < LETTERS; l++)
        if (!(r->points[l] = calloc(ALL, sizeof(uint64_t)))) abort();
    for (unsigned k = 0; k < 2 && place[k] < LETTERS; k++)
        if (!(r->loaded[place[k]] = malloc(ALL * fc_eval_size(r->t)))) abort();
    for (uint64_t x = 0; x < ALL; x++) {
        const uint64_t bits = from_half(r, r->t, x);
        r->points[place[0]][x] = r->libm ? quiet(r->t, bits) : bits;
    }
    for (size_t x = 0; x < ALL; x += BLOCK)
        store_bits(r->t, r->points[place[0]] + x, BLOCK,
                   r->loaded[place[0]] + x * fc_eval_size(r->t));
    /* far jumps: what is wrong for a region of values, as that of nans, shows at once */
    for (uint64_t y = 0; y < ALL && !out->wrong; y++) one_column(r, place, y * 40503 % ALL);
    end(r);
}
