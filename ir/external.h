/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* external.h - scalar functions of the user that are computed inside kernels (FC_OP_EXTERN).
 *
 * Of the function a graph has the address of its description in `attr`: whoever describes it
 * (runtime/external.c) keeps it as long as graphs, plans and code may use it, and has one for equal
 * descriptions. A kernel has each function that it uses once (fc_kernel.externs) with a parameter,
 * in which a launch finds that address: so code of the CPU and the interpreter does not depend on
 * where a process has the function, and may be kept. A GPU has the text of the function itself.
 *
 * A function is pure, and defined for all values of its operands: it may be called for elements
 * that nobody reads, and as often as a kernel likes. */
#ifndef FUSEC_IR_EXTERNAL_H
#define FUSEC_IR_EXTERNAL_H

#include "ir/graph.h"

enum {
    FC_MAX_EXTERN = 16,       /* operands */
    FC_EXTERN_SCALARS = 8,    /* of a function of scalars */
    FC_EXTERN_SLOTS = 12,     /* the cost of a function that says nothing of it */
    FC_EXTERN_MOST = 1 << 20, /* slots */
};

/* Element i of `out` is that of elements i of in[0], in[1], ...: dense, n of them. */
typedef void (*fc_extern_fn)(void *user, int64_t n, const void *const *in, void *out);

typedef struct fc_extern {
    /* On the host; NULL: there is none. These two are read by generated code, in this place. */
    fc_extern_fn fn;
    void *user;
    void (*scalar)(void); /* what fn calls for each element, or NULL */
    void *given;          /* what the user's own fn gets */
    const char *name,
        *cuda; /* CUDA C with a __device__ function of that name; NULL: there is none */
    uint8_t nargs, dtype[FC_MAX_EXTERN], result;
    uint32_t number; /* among those of its context */
    uint32_t slots;  /* what it costs: FC_FUNCTION_SLOTS is that of a sine */
} fc_extern;

static inline const fc_extern *fc_extern_of(const fc_ninfo *n) {
    return (const fc_extern *)(uintptr_t)n->attr;
}

/* Whether functions take and give this dtype: those that C and CUDA have. */
static inline bool fc_extern_takes(fusec_dtype t) {
    return (unsigned)t < FC_DTYPE_COUNT && !fc_is_half(t);
}

/* An fn for functions of at most FC_EXTERN_SCALARS operands of f32, f64, i32 or i64, and of one
 * type with their result: `user` is the description. NULL: of these types there is none. */
fc_extern_fn fc_extern_by_element(const fc_extern *x);

/* Operands of the types of the description; broadcast together (build.c). Of more than three, a
 * record (ir/fold.h) has those from the third on. */
fc_node fc_build_extern(fc_graph *g, const fc_extern *x, const fc_node *arg);
/* The operands of an FC_OP_EXTERN: their number, the first FC_MAX_EXTERN of them. */
uint32_t fc_extern_nodes(const fc_graph *g, const fc_ninfo *n, fc_node out[FC_MAX_EXTERN]);

/* Where the functions come from that a text or a saved graph names: it never says it itself. `find`
 * gives the one for a declaration, whose description has no code, or NULL: there is none; it must
 * stay as long as the graph. A mistake in the function is its status and text. */
typedef struct fc_extern_source {
    fusec_status (*find)(void *ctx, const fc_extern *declared, const fc_extern **out, fc_error *e);
    void *ctx;
    const char *help; /* how functions are given */
} fc_extern_source;

#endif
