/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_timeline.c - run --trace, and ranges of NVTX: kernels under their names, inside of the phase
 * that they belong to, on the row of the device where it has time of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/shell.h"
#include "tests/support/test.h"

#define FAKE FUSEC_BINARY_DIR "/bin/fake/libfake_cuda_whole.so"

typedef struct span {
    double begin, end;
    int row;
} span;

/* The event of a name, from its line of the file. */
static span find(const char *text, const char *kind, const char *name) {
    char key[200];
    span s = {-1, -1, -1};
    double took = 0;
    snprintf(key, sizeof key, "\"cat\":\"%s\",\"name\":\"%s\",\"ts\":", kind, name);
    const char *at = strstr(text, key);
    if (!at) return s;
    sscanf(at + strlen(key), "%lf,\"dur\":%lf", &s.begin, &took);
    s.end = s.begin + took;
    while (at > text && at[-1] != '\n') at--;
    sscanf(at, "{\"ph\":\"X\",\"pid\":1,\"tid\":%d", &s.row);
    return s;
}

static void expect_inside(span outer, span inner) {
    FC_EXPECT_TRUE(outer.begin >= 0 && inner.begin >= outer.begin &&
                   inner.end <= outer.end + 0.002);
}

FC_TEST(timeline, kernels_are_inside_of_the_computation) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "fusec run -q -d interp %s/examples/softmax.fuse x=rand:f32:10x100 -o y.npy "
               "--trace t.json && cat t.json",
               FUSEC_SOURCE_DIR);
    const span compute = find(sh.out, "phase", "compute");
    FC_EXPECT_CONTAINS(sh.out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"fusec\":\"0.");
    expect_inside(compute, find(sh.out, "kernel", "fusec_inner_max_sum_exp_sub"));
    expect_inside(find(sh.out, "phase", "bind and compile"),
                  find(sh.out, "load", "fusec_inner_max_sum_exp_sub"));
    FC_EXPECT_TRUE(find(sh.out, "phase", "parse and check").end <=
                   find(sh.out, "phase", "plan").begin);
    FC_EXPECT_TRUE(find(sh.out, "phase", "write results").begin >= compute.end);
    EXPECT_RUN(sh, 0, "! command -v python3 >/dev/null || python3 -m json.tool t.json >/dev/null");
    shell_close(&sh);
}

FC_TEST(timeline, a_gpu_has_a_row_of_its_own) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "export FUSEC_LIBCUDA_PATH=" FAKE " FUSEC_NVRTC_PATH=" FAKE " FUSEC_COMPILER=\n"
               "fusec -q -d cuda -e 'sin(x*2 + 1)' x=rand:f32:1000 -o y.npy --trace t.json && "
               "cat t.json");
    FC_EXPECT_EQ_I64(find(sh.out, "kernel", "fusec_map_sin_mul_add").row, 1000);
    FC_EXPECT_EQ_I64(find(sh.out, "launch", "fusec_map_sin_mul_add").row, 0);
    FC_EXPECT_CONTAINS(sh.out, "\"name\":\"cuda:0\"");
    FC_EXPECT_TRUE(find(sh.out, "compile", "fusec_map_sin_mul_add").begin >= 0);
    FC_EXPECT_CONTAINS(sh.out, "\"args\":{\"bytes\":4000}");
    expect_inside(find(sh.out, "phase", "compute"), find(sh.out, "copy", "to the device"));
    shell_close(&sh);
}

FC_TEST(timeline, messages) {
    OPEN(sh);
    EXPECT_RUN(sh, 2, "fusec -d interp -e 'x*2' x=1 --trace -");
    FC_EXPECT_CONTAINS(sh.err, "--trace writes a file, and needs its name");
    EXPECT_RUN(sh, 4, "fusec -d interp -e 'x*2' x=1 --trace none/t.json");
    FC_EXPECT_CONTAINS(sh.err, "cannot write none/t.json");
    EXPECT_RUN(sh, 2, "fusec explain -e 'x*2' x=f32:8 --trace t.json");
    FC_EXPECT_CONTAINS(sh.err, "it belongs to: run");
    EXPECT_RUN(sh, 1, "fusec -d interp -e 'x*y' x=1 --trace t.json; test -e t.json");
    EXPECT_RUN(sh, 2, "FUSEC_NVTX=yes fusec -d interp -e 'x*2' x=1");
    FC_EXPECT_CONTAINS(sh.err, "FUSEC_NVTX=yes: it is 0 or 1");
    shell_close(&sh);
}

FC_TEST(timeline, ranges_of_nvtx) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "FUSEC_NVTX=1 FUSEC_NVTX_PATH=" FAKE " FAKE_NVTX=ranges fusec -q -d interp "
               "-e 'sin(x*2 + 1)' x=rand:f32:1000 -o y.npy && cat ranges");
    FC_EXPECT_STREQ(sh.out, "+fusec: fusec_map_sin_mul_add\n-\n");
    EXPECT_RUN(sh, 0,
               "FUSEC_NVTX=1 FUSEC_NVTX_PATH=" FAKE " FAKE_NVTX=both fusec -q -d interp "
               "-e 'sin(x*2 + 1)' x=rand:f32:1000 -o y.npy --trace t.json && cat both t.json");
    FC_EXPECT_CONTAINS(sh.out, "+fusec: fusec_map_sin_mul_add\n-\n");
    FC_EXPECT_TRUE(find(sh.out, "kernel", "fusec_map_sin_mul_add").begin >= 0);
    EXPECT_RUN(sh, 0, "FUSEC_NVTX=1 FUSEC_NVTX_PATH=/nowhere fusec -q -d interp -e 'x*2' x=3");
    FC_EXPECT_STREQ(sh.out, "6\n");
    shell_close(&sh);
}
