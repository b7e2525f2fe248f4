/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ready.h - a call made before, kept so that it can be made again at once: loaded code and
 * parameter blocks in which only pointers and scalars change.
 *
 * A program has a few. A call takes one out of its place by an atomic exchange, so that it belongs
 * to that call alone, and puts it back: no lock, no allocation and no comparison of more than the
 * sizes of the arguments. Whatever does not match goes the long way through fc_bound_get, with all
 * checks and messages. */
#ifndef FUSEC_RUNTIME_READY_H
#define FUSEC_RUNTIME_READY_H

#include "runtime/bind.h"

/* Makes the call if it is ready. False: it is not, nothing was done. */
bool fc_ready_run(fc_program *p, fc_stream s, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                  const fc_dim_value *dims, uint32_t nout, const fc_tensor *out,
                  fusec_status *status, fc_error *e);

/* After a call that was made the long way with these arguments: the next one like it will be ready.
 * Not being able to is no failure. */
void fc_ready_keep(fc_program *p, fc_stream s, fc_bound *b, uint32_t nin, const fc_tensor *in,
                   uint32_t ndims, const fc_dim_value *dims, uint32_t nout, const fc_tensor *out);

void fc_ready_free_all(fc_program *p);

/* A series: `calls` calls in a row that differ in addresses and scalars alone, as one launch, a
 * graph of the device. `in` has the inputs of the first, then those of the second ...; `out` alike.
 * Nobody else may run it meanwhile. */
/* Whether calls on this stream can be: the program is kernels alone, and what is launched runs now
 * and not whenever it is replayed. */
bool fc_series_possible(const fc_program *p, fc_stream s);
/* `b`, with full code, is what these calls have. NULL: they are too large for one graph, or nothing
 * can be made. */
fc_ready *fc_series_make(fc_program *p, fc_bound *b, uint32_t calls, uint32_t nin,
                         const fc_tensor *in, uint32_t nout, const fc_tensor *out);
uint32_t fc_series_alignment(const fc_ready *r); /* of all arrays, see fc_common_alignment */
fusec_status fc_series_run(fc_program *p, fc_ready *r, fc_stream s, uint32_t nin,
                           const fc_tensor *in, uint32_t nout, const fc_tensor *out, fc_error *e);
void fc_series_free(fc_program *p, fc_ready *r); /* NULL is fine */

/* What all pointers of a call are aligned to: 64, 16, or less. Memory the library allocates is
 * always 64. */
uint32_t fc_common_alignment(const fc_device *d, uint32_t nin, const fc_tensor *in, uint32_t nout,
                             const fc_tensor *out);

#endif
