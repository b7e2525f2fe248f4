/* test_index.c - reads at indices: what the builders make of them, and that a broken one is found.
 */
#include "tests/support/test.h"

#include "ir/graph.h"
#include "passes/plan.h"

typedef struct box {
    fc_graph g;
    fc_dim n, m;
    fc_node x; /* f32[n, m] */
} box;

static void open_box(box *b) {
    fc_graph_init(&b->g, &fc_libc_alloc, NULL);
    b->n = fc_dim_named(&b->g.dims, "n");
    b->m = fc_dim_named(&b->g.dims, "m");
    b->x = fc_build_input(&b->g, "x", FUSEC_F32, 2, (fc_dim[]){b->n, b->m});
}

static fc_dim c(box *b, int64_t v) {
    return fc_dim_const(&b->g.dims, v);
}

static void expect_text(box *b, const char *text) {
    fc_error e = {0};
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    FC_EXPECT_OK(fc_graph_verify(&b->g, &e), &e);
    fc_graph_print(&b->g, &s);
    FC_EXPECT_STREQ(s.data, text);
    fc_str_free(&s);
    fc_graph_free(&b->g);
}

/* x[k, i, 2*j + 1] without its mode: slices, a permutation, a broadcast. */
FC_TEST(index, plain_views_are_the_spelled_ones) {
    box b;
    open_box(&b);
    const int64_t row[] = {0, 1, 0}, column[] = {2, 0, 0};
    const fc_dim half = fc_dim_floordiv(&b.g.dims, b.m, c(&b, 2));
    const fc_view_axis axes[] = {{c(&b, 0), FC_EDGE_NONE, row}, {c(&b, 0), FC_EDGE_NONE, column}};
    fc_node v = fc_build_view(&b.g, b.x, 3, (fc_dim[]){half, b.n, c(&b, 4)}, axes);
    fc_build_output(&b.g, "y", v);
    expect_text(&b, "%0 = input x : f32[n, m]\n"
                    "%1 = slice %0 [0:1:n, 0:2:m//2] : f32[n, m//2]\n"
                    "%2 = permute %1 (1, 0) : f32[m//2, n]\n"
                    "%3 = reshape %2 : f32[m//2, n, 1]\n"
                    "%4 = broadcast %3 : f32[m//2, n, 4]\n"
                    "output y = %4\n");
}

/* A mode that is never needed is dropped; windows and modes that are stay. */
FC_TEST(index, general_views_keep_what_they_need) {
    box b;
    open_box(&b);
    const int64_t i[] = {1, 0}, j[] = {0, 1}, both[] = {1, 1};
    const fc_dim one = c(&b, 1), zero = c(&b, 0), minus = c(&b, -1);
    const fc_view_axis same[] = {{zero, FC_EDGE_WRAP, i}, {zero, FC_EDGE_ZERO, j}};
    const fc_view_axis moved[] = {{minus, FC_EDGE_WRAP, i}, {one, FC_EDGE_NONE, j}};
    const fc_view_axis window[] = {{zero, FC_EDGE_NONE, both}, {zero, FC_EDGE_NONE, NULL}};
    const fc_dim shape[] = {b.n, b.m}, less[] = {b.n, fc_dim_sub(&b.g.dims, b.m, one)},
                 k[] = {fc_dim_sub(&b.g.dims, b.n, c(&b, 2)), c(&b, 3)};
    FC_EXPECT_EQ_I64(fc_build_view(&b.g, b.x, 2, shape, same), b.x);
    fc_build_output(&b.g, "a", fc_build_view(&b.g, b.x, 2, less, moved));
    fc_build_output(&b.g, "b", fc_build_view(&b.g, b.x, 2, k, window));
    expect_text(&b, "%0 = input x : f32[n, m]\n"
                    "%1 = view %0 [-1 + 1*i0 wrap, 1 + 1*i1] : f32[n, m - 1]\n"
                    "%2 = view %0 [0 + 1*i0 + 1*i1, 0] : f32[n - 2, 3]\n"
                    "output a = %1\noutput b = %2\n");
}

FC_TEST(index, views_outside_are_refused_or_tested_at_the_call) {
    box b;
    open_box(&b);
    const int64_t i[] = {1}, none[] = {0};
    const fc_view_axis low[] = {{c(&b, -1), FC_EDGE_NONE, i}, {c(&b, 0), FC_EDGE_NONE, none}};
    FC_EXPECT_EQ_I64(fc_build_view(&b.g, b.x, 1, &b.n, low), FC_NONODE);
    FC_EXPECT_STATUS(b.g.error.code, FUSEC_SLICE_RANGE, &b.g.error);
    fc_graph_free(&b.g);
    open_box(&b);
    const fc_view_axis cross[] = {{c(&b, 0), FC_EDGE_NONE, i}, {c(&b, 0), FC_EDGE_NONE, i}};
    FC_EXPECT_NE_I64(fc_build_view(&b.g, b.x, 1, &b.n, cross), FC_NONODE); /* the diagonal */
    FC_EXPECT_EQ_I64((int64_t)b.g.conditions.len, 1);                      /* n <= m */
    fc_graph_free(&b.g);
}

FC_TEST(index, equal_checks_are_one) {
    box b;
    open_box(&b);
    fc_node k = fc_build_input(&b.g, "k", FUSEC_I32, 1, &b.m);
    fc_node x = fc_build_check(&b.g, k, b.n), y = fc_build_check(&b.g, k, b.n);
    fc_check_words(&b.g, x, &(fc_words){.access = "t[k]"});
    fc_check_words(&b.g, y, &(fc_words){.access = "u[k]"});
    fc_node z = fc_build_check(&b.g, k, b.n);
    FC_EXPECT_EQ_I64(x, y);
    FC_EXPECT_EQ_I64(x, z);
    FC_EXPECT_EQ_I64(fc_build_check(&b.g, x, b.n), x);
    FC_EXPECT_EQ_I64((int64_t)b.g.words.len, 1);
    FC_EXPECT_STREQ(b.g.words.at[fc_at(&b.g, x)->words - 1].access, "t[k]");
    fc_build_output(&b.g, "y", fc_build_gather(&b.g, b.x, x, 0, false));
    expect_text(&b, "%0 = input x : f32[n, m]\n"
                    "%1 = input k : i32[m]\n"
                    "%2 = cast %1 : i64[m]\n"
                    "%3 = check %2 in n : i64[m]\n"
                    "%4 = reshape %3 : i64[m, 1]\n"
                    "%5 = broadcast %4 : i64[m, m]\n"
                    "%6 = take %0, %5 axis 0 : f32[m, m]\n"
                    "output y = %6\n");
}

static void expect_broken(box *b, const char *why) {
    fc_error e = {0};
    FC_EXPECT_STATUS(fc_graph_verify(&b->g, &e), FUSEC_INTERNAL, &e);
    FC_EXPECT_CONTAINS(e.message, why);
}

FC_TEST(index, verify_finds_broken_reads) {
    box b;
    open_box(&b);
    const int64_t i[] = {1, 0}, j[] = {0, 1};
    const fc_view_axis axes[] = {{c(&b, 1), FC_EDGE_WRAP, i}, {c(&b, 1), FC_EDGE_EDGE, j}};
    fc_node v = fc_build_view(&b.g, b.x, 2, (fc_dim[]){b.n, b.m}, axes);
    fc_node k =
        fc_build_check(&b.g, fc_build_input(&b.g, "k", FUSEC_I64, 2, (fc_dim[]){b.n, b.m}), b.n);
    fc_node t = fc_build_take(&b.g, b.x, k, 0);
    const fc_ninfo view = *fc_at(&b.g, v), take = *fc_at(&b.g, t), check = *fc_at(&b.g, k);
    fc_error e = {0};
    FC_EXPECT_OK(fc_graph_verify(&b.g, &e), &e);
    b.g.nodes.at[v].attr = 0;
    expect_broken(&b, "another rank");
    int64_t list[9];
    memcpy(list, fc_list_at(&b.g, (fc_list)view.attr), sizeof list);
    list[2] = FC_EDGE_COUNT;
    b.g.nodes.at[v].attr = fc_intern_list(&b.g, list, 9);
    expect_broken(&b, "edge mode");
    list[2] = 0;
    list[1] = 1000;
    b.g.nodes.at[v].attr = fc_intern_list(&b.g, list, 9);
    expect_broken(&b, "does not exist");
    b.g.nodes.at[v] = view;
    b.g.nodes.at[t].attr = 2;
    expect_broken(&b, "axis it lacks");
    b.g.nodes.at[t] = take;
    b.g.nodes.at[t].dtype = FUSEC_F64;
    expect_broken(&b, "dtype");
    b.g.nodes.at[t] = take;
    b.g.nodes.at[t].src[1] = b.x;
    expect_broken(&b, "not i64");
    b.g.nodes.at[t] = take;
    b.g.nodes.at[k].attr = 1000;
    expect_broken(&b, "size that does not exist");
    b.g.nodes.at[k] = check;
    b.g.nodes.at[k].words = 7;
    expect_broken(&b, "words");
    fc_graph_free(&b.g);
}
