/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli_bad_input.c - what the command does with words, variables and files that it can't take,
 * and with files that can't be written. */
#include <stdio.h>

#include "tests/support/shell.h"
#include "tests/support/test.h"

static const struct {
    const char *name, *command, *err;
    int code;
} refused[] = {
    {"threads", "FUSEC_THREADS=abc fusec -e 'x + 1' x=rand:f32:4",
     "fusec: error: FUSEC_THREADS=abc: a whole number from 0 to 99999 is needed [invalid]\n", 2},
    {"tiers", "FUSEC_TIERS=abc fusec -e 'x + 1' x=rand:f32:4",
     "fusec: error: FUSEC_TIERS=abc: it is both, full or quick [invalid]\n", 2},
    {"device", "FUSEC_DEVICE=frob fusec -e 'x + 1' x=rand:f32:4",
     "fusec: error: unknown device frob: auto, cpu, cuda, cuda:N or interp [invalid]\n", 2},
    {"literal", "fusec -e 'x + 1e400' x=rand:f32:4",
     "<expr>:1:5: error: 1e400 is above the largest f64, 1.8e308 [literal-range]\n"
     "   1 | x + 1e400\n"
     "     |     ^^^^^\n"
     "  help: `inf` is infinity\n",
     3},
    {"scalar", "fusec -e 'x + k' x=rand:f32:4 k=1e999",
     "fusec: error: k=1e999: the number is above the largest f64, 1.8e308 [usage]\n"
     "  help: inf is infinity\n",
     2},
    {"size_name", "fusec -e 'x + 1' x=rand:nxm",
     "fusec: error: the size n of x is not known [missing-input]\n  help: n=1000 gives it\n", 2},
    {"size_name_2", "fusec -e 'x + 1' x=rand:3xm",
     "fusec: error: the size m of x is not known [missing-input]\n  help: m=1000 gives it\n", 2},
    {"size_name_3", "fusec -e 'x + 1' x=rand:nxm n=3",
     "fusec: error: the size m of x is not known [missing-input]\n  help: m=1000 gives it\n", 2},
    {"max_of_numbers", "fusec -e 'max(1, 2)'",
     "<expr>:1:1: error: max() reduces one array; here it has two arguments [argument-count]\n"
     "   1 | max(1, 2)\n"
     "     | ^^^^^^^^^\n"
     "  help: maximum(1, 2)     element by element, like C and GLSL max(a, b)\n"
     "        max(1, axis=...)  along one axis\n",
     3},
    {"csv", "printf '1,2\\n3,4\\n' > a.csv; fusec -e x x=a.csv",
     "fusec: error: a.csv is not an NPY file: it is text [npy-format]\n"
     "  help: numpy.save(\"FILE.npy\", numpy.loadtxt(\"a.csv\", delimiter=\",\"))\n",
     4},
    {"jpeg", "printf '\\377\\330\\377\\340abcdef' > a.jpg; fusec -e x x=a.jpg",
     "fusec: error: a.jpg is not an NPY file: it is a JPEG image [npy-format]\n"
     "  help: convert it to PNG, or save it with numpy.save\n",
     4},
    {"largest_file", "(ulimit -f 1; fusec -q -d interp -e 'x' x=rand:f32:100000 -o y.npy)",
     "fusec: error: cannot write y.npy: the file is too large for the file system [io]\n", 4},
};

static void run_refused(void *arg) {
    size_t i = (size_t)(uintptr_t)arg;
    OPEN(sh);
    EXPECT_RUN(sh, refused[i].code, "%s", refused[i].command);
    FC_EXPECT_STREQ(sh.err, refused[i].err);
    EXPECT_RUN(sh, 0, "ls -A .fusec-* y.npy 2>/dev/null | wc -l"); /* nothing stays */
    FC_EXPECT_STREQ(sh.out, "0\n");
    shell_close(&sh);
}

FC_REGISTER(refused) {
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        FC_ADD_TEST("cli_bad_input", refused[i].name, run_refused, i);
}

/* A limit on open files is no fault of fusec. */
FC_TEST(cli_bad_input, few_open_files) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'arange(4)*1.0' -o x.npy");
    EXPECT_RUN(sh, 4,
               "(exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4;"
               " fusec -q --no-cache -d cpu -e 'x + 1' x=x.npy)");
    FC_EXPECT_CONTAINS(sh.err, "[io]");
    shell_close(&sh);
}

FC_TEST(cli_bad_input, a_cache_that_was_asked_for_and_is_not_there) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "FUSEC_CACHE_DIR=/proc/nope fusec -d interp -e 'x + 1' x=rand:f32:4");
    FC_EXPECT_CONTAINS(sh.err, "kernels are not kept on disk: FUSEC_CACHE_DIR: /proc/nope");
    shell_close(&sh);
}

FC_TEST(cli_bad_input, floats_outside_a_picture) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -d interp -e 'reshape(arange(6), [2, 3])*1.0' -o y.png");
    FC_EXPECT_CONTAINS(sh.err, "y.png: 4 elements are not from 0 to 1 and were cut off\n");
    shell_close(&sh);
}

/* A link that leads nowhere yet is followed as one that leads somewhere. */
FC_TEST(cli_bad_input, links_are_followed) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "mkdir d; ln -s d/y.npy l.npy; fusec -q -d interp -e 'x' x=rand:f32:4 -o l.npy");
    EXPECT_RUN(sh, 0, "test -L l.npy && test -f d/y.npy && test ! -L d/y.npy");
    shell_close(&sh);
}

/* Several results appear together or not at all. */
FC_TEST(cli_bad_input, results_appear_together) {
    OPEN(sh);
    shell_write(&sh, "f.fuse",
                "export def f(x: f32[n]) -> (a: f32[n], b: f32[n]) { return x + 1, x*2 }\n");
    EXPECT_RUN(sh, 4, "fusec -q run f.fuse -d interp x=rand:f32:4 -o a=a.npy -o b=b.png");
    EXPECT_RUN(sh, 0, "ls -A | grep -E 'npy|png|tmp' | wc -l");
    FC_EXPECT_STREQ(sh.out, "0\n");
    EXPECT_RUN(sh, 0, "fusec -q run f.fuse -d interp x=rand:f32:4 -o a=a.npy -o b=b.npy");
    EXPECT_RUN(sh, 0, "test -f a.npy && test -f b.npy");
    shell_close(&sh);
}
