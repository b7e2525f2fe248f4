/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print_fold.c - reductions and scans by code of the user's, in a printed program: a definition for
 * each body, and one statement for all values of a record.
 *
 * Slots are the parameters of the definition, a0 b0 a1 b1 ...: value c of the earlier record and of
 * the later one. Names inside it are its own, so they are taken back behind it. */
#include "frontend/lang/print_graph_impl.h"

#include "ir/fold.h"

/* ---- definitions ----------------------------------------------------------------------------- */

static const char *slot_name(fc_printer *p, uint32_t number) {
    char text[16];
    fc_str s;
    fc_str_init(&s, p->g->alloc);
    fc_str_printf(&s, "%c%u", number < FC_MAX_RECORD ? 'a' : 'b', number % FC_MAX_RECORD);
    const size_t len = s.len < sizeof text ? s.len : 0;
    memcpy(text, s.data, len);
    p->oom |= s.oom;
    fc_str_free(&s);
    const char *copy = fc_arena_strdup(&p->arena, text, len);
    if (!copy) p->oom = true;
    return copy ? copy : "";
}

static void print_signature(fc_printer *p, uint32_t n, const fc_node *body) {
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < n; i++)
            fc_str_printf(p->out, "%s%c%u: %s", side || i ? ", " : "", side ? 'b' : 'a', i,
                          fc_dtypes[fc_at(p->g, body[i])->dtype].name);
    fc_str_add(p->out, n == 1 ? ") -> " : ") -> (");
    for (uint32_t i = 0; i < n; i++) {
        if (n > 1) fc_str_printf(p->out, "%sc%u: ", i ? ", " : "", i);
        fc_str_add(p->out, fc_dtypes[fc_at(p->g, body[i])->dtype].name);
    }
    fc_str_add(p->out, n == 1 ? " {\n" : ") {\n");
}

/* What the body depends on: marks, from its last node down. */
static void mark(const fc_printer *p, uint32_t n, const fc_node *body, uint8_t *need) {
    memset(need, 0, p->g->nodes.len);
    for (uint32_t i = 0; i < n; i++) need[body[i]] = 1;
    for (fc_node x = (fc_node)p->g->nodes.len; x-- > 0;)
        for (int k = 0; need[x] && k < fc_at(p->g, x)->nops; k++) need[fc_at(p->g, x)->src[k]] = 1;
}

static void print_body_of(fc_printer *p, fc_node list, const char *name, uint8_t *need) {
    fc_node body[FC_MAX_RECORD];
    uint32_t values = 0;
    const uint32_t n = fc_record_nodes(p->g, list, FC_MAX_RECORD, body);
    mark(p, n, body, need);
    fc_str_printf(p->out, "def %s(", name);
    print_signature(p, n, body);
    for (fc_node x = 0; x < p->g->nodes.len; x++) {
        const fc_ninfo *i = fc_at(p->g, x);
        if (!need[x]) continue;
        if (i->op == FC_OP_SLOT) fc_print_set_name(p, x, slot_name(p, (uint32_t)i->attr));
        if (i->op == FC_OP_SLOT || !fc_print_wants_name(p, x)) continue;
        fc_str own;
        fc_str_init(&own, p->g->alloc);
        fc_str_printf(&own, "v%u", values++);
        const char *copy = fc_arena_strdup(&p->arena, own.data, own.len);
        p->oom |= own.oom || !copy;
        fc_str_printf(p->out, "    %s = ", own.data);
        fc_str_free(&own);
        fc_print_body(p, x);
        fc_str_char(p->out, '\n');
        fc_print_set_name(p, x, copy ? copy : "");
    }
    fc_str_add(p->out, "    return ");
    for (uint32_t i = 0; i < n; i++) {
        fc_str_add(p->out, i ? ", " : "");
        fc_print_node(p, body[i]);
    }
    fc_str_add(p->out, "\n}\n\n");
    for (fc_node x = 0; x < p->g->nodes.len; x++)
        if (need[x]) p->names[x] = NULL;
}

void fc_print_bodies(fc_printer *p, const char *program) {
    const fc_graph *g = p->g;
    uint32_t next = 0;
    uint8_t *need = NULL;
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op != FC_OP_FOLD || !p->uses[n] || p->names[i->src[1]]) continue;
        if (!need && !(need = fc_malloc(g->alloc, g->nodes.len))) {
            p->oom = true;
            return;
        }
        const char *name = fc_print_free_name(p, "join", &next);
        if (strcmp(name, program) == 0) name = fc_print_free_name(p, "join", &next);
        print_body_of(p, i->src[1], name, need);
        p->names[i->src[1]] = name;
    }
    fc_free(g->alloc, need);
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool same_but_result(const fc_graph *g, fc_node a, fc_node b) {
    const fc_ninfo *x = fc_at(g, a), *y = fc_at(g, b);
    const uint32_t n = fc_list_len(g, (fc_list)x->attr);
    return y->op == FC_OP_FOLD && x->src[0] == y->src[0] && x->src[1] == y->src[1] &&
           x->flags == y->flags && n == fc_list_len(g, (fc_list)y->attr) &&
           memcmp(fc_list_at(g, (fc_list)x->attr) + 1, fc_list_at(g, (fc_list)y->attr) + 1,
                  (n - 1) * sizeof(int64_t)) == 0;
}

/* Names for all values of the record, also of those that are no nodes. */
static void print_targets(fc_printer *p, fc_node first, const fc_fold_spec *s) {
    const char *name[FC_MAX_RECORD] = {NULL};
    for (uint32_t i = 0; i < s->n; i++) {
        name[i] = fc_print_new_name(p);
        fc_str_printf(p->out, "%s%s", i ? ", " : "", name[i]);
    }
    for (fc_node n = first; n < p->g->nodes.len; n++) {
        if (!p->uses[n] || fc_at(p->g, n)->op != FC_OP_FOLD || !same_but_result(p->g, first, n))
            continue;
        const uint32_t result = fc_fold_of(p->g, fc_at(p->g, n)).result;
        p->names[n] = name[result];
        p->place[n] = p->next_place + result;
    }
    p->next_place += s->n;
}

static void print_axes(fc_printer *p, const fc_fold_spec *s) {
    const bool many = (s->axes & (s->axes - 1)) != 0;
    bool any = false;
    fc_str_add(p->out, many ? ", axis=(" : ", axis=");
    for (uint32_t a = 0; a < 64; a++)
        if (s->axes >> a & 1) {
            fc_str_printf(p->out, "%s%u", any ? ", " : "", a);
            any = true;
        }
    fc_str_add(p->out, many ? ")" : "");
}

void fc_print_fold(fc_printer *p, fc_node n, uint32_t indent) {
    const fc_ninfo *i = fc_at(p->g, n);
    const fc_fold_spec s = fc_fold_of(p->g, i);
    fc_node element[FC_MAX_RECORD], body[FC_MAX_RECORD];
    if (p->names[n]) return;
    fc_record_nodes(p->g, i->src[0], FC_MAX_RECORD, element);
    fc_record_nodes(p->g, i->src[1], FC_MAX_RECORD, body);
    fc_str_printf(p->out, "%*s", (int)indent, "");
    print_targets(p, n, &s);
    fc_str_printf(p->out, " = %s(%s, [", s.kind == FC_FOLD_REDUCE ? "reduce" : "scan",
                  p->names[i->src[1]]);
    for (uint32_t c = 0; c < s.n; c++) {
        fc_str_add(p->out, c ? ", " : "");
        fc_print_const(p, (fusec_dtype)fc_at(p->g, body[c])->dtype, s.start[c]);
    }
    fc_str_add(p->out, "], [");
    for (uint32_t c = 0; c < s.n; c++) {
        fc_str_add(p->out, c ? ", " : "");
        fc_print_node(p, element[c]);
    }
    fc_str_char(p->out, ']');
    print_axes(p, &s);
    if (i->flags & FC_NODE_KEEPDIMS) fc_str_add(p->out, ", keepdims=true");
    if (s.kind == FC_FOLD_EXCLUSIVE) fc_str_add(p->out, ", exclusive=true");
    fc_str_add(p->out, ")\n");
}
