/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* operands.c - products whose operands are computed: in their loads, or stored first.
 *
 * In: a program and the sizes of a call. Out: the program that runs it: this one, whose products
 * compute their operands in the loads, again for each tile of results, or a second one of the same
 * graph that stores them. Few rows move the weights as they are and compute each once; many rows
 * would compute them many times. Both have the same bits. */
#include "runtime/bind.h"

/* The value behind the views of a product's operand, if it is computed: else FC_NONODE. */
static fc_node computed(const fc_graph *g, fc_node n) {
    while (fc_is_view(fc_at(g, n)->op)) n = fc_at(g, n)->src[0];
    return fc_is_pointwise(fc_at(g, n)->op) ? n : FC_NONODE;
}

static bool is_product(const fc_ninfo *i) {
    return i->op == FC_OP_dot && i->axis_kind == FC_TREE_DOT;
}

static int64_t elements(const fc_graph *g, fc_node n, const int64_t *values) {
    int64_t all = 1;
    for (uint32_t i = 0; i < fc_rank(g, n); i++) all = fc_mul_most(all, values[fc_axis(g, n, i)]);
    return all;
}

/* Rows or columns that each element of operand k meets. */
static int64_t met(const fc_graph *g, fc_node n, int k, const int64_t *values) {
    uint8_t labels[FC_MAX_RANK];
    const fc_node own = fc_dot_operand(g, n, k, labels), wide = fc_at(g, n)->src[k];
    const int64_t all = elements(g, wide, values), some = elements(g, own, values);
    return some ? all / some : 0;
}

/* Whether the target would store some operand that is computed, for these values of the dims; NULL:
 * if all were as large as can be. */
static bool pays(const fc_program *p, const int64_t *values) {
    const fc_graph *g = &p->plan->graph;
    for (fc_node n = 0; n < g->nodes.len; n++)
        for (int k = 0; k < 2 && is_product(fc_at(g, n)); k++) {
            const fc_node x = computed(g, fc_at(g, n)->src[k]);
            if (x == FC_NONODE) continue;
            const int64_t size = values ? elements(g, x, values) : INT64_MAX,
                          others = values ? met(g, n, k, values) : INT64_MAX;
            if (p->device->target->stores(&p->device->machine, (fusec_dtype)fc_at(g, x)->dtype,
                                          size, others))
                return true;
        }
    return false;
}

fusec_status fc_program_store_operands(fc_program *p, const fc_graph *g,
                                       const fc_program_options *o, fc_error *e) {
    fc_program_options own = *o;
    if (!p->device->target->stores || o->unfused || o->store_operands || !pays(p, NULL))
        return FUSEC_OK;
    own.store_operands = true;
    own.dump = NULL;
    FC_TRY(fc_program_new(p->ctx, g, &own, &p->stored, e));
    if (p->stored->plan->steps.len > p->plan->steps.len) return FUSEC_OK;
    fc_program_free(p->stored); /* they are needed elsewhere, too */
    p->stored = NULL;
    return FUSEC_OK;
}

fc_program *fc_program_for(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                           const fc_dim_value *dims) {
    if (!p->stored) return p;
    const fc_dimtab *t = &p->plan->graph.dims;
    const size_t n = t->syms.len + t->forms.len;
    int64_t small[192] = {0},
            *symbols = n > FC_COUNT(small) ? fc_calloc(p->alloc, n, sizeof *symbols) : small;
    if (!symbols) return p;
    fc_error e = {0}; /* sizes that are wrong are told by the call */
    const bool stores =
        fc_bind_sizes(p, nin, in, ndims, dims, symbols, symbols + t->syms.len, &e) == FUSEC_OK &&
        pays(p, symbols + t->syms.len);
    if (symbols != small) fc_free(p->alloc, symbols);
    return stores ? p->stored : p;
}
