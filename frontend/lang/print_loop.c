/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print_loop.c - a loop of the graph as text.
 *
 *     t3 = START
 *     for t4 in i64(0)..i64(100) while CONDITION {
 *         t5 = NEXT
 *         t3 = t5
 *     }
 *
 * Bounds have a dtype, so that reading makes a loop of it whatever the body is. The condition
 * stands before the body and is written in place, whatever it takes. Names of a body end with it:
 * another loop of the same level has the same holes. */
#include "frontend/lang/print_graph_impl.h"

#include "ir/loop.h"

/* What the body is made of, down to what does not depend on it. What the condition alone takes is
 * written there, even if several loops have the same. */
static uint8_t *needed(fc_printer *p, const fc_loop_view *v) {
    const fc_graph *g = p->g;
    uint8_t *need = fc_calloc(g->alloc, g->nodes.len + 1, 1);
    if (!need) return NULL;
    for (uint32_t i = 0; i < v->loop.carried; i++) need[v->next[i]] = 1;
    for (uint32_t i = 0; i < v->loop.collected; i++) need[v->collected[i]] = 1;
    for (fc_node n = (fc_node)g->nodes.len; n-- > 0;)
        for (int k = 0; need[n] && p->levels[n] >> v->loop.level & 1 && k < fc_at(g, n)->nops; k++)
            need[fc_at(g, n)->src[k]] = 1;
    return need;
}

/* The names of the results, which the carried values have in the body as well. */
static void name_values(fc_printer *p, fc_node loop, const fc_loop_view *v, const char **names) {
    const fc_graph *g = p->g;
    for (uint32_t i = 0; i < v->loop.carried + v->loop.collected; i++)
        names[i] = fc_print_new_name(p);
    for (fc_node n = loop + 1; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op == FC_OP_RESULT && i->src[0] == loop) p->names[n] = names[i->attr];
    }
}

static void name_holes(fc_printer *p, const fc_loop_view *v, const char *counter,
                       const char *const *names) {
    for (fc_node n = 0; n < p->g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(p->g, n);
        if (i->op != FC_OP_HOLE || fc_hole_level(i) != v->loop.level) continue;
        const uint32_t number = fc_hole_number(i);
        if (number <= v->loop.carried) p->names[n] = number ? names[number - 1] : counter;
    }
}

static void print_header(fc_printer *p, const fc_loop_view *v, const char *counter,
                         uint32_t indent) {
    fc_str_printf(p->out, "%*sfor %s in ", (int)indent, "", counter);
    fc_print_node(p, v->first);
    fc_str_add(p->out, "..");
    fc_print_node(p, v->end);
    if (v->condition != FC_NONODE) {
        fc_str_add(p->out, " while ");
        fc_print_node(p, v->condition);
    }
    fc_str_add(p->out, " {\n");
}

static void print_end(fc_printer *p, const fc_loop_view *v, const char *counter,
                      const char *const *names, uint32_t indent) {
    const char *next[FC_MAX_LOOP_VALUES];
    for (uint32_t i = 0; i < v->loop.collected; i++) {
        fc_str_printf(p->out, "%*s%s[%s] = ", (int)indent, "", names[v->loop.carried + i], counter);
        fc_print_node(p, v->collected[i]);
        fc_str_char(p->out, '\n');
    }
    for (uint32_t i = 0; i < v->loop.carried; i++) {
        next[i] = fc_print_new_name(p);
        fc_str_printf(p->out, "%*s%s = ", (int)indent, "", next[i]);
        fc_print_node(p, v->next[i]);
        fc_str_char(p->out, '\n');
    }
    for (uint32_t i = 0; i < v->loop.carried; i++)
        fc_str_printf(p->out, "%*s%s = %s\n", (int)indent, "", names[i], next[i]);
}

void fc_print_loop(fc_printer *p, fc_node loop, uint32_t indent) {
    const fc_graph *g = p->g;
    const char *names[2 * FC_MAX_LOOP_VALUES];
    fc_loop_view v;
    fc_loop_look(g, loop, &v);
    uint8_t *need = needed(p, &v);
    const char **before = fc_malloc(g->alloc, g->nodes.len * sizeof *before);
    if (!need || !before) {
        p->oom = true;
    } else {
        name_values(p, loop, &v, names);
        for (uint32_t i = 0; i < v.loop.carried; i++) {
            fc_str_printf(p->out, "%*s%s = ", (int)indent, "", names[i]);
            fc_print_node(p, v.start[i]);
            fc_str_char(p->out, '\n');
        }
        const char *counter = fc_print_new_name(p);
        memcpy(before, p->names, g->nodes.len * sizeof *before);
        name_holes(p, &v, counter, names);
        print_header(p, &v, counter, indent);
        fc_print_scope(p, need, v.loop.level, indent + 4);
        print_end(p, &v, counter, names, indent + 4);
        memcpy(p->names, before, g->nodes.len * sizeof *before);
        fc_str_printf(p->out, "%*s}\n", (int)indent, "");
    }
    fc_free(g->alloc, need);
    fc_free(g->alloc, before);
}
