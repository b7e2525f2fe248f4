/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli_sizes.c - sizes on the command line: what `check` makes of them, sizes that overflow,
 * arrays that do not fit the memory. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/shell.h"
#include "tests/support/test.h"

static const char shapes[] =
    "export def f(x: f32[n, m], w: f32[m]) -> f32[n - 2, m] = x[2:, :] * w\n"
    "def mid(x: T[..., n]) -> (mid: T[..., n-1], slope: T[..., n-1]) {\n"
    "    return (x[..., 1:] + x[..., :-1])/2, x[..., 1:] - x[..., :-1]\n"
    "}\n"
    "def grid(h: dim, w: dim) -> f32[h, w - 1] = zeros([h, w - 1])\n"
    "def pairs(a: f32[n], b: f32[m]) -> f32[n*m] = reshape(a[:, None] * b, [n*m])\n"
    "def free(x) = x + 1\n";

static const struct {
    const char *name, *words;
    int code;
    const char *out, *err;
} checks[] = {
    {"as_written", "f.fuse:f", 0,
     "f(x: f32[n, m], w: f32[m]) -> f32[n - 2, m]\n    needs n - 2 >= 0\n", ""},
    {"all_sizes", "f.fuse:f x=f32:5x3", 0, "f(x: f32[5, 3], w: f32[3]) -> f32[3, 3]\n", ""},
    {"some_sizes", "f.fuse:f w=f32:7", 0,
     "f(x: f32[n, 7], w: f32[7]) -> f32[n - 2, 7]\n    needs n - 2 >= 0\n", ""},
    {"a_size_by_name", "f.fuse:f x=f32:5xk", 0, "f(x: f32[5, m], w: f32[m]) -> f32[3, m]\n", ""},
    {"a_condition_fails", "f.fuse:f x=f32:1x3", 4, "",
     "fusec: error: `2:` reaches outside x in `x[2:, :]` (f.fuse:1:60): n - 2 must be at least 0, "
     "but it is -1 (n = 1) [slice-range]\n"},
    {"leading_axes", "f.fuse:mid x=f16:2x3x4", 0,
     "mid(x: f16[2, 3, 4]) -> (mid: f16[2, 3, 3], slope: f16[2, 3, 3])\n", ""},
    {"sizes_without_arrays", "f.fuse:grid h=3 w=4", 0, "grid(h = 3, w = 4) -> f32[3, 3]\n", ""},
    {"one_of_them", "f.fuse:grid h=3", 0,
     "grid(h = 3, w: dim) -> f32[3, w - 1]\n    needs w - 1 >= 0\n", ""},
    {"products", "f.fuse:pairs a=f32:6 b=f32:7", 0, "pairs(a: f32[6], b: f32[7]) -> f32[42]\n", ""},
    {"half_a_product", "f.fuse:pairs a=f32:6", 0, "pairs(a: f32[6], b: f32[m]) -> f32[n*m]\n", ""},
    {"no_types", "f.fuse:free x=f64:2x2", 0, "free(x: f64[2, 2]) -> f64[2, 2]\n", ""},
    {"an_expression", "-e 'x[2:]*y' x=f32:5 y=f32:3", 0, "x: f32[5]\ny: f32[3]\nresult: f32[3]\n",
     ""},
    {"too_large", "f.fuse:f x=f32:99999999999x99999999999", 4, "",
     "fusec: error: input x has more bytes than 64 bits can count [input-shape]\n"},
    {"product_too_large", "f.fuse:pairs a=f32:99999999999 b=f32:99999999999", 4, "",
     "fusec: error: the size n*m does not fit into 64 bits for these inputs [input-shape]\n"},
};

static void run_check(void *arg) {
    size_t i = (size_t)(uintptr_t)arg;
    OPEN(sh);
    shell_write(&sh, "f.fuse", shapes);
    EXPECT_RUN(sh, checks[i].code, "fusec check %s", checks[i].words);
    FC_EXPECT_STREQ(sh.out, checks[i].out);
    FC_EXPECT_STREQ(sh.err, checks[i].err);
    shell_close(&sh);
}

FC_REGISTER(checks) {
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        FC_ADD_TEST("cli_check", checks[i].name, run_check, i);
}

FC_TEST(cli_check, json_has_sizes_too) {
    OPEN(sh);
    shell_write(&sh, "f.fuse", shapes);
    EXPECT_RUN(sh, 0, "fusec check f.fuse:f x=f32:5x7 --json");
    FC_EXPECT_CONTAINS(sh.out, "\"signature\":\"f(x: f32[5, 7], w: f32[7]) -> f32[3, 7]\"");
    FC_EXPECT_CONTAINS(sh.out, "{\"name\":\"w\",\"type\":\"f32[7]\",\"default\":false}");
    FC_EXPECT_CONTAINS(sh.out, "{\"name\":\"out\",\"type\":\"f32[3, 7]\"}],\"conditions\":[]}");
    EXPECT_RUN(sh, 0, "fusec check f.fuse:f --json");
    FC_EXPECT_CONTAINS(sh.out, "\"conditions\":[\"n - 2 >= 0\"]");
    shell_close(&sh);
}

/* ---- sizes that 64 bits can't count are the data's fault: exit code 4 ------------------------ */

static const char *const overflows[] = {
    "fusec -e 'x' x=rand:f32:99999999999x99999999999",
    "fusec -e 'x' x=rand:f32:9223372036854775807",
    "fusec -e 'x' x=rand:f32:9223372036854775807x0",
    "fusec -e 'x[:, None] + y' x=zeros:f32:40000000000 y=zeros:f32:40000000000",
    "fusec explain -e 'x[:, None] + y' x=f32:40000000000 y=f32:40000000000",
    "fusec bench -e 'sum(x)' x=rand:f32:99999999999x99999999999",
    "fusec run f.fuse:grid h=99999999999 w=99999999999",
    "fusec run f.fuse:pairs a=rand:f32:99999999999 b=rand:f32:99999999999",
};

static void run_overflow(void *arg) {
    OPEN(sh);
    shell_write(&sh, "f.fuse", shapes);
    EXPECT_RUN(sh, 4, "%s -d interp", overflows[(size_t)(uintptr_t)arg]);
    FC_EXPECT_CONTAINS(sh.err, "64 bits");
    FC_EXPECT_CONTAINS(sh.err, " [input-shape]\n");
    FC_EXPECT_STREQ(sh.out, "");
    shell_close(&sh);
}

FC_REGISTER(overflows) {
    for (size_t i = 0; i < sizeof overflows / sizeof overflows[0]; i++) {
        char name[16] = "case_a";
        name[5] = (char)('a' + i);
        FC_ADD_TEST("cli_overflow", name, run_overflow, i);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Takes the amount before " are free" out, which is a matter of the machine. */
static void forget_free(char *text) {
    char *end = strstr(text, " GiB are free");
    char *begin = end;
    while (begin && begin > text && begin[-1] != ' ') begin--;
    if (begin) memmove(begin, end + 1, strlen(end));
}

/* As the manual shows it, on a machine that has less than 160 TiB. */
FC_TEST(cli_gallery, out_of_memory) {
    OPEN(sh);
    shell_write(&sh, "pdist.fuse",
                "export def pdist(a: f32[n, d], b: f32[m, d]) -> f32[n, m] =\n"
                "    sqrt(sum((a[:, None, :] - b[None, :, :])**2, axis=-1))\n");
    EXPECT_RUN(sh, 5, "fusec run pdist.fuse a=rand:200000000x1 b=rand:215000x1 -d interp");
    forget_free(sh.err);
    FC_EXPECT_STREQ(sh.err, "fusec: error: not enough memory on interp: this needs 160188.2 GiB, "
                            "GiB are free [out-of-memory]\n"
                            "  result out: f32[200000000, 215000]     160187.5 GiB\n"
                            "  inputs:                                  0.7 GiB     "
                            "temporaries: none\n");
    shell_close(&sh);
}

FC_TEST(cli_gallery, products_that_can_not_be) {
    OPEN(sh);
    EXPECT_RUN(sh, 4, "fusec -e 'zeros([n, 1]) @ zeros([1, n])' n=3000000000 -d interp");
    FC_EXPECT_STREQ(sh.err, "fusec: error: out has more bytes than 64 bits can count "
                            "[input-shape]\n");
    EXPECT_RUN(sh, 5, "fusec -e 'zeros([n, 1]) @ zeros([1, n])' n=300000000 -d interp");
    forget_free(sh.err);
    FC_EXPECT_CONTAINS(sh.err, "fusec: error: not enough memory on interp: this needs "
                               "335276126.9 GiB, GiB are free [out-of-memory]\n");
    EXPECT_RUN(sh, 3, "fusec check -e 'a @ b' a=i64:3x4 b=u64:4x5");
    FC_EXPECT_CONTAINS(sh.err, "i64 and u64 have no common dtype [dtype-mismatch]\n");
    FC_EXPECT_CONTAINS(sh.err, "help: a @ i64(b), or u64(a) @ b: whichever range is meant\n");
    EXPECT_RUN(sh, 3, "fusec check -e 'a @ b' a=f32:3x4 b=f32:5x6");
    FC_EXPECT_CONTAINS(sh.err, "axis 1 of the left operand");
    shell_close(&sh);
}

/* The same form when the system says that there is memory and then gives none. */
FC_TEST(cli, memory_that_is_not_given) {
    OPEN(sh);
    shell_run(&sh, "ulimit -v 1000000; fusec --version");
    if (sh.code != 0) { /* a sanitizer needs its shadow memory */
        shell_close(&sh);
        FC_SKIP("it does not start in 1 GB of addresses");
    }
    EXPECT_RUN(sh, 5, "ulimit -v 1000000; fusec -e 'sum(x)' x=rand:f32:400000000 -d interp");
    FC_EXPECT_CONTAINS(sh.err, "fusec: error: not enough memory on interp: this needs 1.5 GiB, ");
    FC_EXPECT_CONTAINS(sh.err, " [out-of-memory]\n  result out: f32       0.0 GiB\n"
                               "  inputs:               1.5 GiB     temporaries: none\n");
    FC_EXPECT_STREQ(sh.out, "");
    shell_close(&sh);
}
