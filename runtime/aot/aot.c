/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot.c - calls on a processor; see aot.h. */
#include "runtime/aot/bound.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "codegen/llvm/schedule/llvm_schedule.h"
#include "ir/float_state.h"
#include "runtime/cpu_bits.h"

/* Asking the processor takes up to 20 us in a virtual machine: once is enough, and twice is no
 * harm.
 */
static unsigned cpu_bits(void) {
    const unsigned known = 1u << 31;
    static atomic_uint bits;
    unsigned b = atomic_load_explicit(&bits, memory_order_relaxed);
    if (b) return b;
    b = fc_cpu_bits() | known;
    atomic_store_explicit(&bits, b, memory_order_relaxed);
    return b;
}

static const fc_aot_level *level_here(const fc_aot_def *d) {
    const unsigned here = cpu_bits();
    for (size_t i = 0; i < d->nlevels; i++)
        if (!(d->levels[i].features & ~(uint64_t)here)) return &d->levels[i];
    return NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Units of one task, as the caller's parallel_for asks for them. */
typedef struct job {
    fc_aot_fn *fn;
    const int64_t *params;
    int64_t units, unit;
} job;

static void run_task(void *arg, int64_t i) {
    const job *j = arg;
    const int64_t begin = i * j->unit;
    int64_t end = begin + j->unit;
    if (end > j->units) end = j->units;
    const uint64_t before = fc_float_enter();
    if (begin < end) j->fn(j->params, begin, end);
    fc_float_leave(before);
}

static void run_units(const fc_aot_env *env, fc_aot_fn *fn, const int64_t *params, int64_t units,
                      int64_t unit, bool brief) {
    job j = {fn, params, units, unit};
    if (env && env->parallel_for && !brief && units > unit) {
        env->parallel_for(env->ctx, fc_ceil_div(units, unit), run_task, &j);
        return;
    }
    j.unit = units;
    if (units > 0) run_task(&j, 0);
}

typedef struct arguments {
    const fc_aot_env *env;
    void *const *arrays;
} arguments;

static int run_step(const fc_aot_bound *b, size_t i, const arguments *x, char *scratch) {
    int64_t few[256], *words = few;
    const fc_aot_step *s = &b->steps[i];
    const fc_launch *l = &s->launch;
    const size_t size = s->layout.words * sizeof *words;
    if (size > sizeof few && !(words = malloc(size))) return FC_AOT_NOMEM;
    fc_aot_fill(b, i, x->arrays, scratch, words);
    run_units(x->env, s->code->main, words, l->units, l->unit, l->brief);
    if (l->finish) run_units(x->env, s->code->finish, words, s->rows, 256, l->brief);
    if (words != few) free(words);
    return FC_AOT_OK;
}

static int run(const fc_aot_bound *b, void *user) {
    const arguments *x = user;
    char *block = NULL, *scratch = NULL;
    int r = FC_AOT_OK;
    if (fc_aot_lacks(b, x->arrays)) return FC_AOT_ARG;
    if (b->bytes) {
        if (!(block = malloc(b->bytes + FC_AOT_PLACE))) return FC_AOT_NOMEM;
        scratch = block + (FC_AOT_PLACE - (uintptr_t)block % FC_AOT_PLACE) % FC_AOT_PLACE;
        memset(scratch, 0, b->zero);
    }
    for (size_t i = 0; !r && i < b->d->nkernels; i++)
        if (b->steps[i].code) r = run_step(b, i, x, scratch);
    for (size_t i = 0; !r && i < b->reports; i++)
        if (scratch[i]) r = FC_AOT_INDEX;
    free(block);
    return r;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int call_anew(const fc_aot_def *d, const int64_t *sizes, arguments *x) {
    const fc_aot_level *level = level_here(d);
    if (!level) return FC_AOT_ARG;
    const fc_machine m = fc_aot_machine(NULL, (int)level->vector_bytes);
    const fc_aot_side side = {.schedule = fc_ll_schedule,
                              .schedule_plain = fc_ll_schedule_plain,
                              .machine = &m,
                              .code = level->code,
                              .align = 1};
    return fc_aot_anew(d, &side, sizes, run, x);
}

int fusec_aot_call(const fc_aot_def *d, const fc_aot_env *env, const int64_t *sizes,
                   void *const *arrays) {
    arguments x = {env, arrays};
    return fc_aot_is_last(d, sizes, 1, 0) ? fc_aot_again(run, &x) : call_anew(d, sizes, &x);
}
