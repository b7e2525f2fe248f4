/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print_number.c - elements as words of equal width. The choices are NumPy's: scientific notation
 * when the largest magnitude is 1e8 or more, the smallest below 1e-4, or their ratio above 1000. */
#include "frontend/cli/print_number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- integers and bools ---------------------------------------------------------------------- */

size_t fc_integer_word(const fc_array *a, int64_t i, char word[FC_WORD]) {
    int64_t s = 0;
    uint64_t u = 0;
    bool is_signed = fc_is_signed(a->dtype);
    switch (a->dtype) {
    case FUSEC_I8: s = ((const int8_t *)a->data)[i]; break;
    case FUSEC_I16: s = ((const int16_t *)a->data)[i]; break;
    case FUSEC_I32: s = ((const int32_t *)a->data)[i]; break;
    case FUSEC_I64: s = ((const int64_t *)a->data)[i]; break;
    case FUSEC_U16: u = ((const uint16_t *)a->data)[i]; break;
    case FUSEC_U32: u = ((const uint32_t *)a->data)[i]; break;
    case FUSEC_U64: u = ((const uint64_t *)a->data)[i]; break;
    default: u = ((const uint8_t *)a->data)[i]; break;
    }
    if (a->dtype == FUSEC_BOOL) return (size_t)snprintf(word, FC_WORD, "%s", u ? "True" : "False");
    if (is_signed) u = s < 0 ? 0 - (uint64_t)s : (uint64_t)s;
    char back[24];
    size_t n = 0, len = 0;
    do back[n++] = (char)('0' + u % 10);
    while (u /= 10);
    if (s < 0) word[len++] = '-';
    while (n) word[len++] = back[--n];
    word[len] = 0;
    return len;
}

/* ---- floats ---------------------------------------------------------------------------------- */

static char *put_digits(char *p, const fc_decimal *d, int from, int n) {
    char text[24];
    uint64_t v = d->digits;
    for (int i = d->count - 1; i >= 0; i--, v /= 10) text[i] = (char)('0' + v % 10);
    for (int i = from; i < from + n; i++) *p++ = i >= 0 && i < d->count ? text[i] : '0';
    return p;
}

static int whole_digits(const fc_decimal *d) {
    return d->exponent >= 0 ? d->exponent + 1 : 1;
}

static int places(const fc_decimal *d) {
    int n = d->count - 1 - d->exponent;
    return n > 0 ? n : 0;
}

/* "-12.5": digits before the point, the point, `n` digits behind it. */
static char *put_positional(char *p, const fc_decimal *d, int n) {
    if (d->negative) *p++ = '-';
    if (d->exponent >= 0)
        p = put_digits(p, d, 0, d->exponent + 1);
    else
        *p++ = '0';
    *p++ = '.';
    return put_digits(p, d, d->exponent + 1, n);
}

static int exponent_digits(const fc_decimal *d) {
    return d->exponent <= -100 || d->exponent >= 100 ? 3 : 2;
}

/* "-1.25e+10" with `n` digits behind the point and at least `width` of exponent. */
static char *put_scientific(char *p, const fc_decimal *d, int n, bool point, int width) {
    int e = d->exponent < 0 ? -d->exponent : d->exponent;
    if (d->negative) *p++ = '-';
    p = put_digits(p, d, 0, 1);
    if (point) *p++ = '.';
    p = put_digits(p, d, 1, n);
    return p + sprintf(p, "e%c%0*d", d->exponent < 0 ? '-' : '+', width, e);
}

/* More digits than the shortest has are digits of the exact value, as in NumPy, and not zeros. */
static fc_decimal with_digits(fc_decimal d, double value, int count) {
    char text[64];
    if (d.count >= count || value == 0) return d;
    snprintf(text, sizeof text, "%.*e", count - 1, fabs(value));
    d.digits = 0;
    d.count = (uint8_t)count;
    for (const char *p = text; *p && *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9') d.digits = d.digits * 10 + (uint64_t)(*p - '0');
    }
    d.exponent = (int16_t)strtol(strchr(text, 'e') + 1, NULL, 10);
    return d;
}

static const char *special_word(const fc_decimal *d) {
    return d->kind == FC_DECIMAL_NAN ? "nan" : d->negative ? "-inf" : "inf";
}

size_t fc_float_word(const fc_decimal *d, double value, char word[FC_WORD]) {
    if (d->kind != FC_DECIMAL_FINITE) return (size_t)snprintf(word, FC_WORD, "%s", special_word(d));
    double v = fabs(value);
    char *end = v != 0 && (v >= 1e16 || v < 1e-4)
                    ? put_scientific(word, d, d->count - 1, d->count > 1, exponent_digits(d))
                    : put_positional(word, d, places(d) ? places(d) : 1);
    *end = 0;
    return (size_t)(end - word);
}

/* ---- one width for all ----------------------------------------------------------------------- */

void fc_column_start(fc_column *c, fusec_dtype dtype) {
    *c = (fc_column){.dtype = dtype, .smallest = (double)INFINITY};
}

void fc_column_add(fc_column *c, const fc_array *a, int64_t index, const fc_decimal *d) {
    if (!fc_is_float(c->dtype)) {
        char word[FC_WORD];
        int n = (int)fc_integer_word(a, index, word);
        if (n > c->width) c->width = n;
        if (c->dtype == FUSEC_BOOL) c->width = 5;
        return;
    }
    if (d->kind != FC_DECIMAL_FINITE) {
        c->special = true;
        c->minus_inf |= d->negative;
        return;
    }
    c->finite = true;
    double v = fabs(fc_float_at(a, index));
    if (v == 0) return;
    if (v < c->smallest) c->smallest = v;
    if (v > c->largest) c->largest = v;
}

void fc_column_choose(fc_column *c) {
    if (c->largest == 0) return;
    /* The ratio is rounded to the dtype, as NumPy does. */
    double ratio = c->largest / c->smallest;
    if (c->dtype == FUSEC_F32) ratio = (double)((float)c->largest / (float)c->smallest);
    if (c->dtype == FUSEC_F16) ratio = (double)fc_half_to_float(fc_double_to_half(ratio));
    c->scientific = c->largest >= 1e8 || c->smallest < 1e-4 || ratio > 1000;
}

static void at_least(int *v, int n) {
    if (*v < n) *v = n;
}

void fc_column_fit(fc_column *c, const fc_decimal *d) {
    if (d->kind != FC_DECIMAL_FINITE) return;
    at_least(&c->left, d->negative + (c->scientific ? 1 : whole_digits(d)));
    at_least(&c->places, c->scientific ? d->count - 1 : places(d));
    at_least(&c->exponent, exponent_digits(d));
}

void fc_column_end(fc_column *c) {
    if (!fc_is_float(c->dtype)) return;
    c->right = c->scientific ? c->exponent + 2 + c->places : c->places;
    if (c->special) at_least(&c->left, 3 + c->minus_inf - c->right - 1);
}

size_t fc_column_word(const fc_column *c, const fc_array *a, int64_t index, const fc_decimal *d,
                      char word[FC_WORD]) {
    char text[FC_WORD];
    size_t n, before;
    if (!fc_is_float(c->dtype)) {
        n = fc_integer_word(a, index, text);
        before = (size_t)c->width - n;
    } else if (d->kind != FC_DECIMAL_FINITE) {
        n = (size_t)snprintf(text, sizeof text, "%s", special_word(d));
        before = (size_t)(c->left + c->right + 1) - n;
    } else {
        int whole = whole_digits(d);
        fc_decimal full =
            with_digits(*d, fc_float_at(a, index), c->scientific ? c->places + 1 : whole);
        char *end = c->scientific ? put_scientific(text, &full, c->places, true, c->exponent)
                                  : put_positional(text, &full, places(d));
        n = (size_t)(end - text);
        before = (size_t)(c->left - d->negative - (c->scientific ? 1 : whole_digits(d)));
    }
    memset(word, ' ', before);
    memcpy(word + before, text, n);
    n += before;
    /* Numbers without an exponent are padded behind, so that their points stand below
     * each other. */
    if (fc_is_float(c->dtype)) {
        size_t whole = (size_t)(c->left + c->right + 1);
        while (n < whole) word[n++] = ' ';
    }
    word[n] = 0;
    return n;
}
