/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random_graph.h - random valid typed graphs as recipes: what to build, not what was built.
 *
 * A recipe can be built with symbolic or with constant sizes, and can be shrunk: every change
 * leaves it valid or is refused. Sizes are a table; size 0 of the table is the literal 1, and two
 * sizes of a shape are equal only if their numbers are. */
#ifndef FUSEC_TESTS_SUPPORT_RANDOM_GRAPH_H
#define FUSEC_TESTS_SUPPORT_RANDOM_GRAPH_H

#include "tests/support/oracle_run.h"

enum { RG_NODES = 128, RG_RANK = 8, RG_SIZES = 200, RG_NAMES = 4, RG_OUTPUTS = 16 };
extern const char *const rg_names[RG_NAMES];

typedef enum rg_size_kind {
    RG_CONST, /* value */
    RG_NAME,  /* a symbol: number a */
    RG_PLUS,  /* size a + c */
    RG_TIMES, /* size a * size b */
    RG_OVER   /* size a / c, exact */
} rg_size_kind;

typedef struct rg_size {
    rg_size_kind kind;
    int a, b;
    int64_t c, value;
} rg_size;

typedef enum rg_kind {
    RG_INPUT,
    RG_NUMBER, /* bits */
    RG_DIM,    /* size[0] as a value */
    RG_IOTA,
    RG_OP,
    RG_CAST,
    RG_BITCAST,
    RG_BROADCAST,
    RG_PERMUTE,
    RG_SLICE,
    RG_RESHAPE,
    RG_STORE,
    RG_REDUCE,
    RG_LOGSUMEXP,
    RG_VIEW,    /* edge, cut[].from, terms */
    RG_TAKE,    /* of src[0] at src[1] along axes[0]; keep: checked, taken by the size */
    RG_SCATTER, /* into src[0] at src[1] the src[2], along axes[0]; naxes: how; keep: as RG_TAKE */
    RG_SCAN,    /* axes[0]; bits: 1 exclusive, 2 reverse, 4 in stretches, 8 as a recurrence */
    RG_SORT,    /* src[0] along axes[0]; naxes: rg_order; bits: 1 downwards, or from the right */
    RG_LOOP,    /* carries src[0]; op, src[1] of the same type; bits: random_graph_loop.c */
    RG_DOT /* axes: the label of each axis of the second operand, that of an axis of the first is
              its number; bits: which labels are summed over */
} rg_kind;

/* Elements and positions in order, those of the first few, and where each element would stand in a
 * sorted row (of arrays of one axis). */
typedef enum rg_order { RG_SORTED, RG_POSITIONS, RG_TOP, RG_TOP_POSITIONS, RG_SEARCHED } rg_order;

typedef struct rg_cut { /* of an axis: start is `from` plus size `of` (or nothing: -1) */
    int of;
    int64_t from, step;
} rg_cut;

typedef struct rg_node {
    rg_kind kind;
    fc_op op;
    fusec_dtype t;
    int rank, shape[RG_RANK]; /* of the result, as the builders will have it */
    int src[3];
    uint64_t bits;         /* RG_NUMBER; inputs: seed of the values */
    int64_t axes[RG_RANK]; /* permutation; reduced axes */
    int naxes;
    bool keep;
    rg_cut cut[RG_RANK];
    struct {
        fc_edge edge;
        int axis[2]; /* of the result; -1: none */
        int64_t step[2];
    } index[RG_RANK]; /* of each axis of the operand */
} rg_node;

typedef struct rg {
    rg_size size[RG_SIZES];
    rg_node node[RG_NODES];
    int output[RG_OUTPUTS];
    int64_t name[RG_NAMES];  /* values of the symbols */
    int64_t other[RG_NAMES]; /* a second set of them, if has_other */
    int nsizes, nnodes, noutputs;
    bool has_other;
    bool exact; /* no transcendental function, no product of 16-bit floats */
} rg;

typedef struct rg_options {
    int nodes;        /* at most */
    int64_t elements; /* of any node, at most */
    bool exact;       /* exact-class operations only */
} rg_options;

void rg_make(rg *r, fc_rng *rng, const rg_options *o);
/* Shape of an RG_DOT from those of its operands; false: labels do not fit them. */
bool rg_dot_shape(const rg *r, const rg_node *n, int *rank, int *shape);
/* Sizes and dtypes worked out again; whether all is still in range. */
bool rg_valid(rg *r);
/* The recipe with its second set of sizes as the first; false if there is none that is valid. */
bool rg_other(const rg *r, rg *out);
/* Whether a view stays inside where it has no mode, and never continues an empty axis; whether a
 * take has an axis to take from. */
bool rg_view_ok(const rg *r, const rg_node *n);
bool rg_take_ok(const rg *r, const rg_node *n);
bool rg_scatter_ok(const rg *r, const rg_node *n);
bool rg_sort_ok(const rg *r, const rg_node *n);
extern const fc_op rg_scatters[6];
/* What a node gives, of operands of dtype t. */
fusec_dtype rg_result(const rg_node *n, fusec_dtype t);

/* How a recipe becomes a graph. STRIDED: an input with axes is a view of a larger one, with every
 * second element of an axis, or an axis reversed, or its axes in reverse order, by its seed.
 * EXTERN: sums, differences and products of some dtypes are functions of the user. */
enum { RG_SYMBOLIC = 1, RG_STRIDED = 2, RG_EXTERN = 4 };
/* A graph with only what the outputs need. Its inputs are the recipe's in order; input[i] tells
 * which node the i-th is. Named symbols are those of the recipe; syms[] (by symbol number, room for
 * 256) gets their values. */
void rg_build(const rg *r, int form, fc_graph *g, int *input, int64_t *syms);
/* Values from a seed. */
void rg_fill(uint64_t seed, fc_tensor *t);
/* The values of an input as they lie in the larger one of RG_STRIDED. */
void rg_spread(const rg *r, int node, const fc_tensor *from, fc_tensor *to);

enum { RG_LOOP_REDUCES = 64 }; /* along the last axis, which is not empty then */
/* A loop that carries `y`, of `z` of the same type (random_graph_loop.c). */
fc_node rg_build_loop(fc_graph *g, const rg_node *n, fc_node y, fc_node z);

/* The row as a function of the user; FC_NONODE: it is none of those. */
fc_node rg_build_extern(fc_graph *g, fc_op op, const fc_node x[3]);

/* Makes r smaller while `fails` says it still fails; at most `tries` calls. */
typedef bool rg_fails(const rg *r, void *arg);
void rg_shrink(rg *r, rg_fails *fails, void *arg, int tries);

#endif
