/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot.c - see aot.h. */
#include "runtime/aot/aot.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "codegen/llvm/schedule/llvm_schedule.h"
#include "ir/float_state.h"
#include "runtime/cpu_bits.h"

enum { NEAR = 1 << 15, PLACE = 64 }; /* bytes of the stack for what a call works with */

/* Memory of one call: the stack's, then malloc's. */
typedef struct near_memory {
    fc_alloc alloc;
    size_t used;
    _Alignas(16) char bytes[NEAR];
} near_memory;

/* Everything stays until the call is over: blocks of an arena are not given back one by one. */
static void *near_alloc(void *user, void *p, size_t size) {
    near_memory *m = user;
    const bool ours = (char *)p >= m->bytes && (char *)p < m->bytes + NEAR;
    if (!size) {
        if (!ours) free(p);
        return NULL;
    }
    const size_t need = (size + 15) & ~(size_t)15;
    if (!p && need <= NEAR - m->used) {
        void *at = m->bytes + m->used;
        m->used += need;
        return at;
    }
    if (ours) return NULL; /* nothing of a call grows */
    return realloc(p, size);
}

/* A kernel with the sizes of the call, but for addresses and scalars. */
typedef struct step {
    const fc_aot_variant *code; /* NULL: nothing to do */
    int64_t *words;
    fc_layout layout;
    int64_t units, unit, rows;
    size_t report; /* in the scratch; SIZE_MAX: it checks nothing */
    bool brief, finish, workspace, tickets;
} step;

/* All that sizes decide. */
typedef struct plan {
    const fc_aot_def *d;
    step *steps;
    size_t *place;   /* of each buffer in the scratch */
    uint8_t *needed; /* of each input and output: it has bytes */
    size_t workspace, tickets, zero, reports, end, bytes;
} plan;

/* What a thread called last: plans of few words are kept, so that calling again with the same sizes
 * binds nothing. */
enum { KEPT_SIZES = 8, KEPT_STEPS = 4, KEPT_WORDS = 160, KEPT_BUFFERS = 16 };
typedef struct kept {
    plan p;
    uint32_t users; /* calls under way */
    int64_t sizes[KEPT_SIZES];
    step steps[KEPT_STEPS];
    int64_t words[KEPT_WORDS];
    size_t place[KEPT_BUFFERS];
    uint8_t needed[KEPT_BUFFERS];
} kept;
static _Thread_local kept last;

typedef struct call {
    const fc_aot_def *d;
    const fc_aot_level *level;
    fc_arena arena;
    int64_t *values;
    plan p;
    size_t most_workspace, most_tickets;
} call;

static int code_of(const fc_error *e) {
    return e->code == FUSEC_OUT_OF_MEMORY ? FC_AOT_NOMEM : FC_AOT_SHAPE;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static int bind_sizes(call *c, const int64_t *sizes) {
    const fc_dimtab *t = c->d->dims;
    int64_t *syms = fc_arena_alloc(&c->arena, (t->syms.len + 1) * sizeof *syms);
    c->values = fc_arena_alloc(&c->arena, (t->forms.len + 1) * sizeof *c->values);
    if (!syms || !c->values) return FC_AOT_NOMEM;
    for (size_t i = 0; i < c->d->nsizes; i++) {
        const fc_aot_size *s = &c->d->sizes[i];
        syms[s->sym] = s->given ? sizes[s->given - 1] : s->value;
        if (syms[s->sym] < 0) return FC_AOT_SHAPE;
    }
    fc_dim bad;
    if (!fc_dims_eval(t, syms, c->values, &bad)) return FC_AOT_SHAPE;
    for (size_t i = 0; i < c->d->nconditions; i++) {
        const fc_condition *x = &c->d->conditions[i];
        const int64_t a = c->values[x->a], b = c->values[x->b];
        if (x->kind == FC_CHECK_EQ ? a != b : a < b) return FC_AOT_SHAPE;
    }
    return FC_AOT_OK;
}

/* Bytes of an array; false: they can't be counted, or a size is negative. */
static bool bytes_of(const call *c, const fc_aot_array *a, size_t *out) {
    int64_t n = a->bytes;
    bool zero = false;
    for (uint32_t i = 0; i < a->rank; i++) {
        const int64_t size = c->values[a->shape[i]];
        zero |= size == 0;
        if (size < 0 || !fc_mul_ok(n, size ? size : 1, &n)) return false;
    }
    *out = zero ? 0 : (size_t)n;
    return n < INT64_MAX - PLACE;
}

static size_t take(plan *p, size_t bytes) {
    const size_t at = p->bytes;
    p->bytes += (bytes + PLACE - 1) / PLACE * PLACE;
    return at;
}

static int bind_arrays(call *c) {
    const fc_aot_def *d = c->d;
    c->p.place = fc_arena_alloc(&c->arena, (size_t)(d->nbuffers + 1) * sizeof *c->p.place);
    c->p.needed = fc_arena_alloc(&c->arena, (size_t)(d->nbuffers + 1));
    if (!c->p.place || !c->p.needed) return FC_AOT_NOMEM;
    for (size_t i = 0; i < d->nbuffers; i++) {
        size_t bytes;
        if (!bytes_of(c, &d->buffers[i], &bytes)) return FC_AOT_SHAPE;
        c->p.needed[i] = bytes > 0;
        if (i >= d->nin + d->nout) c->p.place[i] = take(&c->p, bytes);
    }
    return FC_AOT_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

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

/* The parameter block without addresses and scalars. */
static int fill_words(call *c, const fc_kernel *k, const fc_nest *nest, const fc_launch *l,
                      step *s) {
    void **none = fc_arena_alloc(&c->arena, (k->args.len + 1) * sizeof *none);
    uint64_t *zero = fc_arena_alloc(&c->arena, (k->params.len + 1) * sizeof *zero);
    s->layout = fc_layout_of((uint32_t)k->args.len, nest->np + nest->nr, (uint32_t)k->accesses.len,
                             (uint32_t)k->params.len);
    s->words = fc_arena_alloc(&c->arena, s->layout.words * sizeof *s->words);
    if (!none || !zero || !s->words) return FC_AOT_NOMEM;
    fc_nest_fill(k, nest, c->values, none, zero, s->words);
    s->words[s->layout.extra + FC_PB_SPANS] = l->spans;
    s->words[s->layout.extra + FC_PB_SPAN] = l->span;
    s->units = l->units;
    s->unit = l->unit;
    s->rows = nest->rows;
    s->brief = l->brief;
    s->finish = l->finish;
    s->workspace = l->workspace_bytes > 0;
    s->tickets = l->tickets > 0;
    if (l->workspace_bytes > c->most_workspace) c->most_workspace = l->workspace_bytes;
    if (l->tickets > c->most_tickets) c->most_tickets = l->tickets;
    return FC_AOT_OK;
}

static int bind_step(call *c, size_t i) {
    fc_error e = {0};
    fc_class cls;
    fc_nest nest;
    fc_launch launch;
    step *s = &c->p.steps[i];
    const fc_kernel *k = c->d->kernels[i];
    const fc_aot_code *code = &c->level->code[i];
    const fc_machine m = fc_aot_machine(NULL, (int)c->level->vector_bytes);
    if (fc_nest_bind(k, c->values, &c->arena, &nest, &e)) return code_of(&e);
    if (nest.empty) return FC_AOT_OK;
    if (fc_ll_schedule(&m, k, &nest, 1, &c->arena, &cls, &launch, &e)) return code_of(&e);
    for (size_t v = 0; v < code->n && !s->code; v++)
        if (fc_class_equal(&code->variants[v].cls, &cls)) s->code = &code->variants[v];
    if (!s->code) {
        s->code = &code->plain;
        if (fc_nest_bind_plain(k, c->values, &c->arena, &nest, &e) ||
            fc_ll_schedule_plain(&m, k, &nest, &c->arena, &cls, &launch, &e))
            return code_of(&e);
    }
    return fill_words(c, k, &nest, &launch, s);
}

static int bind(call *c, const int64_t *sizes) {
    const fc_aot_def *d = c->d;
    int r = c->level ? bind_sizes(c, sizes) : FC_AOT_ARG;
    if (!r) r = bind_arrays(c);
    c->p.d = d;
    c->p.steps = fc_arena_alloc(&c->arena, (size_t)(d->nkernels + 1) * sizeof *c->p.steps);
    if (!r && !c->p.steps) r = FC_AOT_NOMEM;
    for (size_t i = 0; !r && i < d->nkernels; i++) r = bind_step(c, i);
    if (r) return r;
    c->p.workspace = take(&c->p, c->most_workspace);
    c->p.zero = c->p.bytes;
    c->p.tickets = take(&c->p, 4 * c->most_tickets);
    c->p.reports = c->p.bytes;
    for (size_t i = 0; i < d->nkernels; i++) {
        c->p.steps[i].report = SIZE_MAX;
        if (d->kernels[i]->checks.len)
            c->p.steps[i].report = take(&c->p, 16 * d->kernels[i]->checks.len);
    }
    c->p.end = c->p.bytes;
    return FC_AOT_OK;
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

static void *address(const plan *p, uint32_t buffer, void *const *arrays, char *scratch) {
    return buffer < p->d->nin + p->d->nout ? arrays[buffer] : scratch + p->place[buffer];
}

/* The words are copied: a call inside of a call uses the same plan. */
static int run_step(const plan *p, size_t i, const fc_aot_env *env, void *const *arrays,
                    char *scratch) {
    int64_t few[256], *words = few;
    const step *s = &p->steps[i];
    const fc_kernel *k = p->d->kernels[i];
    const size_t size = s->layout.words * sizeof *words;
    if (size > sizeof few && !(words = malloc(size))) return FC_AOT_NOMEM;
    memcpy(words, s->words, size);
    for (size_t a = 0; a < k->args.len; a++)
        words[s->layout.args + a] =
            (int64_t)(intptr_t)address(p, k->args.at[a].buffer, arrays, scratch);
    for (size_t x = 0; x < k->params.len; x++) {
        const fc_scalar *v = &k->params.at[x];
        if (v->is_dim) continue;
        const size_t bytes = fc_dtypes[v->dtype].bytes;
        words[s->layout.params + x] = 0;
        memcpy(&words[s->layout.params + x], (const char *)arrays[v->source] + v->part * bytes,
               bytes);
    }
    int64_t *extra = words + s->layout.extra;
    if (s->workspace) extra[FC_PB_WORKSPACE] = (int64_t)(intptr_t)(scratch + p->workspace);
    if (s->tickets) extra[FC_PB_TICKETS] = (int64_t)(intptr_t)(scratch + p->tickets);
    if (s->report != SIZE_MAX) extra[FC_PB_REPORT] = (int64_t)(intptr_t)(scratch + s->report);
    run_units(env, s->code->main, words, s->units, s->unit, s->brief);
    if (s->finish) run_units(env, s->code->finish, words, s->rows, 256, s->brief);
    if (words != few) free(words);
    return FC_AOT_OK;
}

static int run(const plan *p, const fc_aot_env *env, void *const *arrays) {
    char *block = NULL, *scratch = NULL;
    int r = FC_AOT_OK;
    for (size_t i = 0; i < p->d->nin + p->d->nout; i++)
        if (p->needed[i] && !arrays[i]) return FC_AOT_ARG;
    if (p->bytes) {
        if (!(block = malloc(p->bytes + PLACE))) return FC_AOT_NOMEM;
        scratch = block + (PLACE - (uintptr_t)block % PLACE) % PLACE;
        memset(scratch + p->zero, 0, p->bytes - p->zero);
    }
    for (size_t i = 0; !r && i < p->d->nkernels; i++)
        if (p->steps[i].code) r = run_step(p, i, env, arrays, scratch);
    for (size_t i = p->reports; !r && i < p->end; i++)
        if (scratch[i]) r = FC_AOT_INDEX;
    free(block);
    return r;
}

/* ---- the last call --------------------------------------------------------------------------- */

static size_t given_sizes(const fc_aot_def *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->nsizes; i++) n += d->sizes[i].given > 0;
    return n;
}

static bool is_last(const fc_aot_def *d, const int64_t *sizes) {
    return last.p.d == d && !memcmp(last.sizes, sizes, given_sizes(d) * sizeof *sizes);
}

static void keep(const plan *p, const int64_t *sizes) {
    const fc_aot_def *d = p->d;
    size_t words = 0;
    if (given_sizes(d) > KEPT_SIZES || d->nkernels > KEPT_STEPS || d->nbuffers > KEPT_BUFFERS)
        return;
    for (size_t i = 0; i < d->nkernels; i++)
        words += p->steps[i].code ? p->steps[i].layout.words : 0;
    if (words > KEPT_WORDS) return;
    last.p = *p;
    last.p.steps = last.steps;
    last.p.place = last.place;
    last.p.needed = last.needed;
    memcpy(last.sizes, sizes, given_sizes(d) * sizeof *sizes);
    memcpy(last.place, p->place, (size_t)d->nbuffers * sizeof *p->place);
    memcpy(last.needed, p->needed, (size_t)d->nbuffers);
    words = 0;
    for (size_t i = 0; i < d->nkernels; i++) {
        last.steps[i] = p->steps[i];
        if (!p->steps[i].code) continue;
        const size_t n = p->steps[i].layout.words;
        last.steps[i].words = last.words + words;
        memcpy(last.words + words, p->steps[i].words, n * sizeof *last.words);
        words += n;
    }
}

/* From inside of parallel_for this thread may call again: then the plan stays as it is. */
static int run_last(const fc_aot_env *env, void *const *arrays) {
    last.users++;
    const int r = run(&last.p, env, arrays);
    last.users--;
    return r;
}

static int call_anew(const fc_aot_def *d, const fc_aot_env *env, const int64_t *sizes,
                     void *const *arrays) {
    near_memory memory;
    memory.alloc = (fc_alloc){.fn = near_alloc, .user = &memory};
    memory.used = 0;
    call c = {.d = d, .level = level_here(d)};
    fc_arena_init(&c.arena, &memory.alloc);
    int r = bind(&c, sizes);
    if (!r && !last.users) keep(&c.p, sizes);
    if (!r) r = run(&c.p, env, arrays);
    fc_arena_free(&c.arena);
    return r;
}

int fusec_aot_call(const fc_aot_def *d, const fc_aot_env *env, const int64_t *sizes,
                   void *const *arrays) {
    return is_last(d, sizes) ? run_last(env, arrays) : call_anew(d, env, sizes, arrays);
}
