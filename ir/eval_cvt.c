/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* eval_cvt.c - the raw conversions of FC_OP_CVT on blocks (fc_cvt_direct says which exist).
 *
 * Float to integer is in range by contract. f16 and bf16 blocks are floats: widening them is a
 * copy, and narrowing keeps a float that has only the bits of the narrow format. */
#include "ir/eval_rows.h"

#define LOOP(from, to)                                                                             \
    {                                                                                              \
        const from *p = a;                                                                         \
        to *q = out;                                                                               \
        for (size_t k = 0; k < n; k++) q[k] = (to)p[k];                                            \
    }                                                                                              \
    break;

/* a function for each source type; bool is read as uint8_t 0 or 1, integers narrower than 32 bits
 * are made of i32 and u32 where the source is a float */
#define FROM(name, from)                                                                           \
    static void name(fusec_dtype to, size_t n, const void *a, void *out) {                         \
        switch (to) {                                                                              \
        case FUSEC_I8: LOOP(from, int8_t)                                                          \
        case FUSEC_I16: LOOP(from, int16_t)                                                        \
        case FUSEC_I32: LOOP(from, int32_t)                                                        \
        case FUSEC_I64: LOOP(from, int64_t)                                                        \
        case FUSEC_U8: LOOP(from, uint8_t)                                                         \
        case FUSEC_U16: LOOP(from, uint16_t)                                                       \
        case FUSEC_U32: LOOP(from, uint32_t)                                                       \
        case FUSEC_U64: LOOP(from, uint64_t)                                                       \
        case FUSEC_F32: LOOP(from, float)                                                          \
        case FUSEC_F64: LOOP(from, double)                                                         \
        default: break;                                                                            \
        }                                                                                          \
    }

FROM(from_i8, int8_t)
FROM(from_i16, int16_t)
FROM(from_i32, int32_t)
FROM(from_i64, int64_t)
FROM(from_u8, uint8_t)
FROM(from_u16, uint16_t)
FROM(from_u32, uint32_t)
FROM(from_u64, uint64_t)
FROM(from_f32, float)
FROM(from_f64, double)

static void to_half(fusec_dtype to, size_t n, const float *a, float *out) {
    for (size_t k = 0; k < n; k++)
        out[k] = to == FUSEC_F16 ? fc_half_to_float(fc_double_to_half((double)a[k]))
                                 : fc_bf16_to_float(fc_double_to_bf16((double)a[k]));
}

void fc_eval_cvt(fusec_dtype from, fusec_dtype to, size_t n, const void *a, void *out) {
    if (fc_is_half(to)) {
        to_half(to, n, a, out);
        return;
    }
    switch (from) {
    case FUSEC_I8: from_i8(to, n, a, out); break;
    case FUSEC_I16: from_i16(to, n, a, out); break;
    case FUSEC_I32: from_i32(to, n, a, out); break;
    case FUSEC_I64: from_i64(to, n, a, out); break;
    case FUSEC_BOOL:
    case FUSEC_U8: from_u8(to, n, a, out); break;
    case FUSEC_U16: from_u16(to, n, a, out); break;
    case FUSEC_U32: from_u32(to, n, a, out); break;
    case FUSEC_U64: from_u64(to, n, a, out); break;
    case FUSEC_F16:
    case FUSEC_BF16:
    case FUSEC_F32: from_f32(to, n, a, out); break;
    case FUSEC_F64: from_f64(to, n, a, out); break;
    default: break;
    }
}
