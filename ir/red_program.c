/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* red_program.c - see red_program.h. */
#include "ir/red_program.h"

/* Start and finish of a fold: its constants, and the record as it is. */
static void build_fold(fc_code *c, const fc_record *f, fc_red_part part, fc_val out[]) {
    for (unsigned n = 0; n < f->n; n++) {
        const fusec_dtype t = (fusec_dtype)f->dtype[n];
        out[n] =
            part == FC_RED_START ? fc_val_bits(c, t, f->start[n]) : fc_val_arg(c, n, t, FC_POINT);
    }
}

/* The part in rows of the op table. Operands are made in an order of their own, which shows in the
 * numbers of values. */
static void build(fc_code *c, const fc_reduction *r, fc_red_part part, fc_val out[]) {
    const fc_op red = (fc_op)r->op;
    const fusec_dtype t = (fusec_dtype)r->dtype;
    fc_val a[FC_MAX_COMPONENTS], b[FC_MAX_COMPONENTS];
    for (int n = 0; n < fc_ops[red].components && part != FC_RED_START; n++) {
        const fusec_dtype type = fc_component_dtype(red, t, n);
        a[n] = fc_val_arg(c, (unsigned)n, type, FC_POINT);
        if (part == FC_RED_JOIN) b[n] = fc_val_arg(c, (unsigned)(FC_ARG_LATER + n), type, FC_POINT);
    }
    if (part == FC_RED_START) fc_red_init(c, red, t, out);
    if (part == FC_RED_STEP) {
        const bool pair = fc_ops[red].arity == 2;
        const fc_val i = fc_val_arg(c, FC_ARG_INDEX, FUSEC_I64, FC_POINT),
                     y = pair ? fc_val_arg(c, FC_ARG_ELEMENT + 1, t, FC_POINT) : FC_NOVAL,
                     x = fc_val_arg(c, FC_ARG_ELEMENT, t, FC_POINT);
        fc_red_step(c, red, t, a, x, y, i, out);
    }
    if (part == FC_RED_JOIN) fc_red_combine(c, red, t, a, b, out);
    if (part == FC_RED_FINISH)
        out[0] = fc_red_finish(c, red, t, a, fc_val_arg(c, FC_ARG_COUNT, FUSEC_I64, FC_POINT));
}

static fusec_status legalise(const fc_code *from, fc_target_kind target, const fc_val *out,
                             fc_red_program *p) {
    const fc_alloc *alloc = from->alloc;
    if (from->status != FUSEC_OK) return from->status;
    fc_val *map = fc_calloc(alloc, from->ins.len + 1, sizeof *map);
    if (!map) return FUSEC_OUT_OF_MEMORY;
    fusec_status s = fc_legalize(from, target, &p->code, map);
    for (unsigned i = 0; i < p->nout && s == FUSEC_OK; i++) p->out[i] = map[out[i]];
    fc_free(alloc, map);
    if (s != FUSEC_OK) return s;
    p->needed = fc_calloc(alloc, p->code.ins.len + 1, 1);
    if (!p->needed) return FUSEC_OUT_OF_MEMORY;
    fc_kernel_slice(&p->code, p->out, p->nout, p->needed);
    return FUSEC_OK;
}

fusec_status fc_red_program_make(fc_red_program *p, const fc_alloc *a, fc_target_kind target,
                                 fc_rewrite rewrite, const fc_reduction *r, fc_red_part part,
                                 fc_error *e) {
    fc_val out[FC_MAX_COMPONENTS] = {0};
    fc_code c;
    memset(p, 0, sizeof *p);
    fc_code_init(&c, a);
    fc_code_init(&p->code, a);
    p->code.rewrite = rewrite;
    p->nout = part == FC_RED_FINISH ? fc_red_results(r) : fc_red_components(r);
    if (r->record)
        build_fold(&c, r->record, part, out);
    else
        build(&c, r, part, out);
    /* a record is taken in as it is joined */
    const bool body = r->record && (part == FC_RED_STEP || part == FC_RED_JOIN);
    const fusec_status s =
        body ? legalise(&r->record->code, target, r->record->out, p) : legalise(&c, target, out, p);
    fc_code_free(&c);
    for (fc_val v = 0; s == FUSEC_OK && part == FC_RED_STEP && v < p->code.ins.len; v++) {
        const fc_instr *i = &p->code.ins.at[v];
        p->uses_index |= p->needed[v] && i->op == FC_OP_ARG && i->imm == FC_ARG_INDEX;
    }
    if (s == FUSEC_OK) return s;
    fc_red_program_free(p);
    return fc_fail(e, s, "a reduction could not be written in rows of its target");
}

void fc_red_program_free(fc_red_program *p) {
    if (!p->code.alloc) return;
    fc_free(p->code.alloc, p->needed);
    fc_code_free(&p->code);
    memset(p, 0, sizeof *p);
}
