/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuse_shared.c - values that several regions would compute again are stored if that is cheaper.
 *
 * In: regions with what their code holds. Out: more roots; the caller groups again. Values are
 * looked at from the results down, and one that is stored leaves what is below it to the one region
 * that makes it. So each boundary between regions is found in one look at the graph, however long
 * the chain of them is.
 *
 * What lies below a value is stored after it was decided upon, and may leave little of it: 4*u,
 * where u is read from memory by then. fc_fuse_shared_less takes such roots back. */
#include "passes/fuse.h"

enum { MOST_REGIONS = 64 }; /* of a value; more change no decision */

/* Regions that compute a value, ascending. Lists are shared between values. */
typedef struct fc_makers {
    const uint32_t *at;
    uint32_t n;
} fc_makers;

typedef struct fc_shared {
    fc_graph *g;
    fc_fusion *f;
    fc_arena arena;
    fc_makers *makers; /* per node, with what has been stored so far */
    uint32_t *regions,
        *places; /* per node, as the regions are: that compute it; under how many maps */
} fc_shared;

static bool merge(fc_shared *s, fc_makers *to, fc_makers from) {
    uint32_t both[2 * MOST_REGIONS], n = 0, i = 0, k = 0;
    if (!from.n || (to->at == from.at && to->n >= from.n)) return true;
    if (!to->n) return *to = from, true;
    while (i < to->n || k < from.n) {
        const uint32_t a = i < to->n ? to->at[i] : UINT32_MAX,
                       b = k < from.n ? from.at[k] : UINT32_MAX;
        both[n++] = a < b ? a : b;
        i += a <= b;
        k += b <= a;
    }
    if (n == to->n || to->n == MOST_REGIONS) return true;
    if (n > MOST_REGIONS) n = MOST_REGIONS;
    uint32_t *copy = fc_arena_alloc(&s->arena, n * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, both, n * sizeof *copy);
    *to = (fc_makers){copy, n};
    return true;
}

static void count(fc_shared *s, uint32_t *last) {
    for (uint32_t r = 0; r < s->f->regions.len; r++)
        for (uint32_t i = 0; i < s->f->regions.at[r].seen.nslots; i++) {
            const uint64_t key = s->f->regions.at[r].seen.slots[i].key;
            if (!key) continue;
            const fc_node n = (fc_node)((key - 1) >> 32);
            s->places[n]++;
            if (last[n] != r + 1) s->regions[n]++;
            last[n] = r + 1;
        }
}

/* Whether k copies of it are more arithmetic than hides behind memory. */
static bool too_much_again(const fc_work *w, uint32_t k) {
    return (k - 1) * fc_work_slots(w) > FC_REPEAT_SLOTS;
}

/* A value goes to memory when computing it in k regions reads more than writing it once and reading
 * it k times moves (`loads` are arrays of its size), or is too much arithmetic. */
static bool cheaper_stored(const fc_work *w, uint32_t k) {
    return (k - 1) * (w->loads - w->indices) > k + 1 || too_much_again(w, k);
}

/* The product of the sizes of a shape: of those that are known, and of the others. */
static bool sizes(fc_graph *g, fc_list shape, int64_t *known, fc_dim *other) {
    *known = 1;
    *other = fc_dim_const(&g->dims, 1);
    for (uint32_t i = 0; i < fc_list_len(g, shape); i++) {
        const fc_dim d = (fc_dim)fc_list_at(g, shape)[i];
        int64_t v;
        if (!fc_dim_is_const(&g->dims, d, &v))
            *other = fc_dim_mul(&g->dims, *other, d);
        else if (!fc_mul_ok(*known, v, known))
            return false;
    }
    return *known > 0 && *other != FC_DIM_NONE;
}

/* How often an element of `n` is computed that one region reads at so many places: slices of an
 * array that is larger than the region's domain have elements of their own. */
static uint32_t copies(fc_shared *s, fc_node n, uint32_t places) {
    const fc_makers *m = &s->makers[n];
    int64_t of_array, of_domain;
    fc_dim array, domain;
    if (m->n != 1 || m->at[0] == FC_NOREGION) return places;
    if (!sizes(s->g, fc_at(s->g, n)->shape, &of_array, &array) ||
        !sizes(s->g, s->f->regions.at[m->at[0]].domain, &of_domain, &domain) || array != domain)
        return places;
    const int64_t ratio = of_array / of_domain;
    return ratio < 2 ? places : (uint32_t)((places + ratio - 1) / ratio);
}

static bool is_small(const fc_graph *g, fc_node n) {
    int64_t all = 1, size;
    for (uint32_t i = 0; i < fc_rank(g, n); i++)
        if (!fc_dim_is_const(&g->dims, fc_axis(g, n, i), &size) || !fc_mul_ok(all, size, &all))
            return false;
    return all <= FC_FEW_NUMBERS;
}

/* Whether `n`, which is no root, is to be one. */
static bool decide(fc_shared *s, fc_node n, bool *store) {
    const fc_ninfo *i = fc_at(s->g, n);
    const uint32_t k = s->makers[n].n;
    /* if something above it has been stored, who computes it at several places is known
     * next time */
    const uint32_t places = k < s->regions[n] && k < MOST_REGIONS ? k : s->places[n];
    const bool compute = fc_is_elementwise(i->op) || i->op == FC_OP_CAST ||
                         i->op == FC_OP_BITCAST || i->op == FC_OP_ROUNDS || i->op == FC_OP_EXTERN;
    fc_work w;
    *store = false;
    if (!compute || places < 2 || fc_rank(s->g, n) == 0 || s->f->ragged[n]) return true;
    if (!fc_fuse_work(s->g, s->f, n, FC_MAX_OPS, &w)) return false;
    /* a few numbers that are made of nothing: the weights of a filter */
    if (w.loads == w.indices && is_small(s->g, n)) return true;
    /* where one region computes it at several places, what it reads is in the caches */
    *store = cheaper_stored(&w, k) || too_much_again(&w, copies(s, n, places));
    return true;
}

static bool look(fc_shared *s, bool *changed) {
    fc_fusion *f = s->f;
    for (fc_node n = (fc_node)s->g->nodes.len; n-- > 0;) {
        const fc_ninfo *i = fc_at(s->g, n);
        fc_makers made = s->makers[n];
        bool store;
        if (f->is_root[n]) {
            made = (fc_makers){&f->home[n], f->home[n] != FC_NOREGION};
        } else if (made.n) {
            if (!decide(s, n, &store)) return false;
            if (store) {
                f->is_root[n] = FC_ROOT_SHARED;
                *changed = true;
                made.n = 1; /* the oldest: the others read it */
            }
        }
        for (int k = 0; k < i->nops; k++)
            if (!merge(s, &s->makers[i->src[k]], made)) return false;
    }
    return true;
}

bool fc_fuse_shared(fc_graph *g, fc_fusion *f, bool *changed) {
    const size_t n = g->nodes.len + 1;
    fc_shared s = {.g = g, .f = f};
    fc_arena_init(&s.arena, f->alloc);
    s.makers = fc_calloc(f->alloc, n, sizeof *s.makers);
    s.regions = fc_calloc(f->alloc, n, sizeof *s.regions);
    s.places = fc_calloc(f->alloc, n, sizeof *s.places);
    uint32_t *last = fc_calloc(f->alloc, n, sizeof *last);
    bool ok = s.makers && s.regions && s.places && last;
    *changed = false;
    if (ok) count(&s, last);
    ok = ok && look(&s, changed);
    fc_free(f->alloc, s.makers);
    fc_free(f->alloc, s.regions);
    fc_free(f->alloc, s.places);
    fc_free(f->alloc, last);
    fc_arena_free(&s.arena);
    return ok || (fc_oom(&g->error), false);
}

/* ---- roots that have become needless -----------------------------------------------------------
 */

/* Whether region `r` has the array `leaf` at hand: reads it, or makes it. */
static bool has_array(const fc_fusion *f, uint32_t r, fc_node leaf) {
    const fc_region *x = &f->regions.at[r];
    if (f->home[leaf] == r) return true;
    for (size_t i = 0; i < x->leaves.len; i++)
        if (x->leaves.at[i] == leaf) return true;
    return false;
}

/* Whether all regions that read `n` read what it is made from as well, and how many do. */
static bool read_with_its_sources(const fc_fusion *f, fc_node n, fc_read_list sources,
                                  uint32_t *readers) {
    *readers = 0;
    for (uint32_t r = 0; r < f->regions.len; r++) {
        if (f->home[n] == r || !has_array(f, r, n)) continue;
        (*readers)++;
        for (uint32_t i = 0; i < sources.n; i++)
            if (!has_array(f, r, sources.at[i])) return false;
    }
    return true;
}

bool fc_fuse_shared_less(fc_graph *g, fc_fusion *f, bool *changed) {
    fc_reads reads = {0};
    uint32_t *last = fc_calloc(f->alloc, g->nodes.len + 1, sizeof *last);
    fc_shared s = {.g = g, .f = f};
    s.regions = fc_calloc(f->alloc, g->nodes.len + 1, sizeof *s.regions);
    s.places = fc_calloc(f->alloc, g->nodes.len + 1, sizeof *s.places);
    bool ok = fc_reads_init(f->alloc, &reads, g->nodes.len) && last && s.regions && s.places;
    *changed = false;
    if (ok) count(&s, last);
    for (fc_node n = 0; ok && n < g->nodes.len; n++) {
        fc_work w;
        uint32_t readers;
        ok = fc_reads_add(g, f, &reads, n);
        if (!ok || f->is_root[n] != FC_ROOT_SHARED || f->home[n] == FC_NOREGION) continue;
        if (!read_with_its_sources(f, n, reads.of[n], &readers)) continue;
        ok = fc_fuse_work(g, f, n, FC_MAX_OPS, &w);
        if (!ok || too_much_again(&w, s.places[n]) || w.ops >= FC_MAX_OPS) continue;
        f->is_root[n] = 0;
        *changed = true;
    }
    fc_reads_free(f->alloc, &reads);
    fc_free(f->alloc, last);
    fc_free(f->alloc, s.regions);
    fc_free(f->alloc, s.places);
    return ok || (fc_oom(&g->error), false);
}
