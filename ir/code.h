/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* code.h - straight-line scalar code: what a kernel computes for one point of its loop nest.
 *
 * Instructions are in one array, operands are indices of earlier instructions. The same form serves
 * the target-neutral code (operations are rows of ops.def, casts are FC_OP_CAST) and the code of
 * one target after fc_legalize (only rows with a column for that target, and FC_OP_CVT).
 *
 * A value of dtype f16 or bf16 is never computed with: it is loaded, stored, bit-cast, or
 * converted. Arithmetic on it is CVT to f32, the operation in f32, CVT back (one rounding).
 * Emitters hold such a value as an f32 that has only the bits of the narrow type. A bool is true or
 * false (i1), 0 or 1 in memory.
 *
 * FC_OP_CVT is what every target converts by itself (fc_cvt_direct); a full cast is made of these:
 *
 * - bool to any integer, f32 and f64: 0 or 1;
 * - integer to integer, modulo 2^n; integer to f32 and f64, to nearest even;
 * - f32 and f64 to i32, i64, u32 and u64, toward zero; the value is in range
 *   (above -1 if unsigned);
 * - f32 to f64 and back; f16 and bf16 to f32;
 * - f32 to f16 and bf16, to nearest even.
 *
 * FC_OP_BITCAST joins the dtypes of one width in one of i8 u8 | i16 u16 f16 bf16 | i32 u32 f32 |
 * i64 u64 f64, but never f16 with bf16 (fc_val_bitcast goes through u16). Operations on bool are
 * eq, ne, where and the logical rows; all others are expanded into these. */
#ifndef FUSEC_IR_CODE_H
#define FUSEC_IR_CODE_H

#include "ir/base.h"
#include "ir/dtype.h"
#include "ir/ops.h"

typedef uint32_t fc_val; /* index of an instruction; FC_NOVAL: none, or building failed */
#define FC_NOVAL UINT32_MAX

/* How often an instruction runs in a reduction kernel: once per point of the kept axes, or at every
 * element. In a map everything is FC_POINT. */
typedef enum fc_level { FC_ROW, FC_POINT } fc_level;

typedef struct fc_instr {
    uint16_t op;   /* fc_op */
    uint8_t dtype; /* fusec_dtype of the result */
    uint8_t level; /* fc_level */
    fc_val a, b, c;
    uint64_t imm; /* FC_OP_CONST: bits in the storage format; a function or quotient in f32: the
                     16-bit dtype that its node has under wide16, or 0; others see ops.h */
} fc_instr;

typedef enum fc_target_kind { FC_TARGET_CUDA, FC_TARGET_LLVM, FC_TARGET_INTERP } fc_target_kind;
#define FC_TARGET_NONE (-1)

struct fc_code;
/* A backend's own code for a row, made of other rows; `v` are the operands, of a compute dtype. It
 * is asked before the target's column is looked at. FC_NOVAL: the row stays what it is. */
typedef fc_val (*fc_rewrite)(struct fc_code *c, fc_op op, const fc_val v[3]);

typedef struct fc_code {
    const fc_alloc *alloc;
    int target;         /* an fc_target_kind: what this target lacks is expanded while it is added;
                           FC_TARGET_NONE (fc_code_init): rows and casts stay as they are */
    fc_rewrite rewrite; /* may be NULL; set after fc_code_init */
    uint8_t node16;     /* what functions and quotients in f32 that are added get as their imm */
    FC_VEC(fc_instr) ins;
    uint32_t *slots; /* hash table for common subexpressions */
    uint32_t nslots;
    fusec_status status; /* first failure, FUSEC_OK so far */
} fc_code;

void fc_code_init(fc_code *c, const fc_alloc *alloc);
void fc_code_free(fc_code *c);

/* Adds an instruction or finds the equal one. The level is the highest of the operands' (and of
 * `level`); operands of commutative rows are put in order. Adds it as it is: only the constructors
 * below expand. */
fc_val fc_code_add(fc_code *c, fc_instr i);

/* Typed constructors. fc_val_op works out the result dtype by the row's rule; operands the row does
 * not have are FC_NOVAL. On f16 and bf16 it computes in f32 and rounds. Wrong operands give
 * FC_NOVAL and c->status. */
fc_val fc_val_op(fc_code *c, fc_op op, fc_val a, fc_val b, fc_val d);
fc_val fc_val_const(fc_code *c, fusec_dtype t, double v); /* converted as a cast does */
fc_val fc_val_bits(fc_code *c, fusec_dtype t, uint64_t bits);
fc_val fc_val_i64(fc_code *c, int64_t v);
fc_val fc_val_cvt(fc_code *c, fc_val a,
                  fusec_dtype t); /* raw conversion; no-op for the same dtype */
fc_val fc_val_cast(fc_code *c, fc_val a, fusec_dtype t);    /* full cast, FC_OP_CAST */
fc_val fc_val_bitcast(fc_code *c, fc_val a, fusec_dtype t); /* no-op for the same dtype */
fc_val fc_val_arg(fc_code *c, unsigned number, fusec_dtype t, fc_level level);
static inline fusec_dtype fc_val_dtype(const fc_code *c, fc_val v) {
    return v < c->ins.len ? (fusec_dtype)c->ins.at[v].dtype : FUSEC_F32;
}

/* The conversions of FC_OP_CVT, see above (f32 -> bf16 among them). Equal dtypes are not one. */
bool fc_cvt_direct(fusec_dtype from, fusec_dtype to);

/* Number of operands of an instruction (0 to 3), and each of them. */
int fc_instr_arity(const fc_instr *i);
static inline fc_val fc_instr_operand(const fc_instr *i, int n) {
    return n == 0 ? i->a : n == 1 ? i->b : i->c;
}

/* Whether it is done for an element that is computed: with its own number, and never once for
 * several elements. */
static inline bool fc_is_at_element(int op) {
    return op == FC_OP_LOAD_AT || op == FC_OP_INSIDE || op == FC_OP_PUT_AT;
}

/* Readable form, one instruction a line: the dump format, also the canonical form that is
 * hashed. */
void fc_code_print(const fc_code *c, fc_str *out);

/* ---- constants -------------------------------------------------------------------------- */

uint64_t fc_const_bits(fusec_dtype t, double v); /* saturating and rounding as a cast from f64 */
uint64_t fc_const_int(fusec_dtype t, int64_t v); /* wrapping for ints, rounding for floats */
double fc_const_value(fusec_dtype t, uint64_t bits);
/* Same value; tells -0 from +0 in floats. A nan is every nan. */
bool fc_const_is(fusec_dtype t, uint64_t bits, double v);
uint64_t fc_const_max(fusec_dtype t); /* largest finite value; true */
uint64_t fc_const_min(fusec_dtype t); /* lowest finite value; false */

#endif
