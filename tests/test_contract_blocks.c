/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_contract_blocks.c - products whose operand has scales by block of k: however they are
 * written they are one kernel, the same one, and every device has the bits of the oracle. */
#include "codegen/cuda/cuda_facts.h"
#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"
#include "passes/plan.h"
#include "tests/support/cuda_machines.h"
#include "tests/support/fake_machine.h"
#include "tests/support/oracle_run.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

#include <stdio.h>

static bool compile(fc_graph *g, const char *text) {
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_lang_program p = {0};
    fc_error e = {0};
    fc_graph_init(g, &fc_libc_alloc, NULL);
    fc_diags_init(&ds, &fc_libc_alloc);
    if (fc_source_init(&src, &fc_libc_alloc, "<test>", text, strlen(text), &e)) return false;
    fusec_status s = fc_parse_program(&src, &ds, &ast);
    const fc_lang_request rq = {.program = &ast, .default_float = FUSEC_F32};
    if (!s) s = fc_lang_compile(&rq, g, &p, &ds);
    if (s) {
        fc_str why;
        fc_str_init(&why, &fc_libc_alloc);
        fc_diags_text(&ds, false, &why);
        FC_FAIL("%s", why.data);
        fc_str_free(&why);
    }
    fc_lang_program_free(&p);
    fc_ast_free(&ast);
    fc_diags_free(&ds);
    fc_source_free(&src);
    return !s;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* What the kernels print, without sizes; how many there are. */
static size_t kernels_of(const char *text, fc_str *out) {
    fc_graph g;
    fc_error e = {0};
    fc_plan *p = NULL;
    const fc_pass_options o = {.verify = true};
    size_t n = 0;
    if (!compile(&g, text)) return 0;
    FC_EXPECT_OK(fc_plan_build(&g, &o, &p, &e), &e);
    for (; p && n < p->steps.len; n++) fc_kernel_print(&p->steps.at[n]->kernel, NULL, out);
    fc_plan_free(p);
    fc_graph_free(&g);
    return n;
}

/* Each is one kernel, and that of the first. */
static void expect_one(const char *head, const char *const *bodies, size_t n) {
    fc_str first, other;
    char text[1024];
    fc_str_init(&first, &fc_libc_alloc);
    for (size_t i = 0; i < n; i++) {
        fc_str_init(&other, &fc_libc_alloc);
        snprintf(text, sizeof text, "export def f(%s) {\n    %s\n}\n", head, bodies[i]);
        FC_TRACE("%s", bodies[i]);
        FC_EXPECT_EQ_U64(kernels_of(text, i ? &other : &first), 1);
        if (i) FC_EXPECT_STREQ(other.data, first.data);
        FC_UNTRACE();
        fc_str_free(&other);
    }
    fc_str_free(&first);
}

#define EXPECT_ONE(head, ...)                                                                      \
    expect_one(head, (const char *const[]){__VA_ARGS__},                                           \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

FC_TEST(contract_blocks, every_spelling_is_one_kernel) {
    EXPECT_ONE("x: f32[m, 96], q: i8[96, n], s: f32[3, n]",
               "return x @ (f32(q) * repeat(s, 32, axis=0))",
               "return x @ reshape(reshape(f32(q), [3, 32, n]) * s[:, None, :], [96, n])",
               "return x @ reshape(f32(reshape(q, [3, 32, n])) * s[:, None, :], [96, n])",
               "return x @ (f32(q) * reshape(broadcast(s[:, None, :], [3, 32, n]), [96, n]))",
               "return x @ (f32(q) * s[arange(96)//32])",
               "a = f32(reshape(q, [3, 32, n])) * s[:, None, :]\n"
               "    return einsum(\"igt,gtj->ij\", reshape(x, [m, 3, 32]), a)",
               "y[i, j] = sum[k](x[i, k] * f32(q[k, j]) * s[k//32, j])\n    return y",
               "y[i, j] = sum[k](x[i, k] * (f32(q[k, j]) * s[k//32, j]))\n    return y");
    EXPECT_ONE("x: f32[m, 96], w: u8[n, 96], s: f32[n, 3]",
               "return x @ (f32(w) * repeat(s, 32, axis=1)).T",
               "return x @ reshape(reshape(f32(w), [n, 3, 32]) * s[:, :, None], [n, 96]).T",
               "y[i, j] = sum[k](x[i, k] * (f32(w[j, k]) * s[j, k//32]))\n    return y");
    /* blocks that are no power of two; and of the left operand */
    EXPECT_ONE("x: i8[m, 72], s: f32[m, 3], w: f32[72, n]",
               "return (f32(x) * repeat(s, 24, axis=1)) @ w",
               "return reshape(f32(reshape(x, [m, 3, 24])) * s[:, :, None], [m, 72]) @ w");
    /* of one row */
    EXPECT_ONE("x: f32[96], q: i8[96, n], s: f32[3, n]",
               "return x @ (f32(q) * repeat(s, 32, axis=0))",
               "return x @ reshape(f32(reshape(q, [3, 32, n])) * s[:, None, :], [96, n])");
    EXPECT_ONE("x: f32[96], q: i8[n, 96], s: f32[n, 3]",
               "return (f32(q) * repeat(s, 32, axis=1)) @ x",
               "return reshape(f32(reshape(q, [n, 3, 32])) * s[:, :, None], [n, 96]) @ x");
    /* zero points */
    EXPECT_ONE("x: f32[m, 64], q: u8[64, n], z: u8[2, n], s: f32[2, n]",
               "return x @ ((f32(q) - f32(repeat(z, 32, axis=0))) * repeat(s, 32, axis=0))",
               "a = f32(reshape(q, [2, 32, n])) - f32(z[:, None, :])\n"
               "    return x @ reshape(a * s[:, None, :], [64, n])");
}

/* The number of blocks by name. */
FC_TEST(contract_blocks, sizes_by_name_are_one_kernel) {
    EXPECT_ONE("x: f32[m, 32*g], q: i8[32*g, n], s: f32[g, n]",
               "return x @ reshape(f32(reshape(q, [g, 32, n])) * s[:, None, :], [32*g, n])",
               "return x @ (f32(q) * repeat(s, 32, axis=0))");
    EXPECT_ONE("x: f32[m, d], q: i8[d, n], s: f32[g, n]",
               "return x @ (f32(q) * repeat(s, 32, axis=0))",
               "y[i, j] = sum[k](x[i, k] * f32(q[k, j]) * s[k//32, j])\n    return y");
    EXPECT_ONE("x: f32[m, 16*g], w: i8[n, g, 16], s: f32[n, g]",
               "return x @ reshape(f32(w) * s[:, :, None], [n, 16*g]).T");
}

/* What does not fit is an error of the call, by name. */
FC_TEST(contract_blocks, sizes_that_do_not_fit_are_named) {
    static const struct {
        const char *body, *why;
    } some[] = {
        {"return x @ (f32(q) * repeat(s, 32, axis=0))",
         "k must equal 32*g, but they are 100 and 96 (k = 100, g = 3)"},
        {"return x @ reshape(f32(reshape(q, [g, 32, n])) * s[:, None, :], [k, n])",
         "reshape keeps the number of elements: k must equal 32*g, but they are 100 and 96"},
        {"y[i, j] = sum[t](x[i, t] * f32(q[t, j]) * s[t//32, j])\n    return y",
         "`t//32` reaches outside s in `s[t//32, j]` (<test>:2:49): g - 1 must be at least (k - "
         "1)//32, "
         "but they are 2 and 3"},
    };
    for (size_t i = 0; i < FC_COUNT(some); i++) {
        char text[256];
        fc_graph g;
        fc_error e = {0};
        fc_how how = {.ctx = fc_rig("interp", 1, &how.device)};
        snprintf(text, sizeof text,
                 "export def f(x: f32[m, k], q: i8[k, n], s: f32[g, n]) {\n    %s\n}\n",
                 some[i].body);
        if (!how.ctx || !compile(&g, text)) continue;
        fc_program *p = NULL;
        FC_EXPECT_OK(fc_rig_compile(&how, &g, &p, &e), &e);
        int64_t shape[3][2] = {{2, 100}, {100, 3}, {3, 3}}, result[2] = {2, 3};
        static float data[300], y[6];
        fc_tensor t[3], r = {.dtype = FUSEC_F32, .rank = 2, .shape = result, .data = y};
        for (int k = 0; k < 3; k++)
            t[k] = (fc_tensor){
                .dtype = k == 1 ? FUSEC_I8 : FUSEC_F32, .rank = 2, .shape = shape[k], .data = data};
        if (p) FC_EXPECT_EQ_I64(fc_program_run(p, NULL, 3, t, 0, NULL, 1, &r, &e) == FUSEC_OK, 0);
        FC_EXPECT_CONTAINS(e.message, some[i].why);
        fc_program_free(p);
        fc_graph_free(&g);
    }
}

/* Two of 4 bits in a byte. */
FC_TEST(contract_blocks, packed_numbers_are_one_kernel) {
    EXPECT_ONE("x: bf16[m, 64], q: u8[32, n], s: bf16[2, n]",
               "y[i, j] = sum[k](x[i, k] * (bf16(q[k//2, j] >> 4*(k%2) & 15) * s[k//32, j]))\n"
               "    return y");
}

/* So has one whose operand would be read at remainders: heads that are put side by side. */
FC_TEST(contract_blocks, axes_in_another_order_are_stored) {
    fc_str out;
    fc_str_init(&out, &fc_libc_alloc);
    FC_EXPECT_EQ_U64(kernels_of("export def f(x: f32[h, n, 64], w: f32[64*h, d]) {\n"
                                "    return reshape(transpose(x, [1, 0, 2]), [n, 64*h]) @ w\n}\n",
                                &out),
                     2);
    fc_str_free(&out);
}

/* Elsewhere a reshape that moves data still has its operand in memory. */
FC_TEST(contract_blocks, what_others_read_is_stored) {
    fc_str out;
    fc_str_init(&out, &fc_libc_alloc);
    FC_EXPECT_EQ_U64(
        kernels_of("export def f(x: f32[m, 64], q: i8[64, n], s: f32[2, n]) {\n"
                   "    w = reshape(f32(reshape(q, [2, 32, n])) * s[:, None, :], [64, n])\n"
                   "    return w, x @ w\n}\n",
                   &out),
        3);
    fc_str_free(&out);
}

/* ---- bits ------------------------------------------------------------------------------------ */

typedef struct sample {
    const char *text;
    int64_t m, n, g;
} sample;

#define RIGHT(t, q, b, k)                                                                          \
    "export def f(x: " t "[m, " k "], q: " q "[" k ", n], s: " t "[g, n]) {\n"                     \
    "    return x @ reshape(" t "(reshape(q, [g, " b ", n])) * s[:, None, :], [" k ", n])\n}\n"
#define TURNED(t, q, b, k)                                                                         \
    "export def f(x: " t "[m, " k "], q: " q "[n, " k "], s: " t "[n, g]) {\n"                     \
    "    return x @ reshape(" t "(reshape(q, [n, g, " b "])) * s[:, :, None], [n, " k "]).T\n}\n"
#define ZERO(t, q, b, k)                                                                           \
    "export def f(x: " t "[m, " k "], q: " q "[" k ", n], z: " q "[g, n], s: " t "[g, n]) {\n"     \
    "    a = " t "(reshape(q, [g, " b ", n])) - " t "(z[:, None, :])\n"                            \
    "    return x @ reshape(a * s[:, None, :], [" k ", n])\n}\n"
#define LEFT(t, q, b, k)                                                                           \
    "export def f(q: " q "[m, " k "], s: " t "[m, g], w: " t "[" k ", n]) {\n"                     \
    "    return reshape(" t "(reshape(q, [m, g, " b "])) * s[:, :, None], [m, " k "]) @ w\n}\n"
#define ROW(t, q, b, k)                                                                            \
    "export def f(x: " t "[" k "], q: " q "[" k ", n], s: " t "[g, n]) {\n"                        \
    "    return x @ reshape(" t "(reshape(q, [g, " b ", n])) * s[:, None, :], [" k ", n])\n}\n"
#define COLUMN(t, q, b, k)                                                                         \
    "export def f(x: " t "[" k "], q: " q "[n, " k "], s: " t "[n, g]) {\n"                        \
    "    return reshape(" t "(reshape(q, [n, g, " b "])) * s[:, :, None], [n, " k "]) @ x\n}\n"
/* The last block is short. */
#define SHORT(t)                                                                                   \
    "export def f(x: " t "[m, 77], q: i8[77, n], s: " t "[3, n]) {\n"                              \
    "    y[i, j] = sum[k](x[i, k] * (" t "(q[k, j]) * s[k//32, j]))\n    return y\n}\n"
#define PACKED(t)                                                                                  \
    "export def f(x: " t "[m, 96], q: u8[48, n], s: " t "[3, n]) {\n"                              \
    "    y[i, j] = sum[k](x[i, k] * (" t "(q[k//2, j] >> 4*(k%2) & 15) * s[k//32, j]))\n"          \
    "    return y\n}\n"
#define PACKED_TURNED(t)                                                                           \
    "export def f(x: " t "[m, 96], q: u8[n, 48], s: " t "[n, 3]) {\n"                              \
    "    y[i, j] = sum[k](x[i, k] * (" t "(q[j, k//2] >> 4*(k%2) & 15) * s[j, k//32]))\n"          \
    "    return y\n}\n"
/* Blocks of k and of columns; of columns alone; and two columns in a byte. */
#define SQUARES(t)                                                                                 \
    "export def f(x: " t "[m, 96], q: i8[96, n], s: " t "[3, g]) {\n"                              \
    "    y[i, j] = sum[k](x[i, k] * (" t "(q[k, j]) * s[k//32, j//16]))\n    return y\n}\n"
#define SQUARES_TURNED(t)                                                                          \
    "export def f(x: " t "[m, 96], q: i8[n, 96], s: " t "[g, 3]) {\n"                              \
    "    y[i, j] = sum[k](x[i, k] * (" t "(q[j, k]) * s[j//16, k//32]))\n    return y\n}\n"
#define ACROSS(t)                                                                                  \
    "export def f(x: " t "[m, 80], q: i8[80, n], s: " t "[80, g]) {\n"                             \
    "    y[i, j] = sum[k](x[i, k] * (" t "(q[k, j]) * s[k, j//16]))\n    return y\n}\n"
#define ACROSS_TURNED(t)                                                                           \
    "export def f(x: " t "[m, 96], q: i8[n, 96], s: " t "[g, 96]) {\n"                             \
    "    y[i, j] = sum[k](x[i, k] * (" t "(q[j, k]) * s[j//16, k]))\n    return y\n}\n"
#define PACKED_ACROSS(t)                                                                           \
    "export def f(x: " t "[m, 96], q: u8[96, g], s: " t "[3, n]) {\n"                              \
    "    y[i, j] = sum[k](x[i, k] * (" t "(q[k, j//2] >> 4*(j%2) & 15) * s[k//32, j]))\n"          \
    "    return y\n}\n"
/* Of two reshapes one splits what the other does not; a scale of each place in a block. */
#define ODD                                                                                        \
    "export def f(x: f32[m, 60], q: i8[15, 4, n], s: f32[10, n], p: f32[6, n]) {\n"                \
    "    a = reshape(f32(q), [10, 6, n]) * s[:, None, :] * p\n"                                    \
    "    return x @ reshape(a, [60, n])\n}\n"

static const sample samples[] = {
    {RIGHT("f32", "i8", "32", "32*g"), 5, 7, 3},
    {RIGHT("f32", "u8", "32", "32*g"), 33, 66, 9},
    {RIGHT("f64", "i8", "24", "24*g"), 17, 35, 12},
    {RIGHT("f32", "i8", "1", "g"), 3, 5, 9},
    {TURNED("f32", "i8", "32", "32*g"), 17, 33, 9},
    {TURNED("f64", "u8", "7", "7*g"), 4, 37, 41},
    {TURNED("f64", "i8", "16", "16*g"), 19, 37, 21},
    {ZERO("f32", "u8", "16", "16*g"), 19, 34, 5},
    {LEFT("f32", "i8", "32", "32*g"), 21, 18, 9},
    {ROW("f32", "i8", "32", "32*g"), 0, 35, 9},
    {COLUMN("f32", "i8", "32", "32*g"), 0, 35, 9},
    {SHORT("f32"), 9, 35, 0},
    {PACKED("f32"), 6, 34, 0},
    {PACKED_TURNED("f32"), 6, 34, 0},
    {SQUARES("f32"), 6, 34, 3},
    {SQUARES_TURNED("f64"), 17, 40, 3},
    {ACROSS("f32"), 5, 35, 3},
    {ACROSS_TURNED("f32"), 5, 35, 3},
    {PACKED_ACROSS("f32"), 5, 35, 18},
    {ODD, 15, 19, 0},
};

static void judge_graph(const fc_how *how, const fc_graph *g, const int64_t *syms) {
    fc_oracle of, o;
    fc_arrays in, out = {0};
    fc_error e = {0};
    fc_rng r = {77};
    const void *data[8];
    fc_oracle_sizes(&of, g, syms);
    fc_arrays_for(&in, g, &of, false);
    for (uint32_t i = 0; i < in.n; i++) {
        for (int64_t k = 0; k < fc_array_count(&in.t[i]); k++)
            fc_oracle_store(in.t[i].dtype, in.t[i].data, k,
                            fc_random_value(in.t[i].dtype, &r, true));
        data[i] = in.t[i].data;
    }
    fc_oracle_run(&o, g, syms, data);
    const fusec_status status = fc_rig_run(how, g, syms, &in, &out, &e);
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    if (status)
        FC_FAIL("[%s] %s", fc_status_slug(status), e.message);
    else if (fc_judge(g, &o, &out, &why))
        FC_FAIL("%s", why.data);
    fc_str_free(&why);
    fc_arrays_free(&in);
    fc_arrays_free(&out);
    fc_oracle_free(&o);
    fc_oracle_free(&of);
}

static void judge(const fc_how *how, const sample *s) {
    fc_graph g;
    int64_t syms[16] = {0};
    if (!compile(&g, s->text)) return;
    for (uint32_t i = 0; i < g.dims.syms.len; i++) {
        const char *name = g.dims.syms.at[i].name;
        syms[i] = !name ? 1 : *name == 'm' ? s->m : *name == 'n' ? s->n : s->g;
    }
    judge_graph(how, &g, syms);
    fc_graph_free(&g);
}

FC_TEST(contract_blocks, bits_of_every_device) {
    static const char *const devices[] = {"interp", "cpu", "cuda"};
    for (size_t i = 0; i < FC_COUNT(samples); i++)
        for (size_t d = 0; d < FC_COUNT(devices); d++) {
            fc_how how = {.ctx = fc_rig(devices[d], 2, &how.device)};
            FC_TRACE("sample %zu on %s", i, devices[d]);
            if (how.ctx) judge(&how, &samples[i]);
            FC_UNTRACE();
        }
}

/* ---- random ones ----------------------------------------------------------------------------- */

enum { RANDOM_PRODUCTS = 150, INNER = 24, COLUMNS = 10, MOST_AXES = 5 };

/* Axes of `total` elements. */
static uint32_t split(fc_rng *r, int64_t total, int64_t shape[MOST_AXES]) {
    uint32_t n = 0;
    while (n + 1 < MOST_AXES && fc_below(r, 4)) {
        int64_t by = 1 + (int64_t)fc_below(r, 8);
        while (total % by) by--;
        shape[n++] = by;
        total /= by;
    }
    shape[n++] = total;
    return n;
}

static fc_node shaped(fc_graph *g, fc_node a, uint32_t rank, const int64_t *shape) {
    fc_dim dims[MOST_AXES];
    for (uint32_t i = 0; i < rank; i++) dims[i] = fc_dim_const(&g->dims, shape[i]);
    return a == FC_NONODE ? fc_build_input(g, "w", FUSEC_I16, rank, dims)
                          : fc_build_reshape(g, a, rank, dims);
}

/* An array that has some of the axes. */
static fc_node spread(fc_graph *g, fc_rng *r, const char *name, uint32_t rank,
                      const int64_t *shape) {
    fc_dim dims[MOST_AXES];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = fc_dim_const(&g->dims, fc_below(r, 2) ? shape[i] : 1);
    return fc_build_input(g, name, FUSEC_I16, rank, dims);
}

/* Turned, and in another shape, some times. */
static fc_node twisted(fc_graph *g, fc_rng *r, fc_node w) {
    int64_t shape[MOST_AXES], axes[MOST_AXES];
    for (uint64_t times = fc_below(r, 2) * fc_below(r, 7); times-- > 0;) {
        const uint32_t rank = fc_rank(g, w), first = (uint32_t)fc_below(r, rank);
        for (uint32_t i = 0; i < rank; i++) axes[i] = (first + i) % rank;
        w = fc_build_permute(g, w, axes);
        const uint32_t next = split(r, INNER * COLUMNS, shape);
        w = shaped(g, w, next, shape);
    }
    return w;
}

/* An operand that goes through several shapes, with an array spread over each; also turned. */
static void random_product(fc_graph *g, fc_rng *r) {
    static const char *const names[] = {"a", "b", "c"};
    const bool turned = fc_below(r, 2);
    int64_t shape[MOST_AXES];
    fc_graph_init(g, &fc_libc_alloc, NULL);
    fc_node w = FC_NONODE;
    const uint64_t steps = 1 + fc_below(r, 3);
    for (uint64_t i = 0; i < steps; i++) {
        const uint32_t rank = split(r, INNER * COLUMNS, shape);
        w = shaped(g, w, rank, shape);
        w = fc_build_op(g, i % 2 ? FC_OP_sub : FC_OP_add, w, spread(g, r, names[i], rank, shape),
                        FC_NONODE);
        w = twisted(g, r, w);
    }
    w = shaped(g, w, 2, turned ? (int64_t[]){COLUMNS, INNER} : (int64_t[]){INNER, COLUMNS});
    if (turned) w = fc_build_permute(g, w, (const int64_t[]){1, 0});
    const fc_dim rows[] = {fc_dim_const(&g->dims, 3), fc_dim_const(&g->dims, INNER)};
    const fc_node x = fc_build_input(g, "x", FUSEC_I16, 2, rows);
    fc_build_output(g, "out", fc_build_matmul(g, x, w));
}

FC_TEST(contract_blocks, random_shapes_of_operands) {
    fc_rng r = {5};
    size_t one = 0;
    for (int i = 0; i < RANDOM_PRODUCTS; i++) {
        fc_graph g;
        fc_plan *p = NULL;
        fc_error e = {0};
        const fc_pass_options o = {.verify = true};
        random_product(&g, &r);
        fc_how how = {.ctx = fc_rig(i % 3 ? "interp" : "cpu", 1, &how.device)};
        FC_TRACE("product %d", i);
        if (how.ctx && fc_test_takes(2)) judge_graph(&how, &g, (const int64_t[1]){0});
        FC_EXPECT_OK(fc_plan_build(&g, &o, &p, &e), &e);
        one += p && p->steps.len == 1;
        fc_plan_free(p);
        FC_UNTRACE();
        fc_graph_free(&g);
    }
    FC_EXPECT_TRUE(one > RANDOM_PRODUCTS / 8 && one < RANDOM_PRODUCTS);
}

/* Texts for tensor cores and for chains, on the host's fibers: groups along k and along columns,
 * few rows and many, ends of k inside of a step, columns past the last whole tile. */
static const sample gpu_samples[] = {
    {RIGHT("bf16", "i8", "32", "32*g"), 16, 64, 9},
    {RIGHT("bf16", "i8", "32", "32*g"), 70, 80, 5},
    {RIGHT("bf16", "i8", "128", "128*g"), 16, 64, 5},
    {RIGHT("f16", "i8", "48", "48*g"), 12, 48, 13},
    {RIGHT("bf16", "i8", "3", "3*g"), 12, 48, 100},
    {RIGHT("bf16", "f32", "64", "64*g"), 70, 80, 5},
    {TURNED("bf16", "i8", "32", "32*g"), 9, 40, 17},
    {TURNED("bf16", "i8", "24", "24*g"), 9, 40, 17},
    {LEFT("bf16", "i8", "32", "32*g"), 40, 72, 5},
    {TURNED("f16", "u8", "64", "64*g"), 130, 72, 3},
    {ZERO("bf16", "u8", "32", "32*g"), 5, 48, 9},
    {PACKED("bf16"), 16, 64, 0},
    {PACKED("f16"), 40, 80, 0},
    {PACKED_TURNED("bf16"), 7, 40, 0},
    {SQUARES("bf16"), 8, 48, 3},
    {SQUARES("bf16"), 70, 48, 3},
    {SQUARES_TURNED("bf16"), 9, 40, 3},
    {SQUARES_TURNED("f16"), 130, 40, 3},
    {ACROSS("bf16"), 9, 48, 3},
    {ACROSS("bf16"), 40, 48, 3},
    {ACROSS_TURNED("bf16"), 9, 40, 3},
    {ACROSS_TURNED("bf16"), 40, 40, 3},
    {PACKED_ACROSS("bf16"), 9, 64, 32},
    {PACKED_ACROSS("bf16"), 40, 64, 32},
    {PACKED_TURNED("bf16"), 140, 40, 0},
    {RIGHT("f32", "i8", "32", "32*g"), 33, 66, 9},
    {TURNED("f32", "i8", "32", "32*g"), 20, 35, 3},
};

FC_TEST(contract_blocks, a_gpu_is_within_bounds) {
    fc_how how = {.ctx = fc_rig("cuda", 2, &how.device)};
    for (size_t i = 0; how.ctx && i < FC_COUNT(gpu_samples); i++) {
        FC_TRACE("sample %zu", i);
        judge(&how, &gpu_samples[i]);
        FC_UNTRACE();
    }
}

FC_TEST(contract_blocks, texts_of_a_gpu) {
    fake_machine f;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&f, FAKE("whole"))) return;
    f.fake->execute = true;
    for (size_t i = 0; i < FC_COUNT(gpu_samples); i++) {
        fc_fixture x;
        if (!fc_test_takes(3) || !fc_fixture_open(&x, "cuda")) continue;
        FC_TRACE("sample %zu", i);
        judge(&(fc_how){.ctx = x.ctx, .device = x.device}, &gpu_samples[i]);
        FC_UNTRACE();
        fc_fixture_close(&x, NULL);
    }
    FC_EXPECT_EQ_I64(f.fake->misuse, 0);
    fake_machine_close(&f);
}

/* ---- two plans ------------------------------------------------------------------------------- */

/* Many rows of 16 bits store what few compute again; of other dtypes there is no second plan. */
FC_TEST(contract_blocks, a_second_plan_is_there_for_16_bits) {
    static const char *const types[] = {"f16", "f32"};
    static const int64_t few[] = {16, 4096}, many[] = {512, 4096}, weights[] = {4096, 4096};
    fake_machine f;
    if (!fake_machine_open(&f, FAKE("whole"))) return;
    for (size_t i = 0; i < FC_COUNT(types); i++) {
        char text[256];
        fc_fixture x;
        fc_program *p;
        snprintf(text, sizeof text,
                 "export def f(x: %s[m, k], q: i8[k, n]) {\n    return x @ %s(q)\n}\n", types[i],
                 types[i]);
        if (!fc_fixture_open(&x, "cuda")) continue;
        fc_graph_free(&x.g);
        if (compile(&x.g, text) && (p = fc_fixture_compile(&x))) {
            fc_tensor in[] = {{.dtype = i ? FUSEC_F32 : FUSEC_F16, .rank = 2, .shape = few},
                              {.dtype = FUSEC_I8, .rank = 2, .shape = weights}};
            FC_EXPECT_EQ_U64(p->stored != NULL, i == 0);
            FC_EXPECT_TRUE(fc_program_for(p, 2, in, 0, NULL) == p);
            in[0].shape = many;
            FC_EXPECT_TRUE(fc_program_for(p, 2, in, 0, NULL) == (i ? p : p->stored));
            fc_fixture_close(&x, p);
        } else {
            fc_fixture_close(&x, NULL);
        }
    }
    fake_machine_close(&f);
}

/* ---- strips ---------------------------------------------------------------------------------- */

/* The ways in which both operands of the only product of a text without names are read; `from`:
 * where its rows, axis 0, begin. */
static void reads_from(const char *text, int64_t from, unsigned reads[2]) {
    fc_graph g;
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_arena arena;
    fc_nest nest;
    fc_class cls = {0};
    fc_launch launch = {0};
    fc_dim bad;
    int64_t syms[1] = {0}, values[256];
    reads[0] = reads[1] = 0;
    if (!compile(&g, text)) return;
    fc_arena_init(&arena, &fc_libc_alloc);
    FC_EXPECT_OK(fc_plan_build(&g, &(fc_pass_options){.verify = true}, &p, &e), &e);
    if (p && p->steps.len == 1 && fc_dims_eval(&p->graph.dims, syms, values, &bad)) {
        const fc_kernel *k = &p->steps.at[0]->kernel;
        FC_EXPECT_OK(fc_nest_bind(k, values, &arena, &nest, &e), &e);
        int64_t *offset = fc_arena_alloc(&arena, nest.naccess * sizeof *offset);
        for (uint32_t a = 0; a < nest.naccess; a++)
            offset[a] = nest.offset[a] + from * nest.stride[(size_t)a * (nest.np + nest.nr)];
        nest.offset = offset;
        FC_EXPECT_OK(
            fc_cuda_target.schedule(&fc_cuda_h200, k, &nest, 256, &arena, &cls, &launch, &e), &e);
        FC_EXPECT_EQ_U64(cls.cuda.kind, FC_CUDA_DOT);
        reads[0] = cls.cuda.dot_swapped ? cls.cuda.dot_right : cls.cuda.dot_left;
        reads[1] = cls.cuda.dot_swapped ? cls.cuda.dot_left : cls.cuda.dot_right;
    }
    fc_arena_free(&arena);
    fc_plan_free(p);
    fc_graph_free(&g);
}

/* Two rows in a byte: a group of eight begins at a whole byte, and at a whole access. */
FC_TEST(contract_blocks, rows_of_a_strip_begin_at_whole_groups) {
    static const char text[] = "export def f(q: u8[96, 48], w: f16[96, 40]) {\n"
                               "    y[i in 0..96, j] = sum[k](f16(q[k, i//2] >> 4*(i%2) & 15) * "
                               "w[k, j])\n    return y\n}\n";
    static const int64_t whole[] = {0, 16, 48}, other[] = {1, 2, 8, 24};
    unsigned reads[2];
    for (size_t i = 0; i < FC_COUNT(whole); i++) {
        reads_from(text, whole[i], reads);
        FC_EXPECT_EQ_U64(reads[0], FC_CUDA_MADE_BY_PLACE);
    }
    for (size_t i = 0; i < FC_COUNT(other); i++) {
        reads_from(text, other[i], reads);
        FC_EXPECT_EQ_U64(reads[0], FC_CUDA_BY_ONE);
        FC_EXPECT_EQ_U64(reads[1], FC_CUDA_BY_PLACE);
    }
}
