/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop.h - the loop form: how a schedule runs a kernel, between the class and the text.
 *
 * A tree. Its inner nodes are loops of some kind over the numbers of some axes; its leaves say what
 * is done with the kernel's code at the place that the loops around them give. A schedule builds it
 * from a kernel and a class, fc_loops_verify judges it, fc_loops_print shows it (the text of a
 * kernel begins with that), and each target has one printer that writes any form as text.
 *
 *     task 0                      for (unit = begin; unit < end; unit++): a row is a unit
 *       row 0                     what the elements of a row have in common for stage 0
 *       serial 1 by 1024
 *         lanes 0                 the tree of a chunk
 *         push 0                  into the counter that joins chunks
 *       fold 0
 *       finish 0
 *       row results
 *       store results
 *
 * A loop narrows the range of its axes: inside `1 by 1024` axis 1 is those 1024 elements or what is
 * left of them, so a loop over it in there runs over these. Axes [first, end) are numbered as one,
 * the last one fastest. Task loops (and grid loops) stand outside of all others and right inside
 * each other: their numbers together, the innermost fastest, are the unit of a launch. A vector
 * loop's body is done for all lanes at once, those that do not exist masked off.
 *
 * A contraction is done in tiles: where both axes of its results have narrow ranges, accumulators
 * are those of all results of the tile, each with the chain of its own.
 *
 * On a GPU whole loops are numbers of hardware: of blocks, of threads of a block, of its warps and
 * of their lanes. Accumulators of different threads meet where a join says so:
 *
 *     grid 0 by 8             eight rows a block
 *       block 0 x8            a team of threads for each
 *         row 0
 *         start 0
 *         unroll 1 by 128 x8 batch=8
 *           lane 1 by 4 x32
 *             vector 1 by 4
 *               point 0
 *               step 0
 *         join 0 over vector
 *         join 0 over lane
 *         finish 0
 *
 * Warps of a block may have roles: each goes through the rows by itself and does one phase of them,
 * or asks for what comes. What a role accumulates it puts where those of other blocks, and of later
 * phases, get it:
 *
 *     grid 1 by span gang
 *       role 0 x8
 *         serial 0 gang
 *           row 0
 *           ...
 *           put 0
 *       role elements x8
 *         serial 0 gang
 *           get 0
 *           finish 0
 *           ...
 *       role kept x1
 *         serial 0 gang
 *           fill kept
 *
 * Kernels that are one launch (codegen/joined.h) have one form. Its axes are those of the launch,
 * each an axis of some of the kernels; nodes say whose code runs there, and buffers what one of
 * them passes on:
 *
 *     serial 0 by 4 early     rows, from so far before the range as what is passed on is read
 *       await 0               what an earlier turn asked for
 *       unroll 0 x4
 *         vector 1 by 4
 *           point elements    of the first kernel
 *           store elements    into the buffer that the second one reads
 *       fill 0 ahead          for the next turn
 *       if 0 by 4 whole       no turn before the range
 *         unroll 0 x4
 *           ...
 *             point elements of 1
 *       shift 1               rows that the next turn reads, too
 *
 * What is passed on with nothing around it is of the turn in which it is stored:
 *
 *     serial 2 by 128
 *       if 2 hidden           all elements are what a mask says
 *         lanes 0 of 1
 *       if 2 rest
 *         fill 1
 *         unroll 3 by 16 x4 carry 0
 *           lanes 0           a product, whose results the next kernel reduces
 *         unroll 2 x32
 *           finish 0
 *           store results
 *         unroll 2 x32
 *           point 0 of 1
 *           step 0 of 1
 *
 * How an address is computed, when memory is asked for, which instruction a row of ops.def becomes
 * is not in here: printers know. */
#ifndef FUSEC_CODEGEN_LOOP_H
#define FUSEC_CODEGEN_LOOP_H

#include "codegen/class.h"

#define FC_LOOP_KINDS(X)                                                                           \
    X(GRID, "grid")     /* blocks of a launch */                                                   \
    X(TASK, "task")     /* units that the threads of a CPU share */                                \
    X(BLOCK, "block")   /* threads of a block */                                                   \
    X(WARP, "warp")     /* of a block */                                                           \
    X(LANE, "lane")     /* of a warp */                                                            \
    X(SERIAL, "serial") /* one after the other */                                                  \
    X(UNROLL, "unroll") /* the same, written out */                                                \
    X(VECTOR, "vector") /* lanes of vectors; neighbours that a thread takes at once */             \
    X(ROLE, "role")     /* no loop: what some warps of a block do while others do other phases */  \
    X(LAST, "last")     /* no loop: in the last turn of the one around it over these axes */       \
    X(CASE, "if")       /* no loop: where the range is whole, hidden ..., or is not: other text */

#define FC_LEAF_KINDS(X)                                                                           \
    X(FILL, "fill")       /* a stage buffer, from memory; */                                       \
    X(FLUSH, "flush")     /* to memory */                                                          \
    X(AWAIT, "await")     /* a stage buffer that was asked for is filled */                        \
    X(SHIFT, "shift")     /* a stage buffer moves on by a turn */                                  \
    X(ROW, "row")         /* code that is the same at all points of a row */                       \
    X(POINT, "point")     /* code of a point */                                                    \
    X(STORE, "store")     /* of results of rows, or of elements */                                 \
    X(START, "start")     /* accumulators of nothing */                                            \
    X(STEP, "step")       /* accumulators take the element */                                      \
    X(JOIN, "join")       /* accumulators of a vector's, warp's, block's ... members become one */ \
    X(CLEAR, "clear")     /* the counter holds nothing */                                          \
    X(LANES, "lanes")     /* accumulators of the range, by the tree within it */                   \
    X(PUSH, "push")       /* accumulators become a partial of the counter, in order */             \
    X(FOLD, "fold")       /* accumulators: what the counter holds */                               \
    X(PREFIX, "prefix")   /* the same kept apart, in front of what follows */                      \
    X(HOLD, "hold")       /* accumulators, and what is in front of them, are put by; */            \
    X(TAKE, "take")       /* they are those of the stage again */                                  \
    X(SCANNED, "scanned") /* results at this element: prefix and accumulators */                   \
    X(SCAN, "scan")       /* of a range of several runs: prefixes, code and stores of elements */  \
    X(PUT, "put")         /* accumulators to the workspace, as the partial of a span */            \
    X(GET, "get")         /* accumulators: all spans of the workspace */                           \
    X(RESCALE,                                                                                     \
      "rescale")        /* what was made with a stage's result so far becomes that with it now */  \
    X(FINISH, "finish") /* accumulators become results */

typedef enum fc_loop_kind {
#define X(name, text) FC_LOOP_##name,
    FC_LOOP_KINDS(X)
#undef X
#define X(name, text) FC_LEAF_##name,
        FC_LEAF_KINDS(X)
#undef X
            FC_LOOP_KIND_COUNT
} fc_loop_kind;

static inline bool fc_is_loop(unsigned kind) {
    return kind <= FC_LOOP_CASE;
}

/* What a leaf is about: a stage, or the stores of one level. */
enum { FC_PHASE_ELEMENTS = 254, FC_PHASE_RESULTS = 255 };
/* What several phases read of a row, or a block of it, as a set of stage buffers. */
enum { FC_SET_KEPT = 253 };

/* Of a loop. */
#define FC_LOOP_WAYS(X)                                                                            \
    X(PLAIN, "")                                                                                   \
    X(WHOLE, "whole")   /* as many steps as are whole; */                                          \
    X(REST, "rest")     /* what those before it left */                                            \
    X(HIDDEN, "hidden") /* if: the mask of a part hides all elements, */                           \
    X(SEEN, "seen")     /* not all, */                                                             \
    X(SHOWN, "shown")   /* none */                                                                 \
    X(FAR, "far")       /* if: quotients have been made the short way that does not do for all */  \
    X(CARRY, "carry")   /* each turn steps the accumulators that the one before it left */         \
    X(PAIRS, "pairs")   /* unroll: turns make accumulators that are joined pairwise */             \
    X(MASKED, "masked") /* vector: `count` in turn, with masks */                                  \
    X(BACK, "back")     /* vector: the last one ends with the range, some lanes a second time */   \
    X(ALIGNED, "aligned") /* vector: results that pass by the cache begin lines, */                \
    X(LINES, "lines")     /* as the range does */                                                  \
    X(PARTS, "parts")     /* aligned; in two texts, see codegen/inside.h */                        \
    X(APART, "apart")     /* unroll: elements of a thread, between which others' lie */            \
    X(SPREAD, "spread")   /* serial: parts of a chunk's lanes; elements of a lane lie apart */     \
    X(GANG, "gang")     /* grid, serial: blocks that run at the same time; rows of such a gang */  \
    X(CLOSE, "close")   /* grid: blocks of a cluster */                                            \
    X(EARLY, "early")   /* serial: begins before its range, with what is read there */             \
    X(STAGED, "staged") /* serial: elements and results pass through shared memory */              \
    X(TICKET, "ticket") /* grid: in the order in which blocks begin */

typedef enum fc_loop_way {
#define X(name, text) FC_LOOP_##name,
    FC_LOOP_WAYS(X)
#undef X
} fc_loop_way;

/* How far ahead of loads memory is asked for: not at all; a fixed distance; twice that; the next
 * row, if rows are short enough; the next band of tiles; the next run of columns; rows of few
 * columns, as many as have twice that. */
#define FC_LOOP_AHEADS(X)                                                                          \
    X(NOT_AHEAD, "")                                                                               \
    X(SOON, "ahead")                                                                               \
    X(LATER, "ahead=far")                                                                          \
    X(NEXT_ROW, "ahead=row")                                                                       \
    X(NEXT_BAND, "ahead=band")                                                                     \
    X(NEXT_RUN, "ahead=run")                                                                       \
    X(NEXT_ROWS, "ahead=rows")

typedef enum fc_loop_ahead {
#define X(name, text) FC_LOOP_##name,
    FC_LOOP_AHEADS(X)
#undef X
} fc_loop_ahead;

/* Steps that are no constants: FC_PB_SPAN of the parameter block; of a task loop, all neighbours
 * that a task has; rows and columns of a block of a contraction, in the lower half of FC_PB_SPAN
 * and in FC_PB_SPANS. */
#define FC_STEP_SPAN    UINT32_MAX
#define FC_STEP_TASK    (UINT32_MAX - 1)
#define FC_STEP_ROWS    (UINT32_MAX - 2)
#define FC_STEP_COLUMNS (UINT32_MAX - 3)

typedef struct fc_loop {
    uint8_t kind;        /* fc_loop_kind */
    uint8_t way, ahead;  /* fc_loop_way, fc_loop_ahead; ahead of leaves that load, too */
    uint8_t first, end;  /* loop: its axes */
    uint8_t part;        /* of kernels that are one launch: whose phases and buffers */
    uint8_t phase;       /* leaf: a stage or FC_PHASE_*; fill, flush: a set of stage buffers; loop
                            that carries or pairs: a stage; role: as leaf, or the set that it fills */
    uint8_t level;       /* push: of the counter, partials count 2^level */
    uint8_t over;        /* join: the kind of loop whose members are joined */
    uint8_t batch;       /* turns whose loads are in flight together; 0: loads are where they are
                            needed */
    uint32_t step;       /* loop: elements of a turn at most; fold: of a partial */
    uint32_t count;      /* vector: vectors of a turn; unroll: turns; threads, warps, lanes; role:
                            warps; grid: blocks of a cluster */
    uint32_t body, next; /* nodes; 0: none */
} fc_loop;

/* Whether the turns of a loop together make accumulators. */
static inline bool fc_is_joining(const fc_loop *n) {
    return n->way == FC_LOOP_CARRY || n->way == FC_LOOP_PAIRS;
}

/* Part of an array that is brought near, or put together before it is stored. */
#define FC_BUFFER_SPACES(X)                                                                        \
    X(REGISTERS, "registers") X(STACK, "stack") X(SHARED, "shared") X(WORKSPACE, "workspace")
typedef enum fc_buffer_space {
#define X(name, text) FC_SPACE_##name,
    FC_BUFFER_SPACES(X)
#undef X
} fc_buffer_space;

typedef struct fc_stage_buffer {
    uint8_t set;   /* of the leaf that fills or flushes it */
    uint8_t space; /* fc_buffer_space */
    bool
        transposed; /* what lies along `along` in memory lies along the lanes here; else gathered */
    uint8_t along;  /* axis */
    bool packed;    /* holds operand `access` of a contraction, as its code makes it */
    bool copied;    /* comes by copies that go on by themselves: it is awaited */
    bool passed;    /* holds what `part` stores, for the part behind it, */
    uint32_t around;          /* which reads so many elements along `along` besides its own */
    uint8_t part;             /* whose access it is */
    uint32_t access;          /* or an operand */
    uint32_t lanes, elements; /* its size: lanes side by side, elements along `along`, which may be
                                 FC_STEP_SPAN */
    uint32_t stages;          /* so many of it, filled in turn while others are read; 0: one */
} fc_stage_buffer;

enum { FC_LOOP_DEPTH = 16 };    /* loops inside each other at most */
enum { FC_LOOP_FUNCTIONS = 2 }; /* the kernel, and what runs over its rows afterwards */
typedef struct fc_loops {
    const fc_alloc *alloc;
    FC_VEC(fc_loop) node; /* 0 is none */
    FC_VEC(fc_stage_buffer) buffer;
    const uint32_t (*axis)[FC_MAX_AXES];  /* of each part's own axes, which one of the form's it is;
                                             NULL: the same */
    uint32_t function[FC_LOOP_FUNCTIONS]; /* its first node; 0: there is none */
    /* while it is built: the function, loops around, the last node of each body */
    uint32_t current, open[FC_LOOP_DEPTH], last[FC_LOOP_DEPTH + 1], depth;
    fc_loop none;
    bool oom;
} fc_loops;

/* ---- building: nodes are added in the order of the print ------------------------------------- */

void fc_loops_init(fc_loops *l, const fc_alloc *alloc);
void fc_loops_free(fc_loops *l);
void fc_loops_function(fc_loops *l, unsigned which); /* what follows is its body */
/* Opens a loop over the axes [first, end); fc_loops_close closes `n` of them. The node may be
 * changed until the next one is added. */
fc_loop *fc_loops_open(fc_loops *l, fc_loop_kind kind, unsigned first, unsigned end, uint32_t step);
void fc_loops_close(fc_loops *l, unsigned n);
fc_loop *fc_loops_leaf(fc_loops *l, fc_loop_kind kind, unsigned phase);
void fc_loops_buffer(fc_loops *l, fc_stage_buffer b);

/* ---- what is asked of one -------------------------------------------------------------------- */

/* The form as text, two spaces a level, each line after `prefix`. */
void fc_loops_print(const fc_loops *l, const char *prefix, fc_str *out);
/* Whether it does what the kernel asks for: see loop_verify.c. FUSEC_INTERNAL: it does not. */
fusec_status fc_loops_verify(const fc_loops *l, const fc_kernel *k, const fc_class *cls,
                             fc_error *e);
/* The same of `n` kernels that are one launch. */
fusec_status fc_loops_verify_parts(const fc_loops *l, const fc_kernel *const *k,
                                   const fc_class *cls, uint32_t n, fc_error *e);

#endif
