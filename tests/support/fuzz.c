/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz.c - see fuzz.h. */
#include "tests/support/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/support/fuzz_nvrtc.h"
#include "tests/support/fuzz_text.h"
#include "tests/support/fuzz_ways.h"

/* ---- one set of sizes ------------------------------------------------------------------------ */

typedef struct binding {
    const rg *r;
    fc_graph g;
    int input[RG_NODES];
    int64_t syms[256];
    fc_oracle o;
    fc_arrays in;
    fc_tensor *shared; /* the inputs, with one array for those of equal seed and shape */
    fc_arrays out;     /* of the first run */
} binding;

static bool one_array(const rg *r, int a, int b, const fc_tensor *x, const fc_tensor *y) {
    return r->node[a].bits == r->node[b].bits && x->dtype == y->dtype && x->rank == y->rank &&
           !memcmp(x->shape, y->shape, x->rank * sizeof x->shape[0]);
}

static void open_inputs(binding *b) {
    const void *data[RG_NODES];
    fc_oracle sizes;
    fc_oracle_sizes(&sizes, &b->g, b->syms);
    fc_arrays_for(&b->in, &b->g, &sizes, false);
    fc_oracle_free(&sizes);
    b->shared = calloc(b->in.n + 1, sizeof *b->shared);
    if (!b->shared) abort();
    for (uint32_t i = 0; i < b->in.n; i++) {
        rg_fill(b->r->node[b->input[i]].bits, &b->in.t[i]);
        b->shared[i] = b->in.t[i];
        for (uint32_t k = 0; k < i; k++)
            if (one_array(b->r, b->input[i], b->input[k], &b->in.t[i], &b->in.t[k]))
                b->shared[i].data = b->shared[k].data;
        data[i] = b->in.t[i].data;
    }
    fc_oracle_run(&b->o, &b->g, b->syms, data);
}

/* False: the builders refuse it. */
static bool open_binding(binding *b, const rg *r, fc_str *why) {
    memset(b, 0, sizeof *b);
    b->r = r;
    rg_build(r, RG_SYMBOLIC, &b->g, b->input, b->syms);
    if (b->g.error.code) {
        fc_str_printf(why, "the graph is refused: %s", b->g.error.message);
        return false;
    }
    open_inputs(b);
    return true;
}

static void close_binding(binding *b) {
    if (b->in.t) fc_arrays_free(&b->in);
    if (b->out.t) fc_arrays_free(&b->out);
    if (b->o.g) fc_oracle_free(&b->o);
    free(b->shared);
    if (b->r) fc_graph_free(&b->g);
}

/* ---- a caller with a float state of its own -------------------------------------------------- */

#if defined(__x86_64__)
enum { RUDE = 0xdfc0 }; /* rounds up, FTZ and DAZ; all exceptions masked */

unsigned fuzz_enter(bool rude) {
    unsigned before = _mm_getcsr();
    if (rude) _mm_setcsr(RUDE);
    return before;
}

/* Whether the state is still that of the caller, but for the flags of exceptions. */
bool fuzz_leave(bool rude, unsigned before) {
    bool kept = !rude || (_mm_getcsr() & ~0x3fu) == (RUDE & ~0x3fu);
    _mm_setcsr(before);
    return kept;
}
#else
unsigned fuzz_enter(bool rude) {
    (void)rude;
    return 0;
}
bool fuzz_leave(bool rude, unsigned before) {
    (void)rude, (void)before;
    return true;
}
#endif

/* ---- ways ------------------------------------------------------------------------------------ */

static fuzz_verdict failed(fc_str *why, fusec_status s, const fc_error *e) {
    fc_str_printf(why, "[%s] %s", fc_status_slug(s), e->message);
    return FUZZ_FAILED;
}

/* Runs and compares with the oracle, or with the binding's first run if there was one. */
static fuzz_verdict call(binding *b, const fc_how *how, fc_program *p, bool rude, fc_str *why) {
    fc_arrays in = {b->in.n, b->shared}, out = {0};
    fc_error e = {0};
    unsigned before = fuzz_enter(rude);
    fusec_status s = fc_rig_call(how, p, &b->g, b->syms, &in, &out, &e);
    if (!fuzz_leave(rude, before) && !s)
        s = fc_fail(&e, FUSEC_INTERNAL, "the caller's float state has changed");
    fuzz_verdict v = FUZZ_GOOD;
    if (s) {
        v = failed(why, s, &e);
    } else if (!b->out.t) {
        v = fc_judge(&b->g, &b->o, &out, why) ? FUZZ_WRONG : FUZZ_GOOD;
        b->out = out;
        return v;
    } else if (fc_differ(&b->g, &b->o, &b->out, &out, why)) {
        v = FUZZ_WRONG;
    }
    fc_arrays_free(&out);
    return v;
}

static fuzz_verdict named(fuzz_verdict v, const char *way, fc_str *why) {
    if (v) fc_str_printf(why, "\n(%s)", way);
    return v;
}

static fuzz_verdict main_way(binding *b, binding *other, const fuzz_ways *w, fc_str *why) {
    fc_how how = {.runs = w->again ? 2 : 1};
    fc_program *p = NULL;
    fc_error e = {0};
    how.ctx = fc_rig(w->device, 1, &how.device);
    if (!how.ctx) return fc_str_printf(why, "there is no device %s", w->device), FUZZ_FAILED;
    unsigned before = fuzz_enter(w->rude);
    fusec_status s = fc_rig_compile(&how, &b->g, &p, &e);
    fuzz_leave(w->rude, before);
    if (s) return named(failed(why, s, &e), w->device, why);
    fuzz_verdict v = named(call(b, &how, p, w->rude, why), w->device, why);
    if (!v && other) v = named(call(other, &how, p, w->rude, why), "other sizes", why);
    if (!v && other) v = named(call(b, &how, p, false, why), "the first sizes again", why);
    fc_program_free(p);
    return v;
}

enum { TINY_CACHE = 64 };

/* A program of its own for the binding's graph. On hosts its kernels run strip by strip where they
 * can, as if there were next to no cache. */
static fuzz_verdict another_way(binding *b, fc_how how, const char *device, int threads,
                                const char *name, fc_str *why) {
    fc_program *p = NULL;
    fc_error e = {0};
    how.ctx = fc_rig(device, threads, &how.device);
    const fc_machine machine = how.device->machine;
    if (how.device->host_memory) how.device->machine.near_cache = TINY_CACHE;
    fusec_status s = fc_rig_compile(&how, &b->g, &p, &e);
    fuzz_verdict v = named(s ? failed(why, s, &e) : call(b, &how, p, false, why), name, why);
    how.device->machine = machine;
    fc_program_free(p);
    return v;
}

/* The same recipe as another graph, whose results are those of the binding. */
static fuzz_verdict other_graph(binding *b, int form, const char *device, const char *name,
                                fc_str *why) {
    fc_graph g;
    int input[RG_NODES];
    int64_t syms[256];
    fc_arrays in = {0}, out = {0};
    fc_oracle sizes;
    fc_error e = {0};
    fc_how how = {0};
    fuzz_verdict v = FUZZ_GOOD;
    rg_build(b->r, form, &g, input, syms);
    if (g.error.code) {
        fc_str_printf(why, "the graph is refused: %s", g.error.message);
        fc_graph_free(&g);
        return named(FUZZ_REFUSED, name, why);
    }
    fc_oracle_sizes(&sizes, &g, syms);
    fc_arrays_for(&in, &g, &sizes, false);
    fc_oracle_free(&sizes);
    for (uint32_t i = 0; i < in.n; i++)
        if (form & RG_STRIDED)
            rg_spread(b->r, input[i], &b->in.t[i], &in.t[i]);
        else
            rg_fill(b->r->node[input[i]].bits, &in.t[i]);
    how.ctx = fc_rig(device, 1, &how.device);
    fusec_status s = fc_rig_run(&how, &g, syms, &in, &out, &e);
    if (s)
        v = failed(why, s, &e);
    else if (fc_differ(&b->g, &b->o, &b->out, &out, why))
        v = FUZZ_WRONG;
    if (out.t) fc_arrays_free(&out);
    fc_arrays_free(&in);
    fc_graph_free(&g);
    return named(v, name, why);
}

static fuzz_verdict run_ways(binding *b, binding *other, const fuzz_ways *w, fc_str *why) {
    fuzz_verdict v = main_way(b, other, w, why);
    fc_how plain = {0}, unfused = {.unfused = true}, cut = {.max_ops = w->max_ops};
    if (!v && w->unfused) v = another_way(b, unfused, w->device, 1, "unfused", why);
    if (!v && w->threads) v = another_way(b, plain, w->device, 3, "3 threads", why);
    if (!v && w->max_ops) v = another_way(b, cut, w->device, 1, "smaller kernels", why);
    if (!v && w->constant) v = other_graph(b, 0, w->device, "constant sizes", why);
    if (!v && w->strided)
        v = other_graph(b, RG_SYMBOLIC | RG_STRIDED, w->device, "strided inputs", why);
    if (!v && w->externs)
        v = other_graph(b, RG_SYMBOLIC | RG_EXTERN, w->device, "functions of the user", why);
    if (!v && w->compare && b->r->exact)
        v = another_way(b, plain, "interp", 1, "on the interpreter", why);
    const fuzz_case c = {b->r, &b->g, b->syms, &b->o, &b->in, &b->out};
    if (!v && w->views) v = named(fuzz_views(&c, w->device, why), "arguments with strides", why);
    if (!v && w->lazy) v = named(fuzz_lazy(&c, w->device, why), "values of no graph", why);
    if (!v && w->text && !fuzz_text_agrees(&b->g, why))
        v = named(FUZZ_FAILED, "as text", why);
    return v;
}

fuzz_verdict fuzz_try(const rg *r, const fuzz_ways *w, fc_str *why) {
    binding b, other;
    rg changed;
    bool two = w->other && rg_other(r, &changed);
    memset(&other, 0, sizeof other);
    fuzz_verdict v = open_binding(&b, r, why) ? FUZZ_GOOD : FUZZ_REFUSED;
    if (!v && !strcmp(w->device, "nvrtc"))
        v = fuzz_nvrtc(&b.g, b.syms, &b.in, why);
    else if (!v && two && !open_binding(&other, &changed, why))
        v = FUZZ_REFUSED;
    else if (!v)
        v = run_ways(&b, two ? &other : NULL, w, why);
    close_binding(&b);
    close_binding(&other);
    return v;
}

fuzz_verdict fuzz_flush(fc_str *why) {
    return fuzz_nvrtc_flush(why);
}

fuzz_verdict fuzz_try_apart(const rg *r, const fuzz_ways *w, fc_str *why) {
    int status = 0, ends[2];
    char text[4000] = "", folder[FC_RIG_PATH];
    size_t at = 0;
    if (pipe(ends)) return FUZZ_GOOD;
    fc_rig_make_folder(folder);
    pid_t pid = fork();
    if (pid == 0) {
        fc_rig_use_folder(folder);
        alarm(60);
        fuzz_verdict v = fuzz_try(r, w, why);
        if (!v) v = fuzz_flush(why);
        if (v && write(ends[1], why->data, why->len) < 0) _exit(99);
        _exit((int)v);
    }
    close(ends[1]);
    for (ssize_t n;
         at + 1 < sizeof text && (n = read(ends[0], text + at, sizeof text - 1 - at)) > 0;)
        at += (size_t)n;
    close(ends[0]);
    const bool ended = pid > 0 && waitpid(pid, &status, 0) == pid;
    fc_rig_remove_folder(folder);
    if (!ended) return FUZZ_GOOD;
    fc_str_add(why, text);
    if (WIFSIGNALED(status)) fc_str_printf(why, "ended by signal %d", WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) <= FUZZ_WRONG)
        return (fuzz_verdict)WEXITSTATUS(status);
    return FUZZ_FAILED;
}

/* ---- graphs from seeds ----------------------------------------------------------------------- */

/* Few elements and many nodes, or the other way round. */
static rg_options options_of(uint64_t seed) {
    rg_options o = {.nodes = 16, .elements = 300};
    if (seed % 4 == 0) o.elements = 4200;
    if (seed % 16 == 3) o.nodes = 64;
    if (seed % 32 == 5) o = (rg_options){.nodes = 6, .elements = 40000};
    o.exact = seed % 2;
    return o;
}

void fuzz_make(uint64_t seed, const char *device, rg *r, fuzz_ways *w) {
    fc_rng rng = {seed};
    rg_options o = options_of(fc_random(&rng));
    rg_make(r, &rng, &o);
    uint64_t which = fc_random(&rng);
    bool all = !strcmp(device, "interp");
    *w = (fuzz_ways){.device = device, .again = true, .other = true, .compare = !all};
    w->unfused = all || which % 3 == 0;
    w->threads = all ? which % 2 : which % 3 == 1;
    w->strided = all || which % 3 == 2;
    w->externs = all || which % 9 == 4;
    w->constant = all || which / 3 % 2;
    w->text = which / 6 % 4 == 0;
    w->rude = which / 2000 % 8 == 0;
    w->views = strcmp(device, "cuda") != 0 && (all || which / 16000 % 2);
    w->lazy = strcmp(device, "cuda") != 0 && (all || which / 32000 % 2);
    if (which / 24 % 6 == 0) w->max_ops = 1 + (uint32_t)(which / 144 % 12);
    if (strcmp(device, "cuda") != 0) return;
    /* each new kernel costs NVRTC 50 ms, and what these ways add is the same on all targets */
    w->unfused = w->unfused && which / 5000 % 4 == 0;
    w->strided = w->strided && which / 5000 % 2 == 0;
    if (which / 5000 % 3) w->max_ops = 0;
}

typedef struct shrink {
    fuzz_ways *w;
    fuzz_verdict verdict;
    bool apart;
} shrink;

static bool still(const rg *r, void *arg) {
    const shrink *s = arg;
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    fuzz_verdict v = s->apart ? fuzz_try_apart(r, s->w, &why) : fuzz_try(r, s->w, &why);
    if (!s->apart && !v) v = fuzz_flush(&why);
    fc_str_free(&why);
    return v == s->verdict;
}

void fuzz_shrink(rg *r, fuzz_ways *w, fuzz_verdict v, bool apart, int tries) {
    shrink s = {w, v, apart};
    bool *flags[] = {&w->again,   &w->rude,    &w->other, &w->unfused, &w->constant, &w->threads,
                     &w->strided, &w->compare, &w->text,  &w->views,   &w->lazy,     &w->externs};
    for (size_t i = 0; i < FC_COUNT(flags); i++) { /* the ways first: each costs time */
        bool was = *flags[i];
        *flags[i] = false;
        if (was && !still(r, &s)) *flags[i] = true;
    }
    uint32_t max_ops = w->max_ops;
    w->max_ops = 0;
    if (max_ops && !still(r, &s)) w->max_ops = max_ops;
    rg_shrink(r, still, &s, tries);
}
