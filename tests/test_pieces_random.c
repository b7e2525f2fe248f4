/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_pieces_random.c - random graphs cut along each of their sizes: random pieces in random
 * order, their partials sent as bytes and joined in random order, and 1 to 8 devices, give the bits
 * of one call.
 *
 * FUSEC_FUZZ_COUNT programs from FUSEC_FUZZ_SEED on (scripts/campaign pieces). */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cut.h"
#include "runtime/mesh.h"
#include "runtime/partial.h"
#include "tests/support/oracle_run.h"
#include "tests/support/random_graph.h"
#include "tests/support/test.h"

enum { PROGRAMS = 60, PIECES = 8, PARTIALS = 3, ELEMENTS = 60000 };

typedef struct trial {
    uint64_t seed;
    fc_rng rng;
    rg r;
    fc_graph g;
    int64_t syms[256];
    fc_dim_value dims[256];
    uint32_t ndims;
    fc_arrays in, want, got;
    fc_how how;
    fc_program *p;
    fc_cut *cut;
    int64_t total;
    int64_t at[PIECES + 1]; /* where the pieces of the first sweep begin, and the last one ends */
    int npieces;
    fc_arena arena;
    fc_error e;
} trial;

typedef struct figures {
    int cut, several, devices, refused; /* sizes: cut at all, in more than one piece; not cut */
} figures;

/* ---- programs -------------------------------------------------------------------------------- */

/* Longer sizes, so that there is something to cut. */
static void lengthen(rg *r, fc_rng *rng) {
    for (int tries = 0; tries < 20; tries++) {
        rg longer = *r;
        const int k = (int)fc_below(rng, RG_NAMES);
        const int64_t most = (int64_t)1 << (4 + fc_below(rng, 12));
        longer.name[k] = 1 + (int64_t)fc_below(rng, (uint64_t)most);
        bool fits = rg_valid(&longer);
        for (int i = 0; fits && i < longer.nnodes; i++) {
            int64_t n = 1;
            for (int a = 0; a < longer.node[i].rank; a++)
                n = fc_mul_most(n, longer.size[longer.node[i].shape[a]].value);
            fits = n <= ELEMENTS;
        }
        if (fits) *r = longer;
    }
}

/* False: the builders refuse it. */
static bool open_trial(trial *t, const char *device, uint64_t seed) {
    const rg_options o = {.nodes = 14, .elements = 3000};
    int input[RG_NODES];
    fc_oracle sizes;
    memset(t, 0, sizeof *t);
    t->seed = seed;
    t->rng = (fc_rng){seed};
    fc_arena_init(&t->arena, &fc_libc_alloc);
    rg_make(&t->r, &t->rng, &o);
    lengthen(&t->r, &t->rng);
    rg_build(&t->r, RG_SYMBOLIC, &t->g, input, t->syms);
    if (t->g.error.code) return false;
    fc_oracle_sizes(&sizes, &t->g, t->syms);
    fc_arrays_for(&t->in, &t->g, &sizes, false);
    fc_arrays_for(&t->want, &t->g, &sizes, true);
    fc_arrays_for(&t->got, &t->g, &sizes, true);
    fc_oracle_free(&sizes);
    for (uint32_t i = 0; i < t->in.n; i++) rg_fill(t->r.node[input[i]].bits, &t->in.t[i]);
    t->ndims = fc_rig_dims(&t->g, t->syms, t->dims);
    t->how.ctx = fc_rig(device, 1, &t->how.device);
    FC_EXPECT_OK_TEXT(fc_rig_compile(&t->how, &t->g, &t->p, &t->e), t->e.message);
    /* an index that is outside, or a condition that does not hold, is no matter of pieces */
    return t->p && !fc_program_run(t->p, NULL, t->in.n, t->in.t, t->ndims, t->dims, t->want.n,
                                   t->want.t, &t->e);
}

static void close_trial(trial *t) {
    fc_program_free(t->p);
    if (t->in.t) fc_arrays_free(&t->in);
    if (t->want.t) fc_arrays_free(&t->want);
    if (t->got.t) fc_arrays_free(&t->got);
    fc_graph_free(&t->g);
    fc_arena_free(&t->arena);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static fusec_status run_piece(trial *t, uint32_t sweep, int64_t begin, int64_t end,
                              fc_partial *before, fc_partial *into) {
    const fc_pieces *q = &t->cut->pieces;
    const fc_piece piece = {begin, end, t->total};
    fc_tensor in[RG_NODES], out[RG_OUTPUTS];
    int64_t from, to;
    for (uint32_t i = 0; i < t->in.n; i++) {
        fc_cut_input_range(t->cut, i, &piece, &from, &to);
        if (!fc_cut_view(&t->arena, &t->in.t[i], q->along[q->graph->inputs.at[i].node], from,
                         to - from, &in[i]))
            return FUSEC_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < t->got.n; i++) {
        fc_cut_output_range(t->cut, i, &piece, &from, &to);
        if (!fc_cut_view(&t->arena, &t->got.t[i], q->along[q->graph->outputs.at[i].node], from,
                         to - from, &out[i]))
            return FUSEC_OUT_OF_MEMORY;
    }
    return fc_cut_run(t->cut, NULL, sweep, &piece, t->in.n, in, t->got.n, out, before, into, &t->e);
}

/* Through bytes and back. */
static fc_partial *sent(trial *t, fc_partial *p) {
    const size_t n = fc_partial_write(p, NULL, 0);
    fc_partial *q = NULL;
    char *bytes = malloc(n);
    FC_EXPECT_EQ_U64(fc_partial_write(p, bytes, n), n);
    FC_EXPECT_OK_TEXT(fc_partial_read(t->cut, bytes, n, &q, &t->e), t->e.message);
    free(bytes);
    fc_partial_free(p);
    return q;
}

static void shuffle(fc_rng *rng, int *order, int n) {
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n; i-- > 1;) {
        const int k = (int)fc_below(rng, (uint64_t)i + 1), o = order[i];
        order[i] = order[k], order[k] = o;
    }
}

/* Where 1 to PIECES pieces begin and end; their number. */
static int choose(trial *t, int64_t grain, int64_t at[PIECES + 1]) {
    const int wish = 1 + (int)fc_below(&t->rng, PIECES);
    int n = 0;
    at[0] = 0;
    while (n + 1 < wish && at[n] < t->total) {
        const int64_t units = (t->total - at[n]) / grain;
        if (units < 2) break;
        at[n + 1] = at[n] + grain * (1 + (int64_t)fc_below(&t->rng, (uint64_t)units - 1));
        n++;
    }
    at[++n] = t->total;
    return n;
}

static fusec_status run_sweep(trial *t, uint32_t number, int64_t grain, fc_partial *all,
                              int *pieces) {
    int64_t at[PIECES + 1];
    int order[PIECES];
    fc_partial *p[PARTIALS];
    fusec_status st = FUSEC_OK;
    bool scans = false;
    for (uint32_t i = 0; i < t->cut->pieces.nparts; i++) scans |= t->cut->pieces.parts[i].carry;
    if (number == 0) t->npieces = choose(t, grain, t->at);
    memcpy(at, t->at, sizeof at); /* behind scans they are the same in every sweep */
    const int n = scans || number == 0 ? t->npieces : choose(t, grain, at);
    if (n > *pieces) *pieces = n;
    shuffle(&t->rng, order, n);
    for (int i = 0; i < PARTIALS; i++)
        FC_EXPECT_OK_TEXT(fc_partial_new(t->cut, &p[i], &t->e), t->e.message);
    for (int i = 0; i < n && !st; i++)
        st = run_piece(t, number, at[order[i]], at[order[i] + 1], all,
                       p[fc_below(&t->rng, PARTIALS)]);
    shuffle(&t->rng, order, PARTIALS);
    for (int i = 0; i < PARTIALS; i++) {
        fc_partial *q = st ? p[order[i]] : sent(t, p[order[i]]);
        if (!st && q) st = fc_partial_merge(all, q, &t->e);
        fc_partial_free(q);
    }
    return st;
}

static fusec_status run_cut(trial *t, int *pieces) {
    int64_t grain = 1;
    fc_partial *all = NULL;
    fusec_status st = fc_cut_grain(t->cut, t->in.n, t->in.t, &grain, &t->e);
    if (!st) st = fc_partial_new(t->cut, &all, &t->e);
    for (uint32_t s = 0; s < t->cut->pieces.nsweeps && !st; s++)
        st = run_sweep(t, s, grain, all, pieces);
    if (!st)
        st =
            fc_cut_finish(t->cut, NULL, t->total, t->in.n, t->in.t, t->got.n, t->got.t, all, &t->e);
    fc_partial_free(all);
    return st;
}

static fusec_status run_mesh(trial *t, const char *dim, uint32_t n) {
    fc_program *programs[PIECES];
    const char *names[PIECES];
    for (uint32_t i = 0; i < n; i++) programs[i] = t->p, names[i] = "one of them";
    const fc_mesh_call c = {.programs = programs,
                            .names = names,
                            .n = n,
                            .dim = dim,
                            .nin = t->in.n,
                            .nout = t->got.n,
                            .ndims = t->ndims,
                            .in = t->in.t,
                            .out = t->got.t,
                            .dims = t->dims};
    return fc_mesh_run(&c, &t->e);
}

static void clear(trial *t) {
    for (uint32_t i = 0; i < t->got.n; i++)
        memset(t->got.t[i].data, 0xee,
               (size_t)fc_array_count(&t->got.t[i]) * fc_dtypes[t->got.t[i].dtype].bytes);
}

/* The sign and the payload of a computed NaN are open (docs/semantics.md). */
static bool is_nan(fusec_dtype t, const char *p) {
    static const uint64_t above[] = {[FUSEC_F16] = 0x7c00,
                                     [FUSEC_BF16] = 0x7f80,
                                     [FUSEC_F32] = 0x7f800000,
                                     [FUSEC_F64] = UINT64_C(0x7ff0000000000000)};
    uint64_t bits = 0;
    if (!fc_is_float(t)) return false;
    memcpy(&bits, p, fc_dtypes[t].bytes);
    return (bits & ~(UINT64_C(1) << (8 * fc_dtypes[t].bytes - 1))) > above[t];
}

static bool compare(trial *t, const char *dim, const char *how, fusec_status st) {
    char text[120];
    snprintf(text, sizeof text, "program %llu along %s, %lld positions, %s",
             (unsigned long long)t->seed, dim, (long long)t->total, how);
    if (st) {
        FC_FAIL("%s: [%s] %s", text, fc_status_slug(st), t->e.message);
        return false;
    }
    for (uint32_t i = 0; i < t->got.n; i++) {
        const size_t item = fc_dtypes[t->got.t[i].dtype].bytes;
        const char *a = t->got.t[i].data, *b = t->want.t[i].data;
        const int64_t n = fc_array_count(&t->got.t[i]);
        for (int64_t k = 0; k < n; k++)
            if (memcmp(a + (size_t)k * item, b + (size_t)k * item, item) != 0 &&
                !(is_nan(t->got.t[i].dtype, a + (size_t)k * item) &&
                  is_nan(t->got.t[i].dtype, b + (size_t)k * item))) {
                FC_FAIL("%s: output %u, element %lld of %lld differs", text, i, (long long)k,
                        (long long)n);
                return false;
            }
    }
    return true;
}

static bool try_size(trial *t, const char *dim, figures *f) {
    fc_error why = {0};
    int pieces = 0;
    t->e = (fc_error){0};
    bool good = true;
    if (fc_cut_new(t->p, dim, &t->cut, &why)) {
        f->refused++;
        good = why.code == FUSEC_INVALID || why.code == FUSEC_UNKNOWN_DIM;
        if (!good)
            FC_FAIL("program %llu along %s: %s", (unsigned long long)t->seed, dim, why.message);
        return good;
    }
    t->cut->ndims = t->ndims, t->cut->dims = t->dims;
    t->total = fc_cut_total(t->cut, t->in.n, t->in.t);
    if (t->total >= 0 && t->cut->pieces.nsweeps) {
        clear(t);
        const fusec_status st = run_cut(t, &pieces);
        if (st == FUSEC_INPUT_SHAPE && strstr(t->e.message, "a power of two")) { /* of a product */
            f->refused++;
            fc_cut_free(t->cut);
            return true;
        }
        good = compare(t, dim, "in pieces", st);
        f->cut++, f->several += pieces > 1;
        const uint32_t devices = 1 + (uint32_t)fc_below(&t->rng, PIECES);
        if (good && fc_below(&t->rng, 2)) {
            clear(t);
            good = compare(t, dim, "several devices", run_mesh(t, dim, devices));
            f->devices += devices > 1;
        }
    }
    fc_cut_free(t->cut);
    return good;
}

static bool try_program(const char *device, uint64_t seed, figures *f) {
    trial *t = malloc(sizeof *t);
    bool good = t != NULL;
    if (good && open_trial(t, device, seed))
        for (int k = 0; k < RG_NAMES && good; k++) good = try_size(t, rg_names[k], f);
    if (t) close_trial(t);
    free(t);
    return good;
}

static void many(const char *device, int programs) {
    const char *seed = getenv("FUSEC_FUZZ_SEED"), *count = getenv("FUSEC_FUZZ_COUNT");
    const uint64_t from = seed ? strtoull(seed, NULL, 0) : 1;
    const int n = count ? atoi(count) : programs;
    figures f = {0};
    fc_device *d;
    if (!fc_rig(device, 1, &d)) FC_SKIP("there is no device %s", device);
    for (int i = 0, failed = 0; i < n && failed < 5; i++)
        failed += !try_program(device, from + (uint64_t)i, &f);
    FC_EXPECT_TRUE(f.several > n / 8);
    printf("%s: %d programs, %d sizes cut, %d of them in several pieces, %d on several devices; %d "
           "can't be cut\n",
           device, n, f.cut, f.several, f.devices, f.refused);
}

FC_TEST(pieces_random, interp) {
    many("interp", PROGRAMS);
}

FC_TEST(pieces_random, cpu) {
    many("cpu", 4);
}

FC_TEST(pieces_random, cuda) {
    many("cuda", 20);
}
