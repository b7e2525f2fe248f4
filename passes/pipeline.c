/* pipeline.c - the whole compiler between graph and kernels, on one screen.
 *
 *     user's graph -> simplify -> reshape -> fuse -> lower -> plan (kernels in order, buffers)
 *
 * Between passes the graph is verified (in debug builds, and when asked), timed and dumped. A pass
 * makes a new graph and never changes its input; fuse only labels. */
#include "passes/plan.h"

#include "ir/float_state.h"
#include "passes/fuse.h"
#include "passes/lower.h"
#include "passes/rewrite.h"

#include <time.h>

const fc_pass fc_passes[] = {
    {"simplify", "rules of rules.def applied to a fixpoint; no dead nodes; constants folded",
     false},
    {"reshape", "a reshape stands only on inputs, reductions and stored values; views are composed",
     false},
    {"fuse", "every value is in a region; regions have an order", true},
    {"lower", "one verified kernel for each region; every stored value has a buffer", true},
};
const uint32_t fc_pass_count = FC_COUNT(fc_passes);
enum { PASS_SIMPLIFY, PASS_RESHAPE, PASS_FUSE, PASS_LOWER };

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- around a pass ----------------------------------------------------------------------- */

typedef fusec_status fc_graph_pass(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                                   fc_error *e);

static fusec_status simplify(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                             fc_error *e) {
    return fc_pass_simplify(src, o->mode, dst, e);
}
static fusec_status reshape(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                            fc_error *e) {
    (void)o;
    return fc_pass_sink_reshape(src, dst, e);
}

static void note(const fc_pass_options *o, uint32_t pass, int64_t start, const fc_graph *g) {
    if (o->pass_ns) o->pass_ns[pass] += now_ns() - start;
    if (!o->dump || !g) return;
    fc_str_printf(o->dump, "# after %s\n", fc_passes[pass].name);
    fc_graph_print(g, o->dump);
}

/* Replaces *g by the result of the pass. */
static fusec_status run(uint32_t pass, fc_graph_pass *fn, const fc_pass_options *o, fc_graph *g,
                        fc_error *e) {
    int64_t start = now_ns();
    fc_graph next;
    FC_TRY(fn(g, o, &next, e));
    fc_graph_free(g);
    *g = next;
    note(o, pass, start, g);
    return o->verify ? fc_graph_verify(g, e) : FUSEC_OK;
}

static bool enabled(const fc_pass_options *o, uint32_t pass) {
    return fc_passes[pass].required || !(o->disable >> pass & 1);
}

/* ---- buffers ----------------------------------------------------------------------------- */

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
    for (size_t r = 0; r < f->regions.len; r++)
        for (size_t i = 0; ok && i < f->regions.at[r].roots.len; i++) {
            const fc_root *root = &f->regions.at[r].roots.at[i];
            if (!root->stored || buffer[root->node] != FC_NOBUFFER) continue;
            fc_buffer b = {.kind = FC_BUF_TEMP, .number = p->ntemps++, .node = root->node};
            ok = fc_push(p->alloc, &p->buffers, b);
            buffer[b.node] = (uint32_t)p->buffers.len - 1;
        }
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

/* "max, sum -> p": what a kernel makes, in the names of the program. */
static const char *describe(fc_plan *p, const fc_region *r) {
    fc_str s;
    fc_str_init(&s, p->alloc);
    for (size_t i = 0; i < r->roots.len && s.len < 120; i++) {
        const fc_root *root = &r->roots.at[i];
        const char *name = NULL;
        for (size_t k = 0; k < p->graph.outputs.len && !name; k++)
            if (p->graph.outputs.at[k].node == root->node) name = p->graph.outputs.at[k].name;
        if (!name && !root->stored && root->role != FC_ROLE_REDUCE) continue;
        if (s.len) fc_str_add(&s, ", ");
        if (name)
            fc_str_add(&s, name);
        else
            fc_str_printf(
                &s, "%s%u",
                root->role == FC_ROLE_REDUCE ? fc_ops[fc_at(&p->graph, root->node)->op].name : "t",
                root->node);
    }
    const char *text = s.oom ? NULL : fc_arena_strdup(&p->arena, s.data, s.len);
    fc_str_free(&s);
    return text;
}

static fusec_status make_step(fc_plan *p, const fc_pass_options *o, const fc_fusion *f,
                              uint32_t region, const uint32_t *buffer, fc_error *e) {
    fc_step *s = fc_arena_alloc(&p->arena, sizeof *s);
    if (!s || !fc_push(p->alloc, &p->steps, s)) return fc_oom(e);
    FC_TRY(fc_lower(&p->graph, o, f, region, p, buffer, &s->kernel, e));
    s->why = f->regions.at[region].why;
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

static fusec_status fuse_and_lower(fc_plan *p, const fc_pass_options *o, fc_error *e) {
    fc_fusion f;
    int64_t start = now_ns();
    fusec_status s = fc_pass_fuse(&p->graph, o, &f, e);
    note(o, PASS_FUSE, start, NULL);
    uint32_t *buffer = fc_calloc(p->alloc, p->graph.nodes.len + 1, sizeof *buffer);
    uint32_t *order = fc_calloc(p->alloc, 2 * f.regions.len + 1, sizeof *order);
    start = now_ns();
    if (!s &&
        (!buffer || !order || !make_buffers(p, &f, buffer) || !order_regions(p->alloc, &f, order)))
        s = fc_oom(e);
    if (!s && !is_in_order(&f, order, order + f.regions.len))
        s = fc_fail(e, FUSEC_INTERNAL, "two kernels need each other");
    for (size_t i = 0; !s && i < f.regions.len; i++) s = make_step(p, o, &f, order[i], buffer, e);
    note(o, PASS_LOWER, start, NULL);
    fc_free(p->alloc, buffer);
    fc_free(p->alloc, order);
    fc_fusion_free(&f);
    return s;
}

/* ---- entry ------------------------------------------------------------------------------- */

static fusec_status build(const fc_graph *g, const fc_pass_options *o, fc_plan *p, fc_error *e) {
    if (g->error.code) return fc_fail(e, g->error.code, "%s", g->error.message);
    if (!g->outputs.len) return fc_fail(e, FUSEC_INVALID, "the graph has no output");
    FC_TRY(fc_rewrite_copy(g, &p->graph, e));
    if (o->verify) FC_TRY(fc_graph_verify(&p->graph, e));
    if (enabled(o, PASS_SIMPLIFY)) FC_TRY(run(PASS_SIMPLIFY, simplify, o, &p->graph, e));
    if (enabled(o, PASS_RESHAPE)) FC_TRY(run(PASS_RESHAPE, reshape, o, &p->graph, e));
    return fuse_and_lower(p, o, e);
}

fusec_status fc_plan_build(const fc_graph *g, const fc_pass_options *o, fc_plan **out,
                           fc_error *e) {
    *out = NULL;
    fc_plan *p = fc_calloc(g->alloc, 1, sizeof *p);
    if (!p) return fc_oom(e);
    p->alloc = g->alloc;
    fc_arena_init(&p->arena, p->alloc);
    const uint64_t state = fc_float_enter();
    fusec_status s = build(g, o, p, e);
    fc_float_leave(state);
    if (s) {
        fc_plan_free(p);
        return s;
    }
    *out = p;
    return FUSEC_OK;
}

void fc_plan_free(fc_plan *p) {
    if (!p) return;
    for (size_t i = 0; i < p->steps.len; i++) fc_kernel_free(&p->steps.at[i]->kernel);
    fc_vec_free(p->alloc, &p->steps);
    fc_vec_free(p->alloc, &p->buffers);
    if (p->graph.alloc) fc_graph_free(&p->graph);
    fc_arena_free(&p->arena);
    fc_free(p->alloc, p);
}
