/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuse_step.c - steps that are no kernels among the regions: each is a region of its own, which
 * reads stored values and whose results are stored. */
#include "passes/bodies.h"
#include "passes/fuse.h"

bool fc_fuse_step_roots(fc_graph *g, fc_fusion *f) {
    uint8_t *host = fc_malloc(f->alloc, g->nodes.len + 1);
    if (!host) return fc_oom(&g->error), false;
    fc_plan_host_scalars(g, host);
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op == FC_OP_RESULT) f->is_root[n] = 1;
        if (i->op != FC_OP_LIST) continue;
        const fc_node v = i->src[0];
        if (fc_at(g, v)->op != FC_OP_INPUT && !host[v]) f->is_root[v] = 1;
    }
    fc_free(f->alloc, host);
    return true;
}

bool fc_fuse_place_step(fc_graph *g, fc_fusion *f, fc_node step) {
    fc_region fresh = {.is_step = true, .step = step, .schedule = FC_SCHED_MAP, .why = ""};
    const uint32_t region = (uint32_t)f->regions.len;
    bool ok = fc_push(f->alloc, &f->regions, fresh);
    f->home[step] = region;
    for (fc_node list = fc_at(g, step)->src[0]; ok; list = fc_at(g, list)->src[1]) {
        fc_region *r = &f->regions.at[region];
        const fc_node v = fc_at(g, list)->src[0];
        const uint32_t home = f->home[v];
        const bool array = f->is_root[v] || (fc_at(g, v)->op == FC_OP_INPUT && fc_rank(g, v));
        if (array) ok = fc_push(f->alloc, &r->leaves, v);
        if (ok && array && home != FC_NOREGION) ok = fc_fuse_add_dep(f, region, home);
        if (fc_at(g, list)->nops < 2) break;
    }
    return (ok && fc_fuse_note_latest(f, region, step)) || (fc_oom(&g->error), false);
}

bool fc_fuse_place_result(fc_graph *g, fc_fusion *f, fc_node result) {
    const uint32_t region = f->home[fc_at(g, result)->src[0]];
    const fc_root root = {.node = result, .role = FC_ROLE_MAP};
    f->home[result] = region;
    return (fc_push(f->alloc, &f->regions.at[region].roots, root) &&
            fc_fuse_note_latest(f, region, result)) ||
           (fc_oom(&g->error), false);
}
