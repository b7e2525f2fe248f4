/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program.h - a graph compiled for a device: called many times with any sizes.
 *
 * A call binds the sizes of its inputs to the dims, checks the graph's conditions, and has for
 * these sizes (cached) everything a launch needs; then it patches pointers and scalars and
 * launches. */
#ifndef FUSEC_RUNTIME_PROGRAM_H
#define FUSEC_RUNTIME_PROGRAM_H

#include "runtime/context.h"

typedef struct fc_bound fc_bound;
typedef struct fc_ready fc_ready;

enum { FC_READY_PLACES = 8 };

typedef struct fc_program {
    fc_context *ctx;
    fc_device *device;
    const fc_alloc *alloc;
    uint32_t mode;
    fc_plan *plan;
    pthread_mutex_t lock;       /* the bound sizes and the variants */
    fc_bound *bound;            /* recently used sizes, newest first, at most FC_MAX_BOUND */
    uint64_t compiles;          /* kernels this program had to compile */
    int64_t plan_ns;            /* time the passes took */
    char name[40];              /* for people: in the list of the disk cache */
    struct fc_cut *cuts;        /* idle ones (cut.h); under the lock */
    struct fc_program **bodies; /* of the loops of its plan, by number */
    bool is_body;               /* the plan belongs to that of another program */
    struct fc_program
        *stored;         /* the same with operands of products in memory; NULL: there is none */
    uint64_t max_rounds; /* of a loop with a condition; 0: any number */
    bool graph;          /* repeated calls of several kernels are one launch, on CUDA */
    _Atomic(fc_ready *) ready[FC_READY_PLACES]; /* calls that can be repeated at once (ready.h) */
    _Atomic uint32_t nready; /* in their places or in use: never more than there are places */
    void
        *report; /* of its checks, on a device with memory of its own (outside.h); NULL: none yet */
    _Atomic uint32_t misses; /* calls that found nothing ready when there was no place left */
} fc_program;

enum { FC_MAX_BOUND = 16 };

/* An array argument of a call. Rank-0 inputs are read from host memory when the call is made,
 * whatever the device; `on_device` says where the data of the others is (host and device are the
 * same for cpu, interp). */
typedef struct fc_tensor {
    fusec_dtype dtype;
    uint32_t rank;
    const int64_t *shape;
    void *data;
    bool on_device;
    const int64_t *strides; /* in elements; NULL: dense, row-major */
} fc_tensor;

typedef struct fc_program_options {
    fc_device *device;
    uint32_t mode;
    bool unfused;
    bool graph; /* replay repeated calls as one CUDA graph; the results are the same */
    uint32_t max_ops;
    bool store_operands; /* see fc_pass_options */
    uint64_t max_rounds; /* that a loop with a condition may make; 0: any number */
    fc_str *dump;
    const char *name; /* of the program; NULL: it has none */
} fc_program_options;

fusec_status fc_program_new(fc_context *c, const fc_graph *g, const fc_program_options *o,
                            fc_program **out, fc_error *e);
void fc_program_free(fc_program *p);

/* operands.c: p->stored, where some calls may want it; the program that a call with these arguments
 * runs, p or p->stored. What numbers kernels has to ask first. */
fusec_status fc_program_store_operands(fc_program *p, const fc_graph *g,
                                       const fc_program_options *o, fc_error *e);

/* Named symbols that no input binds (parameters of type dim): values by symbol number. */
typedef struct fc_dim_value {
    uint32_t sym;
    int64_t value;
} fc_dim_value;

fc_program *fc_program_for(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                           const fc_dim_value *dims);

/* The shapes the outputs will have for these inputs (data is not looked at). `shapes` gets rank
 * entries for each output in order; the room needed is the sum of the ranks. */
fusec_status fc_program_shapes(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                               const fc_dim_value *dims, int64_t *shapes, fc_error *e);

/* Runs. `out[i].data` is the caller's memory for the i-th result (of the shape fc_program_shapes
 * gives; NULL is fine for an empty array). Host inputs are read and host results complete on
 * return, device results are ordered on `s`. A result may not overlap an input: FUSEC_INVALID,
 * nothing is written. */
fusec_status fc_program_run(fc_program *p, fc_stream s, uint32_t nin, const fc_tensor *in,
                            uint32_t ndims, const fc_dim_value *dims, uint32_t nout, fc_tensor *out,
                            fc_error *e);

/* Runs as fc_program_run on the device's own stream and measures each step: seconds of one launch,
 * one entry a step. */
fusec_status fc_program_time(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                             const fc_dim_value *dims, uint32_t nout, fc_tensor *out,
                             double *seconds, fc_error *e);

/* ---- what explain reports ---------------------------------------------------------------- */

typedef struct fc_step_report {
    uint32_t step;
    const char *schedule;                           /* "map", "inner", "outer", "dot" */
    char cls[200];                                  /* the shape class */
    int64_t bytes_read, bytes_written, bytes_floor; /* floor: distinct bytes of its arrays */
    uint32_t ops;
    double predicted; /* seconds; 0: unknown, nothing to do, or part of an earlier one's launch */
    bool compiled;    /* the code is loaded: what follows was read back from it */
    fc_code_facts facts; /* all 0 where the device does not tell */
} fc_step_report;

/* Seconds of a kernel that moves so many bytes and issues so many instructions of one thread (a
 * function counts for 13): what takes longer of the bytes at 88 % of the bandwidth that the
 * device's properties give, which is what a plain copy reaches (measured on an H200), and the
 * instructions at 128 a clock and SM; and not below the 3.1 us that one launch after another takes
 * there. Caches are not in it. 0 when the bandwidth is unknown: a CPU does not say it. */
double fc_predicted_seconds(const fc_device *d, int64_t bytes, double instructions);

/* One entry for each step for these sizes; compiles what is missing unless `dry`. */
fusec_status fc_program_report(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                               const fc_dim_value *dims, bool dry, fc_step_report *out,
                               fc_error *e);

/* Text of step `i` for these sizes: CUDA C, LLVM IR or the interpreter's listing. */
fusec_status fc_program_source(fc_program *p, uint32_t step, uint32_t nin, const fc_tensor *in,
                               uint32_t ndims, const fc_dim_value *dims, fc_str *out, fc_error *e);

#endif
