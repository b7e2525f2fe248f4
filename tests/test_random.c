/* test_random.c - random graphs: the devices against the oracle, fused against unfused, constant
 * against symbolic sizes, one thread against several, a first run against the next, and devices
 * against each other.
 *
 * Every campaign prints nothing unless it fails; then it prints the seed of the graph, what
 * differs, and the graph shrunk to the smallest one that still fails. FUSEC_FUZZ_SEED sets the seed
 * of the fresh campaigns, FUSEC_FUZZ_COUNT the number of graphs of all of them. With
 * FUSEC_FUZZ_FORK every graph runs in a child process, so that a crash can be shrunk, too. */
#include "tests/support/random_graph.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct checks { /* what one graph is put through */
    const char *device;
    bool unfused, constant, threads;
    bool compare; /* with the interpreter */
} checks;

/* ---- one graph
 * ------------------------------------------------------------------------------------------ */

typedef struct trial {
    const rg *r;
    fc_graph g, fixed; /* symbolic and constant sizes */
    int64_t syms[256], none[256];
    fc_oracle o;
    fc_arrays in;
    bool tainted;
} trial;

static void open_trial(trial *t, const rg *r) {
    int input[RG_NODES];
    const void *data[RG_NODES];
    fc_oracle sizes;
    memset(t, 0, sizeof *t);
    t->r = r;
    rg_build(r, true, &t->g, input, t->syms);
    rg_build(r, false, &t->fixed, input, t->none);
    if (t->g.error.code || t->fixed.error.code) return;
    fc_oracle_sizes(&sizes, &t->g, t->syms);
    fc_arrays_for(&t->in, &t->g, &sizes, false);
    for (uint32_t i = 0; i < t->in.n; i++) {
        rg_fill(r, input[i], &t->in.t[i]);
        data[i] = t->in.t[i].data;
    }
    fc_oracle_run(&t->o, &t->g, t->syms, data);
    fc_oracle_free(&sizes);
}

static void close_trial(trial *t) {
    fc_arrays_free(&t->in);
    if (t->o.g) fc_oracle_free(&t->o);
    fc_graph_free(&t->g);
    fc_graph_free(&t->fixed);
}

/* Runs one way and compares with `first` (or, for the first, with the oracle). */
static bool one_way(trial *t, const char *device, int threads, bool unfused, bool constant,
                    fc_arrays *first, fc_str *why) {
    fc_how how = {.unfused = unfused, .runs = first->t ? 1 : 2};
    fc_arrays out;
    fc_error e = {0};
    how.ctx = fc_rig(device, threads, &how.device);
    const fc_graph *g = constant ? &t->fixed : &t->g;
    fusec_status s = fc_rig_run(&how, g, constant ? t->none : t->syms, &t->in, &out, &e);
    bool bad = s != FUSEC_OK;
    if (bad) fc_str_printf(why, "[%s] %s", fc_status_slug(s), e.message);
    if (!bad && !first->t) bad = fc_judge(&t->g, &t->o, &out, why);
    if (!bad && first->t) bad = fc_differ(&t->g, &t->o, first, &out, why);
    if (bad)
        fc_str_printf(why, "\n(%s, %d thread%s%s%s%s)", device, threads, threads == 1 ? "" : "s",
                      unfused ? ", unfused" : "", constant ? ", constant sizes" : "",
                      first->t ? ", against the first run" : "");
    if (first->t)
        fc_arrays_free(&out);
    else
        *first = out;
    return bad;
}

static bool fails(const rg *r, const checks *c, fc_str *why) {
    trial t;
    fc_arrays first = {0};
    bool bad = false;
    open_trial(&t, r);
    if (t.g.error.code || t.fixed.error.code) {
        fc_str_printf(why, "the graph is refused: %s%s", t.g.error.message, t.fixed.error.message);
        bad = true;
    }
    bad = bad || one_way(&t, c->device, 1, false, false, &first, why);
    if (c->unfused) bad = bad || one_way(&t, c->device, 1, true, false, &first, why);
    if (c->constant) bad = bad || one_way(&t, c->device, 1, false, true, &first, why);
    if (c->threads) bad = bad || one_way(&t, c->device, 3, false, false, &first, why);
    if (c->compare && r->exact) bad = bad || one_way(&t, "interp", 1, false, false, &first, why);
    if (first.t) fc_arrays_free(&first);
    close_trial(&t);
    return bad;
}

/* In a child process, which may crash or hang. */
static bool fails_apart(const rg *r, const checks *c, fc_str *why) {
    int status = 0, ends[2];
    char text[4000] = "";
    if (pipe(ends)) return false;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        bool bad = fails(r, c, why);
        if (bad && write(ends[1], why->data, why->len) < 0) _exit(2);
        _exit(bad);
    }
    close(ends[1]);
    for (ssize_t n, at = 0; (n = read(ends[0], text + at, sizeof text - 1 - (size_t)at)) > 0;)
        at += n;
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0) return false;
    fc_str_add(why, text);
    if (WIFSIGNALED(status)) fc_str_printf(why, "ended by signal %d", WTERMSIG(status));
    return status != 0;
}

static bool find_failure(const rg *r, const checks *c, fc_str *why) {
    return getenv("FUSEC_FUZZ_FORK") ? fails_apart(r, c, why) : fails(r, c, why);
}

static bool still_fails(const rg *r, void *arg) {
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    bool bad = find_failure(r, arg, &why);
    fc_str_free(&why);
    return bad;
}

static void report(rg *r, const checks *c, uint64_t seed) {
    fc_graph g;
    int input[RG_NODES];
    int64_t syms[256];
    fc_str why, text;
    fc_str_init(&why, &fc_libc_alloc);
    fc_str_init(&text, &fc_libc_alloc);
    rg_shrink(r, still_fails, (void *)(uintptr_t)c, 400);
    find_failure(r, c, &why);
    rg_build(r, true, &g, input, syms);
    fc_graph_print(&g, &text);
    for (int i = 0; i < RG_NAMES; i++)
        fc_str_printf(&text, "%c = %lld ", "nmkp"[i], (long long)r -> name[i]);
    FC_FAIL("seed %llu: %s\n%s", (unsigned long long)seed, why.data, text.data);
    fc_graph_free(&g);
    fc_str_free(&why);
    fc_str_free(&text);
}

/* ---- campaigns
 * -------------------------------------------------------------------------------------------- */

typedef struct campaign {
    const char *device, *name;
    int count, fresh_count; /* graphs */
} campaign;

/* Few elements and many nodes, or the other way round. */
static rg_options options_of(uint64_t seed) {
    rg_options o = {.nodes = 16, .elements = 300};
    if (seed % 4 == 0) o.elements = 4200;
    if (seed % 16 == 3) o.nodes = 64;
    if (seed % 32 == 5) o = (rg_options){.nodes = 6, .elements = 40000};
    o.exact = seed % 2;
    return o;
}

static void run_seed(const campaign *c, uint64_t seed) {
    fc_rng rng = {seed};
    rg_options o = options_of(fc_random(&rng));
    rg r;
    rg_make(&r, &rng, &o);
    uint64_t which = fc_random(&rng);
    bool interp = !strcmp(c->device, "interp");
    checks k = {.device = c->device};
    k.unfused = interp || which % 3 == 0;
    k.constant = interp || which % 3 == 1;
    k.threads = interp ? which % 2 : which % 3 == 2;
    k.compare = !interp;
    if (still_fails(&r, &k)) report(&r, &k, seed);
}

static int wanted_count(int usual) {
    const char *n = getenv("FUSEC_FUZZ_COUNT");
    return n ? atoi(n) : usual;
}

static void run_campaign(const campaign *c, uint64_t seed, int count) {
    fc_device *d;
    if (!fc_rig(c->device, 1, &d)) FC_SKIP("there is no device %s", c->device);
    printf("%s: %d graphs from seed %llu\n", c->device, count, (unsigned long long)seed);
    fflush(stdout); /* a crash must not take it along */
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < count && !fc_test_has_failed(); i++) run_seed(c, seed + (uint64_t)i);
    clock_gettime(CLOCK_MONOTONIC, &b);
    double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    printf("%s: %.0f graphs a minute\n", c->device, 60 * count / s);
}

static void run_fixed(void *arg) {
    const campaign *c = arg;
    run_campaign(c, 1, wanted_count(c->count));
}

static void run_fresh(void *arg) {
    const campaign *c = arg;
    const char *given = getenv("FUSEC_FUZZ_SEED");
    uint64_t seed =
        given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    run_campaign(c, seed, wanted_count(c->fresh_count));
}

static const campaign campaigns[] = {
    {"interp", "interp", 8000, 5000},
    {"cpu", "cpu", 800, 400},
    {"cuda", "cuda", 800, 400},
};

FC_REGISTER(campaigns) {
    for (size_t i = 0; i < FC_COUNT(campaigns); i++) {
        char name[64];
        snprintf(name, sizeof name, "fixed_seed_%s", campaigns[i].name);
        FC_ADD_TEST("random_graphs", name, run_fixed, &campaigns[i]);
        snprintf(name, sizeof name, "fresh_seed_%s", campaigns[i].name);
        FC_ADD_TEST("random_graphs", name, run_fresh, &campaigns[i]);
    }
}
