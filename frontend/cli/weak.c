/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weak.c - numbers on the command line: 2.5, 100_000, 0xff, -1e-5, inf, true. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "frontend/cli/input.h"

#define NUMBER_MAX 64 /* bytes, as in the language */

static bool digit(char c) {
    return c >= '0' && c <= '9';
}

/* Copies `text` without underscores; one may stand only behind a digit. */
static bool without_underscores(const char *text, char out[NUMBER_MAX + 1], bool hex) {
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        if (p - text >= NUMBER_MAX) return false;
        if (*p != '_') {
            out[n++] = *p;
            continue;
        }
        bool after =
            p > text && (digit(p[-1]) || (hex && strchr("abcdefABCDEF_", p[-1])) || p[-1] == '_');
        if (!after) return false;
    }
    out[n] = 0;
    return n > 0;
}

static bool parse_integer(const char *p, unsigned base, uint64_t *out) {
    uint64_t v = 0;
    if (!*p) return false;
    for (; *p; p++) {
        unsigned d = digit(*p)                ? (unsigned)(*p - '0')
                     : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a' + 10)
                     : *p >= 'A' && *p <= 'F' ? (unsigned)(*p - 'A' + 10)
                                              : 99;
        if (d >= base) return false;
        if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, d, &v)) return false;
    }
    *out = v;
    return true;
}

/* digits "." [digits] [exp] | "." digits [exp] | digits exp */
static bool is_float(const char *p) {
    bool before = digit(*p), after = false, point = false;
    while (digit(*p)) p++;
    if (*p == '.') {
        point = true;
        for (p++; digit(*p); p++) after = true;
    }
    if (!before && !after) return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-') p++;
        if (!digit(*p)) return false;
        while (digit(*p)) p++;
        point = true;
    }
    return point && *p == 0;
}

static bool parse_word(const char *p, bool negative, bool sign, fc_weak *w) {
    bool yes = !strcmp(p, "true") || !strcmp(p, "True");
    if (!sign && (yes || !strcmp(p, "false") || !strcmp(p, "False"))) {
        *w = (fc_weak){FC_WEAK_BOOL, false, yes, yes};
        return true;
    }
    bool inf = !strcmp(p, "inf");
    if (!inf && strcmp(p, "nan") != 0) return false;
    double v = inf ? (double)INFINITY : (double)NAN;
    *w = (fc_weak){.kind = FC_WEAK_FLOAT, .number = negative ? -v : v};
    return true;
}

bool fc_weak_parse(const char *text, fc_weak *w) {
    char plain[NUMBER_MAX + 1];
    bool sign = *text == '-' || *text == '+', negative = *text == '-';
    text += sign;
    if (parse_word(text, negative, sign, w)) return true;
    bool hex = text[0] == '0' && text[1] == 'x';
    if (!without_underscores(hex ? text + 2 : text, plain, hex)) return false;
    uint64_t v;
    if (parse_integer(plain, hex ? 16 : 10, &v)) {
        if (negative && v > (uint64_t)1 << 63) return false;
        *w = (fc_weak){FC_WEAK_INT, negative && v, v, negative ? -(double)v : (double)v};
        return true;
    }
    double d;
    const char *end;
    if (hex || !is_float(plain) || !fc_parse_double(plain, &end, &d) || *end) return false;
    *w = (fc_weak){.kind = FC_WEAK_FLOAT, .number = negative ? -d : d};
    return true;
}

static void store_float(double v, fusec_dtype t, void *out) {
    uint16_t h;
    float f;
    switch (t) {
    case FUSEC_F16:
    case FUSEC_BF16:
        h = t == FUSEC_F16 ? fc_double_to_half(v) : fc_double_to_bf16(v);
        memcpy(out, &h, sizeof h);
        break;
    case FUSEC_F32:
        f = (float)v;
        memcpy(out, &f, sizeof f);
        break;
    default: memcpy(out, &v, sizeof v); break;
    }
}

static bool fits(const fc_weak *w, fusec_dtype t) {
    int bits = fc_dtypes[t].bits;
    if (fc_is_unsigned(t))
        return !w->negative && (bits == 64 || w->magnitude <= ((uint64_t)1 << bits) - 1);
    uint64_t top = (uint64_t)1 << (bits - 1);
    return w->negative ? w->magnitude <= top : w->magnitude < top;
}

fusec_status fc_weak_store(const fc_weak *w, const char *name, fusec_dtype dtype, void *out,
                           fc_error *e) {
    const char *type = fc_dtypes[dtype].name;
    if (w->kind == FC_WEAK_BOOL || dtype == FUSEC_BOOL) {
        if (w->kind != FC_WEAK_BOOL)
            return fc_fail(e, FUSEC_INPUT_DTYPE,
                           "%s is bool, and its value is a number\n"
                           "  help: %s=true or %s=false",
                           name, name, name);
        if (dtype != FUSEC_BOOL)
            return fc_fail(e, FUSEC_INPUT_DTYPE, "%s is %s, and its value is a bool", name, type);
        *(uint8_t *)out = w->magnitude != 0;
        return FUSEC_OK;
    }
    if (fc_is_complex(dtype)) {
        memset(out, 0, fc_dtypes[dtype].bytes);
        dtype = fc_part_dtype(dtype);
    }
    if (fc_is_float(dtype)) {
        store_float(w->number, dtype, out);
        return FUSEC_OK;
    }
    if (w->kind == FC_WEAK_FLOAT)
        return fc_fail(e, FUSEC_INPUT_DTYPE,
                       "%s is %s, and its value is written as a float; nothing is rounded silently",
                       name, type);
    if (!fits(w, dtype))
        return fc_fail(e, FUSEC_INPUT_DTYPE, "%s%" PRIu64 " does not fit %s: %s",
                       w->negative ? "-" : "", w->magnitude, name, type);
    uint64_t v = w->negative ? 0 - w->magnitude : w->magnitude;
    switch (fc_dtypes[dtype].bytes) { /* any byte order */
    case 1: *(uint8_t *)out = (uint8_t)v; break;
    case 2: memcpy(out, &(uint16_t){(uint16_t)v}, 2); break;
    case 4: memcpy(out, &(uint32_t){(uint32_t)v}, 4); break;
    default: memcpy(out, &v, 8); break;
    }
    return FUSEC_OK;
}
