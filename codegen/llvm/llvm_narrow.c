/* llvm_narrow.c - inner reductions of rows that are too short for vectors along them: the lanes are
 * neighbouring rows, which this file calls columns, and the elements are taken one after the other.
 *
 * A unit is a block of FC_LL_TILE columns, numbered along the innermost kept axis first. There are
 * at least V columns; the last vector is moved back to end with the last column, and columns that
 * it shares with the one before are computed twice, with the same results. A row has at most
 * FC_LANES elements, so that in the tree of codegen/nest.h every element has a lane of its own and
 * the lanes combine pairwise: what a binary counter over the elements does. Eight elements at a
 * time are combined in registers when the code is short, and enter the counter at its fourth level;
 * what is left over enters one by one below it.
 *
 * An array that lies along the rows is loaded as it lies, transposed (llvm_tiles.c) and kept in a
 * stack array for all stages, unless rows are shorter than half a vector: then it is gathered.
 * Results that lie along the rows take the same way back. Sums of rows and the like need no tiles
 * (FC_LL_PACKED, llvm_packed.c). */
#include "codegen/llvm/llvm_text.h"

enum { GROUP = 8, GROUP_LEVEL = 3, LEVELS = 8, SHORT = 8 };

/* ---- tiles --------------------------------------------------------------------------------------
 */

/* Elements [r, r + n) of the V columns at f->x. */
static void move_tiles(fc_ll *f, bool out, const char *r, const char *n) {
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        if (!f->tile[a] || fc_ll_is_stored(f->k, a) != out) continue;
        const char *by = fc_ll_bin(f, "mul", f->x, fc_ll_stride(f, a, f->lane_axis));
        const char *element = fc_ll_bin(f, "add", fc_ll_bin(f, "add", f->base[a], r), by);
        const char *tile = fc_ll_ins(f, "getelementptr %s, ptr %s, i64 %s",
                                     fc_ll_stored(f, f->k->accesses.at[a].dtype, 1), f->tile[a],
                                     fc_ll_bin(f, "mul", r, fc_ll_fmt(f, "%u", f->V)));
        fc_ll_move_tile(
            f, a, out, element, fc_ll_fmt(f, "%u", f->V - 1), n, tile, f->V,
            fc_ll_bin(f, "mul", fc_ll_stride(f, a, f->lane_axis), fc_ll_fmt(f, "%u", f->V)));
    }
}

/* Between memory and the tiles: loads, or (`out`) results. */
static void all_tiles(fc_ll *f, bool out, const char *count) {
    bool any = false;
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        any |= f->tile[a] && fc_ll_is_stored(f->k, a) == out;
    if (!any) return;
    fc_ll_loop l;
    const char *r = fc_ll_for(f, &l, "0", count);
    move_tiles(f, out, r, fc_ll_bin(f, "sub", count, r));
    fc_ll_for_end(f, &l, fc_ll_fmt(f, "%u", f->V));
}

/* ---- the tree -----------------------------------------------------------------------------------
 */

static void at_element(fc_ll *f, const char *r) {
    f->element = r;
    f->tile_row = fc_ll_bin(f, "sub", fc_ll_bin(f, "mul", r, fc_ll_fmt(f, "%u", f->V)), f->x);
}

static const char **element(fc_ll *f, const fc_ll_stage *st, const char *r) {
    at_element(f, r);
    fc_ll_forget_points(f);
    fc_ll_emit_points(f, st->needed);
    fc_ll_keep(f, st, fc_ll_bin(f, "mul", r, fc_ll_fmt(f, "%u", f->V)));
    const char *number = st->uses_index ? fc_ll_splat(f, "i64", r) : NULL;
    const char **acc = fc_ll_step(f, st, f->V, fc_ll_inits(f, st, f->V), number);
    fc_ll_forget_points(f);
    f->element = NULL;
    return acc;
}

/* Eight elements from r on: short code in registers, other code in a loop and a stack array. */
static void group(fc_ll *f, const fc_ll_stage *st, const char *r, const char **part[GROUP]) {
    if (fc_ll_steps(f, st) <= SHORT) {
        for (unsigned i = 0; i < GROUP; i++)
            part[i] = element(f, st, fc_ll_bin(f, "add", r, fc_ll_fmt(f, "%u", i)));
        return;
    }
    fc_ll_loop l;
    const char **kept = fc_ll_arrays(f, st, GROUP * f->V), *V = fc_ll_fmt(f, "%u", f->V);
    const char *i = fc_ll_for(f, &l, "0", fc_ll_fmt(f, "%d", GROUP));
    const char **one = element(f, st, fc_ll_bin(f, "add", r, i));
    fc_ll_spill_all(f, st, f->V, kept, fc_ll_bin(f, "mul", i, V), one);
    fc_ll_for_end(f, &l, "1");
    for (unsigned n = 0; n < GROUP; n++)
        part[n] = fc_ll_fill_all(f, st, f->V, kept, fc_ll_fmt(f, "%u", n * f->V));
}

static void push_group(fc_ll *f, const fc_ll_stage *st, const char *r) {
    const char **part[GROUP];
    group(f, st, r, part);
    for (unsigned n = GROUP / 2; n > 0; n /= 2)
        for (unsigned i = 0; i < n; i++)
            part[i] = fc_ll_combine(f, st, f->V, part[2 * i], part[2 * i + 1]);
    const char *number = fc_ll_bin(f, "lshr", r, fc_ll_fmt(f, "%d", GROUP_LEVEL));
    fc_ll_push(f, st, f->V, f->V, "0", number, GROUP_LEVEL, part[0]);
}

static void finish(fc_ll *f, const fc_ll_stage *st, const char *const *acc) {
    for (uint32_t i = st->first; i < st->first + st->count; i++) {
        const fc_ll_red *red = &f->red[i];
        fc_ll_spill(f, fc_red_dtype(red->op, red->t), f->V, red->memory, "0",
                    fc_ll_finish(f, i, f->V, acc));
    }
}

static void reduce(fc_ll *f, const fc_ll_stage *st, const char *count) {
    fc_ll_loop l;
    const char *from = fc_ll_bin(f, "and", count, fc_ll_fmt(f, "-%d", GROUP));
    push_group(f, st, fc_ll_for(f, &l, "0", from));
    fc_ll_for_end(f, &l, fc_ll_fmt(f, "%d", GROUP));
    const char *r = fc_ll_for(f, &l, from, count);
    fc_ll_push(f, st, f->V, f->V, "0", fc_ll_bin(f, "sub", r, from), 0, element(f, st, r));
    fc_ll_for_end(f, &l, "1");
    finish(f, st, fc_ll_fold(f, st, f->V, f->V, "0", count));
}

/* ---- columns ------------------------------------------------------------------------------------
 */

static void columns(fc_ll *f, const fc_ll_masks *masks) {
    const char *count = fc_ll_extra(f, FC_PB_COUNT);
    f->column = "0";
    fc_ll_forget(f);
    all_tiles(f, false, count);
    for (uint32_t s = 0; s < f->k->nstages; s++) {
        fc_ll_emit_rows(f, f->stage[s].needed);
        if (masks)
            finish(f, &f->stage[s], fc_ll_packed(f, &f->stage[s], masks));
        else
            reduce(f, &f->stage[s], count);
    }
    fc_ll_emit_rows(f, f->row_needed);
    fc_ll_run_stores(f, FC_ROW, f->V);
    if (!f->any_point_store) return;
    fc_ll_loop l;
    fc_ll_emit_rows(f, f->point_needed);
    at_element(f, fc_ll_for(f, &l, "0", count));
    fc_ll_bring(f, fc_ll_bin(f, "mul", f->element, fc_ll_fmt(f, "%u", f->V)));
    fc_ll_emit_points(f, f->point_needed);
    fc_ll_run_stores(f, FC_POINT, f->V);
    fc_ll_forget_points(f);
    f->element = NULL;
    fc_ll_for_end(f, &l, "1");
    all_tiles(f, true, count);
}

static void arrays(fc_ll *f) {
    const bool packed = f->cls->variant & FC_LL_PACKED;
    for (uint32_t s = 0; s < f->k->nstages; s++) {
        if (packed)
            f->stage[s].lanes = fc_ll_arrays(f, &f->stage[s], f->V * f->V);
        else
            f->stage[s].levels = fc_ll_arrays(f, &f->stage[s], LEVELS * f->V);
    }
    for (uint32_t i = 0; i < f->k->reductions.len; i++)
        f->red[i].memory = fc_ll_array(f, fc_red_dtype(f->red[i].op, f->red[i].t), f->V);
    f->tile = fc_ll_names(f, f->cls->naccess);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (fc_ll_is_tiled(f, a))
            f->tile[a] = fc_ll_head(f, "alloca [%u x %s], align 64", f->V * FC_LANES,
                                    fc_ll_stored(f, f->k->accesses.at[a].dtype, 1));
}

void fc_ll_narrow(fc_ll *f) {
    fc_ll_loop l, vectors;
    const char *idx[FC_MAX_AXES];
    const unsigned outer = f->cls->np - 1u;
    fc_ll_begin(f);
    arrays(f);
    fc_ll_choose_kept(f, f->V * FC_LANES);
    fc_ll_masks masks = {NULL, NULL};
    const bool packed = f->cls->variant & FC_LL_PACKED;
    if (packed) masks = fc_ll_row_masks(f);
    const char *unit = fc_ll_for(f, &l, "%begin", "%end"), *width = fc_ll_extent(f, outer);
    const char *size = fc_ll_fmt(f, "%d", FC_LL_TILE);
    const char *more = fc_ll_bin(f, "add", width, fc_ll_fmt(f, "%d", FC_LL_TILE - 1));
    const char *blocks = fc_ll_bin(f, "udiv", more, size), *n = fc_ll_bin(f, "udiv", unit, blocks);
    const char *x0 = fc_ll_bin(f, "sub", unit, fc_ll_bin(f, "mul", n, blocks));
    x0 = fc_ll_bin(f, "mul", x0, size);
    const char *x1 = fc_ll_min(f, fc_ll_bin(f, "add", x0, size), width);
    if (outer) fc_ll_decompose(f, n, 0, outer, idx);
    fc_ll_set_base(f, idx, outer);
    const char *V = fc_ll_fmt(f, "%u", f->V), *x = fc_ll_for(f, &vectors, x0, x1);
    f->x = fc_ll_min(f, x, fc_ll_bin(f, "sub", width, V));
    columns(f, packed ? &masks : NULL);
    fc_ll_for_end(f, &vectors, V);
    fc_ll_for_end(f, &l, "1");
    f->tile = NULL;
    fc_ll_end(f, "");
}
