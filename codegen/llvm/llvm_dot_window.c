/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_dot_window.c - panels of a contraction over windows, see llvm_dot.c: whose columns are of
 * several axes (class.llvm.columns), as the places of a picture are for a convolution.
 *
 * All but the right operand walks those axes as one. Of that operand a row of the panel is made
 * piece by piece of the innermost axis, side by side in a line of the workspace, and moved to the
 * panel from there: so a vector may be in two panels, and pieces may have any length. What a vector
 * has past its piece the next one covers. */
#include "codegen/llvm/llvm_dot.h"

/* The vector at x of a piece; `row` is the distance from elements of the piece to those of the
 * line. */
static void copy_piece(fc_ll *f, void *user) {
    fc_ll_dot *d = user;
    fc_ll_forget(f);
    fc_ll_emit_rows(f, d->need[1]);
    fc_ll_emit_points(f, d->need[1]);
    fc_ll_dot_to_panel(d, d->line, fc_ll_dot_plus(f, d->row, f->x),
                       fc_ll_value(f, d->value[1], f->V), d->value[1]);
}

/* From the line to row `k` of all panels. */
static void move_line(const fc_ll_dot *d, const char *k, const char *columns) {
    fc_ll *f = d->f;
    const char *type = fc_ll_type(f, d->pairs ? FUSEC_I16 : d->t, d->p.width);
    const unsigned bytes = d->pairs ? 2 : fc_dtypes[d->t].bytes;
    fc_ll_loop l;
    const char *panel = fc_ll_for(f, &l, "0", fc_ll_dot_up(f, columns, d->p.width));
    const char *from = fc_ll_dot_in_panel(d, d->line, fc_ll_dot_times(f, panel, d->p.width));
    const char *to = fc_ll_dot_plus(f, fc_ll_dot_times(f, panel, d->p.width * FC_DOT_CHUNK),
                                    fc_ll_dot_times(f, k, d->p.width));
    const char *v = fc_ll_ins(f, "load %s, ptr %s, align %u", type, from, bytes);
    fc_ll_line(f, "store %s %s, ptr %s, align %u", type, v, fc_ll_dot_in_panel(d, d->right, to),
               bytes);
    fc_ll_for_end(f, &l, "1");
}

/* Pieces of the innermost axis, numbered along the others. */
static void pieces(fc_ll_dot *d, const char *const *deep) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    const unsigned first = d->n_axis + 1 - d->columns;
    const char *from = d->b->columns.lo, *to = d->b->columns.hi, *size = fc_ll_extent(f, d->n_axis);
    const char *end =
        fc_ll_bin(f, "udiv", fc_ll_dot_plus(f, to, fc_ll_dot_minus(f, size, "1")), size);
    const char *piece = fc_ll_for(f, &l, fc_ll_bin(f, "udiv", from, size), end);
    const char *at = fc_ll_bin(f, "mul", piece, size);
    const char *skip = fc_ll_select(f, "i64", 1, fc_ll_ins(f, "icmp ugt i64 %s, %s", from, at),
                                    fc_ll_dot_minus(f, from, at), "0");
    fc_ll_decompose(f, piece, first, d->n_axis, d->idx);
    fc_ll_set_base(f, d->idx, d->n_axis);
    f->at = fc_ll_offsets_at(f, deep);
    d->row = fc_ll_dot_minus(f, at, from);
    fc_ll_dot_copy(d, 1, skip, fc_ll_min(f, fc_ll_dot_minus(f, to, at), size), copy_piece);
    f->at = NULL;
    fc_ll_for_end(f, &l, "1");
}

void fc_ll_dot_make_pieces(fc_ll_dot *d) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    const char *deep[FC_MAX_AXES];
    const unsigned np = f->cls->np;
    const char *k = fc_ll_for(f, &l, "0", d->kn);
    f->element = fc_ll_dot_plus(f, d->b->k.lo, k);
    fc_ll_decompose(f, f->element, np, np + f->cls->nr, deep);
    pieces(d, deep);
    f->element = NULL;
    move_line(d, k, fc_ll_dot_minus(f, d->b->columns.hi, d->b->columns.lo));
    fc_ll_for_end(f, &l, "1");
    for (unsigned i = d->n_axis + 1 - d->columns; i < d->n_axis; i++) d->idx[i] = "0";
}
