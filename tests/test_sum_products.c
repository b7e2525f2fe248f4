/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sum_products.c - sums of products of spread factors: which become contractions, in which
 * mode, and that they are the same sums. Elements are small integers, of which every order of
 * summation makes the same bits. */
#include "passes/plan.h"
#include "passes/rewrite.h"
#include "tests/support/gb.h"
#include "tests/support/langbox.h"
#include "tests/support/oracle_run.h"
#include "tests/support/test.h"

#include <stdio.h>

enum { BOTH = FC_MODE_REASSOC | FC_MODE_CONTRACT };

/* `g` after the passes that simplify it and put its views together. */
static bool simplified(const fc_graph *g, uint32_t mode, fc_graph *out) {
    fc_error e = {0};
    fc_graph mid;
    const fc_pass_options o = {.mode = mode};
    fusec_status s = fc_pass_simplify(g, &o, &mid, &e);
    if (!s) {
        s = fc_pass_sink_reshape(&mid, &o, out, &e);
        fc_graph_free(&mid);
    }
    FC_EXPECT_OK(s, &e);
    if (!s) FC_EXPECT_OK(fc_graph_verify(out, &e), &e);
    return !s;
}

/* ---- spellings --------------------------------------------------------------------------------
 */

/* The graph of "a op b" with sizes by name, after the pass; to be freed. */
static fc_str graph_of(fusec_dtype t, uint32_t mode,
                       fc_node (*make)(fc_graph *g, fc_node a, fc_node b)) {
    fc_graph g, out;
    fc_str s;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_str_init(&s, &fc_libc_alloc);
    const fc_node a = gbin(&g, "a", t, 2, gbd(&g, "n"), gbd(&g, "k"), 0),
                  b = gbin(&g, "b", t, 2, gbd(&g, "k"), gbd(&g, "m"), 0);
    fc_build_output(&g, "out", make(&g, a, b));
    FC_EXPECT_STATUS(g.error.code, FUSEC_OK, &g.error);
    if (!g.error.code && simplified(&g, mode, &out)) {
        fc_graph_print(&out, &s);
        fc_graph_free(&out);
    }
    fc_graph_free(&g);
    return s;
}

static fc_node with_axis(fc_graph *g, fc_node a, uint32_t axis) {
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0, at = 0; i <= fc_rank(g, a); i++)
        shape[i] = i == axis ? fc_dim_const(&g->dims, 1) : fc_axis(g, a, at++);
    return fc_build_reshape(g, a, fc_rank(g, a) + 1, shape);
}
static fc_node product(fc_graph *g, fc_node a, fc_node b) {
    return fc_build_matmul(g, a, b);
}
static fc_node spread(fc_graph *g, fc_node a, fc_node b) {
    return gbred(g, FC_OP_sum, gb2(g, FC_OP_mul, with_axis(g, a, 2), with_axis(g, b, 0)), 1, false);
}
static fc_node spread_right_first(fc_graph *g, fc_node a, fc_node b) {
    return gbred(g, FC_OP_sum, gb2(g, FC_OP_mul, b, with_axis(g, a, 2)), 1, false);
}
static fc_node spread_turned(fc_graph *g, fc_node a, fc_node b) {
    const fc_node t = fc_build_permute(g, b, (const int64_t[]){1, 0});
    return gbred(g, FC_OP_sum, gb2(g, FC_OP_mul, with_axis(g, a, 1), t), 2, false);
}
static fc_node scaled(fc_graph *g, fc_node a, fc_node b) {
    const fc_node t = with_axis(g, a, 2);
    return gbred(g, FC_OP_sum, gb2(g, FC_OP_mul, gb2(g, FC_OP_sub, t, gbn(g, t, 3)), b), 1, false);
}
static fc_node scaled_before(fc_graph *g, fc_node a, fc_node b) {
    return fc_build_matmul(g, gb2(g, FC_OP_sub, a, gbn(g, a, 3)), b);
}
static fc_node row_by_matrix(fc_graph *g, fc_node a, fc_node b) {
    (void)a;
    return gbred(g, FC_OP_sum, gb2(g, FC_OP_mul, b, b), 0, false);
}
static fc_node difference(fc_graph *g, fc_node a, fc_node b) {
    return gbred(g, FC_OP_sum, gb2(g, FC_OP_sub, with_axis(g, a, 2), b), 1, false);
}

static void expect(fusec_dtype t, uint32_t mode, fc_node (*make)(fc_graph *, fc_node, fc_node),
                   const char *has) {
    fc_str s = graph_of(t, mode, make);
    FC_EXPECT_TRUE(s.data && strstr(s.data, has));
    fc_str_free(&s);
}

FC_TEST(sum_products, spellings_are_one_product) {
    static fc_node (*const same[])(fc_graph *, fc_node, fc_node) = {spread, spread_right_first,
                                                                    spread_turned};
    static const fusec_dtype types[] = {FUSEC_F32, FUSEC_BF16, FUSEC_F64, FUSEC_I64};
    for (size_t t = 0; t < FC_COUNT(types); t++) {
        fc_str want = graph_of(types[t], BOTH, product);
        for (size_t i = 0; i < FC_COUNT(same); i++) {
            fc_str got = graph_of(types[t], BOTH, same[i]);
            if (same[i] == spread) FC_EXPECT_STREQ(got.data, want.data);
            FC_EXPECT_TRUE(strstr(got.data, " dot : ") &&
                           strstr(got.data, "[n, m]\noutput out = %6"));
            FC_EXPECT_TRUE(!strstr(got.data, "mul") && !strstr(got.data, "sum"));
            fc_str_free(&got);
        }
        fc_str_free(&want);
    }
    expect(FUSEC_F32, BOTH, scaled, "[n, m]\noutput out = ");
    expect(FUSEC_F32, BOTH, scaled_before, "[n, m]\noutput out = ");
}

FC_TEST(sum_products, a_mode_has_to_allow_it) {
    expect(FUSEC_F32, 0, spread, "sum");
    expect(FUSEC_F32, FC_MODE_REASSOC, spread, "sum");
    expect(FUSEC_F32, FC_MODE_CONTRACT, spread, "sum");
    expect(FUSEC_I64, 0, spread, "dot");
    expect(FUSEC_I32, BOTH, spread, "sum"); /* its products wrap before they are widened */
    expect(FUSEC_F32, BOTH, row_by_matrix, "sum");
    expect(FUSEC_F32, BOTH, difference, "sum");
}

FC_TEST(sum_products, a_sum_that_could_be_a_product_says_so) {
    for (uint32_t mode = 0; mode <= BOTH; mode += BOTH) {
        fc_error e = {0};
        fc_plan *p = NULL;
        fc_graph g;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        const fc_node a = gbin(&g, "a", FUSEC_F32, 2, gbd(&g, "n"), gbd(&g, "k"), 0),
                      b = gbin(&g, "b", FUSEC_F32, 2, gbd(&g, "k"), gbd(&g, "m"), 0);
        fc_build_output(&g, "out", gb1(&g, FC_OP_exp, spread(&g, a, b)));
        FC_EXPECT_OK(fc_plan_build(&g, &(fc_pass_options){.mode = mode, .verify = true}, &p, &e),
                     &e);
        if (p) FC_EXPECT_EQ_I64(p->steps.len, 1);
        if (p) FC_EXPECT_EQ_I64(strstr(p->steps.at[0]->note, "contraction") != NULL, mode == 0);
        fc_plan_free(p);
        fc_graph_free(&g);
    }
}

/* ---- random factors ----------------------------------------------------------------------------
 */

enum { RANK = 4, FACTORS = 4 };
static const int64_t size_of[RANK] = {9, 3, 10, 4};

/* An input with some axes of the domain, in any order, spread over all of them. */
static fc_node random_factor(fc_graph *g, fusec_dtype t, int number, fc_rng *r, uint32_t axes) {
    fc_dim own[RANK], shape[RANK];
    int64_t turned[RANK], back[RANK];
    uint32_t n = 0;
    char name[] = {(char)('a' + number), 0};
    for (uint32_t i = 0; i < RANK; i++)
        if (axes >> i & 1) turned[n++] = i;
    for (uint32_t i = n; i > 1; i--) { /* shuffled */
        const uint32_t k = (uint32_t)fc_below(r, i);
        const int64_t x = turned[i - 1];
        turned[i - 1] = turned[k];
        turned[k] = x;
    }
    for (uint32_t i = 0; i < n; i++) own[i] = fc_dim_const(&g->dims, size_of[turned[i]]);
    fc_node x = fc_build_input(g, name, t, n, own);
    for (uint32_t i = 0, at = 0; i < RANK; i++) {
        shape[i] = fc_dim_const(&g->dims, axes >> i & 1 ? size_of[i] : 1);
        for (uint32_t k = 0; k < n; k++)
            if (turned[k] == i) back[at++] = k;
    }
    x = fc_build_reshape(g, fc_build_permute(g, x, back), RANK, shape);
    return fc_below(r, 3) ? x : gb2(g, FC_OP_add, x, gbn(g, x, 2)); /* integers stay small */
}

/* What the header of passes/sum_products.c says, by another way: some factor is of the left side,
 * another of the right one. */
static bool has_sides(const uint32_t *axes, uint32_t n, uint32_t summed) {
    uint32_t left = 0, right = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!(left & ~summed) || !(axes[i] & ~summed & ~left))
            left |= axes[i];
        else
            right |= axes[i];
    }
    return (left & ~right & ~summed) && (right & ~left & ~summed) && (left & right & summed) &&
           ((left | right) & summed) == summed;
}

static void expect_equal(const fc_graph *g, const fc_graph *h) {
    fc_oracle of, o, p;
    fc_arrays in;
    fc_rng r = {5};
    const void *data[FACTORS];
    const int64_t syms[1] = {0};
    fc_oracle_sizes(&of, g, syms);
    fc_arrays_for(&in, g, &of, false);
    for (uint32_t i = 0; i < in.n; i++) {
        for (int64_t k = 0; k < fc_array_count(&in.t[i]); k++)
            fc_oracle_store(in.t[i].dtype, in.t[i].data, k,
                            fc_o_cast(FUSEC_I64, in.t[i].dtype, fc_below(&r, 7) - 3));
        data[i] = in.t[i].data;
    }
    fc_oracle_run(&o, g, syms, data);
    fc_oracle_run(&p, h, syms, data);
    const fc_oarray *x = &o.node[g->outputs.at[0].node], *y = &p.node[h->outputs.at[0].node];
    FC_EXPECT_EQ_I64(x->count, y->count);
    FC_EXPECT_EQ_I64(x->rank, y->rank);
    for (int64_t i = 0; i < x->count && x->count == y->count; i++) {
        const bool same =
            fc_is_float(x->dtype) ? x->at[i].r.lo == y->at[i].r.lo : x->at[i].bits == y->at[i].bits;
        if (same) continue;
        FC_FAIL("element %d differs", (int)i);
        break;
    }
    fc_arrays_free(&in);
    fc_oracle_free(&o);
    fc_oracle_free(&p);
    fc_oracle_free(&of);
}

static bool random_case(uint64_t seed) {
    fc_rng r = {seed};
    fc_graph g, h;
    uint32_t axes[FACTORS], summed = 0;
    int64_t list[RANK];
    uint32_t nlist = 0;
    const fusec_dtype t = fc_below(&r, 2) ? FUSEC_F32 : FUSEC_I64;
    const uint32_t n = fc_below(&r, 2) ? 2 : 2 + (uint32_t)fc_below(&r, FACTORS - 1);
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_node x = FC_NONODE, factor;
    for (uint32_t i = 0; i < n; i++) axes[i] = 0;
    for (uint32_t i = 0; i < RANK;
         i++) { /* the left factor's, the right one's, or of both; or any */
        const uint32_t of = (uint32_t)fc_below(&r, 5);
        if (of > 1) summed |= (of > 2 ? 1u : 0u) << i;
        for (uint32_t k = 0; k < n; k++)
            axes[k] |= (of < 2 && k < 2 && fc_below(&r, 8) ? k == of : fc_below(&r, 4) > 0) << i;
    }
    if (!summed) summed = 1;
    for (uint32_t i = 0; i < RANK; i++)
        if (summed >> i & 1) list[nlist++] = i;
    for (uint32_t i = 0; i < n; i++) {
        factor = random_factor(&g, t, (int)i, &r, axes[i]);
        x = i ? gb2(&g, FC_OP_mul, x, factor) : factor;
    }
    uint32_t has = 0;
    for (uint32_t i = 0; i < n; i++) has |= axes[i];
    fc_build_output(&g, "out", fc_build_reduce(&g, FC_OP_sum, x, nlist, list, fc_below(&r, 2)));
    bool dot = false;
    if (simplified(&g, BOTH, &h)) {
        dot = fc_graph_has(&h, FC_OP_dot);
        /* the order of factors is the graph's own, so the sides may be other ones */
        int64_t terms = 1;
        for (uint32_t i = 0; i < nlist; i++) terms *= size_of[list[i]];
        if (n == 2)
            FC_EXPECT_EQ_I64(dot, has_sides(axes, n, summed & has) && (summed & has) == summed &&
                                      terms > 8);
        expect_equal(&g, &h);
        fc_graph_free(&h);
    }
    fc_graph_free(&g);
    return dot;
}

FC_TEST(sum_products, random_factors_have_the_same_sums) {
    int dots = 0;
    enum { CASES = 400 };
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        FC_TRACE("seed %d", (int)seed);
        dots += random_case(seed);
        FC_UNTRACE();
    }
    FC_EXPECT_TRUE(dots > CASES / 20);
    FC_EXPECT_TRUE(dots < CASES);
}
