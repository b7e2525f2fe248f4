/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuse.h - which values share a kernel: labels on the graph, made by fc_pass_fuse, read by
 * fc_lower.
 *
 * A root is a value that gets a place of its own: an output, a reduction, a value behind a barrier
 * or one that a limit cuts. Everything between roots is computed where it is used. A region is a
 * set of roots over one domain that become one kernel. */
#ifndef FUSEC_PASSES_FUSE_H
#define FUSEC_PASSES_FUSE_H

#include "passes/index_map.h"
#include "passes/plan.h"

/* How a root is made inside its region. */
typedef enum fc_role {
    FC_ROLE_MAP,    /* stored at every point of a map */
    FC_ROLE_REDUCE, /* a reduction over the region's reduced axes */
    FC_ROLE_ROW,    /* elementwise on the kept axes, after the reductions */
    FC_ROLE_POINT,  /* elementwise on the whole domain, after the reductions */
    FC_ROLE_SCAN    /* the prefixes of a reduction, at every point of the domain */
} fc_role;

static inline bool fc_makes_accumulator(int role) {
    return role == FC_ROLE_REDUCE || role == FC_ROLE_SCAN;
}

typedef struct fc_root {
    fc_node node;
    fc_list map; /* index map of the node over the region's domain */
    uint8_t role;
    int8_t stage; /* of a reduction its own; of the others the highest one they read, -1 for none */
    bool stored;  /* an output, or read by another region */
} fc_root;

/* A value under an index map, (node << 32 | map) + 1, and what it is made from: FC_FROM_LEAF,
 * FC_FROM_ROOT, and from FC_FROM_STAGE on the highest stage + 1. So a value that is there already
 * is not walked again. */
typedef struct fc_seen {
    uint64_t key;
    uint32_t round; /* the walk that entered it, in the table of a region 1; 0: a free slot */
    uint32_t from;
} fc_seen;
typedef struct fc_seen_set {
    fc_seen *slots;
    uint32_t nslots, used, round;
} fc_seen_set;
enum { FC_FROM_LEAF = 1, FC_FROM_ROOT = 2, FC_FROM_STAGE = 4 };

/* What a walk works with; kept between walks. */
typedef struct fc_walk_step {
    fc_node node;
    fc_list map;
    uint32_t added; /* FC_ENTER: to be visited; else its operands are done, and its place in
                       fc_visit.added + 1, 0 = none */
} fc_walk_step;
#define FC_ENTER UINT32_MAX

typedef struct fc_walk {
    FC_VEC(fc_walk_step) todo;
    FC_VEC(uint32_t) from; /* of the values whose operands are being visited */
    fc_seen_set seen;
} fc_walk;

typedef struct fc_region {
    fc_schedule schedule;
    fc_list domain;   /* shape of the iteration space, axes in logical order */
    uint64_t reduced; /* bit for each reduced axis of the domain */
    FC_VEC(fc_root) roots;
    FC_VEC(fc_node) leaves; /* arrays it reads: inputs and roots of other regions */
    FC_VEC(uint32_t) deps;  /* regions that must run before */
    FC_VEC(uint32_t) users; /* regions that have this one in `deps` */
    fc_node latest;         /* the newest root of it and of all that it needs, directly or not */
    fc_seen_set seen;       /* what its code already holds, and the arrays it reads */
    uint32_t mark;          /* of the last walk over dependencies that met it */
    uint32_t ops, transcendental, accesses, params, reductions, stages;
    bool is_step; /* `step` alone, no kernel; its roots are that node's results */
    fc_node step;
    const char *why; /* why its producers are in other regions */
} fc_region;

/* What adding a root to a region would take. */
typedef struct fc_visit {
    FC_VEC(fc_seen) added; /* to enter into region->seen */
    FC_VEC(fc_node) leaves;
    FC_VEC(uint32_t) deps;
    uint32_t ops, transcendental, accesses, params;
    int stage;        /* highest stage read, -1 for none */
    bool reads_root;  /* of the region itself */
    bool shares_leaf; /* reads an array the region reads */
    const char *why;  /* reason of a refusal */
} fc_visit;

#define FC_NOREGION UINT32_MAX
typedef struct fc_fusion {
    const fc_alloc *alloc;
    fc_arena arena;
    uint8_t *is_root; /* per node */
    uint8_t *ragged;  /* per node: made for each element of rows that end by data; it is not stored,
                         as its array has rows as long as the longest may be */
    uint32_t *home;   /* per node: region of a root, else FC_NOREGION */
    FC_VEC(fc_region) regions;
    fc_walk walk;
    fc_visit visit;        /* the one there is: its lists keep their room */
    uint32_t mark;         /* walks over dependencies so far */
    uint64_t steps;        /* that note_latest may still take */
    fc_node untold;        /* a root that not all who need it know of; no later one is */
    uint32_t *met, met_by; /* per node: the last count of fc_fuse_work that met it */
} fc_fusion;

void fc_fusion_free(fc_fusion *f); /* may be NULL */

/* ---- parts of the pass ------------------------------------------------------------------- */

/* Limits of one kernel, each with its reason. */
enum {
    FC_MAX_OPS = 512,           /* compile time grows faster than linearly beyond */
    FC_MAX_TRANSCENDENTAL = 64, /* 1,000 statements with 250 sines take NVRTC 5.7 s */
    FC_MAX_REDUCTIONS = 8,      /* accumulators that fit the registers */
    FC_MAX_LEAVES = 64,         /* arrays a kernel reads */
    FC_MAX_WORDS = 440,         /* of the parameter block: 4 KiB of kernel parameters */
    FC_DOT_PROLOGUE = 4, /* slots of an element of a product's operand: it is computed again for
                            each tile of the other one, 64 columns or more */
};

/* Marks f->is_root: what must be stored whatever the grouping is. */
fusec_status fc_fuse_roots(fc_graph *g, const fc_pass_options *o, fc_fusion *f, fc_error *e);

/* Whether a reshape reads an array in memory under another shape, and which: an input or a root.
 * Any other one that is not free is what its index map says (index_map.h). */
bool fc_reshape_reads(fc_graph *g, const fc_fusion *f, fc_node n, fc_node *array);

/* Follows `from`, and `other` unless it is FC_NONODE (with their map over `r`'s domain), down to
 * inputs and roots. `placed`: `from` is the
 * root that is being placed; else it is the operand of one and may be a root itself. False: it
 * can't be computed in this region, v->why says why (or out of memory: g->error). */
bool fc_fuse_trace(fc_graph *g, fc_fusion *f, const fc_region *r, fc_node from, fc_node other,
                   fc_list map, bool placed, fc_visit *v);
fc_visit *fc_visit_begin(fc_fusion *f);
void fc_visit_free(const fc_alloc *a, fc_visit *v);
/* The set of a walk. fc_walk_enter: the entry of the key, NULL when out of memory. */
static inline uint64_t fc_place_key(fc_node n, fc_list map) {
    return ((uint64_t)n << 32 | map) + 1;
}
bool fc_walk_begin(const fc_alloc *a, fc_walk *w);
fc_seen *fc_walk_enter(const fc_alloc *a, fc_walk *w, uint64_t key, bool *fresh);
void fc_walk_free(const fc_alloc *a, fc_walk *w);
bool fc_region_enter(const fc_alloc *a, fc_region *r, uint64_t key, uint32_t from);
bool fc_region_enter_leaf(const fc_alloc *a, fc_region *r, fc_node leaf);

/* Arrays that values are made from (fuse_reads.c). */
typedef struct fc_read_list {
    const fc_node *at;
    uint32_t n;
} fc_read_list;
typedef struct fc_reads {
    fc_arena arena;
    fc_read_list *of;       /* per node: what its operands read */
    fc_node *self, *merged; /* self[n] is n; room for a list */
    uint32_t *stamp, round;
} fc_reads;
bool fc_reads_init(const fc_alloc *a, fc_reads *r, size_t nodes);
void fc_reads_free(const fc_alloc *a, fc_reads *r);
/* Fills of[n]; its operands have theirs. */
bool fc_reads_add(fc_graph *g, const fc_fusion *f, fc_reads *r, fc_node n);

/* Work of computing a node from roots and inputs. An upper bound that is exact as soon as it
 * matters. */
typedef struct fc_work {
    uint32_t ops, transcendental, loads;
    uint32_t again;   /* slots of the rounds of loops after the first ones */
    uint32_t indices; /* of the loads, those that are no memory */
} fc_work;
/* Costs are counted in issue slots of an element: an operation takes one, a function as many
 * instructions as FC_FUNCTION_SLOTS, and memory has moved a byte when FC_BYTE_SLOTS have been
 * issued (on an H200 7.0 to 7.9: docs/schedules.md). What exceeds them is written once instead. */
enum {
    FC_FUNCTION_SLOTS = 12,
    FC_BYTE_SLOTS = 7,
    FC_REPEAT_SLOTS = 4 * FC_BYTE_SLOTS, /* extra copies together: what one f32 takes to write */
    FC_SPREAD_SLOTS = 12, /* each copy where a broadcast may ask for any number of them */
    FC_FEW_COPIES = 4,    /* so many, where their number is known, are counted together */
    FC_FEW_NUMBERS = 64   /* an array of so many that is made of indices alone costs nothing */
};
static inline uint64_t fc_work_slots(const fc_work *w) {
    return w->ops + (uint64_t)w->transcendental * FC_FUNCTION_SLOTS + w->again;
}
/* The code of a kernel that makes a value (fuse_places.c): under how many index maps each value
 * below it is needed. */
typedef struct fc_places {
    uint32_t ops;    /* each value as often as it is there */
    uint32_t *times; /* per node, 0 between walks */
    uint32_t *uses;  /* per node: operations below it, each as often as it is used, or as `ops` */
    uint8_t *moved;  /* per node: whether something below it is read elsewhere than it is made */
    FC_VEC(fc_node) met; /* with times, each once */
} fc_places;
/* Stops counting at `cap` operations. False: out of memory. */
bool fc_fuse_places(fc_graph *g, fc_fusion *f, fc_node n, uint32_t cap, fc_places *p);
void fc_places_clear(fc_places *p);
/* Exact: counts each value below `n` once. Stops counting at `cap` operations. */
bool fc_fuse_work(fc_graph *g, fc_fusion *f, fc_node n, uint32_t cap, fc_work *w);

/* The region of a step that is no kernel, and a result of it (fuse_step.c). */
/* `region` has taken the root n, the newest of all: for it and all that need it. */
bool fc_fuse_add_dep(fc_fusion *f, uint32_t region, uint32_t dep); /* each once */
bool fc_fuse_note_latest(fc_fusion *f, uint32_t region, fc_node n);
bool fc_fuse_step_roots(fc_graph *g, fc_fusion *f); /* results, and the arrays that steps read */
bool fc_fuse_place_step(fc_graph *g, fc_fusion *f, fc_node step);
bool fc_fuse_place_result(fc_graph *g, fc_fusion *f, fc_node result);

/* Makes roots of values that several regions would compute again (fuse_shared.c), and takes those
 * back that are a few operations on what their readers read anyway. */
enum { FC_ROOT_SHARED = 2 }; /* in is_root: made a root here */
bool fc_fuse_shared(fc_graph *g, fc_fusion *f, bool *changed);
bool fc_fuse_shared_less(fc_graph *g, fc_fusion *f, bool *changed);

#endif
