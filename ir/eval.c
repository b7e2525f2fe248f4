/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* eval.c - one instruction on a block of values, and constant folding with it.
 *
 * In: legal code of FC_TARGET_INTERP, an instruction at a time, with blocks in the compute
 * representation. Out: a block. Loads and stores convert between it and the storage format. */
#include "ir/eval.h"

#include "ir/eval_rows.h"
#include "ir/expand.h"
#include "ir/float_state.h"

size_t fc_eval_size(fusec_dtype t) {
    return fc_is_half(t) ? sizeof(float) : fc_dtypes[t].bytes;
}

/* ---- storage ---------------------------------------------------------------------------- */

static void load_half(fusec_dtype t, size_t n, const char *src, int64_t step, float *out) {
    for (size_t k = 0; k < n; k++, src += step) {
        uint16_t h;
        memcpy(&h, src, sizeof h);
        out[k] = t == FUSEC_F16 ? fc_half_to_float(h) : fc_bf16_to_float(h);
    }
}

static void store_half(fusec_dtype t, size_t n, const float *in, char *dst, int64_t step) {
    for (size_t k = 0; k < n; k++, dst += step) {
        const double v = (double)in[k];
        const uint16_t h = t == FUSEC_F16 ? fc_double_to_half(v) : fc_double_to_bf16(v);
        memcpy(dst, &h, sizeof h);
    }
}

/* the size is a constant in each case, so that memcpy becomes a move */
#define COPY(size)                                                                                 \
    for (size_t k = 0; k < n; k++, dst += to, src += from) memcpy(dst, src, size);                 \
    break

static void copy(size_t size, size_t n, const char *src, int64_t from, char *dst, int64_t to) {
    if (from == (int64_t)size && to == from) {
        memcpy(dst, src, n * size);
        return;
    }
    switch (size) {
    case 1: COPY(1);
    case 2: COPY(2);
    case 4: COPY(4);
    default: COPY(8);
    }
}

void fc_eval_load(fusec_dtype t, size_t n, const void *src, int64_t stride, void *block) {
    const size_t size = fc_dtypes[t].bytes;
    const int64_t step = stride * (int64_t)size;
    if (n == 0) return;
    if (fc_is_half(t)) {
        load_half(t, n, src, step, block);
        return;
    }
    copy(size, n, src, step, block, (int64_t)size);
    if (t != FUSEC_BOOL) return;
    for (uint8_t *b = block; b < (uint8_t *)block + n; b++)
        *b = *b != 0; /* whatever a caller stored */
}

void fc_eval_store(fusec_dtype t, size_t n, const void *block, void *dst, int64_t stride) {
    const size_t size = fc_dtypes[t].bytes;
    const int64_t step = stride * (int64_t)size;
    if (n == 0) return;
    if (fc_is_half(t))
        store_half(t, n, block, dst, step);
    else
        copy(size, n, block, (int64_t)size, dst, step);
}

/* ---- one instruction -------------------------------------------------------------------- */

static void bitcast(fusec_dtype t, fusec_dtype to, size_t n, const void *a, void *out) {
    if (fc_is_half(t))
        fc_eval_store(t, n, a, out, 1);
    else if (fc_is_half(to))
        fc_eval_load(to, n, a, 1, out);
    else
        memmove(out, a, n * fc_eval_size(t));
}

bool fc_eval(fc_op op, fusec_dtype t, fusec_dtype to, size_t n, const void *a, const void *b,
             const void *c, void *out) {
    if (op == FC_OP_CVT) {
        if (!fc_cvt_direct(t, to)) return false;
        fc_eval_cvt(t, to, n, a, out);
        return true;
    }
    if (op == FC_OP_BITCAST) {
        bitcast(t, to, n, a, out);
        return true;
    }
    if (!fc_target_has(FC_TARGET_INTERP, op, t)) return false;
    if (b == NULL) b = a;
    if (c == NULL) c = a;
    if (fc_is_float(t))
        fc_eval_float(op, t, n, a, b, c, out);
    else
        fc_eval_int(op, t, n, a, b, c, out);
    return true;
}

/* ---- folding ---------------------------------------------------------------------------- */

/* Memory for the few instructions of one folded operation; handed out once, never reused. What does
 * not fit is not folded. */
typedef uint64_t __attribute__((__may_alias__)) word; /* objects of any type are kept in these */
typedef struct scratch {
    size_t used;
    word words[4096];
} scratch;

static void *scratch_alloc(void *user, void *p, size_t size) {
    scratch *m = user;
    const size_t words = (size + 7) / 8;
    if (size == 0) return NULL;
    if (words >= FC_COUNT(m->words) - m->used) return NULL;
    word *fresh = m->words + m->used + 1;
    fresh[-1] = words; /* the size of the block, to copy it when it grows */
    m->used += words + 1;
    if (p != NULL) {
        const uint64_t had = ((word *)p)[-1];
        memcpy(fresh, p, 8 * (size_t)(had < words ? had : words));
    }
    return fresh;
}

/* Runs legal code on single values; value[k] belongs to instruction k. */
static bool run(const fc_code *code, word *value) {
    for (size_t k = 0; k < code->ins.len; k++) {
        const fc_instr *i = &code->ins.at[k];
        if (i->op == FC_OP_CONST) {
            fc_eval_load((fusec_dtype)i->dtype, 1, &i->imm, 1, &value[k]);
            continue;
        }
        const void *v[3] = {i->a == FC_NOVAL ? NULL : &value[i->a],
                            i->b == FC_NOVAL ? NULL : &value[i->b],
                            i->c == FC_NOVAL ? NULL : &value[i->c]};
        const fc_val typed = i->op == FC_OP_where ? i->b : i->a;
        if (!fc_eval((fc_op)i->op, fc_val_dtype(code, typed), (fusec_dtype)i->dtype, 1, v[0], v[1],
                     v[2], &value[k]))
            return false;
    }
    return true;
}

static fc_val operation(fc_code *code, fc_op op, fusec_dtype operand, fusec_dtype result,
                        const uint64_t bits[3]) {
    fc_val v[3] = {FC_NOVAL, FC_NOVAL, FC_NOVAL};
    const int arity = fc_is_elementwise(op) ? fc_ops[op].arity : 1;
    for (int k = 0; k < arity; k++)
        v[k] = fc_val_bits(code, op == FC_OP_where && k == 0 ? FUSEC_BOOL : operand, bits[k]);
    if (op == FC_OP_CAST) return fc_val_cast(code, v[0], result);
    if (op == FC_OP_BITCAST) return fc_val_bitcast(code, v[0], result);
    return fc_val_op(code, op, v[0], v[1], v[2]);
}

static bool fold(fc_op op, fusec_dtype operand, fusec_dtype result, const uint64_t bits[3],
                 uint64_t *out) {
    scratch memory;
    memory.used = 0;
    const fc_alloc alloc = {scratch_alloc, &memory};
    fc_code code;
    fc_code_init(&code, &alloc);
    code.target = FC_TARGET_INTERP;
    const fc_val r = operation(&code, op, operand, result, bits);
    if (code.status != FUSEC_OK || r == FC_NOVAL || fc_val_dtype(&code, r) != result) return false;
    word *value = fc_calloc(&alloc, code.ins.len, sizeof *value);
    if (value == NULL || !run(&code, value)) return false;
    *out = 0;
    fc_eval_store(result, 1, &value[r], out, 1);
    return true;
}

bool fc_fold(fc_op op, fusec_dtype operand, fusec_dtype result, const uint64_t bits[3],
             uint64_t *out) {
    const bool row_on_int = fc_is_elementwise(op) && !fc_is_float(operand);
    if (!fc_op_foldable(op) && !row_on_int) return false;
    const uint64_t state = fc_float_enter();
    const bool done = fold(op, operand, result, bits, out);
    fc_float_leave(state);
    return done;
}
