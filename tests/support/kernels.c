/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernels.c - see kernels.h. */
#include "tests/support/kernels.h"

#include "passes/plan.h"
#include "tests/support/test.h"

void expect_kernels(fc_graph *g, size_t n) {
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_str dump;
    fc_str_init(&dump, g->alloc);
    fc_pass_options o = {.verify = true, .dump = &dump};
    FC_EXPECT_STATUS(g->error.code, FUSEC_OK, &g->error);
    FC_EXPECT_OK(fc_plan_build(g, &o, &p, &e), &e);
    if (p) {
        FC_TRACE("%s", dump.data);
        FC_EXPECT_EQ_I64((int64_t)p->steps.len, (int64_t)n);
        FC_UNTRACE();
    }
    fc_plan_free(p);
    fc_str_free(&dump);
    fc_graph_free(g);
}
