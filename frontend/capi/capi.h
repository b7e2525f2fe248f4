/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* capi.h - what is behind the public types of <fusec/fusec.h>, shared by the files of this folder.
 *
 * Read in this order: context.c, graph.c (arrays, inputs, sizes), value.c and ops.c (expressions),
 * view.c, then lazy.c with key.c (was it evaluated before?), plans.c and extract.c (evaluating on
 * demand), program.c, memory.c, message.c. Values of no graph: lazy.h, lazy_value.c, lazy_shape.c,
 * lazy_build.c, lazy_eval.c. language.c: texts; saved.c: graphs as files; explain.c: what became of
 * them.
 *
 * A graph whose leaves are the caller's arrays is symbolic like every other: each distinct extent
 * above 1 is a symbol of that graph whose value is known (sizes.c). So an expression looks the same
 * for all sizes, and what would be a condition of a call is tested while the expression
 * is built. */
#ifndef FUSEC_FRONTEND_CAPI_H
#define FUSEC_FRONTEND_CAPI_H

#include <pthread.h>
#include <stdatomic.h>

#include <fusec/fusec.h>

#include "runtime/context.h"
#include "runtime/program.h"

/* ---- messages: the text of a thread's last failure, the one piece of state outside a context - */

fusec_status fc_report(const fc_error *e); /* keeps the message for fusec_message; gives the code */
fusec_status fc_report_text(fusec_status s, const char *fmt, ...) FC_PRINTF(2, 3);
void fc_report_place(int line, int column); /* of the message that comes next */

/* ---- plans of expressions seen before -------------------------------------------------------- */

enum { FC_MAX_PLANS = 256 };

/* A size that the program asks for by its symbol: the value is that of a named size of the key. */
typedef struct fc_free_size {
    uint32_t sym, named;
} fc_free_size;

typedef struct fc_planned {
    fc_program *program;
    uint32_t *key; /* the structure, word for word */
    size_t len;
    uint64_t hash;
    struct fc_free_size *free; /* sizes that no input binds */
    uint32_t nfree;
    uint64_t used;    /* for eviction */
    atomic_uint refs; /* evaluations that use it now; from none to one under the lock */
    bool cached;      /* false: goes away with the last reference */
} fc_planned;

typedef struct fc_plans {
    pthread_mutex_t lock;
    fc_planned *at[FC_MAX_PLANS];
    uint64_t hashes[FC_MAX_PLANS];
    uint32_t len;
    uint64_t clock;
    uint64_t made; /* expressions planned so far */
} fc_plans;

struct fusec_context {
    fc_alloc alloc;
    fc_context *runtime;
    char *device_name, *cache_dir, *compiler, *llvm_path, *nvrtc_path, *packs,
        *cpu;             /* owned; the runtime's configuration points to them */
    int offline;          /* a GPU of this compute capability that is not there; 0: none */
    pthread_mutex_t lock; /* of the device */
    fc_device *device;    /* NULL until it is needed */
    char *notice;
    fc_plans plans;
    FC_VEC(struct fc_text *) texts; /* by number (texts.c) */
    pthread_mutex_t texts_lock;
    fusec_dtype default_float;
    struct { /* values of no graph (lazy.h) */
        pthread_mutex_t lock;
        uint64_t round;
        struct fc_lazy_work *work;
        struct fusec_graph *graph;
    } lazy;
    atomic_ullong stamps; /* handed out to graphs: tell values from those of before a reset */
};

/* With a configuration that is made already, which has to live as long. */
fusec_status fc_context_over(const fc_config *config, fusec_context **out, fc_error *e);
void fc_texts_free(fusec_context *c);
fusec_status fc_open_device(fusec_context *c, fc_device **out, fc_error *e);

/* The program of an expression with this structure; NULL: it is new, and fc_plans_make plans what
 * was extracted. Both go back with fc_plans_release. */
struct fc_key;
fc_planned *fc_plans_find(fusec_context *c, const struct fc_key *key);
/* `sizes`: the symbols of the graph for the sizes of the key, in their order. */
fusec_status fc_plans_make(fusec_context *c, const struct fc_key *key, const fc_graph *g,
                           uint32_t nsizes, const fc_dim_value *sizes, fc_planned **out,
                           fc_error *e);
void fc_plans_release(fusec_context *c, fc_planned *p);
void fc_plans_free(fusec_context *c);

/* An array of the caller as the runtime takes it; messages begin with "KIND NAME". */
fusec_status fc_take_tensor(const fc_device *d, const char *kind, const char *name,
                            const fusec_tensor *t, bool need_data, fc_tensor *out, fc_error *e);

/* ---- graph ----------------------------------------------------------------------------------- */

/* An input of the graph: the caller's array, or a named input without data (`bound` false). */
typedef struct fc_leaf {
    const void *data;
    bool on_device, bound;
    void (*release)(void *user); /* may be NULL */
    void *user;
} fc_leaf;

/* A computed result: memory of the device, owned by the graph. */
typedef struct fc_stored {
    void *data;
    uint64_t scalar[2]; /* the element of a rank-0 result on the host, once it was asked for */
    bool has_scalar;
} fc_stored;

typedef struct fc_known { /* a size and whether it is known already */
    int64_t value;
    bool known;
} fc_known;

typedef struct fc_recent { /* a number that became a constant lately */
    uint64_t bits;
    fc_node node;
    uint32_t dtype; /* + 1; 0 = empty */
} fc_recent;

struct fusec_graph {
    fc_graph ir;
    uint64_t stamp;
    size_t tested; /* conditions that were looked at, see fc_test_conditions */
    fusec_context *ctx;
    unsigned mode; /* of its programs: FUSEC_MODE_*, and the policy for indices */
    fc_recent recent[8];
    FC_VEC(fc_leaf) leaves;     /* by input number */
    uint32_t ninputs;           /* of them named inputs */
    FC_VEC(fc_stored) stored;   /* results */
    FC_VEC(uint32_t) stored_of; /* by node: index of its result + 1; as long as needed */
    FC_VEC(fc_known) syms;      /* by symbol; as long as needed */
    FC_VEC(fc_known) dims;      /* by dim; as long as needed */
    /* scratch of extract.c, by id: (round << 32) | new id */
    FC_VEC(uint64_t) node_map;
    FC_VEC(uint64_t) fixed; /* constants that are no arguments */
    uint32_t narguments;    /* constants that are */
    FC_VEC(uint64_t) dim_map;
    FC_VEC(uint64_t) sym_map;
    FC_VEC(uint64_t) list_map[4]; /* by fc_attr_kind, from FC_ATTR_LIST */
    FC_VEC(uint64_t) hashes;      /* by node, as far as they are needed (key.h) */
    FC_VEC(uint32_t) stack;
    uint32_t round;
};

static inline const fc_stored *fc_result_of(const fusec_graph *g, fc_node n) {
    uint32_t i = n < g->stored_of.len ? g->stored_of.at[n] : 0;
    return i ? &g->stored.at[i - 1] : NULL;
}

/* ---- sizes (sizes.c) ------------------------------------------------------------------------- */

fc_dim fc_extent_of(fusec_graph *g, int64_t n); /* the size of a bound array's axis */
/* Tests the conditions that were added since the last time as far as their sizes are known. */
void fc_test_conditions(fusec_graph *g);
/* The sizes of a node; an error when one is not known. `bytes` may be NULL. */
fusec_status fc_known_shape(fusec_graph *g, fc_node n, int64_t *shape, size_t *bytes, fc_error *e);
/* A caller's shape as dims of `g`, at most FC_MAX_RANK; false: the graph has an error. */
bool fc_take_shape(fusec_graph *g, const char *what, int rank, const fusec_dim *shape, fc_dim *out);
/* Number of bytes of an array; false when that does not fit, or a size is negative. */
bool fc_array_bytes(fusec_dtype t, uint32_t rank, const int64_t *shape, size_t *bytes);

/* ---- values (value.c) ------------------------------------------------------------------------ */

/* Kinds of fusec_value. The numbers have no graph; `bits` holds them. A node's bits are the stamp
 * of its graph. An empty value's bits are the status of what went wrong, if there was no graph. */
enum { FC_EMPTY = 0, FC_NODE, FC_INT, FC_FLOAT, FC_BOOL };

static inline bool fc_is_node(const fusec_value *v) {
    return v->kind == FC_NODE && v->graph->stamp == v->bits;
}
static inline bool fc_is_number(const fusec_value *v) {
    return v->kind >= FC_INT && v->kind <= FC_BOOL;
}

/* What a builder made, as a value; tests conditions that came with it. */
static inline fusec_value fc_value(fusec_graph *g, fc_node n) {
    if (g->ir.conditions.len != g->tested) fc_test_conditions(g);
    if (n == FC_NONODE || g->ir.error.code) return (fusec_value){.graph = g, .kind = FC_EMPTY};
    return (fusec_value){.graph = g, .bits = g->stamp, .node = n, .kind = FC_NODE};
}

/* The graph of all operands that have one, after checking that they go together; the error is
 * recorded there. NULL: none has one. */
fusec_graph *fc_common_graph(const char *what, const fusec_value *v, int n);
/* The graph of a value that must be a node; NULL with *failed set if it is none. */
fusec_graph *fc_node_graph(const char *what, fusec_value v, fusec_value *failed);
/* A value as a node of `g`; a number becomes a constant of the dtype it has by itself. */
fc_node fc_as_node(fusec_graph *g, fusec_value v);
/* An axis of a node, counted from either end, `extra` more being allowed at the end; false: the
 * graph has an error. */
bool fc_take_axis(fusec_graph *g, const char *what, fc_node n, int axis, int extra, uint32_t *out);
/* The axes of a reduction as the builders take them; false: the graph has an error. */
bool fc_take_axes(fusec_graph *g, const char *what, int n, const int *axes, int64_t *out);

/* Brings operands of an elementwise operation into nodes of one dtype; numbers adapt. */
bool fc_adapt(fusec_graph *g, fc_op op, const fusec_value *v, int n, fc_node *src);
/* An operation of numbers only. */
fusec_value fc_fold_numbers(fc_op op, const fusec_value *v, int n);
fusec_value fc_failed(fusec_status s); /* an empty value without graph */
bool fc_dtype_ok(fusec_graph *g, const char *what, fusec_dtype t);
/* The status and message for a value that a function with a status is to use. */
fusec_status fc_check_value(const char *what, fusec_value v);

/* ---- sub-graphs (extract.c) ------------------------------------------------------------------ */

/* The part of a graph that some nodes depend on, down to arrays and stored results. */
typedef struct fc_extract {
    fc_graph graph;             /* inputs and sizes numbered in order of first use */
    FC_VEC(fc_node) inputs;     /* the leaf of the user's graph behind each input */
    FC_VEC(fc_dim_value) sizes; /* the value of each symbol of `graph` */
} fc_extract;

/* `x` has to be freed whatever the result. */
fusec_status fc_extract_make(fusec_graph *g, const fc_node *roots, uint32_t n, fc_extract *x,
                             fc_error *e);
void fc_extract_free(fusec_graph *g, fc_extract *x);

#endif
