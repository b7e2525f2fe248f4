/* cuda_bounds.c - how much a thread may have: of text, in registers, at once.
 *
 * In: a kernel and what a schedule would like. Out: how much of it there may be. */
#include "codegen/cuda/cuda.h"

bool fc_cuda_has_point_stores(const fc_kernel *k) {
    for (size_t s = 0; s < k->stores.len; s++)
        if (k->accesses.at[k->stores.at[s].access].level == FC_POINT) return true;
    return false;
}

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
                fc_val value[2];
                const size_t values = fc_red_values(&k->reductions.at[r], NULL, value);
                fc_kernel_slice(&k->code, value, values, need);
            }
        for (size_t i = 0; s == k->nstages && i < k->stores.len; i++)
            if (k->accesses.at[k->stores.at[i].access].level == FC_POINT)
                fc_kernel_slice(&k->code, &k->stores.at[i].value, 1, need);
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

/* ---- alignment ------------------------------------------------------------------------------ */

bool fc_cuda_can_be_wide(const fc_kernel *k, const fc_nest *nest, const fc_class *cls,
                         uint32_t axis, unsigned n, uint32_t align) {
    uint32_t axes = nest->np + nest->nr;
    for (uint32_t a = 0; a < nest->naccess; a++) {
        if (!fc_cuda_is_memory(k, a) || fc_class_move(cls, a, axis) != FC_MOVE_ONE) continue;
        unsigned bytes = n * fc_cuda_bytes(k, a), unit = bytes < 16 ? bytes : 16;
        int64_t elements = unit / fc_cuda_bytes(k, a);
        if (align % unit || nest->offset[a] % elements) return false;
        for (uint32_t x = 0; x < axes; x++)
            if (x != axis && nest->stride[(size_t)a * axes + x] % elements) return false;
    }
    return true;
}
