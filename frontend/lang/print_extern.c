/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print_extern.c - functions of the user in a printed program: their declarations, their calls.
 *
 * A program has them by their own names, but for a second one of the same name, which gets a number
 * so that the text can be read: by it the function has to be given then. */
#include "frontend/lang/print_graph_impl.h"

#include "ir/external.h"

static const char *name_of(const fc_printer *p, const fc_extern *x) {
    for (size_t i = 0; i < p->externs.len; i++)
        if (p->externs.at[i].function == x) return p->externs.at[i].name;
    return NULL;
}

static void declare(fc_printer *p, const fc_extern *x, const char **program) {
    uint32_t next = 0, unused;
    const bool taken = fc_namemap_get(&p->taken, x->name, &unused);
    const fc_print_extern entry = {x, taken ? fc_print_free_name(p, x->name, &next) : x->name};
    if (!taken) p->oom |= !fc_namemap_put(p->g->alloc, &p->taken, x->name, 0);
    p->oom |= !fc_push(p->g->alloc, &p->externs, entry);
    if (*program && strcmp(*program, entry.name) == 0) *program = NULL;
    fc_str_printf(&p->definitions, "\nextern def %s(", entry.name);
    for (int k = 0; k < x->nargs; k++)
        fc_str_printf(&p->definitions, "%sx%d: %s", k ? ", " : "", k + 1,
                      fc_dtypes[x->dtype[k]].name);
    fc_str_printf(&p->definitions, ") -> %s\n", fc_dtypes[x->result].name);
}

void fc_print_externs(fc_printer *p, const char **program) {
    for (fc_node n = 0; n < p->g->nodes.len && !p->oom; n++) {
        const fc_ninfo *i = fc_at(p->g, n);
        if (i->op == FC_OP_EXTERN && p->uses[n] && !name_of(p, fc_extern_of(i)))
            declare(p, fc_extern_of(i), program);
    }
}

void fc_print_extern_call(fc_printer *p, const fc_ninfo *i) {
    fc_node v[FC_MAX_EXTERN];
    const char *name = name_of(p, fc_extern_of(i));
    const uint32_t n = fc_extern_nodes(p->g, i, v);
    fc_str_printf(p->out, "%s(", name ? name : fc_extern_of(i)->name);
    for (uint32_t k = 0; k < n; k++) {
        fc_str_add(p->out, k ? ", " : "");
        fc_print_node(p, v[k]);
    }
    fc_str_char(p->out, ')');
}
