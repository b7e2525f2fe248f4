/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_prelude.c - the CUDA C that stands above kernels (codegen/cuda/prelude): NVRTC takes
 * all of it. */
#include "codegen/cuda/prelude.h"
#include "runtime/compile/nvrtc.h"
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
    static const fc_cuh others[][2] = {{FC_CUH_index64, FC_CUH_fetch_last},
                                       {FC_CUH_index32, FC_CUH_fetch}};
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
