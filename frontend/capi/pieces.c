/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pieces.c - programs in pieces: fusec_cut and fusec_partial, in front of runtime/cut.h,
 * runtime/partial.h and runtime/mesh.h. */
#include "frontend/capi/program.h"
#include "runtime/mesh.h"
#include "runtime/partial.h"

struct fusec_cut {
    fusec_program *program;
    fc_cut *cut;
};

/* ---- cuts ------------------------------------------------------------------------------------ */

fusec_status fusec_program_cut(fusec_program *p, const char *dim, fusec_cut **out) {
    fc_error e = {0};
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_program_cut: the result pointer is NULL");
    *out = NULL;
    if (!p || !dim)
        return fc_report_text(FUSEC_INVALID, "fusec_program_cut: the %s is NULL",
                              p ? "name" : "program");
    fusec_cut *c = fc_calloc(&p->ctx->alloc, 1, sizeof *c);
    if (!c) return fc_oom(&e), fc_report(&e);
    c->program = p;
    if (p->nsizes)
        fc_fail(&e, FUSEC_INVALID, "%.100s is a size that no array has: such a program is not cut",
                fusec_input_name(p, fusec_input_count(p) - 1));
    if (e.code || fc_cut_new(p->p, dim, &c->cut, &e)) {
        fc_free(&p->ctx->alloc, c);
        return fc_report(&e);
    }
    *out = c;
    return FUSEC_OK;
}

void fusec_cut_free(fusec_cut *c) {
    if (!c) return;
    fc_cut_free(c->cut);
    fc_free(&c->program->ctx->alloc, c);
}

int fusec_cut_sweeps(const fusec_cut *c) {
    return c ? (int)c->cut->pieces.nsweeps : 0;
}

int fusec_cut_follows(const fusec_cut *c, int sweep) {
    return c && sweep > 0 && fc_cut_follows(c->cut, (uint32_t)sweep);
}

static bool is_output(const fusec_cut *c, int i) {
    return c && i >= 0 && (size_t)i < c->cut->pieces.graph->outputs.len;
}

int fusec_cut_input_axis(const fusec_cut *c, int i) {
    if (!c || i < 0 || (size_t)i >= c->cut->pieces.graph->inputs.len) return -1;
    return c->cut->pieces.along[c->cut->pieces.graph->inputs.at[i].node];
}

int fusec_cut_output_axis(const fusec_cut *c, int i) {
    return is_output(c, i) ? c->cut->pieces.along[c->cut->pieces.graph->outputs.at[i].node] : -1;
}

int fusec_cut_output_sweep(const fusec_cut *c, int i) {
    if (fusec_cut_output_axis(c, i) < 0) return -1;
    return c->cut->pieces.sweep[c->cut->pieces.graph->outputs.at[i].node];
}

typedef void (*range_fn)(const fc_cut *c, uint32_t i, const fc_piece *p, int64_t *begin,
                         int64_t *end);

static fusec_status range(const char *what, const fusec_cut *c, int axis, range_fn find, int i,
                          const fusec_piece *where, int64_t *begin, int64_t *end) {
    if (axis < 0) return fc_report_text(FUSEC_INVALID, "%s: it does not lie along the cut", what);
    if (!where || !begin || !end || where->begin < 0 || where->begin > where->end ||
        where->end > where->total)
        return fc_report_text(FUSEC_INVALID, "%s: there is no such piece", what);
    find(c->cut, (uint32_t)i, &(fc_piece){where->begin, where->end, where->total}, begin, end);
    return FUSEC_OK;
}

fusec_status fusec_cut_input_range(const fusec_cut *c, int i, const fusec_piece *where,
                                   int64_t *begin, int64_t *end) {
    return range("fusec_cut_input_range", c, fusec_cut_input_axis(c, i), fc_cut_input_range, i,
                 where, begin, end);
}

fusec_status fusec_cut_output_range(const fusec_cut *c, int i, const fusec_piece *where,
                                    int64_t *begin, int64_t *end) {
    return range("fusec_cut_output_range", c, fusec_cut_output_axis(c, i), fc_cut_output_range, i,
                 where, begin, end);
}

fusec_status fusec_cut_grain(fusec_cut *c, int nin, const fusec_tensor *in, int64_t *grain) {
    fc_error e = {0};
    fc_arrays_taken a;
    if (!c || !grain)
        return fc_report_text(FUSEC_INVALID, "fusec_cut_grain: the %s is NULL",
                              c ? "result pointer" : "cut");
    fc_start_arrays(&a, &c->program->ctx->alloc);
    fusec_status s = fc_take_arrays(c->program, true, nin, in, false, &a, &e);
    if (!s) s = fc_cut_grain(c->cut, (uint32_t)nin, a.at, grain, &e);
    fc_free_arrays(&a);
    return s ? fc_report(&e) : FUSEC_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static fusec_status run(fusec_cut *c, void *stream, int sweep, const fc_piece *piece, int nin,
                        const fusec_tensor *in, int nout, const fusec_tensor *out,
                        fc_partial *before, fc_partial *into, fc_error *e) {
    fc_arrays_taken a, b;
    fc_start_arrays(&a, &c->program->ctx->alloc);
    fc_start_arrays(&b, &c->program->ctx->alloc);
    fusec_status s = fc_take_arrays(c->program, true, nin, in, false, &a, e);
    if (!s) s = fc_take_arrays(c->program, false, nout, out, false, &b, e);
    if (!s && sweep >= 0)
        s = fc_cut_run(c->cut, stream, (uint32_t)sweep, piece, (uint32_t)nin, a.at, (uint32_t)nout,
                       b.at, before, into, e);
    else if (!s)
        s = fc_cut_finish(c->cut, stream, piece->total, (uint32_t)nin, a.at, (uint32_t)nout, b.at,
                          before, e);
    fc_free_arrays(&a);
    fc_free_arrays(&b);
    return s;
}

fusec_status fusec_run_piece(fusec_cut *c, void *stream, int sweep, const fusec_piece *where,
                             int nin, const fusec_tensor *in, int nout, const fusec_tensor *out,
                             fusec_partial *before, fusec_partial *into) {
    fc_error e = {0};
    if (!c || !where)
        return fc_report_text(FUSEC_INVALID, "fusec_run_piece: the %s is NULL",
                              c ? "piece" : "cut");
    if (where->size < sizeof *where)
        return fc_report_text(FUSEC_INVALID, "fusec_run_piece: the piece has no size: use "
                                             "FUSEC_PIECE_INIT");
    if (sweep < 0)
        return fc_report_text(FUSEC_INVALID, "fusec_run_piece: there is no sweep %d", sweep);
    const fc_piece piece = {where->begin, where->end, where->total};
    return run(c, stream, sweep, &piece, nin, in, nout, out, (fc_partial *)before,
               (fc_partial *)into, &e)
               ? fc_report(&e)
               : FUSEC_OK;
}

fusec_status fusec_run_finish(fusec_cut *c, void *stream, int64_t total, int nin,
                              const fusec_tensor *in, int nout, const fusec_tensor *out,
                              fusec_partial *all) {
    fc_error e = {0};
    if (!c) return fc_report_text(FUSEC_INVALID, "fusec_run_finish: the cut is NULL");
    const fc_piece piece = {0, 0, total};
    return run(c, stream, -1, &piece, nin, in, nout, out, (fc_partial *)all, NULL, &e)
               ? fc_report(&e)
               : FUSEC_OK;
}

/* ---- several devices ------------------------------------------------------------------------- */

enum { MOST_DEVICES = 64 };

static fusec_status run_devices(int n, fusec_program *const *programs, const char *dim, int nin,
                                const fusec_tensor *in, int nout, const fusec_tensor *out,
                                fc_error *e) {
    fc_program *p[MOST_DEVICES];
    const char *names[MOST_DEVICES];
    fc_arrays_taken a, b;
    if (n < 1 || n > MOST_DEVICES)
        return fc_fail(e, FUSEC_INVALID, "fusec_run_devices: %d programs, it takes 1 to %d", n,
                       MOST_DEVICES);
    for (int i = 0; i < n; i++) {
        if (!programs[i])
            return fc_fail(e, FUSEC_INVALID, "fusec_run_devices: program %d is NULL", i);
        p[i] = programs[i]->p;
        names[i] = p[i]->device->name;
        if (p[i]->plan->graph.inputs.len != p[0]->plan->graph.inputs.len ||
            p[i]->plan->graph.outputs.len != p[0]->plan->graph.outputs.len)
            return fc_fail(e, FUSEC_INVALID, "fusec_run_devices: program %d is another one", i);
    }
    fc_start_arrays(&a, &programs[0]->ctx->alloc);
    fc_start_arrays(&b, &programs[0]->ctx->alloc);
    fusec_status s = fc_take_arrays(programs[0], true, nin, in, true, &a, e);
    if (!s) s = fc_take_arrays(programs[0], false, nout, out, true, &b, e);
    const fc_mesh_call c = {.programs = p,
                            .names = names,
                            .n = (uint32_t)n,
                            .dim = dim,
                            .nin = a.n,
                            .nout = b.n,
                            .ndims = a.ndims,
                            .dims = a.dims,
                            .in = a.at,
                            .out = b.at};
    if (!s) s = fc_mesh_run(&c, e);
    fc_free_arrays(&a);
    fc_free_arrays(&b);
    return s;
}

fusec_status fusec_run_devices(int n, fusec_program *const *programs, const char *dim, int nin,
                               const fusec_tensor *in, int nout, const fusec_tensor *out) {
    fc_error e = {0};
    if (!programs || !dim)
        return fc_report_text(FUSEC_INVALID, "fusec_run_devices: the %s NULL",
                              programs ? "name is" : "programs are");
    return run_devices(n, programs, dim, nin, in, nout, out, &e) ? fc_report(&e) : FUSEC_OK;
}

/* ---- partials -------------------------------------------------------------------------------- */

fusec_status fusec_partial_new(fusec_cut *c, fusec_partial **out) {
    fc_error e = {0};
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_partial_new: the result pointer is NULL");
    *out = NULL;
    if (!c) return fc_report_text(FUSEC_INVALID, "fusec_partial_new: the cut is NULL");
    return fc_partial_new(c->cut, (fc_partial **)out, &e) ? fc_report(&e) : FUSEC_OK;
}

void fusec_partial_free(fusec_partial *p) {
    fc_partial_free((fc_partial *)p);
}

fusec_status fusec_partial_merge(fusec_partial *into, const fusec_partial *from) {
    fc_error e = {0};
    if (!into || !from)
        return fc_report_text(FUSEC_INVALID, "fusec_partial_merge: a partial is NULL");
    return fc_partial_merge((fc_partial *)into, (fc_partial *)(uintptr_t)from, &e) ? fc_report(&e)
                                                                                   : FUSEC_OK;
}

fusec_status fusec_partial_bytes(const fusec_partial *p, void *bytes, size_t room, size_t *need) {
    if (!p || !need)
        return fc_report_text(FUSEC_INVALID, "fusec_partial_bytes: the %s is NULL",
                              p ? "result pointer" : "partial");
    *need = fc_partial_write((fc_partial *)(uintptr_t)p, bytes, bytes ? room : 0);
    return FUSEC_OK;
}

fusec_status fusec_partial_from(fusec_cut *c, const void *bytes, size_t n, fusec_partial **out) {
    fc_error e = {0};
    if (!out)
        return fc_report_text(FUSEC_INVALID, "fusec_partial_from: the result pointer is NULL");
    *out = NULL;
    if (!c || (!bytes && n))
        return fc_report_text(FUSEC_INVALID, "fusec_partial_from: the %s",
                              c ? "bytes are NULL" : "cut is NULL");
    return fc_partial_read(c->cut, bytes, n, (fc_partial **)out, &e) ? fc_report(&e) : FUSEC_OK;
}
