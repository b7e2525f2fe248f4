/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy_rows.c - the operations that are no rows of ir/ops.def: their names, what they must be told,
 * and how each is built. A new one is a number in lazy.h, a function here, and a line of the table.
 *
 * In: a call whose attributes were checked against the row. Out: a value of the graph. */
#include "frontend/capi/lazy.h"

#include "frontend/capi/language.h"
#include "runtime/external.h"

/* ---- conversions and views ------------------------------------------------------------------- */

static fusec_value cast(const fc_lazy_call *c) {
    return fusec_cast(c->v[0], (fusec_dtype)c->a->dtype);
}

static fusec_value bitcast(const fc_lazy_call *c) {
    return fusec_bitcast(c->v[0], (fusec_dtype)c->a->dtype);
}

static fusec_value materialize(const fc_lazy_call *c) {
    return fusec_materialize(c->v[0]);
}

static fusec_value iota(const fc_lazy_call *c) {
    if (c->rank == 1) return fusec_arange(c->g, c->shape[0]);
    fc_fail(&c->g->ir.error, FUSEC_INVALID, "iota: the shape has one length, not %d", c->rank);
    return fc_value(c->g, FC_NONODE);
}

static fusec_value broadcast(const fc_lazy_call *c) {
    return fusec_broadcast(c->v[0], c->rank, c->shape);
}

static fusec_value reshape(const fc_lazy_call *c) {
    return fusec_reshape(c->v[0], c->rank, c->shape);
}

static fusec_value permute(const fc_lazy_call *c) {
    int axes[FC_MAX_RANK];
    const int rank = fusec_rank(c->v[0]);
    if (c->a->axes && c->a->naxes != rank) {
        fc_fail(&c->g->ir.error, FUSEC_BAD_AXIS, "permute: %d axes, but the array has %d",
                (int)c->a->naxes, rank);
        return fc_value(c->g, FC_NONODE);
    }
    for (int i = 0; c->a->axes && i < rank; i++)
        axes[i] = c->a->axes[i] < -FC_MAX_RANK || c->a->axes[i] > FC_MAX_RANK ? FC_MAX_RANK
                                                                              : (int)c->a->axes[i];
    return fusec_transpose(c->v[0], c->a->axes ? axes : NULL);
}

/* Of all axes at once, and with lengths that were given. */
static fusec_value slice(const fc_lazy_call *c) {
    fc_slice s[FC_MAX_RANK];
    const int rank = fusec_rank(c->v[0]);
    if (c->rank != rank || (rank && !c->a->start)) {
        fc_fail(&c->g->ir.error, FUSEC_INVALID, "slice: %d axes, but the array has %d", c->rank,
                rank);
        return fc_value(c->g, FC_NONODE);
    }
    for (int i = 0; i < rank; i++) {
        const fc_dim start = c->extents ? fc_extent_of(c->g, c->a->start[i])
                                        : fc_dim_const(&c->g->ir.dims, c->a->start[i]);
        s[i] = (fc_slice){start, c->a->step ? c->a->step[i] : 1, c->shape[i].id};
        if (start == FC_DIM_NONE) return fc_value(c->g, FC_NONODE);
    }
    return fc_value(c->g, fc_build_slice(&c->g->ir, c->v[0].node, s));
}

/* ---- reductions, products -------------------------------------------------------------------- */

static fusec_value logsumexp(const fc_lazy_call *c) {
    return fc_value(c->g, fc_build_logsumexp(&c->g->ir, c->v[0].node, (uint32_t)c->a->naxes,
                                             c->a->axes, c->a->keepdims != 0));
}

/* The maps of ir/composites.def that have one result. */
#define MAP1(fn)                                                                                   \
    static fusec_value fn##_of(const fc_lazy_call *c) {                                            \
        return fusec_##fn(c->v[0]);                                                                \
    }
MAP1(real)
MAP1(imag)
MAP1(conj)
MAP1(angle)
MAP1(spacing)
#define MAP2(fn)                                                                                   \
    static fusec_value fn##_of(const fc_lazy_call *c) {                                            \
        return fusec_##fn(c->v[0], c->v[1]);                                                       \
    }
MAP2(complex)
MAP2(nextafter)

static fusec_value fft(const fc_lazy_call *c) {
    return fusec_fft(c->v[0], c->axis);
}
static fusec_value ifft(const fc_lazy_call *c) {
    return fusec_ifft(c->v[0], c->axis);
}
static fusec_value rfft(const fc_lazy_call *c) {
    return fusec_rfft(c->v[0], c->axis);
}
static fusec_value irfft(const fc_lazy_call *c) {
    return fusec_irfft(c->v[0], c->a->start[0], c->axis);
}

static fusec_value matmul(const fc_lazy_call *c) {
    return fusec_matmul(c->v[0], c->v[1]);
}

static fusec_value einsum(const fc_lazy_call *c) {
    return fusec_einsum(c->a->text, c->n, c->v);
}

/* ---- moving and joining ---------------------------------------------------------------------- */

static fusec_value take(const fc_lazy_call *c) {
    return fusec_take(c->v[0], c->v[1], c->axis);
}

static fusec_value take_along(const fc_lazy_call *c) {
    return fusec_take_along(c->v[0], c->v[1], c->axis);
}

static fusec_value ragged(const fc_lazy_call *c) {
    return fusec_ragged(c->v[0], c->v[1], c->v[2], (fusec_ragged_op)c->a->mode);
}

static fusec_value pad(const fc_lazy_call *c) {
    const fusec_edge mode = c->a->mode ? (fusec_edge)c->a->mode : FUSEC_EDGE_ZERO;
    return fusec_pad(c->v[0], c->a->start, c->a->step, mode, (fusec_value){0});
}

static fusec_value roll(const fc_lazy_call *c) {
    return fusec_roll(c->v[0], c->a->start[0], c->axis);
}

static fusec_value tile(const fc_lazy_call *c) {
    return fusec_tile(c->v[0], c->a->rank, c->a->start);
}

static fusec_value repeat(const fc_lazy_call *c) {
    return fusec_repeat(c->v[0], c->a->start[0], c->axis);
}

static fusec_value window(const fc_lazy_call *c) {
    return fusec_window(c->v[0], c->a->start[0], c->axis, c->a->step[0]);
}

static fusec_value concat(const fc_lazy_call *c) {
    return fusec_concat(c->n, c->v, c->axis);
}

static fusec_value stack(const fc_lazy_call *c) {
    return fusec_stack(c->n, c->v, c->axis);
}

/* ---- prefixes -------------------------------------------------------------------------------- */

#define SCAN(name)                                                                                 \
    static fusec_value name(const fc_lazy_call *c) {                                               \
        return fusec_##name(c->v[0], c->axis, c->a->mode);                                         \
    }
SCAN(cumsum)
SCAN(cumprod)
SCAN(cummin)
SCAN(cummax)
SCAN(cumany)
SCAN(cumall)
#undef SCAN

/* ---- order ----------------------------------------------------------------------------------- */

static fusec_value sort(const fc_lazy_call *c) {
    return fusec_sort(c->v[0], c->axis, c->a->mode != 0);
}

static fusec_value argsort(const fc_lazy_call *c) {
    return fusec_argsort(c->v[0], c->axis, c->a->mode != 0);
}

static fusec_value argsort_part(const fc_lazy_call *c) {
    fc_graph *g = &c->g->ir;
    return fc_value(c->g,
                    fc_build_argsort_part(g, c->v[0].node, c->axis, c->a->mode != 0, c->a->start[0],
                                          fc_dim_const(&g->dims, c->a->step[0])));
}

static fusec_value searchsorted(const fc_lazy_call *c) {
    return fusec_searchsorted(c->v[0], c->v[1], c->a->mode != 0);
}

/* ---- functions of the user ------------------------------------------------------------------- */

static fusec_value external(const fc_lazy_call *c) {
    fc_graph *g = &c->g->ir;
    const fc_extern *x = fc_extern_at(c->g->ctx->runtime, c->a->start[0]);
    fc_node in[FC_MAX_EXTERN];
    if (!x)
        fc_fail(&g->error, FUSEC_INVALID, "extern: the context has no function of number %lld",
                (long long)c->a->start[0]);
    else if (c->n != x->nargs)
        fc_fail(&g->error, FUSEC_ARGUMENT_COUNT, "%s takes %d operands, but %d were given", x->name,
                x->nargs, c->n);
    for (int i = 0; !g->error.code && i < c->n; i++) in[i] = c->v[i].node;
    return fc_value(c->g, g->error.code ? FC_NONODE : fc_build_extern(g, x, in));
}

/* ---- texts of the language ------------------------------------------------------------------- */

/* start: its number; which of how many results, or nothing of it. */
static fusec_value text(const fc_lazy_call *c) {
    const int64_t *s = c->a->start;
    const bool all = c->a->rank == 3;
    const int which = all && s[1] >= 0 && s[1] < FC_MOST_RESULTS ? (int)s[1]
                      : all                                      ? -1
                                                                 : 0,
              results = all && s[2] > 0 && s[2] <= FC_MOST_RESULTS ? (int)s[2] : !all;
    return fc_text_value(c->g, s[0], c->n, c->v, which, results);
}

/* ---- stores at indices ----------------------------------------------------------------------- */

static fusec_value scatter(const fc_lazy_call *c) {
    return fusec_scatter(c->v[0], c->v[1], c->v[2], c->axis, (fusec_put)c->a->mode, 0);
}

/* ---- random numbers: seed and stream are the last operands -------------------------------------
 */

#define DRAW(name)                                                                                 \
    static fusec_value name(const fc_lazy_call *c) {                                               \
        return fusec_##name(c->g, (fusec_dtype)c->a->dtype, c->rank, c->shape, c->v[0], c->v[1]);  \
    }
DRAW(bits)
DRAW(uniform)
DRAW(normal)
#undef DRAW

static fusec_value randint(const fc_lazy_call *c) {
    return fusec_randint(c->g, c->v[0], c->v[1], c->rank, c->shape, c->v[2], c->v[3]);
}

static fusec_value bernoulli(const fc_lazy_call *c) {
    return fusec_bernoulli(c->g, c->v[0], c->rank, c->shape, c->v[1], c->v[2]);
}

static fusec_value permutation(const fc_lazy_call *c) {
    if (c->rank == 1) return fusec_permutation(c->g, c->shape[0], c->v[0], c->v[1]);
    fc_fail(&c->g->ir.error, FUSEC_INVALID, "permutation: the shape has one length, not %d",
            c->rank);
    return fc_value(c->g, FC_NONODE);
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { DTYPE = FC_LAZY_DTYPE, AXIS = FC_LAZY_AXIS, START = FC_LAZY_START, STEP = FC_LAZY_STEP };
enum { EACH = FC_LAZY_EACH, LIST = FC_LAZY_LIST, TEXT = FC_LAZY_TEXT };

static const fc_lazy_row rows[FC_OPS_WITH_COMPOSITES] = {
    [FC_OP_IOTA] = {iota, 0, 0, "iota", "0, 1, 2, ... as i64"},
    [FC_OP_CAST] = {cast, 1, DTYPE, "cast",
                    "another dtype; float to integer truncates and saturates"},
    [FC_OP_BITCAST] = {bitcast, 1, DTYPE, "bitcast", "the same bits in a dtype of the same width"},
    [FC_OP_BROADCAST] = {broadcast, 1, 0, "broadcast", "to a shape, axes aligned from the right"},
    [FC_OP_PERMUTE] = {permute, 1, 0, "permute", "the axes in another order"},
    [FC_OP_SLICE] = {slice, 1, 0, "slice", "every step-th element of each axis"},
    [FC_OP_RESHAPE] = {reshape, 1, 0, "reshape", "the same elements in C order in another shape"},
    [FC_OP_MATERIALIZE] = {materialize, 1, 0, "materialize",
                           "the value is stored: nothing fuses across"},
    [FC_OP_LOGSUMEXP] = {logsumexp, 1, 0, "logsumexp", "log(sum(exp(x))) without overflow"},
    [FC_OP_REAL] = {real_of, 1, 0, "real", "the real part; a real number as it is"},
    [FC_OP_IMAG] = {imag_of, 1, 0, "imag", "the imaginary part; of a real number 0"},
    [FC_OP_CONJ] = {conj_of, 1, 0, "conj", "the number with the opposite imaginary part"},
    [FC_OP_ANGLE] = {angle_of, 1, 0, "angle", "atan2(imag, real)"},
    [FC_OP_NEXTAFTER] = {nextafter_of, 2, 0, "nextafter", "the float next to x on the way to y"},
    [FC_OP_SPACING] = {spacing_of, 1, 0, "spacing", "the distance to the next float"},
    [FC_OP_COMPLEX] = {complex_of, 2, 0, "complex", "x + iy of two real numbers"},
    [FC_OP_MATMUL] = {matmul, 2, 0, "matmul", "the product of matrices, and of stacks of them"},
    [FC_OP_EINSUM] = {einsum, FC_ANY_ARITY, TEXT, "einsum",
                      "sums of products by letters of axes: text \"ik,kj->ij\""},
    [FC_OP_EXTERN_NUMBER] = {external, FC_ANY_ARITY, START, "extern",
                             "function number start[0] of the user (fusec_extern_number)"},
    [FC_OP_TEXT_NUMBER] = {text, FC_ANY_ARITY, LIST, "text",
                           "text number start[0] of the language (fusec_text_number); of several "
                           "results start[1] of start[2]"},
    [FC_OP_TAKE_AXIS] = {take, 2, AXIS, "take", "the axes of the indices in place of axes[0]"},
    [FC_OP_TAKE_ALONG] = {take_along, 2, AXIS, "take_along",
                          "elements along axes[0] at indices as large"},
    [FC_OP_RAGGED_ROWS] = {ragged, 3, 0, "ragged",
                           "rows of an array from begins to ends; mode: fusec_ragged_op"},
    [FC_OP_PAD] = {pad, 1, EACH, "pad",
                   "start[i] elements before and step[i] behind axis i, by the mode"},
    [FC_OP_ROLL] = {roll, 1, AXIS | START, "roll",
                    "start[0] places further along axes[0], and round"},
    [FC_OP_TILE] = {tile, 1, LIST, "tile",
                    "start[i] times over along axis i, aligned from the right"},
    [FC_OP_REPEAT] = {repeat, 1, AXIS | START, "repeat",
                      "every element start[0] times over along axes[0]"},
    [FC_OP_WINDOW] = {window, 1, AXIS | START | STEP, "window",
                      "windows of start[0] elements every step[0] along axes[0]"},
    [FC_OP_CONCAT] = {concat, FC_ANY_ARITY, AXIS, "concat", "one after the other along axes[0]"},
    [FC_OP_STACK] = {stack, FC_ANY_ARITY, AXIS, "stack",
                     "one after the other along a new axis axes[0]"},
    [FC_OP_CUMSUM] = {cumsum, 1, AXIS, "cumsum",
                      "sums of the elements so far along axes[0]; mode: FUSEC_SCAN_*"},
    [FC_OP_CUMPROD] = {cumprod, 1, AXIS, "cumprod",
                       "products so far along axes[0]; mode: FUSEC_SCAN_*"},
    [FC_OP_CUMMIN] = {cummin, 1, AXIS, "cummin",
                      "the smallest so far along axes[0]; mode: FUSEC_SCAN_*"},
    [FC_OP_CUMMAX] = {cummax, 1, AXIS, "cummax",
                      "the largest so far along axes[0]; mode: FUSEC_SCAN_*"},
    [FC_OP_CUMANY] = {cumany, 1, AXIS, "cumany", "any so far along axes[0]; mode: FUSEC_SCAN_*"},
    [FC_OP_CUMALL] = {cumall, 1, AXIS, "cumall", "all so far along axes[0]; mode: FUSEC_SCAN_*"},
    [FC_OP_FOURIER] = {fft, 1, AXIS, "fft", "Fourier transform along axes[0]"},
    [FC_OP_INVERSE_FOURIER] = {ifft, 1, AXIS, "ifft", "its inverse, divided by the length"},
    [FC_OP_REAL_FOURIER] = {rfft, 1, AXIS, "rfft", "elements 0 to n/2 of the transform of reals"},
    [FC_OP_INVERSE_REAL_FOURIER] = {irfft, 1, AXIS | START, "irfft",
                                    "start[0] reals of elements 0 to n/2; 0: an even number"},
    [FC_OP_SORT_AXIS] = {sort, 1, AXIS, "sort",
                         "in order along axes[0]; mode 1: from the largest on"},
    [FC_OP_ARGSORT_AXIS] = {argsort, 1, AXIS, "argsort",
                            "positions in order along axes[0]; mode 1: from the largest on"},
    [FC_OP_ARGSORT_PART] = {argsort_part, 1, AXIS | START | STEP, "argsort_part",
                            "step[0] of these, from place start[0] on"},
    [FC_OP_SEARCH_SORTED] = {searchsorted, 2, 0, "searchsorted",
                             "how many of a sorted array are less; mode 1: or equal"},
    [FC_OP_SCATTER_TO] = {scatter, 3, AXIS, "scatter",
                          "an array, indices of axes[0], values that go there; mode: fusec_put"},
    [FC_OP_PERMUTATION_OF] = {permutation, 2, 0, "permutation",
                              "0 to n - 1 in an order by (seed, stream); the shape is n"},
    [FC_OP_BITS] = {bits, 2, DTYPE, "bits", "random u32 or u64 of a shape, by (seed, stream)"},
    [FC_OP_UNIFORM] = {uniform, 2, DTYPE, "uniform",
                       "uniform in [0, 1) of a shape, by (seed, stream)"},
    [FC_OP_NORMAL] = {normal, 2, DTYPE, "normal",
                      "normal, mean 0, deviation 1, of a shape, by (seed, stream)"},
    [FC_OP_RANDINT] = {randint, 4, 0, "randint",
                       "i64 in [low, high) of a shape: (low, high, seed, stream)"},
    [FC_OP_BERNOULLI] = {bernoulli, 3, 0, "bernoulli",
                         "true with probability p, of a shape: (p, seed, stream)"},
};

const fc_lazy_row *fc_lazy_row_of(int op) {
    return op >= 0 && op < FC_OPS_WITH_COMPOSITES && rows[op].build ? &rows[op] : NULL;
}
