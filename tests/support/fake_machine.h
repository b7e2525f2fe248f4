/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_machine.h - the CUDA driver and NVRTC of tests/fake in this process, in place of those that
 * the machine may have. */
#ifndef FUSEC_TESTS_SUPPORT_FAKE_MACHINE_H
#define FUSEC_TESTS_SUPPORT_FAKE_MACHINE_H

#include "tests/fake/fake_cuda.h"

#define FAKE(name) FUSEC_BINARY_DIR "/bin/fake/libfake_cuda_" name ".so"

typedef struct fake_machine {
    fake_cuda *fake;
    void (*reset)(void);
    char *before[3]; /* what the environment said */
} fake_machine;

/* From here to fake_machine_close the CUDA of this process is the fake one; false after a failed
 * expectation. */
bool fake_machine_open(fake_machine *m, const char *file);
void fake_machine_close(fake_machine *m);
/* Whether kernels can run here: there is a C++ compiler, and AddressSanitizer is off. */
bool fake_can_execute(void);
/* Expects that no handle was misused and, unless the device was lost, that nothing is alive. */
void fake_check_balance(const fake_machine *m, bool lost);

#endif
