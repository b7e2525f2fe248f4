/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fold.h - reductions and scans by code of the user's: records of several values, and a body that
 * makes one record of two.
 *
 * A body is no graph of its own. It is made of nodes of the same array, over slots: FC_OP_SLOT,
 * values of rank 0 that are bound where the body runs. Value c of the record of earlier elements is
 * slot c, of the record of later ones slot FC_MAX_RECORD + c. Equal bodies are equal nodes.
 *
 * An FC_OP_FOLD is ONE value of the resulting record: operands are the list of arrays that the
 * elements come from, all of one shape, and the list of what the body makes of two records. Folds
 * that differ in the number of the result only share everything else, and lowering makes one
 * reduction of those that share a kernel. Axes, tree and flags are those of reductions and scans
 * (docs/semantics.md, section 6). */
#ifndef FUSEC_IR_FOLD_H
#define FUSEC_IR_FOLD_H

#include "ir/expand.h"
#include "ir/graph.h"

enum { FC_MAX_RECORD = FC_MAX_COMPONENTS };

/* The row that joins two results of a reduction with one component: add of sum and mean. */
fc_op fc_join_row(fc_op red);

/* An FC_OP_SLOT: attr is its number. Of a complex number two, joined. */
fc_node fc_build_slot(fc_graph *g, fusec_dtype t, uint32_t number);
static inline uint32_t fc_slots_of(fusec_dtype t) {
    return fc_is_complex(t) ? 2 : 1;
}

/* FC_OP_RECORD: a chain of nodes with any number of values, at least one. Its dtype and shape are
 * those of the first and mean nothing. fc_record_nodes gives the number of values, and the first
 * `most` of them. */
fc_node fc_build_record(fc_graph *g, uint32_t n, const fc_node *v);
uint32_t fc_record_nodes(const fc_graph *g, fc_node list, uint32_t most, fc_node *out);

/* What an FC_OP_FOLD says in its attr: an interned list of result, kind, axes, starts. */
typedef enum fc_fold_kind { FC_FOLD_REDUCE, FC_FOLD_SCAN, FC_FOLD_EXCLUSIVE } fc_fold_kind;
typedef struct fc_fold_spec {
    uint32_t result, n; /* which of the n values of a record */
    fc_fold_kind kind;
    uint64_t axes; /* a bit each; of a scan one */
    uint64_t start[FC_MAX_RECORD];
} fc_fold_spec;
enum { FC_FOLD_FIXED = 3 }; /* entries of the list before the starts */
fc_fold_spec fc_fold_of(const fc_graph *g, const fc_ninfo *n);

/* Whether a node reduces, or scans, whatever the code is; the axes along which. */
bool fc_reduces(const fc_graph *g, fc_node n);
bool fc_scans(const fc_graph *g, fc_node n);
uint64_t fc_reduced_axes(const fc_graph *g, fc_node n);

/* bound[n]: the value depends on a slot, and is no value outside of a body. */
void fc_find_bound(const fc_graph *g, uint8_t *bound);

/* The dtype of slots for elements of this dtype: 16-bit floats are f32 in a record, and results
 * round once. */
static inline fusec_dtype fc_record_dtype(fusec_dtype element) {
    return fc_is_complex(element) ? element : fc_dtypes[element].compute;
}

typedef struct fc_fold_args {
    const char *what; /* for messages: "reduce" */
    uint32_t n;
    const fc_node *element; /* broadcast together; a complex number counts as two values */
    const fc_node *start;   /* constants; NULL: none, then no elements are an error */
    const fc_node *body;    /* of dtype fc_record_dtype, elementwise in the slots */
    uint32_t naxes;         /* of a scan 1 */
    const int64_t *axes;    /* NULL: all */
    bool keepdims, scan, exclusive, reverse;
    bool resets; /* scan: where `reset` (bool) is true, an element is the first one */
    fc_node reset;
} fc_fold_args;
/* out[0 .. n - 1]: a fold for each value of the record. False: g->error says why. */
bool fc_build_fold(fc_graph *g, const fc_fold_args *a, fc_node *out);

/* y[t] = a[t] * y[t - 1] + b[t] along an axis, from `init` (FC_NONODE: 0) before the first element,
 * which may lack the axis. Of `how` the flags of a scan and `reset` are read. */
fc_node fc_build_linrec(fc_graph *g, fc_node a, fc_node b, fc_node init, int64_t axis,
                        fc_fold_args how);
/* A scan by a row that starts anew where `reset` (bool) is true: there element i is the first one.
 */
fc_node fc_build_scan_reset(fc_graph *g, fc_op op, fc_node a, fc_node reset, int64_t axis,
                            bool exclusive, bool reverse);

#endif
