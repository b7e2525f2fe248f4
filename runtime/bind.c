/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bind.c - see bind.h. */
#include "runtime/outside.h"
#include "runtime/alike.h"
#include "runtime/fft.h"
#include "runtime/join.h"
#include "runtime/step.h"
#include "runtime/strips.h"

#include "ir/float_state.h"
#include "ir/plant.h"

#include <stdio.h>

enum { PLACE_ALIGN = 256 };

/* ---- temporaries ------------------------------------------------------------------------- */

static fusec_status buffer_bytes(const fc_program *p, fc_bound *b, fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    for (size_t i = 0; i < p->plan->buffers.len; i++) {
        const fc_buffer *buf = &p->plan->buffers.at[i];
        int64_t bytes = fc_dtypes[fc_at(g, buf->node)->dtype].bytes;
        bool zero = false, ok = true;
        for (uint32_t k = 0; k < fc_rank(g, buf->node); k++) {
            int64_t n = b->values[fc_axis(g, buf->node, k)];
            if (n < 0)
                return fc_fail(e, FUSEC_INPUT_SHAPE, "a size below zero: %lld", (long long)n);
            zero |= n == 0;
            ok = ok && fc_mul_ok(bytes, n ? n : 1, &bytes);
        }
        if (!ok)
            return fc_fail(e, FUSEC_INPUT_SHAPE, "%s has more bytes than 64 bits can count",
                           buf->kind == FC_BUF_OUTPUT ? g->outputs.at[buf->number].name
                                                      : "an array");
        b->bytes[i] = zero ? 0 : (size_t)bytes;
    }
    return FUSEC_OK;
}

typedef struct fc_span {
    size_t begin, end;
    size_t last; /* launch after which it is free */
} fc_span;

/* What one placing of temporaries works with. */
typedef struct fc_placing {
    fc_program *p;
    fc_bound *b;
    size_t *last;  /* [buffers] launch that uses it last */
    size_t *ends;  /* [steps] the last launch that it leads */
    fc_span *live; /* sorted by address; there is no gap before and between the first `full` */
    bool *placed;  /* [buffers] */
    size_t n, full, soonest, top, tickets;
} fc_placing;

/* First fit among the blocks that are alive. */
static size_t fit(fc_placing *x, size_t bytes, size_t last) {
    fc_span *live = x->live;
    size_t i = bytes ? x->full : 0, at = i ? live[i - 1].end : 0;
    bytes = (bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
    while (i < x->n && live[i].begin - at < bytes) at = live[i++].end;
    memmove(live + i + 1, live + i, (x->n++ - i) * sizeof *live);
    live[i] = (fc_span){at, at + bytes, last};
    x->full += i <= x->full;
    while (x->full && x->full < x->n && live[x->full].begin == live[x->full - 1].end) x->full++;
    if (last < x->soonest) x->soonest = last;
    if (at + bytes > x->top) x->top = at + bytes;
    return at;
}

static void expire(fc_placing *x, size_t launch) {
    size_t k = 0;
    launch += FC_PLANTED(temporary_reused);
    if (x->soonest >= launch) return;
    x->soonest = SIZE_MAX;
    for (size_t i = 0; i < x->n; i++) {
        if (x->live[i].last < launch) {
            if (k < x->full) x->full = k;
            continue;
        }
        if (x->live[i].last < x->soonest) x->soonest = x->live[i].last;
        x->live[k++] = x->live[i];
    }
    x->n = k;
}

/* How many there are of what a step works with: one for each thread that does strips of it. */
static size_t copies(const fc_bound_step *s) {
    return s->strips ? s->strips->threads : 1;
}

static void place_buffers(fc_placing *x, const fc_bound_step *leader, const fc_kernel *k) {
    for (size_t a = 0; a < k->args.len; a++) {
        const uint32_t buf = k->args.at[a].buffer;
        if (x->p->plan->buffers.at[buf].kind != FC_BUF_TEMP || x->placed[buf]) continue;
        const size_t strip = x->b->strip ? x->b->strip[buf].bytes : 0;
        const bool inside = x->b->inside && x->b->inside[buf];
        const size_t bytes = inside  ? 0
                             : strip ? copies(leader) * fc_strips_apart(strip)
                                     : x->b->bytes[buf];
        x->b->place[buf] = fit(x, bytes, x->last[buf]);
        x->placed[buf] = true;
    }
}

/* The buffers and the workspace of launch i, all of whose steps run at the same time. */
static void place_launch(fc_placing *x, size_t i) {
    const fc_bound_launch *l = &x->b->launches[i];
    const fc_plan *plan = x->p->plan;
    fc_bound_step *leader = &x->b->steps[l->steps[0]];
    expire(x, i);
    for (uint32_t m = 0; m < l->n; m++)
        place_buffers(x, leader, &plan->steps.at[l->steps[m]]->kernel);
    if (leader->launch.workspace_bytes && leader->workspace == SIZE_MAX)
        leader->workspace = fit(x, copies(leader) * fc_strips_apart(leader->launch.workspace_bytes),
                                x->ends[l->steps[0]]);
    if (leader->launch.tickets && leader->tickets == SIZE_MAX) {
        leader->tickets = x->tickets;
        x->tickets += copies(leader) * leader->launch.tickets * 4;
    }
}

static void place_all(fc_placing *x) {
    fc_bound *b = x->b;
    for (size_t i = 0; i < b->nlaunches; i++) {
        x->ends[b->launches[i].steps[0]] = i;
        for (uint32_t m = 0; m < b->launches[i].n; m++) {
            const fc_kernel *k = &x->p->plan->steps.at[b->launches[i].steps[m]]->kernel;
            for (size_t a = 0; a < k->args.len; a++) x->last[k->args.at[a].buffer] = i;
        }
    }
    for (size_t i = 0; i < x->p->plan->steps.len; i++)
        b->steps[i].workspace = b->steps[i].tickets = SIZE_MAX;
    const size_t report = x->p->device->host_memory ? fc_outside_bytes(x->p->plan) : 0;
    x->tickets = report; /* the first of the part, so it is aligned */
    for (size_t i = 0; i < b->nlaunches; i++) place_launch(x, i);
    b->report = report ? x->top : SIZE_MAX;
    b->tickets_begin = x->top;
    b->tickets_bytes = x->tickets;
    b->scratch = x->top + x->tickets;
    for (size_t i = 0; i < x->p->plan->steps.len; i++)
        if (b->steps[i].tickets != SIZE_MAX) b->steps[i].tickets += x->top;
}

/* Places of temporaries and workspaces in one block; what is no longer read makes room for what
 * comes. Tickets have a part of their own that is zeroed once a call. */
static fusec_status place(fc_program *p, fc_bound *b, fc_error *e) {
    const size_t nbuf = p->plan->buffers.len, nsteps = p->plan->steps.len;
    fc_placing x = {.p = p, .b = b, .soonest = SIZE_MAX};
    x.last = fc_calloc(p->alloc, nbuf + 1, sizeof *x.last);
    x.ends = fc_calloc(p->alloc, nsteps + 1, sizeof *x.ends);
    x.live = fc_calloc(p->alloc, p->plan->ntemps + nsteps + 2, sizeof *x.live);
    x.placed = fc_calloc(p->alloc, nbuf + 1, sizeof *x.placed);
    fusec_status s = x.last && x.ends && x.live && x.placed ? FUSEC_OK : fc_oom(e);
    if (!s) place_all(&x);
    fc_free(p->alloc, x.last);
    fc_free(p->alloc, x.ends);
    fc_free(p->alloc, x.live);
    fc_free(p->alloc, x.placed);
    return s;
}

/* ---- steps ------------------------------------------------------------------------------- */

static void set_spans(const fc_bound_step *s, int64_t *words) {
    words[s->layout.extra + FC_PB_SPANS] = s->launch.spans;
    words[s->layout.extra + FC_PB_SPAN] = s->launch.span;
}

/* As far as its offsets are aligned in all strips. */
static fc_nest nest_of(const fc_bound_step *s) {
    fc_nest n = s->nest;
    if (s->strips) n.offset = s->all;
    return n;
}

/* Layout and parameter block of a step whose nest is bound. */
static fusec_status make_words(fc_bound *b, const fc_kernel *k, fc_bound_step *s, fc_error *e) {
    s->layout = fc_layout_of((uint32_t)k->args.len, s->nest.np + s->nest.nr,
                             (uint32_t)k->accesses.len, (uint32_t)k->params.len);
    s->words = fc_arena_alloc(&b->arena, s->layout.words * sizeof *s->words);
    void **none = fc_arena_alloc(&b->arena, (k->args.len + 1) * sizeof *none);
    uint64_t *zero = fc_arena_alloc(&b->arena, (k->params.len + 1) * sizeof *zero);
    if (!s->words || !none || !zero) return fc_oom(e);
    fc_nest_fill(k, &s->nest, b->values, none, zero, s->words);
    return FUSEC_OK;
}

static fusec_status bind_step(fc_program *p, fc_bound *b, size_t i, uint32_t *blocked,
                              fc_error *e) {
    const fc_kernel *k = &p->plan->steps.at[i]->kernel;
    fc_bound_step *s = &b->steps[i];
    const int64_t *const *strides;
    if (s->joined) { /* it has nest, class and launch */
        FC_TRY(make_words(b, k, s, e));
        set_spans(s, s->words);
        return FUSEC_OK;
    }
    FC_TRY(fc_bound_strides(p, b, k, &strides, blocked, e));
    if (p->plan->steps.at[i]->kind != FC_STEP_KERNEL) return fc_step_bind(p, b, (uint32_t)i, e);
    const bool plain = b->plain && p->device->target->schedule_plain && !strides && !s->strips;
    if (s->strips)
        FC_TRY(fc_strips_bind(b, k, s, strides, e));
    else if (plain)
        FC_TRY(fc_nest_bind_plain(k, b->values, NULL, &b->arena, &s->nest, e));
    else
        FC_TRY(fc_nest_bind_strided(k, b->values, strides, &b->arena, &s->nest, e));
    FC_TRY(make_words(b, k, s, e));
    if (s->nest.empty) return FUSEC_OK;
    fc_device *d = p->device;
    const fc_nest nest = nest_of(s);
    const fc_machine machine = fc_strips_machine(b, k, s, d);
    if (plain)
        FC_TRY(d->target->schedule_plain(&machine, k, &nest, &b->arena, &s->cls, &s->launch, e));
    else
        FC_TRY(
            d->target->schedule(&machine, k, &nest, b->align, &b->arena, &s->cls, &s->launch, e));
    set_spans(s, s->words);
    return FUSEC_OK;
}

/* Elements of a step, in blocks as the interpreter takes them: of a row, or of neighbouring rows.
 */
static double points_in_blocks(const fc_step *s, const fc_nest *n) {
    const bool along = s->kernel.schedule == FC_SCHED_INNER;
    const int64_t lanes = along ? n->count : n->rows, others = along ? n->rows : n->count;
    const double blocks = (double)fc_ceil_div(lanes, FC_LANES);
    return blocks * FC_LANES * (s->kernel.schedule == FC_SCHED_MAP ? 1 : (double)others);
}

/* By the elementary operations of all steps, a function taken for eight. Of loops nobody knows how
 * often they go round, so they are not interpreted. */
static fc_meanwhile meanwhile(const fc_program *p, fc_bound *b) {
    double work = 0;
    bool loops = p->is_body;
    b->work = 0;
    for (size_t i = 0; i < p->plan->steps.len; i++) {
        const fc_step *s = p->plan->steps.at[i];
        const double each = 1.0 + s->ops + 8.0 * s->transcendental;
        loops |= s->kind != FC_STEP_KERNEL || s->kernel.loops.len;
        if (b->steps[i].nest.empty) continue;
        work += (double)fc_strips_points(&b->steps[i]) * each;
        b->work += points_in_blocks(s, &b->steps[i].nest) * each;
    }
    if (work > p->device->quick_work) return FC_MEANWHILE_WAIT;
    return loops || b->work > p->device->interpreted_work ? FC_MEANWHILE_QUICK : FC_MEANWHILE_ANY;
}

/* The code of all launches that have none, made together. */
static fusec_status get_code(fc_program *p, fc_bound *b, fc_meanwhile m, fc_error *e) {
    size_t n = 0;
    fc_wanted *w = fc_malloc(p->alloc, (p->plan->steps.len * FC_SORT_CODES + 1) * sizeof *w);
    if (!w) return fc_oom(e);
    for (size_t i = 0; i < p->plan->steps.len; i++) {
        fc_bound_step *s = &b->steps[i];
        const fc_step *st = p->plan->steps.at[i];
        n += fc_sort_wanted(s, w + n);
        if (s->nest.empty || s->variant || b->leader[i] != i) continue;
        w[n] = (fc_wanted){.kernel = &st->kernel,
                           .joined = s->joined,
                           .cls = &s->cls,
                           .launch = &s->launch,
                           .out = &s->variant};
        /* "softmax k0: max1, sum5, out" */
        snprintf(w[n].label, sizeof w[n].label, "%s%sk%zu: %s", p->name, *p->name ? " " : "", i,
                 st->what);
        n++;
    }
    fusec_status s = fc_kcache_get(p->ctx, p->device, p->mode, w, n, m, &p->compiles, e);
    fc_free(p->alloc, w);
    return s;
}

/* Asks the target for smaller code in place of what spilled registers; *found when there is some
 * to get. Steps alike are too short for it to matter. */
static fusec_status shrink(fc_program *p, fc_bound *b, bool *found, fc_error *e) {
    const fc_device *d = p->device;
    *found = false;
    for (size_t i = 0; d->target->smaller && i < b->nlaunches; i++) {
        const uint32_t step = b->launches[i].steps[0];
        fc_bound_step *s = &b->steps[step];
        const fc_kernel *k = &p->plan->steps.at[step]->kernel;
        if (!s->variant || !s->variant->facts.spill_bytes || s->cls.alike || s->joined) continue;
        const fc_nest nest = nest_of(s);
        if (!d->target->smaller(&d->machine, k, &nest, b->align, s->variant->facts.registers,
                                s->variant->facts.spill_bytes, &b->arena, &s->cls, &s->launch))
            continue;
        for (uint32_t n = 0; n < b->nlaunches; n++)
            if (b->launches[n].steps[0] == step) set_spans(s, b->launches[n].words);
        fc_kcache_release(p->ctx, s->variant);
        s->variant = NULL;
        *found = true;
    }
    return *found ? place(p, b, e) : FUSEC_OK;
}

enum { MAX_SHRINK = 3 };

static fusec_status load_all(fc_program *p, fc_bound *b, fc_meanwhile m, fc_error *e) {
    bool smaller = true;
    for (int tries = 0; smaller; tries++) {
        FC_TRY(get_code(p, b, m, e));
        smaller = false;
        if (tries < MAX_SHRINK) FC_TRY(shrink(p, b, &smaller, e));
    }
    return FUSEC_OK;
}

static void release_code(fc_program *p, fc_bound *b) {
    for (size_t i = 0; b->steps && i < p->plan->steps.len; i++) {
        fc_kcache_release(p->ctx, b->steps[i].variant);
        b->steps[i].variant = NULL;
        fc_sort_unbind(p, &b->steps[i]);
    }
}

static fusec_status load_steps(fc_program *p, fc_bound *b, fc_meanwhile m, fc_error *e) {
    const fusec_status s = load_all(p, b, m, e);
    b->loaded = !s;
    b->quick = false;
    for (size_t i = 0; !s && i < p->plan->steps.len; i++)
        b->quick |= b->steps[i].variant && atomic_load(&b->steps[i].variant->quick);
    if (s) release_code(p, b); /* part of it may be quick, and the next try may not want that */
    return s;
}

void fc_bound_free(fc_program *p, fc_bound *b) {
    if (!b) return;
    release_code(p, b);
    for (size_t i = 0; b->steps && i < p->plan->steps.len; i++) {
        fc_fft_unbind(p, &b->steps[i]);
        fc_loop_unbind(p, &b->steps[i]);
    }
    fc_arena_free(&b->arena);
    fc_free(p->alloc, b);
}

static fc_bound *new_bound(fc_program *p) {
    const fc_graph *g = &p->plan->graph;
    fc_bound *b = fc_calloc(p->alloc, 1, sizeof *b);
    if (!b) return NULL;
    fc_arena_init(&b->arena, p->alloc);
    b->symbols = fc_arena_alloc(&b->arena, (g->dims.syms.len + 1) * sizeof *b->symbols);
    b->values = fc_arena_alloc(&b->arena, (g->dims.forms.len + 1) * sizeof *b->values);
    b->bytes = fc_arena_alloc(&b->arena, (p->plan->buffers.len + 1) * sizeof *b->bytes);
    b->place = fc_arena_alloc(&b->arena, (p->plan->buffers.len + 1) * sizeof *b->place);
    b->steps = fc_arena_alloc(&b->arena, (p->plan->steps.len + 1) * sizeof *b->steps);
    if (b->symbols && b->values && b->bytes && b->place && b->steps) return b;
    fc_bound_free(p, b);
    return NULL;
}

static fusec_status complete(fc_program *p, fc_bound *b, fc_layouts *l, fc_error *e) {
    if (!fc_bound_keep_layouts(p, b, l)) return fc_oom(e);
    FC_TRY(buffer_bytes(p, b, e));
    FC_TRY(fc_bound_spans(p, b, e));
    FC_TRY(fc_join_find(p, b, e));
    FC_TRY(fc_strips_find(p, b, e));
    for (size_t i = 0; i < p->plan->steps.len; i++) FC_TRY(bind_step(p, b, i, &l->blocked, e));
    FC_TRY(fc_bound_group(p, b, e));
    FC_TRY(fc_strips_launch(p, b, e));
    if (!fc_bound_find_in_place(p, b)) return fc_oom(e);
    return place(p, b, e);
}

/* ---- the list of recent sizes ------------------------------------------------------------ */

static fc_bound *find_recent(fc_program *p, const int64_t *symbols, const fc_layouts *l) {
    size_t n = p->plan->graph.dims.syms.len;
    size_t bytes = (n - (FC_PLANTED(stale_sizes) && n)) * sizeof *symbols;
    for (fc_bound **at = &p->bound; *at; at = &(*at)->next)
        if (!memcmp((*at)->symbols, symbols, bytes) && fc_bound_same_layouts(p, *at, l)) {
            fc_bound *b = *at;
            *at = b->next;
            b->next = p->bound;
            p->bound = b;
            return b;
        }
    return NULL;
}

/* Calls under way may still use it. */
static void drop(fc_program *p, fc_bound *b) {
    fc_bound **at = &p->bound;
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    if (--b->users == 0) fc_bound_free(p, b);
}

static void keep(fc_program *p, fc_bound *b) {
    b->next = p->bound;
    b->users++;
    p->bound = b;
    int n = 0;
    for (fc_bound **at = &p->bound; *at; at = &(*at)->next)
        if (++n > FC_MAX_BOUND) {
            fc_bound *old = *at;
            *at = NULL;
            if (--old->users == 0) fc_bound_free(p, old);
            break;
        }
}

fc_bound *fc_bound_hold(fc_program *p, fc_bound *b) {
    pthread_mutex_lock(&p->lock);
    b->users++;
    pthread_mutex_unlock(&p->lock);
    return b;
}

void fc_bound_release(fc_program *p, fc_bound *b) {
    pthread_mutex_lock(&p->lock);
    bool last = --b->users == 0;
    pthread_mutex_unlock(&p->lock);
    if (last) fc_bound_free(p, b);
}

/* A bound for sizes that were not seen lately; it is in the list when this succeeds. */
static fusec_status make_bound(fc_program *p, const int64_t *symbols, const int64_t *values,
                               fc_layouts *l, fc_bound **out, fc_error *e) {
    const fc_dimtab *t = &p->plan->graph.dims;
    fc_bound *b = new_bound(p);
    if (!b) return fc_oom(e);
    b->align = l->align;
    b->plain = l->plain;
    memcpy(b->symbols, symbols, t->syms.len * sizeof *symbols);
    memcpy(b->values, values, t->forms.len * sizeof *values);
    fusec_status s = complete(p, b, l, e);
    if (s) {
        fc_bound_free(p, b);
        return s;
    }
    keep(p, b);
    *out = b;
    return FUSEC_OK;
}

/* Code that is not there and must not be compiled may be there for any sizes: then that runs. */
static fusec_status load_any(fc_program *p, const int64_t *symbols, const int64_t *values,
                             const fc_layouts *l, fc_meanwhile m, fc_bound **b, fc_error *e) {
    fc_error first = {0};
    fc_layouts any = *l;
    fusec_status s = load_steps(p, *b, m, &first);
    if (s == FUSEC_NO_CODE && !(*b)->plain && p->device->target->schedule_plain) {
        fc_error none = {0};
        fc_bound *plain = NULL;
        any.plain = true;
        if (!make_bound(p, symbols, values, &any, &plain, &none) &&
            !load_steps(p, plain, m, &none)) {
            drop(p, *b);
            *b = plain;
            return FUSEC_OK;
        }
        if (plain) drop(p, plain);
    }
    return s ? fc_fail(e, s, "%s", first.message) : FUSEC_OK;
}

/* Whether the interpreter has done so much that quick code would have been there by now. */
static bool is_long_interpreted(const fc_program *p, const fc_bound *b) {
    enum { CALLS = 3 }; /* of the longest that it does */
    return b->interpreted > CALLS * p->device->interpreted_work;
}

/* Schedules and texts are made of constants, too. The full code may need another launch than the
 * quick one, so a bound with quick code, which calls may be using, is not mended but made anew. */
static fusec_status prepare(fc_program *p, const int64_t *symbols, const int64_t *values,
                            fc_layouts *l, fc_code_wanted code, fc_bound **b, fc_error *e) {
    const bool long_interpreted = *b && is_long_interpreted(p, *b);
    if (*b && (*b)->quick) {
        drop(p, *b);
        *b = NULL;
    }
    const uint64_t state = fc_float_enter();
    fusec_status s = *b ? FUSEC_OK : make_bound(p, symbols, values, l, b, e);
    if (!s && code != FC_NO_CODE && !(*b)->loaded) {
        fc_meanwhile m = code == FC_ANY_CODE ? meanwhile(p, *b) : FC_MEANWHILE_WAIT;
        if (long_interpreted && m == FC_MEANWHILE_ANY) m = FC_MEANWHILE_QUICK;
        s = load_any(p, symbols, values, l, m, b, e);
    }
    fc_float_leave(state);
    return s;
}

/* Whether this call runs other code than what is loaded: there is none yet, or the full code has
 * come for some that is quick, or is asked for. */
static bool wants_code(const fc_program *p, fc_bound *b, fc_code_wanted code) {
    if (code == FC_NO_CODE) return false;
    if (!b->loaded || !b->quick) return !b->loaded;
    bool waits = false, interpreted = false;
    for (size_t i = 0; i < p->plan->steps.len; i++) {
        const fc_variant *v = b->steps[i].variant;
        if (!v || !atomic_load(&v->quick)) continue;
        if (code == FC_FULL_CODE || fc_kcache_has_full(p->ctx, v)) return true;
        waits = true;
        interpreted |= v->interpreted;
    }
    if (interpreted) b->interpreted += b->work;
    if (interpreted && is_long_interpreted(p, b)) return true;
    return !waits; /* what was quick is now the best there is */
}

fusec_status fc_bound_get(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                          const fc_dim_value *dims, uint32_t align, fc_code_wanted code,
                          fc_bound **out, fc_error *e) {
    fc_layouts l = {.align = align};
    return fc_bound_get_for(p, nin, in, ndims, dims, &l, code, out, e);
}

/* The bound for these sizes, with code; it gets a user. Compiling may take long, so the caller's
 * poll function is asked before, and without the lock: what it waits for may be waiting for the
 * lock. */
static fusec_status get_bound(fc_program *p, const int64_t *symbols, const int64_t *values,
                              fc_layouts *l, fc_code_wanted code, fc_bound **out, fc_error *e) {
    fusec_status s = FUSEC_OK;
    pthread_mutex_lock(&p->lock);
    fc_bound *b = find_recent(p, symbols, l);
    bool there = b && !wants_code(p, b, code);
    if (!there && code != FC_NO_CODE && p->device->poll) {
        pthread_mutex_unlock(&p->lock);
        s = fc_device_poll(p->device, e);
        pthread_mutex_lock(&p->lock);
        b = find_recent(p, symbols, l); /* another thread may have been here */
        there = b && !wants_code(p, b, code);
    }
    if (!s && !there) s = prepare(p, symbols, values, l, code, &b, e);
    if (!s) {
        b->users++;
        *out = b;
    }
    pthread_mutex_unlock(&p->lock);
    return s;
}

fusec_status fc_bound_get_for(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                              const fc_dim_value *dims, fc_layouts *l, fc_code_wanted code,
                              fc_bound **out, fc_error *e) {
    const fc_dimtab *t = &p->plan->graph.dims;
    int64_t small[192] = {0}, *symbols = small;
    size_t n = t->syms.len + t->forms.len;
    *out = NULL;
    if (n > FC_COUNT(small)) symbols = fc_calloc(p->alloc, n, sizeof *symbols);
    if (!symbols) return fc_oom(e);
    int64_t *values = symbols + t->syms.len;
    fusec_status s = fc_bind_sizes(p, nin, in, ndims, dims, symbols, values, e);
    if (!s) s = get_bound(p, symbols, values, l, code, out, e);
    if (symbols != small) fc_free(p->alloc, symbols);
    return s;
}
