/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_dot.c - contractions in tiles: what is done at the leaves of their loop form (llvm_loops.c).
 *
 * In: a kernel of FC_SCHED_DOT whose innermost kept axis (n) the left operand does not have and one
 * of whose other axes (m, class.llvm.down_axis) the right one does not have, with one reduced axis.
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
 * rows take what is left of them, the last row as often as needed. Columns are masked.
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
#include "codegen/llvm/llvm_text.h"
#include "ir/plant.h"

typedef struct fc_ll_dot dot;
struct fc_ll_dot {
    fc_ll *f;
    fc_ll_panels p;
    fusec_dtype t;
    bool direct, bare, pairs;
    const char *type, *lanes; /* of an element; of a register */
    unsigned vectors;         /* of a row of a tile */
    fc_val value[2];
    uint8_t *need[2];    /* code of the left and of the right operand */
    uint32_t operand[2]; /* direct: their accesses */
    unsigned n_axis, m_axis;
    const char *idx[FC_MAX_AXES];
    const fc_ll_box *b;
    const char *levels, *slot, *rows; /* i64: of the counter; taken; of the left panel */
    /* ptr */
    const char *left, *right, *counter, *tile;
    const char *row, *kn; /* i64: first element of the row of a panel that is filled; elements */
    bool turned[2];       /* some load of the operand lies across its vectors */
};

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
static const char *at(const dot *d, const char *p, const char *element) {
    return fc_ll_ins(d->f, "getelementptr %s, ptr %s, i64 %s", d->type, p, element);
}
/* The same of a panel. */
static const char *in_panel(const dot *d, const char *p, const char *element) {
    return fc_ll_ins(d->f, "getelementptr %s, ptr %s, i64 %s", d->pairs ? "i16" : d->type, p,
                     element);
}

/* ---- tiles of registers: internal functions ---------------------------------------------------
 */

/* c + a*b of two elements of 16 bits in each lane, and c plus both. */
static const char *step_of_pairs(const dot *d, const char *a, const char *b, const char *c) {
    fc_ll *f = d->f;
    const char *half = fc_ll_type(f, FUSEC_I16, 2 * d->p.lanes);
    const char *name =
        d->p.lanes == 16 ? "@llvm.x86.avx512.pmaddw.d.512" : "@llvm.x86.avx2.pmadd.wd";
    fc_ll_declare(f, fc_ll_fmt(f, "%s %s(%s, %s)", d->lanes, name, half, half));
    const char *x = fc_ll_ins(f, "bitcast %s %s to %s", d->lanes, a, half);
    const char *y = fc_ll_ins(f, "bitcast %s %s to %s", d->lanes, b, half);
    return fc_ll_ins(f, "add %s %s, %s", d->lanes,
                     fc_ll_ins(f, "call %s %s(%s %s, %s %s)", d->lanes, name, half, x, half, y), c);
}

/* c + a*b, in registers of a tile. */
static const char *step(const dot *d, const char *a, const char *b, const char *c) {
    fc_ll *f = d->f;
    const char *args[] = {a, b, c};
    if (d->pairs) return step_of_pairs(d, a, b, c);
    if (fc_is_float(d->t)) return fc_ll_intrinsic(f, "@llvm.fma", 3, d->t, d->p.lanes, args);
    return fc_ll_ins(f, "add %s %s, %s", d->lanes, c,
                     fc_ll_ins(f, "mul %s %s, %s", d->lanes, a, b));
}

static const char *sum(const dot *d, const char *a, const char *b) {
    return fc_ll_ins(d->f, "%s %s %s, %s", fc_is_float(d->t) ? "fadd" : "add", d->lanes, a, b);
}

static const char *in_register(const dot *d, const char *p, const char *element, const char *mask) {
    return fc_ll_read(d->f, d->t, d->p.lanes, at(d, p, element), false, mask);
}

/* A register of two rows of the right panel, element by element of both. */
static const char *joined_rows(const dot *d, const char *p, unsigned element) {
    fc_ll *f = d->f;
    const char *half = fc_ll_type(f, FUSEC_I16, d->p.lanes), *row[2];
    for (unsigned i = 0; i < 2; i++) {
        const char *from = in_panel(d, p, fc_ll_fmt(f, "%u", element + i * d->p.width));
        row[i] = fc_ll_ins(f, "load %s, ptr %s, align 2", half, from);
        row[i] = fc_ll_ins(f, "zext %s %s to %s", half, row[i], d->lanes);
    }
    const char *by = "i32 16";
    for (unsigned i = 1; i < d->p.lanes; i++) by = fc_ll_fmt(f, "%s, i32 16", by);
    return fc_ll_ins(f, "or %s %s, %s", d->lanes, row[0],
                     fc_ll_ins(f, "shl %s %s, <%s>", d->lanes, row[1], by));
}

static const char *in_all_lanes(const dot *d, const char *p) {
    fc_ll *f = d->f;
    const char *one = fc_ll_ins(f, "insertelement %s poison, %s %s, i64 0", d->lanes, d->type,
                                fc_ll_read(f, d->t, 1, p, false, NULL));
    return fc_ll_ins(f, "shufflevector %s %s, %s poison, <%u x i32> zeroinitializer", d->lanes, one,
                     d->lanes, d->p.lanes);
}

/* Whether tiles of fewer columns than a row of one has are masked. Where an operand is read in
 * place, of several registers the last ones end with the row, some columns a second time. */
static bool is_masked(const dot *d) {
    return d->direct ? d->vectors == 1 : d->bare;
}

/* The columns that are there, of each register; NULL: all. */
static void masks(const dot *d, const char **mask) {
    fc_ll *f = d->f;
    const unsigned n = d->p.lanes;
    for (unsigned v = 0; v < d->vectors; v++) {
        const char *iota = fc_ll_lanes(f, 32, n, v * n, 1, 2 * n);
        const char *one = fc_ll_ins(f, "insertelement <%u x i32> poison, i32 %%there, i32 0", n);
        const char *all = fc_ll_ins(f,
                                    "shufflevector <%u x i32> %s, <%u x i32> poison, <%u x i32> "
                                    "zeroinitializer",
                                    n, one, n, n);
        mask[v] = is_masked(d) ? fc_ll_ins(f, "icmp ult <%u x i32> %s, %s", n, iota, all) : NULL;
    }
}

/* Row `r` of `%rows`, the last one if it is none. */
static const char *clamped(const dot *d, unsigned r) {
    fc_ll *f = d->f;
    return r ? fc_ll_min(f, fc_ll_fmt(f, "%u", r), "%lastrow") : "0";
}

/* direct: pointers that go along k, of every third row where all rows are there: the others have
 * addresses with the distance of rows. */
static unsigned pointers(const dot *d, unsigned height) {
    return !d->direct ? 0 : height == FC_LL_LOW ? height : (height + 2) / 3;
}

static const char *left_at(const dot *d, unsigned height, unsigned r, const char *k,
                           const char *const *pointer) {
    fc_ll *f = d->f;
    if (!d->direct) return in_panel(d, in_panel(d, "%a", k), fc_ll_fmt(f, "%u", r * d->p.step));
    if (height == FC_LL_LOW) return pointer[r];
    return r % 3 ? at(d, pointer[r / 3], r % 3 == 1 ? "%down" : "%down2") : pointer[r / 3];
}

static const char *first_of(const dot *d, unsigned height, unsigned i) {
    if (height != FC_LL_LOW) return times(d->f, "%down", 3 * i);
    return fc_ll_bin(d->f, "mul", "%down", clamped(d, i));
}

/* Where operands come from beyond the cache, those of matrices to come are asked for: a line of the
 * left one and a row of the right one with each k. */
static unsigned asks_ahead(const dot *d, unsigned height) {
    return d->direct && d->f->cls->llvm.ahead && height == d->p.height;
}

/* (Frozen pointers are not known to be some distance from each other: seen as one that goes from
 * row to row, each address would wait for the one before.)
 * for each k: registers of the right row, and each element of the left column */
static void chain(const dot *d, unsigned height, const char *const *mask, const char **acc) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    const unsigned m = pointers(d, height), asks = asks_ahead(d, height);
    const unsigned first = 1 + d->direct + m + asks, n = first + d->vectors * height;
    const char **types = fc_ll_names(f, n), **init = fc_ll_names(f, n), *right[FC_LL_ROW_VECTORS];
    for (unsigned i = 0; i < n; i++) {
        types[i] = i < 1 ? "i64" : i < first ? "ptr" : d->lanes;
        init[i] = i ? "zeroinitializer" : "0";
    }
    if (d->direct) init[1] = "%b";
    if (asks) init[first - 1] = fc_ll_ins(f, "getelementptr i8, ptr %%a, i64 %%ahead_a");
    for (unsigned i = 0; i < m; i++)
        init[2 + i] = fc_ll_ins(f, "freeze ptr %s", at(d, "%a", first_of(d, height, i)));
    fc_ll_loop_begin(f, &l, n, types, init);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %%n", l.carry[0]));
    const char *b = d->direct ? l.carry[1] : in_panel(d, "%b", times(f, l.carry[0], d->p.width));
    const char **next = init;
    for (unsigned v = 0; d->pairs && v < d->vectors; v++)
        right[v] = joined_rows(d, b, v * d->p.lanes);
    for (unsigned v = 0; !d->pairs && v < d->vectors; v++)
        right[v] = in_register(
            d, b, d->direct && v ? fc_ll_fmt(f, "%%load%u", v) : fc_ll_fmt(f, "%u", v * d->p.lanes),
            d->direct ? mask[v] : NULL);
    next[0] = fc_ll_bin(f, "add", l.carry[0], d->pairs ? "2" : "1");
    if (d->direct) next[1] = at(d, b, "%next");
    for (unsigned i = 0; i < m; i++) next[2 + i] = at(d, l.carry[2 + i], "%along");
    if (asks) {
        fc_ll_ask(f, fc_ll_ins(f, "getelementptr i8, ptr %s, i64 %%ahead_b", b),
                  d->p.width * fc_dtypes[d->t].bytes);
        fc_ll_ask(f, l.carry[first - 1], 64);
        next[first - 1] = fc_ll_ins(f, "getelementptr i8, ptr %s, i64 64", l.carry[first - 1]);
    }
    for (unsigned i = first, r = 0; r < height; r++) {
        const char *left = in_all_lanes(d, left_at(d, height, r, l.carry[0], l.carry + 2));
        for (unsigned v = 0; v < d->vectors; v++, i++)
            next[i] = step(d, left, right[v], l.carry[i]);
    }
    fc_ll_loop_end(f, &l, next);
    memcpy(acc, l.carry + first, d->vectors * height * sizeof *acc);
}

/* Adds the levels of `mask`, the lowest first, which cover the latest elements. */
static void add_levels(const dot *d, unsigned height, const char **acc) {
    fc_ll *f = d->f;
    fc_ll_loop l;
    const unsigned n = d->vectors * height + 1;
    const char **types = fc_ll_names(f, n), **next = fc_ll_names(f, n);
    for (unsigned i = 0; i < n; i++) {
        types[i] = i ? d->lanes : "i64";
        next[i] = i ? acc[i - 1] : "%mask";
    }
    fc_ll_loop_begin(f, &l, n, types, next);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ne i64 %s, 0", l.carry[0]));
    const char *level = fc_ll_ins(f, "call i64 @llvm.cttz.i64(i64 %s, i1 true)", l.carry[0]);
    const char *held = at(d, "%levels", times(f, level, d->p.height * d->p.width));
    next[0] = fc_ll_bin(f, "and", l.carry[0], minus(f, l.carry[0], "1"));
    for (unsigned i = 1; i < n; i++)
        next[i] = sum(d, in_register(d, held, fc_ll_fmt(f, "%u", (i - 1) * d->p.lanes), NULL),
                      l.carry[i]);
    fc_ll_loop_end(f, &l, next);
    memcpy(acc, l.carry + 1, (n - 1) * sizeof *acc);
}

/* From the last row to the first: those that are not there write where the last one does, before
 * it. The sum of a part may be -0, what is finished never: + 0 changes no sum of parts. */
static void write_tile(const dot *d, unsigned height, const char *const *mask,
                       const char *const *acc) {
    fc_ll *f = d->f;
    for (unsigned r = height; r-- > 0;) {
        const char *row = d->bare || d->direct ? fc_ll_bin(f, "mul", clamped(d, r), "%step")
                                               : fc_ll_fmt(f, "%u", r * d->p.width);
        const char *to = at(d, "%to", row);
        for (unsigned v = 0; v < d->vectors; v++) {
            const char *p = v ? at(d, to, fc_ll_fmt(f, "%%store%u", v)) : to;
            const char *value = acc[r * d->vectors + v];
            if (d->bare && fc_is_float(d->t)) value = sum(d, "zeroinitializer", value);
            fc_ll_write(f, d->t, d->p.lanes, p, false, mask[v], value);
        }
    }
}

/* What such a function is given, besides `n` elements of k. Columns of the registers of a row:
 * those of the right operand and of what is written, as distances from the first. */
#define TILE_ARGS(X)                                                                               \
    X(ptr, a)                                                                                      \
    X(ptr, b)                                                                                      \
    X(i64, down)                                                                                   \
    X(i64, along)                                                                                  \
    X(i64, next) /* from row to row of a, along k */                                               \
        X(i64, load1) X(i64, load2) X(i64, load3) X(i64, mask)                                     \
            X(ptr, levels)                                   /* full levels, the counter */        \
        X(ptr, to) X(i64, step) X(i64, rows) X(i64, columns) /* what is there of the tile */       \
        X(i64, store1) X(i64, store2) X(i64, store3) X(i64, ahead_a)                               \
            X(i64, ahead_b) /* bytes to what is asked for */

typedef struct call {
    const char *n;
#define X(type, name) const char *name;
    TILE_ARGS(X)
#undef X
} call;

static void tile_function(const dot *d, unsigned height) {
    fc_ll *f = d->f;
    const char **acc = fc_ll_names(f, d->vectors * height), *mask[FC_LL_ROW_VECTORS];
    fc_ll_aside_begin(f);
    fc_ll_line(f, "%%lastrow = sub i64 %%rows, 1");
    fc_ll_line(f, "%%there = trunc i64 %%columns to i32");
    fc_ll_line(f, "%%down2 = add i64 %%down, %%down");
    masks(d, mask);
    chain(d, height, mask, acc);
    add_levels(d, height, acc);
    write_tile(d, height, mask, acc);
    fc_ll_line(f, "ret void");
#define X(type, name) ", " #type " %%" #name
    fc_ll_aside_end(f, fc_ll_fmt(f, "void @%s_tile%u(i64 %%n" TILE_ARGS(X) ")", f->name, height));
#undef X
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

/* Rows that low tiles do at most. */
static unsigned most_low(const dot *d) {
    return d->direct ? d->p.height - 1 : (d->p.height - 1) / FC_LL_LOW * FC_LL_LOW;
}

/* Rows of a panel of so many rows: whole tiles, and what is left in low ones. */
static const char *padded(const dot *d, const char *rows) {
    fc_ll *f = d->f;
    const char *height = fc_ll_fmt(f, "%u", d->p.height);
    const char *rest = fc_ll_bin(f, "urem", rows, height), *whole = minus(f, rows, rest);
    const char *low = times(f, up(f, rest, FC_LL_LOW), FC_LL_LOW);
    const char *is_low = fc_ll_ins(f, "icmp ule i64 %s, %u", rest, most_low(d));
    return plus(f, whole, fc_ll_ins(f, "select i1 %s, i64 %s, i64 %s", is_low, low, height));
}

/* A vector of an operand to its panel. */
static void to_panel(const dot *d, const char *panel, const char *element, const char *v,
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
    fc_ll_line(f, "store %s %s, ptr %s, align 2", half, v, in_panel(d, panel, element));
}

static void copy_right(fc_ll *f, void *user) {
    const dot *d = user;
    fc_ll_forget(f);
    fc_ll_emit_rows(f, d->need[1]);
    fc_ll_emit_points(f, d->need[1]);
    const char *v = fc_ll_value(f, d->value[1], f->V);
    const char *x = minus(f, f->x, d->b->columns.lo), *width = fc_ll_fmt(f, "%u", d->p.width);
    const char *panel = fc_ll_bin(f, "udiv", x, width);
    const char *to = plus(f, times(f, panel, d->p.width * FC_DOT_CHUNK), d->row);
    to = plus(f, to, minus(f, x, fc_ll_bin(f, "mul", panel, width)));
    to_panel(d, d->right, to, v, d->value[1]);
}

/* Zeros for the row that makes the number of them even. */
static void fill_last_row(dot *d) {
    fc_ll *f = d->f;
    fc_ll_if odd;
    fc_ll_loop l;
    fc_ll_if_begin(f, &odd, fc_ll_ins(f, "trunc i64 %s to i1", d->kn));
    const char *n = up(f, minus(f, d->b->columns.hi, d->b->columns.lo), d->p.width);
    const char *half = fc_ll_type(f, FUSEC_I16, d->p.width);
    const char *panel = fc_ll_for(f, &l, "0", n);
    const char *to =
        plus(f, times(f, panel, d->p.width * FC_DOT_CHUNK), times(f, d->kn, d->p.width));
    fc_ll_line(f, "store %s zeroinitializer, ptr %s, align 2", half, in_panel(d, d->right, to));
    fc_ll_for_end(f, &l, "1");
    fc_ll_if_else(f, &odd);
    fc_ll_if_end(f, &odd);
}

/* Where the last panel is half empty, zeros: what lies there may be slow to compute with. */
static void fill_last_panel(dot *d) {
    fc_ll *f = d->f;
    fc_ll_if half;
    fc_ll_loop l;
    if (d->p.width == f->V || !fc_is_float(d->t)) return; /* of integers it does not matter */
    const char *n = up(f, minus(f, d->b->columns.hi, d->b->columns.lo), f->V);
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
    f->element = plus(f, d->b->k.lo, k);
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
    to_panel(d, d->left, plus(f, d->row, minus(f, f->x, d->b->k.lo)), v, d->value[0]);
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
    const char *V = fc_ll_fmt(f, "%u", f->V), *last = minus(f, d->b->rows.hi, "1");
    const char *count = left ? d->rows : d->kn, *x0 = left ? d->b->k.lo : d->b->columns.lo;
    const char *x1 = left ? plus(f, d->b->k.lo, d->kn) : d->b->columns.hi;
    begin_tiles(d, left);
    const char *x = fc_ll_for(f, &columns, x0, x1), *to = fc_ll_min(f, plus(f, x, V), x1);
    const char *i = fc_ll_for(f, &rows, "0", count);
    const char *end = fc_ll_min(f, plus(f, i, V), count);
    const char *first =
        left ? fc_ll_min(f, plus(f, d->b->rows.lo, i), last) : plus(f, d->b->k.lo, i);
    const char *n = left ? fc_ll_min(f, minus(f, d->b->rows.hi, first), V) : minus(f, end, i);
    d->idx[d->m_axis] = "0";
    fc_ll_set_base(f, d->idx, d->n_axis);
    fill_tiles(d, x, minus(f, x1, x), first, n, left);
    const char *row = fc_ll_for(f, &within, i, end);
    const char *m =
        left ? fc_ll_min(f, plus(f, d->b->rows.lo, row), last) : plus(f, d->b->k.lo, row);
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
        f->ahead = FC_LOOP_NEXT_ROWS;
        right_row(d, fc_ll_for(f, &l, "0", d->kn), d->b->columns.lo, d->b->columns.hi);
        f->ahead = FC_LOOP_NOT_AHEAD;
        fc_ll_for_end(f, &l, "1");
    }
    fill_last_panel(d);
    if (d->pairs) fill_last_row(d);
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
    const char *m = fc_ll_min(f, plus(f, d->b->rows.lo, i), minus(f, d->b->rows.hi, "1"));
    left_row(d, m, i, d->b->k.lo, plus(f, d->b->k.lo, d->kn));
    fc_ll_for_end(f, &l, "1");
}

void fc_ll_dot_fill(fc_ll *f, unsigned operand, const fc_ll_box *b, const char *const *idx) {
    dot *d = f->dot;
    d->b = b;
    memcpy(d->idx, idx, sizeof d->idx);
    d->kn = minus(f, b->k.hi, b->k.lo);
    d->rows = padded(d, minus(f, b->rows.hi, b->rows.lo));
    fc_ll_forget(f);
    (operand ? make_right : make_left)(d);
    fc_ll_look_along(f, d->n_axis, false);
    fc_ll_forget(f);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static void call_tile(const dot *d, unsigned height, const call *c) {
#define X(type, name)   ", " #type " %s"
#define ARG(type, name) , c->name
    fc_ll_line(d->f, "call void @%s_tile%u(i64 %s" TILE_ARGS(X) ")", d->f->name, height,
               c->n TILE_ARGS(ARG));
#undef ARG
#undef X
}

/* A whole tile, or low ones for the rows that are left. */
static void any_tile(const dot *d, const call *c) {
    fc_ll *f = d->f;
    fc_ll_if low;
    fc_ll_loop l;
    if (d->p.height == FC_LL_LOW) {
        call_tile(d, FC_LL_LOW, c);
        return;
    }
    fc_ll_if_begin(f, &low, fc_ll_ins(f, "icmp ule i64 %s, %u", c->rows, most_low(d)));
    const char *r = fc_ll_for(f, &l, "0", c->rows), *held = times(f, r, d->p.width);
    call some = *c;
    some.a = in_panel(d, c->a, fc_ll_bin(f, "mul", r, c->down));
    some.levels = at(d, c->levels, held);
    some.to = at(d, c->to, fc_ll_bin(f, "mul", r, c->step));
    some.rows = minus(f, c->rows, r);
    call_tile(d, FC_LL_LOW, &some);
    fc_ll_for_end(f, &l, fc_ll_fmt(f, "%u", FC_LL_LOW));
    fc_ll_if_else(f, &low);
    call_tile(d, d->p.height, c);
    fc_ll_if_end(f, &low);
}

/* From a matrix of a stack to the next one, or some way on, in bytes. */
static const char *matrix_ahead(const dot *d, uint32_t access) {
    enum { LEAST = 4096 };
    fc_ll *f = d->f;
    if (!f->cls->llvm.ahead) return "0";
    const unsigned axis = d->m_axis + 1 == d->n_axis ? d->m_axis - 1 : d->n_axis - 1;
    const char *by = times(f, fc_ll_stride(f, access, axis), fc_dtypes[d->t].bytes);
    fc_ll_declare(f, "i64 @llvm.smax.i64(i64, i64)");
    return fc_ll_ins(f, "call i64 @llvm.smax.i64(i64 %s, i64 %d)", by, LEAST);
}

/* Where the operands of the tile begin. */
static void find_operands(const dot *d, const fc_ll_box *b, const char *first, call *c) {
    fc_ll *f = d->f;
    const unsigned k = f->cls->np;
    if (d->direct) {
        for (unsigned i = 0; i < 2; i++) {
            const uint32_t a = d->operand[i];
            const char *by = fc_ll_bin(f, "mul", b->k.lo, fc_ll_stride(f, a, k));
            by = plus(f, by, f->base[a]);
            if (i) by = plus(f, by, first);
            *(i ? &c->b : &c->a) = fc_ll_element(f, a, by);
            *(i ? &c->ahead_b : &c->ahead_a) = matrix_ahead(d, a);
        }
        c->down = fc_ll_stride(f, d->operand[0], d->m_axis);
        c->along = fc_ll_stride(f, d->operand[0], k);
        c->next = fc_ll_stride(f, d->operand[1], k);
        c->levels = d->counter;
        return;
    }
    const char *i = minus(f, b->down.lo, b->rows.lo);
    const char *panel =
        fc_ll_bin(f, "udiv", minus(f, b->across.lo, b->columns.lo), fc_ll_fmt(f, "%u", d->p.width));
    const char *high = up(f, minus(f, b->rows.hi, b->rows.lo), d->p.height);
    const char *number = plus(f, fc_ll_bin(f, "mul", panel, high),
                              fc_ll_bin(f, "udiv", i, fc_ll_fmt(f, "%u", d->p.height)));
    c->ahead_a = c->ahead_b = "0";
    c->a = in_panel(d, d->left, times(f, i, d->p.step));
    c->b = in_panel(d, d->right, times(f, panel, d->p.width * FC_DOT_CHUNK));
    c->down = fc_ll_fmt(f, "%u", d->p.step);
    c->along = c->next = "0";
    c->levels = at(d, d->counter,
                   times(f, fc_ll_bin(f, "mul", number, d->levels), d->p.height * d->p.width));
}

/* Where the results of the tile are finished, from column `first` on, and how far its rows lie
 * apart there. */
static void find_end(const dot *d, const fc_ll_box *b, const char *first, const char **to,
                     const char **apart) {
    fc_ll *f = d->f;
    const uint32_t a = f->k->stores.at[0].access;
    if (d->bare) {
        *to = fc_ll_element(f, a, plus(f, f->base[a], first));
        *apart = fc_ll_stride(f, a, d->m_axis);
    } else {
        *to = at(d, d->tile, minus(f, first, b->across.lo));
        *apart = fc_ll_fmt(f, "%u", d->p.width);
    }
}

/* The first column of a tile's row, and how far from it those of its other registers are. */
static const char *find_columns(const dot *d, const fc_ll_box *b, call *c) {
    fc_ll *f = d->f;
    const char *first = b->across.lo, *end = first;
    const bool moves = d->direct && !is_masked(d);
    const char **load[] = {NULL, &c->load1, &c->load2, &c->load3};
    const char **store[] = {NULL, &c->store1, &c->store2, &c->store3};
    if (moves) {
        end = minus(f, b->columns.hi, fc_ll_fmt(f, "%u", d->p.lanes));
        first = fc_ll_min(f, first, end);
    }
    for (unsigned v = 1; v < FC_LL_ROW_VECTORS; v++) {
        const char *by = fc_ll_fmt(f, "%u", v * d->p.lanes), *of = by;
        if (moves && v < d->vectors)
            of = minus(f, fc_ll_min(f, plus(f, b->across.lo, by), end), first);
        *load[v] = of;
        if (v + 1 == d->vectors) of = FC_PLANT(dot_edge, minus(f, of, "1"), of);
        *store[v] = fc_ll_ins(f, "select i1 %s, i64 %s, i64 %s", b->last, of, by);
    }
    return first;
}

void fc_ll_dot_push(fc_ll *f, const fc_ll_box *b) {
    dot *d = f->dot;
    const char *tile = fc_ll_fmt(f, "%u", d->p.height * d->p.width), *to, *apart;
    const char *width = fc_ll_fmt(f, "%u", d->p.width);
    call c = {.n = minus(f, b->k.hi, b->k.lo)};
    const char *first = find_columns(d, b, &c);
    find_operands(d, b, first, &c);
    if (FC_PLANTED(dot_tail)) c.n = minus(f, c.n, fc_ll_ins(f, "zext i1 %s to i64", b->last));
    const char *next = fc_ll_ins(f, "call i64 @llvm.cttz.i64(i64 %s, i1 false)",
                                 fc_ll_bin(f, "xor", b->chunk, "-1"));
    const char *level = at(d, c.levels, fc_ll_bin(f, "mul", next, tile));
    const char *ones =
        fc_ll_bin(f, "and", b->chunk, fc_ll_bin(f, "xor", plus(f, b->chunk, "1"), "-1"));
    find_end(d, b, first, &to, &apart);
    c.mask = fc_ll_ins(f, "select i1 %s, i64 %s, i64 %s", b->last, b->chunk, ones);
    c.to = fc_ll_ins(f, "select i1 %s, ptr %s, ptr %s", b->last, to, level);
    c.step = fc_ll_ins(f, "select i1 %s, i64 %s, i64 %s", b->last, apart, width);
    c.rows = minus(f, b->down.hi, b->down.lo);
    c.columns =
        minus(f, FC_PLANT(dot_edge, minus(f, b->across.hi, "1"), b->across.hi), b->across.lo);
    any_tile(d, &c);
}

/* The sums of the vector of a tile at row `m`. */
static const char *sums_of(const dot *d, const fc_ll_box *b, const char *m) {
    fc_ll *f = d->f;
    const char *row = times(f, minus(f, m, b->down.lo), d->p.width);
    const char *v = fc_ll_fill(f, d->t, f->V, d->tile, plus(f, row, minus(f, f->x, b->across.lo)));
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

void fc_ll_dot_put(fc_ll *f, const fc_ll_box *b, const char *const *idx, const char *span) {
    const dot *d = f->dot;
    const char *v = sums_of(d, b, idx[d->m_axis]), *row = "0";
    for (unsigned i = 0; i < f->cls->np; i++)
        row = plus(f, fc_ll_bin(f, "mul", row, fc_ll_extent(f, i)),
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
    const char *next = plus(f, l.carry[0], "1");
    next = fc_ll_bin(f, "urem", next, slots);
    fc_ll_loop_end(f, &l, &next);
    return l.carry[0];
}

static void place_panels(dot *d) {
    fc_ll *f = d->f;
    const bool split = f->cls->llvm.split;
    const char *columns = fc_ll_dot_columns(f);
    const char *rows = times(f, up(f, fc_ll_dot_rows(f), d->p.height), d->p.height);
    const char *right = times(f, columns, FC_DOT_CHUNK), *left = times(f, rows, d->p.step);
    const char *chunks = up(f, fc_ll_extra(f, FC_PB_COUNT), FC_DOT_CHUNK);
    fc_ll_declare(f, "i64 @llvm.ctlz.i64(i64, i1)");
    d->levels = minus(
        f, "64", fc_ll_ins(f, "call i64 @llvm.ctlz.i64(i64 %s, i1 false)", minus(f, chunks, "1")));
    const char *levels = fc_ll_bin(f, "mul", fc_ll_bin(f, "mul", rows, columns), d->levels);
    const char *all = plus(f, plus(f, right, left), levels);
    const char *slots = fc_ll_bin(f, "lshr", fc_ll_extra(f, FC_PB_SPAN), "32");
    if (split) slots = fc_ll_bin(f, "and", slots, "65535");
    d->slot = take_slot(f, slots);
    d->right = fc_ll_extra(f, FC_PB_WORKSPACE);
    if (split) {
        const char *partials = fc_ll_bin(f, "mul", fc_ll_extra(f, FC_PB_ROWS), fc_ll_spans(f));
        d->right = fc_ll_ins(f, "getelementptr i64, ptr %s, i64 %s", d->right, partials);
    }
    d->right = at(d, d->right, fc_ll_bin(f, "mul", d->slot, all));
    d->left = at(d, d->right, right);
    d->counter = at(d, d->left, left);
}

/* ---- the function ---------------------------------------------------------------------------- */

const char *fc_ll_dot_rows(fc_ll *f) {
    return fc_ll_bin(f, "and", fc_ll_extra(f, FC_PB_SPAN), "4294967295");
}

const char *fc_ll_dot_columns(fc_ll *f) {
    const char *all = fc_ll_extra(f, FC_PB_SPANS);
    return f->cls->llvm.split ? fc_ll_bin(f, "and", all, "4294967295") : all;
}

static void find_code(dot *d) {
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
    dot *d = f->dot = fc_ll_alloc(f, sizeof *d);
    *d = (dot){.f = f,
               .t = fc_ll_dot_type(f->k, f->cls),
               .pairs = f->cls->llvm.pairs,
               .direct = f->cls->llvm.direct,
               .bare = f->cls->llvm.bare,
               .n_axis = f->cls->np - 1u,
               .m_axis = f->cls->llvm.down_axis};
    d->p = fc_ll_tile_of(f->m, d->t, f->cls);
    d->vectors = d->p.width / d->p.lanes;
    d->type = fc_ll_type(f, d->t, 1);
    d->lanes = fc_ll_type(f, d->t, d->p.lanes);
    find_code(d);
    fc_ll_declare(f, "i64 @llvm.cttz.i64(i64, i1)");
    tile_function(d, FC_LL_LOW);
    if (d->p.height != FC_LL_LOW) tile_function(d, d->p.height);
    const unsigned tile = d->p.height * d->p.width;
    if (!d->bare) d->tile = at(d, fc_ll_array(f, d->t, tile + 2 * f->V), fc_ll_fmt(f, "%u", f->V));
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
