/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_llvm_text.c - how long the text of a kernel is for what it computes: LLVM's time and that of
 * the kernel's key follow it. The bounds are some tenths above what is written now. */
#include "ir/kernel.h"
#include "runtime/bind.h"
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/test.h"

#include <string.h>

/* Text of all kernels for x[m, m] on the CPU of this machine; false without one. */
static bool text_of(const fc_graph *g, int64_t m, fc_str *text, size_t *kernels) {
    fc_how how = {0};
    fc_error e = {0};
    fc_program *p = NULL;
    fc_bound *b = NULL;
    float dummy[1] = {0};
    how.ctx = fc_rig("cpu", 1, &how.device);
    if (!how.ctx) return false;
    FC_EXPECT_OK(fc_program_new(how.ctx, g, &(fc_program_options){.device = how.device}, &p, &e),
                 &e);
    if (!p) return false;
    fc_tensor x = {.data = dummy, .dtype = FUSEC_F32, .rank = 2, .shape = (int64_t[]){m, m}};
    FC_EXPECT_OK(fc_bound_get(p, 1, &x, 0, NULL, 64, FC_NO_CODE, &b, &e), &e);
    *kernels = p->plan->steps.len;
    for (size_t i = 0; b && i < *kernels; i++)
        FC_EXPECT_OK(how.device->target->emit(&how.device->machine, &p->plan->steps.at[i]->kernel,
                                              &b->steps[i].cls, "k", text, &e),
                     &e);
    if (b) fc_bound_release(p, b);
    fc_program_free(p);
    return b != NULL;
}

/* `sines` times y = sin(y * c), each c another number. */
static size_t bytes_of_sines(int sines, fc_op op, size_t *kernels) {
    fc_graph g;
    fc_str text;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_str_init(&text, &fc_libc_alloc);
    fc_node y = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    for (int i = 0; i < sines; i++)
        y = gb1(&g, op, gb2(&g, FC_OP_mul, y, gbn(&g, y, 1 + i / 128.0)));
    fc_build_output(&g, "y", y);
    const size_t len = text_of(&g, 64, &text, kernels) ? text.len : 0;
    fc_str_free(&text);
    fc_graph_free(&g);
    return len;
}

FC_TEST(llvm_text, bytes_for_each_of_many_functions) {
    static const fc_op ops[] = {FC_OP_sin, FC_OP_exp, FC_OP_erf};
    for (size_t i = 0; i < FC_COUNT(ops); i++) {
        size_t kernels, bytes = bytes_of_sines(640, ops[i], &kernels);
        if (!bytes) FC_SKIP("no LLVM");
        FC_EXPECT_LE_I64((int64_t)bytes, 640 * 512);
        FC_EXPECT_LE_I64((int64_t)kernels, 10);
    }
}

FC_TEST(llvm_text, bytes_of_a_formula_in_place) {
    size_t kernels, one = bytes_of_sines(1, FC_OP_sin, &kernels);
    if (!one) FC_SKIP("no LLVM");
    const size_t more = bytes_of_sines(9, FC_OP_sin, &kernels);
    FC_EXPECT_LE_I64((int64_t)one, 12000);
    FC_EXPECT_LE_I64((int64_t)(more - one), 8 * 6000);
}

/* Whether the text of second(first(x)) has vectors of so many floats; of x[m, m] that lies
 * together, or of its first columns. -1 without LLVM, or with narrow vectors. */
static int has_lanes(const char *lanes, fc_op first, fc_op second, int64_t columns) {
    fc_graph g;
    fc_str text;
    size_t kernels;
    fc_how how = {0};
    how.ctx = fc_rig("cpu", 1, &how.device);
    if (!how.ctx || how.device->machine.vector_bytes < 64) return -1;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_str_init(&text, &fc_libc_alloc);
    fc_node y = gbin(&g, "x", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    if (columns) y = gbslice(&g, y, 1, 0, fc_dim_const(&g.dims, columns));
    y = gb1(&g, first, y);
    if (second) y = gb1(&g, second, y);
    fc_build_output(&g, "y", y);
    const int has = text_of(&g, 600, &text, &kernels) ? strstr(text.data, lanes) != NULL : -1;
    fc_str_free(&text);
    fc_graph_free(&g);
    return has;
}

/* Long chains take four registers at a time, but for short rows and functions in f64; others two.
 */
FC_TEST(llvm_text, registers_side_by_side) {
    static const char two[] = "<32 x float>", four[] = "<64 x float>";
    if (has_lanes(two, FC_OP_exp, 0, 0) < 0) FC_SKIP("no AVX-512");
    FC_EXPECT_EQ_I64(has_lanes(four, FC_OP_exp, 0, 0), 0);
    FC_EXPECT_EQ_I64(has_lanes(two, FC_OP_exp, 0, 0), 1);
    FC_EXPECT_EQ_I64(has_lanes(four, FC_OP_sin, FC_OP_exp, 0), 1);
    FC_EXPECT_EQ_I64(has_lanes(two, FC_OP_sin, FC_OP_log1p, 0), 1);
    FC_EXPECT_EQ_I64(has_lanes(four, FC_OP_sin, FC_OP_exp, 512), 1);
    FC_EXPECT_EQ_I64(has_lanes(two, FC_OP_sin, FC_OP_exp, 500), 1);
}
