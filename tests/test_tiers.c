/* test_tiers.c - tiered compilation: which code runs when, what is kept, and what becomes of the
 * compilations behind the first call. The CPU device compiles; what it is asked for is counted. */
#include "codegen/cpuinfo.h"
#include "runtime/background.h"
#include "runtime/bind.h"
#include "runtime/device_host.h"
#include "tests/support/gb.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000 };

/* ---- a CPU device that counts ---------------------------------------------------------------- */

static fc_device_ops counting;
static const fc_device_ops *real;
static atomic_int compiled[2]; /* by effort */
static atomic_bool full_fails, full_waits, idle_waits;

static const char idle_text[] = "no program"; /* only to keep a thread busy */

static fusec_status counted(fc_device *d, uint32_t mode, fc_effort effort, const char *text,
                            fc_bytes *out, fc_error *e) {
    if (effort == FC_FULL && full_fails) return fc_fail(e, FUSEC_LLVM, "made to fail");
    while (effort == FC_FULL && full_waits) usleep(1000);
    while (idle_waits && !strcmp(text, idle_text)) usleep(1000);
    const fusec_status s = real->compile(d, mode, effort, text, out, e);
    atomic_fetch_add(&compiled[effort], 1);
    return s;
}

static int quick(void) {
    return atomic_load(&compiled[FC_QUICK]);
}

static int full(void) {
    return atomic_load(&compiled[FC_FULL]);
}

static void build(fc_graph *g) {
    fc_node x = gbin(g, "x", FUSEC_F32, 1, gbd(g, "n"), 0, 0);
    fc_build_output(g, "y", gb2(g, FC_OP_mul, gb1(g, FC_OP_sin, x), gb1(g, FC_OP_exp, x)));
}

/* False, with the test skipped, where no compilation runs beside another. */
static bool open_rig(fc_fixture *f) {
    if (fc_usable_cpus() < 2 || !fc_fixture_open(f, "cpu")) return false;
    f->ctx->config.tiers = FC_TIERS_BOTH;
    real = f->device->ops;
    counting = *real;
    counting.compile = counted;
    f->device->ops = &counting;
    atomic_store(&compiled[FC_QUICK], 0);
    atomic_store(&compiled[FC_FULL], 0);
    atomic_store(&full_fails, false);
    atomic_store(&full_waits, false);
    build(&f->g);
    return true;
}

typedef struct results {
    float y[N];
} results;

static fusec_status call_with(fc_program *p, results *r, double *seconds, fc_error *e) {
    static const int64_t n = N;
    float x[N];
    for (int i = 0; i < N; i++) x[i] = (float)i * 0.01f;
    fc_tensor in = {.dtype = FUSEC_F32, .rank = 1, .shape = &n, .data = x};
    fc_tensor out = {.dtype = FUSEC_F32, .rank = 1, .shape = &n, .data = r->y};
    memset(r, 0, sizeof *r);
    return seconds ? fc_program_time(p, 1, &in, 0, NULL, 1, &out, seconds, e)
                   : fc_program_run(p, NULL, 1, &in, 0, NULL, 1, &out, e);
}

static fusec_status call(fc_program *p, results *r, fc_error *e) {
    return call_with(p, r, NULL, e);
}

static uint32_t calls_ready(fc_program *p) {
    return atomic_load(&p->nready);
}

/* ---- the life of a program ------------------------------------------------------------------- */

FC_TEST(tiers, the_second_call_runs_full_code_with_the_same_bits) {
    fc_fixture f;
    if (!open_rig(&f)) FC_SKIP("there is no LLVM, or one processor");
    fc_program *p = fc_fixture_compile(&f);
    const int kernels = (int)p->plan->steps.len;
    results first, second, third;
    FC_EXPECT_EQ_I64(kernels, 1);
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    FC_EXPECT_EQ_I64(quick(), kernels);
    FC_EXPECT_EQ_U64(calls_ready(p), 0);
    FC_EXPECT_OK(call(p, &second, &f.e), &f.e);
    FC_EXPECT_EQ_I64(full(), kernels);
    FC_EXPECT_EQ_U64(calls_ready(p), 1);
    FC_EXPECT_OK(call(p, &third, &f.e), &f.e);
    FC_EXPECT_MEMEQ(&first, &second, sizeof first);
    FC_EXPECT_MEMEQ(&first, &third, sizeof first);
    FC_EXPECT_EQ_I64(quick(), kernels);
    FC_EXPECT_EQ_I64(full(), kernels);
    FC_EXPECT_EQ_U64(p->compiles, kernels); /* a kernel counts once */
    FC_EXPECT_EQ_U64(f.ctx->compiles, kernels);
    fc_fixture_close(&f, p);
}

FC_TEST(tiers, full_code_is_what_the_others_of_the_context_get) {
    fc_fixture f;
    if (!open_rig(&f)) FC_SKIP("there is no LLVM, or one processor");
    fc_program *p = fc_fixture_compile(&f), *q = fc_fixture_compile(&f);
    results first, second;
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    const int before = quick();
    FC_EXPECT_OK(call(q, &second, &f.e), &f.e); /* waits for what the first one started */
    FC_EXPECT_MEMEQ(&first, &second, sizeof first);
    FC_EXPECT_EQ_I64(quick(), before);
    FC_EXPECT_EQ_I64(full(), before);
    FC_EXPECT_EQ_U64(calls_ready(q), 1);
    FC_EXPECT_OK(call(p, &second, &f.e), &f.e); /* its own quick code is still there, unused */
    FC_EXPECT_EQ_U64(calls_ready(p), 1);
    FC_EXPECT_EQ_I64(full(), before);
    fc_program_free(q);
    fc_fixture_close(&f, p);
}

FC_TEST(tiers, reports_and_measurements_are_of_full_code) {
    fc_fixture f;
    if (!open_rig(&f)) FC_SKIP("there is no LLVM, or one processor");
    fc_program *p = fc_fixture_compile(&f);
    results r;
    double seconds[8];
    FC_EXPECT_OK(call_with(p, &r, seconds, &f.e), &f.e);
    FC_EXPECT_EQ_I64(quick(), 0);
    FC_EXPECT_GT_I64(full(), 0);
    fc_fixture_close(&f, p);
}

FC_TEST(tiers, without_full_code_the_quick_one_stays) {
    fc_fixture f;
    if (!open_rig(&f)) FC_SKIP("there is no LLVM, or one processor");
    fc_program *p = fc_fixture_compile(&f);
    results first, again;
    atomic_store(&full_fails, true);
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    const int before = quick();
    for (int i = 0; i < 3; i++) {
        FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
        FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    }
    FC_EXPECT_EQ_U64(calls_ready(p), 1);
    FC_EXPECT_EQ_I64(quick(), before);
    fc_fixture_close(&f, p);
}

/* ---- when it is left out --------------------------------------------------------------------- */

typedef struct left_out {
    const char *why;
    double work; /* that the device allows; below 0: as it is */
    fc_tiers tiers;
} left_out;

static void expect_full(const left_out *l) {
    fc_fixture f;
    results r;
    if (!open_rig(&f)) return;
    fc_program *p = fc_fixture_compile(&f);
    f.ctx->config.tiers = l->tiers;
    if (l->work >= 0) f.device->quick_work = l->work;
    FC_EXPECT_OK(call(p, &r, &f.e), &f.e);
    if (quick() || !full()) printf("quick code in spite of: %s\n", l->why);
    FC_EXPECT_EQ_I64(quick(), 0);
    FC_EXPECT_GT_I64(full(), 0);
    FC_EXPECT_EQ_U64(calls_ready(p), 1);
    fc_fixture_close(&f, p);
}

FC_TEST(tiers, left_out_where_it_does_not_pay) {
    static const left_out ways[] = {{"it is not wanted", -1, FC_TIERS_FULL},
                                    {"much work", N, FC_TIERS_BOTH},
                                    {"a device without quick code", 0, FC_TIERS_BOTH}};
    for (size_t i = 0; i < FC_COUNT(ways); i++) expect_full(&ways[i]);
}

/* As many compilations behind as there are processors: what comes next is compiled once. */
FC_TEST(tiers, left_out_when_all_processors_compile) {
    enum { MOST = 64 };
    fc_fixture f;
    fc_background *b[MOST];
    int n = fc_usable_cpus();
    if (n > MOST || !open_rig(&f)) FC_SKIP("there is no LLVM, or one processor");
    fc_program *p = fc_fixture_compile(&f);
    results r;
    atomic_store(&idle_waits, true);
    for (int i = 0; i < n; i++) b[i] = fc_background_start(f.device, 0, idle_text, NULL, NULL);
    FC_EXPECT_EQ_I64(fc_background_running(), n);
    FC_EXPECT_OK(call(p, &r, &f.e), &f.e);
    FC_EXPECT_EQ_U64(calls_ready(p), 1);
    FC_EXPECT_EQ_I64(quick(), 0);
    FC_EXPECT_EQ_I64(fc_background_running(), n);
    atomic_store(&idle_waits, false);
    for (int i = 0; i < n; i++) {
        FC_EXPECT_TRUE(fc_background_result(b[i]) == NULL); /* it is no program */
        fc_background_free(b[i]);
    }
    FC_EXPECT_EQ_I64(fc_background_running(), 0);
    fc_fixture_close(&f, p);
}

/* ---- what goes before it is there ------------------------------------------------------------ */

FC_TEST(tiers, a_program_that_goes_after_one_call) {
    fc_fixture f;
    if (!open_rig(&f)) FC_SKIP("there is no LLVM, or one processor");
    fc_program *p = fc_fixture_compile(&f);
    results first, again;
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    const int before = quick();
    fc_program_free(p);
    FC_EXPECT_EQ_U64(fc_kcache_drop_idle(f.ctx, f.device), (uint32_t)before);
    FC_EXPECT_EQ_I64(fc_background_running(), 0); /* waited for */
    p = fc_fixture_compile(&f);
    FC_EXPECT_OK(call(p, &again, &f.e), &f.e); /* from the beginning */
    FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    FC_EXPECT_EQ_I64(quick(), 2 * before);
    fc_fixture_close(&f, p); /* with the second one under way */
    FC_EXPECT_EQ_I64(fc_background_running(), 0);
}

/* What came from the disk and what was compiled quickly in a context of its own. */
typedef struct session {
    const char *dir;
    int calls;
    uint64_t hits;
    int quick;
} session;

static fusec_status run_session(session *x, fc_error *e) {
    fc_config c;
    fc_fixture f = {0};
    fc_config_init(&c);
    c.cache_dir = x->dir;
    c.tiers = FC_TIERS_BOTH;
    FC_TRY(fc_context_new(&c, &f.ctx, e));
    fusec_status s = fc_context_device(f.ctx, "cpu", &f.device, NULL, e);
    fc_graph_init(&f.g, &fc_libc_alloc, NULL);
    fc_program *p = NULL;
    if (!s) {
        results r;
        const int before = quick();
        f.device->ops = &counting;
        build(&f.g);
        p = fc_fixture_compile(&f);
        for (int i = 0; i < x->calls && !s; i++) s = call(p, &r, e);
        x->hits = f.ctx->disk_hits;
        x->quick = quick() - before;
    }
    fc_fixture_close(&f, p);
    return s;
}

FC_TEST(tiers, full_code_is_on_disk_when_the_context_is_gone) {
    char dir[] = "/tmp/fusec-tiers-XXXXXX", command[64];
    fc_fixture f;
    fc_error e = {0};
    if (!open_rig(&f)) FC_SKIP("there is no LLVM, or one processor");
    fc_fixture_close(&f, NULL);
    FC_ASSERT_TRUE(mkdtemp(dir) != NULL);
    session once = {.dir = dir, .calls = 1}, again = {.dir = dir, .calls = 2};
    FC_EXPECT_OK(run_session(&once, &e), &e);
    FC_EXPECT_EQ_U64(once.hits, 0);
    FC_EXPECT_EQ_I64(once.quick, 1);
    FC_EXPECT_OK(run_session(&again, &e), &e);
    FC_EXPECT_EQ_U64(again.hits, 1);
    FC_EXPECT_EQ_I64(again.quick, 0);
    FC_EXPECT_EQ_I64(full(), 1);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    FC_EXPECT_EQ_I64(system(command), 0);
}

/* ---- threads and processes ------------------------------------------------------------------- */

typedef struct caller {
    fc_program *p;
    results r;
    fusec_status status;
} caller;

static void *call_often(void *user) {
    caller *c = user;
    for (int i = 0; i < 5 && !c->status; i++) c->status = call(c->p, &c->r, NULL);
    return NULL;
}

FC_TEST(tiers, threads_call_while_the_code_is_replaced) {
    enum { THREADS = 4, ROUNDS = 6 };
    for (int round = 0; round < ROUNDS; round++) {
        fc_fixture f;
        if (!open_rig(&f)) FC_SKIP("there is no LLVM, or one processor");
        fc_program *p[2] = {fc_fixture_compile(&f), fc_fixture_compile(&f)};
        pthread_t thread[THREADS];
        caller *c = calloc(THREADS, sizeof *c);
        for (int i = 0; i < THREADS; i++) {
            c[i].p = p[i % 2];
            FC_EXPECT_EQ_I64(pthread_create(&thread[i], NULL, call_often, &c[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        for (int i = 0; i < THREADS; i++) {
            FC_EXPECT_EQ_I64(c[i].status, FUSEC_OK);
            FC_EXPECT_MEMEQ(&c[i].r, &c[0].r, sizeof(results));
        }
        FC_EXPECT_EQ_I64(full(), 1);
        free(c);
        fc_program_free(p[1]);
        fc_fixture_close(&f, p[0]);
    }
}

/* The child has quick code and no thread that compiles; its next call does not wait for one. */
FC_TEST(tiers, a_forked_child_goes_on_with_what_it_has) {
    fc_fixture f;
    if (!open_rig(&f)) FC_SKIP("there is no LLVM, or one processor");
    fc_program *p = fc_fixture_compile(&f);
    results first, again;
    int status = -1;
    atomic_store(&full_waits, true);
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        bool same = !call(p, &again, &f.e) && !memcmp(&first, &again, sizeof first);
        same = same && !call(p, &again, &f.e) && !memcmp(&first, &again, sizeof first);
        fc_fixture_close(&f, p);
        _exit(same ? 0 : 1);
    }
    FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
    FC_EXPECT_EQ_I64(status, 0);
    atomic_store(&full_waits, false);
    FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
    FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    fc_fixture_close(&f, p);
}

static fc_fixture left_open; /* reachable, so no leak */
static fc_program *volatile left_program;

/* A process that ends right after its first call, and frees nothing. */
FC_TEST(tiers, a_process_that_ends_while_it_compiles) {
    for (int i = 0; i < 8; i++) {
        int status = -1;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            results r;
            alarm(20);
            if (!open_rig(&left_open)) exit(0);
            left_program = fc_fixture_compile(&left_open);
            exit(call(left_program, &r, &left_open.e) ? 1 : 0);
        }
        FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
        FC_EXPECT_EQ_I64(status, 0);
    }
}
