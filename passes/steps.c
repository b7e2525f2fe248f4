/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* steps.c - the last pass: the regions of the fused graph become kernels in the order they run, and
 * what they store gets buffers. */
#include "passes/bodies.h"
#include "passes/lower.h"

/* ---- buffers ----------------------------------------------------------------------------- */

/* An array is updated where it was made. */
static void share_with_updates(const fc_graph *g, uint32_t *buffer) {
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op != FC_OP_UPDATE) continue;
        if (buffer[n] == FC_NOBUFFER) buffer[n] = buffer[i->src[0]];
        if (buffer[i->src[0]] == FC_NOBUFFER) buffer[i->src[0]] = buffer[n];
    }
}

/* Inputs, outputs, then one temporary for every stored root that is not an output. `buffer` maps a
 * node to where its value is read from. */
static bool make_buffers(fc_plan *p, const fc_fusion *f, uint32_t *buffer) {
    fc_graph *g = &p->graph;
    bool ok = true;
    for (fc_node n = 0; n < g->nodes.len; n++) buffer[n] = FC_NOBUFFER;
    for (uint32_t i = 0; ok && i < g->inputs.len; i++) {
        fc_buffer b = {.kind = FC_BUF_INPUT, .number = i, .node = g->inputs.at[i].node};
        ok = fc_push(p->alloc, &p->buffers, b);
        buffer[b.node] = i;
    }
    for (uint32_t i = 0; ok && i < g->outputs.len; i++) {
        fc_buffer b = {.kind = FC_BUF_OUTPUT, .number = i, .node = g->outputs.at[i].node};
        ok = fc_push(p->alloc, &p->buffers, b);
        if (buffer[b.node] == FC_NOBUFFER) buffer[b.node] = (uint32_t)p->buffers.len - 1;
    }
    share_with_updates(g, buffer);
    for (size_t r = 0; r < f->regions.len; r++)
        for (size_t i = 0; ok && i < f->regions.at[r].roots.len; i++) {
            const fc_root *root = &f->regions.at[r].roots.at[i];
            if (!root->stored || buffer[root->node] != FC_NOBUFFER) continue;
            if (fc_at(g, root->node)->op == FC_OP_UPDATE) continue; /* its base has one */
            fc_buffer b = {.kind = FC_BUF_TEMP, .number = p->ntemps++, .node = root->node};
            ok = fc_push(p->alloc, &p->buffers, b);
            buffer[b.node] = (uint32_t)p->buffers.len - 1;
        }
    share_with_updates(g, buffer);
    return ok;
}

/* ---- steps in order ---------------------------------------------------------------------- */

/* Producers before users, otherwise in the order the regions were made. Explicit stack. */
static bool order_regions(const fc_alloc *a, const fc_fusion *f, uint32_t *order) {
    uint8_t *state = fc_calloc(a, f->regions.len + 1, 1);
    FC_VEC(uint32_t) stack = {0};
    size_t n = 0;
    bool ok = state != NULL;
    for (uint32_t r = 0; ok && r < f->regions.len; r++) {
        if (state[r] == 2) continue;
        ok = fc_push(a, &stack, r);
        while (ok && stack.len) {
            uint32_t x = stack.at[stack.len - 1];
            if (state[x]++ == 0) {
                for (size_t i = f->regions.at[x].deps.len; ok && i-- > 0;)
                    if (!state[f->regions.at[x].deps.at[i]])
                        ok = fc_push(a, &stack, f->regions.at[x].deps.at[i]);
                continue;
            }
            if (state[x] == 2) order[n++] = x;
            state[x] = 2;
            stack.len--;
        }
    }
    fc_free(a, state);
    fc_vec_free(a, &stack);
    return ok;
}

/* Fusion that made two kernels need each other would give an order that reads what is not
 * written. */
static bool is_in_order(const fc_fusion *f, const uint32_t *order, uint32_t *place) {
    for (uint32_t i = 0; i < f->regions.len; i++) place[order[i]] = i;
    for (uint32_t r = 0; r < f->regions.len; r++)
        for (size_t i = 0; i < f->regions.at[r].deps.len; i++)
            if (place[f->regions.at[r].deps.at[i]] > place[r]) return false;
    return true;
}

static void describe_root(fc_str *out, const fc_graph *g, const fc_root *root) {
    const fc_ninfo *n = fc_at(g, root->node);
    if (n->op == FC_OP_FOLD)
        fc_str_add(out, root->role == FC_ROLE_SCAN ? "scan" : "reduce");
    else if (root->role == FC_ROLE_REDUCE)
        fc_str_add(out, fc_ops[n->op].name);
    else if (root->role == FC_ROLE_SCAN)
        fc_str_printf(out, "cum%s", fc_ops[fc_scan_of(n).op].name);
    else
        fc_str_char(out, 't');
    fc_str_printf(out, "%u", root->node);
}

/* "max, sum -> p": what a kernel makes, in the names of the program. */
static const char *describe(fc_plan *p, const fc_region *r) {
    fc_str s;
    fc_str_init(&s, p->alloc);
    for (size_t i = 0; i < r->roots.len && s.len < 120; i++) {
        const fc_root *root = &r->roots.at[i];
        const char *name = NULL;
        for (size_t k = 0; k < p->graph.outputs.len && !name; k++)
            if (p->graph.outputs.at[k].node == root->node) name = p->graph.outputs.at[k].name;
        if (!name && !root->stored && !fc_makes_accumulator(root->role)) continue;
        if (s.len) fc_str_add(&s, ", ");
        if (name)
            fc_str_add(&s, name);
        else
            describe_root(&s, &p->graph, root);
    }
    const char *text = s.oom ? NULL : fc_arena_strdup(&p->arena, s.data, s.len);
    fc_str_free(&s);
    return text;
}

/* ---- steps that are no kernels -----------------------------------------------------------------
 */

static bool add_arg(fc_step *s, const fc_graph *g, fc_node n, bool written, uint32_t buffer) {
    const fc_kernel *k = &s->kernel;
    for (size_t i = 0; i < k->args.len; i++)
        if (k->args.at[i].buffer == buffer && k->args.at[i].written == written) return true;
    return fc_kernel_arg(&s->kernel, (fusec_dtype)fc_at(g, n)->dtype, written, buffer) !=
           UINT32_MAX;
}

static bool add_inputs(fc_plan *p, fc_step *s, const uint32_t *buffer, const uint8_t *host) {
    const fc_graph *g = &p->graph;
    const fc_node list = fc_at(g, s->node)->src[0];
    s->nin = fc_value_list(g, list, NULL, 0);
    fc_node *v = fc_malloc(p->alloc, s->nin * sizeof *v);
    s->in = fc_arena_alloc(&p->arena, s->nin * sizeof *s->in);
    bool ok = v && s->in;
    if (ok) fc_value_list(g, list, v, s->nin);
    for (uint32_t i = 0; ok && i < s->nin; i++) {
        const bool by_value = host[v[i]] && !fc_rank(g, v[i]);
        s->in[i] = (fc_step_input){v[i], by_value ? FC_ON_HOST : buffer[v[i]]};
        if (!by_value) ok = add_arg(s, g, v[i], false, buffer[v[i]]);
    }
    fc_free(p->alloc, v);
    return ok;
}

/* What the host computes, with the operands. */
static bool add_scalars(fc_plan *p, fc_step *s) {
    const fc_graph *g = &p->graph;
    uint8_t *need = fc_calloc(p->alloc, g->nodes.len, 1);
    if (!need) return false;
    for (uint32_t i = 0; i < s->nin; i++) need[s->in[i].node] = s->in[i].buffer == FC_ON_HOST;
    for (fc_node n = (fc_node)g->nodes.len; n-- > 0;) {
        if (!need[n]) continue;
        s->nscalars++;
        for (int k = 0; k < fc_at(g, n)->nops; k++) need[fc_at(g, n)->src[k]] = 1;
    }
    s->scalars = fc_arena_alloc(&p->arena, (s->nscalars + 1) * sizeof *s->scalars);
    uint32_t at = 0;
    for (fc_node n = 0; s->scalars && n < g->nodes.len; n++)
        if (need[n]) s->scalars[at++] = n;
    fc_free(p->alloc, need);
    return s->scalars != NULL;
}

/* Where the results go; an output that is the same value as another one is a copy. */
static bool add_outputs(fc_plan *p, const fc_region *r, fc_step *s, const uint32_t *buffer) {
    const fc_graph *g = &p->graph;
    s->out = fc_arena_alloc(&p->arena, (r->roots.len + g->outputs.len + 1) * sizeof *s->out);
    bool ok = s->out != NULL;
    for (size_t i = 0; ok && i < r->roots.len; i++) {
        const fc_node n = r->roots.at[i].node;
        const uint32_t number = (uint32_t)fc_at(g, n)->attr, one = buffer[n];
        if (!r->roots.at[i].stored) continue;
        s->out[s->nout++] = (fc_step_output){number, one};
        ok = add_arg(s, g, n, true, one);
        for (uint32_t k = 0; ok && k < g->outputs.len; k++) {
            const uint32_t b = (uint32_t)g->inputs.len + k;
            if (g->outputs.at[k].node != n || b == one) continue;
            s->out[s->nout++] = (fc_step_output){number, b};
            ok = add_arg(s, g, n, true, b);
        }
    }
    return ok;
}

static const char *describe_step(fc_plan *p, const fc_region *r, const fc_step *s) {
    const char *results = describe(p, r);
    fc_str t;
    if (!results) return NULL;
    fc_str_init(&t, p->alloc);
    fc_str_printf(&t, "%s%s%s", fc_ops[fc_at(&p->graph, s->node)->op].name, *results ? ": " : "",
                  results);
    const char *text = t.oom ? NULL : fc_arena_strdup(&p->arena, t.data, t.len);
    fc_str_free(&t);
    return text;
}

static fusec_status make_other_step(fc_plan *p, const fc_pass_options *o, const fc_region *r,
                                    const uint32_t *buffer, fc_error *e) {
    fc_step *s = fc_arena_alloc(&p->arena, sizeof *s);
    uint8_t *host = fc_malloc(p->alloc, p->graph.nodes.len);
    bool ok = s && host && fc_push(p->alloc, &p->steps, s);
    if (ok) {
        fc_kernel_init(&s->kernel, p->alloc);
        fc_plan_host_scalars(&p->graph, host);
        const fc_ninfo *n = fc_at(&p->graph, r->step);
        s->kind = n->op == FC_OP_LOOP   ? FC_STEP_LOOP
                  : n->op == FC_OP_FFT  ? FC_STEP_FFT
                  : n->op == FC_OP_CALL ? FC_STEP_CALL
                                        : FC_STEP_SORT;
        s->node = r->step;
        s->body = (uint32_t)n->attr;
        s->why = r->why;
        s->note = "";
        ok = add_inputs(p, s, buffer, host) && add_scalars(p, s) && add_outputs(p, r, s, buffer) &&
             (s->what = describe_step(p, r, s)) != NULL;
    }
    fc_free(p->alloc, host);
    if (ok && o->dump) fc_str_printf(o->dump, "# step %zu: %s\n", p->steps.len - 1, s->what);
    return ok ? FUSEC_OK : fc_oom(e);
}

static const char *note_of(const fc_graph *g, const fc_region *r) {
    for (size_t i = 0; i < r->roots.len; i++)
        if (fc_at(g, r->roots.at[i].node)->flags & FC_NODE_PRODUCT)
            return "a sum of rounded products in the order of sums; written with @ or einsum, or "
                   "with the licences reassoc and contract, it is a contraction";
    return "";
}

static fusec_status make_step(fc_plan *p, const fc_pass_options *o, const fc_fusion *f,
                              uint32_t region, const uint32_t *buffer, fc_error *e) {
    if (f->regions.at[region].is_step)
        return make_other_step(p, o, &f->regions.at[region], buffer, e);
    fc_step *s = fc_arena_alloc(&p->arena, sizeof *s);
    if (!s || !fc_push(p->alloc, &p->steps, s)) return fc_oom(e);
    FC_TRY(fc_lower(&p->graph, o, f, region, p, buffer, &s->kernel, e));
    s->why = f->regions.at[region].why;
    s->note = note_of(&p->graph, &f->regions.at[region]);
    s->what = describe(p, &f->regions.at[region]);
    fc_kernel_cost(&s->kernel, &s->ops, &s->transcendental);
    if (!s->what) return fc_oom(e);
    if (o->verify) FC_TRY(fc_kernel_verify(&s->kernel, e));
    if (o->dump) {
        fc_str_printf(o->dump, "# kernel %zu: %s\n", p->steps.len - 1, s->what);
        fc_kernel_print(&s->kernel, &p->graph.dims, o->dump);
    }
    return FUSEC_OK;
}

static void note_user(fc_buffer *b, uint32_t step, bool writes) {
    if (writes) {
        b->mixed |= b->writer != FC_NO_STEP;
        b->writer = step;
    } else {
        if (b->first_reader == FC_NO_STEP) b->first_reader = step;
        b->last_reader = step;
    }
}

/* Who writes and reads each buffer. */
static void note_users(fc_plan *p) {
    for (size_t i = 0; i < p->buffers.len; i++) {
        fc_buffer *b = &p->buffers.at[i];
        b->writer = b->first_reader = b->last_reader = FC_NO_STEP;
    }
    for (uint32_t s = 0; s < p->steps.len; s++) {
        const fc_kernel *k = &p->steps.at[s]->kernel;
        for (size_t a = 0; a < k->args.len; a++)
            note_user(&p->buffers.at[k->args.at[a].buffer], s, k->args.at[a].written);
    }
}

/* `buffer` and `order` have room for all nodes, and twice for all regions. */
static fusec_status make_steps(fc_plan *p, const fc_pass_options *o, uint32_t *buffer,
                               uint32_t *order, fc_error *e) {
    const fc_fusion *f = p->fusion;
    if (!make_buffers(p, f, buffer) || !order_regions(p->alloc, f, order)) return fc_oom(e);
    if (!is_in_order(f, order, order + f->regions.len))
        return fc_fail(e, FUSEC_INTERNAL, "two kernels need each other");
    for (size_t i = 0; i < f->regions.len; i++) FC_TRY(make_step(p, o, f, order[i], buffer, e));
    note_users(p);
    return FUSEC_OK;
}

/* All regions: p->steps and p->buffers. */
fusec_status fc_pass_lower(fc_plan *p, const fc_pass_options *o, fc_error *e) {
    uint32_t *buffer = fc_calloc(p->alloc, p->graph.nodes.len + 1, sizeof *buffer);
    uint32_t *order = fc_calloc(p->alloc, 2 * p->fusion->regions.len + 1, sizeof *order);
    fusec_status s = buffer && order ? make_steps(p, o, buffer, order, e) : fc_oom(e);
    fc_free(p->alloc, buffer);
    fc_free(p->alloc, order);
    return s;
}
