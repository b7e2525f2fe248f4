/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* data.c - inputs: their description on the command line, and the numbers in them. The numbers are
 * made by the library itself on the device; a mistake there shows when results are compared with
 * those of inputs made elsewhere. */
#include "bench/support/bench.h"

#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"

static fusec_dtype dtype_named(const char *name) {
    for (int t = 0; t < FC_DTYPE_ALL; t++)
        if (!strcmp(fusec_dtype_name((fusec_dtype)t), name)) return (fusec_dtype)t;
    bench_fail("%s is no dtype", name);
}

static void parse_sizes(bench_input *out, char *p, const char *word) {
    while (*p) {
        char *end;
        if (out->rank == BENCH_RANK) bench_fail("%s has too many axes", word);
        out->shape[out->rank] = strtoll(p, &end, 10);
        if (end == p || out->shape[out->rank++] < 1 || (*end && *end != 'x'))
            bench_fail("%s: the sizes are not like 4096x1024", word);
        p = *end ? end + 1 : end;
    }
}

void bench_input_parse(const char *word, bench_input *out) {
    char copy[256], *part[6] = {0}, *p = copy;
    int n = 0;
    *out = (bench_input){.low = -1, .high = 1};
    if (strlen(word) >= sizeof copy) bench_fail("%.40s... is too long", word);
    strcpy(copy, word);
    while (p && n < 6) {
        part[n++] = p;
        p = strchr(p, ':');
        if (p) *p++ = 0;
    }
    if (n < 4 || n == 5 || strlen(part[0]) >= sizeof out->name)
        bench_fail("%s is not NAME:DTYPE:SIZES:KIND[:LOW:HIGH]", word);
    strcpy(out->name, part[0]);
    out->dtype = dtype_named(part[1]);
    parse_sizes(out, part[2], word);
    out->kind = part[3][0];
    if (strlen(part[3]) != 1 || !strchr("unps", out->kind))
        bench_fail("%s: the kind is none of u, n, p and s", word);
    if (n == 6) {
        out->low = atof(part[4]);
        out->high = atof(part[5]);
    }
}

int64_t bench_count(int rank, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    return n;
}

size_t bench_bytes(fusec_dtype t, int rank, const int64_t *shape) {
    return (size_t)bench_count(rank, shape) * fusec_dtype_bytes(t);
}

/* ---- the numbers ----------------------------------------------------------------------------- */

static fusec_value word32(fusec_graph *g, uint32_t v) {
    return fusec_const(g, FUSEC_U32, (double)v);
}

static fusec_value mix(fusec_graph *g, fusec_value h) {
    h = fusec_mul(fusec_bit_xor(h, fusec_shr(h, word32(g, 16))), word32(g, 0x85ebca6bu));
    h = fusec_mul(fusec_bit_xor(h, fusec_shr(h, word32(g, 13))), word32(g, 0xc2b2ae35u));
    return fusec_bit_xor(h, fusec_shr(h, word32(g, 16)));
}

static fusec_value halves(fusec_graph *g, fusec_value h) {
    fusec_value low = fusec_bit_and(h, word32(g, 0xffff)), high = fusec_shr(h, word32(g, 16));
    return fusec_cast(fusec_add(low, high), FUSEC_I32);
}

static fusec_value below(fusec_graph *g, fusec_value h, int64_t n) {
    return fusec_bit_and(h, word32(g, (uint32_t)(n - 1)));
}

static fusec_value permuted(fusec_graph *g, fusec_value h, int64_t n) {
    unsigned half = 0;
    while ((int64_t)1 << (2 * half + 2) <= n) half++;
    if (n & (n - 1) || n > (int64_t)1 << 31) bench_fail("%lld is no power of two", (long long)n);
    h = below(g, h, n);
    h = fusec_mul(fusec_bit_xor(h, fusec_shr(h, word32(g, half))), word32(g, 0x85ebca6bu));
    h = below(g, h, n);
    h = fusec_mul(fusec_bit_xor(h, fusec_shr(h, word32(g, half))), word32(g, 0xc2b2ae35u));
    h = below(g, h, n);
    return fusec_bit_xor(h, fusec_shr(h, word32(g, half)));
}

/* The seed is an argument of the call, so that one kernel makes all inputs of a kind. */
static fusec_value numbers(fusec_graph *g, const bench_input *in, int64_t n) {
    fusec_value seed = fusec_input(g, "seed", FUSEC_U32, 0, NULL);
    fusec_value i = fusec_cast(fusec_arange(g, fusec_size(g, n)), FUSEC_U32);
    fusec_value first = fusec_add(i, fusec_mul(seed, word32(g, 0x9e3779b9u))), h = mix(g, first);
    fusec_dtype wide = in->dtype == FUSEC_F64 ? FUSEC_F64 : FUSEC_F32;
    if (in->kind == 'p') return fusec_cast(permuted(g, first, n), in->dtype);
    if (in->kind == 's')
        return fusec_cast(fusec_add(fusec_mul(i, word32(g, 4)), fusec_shr(h, word32(g, 30))),
                          in->dtype);
    if (in->kind == 'n') {
        fusec_value other = mix(g, fusec_add(h, word32(g, 0x9e3779b9u)));
        fusec_value sum = fusec_add(halves(g, h), halves(g, other));
        fusec_value x = fusec_cast(fusec_sub(sum, fusec_int(131070)), wide);
        return fusec_cast(fusec_mul(x, fusec_const(g, wide, 1.0 / 37837)), in->dtype);
    }
    fusec_value u = in->dtype == FUSEC_F64
                        ? fusec_mul(fusec_cast(h, FUSEC_F64), fusec_const(g, wide, 0x1p-32))
                        : fusec_mul(fusec_cast(fusec_shr(h, word32(g, 8)), FUSEC_F32),
                                    fusec_const(g, wide, 0x1p-24));
    u = fusec_mul(u, fusec_const(g, wide, in->high - in->low));
    return fusec_cast(fusec_add(u, fusec_const(g, wide, in->low)), in->dtype);
}

void bench_fill(fusec_context *ctx, const bench_input *in, uint32_t seed, void *device) {
    int64_t n = bench_count(in->rank, in->shape);
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    bench_check(ctx, fusec_graph_new(ctx, &g), "data");
    fusec_output(g, "out", numbers(g, in, n));
    bench_check(ctx, fusec_compile(g, &p), "data");
    fusec_tensor word = {.data = &seed, .dtype = FUSEC_U32};
    fusec_tensor out = {
        .data = device, .shape = &n, .rank = 1, .dtype = in->dtype, .place = FUSEC_DEVICE};
    bench_check(ctx, fusec_run(p, 1, &word, 1, &out), "data");
    fusec_program_free(p);
    fusec_graph_free(g);
}
