/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rewrite.h - how a pass makes a new graph from an old one.
 *
 * A pass never changes its source. It begins an empty graph that speaks of the same sizes and
 * inputs, walks the source's nodes in order, and builds what it wants instead of each node with
 * fc_graph_node; map[old id] is the new id. Since operands come before their users, their new ids
 * are known. Nodes that no output needs are skipped, and that is all of dead code elimination.
 *
 *     static fc_node rewritten(src, dst, fc_node n, const fc_node *map, void *user)
 *         return ...;
 *     return fc_rewrite_each(src, dst, rewritten, user, e);
 *
 * A pass that fails leaves nothing in `dst` to free. */
#ifndef FUSEC_PASSES_REWRITE_H
#define FUSEC_PASSES_REWRITE_H

#include "ir/graph.h"

/* Builds the nodes of `dst`: live[n] is 1 for every node that an output depends on, else 0; of each
 * output's node, map[n] has to be set. False without an error in dst->error: out of memory. */
typedef bool (*fc_rewrite_fn)(const fc_graph *src, fc_graph *dst, const uint8_t *live, fc_node *map,
                              const void *user);

/* The beginning of one: an empty graph with the allocator, dims, lists, inputs and conditions of
 * the source. When it fails, dst->error says why and `dst` has to be freed. */
fusec_status fc_rewrite_begin(const fc_graph *src, fc_graph *dst);

/* Makes `dst`: an empty graph with the allocator, dims, lists and inputs of the source under the
 * same numbers (dead inputs too, they belong to the program), its conditions, and no limit on
 * nodes; what `walk` builds, but for what is dead then; the outputs. Frees `dst` when it fails. */
fusec_status fc_rewrite_by(const fc_graph *src, fc_graph *dst, fc_rewrite_fn walk, const void *user,
                           fc_error *e);

/* What one node becomes; its operands are mapped. FC_NONODE without an error: itself. */
typedef fc_node (*fc_rewrite_one)(const fc_graph *src, fc_graph *dst, fc_node n, const fc_node *map,
                                  void *user);

/* The same of a graph whose nodes each become what they do by themselves. */
fusec_status fc_rewrite_each(const fc_graph *src, fc_graph *dst, fc_rewrite_one rewritten,
                             void *user, fc_error *e);

/* Dims, lists and words of `src` under the same numbers, for an empty graph; false: out of memory.
 */
bool fc_rewrite_context(const fc_graph *src, fc_graph *dst);

/* live[n] = 1 for every node that an output depends on, else 0; `live` has an entry for
 * each node. */
void fc_rewrite_live(const fc_graph *src, uint8_t *live);

/* A source node with its operands mapped, ready for fc_graph_node; the same for a whole node. */
fc_ninfo fc_rewrite_info(const fc_graph *src, fc_node n, const fc_node *map);
fc_node fc_rewrite_node(const fc_graph *src, fc_graph *dst, fc_node n, const fc_node *map);

/* The same graph without its dead nodes. */
fusec_status fc_rewrite_copy(const fc_graph *src, fc_graph *dst, fc_error *e);
/* fc_rewrite_copy in place, skipped when nothing is dead. Frees *g when it fails. */
fusec_status fc_rewrite_sweep(fc_graph *g, fc_error *e);

/* Adds a view (its `nops` is 1) to `g`, composed with the views it stands on: broadcasts, permutes,
 * slices and reshapes of their own kind become one, those that change nothing vanish, and a view of
 * one broadcast value is that value broadcast. */
fc_node fc_rewrite_view(fc_graph *g, fc_ninfo view);

/* The number of elements of a reduction that fc_pass_short writes out, else 0; whether a graph has
 * one. */
int64_t fc_short_count(const fc_graph *g, const fc_ninfo *n);
bool fc_has_short(const fc_graph *g);

/* The contraction that a sum of a product of spread factors is, if `mode` (FC_MODE_*) lets it be
 * one; the sum with FC_NODE_PRODUCT if it does not; else FC_NONODE. Operands of `sum` are nodes of
 * `g`. */
fc_node fc_sum_as_dot(fc_graph *g, fc_ninfo sum, uint32_t mode);

#endif
