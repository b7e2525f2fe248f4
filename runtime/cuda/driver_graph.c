/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* driver_graph.c - kernels in a row as one CUDA graph: made of explicit nodes, so that a changed
 * pointer is a new parameter of its node and not a new graph. */
#include "runtime/cuda/driver.h"

struct fc_cuda_graph {
    fc_cuda *c;
    fc_cu_graph graph;
    fc_cu_graph_exec exec;
    uint32_t n;
    struct {
        fc_cu_graph_node at;
        fc_cu_function f;
        fc_cuda_grid grid;
    } node[];
};

static fusec_status result(fc_cuda_graph *g, int result, const char *what, fc_error *e) {
    return fc_cuda_result(g->c, result, what, e);
}

/* The parameter of every kernel is one struct, so the list of pointers to parameters has
 * one entry. */
static fc_cu_kernel_node describe(const fc_cuda_graph *g, uint32_t i, void **args) {
    fc_cu_kernel_node p = {.function = g->node[i].f, .shared = g->node[i].grid.shared};
    memcpy(p.grid, g->node[i].grid.grid, sizeof p.grid);
    memcpy(p.block, g->node[i].grid.block, sizeof p.block);
    p.params = args;
    return p;
}

static bool available(const fc_cuda_fns *f) {
    return f->graph_create && f->graph_destroy && f->graph_add_kernel && f->graph_instantiate &&
           f->graph_set_kernel && f->graph_launch && f->graph_exec_destroy;
}

static fusec_status build(fc_cuda_graph *g, void *const *args, fc_error *e) {
    const fc_cuda_fns *fn = &g->c->fn;
    FC_TRY(result(g, fn->graph_create(&g->graph, 0), "cuGraphCreate", e));
    for (uint32_t i = 0; i < g->n; i++) {
        void *block = args[i];
        fc_cu_kernel_node p = describe(g, i, &block);
        FC_TRY(result(g,
                      fn->graph_add_kernel(&g->node[i].at, g->graph, i ? &g->node[i - 1].at : NULL,
                                           i ? 1 : 0, &p),
                      "cuGraphAddKernelNode", e));
    }
    return result(g, fn->graph_instantiate(&g->exec, g->graph, 0), "cuGraphInstantiate", e);
}

fusec_status fc_cuda_graph_make(fc_cuda *c, uint32_t n, const fc_cu_function *f,
                                const fc_cuda_grid *grid, void *const *args, fc_cuda_graph **out,
                                fc_error *e) {
    *out = NULL;
    if (!available(&c->fn)) return fc_fail(e, FUSEC_DRIVER, "the driver has no CUDA graphs");
    fc_cuda_graph *g = fc_calloc(c->alloc, 1, sizeof *g + n * sizeof g->node[0]);
    if (!g) return fc_oom(e);
    g->c = c;
    g->n = n;
    for (uint32_t i = 0; i < n; i++) {
        g->node[i].f = f[i];
        g->node[i].grid = grid[i];
    }
    fusec_status s = build(g, args, e);
    if (s)
        fc_cuda_graph_free(g);
    else
        *out = g;
    return s;
}

fusec_status fc_cuda_graph_set(fc_cuda_graph *g, uint32_t i, void *args, fc_error *e) {
    fc_cu_kernel_node p = describe(g, i, &args);
    return result(g, g->c->fn.graph_set_kernel(g->exec, g->node[i].at, &p),
                  "cuGraphExecKernelNodeSetParams", e);
}

fusec_status fc_cuda_graph_launch(fc_cuda_graph *g, fc_cu_stream s, fc_error *e) {
    return result(g, g->c->fn.graph_launch(g->exec, s), "cuGraphLaunch", e);
}

void fc_cuda_graph_free(fc_cuda_graph *g) {
    if (!g) return;
    if (!fc_cuda_is_lost(g->c)) {
        if (g->exec)
            (void)result(g, g->c->fn.graph_exec_destroy(g->exec), "cuGraphExecDestroy", NULL);
        if (g->graph) (void)result(g, g->c->fn.graph_destroy(g->graph), "cuGraphDestroy", NULL);
    }
    fc_free(g->c->alloc, g);
}
