/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel.h - the second representation: a loop nest and its code, between the passes and a target's
 * text.
 *
 * A kernel runs over kept axes P (every point of them is one row of work) and, if it reduces, over
 * reduced axes R inside. Its code is one straight-line fc_code; every instruction has a level:
 * FC_ROW values depend on P only and are computed once a row, FC_POINT values at every element.
 * Reductions are grouped in stages: those of stage s may read the results (FC_OP_ACC) of stages
 * before s. After the last stage come the stores. An emitter runs, for each stage s,
 *
 *     row code that stage s needs
 *     for r in R { point code that stage s needs; step accumulators of s }
 *     combine; FC_OP_ACC values of s become available
 *
 * and at the end row stores, and one more loop over R for the point stores if there are any. What a
 * stage "needs" is the slice of the code that its reductions (or stores) depend on:
 * fc_kernel_slice.
 *
 *     softmax   stage 0   max of load x
 *               stage 1   sum of exp(x - ACC0)
 *               stores    exp(x - ACC0) / ACC1
 *
 * FC_OP_ACC: imm is fc_acc_imm of a reduction and one of its results; its value is the FINISHED
 * result, of dtype fc_red_result, level FC_ROW. So a kernel never sees components: emitters keep
 * them between the parts of ir/red_program.h and run FC_RED_FINISH once a row and reduction. The
 * element index that fc_red_step gets counts over all reduced axes in C order. A reduction of no
 * elements (count == 0) is finish(init).
 *
 * A scan has one reduced axis and one stage. FC_OP_ACC is then a FC_POINT value, the finished
 * result of the elements up to this one (`exclusive`: before it), and all stores are made in the
 * loop over the elements, right after the step:
 *
 *     for r in R { point code of the stage; step; point code of the stores; stores }
 *
 * Levels: in a reduction kernel LOAD and INDEX have the level of their access. In a map levels say
 * nothing: everything belongs to the point (constants and what is made from them may still be
 * marked FC_ROW).
 *
 * A store is written at the level of its ACCESS: FC_POINT in the last loop (its value may be
 * FC_ROW: a result spread over the row), FC_ROW once a row (its value is then FC_ROW). An argument
 * is read or written, never both.
 *
 * An update (FC_OP_PUT_AT) is a store at a computed element: the element takes a value in, whose
 * order among others does not matter. Its argument is written, and nothing else of the kernel
 * touches it; what is in it before comes from an earlier kernel. Only maps have updates. They are
 * done at every point, as the stores are; a kernel may have either or both.
 *
 * Everything is symbolic in the sizes: extents and index maps are dims of the graph; fc_nest_bind
 * (codegen/nest.h) turns them into numbers. */
#ifndef FUSEC_IR_KERNEL_H
#define FUSEC_IR_KERNEL_H

#include "ir/code.h"
#include "ir/dim.h"
#include "ir/expand.h"
#include "ir/external.h"
#include "ir/graph.h"
#include "ir/repeat.h"

typedef enum fc_schedule {
    FC_SCHED_MAP,   /* no reduction; every instruction is FC_POINT over P */
    FC_SCHED_INNER, /* the innermost logical axis is reduced: inner tree; a team shares a row */
    FC_SCHED_OUTER, /* the innermost logical axis is kept: outer tree; neighbours own neighbouring
                       rows */
    FC_SCHED_DOT,  /* a contraction with axes of its own on either side: the outer tree with runs of
                      FC_DOT_CHUNK */
    FC_SCHED_SCAN, /* one axis is scanned: what is made of the prefixes is made at every point */
    FC_SCHED_COUNT
} fc_schedule;

const char *fc_schedule_name(fc_schedule s); /* "map" */

#define FC_MAX_AXES 32 /* kept + reduced */

/* How one axis of a buffer is indexed: start + step * (index of kernel axis), and further terms. */
typedef struct fc_map {
    int32_t
        axis; /* kernel axis: 0..np-1 kept, np..np+nr-1 reduced; -1: none, the index is `start` */
    int64_t step;
    fc_dim start;
    const struct fc_map *next; /* a further term, of a higher axis (its start counts for nothing),
                                  or NULL */
} fc_map;

/* A load, a store, or (buffer == FC_NO_BUFFER) the value of an affine index, used by FC_OP_INDEX:
 * dtype i64, and the value is the number of the element in a dense array of this shape. With rank 1
 * and shape NULL it is the index itself. It is not checked to be inside.
 *
 * FC_OP_LOAD_AT reads element `a` of an argument, which is made from such values and others: there
 * is no access for it, and what nest and class say of accesses does not hold for it. Emitters read
 * only where `b` holds, and only for elements that the nest has. FC_OP_INSIDE reports only for
 * these, too. */
#define FC_NO_BUFFER UINT32_MAX
typedef struct fc_access {
    uint32_t buffer; /* kernel argument */
    uint8_t dtype;   /* storage dtype */
    uint8_t level;   /* FC_ROW if no reduced axis is used; in a map FC_POINT */
    uint8_t pair;    /* 0; of an array of pairs, whose shape and map this is, which part is meant:
                        1 the first, 2 the second. The nest doubles the strides */
    uint32_t rank;
    const fc_dim *shape; /* of the dense row-major array behind the argument */
    const fc_map *map;   /* one for each axis of it */
} fc_access;
/* Whether an access moves along a kernel axis for some sizes. */
bool fc_access_moves(const fc_access *a, int32_t axis);

/* A reduction of the user's: records of `n` values, which are accumulator, element and result
 * alike, and the code that makes one of two. `code` has operands FC_OP_ARG: value c of the earlier
 * record is number c, of the later one FC_MAX_COMPONENTS + c. */
typedef struct fc_record {
    uint8_t n;
    uint8_t dtype[FC_MAX_COMPONENTS];
    uint64_t start[FC_MAX_COMPONENTS]; /* bits: changes nothing that it is combined with */
    fc_code code;
    fc_val out[FC_MAX_COMPONENTS];
} fc_record;

typedef struct fc_reduction {
    uint16_t op;   /* reduction row, or FC_OP_FOLD */
    uint8_t dtype; /* of a row the dtype accumulated in (fc_acc_dtype), which its elements have */
    uint8_t stage;
    bool exclusive; /* of a scan: FC_OP_ACC is what is there before the element */
    uint8_t half; /* of a contraction: the 16-bit dtype that both elements were cast from, f32 if
                     they may be rounded to tf32, or bool; unless it is bool the order of its sum
                     is the device's (docs/semantics.md) */
    uint8_t nvalues;
    const fc_record *record; /* NULL of a row */
    fc_val limit; /* FC_ROW, i64: elements of the row that are reduced, from the first on, if that
                     is less than all; FC_NOVAL: all. One for all reductions of a stage */
    /* the element, FC_POINT (or FC_ROW: the same at every element); of a contraction the left and
     * the right one, of a fold a record; then FC_NOVAL */
    fc_val value[FC_MAX_COMPONENTS];
} fc_reduction;

/* What an accumulator is made of, and how many results there are: of a row one, of a fold its
 * record. */
unsigned fc_red_components(const fc_reduction *r);
fusec_dtype fc_red_component(const fc_reduction *r, unsigned c);
unsigned fc_red_results(const fc_reduction *r);
fusec_dtype fc_red_result(const fc_reduction *r, unsigned result);
/* Whether its last component is the number of elements (var, std). */
static inline bool fc_red_counts(const fc_reduction *r) {
    return !r->record && fc_ops[r->op].components == 3;
}
/* The dtype of element `i`. */
fusec_dtype fc_red_element(const fc_reduction *r, unsigned i);

static inline uint64_t fc_acc_imm(uint32_t reduction, unsigned result) {
    return reduction | (uint64_t)result << 32;
}
static inline uint32_t fc_acc_reduction(const fc_instr *acc) {
    return (uint32_t)acc->imm;
}
static inline unsigned fc_acc_result(const fc_instr *acc) {
    return (unsigned)(acc->imm >> 32);
}

/* The rounds of a loop that every element makes on its own (FC_OP_ROUNDS, ir/repeat.h). `code` has
 * operands FC_OP_ARG: the counter, then the values, of which the first are carried. What it makes
 * is the condition, if it has one, and the next values. A loop inside has a lower number. */
enum { FC_ARG_COUNTER, FC_ARG_VALUE };
typedef struct fc_rounds {
    uint8_t ncarried, nvalues;
    bool condition;
    uint8_t dtype[FC_MAX_REPEAT]; /* of the values */
    fc_code code;
    fc_val out[FC_MAX_REPEAT + 1];
} fc_rounds;
static inline unsigned fc_rounds_outs(const fc_rounds *r) {
    return (unsigned)r->ncarried + r->condition;
}
/* The values of a FC_OP_RECORD of some code: first, end, starts, what is read. */
enum { FC_MAX_LISTED = FC_REPEAT_BOUNDS + FC_MAX_REPEAT };
unsigned fc_listed_values(const fc_code *c, fc_val record, fc_val out[FC_MAX_LISTED]);
/* The number of its rounds, if that is a constant, else what is expected. */
uint64_t fc_expected_rounds(const fc_code *c, fc_val repeat);

typedef struct fc_store {
    uint32_t access;
    fc_val value; /* in the storage dtype; written at the level of the access */
} fc_store;

typedef struct fc_update {
    uint32_t arg;
    uint16_t op;   /* FC_OP_sum, _min, _max on 32- and 64-bit integers; FC_OP_NONE: it is set */
    fc_val value;  /* the FC_OP_PUT_AT */
    uint32_t size; /* parameter: elements of the argument */
} fc_update;

/* A scalar argument: a rank-0 input of the program, the value of a dim, or the address of what is
 * known of a function of the user. */
typedef struct fc_scalar {
    uint8_t dtype;
    bool is_dim;               /* no input */
    uint8_t part;              /* of an input that is a pair: how many parts stand before it */
    uint32_t source;           /* fc_dim, or number of the program input */
    const fc_extern *function; /* its address is the value; NULL: another scalar */
} fc_scalar;

/* A function of the user that the code has in it: FC_OP_EXTERN. */
typedef struct fc_extern_use {
    const fc_extern *function;
    uint32_t param; /* its address, u64 */
} fc_extern_use;

/* Which rows (along its outermost axis) of an argument a row of a map touches, that is a place
 * along the kernel's outermost axis: [row + low, row + high] as far as they exist, or any. */
typedef enum fc_reach_kind { FC_REACH_NONE, FC_REACH_ROWS, FC_REACH_ANY } fc_reach_kind;
enum { FC_MOST_REACH = 1 << 20 };
typedef struct fc_reach {
    fc_reach_kind kind;
    int32_t low, high;
} fc_reach;

typedef struct fc_arg {
    bool written;
    uint8_t dtype;
    uint32_t buffer; /* number of the buffer in the plan (passes/plan.h) */
    fc_reach reach;  /* for those who order the work of several kernels; no part of the print */
} fc_arg;

/* What FC_OP_INSIDE reports of, with two words of the launch's report for each (codegen/nest.h). */
typedef struct fc_check_site {
    fc_dim size;
    uint32_t words; /* fc_graph.words + 1, or 0 */
    uint32_t node;  /* the index, for faces that look for its array */
} fc_check_site;

typedef struct fc_kernel {
    fc_schedule schedule;
    uint32_t np, nr;
    fc_dim
        extent[FC_MAX_AXES]; /* kept axes outermost first, then the reduced ones in logical order */
    uint32_t nstages;        /* 0 for a map */
    bool tf32; /* elements of contractions in f32 may be rounded; before these are made */
    fc_code code;
    FC_VEC(fc_access) accesses;
    FC_VEC(fc_reduction) reductions; /* ascending by stage */
    FC_VEC(fc_store) stores;
    FC_VEC(fc_update) updates;
    FC_VEC(fc_scalar) params;
    FC_VEC(fc_arg) args;
    FC_VEC(fc_check_site) checks; /* of FC_OP_INSIDE */
    FC_VEC(fc_record *) records;  /* of folds */
    FC_VEC(fc_rounds *) loops;    /* of FC_OP_ROUNDS */
    FC_VEC(fc_extern_use) externs;
    FC_VEC(uint32_t) places; /* where what it computes comes from (graph.h), for people */
    fc_arena arena;          /* maps and shapes */
} fc_kernel;

void fc_kernel_init(fc_kernel *k, const fc_alloc *alloc);
void fc_kernel_free(fc_kernel *k);

/* ---- making: the parts of a kernel. They copy what they are given; out of memory shows in
 * code.status and as FC_NOVAL (UINT32_MAX), which the others pass on. Set schedule, np, nr and
 * extent first. --------------------- */

uint32_t fc_kernel_arg(fc_kernel *k, fusec_dtype t, bool written, uint32_t buffer);
uint32_t fc_kernel_param(fc_kernel *k, fusec_dtype t, bool is_dim, uint32_t source);
/* A part (0, 1) of a pair that comes as a scalar. */
uint32_t fc_kernel_param_part(fc_kernel *k, fusec_dtype t, uint32_t source, unsigned part);
/* `shape` and `map` have `rank` entries; works out the level. buffer FC_NO_BUFFER: `map` alone. The
 * same access twice is one access. */
uint32_t fc_kernel_access(fc_kernel *k, uint32_t buffer, uint32_t rank, const fc_dim *shape,
                          const fc_map *map);
/* The same of part `pair` (1 or 2) of the pairs in an argument whose dtype is that of a part. */
uint32_t fc_kernel_access_pair(fc_kernel *k, uint32_t buffer, uint32_t rank, const fc_dim *shape,
                               const fc_map *map, unsigned pair);
/* The access to the other part of the same pairs; UINT32_MAX: there is none. */
uint32_t fc_kernel_other_part(const fc_kernel *k, uint32_t access);
fc_val fc_kernel_load(fc_kernel *k,
                      uint32_t access); /* FC_OP_LOAD, or FC_OP_INDEX of an index access */
/* FC_OP_LOAD_AT of an argument that is read; `when` FC_NOVAL: everywhere. */
fc_val fc_kernel_load_at(fc_kernel *k, uint32_t arg, fc_val element, fc_val when);
/* FC_OP_INSIDE: whether `index` is in [0, size); reported for `position` where that is >= 0. */
fc_val fc_kernel_inside(fc_kernel *k, fc_val index, fc_val size, fc_val position,
                        fc_check_site check);
fc_val fc_kernel_param_value(fc_kernel *k, uint32_t param); /* FC_OP_PARAM */
/* FC_OP_EXTERN of operands of its types in the kernel's code or that of a body; of more than three,
 * v[2] is a FC_OP_RECORD of those from the third on. */
fc_val fc_kernel_extern(fc_kernel *k, fc_code *c, const fc_extern *x, const fc_val v[3]);
/* The operands of a FC_OP_EXTERN. */
unsigned fc_extern_values(const fc_code *c, const fc_instr *i, fc_val out[FC_MAX_EXTERN]);
/* Adds a reduction of `value` (any dtype; cast to fc_acc_dtype) and gives its FC_OP_ACC. Stages
 * ascend. */
fc_val fc_kernel_reduce(fc_kernel *k, fc_op red, fc_val value, unsigned stage);
/* The same of the first `limit` elements of each row. */
fc_val fc_kernel_reduce_ragged(fc_kernel *k, fc_op red, fc_val value, fc_val limit, unsigned stage);
/* The same of a contraction. */
fc_val fc_kernel_contract(fc_kernel *k, fc_val left, fc_val right, unsigned stage);
/* The same in a scan: its FC_OP_ACC has level FC_POINT. */
fc_val fc_kernel_scan(fc_kernel *k, fc_op red, fc_val value, bool exclusive);
/* An empty record, which the kernel owns; NULL: out of memory. Fill it before it is used. */
fc_record *fc_kernel_add_record(fc_kernel *k);
/* Empty rounds, which the kernel owns and numbers when they are complete; NULL: out of memory. */
fc_rounds *fc_kernel_new_rounds(fc_kernel *k);
bool fc_kernel_add_rounds(fc_kernel *k, fc_rounds *r);
/* Adds a reduction (in a kernel of that schedule a scan) of records by a fold; gives its number,
 * UINT32_MAX when out of memory. fc_kernel_acc: one of its results. */
uint32_t fc_kernel_fold(fc_kernel *k, const fc_record *record, const fc_val value[], unsigned stage,
                        bool exclusive);
fc_val fc_kernel_acc(fc_kernel *k, uint32_t reduction, unsigned result);
/* Stores `value`, which has the dtype of the access. */
void fc_kernel_store(fc_kernel *k, uint32_t access, fc_val value);

/* Puts `value`, which has the dtype of argument u.arg, into its `element` where `when` holds
 * (FC_NOVAL: everywhere). Fills u.value. */
void fc_kernel_update(fc_kernel *k, fc_update u, fc_val element, fc_val when, fc_val value);
/* Whether elements take values in this way. */
bool fc_can_update(fc_op op, fusec_dtype t);

/* ---- using ------------------------------------------------------------------------------- */

/* Marks needed[i] (code.ins.len bytes, cleared by the caller) for everything the roots depend on.
 * Does not go through FC_OP_ACC: it is a leaf. */
void fc_kernel_slice(const fc_code *code, const fc_val *roots, size_t nroots, uint8_t *needed);
/* What the stores of a kernel are made from, updates among them: at most fc_kernel_ends. */
static inline size_t fc_kernel_ends(const fc_kernel *k) {
    return k->stores.len + k->updates.len;
}
/* What a stage needs of a reduction: its elements, and the limit if it has one. `map` may be NULL;
 * `out` has room for FC_MAX_COMPONENTS. */
static inline size_t fc_red_values(const fc_reduction *r, const fc_val *map, fc_val out[]) {
    unsigned n = 0;
    for (; n < r->nvalues; n++) out[n] = map ? map[r->value[n]] : r->value[n];
    if (r->limit != FC_NOVAL) out[n++] = map ? map[r->limit] : r->limit;
    return n;
}
/* Of the reductions of a stage. */
static inline fc_val fc_stage_limit(const fc_kernel *k, unsigned stage) {
    for (size_t i = 0; i < k->reductions.len; i++)
        if (k->reductions.at[i].stage == stage) return k->reductions.at[i].limit;
    return FC_NOVAL;
}
/* Whether rows have an end of their own (all stages or none). */
static inline bool fc_is_ragged(const fc_kernel *k) {
    return fc_stage_limit(k, 0) != FC_NOVAL;
}
/* Lanes are neighbouring rows, and elements come one after the other. */
static inline bool fc_is_by_column(const fc_kernel *k) {
    return k->schedule == FC_SCHED_OUTER || k->schedule == FC_SCHED_DOT;
}

/* Structural checks; FUSEC_INTERNAL with the reason. Run between passes in debug builds and in all
 * tests. */
fusec_status fc_kernel_verify(const fc_kernel *k, fc_error *e);

/* The dump format; canonical: equal kernels print equally. `dims` names the sizes. With dims NULL
 * everything that a launch passes as an argument is left out (sizes, index maps, where parameters
 * come from): kernels with equal text of this kind, of one class, run the same code. */
void fc_kernel_print(const fc_kernel *k, const fc_dimtab *dims, fc_str *out);

/* What it does, as a name for profilers: its schedule and the operations that tell most,
 * "fusec_inner_max_sum_exp_sub". A function of what fc_kernel_print says without sizes, and a name
 * in C and LLVM IR. */
enum { FC_KERNEL_NAME = 56 };
void fc_kernel_name(const fc_kernel *k, char out[FC_KERNEL_NAME]);

/* Counts for explain and the cost model: operations per point over all stages and stores (a value
 * that two stages need counts twice), transcendental ones among them. */
void fc_kernel_cost(const fc_kernel *k, uint32_t *ops, uint32_t *transcendental);

#endif
