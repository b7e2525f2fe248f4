/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph.h - what the user asked for: immutable, interned nodes in one array.
 *
 * Operands are indices, and an operand's id is smaller than its user's, so every pass is a loop
 * over the array and equality of expressions is equality of ids. Only fc_graph_node makes nodes: it
 * puts operands in canonical order, folds constants, and interns. The typed builders below check
 * types and shapes and insert broadcasts; the first error stays with the graph (g->error) and every
 * later call returns FC_NONODE at once.
 *
 * Elementwise operands all have the node's shape: a broadcast is a node. A constant or DIM node has
 * rank 0 and is the one exception: it may be an operand of any shape directly (it needs no
 * index). */
#ifndef FUSEC_IR_GRAPH_H
#define FUSEC_IR_GRAPH_H

#include "ir/base.h"
#include "ir/dim.h"
#include "ir/dtype.h"
#include "ir/ops.h"

typedef uint32_t fc_node;
#define FC_NONODE UINT32_MAX

typedef uint32_t fc_list; /* interned list of int64, 0 = empty list */

typedef struct fc_ninfo { /* 40 bytes, no padding: interned by its bytes */
    uint16_t op;
    uint8_t dtype;
    uint8_t nops;
    uint32_t shape;     /* interned list of dims: fc_rank, fc_axis */
    fc_node src[3];     /* unused ones are FC_NONODE */
    uint32_t flags;     /* FC_NODE_* */
    uint64_t attr;      /* see enum fc_op; for reductions an fc_list of axes, ascending */
    uint32_t axis_kind; /* reductions: enum fc_tree; it follows from the axes but for FC_TREE_DOT */
    uint32_t words; /* CHECK: its number in g->words + 1, or 0. Nodes that differ in it alone are
                       equal */
} fc_ninfo;

enum {
    FC_NODE_KEEPDIMS = 1, /* reduction keeps its axes with the literal size 1 */
    FC_NODE_SPREAD = 2,   /* operand 0 of a dot is spread by its builder; operand 1: the next bit */
    FC_NODE_INSIDE = 8,   /* TAKE, SCATTER: every index is known to be inside */
    FC_NODE_OWN = 16,     /* CONST: of a body, apart from equal ones outside (ir/fold.h) */
    FC_NODE_PRODUCT = 32, /* sum: of a product that would be a contraction in another order */
    FC_NODE_RAGGED = 64,  /* WHERE: what a ragged reduction reduces (ir/build_ragged.c) */
};
/* What derivatives make of a cast to its own dtype, in its attr: they end there; it stands for a
 * cotangent in a rule (fc_custom), by number; it is a result of fc_custom `number`. */
enum { FC_CAST_STOP = 1, FC_CAST_SEED, FC_CAST_CUSTOM };
#define FC_CAST_ATTR(kind, result, number)                                                         \
    ((uint64_t)(number) << 32 | (uint64_t)(result) << 8 | (kind))
#define FC_CAST_KIND(attr)   ((unsigned)((attr)&255))
#define FC_CAST_RESULT(attr) ((uint32_t)((attr) >> 8 & 0xffffff))
#define FC_CAST_NUMBER(attr) ((uint32_t)((attr) >> 32))

/* Which order a reduction sums in (docs/semantics.md): by runs down columns; in lanes along rows;
 * the chains of a contraction with axes of its own on either side (FC_OP_dot only). */
typedef enum fc_tree { FC_TREE_OUTER, FC_TREE_INNER, FC_TREE_DOT } fc_tree;

/* The fixed trees of reductions (docs/semantics.md).
 * inner: elements 0.. in chunks of FC_CHUNK; within a chunk lane l = index % FC_LANES takes its
 * elements in order; lanes, then chunks, are combined pairwise: (0,1) (2,3) ... level by level.
 * outer: runs of FC_RUN consecutive elements in order; runs are combined pairwise.
 * dot: the same with runs of FC_DOT_CHUNK; on tensor cores, of FC_DOT_CHUNK16.
 * Missing lanes, chunks and runs hold the start value, which combines as a no-op. So any aligned
 * group of 2^k chunks (runs) is a subtree, whoever computes it. */
enum { FC_LANES = 128, FC_CHUNK = 1024, FC_RUN = 16, FC_DOT_CHUNK = 256, FC_DOT_CHUNK16 = 4096 };
/* Elements of a leaf of a reduction's tree: of the smallest part that others can be joined to.
 * `half`: of 16-bit elements, which a device with tensor cores takes in longer chunks. */
static inline int64_t fc_tree_leaf(fc_tree t, bool half) {
    if (t == FC_TREE_DOT) return half ? FC_DOT_CHUNK16 : FC_DOT_CHUNK;
    return t == FC_TREE_INNER ? FC_CHUNK : FC_RUN;
}

/* One axis of an FC_OP_SLICE: result index i reads operand index start + i*step. */
typedef struct fc_slice {
    fc_dim start;
    int64_t step; /* not 0 */
    fc_dim size;
} fc_slice;
#define FC_MAX_STEP (INT64_C(1) << 48) /* either way, of slices of more than one element */

/* What an index outside its axis reads: nothing (the index is known to be inside), 0, the nearest
 * element, or what a periodic or mirrored continuation has there. Reflection at the edge does not
 * repeat the edge element (c b | a b c | b a), symmetry does (b a | a b c | c b). */
typedef enum fc_edge {
    FC_EDGE_NONE,
    FC_EDGE_ZERO,
    FC_EDGE_EDGE,
    FC_EDGE_WRAP,
    FC_EDGE_REFLECT,
    FC_EDGE_SYMMETRIC,
    FC_EDGE_COUNT
} fc_edge;
extern const char *const fc_edge_names[FC_EDGE_COUNT]; /* "none", "zero", ... */

/* One axis of the operand of an FC_OP_VIEW: it is read at start + sum of step[i] * (result index
 * i), continued by `edge`. `step` has an entry for each axis of the result; NULL: all 0. The node's
 * list has the rank of the result, then start, edge and the steps for each operand axis. */
typedef struct fc_view_axis {
    fc_dim start;
    fc_edge edge;
    const int64_t *step;
} fc_view_axis;
/* Whether entry i of such a list is a dim. */
static inline bool fc_view_is_dim(const int64_t *list, uint32_t i) {
    return i > 0 && (i - 1) % (2 + (uint32_t)list[0]) == 0;
}

/* Whether entry i of the list that an attr of this kind is, is a dim. */
static inline bool fc_attr_is_dim(fc_attr_kind kind, const int64_t *list, uint32_t i) {
    return kind == FC_ATTR_DIMS || (kind == FC_ATTR_SLICES && i % 3 != 1) ||
           (kind == FC_ATTR_VIEWS && fc_view_is_dim(list, i));
}

/* The attr of an FC_OP_SCAN: element i of the result is the reduction `op` of elements 0 .. i along
 * `axis`, exclusive of 0 .. i - 1. The order is docs/semantics.md 6.5. */
typedef struct fc_scan {
    fc_op op; /* a row for which fc_can_scan holds */
    uint32_t axis;
    bool exclusive;
} fc_scan;
static inline uint64_t fc_scan_attr(fc_scan s) {
    return (uint64_t)s.op | (uint64_t)s.axis << 16 | (uint64_t)s.exclusive << 32;
}
static inline fc_scan fc_scan_of(const fc_ninfo *n) {
    return (fc_scan){(fc_op)(n->attr & 0xffff), (uint32_t)(n->attr >> 16) & 0xffff,
                     (n->attr >> 32 & 1) != 0};
}
/* The attr of an FC_OP_SCATTER: how an element takes several values in. No order of them is told
 * apart (docs/semantics.md 6.6). */
typedef struct fc_scatter {
    fc_op op; /* sum, min, max, any or all; FC_OP_NONE: it becomes the last one in C order */
    uint32_t axis;
    bool unique; /* no two of them go to one element */
} fc_scatter;
static inline uint64_t fc_scatter_attr(fc_scatter s) {
    return (uint64_t)s.op | (uint64_t)s.axis << 16 | (uint64_t)s.unique << 32;
}
static inline fc_scatter fc_scatter_of(const fc_ninfo *n) {
    return (fc_scatter){(fc_op)(n->attr & 0xffff), (uint32_t)(n->attr >> 16) & 0xffff,
                        (n->attr >> 32 & 1) != 0};
}
/* Whether the elements of a dtype can take values in by this reduction. */
bool fc_can_scatter(fc_op op, fusec_dtype t);
/* The axis along which a TAKE reads or a SCATTER or UPDATE stores at computed places. */
static inline uint32_t fc_computed_axis(const fc_ninfo *n) {
    return n->op == FC_OP_TAKE ? (uint32_t)n->attr : fc_scatter_of(n).axis;
}

/* Whether the results of a reduction's prefixes are wanted by anybody: the rows whose accumulator
 * is the result. */
bool fc_can_scan(fc_op op);

/* How messages call an index that is checked; each may be NULL. Kept beside the graph, so that
 * equal checks are one node, with the words of the first. */
typedef struct fc_words {
    const char *access; /* "t[idx]" */
    const char *index;  /* "idx" */
    const char *axis;   /* "axis 0 of t" */
    const char *place;  /* "gather.fuse:6:17" */
} fc_words;

typedef struct fc_input {
    const char *name;
    fc_node node;
} fc_input;

typedef struct fc_output {
    const char *name;
    fc_node node;
} fc_output;

/* Tested once at the call, with the message of the program's own words. */
typedef enum fc_check { FC_CHECK_EQ, FC_CHECK_GE /* a >= b */ } fc_check;
typedef struct fc_condition {
    fc_check kind;
    fusec_status status; /* FUSEC_INPUT_SHAPE or FUSEC_SLICE_RANGE */
    fc_dim a, b;
    const char *message; /* what must hold; NULL = a general text is made from the dims */
} fc_condition;

typedef struct fc_limits {
    uint32_t nodes, rank, inputs, outputs;
} fc_limits;
extern const fc_limits fc_default_limits; /* 65,536; 32; 256; 256 */
#define FC_MAX_RANK 32

/* Values with a derivative of their own: for each argument a node that is made of the seeds, which
 * stand for the cotangents of the results. FC_NONODE: none. */
typedef struct fc_custom {
    uint32_t nresults, nargs;
    const fc_node *result, *seed, *arg, *dx;
} fc_custom;

typedef struct fc_graph {
    const fc_alloc *alloc;
    fc_arena arena;
    fc_limits limits;
    fusec_dtype default_float;
    fc_error error;
    fc_dimtab dims;
    FC_VEC(fc_ninfo) nodes;
    FC_VEC(fc_input) inputs;
    FC_VEC(fc_output) outputs;
    FC_VEC(fc_condition) conditions;
    FC_VEC(fc_custom) customs;
    uint32_t nseeds;
    uint32_t nholes; /* bound variables of bodies that are being built (ir/loop.h) */
    FC_VEC(fc_words) words;
    /* Where nodes come from, in numbers of whoever builds (the language: lines of its texts); for
     * people alone, no part of a node. `place` is that of nodes that are made now, 0: none. */
    uint32_t place;
    FC_VEC(uint32_t) places; /* of the first nodes; the others have none */
    uint64_t *node_slots;    /* interning, see graph.c */
    uint32_t nnode_slots;
    FC_VEC(int64_t) list_data; /* interned lists: lists[i] is a range of list_data */
    FC_VEC(uint64_t) lists;    /* offset << 32 | length */
    uint32_t *list_slots;
    uint32_t nlist_slots;
    struct { /* shapes that were broadcast last, and what to; their conditions are there */
        fc_list a, b, both;
    } widened;
} fc_graph;

static inline uint32_t fc_graph_place(const fc_graph *g, fc_node n) {
    return n < g->places.len ? g->places.at[n] : 0;
}
/* Places from here on are lines of the expression beside a program's file (-e). */
#define FC_PLACE_SNIPPET (UINT32_C(1) << 30)
static inline bool fc_place_in_snippet(uint32_t place) {
    return place >= FC_PLACE_SNIPPET;
}
static inline uint32_t fc_place_line(uint32_t place) {
    return place & (FC_PLACE_SNIPPET - 1);
}
void fc_graph_set_place(fc_graph *g, fc_node n, uint32_t place); /* or g->error */

void fc_graph_init(fc_graph *g, const fc_alloc *alloc, const fc_limits *limits);
void fc_graph_free(fc_graph *g);
void fc_graph_clear(fc_graph *g); /* empty again; keeps its memory */

/* ---- reading ----------------------------------------------------------------------------- */

static inline const fc_ninfo *fc_at(const fc_graph *g, fc_node n) {
    return &g->nodes.at[n];
}
/* Whether something can be built of n: it is a node, and the graph has no error yet. */
static inline bool fc_usable(const fc_graph *g, fc_node n) {
    return !g->error.code && n < g->nodes.len;
}
/* Shape lists hold fc_dim values as int64. The pointers stay good until the next list is
 * interned. */
static inline uint32_t fc_list_len(const fc_graph *g, fc_list l) {
    return (uint32_t)(g->lists.at[l] & 0xffffffffu);
}
static inline const int64_t *fc_list_at(const fc_graph *g, fc_list l) {
    return g->list_data.at + (g->lists.at[l] >> 32);
}
static inline fc_dim fc_check_size(const fc_graph *g, const fc_ninfo *check) {
    return (fc_dim)fc_list_at(g, (fc_list)check->attr)[0];
}
static inline uint32_t fc_rank(const fc_graph *g, fc_node n) {
    return fc_list_len(g, g->nodes.at[n].shape);
}
static inline fc_dim fc_axis(const fc_graph *g, fc_node n, uint32_t axis) {
    return (fc_dim)fc_list_at(g, g->nodes.at[n].shape)[axis];
}
bool fc_axis_is_one(const fc_graph *g, fc_node n, uint32_t axis); /* the literal size 1 */
/* The axes of n; gives how many there are. */
static inline uint32_t fc_shape_of(const fc_graph *g, fc_node n, fc_dim *shape) {
    const uint32_t rank = fc_rank(g, n);
    for (uint32_t i = 0; i < rank; i++) shape[i] = fc_axis(g, n, i);
    return rank;
}
/* A constant or a size, which are operands of arrays of any shape. */
static inline bool fc_is_scalar_leaf(const fc_graph *g, fc_node n) {
    return fc_at(g, n)->op == FC_OP_CONST || fc_at(g, n)->op == FC_OP_DIM;
}
/* Axis i of the operand of a general view. */
static inline fc_view_axis fc_view_axis_of(const fc_graph *g, const fc_ninfo *view, uint32_t i) {
    const int64_t *list = fc_list_at(g, (fc_list)view->attr);
    const int64_t *axis = list + 1 + (size_t)i * (size_t)(2 + list[0]);
    return (fc_view_axis){(fc_dim)axis[0], (fc_edge)axis[1], axis + 2};
}
bool fc_graph_has(const fc_graph *g, fc_op op);
/* Marks what the marked nodes before `end` are made of, too; need[] has an entry for each node. */
void fc_mark_operands(const fc_graph *g, fc_node end, uint8_t *need);

/* ---- making: raw ------------------------------------------------------------------------- */

fc_list fc_intern_list(fc_graph *g, const int64_t *v, uint32_t n);
/* The only constructor. `n` is complete (see the builders); returns an existing equal node if there
 * is one, the folded constant if all operands are constants and the row is in the exact class. */
fc_node fc_graph_node(fc_graph *g, fc_ninfo n);
fc_node fc_graph_add(fc_graph *g, fc_ninfo *n); /* the same without a copy; *n may be changed */

/* ---- making: typed builders (ir/build.c, ir/build_view.c, ir/build_index.c) -------------- */

fc_node fc_build_input(fc_graph *g, const char *name, fusec_dtype t, uint32_t rank,
                       const fc_dim *shape);
void fc_build_output(fc_graph *g, const char *name, fc_node n);
fc_node fc_build_const(fc_graph *g, fusec_dtype t, uint64_t bits); /* rank 0 */
static inline fc_node fc_i64(fc_graph *g, int64_t v) {
    return fc_build_const(g, FUSEC_I64, (uint64_t)v);
}
fc_node fc_build_number(fc_graph *g, fusec_dtype t,
                        double v);           /* rank 0, converted as a cast does */
fc_node fc_build_dim(fc_graph *g, fc_dim d); /* i64, rank 0 */
fc_node fc_build_full(fc_graph *g, fc_node scalar, uint32_t rank, const fc_dim *shape);
fc_node fc_build_iota(fc_graph *g, fc_dim n); /* i64 [n] */
/* The same along one axis of `rank`, of which the others have size 1. */
fc_node fc_build_iota_along(fc_graph *g, fc_dim n, uint32_t rank, uint32_t axis);

/* Random numbers (build_random.c). Seed and stream are scalars of u64. bits: u32 or u64; uniform
 * and normal: floats; randint: lo and hi are scalars of i64, and so is the result; bernoulli: p a
 * float that broadcasts to the shape, the result bool. */
typedef struct fc_draw {
    uint32_t rank;
    const fc_dim *shape;
    fc_node seed, stream;
} fc_draw;
fc_node fc_build_bits(fc_graph *g, const fc_draw *d, fusec_dtype t);
fc_node fc_build_uniform(fc_graph *g, const fc_draw *d, fusec_dtype t);
fc_node fc_build_normal(fc_graph *g, const fc_draw *d, fusec_dtype t);
fc_node fc_build_randint(fc_graph *g, const fc_draw *d, fc_node lo, fc_node hi);
fc_node fc_build_bernoulli(fc_graph *g, const fc_draw *d, fc_node p);

fc_node fc_build_cast(fc_graph *g, fc_node a, fusec_dtype t);
fc_node fc_build_bitcast(fc_graph *g, fc_node a, fusec_dtype t);
fc_node fc_build_materialize(fc_graph *g, fc_node a);
/* The value itself, for derivatives a constant. */
fc_node fc_build_stop_grad(fc_graph *g, fc_node a);
/* Stands for the cotangent of y while a rule is built; of a complex y it is complex, and dL/d(real
 * part) + i dL/d(imaginary part). */
fc_node fc_build_seed(fc_graph *g, fc_node y);
bool fc_is_seed_of(fc_graph *g, fc_node seed, fc_node y);
/* The values themselves as out[i], whose derivative by arg[k] is dx[k], made of seed[i] of each
 * result i and linear in them; FC_NONODE: none. dx[k] has dtype and shape of arg[k]. */
bool fc_build_custom(fc_graph *g, uint32_t nresults, const fc_node *y, const fc_node *seed,
                     uint32_t nargs, const fc_node *arg, const fc_node *dx, fc_node *out);

/* Elementwise: broadcasts the operands, checks the rule. Mixed dtypes are FUSEC_DTYPE_MISMATCH;
 * FLOAT rows cast integers to the default float. */
fc_node fc_build_op(fc_graph *g, fc_op op, fc_node a, fc_node b, fc_node c);
static inline fc_node fc_op1(fc_graph *g, fc_op op, fc_node a) {
    return fc_build_op(g, op, a, FC_NONODE, FC_NONODE);
}
static inline fc_node fc_op2(fc_graph *g, fc_op op, fc_node a, fc_node b) {
    return fc_build_op(g, op, a, b, FC_NONODE);
}
static inline fc_node fc_where(fc_graph *g, fc_node condition, fc_node a, fc_node b) {
    return fc_build_op(g, FC_OP_where, condition, a, b);
}

/* Reduction over `naxes` axes (negative counts from the end; naxes 0 with axes NULL = all). */
fc_node fc_build_reduce(fc_graph *g, fc_op op, fc_node a, uint32_t naxes, const int64_t *axes,
                        bool keepdims);
/* Axes as a bit mask; negative ones count from the end; NULL: all. False: g->error says why. */
bool fc_axis_mask(fc_graph *g, fc_op op, fc_node a, uint32_t naxes, const int64_t *axes,
                  uint64_t *mask);
/* The reduction `op` (FC_OP_NONE: logsumexp) of the first `length` elements of each row of x along
 * `axis`, which goes; length is i64, broadcasts to x and is the same along the axis. No elements:
 * what the accumulator starts from, nan as a mean, -1 as an index (build_ragged.c). */
fc_node fc_build_ragged(fc_graph *g, fc_op op, fc_node x, uint32_t axis, fc_node length);
/* The same of the elements [begin, end) of v along its first axis, which checked indices of one shape
 * say (the end up to the size): their axes, then the others of v. */
fc_node fc_build_ragged_rows(fc_graph *g, fc_op op, fc_node v, fc_node begin, fc_node end);
/* Of the operand of a reduction: the value under the mark, and the length in its shape. */
bool fc_ragged_parts(const fc_graph *g, fc_node marked, fc_node *value, fc_node *length);
fc_node fc_build_logsumexp(fc_graph *g, fc_node a, uint32_t naxes, const int64_t *axes,
                           bool keepdims);

/* Contractions (ir/build_dot.c). Each axis of x and y has a label, a number below 64: those that
 * both have and the result lacks are summed over. Dtypes are equal; that of the result is that of a
 * sum. The nodes made are FC_OP_dot, whose two operands have one shape. */
fc_node fc_build_dot(fc_graph *g, fc_node x, const uint8_t *x_labels, fc_node y,
                     const uint8_t *y_labels, uint32_t nout, const uint8_t *out_labels);
/* Whether the sum of a product is a contraction: factors that differ along `axes` (masks of axes of
 * their domain) make two groups with kept axes of their own. Bit i of `right`: factor i is of the
 * second one (ir/build_dot_factors.c). */
enum { FC_MAX_FACTORS = 8 };
bool fc_product_sides(uint32_t n, const uint64_t *axes, uint64_t kept, uint64_t summed,
                      uint32_t *right);
/* That contraction over the axes `summed`; FC_NONODE without an error if it is none. Factors have
 * `rank` axes, of literal size 1 where they do not differ, or none. */
fc_node fc_build_sum_of_product(fc_graph *g, uint32_t n, const fc_node *factor, uint32_t rank,
                                uint64_t summed);
/* a @ b as in NumPy: the last axis of a with the second to last of b, leading ones broadcast. */
fc_node fc_build_matmul(fc_graph *g, fc_node a, fc_node b);
/* A convolution without turning the filters, of x [n, c, ...] and w [m, c / groups, ...]
 * (build_conv.c). For each axis behind the first two: what stands around x is 0. */
typedef struct fc_conv {
    int64_t stride[FC_MAX_RANK], dilation[FC_MAX_RANK], groups;
    fc_dim before[FC_MAX_RANK], after[FC_MAX_RANK];
} fc_conv;
fc_node fc_build_conv(fc_graph *g, fc_node x, fc_node w, const fc_conv *c);
/* "ik,kj->ij" as in NumPy; three and more operands from left to right. A letter twice in an operand
 * takes its diagonal. */
fc_node fc_build_einsum(fc_graph *g, const char *text, uint32_t n, const fc_node *x);
/* The other way: operand k of a dot before it was spread, and its labels, which are axes of the
 * domain. */
fc_node fc_dot_operand(const fc_graph *g, fc_node dot, int k, uint8_t *labels);

/* Fails: "what of <type of a> and <type of b>: why"; b may be FC_NONODE. Gives FC_NONODE. */
fc_node fc_fail_types(fc_graph *g, fusec_status s, const char *what, fc_node a, fc_node b,
                      const char *why);
void fc_bad_axis(fc_graph *g, uint32_t axis); /* fails: the size of this axis was not made */
fc_node fc_build_broadcast(fc_graph *g, fc_node a, uint32_t rank, const fc_dim *shape);
fc_node fc_build_like(fc_graph *g, fc_node a, fc_node like); /* to the shape of `like` */
/* The same, but a broadcast of a broadcast stays two nodes. */
fc_node fc_build_spread(fc_graph *g, fc_node a, uint32_t rank, const fc_dim *shape);
fc_node fc_build_permute(fc_graph *g, fc_node a, const int64_t *perm); /* rank entries */
fc_node fc_build_slice(fc_graph *g, fc_node a, const fc_slice *axes);  /* rank entries */
fc_node fc_build_reshape(fc_graph *g, fc_node a, uint32_t rank, const fc_dim *shape);
/* The general view: `axes` has an entry for each axis of `a`. That an axis without an edge mode is
 * read inside is proved or becomes a condition of the call (FUSEC_SLICE_RANGE); an axis with one of
 * the modes nearest to symmetric must not be empty unless the result is. What is a broadcast, a
 * permutation, a slice or made of them is built of these. */
fc_node fc_build_view(fc_graph *g, fc_node a, uint32_t rank, const fc_dim *shape,
                      const fc_view_axis *axes);
/* An index of any integer dtype, as i64. */
fc_node fc_build_computed(fc_graph *g, fc_node index);
/* The same, of [0, size). One outside [0, size) fails the call with
 * FUSEC_INDEX_OUT_OF_RANGE, or as the program's policy says (fc_pass_options.bounds). */
fc_node fc_build_check(fc_graph *g, fc_node index, fc_dim size);
/* Says how messages call a check, unless it has words; they are copied. */
void fc_check_words(fc_graph *g, fc_node check, const fc_words *words);
/* out[p] = a[p with p_axis = index[p]]: `a` and `index` have one rank, their other axes broadcast
 * together. An index outside reads 0 and is not reported: that is for fc_build_check. */
fc_node fc_build_take(fc_graph *g, fc_node a, fc_node index, uint32_t axis);
/* The same with indices of which it is known that they are inside. */
fc_node fc_build_take_inside(fc_graph *g, fc_node a, fc_node index, uint32_t axis);
/* The axes of `index` in place of axis `axis` of `a`: out[.., i.., ..] = a[.., index[i..], ..].
 * `inside`: as fc_build_take_inside. */
fc_node fc_build_gather(fc_graph *g, fc_node a, fc_node index, uint32_t axis, bool inside);
/* The other way (ir/build_scatter.c): `base` where element p of the value has been put into p with
 * p_axis = index[p]. Index and value broadcast together, and but for `axis` to the base. The value
 * has the dtype of the base. An index outside is dropped and not reported: that is for
 * fc_build_check. */
fc_node fc_build_scatter(fc_graph *g, fc_node base, fc_node index, fc_node value, fc_scatter s);
/* The same where it is known that the indices are inside. */
fc_node fc_build_scatter_inside(fc_graph *g, fc_node base, fc_node index, fc_node value,
                                fc_scatter s);
/* The transpose of fc_build_gather: the axes of `index` stand in the value in place of axis `axis`
 * of the base. */
fc_node fc_build_put(fc_graph *g, fc_node base, fc_node index, fc_node value, fc_scatter s,
                     bool inside);
/* The number of each update of this shape among those that may go to one element, in C order: those
 * along the first `lead` axes and along axis `axis` of the others. */
fc_node fc_build_positions(fc_graph *g, uint32_t rank, const fc_dim *shape, uint32_t lead,
                           uint32_t axis);
/* What an element starts from so that the first value it takes in is its result: 0, a limit. */
fc_node fc_build_scatter_start(fc_graph *g, fc_op op, fusec_dtype t);
/* How many indices have each of the numbers below n, or the sums of their weights: `weight` is a
 * number or has their shape, its dtype is that of the result. */
fc_node fc_build_histogram(fc_graph *g, fc_node index, fc_node weight, fc_dim n);
/* Element r is made of the rows of v whose number in `ids` is r; op: as of a scatter, or a mean. */
fc_node fc_build_segment(fc_graph *g, fc_node v, fc_node ids, fc_dim n, fc_op op);
/* Moving and joining (ir/build_join.c): views, takes and choices, no nodes of their own. Sizes that
 * do not fit are an error, or a condition of the call where that is not known. */
/* More elements before and after those of each axis, continued by `edge`, or with mode zero and a
 * scalar `value` (FC_NONODE: 0) of the array's dtype that value. */
fc_node fc_build_pad(fc_graph *g, fc_node a, const fc_dim *before, const fc_dim *after,
                     fc_edge edge, fc_node value);
fc_node fc_build_roll(fc_graph *g, fc_node a, uint32_t axis, fc_dim shift);
/* The whole array `times` over along each axis, aligned from the right. */
fc_node fc_build_tile(fc_graph *g, fc_node a, uint32_t n, const fc_dim *times);
/* Each element `times` over. */
fc_node fc_build_repeat(fc_graph *g, fc_node a, uint32_t axis, fc_dim times);
/* The windows of `width` elements that begin every `step` elements of an axis: one more axis, the
 * last, of that width. */
fc_node fc_build_window(fc_graph *g, fc_node a, uint32_t axis, fc_dim width, int64_t step);
/* One after the other along an axis; the others are equal. */
fc_node fc_build_concat(fc_graph *g, uint32_t n, const fc_node *parts, uint32_t axis);
/* Along a new axis. */
fc_node fc_build_stack(fc_graph *g, uint32_t n, const fc_node *parts, uint32_t axis);
/* Prefixes along an axis (negative counts from the end): cumsum for FC_OP_sum. The dtype is that of
 * the reduction. `reverse`: suffixes, element i from the last one down to i. */
fc_node fc_build_scan(fc_graph *g, fc_op op, fc_node a, int64_t axis, bool exclusive, bool reverse);
fc_node fc_build_flip(fc_graph *g, fc_node a, uint32_t axis); /* a slice */
/* The shape two operands broadcast to; false (and g->error) when they do not. */
bool fc_broadcast_shapes(fc_graph *g, fc_op op, fc_node a, fc_node b, uint32_t *rank,
                         fc_dim *shape);

/* Whether two sizes are equal, if need be by a condition; false for two different names. */
bool fc_same_size(fc_graph *g, fc_dim a, fc_dim b);

/* Adds `a == b` (or `a >= b`) to the conditions unless it is known; an error when it is known to
 * fail. */
fusec_status fc_require(fc_graph *g, fc_check kind, fc_dim a, fc_dim b, fusec_status status,
                        const char *message);

/* The language's table of how two dtypes combine; false for a pair without common dtype. */
bool fc_promote(fusec_dtype a, fusec_dtype b, fusec_dtype *out);

/* Order (build_sort.c). That of numbers, -0 before +0 and nan last; equal elements keep their
 * order, also downwards, where nan is last too. `axis` as in the language: -1 is the last. */
fc_node fc_build_argsort(fc_graph *g, fc_node x, int64_t axis, bool down); /* i64 positions */
fc_node fc_build_sort(fc_graph *g, fc_node x, int64_t axis, bool down);
/* `count` of these positions from place `first` on: 0, or there are FC_SORT_WINDOW at most. */
fc_node fc_build_argsort_part(fc_graph *g, fc_node x, int64_t axis, bool down, int64_t first,
                              fc_dim count);
/* The same from a place that is computed, an i64 scalar; where there is none the nearest one is
 * meant, and of places behind the last one the last. */
fc_node fc_build_argsort_places(fc_graph *g, fc_node x, int64_t axis, bool down, fc_node first,
                                fc_dim count);
/* What orders x along `axis`, 0 or above: unsigned integers, that axis last; and from a SORT of
 * such keys the elements of dtype t in order. A nan is the quiet one. */
fc_node fc_build_sort_key(fc_graph *g, fc_node x, int64_t axis, bool down);
fc_node fc_build_sorted(fc_graph *g, fc_node sort, fusec_dtype t, int64_t axis, bool down);
/* The k largest along an axis, the largest first, and where they are. */
bool fc_build_topk(fc_graph *g, fc_node x, fc_dim k, int64_t axis, fc_node out[2]);
/* How many elements of the sorted `a`, which has one axis, are less than each of v; `right`: less
 * or equal. i64. */
fc_node fc_build_searchsorted(fc_graph *g, fc_node a, fc_node v, bool right);
/* Between the two elements that q (f64 scalar, 0 to 1) lies between, as in NumPy; nan if there is
 * one.
 */
fc_node fc_build_quantile(fc_graph *g, fc_node x, fc_node q, int64_t axis);
/* Of a mask with one axis: where it holds, `size` places, 0 behind them; out[1]: how many there
 * are, also more than size. */
bool fc_build_nonzero(fc_graph *g, fc_node mask, fc_dim size, fc_node out[2]);
/* The rows of x along axis 0 where the mask holds, 0 behind them; the count as above. */
bool fc_build_compress(fc_graph *g, fc_node mask, fc_node x, fc_dim size, fc_node out[2]);
/* The elements of x in order, each once; the count as above. */
bool fc_build_unique(fc_graph *g, fc_node x, fc_dim size, fc_node out[2]);
/* The numbers 0 .. n-1 in an order that seed and stream fix. */
fc_node fc_build_permutation(fc_graph *g, fc_dim n, fc_node seed, fc_node stream);

/* ---- text -------------------------------------------------------------------------------- */

void fc_type_print(const fc_graph *g, fc_node n, fc_str *out); /* "f32[n, 2*m]" */
/* One node a line: the form of dumps and golden files. */
void fc_graph_print(const fc_graph *g, fc_str *out);

#endif
