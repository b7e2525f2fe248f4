/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower_fold.c - reductions and scans by code of the user's as parts of a kernel.
 *
 * In: FC_OP_FOLD nodes. Out: their records (fc_record: what the body does, as scalar code) and
 * reductions. Folds that differ in their result only get one of each. */
#include "passes/lower_impl.h"

#include "ir/fold.h"

/* The body of a fold as code over FC_OP_ARG. */
static bool body_code(fc_lowering *l, const fc_node *body, fc_record *to, fc_val *map,
                      uint8_t *need) {
    fc_code *c = &to->code;
    fc_node last = 0;
    for (unsigned k = 0; k < to->n; k++) {
        need[body[k]] = 1;
        if (body[k] > last) last = body[k];
    }
    for (fc_node n = last + 1; n-- > 0;)
        for (int k = 0; need[n] && k < fc_at(l->g, n)->nops; k++) need[fc_at(l->g, n)->src[k]] = 1;
    for (fc_node n = 0; n <= last; n++) {
        const fc_ninfo *i = fc_at(l->g, n);
        const fusec_dtype t = (fusec_dtype)i->dtype;
        fc_val v[3] = {FC_NOVAL, FC_NOVAL, FC_NOVAL};
        if (!need[n]) continue;
        for (int k = 0; k < i->nops; k++) v[k] = map[i->src[k]];
        map[n] = i->op == FC_OP_CONST     ? fc_val_bits(c, t, i->attr)
                 : i->op == FC_OP_SLOT    ? fc_val_arg(c, (uint32_t)i->attr, t, FC_POINT)
                 : i->op == FC_OP_CAST    ? fc_val_cast(c, v[0], t)
                 : i->op == FC_OP_BITCAST ? fc_val_bitcast(c, v[0], t)
                 : i->op == FC_OP_RECORD  ? fc_lower_record_of(c, v)
                 : i->op == FC_OP_EXTERN  ? fc_kernel_extern(l->k, c, fc_extern_of(i), v)
                                          : fc_val_op(c, (fc_op)i->op, v[0], v[1], v[2]);
    }
    for (unsigned k = 0; k < to->n; k++) to->out[k] = map[body[k]];
    return c->status == FUSEC_OK;
}

/* The record that a fold accumulates: one for all that differ in the result only. */
static const fc_record *record_of(fc_lowering *l, fc_node n) {
    const fc_ninfo *i = fc_at(l->g, n);
    const fc_fold_spec s = fc_fold_of(l->g, i);
    for (size_t k = 0; k < l->records.len; k++) {
        const fc_record *r = l->records.at[k].record;
        if (l->records.at[k].body == i->src[1] &&
            memcmp(r->start, s.start, s.n * sizeof *s.start) == 0)
            return r;
    }
    fc_node body[FC_MAX_RECORD];
    fc_record_nodes(l->g, i->src[1], FC_MAX_RECORD, body);
    fc_lower_record entry = {i->src[1], fc_kernel_add_record(l->k)};
    fc_val *map = fc_malloc(l->alloc, l->g->nodes.len * sizeof *map);
    uint8_t *need = fc_calloc(l->alloc, l->g->nodes.len, 1);
    bool ok = entry.record && map && need;
    if (ok) {
        entry.record->n = (uint8_t)s.n;
        for (unsigned k = 0; k < s.n; k++) {
            entry.record->dtype[k] = fc_at(l->g, body[k])->dtype;
            entry.record->start[k] = s.start[k];
        }
        ok = body_code(l, body, entry.record, map, need) && fc_push(l->alloc, &l->records, entry);
    }
    fc_free(l->alloc, map);
    fc_free(l->alloc, need);
    if (!ok) l->oom = true;
    return ok ? entry.record : NULL;
}

fc_val fc_lower_fold(fc_lowering *l, fc_node n, unsigned stage) {
    fc_node element[FC_MAX_RECORD];
    fc_val value[FC_MAX_RECORD];
    const fc_record *record = record_of(l, n);
    const fc_fold_spec s = fc_fold_of(l->g, fc_at(l->g, n));
    fc_record_nodes(l->g, fc_at(l->g, n)->src[0], FC_MAX_RECORD, element);
    for (unsigned k = 0; record && k < s.n; k++) {
        value[k] = fc_lower_element_of(l, element[k]);
        if (value[k] == FC_NOVAL) return FC_NOVAL;
        value[k] = fc_val_cast(&l->k->code, value[k], (fusec_dtype)record->dtype[k]);
    }
    if (!record) return FC_NOVAL;
    const bool exclusive = s.kind == FC_FOLD_EXCLUSIVE;
    return fc_kernel_acc(l->k, fc_kernel_fold(l->k, record, value, stage, exclusive), s.result);
}
