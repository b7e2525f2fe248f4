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
    FC_ROLE_POINT   /* elementwise on the whole domain, after the reductions */
} fc_role;

typedef struct fc_root {
    fc_node node;
    fc_list map; /* index map of the node over the region's domain */
    uint8_t role;
    int8_t stage; /* of a reduction its own; of the others the highest one they read, -1 for none */
    bool stored;  /* an output, or read by another region */
} fc_root;

typedef struct fc_region {
    fc_schedule schedule;
    fc_list domain;   /* shape of the iteration space, axes in logical order */
    uint64_t reduced; /* bit for each reduced axis of the domain */
    FC_VEC(fc_root) roots;
    FC_VEC(fc_node) leaves; /* arrays it reads: inputs and roots of other regions */
    FC_VEC(uint32_t) deps;  /* regions that must run before */
    uint64_t *seen;         /* hash set of node << 32 | map (+1): what its code already holds */
    uint32_t nseen, nslots;
    uint32_t ops, transcendental, accesses, params, reductions, stages;
    const char *why; /* why its producers are in other regions */
} fc_region;

#define FC_NOREGION UINT32_MAX
typedef struct fc_fusion {
    const fc_alloc *alloc;
    fc_arena arena;
    uint8_t *is_root; /* per node */
    uint32_t *home;   /* per node: region of a root, else FC_NOREGION */
    FC_VEC(fc_region) regions;
} fc_fusion;

fusec_status fc_pass_fuse(fc_graph *g, const fc_pass_options *o, fc_fusion *f, fc_error *e);
void fc_fusion_free(fc_fusion *f);

/* ---- parts of the pass ------------------------------------------------------------------- */

/* Limits of one kernel, each with its reason. */
enum {
    FC_MAX_OPS = 512,           /* compile time grows faster than linearly beyond */
    FC_MAX_TRANSCENDENTAL = 64, /* 1,000 statements with 250 sines take NVRTC 5.7 s */
    FC_MAX_REDUCTIONS = 8,      /* accumulators that fit the registers */
    FC_MAX_LEAVES = 64,         /* arrays a kernel reads */
    FC_MAX_WORDS = 440,         /* of the parameter block: 4 KiB of kernel parameters */
};

/* Marks f->is_root: what must be stored whatever the grouping is. */
fusec_status fc_fuse_roots(fc_graph *g, const fc_pass_options *o, fc_fusion *f, fc_error *e);

/* What adding a root to a region would take. */
typedef struct fc_visit {
    FC_VEC(uint64_t) added; /* keys to enter into region->seen */
    FC_VEC(fc_node) leaves;
    FC_VEC(uint32_t) deps;
    uint32_t ops, transcendental, accesses, params;
    int stage;        /* highest stage read, -1 for none */
    bool reads_root;  /* of the region itself */
    bool shares_leaf; /* reads an array the region reads */
    const char *why;  /* reason of a refusal */
} fc_visit;

/* Follows `from` (with its map over r's domain) down to inputs and roots. `placed`: `from` is the
 * root that is being placed; else it is the operand of one and may be a root itself. False: it
 * can't be computed in this region, v->why says why (or out of memory: g->error). */
bool fc_fuse_trace(fc_graph *g, const fc_fusion *f, uint32_t region, fc_node from, fc_list map,
                   bool placed, fc_visit *v);
void fc_visit_free(const fc_alloc *a, fc_visit *v);
bool fc_region_has(const fc_region *r, fc_node n, fc_list map);
bool fc_region_enter(const fc_alloc *a, fc_region *r, uint64_t key);

/* Work of computing a node from roots and inputs. An upper bound that is exact as soon as it
 * matters. */
typedef struct fc_work {
    uint32_t ops, transcendental, loads;
} fc_work;
/* Exact: counts each value below `n` once. Stops counting at `cap` operations. */
bool fc_fuse_work(fc_graph *g, const fc_fusion *f, fc_node n, uint32_t cap, fc_work *w);

#endif
