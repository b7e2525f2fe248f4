/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* base.c - allocator, errors, arena, text buffer, vectors, hashing, reading and writing of numbers.
 *
 * In: a fc_alloc and plain C values. Out: what base.h promises. Invariants: nothing here keeps
 * state between calls; a failed allocation leaves its object as it was; numbers come out the same
 * whatever the caller's locale, rounding mode or flush-to-zero mode is. */
#define _GNU_SOURCE /* strtod_l */
#include "ir/base.h"

#include <errno.h>
#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

/* ---- errors ---------------------------------------------------------------------------------- */

typedef struct status_info {
    const char *slug, *text;
    int exit_code;
} status_info;

static const status_info statuses[FC_STATUS_COUNT] = {
    [FUSEC_OK] = {"ok", "No error.", 0},
#define FUSEC_ERR(number, name, slug, exit_code, text) [FUSEC_##name] = {slug, text, exit_code},
#include <fusec/errors.def>
#undef FUSEC_ERR
};

#define FUSEC_ERR(number, name, ...)                                                               \
    _Static_assert((number) > 0 && (number) < FC_STATUS_COUNT, #name);
#include <fusec/errors.def>
#undef FUSEC_ERR

/* A code from outside the table (a caller's cast) reads as a fault of fusec. */
static const status_info *status_of(fusec_status s) {
    return (unsigned)s < FC_STATUS_COUNT && statuses[s].slug ? &statuses[s]
                                                             : &statuses[FUSEC_INTERNAL];
}

const char *fc_status_slug(fusec_status s) {
    return status_of(s)->slug;
}
int fc_status_exit(fusec_status s) {
    return status_of(s)->exit_code;
}
const char *fc_status_text(fusec_status s) {
    return status_of(s)->text;
}

/* A message that was cut ends in "..." and never in half of a UTF-8 character. */
static void mark_cut(char *text, size_t size) {
    size_t n = size - sizeof "...";
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
    memcpy(text + n, "...", sizeof "...");
}

fusec_status fc_vfail(fc_error *e, fusec_status code, const char *fmt, va_list ap) {
    if (e == NULL) return code;
    if (e->code != FUSEC_OK) return e->code;
    int n = vsnprintf(e->message, sizeof e->message, fmt, ap);
    if (n < 0) memcpy(e->message, "?", 2);
    if (n >= (int)sizeof e->message) mark_cut(e->message, sizeof e->message);
    e->code = code;
    return code;
}

fusec_status fc_fail(fc_error *e, fusec_status code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fusec_status s = fc_vfail(e, code, fmt, ap);
    va_end(ap);
    return s;
}

fusec_status fc_oom(fc_error *e) {
    return fc_fail(e, FUSEC_OUT_OF_MEMORY, "not enough memory on the host");
}

/* ---- allocator ------------------------------------------------------------------------------- */

static void *libc_realloc(void *user, void *p, size_t size) {
    (void)user;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

const fc_alloc fc_libc_alloc = {libc_realloc, NULL};

void *fc_malloc(const fc_alloc *a, size_t size) {
    return a->fn(a->user, NULL, size ? size : 1);
}

void *fc_calloc(const fc_alloc *a, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *p = fc_malloc(a, bytes);
    if (p != NULL) memset(p, 0, bytes);
    return p;
}

void *fc_realloc(const fc_alloc *a, void *p, size_t size) {
    return a->fn(a->user, p, size ? size : 1);
}

void fc_free(const fc_alloc *a, void *p) {
    if (p != NULL) a->fn(a->user, p, 0);
}

char *fc_strdup(const fc_alloc *a, const char *s) {
    size_t n = strlen(s) + 1;
    char *p = fc_malloc(a, n);
    if (p != NULL) memcpy(p, s, n);
    return p;
}

/* ---- arena ----------------------------------------------------------------------------------- */

enum { ARENA_ALIGN = 16, ARENA_BLOCK = 16 * 1024 };

struct fc_arena_block {
    fc_arena_block *next;
    _Alignas(ARENA_ALIGN) unsigned char bytes[];
};

void fc_arena_init(fc_arena *a, const fc_alloc *alloc) {
    *a = (fc_arena){.alloc = alloc};
}

/* A request that fills most of a block gets one of its own, linked behind the head, so that the
 * rest of the head stays in use. */
void *fc_arena_alloc(fc_arena *a, size_t size) {
    if (size > SIZE_MAX / 2) return NULL;
    size = size == 0 ? ARENA_ALIGN : (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (a->head == NULL || size > a->cap - a->used) {
        size_t cap = size > ARENA_BLOCK / 4 ? size : ARENA_BLOCK;
        fc_arena_block *b = fc_malloc(a->alloc, sizeof *b + cap);
        if (b == NULL) return NULL;
        if (a->head != NULL && cap == size) {
            b->next = a->head->next;
            a->head->next = b;
            return memset(b->bytes, 0, size);
        }
        b->next = a->head;
        a->head = b;
        a->used = 0;
        a->cap = cap;
    }
    void *p = a->head->bytes + a->used;
    a->used += size;
    return memset(p, 0, size);
}

char *fc_arena_strdup(fc_arena *a, const char *s, size_t len) {
    if (len == SIZE_MAX) return NULL;
    char *p = fc_arena_alloc(a, len + 1);
    if (p != NULL && len > 0) memcpy(p, s, len);
    return p;
}

void fc_arena_free(fc_arena *a) {
    for (fc_arena_block *b = a->head, *next; b != NULL; b = next) {
        next = b->next;
        fc_free(a->alloc, b);
    }
    fc_arena_init(a, a->alloc);
}

/* ---- text buffer ----------------------------------------------------------------------------- */

void fc_str_init(fc_str *s, const fc_alloc *alloc) {
    char *none = ""; /* never written: cap is 0 */
    *s = (fc_str){.alloc = alloc, .data = none};
}

void fc_str_free(fc_str *s) {
    if (s->cap > 0) fc_free(s->alloc, s->data);
    fc_str_init(s, s->alloc);
}

void fc_str_clear(fc_str *s) {
    if (s->cap > 0) s->data[0] = '\0';
    s->len = 0;
    s->oom = false;
}

/* Room for `n` more characters and the NUL. After a failure nothing more is appended, so that the
 * text never has a hole. */
static bool str_room(fc_str *s, size_t n) {
    if (s->oom) return false;
    if (s->cap > s->len && n < s->cap - s->len) return true;
    char *data = s->cap > 0 ? s->data : NULL;
    void *at = data;
    size_t cap = s->cap;
    if (n >= SIZE_MAX - s->len || !fc_vec_grow(s->alloc, &at, &cap, s->len + n + 1, 1)) {
        s->oom = true;
        return false;
    }
    s->data = at;
    s->cap = cap;
    s->data[s->len] = '\0';
    return true;
}

void fc_str_addn(fc_str *s, const char *text, size_t n) {
    if (n == 0 || !str_room(s, n)) return;
    memcpy(s->data + s->len, text, n);
    s->len += n;
    s->data[s->len] = '\0';
}

void fc_str_add(fc_str *s, const char *text) {
    fc_str_addn(s, text, strlen(text));
}
void fc_str_char(fc_str *s, char c) {
    fc_str_addn(s, &c, 1);
}

static void add_number(fc_str *s, bool negative, unsigned n) {
    char text[12], *at = text + sizeof text;
    do *--at = (char)('0' + n % 10);
    while (n /= 10);
    if (negative) *--at = '-';
    fc_str_addn(s, at, (size_t)(text + sizeof text - at));
}

/* By the C library, which is slow: texts of kernels are thousands of short pieces. */
static void any_vprintf(fc_str *s, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0) {
        s->oom = true;
    } else if (str_room(s, (size_t)n)) {
        vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

/* What stands before the first conversion that is not one of these, then the rest. */
void fc_str_vprintf(fc_str *s, const char *fmt, va_list ap) {
    va_list rest;
    va_copy(rest, ap);
    for (;;) {
        const char *next = strchr(fmt, '%');
        fc_str_addn(s, fmt, next ? (size_t)(next - fmt) : strlen(fmt));
        if (!next) break;
        if (next[1] == 's') {
            const char *text = va_arg(rest, const char *);
            fc_str_add(s, text ? text : "(null)");
        } else if (next[1] == 'u') {
            add_number(s, false, va_arg(rest, unsigned));
        } else if (next[1] == 'd') {
            const int n = va_arg(rest, int);
            add_number(s, n < 0, n < 0 ? 0U - (unsigned)n : (unsigned)n);
        } else if (next[1] == '%') {
            fc_str_char(s, '%');
        } else {
            any_vprintf(s, next, rest);
            break;
        }
        fmt = next + 2;
    }
    va_end(rest);
}

void fc_str_printf(fc_str *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fc_str_vprintf(s, fmt, ap);
    va_end(ap);
}

/* ---- numbers as text
 * --------------------------------------------------------------------------------
 *
 * The C library formats and reads correctly rounded, but in the caller's locale, rounding mode and
 * flush-to-zero mode. So: digits are picked out of the formatted text without looking at the
 * decimal point, text is read with an explicit "C" locale, and both run in the default
 * floating-point environment. The `noinline` keeps the arithmetic between the two
 * fesetenv calls. */

typedef struct decimal {
    char digits[32];     /* NUL-terminated, no leading zero */
    int count, exponent; /* d.ddd x 10^exponent */
} decimal;

static void decimal_text(const decimal *d, char out[64]) {
    snprintf(out, 64, "%c.%se%d", d->digits[0], d->digits + 1, d->exponent);
}

/* `v` is finite and positive; rounded to `count` digits. */
static void decimal_of(double v, int count, decimal *d) {
    char text[64];
    snprintf(text, sizeof text, "%.*e", count - 1, v);
    const char *p = text;
    d->count = 0;
    for (; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') d->digits[d->count++] = *p;
    d->digits[d->count] = '\0';
    d->exponent = (int)strtol(p + 1, NULL, 10);
}

/* Adds one to the last digit. */
static void decimal_next(decimal *d) {
    int i = d->count - 1;
    for (; i >= 0 && d->digits[i] == '9'; i--) d->digits[i] = '0';
    if (i >= 0) {
        d->digits[i]++;
    } else { /* 9.99 became 10.00: the same count of digits, one power higher */
        d->digits[0] = '1';
        d->exponent++;
    }
}

/* A binary32 has to come back both when the text is read straight into one and when it is read into
 * a binary64 first, as this library does. */
static bool reads_back(const decimal *d, double v, bool f32, locale_t c) {
    char text[64];
    decimal_text(d, text);
    double back = strtod_l(text, NULL, c);
    return f32 ? (float)back == (float)v && strtof_l(text, NULL, c) == (float)v : back == v;
}

/* With DBL_DIG (FLT_DIG) digits every shorter decimal shows up with zeros behind it, so the search
 * starts there. Subnormals have fewer bits and start at one digit. Below a power of two the numbers
 * lie closer than above it, so the nearest decimal may fail there when the next one up
 * reads back. */
static void shortest(double v, bool f32, locale_t c, decimal *d) {
    bool normal = v >= (f32 ? (double)FLT_MIN : DBL_MIN);
    int most = f32 ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG, e2;
    bool power_of_two = frexp(v, &e2) == 0.5;
    for (int n = !normal ? 1 : f32 ? FLT_DIG : DBL_DIG;; n++) {
        decimal_of(v, n, d);
        if (n == most || reads_back(d, v, f32, c)) break;
        if (!power_of_two) continue;
        decimal_next(d);
        if (reads_back(d, v, f32, c)) break;
    }
    while (d->count > 1 && d->digits[d->count - 1] == '0') d->digits[--d->count] = '\0';
}

static void add_decimal(fc_str *s, const decimal *d) {
    int e = d->exponent;
    if (e < -5 || e >= 16) {
        fc_str_char(s, d->digits[0]);
        if (d->count > 1) fc_str_printf(s, ".%s", d->digits + 1);
        fc_str_printf(s, "e%d", e);
    } else if (e < 0) {
        fc_str_printf(s, "0.%.*s%s", -e - 1, "0000", d->digits);
    } else if (d->count <= e + 1) {
        fc_str_printf(s, "%s%.*s", d->digits, e + 1 - d->count, "000000000000000");
    } else {
        fc_str_printf(s, "%.*s.%s", e + 1, d->digits, d->digits + e + 1);
    }
}

__attribute__((noinline)) static void add_double(fc_str *s, double v, bool f32) {
    if (f32) v = (float)v;
    if (isnan(v)) {
        fc_str_add(s, "nan");
        return;
    }
    if (signbit(v)) fc_str_char(s, '-');
    v = fabs(v);
    if (isinf(v) || v == 0) {
        fc_str_add(s, v == 0 ? "0" : "inf");
        return;
    }
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0) {
        s->oom = true;
        return;
    }
    decimal d;
    shortest(v, f32, c, &d);
    freelocale(c);
    add_decimal(s, &d);
}

void fc_str_double(fc_str *s, double v, bool f32) {
    int saved = errno;
    fenv_t env;
    fegetenv(&env);
    fesetenv(FE_DFL_ENV);
    add_double(s, v, f32);
    fesetenv(&env);
    errno = saved;
}

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The two words fc_str_double writes; strtod would also take "INFINITY" and "nan(chars)". */
static bool parse_word(const char *p, const char **end, double *out) {
    bool inf = strncmp(p, "inf", 3) == 0;
    if ((!inf && strncmp(p, "nan", 3) != 0) || is_word(p[3])) return false;
    *out = inf ? (double)INFINITY : (double)NAN;
    *end = p + 3;
    return true;
}

bool fc_parse_double(const char *s, const char **end, double *out) {
    const char *p = s + (*s == '-' || *s == '+'), *stop = s;
    double v = 0;
    bool ok = parse_word(p, &stop, &v);
    if (ok && *s == '-') v = -v;
    if (!ok && ((*p >= '0' && *p <= '9') || (*p == '.' && p[1] >= '0' && p[1] <= '9'))) {
        int saved = errno;
        fenv_t env;
        locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (c != (locale_t)0) {
            char *last;
            fegetenv(&env);
            fesetenv(FE_DFL_ENV);
            v = strtod_l(s, &last, c);
            fesetenv(&env);
            freelocale(c);
            stop = last;
            ok = true;
        }
        errno = saved;
    }
    if (end != NULL) *end = stop;
    if (ok) *out = v;
    return ok;
}

/* ---- growable arrays, hashing ---------------------------------------------------------------- */

/* `at` is really a T** for some T, so the pointer is copied as bytes: an access through void**
 * would break the aliasing rules once everything is compiled as one unit. */
bool fc_vec_grow(const fc_alloc *alloc, void **at, size_t *cap, size_t need, size_t elem) {
    if (need <= *cap) return true;
    size_t more = *cap < 8 ? 8 : *cap > SIZE_MAX / 2 ? need : *cap * 2, bytes;
    if (more < need) more = need;
    if (__builtin_mul_overflow(more, elem, &bytes) || bytes > PTRDIFF_MAX) return false;
    void *p;
    memcpy(&p, at, sizeof p);
    p = fc_realloc(alloc, p, bytes);
    if (p == NULL) return false;
    memcpy(at, &p, sizeof p);
    *cap = more;
    return true;
}

uint64_t fc_hash_bytes(const void *p, size_t n) {
    const unsigned char *b = p;
    uint64_t h = fc_mix(0, n), word;
    for (; n >= sizeof word; n -= sizeof word, b += sizeof word) {
        memcpy(&word, b, sizeof word);
        h = fc_mix(h, word);
    }
    word = 0;
    if (n > 0) memcpy(&word, b, n);
    return fc_mix(h, word);
}
