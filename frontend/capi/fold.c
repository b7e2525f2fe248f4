/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fold.c - reductions and scans by a function of the caller's, linear recurrences: arguments
 * checked, and handed to ir/build_fold.c. */
#include "frontend/capi/capi.h"
#include "ir/fold.h"

/* The graph of n values and of what else belongs to the call; NULL: something is wrong, and says.
 */
static fusec_graph *open(const char *what, int n, const fusec_value *x, fusec_status *s) {
    if (n < 1 || n > FC_MAX_RECORD || !x) {
        *s = fc_report_text(n < 1 || !x ? FUSEC_INVALID : FUSEC_LIMIT,
                            "%s: %d values in a record%s; it takes 1 to %d", what, n,
                            x ? "" : " at NULL", FC_MAX_RECORD);
        return NULL;
    }
    fusec_graph *g = fc_common_graph(what, x, n);
    *s = g ? g->ir.error.code : fc_check_value(what, x[0]);
    if (!g && *s == FUSEC_OK)
        *s = fc_report_text(FUSEC_INVALID, "%s: there is no array among the values", what);
    if (g && *s) fc_report(&g->ir.error);
    return *s ? NULL : g;
}

/* Values of the graph; numbers as `as` says, or as any number. */
static bool take(fusec_graph *g, const char *what, int n, const fusec_value *v, const fc_node *as,
                 fc_node *out) {
    for (int i = 0; i < n; i++) {
        const fusec_value pair[2] = {{.graph = g, .bits = g->stamp, .node = 0, .kind = FC_NODE},
                                     v[i]};
        if (fc_is_number(&v[i])) {
            out[i] = fc_as_node(g, v[i]);
            if (as && out[i] != FC_NONODE)
                out[i] = fc_build_cast(&g->ir, out[i],
                                       fc_record_dtype((fusec_dtype)fc_at(&g->ir, as[i])->dtype));
        } else {
            fc_common_graph(what, pair, 2);
            out[i] = v[i].node;
        }
        if (g->ir.error.code) return false;
    }
    return true;
}

fusec_status fusec_record_pair(int n, const fusec_value *x, fusec_value *a, fusec_value *b) {
    static const char what[] = "fusec_record_pair";
    fc_node node[FC_MAX_RECORD];
    fusec_status s;
    fusec_graph *g = open(what, n, x, &s);
    if (!g) return s;
    if (!a || !b) return fc_report_text(FUSEC_INVALID, "%s: the records are at NULL", what);
    if (!take(g, what, n, x, NULL, node)) return fc_report(&g->ir.error);
    uint32_t slot = 0;
    for (int i = 0; i < n; i++) {
        const fusec_dtype t = fc_record_dtype((fusec_dtype)fc_at(&g->ir, node[i])->dtype);
        a[i] = fc_value(g, fc_build_slot(&g->ir, t, slot));
        b[i] = fc_value(g, fc_build_slot(&g->ir, t, FC_MAX_RECORD + slot));
        slot += fc_slots_of(t);
    }
    return g->ir.error.code ? fc_report(&g->ir.error) : FUSEC_OK;
}

static fusec_status fold(const char *what, int n, const fusec_value *x, const fusec_value *start,
                         const fusec_value *c, fc_fold_args args, int naxes, const int *axes,
                         fusec_value *out) {
    fc_node element[FC_MAX_RECORD], first[FC_MAX_RECORD], body[FC_MAX_RECORD], made[FC_MAX_RECORD];
    int64_t list[FC_MAX_RANK];
    fusec_status s;
    fusec_graph *g = open(what, n, x, &s);
    for (int i = 0; out && i < n && i < FC_MAX_RECORD; i++) out[i] = fc_failed(FUSEC_INVALID);
    if (!g) return s;
    if (!c || !out)
        return fc_report_text(FUSEC_INVALID, "%s: the %s at NULL", what,
                              c ? "results are" : "new record is");
    if (take(g, what, n, x, NULL, element) && take(g, what, n, c, element, body) &&
        (!start || take(g, what, n, start, element, first)) &&
        fc_take_axes(g, what, naxes, axes, list)) {
        args.what = what;
        args.n = (uint32_t)n;
        args.element = element;
        args.start = start ? first : NULL;
        args.body = body;
        args.naxes = (uint32_t)naxes;
        args.axes = axes ? list : NULL;
        fc_build_fold(&g->ir, &args, made);
    }
    if (g->ir.error.code) return fc_report(&g->ir.error);
    for (int i = 0; i < n; i++) out[i] = fc_value(g, made[i]);
    return FUSEC_OK;
}

fusec_status fusec_reduce_by(int n, const fusec_value *x, const fusec_value *start,
                             const fusec_value *c, int naxes, const int *axes, int keepdims,
                             fusec_value *out) {
    return fold("fusec_reduce_by", n, x, start, c, (fc_fold_args){.keepdims = keepdims != 0}, naxes,
                axes, out);
}

static fc_fold_args scan_args(unsigned flags) {
    return (fc_fold_args){.scan = true,
                          .exclusive = flags & FUSEC_SCAN_EXCLUSIVE,
                          .reverse = flags & FUSEC_SCAN_REVERSE};
}

fusec_status fusec_scan_by(int n, const fusec_value *x, const fusec_value *start,
                           const fusec_value *c, int axis, unsigned flags, fusec_value *out) {
    if (flags & ~(unsigned)(FUSEC_SCAN_EXCLUSIVE | FUSEC_SCAN_REVERSE))
        return fc_report_text(FUSEC_INVALID, "fusec_scan_by: unknown flags 0x%x", flags);
    return fold("fusec_scan_by", n, x, start, c, scan_args(flags), 1, &axis, out);
}

fusec_value fusec_linrec(fusec_value a, fusec_value b, int axis, unsigned flags) {
    static const char what[] = "fusec_linrec";
    const fusec_value pair[2] = {a, b};
    fc_node src[3] = {FC_NONODE, FC_NONODE, FC_NONODE};
    fusec_graph *g = fc_common_graph(what, pair, 2);
    if (!g) return fc_failed(fc_report_text(FUSEC_INVALID, "%s: there is no array", what));
    if (flags & ~(unsigned)(FUSEC_SCAN_EXCLUSIVE | FUSEC_SCAN_REVERSE))
        fc_fail(&g->ir.error, FUSEC_INVALID, "%s: unknown flags 0x%x", what, flags);
    if (g->ir.error.code || !fc_adapt(g, FC_OP_mul, pair, 2, src)) return fc_value(g, FC_NONODE);
    return fc_value(g, fc_build_linrec(&g->ir, src[0], src[1], FC_NONODE, axis, scan_args(flags)));
}
