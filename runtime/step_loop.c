/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step_loop.c - a loop of launches: the rounds of a body.
 *
 * In: first and end of the rounds, the condition of the first, starts, what the body captures. Out:
 * the carried values after the last round and what was collected.
 *
 * On a device with memory of its own rounds run ahead of the condition where that is harmless
 * (fc_body_runs_ahead): some more are launched before that of a round is known. Each has places of
 * its own for what it carries, so those beyond the last one change nothing that is read.
 *
 * Many rounds are launched some at a time, as a graph of the device (fc_series_make): a launch
 * costs the host as much as a small kernel runs. A graph is kept for the next call; its addresses
 * stay the same from launch to launch, so it has a whole number of turns of the places. With a
 * condition two take turns, as their words have places of their own, too. */
#include "runtime/step.h"

#include "passes/bodies.h"
#include "runtime/loop_watch.h"
#include "runtime/outside.h"
#include "runtime/ready.h"

#include <time.h>

enum { PLACE_ALIGN = 256 };
enum { POLL_MS = 50 };
/* What is carried when more than one round is ahead: these have places each, and what is larger
 * takes longer than the host needs. */
enum { SMALL = 8 << 20 };
/* Rounds of a graph, where their number is known; and rounds that come one by one before that. */
enum { COUNTED = 8, SINGLE = FC_WATCH_FIRST };
_Static_assert(COUNTED % 2 == 0, "what is carried has two places");
_Static_assert(FC_WATCHED == 2 * FC_WATCH_EVERY && SINGLE % FC_WATCHED == 0,
               "rounds of a graph have the same words each time");

struct fc_loop_bound {
    fc_program *body;
    fc_tensor *in, *out; /* of a call of the body, without the data */
    size_t *bytes;       /* of each output */
    size_t *spare;       /* of each carried value: its other places in the workspace, */
    uint64_t places;     /* so many with the main one */
    uint64_t ahead;      /* rounds that are launched before a condition is known */
    fc_loop_watch_place watch;
    _Atomic(fc_ready *) series[2]; /* that no call has; what is launched takes turns */
    size_t *own;      /* of each output: its place there if it is in no buffer of the plan */
    uint32_t *buffer; /* of each output: the buffer of the plan, or UINT32_MAX */
    fc_dim_value *dims;
    uint32_t ndims;
    size_t workspace;
};
typedef struct fc_loop_bound loop_bound;

/* ---- sizes ----------------------------------------------------------------------------------- */

static size_t step_of(size_t bytes) {
    return (bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
}

static size_t room(loop_bound *l, size_t bytes) {
    const size_t at = l->workspace;
    l->workspace += step_of(bytes);
    return at;
}

static fusec_status tensor_of(const fc_program *body, const int64_t *values, fc_node n,
                              fc_arena *arena, fc_tensor *t, size_t *bytes, fc_error *e) {
    const fc_graph *g = &body->plan->graph;
    const uint32_t rank = fc_rank(g, n);
    int64_t *shape = fc_arena_alloc(arena, (rank + 1) * sizeof *shape), total;
    if (!shape) return fc_oom(e);
    total = fc_dtypes[fc_at(g, n)->dtype].bytes;
    bool ok = true, zero = false;
    for (uint32_t i = 0; i < rank; i++) {
        shape[i] = values[fc_axis(g, n, i)];
        zero |= shape[i] <= 0;
        ok = ok && fc_mul_ok(total, shape[i] ? shape[i] : 1, &total);
    }
    if (!ok) return fc_fail(e, FUSEC_INPUT_SHAPE, "an array has more bytes than 64 bits can count");
    *t = (fc_tensor){
        .dtype = (fusec_dtype)fc_at(g, n)->dtype, .rank = rank, .shape = shape, .on_device = true};
    *bytes = zero ? 0 : (size_t)total;
    return FUSEC_OK;
}

static fusec_status bind_arrays(loop_bound *l, fc_bound *b, const int64_t *values, fc_error *e) {
    const fc_graph *g = &l->body->plan->graph;
    const size_t nin = g->inputs.len, nout = g->outputs.len;
    size_t unused;
    l->in = fc_arena_alloc(&b->arena, (nin + 1) * sizeof *l->in);
    l->out = fc_arena_alloc(&b->arena, (nout + 1) * sizeof *l->out);
    l->bytes = fc_arena_alloc(&b->arena, (nout + 1) * sizeof *l->bytes);
    l->spare = fc_arena_alloc(&b->arena, (nout + 1) * sizeof *l->spare);
    l->own = fc_arena_alloc(&b->arena, (nout + 1) * sizeof *l->own);
    l->buffer = fc_arena_alloc(&b->arena, (nout + 1) * sizeof *l->buffer);
    if (!l->in || !l->out || !l->bytes || !l->spare || !l->own || !l->buffer) return fc_oom(e);
    for (size_t i = 0; i < nin; i++)
        FC_TRY(tensor_of(l->body, values, g->inputs.at[i].node, &b->arena, &l->in[i], &unused, e));
    for (size_t i = 0; i < nout; i++)
        FC_TRY(tensor_of(l->body, values, g->outputs.at[i].node, &b->arena, &l->out[i],
                         &l->bytes[i], e));
    return FUSEC_OK;
}

static void place(loop_bound *l, const fc_step *s, fc_loop_shape shape) {
    const uint32_t nout = (uint32_t)l->body->plan->graph.outputs.len;
    for (uint32_t i = 0; i < nout; i++) {
        l->buffer[i] = UINT32_MAX;
        for (uint32_t k = s->nout; k-- > 0;)
            if (i >= shape.condition && s->out[k].number == i - shape.condition)
                l->buffer[i] = s->out[k].buffer;
        if (l->buffer[i] == UINT32_MAX) l->own[i] = room(l, l->bytes[i]);
        if (i >= shape.condition && i < shape.condition + shape.carried)
            l->spare[i] = room(l, (l->places - 1) * step_of(l->bytes[i]));
    }
}

static void decide_ahead(const fc_program *p, loop_bound *l, const fc_plan_body *body) {
    const fc_loop_shape shape = body->loop;
    size_t bytes = 0;
    l->places = 2;
    if (!p->device->hooks->streams || p->device->host_memory || !fc_body_runs_ahead(body)) return;
    for (uint32_t i = 0; i < shape.carried; i++) bytes += l->bytes[shape.condition + i];
    l->ahead = bytes <= SMALL ? FC_WATCHED - 1 : 1;
    l->places = l->ahead + 1;
}

fusec_status fc_loop_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e) {
    const fc_step *s = p->plan->steps.at[step];
    const fc_plan_body *body = p->plan->bodies.at[s->body];
    loop_bound *l = fc_arena_alloc(&b->arena, sizeof *l);
    if (!l) return fc_oom(e);
    memset(l, 0, sizeof *l);
    l->body = p->bodies[s->body];
    const fc_dimtab *t = &l->body->plan->graph.dims;
    int64_t *values = fc_malloc(p->alloc, (t->forms.len + 1) * sizeof *values);
    l->dims = fc_arena_alloc(&b->arena, (t->syms.len + 1) * sizeof *l->dims);
    fc_dim bad;
    fusec_status r = values && l->dims ? FUSEC_OK : fc_oom(e);
    for (uint32_t i = 0; !r && i < t->syms.len; i++)
        if (t->syms.at[i].kind == FC_SYM_NAMED)
            l->dims[l->ndims++] = (fc_dim_value){i, b->symbols[i]};
    if (!r && !fc_dims_eval(t, b->symbols, values, &bad))
        r = fc_fail(e, FUSEC_INPUT_SHAPE, "a size does not fit into 64 bits for these inputs");
    if (!r) r = bind_arrays(l, b, values, e);
    fc_free(p->alloc, values);
    if (r) return r;
    decide_ahead(p, l, body);
    place(l, s, body->loop);
    b->steps[step].launch.workspace_bytes = l->workspace;
    b->steps[step].loop = l;
    return FUSEC_OK;
}

void fc_loop_unbind(fc_program *p, fc_bound_step *s) {
    if (!s->loop) return;
    fc_watch_free(p->device, p->alloc, atomic_exchange(&s->loop->watch, NULL));
    for (int i = 0; i < 2; i++)
        fc_series_free(s->loop->body, atomic_exchange(&s->loop->series[i], NULL));
}

/* ---- rounds ---------------------------------------------------------------------------------- */

typedef struct rounds {
    const fc_step_call *c;
    const fc_step *s;
    const fc_plan_body *body;
    const loop_bound *l;
    fc_tensor *in, *out;      /* of COUNTED rounds */
    void **now;               /* where each carried value is */
    int64_t first;            /* number of the first round */
    uint64_t n, done;         /* rounds that may be made, and were */
    bool single;              /* there is no graph, and will be none */
    fc_ready *series[2];      /* that this call has taken or made */
    int64_t counter[COUNTED]; /* of the rounds that are made */
    uint64_t *scalars;        /* captured scalars, by the body's input */
    fc_loop_watch *watch;     /* rounds run ahead of the condition */
    struct timespec asked;
} rounds;

static void *main_place(const rounds *x, uint32_t output) {
    const loop_bound *l = x->l;
    return l->buffer[output] == UINT32_MAX ? (void *)(x->c->workspace + l->own[output])
                                           : x->c->at[l->buffer[output]];
}

/* Where round `round` puts what it carries. The last round of a known number writes where the
 * result is wanted. */
static void *place_of(const rounds *x, uint64_t round, uint32_t output) {
    const loop_bound *l = x->l;
    const uint64_t left = x->body->loop.condition ? round : x->n - 1 - round, k = left % l->places;
    return k ? x->c->workspace + l->spare[output] + (k - 1) * step_of(l->bytes[output])
             : main_place(x, output);
}

/* A scalar that is captured is read by the host. */
static fusec_status set_inputs(rounds *x, fc_error *e) {
    const fc_step *s = x->s;
    const uint32_t nin = x->body->nin;
    for (uint32_t i = 0; i < nin; i++) {
        const fc_body_input *in = &x->body->in[i];
        x->in[i] = x->l->in[i];
        if (in->role != FC_BODY_CAPTURED) continue;
        if (s->in[in->number].buffer != FC_ON_HOST) {
            x->in[i].data = x->c->at[s->in[in->number].buffer];
            continue;
        }
        FC_TRY(fc_step_scalar(x->c, in->number, &x->scalars[i], e));
        x->in[i].data = &x->scalars[i];
    }
    for (uint32_t k = 1; k < COUNTED; k++) memcpy(x->in + k * nin, x->in, nin * sizeof *x->in);
    return FUSEC_OK;
}

static fusec_status count_rounds(rounds *x, fc_error *e) {
    uint64_t first, end;
    FC_TRY(fc_step_scalar(x->c, 0, &first, e));
    FC_TRY(fc_step_scalar(x->c, 1, &end, e));
    x->first = (int64_t)first;
    if ((int64_t)end < x->first)
        return fc_fail(e, FUSEC_SLICE_RANGE,
                       "a loop runs from %lld to %lld: its end is before its begin",
                       (long long)x->first, (long long)(int64_t)end);
    x->n = end - first;
    return FUSEC_OK;
}

static fusec_status poll(rounds *x, fc_error *e) {
    struct timespec now;
    if (!x->c->p->device->poll) return FUSEC_OK;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t ms =
        (int64_t)(now.tv_sec - x->asked.tv_sec) * 1000 + (now.tv_nsec - x->asked.tv_nsec) / 1000000;
    if (ms < POLL_MS) return FUSEC_OK;
    x->asked = now;
    return fc_device_poll(x->c->p->device, e);
}

static uint32_t outputs_of(const rounds *x) {
    return (uint32_t)x->l->body->plan->graph.outputs.len;
}

/* The arguments of the next round, number `k` of those that are launched together. */
static void arrange(rounds *x, uint32_t k) {
    const fc_loop_shape shape = x->body->loop;
    const loop_bound *l = x->l;
    const uint32_t nin = x->body->nin, nout = outputs_of(x), c = shape.condition;
    fc_tensor *in = x->in + k * nin, *out = x->out + k * nout;
    x->counter[k] = (int64_t)((uint64_t)x->first + x->done);
    for (uint32_t i = 0; i < nin; i++) {
        if (x->body->in[i].role == FC_BODY_COUNTER) in[i].data = &x->counter[k];
        if (x->body->in[i].role == FC_BODY_CARRIED) in[i].data = x->now[x->body->in[i].number];
    }
    for (uint32_t i = 0; i < nout; i++) {
        out[i] = l->out[i];
        if (i < c)
            out[i].data = x->watch ? fc_watch_word(x->watch, x->done) : main_place(x, i);
        else if (i < c + shape.carried)
            out[i].data = place_of(x, x->done, i);
        if (i < c + shape.carried) continue;
        out[i].data = main_place(x, i);
        if (l->buffer[i] != UINT32_MAX) out[i].data = (char *)out[i].data + x->done * l->bytes[i];
    }
    for (uint32_t i = 0; i < shape.carried; i++) x->now[i] = out[c + i].data;
    x->done++;
}

static fusec_status round_of(rounds *x, fc_error *e) {
    arrange(x, 0);
    return fc_program_run(x->l->body, x->c->stream, x->body->nin, x->in, x->l->ndims, x->l->dims,
                          outputs_of(x), x->out, e);
}

/* ---- rounds together ------------------------------------------------------------------------- */

/* Whether all n rounds have this alignment, which code is made for. */
static bool are_aligned(const rounds *x, uint32_t n, uint32_t align) {
    const fc_device *d = x->c->p->device;
    const uint32_t nin = x->body->nin, nout = outputs_of(x);
    for (uint32_t k = 0; k < n; k++)
        if (fc_common_alignment(d, nin, x->in + k * nin, nout, x->out + k * nout) != align)
            return false;
    return true;
}

/* Finds or makes the graph of the next n rounds in *at. Where there is none and never will be they
 * come one by one from now on; code that is replaced soon is not put into one. */
static void need_series(rounds *x, uint32_t n, fc_ready **at) {
    fc_program *body = x->l->body;
    const uint32_t nin = x->body->nin, nout = outputs_of(x),
                   align = fc_common_alignment(body->device, nin, x->in, nout, x->out);
    fc_bound *b = NULL;
    if (*at && are_aligned(x, n, fc_series_alignment(*at))) return;
    fc_series_free(body, *at);
    *at = NULL;
    if (!are_aligned(x, n, align) ||
        fc_bound_get(body, nin, x->in, x->l->ndims, x->l->dims, align, FC_ANY_CODE, &b, NULL)) {
        x->single = true;
        return;
    }
    if (!b->quick) *at = fc_series_make(body, b, n, nin, x->in, nout, x->out);
    if (!b->quick && !*at) x->single = true;
    fc_bound_release(body, b);
}

/* The next n rounds, as one launch where that can be. */
static fusec_status some_rounds(rounds *x, uint32_t n, fc_error *e) {
    const uint32_t nin = x->body->nin, nout = outputs_of(x), turn = x->done / n % 2;
    fc_program *body = x->l->body;
    fc_ready **r = &x->series[x->body->loop.condition ? turn : 0];
    for (uint32_t k = 0; k < n; k++) arrange(x, k);
    need_series(x, n, r);
    if (*r) return fc_series_run(body, *r, x->c->stream, nin, x->in, nout, x->out, e);
    for (uint32_t k = 0; k < n; k++)
        FC_TRY(fc_program_run(body, x->c->stream, nin, x->in + k * nin, x->l->ndims, x->l->dims,
                              nout, x->out + k * nout, e));
    return FUSEC_OK;
}

static void take_series(rounds *x) {
    loop_bound *l = x->c->b->steps[x->c->step].loop;
    for (int i = 0; i < 2 && !x->single; i++) x->series[i] = atomic_exchange(&l->series[i], NULL);
}

static void put_series(rounds *x) {
    loop_bound *l = x->c->b->steps[x->c->step].loop;
    for (int i = 0; i < 2; i++)
        if (x->series[i]) fc_series_free(l->body, atomic_exchange(&l->series[i], x->series[i]));
}

/* The condition that the round before has made. */
static fusec_status goes_on(const rounds *x, bool *yes, fc_error *e) {
    fc_device *d = x->c->p->device;
    uint8_t word = 0;
    uint64_t bits;
    *yes = true;
    if (!x->body->loop.condition) return FUSEC_OK;
    if (!x->done) {
        FC_TRY(fc_step_scalar(x->c, 2, &bits, e));
        *yes = bits & 0xff;
        return FUSEC_OK;
    }
    FC_TRY(d->ops->download(d, x->c->stream, &word, main_place(x, 0), 1, e));
    if (!d->host_memory) FC_TRY(d->ops->sync(d, x->c->stream, e));
    *yes = word != 0;
    return FUSEC_OK;
}

static fusec_status too_many(const rounds *x, fc_error *e) {
    return fc_fail(e, FUSEC_LIMIT, "a loop has not ended after %llu rounds",
                   (unsigned long long)x->c->p->max_rounds);
}

/* Whether a round is the last one, among rounds up to `upto` whose condition is not known yet. */
static fusec_status find_last(rounds *x, uint64_t *known, uint64_t upto, bool *ended, fc_error *e) {
    fc_device *d = x->c->p->device;
    for (bool on = true; !*ended && *known < upto; *known += !*ended) {
        FC_TRY(fc_watch_wait(d, x->watch, *known, &on, e));
        *ended = !on;
    }
    return FUSEC_OK;
}

/* All rounds so far can be waited for. */
static fusec_status note_last(const rounds *x, fc_error *e) {
    return fc_watch_note(x->c->p->device, x->watch, x->done - 1, true, x->c->stream, e);
}

/* Whether the next rounds are launched together. */
static bool together_ahead(const rounds *x) {
    const uint64_t limit = x->c->p->max_rounds, n = FC_WATCH_EVERY;
    return !x->single && x->l->ahead >= n && x->done >= SINGLE && x->done % n == 0 &&
           x->n - x->done >= n && (!limit || limit - x->done >= n);
}

/* Rounds that run ahead: the values of the last one are where it has put them. */
static fusec_status rounds_ahead(rounds *x, fc_error *e) {
    fc_device *d = x->c->p->device;
    const uint64_t most = x->c->p->max_rounds;
    uint64_t known = 0; /* all before this one go on; if the loop has ended it is the last one */
    bool ended = false;
    while (!ended && x->done < x->n) {
        const bool some = together_ahead(x);
        const uint64_t ahead = some ? FC_WATCH_EVERY : fc_watch_ahead(x->done, x->l->ahead);
        if (x->done > ahead) FC_TRY(find_last(x, &known, x->done - ahead, &ended, e));
        if (most && x->done >= most) {
            FC_TRY(note_last(x, e));
            FC_TRY(find_last(x, &known, x->done, &ended, e));
            if (!ended) return too_many(x, e);
        }
        if (ended) break;
        FC_TRY(poll(x, e));
        FC_TRY(some ? some_rounds(x, FC_WATCH_EVERY, e) : round_of(x, e));
        FC_TRY(
            fc_watch_note(d, x->watch, x->done - 1, x->l->ahead < FC_WATCH_EVERY, x->c->stream, e));
    }
    FC_TRY(note_last(x, e));
    FC_TRY(find_last(x, &known, x->done - 1, &ended, e));
    for (uint32_t i = 0; i < x->body->loop.carried; i++)
        x->now[i] = place_of(x, known, x->body->loop.condition + i);
    x->done = known + 1;
    return FUSEC_OK;
}

static fusec_status watch_rounds(rounds *x, fc_error *e) {
    const fc_step_call *c = x->c;
    fc_device *d = c->p->device;
    fc_loop_watch_place *kept = &c->b->steps[c->step].loop->watch;
    FC_TRY(fc_watch_take(d, c->p->alloc, kept, &x->watch, e));
    const fusec_status s = rounds_ahead(x, e);
    if (s) {
        (void)d->ops->sync(d, c->stream, NULL);
        fc_watch_free(d, c->p->alloc, x->watch);
    } else {
        fc_watch_put(d, c->p->alloc, kept, x->watch);
    }
    return s;
}

static fusec_status all_rounds(rounds *x, fc_error *e) {
    const uint64_t most = x->c->p->max_rounds;
    bool first = true;
    if (x->l->ahead && x->n) {
        FC_TRY(goes_on(x, &first, e));
        return first ? watch_rounds(x, e) : FUSEC_OK;
    }
    while (x->done < x->n) {
        bool yes;
        FC_TRY(goes_on(x, &yes, e));
        if (!yes) break;
        if (most && x->body->loop.condition && x->done >= most) return too_many(x, e);
        FC_TRY(poll(x, e));
        const bool some = !x->single && !x->body->loop.condition && x->n - x->done >= COUNTED &&
                          (x->series[0] || x->done >= SINGLE);
        FC_TRY(some ? some_rounds(x, COUNTED, e) : round_of(x, e));
    }
    return FUSEC_OK;
}

/* What a loop without rounds, or one that ended early, has in another place than that of the
 * result. */
static fusec_status bring_home(const rounds *x, fc_error *e) {
    fc_device *d = x->c->p->device;
    const uint32_t c = x->body->loop.condition;
    for (uint32_t i = 0; i < x->body->loop.carried; i++) {
        void *home = main_place(x, c + i);
        if (x->l->buffer[c + i] != UINT32_MAX && x->now[i] != home)
            FC_TRY(d->ops->copy(d, x->c->stream, home, x->now[i], x->l->bytes[c + i], e));
    }
    return FUSEC_OK;
}

/* Indices outside, which a device with memory of its own has noted. */
static fusec_status look_outside(const rounds *x, fc_error *e) {
    fc_program *body = x->l->body;
    fc_bound *b;
    if (!body->report || !x->done) return FUSEC_OK;
    FC_TRY(fc_bound_get(body, x->body->nin, x->in, x->l->ndims, x->l->dims, 64, FC_NO_CODE, &b, e));
    const fusec_status s = fc_outside_wait(body, b, x->c->stream, e);
    fc_bound_release(body, b);
    return s;
}

fusec_status fc_loop_run(const fc_step_call *c, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    rounds x = {
        .c = c, .s = s, .body = c->p->plan->bodies.at[s->body], .l = c->b->steps[c->step].loop};
    const uint32_t nin = x.body->nin, nout = outputs_of(&x);
    x.single = !fc_series_possible(x.l->body, c->stream);
    fc_arena arena;
    fc_arena_init(&arena, c->p->alloc);
    x.in = fc_arena_alloc(&arena, (COUNTED * nin + 1) * sizeof *x.in);
    x.out = fc_arena_alloc(&arena, (COUNTED * nout + 1) * sizeof *x.out);
    x.now = fc_arena_alloc(&arena, (nout + 1) * sizeof *x.now);
    x.scalars = fc_arena_alloc(&arena, (nin + 1) * sizeof *x.scalars);
    fusec_status r = x.in && x.out && x.now && x.scalars ? FUSEC_OK : fc_oom(e);
    const uint32_t start = fc_loop_first_start(x.body->loop);
    for (uint32_t i = 0; !r && i < x.body->loop.carried; i++)
        x.now[i] = c->at[s->in[start + i].buffer];
    if (!r) r = count_rounds(&x, e);
    if (!r) r = set_inputs(&x, e);
    take_series(&x);
    if (!r) r = all_rounds(&x, e);
    put_series(&x);
    if (!r) r = bring_home(&x, e);
    if (!r) r = look_outside(&x, e);
    fc_arena_free(&arena);
    return r;
}
