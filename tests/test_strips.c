/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_strips.c - kernels that run strip by strip: which do, how much memory they take, and that
 * results have the bits they have when all rows are done at once, on every device. Caches are said
 * to be tiny, so that small arrays are cut. */
#include "runtime/strips.h"
#include "tests/support/fake_machine.h"
#include "tests/support/faults.h"
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum { TINY = 2048, LARGE = 1 << 30 };

/* Stacks [h, n, d], [h, m, d], [h, m, d]. */
typedef struct sizes {
    int64_t h, n, m, d;
} sizes;

typedef struct operands {
    fc_graph *g;
    fc_node q, k, v;
} operands;

typedef void program_fn(const operands *x);

/* ---- programs ----------------------------------------------------------------------------------
 */

static fc_node scores(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = fc_build_matmul(g, x->q, fc_build_permute(g, x->k, (const int64_t[]){0, 2, 1}));
    return gb2(g, FC_OP_mul, s, gbn(g, s, .125));
}

static fc_node softmax(fc_graph *g, fc_node s) {
    fc_node e = gb1(g, FC_OP_exp, gb2(g, FC_OP_sub, s, gbred(g, FC_OP_max, s, -1, true)));
    return gb2(g, FC_OP_div, e, gbred(g, FC_OP_sum, e, -1, true));
}

static void attention(const operands *x) {
    fc_node p = softmax(x->g, scores(x));
    fc_build_output(x->g, "out", fc_build_matmul(x->g, p, x->v));
}

/* Without functions, so that all devices make the same bits; of keys up to the row's. */
static void causal(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x);
    const fc_dim one = fc_dim_const(&g->dims, 1), n = fc_axis(g, s, 1);
    fc_node row = fc_build_reshape(g, fc_build_iota(g, n), 2, (const fc_dim[]){n, one});
    fc_node later = gb2(g, FC_OP_lt, row, fc_build_iota(g, fc_axis(g, s, 2)));
    s = gb3(g, FC_OP_where, later, gbn(g, s, -1000), s);
    fc_node p = gb2(g, FC_OP_sub, gbred(g, FC_OP_max, s, -1, true), s);
    p = gb2(g, FC_OP_div, p, gb2(g, FC_OP_add, gbred(g, FC_OP_sum, p, -1, true), gbn(g, p, 1)));
    fc_build_output(g, "out", fc_build_matmul(g, p, x->v));
}

/* The array in the middle is a result as well: it is there as a whole. */
static void both(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x), p = gb2(g, FC_OP_sub, s, gbred(g, FC_OP_max, s, -1, true));
    fc_build_output(g, "p", p);
    fc_node last = gb2(g, FC_OP_sub, p, gbred(g, FC_OP_min, p, -1, true));
    fc_build_output(g, "out", fc_build_matmul(g, last, x->v));
}

/* p and its transpose are needed: along the heads alone all keep their rows. */
static void turned(const operands *x) {
    fc_graph *g = x->g;
    fc_node s = scores(x), p = gb2(g, FC_OP_sub, s, gbred(g, FC_OP_max, s, -1, true));
    fc_build_output(g, "out", fc_build_matmul(g, p, x->v));
    fc_node t = fc_build_permute(g, p, (const int64_t[]){0, 2, 1});
    fc_build_output(g, "back", fc_build_matmul(g, t, x->q));
}

/* ---- running -----------------------------------------------------------------------------------
 */

typedef struct rig {
    fc_fixture f;
    const sizes *s;
    fc_oracle o;
    int64_t syms[8];
    fc_arrays in;
} rig;

static void fill(rig *r) {
    fc_rng random = {5};
    const void *data[4];
    for (uint32_t i = 0; i < r->in.n; i++) {
        const fc_tensor *t = &r->in.t[i];
        for (int64_t k = 0; k < fc_array_count(t); k++)
            fc_oracle_store(t->dtype, t->data, k, fc_random_value(t->dtype, &random, true));
        data[i] = t->data;
    }
    fc_oracle_free(&r->o);
    fc_oracle_run(&r->o, &r->f.g, r->syms, data);
}

static bool open_rig(rig *r, const char *device, program_fn *build, const sizes *s) {
    memset(r, 0, sizeof *r);
    r->s = s;
    if (!fc_fixture_open(&r->f, device)) return false;
    r->f.device->machine.threads = 2; /* how many there are decides what is cut */
    fc_graph *g = &r->f.g;
    const fc_dim h = gbd(g, "h"), n = gbd(g, "n"), m = gbd(g, "m"), d = gbd(g, "d");
    const operands x = {.g = g,
                        .q = gbin(g, "q", FUSEC_F32, 3, h, n, d),
                        .k = gbin(g, "k", FUSEC_F32, 3, h, m, d),
                        .v = gbin(g, "v", FUSEC_F32, 3, h, m, d)};
    build(&x);
    const int64_t of[] = {s->h, s->n, s->m, s->d};
    for (uint32_t i = 0; i < g->dims.syms.len; i++) {
        const char *name = g->dims.syms.at[i].name;
        for (int k = 0; name && k < 4; k++)
            if (*name == "hnmd"[k]) r->syms[i] = of[k];
    }
    fc_oracle_sizes(&r->o, g, r->syms);
    fc_arrays_for(&r->in, g, &r->o, false);
    fill(r);
    return true;
}

static void close_rig(rig *r) {
    fc_arrays_free(&r->in);
    fc_oracle_free(&r->o);
    fc_fixture_close(&r->f, NULL);
}

static void set_caches(fc_device *d, size_t bytes) {
    d->machine.near_cache = bytes;
    if (!d->host_memory) d->machine.cache = bytes;
}

/* Launches of a call; *memory gets the bytes of its temporaries. */
static uint32_t launches(rig *r, size_t *memory, uint32_t *side_by_side) {
    fc_program *p = fc_fixture_compile(&r->f);
    fc_bound *b = NULL;
    uint32_t n = 0;
    *memory = *side_by_side = 0;
    if (p && !fc_bound_get(p, r->in.n, r->in.t, 0, NULL, 64, FC_NO_CODE, &b, &r->f.e)) {
        n = b->nlaunches;
        *memory = b->scratch;
        for (uint32_t i = 0; i < n; i++) *side_by_side += b->launches[i].strips != NULL;
        fc_bound_release(p, b);
    }
    fc_program_free(p);
    return n;
}

static void run(rig *r, fc_arrays *out) {
    const fc_how how = {.ctx = r->f.ctx, .device = r->f.device, .runs = 3};
    fc_error e = {0};
    FC_EXPECT_OK(fc_rig_run(&how, &r->f.g, r->syms, &r->in, out, &e), &e);
}

/* With caches that are tiny and with such that hold all: the same bits, and right ones. */
static void compare(const char *device, program_fn *build, const sizes *s, bool strips) {
    rig r;
    fc_arrays cut = {0}, whole = {0};
    size_t memory, all;
    uint32_t pairs;
    fc_str why;
    if (!open_rig(&r, device, build, s)) return;
    FC_TRACE("%s, h %d n %d m %d d %d", device, (int)s->h, (int)s->n, (int)s->m, (int)s->d);
    fc_str_init(&why, &fc_libc_alloc);
    set_caches(r.f.device, LARGE);
    const uint32_t steps = launches(&r, &all, &pairs);
    run(&r, &whole);
    set_caches(r.f.device, TINY);
    const uint32_t n = launches(&r, &memory, &pairs);
    run(&r, &cut);
    FC_EXPECT_EQ_I64(n > steps, strips);
    if (strips && !strcmp(device, "interp")) FC_EXPECT_TRUE(memory < all);
    if (strips && !strcmp(device, "cpu")) FC_EXPECT_EQ_I64(pairs, 1);
    if (cut.t && fc_judge(&r.f.g, &r.o, &cut, &why)) FC_FAIL("%s", why.data);
    if (cut.t && whole.t && fc_differ(&r.f.g, &r.o, &cut, &whole, &why)) FC_FAIL("%s", why.data);
    FC_UNTRACE();
    fc_str_free(&why);
    fc_arrays_free(&cut);
    fc_arrays_free(&whole);
    close_rig(&r);
}

static void on_hosts(program_fn *build, const sizes *s, bool strips) {
    compare("interp", build, s, strips);
    compare("cpu", build, s, strips);
}

/* ---- tests -------------------------------------------------------------------------------------
 */

/* Rows that make whole strips, rows that do not, a prime number of them, one stack and several. */
static const sizes some[] = {{1, 80, 70, 8}, {2, 67, 129, 8}, {1, 131, 40, 3}, {5, 33, 100, 4}};

FC_TEST(strips, attention_has_the_same_bits) {
    for (size_t i = 0; i < FC_COUNT(some); i++) on_hosts(attention, &some[i], true);
}

FC_TEST(strips, masks_know_the_row) {
    for (size_t i = 0; i < FC_COUNT(some); i++) on_hosts(causal, &some[i], true);
}

FC_TEST(strips, results_in_the_middle_are_whole) {
    for (size_t i = 0; i < FC_COUNT(some); i++) on_hosts(both, &some[i], true);
}

FC_TEST(strips, what_is_read_across_is_not_cut) {
    const sizes one = {1, 70, 70, 8}, many = {8, 48, 60, 2};
    on_hosts(turned, &one, false);
    on_hosts(turned, &many, true);
}

FC_TEST(strips, few_rows_and_none_are_no_strips) {
    const sizes few[] = {{1, 1, 4, 4}, {0, 64, 64, 4}, {4, 0, 64, 4}};
    for (size_t i = 0; i < FC_COUNT(few); i++) on_hosts(causal, &few[i], false);
}

FC_TEST(strips, on_a_gpu_too) {
    fake_machine f;
    const sizes s = {2, 67, 129, 8};
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&f, FAKE("whole"))) return;
    f.fake->execute = true;
    compare("cuda", causal, &s, true);
    FC_EXPECT_EQ_I64(f.fake->misuse, 0);
    fake_machine_close(&f);
}

/* ---- memory that runs out ----------------------------------------------------------------------
 */

typedef struct bind_state {
    fc_fixture f;
    fc_program *p;
    fc_tensor in[3];
} bind_state;

static const int64_t fault_shape[] = {3, 64, 4};

static bool bind_ready(fault_run *r) {
    bind_state *x = r->state;
    fc_config c;
    fc_config_init(&c);
    c.cache_dir = "";
    c.alloc = r->heap.alloc;
    if (fc_context_new(&c, &x->f.ctx, &r->e)) return false;
    if (fc_context_device(x->f.ctx, "cpu", &x->f.device, NULL, &r->e)) {
        fc_context_free(x->f.ctx);
        return false;
    }
    fc_graph_init(&x->f.g, &fc_libc_alloc, NULL);
    fc_graph *g = &x->f.g;
    const fc_dim h = gbd(g, "h"), n = gbd(g, "n"), d = gbd(g, "d");
    attention(&(operands){.g = g,
                          .q = gbin(g, "q", FUSEC_F32, 3, h, n, d),
                          .k = gbin(g, "k", FUSEC_F32, 3, h, n, d),
                          .v = gbin(g, "v", FUSEC_F32, 3, h, n, d)});
    for (int i = 0; i < 3; i++)
        x->in[i] = (fc_tensor){.dtype = FUSEC_F32, .rank = 3, .shape = fault_shape};
    set_caches(x->f.device, TINY);
    return (x->p = fc_fixture_compile(&x->f)) != NULL;
}

static fusec_status bind_act(fault_run *r) {
    bind_state *x = r->state;
    fc_bound *b = NULL;
    fusec_status s = fc_bound_get(x->p, 3, x->in, 0, NULL, 64, FC_NO_CODE, &b, &r->e);
    if (s) return s;
    FC_EXPECT_TRUE(b->steps[0].strips != NULL);
    fc_bound_release(x->p, b);
    return FUSEC_OK;
}

static void bind_clear(fault_run *r) {
    bind_state *x = r->state;
    fc_fixture_close(&x->f, x->p);
}

FC_TEST(strips, memory_that_runs_out) {
    static const fault_scene scene = {.name = "strips",
                                      .state_bytes = sizeof(bind_state),
                                      .ready = bind_ready,
                                      .act = bind_act,
                                      .clear = bind_clear};
    fault_scene_run(&scene);
}

/* Memory between kernels does not grow with the square of the rows. */
FC_TEST(strips, memory_is_that_of_a_strip) {
    const sizes s = {16, 4096, 4096, 64};
    fc_fixture f;
    fc_program *p = NULL;
    fc_bound *b = NULL;
    if (!fc_fixture_open(&f, "interp")) FC_SKIP("there is no interpreter");
    const fc_dim h = gbd(&f.g, "h"), n = gbd(&f.g, "n"), d = gbd(&f.g, "d");
    const operands x = {.g = &f.g,
                        .q = gbin(&f.g, "q", FUSEC_F32, 3, h, n, d),
                        .k = gbin(&f.g, "k", FUSEC_F32, 3, h, n, d),
                        .v = gbin(&f.g, "v", FUSEC_F32, 3, h, n, d)};
    attention(&x);
    const int64_t shape[] = {s.h, s.n, s.d};
    fc_tensor in[3];
    for (int i = 0; i < 3; i++) in[i] = (fc_tensor){.dtype = FUSEC_F32, .rank = 3, .shape = shape};
    f.device->machine.near_cache = 2 << 20;
    if ((p = fc_fixture_compile(&f)) &&
        !fc_bound_get(p, 3, in, 0, NULL, 64, FC_NO_CODE, &b, &f.e)) {
        const fc_strips *c = b->steps[0].strips;
        FC_EXPECT_TRUE(b->scratch < 16 << 20);
        FC_EXPECT_TRUE(c && c->n == 3 && c->axes == 2 && c->extent[0] == 1);
        FC_EXPECT_TRUE(c && c->whole_bytes == (size_t)2 << 30);
        fc_bound_release(p, b);
    }
    fc_fixture_close(&f, p);
}
