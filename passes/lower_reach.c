/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower_reach.c - which rows of an array a row of a map touches.
 *
 * In: the index map of an access. Out: fc_arg.reach. An index that is continued at an edge is no
 * further from the row than it would be without: all modes but `wrap` leave what is inside alone,
 * and bring two indices no further apart. It may be on the other side of the row, where a mirror
 * has it. */
#include "passes/lower_impl.h"

/* Index `row + shift` of the outermost axis of the domain. */
static bool is_shifted(const fc_lowering *l, fc_list index, int64_t *shift) {
    const fc_index_term *t;
    return fc_index_terms(l->g, index, &t) == 1 && t->what == FC_TERM_AXIS && t->step == 1 &&
           l->axis[t->which] == 0 &&
           fc_dim_is_const(&l->g->dims, fc_index_start(l->g, index), shift);
}

static bool is_continued(const fc_lowering *l, fc_list index, int64_t *shift, bool *continued) {
    const fc_index_term *t;
    int64_t start;
    if (fc_index_terms(l->g, index, &t) != 1 || t->what < FC_TERM_EDGE || t->step != 1)
        return false;
    const fc_edge mode = (fc_edge)(t->what - FC_TERM_EDGE);
    const fc_list inner = fc_which_first(t->which);
    const fc_dim size = fc_which_second(t->which);
    *continued = true;
    return mode != FC_EDGE_WRAP && size == l->k->extent[0] &&
           fc_dim_is_const(&l->g->dims, fc_index_start(l->g, index), &start) && start == 0 &&
           is_shifted(l, inner, shift);
}

void fc_lower_reach(fc_lowering *l, uint32_t arg, uint32_t rank, fc_list map) {
    int64_t shift = 0;
    bool continued = false;
    if (arg >= l->k->args.len) return;
    fc_reach *r = &l->k->args.at[arg].reach;
    const fc_list index = rank ? fc_map_index(l->g, map, 0) : 0;
    const bool known =
        l->k->schedule == FC_SCHED_MAP && rank &&
        (is_shifted(l, index, &shift) || is_continued(l, index, &shift, &continued)) &&
        shift >= -FC_MOST_REACH && shift <= FC_MOST_REACH;
    if (!known) {
        r->kind = FC_REACH_ANY;
        return;
    }
    const int64_t other = continued ? -shift : shift;
    const int32_t low = (int32_t)(shift < other ? shift : other),
                  high = (int32_t)(shift < other ? other : shift);
    if (r->kind == FC_REACH_NONE) *r = (fc_reach){FC_REACH_ROWS, low, high};
    if (low < r->low) r->low = low;
    if (high > r->high) r->high = high;
}
