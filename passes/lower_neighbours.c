/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower_neighbours.c - arrays of which a map reads neighbours: x[2:] - x[:-2].
 *
 * In: the affine reads of a kernel. Out: the arrays that are read at places which differ by
 * constants. Each such read is an access of its own, of which a target knows nothing but how it
 * moves. Reads at computed elements (FC_OP_LOAD_AT) whose places share all but a constant are known
 * to lie side by side, so that a target can read each element once (codegen/cuda/cuda_window.c).
 * So the kernel is made again with those, as what is read through a boundary is anyway. */
#include "passes/lower_impl.h"

enum { MOST_APART = 64 }; /* along each axis */

/* Whether neighbours along the kernel's innermost axis are neighbours of a row of the array. */
static bool is_along_rows(const fc_lowering *l, fc_list map, uint32_t rank) {
    const int32_t inner = (int32_t)l->k->np - 1;
    for (uint32_t i = 0; i < rank; i++) {
        const fc_index_term *t;
        const uint32_t n = fc_index_terms(l->g, fc_map_index(l->g, map, i), &t);
        const bool last = i + 1 == rank;
        for (uint32_t j = 0; j < n; j++)
            if (last != (l->axis[t[j].which] == inner)) return false;
        if (last && (n != 1 || t->step != 1)) return false;
    }
    return rank > 0;
}

/* Whether two maps differ, by small constants alone. */
static bool are_neighbours(const fc_lowering *l, fc_list a, fc_list b, uint32_t rank) {
    for (uint32_t i = 0; i < rank; i++) {
        const fc_list x = fc_map_index(l->g, a, i), y = fc_map_index(l->g, b, i);
        const fc_index_term *s, *t;
        int64_t apart;
        const uint32_t n = fc_index_terms(l->g, x, &s);
        if (fc_index_terms(l->g, y, &t) != n || (n && memcmp(s, t, n * sizeof *s)) ||
            !fc_dim_is_const(
                &l->g->dims,
                fc_dim_sub(&l->g->dims, fc_index_start(l->g, x), fc_index_start(l->g, y)),
                &apart) ||
            apart > MOST_APART || apart < -MOST_APART)
            return false;
    }
    return a != b;
}

/* Whether this affine read is to be one at a computed element; else it is noted. */
bool fc_lower_as_element(fc_lowering *l, uint32_t arg, fc_list shape, fc_list map, unsigned pair) {
    const uint32_t rank = fc_list_len(l->g, shape);
    if (l->k->schedule != FC_SCHED_MAP || pair || !is_along_rows(l, map, rank)) return false;
    if (l->again) return arg < l->neighbours.len && l->neighbours.at[arg];
    const fc_lower_read read = {arg, shape, map};
    if (!fc_push(l->alloc, &l->reads, read)) l->oom = true;
    return false;
}

bool fc_lower_find_neighbours(fc_lowering *l) {
    bool any = false;
    for (size_t i = 0; i < l->k->args.len; i++)
        if (!fc_push(l->alloc, &l->neighbours, 0)) return l->oom = true, false;
    for (size_t i = 0; i < l->reads.len; i++)
        for (size_t j = 0; j < i; j++) {
            const fc_lower_read *a = &l->reads.at[i], *b = &l->reads.at[j];
            if (a->arg == b->arg && a->shape == b->shape &&
                are_neighbours(l, a->map, b->map, fc_list_len(l->g, a->shape)))
                l->neighbours.at[a->arg] = any = true;
        }
    return any;
}
