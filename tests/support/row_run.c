/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* row_run.c - see row_run.h. */
#include "tests/support/row_run.h"

#include <stdlib.h>

#include "codegen/llvm/llvm_math.h"
#include "ir/kernel.h"

struct fc_row_run {
    fc_llvm_run *run;
    fc_dimtab dims;
    fc_kernel k;
    fc_dim n;
    fc_arena arena;
    int64_t values[16], words[200];
    void *data[3];
};

static fc_val load(fc_row_run *r, fusec_dtype t, fc_dim zero, unsigned number) {
    fc_map map = {.axis = 0, .step = 1, .start = zero};
    uint32_t arg = fc_kernel_arg(&r->k, t, false, number);
    return fc_kernel_load(&r->k, fc_kernel_access(&r->k, arg, 1, &r->n, &map));
}

static fc_val row(fc_code *code, fc_op op, fc_val x, fc_val y) {
    return fc_val_op(code, op, x, fc_ops[op].arity > 1 ? y : FC_NOVAL, FC_NOVAL);
}

static fusec_status build(fc_row_run *r, fc_op op, fusec_dtype t, fc_row_make *make, fc_error *e) {
    r->n = fc_dim_named(&r->dims, "n");
    const fc_dim zero = fc_dim_const(&r->dims, 0);
    r->values[zero] = 0;
    r->k.schedule = FC_SCHED_MAP;
    r->k.np = 1;
    r->k.extent[0] = r->n;
    const fc_val x = load(r, t, zero, 0), y = load(r, t, zero, 1);
    const fc_val v = (make ? make : row)(&r->k.code, op, x, y);
    fc_map map = {.axis = 0, .step = 1, .start = zero};
    const fusec_dtype to = fc_val_dtype(&r->k.code, v);
    const uint32_t out = fc_kernel_arg(&r->k, to, true, 2);
    fc_kernel_store(&r->k, fc_kernel_access(&r->k, out, 1, &r->n, &map), v);
    return fc_kernel_verify(&r->k, e);
}

fc_row_run *fc_row_run_open(unsigned width, fc_op op, fusec_dtype t, int64_t n, fc_row_make *make,
                            fc_error *e) {
    fc_row_run *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    fc_dimtab_init(&r->dims, &fc_libc_alloc);
    fc_kernel_init(&r->k, &fc_libc_alloc);
    fc_arena_init(&r->arena, &fc_libc_alloc);
    r->run = fc_llvm_run_open(width);
    const size_t bytes = ((size_t)n * 8 + 63) & ~(size_t)63;
    bool fine = r->run != NULL;
    for (int i = 0; i < 3; i++) {
        /* not all at the same place in a page */
        r->data[i] = aligned_alloc(64, bytes + 256 * (size_t)(i + 1));
        if (r->data[i]) memset(r->data[i], 0, bytes);
        fine = fine && r->data[i];
    }
    if (fine) {
        const fc_machine m = fc_llvm_run_machine(r->run);
        fine = fc_math_rewrite(&m) && build(r, op, t, make, e) == FUSEC_OK;
    }
    if (fine) return r;
    fc_row_run_close(r);
    return NULL;
}

void fc_row_run_close(fc_row_run *r) {
    if (!r) return;
    fc_llvm_run_close(r->run);
    for (int i = 0; i < 3; i++) free(r->data[i]);
    fc_arena_free(&r->arena);
    fc_kernel_free(&r->k);
    fc_dimtab_free(&r->dims);
    free(r);
}

void *fc_row_run_data(fc_row_run *r, int which) {
    return r->data[which];
}

fusec_status fc_row_run_first(fc_row_run *r, int64_t n, fc_error *e) {
    fc_nest nest;
    r->values[r->n] = n;
    fc_arena_free(&r->arena);
    fc_arena_init(&r->arena, &fc_libc_alloc);
    FC_TRY(fc_nest_bind(&r->k, r->values, &r->arena, &nest, e));
    fc_nest_fill(&r->k, &nest, r->values, r->data, NULL, r->words);
    return fc_llvm_run_kernel(r->run, &r->k, &nest, &r->arena, r->words, NULL, e);
}
