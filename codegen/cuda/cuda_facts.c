/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_facts.c - what schedules and texts both ask of a kernel and a class. Nothing here writes
 * text or chooses anything. */
#include "codegen/cuda/cuda_facts.h"

/* ---- bounds on text ------------------------------------------------------------------------- */

enum { MOST_OPERATIONS = 2000 };

bool fc_cuda_text_fits(const fc_kernel *k, unsigned elements, unsigned functions) {
    uint32_t ops, heavy;
    fc_kernel_cost(k, &ops, &heavy);
    return heavy * elements <= functions && ops * elements <= MOST_OPERATIONS;
}

int fc_cuda_unroll(const fc_kernel *k, int most, int per) {
    while (most > 1 && !fc_cuda_text_fits(k, (unsigned)(most * per), FC_CUDA_FUNCTIONS)) most /= 2;
    return most;
}

/* ---- what FC_CUDA_ONE keeps in registers ---------------------------------------------------- */

/* In how many phases each access is loaded. */
fusec_status fc_cuda_count_phases(const fc_kernel *k, uint8_t *phases, fc_error *e) {
    size_t n = k->code.ins.len;
    uint8_t *need = fc_malloc(k->code.alloc, n + 1);
    if (!need) return fc_oom(e);
    for (uint32_t s = 0; s <= k->nstages; s++) {
        memset(need, 0, n);
        for (size_t r = 0; s < k->nstages && r < k->reductions.len; r++)
            if (k->reductions.at[r].stage == s) {
                fc_val value[FC_MAX_COMPONENTS];
                const size_t values = fc_red_values(&k->reductions.at[r], NULL, value);
                fc_kernel_slice(&k->code, value, values, need);
            }
        for (size_t i = 0; s == k->nstages && i < k->stores.len; i++)
            if (k->accesses.at[k->stores.at[i].access].level == FC_POINT)
                fc_kernel_slice(&k->code, &k->stores.at[i].value, 1, need);
        for (size_t i = 0; s == k->nstages && i < k->updates.len; i++)
            fc_kernel_slice(&k->code, &k->updates.at[i].value, 1, need);
        for (size_t v = 0; v < n; v++) {
            const fc_instr *i = &k->code.ins.at[v];
            if (need[v] && i->op == FC_OP_LOAD && i->level == FC_POINT) phases[i->imm]++;
        }
    }
    fc_free(k->code.alloc, need);
    return FUSEC_OK;
}

/* Bytes a thread may keep: half of its registers at 1024 threads a block (64), more with smaller
 * blocks. */
unsigned fc_cuda_cache_limit(unsigned team) {
    return team > 512 ? 32 * 4 : team > 256 ? 64 * 4 : 96 * 4;
}

fusec_status fc_cuda_cache(const fc_kernel *k, const fc_class *cls, uint8_t *cached, bool *all,
                           fc_error *e) {
    const int its = cls->cuda.iterations;
    unsigned bytes = 0, limit = fc_cuda_cache_limit(cls->cuda.team);
    FC_TRY(fc_cuda_count_phases(k, cached, e));
    bool whole = fc_cuda_unroll(k, its, 4) == its, fits = true;
    for (uint32_t a = 0; a < k->accesses.len; a++) {
        unsigned more = fc_cuda_bytes(k, a) * 4u * (unsigned)its;
        bool wanted = cached[a] > 1 && fc_cuda_is_memory(k, a),
             keep = wanted && whole && bytes + more <= limit;
        if (keep) bytes += more;
        if (wanted && !keep) fits = false;
        cached[a] = keep;
    }
    if (all) *all = fits;
    return FUSEC_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

unsigned fc_cuda_block_threads(const fc_kernel *k, const fc_class *cls) {
    switch (cls->cuda.kind) {
    case FC_CUDA_MAP:
    case FC_CUDA_RECT: return FC_CUDA_MAP_THREADS;
    case FC_CUDA_RING: return fc_cuda_ring_threads(k, cls);
    case FC_CUDA_CLUSTER: return 32u * cls->cuda.warps;
    case FC_CUDA_ONE:
    case FC_CUDA_LOOP: return fc_cuda_block(cls);
    case FC_CUDA_SCAN: return fc_cuda_scan_threads(cls);
    case FC_CUDA_DOT: return fc_cuda_tile_threads(fc_cuda_tile_of(cls));
    default: return FC_CUDA_THREADS;
    }
}

/* How many blocks of an SM there should be room for, 0 for any number: what the compiler takes as
 * leave to use registers, so that all loads of a batch are under way before the first is used. */
unsigned fc_cuda_min_blocks(const fc_kernel *k, const fc_class *cls) {
    const unsigned threads = fc_cuda_block_threads(k, cls);
    if (cls->cuda.roomy) return 0;
    if (cls->cuda.kind == FC_CUDA_DOT) {
        const bool wide = fc_dtypes[k->reductions.at[0].dtype].bytes == 8 && !cls->cuda.dot_narrow;
        return fc_cuda_tile_of(cls)->blocks - (wide && cls->cuda.split ? 1u : 0u);
    }
    if (k->schedule == FC_SCHED_SCAN) /* as many as have room for their tiles, where they wait */
        return cls->cuda.split == FC_CUDA_BACK && cls->cuda.staged && fc_components(k) == 1 ? 6 : 0;
    if (cls->cuda.across) return cls->cuda.transposed ? 2 : fc_components(k) < 4 ? 4 : 3;
    if (cls->cuda.warps) return FC_CUDA_SM_REGISTERS / 64 / threads;
    if (cls->cuda.kind == FC_CUDA_LOOP && k->accesses.len <= 6 && threads <= 512)
        return threads == 512 ? 2 : 4;
    return 0;
}

/* ---- contractions --------------------------------------------------------------------------- */

/* tensor cores, groups, piped; down, across, high, wide, depth, stages, blocks, lines, cost, warps;
 * bytes */
const fc_cuda_tile fc_cuda_tiles[FC_CUDA_TILES] = {
    [FC_CUDA_TILE_LARGE] = {true, false, false, 2, 4, 4, 4, 32, 4, 2, 0, 32, 8},
    [FC_CUDA_TILE_SMALL] = {true, false, false, 2, 4, 2, 2, 64, 3, 3, 0, 40, 8},
    [FC_CUDA_TILE_FLAT] = {true, false, false, 1, 4, 1, 1, 128, 8, 2, 0, 0, 8},
    [FC_CUDA_FMA_LARGE] = {false, false, false, 1, 1, 2, 8, 16, 2, 2, 16, 5, 8},
    [FC_CUDA_FMA_SMALL] = {false, false, false, 1, 1, 1, 4, 16, 2, 3, 16, 8, 8},
    [FC_CUDA_FMA_THIN] = {false, false, false, 1, 1, 1, 4, 16, 2, 3, 4, 8, 8},
    [FC_CUDA_GROUP_LARGE] = {true, true, false, 8, 1, 1, 32, 64, 4, 1, 0, 16, 8},
    [FC_CUDA_GROUP_SMALL] = {true, true, false, 8, 1, 1, 16, 64, 7, 2, 0, 18, 8},
    [FC_CUDA_GROUP_NARROW] = {true, true, false, 8, 1, 1, 8, 64, 9, 2, 0, 24, 8},
    [FC_CUDA_TILE_FLAT_DEEP] = {true, false, false, 1, 4, 1, 1, 256, 5, 2, 0, 0, 8},
    [FC_CUDA_TILE_FLAT_WIDE] = {true, false, false, 1, 8, 1, 1, 64, 6, 2, 0, 0, 8},
    [FC_CUDA_FMA_WHOLE] = {false, false, false, 1, 1, 2, 4, 64, 1, 5, 8, 7, 4},
    [FC_CUDA_PIPE] = {true, false, true, 1, 4, 1, 1, 256, 8, 2, 0, 0, 8},
    [FC_CUDA_PIPE_WIDE] = {true, false, true, 1, 4, 1, 2, 128, 8, 2, 0, 0, 8},
    [FC_CUDA_PIPE_WIDEST] = {true, false, true, 1, 4, 1, 4, 64, 10, 1, 0, 0, 8},
    [FC_CUDA_PIPE_TWO] = {true, false, true, 2, 2, 1, 2, 256, 8, 1, 0, 0, 8},
    [FC_CUDA_PIPE_GROUP] = {true, true, true, 4, 1, 1, 4, 64, 16, 1, 0, 0, 8},
    [FC_CUDA_PIPE_GROUP_WIDE] = {true, true, true, 4, 1, 1, 8, 64, 13, 1, 0, 0, 8},
    [FC_CUDA_PIPE_GROUP_WIDEST] = {true, true, true, 4, 1, 1, 16, 64, 9, 1, 0, 0, 8},
    [FC_CUDA_PIPE_GROUPS] = {true, true, true, 8, 1, 1, 4, 64, 11, 1, 0, 0, 12},
    [FC_CUDA_PIPE_GROUPS_WIDE] = {true, true, true, 8, 1, 1, 8, 64, 9, 1, 0, 0, 12},
    [FC_CUDA_PIPE_GROUPS_WIDEST] = {true, true, true, 8, 1, 1, 16, 64, 7, 1, 0, 0, 12},
    [FC_CUDA_WORDS_WIDE] = {true, false, false, 2, 4, 4, 8, 32, 4, 1, 0, 28, 8, 4},
    [FC_CUDA_WORDS_LARGE] = {true, false, false, 2, 4, 4, 4, 16, 4, 2, 0, 32, 8, 4},
    [FC_CUDA_WORDS_SMALL] = {true, false, false, 2, 4, 2, 2, 32, 3, 3, 0, 40, 8, 4},
    [FC_CUDA_DOUBLES_LARGE] = {true, false, false, 2, 4, 4, 4, 16, 4, 1, 0, 28, 8, 8},
    [FC_CUDA_DOUBLES_SMALL] = {true, false, false, 2, 4, 2, 2, 16, 4, 2, 0, 36, 8, 8},
    [FC_CUDA_BYTES_GROUP_LARGE] = {true, true, false, 8, 1, 1, 32, 128, 4, 1, 0, 4, 8, 1},
    [FC_CUDA_BYTES_GROUP_SMALL] = {true, true, false, 8, 1, 1, 16, 128, 3, 2, 0, 5, 8, 1},
    [FC_CUDA_BYTES_GROUP_NARROW] = {true, true, false, 8, 1, 1, 8, 128, 4, 2, 0, 6, 8, 1},
    [FC_CUDA_BYTES_LARGE] = {true, false, false, 2, 4, 4, 4, 128, 3, 2, 0, 8, 8, 1},
    [FC_CUDA_BYTES_SMALL] = {true, false, false, 2, 4, 2, 2, 128, 3, 3, 0, 10, 8, 1},
    [FC_CUDA_BYTES_FLAT] = {true, false, false, 1, 4, 1, 2, 128, 8, 2, 0, 0, 8, 1},
    [FC_CUDA_WORDS_FLAT] = {true, false, false, 1, 4, 1, 1, 64, 8, 2, 0, 0, 8, 4},
};

uint32_t fc_cuda_bare_of(const fc_cuda_tile *t, const fc_code *c, fc_val operand) {
    const fc_instr *i = &c->ins.at[operand];
    if (!t->bytes) return fc_cuda_bare(c, operand);
    if (t->bytes == 1) i = &c->ins.at[i->a]; /* of a cast */
    return i->op == FC_OP_LOAD ? (uint32_t)i->imm : UINT32_MAX;
}

uint32_t fc_cuda_bare(const fc_code *c, fc_val operand) {
    const fc_instr *i = &c->ins.at[operand];
    if (i->op != FC_OP_CAST && i->op != FC_OP_CVT) return UINT32_MAX;
    const fc_instr *from = &c->ins.at[i->a];
    return from->op == FC_OP_LOAD && fc_is_half((fusec_dtype)from->dtype) ? (uint32_t)from->imm
                                                                          : UINT32_MAX;
}

fc_val fc_cuda_window_of(const fc_code *c, fc_val operand) {
    const fc_instr *i = &c->ins.at[operand];
    const bool cast = i->op == FC_OP_CAST || i->op == FC_OP_CVT;
    const fc_val of = cast ? i->a : operand;
    const fc_instr *from = &c->ins.at[of];
    const bool loads = from->op == FC_OP_LOAD || from->op == FC_OP_LOAD_AT;
    return loads && cast == fc_is_half((fusec_dtype)from->dtype) ? of : FC_NOVAL;
}

unsigned fc_cuda_made_bytes(const fc_kernel *k, const fc_class *cls, const uint8_t *used,
                            unsigned axis) {
    unsigned bytes = 0;
    for (uint32_t a = 0; a < k->accesses.len; a++)
        if (used[a] && fc_cuda_is_memory(k, a) && fc_class_move(cls, a, axis) != FC_MOVE_ZERO)
            bytes += fc_cuda_bytes(k, a);
    return bytes;
}

/* ---- accumulators ---------------------------------------------------------------------------- */

bool fc_cuda_any_order(const fc_reduction *r) {
    const bool exact = (fc_ops[r->op].flags & FC_F_EXACT) || !fc_is_float((fusec_dtype)r->dtype);
    return !r->record && exact && fc_red_components(r) == 1;
}

size_t fc_cuda_red_bytes(const fc_reduction *r) {
    size_t bytes = 0, align = 1;
    for (unsigned c = 0; c < fc_red_components(r); c++) {
        size_t size = fc_dtypes[fc_red_component(r, c)].bytes;
        bytes = (bytes + size - 1) / size * size + size;
        if (size > align) align = size;
    }
    return (bytes + align - 1) / align * align;
}

size_t fc_cuda_partial_bytes(const fc_kernel *k, int64_t rows, int64_t spans) {
    size_t bytes = 0;
    for (size_t r = 0; r < k->reductions.len; r++) bytes += fc_cuda_red_bytes(&k->reductions.at[r]);
    return (size_t)((rows * spans + 7) / 8 * 8) * bytes;
}

/* ---- columns --------------------------------------------------------------------------------- */

enum { OUTER_BYTES = 128, TURNED_SHARED = 32 << 10 }; /* of loads in flight; of a block */

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
    if (!cls->cuda.transposed) return batch;
    /* its loads pass through shared memory, one access at a time */
    const unsigned each = cls->vector * fc_cuda_widest(k) * FC_CUDA_THREADS;
    while (batch > 1 && (unsigned)batch * each > TURNED_SHARED) batch /= 2;
    return batch;
}

/* ---- gangs ----------------------------------------------------------------------------------- */

static unsigned words_of(const fc_kernel *k, size_t r) {
    return fc_cuda_red_words(&k->reductions.at[r]);
}

unsigned fc_cuda_all_words(const fc_kernel *k) {
    unsigned n = 0;
    for (size_t r = 0; r < k->reductions.len; r++) n += words_of(k, r);
    return n;
}

/* Sets of slots, a power of two. In a ring one block may be publishing for the last row of its ring
 * while another one's stores still look at results of a ring before that. */
unsigned fc_cuda_gang_sets(const fc_class *cls) {
    unsigned sets = 2;
    while (sets < 2u * cls->cuda.buffers) sets *= 2;
    return sets;
}

/* Sets of slots of 64 bits, a counter of blocks that have left, and room to align them. */
uint32_t fc_cuda_gang_tickets(const fc_kernel *k, const fc_class *cls, int64_t gangs,
                              int64_t parts) {
    return (uint32_t)(gangs * parts * fc_cuda_all_words(k) * 2 * fc_cuda_gang_sets(cls) + gangs +
                      2);
}

bool fc_cuda_gang_quads(const fc_class *cls) {
    return cls->aligned && cls->cuda.whole;
}

/* A thread that keeps at most 32 registers' worth of a row gets along with 64 registers, so that
 * 1024 threads run on an SM with its 65536 registers; else it gets 128. */
unsigned fc_cuda_gang_threads(const fc_kernel *k, const uint8_t *cached) {
    unsigned bytes = 0;
    for (uint32_t a = 0; a < k->accesses.len; a++)
        if (cached[a]) bytes += fc_cuda_bytes(k, a) * FC_CHUNK / 32;
    return bytes <= 128 ? 1024 : 512;
}

/* ---- rows that stream through shared memory -------------------------------------------------- */

unsigned fc_cuda_ring_threads(const fc_kernel *k, const fc_class *cls) {
    return (k->nstages + 1u) * cls->cuda.team + 32;
}

unsigned fc_ring_part(const fc_class *cls) {
    return cls->cuda.team / 32u * cls->cuda.warp_chunks * FC_CHUNK;
}

/* A part keeps its distance from the line before it, as bulk copies of whole lines are the fastest:
 * so each has a line more than it fills. */
unsigned fc_ring_room(const fc_kernel *k, unsigned part, const uint8_t *comes, uint32_t a) {
    unsigned at = 0;
    for (uint32_t before = 0; before < a; before++)
        if (comes[before]) at += part * fc_cuda_bytes(k, before) + FC_CUDA_LINE;
    return at;
}

unsigned fc_ring_place_bytes(const fc_kernel *k, unsigned part, const uint8_t *comes) {
    return fc_ring_room(k, part, comes, (uint32_t)k->accesses.len);
}

/* Those that stay the same from row to row are read where they are, and so is what one phase only
 * reads across rows. */
bool fc_ring_find_loads(const fc_kernel *k, const fc_class *cls, uint8_t *phases) {
    bool any = false;
    for (uint32_t a = 0; a < k->accesses.len; a++) {
        bool moves = false, neighbours = fc_class_move(cls, a, cls->np) == FC_MOVE_ONE;
        for (uint32_t x = 0; x < cls->np; x++)
            if (fc_class_move(cls, a, x) != FC_MOVE_ZERO) moves = true;
        if (!fc_cuda_is_memory(k, a) || !moves) phases[a] = 0;
        if (phases[a] > 1 && !neighbours) return false;
        if (!neighbours) phases[a] = 0;
        if (phases[a]) any = true;
    }
    return any;
}

fusec_status fc_cuda_ring_loads(const fc_kernel *k, const fc_class *cls, uint8_t *comes,
                                fc_error *e) {
    FC_TRY(fc_cuda_count_phases(k, comes, e));
    return fc_ring_find_loads(k, cls, comes)
               ? FUSEC_OK
               : fc_fail(e, FUSEC_INTERNAL, "a kernel that streams has no load that does");
}

/* ---- transposed loads ------------------------------------------------------------------------ */

unsigned fc_cuda_tile_widest(const fc_kernel *k, const fc_class *cls, uint32_t along) {
    unsigned bytes = 1;
    for (uint32_t a = 0; a < cls->naccess; a++) {
        bool one = fc_class_move(cls, a, along) == FC_MOVE_ONE ||
                   fc_class_move(cls, a, cls->np - 1u) == FC_MOVE_ONE;
        if (one && fc_cuda_is_memory(k, a) && fc_cuda_bytes(k, a) > bytes)
            bytes = fc_cuda_bytes(k, a);
    }
    return bytes;
}
