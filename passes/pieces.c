/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pieces.c - see pieces.h: which axis of which node lies along the cut, and which sweep it is of.
 */
#include "passes/pieces.h"

#include <stdio.h>

#include "passes/rewrite.h"

typedef struct finder {
    const fc_graph *g;
    fc_pieces *p;
    const uint8_t *live;
    fc_error *e;
} finder;

bool fc_dim_has(const fc_dimtab *t, fc_dim d, uint32_t sym) {
    const fc_form *f = &t->forms.at[d];
    for (uint32_t i = 0; i < f->nterms; i++) {
        const fc_sym *s = &t->syms.at[f->terms[i].sym];
        if (f->terms[i].sym == sym) return true;
        if (s->kind != FC_SYM_NAMED && (fc_dim_has(t, s->a, sym) || fc_dim_has(t, s->b, sym)))
            return true;
    }
    return false;
}

/* Whether a size is the cut one and a constant more (or less). */
static bool is_cut(const finder *f, fc_dim d, int64_t *extra) {
    const fc_form *form = &f->g->dims.forms.at[d];
    *extra = form->c;
    return form->nterms == 1 && form->terms[0].sym == f->p->sym && form->terms[0].coef == 1;
}

static int64_t extra_of(const finder *f, fc_node n) {
    int64_t extra = 0;
    if (f->p->along[n] >= 0 && fc_at(f->g, n)->op != FC_OP_RECORD)
        is_cut(f, fc_axis(f->g, n, (uint32_t)f->p->along[n]), &extra);
    return extra;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static bool refuse(finder *f, fc_node n, const char *why) {
    fc_str type;
    char line[40] = "";
    const char *name = f->g->dims.syms.at[f->p->sym].name;
    const uint32_t place = fc_graph_place(f->g, n);
    if (place)
        snprintf(line, sizeof line, " (line %u%s)", fc_place_line(place),
                 fc_place_in_snippet(place) ? " of the expression" : "");
    fc_str_init(&type, f->g->alloc);
    fc_type_print(f->g, n, &type);
    fc_fail(f->e, FUSEC_INVALID, "it can't be cut along %.60s: %s of type %.200s %s%s", name,
            fc_ops[fc_at(f->g, n)->op].name, type.data ? type.data : "?", why, line);
    fc_str_free(&type);
    return false;
}

static const char elsewhere[] = "reads at other places along it";

/* ---- one node -------------------------------------------------------------------------------- */

/* The axis of the node's shape that is the cut size; false: there are two, or a multiple. */
static bool axis_by_size(finder *f, fc_node n, int *axis) {
    *axis = -1;
    for (uint32_t i = 0; i < fc_rank(f->g, n); i++) {
        const fc_dim d = fc_axis(f->g, n, i);
        int64_t extra;
        if (!fc_dim_has(&f->g->dims, d, f->p->sym)) continue;
        if (!is_cut(f, d, &extra)) return refuse(f, n, "has an axis whose length depends on it");
        if (*axis >= 0) return refuse(f, n, "has two axes of this length");
        *axis = (int)i;
    }
    return true;
}

/* The result's axis for the operand's, of a view that does not move elements along it; -1: it
 * does. */
static int through_broadcast(const finder *f, fc_node n, int axis) {
    return axis + (int)fc_rank(f->g, n) - (int)fc_rank(f->g, fc_at(f->g, n)->src[0]);
}

static int through_permute(const finder *f, fc_node n, int axis) {
    const fc_list perm = (fc_list)fc_at(f->g, n)->attr;
    for (uint32_t i = 0; i < fc_list_len(f->g, perm); i++)
        if (fc_list_at(f->g, perm)[i] == axis) return (int)i;
    return -1;
}

/* Neighbours may be read: element i of the result is element i + a constant. What a view has at an
 * operand's axis: where it begins, fc_edge, and a step for each axis of the result. */
static fc_view_axis view_axis(const finder *f, fc_node n, int axis) {
    return fc_view_axis_of(f->g, fc_at(f->g, n), (uint32_t)axis);
}

static bool shift_of(const finder *f, fc_node n, int axis, int64_t *shift) {
    const bool slice = fc_at(f->g, n)->op == FC_OP_SLICE;
    const int64_t *v = fc_list_at(f->g, (fc_list)fc_at(f->g, n)->attr) + 3 * axis;
    const fc_dim start = slice ? (fc_dim)v[0] : view_axis(f, n, axis).start;
    return fc_dim_is_const(&f->g->dims, start, shift) && (!slice || v[1] == 1) &&
           *shift <= INT32_MAX && *shift >= -INT32_MAX;
}

static int through_slice(const finder *f, fc_node n, int axis) {
    int64_t shift;
    return shift_of(f, n, axis, &shift) ? axis : -1;
}

/* Elements of the operand's axis are those of one of the result's, and of that nothing else. */
static int through_view(const finder *f, fc_node n, int axis) {
    const fc_node x = fc_at(f->g, n)->src[0];
    const int64_t *own = view_axis(f, n, axis).step;
    int64_t shift;
    int found = -1;
    if (!shift_of(f, n, axis, &shift)) return -1;
    for (uint32_t i = 0; i < fc_rank(f->g, n); i++) {
        int64_t extra;
        if (!own[i]) continue;
        if (found >= 0 || own[i] != 1 || !is_cut(f, fc_axis(f->g, n, i), &extra)) return -1;
        found = (int)i;
    }
    for (uint32_t a = 0; a < fc_rank(f->g, x) && found >= 0; a++)
        if ((int)a != axis && view_axis(f, n, (int)a).step[found]) return -1;
    return found;
}

/* The axes before it are as many elements in both. */
static int through_reshape(const finder *f, fc_node n, int axis) {
    const fc_node x = fc_at(f->g, n)->src[0];
    uint32_t to = 0, from = 0;
    while (to < fc_rank(f->g, n) && fc_axis(f->g, n, to) != fc_axis(f->g, x, (uint32_t)axis)) to++;
    if (to == fc_rank(f->g, n)) return -1;
    for (uint32_t i = 0; i < to || from < (uint32_t)axis;) { /* the same sizes but for ones */
        if (i < to && fc_axis_is_one(f->g, n, i)) {
            i++;
        } else if (from < (uint32_t)axis && fc_axis_is_one(f->g, x, from)) {
            from++;
        } else {
            if (i >= to || from >= (uint32_t)axis || fc_axis(f->g, n, i) != fc_axis(f->g, x, from))
                return -1;
            i++, from++;
        }
    }
    return (int)to;
}

static bool of_view(finder *f, fc_node n, int *axis) {
    const fc_ninfo *i = fc_at(f->g, n);
    const int from = f->p->along[i->src[0]];
    int own;
    if (!axis_by_size(f, n, &own)) return false;
    if (from < 0) {
        *axis = own;
        return own < 0 || i->op == FC_OP_BROADCAST || refuse(f, n, elsewhere);
    }
    *axis = i->op == FC_OP_BROADCAST ? through_broadcast(f, n, from)
            : i->op == FC_OP_PERMUTE ? through_permute(f, n, from)
            : i->op == FC_OP_SLICE   ? through_slice(f, n, from)
            : i->op == FC_OP_VIEW    ? through_view(f, n, from)
                                     : through_reshape(f, n, from);
    return *axis >= 0 && *axis == own ? true : refuse(f, n, elsewhere);
}

/* All operands with axes have the node's shape, and lie along the same one. */
static bool of_operands(finder *f, fc_node n, int *axis) {
    const fc_ninfo *i = fc_at(f->g, n);
    *axis = -1;
    for (int k = 0; k < i->nops; k++) {
        const int own = f->p->along[i->src[k]];
        if (own >= 0 && *axis >= 0 && own != *axis)
            return refuse(f, n, "has operands that lie along it on different axes");
        if (own >= 0) *axis = own;
    }
    return true;
}

/* The array may not lie along the cut on the axis of the indices. */
static bool of_take(finder *f, fc_node n, int *axis) {
    const fc_ninfo *i = fc_at(f->g, n);
    if (f->p->along[i->src[0]] == (int)i->attr) return refuse(f, n, elsewhere);
    return of_operands(f, n, axis);
}

static bool of_check(finder *f, fc_node n, int *axis) {
    if (fc_dim_has(&f->g->dims, fc_check_size(f->g, fc_at(f->g, n)), f->p->sym))
        return refuse(f, n, "reads at computed places along it");
    return of_operands(f, n, axis);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* The rows whose results are the components of an accumulator; FC_OP_NONE: the number of elements.
 */
static unsigned rows_of(fc_op red, fc_op row[FC_MAX_COMPONENTS]) {
    row[0] = red;
    switch (red) {
    case FC_OP_mean: row[0] = FC_OP_sum; return 1;
    case FC_OP_argmin: row[0] = FC_OP_min, row[1] = FC_OP_argmin; return 2;
    case FC_OP_argmax: row[0] = FC_OP_max, row[1] = FC_OP_argmax; return 2;
    case FC_OP_var:
    case FC_OP_std:
        row[0] = FC_OP_var_mean, row[1] = FC_OP_var_squares, row[2] = FC_OP_NONE;
        return 3;
    default: return fc_ops[red].components == 1 ? 1 : 0;
    }
}

static bool take_sizes(finder *f, fc_part *part, uint32_t nkept, const int64_t *kept,
                       uint32_t ninner, const int64_t *inner) {
    int64_t *sizes = fc_arena_alloc(&f->p->arena, (nkept + ninner + 1) * sizeof *sizes);
    if (!sizes) return fc_oom(f->e), false;
    memcpy(sizes, kept, nkept * sizeof *kept);
    if (ninner) memcpy(sizes + nkept, inner, ninner * sizeof *inner);
    part->kept = sizes, part->nkept = nkept;
    part->inner = sizes + nkept, part->ninner = ninner;
    f->p->nparts++;
    return true;
}

static bool add_part(finder *f, fc_node n, int axis) {
    const fc_graph *g = f->g;
    const fc_ninfo *i = fc_at(g, n);
    fc_part *part = &f->p->parts[f->p->nparts];
    int64_t inner[FC_MAX_RANK], kept[FC_MAX_RANK];
    uint32_t ninner = 0, nkept = 0, at = 0;
    const fc_list axes = (fc_list)i->attr;
    for (uint32_t a = 0; a < fc_rank(g, i->src[0]); a++) {
        const bool reduced = at < fc_list_len(g, axes) && fc_list_at(g, axes)[at] == a;
        const fc_dim d = fc_axis(g, i->src[0], a);
        if (reduced && (int)a < axis && !fc_axis_is_one(g, i->src[0], a))
            return refuse(f, n, "reduces an axis outside it too");
        if (!reduced) kept[nkept++] = d;
        if (reduced && (int)a != axis) inner[ninner++] = d;
        at += reduced;
    }
    const fusec_dtype t = (fusec_dtype)fc_at(g, i->src[0])->dtype;
    *part = (fc_part){.node = n,
                      .red = (fc_op)i->op,
                      .sweep = f->p->sweep[n],
                      .tree = (fc_tree)i->axis_kind,
                      .half = fc_is_half(t)};
    part->narrays = rows_of(part->red, part->row);
    if (!part->narrays) return refuse(f, n, "has no parts that could be joined later");
    part->dtype = fc_acc_dtype(part->red, t);
    return take_sizes(f, part, nkept, kept, ninner, inner);
}

/* The reduction of all elements along the axis, in the tree of scans, which is the outer one. */
static bool add_scan(finder *f, fc_node n, uint32_t axis) {
    const fc_graph *g = f->g;
    const fc_ninfo *i = fc_at(g, n);
    fc_part *part = &f->p->parts[f->p->nparts];
    int64_t kept[FC_MAX_RANK];
    uint32_t nkept = 0;
    if (fc_rank(g, n) + 1 > g->limits.rank) return refuse(f, n, "has too many axes");
    for (uint32_t a = 0; a < fc_rank(g, n); a++)
        if (a != axis) kept[nkept++] = fc_axis(g, n, a);
    *part = (fc_part){.node = n,
                      .red = fc_scan_of(i).op,
                      .carry = true,
                      .sweep = f->p->sweep[n],
                      .tree = FC_TREE_OUTER};
    part->narrays = rows_of(part->red, part->row);
    part->dtype = fc_acc_dtype(part->red, (fusec_dtype)fc_at(g, i->src[0])->dtype);
    part->places = 1, part->grain = FC_RUN;
    return take_sizes(f, part, nkept, kept, 0, NULL);
}

static bool of_scan(finder *f, fc_node n, int *axis) {
    if (!of_operands(f, n, axis)) return false;
    const uint32_t along = fc_scan_of(fc_at(f->g, n)).axis;
    return *axis != (int)along || add_scan(f, n, along);
}

static bool of_reduction(finder *f, fc_node n, int *axis) {
    const fc_ninfo *i = fc_at(f->g, n);
    const fc_list axes = (fc_list)i->attr;
    int from;
    if (!of_operands(f, n, &from)) return false;
    *axis = from;
    if (from < 0) return true;
    for (uint32_t k = 0; k < fc_list_len(f->g, axes); k++) {
        const int64_t reduced = fc_list_at(f->g, axes)[k];
        if (reduced == from) return *axis = -1, add_part(f, n, from);
        if (reduced < from && !(i->flags & FC_NODE_KEEPDIMS)) --*axis;
    }
    return true;
}

/* ---- all nodes ------------------------------------------------------------------------------- */

static bool place(finder *f, fc_node n, int *axis) {
    const int op = fc_at(f->g, n)->op;
    *axis = -1;
    switch (op) {
    case FC_OP_CONST:
    case FC_OP_SLOT:
    case FC_OP_DIM: return true;
    case FC_OP_INPUT: return axis_by_size(f, n, axis);
    case FC_OP_IOTA: return axis_by_size(f, n, axis);
    case FC_OP_CAST:
    case FC_OP_BITCAST:
    case FC_OP_EXTERN:
    case FC_OP_RECORD: /* of operands of a function */
    case FC_OP_MATERIALIZE: return of_operands(f, n, axis);
    case FC_OP_SCAN: return of_scan(f, n, axis);
    case FC_OP_TAKE: return of_take(f, n, axis);
    case FC_OP_CHECK: return of_check(f, n, axis);
    case FC_OP_FOLD:
        if (!of_operands(f, n, axis)) return false;
        return *axis < 0 ||
               refuse(
                   f, n,
                   "is a reduction or scan by a definition, whose records are not kept in parts");
    case FC_OP_PAIR:
    case FC_OP_PART: return refuse(f, n, "is made of complex numbers, which are not cut");
    default:
        if (fc_is_view(op)) return of_view(f, n, axis);
        if (fc_is_reduction(op)) return of_reduction(f, n, axis);
        if (fc_is_elementwise(op)) return of_operands(f, n, axis);
        return refuse(f, n, "does not know how");
    }
}

/* A node that reads its operand, which lies along the cut, at other places. */
static bool is_shifted(const finder *f, fc_node n) {
    return fc_piece_shifts(f->p, n);
}

static void widen(fc_piece_range *r, int64_t before, int64_t after) {
    if (before > r->before) r->before = before;
    if (after > r->after) r->after = after;
}

static bool goes_round(const finder *f, fc_node n) {
    return fc_piece_wraps(f->p, n);
}

/* What is read beyond an end is found at that end of the operand, which so has to be there: its
 * last element, or as many more as a mirror shows. */
static void reach_ends(const finder *f, fc_node n, int64_t shift, fc_piece_range *x) {
    const fc_node operand = fc_at(f->g, n)->src[0];
    const fc_edge edge = view_axis(f, n, f->p->along[operand]).edge;
    const int64_t extra = extra_of(f, operand), over = extra_of(f, n) - extra + shift;
    const bool mirrored = edge == FC_EDGE_REFLECT || edge == FC_EDGE_SYMMETRIC;
    const int64_t right = mirrored && over > 0 ? over : 0;
    if (edge != FC_EDGE_NONE)
        widen(x, right + (extra < 0 ? -extra : 0), mirrored && shift < 0 ? -shift : 0);
}

/* A scan that others need more of than the piece begins anew before it and behind it: where groups
 * of `grain` elements do. */
static void spread_scan(const finder *f, fc_part *part, const fc_piece_range *own,
                        fc_piece_range *operand) {
    if (!own->before && !own->after) return;
    part->places = 3;
    for (uint32_t i = 0; i < f->p->nparts; i++) { /* blocks are leaves of all of them */
        const int64_t leaf = fc_tree_leaf(f->p->parts[i].tree, f->p->parts[i].half);
        if (leaf > part->grain) part->grain = leaf;
    }
    while (part->grain < own->before || part->grain < own->after) part->grain *= 2;
    widen(operand, own->before ? part->grain : 0, own->after);
}

/* What of its operands a node needs, from the last one back: on its way along the array, and, the
 * same for what is seen of it beyond the ends, all around. */
static void spread_needs(const finder *f, fc_piece_range *need, fc_piece_range *round) {
    const fc_pieces *p = f->p;
    for (fc_node n = (fc_node)f->g->nodes.len; n-- > 0;) {
        const fc_ninfo *i = fc_at(f->g, n);
        int64_t shift = 0;
        if (!f->live[n] || p->along[n] < 0) continue;
        if (is_shifted(f, n)) shift_of(f, n, p->along[i->src[0]], &shift);
        if (fc_piece_scan(p, n)) {
            spread_scan(f, fc_piece_scan(p, n), &need[n], &need[i->src[0]]);
            continue;
        }
        for (int k = 0; k < i->nops; k++) {
            fc_piece_range *x = &need[i->src[k]], *r = &round[i->src[k]];
            const int64_t extra = need[n].extra > 0 ? need[n].extra : 0;
            if (!goes_round(f, n)) widen(x, need[n].before - shift, need[n].after + shift);
            if (!round[n].round && !goes_round(f, n)) continue;
            r->round = 1;
            widen(r, round[n].before - shift, round[n].after + shift);
            if (goes_round(f, n)) widen(r, need[n].before - shift, need[n].after + shift + extra);
        }
        if (is_shifted(f, n) && i->op == FC_OP_VIEW && !goes_round(f, n))
            reach_ends(f, n, shift, &need[i->src[0]]);
    }
}

/* Beyond its ends an array is what is made of others beyond theirs, at the same places. */
static bool can_go_round(finder *f, fc_node n) {
    const fc_ninfo *i = fc_at(f->g, n);
    int64_t shift = 0;
    if (i->op == FC_OP_RECORD) return true;
    if (is_shifted(f, n)) shift_of(f, n, f->p->along[i->src[0]], &shift);
    if (extra_of(f, n) || fc_piece_scan(f->p, n) ||
        (is_shifted(f, n) && !goes_round(f, n) && (shift || extra_of(f, i->src[0]))))
        return refuse(f, n, "is read around the ends");
    return true;
}

static uint32_t number_of(fc_pieces *p, fc_piece_range r) {
    uint32_t k = 0;
    while (k < p->nranges && memcmp(&p->ranges[k], &r, sizeof r) != 0) k++;
    if (k == p->nranges) p->ranges[p->nranges++] = r;
    return k;
}

/* The ranges of all nodes along the cut, by what is needed of them. */
static bool number_ranges(finder *f, fc_piece_range *need, const fc_piece_range *round) {
    fc_pieces *p = f->p;
    for (fc_node n = 0; n < f->g->nodes.len; n++) {
        const bool own = p->along[n] >= 0 && f->live[n] && fc_at(f->g, n)->op != FC_OP_RECORD;
        p->range[n] = p->inside[n] = 0;
        if (p->along[n] >= 0 && f->live[n] && round[n].round && !can_go_round(f, n)) return false;
        if (!own) continue;
        uint32_t k = number_of(p, need[n]);
        p->inside[n] = (uint16_t)k;
        if (round[n].round) {
            fc_piece_range r = round[n];
            widen(&r, need[n].before, need[n].after);
            k = number_of(p, r);
        }
        if (k > 1000) return refuse(f, n, "has too many neighbours");
        p->range[n] = (uint16_t)k;
        if (p->ranges[k].round && fc_at(f->g, n)->op == FC_OP_IOTA)
            p->totals[p->ntotals++] = fc_axis(f->g, n, (uint32_t)p->along[n]);
    }
    return true;
}

static bool find_ranges(finder *f) {
    fc_pieces *p = f->p;
    const size_t count = f->g->nodes.len;
    fc_piece_range *need = fc_arena_alloc(&p->arena, 2 * (count + 1) * sizeof *need);
    if (!need) return fc_oom(f->e), false;
    fc_piece_range *round = need + count + 1;
    memset(round, 0, count * sizeof *round);
    for (fc_node n = 0; n < count; n++) need[n] = (fc_piece_range){.extra = extra_of(f, n)};
    spread_needs(f, need, round);
    number_of(p, (fc_piece_range){0});
    if (!number_ranges(f, need, round)) return false;
    for (size_t i = 0; i < f->g->outputs.len; i++)
        p->own[i] = number_of(p, (fc_piece_range){.extra = extra_of(f, f->g->outputs.at[i].node)});
    for (uint32_t i = 0; i < p->nparts; i++) {
        fc_piece_range r = {.extra = extra_of(f, fc_at(f->g, p->parts[i].node)->src[0])};
        if (r.extra > 0) return refuse(f, p->parts[i].node, "is over more elements than that");
        p->parts[i].range = number_of(p, r);
        if (!p->parts[i].carry) continue;
        r.before = need[p->parts[i].node].before ? p->parts[i].grain : 0;
        r.after = need[p->parts[i].node].after;
        p->parts[i].around = number_of(p, r);
    }
    return true;
}

static bool is_part(const fc_pieces *p, fc_node n) {
    return p->nparts && p->parts[p->nparts - 1].node == n;
}

static bool walk(finder *f) {
    fc_pieces *p = f->p;
    for (fc_node n = 0; n < f->g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(f->g, n);
        int axis;
        p->along[n] = -1;
        p->sweep[n] = 0;
        if (!f->live[n]) continue;
        for (int k = 0; k < i->nops; k++)
            if (p->sweep[i->src[k]] > p->sweep[n]) p->sweep[n] = p->sweep[i->src[k]];
        if (!place(f, n, &axis)) return false;
        p->along[n] = (int8_t)axis;
        if (is_part(p, n)) p->sweep[n]++;
        if (i->op == FC_OP_DIM && fc_dim_has(&f->g->dims, (fc_dim)i->attr, p->sym))
            p->totals[p->ntotals++] = (fc_dim)i->attr;
    }
    return find_ranges(f);
}

static void count_sweeps(fc_pieces *p) {
    const fc_graph *g = p->graph;
    p->nsweeps = 0;
    for (uint32_t i = 0; i < p->nparts; i++)
        if (p->parts[i].sweep >= p->nsweeps) p->nsweeps = p->parts[i].sweep + 1;
    for (size_t i = 0; i < g->outputs.len; i++) {
        const fc_node n = g->outputs.at[i].node;
        if (p->along[n] >= 0 && p->sweep[n] >= p->nsweeps) p->nsweeps = p->sweep[n] + 1u;
    }
}

/* ---- what the graphs are made by ----------------------------------------------------------------
 */

bool fc_piece_shifts(const fc_pieces *p, fc_node n) {
    const fc_ninfo *i = fc_at(p->graph, n);
    return (i->op == FC_OP_SLICE || i->op == FC_OP_VIEW) && p->along[i->src[0]] >= 0;
}

bool fc_piece_wraps(const fc_pieces *p, fc_node n) {
    const fc_ninfo *i = fc_at(p->graph, n);
    if (i->op != FC_OP_VIEW || p->along[i->src[0]] < 0) return false;
    return fc_view_axis_of(p->graph, i, (uint32_t)p->along[i->src[0]]).edge == FC_EDGE_WRAP;
}

fc_part *fc_piece_part(const fc_pieces *p, fc_node n) {
    for (uint32_t i = 0; i < p->nparts; i++)
        if (p->parts[i].node == n) return &p->parts[i];
    return NULL;
}

fc_part *fc_piece_scan(const fc_pieces *p, fc_node n) {
    fc_part *part = fc_piece_part(p, n);
    return part && part->carry ? part : NULL;
}

bool fc_pieces_follows(const fc_pieces *p, uint32_t sweep) {
    bool scans = false;
    for (uint32_t i = 0; i < p->nparts; i++) {
        if (p->parts[i].sweep + 1 != sweep) continue;
        if (!p->parts[i].carry) return false;
        scans = true;
    }
    return scans;
}

fusec_status fc_pieces_find(const fc_graph *g, uint32_t sym, fc_pieces *out, fc_error *e) {
    *out = (fc_pieces){.graph = g, .sym = sym};
    fc_arena_init(&out->arena, g->alloc);
    const size_t n = g->nodes.len + 1;
    finder f = {g, out, NULL, e};
    uint8_t *live = fc_arena_alloc(&out->arena, n);
    out->along = fc_arena_alloc(&out->arena, n);
    out->sweep = fc_arena_alloc(&out->arena, n * sizeof *out->sweep);
    out->range = fc_arena_alloc(&out->arena, n * sizeof *out->range);
    out->ranges = fc_arena_alloc(&out->arena, (4 * n + g->outputs.len + 2) * sizeof *out->ranges);
    out->inside = fc_arena_alloc(&out->arena, n * sizeof *out->inside);
    out->own = fc_arena_alloc(&out->arena, (g->outputs.len + 1) * sizeof *out->own);
    out->parts = fc_arena_alloc(&out->arena, n * sizeof *out->parts);
    out->totals = fc_arena_alloc(&out->arena, n * sizeof *out->totals);
    if (!live || !out->inside || !out->along || !out->sweep || !out->range || !out->ranges ||
        !out->own || !out->parts || !out->totals) {
        fc_pieces_free(out);
        return fc_oom(e);
    }
    fc_rewrite_live(g, live);
    for (size_t i = 0; i < g->inputs.len; i++) live[g->inputs.at[i].node] = 1;
    f.live = live;
    if (!walk(&f)) {
        fc_pieces_free(out);
        return e->code;
    }
    count_sweeps(out);
    return FUSEC_OK;
}

void fc_pieces_free(fc_pieces *p) {
    fc_arena_free(&p->arena);
    memset(p, 0, sizeof *p);
}
