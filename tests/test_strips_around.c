/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_strips_around.c - maps that read rows around their own run strip by strip (runtime/strips.h)
 * where they should, and give the bits that they give one after the other. */
#include "runtime/program.h"
#include "runtime/strips.h"

#include <stdlib.h>

#include "tests/support/gb.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

static fc_node shifted(fc_graph *g, fc_node x, fc_edge mode, int64_t down, int64_t across) {
    static const int64_t rows[] = {1, 0}, columns[] = {0, 1};
    const fc_view_axis axes[] = {{fc_dim_const(&g->dims, down), mode, rows},
                                 {fc_dim_const(&g->dims, across), mode, columns}};
    return fc_build_view(g, x, 2, (fc_dim[]){fc_axis(g, x, 0), fc_axis(g, x, 1)}, axes);
}

/* Three passes: across, down, and two rows up in both of these arrays. */
static void picture(fc_graph *g, fc_edge mode) {
    const fc_node x = gbin(g, "x", FUSEC_F32, 2, gbd(g, "h"), gbd(g, "w"), 0);
    const fc_node t = fc_build_materialize(g, gb2(g, FC_OP_sub, shifted(g, x, mode, 0, 1), x));
    const fc_node s = fc_build_materialize(
        g, gb2(g, FC_OP_mul, shifted(g, t, mode, 3, 0), shifted(g, t, mode, -2, 0)));
    fc_build_output(g, "y",
                    gb2(g, FC_OP_add, shifted(g, s, mode, -1, 0), shifted(g, t, mode, -2, 2)));
}

/* The rows between are more than those of the result. */
static void differences(fc_graph *g) {
    const fc_dim h = gbd(g, "h"), w = gbd(g, "w");
    const fc_node x = gbin(g, "x", FUSEC_F32, 2, h, w, 0),
                  t = fc_build_materialize(g, gb2(g, FC_OP_mul, x, x));
    const fc_dim less = fc_dim_sub(&g->dims, h, fc_dim_const(&g->dims, 2));
    fc_build_output(g, "y",
                    gb2(g, FC_OP_sub, gbslice(g, t, 0, 2, less), gbslice(g, t, 0, 0, less)));
}

/* Rows above alone, of which a mirror has those of the first rows below. */
static void leaning(fc_graph *g, fc_edge mode) {
    const fc_node x = gbin(g, "x", FUSEC_F32, 2, gbd(g, "h"), gbd(g, "w"), 0),
                  t = fc_build_materialize(g, gb2(g, FC_OP_mul, x, x));
    fc_build_output(g, "y", gb2(g, FC_OP_sub, shifted(g, t, mode, -2, 0), x));
}

/* What the next programs are: this one, in strips of a row if that is possible. */
static bool leans;

typedef struct result {
    float *data;
    bool cut;
} result;

static result run(fc_edge mode, const char *device, int64_t h, int64_t w, bool in_place) {
    fc_fixture f;
    result r = {0};
    if (!fc_fixture_open(&f, device)) return r;
    f.device->machine.threads = 2; /* how many there are decides what is cut */
    f.device->machine.near_cache = leans ? 64 : (size_t)64 << 10;
    leans ? leaning(&f.g, mode) : mode ? picture(&f.g, mode) : differences(&f.g);
    fc_program *p = fc_fixture_compile(&f);
    const int64_t in[2] = {h, w}, out[2] = {mode ? h : h - 2, w};
    const size_t n = (size_t)(h * w);
    float *x = aligned_alloc(64, (n * 4 + 63) / 64 * 64);
    r.data = aligned_alloc(64, (n * 4 + 63) / 64 * 64);
    for (size_t i = 0; i < n; i++) x[i] = (float)((i * 7919) % 1013) * 0.37f;
    if (in_place) memcpy(r.data, x, n * 4);
    fc_tensor a = {.dtype = FUSEC_F32, .rank = 2, .shape = in, .data = in_place ? r.data : x},
              y = {.dtype = FUSEC_F32, .rank = 2, .shape = out, .data = r.data};
    for (int i = 0; i < (in_place ? 1 : 3) && p; i++)
        FC_EXPECT_OK(fc_program_run(p, NULL, 1, &a, 0, NULL, 1, &y, &f.e), &f.e);
    fc_bound *b = NULL;
    if (p && !fc_bound_get(p, 1, &a, 0, NULL, 64, FC_NO_CODE, &b, &f.e)) {
        r.cut = b->steps[0].strips != NULL;
        fc_bound_release(p, b);
    }
    free(x);
    fc_fixture_close(&f, p);
    return r;
}

static void compare(fc_edge mode, int64_t h, int64_t w, bool cut, bool in_place) {
    result cpu = run(mode, "cpu", h, w, in_place), interp = run(mode, "interp", h, w, false);
    FC_TRACE("%s %d x %d", fc_edge_names[mode], (int)h, (int)w);
    if (cpu.data && interp.data) {
        FC_EXPECT_EQ_I64(cpu.cut, cut);
        const size_t n = (size_t)((mode ? h : h - 2) * w);
        FC_EXPECT_EQ_I64(memcmp(cpu.data, interp.data, n * sizeof(float)), 0);
    }
    FC_UNTRACE();
    free(cpu.data);
    free(interp.data);
}

FC_TEST(strips_around, rows_at_edges) {
    compare(FC_EDGE_EDGE, 701, 150, true, false);
    compare(FC_EDGE_ZERO, 513, 64, true, false);
    compare(FC_EDGE_REFLECT, 1200, 37, true, false);
    compare(FC_EDGE_SYMMETRIC, 700, 150, true, false);
    compare(FC_EDGE_NONE, 900, 101, true, false);
}

FC_TEST(strips_around, what_a_mirror_has_on_the_other_side) {
    leans = true;
    for (fc_edge mode = FC_EDGE_ZERO; mode < FC_EDGE_COUNT; mode++)
        if (mode != FC_EDGE_WRAP) compare(mode, 2, 32, false, false);
    leans = false;
}

FC_TEST(strips_around, what_goes_round_or_fits_the_cache_is_made_whole) {
    compare(FC_EDGE_WRAP, 701, 150, false, false);
    compare(FC_EDGE_EDGE, 40, 30, false, false);
}

FC_TEST(strips_around, a_result_on_an_input) {
    compare(FC_EDGE_EDGE, 701, 150, true, true);
}
