/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* alike.c - see alike.h. Deterministic: steps in the order of the plan, the latest launch that
 * takes a step first, integer limits only. */
#include "runtime/alike.h"

#include "runtime/join.h"

enum {
    LOOK_BACK = 16,           /* launches that a step is compared with */
    MOST_OF_STEP = 4 << 20,   /* bytes, 1 us of moving: its launch is the larger part */
    MOST_OF_LAUNCH = 64 << 20 /* bytes: what is made together lives together */
};

typedef struct group {
    uint32_t first, last, n, room;
    int64_t bytes;
    uint64_t hash; /* of what `takes` compares, less the code */
    fc_str code;   /* of the first, when it has been compared: fc_kernel_print without sizes */
} group;

typedef struct grouping {
    const fc_program *p;
    fc_bound *b;
    group *groups;
    uint32_t ngroups;
    uint32_t *next;    /* [steps] the one after it in its launch */
    uint32_t *made_by; /* [buffers] launch + 1; 0: an input */
    bool oom;
} grouping;

static const fc_kernel *kernel_of(const grouping *x, uint32_t step) {
    return &x->p->plan->steps.at[step]->kernel;
}

static int64_t bytes_of(const grouping *x, uint32_t step) {
    const fc_kernel *k = kernel_of(x, step);
    int64_t bytes = 0;
    for (size_t a = 0; a < k->args.len; a++) {
        const size_t more = x->b->bytes[k->args.at[a].buffer];
        if (more > MOST_OF_STEP) return INT64_MAX;
        bytes += (int64_t)more;
    }
    return bytes;
}

/* How many steps like this one a launch of so many bytes can do. */
static uint32_t room_for(const grouping *x, uint32_t step, int64_t bytes) {
    const fc_bound_step *s = &x->b->steps[step];
    const fc_target *t = x->p->device->target;
    if (s->strips) return 1; /* it comes again with each strip */
    if (s->joined) return 1; /* it is part of another launch */
    if (!t->alike || s->nest.empty || bytes > MOST_OF_STEP) return 1;
    if (kernel_of(x, step)->checks.len) return 1;  /* each has its report */
    if (kernel_of(x, step)->updates.len) return 1; /* it comes behind what makes its array */
    return t->alike(kernel_of(x, step), &s->cls, &s->launch);
}

/* The launch after which a step can be made; 0: any. */
static uint32_t after(const grouping *x, uint32_t step) {
    const fc_kernel *k = kernel_of(x, step);
    uint32_t latest = 0;
    for (size_t a = 0; a < k->args.len; a++) {
        const uint32_t made = k->args.at[a].written ? 0 : x->made_by[k->args.at[a].buffer];
        if (made > latest) latest = made;
    }
    return latest;
}

/* The words of the block that are sizes, and those that are neither sizes nor a step's own. */
static size_t sizes_of(const fc_bound_step *s) {
    return (s->layout.params - s->layout.extents) * sizeof *s->words;
}
static size_t rest_of(const fc_bound_step *s) {
    return (s->layout.words - s->layout.extra) * sizeof *s->words;
}

static bool same_words(const fc_bound_step *a, const fc_bound_step *b) {
    return !memcmp(&a->layout, &b->layout, sizeof a->layout) &&
           !memcmp(a->words + a->layout.extents, b->words + b->layout.extents, sizes_of(a)) &&
           !memcmp(a->words + a->layout.extra, b->words + b->layout.extra, rest_of(a));
}

static uint64_t hash_of(const grouping *x, uint32_t step) {
    const fc_kernel *k = kernel_of(x, step);
    const fc_bound_step *s = &x->b->steps[step];
    const uint64_t h = fc_hash_bytes(s->words + s->layout.extents, sizes_of(s));
    return fc_mix(fc_mix(h, s->layout.words), k->code.ins.len);
}

/* The code of a group's first step, printed when it is asked for: where no two steps have the same
 * sizes it never is. */
static bool print_code(const grouping *x, group *g) {
    if (!g->code.len) fc_kernel_print(kernel_of(x, g->first), NULL, &g->code);
    return !g->code.oom;
}

static bool takes(grouping *x, group *g, group *one) {
    const fc_bound_step *leader = &x->b->steps[g->first], *s = &x->b->steps[one->first];
    if (g->hash != one->hash || g->n >= g->room || g->bytes + one->bytes > MOST_OF_LAUNCH ||
        !fc_class_equal(&leader->cls, &s->cls) || !same_words(leader, s))
        return false;
    if (!print_code(x, g) || !print_code(x, one)) return x->oom = true, false;
    return g->code.len == one->code.len && !memcmp(g->code.data, one->code.data, g->code.len);
}

/* Puts a step into a launch there is, or a new one; gives its number. */
static uint32_t add(grouping *x, group *one) {
    const uint32_t from = after(x, one->first), n = x->ngroups;
    for (uint32_t back = 1; one->room > 1 && back <= LOOK_BACK && back <= n && n - back >= from;
         back++) {
        group *g = &x->groups[n - back];
        if (!takes(x, g, one)) continue;
        x->next[g->last] = one->first;
        g->last = one->first;
        g->n++;
        g->bytes += one->bytes;
        fc_str_free(&one->code);
        return n - back;
    }
    x->groups[x->ngroups++] = *one;
    return n;
}

/* Joined steps follow each other. */
static uint32_t add_joined(grouping *x, uint32_t step) {
    const uint32_t n = x->ngroups - 1;
    group *g = &x->groups[n];
    x->next[g->last] = step;
    g->last = step;
    g->n++;
    return n;
}

static fusec_status add_step(grouping *x, uint32_t step, fc_error *e) {
    const fc_kernel *k = kernel_of(x, step);
    const fc_bound_step *s = &x->b->steps[step];
    const int64_t bytes = bytes_of(x, step);
    group one = {.first = step, .last = step, .n = 1, .bytes = bytes};
    one.room = room_for(x, step, bytes);
    if (one.room > 1) one.hash = hash_of(x, step);
    fc_str_init(&one.code, x->p->alloc);
    const uint32_t at = s->joined && s->joined_from != step ? add_joined(x, step) : add(x, &one);
    for (size_t a = 0; a < k->args.len; a++)
        if (k->args.at[a].written) x->made_by[k->args.at[a].buffer] = at + 1;
    return x->oom ? fc_oom(e) : FUSEC_OK;
}

/* The block of all: that of the leader, then what is each one's own. */
static bool join_words(const grouping *x, fc_bound_launch *l) {
    fc_bound *b = x->b;
    fc_bound_step *leader = &b->steps[l->steps[0]];
    l->words = leader->words;
    l->nwords = leader->layout.words;
    if (leader->joined) return fc_join_words(b, l);
    if (l->n == 1) return true;
    l->words = fc_arena_alloc(&b->arena, FC_ALIKE_WORDS * sizeof *l->words);
    if (!l->words) return false;
    memset(l->words, 0, FC_ALIKE_WORDS * sizeof *l->words);
    memcpy(l->words, leader->words, l->nwords * sizeof *l->words);
    l->nwords = FC_ALIKE_WORDS;
    leader->cls.alike = true;
    leader->launch.grid[1] = l->n;
    for (uint32_t i = 0; i < l->n; i++) {
        const fc_bound_step *s = &b->steps[l->steps[i]];
        const fc_layout own = fc_launch_layout(leader, l, i);
        memcpy(l->words + own.params, s->words + s->layout.params,
               (s->layout.extra - s->layout.params) * sizeof *l->words);
    }
    return true;
}

static bool finish(grouping *x) {
    fc_bound *b = x->b;
    const size_t nsteps = x->p->plan->steps.len;
    uint32_t *order = fc_arena_alloc(&b->arena, (nsteps + 1) * sizeof *order);
    b->leader = fc_arena_alloc(&b->arena, (nsteps + 1) * sizeof *b->leader);
    b->launches = fc_arena_alloc(&b->arena, (nsteps + 1) * sizeof *b->launches);
    if (!order || !b->leader || !b->launches) return false;
    b->nlaunches = x->ngroups;
    for (uint32_t i = 0; i < x->ngroups; i++) {
        const group *g = &x->groups[i];
        b->launches[i] = (fc_bound_launch){.steps = order, .n = g->n};
        for (uint32_t k = 0, step = g->first; k < g->n; k++, step = x->next[step]) {
            *order++ = step;
            b->leader[step] = g->first;
            b->steps[step].sharing = b->steps[step].joined ? 1 : g->n;
        }
        if (!join_words(x, &b->launches[i])) return false;
    }
    return true;
}

fusec_status fc_bound_group(const fc_program *p, fc_bound *b, fc_error *e) {
    const size_t nsteps = p->plan->steps.len;
    grouping x = {.p = p, .b = b};
    x.groups = fc_malloc(p->alloc, (nsteps + 1) * sizeof *x.groups);
    x.next = fc_calloc(p->alloc, nsteps + 1, sizeof *x.next);
    x.made_by = fc_calloc(p->alloc, p->plan->buffers.len + 1, sizeof *x.made_by);
    fusec_status s = x.groups && x.next && x.made_by ? FUSEC_OK : fc_oom(e);
    for (uint32_t i = 0; !s && i < nsteps; i++) s = add_step(&x, i, e);
    if (!s && !finish(&x)) s = fc_oom(e);
    for (uint32_t i = 0; i < x.ngroups; i++) fc_str_free(&x.groups[i].code);
    fc_free(p->alloc, x.groups);
    fc_free(p->alloc, x.next);
    fc_free(p->alloc, x.made_by);
    return s;
}
