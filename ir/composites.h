/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* composites.h - the functions of composites.def: their facts, and their nodes. */
#ifndef FUSEC_IR_COMPOSITES_H
#define FUSEC_IR_COMPOSITES_H

#include "ir/graph.h"

/* The axes of a reduction, as fc_build_reduce takes them. */
typedef struct fc_axes {
    uint32_t n;
    const int64_t *at;
    bool keepdims;
} fc_axes;

typedef struct fc_composite {
    const char *name, *doc;
    uint8_t operands, results; /* of a map; 0 of a fold */
    fc_op like;
    const char *parameter; /* of a fold; NULL: it has none */
    double otherwise;
    /* Nodes of one dtype and shape in, `results` nodes out (FC_NONODE: g->error is set). */
    void (*map)(fc_graph *g, const fc_node *x, fc_node *out);
    fc_node (*fold)(fc_graph *g, fc_node x, const fc_axes *axes, double parameter);
} fc_composite;

extern const fc_composite fc_composites[];
extern const size_t fc_composite_count;
const fc_composite *fc_composite_by_name(const char *name); /* NULL: there is none */

#define MAP(name, ...) void fc_build_##name(fc_graph *g, const fc_node *x, fc_node *out);
#define FOLD(name, ...)                                                                            \
    fc_node fc_build_##name(fc_graph *g, fc_node x, const fc_axes *axes, double p);
#include "ir/composites.def"

/* ---- composites_array.c: arrays of indices, neighbours, digits ---------------------------------
 */

/* n numbers from a to b, both among them; one alone is a. */
fc_node fc_build_linspace(fc_graph *g, fusec_dtype t, double a, double b, fc_dim n);
/* x of two axes or more, 0 above (upper: below) the diagonal k. */
fc_node fc_build_triangle(fc_graph *g, fc_node x, int64_t k, bool upper);
/* Each element less the one before it along an axis. */
fc_node fc_build_diff(fc_graph *g, fc_node x, int64_t axis);
/* Rounded to so many digits behind the point; a negative number before it. */
fc_node fc_build_round_to(fc_graph *g, fc_node x, int digits);

#endif
