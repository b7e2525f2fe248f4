/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bound.c - see bound.h. */
#include "runtime/aot/bound.h"

#include <stdlib.h>

enum { NEAR = 1 << 15 }; /* bytes of the stack for what a call works with */

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

/* What a thread called last: what has few words is kept, so that calling again with the same sizes
 * binds nothing. */
enum { KEPT_SIZES = 8, KEPT_STEPS = 4, KEPT_WORDS = 160, KEPT_BUFFERS = 16 };
typedef struct kept {
    fc_aot_bound b;
    uint32_t users; /* calls under way */
    uint32_t align;
    uint64_t id;
    int64_t sizes[KEPT_SIZES];
    fc_aot_step steps[KEPT_STEPS];
    int64_t words[KEPT_WORDS];
    size_t place[KEPT_BUFFERS];
    uint8_t needed[KEPT_BUFFERS];
} kept;
static _Thread_local kept last;

typedef struct call {
    const fc_aot_def *d;
    const fc_aot_side *side;
    fc_arena arena;
    int64_t *values;
    fc_aot_bound b;
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
    return n < INT64_MAX - FC_AOT_PLACE;
}

static size_t take(fc_aot_bound *b, size_t bytes) {
    const size_t at = b->bytes;
    b->bytes += (bytes + FC_AOT_PLACE - 1) / FC_AOT_PLACE * FC_AOT_PLACE;
    return at;
}

static int bind_arrays(call *c) {
    const fc_aot_def *d = c->d;
    c->b.place = fc_arena_alloc(&c->arena, (size_t)(d->nbuffers + 1) * sizeof *c->b.place);
    c->b.needed = fc_arena_alloc(&c->arena, (size_t)(d->nbuffers + 1));
    if (!c->b.place || !c->b.needed) return FC_AOT_NOMEM;
    for (size_t i = 0; i < d->nbuffers; i++) {
        size_t bytes;
        if (!bytes_of(c, &d->buffers[i], &bytes)) return FC_AOT_SHAPE;
        c->b.needed[i] = bytes > 0;
        if (i >= d->nin + d->nout) c->b.place[i] = take(&c->b, bytes);
    }
    return FC_AOT_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The parameter block without addresses and scalars. */
static int fill_words(call *c, const fc_kernel *k, const fc_nest *nest, fc_aot_step *s) {
    void **none = fc_arena_alloc(&c->arena, (k->args.len + 1) * sizeof *none);
    uint64_t *zero = fc_arena_alloc(&c->arena, (k->params.len + 1) * sizeof *zero);
    s->layout = fc_layout_of((uint32_t)k->args.len, nest->np + nest->nr, (uint32_t)k->accesses.len,
                             (uint32_t)k->params.len);
    s->words = fc_arena_alloc(&c->arena, s->layout.words * sizeof *s->words);
    if (!none || !zero || !s->words) return FC_AOT_NOMEM;
    fc_nest_fill(k, nest, c->values, none, zero, s->words);
    s->words[s->layout.extra + FC_PB_SPANS] = s->launch.spans;
    s->words[s->layout.extra + FC_PB_SPAN] = s->launch.span;
    s->rows = nest->rows;
    if (s->launch.workspace_bytes > c->most_workspace)
        c->most_workspace = s->launch.workspace_bytes;
    if (s->launch.tickets > c->most_tickets) c->most_tickets = s->launch.tickets;
    return FC_AOT_OK;
}

/* The code of the class, or of one that does as well, rather with indices of the same width; else
 * none. */
static void find_code(const fc_aot_code *code, const fc_class *cls, fc_aot_step *s) {
    unsigned blocks = 1;
    for (size_t v = 0; v < code->n; v++) {
        const fc_class *x = &code->variants[v].cls;
        const bool equal = fc_class_equal(x, cls),
                   better = !s->code || (s->code->cls.wide != cls->wide && x->wide == cls->wide);
        const unsigned more = equal ? 1 : better ? fc_class_stands_in(x, cls) : 0;
        if (!more) continue;
        s->code = &code->variants[v];
        s->number = code->first + v;
        blocks = more;
        if (equal) break;
    }
    s->launch.grid[0] *= blocks;
}

static int bind_step(call *c, size_t i) {
    fc_error e = {0};
    fc_class cls;
    fc_nest nest;
    fc_aot_step *s = &c->b.steps[i];
    const fc_aot_side *side = c->side;
    const fc_kernel *k = c->d->kernels[i];
    const fc_aot_code *code = &side->code[i];
    s->report = SIZE_MAX;
    if (fc_nest_bind(k, c->values, &c->arena, &nest, &e)) return code_of(&e);
    if (nest.empty) return FC_AOT_OK;
    if (side->schedule(side->machine, k, &nest, side->align, &c->arena, &cls, &s->launch, &e))
        return code_of(&e);
    find_code(code, &cls, s);
    if (!s->code) {
        s->code = &code->plain;
        s->number = code->first + code->n;
        if (fc_nest_bind_plain(k, c->values, NULL, &c->arena, &nest, &e) ||
            side->schedule_plain(side->machine, k, &nest, &c->arena, &cls, &s->launch, &e))
            return code_of(&e);
    }
    return fill_words(c, k, &nest, s);
}

/* Those of all kernels, before everything else. */
static void place_reports(call *c) {
    for (size_t i = 0; i < c->d->nkernels; i++) {
        const size_t checks = c->d->kernels[i]->checks.len;
        if (!checks) continue;
        c->b.steps[i].report = c->b.reports;
        c->b.reports += 16 * checks;
    }
    (void)take(&c->b, c->b.reports);
}

static int bind(call *c, const int64_t *sizes) {
    const fc_aot_def *d = c->d;
    int r = bind_sizes(c, sizes);
    c->b.d = d;
    c->b.steps = fc_arena_alloc(&c->arena, (size_t)(d->nkernels + 1) * sizeof *c->b.steps);
    if (!r && !c->b.steps) r = FC_AOT_NOMEM;
    for (size_t i = 0; !r && i < d->nkernels; i++) r = bind_step(c, i);
    if (r) return r;
    place_reports(c);
    c->b.tickets = take(&c->b, 4 * c->most_tickets);
    c->b.zero = c->b.bytes;
    c->b.workspace = take(&c->b, c->most_workspace);
    return bind_arrays(c);
}

/* ---- running --------------------------------------------------------------------------------- */

static void *address(const fc_aot_bound *b, uint32_t buffer, void *const *arrays, char *scratch) {
    return buffer < b->d->nin + b->d->nout ? arrays[buffer] : scratch + b->place[buffer];
}

/* The words are copied: a call inside of a call uses the same ones. */
void fc_aot_fill(const fc_aot_bound *b, size_t i, void *const *arrays, char *scratch,
                 int64_t *words) {
    const fc_aot_step *s = &b->steps[i];
    const fc_kernel *k = b->d->kernels[i];
    memcpy(words, s->words, s->layout.words * sizeof *words);
    for (size_t a = 0; a < k->args.len; a++)
        words[s->layout.args + a] =
            (int64_t)(intptr_t)address(b, k->args.at[a].buffer, arrays, scratch);
    for (size_t x = 0; x < k->params.len; x++) {
        const fc_scalar *v = &k->params.at[x];
        if (v->is_dim) continue;
        const size_t bytes = fc_dtypes[v->dtype].bytes;
        words[s->layout.params + x] = 0;
        memcpy(&words[s->layout.params + x], (const char *)arrays[v->source] + v->part * bytes,
               bytes);
    }
    int64_t *extra = words + s->layout.extra;
    if (s->launch.workspace_bytes)
        extra[FC_PB_WORKSPACE] = (int64_t)(intptr_t)(scratch + b->workspace);
    if (s->launch.tickets) extra[FC_PB_TICKETS] = (int64_t)(intptr_t)(scratch + b->tickets);
    if (s->report != SIZE_MAX) extra[FC_PB_REPORT] = (int64_t)(intptr_t)(scratch + s->report);
}

bool fc_aot_lacks(const fc_aot_bound *b, void *const *arrays) {
    for (size_t i = 0; i < b->d->nin + b->d->nout; i++)
        if (b->needed[i] && !arrays[i]) return true;
    return false;
}

/* ---- the last call --------------------------------------------------------------------------- */

static size_t given_sizes(const fc_aot_def *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->nsizes; i++) n += d->sizes[i].given > 0;
    return n;
}

bool fc_aot_is_last(const fc_aot_def *d, const int64_t *sizes, uint32_t align, uint64_t id) {
    return last.b.d == d && last.align == align && last.id == id &&
           !memcmp(last.sizes, sizes, given_sizes(d) * sizeof *sizes);
}

static void keep(const fc_aot_bound *b, const fc_aot_side *side, const int64_t *sizes) {
    const fc_aot_def *d = b->d;
    size_t words = 0;
    if (given_sizes(d) > KEPT_SIZES || d->nkernels > KEPT_STEPS || d->nbuffers > KEPT_BUFFERS)
        return;
    for (size_t i = 0; i < d->nkernels; i++)
        words += b->steps[i].code ? b->steps[i].layout.words : 0;
    if (words > KEPT_WORDS) return;
    last.b = *b;
    last.align = side->align;
    last.id = side->id;
    last.b.steps = last.steps;
    last.b.place = last.place;
    last.b.needed = last.needed;
    memcpy(last.sizes, sizes, given_sizes(d) * sizeof *sizes);
    memcpy(last.place, b->place, (size_t)d->nbuffers * sizeof *b->place);
    memcpy(last.needed, b->needed, (size_t)d->nbuffers);
    words = 0;
    for (size_t i = 0; i < d->nkernels; i++) {
        last.steps[i] = b->steps[i];
        if (!b->steps[i].code) continue;
        const size_t n = b->steps[i].layout.words;
        last.steps[i].words = last.words + words;
        memcpy(last.words + words, b->steps[i].words, n * sizeof *last.words);
        words += n;
    }
}

/* From inside of parallel_for this thread may call again: then what is kept stays as it is. */
int fc_aot_again(fc_aot_run *run, void *user) {
    last.users++;
    const int r = run(&last.b, user);
    last.users--;
    return r;
}

int fc_aot_anew(const fc_aot_def *d, const fc_aot_side *side, const int64_t *sizes, fc_aot_run *run,
                void *user) {
    near_memory memory;
    memory.alloc = (fc_alloc){.fn = near_alloc, .user = &memory};
    memory.used = 0;
    call c = {.d = d, .side = side};
    fc_arena_init(&c.arena, &memory.alloc);
    int r = bind(&c, sizes);
    if (!r && !last.users) keep(&c.b, side, sizes);
    if (!r) r = run(&c.b, user);
    fc_arena_free(&c.arena);
    return r;
}
