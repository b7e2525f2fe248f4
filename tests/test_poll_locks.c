/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_poll_locks.c - the caller's poll function is called under no lock of the library: it may
 * wait for another thread that calls anything, on the same program and context. (Python's poll
 * waits for the interpreter's lock, which such a thread may hold.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/support/capi.h"
#include "tests/support/test.h"

typedef struct scene {
    fusec_context *ctx;
    fusec_program *p; /* NULL: not yet */
    fusec_lazy *v;    /* of rank 1 */
    atomic_int asked, failures;
    atomic_bool inside;
} scene;

static void expect(scene *s, fusec_status got) {
    if (got) atomic_fetch_add(&s->failures, 1);
}

static void use_program(scene *s) {
    float in[24] = {0}, out[24];
    const int64_t shape[2] = {4, 6};
    int64_t sizes[2];
    char *text = NULL;
    const fusec_tensor a = {.data = in, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                       b = {.data = out, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    expect(s, fusec_output_shapes(s->p, 1, &a, sizes, 2));
    expect(s, fusec_run(s->p, 1, &a, 1, &b));
    expect(s, fusec_explain(s->p, 1, &a, 0, &text));
    fusec_text_free(s->ctx, text);
    (void)fusec_compile_count(s->p);
    (void)fusec_kernel_count(s->p);
}

static void use_values(scene *s) {
    fusec_lazy *y = NULL;
    fusec_counters c = FUSEC_COUNTERS_INIT;
    const char *name;
    char *text = NULL;
    expect(s, fusec_lazy_op(s->ctx, fusec_op_find("sin"), 1, &s->v, NULL, &y));
    expect(s, fusec_lazy_explain(&y, 1, 0, &text));
    fusec_text_free(s->ctx, text);
    expect(s, fusec_lazy_eval(&y, 1, NULL, NULL));
    fusec_lazy_release(y);
    expect(s, fusec_get_counters(s->ctx, &c));
    expect(s, fusec_device(s->ctx, &name, NULL));
}

static void *call_all(void *arg) {
    scene *s = arg;
    if (s->p) use_program(s);
    use_values(s);
    return NULL;
}

static int poll(void *user) {
    scene *s = user;
    pthread_t t;
    atomic_fetch_add(&s->asked, 1);
    if (atomic_exchange(&s->inside, true)) return 0; /* asked by the thread that is started here */
    if (pthread_create(&t, NULL, call_all, s) == 0) pthread_join(t, NULL);
    atomic_store(&s->inside, false);
    return 0;
}

static fusec_program *softmax(scene *s) {
    fusec_graph *g;
    fusec_program *p = NULL;
    if (fusec_graph_new(s->ctx, &g)) return NULL;
    const fusec_dim shape[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    const fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, shape);
    const fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, (int[]){1}, 1)));
    fusec_output(g, "y", fusec_div(e, fusec_sum(e, 1, (int[]){1}, 1)));
    expect(s, fusec_compile(g, &p));
    fusec_graph_free(g);
    return p;
}

/* Functions of n numbers, in one call. */
static void run_long(scene *s, int64_t n) {
    fusec_lazy *v = NULL, *y = NULL;
    float *x = calloc((size_t)n, sizeof *x);
    const fusec_tensor t = {.data = x, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    expect(s, fusec_lazy_from(s->ctx, &t, NULL, NULL, &v));
    for (int i = 0; i < 4; i++) {
        expect(s, fusec_lazy_op(s->ctx, fusec_op_find("lgamma"), 1, &v, NULL, &y));
        fusec_lazy_release(v);
        v = y;
    }
    expect(s, fusec_lazy_eval(&v, 1, NULL, NULL));
    fusec_lazy_release(v);
    free(x);
}

static void play(const char *device, int64_t first) {
    scene s = {0};
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = device;
    o.cache_dir = "";
    o.threads = 2;
    o.poll = poll;
    o.poll_user = &s;
    const int64_t shape[2] = {2, 3};
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &s.ctx), fusec_message(NULL));
    FC_ASSERT_OK_TEXT(fusec_lazy_number(s.ctx, FUSEC_F32, 0.5, &s.v), fusec_message(NULL));
    s.p = softmax(&s);
    FC_ASSERT_TRUE(s.p != NULL);
    float in[6] = {0}, out[6];
    const fusec_tensor a = {.data = in, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                       b = {.data = out, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    expect(&s, fusec_run(s.p, 1, &a, 1, &b)); /* compiles */
    FC_EXPECT_TRUE(atomic_load(&s.asked) > 0);
    atomic_store(&s.asked, 0);
    /* As long as it takes until it is asked while it runs, too: how fast a machine is decides. */
    for (int64_t n = first; atomic_load(&s.asked) < 2 && n <= first << 6; n *= 2) {
        atomic_store(&s.asked, 0);
        run_long(&s, n);
    }
    FC_EXPECT_TRUE(atomic_load(&s.asked) > 1); /* before it compiled, and later */
    fusec_lazy_release(s.v);
    fusec_program_free(s.p);
    fusec_context_free(s.ctx);
    FC_EXPECT_EQ_I64(atomic_load(&s.failures), 0);
}

FC_TEST(poll_locks, on_the_interpreter) {
    play("interp", 3000000);
}

FC_TEST(poll_locks, on_the_cpu) {
    play("cpu", 6000000);
}
