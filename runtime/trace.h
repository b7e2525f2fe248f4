/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace.h - when what happens: compilations, copies, launches and kernels of a device, for a
 * timeline, and the same as ranges of NVTX for NVIDIA's profilers.
 *
 *     fc_trace_new(alloc, true, &t, e)       before the context: fc_config.trace
 *     fc_trace_span(t, "plan", name, begin)  what is no function of a device
 *     fc_trace_settle(t)                     before the context goes: waits for the kernels, asks
 * when they ran t->events
 *
 * A device that is traced has a table of functions in front of its own, so without a trace nothing
 * is asked. On a device with memory of its own each kernel stands between two events of its stream,
 * and its place in time is the device's; elsewhere a launch is the kernel. */
#ifndef FUSEC_RUNTIME_TRACE_H
#define FUSEC_RUNTIME_TRACE_H

#include "runtime/device.h"

enum { FC_TRACE_NAME = 96, FC_TRACE_EVENTS = 1 << 20, FC_TRACE_DEVICE_ROW = 1000 };

typedef struct fc_trace_event {
    const char *kind; /* "kernel" */
    char name[FC_TRACE_NAME];
    double begin, end; /* seconds since the trace began */
    uint32_t row;      /* the thread, from 0; FC_TRACE_DEVICE_ROW + n: of cuda:n */
    int64_t bytes;     /* of a copy; -1: none */
} fc_trace_event;

typedef struct fc_trace {
    const fc_alloc *alloc;
    bool record; /* false: NVTX alone */
    FC_VEC(fc_trace_event) events;
    uint64_t dropped; /* that there was no room for */
    struct fc_trace_state *state;
} fc_trace;

fusec_status fc_trace_new(const fc_alloc *a, bool record, fc_trace **out, fc_error *e);
/* After the devices that are traced. NULL is fine. */
void fc_trace_free(fc_trace *t);
/* Ranges for profilers from now on, by the library that FUSEC_NVTX_PATH names or the system has.
 * False, and why, if there is none. */
bool fc_trace_nvtx(fc_trace *t, fc_str *why);
/* The device's functions are traced from now on; once only. False: no memory, it is not. */
bool fc_trace_attach(fc_trace *t, fc_device *d);

double fc_trace_now(const fc_trace *t);
void fc_trace_span(fc_trace *t, const char *kind, const char *name, double begin);
void fc_trace_settle(fc_trace *t);

#endif
