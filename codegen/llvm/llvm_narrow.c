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
 * stack array for all stages, unless rows are shorter than half a vector: then it is gathered, and
 * light code is written out for the elements of the row, whose number is in the class. Results that
 * lie along the rows take the same way back. Sums of rows and the like need no tiles (`packed`,
 * llvm_packed.c).
 *
 * `shared`: what is gathered or transposed does not change along the kept axis before the
 * innermost one, as in the distances between all points of two sets. A unit is then a block of both
 * axes, and what is shared is brought to the stack once for all rows of the block. */
#include "codegen/llvm/llvm_text.h"

/* Elements that are combined at a time, and the level of the counter that this makes; levels of the
 * counter for the FC_LANES elements of a row; steps of code that is written out for a group. */
enum { GROUP = 8, GROUP_LEVEL = 3, LEVELS = 8, SHORT = 8 };

/* A block of columns; `shared` are the stack arrays that all rows of the block read, by access. */
typedef struct block {
    const char *idx[FC_MAX_AXES];
    const char *x0, *x1, *width;
    const char **shared;
    fc_ll_masks masks;
} block;

static bool is_shared(const fc_ll *f, uint32_t a) {
    return f->cls->llvm.shared && f->k->accesses.at[a].level == FC_POINT &&
           f->k->accesses.at[a].buffer != FC_NO_BUFFER && !fc_is_stored(f->k, a) &&
           fc_class_move(f->cls, a, f->cls->np - 1u) == FC_MOVE_ANY &&
           fc_class_move(f->cls, a, f->cls->np - 2u) == FC_MOVE_ZERO;
}

/* ---- tiles ------------------------------------------------------------------------------- */

/* Elements [r, r + n) of the V columns at f->x. */
static void move_tile(fc_ll *f, uint32_t a, bool out, const char *r, const char *n) {
    const char *by = fc_ll_bin(f, "mul", f->x, fc_ll_stride(f, a, f->lane_axis));
    const char *element = fc_ll_bin(f, "add", fc_ll_bin(f, "add", f->base[a], r), by);
    const char *tile = fc_ll_ins(f, "getelementptr %s, ptr %s, i64 %s",
                                 fc_ll_stored(f, f->k->accesses.at[a].dtype, 1), f->tile[a],
                                 fc_ll_bin(f, "mul", r, fc_ll_fmt(f, "%u", f->V)));
    fc_ll_move_tile(
        f, a, out, element, fc_ll_fmt(f, "%u", f->V - 1), n, tile, f->V,
        fc_ll_bin(f, "mul", fc_ll_stride(f, a, f->lane_axis), fc_ll_fmt(f, "%u", f->V)));
}

/* Between memory and the tiles: shared loads, other loads, or (`out`) results. */
static void all_tiles(fc_ll *f, bool out, bool shared, const char *count) {
    fc_ll_loop l;
    uint32_t any = 0;
    const char *r = NULL;
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        if (!fc_ll_is_tiled(f, a) || fc_is_stored(f->k, a) != out || is_shared(f, a) != shared)
            continue;
        if (!any++) r = fc_ll_for(f, &l, "0", count);
        move_tile(f, a, out, r, fc_ll_bin(f, "sub", count, r));
    }
    if (any) fc_ll_for_end(f, &l, fc_ll_fmt(f, "%u", f->V));
}

/* ---- the tree ---------------------------------------------------------------------------- */

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

/* A row of so few elements that each is written out: the same tree. */
static void reduce_few(fc_ll *f, const fc_ll_stage *st) {
    const char **part[GROUP], **acc;
    unsigned n = 0;
    for (unsigned i = 0; i < f->cls->llvm.row_elements; i++) {
        part[n++] = element(f, st, fc_ll_fmt(f, "%u", i));
        for (unsigned number = i; number & 1; number /= 2, n--)
            part[n - 2] = fc_ll_combine(f, st, f->V, part[n - 2], part[n - 1]);
    }
    for (acc = part[--n]; n > 0; n--) acc = fc_ll_combine(f, st, f->V, part[n - 1], acc);
    finish(f, st, acc);
}

/* ---- columns ----------------------------------------------------------------------------- */

static void reduce_columns(fc_ll *f, const fc_ll_stage *st, const fc_ll_masks *masks) {
    if (f->cls->llvm.packed)
        finish(f, st, fc_ll_packed(f, st, masks));
    else if (f->cls->llvm.row_elements)
        reduce_few(f, st);
    else
        reduce(f, st, fc_ll_extra(f, FC_PB_COUNT));
}

static void columns(fc_ll *f, const fc_ll_masks *masks) {
    const char *count = fc_ll_extra(f, FC_PB_COUNT);
    f->column = "0";
    fc_ll_forget(f);
    all_tiles(f, false, false, count);
    for (uint32_t s = 0; s < f->k->nstages; s++) {
        fc_ll_emit_rows(f, f->stage[s].needed);
        reduce_columns(f, &f->stage[s], masks);
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
    all_tiles(f, true, false, count);
}

static void arrays(fc_ll *f, block *b) {
    const bool packed = f->cls->llvm.packed;
    for (uint32_t s = 0; s < f->k->nstages; s++) {
        if (packed)
            f->stage[s].lanes = fc_ll_arrays(f, &f->stage[s], f->V * f->V);
        else
            f->stage[s].levels = fc_ll_arrays(f, &f->stage[s], LEVELS * f->V);
    }
    for (uint32_t i = 0; i < f->k->reductions.len; i++)
        f->red[i].memory = fc_ll_array(f, fc_red_dtype(f->red[i].op, f->red[i].t), f->V);
    const unsigned elements = fc_ll_narrow_elements(f->cls);
    f->tile = fc_ll_names(f, f->cls->naccess);
    b->shared = fc_ll_names(f, f->cls->naccess);
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        const bool shared = is_shared(f, a);
        if (!shared && !fc_ll_is_tiled(f, a)) continue;
        const unsigned width = shared ? FC_LL_TILE : f->V;
        f->tile[a] = fc_ll_head(f, "alloca [%u x %s], align 64", width * elements,
                                fc_ll_stored(f, f->k->accesses.at[a].dtype, 1));
        if (shared) b->shared[a] = f->tile[a];
    }
}

/* The V columns at x of the block. */
static void at_columns(fc_ll *f, const block *b, const char *x) {
    f->x = fc_ll_min(f, x, fc_ll_bin(f, "sub", b->width, fc_ll_fmt(f, "%u", f->V)));
    for (uint32_t a = 0; a < f->cls->naccess; a++) {
        if (!b->shared[a]) continue;
        const char *column = fc_ll_bin(f, "sub", x, b->x0);
        f->tile[a] = fc_ll_ins(f, "getelementptr %s, ptr %s, i64 %s",
                               fc_ll_stored(f, f->k->accesses.at[a].dtype, 1), b->shared[a],
                               fc_ll_bin(f, "mul", column, fc_ll_extra(f, FC_PB_COUNT)));
    }
}

static void gather_shared(fc_ll *f, uint32_t a, const char *count) {
    fc_ll_loop l;
    const char *tile = f->tile[a];
    at_element(f, fc_ll_for(f, &l, "0", count));
    f->tile[a] = NULL;
    const char *v = fc_ll_load(f, a, f->V);
    f->tile[a] = tile;
    fc_ll_store(f, a, f->V, v);
    f->element = NULL;
    fc_ll_for_end(f, &l, "1");
}

static void fill_shared(fc_ll *f, const block *b) {
    fc_ll_loop l;
    const char *count = fc_ll_extra(f, FC_PB_COUNT);
    const char *x = fc_ll_for(f, &l, b->x0, b->x1);
    at_columns(f, b, x);
    for (uint32_t a = 0; a < f->cls->naccess; a++)
        if (b->shared[a] && !fc_ll_is_tiled(f, a)) gather_shared(f, a, count);
    fc_ll_forget(f);
    if (f->cls->llvm.tiles) all_tiles(f, false, true, count);
    fc_ll_for_end(f, &l, fc_ll_fmt(f, "%u", f->V));
}

static void row_of_block(fc_ll *f, const block *b) {
    fc_ll_loop l;
    fc_ll_set_base(f, b->idx, f->lane_axis);
    at_columns(f, b, fc_ll_for(f, &l, b->x0, b->x1));
    columns(f, &b->masks);
    fc_ll_for_end(f, &l, fc_ll_fmt(f, "%u", f->V));
}

static void shared_block(fc_ll *f, block *b, const char *n) {
    fc_ll_loop rows;
    const unsigned axis = f->cls->np - 2u;
    const char *y0, *y1;
    n = fc_ll_take_tile(f, n, axis, &y0, &y1);
    if (axis) fc_ll_decompose(f, n, 0, axis, b->idx);
    b->idx[axis] = y0;
    fc_ll_set_base(f, b->idx, f->lane_axis);
    fill_shared(f, b);
    b->idx[axis] = fc_ll_for(f, &rows, y0, y1);
    row_of_block(f, b);
    fc_ll_for_end(f, &rows, "1");
}

void fc_ll_narrow(fc_ll *f) {
    fc_ll_loop units;
    block b = {.masks = {NULL, NULL}};
    const unsigned outer = f->cls->np - 1u;
    fc_ll_begin(f);
    arrays(f, &b);
    fc_ll_choose_kept(f, f->V * FC_LANES);
    if (f->cls->llvm.packed) b.masks = fc_ll_row_masks(f);
    b.width = fc_ll_extent(f, outer);
    const char *n = fc_ll_for(f, &units, "%begin", "%end");
    n = fc_ll_take_tile(f, n, outer, &b.x0, &b.x1);
    if (f->cls->llvm.shared) {
        shared_block(f, &b, n);
    } else {
        if (outer) fc_ll_decompose(f, n, 0, outer, b.idx);
        row_of_block(f, &b);
    }
    fc_ll_for_end(f, &units, "1");
    f->tile = NULL;
    fc_ll_end(f, "");
}
