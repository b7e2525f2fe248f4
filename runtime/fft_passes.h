/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft_passes.h - the passes of a Fourier transform on many lines at once; included by fft_lines.c
 * for each dtype and each instruction set, with REAL, LANES, WIDTH, TARGET and FN(name) defined.
 *
 * Stockham's form, which needs no reordering: with s the product of the radices so far and m what
 * is left of the length,
 *
 *     y[q + s (r p + k)] = w_p^k * sum_j x[q + s (p + m j)] W_r^(jk)      w_p = exp(-2 pi i p / (m
 * r))
 *
 * Real and imaginary parts are apart, and LANES lines lie side by side, so the inner loop runs over
 * s * LANES neighbours with one twiddle. */

#define AT(a, i) ((a) + (i)*c)

/* A register of WIDTH numbers: of more the compiler would keep half in memory. */
typedef REAL FN(vector)
    __attribute__((vector_size(WIDTH * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
#define VECTOR    FN(vector)
#define GET(a)    (*(const VECTOR *)((a) + i))
#define PUT(a, v) (*(VECTOR *)((a) + i) = (v))

TARGET static inline INLINE void FN(radix2)(int64_t m, int64_t c, const REAL *w, const REAL *xr,
                                            const REAL *xi, REAL *yr, REAL *yi) {
    for (int64_t p = 0; p < m; p++, w += 2) {
        const REAL *ar = AT(xr, p), *ai = AT(xi, p), *br = AT(xr, p + m), *bi = AT(xi, p + m);
        REAL *y0r = AT(yr, 2 * p), *y0i = AT(yi, 2 * p), *y1r = y0r + c, *y1i = y0i + c;
        const REAL wr = w[0], wi = w[1];
        for (int64_t i = 0; i < c; i += WIDTH) {
            const VECTOR a = GET(ar), b = GET(br), e = GET(ai), f = GET(bi);
            const VECTOR dr = a - b, di = e - f;
            PUT(y0r, a + b);
            PUT(y0i, e + f);
            PUT(y1r, dr * wr - di * wi);
            PUT(y1i, dr * wi + di * wr);
        }
    }
}

TARGET static inline INLINE void FN(radix4)(int64_t m, int64_t c, const REAL *w, const REAL *xr,
                                            const REAL *xi, REAL *yr, REAL *yi) {
    for (int64_t p = 0; p < m; p++, w += 6) {
        const REAL *ar = AT(xr, p), *ai = AT(xi, p), *br = AT(xr, p + m), *bi = AT(xi, p + m);
        const REAL *cr = AT(xr, p + 2 * m), *ci = AT(xi, p + 2 * m);
        const REAL *dr = AT(xr, p + 3 * m), *di = AT(xi, p + 3 * m);
        REAL *y0r = AT(yr, 4 * p), *y0i = AT(yi, 4 * p);
        REAL *y1r = y0r + c, *y1i = y0i + c, *y2r = y1r + c, *y2i = y1i + c;
        REAL *y3r = y2r + c, *y3i = y2i + c;
        const REAL w1r = w[0], w1i = w[1], w2r = w[2], w2i = w[3], w3r = w[4], w3i = w[5];
        for (int64_t i = 0; i < c; i += WIDTH) {
            const VECTOR sr = GET(ar) + GET(cr), si = GET(ai) + GET(ci);
            const VECTOR ur = GET(ar) - GET(cr), ui = GET(ai) - GET(ci);
            const VECTOR tr = GET(br) + GET(dr), ti = GET(bi) + GET(di);
            const VECTOR vr = GET(br) - GET(dr), vi = GET(bi) - GET(di);
            /* u - i v and u + i v */
            const VECTOR er = ur + vi, ei = ui - vr, fr = ur - vi, fi = ui + vr;
            const VECTOR gr = sr - tr, gi = si - ti;
            PUT(y0r, sr + tr);
            PUT(y0i, si + ti);
            PUT(y1r, er * w1r - ei * w1i);
            PUT(y1i, er * w1i + ei * w1r);
            PUT(y2r, gr * w2r - gi * w2i);
            PUT(y2i, gr * w2i + gi * w2r);
            PUT(y3r, fr * w3r - fi * w3i);
            PUT(y3i, fr * w3i + fi * w3r);
        }
    }
}

/* Any radix, by its definition; `roots`: W_r^k. */
TARGET static void FN(radix_any)(int64_t r, int64_t m, int64_t c, const REAL *w, const REAL *roots,
                                 const REAL *xr, const REAL *xi, REAL *yr, REAL *yi) {
    for (int64_t p = 0; p < m; p++, w += 2 * (r - 1))
        for (int64_t k = 0; k < r; k++) {
            REAL *zr = AT(yr, r * p + k), *zi = AT(yi, r * p + k);
            const REAL *ar = AT(xr, p), *ai = AT(xi, p);
            const REAL wr = k ? w[2 * k - 2] : 1, wi = k ? w[2 * k - 1] : 0;
            for (int64_t i = 0; i < c; i += WIDTH) {
                VECTOR sr = GET(ar), si = GET(ai);
                for (int64_t j = 1; j < r; j++) {
                    const VECTOR br = GET(AT(xr, p + m * j)), bi = GET(AT(xi, p + m * j));
                    const REAL er = roots[2 * (j * k % r)], ei = roots[2 * (j * k % r) + 1];
                    sr += br * er - bi * ei;
                    si += br * ei + bi * er;
                }
                if (!k) {
                    PUT(zr, sr);
                    PUT(zi, si);
                    continue;
                }
                PUT(zr, sr * wr - si * wi);
                PUT(zi, sr * wi + si * wr);
            }
        }
}

/* LANES lines of n numbers: element i of line l stands at i*by + l*across, numbers of two parts.
 * Lines from `have` on are 0. The parts change places where `swap` holds: so a transform becomes
 * its inverse. */
#if WIDTH == 16 /* pairs of f32 as words of 64 bits, where parts are halves */
typedef uint32_t FN(halves) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef uint64_t FN(words) __attribute__((vector_size(LANES * 8), aligned(4), may_alias));

TARGET static inline INLINE void FN(apart)(const REAL *from, REAL *x, REAL *y) {
    const FN(words) v = *(const FN(words) *)(const void *)from;
    *(FN(halves) *)(void *)x = __builtin_convertvector(v, FN(halves));
    *(FN(halves) *)(void *)y = __builtin_convertvector(v >> 32, FN(halves));
}

TARGET static inline INLINE void FN(together)(REAL *to, const REAL *x, const REAL *y) {
    const FN(words) low = __builtin_convertvector(*(const FN(halves) *)(const void *)x, FN(words));
    const FN(words) high = __builtin_convertvector(*(const FN(halves) *)(const void *)y, FN(words));
    *(FN(words) *)(void *)to = low | high << 32;
}
#else
TARGET static inline INLINE void FN(apart)(const REAL *from, REAL *restrict x, REAL *restrict y) {
    for (int l = 0; l < LANES; l++) x[l] = from[2 * l], y[l] = from[2 * l + 1];
}

TARGET static inline INLINE void FN(together)(REAL *restrict to, const REAL *x, const REAL *y) {
    for (int l = 0; l < LANES; l++) to[2 * l] = x[l], to[2 * l + 1] = y[l];
}
#endif

/* LANES lines of n numbers: element i of line l stands at i*by + l*across, numbers of two parts.
 * Lines from `have` on are 0. The parts change places where `swap` holds: so a transform becomes
 * its inverse. */
TARGET static void FN(load)(int64_t n, int64_t by, int64_t across, int64_t have, bool swap,
                            const REAL *in, REAL *restrict re, REAL *restrict im) {
    REAL *const x = swap ? im : re, *const y = swap ? re : im;
    if (have < LANES) memset(re, 0, (size_t)n * LANES * sizeof *re);
    if (have < LANES) memset(im, 0, (size_t)n * LANES * sizeof *im);
    if (across == 1 && have == LANES) {
        for (int64_t i = 0; i < n; i++) {
            const REAL *from = in + 2 * i * by;
            FN(apart)(from, x + i * LANES, y + i * LANES);
        }
        return;
    }
    REAL block[2 * BLOCK * LANES];
    if (have < LANES) memset(block, 0, sizeof block);
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        for (int64_t l = 0; l < have; l++) {
            const REAL *from = in + 2 * (first * by + l * across);
            for (int64_t i = 0; i < count; i++)
                memcpy(block + 2 * (i * LANES + l), from + 2 * i * by, 2 * sizeof(REAL));
        }
        for (int64_t i = 0; i < count; i++)
            FN(apart)(block + 2 * i * LANES, x + (first + i) * LANES, y + (first + i) * LANES);
    }
}

TARGET static void FN(store)(int64_t n, int64_t by, int64_t across, int64_t have, bool swap,
                             const REAL *restrict re, const REAL *restrict im, REAL *out) {
    const REAL *const x = swap ? im : re, *const y = swap ? re : im;
    if (across == 1 && have == LANES) {
        for (int64_t i = 0; i < n; i++) {
            REAL *to = out + 2 * i * by;
            FN(together)(to, x + i * LANES, y + i * LANES);
        }
        return;
    }
    REAL block[2 * BLOCK * LANES];
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        for (int64_t i = 0; i < count; i++)
            FN(together)(block + 2 * i * LANES, x + (first + i) * LANES, y + (first + i) * LANES);
        for (int64_t l = 0; l < have; l++) {
            REAL *to = out + 2 * (first * by + l * across);
            for (int64_t i = 0; i < count; i++)
                memcpy(to + 2 * i * by, block + 2 * (i * LANES + l), 2 * sizeof(REAL));
        }
    }
}

/* Multiplies element k of line l by exp(-2 pi i k (first + l) / total), as the product of two
 * factors from `root`: steps of 32 and what is between them. */
TARGET static void FN(turn)(const fc_fft_roots *root, int64_t n, int64_t first, int64_t have,
                            REAL *restrict re, REAL *restrict im) {
    if (root->table) {
        for (int64_t k = 0; k < n; k++) {
            REAL *x = re + k * LANES, *y = im + k * LANES, wr[LANES], wi[LANES];
            FN(apart)((const REAL *)root->table + 2 * (k * root->across + first), wr, wi);
            for (int l = 0; l < LANES; l++) {
                const REAL a = x[l], b = y[l];
                x[l] = a * wr[l] - b * wi[l];
                y[l] = a * wi[l] + b * wr[l];
            }
        }
        return;
    }
    REAL br[32 * LANES], bi[32 * LANES], ar[LANES], ai[LANES];
    for (int64_t k = 0; k < 32 && k < n; k++)
        for (int64_t l = 0; l < LANES; l++) {
            double z[2];
            fc_fft_root(root, l < have ? k * (first + l) : 0, z);
            br[k * LANES + l] = (REAL)z[0];
            bi[k * LANES + l] = (REAL)z[1];
        }
    for (int64_t k = 0; k < n; k++) {
        if (k % 32 == 0)
            for (int64_t l = 0; l < LANES; l++) {
                double z[2];
                fc_fft_root(root, l < have ? k * (first + l) : 0, z);
                ar[l] = (REAL)z[0];
                ai[l] = (REAL)z[1];
            }
        REAL *x = re + k * LANES, *y = im + k * LANES;
        const REAL *pr = br + k % 32 * LANES, *pi = bi + k % 32 * LANES;
        for (int l = 0; l < LANES; l++) {
            const REAL wr = ar[l] * pr[l] - ai[l] * pi[l], wi = ar[l] * pi[l] + ai[l] * pr[l];
            const REAL a = x[l], b = y[l];
            x[l] = a * wr - b * wi;
            y[l] = a * wi + b * wr;
        }
    }
}

TARGET static void FN(lines)(const fc_fft_line *p, const fc_fft_lines *j, const void *in, void *out,
                             void *work) {
    const int64_t size = p->n * LANES;
    REAL *a = work, *b = a + 2 * size;
    int64_t s = 1;
    const REAL *w = p->twiddles;
    FN(load)(p->n, j->in_by, j->in_across, j->have, j->inverse, in, a, a + size);
    for (unsigned k = 0; k < p->nfactors; k++) {
        const int64_t r = p->factor[k], m = p->n / (s * r), c = s * LANES;
        if (r == 4 && s == 1) /* of a known length */
            FN(radix4)(m, LANES, w, a, a + size, b, b + size);
        else if (r == 4)
            FN(radix4)(m, c, w, a, a + size, b, b + size);
        else if (r == 2)
            FN(radix2)(m, c, w, a, a + size, b, b + size);
        else
            FN(radix_any)
        (r, m, c, w, (const REAL *)p->roots + 2 * (size_t)p->root_at[k], a, a + size, b, b + size);
        REAL *done = b;
        b = a;
        a = done;
        w += 2 * (r - 1) * m;
        s *= r;
    }
    if (j->turn) FN(turn)(j->turn, p->n, j->first, j->have, a, a + size);
    FN(store)(p->n, j->out_by, j->out_across, j->have, j->inverse, a, a + size, out);
}

#undef AT
#undef VECTOR
#undef GET
#undef PUT
