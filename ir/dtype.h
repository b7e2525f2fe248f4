/* dtype.h - everything about an element type, one row each in dtypes.def. */
#ifndef FUSEC_IR_DTYPE_H
#define FUSEC_IR_DTYPE_H

#include <fusec/dtype.h>
#include "ir/base.h"

enum { FC_DTYPE_COUNT = 13 }; /* rows of dtypes.def */

typedef enum fc_kind { FC_KIND_BOOL, FC_KIND_SIGNED, FC_KIND_UNSIGNED, FC_KIND_FLOAT } fc_kind;

typedef struct fc_dtype_info {
    const char *name;      /* "f32", as the language spells it */
    const char *long_name; /* "float32", NumPy's spelling, accepted on input */
    const char *npy;       /* "<f4", the descr of an NPY header; NULL for bf16 */
    fc_kind kind;
    uint8_t bytes;
    uint8_t bits;        /* of the value: 1 for bool */
    fusec_dtype compute; /* the dtype arithmetic is done in: f32 for f16 and bf16, else itself */
    const char *cuda;    /* storage type in CUDA C */
    const char *llvm;    /* storage type in LLVM IR */
    const char *c;       /* storage type in C */
} fc_dtype_info;

extern const fc_dtype_info fc_dtypes[FC_DTYPE_COUNT];

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

/* Finds a dtype by its short or NumPy name; false if there is none. */
bool fc_dtype_by_name(const char *name, size_t len, fusec_dtype *out);

/* Conversions of the storage formats, round to nearest even, one rounding. */
float fc_half_to_float(uint16_t h);
uint16_t fc_double_to_half(double v);
float fc_bf16_to_float(uint16_t h);
uint16_t fc_double_to_bf16(double v);

#endif
