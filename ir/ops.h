/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ops.h - the numbering and the facts of all operations; the facts themselves are in ops.def.
 *
 * One enum names every operation of the graph and every instruction of kernel code: first the
 * structural ones (written out here), then the elementwise rows, then the reductions of ops.def. */
#ifndef FUSEC_IR_OPS_H
#define FUSEC_IR_OPS_H

#include "ir/base.h"
#include "ir/dtype.h"

typedef enum fc_op {
    FC_OP_NONE = 0,
    /* leaves */
    FC_OP_INPUT, /* an argument of the program or bound data */
    FC_OP_CONST, /* one value; attr = its bits (fc_const_bits) */
    FC_OP_DIM,   /* an axis length as an i64 scalar; attr = fc_dim */
    FC_OP_IOTA,  /* i64 0, 1, 2, ... along axis attr of the node's shape */
    /* conversions */
    FC_OP_CAST,    /* docs/semantics.md: saturating, one rounding. To its own dtype it is the value
                      itself, and attr says what derivatives make of it (FC_CAST_*, ir/graph.h) */
    FC_OP_BITCAST, /* the same bits in another dtype of the same width */
    FC_OP_EXTERN,  /* a scalar function of the user; attr: its description (ir/external.h). In
                      kernel code imm is its number in fc_kernel.externs */
    /* complex numbers (ir/build_complex.c) */
    FC_OP_PART, /* of an array of pairs in memory: the real part, or with attr 1 the imaginary one
                 */
    FC_OP_PAIR, /* two floats as a complex number */
    /* views: cost index arithmetic, not memory */
    FC_OP_BROADCAST, /* to the node's shape, axes aligned from the right */
    FC_OP_PERMUTE,   /* attr -> fc_list of axes: result axis i is operand axis list[i] */
    FC_OP_SLICE,     /* attr -> fc_slice for each operand axis; keeps the rank */
    FC_OP_VIEW,      /* attr -> fc_view_axis for each operand axis, flat: ir/graph.h */
    FC_OP_RESHAPE,   /* to the node's shape; the same number of elements in C order */
    /* reading at computed places */
    FC_OP_TAKE,  /* operands array, i64 index; attr = axis k: out[p] = array[p with p_k = index[p]]
                  */
    FC_OP_CHECK, /* of an i64 index: the index; one outside [0, size) is reported. attr -> list:
                  size, and the shape that messages count by */
    /* storing at computed places */
    FC_OP_SCATTER, /* operands base, i64 index, value; attr: fc_scatter. The base, where element p
                      of the value has been put into p with p_axis = index[p] */
    FC_OP_UPDATE,  /* the same in the memory of its base, which nothing else reads and every order
                      of updates leaves the same (passes/scatter.c) */
    FC_OP_SCAN,    /* the results of a reduction over all prefixes along an axis; attr: fc_scan */
    /* reductions and scans by code of the user's, see ir/fold.h */
    FC_OP_SLOT,   /* a value of one of the two records that a body joins; attr: its number */
    FC_OP_RECORD, /* two values and the rest (a RECORD), each but the first may be absent; no value
                     of its own */
    FC_OP_FOLD,   /* operands: RECORD of arrays, RECORD of what the body makes; attr -> fc_fold_spec
                   */
    FC_OP_ROUNDS, /* a loop that every element makes on its own (ir/repeat.h). Operands: RECORD of
                     what it starts from and reads, RECORD of what a round makes; attr: fc_repeat.
                     In kernel code operand a is the first RECORD, imm the number of its rounds, and
                     RESULT gives the values */
    /* the user's fusion barrier: the value is stored */
    FC_OP_MATERIALIZE,
    /* steps that are not kernels, and bodies: ir/loop.h */
    FC_OP_LIST, /* operands value and rest (a LIST; missing at the end): no value of its own */
    FC_OP_HOLE, /* a bound variable of a body; attr: fc_hole_attr */
    FC_OP_LOOP, /* operands LIST (first, end, starts), LIST (condition, nexts, collected); attr:
                   fc_loop_attr. A tuple */
    FC_OP_SORT, /* operand LIST (keys, unsigned integers): the order along the last axis, stable. A
                   tuple: i64 positions, and the keys in order (FC_SORT_*). LIST (keys, first), with
                   a shape: those of the places from `first`, an i64 scalar, as many as the shape
                   says; places behind the last one are the last one. Then `first` is 0, or there
                   are FC_SORT_WINDOW of them at most */
    FC_OP_FFT,  /* operand LIST of one: a Fourier transform (ir/fft.h); attr 1: inverse */
    FC_OP_CALL, /* of a user's function: one LIST; attr: its number in the context
                   (runtime/call.h). A tuple */
    FC_OP_RESULT, /* value number attr of the tuple that is its operand */
    /* kernel code only (ir/code.h) */
    FC_OP_LOAD,    /* imm = access number */
    FC_OP_LOAD_AT, /* imm = argument; element a (i64) of it where b (bool) holds, else 0 */
    FC_OP_INSIDE,  /* whether a (i64) is in [0, b); if not and c (i64) >= 0, it is reported for
                      position c of check imm */
    FC_OP_PUT_AT,  /* imm = update number: element a (i64) of its argument takes c in where b (bool)
                      holds. Its value is b */
    FC_OP_PARAM,   /* imm = scalar parameter number */
    FC_OP_INDEX,   /* i64 value of an affine index; imm = access number of an index access */
    FC_OP_ACC,     /* finished result of a reduction, in a scan of its prefix; imm: fc_acc_imm
                      (ir/kernel.h) */
    FC_OP_COUNT,   /* i64: number of elements of the reduction of this kernel */
    FC_OP_ARG,     /* operand of a step or combine program; imm = its number */
    FC_OP_CVT,     /* raw conversion: float to int only in range; the dtype of operand a is
                      the source */

    FC_OP_FIRST_ELEMENTWISE,
    FC_OP_BEFORE_ELEMENTWISE_ =
        FC_OP_FIRST_ELEMENTWISE - 1, /* so that the first row has this number */
#define OP(name, ...) FC_OP_##name,
#include "ir/ops.def"
    FC_OP_FIRST_REDUCTION,
    FC_OP_BEFORE_REDUCTION_ = FC_OP_FIRST_REDUCTION - 1,
#define RED(name, ...) FC_OP_##name,
#include "ir/ops.def"
    FC_OP_COUNT_
} fc_op;

/* What operands an operation takes and what it gives. T is the dtype all operands share. */
typedef enum fc_rule {
    FC_RULE_STRUCT,  /* structural: see the builder */
    FC_RULE_ARITH,   /* T numeric -> T (bool is refused, except + and * which become or and and) */
    FC_RULE_FLOAT,   /* T float -> T; integers and bool are cast to the default float first */
    FC_RULE_ANY,     /* T any -> T */
    FC_RULE_COMPARE, /* T any -> bool */
    FC_RULE_TEST,    /* T any -> bool */
    FC_RULE_LOGIC,   /* bool -> bool */
    FC_RULE_BITS,    /* T integer or bool -> T */
    FC_RULE_SELECT,  /* bool, T, T -> T */
    /* reductions */
    FC_RULE_SUM,   /* signed, bool -> i64; unsigned -> u64; float -> the same, accumulated in f32 or
                      f64 */
    FC_RULE_KEEP,  /* T -> T */
    FC_RULE_BOOL,  /* bool -> bool */
    FC_RULE_INDEX, /* T -> i64 */
    FC_RULE_MEAN   /* float -> the same; integers are cast to the default float first */
} fc_rule;

enum {
    FC_F_COMMUTES = 1,
    FC_F_EXACT = 2,
    FC_F_HIDDEN = 4,
    FC_F_OPERATOR = 8,
    FC_F_TRANSCENDENTAL = 16,
    FC_F_EMPTY_IS_ERROR = 32, /* a reduction that has no result for no elements */
};

/* What the attr of a node is: what of it other graphs number in another way. */
typedef enum fc_attr_kind {
    FC_ATTR_NONE,   /* 0 */
    FC_ATTR_NUMBER, /* itself */
    FC_ATTR_INPUT,  /* the number of an input */
    FC_ATTR_DIM,    /* an fc_dim */
    FC_ATTR_CAST,   /* FC_CAST_ATTR, or 0 */
    FC_ATTR_ROW,    /* an fc_op in its low 16 bits */
    FC_ATTR_EXTERN, /* the address of an fc_extern */
    FC_ATTR_LIST,   /* an fc_list of numbers, */
    FC_ATTR_DIMS,   /* of dims, */
    FC_ATTR_SLICES, /* of fc_slice, */
    FC_ATTR_VIEWS,  /* of fc_view_axis after the rank of the result */
} fc_attr_kind;

typedef struct fc_op_info {
    const char *name;
    const char *doc;
    fc_rule rule;
    uint8_t attr; /* fc_attr_kind */
    uint8_t arity;
    uint8_t flags;
    uint8_t components; /* of a reduction's accumulator */
    float ulp32, ulp64;
    /* columns of the targets; NULL = expand */
    const char *cuda_f, *cuda_i;
    const char *llvm_f, *llvm_s, *llvm_u;
    bool eval_f, eval_i;
    bool expand_f, expand_i;
    const char *grad[3]; /* of an elementwise row: for each operand, see ops.def */
} fc_op_info;

extern const fc_op_info fc_ops[FC_OP_COUNT_];

static inline bool fc_is_elementwise(int op) {
    return op >= FC_OP_FIRST_ELEMENTWISE && op < FC_OP_FIRST_REDUCTION;
}
/* Whether an element of the result is computed from those at its place: rows, and conversions. */
static inline bool fc_is_pointwise(int op) {
    return fc_is_elementwise(op) || op == FC_OP_CAST || op == FC_OP_BITCAST;
}
static inline bool fc_is_reduction(int op) {
    return op >= FC_OP_FIRST_REDUCTION && op < FC_OP_COUNT_;
}
/* Results of FC_OP_SORT. */
enum { FC_SORT_POSITIONS, FC_SORT_KEYS, FC_SORT_RESULTS };
enum { FC_SORT_WINDOW = 2048 };
/* Steps of a plan that are no kernels: their results are read by FC_OP_RESULT. */
static inline bool fc_is_step(int op) {
    return op == FC_OP_LOOP || op == FC_OP_SORT || op == FC_OP_FFT || op == FC_OP_CALL;
}
/* Parts of such steps, which have no elements: a step itself, or a list of its operands. */
static inline bool fc_is_part(int op) {
    return op == FC_OP_LIST || fc_is_step(op);
}
static inline bool fc_is_view(int op) {
    return op >= FC_OP_BROADCAST && op <= FC_OP_RESHAPE;
}

/* Whether the builders take operands of this dtype for an elementwise row (of a choice: for what is
 * chosen). Integers that become floats first count as taken. */
bool fc_op_takes(fc_op op, fusec_dtype t);
/* On bool the arithmetic rows are the logical ones. FC_OP_NONE: not defined on bool. */
fc_op fc_op_on_bool(fc_op op);

/* The row of this name ("sin"), or of this other name ("arcsin"), FC_OP_NONE if there is none.
 * Finds neither hidden rows nor structural ones. */
fc_op fc_op_by_name(const char *name, size_t len);

#endif
