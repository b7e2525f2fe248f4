/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_columns.c - how reductions that keep the innermost axis are launched (cuda_outer.c).
 *
 * In: a nest and the machine. Out: threads of a block along x, the rows of each, how many spans the
 * reduced axes are cut into and what the blocks that join them need. The tree of a row follows from
 * its length alone (ir/graph.h): whatever is chosen here gives the same bits. */
#include "codegen/cuda/schedule/cuda_schedule.h"

/* Of a block, bytes along x where rows are aligned, and threads where they are not: fewer lines are
 * cut in two. */
enum { OUTER_WIDTH = 256, OUTER_ACROSS = 128 };
enum { OUTER_TURNED = 32 }; /* bytes of the longest rows that are turned */
enum { OUTER_SHARED = 32 << 10 };
/* Levels of a thread's counter that may be registers, and bytes that they may take. */
enum { NEAR_LEVELS = 6, NEAR_BYTES = 80 };

/* Whether something that elements need is worked out once a row and differs between rows. */
static fusec_status differs_by_row(const fc_kernel *k, const fc_class *cls, bool *differs,
                                   fc_error *e) {
    size_t n = k->code.ins.len;
    uint8_t *need = fc_calloc(k->code.alloc, n + 1, 1);
    if (!need) return fc_oom(e);
    for (size_t r = 0; r < k->reductions.len; r++) {
        fc_val value[FC_MAX_COMPONENTS];
        fc_kernel_slice(&k->code, value, fc_red_values(&k->reductions.at[r], NULL, value), need);
    }
    *differs = false;
    for (size_t v = 0; v < n; v++) {
        const fc_instr *i = &k->code.ins.at[v];
        if (need[v] && i->level == FC_ROW && (i->op == FC_OP_LOAD || i->op == FC_OP_INDEX) &&
            fc_class_move(cls, (uint32_t)i->imm, cls->np - 1u) != FC_MOVE_ZERO)
            *differs = true;
    }
    fc_free(k->code.alloc, need);
    return FUSEC_OK;
}

/* Bytes of the widest element that has its neighbours along x. */
static unsigned widest_across(const fc_kernel *k, const fc_nest *n, const fc_class *cls) {
    unsigned widest = 0;
    for (uint32_t a = 0; a < n->naccess; a++)
        if (fc_cuda_is_memory(k, a) && k->accesses.at[a].level == FC_POINT &&
            fc_class_move(cls, a, n->np - 1) == FC_MOVE_ONE && fc_cuda_bytes(k, a) > widest)
            widest = fc_cuda_bytes(k, a);
    return widest;
}

/* Neighbouring rows of a thread. */
static unsigned outer_vector(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                             uint32_t align) {
    uint32_t axis = n->np - 1;
    unsigned widest = widest_across(k, n, cls), most = 1, components = fc_components(k);
    for (size_t r = 0; r < k->reductions.len; r++) {
        unsigned bytes = (unsigned)fc_cuda_red_bytes(&k->reductions.at[r]);
        if (bytes > most) most = bytes;
    }
    if (!widest) return 1;
    unsigned v = 16 / widest;
    while (v > 1 &&
           (n->extent[axis] % v || v * components > 8 ||
            v * most * FC_CUDA_THREADS > OUTER_SHARED || fc_cuda_unroll(k, 4, (int)v) < 4 ||
            !fc_cuda_can_be_wide(k, n, cls, axis, v, align)))
        v /= 2;
    return v;
}

/* Ways to cut rows, the first that fits: how many runs a thread takes at least, and how many blocks
 * an SM runs one after the other. Long spans have fewer meetings and partials; blocks of short ones
 * that run together read what lies close together, and smaller arrays still fill the machine. */
typedef struct outer_way {
    int64_t runs, blocks_per_sm;
    unsigned width; /* of a block, in bytes, an element a thread; 0: outer_across says */
} outer_way;
static const outer_way ways[] = {{8, 15, 0}, {4, 31, 0}, {2, 62, 0}};
/* Of an array for which there are fewer blocks than SMs: a sector of memory and a run a thread. */
static const outer_way narrow = {1, 2, 32};
enum { LEAST_BLOCKS_PER_SM = 6, TURNED_BLOCKS_PER_SM = 31, WHOLE_BLOCKS_PER_SM = 62 };

typedef struct cut {
    int64_t x, y;   /* threads of a block */
    int64_t blocks; /* along x */
    int64_t span;   /* runs of a block, a power of two */
    int64_t spans, runs;
    bool turned, full; /* as in the class: `transposed`, `full` */
} cut;

/* Threads of a block along x, where each has `most` runs if there are so many. Aligned rows: as
 * many as read OUTER_WIDTH bytes, or one line, if then no row has to be split; but enough that each
 * thread has its runs. */
static int64_t outer_across(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                            const fc_class *cls, bool can_split, int64_t most) {
    const unsigned v = cls->vector;
    const int64_t runs = fc_ceil_div(n->count, fc_run_of(k)), units = n->rows / v,
                  parts = FC_RUN / most,
                  least = FC_CUDA_THREADS / fc_cuda_pow2_up(runs < parts ? runs : parts);
    int64_t x = least;
    if (v == 1 && can_split && n->rows >= OUTER_ACROSS) x = OUTER_ACROSS;
    if (v > 1) {
        int64_t line = FC_CUDA_LINE / (v * widest_across(k, n, cls)), y = FC_CUDA_THREADS / line;
        bool whole = runs >= most * y &&
                     fc_ceil_div(units, line) >= (int64_t)m->sm_count * WHOLE_BLOCKS_PER_SM;
        x = whole ? line : line * (OUTER_WIDTH / FC_CUDA_LINE);
        while (x < least && runs < most * (FC_CUDA_THREADS / x)) x *= 2;
    }
    if (units < x) x = v > 1 ? fc_cuda_pow2_up(units) : fc_cuda_pow2_up(units < 4 ? 4 : units);
    while (!can_split && x > 8 && FC_CUDA_THREADS / x < runs &&
           fc_ceil_div(n->rows, x) < m->sm_count)
        x /= 2;
    return x;
}

static int64_t narrow_across(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                             unsigned width) {
    const unsigned widest = widest_across(k, n, cls);
    const int64_t most = fc_cuda_pow2_up(n->rows < 4 ? 4 : n->rows);
    int64_t x = widest ? width / widest : width;
    if (x < 4) x = 4;
    return x < most ? x : most;
}

/* Whether the threads have so few runs that all levels of their counters may be registers. Of full
 * ones the numbers of elements are known. */
static bool is_near(const fc_kernel *k, const fc_class *cls, int64_t runs, bool full) {
    const unsigned levels = fc_cuda_log2(runs);
    size_t bytes = 0;
    for (size_t r = 0; r < k->reductions.len; r++) {
        bytes += fc_cuda_red_bytes(&k->reductions.at[r]);
        if (full && fc_red_counts(&k->reductions.at[r])) bytes -= sizeof(int64_t);
    }
    return levels <= NEAR_LEVELS && levels * bytes * cls->vector <= NEAR_BYTES;
}

static cut cut_rows(const fc_machine *m, const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                    bool can_split, const outer_way *w) {
    const int64_t runs = fc_ceil_div(n->count, fc_run_of(k)), units = n->rows / cls->vector;
    int64_t each = w->blocks_per_sm;
    cut c = {.x = w->width ? narrow_across(k, n, cls, w->width)
                           : outer_across(m, k, n, cls, can_split, w->runs)};
    c.y = FC_CUDA_THREADS / c.x;
    c.blocks = fc_ceil_div(units, c.x);
    c.turned = cls->vector > 1 && units % c.x == 0 &&
               (unsigned)c.x * cls->vector * widest_across(k, n, cls) <= OUTER_TURNED;
    if (c.turned && each > TURNED_BLOCKS_PER_SM) each = TURNED_BLOCKS_PER_SM;
    c.span = fc_cuda_pow2_up(runs > c.y ? runs : c.y);
    while (can_split && c.span > w->runs * c.y &&
           c.blocks * fc_ceil_div(runs, c.span) < m->sm_count * each)
        c.span /= 2;
    while (can_split && fc_ceil_div(runs, c.span) > 65535) c.span *= 2;
    c.spans = fc_ceil_div(runs > 0 ? runs : 1, c.span);
    c.full = n->count > 0 && n->count % (c.span * fc_run_of(k)) == 0 &&
             n->rows % (c.x * cls->vector) == 0;
    c.runs = is_near(k, cls, c.span / c.y, c.full) ? c.span / c.y : 0;
    c.full &= c.runs > 0;
    if (c.runs == 1 && !c.full) c.runs = 2; /* a counter has two levels at least */
    return c;
}

/* Blocks that are all the same and enough of them; of the longest, only where rows are whole lines
 * and have to be split. */
static bool fits(const fc_machine *m, const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                 const outer_way *w, const cut *c) {
    const bool lines = c->x * cls->vector * widest_across(k, n, cls) >= FC_CUDA_LINE;
    return c->full && c->blocks * c->spans >= (int64_t)m->sm_count * LEAST_BLOCKS_PER_SM &&
           (w != ways || (lines && c->spans > 1));
}

/* One for each group of spans, group of groups and so on, of each block along x. */
static uint32_t outer_tickets(int64_t spans, const cut *c) {
    const int64_t size = fc_cuda_outer_group(c->turned ? FC_CUDA_THREADS / 32 : (int)c->y);
    int64_t n = 0;
    while (spans > 1) {
        spans = fc_ceil_div(spans, size);
        n += spans;
    }
    return (uint32_t)(n * c->blocks);
}

fusec_status fc_cuda_outer_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                    uint32_t align, fc_class *cls, fc_launch *l, fc_error *e) {
    bool can_split = k->nstages == 1 && !fc_stores_points(k), differs = false;
    FC_TRY(differs_by_row(k, cls, &differs, e));
    cls->vector = (uint8_t)(can_split && !differs ? outer_vector(k, n, cls, align) : 1);
    cls->cuda.kind = FC_CUDA_OUTER;
    size_t way = can_split ? 0 : FC_COUNT(ways) - 1;
    cut c = cut_rows(m, k, n, cls, can_split, &ways[way]);
    while (way + 1 < FC_COUNT(ways) && !fits(m, k, n, cls, &ways[way], &c))
        c = cut_rows(m, k, n, cls, can_split, &ways[++way]);
    if (can_split && !c.turned && c.blocks * c.spans < (int64_t)m->sm_count) {
        cls->vector = 1;
        c = cut_rows(m, k, n, cls, can_split, &narrow);
    }
    l->spans = c.spans;
    l->span = c.span * fc_run_of(k);
    l->block[0] = (uint32_t)c.x;
    l->block[1] = (uint32_t)c.y;
    l->grid[0] = (uint64_t)c.blocks;
    l->grid[1] = (uint64_t)l->spans;
    cls->cuda.transposed = c.turned;
    cls->cuda.full = c.full;
    cls->cuda.runs = (uint16_t)c.runs;
    cls->cuda.across = (uint16_t)c.x;
    cls->aligned = cls->vector > 1;
    cls->cuda.split = l->spans > 1 ? FC_CUDA_SPLIT : 0;
    if (cls->cuda.split) {
        l->workspace_bytes = fc_cuda_partial_bytes(k, n->rows, l->spans);
        l->tickets = outer_tickets(l->spans, &c);
    }
    return FUSEC_OK;
}
