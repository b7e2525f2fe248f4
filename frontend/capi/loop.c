/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop.c - loops written down in C: between begin and end the values are holes (ir/loop.h). The
 * first mistake stays with the graph, as with other builders. */
#include "frontend/capi/capi.h"

#include "ir/loop.h"

struct fusec_loop {
    fusec_graph *g;
    fc_node first, end, counter, condition;
    uint32_t ncarried, ncollected;
    fc_node start[FC_MAX_LOOP_VALUES], hole[FC_MAX_LOOP_VALUES], next[FC_MAX_LOOP_VALUES],
        collected[FC_MAX_LOOP_VALUES];
};

/* A value of the loop's graph; numbers become nodes. */
static fc_node of_graph(fusec_graph *g, const char *what, fusec_value v) {
    fusec_value failed;
    if (g->ir.error.code) return FC_NONODE;
    if (!fc_is_node(&v)) return fc_as_node(g, v);
    if (fc_node_graph(what, v, &failed) == g) return v.node;
    fc_fail(&g->ir.error, FUSEC_INVALID, "%s: the value is of another graph", what);
    return FC_NONODE;
}

static fc_node bound(fusec_graph *g, fusec_value v) {
    const fc_node n = of_graph(g, "fusec_loop_begin", v);
    if (g->ir.error.code || n == FC_NONODE) return FC_NONODE;
    if (fc_rank(&g->ir, n) || fc_is_float((fusec_dtype)fc_at(&g->ir, n)->dtype)) {
        fc_fail(&g->ir.error, FUSEC_INDEX_RANGE,
                "fusec_loop_begin: rounds are counted by integers");
        return FC_NONODE;
    }
    return fc_build_cast(&g->ir, n, FUSEC_I64);
}

fusec_loop *fusec_loop_begin(fusec_graph *g, fusec_value first, fusec_value end) {
    if (!g) return NULL;
    fusec_loop *l = fc_calloc(g->ir.alloc, 1, sizeof *l);
    if (!l) {
        fc_oom(&g->ir.error);
        return NULL;
    }
    l->g = g;
    l->condition = FC_NONODE;
    l->first = bound(g, first);
    l->end = bound(g, end);
    l->counter = fc_build_hole(&g->ir, FUSEC_I64, 0, NULL);
    return l;
}

fusec_value fusec_loop_counter(fusec_loop *l) {
    return l ? fc_value(l->g, l->counter) : fc_failed(FUSEC_INVALID);
}

static bool has_room(fusec_loop *l, const char *what) {
    if (l->ncarried + l->ncollected < FC_MAX_LOOP_VALUES) return true;
    fc_fail(&l->g->ir.error, FUSEC_LIMIT, "%s: a loop has at most %d values", what,
            FC_MAX_LOOP_VALUES);
    return false;
}

fusec_value fusec_carry(fusec_loop *l, fusec_value start) {
    if (!l) return fc_failed(FUSEC_INVALID);
    fc_graph *g = &l->g->ir;
    fc_dim shape[FC_MAX_RANK];
    const fc_node n = of_graph(l->g, "fusec_carry", start);
    if (g->error.code || n == FC_NONODE || !has_room(l, "fusec_carry"))
        return fc_value(l->g, FC_NONODE);
    for (uint32_t i = 0; i < fc_rank(g, n); i++) shape[i] = fc_axis(g, n, i);
    const fc_node hole = fc_build_hole(g, (fusec_dtype)fc_at(g, n)->dtype, fc_rank(g, n), shape);
    l->start[l->ncarried] = n;
    l->next[l->ncarried] = l->hole[l->ncarried] = hole;
    l->ncarried++;
    return fc_value(l->g, hole);
}

void fusec_next(fusec_loop *l, fusec_value carried, fusec_value next) {
    if (!l) return;
    const fc_node hole = of_graph(l->g, "fusec_next", carried),
                  n = of_graph(l->g, "fusec_next", next);
    for (uint32_t i = 0; i < l->ncarried && !l->g->ir.error.code; i++)
        if (l->hole[i] == hole) {
            const fusec_dtype t = (fusec_dtype)fc_at(&l->g->ir, hole)->dtype;
            l->next[i] = fc_is_node(&next) ? n : fc_build_cast(&l->g->ir, n, t);
            return;
        }
    if (!l->g->ir.error.code)
        fc_fail(&l->g->ir.error, FUSEC_INVALID, "fusec_next: the loop carries no such value");
}

void fusec_while(fusec_loop *l, fusec_value condition) {
    if (!l) return;
    const fc_node n = of_graph(l->g, "fusec_while", condition);
    if (l->g->ir.error.code || n == FC_NONODE) return;
    l->condition = l->condition == FC_NONODE
                       ? n
                       : fc_build_op(&l->g->ir, FC_OP_logical_and, l->condition, n, FC_NONODE);
}

void fusec_collect(fusec_loop *l, fusec_value v) {
    if (!l) return;
    const fc_node n = of_graph(l->g, "fusec_collect", v);
    if (l->g->ir.error.code || n == FC_NONODE || !has_room(l, "fusec_collect")) return;
    l->collected[l->ncollected++] = n;
}

fusec_status fusec_loop_end(fusec_loop *l, int n, fusec_value *results) {
    if (!l) return fc_report_text(FUSEC_INVALID, "fusec_loop_end: the loop is NULL");
    fusec_graph *g = l->g;
    fc_node out[FC_MAX_LOOP_VALUES];
    const uint32_t all = l->ncarried + l->ncollected;
    const fc_loop_parts p = {.first = l->first,
                             .end = l->end,
                             .counter = l->counter,
                             .condition = l->condition,
                             .ncarried = l->ncarried,
                             .ncollected = l->ncollected,
                             .start = l->start,
                             .hole = l->hole,
                             .next = l->next,
                             .collected = l->collected};
    if (!g->ir.error.code && (n < 0 || (uint32_t)n != all || (n && !results)))
        fc_fail(&g->ir.error, FUSEC_ARGUMENT_COUNT,
                "fusec_loop_end: the loop has %u values, not %d", all, n);
    const bool made = !g->ir.error.code && fc_build_loop(&g->ir, &p, out);
    for (int i = 0; i < n && results; i++)
        results[i] = fc_value(g, made && (uint32_t)i < all ? out[i] : FC_NONODE);
    fc_free(g->ir.alloc, l);
    return made ? FUSEC_OK : fc_report(&g->ir.error);
}
