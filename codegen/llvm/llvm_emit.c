/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_emit.c - kernel and class in, the text of a module out.
 *
 *     void @NAME(ptr params, i64 begin, i64 end)
 *
 * does units [begin, end), which the schedule's file says more about; split reductions have
 *
 *     void @NAME_finish(ptr params, i64 begin, i64 end)
 *
 * for rows [begin, end) besides, when all units are done.
 *
 * `params` is the parameter block of codegen/nest.h. Functions may run in several threads at once
 * on different units (rows). The text is valid for LLVM 15 to 22: opaque pointers, no fast-math
 * flags, no nsw or nuw, float literals in hexadecimal, and masked intrinsics with the alignment
 * operand that LLVM 22 reads and drops. */
#include "codegen/llvm/llvm_text.h"

/* What the stores of one level depend on. */
static uint8_t *slice_of_stores(fc_ll *f, fc_level level, bool *any) {
    uint8_t *needed = fc_ll_alloc(f, f->code.ins.len);
    fc_val *roots = fc_ll_alloc(f, (fc_kernel_ends(f->k) + 1) * sizeof *roots);
    size_t n = 0;
    for (size_t i = 0; i < f->k->stores.len; i++)
        if (fc_ll_store_level(f, &f->k->stores.at[i]) == level)
            roots[n++] = f->map[f->k->stores.at[i].value];
    for (size_t i = 0; level == FC_POINT && i < f->k->updates.len; i++)
        roots[n++] = f->map[f->k->updates.at[i].value];
    fc_kernel_slice(&f->code, roots, n, needed);
    *any = n > 0;
    return needed;
}

static void prepare(fc_ll *f) {
    f->map = fc_ll_alloc(f, f->k->code.ins.len * sizeof *f->map);
    f->code.rewrite = fc_ll_functions(f);
    fusec_status st = fc_legalize(&f->k->code, FC_TARGET_LLVM, &f->code, f->map);
    if (st != FUSEC_OK) fc_ll_fail(f, st);
    fc_ll_prepare_rounds(f);
    f->base = fc_ll_names(f, f->cls->naccess);
    f->along_row = f->cls->llvm.along ||
                   (f->k->schedule == FC_SCHED_INNER && !f->cls->llvm.narrow);
    f->lane_axis = fc_ll_along_row(f) ? (uint32_t)f->cls->np + f->cls->nr - 1 : f->cls->np - 1u;
    f->row_needed = slice_of_stores(f, FC_ROW, &f->any_row_store);
    f->point_needed = slice_of_stores(f, FC_POINT, &f->any_point_store);
    fc_ll_classify(f);
    fc_ll_reductions(f);
}

static void write_functions(fc_ll *f) {
    fc_ll_schedule_loops(f);
    if (f->loops.oom) fc_ll_fail(f, FUSEC_OUT_OF_MEMORY);
    const fusec_status st = fc_loops_verify(&f->loops, f->k, f->cls, f->error);
    if (st != FUSEC_OK) fc_ll_fail(f, st);
    fc_str_add(&f->decls, "; ");
    fc_class_print(f->cls, &f->decls);
    fc_str_char(&f->decls, '\n');
    fc_loops_print(&f->loops, "; ", &f->decls);
    fc_ll_walk(f);
}

static fusec_status write_module(fc_ll *f) {
    if (setjmp(f->leave)) return f->status;
    prepare(f);
    write_functions(f);
    const fc_str *parts[] = {&f->module, &f->helpers, &f->decls, &f->aside.head, &f->aside.body};
    for (size_t i = 0; i < FC_COUNT(parts); i++)
        if (parts[i]->oom) return FUSEC_OUT_OF_MEMORY;
    return f->head.oom || f->body.oom ? FUSEC_OUT_OF_MEMORY : FUSEC_OK;
}

fusec_status fc_ll_emit(const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                        const char *name, fc_str *out, fc_error *e) {
    fc_ll *f = fc_malloc(out->alloc, sizeof *f);
    if (!f) return fc_oom(e);
    fc_ll_init(f, m, k, cls, name, out->alloc);
    f->error = e;
    fusec_status st = write_module(f);
    if (st == FUSEC_OK) {
        fc_str_add(out, f->decls.data);
        fc_str_add(out, f->module.data);
        fc_str_add(out, f->helpers.data);
        if (out->oom) st = FUSEC_OUT_OF_MEMORY;
    }
    fc_ll_reductions_free(f);
    fc_ll_free(f);
    fc_free(out->alloc, f);
    if (st == FUSEC_OUT_OF_MEMORY) return fc_oom(e);
    if (st != FUSEC_OK)
        return fc_fail(e, st,
                       "a kernel can't be written as LLVM IR: it breaks the rules of kernels");
    return FUSEC_OK;
}
