/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_extern.c - scalar functions of the user (ir/external.h) in the text of a kernel.
 *
 * In: the functions that a kernel uses. Out: their texts above the kernel, each in a name space of
 * its own, with its own lines in messages. */
#include "codegen/cuda/cuda.h"

/* The number of the line that comes next. */
static size_t next_line(const fc_str *s) {
    size_t n = 1;
    for (size_t i = 0; i < s->len; i++) n += s->data[i] == '\n';
    return n;
}

void fc_cuda_extern_functions(fc_cuda_gen *g) {
    fc_str *out = g->t.out;
    for (size_t i = 0; i < g->k->externs.len; i++) {
        const fc_extern *x = g->k->externs.at[i].function;
        fc_str_printf(out, "namespace user%zu { " FC_CUDA_USER "\n#line 1 \"%s\"\n%s\n", i, x->name,
                      x->cuda ? x->cuda : "");
        fc_str_printf(out, "#line %zu \"fusec\"\n}\n", next_line(out) + 1);
    }
}
