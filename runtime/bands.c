/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bands.c - see bands.h. */
#include "runtime/bands.h"

#include "ir/plant.h"

enum {
    MOST_ROWS = 64, /* of a band */
    LEAST_ROWS = 4,
    ENDS = 16, /* a task is so many times as long as what is made again at its ends */
    TASKS = 4, /* of a thread */
    MOST_TASK = 1024
};

/* ---- finding them ---------------------------------------------------------------------------- */

typedef struct finder {
    fc_program *p;
    fc_bound *b;
    struct fc_bands *x;
} finder;

static const fc_kernel *kernel_of(const finder *f, uint32_t launch) {
    return &f->p->plan->steps.at[f->b->launches[launch].steps[0]]->kernel;
}

/* A map over rows whose units are parts of rows, one row after the other. */
static bool is_by_rows(const finder *f, uint32_t launch, int64_t *rows) {
    const fc_bound_launch *l = &f->b->launches[launch];
    const fc_kernel *k = kernel_of(f, launch);
    const fc_bound_step *s = &f->b->steps[l->steps[0]];
    if (l->n != 1 || f->p->plan->steps.at[l->steps[0]]->kind != FC_STEP_KERNEL) return false;
    if (s->strips || s->nest.empty || k->schedule != FC_SCHED_MAP || k->updates.len ||
        k->checks.len || s->cls.llvm.tiles || s->launch.workspace_bytes ||
        s->layout.words > FC_BANDS_WORDS)
        return false;
    *rows = f->b->values[k->extent[0]];
    return *rows > 1 && s->launch.units % *rows == 0;
}

/* Whether kernels outside of the launches [first, end) use a buffer. */
static bool is_used_elsewhere(const finder *f, uint32_t buffer, uint32_t first, uint32_t end) {
    for (uint32_t i = 0; i < f->b->nlaunches; i++)
        for (uint32_t m = 0; (i < first || i >= end) && m < f->b->launches[i].n; m++) {
            const fc_kernel *k = &f->p->plan->steps.at[f->b->launches[i].steps[m]]->kernel;
            for (size_t a = 0; a < k->args.len; a++)
                if (k->args.at[a].buffer == buffer) return true;
        }
    return false;
}

static bool is_temporary(const finder *f, uint32_t buffer) {
    return f->p->plan->buffers.at[buffer].kind == FC_BUF_TEMP;
}

static bool takes_use(struct fc_bands *x, uint32_t kernel, uint32_t arg, uint32_t array,
                      const fc_arg *a) {
    if (a->reach.kind != FC_REACH_ROWS || x->nuses == FC_COUNT(x->use)) return false;
    x->use[x->nuses++] = (fc_band_use){(uint8_t)kernel, (uint8_t)arg, (uint8_t)array,
                                       a->written != 0, a->reach.low, a->reach.high};
    return !a->written || (a->reach.low == 0 && a->reach.high == 0);
}

/* What kernel number `n` of the bands uses of arrays that some of them make. Its results are all
 * such arrays, or none is. */
static bool takes_kernel(finder *f, uint32_t n, uint32_t end) {
    struct fc_bands *x = f->x;
    const uint32_t launch = x->first + n;
    const fc_kernel *k = kernel_of(f, launch);
    unsigned inner = 0, outer = 0;
    bool reads = n == 0;
    if (!is_by_rows(f, launch, &x->extent[n]) || k->args.len > 64) return false;
    x->nargs[n] = (uint32_t)k->args.len;
    x->results = 0;
    x->units[n] = f->b->steps[f->b->launches[launch].steps[0]].launch.units / x->extent[n];
    for (uint32_t i = 0; i < k->args.len; i++) {
        const fc_arg *a = &k->args.at[i];
        uint32_t at = 0;
        while (at < x->narrays && x->array[at].buffer != a->buffer) at++;
        if (!a->written && at < x->narrays) {
            reads = true;
            if (!takes_use(x, n, i, at, a)) return false;
        }
        if (!a->written) continue;
        x->results |= UINT64_C(1) << i;
        const bool between = is_temporary(f, a->buffer) && launch + 1 < end &&
                             !is_used_elsewhere(f, a->buffer, x->first, end);
        between ? inner++ : outer++;
        if (!between) continue;
        if (at < x->narrays || x->narrays == FC_BANDS_ARRAYS || !takes_use(x, n, i, at, a))
            return false;
        x->array[x->narrays++] =
            (fc_band_array){.buffer = a->buffer,
                            .maker = n,
                            .row_bytes = (int64_t)f->b->bytes[a->buffer] / x->extent[n],
                            .rows = x->extent[n]};
    }
    const bool is_last = launch + 1 == end;
    return reads && (is_last ? outer && !inner : inner && !outer);
}

/* Rows of each array that a band needs: [low, high) for each kernel, from the last one back. */
static void find_rooms(struct fc_bands *x) {
    int64_t low[FC_BANDS_KERNELS] = {0}, high[FC_BANDS_KERNELS] = {0};
    high[x->n - 1] = x->band;
    for (uint32_t k = x->n; k-- > 0;)
        for (uint32_t u = 0; u < x->nuses; u++) {
            const fc_band_use *use = &x->use[u];
            if (use->kernel != k || use->written) continue;
            const uint32_t maker = x->array[use->array].maker;
            const bool first = low[maker] == high[maker];
            if (first || low[k] + use->low < low[maker]) low[maker] = low[k] + use->low;
            if (first || high[k] + use->high > high[maker]) high[maker] = high[k] + use->high;
        }
    for (uint32_t i = 0; i < x->narrays; i++)
        x->array[i].room = high[x->array[i].maker] - low[x->array[i].maker];
}

static int64_t bytes_kept(const struct fc_bands *x) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < x->narrays; i++) bytes += x->array[i].room * x->array[i].row_bytes;
    return bytes;
}

/* Rows at a time, so that what is kept is in the second-level cache; tasks of so many rows that
 * little is made twice. */
static bool choose_rows(const finder *f) {
    struct fc_bands *x = f->x;
    const fc_machine *m = &f->p->device->machine;
    int64_t all = 0, room = 0;
    x->rows = x->extent[x->n - 1];
    for (uint32_t i = 0; i < x->narrays; i++) {
        all += x->array[i].row_bytes * x->array[i].rows;
        if (x->array[i].rows < x->rows) return false;
    }
    if (all < 2 * (int64_t)m->near_cache) return false;
    for (x->band = MOST_ROWS; x->band >= LEAST_ROWS; x->band /= 2) {
        find_rooms(x);
        if (bytes_kept(x) <= (int64_t)m->near_cache / 2) break;
    }
    if (x->band < LEAST_ROWS) return false;
    for (uint32_t i = 0; i < x->narrays; i++)
        if (x->array[i].room > room) room = x->array[i].room;
    const int64_t least = room + ENDS * (room - x->band);
    x->task = fc_ceil_div(x->rows, (int64_t)TASKS * m->threads);
    if (x->task > MOST_TASK) x->task = MOST_TASK;
    if (x->task < least) x->task = least;
    return x->rows >= x->task;
}

/* What stays in the cache is not stored past it. */
static fusec_status schedule_again(const finder *f, fc_error *e) {
    fc_device *d = f->p->device;
    fc_machine near = d->machine;
    near.cache = 0;
    for (uint32_t n = 0; n + 1 < f->x->n; n++) {
        fc_bound_launch *l = &f->b->launches[f->x->first + n];
        fc_bound_step *s = &f->b->steps[l->steps[0]];
        FC_TRY(d->target->schedule(&near, kernel_of(f, f->x->first + n), &s->nest, f->b->align,
                                   &f->b->arena, &s->cls, &s->launch, e));
        s->words[s->layout.extra + FC_PB_SPANS] = s->launch.spans;
        s->words[s->layout.extra + FC_PB_SPAN] = s->launch.span;
        f->x->units[n] = s->launch.units / f->x->extent[n];
        if (s->launch.units % f->x->extent[n]) return fc_fail(e, FUSEC_INTERNAL, "parts of rows");
    }
    return FUSEC_OK;
}

static bool is_read(const struct fc_bands *x, uint32_t array) {
    for (uint32_t u = 0; u < x->nuses; u++)
        if (x->use[u].array == array && !x->use[u].written) return true;
    return false;
}

static bool is_found(finder *f, uint32_t first, uint32_t end) {
    *f->x = (struct fc_bands){.first = first, .n = end - first};
    for (uint32_t n = 0; n < end - first; n++)
        if (!takes_kernel(f, n, end)) return false;
    for (uint32_t i = 0; i < f->x->narrays; i++)
        if (!is_read(f->x, i)) return false;
    return f->x->narrays && choose_rows(f);
}

fusec_status fc_bands_find(fc_program *p, fc_bound *b, fc_error *e) {
    finder f = {.p = p, .b = b};
    if (p->device->kind != FC_DEV_CPU || !p->device->machine.near_cache) return FUSEC_OK;
    for (uint32_t first = 0; first + 1 < b->nlaunches; first++) {
        uint32_t end = first + FC_BANDS_KERNELS;
        if (end > b->nlaunches) end = b->nlaunches;
        if (!f.x && !(f.x = fc_arena_alloc(&b->arena, sizeof *f.x))) return fc_oom(e);
        while (end > first + 1 && !is_found(&f, first, end)) end--;
        if (end == first + 1) continue;
        FC_TRY(schedule_again(&f, e));
        f.x->next = b->bands;
        b->bands = f.x;
        f.x = NULL;
        first = end - 1;
    }
    return FUSEC_OK;
}

const struct fc_bands *fc_bands_at(const fc_bound *b, uint32_t launch) {
    const struct fc_bands *x = b->bands;
    while (x && x->first != launch) x = x->next;
    return x;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct job {
    const struct fc_bands *x;
    const fc_prepared *l;
    fc_bands_run_units *run;
} job;

/* What a task has of an array: rows [base, done), in its own part of the array's memory. */
typedef struct held {
    char *at;
    int64_t base, done, need;
} held;

typedef struct task {
    const job *j;
    held of[FC_BANDS_ARRAYS];
    int64_t from[FC_BANDS_KERNELS], to[FC_BANDS_KERNELS];
    int64_t words[FC_BANDS_KERNELS][FC_BANDS_WORDS];
} task;

static int64_t between(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

/* Rows that each kernel makes for rows [y, end) of the results, from the last one back. */
static void find_ranges(task *t, int64_t y, int64_t end, bool start) {
    const struct fc_bands *x = t->j->x;
    int64_t need[FC_BANDS_ARRAYS];
    for (uint32_t i = 0; i < x->narrays; i++) t->of[i].need = INT64_MAX, need[i] = 0;
    for (uint32_t k = x->n; k-- > 0;) {
        t->from[k] = y;
        t->to[k] = end;
        if (k + 1 < x->n) { /* what its arrays lack */
            t->from[k] = INT64_MAX;
            t->to[k] = 0;
            for (uint32_t i = 0; i < x->narrays; i++) {
                held *h = &t->of[i];
                if (x->array[i].maker != k) continue;
                if (start) h->base = h->done = h->need;
                if (h->done < t->from[k]) t->from[k] = h->done;
                if (need[i] > t->to[k]) t->to[k] = need[i];
            }
        }
        for (uint32_t u = 0; u < x->nuses; u++) {
            const fc_band_use *use = &x->use[u];
            const int64_t rows = x->array[use->array].rows;
            if (use->kernel != k || use->written) continue;
            const int64_t low = between(t->from[k] + use->low, 0, rows),
                          high = between(t->to[k] + use->high - FC_PLANTED(band_rows), 0, rows);
            if (low < t->of[use->array].need) t->of[use->array].need = low;
            if (high > need[use->array]) need[use->array] = high;
        }
    }
}

/* Room for rows up to `end`: what is needed no more makes it. */
static void make_room(task *t, uint32_t array, int64_t end) {
    const fc_band_array *a = &t->j->x->array[array];
    held *h = &t->of[array];
    if (end - h->base <= a->room) return;
    if (h->need < h->done)
        memmove(h->at, h->at + (h->need - h->base) * a->row_bytes,
                (size_t)((h->done - h->need) * a->row_bytes));
    h->base = h->need;
}

static void run_kernel(task *t, uint32_t k) {
    const struct fc_bands *x = t->j->x;
    if (t->from[k] >= t->to[k]) return;
    for (uint32_t i = 0; i < x->narrays; i++)
        if (x->array[i].maker == k) make_room(t, i, t->to[k]);
    for (uint32_t u = 0; u < x->nuses; u++) {
        const fc_band_use *use = &x->use[u];
        const held *h = &t->of[use->array];
        if (use->kernel != k) continue;
        t->words[k][use->arg] =
            (int64_t)((uintptr_t)h->at - (uintptr_t)(h->base * x->array[use->array].row_bytes));
    }
    t->j->run(t->j->l[k].code, t->words[k], t->from[k] * x->units[k], t->to[k] * x->units[k]);
    for (uint32_t i = 0; i < x->narrays; i++)
        if (x->array[i].maker == k) t->of[i].done = t->to[k];
}

static void run_task(const job *j, int64_t begin, int64_t end) {
    const struct fc_bands *x = j->x;
    task t = {.j = j};
    for (uint32_t k = 0; k < x->n; k++)
        memcpy(t.words[k], j->l[k].params, j->l[k].words * sizeof *j->l[k].params);
    for (uint32_t u = 0; u < x->nuses; u++) {
        const fc_band_use *use = &x->use[u];
        char *all = (char *)(uintptr_t)j->l[use->kernel].params[use->arg];
        t.of[use->array].at = all + begin * x->array[use->array].row_bytes;
    }
    for (int64_t y = begin; y < end; y += x->band) {
        find_ranges(&t, y, y + x->band < end ? y + x->band : end, y == begin);
        for (uint32_t k = 0; k < x->n; k++) run_kernel(&t, k);
    }
}

/* The last task takes what is left. */
static fusec_status run(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const job *j = arg;
    const int64_t tasks = j->x->rows / j->x->task;
    (void)e;
    for (int64_t i = begin; i < end; i++)
        run_task(j, i * j->x->task, i + 1 == tasks ? j->x->rows : (i + 1) * j->x->task);
    return FUSEC_OK;
}

/* Whether no result lies on what is read. */
static bool lies_apart(const struct fc_bands *x, const fc_prepared *l) {
    const uint32_t last = x->n - 1;
    for (uint32_t w = 0; w < x->nargs[last]; w++)
        for (uint32_t k = 0; x->results >> w & 1 && k < x->n; k++)
            for (uint32_t a = 0; a < x->nargs[k]; a++)
                if (l[k].params[a] == l[last].params[w] && !(k == last && a == w)) return false;
    return true;
}

fusec_status fc_bands_run(fc_host_device *h, const struct fc_bands *x, const fc_prepared *l,
                          fc_bands_run_units *units, bool *done, fc_error *e) {
    job j = {x, l, units};
    *done = lies_apart(x, l);
    return *done ? fc_host_run(h, x->rows / x->task, 1, false, run, &j, e) : FUSEC_OK;
}
