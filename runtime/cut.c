/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cut.c - see cut.h: making the programs, and sizes. */
#include "runtime/cut.h"

#include "codegen/nest.h"
#include "runtime/external.h"

/* ---- life ------------------------------------------------------------------------------------ */

static void free_sweep(const fc_cut *c, fc_sweep *s) {
    fc_program_free(s->program);
    fc_program_free(s->by_leaf);
    fc_free(c->alloc, s->outputs);
}

void fc_cut_free(fc_cut *c) {
    if (!c) return;
    for (uint32_t i = 0; c->sweeps && i < c->pieces.nsweeps; i++) free_sweep(c, &c->sweeps[i]);
    for (uint32_t i = 0; c->joins && i < c->pieces.nparts; i++) fc_program_free(c->joins[i]);
    free_sweep(c, &c->finish);
    fc_free(c->alloc, c->sweeps);
    fc_free(c->alloc, c->joins);
    if (c->pieces.graph) fc_pieces_free(&c->pieces);
    fc_free(c->alloc, c);
}

fusec_status fc_cut_size(const fc_graph *g, const char *name, uint32_t *sym, fc_error *e) {
    for (uint32_t s = 0; s < g->dims.syms.len; s++) {
        const fc_sym *at = &g->dims.syms.at[s];
        if (at->kind != FC_SYM_NAMED || strcmp(at->name, name) != 0) continue;
        return *sym = s, FUSEC_OK;
    }
    return fc_fail(e, FUSEC_UNKNOWN_DIM, "the program has no size %.60s", name);
}

/* What the print says of functions of the user is their names. */
static void add_functions(const fc_graph *g, fc_str *out) {
    const fc_extern *last = NULL;
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_extern *x = fc_at(g, n)->op == FC_OP_EXTERN ? fc_extern_of(fc_at(g, n)) : last;
        if (x != last) fc_extern_identity(x, out);
        last = x;
    }
}

/* What partials of two processes must have in common. */
static fusec_status name_it(fc_cut *c, const char *dim, fc_error *e) {
    fc_str s;
    fc_sha256 h;
    fc_str_init(&s, c->alloc);
    fc_graph_print(c->pieces.graph, &s);
    add_functions(c->pieces.graph, &s);
    fc_sha256_init(&h);
    fc_sha256_add_part(&h, dim, strlen(dim));
    fc_sha256_add_part(&h, &c->whole->mode, sizeof c->whole->mode);
    fc_sha256_add_part(&h, s.data ? s.data : "", s.len);
    fc_sha256_end(&h, c->hash);
    const bool oom = s.oom;
    fc_str_free(&s);
    return oom ? fc_oom(e) : FUSEC_OK;
}

static fusec_status compile(fc_cut *c, fc_graph *g, const fc_program_options *o, fc_program **out,
                            fc_error *e) {
    const fusec_status s = fc_program_new(c->ctx, g, o, out, e);
    fc_graph_free(g);
    return s;
}

static fusec_status make_sweep(fc_cut *c, uint32_t number, bool finish, const fc_program_options *o,
                               fc_sweep *s, fc_error *e) {
    const fc_pieces *p = &c->pieces;
    fc_graph g;
    s->outputs = fc_calloc(c->alloc, p->graph->outputs.len + 1, sizeof *s->outputs);
    if (!s->outputs) return fc_oom(e);
    if (finish)
        FC_TRY(fc_pieces_finish(p, &g, s->outputs, &s->noutputs, e));
    else
        FC_TRY(fc_pieces_sweep(p, number, NULL, &g, s->outputs, &s->noutputs, e));
    for (uint32_t i = 0; i < p->nparts && !finish; i++) s->nparts += p->parts[i].sweep == number;
    if (g.outputs.len) return compile(c, &g, o, &s->program, e);
    fc_graph_free(&g);
    return FUSEC_OK;
}

static fusec_status make_by_leaf(fc_cut *c, uint32_t number, const fc_program_options *o,
                                 fc_sweep *s, fc_error *e) {
    static const int64_t leaves[] = {[FC_TREE_OUTER] = FC_RUN, [FC_TREE_INNER] = FC_CHUNK};
    const fc_pieces *p = &c->pieces;
    fc_graph g;
    bool can = s->nparts > 0;
    for (uint32_t i = 0; i < p->nparts; i++)
        can &= p->parts[i].sweep != number || p->parts[i].row[0] != FC_OP_dot;
    if (!can) return FUSEC_OK;
    FC_TRY(fc_pieces_sweep(p, number, leaves, &g, s->outputs, &s->noutputs, e));
    return compile(c, &g, o, &s->by_leaf, e);
}

/* Joining is little work on arrays of the host. */
static fusec_status make_joins(fc_cut *c, const fc_program_options *o, fc_error *e) {
    fc_program_options own = *o;
    fc_graph g;
    if (!own.device->host_memory) FC_TRY(fc_context_device(c->ctx, "interp", &own.device, NULL, e));
    for (uint32_t i = 0; i < c->pieces.nparts; i++) {
        FC_TRY(fc_pieces_join(&c->pieces, i, &g, e));
        FC_TRY(compile(c, &g, &own, &c->joins[i], e));
    }
    return FUSEC_OK;
}

static fusec_status make(fc_cut *c, const char *dim, fc_error *e) {
    const fc_program_options o = {
        .device = c->whole->device, .mode = c->whole->mode, .name = c->whole->name};
    uint32_t sym = 0;
    FC_TRY(fc_cut_size(&c->whole->plan->graph, dim, &sym, e));
    FC_TRY(fc_pieces_find(&c->whole->plan->graph, sym, &c->pieces, e));
    FC_TRY(name_it(c, dim, e));
    c->sweeps = fc_calloc(c->alloc, c->pieces.nsweeps + 1, sizeof *c->sweeps);
    c->joins = fc_calloc(c->alloc, c->pieces.nparts + 1, sizeof *c->joins);
    if (!c->sweeps || !c->joins) return fc_oom(e);
    for (uint32_t i = 0; i < c->pieces.nsweeps; i++)
        FC_TRY(make_sweep(c, i, false, &o, &c->sweeps[i], e));
    for (uint32_t i = 0; i < c->pieces.nsweeps; i++)
        FC_TRY(make_by_leaf(c, i, &o, &c->sweeps[i], e));
    FC_TRY(make_sweep(c, 0, true, &o, &c->finish, e));
    return make_joins(c, &o, e);
}

static fc_cut *kept(fc_program *whole, uint32_t sym) {
    pthread_mutex_lock(&whole->lock);
    fc_cut **at = &whole->cuts;
    while (*at && (*at)->pieces.sym != sym) at = &(*at)->next;
    fc_cut *c = *at;
    if (c) *at = c->next;
    pthread_mutex_unlock(&whole->lock);
    return c;
}

fusec_status fc_cut_take(fc_program *whole, const char *dim, fc_cut **out, fc_error *e) {
    uint32_t sym = 0;
    *out = NULL;
    FC_TRY(fc_cut_size(&whole->plan->graph, dim, &sym, e));
    *out = kept(whole, sym);
    return *out ? FUSEC_OK : fc_cut_new(whole, dim, out, e);
}

void fc_cut_give(fc_cut *c) {
    if (!c) return;
    c->ndims = 0, c->dims = NULL;
    pthread_mutex_lock(&c->whole->lock);
    c->next = c->whole->cuts;
    c->whole->cuts = c;
    pthread_mutex_unlock(&c->whole->lock);
}

void fc_cuts_free(fc_program *whole) {
    while (whole->cuts) {
        fc_cut *c = whole->cuts;
        whole->cuts = c->next;
        fc_cut_free(c);
    }
}

fusec_status fc_cut_new(fc_program *whole, const char *dim, fc_cut **out, fc_error *e) {
    *out = NULL;
    fc_cut *c = fc_calloc(whole->alloc, 1, sizeof *c);
    if (!c) return fc_oom(e);
    c->ctx = whole->ctx;
    c->alloc = whole->alloc;
    c->whole = whole;
    const fusec_status s = make(c, dim, e);
    if (s) {
        fc_cut_free(c);
        return s;
    }
    *out = c;
    return FUSEC_OK;
}
