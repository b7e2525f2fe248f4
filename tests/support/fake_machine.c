/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_machine.c - see fake_machine.h. */
#include "tests/support/fake_machine.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda_host.h"
#include "tests/support/test.h"

static const char *const variables[] = {"FUSEC_LIBCUDA_PATH", "FUSEC_NVRTC_PATH",
                                        "FUSEC_CUFFT_PATH"};

bool fake_machine_open(fake_machine *m, const char *file) {
    void *so = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    void *control = so ? dlsym(so, "fake_cuda_control") : NULL;
    void *reset = so ? dlsym(so, "fake_cuda_reset") : NULL;
    memset(m, 0, sizeof *m);
    if (!control || !reset) {
        FC_FAIL("no fake driver: %s", dlerror());
        return false;
    }
    fake_cuda *(*get)(void);
    memcpy(&get, &control, sizeof get);
    memcpy(&m->reset, &reset, sizeof m->reset);
    m->fake = get();
    m->reset();
    for (int i = 0; i < (int)FC_COUNT(variables); i++) {
        const char *v = getenv(variables[i]);
        m->before[i] = v ? strdup(v) : NULL;
        setenv(variables[i], file, 1);
    }
    return true;
}

void fake_machine_close(fake_machine *m) {
    m->reset();
    for (int i = 0; i < (int)FC_COUNT(variables); i++) {
        if (m->before[i])
            setenv(variables[i], m->before[i], 1);
        else
            unsetenv(variables[i]);
        free(m->before[i]);
    }
}

bool fake_can_execute(void) {
    return fc_cuda_host_is_there();
}

void fake_check_balance(const fake_machine *m, bool lost) {
    const fake_cuda *f = m->fake;
    if (f->misuse) FC_FAIL("%ld times misused, first in %s", f->misuse, f->misused);
    if (lost) return; /* frees do nothing then: the process has to end */
    FC_EXPECT_EQ_I64(f->memory, 0);
    FC_EXPECT_EQ_I64(f->pinned, 0);
    FC_EXPECT_EQ_I64(f->modules, 0);
    FC_EXPECT_EQ_I64(f->streams, 0);
    FC_EXPECT_EQ_I64(f->events, 0);
    FC_EXPECT_EQ_I64(f->contexts, 0);
    FC_EXPECT_EQ_I64(f->graphs, 0);
    FC_EXPECT_EQ_I64(f->transforms, 0);
}
