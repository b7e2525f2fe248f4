/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print_number.h - how the elements of one array look, all in the same width.
 *
 * Order of calls: start, add for each element shown, choose, fit for each decimal, end,
 * then word. */
#ifndef FUSEC_FRONTEND_CLI_PRINT_NUMBER_H
#define FUSEC_FRONTEND_CLI_PRINT_NUMBER_H

#include "frontend/cli/decimal.h"

#define FC_WORD 96

typedef struct fc_column {
    fusec_dtype dtype;
    int width;                       /* of integers and bools */
    double smallest, largest;        /* magnitudes of finite floats other than 0 */
    bool finite, special, minus_inf; /* which floats there are */
    bool scientific;
    int left, right, places, exponent; /* before and behind the point; digits of the exponent */
} fc_column;

void fc_column_start(fc_column *c, fusec_dtype dtype);
void fc_column_add(fc_column *c, const fc_array *a, int64_t index, const fc_decimal *d);
void fc_column_choose(fc_column *c);
void fc_column_fit(fc_column *c, const fc_decimal *d);
void fc_column_end(fc_column *c);
/* Writes the element into `word` and returns its length. */
size_t fc_column_word(const fc_column *c, const fc_array *a, int64_t index, const fc_decimal *d,
                      char word[FC_WORD]);

/* An integer or bool without padding. */
size_t fc_integer_word(const fc_array *a, int64_t index, char word[FC_WORD]);
/* A float by itself, as NumPy shows a scalar. */
size_t fc_float_word(const fc_decimal *d, double value, char word[FC_WORD]);

#endif
