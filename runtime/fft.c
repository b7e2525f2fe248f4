/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft.c - plans of transforms and how they walk through memory; see fft.h. What happens to a line
 * is in fft_passes.h. */
#include "runtime/fft.h"

#include <math.h>

#include "runtime/fft_lines.h"
#include "runtime/fft_real.h"

enum {
    SHORT = 1 << 20, /* bytes of a group of lines that is done in one sweep: half a level-2 cache */
    MIDDLE = 1 << 21, /* elements of a matrix that one thread does alone if there are several */
    TABLE = 1 << 17,  /* elements of a matrix whose roots stand in a table */
    MATRIX = 1 << 8   /* shorter lines than this are not cut, however few they are */
};

struct fc_fft {
    const fc_alloc *alloc;
    fusec_dtype t, part;
    int64_t n;
    fc_fft_line line;    /* the whole length; or the rows of the matrix (n2) */
    fc_fft_line columns; /* n1 of n = n1 n2; n 0: not cut */
    fc_fft_roots roots;  /* of n, for the matrix */
    fc_fft_real *real;   /* of real lines: all there is */
    struct fc_fft *conv; /* Bluestein: the transform of the convolution */
    double *chirp;       /* exp(-pi i k^2 / n) */
    void *filter;        /* the transform of its conjugate, over its length */
    fc_fft_lines_fn *fn;
};

/* ---- roots of one ---------------------------------------------------------------------------- */

/* exp(-2 pi i k / n), 0 <= k < n, by the eighth of the circle in which it lies. */
static void exact_root(int64_t k, int64_t n, double z[2]) {
    const double full = 6.283185307179586476925286766559;
    int64_t e = 8 * k; /* in units of 2 pi / 8n */
    const int64_t octant = e / n;
    e -= octant * n;
    const bool back = octant & 1;
    const double a = full * (double)(back ? n - e : e) / (8.0 * (double)n);
    const double c = cos(a), s = sin(a);
    const double x[8] = {c, s, -s, -c, -c, -s, s, c}, y[8] = {s, c, c, s, -s, -c, -c, -s};
    z[0] = x[octant];
    z[1] = -y[octant];
}

void fc_fft_root(const fc_fft_roots *r, int64_t k, double z[2]) {
    const double *a = r->low + 2 * (k % r->step), *b = r->high + 2 * (k / r->step);
    z[0] = a[0] * b[0] - a[1] * b[1];
    z[1] = a[0] * b[1] + a[1] * b[0];
}

bool fc_fft_make_roots(const fc_alloc *alloc, int64_t n, fc_fft_roots *r) {
    r->n = n;
    r->step = 1;
    while (r->step * r->step < n) r->step *= 2;
    const int64_t high = (n - 1) / r->step + 1;
    r->low = fc_malloc(alloc, (size_t)(r->step + high) * 2 * sizeof *r->low);
    if (!r->low) return false;
    r->high = r->low + 2 * r->step;
    for (int64_t k = 0; k < r->step; k++) exact_root(k < n ? k : 0, n, r->low + 2 * k);
    for (int64_t k = 0; k < high; k++) exact_root(k * r->step, n, r->high + 2 * k);
    return true;
}

static void put(fusec_dtype part, void *table, int64_t i, const double z[2]) {
    if (part == FUSEC_F64) {
        ((double *)table)[2 * i] = z[0];
        ((double *)table)[2 * i + 1] = z[1];
    } else {
        ((float *)table)[2 * i] = (float)z[0];
        ((float *)table)[2 * i + 1] = (float)z[1];
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The prime factors, fours for pairs of twos; false: one is too large for a pass. */
static bool factors(int64_t n, fc_fft_line *l) {
    l->n = n;
    l->nfactors = 0;
    while (n % 4 == 0) l->factor[l->nfactors++] = 4, n /= 4;
    for (int64_t r = 2; r <= FC_FFT_MOST_RADIX; r++)
        while (n % r == 0) l->factor[l->nfactors++] = (uint8_t)r, n /= r;
    return n == 1;
}

static bool make_line(const fc_alloc *alloc, fusec_dtype part, fc_fft_line *l) {
    const size_t pair = 2 * (size_t)fc_dtypes[part].bytes;
    int64_t s = 1, count = 0;
    size_t nroots = 0;
    for (unsigned k = 0; k < l->nfactors; s *= l->factor[k++]) {
        count += (l->factor[k] - 1) * (l->n / (s * l->factor[k]));
        l->root_at[k] = (uint16_t)nroots;
        nroots += l->factor[k];
    }
    l->twiddles = fc_malloc(alloc, ((size_t)count + 1) * pair);
    l->roots = fc_malloc(alloc, (nroots + 1) * pair);
    if (!l->twiddles || !l->roots) return false;
    double z[2];
    int64_t at = 0;
    s = 1;
    for (unsigned k = 0; k < l->nfactors; k++) {
        const int64_t r = l->factor[k], m = l->n / (s * r);
        for (int64_t p = 0; p < m; p++)
            for (int64_t j = 1; j < r; j++) {
                exact_root(p * j % (m * r), m * r, z);
                put(part, l->twiddles, at++, z);
            }
        for (int64_t j = 0; j < r; j++) {
            exact_root(j, r, z);
            put(part, l->roots, l->root_at[k] + j, z);
        }
        s *= r;
    }
    return true;
}

static void free_line(const fc_alloc *alloc, fc_fft_line *l) {
    fc_free(alloc, l->twiddles);
    fc_free(alloc, l->roots);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static size_t work_bytes(const fc_fft *p, int64_t n) {
    return 4 * (size_t)n * (size_t)fc_fft_lanes(p->part) * fc_dtypes[p->part].bytes;
}

/* The factor nearest to the square root that is made of passes. */
static int64_t cut(const fc_fft_line *whole) {
    int64_t best = 1;
    for (int64_t d = 2; d * d <= whole->n; d++)
        if (whole->n % d == 0) best = d;
    return best;
}

/* Lines beyond the last are there to be read. */
static bool make_table(fc_fft *p, int64_t rows, int64_t columns) {
    const int64_t lanes = fc_fft_lanes(p->part), across = (columns + lanes - 1) / lanes * lanes;
    p->roots.table = fc_calloc(p->alloc, (size_t)(rows * across), fc_dtypes[p->t].bytes);
    p->roots.across = across;
    for (int64_t k = 0; p->roots.table && k < rows; k++)
        for (int64_t l = 0; l < columns; l++) {
            double z[2];
            exact_root(k * l, p->n, z);
            put(p->part, p->roots.table, k * across + l, z);
        }
    return p->roots.table != NULL;
}

static bool make_matrix(fc_fft *p) {
    const int64_t n1 = cut(&p->line), n2 = p->n / n1;
    if (n1 < 4) return make_line(p->alloc, p->part, &p->line);
    factors(n1, &p->columns);
    factors(n2, &p->line);
    return fc_fft_make_roots(p->alloc, p->n, &p->roots) &&
           (p->n > TABLE || make_table(p, n1, n2)) && make_line(p->alloc, p->part, &p->columns) &&
           make_line(p->alloc, p->part, &p->line);
}

static fusec_status at_once(void *user, int64_t units, fc_fft_body *body, void *arg, fc_error *e) {
    (void)user;
    return body(arg, 0, units, e);
}

const fc_fft_runner fc_fft_at_once = {at_once, NULL};

/* x[k] chirp[k] convolved with the conjugate of the chirp, times the chirp. */
static fusec_status make_bluestein(fc_fft *p, fc_error *e) {
    int64_t m = 1;
    const size_t pair = fc_dtypes[p->t].bytes;
    while (m < 2 * p->n - 1) m *= 2;
    FC_TRY(fc_fft_new(p->alloc, p->t, m, false, &p->conv, e));
    p->chirp = fc_malloc(p->alloc, (size_t)p->n * 2 * sizeof *p->chirp);
    p->filter = fc_malloc(p->alloc, (size_t)m * pair);
    void *b = fc_calloc(p->alloc, (size_t)m, pair);
    fusec_status s = p->chirp && p->filter && b ? FUSEC_OK : fc_oom(e);
    for (int64_t k = 0, square = 0; !s && k < p->n; k++) { /* k^2 modulo 2n */
        double z[2];
        exact_root(square, 2 * p->n, p->chirp + 2 * k);
        z[0] = p->chirp[2 * k] / (double)m; /* the inverse transform is not divided */
        z[1] = -p->chirp[2 * k + 1] / (double)m;
        put(p->part, b, k, z);
        if (k) put(p->part, b, m - k, z);
        square = (square + 2 * k + 1) % (2 * p->n);
    }
    if (!s) s = fc_fft_run(p->conv, false, 1, b, p->filter, NULL, &fc_fft_at_once, e);
    fc_free(p->alloc, b);
    return s;
}

fusec_status fc_fft_new(const fc_alloc *alloc, fusec_dtype t, int64_t n, bool real, fc_fft **out,
                        fc_error *e) {
    *out = NULL;
    if (n < 1 || n > INT64_C(1) << 40)
        return fc_fail(e, FUSEC_LIMIT, "a transform of %lld elements", (long long)n);
    fc_fft *p = fc_calloc(alloc, 1, sizeof *p);
    if (!p) return fc_oom(e);
    p->alloc = alloc;
    p->t = t;
    p->part = fc_part_dtype(t);
    p->n = n;
    p->fn = fc_fft_lines_of(p->part);
    fusec_status s;
    if (real)
        s = fc_fft_real_new(alloc, t, n, &p->real, e);
    else if (!factors(n, &p->line))
        s = make_bluestein(p, e);
    else if (n >= MATRIX && work_bytes(p, n) > SHORT)
        s = make_matrix(p) ? FUSEC_OK : fc_oom(e);
    else
        s = make_line(alloc, p->part, &p->line) ? FUSEC_OK : fc_oom(e);
    if (s) {
        fc_fft_free(p);
        return s;
    }
    *out = p;
    return FUSEC_OK;
}

void fc_fft_free(fc_fft *p) {
    if (!p) return;
    free_line(p->alloc, &p->line);
    free_line(p->alloc, &p->columns);
    fc_free(p->alloc, p->roots.low);
    fc_free(p->alloc, p->roots.table);
    fc_fft_free(p->conv);
    fc_fft_real_free(p->real);
    fc_free(p->alloc, p->chirp);
    fc_free(p->alloc, p->filter);
    fc_free(p->alloc, p);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Groups of lines: what they are made by, and where the next group begins. */
typedef struct sweep {
    const fc_fft *p;
    const fc_fft_line *line;
    fc_fft_lines lines; /* of the first group */
    int64_t count;
    const char *in;
    char *out;
} sweep;

static fusec_status run_groups(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const sweep *s = arg;
    const int64_t lanes = fc_fft_lanes(s->p->part);
    const int64_t pair = fc_dtypes[s->p->t].bytes;
    void *work = fc_malloc(s->p->alloc, work_bytes(s->p, s->line->n));
    if (!work) return fc_oom(e);
    for (int64_t k = begin; k < end; k++) {
        fc_fft_lines j = s->lines;
        const int64_t first = k * lanes;
        j.first = first;
        j.have = s->count - first < lanes ? s->count - first : lanes;
        s->p->fn(s->line, &j, s->in + first * j.in_across * pair,
                 s->out + first * j.out_across * pair, work);
    }
    fc_free(s->p->alloc, work);
    return FUSEC_OK;
}

static fusec_status run_sweep(sweep *s, const fc_fft_runner *r, fc_error *e) {
    const int64_t groups = (s->count - 1) / fc_fft_lanes(s->p->part) + 1;
    return r->run(r->user, groups, run_groups, s, e);
}

static fusec_status run_lines(const fc_fft *p, bool inverse, int64_t batch, const void *in,
                              void *out, const fc_fft_runner *r, fc_error *e) {
    sweep s = {.p = p, .line = &p->line, .count = batch, .in = in, .out = out};
    s.lines = (fc_fft_lines){1, p->n, 1, p->n, 0, NULL, 0, inverse};
    return run_sweep(&s, r, e);
}

/* As a matrix of n1 rows and n2 columns, row-major: columns, turned; then rows, whose results go
 * across. */
static fusec_status run_matrix(const fc_fft *p, bool inverse, const void *in, void *middle,
                               void *out, const fc_fft_runner *r, fc_error *e) {
    const int64_t n1 = p->columns.n, n2 = p->line.n;
    sweep a = {.p = p, .line = &p->columns, .count = n2, .in = in, .out = middle};
    a.lines = (fc_fft_lines){n2, 1, n2, 1, 0, &p->roots, 0, inverse};
    sweep b = {.p = p, .line = &p->line, .count = n1, .in = middle, .out = out};
    b.lines = (fc_fft_lines){1, n2, n1, 1, 0, NULL, 0, inverse};
    FC_TRY(run_sweep(&a, r, e));
    return run_sweep(&b, r, e);
}

typedef struct matrices {
    const fc_fft *p;
    bool inverse;
    const char *in;
    char *out;
} matrices;

/* Each in one task, between caches. */
static fusec_status run_matrices(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const matrices *m = arg;
    const size_t bytes = (size_t)m->p->n * fc_dtypes[m->p->t].bytes;
    void *middle = fc_malloc(m->p->alloc, bytes);
    fusec_status s = middle ? FUSEC_OK : fc_oom(e);
    for (int64_t k = begin; !s && k < end; k++)
        s = run_matrix(m->p, m->inverse, m->in + (size_t)k * bytes, middle,
                       m->out + (size_t)k * bytes, &fc_fft_at_once, e);
    fc_free(m->p->alloc, middle);
    return s;
}

/* Long ones one after the other on all threads, with room for one. */
static fusec_status run_long(const fc_fft *p, bool inverse, int64_t batch, const void *in,
                             void *out, void *room, const fc_fft_runner *r, fc_error *e) {
    const size_t bytes = (size_t)p->n * fc_dtypes[p->t].bytes;
    void *own = room ? NULL : fc_malloc(p->alloc, bytes);
    fusec_status s = room || own ? FUSEC_OK : fc_oom(e);
    for (int64_t k = 0; !s && k < batch; k++)
        s = run_matrix(p, inverse, (const char *)in + (size_t)k * bytes, room ? room : own,
                       (char *)out + (size_t)k * bytes, r, e);
    fc_free(p->alloc, own);
    return s;
}

static bool is_long(const fc_fft *p, int64_t batch) {
    return p->columns.n && (batch < 4 || p->n > MIDDLE);
}

size_t fc_fft_room(const fc_fft *p, int64_t batch) {
    if (p->real) return fc_fft_real_room(p->real, batch);
    return is_long(p, batch) ? (size_t)p->n * fc_dtypes[p->t].bytes : 0;
}

/* Lines of `n` elements times the chirp, from lines `n` apart to lines `far` apart, or back from
 * these; `turn`: with the parts exchanged on the side of the dense lines. And a line times another
 * one. */
#define CHIRPS(REAL, spread, gather, filter)                                                       \
    static void spread(const double *w, int64_t n, bool turn, const REAL *x, REAL *to) {           \
        for (int64_t k = 0; k < n; k++) {                                                          \
            const double a = x[2 * k + turn], b = x[2 * k + !turn];                                \
            to[2 * k] = (REAL)(a * w[2 * k] - b * w[2 * k + 1]);                                   \
            to[2 * k + 1] = (REAL)(a * w[2 * k + 1] + b * w[2 * k]);                               \
        }                                                                                          \
    }                                                                                              \
    static void gather(const double *w, int64_t n, bool turn, const REAL *from, REAL *y) {         \
        for (int64_t k = 0; k < n; k++) {                                                          \
            const double a = from[2 * k], b = from[2 * k + 1];                                     \
            y[2 * k + turn] = (REAL)(a * w[2 * k] - b * w[2 * k + 1]);                             \
            y[2 * k + !turn] = (REAL)(a * w[2 * k + 1] + b * w[2 * k]);                            \
        }                                                                                          \
    }                                                                                              \
    static void filter(int64_t m, const REAL *w, REAL *z) {                                        \
        for (int64_t k = 0; k < m; k++) {                                                          \
            const double a = z[2 * k], b = z[2 * k + 1], c = w[2 * k], d = w[2 * k + 1];           \
            z[2 * k] = (REAL)(a * c - b * d);                                                      \
            z[2 * k + 1] = (REAL)(a * d + b * c);                                                  \
        }                                                                                          \
    }
CHIRPS(float, spread_f32, gather_f32, filter_f32)
CHIRPS(double, spread_f64, gather_f64, filter_f64)

typedef struct chirps {
    const fc_fft *p;
    bool inverse;
    int64_t group, count;
    const char *in;
    char *out;
} chirps;

/* `count` lines from `first` on; the inverse is the transform with the parts exchanged, before and
 * after. `a` and `b` hold them at the length of the convolution. */
static fusec_status run_bluestein(const chirps *c, int64_t first, int64_t count, char *a, char *b,
                                  fc_error *e) {
    const fc_fft *p = c->p;
    const int64_t m = p->conv->n;
    const size_t pair = fc_dtypes[p->t].bytes, line = (size_t)p->n * pair, far = (size_t)m * pair;
    const bool wide = p->part == FUSEC_F64;
    for (int64_t i = 0; i < count; i++) {
        const char *x = c->in + (size_t)(first + i) * line;
        char *to = a + (size_t)i * far;
        if (wide)
            spread_f64(p->chirp, p->n, c->inverse, (const double *)x, (double *)to);
        else
            spread_f32(p->chirp, p->n, c->inverse, (const float *)x, (float *)to);
        memset(to + line, 0, far - line);
    }
    FC_TRY(fc_fft_run(p->conv, false, count, a, b, NULL, &fc_fft_at_once, e));
    for (int64_t i = 0; i < count; i++) {
        char *z = b + (size_t)i * far;
        if (wide)
            filter_f64(m, p->filter, (double *)z);
        else
            filter_f32(m, p->filter, (float *)z);
    }
    FC_TRY(fc_fft_run(p->conv, true, count, b, a, NULL, &fc_fft_at_once, e));
    for (int64_t i = 0; i < count; i++) {
        const char *from = a + (size_t)i * far;
        char *y = c->out + (size_t)(first + i) * line;
        if (wide)
            gather_f64(p->chirp, p->n, c->inverse, (const double *)from, (double *)y);
        else
            gather_f32(p->chirp, p->n, c->inverse, (const float *)from, (float *)y);
    }
    return FUSEC_OK;
}

static fusec_status run_chirps(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const chirps *c = arg;
    const size_t room = (size_t)c->group * (size_t)c->p->conv->n * fc_dtypes[c->p->t].bytes;
    char *work = fc_malloc(c->p->alloc, 2 * room);
    fusec_status s = work ? FUSEC_OK : fc_oom(e);
    for (int64_t k = begin; !s && k < end; k++) {
        const int64_t first = k * c->group, rest = c->count - first;
        s = run_bluestein(c, first, rest < c->group ? rest : c->group, work, work + room, e);
    }
    fc_free(c->p->alloc, work);
    return s;
}

fusec_status fc_fft_run(const fc_fft *p, bool inverse, int64_t batch, const void *in, void *out,
                        void *room, const fc_fft_runner *r, fc_error *e) {
    if (batch < 1) return FUSEC_OK;
    if (p->real) return fc_fft_real_run(p->real, inverse, batch, in, out, room, r, e);
    if (p->conv) {
        const int64_t lanes = fc_fft_lanes(p->part), group = batch < lanes ? batch : lanes;
        chirps c = {p, inverse, p->conv->columns.n ? 1 : group, batch, in, out};
        return r->run(r->user, (batch - 1) / c.group + 1, run_chirps, &c, e);
    }
    if (!p->columns.n) return run_lines(p, inverse, batch, in, out, r, e);
    if (is_long(p, batch)) return run_long(p, inverse, batch, in, out, room, r, e);
    matrices m = {p, inverse, in, out};
    return r->run(r->user, batch, run_matrices, &m, e);
}
