/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_stack.c - kernels of the CPU take a bounded part of the stack, however many arrays they
 * read: a thread of the caller may have little of it. */
#include <fusec/fusec.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

enum { ARRAYS = 60, ROWS = 80, COLUMNS = 90, STACK = 448 << 10 };

static double numbers[ARRAYS][ROWS * COLUMNS], results[2][ROWS * COLUMNS];

typedef struct call {
    fusec_program *p;
    fusec_tensor in[ARRAYS], out;
    fusec_status status;
} call;

static void *run(void *arg) {
    call *c = arg;
    c->status = fusec_run(c->p, ARRAYS, c->in, 1, &c->out);
    return NULL;
}

/* `turned`: all arrays but one lie across; otherwise each row is summed. */
static void compile(fusec_context *ctx, bool turned, fusec_program **p) {
    fusec_graph *g;
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const fusec_dim rows = fusec_sym(g, "rows"), columns = fusec_sym(g, "columns");
    fusec_value all = {0};
    for (int i = 0; i < ARRAYS; i++) {
        char name[8];
        snprintf(name, sizeof name, "x%d", i);
        const bool across = turned && i;
        fusec_dim shape[2] = {across ? columns : rows, across ? rows : columns};
        fusec_value x = fusec_input(g, name, FUSEC_F64, 2, shape);
        if (across) x = fusec_transpose(x, NULL);
        all = i ? fusec_add(all, x) : x;
    }
    const int last = 1;
    fusec_output(g, "y", turned ? all : fusec_sum(all, 1, &last, 0));
    FC_EXPECT_OK_TEXT(fusec_compile(g, p), fusec_message(ctx));
    fusec_graph_free(g);
}

static void compute(const char *device, bool turned, double *to) {
    static const int64_t plain[] = {ROWS, COLUMNS}, across[] = {COLUMNS, ROWS};
    fusec_context *ctx = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    call c = {.out = {.data = to, .shape = plain, .rank = turned ? 2 : 1, .dtype = FUSEC_F64}};
    pthread_attr_t attr;
    pthread_t t;
    o.device = device;
    o.cache_dir = "";
    o.threads = 1;
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    compile(ctx, turned, &c.p);
    for (int i = 0; i < ARRAYS; i++)
        c.in[i] = (fusec_tensor){.data = numbers[i],
                                 .shape = turned && i ? across : plain,
                                 .rank = 2,
                                 .dtype = FUSEC_F64};
    run(&c); /* compiles */
    FC_EXPECT_OK_TEXT(c.status, fusec_message(ctx));
    memset(to, 0, sizeof results[0]);
    pthread_attr_init(&attr);
    FC_ASSERT_TRUE(!pthread_attr_setstacksize(&attr, STACK));
    FC_ASSERT_TRUE(!pthread_create(&t, &attr, run, &c));
    pthread_join(t, NULL);
    pthread_attr_destroy(&attr);
    FC_EXPECT_OK_TEXT(c.status, fusec_message(ctx));
    fusec_program_free(c.p);
    fusec_context_free(ctx);
}

static void small(bool turned) {
    fusec_context *ctx = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "cpu";
    if (fusec_context_new(&o, &ctx) || fusec_device(ctx, NULL, NULL)) {
        fusec_context_free(ctx);
        FC_SKIP("there is no device cpu");
        return;
    }
    fusec_context_free(ctx);
    for (int i = 0; i < ARRAYS; i++)
        for (int k = 0; k < ROWS * COLUMNS; k++) numbers[i][k] = 1.0 / (i + 2 * k + 3);
    compute("interp", turned, results[0]);
    compute("cpu", turned, results[1]);
    FC_EXPECT_TRUE(!memcmp(results[0], results[1], sizeof results[0]));
}

FC_TEST(stack, sums_of_rows_of_many_arrays) {
    small(false);
}

FC_TEST(stack, many_arrays_that_lie_across) {
    small(true);
}
