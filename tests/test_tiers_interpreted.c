/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_tiers_interpreted.c - what the interpreter does until compiled code is there has the bits of
 * that code: random graphs of all operations, interpreted by the CPU device and compiled. */
#include <stdlib.h>

#include "runtime/background.h"
#include "tests/support/random_graph.h"
#include "tests/support/test.h"

enum { GRAPHS = 60 };

typedef struct both {
    fc_how interpreted, compiled;
} both;

static atomic_int interpreted;
static const fc_device_ops *real;
static fc_device_ops counting;

static fusec_status count_interpret(fc_device *d, const fc_kernel *k, void **code, fc_error *e) {
    atomic_fetch_add(&interpreted, 1);
    return real->interpret(d, k, code, e);
}

/* Nothing that is compiled comes in between. */
static fusec_status no_compile(fc_device *d, uint32_t mode, fc_effort effort, const char *text,
                               fc_bytes *out, fc_error *e) {
    if (effort == FC_FULL && fc_background_running())
        return fc_fail(e, FUSEC_LLVM, "nobody waits for it");
    return real->compile(d, mode, effort, text, out, e);
}

static void check(const rg *r, const both *b, uint64_t seed) {
    fc_graph g;
    fc_oracle sizes, o;
    fc_arrays in, x = {0}, y = {0};
    fc_error e = {0};
    fc_str why;
    int input[RG_NODES];
    int64_t syms[256];
    const void *data[RG_NODES];
    rg_build(r, RG_SYMBOLIC, &g, input, syms);
    fc_oracle_sizes(&sizes, &g, syms);
    fc_arrays_for(&in, &g, &sizes, false);
    fc_oracle_free(&sizes);
    for (uint32_t i = 0; i < in.n; i++) {
        rg_fill(r->node[input[i]].bits, &in.t[i]);
        data[i] = in.t[i].data;
    }
    fc_oracle_run(&o, &g, syms, data);
    fc_str_init(&why, &fc_libc_alloc);
    b->interpreted.device->interpreted_work = 1e18;
    const fusec_status s = fc_rig_run(&b->interpreted, &g, syms, &in, &x, &e);
    const fusec_status t = fc_rig_run(&b->compiled, &g, syms, &in, &y, &e);
    if (s != t || (!s && fc_differ(&g, &o, &x, &y, &why)))
        FC_FAIL("seed %llu: %s %s", (unsigned long long)seed, why.data, e.message);
    fc_str_free(&why);
    if (x.t) fc_arrays_free(&x);
    if (y.t) fc_arrays_free(&y);
    fc_arrays_free(&in);
    fc_oracle_free(&o);
    fc_graph_free(&g);
}

FC_TEST(tiers_interpreted, random_graphs_have_the_bits_of_compiled_code) {
    const char *wanted = getenv("FUSEC_FUZZ_COUNT");
    const int count = wanted ? atoi(wanted) : GRAPHS;
    both b = {.interpreted = {.runs = 1}, .compiled = {.runs = 1}};
    fc_config c;
    fc_error e = {0};
    b.compiled.ctx = fc_rig("cpu", 1, &b.compiled.device);
    if (!b.compiled.ctx) FC_SKIP("there is no LLVM");
    fc_config_init(&c);
    c.cache_dir = "";
    c.tiers = FC_TIERS_BOTH;
    c.processors = 2;
    FC_ASSERT_OK(fc_context_new(&c, &b.interpreted.ctx, &e), &e);
    FC_ASSERT_OK(fc_context_device(b.interpreted.ctx, "cpu", &b.interpreted.device, NULL, &e), &e);
    real = b.interpreted.device->ops;
    counting = *real;
    counting.interpret = count_interpret;
    counting.compile = no_compile;
    b.interpreted.device->ops = &counting;
    atomic_store(&interpreted, 0);
    for (int i = 0; i < count; i++) {
        fc_rng rng = {(uint64_t)i + 77000};
        rg r;
        rg_make(&r, &rng, &(rg_options){.nodes = 16, .elements = i % 4 ? 300 : 4200});
        check(&r, &b, (uint64_t)i);
    }
    FC_EXPECT_TRUE(atomic_load(&interpreted) > count / 2);
    fc_context_free(b.interpreted.ctx);
}
