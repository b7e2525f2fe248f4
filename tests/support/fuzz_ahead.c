/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_ahead.c - see fuzz.h. Programs of several graphs are planned and bound to their sizes, and
 * the code of all of them is made in one request, as the kernels of one plan are. It stays in the
 * context's cache, where the runs that follow find it. */
#include <stdlib.h>

#include "runtime/bind.h"
#include "tests/support/fuzz.h"

enum { MOST = 64 /* programs */ };

typedef struct request {
    fc_context *ctx;
    fc_device *device;
    fc_program *program[MOST];
    fc_bound *bound[MOST];
    size_t n, kernels;
} request;

/* A graph with an error is left to the run that says so. */
static void add(request *q, const rg *r, int form, fc_how how) {
    fc_graph g;
    int input[RG_NODES];
    int64_t syms[256];
    fc_dim_value d[256];
    fc_oracle sizes;
    fc_arrays in = {0};
    if (q->n == MOST) return;
    rg_build(r, form, &g, input, syms);
    how.ctx = q->ctx;
    how.device = q->device;
    if (!g.error.code && !fc_rig_compile(&how, &g, &q->program[q->n], NULL)) {
        fc_program *p = q->program[q->n];
        fc_oracle_sizes(&sizes, &g, syms);
        fc_arrays_for(&in, &g, &sizes, false);
        fc_oracle_free(&sizes);
        const uint32_t nd = fc_rig_dims(&g, syms, d);
        if (p->mode || fc_bound_get(p, in.n, in.t, nd, d, 64, FC_NO_CODE, &q->bound[q->n], NULL)) {
            fc_program_free(p);
        } else {
            q->kernels += p->plan->steps.len;
            q->n++;
        }
        fc_arrays_free(&in);
    }
    fc_graph_free(&g);
}

static void add_ways(request *q, const rg *r, const fuzz_ways *w) {
    rg other;
    add(q, r, RG_SYMBOLIC, (fc_how){0});
    if (w->other && rg_other(r, &other)) add(q, &other, RG_SYMBOLIC, (fc_how){0});
    if (w->unfused) add(q, r, RG_SYMBOLIC, (fc_how){.unfused = true});
    if (w->max_ops) add(q, r, RG_SYMBOLIC, (fc_how){.max_ops = w->max_ops});
    if (w->constant) add(q, r, 0, (fc_how){0});
    if (w->strided) add(q, r, RG_SYMBOLIC | RG_STRIDED, (fc_how){0});
    if (w->externs) add(q, r, RG_SYMBOLIC | RG_EXTERN, (fc_how){0});
}

static void compile(request *q) {
    fc_wanted *wanted = calloc(q->kernels + 1, sizeof *wanted);
    fc_variant **code = calloc(q->kernels + 1, sizeof *code);
    uint64_t compiles = 0;
    size_t n = 0;
    if (!wanted || !code) abort();
    for (size_t i = 0; i < q->n; i++) {
        const fc_plan *plan = q->program[i]->plan;
        for (size_t k = 0; k < plan->steps.len; k++) {
            const fc_bound_step *s = &q->bound[i]->steps[k];
            if (s->nest.empty) continue;
            wanted[n] = (fc_wanted){.kernel = &plan->steps.at[k]->kernel,
                                    .cls = &s->cls,
                                    .launch = &s->launch,
                                    .out = &code[n]};
            n++;
        }
    }
    (void)fc_kcache_get(q->ctx, q->device, 0, wanted, n, false, &compiles, NULL);
    for (size_t i = 0; i < n; i++) fc_kcache_release(q->ctx, code[i]);
    free(wanted);
    free(code);
}

void fuzz_ahead(uint64_t seed, uint64_t step, int graphs, const char *device) {
    request q = {0};
    q.ctx = fc_rig(device, 1, &q.device);
    if (!q.ctx) return;
    for (int i = 0; i < graphs; i++) {
        rg r;
        fuzz_ways w;
        fuzz_make(seed + (uint64_t)i * step, device, &r, &w);
        add_ways(&q, &r, &w);
    }
    compile(&q);
    for (size_t i = 0; i < q.n; i++) {
        fc_bound_release(q.program[i], q.bound[i]);
        fc_program_free(q.program[i]);
    }
}
