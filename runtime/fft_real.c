/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft_real.c - see fft_real.h.
 *
 * A line of n = 2m reals is m complex numbers z[j] = x[2j] + i x[2j + 1], whose transform Z holds
 * the transforms of the even elements, E, and of the odd ones, O:
 *
 *     E[k] = (Z[k] + conj(Z[m - k])) / 2      O[k] = (Z[k] - conj(Z[m - k])) / 2i
 *     X[k] = E[k] + w^k O[k]                  X[m - k] = conj(E[k] - w^k O[k])      w = exp(-2 pi i
 * / n)
 *
 * (Cooley, Lewis, Welch: The Fast Fourier Transform Algorithm, J. Sound Vib. 12 (1970)). The way
 * back undoes this first. Lines of odd length are transformed as complex ones. */
#include "runtime/fft_real.h"

#include <string.h>

#include "runtime/fft_lines.h"

enum {
    GROUP = 1 << 18, /* bytes of the lines that a task does at once: they stay in a level-2 cache */
    ALONE = 1 << 21, /* elements of a line for which all threads work together, if there are few */
    TABLE = 1 << 18, /* shorter lines have a table of roots */
    BLOCK = 1 << 12  /* roots that are made at once for others */
};

struct fc_fft_real {
    const fc_alloc *alloc;
    fusec_dtype t, part;
    int64_t n;
    fc_fft *inner; /* of n/2, of n where it is odd */
    fc_fft_roots roots;
    double *table; /* roots 1 to n/4, or NULL */
};

static bool is_odd(const fc_fft_real *p) {
    return p->n & 1;
}

static bool make_table(fc_fft_real *p) {
    const int64_t count = p->n / 4;
    if (p->n > TABLE) return true;
    p->table = fc_malloc(p->alloc, (size_t)(count + 1) * 2 * sizeof *p->table);
    for (int64_t k = 0; p->table && k < count; k++) fc_fft_root(&p->roots, k + 1, p->table + 2 * k);
    return p->table != NULL;
}

fusec_status fc_fft_real_new(const fc_alloc *alloc, fusec_dtype t, int64_t n, fc_fft_real **out,
                             fc_error *e) {
    fc_fft_real *p = fc_calloc(alloc, 1, sizeof *p);
    *out = NULL;
    if (!p) return fc_oom(e);
    p->alloc = alloc;
    p->t = t;
    p->part = fc_part_dtype(t);
    p->n = n;
    fusec_status s = fc_fft_new(alloc, t, is_odd(p) ? n : n / 2, false, &p->inner, e);
    if (!s && !is_odd(p) && !(fc_fft_make_roots(alloc, n, &p->roots) && make_table(p)))
        s = fc_oom(e);
    if (s)
        fc_fft_real_free(p);
    else
        *out = p;
    return s;
}

void fc_fft_real_free(fc_fft_real *p) {
    if (!p) return;
    fc_fft_free(p->inner);
    fc_free(p->alloc, p->roots.low);
    fc_free(p->alloc, p->table);
    fc_free(p->alloc, p);
}

/* ---- between the halves and the line ---------------------------------------------------------
 * Elements k and m - k of two lines, for begin <= k < end, 1 <= k <= m/2. `w` holds the roots. */

#define HALVES(REAL, join, split)                                                                  \
    static void join(const REAL *z, REAL *x, int64_t m, int64_t begin, int64_t end,                \
                     const double *w) {                                                            \
        const REAL *restrict up = z + 2 * begin, *restrict down = z + 2 * (m - begin);             \
        REAL *restrict left = x + 2 * begin, *restrict right = x + 2 * (m - begin);                \
        for (int64_t k = 0; k < end - begin; k++) {                                                \
            const REAL c = (REAL)w[2 * k], s = (REAL)w[2 * k + 1];                                 \
            const REAL a = up[2 * k], b = up[2 * k + 1], f = down[-2 * k], g = down[1 - 2 * k];    \
            const REAL er = (a + f) / 2, ei = (b - g) / 2, dr = (b + g) / 2, di = (f - a) / 2;     \
            const REAL or = dr * c - di * s, oi = dr * s + di * c;                                 \
            left[2 * k] = er + or ;                                                                \
            left[2 * k + 1] = ei + oi;                                                             \
            right[-2 * k] = er - or ;                                                              \
            right[1 - 2 * k] = oi - ei;                                                            \
        }                                                                                          \
    }                                                                                              \
    static void split(const REAL *x, REAL *z, int64_t m, int64_t begin, int64_t end,               \
                      const double *w) {                                                           \
        const REAL *restrict up = x + 2 * begin, *restrict down = x + 2 * (m - begin);             \
        REAL *restrict left = z + 2 * begin, *restrict right = z + 2 * (m - begin);                \
        for (int64_t k = 0; k < end - begin; k++) {                                                \
            const REAL c = (REAL)w[2 * k], s = (REAL)w[2 * k + 1];                                 \
            const REAL a = up[2 * k], b = up[2 * k + 1], f = down[-2 * k], g = down[1 - 2 * k];    \
            const REAL er = a + f, ei = b - g, dr = a - f, di = b + g;                             \
            const REAL or = dr * c + di * s, oi = di * c - dr * s;                                 \
            left[2 * k] = er - oi;                                                                 \
            left[2 * k + 1] = ei + or ;                                                            \
            right[-2 * k] = er + oi;                                                               \
            right[1 - 2 * k] = or -ei;                                                             \
        }                                                                                          \
    }
HALVES(float, join_f32, split_f32)
HALVES(double, join_f64, split_f64)

static void turn(const fc_fft_real *p, bool inverse, const void *from, void *to, int64_t begin,
                 int64_t end, const double *w) {
    const int64_t m = p->n / 2;
    if (p->part == FUSEC_F32)
        (inverse ? split_f32 : join_f32)(from, to, m, begin, end, w);
    else
        (inverse ? split_f64 : join_f64)(from, to, m, begin, end, w);
}

static void run_halves(const fc_fft_real *p, bool inverse, const void *from, void *to,
                       int64_t begin, int64_t end) {
    double w[2 * BLOCK];
    if (p->table) {
        turn(p, inverse, from, to, begin, end, p->table + 2 * (begin - 1));
        return;
    }
    for (int64_t stop; begin < end; begin = stop) {
        stop = begin + BLOCK < end ? begin + BLOCK : end;
        for (int64_t k = begin; k < stop; k++) fc_fft_root(&p->roots, k, w + 2 * (k - begin));
        turn(p, inverse, from, to, begin, stop, w);
    }
}

static double get(fusec_dtype t, const void *a, int64_t i) {
    return t == FUSEC_F32 ? (double)((const float *)a)[i] : ((const double *)a)[i];
}

static void put(fusec_dtype t, void *a, int64_t i, double v) {
    if (t == FUSEC_F32)
        ((float *)a)[i] = (float)v;
    else
        ((double *)a)[i] = v;
}

/* Elements 0 and m, which are real. Sums are rounded once: doubles of floats are exact enough. */
static void run_ends(const fc_fft_real *p, bool inverse, const void *from, void *to) {
    const int64_t m = p->n / 2;
    const double a = get(p->part, from, 0), b = get(p->part, from, inverse ? 2 * m : 1);
    put(p->part, to, 0, a + b);
    put(p->part, to, inverse ? 1 : 2 * m, a - b);
    if (inverse) return;
    put(p->part, to, 1, 0);
    put(p->part, to, 2 * m + 1, 0);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t pair_bytes(const fc_fft_real *p) {
    return fc_dtypes[p->t].bytes;
}

static size_t half_bytes(const fc_fft_real *p) { /* of the complex side */
    return (size_t)(p->n / 2 + 1) * pair_bytes(p);
}

static size_t line_bytes(const fc_fft_real *p) { /* of the real side */
    return (size_t)p->n * fc_dtypes[p->part].bytes;
}

typedef struct lines {
    const fc_fft_real *p;
    bool inverse;
    int64_t group, count;
    const char *in;
    char *out;
} lines;

static void halves(const fc_fft_real *p, bool inverse, const void *from, void *to) {
    run_ends(p, inverse, from, to);
    run_halves(p, inverse, from, to, 1, p->n / 4 + 1);
}

/* `count` lines of even length; `work` holds as many of n/2 complex numbers. */
static fusec_status even_lines(const lines *l, int64_t first, int64_t count, char *work,
                               fc_error *e) {
    const fc_fft_real *p = l->p;
    const size_t line = line_bytes(p), half = half_bytes(p);
    if (!l->inverse) {
        const char *in = l->in + (size_t)first * line;
        FC_TRY(fc_fft_run(p->inner, false, count, in, work, NULL, &fc_fft_at_once, e));
        for (int64_t i = 0; i < count; i++)
            halves(p, false, work + (size_t)i * line, l->out + (size_t)(first + i) * half);
        return FUSEC_OK;
    }
    for (int64_t i = 0; i < count; i++)
        halves(p, true, l->in + (size_t)(first + i) * half, work + (size_t)i * line);
    return fc_fft_run(p->inner, true, count, work, l->out + (size_t)first * line, NULL,
                      &fc_fft_at_once, e);
}

/* A line of odd length as complex numbers, and what is wanted of such a line. */
static void spread_line(const fc_fft_real *p, bool inverse, const void *in, void *z) {
    const fusec_dtype t = p->part;
    for (int64_t k = 0; k < p->n; k++) {
        const int64_t at = 2 * k <= p->n ? k : p->n - k;
        const double im = inverse && k ? get(t, in, 2 * at + 1) : 0;
        put(t, z, 2 * k, get(t, in, inverse ? 2 * at : k));
        put(t, z, 2 * k + 1, at == k ? im : -im);
    }
}

static void gather_line(const fc_fft_real *p, bool inverse, const void *z, void *out) {
    if (inverse) {
        for (int64_t k = 0; k < p->n; k++) put(p->part, out, k, get(p->part, z, 2 * k));
        return;
    }
    memcpy(out, z, half_bytes(p));
    put(p->part, out, 1, 0); /* without what rounding left there */
}

/* `work` holds twice as many lines of complex numbers. */
static fusec_status odd_lines(const lines *l, int64_t first, int64_t count, char *work,
                              fc_error *e) {
    const fc_fft_real *p = l->p;
    const size_t whole = 2 * line_bytes(p), half = half_bytes(p);
    const size_t in = l->inverse ? half : line_bytes(p), out = l->inverse ? line_bytes(p) : half;
    char *done = work + (size_t)count * whole;
    for (int64_t i = 0; i < count; i++)
        spread_line(p, l->inverse, l->in + (size_t)(first + i) * in, work + (size_t)i * whole);
    FC_TRY(fc_fft_run(p->inner, l->inverse, count, work, done, NULL, &fc_fft_at_once, e));
    for (int64_t i = 0; i < count; i++)
        gather_line(p, l->inverse, done + (size_t)i * whole, l->out + (size_t)(first + i) * out);
    return FUSEC_OK;
}

static fusec_status run_groups(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const lines *l = arg;
    const bool odd = is_odd(l->p);
    char *work = fc_malloc(l->p->alloc, (odd ? 4 : 1) * (size_t)l->group * line_bytes(l->p));
    fusec_status s = work ? FUSEC_OK : fc_oom(e);
    for (int64_t k = begin; !s && k < end; k++) {
        const int64_t first = k * l->group, rest = l->count - first;
        const int64_t count = rest < l->group ? rest : l->group;
        s = (odd ? odd_lines : even_lines)(l, first, count, work, e);
    }
    fc_free(l->p->alloc, work);
    return s;
}

/* ---- long lines, on all threads -------------------------------------------------------------- */

static bool is_long(const fc_fft_real *p, int64_t batch) {
    return !is_odd(p) && (p->n > ALONE || (batch < 4 && line_bytes(p) > GROUP));
}

typedef struct halving {
    const fc_fft_real *p;
    bool inverse;
    const void *from;
    void *to;
} halving;

static fusec_status run_blocks(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const halving *h = arg;
    const int64_t last = h->p->n / 4 + 1, stop = 1 + end * BLOCK;
    (void)e;
    run_halves(h->p, h->inverse, h->from, h->to, 1 + begin * BLOCK, stop < last ? stop : last);
    return FUSEC_OK;
}

static fusec_status all_halves(const fc_fft_real *p, bool inverse, const void *from, void *to,
                               const fc_fft_runner *r, fc_error *e) {
    halving h = {p, inverse, from, to};
    run_ends(p, inverse, from, to);
    return r->run(r->user, (p->n / 4 + BLOCK - 1) / BLOCK, run_blocks, &h, e);
}

static fusec_status long_line(const lines *l, int64_t i, char *work, const fc_fft_runner *r,
                              fc_error *e) {
    const fc_fft_real *p = l->p;
    const size_t line = line_bytes(p), half = half_bytes(p);
    const char *in = l->in + (size_t)i * (l->inverse ? half : line);
    char *out = l->out + (size_t)i * (l->inverse ? line : half), *room = work + line;
    if (l->inverse) {
        FC_TRY(all_halves(p, true, in, work, r, e));
        return fc_fft_run(p->inner, true, 1, work, out, room, r, e);
    }
    FC_TRY(fc_fft_run(p->inner, false, 1, in, work, room, r, e));
    return all_halves(p, false, work, out, r, e);
}

size_t fc_fft_real_room(const fc_fft_real *p, int64_t batch) {
    return is_long(p, batch) ? line_bytes(p) + fc_fft_room(p->inner, 1) : 0;
}

fusec_status fc_fft_real_run(const fc_fft_real *p, bool inverse, int64_t batch, const void *in,
                             void *out, void *room, const fc_fft_runner *r, fc_error *e) {
    const int64_t fit = (int64_t)(GROUP / line_bytes(p));
    lines l = {p, inverse, fit < 1 ? 1 : fit > 16 ? 16 : fit, batch, in, out};
    if (!is_long(p, batch)) return r->run(r->user, (batch - 1) / l.group + 1, run_groups, &l, e);
    char *own = room ? NULL : fc_malloc(p->alloc, fc_fft_real_room(p, batch));
    fusec_status s = room || own ? FUSEC_OK : fc_oom(e);
    for (int64_t i = 0; !s && i < batch; i++) s = long_line(&l, i, room ? room : own, r, e);
    fc_free(p->alloc, own);
    return s;
}
