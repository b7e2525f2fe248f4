/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run.c - runs tapes over a range of a nest, FC_LANES neighbours at a time.
 *
 * In a map and in outer reductions the lanes are neighbouring elements (rows) of the kept axes; in
 * inner reductions they are neighbouring elements of one row. Either way a group of axes is
 * flattened into one line of positions, a block is FC_LANES consecutive ones, and the other group
 * stands still (`base`). The reduction trees are those of ir/graph.h: partial results wait in a
 * binary counter, whose level k holds a finished subtree of 2^k chunks or runs. */
#include "codegen/interp/run.h"
#include "ir/eval.h"
#include "ir/plant.h"

enum { MAX_LEVELS = 64 };

/* ---- positions ------------------------------------------------------------------------------- */

static void split_position(const fc_interp_state *r, uint32_t axis, uint32_t n, int64_t flat,
                           int64_t *index) {
    for (uint32_t i = n; i-- > 0;) {
        int64_t extent = fc_interp_extent(r, axis + i);
        index[i] = extent > 0 ? flat % extent : 0; /* rows of no elements stand at 0 */
        flat = extent > 0 ? flat / extent : 0;
    }
}

/* Puts the standing group at position `flat` of it. */
static void stand_at(fc_interp_state *r, int64_t flat) {
    int64_t index[FC_MAX_AXES];
    split_position(r, r->fixed_axis, r->fixed_axes, flat, index);
    for (uint32_t a = 0; a < r->ip->accesses.len; a++) {
        const int64_t *w = fc_interp_access_words(r, a);
        r->base[a] = w[0];
        for (uint32_t i = 0; i < r->fixed_axes; i++)
            r->base[a] += index[i] * w[1 + r->fixed_axis + i];
    }
}

static void lanes_from(fc_interp_state *r, int64_t flat) {
    split_position(r, r->lane_axis, r->lane_axes, flat, r->lane);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static char *level_at(const fc_interp_partials *p, unsigned level, int component) {
    return p->stack + ((size_t)level * p->components + (size_t)component) * FC_SLOT_BYTES;
}

/* Accumulators are operands 0.. of the step's frame. */
static void start_partial(const fc_interp_state *r, uint32_t red) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    fc_interp_partials *p = &r->partial[red];
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(fc_interp_slot(p->step, i), fc_interp_slot(p->init, d->init.out[i]),
               (size_t)d->size[i] * FC_LANES);
}

static void step_partial(const fc_interp_state *r, uint32_t red, int64_t index, int64_t index_step,
                         size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    char *frame = r->partial[red].step;
    for (uint32_t i = 0; i < d->nvalues; i++)
        memcpy(fc_interp_slot(frame, FC_ARG_ELEMENT + i), fc_interp_slot(r->frame, d->value[i]),
               d->value_size[i] * n);
    char *to = fc_interp_slot(frame, FC_ARG_INDEX);
    for (size_t i = 0; d->indexed && i < n; i++) {
        int64_t at = index + (int64_t)i * index_step;
        memcpy(to + i * sizeof at, &at, sizeof at);
    }
    fc_interp_tape(r, &d->step.body, frame, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(fc_interp_slot(frame, i), fc_interp_slot(frame, d->step.out[i]), d->size[i] * n);
}

/* Combines the operands that stand in the combine frame into the accumulators. */
static void combine_to_accumulators(const fc_interp_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    fc_interp_partials *p = &r->partial[red];
    fc_interp_tape(r, &d->combine.body, p->combine, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(fc_interp_slot(p->step, i), fc_interp_slot(p->combine, d->combine.out[i]),
               d->size[i] * n);
}

static void copy_strided(char *to, const char *from, size_t size,
                         size_t n) { /* every second value */
    const size_t step = FC_PLANT(lane_order, 1, 2);
    for (size_t i = 0; i < n; i++) memcpy(to + i * size, from + step * i * size, size);
}

/* Lanes 0..used-1 of the accumulators, pairwise into lane 0. Lanes from `used` on hold the start
 * value, which combines as a no-op, so levels made of nothing else are left out. */
static void combine_lanes(const fc_interp_state *r, uint32_t red, size_t used) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    fc_interp_partials *p = &r->partial[red];
    size_t width = 1;
    while (width < used) width *= 2;
    while (width > 1) {
        width /= 2;
        for (uint32_t i = 0; i < d->ncomponents; i++) {
            const char *acc = fc_interp_slot(p->step, i);
            copy_strided(fc_interp_slot(p->combine, i), acc, d->size[i], width);
            const char *later = acc + FC_PLANT(lane_order, width, 1) * d->size[i];
            copy_strided(fc_interp_slot(p->combine, FC_ARG_LATER + i), later, d->size[i], width);
        }
        combine_to_accumulators(r, red, width);
    }
}

/* Combines a waiting subtree (earlier elements) with the accumulators (later ones). */
static void combine_level(const fc_interp_state *r, uint32_t red, unsigned level, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    fc_interp_partials *p = &r->partial[red];
    for (uint32_t i = 0; i < d->ncomponents; i++) {
        memcpy(fc_interp_slot(p->combine, i), level_at(p, level, (int)i), d->size[i] * n);
        memcpy(fc_interp_slot(p->combine, FC_ARG_LATER + i), fc_interp_slot(p->step, i),
               d->size[i] * n);
    }
    combine_to_accumulators(r, red, n);
}

/* A finished chunk or run stands in the accumulators: counts it in. */
static void push_partial(const fc_interp_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    fc_interp_partials *p = &r->partial[red];
    unsigned level = 0;
    for (; p->pushed >> level & 1; level++) combine_level(r, red, level, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(level_at(p, level, (int)i), fc_interp_slot(p->step, i), d->size[i] * n);
    p->pushed += 1;
}

/* Combines what waits into the accumulators, from the latest elements to the earliest. */
static void fold_partials(const fc_interp_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    const fc_interp_partials *p = &r->partial[red];
    bool any = false;
    start_partial(r, red);
    for (unsigned level = 0; level < MAX_LEVELS; level++) {
        if (!(p->pushed >> level & 1)) continue;
        if (any) combine_level(r, red, level, n);
        for (uint32_t i = 0; !any && i < d->ncomponents; i++)
            memcpy(fc_interp_slot(p->step, i), level_at(p, level, (int)i), d->size[i] * n);
        any = true;
    }
}

/* The result of n lanes from what stands in the finish frame. */
static void finish_lanes(const fc_interp_state *r, uint32_t red, size_t n, size_t width) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    const fc_interp_partials *p = &r->partial[red];
    fc_eval_load(FUSEC_I64, n, &r->count, 0, fc_interp_slot(p->finish, FC_ARG_COUNT));
    fc_interp_tape(r, &d->finish.body, p->finish, n);
    for (uint32_t i = 0; i < d->nresults; i++) {
        char *result = fc_interp_slot(r->frame, d->result + i);
        memcpy(result, fc_interp_slot(p->finish, d->finish.out[i]), d->result_size[i] * n);
        if (width > n) fc_interp_splat(result, d->result_size[i], width);
    }
}

static void finish_reduction(const fc_interp_state *r, uint32_t red, size_t n, size_t width) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    fc_interp_partials *p = &r->partial[red];
    fold_partials(r, red, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(fc_interp_slot(p->finish, i), fc_interp_slot(p->step, i), d->size[i] * n);
    finish_lanes(r, red, n, width);
    p->pushed = 0;
}

#define FOR_STAGE(r, s, i)                                                                         \
    for (uint32_t i = 0; i < (r)->ip->reductions.len; i++)                                         \
        if ((r)->ip->reductions.at[i].stage == (s))

/* ---- inner: one row, lanes along it ---------------------------------------------------------- */

/* Elements of the row that stage s takes; what is worked out for the row is there. */
static int64_t row_end(const fc_interp_state *r, uint32_t s) {
    const fc_phase *p = &r->ip->phases.at[s];
    int64_t end;
    if (!p->limited) return r->count;
    memcpy(&end, fc_interp_slot(r->frame, p->limit), sizeof end);
    return fc_interp_smaller(r->count, FC_PLANT(row_end, end + 1, end));
}

static void inner_chunk(fc_interp_state *r, uint32_t s, int64_t from, int64_t row_end) {
    int64_t end = fc_interp_smaller(row_end - from, FC_CHUNK);
    FOR_STAGE(r, s, i) start_partial(r, i);
    for (int64_t at = 0; at < end; at += FC_LANES) {
        size_t n = (size_t)fc_interp_smaller(end - at, FC_LANES);
        lanes_from(r, from + at);
        fc_interp_tape(r, &r->ip->phases.at[s].point, r->frame, n);
        FOR_STAGE(r, s, i) step_partial(r, i, from + at, 1, n);
    }
    FOR_STAGE(r, s, i) {
        combine_lanes(r, i, (size_t)fc_interp_smaller(end, FC_LANES));
        push_partial(r, i, 1);
    }
}

static void store_block(const fc_interp_state *r, size_t n, fc_level level) {
    for (size_t i = 0; i < r->ip->stores.len; i++) {
        const fc_store *s = &r->ip->stores.at[i];
        if (r->ip->accesses.at[s->access].level == level)
            fc_interp_move(r, s->access, FC_INTERP_STORING, n, fc_interp_slot(r->frame, s->value));
    }
}

static bool stores_points(const fc_interp *ip) {
    for (size_t i = 0; i < ip->stores.len; i++)
        if (ip->accesses.at[ip->stores.at[i].access].level == FC_POINT) return true;
    return false;
}

static void inner_row(fc_interp_state *r, int64_t row) {
    const fc_interp *ip = r->ip;
    size_t width =
        (size_t)fc_interp_smaller(r->count, FC_LANES); /* lanes that row values are needed in */
    if (width == 0) width = 1;
    stand_at(r, row);
    for (uint32_t s = 0; s <= ip->nstages; s++) {
        fc_interp_tape(r, &ip->phases.at[s].row, r->frame, width);
        if (s == ip->nstages) break;
        const int64_t end = row_end(r, s);
        for (int64_t from = 0; from < end; from += FC_CHUNK) inner_chunk(r, s, from, end);
        FOR_STAGE(r, s, i) finish_reduction(r, i, 1, width);
    }
    store_block(r, 1, FC_ROW);
    for (int64_t from = 0; stores_points(ip) && from < r->count; from += FC_LANES) {
        size_t n = (size_t)fc_interp_smaller(r->count - from, FC_LANES);
        lanes_from(r, from);
        fc_interp_tape(r, &ip->phases.at[ip->nstages].point, r->frame, n);
        store_block(r, n, FC_POINT);
    }
}

/* Elements of a run of columns. */
static int64_t run_of(const fc_interp *ip) {
    if (ip->schedule == FC_SCHED_DOT) return FC_PLANT(dot_chunk, FC_DOT_CHUNK - 1, FC_DOT_CHUNK);
    return FC_PLANT(run_length, FC_RUN / 2, FC_RUN);
}

/* ---- outer: neighbouring rows are the lanes -------------------------------------------------- */

static void outer_stage(fc_interp_state *r, uint32_t s, size_t n) {
    const int64_t run = run_of(r->ip), end = row_end(r, s);
    for (int64_t from = 0; from < end; from += run) {
        FOR_STAGE(r, s, i) start_partial(r, i);
        for (int64_t at = from; at < fc_interp_smaller(end, from + run); at++) {
            stand_at(r, at);
            fc_interp_tape(r, &r->ip->phases.at[s].point, r->frame, n);
            FOR_STAGE(r, s, i) step_partial(r, i, at, 0, n);
        }
        FOR_STAGE(r, s, i) push_partial(r, i, n);
    }
    FOR_STAGE(r, s, i) finish_reduction(r, i, n, n);
}

static void outer_rows(fc_interp_state *r, int64_t row, size_t n) {
    const fc_interp *ip = r->ip;
    lanes_from(r, row);
    for (uint32_t s = 0; s <= ip->nstages; s++) {
        stand_at(r, 0);
        fc_interp_tape(r, &ip->phases.at[s].row, r->frame, n);
        if (s < ip->nstages) outer_stage(r, s, n);
    }
    store_block(r, n, FC_ROW);
    for (int64_t at = 0; stores_points(ip) && at < r->count; at++) {
        stand_at(r, at);
        fc_interp_tape(r, &ip->phases.at[ip->nstages].point, r->frame, n);
        store_block(r, n, FC_POINT);
    }
}

/* ---- scan: as outer, with a result at every element --------------------------------------------
 */

/* The elements of all runs so far, for the lanes; what a run adds comes behind it. */
static void keep_prefix(const fc_interp_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    const fc_interp_partials *p = &r->partial[red];
    fold_partials(r, red, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(fc_interp_slot(p->prefix, i), fc_interp_slot(p->step, i), d->size[i] * n);
    start_partial(r, red);
}

/* The result of the prefix that ends where the run stands. */
static void scan_result(const fc_interp_state *r, uint32_t red, size_t n) {
    const fc_interp_reduction *d = &r->ip->reductions.at[red];
    const fc_interp_partials *p = &r->partial[red];
    const bool first = !p->pushed;
    for (uint32_t i = 0; i < d->ncomponents; i++) {
        memcpy(fc_interp_slot(p->combine, i), fc_interp_slot(p->prefix, i), d->size[i] * n);
        memcpy(fc_interp_slot(p->combine, FC_ARG_LATER + i), fc_interp_slot(p->step, i),
               d->size[i] * n);
    }
    if (!first) fc_interp_tape(r, &d->combine.body, p->combine, n);
    for (uint32_t i = 0; i < d->ncomponents; i++)
        memcpy(fc_interp_slot(p->finish, i),
               first ? fc_interp_slot(p->step, i) : fc_interp_slot(p->combine, d->combine.out[i]),
               d->size[i] * n);
    finish_lanes(r, red, n, n);
}

static void scan_element(fc_interp_state *r, int64_t at, size_t n) {
    stand_at(r, at);
    fc_interp_tape(r, &r->ip->phases.at[0].point, r->frame, n);
    for (uint32_t i = 0; i < r->ip->reductions.len; i++) {
        const bool before = FC_PLANT(exclusive_scan, !r->ip->reductions.at[i].exclusive,
                                     r->ip->reductions.at[i].exclusive);
        if (before) scan_result(r, i, n);
        step_partial(r, i, at, 0, n);
        if (!before) scan_result(r, i, n);
    }
    fc_interp_tape(r, &r->ip->phases.at[1].point, r->frame, n);
    store_block(r, n, FC_POINT);
}

static void scan_rows(fc_interp_state *r, int64_t row, size_t n) {
    const fc_interp *ip = r->ip;
    const int64_t run = FC_PLANT(run_length, FC_RUN / 2, FC_RUN);
    lanes_from(r, row);
    stand_at(r, 0);
    for (uint32_t s = 0; s <= ip->nstages; s++)
        fc_interp_tape(r, &ip->phases.at[s].row, r->frame, n);
    for (int64_t from = 0; from < r->count; from += run) {
        FOR_STAGE(r, 0, i) {
            keep_prefix(r, i, n);
        }
        for (int64_t at = from; at < fc_interp_smaller(r->count, from + run); at++)
            scan_element(r, at, n);
        FOR_STAGE(r, 0, i) {
            if (!FC_PLANTED(scan_runs) || from / run % 2 == 0) push_partial(r, i, n);
        }
    }
    FOR_STAGE(r, 0, i) {
        r->partial[i].pushed = 0;
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static unsigned levels_of(const fc_interp_state *r) {
    int64_t piece = r->ip->schedule == FC_SCHED_INNER ? FC_CHUNK : run_of(r->ip);
    unsigned levels = 2;
    for (int64_t n = r->count / piece; n > 0; n /= 2) levels++;
    return levels;
}

static size_t program_bytes(const fc_program *p) {
    return (size_t)p->nslots * FC_SLOT_BYTES;
}

/* Lays the frames into one piece of memory; with memory NULL only measures it. */
static size_t place(fc_interp_state *r, char *memory) {
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
        r->partial[i] = (fc_interp_partials){.init = memory + init,
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

static void fill_constants(const fc_interp_state *r) {
    for (size_t i = 0; i < r->ip->loops.len; i++)
        fc_interp_tape(r, &r->ip->loops.at[i].round.once, r->loop[i], FC_LANES);
    fc_interp_tape(r, &r->ip->once, r->frame, FC_LANES);
    for (uint32_t i = 0; i < r->ip->reductions.len; i++) {
        const fc_interp_reduction *d = &r->ip->reductions.at[i];
        const fc_interp_partials *p = &r->partial[i];
        fc_interp_tape(r, &d->init.once, p->init, FC_LANES);
        fc_interp_tape(r, &d->init.body, p->init, FC_LANES);
        fc_interp_tape(r, &d->step.once, p->step, FC_LANES);
        fc_interp_tape(r, &d->combine.once, p->combine, FC_LANES);
        fc_interp_tape(r, &d->finish.once, p->finish, FC_LANES);
    }
}

static void run_range(fc_interp_state *r, int64_t begin, int64_t end) {
    fc_schedule schedule = r->ip->schedule;
    /* neighbouring rows with ends of their own are done one by one */
    const int64_t rows = schedule == FC_SCHED_INNER || r->ip->phases.at[0].limited ? 1 : FC_LANES;
    fill_constants(r);
    if (schedule == FC_SCHED_MAP) stand_at(r, 0);
    for (int64_t i = begin; i < end; i += rows) {
        size_t n = (size_t)fc_interp_smaller(end - i, rows);
        if (schedule == FC_SCHED_INNER) {
            inner_row(r, i);
        } else if (schedule == FC_SCHED_SCAN) {
            scan_rows(r, i, n);
        } else if (schedule == FC_SCHED_OUTER || schedule == FC_SCHED_DOT) {
            outer_rows(r, i, n);
        } else {
            lanes_from(r, i);
            fc_interp_tape(r, &r->ip->phases.at[0].point, r->frame, n);
            store_block(r, n, FC_POINT);
        }
    }
}

/* Bytes of everything a run of `count` elements works with. */
static size_t run_bytes(fc_interp_state *r) {
    return place(r, NULL) + r->ip->reductions.len * sizeof *r->partial +
           r->ip->accesses.len * sizeof *r->base + r->ip->loops.len * sizeof *r->loop;
}

static void run_in(fc_interp_state *r, char *memory, int64_t begin, int64_t end) {
    size_t bytes = place(r, NULL);
    r->partial = (fc_interp_partials *)(void *)(memory + bytes);
    r->base = (int64_t *)(void *)(memory + bytes + r->ip->reductions.len * sizeof *r->partial);
    r->loop = (char **)(void *)(r->base + r->ip->accesses.len);
    place(r, memory);
    run_range(r, begin, end);
}

bool fc_interp_make_spare(fc_interp *ip) {
    fc_interp_state r = {.ip = ip, .count = INT64_MAX};
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
    fc_interp_state r = {.ip = ip, .words = words, .axes = axes, .np = cls->np};
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
