/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan.h - what the passes make of a graph: kernels in the order they run, and the buffers between
 * them. */
#ifndef FUSEC_PASSES_PLAN_H
#define FUSEC_PASSES_PLAN_H

#include "ir/graph.h"
#include "ir/kernel.h"

typedef enum fc_buffer_kind { FC_BUF_INPUT, FC_BUF_OUTPUT, FC_BUF_TEMP } fc_buffer_kind;

/* A dense row-major array of the shape and dtype of its node, and the steps that use it. */
typedef struct fc_buffer {
    fc_buffer_kind kind;
    uint32_t number; /* of the input or output; temporaries count from 0 */
    fc_node node;    /* of plan->graph */
    uint32_t writer, first_reader, last_reader; /* FC_NO_STEP: none */
    bool mixed; /* it is written more than once; writer is the last step that does */
} fc_buffer;
#define FC_NO_STEP UINT32_MAX

/* What a step is. Of one that is no kernel `kernel` holds the arrays that it reads and writes, and
 * nothing else: it has no code. */
typedef enum fc_step_kind {
    FC_STEP_KERNEL,
    FC_STEP_LOOP,
    FC_STEP_SORT,
    FC_STEP_FFT,
    FC_STEP_CALL
} fc_step_kind;

/* What such a step reads: an array, or a scalar that the host computes from those of the call. */
typedef struct fc_step_input {
    fc_node node;
    uint32_t buffer; /* FC_ON_HOST: the scalar is computed on the host */
} fc_step_input;
#define FC_ON_HOST UINT32_MAX

/* Where value `number` of its tuple goes. The first of a number is where it is made, the others are
 * copies. */
typedef struct fc_step_output {
    uint32_t number, buffer;
} fc_step_output;

typedef struct fc_step {
    fc_step_kind kind;
    fc_kernel kernel;
    const char *what; /* "softmax-like" description: the results it makes, for explain */
    const char *why;  /* why it is not one kernel with its neighbours; "" if it has none */
    const char *note; /* what would make it faster; "" if nothing is known */
    uint32_t ops, transcendental; /* per point */
    /* of steps that are no kernels */
    fc_node node;  /* of plan->graph */
    uint32_t body; /* of a loop: its number in plan->bodies */
    fc_step_input *in;
    fc_step_output *out; /* those that somebody reads, by number */
    uint32_t nin, nout, nscalars;
    fc_node *scalars; /* what the host computes for the inputs, operands first */
} fc_step;

struct fc_plan_body;

/* Float modes: licences that a graph was compiled with (docs/semantics.md). Part of every cache
 * key. */
enum {
    FC_MODE_CONTRACT = 1,
    FC_MODE_REASSOC = 2,
    FC_MODE_RECIP = 4,
    FC_MODE_NNAN = 8,
    FC_MODE_NINF = 16,
    FC_MODE_NSZ = 32,
    FC_MODE_APPROX = 64,
    FC_MODE_WIDE16 = 128,
    FC_MODE_TF32 = 1024,
    /* no licences: what becomes of an index outside (passes/ranges.c) */
    FC_MODE_CLAMP = 256,
    FC_MODE_UNCHECKED = 512
};

typedef struct fc_pass_options {
    uint32_t mode; /* FC_MODE_* */
    bool unfused;  /* every operation its own kernel: the plan explain and bench compare against */
    uint32_t
        disable; /* bit i: leave out pass i of the table that is not required (passes/pipeline.c) */
    bool verify; /* check the graph and the kernels between passes */
    fc_str *dump;        /* text after each pass; NULL = none */
    int64_t *pass_ns;    /* time of each pass, FC_PASS_MAX entries; NULL = not wanted */
    uint32_t max_ops;    /* operations per kernel; 0 = 512 */
    bool store_operands; /* what a product reads is in memory, however cheap it is to compute */
    uint64_t max_rounds; /* loops with a condition that may make more are launches, which are
                            counted; 0: any number */
} fc_pass_options;

typedef struct fc_plan {
    const fc_alloc *alloc;
    fc_arena arena;
    fc_graph
        graph; /* after simplification; the dims and inputs have the numbers of the user's graph */
    FC_VEC(fc_step *) steps;
    FC_VEC(fc_buffer) buffers;            /* inputs first, then outputs, then temporaries */
    FC_VEC(struct fc_plan_body *) bodies; /* of its loops (passes/bodies.h) */
    uint32_t ntemps;
    struct fc_fusion *fusion; /* between fuse and the end of the pipeline (passes/fuse.h) */
} fc_plan;

/* Runs the pipeline on a copy of `g`; the graph itself is not changed. */
fusec_status fc_plan_build(const fc_graph *g, const fc_pass_options *o, fc_plan **out, fc_error *e);
void fc_plan_free(fc_plan *p);
/* Kernels of the plan and of the bodies of its loops. */
uint32_t fc_plan_kernels(const fc_plan *p);

/* ---- the pipeline table ------------------------------------------------------------------ */

/* A pass makes a new graph (a pass that fails leaves nothing in `dst` to free), or adds to the
 * plan: labels, kernels, figures. */
typedef fusec_status fc_rewrite_pass(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                                     fc_error *e);
typedef fusec_status fc_label_pass(fc_plan *p, const fc_pass_options *o, fc_error *e);

#define FC_PASS_MAX 16
typedef struct fc_pass {
    const char *name;
    const char *guarantees;   /* one line: what holds afterwards */
    fc_rewrite_pass *rewrite; /* one of the two */
    fc_label_pass *label;
    bool required; /* can't be switched off */
} fc_pass;
#define PASS(kind, name, fn, needed, holds) fc_##kind##_pass fn;
#include "passes/passes.def"
extern const fc_pass fc_passes[];
extern const uint32_t fc_pass_count;

/* Structural checks of a graph: operand order, shapes, dtypes of every node. */
fusec_status fc_graph_verify(const fc_graph *g, fc_error *e);
/* What is wrong with what is, or is to be, node `id`; NULL: nothing. */
const char *fc_node_fault(const fc_graph *g, fc_node id, const fc_ninfo *n);

#endif
