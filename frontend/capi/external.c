/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* external.c - scalar functions of the user as values of a graph. */
#include "frontend/capi/capi.h"
#include "frontend/capi/external.h"
#include "passes/fuse.h"
#include "runtime/external.h"

#include <ctype.h>

bool fc_is_c_name(const char *s) {
    if (!s || (!isalpha((unsigned char)*s) && *s != '_') || strlen(s) > 60) return false;
    while (isalnum((unsigned char)*s) || *s == '_') s++;
    return !*s;
}

_Static_assert((int)FC_EXTERN_SLOTS == (int)FC_FUNCTION_SLOTS,
               "a function costs as much as a sine");

static fusec_status take_types(const fusec_extern_desc *d, fc_extern *x, fc_error *e) {
    if (d->nargs < 1 || d->nargs > FC_MAX_EXTERN || !d->dtypes)
        return fc_fail(e, FUSEC_INVALID, "fusec_extern: %s has %d operands%s", d->name, d->nargs,
                       d->nargs < 1 || d->nargs > FC_MAX_EXTERN ? ", not 1 to 16" : " of no types");
    _Static_assert(FC_MAX_EXTERN == 16, "the number in the message");
    x->nargs = (uint8_t)d->nargs;
    x->result = (uint8_t)d->result;
    for (int i = 0; i <= d->nargs; i++) {
        const fusec_dtype t = i < d->nargs ? d->dtypes[i] : d->result;
        if (!fc_extern_takes(t))
            return fc_fail(e, FUSEC_INVALID,
                           "fusec_extern: %s takes or gives what C has no type for", d->name);
        if (i < d->nargs) x->dtype[i] = (uint8_t)t;
    }
    return FUSEC_OK;
}

fusec_status fc_take_extern(const fusec_extern_desc *from, fc_extern *x, fc_error *e) {
    fusec_extern_desc d;
    memset(&d, 0, sizeof d);
    memset(x, 0, sizeof *x);
    if (!from || from->size < offsetof(fusec_extern_desc, slots))
        return fc_fail(e, FUSEC_INVALID,
                       "fusec_extern: set the description up with FUSEC_EXTERN_DESC_INIT");
    memcpy(&d, from, from->size < sizeof d ? from->size : sizeof d);
    if (!fc_is_c_name(d.name))
        return fc_fail(e, FUSEC_INVALID, "fusec_extern: it has no name of C");
    FC_TRY(take_types(&d, x, e));
    x->name = d.name;
    x->cuda = d.cuda;
    x->scalar = d.arrays ? NULL : d.scalar;
    x->fn = d.arrays;
    x->given = d.user;
    x->slots = d.slots <= 0               ? FC_FUNCTION_SLOTS
               : d.slots < FC_EXTERN_MOST ? (uint32_t)d.slots
                                          : FC_EXTERN_MOST;
    if (!d.cuda && !d.arrays && !d.scalar)
        return fc_fail(e, FUSEC_INVALID, "fusec_extern: %s has neither a text nor a function",
                       d.name);
    if (x->scalar && !fc_extern_by_element(x))
        return fc_fail(
            e, FUSEC_INVALID,
            "fusec_extern: `scalar` of %s is for f32, f64, i32 or i64, of one type, and at "
            "most %d operands; others come as `arrays`",
            d.name, FC_EXTERN_SCALARS);
    return FUSEC_OK;
}

static fc_node operand(fusec_graph *g, const fc_extern *x, int i, fusec_value v) {
    if (fc_is_number(&v)) return fc_build_cast(&g->ir, fc_as_node(g, v), (fusec_dtype)x->dtype[i]);
    if (v.graph == g && fc_is_node(&v)) return fc_as_node(g, v);
    fc_fail(&g->ir.error, FUSEC_INVALID,
            "fusec_extern: operand %d of %s is not a value of this graph", i + 1, x->name);
    return FC_NONODE;
}

fusec_status fusec_extern_number(fusec_context *ctx, const fusec_extern_desc *desc,
                                 int64_t *number) {
    fc_extern like;
    const fc_extern *x = NULL;
    fc_error e = {0};
    if (!ctx || !number)
        return fc_report_text(FUSEC_INVALID, "fusec_extern_number: the %s is NULL",
                              ctx ? "result pointer" : "context");
    if (fc_take_extern(desc, &like, &e) || fc_extern_intern(ctx->runtime, &like, &x, &e))
        return fc_report(&e);
    *number = x->number;
    return FUSEC_OK;
}

fusec_value fusec_extern(fusec_graph *g, const fusec_extern_desc *desc, const fusec_value *v) {
    fc_extern like;
    const fc_extern *x = NULL;
    fc_node arg[FC_MAX_EXTERN];
    if (!g) return fc_failed(fc_report_text(FUSEC_INVALID, "fusec_extern: the graph is NULL"));
    fc_error *e = &g->ir.error;
    if (e->code) return fc_value(g, FC_NONODE);
    fusec_status s = fc_take_extern(desc, &like, e);
    if (!s && !v) s = fc_fail(e, FUSEC_INVALID, "fusec_extern: the operands are NULL");
    if (!s) s = fc_extern_intern(g->ctx->runtime, &like, &x, e);
    for (int i = 0; !s && i < like.nargs && !e->code; i++) arg[i] = operand(g, x, i, v[i]);
    return fc_value(g, s || e->code ? FC_NONODE : fc_build_extern(&g->ir, x, arg));
}
