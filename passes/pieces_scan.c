/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pieces_scan.c - scans along the cut, in a piece: see pieces.h.
 *
 * Element i is S combine p: p of its own run up to it, S the runs before it, from the right one on
 * (docs/semantics.md). Of S the runs of the piece are what a scan of the piece alone has, as pieces
 * begin where groups of runs do; those before it come from other pieces. */
#include "passes/pieces_impl.h"

/* The axis `at` as one of `runs` and one of a run's elements. */
static fc_node in_runs(fc_graph *g, fc_node x, uint32_t at, fc_dim runs) {
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_rank(g, x);
    for (uint32_t k = 0; k <= rank; k++)
        shape[k] = k == at       ? runs
                   : k == at + 1 ? fc_dim_const(&g->dims, FC_RUN)
                                 : fc_axis(g, x, k < at ? k : k - 1);
    return fc_build_reshape(g, x, rank + 1, shape);
}

/* More elements behind the last ones, up to a whole run. */
static fc_node whole_runs(fc_graph *g, fc_node x, uint32_t axis, fc_dim *runs) {
    fc_dimtab *t = &g->dims;
    fc_dim before[FC_MAX_RANK], after[FC_MAX_RANK];
    const fc_dim n = fc_axis(g, x, axis), zero = fc_dim_const(t, 0), run = fc_dim_const(t, FC_RUN);
    *runs = fc_dim_floordiv(t, fc_dim_add(t, n, fc_dim_const(t, FC_RUN - 1)), run);
    for (uint32_t k = 0; k < fc_rank(g, x); k++) before[k] = after[k] = zero;
    after[axis] = fc_dim_sub(t, fc_dim_mul(t, *runs, run), n);
    return fc_build_pad(g, x, before, after, FC_EDGE_ZERO, FC_NONODE);
}

static fc_node combined(const fc_piece_maker *m, const fc_part *part, fc_node earlier,
                        fc_node later) {
    fc_node args[FC_PIECE_COUNT + 1] = {[FC_PIECE_EARLIER] = earlier, [FC_PIECE_LATER] = later},
                                  r = FC_NONODE;
    fc_val a[FC_MAX_COMPONENTS], b[FC_MAX_COMPONENTS], v[FC_MAX_COMPONENTS];
    fc_code c;
    if (!fc_usable(m->g, earlier) || !fc_usable(m->g, later)) return FC_NONODE;
    fc_code_init(&c, m->g->alloc);
    fc_piece_accumulator(&c, part, FC_PIECE_EARLIER, a);
    fc_piece_accumulator(&c, part, FC_PIECE_LATER, b);
    fc_red_combine(&c, part->red, part->dtype, a, b, v);
    if (!fc_piece_inline(m->g, &c, args, v, 1, &r) && !m->g->error.code) fc_oom(&m->g->error);
    fc_code_free(&c);
    return r;
}

/* A subtree that came before, with an axis of 1 in place of the scan's. */
static fc_node carry_at(const fc_piece_maker *m, const fc_part *part, fc_node carries, uint32_t k,
                        uint32_t axis) {
    fc_graph *g = m->g;
    const fc_dim one = fc_dim_const(&g->dims, 1);
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < part->nkept; d++) {
        if (d == axis) shape[rank++] = one;
        shape[rank++] = (fc_dim)part->kept[d];
    }
    if (part->nkept == axis) shape[rank++] = one;
    const fc_node x = fc_piece_range_of(g, carries, 0, fc_dim_const(&g->dims, k), one);
    return fc_build_reshape(g, x, rank, shape);
}

/* The scan of elements that begin where a group of runs does. */
static fc_node scan_from(const fc_piece_maker *m, const fc_part *part, fc_node x, fc_node carries) {
    fc_graph *g = m->g;
    const fc_scan s = fc_scan_of(fc_at(m->p->graph, part->node));
    fc_dim runs, shape[FC_MAX_RANK];
    fc_slice firsts[FC_MAX_RANK];
    if (!fc_usable(g, x)) return FC_NONODE;
    const fc_dim n = fc_axis(g, x, s.axis), zero = fc_dim_const(&g->dims, 0);
    const uint32_t rank = fc_rank(g, x);
    x = whole_runs(g, x, s.axis, &runs);
    fc_node before = fc_build_scan(g, s.op, x, s.axis, true, false);
    if (!fc_usable(g, before)) return FC_NONODE;
    for (uint32_t k = 0; k < rank; k++) firsts[k] = (fc_slice){zero, 1, fc_axis(g, x, k)};
    firsts[s.axis] = (fc_slice){zero, FC_RUN, runs};
    before = fc_build_slice(g, before, firsts);
    for (uint32_t k = 0; k < FC_CARRIES; k++)
        before = combined(m, part, carry_at(m, part, carries, k, s.axis), before);
    if (!fc_usable(g, before)) return FC_NONODE;
    fc_node own = in_runs(g, x, s.axis, runs);
    own = fc_build_scan(g, s.op, own, s.axis + 1, s.exclusive, false);
    for (uint32_t k = 0; k <= rank; k++)
        shape[k] = k == s.axis + 1 ? fc_dim_const(&g->dims, 1)
                                   : fc_axis(g, before, k <= s.axis ? k : k - 1);
    own = combined(m, part, fc_build_reshape(g, before, rank + 1, shape), own);
    for (uint32_t k = 0; k < rank; k++) shape[k] = fc_axis(g, x, k);
    return fc_piece_range_of(g, fc_build_reshape(g, own, rank, shape), s.axis, zero, n);
}

/* What a piece has of a scan, of the subtrees that came before each of its places. */
fc_node fc_piece_scanned(const fc_piece_maker *m, const fc_part *part, const fc_node *carries) {
    fc_graph *g = m->g;
    const fc_ninfo *i = fc_at(m->p->graph, part->node);
    const uint32_t axis = fc_scan_of(i).axis, own = m->p->range[part->node];
    fc_node x = fc_piece_narrowed(m, i->src[0], part->around), seg[3];
    if (!fc_usable(g, x)) return FC_NONODE;
    x = fc_build_cast(g, x, part->dtype);
    if (part->places == 1) {
        x = scan_from(m, part, x, carries[0]);
    } else {
        const fc_dim zero = fc_dim_const(&g->dims, 0);
        const fc_dim before = fc_piece_before(m, part->around), n = fc_piece_length(m, part->range);
        const fc_dim end = fc_dim_add(&g->dims, before, n);
        const fc_dim behind = fc_dim_sub(&g->dims, fc_piece_length(m, part->around), end);
        seg[0] = scan_from(m, part, fc_piece_range_of(g, x, axis, zero, before), carries[0]);
        seg[1] = scan_from(m, part, fc_piece_range_of(g, x, axis, before, n), carries[1]);
        seg[2] = scan_from(m, part, fc_piece_range_of(g, x, axis, end, behind), carries[2]);
        x = fc_build_concat(g, 3, seg, axis);
    }
    if (!fc_usable(g, x)) return FC_NONODE;
    x = fc_build_cast(g, x, (fusec_dtype)i->dtype);
    if (part->around == own) return x;
    return fc_piece_range_of(g, x, axis, fc_piece_offset(m, part->around, own),
                             fc_piece_length(m, own));
}

/* The fc_piece_accumulator of the elements that a piece scans. */
fc_node fc_piece_carried(const fc_piece_maker *m, const fc_part *part) {
    fc_graph *g = m->g;
    const fc_ninfo *i = fc_at(m->p->graph, part->node);
    const int64_t axis = fc_scan_of(i).axis;
    fc_dim shape[FC_MAX_RANK];
    fc_node x = fc_piece_narrowed(m, i->src[0], part->range);
    if (!fc_usable(g, x)) return FC_NONODE;
    const uint32_t rank = fc_rank(g, x);
    for (uint32_t k = 0; k < rank; k++) shape[k] = fc_axis(g, x, k);
    shape[rank] = fc_dim_const(&g->dims, 1); /* so that it is down a column */
    x = fc_build_reshape(g, fc_build_cast(g, x, part->dtype), rank + 1, shape);
    x = fc_build_reduce(g, part->red, x, 1, &axis, false);
    for (uint32_t k = 0; k < part->nkept; k++) shape[k] = (fc_dim)part->kept[k];
    return fc_build_reshape(g, x, part->nkept, shape);
}
