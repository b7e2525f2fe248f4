/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_schedule.c - which variant runs for these sizes on a processor, and how the work is cut.
 *
 * In: a kernel and its nest. Out: the class, normalised to what the text depends on (so that few
 * variants are compiled), and the launch. How work is cut follows sizes and constants only, not the
 * number of threads; results do not depend on it in any case.
 *
 * Units of a map along one axis are elements; along several, blocks of rows, launch->spans of
 * launch->span elements each (tiles: blocks of both axes).
 *
 * Units of inner are rows (narrow: blocks of rows); split: launch->spans spans of a row, row by
 * row.
 *
 * Units of outer are blocks of columns; split: all blocks for span 0, then for span 1, ...
 *
 * split needs workspace_bytes, and NAME_finish over the rows afterwards. */
#include "codegen/llvm/schedule/llvm_schedule.h"

enum {
    INNER_SPAN = 65536, /* elements; a power of two of chunks; of short rows down to an eighth */
    SHORT_SPAN = INNER_SPAN / 8,
    NEAR_CACHE = 1 << 20, /* bytes that the caches of one core hold for sure */
    FAR_SUMS = 3,       /* caches: what is little more is partly there, and asking drives it out */
    LONG_ROW = 2048,    /* bytes from which on two broken lines do not matter */
    FEW_NEIGHBOURS = 8, /* of an axis that does not fill a vector */
    FEW_ROWS = 4,       /* fewer than this need not share what they load */
    SHARED_BYTES = 64 << 10, /* of the stack, for what they share */
    TILE_BYTES = 256 << 10   /* of the stack, for tiles */
};

/* ---- classes ----------------------------------------------------------------------------- */

/* Loads that wait for memory behind long code, which the processor cannot look past, or rows that
 * are done in several passes, during which memory would be idle, or tiles, whose lines are on many
 * pages. Light maps and sums take lines as fast as the hardware's prefetcher brings them from
 * memory that is near, and faster from memory that is far. */
static bool should_ask_ahead(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                             bool scattered) {
    const double all = fc_nest_bytes(k, n, false), loaded = fc_nest_bytes(k, n, true);
    if (!m->cache) return false;
    const double cache = (double)m->cache, near = cache < NEAR_CACHE ? cache : NEAR_CACHE;
    if (!fc_ll_is_light(k)) return all > near;
    const bool inner = k->schedule == FC_SCHED_INNER;
    if (inner && fc_ll_is_sum(k)) return m->far_cache && loaded > FAR_SUMS * cache;
    return ((scattered || inner) && all > cache) || (m->far_cache && loaded > cache);
}

/* A result that fills a good part of more memory than the cache holds will not be found there
 * by whoever reads it: its stores pass by the cache. Rows must be long, or whole lines; in tiles
 * they must be whole lines. */
static bool should_stream(const fc_machine *m, const fc_kernel *k, const fc_nest *n, uint32_t lanes,
                          bool tiled, bool joined) {
    const double all = fc_nest_bytes(k, n, false);
    double stored = 0;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t step = k->accesses.at[a].pair ? 2 : 1;
        if (!fc_is_stored(k, a) || n->stride[(size_t)a * (n->np + n->nr) + lanes] != step) continue;
        const int64_t elements = n->extent[lanes] * (joined ? n->extent[lanes - 1] : 1);
        const int64_t row = elements * fc_dtypes[k->accesses.at[a].dtype].bytes;
        if ((tiled || row < LONG_ROW) && row % 64 != 0) return false;
        stored += fc_nest_touches(k, n, a);
    }
    return m->cache && all > (double)m->cache && stored > all / 8;
}

/* Whether all pairs follow each other along the lanes, or stay. */
static bool are_couples(const fc_kernel *k, const fc_nest *n, uint32_t lanes) {
    bool any = false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t by = n->stride[(size_t)a * (n->np + n->nr) + lanes];
        if (!k->accesses.at[a].pair || !by) continue;
        if (by != 2) return false;
        any = true;
    }
    return any && k->schedule == FC_SCHED_MAP;
}

/* Whether the tiles of V lanes and `elements` of each array that lies along `along`, and not along
 * `lanes`, have room on the stack. */
static bool tiles_fit(const fc_kernel *k, const fc_nest *n, unsigned V, uint32_t lanes,
                      uint32_t along, unsigned elements) {
    size_t bytes = 0;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * (n->np + n->nr);
        const fc_access *acc = &k->accesses.at[a];
        if (acc->buffer != FC_NO_BUFFER && fc_ll_move_by(s[lanes]) == FC_MOVE_ANY &&
            fc_ll_move_by(s[along]) == FC_MOVE_ONE)
            bytes += (size_t)V * elements * fc_dtypes[acc->dtype].bytes;
    }
    return bytes <= TILE_BYTES;
}

/* The outer axis along which most of the loads that the innermost axis walks with strides are
 * contiguous. False: there is none, or one of the axes is short, or there are too many such loads;
 * then the lanes are gathered. */
static bool find_across(const fc_kernel *k, const fc_nest *n, unsigned V, uint32_t *across) {
    const uint32_t lanes = n->np - 1, axes = n->np + n->nr;
    uint32_t most = 0;
    for (uint32_t axis = 0; axis < lanes; axis++) {
        uint32_t count = 0;
        for (uint32_t a = 0; a < n->naccess; a++) {
            const int64_t *s = n->stride + (size_t)a * axes, by = s[lanes];
            if (fc_is_stored(k, a) || k->accesses.at[a].buffer == FC_NO_BUFFER) continue;
            count += by != 0 && by != 1 && s[axis] == 1;
        }
        if (count <= most || n->extent[axis] < V) continue;
        most = count;
        *across = axis;
    }
    return most > 0 && n->extent[lanes] >= V / 2 && tiles_fit(k, n, V, lanes, *across, FC_LL_TILE);
}

/* Functions are long chains of dependent instructions, which a processor cannot look past: maps
 * with functions go through them several vectors at a time, and so do those with loops of elements.
 * Where there are registers for it, and
 * rows long enough, four: llvm_loops.c makes two of them unless the chains are very long. */
static uint8_t lanes_of_map(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    enum { LONG = 512 };
    uint32_t ops, transcendental;
    fc_kernel_cost(k, &ops, &transcendental);
    if (transcendental == 0) return (uint8_t)(fc_ll_widest(m) * (k->loops.len ? 2 : 1));
    if (m->vector_bytes < 64) return 16;
    return n->np == 1 || n->extent[n->np - 1] >= LONG ? 64 : 32;
}

/* Of rows side by side: some 3 ms, of the 10 that are saved. */
static bool are_few_blocks(const fc_machine *m, const fc_launch *l) {
    enum { BLOCKS = 512 }; /* of one thread */
    return l->units <= (int64_t)BLOCKS * m->threads;
}

/* Rows side by side take twice the text of one row, of few elements that are each written out, or
 * with tiles. */
static bool is_sooner_by_row(const fc_machine *m, const fc_kernel *k, const fc_launch *l,
                             const fc_class *cls) {
    return cls->llvm.narrow && !cls->llvm.packed && !cls->llvm.shared && are_few_blocks(m, l) &&
           (cls->llvm.tiles || !fc_ll_is_light(k));
}

/* Maps that read beyond edges have a text for parts that are inside and one for the rest, with two
 * ways to read; scans along rows turn their blocks in registers. It takes two to ten times as long
 * without. */
static bool is_sooner_without(const fc_machine *m, const fc_kernel *k, const fc_launch *l,
                              const fc_class *cls) {
    enum { ELEMENTS = 1 << 17 }; /* of one thread */
    const bool map = k->schedule == FC_SCHED_MAP;
    const double each = !map || cls->np > 1 ? (double)l->span : 1;
    bool any = !map;
    for (size_t i = 0; i < k->code.ins.len && !any; i++)
        any = k->code.ins.at[i].op == FC_OP_LOAD_AT;
    return any && (double)l->units * each <= (double)ELEMENTS * m->threads;
}

bool fc_ll_quicker(const fc_machine *m, const fc_kernel *k, const fc_launch *l, fc_class *cls) {
    if (fc_is_ragged(k)) return false;
    const uint8_t one = (uint8_t)fc_ll_widest(m);
    if (k->schedule == FC_SCHED_MAP) {
        const bool other = cls->vector > one;
        if (other) cls->vector = one;
        cls->llvm.brief = is_sooner_without(m, k, l, cls);
        return other || cls->llvm.brief;
    }
    if (cls->llvm.along) {
        cls->llvm.brief = is_sooner_without(m, k, l, cls);
        return cls->llvm.brief;
    }
    if (cls->llvm.panels || cls->llvm.direct) {
        cls->llvm.brief = true;
        return true;
    }
    if (k->schedule != FC_SCHED_INNER) return false;
    if (is_sooner_by_row(m, k, l, cls)) {
        cls->llvm = (fc_llvm_class){.keep = cls->llvm.keep ? FC_LL_KEEP_SHORT : 0,
                                    .by_row = true,
                                    .one_chunk = true,
                                    .brief = true};
        cls->wide = true; /* what is narrow looked at the other axis */
        return true;
    }
    cls->llvm.brief = !cls->llvm.narrow || (cls->llvm.tiles && are_few_blocks(m, l));
    return cls->llvm.brief;
}

/* Whether the elements of rows that lie in memory one by one can be loaded by vectors along them
 * (llvm_packed.c): also what is the same for all rows. */
static bool lies_along(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    const uint32_t axes = n->np + n->nr;
    if (m->vector_bytes < 32 || !fc_can_split(k) || !fc_ll_is_light(k)) return false;
    for (size_t i = 0; i < k->reductions.len; i++)
        if (k->reductions.at[i].record) return false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * axes;
        const fc_access *acc = &k->accesses.at[a];
        if (acc->buffer == FC_NO_BUFFER) return false;
        if (acc->level != FC_POINT) continue;
        /* masked loads of single bytes are instructions of AVX-512 only */
        if (s[n->np] != 1 || (m->vector_bytes < 64 && fc_dtypes[acc->dtype].bytes < 4))
            return false;
    }
    return true;
}

/* Whether a load that is gathered or transposed is the same for all rows of a block, there are rows
 * enough, and such loads, of at most `elements` of each row, have room on the stack. */
static bool shares(const fc_kernel *k, const fc_nest *n, unsigned elements) {
    const uint32_t axes = n->np + n->nr;
    unsigned bytes = 0;
    if (n->np < 2 || n->extent[n->np - 2] < FEW_ROWS) return false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * axes;
        const fc_access *acc = &k->accesses.at[a];
        if (acc->buffer == FC_NO_BUFFER || fc_is_stored(k, a)) continue;
        if (acc->level == FC_POINT && s[n->np - 2] == 0 &&
            fc_ll_move_by(s[n->np - 1]) == FC_MOVE_ANY)
            bytes += FC_LL_TILE * elements * fc_dtypes[acc->dtype].bytes;
    }
    return bytes > 0 && bytes <= SHARED_BYTES;
}

/* A row that stands still for those beside it, but not for those of a block, is brought once for
 * all of these. */
static bool can_pack(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    const uint32_t axes = n->np + n->nr;
    bool stands = false;
    for (uint32_t a = 0; a < n->naccess; a++)
        stands |= k->accesses.at[a].level == FC_POINT && !n->stride[(size_t)a * axes + n->np - 1];
    return k->reductions.len == 1 && fc_red_components(&k->reductions.at[0]) == 1 &&
           lies_along(m, k, n) && !(stands && shares(k, n, FC_LANES));
}

/* Longer rows, several at a time, where joining the lanes of one takes longer than its elements: a
 * variance divides by numbers that are the same for all rows. Sums of several rows at a time are no
 * faster, and from memory slower. */
static bool has_bands(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    bool counts = false;
    if (n->nr != 1 || n->count < FC_LANES || n->count >= FC_CHUNK ||
        n->extent[n->np - 1] < fc_ll_widest(m) || n->rows < (int64_t)m->threads * fc_ll_widest(m) ||
        !lies_along(m, k, n))
        return false;
    for (size_t i = 0; i < k->reductions.len; i++) {
        const fc_reduction *r = &k->reductions.at[i];
        if (fc_red_components(r) > 1 && !fc_red_counts(r)) return false;
        counts |= fc_red_counts(r);
    }
    return counts && fc_ll_band_vectors(m, k) > 0;
}

/* Rows that leave most lanes of a vector along them idle, or most of the work to joining them. */
static bool is_narrow(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    const unsigned V = fc_ll_widest(m);
    if (n->nr != 1 || n->count <= 0 || n->count >= FC_LANES || n->extent[n->np - 1] < V)
        return false;
    return n->count < V / 2 || can_pack(m, k, n) || tiles_fit(k, n, V, n->np - 1, n->np, FC_LANES);
}

/* Longer rows that already lie side by side, of a transposed array: all that is read of a point
 * moves by one from row to row, or not at all, and there are blocks of rows for all threads. */
static bool is_deep(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    const uint32_t axes = n->np + n->nr;
    bool any = false;
    if (n->nr != 1 || n->count < FC_LANES || n->extent[n->np - 1] < fc_ll_widest(m) ||
        n->rows < (int64_t)m->threads * FC_LL_TILE || fc_stores_points(k))
        return false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * axes;
        if (k->accesses.at[a].buffer == FC_NO_BUFFER || k->accesses.at[a].level != FC_POINT)
            continue;
        if (s[n->np - 1] != 0 && s[n->np - 1] != 1) return false;
        any |= s[n->np - 1] == 1;
    }
    return any;
}

/* A power of two. */
static uint8_t vectors_of_row(int64_t count, unsigned V) {
    unsigned n = 1;
    while ((int64_t)n * V < count) n *= 2;
    return (uint8_t)n;
}

/* Whether something that takes long may be needed by a stage and by the stores. */
static bool keeps(const fc_kernel *k, const fc_nest *n) {
    uint32_t ops, transcendental;
    fc_kernel_cost(k, &ops, &transcendental);
    return fc_stores_points(k) && transcendental && n->count <= FC_LL_KEPT_LONG;
}

/* How short rows come to lie side by side in the lanes. */
static void choose_narrow(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                          uint8_t *move) {
    const uint32_t axes = n->np + n->nr;
    const bool gathered = n->count < cls->vector / 2;
    cls->llvm.narrow = true;
    cls->llvm.deep = is_deep(m, k, n);
    if (cls->llvm.deep) return;
    if (has_bands(m, k, n)) {
        cls->llvm.packed = cls->llvm.bands = true;
        cls->llvm.row_vectors = (uint16_t)fc_ll_band_vectors(m, k);
    } else if (!gathered && can_pack(m, k, n)) {
        cls->llvm.packed = true;
        cls->llvm.row_vectors = vectors_of_row(n->count, cls->vector);
    } else if (!gathered) {
        cls->llvm.tiles = true;
        cls->llvm.tile_axis = (uint16_t)n->np;
    } else if (fc_ll_is_light(k)) {
        cls->llvm.row_elements = (uint16_t)n->count;
    }
    if (!cls->llvm.packed && shares(k, n, fc_ll_narrow_elements(cls))) cls->llvm.shared = true;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * axes;
        uint8_t *to = move + (size_t)a * axes;
        to[n->np] = (uint8_t)fc_ll_move_by(s[n->np]);
        if (cls->llvm.shared) to[n->np - 2] = s[n->np - 2] ? FC_MOVE_ANY : FC_MOVE_ZERO;
    }
}

static bool walks_as_one(const fc_nest *n, uint32_t a) {
    const int64_t *s = n->stride + (size_t)a * (n->np + n->nr), inner = s[n->np - 1];
    return fc_magnitude(inner) <= 1 && s[n->np - 2] == inner * n->extent[n->np - 1];
}

/* Whether an array has one element for each pixel, or for each channel. */
static bool is_of_pixels(const fc_kernel *k, const fc_nest *n, uint32_t a) {
    const int64_t *s = n->stride + (size_t)a * (n->np + n->nr), inner = s[n->np - 1],
                  outer = s[n->np - 2];
    return !fc_is_stored(k, a) && !k->accesses.at[a].pair &&
           ((!inner && outer == 1) || (inner == 1 && !outer));
}

/* The number of channels, where some loads are of that kind and nothing else keeps the axes apart:
 * as many vectors as there are channels take as many pixels as a vector has lanes. */
static unsigned channels_of(const fc_kernel *k, const fc_nest *n) {
    enum { MOST_CHANNELS = 4 };
    bool any = false;
    if (n->extent[n->np - 1] > MOST_CHANNELS || !fc_ll_is_light(k)) return 0;
    for (uint32_t a = 0; a < n->naccess; a++) {
        if (k->accesses.at[a].buffer == FC_NO_BUFFER) return 0;
        if (walks_as_one(n, a)) continue;
        if (!is_of_pixels(k, n, a)) return 0;
        any = true;
    }
    return any ? (unsigned)n->extent[n->np - 1] : 0;
}

/* Pixels of few channels, where only indices, or what is the same for pixels or channels, keep the
 * two axes apart: vectors are filled by several pixels. */
static bool joins_axes(const fc_kernel *k, const fc_nest *n, unsigned *channels) {
    *channels = 0;
    if (k->schedule != FC_SCHED_MAP || n->np < 2 || k->updates.len) return false;
    if (n->extent[n->np - 1] > FEW_NEIGHBOURS || n->extent[n->np - 2] < FEW_NEIGHBOURS)
        return false;
    if ((*channels = channels_of(k, n)) != 0) return true;
    for (uint32_t a = 0; a < n->naccess; a++)
        if (k->accesses.at[a].buffer != FC_NO_BUFFER && !walks_as_one(n, a)) return false;
    return true;
}

/* Along the outer axis: by one is as one, where the inner axis moves by one, too; else by one for
 * each time that the inner one is passed. */
static void move_joined(const fc_nest *n, fc_class *cls, uint8_t *move) {
    const uint32_t axes = n->np + n->nr;
    cls->llvm.joined = true;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * axes;
        uint8_t *to = move + (size_t)a * axes + n->np - 2;
        *to = (uint8_t)fc_ll_move_by(s[n->np - 2]);
        if (s[n->np - 1]) *to = walks_as_one(n, a) ? FC_MOVE_ONE : FC_MOVE_ANY;
    }
}

/* Elements of a row of a map, along the lanes. */
static int64_t row_of(const fc_nest *n, const fc_class *cls) {
    return n->extent[n->np - 1] * (cls->llvm.joined ? n->extent[n->np - 2] : 1);
}

/* Whether columns are gathered from arrays that lie along the reduced axis: a vector with a matrix
 * that is transposed. The elements of a run come to the stack then as those of a tile. */
static bool has_columns_across(const fc_kernel *k, const fc_nest *n, unsigned V) {
    const uint32_t axes = n->np + n->nr;
    bool any = false;
    if (n->nr != 1 || n->count < V / 2 || n->extent[n->np - 1] < V / 2 || fc_stores_points(k) ||
        !tiles_fit(k, n, V, n->np - 1, n->np, V))
        return false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * axes;
        if (k->accesses.at[a].level != FC_POINT || k->accesses.at[a].buffer == FC_NO_BUFFER)
            continue;
        any |= fc_ll_move_by(s[n->np - 1]) == FC_MOVE_ANY && s[n->np] == 1;
    }
    return any;
}

/* Whether a scan goes through its rows by vectors along them: they are long enough, and what it
 * stores lies that way. Else the lanes are rows side by side. */
static bool scans_along(const fc_kernel *k, const fc_nest *n) {
    enum { LEAST = 64, MOST_CODE = 64 };
    const uint32_t axes = n->np + n->nr;
    if (k->schedule != FC_SCHED_SCAN || n->nr != 1 || n->count < LEAST) return false;
    for (uint32_t a = 0; a < n->naccess; a++)
        if (fc_is_stored(k, a) && n->stride[(size_t)a * axes + n->np] != 1) return false;
    for (size_t i = 0; i < k->reductions.len; i++) {
        const fc_record *r = k->reductions.at[i].record;
        if (r && r->code.ins.len > MOST_CODE) return false;
    }
    return true;
}

/* Only how the lanes move shapes the text; the other axes are strides in the parameter block. */
static fusec_status make_class(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                               fc_arena *arena, fc_class *cls, fc_error *e) {
    FC_TRY(fc_class_of(n, FC_TARGET_LLVM, arena, cls, e));
    const uint32_t axes = n->np + n->nr;
    const bool inner = k->schedule == FC_SCHED_INNER,
               narrow = inner && (is_narrow(m, k, n) || is_deep(m, k, n) || has_bands(m, k, n));
    const bool along = scans_along(k, n);
    const uint32_t lanes = (inner && !narrow) || along ? axes - 1 : n->np - 1;
    uint8_t *move = fc_arena_alloc(arena, (size_t)n->naccess * axes + 1);
    if (!move) return fc_oom(e);
    bool vector_indices = inner && n->nr > 1;
    for (uint32_t a = 0; a < n->naccess; a++) {
        fc_move v = fc_class_move(cls, a, lanes);
        move[(size_t)a * axes + lanes] = (uint8_t)v;
        if (v == FC_MOVE_ANY) vector_indices = true;
    }
    cls->move = move;
    cls->wide = n->wide && vector_indices;
    cls->vector = (uint8_t)fc_ll_widest(m);
    uint32_t across;
    unsigned channels;
    if (k->schedule == FC_SCHED_DOT) FC_TRY(fc_ll_choose_panels(m, k, n, arena, cls, e));
    if (cls->llvm.panels || cls->llvm.direct) return FUSEC_OK;
    if (inner && keeps(k, n))
        cls->llvm.keep = n->count <= FC_LL_KEPT ? FC_LL_KEEP_SHORT : FC_LL_KEEP_LONG;
    cls->llvm.one_chunk = inner && !narrow && n->nr == 1 && n->count > 0 && n->count <= FC_CHUNK;
    if (narrow) {
        choose_narrow(m, k, n, cls, move);
    } else if (joins_axes(k, n, &channels)) {
        move_joined(n, cls, move);
        cls->wide = n->wide;
        cls->llvm.channels = (uint16_t)channels;
        cls->llvm.stream =
            !cls->llvm.channels && should_stream(m, k, n, lanes, false, cls->llvm.joined);
    } else if (k->schedule == FC_SCHED_MAP && !k->updates.len &&
               find_across(k, n, cls->vector, &across)) {
        cls->llvm.tiles = true;
        cls->llvm.stream = should_stream(m, k, n, lanes, true, false);
        cls->llvm.tile_axis = (uint16_t)across;
        for (uint32_t a = 0; a < n->naccess; a++)
            move[(size_t)a * axes + across] =
                (uint8_t)fc_ll_move_by(n->stride[(size_t)a * axes + across]);
    } else if (!fc_is_by_column(k)) {
        const bool down = k->schedule == FC_SCHED_SCAN && !along;
        cls->llvm.couples = are_couples(k, n, lanes);
        cls->llvm.stream = should_stream(m, k, n, lanes, down, cls->llvm.joined);
        if (down && !n->empty) fc_ll_choose_scan(m, k, n, cls);
    }
    cls->llvm.along = along;
    bool scattered = cls->llvm.tiles;
    if (fc_is_by_column(k)) {
        fc_ll_choose_columns(m, k, n, cls);
        scattered = cls->llvm.few && fc_ll_has_long_rows(k, n);
        if (has_columns_across(k, n, cls->vector)) {
            cls->llvm.tiles = scattered = true;
            cls->llvm.tile_axis = (uint16_t)n->np;
            for (uint32_t a = 0; a < n->naccess; a++)
                move[(size_t)a * axes + n->np] =
                    (uint8_t)fc_ll_move_by(n->stride[(size_t)a * axes + n->np]);
        }
        scattered |= k->schedule == FC_SCHED_DOT; /* a row of a matrix is a page from the next */
    } else if (k->schedule == FC_SCHED_SCAN && !along) {
        scattered = true;
    }
    cls->llvm.ahead = should_ask_ahead(m, k, n, scattered);
    if (k->schedule == FC_SCHED_MAP && !cls->llvm.tiles) cls->vector = lanes_of_map(m, k, n);
    return FUSEC_OK;
}

/* ---- launches ---------------------------------------------------------------------------- */

static void launch_tiles(const fc_kernel *k, const fc_nest *n, uint32_t across, fc_launch *l) {
    const int64_t row = n->extent[n->np - 1], column = n->extent[across];
    const int64_t blocks = fc_ceil_div(row, FC_LL_TILE) * fc_ceil_div(column, FC_LL_TILE);
    fc_ll_cut(k, l, n->rows / row / column * blocks, FC_LL_TILE * FC_LL_TILE);
}

static int64_t multiple_of(int64_t n, int64_t of) {
    return fc_ceil_div(n, of) * of;
}

/* Pixels of channels that are whole vectors stay together. */
static void launch_map(const fc_kernel *k, const fc_nest *n, const fc_class *cls, fc_launch *l) {
    const int64_t together = cls->llvm.channels ? cls->llvm.channels * cls->vector : 1;
    const int64_t task = multiple_of(fc_ll_task_elements(k), together), row = row_of(n, cls);
    if (n->np == 1u + cls->llvm.joined) {
        fc_ll_cut(k, l, n->rows, 1);
        l->unit = multiple_of(l->unit, together);
        l->tasks = fc_ceil_div(l->units, l->unit);
        return;
    }
    l->span = row < task ? fc_ll_at_least_one(row) : task;
    l->spans = fc_ll_at_least_one(fc_ceil_div(row, l->span));
    fc_ll_cut(k, l, row ? n->rows / row * l->spans : 0, l->span);
}

/* Whether each task can have copies of the arrays: they are small, and get many updates. */
static bool can_copy(const fc_kernel *k, const fc_nest *n) {
    enum { COPIED = 4096, OFTEN = 16, ARRAYS = 4 };
    for (size_t i = 0; i < k->updates.len; i++)
        if (!k->updates.at[i].op) return false;
    return k->updates.len <= ARRAYS && n->updated >= 1 && n->updated <= COPIED &&
           n->rows >= OFTEN * n->updated;
}

static bool has_sum(const fc_kernel *k) {
    for (size_t i = 0; i < k->updates.len; i++)
        if (k->updates.at[i].op == FC_OP_sum) return true;
    return false;
}

/* Updates of one task need not look out for others, and an atomic sum takes four times as long as a
 * plain one: a few threads are no faster than one. */
static void choose_update(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                          fc_launch *l) {
    enum { FEW_THREADS = 4, LEAST = 16 /* updates of a task for each element of its copies */ };
    const bool copied = m->threads > 1 && can_copy(k, n);
    if (m->threads == 1 || (m->threads <= FEW_THREADS && !copied && has_sum(k))) {
        l->unit = fc_ll_at_least_one(l->units);
        l->tasks = fc_ceil_div(l->units, l->unit);
    }
    cls->llvm.alone = l->tasks <= 1;
    cls->llvm.reach = m->near_cache && !copied && 8 * n->updated > (int64_t)m->near_cache;
    if (cls->llvm.alone || !copied) return;
    const int64_t each = n->np == 1 ? 1 : l->span;
    cls->llvm.copied = 64;
    while (cls->llvm.copied < n->updated) cls->llvm.copied = (uint16_t)(2 * cls->llvm.copied);
    if (l->unit * each < LEAST * n->updated) l->unit = fc_ceil_div(LEAST * n->updated, each);
    l->tasks = fc_ceil_div(l->units, l->unit);
}

static void launch_inner(const fc_kernel *k, const fc_nest *n, fc_class *cls, fc_launch *l) {
    if (cls->llvm.narrow) {
        const int64_t width = n->extent[n->np - 1], high = fc_ll_unit_rows(cls);
        const int64_t blocks = fc_ceil_div(width, high);
        int64_t rows = n->rows / width, each = n->count * high;
        if (cls->llvm.shared) {
            const int64_t shared = n->extent[n->np - 2];
            rows = rows / shared * fc_ceil_div(shared, FC_LL_TILE);
            each *= shared < FC_LL_TILE ? shared : FC_LL_TILE;
        }
        fc_ll_cut(k, l, rows * blocks, each);
        return;
    }
    if (fc_can_split(k) && n->rows < FC_LL_FEW_UNITS && n->count >= 2 * INNER_SPAN) {
        int64_t span = INNER_SPAN;
        while (span > SHORT_SPAN && n->rows * fc_ceil_div(n->count, span) < FC_LL_PARTS) span /= 2;
        fc_ll_launch_split(k, n, span, cls, l);
        fc_ll_cut(k, l, n->rows * l->spans, span);
        return;
    }
    fc_ll_cut(k, l, n->rows, n->count);
}

/* Rows that end by data: what their lengths are is not known, but for the mean of those that share
 * the elements between them. The class looks at nothing but how the lanes move. */
static fusec_status schedule_ragged(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                    bool plain, fc_arena *arena, fc_class *cls, fc_launch *l,
                                    fc_error *e) {
    enum { SIDE_BY_SIDE = 4 }; /* registers of columns */
    FC_TRY(fc_class_of(n, FC_TARGET_LLVM, arena, cls, e));
    const bool inner = k->schedule == FC_SCHED_INNER;
    const uint32_t axes = n->np + n->nr, lanes = inner ? axes - 1 : n->np - 1;
    uint8_t *move = fc_arena_alloc(arena, (size_t)n->naccess * axes + 1);
    if (!move) return fc_oom(e);
    memset(move, 0, (size_t)n->naccess * axes);
    for (uint32_t a = 0; a < n->naccess; a++)
        move[(size_t)a * axes + lanes] =
            plain ? fc_access_moves(&k->accesses.at[a], (int32_t)lanes) ? FC_MOVE_ANY : FC_MOVE_ZERO
                  : (uint8_t)fc_class_move(cls, a, lanes);
    cls->move = move;
    cls->wide = true;
    cls->vector = (uint8_t)fc_ll_widest(m);
    /* what an element reads at the place of the row serves all columns of a vector */
    for (unsigned i = 1; !inner && !plain && i < SIDE_BY_SIDE; i *= 2)
        if (n->extent[n->np - 1] >= 2 * cls->vector) cls->vector *= 2;
    if (n->empty) {
        fc_ll_cut(k, l, 0, 1);
        return FUSEC_OK;
    }
    const int64_t width = inner ? 1 : fc_ll_at_least_one(n->extent[n->np - 1]);
    const int64_t columns = inner ? 1 : fc_ll_columns(k, cls), rows = n->rows / width;
    const int64_t mean = fc_ll_at_least_one(fc_ceil_div(n->count, fc_ll_at_least_one(rows)));
    /* lanes without an element take as long */
    if (inner && !plain && mean < cls->vector) cls->vector /= 2;
    fc_ll_cut(k, l, rows * fc_ceil_div(width, columns), mean * (columns < width ? columns : width));
    return FUSEC_OK;
}

fusec_status fc_ll_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                            uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *launch,
                            fc_error *e) {
    (void)align; /* unaligned vector loads of aligned addresses cost nothing */
    memset(launch, 0, sizeof *launch);
    launch->spans = 1;
    if (fc_is_ragged(k)) return schedule_ragged(m, k, n, false, arena, cls, launch, e);
    FC_TRY(make_class(m, k, n, arena, cls, e));
    launch->spans = 1;
    if (n->empty) {
        fc_ll_cut(k, launch, 0, 1);
        return FUSEC_OK;
    }
    switch (k->schedule) {
    case FC_SCHED_MAP:
        if (cls->llvm.tiles)
            launch_tiles(k, n, cls->llvm.tile_axis, launch);
        else
            launch_map(k, n, cls, launch);
        if (k->updates.len) choose_update(m, k, n, cls, launch);
        break;
    case FC_SCHED_INNER: launch_inner(k, n, cls, launch); break;
    case FC_SCHED_DOT:
        if (cls->llvm.panels || cls->llvm.direct) {
            fc_ll_launch_panels(m, k, n, cls, launch);
            break;
        }
        /* fallthrough */
    case FC_SCHED_SCAN:
        if (cls->llvm.along) {
            fc_ll_cut(k, launch, n->rows, n->count);
            launch->span = n->count;
            break;
        }
        /* fallthrough */
    case FC_SCHED_OUTER: fc_ll_launch_columns(k, n, cls, launch); break;
    case FC_SCHED_COUNT: return fc_fail(e, FUSEC_INTERNAL, "a kernel without a schedule");
    }
    return FUSEC_OK;
}

fusec_status fc_ll_schedule_plain(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                  fc_arena *arena, fc_class *cls, fc_launch *l, fc_error *e) {
    const uint32_t axes = n->np + n->nr;
    const bool inner = k->schedule == FC_SCHED_INNER;
    const uint32_t lanes = inner ? axes - 1 : n->np - 1;
    const int32_t axis = (int32_t)(inner ? k->np + k->nr : k->np) - 1; /* -1: there is none */
    memset(l, 0, sizeof *l);
    l->spans = 1;
    if (fc_is_ragged(k)) return schedule_ragged(m, k, n, true, arena, cls, l, e);
    FC_TRY(fc_class_of(n, FC_TARGET_LLVM, arena, cls, e));
    uint8_t *move = fc_arena_alloc(arena, (size_t)n->naccess * axes + 1);
    if (!move) return fc_oom(e);
    memset(move, 0, (size_t)n->naccess * axes);
    for (uint32_t a = 0; a < n->naccess; a++)
        if (axis >= 0 && fc_access_moves(&k->accesses.at[a], axis))
            move[(size_t)a * axes + lanes] = FC_MOVE_ANY;
    cls->move = move;
    cls->wide = true;
    cls->vector = (uint8_t)fc_ll_widest(m);
    if (n->empty) return FUSEC_OK;
    const int64_t width = fc_ll_at_least_one(n->extent[n->np - 1]);
    const int64_t columns = fc_ll_columns(k, cls);
    if (k->schedule == FC_SCHED_MAP)
        launch_map(k, n, cls, l);
    else if (inner)
        fc_ll_cut(k, l, n->rows, n->count);
    else
        fc_ll_cut(k, l, n->rows / width * fc_ceil_div(width, columns),
                  n->count * (columns < width ? columns : width));
    return FUSEC_OK;
}
