/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print.c - text of arrays: NumPy's layout. The layout of csv and json is in print_data.c.
 *
 * The elements shown are turned into decimals once; a first look over them settles the common
 * width, a second writes them. */
#include "frontend/cli/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "frontend/cli/print_number.h"

typedef struct printer {
    fc_str *out;
    const fc_array *a;
    fc_print_style style;
    bool summary;
    int64_t step[FC_IO_RANK]; /* elements from one index of an axis to the next */
    fc_array parts;           /* of a complex array; else the array itself */
    uint32_t nparts;          /* 2 of complex numbers */
    fc_column column[2];      /* for each part */
    fc_decimal *decimals;     /* of floats, in the order they are shown, part by part */
    size_t next;
} printer;

/* ---- which elements -------------------------------------------------------------------------- */

/* How many indices of an axis are shown; with a gap in the middle, half of them at each end. */
static int64_t shown(const printer *p, int axis, bool *gap) {
    int64_t n = p->a->shape[axis];
    *gap = p->summary && n > 2 * (int64_t)p->style.edge;
    return *gap ? 2 * (int64_t)p->style.edge : n;
}

static int64_t shown_index(const printer *p, int axis, int64_t i) {
    bool gap;
    int64_t n = shown(p, axis, &gap);
    return gap && i >= p->style.edge ? p->a->shape[axis] - n + i : i;
}

static void start(printer *p) {
    int64_t step = 1;
    for (int i = p->a->rank - 1; i >= 0; step *= p->a->shape[i--]) p->step[i] = step;
    p->summary = step > p->style.threshold;
}

/* Steps through everything shown, in order. */
static bool measure(printer *p) {
    int64_t at[FC_IO_RANK] = {0}, count = 1;
    bool gap;
    for (int i = 0; i < p->a->rank; i++) count *= shown(p, i, &gap);
    const uint32_t parts = p->nparts;
    bool floats = fc_is_float(p->parts.dtype);
    if (floats) {
        p->decimals = fc_calloc(p->out->alloc, (size_t)count * parts, sizeof *p->decimals);
        if (!p->decimals) return false;
    }
    for (uint32_t k = 0; k < parts; k++) fc_column_start(&p->column[k], p->parts.dtype);
    for (int64_t n = 0; n < count; n++) {
        int64_t index = 0;
        for (int i = 0; i < p->a->rank; i++) index += shown_index(p, i, at[i]) * p->step[i];
        for (uint32_t k = 0; k < parts; k++) {
            fc_decimal d = {0};
            if (floats) d = fc_decimal_of(&p->parts, index * parts + k);
            fc_column_add(&p->column[k], &p->parts, index * parts + k, &d);
            d.negative |= k > 0; /* always with a sign */
            if (floats) p->decimals[n * parts + k] = d;
        }
        for (int i = p->a->rank - 1; i >= 0 && ++at[i] == shown(p, i, &gap); i--) at[i] = 0;
    }
    for (uint32_t k = 0; k < parts; k++) {
        fc_column_choose(&p->column[k]);
        for (int64_t n = k; floats && n < count * parts; n += parts)
            fc_column_fit(&p->column[k], &p->decimals[n]);
        fc_column_end(&p->column[k]);
    }
    return true;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void spaces(fc_str *out, int n) {
    for (int i = 0; i < n; i++) fc_str_char(out, ' ');
}

static void put(printer *p, const char *word, size_t n, int axis, int *line, bool last) {
    int indent = axis + 1, width = p->style.width - axis - 1;
    if (*line + (int)n > width && *line > indent) {
        fc_str *s = p->out;
        while (s->len && s->data[s->len - 1] == ' ') s->data[--s->len] = 0;
        fc_str_char(s, '\n');
        spaces(s, indent);
        *line = indent;
    }
    fc_str_addn(p->out, word, n);
    if (!last) fc_str_char(p->out, ' ');
    *line += (int)n + !last;
}

/* "1. +2.5j": the real part, the imaginary one with its sign, j where its digits end. */
static size_t complex_word(printer *p, int64_t index, char word[FC_WORD]) {
    char im[FC_WORD];
    const fc_decimal *d = &p->decimals[p->next];
    size_t n = fc_column_word(&p->column[0], &p->parts, 2 * index, d, word);
    size_t more = fc_column_word(&p->column[1], &p->parts, 2 * index + 1, d + 1, im);
    char *sign = strchr(im, '-');
    const bool minus = signbit(fc_float_at(&p->parts, 2 * index + 1)) != 0;
    p->next += 2;
    if (!sign || sign > im + strspn(im, " -")) sign = NULL; /* nan */
    if (sign && !minus) *sign = '+';
    if (d[1].kind == FC_DECIMAL_NAN) {
        const size_t blank = strspn(im, " ");
        if (blank)
            im[blank - 1] = '+';
        else
            memmove(im + 1, im, ++more), im[0] = '+';
    }
    size_t end = more;
    while (end && im[end - 1] == ' ') end--;
    if (n + more + 2 > FC_WORD) return n;
    memcpy(word + n, im, end);
    word[n + end] = 'j';
    memset(word + n + end + 1, ' ', more - end);
    word[n + more + 1] = 0;
    return n + more + 1;
}

static void row(printer *p, int64_t base) {
    int axis = p->a->rank - 1, line = p->a->rank;
    bool gap;
    int64_t n = shown(p, axis, &gap);
    for (int64_t i = 0; i < n; i++) {
        char word[FC_WORD];
        if (gap && i == p->style.edge) put(p, "...", 3, axis, &line, false);
        const int64_t index = base + shown_index(p, axis, i);
        const fc_decimal *d = p->decimals && p->nparts == 1 ? &p->decimals[p->next++] : NULL;
        size_t len = p->nparts == 2 ? complex_word(p, index, word)
                                    : fc_column_word(&p->column[0], p->a, index, d, word);
        put(p, word, len, axis, &line, i == n - 1);
    }
}

/* The rank is at most 32, and so is the depth. */
static void block(printer *p, int axis, int64_t base) {
    fc_str_char(p->out, '[');
    if (axis == p->a->rank - 1) {
        row(p, base);
    } else {
        bool gap;
        int64_t n = shown(p, axis, &gap);
        for (int64_t i = 0; i < n; i++) {
            bool dots = gap && i == p->style.edge;
            for (int again = 0; again <= dots; again++) {
                if (i) {
                    for (int k = axis; k < p->a->rank - 1; k++) fc_str_char(p->out, '\n');
                    spaces(p->out, axis + 1);
                }
                if (again < dots) fc_str_add(p->out, "...");
            }
            block(p, axis + 1, base + shown_index(p, axis, i) * p->step[axis]);
        }
    }
    fc_str_char(p->out, ']');
}

void fc_print_text(fc_str *out, const fc_array *a, fc_print_style style) {
    printer p = {.out = out, .a = a, .style = style, .parts = *a, .nparts = 1};
    if (fc_is_complex(a->dtype)) p.parts = fc_array_parts(a), p.nparts = 2;
    for (int i = 0; i < a->rank; i++) {
        if (a->shape[i] == 0) {
            fc_str_add(out, "[]");
            return;
        }
    }
    if (a->rank == 0) {
        fc_print_element(out, a, 0);
        return;
    }
    start(&p);
    if (measure(&p))
        block(&p, 0, 0);
    else
        out->oom = true;
    fc_free(out->alloc, p.decimals);
}
