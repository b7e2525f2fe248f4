/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_dot.c - contractions in tiles: what is done at the leaves of their loop form (llvm_loops.c).
 *
 * In: a kernel of FC_SCHED_DOT whose innermost kept axis (n) the left operand does not have and one
 * of whose other axes (m, class.llvm.down_axis) the right one does not have. Several reduced axes
 * (of a convolution channels and places of the filter) are numbered as one, k: an element of the
 * right operand has indices of its own there, a vector of the left one those of its lanes.
 *
 *     fill    an operand of a block, a chunk of k: its code, vector by vector, to a panel
 *                 right   vectors along n     [n / WIDTH][k][WIDTH]
 *                 left    vectors along k     [m][k], rows `step` apart
 *     lanes   HEIGHT x WIDTH results in registers, each the chain of fma of a chunk
 *     push    plus the levels of the counter that are full; to a level, or, as this is all that a
 *             fold does, after the last chunk to where it is finished: a tile on the stack, or the
 *             result itself if that is the sum as it is (`bare`)
 *
 * In a class with `direct` the operands are read where they are: loads and nothing else, of few
 * results, which stay in the first-level cache. Rows of a tile lie equally far apart; tiles of LOW
 * rows take what is left of them, the last row as often as needed. Columns are masked. With `turned`
 * the right one lies along k, and each unit transposes it to the stack first.
 *
 * In a class with `pairs` elements have 8 bits. Panels have them as i16, the sums are i32, which
 * are exact for as many as there are, and the chain takes two elements of k at once: they lie side
 * by side in a row of the left panel, and of the right one two rows are joined in registers. A row
 * of zeros makes the number of rows even.
 *
 * In a class with `low` elements and sums are cut to i32, of which no higher bits are needed.
 *
 * So the code of the operands and that behind the product are the kernel's own, written once, and
 * the chain knows nothing of them. Invariant: the order is that of docs/semantics.md whatever the
 * blocks are; what is copied twice or past the end goes to results that are dropped.
 *
 * Panels and levels are in the workspace, a slot for each thread; a slot is taken through an atomic
 * in the tickets, as functions do not know which thread they run in.
 *
 * In a class with `split` tasks have spans of k of 2^j chunks, which are whole subtrees: their sums
 * go to the workspace, before the slots, and the finishing function joins and finishes them.
 *
 * FC_PB_SPANS has the columns of a block and, in its upper half, the number of spans; FC_PB_SPAN
 * the rows of a block, from bit 32 on the number of slots, from bit 48 on j. */
#include "codegen/blocks.h"
#include "codegen/llvm/llvm_dot.h"
#include "ir/plant.h"

/* ---- panels ---------------------------------------------------------------------------------- */

/* Whether a load of an operand is scattered along its vectors and lies along the other axis. */
static bool lies_across(const fc_ll_dot *d, uint32_t a, bool left) {
    const fc_ll *f = d->f;
    const unsigned k = f->cls->np, lanes = left ? k : d->n_axis, rows = left ? d->m_axis : k;
    if (f->k->accesses.at[a].buffer == FC_NO_BUFFER || fc_is_stored(f->k, a)) return false;
    if (f->cls->nr > 1 || (left ? d->all_rows : d->columns) > 1) return false;
    for (fc_val v = 0; v < f->code.ins.len; v++) {
        const fc_instr *i = &f->code.ins.at[v];
        if (d->need[!left][v] && i->op == FC_OP_LOAD && i->imm == a && i->level == FC_POINT)
            return fc_class_move(f->cls, a, lanes) == FC_MOVE_ANY &&
                   fc_class_move(f->cls, a, rows) == FC_MOVE_ONE;
    }
    return false;
}

/* Rows that low tiles do at most. */
static unsigned most_low(const fc_ll_dot *d) {
    return d->direct ? d->p.height - 1 : (d->p.height - 1) / FC_LL_LOW * FC_LL_LOW;
}

/* Rows of a panel of so many rows: whole tiles, and what is left in low ones. */
static const char *padded(const fc_ll_dot *d, const char *rows) {
    fc_ll *f = d->f;
    const char *height = fc_ll_number(f, d->p.height);
    const char *rest = fc_ll_bin(f, "urem", rows, height), *whole = fc_ll_dot_minus(f, rows, rest);
    const char *low = fc_ll_dot_times(f, fc_ll_dot_up(f, rest, FC_LL_LOW), FC_LL_LOW);
    const char *is_low = fc_ll_ins(f, "icmp ule i64 %s, %u", rest, most_low(d));
    return fc_ll_dot_plus(f, whole, fc_ll_select(f, "i64", 1, is_low, low, height));
}

/* A vector of an operand to its panel. */
void fc_ll_dot_to_panel(const fc_ll_dot *d, const char *panel, const char *element, const char *v,
                        fc_val value) {
    fc_ll *f = d->f;
    const char *wide = fc_ll_type(f, (fusec_dtype)f->k->reductions.at[0].dtype, f->V);
    if (f->cls->llvm.low) v = fc_ll_ins(f, "trunc %s %s to %s", wide, v, fc_ll_type(f, d->t, f->V));
    if (!d->pairs) {
        fc_ll_spill(f, d->t, f->V, panel, element, v);
        return;
    }
    const fusec_dtype from = (fusec_dtype)f->k->code.ins.at[value].dtype;
    const char *half = fc_ll_type(f, FUSEC_I16, f->V);
    v = fc_ll_ins(f, "%s %s %s to %s", from == FUSEC_I8 ? "sext" : "zext",
                  fc_ll_type(f, from, f->V), v, half);
    fc_ll_line(f, "store %s %s, ptr %s, align 2", half, v, fc_ll_dot_in_panel(d, panel, element));
}

/* Code that is long stands once. */
void fc_ll_dot_copy(fc_ll_dot *d, unsigned operand, const char *from, const char *to,
                    fc_ll_body body) {
    enum { SHORT = 4 };
    unsigned work = 0;
    for (size_t v = 0; v < d->f->code.ins.len; v++) work += d->need[operand][v];
    if (work > SHORT || d->f->cls->llvm.brief)
        fc_ll_vectors_in_one(d->f, from, to, NULL, body, d);
    else
        fc_ll_vectors(d->f, from, to, 1, body, d);
}

/* ---- what is one for a block of k -------------------------------------------------------------
 *
 * Where the right operand goes through tiles, a tile has as many elements of k as lanes: if a block
 * has a multiple of that, what it has one of is read once for the tile, and stands on the stack. */

static bool is_held(const fc_ll_dot *d, fc_val v) {
    fc_block_read b;
    const fc_val at = d->f->map[v];
    if (at == FC_NOVAL || !d->need[1][at] || d->f->uniform[at] ||
        !fc_find_block_read(d->f->k, v, &b) || d->f->k->accesses.at[b.place].level != FC_ROW)
        return false;
    for (unsigned i = 0; i < b.n; i++)
        if (fc_is_depth(d->f->k, b.part[i].index) && b.part[i].of % d->f->V) return false;
    return true;
}

static void hold(fc_ll *f, void *user) {
    const fc_ll_dot *d = user;
    uint8_t *need = fc_ll_alloc(f, f->code.ins.len);
    fc_ll_forget(f);
    for (fc_val v = 0; v < f->k->code.ins.len; v++)
        if (is_held(d, v)) fc_kernel_slice(&f->code, &f->map[v], 1, need);
    fc_ll_emit_rows(f, need);
    fc_ll_emit_points(f, need);
    for (fc_val v = 0; v < f->k->code.ins.len; v++) {
        if (!is_held(d, v)) continue;
        const fusec_dtype t = (fusec_dtype)f->k->code.ins.at[v].dtype;
        fc_ll_spill(f, t, f->V, d->held[f->map[v]], "0", fc_ll_value(f, v, f->V));
    }
}

/* Of the vector from `x` to `to`, and the block of element `k` of the chunk. */
static void hold_blocks(fc_ll_dot *d, const char *k, const char *x, const char *to) {
    fc_ll *f = d->f;
    bool any = false;
    d->held = fc_ll_names(f, (unsigned)f->code.ins.len);
    for (fc_val v = 0; v < f->k->code.ins.len; v++) {
        if (!is_held(d, v)) continue;
        const fusec_dtype t = (fusec_dtype)f->k->code.ins.at[v].dtype;
        d->held[f->map[v]] = fc_ll_head(f, "alloca [%u x %s], align 64", f->V, fc_ll_type(f, t, 1));
        any = true;
    }
    if (!any) return;
    f->element = fc_ll_dot_plus(f, d->b->k.lo, k);
    fc_ll_vectors_in_one(f, x, to, NULL, hold, d);
    f->element = NULL;
}

static void take_held(const fc_ll_dot *d) {
    fc_ll *f = d->f;
    for (fc_val v = 0; d->held && v < f->code.ins.len; v++)
        if (d->held[v])
            f->v[v] = fc_ll_fill(f, (fusec_dtype)f->code.ins.at[v].dtype, f->V, d->held[v], "0");
}

/* No row yet, or no part of one. */
static void stand_still(fc_ll_dot *d) {
    for (unsigned a = d->m_axis + 1 - d->all_rows; a <= d->m_axis; a++) d->idx[a] = "0";
}

static void copy_right(fc_ll *f, void *user) {
    const fc_ll_dot *d = user;
    fc_ll_forget(f);
    take_held(d);
    fc_ll_emit_rows(f, d->need[1]);
    fc_ll_emit_points(f, d->need[1]);
    const char *v = fc_ll_value(f, d->value[1], f->V);
    const char *x = fc_ll_dot_minus(f, f->x, d->b->columns.lo),
               *width = fc_ll_number(f, d->p.width);
    const char *panel = fc_ll_bin(f, "udiv", x, width);
    const char *to =
        fc_ll_dot_plus(f, fc_ll_dot_times(f, panel, d->p.width * FC_DOT_CHUNK), d->row);
    to = fc_ll_dot_plus(f, to, fc_ll_dot_minus(f, x, fc_ll_bin(f, "mul", panel, width)));
    fc_ll_dot_to_panel(d, d->right, to, v, d->value[1]);
}

/* Zeros for the row that makes the number of them even. */
static void fill_last_row(fc_ll_dot *d) {
    fc_ll *f = d->f;
    fc_ll_if odd;
    fc_ll_loop l;
    fc_ll_if_begin(f, &odd, fc_ll_ins(f, "trunc i64 %s to i1", d->kn));
    const char *n =
        fc_ll_dot_up(f, fc_ll_dot_minus(f, d->b->columns.hi, d->b->columns.lo), d->p.width);
    const char *half = fc_ll_type(f, FUSEC_I16, d->p.width);
    const char *panel = fc_ll_for(f, &l, "0", n);
    const char *to = fc_ll_dot_plus(f, fc_ll_dot_times(f, panel, d->p.width * FC_DOT_CHUNK),
                                    fc_ll_dot_times(f, d->kn, d->p.width));
    fc_ll_line(f, "store %s zeroinitializer, ptr %s, align 2", half,
               fc_ll_dot_in_panel(d, d->right, to));
    fc_ll_for_end(f, &l, "1");
    fc_ll_if_else(f, &odd);
    fc_ll_if_end(f, &odd);
}

/* Where the last panel is half empty, zeros: what lies there may be slow to compute with. */
static void fill_last_panel(fc_ll_dot *d) {
    fc_ll *f = d->f;
    fc_ll_if half;
    fc_ll_loop l;
    if (d->p.width == f->V || !fc_is_float(d->t)) return; /* of integers it does not matter */
    const char *n = fc_ll_dot_up(f, fc_ll_dot_minus(f, d->b->columns.hi, d->b->columns.lo), f->V);
    const char *odd = fc_ll_ins(f, "trunc i64 %s to i1", n);
    fc_ll_if_begin(f, &half, odd);
    const char *panel = fc_ll_bin(f, "lshr", n, "1");
    const char *first = fc_ll_dot_times(f, panel, d->p.width * FC_DOT_CHUNK);
    const char *k = fc_ll_for(f, &l, "0", d->kn);
    const char *to = fc_ll_dot_plus(f, fc_ll_dot_plus(f, first, fc_ll_dot_times(f, k, d->p.width)),
                                    fc_ll_number(f, f->V));
    fc_ll_spill(f, d->t, f->V, d->right, to, fc_ll_const(f, d->t, 0, f->V));
    fc_ll_for_end(f, &l, "1");
    fc_ll_if_else(f, &half);
    fc_ll_if_end(f, &half);
}

/* The row of the right operand at element `k` of the chunk, columns [from, to). */
static void right_row(fc_ll_dot *d, const char *k, const char *from, const char *to) {
    fc_ll *f = d->f;
    f->element = fc_ll_dot_plus(f, d->b->k.lo, k);
    if (f->cls->nr > 1) f->at = fc_ll_at_element(f, f->element);
    d->row = fc_ll_dot_times(f, k, d->p.width);
    fc_ll_dot_copy(d, 1, from, to, copy_right);
    f->at = NULL;
    f->element = NULL;
}

/* Where an operand lies across its vectors, V by V elements of it are transposed in registers
 * first, and its code reads them from the stack (llvm_tiles.c). */
static void begin_tiles(const fc_ll_dot *d, bool left) {
    fc_ll *f = d->f;
    f->tile = fc_ll_names(f, f->cls->naccess);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (lies_across(d, a, left))
            f->tile[a] = fc_ll_head(f, "alloca [%u x %s], align 64", f->V * f->V,
                                    fc_ll_stored(f, f->k->accesses.at[a].dtype, 1));
}

/* The vectors at `x`, of which `lanes` are there, of `n` rows from `first` on, which an element of
 * the base is of already. */
static void fill_tiles(fc_ll_dot *d, const char *x, const char *lanes, const char *first,
                       const char *n, bool left) {
    fc_ll *f = d->f;
    const unsigned axis = left ? d->m_axis : f->cls->np;
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        if (!f->tile[a]) continue;
        const char *at = fc_ll_bin(f, "mul", x, fc_ll_stride(f, a, f->lane_axis));
        at = fc_ll_dot_plus(f, at, fc_ll_bin(f, "mul", first, fc_ll_stride(f, a, axis)));
        fc_ll_move_tile(f, a, false, fc_ll_dot_plus(f, f->base[a], at),
                        fc_ll_dot_minus(f, lanes, "1"), n, f->tile[a], fc_ll_number(f, f->V), "0");
    }
}

static void copy_left_here(fc_ll *f, void *user) {
    const fc_ll_dot *d = user;
    fc_ll_forget_points(f);
    fc_ll_emit_points(f, d->need[0]);
    const char *v = fc_ll_value(f, d->value[0], f->V);
    fc_ll_dot_to_panel(d, d->left, fc_ll_dot_plus(f, d->row, fc_ll_dot_minus(f, f->x, d->b->k.lo)),
                       v, d->value[0]);
}

static void copy_left(fc_ll *f, void *user) {
    if (f->cls->nr > 1 && !f->cls->llvm.deep_one)
        fc_ll_at_vector(f, copy_left_here, user);
    else
        copy_left_here(f, user);
}

/* Row `m` of the left operand to row `i` of the panel, elements [from, to). */
static void left_row(fc_ll_dot *d, const char *m, const char *i, const char *from, const char *to) {
    fc_ll *f = d->f;
    fc_ll_decompose(f, m, d->m_axis + 1 - d->all_rows, d->m_axis + 1, d->idx);
    fc_ll_forget(f);
    fc_ll_set_base(f, d->idx, d->n_axis);
    fc_ll_emit_rows(f, d->need[0]);
    d->row = fc_ll_dot_times(f, i, d->p.step);
    fc_ll_dot_copy(d, 0, from, to, copy_left);
}

/* Where an operand lies across its vectors: V of its rows at a time. */
static void by_tiles(fc_ll_dot *d, bool left) {
    fc_ll *f = d->f;
    fc_ll_loop rows, columns, within;
    const char *V = fc_ll_number(f, f->V), *last = fc_ll_dot_minus(f, d->b->rows.hi, "1");
    const char *count = left ? d->rows : d->kn, *x0 = left ? d->b->k.lo : d->b->columns.lo;
    const char *x1 = left ? fc_ll_dot_plus(f, d->b->k.lo, d->kn) : d->b->columns.hi;
    begin_tiles(d, left);
    const char *x = fc_ll_for(f, &columns, x0, x1), *to = fc_ll_min(f, fc_ll_dot_plus(f, x, V), x1);
    const char *i = fc_ll_for(f, &rows, "0", count);
    const char *end = fc_ll_min(f, fc_ll_dot_plus(f, i, V), count);
    const char *first = left ? fc_ll_min(f, fc_ll_dot_plus(f, d->b->rows.lo, i), last)
                             : fc_ll_dot_plus(f, d->b->k.lo, i);
    const char *n = left ? fc_ll_min(f, fc_ll_dot_minus(f, d->b->rows.hi, first), V)
                         : fc_ll_dot_minus(f, end, i);
    stand_still(d);
    fc_ll_set_base(f, d->idx, d->n_axis);
    fill_tiles(d, x, fc_ll_dot_minus(f, x1, x), first, n, left);
    if (!left) hold_blocks(d, i, x, to);
    const char *row = fc_ll_for(f, &within, i, end);
    const char *m = left ? fc_ll_min(f, fc_ll_dot_plus(f, d->b->rows.lo, row), last)
                         : fc_ll_dot_plus(f, d->b->k.lo, row);
    f->tile_row = fc_ll_dot_minus(f, fc_ll_dot_times(f, fc_ll_dot_minus(f, m, first), f->V), x);
    if (left)
        left_row(d, m, row, x, to);
    else
        right_row(d, row, x, to);
    fc_ll_for_end(f, &within, "1");
    fc_ll_for_end(f, &rows, V);
    fc_ll_for_end(f, &columns, V);
    f->tile = NULL;
    d->held = NULL;
}

static void make_right(fc_ll_dot *d) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    fc_ll_look_along(f, d->n_axis, false);
    stand_still(d);
    fc_ll_set_base(f, d->idx, d->n_axis);
    if (d->columns > 1) {
        fc_ll_dot_make_pieces(d);
    } else if (d->turned[1]) {
        by_tiles(d, false);
    } else {
        const bool next = !f->cls->llvm.brief && f->cls->nr == 1;
        f->ahead = next ? FC_LOOP_NEXT_ROWS : FC_LOOP_NOT_AHEAD;
        right_row(d, fc_ll_for(f, &l, "0", d->kn), d->b->columns.lo, d->b->columns.hi);
        f->ahead = FC_LOOP_NOT_AHEAD;
        fc_ll_for_end(f, &l, "1");
    }
    fill_last_panel(d);
    if (d->pairs) fill_last_row(d);
}

/* Rows past the end are the last one again. */
static void make_left(fc_ll_dot *d) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    fc_ll_look_along(f, f->cls->np + f->cls->nr - 1u, true);
    if (d->turned[0]) {
        by_tiles(d, true);
        return;
    }
    const char *i = fc_ll_for(f, &l, "0", d->rows);
    const char *m =
        fc_ll_min(f, fc_ll_dot_plus(f, d->b->rows.lo, i), fc_ll_dot_minus(f, d->b->rows.hi, "1"));
    left_row(d, m, i, d->b->k.lo, fc_ll_dot_plus(f, d->b->k.lo, d->kn));
    fc_ll_for_end(f, &l, "1");
}

/* All of the right operand, V by V elements at a time. */
static void turn_right(fc_ll_dot *d) {
    fc_ll *f = d->f;
    fc_ll_loop columns, elements;
    const uint32_t a = d->operand[1];
    const char *n = fc_ll_extent(f, d->n_axis), *k = fc_ll_extra(f, FC_PB_COUNT),
               *V = fc_ll_number(f, f->V);
    d->idx[d->m_axis] = "0";
    fc_ll_set_base(f, d->idx, d->n_axis);
    d->width = fc_ll_dot_times(f, fc_ll_dot_up(f, n, f->V), f->V);
    const char *x = fc_ll_for(f, &columns, "0", n), *e = fc_ll_for(f, &elements, "0", k);
    const char *at = fc_ll_bin(f, "mul", x, fc_ll_stride(f, a, d->n_axis));
    at = fc_ll_dot_plus(f, fc_ll_dot_plus(f, f->base[a], at), e);
    const char *last = fc_ll_dot_minus(f, fc_ll_dot_minus(f, n, x), "1");
    const char *to = fc_ll_dot_plus(f, fc_ll_bin(f, "mul", e, d->width), x);
    fc_ll_move_tile(f, a, false, at, last, fc_ll_dot_minus(f, k, e), fc_ll_dot_at(d, d->right, to),
                    d->width, "0");
    fc_ll_for_end(f, &elements, V);
    fc_ll_for_end(f, &columns, V);
}

void fc_ll_dot_fill(fc_ll *f, unsigned operand, const fc_ll_box *b, const char *const *idx) {
    fc_ll_dot *d = f->dot;
    d->b = b;
    memcpy(d->idx, idx, sizeof d->idx);
    d->kn = fc_ll_dot_minus(f, b->k.hi, b->k.lo);
    d->rows = padded(d, fc_ll_dot_minus(f, b->rows.hi, b->rows.lo));
    fc_ll_forget(f);
    if (d->direct)
        turn_right(d);
    else
        (operand ? make_right : make_left)(d);
    fc_ll_look_along(f, d->n_axis, false);
    fc_ll_forget(f);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static void call_tile(const fc_ll_dot *d, unsigned height, const fc_ll_dot_call *c) {
#define X(type, name)   ", " #type " %s"
#define ARG(type, name) , c->name
    fc_ll_line(d->f, "call void @%s_tile%u(i64 %s" FC_LL_DOT_ARGS(X) ")", d->f->name, height,
               c->n FC_LL_DOT_ARGS(ARG));
#undef ARG
#undef X
}

/* A whole tile, or low ones for the rows that are left. */
static void any_tile(const fc_ll_dot *d, const fc_ll_dot_call *c) {
    fc_ll *f = d->f;
    fc_ll_if low;
    fc_ll_loop l;
    const bool both = !f->cls->llvm.brief;
    if (d->p.height == d->low) {
        call_tile(d, d->low, c);
        return;
    }
    if (both) fc_ll_if_begin(f, &low, fc_ll_ins(f, "icmp ule i64 %s, %u", c->rows, most_low(d)));
    const char *r = fc_ll_for(f, &l, "0", c->rows), *held = fc_ll_dot_times(f, r, d->p.width);
    fc_ll_dot_call some = *c;
    some.a = fc_ll_dot_in_panel(d, c->a, fc_ll_bin(f, "mul", r, c->down));
    some.levels = fc_ll_dot_at(d, c->levels, held);
    some.to = fc_ll_dot_at(d, c->to, fc_ll_bin(f, "mul", r, c->step));
    some.rows = fc_ll_dot_minus(f, c->rows, r);
    call_tile(d, d->low, &some);
    fc_ll_for_end(f, &l, fc_ll_number(f, d->low));
    if (!both) return;
    fc_ll_if_else(f, &low);
    call_tile(d, d->p.height, c);
    fc_ll_if_end(f, &low);
}

/* From a matrix of a stack to the next one, or some way on, in bytes. */
static const char *matrix_ahead(const fc_ll_dot *d, uint32_t access) {
    enum { LEAST = 4096 };
    fc_ll *f = d->f;
    if (!f->cls->llvm.ahead) return "0";
    const unsigned axis = d->m_axis + 1 == d->n_axis ? d->m_axis - 1 : d->n_axis - 1;
    const char *by = fc_ll_dot_times(f, fc_ll_stride(f, access, axis), fc_dtypes[d->t].bytes);
    fc_ll_declare(f, "i64 @llvm.smax.i64(i64, i64)");
    return fc_ll_ins(f, "call i64 @llvm.smax.i64(i64 %s, i64 %d)", by, LEAST);
}

/* Where the operands of the tile begin. */
static void find_operands(const fc_ll_dot *d, const fc_ll_box *b, const char *first,
                          fc_ll_dot_call *c) {
    fc_ll *f = d->f;
    const unsigned k = f->cls->np;
    if (d->direct) {
        for (unsigned i = 0; i < 2; i++) {
            const uint32_t a = d->operand[i];
            const char *by = fc_ll_bin(f, "mul", b->k.lo, fc_ll_stride(f, a, k));
            by = fc_ll_dot_plus(f, by, f->base[a]);
            if (i) by = fc_ll_dot_plus(f, by, first);
            *(i ? &c->b : &c->a) = fc_ll_element(f, a, by);
            *(i ? &c->ahead_b : &c->ahead_a) = matrix_ahead(d, a);
        }
        c->down = fc_ll_stride(f, d->operand[0], d->m_axis);
        c->along = fc_ll_stride(f, d->operand[0], k);
        c->next = fc_ll_stride(f, d->operand[1], k);
        c->levels = d->counter;
        if (!f->cls->llvm.turned) return;
        c->next = d->width;
        c->b = fc_ll_dot_at(d, d->right,
                            fc_ll_dot_plus(f, fc_ll_bin(f, "mul", b->k.lo, d->width), first));
        return;
    }
    const char *i = fc_ll_dot_minus(f, b->down.lo, b->rows.lo);
    const char *panel = fc_ll_bin(f, "udiv", fc_ll_dot_minus(f, b->across.lo, b->columns.lo),
                                  fc_ll_number(f, d->p.width));
    const char *high = fc_ll_dot_up(f, fc_ll_dot_minus(f, b->rows.hi, b->rows.lo), d->p.height);
    const char *number = fc_ll_dot_plus(f, fc_ll_bin(f, "mul", panel, high),
                                        fc_ll_bin(f, "udiv", i, fc_ll_number(f, d->p.height)));
    c->ahead_a = c->ahead_b = "0";
    c->a = fc_ll_dot_in_panel(d, d->left, fc_ll_dot_times(f, i, d->p.step));
    c->b = fc_ll_dot_in_panel(d, d->right, fc_ll_dot_times(f, panel, d->p.width * FC_DOT_CHUNK));
    c->down = fc_ll_number(f, d->p.step);
    c->along = c->next = "0";
    c->levels = fc_ll_dot_at(
        d, d->counter,
        fc_ll_dot_times(f, fc_ll_bin(f, "mul", number, d->levels), d->p.height * d->p.width));
}

/* Where the results of the tile are finished, from column `first` on, and how far its rows lie
 * apart there. */
static void find_end(const fc_ll_dot *d, const fc_ll_box *b, const char *first, const char **to,
                     const char **apart) {
    fc_ll *f = d->f;
    const uint32_t a = f->k->stores.at[0].access;
    if (d->bare) {
        *to = fc_ll_element(f, a, fc_ll_dot_plus(f, f->base[a], first));
        *apart = fc_ll_stride(f, a, d->m_axis);
    } else {
        *to = fc_ll_dot_at(d, d->tile, fc_ll_dot_minus(f, first, b->across.lo));
        *apart = fc_ll_number(f, d->p.width);
    }
}

/* The first column of a tile's row, and how far from it those of its other registers are. */
static const char *find_columns(const fc_ll_dot *d, const fc_ll_box *b, fc_ll_dot_call *c) {
    fc_ll *f = d->f;
    const char *first = b->across.lo, *end = first;
    const bool moves = d->direct && !fc_ll_dot_is_masked(d);
    const char **load[] = {NULL, &c->load1, &c->load2, &c->load3};
    const char **store[] = {NULL, &c->store1, &c->store2, &c->store3};
    if (moves) {
        end = fc_ll_dot_minus(f, b->columns.hi, fc_ll_number(f, d->p.lanes));
        first = fc_ll_min(f, first, end);
    }
    for (unsigned v = 1; v < FC_LL_ROW_VECTORS; v++) {
        const char *by = fc_ll_number(f, v * d->p.lanes), *of = by;
        if (moves && v < d->vectors)
            of = fc_ll_dot_minus(f, fc_ll_min(f, fc_ll_dot_plus(f, b->across.lo, by), end), first);
        *load[v] = of;
        if (v + 1 == d->vectors) of = FC_PLANT(dot_edge, fc_ll_dot_minus(f, of, "1"), of);
        *store[v] = fc_ll_select(f, "i64", 1, b->last, of, by);
    }
    return first;
}

void fc_ll_dot_push(fc_ll *f, const fc_ll_box *b) {
    fc_ll_dot *d = f->dot;
    const char *tile = fc_ll_number(f, d->p.height * d->p.width), *to, *apart;
    const char *width = fc_ll_number(f, d->p.width);
    fc_ll_dot_call c = {.n = fc_ll_dot_minus(f, b->k.hi, b->k.lo)};
    const char *first = find_columns(d, b, &c);
    find_operands(d, b, first, &c);
    if (FC_PLANTED(dot_tail))
        c.n = fc_ll_dot_minus(f, c.n, fc_ll_ins(f, "zext i1 %s to i64", b->last));
    const char *next = fc_ll_ins(f, "call i64 @llvm.cttz.i64(i64 %s, i1 false)",
                                 fc_ll_bin(f, "xor", b->chunk, "-1"));
    const char *level = fc_ll_dot_at(d, c.levels, fc_ll_bin(f, "mul", next, tile));
    const char *ones =
        fc_ll_bin(f, "and", b->chunk, fc_ll_bin(f, "xor", fc_ll_dot_plus(f, b->chunk, "1"), "-1"));
    find_end(d, b, first, &to, &apart);
    c.mask = fc_ll_select(f, "i64", 1, b->last, b->chunk, ones);
    c.to = fc_ll_select(f, "ptr", 1, b->last, to, level);
    c.step = fc_ll_select(f, "i64", 1, b->last, apart, width);
    c.rows = fc_ll_dot_minus(f, b->down.hi, b->down.lo);
    c.columns = fc_ll_dot_minus(
        f, FC_PLANT(dot_edge, fc_ll_dot_minus(f, b->across.hi, "1"), b->across.hi), b->across.lo);
    any_tile(d, &c);
}

/* The sums of the vector of a tile at row `m`. */
static const char *sums_of(const fc_ll_dot *d, const fc_ll_box *b, const char *m) {
    fc_ll *f = d->f;
    const char *row = fc_ll_dot_times(f, fc_ll_dot_minus(f, m, b->down.lo), d->p.width);
    const char *v = fc_ll_fill(f, d->t, f->V, d->tile,
                               fc_ll_dot_plus(f, row, fc_ll_dot_minus(f, f->x, b->across.lo)));
    if (d->pairs || f->cls->llvm.low)
        v = fc_ll_ins(f, "sext %s %s to %s", fc_ll_type(f, d->t, f->V), v,
                      fc_ll_type(f, (fusec_dtype)f->k->reductions.at[0].dtype, f->V));
    return v;
}

void fc_ll_dot_finish(fc_ll *f, const fc_ll_box *b, const char *m) {
    if (f->dot->bare) return;
    const char *v = sums_of(f->dot, b, m);
    f->red[0].vector = fc_ll_finish(f, 0, f->V, &v);
}

void fc_ll_dot_put(fc_ll *f, const fc_ll_box *b, const char *m, const char *const *idx,
                   const char *span) {
    const fc_ll_dot *d = f->dot;
    const char *v = sums_of(d, b, m), *row = "0";
    for (unsigned i = 0; i < f->cls->np; i++)
        row = fc_ll_dot_plus(f, fc_ll_bin(f, "mul", row, fc_ll_extent(f, i)),
                             i == d->n_axis ? f->x : idx[i]);
    fc_ll_put_partial(f, &f->stage[0], f->V, span, row, &v);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static const char *slot_of(fc_ll *f, const char *slot) {
    const char *all = fc_ll_ins(f, "inttoptr i64 %s to ptr", fc_ll_extra(f, FC_PB_TICKETS));
    return fc_ll_ins(f, "getelementptr i32, ptr %s, i64 %s", all, slot);
}

/* There are as many slots as threads, so one is free. */
static const char *take_slot(fc_ll *f, const char *slots) {
    static const char *const types[] = {"i64"}, *const init[] = {"0"};
    fc_ll_loop l;
    fc_ll_loop_begin(f, &l, 1, types, init);
    const char *got =
        fc_ll_ins(f, "cmpxchg ptr %s, i32 0, i32 1 acquire monotonic", slot_of(f, l.carry[0]));
    fc_ll_loop_test(
        f, &l,
        fc_ll_ins(f, "icmp eq i1 %s, 0", fc_ll_ins(f, "extractvalue { i32, i1 } %s, 1", got)));
    const char *next = fc_ll_dot_plus(f, l.carry[0], "1");
    next = fc_ll_bin(f, "urem", next, slots);
    fc_ll_loop_end(f, &l, &next);
    return l.carry[0];
}

static void place_panels(fc_ll_dot *d) {
    fc_ll *f = d->f;
    const bool split = f->cls->llvm.split;
    const char *columns = fc_ll_dot_columns(f);
    const char *rows =
        fc_ll_dot_times(f, fc_ll_dot_up(f, fc_ll_dot_rows(f), d->p.height), d->p.height);
    const char *right = fc_ll_dot_times(f, columns, FC_DOT_CHUNK),
               *left = fc_ll_dot_times(f, rows, d->p.step);
    const char *chunks = fc_ll_dot_up(f, fc_ll_extra(f, FC_PB_COUNT), FC_DOT_CHUNK);
    fc_ll_declare(f, "i64 @llvm.ctlz.i64(i64, i1)");
    d->levels = fc_ll_dot_minus(
        f, "64",
        fc_ll_ins(f, "call i64 @llvm.ctlz.i64(i64 %s, i1 false)", fc_ll_dot_minus(f, chunks, "1")));
    const char *levels = fc_ll_bin(f, "mul", fc_ll_bin(f, "mul", rows, columns), d->levels);
    const char *all = fc_ll_dot_plus(f, fc_ll_dot_plus(f, right, left), levels);
    if (d->columns > 1) /* and a line, with room for a vector past its end */
        all = fc_ll_dot_plus(f, all, fc_ll_dot_plus(f, columns, fc_ll_number(f, FC_LL_LINE_ROOM)));
    const char *slots = fc_ll_bin(f, "lshr", fc_ll_extra(f, FC_PB_SPAN), "32");
    if (split) slots = fc_ll_bin(f, "and", slots, "65535");
    d->slot = take_slot(f, slots);
    d->right = fc_ll_extra(f, FC_PB_WORKSPACE);
    if (split) {
        const char *partials = fc_ll_bin(f, "mul", fc_ll_extra(f, FC_PB_ROWS), fc_ll_spans(f));
        d->right = fc_ll_ins(f, "getelementptr i64, ptr %s, i64 %s", d->right, partials);
    }
    d->right = fc_ll_dot_at(d, d->right, fc_ll_bin(f, "mul", d->slot, all));
    d->left = fc_ll_dot_at(d, d->right, right);
    d->counter = fc_ll_dot_at(d, d->left, left);
    d->line = fc_ll_dot_at(d, d->counter, levels);
}

/* ---- the function ---------------------------------------------------------------------------- */

const char *fc_ll_dot_rows(fc_ll *f) {
    return fc_ll_bin(f, "and", fc_ll_extra(f, FC_PB_SPAN), "4294967295");
}

const char *fc_ll_dot_columns(fc_ll *f) {
    const char *all = fc_ll_extra(f, FC_PB_SPANS);
    return f->cls->llvm.split ? fc_ll_bin(f, "and", all, "4294967295") : all;
}

static void find_code(fc_ll_dot *d) {
    fc_ll *f = d->f;
    fc_red_values(&f->k->reductions.at[0], NULL, d->value);
    for (int i = 0; i < 2; i++) {
        if (d->pairs) d->value[i] = f->k->code.ins.at[d->value[i]].a; /* before it was widened */
        d->need[i] = fc_ll_alloc(f, f->code.ins.len);
        fc_kernel_slice(&f->code, &f->map[d->value[i]], 1, d->need[i]);
        for (uint32_t a = 0; a < f->cls->naccess; a++) d->turned[i] |= lies_across(d, a, i == 0);
        d->operand[i] = (uint32_t)f->k->code.ins.at[d->value[i]].imm;
    }
}

void fc_ll_dot_begin(fc_ll *f) {
    fc_ll_dot *d = f->dot = fc_ll_alloc(f, sizeof *d);
    *d = (fc_ll_dot){.f = f,
                     .t = fc_ll_dot_type(f->k, f->cls),
                     .pairs = f->cls->llvm.pairs,
                     .direct = f->cls->llvm.direct,
                     .bare = f->cls->llvm.bare,
                     .low = f->cls->llvm.brief ? FC_LL_BRIEF_LOW : FC_LL_LOW,
                     .n_axis = f->cls->np - 1u,
                     .m_axis = f->cls->llvm.down_axis,
                     .columns = f->cls->llvm.columns ? f->cls->llvm.columns : 1,
                     .all_rows = f->cls->llvm.rows ? f->cls->llvm.rows : 1};
    d->p = fc_ll_tile_of(f->m, d->t, f->cls);
    d->vectors = d->p.width / d->p.lanes;
    d->type = fc_ll_type(f, d->t, 1);
    d->lanes = fc_ll_type(f, d->t, d->p.lanes);
    find_code(d);
    fc_ll_declare(f, "i64 @llvm.cttz.i64(i64, i1)");
    fc_ll_dot_tile(d, d->low);
    if (d->p.height != d->low && !f->cls->llvm.brief) fc_ll_dot_tile(d, d->p.height);
    const unsigned tile = d->p.height * d->p.width;
    if (!d->bare)
        d->tile = fc_ll_dot_at(d, fc_ll_array(f, d->t, tile + 2 * f->V), fc_ll_number(f, f->V));
    if (f->cls->llvm.turned) d->right = fc_ll_array(f, d->t, FC_LL_TURNED / fc_dtypes[d->t].bytes);
    if (d->direct)
        d->counter = fc_ll_array(f, d->t, FC_LL_DIRECT_LEVELS * tile);
    else
        place_panels(d);
}

void fc_ll_dot_end(fc_ll *f) {
    if (!f->dot->direct)
        fc_ll_line(f, "store atomic i32 0, ptr %s release, align 4", slot_of(f, f->dot->slot));
    f->dot = NULL;
}
