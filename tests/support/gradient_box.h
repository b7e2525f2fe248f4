/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_box.h - a graph whose inputs are small arrays of f64, computed by the oracle. */
#ifndef FUSEC_TESTS_SUPPORT_GRADIENT_BOX_H
#define FUSEC_TESTS_SUPPORT_GRADIENT_BOX_H

#include "passes/gradient.h"
#include "tests/support/gb.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

enum { GX_INPUTS = 8, GX_ELEMENTS = 4096 };

typedef struct gx {
    fc_graph g;
    int n; /* inputs */
    double data[GX_INPUTS][GX_ELEMENTS];
    fc_oracle o;
    bool ran;
} gx;

void gx_init(gx *x);
void gx_free(gx *x);
/* An f64 input of up to three axes (0 ends them) of these elements (NULL: from `seed`, in (-2, 2)).
 */
fc_node gx_in(gx *x, int64_t a, int64_t b, int64_t c, const double *data, uint64_t seed);
/* Computes the outputs of the graph again. */
void gx_run(gx *x);
/* Element i of a node that an output needs: the middle of its range, nan if that is wide. */
double gx_at(const gx *x, fc_node n, int64_t i);
int64_t gx_count(const gx *x, fc_node n);

#endif
