/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stage.h - arguments of a call that the device or a kernel can't take as they are, replaced by
 * dense copies: strided arrays on the host of a GPU, data that is not aligned to its elements,
 * strides that a kernel can't walk, results that overlap what is read. */
#ifndef FUSEC_RUNTIME_STAGE_H
#define FUSEC_RUNTIME_STAGE_H

#include "runtime/program.h"

typedef struct fc_stage {
    fc_program *p;
    fc_stream stream;
    uint32_t nin, nout;
    const fc_tensor *in, *out; /* the caller's */
    fc_tensor *args;           /* inputs, then outputs, as they go on; NULL: nothing is replaced */
    void **memory;             /* behind each argument that is replaced */
} fc_stage;

void fc_stage_open(fc_stage *s, fc_program *p, fc_stream stream, uint32_t nin, const fc_tensor *in,
                   uint32_t nout, const fc_tensor *out);
/* Replaces what no kernel could take. */
fusec_status fc_stage_start(fc_stage *s, fc_error *e);
/* Replaces argument i, which must not be replaced already. */
fusec_status fc_stage_replace(fc_stage *s, uint32_t i, fc_error *e);
/* Brings results to where they belong. */
fusec_status fc_stage_finish(fc_stage *s, fc_error *e);
void fc_stage_close(fc_stage *s);

static inline const fc_tensor *fc_stage_in(const fc_stage *s) {
    return s->args ? s->args : s->in;
}
static inline const fc_tensor *fc_stage_out(const fc_stage *s) {
    return s->args ? s->args + s->nin : s->out;
}
static inline bool fc_stage_has(const fc_stage *s, uint32_t i) {
    return s->args && s->memory[i];
}

/* Programs that copy strided arrays in device memory (stage.c); freed with the context. */
void fc_copiers_free(fc_context *c);

#endif
