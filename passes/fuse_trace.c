/* fuse_trace.c - what a region must compute and read to make one value: see fc_fuse_trace. */
#include "passes/fuse.h"

static inline uint64_t key_of(fc_node n, fc_list map) {
    return ((uint64_t)n << 32 | map) + 1;
}

static inline uint64_t hash_key(uint64_t k) {
    return (k * 0x9e3779b97f4a7c15u) >> 32;
}

static bool set_has(const uint64_t *slots, uint32_t n, uint64_t key) {
    if (!n) return false;
    for (uint64_t h = hash_key(key); slots[h & (n - 1)]; h++)
        if (slots[h & (n - 1)] == key) return true;
    return false;
}

bool fc_region_has(const fc_region *r, fc_node n, fc_list map) {
    return set_has(r->seen, r->nslots, key_of(n, map));
}

bool fc_region_enter(const fc_alloc *a, fc_region *r, uint64_t key) {
    if (r->nseen * 2 >= r->nslots) {
        uint32_t n = r->nslots ? r->nslots * 2 : 64;
        uint64_t *slots = fc_calloc(a, n, sizeof *slots);
        if (!slots) return false;
        for (uint32_t i = 0; i < r->nslots; i++)
            if (r->seen[i]) {
                uint64_t h = hash_key(r->seen[i]);
                while (slots[h & (n - 1)]) h++;
                slots[h & (n - 1)] = r->seen[i];
            }
        fc_free(a, r->seen);
        r->seen = slots;
        r->nslots = n;
    }
    uint64_t h = hash_key(key);
    while (r->seen[h & (r->nslots - 1)]) {
        if (r->seen[h & (r->nslots - 1)] == key) return true;
        h++;
    }
    r->seen[h & (r->nslots - 1)] = key;
    r->nseen++;
    return true;
}

void fc_visit_free(const fc_alloc *a, fc_visit *v) {
    fc_vec_free(a, &v->added);
    fc_vec_free(a, &v->leaves);
    fc_vec_free(a, &v->deps);
}

static bool add_unique(const fc_alloc *a, fc_visit *v, bool leaf, uint32_t x) {
    if (leaf) {
        for (size_t i = 0; i < v->leaves.len; i++)
            if (v->leaves.at[i] == x) return true;
        return fc_push(a, &v->leaves, x);
    }
    for (size_t i = 0; i < v->deps.len; i++)
        if (v->deps.at[i] == x) return true;
    return fc_push(a, &v->deps, x);
}

static const fc_root *find_root(const fc_region *r, fc_node n) {
    for (size_t i = 0; i < r->roots.len; i++)
        if (r->roots.at[i].node == n) return &r->roots.at[i];
    return NULL;
}

static bool add_leaf(const fc_fusion *f, const fc_region *r, fc_visit *v, fc_node n) {
    v->accesses++;
    for (size_t i = 0; i < r->leaves.len; i++)
        if (r->leaves.at[i] == n) {
            v->shares_leaf = true;
            return true;
        }
    return add_unique(f->alloc, v, true, n);
}

typedef struct fc_todo {
    fc_node node;
    fc_list map;
} fc_todo;
typedef FC_VEC(fc_todo) fc_todos;

/* One value: a leaf, a root, or something to compute. Pushes its operands. */
static bool visit(fc_graph *g, const fc_fusion *f, const fc_region *r, bool start, fc_todo t,
                  fc_visit *v, fc_todos *todo) {
    const fc_ninfo *n = fc_at(g, t.node);
    if (n->op == FC_OP_CONST) return true;
    if (n->op == FC_OP_DIM || (n->op == FC_OP_INPUT && fc_rank(g, t.node) == 0))
        return v->params++, true;
    if (n->op == FC_OP_IOTA) return v->accesses++, true;
    if (n->op == FC_OP_INPUT) return add_leaf(f, r, v, t.node);
    /* `start` is the value being placed, or the operand of a reduction, which may have its place */
    if (f->is_root[t.node] && (!start || f->home[t.node] != FC_NOREGION)) {
        const fc_root *own = find_root(r, t.node);
        if (!own) {
            if (f->home[t.node] != FC_NOREGION && !add_unique(f->alloc, v, false, f->home[t.node]))
                return false;
            return add_leaf(f, r, v, t.node);
        }
        if (n->op == FC_OP_MATERIALIZE)
            return v->why = "materialize() asks for it to be stored", false;
        if (own->map != t.map)
            return v->why = own->role == FC_ROLE_REDUCE
                                ? "a reduction is needed at other points than where it is made"
                                : "it is read at shifted or transposed points",
                   false;
        if (own->stage > v->stage) v->stage = own->stage;
        v->reads_root = true;
        return true;
    }
    if (n->op == FC_OP_RESHAPE && !fc_reshape_is_free(g, t.node)) {
        /* read from memory under the new shape: the operand is an input or a root elsewhere */
        fc_node a = n->src[0];
        while (fc_at(g, a)->op == FC_OP_RESHAPE) a = fc_at(g, a)->src[0];
        if (f->home[a] != FC_NOREGION) {
            if (&f->regions.at[f->home[a]] == r)
                return v->why = "a reshape needs its operand in memory", false;
            if (!add_unique(f->alloc, v, false, f->home[a])) return false;
        }
        return add_leaf(f, r, v, a);
    }
    if (fc_is_view(n->op)) {
        fc_list m = fc_map_view(g, t.node, t.map);
        if (m == FC_NOMAP) return false;
        fc_todo next = {n->src[0], m};
        return fc_push(f->alloc, todo, next);
    }
    v->ops++;
    if (fc_ops[n->op].flags & FC_F_TRANSCENDENTAL) v->transcendental++;
    for (int i = 0; i < n->nops; i++) {
        bool scalar = fc_rank(g, n->src[i]) == 0 && fc_rank(g, t.node) != 0;
        fc_todo next = {n->src[i], scalar ? 0 : t.map};
        if (!fc_push(f->alloc, todo, next)) return false;
    }
    return true;
}

bool fc_fuse_trace(fc_graph *g, const fc_fusion *f, uint32_t region, fc_node from, fc_list map,
                   bool placed, fc_visit *v) {
    const fc_region *r = &f->regions.at[region];
    fc_todos todo = {0};
    fc_region local = {0}; /* used as a plain set of what this walk has met */
    fc_todo first = {from, map};
    bool ok = fc_push(f->alloc, &todo, first), start = placed;
    while (ok && todo.len) {
        fc_todo t = todo.at[--todo.len];
        uint64_t key = key_of(t.node, t.map);
        if (!start && (set_has(local.seen, local.nslots, key))) continue;
        bool known = set_has(r->seen, r->nslots, key);
        ok = fc_region_enter(f->alloc, &local, key);
        /* roots and leaves are looked at again: they tell what the value depends on */
        bool boundary = f->is_root[t.node] || fc_at(g, t.node)->op == FC_OP_INPUT;
        if (known && !boundary && r->reductions == 0) {
            v->shares_leaf = true;
        } else if (ok) {
            fc_visit before = *v;
            ok = visit(g, f, r, start, t, v, &todo);
            if (known) { /* already paid for */
                v->ops = before.ops;
                v->transcendental = before.transcendental;
                v->accesses = before.accesses;
                v->params = before.params;
            } else if (ok) {
                ok = fc_push(f->alloc, &v->added, key);
            }
        }
        start = false;
    }
    if (!ok && !v->why) fc_oom(&g->error);
    fc_vec_free(f->alloc, &todo);
    fc_free(f->alloc, local.seen);
    return ok;
}
