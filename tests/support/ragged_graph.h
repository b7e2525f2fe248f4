/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ragged_graph.h - graphs whose rows end by data, for tests of every device. */
#ifndef FUSEC_TESTS_SUPPORT_RAGGED_GRAPH_H
#define FUSEC_TESTS_SUPPORT_RAGGED_GRAPH_H

#include "tests/support/oracle_run.h"

typedef enum fc_ragged_form {
    FC_RAGGED_ROWS,    /* op[p in lo[i]..hi[i]](v[p]) */
    FC_RAGGED_PRODUCT, /* the same of v[p] * v[k[p]] */
    FC_RAGGED_COLUMNS, /* of v[p] * w[k[p], j] */
    FC_RAGGED_STAGES,  /* op of v[p] - max[p](v[p]), and the sum of the same */
    FC_RAGGED_FORMS
} fc_ragged_form;

typedef enum fc_ragged_kind {
    FC_RAGGED_MIXED, /* short ones, empty ones, some long */
    FC_RAGGED_ONE,   /* one has all */
    FC_RAGGED_EMPTY, /* all are empty, or end before they begin */
    FC_RAGGED_LONG,  /* each has nearly all */
    FC_RAGGED_KINDS
} fc_ragged_kind;

typedef struct fc_ragged_graph {
    fc_ragged_form form;
    fc_ragged_kind kind;
    fc_op op;
    fusec_dtype t;
    int64_t rows, elements, columns;
} fc_ragged_graph;

/* g is fresh; syms get the sizes. */
void fc_ragged_build(const fc_ragged_graph *r, fc_graph *g, int64_t *syms);
/* Fills the inputs; the same for the same seed. */
void fc_ragged_fill(const fc_ragged_graph *r, uint64_t seed, fc_arrays *in);

#endif
