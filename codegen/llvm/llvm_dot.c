/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_dot.c - contractions in panels: the operands of a block of results are copied, a chunk of k
 * at a time, to where the loop over k finds them side by side, and tiles of results stay in
 * registers.
 *
 * In: a kernel of FC_SCHED_DOT whose innermost kept axis (n) the left operand does not have and one
 * of whose other axes (m, class.llvm.down_axis) the right one does not have, with one reduced axis.
 * Other kept axes are walked outside. Out: the function of a unit: a block of FC_PB_SPAN rows by
 * FC_PB_SPANS columns, all of k.
 *
 *     for each chunk of FC_DOT_CHUNK
 *         right: for k, vectors along n     code of the operand     panel [n / NR][k][NR]
 *         left:  for m, vectors along k     code of the operand     panel [m][k], rows STEP apart
 *         for each tile of MR x NR results
 *             the chain of fma; plus the levels of the counter that are full; to a level,
 *             or after the last chunk to a tile on the stack, and from there through the
 *             code behind the product, a row of the tile at a time, to the results
 *
 * So the code of the operands and that behind the product are the kernel's own, written once, and
 * the chain knows nothing of them. Invariant: the order is that of docs/semantics.md whatever the
 * blocks are; what is copied twice or past the end goes to results that are dropped.
 *
 * Panels and levels are in the workspace, a slot for each thread; a slot is taken through an atomic
 * in the tickets, as functions do not know which thread they run in. The upper half of FC_PB_SPAN
 * is the number of slots. */
#include "codegen/llvm/llvm_text.h"
#include "ir/plant.h"

typedef struct dot {
    fc_ll *f;
    fc_ll_panels p;
    fusec_dtype t;
    const char *type, *lanes; /* of an element; of a register */
    unsigned bytes;
    fc_val value[2];
    uint8_t *need[2]; /* code of the left and of the right operand */
    unsigned n_axis, m_axis;
    const char *idx[FC_MAX_AXES];
    /* i64 */
    const char *rows, *columns; /* of a block, m rounded up to tiles */
    const char *m0, *m1, *n0, *n1, *k0, *kn;
    const char *levels; /* of the counter */
    const char *chunk, *mask;
    const char *last; /* i1 */
    /* ptr */
    const char *left, *right, *counter, *tile;
    const char *k;    /* of the row of the right operand that is copied, from 0 */
    const char *row;  /* i64: first element of the row of a panel, or of a tile */
    bool turned[2];   /* some load of the operand lies across its vectors */
    const char *from; /* i64: column of its first element */
} dot;

/* The last rows go in tiles of so many, if they are not too many for that: the shortest whose
 * chains keep the processor busy. */
enum { LOW = 4 };

/* ---- numbers --------------------------------------------------------------------------------- */

static const char *times(fc_ll *f, const char *a, unsigned b) {
    return fc_ll_bin(f, "mul", a, fc_ll_fmt(f, "%u", b));
}
static const char *plus(fc_ll *f, const char *a, const char *b) {
    return fc_ll_bin(f, "add", a, b);
}
static const char *minus(fc_ll *f, const char *a, const char *b) {
    return fc_ll_bin(f, "sub", a, b);
}
static const char *up(fc_ll *f, const char *a, unsigned b) { /* the number of parts of b */
    return fc_ll_bin(f, "udiv", plus(f, a, fc_ll_fmt(f, "%u", b - 1)), fc_ll_fmt(f, "%u", b));
}
static const char *parts(fc_ll *f, const char *a, const char *b) {
    return fc_ll_bin(f, "udiv", plus(f, a, minus(f, b, "1")), b);
}
static const char *at(const dot *d, const char *p, const char *element) {
    return fc_ll_ins(d->f, "getelementptr %s, ptr %s, i64 %s", d->type, p, element);
}

/* ---- the chain of fma ------------------------------------------------------------------------ */

/* c + a*b, in registers of a tile. */
static const char *step(const dot *d, const char *a, const char *b, const char *c) {
    fc_ll *f = d->f;
    const char *args[] = {a, b, c};
    if (fc_is_float(d->t)) return fc_ll_intrinsic(f, "@llvm.fma", 3, d->t, d->p.lanes, args);
    return fc_ll_ins(f, "add %s %s, %s", d->lanes, c,
                     fc_ll_ins(f, "mul %s %s, %s", d->lanes, a, b));
}

static const char *in_register(const dot *d, const char *p, unsigned element) {
    const char *at = fc_ll_ins(d->f, "getelementptr %s, ptr %s, i64 %u", d->type, p, element);
    return fc_ll_read(d->f, d->t, d->p.lanes, at, false, NULL);
}

/* Element `element` from p on in all lanes. */
static const char *in_all_lanes(const dot *d, const char *p, unsigned element) {
    fc_ll *f = d->f;
    const char *at = fc_ll_ins(f, "getelementptr %s, ptr %s, i64 %u", d->type, p, element);
    const char *one = fc_ll_ins(f, "insertelement %s poison, %s %s, i64 0", d->lanes, d->type,
                                fc_ll_read(f, d->t, 1, at, false, NULL));
    return fc_ll_ins(f, "shufflevector %s %s, %s poison, <%u x i32> zeroinitializer", d->lanes, one,
                     d->lanes, d->p.lanes);
}

/* for each k: registers of the right row, and each element of the left column */
static void chain(const dot *d, unsigned height, fc_ll_loop *l, const char *const *types,
                  const char **acc) {
    fc_ll *f = d->f;
    fc_ll_loop_begin(f, l, 2 * height + 1, types, acc);
    fc_ll_loop_test(f, l, fc_ll_ins(f, "icmp ult i64 %s, %%n", l->carry[0]));
    const char *a = at(d, "%a", l->carry[0]);
    const char *b = at(d, "%b", times(f, l->carry[0], d->p.width));
    const char *right[] = {in_register(d, b, 0), in_register(d, b, d->p.lanes)};
    acc[0] = fc_ll_bin(f, "add", l->carry[0], "1");
    for (unsigned i = 0, r = 0; r < height; r++) {
        const char *left = in_all_lanes(d, a, r * d->p.step);
        for (unsigned v = 0; v < 2; v++, i++) acc[1 + i] = step(d, left, right[v], l->carry[1 + i]);
    }
    fc_ll_loop_end(f, l, acc);
}

/* Adds the levels of `mask`, the lowest first, which cover the latest elements. */
static void add_levels(const dot *d, unsigned height, fc_ll_loop *l, const char *const *types,
                       const char **acc) {
    fc_ll *f = d->f;
    fc_ll_loop_begin(f, l, 2 * height + 1, types, acc);
    fc_ll_loop_test(f, l, fc_ll_ins(f, "icmp ne i64 %s, 0", l->carry[0]));
    const char *level = fc_ll_ins(f, "call i64 @llvm.cttz.i64(i64 %s, i1 true)", l->carry[0]);
    const char *held = at(d, "%levels", times(f, level, d->p.height * d->p.width));
    acc[0] = fc_ll_bin(f, "and", l->carry[0], minus(f, l->carry[0], "1"));
    for (unsigned i = 0; i < 2 * height; i++)
        acc[1 + i] = fc_ll_ins(f, "%s %s %s, %s", fc_is_float(d->t) ? "fadd" : "add", d->lanes,
                               in_register(d, held, i * d->p.lanes), l->carry[1 + i]);
    fc_ll_loop_end(f, l, acc);
}

static void tile_function(dot *d, unsigned height) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    const unsigned n = 2 * height + 1;
    const char **types = fc_ll_names(f, n), **acc = fc_ll_names(f, n);
    for (unsigned i = 0; i < n; i++) {
        types[i] = i ? d->lanes : "i64";
        acc[i] = i ? "zeroinitializer" : "0";
    }
    fc_ll_aside_begin(f);
    chain(d, height, &l, types, acc);
    memcpy(acc, l.carry, n * sizeof *acc);
    acc[0] = "%mask";
    add_levels(d, height, &l, types, acc);
    for (unsigned i = 0; i + 1 < n; i++) {
        const char *to = at(d, "%to", fc_ll_fmt(f, "%u", i * d->p.lanes));
        fc_ll_write(f, d->t, d->p.lanes, to, false, NULL, l.carry[1 + i]);
    }
    fc_ll_line(f, "ret void");
    fc_ll_aside_end(f, fc_ll_fmt(f,
                                 "void @%s_tile%u(i64 %%n, ptr %%a, ptr %%b, i64 %%mask, ptr "
                                 "%%levels, ptr %%to)",
                                 f->name, height));
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* Whether a load of an operand is scattered along its vectors and lies along the other axis. */
static bool lies_across(const dot *d, uint32_t a, bool left) {
    const fc_ll *f = d->f;
    const unsigned k = f->cls->np, lanes = left ? k : d->n_axis, rows = left ? d->m_axis : k;
    if (f->k->accesses.at[a].buffer == FC_NO_BUFFER || fc_is_stored(f->k, a)) return false;
    for (fc_val v = 0; v < f->code.ins.len; v++) {
        const fc_instr *i = &f->code.ins.at[v];
        if (d->need[!left][v] && i->op == FC_OP_LOAD && i->imm == a && i->level == FC_POINT)
            return fc_class_move(f->cls, a, lanes) == FC_MOVE_ANY &&
                   fc_class_move(f->cls, a, rows) == FC_MOVE_ONE;
    }
    return false;
}

/* Rows that low tiles do. */
static unsigned most_low(const dot *d) {
    return (d->p.height - 1) / LOW * LOW;
}

/* Rows of a panel of so many rows: whole tiles, and what is left in low ones. */
static const char *padded(const dot *d, const char *rows) {
    fc_ll *f = d->f;
    const char *height = fc_ll_fmt(f, "%u", d->p.height);
    const char *rest = fc_ll_bin(f, "urem", rows, height), *whole = minus(f, rows, rest);
    const char *low = times(f, up(f, rest, LOW), LOW);
    const char *is_low = fc_ll_ins(f, "icmp ule i64 %s, %u", rest, most_low(d));
    return plus(f, whole, fc_ll_ins(f, "select i1 %s, i64 %s, i64 %s", is_low, low, height));
}

static void copy_right(fc_ll *f, void *user) {
    const dot *d = user;
    fc_ll_forget(f);
    fc_ll_emit_rows(f, d->need[1]);
    fc_ll_emit_points(f, d->need[1]);
    const char *v = fc_ll_value(f, d->value[1], f->V);
    const char *x = minus(f, f->x, d->n0), *width = fc_ll_fmt(f, "%u", d->p.width);
    const char *panel = fc_ll_bin(f, "udiv", x, width);
    const char *to = plus(f, times(f, panel, d->p.width * FC_DOT_CHUNK), d->row);
    to = plus(f, to, minus(f, x, fc_ll_bin(f, "mul", panel, width)));
    fc_ll_spill(f, d->t, f->V, d->right, to, v);
}

/* Where the last panel is half empty, zeros: what lies there may be slow to compute with. */
static void fill_last_panel(dot *d) {
    fc_ll *f = d->f;
    fc_ll_if half;
    fc_ll_loop l;
    if (d->p.width == f->V) return;
    const char *n = up(f, minus(f, d->n1, d->n0), f->V);
    const char *odd = fc_ll_ins(f, "trunc i64 %s to i1", n);
    fc_ll_if_begin(f, &half, odd);
    const char *panel = fc_ll_bin(f, "lshr", n, "1");
    const char *first = times(f, panel, d->p.width * FC_DOT_CHUNK);
    const char *k = fc_ll_for(f, &l, "0", d->kn);
    const char *to = plus(f, plus(f, first, times(f, k, d->p.width)), fc_ll_fmt(f, "%u", f->V));
    fc_ll_spill(f, d->t, f->V, d->right, to, fc_ll_const(f, d->t, 0, f->V));
    fc_ll_for_end(f, &l, "1");
    fc_ll_if_else(f, &half);
    fc_ll_if_end(f, &half);
}

/* The row of the right operand at element `k` of the chunk, columns [from, to). */
static void right_row(dot *d, const char *k, const char *from, const char *to) {
    fc_ll *f = d->f;
    f->element = plus(f, d->k0, k);
    d->row = times(f, k, d->p.width);
    fc_ll_vectors(f, from, to, 1, copy_right, d);
    f->element = NULL;
}

/* Where an operand lies across its vectors, V by V elements of it are transposed in registers
 * first, and its code reads them from the stack (llvm_tiles.c). */
static void begin_tiles(const dot *d, bool left) {
    fc_ll *f = d->f;
    f->tile = fc_ll_names(f, f->cls->naccess);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (lies_across(d, a, left))
            f->tile[a] = fc_ll_head(f, "alloca [%u x %s], align 64", f->V * f->V,
                                    fc_ll_stored(f, f->k->accesses.at[a].dtype, 1));
}

/* The vectors at `x`, of which `lanes` are there, of `n` rows from `first` on, which an element of
 * the base is of already. */
static void fill_tiles(dot *d, const char *x, const char *lanes, const char *first, const char *n,
                       bool left) {
    fc_ll *f = d->f;
    const unsigned axis = left ? d->m_axis : f->cls->np;
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        if (!f->tile[a]) continue;
        const char *at = fc_ll_bin(f, "mul", x, fc_ll_stride(f, a, f->lane_axis));
        at = plus(f, at, fc_ll_bin(f, "mul", first, fc_ll_stride(f, a, axis)));
        fc_ll_move_tile(f, a, false, plus(f, f->base[a], at), minus(f, lanes, "1"), n, f->tile[a],
                        f->V, "0");
    }
}

static void copy_left(fc_ll *f, void *user) {
    const dot *d = user;
    fc_ll_forget_points(f);
    fc_ll_emit_points(f, d->need[0]);
    const char *v = fc_ll_value(f, d->value[0], f->V);
    fc_ll_spill(f, d->t, f->V, d->left, plus(f, d->row, minus(f, f->x, d->k0)), v);
}

/* Row `m` of the left operand to row `i` of the panel, elements [from, to). */
static void left_row(dot *d, const char *m, const char *i, const char *from, const char *to) {
    fc_ll *f = d->f;
    d->idx[d->m_axis] = m;
    fc_ll_forget(f);
    fc_ll_set_base(f, d->idx, d->n_axis);
    fc_ll_emit_rows(f, d->need[0]);
    d->row = times(f, i, d->p.step);
    fc_ll_vectors(f, from, to, 1, copy_left, d);
}

/* Where an operand lies across its vectors: V of its rows at a time. */
static void by_tiles(dot *d, bool left) {
    fc_ll *f = d->f;
    fc_ll_loop rows, columns, within;
    const char *V = fc_ll_fmt(f, "%u", f->V), *last = minus(f, d->m1, "1");
    const char *count = left ? d->rows : d->kn, *x0 = left ? d->k0 : d->n0;
    const char *x1 = left ? plus(f, d->k0, d->kn) : d->n1;
    begin_tiles(d, left);
    const char *x = fc_ll_for(f, &columns, x0, x1), *to = fc_ll_min(f, plus(f, x, V), x1);
    const char *i = fc_ll_for(f, &rows, "0", count);
    const char *end = fc_ll_min(f, plus(f, i, V), count);
    const char *first = left ? fc_ll_min(f, plus(f, d->m0, i), last) : plus(f, d->k0, i);
    const char *n = left ? fc_ll_min(f, minus(f, d->m1, first), V) : minus(f, end, i);
    d->idx[d->m_axis] = "0";
    fc_ll_set_base(f, d->idx, d->n_axis);
    fill_tiles(d, x, minus(f, x1, x), first, n, left);
    const char *row = fc_ll_for(f, &within, i, end);
    const char *m = left ? fc_ll_min(f, plus(f, d->m0, row), last) : plus(f, d->k0, row);
    f->tile_row = minus(f, times(f, minus(f, m, first), f->V), x);
    if (left)
        left_row(d, m, row, x, to);
    else
        right_row(d, row, x, to);
    fc_ll_for_end(f, &within, "1");
    fc_ll_for_end(f, &rows, V);
    fc_ll_for_end(f, &columns, V);
    f->tile = NULL;
}

static void make_right(dot *d) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    fc_ll_look_along(f, d->n_axis, false);
    d->idx[d->m_axis] = "0";
    fc_ll_set_base(f, d->idx, d->n_axis);
    if (d->turned[1]) {
        by_tiles(d, false);
    } else {
        right_row(d, fc_ll_for(f, &l, "0", d->kn), d->n0, d->n1);
        fc_ll_for_end(f, &l, "1");
    }
    fill_last_panel(d);
}

/* Rows past the end are the last one again. */
static void make_left(dot *d) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    fc_ll_look_along(f, f->cls->np, true);
    if (d->turned[0]) {
        by_tiles(d, true);
        return;
    }
    const char *i = fc_ll_for(f, &l, "0", d->rows);
    const char *m = fc_ll_min(f, plus(f, d->m0, i), minus(f, d->m1, "1"));
    left_row(d, m, i, d->k0, plus(f, d->k0, d->kn));
    fc_ll_for_end(f, &l, "1");
}

/* ---- results --------------------------------------------------------------------------------- */

static void store_vector(fc_ll *f, void *user) {
    const dot *d = user;
    fc_ll_forget(f);
    const char *v = fc_ll_fill(f, d->t, f->V, d->tile, plus(f, d->row, minus(f, f->x, d->from)));
    f->red[0].vector = fc_ll_finish(f, 0, f->V, &v);
    fc_ll_emit_rows(f, f->row_needed);
    fc_ll_run_stores(f, FC_ROW, f->V);
    f->red[0].vector = NULL;
}

/* The tile at row `i` of the block, column d->from. */
static void store_tile(dot *d, const char *i) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    fc_ll_look_along(f, d->n_axis, false);
    const char *first = plus(f, d->m0, i), *high = fc_ll_fmt(f, "%u", d->p.height);
    const char *rows = fc_ll_min(f, minus(f, d->m1, first), high);
    const char *r = fc_ll_for(f, &l, "0", rows);
    d->idx[d->m_axis] = plus(f, first, r);
    fc_ll_set_base(f, d->idx, d->n_axis);
    d->row = times(f, r, d->p.width);
    const char *end = fc_ll_min(f, plus(f, d->from, fc_ll_fmt(f, "%u", d->p.width)), d->n1);
    fc_ll_vectors(f, d->from, FC_PLANT(dot_edge, minus(f, end, "1"), end), 1, store_vector, d);
    fc_ll_for_end(f, &l, "1");
}

static void call_tile(const dot *d, unsigned height, const char *a, const char *b,
                      const char *levels, const char *to) {
    fc_ll_line(d->f, "call void @%s_tile%u(i64 %s, ptr %s, ptr %s, i64 %s, ptr %s, ptr %s)",
               d->f->name, height, d->kn, a, b, d->mask, levels, to);
}

/* A whole tile, or low ones for the rows that are left. */
static void any_tile(const dot *d, const char *left, const char *a, const char *b,
                     const char *levels, const char *to) {
    fc_ll *f = d->f;
    fc_ll_if low;
    fc_ll_loop l;
    fc_ll_if_begin(f, &low, fc_ll_ins(f, "icmp ule i64 %s, %u", left, most_low(d)));
    const char *r = fc_ll_for(f, &l, "0", left), *down = times(f, r, d->p.width);
    call_tile(d, LOW, at(d, a, times(f, r, d->p.step)), b, at(d, levels, down), at(d, to, down));
    fc_ll_for_end(f, &l, fc_ll_fmt(f, "%u", LOW));
    fc_ll_if_else(f, &low);
    call_tile(d, d->p.height, a, b, levels, to);
    fc_ll_if_end(f, &low);
}

static void one_tile(dot *d, const char *panel, const char *i) {
    fc_ll *f = d->f;
    fc_ll_if done;
    const unsigned tile = d->p.height * d->p.width;
    const char *a = at(d, d->left, times(f, i, d->p.step));
    const char *b = at(d, d->right, times(f, panel, d->p.width * FC_DOT_CHUNK));
    const char *down = fc_ll_bin(f, "udiv", i, fc_ll_fmt(f, "%u", d->p.height));
    const char *number = plus(
        f, fc_ll_bin(f, "mul", panel, up(f, fc_ll_bin(f, "sub", d->m1, d->m0), d->p.height)), down);
    const char *levels = at(d, d->counter, times(f, fc_ll_bin(f, "mul", number, d->levels), tile));
    const char *next = fc_ll_ins(f, "call i64 @llvm.cttz.i64(i64 %s, i1 false)",
                                 fc_ll_bin(f, "xor", d->chunk, "-1"));
    const char *to = fc_ll_ins(f, "select i1 %s, ptr %s, ptr %s", d->last, d->tile,
                               at(d, levels, times(f, next, tile)));
    any_tile(d, minus(f, minus(f, d->m1, d->m0), i), a, b, levels, to);
    d->from = plus(f, d->n0, times(f, panel, d->p.width));
    fc_ll_if_begin(f, &done, d->last);
    store_tile(d, i);
    fc_ll_if_else(f, &done);
    fc_ll_if_end(f, &done);
}

static void tiles(dot *d) {
    fc_ll *f = d->f;
    fc_ll_loop across, down;
    const char *n = up(f, minus(f, d->n1, d->n0), d->p.width);
    const char *panel = fc_ll_for(f, &across, "0", n);
    const char *i = fc_ll_for(f, &down, "0", minus(f, d->m1, d->m0));
    one_tile(d, panel, i);
    fc_ll_for_end(f, &down, fc_ll_fmt(f, "%u", d->p.height));
    fc_ll_for_end(f, &across, "1");
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The block of a unit: rows fastest, then columns, then the other axes. */
static void place(dot *d, const char *unit) {
    fc_ll *f = d->f;
    const char *m = fc_ll_extent(f, d->m_axis), *n = fc_ll_extent(f, d->n_axis);
    const char *down = parts(f, m, d->rows), *across = parts(f, n, d->columns);
    const char *q = fc_ll_bin(f, "udiv", unit, down),
               *mb = minus(f, unit, fc_ll_bin(f, "mul", q, down));
    const char *o = fc_ll_bin(f, "udiv", q, across),
               *nb = minus(f, q, fc_ll_bin(f, "mul", o, across));
    d->m0 = fc_ll_bin(f, "mul", mb, d->rows);
    d->m1 = fc_ll_min(f, plus(f, d->m0, d->rows), m);
    d->n0 = fc_ll_bin(f, "mul", nb, d->columns);
    d->n1 = fc_ll_min(f, plus(f, d->n0, d->columns), n);
    for (unsigned axis = d->n_axis; axis-- > 0;) {
        if (axis == d->m_axis) continue;
        const char *size = fc_ll_extent(f, axis), *rest = fc_ll_bin(f, "udiv", o, size);
        d->idx[axis] = FC_PLANT(dot_batch, "0", minus(f, o, fc_ll_bin(f, "mul", rest, size)));
        o = rest;
    }
}

static void block(dot *d) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    const char *count = fc_ll_extra(f, FC_PB_COUNT), *size = fc_ll_fmt(f, "%d", FC_DOT_CHUNK);
    const char *whole = d->rows;
    d->k0 = fc_ll_for(f, &l, "0", count);
    d->kn = fc_ll_min(f, minus(f, count, d->k0), size);
    if (FC_PLANTED(dot_tail)) d->kn = minus(f, d->kn, "1");
    d->chunk = fc_ll_bin(f, "udiv", d->k0, size);
    d->last = fc_ll_ins(f, "icmp uge i64 %s, %s", plus(f, d->k0, size), count);
    const char *ones =
        fc_ll_bin(f, "and", d->chunk, fc_ll_bin(f, "xor", plus(f, d->chunk, "1"), "-1"));
    d->mask = fc_ll_ins(f, "select i1 %s, i64 %s, i64 %s", d->last, d->chunk, ones);
    make_right(d);
    d->rows = padded(d, minus(f, d->m1, d->m0));
    make_left(d);
    d->rows = whole;
    tiles(d);
    fc_ll_for_end(f, &l, size);
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
    const char *next = plus(f, l.carry[0], "1");
    next = fc_ll_bin(f, "urem", next, slots);
    fc_ll_loop_end(f, &l, &next);
    return l.carry[0];
}

static void place_panels(dot *d, const char *slot) {
    fc_ll *f = d->f;
    const char *rows = times(f, up(f, d->rows, d->p.height), d->p.height);
    const char *right = times(f, d->columns, FC_DOT_CHUNK), *left = times(f, rows, d->p.step);
    const char *levels = fc_ll_bin(f, "mul", fc_ll_bin(f, "mul", rows, d->columns), d->levels);
    const char *all = plus(f, plus(f, right, left), levels);
    d->right = at(d, fc_ll_extra(f, FC_PB_WORKSPACE), fc_ll_bin(f, "mul", slot, all));
    d->left = at(d, d->right, right);
    d->counter = at(d, d->left, left);
}

void fc_ll_dot(fc_ll *f) {
    const fc_reduction *r = &f->k->reductions.at[0];
    dot d = {.f = f, .t = (fusec_dtype)r->dtype, .n_axis = f->cls->np - 1u};
    fc_ll_loop l;
    d.p = fc_ll_panels_of(f->m, d.t);
    d.m_axis = f->cls->llvm.down_axis;
    d.type = fc_ll_type(f, d.t, 1);
    d.lanes = fc_ll_type(f, d.t, d.p.lanes);
    d.bytes = fc_dtypes[d.t].bytes;
    fc_red_values(r, NULL, d.value);
    for (int i = 0; i < 2; i++) {
        d.need[i] = fc_ll_alloc(f, f->code.ins.len);
        fc_kernel_slice(&f->code, &f->map[d.value[i]], 1, d.need[i]);
        for (uint32_t a = 0; a < f->cls->naccess; a++) d.turned[i] |= lies_across(&d, a, i == 0);
    }
    fc_ll_declare(f, "i64 @llvm.cttz.i64(i64, i1)");
    fc_ll_declare(f, "i64 @llvm.ctlz.i64(i64, i1)");
    fc_ll_begin(f);
    tile_function(&d, LOW);
    tile_function(&d, d.p.height);
    const char *span = fc_ll_extra(f, FC_PB_SPAN), *count = fc_ll_extra(f, FC_PB_COUNT);
    d.rows = fc_ll_bin(f, "and", span, "4294967295");
    d.columns = fc_ll_extra(f, FC_PB_SPANS);
    const char *chunks = up(f, count, FC_DOT_CHUNK);
    d.levels = minus(
        f, "64", fc_ll_ins(f, "call i64 @llvm.ctlz.i64(i64 %s, i1 false)", minus(f, chunks, "1")));
    d.tile = fc_ll_array(f, d.t, d.p.height * d.p.width);
    const char *slot = take_slot(f, fc_ll_bin(f, "lshr", span, "32"));
    place_panels(&d, slot);
    place(&d, fc_ll_for(f, &l, "%begin", "%end"));
    block(&d);
    fc_ll_for_end(f, &l, "1");
    fc_ll_line(f, "store atomic i32 0, ptr %s release, align 4", slot_of(f, slot));
    fc_ll_end(f, "");
}
