/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* eval_int.c - rows on blocks of integers and bools (as uint8_t 0 or 1). Arithmetic wraps and has
 * no undefined behaviour as long as the rows marked "raw" get operands in range. */
#include "ir/eval_rows.h"

#include "ir/eval.h"
#include "ir/philox.h"

uint64_t fc_gcd(uint64_t a, uint64_t b) {
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#define PICK(f, i) i

#define LOOPS loops_i8
#define T     int8_t
#define U     uint8_t
#include "ir/eval_loops.def"
#define LOOPS loops_i16
#define T     int16_t
#define U     uint16_t
#include "ir/eval_loops.def"
#define LOOPS loops_i32
#define T     int32_t
#define U     uint32_t
#include "ir/eval_loops.def"
#define LOOPS loops_i64
#define T     int64_t
#define U     uint64_t
#include "ir/eval_loops.def"
#define LOOPS loops_u8
#define T     uint8_t
#define U     uint8_t
#include "ir/eval_loops.def"
#define LOOPS loops_u16
#define T     uint16_t
#define U     uint16_t
#include "ir/eval_loops.def"
#define LOOPS loops_u32
#define T     uint32_t
#define U     uint32_t
#include "ir/eval_loops.def"
#define LOOPS loops_u64
#define T     uint64_t
#define U     uint64_t
#include "ir/eval_loops.def"

void fc_eval_int(fc_op op, fusec_dtype t, size_t n, const void *a, const void *b, const void *c,
                 void *out) {
    switch (t) {
    case FUSEC_I8: loops_i8(op, n, a, b, c, out); break;
    case FUSEC_I16: loops_i16(op, n, a, b, c, out); break;
    case FUSEC_I32: loops_i32(op, n, a, b, c, out); break;
    case FUSEC_I64: loops_i64(op, n, a, b, c, out); break;
    case FUSEC_BOOL:
    case FUSEC_U8: loops_u8(op, n, a, b, c, out); break;
    case FUSEC_U16: loops_u16(op, n, a, b, c, out); break;
    case FUSEC_U32: loops_u32(op, n, a, b, c, out); break;
    case FUSEC_U64: loops_u64(op, n, a, b, c, out); break;
    default: break;
    }
}
