/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_schedule.h - sizes to class and launch: cuda_schedule.c is the entry and does rows,
 * cuda_map_schedule.c with cuda_tile_schedule.c maps, cuda_columns.c columns. Rows of special
 * shapes have files of their own: cuda_rect_schedule.c, cuda_ring_schedule.c,
 * cuda_cluster_schedule.c. cuda_wide.c says what can be read at once, cuda_smaller.c has classes
 * that take fewer registers, cuda_plain_schedule.c those that take any sizes. */
#ifndef FUSEC_CODEGEN_CUDA_SCHEDULE_CUDA_SCHEDULE_H
#define FUSEC_CODEGEN_CUDA_SCHEDULE_CUDA_SCHEDULE_H

#include "codegen/cuda/cuda_facts.h"

/* ---- fc_target ------------------------------------------------------------------------------- */

fusec_status fc_cuda_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                              uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *launch,
                              fc_error *e);
/* cuda_plain_schedule.c */
fusec_status fc_cuda_schedule_plain(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                    fc_arena *arena, fc_class *cls, fc_launch *launch, fc_error *e);
bool fc_cuda_smaller(const fc_machine *m, const fc_kernel *k, const fc_nest *n, uint32_t align,
                     uint32_t registers, uint32_t spill_bytes, fc_arena *arena, fc_class *cls,
                     fc_launch *l);
/* fc_target.quicker: a thread's elements one after the other instead of vectors of them. */
bool fc_cuda_map_quicker(const fc_machine *m, const fc_kernel *k, const fc_launch *l,
                         fc_class *cls);

/* ---- the choices ----------------------------------------------------------------------------- */

/* cuda_wide.c: whether every access that moves by one along `axis` can take n elements (up to 16
 * bytes) at once. */
bool fc_cuda_can_be_wide(const fc_kernel *k, const fc_nest *nest, const fc_class *cls,
                         uint32_t axis, unsigned n, uint32_t align);
/* Whether `by` neighbours of one along an axis are 16 bytes that can be read at once, everywhere.
 */
bool fc_cuda_side_by_side(const fc_nest *n, uint32_t a, unsigned axis, uint32_t align, int by);
/* The same along several axes, as bits, of which that is the innermost and which are one to it. */
bool fc_cuda_side_by_side_in(const fc_nest *n, uint32_t a, uint32_t joined, unsigned axis,
                             uint32_t align, int by);
fusec_status fc_cuda_map_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                  uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *l,
                                  fc_error *e);
/* The launch of a map of vectors, `repeat` a thread. */
void fc_cuda_map_vectors(const fc_machine *m, const fc_nest *n, fc_class *cls, fc_launch *l,
                         unsigned repeat);
/* Leaves the class as it is if no load needs to be turned. */
fusec_status fc_cuda_tile_schedule(const fc_kernel *k, const fc_nest *n, uint32_t align,
                                   fc_arena *arena, fc_class *cls, fc_launch *l, fc_error *e);
/* False: rows of this nest have no rectangles, and nothing is changed. */
bool fc_cuda_rect_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                           uint32_t align, fc_class *cls, fc_launch *l);
/* The kind stays as it is where a contraction has no tiles. */
fusec_status fc_cuda_dot_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                  uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *l,
                                  fc_error *e);
/* cuda_dot_parts.c: how many of `count` elements of k a block takes of a tile, `count` or less: as
 * many chunks as a subtree has; what all tiles take, in a unit of its own. */
int64_t fc_cuda_dot_span(const fc_machine *m, const fc_cuda_tile *t, int64_t tiles, int64_t count);
double fc_cuda_dot_cost(const fc_machine *m, const fc_cuda_tile *t, int64_t tiles, int64_t count);
/* cuda_dot_window.c: FC_CUDA_AT_K, FC_CUDA_AT_PLACE, or FC_CUDA_BY_ONE; the axes, as bits, that are
 * numbered together with that of the rows (columns), which `uses` moves along and `other` does
 * not; whether those are one to all that is behind the product. */
uint16_t fc_cuda_dot_window(const fc_kernel *k, const fc_nest *n, fc_val operand, unsigned axis,
                            uint32_t align, bool tensor);
unsigned fc_cuda_dot_join(const fc_kernel *k, const fc_nest *n, const uint8_t *uses,
                          const uint8_t *other, unsigned axis);
bool fc_cuda_dot_is_one(const fc_kernel *k, const fc_nest *n, unsigned axis, unsigned joined);
/* The tiles that take any sizes, of 16-bit operands; else the kind stays as it is. */
fusec_status fc_cuda_dot_plain(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                               fc_arena *arena, fc_class *cls, fc_launch *l, fc_error *e);
/* fc_target.join, of each form (cuda_flash_schedule.c, cuda_slide_schedule.c). */
fusec_status fc_cuda_join_flash(const fc_machine *m, uint32_t mode, uint32_t align, fc_arena *arena,
                                fc_joined *j, fc_launch *l, bool *can, fc_error *e);
fusec_status fc_cuda_join_slide(const fc_machine *m, uint32_t align, fc_arena *arena, fc_joined *j,
                                fc_launch *l, bool *can, fc_error *e);
bool fc_cuda_dot_smaller(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                         fc_launch *l);
fusec_status fc_cuda_outer_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                    uint32_t align, fc_class *cls, fc_launch *l, fc_error *e);
void fc_cuda_scan_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                           uint32_t align, fc_class *cls, fc_launch *l);
/* `chosen`: whether rows of this nest have a ring; else the class is as it was. `comes` has room
 * for a byte for each access. */
fusec_status fc_cuda_ring_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                   uint8_t *comes, fc_class *cls, fc_launch *l, bool *chosen,
                                   fc_error *e);
/* As fc_cuda_ring_schedule. */
fusec_status fc_cuda_cluster_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                      uint8_t *comes, fc_class *cls, fc_launch *l, bool *chosen,
                                      fc_error *e);

#endif
