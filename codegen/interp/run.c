/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run.c - runs tapes over a range of a nest, FC_LANES neighbours at a time.
 *
 * In a map and in outer reductions the lanes are neighbouring elements (rows) of the kept axes; in
 * inner reductions they are neighbouring elements of one row. Either way a group of axes is
 * flattened into one line of positions, a block is FC_LANES consecutive ones, and the other group
 * stands still (`base`). The reduction trees are those of codegen/nest.h: partial results wait in a
 * binary counter, whose level k holds a finished subtree of 2^k chunks or runs. */
#include "codegen/interp/tape.h"
#include "ir/eval.h"
#include "ir/plant.h"

enum { MAX_LEVELS = 64 };

/* The frames and the counter of one reduction. */
typedef struct partials {
    char *init, *step, *combine, *finish; /* frames of the programs */
    char *stack;                          /* [levels][components] blocks */
    uint32_t components;
    char *prefix;    /* of a scan: accumulators of all runs so far */
    uint64_t pushed; /* bit k: level k is taken */
} partials;

typedef struct run_state {
    const fc_interp *ip;
    const int64_t *words;
    fc_layout at;
    uint32_t axes, np;
    uint32_t lane_axis, lane_axes; /* the flattened group: first axis, how many */
    uint32_t fixed_axis, fixed_axes;
    int64_t count;
    int64_t *base;             /* [naccess] element offset of the standing position */
    int64_t lane[FC_MAX_AXES]; /* position of the block's first lane in its group */
    char *frame;
    char **loop; /* frames of the loops */
    partials *partial;
} run_state;

static char *slot_at(char *frame, uint32_t slot) {
    return frame + (size_t)slot * FC_SLOT_BYTES;
}
static int64_t extent_of(const run_state *r, uint32_t axis) {
    return r->words[r->at.extents + axis];
}
static const int64_t *access_words(const run_state *r, uint32_t access) {
    return r->words + r->at.accesses + (size_t)access * (1 + r->axes); /* offset, then strides */
}
static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- positions ------------------------------------------------------------------------------- */

static void split_position(const run_state *r, uint32_t axis, uint32_t n, int64_t flat,
                           int64_t *index) {
    for (uint32_t i = n; i-- > 0;) {
        int64_t extent = extent_of(r, axis + i);
        index[i] = extent > 0 ? flat % extent : 0; /* rows of no elements stand at 0 */
        flat = extent > 0 ? flat / extent : 0;
    }
}

/* Puts the standing group at position `flat` of it. */
static void stand_at(run_state *r, int64_t flat) {
    int64_t index[FC_MAX_AXES];
    split_position(r, r->fixed_axis, r->fixed_axes, flat, index);
    for (uint32_t a = 0; a < r->ip->accesses.len; a++) {
        const int64_t *w = access_words(r, a);
        r->base[a] = w[0];
        for (uint32_t i = 0; i < r->fixed_axes; i++)
            r->base[a] += index[i] * w[1 + r->fixed_axis + i];
    }
}

static void lanes_from(run_state *r, int64_t flat) {
    split_position(r, r->lane_axis, r->lane_axes, flat, r->lane);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef enum direction { LOADING, STORING, INDEXING } direction;

static void move_run(const run_state *r, const fc_interp_access *a, direction d, int64_t offset,
                     int64_t stride, size_t n, char *block) {
    if (d == INDEXING) {
        for (size_t i = 0; i < n; i++) {
            int64_t value = offset + (int64_t)i * stride;
            memcpy(block + i * sizeof value, &value, sizeof value);
        }
        return;
    }
    fusec_dtype t = (fusec_dtype)a->dtype;
    char *array = (char *)(intptr_t)r->words[r->at.args + a->buffer];
    char *p = array + offset * fc_dtypes[t].bytes;
    if (d == LOADING)
        fc_eval_load(t, n, p, stride, block);
    else
        fc_eval_store(t, n, block, p, stride);
}

/* Moves n lanes from the current lane position on: one strided run for each line of the innermost
 * axis. */
static void move_lanes(const run_state *r, uint32_t access, direction d, size_t n, char *block) {
    const fc_interp_access *a = &r->ip->accesses.at[access];
    size_t size = d == INDEXING ? sizeof(int64_t) : fc_eval_size((fusec_dtype)a->dtype);
    const int64_t *stride = access_words(r, access) + 1 + r->lane_axis;
    uint32_t inner = r->lane_axes - 1;
    int64_t offset = r->base[access], index[FC_MAX_AXES];
    for (uint32_t i = 0; i <= inner; i++) {
        index[i] = r->lane[i];
        offset += index[i] * stride[i];
    }
    for (size_t done = 0; done < n;) {
        int64_t left = extent_of(r, r->lane_axis + inner) - index[inner];
        size_t now = (size_t)smaller(left, (int64_t)(n - done));
        move_run(r, a, d, offset, stride[inner], now, block + done * size);
        done += now;
        offset += (int64_t)now * stride[inner];
        index[inner] += (int64_t)now;
        for (uint32_t i = inner; i > 0 && index[i] == extent_of(r, r->lane_axis + i); i--) {
            offset += stride[i - 1] - index[i] * stride[i];
            index[i] = 0;
            index[i - 1] += 1;
        }
    }
}

/* In an inner reduction a row's own values are the same in all lanes. */
static bool one_per_row(const run_state *r, uint32_t access) {
    return r->ip->schedule == FC_SCHED_INNER && r->ip->accesses.at[access].level == FC_ROW;
}

static void move_block(const run_state *r, uint32_t access, direction d, size_t n, char *block) {
    if (!one_per_row(r, access))
        move_lanes(r, access, d, n, block);
    else
        move_run(r, &r->ip->accesses.at[access], d, r->base[access], 0, d == STORING ? 1 : n,
                 block);
}

/* Elements of an argument wherever `when` holds, else 0. */
static void load_at(const run_state *r, const fc_step *s, const char *element, const char *when,
                    size_t n, char *block) {
    const fusec_dtype t = (fusec_dtype)s->to;
    const char *array = (const char *)(intptr_t)r->words[r->at.args + s->imm];
    const size_t size = fc_eval_size(t);
    memset(block, 0, n * size);
    for (size_t i = 0; i < n; i++) {
        int64_t at;
        memcpy(&at, element + i * sizeof at, sizeof at);
        if (!when[i]) continue;
        fc_eval_load(t, 1, array + at * fc_dtypes[t].bytes, 0, block + i * size);
    }
}

static void check_inside(const run_state *r, const fc_step *s, const char *frame, size_t n,
                         char *block) {
    uint64_t *report = (uint64_t *)(intptr_t)r->words[r->at.extra + FC_PB_REPORT];
    for (size_t i = 0; i < n; i++) {
        int64_t v[3];
        memcpy(&v[0], frame + (size_t)s->a * FC_SLOT_BYTES + i * sizeof v[0], sizeof v[0]);
        memcpy(&v[1], frame + (size_t)s->b * FC_SLOT_BYTES + i * sizeof v[0], sizeof v[0]);
        memcpy(&v[2], frame + (size_t)s->c * FC_SLOT_BYTES + i * sizeof v[0], sizeof v[0]);
        block[i] = v[0] >= 0 && v[0] < v[1];
        if (!block[i] && v[2] >= 0 && report)
            fc_report_outside(report, (uint32_t)s->imm, v[2], v[0]);
    }
}

#define TAKE_IN(T)                                                                                 \
    do {                                                                                           \
        T *to = (T *)(void *)p, x, old, now;                                                       \
        memcpy(&x, v, sizeof x);                                                                   \
        old = __atomic_load_n(to, __ATOMIC_RELAXED);                                               \
        do {                                                                                       \
            now = op == FC_OP_sum                         ? (T)((uint64_t)old + (uint64_t)x)       \
                  : (op == FC_OP_min ? x < old : x > old) ? x                                      \
                                                          : old;                                   \
        } while (now != old && !__atomic_compare_exchange_n(to, &old, now, true, __ATOMIC_RELAXED, \
                                                            __ATOMIC_RELAXED));                    \
    } while (0)

/* An element takes a value in, while other threads do the same. */
static void take_in(fc_op op, fusec_dtype t, char *p, const char *v) {
    switch (t) {
    case FUSEC_I32: TAKE_IN(int32_t); return;
    case FUSEC_U32: TAKE_IN(uint32_t); return;
    case FUSEC_I64: TAKE_IN(int64_t); return;
    default: TAKE_IN(uint64_t); return;
    }
}

static void put_at(const run_state *r, const fc_step *s, const char *frame, size_t n, char *block) {
    const fc_interp_update *u = &r->ip->updates.at[s->imm];
    const fusec_dtype t = (fusec_dtype)u->dtype;
    const size_t size = fc_eval_size(t);
    char *array = (char *)(intptr_t)r->words[r->at.args + u->arg];
    const char *element = frame + (size_t)s->a * FC_SLOT_BYTES,
               *when = frame + (size_t)s->b * FC_SLOT_BYTES,
               *value = frame + (size_t)s->c * FC_SLOT_BYTES;
    for (size_t i = 0; i < n; i++) {
        int64_t at;
        memcpy(&at, element + i * sizeof at, sizeof at);
        block[i] = when[i];
        if (!when[i] || (FC_PLANTED(scatter_lane) && i + 1 == n)) continue;
        char *p = array + at * fc_dtypes[t].bytes;
        if (u->op == FC_OP_NONE)
            fc_eval_store(t, 1, value + i * size, p, 0);
        else
            take_in((fc_op)u->op, t, p, value + i * size);
    }
}

/* ---- tapes ----------------------------------------------------------------------------------- */

/* Repeats the first value of a block. */
static void splat(char *block, size_t size, size_t n) {
    for (size_t i = 1; i < n; i++) memcpy(block + i * size, block, size);
}

static void run_tape(const run_state *r, const fc_tape *tape, char *frame, size_t n);

static bool any_of(const char *flag, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (flag[i]) return true;
    return false;
}

/* The lanes make rounds until the last one of them stops. */
static void run_loop(const run_state *r, const fc_step *s, char *frame, size_t n) {
    const fc_interp_loop *d = &r->ip->loops.at[s->imm];
    char *own = r->loop[s->imm];
    int64_t k, end;
    memcpy(&k, slot_at(frame, d->operand[0]), sizeof k);
    const int64_t first = FC_PLANT(loop_counter, k, 0);
    memcpy(&end, slot_at(frame, d->operand[1]), sizeof end);
    for (uint32_t i = 0; i < d->nvalues; i++)
        memcpy(slot_at(own, FC_ARG_VALUE + i), slot_at(frame, d->operand[FC_REPEAT_BOUNDS + i]),
               d->size[i] * n);
    end -= FC_PLANTED(loop_rounds) && k < end;
    for (; k < end; k++) {
        const int64_t counter = k - first;
        fc_eval_load(FUSEC_I64, n, &counter, 0, slot_at(own, FC_ARG_COUNTER));
        run_tape(r, &d->round.body, own, n);
        if (d->condition && !any_of(slot_at(own, d->round.out[0]), FC_PLANT(loop_lanes, 1, n)))
            break;
        for (uint32_t i = 0; i < d->ncarried; i++)
            memcpy(slot_at(own, FC_ARG_VALUE + i), slot_at(own, d->round.out[d->condition + i]),
                   d->size[i] * n);
    }
}

static void loop_result(const run_state *r, const fc_step *s, size_t n, char *dst) {
    memcpy(dst, slot_at(r->loop[s->a], FC_ARG_VALUE + (uint32_t)s->imm),
           n * fc_eval_size((fusec_dtype)s->to));
}

static void call_extern(const run_state *r, const fc_step *s, char *frame, size_t n, char *dst) {
    const uint32_t param = r->ip->externs.at[s->imm].param;
    const fc_extern *x = (const fc_extern *)(intptr_t)r->words[r->at.params + param];
    const void *in[FC_MAX_EXTERN];
    for (unsigned i = 0; i < x->nargs; i++) in[i] = slot_at(frame, r->ip->operands.at[s->a + i]);
    x->fn(x->user, (int64_t)n, in, dst);
}

static void run_step(const run_state *r, const fc_step *s, char *frame, size_t n) {
    char *dst = slot_at(frame, s->dst);
    fusec_dtype t = (fusec_dtype)s->t;
    switch (s->op) {
    case FC_OP_CONST: fc_eval_load(t, n, &s->imm, 0, dst); return;
    case FC_OP_PARAM: fc_eval_load(t, n, &r->words[r->at.params + s->imm], 0, dst); return;
    case FC_OP_COUNT: fc_eval_load(FUSEC_I64, n, &r->count, 0, dst); return;
    case FC_OP_LOAD: move_block(r, (uint32_t)s->imm, LOADING, n, dst); return;
    case FC_OP_INDEX: move_block(r, (uint32_t)s->imm, INDEXING, n, dst); return;
    case FC_OP_LOAD_AT: load_at(r, s, slot_at(frame, s->a), slot_at(frame, s->b), n, dst); return;
    case FC_OP_INSIDE: check_inside(r, s, frame, n, dst); return;
    case FC_OP_PUT_AT: put_at(r, s, frame, n, dst); return;
    case FC_OP_ROUNDS: run_loop(r, s, frame, n); return;
    case FC_OP_RESULT: loop_result(r, s, n, dst); return;
    case FC_OP_EXTERN: call_extern(r, s, frame, n, dst); return;
    case FC_OP_NONE: memcpy(dst, slot_at(frame, s->a), n * fc_eval_size(t)); return;
    default:
        fc_eval((fc_op)s->op, t, (fusec_dtype)s->to, n, slot_at(frame, s->a), slot_at(frame, s->b),
                slot_at(frame, s->c), dst);
    }
}

static void run_tape(const run_state *r, const fc_tape *tape, char *frame, size_t n) {
    for (size_t i = 0; i < tape->steps.len; i++) run_step(r, &tape->steps.at[i], frame, n);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static char *level_at(const partials *p, unsigned level, int component) {
    return p->stack + ((size_t)level * p->components + (size_t)component) * FC_SLOT_BYTES;
}

/* Accumulators are operands 0.. of the step's frame. */
static void start_partial(const run_state *r, uint32_t red) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    partials *p = &r->partial[red];
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(slot_at(p->step, i), slot_at(p->init, d->init.out[i]),
               (size_t)d->size[i] * FC_LANES);
}

static void step_partial(const run_state *r, uint32_t red, int64_t index, int64_t index_step,
                         size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    char *frame = r->partial[red].step;
    for (uint32_t i = 0; i < d->nvalues; i++)
        memcpy(slot_at(frame, FC_ARG_ELEMENT + i), slot_at(r->frame, d->value[i]),
               d->value_size[i] * n);
    char *to = slot_at(frame, FC_ARG_INDEX);
    for (size_t i = 0; d->indexed && i < n; i++) {
        int64_t at = index + (int64_t)i * index_step;
        memcpy(to + i * sizeof at, &at, sizeof at);
    }
    run_tape(r, &d->step.body, frame, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(slot_at(frame, i), slot_at(frame, d->step.out[i]), d->size[i] * n);
}

/* Combines the operands that stand in the combine frame into the accumulators. */
static void combine_to_accumulators(const run_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    partials *p = &r->partial[red];
    run_tape(r, &d->combine.body, p->combine, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(slot_at(p->step, i), slot_at(p->combine, d->combine.out[i]), d->size[i] * n);
}

static void copy_strided(char *to, const char *from, size_t size,
                         size_t n) { /* every second value */
    const size_t step = FC_PLANT(lane_order, 1, 2);
    for (size_t i = 0; i < n; i++) memcpy(to + i * size, from + step * i * size, size);
}

/* Lanes 0..used-1 of the accumulators, pairwise into lane 0. Lanes from `used` on hold the start
 * value, which combines as a no-op, so levels made of nothing else are left out. */
static void combine_lanes(const run_state *r, uint32_t red, size_t used) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    partials *p = &r->partial[red];
    size_t width = 1;
    while (width < used) width *= 2;
    while (width > 1) {
        width /= 2;
        for (uint32_t i = 0; i < d->ncomponents; i++) {
            const char *acc = slot_at(p->step, i);
            copy_strided(slot_at(p->combine, i), acc, d->size[i], width);
            const char *later = acc + FC_PLANT(lane_order, width, 1) * d->size[i];
            copy_strided(slot_at(p->combine, FC_ARG_LATER + i), later, d->size[i], width);
        }
        combine_to_accumulators(r, red, width);
    }
}

/* Combines a waiting subtree (earlier elements) with the accumulators (later ones). */
static void combine_level(const run_state *r, uint32_t red, unsigned level, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    partials *p = &r->partial[red];
    for (uint32_t i = 0; i < d->ncomponents; i++) {
        memcpy(slot_at(p->combine, i), level_at(p, level, (int)i), d->size[i] * n);
        memcpy(slot_at(p->combine, FC_ARG_LATER + i), slot_at(p->step, i), d->size[i] * n);
    }
    combine_to_accumulators(r, red, n);
}

/* A finished chunk or run stands in the accumulators: counts it in. */
static void push_partial(const run_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    partials *p = &r->partial[red];
    unsigned level = 0;
    for (; p->pushed >> level & 1; level++) combine_level(r, red, level, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(level_at(p, level, (int)i), slot_at(p->step, i), d->size[i] * n);
    p->pushed += 1;
}

/* Combines what waits into the accumulators, from the latest elements to the earliest. */
static void fold_partials(const run_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    const partials *p = &r->partial[red];
    bool any = false;
    start_partial(r, red);
    for (unsigned level = 0; level < MAX_LEVELS; level++) {
        if (!(p->pushed >> level & 1)) continue;
        if (any) combine_level(r, red, level, n);
        for (uint32_t i = 0; !any && i < d->ncomponents; i++)
            memcpy(slot_at(p->step, i), level_at(p, level, (int)i), d->size[i] * n);
        any = true;
    }
}

/* The result of n lanes from what stands in the finish frame. */
static void finish_lanes(const run_state *r, uint32_t red, size_t n, size_t width) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    const partials *p = &r->partial[red];
    fc_eval_load(FUSEC_I64, n, &r->count, 0, slot_at(p->finish, FC_ARG_COUNT));
    run_tape(r, &d->finish.body, p->finish, n);
    for (uint32_t i = 0; i < d->nresults; i++) {
        char *result = slot_at(r->frame, d->result + i);
        memcpy(result, slot_at(p->finish, d->finish.out[i]), d->result_size[i] * n);
        if (width > n) splat(result, d->result_size[i], width);
    }
}

static void finish_reduction(const run_state *r, uint32_t red, size_t n, size_t width) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    partials *p = &r->partial[red];
    fold_partials(r, red, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(slot_at(p->finish, i), slot_at(p->step, i), d->size[i] * n);
    finish_lanes(r, red, n, width);
    p->pushed = 0;
}

#define FOR_STAGE(r, s, i)                                                                         \
    for (uint32_t i = 0; i < (r)->ip->reductions.len; i++)                                         \
        if ((r)->ip->reductions.at[i].stage == (s))

/* ---- inner: one row, lanes along it ---------------------------------------------------------- */

static void inner_chunk(run_state *r, uint32_t s, int64_t from) {
    int64_t end = smaller(r->count - from, FC_CHUNK);
    FOR_STAGE(r, s, i) start_partial(r, i);
    for (int64_t at = 0; at < end; at += FC_LANES) {
        size_t n = (size_t)smaller(end - at, FC_LANES);
        lanes_from(r, from + at);
        run_tape(r, &r->ip->phases.at[s].point, r->frame, n);
        FOR_STAGE(r, s, i) step_partial(r, i, from + at, 1, n);
    }
    FOR_STAGE(r, s, i) {
        combine_lanes(r, i, (size_t)smaller(end, FC_LANES));
        push_partial(r, i, 1);
    }
}

static void store_block(const run_state *r, size_t n, fc_level level) {
    for (size_t i = 0; i < r->ip->stores.len; i++) {
        const fc_store *s = &r->ip->stores.at[i];
        if (r->ip->accesses.at[s->access].level == level)
            move_block(r, s->access, STORING, n, slot_at(r->frame, s->value));
    }
}

static bool stores_points(const fc_interp *ip) {
    for (size_t i = 0; i < ip->stores.len; i++)
        if (ip->accesses.at[ip->stores.at[i].access].level == FC_POINT) return true;
    return false;
}

static void inner_row(run_state *r, int64_t row) {
    const fc_interp *ip = r->ip;
    size_t width = (size_t)smaller(r->count, FC_LANES); /* lanes that row values are needed in */
    if (width == 0) width = 1;
    stand_at(r, row);
    for (uint32_t s = 0; s <= ip->nstages; s++) {
        run_tape(r, &ip->phases.at[s].row, r->frame, width);
        if (s == ip->nstages) break;
        for (int64_t from = 0; from < r->count; from += FC_CHUNK) inner_chunk(r, s, from);
        FOR_STAGE(r, s, i) finish_reduction(r, i, 1, width);
    }
    store_block(r, 1, FC_ROW);
    for (int64_t from = 0; stores_points(ip) && from < r->count; from += FC_LANES) {
        size_t n = (size_t)smaller(r->count - from, FC_LANES);
        lanes_from(r, from);
        run_tape(r, &ip->phases.at[ip->nstages].point, r->frame, n);
        store_block(r, n, FC_POINT);
    }
}

/* Elements of a run of columns. */
static int64_t run_of(const fc_interp *ip) {
    if (ip->schedule == FC_SCHED_DOT) return FC_PLANT(dot_chunk, FC_DOT_CHUNK - 1, FC_DOT_CHUNK);
    return FC_PLANT(run_length, FC_RUN / 2, FC_RUN);
}

/* ---- outer: neighbouring rows are the lanes -------------------------------------------------- */

static void outer_stage(run_state *r, uint32_t s, size_t n) {
    const int64_t run = run_of(r->ip);
    for (int64_t from = 0; from < r->count; from += run) {
        FOR_STAGE(r, s, i) start_partial(r, i);
        for (int64_t at = from; at < smaller(r->count, from + run); at++) {
            stand_at(r, at);
            run_tape(r, &r->ip->phases.at[s].point, r->frame, n);
            FOR_STAGE(r, s, i) step_partial(r, i, at, 0, n);
        }
        FOR_STAGE(r, s, i) push_partial(r, i, n);
    }
    FOR_STAGE(r, s, i) finish_reduction(r, i, n, n);
}

static void outer_rows(run_state *r, int64_t row, size_t n) {
    const fc_interp *ip = r->ip;
    lanes_from(r, row);
    for (uint32_t s = 0; s <= ip->nstages; s++) {
        stand_at(r, 0);
        run_tape(r, &ip->phases.at[s].row, r->frame, n);
        if (s < ip->nstages) outer_stage(r, s, n);
    }
    store_block(r, n, FC_ROW);
    for (int64_t at = 0; stores_points(ip) && at < r->count; at++) {
        stand_at(r, at);
        run_tape(r, &ip->phases.at[ip->nstages].point, r->frame, n);
        store_block(r, n, FC_POINT);
    }
}

/* ---- scan: as outer, with a result at every element --------------------------------------------
 */

/* The elements of all runs so far, for the lanes; what a run adds comes behind it. */
static void keep_prefix(const run_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    const partials *p = &r->partial[red];
    fold_partials(r, red, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(slot_at(p->prefix, i), slot_at(p->step, i), d->size[i] * n);
    start_partial(r, red);
}

/* The result of the prefix that ends where the run stands. */
static void scan_result(const run_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    const partials *p = &r->partial[red];
    const bool first = !p->pushed;
    for (uint32_t i = 0; i < d->ncomponents; i++) {
        memcpy(slot_at(p->combine, i), slot_at(p->prefix, i), d->size[i] * n);
        memcpy(slot_at(p->combine, FC_ARG_LATER + i), slot_at(p->step, i), d->size[i] * n);
    }
    if (!first) run_tape(r, &d->combine.body, p->combine, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(slot_at(p->finish, i),
               first ? slot_at(p->step, i) : slot_at(p->combine, d->combine.out[i]),
               d->size[i] * n);
    finish_lanes(r, red, n, n);
}

static void scan_element(run_state *r, int64_t at, size_t n) {
    stand_at(r, at);
    run_tape(r, &r->ip->phases.at[0].point, r->frame, n);
    for (uint32_t i = 0; i < r->ip->reductions.len; i++) {
        const bool before = FC_PLANT(exclusive_scan, !r->ip->reductions.at[i].exclusive,
                                     r->ip->reductions.at[i].exclusive);
        if (before) scan_result(r, i, n);
        step_partial(r, i, at, 0, n);
        if (!before) scan_result(r, i, n);
    }
    run_tape(r, &r->ip->phases.at[1].point, r->frame, n);
    store_block(r, n, FC_POINT);
}

static void scan_rows(run_state *r, int64_t row, size_t n) {
    const fc_interp *ip = r->ip;
    const int64_t run = FC_PLANT(run_length, FC_RUN / 2, FC_RUN);
    lanes_from(r, row);
    stand_at(r, 0);
    for (uint32_t s = 0; s <= ip->nstages; s++) run_tape(r, &ip->phases.at[s].row, r->frame, n);
    for (int64_t from = 0; from < r->count; from += run) {
        FOR_STAGE(r, 0, i) {
            keep_prefix(r, i, n);
        }
        for (int64_t at = from; at < smaller(r->count, from + run); at++) scan_element(r, at, n);
        FOR_STAGE(r, 0, i) {
            if (!FC_PLANTED(scan_runs) || from / run % 2 == 0) push_partial(r, i, n);
        }
    }
    FOR_STAGE(r, 0, i) {
        r->partial[i].pushed = 0;
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static unsigned levels_of(const run_state *r) {
    int64_t piece = r->ip->schedule == FC_SCHED_INNER ? FC_CHUNK : run_of(r->ip);
    unsigned levels = 2;
    for (int64_t n = r->count / piece; n > 0; n /= 2) levels++;
    return levels;
}

static size_t program_bytes(const fc_program *p) {
    return (size_t)p->nslots * FC_SLOT_BYTES;
}

/* Lays the frames into one piece of memory; with memory NULL only measures it. */
static size_t place(run_state *r, char *memory) {
    size_t at = ((size_t)r->ip->nslots + 1) * FC_SLOT_BYTES;
    if (memory) r->frame = memory;
    for (size_t i = 0; i < r->ip->reductions.len; i++) {
        const fc_interp_reduction *d = &r->ip->reductions.at[i];
        size_t init = at, step = init + program_bytes(&d->init),
               combine = step + program_bytes(&d->step);
        size_t finish = combine + program_bytes(&d->combine),
               stack = finish + program_bytes(&d->finish);
        size_t prefix = stack + (size_t)levels_of(r) * d->ncomponents * FC_SLOT_BYTES;
        at = prefix + (size_t)d->ncomponents * FC_SLOT_BYTES;
        if (!memory) continue;
        r->partial[i] = (partials){.init = memory + init,
                                   .step = memory + step,
                                   .combine = memory + combine,
                                   .finish = memory + finish,
                                   .stack = memory + stack,
                                   .components = d->ncomponents,
                                   .prefix = memory + prefix};
    }
    for (size_t i = 0; i < r->ip->loops.len; i++) {
        if (memory) r->loop[i] = memory + at;
        at += program_bytes(&r->ip->loops.at[i].round);
    }
    return at;
}

static void fill_constants(const run_state *r) {
    for (size_t i = 0; i < r->ip->loops.len; i++)
        run_tape(r, &r->ip->loops.at[i].round.once, r->loop[i], FC_LANES);
    run_tape(r, &r->ip->once, r->frame, FC_LANES);
    for (uint32_t i = 0; i < r->ip->reductions.len; i++) {
        const fc_interp_reduction *d = &r->ip->reductions.at[i];
        const partials *p = &r->partial[i];
        run_tape(r, &d->init.once, p->init, FC_LANES);
        run_tape(r, &d->init.body, p->init, FC_LANES);
        run_tape(r, &d->step.once, p->step, FC_LANES);
        run_tape(r, &d->combine.once, p->combine, FC_LANES);
        run_tape(r, &d->finish.once, p->finish, FC_LANES);
    }
}

static void run_range(run_state *r, int64_t begin, int64_t end) {
    fc_schedule schedule = r->ip->schedule;
    fill_constants(r);
    if (schedule == FC_SCHED_MAP) stand_at(r, 0);
    for (int64_t i = begin; i < end; i += schedule == FC_SCHED_INNER ? 1 : FC_LANES) {
        size_t n = (size_t)smaller(end - i, FC_LANES);
        if (schedule == FC_SCHED_INNER) {
            inner_row(r, i);
        } else if (schedule == FC_SCHED_SCAN) {
            scan_rows(r, i, n);
        } else if (schedule == FC_SCHED_OUTER || schedule == FC_SCHED_DOT) {
            outer_rows(r, i, n);
        } else {
            lanes_from(r, i);
            run_tape(r, &r->ip->phases.at[0].point, r->frame, n);
            store_block(r, n, FC_POINT);
        }
    }
}

/* Bytes of everything a run of `count` elements works with. */
static size_t run_bytes(run_state *r) {
    return place(r, NULL) + r->ip->reductions.len * sizeof *r->partial +
           r->ip->accesses.len * sizeof *r->base + r->ip->loops.len * sizeof *r->loop;
}

static void run_in(run_state *r, char *memory, int64_t begin, int64_t end) {
    size_t bytes = place(r, NULL);
    r->partial = (partials *)(void *)(memory + bytes);
    r->base = (int64_t *)(void *)(memory + bytes + r->ip->reductions.len * sizeof *r->partial);
    r->loop = (char **)(void *)(r->base + r->ip->accesses.len);
    place(r, memory);
    run_range(r, begin, end);
}

bool fc_interp_make_spare(fc_interp *ip) {
    run_state r = {.ip = ip, .count = INT64_MAX};
    size_t head = (sizeof *ip->spare + 63) / 64 * 64; /* slots stay aligned */
    ip->spare = fc_malloc(ip->alloc, head + run_bytes(&r));
    if (!ip->spare) return false;
    pthread_mutex_init(&ip->spare->turn, NULL);
    ip->spare->memory = (char *)ip->spare + head;
    return true;
}

void fc_interp_run(const fc_interp *ip, const fc_class *cls, const int64_t *words, int64_t begin,
                   int64_t end) {
    uint32_t axes = (uint32_t)cls->np + cls->nr, naccess = (uint32_t)ip->accesses.len;
    bool inner = ip->schedule == FC_SCHED_INNER;
    run_state r = {.ip = ip, .words = words, .axes = axes, .np = cls->np};
    if (begin >= end) return;
    r.at = fc_layout_of(ip->nargs, axes, naccess, ip->nparams);
    r.count = words[r.at.extra + FC_PB_COUNT];
    r.lane_axis = inner ? r.np : 0;
    r.lane_axes = inner ? cls->nr : r.np;
    r.fixed_axis = inner ? 0 : r.np;
    r.fixed_axes = inner ? r.np : cls->nr;
    char *memory = fc_malloc(ip->alloc, run_bytes(&r));
    if (memory) {
        run_in(&r, memory, begin, end);
        fc_free(ip->alloc, memory);
        return;
    }
    pthread_mutex_lock(&ip->spare->turn);
    run_in(&r, ip->spare->memory, begin, end);
    pthread_mutex_unlock(&ip->spare->turn);
}
