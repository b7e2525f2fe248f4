/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* made.h - arrays that are made up: rand, randn, zeros, ones, iota.
 *
 * The numbers depend on nothing but seed, dtype and index. Random words come from Philox4x32-10:
 * the key is the seed (low word, high word), the counter is the number of the block (low word, high
 * word) and two zero words. Element i of a 32-bit draw takes word i % 4 of block i / 4, of a 64-bit
 * draw words 2 * (i % 2) and 2 * (i % 2) + 1 of block i / 2, the first being the low one.
 *
 *     rand   f32         (word >> 8) * 2^-24           in [0, 1)
 *            f16, bf16   (word >> 21) * 2^-11, (word >> 24) * 2^-8: exact, never rounded up to 1
 *            f64         (64-bit draw >> 11) * 2^-53
 *            integers    (word * 100) >> 32            0 to 99, which every integer dtype holds
 *            bool        word >> 31
 *     randn  floats: Box-Muller on neighbours. Elements 2k and 2k + 1 are r cos(t) and r sin(t)
 *            with r = sqrt(-2 ln((u + 1) * 2^-32)) and t = 2 pi v 2^-32, where u and v are the
 *            words of elements 2k and 2k + 1 in a 32-bit draw; computed in f64, then rounded to
 *            the dtype
 *     iota   the index, wrapped or rounded to the dtype */
#ifndef FUSEC_FRONTEND_CLI_MADE_H
#define FUSEC_FRONTEND_CLI_MADE_H

#include "ir/base.h"
#include "ir/dtype.h"

typedef enum fc_maker {
    FC_MAKE_RAND,
    FC_MAKE_RANDN,
    FC_MAKE_ZEROS,
    FC_MAKE_ONES,
    FC_MAKE_IOTA,
    FC_MAKER_COUNT
} fc_maker;

extern const char *const fc_maker_names[FC_MAKER_COUNT];

/* Fills `count` elements. randn of an integer or bool dtype is refused. */
fusec_status fc_make(fc_maker maker, fusec_dtype dtype, uint64_t seed, int64_t count, void *out,
                     fc_error *e);

#endif
