/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_prelude.c - the CUDA C that stands above kernels (codegen/cuda/prelude): NVRTC takes
 * all of it. */
#include "codegen/cuda/prelude.h"
#include "ir/dtype.h"
#include "runtime/compile/nvrtc.h"
#include "tests/support/cuda_host.h"
#include "tests/support/test.h"

#include <string.h>

/* All sections but those that are another way of doing the same. */
static void put_all_but(const fc_cuh *others, size_t n, fc_str *out) {
    fc_str_add(out, "");
    for (fc_cuh s = 0; s < FC_CUH_COUNT; s++) {
        bool other = false;
        for (size_t i = 0; i < n; i++) other |= others[i] == s;
        if (!other) fc_str_add(out, fc_cuda_sections[s].text);
    }
    fc_str_add(out, "extern \"C\" __global__ void k(float *x) { x[threadIdx.x] = 1; }\n");
}

FC_TEST(cuda_prelude, nvrtc_takes_every_section) {
    if (FC_SANITIZED) FC_SKIP("NVRTC is not instrumented");
    static const fc_cuh others[][3] = {{FC_CUH_index64, FC_CUH_fetch_last, FC_CUH_divisor64},
                                       {FC_CUH_index32, FC_CUH_fetch, FC_CUH_divisor32}};
    fc_error e = {0};
    fc_nvrtc *n = NULL;
    if (fc_nvrtc_open(&fc_libc_alloc, &n, &e) != FUSEC_OK) FC_SKIP("no NVRTC");
    for (size_t i = 0; i < 2 * FC_COUNT(others); i++) {
        const fc_nvrtc_options o = {.arch = "sm_90", .kind = FC_NVRTC_CUBIN, .quick = i % 2 != 0};
        fc_bytes code = {0};
        fc_str text;
        fc_str_init(&text, &fc_libc_alloc);
        put_all_but(others[i / 2], FC_COUNT(others[0]), &text);
        FC_EXPECT_OK(fc_nvrtc_compile(n, text.data, "k", &o, &code, &e), &e);
        fc_bytes_free(&fc_libc_alloc, &code);
        fc_str_free(&text);
    }
    fc_nvrtc_close(n);
}

/* Two of four bytes at once, by steps that are exact in 16 bits only if they are in that order: all
 * bytes in all places. */
FC_TEST(cuda_prelude, bytes_become_floats_of_16_bits) {
    static const fc_cuh sections[] = {FC_CUH_common, FC_CUH_f16, FC_CUH_bf16, FC_CUH_bytes_f16,
                                      FC_CUH_bytes_bf16};
    static uint32_t made[256][2][2][2]; /* [first byte][bf16][signed][upper] */
    const fc_launch l = {.grid = {1, 1, 1}, .block = {256, 1, 1}};
    fc_cuda_host h;
    fc_str text;
    if (!fc_cuda_host_open(&h)) FC_SKIP("no C++ compiler, or a sanitizer");
    fc_str_init(&text, &fc_libc_alloc);
    for (size_t i = 0; i < FC_COUNT(sections); i++)
        fc_str_add(&text, fc_cuda_sections[sections[i]].text);
    fc_str_add(&text, "struct P { long long w[1]; };\n"
                      "extern \"C\" __global__ void k0(const __grid_constant__ P p) {\n"
                      "    const unsigned int t = threadIdx.x;\n"
                      "    unsigned int *to = (unsigned int *)p.w[0] + 8 * t;\n"
                      "    const unsigned int four = (255 - t) << 24 | (t ^ 85) << 16 | "
                      "(t * 7 & 255) << 8 | t;\n"
                      "    for (int i = 0; i < 4; i++) {\n"
                      "        to[i] = fc_f16_bytes(four, i & 1, i & 2);\n"
                      "        to[4 + i] = fc_bf16_bytes(four, i & 1, i & 2);\n"
                      "    }\n"
                      "}\n");
    fc_cuda_host_add(&h, text.data);
    const bool ran = fc_cuda_host_build(&h) &&
                     fc_cuda_host_run(&h, 0, &l, (const int64_t[]){(int64_t)(intptr_t)made});
    FC_EXPECT_TRUE(ran);
    for (unsigned t = 0; t < 256 && ran; t++)
        for (unsigned i = 0; i < 16; i++) {
            const unsigned byte[] = {t, t * 7 & 255, t ^ 85, 255 - t};
            const unsigned of = byte[(i >> 1 & 1) * 2 + (i & 1)];
            const float f = (float)(i & 4 ? (int8_t)of : (int)of);
            const uint32_t two = made[t][i >> 3][i >> 2 & 1][i >> 1 & 1];
            FC_EXPECT_EQ_U64(i & 1 ? two >> 16 : two & 0xffff,
                             i & 8 ? fc_double_to_bf16(f) : fc_double_to_half(f));
        }
    fc_str_free(&text);
    fc_cuda_host_close(&h);
}

/* Comments for readers and the lines that name sections stay in the files. */
FC_TEST(cuda_prelude, sections_are_text_of_the_compiler) {
    for (fc_cuh s = 0; s < FC_CUH_COUNT; s++) {
        const char *text = fc_cuda_sections[s].text;
        FC_TRACE("%s", fc_cuda_sections[s].name);
        FC_EXPECT_TRUE(strstr(text, "//") == NULL);
        FC_EXPECT_TRUE(*text && text[strlen(text) - 1] == '\n' && *text != '\n');
        FC_UNTRACE();
    }
    FC_EXPECT_STREQ(fc_cuda_sections[FC_CUH_neg].text,
                    "FC_INLINE unsigned int fc_neg(unsigned int x) {\n"
                    "    unsigned int r = 0u - x;\n"
                    "#ifndef FC_EMULATE\n"
                    "    asm(\"\" : \"+r\"(r));\n"
                    "#endif\n"
                    "    return r;\n"
                    "}\n");
}
