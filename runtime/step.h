/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step.h - steps of a call that are no kernels: what they need for one set of sizes, and running
 * them.
 *
 * A loop has its body as a program of its own, whose calls are made like any other: the second one
 * is ready (ready.h), so a round costs the launches of its kernels. Carried arrays alternate
 * between two places, or more where rounds run ahead of a condition, the last round's being the
 * result's; nothing is copied or allocated between rounds. */
#ifndef FUSEC_RUNTIME_STEP_H
#define FUSEC_RUNTIME_STEP_H

#include "runtime/bind.h"

/* What a step of a call is run with. */
typedef struct fc_step_call {
    fc_program *p;
    fc_stream stream;
    const fc_bound *b;
    uint32_t step;
    void *const *at;     /* address of each buffer of the plan */
    const fc_tensor *in; /* of the call: its scalars */
    char *workspace;
} fc_step_call;

/* Fills what bind.h says of the step: its workspace, and its own part. */
fusec_status fc_step_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e);
fusec_status fc_step_run(const fc_step_call *c, fc_error *e);
/* The value of scalar input `number`; of one that a kernel made it waits. */
fusec_status fc_step_scalar(const fc_step_call *c, uint32_t number, uint64_t *bits, fc_error *e);

/* ---- loops (step_loop.c) --------------------------------------------------------------------- */

fusec_status fc_loop_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e);
void fc_loop_unbind(fc_program *p, fc_bound_step *s);
fusec_status fc_loop_run(const fc_step_call *c, fc_error *e);

/* ---- order (step_sort.c) --------------------------------------------------------------------- */

enum { FC_SORT_CODES = 4 }; /* kernels of a step, at most */
fusec_status fc_sort_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e);
/* The kernels that a step lacks on its device, and how many. */
uint32_t fc_sort_wanted(fc_bound_step *s, fc_wanted w[FC_SORT_CODES]);
void fc_sort_unbind(fc_program *p, fc_bound_step *s);
fusec_status fc_sort_run(const fc_step_call *c, fc_error *e);

/* ---- Fourier transforms (step_fft.c) --------------------------------------------------------- */

fusec_status fc_fft_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e);
fusec_status fc_fft_step(const fc_step_call *c, fc_error *e);
void fc_fft_unbind(fc_program *p, fc_bound_step *s);
/* Who transforms on this device: "by cuFFT 12.0". Nothing where it is the device itself. */
void fc_fft_who(fc_device *d, fc_str *out);

#endif
