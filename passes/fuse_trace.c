/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuse_trace.c - what a region must compute and read to make one value: see fc_fuse_trace. */
#include "ir/repeat.h"
#include "passes/fuse.h"

/* ---- sets ------------------------------------------------------------------------------------ */

/* Stands for the array itself, under whatever map. */
static inline uint64_t leaf_key(fc_node n) {
    return fc_place_key(n, FC_NOMAP);
}

enum { FIRST_OF_WALK = 1024 }; /* slots */

static inline uint32_t hash_key(uint64_t k) {
    return (uint32_t)((k * 0x9e3779b97f4a7c15u) >> 32);
}

/* Where the key is, or goes; the table has free slots. */
static inline fc_seen *slot_of(const fc_seen_set *set, uint64_t key) {
    uint32_t h = hash_key(key);
    fc_seen *s;
    while ((s = &set->slots[h & (set->nslots - 1)])->round == set->round && s->key != key) h++;
    return s;
}

static inline const fc_seen *find_seen(const fc_region *r, uint64_t key) {
    const fc_seen *s = r->seen.nslots ? slot_of(&r->seen, key) : NULL;
    return s && s->round == r->seen.round ? s : NULL;
}

static bool grow(const fc_alloc *a, fc_seen_set *set, uint32_t first) {
    const fc_seen_set old = *set;
    fc_seen_set next = {.used = old.used, .round = old.round};
    next.nslots = old.nslots ? old.nslots * 2 : first;
    next.slots = fc_calloc(a, next.nslots, sizeof *next.slots);
    if (!next.slots) return false;
    for (uint32_t i = 0; i < old.nslots; i++)
        if (old.slots[i].round == old.round) *slot_of(&next, old.slots[i].key) = old.slots[i];
    fc_free(a, old.slots);
    *set = next;
    return true;
}

static fc_seen *enter(const fc_alloc *a, fc_seen_set *set, uint32_t first, uint64_t key,
                      bool *fresh) {
    if (set->used * 2 >= set->nslots && !grow(a, set, first)) return NULL;
    fc_seen *s = slot_of(set, key);
    *fresh = s->round != set->round;
    if (!*fresh) return s;
    *s = (fc_seen){.key = key, .round = set->round};
    set->used++;
    return s;
}

bool fc_region_enter(const fc_alloc *a, fc_region *r, uint64_t key, uint32_t from) {
    bool fresh;
    r->seen.round = 1;
    fc_seen *s = enter(a, &r->seen, 64, key, &fresh);
    if (s && fresh) s->from = from;
    return s != NULL;
}

bool fc_region_enter_leaf(const fc_alloc *a, fc_region *r, fc_node leaf) {
    return fc_region_enter(a, r, leaf_key(leaf), FC_FROM_LEAF);
}

/* Entries of earlier walks count as free, so that nothing is cleared between them. */
bool fc_walk_begin(const fc_alloc *a, fc_walk *w) {
    fc_seen_set *set = &w->seen;
    w->todo.len = w->from.len = set->used = 0;
    if (++set->round == 0) { /* after 2^32 walks the oldest entries would look new */
        if (set->slots) memset(set->slots, 0, set->nslots * sizeof *set->slots);
        set->round = 1;
    }
    return set->nslots || grow(a, set, FIRST_OF_WALK);
}

fc_seen *fc_walk_enter(const fc_alloc *a, fc_walk *w, uint64_t key, bool *fresh) {
    return enter(a, &w->seen, FIRST_OF_WALK, key, fresh);
}

void fc_walk_free(const fc_alloc *a, fc_walk *w) {
    fc_vec_free(a, &w->todo);
    fc_vec_free(a, &w->from);
    fc_free(a, w->seen.slots);
}

enum { VIEW_OPS = 4 }; /* arithmetic of a mode, about */

/* ---- what a walk finds ----------------------------------------------------------------------- */

fc_visit *fc_visit_begin(fc_fusion *f) {
    fc_visit *v = &f->visit;
    v->added.len = v->leaves.len = v->deps.len = 0;
    v->ops = v->transcendental = v->accesses = v->params = 0;
    v->stage = -1;
    v->reads_root = v->shares_leaf = false;
    v->why = NULL;
    return v;
}

void fc_visit_free(const fc_alloc *a, fc_visit *v) {
    fc_vec_free(a, &v->added);
    fc_vec_free(a, &v->leaves);
    fc_vec_free(a, &v->deps);
}

static bool add_dep(const fc_alloc *a, fc_visit *v, uint32_t region) {
    for (size_t i = 0; i < v->deps.len; i++)
        if (v->deps.at[i] == region) return true;
    return fc_push(a, &v->deps, region);
}

static const fc_root *find_root(const fc_region *r, fc_node n) {
    for (size_t i = 0; i < r->roots.len; i++)
        if (r->roots.at[i].node == n) return &r->roots.at[i];
    return NULL;
}

/* What code and words it takes to read at `map`: an access; for what is not affine one for each
 * index as well, and sizes. */
static void count_read(const fc_graph *g, fc_node n, fc_list map, fc_visit *v) {
    const uint32_t rank = fc_rank(g, n);
    v->accesses++;
    if (rank > fc_list_len(g, map) || fc_map_is_affine(g, map, rank)) return;
    v->accesses += rank;
    v->params += 2 * rank;
}

static bool add_leaf(fc_fusion *f, const fc_region *r, fc_visit *v, fc_node n, uint32_t *from) {
    bool fresh;
    *from |= FC_FROM_LEAF;
    if (find_seen(r, leaf_key(n))) {
        v->shares_leaf = true;
        return true;
    }
    if (!fc_walk_enter(f->alloc, &f->walk, leaf_key(n), &fresh)) return false;
    return !fresh || fc_push(f->alloc, &v->leaves, n);
}

static inline bool push(fc_fusion *f, fc_node n, fc_list map) {
    fc_walk_step t = {n, map, FC_ENTER};
    return fc_push(f->alloc, &f->walk.todo, t);
}

bool fc_reshape_reads(fc_graph *g, const fc_fusion *f, fc_node n, fc_node *array) {
    if (fc_at(g, n)->op != FC_OP_RESHAPE || fc_reshape_is_free(g, n)) return false;
    fc_node a = fc_at(g, n)->src[0];
    while (fc_at(g, a)->op == FC_OP_RESHAPE) a = fc_at(g, a)->src[0];
    *array = a;
    return f->is_root[a] || fc_at(g, a)->op == FC_OP_INPUT;
}

/* One value: a leaf, a root, or something to compute. Pushes its operands. `from` is for what has
 * none. */
static bool visit(fc_graph *g, fc_fusion *f, const fc_region *r, bool start, fc_walk_step t,
                  fc_visit *v, uint32_t *from) {
    const fc_ninfo *n = fc_at(g, t.node);
    if (n->op == FC_OP_CONST) return true;
    if (n->op == FC_OP_DIM || (n->op == FC_OP_INPUT && fc_rank(g, t.node) == 0))
        return v->params++, true;
    if (n->op == FC_OP_IOTA) return v->accesses++, true;
    if (n->op == FC_OP_INPUT) {
        count_read(g, t.node, t.map, v);
        return add_leaf(f, r, v, t.node, from);
    }
    /* `start` is the value being placed, or the operand of a reduction, which may have its place */
    if (f->is_root[t.node] && (!start || f->home[t.node] != FC_NOREGION)) {
        const fc_root *own = find_root(r, t.node);
        if (!own) {
            if (f->home[t.node] != FC_NOREGION && !add_dep(f->alloc, v, f->home[t.node]))
                return false;
            count_read(g, t.node, t.map, v);
            return add_leaf(f, r, v, t.node, from);
        }
        if (n->op == FC_OP_UPDATE)
            return v->why = "all updates are done before an array is read", false;
        if (n->op == FC_OP_MATERIALIZE)
            return v->why = "materialize() asks for it to be stored", false;
        if (own->map != t.map)
            return v->why = fc_makes_accumulator(own->role)
                                ? "a reduction is needed at other points than where it is made"
                                : "it is read at shifted or transposed points",
                   false;
        if (own->stage > v->stage) v->stage = own->stage;
        v->reads_root = true;
        *from |= FC_FROM_ROOT | FC_FROM_STAGE * (uint32_t)(own->stage + 1);
        return true;
    }
    fc_node a;
    if (fc_reshape_reads(g, f, t.node, &a)) { /* the root is elsewhere */
        if (f->home[a] != FC_NOREGION) {
            if (&f->regions.at[f->home[a]] == r)
                return v->why = "a reshape needs its operand in memory", false;
            if (!add_dep(f->alloc, v, f->home[a])) return false;
        }
        count_read(g, t.node, t.map, v);
        return add_leaf(f, r, v, a, from);
    }
    if (fc_is_view(n->op)) {
        fc_list m = fc_map_view(g, t.node, t.map);
        if (m == FC_NOMAP) return false;
        if (n->op == FC_OP_VIEW) v->ops += VIEW_OPS;
        return push(f, fc_at(g, t.node)->src[0], m);
    }
    if (n->op == FC_OP_TAKE) {
        fc_list m = fc_map_take(g, t.node, t.map);
        v->ops++;
        return m != FC_NOMAP && push(f, fc_at(g, t.node)->src[0], m) &&
               push(f, fc_at(g, t.node)->src[1], t.map);
    }
    if (n->op == FC_OP_UPDATE) { /* the array that it is made in is not read, but there */
        const uint32_t maker = f->home[n->src[0]];
        if (&f->regions.at[maker] == r)
            return v->why = "an array is there before it is updated", false;
        v->accesses += 1 + fc_rank(g, t.node);
        v->params += 2 + 2 * fc_rank(g, t.node);
        v->ops += 2;
        return add_dep(f->alloc, v, maker) && add_leaf(f, r, v, n->src[0], from) &&
               push(f, n->src[2], t.map) && push(f, n->src[1], t.map);
    }
    if (n->op == FC_OP_CHECK) { /* its position has an access, its size is a parameter */
        v->accesses++;
        v->params += 1 + fc_rank(g, t.node);
    }
    if (n->op == FC_OP_ROUNDS) { /* its body has no values outside of it */
        const fc_repeat loop = fc_repeat_of(n);
        v->ops += loop.ops;
        v->transcendental += loop.functions;
        return push(f, n->src[0], t.map);
    }
    const bool record = n->op == FC_OP_RECORD; /* its own rank means nothing */
    v->ops += !record;
    if (fc_ops[n->op].flags & FC_F_TRANSCENDENTAL) v->transcendental++;
    for (int i = 0; i < n->nops; i++) {
        bool scalar = fc_rank(g, n->src[i]) == 0 && (record || fc_rank(g, t.node) != 0);
        if (fc_at(g, n->src[i])->op == FC_OP_RECORD) scalar = false;
        if (!push(f, n->src[i], scalar ? 0 : t.map)) return false;
    }
    return true;
}

static inline uint32_t join_from(uint32_t a, uint32_t b) {
    const uint32_t low = FC_FROM_STAGE - 1;
    return ((a | b) & low) | ((a & ~low) > (b & ~low) ? a & ~low : b & ~low);
}

static inline void pass_on(fc_walk *w, uint32_t from) {
    uint32_t *to = &w->from.at[w->from.len - 1];
    *to = join_from(*to, from);
}

/* A value that the region has already: what it was made from was found then. */
static void take_known(const fc_region *r, fc_visit *v, uint32_t from) {
    int stage = (int)(from / FC_FROM_STAGE) - 1;
    if (stage > v->stage) v->stage = stage;
    v->reads_root |= (from & FC_FROM_ROOT) != 0;
    v->shares_leaf |= r->reductions == 0 || (from & FC_FROM_LEAF);
}

/* The operands of `t` have been visited. */
static bool leave(fc_fusion *f, fc_walk_step t, fc_visit *v) {
    fc_walk *w = &f->walk;
    bool fresh;
    uint32_t from = w->from.at[--w->from.len];
    fc_seen *s = fc_walk_enter(f->alloc, w, fc_place_key(t.node, t.map), &fresh);
    if (!s) return false;
    s->from = from;
    if (t.added) v->added.at[t.added - 1].from = from;
    pass_on(w, from);
    return true;
}

/* A value that this walk meets for the first time. `known`: the region has it, but it is a leaf or
 * a root: they are looked at again, for they tell what the value depends on. */
static bool meet(fc_graph *g, fc_fusion *f, const fc_region *r, bool start, fc_walk_step t,
                 bool known, fc_seen *entry, fc_visit *v) {
    fc_walk *w = &f->walk;
    const uint32_t ops = v->ops, functions = v->transcendental, accesses = v->accesses,
                   params = v->params;
    const size_t todo = w->todo.len, slot = (size_t)(entry - w->seen.slots);
    const fc_seen *table = w->seen.slots;
    uint32_t from = 0;
    t.added = 0;
    if (!known) {
        fc_seen s = {.key = fc_place_key(t.node, t.map)};
        if (!fc_push(f->alloc, &v->added, s)) return false;
        t.added = (uint32_t)v->added.len;
    }
    /* its mark comes before its operands, so that it is reached when they are done */
    if (!fc_push(f->alloc, &w->todo, t) || !visit(g, f, r, start, t, v, &from)) return false;
    if (known) { /* already paid for */
        v->ops = ops;
        v->transcendental = functions;
        v->accesses = accesses;
        v->params = params;
    }
    if (w->todo.len > todo + 1) return fc_push(f->alloc, &w->from, 0u);
    w->todo.len = todo; /* nothing below it */
    if (w->seen.slots == table)
        w->seen.slots[slot].from = from;
    else
        fc_walk_enter(f->alloc, w, fc_place_key(t.node, t.map), &start)->from = from;
    if (t.added) v->added.at[t.added - 1].from = from;
    pass_on(w, from);
    return true;
}

bool fc_fuse_trace(fc_graph *g, fc_fusion *f, const fc_region *r, fc_node from, fc_node other,
                   fc_list map, bool placed, fc_visit *v) {
    fc_walk *w = &f->walk;
    bool ok = fc_walk_begin(f->alloc, w) && fc_push(f->alloc, &w->from, 0u) &&
              (other == FC_NONODE || push(f, other, map)) && push(f, from, map),
         start = placed;
    while (ok && w->todo.len) {
        fc_walk_step t = w->todo.at[--w->todo.len];
        if (t.added != FC_ENTER) {
            ok = leave(f, t, v);
            continue;
        }
        bool fresh, first = start;
        uint64_t key = fc_place_key(t.node, t.map);
        fc_seen *entry = fc_walk_enter(f->alloc, w, key, &fresh);
        start = false;
        if (!entry) {
            ok = false;
        } else if (!fresh) {
            pass_on(w, entry->from);
        } else {
            const fc_seen *known = find_seen(r, key);
            bool boundary = f->is_root[t.node] || fc_at(g, t.node)->op == FC_OP_INPUT;
            if (known && !boundary) {
                entry->from = known->from;
                take_known(r, v, known->from);
                pass_on(w, known->from);
            } else {
                ok = meet(g, f, r, first, t, known != NULL, entry, v);
            }
        }
    }
    if (!ok && !v->why) fc_oom(&g->error);
    return ok;
}
