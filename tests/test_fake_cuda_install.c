/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_fake_cuda_install.c - what may be installed: drivers and compilers that are old, incomplete
 * or absent, as the command meets them. See tests/fake/fake_cuda.h. */
#include "tests/support/fake_machine.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

#include <string.h>

#include "ir/base.h"

typedef struct install {
    const char *name, *settings, *says;
    int code;
} install;

#define FAKES(cuda, nvrtc)                                                                         \
    "export FUSEC_LIBCUDA_PATH=" FAKE(cuda) " FUSEC_NVRTC_PATH=" FAKE(nvrtc) "; "
static const install installs[] = {
    {"no_driver", "export FUSEC_LIBCUDA_PATH=/nowhere/libcuda.so.1; ",
     "no CUDA driver (cannot load /nowhere/libcuda.so.1", 5},
    {"not_a_library", "echo text >libcuda.so.1; export FUSEC_LIBCUDA_PATH=$PWD/libcuda.so.1; ",
     "cannot load", 5},
    {"lacks_a_function", FAKES("no_launch", "whole"), "has no cuLaunchKernel", 5},
    {"too_old", FAKES("whole", "whole") "export FAKE_CUDA_VERSION=11010; ",
     "the CUDA driver is too old (it is for CUDA 11.1)", 5},
    {"no_device", FAKES("whole", "whole") "export FAKE_CUDA_DEVICES=0; ", "no CUDA device", 5},
    {"a_stand_in", FAKES("whole", "whole") "export FAKE_CUDA_INIT=34; ",
     "is only a stand-in for linking", 5},
    {"does_not_start", FAKES("whole", "whole") "export FAKE_CUDA_INIT=3; ",
     "the CUDA driver does not start: made to fail (3)", 5},
    {"no_nvrtc",
     "export FUSEC_LIBCUDA_PATH=" FAKE("whole") " FUSEC_NVRTC_PATH=/nowhere/libnvrtc.so; ",
     "no NVRTC: cannot load /nowhere/libnvrtc.so", 5},
    {"nvrtc_lacks_a_function", FAKES("whole", "no_compile"), "has no nvrtcCompileProgram", 5},
    {"nvrtc_tells_nothing", FAKES("whole", "whole") "export FAKE_NVRTC_VERSION=0; ",
     "does not tell its version", 5},
    {"nvrtc_too_old", FAKES("whole", "whole") "export FAKE_NVRTC_VERSION=11080; ",
     "is of CUDA 11.8; 12 is the oldest that will do", 5},
    {"launch_fails", FAKES("whole", "whole") "export FAKE_CUDA_FAIL=cuLaunchKernel:1:719; ",
     "cuLaunchKernel: the device is gone (CUDA_ERROR_LOST, 719)", 5},
    {"no_memory", FAKES("whole", "whole") "export FAKE_CUDA_FAIL=cuCtxPushCurrent_v2:3:2; ",
     "out of memory", 5},
};

static void what_is_installed(void *arg) {
    const install *in = arg;
    shell sh;
    if (!shell_open(&sh)) return;
    shell_run(&sh, "%sfusec -e 'x*2' x=ones:f32:4 --device cuda -o o.npy", in->settings);
    FC_EXPECT_EQ_I64(sh.code, in->code);
    FC_EXPECT_CONTAINS(sh.err, in->says);
    FC_EXPECT_STREQ(sh.out, "");
    /* Without the demand for CUDA it says so and takes the CPU, unless the device came first: what
     * is wrong inside NVRTC shows when there is something to compile. */
    if (!strstr(in->name, "fails") && !strstr(in->name, "memory") &&
        !strstr(in->name, "nvrtc_lacks") && !strstr(in->name, "nvrtc_tells") &&
        !strstr(in->name, "nvrtc_too")) {
        shell_run(&sh, "%sfusec -e 'x*2' x=ones:f32:4", in->settings);
        FC_EXPECT_EQ_I64(sh.code, 0);
        FC_EXPECT_CONTAINS(sh.err, in->says);
        FC_EXPECT_CONTAINS(sh.out, "2");
    }
    shell_close(&sh);
}

FC_REGISTER(installs) {
    for (size_t i = 0; i < FC_COUNT(installs); i++)
        FC_ADD_TEST("fake_cuda_install", installs[i].name, what_is_installed, &installs[i]);
}
