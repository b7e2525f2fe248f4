/* cuda_columns.c - how reductions that keep the innermost axis are launched (cuda_outer.c).
 *
 * In: a nest and the machine. Out: threads of a block along x, the rows of each, how many spans the
 * reduced axes are cut into and what the blocks that join them need. The tree of a row follows from
 * its length alone (codegen/nest.h): whatever is chosen here gives the same bits. */
#include "codegen/cuda/cuda.h"

enum { OUTER_BYTES = 128, OUTER_SHARED = 32 << 10 };
/* Of a block, bytes along x where rows are aligned, and threads where they are not: fewer lines are
 * cut in two. */
enum { OUTER_WIDTH = 256, OUTER_ACROSS = 128, OUTER_LINE = 128 };
/* Bytes of the longest rows that are turned, and of shared memory of a block that turns: 48 KiB can
 * be declared. */
enum { OUTER_TURNED = 32, TURNED_SHARED = 32 << 10 };

unsigned fc_cuda_widest(const fc_kernel *k) {
    unsigned most = 1;
    for (uint32_t a = 0; a < k->accesses.len; a++)
        if (fc_cuda_bytes(k, a) > most) most = fc_cuda_bytes(k, a);
    return most;
}

int fc_cuda_outer_batch(const fc_kernel *k, const fc_class *cls) {
    unsigned bytes = 0;
    int batch = fc_cuda_unroll(k, FC_RUN, cls->vector);
    for (uint32_t a = 0; a < k->accesses.len; a++)
        if (fc_cuda_is_memory(k, a) && k->accesses.at[a].level == FC_POINT)
            bytes += fc_cuda_bytes(k, a) * cls->vector;
    while (batch > 4 && (unsigned)batch * bytes > OUTER_BYTES) batch /= 2;
    if (cls->variant != FC_CUDA_TURNED) return batch;
    /* its loads pass through shared memory, one access at a time */
    const unsigned each = cls->vector * fc_cuda_widest(k) * FC_CUDA_THREADS;
    while (batch > 1 && (unsigned)batch * each > TURNED_SHARED) batch /= 2;
    return batch;
}

/* Whether something that elements need is worked out once a row and differs between rows. */
static fusec_status differs_by_row(const fc_kernel *k, const fc_class *cls, bool *differs,
                                   fc_error *e) {
    size_t n = k->code.ins.len;
    uint8_t *need = fc_calloc(k->code.alloc, n + 1, 1);
    if (!need) return fc_oom(e);
    for (size_t r = 0; r < k->reductions.len; r++)
        fc_kernel_slice(&k->code, &k->reductions.at[r].value, 1, need);
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
    unsigned widest = widest_across(k, n, cls), most = 1, components = fc_cuda_components(k);
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

enum { OUTER_BLOCKS_PER_SM = 62, TURNED_BLOCKS_PER_SM = 31, OUTER_RUNS = 2 };

/* Runs of a span, a power of two: many short spans, so that blocks that run at the same time read
 * what lies close together, but two runs for each thread. */
static int64_t outer_span(const fc_machine *m, int64_t runs, int64_t y, int64_t blocks,
                          int64_t each) {
    int64_t span = fc_cuda_pow2_up(runs > y ? runs : y), wanted = (int64_t)m->sm_count * each;
    while (span > OUTER_RUNS * y && blocks * fc_cuda_ceil_div(runs, span) < wanted) span /= 2;
    while (fc_cuda_ceil_div(runs, span) > 65535) span *= 2;
    return span;
}

/* Threads of a block along x. Aligned rows: as many as read OUTER_WIDTH bytes, or one line, if then
 * no row has to be split; but enough that each thread has its runs. */
static int64_t outer_across(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                            const fc_class *cls, bool can_split, unsigned v) {
    int64_t runs = fc_cuda_ceil_div(n->count, FC_RUN), units = n->rows / v,
            least = FC_CUDA_THREADS / fc_cuda_pow2_up(runs < 8 ? runs : 8), x = least;
    if (v == 1 && can_split && n->rows >= OUTER_ACROSS) x = OUTER_ACROSS;
    if (v > 1) {
        int64_t line = OUTER_LINE / (v * widest_across(k, n, cls)), y = FC_CUDA_THREADS / line;
        bool whole = runs >= OUTER_RUNS * y &&
                     fc_cuda_ceil_div(units, line) >= (int64_t)m->sm_count * OUTER_BLOCKS_PER_SM;
        x = whole ? line : line * (OUTER_WIDTH / OUTER_LINE);
        while (x < least && runs < OUTER_RUNS * (FC_CUDA_THREADS / x)) x *= 2;
    }
    if (units < x) x = v > 1 ? fc_cuda_pow2_up(units) : fc_cuda_pow2_up(units < 4 ? 4 : units);
    while (!can_split && x > 8 && FC_CUDA_THREADS / x < runs &&
           fc_cuda_ceil_div(n->rows, x) < m->sm_count)
        x /= 2;
    return x;
}

/* One for each group of spans, group of groups and so on, of each block along x. */
static uint32_t outer_tickets(int64_t spans, int64_t blocks, int64_t y) {
    int64_t size = fc_cuda_outer_group((int)y), n = 0;
    while (spans > 1) {
        spans = fc_cuda_ceil_div(spans, size);
        n += spans;
    }
    return (uint32_t)(n * blocks);
}

fusec_status fc_cuda_outer_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                    uint32_t align, fc_class *cls, fc_launch *l, fc_error *e) {
    bool can_split = k->nstages == 1 && !fc_cuda_has_point_stores(k), differs = false;
    FC_TRY(differs_by_row(k, cls, &differs, e));
    unsigned v = can_split && !differs ? outer_vector(k, n, cls, align) : 1;
    int64_t runs = fc_cuda_ceil_div(n->count, FC_RUN), units = n->rows / v,
            x = outer_across(m, k, n, cls, can_split, v), y = FC_CUDA_THREADS / x,
            blocks = fc_cuda_ceil_div(units, x), span = fc_cuda_pow2_up(runs > y ? runs : y);
    if (v > 1 && (unsigned)x * v * widest_across(k, n, cls) <= OUTER_TURNED && units % x == 0)
        cls->variant = FC_CUDA_TURNED;
    cls->vector = (uint8_t)v;
    if (can_split)
        span =
            outer_span(m, runs, y, blocks,
                       cls->variant == FC_CUDA_TURNED ? TURNED_BLOCKS_PER_SM : OUTER_BLOCKS_PER_SM);
    l->spans = fc_cuda_ceil_div(runs > 0 ? runs : 1, span);
    l->span = span * FC_RUN;
    l->block[0] = (uint32_t)x;
    l->block[1] = (uint32_t)y;
    l->grid[0] = (uint64_t)blocks;
    l->grid[1] = (uint64_t)l->spans;
    cls->teams = (uint8_t)fc_cuda_log2(x);
    cls->aligned = v > 1;
    cls->split = l->spans > 1 ? FC_CUDA_SPLIT : 0;
    if (cls->split) {
        l->workspace_bytes = fc_cuda_partial_bytes(k, n->rows, l->spans);
        l->tickets = outer_tickets(l->spans, blocks,
                                   cls->variant == FC_CUDA_TURNED ? FC_CUDA_THREADS / 32 : y);
    }
    return FUSEC_OK;
}
