/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_walk.h - what the files share that write a loop form as CUDA C: cuda_walk.c (the walk),
 * cuda_place.c (who works on what), cuda_chunks.c (counters of rows that warps walk over),
 * cuda_outer.c (columns that threads share). */
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

typedef struct fc_cuda_walk {
    fc_cuda_inner in; /* of teams; its `g` is everybody's: that of the kernel at hand */
    const fc_loops *loops;
    fc_cuda_columns o;
    struct fc_dot *dot;         /* of contractions; else NULL */
    struct fc_slide_gen *slide; /* of two maps; else NULL */
    fc_cuda_group group;  /* of the elements that leaves are about, as loops around them say */
    const fc_loop *turns; /* the loop whose text is under way, where that is written twice */
    const char *limit;    /* elements from here on do not exist; NULL: all do */
    const char *base;     /* what the numbers of elements of a warp begin with */
    const char *leader;   /* who stores results */
    unsigned closes;      /* levels that the end of a block closes */
    bool whole;           /* inside of a range whose elements all exist */
    bool keeps, again;    /* results of all turns are kept, and then taken from there */
    bool prefixed;        /* scan: what is before the run is known */
} fc_cuda_walk;

void fc_cuda_walk_list(fc_cuda_walk *w, uint32_t at); /* a node and those behind it */

/* cuda_place.c. Text before that of the loops inside the grid; before that of a thread. */
void fc_cuda_walk_begin(fc_cuda_walk *w);
void fc_cuda_walk_end(fc_cuda_walk *w);
void fc_cuda_walk_thread(fc_cuda_walk *w, const fc_loop *n);
void fc_cuda_walk_map(fc_cuda_walk *w);
void fc_cuda_walk_rows(fc_cuda_walk *w, const fc_loop *n);
/* opens a loop over rows of a map */ /* vectors of neighbours, all of it */
void fc_cuda_walk_fill(fc_cuda_walk *w);
void fc_cuda_walk_held(fc_cuda_walk *w); /* declares what phases take over from each other */
void fc_cuda_walk_keep_results(fc_cuda_walk *w, bool store); /* of a rectangle's columns */

/* cuda_chunks.c */
void fc_cuda_walk_clear_chunks(fc_cuda_walk *w, unsigned stage);
void fc_cuda_walk_meet_chunk(fc_cuda_walk *w, unsigned stage);
void fc_cuda_walk_push_chunk(fc_cuda_walk *w, unsigned stage);
void fc_cuda_walk_fold_chunks(fc_cuda_walk *w, unsigned stage);
void fc_cuda_walk_last_block(fc_cuda_walk *w);

/* cuda_scan.c */
void fc_cuda_scan_join(fc_cuda_gen *g);
void fc_cuda_scan_prefix(fc_cuda_walk *w);
void fc_cuda_scanned(const fc_cuda_walk *w, bool exclusive); /* results at an element */
void fc_cuda_scan_stage(fc_cuda_gen *g);                     /* declares the shared memory */
void fc_cuda_scan_ahead(fc_cuda_walk *w);
void fc_cuda_scan_ahead(fc_cuda_walk *w);
void fc_cuda_scan_staged(fc_cuda_walk *w); /* a loop over the elements of a run */

/* cuda_tile.c */
void fc_cuda_tile_loops(fc_cuda_gen *g);
void fc_cuda_tile_place(fc_cuda_gen *g);
void fc_cuda_tile_fill(fc_cuda_gen *g);
void fc_cuda_tile_compute(fc_cuda_gen *g);

/* cuda_outer.c */
fc_cuda_columns fc_columns_of(fc_cuda_gen *g);
void fc_columns_place(const fc_cuda_columns *o);
void fc_columns_turn(const fc_cuda_columns *o, unsigned batch);
void fc_columns_clear(const fc_cuda_columns *o, unsigned stage);
void fc_columns_meet_lanes(const fc_cuda_columns *o, unsigned stage, bool even);
void fc_columns_push(const fc_cuda_columns *o, unsigned stage, bool even);
void fc_columns_fold(const fc_cuda_columns *o, unsigned stage);
void fc_columns_join(const fc_cuda_columns *o, unsigned stage, bool evens);
void fc_columns_last_block(const fc_cuda_columns *o);

/* One line for every reduction of a stage and every column of the thread. */
#define FC_EACH_COLUMN(o, stage, ...)                                                              \
    do {                                                                                           \
        fc_cuda_line(&(o)->g->t, "#pragma unroll");                                                \
        fc_cuda_line(&(o)->g->t, "for (int e = 0; e < %u; e++) {", (o)->v);                        \
        FC_EACH_REDUCTION((o)->g, stage, __VA_ARGS__);                                             \
        fc_cuda_line(&(o)->g->t, "}");                                                             \
    } while (0)

#endif
