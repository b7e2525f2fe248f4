/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels: verifying, slicing, counting, printing. Nests: binding, merging, classes, the parameter
 * block. */
#include "codegen/nest.h"
#include "tests/support/sample_kernels.h"
#include "tests/support/test.h"

static fusec_status open_sample(const char *name, int64_t n, int64_t m, int64_t d,
                                fc_sample_run *run) {
    int64_t size[FC_SAMPLE_SIZES] = {n, m, d};
    fc_error err = {0};
    fusec_status s = fc_sample_open(fc_sample_find(name), size, run, &err);
    FC_EXPECT_OK(s, &err);
    return s;
}

static int64_t stride(const fc_nest *n, uint32_t access, uint32_t axis) {
    return n->stride[(size_t)access * (n->np + n->nr) + axis];
}

/* ---- kernels --------------------------------------------------------------------------------- */

FC_TEST(kernel, verify_finds_faults) {
    fc_sample_run run;
    fc_error e = {0};
    FC_ASSERT_TRUE(open_sample("softmax", 3, 4, 0, &run) == FUSEC_OK);
    fc_kernel *k = &run.kernel;
    FC_EXPECT_OK(fc_kernel_verify(k, &e), &e);

    k->reductions.at[1].stage = 0; /* reads the result of its own stage */
    FC_EXPECT_STATUS(fc_kernel_verify(k, &e), FUSEC_INTERNAL, &e);
    k->reductions.at[1].stage = 1;
    k->args.at[0].written = true;
    e = (fc_error){0};
    FC_EXPECT_STATUS(fc_kernel_verify(k, &e), FUSEC_INTERNAL, &e);
    FC_EXPECT_CONTAINS(e.message, "reads an argument that is written");
    k->args.at[0].written = false;
    k->accesses.at[0].level = FC_ROW;
    e = (fc_error){0};
    FC_EXPECT_STATUS(fc_kernel_verify(k, &e), FUSEC_INTERNAL, &e);
    k->accesses.at[0].level = FC_POINT;
    k->schedule = FC_SCHED_MAP;
    e = (fc_error){0};
    FC_EXPECT_STATUS(fc_kernel_verify(k, &e), FUSEC_INTERNAL, &e);
    k->schedule = FC_SCHED_INNER;
    FC_EXPECT_OK(fc_kernel_verify(k, NULL), NULL);
    fc_sample_close(&run);
}

FC_TEST(kernel, slice_stops_at_results) {
    fc_sample_run run;
    FC_ASSERT_TRUE(open_sample("softmax", 3, 4, 0, &run) == FUSEC_OK);
    const fc_code *c = &run.kernel.code;
    uint8_t needed[64] = {0};
    fc_kernel_slice(c, &run.kernel.reductions.at[0].value[0], 1, needed);
    size_t n = 0;
    for (size_t i = 0; i < c->ins.len; i++) n += needed[i];
    FC_EXPECT_EQ_I64((int64_t)n, 1); /* the load */
    memset(needed, 0, sizeof needed);
    fc_kernel_slice(c, &run.kernel.reductions.at[1].value[0], 1, needed);
    n = 0;
    for (size_t i = 0; i < c->ins.len; i++) n += needed[i];
    FC_EXPECT_EQ_I64((int64_t)n, 4); /* load, maximum, difference, exponential */
    fc_sample_close(&run);
}

FC_TEST(kernel, cost_counts_every_stage) {
    fc_sample_run run;
    uint32_t ops, trans;
    FC_ASSERT_TRUE(open_sample("softmax", 3, 4, 0, &run) == FUSEC_OK);
    fc_kernel_cost(&run.kernel, &ops, &trans);
    FC_EXPECT_EQ_I64(ops, 1 + (2 + 1) + 3); /* max; exp(x - m) and sum; exp(x - m) / s */
    FC_EXPECT_EQ_I64(trans, 2);
    fc_sample_close(&run);
}

FC_TEST(kernel, prints) {
    fc_sample_run run;
    fc_str text;
    fc_str_init(&text, &fc_libc_alloc);
    FC_ASSERT_TRUE(open_sample("map_slices", 10, 0, 0, &run) == FUSEC_OK);
    fc_kernel_print(&run.kernel, &run.dims, &text);
    FC_EXPECT_CONTAINS(text.data, "kernel map p1 r0 [n]\n");
    FC_EXPECT_CONTAINS(text.data, "arg0 = f32 in\n");
    FC_EXPECT_CONTAINS(text.data, "param0 = f32 input 1\n");
    FC_EXPECT_CONTAINS(text.data, "param1 = i64 size n\n");
    FC_EXPECT_CONTAINS(text.data, "access0 = arg0 [i0*2 + 1] of [2*n + 1]\n");
    FC_EXPECT_CONTAINS(text.data, "access1 = arg0 [i0*-1 + 2*n] of [2*n + 1]\n");
    fc_str_clear(&text);
    fc_kernel_print(&run.kernel, NULL, &text);
    FC_EXPECT_CONTAINS(text.data, "access1 = arg0\n");
    fc_str_free(&text);
    fc_sample_close(&run);
}

FC_TEST(kernel, all_samples_print_themselves) {
    for (size_t i = 0; i < fc_nsamples; i++) {
        fc_sample_run run;
        fc_str text;
        fc_str_init(&text, &fc_libc_alloc);
        if (open_sample(fc_samples[i].name, 2, 3, 4, &run) == FUSEC_OK) {
            fc_kernel_print(&run.kernel, &run.dims, &text);
            FC_EXPECT_CONTAINS(text.data, "store access");
        }
        fc_str_free(&text);
        fc_sample_close(&run);
    }
}

/* ---- binding --------------------------------------------------------------------------------- */

FC_TEST(nest, keeps_what_is_walked_differently) {
    fc_sample_run run;
    FC_ASSERT_TRUE(open_sample("map_broadcast", 6, 5, 0, &run) == FUSEC_OK);
    const fc_nest *n = &run.nest;
    FC_EXPECT_EQ_I64(n->np, 2);
    FC_EXPECT_EQ_I64(n->extent[0], 6);
    FC_EXPECT_EQ_I64(n->extent[1], 5);
    const int64_t want[5][2] = {{5, 1}, {1, 6}, {0, 1}, {1, 0}, {5, 1}};
    for (uint32_t a = 0; a < 5; a++)
        for (uint32_t i = 0; i < 2; i++) FC_EXPECT_EQ_I64(stride(n, a, i), want[a][i]);
    FC_EXPECT_FALSE(n->wide);
    fc_sample_close(&run);
}

FC_TEST(nest, drops_axes_of_one) {
    fc_sample_run run;
    FC_ASSERT_TRUE(open_sample("map_broadcast", 1, 5, 0, &run) == FUSEC_OK);
    FC_EXPECT_EQ_I64(run.nest.np, 1);
    FC_EXPECT_EQ_I64(run.nest.extent[0], 5);
    FC_EXPECT_EQ_I64(stride(&run.nest, 3, 0), 0);
    fc_sample_close(&run);
    FC_ASSERT_TRUE(open_sample("map_broadcast", 1, 1, 0, &run) == FUSEC_OK);
    FC_EXPECT_EQ_I64(run.nest.np, 1);
    FC_EXPECT_EQ_I64(run.nest.extent[0], 1);
    FC_EXPECT_EQ_I64(run.nest.rows, 1);
    fc_sample_close(&run);
}

FC_TEST(nest, adds_the_axes_a_reduction_lacks) {
    fc_sample_run run;
    FC_ASSERT_TRUE(open_sample("square_error_all", 7, 0, 0, &run) == FUSEC_OK);
    FC_EXPECT_EQ_I64(run.nest.np, 1);
    FC_EXPECT_EQ_I64(run.nest.nr, 1);
    FC_EXPECT_EQ_I64(run.nest.extent[0], 1);
    FC_EXPECT_EQ_I64(run.nest.extent[1], 7);
    FC_EXPECT_EQ_I64(stride(&run.nest, 0, 1), 1);
    fc_sample_close(&run);
    FC_ASSERT_TRUE(open_sample("square_error_rows", 7, 1, 0, &run) == FUSEC_OK);
    FC_EXPECT_EQ_I64(run.nest.nr, 1);
    FC_EXPECT_EQ_I64(run.nest.extent[0], 7);
    FC_EXPECT_EQ_I64(run.nest.extent[1], 1);
    FC_EXPECT_EQ_I64(run.nest.count, 1);
    fc_sample_close(&run);
}

FC_TEST(nest, reduced_axes_merge_when_the_kept_one_is_dropped) {
    fc_sample_run run;
    FC_ASSERT_TRUE(open_sample("middle", 4, 3, 5, &run) == FUSEC_OK);
    FC_EXPECT_EQ_I64(run.nest.nr, 2);
    FC_EXPECT_EQ_I64(run.nest.count, 20);
    FC_EXPECT_EQ_I64(stride(&run.nest, 0, 0), 5);
    FC_EXPECT_EQ_I64(stride(&run.nest, 0, 1), 15);
    FC_EXPECT_EQ_I64(stride(&run.nest, 0, 2), 1);
    fc_sample_close(&run);
    FC_ASSERT_TRUE(open_sample("middle", 4, 1, 5, &run) == FUSEC_OK);
    FC_EXPECT_EQ_I64(run.nest.nr, 1);
    FC_EXPECT_EQ_I64(run.nest.extent[1], 20);
    FC_EXPECT_EQ_I64(stride(&run.nest, 0, 1), 1);
    fc_sample_close(&run);
}

FC_TEST(nest, flips_and_slices) {
    fc_sample_run run;
    FC_ASSERT_TRUE(open_sample("map_slices", 10, 0, 0, &run) == FUSEC_OK);
    FC_EXPECT_EQ_I64(run.nest.offset[0], 1);
    FC_EXPECT_EQ_I64(stride(&run.nest, 0, 0), 2);
    FC_EXPECT_EQ_I64(run.nest.offset[1], 20);
    FC_EXPECT_EQ_I64(stride(&run.nest, 1, 0), -1);
    fc_sample_close(&run);
}

FC_TEST(nest, indices_keep_axes_apart) {
    fc_sample_run run;
    FC_ASSERT_TRUE(open_sample("map_index", 6, 5, 0, &run) == FUSEC_OK);
    const fc_nest *n = &run.nest;
    FC_EXPECT_EQ_I64(n->np, 2);
    FC_EXPECT_EQ_I64(n->offset[0], 25); /* the last row of a */
    FC_EXPECT_EQ_I64(stride(n, 0, 0), -5);
    for (uint32_t a = 0; a < n->naccess; a++) {
        const fc_access *acc = &run.kernel.accesses.at[a];
        if (acc->buffer != FC_NO_BUFFER) continue;
        FC_EXPECT_EQ_I64(n->offset[a], run.values[acc->map[0].start]);
        FC_EXPECT_EQ_I64(stride(n, a, (uint32_t)acc->map[0].axis), acc->map[0].step);
    }
    fc_sample_close(&run);
}

FC_TEST(nest, empty) {
    fc_sample_run run;
    FC_ASSERT_TRUE(open_sample("map_broadcast", 0, 5, 0, &run) == FUSEC_OK);
    FC_EXPECT_TRUE(run.nest.empty);
    FC_EXPECT_EQ_I64(run.nest.rows, 0);
    fc_sample_close(&run);
    FC_ASSERT_TRUE(open_sample("column_sum", 0, 5, 0, &run) == FUSEC_OK);
    FC_EXPECT_FALSE(run.nest.empty);
    FC_EXPECT_EQ_I64(run.nest.rows, 5);
    FC_EXPECT_EQ_I64(run.nest.count, 0);
    fc_sample_close(&run);
}

/* Binding again to sizes far beyond what a test could allocate. */
static fusec_status rebind(fc_sample_run *run, int64_t n, int64_t m, fc_nest *out, fc_error *e) {
    int64_t syms[8] = {0}, values[64];
    uint32_t sym;
    fc_dim bad;
    if (fc_dim_is_sym(&run->dims, fc_dim_named(&run->dims, "n"), &sym)) syms[sym] = n;
    if (fc_dim_is_sym(&run->dims, fc_dim_named(&run->dims, "m"), &sym)) syms[sym] = m;
    if (!fc_dims_eval(&run->dims, syms, values, &bad))
        return fc_fail(e, FUSEC_INPUT_SHAPE, "overflow");
    return fc_nest_bind(&run->kernel, values, &run->arena, out, e);
}

FC_TEST(nest, wide_and_too_large) {
    fc_sample_run run;
    fc_nest n;
    fc_error e = {0};
    FC_ASSERT_TRUE(open_sample("map_broadcast", 2, 3, 0, &run) == FUSEC_OK);
    FC_EXPECT_OK(rebind(&run, 40000, 50000, &n, &e), &e);
    FC_EXPECT_FALSE(n.wide);
    FC_EXPECT_OK(rebind(&run, 50000, 50000, &n, &e), &e);
    FC_EXPECT_TRUE(n.wide);
    FC_EXPECT_EQ_I64(n.rows, INT64_C(2500000000));
    FC_EXPECT_STATUS(rebind(&run, INT64_C(1) << 40, INT64_C(1) << 40, &n, &e), FUSEC_INPUT_SHAPE,
                     &e);
    e = (fc_error){0};
    FC_EXPECT_STATUS(rebind(&run, -1, 3, &n, &e), FUSEC_INPUT_SHAPE, &e);
    e = (fc_error){0};
    FC_EXPECT_OK(rebind(&run, INT64_C(1) << 62, 0, &n, &e), &e);
    FC_EXPECT_TRUE(n.empty);
    fc_sample_close(&run);
}

FC_TEST(nest, refuses_to_leave_an_array) {
    fc_sample_run run;
    fc_nest n;
    fc_error e = {0};
    FC_ASSERT_TRUE(open_sample("map_slices", 10, 0, 0, &run) == FUSEC_OK);
    ((fc_map *)(uintptr_t)run.kernel.accesses.at[0].map)->step = 3;
    FC_EXPECT_STATUS(rebind(&run, 10, 0, &n, &e), FUSEC_INTERNAL, &e);
    FC_EXPECT_CONTAINS(e.message, "indexes an axis of size 21");
    fc_sample_close(&run);
}

/* ---- class and parameters -------------------------------------------------------------------- */

FC_TEST(nest, class_text) {
    fc_sample_run run;
    fc_class cls, other;
    fc_str text;
    fc_error e = {0};
    fc_str_init(&text, &fc_libc_alloc);
    FC_ASSERT_TRUE(open_sample("distance", 3, 4, 5, &run) == FUSEC_OK);
    FC_ASSERT_OK(fc_class_of(&run.nest, FC_TARGET_CUDA, &run.arena, &cls, &e), &e);
    FC_ASSERT_OK(fc_class_of(&run.nest, FC_TARGET_CUDA, &run.arena, &other, &e), &e);
    FC_EXPECT_EQ_I64(fc_class_move(&cls, 0, 2), FC_MOVE_ONE);
    FC_EXPECT_EQ_I64(fc_class_move(&cls, 0, 1), FC_MOVE_ZERO);
    FC_EXPECT_EQ_I64(fc_class_move(&cls, 2, 0), FC_MOVE_ANY);
    FC_EXPECT_TRUE(fc_class_equal(&cls, &other));
    fc_class_print(&cls, &text);
    FC_EXPECT_STREQ(text.data, "p2 r1 i32 unaligned v1 map x01 0x1 x10");
    other.vector = 4;
    FC_EXPECT_FALSE(fc_class_equal(&cls, &other));
    other = cls;
    other.cuda.kind = FC_CUDA_RING;
    other.cuda.buffers = 7;
    other.cuda.full = true;
    FC_EXPECT_FALSE(fc_class_equal(&cls, &other));
    cls = other;
    cls.cuda.full = false;
    cls.wide = true;
    cls.cuda.large = true;
    FC_EXPECT_EQ_I64(fc_class_stands_in(&cls, &other), 1); /* it tests more, and reads otherwise */
    FC_EXPECT_FALSE(fc_class_stands_in(&other, &cls));
    cls.cuda.kind = other.cuda.kind = FC_CUDA_ONE;
    cls.cuda.iterations = other.cuda.iterations = 8;
    cls.cuda.repeat = 1;
    other.cuda.repeat = 4;
    FC_EXPECT_EQ_I64(fc_class_stands_in(&cls, &other), 4); /* as many more blocks */
    cls.cuda.kind = other.cuda.kind = FC_CUDA_RING;
    cls.cuda.iterations = other.cuda.iterations = 0;
    other.cuda.repeat = 1;
    cls.cuda.buffers = 6;
    FC_EXPECT_FALSE(fc_class_stands_in(&cls, &other));
    text.len = 0;
    fc_class_print(&other, &text);
    FC_EXPECT_STREQ(text.data, "p2 r1 i32 unaligned v1 ring full buffers=7 x01 0x1 x10");
    fc_str_free(&text);
    fc_sample_close(&run);
}

FC_TEST(nest, parameter_block) {
    fc_sample_run run;
    FC_ASSERT_TRUE(open_sample("map_slices", 10, 0, 0, &run) == FUSEC_OK);
    const int64_t *w = fc_sample_words(&run, NULL);
    fc_layout l = fc_layout_of(2, 1, run.nest.naccess, 2);
    FC_EXPECT_EQ_PTR((void *)(intptr_t)w[l.args + 1], run.data[1]);
    FC_EXPECT_EQ_I64(w[l.extents], 10);
    FC_EXPECT_EQ_I64(w[l.accesses], 1);
    FC_EXPECT_EQ_I64(w[l.accesses + 1], 2);
    FC_EXPECT_EQ_I64(w[l.params], 0x3fa00000); /* 1.25f */
    FC_EXPECT_EQ_I64(w[l.params + 1], 10);
    FC_EXPECT_EQ_I64(w[l.extra + FC_PB_ROWS], 10);
    FC_EXPECT_EQ_I64(w[l.extra + FC_PB_COUNT], 1);
    fc_sample_close(&run);
}
