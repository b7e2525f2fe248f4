/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_tiers.c - tiered compilation: which code runs when, what is kept, and what becomes of the
 * compilations behind the first call. The CPU device compiles; what it is asked for is counted. */
#include "runtime/background.h"
#include "runtime/bind.h"
#include "runtime/cpuinfo.h"
#include "runtime/device_host.h"
#include "tests/support/fake_machine.h"
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

/* By effort: texts compiled, binaries loaded. */
static atomic_int compiled[2], loaded[2], unloaded, interpreted;
static atomic_bool full_fails, full_load_fails, full_waits, idle_waits;

static fc_device_ops counting;
static const fc_device_ops *real;
static fc_bytes full_code; /* the last */
static char *texts[2];     /* the last, by effort */
static pthread_mutex_t full_code_lock = PTHREAD_MUTEX_INITIALIZER;

static const char idle_text[] = "no program"; /* only to keep a thread busy */

static void remember_text(fc_effort effort, const char *text) {
    pthread_mutex_lock(&full_code_lock);
    free(texts[effort]);
    texts[effort] = strdup(text);
    pthread_mutex_unlock(&full_code_lock);
}

static void remember(const fc_bytes *code) {
    pthread_mutex_lock(&full_code_lock);
    free(full_code.data);
    full_code.data = malloc(code->len);
    full_code.len = full_code.data ? code->len : 0;
    if (full_code.data) memcpy(full_code.data, code->data, code->len);
    pthread_mutex_unlock(&full_code_lock);
}

static fusec_status count_compile(fc_device *d, uint32_t mode, fc_effort effort, const char *text,
                                  fc_bytes *out, fc_error *e) {
    if (effort == FC_FULL && full_fails) return fc_fail(e, FUSEC_LLVM, "made to fail");
    while (effort == FC_FULL && full_waits) usleep(1000);
    while (idle_waits && !strcmp(text, idle_text)) usleep(1000);
    remember_text(effort, text);
    const fusec_status s = real->compile(d, mode, effort, text, out, e);
    if (!s && effort == FC_FULL) remember(out);
    atomic_fetch_add(&compiled[effort], 1);
    return s;
}

static fusec_status count_load(fc_device *d, const fc_kernel *k, const fc_class *c,
                               const char *name, const fc_bytes *b, void **code, fc_error *e) {
    pthread_mutex_lock(&full_code_lock);
    const bool is_full = b->len == full_code.len && !memcmp(b->data, full_code.data, b->len);
    pthread_mutex_unlock(&full_code_lock);
    if (is_full && full_load_fails) return fc_fail(e, FUSEC_LLVM, "made to fail");
    const fusec_status s = real->load(d, k, c, name, b, code, e);
    if (!s) atomic_fetch_add(&loaded[is_full ? FC_FULL : FC_QUICK], 1);
    return s;
}

static fusec_status count_interpret(fc_device *d, const fc_kernel *k, void **code, fc_error *e) {
    const fusec_status s = real->interpret(d, k, code, e);
    atomic_fetch_add(&interpreted, s == FUSEC_OK);
    return s;
}

static void count_unload(fc_device *d, void *code) {
    atomic_fetch_add(&unloaded, code != NULL);
    real->unload(d, code);
}

static void count_on(fc_device *d) {
    real = d->ops;
    counting = *real;
    counting.compile = count_compile;
    counting.load = count_load;
    counting.unload = count_unload;
    if (real->interpret) counting.interpret = count_interpret;
    d->ops = &counting;
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

/* With FEW processors the full code is compiled after the quick one, with MANY beside it. */
enum { FEW = 2, MANY = 16 };
static const int orders[] = {FEW, MANY};

/* False where there is no LLVM. */
static bool open_rig(fc_fixture *f, int processors) {
    if (!fc_fixture_open(f, "cpu")) return false;
    f->ctx->config.tiers = FC_TIERS_BOTH;
    f->ctx->config.processors = processors;
    f->device->interpreted_work = 0; /* so little waits for quick code */
    count_on(f->device);
    for (int i = 0; i < 2; i++) {
        atomic_store(&compiled[i], 0);
        atomic_store(&loaded[i], 0);
    }
    atomic_store(&unloaded, 0);
    atomic_store(&interpreted, 0);
    atomic_store(&full_fails, false);
    atomic_store(&full_load_fails, false);
    atomic_store(&full_waits, false);
    build(&f->g);
    return true;
}

static void close_rig(fc_fixture *f, fc_program *p) {
    fc_fixture_close(f, p);
    FC_EXPECT_EQ_I64(atomic_load(&loaded[FC_QUICK]) + atomic_load(&loaded[FC_FULL]) +
                         atomic_load(&interpreted),
                     atomic_load(&unloaded));
    FC_EXPECT_EQ_I64(fc_background_running(), 0);
}

/* Aligned: code and places depend on it. */
typedef struct results {
    _Alignas(64) float y[N];
} results;

static fusec_status call_with(fc_program *p, results *r, double *seconds, fc_error *e) {
    static const int64_t n = N;
    _Alignas(64) float x[N];
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

/* Until what is compiled behind the calls is there. */
static void settle(void) {
    while (fc_background_running()) usleep(200);
}

/* Whether all code that the next call runs is full. */
static bool runs_full_code(const fc_program *p) {
    for (size_t i = 0; i < p->plan->steps.len; i++) {
        const fc_variant *v = p->bound ? p->bound->steps[i].variant : NULL;
        if (!v || v->quick || v->tier || v->replaced) return false;
    }
    return true;
}

/* ---- the life of a program ------------------------------------------------------------------- */

static void two_calls_and_more(fc_fixture *f) {
    fc_program *p = fc_fixture_compile(f);
    results first, again;
    FC_EXPECT_EQ_U64(p->plan->steps.len, 1);
    FC_EXPECT_OK(call(p, &first, &f->e), &f->e);
    FC_EXPECT_EQ_I64(quick(), 1);
    FC_EXPECT_EQ_I64(loaded[FC_QUICK], 1);
    FC_EXPECT_FALSE(runs_full_code(p));
    FC_EXPECT_EQ_U64(calls_ready(p), 0);
    settle();
    for (int i = 0; i < 3; i++) {
        FC_EXPECT_OK(call(p, &again, &f->e), &f->e);
        FC_EXPECT_MEMEQ(&first, &again, sizeof first);
        FC_EXPECT_TRUE(runs_full_code(p));
        FC_EXPECT_EQ_U64(calls_ready(p), 1);
        FC_EXPECT_EQ_I64(unloaded, 1); /* the quick code is gone */
    }
    FC_EXPECT_EQ_I64(quick(), 1);
    FC_EXPECT_EQ_I64(full(), 1);
    FC_EXPECT_EQ_I64(loaded[FC_FULL], 1);
    FC_EXPECT_EQ_U64(p->compiles, 1); /* a kernel counts once */
    FC_EXPECT_EQ_U64(f->ctx->compiles, 1);
    fc_program_free(p);
    FC_EXPECT_EQ_U64(fc_kcache_drop_idle(f->ctx, f->device), 1);
    FC_EXPECT_EQ_U64(fc_kcache_drop_idle(f->ctx, f->device), 0);
}

FC_TEST(tiers, later_calls_run_full_code_with_the_same_bits) {
    for (size_t i = 0; i < FC_COUNT(orders); i++) {
        fc_fixture f;
        if (!open_rig(&f, orders[i])) FC_SKIP("there is no LLVM");
        two_calls_and_more(&f);
        close_rig(&f, NULL);
    }
}

/* Of a map with functions, which has several registers for a vector: one. */
FC_TEST(tiers, quick_code_has_a_text_of_its_own) {
    for (size_t i = 0; i < FC_COUNT(orders); i++) {
        fc_fixture f;
        if (!open_rig(&f, orders[i])) FC_SKIP("there is no LLVM");
        two_calls_and_more(&f);
        FC_EXPECT_TRUE(strcmp(texts[FC_QUICK], texts[FC_FULL]) != 0);
        const char *several =
            f.device->machine.vector_bytes >= 64 ? "<32 x float>" : "<16 x float>";
        FC_EXPECT_TRUE(strstr(texts[FC_FULL], several) != NULL);
        FC_EXPECT_TRUE(strstr(texts[FC_QUICK], several) == NULL);
        close_rig(&f, NULL);
    }
}

/* So little work that the interpreter has done it before LLVM is opened. */
static bool open_rig_of_little(fc_fixture *f) {
    if (!open_rig(f, FEW)) return false;
    f->device->interpreted_work = 1e5; /* N elements with two functions take 2e4 */
    return true;
}

FC_TEST(tiers, little_work_is_interpreted_until_the_full_code_is_there) {
    fc_fixture f;
    if (!open_rig_of_little(&f)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f);
    results first, again;
    atomic_store(&full_waits, true);
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
    FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    FC_EXPECT_EQ_I64(atomic_load(&interpreted), 1);
    FC_EXPECT_FALSE(runs_full_code(p));
    atomic_store(&full_waits, false);
    settle();
    FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
    FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    FC_EXPECT_TRUE(runs_full_code(p));
    FC_EXPECT_EQ_I64(quick(), 0);
    FC_EXPECT_EQ_I64(full(), 1);
    FC_EXPECT_EQ_U64(p->compiles, 1);
    close_rig(&f, p);
}

/* Another program with the same kernel and more to do does not go on with it. */
FC_TEST(tiers, more_work_is_not_interpreted_as_little_was) {
    enum { MORE = 100 * N };
    static const int64_t n = MORE;
    static _Alignas(64) float x[MORE], y[MORE];
    fc_fixture f;
    if (!open_rig_of_little(&f)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f), *q = fc_fixture_compile(&f);
    fc_tensor in = {.dtype = FUSEC_F32, .rank = 1, .shape = &n, .data = x};
    fc_tensor out = {.dtype = FUSEC_F32, .rank = 1, .shape = &n, .data = y};
    results r;
    for (int i = 0; i < MORE; i++) x[i] = (float)(i % N) * 0.01f;
    FC_EXPECT_OK(call(p, &r, &f.e), &f.e);
    FC_EXPECT_EQ_I64(atomic_load(&interpreted), 1);
    FC_EXPECT_OK(fc_program_run(q, NULL, 1, &in, 0, NULL, 1, &out, &f.e), &f.e);
    FC_EXPECT_EQ_I64(quick(), 1);
    FC_EXPECT_FALSE(q->bound->steps[0].variant->interpreted);
    for (int i = 0; i < MORE; i += N) FC_EXPECT_MEMEQ(y + i, r.y, sizeof r.y);
    fc_program_free(q);
    close_rig(&f, p);
}

static atomic_bool ends_at_variant;

/* The full code is there as soon as memory is asked for the first kernel that is looked for, right
 * after that of the table of all of them. */
static void *end_at_variant(void *user, void *p, size_t size) {
    static _Thread_local size_t last;
    const bool now = last == 64 * sizeof(void *) && size == sizeof(fc_variant) && !p;
    if (now && atomic_exchange(&ends_at_variant, false)) {
        atomic_store(&full_waits, false);
        settle();
    }
    if (atomic_load(&ends_at_variant) && size) last = size;
    return fc_libc_alloc.fn(user, p, size);
}

/* Two kernels of a program have one code, whose full one comes between looking for the one and for
 * the other: what was interpreted is not replaced twice. */
FC_TEST(tiers, the_same_code_twice_is_looked_for_once) {
    static const int64_t n = N;
    fc_fixture f;
    if (!open_rig_of_little(&f)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f);
    results x, first, one, two;
    for (int i = 0; i < N; i++) x.y[i] = (float)i * 0.01f;
    atomic_store(&full_waits, true);
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    FC_EXPECT_EQ_I64(atomic_load(&interpreted), 1);
    fc_node u = gbin(&f.g, "u", FUSEC_F32, 1, gbd(&f.g, "m"), 0, 0);
    fc_build_output(&f.g, "v",
                    gb2(&f.g, FC_OP_mul, gb1(&f.g, FC_OP_sin, u), gb1(&f.g, FC_OP_exp, u)));
    fc_program *q = fc_fixture_compile(&f);
    fc_tensor in[2] = {{.dtype = FUSEC_F32, .rank = 1, .shape = &n, .data = x.y}}, out[2];
    in[1] = out[0] = out[1] = in[0];
    out[0].data = one.y;
    out[1].data = two.y;
    f.ctx->config.alloc.fn = end_at_variant;
    f.device->interpreted_work = 1;
    atomic_store(&ends_at_variant, true);
    FC_EXPECT_OK(fc_program_run(q, NULL, 2, in, 0, NULL, 2, out, &f.e), &f.e);
    FC_EXPECT_FALSE(atomic_load(&ends_at_variant));
    FC_EXPECT_MEMEQ(one.y, first.y, sizeof first.y);
    FC_EXPECT_MEMEQ(two.y, first.y, sizeof first.y);
    fc_program_free(q);
    close_rig(&f, p);
}

/* Calls in a loop go over to quick code when that would have been there. */
FC_TEST(tiers, what_is_interpreted_often_has_quick_code) {
    fc_fixture f;
    if (!open_rig_of_little(&f)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f);
    results first, again;
    atomic_store(&full_waits, true);
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    for (int i = 0; i < 100; i++) {
        FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
        FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    }
    FC_EXPECT_EQ_I64(atomic_load(&interpreted), 1);
    FC_EXPECT_EQ_I64(atomic_load(&unloaded), 1);
    FC_EXPECT_EQ_I64(quick(), 1);
    FC_EXPECT_FALSE(runs_full_code(p));
    atomic_store(&full_waits, false);
    settle();
    FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
    FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    FC_EXPECT_TRUE(runs_full_code(p));
    FC_EXPECT_EQ_I64(quick(), 1);
    FC_EXPECT_EQ_I64(full(), 1);
    close_rig(&f, p);
}

/* A compiler that fails does so in the open, and the work is done by the quick code there is. */
FC_TEST(tiers, nothing_is_interpreted_for_good) {
    fc_fixture f;
    if (!open_rig_of_little(&f)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f);
    results first, again;
    atomic_store(&full_fails, true);
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    settle();
    FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
    FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    FC_EXPECT_EQ_I64(atomic_load(&interpreted), 1);
    FC_EXPECT_EQ_I64(quick(), 1);
    settle();
    FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
    FC_EXPECT_EQ_I64(atomic_load(&interpreted), 1);
    FC_EXPECT_EQ_I64(quick(), 1);
    atomic_store(&full_fails, false);
    close_rig(&f, p);
}

/* As long as the full code is on its way nobody waits for it, in this program or in another. */
FC_TEST(tiers, calls_go_on_with_quick_code_until_the_full_one_is_there) {
    for (size_t i = 0; i < FC_COUNT(orders); i++) {
        fc_fixture f;
        if (!open_rig(&f, orders[i])) FC_SKIP("there is no LLVM");
        fc_program *p = fc_fixture_compile(&f), *q = fc_fixture_compile(&f);
        results first, again;
        atomic_store(&full_waits, true);
        for (int k = 0; k < 4; k++) {
            FC_EXPECT_OK(call(k == 2 ? q : p, k ? &again : &first, &f.e), &f.e);
            if (k) FC_EXPECT_MEMEQ(&first, &again, sizeof first);
            FC_EXPECT_EQ_U64(calls_ready(p), 0);
        }
        FC_EXPECT_EQ_I64(full(), 0);
        FC_EXPECT_EQ_I64(quick(), 1);
        atomic_store(&full_waits, false);
        settle();
        FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
        FC_EXPECT_TRUE(runs_full_code(p));
        FC_EXPECT_EQ_U64(calls_ready(p), 1);
        FC_EXPECT_MEMEQ(&first, &again, sizeof first);
        FC_EXPECT_OK(call(q, &again, &f.e), &f.e);
        FC_EXPECT_TRUE(runs_full_code(q));
        FC_EXPECT_EQ_I64(full(), 1);
        fc_program_free(q);
        close_rig(&f, p);
    }
}

FC_TEST(tiers, full_code_is_what_the_others_of_the_context_get) {
    fc_fixture f;
    if (!open_rig(&f, FEW)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f), *q = fc_fixture_compile(&f);
    results first, second;
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    settle();
    FC_EXPECT_OK(call(q, &second, &f.e), &f.e);
    FC_EXPECT_MEMEQ(&first, &second, sizeof first);
    FC_EXPECT_TRUE(runs_full_code(q));
    FC_EXPECT_FALSE(runs_full_code(p));
    FC_EXPECT_EQ_I64(unloaded, 0); /* p has its quick code still */
    FC_EXPECT_OK(call(p, &second, &f.e), &f.e);
    FC_EXPECT_TRUE(runs_full_code(p));
    FC_EXPECT_EQ_U64(calls_ready(p), 1);
    FC_EXPECT_EQ_I64(quick(), 1);
    FC_EXPECT_EQ_I64(full(), 1);
    fc_program_free(q);
    close_rig(&f, p);
}

FC_TEST(tiers, measurements_are_of_full_code) {
    fc_fixture f;
    results r;
    double seconds[8];
    if (!open_rig(&f, FEW)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f);
    FC_EXPECT_OK(call_with(p, &r, seconds, &f.e), &f.e);
    FC_EXPECT_EQ_I64(quick(), 0);
    FC_EXPECT_TRUE(runs_full_code(p));
    close_rig(&f, p);
}

/* The compiler fails, or what it made can't be loaded. */
FC_TEST(tiers, without_full_code_the_quick_one_stays) {
    for (int way = 0; way < 2; way++) {
        fc_fixture f;
        if (!open_rig(&f, orders[way])) FC_SKIP("there is no LLVM");
        fc_program *p = fc_fixture_compile(&f);
        results first, again;
        atomic_store(way ? &full_fails : &full_load_fails, true);
        FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
        settle();
        for (int i = 0; i < 3; i++) {
            FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
            FC_EXPECT_MEMEQ(&first, &again, sizeof first);
        }
        FC_EXPECT_EQ_U64(calls_ready(p), 1);
        FC_EXPECT_EQ_I64(quick(), 1);
        FC_EXPECT_EQ_I64(loaded[FC_QUICK], 1);
        FC_EXPECT_EQ_I64(loaded[FC_FULL], 0);
        close_rig(&f, p);
    }
}

/* ---- when it is left out --------------------------------------------------------------------- */

typedef struct left_out {
    const char *why;
    double work; /* that the device allows; below 0: as it is */
    fc_tiers tiers;
    uint32_t mode;
    int processors;
} left_out;

static void expect_full(const left_out *l) {
    fc_fixture f;
    results r;
    if (!open_rig(&f, l->processors)) return;
    f.ctx->config.tiers = l->tiers;
    if (l->work >= 0) f.device->quick_work = l->work;
    fc_program *p = NULL;
    fc_program_options o = {.device = f.device, .mode = l->mode};
    FC_EXPECT_OK(fc_program_new(f.ctx, &f.g, &o, &p, &f.e), &f.e);
    FC_EXPECT_OK(call(p, &r, &f.e), &f.e);
    if (quick() || !full()) printf("quick code in spite of: %s\n", l->why);
    FC_EXPECT_EQ_I64(quick(), 0);
    FC_EXPECT_TRUE(runs_full_code(p));
    FC_EXPECT_EQ_U64(calls_ready(p), 1);
    close_rig(&f, p);
}

FC_TEST(tiers, left_out_where_it_does_not_pay_or_would_show) {
    static const left_out ways[] = {
        {"it is not wanted", -1, FC_TIERS_FULL, 0, MANY},
        {"much work", N, FC_TIERS_BOTH, 0, MANY},
        {"a device without quick code", 0, FC_TIERS_BOTH, 0, MANY},
        {"one processor", -1, FC_TIERS_BOTH, 0, 1},
        {"a licence to contract", -1, FC_TIERS_BOTH, FC_MODE_CONTRACT, MANY}};
    for (size_t i = 0; i < FC_COUNT(ways); i++) expect_full(&ways[i]);
}

/* ---- one after the other --------------------------------------------------------------------- */

/* Compilations that take all turns until they are let go. */
typedef struct blockers {
    fc_background **at;
    int n;
} blockers;

static blockers block_turns(fc_fixture *f) {
    blockers b = {.n = fc_usable_cpus()};
    b.at = calloc((size_t)b.n, sizeof *b.at);
    atomic_store(&idle_waits, true);
    for (int i = 0; i < b.n; i++)
        b.at[i] = fc_background_start(f->device, 0, idle_text, NULL, NULL);
    return b;
}

static void let_go(blockers b) {
    atomic_store(&idle_waits, false);
    for (int i = 0; i < b.n; i++) {
        FC_EXPECT_TRUE(fc_background_result(b.at[i]) == NULL); /* it is no program */
        fc_background_free(b.at[i]);
    }
    free(b.at);
}

/* However much is compiled behind: the first call has quick code, and who has to have the full one
 * does not wait for its turn. */
FC_TEST(tiers, full_code_waits_for_its_turn) {
    fc_fixture f;
    results first, again;
    double seconds[8];
    if (!open_rig(&f, FEW)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f);
    const blockers b = block_turns(&f);
    for (int i = 0; i < 2; i++) FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    FC_EXPECT_EQ_I64(quick(), 1);
    FC_EXPECT_EQ_I64(full(), 0);
    FC_EXPECT_EQ_I64(fc_background_running(), b.n + 1);
    FC_EXPECT_OK(call_with(p, &again, seconds, &f.e), &f.e);
    FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    FC_EXPECT_TRUE(runs_full_code(p));
    FC_EXPECT_EQ_I64(full(), 1);
    FC_EXPECT_EQ_I64(fc_background_running(), b.n);
    let_go(b);
    close_rig(&f, p);
}

/* As many texts as kernels, more than there are processors. */
FC_TEST(tiers, all_kernels_of_a_program_have_quick_code) {
    enum { KERNELS = 4 };
    static const int64_t n = N;
    static float x[N], y[KERNELS][N];
    fc_fixture f;
    if (!open_rig(&f, FEW)) FC_SKIP("there is no LLVM");
    fc_tensor in = {.dtype = FUSEC_F32, .rank = 1, .shape = &n, .data = x}, out[KERNELS];
    fc_graph_free(&f.g);
    fc_graph_init(&f.g, &fc_libc_alloc, NULL);
    fc_node v = gbin(&f.g, "x", FUSEC_F32, 1, gbd(&f.g, "n"), 0, 0);
    for (int i = 0; i < KERNELS; i++) { /* each needs the largest of the one before */
        v = gb2(&f.g, FC_OP_sub, gb1(&f.g, FC_OP_exp, v), gbred(&f.g, FC_OP_max, v, 0, true));
        fc_build_output(&f.g, (const char *const[]){"a", "b", "c", "d"}[i], v);
        out[i] = in;
        out[i].data = y[i];
    }
    fc_program *p = fc_fixture_compile(&f);
    FC_EXPECT_TRUE(p->plan->steps.len >= KERNELS);
    FC_EXPECT_OK(fc_program_run(p, NULL, 1, &in, 0, NULL, KERNELS, out, &f.e), &f.e);
    FC_EXPECT_EQ_I64(quick(), loaded[FC_QUICK]);
    FC_EXPECT_EQ_I64(loaded[FC_FULL], 0);
    settle();
    FC_EXPECT_EQ_I64(full(), quick());
    FC_EXPECT_OK(fc_program_run(p, NULL, 1, &in, 0, NULL, KERNELS, out, &f.e), &f.e);
    FC_EXPECT_TRUE(runs_full_code(p));
    close_rig(&f, p);
}

/* What nobody can see any more is not compiled at all. */
FC_TEST(tiers, a_program_that_goes_before_its_turn) {
    fc_fixture f;
    results r;
    if (!open_rig(&f, FEW)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f);
    const blockers b = block_turns(&f);
    FC_EXPECT_OK(call(p, &r, &f.e), &f.e);
    fc_program_free(p);
    FC_EXPECT_EQ_U64(fc_kcache_drop_idle(f.ctx, f.device), 1);
    FC_EXPECT_EQ_I64(fc_background_running(), b.n);
    FC_EXPECT_EQ_I64(full(), 0);
    let_go(b);
    close_rig(&f, NULL);
}

/* ---- what goes before it is there ------------------------------------------------------------ */

FC_TEST(tiers, a_program_that_goes_after_one_call) {
    fc_fixture f;
    if (!open_rig(&f, FEW)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f);
    results first, again;
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    fc_program_free(p);
    FC_EXPECT_EQ_U64(fc_kcache_drop_idle(f.ctx, f.device), 1);
    FC_EXPECT_EQ_I64(fc_background_running(), 0); /* waited for */
    p = fc_fixture_compile(&f);
    FC_EXPECT_OK(call(p, &again, &f.e), &f.e); /* from the beginning */
    FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    FC_EXPECT_EQ_I64(quick(), 2);
    close_rig(&f, p); /* with the second one under way */
    FC_EXPECT_EQ_I64(full(), 2);
    FC_EXPECT_EQ_I64(loaded[FC_FULL], 0);
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
    c.processors = FEW;
    FC_TRY(fc_context_new(&c, &f.ctx, e));
    fusec_status s = fc_context_device(f.ctx, "cpu", &f.device, NULL, e);
    fc_graph_init(&f.g, &fc_libc_alloc, NULL);
    fc_program *p = NULL;
    if (!s) {
        results r;
        const int before = quick();
        f.device->interpreted_work = 0;
        count_on(f.device);
        build(&f.g);
        p = fc_fixture_compile(&f);
        for (int i = 0; i < x->calls && !s; i++) s = call(p, &r, e);
        x->hits = f.ctx->disk_hits;
        x->quick = quick() - before;
    }
    fc_fixture_close(&f, p);
    return s;
}

FC_TEST(tiers, full_code_alone_goes_to_the_disk) {
    char dir[] = "/tmp/fusec-tiers-XXXXXX", command[64];
    fc_fixture f;
    fc_error e = {0};
    if (!open_rig(&f, FEW)) FC_SKIP("there is no LLVM");
    fc_fixture_close(&f, NULL);
    FC_ASSERT_TRUE(mkdtemp(dir) != NULL);
    session s = {.dir = dir, .calls = 2};
    atomic_store(&full_fails, true);
    FC_EXPECT_OK(run_session(&s, &e), &e);
    atomic_store(&full_fails, false);
    s.calls = 1; /* the end of the context waits for the full code */
    FC_EXPECT_OK(run_session(&s, &e), &e);
    FC_EXPECT_EQ_U64(s.hits, 0);
    FC_EXPECT_EQ_I64(s.quick, 1);
    FC_EXPECT_OK(run_session(&s, &e), &e);
    FC_EXPECT_EQ_U64(s.hits, 1);
    FC_EXPECT_EQ_I64(s.quick, 0);
    FC_EXPECT_EQ_I64(full(), 1);
    FC_EXPECT_EQ_I64(loaded[FC_FULL], 1);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    FC_EXPECT_EQ_I64(system(command), 0);
}

/* However soon the context goes. */
FC_TEST(tiers, full_code_goes_to_the_disk_before_its_turn) {
    char dir[] = "/tmp/fusec-tiers-XXXXXX", command[64];
    fc_fixture f;
    if (!open_rig(&f, FEW)) FC_SKIP("there is no LLVM");
    FC_ASSERT_TRUE(mkdtemp(dir) != NULL);
    const blockers b = block_turns(&f);
    session s = {.dir = dir, .calls = 1};
    FC_EXPECT_OK(run_session(&s, &f.e), &f.e);
    FC_EXPECT_EQ_I64(s.quick, 1);
    FC_EXPECT_EQ_I64(full(), 1);
    let_go(b);
    FC_EXPECT_OK(run_session(&s, &f.e), &f.e);
    FC_EXPECT_EQ_U64(s.hits, 1);
    fc_fixture_close(&f, NULL);
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
        if (!open_rig(&f, orders[round % 2])) FC_SKIP("there is no LLVM");
        fc_program *p[2] = {fc_fixture_compile(&f), fc_fixture_compile(&f)};
        pthread_t thread[THREADS];
        caller *c = aligned_alloc(64, THREADS * sizeof *c);
        for (int i = 0; i < THREADS; i++) {
            c[i] = (caller){.p = p[i % 2]};
            FC_EXPECT_EQ_I64(pthread_create(&thread[i], NULL, call_often, &c[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        settle();
        for (int i = 0; i < THREADS; i++) {
            FC_EXPECT_EQ_I64(c[i].status, FUSEC_OK);
            FC_EXPECT_MEMEQ(&c[i].r, &c[0].r, sizeof(results));
        }
        FC_EXPECT_EQ_I64(full(), 1);
        free(c);
        fc_program_free(p[1]);
        close_rig(&f, p[0]);
    }
}

/* A fork waits, so the child, which has no thread that compiles, has the full code. */
FC_TEST(tiers, a_forked_child_goes_on_with_full_code) {
    fc_fixture f;
    if (!open_rig(&f, FEW)) FC_SKIP("there is no LLVM");
    fc_program *p = fc_fixture_compile(&f);
    results first, again;
    int status = -1;
    FC_EXPECT_OK(call(p, &first, &f.e), &f.e);
    pid_t child = fork();
    if (child == 0) {
        alarm(100);
        bool good = fc_background_running() == 0;
        for (int i = 0; i < 2; i++)
            good = good && !call(p, &again, &f.e) && !memcmp(&first, &again, sizeof first);
        good = good && runs_full_code(p) && full() == 1;
        fc_fixture_close(&f, p);
        _exit(good ? 0 : 1);
    }
    FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
    FC_EXPECT_EQ_I64(status, 0);
    FC_EXPECT_OK(call(p, &again, &f.e), &f.e);
    FC_EXPECT_MEMEQ(&first, &again, sizeof first);
    close_rig(&f, p);
}

static fc_fixture left_open; /* reachable, so no leak */
static fc_program *volatile left_program;

#if FC_SANITIZED
/* LeakSanitizer asks. A child has the threads of its parent in its list and can't stop them, so
 * what only they point to would be a leak there, or not, as chance has it. */
static bool is_child;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
    return is_child;
}
#else
static bool is_child __attribute__((unused));
#endif

/* The exit code of a child that ends by exit(run(order)) and frees nothing; -1: it ended otherwise.
 */
static int exit_code_of(int (*run)(int order), int order) {
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(100);
        is_child = true;
        exit(run(order));
    }
    FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int call_once(int order) {
    results r;
    if (!open_rig(&left_open, order)) return 0;
    left_program = fc_fixture_compile(&left_open);
    return call(left_program, &r, &left_open.e) ? 1 : 0;
}

/* A process that ends right after its first call. */
FC_TEST(tiers, a_process_that_ends_while_it_compiles) {
    for (int i = 0; i < 8; i++) FC_EXPECT_EQ_I64(exit_code_of(call_once, orders[i % 2]), 0);
}

static fusec_status exit_in_the_background(fc_device *d, uint32_t mode, fc_effort effort,
                                           const char *text, fc_bytes *out, fc_error *e) {
    if (effort == FC_FULL) exit(3);
    return real->compile(d, mode, effort, text, out, e);
}

static int call_twice_and_exit_behind(int order) {
    results r;
    if (!open_rig(&left_open, order)) return 3;
    left_program = fc_fixture_compile(&left_open);
    counting.compile = exit_in_the_background;
    double seconds[8]; /* a measurement waits for full code */
    (void)call(left_program, &r, &left_open.e);
    (void)call_with(left_program, &r, seconds, &left_open.e);
    return 1;
}

static blockers turns;

/* Turns are taken until nothing waits for one. */
static fusec_status never_in_full(fc_device *d, uint32_t mode, fc_effort effort, const char *text,
                                  fc_bytes *out, fc_error *e) {
    const bool idle = !strcmp(text, idle_text);
    if (effort == FC_FULL && !idle) _exit(3);
    while (idle && (idle_waits || fc_background_running() > turns.n)) usleep(1000);
    return real->compile(d, mode, effort, text, out, e);
}

static int call_and_end_before_the_turn(int order) {
    results r;
    if (!open_rig(&left_open, order)) return 0;
    counting.compile = never_in_full;
    left_program = fc_fixture_compile(&left_open);
    turns = block_turns(&left_open);
    const fusec_status s = call(left_program, &r, &left_open.e);
    atomic_store(&idle_waits, false);
    return s ? 1 : fc_background_running() == turns.n + 1 ? 0 : 2;
}

/* Full code that waits for its turn when the process ends, and would go to no disk. */
FC_TEST(tiers, a_process_that_ends_before_its_turn) {
    FC_EXPECT_EQ_I64(exit_code_of(call_and_end_before_the_turn, FEW), 0);
}

/* An allocator of the caller's that ends the process, or a compiler that does. */
FC_TEST(tiers, a_background_that_ends_the_process) {
    FC_EXPECT_EQ_I64(exit_code_of(call_twice_and_exit_behind, FEW), 3);
}

/* ---- several kernels in one text --------------------------------------------------------------
 */

static size_t times(const char *text, const char *word) {
    size_t n = 0;
    for (text = strstr(text, word); text; text = strstr(text + 1, word)) n++;
    return n;
}

/* Two kernels in one text, of which the map alone has a quicker one. */
FC_TEST(tiers, a_text_of_several_kernels_has_a_quick_one) {
    static const char one_by_one[] = "const ix k = ((ix)blockIdx.x * ";
    static const int64_t shape[2] = {9, 4000};
    static float x[9 * 4000], y[9 * 4000], sums[9];
    fake_machine m;
    fc_fixture f;
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    if (!fc_fixture_open(&f, "cuda")) FC_FAIL("no device behind the fake driver");
    f.ctx->config.tiers = FC_TIERS_BOTH;
    f.ctx->config.processors = MANY;
    count_on(f.device);
    fc_node a = gbin(&f.g, "a", FUSEC_F32, 2, gbd(&f.g, "n"), gbd(&f.g, "m"), 0);
    fc_node b = gbin(&f.g, "b", FUSEC_F32, 2, gbd(&f.g, "p"), gbd(&f.g, "q"), 0);
    fc_build_output(&f.g, "y", gb1(&f.g, FC_OP_exp, gb1(&f.g, FC_OP_sin, a)));
    fc_build_output(&f.g, "sums", gbred(&f.g, FC_OP_sum, gb1(&f.g, FC_OP_exp, b), 1, false));
    fc_program *p = fc_fixture_compile(&f);
    fc_tensor in[2] = {{.dtype = FUSEC_F32, .rank = 2, .shape = shape, .data = x},
                       {.dtype = FUSEC_F32, .rank = 2, .shape = shape, .data = x}};
    fc_tensor out[2] = {{.dtype = FUSEC_F32, .rank = 2, .shape = shape, .data = y},
                        {.dtype = FUSEC_F32, .rank = 1, .shape = shape, .data = sums}};
    for (int i = 0; i < 2; i++)
        FC_EXPECT_OK(fc_program_run(p, NULL, 2, in, 0, NULL, 2, out, &f.e), &f.e);
    settle();
    FC_EXPECT_EQ_U64(p->plan->steps.len, 2);
    for (int e = FC_FULL; e <= FC_QUICK; e++) {
        FC_EXPECT_EQ_U64(times(texts[e], "namespace fusec_map_sin_exp_0_space {"), 1);
        FC_EXPECT_EQ_U64(times(texts[e], "namespace fusec_inner_sum_exp_1_space {"), 1);
        FC_EXPECT_EQ_U64(times(texts[e], " fusec_map_sin_exp_0(const"), 1);
        FC_EXPECT_EQ_U64(times(texts[e], " fusec_inner_sum_exp_1(const"), 1);
        FC_EXPECT_EQ_U64(times(texts[e], one_by_one), e == FC_QUICK);
    }
    fc_fixture_close(&f, p);
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}
