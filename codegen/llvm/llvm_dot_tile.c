/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_dot_tile.c - tiles of a contraction in registers, see llvm_dot.c: internal functions, HEIGHT
 * x WIDTH results each, which are the chains of fma of a chunk. */
#include "codegen/llvm/llvm_dot.h"

/* c + a*b of two elements of 16 bits in each lane, and c plus both. */
static const char *step_of_pairs(const fc_ll_dot *d, const char *a, const char *b, const char *c) {
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
static const char *step(const fc_ll_dot *d, const char *a, const char *b, const char *c) {
    fc_ll *f = d->f;
    const char *args[] = {a, b, c};
    if (d->pairs) return step_of_pairs(d, a, b, c);
    if (fc_is_float(d->t)) return fc_ll_intrinsic(f, "@llvm.fma", 3, d->t, d->p.lanes, args);
    return fc_ll_ins(f, "add %s %s, %s", d->lanes, c,
                     fc_ll_ins(f, "mul %s %s, %s", d->lanes, a, b));
}

static const char *sum(const fc_ll_dot *d, const char *a, const char *b) {
    return fc_ll_ins(d->f, "%s %s %s, %s", fc_is_float(d->t) ? "fadd" : "add", d->lanes, a, b);
}

static const char *in_register(const fc_ll_dot *d, const char *p, const char *element,
                               const char *mask) {
    return fc_ll_read(d->f, d->t, d->p.lanes, fc_ll_dot_at(d, p, element), false, mask);
}

/* A register of two rows of the right panel, element by element of both. */
static const char *joined_rows(const fc_ll_dot *d, const char *p, unsigned element) {
    fc_ll *f = d->f;
    const char *half = fc_ll_type(f, FUSEC_I16, d->p.lanes), *row[2];
    for (unsigned i = 0; i < 2; i++) {
        const char *from = fc_ll_dot_in_panel(d, p, fc_ll_number(f, element + i * d->p.width));
        row[i] = fc_ll_ins(f, "load %s, ptr %s, align 2", half, from);
        row[i] = fc_ll_ins(f, "zext %s %s to %s", half, row[i], d->lanes);
    }
    const char *by = "i32 16";
    for (unsigned i = 1; i < d->p.lanes; i++) by = fc_ll_fmt(f, "%s, i32 16", by);
    return fc_ll_ins(f, "or %s %s, %s", d->lanes, row[0],
                     fc_ll_ins(f, "shl %s %s, <%s>", d->lanes, row[1], by));
}

static const char *in_all_lanes(const fc_ll_dot *d, const char *p) {
    fc_ll *f = d->f;
    const char *one = fc_ll_ins(f, "insertelement %s poison, %s %s, i64 0", d->lanes, d->type,
                                fc_ll_read(f, d->t, 1, p, false, NULL));
    return fc_ll_ins(f, "shufflevector %s %s, %s poison, <%u x i32> zeroinitializer", d->lanes, one,
                     d->lanes, d->p.lanes);
}

/* Whether tiles of fewer columns than a row of one has are masked. Where an operand is read in
 * place, of several registers the last ones end with the row, some columns a second time. */
bool fc_ll_dot_is_masked(const fc_ll_dot *d) {
    return d->direct ? d->vectors == 1 : d->bare;
}

/* The columns that are there, of each register; NULL: all. */
static void masks(const fc_ll_dot *d, const char **mask) {
    fc_ll *f = d->f;
    const unsigned n = d->p.lanes;
    for (unsigned v = 0; v < d->vectors; v++) {
        const char *iota = fc_ll_lanes(f, 32, n, v * n, 1, 2 * n);
        const char *one = fc_ll_ins(f, "insertelement <%u x i32> poison, i32 %%there, i32 0", n);
        const char *all = fc_ll_ins(f,
                                    "shufflevector <%u x i32> %s, <%u x i32> poison, <%u x i32> "
                                    "zeroinitializer",
                                    n, one, n, n);
        mask[v] = fc_ll_dot_is_masked(d) ? fc_ll_ins(f, "icmp ult <%u x i32> %s, %s", n, iota, all)
                                         : NULL;
    }
}

/* Row `r` of `%rows`, the last one if it is none. */
static const char *clamped(const fc_ll_dot *d, unsigned r) {
    fc_ll *f = d->f;
    return r ? fc_ll_min(f, fc_ll_number(f, r), "%lastrow") : "0";
}

/* direct: pointers that go along k, of every third row where all rows are there: the others have
 * addresses with the distance of rows. */
static unsigned pointers(const fc_ll_dot *d, unsigned height) {
    return !d->direct ? 0 : height == d->low ? height : (height + 2) / 3;
}

static const char *left_at(const fc_ll_dot *d, unsigned height, unsigned r, const char *k,
                           const char *const *pointer) {
    fc_ll *f = d->f;
    if (!d->direct)
        return fc_ll_dot_in_panel(d, fc_ll_dot_in_panel(d, "%a", k),
                                  fc_ll_number(f, r * d->p.step));
    if (height == d->low) return pointer[r];
    return r % 3 ? fc_ll_dot_at(d, pointer[r / 3], r % 3 == 1 ? "%down" : "%down2")
                 : pointer[r / 3];
}

static const char *first_of(const fc_ll_dot *d, unsigned height, unsigned i) {
    if (height != d->low) return fc_ll_dot_times(d->f, "%down", 3 * i);
    return fc_ll_bin(d->f, "mul", "%down", clamped(d, i));
}

/* Where operands come from beyond the cache, those of matrices to come are asked for: a line of the
 * left one and a row of the right one with each k. */
static unsigned asks_ahead(const fc_ll_dot *d, unsigned height) {
    return d->direct && d->f->cls->llvm.ahead && height == d->p.height;
}

/* (Frozen pointers are not known to be some distance from each other: seen as one that goes from
 * row to row, each address would wait for the one before.)
 * for each k: registers of the right row, and each element of the left column */
static void chain(const fc_ll_dot *d, unsigned height, const char *const *mask, const char **acc) {
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
        init[2 + i] = fc_ll_ins(f, "freeze ptr %s", fc_ll_dot_at(d, "%a", first_of(d, height, i)));
    fc_ll_repeat_begin(f, &l, n, types, init);
    const char *b = d->direct
                        ? l.carry[1]
                        : fc_ll_dot_in_panel(d, "%b", fc_ll_dot_times(f, l.carry[0], d->p.width));
    const char **next = init;
    for (unsigned v = 0; d->pairs && v < d->vectors; v++)
        right[v] = joined_rows(d, b, v * d->p.lanes);
    for (unsigned v = 0; !d->pairs && v < d->vectors; v++)
        right[v] = in_register(
            d, b, d->direct && v ? fc_ll_fmt(f, "%%load%u", v) : fc_ll_number(f, v * d->p.lanes),
            d->direct ? mask[v] : NULL);
    next[0] = fc_ll_bin(f, "add", l.carry[0], d->pairs ? "2" : "1");
    if (d->direct) next[1] = fc_ll_dot_at(d, b, "%next");
    for (unsigned i = 0; i < m; i++) next[2 + i] = fc_ll_dot_at(d, l.carry[2 + i], "%along");
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
    fc_ll_repeat_end(f, &l, next, fc_ll_ins(f, "icmp ult i64 %s, %%n", next[0]));
    memcpy(acc, l.carry + first, d->vectors * height * sizeof *acc);
}

/* Adds the levels of `mask`, the lowest first, which cover the latest elements. */
static void add_levels(const fc_ll_dot *d, unsigned height, const char **acc) {
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
    const char *held =
        fc_ll_dot_at(d, "%levels", fc_ll_dot_times(f, level, d->p.height * d->p.width));
    next[0] = fc_ll_bin(f, "and", l.carry[0], fc_ll_dot_minus(f, l.carry[0], "1"));
    for (unsigned i = 1; i < n; i++)
        next[i] =
            sum(d, in_register(d, held, fc_ll_number(f, (i - 1) * d->p.lanes), NULL), l.carry[i]);
    fc_ll_loop_end(f, &l, next);
    memcpy(acc, l.carry + 1, (n - 1) * sizeof *acc);
}

/* From the last row to the first: those that are not there write where the last one does, before
 * it. The sum of a part may be -0, what is finished never: + 0 changes no sum of parts. */
static void write_tile(const fc_ll_dot *d, unsigned height, const char *const *mask,
                       const char *const *acc) {
    fc_ll *f = d->f;
    for (unsigned r = height; r-- > 0;) {
        const char *row = d->bare || d->direct ? fc_ll_bin(f, "mul", clamped(d, r), "%step")
                                               : fc_ll_number(f, r * d->p.width);
        const char *to = fc_ll_dot_at(d, "%to", row);
        for (unsigned v = 0; v < d->vectors; v++) {
            const char *p = v ? fc_ll_dot_at(d, to, fc_ll_fmt(f, "%%store%u", v)) : to;
            const char *value = acc[r * d->vectors + v];
            if (d->bare && fc_is_float(d->t)) value = sum(d, "zeroinitializer", value);
            fc_ll_write(f, d->t, d->p.lanes, p, false, mask[v], value);
        }
    }
}

void fc_ll_dot_tile(const fc_ll_dot *d, unsigned height) {
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
    fc_ll_aside_end(f,
                    fc_ll_fmt(f, "void @%s_tile%u(i64 %%n" FC_LL_DOT_ARGS(X) ")", f->name, height));
#undef X
}
