/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pieces_graph.c - the graphs that a cut one is computed with: see pieces.h. */
#include "ir/external.h"
#include "ir/fold.h"
#include "passes/pieces_impl.h"
#include "passes/rewrite.h"

#include <stdio.h>

/* ---- code as nodes --------------------------------------------------------------------------- */

/* The nodes of values of `c`, whose operands (FC_OP_ARG) are args[]. */
bool fc_piece_inline(fc_graph *g, const fc_code *c, const fc_node *args, const fc_val *v,
                     unsigned n, fc_node *out) {
    fc_node *made = fc_malloc(g->alloc, (c->ins.len + 1) * sizeof *made);
    if (!made || c->status) return fc_free(g->alloc, made), false;
    for (fc_val k = 0; k < c->ins.len; k++) {
        const fc_instr *i = &c->ins.at[k];
        fc_node x[3] = {FC_NONODE, FC_NONODE, FC_NONODE};
        for (int a = 0; a < fc_instr_arity(i); a++) x[a] = made[fc_instr_operand(i, a)];
        switch (i->op) {
        case FC_OP_ARG: made[k] = args[i->imm]; break;
        case FC_OP_CONST: made[k] = fc_build_const(g, (fusec_dtype)i->dtype, i->imm); break;
        case FC_OP_CVT:
        case FC_OP_CAST: made[k] = fc_build_cast(g, x[0], (fusec_dtype)i->dtype); break;
        case FC_OP_BITCAST: made[k] = fc_build_bitcast(g, x[0], (fusec_dtype)i->dtype); break;
        default: made[k] = fc_build_op(g, (fc_op)i->op, x[0], x[1], x[2]); break;
        }
    }
    for (unsigned i = 0; i < n; i++) out[i] = made[v[i]];
    fc_free(g->alloc, made);
    return !g->error.code;
}

void fc_piece_accumulator(fc_code *c, const fc_part *part, unsigned from, fc_val out[]) {
    const fc_op red = part->red;
    for (unsigned k = 0; k < fc_ops[red].components; k++)
        out[k] = fc_val_arg(c, from + k, fc_component_dtype(red, part->dtype, (int)k), FC_ROW);
}

/* The result of a partial reduction, in its own shape and dtype. */
static fc_node finished(const fc_piece_maker *m, const fc_part *part, const fc_node *acc) {
    fc_graph *g = m->g;
    const fc_ninfo *i = fc_at(m->p->graph, part->node);
    fc_node args[FC_PIECE_COUNT + 1] = {0}, r = FC_NONODE;
    fc_dim shape[FC_MAX_RANK];
    fc_val a[FC_MAX_COMPONENTS];
    fc_code c;
    fc_code_init(&c, g->alloc);
    fc_piece_accumulator(&c, part, FC_PIECE_EARLIER, a);
    memcpy(args, acc, FC_MAX_COMPONENTS * sizeof *acc);
    args[FC_PIECE_COUNT] = acc[FC_MAX_COMPONENTS];
    const fc_val count = fc_val_arg(&c, FC_PIECE_COUNT, FUSEC_I64, FC_ROW);
    const fc_val v = fc_red_finish(&c, part->red, part->dtype, a, count);
    if (!fc_piece_inline(g, &c, args, &v, 1, &r) && !g->error.code) fc_oom(&g->error);
    fc_code_free(&c);
    const uint32_t rank = fc_list_len(m->p->graph, i->shape);
    for (uint32_t k = 0; k < rank; k++) shape[k] = fc_axis(m->p->graph, part->node, k);
    return fc_build_reshape(g, fc_build_cast(g, r, (fusec_dtype)i->dtype), rank, shape);
}

/* Elements [from, from + n) of an axis. */
fc_node fc_piece_range_of(fc_graph *g, fc_node x, uint32_t axis, fc_dim from, fc_dim n) {
    fc_slice s[FC_MAX_RANK];
    if (!fc_usable(g, x)) return FC_NONODE;
    for (uint32_t k = 0; k < fc_rank(g, x); k++)
        s[k] = (fc_slice){fc_dim_const(&g->dims, 0), 1, fc_axis(g, x, k)};
    s[axis].start = from, s[axis].size = n;
    return fc_build_slice(g, x, s);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static fc_dim named(const fc_piece_maker *m, uint32_t sym) {
    fc_dimtab *t = &m->g->dims;
    const fc_dim d = sym < t->syms.len ? fc_dim_named(t, t->syms.at[sym].name) : FC_DIM_NONE;
    if (d == FC_DIM_NONE) fc_oom(&m->g->error);
    return d;
}
fc_dim fc_piece_length(const fc_piece_maker *m, uint32_t k) {
    if (m->whole) return fc_dim_const(&m->g->dims, 0);
    return named(m, k ? fc_range_length_sym(m->p, k) : m->p->sym);
}
fc_dim fc_piece_before(const fc_piece_maker *m, uint32_t k) {
    return k ? named(m, fc_range_before_sym(m->p, k)) : fc_dim_const(&m->g->dims, 0);
}

static void name_ranges(const fc_piece_maker *m) {
    char name[32];
    for (uint32_t k = 1; k < m->p->nranges; k++) {
        snprintf(name, sizeof name, "length.%u", k);
        fc_dim_named(&m->g->dims, name);
        snprintf(name, sizeof name, "before.%u", k);
        fc_dim_named(&m->g->dims, name);
    }
    if (m->g->dims.oom) fc_oom(&m->g->error);
}

/* Where range `inner` begins in range `outer`. */
fc_dim fc_piece_offset(const fc_piece_maker *m, uint32_t outer, uint32_t inner) {
    return fc_dim_sub(&m->g->dims, fc_piece_before(m, outer), fc_piece_before(m, inner));
}

/* The same of each operand in a list of them. */
static fc_node narrowed_list(const fc_piece_maker *m, fc_node x, uint32_t k) {
    fc_node v[FC_MAX_EXTERN];
    const uint32_t n = fc_record_nodes(m->p->graph, x, FC_MAX_EXTERN, v);
    for (uint32_t i = 0; i < n; i++) v[i] = fc_piece_narrowed(m, v[i], k);
    return fc_build_record(m->g, n, v);
}

/* Of a node that others need more of, the elements of range k. */
fc_node fc_piece_narrowed(const fc_piece_maker *m, fc_node x, uint32_t k) {
    const fc_pieces *p = m->p;
    if (fc_at(p->graph, x)->op == FC_OP_RECORD) return narrowed_list(m, x, k);
    if (p->along[x] < 0 || p->range[x] == k) return m->map[x];
    return fc_piece_range_of(m->g, m->map[x], (uint32_t)p->along[x],
                             fc_piece_offset(m, p->range[x], k), fc_piece_length(m, k));
}

/* The shape of a node, with the length that its range has in a piece. */
static fc_list piece_shape(const fc_piece_maker *m, fc_node n) {
    const fc_graph *src = m->p->graph;
    int64_t shape[FC_MAX_RANK];
    const uint32_t rank = fc_rank(src, n);
    for (uint32_t i = 0; i < rank; i++) shape[i] = fc_axis(src, n, i);
    shape[m->p->along[n]] = fc_piece_length(m, m->p->range[n]);
    return fc_intern_list(m->g, shape, rank);
}

/* Of a slice or a view, what it reads of its operand's range. */
static fc_list piece_places(const fc_piece_maker *m, fc_node n) {
    const fc_graph *src = m->p->graph;
    const fc_ninfo *i = fc_at(src, n);
    const fc_list list = (fc_list)i->attr;
    const fc_node x = i->src[0];
    const uint32_t len = fc_list_len(src, list);
    int64_t v[1 + FC_MAX_RANK * (2 + FC_MAX_RANK)];
    memcpy(v, fc_list_at(src, list), len * sizeof *v);
    const size_t axis = (size_t)m->p->along[x];
    int64_t *own = v + (i->op == FC_OP_SLICE ? 3 * axis : 1 + axis * (size_t)(2 + v[0]));
    const uint32_t from = fc_piece_wraps(m->p, n) ? m->p->range[x] : m->p->inside[x];
    own[0] = fc_dim_add(&m->g->dims, (fc_dim)own[0], fc_piece_offset(m, from, m->p->range[n]));
    if (i->op == FC_OP_SLICE) own[2] = fc_piece_length(m, m->p->range[n]);
    if (fc_piece_wraps(m->p, n)) own[1] = FC_EDGE_NONE; /* what is round the end is there */
    return fc_intern_list(m->g, v, len);
}

/* The node as a piece has it, of operands that are there. */
static fc_node in_piece(const fc_piece_maker *m, fc_node n) {
    const fc_pieces *p = m->p;
    fc_ninfo i = *fc_at(p->graph, n);
    const bool shifted = fc_piece_shifts(p, n);
    if (p->nranges == 1 || p->along[n] < 0) return fc_rewrite_node(p->graph, m->g, n, m->map);
    if (i.op == FC_OP_RECORD) return m->map[i.src[0]]; /* each user narrows it for itself */
    for (int k = 0; k < i.nops; k++)
        i.src[k] =
            fc_piece_wraps(p, n)
                ? m->map[i.src[k]]
                : fc_piece_narrowed(m, i.src[k], shifted ? p->inside[i.src[k]] : p->range[n]);
    i.shape = piece_shape(m, n);
    if (shifted) i.attr = piece_places(m, n);
    return fc_graph_node(m->g, i);
}

static const char too_large[] = "a size is too large";

/* ---- accumulators of a piece ----------------------------------------------------------------- */

static fc_node elements_before(const fc_piece_maker *m, const fc_part *part) {
    fc_node n = m->begin;
    for (uint32_t k = 0; k < part->ninner; k++)
        n = fc_op2(m->g, FC_OP_mul, n, fc_build_dim(m->g, (fc_dim)part->inner[k]));
    return n;
}

/* A number of elements for each result, with an axis of `parts` in front if there is one. */
static fc_node counted(const fc_piece_maker *m, const fc_part *part, fc_node count,
                       const fc_dim *parts) {
    fc_dim shape[FC_MAX_RANK + 1];
    uint32_t rank = 0;
    if (parts) shape[rank++] = *parts;
    for (uint32_t d = 0; d < part->nkept; d++) shape[rank++] = (fc_dim)part->kept[d];
    return fc_build_broadcast(m->g, count, rank, shape);
}

static fc_node elements_in(const fc_piece_maker *m, const fc_part *part) {
    fc_dim n = fc_piece_length(m, part->range);
    for (uint32_t k = 0; k < part->ninner; k++)
        n = fc_dim_mul(&m->g->dims, n, (fc_dim)part->inner[k]);
    if (n == FC_DIM_NONE) return fc_fail(&m->g->error, FUSEC_LIMIT, too_large), FC_NONODE;
    return fc_build_dim(m->g, n);
}

static fc_node component(const fc_piece_maker *m, const fc_part *part, unsigned k) {
    fc_graph *g = m->g;
    if (part->row[k] == FC_OP_NONE) return counted(m, part, elements_in(m, part), NULL);
    const fc_graph *src = m->p->graph;
    fc_ninfo i = *fc_at(src, part->node);
    for (int a = 0; a < i.nops; a++) i.src[a] = fc_piece_narrowed(m, i.src[a], part->range);
    if (part->row[k] ==
        FC_OP_dot) { /* elements of 16 bits are multiplied as what they are in f32 */
        for (int a = 0; a < i.nops && part->half; a++)
            i.src[a] = fc_build_cast(g, i.src[a], part->dtype);
        i.dtype = (uint8_t)part->dtype;
        return fc_usable(g, i.src[0]) && fc_usable(g, i.src[1]) ? fc_graph_node(g, i) : FC_NONODE;
    }
    const fc_list axes = (fc_list)i.attr;
    const fc_node x = fc_build_cast(g, i.src[0], part->dtype);
    const fc_node r =
        fc_build_reduce(g, part->row[k], x, fc_list_len(src, axes), fc_list_at(src, axes), false);
    if (fc_ops[part->row[k]].rule != FC_RULE_INDEX) return r;
    return fc_op2(g, FC_OP_add, r, elements_before(m, part));
}

/* ---- accumulators of its leaves -------------------------------------------------------------- */

/* The elements of a reduction as one axis, in their order: the last one of the inner tree, the
 * first one of the outer tree. */
static fc_node flat(const fc_piece_maker *m, const fc_part *part, fc_node x, fc_dim *n) {
    fc_graph *g = m->g;
    const fc_ninfo *i = fc_at(m->p->graph, part->node);
    const fc_list axes = (fc_list)i->attr;
    const uint32_t rank = fc_rank(m->p->graph, i->src[0]), nred = fc_list_len(m->p->graph, axes);
    const uint32_t first = part->tree == FC_TREE_INNER ? rank - nred : 0;
    int64_t perm[FC_MAX_RANK];
    fc_dim shape[FC_MAX_RANK];
    uint32_t reduced = 0, kept = 0;
    *n = fc_dim_const(&g->dims, 1);
    if (!fc_usable(g, x)) return FC_NONODE;
    for (uint32_t a = 0; a < rank; a++) {
        const bool is = reduced < nred && fc_list_at(m->p->graph, axes)[reduced] == a;
        perm[is ? first + reduced++ : (first ? 0 : nred) + kept++] = a;
        if (is) *n = fc_dim_mul(&g->dims, *n, fc_axis(g, x, a));
    }
    const uint32_t at = first ? kept : 0;
    for (uint32_t k = 0; k < kept; k++) shape[first ? k : k + 1] = (fc_dim)part->kept[k];
    shape[at] = *n;
    if (*n == FC_DIM_NONE) return fc_fail(&g->error, FUSEC_LIMIT, too_large), FC_NONODE;
    return fc_build_reshape(g, fc_build_permute(g, x, perm), kept + 1, shape);
}

/* The indices of a result, which begin anew in each part: more by `first`, and on each of the axis
 * in front by `step`. */
static fc_node placed(const fc_piece_maker *m, const fc_part *part, fc_node r, fc_node first,
                      fc_dim parts, int64_t step) {
    fc_graph *g = m->g;
    r = fc_op2(g, FC_OP_add, r, first);
    if (!step) return r;
    const fc_node number = fc_build_iota_along(g, parts, part->nkept + 1, 0);
    return fc_op2(g, FC_OP_add, r, fc_op2(g, FC_OP_mul, number, fc_i64(g, step)));
}

/* Array k of the accumulators of all whole leaves, [leaves, kept...], and that of the rest. */
static void components(const fc_piece_maker *m, const fc_part *part, unsigned k, fc_node out[2]) {
    fc_graph *g = m->g;
    fc_dimtab *t = &g->dims;
    const fc_node operand =
        fc_piece_narrowed(m, fc_at(m->p->graph, part->node)->src[0], part->range);
    const int64_t leaf = m->leaves[part->tree];
    const uint32_t at = part->tree == FC_TREE_INNER ? part->nkept : 0;
    fc_dim n, shape[FC_MAX_RANK];
    const fc_node x = flat(m, part, fc_build_cast(g, operand, part->dtype), &n);
    if (!fc_usable(g, x)) return;
    const fc_dim size = fc_dim_const(t, leaf), full = fc_dim_floordiv(t, n, size);
    const fc_dim end = fc_dim_mul(t, full, size), left = fc_dim_sub(t, n, end);
    if (part->row[k] == FC_OP_NONE) {
        out[0] = counted(m, part, fc_build_dim(g, size), &full);
        out[1] = counted(m, part, fc_build_dim(g, left), NULL);
        return;
    }
    for (uint32_t d = 0; d < part->nkept; d++) shape[at ? d : d + 2] = (fc_dim)part->kept[d];
    shape[at] = full, shape[at + 1] = size;
    fc_node r = fc_build_reshape(g, fc_piece_range_of(g, x, at, fc_dim_const(t, 0), end),
                                 part->nkept + 2, shape);
    r = fc_build_reduce(g, part->row[k], r, 1, (const int64_t[]){at + 1}, false);
    int64_t perm[FC_MAX_RANK] = {at};
    for (uint32_t d = 0; d < part->nkept; d++) perm[d + 1] = at ? d : d + 1;
    out[0] = fc_build_permute(g, r, perm);
    r = fc_piece_range_of(g, x, at, end, left);
    out[1] = fc_build_reduce(g, part->row[k], r, 1, (const int64_t[]){at}, false);
    if (fc_ops[part->row[k]].rule != FC_RULE_INDEX) return;
    const fc_node first = elements_before(m, part);
    out[0] = placed(m, part, out[0], first, full, leaf);
    out[1] = placed(m, part, out[1], fc_op2(g, FC_OP_add, first, fc_build_dim(g, end)), 0, 0);
}

/* ---- the source's nodes ---------------------------------------------------------------------- */

static fc_node total_by_size(const fc_piece_maker *m, fc_dim d) {
    for (uint32_t k = 0; k < m->p->ntotals; k++)
        if (m->p->totals[k] == d) return m->totals[k];
    return FC_NONODE;
}

static fc_node total_of(const fc_piece_maker *m, fc_node n) {
    const fc_ninfo *i = fc_at(m->p->graph, n);
    return i->op == FC_OP_DIM ? total_by_size(m, (fc_dim)i->attr) : FC_NONODE;
}

/* Numbers along the cut go on where the piece begins. */
static fc_node counted_on(const fc_piece_maker *m, fc_node n, fc_node own) {
    fc_graph *g = m->g;
    const uint32_t k = m->p->range[n];
    const fc_node before = fc_build_dim(g, fc_piece_before(m, k));
    const fc_node first = fc_op2(g, FC_OP_sub, m->begin, before);
    const fc_node r = fc_op2(g, FC_OP_add, own, first);
    if (!m->p->ranges[k].round) return r;
    const fc_dim size = fc_axis(m->p->graph, n, (uint32_t)m->p->along[n]);
    return fc_op2(g, FC_OP_mod, r, total_by_size(m, size));
}

/* A size goes with arrays of any shape as an operand, the input that stands for it does not. */
static void spread_totals(const fc_piece_maker *m, fc_node n, bool undo) {
    const fc_ninfo *i = fc_at(m->p->graph, n);
    const uint32_t rank = fc_rank(m->p->graph, n);
    fc_dim shape[FC_MAX_RANK];
    if (!fc_is_elementwise(i->op) || !rank) return;
    for (uint32_t k = 0; k < rank; k++)
        shape[k] = (int)k == m->p->along[n] ? fc_piece_length(m, m->p->range[n])
                                            : fc_axis(m->p->graph, n, k);
    for (int k = 0; k < i->nops; k++) {
        const fc_node total = total_of(m, i->src[k]);
        if (total == FC_NONODE) continue;
        m->map[i->src[k]] = undo ? total : fc_build_broadcast(m->g, total, rank, shape);
    }
}

static fc_node copy(const fc_piece_maker *m, fc_node n) {
    const fc_pieces *p = m->p;
    const fc_ninfo *i = fc_at(p->graph, n);
    const fc_part *part = fc_piece_part(p, n);
    if (i->op == FC_OP_INPUT) return m->g->inputs.at[i->attr].node;
    if (part && (m->whole ? !part->carry : part->sweep < m->sweep)) {
        const fc_node *acc = m->acc + (size_t)(part - p->parts) * (FC_MAX_COMPONENTS + 1);
        return part->carry ? fc_piece_scanned(m, part, acc) : finished(m, part, acc);
    }
    if (part || (m->whole ? p->along[n] >= 0 : p->sweep[n] > m->sweep)) return FC_NONODE;
    for (int k = 0; k < i->nops; k++)
        if (m->map[i->src[k]] == FC_NONODE) return FC_NONODE;
    if (total_of(m, n) != FC_NONODE) return total_of(m, n);
    spread_totals(m, n, false);
    const fc_node same = in_piece(m, n);
    spread_totals(m, n, true);
    return i->op == FC_OP_IOTA && p->along[n] == (int)i->attr ? counted_on(m, n, same) : same;
}

static void copy_nodes(fc_piece_maker *m) {
    const fc_graph *src = m->p->graph;
    uint8_t *live = fc_malloc(src->alloc, src->nodes.len + 1);
    if (!live) fc_oom(&m->g->error);
    if (live) fc_rewrite_live(src, live);
    for (fc_node n = 0; n < src->nodes.len && !m->g->error.code; n++)
        m->map[n] = live[n] ? copy(m, n) : FC_NONODE;
    fc_free(src->alloc, live);
}

/* ---- a graph --------------------------------------------------------------------------------- */

/* A piece's sizes are not those that the conditions speak of: who cuts has tested them. */
static void drop_conditions(const fc_pieces *p, fc_graph *g) {
    size_t n = 0;
    for (size_t i = 0; i < g->conditions.len; i++) {
        const fc_condition c = g->conditions.at[i];
        if (!fc_dim_has(&g->dims, c.a, p->sym) && !fc_dim_has(&g->dims, c.b, p->sym))
            g->conditions.at[n++] = c;
    }
    g->conditions.len = n;
}

static fc_node scalar(fc_graph *g, const char *what, unsigned k) {
    char name[32];
    snprintf(name, sizeof name, "%s.%u", what, k);
    return fc_build_input(g, name, FUSEC_I64, 0, NULL);
}

static void inputs_of_part(const fc_piece_maker *m, uint32_t k, fc_node *acc) {
    const fc_part *part = &m->p->parts[k];
    fc_dim shape[FC_MAX_RANK + 1];
    char name[32];
    uint32_t rank = 0;
    if (part->carry) shape[rank++] = fc_dim_const(&m->g->dims, FC_CARRIES);
    for (uint32_t i = 0; i < part->nkept; i++) shape[rank++] = (fc_dim)part->kept[i];
    for (unsigned a = 0; a < (part->carry ? part->places : part->narrays); a++) {
        const int array = part->carry ? 0 : (int)a;
        snprintf(name, sizeof name, "part%u.%u", k, a);
        acc[a] = fc_build_input(m->g, name, fc_component_dtype(part->red, part->dtype, array), rank,
                                shape);
    }
    if (part->carry) return;
    acc[FC_MAX_COMPONENTS] = scalar(m->g, "count", k);
}

static bool begin(fc_piece_maker *m, fc_node *totals, fc_node *acc) {
    fc_graph *g = m->g;
    const fc_pieces *p = m->p;
    if (fc_rewrite_begin(p->graph, g)) return false;
    g->limits.inputs = g->limits.outputs = FC_NONODE - 1;
    if (!m->whole) name_ranges(m);
    for (uint32_t i = 0; i < p->graph->inputs.len && !g->error.code; i++) {
        const fc_node n = p->graph->inputs.at[i].node; /* nothing is made of it yet */
        if (p->along[n] >= 0) g->nodes.at[g->inputs.at[i].node].shape = piece_shape(m, n);
    }
    drop_conditions(p, g);
    if (!m->whole) m->begin = scalar(g, "begin", 0);
    for (uint32_t i = 0; i < p->ntotals; i++) totals[i] = scalar(g, "total", i);
    for (uint32_t i = 0; i < p->nparts; i++)
        if (m->whole ? !p->parts[i].carry : p->parts[i].sweep < m->sweep)
            inputs_of_part(m, i, acc + (size_t)i * (FC_MAX_COMPONENTS + 1));
    m->totals = totals;
    m->acc = acc;
    return !g->error.code;
}

static void output_of_part(const fc_piece_maker *m, uint32_t part, unsigned k) {
    char name[32];
    fc_node n[2] = {FC_NONODE, FC_NONODE};
    snprintf(name, sizeof name, "part%u.%u", part, k);
    const bool by_leaf = m->leaves && !m->p->parts[part].carry;
    if (by_leaf)
        components(m, &m->p->parts[part], k, n);
    else if (m->p->parts[part].carry)
        n[0] = fc_piece_carried(m, &m->p->parts[part]);
    else
        n[0] = component(m, &m->p->parts[part], k);
    fc_build_output(m->g, name, n[0]);
    snprintf(name, sizeof name, "rest%u.%u", part, k);
    if (by_leaf) fc_build_output(m->g, name, n[1]);
}

static void outputs_of_parts(const fc_piece_maker *m) {
    const size_t conditions = m->g->conditions.len;
    for (uint32_t i = 0; i < m->p->nparts; i++)
        for (unsigned k = 0; m->p->parts[i].sweep == m->sweep && k < m->p->parts[i].narrays; k++)
            output_of_part(m, i, k);
    m->g->conditions.len =
        conditions; /* where there is no rest, its fc_piece_accumulator is not used */
}

static void outputs_of_source(const fc_piece_maker *m, uint32_t *outputs, uint32_t *n) {
    const fc_pieces *p = m->p;
    *n = 0;
    for (uint32_t i = 0; i < p->graph->outputs.len; i++) {
        const fc_output *o = &p->graph->outputs.at[i];
        const bool here = m->whole ? p->along[o->node] < 0
                                   : p->along[o->node] >= 0 && p->sweep[o->node] == m->sweep;
        if (!here) continue;
        fc_build_output(m->g, o->name,
                        m->whole ? m->map[o->node] : fc_piece_narrowed(m, o->node, m->p->own[i]));
        outputs[(*n)++] = i;
    }
}

static fusec_status end(fc_piece_maker *m, fc_error *e) {
    fc_graph *g = m->g;
    if (!g->error.code) return FUSEC_OK;
    const fusec_status s = fc_fail(e, g->error.code, "%s", g->error.message);
    fc_graph_free(g);
    memset(g, 0, sizeof *g);
    return s;
}

static fusec_status make(fc_piece_maker *m, uint32_t *outputs, uint32_t *noutputs, fc_error *e) {
    const fc_pieces *p = m->p;
    const size_t nodes = p->graph->nodes.len, accs = (size_t)p->nparts * (FC_MAX_COMPONENTS + 1);
    fc_node *room = fc_malloc(p->graph->alloc, (nodes + p->ntotals + accs + 1) * sizeof *room);
    if (!room) return fc_oom(e);
    m->map = room;
    if (begin(m, room + nodes, room + nodes + p->ntotals)) {
        copy_nodes(m);
        const bool made = !m->g->error.code; /* else the map is not full */
        if (made && !m->whole) outputs_of_parts(m);
        if (made) outputs_of_source(m, outputs, noutputs);
    }
    fc_free(p->graph->alloc, room);
    return end(m, e);
}

fusec_status fc_pieces_sweep(const fc_pieces *p, uint32_t sweep, const int64_t *leaves,
                             fc_graph *out, uint32_t *outputs, uint32_t *noutputs, fc_error *e) {
    fc_piece_maker m = {.p = p, .g = out, .sweep = sweep, .leaves = leaves};
    return make(&m, outputs, noutputs, e);
}

fusec_status fc_pieces_finish(const fc_pieces *p, fc_graph *out, uint32_t *outputs,
                              uint32_t *noutputs, fc_error *e) {
    fc_piece_maker m = {.p = p, .g = out, .whole = true};
    return make(&m, outputs, noutputs, e);
}

fusec_status fc_pieces_join(const fc_pieces *p, uint32_t number, fc_graph *out, fc_error *e) {
    const fc_part *part = &p->parts[number];
    const fc_op red = part->red;
    fc_piece_maker m = {.p = p, .g = out};
    fc_val a[FC_MAX_COMPONENTS], b[FC_MAX_COMPONENTS], r[FC_MAX_COMPONENTS];
    fc_node args[FC_PIECE_COUNT + 1] = {0}, made[FC_MAX_COMPONENTS];
    fc_code c;
    char name[32];
    fc_graph_init(out, p->graph->alloc, NULL);
    const fc_dim n = fc_dim_named(&out->dims, "n");
    for (unsigned side = 0; side < 2; side++)
        for (unsigned k = 0; k < part->narrays; k++) {
            snprintf(name, sizeof name, "%s.%u", side ? "later" : "earlier", k);
            args[(side ? FC_PIECE_LATER : FC_PIECE_EARLIER) + k] =
                fc_build_input(out, name, fc_component_dtype(red, part->dtype, (int)k), 1, &n);
        }
    fc_code_init(&c, p->graph->alloc);
    fc_piece_accumulator(&c, part, FC_PIECE_EARLIER, a);
    fc_piece_accumulator(&c, part, FC_PIECE_LATER, b);
    fc_red_combine(&c, red, part->dtype, a, b, r);
    if (!fc_piece_inline(out, &c, args, r, part->narrays, made) && !out->error.code)
        fc_oom(&out->error);
    fc_code_free(&c);
    for (unsigned k = 0; k < part->narrays && !out->error.code; k++) {
        snprintf(name, sizeof name, "joined.%u", k);
        fc_build_output(out, name, made[k]);
    }
    return end(&m, e);
}
