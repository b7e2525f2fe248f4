/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* facts.h - what schedules and texts of all targets ask of a kernel. */
#ifndef FUSEC_CODEGEN_FACTS_H
#define FUSEC_CODEGEN_FACTS_H

#include "ir/kernel.h"

/* Whether a store goes through an access. */
static inline bool fc_is_stored(const fc_kernel *k, uint32_t access) {
    for (size_t s = 0; s < k->stores.len; s++)
        if (k->stores.at[s].access == access) return true;
    return false;
}

/* Whether elements of rows are stored, not only results of rows. */
static inline bool fc_stores_points(const fc_kernel *k) {
    for (size_t s = 0; s < k->stores.len; s++)
        if (k->accesses.at[k->stores.at[s].access].level == FC_POINT) return true;
    return false;
}

/* Whether several blocks or tasks may share a row: nothing of it is needed once its results are
 * there. */
static inline bool fc_can_split(const fc_kernel *k) {
    return k->nstages == 1 && !fc_stores_points(k);
}

/* Components of the accumulators of all reductions together. */
static inline unsigned fc_components(const fc_kernel *k) {
    unsigned n = 0;
    for (size_t r = 0; r < k->reductions.len; r++)
        n += fc_red_components(&k->reductions.at[r]);
    return n;
}

#endif
