/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_scan_schedule.c - who takes a row of a scan: a block, or a thread where rows are short or
 * lie side by side. */
#include "codegen/cuda/schedule/cuda_schedule.h"

enum { ROW_THREADS = 512, WIDE_ROW_THREADS = 64 }; /* of a row; of large elements */
enum { SHORT_ROW = 128 };                          /* elements */
enum { TREE_BYTES = 40 << 10 };                    /* of shared memory */
enum { SHARED_BYTES = 47 << 10, FAR_LEVELS = 20 };
enum { LONG_COLUMN = 128, FEW_COLUMNS = 1024 }; /* elements; of an SM */
enum { RUN_BYTES = 16, RUN_OPS = 48 };          /* of an element, to be in registers */
enum { SIDE_BYTES = 48 };                       /* of those of a thread side by side */
enum { LEAST_TILES = 4 };                       /* of a row that blocks share, */
enum { FEW_ROWS = 4 };                          /* of an SM, where they do */
enum { FULL_TILES = 6 };                        /* of an SM, at least, where they are larger */
enum { MOST_TILES = 1 << 30 };                  /* of a launch */
enum { MOST_TICKETS = 1 << 23 };

/* Whether elements, not rows, are neighbours in most of what is moved. */
static bool along_rows(const fc_kernel *k, const fc_nest *n, const fc_class *cls) {
    unsigned along = 0, across = 0;
    for (uint32_t a = 0; a < n->naccess; a++) {
        if (!fc_cuda_is_memory(k, a)) continue;
        if (fc_class_move(cls, a, n->np) == FC_MOVE_ONE) along += fc_cuda_bytes(k, a);
        if (fc_class_move(cls, a, n->np - 1) == FC_MOVE_ONE) across += fc_cuda_bytes(k, a);
    }
    return along >= across;
}

/* Whether the trees of a block have room in its shared memory. */
static bool trees_fit(const fc_kernel *k, size_t threads) {
    size_t bytes = 0;
    for (size_t r = 0; r < k->reductions.len; r++) bytes += fc_cuda_red_bytes(&k->reductions.at[r]);
    return bytes * 2 * threads <= TREE_BYTES;
}

/* Bytes of an element in shared memory, or of its result, of all reductions. */
static size_t staged_bytes(const fc_kernel *k) {
    size_t bytes = 0;
    for (size_t r = 0; r < k->reductions.len; r++) {
        const fc_reduction *red = &k->reductions.at[r];
        size_t x = 0, most = 4, y = red->record ? fc_cuda_red_bytes(red) : 8;
        if (!red->record && fc_dtypes[fc_red_result(red, 0)].bytes <= 4) y = 4;
        for (unsigned v = 0; v < red->nvalues; v++) {
            const size_t b = fc_dtypes[fc_red_element(red, v)].bytes > 4 ? 8 : 4;
            x = (x + b - 1) / b * b + b;
            most = b > most ? b : most;
        }
        x = (x + most - 1) / most * most;
        bytes += x > y ? x : y;
    }
    return bytes;
}

/* Whether tiles of so many elements have room beside the trees. */
static bool stage_fits(const fc_kernel *k, unsigned elements) {
    size_t bytes = 0;
    for (size_t r = 0; r < k->reductions.len; r++) bytes += fc_cuda_red_bytes(&k->reductions.at[r]);
    return bytes * (FC_CUDA_THREADS / 32 + FAR_LEVELS) + staged_bytes(k) * elements <= SHARED_BYTES;
}

/* 32-bit words that blocks looking back at each other take: the ticket, slots of 64 bits for totals
 * of tiles and groups of them, counters of the groups (cuda_walk.c). */
static uint64_t back_tickets(const fc_kernel *k, const fc_nest *n, int64_t tile) {
    uint64_t slots = 0, groups = 0;
    for (uint64_t tiles = (uint64_t)fc_ceil_div(n->count, tile); tiles > 1;
         tiles = (tiles + 31) / 32) {
        slots += tiles;
        groups += (tiles + 31) / 32;
    }
    return 4 + (uint64_t)n->rows * (2 * slots * fc_cuda_all_words(k) + groups);
}

/* Rows so long, and so few, that one block for each would leave most of the device idle. */
static bool shares_rows(const fc_machine *m, const fc_kernel *k, const fc_nest *n, int64_t tile) {
    const int64_t tiles = fc_ceil_div(n->count, tile);
    return n->rows < (int64_t)FEW_ROWS * m->sm_count && tiles >= LEAST_TILES &&
           n->rows <= MOST_TILES / tiles && back_tickets(k, n, tile) <= MOST_TICKETS;
}

/* As many as have a run each of a short row, and those of a long row few tiles: in between its
 * block waits. Of large elements more threads bring nothing. */
static uint16_t threads_of(const fc_kernel *k, const fc_nest *n) {
    unsigned threads = staged_bytes(k) > 4 ? WIDE_ROW_THREADS : ROW_THREADS;
    if (!stage_fits(k, threads * FC_RUN)) threads = WIDE_ROW_THREADS;
    while (threads > 32 && (int64_t)threads / 2 * FC_RUN >= n->count) threads /= 2;
    return (uint16_t)threads;
}

/* Whether a thread has registers for a run of each of n columns, and for what is read for the next.
 */
static bool runs_fit(const fc_kernel *k, unsigned n) {
    unsigned bytes = (unsigned)staged_bytes(k);
    uint32_t ops, heavy;
    fc_kernel_cost(k, &ops, &heavy);
    for (uint32_t a = 0; a < k->accesses.len; a++) {
        const unsigned each = fc_cuda_bytes(k, a);
        if (fc_cuda_is_memory(k, a)) bytes += each > 4 ? each : 4;
    }
    return bytes <= RUN_BYTES && bytes * n <= SIDE_BYTES && ops * n <= RUN_OPS && heavy * n <= 2;
}

/* How many columns a thread takes side by side, so that DRAM is read and written in longer pieces:
 * as many as leave a block for each SM. */
static unsigned columns_side_by_side(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                     const fc_class *cls, uint32_t align) {
    for (uint32_t a = 0; a < n->naccess; a++)
        if (k->accesses.at[a].level != FC_POINT ||
            (fc_cuda_is_memory(k, a) && fc_class_move(cls, a, n->np - 1) == FC_MOVE_ANY))
            return 1;
    for (unsigned v = 4; v > 1; v /= 2)
        if (n->extent[n->np - 1] % v == 0 && runs_fit(k, v) &&
            8 * n->rows >= (int64_t)7 * m->sm_count * 32 * v &&
            fc_cuda_can_be_wide(k, n, cls, n->np - 1, v, align))
            return v;
    return 1;
}

/* Whether all that is read and written takes vectors of four neighbours. */
static bool four_at_once(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                         uint32_t align) {
    for (uint32_t a = 0; a < n->naccess; a++)
        if (fc_cuda_is_memory(k, a) && fc_class_move(cls, a, n->np) == FC_MOVE_ANY) return false;
    return fc_cuda_can_be_wide(k, n, cls, n->np, 4, align);
}

/* A tile waits for those before it while it lies in shared memory, so that should be large: two
 * runs a thread where the device is full of such tiles. */
static unsigned runs_of(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    const int64_t tiles = n->rows * fc_ceil_div(n->count, 2 * FC_CUDA_SCAN_TILE);
    const bool full = tiles >= (int64_t)FULL_TILES * m->sm_count;
    return full && stage_fits(k, 2 * FC_CUDA_SCAN_TILE) ? 2 : 1;
}

/* Rows that blocks share. */
static void back_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                          fc_launch *l) {
    cls->cuda.team = FC_CUDA_THREADS;
    cls->cuda.staged = cls->cuda.staged && stage_fits(k, FC_CUDA_SCAN_TILE);
    cls->cuda.runs = (uint16_t)(cls->cuda.staged ? runs_of(m, k, n) : 0);
    const int64_t tile = fc_cuda_scan_tile(cls);
    cls->cuda.split = FC_CUDA_BACK;
    l->block[0] = FC_CUDA_THREADS;
    l->grid[0] = (uint64_t)(n->rows * fc_ceil_div(n->count, tile));
    l->tickets = (uint32_t)back_tickets(k, n, tile);
}

/* Threads of a block that goes down columns. What an SM has on its way should come to 32 KiB: that
 * takes 16 runs of 32 columns, or as many of more, where it has one block; of several blocks, fewer
 * each. More bring nothing, but for many blocks of few large threads. */
static uint16_t threads_down(const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                             int64_t blocks) {
    const unsigned v = cls->vector;
    unsigned down = v > 1 ? 16 / v : 8;
    if (v == 4 && blocks > 2 * m->sm_count) down = 8;
    if (v == 1 && cls->cuda.staged)
        while (down < 32 && blocks * down <= 8 * m->sm_count && trees_fit(k, 64 * (size_t)down))
            down *= 2;
    return (uint16_t)(32 * down);
}

void fc_cuda_scan_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                           uint32_t align, fc_class *cls, fc_launch *l) {
    const bool along = along_rows(k, n, cls);
    cls->cuda.kind = FC_CUDA_SCAN;
    cls->cuda.block_rows = along && n->count > SHORT_ROW && trees_fit(k, FC_CUDA_THREADS);
    cls->cuda.staged = cls->cuda.block_rows && stage_fits(k, FC_CUDA_SCAN_TILE);
    cls->cuda.columns = !along && n->count >= LONG_COLUMN &&
                        n->rows < (int64_t)FEW_COLUMNS * m->sm_count &&
                        trees_fit(k, FC_CUDA_THREADS);
    if (cls->cuda.columns) cls->cuda.staged = runs_fit(k, 1);
    if (cls->cuda.columns && cls->cuda.staged) {
        cls->vector = (uint8_t)columns_side_by_side(m, k, n, cls, align);
        cls->aligned = cls->vector > 1;
    }
    if (cls->cuda.block_rows && cls->cuda.staged && four_at_once(k, n, cls, align)) {
        cls->vector = 4;
        cls->aligned = true;
    }
    if (cls->cuda.block_rows && shares_rows(m, k, n, FC_CUDA_SCAN_TILE)) {
        back_schedule(m, k, n, cls, l);
        return;
    }
    if (cls->cuda.block_rows) cls->cuda.team = threads_of(k, n);
    if (cls->cuda.columns)
        cls->cuda.team = threads_down(m, k, cls, fc_ceil_div(n->rows, fc_cuda_scan_columns(cls)));
    l->grid[0] = (uint64_t)fc_ceil_div(n->rows, cls->cuda.block_rows ? 1
                                                : cls->cuda.columns  ? fc_cuda_scan_columns(cls)
                                                                     : FC_CUDA_THREADS);
    l->block[0] = fc_cuda_scan_threads(cls);
}
