/* llvm_tiles.c - maps that read an array across: the lanes lie along one axis, neighbours in memory
 * along another one.
 *
 * A unit is a block of FC_LL_TILE by FC_LL_TILE elements along axis `teams` of the class and the
 * innermost one; units count through the blocks of the innermost axis first. A block is done in
 * bands of V rows. For each access that lies across (fc_ll_is_tiled), V vectors are loaded as they
 * lie in memory, one for each lane, transposed in registers and put into a stack array; then the
 * rows of the band are computed as those of any map, and read it from there.
 * (A result that lies across, next to another one that does not, is scattered.) A class that asks
 * ahead asks for the next band's memory while it does one.
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
    if (!f->cls->llvm.tiles || f->k->accesses.at[a].buffer == FC_NO_BUFFER) return false;
    return fc_class_move(f->cls, a, f->lane_axis) == FC_MOVE_ANY &&
           fc_class_move(f->cls, a, f->cls->llvm.tile_axis) == FC_MOVE_ONE;
}

/* ---- tiles ------------------------------------------------------------------------------- */

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

static void transpose(fc_ll *f, const char *type, const char **v) {
    for (unsigned step = 1; step < f->V; step *= 2)
        for (unsigned i = 0; i < f->V; i++) {
            if (i & step) continue;
            const char *low = exchange(f, type, v[i], v[i + step], step, false);
            v[i + step] = exchange(f, type, v[i], v[i + step], step, true);
            v[i] = low;
        }
}

static const char *at_byte(fc_ll *f, const char *from, const char *n, const char *step) {
    return fc_ll_ins(f, "getelementptr i8, ptr %s, i64 %s", from, fc_ll_bin(f, "mul", n, step));
}

/* Row i of the memory's side: the last row for all beyond it. */
static const char *memory_row(fc_ll *f, unsigned i) {
    return at_byte(f, "%memory", fc_ll_min(f, fc_ll_fmt(f, "%u", i), "%last"), "%stride");
}

/* The code of a tile's way is long: it stands in an internal function, once for each dtype. */
static void define_move(fc_ll *f, const char *name, fusec_dtype t, bool out) {
    const char *type = fc_ll_stored(f, t, f->V);
    const char *sfx = fc_ll_suffix(f, fc_ll_stored(f, t, 1), f->V), **v = fc_ll_names(f, f->V);
    const unsigned bytes = fc_dtypes[t].bytes;
    fc_ll_aside_begin(f);
    fc_ll_set_mask(f, "%n");
    fc_ll_declare(f, fc_ll_fmt(f, "%s @llvm.masked.load.%s.p0(ptr, i32, <%u x i1>, %s)", type, sfx,
                               f->V, type));
    fc_ll_declare(
        f, fc_ll_fmt(f, "void @llvm.masked.store.%s.p0(%s, ptr, i32, <%u x i1>)", sfx, type, f->V));
    for (unsigned i = 0; i < f->V; i++) {
        const char *at =
            out ? at_byte(f, "%tile", fc_ll_fmt(f, "%u", i), "%step") : memory_row(f, i);
        if (!out && f->cls->llvm.ahead)
            fc_ll_ask(f, fc_ll_ins(f, "getelementptr i8, ptr %s, i64 %%ahead", at), f->V * bytes);
        v[i] = out ? fc_ll_ins(f, "load %s, ptr %s, align %u", type, at, bytes)
                   : fc_ll_ins(f,
                               "call %s @llvm.masked.load.%s.p0(ptr %s, i32 %u, <%u x i1> %s, %s "
                               "zeroinitializer)",
                               type, sfx, at, bytes, f->V, f->mask, type);
    }
    transpose(f, type, v);
    for (unsigned i = 0; i < f->V; i++) {
        const char *at =
            out ? memory_row(f, i) : at_byte(f, "%tile", fc_ll_fmt(f, "%u", i), "%step");
        if (out)
            fc_ll_line(f, "call void @llvm.masked.store.%s.p0(%s %s, ptr %s, i32 %u, <%u x i1> %s)",
                       sfx, type, v[i], at, bytes, f->V, f->mask);
        else
            fc_ll_line(f, "store %s %s, ptr %s, align %u", type, v[i], at, bytes);
    }
    fc_ll_line(f, "ret void");
    fc_ll_aside_end(f, fc_ll_fmt(f,
                                 "void @%s(ptr %%memory, i64 %%stride, i64 %%last, i64 %%n, ptr "
                                 "%%tile, i64 %%step, i64 %%ahead)",
                                 name));
}

void fc_ll_move_tile(fc_ll *f, uint32_t a, bool out, const char *element, const char *last,
                     const char *n, const char *array, unsigned step, const char *ahead) {
    const fusec_dtype t = f->k->accesses.at[a].dtype;
    const char *type = fc_ll_stored(f, t, 1);
    const char *name = fc_ll_fmt(f, "%s.%s.%s", f->name, out ? "out" : "in", type);
    if (!strstr(f->helpers.data, fc_ll_fmt(f, "void @%s(", name))) define_move(f, name, t, out);
    const char *stride = fc_ll_bin(f, "mul", fc_ll_stride(f, a, f->lane_axis),
                                   fc_ll_fmt(f, "%u", fc_dtypes[t].bytes));
    fc_ll_line(f, "call void @%s(ptr %s, i64 %s, i64 %s, i64 %s, ptr %s, i64 %u, i64 %s)", name,
               fc_ll_element(f, a, element), stride, last, n, array, step * fc_dtypes[t].bytes,
               fc_ll_bin(f, "mul", ahead, fc_ll_fmt(f, "%u", fc_dtypes[t].bytes)));
}

/* The tile whose first column is at x. */
static void fill_tile(fc_ll *f, const tiles *t, uint32_t a, const char *x) {
    const char *beyond = fc_ll_bin(f, "sub", fc_ll_extent(f, f->lane_axis), x);
    const char *from = fc_ll_bin(f, "mul", x, fc_ll_stride(f, a, f->lane_axis));
    const char *to = fc_ll_ins(f, "getelementptr %s, ptr %s, i64 %s",
                               fc_ll_stored(f, f->k->accesses.at[a].dtype, 1), f->tile[a],
                               fc_ll_bin(f, "sub", x, t->x0));
    fc_ll_move_tile(f, a, false, fc_ll_bin(f, "add", f->base[a], from),
                    fc_ll_bin(f, "sub", beyond, "1"), fc_ll_bin(f, "sub", t->y1, t->y0), to,
                    FC_LL_TILE, fc_ll_fmt(f, "%u", f->V));
}

static void fill_tiles(fc_ll *f, tiles *t) {
    fc_ll_loop l;
    const char *x = fc_ll_for(f, &l, t->x0, t->x1);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (f->tile[a]) fill_tile(f, t, a, x);
    fc_ll_for_end(f, &l, fc_ll_fmt(f, "%u", f->V));
}

/* ---- a band ------------------------------------------------------------------------------ */

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
    if (f->cls->llvm.ahead) f->ahead = FC_LL_NEXT_BAND;
    fc_ll_set_base(f, t->idx, f->lane_axis);
    fc_ll_forget(f);
    fc_ll_emit_rows(f, f->point_needed);
    fc_ll_lines(f, t->x0, t->x1, 1, points, NULL);
    f->ahead = FC_LL_NOT_AHEAD;
}

static void band(fc_ll *f, tiles *t) {
    fc_ll_loop rows;
    t->idx[t->across] = t->y0;
    fc_ll_set_base(f, t->idx, f->lane_axis);
    fill_tiles(f, t);
    row(f, t, fc_ll_for(f, &rows, t->y0, t->y1));
    fc_ll_for_end(f, &rows, "1");
}

/* ---- a block ----------------------------------------------------------------------------- */

const char *fc_ll_take_tile(fc_ll *f, const char *n, unsigned axis, const char **first,
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
    tiles t = {.across = f->cls->llvm.tile_axis};
    fc_ll_loop units, bands;
    const char *first, *end, *V = fc_ll_fmt(f, "%u", f->V);
    f->lane_axis = f->cls->np - 1u;
    fc_ll_begin(f);
    f->tile = fc_ll_names(f, f->cls->naccess);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (fc_ll_is_tiled(f, a) && !fc_is_stored(f->k, a))
            f->tile[a] = fc_ll_head(f, "alloca [%u x %s], align 64", f->V * FC_LL_TILE,
                                    fc_ll_stored(f, f->k->accesses.at[a].dtype, 1));
    const char *n = fc_ll_for(f, &units, "%begin", "%end");
    n = fc_ll_take_tile(f, n, f->lane_axis, &t.x0, &t.x1);
    n = fc_ll_take_tile(f, n, t.across, &first, &end);
    other_axes(f, &t, n);
    t.y0 = fc_ll_for(f, &bands, first, end);
    t.y1 = fc_ll_min(f, fc_ll_bin(f, "add", t.y0, V), end);
    band(f, &t);
    fc_ll_for_end(f, &bands, V);
    fc_ll_for_end(f, &units, "1");
    f->tile = NULL;
    fc_ll_end_stream(f);
    fc_ll_end(f, "");
}
