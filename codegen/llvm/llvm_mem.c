/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_mem.c - loads and stores of a kernel's accesses, and stack arrays.
 *
 * In: the place (base, x, mask and so on of fc_ll) and the class's moves. Out: values in their
 * computed form. Lanes that are masked off are never read or written in memory and hold 0. A move
 * of one is a contiguous vector, of zero a scalar and a splat, any other a gather or scatter. */
#include "codegen/llvm/llvm_text.h"
#include "ir/plant.h"

enum {
    AHEAD_BYTES = 4096, /* what one stream of a core has under way, and some more */
    SOON_BYTES = 1024,  /* the same for the first-level cache, which keeps less of it */
    CONFLICT = 65536,   /* bytes: a half of what the sets of a second-level cache hold, each once */
    AHEAD_ROW = 1 << 16, /* the longest row of which the next one is asked for */
    AHEAD_PANEL = 4,     /* rows of a part of a matrix that goes to a panel: often a page each */
    AHEAD_MATRIX = 16    /* rows of one that is multiplied by a vector */
};

/* Where the lanes of an access are. */
typedef struct place {
    fc_move move;
    const char *first;  /* i64: element of lane 0 */
    const char *stride; /* i64, for FC_MOVE_ANY */
    const char *lanes;  /* vector of index type: elements of all lanes, instead of the others */
    bool channels;      /* a vector of elements of which each is for several lanes; see there */
} place;

static const char *index_type(const fc_ll *f) {
    return f->cls->wide ? "i64" : "i32";
}

/* A scalar i64 as a vector of the index type. */
static const char *splat_index(fc_ll *f, const char *v) {
    if (!f->cls->wide) v = fc_ll_ins(f, "trunc i64 %s to i32", v);
    return fc_ll_splat(f, index_type(f), v);
}

static const char *on_index(fc_ll *f, const char *op, const char *a, const char *b) {
    return fc_ll_ins(f, "%s <%u x %s> %s, %s", op, f->V, index_type(f), a, b);
}

/* Element of an access without its part along the lane axis. */
static const char *row_offset(fc_ll *f, uint32_t a) {
    const char *by;
    if (!f->element || f->k->accesses.at[a].level == FC_ROW) return f->base[a];
    if (f->at) return f->at[a];
    if (f->table) {
        const char *n = fc_ll_bin(f, "sub", f->element, f->run);
        n = fc_ll_bin(f, "add", n, fc_ll_number(f, a * (unsigned)fc_run_of(f->k)));
        by = fc_ll_fill(f, FUSEC_I64, 1, f->table, n);
    } else {
        by = fc_ll_bin(f, "mul", f->element, fc_ll_stride(f, a, f->cls->np));
    }
    return fc_ll_bin(f, "add", f->base[a], by);
}

void fc_ll_follow(fc_ll *f, const char *element) {
    const char **at = fc_ll_names(f, f->cls->naccess);
    f->element = element;
    for (uint32_t a = 0; a < f->cls->naccess; a++) at[a] = row_offset(f, a);
    f->at = at;
}

void fc_ll_follow_on(fc_ll *f) {
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (f->k->accesses.at[a].level == FC_POINT)
            f->at[a] = fc_ll_bin(f, "add", f->at[a], fc_ll_stride(f, a, f->cls->np));
}

void fc_ll_follow_end(fc_ll *f) {
    f->at = NULL;
    f->element = NULL;
}

/* Several reduced axes, and the vector crosses one: every lane has coordinates of its own. */
static const char *crossing_lanes(fc_ll *f, uint32_t a) {
    const char *at = splat_index(f, f->base[a]);
    for (unsigned i = 0; i < f->cls->nr; i++) {
        const char *stride = splat_index(f, fc_ll_stride(f, a, f->cls->np + i));
        at = on_index(f, "add", at, on_index(f, "mul", f->coord[i], stride));
    }
    return at;
}

/* An index where the lanes go over two axes: how often each lane has passed the inner one, and
 * where on it it is. Those numbers are small, so that a division of floats is exact. */
static const char *joined_lanes(fc_ll *f, uint32_t a) {
    const unsigned inner = f->lane_axis, V = f->V;
    const char *size = fc_ll_extent(f, inner), *of = fc_ll_wide(f, "float", V);
    const char *passed = fc_ll_bin(f, "udiv", f->x, size);
    const char *rest = fc_ll_bin(f, "sub", f->x, fc_ll_bin(f, "mul", passed, size));
    const char *step = fc_ll_splat(f, "float", fc_ll_ins(f, "uitofp i64 %s to float", size));
    const char *n = fc_ll_splat(f, "i32", fc_ll_ins(f, "trunc i64 %s to i32", rest));
    n = fc_ll_ins(f, "add <%u x i32> %s, %s", V, n, fc_ll_iota(f, 32));
    const char *q = fc_ll_ins(f, "sitofp <%u x i32> %s to %s", V, n, of);
    q = fc_ll_ins(f, "fptosi %s %s to <%u x i32>", of, fc_ll_ins(f, "fdiv %s %s, %s", of, q, step),
                  V);
    const char *wide = fc_ll_splat(f, "i32", fc_ll_ins(f, "trunc i64 %s to i32", size));
    const char *r = fc_ll_ins(f, "sub <%u x i32> %s, %s", V, n,
                              fc_ll_ins(f, "mul <%u x i32> %s, %s", V, q, wide));
    if (f->cls->wide) q = fc_ll_ins(f, "sext <%u x i32> %s to <%u x i64>", V, q, V);
    if (f->cls->wide) r = fc_ll_ins(f, "sext <%u x i32> %s to <%u x i64>", V, r, V);
    const char *outer = fc_ll_stride(f, a, inner - 1);
    const char *first = fc_ll_bin(f, "add", f->base[a], fc_ll_bin(f, "mul", passed, outer));
    q = on_index(f, "mul", q, splat_index(f, outer));
    r = on_index(f, "mul", r, splat_index(f, fc_ll_stride(f, a, inner)));
    return on_index(f, "add", splat_index(f, first), on_index(f, "add", q, r));
}

/* Whether an access is at one place for all elements of lanes that go over two axes, or walks the
 * two as one. */
static bool walks_as_one(const fc_ll *f, uint32_t a) {
    const fc_move outer = fc_class_move(f->cls, a, f->lane_axis - 1),
                  inner = fc_class_move(f->cls, a, f->lane_axis);
    return inner == FC_MOVE_ZERO ? outer == FC_MOVE_ZERO : outer == FC_MOVE_ONE;
}

/* Whether this is one of the vectors of a turn that begins at a pixel, and takes as many of them as
 * it has lanes. */
static bool in_turn_of_channels(const fc_ll *f) {
    const unsigned channels = f->cls->llvm.channels;
    return channels && f->turns == channels && f->V >= channels && !f->mask;
}

static place find(fc_ll *f, uint32_t a) {
    place p = {.move = fc_class_move(f->cls, a, f->lane_axis)};
    if (f->cls->llvm.joined && !walks_as_one(f, a)) {
        p.channels = in_turn_of_channels(f);
        if (!p.channels) p.lanes = joined_lanes(f, a);
        return p;
    }
    bool point = f->k->accesses.at[a].level == FC_POINT || f->k->schedule == FC_SCHED_MAP;
    if (f->coord && point) {
        p.lanes = crossing_lanes(f, a);
        return p;
    }
    if (p.move == FC_MOVE_ANY) p.stride = fc_ll_stride(f, a, f->lane_axis);
    if (f->fixed && point) {
        p.first = f->fixed[a];
        return p;
    }
    p.first = row_offset(f, a);
    if (p.move == FC_MOVE_ZERO) return p;
    const char *by = p.move == FC_MOVE_ONE ? f->x : fc_ll_bin(f, "mul", f->x, p.stride);
    p.first = fc_ll_bin(f, "add", p.first, by);
    return p;
}

/* Offsets of the lanes relative to the first. */
static const char *spread(fc_ll *f, const place *p) {
    return on_index(f, "mul", fc_ll_iota(f, f->cls->wide ? 64 : 32), splat_index(f, p->stride));
}

static const char *pointer(fc_ll *f, uint32_t a, const char *element) {
    const fc_access *acc = &f->k->accesses.at[a];
    const char *array = fc_ll_word(f, f->lay.args + acc->buffer, "ptr");
    return fc_ll_index(f, fc_ll_stored(f, acc->dtype, 1), array, element);
}

static const char *pointers(fc_ll *f, uint32_t a, const place *p) {
    const fc_access *acc = &f->k->accesses.at[a];
    const char *from =
        p->lanes ? fc_ll_word(f, f->lay.args + acc->buffer, "ptr") : pointer(f, a, p->first);
    const char *by = p->lanes ? p->lanes : spread(f, p);
    return fc_ll_ins(f, "getelementptr %s, ptr %s, <%u x %s> %s", fc_ll_stored(f, acc->dtype, 1),
                     from, f->V, index_type(f), by);
}

/* ---- loads ------------------------------------------------------------------------------- */

const char *fc_ll_read(fc_ll *f, fusec_dtype t, unsigned W, const char *at, bool gathers,
                       const char *mask) {
    const char *type = fc_ll_stored(f, t, W), *how = gathers ? "gather" : "load";
    const unsigned bytes = fc_dtypes[t].bytes;
    if (!gathers && !mask) return fc_ll_ins(f, "load %s, ptr %s, align %u", type, at, bytes);
    if (!mask) mask = fc_ll_const(f, FUSEC_BOOL, 1, W);
    const char *sfx = fc_ll_suffix(f, fc_ll_stored(f, t, 1), W);
    const char *from = gathers ? fc_ll_fmt(f, "v%up0", W) : "p0";
    const char *ptr = gathers ? fc_ll_wide(f, "ptr", W) : "ptr";
    fc_ll_declare(f, fc_ll_fmt(f, "%s @llvm.masked.%s.%s.%s(%s, i32, <%u x i1>, %s)", type, how,
                               sfx, from, ptr, W, type));
    return fc_ll_ins(
        f, "call %s @llvm.masked.%s.%s.%s(%s %s, i32 %u, <%u x i1> %s, %s zeroinitializer)", type,
        how, sfx, from, ptr, at, bytes, W, mask, type);
}

static const char *load_stored(fc_ll *f, uint32_t a, const char *element, const char *mask) {
    return fc_ll_read(f, f->k->accesses.at[a].dtype, f->V, pointer(f, a, element), false, mask);
}

/* The row's part of a tile; see llvm_tiles.c. */
static const char *in_tile(fc_ll *f, uint32_t a) {
    return fc_ll_index(f, fc_ll_stored(f, f->k->accesses.at[a].dtype, 1), f->tile[a],
                       fc_ll_bin(f, "add", f->tile_row, f->x));
}

static const char *load_tile(fc_ll *f, uint32_t a) {
    const fusec_dtype t = f->k->accesses.at[a].dtype;
    return fc_ll_unpack(f, t, f->V, fc_ll_read(f, t, f->V, in_tile(f, a), false, NULL));
}

/* The first-level cache holds a map's lines until they are needed, and a short row that is next.
 * It is less than a run of columns, a band of tiles or a long row, and lines that pass through it
 * come no faster. */
static bool asks_into_first(const fc_ll *f) {
    if (f->ahead == FC_LOOP_NEXT_ROW) return f->cls->llvm.one_chunk;
    return f->ahead == FC_LOOP_SOON && f->k->schedule == FC_SCHED_MAP;
}

void fc_ll_ask(fc_ll *f, const char *at, unsigned bytes) {
    const int level = asks_into_first(f) ? 3 : 2; /* llvm.prefetch: 3 is the first one */
    fc_ll_declare(f, "void @llvm.prefetch.p0(ptr, i32, i32, i32)");
    for (unsigned line = 0; line < bytes; line += 64) {
        if (line) at = fc_ll_ins(f, "getelementptr i8, ptr %s, i64 64", at);
        fc_ll_line(f, "call void @llvm.prefetch.p0(ptr %s, i32 0, i32 %d, i32 1)", at, level);
    }
}

/* From a row to that of the next run. Rows a multiple of CONFLICT apart would have to share one or
 * two sets of the second-level cache with those of this run, and drive them out; then the
 * line is asked for that is loaded next. Where memory is near, they come in time nevertheless. */
static const char *next_run(fc_ll *f, uint32_t a, unsigned bytes) {
    const char *stride = fc_ll_stride(f, a, f->cls->np);
    const char *by =
        fc_ll_bin(f, "mul", stride, fc_ll_number(f, (unsigned)fc_run_of(f->k) * bytes));
    if (!f->m->far_cache) return by;
    const char *rest = fc_ll_bin(f, "and", stride, fc_ll_number(f, CONFLICT / bytes - 1));
    return fc_ll_ins(f, "select i1 %s, i64 0, i64 %s", fc_ll_ins(f, "icmp eq i64 %s, 0", rest), by);
}

/* The hardware follows a stream to the end of a page, and only as far as the processor looks ahead
 * in long code. A row that is done in several passes is asked for while the one before it is worked
 * on, so that memory is not idle then. Vectors of which only a part is there are asked for, too: a
 * line that is left out leads the hardware astray. Nothing is loaded: the address may lie beyond
 * the array. */
static void ask_ahead(fc_ll *f, uint32_t a, const char *element) {
    const unsigned bytes = fc_dtypes[f->k->accesses.at[a].dtype].bytes;
    const bool first = asks_into_first(f);
    const char *by = fc_ll_fmt(f, "%d",
                               f->ahead == FC_LOOP_LATER ? 2 * AHEAD_BYTES
                               : first                   ? SOON_BYTES
                                                         : AHEAD_BYTES);
    if (f->ahead == FC_LOOP_NEXT_ROW) {
        const char *row =
            fc_ll_bin(f, "mul", fc_ll_stride(f, a, f->cls->np - 1u), fc_ll_number(f, bytes));
        const char *is_short = fc_ll_ins(f, "icmp ule i64 %s, %d", row, AHEAD_ROW);
        by = fc_ll_select(f, "i64", 1, is_short, row, by);
    }
    if (f->ahead == FC_LOOP_NEXT_BAND)
        by = fc_ll_bin(f, "mul", fc_ll_stride(f, a, f->cls->llvm.tile_axis),
                       fc_ll_number(f, f->V * bytes));
    if (f->ahead == FC_LOOP_NEXT_RUN) by = next_run(f, a, bytes);
    if (f->ahead == FC_LOOP_NEXT_ROWS) {
        unsigned rows = 2 * AHEAD_BYTES / f->V;
        if (f->k->schedule == FC_SCHED_DOT) rows = (f->dot ? AHEAD_PANEL : AHEAD_MATRIX) * bytes;
        by = fc_ll_bin(f, "mul", fc_ll_stride(f, a, f->cls->np), fc_ll_number(f, rows));
    }
    fc_ll_ask(f, fc_ll_index(f, "i8", pointer(f, a, element), by), f->V * bytes);
}

const char *fc_ll_mask_here(fc_ll *f) {
    const char *last = fc_ll_ins(f, "trunc i64 %s to i32", fc_ll_bin(f, "sub", f->active, "1"));
    return fc_ll_ins(f, "icmp ule <%u x i32> %s, %s", f->V, fc_ll_iota(f, 32),
                     fc_ll_splat(f, "i32", last));
}

static const char *load_either(fc_ll *f, uint32_t a, const place *p, const char *type) {
    fc_ll_if whole;
    fc_ll_if_begin(f, &whole, f->whole);
    if (f->ahead) ask_ahead(f, a, p->first);
    const char *all = load_stored(f, a, p->first, NULL);
    fc_ll_if_else(f, &whole);
    const char *part = load_stored(f, a, p->first, fc_ll_mask_here(f));
    fc_ll_if_end(f, &whole);
    return fc_ll_either(f, &whole, type, all, part);
}

static const char *gather(fc_ll *f, uint32_t a, const place *p) {
    return fc_ll_read(f, f->k->accesses.at[a].dtype, f->V, pointers(f, a, p), true, f->mask);
}

const char *fc_ll_first_element(fc_ll *f, uint32_t a) {
    return find(f, a).first;
}

static const char *load_part(fc_ll *f, uint32_t a, const place *p) {
    fc_ll_if whole;
    if (!f->whole) return f->mask ? gather(f, a, p) : fc_ll_load_couple(f, a);
    fc_ll_if_begin(f, &whole, f->whole);
    const char *all = fc_ll_load_couple(f, a);
    fc_ll_if_else(f, &whole);
    const char *part = gather(f, a, p);
    fc_ll_if_end(f, &whole);
    return fc_ll_either(f, &whole, fc_ll_stored(f, f->k->accesses.at[a].dtype, f->V), all, part);
}

/* The first n lanes of a vector. */
static const char *first_lanes(fc_ll *f, unsigned n) {
    const char *text = "";
    for (unsigned l = 0; l < f->V; l++)
        text = fc_ll_fmt(f, "%s%si1 %s", text, l ? ", " : "", l < n ? "true" : "false");
    return fc_ll_fmt(f, "<%s>", text);
}

/* What there is one of for each pixel of the turn, or for each channel: lane l of vector t of the
 * turn is element t*V + l of its pixels side by side. */
static const char *load_channels(fc_ll *f, uint32_t a) {
    const unsigned channels = f->cls->llvm.channels, before = f->turn * f->V;
    const bool of_pixel = fc_class_move(f->cls, a, f->lane_axis) == FC_MOVE_ZERO;
    const char *type = fc_ll_stored(f, f->k->accesses.at[a].dtype, f->V), *at = f->base[a];
    unsigned *lane = fc_ll_alloc(f, f->V * sizeof *lane);
    if (of_pixel) {
        const char *first = fc_ll_bin(f, "sub", f->x, fc_ll_number(f, before));
        at = fc_ll_bin(f, "add", at, fc_ll_bin(f, "udiv", first, fc_ll_number(f, channels)));
    }
    const char *v = load_stored(f, a, at, of_pixel ? NULL : first_lanes(f, channels));
    for (unsigned l = 0; l < f->V; l++)
        lane[l] = of_pixel ? (before + l) / channels : (before + l) % channels;
    return fc_ll_shuffle(f, type, v, NULL, f->V, lane);
}

static const char *load_vector(fc_ll *f, uint32_t a, const place *p) {
    const fusec_dtype t = f->k->accesses.at[a].dtype;
    if (p->channels) return load_channels(f, a);
    if (fc_ll_is_couple(f, a) && !p->lanes) return load_part(f, a, p);
    if (p->lanes || p->move == FC_MOVE_ANY) return gather(f, a, p);
    if (f->whole) return load_either(f, a, p, fc_ll_stored(f, t, f->V));
    if (f->ahead) ask_ahead(f, a, p->first);
    return load_stored(f, a, p->first, f->mask);
}

static const char *index_value(fc_ll *f, uint32_t a, unsigned W) {
    const bool point = f->k->accesses.at[a].level == FC_POINT;
    if (W == 1) return f->fixed && point ? f->fixed[a] : row_offset(f, a);
    place p = find(f, a);
    if (p.lanes)
        return f->cls->wide ? p.lanes
                            : fc_ll_ins(f, "sext <%u x i32> %s to <%u x i64>", W, p.lanes, W);
    const char *first = fc_ll_splat(f, "i64", p.first);
    if (p.move == FC_MOVE_ZERO) return first;
    const char *by = fc_ll_iota(f, 64);
    if (p.move == FC_MOVE_ANY)
        by = fc_ll_ins(f, "mul <%u x i64> %s, %s", W, by, fc_ll_splat(f, "i64", p.stride));
    return fc_ll_ins(f, "add <%u x i64> %s, %s", W, first, by);
}

const char *fc_ll_first_index(fc_ll *f, uint32_t access) {
    if (f->at_origin) return f->base[access];
    const place p = find(f, access);
    return p.lanes || p.move != FC_MOVE_ONE ? NULL : p.first;
}

const char *fc_ll_load(fc_ll *f, uint32_t access, unsigned W) {
    const fc_access *acc = &f->k->accesses.at[access];
    fusec_dtype t = acc->dtype;
    if (acc->buffer == FC_NO_BUFFER) return index_value(f, access, W);
    if (W > 1 && f->tile && f->tile[access]) return load_tile(f, access);
    place p = {.first = NULL};
    if (W > 1) p = find(f, access);
    if (W > 1 && (p.lanes || p.channels || p.move != FC_MOVE_ZERO))
        return fc_ll_unpack(f, t, W, load_vector(f, access, &p));
    const char *at = pointer(f, access, W == 1 ? row_offset(f, access) : p.first);
    const char *v = fc_ll_unpack(
        f, t, 1,
        fc_ll_ins(f, "load %s, ptr %s, align %u", fc_ll_stored(f, t, 1), at, fc_dtypes[t].bytes));
    return W == 1 ? v : fc_ll_splat(f, fc_ll_type(f, t, 1), v);
}

/* ---- stores ------------------------------------------------------------------------------ */

void fc_ll_write(fc_ll *f, fusec_dtype t, unsigned W, const char *at, bool scatters,
                 const char *mask, const char *value) {
    const char *type = fc_ll_stored(f, t, W), *how = scatters ? "scatter" : "store";
    const unsigned bytes = fc_dtypes[t].bytes;
    if (!scatters && !mask) {
        fc_ll_line(f, "store %s %s, ptr %s, align %u", type, value, at, bytes);
        return;
    }
    if (!mask) mask = fc_ll_const(f, FUSEC_BOOL, 1, W);
    const char *sfx = fc_ll_suffix(f, fc_ll_stored(f, t, 1), W);
    const char *to = scatters ? fc_ll_fmt(f, "v%up0", W) : "p0";
    const char *ptr = scatters ? fc_ll_wide(f, "ptr", W) : "ptr";
    fc_ll_declare(f, fc_ll_fmt(f, "void @llvm.masked.%s.%s.%s(%s, %s, i32, <%u x i1>)", how, sfx,
                               to, type, ptr, W));
    fc_ll_line(f, "call void @llvm.masked.%s.%s.%s(%s %s, %s %s, i32 %u, <%u x i1> %s)", how, sfx,
               to, type, value, ptr, at, bytes, W, mask);
}

static void store_scalar(fc_ll *f, uint32_t a, const char *element, const char *value) {
    const fusec_dtype t = f->k->accesses.at[a].dtype;
    fc_ll_write(f, t, 1, pointer(f, a, element), false, NULL, fc_ll_pack(f, t, 1, value));
}

static void store_stored(fc_ll *f, uint32_t a, const char *element, const char *mask,
                         const char *value) {
    const fusec_dtype t = f->k->accesses.at[a].dtype;
    fc_ll_write(f, t, f->V, pointer(f, a, element), false, mask, value);
}

/* A whole vector that passes by the cache, where it is aligned. */
static void store_past(fc_ll *f, uint32_t a, const place *p, const char *value) {
    fc_ll_if aligned;
    if (!f->aligned) {
        fc_ll_store_past(f, a, p->first, value);
        return;
    }
    fc_ll_if_begin(f, &aligned, f->aligned);
    fc_ll_store_past(f, a, p->first, value);
    fc_ll_if_else(f, &aligned);
    store_stored(f, a, p->first, NULL, value);
    fc_ll_if_end(f, &aligned);
}

/* What is whole, or not aligned, may be masked as well. */
static void store_either(fc_ll *f, uint32_t a, const place *p, const char *value) {
    const bool past = f->streaming && p->move == FC_MOVE_ONE;
    const char *cond = f->whole;
    fc_ll_if whole;
    if (past && f->aligned) cond = fc_ll_ins(f, "and i1 %s, %s", cond, f->aligned);
    fc_ll_if_begin(f, &whole, cond);
    if (past)
        fc_ll_store_past(f, a, p->first, value);
    else
        store_stored(f, a, p->first, NULL, value);
    fc_ll_if_else(f, &whole);
    store_stored(f, a, p->first, fc_ll_mask_here(f), value);
    fc_ll_if_end(f, &whole);
}

static void scatter(fc_ll *f, uint32_t a, const place *p, const char *stored) {
    const fusec_dtype t = f->k->accesses.at[a].dtype;
    fc_ll_write(f, t, f->V, pointers(f, a, p), true, f->mask, stored);
}

/* The second one to come of two parts stores both. */
static void store_part(fc_ll *f, uint32_t a, const place *p, const char *stored) {
    uint32_t other;
    fc_ll_if whole;
    if (fc_ll_first_of_couple(f, a, stored, &other)) return;
    const char *before = f->waits && other != UINT32_MAX ? f->waits[other] : NULL;
    if (!before || (f->mask && !f->whole)) {
        const place q = before ? find(f, other) : *p;
        if (before) scatter(f, other, &q, before);
        scatter(f, a, p, stored);
    } else {
        const bool first = f->k->accesses.at[a].pair == 1;
        const char *const part[] = {first ? stored : before, first ? before : stored};
        if (f->whole) fc_ll_if_begin(f, &whole, f->whole);
        fc_ll_store_couple(f, a, part);
        if (f->whole) {
            fc_ll_if_else(f, &whole);
            const place q = find(f, other);
            scatter(f, other, &q, before);
            scatter(f, a, p, stored);
            fc_ll_if_end(f, &whole);
        }
    }
    if (before) f->waits[other] = NULL;
}

void fc_ll_store(fc_ll *f, uint32_t access, unsigned W, const char *value) {
    fusec_dtype t = f->k->accesses.at[access].dtype;
    if (W == 1) {
        store_scalar(f, access, row_offset(f, access), value);
        return;
    }
    if (f->tile && f->tile[access]) {
        fc_ll_write(f, t, W, in_tile(f, access), false, NULL, fc_ll_pack(f, t, W, value));
        return;
    }
    place p = find(f, access);
    if (!p.lanes && p.move == FC_MOVE_ZERO) { /* an axis of one element */
        const char *one = fc_ll_ins(f, "extractelement %s %s, i32 0", fc_ll_type(f, t, W), value);
        store_scalar(f, access, p.first, one);
        return;
    }
    const char *stored = fc_ll_pack(f, t, W, value);
    if (fc_ll_is_couple(f, access) && !p.lanes) {
        store_part(f, access, &p, stored);
        return;
    }
    if (p.lanes || p.move == FC_MOVE_ANY) {
        scatter(f, access, &p, stored);
        return;
    }
    if (f->whole)
        store_either(f, access, &p, stored);
    else if (f->streaming && !f->mask && p.move == FC_MOVE_ONE)
        store_past(f, access, &p, stored);
    else
        store_stored(f, access, p.first, f->mask, stored);
}

const char *fc_ll_element(fc_ll *f, uint32_t access, const char *element) {
    return pointer(f, access, element);
}

const char *fc_ll_address(fc_ll *f, uint32_t access, const char *x) {
    const char *at = pointer(f, access, fc_ll_bin(f, "add", row_offset(f, access), x));
    return fc_ll_ins(f, "ptrtoint ptr %s to i64", at);
}

/* ---- stack arrays ------------------------------------------------------------------------ */

/* 16-bit floats lie there as what they are computed in, bool as a byte. */
static fusec_dtype spilled(fusec_dtype t) {
    return fc_is_half(t) ? FUSEC_F32 : t;
}

const char *fc_ll_array(fc_ll *f, fusec_dtype t, unsigned count) {
    return fc_ll_head(f, "alloca [%u x %s], align 64", count, fc_ll_stored(f, spilled(t), 1));
}

static const char *in_array(fc_ll *f, fusec_dtype t, const char *array, const char *at) {
    return fc_ll_index(f, fc_ll_stored(f, spilled(t), 1), array, at);
}

void fc_ll_spill_masked(fc_ll *f, fusec_dtype t, unsigned W, const char *array, const char *at,
                        const char *mask, const char *value) {
    if (t == FUSEC_BOOL) value = fc_ll_pack(f, t, W, value);
    fc_ll_write(f, spilled(t), W, in_array(f, t, array, at), false, mask, value);
}

void fc_ll_spill(fc_ll *f, fusec_dtype t, unsigned W, const char *array, const char *at,
                 const char *value) {
    fc_ll_spill_masked(f, t, W, array, at, NULL, value);
}

const char *fc_ll_fill_masked(fc_ll *f, fusec_dtype t, unsigned W, const char *array,
                              const char *at, const char *mask) {
    const char *v = fc_ll_read(f, spilled(t), W, in_array(f, t, array, at), false, mask);
    return t == FUSEC_BOOL ? fc_ll_unpack(f, t, W, v) : v;
}

const char *fc_ll_fill(fc_ll *f, fusec_dtype t, unsigned W, const char *array, const char *at) {
    return fc_ll_fill_masked(f, t, W, array, at, NULL);
}

/* ---- coordinates ------------------------------------------------------------------------- */

void fc_ll_decompose(fc_ll *f, const char *flat, unsigned lo, unsigned hi, const char **idx) {
    for (unsigned axis = hi; axis-- > lo;) {
        idx[axis] = flat;
        if (axis == lo) break;
        const char *n = fc_ll_extent(f, FC_PLANT(outer_axis, lo, axis));
        const char *q = fc_ll_bin(f, "udiv", flat, n);
        idx[axis] = fc_ll_bin(f, "sub", flat, fc_ll_bin(f, "mul", q, n));
        flat = q;
    }
}

const char *fc_ll_along_axes(fc_ll *f, uint32_t a, const char *first, const char *const *idx,
                             unsigned lo, unsigned hi) {
    for (unsigned axis = lo; axis < hi; axis++)
        first =
            fc_ll_bin(f, "add", first, fc_ll_bin(f, "mul", idx[axis], fc_ll_stride(f, a, axis)));
    return first;
}

void fc_ll_set_base(fc_ll *f, const char *const *idx, unsigned hi) {
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        f->base[a] = fc_ll_along_axes(f, a, fc_ll_offset(f, a), idx, 0, hi);
}
