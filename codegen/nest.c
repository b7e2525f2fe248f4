/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* nest.c - binds a kernel to sizes: numbers for extents and index maps, fewer axes, a shape class.
 *
 * In: a kernel and the values of all dims. Out: a fc_nest. Invariants of the result: no axis of
 * extent 1 unless it is the only kept or the only reduced one; no two neighbouring axes of one kind
 * that every access walks as one; every element an access can touch lies inside its array. */
#include "codegen/nest.h"
#include "codegen/facts.h"
#include "codegen/linear.h"
#include "ir/plant.h"

/* ---- one access ------------------------------------------------------------------------------ */

static fusec_status too_large(fc_error *e) {
    return fc_fail(e, FUSEC_INPUT_SHAPE,
                   "the sizes give an array or a loop of more than 2^63 elements");
}

/* Lowest and highest index of one axis of an access, with all its terms, of loops that are not
 * empty. */
static bool reach(const fc_map *m, const int64_t *values, const int64_t *extent, int64_t *low,
                  int64_t *high) {
    *low = *high = values[m->start];
    for (const fc_map *t = m; t; t = t->next) {
        int64_t span, *to = t->step > 0 ? high : low;
        if (t->axis < 0 || extent[t->axis] <= 0) continue;
        if (!fc_mul_ok(t->step, extent[t->axis] - 1, &span) || !fc_add_ok(*to, span, to))
            return false;
    }
    return true;
}

/* Adds what an axis of an access does to offset and strides. `dense`: the stride of the axis. */
static bool add_axis(const fc_map *m, const int64_t *values, int64_t dense, int64_t *offset,
                     int64_t *stride) {
    int64_t moved, by;
    if (!fc_mul_ok(values[m->start], dense, &moved) || !fc_add_ok(*offset, moved, offset))
        return false;
    for (; m; m = m->next) {
        if (m->axis < 0) continue;
        if (!fc_mul_ok(m->step, dense, &by) || !fc_add_ok(stride[m->axis], by, &stride[m->axis]))
            return false;
    }
    return true;
}

/* From pairs to their parts. */
static bool in_parts(int64_t part, int64_t *offset, int64_t *stride) {
    for (uint32_t i = 0; i < FC_MAX_AXES; i++)
        if (!fc_mul_ok(stride[i], 2, &stride[i])) return false;
    return fc_mul_ok(*offset, 2, offset) && fc_add_ok(*offset, part, offset);
}

static fusec_status bind_access(const fc_access *a, const int64_t *values, const int64_t *given,
                                const int64_t *extent, int64_t *offset, int64_t *stride,
                                fc_error *e) {
    int64_t dense = 1; /* stride of the axis in the array behind the argument */
    for (uint32_t i = a->rank; i-- > 0;) {
        const fc_map *m = &a->map[i];
        const int64_t size = a->shape ? values[a->shape[i]] : 1;
        int64_t low, high;
        if (size < 0) return fc_fail(e, FUSEC_INPUT_SHAPE, "an axis of size %lld", (long long)size);
        if (!reach(m, values, extent, &low, &high)) return too_large(e);
        if (a->buffer != FC_NO_BUFFER && (low < 0 || high >= size))
            return fc_fail(e, FUSEC_INTERNAL,
                           "a kernel indexes an axis of size %lld from %lld to %lld",
                           (long long)size, (long long)low, (long long)high);
        if (!add_axis(m, values, given ? given[i] : dense, offset, stride)) return too_large(e);
        if (!fc_mul_ok(dense, size, &dense)) return too_large(e);
    }
    return a->pair && !in_parts(a->pair - 1, offset, stride) ? too_large(e) : FUSEC_OK;
}

/* Whether the nest touches any element: an access of an empty loop is never made and is not
 * checked. */
static bool any_zero(const int64_t *extent, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (extent[i] == 0) return true;
    return false;
}

/* ---- the order of a map's axes ----------------------------------------------------------------
 */

static void swap_axes(fc_nest *n, uint32_t x, uint32_t y) {
    const int64_t extent = n->extent[x];
    n->extent[x] = n->extent[y];
    n->extent[y] = extent;
    for (uint32_t a = 0; a < n->naccess; a++) {
        int64_t *s = n->stride + (size_t)a * FC_MAX_AXES, by = s[x];
        s[x] = s[y];
        s[y] = by;
    }
}

/* The other way round; where it overflows it stays. */
static void turn_axis(fc_nest *n, uint32_t axis) {
    int64_t last, moved;
    for (uint32_t a = 0; a < n->naccess; a++) {
        const int64_t by = n->stride[(size_t)a * FC_MAX_AXES + axis];
        if (by == INT64_MIN || !fc_mul_ok(by, n->extent[axis] - 1, &last) ||
            !fc_add_ok(n->offset[a], last, &moved))
            return;
    }
    for (uint32_t a = 0; a < n->naccess; a++) {
        int64_t *by = n->stride + (size_t)a * FC_MAX_AXES + axis;
        n->offset[a] += *by * (n->extent[axis] - 1);
        *by = -*by;
    }
}

/* A map whose result is not dense walks it in the order of memory: what is written has its
 * neighbours along the innermost axis, upwards, as it has in a dense one. */
static void follow_result(const fc_kernel *k, fc_nest *n) {
    const int64_t *by = n->stride + (size_t)k->stores.at[0].access * FC_MAX_AXES;
    for (uint32_t i = 0; i < n->np; i++)
        if (by[i] < 0 && n->extent[i] > 1) turn_axis(n, i);
    for (uint32_t i = 1; i < n->np; i++)
        for (uint32_t at = i; at > 0 && fc_magnitude(by[at - 1]) < fc_magnitude(by[at]); at--)
            swap_axes(n, at - 1, at);
}

/* Whether what is loaded for an element, and the elements that are stored, are the same all along a
 * kept axis. */
static bool is_row_axis(const fc_kernel *k, const fc_nest *n, uint32_t axis) {
    for (uint32_t a = 0; a < n->naccess; a++)
        if (k->accesses.at[a].level == FC_POINT && n->stride[(size_t)a * FC_MAX_AXES + axis])
            return false;
    return true;
}

/* Columns of few neighbours (the coordinates of forces between all pairs of points): what lies side
 * by side is then an axis along which the elements are the same, if there is one. */
static void turn_short_columns(const fc_kernel *k, fc_nest *n) {
    enum { FEW = 4 };
    const uint32_t last = n->np - 1;
    uint32_t best = last;
    if (k->schedule != FC_SCHED_OUTER || n->np < 2 || n->extent[last] > FEW) return;
    for (uint32_t i = 0; i < last; i++)
        if (n->extent[i] > FEW && n->extent[i] > n->extent[best] && is_row_axis(k, n, i)) best = i;
    if (best != last) swap_axes(n, best, last);
}

/* ---- fewer axes ------------------------------------------------------------------------------ */

static void remove_axis(fc_nest *n, uint32_t axes, uint32_t axis) {
    for (uint32_t i = axis; i + 1 < axes; i++) n->extent[i] = n->extent[i + 1];
    for (uint32_t a = 0; a < n->naccess; a++) {
        int64_t *s = n->stride + (size_t)a * FC_MAX_AXES;
        for (uint32_t i = axis; i + 1 < axes; i++) s[i] = s[i + 1];
    }
}

/* Whether axis and axis + 1 are walked as one by every access. */
static bool joined(const fc_nest *n, uint32_t axis) {
    for (uint32_t a = FC_PLANTED(merged_axes); a < n->naccess; a++) {
        const int64_t *s = n->stride + (size_t)a * FC_MAX_AXES;
        int64_t whole;
        if (!fc_mul_ok(s[axis + 1], n->extent[axis + 1], &whole) || whole != s[axis]) return false;
    }
    return true;
}

/* Whether rows stay rows: what reads several of an array can share them (codegen/cuda/cuda_stack.c)
 * where they are long. */
static bool keeps_rows(const fc_kernel *k, const fc_nest *n) {
    enum { SEVERAL = 2, LONG = 1024 };
    return k->schedule == FC_SCHED_MAP && n->np > 1 && n->extent[n->np - 1] >= LONG &&
           fc_reads_other_rows(k) >= SEVERAL;
}

/* Drops and merges within axes [from, from + *count), the last of which stays as it is if `keep`.
 * Strides still stand FC_MAX_AXES apart. */
static fusec_status simplify(fc_nest *n, uint32_t from, uint32_t *count, bool keep, fc_error *e) {
    for (uint32_t i = from; i < from + *count;) {
        if (n->extent[i] == 1) {
            remove_axis(n, n->np + n->nr, i);
            *count -= 1;
        } else {
            i++;
        }
    }
    for (uint32_t i = from; i + 1 < from + *count;) {
        if (!joined(n, i) || (keep && i + 2 == from + *count)) {
            i++;
            continue;
        }
        int64_t both;
        if (!fc_mul_ok(n->extent[i], n->extent[i + 1], &both)) return too_large(e);
        n->extent[i + 1] = both; /* the inner stride serves for both */
        remove_axis(n, n->np + n->nr, i);
        *count -= 1;
    }
    return FUSEC_OK;
}

/* Puts an axis of extent 1 at `at`. There is room: one was dropped, or there was none. */
static void insert_axis(fc_nest *n, uint32_t axes, uint32_t at) {
    for (uint32_t i = axes; i > at; i--) n->extent[i] = n->extent[i - 1];
    n->extent[at] = 1;
    for (uint32_t a = 0; a < n->naccess; a++) {
        int64_t *s = n->stride + (size_t)a * FC_MAX_AXES;
        for (uint32_t i = axes; i > at; i--) s[i] = s[i - 1];
        s[at] = 0;
    }
}

static void pack_strides(fc_nest *n) {
    uint32_t axes = n->np + n->nr;
    for (uint32_t a = 0; a < n->naccess; a++)
        for (uint32_t i = 0; i < axes; i++)
            n->stride[(size_t)a * axes + i] = n->stride[(size_t)a * FC_MAX_AXES + i];
}

/* ---- totals ---------------------------------------------------------------------------------- */

static fusec_status product(const int64_t *v, uint32_t n, int64_t *out, fc_error *e) {
    *out = any_zero(v, n) ? 0 : 1;
    for (uint32_t i = 0; i < n && *out; i++)
        if (!fc_mul_ok(*out, v[i], out)) return too_large(e);
    return FUSEC_OK;
}

/* How far from the offset of an access those of all strips are at most. */
static int64_t most_moved(const fc_nest *n, const fc_nest_cut *cut, uint32_t access) {
    int64_t most = 0;
    for (uint32_t s = 0; cut && s < cut->count; s++) {
        const int64_t by = fc_magnitude(cut->moved[(size_t)s * n->naccess + access]);
        if (by > most) most = by;
    }
    return most;
}

static bool is_far(const fc_nest *n, const fc_nest_cut *cut) {
    if (n->rows > FC_NARROW_MAX || n->count > FC_NARROW_MAX) return true;
    uint32_t axes = n->np + n->nr;
    for (uint32_t a = 0; a < n->naccess; a++) {
        int64_t reach = fc_magnitude(n->offset[a]);
        if (!fc_add_ok(reach, most_moved(n, cut, a), &reach)) return true;
        for (uint32_t i = 0; i < axes; i++) {
            int64_t span, steps = n->extent[i] > 0 ? n->extent[i] - 1 : 0;
            if (!fc_mul_ok(fc_magnitude(n->stride[(size_t)a * axes + i]), steps, &span) ||
                !fc_add_ok(reach, span, &reach))
                return true;
        }
        if (reach > FC_NARROW_MAX) return true;
    }
    return false;
}

static fusec_status bind_extents(const fc_kernel *k, const int64_t *values, fc_nest *n,
                                 fc_error *e) {
    for (uint32_t i = 0; i < k->np + k->nr; i++) {
        n->extent[i] = values[k->extent[i]];
        if (n->extent[i] < 0)
            return fc_fail(e, FUSEC_INPUT_SHAPE, "an axis of size %lld", (long long)n->extent[i]);
    }
    return FUSEC_OK;
}

static fusec_status bind_accesses(const fc_kernel *k, const int64_t *values,
                                  const int64_t *const *strides, fc_nest *n, fc_error *e) {
    bool no_rows = any_zero(n->extent, k->np), no_points = any_zero(n->extent + k->np, k->nr);
    for (uint32_t a = 0; a < n->naccess; a++) {
        const fc_access *acc = &k->accesses.at[a];
        if (no_rows || (no_points && acc->level == FC_POINT))
            continue; /* never made; strides stay 0 */
        FC_TRY(bind_access(acc, values, strides ? strides[a] : NULL, n->extent, &n->offset[a],
                           n->stride + (size_t)a * FC_MAX_AXES, e));
    }
    return FUSEC_OK;
}

/* From all rows, whose accesses are known to stay inside, to one strip of them. */
static fusec_status cut_rows(const fc_kernel *k, const fc_nest_cut *cut, fc_nest *n, fc_error *e) {
    const uint32_t axes = k->np + k->nr;
    for (uint32_t s = 0; s < cut->count; s++)
        for (uint32_t a = 0; a < n->naccess; a++) {
            int64_t *moved = cut->moved + (size_t)s * n->naccess + a, by;
            const int64_t *base = cut->base[a];
            *moved = 0;
            for (uint32_t i = 0; i < axes; i++) {
                const size_t at = (size_t)s * axes + i;
                if (!fc_mul_ok(cut->start[at] - (base ? base[at] : 0),
                               n->stride[(size_t)a * FC_MAX_AXES + i], &by) ||
                    !fc_add_ok(*moved, by, moved))
                    return too_large(e);
            }
        }
    memcpy(n->extent, cut->extent, axes * sizeof *n->extent);
    return FUSEC_OK;
}

static void join_offsets(const fc_nest *n, const fc_nest_cut *cut) {
    for (uint32_t a = 0; a < n->naccess; a++) {
        cut->all[a] = n->offset[a];
        for (uint32_t s = 0; s < cut->count; s++)
            cut->all[a] |= n->offset[a] + cut->moved[(size_t)s * n->naccess + a];
    }
}

fusec_status fc_nest_bind(const fc_kernel *k, const int64_t *values, fc_arena *arena, fc_nest *out,
                          fc_error *e) {
    return fc_nest_bind_strided(k, values, NULL, arena, out, e);
}

static fusec_status bind(const fc_kernel *k, const int64_t *values, const int64_t *const *strides,
                         const fc_nest_cut *cut, bool plain, fc_arena *arena, fc_nest *out,
                         fc_error *e) {
    memset(out, 0, sizeof *out);
    out->np = k->np;
    out->nr = k->nr;
    out->naccess = (uint32_t)k->accesses.len;
    out->offset = fc_arena_alloc(arena, (out->naccess + 1) * sizeof *out->offset);
    out->stride =
        fc_arena_alloc(arena, (size_t)(out->naccess + 1) * FC_MAX_AXES * sizeof *out->stride);
    out->number = fc_arena_alloc(arena, (k->params.len + 1) * sizeof *out->number);
    if (!out->offset || !out->stride || !out->number) return fc_oom(e);
    FC_TRY(bind_extents(k, values, out, e));
    FC_TRY(bind_accesses(k, values, strides, out, e));
    if (cut) FC_TRY(cut_rows(k, cut, out, e));
    if (strides && k->schedule == FC_SCHED_MAP && k->stores.len) follow_result(k, out);
    if (cut) join_offsets(out, cut);
    if (!plain && !fc_is_ragged(k)) { /* the ends of rows are of the kernel's own axes */
        turn_short_columns(k, out);
        FC_TRY(simplify(out, out->np, &out->nr, false, e));
        FC_TRY(simplify(out, 0, &out->np, keeps_rows(k, out), e));
    }
    if (out->np == 0) {
        if (out->nr == FC_MAX_AXES)
            return fc_fail(e, FUSEC_LIMIT, "more than %d axes", FC_MAX_AXES - 1);
        insert_axis(out, out->nr, 0);
        out->np = 1;
    }
    if (out->nr == 0 && k->nstages) {
        if (out->np == FC_MAX_AXES)
            return fc_fail(e, FUSEC_LIMIT, "more than %d axes", FC_MAX_AXES - 1);
        insert_axis(out, out->np, out->np);
        out->nr = 1;
    }
    pack_strides(out);
    FC_TRY(product(out->extent, out->np, &out->rows, e));
    FC_TRY(product(out->extent + out->np, out->nr, &out->count, e));
    for (size_t i = 0; i < k->params.len; i++)
        out->number[i] = k->params.at[i].is_dim ? values[k->params.at[i].source] : 0;
    out->points = fc_mul_most(out->rows, out->count);
    if (fc_is_ragged(k)) { /* rows share the elements, for all columns side by side */
        const bool columns = k->schedule == FC_SCHED_OUTER;
        out->points = fc_mul_most(columns ? out->extent[out->np - 1] : 1, out->count);
    }
    for (size_t i = 0; i < k->updates.len; i++) {
        const int64_t size = values[k->params.at[k->updates.at[i].size].source];
        if (size > out->updated) out->updated = size;
    }
    out->empty = out->rows == 0;
    int64_t total;
    out->far = is_far(out, cut);
    out->wide = out->far || !fc_mul_ok(out->rows, out->count, &total) || total > FC_NARROW_MAX;
    return FUSEC_OK;
}

fusec_status fc_nest_bind_strided(const fc_kernel *k, const int64_t *values,
                                  const int64_t *const *strides, fc_arena *arena, fc_nest *out,
                                  fc_error *e) {
    return bind(k, values, strides, NULL, false, arena, out, e);
}

fusec_status fc_nest_bind_cut(const fc_kernel *k, const int64_t *values,
                              const int64_t *const *strides, const fc_nest_cut *cut,
                              fc_arena *arena, fc_nest *out, fc_error *e) {
    return bind(k, values, strides, cut, false, arena, out, e);
}

fusec_status fc_nest_bind_plain(const fc_kernel *k, const int64_t *values,
                                const int64_t *const *strides, fc_arena *arena, fc_nest *out,
                                fc_error *e) {
    return bind(k, values, strides, NULL, true, arena, out, e);
}

/* ---- the class ------------------------------------------------------------------------------- */

fusec_status fc_class_of(const fc_nest *n, fc_target_kind target, fc_arena *arena, fc_class *out,
                         fc_error *e) {
    uint32_t axes = n->np + n->nr;
    memset(out, 0, sizeof *out);
    out->np = (uint8_t)n->np;
    out->nr = (uint8_t)n->nr;
    out->wide = n->wide;
    out->target = target;
    out->vector = 1;
    out->naccess = n->naccess;
    uint8_t *move = fc_arena_alloc(arena, (size_t)n->naccess * axes + 1);
    if (!move) return fc_oom(e);
    for (size_t i = 0; i < (size_t)n->naccess * axes; i++) {
        uint32_t axis = (uint32_t)(i % axes);
        int64_t s = n->stride[i];
        bool one = (s == 1 || (FC_PLANTED(stride_two) && s == 2)) &&
                   axis + 1 >= n->np; /* of outer kept axes only zero or not matters */
        move[i] = (uint8_t)(s == 0 ? FC_MOVE_ZERO : one ? FC_MOVE_ONE : FC_MOVE_ANY);
    }
    out->move = move;
    return FUSEC_OK;
}

/* ---- reports ----------------------------------------------------------------------------------
 */

static void raise_to(uint64_t *word, uint64_t v) {
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (old < v &&
           !__atomic_compare_exchange_n(word, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

void fc_report_outside(uint64_t *report, uint32_t check, int64_t position, int64_t value) {
    const uint64_t key = ~(uint64_t)position;
    raise_to(report + 2 * (size_t)check, key);
    raise_to(report + 2 * (size_t)check + 1, key << 32 | (uint32_t)fc_report_value(value));
}

/* ---- the parameter block --------------------------------------------------------------------- */

void fc_nest_fill(const fc_kernel *k, const fc_nest *n, const int64_t *values, void *const *args,
                  const uint64_t *scalars, int64_t *words) {
    uint32_t axes = n->np + n->nr;
    fc_layout l = fc_layout_of((uint32_t)k->args.len, axes, n->naccess, (uint32_t)k->params.len);
    memset(words, 0, l.words * sizeof *words);
    for (size_t i = 0; i < k->args.len; i++) words[l.args + i] = (int64_t)(intptr_t)args[i];
    for (uint32_t i = 0; i < axes; i++) words[l.extents + i] = n->extent[i];
    for (uint32_t a = 0; a < n->naccess; a++) {
        int64_t *w = words + l.accesses + (size_t)a * (1 + axes);
        w[0] = n->offset[a];
        memcpy(w + 1, n->stride + (size_t)a * axes, axes * sizeof *w);
    }
    for (size_t i = 0; i < k->params.len; i++) {
        const fc_scalar *p = &k->params.at[i];
        words[l.params + i] = p->function ? (int64_t)(uintptr_t)p->function
                              : p->is_dim ? values[p->source]
                                          : (int64_t)scalars[i];
    }
    words[l.extra + FC_PB_ROWS] = n->rows;
    words[l.extra + FC_PB_COUNT] = n->count;
}

/* ---- what it touches ------------------------------------------------------------------------- */

double fc_nest_touches(const fc_kernel *k, const fc_nest *n, uint32_t a) {
    if (k->accesses.at[a].buffer == FC_NO_BUFFER) return 0;
    double size = fc_dtypes[k->accesses.at[a].dtype].bytes;
    const uint32_t axes = n->np + n->nr;
    for (uint32_t i = 0; i < axes; i++)
        if (n->stride[(size_t)a * axes + i] != 0) size *= (double)n->extent[i];
    return size;
}

double fc_nest_bytes(const fc_kernel *k, const fc_nest *n, bool loaded) {
    double all = 0;
    for (uint32_t a = 0; a < n->naccess; a++) {
        uint32_t first = 0;
        while (k->accesses.at[first].buffer != k->accesses.at[a].buffer) first++;
        if (first == a && !(loaded && fc_is_stored(k, a))) all += fc_nest_touches(k, n, a);
    }
    return all;
}
