/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_pieces.c - programs in pieces: any cut, any order, any way of joining gives the bits of one
 * call. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/capi.h"
#include "tests/support/faults.h"
#include "tests/support/test.h"
#include "tests/support/oracle_run.h"

enum { MOST = 4, PARTIALS = 3 };

/* Arrays of a program, with memory of their own. */
typedef struct arrays {
    int n;
    fusec_tensor t[MOST];
    int64_t shape[MOST][8];
} arrays;

typedef struct box {
    fusec_context *ctx;
    fusec_module *m;
    fusec_program *p;
    fusec_cut *cut;
    arrays in, want, got;
    fc_rng rng, cuts; /* `cuts`: from which the pieces of the first sweep were chosen */
    bool same_pieces;
    int64_t total;
} box;

static size_t bytes_of(const fusec_tensor *t) {
    size_t n = fc_dtypes[t->dtype].bytes;
    for (int i = 0; i < t->rank; i++) n *= (size_t)t->shape[i];
    return n;
}

static void make_array(arrays *a, uint32_t dtype, int rank, const int64_t *shape) {
    fusec_tensor *t = &a->t[a->n];
    memcpy(a->shape[a->n], shape, (size_t)rank * sizeof *shape);
    *t = (fusec_tensor){.shape = a->shape[a->n], .rank = rank, .dtype = dtype};
    t->data = calloc(1, bytes_of(t) + 64);
    a->n++;
}

static void free_arrays(arrays *a) {
    for (int i = 0; i < a->n; i++) free(a->t[i].data);
    a->n = 0;
}

static void fill(box *b, fusec_tensor *t) {
    const size_t n = bytes_of(t) / fc_dtypes[t->dtype].bytes;
    for (size_t i = 0; i < n; i++) {
        const double v = (double)(int64_t)fc_below(&b->rng, 2001) / 100 - 10;
        const uint64_t bits = fc_const_bits((fusec_dtype)t->dtype, v);
        memcpy((char *)t->data + i * fc_dtypes[t->dtype].bytes, &bits, fc_dtypes[t->dtype].bytes);
    }
}

/* The program of a text; the inputs have the dtypes and shapes given, filled at random. */
/* A function of the user, for programs that name it. */
static float five(float a, float b, float c, float d, float e) {
    return a * b - c * d + e;
}

static fusec_status give_five(fusec_module *m) {
    static const fusec_dtype floats[] = {FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32};
    fusec_extern_desc d = FUSEC_EXTERN_DESC_INIT;
    d.name = "five";
    d.nargs = 5;
    d.dtypes = floats;
    d.result = FUSEC_F32;
    d.scalar = (void (*)(void))five;
    return fusec_module_extern(m, &d);
}

static bool open_box(box *b, fusec_context *ctx, const char *text, uint64_t seed) {
    memset(b, 0, sizeof *b);
    b->rng = (fc_rng){seed};
    b->same_pieces = strstr(text, "cum") != NULL;
    b->ctx = ctx;
    FC_EXPECT_OK_TEXT(fusec_parse(ctx, NULL, text, &b->m), fusec_message(ctx));
    if (b->m) FC_EXPECT_OK_TEXT(give_five(b->m), fusec_message(ctx));
    if (b->m) FC_EXPECT_OK_TEXT(fusec_module_compile(b->m, NULL, 0, &b->p), fusec_message(ctx));
    if (b->p) FC_EXPECT_OK_TEXT(fusec_program_cut(b->p, "n", &b->cut), fusec_message(ctx));
    return b->cut != NULL;
}

static void close_box(box *b) {
    free_arrays(&b->in), free_arrays(&b->want), free_arrays(&b->got);
    fusec_cut_free(b->cut);
    fusec_program_free(b->p);
    fusec_module_free(b->m);
}

/* One call, and as many arrays for what the pieces give. */
static void run_whole(box *b) {
    int64_t sizes[MOST * 8], *s = sizes;
    FC_EXPECT_OK_TEXT(fusec_output_shapes(b->p, b->in.n, b->in.t, sizes, MOST * 8),
                      fusec_message(b->ctx));
    for (int i = 0; i < fusec_output_count(b->p); i++) {
        make_array(&b->want, fusec_output_dtype(b->p, i), fusec_output_rank(b->p, i), s);
        make_array(&b->got, fusec_output_dtype(b->p, i), fusec_output_rank(b->p, i), s);
        s += fusec_output_rank(b->p, i);
    }
    FC_EXPECT_OK_TEXT(fusec_run(b->p, b->in.n, b->in.t, b->want.n, b->want.t),
                      fusec_message(b->ctx));
}

/* Elements [begin, end) of an axis with those at the other end, as a copy. */
static void copy_round(const fusec_tensor *t, int axis, int64_t begin, int64_t end,
                       fusec_tensor *out) {
    int64_t row = (int64_t)fc_dtypes[t->dtype].bytes, rows = 1;
    const int64_t size = t->shape[axis];
    for (int k = 0; k < t->rank; k++)
        if (k < axis) rows *= t->shape[k];
    for (int k = axis + 1; k < t->rank; k++) row *= t->shape[k];
    char *to = malloc((size_t)((end - begin) * rows * row) + 1);
    out->data = to, out->strides = NULL;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = begin; k < end; k++, to += row)
            memcpy(to, (char *)t->data + (r * size + (k % size + size) % size) * row, (size_t)row);
}

/* The part of an array that a piece has; strides make it a view. */
static void view(const fusec_tensor *t, int axis, int64_t begin, int64_t end, fusec_tensor *out,
                 int64_t shape[8], int64_t strides[8]) {
    int64_t step = 1;
    *out = *t;
    if (axis < 0) return;
    for (int k = t->rank; k-- > 0; step *= t->shape[k]) strides[k] = step, shape[k] = t->shape[k];
    shape[axis] = end - begin;
    out->shape = shape;
    out->strides = strides;
    out->data = (char *)t->data + begin * strides[axis] * (int64_t)fc_dtypes[t->dtype].bytes;
}

static fusec_status run_piece(box *b, int sweep, int64_t begin, int64_t end, fusec_partial *before,
                              fusec_partial *into) {
    fusec_piece w = FUSEC_PIECE_INIT;
    fusec_tensor in[MOST], out[MOST];
    int64_t shape[2 * MOST][8], strides[2 * MOST][8];
    bool copied[MOST] = {false};
    w.begin = begin, w.end = end, w.total = b->total;
    for (int i = 0; i < b->in.n; i++) {
        const int axis = fusec_cut_input_axis(b->cut, i);
        int64_t from = begin, to = end;
        if (axis >= 0) fusec_cut_input_range(b->cut, i, &w, &from, &to);
        view(&b->in.t[i], axis, from, to, &in[i], shape[i], strides[i]);
        copied[i] = axis >= 0 && (from < 0 || to > b->in.t[i].shape[axis]);
        if (copied[i]) copy_round(&b->in.t[i], axis, from, to, &in[i]);
    }
    for (int i = 0; i < b->got.n; i++) {
        const int axis = fusec_cut_output_axis(b->cut, i);
        int64_t from = begin, to = end;
        if (axis >= 0) fusec_cut_output_range(b->cut, i, &w, &from, &to);
        view(&b->got.t[i], axis, from, to, &out[i], shape[MOST + i], strides[MOST + i]);
    }
    const fusec_status s =
        fusec_run_piece(b->cut, NULL, sweep, &w, b->in.n, in, b->got.n, out, before, into);
    for (int i = 0; i < b->in.n; i++)
        if (copied[i]) free(in[i].data);
    return s;
}

/* Through bytes and back. */
static fusec_partial *sent(box *b, fusec_partial *p) {
    size_t n = 0, again = 0;
    fusec_partial *q = NULL;
    FC_EXPECT_OK_TEXT(fusec_partial_bytes(p, NULL, 0, &n), "");
    char *bytes = malloc(n);
    FC_EXPECT_OK_TEXT(fusec_partial_bytes(p, bytes, n, &again), "");
    FC_EXPECT_EQ_U64(again, n);
    FC_EXPECT_OK_TEXT(fusec_partial_from(b->cut, bytes, n, &q), fusec_message(b->ctx));
    free(bytes);
    fusec_partial_free(p);
    return q;
}

/* A sweep in random pieces in random order, each into one of a few partials; joined. Where there
 * are scans, the pieces are those of the sweep before. */
static fusec_partial *sweep(box *b, int number, int64_t grain, fusec_partial *before) {
    enum { PIECES = 9 };
    int64_t at[PIECES + 1] = {0}, n = 0;
    fusec_partial *p[PARTIALS];
    int order[PIECES];
    for (int i = 0; i < PARTIALS; i++)
        FC_EXPECT_OK_TEXT(fusec_partial_new(b->cut, &p[i]), fusec_message(b->ctx));
    const int64_t most = b->total / grain + 1;
    if (number == 0) b->cuts = b->rng;
    fc_rng *rng = b->same_pieces ? &(fc_rng){0} : &b->rng;
    if (b->same_pieces) *rng = b->cuts;
    while (n < PIECES - 1 && at[n] < b->total) {
        at[n + 1] =
            at[n] + grain * (int64_t)(1 + fc_below(rng, (uint64_t)(most < 3 ? 1 : most / 3)));
        if (at[n + 1] > b->total) at[n + 1] = b->total;
        n++;
    }
    if (!n || at[n] < b->total) at[++n] = b->total;
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = (int)n; i-- > 1;) {
        const int k = (int)fc_below(&b->rng, (uint64_t)i + 1), o = order[i];
        order[i] = order[k], order[k] = o;
    }
    for (int i = 0; i < n; i++)
        FC_EXPECT_OK_TEXT(run_piece(b, number, at[order[i]], at[order[i] + 1], before,
                                    p[fc_below(&b->rng, PARTIALS)]),
                          fusec_message(b->ctx));
    for (int i = 1; i < PARTIALS; i++) {
        p[i] = sent(b, p[i]);
        FC_EXPECT_OK_TEXT(fusec_partial_merge(p[0], p[i]), fusec_message(b->ctx));
        fusec_partial_free(p[i]);
    }
    return p[0];
}

static void expect_equal(box *b, const char *what) {
    for (int i = 0; i < b->want.n; i++) {
        FC_TRACE("output %d of %s, %lld positions", i, what, (long long)b->total);
        FC_EXPECT_MEMEQ(b->got.t[i].data, b->want.t[i].data, bytes_of(&b->want.t[i]));
        FC_UNTRACE();
    }
}

typedef struct program {
    const char *text;
    int sweeps, rank, axis; /* of x, and where n is */
    int64_t least;          /* n for which it means something */
} program;

static const program programs[] = {
    {"def f(x: f32[n]) { return sin(x*2 + 1) }", 1, 1, 0, 1},
    {"def f(x: f32[n]) { return sum(x) }", 1, 1, 0, 1},
    {"def f(x: f32[n]) { return x / sum(x) }", 2, 1, 0, 1},
    {"def f(x: f32[n]) {\n e = exp(x - max(x))\n return e / sum(e)\n}", 3, 1, 0, 1},
    {"def f(x: f16[n]) { return sum(x) }", 1, 1, 0, 1},
    {"def f(x: bf16[n]) { return mean(exp(x*0.25)) }", 1, 1, 0, 1},
    {"def f(x: i32[n]) { return argmax(x % 7) }", 1, 1, 0, 1},
    {"def f(x: f32[n]) { return argmin(abs(round(x))) }", 1, 1, 0, 1},
    {"def f(x: f32[n, m]) { return sum(x, axis=0) }", 1, 2, 0, 1},
    {"def f(x: f32[n, m]) { return sum(x) }", 1, 2, 0, 1},
    {"def f(x: f64[n, m]) { return (x - mean(x, axis=0)) * 2 }", 2, 2, 0, 1},
    {"def f(x: f32[n, m]) { return x / sum(x, axis=1, keepdims=true) }", 1, 2, 0, 1},
    {"def f(x: f32[m, n]) { return max(x, axis=1) }", 1, 2, 1, 1},
    {"def f(x: f32[m, n]) { return x.T * 2 }", 1, 2, 1, 1},
    {"def f(x: f32[n, m]) { return x.T @ x }", 1, 2, 0, 1},
    {"def f(x: f32[n]) { return sum(where(arange(n) % 3 == 0, x, 0)) / n }", 1, 1, 0, 1},
    {"def f(x: f32[n]) { return x[1:] - x[:-1] }", 1, 1, 0, 1},
    {"def f(x: f32[n]) { return x[:n-8] + 2*x[4:n-4] + x[8:] + x[:n-8]/sum(x[1:]) }", 2, 1, 0, 8},
    {"def f(x: f32[n, m]) { return sum(abs(x[1:] - x[:-1]), axis=0), max(x[3:n-2]) }", 1, 2, 0, 6},
    {"def f(x: f32[n, m]) { return (x[2:] - x[:n-2])[1:] * x[1:n-2] * (arange(n)[:n-3, None] % 5) "
     "}",
     1, 2, 0, 3},
    {"def f(x: f32[n]) { return (x - mean(x)) / std(x), var(x) }", 2, 1, 0, 1},
    {"def f(x: f16[n, m]) { return var(x, axis=0), std(x) }", 1, 2, 0, 1},
    {"def f(x: f64[m, n]) { return std(x, axis=1) }", 1, 2, 1, 1},
    {"def f(x: f32[n]) {\n b = boundary(x, mode=\"edge\")\n y[i in 0..n] = b[i-3] + b[i+2]\n "
     "return y\n}",
     1, 1, 0, 1},
    {"def f(x: f32[n, m]) {\n b = boundary(x, mode=\"reflect\")\n"
     " y[i in 0..n, j in 0..m] = b[i-2, j] + b[i+5, j-1]*2\n return y, max(y, axis=0)\n}",
     1, 2, 0, 6},
    {"def f(x: f32[n]) {\n b = boundary(x, mode=\"symmetric\")\n c = boundary(x[1:], "
     "mode=\"zero\")\n"
     " y[i in 0..n] = b[i-40] - c[i+30] + b[i+50]\n return y - mean(y)\n}",
     2, 1, 0, 60},
    {"def f(x: f32[n]) { return pad(x, [[2, 3]], mode=\"reflect\") }", 1, 1, 0, 4},
    {"def f(x: f32[n]) { return mean(x[1:]), x[1:] - std(x[:n-1]), argmax(x[1:n]) }", 2, 1, 0, 2},
    {"def f(x: f32[n]) { return sum(x[1:]), var(x[1:]), x*sum(x[:n-1]) }", 2, 1, 0, 1},
    {"extern def five(a: f32, b: f32, c: f32, d: f32, e: f32) -> f32\n"
     "def f(x: f32[n]) {\n y = five(x[1:], 2, 0.5, x[:n-1], x[1:])\n return y, sum(five(x, x, 1, "
     "2, "
     "x))\n}",
     1, 1, 0, 1},
    {"def f(x: f32[n]) { return cumsum(x, axis=0) }", 2, 1, 0, 1},
    {"def f(x: f16[n, m]) { return cumsum(x, axis=0), sum(x) }", 2, 2, 0, 1},
    {"def f(x: f64[m, n]) { return cumprod(1 + x/1000, axis=1) * 2 }", 2, 2, 1, 1},
    {"def f(x: f32[n, m]) { return cummax(sin(x), axis=0) - cummin(x, axis=0)/sum(x) }", 2, 2, 0,
     1},
    {"def f(x: i32[n]) { return cumsum(cumsum(x, axis=0) % 7, axis=0) }", 3, 1, 0, 1},
    {"def f(x: f32[n]) { return cumsum(x - mean(x), axis=0), cumany(x > 9.9, axis=0) }", 3, 1, 0,
     1},
    {"def f(x: f32[n]) { return cumsum(x, axis=0, exclusive=true)[1:] }", 2, 1, 0, 1},
    {"def f(x: f32[n]) {\n c = cumsum(x, axis=0)\n return (c[9:] - c[:n-9]) / 9, sum(x)\n}", 2, 1,
     0, 9},
    {"def f(x: f32[n, m]) {\n c = cumsum(x, axis=0)\n return c[20:n-20] - c[:n-40] + c[40:]\n}", 2,
     2, 0, 41},
    {"def f(x: f32[n]) {\n b = boundary(x, mode=\"wrap\")\n y[i in 0..n] = b[i-1] + b[i+2]*3\n "
     "return y\n}",
     1, 1, 0, 1},
    {"def f(x: f32[m, n]) {\n b = boundary(x*2, mode=\"wrap\")\n"
     " y[j in 0..m, i in 0..n] = b[j, i-40] + b[j-1, i] + x[j, i]\n"
     " c = boundary(y, mode=\"wrap\")\n"
     " z[j in 0..m, i in 0..n] = c[j, i+30] - c[j, i-1]\n return z\n}",
     1, 2, 1, 1},
    {"def f(x: f32[n, m]) {\n b = boundary(x*arange(n)[:, None], mode=\"wrap\")\n"
     " e = boundary(x, mode=\"edge\")\n"
     " y[i in 0..n, j in 0..m] = b[i-2, j] + e[i+5, j] + e[i-5, j]\n return y, max(y, axis=0)\n}",
     1, 2, 0, 1},
    {"def f(x: f32[n]) { return roll(x, 3) + roll(x, -5)/sum(x) }", 2, 1, 0, 1},
    {"def f(x: f32[n]) { return any(x > 9.9), all(x < 10), x + min(x), max(x) }", 2, 1, 0, 1},
};

static void cut_and_compare(box *b, const program *p) {
    int64_t grain = 0;
    FC_EXPECT_EQ_I64(fusec_cut_sweeps(b->cut), p->sweeps);
    FC_EXPECT_OK_TEXT(fusec_cut_grain(b->cut, b->in.n, b->in.t, &grain), fusec_message(b->ctx));
    fusec_partial *all = NULL;
    FC_EXPECT_OK_TEXT(fusec_partial_new(b->cut, &all), fusec_message(b->ctx));
    for (int s = 0; s < p->sweeps && grain; s++) {
        fusec_partial *one = sweep(b, s, grain, all);
        FC_EXPECT_OK_TEXT(fusec_partial_merge(all, one), fusec_message(b->ctx));
        fusec_partial_free(one);
    }
    FC_EXPECT_OK_TEXT(
        fusec_run_finish(b->cut, NULL, b->total, b->in.n, b->in.t, b->got.n, b->got.t, all),
        fusec_message(b->ctx));
    fusec_partial_free(all);
    expect_equal(b, p->text);
}

/* With the sizes of a line of `sizes`: n and m. */
static void one(box *b, const program *p, int64_t n, int64_t m) {
    static const char *const names[] = {"f16", "bf16", "f64", "i32", "f32"};
    static const uint32_t dtypes[] = {FUSEC_F16, FUSEC_BF16, FUSEC_F64, FUSEC_I32, FUSEC_F32};
    int k = 0;
    while (strncmp(strchr(p->text, ':') + 2, names[k], strlen(names[k])) != 0) k++;
    if (strchr(p->text, '@') && m > 8) m = 8; /* that is much work for the interpreter */
    const int64_t shape[2] = {p->axis ? m : n, p->axis ? n : m};
    make_array(&b->in, dtypes[k], p->rank, shape);
    fill(b, &b->in.t[0]);
    b->total = n;
    run_whole(b);
    cut_and_compare(b, p);
    free_arrays(&b->in), free_arrays(&b->want), free_arrays(&b->got);
}

static void all_programs(const char *device) {
    static const int64_t totals[] = {1, 15, 17, 1023, 1024, 4096, 5000, 70001};
    static const int64_t widths[] = {8, 3, 1, 1025, 4, 100, 7};
    fusec_context *ctx = capi_device(device);
    if (!ctx) FC_SKIP("there is no device %s", device);
    for (size_t i = 0; i < FC_COUNT(programs); i++) {
        box b;
        if (!fc_test_takes(3)) continue;
        if (open_box(&b, ctx, programs[i].text, i))
            for (size_t t = 0; t < FC_COUNT(totals); t++)
                if (totals[t] >= programs[i].least)
                    one(&b, &programs[i], totals[t], widths[t % FC_COUNT(widths)]);
        close_box(&b);
    }
    fusec_context_free(ctx);
}

FC_TEST(pieces, interp) {
    all_programs("interp");
}

FC_TEST(pieces, cpu) {
    all_programs("cpu");
}

/* Pieces in order: what waits for scans alone is done on each piece after the sweep before it. */
FC_TEST(pieces, in_order) {
    static const program scans[] = {
        {"def f(x: f32[n]) { return cumsum(cumsum(x, axis=0) / 100, axis=0), sum(x) }", 3, 1, 0, 1},
        {"def f(x: f32[n]) {\n c = cummax(x, axis=0)\n return c[9:] - c[:n-9]\n}", 2, 1, 0, 9},
    };
    fusec_context *ctx = capi_device("interp");
    for (size_t i = 0; i < FC_COUNT(scans); i++) {
        box b;
        fusec_partial *all = NULL;
        if (!open_box(&b, ctx, scans[i].text, i)) continue;
        make_array(&b.in, FUSEC_F32, 1, &(int64_t){b.total = 9001});
        fill(&b, &b.in.t[0]);
        run_whole(&b);
        FC_EXPECT_EQ_I64(fusec_cut_sweeps(b.cut), scans[i].sweeps);
        FC_EXPECT_OK_TEXT(fusec_partial_new(b.cut, &all), fusec_message(ctx));
        FC_EXPECT_FALSE(fusec_cut_follows(b.cut, 0));
        FC_EXPECT_TRUE(fusec_cut_follows(b.cut, 1) == (i == 1)); /* of the first there is a sum */
        const int first = fusec_cut_follows(b.cut, 1) ? 0 : 1;
        for (int64_t at = 0; at < b.total && first; at += 3072)
            FC_EXPECT_OK_TEXT(
                run_piece(&b, 0, at, at + 3072 < b.total ? at + 3072 : b.total, all, all),
                fusec_message(ctx));
        FC_EXPECT_TRUE(fusec_cut_follows(b.cut, first + 1));
        FC_EXPECT_EQ_I64(run_piece(&b, first + 1, 6144, b.total, all, all), FUSEC_INVALID);
        FC_EXPECT_CONTAINS(fusec_message(ctx), "what a scan has before the piece is missing");
        for (int64_t at = 0; at < b.total; at += 3072)
            for (int s = first; s < scans[i].sweeps; s++)
                FC_EXPECT_OK_TEXT(
                    run_piece(&b, s, at, at + 3072 < b.total ? at + 3072 : b.total, all, all),
                    fusec_message(ctx));
        FC_EXPECT_OK_TEXT(
            fusec_run_finish(b.cut, NULL, b.total, b.in.n, b.in.t, b.got.n, b.got.t, all),
            fusec_message(ctx));
        fusec_partial_free(all);
        expect_equal(&b, scans[i].text);
        close_box(&b);
    }
    FC_EXPECT_FALSE(fusec_cut_follows(NULL, 1));
    fusec_context_free(ctx);
}

/* ---- several devices ------------------------------------------------------------------------- */

/* A program on 1 to 8 devices, of two kinds in turn where functions have the same bits on both: the
 * bits of one. */
static void on_devices(const program *p, int64_t n, int64_t m, const char *const kinds[2]) {
    enum { MOST_DEVICES = 8 };
    fusec_context *ctx[MOST_DEVICES] = {NULL};
    fusec_program *each[MOST_DEVICES] = {NULL};
    box b[MOST_DEVICES];
    int devices = 0;
    for (; devices < MOST_DEVICES; devices++) {
        const bool exact =
            kinds[0][0] == 'c' || (!strstr(p->text, "sin") && !strstr(p->text, "exp"));
        ctx[devices] = capi_device(kinds[exact && devices % 2]);
        if (!ctx[devices]) ctx[devices] = capi_device("interp");
        if (!open_box(&b[devices], ctx[devices], p->text, 7)) break;
        each[devices] = b[devices].p;
    }
    const int64_t shape[2] = {p->axis ? m : n, p->axis ? n : m};
    make_array(&b->in, strstr(p->text, "f64[") ? FUSEC_F64 : FUSEC_F32, p->rank, shape);
    fill(b, &b->in.t[0]);
    b->total = n;
    run_whole(b);
    for (int k = 1; k <= devices; k += k < 2 ? 1 : 6) {
        for (int i = 0; i < b->got.n; i++) memset(b->got.t[i].data, 0xee, bytes_of(&b->got.t[i]));
        FC_EXPECT_OK_TEXT(fusec_run_devices(k, each, "n", b->in.n, b->in.t, b->got.n, b->got.t),
                          fusec_message(ctx[0]));
        expect_equal(b, p->text);
    }
    for (int i = 0; i < devices; i++) close_box(&b[i]), fusec_context_free(ctx[i]);
}

static void programs_on_devices(const char *const kinds[2]) {
    static const program longer = {
        "def f(x: f32[n]) {\n b = boundary(x, mode=\"edge\")\n y[i in 0..n+2] = b[i]\n return y\n}",
        1, 1, 0, 1};
    on_devices(&longer, 2, 1, kinds); /* most devices have nothing to do */
    for (size_t i = 0; i < FC_COUNT(programs); i++) {
        const char *text = programs[i].text;
        if (i % 3 && !strstr(text, "std") && !strstr(text, "boundary")) continue;
        if (!strstr(text, "x: f32[") && !strstr(text, "x: f64[")) continue;
        on_devices(&programs[i], 9001, 5, kinds);
    }
}

FC_TEST(pieces, several_devices) {
    static const char *const kinds[] = {"interp", "cpu"};
    programs_on_devices(kinds);
}

/* Where there is one GPU, several logical devices on it. */
FC_TEST(pieces, several_gpus) {
    const char *kinds[] = {"cuda:0", "cuda:1"};
    for (int i = 0; i < 2; i++) {
        fusec_context *ctx = capi_device(kinds[i]);
        if (!ctx && !i) FC_SKIP("there is no GPU");
        if (!ctx) kinds[i] = kinds[0];
        fusec_context_free(ctx);
    }
    programs_on_devices(kinds);
}

typedef struct caller {
    fusec_program *const *programs;
    const box *b;
    float out[9001];
    fusec_status status;
} caller;

static void *call_devices(void *user) {
    caller *c = user;
    fusec_tensor out = c->b->got.t[0];
    out.data = c->out;
    for (int i = 0; i < 5 && !c->status; i++)
        c->status = fusec_run_devices(2, c->programs, "n", c->b->in.n, c->b->in.t, 1, &out);
    return NULL;
}

/* Calls of the same programs at the same time have cuts of their own. */
FC_TEST(pieces, threads_call_several_devices) {
    static caller c[3];
    static const int64_t shape[1] = {9001};
    const char *text = "def f(x: f32[n]) { return (x - mean(x)) / std(x) }";
    fusec_context *ctx[2] = {capi_device("interp"), capi_device("interp")};
    box b[2];
    if (open_box(&b[0], ctx[0], text, 1) && open_box(&b[1], ctx[1], text, 1)) {
        fusec_program *each[] = {b[0].p, b[1].p};
        pthread_t t[3];
        make_array(&b->in, FUSEC_F32, 1, shape);
        fill(b, &b->in.t[0]);
        b->total = shape[0];
        run_whole(b);
        for (int i = 0; i < 3; i++) {
            c[i] = (caller){.programs = each, .b = b};
            FC_EXPECT_EQ_I64(pthread_create(&t[i], NULL, call_devices, &c[i]), 0);
        }
        for (int i = 0; i < 3; i++) {
            pthread_join(t[i], NULL);
            FC_EXPECT_EQ_I64(c[i].status, FUSEC_OK);
            FC_EXPECT_TRUE(!memcmp(c[i].out, b->want.t[0].data, sizeof c[i].out));
        }
    }
    for (int i = 0; i < 2; i++) close_box(&b[i]), fusec_context_free(ctx[i]);
}

/* ---- what can't be cut ----------------------------------------------------------------------- */

FC_TEST(pieces, refused) {
    static const char *const texts[][2] = {
        {"def f(x: f32[n]) { return x[::-1] }", "slice of type f32[n] reads at other places"},
        {"def f(x: f32[n]) { return x[n-1:] }", "slice of type f32[1] reads at other places"},
        {"def f(x: f32[n]) { return cumsum(x, axis=0, reverse=true) }",
         "slice of type f32[n] reads at other places"},
        {"def f(x: f32[n, n]) { return x * 2 }", "has two axes of this length"},
        {"def f(x: f32[m, n]) { return sum(x) }", "reduces an axis outside it too"},
        {"def f(x: f32[n], i: i32[m]) { return x[i] }", "at computed places along it"},
        {"def f(x: f32[n, m]) { return reshape(x, [m, n]) }", "reads at other places"},
        {"def f(x: f32[n]) {\n b = boundary(cumsum(x, axis=0), mode=\"wrap\")\n y[i in 0..n] = "
         "b[i-1]\n"
         " return y\n}",
         "scan of type f32[n] is read around the ends"},
        {"def f(x: f32[m]) { return x }", "no size n"},
    };
    fusec_context *ctx = capi_device("interp");
    for (size_t i = 0; i < FC_COUNT(texts); i++) {
        fusec_module *m = NULL;
        fusec_program *p = NULL;
        fusec_cut *cut = NULL;
        FC_EXPECT_OK_TEXT(fusec_parse(ctx, NULL, texts[i][0], &m), fusec_message(ctx));
        FC_EXPECT_OK_TEXT(fusec_module_compile(m, NULL, 0, &p), fusec_message(ctx));
        FC_EXPECT_NE_I64(fusec_program_cut(p, "n", &cut), FUSEC_OK);
        FC_EXPECT_CONTAINS(fusec_message(ctx), texts[i][1]);
        FC_EXPECT_EQ_PTR(cut, NULL);
        fusec_program_free(p);
        fusec_module_free(m);
    }
    fusec_context_free(ctx);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static const program mean_of = {"def f(x: f32[n]) { return x - mean(x) }", 2, 1, 0, 1};

static bool open_mean(box *b, int64_t n) {
    const int64_t shape[1] = {n};
    if (!open_box(b, capi_device("interp"), mean_of.text, 1)) return false;
    make_array(&b->in, FUSEC_F32, 1, shape);
    fill(b, &b->in.t[0]);
    b->total = n;
    run_whole(b);
    return true;
}

static void close_mean(box *b) {
    fusec_context *ctx = b->ctx;
    close_box(b);
    fusec_context_free(ctx);
}

#define EXPECT_REFUSED(call, text)                                                                 \
    do {                                                                                           \
        FC_EXPECT_NE_I64((call), FUSEC_OK);                                                        \
        FC_EXPECT_CONTAINS(fusec_message(b.ctx), text);                                            \
    } while (0)

/* What was found out of wide rows is not read as if it were of wider ones. */
FC_TEST(pieces, partials_of_other_sizes) {
    static const int64_t shape[2] = {64, 3}, wider[2] = {64, 4000}, longer[2] = {128, 3};
    fusec_context *ctx = capi_device("interp");
    box b;
    fusec_partial *p = NULL;
    if (open_box(&b, ctx, "def f(x: f32[n, m]) { return sum(x, axis=0) }", 1)) {
        FC_EXPECT_OK_TEXT(fusec_partial_new(b.cut, &p), "");
        make_array(&b.in, FUSEC_F32, 2, shape);
        b.total = 64;
        run_whole(&b);
        FC_EXPECT_OK_TEXT(run_piece(&b, 0, 0, 64, NULL, p), fusec_message(ctx));
        for (int k = 0; k < 2; k++) {
            free_arrays(&b.in), free_arrays(&b.want), free_arrays(&b.got);
            make_array(&b.in, FUSEC_F32, 2, k ? longer : wider);
            run_whole(&b);
            FC_EXPECT_EQ_I64(fusec_run_finish(b.cut, NULL, k ? 128 : 64, 1, b.in.t, 1, b.got.t, p),
                             FUSEC_INVALID);
            FC_EXPECT_STREQ(fusec_message(ctx), "the pieces are of arrays of other sizes");
        }
    }
    fusec_partial_free(p);
    close_box(&b);
    fusec_context_free(ctx);
}

/* ---- several threads ------------------------------------------------------------------------- */

typedef struct sharing {
    box *b;
    fusec_partial *all, *known;
    int first, sweep;
    fusec_status status;
} sharing;

static void *share(void *user) {
    sharing *s = user;
    size_t n;
    for (int i = s->first; i < 64 && !s->status; i += 4) {
        s->status = run_piece(s->b, s->sweep, i * 1024, (i + 1) * 1024, s->known, s->all);
        if (!s->status) s->status = fusec_partial_bytes(s->all, NULL, 0, &n);
    }
    return NULL;
}

/* One partial that four threads fill, then read while they fill another one. */
FC_TEST(pieces, threads_share_a_partial) {
    static const program p = {"def f(x: f32[n]) {\n e = exp(x - max(x))\n return e / sum(e)\n}", 3,
                              1, 0, 1};
    static const int64_t shape[1] = {64 * 1024};
    fusec_context *ctx = capi_device("interp");
    box b;
    fusec_partial *all = NULL;
    if (open_box(&b, ctx, p.text, 3)) {
        FC_EXPECT_OK_TEXT(fusec_partial_new(b.cut, &all), "");
        make_array(&b.in, FUSEC_F32, 1, shape);
        fill(&b, &b.in.t[0]);
        b.total = shape[0];
        run_whole(&b);
        for (int sweep = 0; sweep < p.sweeps; sweep++) {
            pthread_t t[4];
            sharing s[4];
            for (int i = 0; i < 4; i++) {
                s[i] = (sharing){&b, all, all, i, sweep, FUSEC_OK};
                FC_EXPECT_EQ_I64(pthread_create(&t[i], NULL, share, &s[i]), 0);
            }
            for (int i = 0; i < 4; i++) {
                pthread_join(t[i], NULL);
                FC_EXPECT_EQ_I64(s[i].status, FUSEC_OK);
            }
        }
        expect_equal(&b, p.text);
    }
    fusec_partial_free(all);
    close_box(&b);
    fusec_context_free(ctx);
}

FC_TEST(pieces, misuse) {
    box b;
    fusec_partial *p = NULL, *q = NULL;
    fusec_piece w = FUSEC_PIECE_INIT;
    FC_ASSERT_TRUE(open_mean(&b, 5000));
    FC_EXPECT_OK_TEXT(fusec_partial_new(b.cut, &p), "");
    FC_EXPECT_OK_TEXT(fusec_partial_new(b.cut, &q), "");
    EXPECT_REFUSED(run_piece(&b, 0, 0, 1000, NULL, p), "multiples of 1024");
    EXPECT_REFUSED(run_piece(&b, 0, 1, 1024, NULL, p), "multiples of 1024");
    EXPECT_REFUSED(run_piece(&b, 0, 4096, 6144, NULL, p), "there is no piece");
    EXPECT_REFUSED(run_piece(&b, 2, 0, 1024, p, p), "no sweep 2");
    EXPECT_REFUSED(run_piece(&b, -1, 0, 1024, p, p), "no sweep -1");
    EXPECT_REFUSED(run_piece(&b, 0, 0, 1024, NULL, NULL), "needs a partial");
    FC_EXPECT_OK_TEXT(run_piece(&b, 0, 0, 2048, NULL, p), fusec_message(b.ctx));
    EXPECT_REFUSED(run_piece(&b, 0, 1024, 4096, NULL, p), "was given before");
    EXPECT_REFUSED(run_piece(&b, 1, 0, 1024, p, p), "of 5000 elements only 2048 were");
    EXPECT_REFUSED(run_piece(&b, 1, 0, 1024, NULL, p), "earlier sweeps");
    FC_EXPECT_OK_TEXT(run_piece(&b, 0, 1024, 2048, NULL, q), fusec_message(b.ctx));
    EXPECT_REFUSED(fusec_partial_merge(p, q), "is in both");
    EXPECT_REFUSED(fusec_partial_merge(p, p), "into itself");
    b.total = 6000;
    EXPECT_REFUSED(run_piece(&b, 0, 2048, 3072, NULL, p), "other sizes");
    b.total = 5000;
    EXPECT_REFUSED(fusec_run_devices(0, &b.p, "n", 1, b.in.t, 1, b.got.t), "it takes 1 to 64");
    EXPECT_REFUSED(fusec_run_devices(1, NULL, "n", 1, b.in.t, 1, b.got.t), "programs are NULL");
    b.got.t[0].shape = (const int64_t[]){4999};
    EXPECT_REFUSED(fusec_run_devices(1, &b.p, "n", 1, b.in.t, 1, b.got.t), "has not the 5000");
    EXPECT_REFUSED(fusec_run_piece(b.cut, NULL, 1,
                                   &(fusec_piece){sizeof(fusec_piece), 0, 5000, 5000}, 1, b.in.t, 1,
                                   b.got.t, NULL, NULL),
                   "result out has 4999 elements along axis 0");
    b.got.t[0].shape = b.got.shape[0];
    EXPECT_REFUSED(fusec_run_devices(1, &b.p, "k", 1, b.in.t, 1, b.got.t), "no size k");
    w.size = 0;
    EXPECT_REFUSED(fusec_run_piece(b.cut, NULL, 0, &w, 1, b.in.t, 1, b.got.t, NULL, p),
                   "FUSEC_PIECE_INIT");
    FC_EXPECT_OK_TEXT(run_piece(&b, 0, 2048, 5000, NULL, p), fusec_message(b.ctx));
    FC_EXPECT_OK_TEXT(run_piece(&b, 1, 0, 5000, p, NULL), fusec_message(b.ctx));
    expect_equal(&b, mean_of.text);
    fusec_partial_free(p);
    fusec_partial_free(q);
    close_mean(&b);
}

/* Every byte changed, every length: refused, and nothing read beside it. */
FC_TEST(pieces, damaged_bytes) {
    box b;
    fusec_partial *p = NULL, *q = NULL;
    size_t n = 0;
    FC_ASSERT_TRUE(open_mean(&b, 5000));
    FC_EXPECT_OK_TEXT(fusec_partial_new(b.cut, &p), "");
    FC_EXPECT_OK_TEXT(run_piece(&b, 0, 0, 3072, NULL, p), fusec_message(b.ctx));
    FC_EXPECT_OK_TEXT(fusec_partial_bytes(p, NULL, 0, &n), "");
    FC_EXPECT_LE_I64((int64_t)n, 200);
    char *bytes = malloc(n);
    FC_EXPECT_OK_TEXT(fusec_partial_bytes(p, bytes, n, &n), "");
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 0x40;
        EXPECT_REFUSED(fusec_partial_from(b.cut, bytes, n, &q), "damaged");
        bytes[i] ^= 0x40;
        EXPECT_REFUSED(fusec_partial_from(b.cut, bytes, i, &q), "damaged");
    }
    free(bytes);
    fusec_partial_free(p);
    close_mean(&b);
}

/* The pieces from number *next on, each in a partial of its own or not; where one fails nothing of
 * it is known, so that it can be given again. */
static fusec_status pieces_from(box *b, fusec_partial *p, int *next) {
    static const int64_t ends[] = {0, 1024, 3072, 4096, 5000};
    for (; *next < 4; ++*next) {
        fusec_partial *own = NULL;
        fusec_status s = *next == 2 ? fusec_partial_new(b->cut, &own) : FUSEC_OK;
        if (!s) s = run_piece(b, 0, ends[*next], ends[*next + 1], NULL, own ? own : p);
        if (!s && own) s = fusec_partial_merge(p, own);
        fusec_partial_free(own);
        if (s) return s;
    }
    return run_piece(b, 1, 0, 5000, p, NULL);
}

/* Cut, run in order and finished, all anew. */
static fusec_status all_anew(box *b) {
    fusec_partial *p = NULL;
    fusec_status s = fusec_program_cut(b->p, "n", &b->cut);
    if (!s) s = fusec_partial_new(b->cut, &p);
    for (int k = 0; !s && k < fusec_cut_sweeps(b->cut); k++)
        for (int64_t at = 0; at < b->total && !s; at += 256)
            s = run_piece(b, k, at, at + 256 < b->total ? at + 256 : b->total, p, p);
    if (!s) s = fusec_run_finish(b->cut, NULL, b->total, b->in.n, b->in.t, b->got.n, b->got.t, p);
    fusec_partial_free(p);
    fusec_cut_free(b->cut);
    b->cut = NULL;
    return s;
}

FC_TEST(pieces, allocations_of_scans_may_fail) {
    static const char text[] =
        "def f(x: f32[n]) {\n c = cumsum(x, axis=0)\n return c[9:] - c[:n-9] + "
        "roll(x, 3)[9:]\n}";
    box b;
    fault_heap h;
    fault_heap_init(&h);
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "interp", o.cache_dir = "", o.alloc = fault_realloc, o.alloc_user = &h;
    o.threads = 1;
    fusec_context *ctx = NULL;
    FC_ASSERT_TRUE(fusec_context_new(&o, &ctx) == FUSEC_OK);
    FC_ASSERT_TRUE(open_box(&b, ctx, text, 1));
    make_array(&b.in, FUSEC_F32, 1, &(int64_t){b.total = 700});
    fill(&b, &b.in.t[0]);
    run_whole(&b);
    fusec_cut_free(b.cut);
    FC_EXPECT_OK_TEXT(all_anew(&b), fusec_message(ctx)); /* kernels stay in their cache */
    bool done = false;
    for (long long k = 1; !done && k < 100000; k += 1 + k / 16) {
        const long long live = h.live;
        fault_arm(&h, k, false);
        const fusec_status s = all_anew(&b);
        done = !h.failed;
        fault_disarm(&h);
        FC_EXPECT_TRUE(s == FUSEC_OUT_OF_MEMORY || s == FUSEC_OK);
        if (!s) expect_equal(&b, text);
        FC_EXPECT_LE_I64(h.live, live + 64);
    }
    FC_EXPECT_TRUE(done);
    close_box(&b);
    fusec_context_free(ctx);
    FC_EXPECT_EQ_I64(h.live, 0);
}

FC_TEST(pieces, allocations_may_fail) {
    box b;
    fault_heap h;
    fault_heap_init(&h);
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "interp", o.cache_dir = "", o.alloc = fault_realloc, o.alloc_user = &h,
    o.threads = 1;
    fusec_context *ctx = NULL;
    FC_ASSERT_TRUE(fusec_context_new(&o, &ctx) == FUSEC_OK);
    FC_ASSERT_TRUE(open_box(&b, ctx, mean_of.text, 1));
    const int64_t shape[1] = {5000};
    make_array(&b.in, FUSEC_F32, 1, shape);
    fill(&b, &b.in.t[0]);
    b.total = 5000;
    run_whole(&b);
    fusec_cut_free(b.cut);
    bool done = false;
    for (long long k = 1; !done && k < 5000; k++) {
        fusec_partial *p = NULL;
        const long long live = h.live;
        fault_arm(&h, k, false);
        int next = 0;
        fusec_status s = fusec_program_cut(b.p, "n", &b.cut);
        if (!s) s = fusec_partial_new(b.cut, &p);
        if (!s) s = pieces_from(&b, p, &next);
        done = !h.failed;
        fault_disarm(&h);
        FC_EXPECT_TRUE(s == FUSEC_OUT_OF_MEMORY || s == FUSEC_OK);
        if (s && p) FC_EXPECT_OK_TEXT(pieces_from(&b, p, &next), fusec_message(b.ctx));
        if (p) expect_equal(&b, mean_of.text);
        fusec_partial_free(p);
        fusec_cut_free(b.cut);
        b.cut = NULL;
        if (s) FC_EXPECT_LE_I64(h.live, live + 64); /* kernels stay in their cache */
    }
    FC_EXPECT_TRUE(done);
    close_box(&b);
    fusec_context_free(ctx);
    FC_EXPECT_EQ_I64(h.live, 0);
}
