/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_ring_schedule.c - which rows stream through shared memory (cuda_ring.c), and how.
 *
 * In: a nest and the machine. Out: the class and the launch of a ring, or neither. */
#include "codegen/cuda/schedule/cuda_schedule.h"

/* ---- what a place has room for --------------------------------------------------------------- */

/* ---- the choice ------------------------------------------------------------------------------ */

/* Threads of a phase and of a block; places; rows that a gang takes one after the other, or nothing
 * would stream. Of shorter rows a gang has few blocks, which wait less for each other than a phase
 * does for the exchange of each row. */
enum { TEAM = 256, MOST_THREADS = 1024, MOST_PLACES = 16 };
enum { LEAST_ROWS = 8, LEAST_CHUNKS = 64 };

/* Of a block, beside its places: gates, and what the warps of a phase hand over. */
static unsigned own_bytes(const fc_kernel *k, const fc_class *cls) {
    unsigned bytes = 2 * 8 * MOST_PLACES + 256, warps = cls->cuda.team / 32;
    for (size_t r = 0; r < k->reductions.len; r++)
        bytes += (unsigned)fc_cuda_red_bytes(&k->reductions.at[r]) * 2 * warps * (k->nstages + 1u);
    return bytes;
}

/* The places that shared memory takes, if they are two for each phase. */
static unsigned places_of(const fc_machine *m, const fc_kernel *k, const uint8_t *comes,
                          const fc_class *cls) {
    const unsigned own = own_bytes(k, cls), shared = (unsigned)m->shared_per_block,
                   place = fc_ring_place_bytes(k, fc_ring_part(cls), comes),
                   places = shared > own ? (shared - own) / place : 0;
    if (places < 2 * (k->nstages + 1)) return 0;
    return places < MOST_PLACES ? places : (unsigned)MOST_PLACES;
}

static bool fits(const fc_machine *m, const fc_kernel *k, const fc_nest *n, const uint8_t *comes,
                 fc_class *cls, fc_launch *l) {
    const unsigned places = places_of(m, k, comes, cls);
    const int64_t span = fc_ring_part(cls), parts = fc_ceil_div(n->count, span);
    if (!places || parts > m->sm_count || parts > TEAM) return false;
    const int64_t gangs = m->sm_count / parts;
    if (n->rows < LEAST_ROWS * gangs || gangs * parts * 8 < (int64_t)m->sm_count * 7) return false;
    cls->cuda.buffers = (uint16_t)places;
    cls->cuda.split = FC_CUDA_GANG;
    if (n->count == parts * span) cls->cuda.full = true;
    l->together = true;
    l->spans = parts;
    l->span = span;
    l->block[0] = fc_cuda_ring_threads(k, cls);
    l->grid[0] = (uint64_t)(gangs * parts);
    l->shared_bytes = places * fc_ring_place_bytes(k, fc_ring_part(cls), comes);
    l->tickets = fc_cuda_gang_tickets(k, cls, gangs, parts);
    return true;
}

fusec_status fc_cuda_ring_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                   uint8_t *comes, fc_class *cls, fc_launch *l, bool *chosen,
                                   fc_error *e) {
    const fc_class before = *cls;
    *chosen = false;
    if (!m->together || m->sm_major < 9 || n->nr != 1 || n->count <= LEAST_CHUNKS * FC_CHUNK)
        return FUSEC_OK;
    memset(comes, 0, n->naccess);
    FC_TRY(fc_cuda_count_phases(k, comes, e));
    if (!fc_ring_find_loads(k, cls, comes)) return FUSEC_OK;
    for (int each = 4; each > 0 && !*chosen; each /= 2) {
        cls->cuda = (fc_cuda_class){.kind = FC_CUDA_RING,
                                    .repeat = 1,
                                    .team = TEAM,
                                    .warp_chunks = (uint16_t)each,
                                    .whole = n->count % 4 == 0};
        *chosen = fc_cuda_ring_threads(k, cls) <= MOST_THREADS && fits(m, k, n, comes, cls, l);
    }
    if (!*chosen) *cls = before;
    return FUSEC_OK;
}
