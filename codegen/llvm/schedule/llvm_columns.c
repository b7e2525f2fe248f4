/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_columns.c - how many columns a block has, how wide its vectors are, and into
 * how many spans its rows are cut.
 *
 * Few columns are one vector. Many of them that come from memory are wide blocks, so that whole
 * pages are read. The others are blocks of some registers. */
#include "codegen/llvm/schedule/llvm_schedule.h"

enum {
    OUTER_SPAN = FC_LL_SPAN, /* elements; a power of two of runs */
    LEAST_SPAN = 64,         /* elements of its span at least; a power of two of runs */
    MOST_SLOTS = 3,          /* accumulators of a column at most */
    FEW_REGISTERS = 8,       /* for the accumulators of a row that is one vector, */
    MOST_LANES = 128,        /* which has as many columns at most */
    FOLLOWED = 256,          /* bytes of a row, in lines, that the hardware asks for in time */
};

/* ---- blocks ------------------------------------------------------------------------------ */

/* Whether a load of some lanes of a vector is one instruction, and not a branch for each of them.
 */
static bool has_masks(const fc_machine *m, unsigned bytes) {
    return m->vector_bytes >= 64 || (m->vector_bytes >= 32 && bytes >= 4);
}

/* Lanes of a vector that is a whole row of few columns, so that memory is read as it lies, or 0. As
 * many columns count as few as have accumulators of FEW_REGISTERS. */
static unsigned lanes_of_few(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    const uint32_t axes = n->np + n->nr;
    const int64_t width = n->extent[n->np - 1];
    const unsigned most = FEW_REGISTERS * m->vector_bytes / fc_ll_slot_bytes(k);
    if (width > (most < MOST_LANES ? most : MOST_LANES)) return 0;
    unsigned V = 4;
    while (V < width) V *= 2;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const fc_access *acc = &k->accesses.at[a];
        const bool loads = acc->buffer != FC_NO_BUFFER && n->stride[(size_t)a * axes + n->np - 1];
        if (loads && V != width && !has_masks(m, fc_dtypes[acc->dtype].bytes)) return 0;
    }
    return V;
}

bool fc_ll_has_long_rows(const fc_kernel *k, const fc_nest *n) {
    for (uint32_t a = 0; a < n->naccess; a++)
        if (k->accesses.at[a].buffer != FC_NO_BUFFER && k->accesses.at[a].level == FC_POINT &&
            n->extent[n->np - 1] * fc_dtypes[k->accesses.at[a].dtype].bytes > FOLLOWED)
            return true;
    return false;
}

/* Columns from memory: blocks of whole rows, or of some pages of each, so that the prefetcher of
 * the hardware comes to something, and spans of rows for the other threads. */
static bool is_wide(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    if (!fc_can_split(k) || n->nr != 1 || fc_components(k) > MOST_SLOTS ||
        n->extent[n->np - 1] < FC_LL_WIDE_FROM || n->count < 2 * LEAST_SPAN)
        return false;
    return fc_ll_exceeds_cache(m, k, n);
}

/* Whether the lanes of some access do not lie side by side. */
static bool gathers(const fc_nest *n) {
    for (uint32_t a = 0; a < n->naccess; a++)
        if (fc_ll_move_by(n->stride[(size_t)a * (n->np + n->nr) + n->np - 1]) == FC_MOVE_ANY)
            return true;
    return false;
}

/* Whether rows of some load are such a distance apart that many of them share few sets of the
 * nearest cache. */
static bool rows_collide(const fc_kernel *k, const fc_nest *n) {
    enum { DISTANCE = 1024 };
    for (uint32_t a = 0; a < n->naccess; a++) {
        const fc_access *acc = &k->accesses.at[a];
        const int64_t by = n->stride[(size_t)a * (n->np + n->nr) + n->np];
        if (acc->buffer != FC_NO_BUFFER && acc->level == FC_POINT && by &&
            by * fc_dtypes[acc->dtype].bytes % DISTANCE == 0)
            return true;
    }
    return false;
}

/* Registers side by side in a vector of columns, whose accumulators all stay in registers. The
 * chain of a contraction waits for each of its steps. A register that does not lie on a line takes
 * two, of which its neighbour wants the second one again: too late where rows collide. Elsewhere
 * lines come from the third-level cache a tenth slower in pieces of several. */
static uint8_t registers_of(const fc_kernel *k, const fc_nest *n, int64_t one) {
    enum { MOST = 8, MOST_BYTES = 32 };
    const int64_t width = n->extent[n->np - 1], least = fc_ceil_div(width, one);
    if (k->schedule != FC_SCHED_DOT && !rows_collide(k, n)) return 1;
    for (uint8_t r = MOST; r > 1; r /= 2) {
        const int64_t all = fc_ceil_div(width, r * one) * r; /* with those that are masked */
        if (r * fc_ll_slot_bytes(k) <= MOST_BYTES && 8 * all <= 9 * least) return r;
    }
    return 1;
}

void fc_ll_choose_columns(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                          fc_class *cls) {
    if ((!fc_ll_is_light(k) && k->schedule != FC_SCHED_DOT) || gathers(n)) return;
    const unsigned few = k->schedule == FC_SCHED_DOT ? 0 : lanes_of_few(m, k, n);
    if (few) {
        cls->llvm.few = true;
        cls->vector = (uint8_t)few;
        return;
    }
    cls->llvm.wide = k->schedule == FC_SCHED_OUTER && is_wide(m, k, n);
    cls->vector *= registers_of(k, n, cls->vector);
}

/* How many columns a block has of a scan that goes row after row, in units of FC_LL_ACROSS; 0: it
 * goes down a run of a vector of columns, then of the next one. Rows are read and written as they
 * lie then, but accumulators pass through memory. Wide blocks are long pieces of rows: two of half
 * the width are slower than one, by two threads, too. But many runs want many levels of the counter
 * on the stack, and not all of many threads should be idle. */
static unsigned columns_across(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    enum {
        MOST_BYTES = 8,
        MOST = 8192,
        LONG = 4096,
        LEAST = 256,
        LEAST_WIDTH = 64,
        LEAST_ROWS = 256,
        IDLE = 8
    };
    const int64_t width = n->extent[n->np - 1];
    const unsigned bytes = fc_ll_slot_bytes(k);
    fc_class c = {.target = FC_TARGET_LLVM, .vector = 1};
    if (bytes > MOST_BYTES || n->nr != 1 || width < LEAST_WIDTH || n->count < LEAST_ROWS) return 0;
    for (int64_t columns = MOST / bytes; columns >= LEAST; columns /= 2) {
        c.llvm.across = (uint16_t)(columns / FC_LL_ACROSS);
        const int64_t blocks = n->rows / width * fc_ceil_div(width, columns);
        const bool many = blocks >= m->threads ||
                          (columns * bytes <= LONG && blocks * IDLE > m->threads),
                   fits = !(fc_ceil_div(n->count, FC_RUN) >> fc_ll_across_levels(k, &c));
        if (fits && (many || columns == LEAST)) return c.llvm.across;
    }
    return 0;
}

/* Lines of a row come from memory together when they are loaded together: a vector of several
 * registers takes as many lines of each row, where there are registers for its accumulators, and
 * columns for all threads. */
void fc_ll_choose_scan(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls) {
    enum { LIGHT = 4, HEAVY = 2, MOST_BYTES = 16 /* of accumulators, by those registers */ };
    const int64_t width = n->extent[n->np - 1], one = cls->vector;
    unsigned registers = (fc_ll_is_light(k) ? LIGHT : HEAVY);
    if (gathers(n)) return;
    cls->llvm.across = (uint16_t)columns_across(m, k, n);
    while (registers > 1 && registers * fc_ll_slot_bytes(k) > MOST_BYTES) registers /= 2;
    cls->vector = (uint8_t)(one * registers);
    while (cls->vector > one) {
        const int64_t blocks = fc_ceil_div(width, fc_ll_columns(k, cls));
        const bool all = cls->llvm.across || n->rows / width * blocks >= m->threads;
        if (cls->vector <= width && all) break;
        cls->vector /= 2;
    }
}

/* ---- launches ---------------------------------------------------------------------------- */

/* Elements of a span: long ones need less work at the end, but every thread wants some. */
static int64_t wide_span(int64_t blocks, int64_t count) {
    int64_t span = FC_LL_WIDE_SPAN;
    while (span > LEAST_SPAN && blocks * fc_ceil_div(count, span) < 4 * FC_LL_FEW_UNITS) span /= 2;
    return span;
}

/* Of few columns spans may be longer, up to a task, but every thread wants some. */
static int64_t outer_span(const fc_class *cls, int64_t blocks, int64_t width, int64_t count) {
    int64_t span = cls->llvm.few ? FC_LL_FEW_SPAN : OUTER_SPAN;
    while (span > OUTER_SPAN &&
           (span * width > FC_LL_TASK || blocks * fc_ceil_div(count, span) < 4 * FC_LL_FEW_UNITS))
        span /= 2;
    return span;
}

void fc_ll_launch_columns(const fc_kernel *k, const fc_nest *n, fc_class *cls, fc_launch *l) {
    const int64_t columns = fc_ll_columns(k, cls), width = fc_ll_at_least_one(n->extent[n->np - 1]);
    const int64_t blocks = n->rows / width * fc_ceil_div(width, columns);
    const int64_t wide = columns < width ? columns : width;
    int64_t span = n->count;
    if (cls->llvm.wide)
        span = wide_span(blocks, n->count);
    else if (fc_can_split(k) && blocks < FC_LL_FEW_UNITS && n->count >= 4 * OUTER_SPAN)
        span = outer_span(cls, blocks, width, n->count);
    if (span >= n->count) {
        fc_ll_cut(k, l, blocks, n->count * wide);
        return;
    }
    fc_ll_launch_split(k, n, span, cls, l);
    fc_ll_cut(k, l, blocks * l->spans, span * wide);
}
