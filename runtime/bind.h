/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bind.h - everything a call needs for one set of sizes: bound nests, loaded code, launches, places
 * of temporaries. */
#ifndef FUSEC_RUNTIME_BIND_H
#define FUSEC_RUNTIME_BIND_H

#include "runtime/apart.h"
#include "runtime/kernel_cache.h"
#include "runtime/program.h"

typedef struct fc_bound_step {
    fc_nest nest;
    fc_class cls;
    fc_launch launch;
    fc_variant *variant; /* NULL: not loaded (dry) or nothing to do */
    int64_t *words;      /* the parameter block without pointers and scalar inputs */
    fc_layout layout;
    size_t workspace, tickets;  /* offsets in the scratch block; SIZE_MAX = none */
    uint32_t sharing;           /* steps that its launch does */
    struct fc_fft *fft;         /* of a transform, owned */
    void *device_fft;           /* the same by the device's library (device.h), in its place */
    struct fc_call_bound *call; /* of a call (call.c) */
    struct fc_sort_bound *sort; /* of a sort (step_sort.c) */
    struct fc_loop_bound *loop; /* of a loop (step_loop.c); it has no kernel */
    /* of a chain that runs strip by strip (strips.h); the nest is that of the first strip */
    const struct fc_strips *strips;
    uint8_t *cut;   /* [strips->axes] which of the kernel's axes they are */
    int64_t *rows;  /* [strips->axes] of a strip */
    int64_t *from;  /* [strips->count][strips->axes] the first of them */
    int64_t *moved; /* [strips->count][accesses] how far offsets are from those of the nest */
    int64_t *all;   /* [accesses] the bits of the offsets of all strips: how far they are aligned */
    int64_t *moved_args; /* [strips->count][arguments] the same of addresses, in bytes; or NULL */
    fc_own_word *own;    /* of its block */
    uint32_t nown;
    const fc_joined *joined; /* the kernels of its launch, which it is one of (join.h); NULL: it
                                has one of its own */
    uint32_t joined_from;    /* the first step of them */
} fc_bound_step;

/* An array of which a strip at a time is there (strips.h). */
typedef struct fc_strip_array {
    size_t bytes;   /* 0: all of it is */
    uint32_t maker; /* step */
} fc_strip_array;

/* One launch of a call: a step, or several steps alike (alike.h), the first of which leads. */
typedef struct fc_bound_launch {
    const uint32_t *steps;
    uint32_t n;
    int64_t *words; /* the leader's, or the block of all */
    uint32_t nwords;
    const fc_prepared_strips *strips; /* that begin here and run side by side; NULL: none do */
} fc_bound_launch;

/* Where the block has the pointers and parameters of step number `number` of the launch. */
static inline fc_layout fc_launch_layout(const fc_bound_step *leader, const fc_bound_launch *l,
                                         uint32_t number) {
    if (leader->joined) return leader->joined->layout[number];
    return l->n > 1 ? fc_alike_layout(leader->layout, number) : leader->layout;
}

struct fc_bound {
    fc_bound *next;
    fc_arena arena;
    uint32_t users;          /* calls under way, plus one while it is in the program's list */
    uint32_t align;          /* of all buffers, as a power of two up to 64 */
    bool plain;              /* its kernels are of the classes that take any sizes */
    uint32_t nargs;          /* inputs and outputs: the first buffers */
    const int64_t **strides; /* of each argument, NULL: dense; NULL: all are */
    size_t *before, *from;   /* bytes that each argument touches, see fc_strides_span */
    uint8_t *in_place;       /* [nout][nin]: the output may be exactly this input; NULL: none may */
    int64_t *symbols;        /* the key: value of every symbol */
    int64_t *values;         /* of every dim */
    size_t *bytes;           /* of each buffer of the plan */
    fc_strip_array *strip;   /* [buffers]; NULL: all is there of all */
    uint8_t *inside;         /* [buffers] which stay inside of a launch; NULL: none does */
    size_t *place;           /* of each temporary buffer in the scratch block */
    size_t scratch;          /* bytes of it */
    size_t tickets_begin, tickets_bytes; /* part of it that must be zero before the first step */
    size_t
        report; /* in that part: the words of its checks; SIZE_MAX: none, or not in the scratch */
    fc_bound_step *steps;
    fc_bound_launch *launches; /* in the order of the call */
    uint32_t nlaunches;
    uint32_t *leader;         /* of each step: the one in whose launch, or launches, it is done */
    bool loaded, quick;       /* quick: some of its code is, so a later call has another */
    double work, interpreted; /* operations of a call for the interpreter; of all calls so far */
};

/* What a bound is wanted for: sizes alone, full code, or a call. */
typedef enum fc_code_wanted { FC_NO_CODE, FC_FULL_CODE, FC_ANY_CODE } fc_code_wanted;

/* Symbol values from the shapes of the inputs and explicit dims; checks dtypes, ranks and the
 * graph's conditions. `symbols` has room for all symbols, `values` for all dims of the plan's
 * graph. */
fusec_status fc_bind_sizes(const fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                           const fc_dim_value *dims, int64_t *symbols, int64_t *values,
                           fc_error *e);

/* Whether a condition of the graph holds for these values of its dims; the message says what had to
 * hold and what the sizes are. */
fusec_status fc_condition_test(const fc_graph *g, const fc_condition *c, const int64_t *values,
                               fc_error *e);

/* What a bound needs to know of the arrays besides their sizes. */
typedef struct fc_layouts {
    uint32_t align;
    const int64_t *const *strides; /* of inputs, then outputs; NULL: all are dense */
    bool plain; /* kernels of the classes that take any sizes, as far as the device has them and
                   arrays are dense */
    uint32_t blocked; /* out, after FUSEC_NOT_YET: the argument whose strides a kernel can't walk,
                         as it reads the array under another shape */
} fc_layouts;

/* The bound for these sizes and layouts: cached in the program or made now. */
fusec_status fc_bound_get_for(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                              const fc_dim_value *dims, fc_layouts *layouts, fc_code_wanted code,
                              fc_bound **out, fc_error *e);

/* The same for dense arrays: cached in the program or made now. The caller gives it back with
 * fc_bound_release. */
fusec_status fc_bound_get(fc_program *p, uint32_t nin, const fc_tensor *in, uint32_t ndims,
                          const fc_dim_value *dims, uint32_t align, fc_code_wanted code,
                          fc_bound **out, fc_error *e);
/* Whether arguments a and b share no byte, at these addresses. */
static inline bool fc_bound_apart(const fc_bound *b, uint32_t i, const void *x, uint32_t k,
                                  const void *y) {
    return fc_two_apart((const char *)x - b->before[i], b->before[i] + b->from[i],
                        (const char *)y - b->before[k], b->before[k] + b->from[k]);
}
/* Whether output o may lie on input i as they do: on the very same elements. */
static inline bool fc_bound_in_place(const fc_bound *b, uint32_t nin, uint32_t i, const void *x,
                                     uint32_t o, const void *y) {
    return x == y && b->in_place && b->in_place[o * nin + i];
}
fc_bound *fc_bound_hold(fc_program *p, fc_bound *b); /* one more user */
void fc_bound_release(fc_program *p, fc_bound *b);
void fc_bound_free(fc_program *p, fc_bound *b);

/* ---- parts of making one (bind_layout.c); false: out of memory ------------------------------- */

bool fc_bound_keep_layouts(fc_program *p, fc_bound *b, const fc_layouts *l);
bool fc_bound_same_layouts(const fc_program *p, const fc_bound *b, const fc_layouts *l);
fusec_status fc_bound_spans(fc_program *p, fc_bound *b, fc_error *e);
fusec_status fc_bound_strides(fc_program *p, fc_bound *b, const fc_kernel *k,
                              const int64_t *const **out, uint32_t *blocked, fc_error *e);
bool fc_bound_find_in_place(fc_program *p, fc_bound *b);

#endif
