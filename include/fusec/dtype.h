/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dtype.h - the element types of arrays. The numbers are part of the binary interface: they never
 * change, a new dtype takes the next one. */
#ifndef FUSEC_DTYPE_H
#define FUSEC_DTYPE_H

typedef enum fusec_dtype {
    FUSEC_BOOL = 0, /* one byte, 0 or 1 */
    FUSEC_I8 = 1,
    FUSEC_I16 = 2,
    FUSEC_I32 = 3,
    FUSEC_I64 = 4,
    FUSEC_U8 = 5,
    FUSEC_U16 = 6,
    FUSEC_U32 = 7,
    FUSEC_U64 = 8,
    FUSEC_F16 = 9,   /* IEEE 754 binary16 */
    FUSEC_BF16 = 10, /* upper half of an IEEE 754 binary32 */
    FUSEC_F32 = 11,
    FUSEC_F64 = 12,
    FUSEC_C64 = 13, /* two F32, real and imaginary part: float complex of C99, complex64 of NumPy */
    FUSEC_C128 = 14,     /* two F64 */
    FUSEC_NO_DTYPE = 255 /* none: a number without dtype, an empty value */
} fusec_dtype;

#endif
