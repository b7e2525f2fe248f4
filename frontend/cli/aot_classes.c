/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_classes.c - which shape classes an object has code for.
 *
 * In: a plan and the machine of a level or of a GPU. Out: of the classes that the schedule chooses
 * for a grid of sizes those that save the most, and the one that takes any. What is asked is what
 * the object asks later.
 *
 * What is saved: at a size its own class runs at full speed, one that stands in for it
 * (fc_class_stands_in) at almost that, the one that takes any at PLAIN of it. Sizes count alike, as
 * a user has some of them, but for those at which most of a call is its launch. Classes are taken
 * one after the other, each time the one that saves most, next to those that are taken, for the
 * length of its text. */
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
enum { CUDA_TEXT = 150000, LLVM_TEXT = 200000 }; /* characters of the texts of a kernel's classes */
#define EQUAL         1.0
#define STAND_IN      0.97
#define WIDE          0.9 /* indices of 64 bits where 32 do */
#define PLAIN         0.5
#define LEAST         0.0005 /* of all that could be saved: less is not worth a class */
#define MOST_ELEMENTS ((int64_t)1 << 33)

typedef struct seen {
    fc_class cls;
    double weight; /* of the sizes that have it */
    double speed;  /* with the classes that are taken */
    size_t length; /* of its text */
} seen;

typedef struct classes {
    seen at[SEEN];
    size_t n;
} classes;

static void note(classes *c, const fc_class *cls, double weight) {
    for (size_t i = 0; i < c->n; i++)
        if (fc_class_equal(&c->at[i].cls, cls)) {
            c->at[i].weight += weight;
            return;
        }
    if (c->n == SEEN) return;
    c->at[c->n] = (seen){.cls = *cls, .weight = weight, .speed = PLAIN};
    c->n++;
}

/* At what speed code of class `a` does what has class `b`; 0: it can't. */
static double speed_by(const fc_class *a, const fc_class *b) {
    if (fc_class_equal(a, b)) return EQUAL;
    if (!fc_class_stands_in(a, b)) return 0;
    return a->wide == b->wide ? STAND_IN : WIDE;
}

static double saved_by(const classes *c, const fc_class *cls) {
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double speed = speed_by(cls, &c->at[i].cls);
        if (speed > c->at[i].speed) sum += c->at[i].weight * (speed - c->at[i].speed);
    }
    return sum;
}

static void taken(classes *c, const fc_class *cls) {
    for (size_t i = 0; i < c->n; i++) {
        const double speed = speed_by(cls, &c->at[i].cls);
        if (speed > c->at[i].speed) c->at[i].speed = speed;
    }
}

/* Takes up to `most` classes, whose texts have so many characters. Of equal ones the first. */
static size_t take(classes *c, size_t most, size_t room, fc_class *out) {
    double all = 0;
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) all += c->at[i].weight * (EQUAL - PLAIN);
    while (n < most) {
        const seen *best = NULL;
        double most_saved = 0;
        for (size_t i = 0; i < c->n; i++) {
            const seen *x = &c->at[i];
            const double saved = x->length <= room ? saved_by(c, &x->cls) : 0;
            if (saved <= all * LEAST || saved / (double)x->length <= most_saved) continue;
            most_saved = saved / (double)x->length;
            best = x;
        }
        if (!best) break;
        room -= best->length;
        out[n++] = best->cls;
        taken(c, &best->cls);
    }
    return n;
}

static fusec_status measure_texts(const fc_aot_machine_of *x, const fc_kernel *k, classes *c,
                                  const fc_alloc *alloc, fc_error *e) {
    fusec_status st = FUSEC_OK;
    fc_str text;
    fc_str_init(&text, alloc);
    for (size_t i = 0; !st && i < c->n; i++) {
        fc_error why = {0};
        text.len = 0;
        st = x->target->emit(x->machine, k, &c->at[i].cls, "length", &text, &why);
        c->at[i].length = st ? SIZE_MAX : text.len + 1; /* what has no text is not taken */
        st = st == FUSEC_OUT_OF_MEMORY || text.oom ? fc_oom(e) : FUSEC_OK;
    }
    fc_str_free(&text);
    return st;
}

/* What a launch takes, in bytes that are moved meanwhile. */
static double weight_of(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    const double launch = m->target == FC_TARGET_CUDA ? 10e6 : 0,
                 bytes = fc_nest_bytes(k, n, true) + 1;
    return bytes / (bytes + launch);
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
            note(&of[k], &cls, weight_of(x->machine, kernel, &nest));
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
            FC_TRY(fc_nest_bind_plain(k, values, NULL, arena, &nest, e));
            return x->target->schedule_plain(x->machine, k, &nest, arena, cls, &launch, e);
        }
    return fc_fail(e, FUSEC_USAGE, "no sizes were found that %s takes", fc_job_name(s));
}

/* FUSEC_AOT_CLASSES, for tests, says how many there may be. */
static size_t most_classes(void) {
    const char *text = getenv("FUSEC_AOT_CLASSES");
    const long n = text && *text ? strtol(text, NULL, 10) : FC_AOT_CLASSES;
    return n >= 0 && n < FC_AOT_CLASSES ? (size_t)n : FC_AOT_CLASSES;
}

fusec_status fc_aot_choose(fc_aot *a, const fc_job *s, const fc_plan *p, const fc_aot_machine_of *x,
                           fc_aot_choice *out, fc_error *e) {
    classes *of = fc_calloc(a->alloc, p->steps.len + 1, sizeof *of);
    fusec_status st = of ? find_classes(s, p, x, of, &a->arena, e) : fc_oom(e);
    for (size_t i = 0; !st && i < p->steps.len; i++) {
        const fc_kernel *k = &p->steps.at[i]->kernel;
        st = measure_texts(x, k, &of[i], a->alloc, e);
        if (st) break;
        out[i].n = take(&of[i], most_classes(),
                        x->target == &fc_cuda_target ? CUDA_TEXT : LLVM_TEXT, out[i].cls);
        st = plain_class(s, p, k, x, &a->arena, &out[i].cls[out[i].n], e);
    }
    fc_free(a->alloc, of);
    return st;
}
