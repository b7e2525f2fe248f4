/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program_fixture.h - a graph, a device of a context without a disk cache, and programs of them. */
#ifndef FUSEC_TESTS_SUPPORT_PROGRAM_FIXTURE_H
#define FUSEC_TESTS_SUPPORT_PROGRAM_FIXTURE_H

#include "runtime/program.h"

typedef struct fc_fixture {
    fc_context *ctx;
    fc_device *device;
    fc_graph g;
    fc_error e;
} fc_fixture;

/* False when the machine has no such device; nothing is to be closed then. */
bool fc_fixture_open(fc_fixture *f, const char *device);
/* Frees the program, too; it may be NULL. */
void fc_fixture_close(fc_fixture *f, fc_program *p);
/* Of the graph as it is; NULL after a failed expectation. */
fc_program *fc_fixture_compile(fc_fixture *f);

#endif
