/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* class.h - the shape class: everything but the kernel that the text of a variant may depend on.
 *
 * A schedule makes it from sizes, an emitter reads it, and that is all that the two share. What a
 * target chose is a struct of its own with a name for each choice; a field has one meaning, and is
 * 0 where the kind of schedule it belongs to was not chosen. Classes are compared, hashed and shown
 * as text (fc_class_print), field by field. TESTS: code where it is 0 tests what need not be tested
 * where it is 1, and may run there; SPEED: code runs where it is otherwise, only slower. */
#ifndef FUSEC_CODEGEN_CLASS_H
#define FUSEC_CODEGEN_CLASS_H

#include "ir/kernel.h"

/* How an access moves when an axis advances by one. */
typedef enum fc_move { FC_MOVE_ZERO, FC_MOVE_ONE, FC_MOVE_ANY } fc_move;

/* ---- CUDA: the files of codegen/cuda say what each kind does --------------------------------- */

#define FC_CUDA_KINDS(X)                                                                           \
    X(MAP, "map")         /* a thread computes a few points; vector 1: that lie apart */           \
    X(TILE, "tile")       /* the same, with arrays that are transposed through shared memory */    \
    X(THREAD, "thread")   /* a thread reduces a row, whatever its length */                        \
    X(RECT, "rect")       /* a thread reduces a rectangle of short rows */                         \
    X(ONE, "one")         /* a team of threads holds a row, a chunk for each warp at most */       \
    X(LOOP, "loop")       /* every warp of a team walks over a span of chunks */                   \
    X(RING, "ring")       /* parts of rows stream through shared memory, each phase has warps */   \
    X(CLUSTER, "cluster") /* a row lies in the shared memory of a cluster of blocks */             \
    X(OUTER, "outer")     /* threads own neighbouring columns */                                   \
    X(SCAN, "scan")       /* prefixes: a thread has a run of each row, or a row */                 \
    X(DOT, "dot")         /* a block makes a tile of the results of a contraction */               \
    X(FLASH, "flash")     /* joined: products whose results are an operand of the next one */      \
    X(SLIDE, "slide")     /* joined: maps of which the second reads rows that the first makes */

typedef enum fc_cuda_kind {
#define X(name, text) FC_CUDA_##name,
    FC_CUDA_KINDS(X)
#undef X
} fc_cuda_kind;

#define FC_CUDA_SPLITS(X)                                                                          \
    X(WHOLE, "")      /* a row, or a column, is done by one block */                               \
    X(SPLIT, "split") /* by several, the last of which finishes it; so is a tile of results */     \
    X(BACK, "back")   /* scan: by blocks that look back at those that began before them */         \
    X(GANG, "gang")   /* by blocks that run at the same time and wait for each other */            \
    X(CLOSE, "close") /* by a cluster of blocks */

typedef enum fc_cuda_split {
#define X(name, text) FC_CUDA_##name,
    FC_CUDA_SPLITS(X)
#undef X
} fc_cuda_split;

#define FC_CUDA_CLASS(X, TESTS, SPEED)                                                             \
    TESTS(whole)    /* map, thread: rows are whole groups of `vector` */                           \
    TESTS(full)     /* all but maps: no thread lacks an element, row or run; dot: of a made one */ \
    X(rows_of_grid) /* map: the outer axes are the grid's second direction */                      \
    X(rows_in_turn) /* the same: rows of a block, one after the other */                           \
    X(even) /* map without those: where indices count neighbours, vectors begin at multiples of */ \
            /* their length */                                                                     \
    X(copied)       /* map: blocks update copies of arrays of at most so many elements */          \
    X(apart)        /* map with vector 1: elements of a thread, FC_CUDA_MAP_THREADS apart */       \
    TESTS(fours)    /* draws: element numbers of rows begin at multiples of 4 */                   \
    X(tile_axis)    /* tile: along which the loads that are transposed lie */                      \
    X(tile_side)    /* tile: elements of its side */                                               \
    X(once)         /* thread: a row is at most one group */                                       \
    X(rect_rows)    /* rect: rows along the outer axis, */                                         \
    X(rect_columns) /* and neighbours along the inner one */                                       \
    X(team)        /* one, loop: threads of a row, or of a gang's block; ring: of a phase; scan */ \
    X(iterations)  /* one: groups of a thread that make a chunk */                                 \
    X(own)         /* one: rows have blocks of their own */                                        \
    X(ahead)       /* gang: the next row comes to shared memory while one works on this one */     \
    X(warp_chunks) /* ring: chunks of a warp */                                                    \
    X(buffers)     /* ring: stage buffers of a block */                                            \
    X(warps)       /* cluster: of a block */                                                       \
    X(lane_slots)  /* cluster: chunks whose results a lane joins */                                \
    X(blocks)      /* cluster: of it */                                                            \
    X(across)      /* outer: threads of a block along x, of `vector` columns each */               \
    X(runs) /* outer: of a thread at most, if `full` exactly, 0: any number; scan, staged */       \
    X(transposed)  /* outer: loads of a warp pass through shared memory */                         \
    X(staged)      /* scan: elements and results pass through shared memory, of columns through */ \
                   /* registers, for which those of the next run come ahead */                     \
    X(columns)     /* scan: a block goes down columns, some runs of each at a time */              \
    X(block_rows)  /* scan: a block has a row; else a thread */                                    \
    X(dot_axis)    /* dot, flash: of the rows of a tile; the number of kept axes if none are */    \
    X(dot_across)  /* dot, flash: of the columns, likewise */                                      \
    X(dot_rows)    /* dot: other axes that are numbered together with that of the rows, as bits */ \
    X(dot_columns) /* and with that of the columns */                                              \
    X(dot_tile)    /* dot: which of fc_cuda_tiles */                                               \
    X(dot_swapped) /* dot, flash: the columns are of the kernel's left operand */                  \
    X(dot_stages)  /* dot: steps of k in shared memory; flash: of 128 columns */                   \
    X(dot_parts)   /* dot: of k, that blocks share; rounded up to a power of two; 0: no split */   \
    X(dot_narrow)  /* dot: of integers whose sums, or what is looked at of them, have 32 bits */   \
    X(dot_left)    /* dot, flash: how the operand of the rows is read, fc_cuda_reads, */           \
    X(dot_right)   /* and that of the columns */                                                   \
    X(flash_deep)  /* flash: sixteens of k of the first product, */                                \
    X(flash_wide)  /* and 64s of columns of the second */                                          \
    X(flash_turns) /* flash: in which 128 columns of the first are made */                         \
    X(flash_once)  /* flash: a softmax goes through its row once */                                \
    X(slide_rows)   /* slide: that a thread makes in turn */                                       \
    X(slide_blocks) /* slide: of an SM */                                                          \
    X(flash_mask)  /* flash: fc_flash_masks */                                                     \
    X(roomy)       /* registers need not do for other blocks of the SM */                          \
    SPEED(large)   /* its arrays are more than the L2 holds */

/* ---- CPU ------------------------------------------------------------------------------------- */

/* Of `keep`: rows have at most so many elements, of which values may be kept on the stack. */
enum { FC_LL_KEEP_SHORT = 1, FC_LL_KEEP_LONG = 2 };

#define FC_LLVM_CLASS(X, TESTS, SPEED)                                                             \
    X(split)      /* spans of a row, partials in the workspace, joined by a second function */     \
    SPEED(stream) /* contiguous point stores are non-temporal: they pass by the cache */           \
    X(couples)   /* map: pairs follow each other along the lanes: their parts are of one vector */ \
    SPEED(ahead) /* loads come from beyond the cache: what is needed next is prefetched */         \
    X(panels)    /* dot, in tiles (llvm_dot.c): operands are copied to panels */                   \
    X(direct)    /* dot, in tiles: they are read where they are; vectors of a row of a tile, */    \
    X(direct_rows)  /* and its rows */                                                             \
    X(direct_parts) /* direct: a unit has so many rows as the launch says */                       \
    X(turned)       /* direct: the right operand lies along k; a unit has a turned copy of it */   \
    X(down_axis)   /* dot, in tiles: the axis of the rows */                                       \
    X(rows)        /* dot, in panels: axes that are numbered as rows, that is the innermost, */    \
    X(columns)     /* and as columns, which all but the right operand walks as one; 0: one */      \
    X(deep_one)    /* the left operand walks the axes of k as one */                               \
    X(bare)        /* dot, in tiles: the sums are the result, as they are */                       \
    X(low)         /* dot, in panels: of the sums the lower 32 bits are needed, and i32 does */    \
    X(pairs)       /* dot, in panels: elements have 8 bits; two products at a time, in i32 */      \
    X(alone)       /* map: one task does all, so that updates need not be atomic */                \
    X(reach) /* map: updates go beyond the near cache: elements of the next ones are prefetched */ \
    X(copied) /* map: a task updates copies of the arrays, which have at most so many elements */  \
    X(joined) /* map: the lanes go over the last two axes, which arrays walk as one: moves along   \
                 the outer one say what does not */                                                \
    X(channels) /* joined: so many elements of the inner axis; some loads are the same for all of  \
                   them, or for all places along the outer one */                                  \
    X(tiles)  /* loads that lie along `tile_axis` go through transposed tiles */                   \
    X(tile_axis)                                                                                   \
    X(narrow)        /* inner: rows are so short that the lanes are neighbouring rows */           \
    X(row_elements)  /* narrow: of each row, which are written out; 0: any number */               \
    X(deep)          /* narrow: rows of any length, which are read where they are */               \
    X(packed)        /* narrow: vectors along the rows instead of tiles, */                        \
    X(row_vectors)   /* so many for each */                                                        \
    X(bands)         /* packed: rows up to a chunk; so many vectors of some of them at a time */   \
    X(shared)        /* narrow: rows in blocks, as loads are the same for all of a block */        \
    X(keep)          /* inner: FC_LL_KEEP_SHORT, ... */                                            \
    TESTS(one_chunk) /* inner, not narrow: no row has more than one chunk, and none is empty */    \
    X(by_row)        /* inner, not narrow: the units of narrow, whose rows come in turn */         \
    X(few)           /* outer: all columns are in one vector, of one or several registers */       \
    X(wide)          /* outer: blocks of many columns, and of FC_LL_WIDE_SPAN elements */          \
    X(along)         /* scan: the lanes are along the rows (codegen/llvm/llvm_scan.c) */           \
    X(across)        /* scan: row after row of so many columns, in units of FC_LL_ACROSS */        \
    X(brief)         /* what is joined is joined in one way, however many there are */

/* ---------------------------------------------------------------------------------------------- */

#define X(name) uint16_t name;
typedef struct fc_cuda_class {
    fc_cuda_kind kind;
    fc_cuda_split split;
    uint16_t repeat; /* how many times a thread, or a team, does the same for others; at least 1 */
    FC_CUDA_CLASS(X, X, X)
} fc_cuda_class;
typedef struct fc_llvm_class {
    FC_LLVM_CLASS(X, X, X)
} fc_llvm_class;
#undef X

typedef struct fc_class {
    fc_target_kind target; /* whose choice is in it; FC_TARGET_INTERP: nobody's */
    uint8_t np, nr;
    bool wide;           /* 64-bit indices */
    bool aligned;        /* cuda: accesses that move by one along the inner axis take a thread's
                            elements at once, up to 16 bytes */
    bool alike;          /* one launch does several kernels: see fc_alike_layout */
    uint8_t vector;      /* neighbouring elements or columns that a thread (cuda) or an instruction
                            (llvm) takes */
    const uint8_t *move; /* [naccess][np + nr] fc_move, for the innermost kept axis and all reduced
                            axes; outer kept axes are FC_MOVE_ZERO or FC_MOVE_ANY */
    uint32_t naccess;
    union {
        fc_cuda_class cuda;
        fc_llvm_class llvm;
    };
} fc_class;

static inline fc_move fc_class_move(const fc_class *c, uint32_t access, uint32_t axis) {
    return (fc_move)c->move[(size_t)access * (c->np + c->nr) + axis];
}
/* The axis of the rows, or columns, of a tile that an axis is numbered together with; or itself. */
enum { FC_MOST_NUMBERED = 16 };
static inline unsigned fc_class_numbered(const fc_class *c, unsigned axis) {
    if (c->target == FC_TARGET_LLVM && axis < c->np) {
        if (axis + c->llvm.columns >= c->np) return c->np - 1u;
        return axis <= c->llvm.down_axis && axis + c->llvm.rows > c->llvm.down_axis
                   ? c->llvm.down_axis
                   : axis;
    }
    if (c->target != FC_TARGET_CUDA || axis >= FC_MOST_NUMBERED) return axis;
    if (c->cuda.dot_rows >> axis & 1) return c->cuda.dot_axis;
    return c->cuda.dot_columns >> axis & 1 ? c->cuda.dot_across : axis;
}
bool fc_class_equal(const fc_class *a, const fc_class *b);
/* Whether code of class `a` may run where `b` was chosen, under the launch of `b` with so many
 * times the blocks along x; 0: it may not. */
unsigned fc_class_stands_in(const fc_class *a, const fc_class *b);
/* "p1 r1 i32 aligned v4 one team=32 ... 01", short, readable, unique; the target's part alone. */
void fc_class_print(const fc_class *c, fc_str *out);
void fc_class_print_choice(const fc_class *c, fc_str *out);

#endif
