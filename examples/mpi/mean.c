/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mean.c - mean, deviation and largest value of an array that lies in parts on the ranks of MPI.
 *
 *     mpirun -n 4 mean [ELEMENTS]
 *
 * Each rank computes the accumulators of its part; they go to rank 0 as bytes and are merged there
 * in the order in which they come, which differs from run to run. The results do not: they have the
 * bits of one call on all of the array, which rank 0 makes to compare. So it is for any number of
 * ranks. A reduction by MPI_SUM of the parts' sums would give other bits for each number of ranks.
 */
#include <fusec/fusec.h>
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "def f(x: f32[n]) { return mean(x), std(x), max(x) }";
enum { RESULTS = 3 };

typedef struct rank {
    int number, count;
    fusec_context *ctx;
    fusec_module *module;
    fusec_program *program;
    fusec_cut *cut;
    fusec_partial *known;
} rank;

static void check(const rank *r, int bad, const char *what) {
    if (!bad) return;
    fprintf(stderr, "rank %d, %s: %s\n", r->number, what,
            r->ctx ? fusec_message(r->ctx) : "failed");
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Element i of the array: what a rank would read from its part of a file. */
static float element(int64_t i) {
    return (float)(i % 1000) * 0.001f - 0.25f;
}

static float *make_part(const rank *r, int64_t begin, int64_t end) {
    float *x = malloc((size_t)(end - begin) * sizeof *x + 1);
    check(r, !x, "memory");
    for (int64_t i = begin; i < end; i++) x[i - begin] = element(i);
    return x;
}

static void outputs(float *values, fusec_tensor *out) {
    for (int k = 0; k < RESULTS; k++)
        out[k] = (fusec_tensor){.data = &values[k], .dtype = FUSEC_F32};
}

static void open_rank(rank *r) {
    MPI_Comm_rank(MPI_COMM_WORLD, &r->number);
    MPI_Comm_size(MPI_COMM_WORLD, &r->count);
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.threads = 1; /* the ranks are the threads */
    check(r, fusec_context_new(&o, &r->ctx), "a context");
    check(r, fusec_parse(r->ctx, NULL, text, &r->module), "the program");
    check(r, fusec_module_compile(r->module, NULL, 0, &r->program), "the program");
    check(r, fusec_program_cut(r->program, "n", &r->cut), "the cut");
    check(r, fusec_partial_new(r->cut, &r->known), "a partial");
}

static void close_rank(rank *r) {
    fusec_partial_free(r->known);
    fusec_cut_free(r->cut);
    fusec_program_free(r->program);
    fusec_module_free(r->module);
    fusec_context_free(r->ctx);
}

/* The rank's part: about as many elements as the others', from a multiple of the grain on. */
static void compute_part(rank *r, int64_t total) {
    fusec_tensor in = {.shape = &total, .rank = 1, .dtype = FUSEC_F32}, out[RESULTS];
    fusec_piece where = FUSEC_PIECE_INIT;
    float unused[RESULTS];
    int64_t grain, n;
    check(r, fusec_cut_grain(r->cut, 1, &in, &grain), "the grain");
    const int64_t units = total / grain;
    where.total = total;
    where.begin = units * r->number / r->count * grain;
    where.end = r->number + 1 < r->count ? units * (r->number + 1) / r->count * grain : total;
    n = where.end - where.begin;
    in.shape = &n;
    in.data = make_part(r, where.begin, where.end);
    outputs(unused, out);
    check(r, fusec_run_piece(r->cut, NULL, 0, &where, 1, &in, RESULTS, out, NULL, r->known),
          "its part");
    free(in.data);
}

static void send_known(const rank *r) {
    size_t n;
    check(r, fusec_partial_bytes(r->known, NULL, 0, &n), "bytes");
    char *bytes = malloc(n);
    check(r, !bytes || fusec_partial_bytes(r->known, bytes, n, &n), "bytes");
    MPI_Send(bytes, (int)n, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    free(bytes);
}

static void merge_one(const rank *r) {
    MPI_Status s;
    int n;
    fusec_partial *other;
    MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, MPI_BYTE, &n);
    char *bytes = malloc((size_t)n);
    check(r, !bytes, "memory");
    MPI_Recv(bytes, n, MPI_BYTE, s.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(r, fusec_partial_from(r->cut, bytes, (size_t)n, &other), "what a rank sent");
    check(r, fusec_partial_merge(r->known, other), "merging");
    fusec_partial_free(other);
    free(bytes);
}

/* What all ranks found, next to one call. */
static int finish(const rank *r, int64_t total) {
    fusec_tensor in = {.shape = &total, .rank = 1, .dtype = FUSEC_F32}, out[RESULTS];
    float got[RESULTS], want[RESULTS];
    outputs(got, out);
    check(r, fusec_run_finish(r->cut, NULL, total, 1, &in, RESULTS, out, r->known), "the end");
    in.data = make_part(r, 0, total);
    outputs(want, out);
    check(r, fusec_run(r->program, 1, &in, RESULTS, out), "one call");
    free(in.data);
    const int same = !memcmp(got, want, sizeof got);
    printf("%lld values on %d ranks: mean %.9g, deviation %.9g, largest %.9g, %s\n",
           (long long)total, r->count, got[0], got[1], got[2],
           same ? "the bits of one call" : "NOT the bits of one call");
    return !same;
}

int main(int argc, char **argv) {
    rank r = {0};
    const int64_t total = argc > 1 ? atoll(argv[1]) : 10000019;
    int status = 0;
    MPI_Init(&argc, &argv);
    open_rank(&r);
    compute_part(&r, total);
    if (r.number) send_known(&r);
    for (int k = 1; !r.number && k < r.count; k++) merge_one(&r);
    if (!r.number) status = finish(&r, total);
    close_rank(&r);
    MPI_Finalize();
    return status;
}
