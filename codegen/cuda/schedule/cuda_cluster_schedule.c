/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_cluster_schedule.c - which rows a cluster of blocks keeps in its shared memory
 * (cuda_ring.c), and how.
 *
 * In: a nest and the machine. Out: the class and the launch, or neither. */
#include "codegen/cuda/schedule/cuda_schedule.h"

/* Blocks of a cluster; chunks of a row, for whose results every block has slots. Blocks of an SM:
 * while some compute, others have rows on their way. Where rows have one stage, a gang waits only
 * once for each, so there must be more on the way to gain by a cluster. */
enum { MOST_BLOCKS = 8, MOST_CHUNKS = 256 };
enum { LEAST_RESIDENT = 3, LEAST_OF_PAIRS = 2, LEAST_OF_ONE_STAGE = 32 /* chunks of an SM */ };
enum { SM_WARPS = 32, MOST_WARPS = 16 }; /* with 64 registers a thread; of a block */
enum { OF_BLOCK = 1 << 10 };             /* shared memory that every block takes */
enum { MOST_DECLARED = 48 << 10 };       /* shared memory that a kernel may declare */

typedef struct shape {
    int64_t blocks, chunks, resident; /* of a cluster; of a block; blocks of an SM */
    unsigned bytes;                   /* dynamic shared memory of a block */
} shape;

static int64_t lane_slots(int64_t chunks) {
    return fc_cuda_pow2_up(fc_ceil_div(chunks, 32));
}

/* Of a block, beside its part of the row: slots and gates. */
static unsigned own_bytes(const fc_kernel *k, int64_t chunks) {
    unsigned bytes = 8 * (k->nstages + 1u), slots = 32 * (unsigned)lane_slots(chunks);
    for (size_t r = 0; r < k->reductions.len; r++)
        bytes += 4 * fc_cuda_red_words(&k->reductions.at[r]) * slots;
    return bytes;
}

static shape shape_of(const fc_machine *m, const fc_kernel *k, const uint8_t *comes, int64_t all,
                      int64_t blocks) {
    shape s = {.chunks = fc_ceil_div(all, blocks)};
    s.blocks = fc_ceil_div(all, s.chunks);
    s.bytes = fc_ring_place_bytes(k, (unsigned)s.chunks * FC_CHUNK, comes);
    s.resident = (m->shared_per_block + OF_BLOCK) / (s.bytes + own_bytes(k, all) + OF_BLOCK);
    return s;
}

/* What the blocks of an SM keep of rows; a twentieth less for each that shares one, as they wait
 * for each other. Clusters of more than two large blocks leave SMs of a group of them idle. */
static int64_t worth_of(const shape *s, int64_t all) {
    const int64_t least = s->blocks == 2 ? LEAST_OF_PAIRS : LEAST_RESIDENT;
    return s->resident < least ? 0 : s->resident * (all * 16 / s->blocks) * (20 - s->blocks);
}

static shape best_shape(const fc_machine *m, const fc_kernel *k, const uint8_t *comes,
                        int64_t all) {
    shape best = {0};
    int64_t most = 0;
    for (int64_t blocks = 2; blocks <= MOST_BLOCKS; blocks++) {
        const shape s = shape_of(m, k, comes, all, blocks);
        const int64_t worth = worth_of(&s, all);
        if (worth > most) best = s;
        if (worth > most) most = worth;
    }
    return best;
}

/* Rows that would all run at once gain nothing: while they compute, no others are on their way. */
static bool pays(const fc_machine *m, const fc_kernel *k, const fc_nest *n, const shape *s) {
    if (!s->blocks || n->rows * s->blocks <= s->resident * m->sm_count) return false;
    return k->nstages > 1 || s->resident * s->chunks >= LEAST_OF_ONE_STAGE;
}

fusec_status fc_cuda_cluster_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                      uint8_t *comes, fc_class *cls, fc_launch *l, bool *chosen,
                                      fc_error *e) {
    const int64_t all = fc_ceil_div(n->count, FC_CHUNK);
    *chosen = false;
    if (!m->clusters || n->nr != 1 || all > MOST_CHUNKS || own_bytes(k, all) > MOST_DECLARED)
        return FUSEC_OK;
    memset(comes, 0, n->naccess);
    FC_TRY(fc_cuda_count_phases(k, comes, e));
    if (!fc_ring_find_loads(k, cls, comes)) return FUSEC_OK;
    const shape s = best_shape(m, k, comes, all);
    if (!pays(m, k, n, &s)) return FUSEC_OK;
    *chosen = true;
    int64_t each = fc_ceil_div(s.chunks * s.resident, SM_WARPS); /* chunks of a warp */
    while (fc_ceil_div(s.chunks, each) > MOST_WARPS) each++;
    cls->cuda = (fc_cuda_class){.kind = FC_CUDA_CLUSTER,
                                .split = FC_CUDA_CLOSE,
                                .repeat = 1,
                                .lane_slots = (uint16_t)lane_slots(all),
                                .blocks = (uint16_t)s.blocks,
                                .warps = (uint16_t)fc_ceil_div(s.chunks, each),
                                .whole = n->count % 4 == 0,
                                .full = n->count == s.blocks * s.chunks * FC_CHUNK};
    l->spans = s.blocks;
    l->span = s.chunks * FC_CHUNK;
    l->block[0] = 32u * cls->cuda.warps;
    l->grid[0] = (uint64_t)(n->rows * s.blocks);
    l->shared_bytes = s.bytes;
    return FUSEC_OK;
}
