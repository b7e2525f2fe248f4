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
 * stands before the body and is written in place; one that takes statements (a loop, values with
 * several uses) is a call of a definition of its own. Reading makes it before the body, so what
 * they share is the first that the body names. Names of a body end with it: another loop of the
 * same level has the same holes. */
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

/* The names of the results, which the carried values have in the body as well; the loop's own is
 * never written and says that the loop was. */
static void name_values(fc_printer *p, fc_node loop, const fc_loop_view *v, const char **names) {
    const fc_graph *g = p->g;
    for (uint32_t i = 0; i < v->loop.carried + v->loop.collected; i++)
        names[i] = fc_print_new_name(p);
    p->names[loop] = names[0];
    for (fc_node n = loop + 1; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op != FC_OP_RESULT || i->src[0] != loop) continue;
        p->names[n] = names[i->attr];
        p->place[n] = p->next_place + (uint32_t)i->attr;
    }
    p->next_place += v->loop.carried + v->loop.collected;
}

static void name_holes(fc_printer *p, const fc_loop_view *v, const char *counter,
                       const char *const *names) {
    for (fc_node n = 0; n < p->g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(p->g, n);
        if (i->op != FC_OP_HOLE || fc_hole_level(i) != v->loop.level) continue;
        const uint32_t number = fc_hole_number(i);
        if (number > v->loop.carried) continue;
        p->names[n] = number ? names[number - 1] : counter;
        p->place[n] = p->next_place + number;
    }
    p->next_place += v->loop.carried + 1;
}

/* ---- the condition --------------------------------------------------------------------------- */

typedef FC_VEC(fc_node) nodes;

typedef struct condition {
    nodes
        inside;  /* what it is made of in this loop, operands first, as reading its text makes it */
    nodes taken; /* names that it takes from elsewhere */
    bool shares; /* something in it has several uses there */
} condition;

typedef struct step {
    fc_node n;
    int k; /* its operands before this one are there */
} step;

/* The walk in which the text names operands, without recursion; for before the names of the body
 * are given. What is named or was made outside of the loop ends it, or is written in place. */
static bool walk_condition(fc_printer *p, const fc_loop_view *v, condition *c) {
    const fc_graph *g = p->g;
    FC_VEC(step) open = {0};
    uint8_t *seen = fc_calloc(g->alloc, g->nodes.len + 1, 1);
    bool ok = seen && fc_push(g->alloc, &open, ((step){v->condition, 0}));
    while (ok && open.len) {
        step *s = &open.at[open.len - 1];
        const fc_node n = s->n;
        const fc_ninfo *i = fc_at(g, n);
        const int nops = p->names[n] ? 0 : i->op == FC_OP_FOLD ? 1 : i->nops;
        const bool inside = !p->names[n] && p->levels[n] >> v->loop.level & 1;
        if (s->k == 0 && seen[n]) {
            c->shares |= inside;
            open.len--;
        } else if (s->k < nops) {
            seen[n] = 1;
            const step next = {fc_print_operand(p, n, s->k++), 0};
            ok = fc_push(g->alloc, &open, next);
        } else {
            seen[n] = 1;
            open.len--;
            if (inside) ok = fc_push(g->alloc, &c->inside, n);
            if (p->names[n]) ok = fc_push(g->alloc, &c->taken, n);
        }
    }
    fc_vec_free(g->alloc, &open);
    fc_free(g->alloc, seen);
    return ok;
}

/* Whether it can be written in place. */
static bool is_plain(fc_printer *p, const condition *c) {
    if (c->shares) return false;
    for (size_t i = 0; i < c->inside.len; i++) {
        const fc_node n = c->inside.at[i];
        const int op = fc_at(p->g, n)->op;
        if (op == FC_OP_LOOP || op == FC_OP_FOLD || fc_print_is_deep(p, n)) return false;
    }
    return true;
}

/* The lines of what the condition is made of, in its order; `need` may choose. */
static void print_inside(fc_printer *p, const fc_loop_view *v, const condition *c,
                         const uint8_t *need, uint32_t indent) {
    for (size_t i = 0; i < c->inside.len && !p->oom; i++) {
        const fc_node n = c->inside.at[i];
        if (!need || need[n]) fc_print_statement(p, n, v->loop.level, indent);
    }
}

/* A definition behind the program, of the sizes and the names that it takes; and the call. */
static void print_definition(fc_printer *p, const fc_loop_view *v, const condition *c,
                             const char *const *before) {
    const fc_graph *g = p->g;
    const char *name = fc_print_free_name(p, "goes", &p->next_condition);
    fc_str own, *out = p->out;
    fc_str_init(&own, g->alloc);
    p->out = &own;
    fc_str_printf(&own, "\ndef %s(", name);
    fc_str_printf(out, "%s(", name);
    uint32_t n = 0;
    for (size_t i = 0; i < c->taken.len; i++) {
        const char *value = p->names[c->taken.at[i]];
        fc_str_printf(&own, "%s%s", n ? ", " : "", value);
        fc_str_printf(out, "%s%s", n++ ? ", " : "", value);
    }
    for (uint32_t k = 0, s; k < p->sym_count; k++) { /* in the order of the program's parameters */
        for (s = 0; s < g->dims.syms.len && !(p->syms[s] && p->sym_order[s] == k);) s++;
        if (s == g->dims.syms.len) continue;
        fc_str_printf(&own, "%s%s: dim", n ? ", " : "", p->syms[s]);
        fc_str_printf(out, "%s%s", n++ ? ", " : "", p->syms[s]);
    }
    fc_str_add(&own, ") {\n");
    fc_str_char(out, ')');
    print_inside(p, v, c, NULL, 4);
    fc_str_add(&own, "    return ");
    fc_print_node(p, v->condition);
    fc_str_add(&own, "\n}\n");
    p->out = out;
    p->oom |= own.oom;
    if (!p->oom) fc_str_add(&p->definitions, own.data);
    fc_str_free(&own);
    memcpy(p->names, before, g->nodes.len * sizeof *before);
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

/* `names` are those of what is carried and collected. */
static void print_for(fc_printer *p, const fc_loop_view *v, const char *const *names,
                      const uint8_t *need, uint32_t indent) {
    const fc_graph *g = p->g;
    const char *counter = fc_print_new_name(p);
    const char **before = fc_malloc(g->alloc, 2 * g->nodes.len * sizeof *before);
    condition c = {0};
    if (!before) {
        p->oom = true;
        return;
    }
    const char **header = before + g->nodes.len;
    memcpy(before, p->names, g->nodes.len * sizeof *before);
    name_holes(p, v, counter, names);
    memcpy(header, p->names, g->nodes.len * sizeof *header);
    fc_str_printf(p->out, "%*sfor %s in ", (int)indent, "", counter);
    fc_print_node(p, v->first);
    fc_str_add(p->out, "..");
    fc_print_node(p, v->end);
    if (v->condition != FC_NONODE) {
        fc_str_add(p->out, " while ");
        p->oom |= !walk_condition(p, v, &c);
        if (p->oom || is_plain(p, &c))
            fc_print_node(p, v->condition);
        else
            print_definition(p, v, &c, header);
    }
    fc_str_add(p->out, " {\n");
    print_inside(p, v, &c, need, indent + 4);
    fc_print_scope(p, need, v->loop.level, indent + 4);
    print_end(p, v, counter, names, indent + 4);
    memcpy(p->names, before, g->nodes.len * sizeof *before);
    fc_str_printf(p->out, "%*s}\n", (int)indent, "");
    fc_vec_free(g->alloc, &c.inside);
    fc_vec_free(g->alloc, &c.taken);
    fc_free(g->alloc, before);
}

void fc_print_loop(fc_printer *p, fc_node loop, uint32_t indent) {
    const char *names[2 * FC_MAX_LOOP_VALUES];
    fc_loop_view v;
    fc_loop_look(p->g, loop, &v);
    uint8_t *need = needed(p, &v);
    if (!need) {
        p->oom = true;
        return;
    }
    name_values(p, loop, &v, names);
    for (uint32_t i = 0; i < v.loop.carried; i++) {
        fc_str_printf(p->out, "%*s%s = ", (int)indent, "", names[i]);
        fc_print_node(p, v.start[i]);
        fc_str_char(p->out, '\n');
    }
    print_for(p, &v, names, need, indent);
    fc_free(p->g->alloc, need);
}
