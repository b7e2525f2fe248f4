/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle.h - what a graph computes, by the letter of docs/semantics.md: the judge of all backends.
 *
 * In: a graph as the user built it, its sizes and its inputs. Out: for every element of every node
 * the exact bits, or the range its value must lie in, or "not fixed". It walks the graph node by
 * node and shares no code with passes, op table expansions, evaluator or emitters; it is slow on
 * purpose.
 *
 * Exact-class operations are exact while their operands are. Functions give a range by the bounds
 * of semantics.md (MPFR for f64, double-precision libm for the narrower types); what follows is
 * computed on the ends of ranges, which is sound because rounding is monotone. A comparison, cast
 * or choice that the range leaves open makes the value "not fixed". So does what reads the sign or
 * payload of a nan; such values are tainted, which means that not even two runs need to agree. */
#ifndef FUSEC_TESTS_SUPPORT_ORACLE_H
#define FUSEC_TESTS_SUPPORT_ORACLE_H

#include "ir/graph.h"

/* A float of a given width. Exact: lo is the value, to the sign of a zero; it may be nan. Else any
 * value from lo to hi, and nan too if `nan`. */
typedef struct fc_interval {
    double lo, hi;
    bool exact, nan, taint;
} fc_interval;

/* An element. Floats: `r`. Integers and bool: `bits`, or anything when r.exact is false. */
typedef struct fc_oval {
    uint64_t bits;
    fc_interval r;
} fc_oval;

typedef struct fc_oarray {
    fusec_dtype dtype;
    uint32_t rank;
    int64_t shape[FC_MAX_RANK];
    int64_t count;
    fc_oval *at; /* C order; NULL while not computed. Of complex numbers both parts, side by side:
                    `count` counts these */
} fc_oarray;

typedef struct fc_oracle {
    const fc_graph *g;
    int64_t *sizes;  /* of all dims */
    fc_oarray *node; /* of all nodes; only those that outputs need have values */
    const void *const *data;
    uint64_t *levels;  /* of all nodes: which holes they depend on */
    fc_oarray **tuple; /* of loops: their values */
} fc_oracle;

/* `syms`: values of the named symbols, by symbol number. `data`: C-order arrays of the inputs. */
void fc_oracle_run(fc_oracle *o, const fc_graph *g, const int64_t *syms, const void *const *data);
/* Only the sizes, no node. */
void fc_oracle_sizes(fc_oracle *o, const fc_graph *g, const int64_t *syms);
void fc_oracle_free(fc_oracle *o);

/* Whether the storage bits `got` are a right value for `want`. */
bool fc_oracle_accepts(fusec_dtype t, const fc_oval *want, uint64_t got);
/* Equal bits, or both nan. */
bool fc_oracle_same(fusec_dtype t, uint64_t a, uint64_t b);
uint64_t fc_oracle_load(fusec_dtype t, const void *data, int64_t i);
void fc_oracle_store(fusec_dtype t, void *data, int64_t i, uint64_t bits);
void fc_oracle_print(fusec_dtype t, const fc_oval *want, fc_str *out);

/* One node, from its operands; a loop with its body (oracle_loop.c). */
void fc_o_compute(fc_oracle *o, fc_node id);
void fc_o_loop(fc_oracle *o, fc_node id);
void fc_o_result(fc_oracle *o, fc_node id);
void fc_o_free_tuples(fc_oracle *o);
/* oracle_scatter.c: `base` after it took in count values x[], of n that might have gone to it. */
uint64_t fc_o_grid_sum(fusec_dtype t, uint64_t base, const double *x, int64_t count, int64_t n);

/* ---- the parts ------------------------------------------------------------------------------ */

/* oracle_scalar.c: exact scalars */
double fc_o_value(fusec_dtype t, uint64_t bits); /* of a float */
uint64_t fc_o_bits(fusec_dtype t, double v);     /* to a float, nearest even, one rounding */
double fc_o_round(fusec_dtype t, double v);      /* the same as a value */
uint64_t fc_o_cast(fusec_dtype from, fusec_dtype to, uint64_t bits);
uint64_t fc_o_int_op(fc_op op, fusec_dtype t, uint64_t a, uint64_t b, uint64_t c);
bool fc_o_int_defines(fc_op op);
/* Operations of the exact class in f32 (or f64 when `wide`); a test gives 0 or 1. False: the
 * operation is not one of them. */
bool fc_o_float_op(fc_op op, bool wide, double a, double b, double c, double *out);

/* Whether the oracle has a definition of a row, on dtype t for elementwise ones: what it does not
 * know it takes any value for. */
bool fc_o_defines(fc_op op, fusec_dtype t);

/* oracle_math.c: the range a function of exact arguments must lie in; t is the dtype of the result.
 * False when there is no reference. */
bool fc_o_math(fc_op op, fusec_dtype t, double a, double b, fc_interval *out);

/* What is known of a function of one argument between `from` and `to`. */
typedef struct fc_o_shape {
    enum { FC_O_OTHER, FC_O_RISING, FC_O_FALLING } kind;
    double from, to;
} fc_o_shape;
const fc_o_shape *fc_o_shape_of(fc_op op); /* NULL: no function of oracle_functions.def */

/* The references themselves: double precision, and MPFR rounded to long double (false
 * without it). */
double fc_o_libm(fc_op op, double a, double b);
bool fc_o_mpfr(fc_op op, double a, double b, long double *out);
void fc_o_mpfr_done(void); /* frees what MPFR keeps for this thread */
/* An absolute error that counts as none. */
double fc_o_math_slack(fc_op op, fusec_dtype t, double a);

/* oracle_range.c: the same on ranges */
fc_interval fc_o_point(double v);
fc_interval fc_o_anything(bool taint);
fc_interval fc_o_union(fc_interval a, fc_interval b);
fc_interval fc_o_add(bool wide, fc_interval a, fc_interval b);
fc_interval fc_o_sub(bool wide, fc_interval a, fc_interval b);
fc_interval fc_o_mul(bool wide, fc_interval a, fc_interval b);
fc_interval fc_o_div(bool wide, fc_interval a, fc_interval b);
fc_interval fc_o_sqrt(bool wide, fc_interval a);
fc_interval fc_o_minmax(bool max, fc_interval a, fc_interval b);
fc_interval fc_o_to(fusec_dtype t, fc_interval a); /* rounded */
/* Any elementwise row on floats of dtype t, with its rounding. For comparisons and tests the range
 * is the point 0 or 1, or not exact. */
fc_interval fc_o_apply(fc_op op, fusec_dtype t, fc_interval a, fc_interval b, fc_interval c);

/* oracle.c: a value that is known; an elementwise node (or a conversion) on one element each of its
 * operands */
fc_oval fc_o_exact(fusec_dtype t, uint64_t bits);
fc_oval fc_o_element(const fc_graph *g, fc_node id, const fc_oval x[3]);

/* oracle_complex.c: pairs, their parts, and transforms; an array of complex numbers has two values
 * for each element */
void fc_o_pair(fc_oracle *o, fc_node id);
void fc_o_part(fc_oracle *o, fc_node id);
void fc_o_transform(fc_oracle *o, fc_node id);

/* oracle_fold.c: all elements of a FC_OP_FOLD */
void fc_o_fold(fc_oracle *o, fc_node id);

/* oracle_reduce.c: one result from n elements, by the trees of semantics.md */
bool fc_o_reduce_defines(fc_op op);
/* The prefix of n elements of a scan; exclusive: that before element n. */
fc_oval fc_o_scan(fc_op op, fusec_dtype t, bool exclusive, const fc_oval *x, int64_t n);
fc_oval fc_o_reduce(fc_op op, fusec_dtype t, bool inner, const fc_oval *x, int64_t n);
/* A contraction of n pairs; the tree as in ir/graph.h: 0 outer, 1 inner, 2 its own. */
fc_oval fc_o_dot(fusec_dtype t, unsigned tree, const fc_oval *x, const fc_oval *y, int64_t n);

#endif
