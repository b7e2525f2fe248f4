/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* repeat.c - see repeat.h.
 *
 * In: loops whose bodies stand in the graph, made of holes (ir/loop.h). A loop is one of elements
 * if all it carries is of one shape or scalar, and what depends on its holes is elementwise; then
 * what an element becomes depends on that element only. With a condition that is a scalar of the
 * body all elements make the same rounds. One that is true while any element goes on ends the loop
 * of each element by itself, if what is carried stays as it is from then on.
 *
 * Out: FC_OP_ROUNDS. Nothing of what does not depend on holes is in its body: the body reads it. */
#include "passes/repeat.h"

#include "ir/external.h"
#include "ir/loop.h"
#include "passes/rewrite.h"

uint64_t fc_repeat_rounds(const fc_graph *g, fc_node n) {
    fc_node bound[FC_REPEAT_BOUNDS];
    fc_record_nodes(g, fc_at(g, n)->src[0], FC_REPEAT_BOUNDS, bound);
    const fc_ninfo *a = fc_at(g, bound[0]), *b = fc_at(g, bound[1]);
    if (a->op != FC_OP_CONST || b->op != FC_OP_CONST) return FC_REPEAT_ROUNDS;
    return (int64_t)b->attr > (int64_t)a->attr ? b->attr - a->attr : 0;
}

/* ---- which loops ----------------------------------------------------------------------------- */

typedef struct finding {
    const fc_graph *g;
    const uint64_t *levels;
    uint64_t most; /* rounds with a condition; 0: any number */
    const char **why;
    uint8_t *need; /* by the body under way */
    fc_loop_view v;
    uint64_t own;  /* the bit of its level */
    fc_list shape; /* of its elements */
    fc_node mask;  /* what `any` is taken of in its condition, FC_NONODE: there is none */
} finding;

static bool is_own(const finding *f, fc_node n) {
    return (f->levels[n] & f->own) && !(f->levels[n] & (f->own - 1) & ~UINT64_C(1));
}

static bool is_any_of_all(const fc_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    return i->op == FC_OP_any && !i->shape &&
           fc_list_len(g, (fc_list)i->attr) == fc_rank(g, i->src[0]);
}

/* Whether a carried value stays as it is where the mask does not hold. */
static bool stays(const finding *f, fc_node next, uint32_t carried) {
    const fc_ninfo *i = fc_at(f->g, next);
    const fc_node hole = i->op == FC_OP_where ? i->src[2] : next;
    const fc_ninfo *h = fc_at(f->g, hole);
    if (i->op == FC_OP_where && i->src[0] != f->mask) return false;
    return h->op == FC_OP_HOLE && fc_hole_level(h) == f->v.loop.level &&
           fc_hole_number(h) == carried + 1;
}

/* Whether the mask itself does not hold again once it did not: it is carried, and next is it. */
static bool mask_stays(const finding *f, uint32_t carried) {
    const fc_ninfo *m = fc_at(f->g, f->mask);
    if (f->v.next[carried] != f->mask || m->op != FC_OP_logical_and) return false;
    for (int k = 0; k < 2; k++) {
        const fc_ninfo *h = fc_at(f->g, m->src[k]);
        if (h->op == FC_OP_HOLE && fc_hole_level(h) == f->v.loop.level &&
            fc_hole_number(h) == carried + 1)
            return true;
    }
    return false;
}

static const char *check_condition(finding *f) {
    const fc_node c = f->v.condition;
    bool carried = false;
    f->mask = FC_NONODE;
    if (c == FC_NONODE || !is_any_of_all(f->g, c)) return NULL;
    f->mask = fc_at(f->g, c)->src[0];
    for (uint32_t i = 0; i < f->v.loop.carried; i++) {
        const bool its = mask_stays(f, i);
        carried |= its;
        if (!its && !stays(f, f->v.next[i], i)) return "any";
    }
    return carried ? NULL : "any";
}

static const char *check_shapes(finding *f) {
    f->shape = 0;
    if (f->v.loop.collected) return "values that are collected";
    if (f->v.loop.carried > FC_MAX_REPEAT) return "too many values";
    for (uint32_t i = 0; i < f->v.loop.carried; i++) {
        const fc_list s = fc_at(f->g, f->v.start[i])->shape, n = fc_at(f->g, f->v.next[i])->shape;
        if (s != n || (s && f->shape && s != f->shape)) return "several shapes";
        if (s) f->shape = s;
    }
    return NULL;
}

static const char *check_rounds(const finding *f) {
    const fc_ninfo *a = fc_at(f->g, f->v.first), *b = fc_at(f->g, f->v.end);
    const bool bounded = f->most && f->v.loop.condition;
    if (a->op != FC_OP_CONST || b->op != FC_OP_CONST)
        return bounded ? "rounds that are counted" : NULL;
    const int64_t lo = (int64_t)a->attr, hi = (int64_t)b->attr;
    if (hi <= lo) return NULL;
    if (bounded && (uint64_t)hi - (uint64_t)lo > f->most) return "rounds that are counted";
    return (uint64_t)hi - (uint64_t)lo > FC_MOST_ROUNDS_INSIDE
               ? "too many rounds for the inside of a kernel"
               : NULL;
}

/* A value of the body, in a shape that its element has. */
static const char *check_node(const finding *f, fc_node n) {
    const fc_ninfo *i = fc_at(f->g, n);
    const char *name = fc_ops[i->op].name;
    if (i->op == FC_OP_LIST) return NULL;
    if (i->op == FC_OP_LOOP) return f->why[n] ? "a loop of launches" : NULL;
    if (i->op == FC_OP_RECORD) return NULL; /* operands, which are looked at */
    if (fc_is_complex((fusec_dtype)i->dtype)) return "complex numbers";
    if (i->shape && i->shape != f->shape) return name;
    if (i->op == FC_OP_RESULT) return fc_at(f->g, i->src[0])->op == FC_OP_LOOP ? NULL : name;
    if (i->op == FC_OP_BROADCAST) return fc_rank(f->g, i->src[0]) ? name : NULL;
    const bool computes = fc_is_elementwise(i->op) || i->op == FC_OP_BITCAST ||
                          i->op == FC_OP_CAST || i->op == FC_OP_HOLE || i->op == FC_OP_EXTERN;
    return computes ? NULL : name;
}

/* What a loop's body is made of, with the bodies of loops inside: what has holes of its level or of
 * theirs, and lists of operands. */
static bool is_inside(const finding *f, fc_node n) {
    const int op = fc_at(f->g, n)->op;
    return f->levels[n] & (f->own | (f->own - 1)) & ~UINT64_C(1) || op == FC_OP_LIST ||
           op == FC_OP_RECORD;
}

/* Marks the body: 1; what it reads from outside, also for the loops inside of it: 2. */
static void find_body(finding *f, fc_node loop) {
    const fc_graph *g = f->g;
    memset(f->need, 0, loop + 1);
    f->need[fc_at(g, loop)->src[1]] = 1;
    for (fc_node n = loop; n-- > 0;) {
        for (int k = 0; f->need[n] == 1 && k < fc_at(g, n)->nops; k++) {
            const fc_node s = fc_at(g, n)->src[k];
            f->need[s] = is_inside(f, s) ? 1 : 2;
        }
    }
}

/* The reduction that ends a loop of each element by itself is no value. */
static bool takes_condition(const finding *f, fc_node loop, fc_node n) {
    const fc_ninfo *i = fc_at(f->g, n);
    if (f->mask == FC_NONODE) return false;
    for (int k = 0; k < i->nops; k++)
        if (i->src[k] == f->v.condition && (k || n != fc_at(f->g, loop)->src[1])) return true;
    return false;
}

static const char *check_body(const finding *f, fc_node loop) {
    const fc_graph *g = f->g;
    uint32_t uses = 0, reads = 0;
    for (fc_node n = 0; n < loop; n++) {
        const fc_ninfo *i = fc_at(g, n);
        reads += f->need[n] == 2 && i->op != FC_OP_CONST;
        if (f->need[n] != 1 || (n == f->v.condition && f->mask != FC_NONODE)) continue;
        if (takes_condition(f, loop, n)) return "any";
        if (!is_own(f, n)) continue;
        const char *why = check_node(f, n);
        if (why) return why;
        for (int k = 0; k < i->nops && i->op != FC_OP_LIST && i->op != FC_OP_LOOP; k++)
            uses += !is_own(f, i->src[k]) && fc_at(g, i->src[k])->op != FC_OP_CONST;
    }
    /* what is used in several places counts as often, as a limit of the work in a kernel */
    const uint32_t most = uses > reads ? uses : reads;
    return f->v.loop.carried + most > FC_MAX_REPEAT ? "too many values" : NULL;
}

static const char *check_loop(finding *f, fc_node loop) {
    fc_loop_look(f->g, loop, &f->v);
    f->own = UINT64_C(1) << f->v.loop.level;
    const char *why = check_shapes(f);
    if (!why) why = check_rounds(f);
    if (!why) why = check_condition(f);
    if (why) return why;
    find_body(f, loop);
    return check_body(f, loop);
}

bool fc_find_repeats(const fc_graph *g, const uint64_t *levels, uint64_t most, const char **why) {
    finding f = {.g = g, .levels = levels, .most = most, .why = why};
    f.need = fc_malloc(g->alloc, g->nodes.len + 1);
    for (fc_node n = 0; f.need && n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        why[n] = i->op == FC_OP_LOOP && !fc_loop_is_planned(i) ? check_loop(&f, n) : "";
    }
    fc_free(g->alloc, f.need);
    return f.need != NULL;
}

bool fc_is_repeat(const fc_graph *g, fc_node loop) {
    uint64_t *levels = fc_malloc(g->alloc, g->nodes.len * sizeof *levels);
    const char **why = fc_calloc(g->alloc, g->nodes.len, sizeof *why);
    uint8_t *below = fc_calloc(g->alloc, loop + 1, 1);
    finding f = {.g = g, .levels = levels, .why = why};
    f.need = fc_malloc(g->alloc, g->nodes.len);
    const bool ready = levels && why && below && f.need;
    if (ready) {
        fc_body_levels(g, levels);
        below[loop] = 1;
        for (fc_node n = loop + 1; n-- > 0;)
            for (int k = 0; below[n] && k < fc_at(g, n)->nops; k++) below[fc_at(g, n)->src[k]] = 1;
        for (fc_node n = 0; n <= loop; n++)
            if (below[n] && fc_at(g, n)->op == FC_OP_LOOP) why[n] = check_loop(&f, n);
    }
    const bool is = ready && !why[loop];
    fc_free(g->alloc, levels);
    fc_free(g->alloc, why);
    fc_free(g->alloc, below);
    fc_free(g->alloc, f.need);
    return is;
}

/* ---- the body, of scalars -------------------------------------------------------------------- */

/* A loop whose body is being made; nested ones stand in `outer`. */
typedef struct body {
    fc_repeating *r;
    const struct body *outer;
    fc_loop_view v;
    uint64_t own;
    fc_node *map; /* values of the body */
    uint8_t *need;
    uint32_t ncarried, nreads, ops, functions;
    uint8_t place[FC_MAX_REPEAT]; /* of what is carried, LEFT_OUT: not here */
    fc_node read[FC_MAX_REPEAT];  /* in dst */
} body;

enum { LEFT_OUT = UINT8_MAX };

static fc_node make(fc_repeating *r, const body *outer, fc_node result);

static bool depends(const body *b, fc_node n) {
    return (b->r->levels[n] & b->own) != 0;
}

static fc_node behind_broadcasts(const fc_graph *g, fc_node n) {
    while (fc_at(g, n)->op == FC_OP_BROADCAST) n = fc_at(g, n)->src[0];
    return n;
}

/* A value of src inside of the body `b`, NULL: outside of all. */
static fc_node value_in(body *b, const fc_repeating *r, fc_node n);

/* A list of what a round reads from outside. */
static fc_node record_in(body *b, fc_node n) {
    fc_ninfo i = *fc_at(b->r->src, n);
    for (int k = 0; k < i.nops; k++) {
        i.src[k] = value_in(b, b->r, i.src[k]);
        if (i.src[k] == FC_NONODE) return FC_NONODE;
    }
    i.shape = 0;
    return fc_graph_node(b->r->dst, i);
}

/* What a round reads from outside: a slot. */
static fc_node read_slot(body *b, fc_node n) {
    fc_graph *g = b->r->dst;
    const fc_node at = behind_broadcasts(b->r->src, n);
    if (fc_at(b->r->src, at)->op == FC_OP_CONST) return fc_graph_node(g, *fc_at(b->r->src, at));
    const fc_node v = value_in((body *)b->outer, b->r, n);
    if (v == FC_NONODE) return FC_NONODE;
    if (fc_at(g, v)->op == FC_OP_CONST) return v;
    uint32_t k = 0;
    while (k < b->nreads && b->read[k] != v) k++;
    if (k == b->nreads) {
        if (b->ncarried + k >= FC_MAX_REPEAT) {
            fc_fail(&g->error, FUSEC_INTERNAL, "a loop reads too much");
            return FC_NONODE;
        }
        b->read[b->nreads++] = v;
    }
    return fc_build_slot(g, (fusec_dtype)fc_at(g, v)->dtype, FC_SLOT_VALUE + b->ncarried + k);
}

static fc_node value_in(body *b, const fc_repeating *r, fc_node n) {
    if (!b) return r->map[n];
    if (depends(b, n)) return b->map[n];
    return fc_at(r->src, n)->op == FC_OP_RECORD ? record_in(b, n) : read_slot(b, n);
}

static fc_node hole_slot(body *b, const fc_ninfo *hole) {
    const uint32_t number = fc_hole_number(hole);
    const bool fits = number ? number <= b->v.loop.carried &&
                                   fc_at(b->r->src, b->v.start[number - 1])->dtype == hole->dtype
                             : hole->dtype == FUSEC_I64;
    if (fits && !number) return fc_build_slot(b->r->dst, FUSEC_I64, FC_SLOT_COUNTER);
    if (fits && b->place[number - 1] != LEFT_OUT)
        return fc_build_slot(b->r->dst, (fusec_dtype)hole->dtype,
                             FC_SLOT_VALUE + b->place[number - 1]);
    fc_fail(&b->r->dst->error, FUSEC_INVALID, "a loop has no value %u of this type", number);
    return FC_NONODE;
}

static fc_node body_node(body *b, fc_node n) {
    fc_graph *g = b->r->dst;
    fc_ninfo i = *fc_at(b->r->src, n);
    if (i.op == FC_OP_HOLE) return hole_slot(b, &i);
    if (i.op == FC_OP_BROADCAST) return value_in(b, b->r, i.src[0]);
    if (i.op == FC_OP_RESULT) return make(b->r, b, n);
    for (int k = 0; k < i.nops; k++) {
        i.src[k] = value_in(b, b->r, i.src[k]);
        if (i.src[k] == FC_NONODE) return FC_NONODE;
    }
    if (i.op == FC_OP_CAST) i.attr = 0; /* what derivatives make of it is no matter here */
    i.shape = 0;
    b->ops += i.op == FC_OP_EXTERN ? fc_extern_of(&i)->slots : i.op != FC_OP_RECORD;
    b->functions += (fc_ops[i.op].flags & FC_F_TRANSCENDENTAL) != 0;
    return fc_graph_node(g, i);
}

/* In the order of the nodes; what belongs to loops inside is left to them. */
static void make_body(body *b, fc_node loop, fc_node condition) {
    const fc_graph *g = b->r->src;
    const uint64_t inside = (b->own - 1) & ~UINT64_C(1);
    if (condition != FC_NONODE) b->need[condition] = 1;
    for (uint32_t i = 0; i < b->v.loop.carried; i++)
        if (b->place[i] != LEFT_OUT) b->need[b->v.next[i]] = 1;
    for (fc_node n = loop; n-- > 0;)
        for (int k = 0; b->need[n] && depends(b, n) && k < fc_at(g, n)->nops; k++)
            b->need[fc_at(g, n)->src[k]] = 1;
    for (fc_node n = 0; n < loop && !b->r->dst->error.code; n++) {
        const int op = fc_at(g, n)->op;
        b->map[n] = FC_NONODE;
        if (!b->need[n] || !depends(b, n) || (b->r->levels[n] & inside)) continue;
        if (op == FC_OP_LIST || op == FC_OP_LOOP) continue;
        b->map[n] = body_node(b, n);
    }
}

static bool make_records(body *b, fc_node condition, fc_repeating *out) {
    fc_graph *g = b->r->dst;
    fc_node v[FC_MAX_REPEAT + FC_REPEAT_BOUNDS + 1];
    uint32_t n = 0;
    if (condition != FC_NONODE) v[n++] = value_in(b, b->r, condition);
    for (uint32_t i = 0; i < b->v.loop.carried; i++)
        if (b->place[i] != LEFT_OUT) v[n++] = value_in(b, b->r, b->v.next[i]);
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == FC_NONODE) return false;
    out->body = fc_build_record(g, n, v);
    n = 0;
    v[n++] = value_in((body *)b->outer, b->r, b->v.first);
    v[n++] = value_in((body *)b->outer, b->r, b->v.end);
    for (uint32_t i = 0; i < b->v.loop.carried; i++)
        if (b->place[i] != LEFT_OUT) v[n++] = value_in((body *)b->outer, b->r, b->v.start[i]);
    for (uint32_t i = 0; i < b->nreads; i++) v[n++] = b->read[i];
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == FC_NONODE) return false;
    out->values = fc_build_record(g, n, v);
    return !g->error.code;
}

/* The records of a loop, which its results share; `scalars`: of those of its values that are. */
static bool make_loop(fc_repeating *r, const body *outer, fc_node loop, bool scalars,
                      fc_repeating *out) {
    const fc_graph *g = r->src;
    body *b = fc_calloc(g->alloc, 1, sizeof *b);
    if (!b) return fc_oom(&r->dst->error), false;
    *b = (body){.r = r, .outer = outer};
    b->map = fc_malloc(g->alloc, (g->nodes.len + 1) * sizeof *b->map);
    b->need = fc_calloc(g->alloc, g->nodes.len + 1, 1);
    bool ok = b->map && b->need;
    if (!ok) fc_oom(&r->dst->error);
    fc_loop_look(g, loop, &b->v);
    b->own = UINT64_C(1) << b->v.loop.level;
    for (uint32_t i = 0; i < b->v.loop.carried; i++) {
        const bool here = !scalars || !fc_rank(g, b->v.start[i]);
        b->place[i] = here ? (uint8_t)b->ncarried++ : LEFT_OUT;
    }
    fc_node condition = b->v.condition;
    if (condition != FC_NONODE && is_any_of_all(g, condition))
        condition = fc_at(g, condition)->src[0];
    if (ok) make_body(b, loop, condition);
    ok = ok && !r->dst->error.code && make_records(b, condition, out);
    out->loop = loop;
    out->scalars = scalars;
    out->spec = (fc_repeat){.carried = b->ncarried,
                            .condition = condition != FC_NONODE,
                            .ops = b->ops,
                            .functions = b->functions};
    memcpy(out->place, b->place, sizeof b->place);
    fc_free(g->alloc, b->map);
    fc_free(g->alloc, b->need);
    fc_free(g->alloc, b);
    return ok;
}

/* Whether some of what a loop carries are arrays. */
static bool carries_arrays(const fc_graph *g, const fc_loop_view *v) {
    for (uint32_t i = 0; i < v->loop.carried; i++)
        if (fc_rank(g, v->start[i])) return true;
    return false;
}

static fc_node make(fc_repeating *r, const body *outer, fc_node result) {
    const fc_graph *g = r->src;
    const fc_ninfo *i = fc_at(g, result);
    const fc_node loop = i->src[0];
    fc_repeating own = *r, *made = outer ? &own : r;
    fc_loop_view v;
    fc_loop_look(g, loop, &v);
    const bool scalars = !i->shape && carries_arrays(g, &v);
    /* a scalar beside elements that stop on their own does not change */
    if (scalars && v.condition != FC_NONODE && is_any_of_all(g, v.condition))
        return value_in((body *)outer, r, v.start[i->attr]);
    if ((outer || r->loop != loop || r->scalars != scalars) &&
        !make_loop(r, outer, loop, scalars, made))
        return FC_NONODE;
    fc_repeat spec = made->spec;
    spec.result = made->place[i->attr];
    return fc_graph_node(r->dst, (fc_ninfo){.op = FC_OP_ROUNDS,
                                            .dtype = i->dtype,
                                            .nops = 2,
                                            .shape = outer ? 0 : i->shape,
                                            .src = {made->values, made->body, FC_NONODE},
                                            .attr = fc_repeat_attr(spec)});
}

fc_node fc_make_repeat(fc_repeating *r, fc_node result) {
    return make(r, NULL, result);
}
