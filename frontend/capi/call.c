/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* call.c - calls of the user's functions as values of a graph. */
#include "frontend/capi/capi.h"
#include "frontend/capi/external.h"
#include "ir/loop.h"
#include "runtime/call.h"

enum { MOST = 64 }; /* inputs, and results */

static fusec_status take_desc(const fusec_call_desc *from, fusec_call_desc *d, fc_error *e) {
    memset(d, 0, sizeof *d);
    if (!from) return fc_fail(e, FUSEC_INVALID, "fusec_call: the description is NULL");
    if (from->size < offsetof(fusec_call_desc, workspace))
        return fc_fail(e, FUSEC_INVALID,
                       "fusec_call: set the description up with FUSEC_CALL_DESC_INIT");
    memcpy(d, from, from->size < sizeof *d ? from->size : sizeof *d);
    if (!d->name || !*d->name) return fc_fail(e, FUSEC_INVALID, "fusec_call: it has no name");
    if (!d->text != !d->entry || (d->text && d->cuda) || (d->entry && !fc_is_c_name(d->entry)))
        return fc_fail(e, FUSEC_INVALID, "fusec_call: %.100s has %s", d->name,
                       d->text && d->cuda      ? "both a text and a function for CUDA"
                       : !d->text == !d->entry ? "an entry that is no name of C"
                                               : "a text or an entry, but not both");
    if (!d->host && !d->cuda && !d->text)
        return fc_fail(e, FUSEC_INVALID, "fusec_call: %.100s has no function", d->name);
    if (d->noutputs < 1 || d->noutputs > MOST || !d->dtypes || !d->ranks)
        return fc_fail(e, FUSEC_INVALID, "fusec_call: %.100s with %d results%s", d->name,
                       d->noutputs, d->noutputs < 1 || d->noutputs > MOST ? "" : " of no types");
    return FUSEC_OK;
}

/* A size of this graph; one that is left zero is `otherwise`. */
static fc_node size_node(fusec_graph *g, const fusec_dim *d, int64_t otherwise) {
    fc_dim x = d->id;
    if (!d->graph) x = fc_dim_const(&g->ir.dims, otherwise);
    if (d->graph && (d->graph != g || d->id >= g->ir.dims.forms.len))
        fc_fail(&g->ir.error, FUSEC_INVALID, "fusec_call: not a size of this graph");
    return g->ir.error.code ? FC_NONODE : fc_build_dim(&g->ir, x);
}

static bool by_threads(const fusec_call_desc *d) {
    return d->threads[0].graph || d->threads[1].graph || d->threads[2].graph;
}

static fc_node call_node(fusec_graph *g, const fusec_call_desc *d, int n, const fusec_value *in,
                         uint32_t number) {
    fc_node list[MOST + FC_CALL_SIZES];
    for (int i = 0; i < n && !g->ir.error.code; i++) {
        if (!fc_is_number(&in[i]) && (in[i].graph != g || !fc_is_node(&in[i])))
            fc_fail(&g->ir.error, FUSEC_INVALID,
                    "fusec_call: input %d of %.100s is not a value of this graph", i + 1, d->name);
        else
            list[i] = fc_as_node(g, in[i]);
    }
    if (g->ir.error.code) return FC_NONODE;
    list[n + FC_CALL_WORKSPACE] = size_node(g, &d->workspace, 0);
    list[n + FC_CALL_SHARED] = size_node(g, &d->shared, 0);
    for (int i = 0; i < 3; i++) {
        list[n + FC_CALL_GRID + i] = size_node(g, by_threads(d) ? &d->threads[i] : &d->grid[i], 1);
        list[n + FC_CALL_BLOCK + i] = size_node(g, &d->block[i], 1);
    }
    const fc_node values = fc_build_value_list(&g->ir, (uint32_t)n + FC_CALL_SIZES, list);
    if (values == FC_NONODE) return FC_NONODE;
    return fc_graph_node(&g->ir, (fc_ninfo){.op = FC_OP_CALL,
                                            .dtype = FUSEC_BOOL,
                                            .nops = 1,
                                            .src = {values, FC_NONODE, FC_NONODE},
                                            .attr = number});
}

static void results(fusec_graph *g, const fusec_call_desc *d, fc_node call, fusec_value *out) {
    const fusec_dim *shape = d->shapes;
    for (int i = 0; i < d->noutputs && !g->ir.error.code; i++) {
        fc_dim dims[FC_MAX_RANK];
        int64_t list[FC_MAX_RANK];
        if (!fc_dtype_ok(g, "fusec_call", d->dtypes[i]) ||
            !fc_take_shape(g, "fusec_call", d->ranks[i], shape, dims))
            return;
        for (int k = 0; k < d->ranks[i]; k++) list[k] = (int64_t)dims[k];
        if (shape) shape += d->ranks[i];
        const fc_list l = fc_intern_list(&g->ir, list, (uint32_t)d->ranks[i]);
        out[i] = fc_value(g, fc_build_result(&g->ir, call, (uint32_t)i, d->dtypes[i], l));
    }
}

fusec_status fusec_call(fusec_graph *g, const fusec_call_desc *desc, int n,
                        const fusec_value *inputs, fusec_value *outputs) {
    fusec_call_desc d;
    fc_error e = {0};
    uint32_t number;
    if (!g) return fc_report_text(FUSEC_INVALID, "fusec_call: the graph is NULL");
    if (g->ir.error.code) return fc_report(&g->ir.error);
    fusec_status s = take_desc(desc, &d, &e);
    if (!s && (n < 0 || n > MOST || (n && !inputs) || !outputs))
        s = fc_fail(&e, FUSEC_INVALID, "fusec_call: %d inputs of %.100s%s", n, d.name,
                    n < 0 || n > MOST ? "" : ", and an array is NULL");
    const fc_user_call like = {.name = (char *)(uintptr_t)d.name,
                               .host = d.host,
                               .cuda = d.cuda,
                               .user = d.user,
                               .text = (char *)(uintptr_t)d.text,
                               .entry = (char *)(uintptr_t)d.entry,
                               .launch = d.launch,
                               .by_threads = by_threads(&d),
                               .nout = (uint32_t)d.noutputs};
    if (!s) s = fc_user_call_number(g->ctx->runtime, &like, &number, &e);
    for (int i = 0; !s && i < d.noutputs; i++) outputs[i] = fc_value(g, FC_NONODE);
    if (!s) results(g, &d, call_node(g, &d, n, inputs, number), outputs);
    if (s && !g->ir.error.code) g->ir.error = e;
    return s ? fc_report(&e) : fusec_graph_status(g);
}
