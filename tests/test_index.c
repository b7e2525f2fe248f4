/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_index.c - reads at indices: what the builders make of them, and that a broken one is found.
 */
#include "tests/support/test.h"

#include <stdio.h>

#include <fusec/fusec.h>

#include "passes/plan.h"
#include "tests/support/gb.h"
#include "tests/support/kernels.h"
#include "tests/support/program_fixture.h"

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
    b.g.nodes.at[k].attr = 0;
    expect_broken(&b, "no size");
    list[0] = 1000;
    b.g.nodes.at[k].attr = fc_intern_list(&b.g, list, 1);
    expect_broken(&b, "size that does not exist");
    b.g.nodes.at[k] = check;
    b.g.nodes.at[k].words = 7;
    expect_broken(&b, "words");
    fc_graph_free(&b.g);
}

/* ---- indices outside ---------------------------------------------------------------------------
 */

static const char *const device_names[] = {"interp", "cpu", "cuda"};

#define EACH_DEVICE(f)                                                                             \
    for (size_t dev_ = 0; dev_ < FC_COUNT(device_names); dev_++)                                   \
        if (fc_fixture_open(&(f), device_names[dev_]))

/* t[k] * 2 with t[n, 4], k[m, 3] */
static void build_lookup(fc_graph *g, bool words) {
    fc_node t = gbin(g, "t", FUSEC_F32, 2, gbd(g, "n"), fc_dim_const(&g->dims, 4), 0);
    fc_node k = gbin(g, "k", FUSEC_I32, 2, gbd(g, "m"), fc_dim_const(&g->dims, 3), 0);
    fc_node c = fc_build_check(g, k, gbd(g, "n"));
    if (words) fc_check_words(g, c, &(fc_words){"t[k]", "k", "axis 0 of t", "lookup.fuse:6:17"});
    fc_node r = fc_build_gather(g, t, c, 0, false);
    fc_build_output(g, "y", gb2(g, FC_OP_mul, r, gbn(g, r, 2)));
}

typedef struct lookup {
    float t[10 * 4], y[37 * 3 * 4];
    int32_t k[37 * 3];
} lookup;

static fusec_status run_lookup(fc_fixture *f, fc_program *p, lookup *d, int64_t m) {
    const int64_t st[] = {10, 4}, sk[] = {m, 3}, sy[] = {m, 3, 4};
    const fc_tensor in[] = {{.dtype = FUSEC_F32, .rank = 2, .shape = st, .data = d->t},
                            {.dtype = FUSEC_I32, .rank = 2, .shape = sk, .data = d->k}};
    fc_tensor out = {.dtype = FUSEC_F32, .rank = 3, .shape = sy, .data = d->y};
    memset(&f->e, 0, sizeof f->e);
    return fc_program_run(p, NULL, 2, in, 0, NULL, 1, &out, &f->e);
}

static void fill_lookup(lookup *d) {
    for (int i = 0; i < 40; i++) d->t[i] = (float)i;
    for (int i = 0; i < 37 * 3; i++) d->k[i] = (i * 7) % 10;
}

FC_TEST(index, one_bad_index_at_every_place_is_found) {
    static const int32_t bad[] = {10, -1, INT32_MAX, INT32_MIN, 1000};
    static lookup d;
    fc_fixture f;
    EACH_DEVICE(f) {
        build_lookup(&f.g, true);
        fc_program *p = fc_fixture_compile(&f);
        fill_lookup(&d);
        FC_EXPECT_OK(run_lookup(&f, p, &d, 37), &f.e);
        for (int i = 0; i < 37 * 12; i++) FC_EXPECT_EQ_F64(d.y[i], 2 * d.t[d.k[i / 4] * 4 + i % 4]);
        for (int i = 0; i < 37 * 3; i++) {
            char text[160];
            const int32_t old = d.k[i], v = bad[i % 5];
            d.k[i] = v;
            if (i % 2) d.k[36 * 3 + 2] = 77; /* another one behind it */
            FC_EXPECT_STATUS(run_lookup(&f, p, &d, 37), FUSEC_INDEX_OUT_OF_RANGE, &f.e);
            snprintf(text, sizeof text,
                     "lookup.fuse:6:17: an index of `t[k]` is outside: k[%d, %d] is %d%s, axis 0 "
                     "of t has 10 elements",
                     i / 3, i % 3, (int)v,
                     v == INT32_MAX   ? " or more"
                     : v == INT32_MIN ? " or less"
                                      : "");
            if (i < 36 * 3 + 2) FC_EXPECT_STREQ(f.e.message, text);
            d.k[36 * 3 + 2] = 1;
            d.k[i] = old;
        }
        FC_EXPECT_OK(run_lookup(&f, p, &d, 37), &f.e); /* nothing of it stays */
        fc_fixture_close(&f, p);
    }
}

/* Elements that are all the same are not read, and their indices are checked as those of others. */
FC_TEST(index, an_array_of_one_value_has_a_length_too) {
    fc_fixture f;
    EACH_DEVICE(f) {
        const fc_dim n = fc_dim_const(&f.g.dims, 4), three = fc_dim_const(&f.g.dims, 3);
        const fc_node k = fc_build_input(&f.g, "k", FUSEC_I64, 1, &n),
                      ones = fc_build_broadcast(&f.g, fc_build_const(&f.g, FUSEC_F32, 0x3f800000),
                                                1, &three);
        fc_build_output(&f.g, "y", fc_build_take(&f.g, ones, fc_build_check(&f.g, k, three), 0));
        fc_program *p = fc_fixture_compile(&f);
        const int64_t shape = 4;
        int64_t at[4] = {0, 1, 2, 1};
        float y[4];
        fc_tensor in = {.dtype = FUSEC_I64, .rank = 1, .shape = &shape, .data = at},
                  out = {.dtype = FUSEC_F32, .rank = 1, .shape = &shape, .data = y};
        FC_EXPECT_OK(fc_program_run(p, NULL, 1, &in, 0, NULL, 1, &out, &f.e), &f.e);
        for (int i = 0; i < 4; i++) FC_EXPECT_EQ_F64((double)y[i], 1);
        at[2] = 3;
        FC_EXPECT_STATUS(fc_program_run(p, NULL, 1, &in, 0, NULL, 1, &out, &f.e),
                         FUSEC_INDEX_OUT_OF_RANGE, &f.e);
        fc_fixture_close(&f, p);
    }
}

FC_TEST(index, what_is_not_named_is_told_in_general_words) {
    static lookup d;
    fc_fixture f;
    EACH_DEVICE(f) {
        build_lookup(&f.g, false);
        fc_program *p = fc_fixture_compile(&f);
        fill_lookup(&d);
        d.k[5] = 12;
        FC_EXPECT_STATUS(run_lookup(&f, p, &d, 5), FUSEC_INDEX_OUT_OF_RANGE, &f.e);
        FC_EXPECT_STREQ(f.e.message, "an index is outside: the index at [1, 2] is 12, the axis it "
                                     "is for has 10 elements");
        fc_fixture_close(&f, p);
    }
}

/* The table is every second column of a larger one: a computed element does not walk its strides.
 */
FC_TEST(index, tables_with_strides) {
    static lookup d;
    static float large[10 * 8];
    fc_fixture f;
    EACH_DEVICE(f) {
        build_lookup(&f.g, false);
        fc_program *p = fc_fixture_compile(&f);
        fill_lookup(&d);
        for (int i = 0; i < 80; i++) large[i] = i % 2 ? -1.0f : d.t[i / 2];
        const int64_t st[] = {10, 4}, sk[] = {37, 3}, sy[] = {37, 3, 4}, by[] = {8, 2};
        const fc_tensor in[] = {
            {.dtype = FUSEC_F32, .rank = 2, .shape = st, .data = large, .strides = by},
            {.dtype = FUSEC_I32, .rank = 2, .shape = sk, .data = d.k}};
        fc_tensor out = {.dtype = FUSEC_F32, .rank = 3, .shape = sy, .data = d.y};
        FC_EXPECT_OK(fc_program_run(p, NULL, 2, in, 0, NULL, 1, &out, &f.e), &f.e);
        for (int i = 0; i < 37 * 12; i++) FC_EXPECT_EQ_F64(d.y[i], 2 * d.t[d.k[i / 4] * 4 + i % 4]);
        fc_fixture_close(&f, p);
    }
}

/* A result may lie on an input only if each element is read where it is written. */
FC_TEST(index, turned_in_place) {
    float x[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int64_t shape[] = {8}, one[] = {1};
    fc_fixture f;
    EACH_DEVICE(f) {
        fc_node in = gbin(&f.g, "x", FUSEC_F32, 1, gbd(&f.g, "n"), 0, 0);
        const fc_view_axis axes[] = {{fc_dim_const(&f.g.dims, -3), FC_EDGE_WRAP, one}};
        const fc_dim n = gbd(&f.g, "n");
        fc_build_output(&f.g, "y", fc_build_view(&f.g, in, 1, &n, axes));
        fc_program *p = fc_fixture_compile(&f);
        for (int i = 0; i < 8; i++) x[i] = (float)i;
        const fc_tensor a = {.dtype = FUSEC_F32, .rank = 1, .shape = shape, .data = x};
        fc_tensor out = a;
        FC_EXPECT_OK(fc_program_run(p, NULL, 1, &a, 0, NULL, 1, &out, &f.e), &f.e);
        for (int i = 0; i < 8; i++) FC_EXPECT_EQ_F64(x[i], (i + 5) % 8);
        fc_fixture_close(&f, p);
    }
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* Checks that are left in the plan of y = t[index] with t f32[n, m], or of another table. */
static size_t checks_of(box *b, fc_node t, fc_node index, uint32_t mode, bool *inside) {
    fc_pass_options o = {.verify = true, .mode = mode};
    fc_plan *p = NULL;
    fc_error e = {0};
    size_t n = 0;
    fc_node c = fc_build_check(&b->g, index, fc_axis(&b->g, t, 0));
    fc_build_output(&b->g, "y", fc_build_gather(&b->g, t, c, 0, false));
    FC_EXPECT_STATUS(b->g.error.code, FUSEC_OK, &b->g.error);
    FC_EXPECT_OK(fc_plan_build(&b->g, &o, &p, &e), &e);
    *inside = false;
    for (size_t i = 0; p && i < p->steps.len; i++) n += p->steps.at[i]->kernel.checks.len;
    for (fc_node k = 0; p && k < p->graph.nodes.len; k++)
        *inside |=
            fc_at(&p->graph, k)->op == FC_OP_TAKE && (fc_at(&p->graph, k)->flags & FC_NODE_INSIDE);
    fc_plan_free(p);
    fc_graph_free(&b->g);
    return n;
}

#define EXPECT_CHECKS(made, table, number)                                                         \
    do {                                                                                           \
        bool inside;                                                                               \
        open_box(&b);                                                                              \
        fc_node table_ = (table), index_ = (made);                                                 \
        FC_EXPECT_EQ_I64((int64_t)checks_of(&b, table_, index_, 0, &inside), number);              \
        FC_EXPECT_TRUE(inside == !(number));                                                       \
    } while (0)

static fc_node bytes(box *b) {
    return fc_build_input(&b->g, "k", FUSEC_U8, 1, (fc_dim[]){fc_dim_named(&b->g.dims, "p")});
}
static fc_node words_of(box *b) {
    return fc_build_input(&b->g, "k", FUSEC_I64, 1, (fc_dim[]){fc_dim_named(&b->g.dims, "p")});
}
static fc_node table(box *b, int64_t n) {
    return fc_build_input(&b->g, "t", FUSEC_F32, 1, (fc_dim[]){c(b, n)});
}
static fc_node num(box *b, int64_t v) {
    return fc_build_const(&b->g, FUSEC_I64, (uint64_t)v);
}

FC_TEST(index, checks_that_are_proved_go) {
    box b;
    fc_graph *g = &b.g;
    EXPECT_CHECKS(words_of(&b), b.x, 1);
    EXPECT_CHECKS(bytes(&b), table(&b, 256), 0);
    EXPECT_CHECKS(bytes(&b), table(&b, 255), 1);
    EXPECT_CHECKS(fc_build_iota(g, b.n), b.x, 0);
    EXPECT_CHECKS(fc_build_iota(g, fc_dim_add(&g->dims, b.n, c(&b, 1))), b.x, 1);
    EXPECT_CHECKS(gb2(g, FC_OP_sub, fc_build_iota(g, b.n), num(&b, 1)), b.x, 1);
    /* repeat: i // 3 with 3*n of them */
    EXPECT_CHECKS(
        gb2(g, FC_OP_floordiv, fc_build_iota(g, fc_dim_mul(&g->dims, b.n, c(&b, 3))), num(&b, 3)),
        b.x, 0);
    EXPECT_CHECKS(gb2(g, FC_OP_mod, words_of(&b), num(&b, 10)), table(&b, 10), 0);
    EXPECT_CHECKS(gb2(g, FC_OP_mod, words_of(&b), num(&b, 11)), table(&b, 10), 1);
    /* of an empty table x % n is outside, too */
    EXPECT_CHECKS(gb2(g, FC_OP_mod, words_of(&b), fc_build_dim(g, b.n)), b.x, 1);
    EXPECT_CHECKS(gb3(g, FC_OP_clip, words_of(&b), num(&b, 0), num(&b, 9)), table(&b, 10), 0);
    EXPECT_CHECKS(gb3(g, FC_OP_clip, words_of(&b), num(&b, 0), num(&b, 10)), table(&b, 10), 1);
    EXPECT_CHECKS(gbred(g, FC_OP_argmax, b.x, 0, false), b.x, 0);
    EXPECT_CHECKS(gbred(g, FC_OP_argmax, b.x, 1, false), b.x, 1);
}

/* Numbers that wrap around are no longer between the ends of what they would be. */
FC_TEST(index, ends_that_wrap_prove_nothing) {
    box b;
    fc_graph *g = &b.g;
    const int64_t large = INT64_C(3) << 60;
    EXPECT_CHECKS(gb2(g, FC_OP_floordiv, gb2(g, FC_OP_mul, fc_build_iota(g, b.n), num(&b, large)),
                      num(&b, large)),
                  b.x, 1);
    EXPECT_CHECKS(
        gb2(g, FC_OP_sub,
            gb2(g, FC_OP_maximum, gb2(g, FC_OP_add, fc_build_iota(g, b.n), num(&b, INT64_MAX - 2)),
                num(&b, INT64_MAX - 3)),
            num(&b, INT64_MAX - 2)),
        b.x, 1);
    EXPECT_CHECKS(gb2(g, FC_OP_sub,
                      gb2(g, FC_OP_add, fc_build_iota(g, b.n), num(&b, INT64_MAX - 2)),
                      num(&b, INT64_MAX - 2)),
                  b.x, 0); /* back where it was */
}

FC_TEST(index, policies) {
    bool inside;
    box b;
    open_box(&b);
    FC_EXPECT_EQ_I64((int64_t)checks_of(&b, b.x, words_of(&b), FC_MODE_CLAMP, &inside), 0);
    FC_EXPECT_FALSE(inside); /* an empty table has no nearest index */
    open_box(&b);
    FC_EXPECT_EQ_I64((int64_t)checks_of(&b, b.x, words_of(&b), FC_MODE_UNCHECKED, &inside), 0);
    FC_EXPECT_TRUE(inside);
}

static fc_node shifted(box *b, fc_node x, int64_t by, fc_edge edge) {
    const int64_t i[] = {1, 0}, j[] = {0, 1};
    const fc_view_axis axes[] = {{c(b, by), edge, i}, {c(b, 0), FC_EDGE_NONE, j}};
    return fc_build_view(&b->g, x, 2, (fc_dim[]){b->n, b->m}, axes);
}

FC_TEST(index, reads_fuse) {
    box b;
    open_box(&b); /* t[k] * scale + bias */
    fc_node k = fc_build_input(&b.g, "k", FUSEC_I32, 1, (fc_dim[]){fc_dim_named(&b.g.dims, "p")});
    fc_node s = fc_build_input(&b.g, "s", FUSEC_F32, 1, &b.m);
    fc_node t = fc_build_gather(&b.g, b.x, fc_build_check(&b.g, k, b.n), 0, false);
    fc_build_output(&b.g, "y", gb2(&b.g, FC_OP_mul, t, s));
    expect_kernels(&b.g, 1);

    open_box(&b); /* b[i - 1] - 2*b[i] + b[i + 1], mode wrap */
    fc_node sides =
        gb2(&b.g, FC_OP_add, shifted(&b, b.x, -1, FC_EDGE_WRAP), shifted(&b, b.x, 1, FC_EDGE_WRAP));
    fc_build_output(&b.g, "y", gb2(&b.g, FC_OP_sub, sides, b.x));
    expect_kernels(&b.g, 1);

    open_box(&b); /* pad(exp(x), mode reflect) */
    const int64_t i[] = {1, 0}, j[] = {0, 1};
    const fc_view_axis pad[] = {{c(&b, -1), FC_EDGE_REFLECT, i}, {c(&b, -1), FC_EDGE_REFLECT, j}};
    const fc_dim two = c(&b, 2);
    const fc_dim larger[] = {fc_dim_add(&b.g.dims, b.n, two), fc_dim_add(&b.g.dims, b.m, two)};
    fc_build_output(&b.g, "y", fc_build_view(&b.g, gb1(&b.g, FC_OP_exp, b.x), 2, larger, pad));
    expect_kernels(&b.g, 1);

    open_box(&b); /* take_along(x, argmax(x, axis=1, keepdims=true), axis=1) */
    fc_node most = gbred(&b.g, FC_OP_argmax, b.x, 1, true);
    fc_build_output(&b.g, "y", fc_build_take(&b.g, b.x, fc_build_check(&b.g, most, b.m), 1));
    expect_kernels(&b.g, 1);

    open_box(&b); /* the rows of a costly table are made once */
    fc_node p = fc_build_input(&b.g, "k", FUSEC_I32, 1, (fc_dim[]){fc_dim_named(&b.g.dims, "p")});
    fc_node costly = gb1(&b.g, FC_OP_sin, gb1(&b.g, FC_OP_exp, b.x));
    fc_build_output(&b.g, "y",
                    fc_build_gather(&b.g, costly, fc_build_check(&b.g, p, b.n), 0, false));
    expect_kernels(&b.g, 2);

    open_box(&b); /* sum over a window of rows */
    const int64_t both[] = {1, 0, 1}, column[] = {0, 1, 0};
    const fc_view_axis window[] = {{c(&b, 0), FC_EDGE_NONE, both},
                                   {c(&b, 0), FC_EDGE_NONE, column}};
    const fc_dim rows = fc_dim_sub(&b.g.dims, b.n, c(&b, 2));
    fc_node w = fc_build_view(&b.g, b.x, 3, (fc_dim[]){rows, b.m, c(&b, 3)}, window);
    fc_build_output(&b.g, "y", gbred(&b.g, FC_OP_sum, w, 2, false));
    expect_kernels(&b.g, 1);
}

/* ---- C -----------------------------------------------------------------------------------------
 */

FC_TEST(index, from_c) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    const float t[] = {10, 11, 12, 13, 14, 15};
    const int32_t k[] = {2, 0, 1};
    const uint8_t along[] = {1, 0, 1};
    float y[6], w[12];
    o.device = "interp";
    o.cache_dir = "";
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_OK);
    FC_EXPECT_EQ_I64(fusec_graph_new(ctx, &g), FUSEC_OK);
    const int64_t st[] = {3, 2}, sk[] = {3}, sa[] = {3, 1};
    fusec_value x = fusec_array(g, FUSEC_F32, 2, st, t), i = fusec_array(g, FUSEC_I32, 1, sk, k);
    fusec_value a = fusec_array(g, FUSEC_U8, 2, sa, along);
    const float rows[] = {14, 15, 10, 11, 12, 13}, picked[] = {11, 12, 15};
    FC_EXPECT_EQ_I64(fusec_read(fusec_take(x, i, 0), y, sizeof y), FUSEC_OK);
    FC_EXPECT_MEMEQ(y, rows, sizeof rows);
    FC_EXPECT_EQ_I64(fusec_read(fusec_take_along(x, a, -1), y, 3 * sizeof *y), FUSEC_OK);
    FC_EXPECT_MEMEQ(y, picked, sizeof picked);
    /* each row with one more element on both sides, mirrored */
    const fusec_dim shape[] = {fusec_size(g, 3), fusec_size(g, 4)},
                    starts[] = {fusec_size(g, 0), fusec_size(g, -1)};
    const int64_t steps[] = {1, 0, 0, 1};
    const fusec_edge modes[] = {FUSEC_EDGE_NONE, FUSEC_EDGE_SYMMETRIC};
    const float wide[] = {10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15};
    FC_EXPECT_EQ_I64(fusec_read(fusec_view(x, 2, shape, starts, modes, steps), w, sizeof w),
                     FUSEC_OK);
    FC_EXPECT_MEMEQ(w, wide, sizeof wide);
    const int32_t bad[] = {0, 3, 1};
    fusec_value out = fusec_take(x, fusec_array(g, FUSEC_I32, 1, sk, bad), 0);
    FC_EXPECT_EQ_I64(fusec_read(out, y, sizeof y), FUSEC_INDEX_OUT_OF_RANGE);
    FC_EXPECT_CONTAINS(fusec_message(ctx),
                       "the index at [1] is 3, the axis it is for has 3 elements");
    FC_EXPECT_EQ_I64(fusec_graph_status(g), FUSEC_OK);
    fusec_graph_free(g);
    fusec_context_free(ctx);
}
