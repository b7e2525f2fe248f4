/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mesh.c - see mesh.h. */
#include "runtime/mesh.h"

#include "runtime/partial.h"
#include "runtime/threadpool.h"

struct mesh;

typedef struct part {
    struct mesh *m;
    uint32_t number;
    fc_cut *cut;
    fc_partial *known, *found; /* of all devices so far; of this one in this sweep */
    fc_piece piece;
    fusec_status status;
    fc_error error;
} part;

typedef struct mesh {
    const fc_mesh_call *c;
    const fc_alloc *alloc;
    part *parts;
    uint32_t n; /* parts that have something to do: at least one */
    uint32_t sweep;
    int64_t total;
} mesh;

/* ---- cuts ------------------------------------------------------------------------------------ */

/* Every array along the cut is as long as it has to be. */
static fusec_status check_lengths(const mesh *m, fc_error *e) {
    const fc_cut *cut = m->parts[0].cut;
    const fc_graph *g = cut->pieces.graph;
    for (uint32_t i = 0; i < m->c->nin + m->c->nout; i++) {
        const bool in = i < m->c->nin;
        const uint32_t k = in ? i : i - m->c->nin;
        const fc_tensor *t = in ? &m->c->in[k] : &m->c->out[k];
        const int axis = cut->pieces.along[in ? g->inputs.at[k].node : g->outputs.at[k].node];
        if (axis < 0) continue;
        const int64_t length = (in ? fc_cut_input_length : fc_cut_output_length)(cut, k, m->total);
        if (axis >= (int)t->rank || t->shape[axis] != length)
            return fc_fail(e, in ? FUSEC_INPUT_SHAPE : FUSEC_RESULT_SHAPE,
                           "%s has not the %lld elements along axis %d that the others ask for",
                           in ? g->inputs.at[k].name : g->outputs.at[k].name, (long long)length,
                           axis);
    }
    return FUSEC_OK;
}

/* Equal parts, as far as pieces may begin there; the last has what is left. */
static fusec_status divide(mesh *m, fc_error *e) {
    int64_t grain, at = 0;
    FC_TRY(fc_cut_grain(m->parts[0].cut, m->c->nin, m->c->in, &grain, e));
    const int64_t units = m->total / grain;
    m->n = units < m->c->n ? units > 0 ? (uint32_t)units : 1 : m->c->n;
    for (uint32_t i = 0; i < m->n; i++) {
        const bool last = i + 1 == m->n;
        const int64_t share = units / m->n + (i < units % m->n);
        m->parts[i].piece = (fc_piece){at, last ? m->total : at + share * grain, m->total};
        at = m->parts[i].piece.end;
    }
    return FUSEC_OK;
}

static fusec_status open_parts(mesh *m, fc_error *e) {
    for (uint32_t i = 0; i < m->c->n; i++) {
        part *p = &m->parts[i];
        p->m = m, p->number = i;
        FC_TRY(fc_cut_take(m->c->programs[i], m->c->dim, &p->cut, e));
        p->cut->ndims = m->c->ndims, p->cut->dims = m->c->dims;
        FC_TRY(fc_partial_new(p->cut, &p->known, e));
    }
    m->total = fc_cut_total(m->parts[0].cut, m->c->nin, m->c->in);
    if (m->total < 0) return fc_fail(e, FUSEC_INVALID, "no input lies along %s", m->c->dim);
    FC_TRY(check_lengths(m, e));
    return divide(m, e);
}

/* ---- a sweep --------------------------------------------------------------------------------- */

static fusec_status compute(part *p, fc_arena *arena, fc_error *e) {
    const fc_mesh_call *c = p->m->c;
    const fc_pieces *q = &p->cut->pieces;
    fc_tensor *in = fc_arena_alloc(arena, (c->nin + c->nout + 1) * sizeof *in), *out = in + c->nin;
    int64_t begin, end;
    if (!in) return fc_oom(e);
    for (uint32_t i = 0; i < c->nin; i++) {
        fc_cut_input_range(p->cut, i, &p->piece, &begin, &end);
        if (!fc_cut_view(arena, &c->in[i], q->along[q->graph->inputs.at[i].node], begin,
                         end - begin, &in[i]))
            return fc_oom(e);
    }
    for (uint32_t i = 0; i < c->nout; i++) {
        fc_cut_output_range(p->cut, i, &p->piece, &begin, &end);
        if (!fc_cut_view(arena, &c->out[i], q->along[q->graph->outputs.at[i].node], begin,
                         end - begin, &out[i]))
            return fc_oom(e);
    }
    return fc_cut_run(p->cut, NULL, p->m->sweep, &p->piece, c->nin, in, c->nout, out, p->known,
                      p->found, e);
}

static void run_parts(void *user, int64_t begin, int64_t end) {
    mesh *m = user;
    for (part *p = m->parts + begin; p < m->parts + end; p++) {
        fc_arena arena;
        fc_arena_init(&arena, m->alloc);
        p->error = (fc_error){0};
        p->status = compute(p, &arena, &p->error);
        fc_arena_free(&arena);
    }
}

/* What the devices found out becomes known to all of them; behind the last sweep to the first,
 * which finishes. */
static fusec_status tell(mesh *m, fc_error *e) {
    const uint32_t to = m->sweep + 1 < m->parts[0].cut->pieces.nsweeps ? m->n : 1;
    for (uint32_t i = 0; i < m->n; i++) {
        part *p = &m->parts[i];
        for (uint32_t k = 0; k < to; k++)
            if (k != i) FC_TRY(fc_partial_tell(p->found, m->parts[k].known, e));
        if (i < to) FC_TRY(fc_partial_take(p->known, p->found, e));
    }
    return FUSEC_OK;
}

static fusec_status run_sweep(mesh *m, fc_error *e) {
    fc_pool *pool;
    const bool finds = m->parts[0].cut->sweeps[m->sweep].nparts > 0;
    FC_TRY(fc_context_parts(m->c->programs[0]->ctx, &pool, e));
    for (uint32_t i = 0; i < m->n && finds; i++)
        FC_TRY(fc_partial_new(m->parts[i].cut, &m->parts[i].found, e));
    fc_pool_run(pool, m->n, false, run_parts, m);
    for (uint32_t i = 0; i < m->n; i++) {
        const part *p = &m->parts[i];
        if (p->status)
            return fc_fail(e, p->status, "%.80s: %.400s", m->c->names[i], p->error.message);
    }
    if (finds) FC_TRY(tell(m, e));
    for (uint32_t i = 0; i < m->n; i++) {
        fc_partial_free(m->parts[i].found);
        m->parts[i].found = NULL;
    }
    return FUSEC_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static fusec_status run(mesh *m, fc_error *e) {
    FC_TRY(open_parts(m, e));
    fc_cut *first = m->parts[0].cut;
    for (m->sweep = 0; m->sweep < first->pieces.nsweeps; m->sweep++) FC_TRY(run_sweep(m, e));
    return fc_cut_finish(first, NULL, m->total, m->c->nin, m->c->in, m->c->nout, m->c->out,
                         m->parts[0].known, e);
}

fusec_status fc_mesh_run(const fc_mesh_call *c, fc_error *e) {
    mesh m = {.c = c, .alloc = c->programs[0]->alloc};
    m.parts = fc_calloc(m.alloc, c->n, sizeof *m.parts);
    const fusec_status s = m.parts ? run(&m, e) : fc_oom(e);
    for (uint32_t i = 0; m.parts && i < c->n; i++) {
        fc_partial_free(m.parts[i].known);
        fc_partial_free(m.parts[i].found);
        fc_cut_give(m.parts[i].cut);
    }
    fc_free(m.alloc, m.parts);
    return s;
}
