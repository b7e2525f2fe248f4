/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lang_index.c - index definitions, gathers, and the functions that move and join arrays:
 * their values on every device, the graphs that they share with other spellings, and their kernels.
 *
 * The expected values were computed from the definitions of NumPy (pad, roll, tile, repeat,
 * concatenate, stack, sliding_window_view, take, take_along_axis, and indexing) by plain loops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_machine.h"
#include "tests/support/langbox.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* ---- values -----------------------------------------------------------------------------------
 */

static const struct {
    const char *name, *text, *json;
} rows[] = {
#define ROW(name, text, json) {name, text, json},
#include "tests/lang/index_rows.def"
#undef ROW
};

static const char make_inputs[] =
    "fusec -q -d interp -e 'k = arange(5); f32(k*k - 3*k)' -o x.npy && "
    "fusec -q -d interp -e 'f32(10*arange(3)[:, None] + arange(4))' -o A.npy && "
    "fusec -q -d interp -e 'k = arange(4); i32(k == 1 ? 0 : k == 3 ? 1 : 2)' -o i.npy && "
    "fusec -q -d interp -e 'k = arange(6); k = k == 0 ? 1 : k == 2 ? 0 : k == 3 ? 2 : 3; "
    "reshape(k, [3, 2])' -o J.npy";

/* All rows as the statements of one snippet, and what is to be printed. */
static void write_rows(shell *sh, char *want) {
    char *text = calloc(1, 100000);
    size_t at = 0, w = 0;
    if (!text) return;
    for (size_t i = 0; i < FC_COUNT(rows); i++)
        at += (size_t)sprintf(text + at, "%s%s\n", rows[i].name, rows[i].text);
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        at += (size_t)sprintf(text + at, "%s%s", i ? ", " : "", rows[i].name);
        w += (size_t)sprintf(want + w, "%s\"%s\":%s", i ? "," : "{", rows[i].name, rows[i].json);
    }
    sprintf(want + w, "}\n");
    shell_write(sh, "rows.txt", text);
    free(text);
}

/* The first value that is not as it should be. */
static void compare(const char *out, const char *want) {
    size_t i = 0, row = 0;
    for (; out[i] == want[i] && want[i]; i++)
        if (want[i] == '"') row = i;
    if (out[i] != want[i])
        FC_FAIL("near %.20s\n  got:    %.60s\n  wanted: %.60s", want + row, out + i, want + i);
}

static void values_on(void *arg) {
    const char *device = arg;
    char *want = calloc(1, 100000);
    OPEN(sh);
    EXPECT_RUN(sh, 0, "%s", make_inputs);
    if (want) write_rows(&sh, want);
    shell_run(&sh,
              "fusec -q -e \"$(cat rows.txt)\" x=x.npy A=A.npy J=J.npy i=i.npy r0=2 -d %s "
              "--format json",
              device);
    const bool absent = sh.code == 5 && strstr(sh.err, "--device");
    if (!absent) {
        FC_EXPECT_STREQ(sh.err, "");
        if (want) compare(sh.out, want);
    }
    shell_close(&sh);
    free(want);
    if (absent) FC_SKIP("there is no %s here", device);
}

FC_REGISTER(index_values) {
    static const char *const devices[] = {"interp", "cpu", "cuda"};
    for (size_t i = 0; i < FC_COUNT(devices); i++)
        FC_ADD_TEST("index_values", devices[i], values_on, devices[i]);
}

/* ---- graphs -----------------------------------------------------------------------------------
 */

/* Outputs P and Q of a snippet are one node. */
static void expect_one_node(const char *text, const char *inputs) {
    unsigned a = 0, b = 1;
    langbox box = langbox_snippet(text, inputs);
    FC_TRACE("%s", text);
    FC_EXPECT_STREQ(box.text, "");
    const char *out = strstr(box.graph, "output P");
    if (out) sscanf(out, "output P = %%%u\noutput Q = %%%u", &a, &b);
    if (a != b) FC_FAIL("two nodes:\n%s", box.graph);
    FC_UNTRACE();
    langbox_free(&box);
}

/* What the index form and the array form share is one node. */
FC_TEST(lang_index, one_node_with_the_array_form) {
    static const char inputs[] = "x: f32[4, 6], y: f32[6], k: i32[3]";
    static const char *const pairs[][2] = {
        {"C[i, j] = x[j, i]", "C = x.T"},
        {"C[i] = x[i, 2]", "C = x[:, 2]"},
        {"C[i in 0..4, j] = x[3 - i, j]", "C = x[::-1]"},
        {"C[i in 0..2, j] = x[2*i, j]", "C = x[::2]"},
        {"C[i, j] = x[i, j] + y[j]", "C = x + y"},
        {"C[i] = sum[k](x[i, k])", "C = sum(x, axis=1)"},
        {"C[i] = max[k](x[i, k] * y[k])", "C = max(x * y, axis=1)"},
        {"C[i] = logsumexp[k](x[i, k])", "C = logsumexp(x, axis=1)"},
        {"C = sum[i, j](x[i, j])", "C = sum(x)"},
        {"C[i, j in 0..3] = x[i, j]", "C = x[:, :3]"},
        {"C[i, j] = f32(i >= j ? x[i, j] : 0)",
         "C = where(arange(4)[:, None] >= arange(6)[None], x, 0)"},
        {"C = x[k]", "C = take(x, k, axis=0)"},
        {"C = boundary(x, mode=\"edge\") + 1", "C = x + 1"},
        {"b = boundary(x, mode=\"wrap\"); C[i in 0..4, j in 0..6] = b[i - 1, j]",
         "C = roll(x, 1, axis=0)"},
        {"b = boundary(y, mode=\"reflect\"); C[j in -1..8] = b[j]",
         "C = pad(y, [1, 2], mode=\"reflect\")"},
        {"C[i in 0..5, k in 0..2] = y[i + k]", "C = window(y, 2)"},
        {"C = concat([x])", "C = x"},
        {"C = tile(x, [1, 1])", "C = x"},
        {"C = roll(y, 0)", "C = y"},
    };
    for (size_t i = 0; i < FC_COUNT(pairs); i++) {
        char text[400];
        snprintf(text, sizeof text, "%s; P = C; %s; Q = C; P, Q, x, y, k", pairs[i][0],
                 pairs[i][1]);
        expect_one_node(text, inputs);
    }
    expect_one_node("C[j] = y[j]*f32(2); P = C; Q = y*f32(2); P, Q, x, k", inputs);
}

/* What they print reads back to the same graph. */
FC_TEST(lang_index, printed_graphs_read_back) {
    static const char *const texts[] = {
        "C[i, j] = sum[k](A[i, k] * A[j, k]); C",
        "b = boundary(A, mode=\"reflect\"); C[i in 0..3, j in 0..6] = b[i - 1, j] + b[i + 1, 5 - "
        "j]; C",
        "C[j in 0..3] = A[j, j + 1]; C",
        "x[i], A[:, J], A[i, 3 - i]",
        "take_along(A, J, axis=1), take_along(A, J, axis=1, bounds=\"zero\")",
        "take(x, i, bounds=\"clamp\"), take(x, i, bounds=\"inside\")",
        "concat([x, x[:2], x[1:]]), stack([x, 2*x], axis=1), repeat(A, 3, axis=1)",
        "pad(A, [[1, 2], [3, 4]], value=5), tile(A, [2, 3]), window(x, 2), window(x, 2, step=2)",
        "C[k in 0..4] = boundary(A, mode=\"zero\")[2*i[k], i[k] - 1]; C",
        "C[r, s in 0..2] = A[J[r, s] // 2, s]; C",
    };
    for (size_t i = 0; i < FC_COUNT(texts); i++) {
        char text[300];
        snprintf(text, sizeof text, "%s, x, A, i, J", texts[i]);
        langbox b = langbox_snippet(text, "x: f32[5], A: f32[3, 4], i: i32[4], J: i64[3, 2]");
        FC_TRACE("%s", texts[i]);
        FC_EXPECT_STREQ(b.text, "");
        langbox_round_trip(&b);
        FC_UNTRACE();
        langbox_free(&b);
    }
}

/* A sum over neighbours that is written out has the bits of one that is not. */
FC_TEST(lang_index, windows_have_the_bits_of_reductions) {
    OPEN(sh);
    EXPECT_RUN(
        sh, 0,
        "fusec -q -d interp -e 'x = sin(f32(arange(140))*7); W[k in 0..40, i in 0..100] = x[i + k];"
        "V[i in 0..100, k in 0..40] = x[i + k]; "
        "(all(sum(W, axis=0) == sum(materialize(W), axis=0)), "
        "all(sum(V, axis=1) == sum(materialize(V), axis=1)))' --format json");
    FC_EXPECT_STREQ(sh.out, "{\"out1\":true,\"out2\":true}\n");
    shell_close(&sh);
}

/* Sums over several axes of which the operands' places are no run, in tiles on a processor: padded,
 * with strides, as integers and with a result whose axes are in another order. */
FC_TEST(lang_index, convolutions_have_the_bits_of_the_interpreter) {
    OPEN(sh);
    shell_run(&sh, "fusec -q -d cpu -e '1'");
    if (sh.code) FC_SKIP("there is no LLVM here");
    shell_write(&sh, "conv.fuse",
                "def of(x: T[n, c, h, w], k: T[m, c, 3, 5], s: f32[n]) {\n"
                "    p = boundary(x, mode=\"zero\")\n"
                "    a[b, f, i in 0..h, j in 0..w] = sum[l, u, v](p[b, l, i + u - 1, j + v - 2] * "
                "k[f, l, u, v])\n"
                "    y[f, b, i in 0..8, j in 0..6] = sum[l, u, v](x[b, l, 2*i + u, 3*j + v] * "
                "k[f, l, u, v])\n"
                "    z[b, f, i in 0..h - 2, j in 0..w - 4] = sum[u, l, v](f32(x[b, l, i + u, j + "
                "v]) * s[b] * f32(k[f, l, u, v]))\n"
                "    return a, y, z\n}\n");
    for (int i = 0; i < 3; i++) {
        const char *t = i == 0 ? "f32" : i == 1 ? "i8" : "f64";
        for (int d = 0; d < 2; d++)
            EXPECT_RUN(sh, 0,
                       "fusec run conv.fuse -q -d %s x=rand:%s:3x7x19x23 k=rand:%s:9x7x3x5 "
                       "s=rand:f32:3 -o out1=a%d.npy -o out2=b%d.npy -o out3=c%d.npy",
                       d ? "cpu" : "interp", t, t, d, d, d);
        EXPECT_RUN(sh, 0, "cmp a0.npy a1.npy && cmp b0.npy b1.npy && cmp c0.npy c1.npy");
    }
    shell_close(&sh);
}

/* The function and the definition it stands for, on two devices. */
FC_TEST(lang_index, conv_is_its_definition) {
    OPEN(sh);
    shell_write(
        &sh, "conv.fuse",
        "def of(x: T[n, c, h, w], k: T[m, c, 3, 2], q: T[n, 2, c, h, w], r: T[2, m, c, 3, 2]) "
        "{\n"
        "    p = boundary(x, mode=\"zero\")\n"
        "    o = boundary(q, mode=\"zero\")\n"
        "    a[b, f, i in 0..(h + 1) // 2, j in 0..w + 3] = sum[l, u, v](p[b, l, 2*i + u - "
        "1, j + 2*v - 2] * k[f, l, u, v])\n"
        "    y[b, g, f, i in 0..h - 2, j in 0..w - 1] = sum[l, u, v](o[b, g, l, i + u, j + "
        "v] * r[g, f, l, u, v])\n"
        "    s = conv(reshape(q, [n, 2*c, h, w]), reshape(r, [2*m, c, 3, 2]), groups=2)\n"
        "    return a - conv(x, k, stride=[2, 1], padding=[1, [2, 3]], dilation=[1, 2]), y - "
        "reshape(s, [n, 2, m, h - 2, w - 1])\n}\n");
    EXPECT_RUN(sh, 0,
               "fusec run conv.fuse -q -d interp x=rand:f32:2x3x7x9 k=rand:f32:4x3x3x2 "
               "q=rand:f32:2x2x3x7x9 r=rand:f32:2x4x3x3x2 -o out1=a.npy -o out2=b.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'all(a == 0) && all(b == 0)' a=a.npy b=b.npy");
    FC_EXPECT_CONTAINS(sh.out, "True");
    static const char *const wrong[][2] = {
        {"conv(x, k, stride=0)", "no integer constant from 1 on"},
        {"conv(x, k, padding=[1, 2, 3])", "filters slide along 2 axes"},
        {"conv(x, k, groups=2)", "as many channels as"},
        {"conv(x, x[0])", "[n, c, places]"}};
    for (size_t i = 0; i < FC_COUNT(wrong); i++) {
        EXPECT_RUN(sh, 3, "fusec explain -d none -e '%s' x=rand:f32:2x3x7x9 k=rand:f32:4x3x3x2",
                   wrong[i][0]);
        FC_EXPECT_CONTAINS(sh.err, wrong[i][1]);
    }
    shell_close(&sh);
}

/* Windows through which tiles of a GPU read their operands: along places and along k, one element
 * and 16 bytes at a time; axes that are rows or columns together; a derivative. */
FC_TEST(lang_index, convolutions_in_tiles_of_a_gpu) {
    static const char fake[] = "export FUSEC_LIBCUDA_PATH=" FAKE("whole") " FUSEC_NVRTC_PATH=" FAKE(
        "whole") " FAKE_CUDA_EXECUTE=1; ";
    static const char *const of[] = {"f32", "bf16"};
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    OPEN(sh);
    shell_write(
        &sh, "conv.fuse",
        "def of(x: T[n, h, w, c], q: T[n, c, h, w], k: T[3, 3, c, m], r: T[m, c, 3, 3], "
        "d: T[n, h, w, m], e: T[n, 1], z: T[1]) {\n"
        "    p = boundary(x, mode=\"zero\")\n"
        "    o = boundary(q, mode=\"zero\")\n"
        "    last[s, i in 0..h, j in 0..w, f] = sum[u, v, l](p[s, i + u - 1, j + v - 1, l] "
        "* k[u, v, l, f])\n"
        "    first[s, f, i in 0..h, j in 0..w] = sum[l, u, v](o[s, l, i + u - 1, j + v - "
        "1] * r[f, l, u, v])\n"
        "    step[s, f, i in 0..3, j in 0..4] = sum[l, u, v](q[s, l, 2*i + u, 2*j + v] * "
        "r[f, l, u, v])\n"
        "    inside[s, i in 0..h - 2, j in 0..w - 2, f] = sum[u, v, l](x[s, i + u, j + v, "
        "l] * k[u, v, l, f])\n"
        "    by[f, u in 0..3, v in 0..3, l] = sum[s, i, j](p[s, i + u - 1, j + v - 1, l] * "
        "d[s, i, j, f])\n"
        "    scaled[s, f, i in 0..h - 2, j in 0..w - 2] = sum[l, u, v](e[s, 0] * z[0] * q[s, l, i "
        "+ u, j + v] * r[f, l, u, v])\n"
        "    return last, first, step, inside, by, scaled\n}\n");
    for (size_t t = 0; t < FC_COUNT(of); t++)
        for (int d = 0; d < 2; d++)
            EXPECT_RUN(sh, 0,
                       "%sfusec run conv.fuse -q -d %s x=rand:%s:2x7x11x16 q=rand:%s:2x16x7x11 "
                       "k=rand:%s:3x3x16x24 r=rand:%s:24x16x3x3 d=rand:%s:2x7x11x24 e=rand:%s:2x1 "
                       "z=rand:%s:1 -o out1=a%d.npy -o out2=b%d.npy -o out3=c%d.npy -o "
                       "out4=d%d.npy -o out5=e%d.npy -o out6=f%d.npy && test $(cat ?%d.npy | wc "
                       "-c) -gt 9000",
                       d ? fake : "", d ? "cuda" : "interp", of[t], of[t], of[t], of[t], of[t],
                       of[t], of[t], d, d, d, d, d, d, d);
    EXPECT_RUN(sh, 0, "for i in a b c d e f; do cmp ${i}0.npy ${i}1.npy || exit 1; done");
    shell_close(&sh);
}

/* With sizes that have names: what must hold at the call, in the words of the source. */
FC_TEST(lang_index, conditions_on_sizes) {
    static const char text[] = "def f(a: f32[n], m: dim) -> f32[m] {\n"
                               "    y[i in 0..m] = a[i + 2] - a[i]\n"
                               "    return y\n}\n";
    langbox b = langbox_program("p.fuse", text, strlen(text), NULL);
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_CONTAINS(b.graph, "require n - 1 >= m + 1\n");
    langbox_free(&b);
    OPEN(sh);
    shell_write(&sh, "p.fuse", text);
    EXPECT_RUN(sh, 4, "fusec run p.fuse a=iota:f32:5 m=4 -d interp");
    FC_EXPECT_CONTAINS(sh.err, "`i + 2` reaches outside a in `a[i + 2]` (p.fuse:2:22)");
    EXPECT_RUN(sh, 0, "fusec run p.fuse a=iota:f32:5 m=3 -d interp");
    FC_EXPECT_STREQ(sh.out, "[2. 2. 2.]\n");
    shell_close(&sh);
}

/* An index from the data that is outside: the access, the position and the value. */
FC_TEST(lang_index, data_outside) {
    OPEN(sh);
    EXPECT_RUN(sh, 4, "fusec -e 'y[r] = t[3*i[r], 1]; y' t=iota:f32:4x2 i=iota:i32:5 -d interp");
    FC_EXPECT_CONTAINS(sh.err,
                       "<expr>:1:8: an index of `t[3*i[r], 1]` is outside: "
                       "3*i[r] at [2] is 6, axis 0 of t has 4 elements [index-out-of-range]");
    EXPECT_RUN(sh, 4, "fusec -e 'take(t, 2*i)' t=iota:f32:4 i=iota:i32:4 -d interp");
    FC_EXPECT_CONTAINS(sh.err, "2*i at [2] is 4, axis 0 of t has 4 elements");
    EXPECT_RUN(sh, 4, "fusec -e 't[i - 1]' t=iota:f32:4 i=iota:i32:4 -d interp");
    FC_EXPECT_CONTAINS(sh.err, "is -1, axis 0 of t has 4 elements [index-out-of-range]");
    shell_close(&sh);
}

/* ---- loops -------------------------------------------------------------------------------------
 */

/* A loop is its body, written out. */
FC_TEST(lang_loop, one_node_with_the_written_rounds) {
    static const char *const pairs[][2] = {
        {"y = x; for k in 2..4 { t = y + k; y = t*t }", "t = x + 2; t = t*t + 3; y = t*t"},
        {"y = x; for k in 0..0 { y = y + 1 }", "y = x"},
        {"y = x; for k in 0..2 { for k in 3..5 { y = y*k } }", "y = x*3*4*3*4"},
        {"s = 0.0; for k in 0..3 { s = s + x[k] }; y = s", "y = f32(0) + x[0] + x[1] + x[2]"},
        {"y = x; for k in 0..2 while y < 2 { y = y + 1 }",
         "a = x < 2; u = where(a, x + 1, x); b = a and u < 2; y = where(b, u + 1, u)"},
        {"y = x; for k in 0..9 while k < 2 { y = y + k }", "y = x + 0 + 1"},
    };
    for (size_t i = 0; i < FC_COUNT(pairs); i++) {
        char text[400];
        snprintf(text, sizeof text, "%s; P = y; %s; Q = y; P, Q, x", pairs[i][0], pairs[i][1]);
        expect_one_node(text, "x: f32[6]");
    }
    expect_one_node("y = x; for k in 0..2 { y = y*y + k }; P = y; "
                    "u = x*x + 0; Q = u*u + 1; P, Q, x",
                    "x: f32[6]");
}

/* The counter and other scalars are indices, of loops that are launched, too. */
FC_TEST(lang_loop, reads_where_the_counter_says) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "fusec -e 's = 0.0; for k in 0..i[4] { s = 10*s + x[k] }; s' x=iota:f32:5 "
               "i=iota:i32:5 -d interp");
    FC_EXPECT_CONTAINS(sh.out, "123");
    EXPECT_RUN(sh, 0,
               "fusec -e 's = x[0]; for k in 0..i[2] { s = s + x[i[2] - k] }; s' "
               "x=iota:f32:3x2 i=iota:i64:3 -d interp");
    FC_EXPECT_CONTAINS(sh.out, "[6. 9.]");
    EXPECT_RUN(sh, 4,
               "fusec -e 's = 0.0; for k in 0..i[4] { s = 10*s + x[k] }; s' x=iota:f32:3 "
               "i=iota:i32:5 -d interp");
    FC_EXPECT_CONTAINS(sh.err, "k is 3, axis 0 of x has 3 elements [index-out-of-range]");
    shell_close(&sh);
}

/* An element that has stopped reads nothing, so that nothing it would read is outside. */
FC_TEST(lang_loop, what_has_stopped_reads_nothing) {
    OPEN(sh);
    for (int rounds = 9; rounds < 1000; rounds += 900) {
        shell_run(&sh,
                  "fusec -e 'p = 0*i; for k in 0..%d while p < i { p = p + 1 + 0*t[p] }; p' "
                  "t=iota:i32:3 i=iota:i32:4 -d interp",
                  rounds);
        FC_EXPECT_STREQ(sh.err, "");
        FC_EXPECT_CONTAINS(sh.out, "[0 1 2 3]");
    }
    shell_close(&sh);
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

static int kernels(shell *sh, const char *arguments) {
    int n = 0;
    shell_run(sh, "fusec explain %s -d none --json", arguments);
    FC_EXPECT_STREQ(sh->err, "");
    for (const char *p = sh->out; (p = strstr(p, "\"name\":\"k")) != NULL; p++) n++;
    return n;
}

FC_TEST(lang_index, kernel_counts) {
    static const struct {
        int n;
        const char *arguments;
    } counts[] = {
        {1, "-e 'C[i, j] = sum[k](A[i, k] * B[k, j]); C' A=f32:64x32 B=f32:32x48"},
        {1, "-e 't[idx] * scale + bias' t=f32:100x64 idx=i32:20 scale=f32:64 bias=f32:64"},
        {1, "-e 'b = boundary(x, mode=\"wrap\"); y[i] = b[i-1] - 2*b[i] + b[i+1]; y' x=f32:100"},
        {1, "-e 'pad(exp(x), [[1, 1], [1, 1]], mode=\"reflect\")' x=f32:100x64"},
        {1, "-e 'sum(concat([a, b], axis=0)**2)' a=f32:100 b=f32:50"},
        {1, "-e 'concat([exp(a), b], axis=1)' a=f32:100x40 b=f32:100x50"},
        {1, "-e 'take_along(x, argmax(x, axis=1, keepdims=true), axis=1)' x=f32:100x64"},
        {1, "-e 'roll(x, 1, axis=0) - 2*x + roll(x, -1, axis=0)' x=f32:100x64"},
        {1, "-e 'repeat(x, 3, axis=0)*2 + 1' x=f32:100x64"},
        {1, "-e 'mean(window(x, 5), axis=1)' x=f32:100"},
        {1, "-e 'sum(exp(-sum((a[:, None] - b[None])**2, axis=2)), axis=1)' a=f32:90x3 b=f32:80x3"},
        {1, "-e 'stack([exp(x), sin(x)], axis=1)' x=f32:100"},
        {1, "'" FUSEC_SOURCE_DIR "/examples/embedding.fuse'"},
        {1, "'" FUSEC_SOURCE_DIR "/examples/convolution.fuse'"},
        {1, "-e 'einsum(\"bik,jk->bji\", a, b)' a=f32:3x64x32 b=f32:48x32"},
        {4, "'" FUSEC_SOURCE_DIR "/examples/colours.fuse'"},
        {3, "'" FUSEC_SOURCE_DIR "/examples/gaussian.fuse'"},
        {3, "'" FUSEC_SOURCE_DIR "/tests/lang/programs/blur.fuse'"},
        {2, "'" FUSEC_SOURCE_DIR "/tests/lang/programs/gather.fuse'"},
        {1, "'" FUSEC_SOURCE_DIR "/tests/lang/programs/nbody.fuse'"},
        {1, "'" FUSEC_SOURCE_DIR "/tests/lang/programs/pdist_index.fuse'"},
        {2, "-e 'h[k[i]] += 1; h' h=i32:100 k=i32:1000"},
        {4, "-e 'h[k[i]] += w[i]; h' h=f32:100 k=i32:1000 w=f32:1000"},
        {1, "-e 'cumsum(exp(x), axis=-1)*0.5' x=f32:100x64"},
        {1, "-e 'cumsum(x, axis=0, reset=new)' x=f32:100x64 new=bool:100x64"},
        {2, "-e 'cumsum(x) / sum(x)' x=f32:100"},
        {1, "-e 'where(uniform([100], seed=7) < 0.1, 0, x / 0.9)' x=f32:100"},
        {1, "-e 'normal([100], seed=1)*s + m' s=f32:100 m=f32:100"},
        {1, "-e 'for k in 0..8 { y = 0.5*(y + a/y) }; y' y=f32:100 a=f32:100"},
        {1, "-e 'abs(exp(complex(0, x)))**2' x=f32:100"},
        {1, "-e 'e = exp(x - max(x, axis=1, keepdims=true)); e / sum(e, axis=1, keepdims=true)' "
            "x=f32:32x100x64"},
    };
    OPEN(sh);
    for (size_t i = 0; i < FC_COUNT(counts); i++) {
        FC_TRACE("%s", counts[i].arguments);
        FC_EXPECT_EQ_I64(kernels(&sh, counts[i].arguments), counts[i].n);
        FC_UNTRACE();
    }
    shell_close(&sh);
}

/* What a round makes of the array that it stores is not stored as well: 4*u, read by the next one.
 */
FC_TEST(lang_index, a_round_of_a_stencil_stores_one_array) {
    OPEN(sh);
    shell_run(&sh, "fusec explain -d none --json u=f32:64x64 -e 'for s in 0..6 { "
                   "c = boundary(u, mode=\"edge\"); "
                   "v[i in 0..64, j in 0..64] = c[i, j] + 0.1*(c[i-1, j] + c[i+1, j] + c[i, j-1] + "
                   "c[i, j+1] - 4*c[i, j]); u = v }; u'");
    FC_EXPECT_STREQ(sh.err, "");
    unsigned kernels = 0;
    for (const char *p = sh.out; (p = strstr(p, "\"outputs\":[")) != NULL; p++, kernels++)
        FC_EXPECT_TRUE(strchr(p, ']') < strchr(p, ','));
    FC_EXPECT_EQ_U64(kernels, 6);
    shell_close(&sh);
}

/* The text of the kernel, without the two lines that name it. */
static char *kernel_text(shell *sh, const char *file, const char *level) {
    shell_run(sh,
              "fusec explain '" FUSEC_SOURCE_DIR "/tests/lang/programs/%s.fuse' -d none "
              "--emit %s --arch %s | grep -v 'made by fusec' | grep -v ' makes ' | sed 's/%s/D/g'",
              file, level, strcmp(level, "cuda") ? "x86-64-v3" : "sm_90", file);
    FC_EXPECT_STREQ(sh->err, "");
    return strdup(sh->out);
}

/* The array form and the index form are one kernel, to the byte. */
FC_TEST(lang_index, one_kernel_text_with_the_array_form) {
    OPEN(sh);
    for (int k = 0; k < 2; k++) {
        const char *level = k ? "llvm" : "cuda";
        char *array = kernel_text(&sh, "pdist", level);
        char *index = kernel_text(&sh, "pdist_index", level);
        FC_EXPECT_TRUE(strlen(array) > 1000);
        FC_EXPECT_STREQ(index, array);
        free(array);
        free(index);
    }
    shell_close(&sh);
}
