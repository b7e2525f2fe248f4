/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* decimal.c - shortest decimals, fast where double arithmetic decides the question beyond doubt.
 *
 * The narrow types (f32, f16, bf16) are compared in double, which has bits to spare: a candidate
 * that is clearly inside the interval of its element is right, one clearly outside is wrong, and
 * anything in between is left to the slow and exact way. */
#include "frontend/cli/decimal.h"

#include <math.h>
#include <stdio.h>

static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}; /* all exact */

double fc_float_at(const fc_array *a, int64_t i) {
    switch (a->dtype) {
    case FUSEC_F16: return (double)fc_half_to_float(((const uint16_t *)a->data)[i]);
    case FUSEC_BF16: return (double)fc_bf16_to_float(((const uint16_t *)a->data)[i]);
    case FUSEC_F32: return (double)((const float *)a->data)[i];
    default: return ((const double *)a->data)[i];
    }
}

/* The value of positive bits of a narrow type. */
static double from_bits(fusec_dtype t, uint32_t bits) {
    float f;
    if (t == FUSEC_F16) return (double)fc_half_to_float((uint16_t)bits);
    if (t == FUSEC_BF16) return (double)fc_bf16_to_float((uint16_t)bits);
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static uint32_t to_bits(fusec_dtype t, double v) {
    float f = (float)v;
    uint32_t bits;
    if (t == FUSEC_F16) return fc_double_to_half(v);
    if (t == FUSEC_BF16) return fc_double_to_bf16(v);
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static void finish(fc_decimal *d, uint64_t digits, int scale) {
    while (digits % 10 == 0) {
        digits /= 10;
        scale++;
    }
    int count = 0;
    for (uint64_t v = digits; v; v /= 10) count++;
    d->digits = digits;
    d->count = (uint8_t)count;
    d->exponent = (int16_t)(scale + count - 1);
}

/* Small enough that the neighbours are at most 1 away: the integer itself is the shortest. */
static bool take_integer(fusec_dtype t, double v, fc_decimal *d) {
    double limit = t == FUSEC_F64   ? 0x1p53
                   : t == FUSEC_F32 ? 0x1p24
                   : t == FUSEC_F16 ? 0x1p11
                                    : 0x1p8;
    if (v > limit || v != (double)(uint64_t)v) return false;
    finish(d, (uint64_t)v, 0);
    return true;
}

/* v * 10^k, rounded once; false if 10^k is not exact. */
static bool scale_by(double v, int k, double *out) {
    if (k < -22 || k > 22) return false;
    *out = k >= 0 ? v * power[k] : v / power[-k];
    return true;
}

/* Up to 15 digits are unique in a double, and d / 10^k is then rounded once: equality is proof. */
static bool take_double(double v, int e, fc_decimal *d) {
    double x, back;
    int k = 14 - e;
    if (!scale_by(v, k, &x)) return false;
    x = nearbyint(x);
    if (x >= 0x1p53 || !scale_by(x, -k, &back) || back != v) return false;
    finish(d, (uint64_t)x, -k);
    return true;
}

static bool take_narrow(fusec_dtype t, double v, int e, fc_decimal *d) {
    uint32_t bits = to_bits(t, v);
    double above = from_bits(t, bits + 1), below = v - from_bits(t, bits - 1);
    double down = below / 2, up = isinf(above) ? down : (above - v) / 2;
    const double sure = 1e-6;
    for (int n = 1; n <= 9; n++) {
        double x, back;
        int k = n - 1 - e;
        if (!scale_by(v, k, &x)) return false;
        double whole = nearbyint(x);
        if (fabs(fabs(x - whole) - 0.5) < sure || !scale_by(whole, -k, &back)) return false;
        double off = fabs(back - v);
        if (off < (down < up ? down : up) * (1 - sure)) {
            finish(d, (uint64_t)whole, -k);
            return true;
        }
        if (off < (down > up ? down : up) * (1 + sure)) return false;
    }
    return false;
}

/* Digits and exponent of a positive number as printf or fc_str_double wrote it. */
static void read_text(const char *p, fc_decimal *d) {
    uint64_t digits = 0;
    int scale = 0, exponent = 0;
    bool point = false;
    for (; *p && *p != 'e'; p++) {
        if (*p < '0' || *p > '9') {
            point = true; /* whatever the locale puts there */
            continue;
        }
        digits = digits * 10 + (uint64_t)(*p - '0');
        scale -= point;
    }
    if (*p == 'e') {
        bool minus = p[1] == '-';
        for (p += 1 + (p[1] == '-' || p[1] == '+'); *p; p++) exponent = exponent * 10 + (*p - '0');
        if (minus) exponent = -exponent;
    }
    finish(d, digits, scale + exponent);
}

/* Halves have no shortest printer below; they need at most 5 digits. Just under a power of two the
 * numbers lie closer, so the next decimal up may fit where the nearest does not. */
static void slow_half(fusec_dtype t, double v, fc_decimal *d) {
    uint32_t bits = to_bits(t, v);
    for (int n = 1; n <= 5; n++) {
        char text[40];
        snprintf(text, sizeof text, "%.*e", n - 1, v);
        read_text(text, d);
        for (int i = 0; i < 2; i++) {
            double back;
            int scale = d->exponent - d->count + 1;
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)d->digits, scale);
            if (fc_parse_double(text, NULL, &back) && to_bits(t, back) == bits) return;
            int zeros = n - d->count; /* those that finish() removed */
            uint64_t next = d->digits;
            for (int z = 0; z < zeros; z++) next *= 10;
            finish(d, next + 1, scale - zeros);
        }
    }
}

static void slow(fusec_dtype t, double v, fc_decimal *d) {
    char text[64];
    if (fc_is_half(t)) {
        slow_half(t, v, d);
        return;
    }
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_str_double(&s, v, t == FUSEC_F32);
    if (s.oom || s.len == 0) snprintf(text, sizeof text, "%.*e", t == FUSEC_F32 ? 8 : 16, v);
    read_text(s.oom || s.len == 0 ? text : s.data, d);
    fc_str_free(&s);
}

fc_decimal fc_decimal_of(const fc_array *a, int64_t index) {
    double v = fc_float_at(a, index);
    fc_decimal d = {.count = 1, .kind = FC_DECIMAL_FINITE};
    if (isnan(v)) {
        d.kind = FC_DECIMAL_NAN;
        return d;
    }
    d.negative = signbit(v);
    v = fabs(v);
    if (isinf(v)) d.kind = FC_DECIMAL_INF;
    if (isinf(v) || v == 0 || take_integer(a->dtype, v, &d)) return d;
    /* Where log10 is wrong by one, the search uses a digit more or fewer, which it can. */
    int e = (int)floor(log10(v));
    bool fast = a->dtype == FUSEC_F64 ? take_double(v, e, &d) : take_narrow(a->dtype, v, e, &d);
    if (!fast) slow(a->dtype, v, &d);
    return d;
}
