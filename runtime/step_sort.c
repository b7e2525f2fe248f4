/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step_sort.c - the order of rows of keys, as a step of a program.
 *
 * In: unsigned integers of 1 to 8 bytes, rows along the last axis. Out: the positions of each row
 * in order, the keys in order, or both. Memory of the host is sorted by sort_host.c. On a GPU short
 * rows take one launch; of long ones the digits are counted, then each takes a pass
 * (codegen/cuda/cuda_sort.h). */
#include "runtime/step.h"

#include "codegen/cuda/cuda_sort.h"
#include "runtime/sort_host.h"

enum { ALIGN = 256, DIGITS = 256, KERNELS = 2 };
enum { MOST_TILES = INT32_MAX }; /* of a launch */

struct fc_sort_bound {
    int64_t rows, n;
    uint32_t bytes;              /* of a key */
    bool sorted, positions;      /* what is wanted */
    fc_cuda_sort kinds[KERNELS]; /* of the kernels on a GPU, */
    fc_variant *code[KERNELS];   /* and what is loaded */
    uint32_t nkernels;
    int64_t tiles; /* of a row */
    size_t zeroed; /* bytes at the begin of the workspace: tickets, counts, tiles */
    size_t counts, states, keys[2], at; /* where there */
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

/* The workspace of long rows. The keys of two passes alternate between two places, of which the
 * result is one if it is wanted; so do positions, which take half of the result's. */
static size_t place_long(sort_bound *x) {
    const size_t all = (size_t)(x->rows * x->n), passes = x->bytes;
    size_t bytes = 0;
    room(&bytes, passes * sizeof(uint32_t));
    x->counts = room(&bytes, (size_t)x->rows * passes * DIGITS * sizeof(uint32_t));
    x->states = room(&bytes, (size_t)(x->rows * x->tiles) * DIGITS * sizeof(uint64_t));
    x->zeroed = bytes;
    if (passes > 1) x->keys[1] = room(&bytes, all * x->bytes);
    if (passes > 2 && !x->sorted) x->keys[0] = room(&bytes, all * x->bytes);
    if (passes > 1 && x->positions) x->at = room(&bytes, all * sizeof(uint32_t));
    return bytes;
}

static fusec_status place_on_device(sort_bound *x, size_t *workspace, fc_error *e) {
    *workspace = 0;
    if (x->n <= FC_CUDA_SHORT_ROW) {
        x->kinds[x->nkernels++] = FC_CUDA_SORT_ROWS;
        return x->rows <= MOST_TILES ? FUSEC_OK
                                     : fc_fail(e, FUSEC_LIMIT, "a GPU sorts 2^31 - 1 rows at most");
    }
    x->tiles = (x->n - 1) / fc_cuda_sort_tile(x->bytes) + 1;
    if (x->n > UINT32_MAX || x->rows > MOST_TILES / x->tiles)
        return fc_fail(e, FUSEC_LIMIT,
                       "a GPU sorts rows of 2^32 - 1 elements at most, and 2^31 - 1 tiles of %lld",
                       (long long)fc_cuda_sort_tile(x->bytes));
    x->kinds[x->nkernels++] = FC_CUDA_SORT_COUNT;
    x->kinds[x->nkernels++] = FC_CUDA_SORT_TILE;
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
                      .sorted = wants(s, FC_SORT_KEYS),
                      .positions = wants(s, FC_SORT_POSITIONS)};
    for (uint32_t i = 0; i + 1 < rank; i++) x->rows *= b->values[fc_axis(g, key, i)];
    b->steps[step].sort = x;
    if (x->rows <= 0 || x->n <= 0 || !s->nout) x->rows = 0;
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
    for (uint32_t i = 0; x && i < x->nkernels; i++) {
        if (x->code[i]) continue;
        const bool at = x->positions && x->kinds[i] != FC_CUDA_SORT_COUNT;
        w[n] = (fc_wanted){.own = text,
                           .number = (uint32_t)x->kinds[i] << 8 | x->bytes << 1 | at,
                           .out = &x->code[i]};
        fc_cuda_sort_name(x->kinds[i], x->bytes, at, w[n++].label);
    }
    return n;
}

void fc_sort_unbind(fc_program *p, fc_bound_step *s) {
    for (uint32_t i = 0; s->sort && i < s->sort->nkernels; i++) {
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

static fusec_status launch(const sorting *s, uint32_t kernel, fc_error *e) {
    const sort_bound *x = s->x;
    fc_device *d = s->c->p->device;
    fc_launch l;
    fc_cuda_sort_launch(x->kinds[kernel], x->bytes, x->rows, x->n, &l);
    return d->ops->launch(d, s->c->stream, x->code[kernel]->code, NULL, &l, s->w, FC_SORT_WORDS, e);
}

static int64_t word(const void *p) {
    return (int64_t)(uintptr_t)p;
}

static fusec_status sort_short(sorting *s, fc_error *e) {
    s->w[FC_SORT_IN] = word(s->rows.keys);
    s->w[FC_SORT_OUT] = word(s->rows.sorted);
    s->w[FC_SORT_AT_OUT] = word(s->rows.positions);
    s->w[FC_SORT_PLACE] = fc_cuda_sort_slots(s->x->n);
    return launch(s, 0, e);
}

static fusec_status sort_long(sorting *s, fc_error *e) {
    const sort_bound *x = s->x;
    fc_device *d = s->c->p->device;
    char *at = s->c->workspace;
    const void *keys[2] = {x->sorted ? s->rows.sorted : at + x->keys[0], at + x->keys[1]};
    const void *positions[2] = {s->rows.positions, at + x->at};
    FC_TRY(d->ops->zero(d, s->c->stream, at, x->zeroed, e));
    s->w[FC_SORT_IN] = word(s->rows.keys);
    s->w[FC_SORT_TICKETS] = word(at);
    s->w[FC_SORT_COUNTS] = word(at + x->counts);
    s->w[FC_SORT_TILES] = word(at + x->states);
    FC_TRY(launch(s, 0, e));
    for (uint32_t left = x->bytes; left-- > 0;) {
        s->w[FC_SORT_PLACE] = x->bytes - 1 - left;
        s->w[FC_SORT_LAST] = left == 0;
        s->w[FC_SORT_OUT] = left || x->sorted ? word(keys[left & 1]) : 0;
        s->w[FC_SORT_AT_OUT] = word(positions[left & 1]);
        FC_TRY(launch(s, 1, e));
        s->w[FC_SORT_IN] = s->w[FC_SORT_OUT];
        s->w[FC_SORT_AT_IN] = s->w[FC_SORT_AT_OUT];
    }
    return FUSEC_OK;
}

fusec_status fc_sort_run(const fc_step_call *c, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    fc_device *d = c->p->device;
    const sort_bound *x = c->b->steps[c->step].sort;
    if (!x->rows) return FUSEC_OK;
    sorting now = {
        .c = c,
        .x = x,
        .rows = {.keys = c->at[s->in[0].buffer], .bytes = x->bytes, .rows = x->rows, .n = x->n}};
    for (uint32_t i = s->nout; i-- > 0;) { /* the first of a number is where it is made */
        void *at = c->at[s->out[i].buffer];
        if (s->out[i].number == FC_SORT_KEYS) now.rows.sorted = at;
        if (s->out[i].number == FC_SORT_POSITIONS) now.rows.positions = at;
    }
    if (d->host_memory) return fc_sort_host((fc_host_device *)d, c->p->alloc, &now.rows, e);
    now.w[FC_SORT_N] = x->n;
    now.w[FC_SORT_ROWS] = x->rows;
    return x->nkernels == 1 ? sort_short(&now, e) : sort_long(&now, e);
}
