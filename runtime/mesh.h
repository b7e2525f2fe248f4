/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mesh.h - one call computed by several devices: the arrays, in host memory, are cut along a size
 * (runtime/cut.h) into as many parts as there are devices, each computes its part in a thread of
 * its own (of two calls at the same time in one context the second goes from device to device), and
 * what reductions found out goes from each to all between the sweeps, a few accumulators each.
 *
 * The results have the bits of one device, for any number of them. A device that fails, as one that
 * is lost, fails the call and is named; the others end what they are at. */
#ifndef FUSEC_RUNTIME_MESH_H
#define FUSEC_RUNTIME_MESH_H

#include "runtime/cut.h"

typedef struct fc_mesh_call {
    fc_program *const *programs; /* [n] the same program, each for its device */
    const char *const *names;    /* [n] of the devices, for messages */
    uint32_t n;
    const char *dim; /* the size that is cut */
    uint32_t nin, nout, ndims;
    const fc_tensor *in, *out;
    const fc_dim_value *dims;
} fc_mesh_call;

fusec_status fc_mesh_run(const fc_mesh_call *c, fc_error *e);

#endif
