/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_stream.c - when a call on a stream waits, and for what: on a device that does nothing before
 * it is waited for, so that whatever happens too late shows. */
#include "runtime/program.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/gb.h"
#include "tests/support/test.h"

/* ---- the device ------------------------------------------------------------------------------ */

typedef struct action {
    enum { COPY, LAUNCH, FREE } what;
    void *dst;
    const void *src;
    size_t bytes;
    void *code;
    const fc_class *cls;
    fc_launch launch;
    int64_t params[64];
    uint32_t words;
} action;

/* The interpreter behind a stream that keeps everything until it is synchronised: copies read their
 * source as late as an asynchronous copy of page-locked memory may. */
typedef struct lazy_device {
    fc_device base;
    fc_device *interp;
    action queue[32];
    uint32_t queued, syncs;
    bool fails; /* the next launch does */
} lazy_device;

static fusec_status lazy_alloc(fc_device *d, fc_stream s, size_t bytes, void **out, fc_error *e) {
    (void)d, (void)s;
    *out = bytes ? malloc(bytes) : NULL;
    return bytes && !*out ? fc_oom(e) : FUSEC_OK;
}

static fusec_status lazy_sync(fc_device *d, fc_stream s, fc_error *e) {
    lazy_device *z = (lazy_device *)d;
    fusec_status st = FUSEC_OK;
    for (uint32_t i = 0; i < z->queued && !st; i++) {
        action *a = &z->queue[i];
        if (a->what == COPY)
            memcpy(a->dst, a->src, a->bytes);
        else if (a->what == FREE)
            free(a->dst);
        else
            st = z->interp->ops->launch(z->interp, s, a->code, a->cls, &a->launch, a->params,
                                        a->words, e);
    }
    z->queued = 0;
    z->syncs++;
    return st;
}

static void lazy_free(fc_device *d, fc_stream s, void *p) {
    lazy_device *z = (lazy_device *)d;
    (void)s;
    z->queue[z->queued++] = (action){.what = FREE, .dst = p};
}

static fusec_status lazy_copy(fc_device *d, fc_stream s, void *dst, const void *src, size_t bytes,
                              fc_error *e) {
    lazy_device *z = (lazy_device *)d;
    (void)s, (void)e;
    z->queue[z->queued++] = (action){.what = COPY, .dst = dst, .src = src, .bytes = bytes};
    return FUSEC_OK;
}

static fusec_status lazy_launch(fc_device *d, fc_stream s, void *code, const fc_class *c,
                                const fc_launch *l, const int64_t *params, uint32_t words,
                                fc_error *e) {
    lazy_device *z = (lazy_device *)d;
    (void)s;
    if (z->fails) return fc_fail(e, FUSEC_DRIVER, "the launch failed");
    action a = {.what = LAUNCH, .code = code, .cls = c, .launch = *l, .words = words};
    FC_EXPECT_LE_I64(words, 64);
    memcpy(a.params, params, words * sizeof *params);
    z->queue[z->queued++] = a;
    return FUSEC_OK;
}

static fusec_status lazy_load(fc_device *d, const fc_kernel *k, const fc_class *c, const char *name,
                              const fc_bytes *binary, void **code, fc_error *e) {
    fc_device *i = ((lazy_device *)d)->interp;
    return i->ops->load(i, k, c, name, binary, code, e);
}

static void lazy_unload(fc_device *d, void *code) {
    fc_device *i = ((lazy_device *)d)->interp;
    i->ops->unload(i, code);
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct setup {
    fc_context *ctx;
    lazy_device d;
    fc_device_ops ops;
    fc_program *p; /* y = x*k + 1, k a scalar */
    fc_error e;
} setup;

static bool start(setup *s) {
    fc_config c;
    fc_graph g;
    memset(s, 0, sizeof *s);
    fc_config_init(&c);
    c.cache_dir = "";
    if (fc_context_new(&c, &s->ctx, &s->e)) return false;
    if (fc_context_device(s->ctx, "interp", &s->d.interp, NULL, &s->e)) return false;
    s->d.base = *s->d.interp;
    s->ops = *s->d.interp->ops;
    s->ops.alloc = lazy_alloc;
    s->ops.free = lazy_free;
    s->ops.upload = s->ops.download = lazy_copy;
    s->ops.sync = lazy_sync;
    s->ops.load = lazy_load;
    s->ops.unload = lazy_unload;
    s->ops.launch = lazy_launch;
    s->d.base.ops = &s->ops;
    s->d.base.host_memory = false;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    fc_node k = gbin(&g, "k", FUSEC_F32, 0, 0, 0, 0);
    fc_node one = fc_build_number(&g, FUSEC_F32, 1);
    fc_build_output(&g, "y", gb2(&g, FC_OP_add, gb2(&g, FC_OP_mul, x, k), one));
    FC_EXPECT_OK(
        fc_program_new(s->ctx, &g, &(fc_program_options){.device = &s->d.base}, &s->p, &s->e),
        &s->e);
    fc_graph_free(&g);
    return s->p != NULL;
}

static void finish(setup *s) {
    FC_EXPECT_OK(lazy_sync(&s->d.base, NULL, &s->e), &s->e);
    fc_program_free(s->p);
    fc_context_free(s->ctx);
}

enum { N = 4 };
static const int64_t shape[1] = {N};

static fusec_status call(setup *s, float *x, bool x_there, float *k, float *y, bool y_there) {
    fc_tensor in[2] = {
        {.dtype = FUSEC_F32, .rank = 1, .shape = shape, .data = x, .on_device = x_there},
        {.dtype = FUSEC_F32, .data = k}};
    fc_tensor out = {
        .dtype = FUSEC_F32, .rank = 1, .shape = shape, .data = y, .on_device = y_there};
    s->e = (fc_error){0};
    return fc_program_run(s->p, NULL, 2, in, 0, NULL, 1, &out, &s->e);
}

/* Nothing is on the host but a scalar, which is taken at the call: no waiting. */
FC_TEST(stream, device_arrays_do_not_wait) {
    setup s;
    float x[N] = {1, 2, 3, 4}, y[N] = {0}, k = 2;
    FC_ASSERT_TRUE(start(&s));
    FC_EXPECT_OK(call(&s, x, true, &k, y, true), &s.e);
    FC_EXPECT_EQ_I64(s.d.syncs, 0);
    FC_EXPECT_EQ_I64(s.d.queued, 1);
    k = 100;
    FC_EXPECT_OK(lazy_sync(&s.d.base, NULL, &s.e), &s.e);
    for (int i = 0; i < N; i++) FC_EXPECT_EQ_F64(y[i], 2 * (i + 1) + 1);
    finish(&s);
}

/* The caller may change an input of the host as soon as the call has returned. */
FC_TEST(stream, host_inputs_have_been_read) {
    setup s;
    float x[N] = {1, 2, 3, 4}, y[N] = {0}, k = 2;
    FC_ASSERT_TRUE(start(&s));
    FC_EXPECT_OK(call(&s, x, false, &k, y, true), &s.e);
    memset(x, 0, sizeof x);
    FC_EXPECT_OK(lazy_sync(&s.d.base, NULL, &s.e), &s.e);
    for (int i = 0; i < N; i++) FC_EXPECT_EQ_F64(y[i], 2 * (i + 1) + 1);
    finish(&s);
}

FC_TEST(stream, host_outputs_are_complete) {
    setup s;
    float x[N] = {1, 2, 3, 4}, y[N] = {0}, k = 2;
    FC_ASSERT_TRUE(start(&s));
    FC_EXPECT_OK(call(&s, x, true, &k, y, false), &s.e);
    for (int i = 0; i < N; i++) FC_EXPECT_EQ_F64(y[i], 2 * (i + 1) + 1);
    finish(&s);
}

/* Also when the call fails, no copy reads the caller's memory after it. */
FC_TEST(stream, a_failed_call_leaves_nothing_behind) {
    setup s;
    float x[N] = {1, 2, 3, 4}, y[N] = {0}, k = 2;
    FC_ASSERT_TRUE(start(&s));
    s.d.fails = true;
    FC_EXPECT_STATUS(call(&s, x, false, &k, y, true), FUSEC_DRIVER, &s.e);
    FC_EXPECT_CONTAINS(s.e.message, "the launch failed");
    FC_EXPECT_EQ_I64(s.d.syncs, 1);
    finish(&s);
}
