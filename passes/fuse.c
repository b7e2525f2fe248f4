/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuse.c - groups roots into regions, one kernel each. Deterministic: roots in the order of their
 * ids, the candidates of a root in a fixed order, integer limits only.
 *
 * A root joins a region when all of this holds:
 *   - domain: it is a reduction over the same axes of the same shape; or elementwise on the kept
 *     axes (ROW) or on all axes (POINT) of a reduction region whose results it needs; or
 *     elementwise with the shape of a map
 *   - it reads the region's own roots at the very points where they are made (fc_fuse_trace)
 *   - gain: it reads one of the region's roots, or an array the region reads
 *   - order: nothing it needs depends on the region from outside
 *   - limits of fuse.h
 *   - never a worse schedule: column reductions (outer tree) do not take elementwise values over
 *     the whole domain or a second stage, because they are split over blocks, unless an axis is
 * kept outside of theirs; neither does a reduction of everything What does not fit starts a region
 * of its own, and the reason is kept for explain. */
#include "ir/fold.h"
#include "ir/plant.h"
#include "passes/fuse.h"
#include "passes/ragged.h"
#include "passes/rewrite.h"

/* ---- order between regions --------------------------------------------------------------- */

/* Whether one of `from` other than `target` needs it, directly or not. What is older than the
 * target, with all that it needs, is not looked at. Gives up (true: no fusion) after a bounded
 * walk. */
static bool depend_on(fc_fusion *f, const uint32_t *from, size_t nfrom, uint32_t target) {
    uint32_t stack[FC_MAX_LEAVES + 256];
    size_t n = 0, nseen = 0;
    const fc_node oldest = f->regions.at[target].roots.at[0].node;
    const uint32_t mark = ++f->mark;
    for (size_t i = 0; i < nfrom; i++) {
        if (n == FC_COUNT(stack)) return true;
        if (from[i] != target) stack[n++] = from[i];
    }
    while (n) {
        uint32_t r = stack[--n];
        if (r == target) return true;
        fc_region *x = &f->regions.at[r];
        if (x->mark == mark) continue;
        if (x->latest < oldest && f->untold < oldest) continue;
        x->mark = mark;
        if (++nseen > 1024) return true;
        for (size_t i = 0; i < x->deps.len; i++) {
            if (n == FC_COUNT(stack)) return true;
            stack[n++] = x->deps.at[i];
        }
    }
    return false;
}

bool fc_fuse_add_dep(fc_fusion *f, uint32_t region, uint32_t dep) {
    fc_region *r = &f->regions.at[region];
    for (size_t i = 0; i < r->deps.len; i++)
        if (r->deps.at[i] == dep) return true;
    return fc_push(f->alloc, &r->deps, dep) && fc_push(f->alloc, &f->regions.at[dep].users, region);
}

/* Steps for all regions together, and more for each: where a long chain of kernels needs kernels
 * that grow one after the other, the rest is not told. */
enum { STEPS = 1 << 20, MORE_STEPS = 64 };

bool fc_fuse_note_latest(fc_fusion *f, uint32_t region, fc_node n) {
    FC_VEC(uint32_t) stack = {0};
    f->regions.at[region].latest = n;
    f->steps += MORE_STEPS;
    if (!f->regions.at[region].users.len) return true;
    bool ok = fc_push(f->alloc, &stack, region);
    while (ok && stack.len) {
        const fc_region *r = &f->regions.at[stack.at[--stack.len]];
        if (r->users.len > f->steps) {
            f->untold = n;
            break;
        }
        f->steps -= r->users.len;
        for (size_t i = 0; ok && i < r->users.len; i++) {
            fc_region *u = &f->regions.at[r->users.at[i]];
            if (u->latest == n) continue;
            u->latest = n;
            ok = fc_push(f->alloc, &stack, r->users.at[i]);
        }
    }
    fc_vec_free(f->alloc, &stack);
    return ok;
}

/* ---- joining ----------------------------------------------------------------------------- */

typedef struct fc_join {
    fc_role role;
    fc_list map;   /* of the root */
    fc_node from;  /* where its code starts */
    fc_node other; /* of a contraction, its right operand; else FC_NONODE */
    fc_list from_map;
    bool convert; /* a map region becomes a reduction region */
} fc_join;

static bool has_kept_axis(const fc_graph *g, fc_list domain, uint64_t reduced) {
    for (uint32_t i = 0; i < fc_list_len(g, domain); i++) {
        const bool one = fc_dim_is(&g->dims, (fc_dim)fc_list_at(g, domain)[i], 1);
        if (!(reduced >> i & 1) && !one) return true;
    }
    return false;
}

/* Whether columns lie in blocks: an axis is kept outside of those that are reduced. Then there are
 * enough of them without a split, and what is made of them may wait for them. */
static bool has_kept_axis_outside(const fc_graph *g, fc_list domain, uint64_t reduced) {
    return has_kept_axis(g, domain, ~((reduced & (~reduced + 1)) - 1));
}

/* Whether a block keeps its rows to the end: what needs a reduction can follow in its kernel. */
static bool keeps_rows(const fc_graph *g, fc_schedule s, fc_list domain, uint64_t reduced) {
    if (s == FC_SCHED_OUTER) return has_kept_axis_outside(g, domain, reduced);
    return s == FC_SCHED_INNER && has_kept_axis(g, domain, reduced);
}

static uint64_t all_axes(const fc_graph *g, fc_list domain) {
    return ((uint64_t)1 << fc_list_len(g, domain)) - 1;
}

static fc_schedule schedule_of(const fc_ninfo *reduction) {
    static const fc_schedule by_tree[] = {[FC_TREE_OUTER] = FC_SCHED_OUTER,
                                          [FC_TREE_INNER] = FC_SCHED_INNER,
                                          [FC_TREE_DOT] = FC_SCHED_DOT};
    return by_tree[reduction->axis_kind];
}

/* Rows of a kernel end at one place. */
static fc_node row_end(const fc_graph *g, const fc_region *r) {
    for (size_t i = 0; i < r->roots.len; i++)
        if (fc_reduces(g, r->roots.at[i].node)) return fc_row_end(g, r->roots.at[i].node);
    return FC_NONODE;
}

static bool updates(const fc_graph *g, const fc_region *r) {
    for (size_t i = 0; i < r->roots.len; i++)
        if (fc_at(g, r->roots.at[i].node)->op == FC_OP_UPDATE) return true;
    return false;
}

static const char *fits_scan(fc_graph *g, const fc_region *r, fc_node n, fc_join *j) {
    const fc_ninfo *i = fc_at(g, n);
    if (i->shape != r->domain) return "it scans an array of another shape";
    if (r->schedule != FC_SCHED_MAP && r->schedule != FC_SCHED_SCAN)
        return "a scan does not share a kernel with a reduction";
    if (r->schedule == FC_SCHED_SCAN && r->reduced != fc_reduced_axes(g, n))
        return "it scans along another axis";
    if (updates(g, r)) return "an update does not share a kernel with a scan";
    j->convert = r->schedule == FC_SCHED_MAP;
    j->role = FC_ROLE_SCAN;
    j->from = i->src[0];
    j->map = j->from_map = fc_map_identity(g, i->shape);
    return j->map == FC_NOMAP ? "there is no memory" : NULL;
}

/* Its updates are made at the points of a map. */
static const char *fits_update(fc_graph *g, const fc_region *r, fc_node n, fc_join *j) {
    const fc_list shape = fc_at(g, fc_at(g, n)->src[1])->shape;
    if (r->schedule != FC_SCHED_MAP) return "an update does not share a kernel with a reduction";
    if (shape != r->domain) return "its updates have another shape";
    j->role = FC_ROLE_MAP;
    j->map = j->from_map = fc_map_identity(g, shape);
    return j->map == FC_NOMAP ? "there is no memory" : NULL;
}

/* How root `n` would sit in region `r`; NULL and a reason otherwise. */
static const char *fits(fc_graph *g, const fc_region *r, fc_node n, fc_join *j) {
    const fc_ninfo *i = fc_at(g, n);
    *j = (fc_join){.from = n, .other = FC_NONODE};
    if (r->is_step) return "what it reads is made by a step that is no kernel";
    uint64_t all = all_axes(g, r->domain);
    if (fc_scans(g, n)) return fits_scan(g, r, n, j);
    if (i->op == FC_OP_UPDATE) return fits_update(g, r, n, j);
    if (fc_reduces(g, n)) {
        fc_list shape = fc_at(g, i->src[0])->shape;
        uint64_t mask = fc_reduced_axes(g, n);
        fc_schedule s = schedule_of(i);
        if (s == FC_SCHED_DOT && r->roots.len)
            return r->schedule == FC_SCHED_MAP ? "what costs more than a few operations an "
                                                 "element, or is a result too, is made once "
                                                 "and not again for each tile of a product"
                                               : "a product has a kernel of its own";
        if (shape != r->domain) return "it reduces an array of another shape";
        if (r->roots.len &&
            (r->schedule == FC_SCHED_MAP ? FC_NONODE : row_end(g, r)) != fc_row_end(g, n))
            return "its rows end elsewhere";
        if (r->schedule == FC_SCHED_SCAN) return "a scan does not share a kernel with a reduction";
        if (r->schedule == FC_SCHED_MAP) {
            if (updates(g, r)) return "an update does not share a kernel with a reduction";
            if (!keeps_rows(g, s, shape, mask))
                return "a reduction that is split over blocks does not store its elements";
            j->convert = true;
        } else if (r->schedule != s || (r->reduced != mask && !FC_PLANTED(wrong_axis))) {
            return "it reduces other axes";
        }
        j->role = FC_ROLE_REDUCE;
        j->map = fc_map_match(g, i->shape, r->domain, all & ~mask);
        j->from = i->src[0];
        if (i->op == FC_OP_dot) j->other = i->src[1];
        j->from_map = fc_map_identity(g, shape);
        if (j->from_map == FC_NOMAP) return "there is no memory";
        return j->map == FC_NOMAP ? "its shape is not that of the kept axes" : NULL;
    }
    if (r->schedule == FC_SCHED_MAP) {
        j->role = FC_ROLE_MAP;
        j->map = j->from_map = fc_map_match(g, i->shape, r->domain, all);
        return j->map == FC_NOMAP ? "it has another shape" : NULL;
    }
    j->role = FC_ROLE_ROW;
    j->map = j->from_map = fc_map_match(g, i->shape, r->domain, all & ~r->reduced);
    if (j->map != FC_NOMAP && r->schedule != FC_SCHED_SCAN) return NULL;
    j->role = FC_ROLE_POINT;
    j->map = j->from_map = fc_map_match(g, i->shape, r->domain, all);
    if (j->map == FC_NOMAP) return "it has another shape than the reduction before it";
    if (row_end(g, r) != FC_NONODE) return "it has elements where rows end before";
    if (r->schedule == FC_SCHED_DOT) return "a result of a product is finished before it is spread";
    if (r->schedule == FC_SCHED_SCAN) return NULL;
    if (keeps_rows(g, r->schedule, r->domain, r->reduced)) return NULL;
    if (r->schedule == FC_SCHED_OUTER)
        return "a reduction over an outer axis is finished before its result is spread over that "
               "axis again";
    return "a reduction of the whole array is finished before its result is spread again";
}

static const char *over_limit(const fc_graph *g, const fc_pass_options *o, const fc_region *r,
                              const fc_visit *v) {
    uint32_t rank = fc_list_len(g, r->domain);
    uint32_t accesses = r->accesses + v->accesses + (uint32_t)r->roots.len + 1;
    uint32_t leaves = (uint32_t)(r->leaves.len + v->leaves.len);
    uint32_t words =
        accesses * (1 + rank) + leaves + (uint32_t)r->roots.len + r->params + v->params + rank;
    if (r->ops + v->ops > (o->max_ops ? o->max_ops : FC_MAX_OPS))
        return "the kernel would pass the limit of operations";
    if (r->transcendental + v->transcendental > FC_MAX_TRANSCENDENTAL)
        return "the kernel would pass the limit of transcendental functions";
    if (leaves > FC_MAX_LEAVES || words > FC_MAX_WORDS)
        return "the kernel would pass the limit of arguments";
    return NULL;
}

static bool commit(fc_graph *g, fc_fusion *f, uint32_t region, fc_node n, const fc_join *j,
                   fc_visit *v) {
    fc_region *r = &f->regions.at[region];
    const fc_alloc *a = f->alloc;
    if (j->convert) {
        r->schedule = j->role == FC_ROLE_SCAN ? FC_SCHED_SCAN : schedule_of(fc_at(g, n));
        r->reduced = fc_reduced_axes(g, n);
        for (size_t i = 0; i < r->roots.len; i++) r->roots.at[i].role = FC_ROLE_POINT;
    }
    fc_root root = {.node = n, .map = j->map, .role = (uint8_t)j->role, .stage = (int8_t)v->stage};
    if (fc_makes_accumulator(j->role)) {
        root.stage = (int8_t)(v->stage + 1);
        r->reductions++;
        if ((uint32_t)root.stage + 1 > r->stages) r->stages = (uint32_t)root.stage + 1;
    }
    bool ok = fc_push(a, &r->roots, root) && fc_fuse_note_latest(f, region, n);
    for (size_t i = 0; ok && i < v->added.len; i++)
        ok = fc_region_enter(a, r, v->added.at[i].key, v->added.at[i].from);
    for (size_t i = 0; ok && i < v->leaves.len; i++)
        ok = fc_push(a, &r->leaves, v->leaves.at[i]) && fc_region_enter_leaf(a, r, v->leaves.at[i]);
    for (size_t i = 0; ok && i < v->deps.len; i++) ok = fc_fuse_add_dep(f, region, v->deps.at[i]);
    r->ops += v->ops;
    r->transcendental += v->transcendental;
    r->accesses += v->accesses;
    r->params += v->params;
    f->home[n] = region;
    return ok || (fc_oom(&g->error), false);
}

/* What an array starts from before it is updated. */
static bool is_start(const fc_graph *g, fc_node n) {
    return fc_at(g, n)->op == FC_OP_MATERIALIZE && fc_at(g, n)->attr;
}

/* Puts root `n` into `region` if the rules allow it. NULL: done. */
static const char *try_join(fc_graph *g, const fc_pass_options *o, fc_fusion *f, uint32_t region,
                            fc_node n) {
    fc_region *r = &f->regions.at[region];
    fc_join j;
    const char *why = fits(g, r, n, &j);
    if (why) return why;
    fc_visit *v = fc_visit_begin(f);
    bool reduction = fc_makes_accumulator(j.role);
    if (reduction && r->reductions >= FC_MAX_REDUCTIONS)
        return "the kernel would pass the limit of reductions";
    if (!fc_fuse_trace(g, f, r, j.from, j.other, j.from_map, !reduction, v))
        why = v->why ? v->why : "out of memory";
    else if (reduction && r->schedule == FC_SCHED_OUTER && v->stage >= 0 &&
             !keeps_rows(g, r->schedule, r->domain, r->reduced))
        why = "a column reduction does not wait for another one in the same kernel";
    else if (j.role == FC_ROLE_SCAN && v->stage >= 0)
        why = "a scan does not wait for another one in the same kernel";
    else if (reduction && v->stage >= 0 && !has_kept_axis(g, r->domain, r->reduced))
        why = "a reduction of the whole array is finished before the next one that needs it";
    else if (!v->reads_root && !(v->shares_leaf && j.role != FC_ROLE_ROW) &&
             !(is_start(g, n) && r->schedule == FC_SCHED_MAP))
        why = "they share no array";
    else
        why = over_limit(g, o, r, v);
    if (!why && depend_on(f, v->deps.at, v->deps.len, region))
        why = "something it needs runs after that kernel";
    if (!why && !commit(g, f, region, n, &j, v)) why = "out of memory";
    return why;
}

/* ---- candidates -------------------------------------------------------------------------- */

/* Regions that read an array, newest last; a few are enough. */
typedef struct fc_readers {
    uint32_t at[4];
    uint32_t n;
} fc_readers;

static void note_reader(fc_readers *x, uint32_t region) {
    if (x->n && x->at[x->n - 1] == region) return;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->at[i] == region) return;
    if (x->n == FC_COUNT(x->at)) {
        memmove(x->at, x->at + 1, (FC_COUNT(x->at) - 1) * sizeof *x->at);
        x->n--;
    }
    x->at[x->n++] = region;
}

static void note_leaves(const fc_fusion *f, fc_readers *readers, uint32_t region) {
    const fc_region *r = &f->regions.at[region];
    for (size_t i = 0; i < r->leaves.len; i++) note_reader(&readers[r->leaves.at[i]], region);
}

static void start_region(const fc_graph *g, fc_node n, fc_region *out) {
    const fc_ninfo *i = fc_at(g, n);
    memset(out, 0, sizeof *out);
    out->why = "";
    out->schedule = FC_SCHED_MAP;
    out->domain = i->shape;
    if (fc_scans(g, n)) {
        out->schedule = FC_SCHED_SCAN;
        out->reduced = fc_reduced_axes(g, n);
    } else if (i->op == FC_OP_UPDATE) {
        out->domain = fc_at(g, i->src[1])->shape;
    } else if (fc_reduces(g, n)) {
        out->schedule = schedule_of(i);
        out->domain = fc_at(g, i->src[0])->shape;
        out->reduced = fc_reduced_axes(g, n);
    }
}

/* What `n` takes in a region of its own, where it always fits. */
static bool trace_alone(fc_graph *g, fc_fusion *f, fc_node n, fc_region *fresh, fc_join *j,
                        fc_visit *v) {
    start_region(g, n, fresh);
    const char *why = fits(g, fresh, n, j);
    const bool starts = why || !fc_makes_accumulator(j->role);
    if (!why && fc_at(g, n)->op != FC_OP_INPUT && starts) j->role = FC_ROLE_MAP;
    if (!why && fc_fuse_trace(g, f, fresh, j->from, j->other, j->from_map, starts, v)) return true;
    fc_fail(&g->error, FUSEC_INTERNAL, "no kernel for node %u: %s", n, why ? why : v->why);
    return false;
}

enum { MAX_CANDIDATES = 24 };

/* The regions that make what it reads, the latest first. */
static size_t makers(fc_fusion *f, fc_read_list leaves, uint32_t *deps, size_t most) {
    size_t n = 0;
    const uint32_t mark = ++f->mark;
    for (size_t i = leaves.n; i-- > 0 && n < most;) {
        const uint32_t r = f->home[leaves.at[i]];
        if (r == FC_NOREGION || f->regions.at[r].mark == mark) continue;
        f->regions.at[r].mark = mark;
        deps[n++] = r;
    }
    return n;
}

/* Others that read the same arrays. */
static size_t sharers(fc_fusion *f, const fc_readers *readers, fc_read_list leaves,
                      const uint32_t *deps, size_t ndeps, uint32_t *cand, size_t most) {
    size_t n = 0;
    const uint32_t mark = ++f->mark;
    for (size_t i = 0; i < ndeps; i++) f->regions.at[deps[i]].mark = mark;
    for (size_t i = leaves.n; i-- > 0;) {
        const fc_readers *rd = &readers[leaves.at[i]];
        for (uint32_t k = rd->n; k-- > 0 && n < most;) {
            const uint32_t r = rd->at[k];
            if (f->regions.at[r].mark == mark) continue;
            f->regions.at[r].mark = mark;
            cand[n++] = r;
        }
    }
    return n;
}

/* Where nothing is read there is nothing to share, but several starts of one size are one launch:
 * the latest region that makes one takes it. */
static uint32_t join_starts(fc_graph *g, const fc_pass_options *o, fc_fusion *f, fc_node n) {
    for (fc_node m = n; m-- > 0;) {
        if (!is_start(g, m) || f->home[m] == FC_NOREGION) continue;
        const uint32_t r = f->home[m];
        if (fc_at(g, m)->shape != fc_at(g, n)->shape || try_join(g, o, f, r, n)) return FC_NOREGION;
        return r;
    }
    return FC_NOREGION;
}

/* A region for `n` among those that make or read what it reads; FC_NOREGION and the reason of the
 * first maker that refused. */
static uint32_t find_region(fc_graph *g, const fc_pass_options *o, fc_fusion *f,
                            const fc_readers *readers, fc_read_list leaves, fc_node n,
                            const char **why) {
    uint32_t deps[FC_MAX_LEAVES + MAX_CANDIDATES], cand[MAX_CANDIDATES];
    if (is_start(g, n) && !leaves.n) return join_starts(g, o, f, n);
    const size_t ndeps = makers(f, leaves, deps, FC_COUNT(deps)),
                 first = ndeps < MAX_CANDIDATES ? ndeps : MAX_CANDIDATES;
    size_t nc = first;
    memcpy(cand, deps, first * sizeof *cand);
    for (size_t i = 0; !g->error.code; i++) {
        if (i == first) /* no maker takes it */
            nc += sharers(f, readers, leaves, deps, ndeps, cand + nc, MAX_CANDIDATES - nc);
        if (i >= nc) break;
        bool wanted = i < first && !**why; /* its reason is the one that is kept */
        /* every trace would find that another region that is needed comes after this one */
        if (!wanted && depend_on(f, deps, ndeps, cand[i])) continue;
        const char *w = try_join(g, o, f, cand[i], n);
        if (!w) return cand[i];
        if (wanted) *why = w;
    }
    return FC_NOREGION;
}

static bool place(fc_graph *g, const fc_pass_options *o, fc_fusion *f, fc_readers *readers,
                  fc_read_list leaves, fc_node n) {
    const char *why = "";
    uint32_t region = FC_NOREGION;
    bool ok = true;
    if (!o->unfused) region = find_region(g, o, f, readers, leaves, n, &why);
    if (region == FC_NOREGION && !g->error.code) {
        fc_visit *v = fc_visit_begin(f);
        fc_region fresh;
        fc_join j;
        ok = trace_alone(g, f, n, &fresh, &j, v);
        region = (uint32_t)f->regions.len;
        fresh.why = why;
        ok = ok && fc_push(f->alloc, &f->regions, fresh) && commit(g, f, region, n, &j, v);
    }
    if (ok && !g->error.code) note_leaves(f, readers, region);
    return ok && !g->error.code;
}

/* ---- the pass ---------------------------------------------------------------------------- */

static void drop_regions(fc_fusion *f) {
    for (size_t i = 0; i < f->regions.len; i++) {
        fc_region *r = &f->regions.at[i];
        fc_vec_free(f->alloc, &r->roots);
        fc_vec_free(f->alloc, &r->leaves);
        fc_vec_free(f->alloc, &r->deps);
        fc_vec_free(f->alloc, &r->users);
        fc_free(f->alloc, r->seen.slots);
    }
    f->regions.len = 0;
}

void fc_fusion_free(fc_fusion *f) {
    if (!f) return;
    drop_regions(f);
    fc_vec_free(f->alloc, &f->regions);
    fc_free(f->alloc, f->is_root);
    fc_free(f->alloc, f->ragged);
    fc_free(f->alloc, f->home);
    fc_free(f->alloc, f->met);
    fc_walk_free(f->alloc, &f->walk);
    fc_visit_free(f->alloc, &f->visit);
    fc_arena_free(&f->arena);
    fc_free(f->alloc, f);
}

static bool group(fc_graph *g, const fc_pass_options *o, fc_fusion *f, const uint8_t *live) {
    fc_readers *readers = fc_calloc(f->alloc, g->nodes.len + 1, sizeof *readers);
    fc_reads reads = {0};
    bool ok = fc_reads_init(f->alloc, &reads, g->nodes.len) && readers;
    drop_regions(f);
    f->steps = STEPS;
    f->untold = 0;
    for (fc_node n = 0; n < g->nodes.len; n++) f->home[n] = FC_NOREGION;
    for (fc_node n = 0; ok && n < g->nodes.len; n++) {
        if (!live[n]) continue;
        ok = fc_reads_add(g, f, &reads, n);
        if (ok && fc_is_step(fc_at(g, n)->op))
            ok = fc_fuse_place_step(g, f, n);
        else if (ok && fc_at(g, n)->op == FC_OP_RESULT)
            ok = fc_fuse_place_result(g, f, n);
        else if (ok && f->is_root[n])
            ok = place(g, o, f, readers, reads.of[n], n);
    }
    fc_reads_free(f->alloc, &reads);
    fc_free(f->alloc, readers);
    if (!ok && !g->error.code) fc_oom(&g->error);
    return ok;
}

/* A root is stored if it is an output or another region reads it. */
static void mark_stored(fc_graph *g, fc_fusion *f) {
    uint8_t *read = f->is_root; /* no longer needed: reused as "read from memory" */
    memset(read, 0, g->nodes.len);
    for (size_t i = 0; i < f->regions.len; i++)
        for (size_t k = 0; k < f->regions.at[i].leaves.len; k++)
            read[f->regions.at[i].leaves.at[k]] = 1;
    for (size_t i = 0; i < g->outputs.len; i++) read[g->outputs.at[i].node] = 1;
    for (size_t i = 0; i < f->regions.len; i++)
        for (size_t k = 0; k < f->regions.at[i].roots.len; k++)
            f->regions.at[i].roots.at[k].stored = read[f->regions.at[i].roots.at[k].node];
}

static fusec_status start(fc_plan *p, fc_error *e) {
    fc_fusion *f = p->fusion = fc_calloc(p->alloc, 1, sizeof *f);
    const size_t n = p->graph.nodes.len + 1;
    if (!f) return fc_oom(e);
    f->alloc = p->alloc;
    fc_arena_init(&f->arena, f->alloc);
    f->is_root = fc_calloc(f->alloc, n, 1);
    f->ragged = fc_calloc(f->alloc, n, 1);
    f->home = fc_calloc(f->alloc, n, sizeof *f->home);
    f->met = fc_calloc(f->alloc, n, sizeof *f->met);
    return f->is_root && f->ragged && f->home && f->met ? FUSEC_OK : fc_oom(e);
}

/* Makes p->fusion. */
fusec_status fc_pass_fuse(fc_plan *p, const fc_pass_options *o, fc_error *e) {
    FC_TRY(start(p, e));
    fc_graph *g = &p->graph;
    fc_fusion *f = p->fusion;
    uint8_t *live = fc_calloc(f->alloc, g->nodes.len + 1, 1);
    bool ok = live && fc_fuse_roots(g, o, f, e) == FUSEC_OK;
    if (ok) fc_rewrite_live(g, live);
    bool again = true;
    for (int round = 0; ok && again && round < 3; round++) {
        ok = group(g, o, f, live);
        again = false;
        if (ok && !o->unfused && round < 2) ok = fc_fuse_shared(g, f, &again);
    }
    if (ok && !o->unfused) ok = fc_fuse_shared_less(g, f, &again);
    if (ok && again) ok = group(g, o, f, live);
    fc_free(f->alloc, live);
    if (ok) {
        mark_stored(g, f);
        return FUSEC_OK;
    }
    if (e && !e->code && g->error.code) fc_fail(e, g->error.code, "%s", g->error.message);
    fc_oom(e);
    return e ? e->code : FUSEC_OUT_OF_MEMORY;
}
