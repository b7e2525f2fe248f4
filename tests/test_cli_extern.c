/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli_extern.c - `extern def` and --extern: a library gives the function for the CPU and the
 * interpreter, a text the one for a GPU; and what goes wrong. */
#include <stdio.h>
#include <string.h>

#include "ir/base.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

static const char program[] = "# light over saturation\n"
                              "extern def bend(x: f32, a: f32) -> f32\n\n"
                              "export def f(x: f32[n], a: f32) -> f32 = sum(bend(x, a) * 2)\n\n"
                              "def g(x: f32[n]) -> f32[n] {\n"
                              "    y[i] = bend(x[i], i) + bend(a=2, x=x[i])\n"
                              "    return y\n"
                              "}\n";
static const char source[] = "float bend(float x, float a) { return x * x - a * x; }\n"
                             "double half(double x) { return x / 2; }\n"
                             "float bias = 1;\n";
static const char cuda[] = "__device__ float bend(float x, float a) { return x * x - a * x; }\n";

static bool start(shell *sh) {
    if (!shell_open(sh)) return false;
    shell_write(sh, "p.fuse", program);
    shell_write(sh, "bend.c", source);
    shell_write(sh, "bend.cu", cuda);
    return shell_run(sh, "${CC:-cc} -shared -fPIC -O1 -ffp-contract=off -o bend.so bend.c") &&
           sh->code == 0;
}

FC_TEST(cli_extern, of_a_library) {
    shell sh;
    if (!start(&sh)) FC_SKIP("no C compiler");
    static const char *const devices[] = {"interp", "cpu"};
    for (int i = 0; i < 2; i++) {
        EXPECT_RUN(sh, 0, "fusec run p.fuse --extern bend.so x=iota:f32:4 a=0.5 -d %s", devices[i]);
        FC_EXPECT_STREQ(sh.out, "22.0\n");
        EXPECT_RUN(sh, 0, "fusec run p.fuse:g --extern ./bend.so x=iota:f32:4 -d %s", devices[i]);
        FC_EXPECT_STREQ(sh.out, "[ 0. -1.  0.  3.]\n");
    }
    EXPECT_RUN(sh, 0,
               "fusec -f p.fuse --extern bend.so -d interp -e 'bend(x, 1) + bend(2, a=x)' "
               "x=iota:f32:3");
    FC_EXPECT_STREQ(sh.out, "[4. 2. 2.]\n");
    EXPECT_RUN(sh, 0, "fusec check p.fuse --extern bend.cu");
    EXPECT_RUN(sh, 0, "fusec explain p.fuse -d none --arch sm_90 --emit cuda --extern bend.cu");
    FC_EXPECT_CONTAINS(sh.out, "x * x - a * x");
    EXPECT_RUN(sh, 0, "cp p.fuse q.fuse && fusec fmt q.fuse && cmp p.fuse q.fuse");
    /* declared in a file that is imported; the text that is printed reads back */
    shell_write(&sh, "m.fuse",
                "from \"p.fuse\" import bend\n"
                "def h(x: f32[n]) -> f32[n] = bend(bend(x, 3), 2)\n");
    EXPECT_RUN(sh, 0,
               "fusec explain m.fuse --extern bend.so --emit fuse >t.fuse && "
               "fusec explain t.fuse --extern bend.so --emit fuse >u.fuse && cmp t.fuse u.fuse && "
               "fusec run t.fuse --extern bend.so x=iota:f32:3 -d interp");
    FC_EXPECT_STREQ(sh.out, "[0. 8. 8.]\n");
    shell_close(&sh);
}

static const struct {
    int code;
    const char *text, *words, *says;
} wrong[] = {
    {5, "", "", "`bend` is extern, and no function is given for it [call-failed]"},
    {5, "", "", "help: say where it is: --extern FILE"},
    {4, "", "--extern nowhere.so", "--extern: cannot load ./nowhere.so"},
    {4, "", "--extern nowhere.cu", "nowhere.cu"},
    {4, "", "--extern ./text.so", "--extern: cannot load ./text.so"},
    {2, "", "--extern bend.c", "--extern bend.c is neither a library (.so) nor CUDA C"},
    {5, "extern def bent(x: f32) -> f32\n", "--extern bend.so --extern bend.cu",
     "no file of --extern has a function `bent`"},
    {5, "extern def write(x: i32) -> i32\n", "--extern bend.so",
     "no file of --extern has a function `write`"},
    {5, "extern def bias(x: f32) -> f32\n", "--extern bend.so",
     "no file of --extern has a function `bias`"},
    {3, "extern def half(x: f32) -> f64\n", "--extern bend.so",
     "`half` of bend.so has to be of f32, f64, i32 or i64"},
    {5, "", "--extern bend.cu", "bend has no function for the CPU [call-failed]"},
    {3, "def h(x: f64[n]) -> f32[n] = bend(x, 1)\n", "--extern bend.so",
     "x is f64[n]; bend() takes f32 here [dtype-mismatch]"},
    {3, "def h(x: f32[n]) -> f32[n] = bend(x)\n", "--extern bend.so", "[argument-count]"},
    {3, "def h(x: f32[n]) -> f32[n] = bend(x, b=1)\n", "--extern bend.so", "[argument-count]"},
    {3, "def h(x: f32[3], y: f32[2]) -> f32[3] = bend(x, y)\n", "--extern bend.so",
     "[shape-mismatch]"},
    {3, "@gradient(bend)\ndef h(x: f32) -> f32 = x\ndef k(x: f32) -> f32 = grad(h(x), x)\n",
     "--extern bend.so", "@gradient() names the definition that gives the derivative"},
    {3, "def h(x: f32[n]) -> f32[n] = grad(sum(bend(x, 1)), x)\n", "--extern bend.so",
     "[no-gradient]"},
    {3, "def h(x: f32[n]) -> f32 = reduce(bend, 0, x)\n", "--extern bend.so", "extern"},
};

FC_TEST(cli_extern, what_goes_wrong) {
    shell sh;
    if (!start(&sh)) FC_SKIP("no C compiler");
    shell_write(&sh, "text.so", "no library\n");
    for (size_t i = 0; i < FC_COUNT(wrong); i++) {
        char text[2000];
        snprintf(text, sizeof text, "%s%s", program, wrong[i].text);
        shell_write(&sh, "w.fuse", text);
        const bool typed = strstr(wrong[i].text, "def h");
        EXPECT_RUN(sh, wrong[i].code, "fusec %s %s",
                   typed ? "check w.fuse" : "run w.fuse:f x=iota:f32:3 a=1 -d interp",
                   wrong[i].words);
        FC_EXPECT_CONTAINS(sh.err, wrong[i].says);
    }
    EXPECT_RUN(sh, 5, "fusec build p.fuse -o code");
    FC_EXPECT_CONTAINS(sh.err, "fusec run --extern FILE");
    shell_close(&sh);
}
