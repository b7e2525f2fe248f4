/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lang_check.c - the checker: types, shapes, graphs and messages of the text language.
 *
 * Messages are in tests/lang/errors, one case per file (see test_lang_parse.c), where
 *
 *     === input NAME ORIGIN TYPE       says what a file of the command line holds
 *
 * Files named gallery_* are the examples of the language description. */
#include "tests/support/test.h"

#include "tests/support/lang_files.h"
#include "tests/support/langbox.h"

#include <fusec/fusec.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- messages -------------------------------------------------------------------------------- */

typedef struct message_file {
    char *command;
    const char *wanted;
    size_t head; /* bytes in front of what must be printed */
    langbox_file files[8];
    langbox_input inputs[8];
    size_t nfiles, ninputs;
} message_file;

/* Cuts the text of a case into its sections. */
static void read_case(char *text, message_file *m) {
    memset(m, 0, sizeof *m);
    for (char *p = text; p;) {
        char *line = p + 4, *body = strchr(line, '\n');
        if (!body) return;
        *body = '\0';
        char *next = strncmp(body + 1, "=== ", 4) == 0 ? body + 1 : strstr(body + 1, "\n=== ");
        body++;
        if (strcmp(line, "stderr") == 0) {
            m->wanted = body;
            m->head = (size_t)(body - text);
            return;
        }
        if (strcmp(line, "command") == 0) m->command = body;
        if (strncmp(line, "file ", 5) == 0) m->files[m->nfiles++] = (langbox_file){line + 5, body};
        if (strncmp(line, "input ", 6) == 0) {
            char *name = line + 6, *origin = strchr(name, ' '), *type = strchr(origin + 1, ' ');
            *origin++ = '\0', *type++ = '\0';
            m->inputs[m->ninputs++] = (langbox_input){name, origin, type};
        }
        p = next && *next == '\n' ? next + 1 : next;
        if (p) *p = '\0'; /* the mark's first character: the section before ends here */
    }
}

static void message_case(const char *dir, const char *name, const char *text, size_t len) {
    (void)len;
    char *cut = strdup(text);
    message_file m;
    read_case(cut, &m);
    FC_ASSERT_TRUE(m.command && m.wanted);
    langbox b = langbox_command(m.command, m.files, m.nfiles, m.inputs, m.ninputs);
    if (fc_test_blessing()) {
        char path[1000];
        snprintf(path, sizeof path, "%s/%s", dir, name);
        FILE *f = fopen(path, "wb");
        FC_ASSERT_TRUE(f != NULL);
        fprintf(f, "%.*s%s", (int)m.head, text, b.text);
        fclose(f);
    } else {
        FC_EXPECT_STREQ(b.text, m.wanted);
    }
    langbox_free(&b);
    free(cut);
}

FC_TEST(lang_check, messages) {
    each_lang_file(LANG_ERRORS, ".txt", message_case);
}

/* ---- programs -------------------------------------------------------------------------------- */

static const struct {
    const char *file, *results; /* NULL: needs a later part of the language */
} programs[] = {
    {"black_scholes.fuse", "black_scholes(S: f32[n], K: f32[n], T: f32[n], r: f32, sigma: f32) -> "
                           "(call: f32[n], put: f32[n])\ncall: f32[n]\nput: f32[n]\n"},
    {"blur.fuse", "blur(img: f32[h, w]) -> f32[h, w]\nout: f32[h, w]\n"},
    {"corners.fuse", "corners(x: f32[n, m], t: f32[m, n]) -> f32[n, m]\nout: f32[n, m]\n"},
    {"dense_gelu.fuse",
     "dense_gelu(x: f32[n, k], w: f32[k, m], b: f32[m]) -> f32[n, m]\nout: f32[n, m]\n"},
    {"expsincos.fuse", "expsincos(x: f32[...]) -> f32[...]\nout: f32[...]\n"},
    {"gather.fuse",
     "gather(x: f32[n, m], t: f32[v, m], idx: i32[n]) -> f32[n, m]\nout: f32[n, m]\n"},
    {"heat.fuse", "heat(u: f32[h, w], k: f32, steps: i32) -> f32[h, w]\nout: f32[h, w]\n"},
    {"logreg.fuse",
     "logreg(w: f32[d], b: f32, X: f32[n, d], y: f32[n]) -> (loss: f32, dw: f32[d], db: f32)\n"
     "loss: f32\ndw: f32[d]\ndb: f32\n"
     "train(w: f32[d], b: f32, X: f32[n, d], y: f32[n], lr: f32, steps: i32) -> (w: f32[d], b: "
     "f32)\n"
     "w: f32[d]\nb: f32\n"},
    {"logsumexp.fuse", "logsumexp(x: f32[..., m]) -> f32[...]\nout: f32[...]\n"},
    {"mandelbrot.fuse", "mandelbrot(h: dim, w: dim, cx: f32, cy: f32, scale: f32) -> i32[h, w]\n"
                        "out: i32[h, w]\n"},
    {"mc_pi.fuse", "mc_pi(n: dim, seed: u64) -> f64\nout: f64\n"},
    {"midpoints.fuse", "midpoints(x: f32[..., n]) -> (mid: f32[..., n - 1], slope: f32[..., n - 1])"
                       "\nmid: f32[..., n - 1]\nslope: f32[..., n - 1]\n"},
    {"nbody.fuse", "nbody_step(pos: f32[n, 3], vel: f32[n, 3], mass: f32[n], dt: f32, soft: f32) "
                   "-> (pos: f32[n, 3], vel: f32[n, 3])\npos: f32[n, 3]\nvel: f32[n, 3]\n"},
    {"newlines.fuse", "newlines(x: f32[n]) -> f32[n]\nout: f32[n]\n"},
    {"norms.fuse", "layernorm(x: f32[..., d], gamma: f32[d], beta: f32[d], eps: f32) -> "
                   "f32[..., d]\nout: f32[..., d]\n"
                   "rmsnorm(x: f32[..., d], gamma: f32[d], eps: f32) -> f32[..., d]\n"
                   "out: f32[..., d]\n"},
    {"pdist.fuse", "pdist(a: f32[n, d], b: f32[m, d]) -> f32[n, m]\nout: f32[n, m]\n"},
    {"pdist_index.fuse", "pdist_index(a: f32[n, d], b: f32[m, d]) -> f32[n, m]\nout: f32[n, m]\n"},
    {"softmax.fuse", "softmax(x: f32[..., m]) -> f32[..., m]\nout: f32[..., m]\n"},
    {"standardise.fuse", "standardise(x: f32[n, d]) -> (z: f32[n, d], mean: f32[d], std: f32[d])\n"
                         "z: f32[n, d]\nmean: f32[d]\nstd: f32[d]\n"},
    {"threshold.fuse", "threshold(x: f32[...]) -> f32[...]\nout: f32[...]\n"},
    {"wave.fuse", "wave(x: f32[...]) -> f32[...]\nout: f32[...]\n"},
};

static size_t programs_seen;

static void program_case(const char *dir, const char *name, const char *text, size_t len) {
    (void)dir;
    langbox b = langbox_program(name, text, len, NULL);
    for (size_t i = 0; i < FC_COUNT(programs); i++) {
        if (strcmp(programs[i].file, name) != 0) continue;
        programs_seen++;
        if (programs[i].results) {
            FC_EXPECT_STREQ(b.text, "");
            FC_EXPECT_STREQ(b.results, programs[i].results);
        } else {
            FC_EXPECT_STATUS(b.status, FUSEC_NOT_YET, NULL);
            FC_EXPECT_CONTAINS(b.text, "[not-yet]");
            const char *p = b.text; /* one reason only */
            for (uint32_t n = 0; (p = strstr(p, "error: ")) != NULL; p++, n++)
                FC_EXPECT_TRUE(n < b.errors);
        }
    }
    langbox_free(&b);
}

FC_TEST(lang_check, programs) {
    programs_seen = 0;
    each_lang_file(LANG_PROGRAMS, ".fuse", program_case);
    FC_EXPECT_EQ_I64((int64_t)programs_seen, (int64_t)FC_COUNT(programs));
}

/* ---- types of expressions -------------------------------------------------------------------- */

static void type_is(const char *text, const char *inputs, const char *type) {
    langbox b = langbox_snippet(text, inputs);
    char wanted[300];
    snprintf(wanted, sizeof wanted, "out: %s\n", type);
    FC_TRACE("%s with %s", text, inputs);
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_STREQ(b.results, wanted);
    FC_UNTRACE();
    langbox_free(&b);
}

/* The last lines of the graph; a folded constant is its last node. */
static void graph_ends(const char *text, const char *inputs, const char *lines) {
    langbox b = langbox_snippet(text, inputs);
    FC_TRACE("%s with %s", text, inputs);
    FC_EXPECT_STREQ(b.text, "");
    size_t n = strlen(b.graph), m = strlen(lines);
    FC_EXPECT_STREQ(n >= m ? b.graph + n - m : b.graph, lines);
    FC_UNTRACE();
    langbox_free(&b);
}

static void fails(const char *text, const char *inputs, fusec_status status) {
    langbox b = langbox_snippet(text, inputs);
    FC_TRACE("%s with %s", text, inputs);
    FC_EXPECT_STATUS(b.status, status, NULL);
    FC_EXPECT_EQ_I64(b.errors, 1);
    FC_UNTRACE();
    langbox_free(&b);
}

/* Sums over an index that are written as a product with indices of its own on either side are
 * contractions, others are sums of what is computed. */
FC_TEST(lang_check, sums_of_products_are_contractions) {
    static const struct {
        const char *text;
        bool dot;
    } cases[] = {
        {"C[i, j] = sum[k](x[i, k] * y[k, j]); C", true},
        {"C[i, j] = sum[k](2 * x[i, k] * y[k, j] * x[i, k]); C", true},
        {"C[i, j] = sum[k, l](x[i, k] * y[k, l] * x[j, l]); C", true},
        {"x @ y", true},
        {"C[i, j] = sum[k](x[i, k] + y[k, j]); C", false},
        {"C[i] = sum[k](x[i, k] * x[i, k]); C + sum(y)", false},
        {"C[i, j] = max[k](x[i, k] * y[k, j]); C", false},
    };
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        langbox b = langbox_snippet(cases[i].text, "x: f32[6, 6]\ny: f32[6, 6]");
        FC_TRACE("%s", cases[i].text);
        FC_EXPECT_STREQ(b.text, "");
        FC_EXPECT_EQ_I64(strstr(b.graph, "= dot ") != NULL, cases[i].dot);
        FC_UNTRACE();
        langbox_free(&b);
    }
}

FC_TEST(lang_check, promotion) {
    static const char *const names[] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                        "u32",  "u64", "f16", "bf16", "f32", "f64"};
    for (int a = 0; a < FC_DTYPE_COUNT; a++)
        for (int b = 0; b < FC_DTYPE_COUNT; b++) {
            fusec_dtype t;
            char inputs[100], type[20];
            snprintf(inputs, sizeof inputs, "x: %s[4], y: %s[4]", names[a], names[b]);
            if (!fc_promote((fusec_dtype)a, (fusec_dtype)b, &t)) {
                fails("x + y", inputs, FUSEC_DTYPE_MISMATCH);
                type_is("x / y", inputs, "f32[4]");
                continue;
            }
            snprintf(type, sizeof type, "%s[4]", names[t]);
            type_is("x + y", inputs, type);
            type_is("x < y", inputs, "bool[4]");
            type_is("x > x ? x : y", inputs, type);
            snprintf(type, sizeof type, "%s[4]", fc_is_float(t) ? names[t] : "f32");
            type_is("x / y", inputs, type);
            type_is("atan2(x, y)", inputs, type);
        }
}

FC_TEST(lang_check, weak_values) {
    type_is("x + 1", "x: u8[4]", "u8[4]");
    type_is("x + 1.5", "x: u8[4]", "f32[4]");
    type_is("x + 1.5", "x: f16[4]", "f16[4]");
    type_is("x + 1", "x: bool[4]", "i64[4]");
    type_is("x + 0.5", "x: bool[4]", "f32[4]");
    type_is("x + true", "x: i32[4]", "i32[4]");
    type_is("x * (1/3)", "x: f64[4]", "f64[4]");
    type_is("x * pi", "x: bf16[4]", "bf16[4]");
    type_is("x * s", "x: f16[4], s=2.5", "f16[4]");
    type_is("x / 2", "x: i32[4]", "f32[4]");
    type_is("sin(x)", "x: i32[4]", "f32[4]");
    type_is("1 + 2", "", "i64");
    type_is("1 + 2.0", "", "f32");
    type_is("1 < 2", "", "bool");
    type_is("x > 0 ? 1 : 2", "x: f32[4]", "i64[4]");
    type_is("x > 0 ? 1 : 2.5", "x: f32[4]", "f32[4]");
    type_is("clip(x, 0, 6)", "x: i32[4]", "i32[4]");
    type_is("lerp(x, 1, 0.5)", "x: f16[4]", "f16[4]");
    graph_ends("1/3", "", "= const 0.33333334 : f32\noutput out = %3\n");
    graph_ends("f64(1/3)", "", "= const 0.3333333333333333 : f64\noutput out = %2\n");
    fails("2**63", "", FUSEC_LITERAL_RANGE);
    fails("x + 2**63", "x: i64[2]", FUSEC_LITERAL_RANGE);
    type_is("x + 2**63", "x: u64[2]", "u64[2]");
    type_is("x > 0 ? 1 : 2.5", "x: f64[4]", "f32[4]");
    graph_ends("-7 // 2", "", "const -4 : i64\noutput out = %0\n");
    graph_ends("-7 % 2", "", "const 1 : i64\noutput out = %0\n");
    graph_ends("7 // 0 + 7 % 0", "", "const 0 : i64\noutput out = %0\n");
    graph_ends("(1 << 62) >> 60 | 1", "", "const 5 : i64\noutput out = %0\n");
    graph_ends("~5 & 0xff ^ 1", "", "const 251 : i64\noutput out = %0\n");
    graph_ends("u64(18446744073709551615)", "",
               "const 18446744073709551615 : u64\noutput out = %0\n");
    graph_ends("-9223372036854775808", "", "const -9223372036854775808 : i64\noutput out = %0\n");
    graph_ends("u8(300)", "", "const 44 : u8\noutput out = %0\n");
    graph_ends("i8(300.7)", "", "const 127 : i8\noutput out = %0\n");
    graph_ends("bool(3)", "", "const 1 : bool\noutput out = %0\n");
    graph_ends("0 < 1 < 2", "", "const 1 : bool\noutput out = %0\n");
    graph_ends("true ? 1 : 2", "", "const 1 : i64\noutput out = %0\n");
}

/* An operation that is spelled in several ways is one node. */
FC_TEST(lang_check, one_node) {
    static const char *const pairs[][2] = {
        {"x > 0.5 ? x*2 : x/2", "where(x > 0.5, x*2, x/2)"},
        {"arcsin(x)", "asin(x)"},
        {"x**2", "x*x"},
        {"x.T", "transpose(x)"},
        {"x.T", "transpose(x, [1, 0])"},
        {"0 < x < 1", "0 < x and x < 1"},
        {"x[::-1]", "flip(x, axis=0)"},
        {"x[..., 1:]", "x[:, 1:6]"},
        {"x[-1]", "x[3]"},
        {"x[:, None]", "reshape(x, [4, 1, 6])"},
        {"sum(x, axis=-1)", "sum(x, axis=1)"},
        {"sum(x, axis=(0, 1))", "sum(x)"},
        {"reshape(x, [2, -1])", "reshape(x, (2, 12))"},
        {"!(x > 0)", "not x > 0"},
        {"x > 0 && x < 1 || x > 2", "x > 0 and x < 1 or x > 2"},
        {"squeeze(x[:, None], axis=1)", "squeeze(x[:, None])"},
        {"clip(x, lo=0, hi=1)", "clip(x, 0, 1)"},
        {"zeros([2, 3])", "broadcast(f32(0), [2, 3])"},
        {"full([2], 1)", "ones(2)"},
        {"x * size(x)", "x * 24"},
        {"x * size(x, axis=1)", "x * 6"},
        {"(-x)**2", "-x * -x"},
    };
    for (size_t i = 0; i < FC_COUNT(pairs); i++) {
        char text[300];
        unsigned a = 0, b = 1;
        snprintf(text, sizeof text, "A = %s; B = %s; A, B, x", pairs[i][0], pairs[i][1]);
        langbox box = langbox_snippet(text, "x: f32[4, 6]");
        FC_TRACE("%s", text);
        FC_EXPECT_STREQ(box.text, "");
        const char *out = strstr(box.graph, "output A");
        if (out) sscanf(out, "output A = %%%u\noutput B = %%%u", &a, &b);
        FC_EXPECT_EQ_I64(a, b);
        FC_UNTRACE();
        langbox_free(&box);
    }
}

FC_TEST(lang_check, shapes) {
    type_is("x[None] + x[:, None]", "x: f32[4, 6]",
            ""
            "f32[4, 4, 6]");
    type_is("x + y", "x: f32[4, 1], y: f32[6]", "f32[4, 6]");
    type_is("mean(x, axis=0, keepdims=true)", "x: i8[4, 6]", "f32[1, 6]");
    type_is("argmax(x, axis=1)", "x: f16[4, 6]", "i64[4]");
    type_is("sum(x)", "x: u8[4, 6]", "u64");
    type_is("any(x)", "x: f32[4, 6]", "bool");
    type_is("logsumexp(x, axis=1)", "x: f16[4, 6]", "f16[4]");
    type_is("x[1:3, ::2]", "x: f32[4, 6]", "f32[2, 3]");
    type_is("x[::-2, -1]", "x: f32[4, 6]", "f32[2]");
    type_is("x[-2:]", "x: f32[4, 6]", "f32[2, 6]");
    type_is("x[..., None, 0]", "x: f32[4, 6]", "f32[4, 1]");
    type_is("arange(2, 11, 3)", "", "i64[3]");
    type_is("arange(10, 0, -3)", "", "i64[4]");
    type_is("arange(0, 1, 0.25)", "", "f32[4]");
    type_is("arange(4, dtype=f16)", "", "f16[4]");
    type_is("eye(3, 4, dtype=i32)", "", "i32[3, 4]");
    type_is("eye(2)", "", "f32[2, 2]");
    type_is("full([2], u8(3))", "", "u8[2]");
    type_is("zeros([2, 3], dtype=bool)", "", "bool[2, 3]");
    type_is("bitcast(x, u16)", "x: bf16[4]", "u16[4]");
    type_is("materialize(x) + 1", "x: f32[4]", "f32[4]");
    type_is("transpose(x, [2, 0, 1])", "x: f32[4, 5, 6]", "f32[6, 4, 5]");
    fails("x + y", "x: f32[4, 6], y: f32[4]", FUSEC_SHAPE_MISMATCH);
    fails("x[4]", "x: f32[4, 6]", FUSEC_SLICE_RANGE);
    fails("x[-5]", "x: f32[4, 6]", FUSEC_SLICE_RANGE);
    fails("x[3:2]", "x: f32[4, 6]", FUSEC_SLICE_RANGE);
    fails("x[:, 2:9]", "x: f32[4, 6]", FUSEC_SLICE_RANGE);
    fails("reshape(x, [-1, -1])", "x: f32[4, 6]", FUSEC_SHAPE_MISMATCH);
    fails("reshape(x, [5, -1])", "x: f32[4, 6]", FUSEC_SHAPE_MISMATCH);
    fails("transpose(x, [0])", "x: f32[4, 6]", FUSEC_BAD_AXIS);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void program_graph(const char *text, const char *graph) {
    langbox b = langbox_program("p.fuse", text, strlen(text), NULL);
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_STREQ(b.graph, graph);
    langbox_free(&b);
}

FC_TEST(lang_check, sizes_are_linear_forms) {
    program_graph("def f(x: f32[n], y: f32[n - 1]) -> f32[2*n - 2] =\n"
                  "    reshape(broadcast(x[1:] + y, [2, n - 1]), [-1])\n",
                  "%0 = input x : f32[n]\n%1 = input y : f32[n - 1]\n"
                  "%2 = slice %0 [1:1:n - 1] : f32[n - 1]\n%3 = add %1, %2 : f32[n - 1]\n"
                  "%4 = broadcast %3 : f32[2, n - 1]\n%5 = reshape %4 : f32[2*n - 2]\n"
                  "output out = %5\nrequire n - 1 >= 0\n");
    program_graph("def f(x: f32[n], m: dim, y: f32[m + 1]) -> f32[n] = x + y[:n]\n",
                  "%0 = input x : f32[n]\n%1 = input y : f32[m + 1]\n"
                  "%2 = slice %1 [0:1:n] : f32[n]\n%3 = add %0, %2 : f32[n]\noutput out = %3\n"
                  "require m + 1 >= n\nrequire n >= 0\nrequire m >= n - 1\n");
}

FC_TEST(lang_check, definitions) {
    program_graph("const S = 2\nconst T = S + 1\n"
                  "def g(x, k = T) = x*k\n"
                  "def f(x: f32[n]) -> f32[n] = g(x) + g(k=1, x=x)\n",
                  "%0 = input x : f32[n]\n%1 = const 3 : f32\n%2 = mul %0, %1 : f32[n]\n"
                  "%3 = const 1 : f32\n%4 = mul %0, %3 : f32[n]\n%5 = add %2, %4 : f32[n]\n"
                  "output out = %5\n");
    program_graph("def g(x: T[k]) -> (lo: T, n: i64) {\n    return min(x), k\n}\n"
                  "export def f(x: f16[n], m: dim) -> f16 {\n    lo, k = g(x)\n"
                  "    return lo*k + m\n}\n",
                  "%0 = input x : f16[n]\n%1 = min %0 (0) inner : f16\n%2 = dim n : i64\n"
                  "%3 = cast %2 : f16\n%4 = mul %1, %3 : f16\n%5 = dim m : i64\n"
                  "%6 = cast %5 : f16\n%7 = add %4, %6 : f16\noutput out = %7\n"
                  "require n >= 1\n");
    program_graph("def sum(x) = x\ndef f(n: f32) -> f32 = sum(n)\n",
                  "%0 = input n : f32\noutput out = %0\n");
    program_graph("def f(x: f32[n], y: f32[n] = 2) -> f32[n] = x*y\n",
                  "%0 = input x : f32[n]\n%1 = input y : f32[n]\n%2 = mul %0, %1 : f32[n]\n"
                  "output out = %2\n");
}

static const char *const p_fuse = "const R = 1\n"
                                  "@contract\n"
                                  "def f(x: T[n], y: T[n] = 2, k: dim = 3) -> T[n] = x*y*k*R\n"
                                  "@fast(recip, nsz)\n@wide16\n"
                                  "export def g(x) = x + R\n";

static langbox run_p(const char *command) {
    const langbox_file files[] = {{"p.fuse", p_fuse}};
    const langbox_input inputs[] = {{"x", "a.npy", "f16[5]"}, {"x", "b.npy", "f64[1]"}};
    return langbox_command(command, files, 1, inputs, FC_COUNT(inputs));
}

/* Each licence by its name; @fast alone has not those that change a dtype's digits. */
FC_TEST(lang_check, a_list_has_the_licences_it_names) {
    static const struct {
        const char *text;
        unsigned mode;
    } want[] = {
        {"@fast\nexport def f(x: f32[n]) = x\n", FUSEC_MODE_FAST},
        {"@fast(tf32)\nexport def f(x: f32[n]) = x\n", FUSEC_MODE_TF32},
        {"@fast(nsz, tf32)\nexport def f(x: f32[n]) = x\n", FUSEC_MODE_NSZ | FUSEC_MODE_TF32}};
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        const langbox_file files[] = {{"m.fuse", want[i].text}};
        langbox b = langbox_command("fusec check m.fuse:f", files, 1, NULL, 0);
        FC_EXPECT_STATUS(b.status, FUSEC_OK, NULL);
        FC_EXPECT_EQ_U64(b.mode, want[i].mode);
        langbox_free(&b);
    }
}

/* A licence need not be used: the program's mode is that of what is compiled. */
FC_TEST(lang_check, a_call_adds_no_licences) {
    static const langbox_file files[] = {{"m.fuse", "@fast\ndef g(x: f32[n]) -> f32[n] = x/3\n"
                                                    "@contract\n"
                                                    "export def f(x: f32[n]) -> f32[n] = g(x)\n"}};
    langbox b = langbox_command("fusec check m.fuse:f", files, 1, NULL, 0);
    FC_EXPECT_STATUS(b.status, FUSEC_OK, NULL);
    FC_EXPECT_EQ_I64(b.mode, 1);
    langbox_free(&b);
}

FC_TEST(lang_check, inputs_of_a_definition) {
    langbox b = run_p("fusec run p.fuse:f x=a.npy");
    FC_EXPECT_STREQ(b.graph, "%0 = input x : f16[n]\n%1 = const 2 : f16\n"
                             "%2 = broadcast %1 : f16[n]\n%3 = mul %0, %2 : f16[n]\n"
                             "%4 = const 3 : f16\n%5 = mul %3, %4 : f16[n]\n%6 = const 1 : f16\n"
                             "%7 = mul %5, %6 : f16[n]\noutput out = %7\n");
    FC_EXPECT_EQ_I64(b.mode, 1);
    langbox_free(&b);
    b = run_p("fusec run p.fuse x=b.npy -D R=4");
    FC_EXPECT_STREQ(b.graph, "%0 = input x : f64[1]\n%1 = const 4 : f64\n"
                             "%2 = add %0, %1 : f64[1]\noutput out = %2\n");
    FC_EXPECT_EQ_I64(b.mode, 4 + 32 + 128);
    langbox_free(&b);
    b = run_p("fusec run p.fuse x=3");
    FC_EXPECT_STREQ(b.results, "g(x: number)\nout: i64\n");
    langbox_free(&b);
    b = run_p("fusec check p.fuse:f --dtype T=bf16");
    FC_EXPECT_CONTAINS(b.results, "out: bf16[n]\n");
    langbox_free(&b);
    b = run_p("fusec check p.fuse:f --default-float f64");
    FC_EXPECT_CONTAINS(b.results, "out: f64[n]\n");
    langbox_free(&b);
    b = run_p("fusec run -f p.fuse -e 'f(x, y=x, k=2)' x=b.npy");
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_STREQ(b.results, "out: f64[1]\n");
    langbox_free(&b);
}

FC_TEST(lang_check, several_results) {
    const langbox_file files[] = {
        {"p.fuse", "def s(x) -> (lo: f32, hi: f32) {\n    return min(x), max(x)\n}\n"}};
    const langbox_input inputs[] = {{"x", "a.npy", "f32[5]"}};
    langbox b = langbox_command("fusec -f p.fuse -e 's(x)' x=a.npy", files, 1, inputs, 1);
    FC_EXPECT_STREQ(b.results, "lo: f32\nhi: f32\n");
    langbox_free(&b);
    b = langbox_snippet("m = x*2; m, x + 1, m", "x: f32[2]");
    FC_EXPECT_STREQ(b.results, "m: f32[2]\nout2: f32[2]\nout3: f32[2]\n");
    langbox_free(&b);
}

/* ---- text and graph -------------------------------------------------------------------------- */

static void round_trip_file(const char *dir, const char *name, const char *text, size_t len) {
    (void)dir;
    bool snippet = strstr(name, ".txt") != NULL;
    langbox b =
        snippet ? langbox_snippet(text, "x: f32[4, 6]") : langbox_program(name, text, len, NULL);
    langbox_round_trip(&b);
    langbox_free(&b);
}

FC_TEST(lang_print, programs) {
    each_lang_file(LANG_PROGRAMS, ".fuse", round_trip_file);
    each_lang_file(LANG_PROGRAMS "/snippets", ".txt", round_trip_file);
}

static void prints(const char *text, const char *inputs, const char *wanted) {
    langbox b = inputs ? langbox_snippet(text, inputs)
                       : langbox_program("p.fuse", text, strlen(text), NULL);
    FC_TRACE("%s", text);
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_STREQ(b.printed, wanted);
    langbox_round_trip(&b);
    FC_UNTRACE();
    langbox_free(&b);
}

FC_TEST(lang_print, text) {
    prints("sin(x*2 + 1)", "x: f32[4, 6]",
           "export def f(x: f32[4, 6]) -> f32[4, 6] {\n"
           "    return sin((x * f32(2)) + f32(1))\n}\n");
    prints("m = mean(x, axis=0); (x - m) / m, x > 0", "x: f32[4, 6]",
           "export def f(x: f32[4, 6]) -> (out1: f32[4, 6], out2: bool[4, 6]) {\n"
           "    t0 = broadcast(mean(x, axis=0), [4, 6])\n"
           "    return (x - t0) / t0, x > f32(0)\n}\n");
    prints("def f(x: f32[..., n], k: dim) -> f32[..., n - 1] = x[..., 1:] * (n + 2*k)\n", NULL,
           "export def f(x: f32[d0, n], k: dim) -> f32[d0, n - 1] {\n"
           "    return x[:, 1:] * broadcast(f32(i64(n + 2*k)), [d0, n - 1])\n}\n");
    prints("x.T[::-2], x[1:3], x[None, 0], sum(x, axis=(0, 1)), max(x, axis=1, keepdims=true)",
           "x: f16[5, 4]",
           "export def f(x: f16[5, 4]) -> (out1: f16[2, 5], out2: f16[2, 4], out3: f16[1, 4], "
           "out4: f16, out5: f16[5, 1]) {\n"
           "    return transpose(x, [1, 0])[3:0:-2, :], x[1:3, :], x[:1, :], "
           "sum(x, axis=(0, 1)), max(x, axis=1, keepdims=true)\n}\n");
}

FC_TEST(lang_print, constants) {
    prints("x + f16(0.1), f32(0.1) * x, f64(0.1) * x, x / -0.0, x + inf, x - nan, x * 1e30",
           "x: f32[2]",
           "export def f(x: f32[2]) -> (out1: f32[2], out2: f32[2], out3: f64[2], out4: f32[2], "
           "out5: f32[2], out6: f32[2], out7: f32[2]) {\n"
           "    return x + f32(0.099975586), x * f32(0.1), f64(x) * f64(0.1), x / f32(-0.0), "
           "x + f32(inf), x - f32(nan), x * f32(1e30)\n}\n");
    prints("i64(-9223372036854775808), u64(18446744073709551615), i8(-128), bool(1)", "",
           "export def f() -> (out1: i64, out2: u64, out3: i8, out4: bool) {\n"
           "    return i64(-9223372036854775808), u64(18446744073709551615), i8(-128), "
           "bool(true)\n}\n");
}

/* Bounds that are negative numbers, which would count from the end if they were printed plainly. */
FC_TEST(lang_print, slices_of_nothing) {
    prints(
        "y[2:1:5], y[3:0:9], y[-9::-20], y[7:8:9]", "y: f32[10]",
        "export def f(y: f32[10]) -> (out1: f32[0], out2: f32[0], out3: f32[1], out4: f32[1]) {\n"
        "    t0 = y[:0]\n    return t0, t0, y[1:2], y[7:8]\n}\n");
    prints("def f(x: f32[n], m: dim) = x[0:m:3][1:0:2]\n", NULL,
           "export def f(x: f32[n], m: dim) -> f32[0] {\n    return x[:3*((m + 2)//3) - "
           "2:3][:0]\n}\n");
    prints("const k = -3\ndef f(x: f32[n], m: dim) = x[k:m:-5]\n", NULL,
           "export def f(x: f32[n], m: dim) -> f32[(-m + 1)//5] {\n"
           "    return x[0 - 3:-5*((-m + 1)//5) + 1:-5]\n}\n");
}

FC_TEST(lang_print, sizes) {
    static const char text[] =
        "def f(x: f32[n, m], y: f32[m, k]) -> f32[(n + m)//2 + n*m, k] {\n"
        "    a = zeros([(n + m)//2 + n*m, k]) + n % 3 + m*n*k // 2\n"
        "    b = sum(x[::2, ::-1]) + sum(x[1:n:3]) + sum(flip(x)[n - 1:0:-2])\n"
        "    return a + y[0] + b\n}\n";
    langbox b = langbox_program("p.fuse", text, sizeof text - 1, NULL);
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_CONTAINS(b.printed, "f32[(n + m)//2 + m*n, k]");
    langbox_round_trip(&b);
    langbox_free(&b);
}
