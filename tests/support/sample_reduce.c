/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sample_reduce.c - see sample_reduce.h. Slow and literal on purpose. */
#include "tests/support/sample_reduce.h"

#include <math.h>
#include <stdlib.h>

enum { LANES = 128, CHUNK = 1024, RUN = 16 };

static ref_node start(ref_kind kind) {
    ref_node n = {0};
    if (kind == REF_PROD_F32) n.f = 1;
    if (kind == REF_MIN_F32 || kind == REF_ARGMIN_F32) n.f = INFINITY;
    if (kind == REF_MAX_F32 || kind == REF_ARGMAX_F32) n.f = -INFINITY;
    if (kind == REF_ARGMIN_F32 || kind == REF_ARGMAX_F32) n.i = -1;
    return n;
}

static float smaller(float a, float b) {
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static float larger(float a, float b) {
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* The first nan, else the first best; -1 is "none yet". */
static ref_node better(ref_kind kind, ref_node a, ref_node b) {
    if (a.i < 0) return b;
    if (b.i < 0) return a;
    if (isnan(a.f) != isnan(b.f)) return isnan(a.f) ? a : b;
    if (isnan(a.f) || a.f == b.f) return a.i < b.i ? a : b;
    return (kind == REF_ARGMAX_F32) == (a.f > b.f) ? a : b;
}

static ref_node step(ref_kind kind, ref_node a, double x, int64_t index) {
    ref_node r = a;
    float v = (float)x;
    switch (kind) {
    case REF_SUM_F32: r.f = a.f + v; break;
    case REF_SUM_F64: r.d = a.d + x; break;
    case REF_SUM_I64: r.i = a.i + (int64_t)x; break;
    case REF_PROD_F32: r.f = a.f * v; break;
    case REF_MIN_F32: r.f = smaller(a.f, v); break;
    case REF_MAX_F32: r.f = larger(a.f, v); break;
    case REF_ARGMIN_F32:
    case REF_ARGMAX_F32: return better(kind, a, (ref_node){.f = v, .i = index});
    case REF_VAR_F32: { /* Welford */
        float d = v - a.mean;
        r.i = a.i + 1;
        r.mean = a.mean + d * (1 / (float)r.i);
        r.f = a.f + d * (v - r.mean);
    }
    }
    return r;
}

static ref_node combine(ref_kind kind, ref_node a, ref_node b) {
    ref_node r = a;
    switch (kind) {
    case REF_SUM_F32: r.f = a.f + b.f; break;
    case REF_SUM_F64: r.d = a.d + b.d; break;
    case REF_SUM_I64: r.i = a.i + b.i; break;
    case REF_PROD_F32: r.f = a.f * b.f; break;
    case REF_MIN_F32: r.f = smaller(a.f, b.f); break;
    case REF_MAX_F32: r.f = larger(a.f, b.f); break;
    case REF_ARGMIN_F32:
    case REF_ARGMAX_F32: return better(kind, a, b);
    case REF_VAR_F32: { /* Chan */
        if (b.i == 0) return a;
        if (a.i == 0) return b;
        r.i = a.i + b.i;
        float d = b.mean - a.mean, share = (float)b.i / (float)r.i;
        r.mean = a.mean + d * share;
        r.f = (a.f + b.f) + d * d * ((float)a.i * share);
    }
    }
    return r;
}

/* (0,1) (2,3) ... level by level; n is a power of two. */
static ref_node pairwise(ref_kind kind, ref_node *v, int64_t n) {
    for (; n > 1; n /= 2)
        for (int64_t i = 0; i < n / 2; i++) v[i] = combine(kind, v[2 * i], v[2 * i + 1]);
    return v[0];
}

static ref_node chunk(ref_kind kind, const double *x, int64_t n, int64_t from) {
    ref_node lanes[LANES];
    for (int64_t l = 0; l < LANES; l++) {
        lanes[l] = start(kind);
        for (int64_t i = from + l; i < n && i < from + CHUNK; i += LANES)
            lanes[l] = step(kind, lanes[l], x[i], i);
    }
    return pairwise(kind, lanes, LANES);
}

static ref_node run(ref_kind kind, const double *x, int64_t n, int64_t from) {
    ref_node r = start(kind);
    for (int64_t i = from; i < n && i < from + RUN; i++) r = step(kind, r, x[i], i);
    return r;
}

ref_node fc_ref_reduce(ref_kind kind, bool inner, const double *elements, int64_t n) {
    int64_t piece = inner ? CHUNK : RUN, pieces = 1;
    while (pieces * piece < n) pieces *= 2;
    ref_node *v = malloc((size_t)pieces * sizeof *v);
    if (!v) abort();
    for (int64_t i = 0; i < pieces; i++)
        v[i] = inner ? chunk(kind, elements, n, i * piece) : run(kind, elements, n, i * piece);
    ref_node r = pairwise(kind, v, pieces);
    free(v);
    if (kind == REF_VAR_F32) r.f = r.f / (float)n;
    return r;
}
