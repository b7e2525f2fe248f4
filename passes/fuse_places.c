/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuse_places.c - how much code a kernel that makes a value has.
 *
 * A value stands in it once for each index map that it is needed under. Of a stencil of a stencil
 * of a stencil of nine neighbours these are up to 729, of one more nine times as many, while
 * fc_fuse_work counts the value once. */
#include "passes/fuse.h"

static bool push(fc_fusion *f, fc_node n, fc_list map) {
    fc_walk_step t = {n, map, FC_ENTER};
    return map != FC_NOMAP && fc_push(f->alloc, &f->walk.todo, t);
}

/* Of inputs, roots and what is no code nothing is counted. */
static bool ends(fc_graph *g, const fc_fusion *f, fc_node n, bool first) {
    const int op = fc_at(g, n)->op;
    if (op == FC_OP_CONST || op == FC_OP_DIM || op == FC_OP_SLOT || op == FC_OP_INPUT ||
        op == FC_OP_IOTA || op == FC_OP_UPDATE || op == FC_OP_RESULT || fc_is_part(op))
        return true;
    fc_node array;
    return (f->is_root[n] && !first) || fc_reshape_reads(g, f, n, &array);
}

static bool operands(fc_graph *g, fc_fusion *f, fc_walk_step t, fc_places *p) {
    const fc_ninfo *n = fc_at(g, t.node);
    const fc_node a = n->src[0];
    if (fc_is_view(n->op)) return push(f, a, fc_map_view(g, t.node, t.map));
    p->ops++;
    if (n->op == FC_OP_ROUNDS) return push(f, a, t.map);
    if (n->op == FC_OP_TAKE) {
        const fc_node index = n->src[1];
        return push(f, a, fc_map_take(g, t.node, t.map)) && push(f, index, t.map);
    }
    for (int i = 0; i < n->nops; i++) {
        const bool number = !fc_rank(g, n->src[i]) && fc_rank(g, t.node) && n->op != FC_OP_RECORD &&
                            fc_at(g, n->src[i])->op != FC_OP_RECORD;
        if (!push(f, n->src[i], number ? 0 : t.map)) return false;
    }
    return true;
}

bool fc_fuse_places(fc_graph *g, fc_fusion *f, fc_node n, uint32_t cap, fc_places *p) {
    fc_walk *w = &f->walk;
    bool ok = fc_walk_begin(f->alloc, w) && push(f, n, fc_map_identity(g, fc_at(g, n)->shape));
    p->ops = 0;
    while (ok && w->todo.len && p->ops < cap) {
        const fc_walk_step t = w->todo.at[--w->todo.len];
        bool fresh;
        if (ends(g, f, t.node, t.node == n)) continue;
        ok = fc_walk_enter(f->alloc, w, fc_place_key(t.node, t.map), &fresh) != NULL;
        if (!ok || !fresh) continue;
        if (!p->times[t.node]++) ok = fc_push(f->alloc, &p->met, t.node);
        ok = ok && operands(g, f, t, p);
    }
    w->todo.len = 0;
    return ok || (fc_oom(&g->error), false);
}

void fc_places_clear(fc_places *p) {
    for (size_t i = 0; i < p->met.len; i++) p->times[p->met.at[i]] = 0;
    p->met.len = 0;
}
