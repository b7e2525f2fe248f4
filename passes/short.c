/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* short.c - reductions over a few elements that nobody stores, written out.
 *
 * In: any graph. Out: the same values, to the bit. A reduction over axes of constant sizes, MOST
 * elements in all, whose elements are made where something small is spread (the three coordinates
 * of a difference of all points) becomes its tree (docs/semantics.md, section 6) in ordinary nodes.
 * So it is elementwise, and joins maps and other reductions: the array of its elements is larger
 * than what it is made of, and so is the result, but neither is stored for its sake. The same holds
 * for WINDOW neighbours (a filter) and for what is made of indices alone. What else lies in memory
 * is left to the schedules of short rows. */
#include "passes/rewrite.h"

#include "ir/fold.h"
#include "passes/plan.h"

/* MOST: of what is spread. WINDOW: of neighbours (the taps of a filter), which are in the caches,
 * and of what is made of indices alone. */
enum { MOST = 8, MOST_WORK = 48, DEPTH = 12, WINDOW = 64, WINDOW_WORK = 256, INDEX_WORK = 512 };

static bool is_row(fc_op op) {
    return op == FC_OP_sum || op == FC_OP_prod || op == FC_OP_min || op == FC_OP_max ||
           op == FC_OP_any || op == FC_OP_all || op == FC_OP_mean;
}

/* ---- what is written out ----------------------------------------------------------------------
 */

/* Elements of the reduction; 0: too many, or not known. */
static int64_t elements_of(const fc_graph *g, const fc_ninfo *n) {
    const fc_list axes = (fc_list)n->attr;
    int64_t count = 1, size;
    if (!is_row((fc_op)n->op)) return 0;
    for (uint32_t i = 0; i < fc_list_len(g, axes); i++) {
        const fc_dim d = fc_axis(g, n->src[0], (uint32_t)fc_list_at(g, axes)[i]);
        if (!fc_dim_is_const(&g->dims, d, &size) || size < 1 || size > WINDOW) return 0;
        count *= size;
    }
    return count > 1 && count <= WINDOW ? count : 0;
}

/* Whether some axis that stays is one that a broadcast spreads its operand along. */
static bool spreads(const fc_graph *g, const fc_ninfo *b, uint64_t reduced) {
    const uint32_t rank = fc_list_len(g, b->shape), from = fc_rank(g, b->src[0]);
    for (uint32_t i = 0; i < rank; i++) {
        const bool one = fc_dim_is(&g->dims, (fc_dim)fc_list_at(g, b->shape)[i], 1);
        const bool missing = i + from < rank || fc_axis_is_one(g, b->src[0], i + from - rank);
        if (missing && !one && !(reduced >> i & 1)) return true;
    }
    return false;
}

typedef struct look {
    const fc_graph *g;
    uint64_t reduced;
    uint32_t work, large;
    bool spread, window;
} look;

/* Whether a view reads an element of its operand at several of its own along an axis that is
 * reduced: neighbours, some of which the next window has, too. */
static bool is_window(const fc_graph *g, const fc_ninfo *v, uint64_t reduced) {
    const uint32_t ra = fc_rank(g, v->src[0]), rn = fc_list_len(g, v->shape);
    for (uint32_t i = 0; i < ra; i++) {
        const fc_view_axis axis = fc_view_axis_of(g, v, i);
        bool kept = false, gone = false;
        for (uint32_t k = 0; k < rn; k++) {
            if (!axis.step[k]) continue;
            gone |= reduced >> k & 1;
            kept |= !(reduced >> k & 1);
        }
        if (kept && gone) return true;
    }
    return false;
}

/* Goes down to what is in memory. An operand that is as large as the elements and is not computed
 * makes them cheaper to reduce than to write out. */
static void look_at(look *l, fc_node n, unsigned depth) {
    const fc_ninfo *i = fc_at(l->g, n);
    if (!depth) l->work = UINT32_MAX / 2;
    if (l->work > MOST_WORK) return;
    if (i->op == FC_OP_CONST || i->op == FC_OP_DIM) return;
    if (i->op == FC_OP_BROADCAST && fc_at(l->g, i->src[0])->op == FC_OP_CONST) return;
    if (i->op == FC_OP_BROADCAST && spreads(l->g, i, l->reduced)) {
        l->spread = true;
        return;
    }
    if (i->op == FC_OP_IOTA) return;
    if (i->op == FC_OP_VIEW && is_window(l->g, i, l->reduced)) {
        l->window = true;
        return;
    }
    const bool row = fc_is_pointwise(i->op);
    if (!row) {
        l->large++;
        return;
    }
    l->work += fc_ops[i->op].flags & FC_F_TRANSCENDENTAL ? 12 : 1;
    for (int k = 0; k < i->nops; k++) look_at(l, i->src[k], depth - 1);
}

static bool is_wanted(const fc_graph *g, const fc_ninfo *n, int64_t count) {
    look l = {.g = g};
    const fc_list axes = (fc_list)n->attr;
    for (uint32_t i = 0; i < fc_list_len(g, axes); i++)
        l.reduced |= UINT64_C(1) << fc_list_at(g, axes)[i];
    const bool whole = fc_list_len(g, axes) == fc_rank(g, n->src[0]);
    look_at(&l, n->src[0], DEPTH);
    const uint32_t work = l.work * (uint32_t)count;
    if (l.large) return false;
    if (l.window) return work <= WINDOW_WORK;
    if (!l.spread) return work <= INDEX_WORK;
    return !whole && count <= MOST && work <= MOST_WORK;
}

/* ---- writing it out ---------------------------------------------------------------------------
 */

/* Element k of the reduced axes, in C order, in the shape of the result. */
static fc_node element(fc_graph *g, const fc_ninfo *n, int64_t k) {
    fc_slice s[FC_MAX_RANK];
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_rank(g, n->src[0]), all = fc_list_len(g, n->shape);
    const fc_list axes = (fc_list)n->attr;
    for (uint32_t i = 0; i < rank; i++)
        s[i] = (fc_slice){fc_dim_const(&g->dims, 0), 1, fc_axis(g, n->src[0], i)};
    for (uint32_t i = fc_list_len(g, axes); i-- > 0;) {
        const uint32_t axis = (uint32_t)fc_list_at(g, axes)[i];
        int64_t size;
        fc_dim_is_const(&g->dims, fc_axis(g, n->src[0], axis), &size);
        s[axis] = (fc_slice){fc_dim_const(&g->dims, k % size), 1, fc_dim_const(&g->dims, 1)};
        k /= size;
    }
    for (uint32_t i = 0; i < all; i++) shape[i] = (fc_dim)fc_list_at(g, n->shape)[i];
    return fc_build_reshape(g, fc_build_slice(g, n->src[0], s), all, shape);
}

/* Neighbours, level by level. */
static fc_node joined(fc_graph *g, fc_op join, fc_node *x, int64_t count) {
    for (int64_t left = count; left > 1; left = (left + 1) / 2)
        for (int64_t k = 0; k < left; k += 2)
            x[k / 2] = k + 1 < left ? fc_op2(g, join, x[k], x[k + 1]) : x[k];
    return x[0];
}

/* Runs of the outer tree, in order. How many there are. */
static int64_t in_runs(fc_graph *g, fc_op join, fc_node *x, int64_t count) {
    enum { RUN = 16 }; /* docs/semantics.md */
    for (int64_t k = 0; k < count; k++)
        x[k / RUN] = k % RUN ? fc_op2(g, join, x[k / RUN], x[k]) : x[k];
    return (count + RUN - 1) / RUN;
}

/* The inner tree joins neighbours; of the outer one, that is done with its runs. Both start from 0
 * in a sum, which the result shows only if all are -0. */
static fc_node written_out(fc_graph *g, const fc_ninfo *n, int64_t count) {
    const fc_op red = (fc_op)n->op, join = fc_join_row(red);
    const fusec_dtype acc = fc_acc_dtype(red, (fusec_dtype)fc_at(g, n->src[0])->dtype);
    fc_node x[WINDOW] = {FC_NONODE};
    for (int64_t k = 0; k < count; k++) x[k] = fc_build_cast(g, element(g, n, k), acc);
    const bool sum = join == FC_OP_add && fc_is_float(acc);
    x[0] = joined(g, join, x, n->axis_kind == FC_TREE_OUTER ? in_runs(g, join, x, count) : count);
    if (sum) x[0] = fc_op2(g, FC_OP_add, x[0], fc_build_number(g, acc, 0));
    if (red == FC_OP_mean)
        x[0] = fc_op2(g, FC_OP_div, x[0], fc_build_number(g, acc, (double)count));
    return fc_build_cast(g, x[0], (fusec_dtype)n->dtype);
}

/* ---- the pass ---------------------------------------------------------------------------------
 */

int64_t fc_short_count(const fc_graph *g, const fc_ninfo *n) {
    const int64_t count = fc_is_reduction(n->op) ? elements_of(g, n) : 0;
    return count && is_wanted(g, n, count) ? count : 0;
}

static fc_node rewritten(const fc_graph *src, fc_graph *dst, fc_node n, const fc_node *map,
                         void *user) {
    const fc_ninfo i = fc_rewrite_info(src, n, map);
    const int64_t count = fc_short_count(dst, &i);
    (void)user;
    return count ? written_out(dst, &i, count) : FC_NONODE;
}

bool fc_has_short(const fc_graph *g) {
    for (fc_node n = 0; n < g->nodes.len; n++)
        if (fc_short_count(g, fc_at(g, n))) return true;
    return false;
}

fusec_status fc_pass_short(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                           fc_error *e) {
    (void)o;
    return fc_rewrite_each(src, dst, rewritten, NULL, e);
}
