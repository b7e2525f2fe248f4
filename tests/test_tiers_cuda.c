/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_tiers_cuda.c - quick code of CUDA: what NVRTC is asked for, and that maps compute the same
 * element by element, behind a driver that runs kernels on the host. */
#include "runtime/compile/nvrtc.h"
#include "tests/support/fake_machine.h"
#include "tests/support/gb.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

#include <stdlib.h>

/* ---- NVRTC ----------------------------------------------------------------------------------- */

FC_TEST(tiers_cuda, nvrtc_is_asked_for_little_optimisation) {
    static const char text[] = "#if defined(FC_TEXT_QUICK) != WANTED\n"
                               "#error\n"
                               "#endif\n"
                               "extern \"C\" __global__ void k(float *x) {\n"
                               "#pragma unroll\n"
                               "    for (int i = 0; i < 16; i++) x[threadIdx.x + i * 64] = "
                               "sinf(x[threadIdx.x + i * 32]);\n"
                               "}\n";
    fc_nvrtc *n;
    fc_error e = {0};
    bool refused = false;
    if (fc_nvrtc_open(&fc_libc_alloc, &n, &e)) FC_SKIP("%s", e.message);
    static const char *const wanted[2] = {"-DWANTED=0", "-DWANTED=1"};
    fc_nvrtc_options o = {.arch = "sm_90",
                          .kind = FC_NVRTC_CUBIN,
                          .refused = &refused,
                          .extra = &wanted[FC_FULL],
                          .n_extra = 1};
    fc_bytes code[2] = {{0}, {0}};
    FC_EXPECT_OK(fc_nvrtc_compile(n, text, "k.cu", &o, &code[FC_FULL], &e), &e);
    FC_EXPECT_FALSE(refused);
    o.quick = true;
    o.extra = &wanted[FC_QUICK];
    FC_EXPECT_OK(fc_nvrtc_compile(n, text, "k.cu", &o, &code[FC_QUICK], &e), &e);
    if (!refused) FC_EXPECT_LT_I64((int64_t)code[FC_QUICK].len, (int64_t)code[FC_FULL].len);
    for (int i = 0; i < 2; i++) fc_bytes_free(&fc_libc_alloc, &code[i]);
    fc_nvrtc_close(n);
}

/* ---- maps ------------------------------------------------------------------------------------ */

enum { SHAPES = 5 };
static const int64_t shapes[SHAPES][2] = {{1, 1}, {1, 1000}, {1, 70001}, {9, 8192}, {257, 301}};

/* y = exp(sin(x) * cos(x)) and z = x + row, of each shape. What fits 16 bytes comes in vectors, and
 * of what is long each thread takes two of them. */
static void run_shapes(fc_tiers tiers, float *y, float *z) {
    fc_fixture f;
    if (!fc_fixture_open(&f, "cuda")) return;
    f.ctx->config.tiers = tiers;
    fc_node x = gbin(&f.g, "x", FUSEC_F32, 2, gbd(&f.g, "n"), gbd(&f.g, "m"), 0);
    fc_node row = gbin(&f.g, "row", FUSEC_F32, 1, gbd(&f.g, "m"), 0, 0);
    fc_node angle = gb2(&f.g, FC_OP_mul, gb1(&f.g, FC_OP_sin, x), gb1(&f.g, FC_OP_cos, x));
    fc_build_output(&f.g, "y", gb1(&f.g, FC_OP_exp, angle));
    fc_build_output(&f.g, "z", gb2(&f.g, FC_OP_add, x, row));
    fc_program *p = fc_fixture_compile(&f);
    for (int s = 0; s < SHAPES; s++) {
        const int64_t n = shapes[s][0], m = shapes[s][1];
        float *in = aligned_alloc(64, (size_t)(n * m + 63) / 64 * 256);
        FC_ASSERT_TRUE(in != NULL);
        for (int64_t i = 0; i < n * m; i++) in[i] = (float)(i % 1009) * (i % 7 ? 0.37f : 1e4f);
        fc_tensor ins[2] = {{.dtype = FUSEC_F32, .rank = 2, .shape = shapes[s], .data = in},
                            {.dtype = FUSEC_F32, .rank = 1, .shape = shapes[s] + 1, .data = in}};
        fc_tensor outs[2] = {{.dtype = FUSEC_F32, .rank = 2, .shape = shapes[s], .data = y},
                             {.dtype = FUSEC_F32, .rank = 2, .shape = shapes[s], .data = z}};
        FC_EXPECT_OK(fc_program_run(p, NULL, 2, ins, 0, NULL, 2, outs, &f.e), &f.e);
        free(in);
        y += n * m;
        z += n * m;
    }
    fc_fixture_close(&f, p);
}

FC_TEST(tiers_cuda, maps_give_the_same_bits) {
    size_t all = 0;
    for (int s = 0; s < SHAPES; s++) all += (size_t)(shapes[s][0] * shapes[s][1]);
    float *of[4];
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    for (int i = 0; i < 4; i++) FC_ASSERT_TRUE((of[i] = calloc(all, sizeof(float))) != NULL);
    run_shapes(FC_TIERS_FULL, of[0], of[1]);
    run_shapes(FC_TIERS_QUICK, of[2], of[3]);
    FC_EXPECT_TRUE(of[0][0] != 0);
    FC_EXPECT_MEMEQ(of[0], of[2], all * sizeof(float));
    FC_EXPECT_MEMEQ(of[1], of[3], all * sizeof(float));
    for (int i = 0; i < 4; i++) free(of[i]);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}
