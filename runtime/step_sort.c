/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step_sort.c - the order of rows of keys, as a step of a program.
 *
 * In: unsigned integers of 1 to 8 bytes, rows along the last axis, and the first place of the part
 * of the order that is wanted, or nothing for all of it. Out: the positions of each row in order,
 * the keys in order, or both. Memory of the host is sorted by sort_host.c. On a GPU short rows take
 * one launch; of long ones the digits are counted, then each takes a pass. Of a part of long rows
 * the first and the last key are looked for by a launch for each digit, what lies between them is
 * gathered, and that is sorted (codegen/cuda/cuda_sort.h). */
#include "runtime/step.h"

#include "codegen/cuda/cuda_sort.h"
#include "runtime/sort_host.h"

enum { ALIGN = 256, DIGITS = 256, COUNTERS = 4, END_BYTES = 16 };
enum { MOST_TILES = INT32_MAX }; /* of a launch */

/* The workspace of long rows. */
typedef struct passes_room {
    size_t tickets, counts, states;
    size_t keys[2], at; /* where there */
} passes_room;
typedef struct part_room {
    size_t tickets, counts, states, ends;
    size_t keys, at; /* what lies between the ends */
} part_room;

struct fc_sort_bound {
    int64_t rows, n, given;               /* elements of a row, and of a row of the results */
    uint32_t bytes;                       /* of a key */
    bool part;                            /* not the whole order */
    bool sorted, positions;               /* what is wanted */
    uint32_t kinds;                       /* bits of fc_cuda_sort: the kernels on a GPU, */
    fc_variant *code[FC_CUDA_SORT_KINDS]; /* and what is loaded */
    size_t zeroed;                        /* bytes at the begin of the workspace */
    passes_room passes;
    part_room between;
};
typedef struct fc_sort_bound sort_bound;

/* ---- for one set of sizes -------------------------------------------------------------------- */

static size_t room(size_t *all, size_t bytes) {
    const size_t at = *all;
    *all += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static bool wants(const fc_step *s, uint32_t number) {
    for (uint32_t i = 0; i < s->nout; i++)
        if (s->out[i].number == number) return true;
    return false;
}

static int64_t tiles_of(const sort_bound *x, int64_t n) {
    return (n - 1) / fc_cuda_sort_tile(x->bytes) + 1;
}

static bool takes(const sort_bound *x, fc_cuda_sort kind) {
    return x->kinds >> kind & 1;
}

/* What is zero before the first launch. */
static void place_zeroed(sort_bound *x, size_t *all) {
    const size_t rows = (size_t)x->rows, digits = DIGITS * sizeof(uint32_t);
    if (takes(x, FC_CUDA_SORT_TILE)) {
        const size_t tiles = rows * (size_t)tiles_of(x, x->given);
        x->passes.tickets = room(all, x->bytes * sizeof(uint32_t));
        x->passes.counts = room(all, rows * x->bytes * digits);
        x->passes.states = room(all, tiles * DIGITS * sizeof(uint64_t));
    }
    if (x->part) {
        const size_t tiles = rows * (size_t)tiles_of(x, x->n);
        x->between.tickets = room(all, (rows + 1) * sizeof(uint32_t));
        if (x->n > FC_CUDA_SORT_SPAN) x->between.counts = room(all, rows * 2 * digits);
        x->between.states = room(all, tiles * COUNTERS * sizeof(uint64_t));
    }
    x->zeroed = *all;
}

/* The keys of two passes alternate between two places, of which the result is one if it is wanted;
 * so do positions, which take half of the result's. */
static size_t place_long(sort_bound *x) {
    const size_t all = (size_t)(x->rows * x->given);
    const uint32_t passes = takes(x, FC_CUDA_SORT_TILE) ? x->bytes : 0;
    size_t bytes = 0;
    place_zeroed(x, &bytes);
    if (x->part) {
        x->between.ends = room(&bytes, (size_t)x->rows * 2 * END_BYTES);
        x->between.keys = room(&bytes, all * x->bytes);
        if (x->positions) x->between.at = room(&bytes, all * sizeof(uint32_t));
    }
    if (passes > 1) x->passes.keys[1] = room(&bytes, all * x->bytes);
    if (passes > 2 && !x->sorted) x->passes.keys[0] = room(&bytes, all * x->bytes);
    if (passes > 1 && x->positions) x->passes.at = room(&bytes, all * sizeof(uint32_t));
    return bytes;
}

static fusec_status place_on_device(sort_bound *x, size_t *workspace, fc_error *e) {
    enum { ROWS = 1 << FC_CUDA_SORT_ROWS };
    enum { PASSES = 1 << FC_CUDA_SORT_COUNT | 1 << FC_CUDA_SORT_TILE };
    enum { PART = 1 << FC_CUDA_SORT_PICK | 1 << FC_CUDA_SORT_KEEP };
    *workspace = 0;
    if (x->rows > MOST_TILES) return fc_fail(e, FUSEC_LIMIT, "a GPU sorts 2^31 - 1 rows at most");
    x->kinds = ROWS;
    if (x->n <= FC_CUDA_SHORT_ROW) return x->part = false, FUSEC_OK;
    if (x->n > UINT32_MAX || x->rows > MOST_TILES / tiles_of(x, x->n))
        return fc_fail(e, FUSEC_LIMIT,
                       "a GPU sorts rows of 2^32 - 1 elements at most, and 2^31 - 1 tiles of %lld",
                       (long long)fc_cuda_sort_tile(x->bytes));
    x->kinds = (x->given > FC_CUDA_SHORT_ROW ? PASSES : ROWS) | (x->part ? PART : 0);
    *workspace = place_long(x);
    return FUSEC_OK;
}

fusec_status fc_sort_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e) {
    const fc_step *s = p->plan->steps.at[step];
    const fc_graph *g = &p->plan->graph;
    const fc_node key = s->in[0].node;
    const uint32_t rank = fc_rank(g, key);
    sort_bound *x = fc_arena_alloc(&b->arena, sizeof *x);
    if (!x) return fc_oom(e);
    *x = (sort_bound){.rows = 1,
                      .n = b->values[fc_axis(g, key, rank - 1)],
                      .bytes = fc_dtypes[fc_at(g, key)->dtype].bytes,
                      .part = s->nin > 1,
                      .sorted = wants(s, FC_SORT_KEYS),
                      .positions = wants(s, FC_SORT_POSITIONS)};
    x->given = x->part ? b->values[fc_axis(g, s->node, rank - 1)] : x->n;
    for (uint32_t i = 0; i + 1 < rank; i++) x->rows *= b->values[fc_axis(g, key, i)];
    b->steps[step].sort = x;
    if (x->rows <= 0 || x->n <= 0 || x->given <= 0 || !s->nout) x->rows = 0;
    if (!x->rows || p->device->host_memory) return FUSEC_OK;
    return place_on_device(x, &b->steps[step].launch.workspace_bytes, e);
}

/* ---- code ------------------------------------------------------------------------------------ */

static void text(uint32_t number, const char *name, fc_str *out) {
    fc_cuda_sort_text((fc_cuda_sort)(number >> 8), number >> 1 & 127, number & 1, name, out);
}

uint32_t fc_sort_wanted(fc_bound_step *s, fc_wanted w[FC_SORT_CODES]) {
    sort_bound *x = s->sort;
    uint32_t n = 0;
    for (uint32_t i = 0; x && i < FC_CUDA_SORT_KINDS; i++) {
        if (!takes(x, (fc_cuda_sort)i) || x->code[i]) continue;
        const bool at = x->positions && fc_cuda_sort_has_positions((fc_cuda_sort)i);
        w[n] = (fc_wanted){.own = text, .number = i << 8 | x->bytes << 1 | at, .out = &x->code[i]};
        fc_cuda_sort_name((fc_cuda_sort)i, x->bytes, at, w[n++].label);
    }
    return n;
}

void fc_sort_unbind(fc_program *p, fc_bound_step *s) {
    for (uint32_t i = 0; s->sort && i < FC_CUDA_SORT_KINDS; i++) {
        fc_kcache_release(p->ctx, s->sort->code[i]);
        s->sort->code[i] = NULL;
    }
}

/* ---- a call ---------------------------------------------------------------------------------- */

typedef struct sorting {
    const fc_step_call *c;
    const sort_bound *x;
    fc_sort_rows rows;
    int64_t w[FC_SORT_WORDS];
} sorting;

static fusec_status launch(const sorting *s, fc_cuda_sort kind, fc_error *e) {
    const sort_bound *x = s->x;
    fc_device *d = s->c->p->device;
    fc_launch l;
    fc_cuda_sort_launch(kind, x->bytes, x->rows, s->w[FC_SORT_N], &l);
    return d->ops->launch(d, s->c->stream, x->code[kind]->code, NULL, &l, s->w, FC_SORT_WORDS, e);
}

static int64_t word(const void *p) {
    return (int64_t)(uintptr_t)p;
}

static fusec_status sort_short(sorting *s, fc_error *e) {
    s->w[FC_SORT_OUT] = word(s->rows.sorted);
    s->w[FC_SORT_AT_OUT] = word(s->rows.positions);
    s->w[FC_SORT_PLACE] = fc_cuda_sort_slots(s->w[FC_SORT_N]);
    return launch(s, FC_CUDA_SORT_ROWS, e);
}

static fusec_status sort_long(sorting *s, fc_error *e) {
    const sort_bound *x = s->x;
    char *at = s->c->workspace;
    const void *keys[2] = {x->sorted ? s->rows.sorted : at + x->passes.keys[0],
                           at + x->passes.keys[1]};
    const void *positions[2] = {s->rows.positions, at + x->passes.at};
    s->w[FC_SORT_TICKETS] = word(at + x->passes.tickets);
    s->w[FC_SORT_COUNTS] = word(at + x->passes.counts);
    s->w[FC_SORT_TILES] = word(at + x->passes.states);
    FC_TRY(launch(s, FC_CUDA_SORT_COUNT, e));
    for (uint32_t left = x->bytes; left-- > 0;) {
        s->w[FC_SORT_PLACE] = x->bytes - 1 - left;
        s->w[FC_SORT_LAST] = left == 0;
        s->w[FC_SORT_OUT] = left || x->sorted ? word(keys[left & 1]) : 0;
        s->w[FC_SORT_AT_OUT] = word(positions[left & 1]);
        FC_TRY(launch(s, FC_CUDA_SORT_TILE, e));
        s->w[FC_SORT_IN] = s->w[FC_SORT_OUT];
        s->w[FC_SORT_AT_IN] = s->w[FC_SORT_AT_OUT];
    }
    return FUSEC_OK;
}

/* What of the rows is wanted, from its first place in the row to the last one: in their order, and
 * then the rows that are sorted. */
static fusec_status gather_part(sorting *s, fc_error *e) {
    const sort_bound *x = s->x;
    char *at = s->c->workspace;
    const int64_t left = x->n - s->rows.first;
    s->w[FC_SORT_FIRST] = s->rows.first;
    s->w[FC_SORT_GIVEN] = x->given < left ? x->given : left;
    s->w[FC_SORT_TICKETS] = word(at + x->between.tickets);
    s->w[FC_SORT_COUNTS] = word(at + x->between.counts);
    s->w[FC_SORT_TILES] = word(at + x->between.states);
    s->w[FC_SORT_ENDS] = word(at + x->between.ends);
    for (uint32_t place = x->bytes; place-- > 0;) {
        s->w[FC_SORT_PLACE] = place;
        FC_TRY(launch(s, FC_CUDA_SORT_PICK, e));
    }
    s->w[FC_SORT_OUT] = word(at + x->between.keys);
    s->w[FC_SORT_AT_OUT] = x->positions ? word(at + x->between.at) : 0;
    FC_TRY(launch(s, FC_CUDA_SORT_KEEP, e));
    s->w[FC_SORT_IN] = s->w[FC_SORT_OUT];
    s->w[FC_SORT_AT_IN] = s->w[FC_SORT_AT_OUT];
    s->w[FC_SORT_N] = s->w[FC_SORT_GIVEN];
    return FUSEC_OK;
}

static fusec_status sort_on_device(sorting *s, fc_error *e) {
    const sort_bound *x = s->x;
    fc_device *d = s->c->p->device;
    s->w[FC_SORT_IN] = word(s->rows.keys);
    s->w[FC_SORT_N] = x->n;
    s->w[FC_SORT_ROWS] = x->rows;
    if (x->zeroed) FC_TRY(d->ops->zero(d, s->c->stream, s->c->workspace, x->zeroed, e));
    if (x->part) FC_TRY(gather_part(s, e));
    s->w[FC_SORT_FIRST] = x->part ? 0 : s->rows.first;
    s->w[FC_SORT_GIVEN] = x->given;
    return takes(x, FC_CUDA_SORT_ROWS) ? sort_short(s, e) : sort_long(s, e);
}

/* The first place that is wanted, inside the row. */
static fusec_status first_place(const fc_step_call *c, int64_t n, int64_t *first, fc_error *e) {
    uint64_t bits = 0;
    if (c->p->plan->steps.at[c->step]->nin > 1) FC_TRY(fc_step_scalar(c, 1, &bits, e));
    *first = (int64_t)bits < 0 ? 0 : (int64_t)bits < n ? (int64_t)bits : n - 1;
    return FUSEC_OK;
}

fusec_status fc_sort_run(const fc_step_call *c, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    fc_device *d = c->p->device;
    const sort_bound *x = c->b->steps[c->step].sort;
    if (!x->rows) return FUSEC_OK;
    sorting now = {.c = c,
                   .x = x,
                   .rows = {.keys = c->at[s->in[0].buffer],
                            .bytes = x->bytes,
                            .rows = x->rows,
                            .n = x->n,
                            .given = x->given}};
    FC_TRY(first_place(c, x->n, &now.rows.first, e));
    for (uint32_t i = s->nout; i-- > 0;) { /* the first of a number is where it is made */
        void *at = c->at[s->out[i].buffer];
        if (s->out[i].number == FC_SORT_KEYS) now.rows.sorted = at;
        if (s->out[i].number == FC_SORT_POSITIONS) now.rows.positions = at;
    }
    return d->host_memory ? fc_sort_host((fc_host_device *)d, c->p->alloc, &now.rows, e)
                          : sort_on_device(&now, e);
}
