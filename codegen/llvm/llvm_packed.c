/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_packed.c - reductions of rows that lie one after the other in memory, V at a time: vectors
 * along the rows, joined across them.
 *
 * In: V neighbouring rows. Out: one vector of accumulators, a lane
 * for each row. In the tree of ir/graph.h every lane of a chunk has an accumulator of its own, and
 * lanes combine pairwise; so the vectors of a row are joined to one, and then those of neighbouring
 * rows: each level halves what a row takes of a vector, until it is one lane. That is two shuffles
 * for each vector, where a transposition takes four and a way through memory, and what follows is
 * done for V rows at once.
 *
 * Here rows have at most FC_LANES elements, one in each lane, and row_vectors, a power of two, of
 * which the second half is masked and the first one whole; longer ones are in llvm_bands.c. */
#include "codegen/llvm/llvm_text.h"

enum { MOST = FC_LANES / 4 }; /* vectors of a row */

void fc_ll_join_next(fc_ll *f, const fc_ll_stage *st, fc_ll_joined *p, unsigned number,
                     const char **v) {
    for (; number & 1; number /= 2) v = fc_ll_join_neighbours(f, st, p->at[--p->n], v);
    p->at[p->n++] = v;
}

fc_ll_masks fc_ll_row_masks(fc_ll *f) {
    fc_ll_masks m = {fc_ll_names(f, MOST), fc_ll_names(f, MOST)};
    for (unsigned v = f->cls->llvm.row_vectors / 2; v < f->cls->llvm.row_vectors; v++) {
        fc_ll_mask_part(f, fc_ll_extra(f, FC_PB_COUNT), v);
        m.mask[v] = f->mask;
        m.active[v] = f->active;
    }
    fc_ll_set_mask(f, NULL);
    return m;
}

/* A row in one vector. */
static const char **row(fc_ll *f, const fc_ll_stage *st) {
    const fc_ll_masks *m = &f->masks;
    fc_ll_joined p = {.n = 0};
    fc_ll_forget(f);
    fc_ll_emit_rows(f, st->needed);
    for (unsigned v = 0; v < f->cls->llvm.row_vectors; v++) {
        f->mask = m->mask[v];
        f->active = m->active[v];
        f->x = fc_ll_number(f, v * f->V);
        fc_ll_join_next(f, st, &p, v, fc_ll_step_vector(f, st, fc_ll_inits(f, st, f->V)));
    }
    fc_ll_forget_points(f);
    fc_ll_set_mask(f, NULL);
    return p.at[0];
}

/* From here to the next row. */
static void next_row(fc_ll *f) {
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (fc_class_move(f->cls, a, f->cls->np - 1u) != FC_MOVE_ZERO)
            f->base[a] = fc_ll_bin(f, "add", f->base[a], fc_ll_stride(f, a, f->cls->np - 1u));
}

static const char **in_registers(fc_ll *f, const fc_ll_stage *st) {
    fc_ll_joined p = {.n = 0};
    for (unsigned i = 0; i < f->V; i++) {
        if (i) next_row(f);
        fc_ll_join_next(f, st, &p, i, row(f, st));
    }
    return p.at[0];
}

static const char **in_a_loop(fc_ll *f, const fc_ll_stage *st) {
    fc_ll_loop l;
    fc_ll_joined p = {.n = 0};
    const unsigned n = f->cls->naccess;
    const char **types = fc_ll_names(f, n + 1), **init = fc_ll_names(f, n + 1);
    const char **next = fc_ll_names(f, n + 1);
    for (unsigned i = 0; i <= n; i++) {
        types[i] = "i64";
        init[i] = i ? f->base[i - 1] : "0";
    }
    fc_ll_loop_begin(f, &l, n + 1, types, init);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %u", l.carry[0], f->V * f->V));
    memcpy(f->base, l.carry + 1, n * sizeof *f->base);
    fc_ll_spill_all(f, st, f->V, st->lanes, l.carry[0], row(f, st));
    next_row(f);
    next[0] = fc_ll_bin(f, "add", l.carry[0], fc_ll_number(f, f->V));
    memcpy(next + 1, f->base, n * sizeof *next);
    fc_ll_loop_end(f, &l, next);
    for (unsigned i = 0; i < f->V; i++)
        fc_ll_join_next(f, st, &p, i,
                        fc_ll_fill_all(f, st, f->V, st->lanes, fc_ll_number(f, i * f->V)));
    return p.at[0];
}

const char **fc_ll_packed(fc_ll *f, const fc_ll_stage *st) {
    const fc_ll_text text = f->text;
    const char **base = f->base, *x = f->x, *mask = f->mask, *active = f->active;
    const char *there = active ? active : fc_ll_number(f, f->V), **acc;
    const uint32_t lane_axis = f->lane_axis;
    f->base = fc_ll_names(f, f->cls->naccess);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        f->base[a] =
            fc_ll_bin(f, "add", base[a], fc_ll_bin(f, "mul", x, fc_ll_stride(f, a, lane_axis)));
    fc_ll_set_mask(f, NULL);
    fc_ll_look_along(f, f->cls->np, true);
    if (f->cls->llvm.bands)
        acc = fc_ll_by_bands(f, st, there);
    else
        acc = f->cls->llvm.row_vectors == 1 ? in_registers(f, st) : in_a_loop(f, st);
    f->text = text;
    f->base = base;
    f->x = x;
    f->mask = mask;
    f->active = active;
    f->lane_axis = lane_axis;
    f->along_row = false;
    return acc;
}
