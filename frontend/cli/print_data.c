/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print_data.c - arrays as csv and json, and single elements. */
#include <math.h>

#include "frontend/cli/print.h"
#include "frontend/cli/print_number.h"

static size_t element_word(const fc_array *a, int64_t index, fc_decimal *d, char word[FC_WORD]) {
    d->kind = FC_DECIMAL_FINITE;
    if (!fc_is_float(a->dtype)) return fc_integer_word(a, index, word);
    *d = fc_decimal_of(a, index);
    return fc_float_word(d, fc_float_at(a, index), word);
}

/* "(1.0-2.0j)", as NumPy shows a scalar. */
static void complex_element(fc_str *out, const fc_array *a, int64_t index) {
    const fc_array parts = fc_array_parts(a);
    fc_str_char(out, '(');
    fc_print_element(out, &parts, 2 * index);
    if (!signbit(fc_float_at(&parts, 2 * index + 1)) || isnan(fc_float_at(&parts, 2 * index + 1)))
        fc_str_char(out, '+');
    fc_print_element(out, &parts, 2 * index + 1);
    fc_str_add(out, "j)");
}

void fc_print_element(fc_str *out, const fc_array *a, int64_t index) {
    char word[FC_WORD];
    fc_decimal d;
    if (fc_is_complex(a->dtype)) {
        complex_element(out, a, index);
        return;
    }
    fc_str_addn(out, word, element_word(a, index, &d, word));
}

static int64_t count_of(const fc_array *a) {
    int64_t count = 1;
    for (int i = 0; i < a->rank; i++) count *= a->shape[i];
    return count;
}

/* How many axes begin anew at this element: 0 within a row, 1 at the start of a row, ... */
static int axes_started(const fc_array *a, int64_t index) {
    int n = 0;
    int64_t step = 1;
    while (n < a->rank) {
        step *= a->shape[a->rank - 1 - n];
        if (index % step != 0) break;
        n++;
    }
    return n;
}

void fc_print_csv(fc_str *out, const fc_array *a) {
    int64_t count = count_of(a);
    for (int64_t i = 0; i < count && !out->oom; i++) {
        /* A vector is a column: one value for each line. */
        int fresh = a->rank < 2 ? 1 : axes_started(a, i);
        if (i) fc_str_add(out, fresh == 0 ? "," : fresh == 1 ? "\n" : "\n\n");
        fc_print_element(out, a, i);
    }
    if (count) fc_str_char(out, '\n');
}

/* JSON has no numbers for nan and infinities: they are the texts "nan", "inf" and "-inf". */
static void json_element(fc_str *out, const fc_array *a, int64_t index) {
    char word[FC_WORD];
    fc_decimal d;
    if (fc_is_complex(a->dtype)) { /* a list of the two parts */
        const fc_array parts = fc_array_parts(a);
        fc_str_char(out, '[');
        json_element(out, &parts, 2 * index);
        fc_str_add(out, ", ");
        json_element(out, &parts, 2 * index + 1);
        fc_str_char(out, ']');
        return;
    }
    if (a->dtype == FUSEC_BOOL) {
        fc_str_add(out, ((const uint8_t *)a->data)[index] ? "true" : "false");
        return;
    }
    size_t n = element_word(a, index, &d, word);
    const char *quote = d.kind == FC_DECIMAL_FINITE ? "" : "\"";
    fc_str_add(out, quote);
    fc_str_addn(out, word, n);
    fc_str_add(out, quote);
}

/* Lists of an array without elements: those axes are written that lead to the first empty one.
 * Where that would be more than a million empty lists, one stands for them all. */
static void json_empty(fc_str *out, const fc_array *a) {
    int64_t at[FC_IO_RANK] = {0};
    int depth = 0, axis = 0;
    for (int64_t lists = 1; a->shape[depth] != 0; depth++) {
        if (!fc_mul_ok(lists, a->shape[depth], &lists) || lists > 1000000) {
            fc_str_add(out, "[]");
            return;
        }
    }
    for (;;) {
        for (; axis < depth; axis++) fc_str_char(out, '[');
        fc_str_add(out, "[]");
        while (axis > 0 && ++at[axis - 1] == a->shape[axis - 1]) {
            at[--axis] = 0;
            fc_str_char(out, ']');
        }
        if (axis == 0 || out->oom) return;
        fc_str_add(out, ", ");
    }
}

void fc_print_json(fc_str *out, const fc_array *a) {
    int64_t count = count_of(a);
    if (count == 0) {
        json_empty(out, a);
        return;
    }
    for (int64_t i = 0; i < count && !out->oom; i++) {
        int fresh = axes_started(a, i);
        if (i) {
            for (int k = 0; k < fresh; k++) fc_str_char(out, ']');
            fc_str_add(out, ", ");
        }
        for (int k = 0; k < fresh; k++) fc_str_char(out, '[');
        json_element(out, a, i);
    }
    for (int k = 0; k < a->rank; k++) fc_str_char(out, ']');
}
