/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* finite.c - --check-finite: the first nan or infinity of the results, and the operation that made
 * it. See outputs.h.
 *
 * The fused kernels keep no intermediates. So when a result is not finite, values are computed
 * again by the interpreter, one node at a time, on the way from the result back to where
 * it began. */
#include <math.h>

#include "frontend/cli/decimal.h"
#include "frontend/cli/outputs.h"
#include "frontend/cli/print.h"

static int64_t first_bad(const fc_array *a) {
    int64_t count = 1;
    if (fc_is_complex(a->dtype)) {
        const fc_array parts = fc_array_parts(a);
        const int64_t i = first_bad(&parts);
        return i < 0 ? i : i / 2;
    }
    for (int k = 0; k < a->rank; k++) count *= a->shape[k];
    for (int64_t i = 0; fc_is_float(a->dtype) && i < count; i++)
        if (!isfinite(fc_float_at(a, i))) return i;
    return -1;
}

/* The value of any node of the graph, as the only result of a program of its own: the job gets
 * other outputs for the time. */
static fusec_status node_value(fc_job *s, fc_device *d, fc_node n, fc_array *out, fc_error *e) {
    fc_output result = {"value", n};
    fc_tensor *const tensors = s->out;
    const uint32_t count = s->nout;
    fc_graph g = s->graph;
    fusec_program *p = NULL;
    double seconds;
    s->graph.outputs.at = &result;
    s->graph.outputs.len = 1;
    fusec_status st = fc_job_program(s, d, true, &p, e);
    if (!st) st = fc_job_results(s, p->p, e);
    if (!st) st = fc_job_run(s, p, &seconds, e);
    if (!st) *out = fc_tensor_array(&s->out[0]);
    fusec_program_free(p);
    s->graph.outputs.at = g.outputs.at;
    s->graph.outputs.len = g.outputs.len;
    s->out = tensors;
    s->nout = count;
    return st;
}

/* Steps from `n` to an operand that is not finite; false if there is none. */
static fusec_status step_back(fc_job *s, fc_device *d, fc_node *n, fc_array *value, bool *moved,
                              fc_error *e) {
    const fc_ninfo *x = fc_at(&s->graph, *n);
    *moved = false;
    for (int k = 0; k < x->nops && !*moved; k++) {
        fc_array v;
        if (!fc_is_float((fusec_dtype)fc_at(&s->graph, x->src[k])->dtype)) continue;
        FC_TRY(node_value(s, d, x->src[k], &v, e));
        if (first_bad(&v) < 0) continue;
        *n = x->src[k];
        *value = v;
        *moved = true;
    }
    return FUSEC_OK;
}

/* "log(-1.0)": the operation with its operands at the element, where these have the same shape. */
static fusec_status describe(fc_job *s, fc_device *d, fc_node n, const fc_array *value, int64_t at,
                             fc_str *out, fc_error *e) {
    const fc_ninfo *x = fc_at(&s->graph, n);
    fc_str_printf(out, "%s(", fc_ops[x->op].name);
    for (int k = 0; k < x->nops; k++) {
        fc_array v;
        FC_TRY(node_value(s, d, x->src[k], &v, e));
        bool same = v.rank == value->rank &&
                    !memcmp(v.shape, value->shape, (size_t)v.rank * sizeof *v.shape);
        fc_str_add(out, k ? ", " : "");
        if (same || v.rank == 0)
            fc_print_element(out, &v, same ? at : 0);
        else
            fc_str_add(out, "...");
    }
    fc_str_char(out, ')');
    return FUSEC_OK;
}

static fusec_status trace(fc_job *s, uint32_t result, fc_error *e) {
    fc_device *d;
    fc_node n = s->graph.outputs.at[result].node;
    fc_array value = fc_tensor_array(&s->out[result]);
    char place[300], origin[300];
    fc_str what, made;
    bool moved = true;
    int64_t at = first_bad(&value);
    FC_TRY(fc_job_device(s, "interp", &d, e));
    fc_str_init(&what, s->alloc);
    fc_str_init(&made, s->alloc);
    fc_print_element(&what, &value, at);
    fc_place_text(place, sizeof place, &value, at);
    fusec_status st = FUSEC_OK;
    while (!st && moved) st = step_back(s, d, &n, &value, &moved, e);
    at = first_bad(&value);
    if (at < 0) at = 0;
    fc_place_text(origin, sizeof origin, &value, at);
    const fc_ninfo *x = fc_at(&s->graph, n);
    if (!st && x->op == FC_OP_INPUT) {
        for (size_t i = 0; i < s->graph.inputs.len; i++)
            if (s->graph.inputs.at[i].node == n)
                fc_str_printf(&made, "the input %s holds it", s->graph.inputs.at[i].name);
    } else if (!st) {
        fc_str_add(&made, "made by ");
        st = describe(s, d, n, &value, at, &made, e);
    }
    if (!st)
        st = fc_fail(e, FUSEC_NOT_FINITE, "%s in the result %s%s%s\n  %s%s%s", what.data,
                     s->graph.outputs.at[result].name, *place ? " at " : "", place, made.data,
                     *origin ? " at " : "", origin);
    fc_str_free(&what);
    fc_str_free(&made);
    return st;
}

fusec_status fc_finite_check(fc_job *s, fc_error *e) {
    for (uint32_t i = 0; i < s->nout; i++) {
        fc_array a = fc_tensor_array(&s->out[i]);
        if (first_bad(&a) >= 0) return trace(s, i, e);
    }
    return FUSEC_OK;
}
