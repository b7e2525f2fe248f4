/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_text.h - the state of one emission and the pieces that write LLVM IR text.
 *
 * Read in this order: llvm_text.c (names, types, literals, loops), llvm_convert.c (storage formats,
 * raw conversions), llvm_mem.c (loads and stores), llvm_code.c (instructions), llvm_function.c
 * (calls), llvm_divide.c, llvm_scale.c, llvm_remainder.c, llvm_reduce.c (accumulators and the
 * trees), llvm_extreme.c (min and max), llvm_keep.c, llvm_stream.c (stores that pass by the cache),
 * llvm_tiles.c, llvm_chunk.c, llvm_inner.c, llvm_packed.c, llvm_bands.c (parts of reductions),
 * llvm_loops.c (the loop form of each schedule), llvm_walk.c (its text), llvm_dot.c, llvm_emit.c
 * (entry).
 *
 * The text is plain SSA: every value is a name or a literal held as a string of the arena, mutable
 * state is in phis of loops, and larger state (lanes, levels of a tree) in stack arrays of the
 * entry block. A value exists at width 1 (scalar) or at width V (vector of V lanes); each function
 * takes the width it works at.
 *
 * A failure (out of memory, or a kernel that breaks the rules of ir/kernel.h) leaves the emission
 * at once: fc_ll_fail jumps to `leave`. All memory of an emission hangs off fc_ll, so nothing is
 * lost. */
#ifndef FUSEC_CODEGEN_LLVM_LLVM_TEXT_H
#define FUSEC_CODEGEN_LLVM_LLVM_TEXT_H

#include <setjmp.h>

#include "codegen/inside.h"
#include "codegen/llvm/llvm_facts.h"
#include "codegen/loop.h"
#include "ir/red_program.h"

typedef struct fc_ll_red {
    const fc_reduction *of;
    fc_op op;
    fusec_dtype t;       /* accumulated dtype; of a fold nothing */
    unsigned components; /* slots of the stage: [slot, slot + components) */
    unsigned slot;       /* within its stage */
    fusec_dtype comp[FC_MAX_COMPONENTS];
    uint64_t init[FC_MAX_COMPONENTS]; /* storage bits of the start values */
    fc_red_program start, step, combine, finish;
    /* the finished values, one for each result */
    const char **result;  /* width 1: of the current row */
    const char **vector;  /* dot: width V: of the current rows; else NULL */
    const char **memory;  /* outer: stack arrays with those of a column block */
    const char **scanned; /* scan: at the current element */
} fc_ll_red;

/* i64: [lo, hi); lo is NULL: all of the axis. */
typedef struct fc_ll_range {
    const char *lo, *hi;
} fc_ll_range;

/* The reductions [first, first + count) of one stage; their components, in order, are the slots. */
typedef struct fc_ll_stage {
    uint32_t first, count;
    unsigned nslots, base;   /* the first slot among those of the whole stage */
    const fusec_dtype *slot; /* dtype of each slot */
    bool uses_index;
    uint8_t *needed;            /* legalised instructions of the main code */
    const char **lanes;         /* per slot: stack array of partial lanes (inner) */
    const char **levels;        /* per slot: stack array of the binary counter */
    const char **held, **front; /* likewise of accumulators that are put by, and before them */
    /* Consecutive reductions of the stage that are done together: an extreme is quicker alone. */
    struct fc_ll_stage *part;
    unsigned nparts;
} fc_ll_stage;

/* A vector constant that the current function has a name for; see llvm_text.c. */
typedef struct fc_ll_constant {
    const char *text, *name;
    struct fc_ll_constant *next;
} fc_ll_constant;
enum { FC_LL_CONSTANTS = 256 }; /* lists of them, by hash */

/* What belongs to the current function and waits while an internal one is written. */
typedef struct fc_ll_aside {
    fc_str head, body;
    fc_ll_constant *constants[FC_LL_CONSTANTS];
    const char *block, *active, *mask;
    bool open;
} fc_ll_aside;

/* A divisor that is the same in all lanes; see llvm_divide.c. */
typedef struct fc_ll_divisor {
    const char *usual;     /* i1: whether it may be one */
    const char *b, *y, *z; /* vectors: itself, 1/b, what is missing in that */
    const char *low;       /* bits of the least magnitude it may divide */
    const char *halfway;   /* of quotients that become bf16: a mask, see the file; f32 only */
} fc_ll_divisor;

/* llvm_packed.c: masks of the vectors of a row, NULL for whole ones. */
typedef struct fc_ll_masks {
    const char **mask, **active;
} fc_ll_masks;

/* The kernel's code for this target, and where its values are; see llvm_code.c. */
#define FC_LL_TEXT                                                                                 \
    fc_code code;                                                                                  \
    fc_val *map; /* from k->code */                                                                \
    uint8_t *uniform, *at_row;                                                                     \
    const char **s, **v;        /* names at width 1 and V, NULL when not computed in the scope */  \
    const char ***tuple;        /* results of loops that have been emitted */                      \
    fc_ll_divisor *divisor;     /* of values at row level; b is NULL when not computed */          \
    uint8_t *s_point, *v_point; /* the name dies with the point */                                 \
    uint8_t *coarse;            /* fc_ll_coarse of quotients */                                    \
    uint8_t *narrowing;         /* see llvm_bf16.c */                                              \
    uint8_t *far_waits;         /* a row of ir/far.h that has not been needed yet */               \
    uint8_t *row_needed, *point_needed; /* slices of the stores */                                 \
    const uint8_t *of_part; /* bools that are known throughout a part; NULL: there are none */     \
    uint8_t *of_stage;      /* slice of the stage's reductions; NULL: as the stage says */

typedef struct fc_ll_text {
    FC_LL_TEXT
} fc_ll_text;

/* The rounds of a loop, legalised; see llvm_rounds.c. */
typedef struct fc_ll_round {
    const fc_rounds *of;
    fc_code code;
    fc_val *out;
    uint8_t *first, *needed; /* instructions for the condition, for all */
} fc_ll_round;

typedef struct fc_ll {
    const fc_alloc *alloc;
    const fc_machine *m;
    const fc_kernel *k;
    const fc_class *cls;
    const char *name;
    fusec_status status; /* why fc_ll_fail left */
    fc_error *error;     /* a message for that, if there is one */
    jmp_buf leave;
    fc_arena arena;
    unsigned V;
    bool half;          /* the processor converts f16 */
    fc_rewrite math;    /* vector code for functions, see llvm_math.h; NULL: libm */
    uint8_t *functions; /* by row: which of its functions are written; NULL: formulas in place */

    fc_str
        head; /* entry block of the current function: stack arrays, words of the parameter block */
    fc_str body;    /* the rest of it */
    fc_str module;  /* finished functions */
    fc_str helpers; /* internal functions: libm lane by lane, tiles */
    fc_ll_aside aside;
    fc_str decls;      /* declarations, one a line */
    fc_str word;       /* what fc_ll_fmt is making */
    unsigned next;     /* number of the next name; unique in the module */
    const char *block; /* label of the block being written */

    fc_layout lay;
    const char **words; /* of the parameter block: name when read in this function, else NULL */
    fc_ll_constant *constants[FC_LL_CONSTANTS];

    union { /* by name, or all together */
        fc_ll_text text;
        struct {
            FC_LL_TEXT
        };
    };
    fc_code scratch;     /* being legalised; here so that it is freed after a failure */
    bool in_point;       /* which is where text is being written */
    fc_ll_round *rounds; /* of the kernel's loops */
    size_t nrounds;
    bool any_row_store, any_point_store;

    bool at_origin;       /* indices are those of the first element of a row */
    fc_inside inside;     /* the code where no index meets an edge (llvm_inside.c) */
    fc_ll_text elsewhere; /* its text while the other one is written, and the other way round */
    bool has_inside;

    fc_loops loops; /* how it runs */
    fc_ll_masks masks;
    fc_ll_red *red;
    fc_ll_stage *stage;
    const char **kept; /* stack arrays of values that the stores get from a stage; may be NULL */
    const fc_ll_stage *kept_stage;
    struct fc_ll_dot *dot; /* of a contraction in tiles (llvm_dot.c) */

    /* where the point code is; see llvm_mem.c */
    const char **base;  /* [naccess] element offset of the row; NULL: not used in this function */
    const char *x;      /* i64, position of lane 0 along the lane axis */
    const char *column; /* outer: i64, x within the block of columns */
    const char *
        *fixed; /* inner with several reduced axes: offsets of the vector, instead of base and x */
    const char **coord;  /* the same when the vector crosses an axis: coordinates of the lanes by
                            reduced axis */
    const char *element; /* outer: i64 index along the reduced axes; NULL at row level */
    const char **at;     /* outer: offsets that follow the element (fc_ll_follow); may be NULL */
    const char *run;     /* outer: i64, first element of the run */
    const char
        *table; /* outer with several reduced axes: their part of the offsets, [naccess][FC_RUN] */
    bool streaming;       /* whole vectors of contiguous stores are aligned and pass by the cache */
    const char *aligned;  /* i1: whether they are; NULL: yes */
    unsigned turn, turns; /* the body's number in an unrolled loop, and of how many */
    const char **line;    /* results that wait for the others of their line (llvm_stream.c) */
    const char **waits;   /* parts of pairs that wait for the other one, by access; may be NULL */
    uint8_t ahead;        /* fc_loop_ahead: how far ahead of contiguous loads memory is asked for */
    const char **array;   /* of the stage buffers of `loops` */
    const char **tile;    /* the part of it for these lanes, by access; NULL if it has none */
    const char **own; /* copies of the arrays that are updated, by update; NULL: there are none */
    const char *tile_row; /* i64: what f->x is added to for the element of a tile */
    const char *nth;  /* i64: elements that each lane of the accumulators has taken; may be NULL */
    const char *mask; /* <V x i1>, NULL: all lanes are there */
    const char *active; /* i64, number of lanes that are there */
    const char *left;   /* the same of this vector and those that follow in one body; may be NULL */
    /* One body for whole vectors and parts: i1, whether all lanes are there in this turn. `mask` is
     * that of the turn for whoever does not ask. */
    const char *whole;
    uint32_t lane_axis;
    bool along_row; /* the lanes are elements of a row; otherwise neighbouring rows or points */
} fc_ll;

/* ---- llvm_text.c: names, lines, types ---------------------------------------------------- */

void fc_ll_init(fc_ll *f, const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                const char *name, const fc_alloc *alloc);
void fc_ll_free(fc_ll *f);
/* The following leave on failure; the first three need `leave` to be set, as everything
 * below does. */
_Noreturn void fc_ll_fail(fc_ll *f, fusec_status code);
void *fc_ll_alloc(fc_ll *f, size_t size); /* zeroed, from the arena; never NULL */
const char **fc_ll_names(fc_ll *f, size_t n);

const char *fc_ll_fmt(fc_ll *f, const char *fmt, ...) FC_PRINTF(2, 3); /* a string of the arena */
const char *fc_ll_ins(fc_ll *f, const char *fmt, ...)
    FC_PRINTF(2, 3); /* "%tN = ..."; gives "%tN" */
void fc_ll_line(fc_ll *f, const char *fmt, ...) FC_PRINTF(2, 3);
const char *fc_ll_head(fc_ll *f, const char *fmt, ...)
    FC_PRINTF(2, 3);                            /* the same in the entry block */
void fc_ll_declare(fc_ll *f, const char *line); /* once each */

/* Type of a value as computed with (bool i1, f16 and bf16 float), and of the stored form. */
const char *fc_ll_type(fc_ll *f, fusec_dtype t, unsigned W);
const char *fc_ll_stored(fc_ll *f, fusec_dtype t, unsigned W);
const char *fc_ll_wide(fc_ll *f, const char *scalar, unsigned W); /* "<W x scalar>" or the scalar */
const char *fc_ll_suffix(fc_ll *f, const char *scalar, unsigned W); /* of intrinsics: "v16f32" */
/* Constants: at width 1 literals, vectors by a name that the entry block defines. */
const char *fc_ll_const(fc_ll *f, fusec_dtype t, uint64_t bits, unsigned W);
const char *fc_ll_int(fc_ll *f, unsigned bits, int64_t v, unsigned W); /* of iN */
const char *fc_ll_iota(fc_ll *f, unsigned bits);                       /* 0, 1, 2, ... */
/* Indices of n lanes: (first + lane*step) % wrap, as a literal of iN, for shuffles. */
const char *fc_ll_lanes(fc_ll *f, unsigned bits, unsigned n, unsigned first, unsigned step,
                        unsigned wrap);
/* These lanes of a, of this type; those of b (NULL: none) count on behind its. */
const char *fc_ll_pick(fc_ll *f, const char *type, const char *a, const char *b, unsigned n,
                       unsigned first, unsigned step, unsigned wrap);
const char *fc_ll_shuffle(fc_ll *f, const char *type, const char *a, const char *b, unsigned n,
                          const unsigned *lane);
const char *fc_ll_splat(fc_ll *f, const char *scalar_type, const char *value);
const char *fc_ll_number(fc_ll *f, uint64_t n); /* its digits */
/* a where `cond`, of W lanes, holds, else b; both of this type. */
const char *fc_ll_select(fc_ll *f, const char *type, unsigned W, const char *cond, const char *a,
                         const char *b);
/* Whether a mask holds in all lanes; in any. */
const char *fc_ll_all_lanes(fc_ll *f, unsigned W, const char *mask);
const char *fc_ll_any_lane(fc_ll *f, unsigned W, const char *mask);
/* The pointer to an element of an array of this type. */
const char *fc_ll_index(fc_ll *f, const char *type, const char *array, const char *element);
const char *fc_ll_bin(fc_ll *f, const char *op, const char *a, const char *b); /* on i64 */
const char *fc_ll_whole(fc_ll *f, const char *n, unsigned step); /* the last multiple up to n */
const char *fc_ll_min(fc_ll *f, const char *a, const char *b);   /* of i64, unsigned */

/* A word of the parameter block, read in the entry block. One word is always asked for as
 * one type. */
const char *fc_ll_word(fc_ll *f, unsigned word, const char *type);
const char *fc_ll_extra(fc_ll *f, unsigned which); /* FC_PB_* */
const char *fc_ll_extent(fc_ll *f, unsigned axis);
const char *fc_ll_stride(fc_ll *f, uint32_t access, unsigned axis);
const char *fc_ll_offset(fc_ll *f, uint32_t access);

/* ---- control flow ------------------------------------------------------------------------ */

void fc_ll_label(fc_ll *f, const char *label); /* starts a block; the one before must have ended */
void fc_ll_goto(fc_ll *f, const char *label);

/* while (cond) { body } with values carried from turn to turn:
 * begin (phis), compute the condition, test, body, end with the next values. After `end` the
 * carried names hold the values of the last turn. */
typedef struct fc_ll_loop {
    unsigned id, n;
    const char **carry; /* [n] */
    const char *const *types;
} fc_ll_loop;
void fc_ll_loop_begin(fc_ll *f, fc_ll_loop *l, unsigned n, const char *const *types,
                      const char *const *init);
void fc_ll_loop_test(fc_ll *f, fc_ll_loop *l, const char *cond);
void fc_ll_loop_end(fc_ll *f, fc_ll_loop *l, const char *const *next);
/* A loop of one block, which is done once at least: while the condition, of the next values, holds.
 * Afterwards `carry` is what there is then. Without optimisation a value that is carried waits in
 * memory once in a turn, and not at each of the blocks of the loop above. */
void fc_ll_repeat_begin(fc_ll *f, fc_ll_loop *l, unsigned n, const char *const *types,
                        const char *const *init);
void fc_ll_repeat_end(fc_ll *f, fc_ll_loop *l, const char *const *next, const char *cond);
/* for (i = from; i < to; i += step) without carried values; gives i. */
const char *fc_ll_for(fc_ll *f, fc_ll_loop *l, const char *from, const char *to);
void fc_ll_for_end(fc_ll *f, fc_ll_loop *l, const char *step);

typedef struct fc_ll_if {
    unsigned id;
    const char *end[2]; /* the blocks that its parts end with */
} fc_ll_if;
void fc_ll_if_begin(fc_ll *f, fc_ll_if *i, const char *cond);
void fc_ll_if_else(fc_ll *f, fc_ll_if *i);
void fc_ll_if_end(fc_ll *f, fc_ll_if *i);
/* Behind it: `a` of its first part, or `b` of the other one. */
const char *fc_ll_either(fc_ll *f, const fc_ll_if *i, const char *type, const char *a,
                         const char *b);

/* Runs `body` for the vectors of [from, to): whole ones, then a masked one. Sets x, mask and
 * active. `unroll` vectors a turn while there are as many. */
typedef void (*fc_ll_body)(fc_ll *f, void *user);
void fc_ll_vectors(fc_ll *f, const char *from, const char *to, unsigned unroll, fc_ll_body body,
                   void *user);
void fc_ll_set_mask(fc_ll *f, const char *active); /* NULL: all lanes */
/* The same with one body for all vectors, which is half the code: where it loads and stores what is
 * contiguous, it branches on whether the vector is whole. `first` (i64, NULL: V) is how many
 * elements the first vector takes at most. */
void fc_ll_vectors_in_one(fc_ll *f, const char *from, const char *to, const char *first,
                          fc_ll_body body, void *user);
/* The mask of such a body for the one place that it is needed in: written in another way than
 * `mask`, so that no optimisation makes it once in every turn. */
const char *fc_ll_mask_here(fc_ll *f);
/* Whole vectors of [from, to), which has whole turns of `unroll` of them. */
void fc_ll_whole_vectors(fc_ll *f, const char *from, const char *to, unsigned unroll,
                         fc_ll_body body, void *user);
/* The mask of vector v of a range with n elements, which may end before that vector. */
void fc_ll_mask_part(fc_ll *f, const char *n, unsigned v);

/* ---- llvm_chunk.c, llvm_inner.c ---------------------------------------------------------- */

/* The accumulators, at width 1, of elements [lo, hi) of a row; `chunk`: how many of them make the
 * chunk at lo, NULL if all do. */
const char **fc_ll_reduce_range(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi,
                                const char *chunk);
/* Of the n elements of a chunk; in the way that always works. */
const char **fc_ll_reduce_chunk(fc_ll *f, const fc_ll_stage *st, const char *first, const char *n);
/* A row that ends by data. */
const char **fc_ll_ragged_row(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi);
const char **fc_ll_chunk_by_steps(fc_ll *f, const fc_ll_stage *st, const char *first,
                                  const char *n);
/* The vector at f->x: its elements join the accumulators. */
const char **fc_ll_step_vector(fc_ll *f, const fc_ll_stage *st, const char *const *acc);
/* Whether a slot is the number of elements of var, which need not be counted: in a chunk it follows
 * from the lane. */
bool fc_ll_is_number(const fc_ll *f, const fc_ll_stage *st, unsigned slot);
bool fc_ll_has_numbers(const fc_ll *f, const fc_ll_stage *st);
/* Of n elements of a chunk, those of the V lanes from lane `first` on. */
const char *fc_ll_numbers(fc_ll *f, const char *n, const char *first);
/* One level of a tree: lanes 2i and 2i + 1 of a and b, seen as one vector of 2V lanes, become lane
 * i. */
const char **fc_ll_join_neighbours(fc_ll *f, const fc_ll_stage *st, const char *const *a,
                                   const char *const *b);
/* Runs `body` for the vector at element x of the row. */
void fc_ll_at_vector(fc_ll *f, fc_ll_body body, void *user);
/* Offsets of accesses of a point at `element` of several reduced axes, numbered as one. */
const char **fc_ll_at_element(fc_ll *f, const char *element);
const char **fc_ll_offsets_at(fc_ll *f, const char *const *idx); /* at indices of the reduced axes */

/* ---- llvm_far.c -------------------------------------------------------------------------- */

/* Rows of ir/far.h that are done together: y[k], or what fn[k] makes of x[k] and y[k] where a lane
 * of x[k] is far from 0. Those of one x follow each other. */
enum { FC_LL_FAR = 4 };
typedef struct fc_ll_far {
    unsigned n;
    const char *x[FC_LL_FAR], *fn[FC_LL_FAR], *y[FC_LL_FAR], *out[FC_LL_FAR];
} fc_ll_far;
void fc_ll_far_lanes(fc_ll *f, fusec_dtype t, unsigned W, fc_ll_far *r);

/* ---- llvm_extreme.c ---------------------------------------------------------------------- */

bool fc_ll_is_extreme(const fc_ll *f, const fc_ll_stage *st);
/* The accumulators, at width 1, of elements [lo, hi) of a row. */
const char **fc_ll_extreme(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi);

/* ---- llvm_dot.c -------------------------------------------------------------------------- */

/* Where a contraction is: the rows and columns of its block, of its tile, and the chunk of k. */
typedef struct fc_ll_box {
    fc_ll_range rows, columns, down, across, k;
    const char *chunk, *last; /* i64: its number; i1: whether it is the last one */
} fc_ll_box;

void fc_ll_dot_begin(fc_ll *f); /* in a function with such leaves; and its end */
void fc_ll_dot_end(fc_ll *f);
const char *fc_ll_dot_columns(fc_ll *f);
const char *fc_ll_dot_rows(fc_ll *f); /* of a block */
void fc_ll_dot_fill(fc_ll *f, unsigned operand, const fc_ll_box *b, const char *const *idx);
/* Makes the accumulators of a tile, and a partial of them; after the last chunk what a fold is. */
void fc_ll_dot_push(fc_ll *f, const fc_ll_box *b);
/* The results at the vector x of row `m`; or the sums of a span there, to the workspace. */
void fc_ll_dot_finish(fc_ll *f, const fc_ll_box *b, const char *m);
void fc_ll_dot_put(fc_ll *f, const fc_ll_box *b, const char *m, const char *const *idx,
                   const char *span);

/* ---- llvm_keep.c ------------------------------------------------------------------------- */

/* In the entry block, for rows of at most `elements` values in vectors. */
void fc_ll_choose_kept(fc_ll *f, unsigned elements);
/* In the stage: puts the values of the current vector at element `at`. Before the stores' code:
 * gets them. */
void fc_ll_keep(fc_ll *f, const fc_ll_stage *st, const char *at);
void fc_ll_bring(fc_ll *f, const char *at);

/* ---- llvm_inside.c ----------------------------------------------------------------------- */

/* After the kernel's own text is prepared: the other one, for the lanes' axis of a map, and for
 * vectors of the elements of a row. */
void fc_ll_prepare_inside(fc_ll *f);
/* The body for the vector at hand, by the other text if that lies inside. */
void fc_ll_step_inside(fc_ll *f, fc_ll_body body, void *user);
void fc_ll_swap_text(fc_ll *f);
/* Where row code is: what parts are found by. */
void fc_ll_emit_inside_rows(fc_ll *f);
/* fc_ll_points in two texts: vectors of [from, to) inside of one part by the one, the others by the
 * kernel's own. */
void fc_ll_parts(fc_ll *f, const char *from, const char *to, fc_ll_body body, void *user);
/* Whether the text at hand is worth unrolling: llvm_loops.c. */
unsigned fc_ll_inside_turns(const fc_ll *f);

/* ---- llvm_stream.c ----------------------------------------------------------------------- */

/* fc_ll_vectors for a body with point stores: in a class that streams, whole vectors are
 * aligned. */
void fc_ll_points(fc_ll *f, const char *from, const char *to, unsigned unroll, fc_ll_body body,
                  void *user);
/* The same for ranges that begin at whole lines, if the rows of all results do: nothing is masked
 * to get there. */
void fc_ll_lines(fc_ll *f, const char *from, const char *to, unsigned unroll, fc_ll_body body,
                 void *user);
/* Elements of [from, to) before the first aligned one of what is streamed in turns of so many
 * vectors; NULL: nothing is. *all: whether the results are aligned together there, NULL: they
 * are. */
const char *fc_ll_before_aligned(fc_ll *f, const char *from, const char *to, unsigned turns,
                                 const char **all);
unsigned fc_ll_most_joined(const fc_ll *f, unsigned turns); /* vectors of a store at most */
/* A whole vector of results at an element of the access's array. */
void fc_ll_store_past(fc_ll *f, uint32_t access, const char *element, const char *stored);
void fc_ll_end_stream(fc_ll *f); /* at the end of a function that may have streamed */

/* ---- a function -------------------------------------------------------------------------- */

void fc_ll_begin(fc_ll *f);
void fc_ll_end(fc_ll *f, const char *suffix);
/* An internal function in between, which reads its parameters only; not within another. The
 * signature is "TYPE @NAME(...)". */
void fc_ll_aside_begin(fc_ll *f);
void fc_ll_aside_end(fc_ll *f, const char *signature);

/* ---- llvm_convert.c ---------------------------------------------------------------------- */

/* Between the stored form and the computed one. */
const char *fc_ll_unpack(fc_ll *f, fusec_dtype t, unsigned W, const char *stored);
const char *fc_ll_pack(fc_ll *f, fusec_dtype t, unsigned W, const char *value);
const char *fc_ll_cvt(fc_ll *f, fusec_dtype from, fusec_dtype to, unsigned W, const char *value);
const char *fc_ll_bitcast(fc_ll *f, fusec_dtype from, fusec_dtype to, unsigned W,
                          const char *value);

/* ---- llvm_bf16.c ------------------------------------------------------------------------- */

/* What is known of an f32 that becomes a bf16: nothing; that the lower half of a nan is 0; that it
 * is one, or a whole number below one. */
typedef enum fc_ll_narrowing {
    FC_LL_NARROW_ANY,
    FC_LL_NARROW_CLEAN,
    FC_LL_NARROW_EXACT
} fc_ll_narrowing;
void fc_ll_find_narrowing(fc_ll *f); /* f->narrowing */
const char *fc_ll_to_bf16(fc_ll *f, fc_ll_narrowing how, unsigned W, const char *value);

/* ---- llvm_extern.c ----------------------------------------------------------------------- */
const char *fc_ll_extern(fc_ll *f, fc_val v, unsigned W);
/* The same in the code of a body, whose values have these names. */
const char *fc_ll_extern_in(fc_ll *f, const fc_code *c, fc_val v, unsigned W,
                            const char *const *named);

/* ---- llvm_mem.c -------------------------------------------------------------------------- */

/* The value of an access (or of an index access) at the current place. */
const char *fc_ll_load(fc_ll *f, uint32_t access, unsigned W);
void fc_ll_store(fc_ll *f, uint32_t access, unsigned W, const char *value);
/* Of an access that moves by one along the lanes: its address at position x, as an i64. */
const char *fc_ll_address(fc_ll *f, uint32_t access, const char *x);
const char *fc_ll_element(fc_ll *f, uint32_t access, const char *element); /* ptr */
/* outer with one reduced axis: offsets are made for this element, and go on by one addition to the
 * next one, until the end. */
void fc_ll_follow(fc_ll *f, const char *element);
void fc_ll_follow_on(fc_ll *f);
void fc_ll_follow_end(fc_ll *f);
/* llvm_couples.c: parts of pairs. An access is one in whole vectors whose pairs follow each other
 * along the lanes. */
bool fc_ll_is_couple(const fc_ll *f, uint32_t access);
const char *fc_ll_load_couple(fc_ll *f, uint32_t access);
/* Whether it now waits for the other part; *other: UINT32_MAX if the kernel does not have it. */
bool fc_ll_first_of_couple(fc_ll *f, uint32_t access, const char *stored, uint32_t *other);
void fc_ll_store_couple(fc_ll *f, uint32_t access, const char *const part[2]);
const char *fc_ll_first_element(fc_ll *f, uint32_t access); /* that of lane 0 */
/* llvm_at.c: loads at computed elements, checks of indices. */
const char *fc_ll_load_at(fc_ll *f, fc_val v, unsigned W);
const char *fc_ll_inside(fc_ll *f, fc_val v, unsigned W);
/* llvm_put.c: stores at computed elements. */
const char *fc_ll_put_at(fc_ll *f, fc_val v, unsigned W);
/* Beside updates that go far: asks for what a later vector will load at computed elements. */
void fc_ll_ask_at(fc_ll *f, const fc_instr *load, unsigned W);
/* Around a function whose class has `copied`. */
void fc_ll_own_begin(fc_ll *f);
void fc_ll_own_end(fc_ll *f);
/* The value of an instruction of f->code that has been emitted. */
const char *fc_ll_here(fc_ll *f, fc_val v, unsigned W);
/* An index at lane 0, if it moves by one along the lanes; else NULL. */
const char *fc_ll_first_index(fc_ll *f, uint32_t access);
/* An element or index at lane 0, if the other lanes follow it by `*moving` each; else NULL. */
const char *fc_ll_first_of(fc_ll *f, fc_val v, int *moving);
/* W elements in their stored form, from or to a pointer or (`gathers`, `scatters`) W of them;
 * `mask` may be NULL. */
const char *fc_ll_read(fc_ll *f, fusec_dtype t, unsigned W, const char *at, bool gathers,
                       const char *mask);
void fc_ll_write(fc_ll *f, fusec_dtype t, unsigned W, const char *at, bool scatters,
                 const char *mask, const char *value);
void fc_ll_ask(fc_ll *f, const char *at, unsigned bytes); /* brings lines near, soon */
/* Stack arrays of `count` values; spill and fill move W values at element `at`, of the lanes of
 * `mask` or all. */
const char *fc_ll_array(fc_ll *f, fusec_dtype t, unsigned count);
void fc_ll_spill(fc_ll *f, fusec_dtype t, unsigned W, const char *array, const char *at,
                 const char *value);
const char *fc_ll_fill(fc_ll *f, fusec_dtype t, unsigned W, const char *array, const char *at);
void fc_ll_spill_masked(fc_ll *f, fusec_dtype t, unsigned W, const char *array, const char *at,
                        const char *mask, const char *value);
const char *fc_ll_fill_masked(fc_ll *f, fusec_dtype t, unsigned W, const char *array,
                              const char *at, const char *mask);
/* idx[lo..hi) of a flat index over axes lo..hi-1 */
void fc_ll_decompose(fc_ll *f, const char *flat, unsigned lo, unsigned hi, const char **idx);
/* base[] of all accesses for kept axes [0, hi) at idx */
void fc_ll_set_base(fc_ll *f, const char *const *idx, unsigned hi);
/* Element `first` of an access, moved to indices idx[lo], ... of the axes [lo, hi). */
const char *fc_ll_along_axes(fc_ll *f, uint32_t a, const char *first, const char *const *idx,
                             unsigned lo, unsigned hi);

/* ---- llvm_code.c ------------------------------------------------------------------------- */

static inline bool fc_ll_along_row(const fc_ll *f) {
    return f->along_row;
}
/* From here on the lanes are along this axis: along a row, or across rows. */
void fc_ll_look_along(fc_ll *f, uint32_t axis, bool along_row);
static inline fc_level fc_ll_store_level(const fc_ll *f, const fc_store *s) {
    return f->k->schedule == FC_SCHED_MAP ? FC_POINT : (fc_level)f->k->accesses.at[s->access].level;
}
/* Works out which values are uniform and at which level each is computed. */
void fc_ll_classify(fc_ll *f);
/* Emits what `needed` asks for of row or point level; forget makes the names of a scope invalid. */
void fc_ll_emit_rows(fc_ll *f, const uint8_t *needed);
void fc_ll_emit_points(fc_ll *f, const uint8_t *needed);
void fc_ll_forget_points(fc_ll *f);
void fc_ll_forget(fc_ll *f);
const char *fc_ll_value(fc_ll *f, fc_val v, unsigned W); /* v of k->code */
void fc_ll_run_stores(fc_ll *f, fc_level level, unsigned W);
/* Runs a program: args by number, results to out. Its quotient is `share` when that is given. */
void fc_ll_run(fc_ll *f, const fc_red_program *p, unsigned W, const char *const *args,
               const char *share, unsigned nout, const char **out);
/* Everything but leaves. `a` are the operands at width W. */
const char *fc_ll_compute(fc_ll *f, const fc_code *code, fc_val i, unsigned W,
                          const char *const *a);
/* How many instructions one of f->code is written as, about. */
unsigned fc_ll_length(const fc_ll *f, fc_val i);
/* The one place that chooses how a function of libm is computed. */
const char *fc_ll_math(fc_ll *f, const char *fn, unsigned nargs, fusec_dtype t, unsigned W,
                       const char *const *args);
/* An intrinsic, "@llvm.fabs". */
const char *fc_ll_intrinsic(fc_ll *f, const char *name, unsigned nargs, fusec_dtype t, unsigned W,
                            const char *const *args);

/* V vectors (llvm_tiles.c): lane i of vector k becomes lane k of vector i. */
void fc_ll_transpose(fc_ll *f, const char *type, const char **v);

/* ---- llvm_scan.c ------------------------------------------------------------------------- */

/* Elements [lo, hi) of a row, V runs or what is left of it: block `number` of it. */
void fc_ll_scan_block(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi,
                      const char *number);

/* ---- llvm_rounds.c ----------------------------------------------------------------------- */

void fc_ll_prepare_rounds(fc_ll *f); /* after f->code.rewrite is set */
void fc_ll_free_rounds(fc_ll *f);
/* The carried values after loop `number`, at width W. Operands: first and end at width 1, the
 * others. */
const char **fc_ll_rounds(fc_ll *f, uint32_t number, unsigned W, const char *const *operand);
/* The same of the loop at v of f->code. */
const char **fc_ll_loop_at(fc_ll *f, fc_val v, unsigned W);

/* ---- llvm_function.c --------------------------------------------------------------------- */

/* What the kernel's code is legalised with; chooses between formulas in place and calls. */
fc_rewrite fc_ll_functions(fc_ll *f);
const char *fc_ll_call(fc_ll *f, fc_op op, fusec_dtype t, unsigned W, const char *const *a);

/* ---- llvm_divide.c ----------------------------------------------------------------------- */

enum { FC_LL_DIVIDER = 10 }; /* instructions that the processor does during one division */
bool fc_ll_divides(const fc_ll *f, fusec_dtype t); /* by other means than fdiv */
fc_ll_divisor fc_ll_divisor_of(fc_ll *f, fusec_dtype t, const char *b);
/* 1 / (n + 1) in all lanes, for n from 0 to FC_RUN - 1 */
const char *fc_ll_share(fc_ll *f, fusec_dtype t, const char *n);
const char *fc_ll_divide(fc_ll *f, fusec_dtype t, const char *a, const fc_ll_divisor *by);
void fc_ll_find_coarse(fc_ll *f); /* f->coarse */
/* In f32, near enough to round to the same bf16. */
typedef enum fc_ll_coarse { FC_LL_FINE, FC_LL_OF_BF16, FC_LL_TO_BF16 } fc_ll_coarse;
const char *fc_ll_divide_coarsely(fc_ll *f, const char *a, const fc_ll_divisor *by,
                                  fc_ll_coarse how);

/* ---- llvm_scale.c ------------------------------------------------------------------------ */

/* x 2^n: the row scale_raw. */
const char *fc_ll_scale(fc_ll *f, fusec_dtype t, unsigned W, const char *x, const char *n);

/* ---- llvm_philox.c ----------------------------------------------------------------------- */

/* Random draws of 64 bits: a[] are the numbers of the draws, seeds and streams. */
const char *fc_ll_philox(fc_ll *f, unsigned W, const char *const *a);

/* ---- llvm_remainder.c -------------------------------------------------------------------- */

bool fc_ll_has_remainder(const fc_ll *f, fusec_dtype t); /* fmod by other means than libm alone */
const char *fc_ll_remainder(fc_ll *f, fusec_dtype t, const char *const *x);

/* ---- llvm_reduce.c ----------------------------------------------------------------------- */

void fc_ll_reductions(fc_ll *f);
void fc_ll_reductions_free(fc_ll *f);
const char **fc_ll_inits(fc_ll *f, const fc_ll_stage *st, unsigned W);
/* One element a lane; `index` at width W when the stage uses it. Masked-off lanes keep `acc`. */
const char **fc_ll_step(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *const *acc,
                        const char *index);
const char **fc_ll_combine(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *const *a,
                           const char *const *b);
/* Instructions for each element before the step, loads not counted. */
unsigned fc_ll_steps(const fc_ll *f, const fc_ll_stage *st);
/* The results of a reduction. */
const char **fc_ll_finish(fc_ll *f, uint32_t red, unsigned W, const char *const *acc);

/* Types of `extra` i64 values and the slots; one or two names (`second` may be NULL) and
 * the slots. */
const char **fc_ll_slot_types(fc_ll *f, const fc_ll_stage *st, unsigned W, unsigned extra);
const char **fc_ll_join(fc_ll *f, const fc_ll_stage *st, const char *first, const char *second,
                        const char *const *slots);
/* A stack array for each slot; moving all slots to and from element `at`. */
const char **fc_ll_arrays(fc_ll *f, const fc_ll_stage *st, unsigned count);
void fc_ll_spill_all(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *const *arrays,
                     const char *at, const char *const *v);
const char **fc_ll_fill_all(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *const *arrays,
                            const char *at);

/* Binary counter in st->levels, whose levels are `row` elements apart, at element `at`: adds
 * partial number `count`, each of which counts 2^lowest; combines what is there after `count`
 * partials. */
void fc_ll_push(fc_ll *f, const fc_ll_stage *st, unsigned W, unsigned row, const char *at,
                const char *count, unsigned lowest, const char *const *partial);
const char **fc_ll_fold(fc_ll *f, const fc_ll_stage *st, unsigned W, unsigned row, const char *at,
                        const char *count);
/* Of a split reduction: the number of spans, and elements of one. */
const char *fc_ll_spans(fc_ll *f);
const char *fc_ll_span(fc_ll *f);
/* Partials of split reductions in the workspace, of one row or of V neighbouring ones. */
void fc_ll_put_partial(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *span,
                       const char *row, const char *const *acc);
/* Combines the partials of all spans; uses st->levels (FC_LL_LEVELS * W elements). */
const char **fc_ll_join_spans(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *row);

/* ---- loops ------------------------------------------------------------------------------- */

/* llvm_loops.c: f->loops, as the class says. llvm_walk.c: its functions. */
void fc_ll_schedule_loops(fc_ll *f);
void fc_ll_walk(fc_ll *f);
/* llvm_packed.c: the masks of a row; the accumulators of the V rows at f->x. */
fc_ll_masks fc_ll_row_masks(fc_ll *f);
const char **fc_ll_packed(fc_ll *f, const fc_ll_stage *st);
/* Vectors that wait for the next one of their size; as many as the number of the last one has bits.
 */
typedef struct fc_ll_joined {
    const char **at[16];
    unsigned n;
} fc_ll_joined;
void fc_ll_join_next(fc_ll *f, const fc_ll_stage *st, fc_ll_joined *p, unsigned number,
                     const char **v);
/* llvm_bands.c: the same of longer rows, of which so many are `there`; lanes that it keeps. */
const char **fc_ll_by_bands(fc_ll *f, const fc_ll_stage *st, const char *there);
unsigned fc_ll_band_lanes(const fc_ll *f);
/* llvm_tiles.c: whether an access lies along the tiles' axis, and not along the lanes; whether it
 * is loaded once for a block of rows. */
bool fc_ll_is_tiled(const fc_ll *f, uint32_t access);
bool fc_ll_is_shared(const fc_ll *f, uint32_t access);
/* Moves a tile of V by V between an access, from element `element` on (V rows or fewer, `last` is
 * the number of the last one, the lane axis apart; `n` elements of each), and a stack array whose
 * rows are `step` elements apart: rows become columns. Out: all V rows are there. A class that asks
 * ahead asks for what lies `ahead` elements further. */
void fc_ll_move_tile(fc_ll *f, uint32_t access, bool out, const char *element, const char *last,
                     const char *n, const char *array, const char *step, const char *ahead);

/* ---- llvm_emit.c ------------------------------------------------------------------------- */

fusec_status fc_ll_emit(const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                        const char *name, fc_str *out, fc_error *e);

#endif
