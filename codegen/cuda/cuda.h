/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda.h - the CUDA emitter's own interface. Read in this order: cuda_facts.h (what follows from a
 * kernel and a class), cuda_emit.c (the frame of every text), cuda_prelude.c (what stands above it:
 * prelude/), cuda_text.c (lines and operands), cuda_code.c (one instruction), cuda_red.c (a
 * reduction as small functions), cuda_slice.c (what a phase needs), cuda_group.c with cuda_load.c
 * (loads, code and stores of a few elements), cuda_window.c and cuda_inside.c (reads at computed
 * elements, and at edges), cuda_hold.c, then cuda_loops.c (the loop form of each schedule,
 * codegen/loop.h) and what writes forms: cuda_walk.c (the tree, and rows that threads share with
 * cuda_team.c and cuda_chunks.c) and what has nodes of its own: cuda_place.c (maps), cuda_thread.c
 * (rows of a thread), cuda_outer.c (columns), cuda_scan.c, cuda_tile.c, cuda_ring.c (rows in shared
 * memory), cuda_dot.c and cuda_mma.c (contractions); then cuda_gang.c (blocks that wait for each
 * other) and cuda_divide.c. Texts of several kernels: cuda_flash.c (products), cuda_slide.c (maps).
 * Which schedule a kernel has is chosen in schedule/.
 *
 * The text includes nothing. Names in it: a0 an argument, b0 the offset of access 0 with the outer
 * axes in, o0 the same with all axes, q0 what access 0 loaded, v0 a value, h0 the 16 bits behind a
 * value, i0 an index of a kept axis, j0 of a reduced one, red0 the accumulator of reduction 0, f0
 * its result. Sizes are read from the parameter block; p.w[n] is word n of it (codegen/nest.h). */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_H
#define FUSEC_CODEGEN_CUDA_CUDA_H

#include "codegen/cuda/cuda_facts.h"
#include "codegen/loop.h"

/* ---- text under construction ---------------------------------------------------------------- */

/* Renders instructions of one fc_code. */
typedef struct fc_cuda_text {
    const fc_code *code;
    const fc_kernel *k; /* whose reductions FC_OP_ACC is of; NULL in the functions of reductions */
    fc_str *out;
    unsigned depth;
    const char *const *args; /* names of FC_OP_ARG */
    const uint8_t *need;     /* the slice under way: where sin looks for its cos */
    uint8_t *done;           /* instructions that have a name in an enclosing scope */
    uint8_t *local;          /* the same for the scope under way */
    const char *division;    /* how f32 and f64 divide, as a text of a row; NULL: as anywhere */
    const char *by_row;      /* how f32 divides by what is the same in a row; NULL: as anywhere */
    const uint8_t
        *narrow;         /* [ins] the 16-bit dtype that all users round it to, or 0; may be NULL */
    const uint8_t *sign; /* [ins] whether the sign of a NaN is kept, see cuda_sign.c; NULL in the
                          * functions of reductions */
    const char *there;   /* what must hold for the element to be one of the nest; NULL: it is */
    bool bytes;          /* 8-bit integers are computed on, see cuda_guard.c */
} fc_cuda_text;

typedef struct fc_cuda_gen {
    fc_cuda_text t;
    const fc_kernel *k;
    const fc_class *cls;
    fc_layout l;
    uint32_t np, axes;
    fc_code code;        /* legalised */
    fc_code *bodies;     /* [records + loops] of folds, too, then the rounds of loops */
    fc_val **rounds_out; /* [loops] what a round makes, in its code */
    fc_val *store_value; /* [stores] in `code` */
    fc_val *put_value;   /* [updates] */
    fc_val *red_value;   /* [reductions][FC_MAX_COMPONENTS] their elements, then FC_NOVAL */
    fc_val *roots;       /* scratch */
    uint8_t *need, *done, *local, *vary;
    bool stages;    /* elements go to shared memory instead of an accumulator (cuda_scan.c) */
    uint8_t *outer; /* [ins] `done` as it is outside of a loop */
    fc_loops loops;
    struct fc_ring *ring; /* parts of rows in shared memory; NULL: there are none */
    uint8_t *used;        /* [accesses] FC_CUDA_LOADS, ...: what the slice under way does with it */
    uint8_t *cached;      /* [accesses] loaded before the first stage and kept (FC_CUDA_ONE) */
    uint8_t *hold;        /* [ins] FC_CUDA_HOLD, FC_CUDA_HELD: see cuda_hold.c */
    uint8_t *narrow;      /* [ins] see fc_cuda_text */
    uint8_t *block;       /* [ins] it is r* of a group: FC_CUDA_BLOCK_ONE for all of it, or more by
                             the neighbours that have one together; 0: it is not */
    uint8_t *sign;        /* [ins] see fc_cuda_text */
    fc_val *map;          /* from the kernel's code */
    struct fc_cuda_windows *windows; /* see cuda_window.c; NULL: loads are where they are needed */
    struct fc_cuda_inside *inside;   /* see cuda_inside.c; NULL: one text is for all vectors */
    const char *given; /* expression: what access `given_access` loads; NULL: all read memory */
    uint32_t given_access;
    bool divisors;    /* extents that numbers are divided by have names, by* */
    bool given_value; /* of 16 bits: it is a float that has such a value, not the bits */
    uint8_t *had;     /* [FC_CUH_COUNT] sections of the prelude that stand there; NULL: none do */
} fc_cuda_gen;

static inline const fc_val *fc_cuda_red_value(const fc_cuda_gen *g, size_t r) {
    return g->red_value + r * FC_MAX_COMPONENTS;
}

/* Of rows that end by data: where that of a stage is. */
static inline fc_val fc_cuda_row_limit(const fc_cuda_gen *g, unsigned stage) {
    size_t r = 0;
    while (g->k->reductions.at[r].stage != stage) r++;
    return fc_cuda_red_value(g, r)[g->k->reductions.at[r].nvalues];
}

/* The codes in g->bodies. */
static inline size_t fc_cuda_nbodies(const fc_kernel *k) {
    return k->records.len + k->loops.len;
}

/* The word of the parameter block that the strides of an access follow: its offset. */
static inline unsigned fc_cuda_word(const fc_cuda_gen *g, uint32_t a) {
    return g->l.accesses + a * (1 + g->axes);
}

/* Shared memory whose size a launch says. To the compiler it is one thing in all kernels of a text,
 * also in their name spaces, so its type is one that no text defines. */
#define FC_CUDA_EXTERN_ROOM                                                                        \
    "extern __shared__ double2 fc_room[]; fc_vec<double, 2, 16> *const room = (fc_vec<double, 2, " \
    "16> *)fc_room;"

/* One line, indented; a line that is "}" or starts with it closes a level, one that ends in "{"
 * opens one. */
void fc_cuda_line(fc_cuda_text *t, const char *fmt, ...) FC_PRINTF(2, 3);

void fc_cuda_indent(fc_cuda_text *t); /* for lines made piece by piece */

/* The 16-bit dtype of the node that a function or quotient in f32 belongs to under wide16, else
 * bool. */
static inline fusec_dtype fc_cuda_node16(const fc_instr *i) {
    return fc_is_elementwise(i->op) ? (fusec_dtype)i->imm : FUSEC_BOOL;
}
const char *fc_cuda_type(fusec_dtype t); /* of a value: f16 and bf16 are float */
/* Appends the name of a value, or the literal. */
void fc_cuda_operand(fc_cuda_text *t, fc_val v);
/* "const float v3 = ...;" and, where they are at hand, the bits of a 16-bit float as h3. */
void fc_cuda_instr(fc_cuda_text *t, fc_val v);
/* Whether v is a quotient in f32 whose divisor is the same for all elements of a row. */
bool fc_cuda_divides_by_row(const fc_cuda_text *t, fc_val v);
/* Defines v from an expression of its storage type. */
/* FC_OP_LOAD_AT and FC_OP_INSIDE; `there` is what must hold for the element to be one of the nest,
 * or NULL; `report`: the word with the address for reports. */
void fc_cuda_computed(fc_cuda_text *t, fc_val v, const char *there, unsigned report);
void fc_cuda_from_storage(fc_cuda_text *t, fc_val v, const char *expr);
/* cuda_put.c: FC_OP_PUT_AT. */
struct fc_cuda_gen;
void fc_cuda_put(struct fc_cuda_gen *g, fc_val v, const char *there);
/* Around the text of a map whose class has `copied`. */
void fc_cuda_own_begin(struct fc_cuda_gen *g);
void fc_cuda_own_end(struct fc_cuda_gen *g);
/* Appends the value in its storage type. */
void fc_cuda_to_storage(fc_cuda_text *t, fc_val v);
/* Whether `v` is an f32 that is rounded to 16 bits and nothing else; whether an 8-bit integer
 * becomes an f32. */
bool fc_cuda_rounds(const fc_cuda_text *t, fc_val v);
bool fc_cuda_of_byte(const fc_instr *i, const fc_instr *from);

/* ---- reductions: see cuda_red.c -------------------------------------------------------------- */

bool fc_cuda_any_counts(const fc_kernel *k, unsigned stage);
bool fc_cuda_evens(const fc_cuda_gen *g); /* fc_join_even exists */
void fc_cuda_prelude(fc_cuda_gen *g);     /* what the kernel needs of it */

/* cuda_sign.c: fills g->sign; the functions that it stands for, after those of 16-bit dtypes. */
void fc_cuda_find_signs(fc_cuda_gen *g);

/* cuda_guard.c: whether 8-bit integers are computed on; whether a load goes through fc_byte then;
 * the text of a row in place of its own, or NULL; whether the operand v of i, a constant, is
 * hidden. */
bool fc_cuda_computes_bytes(const fc_code *c);
bool fc_cuda_guard_load(const fc_cuda_text *t, fc_val v);
const char *fc_cuda_guard_row(const fc_cuda_text *t, const fc_instr *i);
bool fc_cuda_guard_constant(const fc_cuda_text *t, const fc_instr *i, fc_val v);

fusec_status fc_cuda_red_functions(fc_cuda_gen *g, uint32_t r, fc_error *e);
/* z*: where the partials of a split are. Reduction after reduction, `spans` times `rows` of each,
 * rounded up to a multiple of 8 of them so that the next one is aligned. `offset` says where this
 * thread's row begins. */
void fc_cuda_partials(fc_cuda_gen *g, const char *offset);

void fc_cuda_declare_results(fc_cuda_gen *g, unsigned stage); /* f* */
const char *fc_cuda_red_result_type(const fc_cuda_gen *g, unsigned r, char room[16]);
void fc_cuda_declare_turns(fc_cuda_gen *g, unsigned r); /* g*, one for each turn */

/* A line for every reduction r of a stage. */
#define FC_EACH_REDUCTION(g, of_stage, ...)                                                        \
    for (unsigned r = 0; r < (g)->k->reductions.len; r++)                                          \
        if ((g)->k->reductions.at[r].stage == (of_stage)) fc_cuda_line(&(g)->t, __VA_ARGS__)

/* ---- loops of elements: see cuda_rounds.c ---------------------------------------------------- */

fusec_status fc_cuda_loop_function(fc_cuda_gen *g, uint32_t number, fc_error *e);
/* Above a kernel, the functions of the user that it calls (cuda_extern.c). */
void fc_cuda_extern_functions(fc_cuda_gen *g);

/* ---- slices and scopes ---------------------------------------------------------------------- */

enum { FC_CUDA_BLOCK_ONE = 1 };
enum { FC_CUDA_LOADS = 1, FC_CUDA_INDEXES = 2, FC_CUDA_WRITES = 4 };
enum { FC_CUDA_STORES = UINT8_MAX }; /* the phase after the last stage */

/* Marks in g->need what a phase needs and in g->used the accesses that it touches. `level` picks
 * the stores of the last phase. False when the phase does nothing at this level. */
bool fc_cuda_slice(fc_cuda_gen *g, unsigned phase, fc_level level);
/* The row code of the slice: values that later scopes find by name. */
void fc_cuda_row(fc_cuda_gen *g);
/* All of the slice, for one element in a scope of its own. */
void fc_cuda_element(fc_cuda_gen *g);
void fc_cuda_row_stores(fc_cuda_gen *g);
/* Offsets b* of all accesses with the axes [0, end) in, whose indices have names. */
void fc_cuda_bases(fc_cuda_gen *g, uint32_t end);
/* The same of accesses that the slice uses, in two parts: that of the kept axes, to variables of a
 * name, and from there. */
void fc_cuda_bases_kept(fc_cuda_gen *g, const char *name);
void fc_cuda_bases_from(fc_cuda_gen *g, const char *name);
void fc_cuda_bases_but(fc_cuda_gen *g, uint32_t axis); /* with all kept axes but one in */
/* Indices of the axes [first, end) from their linear number; `number` is a variable that stays as
 * it is. */
void fc_cuda_indices(fc_cuda_gen *g, uint32_t first, uint32_t end, const char *number);

/* ---- groups of elements --------------------------------------------------------------------- */

typedef struct fc_cuda_group {
    int n;               /* elements */
    int step;            /* from one to the next, in element numbers */
    uint32_t first, end; /* the axes that elements are numbered over */
    bool across;         /* elements are neighbours along the innermost kept axis and have the same
                            number; else they are neighbours along the last axis and count on */
    bool own;            /* elements have nothing in common: each works out its indices */
    bool wide; /* accesses that move by one along the last axis take all elements at once */
    const char *number; /* variable: number of the first element */
    const char *limit;  /* variable: elements from here on do not exist; NULL: all do */
    const char *tested; /* variable: what `limit` is compared with instead of `number`, both less
                           the same; NULL: `number` */
    const char *slot;   /* which of several groups of q*: "" or "[u]" */
    const char *kept;   /* the same for loads that are kept (FC_CUDA_ONE) */
    bool lanes;         /* each element steps an accumulator of its own, w0[e]; else all step w0 */
    bool whole;         /* elements exist all or not at all */
    const uint8_t *aside; /* [accesses] stores that only fill y*, `slot` of them; may be NULL */
    const char *sums;  /* expression: the result of reduction 0 for element e; NULL: f0 is there */
    bool staged;       /* results of scans are in stage*, that of element e at at* ^ e */
    const char *taken; /* expression: how many elements an accumulator took before this step */
    unsigned exchange; /* stores of neighbours that can't be wide go through shared memory (turn),
                          by so many threads of a warp, so that they too write whole lines; 0: no */
} fc_cuda_group;

/* Declares q* (`slots` of each, 0 = no array) for the used loads; fills them; runs the code. */
void fc_cuda_group_declare(fc_cuda_gen *g, const fc_cuda_group *gr, int slots, bool cached);
/* cuda_load.c. Whether the loads of an access ask the L2 to keep what they read longer than what is
 * written: of large nests, what is read once. DRAM is then written in longer runs between reads. */
bool fc_cuda_lasts(const fc_cuda_gen *g, uint32_t access);
bool fc_cuda_windows_last(const fc_cuda_gen *g);
void fc_cuda_group_load(fc_cuda_gen *g, const fc_cuda_group *gr, bool cached);
void fc_cuda_group_compute(fc_cuda_gen *g, const fc_cuda_group *gr, unsigned phase);
/* Declares the shared memory of `exchange`, if a store of the kernel needs it. */
void fc_cuda_group_turn(fc_cuda_gen *g, const fc_cuda_group *gr, unsigned threads);

/* The code of the slice, whose loads have q*, for all elements; the loop over these stays open. */
void fc_cuda_group_open(fc_cuda_gen *g, const fc_cuda_group *gr);
/* Names of places for what the slice does with accesses besides loads, and its code for the first
 * element, in the scope that is open. */
void fc_cuda_group_first(fc_cuda_gen *g, const fc_cuda_group *gr);

/* ---- reads at computed elements, side by side: see cuda_window.c ----------------------------- */

/* Finds them in g->code; the values of a group's element `e` then come from w*, which the text of a
 * group fills first. */
/* `known`: [ins] values that are the same for all neighbours of a thread, whatever they are made
 * of. */
fusec_status fc_cuda_windows_find(fc_cuda_gen *g, const uint8_t *known, fc_error *e);
/* cuda_stack.c: behind it, their stacks; `edges`: the code of the kernel with its edges. */
fusec_status fc_cuda_stacks_find(fc_cuda_gen *g, const uint8_t *known, const fc_code *edges,
                                 fc_error *e);
void fc_cuda_windows_free(fc_cuda_gen *g);
bool fc_cuda_windows_any(const fc_cuda_gen *g);
/* Whether v is such a read; marks in g->need what its place is made of. */
bool fc_cuda_windowed(const fc_cuda_gen *g, fc_val v);
void fc_cuda_windows_need(fc_cuda_gen *g, fc_val v);
void fc_cuda_windows_load(fc_cuda_gen *g);
/* Whether the text of windows is right only where they are aligned, which is asked for with the
 * bounds: marks in g->need what that takes; appends the condition. */
bool fc_cuda_windows_even(const fc_cuda_gen *g);
void fc_cuda_windows_even_need(fc_cuda_gen *g);
void fc_cuda_windows_even_test(fc_cuda_gen *g);
void fc_cuda_window_value(fc_cuda_gen *g, fc_val v);
/* Stacks of windows, for several rows together: what their places are made of is marked in g->need;
 * `every = every && ...;`; arrays; loads, at the place of the first row. While text is written for
 * such rows, the one under way is r. */
bool fc_cuda_windows_stacked(const fc_cuda_gen *g);
void fc_cuda_windows_stack_need(fc_cuda_gen *g);
void fc_cuda_windows_stack_test(fc_cuda_gen *g);
void fc_cuda_windows_stack_declare(fc_cuda_gen *g, unsigned rows);
void fc_cuda_windows_stack_load(fc_cuda_gen *g, unsigned rows);
void fc_cuda_windows_together(fc_cuda_gen *g, bool yes);

/* ---- maps whose reads may meet an edge, in two texts: see cuda_inside.c ---------------------- */

fusec_status fc_cuda_inside_init(fc_cuda_gen *g, fc_error *e);
void fc_cuda_inside_free(fc_cuda_gen *g);
/* The text of a vector of a map, and of elements of a thread that lie apart. */
void fc_cuda_inside_compute(fc_cuda_gen *g, const fc_cuda_group *gr);
void fc_cuda_inside_elements(fc_cuda_gen *g, const fc_cuda_group *gr);
/* Rows together: whether there is such a text; what is known before the rows are; whether the row
 * at hand is inside (`every = ...`), the last of two; loads at the first row; a row. */
bool fc_cuda_inside_stacked(const fc_cuda_gen *g);
void fc_cuda_inside_rows_begin(fc_cuda_gen *g);
void fc_cuda_inside_rows_test(fc_cuda_gen *g, const fc_cuda_group *gr);
void fc_cuda_inside_rows_declare(fc_cuda_gen *g, unsigned rows);
void fc_cuda_inside_rows_load(fc_cuda_gen *g, const fc_cuda_group *gr, unsigned rows);
void fc_cuda_inside_rows_compute(fc_cuda_gen *g, const fc_cuda_group *gr);
void fc_cuda_inside_rows_end(fc_cuda_gen *g);
/* cuda_emit.c: all of `g` but what it is of; lines for its arguments a* and its scalars. */
fusec_status fc_cuda_gen_init(fc_cuda_gen *g, const fc_kernel *k, const fc_class *cls, fc_str *out,
                              fc_error *e);
void fc_cuda_gen_free(fc_cuda_gen *g);
void fc_cuda_arguments(fc_cuda_gen *g);
void fc_cuda_parameters(fc_cuda_gen *g);

/* ---- values held from phase to phase: s*, see cuda_hold.c ------------------------------------ */

enum { FC_CUDA_HOLD = 1, FC_CUDA_HELD = 2 };

/* Marks g->hold; a thread has `elements` elements of a row in its registers. 0: they are kept
 * elsewhere, so all values that cost much are held, and no cheap one. */
fusec_status fc_cuda_choose_held(fc_cuda_gen *g, int elements, fc_error *e);
void fc_cuda_declare_held(fc_cuda_gen *g, int elements, int slots);
void fc_cuda_now_held(fc_cuda_gen *g); /* after the text of a phase */

/* ---- rows shared by several blocks that wait for each other: see cuda_gang.c ----------------- */

void fc_cuda_gang_place(fc_cuda_gen *g);
void fc_cuda_gang_begin(fc_cuda_gen *g);
void fc_cuda_gang_end(fc_cuda_gen *g);
void fc_cuda_gang_publish(fc_cuda_gen *g, unsigned stage);
void fc_cuda_gang_await(fc_cuda_gen *g, unsigned stage);
void fc_cuda_gang_rooms(fc_cuda_gen *g);
void fc_cuda_gang_ahead(fc_cuda_gen *g, const char *ahead);
void fc_cuda_gang_arrived(fc_cuda_gen *g, uint32_t access);    /* q* from r* */
bool fc_cuda_gang_room(const fc_cuda_gen *g, uint32_t access); /* it has r* */

/* ---- schedules ------------------------------------------------------------------------------ */

/* cuda_loops.c: makes g->loops. cuda_walk.c: its text. */
void fc_cuda_schedule_loops(fc_cuda_gen *g);
void fc_cuda_walk_loops(fc_cuda_gen *g);
fusec_status fc_cuda_keep(fc_cuda_gen *g, fc_error *e); /* FC_CUDA_ONE: g->cached and g->hold */
/* cuda_ring_place.c: makes g->ring, with g->cached and g->hold; gives it back. */
fusec_status fc_ring_open(fc_cuda_gen *g, fc_error *e);
void fc_ring_close(fc_cuda_gen *g);

fusec_status fc_cuda_emit(const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                          const char *name, fc_str *out, fc_error *e);
/* cuda_flash.c, cuda_slide.c: fc_target.emit_joined, of each form. */
fusec_status fc_cuda_emit_flash(const fc_joined *j, const char *name, fc_str *out, fc_error *e);
fusec_status fc_cuda_emit_slide(const fc_joined *j, const char *name, fc_str *out, fc_error *e);

#endif
