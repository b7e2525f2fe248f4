/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower_fold.c - reductions and scans by code of the user's as parts of a kernel.
 *
 * In: FC_OP_FOLD nodes. Out: their records (fc_record: what the body does, as scalar code) and
 * reductions. Folds that differ in their result only get one of each. */
#include "passes/lower_impl.h"

#include "ir/fold.h"

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
    bool ok = entry.record != NULL;
    if (ok) {
        entry.record->n = (uint8_t)s.n;
        for (unsigned k = 0; k < s.n; k++) {
            entry.record->dtype[k] = fc_at(l->g, body[k])->dtype;
            entry.record->start[k] = s.start[k];
        }
        ok = fc_lower_body(l, &entry.record->code, i->src[1], 0, entry.record->out) &&
             fc_push(l->alloc, &l->records, entry);
    }
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
