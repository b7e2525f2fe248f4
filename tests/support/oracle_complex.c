/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_complex.c - complex numbers: the parts of an element stand side by side, so an array has
 * twice as many values as elements. Fourier transforms by their definition, in long double, with
 * what docs/semantics.md allows them: a few eps log2(n) of the root mean square of all elements. */
#include <math.h>
#include <stdlib.h>

#include "ir/fft.h"
#include "tests/support/oracle.h"

static const fc_oval *value_of(const fc_oarray *a, int64_t i) {
    return &a->at[a->rank ? i : 0];
}

void fc_o_pair(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    fc_oarray *to = &o->node[id];
    for (int64_t i = 0; i < to->count; i++) to->at[i] = *value_of(&o->node[n->src[i % 2]], i / 2);
}

void fc_o_part(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_oarray *from = &o->node[n->src[0]];
    fc_oarray *to = &o->node[id];
    for (int64_t i = 0; i < to->count; i++) to->at[i] = from->at[2 * i + (n->attr != 0)];
}

/* ---- transforms --------------------------------------------------------------------------------
 */

typedef struct line {
    fc_oval *x; /* n pairs */
    int64_t n;
    bool known;         /* all of it is finite */
    long double wide;   /* the sum of what is open in its elements */
    long double square; /* of all elements */
} line;

static void middle(const fc_oval *x, long double *v, long double *half) {
    *v = x->r.exact ? (long double)x->r.lo : ((long double)x->r.lo + (long double)x->r.hi) / 2;
    *half = x->r.exact ? 0 : ((long double)x->r.hi - (long double)x->r.lo) / 2;
}

static line look(fc_oval *x, int64_t n) {
    line l = {.x = x, .n = n, .known = true};
    for (int64_t i = 0; i < 2 * n; i++) {
        long double v, half;
        const bool exact_nan = x[i].r.exact && !isfinite(x[i].r.lo);
        if (exact_nan || (!x[i].r.exact && (x[i].r.nan || !isfinite(x[i].r.lo + x[i].r.hi)))) {
            l.known = false;
            return l;
        }
        middle(&x[i], &v, &half);
        l.wide += half;
        l.square += v * v;
    }
    return l;
}

static fc_oval within(fusec_dtype t, long double v, long double off) {
    const double far = t == FUSEC_F32 ? 0x1p-20 : 0x1p-49; /* the ends are rounded, too */
    const double lo = (double)(v - off), hi = (double)(v + off);
    fc_interval r = {.lo = lo - fabs(lo) * far, .hi = hi + fabs(hi) * far};
    const double most = t == FUSEC_F32 ? 3.4028234663852886e38 : 1.7976931348623157e308;
    if (fabs(r.lo) > most || fabs(r.hi) > most) r = fc_o_anything(false);
    return (fc_oval){.r = r};
}

static void transform(const line *l, fusec_dtype t, bool inverse, fc_oval *to) {
    const long double pi = acosl(-1), turn = (inverse ? 2 : -2) * pi / (long double)l->n;
    const long double eps = t == FUSEC_F32 ? 0x1p-24L : 0x1p-53L;
    const long double many = 8 * (2 + log2l((long double)l->n));
    for (int64_t k = 0; k < l->n; k++) {
        long double re = 0, im = 0;
        for (int64_t j = 0; l->known && j < l->n; j++) {
            long double x, y, half;
            const long double c = cosl(turn * (long double)(j * k % l->n)),
                              s = sinl(turn * (long double)(j * k % l->n));
            middle(&l->x[2 * j], &x, &half);
            middle(&l->x[2 * j + 1], &y, &half);
            re += x * c - y * s;
            im += x * s + y * c;
        }
        const long double off = 2 * l->wide + many * eps * (sqrtl(l->square) + l->wide);
        to[2 * k] = within(t, re, off);
        to[2 * k + 1] = within(t, im, off);
        if (!l->known) to[2 * k].r = to[2 * k + 1].r = fc_o_anything(true);
    }
}

static fc_oval negative(fc_oval v) {
    const fc_interval r = v.r;
    v.r.lo = r.exact ? -r.lo : -r.hi;
    v.r.hi = r.exact ? -r.hi : -r.lo;
    return v;
}

/* A line as pairs: as it is, of reals, or of elements 0 to n/2 whose ends are real. */
static void spread(fc_fft_kind kind, const fc_oval *from, int64_t n, fc_oval *x) {
    const fc_oval zero = {.r = {.exact = true}};
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = 2 * i <= n ? i : n - i;
        const bool real = kind == FC_FFT_REAL || (kind == FC_FFT_INVERSE_REAL && 2 * at % n == 0);
        x[2 * i] = kind == FC_FFT_REAL ? from[i] : from[2 * (kind == FC_FFT_INVERSE_REAL ? at : i)];
        x[2 * i + 1] = real                          ? zero
                       : kind != FC_FFT_INVERSE_REAL ? from[2 * i + 1]
                       : at == i                     ? from[2 * at + 1]
                                                     : negative(from[2 * at + 1]);
    }
}

void fc_o_transform(fc_oracle *o, fc_node id) {
    const fc_ninfo *step = fc_at(o->g, fc_at(o->g, id)->src[0]);
    const fc_fft_kind kind = (fc_fft_kind)step->attr;
    const fc_oarray *from = &o->node[fc_at(o->g, step->src[0])->src[0]];
    fc_oarray *to = &o->node[id];
    const int64_t last = from->shape[from->rank - 1], length = to->shape[to->rank - 1];
    const int64_t n = kind == FC_FFT_INVERSE_REAL ? length : last;
    const int64_t in = kind == FC_FFT_REAL ? last : 2 * last;
    const int64_t out = kind == FC_FFT_INVERSE_REAL ? length : 2 * length;
    const fusec_dtype t = to->dtype == FUSEC_C64 || to->dtype == FUSEC_F32 ? FUSEC_F32 : FUSEC_F64;
    fc_oval *x = malloc((size_t)(2 * n + 1) * sizeof *x),
            *y = malloc((size_t)(2 * n + 1) * sizeof *y);
    for (int64_t i = 0; x && y && n && out && i < to->count / out; i++) {
        spread(kind, from->at + i * in, n, x);
        const line l = look(x, n);
        transform(&l, t, fc_fft_is_inverse(kind), y);
        for (int64_t k = 0; k < out; k++)
            to->at[i * out + k] = y[kind == FC_FFT_INVERSE_REAL ? 2 * k : k];
    }
    free(x);
    free(y);
}
