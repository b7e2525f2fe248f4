/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli_split.c - `fusec run --split`: results in pieces are the results, what does not fit into
 * memory is computed so by itself, and what goes wrong leaves no file. */
#include <stdint.h>
#include <stdio.h>

#include <string.h>

#include "tests/support/shell.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

static const char *const equal[] = {
    "'mean(x), max(x)' x=x.npy",
    "'x / sum(x)' x=x.npy",
    "'sin(x*2 + y)' x=x.npy y=x.npy",
    "'sum(m), mean(m, axis=0), m @ w' m=m.npy w=rand:f32:7x3",
    "'x[:, None]*2 + sum(m, axis=1)[:, None]' x=x.npy m=m.npy",
    "'where(x > 0.5, 1, 0)' x=x.npy",
    "'(x - mean(x)) / std(x), var(m, axis=0)' x=x.npy m=m.npy",
    "'pad(x, [[2, 9]], mode=\"reflect\"), pad(m, [[1, 1], [0, 0]])' x=x.npy m=m.npy",
    "'x[2:] - 2*x[1:-1] + x[:-2], max(m[3:] - m[:-3], axis=0)' x=x.npy m=m.npy",
};

static void run_equal(void *arg) {
    const char *words = equal[(size_t)(uintptr_t)arg];
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:5000 -o x.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:5000x7 -o m.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e %s -o a.npz", words);
    EXPECT_RUN(sh, 0, "fusec -d interp -e %s -o b.npz --split n=1024", words);
    FC_EXPECT_CONTAINS(sh.err, "computed along n in pieces of 1024 of 5000");
    EXPECT_RUN(sh, 0, "cmp a.npz b.npz");
    shell_close(&sh);
}

FC_REGISTER(equal) {
    for (size_t i = 0; i < sizeof equal / sizeof equal[0]; i++) {
        char name[20];
        snprintf(name, sizeof name, "equal%zu", i);
        FC_ADD_TEST("cli_split", name, run_equal, i);
    }
}

FC_TEST(cli_split, files_are_written_as_they_come) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:300000 -o x.npy");
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp -e 'x - mean(x), max(x)' x=x.npy -o out1=a.npy -o out2=b.npy");
    EXPECT_RUN(
        sh, 0,
        "fusec -d interp -e 'x - mean(x), max(x)' x=x.npy -o out1=c.npy -o out2=d.npy --split n");
    FC_EXPECT_CONTAINS(sh.err, "which are read more than once");
    FC_EXPECT_CONTAINS(sh.err, "c.npy: f32[300000], 1,200,128 bytes");
    EXPECT_RUN(sh, 0, "cmp a.npy c.npy && cmp b.npy d.npy");
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp -e 'x*2' x=- --split n=4096 -o - <x.npy >e.npy && "
               "fusec -q -d interp -e 'x*2' x=x.npy --expect e.npy");
    shell_close(&sh);
}

FC_TEST(cli_split, a_definition_and_bytes_without_a_header) {
    OPEN(sh);
    shell_write(&sh, "f.fuse",
                "export def f(x: f32[k, 4], scale: f32) -> f32[4] {\n"
                "    return sum(x, axis=0) * scale\n}\n");
    EXPECT_RUN(sh, 0, "head -c 160000 /dev/zero | tr '\\0' '@' >x.bin");
    EXPECT_RUN(sh, 0, "fusec -q -d interp run f.fuse x=raw:f32:10000x4:x.bin scale=0.5 -o a.npy");
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp run f.fuse x=raw:f32:10000x4:x.bin scale=0.5 -o b.npy "
               "--split k=512 && cmp a.npy b.npy");
    EXPECT_RUN(sh, 4, "fusec -q -d interp run f.fuse x=raw:f32:9999x4:x.bin scale=0.5 --split k");
    shell_close(&sh);
}

/* Memory for one of the arrays at most: by itself, and with the bits that more memory gives. */
FC_TEST(cli_split, what_does_not_fit_into_memory) {
#if defined(__SANITIZE_ADDRESS__)
    FC_SKIP("AddressSanitizer takes the address space");
#endif
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=iota:f32:20000000 -o x.npy");
    EXPECT_RUN(sh, 0, "ulimit -v 150000; fusec -d interp -e 'x*2' x=x.npy -o y.npy");
    FC_EXPECT_CONTAINS(sh.err, "computed along n in pieces of");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x*2' x=x.npy --expect y.npy");
    EXPECT_RUN(sh, 5, "ulimit -v 150000; fusec -d interp -e 'x*2' x=x.npy -o z.npy --split never");
    EXPECT_RUN(sh, 5, "ulimit -v 100000; fusec -d interp -e 'x[::-1]' x=x.npy -o z.npy");
    FC_EXPECT_CONTAINS(sh.err, "in pieces it can't be computed: it can't be cut along n: slice");
    EXPECT_RUN(sh, 2, "ls z.npy");
    shell_close(&sh);
}

/* Two GPUs that are none, each with a piece at a time: one that goes while the other works ends the
 * call, names itself and leaves no file. */
static const char set[] = "export FUSEC_LIBCUDA_PATH=" FUSEC_BINARY_DIR
                          "/bin/fake/libfake_cuda_whole.so FAKE_CUDA_DEVICES=2; export "
                          "FUSEC_NVRTC_PATH=$FUSEC_LIBCUDA_PATH; ";

/* Each with a stream of its own, whole and in pieces that are read into page-locked memory. */
FC_TEST(cli_split, logical_devices) {
    static const char *const ways[] = {"cuda:0/0,cuda:0/1", "cuda:0,cuda:1",
                                       "cuda:0/0,cuda:0/1,cuda:1/3 --split n=1024"};
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:9001 -o x.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e '(x - mean(x)) / std(x)' x=x.npy -o a.npy");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        EXPECT_RUN(sh, 0,
                   "%s FAKE_CUDA_EXECUTE=1 fusec -q -e '(x - mean(x)) / std(x)' x=x.npy -o b.npy "
                   "--devices %s && cmp a.npy b.npy",
                   set, ways[i]);
    EXPECT_RUN(sh, 2, "%s fusec -q -e x x=x.npy --devices cuda:0/0,cuda:0/16", set);
    FC_EXPECT_CONTAINS(sh.err, "unknown device cuda:0/16");
    shell_close(&sh);
}

FC_TEST(cli_split, a_device_is_lost) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:9001 -o x.npy");
    for (int k = 1; k < 9; k += 3) {
        EXPECT_RUN(sh, 5,
                   "%s FAKE_CUDA_FAIL=cuLaunchKernel:%d:719 fusec -q -e 'x / sum(x)' x=x.npy "
                   "-o y.npy --devices cuda:0,cuda:1 --split n=1024",
                   set, k);
        FC_EXPECT_CONTAINS(sh.err, "error: cuda:");
        /* of the device itself, or of the other one, which can't be used any more either */
        FC_EXPECT_TRUE(strstr(sh.err, "the device is gone") || strstr(sh.err, "an earlier error"));
        EXPECT_RUN(sh, 0, "test \"$(ls -A | grep -c -e fusec- -e y.npy)\" = 0");
    }
    shell_close(&sh);
}

static const struct {
    const char *name, *words;
    int code;
    const char *err;
} bad[] = {
    {"no_size", "-e 'x*2' x=x.npy --split q", 3, "the program has no size q [unknown-dim]"},
    {"no_number", "-e 'x*2' x=x.npy --split n=", 2, "the number of positions is from 1"},
    {"zero", "-e 'x*2' x=x.npy --split n=0", 2, "the number of positions is from 1"},
    {"along_it", "-e 'cumsum(x, axis=0, reverse=true)' x=x.npy --split n", 2,
     "reads at other places along it"},
    {"disk_full", "-e 'x*2' x=x.npy --split n=1024 -o y.npy", 4, "y.npy"},
};

static void run_bad(void *arg) {
    const size_t i = (size_t)(uintptr_t)arg;
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:5000 -o x.npy");
    shell_run(&sh, "%s fusec -q -d interp %s",
              i + 1 == sizeof bad / sizeof bad[0] ? "ulimit -f 8;" : "", bad[i].words);
    FC_EXPECT_EQ_I64(sh.code, bad[i].code);
    FC_EXPECT_CONTAINS(sh.err, bad[i].err);
    EXPECT_RUN(sh, 0, "test \"$(ls | grep -c ^y)\" = 0");
    shell_close(&sh);
}

FC_REGISTER(bad) {
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        FC_ADD_TEST("cli_split", bad[i].name, run_bad, i);
}

/* A file that loses its end while it is read: no result. */
FC_TEST(cli_split, a_file_that_shrinks) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:300000 -o x.npy");
    EXPECT_RUN(sh, 0, "mkfifo p; (head -c 600000 x.npy >p &) ; true");
    shell_run(&sh, "fusec -q -d interp -e 'x*2' x=p --split n=1024 -o y.npy");
    FC_EXPECT_NE_I64(sh.code, 0);
    FC_EXPECT_CONTAINS(sh.err, "is cut short");
    EXPECT_RUN(sh, 2, "ls y.npy");
    shell_close(&sh);
}

/* What goes on from piece to piece, and what is read at the other end: in one pass through the
 * file, in several, and of files of all kinds. */
FC_TEST(cli_split, scans_and_edges_around) {
    static const char *const texts[] = {
        "cumsum(x, axis=0)",
        "cumprod(1 + x/1000, axis=0)/sum(x)",
        "c = cumsum(x, axis=0); c[70:] - c[:-70]",
        "cummax(cumsum(x, axis=0)%7, axis=0)",
        "roll(x, 3, axis=0) - roll(x, -700, axis=0)",
        "roll(x - mean(x), 9000, axis=0)",
    };
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:9001x3 -o x.npy");
    EXPECT_RUN(sh, 0, "tail -c 108012 x.npy >x.bin; fusec -q -d interp -e x x=x.npy -o x.zarr");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!fc_test_takes(2)) continue;
        EXPECT_RUN(sh, 0, "fusec -q -d interp -e '%s' x=x.npy -o a.npy --split never", texts[i]);
        for (int n = 16; n < 9000; n = n * 5 + 3) {
            EXPECT_RUN(sh, 0,
                       "fusec -d interp -e '%s' x=x.npy -o b.npy --split n=%d && cmp a.npy b.npy",
                       texts[i], n);
            FC_EXPECT_EQ_I64(strstr(sh.err, "more than once") != NULL, i == 1 || i == 5);
        }
        EXPECT_RUN(
            sh, 0,
            "fusec -q -d interp -e '%s' x=raw:f32:9001x3:x.bin -o b.npy --split n=2000 && cmp "
            "a.npy b.npy && fusec -q -d interp -e '%s' x=x.zarr -o b.npy --split n=4000 && cmp "
            "a.npy b.npy && fusec -q -d interp -e '%s' x=- -o b.npy --split n=4000 <x.npy && "
            "cmp a.npy b.npy",
            texts[i], texts[i], texts[i]);
        EXPECT_RUN(sh, 0,
                   "fusec -q -e '%s' x=x.npy -o b.npy --devices interp/0,interp/1,interp/2 && cmp "
                   "a.npy b.npy",
                   texts[i]);
    }
    shell_close(&sh);
}

/* The reason names the line, of a file or of the expression. */
/* Reductions and scans by a definition: not along the cut, but of what is whole. */
FC_TEST(cli_split, definitions) {
    OPEN(sh);
    shell_write(&sh, "d.fuse",
                "def plus(a, b) { return a + b }\n"
                "export def f(x: f32[n]) { return reduce(plus, 0, x) }\n"
                "export def g(x: f32[n]) { return scan(plus, 0, x) }\n"
                "export def h(x: f32[n], w: f32[m]) {\n"
                "    return x * reduce(plus, 0, w) + sum(scan(plus, 0, w)) + sum(x)\n}\n");
    EXPECT_RUN(sh, 2, "fusec -q -d interp run d.fuse:f x=rand:f32:5000 --split n=1024");
    FC_EXPECT_CONTAINS(sh.err, "by a definition, whose records are not kept in parts");
    EXPECT_RUN(sh, 2, "fusec -q -d interp run d.fuse:g x=rand:f32:5000 --split n=1024");
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp run d.fuse:h x=rand:f32:5000 w=rand:f32:500 -o a.npy && "
               "fusec -q -d interp run d.fuse:h x=rand:f32:5000 w=rand:f32:500 --split n=1024 "
               "--expect a.npy");
    shell_close(&sh);
}

FC_TEST(cli_split, what_cannot_be_cut_has_a_line) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:5000 -o x.npy");
    shell_write(&sh, "f.fuse",
                "export def f(x: f32[n]) -> f32[n] {\n    y = sin(x)\n    return y[::-1]\n}\n");
    EXPECT_RUN(sh, 2, "fusec -q -d interp run f.fuse x=x.npy --split n=1024 -o y.npy");
    FC_EXPECT_CONTAINS(sh.err, "slice of type f32[n] reads at other places along it (line 3)");
    EXPECT_RUN(sh, 2, "fusec -q -d interp -e 'sort(x, axis=0)' x=x.npy --split n=1024 -o y.npy");
    FC_EXPECT_CONTAINS(sh.err, "(line 1 of the expression)");
    shell_close(&sh);
}

FC_TEST(cli_split, explained) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec explain -d interp -e 'x / sum(x)' x=f32:10^11 --pieces n=auto");
    FC_EXPECT_CONTAINS(sh.out, "in pieces of 524,288 of 100,000,000,000: 190,735 pieces, 2 sweeps");
    FC_EXPECT_CONTAINS(sh.out,
                       "sweep 1   reads x (372.5 GiB)\n          joins over its pieces sum of");
    FC_EXPECT_CONTAINS(sh.out, "it needs the finished sum of f32[100000000000]");
    EXPECT_RUN(sh, 0,
               "fusec explain -d interp -e 'x[1:] - x[:-1], y' x=f32:4096 y=f32:3 --pieces n=64");
    FC_EXPECT_CONTAINS(sh.out, "along axis 0 (256 bytes), with 0 before and 1 behind");
    FC_EXPECT_CONTAINS(sh.out, "y         f32[3], whole");
    EXPECT_RUN(sh, 0, "fusec explain -d interp -e 'x / sum(x)' x=f32:5000 --pieces n --json");
    FC_EXPECT_CONTAINS(sh.out, "\"because\": \"sum of f32[5000]\"");
    EXPECT_RUN(sh, 0, "fusec explain -d interp -e 'cumsum(x), roll(x, 3)' x=f32:5000 --pieces n");
    FC_EXPECT_CONTAINS(sh.out, "it needs of each piece what is before it of the scan of f32[5000]");
    FC_EXPECT_CONTAINS(sh.out, "one device does it with the sweep before, reading once");
    FC_EXPECT_CONTAINS(sh.out, "with 3 before and 0 behind, around the ends");
    EXPECT_RUN(sh, 0, "fusec explain -d interp -e 'cumsum(x)' x=f32:5000 --pieces n --json");
    FC_EXPECT_CONTAINS(sh.out, "\"with_previous\": true");
    EXPECT_RUN(sh, 2, "fusec explain -d interp -e 'x[::-1]' x=f32:5000 --pieces n");
    FC_EXPECT_CONTAINS(sh.err, "can't be cut along n: slice of type f32[n] reads at other places");
    EXPECT_RUN(sh, 3, "fusec explain -d interp -e 'x' x=f32:5000 --pieces k");
    FC_EXPECT_CONTAINS(sh.err, "the program has no size k");
    EXPECT_RUN(sh, 2, "fusec explain -d interp -e 'x' x=f32:5000 --pieces n=0");
    EXPECT_RUN(sh, 2, "fusec explain -d interp -e 'x' x=f32:10^ --pieces n");
    EXPECT_RUN(sh, 2, "fusec explain -d interp -e 'x' x=f32:10^30 --pieces n");
    shell_close(&sh);
}

FC_TEST(cli_split, several_devices) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e '(x - mean(x)) / std(x)' x=rand:f32:9001 -o a.npy");
    EXPECT_RUN(sh, 0,
               "fusec -q -e '(x - mean(x)) / std(x)' x=rand:f32:9001 -o b.npy "
               "--devices interp/0,interp/1,interp/2 && cmp a.npy b.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:9001 -o x.npy");
    EXPECT_RUN(sh, 0,
               "fusec -e '(x - mean(x)) / std(x)' x=x.npy -o c.npy --devices "
               "interp/0,interp/1,interp/2 --split n=1024 && "
               "fusec -q -d interp -e '(x - mean(x)) / std(x)' x=x.npy --expect c.npy");
    FC_EXPECT_CONTAINS(sh.err, "in pieces of 1024 of 9001 on 3 devices, which are read more than");
    EXPECT_RUN(sh, 4,
               "ulimit -f 8; fusec -q -e 'x[1:] - x[:-1]' x=x.npy -o d.npy --devices "
               "interp/0,interp/1 --split n=1000; a=$?; test ! -e d.npy && exit $a");
    EXPECT_RUN(sh, 2, "fusec -q -e 'x[::-1]' x=rand:f32:9001 --devices interp,interp/1");
    FC_EXPECT_CONTAINS(sh.err, "reads at other places along it");
    FC_EXPECT_CONTAINS(sh.err, "help: without --devices one device computes it");
    shell_write(&sh, "g.fuse", "export def g(n: dim) -> f32[n] = f32(arange(n))\n");
    EXPECT_RUN(sh, 2, "fusec -q -d interp run g.fuse n=100000 -o y.npy --split n=4096");
    FC_EXPECT_CONTAINS(sh.err, "no input lies along n");
    EXPECT_RUN(sh, 2, "fusec -q -e 'x' x=rand:f32:9001 --devices interp,");
    FC_EXPECT_CONTAINS(sh.err, "a name is empty");
    shell_close(&sh);
}
