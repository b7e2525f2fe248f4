/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench.h - what the benchmark programs share: programs from text, inputs that every process makes
 * the same way, clocks of the device, statistics.
 *
 * Everything ends the process with a message on failure: these are programs for measuring, and a
 * measurement that went wrong has no result. */
#ifndef FUSEC_BENCH_SUPPORT_H
#define FUSEC_BENCH_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <fusec/fusec.h>

enum { BENCH_RANK = 8 };

void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void bench_check(fusec_context *ctx, fusec_status s, const char *what);
void *bench_calloc(size_t n, size_t size);
double bench_now(void); /* seconds, monotonic */

/* ---- one input, as the command line has it ---------------------------------------------------
 *
 * NAME:DTYPE:SIZES:KIND[:LOW:HIGH] with SIZES 4096x1024 or empty for rank 0. KIND is u (uniform in
 * [LOW, HIGH)), n (about normal), or, of indices, p (a permutation of as many numbers, a power of
 * two) or s (rising, of four times as many). */
typedef struct bench_input {
    char name[32];
    fusec_dtype dtype;
    int rank;
    int64_t shape[BENCH_RANK];
    char kind; /* its letter */
    double low, high;
} bench_input;

void bench_input_parse(const char *word, bench_input *out);
int64_t bench_count(int rank, const int64_t *shape);
size_t bench_bytes(fusec_dtype t, int rank, const int64_t *shape);

/* Element i of an input is a function of `seed`, i, dtype and kind alone, made of 32-bit integer
 * operations and single roundings, so that bench/peers/data.py makes the same bits:
 *
 *     mix(h)     h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13; h *= 0xc2b2ae35; h ^= h >> 16
 *     word(i)    mix(i + seed * 0x9e3779b9)
 *     u  f64     word * 2^-32 * (high - low) + low
 *     u  others  (word >> 8) * 2^-24 * (high - low) + low in f32, then converted
 *     n  others  (sum of the four 16-bit halves of word and mix(word + 0x9e3779b9)
 *                - 131070) / 37837
 *     s          4 * i + (word >> 30)
 *     p          h = i + seed * 0x9e3779b9; twice: h ^= h >> half, h *= one of the factors of mix;
 *                h ^= h >> half; all below n, with half the bits of n in `half` */
void bench_fill(fusec_context *ctx, const bench_input *in, uint32_t seed, void *device);

/* ---- programs from text ---------------------------------------------------------------------- */

/* The graph of the only definition in `text`, with the inputs' types; the caller's to free. */
fusec_graph *bench_graph_of(fusec_context *ctx, const char *text, int n, const bench_input *in,
                            unsigned mode);
unsigned bench_mode(const char *word); /* "strict", "wide16", "fast" */

/* ---- a GPU's clock and copies, through the driver -------------------------------------------- */

typedef struct bench_gpu bench_gpu;
bench_gpu *bench_gpu_open(void);
void bench_gpu_close(bench_gpu *g);
void *bench_gpu_stream(bench_gpu *g);
void bench_gpu_mark(bench_gpu *g, int which); /* records event 0 or 1 on the stream */
double bench_gpu_elapsed(bench_gpu *g);       /* seconds from event 0 to event 1; waits */
void bench_gpu_sync(bench_gpu *g);
void bench_gpu_copy(bench_gpu *g, void *to, const void *from, size_t bytes); /* on the stream */
void bench_gpu_empty(bench_gpu *g); /* launches a kernel that does nothing */
int64_t bench_gpu_l2(bench_gpu *g); /* bytes */
const char *bench_gpu_name(bench_gpu *g);

/* ---- statistics ------------------------------------------------------------------------------ */

typedef struct bench_stat {
    double median, spread, least; /* spread: half the distance of the quartiles */
    int n;
} bench_stat;
bench_stat bench_stat_of(double *t, int n); /* sorts t */
void bench_put_stat(FILE *f, const char *name, bench_stat s, double scale);
void bench_put_text(FILE *f, const char *text); /* as a JSON string */

/* ---- the CPU's memory ---------------------------------------------------------------------------
 *
 * Seconds for one pass over `bytes` of memory by `threads` threads, of `sets` rotated blocks: of
 * several times 20 ms. n is 0 where the blocks are too small to be shared by the threads. A copy
 * reads half of the bytes and writes the other half; COPY_STREAM stores past the cache. */
typedef enum bench_stream_kind { BENCH_COPY, BENCH_COPY_STREAM, BENCH_READ } bench_stream_kind;
bench_stat bench_stream(bench_stream_kind kind, size_t bytes, int threads, int sets);

#endif
