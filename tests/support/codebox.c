/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* codebox.c - runs straight-line code on arrays, one instruction after the other. */
#include "tests/support/codebox.h"

#include <math.h>
#include <stdlib.h>

#include "ir/eval.h"
#include "tests/support/test.h"

/* What may stand in the code of a target besides leaves. */
static bool is_legal(const fc_code *c, fc_target_kind target, const fc_instr *i) {
    const fusec_dtype t = (fusec_dtype)i->dtype;
    if (i->op == FC_OP_CVT) return fc_cvt_direct(fc_val_dtype(c, i->a), t);
    if (i->op == FC_OP_CAST) return false;
    if (!fc_is_elementwise(i->op)) return true;
    return fc_target_has(target, (fc_op)i->op, fc_val_dtype(c, i->op == FC_OP_where ? i->b : i->a));
}

static void fill_count(size_t n, int64_t *block) {
    for (size_t k = 0; k < n; k++) block[k] = (int64_t)n;
}

static void fill_const(const fc_instr *i, size_t n, void *block) {
    fc_eval_load((fusec_dtype)i->dtype, n, &i->imm, 0, block);
}

static bool run_one(const fc_code *c, const fc_instr *i, size_t n, void **block, size_t k,
                    const void *const *arrays) {
    if (i->op == FC_OP_ARG) {
        fc_eval_load((fusec_dtype)i->dtype, n, arrays[i->imm], 1, block[k]);
    } else if (i->op == FC_OP_CONST) {
        fill_const(i, n, block[k]);
    } else if (i->op == FC_OP_COUNT) {
        fill_count(n, block[k]);
    } else {
        const fusec_dtype t = fc_val_dtype(c, i->op == FC_OP_where ? i->b : i->a);
        const void *v[3] = {i->a == FC_NOVAL ? NULL : block[i->a],
                            i->b == FC_NOVAL ? NULL : block[i->b],
                            i->c == FC_NOVAL ? NULL : block[i->c]};
        return fc_eval((fc_op)i->op, t, (fusec_dtype)i->dtype, n, v[0], v[1], v[2], block[k]);
    }
    return true;
}

static bool run_legal(const fc_code *c, fc_target_kind target, size_t n, void **block,
                      const void *const *arrays) {
    for (size_t k = 0; k < c->ins.len; k++) {
        const fc_instr *i = &c->ins.at[k];
        block[k] = malloc(n * 8 + 8);
        if (!is_legal(c, target, i) || !run_one(c, i, n, block, k, arrays)) {
            FC_FAIL("%s on %s is not in the code of target %d", fc_ops[i->op].name,
                    fc_dtypes[i->dtype].name, (int)target);
            return false;
        }
    }
    return true;
}

bool fc_box_run_as(const fc_code *code, fc_target_kind target, fc_rewrite rewrite,
                   const fc_val *out, size_t nout, size_t n, const void *const *arrays,
                   void *const *results) {
    fc_code legal;
    fc_code_init(&legal, &fc_libc_alloc);
    legal.rewrite = rewrite;
    fc_val *map = malloc(code->ins.len * sizeof *map + 1);
    fusec_status status = fc_legalize(code, target, &legal, map);
    void **block = calloc(legal.ins.len + 1, sizeof *block);
    bool ok = status == FUSEC_OK && run_legal(&legal, target, n, block, arrays);
    if (status != FUSEC_OK) FC_FAIL("fc_legalize: %s", fc_status_slug(status));
    for (size_t k = 0; ok && k < nout; k++)
        fc_eval_store(fc_val_dtype(&legal, map[out[k]]), n, block[map[out[k]]], results[k], 1);
    for (size_t k = 0; k < legal.ins.len; k++) free(block[k]);
    free(block);
    free(map);
    fc_code_free(&legal);
    return ok;
}

bool fc_box_run(const fc_code *code, fc_target_kind target, const fc_val *out, size_t nout,
                size_t n, const void *const *arrays, void *const *results) {
    return fc_box_run_as(code, target, NULL, out, nout, n, arrays, results);
}

bool fc_box_op_as(fc_op op, fusec_dtype t, fusec_dtype to, fc_target_kind target,
                  fc_rewrite rewrite, size_t n, const void *a, const void *b, const void *c,
                  void *result) {
    const void *arrays[3] = {a, b, c};
    fc_val v[3] = {FC_NOVAL, FC_NOVAL, FC_NOVAL}, r;
    fc_code code;
    fc_code_init(&code, &fc_libc_alloc);
    const int arity = fc_is_elementwise(op) ? fc_ops[op].arity : 1;
    for (unsigned k = 0; k < (unsigned)arity; k++)
        v[k] = fc_val_arg(&code, k, op == FC_OP_where && k == 0 ? FUSEC_BOOL : t, FC_POINT);
    if (op == FC_OP_CAST)
        r = fc_val_cast(&code, v[0], to);
    else if (op == FC_OP_BITCAST)
        r = fc_val_bitcast(&code, v[0], to);
    else
        r = fc_val_op(&code, op, v[0], v[1], v[2]);
    const bool ok = fc_box_run_as(&code, target, rewrite, &r, 1, n, arrays, &result);
    fc_code_free(&code);
    return ok;
}

bool fc_box_op(fc_op op, fusec_dtype t, fusec_dtype to, fc_target_kind target, size_t n,
               const void *a, const void *b, const void *c, void *result) {
    return fc_box_op_as(op, t, to, target, NULL, n, a, b, c, result);
}

bool fc_box_takes(const fc_op_info *row, fusec_dtype t) {
    switch (row->rule) {
    case FC_RULE_FLOAT: return fc_is_float(t);
    case FC_RULE_LOGIC: return t == FUSEC_BOOL;
    case FC_RULE_BITS: return fc_op_takes((fc_op)(row - fc_ops), t);
    case FC_RULE_ARITH: return t != FUSEC_BOOL;
    default: return true;
    }
}

double fc_box_at(fusec_dtype t, const void *array, size_t i) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)array + i * fc_dtypes[t].bytes, fc_dtypes[t].bytes);
    return fc_const_value(t, bits);
}

/* ---- special values --------------------------------------------------------------------- */

typedef struct list {
    fusec_dtype t;
    char *at;
    size_t len;
} list;

static void put(list *l, uint64_t bits) {
    if (l->len == FC_BOX_SPECIALS) return;
    memcpy(l->at + l->len++ * fc_dtypes[l->t].bytes, &bits, fc_dtypes[l->t].bytes);
}

static void int_specials(list *l) {
    for (int k = 0; k < fc_dtypes[l->t].bits; k++) {
        const uint64_t p = (uint64_t)1 << k;
        put(l, p);
        put(l, p - 1);
        put(l, p + 1);
        put(l, 0 - p);
        put(l, ~(0 - p));
    }
    put(l, 1077936129); /* rounds twice on the way to bf16 through f32 */
}

/* Neighbours of a value by bits, and its negative. */
static void around(list *l, double v) {
    const uint64_t bits = fc_const_bits(l->t, v), sign = (uint64_t)1 << (fc_dtypes[l->t].bits - 1);
    for (uint64_t b = bits - 1; b != bits + 2; b++) {
        put(l, b);
        put(l, b ^ sign);
    }
}

static void float_specials(list *l) {
    static const double values[] = {
        1, 2, 3, 7, 10, 0.5, 0.1, 2.5, 3.5, 100, 127, 128, 255, 256, 32767, 32768, 65504, 65519,
        65520, 65535, 65536, 8388608, 16777216, 2147483648.0, 4294967296.0, 0x1p63, 0x1p64, 0x1p-14,
        0x1p-24, 0x1p-25, 0x1p-126, 0x1p-133, 0x1p-134, 0x1p-149, 0x1.ffp127, 0x1.fffffep127,
        /* halfway between two f16 and two bf16, and beside it by less than an f32 shows */
        0x1.002p0, 0x1.01p0, 0x1.0020000000001p0, 0x1.0100000000001p0, 0x1.00ffffffffffp0,
        0x1.001fffffffffp0, 0x1.0300000000001p0, 0x1.0060000000001p-20, 0x1.01000001p-130};
    const uint64_t sign = (uint64_t)1 << (fc_dtypes[l->t].bits - 1);
    put(l, 0);
    put(l, sign);
    put(l, fc_const_bits(l->t, INFINITY));
    put(l, fc_const_bits(l->t, -INFINITY));
    put(l, fc_const_bits(l->t, NAN));
    put(l, 1);
    put(l, sign | 1);
    put(l, fc_const_max(l->t));
    put(l, fc_const_min(l->t));
    for (size_t k = 0; k < FC_COUNT(values); k++) around(l, values[k]);
}

size_t fc_box_specials(fusec_dtype t, void *array) {
    list l = {t, array, 0};
    if (t == FUSEC_BOOL) {
        put(&l, 0);
        put(&l, 1);
    } else if (fc_is_float(t)) {
        float_specials(&l);
    } else {
        int_specials(&l);
    }
    return l.len;
}
