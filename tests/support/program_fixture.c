/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program_fixture.c - see program_fixture.h. */
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

bool fc_fixture_open(fc_fixture *f, const char *device) {
    fc_config c;
    memset(f, 0, sizeof *f);
    fc_config_init(&c);
    c.cache_dir = "";
    if (fc_context_new(&c, &f->ctx, &f->e)) return false;
    if (fc_context_device(f->ctx, device, &f->device, NULL, &f->e)) {
        fc_context_free(f->ctx);
        return false;
    }
    fc_graph_init(&f->g, &fc_libc_alloc, NULL);
    return true;
}

void fc_fixture_close(fc_fixture *f, fc_program *p) {
    fc_program_free(p);
    fc_graph_free(&f->g);
    fc_context_free(f->ctx);
}

fc_program *fc_fixture_compile(fc_fixture *f) {
    fc_program *p = NULL;
    fc_program_options o = {.device = f->device};
    FC_EXPECT_OK(fc_program_new(f->ctx, &f->g, &o, &p, &f->e), &f->e);
    return p;
}
