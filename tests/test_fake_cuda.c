/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_fake_cuda.c - the CUDA path from the C API down, with a driver that fails on demand: every
 * call of it, at once or later; loss of the device; lack of memory. See tests/fake/fake_cuda.h. */
#include "runtime/cuda/device_cuda.h"
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/faults.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <fusec/fusec.h>

enum { MOST = 8 * 33000 };

/* ---- a session: everything that reaches the driver ------------------------------------------- */

typedef struct session {
    int64_t shape[2];
    bool by_text; /* a kernel of the user's among the others */
    float x[MOST], out[MOST], sums[MOST], lazy[MOST];
} session;

/* Rows for a block each; one that only blocks which wait for each other can keep, a gang; and some
 * for clusters. */
static const int64_t rows[2] = {8, 160}, long_row[2] = {1, 20000}, long_rows[2] = {8, MOST / 8};

static size_t count(const session *s) {
    return (size_t)(s->shape[0] * s->shape[1]);
}

static const int first[] = {0}, last[] = {1};

static fusec_status build(fusec_graph *g) {
    fusec_dim shape[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, shape);
    fusec_output(g, "y", fusec_sub(x, fusec_max(x, 1, last, 1)));
    fusec_output(g, "s", fusec_sum(x, 1, first, 0));
    return fusec_graph_status(g);
}

static fusec_status run_host(fusec_program *p, session *s) {
    fusec_tensor in = {.data = s->x, .shape = s->shape, .rank = 2, .dtype = FUSEC_F32};
    fusec_tensor out[2] = {{.data = s->out, .shape = s->shape, .rank = 2, .dtype = FUSEC_F32},
                           {.data = s->sums, .shape = s->shape + 1, .rank = 1, .dtype = FUSEC_F32}};
    return fusec_run(p, 1, &in, 2, out);
}

/* The same in memory of the device, then copied back. */
static fusec_status run_device(fusec_context *ctx, fusec_program *p, session *s) {
    void *x = NULL, *y = NULL, *z = NULL;
    const size_t bytes = count(s) * sizeof(float), columns = (size_t)s->shape[1] * sizeof(float);
    fusec_status st = fusec_device_alloc(ctx, bytes, &x);
    if (!st) st = fusec_device_alloc(ctx, bytes, &y);
    if (!st) st = fusec_device_alloc(ctx, columns, &z);
    if (!st) st = fusec_upload(ctx, x, s->x, bytes);
    fusec_tensor in = {
        .data = x, .shape = s->shape, .rank = 2, .dtype = FUSEC_F32, .place = FUSEC_DEVICE};
    fusec_tensor out[2] = {
        {.data = y, .shape = s->shape, .rank = 2, .dtype = FUSEC_F32, .place = FUSEC_DEVICE},
        {.data = z, .shape = s->shape + 1, .rank = 1, .dtype = FUSEC_F32, .place = FUSEC_DEVICE}};
    for (int i = 0; i < 4 && !st; i++) /* a call that is made again becomes a graph */
        st = fusec_run_on(p, NULL, 1, &in, 2, out);
    if (!st) st = fusec_synchronize(ctx);
    if (!st) st = fusec_download(ctx, s->out, y, bytes);
    if (!st) st = fusec_download(ctx, s->sums, z, columns);
    fusec_device_free(ctx, x);
    fusec_device_free(ctx, y);
    fusec_device_free(ctx, z);
    return st;
}

/* The same by a kernel of the user's, for which the driver is given pointers to its arguments. */
static fusec_value by_text(fusec_graph *g, fusec_value x) {
    static const fusec_dtype dtype = FUSEC_F32;
    static const int rank = 2;
    const fusec_dim shape[2] = {fusec_dim_of(x, 0), fusec_dim_of(x, 1)};
    const fusec_dim n = fusec_dim_mul(shape[0], shape[1]);
    const fusec_value in[2] = {x, fusec_dim_value(n)};
    fusec_value y = {0};
    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    d.name = "copy";
    d.entry = "fusec_copy";
    d.text =
        "struct P { void *at[3]; };\n"
        "extern \"C\" __global__ void fusec_copy(const P p) {\n"
        "    const long long i = blockIdx.x * 256 + threadIdx.x;\n"
        "    if (i < *(long long *)p.at[1]) (*(float **)p.at[2])[i] = (*(float **)p.at[0])[i];\n"
        "}\n";
    d.noutputs = 1;
    d.dtypes = &dtype;
    d.ranks = &rank;
    d.shapes = shape;
    d.threads[0] = n;
    d.block[0] = fusec_size(g, 256);
    (void)fusec_call(g, &d, 2, in, &y);
    return y;
}

static fusec_status read_lazy(fusec_context *ctx, session *s) {
    fusec_graph *g = NULL;
    fusec_status st = fusec_graph_new(ctx, &g);
    if (st) return st;
    fusec_value x = fusec_array(g, FUSEC_F32, 2, s->shape, s->x);
    if (s->by_text) x = by_text(g, x);
    fusec_value m = fusec_max(x, 1, last, 1);
    st = fusec_eval(&m, 1); /* a stored value that the next plan reads */
    if (!st) st = fusec_read(fusec_sub(x, m), s->lazy, count(s) * sizeof(float));
    fusec_graph_free(g);
    return st;
}

static fusec_status use(fusec_context *ctx, fusec_program *p, session *s) {
    fusec_status st = run_host(p, s);
    if (!st) st = run_device(ctx, p, s);
    return st ? st : read_lazy(ctx, s);
}

static void start(session *s, const int64_t shape[2]) {
    memset(s, 0, sizeof *s);
    memcpy(s->shape, shape, sizeof s->shape);
    for (size_t i = 0; i < count(s); i++) s->x[i] = (float)((i * 37) % 101) - 50;
}

/* Small integers: exact whatever the order. */
static void check(const session *s, const char *what) {
    const int64_t n = s->shape[0], m = s->shape[1];
    for (int64_t j = 0; j < m; j++) {
        float sum = 0;
        for (int64_t i = 0; i < n; i++) sum += s->x[i * m + j];
        if (s->sums[j] != sum) {
            FC_FAIL("%s: sum %d", what, (int)j);
            return;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        float most = -1e9f;
        for (int64_t j = 0; j < m; j++) most = s->x[i * m + j] > most ? s->x[i * m + j] : most;
        for (int64_t k = i * m; k < (i + 1) * m; k++)
            if (s->out[k] != s->x[k] - most || s->lazy[k] != s->out[k]) {
                FC_FAIL("%s: element %d", what, (int)k);
                return;
            }
    }
}

/* Opens, uses and closes a context; the status of the first failure, and whether the same objects
 * worked afterwards. */
typedef struct outcome {
    fusec_status first, again;
    char message[600], later[600];
    bool opened;
} outcome;

static outcome whole(session *s) {
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    outcome o = {0};
    for (int round = 0; round < 2; round++) {
        fusec_status st = ctx ? FUSEC_OK : capi_open_full("cuda", 1, &ctx);
        if (!st) st = fusec_device(ctx, NULL, NULL);
        if (!st && !g) st = fusec_graph_new(ctx, &g);
        if (!st && !p && !(st = build(g))) st = fusec_compile_with(g, FUSEC_PROGRAM_GRAPH, &p);
        o.opened |= p != NULL;
        if (!st) st = use(ctx, p, s);
        if (round == 0 && st) {
            o.first = st;
            snprintf(o.message, sizeof o.message, "%s", fusec_message(ctx));
            if (p == NULL) fusec_graph_reset(g);
            continue;
        }
        o.again = st;
        if (st) snprintf(o.later, sizeof o.later, "%s", fusec_message(ctx));
        break;
    }
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return o;
}

/* A machine and room for a session on it. */
typedef struct rig {
    fake_machine m;
    fake_cuda *fake; /* of m */
    session *s;
} rig;

static bool rig_open(rig *r, const char *file) {
    if (!fake_machine_open(&r->m, file)) return false;
    r->fake = r->m.fake;
    r->s = malloc(sizeof *r->s);
    return r->s != NULL;
}

static void rig_close(rig *r) {
    fake_machine_close(&r->m);
    free(r->s);
}

/* A session that nothing disturbs, with right results where kernels run. */
static void expect_session(rig *r, const int64_t shape[2], const char *what) {
    start(r->s, shape);
    outcome o = whole(r->s);
    FC_EXPECT_EQ_I64(o.first, FUSEC_OK);
    FC_EXPECT_STREQ(o.message, "");
    if (r->fake->execute) check(r->s, what);
    fake_check_balance(&r->m, false);
}

FC_TEST(fake_cuda, a_session) {
    rig r;
    if (!rig_open(&r, FAKE("whole"))) return;
    r.fake->execute = fake_can_execute();
    expect_session(&r, rows, "a session");
    FC_EXPECT_GT_I64(r.fake->launched, 3);
    FC_EXPECT_GT_I64(r.fake->compiled, 1);
    FC_EXPECT_GT_I64(r.fake->graph_launches, 0);
    FC_EXPECT_EQ_I64(r.fake->launched_together, 0);
    rig_close(&r);
}

/* A gang is launched by another call, and never as a part of a graph; without that call there are
 * other kernels. */
FC_TEST(fake_cuda, a_session_with_a_gang) {
    rig r;
    if (!rig_open(&r, FAKE("whole"))) return;
    for (int without = 0; without < 2; without++) {
        r.m.reset();
        r.fake->execute = fake_can_execute();
        r.fake->no_gangs = without != 0;
        expect_session(&r, long_row, without ? "without a gang" : "with a gang");
        if (without)
            FC_EXPECT_EQ_I64(r.fake->launched_together, 0);
        else
            FC_EXPECT_GT_I64(r.fake->launched_together, 4);
    }
    rig_close(&r);
}

/* Clusters are launched as any kernel is, and are part of graphs; without them there are gangs. */
FC_TEST(fake_cuda, a_session_with_clusters) {
    rig r;
    if (!rig_open(&r, FAKE("whole"))) return;
    for (int without = 0; without < 2; without++) {
        r.m.reset();
        r.fake->execute = fake_can_execute();
        r.fake->no_clusters = without != 0;
        expect_session(&r, long_rows, without ? "without clusters" : "with clusters");
        FC_EXPECT_TRUE((r.fake->launched_together > 0) == (without != 0));
        FC_EXPECT_TRUE((r.fake->graph_launches > 0) == (without == 0));
    }
    rig_close(&r);
}

/* Kernels whose code waits for what was launched ahead of them need not be launched behind it. */
FC_TEST(fake_cuda, a_session_with_early_launches) {
    rig r;
    if (!rig_open(&r, FAKE("whole"))) return;
    for (int early = 0; early < 2; early++) {
        r.m.reset();
        r.fake->execute = fake_can_execute();
        r.fake->early = early != 0;
        expect_session(&r, rows, early ? "early" : "one behind the other");
        FC_EXPECT_TRUE((r.fake->launched_early > 0) == (early != 0));
        FC_EXPECT_TRUE(r.fake->launched_early < r.fake->launched); /* text of the caller is not */
    }
    rig_close(&r);
}

/* Its launch fails: it has changed nothing, and the same objects work. */
FC_TEST(fake_cuda, a_gang_that_fails) {
    rig r;
    static const int results[] = {1, 2, 701, 720};
    if (!rig_open(&r, FAKE("whole"))) return;
    for (size_t i = 0; i < FC_COUNT(results); i++)
        for (int at = 1; at < 6; at += 2) {
            r.m.reset();
            r.fake->execute = fake_can_execute();
            r.fake->fail_in = "cuLaunchCooperativeKernel";
            r.fake->fail_at = at;
            r.fake->result = results[i];
            start(r.s, long_row);
            FC_TRACE("launch %d gives %d", at, results[i]);
            outcome o = whole(r.s);
            FC_EXPECT_EQ_I64(r.fake->fired, 1);
            FC_EXPECT_CONTAINS(o.message, "cuLaunchCooperativeKernel");
            FC_EXPECT_EQ_I64(o.first, results[i] == 2 ? FUSEC_OUT_OF_MEMORY : FUSEC_DRIVER);
            FC_EXPECT_EQ_I64(o.again, FUSEC_OK);
            if (r.fake->execute) check(r.s, "after it");
            fake_check_balance(&r.m, false);
            FC_UNTRACE();
        }
    rig_close(&r);
}

/* ---- every call fails ------------------------------------------------------------------------ */

static bool loses(int r) {
    return r == 700 || r == 719 || r == 999;
}

typedef struct trial {
    const int64_t *shape;
    int result;
    bool later, execute;
} trial;

static void one_failure(rig *r, long at, const trial *t) {
    const int result = t->result;
    const bool later = t->later, execute = t->execute;
    r->m.reset();
    r->fake->execute = execute;
    r->fake->fail_at = at;
    r->fake->result = result;
    r->fake->later = later;
    start(r->s, t->shape);
    r->s->by_text = t->shape == rows;
    FC_TRACE("call %ld gives %d%s", at, result, later ? " later" : "");
    outcome o = whole(r->s);
    const fake_cuda *f = r->fake;
    bool lost = loses(result) && f->calls_after_loss == 0 && o.first;
    if (f->fired) FC_TRACE("it was %s", f->last);
    if (o.first) FC_EXPECT_TRUE(o.message[0] != 0);
    if (o.first && o.first != FUSEC_DRIVER && o.first != FUSEC_OUT_OF_MEMORY &&
        o.first != FUSEC_NO_GPU)
        FC_FAIL("status %s: %s", fusec_status_name(o.first), o.message);
    if (loses(result) && o.opened && o.first) { /* the context knows */
        FC_EXPECT_EQ_I64(o.again, FUSEC_DRIVER);
        FC_EXPECT_CONTAINS(o.later, "lost");
        FC_EXPECT_EQ_I64(f->calls_after_loss, 0);
    }
    if (!loses(result)) {
        if (o.again) FC_FAIL("after it: %s", o.later);
        if (execute) check(r->s, "after it");
    }
    /* A release that the driver refused has released nothing. */
    bool refused =
        f->fired && f->last &&
        (strstr(f->last, "Free") || strstr(f->last, "Unload") || strstr(f->last, "Destroy") ||
         strstr(f->last, "Release") || strstr(f->last, "Push"));
    if (!later && !refused) fake_check_balance(&r->m, lost || loses(result));
    if (f->fired) FC_UNTRACE();
    FC_UNTRACE();
}

/* A commit tries some of the calls. */
static void every_call(void *arg) {
    const trial *given = arg;
    trial t = *given;
    rig r;
    if (!rig_open(&r, FAKE("whole"))) return;
    start(r.s, t.shape);
    r.s->by_text = t.shape == rows;
    (void)whole(r.s);
    long calls = r.fake->calls;
    FC_EXPECT_GT_I64(calls, 50);
    t.execute = t.execute && fake_can_execute();
    for (long n = 1; n <= calls && !fc_test_has_failed(); n++)
        if (fc_test_takes(6)) one_failure(&r, n, &t);
    rig_close(&r);
}

FC_REGISTER(every_call) {
    static const int results[] = {1, 2, 209, 700, 701, 719};
    static trial trials[FC_COUNT(results)][2][2];
    for (size_t i = 0; i < FC_COUNT(results); i++)
        for (int later = 0; later < 2; later++)
            for (int gang = 0; gang < 2; gang++) {
                char name[40];
                trial *t = &trials[i][later][gang];
                *t = (trial){gang ? long_row : rows, results[i], later != 0, !gang};
                snprintf(name, sizeof name, "%d_%s", results[i], later ? "later" : "now");
                if (gang)
                    FC_ADD_TEST("fake_cuda_every_call_of_a_gang", name, every_call, t);
                else
                    FC_ADD_TEST("fake_cuda_every_call", name, every_call, t);
            }
}

/* ---- a program that has run once ------------------------------------------------------------- */

static bool run_once(rig *r, fusec_context **ctx, fusec_graph **g, fusec_program **p) {
    start(r->s, rows);
    fusec_status st = capi_open("cuda", 1, ctx);
    if (!st) st = fusec_graph_new(*ctx, g);
    if (!st) st = build(*g);
    if (!st) st = fusec_compile(*g, p);
    if (!st) st = run_host(*p, r->s);
    FC_EXPECT_OK_TEXT(st, fusec_message(*ctx));
    return st == FUSEC_OK;
}

/* ---- loss ------------------------------------------------------------------------------------ */

FC_TEST(fake_cuda, loss_is_said_and_leaves_the_cpu) {
    rig r;
    fusec_context *ctx = NULL, *other = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (!rig_open(&r, FAKE("whole"))) return;
    if (!run_once(&r, &ctx, &g, &p)) return;
    r.fake->fail_in = "cuLaunchKernel";
    r.fake->fail_at = 1;
    r.fake->result = 700;
    r.fake->later = true;
    FC_EXPECT_EQ_I64(run_host(p, r.s), FUSEC_DRIVER);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "the device is gone (CUDA_ERROR_LOST, 700)");
    long calls = r.fake->calls;
    for (int i = 0; i < 3; i++) {
        FC_EXPECT_EQ_I64(run_host(p, r.s), FUSEC_DRIVER);
        FC_EXPECT_CONTAINS(fusec_message(ctx), "lost since an earlier error (700)");
        FC_EXPECT_EQ_I64(read_lazy(ctx, r.s), FUSEC_DRIVER);
        FC_EXPECT_EQ_I64(fusec_synchronize(ctx), FUSEC_DRIVER);
    }
    const char *name = NULL;
    FC_EXPECT_EQ_I64(fusec_device(ctx, &name, NULL), FUSEC_DRIVER);
    FC_EXPECT_STREQ(name, "cuda:0");
    FC_EXPECT_CONTAINS(fusec_message(ctx), "lost");
    FC_EXPECT_EQ_I64(r.fake->calls, calls); /* the driver is left alone */
    /* another context of the process takes the CPU and says why */
    const char *notice = NULL;
    FC_ASSERT_OK_TEXT(capi_open("auto", 1, &other), fusec_message(NULL));
    FC_ASSERT_OK_TEXT(fusec_device(other, &name, &notice), fusec_message(other));
    FC_EXPECT_TRUE(strcmp(name, "cpu") == 0 || strcmp(name, "interp") == 0);
    FC_EXPECT_CONTAINS(notice, "the device is gone");
    FC_EXPECT_OK_TEXT(read_lazy(other, r.s), fusec_message(other));
    fusec_context_free(other);
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    FC_EXPECT_EQ_I64(r.fake->misuse, 0);
    rig_close(&r);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The first few come from the plain allocator. */
static void past_the_first_allocations(fusec_context *ctx) {
    for (int i = 0; i < FC_CUDA_EARLY; i++) {
        void *p = NULL;
        FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, 16, &p), fusec_message(ctx));
        fusec_device_free(ctx, p);
    }
}

/* Code that nobody uses any more goes when the device is full. */
FC_TEST(fake_cuda, lack_of_memory_drops_caches_and_tries_again) {
    rig r;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    void *mem = NULL, *more = NULL;
    if (!rig_open(&r, FAKE("whole"))) return;
    if (!run_once(&r, &ctx, &g, &p)) return;
    fusec_program_free(p);
    p = NULL;
    FC_EXPECT_GT_I64(r.fake->modules, 0);
    past_the_first_allocations(ctx);
    r.fake->fail_in = "cuMemAllocAsync";
    r.fake->fail_at = 1;
    r.fake->result = 2;
    r.fake->times = 2; /* also after the driver's pool was emptied */
    FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, 1 << 20, &mem), fusec_message(ctx));
    FC_EXPECT_EQ_I64(r.fake->fired, 2);
    FC_EXPECT_EQ_I64(r.fake->modules, 0); /* the idle kernels went */
    r.fake->limit = 1 << 21;
    FC_EXPECT_EQ_I64(fusec_device_alloc(ctx, 1 << 22, &more), FUSEC_OUT_OF_MEMORY);
    FC_EXPECT_EQ_PTR(more, NULL);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "not enough memory on cuda:0");
    FC_EXPECT_OK_TEXT(fusec_compile(g, &p), fusec_message(ctx)); /* and it goes on */
    FC_EXPECT_OK_TEXT(run_host(p, r.s), fusec_message(ctx));
    fusec_device_free(ctx, mem);
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    fake_check_balance(&r.m, false);
    rig_close(&r);
}

/* The host's memory while CUDA is used: the n-th allocation fails. */
static void *scene_heap(void *user, void *p, size_t n) {
    return fault_realloc(user, p, n);
}

FC_TEST(fake_cuda, host_memory_may_fail) {
    rig r;
    if (!rig_open(&r, FAKE("whole"))) return;
    for (int onward = 0; onward < 2; onward++)
        for (long n = 1;; n++) {
            fault_heap h;
            fusec_context *ctx = NULL;
            fusec_graph *g = NULL;
            fusec_program *p = NULL;
            fusec_options o = FUSEC_OPTIONS_INIT;
            r.m.reset();
            start(r.s, rows);
            fault_heap_init(&h);
            o.device = "cuda";
            o.cache_dir = "";
            o.alloc = scene_heap;
            o.alloc_user = &h;
            fault_arm(&h, n, onward != 0);
            fusec_status st = fusec_context_new(&o, &ctx);
            if (!st) st = fusec_graph_new(ctx, &g);
            if (!st && !(st = build(g))) st = fusec_compile_with(g, FUSEC_PROGRAM_GRAPH, &p);
            if (!st) st = use(ctx, p, r.s);
            bool fired = h.failed > 0;
            if (st && st != FUSEC_OUT_OF_MEMORY)
                FC_FAIL("allocation %ld: %s, %s", n, fusec_status_name(st), fusec_message(ctx));
            fault_disarm(&h);
            fusec_program_free(p);
            fusec_graph_free(g);
            fusec_context_free(ctx);
            FC_EXPECT_EQ_I64(h.live, 0);
            fake_check_balance(&r.m, false);
            if (!fired || fc_test_has_failed()) break;
        }
    rig_close(&r);
}

/* A driver from before the memory pools is good enough. */
FC_TEST(fake_cuda, an_old_driver_without_pools) {
    rig r;
    if (!rig_open(&r, FAKE("old"))) return;
    expect_session(&r, rows, "an old driver");
    rig_close(&r);
}

/* A driver with pools, a device without: some virtual and small ones. */
FC_TEST(fake_cuda, a_device_without_pools) {
    rig r;
    fusec_context *ctx = NULL;
    void *mem[40] = {0};
    if (!rig_open(&r, FAKE("whole"))) return;
    r.fake->no_pools = true;
    r.fake->execute = fake_can_execute();
    expect_session(&r, rows, "without pools");
    FC_ASSERT_OK_TEXT(capi_open("cuda", 1, &ctx), fusec_message(NULL));
    for (size_t i = 0; i < FC_COUNT(mem); i++)
        FC_EXPECT_OK_TEXT(fusec_device_alloc(ctx, 64, &mem[i]), fusec_message(ctx));
    for (size_t i = 0; i < FC_COUNT(mem); i++) fusec_device_free(ctx, mem[i]);
    r.fake->limit = 1 << 20;
    FC_EXPECT_EQ_I64(fusec_device_alloc(ctx, 1 << 22, &mem[0]), FUSEC_OUT_OF_MEMORY);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "not enough memory on cuda:0");
    fusec_context_free(ctx);
    FC_EXPECT_EQ_I64(r.fake->misuse, 0);
    fake_check_balance(&r.m, false);
    rig_close(&r);
}

/* Another library records a stream in its own thread, strictly with all threads. */
FC_TEST(fake_cuda, a_recording_of_others_survives) {
    rig r;
    if (!rig_open(&r, FAKE("whole"))) return;
    for (int pools = 0; pools < 2; pools++) {
        r.m.reset();
        r.fake->recording = true;
        r.fake->no_pools = !pools;
        expect_session(&r, rows, "beside a recording");
        FC_EXPECT_EQ_I64(r.fake->strict_calls, 0);
        FC_EXPECT_EQ_I64(r.fake->capture_mode, 0); /* as the thread had it */
    }
    rig_close(&r);
}

/* Code that the driver does not take: from the compiler an error, from the disk a miss. */
FC_TEST(fake_cuda, wrong_cubin) {
    rig r;
    char dir[] = "/tmp/fusec-cubin-XXXXXX", command[64];
    if (!rig_open(&r, FAKE("whole"))) return;
    FC_ASSERT_TRUE(mkdtemp(dir) != NULL);
    for (int round = 0; round < 3; round++) {
        fusec_context *ctx = NULL;
        fusec_options o = FUSEC_OPTIONS_INIT;
        fusec_counters c = FUSEC_COUNTERS_INIT;
        r.m.reset();
        start(r.s, rows);
        o.device = "cuda";
        o.cache_dir = dir;
        r.fake->bad_cubin = round == 0;
        if (round == 2) { /* the driver refuses what is on disk, once */
            r.fake->fail_in = "cuModuleLoadData";
            r.fake->fail_at = 1;
            r.fake->result = 209;
        }
        FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
        fusec_status st = read_lazy(ctx, r.s);
        if (round == 0) {
            FC_EXPECT_EQ_I64(st, FUSEC_DRIVER);
            FC_EXPECT_CONTAINS(fusec_message(ctx), "cuModuleLoadData");
        } else {
            FC_EXPECT_OK_TEXT(st, fusec_message(ctx));
        }
        fusec_get_counters(ctx, &c);
        if (round == 1) FC_EXPECT_EQ_U64(c.disk_hits, 0); /* what did not load was not kept */
        if (round == 2) FC_EXPECT_EQ_U64(c.compiles, 1);
        fusec_context_free(ctx);
        fake_check_balance(&r.m, false);
    }
    snprintf(command, sizeof command, "rm -rf %s", dir);
    FC_EXPECT_EQ_I64(system(command), 0);
    rig_close(&r);
}
