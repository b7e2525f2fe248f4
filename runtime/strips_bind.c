/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* strips_bind.c - see strips.h: nests and launches of steps that are done strip by strip. */
#include "runtime/strips.h"

#include "ir/plant.h"

/* ---- nests -------------------------------------------------------------------------------------
 */

static bool is_read_at(const fc_kernel *k, uint32_t arg) {
    for (size_t i = 0; i < k->code.ins.len; i++)
        if (k->code.ins.at[i].op == FC_OP_LOAD_AT && k->code.ins.at[i].imm == arg) return true;
    return false;
}

/* The step that makes the array of an argument of which a strip is there; NULL: all is. */
static const fc_bound_step *maker_of(const fc_bound *b, const fc_kernel *k, uint32_t arg) {
    const fc_strip_array *of = arg == FC_NO_BUFFER ? NULL : &b->strip[k->args.at[arg].buffer];
    return of && of->bytes ? &b->steps[of->maker] : NULL;
}

/* Strides of a dense array of which a strip is there. */
static const int64_t *strides_of(fc_bound *b, const fc_bound_step *s, const fc_bound_step *maker,
                                 const fc_access *a) {
    int64_t *out = fc_arena_alloc(&b->arena, (a->rank + 1) * sizeof *out), dense = 1;
    for (uint32_t i = a->rank; out && i-- > 0;) {
        int64_t size = b->values[a->shape[i]];
        for (uint32_t k = 0; k < s->strips->axes; k++)
            if (a->map[i].axis == s->cut[k]) size = maker->rows[k];
        out[i] = dense;
        dense *= size;
    }
    return out;
}

/* Places of a step's strips on its own axes. */
static int64_t *spread(fc_bound *b, const fc_kernel *k, const fc_bound_step *s,
                       const int64_t *from) {
    const fc_strips *c = s->strips;
    const size_t axes = k->np + k->nr;
    int64_t *out = fc_arena_alloc(&b->arena, c->count * axes * sizeof *out);
    for (uint32_t n = 0; out && n < c->count; n++)
        for (uint32_t i = 0; i < c->axes; i++)
            out[n * axes + s->cut[i]] = from[(size_t)n * c->axes + i];
    return out;
}

/* Arrays of which a strip is there, and where it begins. Of those that are read at computed places
 * the address says so. */
static bool find_own(fc_bound *b, const fc_kernel *k, const fc_bound_step *s,
                     const int64_t *const *strides, const int64_t **table, const int64_t **base) {
    for (size_t a = 0; a < k->accesses.len; a++) {
        const fc_access *acc = &k->accesses.at[a];
        const fc_bound_step *maker = maker_of(b, k, acc->buffer);
        table[a] = strides ? strides[a] : NULL;
        base[a] = NULL;
        if (!maker || is_read_at(k, acc->buffer)) continue;
        table[a] = strides_of(b, s, maker, acc);
        base[a] = spread(b, k, s, maker->from);
        if (!table[a] || !base[a]) return false;
    }
    return true;
}

/* How far the addresses of arguments that are read at computed places are from the arrays of which
 * the strips would be part. */
static bool find_moved(fc_bound *b, const fc_kernel *k, fc_bound_step *s) {
    const uint32_t count = s->strips->count;
    s->moved_args = NULL;
    for (uint32_t a = 0; a < k->args.len; a++) {
        const fc_bound_step *maker = k->args.at[a].written ? NULL : maker_of(b, k, a);
        if (!maker || !is_read_at(k, a)) continue;
        if (!s->moved_args)
            s->moved_args = fc_arena_alloc(&b->arena, count * k->args.len * sizeof *s->moved_args);
        if (!s->moved_args) return false;
        const size_t row = b->strip[k->args.at[a].buffer].bytes / (size_t)maker->rows[0];
        for (uint32_t n = 0; n < count; n++) {
            const int64_t by = maker->from[n] * (int64_t)row;
            s->moved_args[(size_t)n * k->args.len + a] = -by;
            for (size_t i = 0; i < k->accesses.len; i++)
                if (k->accesses.at[i].buffer == a)
                    s->all[i] |= by / (int64_t)fc_dtypes[k->args.at[a].dtype].bytes;
        }
    }
    return true;
}

fusec_status fc_strips_bind(fc_bound *b, const fc_kernel *k, fc_bound_step *s,
                            const int64_t *const *strides, fc_error *e) {
    const size_t n = k->accesses.len + 1, count = s->strips->count;
    fc_nest_cut cut = {.count = s->strips->count};
    const int64_t **table = fc_arena_alloc(&b->arena, n * sizeof *table);
    const int64_t **base = fc_arena_alloc(&b->arena, n * sizeof *base);
    cut.start = spread(b, k, s, s->from);
    cut.base = base;
    cut.moved = fc_arena_alloc(&b->arena, count * n * sizeof *cut.moved);
    cut.all = fc_arena_alloc(&b->arena, n * sizeof *cut.all);
    if (!table || !base || !cut.start || !cut.moved || !cut.all) return fc_oom(e);
    if (!find_own(b, k, s, strides, table, base)) return fc_oom(e);
    for (uint32_t i = 0; i < k->np + k->nr; i++) cut.extent[i] = b->values[k->extent[i]];
    for (uint32_t i = 0; i < s->strips->axes; i++) cut.extent[s->cut[i]] = s->rows[i];
    s->moved = cut.moved;
    s->all = cut.all;
    FC_TRY(fc_nest_bind_cut(k, b->values, table, &cut, &b->arena, &s->nest, e));
    return find_moved(b, k, s) ? FUSEC_OK : fc_oom(e);
}

/* What stays in the cache is not stored past it; of what does not, a strip is a part. */
fc_machine fc_strips_machine(const fc_bound *b, const fc_kernel *k, const fc_bound_step *s,
                             const fc_device *d) {
    fc_machine out = d->machine;
    bool stays = true;
    if (!s->strips) return out;
    if (s->strips->threads > 1) out.threads = 1;
    for (uint32_t a = 0; a < k->args.len; a++)
        stays &= !k->args.at[a].written || maker_of(b, k, a) != NULL;
    if (k->schedule == FC_SCHED_MAP && d->host_memory)
        out.cache = stays ? 0 : out.cache / s->strips->count;
    return out;
}

/* ---- launches ----------------------------------------------------------------------------------
 */

static void add_own(fc_bound_step *s, uint32_t word, size_t by) {
    if (by) s->own[s->nown++] = (fc_own_word){word, (int64_t)by};
}

static bool list_own(const fc_program *p, fc_bound *b, uint32_t step) {
    const fc_kernel *k = &p->plan->steps.at[step]->kernel;
    fc_bound_step *s = &b->steps[step];
    const uint32_t extra = s->layout.extra;
    s->nown = 0;
    s->own = fc_arena_alloc(&b->arena, (k->args.len + 2) * sizeof *s->own);
    if (!s->own) return false;
    for (uint32_t a = 0; a < k->args.len; a++) {
        const uint32_t buffer = k->args.at[a].buffer;
        add_own(s, s->layout.args + a, fc_strips_apart(b->strip[buffer].bytes));
    }
    add_own(s, extra + FC_PB_WORKSPACE, fc_strips_apart(s->launch.workspace_bytes));
    add_own(s, extra + FC_PB_TICKETS, (size_t)s->launch.tickets * 4);
    return true;
}

/* What a device is told of a chain whose strips run side by side. */
static fc_prepared_strips *prepare(const fc_program *p, fc_bound *b, const fc_strips *c) {
    fc_prepared_strips *out = fc_arena_alloc(&b->arena, sizeof *out);
    const fc_own_word **own = fc_arena_alloc(&b->arena, c->n * sizeof *own);
    uint32_t *nown = fc_arena_alloc(&b->arena, c->n * sizeof *nown);
    if (!out || !own || !nown) return NULL;
    for (uint32_t i = 0; i < c->n; i++) {
        if (!list_own(p, b, c->first + i)) return NULL;
        own[i] = b->steps[c->first + i].own;
        nown[i] = b->steps[c->first + i].nown;
    }
    *out = (fc_prepared_strips){
        .n = c->n, .count = c->count, .threads = c->threads, .own = own, .nown = nown};
    return out;
}

/* Its block for strip `n`. */
static int64_t *words_of(fc_bound *b, const fc_bound_step *s, uint32_t n) {
    const uint32_t nargs = s->layout.extents - s->layout.args;
    int64_t *words = fc_arena_alloc(&b->arena, s->layout.words * sizeof *words);
    const uint32_t axes = s->nest.np + s->nest.nr;
    if (!words) return NULL;
    memcpy(words, s->words, s->layout.words * sizeof *words);
    for (uint32_t a = 0; a < s->nest.naccess; a++)
        words[s->layout.accesses + (size_t)a * (1 + axes)] +=
            FC_PLANT(strip_start, 0, s->moved[(size_t)n * s->nest.naccess + a]);
    for (uint32_t a = 0; s->moved_args && a < nargs; a++)
        words[s->layout.args + a] += s->moved_args[(size_t)n * nargs + a];
    return words;
}

fusec_status fc_strips_launch(const fc_program *p, fc_bound *b, fc_error *e) {
    size_t all = 0, n = 0;
    for (uint32_t i = 0; i < b->nlaunches; i++) {
        const fc_strips *c = b->steps[b->launches[i].steps[0]].strips;
        all += c ? c->count : 1;
    }
    if (all == b->nlaunches) return FUSEC_OK;
    fc_bound_launch *l = fc_arena_alloc(&b->arena, (all + 1) * sizeof *l);
    if (!l) return fc_oom(e);
    for (uint32_t i = 0; i < b->nlaunches; i++) {
        const fc_strips *c = b->steps[b->launches[i].steps[0]].strips;
        const uint32_t steps = c ? c->n : 1;
        fc_bound_launch *first = &l[n];
        for (uint32_t s = 0; s < (c ? c->count : 1); s++)
            for (uint32_t k = 0; k < steps; k++) {
                l[n] = b->launches[i + k];
                if (c && !(l[n].words = words_of(b, &b->steps[l[n].steps[0]], s))) return fc_oom(e);
                n++;
            }
        if (c && c->threads > 1 && !(first->strips = prepare(p, b, c))) return fc_oom(e);
        i += steps - 1;
    }
    b->launches = l;
    b->nlaunches = (uint32_t)n;
    return FUSEC_OK;
}
