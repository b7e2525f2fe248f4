/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_tiles.c - arrays that are read across: the lanes lie along one axis, neighbours in memory
 * along another one.
 *
 * V vectors are loaded as they lie in memory, one for each lane, transposed in registers and put
 * into a stack buffer, from where code reads them as those of any array; results take the same way
 * back. (A result of a map that lies across, next to another one that does not, is scattered.)
 *
 * At the edges a lane beyond the last one loads the last one, and elements beyond the last one are
 * masked off: nothing outside the array is touched. */
#include "codegen/llvm/llvm_text.h"

#include <stdio.h>

bool fc_ll_is_tiled(const fc_ll *f, uint32_t a) {
    if (!f->cls->llvm.tiles || f->k->accesses.at[a].buffer == FC_NO_BUFFER) return false;
    return fc_class_move(f->cls, a, f->lane_axis) == FC_MOVE_ANY &&
           fc_class_move(f->cls, a, f->cls->llvm.tile_axis) == FC_MOVE_ONE;
}

bool fc_ll_is_shared(const fc_ll *f, uint32_t a) {
    return f->cls->llvm.shared && f->k->accesses.at[a].level == FC_POINT &&
           f->k->accesses.at[a].buffer != FC_NO_BUFFER && !fc_is_stored(f->k, a) &&
           fc_class_move(f->cls, a, f->cls->np - 1u) == FC_MOVE_ANY &&
           fc_class_move(f->cls, a, f->cls->np - 2u) == FC_MOVE_ZERO;
}

/* ---- tiles ------------------------------------------------------------------------------- */

/* Lanes of a shuffle of a and b (as one vector of 2V) that exchanges blocks of `step` lanes: the
 * blocks of b that belong into the upper half come after those of a. */
static const char *exchange(fc_ll *f, const char *type, const char *a, const char *b, unsigned step,
                            bool high) {
    unsigned *lane = fc_ll_alloc(f, f->V * sizeof *lane);
    for (unsigned i = 0; i < f->V; i++) {
        const unsigned from_a = high ? i + step : i, from_b = f->V + (high ? i : i - step);
        lane[i] = i & step ? from_b : from_a;
    }
    return fc_ll_shuffle(f, type, a, b, f->V, lane);
}

void fc_ll_transpose(fc_ll *f, const char *type, const char **v) {
    for (unsigned step = 1; step < f->V; step *= 2)
        for (unsigned i = 0; i < f->V; i++) {
            if (i & step) continue;
            const char *low = exchange(f, type, v[i], v[i + step], step, false);
            v[i + step] = exchange(f, type, v[i], v[i + step], step, true);
            v[i] = low;
        }
}

static const char *at_byte(fc_ll *f, const char *from, const char *n, const char *step) {
    return fc_ll_index(f, "i8", from, fc_ll_bin(f, "mul", n, step));
}

/* Row i of the memory's side: the last row for all beyond it. */
static const char *memory_row(fc_ll *f, unsigned i) {
    return at_byte(f, "%memory", fc_ll_min(f, fc_ll_number(f, i), "%last"), "%stride");
}

static const char *tile_row(fc_ll *f, unsigned i) {
    return at_byte(f, "%tile", fc_ll_number(f, i), "%step");
}

/* Rows of the memory's side; `whole`: there are V elements of V rows. */
static void load_rows(fc_ll *f, fusec_dtype t, bool whole, const char **v) {
    const char *at = "%memory";
    for (unsigned i = 0; i < f->V; i++) {
        if (!whole) at = memory_row(f, i);
        if (f->cls->llvm.ahead)
            fc_ll_ask(f, fc_ll_ins(f, "getelementptr i8, ptr %s, i64 %%ahead", at),
                      f->V * fc_dtypes[t].bytes);
        v[i] = fc_ll_read(f, t, f->V, at, false, whole ? NULL : f->mask);
        if (whole) at = fc_ll_index(f, "i8", at, "%stride");
    }
}

static const char **load_any_rows(fc_ll *f, fusec_dtype t) {
    const char **a = fc_ll_names(f, f->V), **b = fc_ll_names(f, f->V);
    const char *lanes = fc_ll_ins(f, "icmp ugt i64 %%last, %u", f->V - 2),
               *elements = fc_ll_ins(f, "icmp ugt i64 %%n, %u", f->V - 1);
    fc_ll_if whole;
    fc_ll_if_begin(f, &whole, fc_ll_ins(f, "and i1 %s, %s", lanes, elements));
    load_rows(f, t, true, a);
    fc_ll_if_else(f, &whole);
    fc_ll_set_mask(f, fc_ll_min(f, "%n", fc_ll_number(f, f->V)));
    load_rows(f, t, false, b);
    fc_ll_if_end(f, &whole);
    for (unsigned i = 0; i < f->V; i++)
        a[i] = fc_ll_either(f, &whole, fc_ll_stored(f, t, f->V), a[i], b[i]);
    return a;
}

/* Vector by vector, transposed in registers. */
static void by_registers(fc_ll *f, fusec_dtype t, bool out) {
    const char *type = fc_ll_stored(f, t, f->V), **v = fc_ll_names(f, f->V);
    if (out) {
        fc_ll_set_mask(f, "%n");
        for (unsigned i = 0; i < f->V; i++)
            v[i] = fc_ll_read(f, t, f->V, tile_row(f, i), false, NULL);
    } else {
        v = load_any_rows(f, t);
    }
    fc_ll_transpose(f, type, v);
    for (unsigned i = 0; i < f->V; i++)
        fc_ll_write(f, t, f->V, out ? memory_row(f, i) : tile_row(f, i), false,
                    out ? f->mask : NULL, v[i]);
}

/* In brief code one after the other; elements beyond the last one are the last one. */
static void by_elements(fc_ll *f, fusec_dtype t) {
    const char *type = fc_ll_stored(f, t, 1), *V = fc_ll_number(f, f->V);
    const char *bytes = fc_ll_number(f, fc_dtypes[t].bytes);
    fc_ll_loop lanes, elements;
    const char *lane = fc_ll_for(f, &lanes, "0", V);
    const char *row = at_byte(f, "%memory", fc_ll_min(f, lane, "%last"), "%stride");
    const char *to = at_byte(f, "%tile", lane, bytes);
    const char *e = fc_ll_for(f, &elements, "0", V);
    const char *there = fc_ll_min(f, e, fc_ll_bin(f, "sub", "%n", "1"));
    const char *v = fc_ll_ins(f, "load %s, ptr %s, align 1", type, at_byte(f, row, there, bytes));
    fc_ll_line(f, "store %s %s, ptr %s, align 1", type, v, at_byte(f, to, e, "%step"));
    fc_ll_for_end(f, &elements, "1");
    fc_ll_for_end(f, &lanes, "1");
}

/* The code of a tile's way is long: it stands in an internal function, once for each dtype. */
static void define_move(fc_ll *f, const char *name, fusec_dtype t, bool out) {
    fc_ll_aside_begin(f);
    if (f->cls->llvm.brief && !out)
        by_elements(f, t);
    else
        by_registers(f, t, out);
    fc_ll_line(f, "ret void");
    fc_ll_aside_end(f, fc_ll_fmt(f,
                                 "void @%s(ptr %%memory, i64 %%stride, i64 %%last, i64 %%n, ptr "
                                 "%%tile, i64 %%step, i64 %%ahead)",
                                 name));
}

void fc_ll_move_tile(fc_ll *f, uint32_t a, bool out, const char *element, const char *last,
                     const char *n, const char *array, const char *step, const char *ahead) {
    const fusec_dtype t = f->k->accesses.at[a].dtype;
    const char *type = fc_ll_stored(f, t, 1);
    const char *name = fc_ll_fmt(f, "%s.%s.%s", f->name, out ? "out" : "in", type);
    if (!strstr(f->helpers.data, fc_ll_fmt(f, "void @%s(", name))) define_move(f, name, t, out);
    const char *stride =
        fc_ll_bin(f, "mul", fc_ll_stride(f, a, f->lane_axis), fc_ll_number(f, fc_dtypes[t].bytes));
    fc_ll_line(f, "call void @%s(ptr %s, i64 %s, i64 %s, i64 %s, ptr %s, i64 %s, i64 %s)", name,
               fc_ll_element(f, a, element), stride, last, n, array,
               fc_ll_bin(f, "mul", step, fc_ll_number(f, fc_dtypes[t].bytes)),
               fc_ll_bin(f, "mul", ahead, fc_ll_number(f, fc_dtypes[t].bytes)));
}
