/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_inner.c - vectors whose lanes are neighbouring elements of a row.
 *
 * In: a range of a row. Out: where its vectors are, and the accumulators of the range by whichever
 * way is the quickest for the stage.
 *
 * With several reduced axes a vector either lies within the innermost one (its first element gives
 * all offsets) or crosses it, and then every lane has coordinates of its own and loads are
 * gathers. */
#include "codegen/llvm/llvm_text.h"

/* ---- where a vector is ------------------------------------------------------------------- */

static const char *index_type(const fc_ll *f) {
    return f->cls->wide ? "i64" : "i32";
}

/* Coordinates of the lanes. The quotient of two integers below 2^53, rounded and cut off, is exact,
 * and a division of doubles is a vector instruction. */
static void lane_coordinates(fc_ll *f, const char *first) {
    const char *type = index_type(f), *vec = fc_ll_wide(f, type, f->V);
    const char *f64 = fc_ll_wide(f, "double", f->V), *flat = first;
    if (!f->cls->wide) flat = fc_ll_ins(f, "trunc i64 %s to i32", flat);
    flat = fc_ll_ins(f, "add %s %s, %s", vec, fc_ll_splat(f, type, flat),
                     fc_ll_iota(f, f->cls->wide ? 64 : 32));
    f->coord = fc_ll_names(f, f->cls->nr);
    for (unsigned i = f->cls->nr; i-- > 0;) {
        f->coord[i] = flat;
        if (i == 0) break;
        const char *n = fc_ll_extent(f, f->cls->np + i);
        const char *size = fc_ll_splat(f, "double", fc_ll_ins(f, "sitofp i64 %s to double", n));
        if (!f->cls->wide) n = fc_ll_ins(f, "trunc i64 %s to i32", n);
        const char *q = fc_ll_ins(f, "fdiv %s %s, %s", f64,
                                  fc_ll_ins(f, "sitofp %s %s to %s", vec, flat, f64), size);
        q = fc_ll_ins(f, "fptosi %s %s to %s", f64, q, vec);
        f->coord[i] = fc_ll_ins(f, "sub %s %s, %s", vec, flat,
                                fc_ll_ins(f, "mul %s %s, %s", vec, q, fc_ll_splat(f, type, n)));
        flat = q;
    }
}

/* Offsets of accesses of a point at indices `idx` of the reduced axes. */
const char **fc_ll_offsets_at(fc_ll *f, const char *const *idx) {
    const char **at = fc_ll_names(f, f->cls->naccess);
    const unsigned end = (unsigned)f->cls->np + f->cls->nr;
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        if (f->k->accesses.at[a].level != FC_POINT) continue;
        at[a] = fc_ll_along_axes(f, a, f->base[a], idx, f->cls->np, end);
    }
    return at;
}

const char **fc_ll_at_element(fc_ll *f, const char *element) {
    const char *idx[FC_MAX_AXES];
    fc_ll_decompose(f, element, f->cls->np, (unsigned)f->cls->np + f->cls->nr, idx);
    return fc_ll_offsets_at(f, idx);
}

void fc_ll_at_vector(fc_ll *f, fc_ll_body body, void *user) {
    if (f->cls->nr == 1) {
        fc_ll_step_inside(f, body, user);
        return;
    }
    const char *idx[FC_MAX_AXES];
    const unsigned end = (unsigned)f->cls->np + f->cls->nr;
    fc_ll_decompose(f, f->x, f->cls->np, end, idx);
    const char *lanes = f->active ? f->active : fc_ll_number(f, f->V);
    const char *last = fc_ll_bin(f, "add", idx[end - 1], lanes);
    fc_ll_if within;
    fc_ll_if_begin(f, &within, fc_ll_ins(f, "icmp ule i64 %s, %s", last, fc_ll_extent(f, end - 1)));
    f->fixed = fc_ll_offsets_at(f, idx);
    fc_ll_step_inside(f, body, user);
    f->fixed = NULL;
    fc_ll_if_else(f, &within);
    lane_coordinates(f, f->x);
    body(f, user);
    f->coord = NULL;
    fc_ll_if_end(f, &within);
}

/* A part that is quicker alone. A place is looked for by steps in every chunk. */
static bool is_quick(const fc_ll *f, const fc_ll_stage *part) {
    return fc_ll_is_min_max(f->red[part->first].op) && fc_ll_is_extreme(f, part);
}

/* Whether the stage's extremes are found by themselves, from the chunk that the other reductions
 * have brought to the nearest cache. What is kept for the stores is kept by all of a stage
 * together; functions and gathered loads are not done twice. */
static bool goes_apart(const fc_ll *f, const fc_ll_stage *st) {
    unsigned others = 0;
    if (!st->nparts || f->has_inside || f->cls->nr > 1 || (f->kept && st == f->kept_stage))
        return false;
    for (unsigned p = 0; p < st->nparts; p++) others += !is_quick(f, &st->part[p]);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (fc_class_move(f->cls, a, f->lane_axis) == FC_MOVE_ANY) return false;
    return others < st->nparts && (others < 2 || fc_ll_is_light(f->k));
}

static const char **reduce_chunk(fc_ll *f, const fc_ll_stage *st, const char *first,
                                 const char *n) {
    if (!goes_apart(f, st)) return fc_ll_reduce_chunk(f, st, first, n);
    const char **out = fc_ll_names(f, st->nslots), *hi = fc_ll_bin(f, "add", first, n);
    for (unsigned p = 0; p < st->nparts; p++) {
        const fc_ll_stage *part = &st->part[p];
        const char **acc = is_quick(f, part) ? fc_ll_extreme(f, part, first, hi)
                                             : fc_ll_reduce_chunk(f, part, first, n);
        memcpy(out + part->base, acc, part->nslots * sizeof *out);
    }
    return out;
}

const char **fc_ll_reduce_range(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi,
                                const char *chunk) {
    if (fc_is_ragged(f->k)) return fc_ll_ragged_row(f, st, lo, hi);
    if (fc_ll_is_extreme(f, st)) return fc_ll_extreme(f, st, lo, hi);
    return reduce_chunk(f, st, lo, chunk ? chunk : fc_ll_bin(f, "sub", hi, lo));
}
