/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_print_loop.c - graphs with loops as text: what was printed reads as a graph that prints the
 * same, in whatever order the graph was made and whatever the condition takes. */
#include <string.h>

#include "ir/graph.h"
#include "ir/loop.h"
#include "tests/support/fuzz_text.h"
#include "tests/support/test.h"

static void agrees(const fc_graph *g) {
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    FC_EXPECT_OK(g->error.code, &g->error);
    if (!g->error.code && !fuzz_text_agrees(g, &why)) FC_FAIL("%s", why.data);
    fc_str_free(&why);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static fc_node number(fc_graph *g, int64_t v) {
    return fc_build_const(g, FUSEC_I64, (uint64_t)v);
}

static fc_node op(fc_graph *g, fc_op f, fc_node a, fc_node b) {
    return fc_build_op(g, f, a, b, FC_NONODE);
}

/* for k in 0..9 while a*k < b + k { x = ... }, with a and b of the condition and others of the body
 * as operands of one sum; `order` says which are made first. */
static void shared(uint32_t order) {
    fc_graph g;
    fc_node v[4] = {FC_NONODE, FC_NONODE, FC_NONODE, FC_NONODE}, out;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_node x = fc_build_input(&g, "x", FUSEC_I64, 0, NULL);
    const fc_node hole = fc_build_hole(&g, FUSEC_I64, 0, NULL),
                  k = fc_build_hole(&g, FUSEC_I64, 0, NULL);
    for (uint32_t i = 0; i < 4; i++) switch ((order + i * (order & 4 ? 3 : 1)) & 3) {
        case 0: v[0] = op(&g, FC_OP_mul, hole, k); break;             /* of the condition */
        case 1: v[1] = op(&g, FC_OP_add, hole, number(&g, 5)); break; /* of the condition */
        case 2: v[2] = op(&g, FC_OP_sub, hole, x); break;             /* of the body */
        case 3: v[3] = op(&g, FC_OP_maximum, hole, number(&g, 7)); break;
        }
    const fc_node less = op(&g, FC_OP_lt, v[0], v[1]);
    fc_node next =
        op(&g, FC_OP_add, op(&g, FC_OP_minimum, v[0], v[2]), op(&g, FC_OP_mul, v[1], v[3]));
    next = op(&g, FC_OP_bit_xor, next, op(&g, FC_OP_add, v[2], v[3]));
    next = fc_build_op(&g, FC_OP_where, less, next, op(&g, FC_OP_minimum, v[1], v[2]));
    const fc_loop_parts p = {.first = number(&g, 0),
                             .end = number(&g, 9),
                             .counter = k,
                             .condition = less,
                             .ncarried = 1,
                             .start = &x,
                             .hole = &hole,
                             .next = &next};
    FC_EXPECT_TRUE(fc_build_loop(&g, &p, &out));
    fc_build_output(&g, "y", out);
    agrees(&g);
    fc_graph_free(&g);
}

FC_TEST(print_loop, what_a_condition_shares_with_the_body) {
    for (uint32_t order = 0; order < 8; order++) shared(order);
}

/* ---- conditions that take statements --------------------------------------------------------- */

static void reads(const char *text) {
    fc_graph g;
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    if (fuzz_text_read("f.fuse", text, &g, &why))
        agrees(&g);
    else
        FC_FAIL("%s", why.data);
    fc_graph_free(&g);
    fc_str_free(&why);
}

FC_TEST(print_loop, a_loop_in_a_condition) {
    reads("def g(x, n) {\n s = x\n for k in 0..i64(x[0]) { s = s*0.5 + f32(k + n) }\n return s\n}\n"
          "export def f(x: f32[n], m: dim) -> f32[n] {\n t = x\n"
          "for k in 0..40 while sum(g(t, m)) < f32(k) { t = flip(t, axis=0) + sum(g(t, m)) }\n"
          "return t\n}\n");
    /* one in the condition of another, inside of a third */
    reads("def g(x) {\n s = x\n for k in 0..i64(x) { s = s*0.5 + f32(k) }\n return s\n}\n"
          "def h(x) {\n s = x\n for k in 0..i64(x) while g(s) < x { s = s*0.5 + f32(k) }\n return "
          "s\n}\n"
          "export def f(x: f32, n: i64) -> f32 {\n t = x\n for j in 0..n {\n"
          "for k in 0..n while h(t) < x { t = t + h(t) + g(x) }\n}\nreturn t\n}\n");
}

FC_TEST(print_loop, a_definition_in_a_condition) {
    reads("def add(a: f32, b: f32) -> f32 = a + b*0.5\n"
          "export def f(x: f32[n]) -> f32[n] {\n t = x\n"
          "for k in 0..2000 while reduce(add, 0.0, t) < f32(n) { t = flip(t, axis=0) + x }\n"
          "return t\n}\n");
}

/* In place it would be a text of 2^60 names. */
FC_TEST(print_loop, a_condition_of_values_with_many_uses) {
    fc_graph g;
    fc_node out;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fc_node x = fc_build_input(&g, "x", FUSEC_I64, 0, NULL),
                  hole = fc_build_hole(&g, FUSEC_I64, 0, NULL);
    fc_node wide = op(&g, FC_OP_mul, hole, hole);
    for (int i = 0; i < 60; i++)
        wide = op(&g, FC_OP_bit_xor, op(&g, FC_OP_add, wide, number(&g, 3)),
                  op(&g, FC_OP_mul, wide, number(&g, 5)));
    const fc_node next = op(&g, FC_OP_add, hole, number(&g, 1));
    const fc_loop_parts p = {.first = number(&g, 0),
                             .end = number(&g, 9),
                             .counter = FC_NONODE,
                             .condition = op(&g, FC_OP_lt, wide, x),
                             .ncarried = 1,
                             .start = &x,
                             .hole = &hole,
                             .next = &next};
    FC_EXPECT_TRUE(fc_build_loop(&g, &p, &out));
    fc_build_output(&g, "y", out);
    agrees(&g);
    fc_graph_free(&g);
}
