/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bind_layout.c - where the elements of a call's arrays are: strides as each kernel meets them, the
 * bytes that arrays touch, which output may lie on which input. */
#include "runtime/bind.h"

#include "runtime/strides.h"

/* ---- layouts -----------------------------------------------------------------------------------
 */

bool fc_bound_keep_layouts(fc_program *p, fc_bound *b, const fc_layouts *l) {
    const fc_graph *g = &p->plan->graph;
    b->nargs = (uint32_t)(g->inputs.len + g->outputs.len);
    b->before = fc_arena_alloc(&b->arena, (b->nargs + 1) * sizeof *b->before);
    b->from = fc_arena_alloc(&b->arena, (b->nargs + 1) * sizeof *b->from);
    if (!b->before || !b->from) return false;
    if (!l->strides) return true;
    b->strides = fc_arena_alloc(&b->arena, (b->nargs + 1) * sizeof *b->strides);
    for (uint32_t i = 0; b->strides && i < b->nargs; i++) {
        const uint32_t rank = fc_rank(g, p->plan->buffers.at[i].node);
        b->strides[i] = NULL;
        if (!l->strides[i]) continue;
        int64_t *copy = fc_arena_alloc(&b->arena, (rank + 1) * sizeof *copy);
        if (!copy) return false;
        memcpy(copy, l->strides[i], rank * sizeof *copy);
        b->strides[i] = copy;
    }
    return b->strides != NULL;
}

fusec_status fc_bound_spans(fc_program *p, fc_bound *b, fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    for (uint32_t i = 0; i < b->nargs; i++) {
        int64_t shape[FC_MAX_RANK];
        const fc_node n = p->plan->buffers.at[i].node;
        const uint32_t rank = fc_rank(g, n);
        for (uint32_t k = 0; k < rank; k++) shape[k] = b->values[fc_axis(g, n, k)];
        if (!fc_strides_span(rank, shape, b->strides ? b->strides[i] : NULL,
                             fc_dtypes[fc_at(g, n)->dtype].bytes, &b->before[i], &b->from[i]))
            return fc_fail(e, FUSEC_INPUT_SHAPE, "an array reaches over more than 2^63 bytes");
    }
    return FUSEC_OK;
}

bool fc_bound_same_layouts(const fc_program *p, const fc_bound *b, const fc_layouts *l) {
    const fc_graph *g = &p->plan->graph;
    if (l->plain && !b->plain) return false;
    if (b->align != l->align || !b->strides != !l->strides) return false;
    for (uint32_t i = 0; l->strides && i < b->nargs; i++) {
        const uint32_t rank = fc_rank(g, p->plan->buffers.at[i].node);
        if (!b->strides[i] != !l->strides[i]) return false;
        if (b->strides[i] && memcmp(b->strides[i], l->strides[i], rank * sizeof **b->strides))
            return false;
    }
    return true;
}

/* Whether elements of the array are read or written at computed places, which strides say nothing
 * of. */
static bool is_read_at(const fc_kernel *k, uint32_t buffer) {
    for (size_t i = 0; i < k->code.ins.len; i++) {
        const fc_instr *in = &k->code.ins.at[i];
        if (in->op == FC_OP_LOAD_AT && k->args.at[in->imm].buffer == buffer) return true;
    }
    for (size_t i = 0; i < k->updates.len; i++)
        if (k->args.at[k->updates.at[i].arg].buffer == buffer) return true;
    return false;
}

/* The strides of each access of a kernel; *out is NULL when all its arrays are dense. An array may
 * be read under another shape than its own, which not all strides allow. */
fusec_status fc_bound_strides(fc_program *p, fc_bound *b, const fc_kernel *k,
                              const int64_t *const **out, uint32_t *blocked, fc_error *e) {
    const fc_graph *g = &p->plan->graph;
    *out = NULL;
    if (!b->strides) return FUSEC_OK;
    const int64_t **table = fc_arena_alloc(&b->arena, (k->accesses.len + 1) * sizeof *table);
    if (!table) return fc_oom(e);
    for (size_t a = 0; a < k->args.len; a++) {
        const uint32_t buffer = k->args.at[a].buffer;
        const bool whole = !k->accesses.len; /* a step that is no kernel */
        if (buffer >= b->nargs || !b->strides[buffer]) continue;
        if (!whole && !is_read_at(k, buffer)) continue;
        *blocked = buffer;
        return fc_fail(e, FUSEC_NOT_YET, "an array with strides is used at computed places");
    }
    for (size_t a = 0; a < k->accesses.len; a++) {
        const fc_access *acc = &k->accesses.at[a];
        const uint32_t buffer =
            acc->buffer == FC_NO_BUFFER ? b->nargs : k->args.at[acc->buffer].buffer;
        table[a] = NULL;
        if (buffer >= b->nargs || !b->strides[buffer]) continue;
        int64_t own[FC_MAX_RANK], shape[FC_MAX_RANK];
        int64_t *strides = fc_arena_alloc(&b->arena, (acc->rank + 1) * sizeof *strides);
        if (!strides) return fc_oom(e);
        const fc_node n = p->plan->buffers.at[buffer].node;
        for (uint32_t i = 0; i < fc_rank(g, n); i++) own[i] = b->values[fc_axis(g, n, i)];
        for (uint32_t i = 0; i < acc->rank; i++) shape[i] = b->values[acc->shape[i]];
        if (!fc_strides_reshape(fc_rank(g, n), own, b->strides[buffer], acc->rank, shape,
                                strides)) {
            *blocked = buffer;
            return fc_fail(e, FUSEC_NOT_YET, "an array is read under a shape its strides forbid");
        }
        table[a] = strides;
        *out = table;
    }
    return FUSEC_OK;
}

/* ---- outputs on inputs -------------------------------------------------------------------------
 */

static bool reads(const fc_kernel *k, uint32_t buffer) {
    for (size_t a = 0; a < k->args.len; a++)
        if (k->args.at[a].buffer == buffer) return true;
    return false;
}

/* Whether the kernel takes each element of input `in` where it puts that of its one result. */
static bool same_places(const fc_kernel *k, const fc_nest *n, uint32_t in) {
    const uint32_t axes = n->np + n->nr, to = k->stores.at[0].access;
    if (is_read_at(k, in)) return false;
    for (uint32_t a = 0; a < k->accesses.len; a++) {
        const uint32_t arg = k->accesses.at[a].buffer;
        if (arg == FC_NO_BUFFER || k->args.at[arg].buffer != in) continue;
        if (n->offset[a] != n->offset[to] ||
            memcmp(n->stride + (size_t)a * axes, n->stride + (size_t)to * axes,
                   axes * sizeof *n->stride) != 0)
            return false;
    }
    return true;
}

/* An output may be exactly an input that one kernel reads place by place where it writes the
 * output, its only result, and that nothing reads afterwards or at the same time. */
static bool may_be_in_place(const fc_program *p, const fc_bound *b, uint32_t in, uint32_t out) {
    const fc_graph *g = &p->plan->graph;
    bool written = false;
    if (fc_dtypes[fc_at(g, p->plan->buffers.at[in].node)->dtype].bytes !=
        fc_dtypes[fc_at(g, p->plan->buffers.at[out].node)->dtype].bytes)
        return false;
    for (uint32_t i = 0; i < b->nlaunches; i++) {
        const fc_bound_launch *l = &b->launches[i];
        for (uint32_t m = 0; m < l->n; m++) {
            const fc_kernel *k = &p->plan->steps.at[l->steps[m]]->kernel;
            const bool in_it = reads(k, in);
            if (written && in_it) return false;
            if (!reads(k, out)) continue;
            if (written) continue; /* another kernel reads the result */
            written = true;
            if (in_it && (l->n > 1 || k->schedule != FC_SCHED_MAP || k->stores.len != 1 ||
                          !same_places(k, &b->steps[l->steps[m]].nest, in)))
                return false;
            if (l->n > 1) return false;
        }
    }
    return true;
}

enum { MOST_PAIRS = 1024 };

bool fc_bound_find_in_place(fc_program *p, fc_bound *b) {
    const uint32_t nin = (uint32_t)p->plan->graph.inputs.len, nout = b->nargs - nin;
    if (!nin || !nout || (uint64_t)nin * nout > MOST_PAIRS) return true;
    b->in_place = fc_arena_alloc(&b->arena, (size_t)nin * nout);
    for (uint32_t o = 0; b->in_place && o < nout; o++)
        for (uint32_t i = 0; i < nin; i++)
            b->in_place[o * nin + i] = may_be_in_place(p, b, i, nin + o);
    return b->in_place != NULL;
}
