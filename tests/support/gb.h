/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gb.h - short names for building graphs in tests. */
#ifndef FUSEC_TESTS_SUPPORT_GB_H
#define FUSEC_TESTS_SUPPORT_GB_H

#include "ir/graph.h"

static inline fc_node gb1(fc_graph *g, fc_op op, fc_node a) {
    return fc_build_op(g, op, a, FC_NONODE, FC_NONODE);
}
static inline fc_node gb2(fc_graph *g, fc_op op, fc_node a, fc_node b) {
    return fc_build_op(g, op, a, b, FC_NONODE);
}
static inline fc_node gb3(fc_graph *g, fc_op op, fc_node a, fc_node b, fc_node c) {
    return fc_build_op(g, op, a, b, c);
}
/* A number of the dtype of `like`. */
static inline fc_node gbn(fc_graph *g, fc_node like, double v) {
    return like == FC_NONODE ? like : fc_build_number(g, (fusec_dtype)fc_at(g, like)->dtype, v);
}
static inline fc_dim gbd(fc_graph *g, const char *name) {
    return fc_dim_named(&g->dims, name);
}
static inline fc_node gbin(fc_graph *g, const char *name, fusec_dtype t, int rank, fc_dim a,
                           fc_dim b, fc_dim c) {
    fc_dim s[3] = {a, b, c};
    return fc_build_input(g, name, t, (uint32_t)rank, s);
}
static inline fc_node gbred(fc_graph *g, fc_op op, fc_node a, int64_t axis, bool keep) {
    return fc_build_reduce(g, op, a, 1, &axis, keep);
}
static inline fc_node gball(fc_graph *g, fc_op op, fc_node a) {
    return fc_build_reduce(g, op, a, 0, NULL, false);
}
/* The slice start : start + size along one axis; size is a dim. */
static inline fc_node gbslice(fc_graph *g, fc_node a, uint32_t axis, int64_t start, fc_dim size) {
    fc_slice s[FC_MAX_RANK];
    if (a == FC_NONODE) return a;
    for (uint32_t i = 0; i < fc_rank(g, a); i++)
        s[i] = (fc_slice){fc_dim_const(&g->dims, 0), 1, fc_axis(g, a, i)};
    s[axis] = (fc_slice){fc_dim_const(&g->dims, start), 1, size};
    return fc_build_slice(g, a, s);
}

#endif
