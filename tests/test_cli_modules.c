/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli_modules.c - programs of several files on the command line, and what `check` looks at. */
#include <string.h>

#include "tests/support/shell.h"
#include "tests/support/test.h"

static const char nn[] = "const EPS = 0.5\n"
                         "def shift(x) = x + EPS\n"
                         "def scaled(x: T[n], k: T = 3) -> T[n] = k * x\n";

static const char block[] = "import \"../nn.fuse\"\n"
                            "from \"deep/more.fuse\" import twice\n\n"
                            "def block(x) = twice(nn.shift(x))\n";

FC_TEST(cli_modules, paths_and_consts) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "mkdir -p lib/sub/deep other/deep");
    shell_write(&sh, "lib/nn.fuse", nn);
    shell_write(&sh, "lib/sub/block.fuse", block);
    shell_write(&sh, "other/deep/more.fuse", "def twice(x) = 2*x\n");
    shell_write(&sh, "main.fuse",
                "from \"lib/nn.fuse\" import EPS\n"
                "import \"lib/sub/block.fuse\" as b\nimport \"lib/nn.fuse\" as nn\n"
                "export def f(x: f32[n]) -> f32[n] = b.block(x) + nn.scaled(x) + nn.EPS*0\n");
    EXPECT_RUN(sh, 4, "fusec check main.fuse");
    FC_EXPECT_CONTAINS(sh.err, "lib/sub/block.fuse:2:6: error: there is no file "
                               "\"deep/more.fuse\" [io]\n");
    FC_EXPECT_CONTAINS(sh.err, "  looked for: lib/sub/deep/more.fuse\n");
    EXPECT_RUN(sh, 0, "fusec check main.fuse -I lib -I other");
    FC_EXPECT_STREQ(sh.out, "f(x: f32[n]) -> f32[n]\n");
    EXPECT_RUN(sh, 0, "fusec run main.fuse -I other -d interp x=iota:f32:3");
    FC_EXPECT_STREQ(sh.out, "[ 1.  6. 11.]\n");
    EXPECT_RUN(sh, 0, "fusec run main.fuse -I other -D EPS=2 -d interp x=iota:f32:3");
    FC_EXPECT_STREQ(sh.out, "[ 4.  9. 14.]\n");
    EXPECT_RUN(sh, 0, "fusec -f main.fuse -I other -d interp -e 'nn.shift(x)' x=iota:f32:2");
    FC_EXPECT_STREQ(sh.out, "[0.5 1.5]\n");
    EXPECT_RUN(sh, 0, "fusec build main.fuse -I other -o code --emit llvm && ls code");
    EXPECT_RUN(sh, 0, "fusec fmt main.fuse lib/sub/block.fuse && cat lib/sub/block.fuse");
    FC_EXPECT_STREQ(sh.out, block);
    shell_close(&sh);
}

/* The same file by two paths is one file; a folder is none. */
FC_TEST(cli_modules, one_file_by_two_names) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "mkdir lib && ln -s lib also");
    shell_write(&sh, "lib/nn.fuse", nn);
    shell_write(&sh, "main.fuse",
                "from \"lib/nn.fuse\" import shift\nimport \"also/../lib/./nn.fuse\" as n\n"
                "def f(x: f32[n]) -> f32[n] = shift(x) + n.shift(x)\n");
    EXPECT_RUN(sh, 0, "fusec check main.fuse");
    shell_write(&sh, "lib/nn.fuse", "import \"../main.fuse\"\ndef shift(x) = x\n");
    EXPECT_RUN(sh, 3, "fusec check main.fuse");
    FC_EXPECT_CONTAINS(sh.err, "lib/nn.fuse:1:8: error: main.fuse imports lib/nn.fuse, which "
                               "imports main.fuse [import-cycle]\n");
    shell_write(&sh, "main.fuse", "import \"lib\"\ndef f(x) = x\n");
    EXPECT_RUN(sh, 4, "fusec check main.fuse");
    FC_EXPECT_CONTAINS(sh.err, "main.fuse:1:8: error: lib is no file [io]\n");
    shell_close(&sh);
}

/* ---- what check looks at --------------------------------------------------------------------- */

FC_TEST(cli_modules, check_tries_every_dtype) {
    OPEN(sh);
    shell_write(&sh, "p.fuse",
                "def half(x: T[n]) -> T[n] = x + 0.5\n"
                "def odd(x: T[n]) -> T[n] = x & 1\n"
                "def same(x: T[n]) -> T[n] = x\n"
                "def twice(x: T[n]) -> T[n] = 2*x\n"
                "def wide(x: T[n]) -> f64[n] = f64(1) + x\n"
                "def two(x: T[n], y: S[n]) -> f32[n] = f32(x) + f32(y)\n"
                "def small(x: T[n]) -> i32[n] = x + i32(1)\n"
                "def helper(x) = x + 1\n"
                "def user(x: f32[n]) -> f32[n] = helper(x)\n"
                "def alone(x, k = 2) = k*x\n");
    EXPECT_RUN(sh, 0, "fusec check p.fuse");
    FC_EXPECT_STREQ(sh.out, "half(x: T[n]) -> T[n]\n    needs T to be a float or complex\n"
                            "odd(x: T[n]) -> T[n]\n    needs T to be an integer\n"
                            "same(x: T[n]) -> T[n]\n"
                            "twice(x: T[n]) -> T[n]\n    needs T to be a number\n"
                            "wide(x: T[n]) -> f64[n]\n    needs T to be an integer, a float or bool\n"
                            "two(x: T[n], y: S[n]) -> f32[n]\n"
                            "small(x: T[n]) -> i32[n]\n"
                            "    needs T to be bool, i8, i16, i32, u8 or u16\n"
                            "user(x: f32[n]) -> f32[n]\n"
                            "alone(x, k)\n");
    EXPECT_RUN(sh, 0, "fusec check p.fuse:odd --json");
    FC_EXPECT_CONTAINS(sh.out, "\"dtypes\":{\"T\":[\"i8\",\"i16\",\"i32\",\"i64\",\"u8\",\"u16\","
                               "\"u32\",\"u64\"]}");
    shell_write(&sh, "p.fuse", "def never(x: T[n]) -> f64[n] = (x & 1) + sqrt(x)\n");
    EXPECT_RUN(sh, 3, "fusec check p.fuse");
    FC_EXPECT_CONTAINS(sh.err, "p.fuse:1:35: error: `&` takes integers, and this is f32 "
                               "[dtype-mismatch]\n");
    shell_close(&sh);
}
