/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand.h - operations written with other operations.
 *
 * Two users: fc_legalize replaces rows that a target has no column for, and the emitters ask for
 * the step, combine and finish code of a reduction. Everything here follows docs/semantics.md,
 * section "definitions", and is the same on every target. */
#ifndef FUSEC_IR_EXPAND_H
#define FUSEC_IR_EXPAND_H

#include "ir/code.h"

/* Expands an elementwise row on operands of its compute dtype (not f16, bf16). FC_NOVAL when the
 * row has no expansion for this dtype. What the expansion is made of is expanded in turn if
 * c->target lacks it. */
fc_val fc_expand(fc_code *c, fc_op op, fc_val x, fc_val y, fc_val z);

/* Expands FC_OP_CAST from the dtype of `a` to `to` into CVT, comparisons and selects. */
fc_val fc_expand_cast(fc_code *c, fc_val a, fusec_dtype to);

/* ---- reductions; `t` is the dtype of the element as accumulated (fc_acc_dtype)
 *
 * argmin and argmax keep (value, i64 index), index -1 before the first element. Lanes of one tree
 * interleave, so their combine looks at the indices for ties; their step relies on rising indices.
 * var and std keep (mean, sum of squared differences, i64 count). */

#define FC_MAX_COMPONENTS 16

/* The dtype elements are converted to before they are accumulated, and the result dtype of
 * the row. */
fusec_dtype fc_acc_dtype(fc_op red, fusec_dtype element);
fusec_dtype fc_red_dtype(fc_op red, fusec_dtype element);
fusec_dtype fc_component_dtype(fc_op red, fusec_dtype t, int component);

void fc_red_init(fc_code *c, fc_op red, fusec_dtype t, fc_val out[FC_MAX_COMPONENTS]);
/* `acc` so far, element `x` (dtype t), of a contraction with `y` (else FC_NOVAL), its i64 index `i`
 * within the reduction */
void fc_red_step(fc_code *c, fc_op red, fusec_dtype t, const fc_val acc[], fc_val x, fc_val y,
                 fc_val i, fc_val out[FC_MAX_COMPONENTS]);
/* `a` covers earlier elements than `b` */
void fc_red_combine(fc_code *c, fc_op red, fusec_dtype t, const fc_val a[], const fc_val b[],
                    fc_val out[FC_MAX_COMPONENTS]);
/* the result, in the compute dtype of fc_red_dtype; `count` is i64 */
fc_val fc_red_finish(fc_code *c, fc_op red, fusec_dtype t, const fc_val acc[], fc_val count);

/* ---- a target's view of the code -------------------------------------------------------- */

/* Whether the target computes this row on dtype t (a compute dtype: not f16, bf16) without
 * expansion. */
bool fc_target_has(fc_target_kind target, fc_op op, fusec_dtype t);

/* Appends to `to` (usually empty) the code of `from` with everything the target lacks expanded.
 * map[i] (caller's, from->ins.len entries) receives the new index of instruction i. Dead code of
 * the expansion may remain; emitters walk from what they need. Sets to->target, so what is added to
 * `to` afterwards (fc_red_step and the like) is expanded too. */
fusec_status fc_legalize(const fc_code *from, fc_target_kind target, fc_code *to, fc_val *map);

/* Whether `op` does not depend on anything outside: constant folding is allowed for it in every
 * mode. */
bool fc_op_foldable(fc_op op);

#endif
