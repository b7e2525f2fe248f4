/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dtype.h - everything about an element type, one row each in dtypes.def. */
#ifndef FUSEC_IR_DTYPE_H
#define FUSEC_IR_DTYPE_H

#include <fusec/dtype.h>
#include "ir/base.h"

/* Rows of dtypes.def; those before FC_DTYPE_COUNT are dtypes of one number, of which alone kernels
 * know. */
enum { FC_DTYPE_COUNT = 13, FC_DTYPE_ALL = 15 };

typedef enum fc_kind {
    FC_KIND_BOOL,
    FC_KIND_SIGNED,
    FC_KIND_UNSIGNED,
    FC_KIND_FLOAT,
    FC_KIND_COMPLEX
} fc_kind;

typedef struct fc_dtype_info {
    const char *name;      /* "f32", as the language spells it */
    const char *long_name; /* "float32", NumPy's spelling, accepted on input */
    const char *npy;       /* "<f4", the descr of an NPY header; NULL for bf16 */
    fc_kind kind;
    uint8_t bytes;
    uint8_t bits;        /* of the value: 1 for bool */
    fusec_dtype compute; /* the dtype arithmetic is done in: f32 for f16 and bf16, of
                            complex numbers that of a part; else itself */
    const char *cuda;    /* storage type in CUDA C */
    const char *llvm;    /* storage type in LLVM IR */
    const char *c;       /* storage type in C */
} fc_dtype_info;

extern const fc_dtype_info fc_dtypes[FC_DTYPE_ALL];

static inline bool fc_is_float(fusec_dtype t) {
    return fc_dtypes[t].kind == FC_KIND_FLOAT;
}
static inline bool fc_is_signed(fusec_dtype t) {
    return fc_dtypes[t].kind == FC_KIND_SIGNED;
}
static inline bool fc_is_unsigned(fusec_dtype t) {
    return fc_dtypes[t].kind == FC_KIND_UNSIGNED;
}
static inline bool fc_is_int(fusec_dtype t) {
    return fc_is_signed(t) || fc_is_unsigned(t);
}
static inline bool fc_is_half(fusec_dtype t) {
    return t == FUSEC_F16 || t == FUSEC_BF16;
}

static inline bool fc_is_complex(fusec_dtype t) {
    return fc_dtypes[t].kind == FC_KIND_COMPLEX;
}
/* The dtype of the parts of a complex number, and the other way round: f16 and bf16 make c64. */
static inline fusec_dtype fc_part_dtype(fusec_dtype t) {
    return fc_dtypes[t].compute;
}
static inline fusec_dtype fc_complex_of(fusec_dtype t) {
    return t == FUSEC_F64 || t == FUSEC_C128 ? FUSEC_C128 : FUSEC_C64;
}
/* What an element has to be aligned to. */
static inline unsigned fc_dtype_align(fusec_dtype t) {
    return fc_dtypes[t].bytes > 8 ? 8 : fc_dtypes[t].bytes;
}

/* Finds a dtype by its short or NumPy name; false if there is none. */
bool fc_dtype_by_name(const char *name, size_t len, fusec_dtype *out);

/* Conversions of the storage formats, round to nearest even, one rounding. */
float fc_half_to_float(uint16_t h);
uint16_t fc_double_to_half(double v);
float fc_bf16_to_float(uint16_t h);
uint16_t fc_double_to_bf16(double v);

#endif
