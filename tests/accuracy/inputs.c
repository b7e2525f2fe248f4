/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* inputs.c - the inputs of a job by their number. */
#include "tests/accuracy/accuracy.h"

#include <math.h>
#include <string.h>

#include "tests/support/oracle.h"

static uint64_t noise(uint64_t v) {
    v = (v + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 29)) * 0x94d049bb133111ebu;
    return v ^ (v >> 32);
}

double fc_acc_noise(uint64_t n) {
    return (double)(noise(n) >> 11) * 0x1p-53;
}

/* Where functions end, turn or change their formula, and where one formula of a libm is known to be
 * bad. Each is taken with its neighbours and with both signs. */
static const double turns[] = {0x1p-1074,
                               0x1p-1022,
                               0x1p-1021,
                               0x1p-149,
                               0x1p-126,
                               0x1p-60,
                               0x1p-54,
                               0x1p-53,
                               0x1p-28,
                               0x1p-27,
                               0x1p-26,
                               0x1p-12,
                               0x1.fe1a7da55e21ep-8,
                               0x1.ffc66f42c8e8cp-7,
                               0x1.c61d8238bccdbp-3,
                               0.25993019270997947,
                               0.34657359027997264,
                               0.5,
                               0.625,
                               0.70710678118654757,
                               0.29289321881345254,
                               0.41421356237309503,
                               0.78539816339744828,
                               0.92,
                               1,
                               1.0606601717798212,
                               1.4142135623730951,
                               1.5,
                               1.5707963267948966,
                               2,
                               2.3561944901923448,
                               3,
                               3.1415926535897931,
                               4,
                               4.71238898038469,
                               5.9215871957945083,
                               6,
                               6.2831853071795862,
                               8,
                               10,
                               17.328679513998632,
                               19.0615,
                               20,
                               22,
                               26.543258454250999,
                               27,
                               27.226017111108366,
                               27.3,
                               30,
                               36.7368005696771,
                               37.429948,
                               44.014845965556527,
                               45,
                               64,
                               88.722839111672997,
                               100,
                               103.97207708399179,
                               128,
                               149,
                               170.62437695630272,
                               171.6243769563027,
                               186.5,
                               256,
                               700,
                               708.39641853226408,
                               709.78271289338397,
                               710.47586007394386,
                               711,
                               744.44007192138126,
                               745.13321910194122,
                               746,
                               1000,
                               1022,
                               1023,
                               1024,
                               1074,
                               1075,
                               0x1p20,
                               0x1p28,
                               0x1p29,
                               0x1p30,
                               0x1p31,
                               0x1p52,
                               0x1p53,
                               0x1p54,
                               0x1p60,
                               0x1p500,
                               0x1.4c96c11134d36p+578,
                               0x1.6ac5b262ca1ffp+849,
                               0x1p1000,
                               0x1p1023,
                               0x1.fffffffffffffp1023,
                               2.5563483206e305};
enum { TURNS = FC_COUNT(turns), NEAR = 128, HARD = TURNS * NEAR };

/* The neighbour of v by so many places, v in the dtype. */
static double neighbour(fusec_dtype t, double v, int64_t by) {
    if (t == FUSEC_F32) {
        const float f = (float)v;
        int32_t b;
        memcpy(&b, &f, sizeof b);
        const uint32_t moved = (uint32_t)((int64_t)b + by < 0 ? 0 : (int64_t)b + by);
        float out;
        memcpy(&out, &moved, sizeof out);
        return (double)out;
    }
    int64_t b;
    memcpy(&b, &v, sizeof b);
    b = b + by < 0 ? 0 : b + by;
    memcpy(&v, &b, sizeof v);
    return v;
}

static double special(uint64_t n) {
    static const double all[] = {0, INFINITY, NAN, 1, 2, 3, 0.5, 1e-40, 1e300};
    const double v = all[n / 2 % FC_COUNT(all)];
    return n & 1 ? -v : v;
}
enum { SPECIALS = 18 };

/* The double nearest to a multiple of pi/2 among some that are near: convergents of the continued
 * fraction of 2^e 2/pi would give the very nearest; here a whole number times pi/2, rounded, whose
 * last bits are tried. */
static double near_quarter(uint64_t h) {
    const int e = (int)(h % 1024);
    const double m = floor(ldexp(1 + fc_acc_noise(h), e > 52 ? 52 : e));
    const double v = m * 1.5707963267948966;
    return ldexp(v, e > 52 ? e - 52 : 0);
}

/* Exponents over the whole range; over the middle; or a number below 40. */
static double random_f64(uint64_t n) {
    const uint64_t h = noise(n), g = noise(h);
    const double m = 1 + (double)(h >> 12) * 0x1p-52;
    const double sign = g & 1 ? -1 : 1;
    switch (g >> 1 & 3) {
    case 0: return sign * ldexp(m, (int)((g >> 8) % 2098) - 1074);
    case 1: return sign * ldexp(m, (int)(g >> 8 & 63) - 50);
    case 2: return sign * (m - 1) * ((g >> 8 & 15) == 0 ? 750 : 40);
    default: return sign * ((g >> 8 & 7) == 0 ? near_quarter(g) : (m - 1) * 2);
    }
}

static double one_f64(uint64_t n) {
    if (n < SPECIALS) return special(n);
    n -= SPECIALS;
    if (n < 2 * HARD) {
        const double v =
            neighbour(FUSEC_F64, turns[n / 2 % TURNS], (int64_t)(n / 2 / TURNS) - NEAR / 2);
        return n & 1 ? -v : v;
    }
    return random_f64(n);
}

static double any_f32(uint64_t h) {
    return fc_o_value(FUSEC_F32, h & 0xffffffff);
}

/* Two operands: specials with specials; then any numbers, powers that just fit, numbers near 1,
 * small whole numbers, quotients near 1. */
static void pair(fusec_dtype t, uint64_t n, double *x, double *y) {
    const bool f64 = t == FUSEC_F64;
    const uint64_t h = noise(n), g = noise(h), turn_pairs = (uint64_t)TURNS * TURNS * 4;
    const double most = f64 ? 1100 : 150;
    *x = f64 ? random_f64(2 * n) : any_f32(h);
    *y = f64 ? random_f64(2 * n + 1) : any_f32(g);
    if (n < SPECIALS * SPECIALS) {
        *x = special(n % SPECIALS);
        *y = special(n / SPECIALS);
    } else if (n < turn_pairs) {
        *x = turns[n / 4 % TURNS] * (n & 1 ? -1 : 1);
        *y = turns[n / 4 / TURNS] * (n & 2 ? -1 : 1);
    } else if (n % 5 == 1) {
        *y = (2 * fc_acc_noise(h) - 1) * most / fmax(0x1p-50, fabs(log2(fabs(*x))));
    } else if (n % 5 == 2) {
        *x = 1 + (fc_acc_noise(h) - 0.5) / 64;
        *y = fc_acc_noise(g) * most * 70;
    } else if (n % 5 == 3) {
        *x = (double)(h % 4096);
        *y = (double)(g % 300) - 100;
    } else if (n % 5 == 4) {
        *y = *x * (1 + (double)(g % 1000) / 1000);
    }
    if (!f64) {
        *x = (double)(float)*x;
        *y = (double)(float)*y;
    }
}

void fc_acc_input(const fc_acc_job *j, uint64_t number, double *x, double *y) {
    *y = 0;
    if (fc_ops[j->op].arity == 2)
        pair(j->dtype, number, x, y);
    else
        *x = j->dtype == FUSEC_F32 ? fc_o_value(FUSEC_F32, number) : one_f64(number);
}

uint64_t fc_acc_count(fc_op op, fusec_dtype t, uint64_t samples) {
    const unsigned bits = (unsigned)fusec_dtype_bytes(t) * 8;
    if (fc_ops[op].arity == 2) return bits == 16 ? (uint64_t)1 << 32 : samples;
    return bits == 64 ? samples : (uint64_t)1 << bits;
}
