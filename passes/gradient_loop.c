/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_loop.c - derivatives of loops are loops.
 *
 * In: a loop, and what arrives at its values or what the tangents of its operands are. Out: another
 * loop and its results.
 *
 * Forward: the same rounds carry tangents beside the values, also while a condition holds.
 *
 * Reverse: a loop that collects what each round began with, as far as the derivatives of the body
 * read it, and one that goes through the rounds from the last to the first. It carries what arrives
 * at the carried values, and the sums of what arrives at values from outside. What a round reads of
 * an array at a place that the counter alone says (take(x, k, axis=0)) is not summed round by
 * round: the shares are collected and stored at their places at once. How many rounds there were
 * has to be a size.
 *
 * fc_merge_loops (passes/loops.h) makes one of loops that go through the same rounds. */
#include "passes/gradient_impl.h"

#include "ir/complex.h"
#include "ir/loop.h"
#include "ir/substitute.h"

enum { MOST = FC_MAX_LOOP_VALUES };

typedef FC_VEC(fc_node) node_vec;

typedef struct looping {
    fc_grad_ctx *c;
    fc_node loop;
    const uint8_t *needed;
    fc_open_loop o;
    uint32_t n, ncollected;
    uint32_t len;     /* of the marks */
    uint8_t *inside;  /* by node: INSIDE and the like, 0 of values from outside */
    node_vec outside; /* needed values from outside that the body reads */
    bool active[MOST];
} looping;

enum {
    INSIDE = 1,  /* made of the loop's holes */
    CARRIED = 2, /* of those of carried values */
    DEEPER = 4   /* of those of a loop in the body */
};

static void add(looping *l, node_vec *v, fc_node n) {
    if (!fc_push(l->c->g->alloc, v, n)) fc_oom(&l->c->g->error);
}

static bool is_derived(const looping *l, fc_node n) {
    const fusec_dtype t = (fusec_dtype)fc_at(l->c->g, n)->dtype;
    return fc_is_float(t) || fc_is_complex(t);
}

/* ---- the body -------------------------------------------------------------------------------- */

static bool mark_inside(looping *l) {
    const fc_graph *g = l->c->g;
    uint64_t *levels = fc_malloc(g->alloc, l->len * sizeof *levels);
    if (!levels) return fc_oom(&l->c->g->error), false;
    fc_body_levels(g, levels);
    for (fc_node n = 0; n < l->len; n++) l->inside[n] = levels[n] > 1 ? DEEPER : 0;
    fc_free(g->alloc, levels);
    l->inside[l->o.counter] = INSIDE;
    for (uint32_t i = 0; i < l->n; i++) l->inside[l->o.hole[i]] = INSIDE | CARRIED;
    for (fc_node n = 0; n < l->len; n++)
        for (int k = 0; k < fc_at(g, n)->nops; k++)
            l->inside[n] |= l->inside[fc_at(g, n)->src[k]] & (INSIDE | CARRIED);
    return true;
}

/* What the body is made of: of it what lies outside, and is needed. */
static void find_outside(looping *l) {
    const fc_graph *g = l->c->g;
    uint8_t *need = fc_calloc(g->alloc, l->len, 1);
    if (!need) {
        fc_oom(&l->c->g->error);
        return;
    }
    for (uint32_t i = 0; i < l->n; i++) need[l->o.next[i]] = 1;
    for (uint32_t i = 0; i < l->ncollected; i++) need[l->o.collected[i]] = 1;
    for (fc_node n = l->len; n-- > 0;) {
        const fc_ninfo *i = fc_at(g, n);
        if (need[n] && !l->inside[n] && n < l->loop && l->needed[n] && is_derived(l, n))
            add(l, &l->outside, n);
        const bool custom = i->op == FC_OP_CAST && FC_CAST_KIND(i->attr) == FC_CAST_CUSTOM;
        if (!need[n] || !l->inside[n]) continue;
        for (int k = 0; k < i->nops; k++) need[i->src[k]] = 1;
        const fc_custom *r = custom ? &g->customs.at[FC_CAST_NUMBER(i->attr)] : NULL;
        for (uint32_t k = 0; r && k < r->nargs; k++)
            if (r->arg[k] < n) need[r->arg[k]] = 1;
    }
    fc_free(g->alloc, need);
}

static bool begin(looping *l) {
    fc_graph *g = l->c->g;
    if (!fc_loop_open(g, l->loop, &l->o)) return false;
    l->n = l->o.v.loop.carried;
    l->ncollected = l->o.v.loop.collected;
    l->len = (uint32_t)g->nodes.len;
    l->inside = fc_calloc(g->alloc, l->len, 1);
    if (!l->inside) return fc_oom(&g->error), false;
    if (mark_inside(l)) find_outside(l);
    return !g->error.code;
}

static void end(looping *l) {
    const fc_alloc *a = l->c->g->alloc;
    fc_free(a, l->inside);
    fc_vec_free(a, &l->outside);
}

/* Carried values that change with what is derived by: from their start, or from round to round. */
static bool find_active(looping *l) {
    bool more = true, depends[MOST];
    node_vec x = {0};
    for (uint32_t i = 0; i < l->n; i++)
        l->active[i] = is_derived(l, l->o.hole[i]) && l->needed[l->o.v.start[i]];
    while (more && !l->c->g->error.code) {
        more = false;
        x.len = 0;
        for (uint32_t i = 0; i < l->n; i++)
            if (l->active[i]) add(l, &x, l->o.hole[i]);
        for (size_t i = 0; i < l->outside.len; i++) add(l, &x, l->outside.at[i]);
        const fc_g_function f = {l->n, (uint32_t)x.len, l->o.next, x.at};
        if (l->c->g->error.code || !fc_g_function_depends(l->c, &f, depends)) break;
        for (uint32_t i = 0; i < l->n; i++) {
            if (l->active[i] || !depends[i] || !is_derived(l, l->o.hole[i])) continue;
            more = l->active[i] = true;
        }
    }
    fc_vec_free(l->c->g->alloc, &x);
    return !l->c->g->error.code;
}

/* A cotangent or tangent of n in its shape; 0 for FC_NONODE. */
static fc_node whole(fc_grad_ctx *c, fc_node v, fc_node n) {
    if (c->g->error.code) return FC_NONODE;
    return fc_g_spread_as(c, v == FC_NONODE ? fc_g_zero(c->g, n) : v, n);
}

/* A bound variable for what belongs to n. */
static fc_node hole_for(fc_grad_ctx *c, fc_node n) {
    fc_dim shape[2 * FC_MAX_RANK];
    memcpy(shape, c->lead, c->nlead * sizeof *shape);
    const uint32_t rank = c->nlead + fc_shape_of(c->g, n, shape + c->nlead);
    if (rank > FC_MAX_RANK)
        return fc_fail(&c->g->error, FUSEC_LIMIT, "a jacobian of rank %u; the limit is %u", rank,
                       (unsigned)FC_MAX_RANK),
               FC_NONODE;
    return fc_build_hole(c->g, (fusec_dtype)fc_at(c->g, n)->dtype, rank, shape);
}

/* ---- forward --------------------------------------------------------------------------------- */

typedef struct building {
    fc_loop_parts p;
    fc_node start[2 * MOST], hole[2 * MOST], next[2 * MOST], collected[2 * MOST], out[2 * MOST];
} building;

static void begin_building(building *b, const looping *l) {
    memset(b, 0, sizeof *b);
    b->p = (fc_loop_parts){.first = l->o.v.first,
                           .end = l->o.v.end,
                           .counter = l->o.counter,
                           .condition = l->o.condition,
                           .start = b->start,
                           .hole = b->hole,
                           .next = b->next,
                           .collected = b->collected};
}

static void carry(building *b, fc_node start, fc_node hole, fc_node next) {
    if (b->p.ncarried == 2 * MOST) return; /* the builder says that it is too many */
    b->start[b->p.ncarried] = start;
    b->hole[b->p.ncarried] = hole;
    b->next[b->p.ncarried++] = next;
}

static void carry_same(building *b, const looping *l) {
    for (uint32_t i = 0; i < l->n; i++) carry(b, l->o.v.start[i], l->o.hole[i], l->o.next[i]);
}

static void collect(building *b, fc_node v) {
    if (b->p.ncollected < 2 * MOST) b->collected[b->p.ncollected++] = v;
}

static bool forward(looping *l, const fc_node *value, bool marked, fc_node *at) {
    fc_grad_ctx *c = l->c;
    building b;
    node_vec x = {0}, dx = {0};
    fc_node y[2 * MOST], dy[2 * MOST], hole[MOST];
    for (uint32_t i = 0; i < l->n; i++) {
        hole[i] = l->active[i] ? hole_for(c, l->o.hole[i]) : FC_NONODE;
        if (l->active[i]) add(l, &x, l->o.hole[i]), add(l, &dx, hole[i]);
        y[i] = l->o.next[i];
    }
    for (size_t i = 0; i < l->outside.len; i++) {
        add(l, &x, l->outside.at[i]);
        add(l, &dx, value[l->outside.at[i]]);
    }
    for (uint32_t i = 0; i < l->ncollected; i++) y[l->n + i] = l->o.collected[i];
    const fc_g_function f = {l->n + l->ncollected, (uint32_t)x.len, y, x.at};
    bool ok = !c->g->error.code && fc_g_function_forward(c, &f, dx.at, &marked, dy);
    fc_vec_free(c->g->alloc, &x);
    fc_vec_free(c->g->alloc, &dx);
    if (!ok) return false;
    begin_building(&b, l);
    carry_same(&b, l);
    for (uint32_t i = 0; i < l->n; i++)
        if (l->active[i])
            carry(&b, whole(c, value[l->o.v.start[i]], l->o.v.start[i]), hole[i],
                  whole(c, dy[i], l->o.hole[i]));
    for (uint32_t i = 0; i < l->ncollected; i++) collect(&b, l->o.collected[i]);
    for (uint32_t i = 0; i < l->ncollected; i++)
        if (dy[l->n + i] != FC_NONODE) collect(&b, whole(c, dy[l->n + i], l->o.collected[i]));
    if (!fc_build_loop(c->g, &b.p, b.out)) return false;
    uint32_t n = l->n;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->active[i]) at[i] = b.out[n++];
    n += l->ncollected;
    for (uint32_t i = 0; i < l->ncollected; i++)
        if (dy[l->n + i] != FC_NONODE) at[l->n + i] = b.out[n++];
    return true;
}

void fc_g_loop_forward(fc_grad_ctx *c, fc_node loop, const uint8_t *needed, const fc_node *value,
                       bool marked, fc_node *at) {
    looping l = {.c = c, .loop = loop, .needed = needed};
    if (begin(&l) && find_active(&l)) forward(&l, value, marked, at);
    end(&l);
}

/* ---- reverse: one round ---------------------------------------------------------------------- */

typedef struct rounding {
    looping l;
    const fc_node *at; /* what arrives at the values of the loop */
    bool marked;
    node_vec x, dx;            /* active holes, values from outside, reads by the counter */
    node_vec reads;            /* of these, the last: TAKEs */
    fc_node arrives[2 * MOST]; /* holes: what arrives at carried values, at collected ones */
    bool flows[MOST];          /* something arrives at carried value i in some round */
} rounding;

/* What the counter alone chooses of an array from outside that gets a share. */
static void find_reads(rounding *r) {
    looping *l = &r->l;
    const fc_graph *g = l->c->g;
    if (l->c->nlead) return;
    for (fc_node n = 0; n < l->len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op != FC_OP_TAKE || l->inside[n] != INSIDE || !is_derived(l, n)) continue;
        if (l->inside[i->src[0]] || i->src[0] >= l->loop || !l->needed[i->src[0]]) continue;
        if (fc_has_parts(g, n)) continue;
        add(l, &r->reads, n);
    }
}

/* The shares of one round. Values to which something flows get more of them with each look. */
static bool one_round(rounding *r) {
    looping *l = &r->l;
    fc_grad_ctx *c = l->c;
    fc_node y[2 * MOST];
    bool more = true;
    for (uint32_t i = 0; i < l->n; i++) {
        y[i] = l->o.next[i];
        r->flows[i] = l->active[i] && r->at[i] != FC_NONODE;
        r->arrives[i] = l->active[i] ? hole_for(c, l->o.hole[i]) : FC_NONODE;
        if (l->active[i]) add(l, &r->x, l->o.hole[i]);
    }
    for (uint32_t i = 0; i < l->ncollected; i++) {
        const bool any = r->at[l->n + i] != FC_NONODE;
        y[l->n + i] = l->o.collected[i];
        r->arrives[l->n + i] = any ? hole_for(c, l->o.collected[i]) : FC_NONODE;
    }
    for (size_t i = 0; i < l->outside.len; i++) add(l, &r->x, l->outside.at[i]);
    for (size_t i = 0; i < r->reads.len; i++) add(l, &r->x, r->reads.at[i]);
    for (size_t i = 0; i < r->x.len; i++) add(l, &r->dx, FC_NONODE);
    const fc_g_function f = {l->n + l->ncollected, (uint32_t)r->x.len, y, r->x.at};
    bool marked = r->marked;
    while (more && !c->g->error.code) {
        fc_node dy[2 * MOST];
        bool now = marked;
        memcpy(dy, r->arrives, sizeof dy);
        for (uint32_t i = 0; i < l->n; i++)
            if (!r->flows[i]) dy[i] = FC_NONODE;
        if (!fc_g_function_reverse(c, &f, dy, &now, r->dx.at)) return false;
        more = now && !marked; /* what comes through a choice arrives in the round before */
        marked |= now;
        for (uint32_t i = 0, k = 0; i < l->n; i++) {
            if (!l->active[i]) continue;
            const fc_node v = r->dx.at[k++];
            if (v == FC_NONODE || r->flows[i]) continue;
            more = r->flows[i] = true;
        }
    }
    return !c->g->error.code;
}

/* ---- reverse: all rounds --------------------------------------------------------------------- */

/* Which carried values the shares read, and whether they read the counter. */
static bool find_read(rounding *r, bool *carried, bool *counter) {
    looping *l = &r->l;
    const fc_graph *g = l->c->g;
    const size_t len = g->nodes.len;
    uint8_t *need = fc_calloc(g->alloc, len, 1);
    if (!need) return fc_oom(&l->c->g->error), false;
    for (size_t i = 0; i < r->dx.len; i++)
        if (r->dx.at[i] != FC_NONODE) need[r->dx.at[i]] = 1;
    for (size_t i = 0; i < r->reads.len; i++) need[fc_at(g, r->reads.at[i])->src[1]] = 1;
    fc_mark_operands(g, (fc_node)len, need);
    for (uint32_t i = 0; i < l->n; i++) carried[i] = need[l->o.hole[i]];
    *counter = need[l->o.counter];
    fc_free(g->alloc, need);
    return true;
}

/* What each round began with. */
static bool collect_rounds(rounding *r, const bool *read, fc_node *path) {
    looping *l = &r->l;
    building b;
    begin_building(&b, l);
    carry_same(&b, l);
    for (uint32_t i = 0; i < l->n; i++)
        if (read[i]) collect(&b, l->o.hole[i]);
    /* what the loop itself collects, so that it need not be run for that */
    for (uint32_t i = 0; i < l->ncollected && b.p.ncarried + b.p.ncollected < MOST; i++)
        collect(&b, l->o.collected[i]);
    if (!fc_build_loop(l->c->g, &b.p, b.out)) return false;
    for (uint32_t i = 0, k = l->n; i < l->n; i++) path[i] = read[i] ? b.out[k++] : FC_NONODE;
    return true;
}

/* Element `at` of an axis. */
static fc_node element(fc_graph *g, fc_node a, fc_node at, uint32_t axis) {
    if (!fc_usable(g, a)) return FC_NONODE;
    if (!fc_has_parts(g, a)) return fc_build_gather(g, a, at, axis, true);
    fc_parts p = fc_full_parts(g, a);
    p.re = fc_build_gather(g, p.re, at, axis, true);
    return fc_build_pair(g, p.re, fc_build_gather(g, p.im, at, axis, true));
}

typedef struct standing {
    node_vec from, to;
} standing;

static void stand_in(looping *l, standing *s, fc_node from, fc_node to) {
    add(l, &s->from, from);
    add(l, &s->to, to);
}

/* What a round going backwards has in place of what the round had: `counter` counts the other way
 * round. */
static void stand_ins(rounding *r, const bool *read, const fc_node *path, fc_node counter,
                      standing *s) {
    looping *l = &r->l;
    fc_graph *g = l->c->g;
    const fc_node one = fc_i64(g, 1);
    const fc_node round = fc_op2(g, FC_OP_sub, fc_op2(g, FC_OP_sub, l->o.v.end, one), counter);
    stand_in(l, s, l->o.counter, fc_op2(g, FC_OP_add, round, l->o.v.first));
    for (uint32_t i = 0; i < l->n; i++)
        if (read[i]) stand_in(l, s, l->o.hole[i], element(g, path[i], round, 0));
    for (uint32_t i = 0; i < l->ncollected; i++)
        if (r->at[l->n + i] != FC_NONODE) {
            fc_node v = r->at[l->n + i];
            if (fc_g_is_const(g, v)) {
                v = fc_g_spread_as(l->c, v, l->o.collected[i]);
            } else {
                v = element(g, v, round, l->c->nlead);
            }
            stand_in(l, s, r->arrives[l->n + i], v);
        }
}

/* What the rounds read by the counter goes to the arrays it was read from. */
static void store_reads(rounding *r, const building *b, uint32_t at, const bool *any,
                        fc_g_shares *out) {
    looping *l = &r->l;
    fc_graph *g = l->c->g;
    for (size_t i = 0; i < r->reads.len && !g->error.code; i++) {
        if (!any[i]) continue;
        const fc_ninfo n = *fc_at(g, r->reads.at[i]);
        const fc_node base = whole(l->c, FC_NONODE, n.src[0]);
        const fc_scatter how = {FC_OP_sum, (uint32_t)n.attr, false};
        const fc_node index = b->out[at++], v = b->out[at++];
        fc_g_share(l->c, out, n.src[0],
                   n.flags & FC_NODE_INSIDE ? fc_build_scatter_inside(g, base, index, v, how)
                                            : fc_build_scatter(g, base, index, v, how));
    }
}

enum { MOST_READS = MOST / 4 };

/* What the loop is made of, of values in a round going backwards: those of what it carries, of what
 * stands outside, of what it reads, then the indices of these. */
static bool build_rounds(rounding *r, const fc_node *root, building *b, bool *any) {
    looping *l = &r->l;
    fc_grad_ctx *c = l->c;
    fc_graph *g = c->g;
    for (uint32_t i = 0; i < l->n; i++) {
        if (!l->active[i]) continue;
        const fc_node v = *root++;
        if (r->flows[i])
            carry(b, whole(c, r->at[i], l->o.hole[i]), r->arrives[i], whole(c, v, l->o.hole[i]));
    }
    for (uint32_t i = 0; i < l->outside.len; i++) {
        const fc_node x = l->outside.at[i], v = *root++;
        if (v == FC_NONODE) continue;
        const fc_node sum = hole_for(c, x);
        carry(b, whole(c, FC_NONODE, x), sum, fc_op2(g, FC_OP_add, sum, whole(c, v, x)));
    }
    const size_t nread = r->reads.len;
    for (size_t i = 0; i < nread; i++) {
        any[i] = root[i] != FC_NONODE;
        if (!any[i]) continue;
        collect(b, fc_build_like(g, root[nread + i], r->reads.at[i]));
        collect(b, whole(c, root[i], r->reads.at[i]));
    }
    return !(b->p.ncarried + b->p.ncollected) || fc_build_loop(g, &b->p, b->out);
}

/* What comes out of it goes to the starts, to what stands outside, and to what is read. */
static void share_rounds(rounding *r, const fc_node *outside, const building *b, const bool *any,
                         fc_g_shares *out) {
    looping *l = &r->l;
    uint32_t at = 0;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->active[i] && r->flows[i]) fc_g_share(l->c, out, l->o.v.start[i], b->out[at++]);
    for (uint32_t i = 0; i < l->outside.len; i++)
        if (outside[i] != FC_NONODE) fc_g_share(l->c, out, l->outside.at[i], b->out[at++]);
    store_reads(r, b, at, any, out);
}

/* Which of what is carried is read, and whether that of all rounds has to be kept for it. */
static bool find_collected(rounding *r, bool *read, bool *collects) {
    looping *l = &r->l;
    bool counter;
    if (!find_read(r, read, &counter)) return false;
    for (uint32_t i = 0; i < l->n; i++) counter |= read[i];
    *collects = counter || l->ncollected || r->reads.len;
    if (!*collects ||
        (fc_is_scalar_leaf(l->c->g, l->o.v.first) && fc_is_scalar_leaf(l->c->g, l->o.v.end)))
        return true;
    fc_g_fail(l->c, l->loop,
              "how many rounds it makes is a value, and reverse mode keeps what each began "
              "with; count them by a size or a number, or take jvp()");
    return false;
}

static bool all_rounds(rounding *r, fc_g_shares *out) {
    looping *l = &r->l;
    fc_graph *g = l->c->g;
    bool read[MOST], collects, any[MOST_READS] = {false};
    fc_node path[MOST];
    building b;
    standing s = {{0}, {0}};
    if (!find_collected(r, read, &collects) || !collect_rounds(r, read, path)) return false;
    const fc_node back = fc_build_hole(g, FUSEC_I64, 0, NULL);
    if (collects) stand_ins(r, read, path, back, &s);
    node_vec root = {0};
    for (size_t i = 0; i < r->dx.len; i++) add(l, &root, r->dx.at[i]);
    for (size_t i = 0; i < r->reads.len; i++) add(l, &root, fc_at(g, r->reads.at[i])->src[1]);
    const fc_substitution sub = {.n = (uint32_t)s.from.len,
                                 .nroots = (uint32_t)root.len,
                                 .from = s.from.at,
                                 .to = s.to.at,
                                 .root = root.at};
    bool ok = !g->error.code && fc_substitute(g, &sub, root.at);
    begin_building(&b, l);
    b.p.counter = back;
    b.p.condition = FC_NONODE;
    ok = ok && build_rounds(r, root.at, &b, any);
    const size_t outside = r->x.len - r->reads.len - l->outside.len;
    if (ok) share_rounds(r, root.at + outside, &b, any, out);
    fc_vec_free(g->alloc, &s.from);
    fc_vec_free(g->alloc, &s.to);
    fc_vec_free(g->alloc, &root);
    return ok && !g->error.code;
}

void fc_g_loop_reverse(fc_grad_ctx *c, fc_node loop, const uint8_t *needed, const fc_node *at,
                       bool marked, fc_g_shares *out) {
    rounding r = {.l = {.c = c, .loop = loop, .needed = needed}, .at = at, .marked = marked};
    if (fc_loop_of(fc_at(c->g, loop)).condition) {
        fc_g_fail(c, loop,
                  "how many rounds a `while` makes is not known before, and reverse mode goes "
                  "through them from the last; give it a fixed count and choose in the body, or "
                  "take jvp()");
        return;
    }
    bool ok = begin(&r.l) && find_active(&r.l);
    if (ok) find_reads(&r);
    if (r.reads.len > MOST_READS) r.reads.len = MOST_READS;
    ok = ok && !c->g->error.code && one_round(&r) && all_rounds(&r, out);
    end(&r.l);
    fc_vec_free(c->g->alloc, &r.x);
    fc_vec_free(c->g->alloc, &r.dx);
    fc_vec_free(c->g->alloc, &r.reads);
}
