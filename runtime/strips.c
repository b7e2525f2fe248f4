/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* strips.c - see strips.h: which steps are done strip by strip, and where the strips are cut; what
 * is made of it is in strips_bind.c. Deterministic: the first step that begins a chain takes the
 * longest. */
#include "runtime/strips.h"

#include "ir/plant.h"

enum {
    MOST_STEPS = 16,          /* of a chain */
    MOST_LAUNCHES = 2048,     /* of a chain; strips are longer where there would be more */
    LEAST_ROWS = 64,          /* of an inner axis */
    ROWS = 16,                /* they are a multiple of this */
    PARTS = 3,                /* strips for each thread at least */
    HOST_BYTES = 1 << 20,     /* of what a strip passes on, on a CPU whose cache is not known */
    DEVICE_BYTES = 128 << 20, /* the same on a GPU, all of which it keeps busy */
    CACHES = 3,               /* or so many times its second-level cache, if that is known */
    WORTH = 2,                /* times that, uncut, are worth strips */
    OTHERS = 4,               /* and times the bytes of arrays that strips read again */
    AGAIN = 3                 /* a strip has so many times the rows that its neighbours make, too */
};

typedef struct search {
    const fc_program *p;
    fc_bound *b;
    size_t bytes;     /* of what a strip passes on */
    uint32_t threads; /* that do strips side by side */
    /* of the chain that is looked at */
    uint32_t lo, hi;
    uint16_t *same;  /* [steps][FC_MAX_AXES] another axis that is the same one, as a forest */
    uint8_t *broken; /* [steps][FC_MAX_AXES] some array is not read where it is written */
    uint32_t around; /* steps by whose axis 0 rows around its own are read, as bits */
    size_t passed;
} search;

static const fc_kernel *kernel_of(const search *x, uint32_t step) {
    return &x->p->plan->steps.at[step]->kernel;
}

static const fc_buffer *buffer_of(const search *x, uint32_t buffer) {
    return &x->p->plan->buffers.at[buffer];
}

static bool is_inside(const search *x, const fc_buffer *b) { /* written in the chain */
    return b->writer != FC_NO_STEP && b->writer >= x->lo && b->writer <= x->hi;
}

/* Needed by its steps alone. */
static bool is_passed(const search *x, const fc_buffer *b) {
    return is_inside(x, b) && b->kind == FC_BUF_TEMP && !b->mixed &&
           (b->last_reader == FC_NO_STEP || b->last_reader <= x->hi);
}

/* ---- axes that are the same one ----------------------------------------------------------------
 */

static uint32_t number_of(const search *x, uint32_t step, uint32_t axis) {
    return (step - x->lo) * FC_MAX_AXES + axis;
}

static uint32_t root_of(const search *x, uint32_t at) {
    while (x->same[at] != at) at = x->same[at];
    return at;
}

static void unite(search *x, uint32_t a, uint32_t b) {
    a = root_of(x, a);
    b = root_of(x, b);
    x->broken[a] |= x->broken[b];
    x->same[b] = (uint16_t)a;
}

/* Walked by one axis of the kernel, from its first element on. */
static bool is_simple(const search *x, const fc_map *m) {
    return m->axis >= 0 && m->step == 1 && !m->next && !x->b->values[m->start];
}

static void mark_broken(search *x, uint32_t step, const fc_map *m) {
    for (; m; m = m->next)
        if (m->axis >= 0) x->broken[root_of(x, number_of(x, step, (uint32_t)m->axis))] = 1;
}

/* The one access by which its writer stores an array; NULL: there are several. */
static const fc_access *store_to(const search *x, uint32_t buffer) {
    const fc_kernel *k = kernel_of(x, buffer_of(x, buffer)->writer);
    const fc_access *found = NULL;
    for (size_t i = 0; i < k->stores.len; i++) {
        const fc_access *a = &k->accesses.at[k->stores.at[i].access];
        if (k->args.at[a->buffer].buffer != buffer) continue;
        if (found) return NULL;
        found = a;
    }
    return found;
}

/* Whether rows of a step read rows of an argument not far from them, the first axes of both. */
static bool reads_around(const search *x, const fc_arg *a) {
    return x->p->device->host_memory && a->reach.kind == FC_REACH_ROWS;
}

/* Axis `i` of an array is walked by two steps. */
static void join_axes(search *x, uint32_t from, const fc_map *w, uint32_t s, const fc_map *r,
                      bool around) {
    if (is_simple(x, w) && (around || is_simple(x, r))) {
        unite(x, number_of(x, from, (uint32_t)w->axis),
              number_of(x, s, around ? 0 : (uint32_t)r->axis));
    } else {
        mark_broken(x, s, r);
        mark_broken(x, from, w);
    }
}

/* What step `s` reads by access `a` of an array that an earlier one writes. */
static bool follow_read(search *x, uint32_t s, const fc_access *a, uint32_t buffer) {
    const fc_arg *arg = &kernel_of(x, s)->args.at[a->buffer];
    const uint32_t from = buffer_of(x, buffer)->writer;
    const fc_access *w = store_to(x, buffer);
    if (!w || buffer_of(x, buffer)->mixed || from >= s || a->rank != w->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++) {
        const bool around = !i && !is_simple(x, a->map) && reads_around(x, arg);
        if (x->b->values[a->shape[i]] != x->b->values[w->shape[i]]) return false;
        join_axes(x, from, &w->map[i], s, &a->map[i], around);
        if (around) x->around |= 1u << (s - x->lo);
    }
    return true;
}

/* What it reads at computed places: near its own row, but anywhere on other axes. */
static bool follow_places(search *x, uint32_t s, const fc_arg *arg) {
    const fc_kernel *k = kernel_of(x, s);
    const fc_buffer *b = buffer_of(x, arg->buffer);
    const uint32_t from = b->writer;
    const fc_access *w = store_to(x, arg->buffer);
    if (!w || b->mixed || from >= s || !w->rank || !reads_around(x, arg)) return false;
    join_axes(x, from, &w->map[0], s, &w->map[0], true);
    for (uint32_t i = 1; i < w->rank; i++) mark_broken(x, from, &w->map[i]);
    for (uint32_t i = 1; i < k->np + k->nr; i++) x->broken[root_of(x, number_of(x, s, i))] = 1;
    x->around |= 1u << (s - x->lo);
    return true;
}

static bool follow_step(search *x, uint32_t s) {
    const fc_kernel *k = kernel_of(x, s);
    const size_t words = fc_layout_of((uint32_t)k->args.len, k->np + k->nr,
                                      (uint32_t)k->accesses.len, (uint32_t)k->params.len)
                             .words;
    if (x->p->plan->steps.at[s]->kind != FC_STEP_KERNEL || k->updates.len || k->checks.len)
        return false;
    if (words > FC_ALIKE_WORDS || x->b->steps[s].joined) return false;
    for (uint32_t i = 0; i < k->np; i++)
        if (!x->b->values[k->extent[i]]) return false; /* nothing to do, and no code */
    for (size_t a = 0; a < k->accesses.len; a++) {
        const fc_access *acc = &k->accesses.at[a];
        if (acc->buffer == FC_NO_BUFFER || k->args.at[acc->buffer].written) continue;
        const uint32_t buffer = k->args.at[acc->buffer].buffer;
        if (is_inside(x, buffer_of(x, buffer)) && !follow_read(x, s, acc, buffer)) return false;
    }
    for (size_t i = 0; i < k->code.ins.len; i++) {
        const fc_instr *in = &k->code.ins.at[i];
        if (in->op != FC_OP_LOAD_AT) continue;
        const fc_arg *arg = &k->args.at[in->imm];
        if (is_inside(x, buffer_of(x, arg->buffer)) && !follow_places(x, s, arg)) return false;
    }
    return true;
}

/* The axis of a step that is `root`; UINT32_MAX: none, or several are. */
static uint32_t axis_in(const search *x, uint32_t step, uint32_t root) {
    const fc_kernel *k = kernel_of(x, step);
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < k->np + k->nr; i++) {
        if (root_of(x, number_of(x, step, i)) != root) continue;
        if (found != UINT32_MAX || i >= k->np) return UINT32_MAX;
        found = i;
    }
    return found;
}

static bool is_stored_along(const search *x, const fc_kernel *k, uint32_t axis) {
    for (size_t i = 0; i < k->stores.len; i++) {
        const fc_access *a = &k->accesses.at[k->stores.at[i].access];
        bool found = false;
        for (uint32_t d = 0; d < a->rank; d++)
            found |= is_simple(x, &a->map[d]) && a->map[d].axis == (int32_t)axis;
        if (!found) return false;
    }
    return true;
}

/* Whether it writes what is needed outside of the chain. */
static bool makes_results(const search *x, uint32_t step) {
    const fc_kernel *k = kernel_of(x, step);
    for (size_t a = 0; a < k->args.len; a++)
        if (k->args.at[a].written && !is_passed(x, buffer_of(x, k->args.at[a].buffer))) return true;
    return false;
}

static int64_t rows_of(const search *x, uint32_t step, uint32_t root) {
    return x->b->values[kernel_of(x, step)->extent[axis_in(x, step, root)]];
}

/* All steps have the axis, those with results one of the same size, of which rows around are read
 * along no other one. */
static bool can_cut(const search *x, uint32_t root, int64_t *whole) {
    *whole = -1;
    if (x->broken[root]) return false;
    for (uint32_t s = x->lo; s <= x->hi; s++) {
        const uint32_t axis = axis_in(x, s, root);
        if (axis == UINT32_MAX || !is_stored_along(x, kernel_of(x, s), axis)) return false;
        if ((x->around >> (s - x->lo) & 1) && axis) return false;
        const int64_t own = rows_of(x, s, root);
        if (own < 1 || (*whole >= 0 && own != *whole && makes_results(x, s))) return false;
        if (makes_results(x, s)) *whole = own;
    }
    return *whole > 0;
}

/* ---- a chain -----------------------------------------------------------------------------------
 */

/* Whether strips along an axis of a step read parts of an argument. */
static bool is_parted(const fc_kernel *k, uint32_t arg, uint32_t axis) {
    bool any = k->args.at[arg].reach.kind == FC_REACH_ROWS && !axis;
    for (size_t i = 0; i < k->accesses.len; i++) {
        const fc_access *a = &k->accesses.at[i];
        bool found = false;
        if (a->buffer != arg) continue;
        for (uint32_t d = 0; d < a->rank; d++)
            for (const fc_map *m = &a->map[d]; m; m = m->next) found |= m->axis == (int32_t)axis;
        if (!found) return false;
        any = true;
    }
    return any;
}

static size_t count_passed(const search *x) {
    size_t bytes = 0;
    for (uint32_t s = x->lo; s <= x->hi; s++) {
        const fc_kernel *k = kernel_of(x, s);
        for (size_t a = 0; a < k->args.len; a++) {
            const uint32_t buffer = k->args.at[a].buffer;
            if (k->args.at[a].written && is_passed(x, buffer_of(x, buffer)))
                bytes += x->b->bytes[buffer];
        }
    }
    return bytes;
}

/* Bytes of what comes from outside and is read anew for each strip. */
static size_t count_again(const search *x, uint32_t root) {
    size_t bytes = 0;
    for (size_t i = 0; i < x->p->plan->buffers.len; i++) {
        bool again = false;
        for (uint32_t s = x->lo; s <= x->hi && !is_inside(x, buffer_of(x, (uint32_t)i)); s++)
            for (uint32_t a = 0; a < kernel_of(x, s)->args.len; a++)
                again |= kernel_of(x, s)->args.at[a].buffer == i &&
                         !is_parted(kernel_of(x, s), a, axis_in(x, s, root));
        if (again) bytes += x->b->bytes[i];
    }
    return bytes;
}

/* The axes that can be cut, those of the first step outermost first; gives their number. Where rows
 * around are read there is one. */
static uint32_t find_axes(search *x, uint32_t roots[FC_MAX_AXES], int64_t whole[FC_MAX_AXES]) {
    const fc_kernel *k = kernel_of(x, x->lo);
    uint32_t n = 0;
    for (uint32_t i = 0; i < (x->hi - x->lo + 1) * FC_MAX_AXES; i++) {
        x->same[i] = (uint16_t)i;
        x->broken[i] = 0;
    }
    x->around = 0;
    for (uint32_t s = x->lo; s <= x->hi; s++)
        if (!follow_step(x, s)) return 0;
    for (uint32_t i = 0; i < k->np; i++) {
        const uint32_t root = root_of(x, number_of(x, x->lo, i));
        if (can_cut(x, root, &whole[n])) roots[n++] = root;
    }
    return n;
}

/* As many rows of an axis of `all` as are at most `most`, of which whole strips come to all, if
 * that is half as many at least. */
static int64_t even_rows(int64_t all, int64_t most) {
    for (int64_t rows = most; rows > most / 2; rows--)
        if (all % rows == 0 && (rows % ROWS == 0 || rows < ROWS)) return rows;
    most = fc_ceil_div(all, fc_ceil_div(all, most));
    most = most > ROWS ? fc_ceil_div(most, ROWS) * ROWS : most;
    return most < all ? most : all;
}

/* Outer axes are cut to 1 until a strip is small, the last one to as many rows as are not, and to
 * fewer where threads would have nothing to do. */
static void choose_extents(const search *x, fc_strips *c) {
    size_t bytes = x->passed;
    int64_t outer = 1;
    uint32_t i = 0;
    for (; i + 1 < c->axes && bytes / (size_t)c->whole[i] > x->bytes; i++) {
        c->extent[i] = 1;
        bytes /= (size_t)c->whole[i];
        outer *= c->whole[i];
    }
    const int64_t all = c->whole[i], most = fc_ceil_div(MOST_LAUNCHES, outer * c->n);
    int64_t rows = (int64_t)(x->bytes / (bytes / (size_t)all + 1));
    const int64_t busy = all / fc_ceil_div(PARTS * (int64_t)x->threads, outer);
    if (rows < LEAST_ROWS && i) rows = LEAST_ROWS;
    if (x->threads > 1 && rows > busy) rows = busy;
    if (rows < fc_ceil_div(all, most)) rows = fc_ceil_div(all, most);
    if (rows < 1) rows = 1;
    if (rows > all) rows = all;
    c->extent[i] = x->around ? rows : even_rows(all, rows);
    c->axes = i + 1;
}

static bool list_strips(const search *x, fc_strips *c) {
    int64_t parts[FC_MAX_AXES], count = 1;
    for (uint32_t i = 0; i < c->axes; i++) {
        parts[i] = fc_ceil_div(c->whole[i], c->extent[i]);
        count *= parts[i];
    }
    int64_t *start = fc_arena_alloc(&x->b->arena, (size_t)count * c->axes * sizeof *start);
    if (!start) return false;
    for (int64_t s = 0; s < count; s++) {
        int64_t rest = s;
        for (uint32_t i = c->axes; i-- > 0; rest /= parts[i]) {
            const int64_t at = rest % parts[i] * c->extent[i], last = c->whole[i] - c->extent[i];
            start[s * c->axes + i] = at < last ? at : last;
        }
    }
    c->start = start;
    c->count = (uint32_t)count;
    return true;
}

/* What a strip needs of step `s` on axis `root`: its results, and what later steps read. */
static void find_need(const search *x, const fc_strips *c, uint32_t s, uint32_t i, uint32_t strip,
                      const uint32_t *roots, int64_t *low, int64_t *high) {
    const size_t at = (size_t)strip * c->axes + i;
    const bool results = makes_results(x, s);
    *low = results ? c->start[at] : INT64_MAX;
    *high = results ? c->start[at] + c->extent[i] : 0;
    for (uint32_t t = s + 1; t <= x->hi; t++) {
        const fc_kernel *k = kernel_of(x, t);
        const fc_bound_step *of = &x->b->steps[t];
        const bool first = axis_in(x, t, roots[i]) == 0;
        for (size_t a = 0; a < k->args.len; a++) {
            const fc_arg *arg = &k->args.at[a];
            const fc_reach none = {0}, r = first ? arg->reach : none;
            if (arg->written || buffer_of(x, arg->buffer)->writer != s) continue;
            const bool around = r.kind == FC_REACH_ROWS;
            const int64_t begin = of->from[at] + (around ? r.low : 0),
                          end = of->from[at] + of->rows[i] + (around ? r.high : 0);
            if (begin < *low) *low = begin;
            if (end > *high) *high = end - FC_PLANTED(strip_rows);
        }
    }
}

static int64_t between(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

/* The rows of a step in each strip: as many in all of them. */
static bool find_rows(const search *x, const fc_strips *c, uint32_t s, const uint32_t *roots) {
    fc_bound_step *of = &x->b->steps[s];
    of->cut = fc_arena_alloc(&x->b->arena, c->axes);
    of->rows = fc_arena_alloc(&x->b->arena, c->axes * sizeof *of->rows);
    of->from = fc_arena_alloc(&x->b->arena, (size_t)c->count * c->axes * sizeof *of->from);
    if (!of->cut || !of->rows || !of->from) return false;
    for (uint32_t i = 0; i < c->axes; i++) {
        const int64_t all = rows_of(x, s, roots[i]);
        of->cut[i] = (uint8_t)axis_in(x, s, roots[i]);
        of->rows[i] = 1;
        for (uint32_t n = 0; n < c->count; n++) {
            int64_t low, high;
            find_need(x, c, s, i, n, roots, &low, &high);
            low = between(low, 0, all);
            high = between(high, low, all);
            of->from[(size_t)n * c->axes + i] = low;
            if (high - low > of->rows[i]) of->rows[i] = high - low;
        }
        for (uint32_t n = 0; n < c->count; n++) {
            int64_t *from = &of->from[(size_t)n * c->axes + i];
            *from = between(*from, 0, all - of->rows[i]);
        }
    }
    return true;
}

/* Rows that neighbours make, too, are few. */
static bool is_little_twice(const search *x, const fc_strips *c) {
    const uint32_t last = c->axes - 1;
    for (uint32_t s = x->lo; s <= x->hi; s++)
        if (x->b->steps[s].rows[last] > c->extent[last] + c->extent[last] / AGAIN) return false;
    return true;
}

/* Arrays that are passed on have the rows that their step has. */
static bool keep_strips(const search *x, fc_strips *c) {
    fc_bound *b = x->b;
    if (!b->strip) b->strip = fc_arena_alloc(&b->arena, x->p->plan->buffers.len * sizeof *b->strip);
    if (!b->strip) return false;
    for (size_t i = 0; i < x->p->plan->buffers.len; i++) {
        const fc_buffer *passed = buffer_of(x, (uint32_t)i);
        if (!is_passed(x, passed)) continue;
        const uint32_t maker = passed->writer;
        const fc_bound_step *s = &b->steps[maker];
        size_t bytes = b->bytes[i];
        for (uint32_t k = 0; k < c->axes; k++)
            bytes = bytes / (size_t)b->values[kernel_of(x, maker)->extent[s->cut[k]]] *
                    (size_t)s->rows[k];
        b->strip[i] = (fc_strip_array){bytes, maker};
        c->bytes += bytes;
    }
    return true;
}

/* The chain from x->lo to x->hi, if there are strips enough for all threads. */
static fusec_status make(search *x, const uint32_t *roots, uint32_t nroots, const int64_t *whole,
                         fc_error *e) {
    fc_strips *c = fc_arena_alloc(&x->b->arena, sizeof *c);
    if (!c) return fc_oom(e);
    *c = (fc_strips){.first = x->lo, .n = x->hi - x->lo + 1, .axes = nroots, .threads = x->threads};
    c->whole_bytes = x->passed;
    memcpy(c->whole, whole, nroots * sizeof *whole);
    choose_extents(x, c);
    if (count_again(x, roots[c->axes - 1]) > x->passed / OTHERS) return FUSEC_OK;
    if (!list_strips(x, c)) return fc_oom(e);
    if (c->count < 2 || (x->threads > 1 && c->count < 2 * x->threads)) return FUSEC_OK;
    for (uint32_t s = x->hi + 1; s-- > x->lo;)
        if (!find_rows(x, c, s, roots)) return fc_oom(e);
    if (!is_little_twice(x, c)) return FUSEC_OK;
    for (uint32_t s = x->lo; s <= x->hi; s++) x->b->steps[s].strips = c;
    return keep_strips(x, c) ? FUSEC_OK : fc_oom(e);
}

/* The longest chain from a step on; x->hi is its last one. */
static fusec_status try_from(search *x, fc_error *e) {
    const uint32_t steps = (uint32_t)x->p->plan->steps.len, first = x->lo;
    uint32_t roots[FC_MAX_AXES];
    int64_t whole[FC_MAX_AXES + 1];
    x->hi = first + MOST_STEPS <= steps ? first + MOST_STEPS - 1 : steps - 1;
    for (; x->hi > first && !x->b->steps[first].strips; x->hi--) {
        x->passed = count_passed(x);
        if (x->passed / WORTH < x->bytes * x->threads) continue;
        const uint32_t n = find_axes(x, roots, whole);
        if (n) FC_TRY(make(x, roots, n, whole, e));
    }
    return FUSEC_OK;
}

static bool begins(const search *x) {
    const fc_kernel *k = kernel_of(x, x->lo);
    for (size_t a = 0; a < k->args.len; a++) {
        const uint32_t buffer = k->args.at[a].buffer;
        if (k->args.at[a].written && buffer_of(x, buffer)->kind == FC_BUF_TEMP &&
            x->b->bytes[buffer] / WORTH >= x->bytes / 4)
            return true;
    }
    return false;
}

static size_t strip_bytes(const fc_device *d) {
    if (!d->host_memory) return d->machine.cache ? CACHES * d->machine.cache : DEVICE_BYTES;
    return d->machine.near_cache ? d->machine.near_cache : HOST_BYTES;
}

static fusec_status find(search *x, fc_error *e) {
    for (x->lo = 0; x->lo + 1 < x->p->plan->steps.len; x->lo++) {
        x->hi = x->lo;
        if (begins(x)) FC_TRY(try_from(x, e));
        const fc_strips *c = x->b->steps[x->lo].strips;
        if (c) x->lo += c->n - 1;
    }
    return FUSEC_OK;
}

fusec_status fc_strips_find(const fc_program *p, fc_bound *b, fc_error *e) {
    const size_t nbuf = p->plan->buffers.len, axes = MOST_STEPS * FC_MAX_AXES;
    search x = {.p = p, .b = b, .bytes = strip_bytes(p->device), .threads = 1};
    if (p->device->target->kind == FC_TARGET_LLVM) x.threads = (uint32_t)p->device->machine.threads;
    bool any = false;
    for (size_t i = b->nargs; i < nbuf; i++) any |= b->bytes[i] / WORTH >= x.bytes / 4;
    if (!any) return FUSEC_OK;
    x.same = fc_calloc(p->alloc, axes, sizeof *x.same);
    x.broken = fc_calloc(p->alloc, axes, 1);
    const fusec_status s = x.same && x.broken ? find(&x, e) : fc_oom(e);
    fc_free(p->alloc, x.same);
    fc_free(p->alloc, x.broken);
    return s;
}
