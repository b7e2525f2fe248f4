/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* decimal.h - the shortest decimal that reads back to the same element. */
#ifndef FUSEC_FRONTEND_CLI_DECIMAL_H
#define FUSEC_FRONTEND_CLI_DECIMAL_H

#include "frontend/io/array.h"

typedef enum fc_decimal_kind { FC_DECIMAL_FINITE, FC_DECIMAL_INF, FC_DECIMAL_NAN } fc_decimal_kind;

/* digits * 10^(exponent - count + 1): d.ddd * 10^exponent. Zero has one digit and exponent 0. */
typedef struct fc_decimal {
    uint64_t digits;
    int16_t exponent;
    uint8_t count;
    uint8_t kind;
    bool negative; /* also of zero and infinity; never of nan */
} fc_decimal;

/* An element of an array of floats. */
fc_decimal fc_decimal_of(const fc_array *a, int64_t index);
/* The element's value; exact. */
double fc_float_at(const fc_array *a, int64_t index);

#endif
