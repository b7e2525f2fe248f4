/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli.c - the command as a user meets it: what it prints where, its exit codes, its files. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/fault.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

static const char make_inputs[] = "fusec -q -d interp -e x x=rand:f32:100x64 -o a.npy &&"
                                  "fusec -q -d interp -e x x=rand:f64:100x64 -o d.npy &&"
                                  "fusec -q -d interp -e x x=rand:f32:32x10 -o w.npy";

/* ---- the messages of the manual, to the byte ------------------------------------------------- */

static const struct {
    const char *name, *file, *text; /* a program, "" for none */
    const char *command;
    int code;
    const char *err;
} gallery[] = {
    {"missing_input", "mlp.fuse",
     "\n\n\nexport def net(x: f32[n, k], w: f32[k, m], b: f32[m] = 0) -> f32[n, m] =\n"
     "    sum(x[:, :, None] * w[None, :, :], axis=1) + b\n",
     "fusec run mlp.fuse x=a.npy", 2,
     "fusec: error: net() needs `w`, which was not given [missing-input]\n"
     "  net(x: f32[n, k], w: f32[k, m], b: f32[m] = 0)      mlp.fuse:4:12\n"
     "  given:   x\n"
     "  missing: w\n"
     "  help: fusec run mlp.fuse x=a.npy w=FILE.npy      (or w=rand:f32:64x10 to try it)\n"},
    {"input_dtype", "scale.fuse", "\nexport def scale(x: f32[n, m]) -> f32[n, m] = x * 2\n",
     "fusec run scale.fuse x=d.npy", 4,
     "fusec: error: d.npy holds f64[100, 64], but scale() takes x: f32[n, m] [input-dtype]\n"
     "  scale(x: f32[n, m])      scale.fuse:2:12\n"
     "  help: --cast converts inputs to the declared type (here f64 to f32: 51,200 bytes to "
     "25,600, "
     "may round)\n"
     "        or declare x: T[n, m] to accept any type\n"},
    {"input_shape", "mlp.fuse",
     "export def net(x: f32[n, k], w: f32[k, m]) -> f32[n, m] =\n"
     "    sum(x[:, :, None] * w[None, :, :], axis=1)\n",
     "fusec run mlp.fuse x=a.npy w=w.npy", 4,
     "fusec: error: k is 64 in x but 32 in w [input-shape]\n"
     "  x: f32[n, k]    a.npy    [100, 64]\n"
     "  w: f32[k, m]    w.npy    [32, 10]\n"
     "                            ^^ should be 64\n"},
    {"npy_truncated", "", "", "head -c 16512 a.npy >t.npy; fusec -e 'x*2' x=t.npy", 4,
     "fusec: error: t.npy is cut short: its header promises 25,600 bytes of data, the file has "
     "16,384 [npy-truncated]\n"
     "  header: f32[100, 64], C order, data starts at byte 128\n"
     "  file:   16,512 bytes, ends after row 64 of 100\n"
     "  help: write the file again; was it still being written?\n"},
    {"usage", "", "", "fusec build nn.fuse --emti=cubin", 2,
     "fusec: error: unknown option --emti [usage]\n"
     "  help: did you mean --emit?\n"},
};

FC_TEST(cli_gallery, messages) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "%s", make_inputs);
    for (size_t i = 0; i < sizeof gallery / sizeof gallery[0]; i++) {
        FC_TRACE("%s", gallery[i].name);
        if (*gallery[i].file) shell_write(&sh, gallery[i].file, gallery[i].text);
        EXPECT_RUN(sh, gallery[i].code, "%s", gallery[i].command);
        FC_EXPECT_STREQ(sh.err, gallery[i].err);
        FC_EXPECT_STREQ(sh.out, "");
        FC_UNTRACE();
    }
    shell_close(&sh);
}

FC_TEST(cli_gallery, no_gpu) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec devices");
    bool plain = strstr(sh.out, "there is no CUDA driver (libcuda.so.1 not found)") != NULL;
    EXPECT_RUN(sh, 0, "%s", make_inputs);
    if (plain) {
        EXPECT_RUN(sh, 5, "fusec -e 'sin(x*2 + 1)' x=a.npy -o y.npy --device cuda");
        FC_EXPECT_STREQ(
            sh.err, "fusec: error: --device cuda, but there is no CUDA driver (libcuda.so.1 not "
                    "found) [no-gpu]\n"
                    "  help: leave --device out to use the CPU when there is no GPU; fusec devices "
                    "lists what was looked for\n");
        EXPECT_RUN(sh, 0, "FUSEC_THREADS=16 fusec -e 'sin(x*2 + 1)' x=a.npy -o y.npy");
        if (strstr(sh.err, "on the CPU"))
            FC_EXPECT_CONTAINS(sh.err, "fusec: note: no CUDA driver (libcuda.so.1 not found); "
                                       "running on the CPU, 16 threads [no-gpu]\n"
                                       "y.npy: f32[100, 64], 25,728 bytes, ");
    }
    shell_close(&sh);
    if (!plain) FC_SKIP("there is a CUDA driver here");
}

/* What a missing input's help line says can be typed as it stands. */
FC_TEST(cli_gallery, missing_inputs_can_be_made_up) {
    OPEN(sh);
    shell_write(&sh, "f.fuse",
                "export def f(x: f32[n, m], w: f32[m], on: bool, k: dim) -> f32[n, m] =\n"
                "    on ? x*w : x/k\n");
    EXPECT_RUN(sh, 2, "fusec run f.fuse x=rand:f32:3x4");
    FC_EXPECT_CONTAINS(sh.err,
                       "  help: fusec run f.fuse x=rand:f32:3x4 w=FILE.npy on=true k=10      "
                       "(or w=rand:f32:4 on=true k=10 to try it)\n");
    EXPECT_RUN(sh, 0, "fusec run f.fuse -d interp x=rand:f32:3x4 w=rand:f32:4 on=true k=10");
    EXPECT_RUN(sh, 2, "fusec run f.fuse");
    FC_EXPECT_CONTAINS(sh.err, "(or x=rand:f32:10x10 w=rand:f32:10 on=true k=10 to try it)\n");
    shell_close(&sh);
}

/* ---- streams and exit codes ------------------------------------------------------------------ */

FC_TEST(cli, lengths_of_the_first_array) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'sum(x)/n + m*0' x=ones:f32:4x5");
    FC_EXPECT_STREQ(sh.out, "5.0\n");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'sum(x)/n' x=ones:f32:4x5 n=2"); /* given */
    FC_EXPECT_STREQ(sh.out, "10.0\n");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'y[n, m] = x[n, m]*2; sum(y)' x=ones:f32:4x5");
    FC_EXPECT_STREQ(sh.out, "40.0\n"); /* indices */
    EXPECT_RUN(sh, 2, "fusec -q -d interp -e 'x*k' x=ones:f32:4x5");
    FC_EXPECT_CONTAINS(sh.err, "the expression needs `k`");
    shell_close(&sh);
}

FC_TEST(cli, stdout_is_the_answer) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -d interp -e 'x*2' x=iota:f32:3");
    FC_EXPECT_STREQ(sh.out, "[0. 2. 4.]\n");
    FC_EXPECT_STREQ(sh.err, "");
    EXPECT_RUN(sh, 0, "fusec -d interp -e 'x*2' x=iota:f32:3 -o y.npy");
    FC_EXPECT_STREQ(sh.out, "");
    FC_EXPECT_CONTAINS(sh.err, "y.npy: f32[3], 140 bytes, ");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x*2' x=iota:f32:3 -o y.npy");
    FC_EXPECT_STREQ(sh.err, "");
    shell_close(&sh);
}

static const struct {
    int code;
    const char *command, *part;
} failures[] = {
    {2, "fusec run", "there is no program"},
    {2, "fusec frobnicate", "there is no command"},
    {2, "fusec run x.fuse --frob", "unknown option --frob"},
    {2, "fusec -e 'x*2'", "[missing-input]"},
    {2, "fusec -e 'x*2' x=1 x=2", "[duplicate-input]"},
    {2, "fusec -e 'x*2' x=99999999999999999999", "an integer is from -2^63 to 2^64-1 [usage]"},
    {2, "fusec -e 'x*2' x=1 y=2", "[unknown-input]"},
    {2, "fusec -e x*2 + 1 x=1", "in single quotes it stays whole"},
    {2, "fusec -e x x=a.npy -o a.npy", "it would be overwritten"},
    {2, "ln a.npy b.npy; fusec -e x x=a.npy -o b.npy", "it would be overwritten"},
    {2, "ln -s a.npy c.npy; fusec -e x x=a.npy -o c.npy", "it would be overwritten"},
    {2, "fusec -e 'a = x*2; a, x' x=a.npy -o y.npy", "has 2 results: "},
    {2, "fusec -e x x=a.npy -o y.txt",
     "-o y.txt: results are written as .npy, .npz (all of them), .zarr, .arrow or .png [usage]\n"
     "  help: -o y.npy\n        >y.txt without -o, for text\n"},
    {2, "fusec -e x x=a.npy -o out=d.x/y", "  help: -o out=d.x/y.npy\n        >d.x/y without -o"},
    {2, "fusec -e x x=a.npy -o y.csv", "        --format csv >y.csv without -o, for text\n"},
    {2, "fusec -e 'x*2' x=a.npy -o z=y.npy", "has no result `z`"},
    {2, "fusec -e 'a = x; b = x*2; a, b' x=a.npy -o a=y.npy -o b=y.npy", "two results go to"},
    {2, "fusec -e x x=- -d none", "--device none is for explain"},
    {2, "fusec run --rtol 1 -e x x=1", "belong to --expect"},
    {2, "fusec -e x --strict --fast x=1", "exclude each other"},
    {2, "fusec -e x --fast=warp x=1", "--fast takes"},
    {2, "fusec -e 'x' x=f32:4", "a type without data"},
    {2, "fusec -e x x=rand:f32:n", "[missing-input]"},
    {2, "fusec explain -e x x=f32:4 --emit cubni", "did you mean cubin"},
    {2, "fusec explain -e x x=f32:4 --emit cuda --arch sm_1", "--arch takes"},
    {2, "fusec check one.fuse two.fuse x=1", "inputs are for one definition"},
    {2, "fusec run ok.fuse a.npy", "also: a.npy [usage]\n  help: inputs have names: x=a.npy\n"},
    {2, "fusec explain ok.fuse --json --dot", "--json and --dot exclude each other"},
    {2, "fusec explain ok.fuse --time", "  help: with x=f32:1000\n"},
    {2, "fusec explain ok.fuse --emit foo",
     "fuse, graph, ir, cuda, ptx, cubin, llvm and asm, not "},
    {2, "fusec build ok.fuse -o d --emit llvm --arch pentium",
     "--arch takes sm_90 and the like, x86-64, "},
    {2, "fusec build ok.fuse -o d --entry g", "--entry g: ok.fuse has no such definition"},
    {2, "fusec build ok.fuse -o d --static q=3", "a size `q`"},
    {2, "fusec build ok.fuse -o d --dtype T=f16", "a dtype variable `T`"},
    {2, "fusec help nosuch", "help: fusec help lists commands and topics"},
    {3, "fusec -e 'a = x; for i in 0..2 { a = a*x }' x=1",
     "expected the result before the end of the text"},
    {3, "fusec run ok.fuse:nope", "  ok.fuse:f(x: f32[n])\n"},
    {3, "fusec -e 'x*' x=1", "[syntax]"},
    {3, "fusec -e 'sotfplus(x)' x=1", "did you mean softplus?"},
    {3, "fusec check bad.fuse", "[syntax]"},
    {3, "fusec build sorts.fuse -o d", "[not-yet]"},
    {4, "fusec -e x x=nosuch.npy", "cannot open nosuch.npy"},
    {4, "fusec -e x x=ok.fuse", "[npy-format]"},
    {4, "fusec -e x x=a.npy -o no/such/y.npy", "cannot write no/such/y.npy"},
    {4, "fusec -e x x=a.npy -o .", "cannot write ."},
    {4, "fusec run nosuch.fuse x=1", "cannot open nosuch.fuse"},
    {2, "fusec -e 'a=x+1;b=x*2;a,b' x=rand:f32:3 -o a=same.npy -o b=./same.npy",
     "two results go to"},
    {4, "fusec -d interp -e 'log(x - 2)' x=zeros:f32:3 --check-finite", "made by log(-2.0) at [0]"},
    {4,
     "fusec -d interp -e 'x' x=a.npy -o y.png --cast -q; fusec -e x x=a.npy -o /dev/full -d interp",
     "no space left"},
    {5, "fusec -e x x=1 -d cuda:15", "--device cuda:15, but "},
};

/* One folder for all: what fails writes nothing there. */
FC_TEST(cli, failures) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "%s", make_inputs);
    shell_write(&sh, "ok.fuse", "export def f(x: f32[n]) -> f32[n] = x\n");
    shell_write(&sh, "bad.fuse", "export def f(x: f32[n]) -> f32[n] = x +\n");
    shell_write(&sh, "sorts.fuse", "export def f(x: f32[n]) -> f32[n] = sort(x)\n");
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        FC_TRACE("%s", failures[i].command);
        EXPECT_RUN(sh, failures[i].code, "%s", failures[i].command);
        FC_EXPECT_CONTAINS(sh.err, failures[i].part);
        FC_EXPECT_STREQ(sh.out, "");
        EXPECT_RUN(sh, 0, "ls -a | grep '[.]tmp$' || true");
        FC_EXPECT_STREQ(sh.out, "");
        FC_UNTRACE();
    }
    shell_close(&sh);
}

FC_TEST(cli, errors_as_json) {
    OPEN(sh);
    EXPECT_RUN(sh, 3, "fusec -e 'sotfplus(x)' x=1 --error-format=json");
    FC_EXPECT_CONTAINS(sh.err, "{\"slug\":\"unknown-name\",\"severity\":\"error\"");
    FC_EXPECT_CONTAINS(sh.err, "\"file\":\"<expr>\",\"line\":1,\"col\":1,");
    FC_EXPECT_CONTAINS(sh.err, "\"help\":[\"did you mean softplus?\"]");
    FC_EXPECT_CONTAINS(sh.err,
                       "\"fixes\":[{\"line\":1,\"col\":1,\"end_col\":9,\"text\":\"softplus\"}]");
    EXPECT_RUN(sh, 4, "fusec -e x x=nosuch.npy --error-format=json");
    FC_EXPECT_CONTAINS(sh.err, "{\"slug\":\"io\"");
    FC_EXPECT_CONTAINS(sh.err, "\"file\":null");
    shell_close(&sh);
}

FC_TEST(cli, stdout_closed_or_full) {
    OPEN(sh);
    EXPECT_RUN(sh, 4, "fusec -d interp -e x x=1 >&-");
    FC_EXPECT_CONTAINS(sh.err, "cannot write standard output");
    EXPECT_RUN(sh, 4, "fusec -d interp -e x x=ones:f32:4 -o - >&-");
    EXPECT_RUN(sh, 4, "fusec -d interp -e x x=1 >/dev/full");
    FC_EXPECT_CONTAINS(sh.err, "no space left");
    /* A file that is opened while stdout is closed does not become stdout. */
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=ones:f32:4 -o y.npy >&- 2>&-");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'sum(x)' x=y.npy");
    FC_EXPECT_STREQ(sh.out, "4.0\n");
    /* The end of a pipe that nobody reads is no reason to complain. */
    EXPECT_RUN(sh, 0, "fusec -d interp -e x x=rand:f32:200000 | head -n 1 >/dev/null");
    FC_EXPECT_STREQ(sh.err, "");
    shell_close(&sh);
}

FC_TEST(cli, unusable_cache_is_no_error) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "FUSEC_CACHE_DIR=/proc/nowhere fusec -q -e 'x*2' x=iota:f32:3");
    FC_EXPECT_STREQ(sh.out, "[0. 2. 4.]\n");
    EXPECT_RUN(sh, 0, "touch file; FUSEC_CACHE_DIR=$PWD/file fusec -q -e 'x*2' x=iota:f32:3");
    EXPECT_RUN(sh, 0, "FUSEC_CACHE_DIR=/proc/nowhere fusec cache");
    FC_EXPECT_CONTAINS(sh.out, "not used: ");
    EXPECT_RUN(sh, 0, "HOME= XDG_CACHE_HOME= FUSEC_CACHE_DIR= fusec -q -e 'x*2' x=iota:f32:3");
    shell_close(&sh);
}

FC_TEST(cli, interrupt_leaves_nothing) {
    OPEN(sh);
    EXPECT_RUN(sh, 130,
               "FUSEC_THREADS=1 timeout --preserve-status -s INT 0.4 '%s' -q -d interp -e "
               "'tgamma(tgamma(tgamma(tgamma(x))))' x=rand:f32:20000000 -o y.npy",
               FUSEC_COMMAND);
    EXPECT_RUN(sh, 0, "ls -A | grep -v '^[.]cache$' || true");
    FC_EXPECT_STREQ(sh.out, "");
    shell_close(&sh);
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

FC_TEST(cli, pipes) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=iota:f32:5 -o a.npy");
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp -e 'x*2' x=- -o - <a.npy | fusec -q -d interp -e 'sum(x)' x=-");
    FC_EXPECT_STREQ(sh.out, "20.0\n");
    shell_close(&sh);
}

FC_TEST(cli, forms_of_output) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'a = x*2; b = sum(x); a, b' x=iota:f32:3");
    FC_EXPECT_STREQ(sh.out, "a: f32[3]\n[0. 2. 4.]\n\nb: f32\n3.0\n");
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp -e 'a = x*2; b = sum(x); a, b' x=iota:f32:3 --format json");
    FC_EXPECT_STREQ(sh.out, "{\"a\":[0.0, 2.0, 4.0],\"b\":3.0}\n");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x*2' x=iota:f32:2x2 --format csv");
    FC_EXPECT_STREQ(sh.out, "0.0,2.0\n4.0,6.0\n");
    EXPECT_RUN(
        sh, 0,
        "fusec -q -d interp -e 'a = x*2; b = sum(x); a, b' x=iota:f32:3 -o all.npz -o b=b.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x + y' x=all.npz:a y=b.npy");
    FC_EXPECT_STREQ(sh.out, "[3. 5. 7.]\n");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x/4' x=iota:f32:2x2 -o p.png");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=p.png");
    FC_EXPECT_STREQ(sh.out, "[[  0  64]\n [128 191]]\n");
    /* integers from the least to the greatest, whatever their type; one tone; bools */
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp -e 'i32(x)*100 - 100, u16(x), i64(x)*0, x > -1' x=iota:f32:2x3 "
               "-o out1=a.png -o out2=b.png -o out3=c.png -o out4=d.png");
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp -e 'all(a == b), a, max(c), min(d)' a=a.png b=b.png c=c.png "
               "d=d.png");
    FC_EXPECT_STREQ(sh.out, "out1: bool\nTrue\n\na: u8[2, 3]\n[[  0  51 102]\n [153 204 255]]\n\n"
                            "out3: u8\n0\n\nout4: u8\n255\n");
    EXPECT_RUN(sh, 4, "fusec -q -d interp -e 'complex(x, x)' x=iota:f32:2x2 -o p.png");
    FC_EXPECT_CONTAINS(sh.err, "integers or floats from 0 to 1, not from c64[2, 2]");
    shell_close(&sh);
}

FC_TEST(cli, forms_of_input) {
    OPEN(sh);
    shell_write(&sh, "f.fuse",
                "export def f(x: f32[n, m], y: f32[m], k: i32) -> f32[n, m] = x*k + y\n");
    EXPECT_RUN(sh, 0, "fusec -q -d interp run f.fuse x=iota:2x3 y=ones k=2");
    FC_EXPECT_STREQ(sh.out, "[[ 1.  3.  5.]\n [ 7.  9. 11.]]\n");
    EXPECT_RUN(sh, 0, "fusec -q -d interp run f.fuse x=iota:nx3 n=1 y=ones k=1");
    FC_EXPECT_STREQ(sh.out, "[[1. 2. 3.]]\n");
    EXPECT_RUN(sh, 0, "printf 'abcd' >raw; fusec -q -d interp -e 'x+0' x=raw:u8:4:raw");
    FC_EXPECT_STREQ(sh.out, "[ 97  98  99 100]\n");
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp -e x x=iota:f64:3 -o d.npy; fusec -q -d interp --cast run "
               "f.fuse x=iota:f64:1x3 y=d.npy k=1");
    FC_EXPECT_STREQ(sh.out, "[[0. 2. 4.]]\n");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -f f.fuse -e 'f(x, y, 2)' x=iota:f32:1x2 y=ones:f32:2");
    FC_EXPECT_STREQ(sh.out, "[[1. 3.]]\n");
    EXPECT_RUN(sh, 0,
               "printf 'const K = 2\\nexport def g(x: f32[n]) -> f32[n] = x*K\\n' >g.fuse\n"
               "fusec -q -d interp run g.fuse x=iota:3 -D K=10");
    FC_EXPECT_STREQ(sh.out, "[ 0. 10. 20.]\n");
    shell_close(&sh);
}

FC_TEST(cli, expect) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=iota:f32:4 -o a.npy");
    EXPECT_RUN(sh, 0, "fusec -d interp -e 'x*1' x=a.npy --expect a.npy");
    FC_EXPECT_STREQ(sh.err, "out: equals a.npy\n");
    FC_EXPECT_STREQ(sh.out, "");
    EXPECT_RUN(sh, 1, "fusec -q -d interp -e 'x*1.5' x=a.npy --expect a.npy");
    FC_EXPECT_CONTAINS(sh.err, "out: differs from a.npy in 3 of 4 elements, worst at [");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x*1.01' x=a.npy --expect a.npy --rtol 0.02");
    EXPECT_RUN(sh, 1, "fusec -q -d interp -e 'x*1.01' x=a.npy --expect a.npy --ulp 2");
    EXPECT_RUN(sh, 1, "fusec -q -d interp -e 'x[1:]' x=a.npy --expect a.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'sum(x)' x=a.npy --expect 6");
    EXPECT_RUN(sh, 4, "fusec -q -d interp -e 'x' x=a.npy --expect nosuch.npy");
    shell_close(&sh);
}

/* ---- the other commands ---------------------------------------------------------------------- */

FC_TEST(cli, help_and_version) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec --version");
    FC_EXPECT_CONTAINS(sh.out, "\nlanguage 1\n");
    EXPECT_RUN(sh, 0, "fusec");
    FC_EXPECT_CONTAINS(sh.out, "fusec -e 'sin(x*2 + 1)' x=in.npy -o y.npy\n");
    EXPECT_RUN(sh, 0, "fusec run --help");
    FC_EXPECT_CONTAINS(sh.out, "fusec run [FILE[:DEF]");
    EXPECT_RUN(sh, 0, "fusec help shape-mismatch");
    EXPECT_RUN(sh, 2, "fusec help nosuch");
    EXPECT_RUN(sh, 0, "fusec help functions | grep -F '  hypot(x, y)'");
    EXPECT_RUN(sh, 0, "fusec help hypot");
    FC_EXPECT_STREQ(sh.out, "  hypot(x, y)       sqrt(x*x + y*y) without overflow\n");
    EXPECT_RUN(sh, 0, "fusec completion bash | grep -q _fusec");
    EXPECT_RUN(sh, 0, "fusec help --man run");
    FC_EXPECT_CONTAINS(sh.out, ".TH \"fusec\\-run\" 1");
    EXPECT_RUN(sh, 0, "fusec devices --json");
    FC_EXPECT_CONTAINS(sh.out, "\"name\":\"interp\",\"usable\":true");
    shell_close(&sh);
}

FC_TEST(cli, fmt) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "printf 'def f(x)=x+1\\n' | fusec fmt");
    FC_EXPECT_STREQ(sh.out, "def f(x) = x + 1\n");
    EXPECT_RUN(sh, 1, "printf 'def f(x)=x+1\\n' >a.fuse; fusec fmt --check a.fuse");
    FC_EXPECT_STREQ(sh.out, "a.fuse\n");
    EXPECT_RUN(sh, 0, "fusec fmt a.fuse; cat a.fuse");
    FC_EXPECT_STREQ(sh.out, "def f(x) = x + 1\n");
    EXPECT_RUN(sh, 0, "fusec fmt --check a.fuse");
    EXPECT_RUN(sh, 3, "printf 'def f(x)=x+' | fusec fmt");
    FC_EXPECT_CONTAINS(sh.err, "<stdin>:1:12: error: ");
    shell_close(&sh);
}

FC_TEST(cli, check) {
    OPEN(sh);
    shell_write(&sh, "f.fuse", "export def f(x: f32[n, m]) -> f32[n] = sum(x, axis=1)\n");
    EXPECT_RUN(sh, 0, "fusec check f.fuse");
    FC_EXPECT_STREQ(sh.out, "f(x: f32[n, m]) -> f32[n]\n");
    EXPECT_RUN(sh, 0, "fusec check f.fuse --json");
    FC_EXPECT_CONTAINS(sh.out, "{\"definitions\":[{\"name\":\"f\"");
    EXPECT_RUN(sh, 0, "fusec check f.fuse x=f32:3x4");
    EXPECT_RUN(sh, 4, "fusec check f.fuse x=f32:3");
    shell_close(&sh);
}

FC_TEST(cli, cache) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec cache --json");
    FC_EXPECT_CONTAINS(sh.out, "\"entries\":0,");
    EXPECT_RUN(sh, 0,
               "fusec -q -e 'x*2' x=iota:f32:3 && fusec cache --list >list; fusec cache --clear");
    FC_EXPECT_CONTAINS(sh.out, "removed ");
    EXPECT_RUN(sh, 0, "cat list"); /* empty on a machine without LLVM */
    if (*sh.out) {
        FC_EXPECT_CONTAINS(sh.out, "key               device        size    used  made for\n");
        FC_EXPECT_CONTAINS(sh.out, strstr(sh.out, "  cuda") ? "  cuda     " : "  cpu     ");
        FC_EXPECT_CONTAINS(sh.out, "      0m  expr k0: out\n");
    }
    EXPECT_RUN(sh, 0, "fusec cache --plain");
    FC_EXPECT_CONTAINS(sh.out, "/.cache\t0\t0\t");
    EXPECT_RUN(sh, 2, "fusec cache --clear --older soon");
    shell_close(&sh);
}

FC_TEST(cli, explain) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec explain -q -d interp %s/examples/hillshade.fuse z=i16:344x403 --json",
               FUSEC_SOURCE_DIR);
    FC_EXPECT_CONTAINS(sh.out, "\"device\":\"interp\"");
    FC_EXPECT_CONTAINS(sh.out, "\"kernels\":[{\"name\":\"k0\"");
    FC_EXPECT_CONTAINS(sh.out, "\"bytes_read\":277264,");
    FC_EXPECT_TRUE(strstr(sh.out, "\"name\":\"k1\"") == NULL);
    EXPECT_RUN(sh, 0, "fusec explain -d none %s/examples/softmax.fuse", FUSEC_SOURCE_DIR);
    FC_EXPECT_CONTAINS(sh.out, "unfused   5 kernels");
    EXPECT_RUN(sh, 0,
               "fusec explain -d none %s/examples/quantised.fuse x=bf16:16x64 q=u8:64x8 z=u8:2x8 "
               "s=bf16:2x8 && fusec explain -d none %s/examples/quantised.fuse:packed x=bf16:16x64 "
               "q=u8:32x8 s=bf16:2x8",
               FUSEC_SOURCE_DIR, FUSEC_SOURCE_DIR);
    FC_EXPECT_TRUE(strstr(sh.out, "k0 ") && !strstr(sh.out, "k1 "));
    EXPECT_RUN(sh, 0,
               "fusec explain -d none -e 'sum(x*y)' x=f32:4194304x1048576 y=f32:4194304x1048576");
    FC_EXPECT_CONTAINS(sh.out,
                       "unfused   2 kernels, not run: a kernel would need 8589934592 blocks");
    static const char outer[] =
        "fusec explain -d interp -e 'sum(a[:, None]*b, axis=1)' a=f32:%d b=f32:%d";
    EXPECT_RUN(sh, 0, outer, 1300000000, 1300000000); /* more than 64 bits of traffic */
    FC_EXPECT_CONTAINS(sh.out, "unfused   2 kernels, 8.0 EiB of traffic (");
    EXPECT_RUN(sh, 0, outer, 1600000000, 1600000000);
    FC_EXPECT_CONTAINS(sh.out,
                       "unfused   2 kernels, not run: an array has more bytes than 64 bits");
    EXPECT_RUN(sh, 0, "fusec explain -d none -e 'x*2 + 1' x=f32:8x8 --emit graph,ir,cuda");
    FC_EXPECT_CONTAINS(sh.out, "kernel map");
    FC_EXPECT_CONTAINS(sh.out, "__global__");
    EXPECT_RUN(sh, 0, "fusec explain -d interp -e 'x*2 + 1' x=f32:8x8 --dot");
    FC_EXPECT_CONTAINS(sh.out, "digraph plan {");
    EXPECT_RUN(sh, 0, "fusec explain -d interp -e 'x*2 + 1' x=f32:8x8 --time --json");
    FC_EXPECT_CONTAINS(sh.out, "\"gbs\":");
    FC_EXPECT_CONTAINS(sh.out, "\"predicted_us\":null");
    shell_close(&sh);
}

/* 4.8 TB/s for sm_90: 2^30 bytes take 254.2 us at 88 % of it, and few bytes one launch. */
FC_TEST(cli, explain_says_what_runs_strip_by_strip) {
    OPEN(sh);
    static const char line[] =
        "fusec explain -d interp %s/examples/attention.fuse q=f32:1x1024x64 k=f32:1x1024x64 "
        "v=f32:1x1024x64%s";
    int count = 0,
        rows = 0; /* as fit a second-level cache, which processors have of several sizes */
    char want[200];
    EXPECT_RUN(sh, 0, line, FUSEC_SOURCE_DIR, "");
    const char *at = strstr(sh.out, "strips    k0 to k2: ");
    FC_ASSERT_TRUE(at && sscanf(at, "strips    k0 to k2: %d of 1x%d rows", &count, &rows) == 2);
    FC_EXPECT_TRUE(rows >= 64 && count > 1 && count * rows >= 1024 && (count - 1) * rows < 1024);
    FC_EXPECT_CONTAINS(at, "between them in place of 8.0 MiB\n");
    EXPECT_RUN(sh, 0, line, FUSEC_SOURCE_DIR, " --json");
    snprintf(want, sizeof want,
             "\"strips\":[{\"first\":\"k0\",\"last\":\"k2\",\"count\":%d,\"rows\":[1,%d],"
             "\"side_by_side\":1,\"bytes\":%d,\"bytes_uncut\":8388608}]",
             count, rows, rows * 8192);
    FC_EXPECT_CONTAINS(sh.out, want);
    shell_close(&sh);
}

static unsigned count_of(const char *text, const char *what) {
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
    return n;
}

/* One launch of three kernels has one prediction, and is made of one text. */
FC_TEST(cli, explain_names_what_is_joined) {
    OPEN(sh);
    static const char line[] =
        "fusec explain -d none --arch sm_90 %s/examples/attention.fuse q=bf16:16x4096x64 "
        "k=bf16:16x4096x64 v=bf16:16x4096x64%s";
    EXPECT_RUN(sh, 0, line, FUSEC_SOURCE_DIR, "");
    FC_EXPECT_CONTAINS(
        sh.out, "\njoined    k0 to k2: one launch, fusec_joined_max_sum_exp_sqrt; the 1.0 GiB "
                "between them stay on the chip\n");
    FC_EXPECT_EQ_U64(count_of(sh.out, " us\n"), 2); /* k0 and the total */
    EXPECT_RUN(sh, 0, line, FUSEC_SOURCE_DIR, " --json");
    FC_EXPECT_EQ_U64(count_of(sh.out, "\"predicted_us\":null"), 2);
    FC_EXPECT_CONTAINS(sh.out, "\"launch\":\"fusec_joined_max_sum_exp_sqrt\"");
    EXPECT_RUN(sh, 0, line, FUSEC_SOURCE_DIR, " --emit cuda");
    FC_EXPECT_EQ_U64(count_of(sh.out, "__global__"), 1);
    FC_EXPECT_EQ_U64(count_of(sh.out, "// part of the launch of k0\n"), 2);
    shell_close(&sh);
}

/* Operands that are computed: in the loads of a product of few rows, and stored before one of many;
 * either is the plan that explain shows and whose text it gives. */
FC_TEST(cli, explain_says_whether_operands_of_products_are_stored) {
    OPEN(sh);
    static const char line[] = "fusec explain -d none --arch sm_90 -e 'bf16(x) @ w' x=f32:%dx4096 "
                               "w=bf16:4096x4096%s";
    EXPECT_RUN(sh, 0, line, 16, "");
    FC_EXPECT_TRUE(!strstr(sh.out, "\nk1 "));
    EXPECT_RUN(sh, 0, line, 4096, "");
    FC_EXPECT_CONTAINS(sh.out, "\nstored    t0: bf16[4096, 4096], 32.0 MiB, by k0\n");
    FC_EXPECT_CONTAINS(sh.out, "\napart     k1: what costs more than a few operations");
    EXPECT_RUN(sh, 0, line, 4096, " --emit cuda");
    FC_EXPECT_EQ_U64(count_of(sh.out, "__global__"), 2);
    EXPECT_RUN(sh, 0, line, 16, " --emit cuda");
    FC_EXPECT_EQ_U64(count_of(sh.out, "__global__"), 1);
    EXPECT_RUN(sh, 0,
               "fusec explain -d none --arch sm_90 -e '(x*2) @ w' x=f32:4096x4096 "
               "w=f32:4096x4096"); /* of f32 threads have the time */
    FC_EXPECT_TRUE(!strstr(sh.out, "\nk1 "));
    shell_close(&sh);
}

/* The kernels of a block of a network: norms, four products with what follows them, attention. */
FC_TEST(cli, explain_counts_the_launches_of_a_transformer) {
    OPEN(sh);
    EXPECT_RUN(
        sh, 0,
        "fusec explain -d none --arch sm_90 %s/examples/transformer.fuse x=bf16:8x1024x768 "
        "wqkv=bf16:768x3x12x64 wo=bf16:12x64x768 w1=bf16:768x3072 c1=bf16:3072 w2=bf16:3072x768 "
        "c2=bf16:768 g1=bf16:768 b1=bf16:768 g2=bf16:768 b2=bf16:768",
        FUSEC_SOURCE_DIR);
    FC_EXPECT_CONTAINS(sh.out, "\njoined    k2 to k4: one launch");
    FC_EXPECT_CONTAINS(sh.out, "\nk8      dot");
    FC_EXPECT_TRUE(!strstr(sh.out, "\nk9 "));
    shell_close(&sh);
}

FC_TEST(cli, explain_predicts) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec explain -d none -e 'x*2 + 1' x=f32:134217728");
    FC_EXPECT_CONTAINS(sh.out, " flop  predicted\n");
    FC_EXPECT_CONTAINS(sh.out, " 268 M     254 us\n");
    FC_EXPECT_CONTAINS(sh.out,
                       "\nunfused   2 kernels, 2.0 GiB of traffic (2.0x), predicted 508 us");
    EXPECT_RUN(sh, 0, "fusec explain -d none -e 'x*2 + 1' x=f32:134217728 --json");
    FC_EXPECT_CONTAINS(sh.out, "\"predicted_us\":254.2");
    EXPECT_RUN(sh, 0, "fusec explain -d none -e 'x*2 + 1' x=f32:8 --plain");
    FC_EXPECT_CONTAINS(sh.out, "\t3.1\n");
    EXPECT_RUN(sh, 0, "fusec explain -d none -e 'x*2 + 1' x=f32:0 --json");
    FC_EXPECT_CONTAINS(sh.out, "\"predicted_us\":null");
    EXPECT_RUN(sh, 0, "fusec explain --arch sm_75 -e 'x*2 + 1' x=f32:8");
    FC_EXPECT_TRUE(!strstr(sh.out, "predicted"));
    EXPECT_RUN(sh, 0, "fusec explain -d none -e 'x*2 + 1' x=f32:nx8");
    FC_EXPECT_TRUE(!strstr(sh.out, "predicted"));
    shell_close(&sh);
}

FC_TEST(cli, build_needs_no_gpu) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "fusec build -q %s/examples/layernorm.fuse -o out --emit ir,cuda --arch sm_90 "
               "--dtype T=f32,f16 && ls out",
               FUSEC_SOURCE_DIR);
    FC_EXPECT_STREQ(sh.out, "layernorm_f16_k0.cu\nlayernorm_f16_k0.ir\nlayernorm_f32_k0.cu\n"
                            "layernorm_f32_k0.ir\nrmsnorm_f16_k0.cu\nrmsnorm_f16_k0.ir\n"
                            "rmsnorm_f32_k0.cu\nrmsnorm_f32_k0.ir\n");
    EXPECT_RUN(sh, 0, "head -n 1 out/rmsnorm_f32_k0.cu");
    FC_EXPECT_CONTAINS(sh.out, "// rmsnorm_k0, made by fusec ");
    shell_close(&sh);
}

FC_TEST(cli, bench) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "fusec bench -q -d interp -e 'x*2 + 1' x=rand:f32:1000 --vs unfused --max-time "
               "0.01 --json");
    FC_EXPECT_CONTAINS(sh.out, "{\"name\":\"fused\",\"device\":\"interp");
    FC_EXPECT_CONTAINS(sh.out, "{\"name\":\"unfused\"");
    shell_close(&sh);
}

/* What these commands open: no driver and no compiler. */
FC_TEST(cli, starts_without_libraries) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "command -v strace >/dev/null || exit 0\n"
               "for w in '--help' 'check %s/examples/softmax.fuse' 'fmt --check "
               "%s/examples/softmax.fuse'; do\n"
               "strace -f -e trace=openat '%s' $w 2>&1 | grep -E 'libLLVM|libcuda|nvrtc'; done; "
               "true",
               FUSEC_SOURCE_DIR, FUSEC_SOURCE_DIR, FUSEC_COMMAND);
    FC_EXPECT_STREQ(sh.out, "");
    shell_close(&sh);
}

FC_TEST(cli, fault_report) {
    const fc_source *src;
    fc_error e = {0};
    OPEN(sh);
    fc_cli c = {.alloc = &fc_libc_alloc, .files.alloc = &fc_libc_alloc};
    c.o.command = FC_CMD_RUN;
    c.config.cache_dir = sh.folder;
    static const char text[] = "export def odd(x: f32[n]) -> f32[n] = x\n";
    FC_EXPECT_OK(fc_files_add(&c.files, "some/odd.fuse", text, sizeof text - 1, &src, &e), &e);
    fc_fail(&e, FUSEC_NVRTC, "NVRTC rejected the kernel");
    fc_fault_report(&c, &e);
    FC_EXPECT_CONTAINS(e.message, "\n  This is a fault in fusec, not in the program. To report it, "
                                  "attach\n      ");
    FC_EXPECT_CONTAINS(e.message,
                       "/      odd.fuse  message.txt  version.txt\n  help: --device cpu");
    EXPECT_RUN(sh, 0, "cat reports/odd-*/odd.fuse");
    FC_EXPECT_STREQ(sh.out, text);
    fc_files_free(&c.files);
    shell_close(&sh);
}

/* ---- a terminal ------------------------------------------------------------------------------ */

/* From the first second on a line says what takes long; it is erased, and with -q it is not there.
 * The sum has 10^12 terms: it is ended. */
FC_TEST(cli, progress) {
    OPEN(sh);
    for (int quiet = 0; quiet < 2; quiet++) {
        if (!shell_run_on_terminal(&sh, quiet ? 1500 : 60000, quiet ? NULL : "computing: 1 s",
                                   "rm -f seen; '%s' %s --device interp -e "
                                   "'sum(sin(x[:, None] * x))' x=iota:f32:1000000 & while [ ! -e "
                                   "seen ]; do sleep 0.05; done; "
                                   "kill -TERM $!; wait $!",
                                   FUSEC_COMMAND, quiet ? "-q" : ""))
            break;
        FC_EXPECT_EQ_I64(sh.code, 128 + SIGTERM);
        if (quiet) {
            FC_EXPECT_TRUE(strstr(sh.err, "computing") == NULL);
        } else {
            const char *drawn = strstr(sh.err, "\r\033[Kcomputing: 1 s");
            FC_EXPECT_TRUE(drawn && strstr(drawn + 1, "\r\033[K")); /* and erased at the end */
        }
    }
    EXPECT_RUN(sh, 0, "fusec -q -e x x=iota:f32:1000 -o a.npy");
    /* byte for byte until the line is there */
    if (shell_run_on_terminal(&sh, 60000, "reading standard input: ",
                              "rm -f seen; (while [ ! -e seen ]; do dd bs=1 count=1 2>/dev/null; "
                              "sleep 0.05; done; cat) <a.npy | "
                              "fusec --device interp -e 'sum(x)' x=-")) {
        FC_EXPECT_EQ_I64(sh.code, 0);
        FC_EXPECT_CONTAINS(sh.err, "\r\033[Kreading standard input: ");
        FC_EXPECT_CONTAINS(sh.err, "\r\033[K");
        FC_EXPECT_STREQ(sh.out, "499500.0\n");
    }
    shell_close(&sh);
}
