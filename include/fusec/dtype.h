/* dtype.h - the element types of arrays. */
#ifndef FUSEC_DTYPE_H
#define FUSEC_DTYPE_H

typedef enum fusec_dtype {
    FUSEC_BOOL = 0, /* one byte, 0 or 1 */
    FUSEC_I8,
    FUSEC_I16,
    FUSEC_I32,
    FUSEC_I64,
    FUSEC_U8,
    FUSEC_U16,
    FUSEC_U32,
    FUSEC_U64,
    FUSEC_F16,  /* IEEE 754 binary16 */
    FUSEC_BF16, /* upper half of an IEEE 754 binary32 */
    FUSEC_F32,
    FUSEC_F64,
    FUSEC_DTYPE_COUNT
} fusec_dtype;

#endif
