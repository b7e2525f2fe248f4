/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_classes.c - which shape classes an object has code for.
 *
 * In: a plan and the machine of a level or of a GPU. Out: the classes that the schedule chooses for
 * a grid of sizes, those of most sizes first, and the one that takes any. What is asked is what the
 * object asks later, so a size of the grid always finds its class. */
#include <stdlib.h>

#include "frontend/cli/aot.h"
#include "frontend/cli/made_kernels.h"

/* Around what schedules look at: vectors, lanes, chunks, tasks, caches. */
static const int64_t grid[] = {
    1,     2,     3,     4,     5,      7,      8,      12,      16,      17,
    24,    31,    32,    33,    48,     63,     64,     65,      96,      100,
    127,   128,   129,   200,   256,    257,    300,    500,     512,     768,
    1000,  1023,  1024,  1025,  2048,   3000,   4096,   5000,    8192,    10000,
    16384, 20000, 32768, 65536, 100000, 131072, 500000, 1000000, 1 << 22, 10000000};

const int64_t *fc_size_grid(size_t *n) {
    *n = FC_COUNT(grid);
    return grid;
}

enum { POINTS = 12000, SEEN = 256 };
#define MOST_ELEMENTS ((int64_t)1 << 33)

typedef struct seen {
    fc_class cls;
    uint64_t count;
    size_t order;
} seen;

typedef struct classes {
    seen at[SEEN];
    size_t n;
} classes;

static void note(classes *c, const fc_class *cls) {
    for (size_t i = 0; i < c->n; i++)
        if (fc_class_equal(&c->at[i].cls, cls)) {
            c->at[i].count++;
            return;
        }
    if (c->n == SEEN) return;
    c->at[c->n] = (seen){.cls = *cls, .count = 1, .order = c->n};
    c->n++;
}

static int by_count(const void *a, const void *b) {
    const seen *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->order < y->order ? -1 : 1;
}

/* The values of all dims at a point of the grid; false: it is no call. */
static bool point(const fc_job *s, const fc_plan *p, uint64_t number, int64_t *syms,
                  int64_t *values) {
    const fc_graph *g = &p->graph;
    fc_dim bad;
    for (size_t i = 0; i < g->dims.syms.len; i++) {
        if (g->dims.syms.at[i].kind != FC_SYM_NAMED) continue;
        if (fc_job_static(s, g->dims.syms.at[i].name, &syms[i])) continue;
        syms[i] = grid[number % FC_COUNT(grid)];
        number /= FC_COUNT(grid);
    }
    if (!fc_dims_eval(&g->dims, syms, values, &bad)) return false;
    for (size_t i = 0; i < g->conditions.len; i++) {
        const fc_condition *x = &g->conditions.at[i];
        if (x->kind == FC_CHECK_EQ ? values[x->a] != values[x->b] : values[x->a] < values[x->b])
            return false;
    }
    for (size_t i = 0; i < p->buffers.len; i++) {
        int64_t n = 1;
        for (uint32_t k = 0; k < fc_rank(g, p->buffers.at[i].node); k++) {
            const int64_t size = values[fc_axis(g, p->buffers.at[i].node, k)];
            if (size < 0 || !fc_mul_ok(n, size, &n)) return false;
        }
        if (n > MOST_ELEMENTS) return false;
    }
    return true;
}

static uint64_t points_of(const fc_job *s) {
    uint64_t n = 1;
    for (uint32_t k = fc_aot_sizes(s, NULL, 0); k > 0 && n < (uint64_t)1 << 50; k--)
        n *= FC_COUNT(grid);
    return n;
}

/* Classes of all kernels for the grid, thinned out by an odd step where it has too many points. */
static fusec_status find_classes(const fc_job *s, const fc_plan *p, const fc_aot_machine_of *x,
                                 classes *of, fc_arena *arena, fc_error *e) {
    const uint64_t all = points_of(s), step = all > POINTS ? (all / POINTS) | 1 : 1;
    int64_t *syms = fc_arena_alloc(arena, (p->graph.dims.syms.len + 1) * sizeof *syms);
    int64_t *values = fc_arena_alloc(arena, (p->graph.dims.forms.len + 1) * sizeof *values);
    if (!syms || !values) return fc_oom(e);
    for (uint64_t i = 0; i < all; i += step) {
        if (!point(s, p, i, syms, values)) continue;
        for (size_t k = 0; k < p->steps.len; k++) {
            const fc_kernel *kernel = &p->steps.at[k]->kernel;
            fc_error unused = {0};
            fc_nest nest;
            fc_class cls;
            fc_launch launch;
            if (fc_nest_bind(kernel, values, arena, &nest, &unused) || nest.empty) continue;
            if (x->target->schedule(x->machine, kernel, &nest, x->align, arena, &cls, &launch,
                                    &unused))
                continue;
            note(&of[k], &cls);
        }
    }
    return FUSEC_OK;
}

/* The class that takes all sizes follows from the kernel: those of a call are of no matter. */
static fusec_status plain_class(const fc_job *s, const fc_plan *p, const fc_kernel *k,
                                const fc_aot_machine_of *x, fc_arena *arena, fc_class *cls,
                                fc_error *e) {
    int64_t *syms = fc_arena_alloc(arena, (p->graph.dims.syms.len + 1) * sizeof *syms);
    int64_t *values = fc_arena_alloc(arena, (p->graph.dims.forms.len + 1) * sizeof *values);
    const uint64_t all = points_of(s);
    fc_nest nest;
    fc_launch launch;
    if (!syms || !values) return fc_oom(e);
    for (uint64_t i = 0; i < all && i < 1000000; i++)
        if (point(s, p, i, syms, values)) {
            FC_TRY(fc_nest_bind_plain(k, values, arena, &nest, e));
            return x->target->schedule_plain(x->machine, k, &nest, arena, cls, &launch, e);
        }
    return fc_fail(e, FUSEC_USAGE, "no sizes were found that %s takes", fc_job_name(s));
}

/* FUSEC_AOT_CLASSES, for tests, says how many there may be. */
static size_t most_classes(void) {
    const char *text = getenv("FUSEC_AOT_CLASSES");
    const long n = text ? strtol(text, NULL, 10) : FC_AOT_CLASSES;
    return n >= 0 && n < FC_AOT_CLASSES ? (size_t)n : FC_AOT_CLASSES;
}

fusec_status fc_aot_choose(fc_aot *a, const fc_job *s, const fc_plan *p, const fc_aot_machine_of *x,
                           fc_aot_choice *out, fc_error *e) {
    classes *of = fc_calloc(a->alloc, p->steps.len + 1, sizeof *of);
    fusec_status st = of ? find_classes(s, p, x, of, &a->arena, e) : fc_oom(e);
    for (size_t i = 0; !st && i < p->steps.len; i++) {
        qsort(of[i].at, of[i].n, sizeof *of[i].at, by_count);
        out[i].n = of[i].n < most_classes() ? of[i].n : most_classes();
        for (size_t v = 0; v < out[i].n; v++) out[i].cls[v] = of[i].at[v].cls;
        st = plain_class(s, p, &p->steps.at[i]->kernel, x, &a->arena, &out[i].cls[out[i].n], e);
    }
    fc_free(a->alloc, of);
    return st;
}
