/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* base.h - what every layer uses: allocator, errors, arena, text buffer, vectors, hashing.
 *
 * Nothing in fusec aborts, prints or exits. A function that can fail returns a fusec_status and
 * puts the message into the fc_error it was given; the first error stays (fc_fail on a set error
 * does nothing). */
#ifndef FUSEC_IR_BASE_H
#define FUSEC_IR_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <fusec/status.h>

#if defined(__GNUC__)
#define FC_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define FC_PRINTF(f, a)
#endif

#define FC_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- errors ------------------------------------------------------------------------------ */

typedef struct fc_error {
    fusec_status code; /* FUSEC_OK: nothing happened yet */
    char message[1000];
} fc_error;

/* Records the first error and returns its code. `e` may be NULL. */
fusec_status fc_fail(fc_error *e, fusec_status code, const char *fmt, ...) FC_PRINTF(3, 4);
fusec_status fc_vfail(fc_error *e, fusec_status code, const char *fmt, va_list ap);
fusec_status fc_oom(fc_error *e); /* out of memory on the host; needs no allocation */

enum { FC_STATUS_COUNT = 50 };              /* above the numbers of all rows of errors.def */
const char *fc_status_slug(fusec_status s); /* "shape-mismatch" */
int fc_status_exit(fusec_status s);         /* the exit code of the command */
const char *fc_status_text(fusec_status s); /* one sentence */

#define FC_TRY(call)                                                                               \
    do {                                                                                           \
        fusec_status fc_try_ = (call);                                                             \
        if (fc_try_ != FUSEC_OK) return fc_try_;                                                   \
    } while (0)

/* ---- allocator: every allocation of the library goes through one of these ---------------- */

typedef struct fc_alloc {
    /* realloc semantics: p NULL allocates, size 0 frees. Must be thread-safe. */
    void *(*fn)(void *user, void *p, size_t size);
    void *user;
} fc_alloc;

extern const fc_alloc fc_libc_alloc; /* malloc and free */

void *fc_malloc(const fc_alloc *a, size_t size); /* uninitialised; size 0 gives a unique pointer */
void *fc_calloc(const fc_alloc *a, size_t count, size_t size); /* zeroed, overflow checked */
void *fc_realloc(const fc_alloc *a, void *p, size_t size);
void fc_free(const fc_alloc *a, void *p); /* NULL is fine */
char *fc_strdup(const fc_alloc *a, const char *s);

/* ---- arena: many small objects, freed together ------------------------------------------- */

typedef struct fc_arena_block fc_arena_block;
typedef struct fc_arena {
    const fc_alloc *alloc;
    fc_arena_block *head;
    size_t used, cap; /* of the head block */
} fc_arena;

void fc_arena_init(fc_arena *a, const fc_alloc *alloc);
void *fc_arena_alloc(fc_arena *a,
                     size_t size); /* 16-byte aligned, zeroed; NULL when out of memory */
char *fc_arena_strdup(fc_arena *a, const char *s, size_t len); /* adds the NUL */
void fc_arena_free(fc_arena *a);

/* ---- text buffer: appends never fail one by one; check `oom` at the end ------------------ */

typedef struct fc_str {
    const fc_alloc *alloc;
    char *data; /* NUL-terminated; never NULL after fc_str_init (points to "" while empty) */
    size_t len, cap;
    bool oom;
} fc_str;

void fc_str_init(fc_str *s, const fc_alloc *alloc);
void fc_str_free(fc_str *s);
void fc_str_clear(fc_str *s);
void fc_str_add(fc_str *s, const char *text);
void fc_str_addn(fc_str *s, const char *text, size_t n);
void fc_str_char(fc_str *s, char c);
void fc_str_printf(fc_str *s, const char *fmt, ...) FC_PRINTF(2, 3);
void fc_str_vprintf(fc_str *s, const char *fmt, va_list ap);
/* Shortest decimal that reads back to the same bits of an f64 (or f32 when `f32`), independent of
 * the locale; "inf", "-inf", "nan". A number that looks like an integer gets no ".0". */
void fc_str_double(fc_str *s, double v, bool f32);

/* ---- growable arrays ----------------------------------------------------------------------
 *
 *     FC_VEC(uint32_t) ids = {0};
 *     if (!fc_push(alloc, &ids, 7)) return fc_oom(e);
 *     ... ids.at[i], ids.len ...
 *     fc_vec_free(alloc, &ids);
 */
#define FC_VEC(T)                                                                                  \
    struct {                                                                                       \
        T *at;                                                                                     \
        size_t len, cap;                                                                           \
    }
#define fc_push(alloc, v, value)                                                                   \
    (fc_vec_grow((alloc), (void **)&(v)->at, &(v)->cap, (v)->len + 1, sizeof *(v)->at)             \
         ? ((v)->at[(v)->len++] = (value), true)                                                   \
         : false)
#define fc_reserve(alloc, v, n)                                                                    \
    fc_vec_grow((alloc), (void **)&(v)->at, &(v)->cap, (n), sizeof *(v)->at)
#define fc_vec_free(alloc, v) (fc_free((alloc), (v)->at), (v)->at = NULL, (v)->len = (v)->cap = 0)
bool fc_vec_grow(const fc_alloc *alloc, void **at, size_t *cap, size_t need, size_t elem);

/* ---- arithmetic and hashing -------------------------------------------------------------- */

static inline bool fc_mul_ok(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool fc_add_ok(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline int64_t fc_magnitude(int64_t v) { /* of the smallest number, the largest */
    return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}
/* Of numbers that are not negative, for counts that are only shown: the largest, where 64 bits end.
 */
static inline int64_t fc_mul_most(int64_t a, int64_t b) {
    int64_t v;
    return fc_mul_ok(a, b, &v) ? v : INT64_MAX;
}
static inline int64_t fc_add_most(int64_t a, int64_t b) {
    int64_t v;
    return fc_add_ok(a, b, &v) ? v : INT64_MAX;
}

/* 64-bit mix for hash tables (not for files: those use SHA-256, runtime/sha256.h). */
static inline uint64_t fc_mix(uint64_t h, uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdu;
    return h ^ (h >> 32);
}
uint64_t fc_hash_bytes(const void *p, size_t n);

/* Reads a decimal or hexadecimal number independently of the locale. `end` gets the first character
 * not read; returns false when there is no number. */
bool fc_parse_double(const char *s, const char **end, double *out);

#endif
