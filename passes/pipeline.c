/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pipeline.c - the whole compiler between graph and kernels, on one screen; its rows are
 * passes.def.
 *
 *     user's graph -> sorted -> simplify -> ranges -> scatter -> short -> reshape -> fuse -> lower
 * -> plan (kernels in order, buffers)
 *
 * Between passes the graph is verified (in debug builds, and when asked), timed and dumped. A pass
 * that rewrites makes a new graph and never changes its source; one that labels adds to the plan.
 */
#include "passes/plan.h"

#include "ir/float_state.h"
#include "passes/bodies.h"
#include "passes/fuse.h"
#include "passes/loops.h"
#include "passes/rewrite.h"

#include <time.h>

enum { OPTIONAL = false, REQUIRED = true };
const fc_pass fc_passes[] = {
#define PASS(kind, text, fn, needed, holds)                                                        \
    {#text, .guarantees = (holds), .kind = (fn), .required = (needed)},
#include "passes/passes.def"
};
const uint32_t fc_pass_count = FC_COUNT(fc_passes);
_Static_assert(FC_COUNT(fc_passes) <= FC_PASS_MAX, "pass_ns has room for them");

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool has_work(const fc_pass *pass, const fc_graph *g, const fc_pass_options *o) {
    if (pass->rewrite == fc_pass_sorted) return fc_graph_has(g, FC_OP_SORT);
    if (pass->rewrite == fc_pass_ranges)
        return fc_graph_has(g, FC_OP_CHECK) || fc_graph_has(g, FC_OP_TAKE) ||
               fc_graph_has(g, FC_OP_SCATTER);
    if (pass->rewrite == fc_pass_scatter) return fc_graph_has(g, FC_OP_SCATTER);
    return pass->rewrite != fc_pass_short || (!o->unfused && fc_has_short(g));
}

/* Replaces the graph of the plan by what the pass makes of it. */
static fusec_status rewrite(const fc_pass *pass, fc_plan *p, const fc_pass_options *o,
                            fc_error *e) {
    fc_graph next;
    if (!has_work(pass, &p->graph, o)) return FUSEC_OK;
    FC_TRY(pass->rewrite(&p->graph, o, &next, e));
    fc_graph_free(&p->graph);
    p->graph = next;
    if (o->dump) {
        fc_str_printf(o->dump, "# after %s\n", pass->name);
        fc_graph_print(&p->graph, o->dump);
    }
    return o->verify ? fc_graph_verify(&p->graph, e) : FUSEC_OK;
}

static fusec_status run(uint32_t number, fc_plan *p, const fc_pass_options *o, fc_error *e) {
    const fc_pass *pass = &fc_passes[number];
    const int64_t start = now_ns();
    if (!pass->required && (o->disable >> number & 1)) return FUSEC_OK;
    fusec_status s = pass->rewrite ? rewrite(pass, p, o, e) : pass->label(p, o, e);
    if (o->pass_ns) o->pass_ns[number] += now_ns() - start;
    return s;
}

static fusec_status build(const fc_graph *g, const fc_pass_options *o, fc_plan *p, fc_error *e) {
    if (g->error.code) return fc_fail(e, g->error.code, "%s", g->error.message);
    if (!g->outputs.len) return fc_fail(e, FUSEC_INVALID, "the graph has no output");
    FC_TRY(fc_rewrite_copy(g, &p->graph, e));
    if (o->verify) FC_TRY(fc_graph_verify(&p->graph, e));
    FC_TRY(fc_merge_loops(&p->graph, e));
    FC_TRY(fc_plan_bodies(p, o, e));
    for (uint32_t k = 0; k < fc_pass_count; k++) FC_TRY(run(k, p, o, e));
    return FUSEC_OK;
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
    fc_fusion_free(p->fusion);
    p->fusion = NULL;
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
    fc_plan_free_bodies(p);
    fc_vec_free(p->alloc, &p->steps);
    fc_vec_free(p->alloc, &p->buffers);
    if (p->graph.alloc) fc_graph_free(&p->graph);
    fc_arena_free(&p->arena);
    fc_free(p->alloc, p);
}
