/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_divide.c - quotients of many elements by one value of their row, without the tests that a
 * division has.
 *
 * In: a slice of a gang or a cluster, whose blocks wait for each other while one computes. Out: its
 * stores with quotients made the short way and, if that was not good enough for all of a thread's,
 * once more by division. The bits are those of a division:
 *
 *     r = 1/b rounded to nearest;  rest = fma(-b, r, 1)*r;  q = fma(a, r, a*rest)
 *     fma(fma(-q, b, a), r, q)
 *
 * q is off by hardly more than half a unit, the remainder is exact, and by Markstein's theorem
 * (less than a unit, r to nearest) the last step rounds right, as long as nothing overflows and no
 * remainder underflows: for a of 0 or 2^-60 to 2^60 and b of 2^-24 to 2^60. There a*rest may be
 * subnormal and lose 2^-150, a 128th of a unit at most. */
#include "codegen/cuda/cuda_inner.h"

/* ---- which quotients ------------------------------------------------------------------------- */

/* A quotient by a value of the row that this slice computes. */
static bool is_quotient(const fc_cuda_gen *g, fc_val v) {
    return g->need[v] && !g->done[v] && g->hold[v] != FC_CUDA_HELD &&
           fc_cuda_divides_by_row(&g->t, v);
}

static bool any_quotient(const fc_cuda_gen *g) {
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (is_quotient(g, v)) return true;
    return false;
}

/* Only where stores need no other thread; without a gang memory is the limit, and a second pass
 * would only be compiled. */
static bool divides_twice(const fc_cuda_inner *in) {
    const fc_cuda_gen *g = in->g;
    if (!in->gang || (!g->cls->aligned && in->apart == 1)) return false;
    return any_quotient(g);
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* Whether none of the quotients was too far from 1 for the short way. */
static void test_quotients(fc_cuda_gen *g) {
    fc_cuda_text *t = &g->t;
    fc_cuda_indent(t);
    fc_str_add(t->out, "if (!(fc_near_ones(most, least)");
    for (fc_val v = 0; v < t->code->ins.len; v++) {
        if (!is_quotient(g, v)) continue;
        fc_str_add(t->out, " && fc_near_one(");
        fc_cuda_operand(t, t->code->ins.at[v].b);
        fc_str_char(t->out, ')');
    }
    fc_str_add(t->out, ")) {\n");
    t->depth++;
}

void fc_inner_store(const fc_cuda_inner *in, void (*pass)(const fc_cuda_inner *in)) {
    fc_cuda_text *t = &in->g->t;
    if (!divides_twice(in)) {
        pass(in);
        return;
    }
    fc_cuda_line(t, "unsigned int most = 0, least = ~0u;");
    t->by_row = "fc_div_by_row($a, $b, most, least)";
    pass(in);
    test_quotients(in->g);
    t->by_row = "fc_far_div($a, $b)";
    pass(in);
    fc_cuda_line(t, "}");
    t->by_row = NULL;
}
