/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print.h - arrays as text.
 *
 *     text   as NumPy's str() shows an array with floatmode="unique": the shortest digits that
 *            read back to the same value, aligned in columns, 75 columns wide; above `threshold`
 *            elements only 3 of each end of an axis
 *     csv    one line for each row of the last axis, blank lines between matrices
 *     json   nested lists; nan and infinities become null, as JSON has no others */
#ifndef FUSEC_FRONTEND_CLI_PRINT_H
#define FUSEC_FRONTEND_CLI_PRINT_H

#include "frontend/io/array.h"

typedef struct fc_print_style {
    int64_t threshold; /* more elements than this are summarised; INT64_MAX: never */
    int edge;          /* elements shown at each end of an axis then */
    int width;         /* columns of a line */
} fc_print_style;

#define FC_PRINT_TERMINAL ((fc_print_style){1000, 3, 75})
#define FC_PRINT_WHOLE    ((fc_print_style){INT64_MAX, 3, 75})

/* No newline at the end. */
void fc_print_text(fc_str *out, const fc_array *a, fc_print_style style);
/* Ends every line with a newline. */
void fc_print_csv(fc_str *out, const fc_array *a);
/* No newline at the end. */
void fc_print_json(fc_str *out, const fc_array *a);

/* One number, as NumPy shows a scalar: 6.0, 1e-05, True. */
void fc_print_element(fc_str *out, const fc_array *a, int64_t index);

#endif
