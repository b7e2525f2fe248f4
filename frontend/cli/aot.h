/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot.h - definitions as functions of an object with a header: `fusec build --emit
 * header,obj,json,lib,so,cmake,pc`.
 *
 *     fc_aot_open     names and levels
 *     fc_aot_add      a definition, in one choice of dtypes: its code, its constant, its function
 *     fc_aot_write    DIR/nn.h, nn.o, nn.json, libnn.a, libnn.so, nn.cmake, nn.pc
 *     fc_aot_close
 *
 * The object is put together by `ld -r` and `objcopy` of binutils from what LLVM makes of the code
 * and of the constants (aot_image.h), and from the run time (runtime/aot), which the command has
 * inside. All names but those of the header are local. */
#ifndef FUSEC_FRONTEND_CLI_AOT_H
#define FUSEC_FRONTEND_CLI_AOT_H

#include "frontend/cli/aot_image.h"
#include "frontend/cli/job.h"
#include "runtime/aot/aot.h"
#include "runtime/compile/llvm_compile.h"

enum {
    FC_AOT_HEADER = 1,
    FC_AOT_OBJECT = 2,
    FC_AOT_JSON = 4,
    FC_AOT_LIB = 8,
    FC_AOT_SO = 16,
    FC_AOT_CMAKE = 32,
    FC_AOT_PC = 64,
    FC_AOT_CODE = FC_AOT_OBJECT | FC_AOT_LIB | FC_AOT_SO,
    FC_AOT_ABI = 1, /* NN_ABI: rises when arguments, codes or layouts of the header change */
    FC_AOT_LEVELS = 4,
    FC_AOT_GPUS = 8,
    FC_AOT_CLASSES = 24 /* of a kernel, for each level and each GPU */
};

typedef struct fc_aot_target {
    const char *cpu; /* "x86-64-v3" */
    int vector_bytes;
    unsigned features;
} fc_aot_target;

/* "sm_90", a cubin, or "compute_90", PTX. */
typedef struct fc_aot_gpu {
    int cc;
    bool ptx;
} fc_aot_gpu;

typedef struct fc_aot {
    fc_cli *cli;
    const fc_alloc *alloc;
    fc_arena arena;
    fc_context *ctx;     /* for its compiler process */
    struct fc_llvm *lib; /* without one */
    char *prefix, *upper;
    const char *file;
    fc_aot_target levels[FC_AOT_LEVELS];
    int nlevels;
    fc_aot_gpu gpus[FC_AOT_GPUS]; /* in the order in which an object tries them */
    int ngpus;
    struct fc_nvrtc *nvrtc; /* without a compiler process */
    FC_VEC(uint32_t) defs;  /* blocks of the definitions that have images */
    fc_image image;
    fc_str functions;    /* of the glue, LLVM IR */
    fc_str declarations; /* of kernels, LLVM IR */
    fc_str header, json;
    FC_VEC(fc_bytes) objects;
    FC_VEC(char *) names; /* that stay global */
    uint32_t count;       /* of the functions */
    bool compiles;        /* false: no file that is asked for has code */
} fc_aot;

/* `prefix`: what names begin with; `arch` as --arch, NULL: x86-64-v3 and x86-64, and sm_90 with
 * `cuda`; `what`: FC_AOT_ bits of the files that are to be written. */
fusec_status fc_aot_open(fc_aot *a, fc_cli *c, const char *file, const char *prefix,
                         const char *arch, bool cuda, unsigned what, fc_error *e);
fusec_status fc_aot_add(fc_aot *a, fc_job *s, const fc_item *def, const char *dtype, fc_error *e);
fusec_status fc_aot_write(fc_aot *a, const char *folder, unsigned what, fc_error *e);
void fc_aot_close(fc_aot *a);

/* ---- parts ----------------------------------------------------------------------------------- */

/* Everything of a plan but the code, as a block of the image: aot_def.c. `code`: a block of
 * fc_aot_code for each level; `images`: of fc_aot_cuda_block. */
uint32_t fc_aot_def_block(fc_aot *a, const fc_job *s, const fc_plan *p, const uint32_t *code,
                          uint32_t images);
/* Sizes that are arguments, in their order: the named symbols but for those of --static. */
uint32_t fc_aot_sizes(const fc_job *s, uint32_t *sym, uint32_t room);
/* For what classes are chosen: the target, its machine, how arrays are aligned. */
typedef struct fc_aot_machine_of {
    const fc_target *target;
    const fc_machine *machine;
    uint32_t align;
} fc_aot_machine_of;
/* The classes of a kernel, the last one the plain one, and what their code is called: functions of
 * the object, or an entry point of an image. */
typedef struct fc_aot_choice {
    fc_class cls[FC_AOT_CLASSES + 1];
    const char *main[FC_AOT_CLASSES + 1], *finish[FC_AOT_CLASSES + 1], *name[FC_AOT_CLASSES + 1];
    size_t n; /* without the plain one */
} fc_aot_choice;
/* Those of each kernel of a plan, without names: aot_classes.c. */
fusec_status fc_aot_choose(fc_aot *a, const fc_job *s, const fc_plan *p, const fc_aot_machine_of *x,
                           fc_aot_choice *out, fc_error *e);
/* A block with an fc_aot_code for each of `n` kernels. */
uint32_t fc_aot_code_table(fc_aot *a, const fc_aot_choice *of, size_t n);
/* The images of all GPUs; *block: an fc_aot_image for each: aot_cuda.c. */
fusec_status fc_aot_cuda_block(fc_aot *a, const fc_job *s, const fc_plan *p, uint32_t *block,
                               fc_error *e);
/* "sm_90", "compute_90"; false: it is no name of a GPU. */
bool fc_aot_add_gpu(fc_aot *a, const char *name, fc_error *e);
/* What the header says of GPUs, and the functions that do not belong to a definition. */
void fc_aot_cuda_header(const fc_aot *a, fc_str *out);
fusec_status fc_aot_cuda_functions(fc_aot *a, fc_error *e);
/* Names a function of the header, which stays global. NULL after a failure. */
const char *fc_aot_name(fc_aot *a, fc_error *e, const char *fmt, ...) FC_PRINTF(3, 4);
/* The code of a plan's kernels for a level; *block: an fc_aot_code for each: aot_code.c. */
fusec_status fc_aot_code_block(fc_aot *a, const fc_job *s, const fc_plan *p, int level,
                               const char *name, uint32_t *block, fc_error *e);
fusec_status fc_aot_compile(fc_aot *a, const fc_str *text, const char *cpu, fc_error *e);
/* The prototype, the words above it, and what the glue does: aot_header.c. */
fusec_status fc_aot_function(fc_aot *a, const fc_job *s, const fc_item *def, const char *dtype,
                             uint32_t block, size_t checks, fc_error *e);
void fc_aot_header_text(const fc_aot *a, fc_str *out);
/* The objects and the run time as nn.o, libnn.a, libnn.so in the folder: aot_link.c. */
fusec_status fc_aot_link(fc_aot *a, const char *folder, unsigned what, fc_error *e);
/* The archive of the run time, which is part of the command (aot_runtime.c). */
void fc_aot_runtime(const unsigned char **data, size_t *size);

#endif
