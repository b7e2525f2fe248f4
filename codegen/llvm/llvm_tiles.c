/* llvm_tiles.c - maps that read an array across: the lanes lie along one axis, neighbours in memory
 * along another one.
 *
 * A unit is a block of FC_LL_TILE by FC_LL_TILE elements along axis `teams` of the class and the
 * innermost one; units count through the blocks of the innermost axis first. A block is done in
 * bands of V rows. For each access that lies across (fc_ll_is_tiled), V vectors are loaded as they
 * lie in memory, one for each lane, transposed in registers and put into a stack array; then the
 * rows of the band are computed as those of any map, and read it from there.
 * (No result of a map lies across: the innermost axis is that of the results.)
 *
 * At the edges a lane beyond the last column loads the last column, and rows beyond the last one
 * are masked off: nothing outside the array is touched. */
#include "codegen/llvm/llvm_text.h"

#include <stdio.h>

typedef struct tiles {
    unsigned across;     /* axis */
    const char *x0, *x1; /* columns of the block */
    const char *y0, *y1; /* rows of the band */
    const char *idx[FC_MAX_AXES];
} tiles;

bool fc_ll_is_tiled(const fc_ll *f, uint32_t a) {
    if (!(f->cls->variant & FC_LL_TILES) || f->k->accesses.at[a].buffer == FC_NO_BUFFER)
        return false;
    return fc_class_move(f->cls, a, f->lane_axis) == FC_MOVE_ANY &&
           fc_class_move(f->cls, a, f->cls->teams) == FC_MOVE_ONE;
}

/* ---- tiles --------------------------------------------------------------------------------------
 */

/* Lanes of a shuffle of a and b (as one vector of 2V) that exchanges blocks of `step` lanes: the
 * blocks of b that belong into the upper half come after those of a. */
static const char *exchange(fc_ll *f, const char *type, const char *a, const char *b, unsigned step,
                            bool high) {
    char text[2 * 16 * 10];
    size_t at = 0;
    for (unsigned i = 0; i < f->V; i++) {
        const unsigned from_a = high ? i + step : i, from_b = f->V + (high ? i : i - step);
        at += (size_t)snprintf(text + at, sizeof text - at, "%si32 %u", i ? ", " : "",
                               i & step ? from_b : from_a);
    }
    return fc_ll_ins(f, "shufflevector %s %s, %s %s, <%u x i32> <%s>", type, a, type, b, f->V,
                     text);
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

/* The tile whose first column is at x. */
static void fill_tile(fc_ll *f, const tiles *t, uint32_t a, const char *x, const char *mask) {
    const fusec_dtype dtype = f->k->accesses.at[a].dtype;
    const char **v = fc_ll_names(f, f->V), *type = fc_ll_stored(f, dtype, f->V);
    const char *last = fc_ll_bin(f, "sub", fc_ll_extent(f, f->lane_axis), "1");
    for (unsigned i = 0; i < f->V; i++) {
        const char *column = fc_ll_min(f, fc_ll_bin(f, "add", x, fc_ll_fmt(f, "%u", i)), last);
        const char *by = fc_ll_bin(f, "mul", column, fc_ll_stride(f, a, f->lane_axis));
        v[i] = fc_ll_load_stored(f, a, fc_ll_bin(f, "add", f->base[a], by), mask);
    }
    fc_ll_transpose(f, type, v);
    const char *at = fc_ll_bin(f, "sub", x, t->x0);
    for (unsigned i = 0; i < f->V; i++) {
        const char *to = fc_ll_bin(f, "add", at, fc_ll_fmt(f, "%d", (int)i * FC_LL_TILE));
        to = fc_ll_ins(f, "getelementptr %s, ptr %s, i64 %s", fc_ll_stored(f, dtype, 1), f->tile[a],
                       to);
        fc_ll_line(f, "store %s %s, ptr %s, align %u", type, v[i], to, fc_dtypes[dtype].bytes);
    }
}

static void fill_tiles(fc_ll *f, tiles *t, const char *mask) {
    fc_ll_loop l;
    const char *x = fc_ll_for(f, &l, t->x0, t->x1);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (f->tile[a]) fill_tile(f, t, a, x, mask);
    fc_ll_for_end(f, &l, fc_ll_fmt(f, "%u", f->V));
}

/* ---- a band -------------------------------------------------------------------------------------
 */

static void points(fc_ll *f, void *user) {
    (void)user;
    fc_ll_forget_points(f);
    fc_ll_emit_points(f, f->point_needed);
    fc_ll_run_stores(f, FC_POINT, f->V);
}

static void row(fc_ll *f, tiles *t, const char *y) {
    const char *number = fc_ll_bin(f, "sub", y, t->y0);
    f->tile_row =
        fc_ll_bin(f, "sub", fc_ll_bin(f, "mul", number, fc_ll_fmt(f, "%d", FC_LL_TILE)), t->x0);
    t->idx[t->across] = y;
    fc_ll_set_base(f, t->idx, f->lane_axis);
    fc_ll_forget(f);
    fc_ll_emit_rows(f, f->point_needed);
    fc_ll_vectors(f, t->x0, t->x1, 1, points, NULL);
}

static void band(fc_ll *f, tiles *t) {
    fc_ll_if whole;
    fc_ll_loop rows;
    const char *n = fc_ll_bin(f, "sub", t->y1, t->y0);
    t->idx[t->across] = t->y0;
    fc_ll_set_base(f, t->idx, f->lane_axis);
    fc_ll_if_begin(f, &whole, fc_ll_ins(f, "icmp eq i64 %s, %u", n, f->V));
    fill_tiles(f, t, NULL);
    fc_ll_if_else(f, &whole);
    fc_ll_set_mask(f, n);
    const char *mask = f->mask;
    fc_ll_set_mask(f, NULL);
    fill_tiles(f, t, mask);
    fc_ll_if_end(f, &whole);
    row(f, t, fc_ll_for(f, &rows, t->y0, t->y1));
    fc_ll_for_end(f, &rows, "1");
}

/* ---- a block ------------------------------------------------------------------------------------
 */

/* Splits `n` into a block's number along `axis`, whose ends are given, and the rest. */
static const char *take_axis(fc_ll *f, const char *n, unsigned axis, const char **first,
                             const char **end) {
    const char *size = fc_ll_fmt(f, "%d", FC_LL_TILE), *extent = fc_ll_extent(f, axis);
    const char *more = fc_ll_bin(f, "add", extent, fc_ll_fmt(f, "%d", FC_LL_TILE - 1));
    const char *blocks = fc_ll_bin(f, "udiv", more, size), *rest = fc_ll_bin(f, "udiv", n, blocks);
    const char *number = fc_ll_bin(f, "sub", n, fc_ll_bin(f, "mul", rest, blocks));
    *first = fc_ll_bin(f, "mul", number, size);
    *end = fc_ll_min(f, fc_ll_bin(f, "add", *first, size), extent);
    return rest;
}

static void other_axes(fc_ll *f, tiles *t, const char *n) {
    for (unsigned axis = f->lane_axis; axis-- > 0;) {
        if (axis == t->across) continue;
        const char *q = fc_ll_bin(f, "udiv", n, fc_ll_extent(f, axis));
        t->idx[axis] = fc_ll_bin(f, "sub", n, fc_ll_bin(f, "mul", q, fc_ll_extent(f, axis)));
        n = q;
    }
}

void fc_ll_tiles(fc_ll *f) {
    tiles t = {.across = f->cls->teams};
    fc_ll_loop units, bands;
    const char *first, *end, *V = fc_ll_fmt(f, "%u", f->V);
    f->lane_axis = f->cls->np - 1u;
    fc_ll_begin(f);
    f->tile = fc_ll_names(f, f->cls->naccess);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (fc_ll_is_tiled(f, a))
            f->tile[a] = fc_ll_head(f, "alloca [%u x %s], align 64", f->V * FC_LL_TILE,
                                    fc_ll_stored(f, f->k->accesses.at[a].dtype, 1));
    const char *n = fc_ll_for(f, &units, "%begin", "%end");
    n = take_axis(f, n, f->lane_axis, &t.x0, &t.x1);
    n = take_axis(f, n, t.across, &first, &end);
    other_axes(f, &t, n);
    t.y0 = fc_ll_for(f, &bands, first, end);
    t.y1 = fc_ll_min(f, fc_ll_bin(f, "add", t.y0, V), end);
    band(f, &t);
    fc_ll_for_end(f, &bands, V);
    fc_ll_for_end(f, &units, "1");
    f->tile = NULL;
    fc_ll_end(f, "");
}
