/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run.h - what run.c and run_tape.c share: a run of tapes over a range of a nest. */
#ifndef FUSEC_CODEGEN_INTERP_RUN_H
#define FUSEC_CODEGEN_INTERP_RUN_H

#include "codegen/interp/tape.h"

typedef enum fc_interp_direction {
    FC_INTERP_LOADING,
    FC_INTERP_STORING,
    FC_INTERP_INDEXING
} fc_interp_direction;

typedef struct fc_interp_partials {
    char *init, *step, *combine, *finish; /* frames of the programs */
    char *stack;                          /* [levels][components] blocks */
    uint32_t components;
    char *prefix;    /* of a scan: accumulators of all runs so far */
    uint64_t pushed; /* bit k: level k is taken */
} fc_interp_partials;

typedef struct fc_interp_state {
    const fc_interp *ip;
    const int64_t *words;
    fc_layout at;
    uint32_t axes, np;
    uint32_t lane_axis, lane_axes; /* the flattened group: first axis, how many */
    uint32_t fixed_axis, fixed_axes;
    int64_t count;
    int64_t *base;             /* [naccess] element offset of the standing position */
    int64_t lane[FC_MAX_AXES]; /* position of the block's first lane in its group */
    char *frame;
    char **loop; /* frames of the loops */
    fc_interp_partials *partial;
} fc_interp_state;

static inline char *fc_interp_slot(char *frame, uint32_t slot) {
    return frame + (size_t)slot * FC_SLOT_BYTES;
}
static inline int64_t fc_interp_extent(const fc_interp_state *r, uint32_t axis) {
    return r->words[r->at.extents + axis];
}
static inline const int64_t *fc_interp_access_words(const fc_interp_state *r, uint32_t access) {
    return r->words + r->at.accesses + (size_t)access * (1 + r->axes); /* offset, then strides */
}
static inline int64_t fc_interp_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

void fc_interp_move(const fc_interp_state *r, uint32_t access, fc_interp_direction d, size_t n,
                    char *block);
void fc_interp_tape(const fc_interp_state *r, const fc_tape *tape, char *frame, size_t n);
void fc_interp_splat(char *block, size_t size, size_t n);

#endif
