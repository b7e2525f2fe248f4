/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* emit.h - the levels of a program as text or code: --emit of explain and build, --keep of run. */
#ifndef FUSEC_FRONTEND_CLI_EMIT_H
#define FUSEC_FRONTEND_CLI_EMIT_H

#include "runtime/compile/bytes.h"
#include "frontend/cli/job.h"

typedef enum fc_emit_level {
    FC_LEVEL_FUSE,  /* the graph as a program */
    FC_LEVEL_GRAPH, /* its nodes */
    FC_LEVEL_IR,    /* the kernels, target-neutral; from here on one text for each kernel */
    FC_LEVEL_CUDA,
    FC_LEVEL_PTX,
    FC_LEVEL_CUBIN,
    FC_LEVEL_LLVM,
    FC_LEVEL_ASM,
    FC_LEVEL_COUNT
} fc_emit_level;

/* "cuda,ptx" as bits 1 << fc_emit_level. */
fusec_status fc_levels_parse(const char *list, unsigned *levels, fc_error *e);
const char *fc_emit_suffix(fc_emit_level l); /* ".cu" */

/* `list`: "sm_90" is a GPU, everything else a processor as LLVM calls it, NULL if there is none. */
fusec_status fc_arch_parse(const char *list, int *cc, const char **cpu, size_t *cpu_len,
                           fc_error *e);

/* What is emitted from and for. Zero it, set the first fields, close it. */
typedef struct fc_emitter {
    fc_job *s;
    int cc;          /* 90 */
    const char *cpu; /* "x86-64-v3"; NULL: this machine */
    fc_plan *plan;
    fc_device *offline;
    fusec_program *cuda, *llvm;
    struct fc_nvrtc *nvrtc;
    struct fc_llvm *lib;
    fc_str note; /* sizes that were assumed */
} fc_emitter;

/* `arch` is a list such as "sm_90,x86-64-v3"; NULL: sm_90 and this machine. Sizes that are not
 * known get examples. */
fusec_status fc_emitter_open(fc_emitter *m, fc_job *s, const char *arch, fc_error *e);
void fc_emitter_close(fc_emitter *m);
/* The text of a level, of kernel `step` where there is one for each. Headed by a comment, except a
 * cubin. */
fusec_status fc_emit(fc_emitter *m, fc_emit_level level, uint32_t step, fc_str *out, fc_error *e);
/* How many texts a level has. */
fusec_status fc_emit_steps(fc_emitter *m, fc_emit_level level, uint32_t *out, fc_error *e);
/* "softmax_k0" */
void fc_emit_kernel_name(const fc_job *s, uint32_t step, fc_str *out);

/* Writes the text of each kernel of a program that runs into a folder. */
fusec_status fc_emit_keep(fc_job *s, fusec_program *p, const char *folder, fc_error *e);
/* The text of one of them for the job's sizes. */
fusec_status fc_emit_source(fc_job *s, fusec_program *p, uint32_t step, fc_str *out, fc_error *e);
const char *fc_emit_source_suffix(const fusec_program *p);
/* Of its name, without the slashes at its end. */
int fc_folder_len(const char *path);
fusec_status fc_make_folder(const char *path, fc_error *e);

#endif
