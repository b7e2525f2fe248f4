/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuse_roots.c - which values are roots whatever the grouping: outputs, reductions, operands of
 * reshapes that move data, barriers, and the cuts that keep a kernel within its limits.
 *
 * Cuts, in the order they are tried at a node:
 *   1. replication: a value that costs more than a few cheap operations is not computed again for
 *      every element it is spread over; it is made once (in the kernel of its reduction if it has
 *      one).
 *   2. products: what an operand of a contraction costs more than some slots an element is stored,
 *      as it is computed again for every tile of the other operand.
 *   3. size: when the work below a node passes the limits of one kernel, its heaviest operands are
 *      stored. */
#include "ir/external.h"
#include "ir/fold.h"
#include "ir/repeat.h"
#include "passes/fuse.h"
#include "passes/ragged.h"

static inline uint32_t add_sat(uint32_t a, uint32_t b) {
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static bool is_free(const fc_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    return i->op == FC_OP_CONST || i->op == FC_OP_DIM || i->op == FC_OP_SLOT ||
           (i->op == FC_OP_INPUT && fc_rank(g, n) == 0);
}

/* What the rounds of a loop take after the first one, in slots. */
static uint32_t rounds_slots(const fc_graph *g, fc_node n) {
    enum { MOST = 1 << 20 };
    const fc_repeat r = fc_repeat_of(fc_at(g, n));
    const uint64_t rounds = fc_repeat_rounds(g, n), each = r.ops + r.functions * FC_FUNCTION_SLOTS;
    if (rounds < 2 || rounds - 1 > MOST) return rounds < 2 ? 0 : MOST;
    return (rounds - 1) * each < MOST ? (uint32_t)((rounds - 1) * each) : MOST;
}

bool fc_fuse_work(fc_graph *g, fc_fusion *f, fc_node n, uint32_t cap, fc_work *w) {
    fc_walk *walk = &f->walk;
    fc_walk_step first = {.node = n};
    const uint32_t round = ++f->met_by;
    walk->todo.len = 0;
    bool ok = fc_push(f->alloc, &walk->todo, first);
    memset(w, 0, sizeof *w);
    while (ok && walk->todo.len && w->ops < cap) {
        fc_node x = walk->todo.at[--walk->todo.len].node;
        const fc_ninfo *i = fc_at(g, x);
        if (f->met[x] == round || is_free(g, x)) continue;
        f->met[x] = round;
        if (i->op == FC_OP_INPUT || i->op == FC_OP_IOTA || (x != n && f->is_root[x])) {
            w->loads++;
            w->indices += i->op == FC_OP_IOTA;
            continue;
        }
        if (!fc_is_view(i->op)) {
            w->ops++;
            if (fc_ops[i->op].flags & FC_F_TRANSCENDENTAL) w->transcendental++;
        }
        if (i->op == FC_OP_ROUNDS) w->again = add_sat(w->again, rounds_slots(g, x));
        if (i->op == FC_OP_EXTERN) w->again = add_sat(w->again, fc_extern_of(i)->slots);
        for (int k = 0; ok && k < i->nops; k++) {
            if (f->met[i->src[k]] == round) continue;
            fc_walk_step t = {.node = i->src[k]};
            ok = fc_push(f->alloc, &walk->todo, t);
        }
    }
    return ok;
}

/* Whether making `t` makes `s` on the way, as far as two steps show. */
static bool made_on_the_way(const fc_graph *g, const fc_fusion *f, fc_node s, fc_node t) {
    for (int k = 0; k < fc_at(g, t)->nops; k++) {
        fc_node u = fc_at(g, t)->src[k];
        if (u == s) return true;
        for (int m = 0; !f->is_root[u] && m < fc_at(g, u)->nops; m++)
            if (fc_at(g, u)->src[m] == s) return true;
    }
    return false;
}

/* Whether operand k of `n` is part of another operand: then it costs nothing more. */
static bool contained(const fc_graph *g, const fc_fusion *f, const fc_ninfo *n, int k) {
    for (int j = 0; j < n->nops; j++) {
        if (n->src[j] == n->src[k]
                ? j < k
                : !f->is_root[n->src[j]] && made_on_the_way(g, f, n->src[k], n->src[j]))
            return true;
    }
    return false;
}

/* The bound for a node from the bounds of its operands: shared values count once for each use.
 * `tight`: operands that are part of others are left out. */
static fc_work bound(const fc_graph *g, const fc_fusion *f, const fc_work *work, fc_node n,
                     bool tight) {
    const fc_ninfo *i = fc_at(g, n);
    fc_work w = {0};
    if (is_free(g, n)) return w;
    if (i->op == FC_OP_INPUT || i->op == FC_OP_IOTA) {
        w.loads = 1;
        w.indices = i->op == FC_OP_IOTA;
        return w;
    }
    if (!fc_is_view(i->op)) {
        w.ops = 1;
        w.transcendental = fc_ops[i->op].flags & FC_F_TRANSCENDENTAL ? 1 : 0;
        if (i->op == FC_OP_ROUNDS) w.again = rounds_slots(g, n);
        if (i->op == FC_OP_EXTERN) w.again = fc_extern_of(i)->slots;
    }
    for (int k = 0; k < i->nops; k++) {
        fc_node s = i->src[k];
        if (tight && contained(g, f, i, k)) continue;
        if (f->is_root[s]) {
            w.loads = add_sat(w.loads, 1);
            continue;
        }
        w.ops = add_sat(w.ops, work[s].ops);
        w.transcendental = add_sat(w.transcendental, work[s].transcendental);
        w.loads = add_sat(w.loads, work[s].loads);
        w.again = add_sat(w.again, work[s].again);
        w.indices = add_sat(w.indices, work[s].indices);
    }
    return w;
}

static bool too_big(const fc_graph *g, const fc_pass_options *o, fc_node n, const fc_work *w) {
    uint32_t rank = fc_rank(g, n), max_ops = o->max_ops ? o->max_ops : FC_MAX_OPS;
    uint32_t loads = FC_MAX_WORDS / (2 * (2 + rank));
    if (loads > FC_MAX_LEAVES) loads = FC_MAX_LEAVES;
    return w->ops > max_ops || w->transcendental > FC_MAX_TRANSCENDENTAL || w->loads > loads;
}

static bool can_be_root(const fc_graph *g, const fc_fusion *f, fc_node n) {
    const int op = fc_at(g, n)->op; /* what is read nowhere needs no place */
    return !is_free(g, n) && op != FC_OP_INPUT && op != FC_OP_IOTA && op != FC_OP_RECORD &&
           !f->is_root[n] && !f->ragged[n];
}

/* Views are followed to the value behind them: that is what gets stored. */
static fc_node behind_views(const fc_graph *g, fc_node n) {
    while (fc_is_view(fc_at(g, n)->op)) n = fc_at(g, n)->src[0];
    return n;
}

/* The last value that a kernel in which values stand so often makes more than once: a whole step of
 * a stencil. */
static fc_node last_repeated(const fc_graph *g, const fc_fusion *f, const fc_work *work,
                             const fc_places *p) {
    fc_node last = FC_NONODE;
    for (size_t i = 0; i < p->met.len; i++) {
        const fc_node n = p->met.at[i];
        const bool little = p->times[n] < 2 || fc_work_slots(&work[n]) < FC_SPREAD_SLOTS / 2;
        if (little || fc_is_view(fc_at(g, n)->op) || !fc_rank(g, n) || !can_be_root(g, f, n))
            continue;
        if (last == FC_NONODE || n > last) last = n;
    }
    return last;
}

/* Stores what stencils of stencils repeat until the code that is left is that of one kernel. */
static bool cut_places(fc_graph *g, const fc_pass_options *o, fc_fusion *f, const fc_work *work,
                       fc_places *p, fc_node n) {
    const uint32_t cap = 2 * (o->max_ops ? o->max_ops : FC_MAX_OPS);
    for (bool cut = true; cut;) {
        if (!fc_fuse_places(g, f, n, cap, p)) return false;
        p->uses[n] = p->ops;
        const fc_node worst = p->ops < cap ? FC_NONODE : last_repeated(g, f, work, p);
        fc_places_clear(p);
        cut = worst != FC_NONODE;
        if (cut) f->is_root[worst] = 1;
    }
    return true;
}

/* Stores the heaviest operands of `n` until what is left fits one kernel. */
static bool cut_size(fc_graph *g, const fc_pass_options *o, fc_fusion *f, fc_work *work,
                     fc_node n) {
    for (int tries = 0; tries < 3; tries++) {
        work[n] = bound(g, f, work, n, false);
        if (!too_big(g, o, n, &work[n])) return true;
        work[n] = bound(g, f, work, n, true);
        if (!too_big(g, o, n, &work[n])) return true;
        uint32_t cap = 2 * (o->max_ops ? o->max_ops : FC_MAX_OPS);
        if (!fc_fuse_work(g, f, n, cap, &work[n])) return fc_oom(&g->error), false;
        if (!too_big(g, o, n, &work[n])) return true;
        fc_node worst = FC_NONODE;
        for (int k = 0; k < fc_at(g, n)->nops; k++) {
            fc_node s = behind_views(g, fc_at(g, n)->src[k]);
            if (!can_be_root(g, f, s)) continue;
            if (worst == FC_NONODE ||
                work[s].ops + 4 * work[s].loads > work[worst].ops + 4 * work[worst].loads)
                worst = s;
        }
        if (worst == FC_NONODE) return true;
        f->is_root[worst] = 1;
    }
    work[n] = bound(g, f, work, n, false);
    return true;
}

/* A broadcast that really repeats: some axis of the result is not in the operand. */
static bool repeats(const fc_graph *g, fc_node b) {
    fc_node a = fc_at(g, b)->src[0];
    uint32_t ra = fc_rank(g, a), rb = fc_rank(g, b);
    for (uint32_t i = 0; i < rb; i++) {
        bool missing = i + ra < rb || fc_axis_is_one(g, a, i + ra - rb);
        if (missing && !fc_axis_is_one(g, b, i)) return true;
    }
    return false;
}

/* The same of a general view: a window, or an axis of the result that no index uses. */
static bool view_repeats(const fc_graph *g, fc_node v) {
    const uint32_t ra = fc_rank(g, fc_at(g, v)->src[0]), rn = fc_rank(g, v);
    uint64_t used = 0;
    for (uint32_t i = 0; i < ra; i++) {
        const fc_view_axis axis = fc_view_axis_of(g, fc_at(g, v), i);
        uint32_t terms = 0;
        for (uint32_t k = 0; k < rn; k++) {
            if (!axis.step[k]) continue;
            used |= UINT64_C(1) << k;
            terms++;
        }
        if (terms > 1) return true;
    }
    for (uint32_t k = 0; k < rn; k++)
        if (!(used >> k & 1) && !fc_axis_is_one(g, v, k)) return true;
    return false;
}

/* By how many elements the result of a broadcast has more than its operand; 0: not known. */
static int64_t repeats_of(const fc_graph *g, fc_node b) {
    const fc_node a = fc_at(g, b)->src[0];
    const uint32_t ra = fc_rank(g, a), rb = fc_rank(g, b);
    int64_t all = 1, size;
    for (uint32_t i = 0; i < rb; i++) {
        if (i + ra >= rb && !fc_axis_is_one(g, a, i + ra - rb)) continue;
        if (!fc_dim_is_const(&g->dims, fc_axis(g, b, i), &size)) return 0;
        if (!fc_mul_ok(all, size, &all)) return 0;
    }
    return all;
}

/* Whether few copies of it are less than writing it and reading it again. */
static bool is_cheaper_repeated(const fc_graph *g, const fc_work *w, fc_node b) {
    const int64_t n = fc_at(g, b)->op == FC_OP_BROADCAST ? repeats_of(g, b) : 0;
    if (w->loads == w->indices && n > 0 && n <= FC_FEW_NUMBERS) return true; /* made of nothing */
    return n > 0 && n <= FC_FEW_COPIES &&
           (uint64_t)(n - 1) * fc_work_slots(w) <= 2 * FC_REPEAT_SLOTS;
}

static void cut_replication(fc_graph *g, fc_fusion *f, const fc_work *work, fc_node b) {
    fc_node p = behind_views(g, fc_at(g, b)->src[0]);
    if (!can_be_root(g, f, p) || fc_at(g, p)->op == FC_OP_IOTA || !work[p].loads) return;
    if (fc_work_slots(&work[p]) > FC_SPREAD_SLOTS && !is_cheaper_repeated(g, &work[p], b))
        f->is_root[p] = 1;
}

/* Whether an index is a quotient of an index by a number, or a sum of multiples of such. */
static bool is_block_index(const fc_graph *g, fc_node n, unsigned depth) {
    const fc_ninfo *i = fc_at(g, n = behind_views(g, n));
    if (i->op == FC_OP_CONST || i->op == FC_OP_DIM) return true;
    if (i->op == FC_OP_shr || i->op == FC_OP_floordiv)
        return fc_at(g, behind_views(g, i->src[0]))->op == FC_OP_IOTA &&
               fc_at(g, behind_views(g, i->src[1]))->op == FC_OP_CONST;
    return (i->op == FC_OP_add || i->op == FC_OP_mul) && depth &&
           is_block_index(g, i->src[0], depth - 1) && is_block_index(g, i->src[1], depth - 1);
}

/* Slots of an element of a product's operand. What is made of indices alone is the same for a line
 * of elements, and what is read once for a block is: neither is counted. */
enum { INDEX_DEPTH = 4 };
static bool prologue_slots(fc_graph *g, fc_fusion *f, const fc_work *work, fc_node p,
                           uint64_t *slots) {
    fc_walk *walk = &f->walk;
    fc_walk_step first = {.node = p};
    const uint32_t round = ++f->met_by;
    walk->todo.len = 0;
    *slots = 0;
    bool ok = fc_push(f->alloc, &walk->todo, first);
    while (ok && walk->todo.len && *slots <= FC_DOT_PROLOGUE) {
        const fc_node x = walk->todo.at[--walk->todo.len].node;
        const fc_ninfo *i = fc_at(g, x);
        if (f->met[x] == round || is_free(g, x) || (x != p && f->is_root[x])) continue;
        f->met[x] = round;
        const bool index = work[x].loads == work[x].indices;
        if (i->op == FC_OP_INPUT || i->op == FC_OP_IOTA) continue;
        const bool other = i->op == FC_OP_TAKE && !is_block_index(g, i->src[1], INDEX_DEPTH);
        if (other) *slots += 1 + fc_work_slots(&work[i->src[1]]);
        if (!fc_is_view(i->op) && !index && i->op != FC_OP_TAKE)
            *slots += 1 + (fc_ops[i->op].flags & FC_F_TRANSCENDENTAL ? FC_FUNCTION_SLOTS : 0);
        if (i->op == FC_OP_ROUNDS) *slots += rounds_slots(g, x);
        if (i->op == FC_OP_EXTERN) *slots += fc_extern_of(i)->slots;
        for (int k = 0; ok && k < (other ? 1 : i->nops); k++) {
            fc_walk_step t = {.node = i->src[k]};
            ok = fc_push(f->alloc, &walk->todo, t);
        }
    }
    return ok || (fc_oom(&g->error), false);
}

/* The operands of a contraction, behind the views that spread them. */
static bool cut_product(fc_graph *g, const fc_pass_options *o, fc_fusion *f, const fc_work *work,
                        fc_node n) {
    for (int k = 0; k < 2; k++) {
        const fc_node p = behind_views(g, fc_at(g, n)->src[k]);
        uint64_t slots;
        if (!can_be_root(g, f, p) || fc_at(g, p)->op == FC_OP_IOTA || !work[p].loads) continue;
        if (!prologue_slots(g, f, work, p, &slots)) return false;
        if (slots > (o->store_operands ? 0 : FC_DOT_PROLOGUE)) f->is_root[p] = 1;
    }
    return true;
}

/* Marks what nothing but operands of contractions is made of that read all arrays well: no reshape
 * below one needs its operand in memory. */
static void find_operands(fc_graph *g, uint8_t *operand) {
    memset(operand, 1, g->nodes.len);
    for (size_t i = 0; i < g->outputs.len; i++) operand[g->outputs.at[i].node] = 0;
    for (fc_node n = (fc_node)g->nodes.len; n-- > 0;) {
        const fc_ninfo *i = fc_at(g, n); /* nodes stay where they are */
        const bool product = i->op == FC_OP_dot,
                   through = fc_is_pointwise(i->op) || fc_is_view(i->op);
        for (int k = 0; k < i->nops; k++) {
            bool blocks = false;
            if (product ? !fc_is_read_in_blocks(g, fc_at(g, n)->src[k], &blocks)
                        : !through || !operand[n])
                operand[fc_at(g, n)->src[k]] = 0;
        }
    }
}

/* As much code as is looked at as it is: the kernels that it becomes are better cut when they are
 * there (fuse_shared.c). */
enum { FEW_KERNELS = 256 };

/* Only where something is read elsewhere than where it is made can it stand in a kernel more often
 * than once, and no more often than it is used. */
static bool find_places(fc_graph *g, const fc_pass_options *o, fc_fusion *f, const fc_work *work,
                        fc_places *p, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    const bool view = fc_is_view(i->op);
    p->uses[n] = !view;
    p->moved[n] =
        i->op == FC_OP_TAKE || (view && i->op != FC_OP_BROADCAST && i->op != FC_OP_RESHAPE);
    for (int k = 0; k < i->nops; k++) {
        if (f->is_root[i->src[k]]) continue;
        p->uses[n] = add_sat(p->uses[n], p->uses[i->src[k]]);
        p->moved[n] |= p->moved[i->src[k]];
    }
    if (!p->moved[n] || !fc_is_elementwise(i->op) ||
        p->uses[n] / FEW_KERNELS <= (o->max_ops ? o->max_ops : FC_MAX_OPS))
        return true;
    return cut_places(g, o, f, work, p, n);
}

static bool find_roots(fc_graph *g, const fc_pass_options *o, fc_fusion *f, fc_work *work,
                       const uint8_t *body, const uint8_t *operand, fc_places *places) {
    bool ok = fc_fuse_step_roots(g, f);
    for (size_t i = 0; i < g->outputs.len; i++) f->is_root[g->outputs.at[i].node] = 1;
    for (fc_node n = 0; ok && n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (fc_is_part(i->op) || i->op == FC_OP_RESULT) continue; /* no work of a kernel */
        if (body[n]) { /* runs inside of what it is the body of */
            work[n] = bound(g, f, work, n, false);
            continue;
        }
        bool compute = !is_free(g, n) && i->op != FC_OP_INPUT && i->op != FC_OP_IOTA &&
                       i->op != FC_OP_RECORD && !fc_is_view(i->op);
        if (fc_reduces(g, n) || fc_scans(g, n) || i->op == FC_OP_MATERIALIZE ||
            i->op == FC_OP_UPDATE || (o->unfused && compute && !f->ragged[n]))
            f->is_root[n] = 1;
        if (i->op == FC_OP_RESHAPE && !fc_reshape_is_free(g, n) &&
            (o->unfused || !operand[n] || !fc_reshape_has_map(g, n))) {
            fc_node a = i->src[0];
            while (fc_at(g, a)->op == FC_OP_RESHAPE) a = fc_at(g, a)->src[0];
            /* of a constant or an input there is nothing to store but the array itself */
            if (fc_at(g, a)->op != FC_OP_INPUT || fc_rank(g, a) == 0) f->is_root[a] = 1;
        }
        const bool again = (i->op == FC_OP_BROADCAST && repeats(g, n)) ||
                           (i->op == FC_OP_VIEW && view_repeats(g, n)) || i->op == FC_OP_TAKE;
        if (again && !o->unfused) cut_replication(g, f, work, n);
        if (i->op == FC_OP_dot && i->axis_kind == FC_TREE_DOT && !o->unfused)
            ok = cut_product(g, o, f, work, n);
        ok = ok && cut_size(g, o, f, work, n) &&
             (o->unfused || find_places(g, o, f, work, places, n));
    }
    return ok;
}

fusec_status fc_fuse_roots(fc_graph *g, const fc_pass_options *o, fc_fusion *f, fc_error *e) {
    const size_t n = g->nodes.len + 1;
    fc_work *work = fc_calloc(f->alloc, n, sizeof *work);
    uint8_t *body = fc_calloc(f->alloc, n, 1), *operand = fc_calloc(f->alloc, n, 1);
    fc_places places = {.times = fc_calloc(f->alloc, n, sizeof *places.times),
                        .uses = fc_calloc(f->alloc, n, sizeof *places.uses),
                        .moved = fc_calloc(f->alloc, n, 1)};
    bool ok = work && body && operand && places.times && places.uses && places.moved;
    if (ok) {
        fc_find_bound(g, body);
        fc_find_ragged(g, f->ragged);
        find_operands(g, operand);
        ok = find_roots(g, o, f, work, body, operand, &places);
    } else {
        fc_oom(&g->error);
    }
    fc_free(f->alloc, work);
    fc_free(f->alloc, body);
    fc_free(f->alloc, operand);
    fc_free(f->alloc, places.times);
    fc_free(f->alloc, places.uses);
    fc_free(f->alloc, places.moved);
    fc_vec_free(f->alloc, &places.met);
    return ok ? FUSEC_OK : fc_fail(e, g->error.code, "%s", g->error.message);
}
