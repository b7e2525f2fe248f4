/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* nest.h - a kernel with numbers in it: extents, strides, and the shape class that selects its
 * code.
 *
 * fc_nest_bind evaluates the symbolic maps for one set of sizes, drops axes of extent 1 and merges
 * neighbouring axes wherever every access allows it. What is left decides which code runs
 * (fc_class) and with which arguments (the parameter block). Code depends on the class only, never
 * on a size. */
#ifndef FUSEC_CODEGEN_NEST_H
#define FUSEC_CODEGEN_NEST_H

#include "codegen/class.h"

/* Index arithmetic that stays below this needs 32 bits only. The distance to 2^31 lets a loop
 * counter run one step of a whole grid past the end. */
#define FC_NARROW_MAX (INT32_MAX - (1 << 24))

/* Of numbers that are not negative. */
static inline int64_t fc_ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

/* After merging, a nest always has at least one kept axis, and at least one reduced axis if it
 * reduces (extent 1 where there was none). */
typedef struct fc_nest {
    uint32_t np, nr, naccess;
    int64_t extent[FC_MAX_AXES]; /* np kept, outermost first, then nr reduced */
    int64_t rows, count;         /* products of the kept and of the reduced extents */
    int64_t points;              /* elements of all rows; where they end by data, of the mean */
    int64_t *offset;             /* [naccess] in elements */
    int64_t *stride;             /* [naccess][np + nr] in elements */
    int64_t updated;             /* elements of the largest array that is updated */
    int64_t *number;             /* [params] of those that are sizes; 0 of others */
    bool empty;                  /* rows == 0: nothing to do */
    bool far;                    /* some row, element of a row or offset passes FC_NARROW_MAX */
    bool wide;                   /* or rows * count does: 64-bit indices */
} fc_nest;

/* `values` are the values of all dims (fc_dims_eval), indexed by fc_dim. The arrays are allocated
 * from `arena`. For an index access (FC_NO_BUFFER) the "element offset" is the value itself: start,
 * and step per axis. Every access is checked to stay inside its array, so a wrong map is
 * FUSEC_INTERNAL and never a stray write; sizes that overflow 64 bits or are negative are
 * FUSEC_INPUT_SHAPE. */
fusec_status fc_nest_bind(const fc_kernel *k, const int64_t *values, fc_arena *arena, fc_nest *out,
                          fc_error *e);
/* The same where arrays behind arguments are not dense: strides[a], if it is not NULL, are those of
 * access a, one for each axis of its shape, in elements. `strides` may be NULL. */
fusec_status fc_nest_bind_strided(const fc_kernel *k, const int64_t *values,
                                  const int64_t *const *strides, fc_arena *arena, fc_nest *out,
                                  fc_error *e);

/* The same with the kernel's own axes: none is dropped, none are merged, so that the nests of all
 * sizes have the same. */
fusec_status fc_nest_bind_plain(const fc_kernel *k, const int64_t *values,
                                const int64_t *const *strides, fc_arena *arena, fc_nest *out,
                                fc_error *e);

/* Rows that are done in strips, one launch after the other: the same nest with other offsets. */
typedef struct fc_nest_cut {
    int64_t extent[FC_MAX_AXES]; /* of a strip, along the kernel's own axes */
    uint32_t count;              /* strips */
    const int64_t *start;        /* [count][np + nr] its first index on each axis */
    const int64_t *const *base;  /* [accesses] the same of its array; NULL: all of that is there */
    int64_t *moved;              /* out [count][accesses] of a strip's offset from that at 0 */
    int64_t *all;                /* out [accesses] the bits of the offsets of all strips */
} fc_nest_cut;

/* As fc_nest_bind_strided for a strip at 0. */
fusec_status fc_nest_bind_cut(const fc_kernel *k, const int64_t *values,
                              const int64_t *const *strides, const fc_nest_cut *cut,
                              fc_arena *arena, fc_nest *out, fc_error *e);

/* Bytes of memory that an access touches, one element for each place it can be at; of all arrays,
 * or of those that are loaded, each counted once. */
double fc_nest_touches(const fc_kernel *k, const fc_nest *n, uint32_t access);
double fc_nest_bytes(const fc_kernel *k, const fc_nest *n, bool loaded);

/* Fills what follows from the nest alone: np, nr, wide, naccess, move; not aligned, vector is 1,
 * and the target has chosen nothing. */
fusec_status fc_class_of(const fc_nest *n, fc_target_kind target, fc_arena *arena, fc_class *out,
                         fc_error *e);

/* ---- the parameter block: what a launch passes, the same for all targets ------------------
 *
 * 64-bit words:  [nargs]              pointers
 *                [np + nr]            extents
 *                [naccess * (1 + np + nr)]  offset and strides of each access, in elements
 *                [nparams]            scalar parameters, storage bits in the low bytes
 *                [FC_PB_EXTRA]        rows, count, spans, span length, workspace, tickets,
 *                                     a spare word, where checks report
 *
 * A report has two words for each check of the kernel, 0 before the launch. An index outside puts
 * ~position into the first and ~position << 32 | value (in 32 bits, saturated) into the second, if
 * that is more than what is there: so the smallest position stays, with its value. */
enum {
    FC_PB_ROWS,
    FC_PB_COUNT,
    FC_PB_SPANS,
    FC_PB_SPAN,
    FC_PB_WORKSPACE,
    FC_PB_TICKETS,
    FC_PB_SPARE0,
    FC_PB_REPORT,
    FC_PB_EXTRA
};

static inline int32_t fc_report_value(int64_t v) {
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
void fc_report_outside(uint64_t *report, uint32_t check, int64_t position, int64_t value);

typedef struct fc_layout {
    uint32_t args, extents, accesses, params, extra, words; /* first word of each part; total */
} fc_layout;

static inline fc_layout fc_layout_of(uint32_t nargs, uint32_t axes, uint32_t naccess,
                                     uint32_t nparams) {
    fc_layout l;
    l.args = 0;
    l.extents = nargs;
    l.accesses = l.extents + axes;
    l.params = l.accesses + naccess * (1 + axes);
    l.extra = l.params + nparams;
    l.words = l.extra + FC_PB_EXTRA;
    return l;
}

/* One launch for several kernels that differ in their pointers and parameters only
 * (fc_class.alike): its block has FC_ALIKE_WORDS, first those of a single one and then, kernel
 * after kernel, the pointers and the parameters. So they fit the 4 KiB that every driver takes, and
 * the code does not depend on how many there are. */
enum { FC_ALIKE_WORDS = 512 };
static inline fc_layout fc_alike_layout(fc_layout l, uint32_t number) {
    uint32_t nargs = l.extents - l.args, nparams = l.extra - l.params;
    l.args = l.words + number * (nargs + nparams);
    l.params = l.args + nargs;
    return l;
}

/* Fills the block (fc_layout_of words): pointers, extents, accesses, parameters, rows and count;
 * the other extra words are 0. `args` has an address for each argument, `scalars` storage bits for
 * each parameter that is not a dim (at the parameter's number; may be NULL if there are none). */
void fc_nest_fill(const fc_kernel *k, const fc_nest *n, const int64_t *values, void *const *args,
                  const uint64_t *scalars, int64_t *words);

/* Elements of a run of a kernel by columns. */
static inline int fc_run_of(const fc_kernel *k) {
    return k->schedule == FC_SCHED_DOT ? FC_DOT_CHUNK : FC_RUN;
}

#endif
