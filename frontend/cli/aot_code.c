/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_code.c - which shape classes an object has code for, and the code.
 *
 * In: a kernel and the machine of a level. Out: the classes that the schedule chooses for a grid of
 * sizes, those of most sizes first, and the one that takes any. What is asked is what the object
 * asks later, so a size of the grid always finds its class. */
#include <stdlib.h>

#include "codegen/llvm/schedule/llvm_schedule.h"
#include "frontend/cli/aot.h"
#include "frontend/cli/made_kernels.h"
#include "runtime/compile/helper.h"

/* ---- classes --------------------------------------------------------------------------------- */

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
static fusec_status find_classes(const fc_job *s, const fc_plan *p, const fc_machine *m,
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
            if (fc_ll_schedule(m, kernel, &nest, 1, arena, &cls, &launch, &unused)) continue;
            note(&of[k], &cls);
        }
    }
    return FUSEC_OK;
}

/* The class that takes all sizes follows from the kernel: those of a call are of no matter. */
static fusec_status plain_class(const fc_job *s, const fc_plan *p, const fc_kernel *k,
                                const fc_machine *m, fc_arena *arena, fc_class *cls, fc_error *e) {
    int64_t *syms = fc_arena_alloc(arena, (p->graph.dims.syms.len + 1) * sizeof *syms);
    int64_t *values = fc_arena_alloc(arena, (p->graph.dims.forms.len + 1) * sizeof *values);
    const uint64_t all = points_of(s);
    fc_nest nest;
    fc_launch launch;
    if (!syms || !values) return fc_oom(e);
    for (uint64_t i = 0; i < all && i < 1000000; i++)
        if (point(s, p, i, syms, values)) {
            FC_TRY(fc_nest_bind_plain(k, values, arena, &nest, e));
            return fc_ll_schedule_plain(m, k, &nest, arena, cls, &launch, e);
        }
    return fc_fail(e, FUSEC_USAGE, "no sizes were found that %s takes", fc_job_name(s));
}

/* ---- code ------------------------------------------------------------------------------------ */

fusec_status fc_aot_compile(fc_aot *a, const fc_str *text, const char *cpu, fc_error *e) {
    fc_llvm_options o = {.cpu = cpu, .passes = FC_LLVM_EARLY_CSE, .level = 2};
    fc_bytes object = {0};
    fusec_status s;
    if (text->oom) return fc_oom(e);
    if (a->ctx->helper) {
        s = fc_helper_llvm(a->ctx->helper, text->data, text->len, "aot", &o, &object, e);
    } else {
        if (!a->lib) FC_TRY(fc_llvm_open(a->alloc, &a->lib, e));
        s = fc_llvm_compile(a->lib, text->data, text->len, "aot", &o, &object, e);
    }
    if (s) return s;
    if (fc_push(a->alloc, &a->objects, object)) return FUSEC_OK;
    fc_bytes_free(a->alloc, &object);
    return fc_oom(e);
}

/* Emits and compiles a class under `name`, which stays; *finish: NULL where there is none. */
static fusec_status make(fc_aot *a, const fc_kernel *k, const fc_class *cls, const fc_machine *m,
                         const char *name, const char **finish, fc_error *e) {
    fc_str text, with;
    fc_str_init(&text, a->alloc);
    fc_str_init(&with, a->alloc);
    fusec_status s = fc_llvm_target.emit(m, k, cls, name, &text, e);
    fc_str_printf(&with, "@%s_finish(", name);
    *finish = NULL;
    if (!s && strstr(text.data, with.data)) {
        *finish = fc_arena_strdup(&a->arena, with.data + 1, with.len - 2);
        if (!*finish) s = fc_oom(e);
    }
    if (!s) s = fc_aot_compile(a, &text, m->cpu, e);
    fc_str_printf(&a->declarations, "declare void @%s(ptr, i64, i64)\n", name);
    if (*finish) fc_str_printf(&a->declarations, "declare void @%s(ptr, i64, i64)\n", *finish);
    fc_str_free(&text);
    fc_str_free(&with);
    return s;
}

/* A variant as it lies in memory, and what it points to. */
static void add_variant(fc_aot *a, uint32_t block, size_t at, const fc_class *cls, const char *name,
                        const char *finish) {
    const size_t moves = (size_t)cls->naccess * (cls->np + cls->nr);
    const uint32_t move = fc_image_add(&a->image, cls->move, moves + 1);
    fc_image_point(&a->image, block, at + offsetof(fc_aot_variant, cls.move), move);
    fc_image_point_symbol(&a->image, block, at + offsetof(fc_aot_variant, main), name);
    if (finish)
        fc_image_point_symbol(&a->image, block, at + offsetof(fc_aot_variant, finish), finish);
    else
        fc_image_point(&a->image, block, at + offsetof(fc_aot_variant, finish), FC_NO_BLOCK);
}

static const char *variant_name(fc_aot *a, const char *of, int level, size_t kernel,
                                size_t number) {
    fc_str s;
    fc_str_init(&s, a->alloc);
    fc_str_printf(&s, "%s_k%zu_l%d_v%zu", of, kernel, level, number);
    const char *name = s.oom ? NULL : fc_arena_strdup(&a->arena, s.data, s.len);
    fc_str_free(&s);
    return name;
}

/* What the code of a kernel is called, class by class; the last one is the plain one. */
typedef struct made {
    fc_class cls[FC_AOT_CLASSES + 1];
    const char *main[FC_AOT_CLASSES + 1], *finish[FC_AOT_CLASSES + 1];
    size_t n; /* without the plain one */
} made;

static fusec_status make_kernel(fc_aot *a, const fc_kernel *k, const fc_machine *m, int level,
                                const char *name, size_t number, made *out, fc_error *e) {
    for (size_t v = 0; v <= out->n; v++) {
        out->main[v] = variant_name(a, name, level, number, v);
        if (!out->main[v]) return fc_oom(e);
        FC_TRY(make(a, k, &out->cls[v], m, out->main[v], &out->finish[v], e));
    }
    return FUSEC_OK;
}

static void kernel_code(fc_aot *a, const made *x, uint32_t block, size_t at) {
    uint32_t variants = FC_NO_BLOCK;
    fc_str all;
    fc_str_init(&all, a->alloc);
    for (size_t v = 0; v < x->n; v++) {
        const fc_aot_variant one = {.cls = x->cls[v]};
        fc_str_addn(&all, (const char *)&one, sizeof one);
    }
    a->image.oom |= all.oom;
    if (x->n) variants = fc_image_add(&a->image, all.data, all.len);
    fc_str_free(&all);
    for (size_t v = 0; v < x->n; v++)
        add_variant(a, variants, v * sizeof(fc_aot_variant), &x->cls[v], x->main[v], x->finish[v]);
    fc_image_point(&a->image, block, at + offsetof(fc_aot_code, variants), variants);
    add_variant(a, block, at + offsetof(fc_aot_code, plain), &x->cls[x->n], x->main[x->n],
                x->finish[x->n]);
}

/* The table of all kernels, then what it points to. */
static uint32_t code_block(fc_aot *a, const made *of, size_t n) {
    fc_str all;
    fc_str_init(&all, a->alloc);
    for (size_t i = 0; i < n; i++) {
        fc_aot_code one = {.n = of[i].n};
        one.plain.cls = of[i].cls[of[i].n];
        fc_str_addn(&all, (const char *)&one, sizeof one);
    }
    a->image.oom |= all.oom;
    const uint32_t block = n ? fc_image_add(&a->image, all.data, all.len) : FC_NO_BLOCK;
    fc_str_free(&all);
    for (size_t i = 0; i < n; i++) kernel_code(a, &of[i], block, i * sizeof(fc_aot_code));
    return block;
}

fusec_status fc_aot_code_block(fc_aot *a, const fc_job *s, const fc_plan *p, int level,
                               const char *name, uint32_t *block, fc_error *e) {
    const fc_aot_target *t = &a->levels[level];
    const fc_machine m = fc_aot_machine(t->cpu, t->vector_bytes);
    fc_arena arena;
    fc_arena_init(&arena, a->alloc);
    const char *most = getenv("FUSEC_AOT_CLASSES"); /* for tests of the plain code */
    classes *of = fc_calloc(a->alloc, p->steps.len + 1, sizeof *of);
    made *out = fc_calloc(a->alloc, p->steps.len + 1, sizeof *out);
    fusec_status st = of && out ? find_classes(s, p, &m, of, &arena, e) : fc_oom(e);
    for (size_t i = 0; !st && i < p->steps.len; i++) {
        const fc_kernel *k = &p->steps.at[i]->kernel;
        qsort(of[i].at, of[i].n, sizeof *of[i].at, by_count);
        out[i].n = of[i].n < FC_AOT_CLASSES ? of[i].n : FC_AOT_CLASSES;
        if (most && !strcmp(most, "0")) out[i].n = 0;
        for (size_t v = 0; v < out[i].n; v++) out[i].cls[v] = of[i].at[v].cls;
        st = plain_class(s, p, k, &m, &arena, &out[i].cls[out[i].n], e);
        if (!st) st = make_kernel(a, k, &m, level, name, i, &out[i], e);
    }
    if (!st) *block = code_block(a, out, p->steps.len);
    fc_free(a->alloc, of);
    fc_free(a->alloc, out);
    fc_arena_free(&arena);
    return st;
}
