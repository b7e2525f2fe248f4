/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy.h - what is behind fusec_lazy: values of no graph, counted one by one.
 *
 * A value is an operation on other values (`held` is NULL: not computed), a number (op
 * FC_OP_CONST), or an array in memory (`held`). Everything but `held`, `src` and the marks of a
 * walk is written once, before another thread can see it. Those are guarded by the context's lazy
 * lock: computing a value sets `held` and takes its operands away.
 *
 * Sizes are numbers here. What makes one plan serve many sizes is the key (lazy_eval.c), in which
 * equal sizes are equal and nothing else is said of them but 0 and 1. */
#ifndef FUSEC_FRONTEND_LAZY_H
#define FUSEC_FRONTEND_LAZY_H

#include "frontend/capi/key.h"

/* Memory behind values. */
typedef struct fc_held {
    atomic_uint refs;
    fusec_context *ctx;
    void *data;
    void (*release)(void *user); /* of borrowed memory, NULL: nobody needs to know */
    void *user;
    bool owned;     /* the device's, freed with it */
    bool on_device; /* memory of the device */
    void *stream;   /* the caller's stream that computes it; NULL: the device's own, or done */
    bool has_scalar;
    uint64_t scalar[2]; /* the element of a rank-0 result on the host, once it was asked for */
} fc_held;

/* Operations that are no nodes of a graph but several. Their attributes are kept as they were
 * given: axes, then start, then step. */
enum {
    FC_OP_LOGSUMEXP = FC_OP_COUNT_, /* as a reduction */
    FC_OP_REAL,                     /* maps of ir/composites.def */
    FC_OP_IMAG,
    FC_OP_CONJ,
    FC_OP_ANGLE,
    FC_OP_COMPLEX,
    FC_OP_NEXTAFTER,
    FC_OP_SPACING,
    FC_FIRST_COMPOSITE,
    FC_OP_MATMUL = FC_FIRST_COMPOSITE,
    FC_OP_EINSUM,
    FC_OP_TAKE_AXIS,
    FC_OP_TAKE_ALONG,
    FC_OP_RAGGED_ROWS,
    FC_OP_PAD,
    FC_OP_ROLL,
    FC_OP_TILE,
    FC_OP_REPEAT,
    FC_OP_WINDOW,
    FC_OP_CONCAT,
    FC_OP_STACK,
    FC_OP_CUMSUM,
    FC_OP_CUMPROD,
    FC_OP_CUMMIN,
    FC_OP_CUMMAX,
    FC_OP_CUMANY,
    FC_OP_CUMALL,
    FC_OP_FOURIER,
    FC_OP_INVERSE_FOURIER,
    FC_OP_REAL_FOURIER,
    FC_OP_INVERSE_REAL_FOURIER,
    FC_OP_SORT_AXIS,
    FC_OP_ARGSORT_AXIS,
    FC_OP_ARGSORT_PART,
    FC_OP_SEARCH_SORTED,
    FC_OP_SCATTER_TO,
    FC_OP_EXTERN_NUMBER,
    FC_OP_TEXT_NUMBER,
    FC_FIRST_DRAW,
    FC_OP_BITS = FC_FIRST_DRAW,
    FC_OP_UNIFORM,
    FC_OP_NORMAL,
    FC_OP_RANDINT,
    FC_OP_BERNOULLI,
    FC_OP_PERMUTATION_OF,
    FC_OPS_WITH_COMPOSITES,
    FC_AFTER_DRAWS = FC_OPS_WITH_COMPOSITES
};
static inline bool fc_lazy_is_composite(int op) {
    return op >= FC_FIRST_COMPOSITE && op < FC_OPS_WITH_COMPOSITES;
}
static inline bool fc_lazy_is_draw(int op) {
    return op >= FC_FIRST_DRAW && op < FC_AFTER_DRAWS;
}
/* Their shapes do not follow from the operands. */
static inline bool fc_lazy_takes_shape(int op) {
    return op == FC_OP_BROADCAST || op == FC_OP_RESHAPE || op == FC_OP_SLICE || op == FC_OP_IOTA ||
           fc_lazy_is_draw(op);
}

/* An operation to be built: what it works on, and its attributes in the forms builders take. */
typedef struct fc_lazy_call {
    fusec_graph *g;
    const fusec_attr *a;
    int n;
    const fusec_value *v;
    bool extents; /* sizes are those of arrays (fc_extent_of), else numbers */
    int axis;
    int rank; /* of the shape */
    fusec_dim shape[FC_MAX_RANK];
} fc_lazy_call;

/* What the attributes of a row must have: a dtype, one axis, a start, a step, a start for each axis
 * of the operand, starts of any number, a text. */
enum {
    FC_LAZY_DTYPE = 1,
    FC_LAZY_AXIS = 2,
    FC_LAZY_START = 4,
    FC_LAZY_STEP = 8,
    FC_LAZY_EACH = 16,
    FC_LAZY_LIST = 32,
    FC_LAZY_TEXT = 64
};
enum { FC_LAZY_MOST_TEXT = 255 };

typedef struct fc_lazy_row {
    fusec_value (*build)(const fc_lazy_call *c);
    int arity;
    unsigned needs;
    const char *name, *doc;
} fc_lazy_row;
const fc_lazy_row *fc_lazy_row_of(int op); /* NULL: a row of ir/ops.def, or nothing */

struct fusec_lazy {
    atomic_uint refs;
    uint16_t op;
    uint8_t dtype, rank;
    uint16_t nops, most_ops; /* operands; before it was computed */
    bool keepdims, strided;
    uint8_t mode;                /* fusec_attr.mode */
    uint8_t naxes, nlist, ntext; /* of a composite: lengths of the lists in its words */
    uint8_t nattr;               /* words behind the shape */
    uint32_t depth;              /* operations behind it, one after the other; 0: none */
    uint32_t number;
    union {
        uint64_t round;   /* of the walk that met it last, which gave it its number */
        fusec_lazy *next; /* while it is being freed */
    };
    fusec_context *ctx;
    _Atomic(fc_held *) held;
    fusec_lazy **src, *few[3]; /* operands: `few`, or memory of its own */
    uint64_t bits, more;       /* of a number; `more`: the second word of a c128 */
    int64_t words[];           /* the shape; then strides, axes, or start and step of each axis */
};

static inline const int64_t *fc_lazy_attr(const fusec_lazy *v) {
    return v->words + v->rank;
}

/* The operation on nodes of a graph; sizes become extents of the graph (fc_extent_of). The one
 * place where an operation says how it is built. */
fc_node fc_lazy_build(fusec_graph *g, int op, const fusec_attr *a, int n, const fc_node *src);
fc_node fc_lazy_number(fusec_graph *g, const fusec_lazy *v);
/* The attributes of a value, pointing into it. */
fusec_attr fc_lazy_attributes(const fusec_lazy *v);

enum { FC_ANY_ARITY = -2, FC_MOST_OPERANDS = 1024 }; /* see fusec_op_arity */

/* What a result will be. False: the short way does not know; fc_lazy_infer asks the builders, whose
 * errors are the user's. */
typedef struct fc_lazy_type {
    fusec_dtype dtype;
    uint32_t rank;
    int64_t shape[FC_MAX_RANK];
} fc_lazy_type;
bool fc_lazy_infer_short(fusec_context *c, int op, const fusec_attr *a, int n,
                         fusec_lazy *const *src, fc_lazy_type *out);
fusec_status fc_lazy_infer(fusec_context *c, int op, const fusec_attr *a, int n,
                           fusec_lazy *const *src, fc_lazy_type *out);

void fc_held_release(fc_held *h);
fc_held *fc_held_new(fusec_context *c);

/* What evaluations of a context keep for the next. */
void fc_lazy_pool_free(fusec_context *c);
fusec_graph *fc_lazy_take_graph(fusec_context *c); /* an empty one; NULL: reported */
void fc_lazy_give_graph(fusec_context *c, fusec_graph *g);

#endif
