/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slide_loops.c - the loop form of two maps in one launch (codegen/loop.h).
 *
 * A block has columns side by side and a strip of rows; a warp of it 32 vectors of columns, and
 * nothing to do with others. In turn it
 *
 *     makes some rows of the first map behind those that it has
 *     asks for what the next turn reads
 *     makes as many rows of the second map
 *     moves what it has up */
#include "codegen/cuda/cuda_slide.h"

enum { LINES, PASSED }; /* stage buffers */

static fc_loop *open(fc_slide_gen *x, fc_loop_kind kind, unsigned axis, uint32_t step,
                     uint32_t count) {
    fc_loop *l = fc_loops_open(&x->part[0].loops, kind, axis, axis + 1, step);
    l->count = count;
    return l;
}

static fc_loop *leaf(fc_slide_gen *x, fc_loop_kind kind, unsigned phase, unsigned part) {
    fc_loop *l = fc_loops_leaf(&x->part[0].loops, kind, phase);
    l->part = (uint8_t)part;
    return l;
}

/* What comes to shared memory, what is loaded once, what is passed on. */
static void buffers(fc_slide_gen *x) {
    const unsigned v = x->cls->vector, rows = x->cls->cuda.slide_rows,
                   kept = fc_slide_span(&x->f) - 1;
    fc_loops *l = &x->part[0].loops;
    for (size_t i = 0; i < x->f.reads[FC_SLIDE_MAKES].len; i++) {
        const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[i];
        fc_loops_buffer(l, (fc_stage_buffer){.set = LINES,
                                             .space = FC_SPACE_SHARED,
                                             .copied = true,
                                             .along = (uint8_t)x->f.row,
                                             .access = r->access,
                                             .lanes = fc_slide_line(r, v),
                                             .elements = rows});
    }
    fc_loops_buffer(l, (fc_stage_buffer){.set = PASSED,
                                         .space = FC_SPACE_REGISTERS,
                                         .passed = true,
                                         .along = (uint8_t)x->f.row,
                                         .access = x->j->kernel[0]->stores.at[0].access,
                                         .lanes = v,
                                         .elements = rows + kept,
                                         .around = kept});
    for (unsigned part = 0; part < 2; part++) {
        bool any = false;
        for (uint32_t a = 0; a < x->j->cls[part].naccess; a++) {
            if (!x->part[part].cached[a]) continue;
            if (!any) leaf(x, FC_LEAF_FILL, FC_SET_KEPT, part);
            any = true;
            fc_loops_buffer(l, (fc_stage_buffer){.set = FC_SET_KEPT,
                                                 .space = FC_SPACE_REGISTERS,
                                                 .along = (uint8_t)x->f.column,
                                                 .access = a,
                                                 .lanes = 1,
                                                 .elements = 1,
                                                 .part = (uint8_t)part});
        }
    }
    leaf(x, FC_LEAF_FILL, LINES, FC_SLIDE_MAKES);
}

static void rows(fc_slide_gen *x, unsigned part) {
    open(x, FC_LOOP_UNROLL, x->f.row, 1, x->cls->cuda.slide_rows)->part = (uint8_t)part;
    open(x, FC_LOOP_VECTOR, x->f.column, x->cls->vector, 1)->part = (uint8_t)part;
    leaf(x, FC_LEAF_POINT, FC_PHASE_ELEMENTS, part);
    leaf(x, FC_LEAF_STORE, FC_PHASE_ELEMENTS, part);
    fc_loops_close(&x->part[0].loops, 2);
}

static void build(fc_slide_gen *x) {
    const unsigned v = x->cls->vector;
    const uint32_t turn = x->cls->cuda.slide_rows;
    for (unsigned a = 0; a < x->f.row; a++) open(x, FC_LOOP_GRID, a, 1, 1);
    open(x, FC_LOOP_GRID, x->f.row, FC_STEP_SPAN, 1);
    open(x, FC_LOOP_GRID, x->f.column, FC_SLIDE_WARPS * 32 * v, 1);
    open(x, FC_LOOP_WARP, x->f.column, 32 * v, FC_SLIDE_WARPS);
    open(x, FC_LOOP_LANE, x->f.column, v, 32);
    buffers(x);
    open(x, FC_LOOP_SERIAL, x->f.row, turn, 1)->way = FC_LOOP_EARLY;
    leaf(x, FC_LEAF_AWAIT, LINES, FC_SLIDE_MAKES);
    rows(x, FC_SLIDE_MAKES);
    leaf(x, FC_LEAF_FILL, LINES, FC_SLIDE_MAKES)->ahead = FC_LOOP_SOON;
    open(x, FC_LOOP_CASE, x->f.row, turn, 1)->way = FC_LOOP_WHOLE;
    rows(x, FC_SLIDE_TAKES);
    fc_loops_close(&x->part[0].loops, 1);
    leaf(x, FC_LEAF_SHIFT, PASSED, FC_SLIDE_MAKES);
}

fusec_status fc_slide_loops(fc_slide_gen *x, fc_error *e) {
    const fc_loops *l = &x->part[0].loops;
    build(x);
    if (l->oom) return fc_oom(e);
    FC_TRY(fc_loops_verify_parts(l, x->j->kernel, x->j->cls, x->j->n, e));
    fc_loops_print(l, "// ", x->part[0].t.out);
    return FUSEC_OK;
}
