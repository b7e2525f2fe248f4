/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* extract.c - the part of a graph that some values depend on, as a graph of its own.
 *
 * In: nodes of the user's graph. Out: a graph whose inputs are the arrays and stored results that
 * were reached, whose sizes are fresh symbols, everything numbered in order of first use: an
 * expression that is built again, in this graph or another one, with other data and sizes, gives
 * the same bytes. No conditions are copied, they have been tested for the sizes of the user's
 * graph. Maps from old to new ids are kept with the graph and marked with a round number, so that
 * their cost is that of the part and not of the whole graph. */
#include "frontend/capi/key.h"

/* ---- maps ------------------------------------------------------------------------------------ */

#define RESERVE(g, map, n) (reserve((g), (void **)&(map).at, &(map).len, &(map).cap, (n)))

static bool reserve(fusec_graph *g, void **at, size_t *len, size_t *cap, size_t n) {
    if (!fc_vec_grow(g->ir.alloc, at, cap, n, sizeof(uint64_t))) return false;
    if (n > *len) memset((uint64_t *)*at + *len, 0, (n - *len) * sizeof(uint64_t));
    if (n > *len) *len = n;
    return true;
}

bool fc_extract_next_round(fusec_graph *g) {
    bool ok = true;
    if (++g->round == 0) { /* after 2^32 of them old marks would look new */
        g->node_map.len = g->dim_map.len = g->sym_map.len = g->fixed.len = 0;
        for (size_t i = 0; i < FC_COUNT(g->list_map); i++) g->list_map[i].len = 0;
        g->round = 1;
    }
    for (size_t i = 0; i < FC_COUNT(g->list_map); i++)
        ok = ok && RESERVE(g, g->list_map[i], g->ir.lists.len);
    g->narguments = 0;
    return ok && RESERVE(g, g->node_map, g->ir.nodes.len) &&
           RESERVE(g, g->fixed, g->ir.nodes.len) && RESERVE(g, g->dim_map, g->ir.dims.forms.len) &&
           RESERVE(g, g->sym_map, g->ir.dims.syms.len);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* A named symbol that was met first: its value is a size of the call. */
static fc_dim new_symbol(fusec_graph *g, fc_extract *x, uint32_t sym, fc_error *e) {
    fc_str name;
    uint32_t fresh;
    const fc_sym *s = &g->ir.dims.syms.at[sym];
    if (sym >= g->syms.len || !g->syms.at[sym].known) {
        fc_fail(e, FUSEC_UNKNOWN_DIM,
                "the size %.100s is not known: only a program's call gives it a value", s->name);
        return FC_DIM_NONE;
    }
    fc_str_init(&name, g->ir.alloc);
    fc_str_printf(&name, "n%zu", x->sizes.len);
    fc_dim d = name.oom ? FC_DIM_NONE : fc_dim_fresh(&x->graph.dims, name.data);
    fc_str_free(&name);
    if (!fc_dim_is_sym(&x->graph.dims, d, &fresh)) return FC_DIM_NONE;
    fc_dim_value v = {.sym = fresh, .value = g->syms.at[sym].value};
    return fc_push(g->ir.alloc, &x->sizes, v) ? d : FC_DIM_NONE;
}

/* Maps one symbol whose operands are mapped. */
static fc_dim map_symbol(fusec_graph *g, fc_extract *x, uint32_t sym, fc_error *e) {
    const fc_sym *s = &g->ir.dims.syms.at[sym];
    fc_dimtab *t = &x->graph.dims;
    if (FC_MAPPED(g, g->sym_map, sym)) return FC_NEW_ID(g->sym_map, sym);
    fc_dim d = FC_DIM_NONE;
    if (s->kind == FC_SYM_NAMED) {
        d = new_symbol(g, x, sym, e);
    } else {
        fc_dim a = FC_NEW_ID(g->dim_map, s->a), b = FC_NEW_ID(g->dim_map, s->b);
        d = s->kind == FC_SYM_MUL        ? fc_dim_mul(t, a, b)
            : s->kind == FC_SYM_FLOORDIV ? fc_dim_floordiv(t, a, b)
                                         : fc_dim_mod(t, a, b);
    }
    FC_SET(g, g->sym_map, sym, d);
    return d;
}

bool fc_extract_dim_ready(fusec_graph *g, fc_dim d, bool *ok) {
    const fc_form *f = &g->ir.dims.forms.at[d];
    size_t before = g->stack.len;
    for (uint32_t i = 0; i < f->nterms; i++) {
        const fc_sym *s = &g->ir.dims.syms.at[f->terms[i].sym];
        if (s->kind == FC_SYM_NAMED || FC_MAPPED(g, g->sym_map, f->terms[i].sym)) continue;
        if (!FC_MAPPED(g, g->dim_map, s->b)) *ok &= fc_push(g->ir.alloc, &g->stack, s->b);
        if (!FC_MAPPED(g, g->dim_map, s->a)) *ok &= fc_push(g->ir.alloc, &g->stack, s->a);
    }
    return g->stack.len == before;
}

static fc_dim map_form(fusec_graph *g, fc_extract *x, fc_dim d, fc_error *e) {
    const fc_form *f = &g->ir.dims.forms.at[d];
    fc_dimtab *t = &x->graph.dims;
    fc_dim sum = fc_dim_const(t, f->c);
    for (uint32_t i = 0; i < f->nterms; i++) {
        fc_dim s = map_symbol(g, x, f->terms[i].sym, e);
        sum = fc_dim_add(t, sum, fc_dim_mul(t, s, fc_dim_const(t, f->terms[i].coef)));
    }
    FC_SET(g, g->dim_map, d, sum);
    return sum;
}

/* Uses the top of the graph's stack; opaque terms may be nested as deep as the user likes. */
static fc_dim map_dim(fusec_graph *g, fc_extract *x, fc_dim d, fc_error *e) {
    if (FC_MAPPED(g, g->dim_map, d)) return FC_NEW_ID(g->dim_map, d);
    size_t base = g->stack.len;
    bool ok = fc_push(g->ir.alloc, &g->stack, d);
    while (ok && g->stack.len > base) {
        fc_dim top = g->stack.at[g->stack.len - 1];
        if (!FC_MAPPED(g, g->dim_map, top)) {
            if (!fc_extract_dim_ready(g, top, &ok)) continue;
            if (map_form(g, x, top, e) == FC_DIM_NONE) break;
        }
        g->stack.len--;
    }
    bool done = ok && g->stack.len == base;
    g->stack.len = base;
    if (!done && !e->code) fc_oom(e);
    return done ? FC_NEW_ID(g->dim_map, d) : FC_DIM_NONE;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static fc_list map_list(fusec_graph *g, fc_extract *x, fc_list l, fc_attr_kind kind, fc_error *e) {
    int64_t v[1 + FC_MAX_RANK * (2 + FC_MAX_RANK)];
    uint32_t n = fc_list_len(&g->ir, l);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *list = fc_list_at(&g->ir, l);
        const bool is_dim = fc_attr_is_dim(kind, list, i);
        v[i] = is_dim ? map_dim(g, x, (fc_dim)list[i], e) : list[i];
    }
    return fc_intern_list(&x->graph, v, n);
}

static fc_node add_input(fusec_graph *g, fc_extract *x, fc_node old, fc_list shape, fc_error *e) {
    fc_dim dims[FC_MAX_RANK];
    uint32_t rank = fc_list_len(&x->graph, shape);
    for (uint32_t i = 0; i < rank; i++) dims[i] = (fc_dim)fc_list_at(&x->graph, shape)[i];
    g->narguments += fc_at(&g->ir, old)->op == FC_OP_CONST;
    if (!fc_push(g->ir.alloc, &x->inputs, old)) {
        fc_oom(e);
        return FC_NONODE;
    }
    return fc_build_input(&x->graph, "array", (fusec_dtype)fc_at(&g->ir, old)->dtype, rank, dims);
}

/* A constant fits any shape; as an argument it has to be spread. */
static fc_node as_operand(fc_extract *x, const fc_ninfo *user, const fc_ninfo *old, fc_node made) {
    fc_dim dims[FC_MAX_RANK];
    if (x->graph.error.code) return FC_NONODE;
    const uint32_t rank = fc_list_len(&x->graph, user->shape);
    if (old->op != FC_OP_CONST || !rank || made == FC_NONODE || !fc_is_elementwise(user->op) ||
        fc_at(&x->graph, made)->op != FC_OP_INPUT)
        return made;
    for (uint32_t i = 0; i < rank; i++) dims[i] = (fc_dim)fc_list_at(&x->graph, user->shape)[i];
    return fc_build_broadcast(&x->graph, made, rank, dims);
}

static fc_node map_node(fusec_graph *g, fc_extract *x, fc_node old, fc_error *e) {
    fc_ninfo n = *fc_at(&g->ir, old);
    fc_list shape = map_list(g, x, n.shape, FC_ATTR_DIMS, e);
    if (e->code) return FC_NONODE;
    if (n.op == FC_OP_INPUT && !g->leaves.at[n.attr].bound) {
        fc_fail(e, FUSEC_MISSING_INPUT,
                "the input %.100s has no data: compile the graph and call the program",
                g->ir.inputs.at[n.attr].name);
        return FC_NONODE;
    }
    if (fc_extract_is_leaf(g, old)) return add_input(g, x, old, shape, e);
    if (n.op == FC_OP_DIM) {
        fc_dim d = map_dim(g, x, (fc_dim)n.attr, e);
        return e->code ? FC_NONODE : fc_build_dim(&x->graph, d);
    }
    n.shape = shape;
    for (int i = 0; i < n.nops; i++)
        n.src[i] = as_operand(x, &n, fc_at(&g->ir, n.src[i]), FC_NEW_ID(g->node_map, n.src[i]));
    n.words = 0; /* words are the user's graph's */
    const fc_attr_kind kind = (fc_attr_kind)fc_ops[n.op].attr;
    if (kind >= FC_ATTR_LIST) n.attr = map_list(g, x, (fc_list)n.attr, kind, e);
    return e->code ? FC_NONODE : fc_graph_node(&x->graph, n);
}

static uint64_t leaf_hash(const fusec_graph *g, fc_node n) {
    return fc_mix((uint64_t)fc_at(&g->ir, n)->dtype << 32 | fc_rank(&g->ir, n), 7);
}

/* Of a node whose operands have theirs. */
static inline uint64_t hash_of(const fusec_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(&g->ir, n);
    const uint64_t *hash = g->hashes.at;
    uint64_t h = (uint64_t)i->op << 40 | (uint64_t)i->dtype << 32 | i->flags;
    if (i->op == FC_OP_INPUT) return leaf_hash(g, n);
    if (i->op == FC_OP_CONST)
        return fc_mix(h, fc_number_simplifies((fusec_dtype)i->dtype, i->attr) ? i->attr : 9);
    switch (i->nops) {
    case 0: return fc_mix(h, fc_rank(&g->ir, n));
    case 1: return fc_mix(h, hash[i->src[0]]);
    case 2:
        if (fc_ops[i->op].flags & FC_F_COMMUTES)
            return fc_mix(h, hash[i->src[0]] + hash[i->src[1]]);
        return fc_mix(fc_mix(h, hash[i->src[0]]), hash[i->src[1]]);
    default: return fc_mix(fc_mix(fc_mix(h, hash[i->src[0]]), hash[i->src[1]]), hash[i->src[2]]);
    }
}

/* Operands before users, without recursion. */
static fusec_status reach(fusec_graph *g, fc_extract *x, fc_node root, fc_error *e) {
    g->stack.len = 0;
    bool oom = !fc_push(g->ir.alloc, &g->stack, root);
    while (!oom && g->stack.len) {
        fc_node top = g->stack.at[g->stack.len - 1];
        if (!FC_MAPPED(g, g->node_map, top)) {
            if (!fc_extract_operands_ready(g, top, &oom)) continue;
            fc_node made = map_node(g, x, top, e);
            if (made == FC_NONODE && !e->code) *e = x->graph.error;
            if (made == FC_NONODE) return e->code ? e->code : fc_oom(e);
            FC_SET(g, g->node_map, top, made);
        }
        g->stack.len--;
    }
    return oom ? fc_oom(e) : FUSEC_OK;
}

bool fc_extract_hashes(fusec_graph *g, const fc_node *roots, uint32_t n) {
    fc_node last = 0;
    for (uint32_t i = 0; i < n; i++)
        if (roots[i] > last) last = roots[i];
    if (!fc_reserve(g->ir.alloc, &g->hashes, (size_t)last + 1)) return false;
    for (; g->hashes.len <= last; g->hashes.len++)
        g->hashes.at[g->hashes.len] = hash_of(g, (fc_node)g->hashes.len);
    return true;
}

void fc_extract_is_stored(fusec_graph *g, fc_node n) {
    g->hashes.at[n] = leaf_hash(g, n);
}

fusec_status fc_extract_make(fusec_graph *g, const fc_node *roots, uint32_t n, fc_extract *x,
                             fc_error *e) {
    memset(x, 0, sizeof *x);
    fc_graph_init(&x->graph, g->ir.alloc, &g->ctx->runtime->config.limits);
    if (x->graph.error.code) return *e = x->graph.error, e->code;
    x->graph.limits.nodes = g->ir.limits.nodes;
    x->graph.limits.inputs += FC_MOST_ARGUMENTS;
    x->graph.default_float = g->ir.default_float;
    x->graph.nholes = g->ir.nholes;
    if (!fc_extract_hashes(g, roots, n) || !fc_extract_next_round(g)) return fc_oom(e);
    for (uint32_t i = 0; i < n; i++) {
        char name[12] = "r";
        uint32_t k = 1, v = i;
        FC_TRY(reach(g, x, roots[i], e));
        do name[k++] = (char)('0' + v % 10);
        while (v /= 10);
        fc_build_output(&x->graph, name, FC_NEW_ID(g->node_map, roots[i]));
    }
    if (x->graph.error.code) *e = x->graph.error;
    return e->code;
}

void fc_extract_free(fusec_graph *g, fc_extract *x) {
    fc_graph_free(&x->graph);
    fc_vec_free(g->ir.alloc, &x->inputs);
    fc_vec_free(g->ir.alloc, &x->sizes);
}
