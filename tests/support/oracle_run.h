/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_run.h - runs graphs on the devices of this machine and has the oracle judge the
 * results. */
#ifndef FUSEC_TESTS_SUPPORT_ORACLE_RUN_H
#define FUSEC_TESTS_SUPPORT_ORACLE_RUN_H

#include "runtime/program.h"
#include "tests/support/oracle.h"

/* A context of this process for a device ("interp", "cpu", "cuda") and number of threads; made
 * once, freed at exit. All share one disk cache that lives as long as the process. NULL when the
 * device is not there. */
fc_context *fc_rig(const char *device, int threads, fc_device **out);

/* For processes that may be killed, whose parent makes the folder of that cache, says so in the
 * child before the first fc_rig, and removes it. */
enum { FC_RIG_PATH = 300 };
void fc_rig_make_folder(char path[FC_RIG_PATH]); /* "" when it can't be made */
void fc_rig_use_folder(const char *path);
void fc_rig_remove_folder(const char *path);

typedef struct fc_arrays {
    uint32_t n;
    fc_tensor *t; /* shape and data belong to the struct */
} fc_arrays;

/* Zeroed arrays for the inputs (or outputs) of g with the sizes of an oracle. */
void fc_arrays_for(fc_arrays *a, const fc_graph *g, const fc_oracle *sizes, bool outputs);
void fc_arrays_free(fc_arrays *a);
int64_t fc_array_count(const fc_tensor *t);

typedef struct fc_how {
    fc_context *ctx;
    fc_device *device;
    bool unfused;
    uint32_t max_ops; /* of a kernel; 0: the usual limit */
    int runs;         /* 0 = 1; with the same program */
} fc_how;

/* Compiles and runs g. `out` receives arrays (free them). Checks that the shapes are those the
 * oracle has, that nothing is written around the results, that inputs stay as they are, and that
 * repeated runs agree; FUSEC_INTERNAL with a message if not. `syms` gives what no input binds. */
fusec_status fc_rig_run(const fc_how *how, const fc_graph *g, const int64_t *syms,
                        const fc_arrays *in, fc_arrays *out, fc_error *e);

/* The same with a program that is there; g may have been built for other sizes than the program. */
fusec_status fc_rig_call(const fc_how *how, fc_program *p, const fc_graph *g, const int64_t *syms,
                         const fc_arrays *in, fc_arrays *out, fc_error *e);
fusec_status fc_rig_compile(const fc_how *how, const fc_graph *g, fc_program **p, fc_error *e);

/* The named symbols that no input has as an axis; their number. `out` has room for all. */
uint32_t fc_rig_dims(const fc_graph *g, const int64_t *syms, fc_dim_value *out);

/* The first output element that is not what the oracle wants; false when all are right. */
bool fc_judge(const fc_graph *g, const fc_oracle *o, const fc_arrays *out, fc_str *why);
/* The first element that differs; those that the oracle calls tainted are not compared. */
bool fc_differ(const fc_graph *g, const fc_oracle *o, const fc_arrays *a, const fc_arrays *b,
               fc_str *why);

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct fc_rng {
    uint64_t s;
} fc_rng;
uint64_t fc_random(fc_rng *r);
static inline uint64_t fc_below(fc_rng *r, uint64_t n) {
    return fc_random(r) % n;
}

uint32_t fc_special_count(fusec_dtype t);
uint64_t fc_special(fusec_dtype t, uint32_t i);                /* storage bits */
uint64_t fc_random_value(fusec_dtype t, fc_rng *r, bool tame); /* tame: small, no nan, no inf */

#endif
