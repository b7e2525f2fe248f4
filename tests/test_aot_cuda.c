/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_aot_cuda.c - `fusec build --device cuda`: the functions of the GPU next to those of the
 * processor, by the fake driver (tests/fake); what its calls do when they fail; the example. */
#include <stdio.h>
#include <string.h>

#include "ir/base.h"
#include "tests/support/fake_machine.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

#define CC  FUSEC_TEST_CC " " FUSEC_TEST_CFLAGS " -Wall -Wextra -Werror"
#define RUN "FAKE_CUDA_EXECUTE=1 LD_LIBRARY_PATH=. "

/* Objects of tests/aot/gpu.fuse, or of another file, by an NVRTC that hands on texts, and the
 * driver that runs them as libcuda.so.1; false: something is missing here. */
static bool build(shell *sh, const char *classes, const char *options) {
    if (!shell_run(sh, "ld --version >ld.txt && objcopy --version >objcopy.txt") || sh->code)
        return false;
    shell_run(sh,
              "cp '%s/tests/aot/gpu.fuse' '%s/examples/softmax.fuse' . && ln -sf '%s' libcuda.so.1 "
              "&& FUSEC_AOT_CLASSES=%s FUSEC_NVRTC_PATH=\"$PWD/libcuda.so.1\" fusec build -q -o . "
              "--device cuda %s",
              FUSEC_SOURCE_DIR, FUSEC_SOURCE_DIR, FAKE("whole"), classes, options);
    if (sh->code == 5 && strstr(sh->err, "[no-llvm]")) return false;
    if (sh->code) FC_FAIL("exit code %d\n%s", sh->code, sh->err);
    return sh->code == 0;
}

/* `name`: gpu_driver, of all functions, or gpu_once, of two. */
static void compile_driver(shell *sh, const char *name) {
    EXPECT_RUN((*sh), 0,
               CC " -std=gnu99 -O1 -I'%s' -I. '%s/tests/aot/%s.c' gpu_code.o -o driver -lm -ldl",
               FUSEC_SOURCE_DIR, FUSEC_SOURCE_DIR, name);
}

static void next_to_the_processor(const char *classes) {
    FC_TAKE_ONE_OF(2);
    if (!fake_can_execute()) FC_SKIP("kernels can't run on this host");
    OPEN(sh);
    if (build(&sh, classes, "gpu.fuse --prefix gpu_code --arch x86-64,sm_90")) {
        compile_driver(&sh, "gpu_driver");
        EXPECT_RUN(sh, 0, RUN "./driver >out.txt || { cat out.txt >&2; exit 1; }");
        EXPECT_RUN(sh, 0, "cat out.txt");
        FC_EXPECT_TRUE(strstr(sh.out, " calls, 0 wrong") != NULL);
    }
    shell_close(&sh);
}

/* No usual size of a large call is left to the code that takes any. */
FC_TEST(aot_cuda, usual_sizes_have_code_of_their_own) {
    FC_TAKE_ONE_OF(2);
    OPEN(sh);
    if (build(&sh, "", "gpu.fuse --prefix gpu_code --arch x86-64,sm_90")) {
        compile_driver(&sh, "gpu_driver");
        EXPECT_RUN(sh, 0, "LD_LIBRARY_PATH=. ./driver sizes | sed 1d");
        FC_EXPECT_STREQ(sh.out, "256 calls, 0 plain\n");
    }
    shell_close(&sh);
}

/* The class that saves most, and for others the plain one. */
FC_TEST(aot_cuda, calls_give_the_bits_of_the_processor) {
    next_to_the_processor("1");
}

FC_TEST(aot_cuda, plain_code_gives_the_bits_of_the_processor) {
    next_to_the_processor("0");
}

/* The command as the example says, sizes that change class, other functions than libc's: none. */
FC_TEST(aot_cuda, the_example_runs) {
    if (!fake_can_execute()) FC_SKIP("kernels can't run on this host");
    OPEN(sh);
    if (build(&sh, "4", "softmax.fuse --arch x86-64-v3,sm_90")) {
        EXPECT_RUN(sh, 0,
                   CC
                   " -O2 '%s/examples/ahead_of_time/softmax_gpu.c' softmax.o -I. -lm -ldl -o gpu",
                   FUSEC_SOURCE_DIR);
        EXPECT_RUN(sh, 0, RUN "./gpu --check");
        FC_EXPECT_CONTAINS(sh.out, "0 of 10 sizes wrong");
        EXPECT_RUN(sh, 0, "nm -u softmax.o | grep -E 'fusec|fc_|LLVM|cu[A-Z]|nvrtc' ; test $? = 1");
        EXPECT_RUN(sh, 0, "nm softmax.o | grep -E ' [TDBRC] ' | grep -cv ' softmax_' | grep -x 0");
    }
    shell_close(&sh);
}

FC_TEST(aot_cuda, the_header_is_c99_and_cxx) {
    OPEN(sh);
    if (build(&sh, "1", "gpu.fuse --entry columns,pick --prefix nn --emit header,json,cmake,pc")) {
        EXPECT_RUN(sh, 0, "echo '#include \"nn.h\"' >a.c && echo '#include \"nn.h\"' >>a.c");
        EXPECT_RUN(sh, 0, CC " -std=c99 -Wpedantic -c a.c");
        EXPECT_RUN(sh, 0, CC " -x c++ -std=c++11 -Wpedantic -c a.c");
        EXPECT_RUN(sh, 0, "cat nn.h");
        FC_EXPECT_CONTAINS(sh.out, "int nn_cuda_open(nn_cuda **out);");
        FC_EXPECT_CONTAINS(
            sh.out, "int nn_columns_cuda(nn_cuda *cuda, void *stream, int64_t n, int64_t m, "
                    "const float *x, float int_, float *mean, float *x_out, void *scratch);");
        FC_EXPECT_CONTAINS(sh.out, "int nn_columns_cuda_scratch(nn_cuda *cuda, int64_t n, "
                                   "int64_t m, size_t *bytes);");
        FC_EXPECT_CONTAINS(sh.out, "of the first 2 64-bit words of scratch, some is not 0");
        FC_EXPECT_CONTAINS(sh.out, "There is code for sm_90.");
        EXPECT_RUN(sh, 0, "cat nn.json nn.cmake nn.pc");
        FC_EXPECT_CONTAINS(sh.out, "\"gpus\":[\"sm_90\"]");
        FC_EXPECT_CONTAINS(sh.out, "/nn.o m ${CMAKE_DL_LIBS})");
        FC_EXPECT_CONTAINS(sh.out, "nn.o -lm -ldl");
    }
    shell_close(&sh);
}

/* ---- what is not there, and what fails ------------------------------------------------------- */

#define ONCE "gpu.fuse --entry stored,twice --prefix gpu_code --arch x86-64,"

static void expect_lines(shell *sh, const char *environment, const char *mode, const char *want) {
    EXPECT_RUN((*sh), 0, "%s LD_LIBRARY_PATH=. ./driver %s | sed -n '/^open\\|^call/p'",
               environment, mode);
    if (strncmp(sh->out, want, strlen(want)) != 0)
        FC_FAIL("%s %s: expected %s, found %s", environment, mode, want, sh->out);
}

FC_TEST(aot_cuda, failures) {
    static const struct {
        const char *environment, *mode, *want;
    } cases[] = {
        {"", "open", "open 4 no CUDA context is current on this thread\n"},
        {"", "once", "open 0 \ncall 0 \ncall 0 \n"},
        {"FAKE_CUDA_FAIL=cuCtxGetCurrent:1:3", "once", "open 4 no CUDA context"},
        {"FAKE_CUDA_FAIL=cuCtxGetDevice:1:700", "once", "open 5 cuCtxGetDevice: the device is"},
        {"FAKE_CUDA_FAIL=cuDeviceGetAttribute:3:1", "once", "open 5 cuDeviceGetAttribute: made to"},
        {"FAKE_CUDA_FAIL=cuModuleLoadData:2:2", "once", "open 3 cuModuleLoadData: out of memory"},
        {"FAKE_CUDA_FAIL=cuModuleGetFunction:2:500", "once", "open 5 cuModuleGetFunction: made to"},
        {"FAKE_CUDA_FAIL=cuFuncGetAttribute:1:1", "once", "open 0 \ncall 0 \ncall 0 \n"},
        {"FAKE_CUDA_FAIL=cuFuncSetAttribute:1:1", "once", "open 0 \ncall 0 \ncall 0 \n"},
        {"FAKE_CUDA_FAIL=cuLaunchKernel:1:1", "once", "open 0 \ncall 5 cuLaunchKernel: made to"},
        {"FAKE_CUDA_FAIL=cuMemsetD8Async:1:1", "once", "open 0 \ncall 5 cuMemsetD8Async: made to"}};
    OPEN(sh);
    if (build(&sh, "1", ONCE "sm_90")) {
        compile_driver(&sh, "gpu_once");
        for (size_t i = 0; i < FC_COUNT(cases); i++)
            expect_lines(&sh, cases[i].environment, cases[i].mode, cases[i].want);
        EXPECT_RUN(sh, 0, "rm libcuda.so.1 && LD_LIBRARY_PATH=. ./driver open");
        FC_EXPECT_CONTAINS(sh.out, "open 4 there is no CUDA driver: libcuda.so.1");
    }
    shell_close(&sh);
}

/* Cubins run on GPUs of their family that are not older, PTX on all that are not older. */
FC_TEST(aot_cuda, the_code_for_the_gpu_is_chosen) {
    FC_TAKE_ONE_OF(2);
    static const struct {
        const char *arch;
        bool runs;
    } cases[] = {{"sm_80", false},
                 {"sm_80,compute_80", true},
                 {"sm_75,sm_80", false},
                 {"compute_75,sm_90", true}};
    OPEN(sh);
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        char options[200];
        snprintf(options, sizeof options, ONCE "%s", cases[i].arch);
        if (!build(&sh, "0", options)) break;
        compile_driver(&sh, "gpu_once");
        expect_lines(&sh, "", "once",
                     cases[i].runs ? "open 0 \ncall 0 \n"
                                   : "open 4 there is no code for sm_90 in the object");
    }
    shell_close(&sh);
}

/* Names of the program that the interface uses itself. */
FC_TEST(aot_cuda, names) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "echo 'export def f(cuda: f32[bytes, scratch], stream: f32) -> (env: f32[bytes]) = "
               "sum(cuda, axis=1)*stream' >names.fuse");
    if (build(&sh, "0", "names.fuse --emit header")) {
        EXPECT_RUN(sh, 0, "echo '#include \"names.h\"' >a.c");
        EXPECT_RUN(sh, 0, CC " -std=c99 -Wpedantic -c a.c");
        EXPECT_RUN(sh, 0, CC " -x c++ -std=c++11 -Wpedantic -c a.c");
    }
    shell_close(&sh);
}

FC_TEST(aot_cuda, mistakes) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "cp '%s/examples/softmax.fuse' .", FUSEC_SOURCE_DIR);
    EXPECT_RUN(sh, 2, "fusec build softmax.fuse -o out --device interp");
    FC_EXPECT_CONTAINS(sh.err, "build is for cpu, or for cpu and cuda, not for interp");
    EXPECT_RUN(sh, 2, "fusec build softmax.fuse -o out --arch sm_9x");
    FC_EXPECT_CONTAINS(sh.err, "a GPU is sm_90, or compute_90 for PTX");
    EXPECT_RUN(sh, 3, "fusec build softmax.fuse -o out --arch armv8");
    EXPECT_RUN(sh, 0, "echo 'export def abi(x: f32[n]) = x*2' >abi.fuse");
    shell_run(&sh, "fusec build abi.fuse -o out --prefix nn");
    if (!strstr(sh.err, "[no-llvm]")) {
        FC_EXPECT_EQ_I64(sh.code, 3);
        FC_EXPECT_CONTAINS(sh.err, "two functions of the header would be called nn_abi");
    }
    shell_close(&sh);
}
