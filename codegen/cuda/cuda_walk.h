/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_walk.h - what the files share that write a loop form as CUDA C: cuda_walk.c (the walk, with
 * cuda_chunks.c for counters of rows that warps walk over), and those whose schedules have nodes of
 * their own. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_WALK_H
#define FUSEC_CODEGEN_CUDA_CUDA_WALK_H

#include "codegen/cuda/cuda_inner.h"

typedef struct fc_cuda_columns {
    fc_cuda_gen *g;
    unsigned x, y;     /* threads of a block */
    unsigned v;        /* columns of a thread */
    bool turned, full; /* the class is `transposed`, `full` */
    unsigned runs;     /* of a thread at most, `full`: exactly; a power of two. 0: any */
    unsigned down;     /* parts of a block that meet in shared memory: threads along y, or warps */
} fc_cuda_columns;

typedef struct fc_cuda_walk fc_cuda_walk;
typedef bool fc_cuda_node(fc_cuda_walk *w, const fc_loop *n);
struct fc_cuda_walk {
    fc_cuda_inner in; /* of teams; its `g` is everybody's: that of the kernel at hand */
    const fc_loops *loops;
    fc_cuda_columns o;
    struct fc_dot *dot;         /* of contractions; else NULL */
    struct fc_slide_gen *slide; /* of two maps; else NULL */
    fc_cuda_group group;   /* of the elements that leaves are about, as loops around them say */
    const fc_loop *turns;  /* the loop whose text is under way, where that is written twice */
    const char *limit;     /* elements from here on do not exist; NULL: all do */
    const char *base;      /* what the numbers of elements of a warp begin with */
    const char *leader;    /* who stores results */
    unsigned closes;       /* levels that the end of a block closes */
    bool whole;            /* inside of a range whose elements all exist */
    bool keeps, again;     /* results of all turns are kept, and then taken from there */
    bool prefixed;         /* scan: what is before the run is known */
    unsigned members;      /* threads that share a row in the text under way, or 0 */
    const fc_loop *chunks; /* the loop over a row's chunks, for those that are done once more */
    unsigned limited;      /* the stage that the row's end is of */
    fc_cuda_node *own;     /* asked first; NULL: rows of teams, whose nodes are the walk's */
};

void fc_cuda_walk_list(fc_cuda_walk *w, uint32_t at); /* a node and those behind it */
/* The group of a leaf, where it is needed. */
void fc_cuda_walk_group(fc_cuda_walk *w, unsigned phase, bool braces);

/* cuda_place.c. Text around that of the loops inside the grid. */
void fc_cuda_walk_begin(fc_cuda_walk *w);
void fc_cuda_walk_end(fc_cuda_walk *w);
/* Of rows that end by data: the end of the one under way, before the stage's scope; what it changes
 * in there. */
void fc_cuda_walk_row_limit(fc_cuda_walk *w, unsigned stage);
void fc_cuda_walk_row_end(fc_cuda_walk *w);
/* Whether a row of a few threads that is much longer than most is done by the whole warp. */
bool fc_cuda_has_far(const fc_cuda_gen *g);
void fc_cuda_walk_held(fc_cuda_walk *w); /* declares what phases take over from each other */

/* cuda_chunks.c */
void fc_cuda_walk_clear_chunks(fc_cuda_walk *w, unsigned stage);
void fc_cuda_walk_meet_chunk(fc_cuda_walk *w, unsigned stage);
void fc_cuda_walk_push_chunk(fc_cuda_walk *w, unsigned stage);
void fc_cuda_walk_fold_chunks(fc_cuda_walk *w, unsigned stage);
void fc_cuda_walk_last_block(fc_cuda_walk *w);

/* Whether a schedule writes a node in its own way, and its text: cuda_place.c, cuda_thread.c,
 * cuda_scan.c, cuda_outer.c, cuda_tile.c; cuda_ring.h, cuda_dot.h and cuda_slide.h have others. */
bool fc_cuda_map_node(fc_cuda_walk *w, const fc_loop *n);
bool fc_cuda_thread_node(fc_cuda_walk *w, const fc_loop *n);
bool fc_cuda_scan_node(fc_cuda_walk *w, const fc_loop *n);
bool fc_columns_node(fc_cuda_walk *w, const fc_loop *n);
bool fc_cuda_tile_node(fc_cuda_walk *w, const fc_loop *n);

/* Text that others need of them. */
void fc_cuda_scan_place(fc_cuda_gen *g);
void fc_cuda_tile_loops(fc_cuda_gen *g);
void fc_cuda_tile_place(fc_cuda_gen *g);
fc_cuda_columns fc_columns_of(fc_cuda_gen *g);
void fc_columns_place(const fc_cuda_columns *o);
void fc_columns_turn(const fc_cuda_columns *o, unsigned batch);

/* One line for every reduction of a stage and every column of the thread. */
#define FC_EACH_COLUMN(o, stage, ...)                                                              \
    do {                                                                                           \
        fc_cuda_line(&(o)->g->t, "#pragma unroll");                                                \
        fc_cuda_line(&(o)->g->t, "for (int e = 0; e < %u; e++) {", (o)->v);                        \
        FC_EACH_REDUCTION((o)->g, stage, __VA_ARGS__);                                             \
        fc_cuda_line(&(o)->g->t, "}");                                                             \
    } while (0)

#endif
