/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_schedule.c - which variant runs a nest, and how it is launched.
 *
 * In: a nest and the machine. Out: the class (cuda.h says how it is read) and the launch.
 * Everything follows from sizes and machine facts by fixed rules; the tree of a reduction never
 * depends on the choice. */
#include "codegen/cuda/schedule/cuda_schedule.h"

/* ---- inner reductions ----------------------------------------------------------------------- */

/* Whether neighbouring rows, not neighbouring elements, lie next to each other for most of what is
 * read, and a thread for each keeps the machine busy: 8,192 rows of as many elements take an H200
 * 532 us with a thread for each and 406 with a warp; 65,536 of 4,096 take 363 and 1,300. */
static bool rows_are_neighbours(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                const fc_class *cls) {
    enum { LEAST = 4096, LEAST_PER_SM = 80 };
    if (n->rows < LEAST || n->rows < (int64_t)m->sm_count * LEAST_PER_SM) return false;
    unsigned along = 0, across = 0;
    for (uint32_t a = 0; a < n->naccess; a++) {
        if (!fc_cuda_is_memory(k, a) || k->accesses.at[a].level != FC_POINT) continue;
        if (fc_class_move(cls, a, n->np + n->nr - 1) == FC_MOVE_ONE) along += fc_cuda_bytes(k, a);
        if (fc_class_move(cls, a, n->np + n->nr - 1) == FC_MOVE_ANY &&
            fc_class_move(cls, a, n->np - 1) == FC_MOVE_ONE)
            across += fc_cuda_bytes(k, a);
    }
    return across > along;
}

static void grid_of_rows(const fc_nest *n, fc_class *cls, int64_t team, fc_launch *l) {
    cls->cuda.team = (uint16_t)team;
    unsigned block = fc_cuda_block(cls);
    l->block[0] = block;
    l->grid[0] = (uint64_t)fc_ceil_div(n->rows, block / team);
}

/* Short rows: several for each team, so that more than one load of a thread is under way. */
static void take_several(const fc_machine *m, const fc_kernel *k, int per, int most, fc_class *cls,
                         fc_launch *l) {
    int repeat = fc_cuda_unroll(k, most, per);
    while (repeat > 1 &&
           (int64_t)l->grid[0] / repeat < (int64_t)m->sm_count * FC_CUDA_ENOUGH_BLOCKS)
        repeat /= 2;
    cls->cuda.repeat = (uint16_t)repeat;
    l->grid[0] = (uint64_t)fc_ceil_div((int64_t)l->grid[0], repeat);
}

static void thread_schedule(const fc_machine *m, const fc_nest *n, const fc_kernel *k,
                            uint32_t align, fc_class *cls, fc_launch *l) {
    int64_t v = fc_cuda_pow2_up(n->count < 8 ? n->count : 8);
    uint32_t axis = n->np + n->nr - 1;
    v = fc_cuda_unroll(k, (int)v, 1);
    if (n->count > 0 && n->count <= v) v = n->count; /* `once`: the lanes that exist */
    cls->cuda.kind = FC_CUDA_THREAD;
    cls->cuda.whole = n->count % v == 0;
    cls->vector = (uint8_t)v;
    cls->aligned = (v & (v - 1)) == 0 && n->extent[axis] % v == 0 &&
                   fc_cuda_can_be_wide(k, n, cls, axis, (unsigned)v, align);
    l->block[0] = FC_CUDA_THREADS;
    l->grid[0] = (uint64_t)fc_ceil_div(n->rows, FC_CUDA_THREADS);
    if (n->count != v) return;
    cls->cuda.once = true;
    if (fc_cuda_rect_schedule(m, k, n, align, cls, l)) return;
    if (n->np == 2) {
        int repeat = fc_cuda_unroll(k, 16, (int)v);
        while (repeat > 1 &&
               n->rows / repeat / FC_CUDA_THREADS < (int64_t)m->sm_count * FC_CUDA_ENOUGH_BLOCKS)
            repeat /= 2;
        cls->cuda.repeat = (uint16_t)repeat;
        int across = fc_cuda_repeat_across(cls);
        l->grid[0] = (uint64_t)(fc_ceil_div(n->extent[1], across * FC_CUDA_THREADS) *
                                fc_ceil_div(n->extent[0], repeat / across));
    } else {
        take_several(m, k, (int)v, 4, cls, l);
    }
}

/* A row of less than SPLIT_BYTES is read by one block, at some 60 bytes a clock, in the time in
 * which the blocks of a split would hand over their partials; with more components or functions a
 * block is slower. The last block of a row reads all partials: fewer spans where each has many
 * components. Several rows are one round of blocks. */
enum { SPLIT_WARPS = 8, SPLIT_BYTES = 640 << 10, SPLIT_BLOCKS_PER_SM = 16, SPLIT_COMPONENTS = 3 };

static bool short_row(const fc_kernel *k, const fc_nest *n, const fc_class *cls) {
    int64_t bytes = 0;
    uint32_t ops, heavy;
    fc_kernel_cost(k, &ops, &heavy);
    for (uint32_t a = 0; a < n->naccess; a++)
        if (fc_cuda_is_memory(k, a) && k->accesses.at[a].level == FC_POINT &&
            fc_class_move(cls, a, n->np + n->nr - 1) != FC_MOVE_ZERO)
            bytes += fc_cuda_bytes(k, a);
    return n->count < SPLIT_BYTES / (bytes ? bytes : 1) / (fc_components(k) + heavy);
}

static int64_t split_blocks(const fc_machine *m, const fc_kernel *k, const fc_nest *n) {
    int64_t each = SPLIT_BLOCKS_PER_SM;
    if (fc_components(k) > SPLIT_COMPONENTS)
        each = SPLIT_BLOCKS_PER_SM / 2;
    else if (n->rows > 1)
        each = SPLIT_BLOCKS_PER_SM / 8;
    return m->sm_count * each;
}

/* Spans of a row for a split over blocks: powers of two, enough of them to fill the machine. */
static bool split_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                           fc_launch *l) {
    int64_t chunks = fc_ceil_div(n->count, FC_CHUNK), blocks = split_blocks(m, k, n);
    if (k->nstages != 1 || fc_stores_points(k) || n->rows >= 2 * m->sm_count || chunks < 32 ||
        short_row(k, n, cls))
        return false;
    int64_t span = SPLIT_WARPS;
    while (span < chunks && fc_ceil_div(chunks, 2 * span) * n->rows >= blocks) span *= 2;
    l->spans = fc_ceil_div(chunks, span);
    if (l->spans < 2) return false;
    l->span = span * FC_CHUNK;
    cls->cuda = (fc_cuda_class){.kind = FC_CUDA_LOOP, .repeat = 1, .split = FC_CUDA_SPLIT};
    grid_of_rows(n, cls, SPLIT_WARPS * 32, l);
    l->grid[0] = (uint64_t)l->spans;
    l->grid[1] = (uint64_t)n->rows;
    l->workspace_bytes = fc_cuda_partial_bytes(k, n->rows, l->spans);
    l->tickets = (uint32_t)n->rows;
    return true;
}

/* ---- gangs: rows that are needed several times and that one block can't hold ----------------- */

enum { GANG_MOST = 512, GANG_LEAST = 256 }; /* threads of a block */
enum { GANG_SHARED = 4096 };                /* what it needs for exchanges and the driver */

/* Blocks of `team` threads, each with `span` elements of a row. */
static bool gang_fits(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                      const uint8_t *cached, unsigned team, int64_t span, fc_class *cls,
                      fc_launch *l) {
    unsigned of_sm = fc_cuda_gang_threads(k, cached);
    if (!m->together || of_sm > (unsigned)m->max_threads_per_sm) return false;
    int64_t capacity = (int64_t)m->sm_count * (of_sm / team), parts = fc_ceil_div(n->count, span);
    if (parts < 2 || parts > capacity || parts > team) return false;
    int64_t gangs = capacity / parts < n->rows ? capacity / parts : n->rows;
    cls->cuda.split = FC_CUDA_GANG;
    cls->cuda.team = (uint16_t)team;
    l->together = true;
    l->spans = parts;
    l->span = span;
    l->block[0] = team;
    l->grid[0] = (uint64_t)(gangs * parts);
    l->tickets = fc_cuda_gang_tickets(k, cls, gangs, parts);
    return true;
}

/* Each warp of a gang keeps one chunk; cls says how, but for the team. */
static bool gang_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                          const uint8_t *cached, fc_class *cls, fc_launch *l) {
    int64_t chunks = fc_ceil_div(n->count, FC_CHUNK), large = fc_ceil_div(chunks, GANG_MOST / 32),
            small = fc_ceil_div(chunks, GANG_LEAST / 32);
    bool few = n->rows * large < m->sm_count;
    bool waste = large * GANG_MOST - small * GANG_LEAST > large * GANG_MOST / 16;
    unsigned team = few || waste ? GANG_LEAST : GANG_MOST, bytes = 0;
    if (!gang_fits(m, k, n, cached, team, (int64_t)team / 32 * FC_CHUNK, cls, l)) return false;
    bool quads = fc_cuda_gang_quads(cls),
         ahead = m->sm_major >= 8 && n->nr == 1 && quads == cls->aligned; /* cp.async: sm_80 */
    for (uint32_t a = 0; a < k->accesses.len; a++) {
        unsigned piece =
            fc_cuda_bytes(k, a) * (quads ? 4 : 1); /* 4, 8 or 16 bytes are copied at once */
        if (cached[a]) bytes += fc_cuda_bytes(k, a) * FC_CHUNK / 32 * team;
        if (cached[a] && (piece < 4 || piece > 16)) ahead = false;
    }
    unsigned most = (unsigned)m->shared_per_block / (fc_cuda_gang_threads(k, cached) / team);
    if (n->rows * l->spans > (int64_t)l->grid[0] && ahead && bytes + GANG_SHARED <= most) {
        cls->cuda.ahead = true;
        l->shared_bytes = bytes;
    }
    return true;
}

/* Rows that a gang can't keep either, if there are fewer of them than would fill the machine: its
 * blocks walk over them. */
static bool gang_loop_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                               uint8_t *cached, fc_class *cls, fc_launch *l) {
    int64_t span = GANG_LEAST / 32 * FC_CHUNK,
            most = (int64_t)m->sm_count * (1024 / GANG_LEAST) / n->rows;
    if (n->rows >= m->sm_count || n->count < 4 * span) return false;
    if (most > GANG_LEAST) most = GANG_LEAST;
    while (fc_ceil_div(n->count, span) > most) span *= 2;
    memset(cached, 0, n->naccess);
    cls->cuda = (fc_cuda_class){.kind = FC_CUDA_LOOP, .repeat = 1};
    return gang_fits(m, k, n, cached, GANG_LEAST, span, cls, l);
}

static void loop_schedule(const fc_machine *m, const fc_nest *n, fc_class *cls, fc_launch *l) {
    int64_t chunks = fc_ceil_div(n->count, FC_CHUNK);
    int64_t warps = chunks <= 3 ? 1 : chunks <= 6 ? 2 : chunks <= 16 ? 4 : 8;
    while (warps < 32 && warps < chunks && n->rows * warps < (int64_t)m->sm_count * 16) warps *= 2;
    cls->cuda = (fc_cuda_class){.kind = FC_CUDA_LOOP, .repeat = 1};
    l->spans = 1;
    l->span = fc_cuda_pow2_up(fc_ceil_div(chunks, warps)) * warps * FC_CHUNK;
    grid_of_rows(n, cls, warps * 32, l);
}

/* Whether the blocks of FC_CUDA_ONE have no thread without an element or a row. Then the text has
 * no test for it; otherwise it has one at every group. */
static bool fills_blocks(const fc_nest *n, const fc_class *cls, const fc_launch *l) {
    int64_t team = cls->cuda.team, rows = (int64_t)l->block[0] / team * cls->cuda.repeat,
            span = team * 4 * cls->cuda.iterations;
    if (cls->cuda.split == FC_CUDA_GANG) return n->count == l->spans * l->span;
    return n->count == span && n->rows % rows == 0;
}

static fusec_status inner_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                   uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *l,
                                   fc_error *e) {
    int64_t chunks = fc_ceil_div(n->count, FC_CHUNK), its = FC_CHUNK / FC_LANES, team = 32;
    uint32_t axis = n->np + n->nr - 1;
    if (n->count <= 8 || rows_are_neighbours(m, k, n, cls)) {
        thread_schedule(m, n, k, align, cls, l);
        return FUSEC_OK;
    }
    cls->vector = 4;
    cls->aligned =
        (n->nr == 1 || n->extent[axis] % 4 == 0) && fc_cuda_can_be_wide(k, n, cls, axis, 4, align);
    if (n->count <= FC_LANES) {
        its = 1;
        team = fc_cuda_pow2_up(fc_ceil_div(n->count, 4));
    } else if (n->count <= FC_CHUNK) {
        its = fc_cuda_pow2_up(fc_ceil_div(n->count, FC_LANES));
    } else {
        if (split_schedule(m, k, n, cls, l)) return FUSEC_OK;
        team = 32 * fc_cuda_pow2_up(chunks);
    }
    bool several = k->nstages + (unsigned)fc_stores_points(k) > 1, all,
         whole = n->count > 0 && n->count % 4 == 0;
    cls->cuda = (fc_cuda_class){.kind = FC_CUDA_ONE,
                                .repeat = 1,
                                .iterations = (uint16_t)its,
                                .whole = whole,
                                .team = (uint16_t)(team < GANG_MOST ? team : GANG_MOST)};
    uint8_t *cached = fc_arena_alloc(arena, n->naccess + 1);
    if (!cached) return fc_oom(e);
    if (several && team > 1024) {
        bool found;
        FC_TRY(fc_cuda_cluster_schedule(m, k, n, cached, cls, l, &found, e));
        if (!found) FC_TRY(fc_cuda_ring_schedule(m, k, n, cached, cls, l, &found, e));
        if (found) return FUSEC_OK;
    }
    memset(cached, 0, n->naccess);
    FC_TRY(fc_cuda_cache(k, cls, cached, &all, e));
    bool few = n->rows * 2 < m->sm_count && chunks >= 16;
    if (several && all && (few || team > 1024) && gang_schedule(m, k, n, cached, cls, l)) {
        if (fills_blocks(n, cls, l)) cls->cuda.full = true;
        return FUSEC_OK;
    }
    if (team <= 1024) {
        cls->cuda.team = (uint16_t)team;
        memset(cached, 0, n->naccess);
        FC_TRY(fc_cuda_cache(k, cls, cached, &all, e));
        if (chunks <= 1 || (several && all)) {
            if (several && all) cls->cuda.own = true;
            grid_of_rows(n, cls, team, l);
            if (its <= 2) take_several(m, k, 4 * (int)its, 4 / (int)its, cls, l);
            if (fills_blocks(n, cls, l)) cls->cuda.full = true;
            return FUSEC_OK;
        }
    }
    if (!several || !gang_loop_schedule(m, k, n, cached, cls, l)) loop_schedule(m, n, cls, l);
    return FUSEC_OK;
}

/* ---- rows that end by data ------------------------------------------------------------------- */

/* Their lengths are not known before the launch, but their mean is, where they share the elements
 * between them: short ones have a thread, others a warp, or several. */
static void ragged_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                            fc_class *cls, fc_launch *l) {
    enum { SHORT = 96, EACH = 6, LONG = 4096 };
    const bool inner = k->schedule == FC_SCHED_INNER;
    const int64_t width = inner ? 1 : n->extent[n->np - 1], rows = n->rows / (width ? width : 1);
    const int64_t mean = fc_ceil_div(n->count, rows ? rows : 1);
    l->spans = 1;
    if (!inner) {
        const int64_t x = mean <= 4 * FC_RUN ? FC_CUDA_THREADS : FC_CUDA_THREADS / 8;
        cls->cuda.kind = FC_CUDA_OUTER;
        cls->cuda.across = (uint16_t)x;
        l->block[0] = (uint32_t)x;
        l->block[1] = (uint32_t)(FC_CUDA_THREADS / x);
        l->grid[0] = (uint64_t)fc_ceil_div(n->rows, x);
    } else if (mean <= SHORT) {
        const int64_t team = fc_cuda_pow2_up(fc_ceil_div(mean, EACH));
        cls->cuda.kind = FC_CUDA_THREAD;
        cls->cuda.team = (uint16_t)team;
        cls->vector = 4;
        l->block[0] = FC_CUDA_THREADS;
        l->grid[0] = (uint64_t)fc_ceil_div(n->rows, FC_CUDA_THREADS / team);
    } else {
        const bool few = n->rows < (int64_t)m->sm_count * 8;
        cls->cuda.kind = FC_CUDA_LOOP;
        cls->vector = 4;
        grid_of_rows(n, cls, mean > LONG ? (few ? 1024 : 256) : 32, l);
    }
}

/* ---- the L2 --------------------------------------------------------------------------------- */

/* Whether elements are read once each and by loads of whole vectors (cuda_group.c) or bulk copies,
 * next to which something is written. */
static bool reads_once(const fc_kernel *k, const fc_class *cls) {
    bool maps = cls->cuda.kind == FC_CUDA_MAP && cls->vector > 1,
         keeps = cls->cuda.own && cls->aligned;
    return (maps || keeps || fc_cuda_has_places(cls)) && fc_stores_points(k);
}

static bool draws(const fc_kernel *k) {
    for (size_t i = 0; i < k->code.ins.len; i++)
        if (k->code.ins.at[i].op == FC_OP_philox || k->code.ins.at[i].op == FC_OP_philox_raw)
            return true;
    return false;
}

/* Whether all element numbers that advance along the innermost axis do so from multiples of four.
 */
static bool numbers_in_fours(const fc_kernel *k, const fc_nest *n) {
    const uint32_t axes = n->np + n->nr, inner = k->schedule == FC_SCHED_MAP ? n->np : axes;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t *stride = n->stride + (size_t)a * axes;
        if (fc_cuda_is_memory(k, a) || !inner || stride[inner - 1] != 1) continue;
        if (n->offset[a] % 4) return false;
        for (uint32_t x = 0; x < axes; x++)
            if (x != inner - 1 && stride[x] % 4) return false;
    }
    return true;
}

/* ---- entry ---------------------------------------------------------------------------------- */

fusec_status fc_cuda_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                              uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *launch,
                              fc_error *e) {
    memset(launch, 0, sizeof *launch);
    for (int i = 0; i < 3; i++) launch->grid[i] = launch->block[i] = 1;
    FC_TRY(fc_class_of(n, FC_TARGET_CUDA, arena, cls, e));
    cls->cuda.repeat = 1;
    if (n->empty) {
        launch->grid[0] = 0;
        return FUSEC_OK;
    }
    if (fc_is_ragged(k)) {
        ragged_schedule(m, k, n, cls, launch);
        return launch->grid[0] > INT32_MAX ? fc_fail(e, FUSEC_LIMIT, "too many rows") : FUSEC_OK;
    }
    switch (k->schedule) {
    case FC_SCHED_MAP:
        if (!k->updates.len) FC_TRY(fc_cuda_tile_schedule(k, n, align, arena, cls, launch, e));
        if (cls->cuda.kind == FC_CUDA_MAP)
            FC_TRY(fc_cuda_map_schedule(m, k, n, align, arena, cls, launch, e));
        break;
    case FC_SCHED_INNER: FC_TRY(inner_schedule(m, k, n, align, arena, cls, launch, e)); break;
    case FC_SCHED_SCAN: fc_cuda_scan_schedule(m, k, n, align, cls, launch); break;
    case FC_SCHED_DOT:
        FC_TRY(fc_cuda_dot_schedule(m, k, n, align, arena, cls, launch, e));
        if (cls->cuda.kind == FC_CUDA_DOT) break;
        /* fallthrough */
    default: FC_TRY(fc_cuda_outer_schedule(m, k, n, align, cls, launch, e)); break;
    }
    cls->cuda.large =
        reads_once(k, cls) && m->cache && fc_nest_bytes(k, n, false) > (double)m->cache;
    cls->cuda.fours = draws(k) && numbers_in_fours(k, n);
    /* spans are rounded up to powers of two: their ends must fit an index too */
    int64_t reach;
    if (!fc_mul_ok(launch->spans + 1, launch->span, &reach) || reach > FC_NARROW_MAX)
        cls->wide = true;
    if (launch->grid[0] > INT32_MAX)
        return fc_fail(e, FUSEC_LIMIT,
                       "a kernel would need %llu blocks of threads; a device takes 2^31 - 1",
                       (unsigned long long)launch->grid[0]);
    return FUSEC_OK;
}
