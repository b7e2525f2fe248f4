/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli_typed.c - the commands that a new user types, letter for letter, in a folder that looks
 * like a fresh checkout after a build: build/bin/fusec and examples/ are there. And the examples
 * that the command's own help shows, in the same folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/options.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

static const struct {
    const char *name, *command, *then; /* `then`: must succeed afterwards */
    const char *out;                   /* part of standard output, NULL: there is none */
} typed[] = {
    {"expression", "build/bin/fusec -e 'sin(x*2 + 1)' x=in.npy -o y.npy", "test -s y.npy", NULL},
    {"conditional",
     "build/bin/fusec -e 'y = exp(sin(x)*cos(x)); y > 0.5 ? y*2 : y/2' x=rand:f32:4000x4000 -o "
     "y.npy",
     "test $(wc -c <y.npy) = 64000128", NULL},
    {"hillshade",
     "build/bin/fusec run examples/hillshade.fuse z=examples/data/elevation.npy -o "
     "shade=hillshade.png",
     "build/bin/fusec -q -d interp -e 'mean(f32(x)) > 100' x=hillshade.png | grep True", NULL},
    {"softmax_cpu", "build/bin/fusec run examples/softmax.fuse x=logits.npy -o p.npy --device cpu",
     "build/bin/fusec -q -d interp -e 'all(abs(sum(x, axis=1) - 1) < 1e-5)' x=p.npy | grep True",
     NULL},
    {"softmax_cuda",
     "build/bin/fusec run examples/softmax.fuse x=logits.npy -o p.npy --device cuda",
     "test -s p.npy", NULL},
    {"softmax_second_gpu",
     "build/bin/fusec run examples/softmax.fuse x=logits.npy -o p.npy --device cuda:1",
     "test -s p.npy", NULL},
    {"softmax_interp",
     "build/bin/fusec run examples/softmax.fuse x=logits.npy -o p.npy --device interp",
     "test -s p.npy", NULL},
    {"gaussian",
     "build/bin/fusec run examples/gaussian.fuse -D SIGMA=6 img=examples/data/portrait.npy -o "
     "soft.png",
     "build/bin/fusec -q -d interp -e 'abs(mean(f32(x)) - mean(f32(y))) < 1' x=soft.png "
     "y=examples/data/portrait.npy | grep True",
     NULL},
    /* no heat is lost; a picture of the set is the same upside down but for the row between */
    {"heat",
     "build/bin/fusec run examples/heat.fuse img=examples/data/portrait.npy steps=20 -o warm.png",
     "build/bin/fusec -q -d interp -e 'abs(mean(f32(x)) - mean(f32(y))) < 1' x=warm.png "
     "y=examples/data/portrait.npy | grep True",
     NULL},
    {"mandelbrot", "build/bin/fusec run examples/mandelbrot.fuse h=90 w=160 -o mandelbrot.png",
     "build/bin/fusec -q -d interp -e 'all(x[1:] == flip(x[1:], axis=0)) and x[45, 80] == 0' "
     "x=mandelbrot.png | grep True",
     NULL},
    {"check", "build/bin/fusec check examples/softmax.fuse", NULL,
     "softmax(x: T[..., n]) -> T[..., n]\n    needs T to be a float\n"},
    {"explain", "build/bin/fusec explain examples/softmax.fuse x=rand:f32:4096x1024", NULL,
     "\nunfused   5 kernels, "},
    {"explain_json", "build/bin/fusec explain examples/softmax.fuse x=rand:f32:4096x1024 --json",
     NULL, "\"kernels\":[{\"name\":\"k0\""},
    {"explain_dot", "build/bin/fusec explain examples/softmax.fuse x=rand:f32:4096x1024 --dot",
     NULL, "digraph plan {"},
    {"build_cuda", "build/bin/fusec build examples/softmax.fuse --emit=cuda --arch=sm_90 -o DIR",
     "grep __global__ DIR/softmax_k0.cu", NULL},
    {"build_ptx", "build/bin/fusec build examples/softmax.fuse --emit=ptx --arch=sm_90 -o DIR",
     "grep 'target sm_90' DIR/softmax_k0.ptx", NULL},
    {"build_cubin", "build/bin/fusec build examples/softmax.fuse --emit=cubin --arch=sm_90 -o DIR",
     "test -s DIR/softmax_k0.cubin", NULL},
    {"build_llvm", "build/bin/fusec build examples/softmax.fuse --emit=llvm --arch=sm_90 -o DIR",
     "grep define DIR/softmax_k0.ll", NULL},
    {"build_asm", "build/bin/fusec build examples/softmax.fuse --emit=asm --arch=sm_90 -o DIR",
     "test -s DIR/softmax_k0.s", NULL},
    {"build_ir", "build/bin/fusec build examples/softmax.fuse --emit=ir --arch=sm_90 -o DIR",
     "grep 'kernel inner' DIR/softmax_k0.ir", NULL},
    {"devices", "build/bin/fusec devices", NULL, "\ninterp "},
    {"cache", "build/bin/fusec cache", NULL, " of at most 512.0 MiB\n"},
    {"cache_clear", "build/bin/fusec cache --clear", NULL, "removed "},
    {"fmt", "build/bin/fusec fmt examples/softmax.fuse",
     "cmp examples/softmax.fuse '" FUSEC_SOURCE_DIR "/examples/softmax.fuse'", NULL},
    {"help", "build/bin/fusec --help", NULL, "fusec -e 'sin(x*2 + 1)' x=in.npy -o y.npy\n"},
    {"version", "build/bin/fusec --version", NULL, "\nlanguage 1\n"},
    {"help_run", "build/bin/fusec help run", NULL, "fusec run [FILE[:DEF]"},
};

/* What the machine may lack: a GPU, NVRTC, LLVM. That is exit code 5, and the message
 * says which. */
static bool lacks(const shell *sh) {
    return sh->code == 5 &&
           (strstr(sh->err, " [no-gpu]\n") || strstr(sh->err, " [nvrtc-setup]\n") ||
            strstr(sh->err, " [no-llvm]\n"));
}

/* As shipped all of them; under a sanitizer, which takes long for pictures, a quarter. */
static void type(void *arg) {
    size_t i = (size_t)(uintptr_t)arg;
    FC_TAKE_ONE_OF(1);
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "mkdir -p build && ln -s '%s/bin' build/bin && cp -r '%s/examples' . &&"
               "fusec -q -d interp -e x x=rand:f32:100x64 -o in.npy && cp in.npy logits.npy",
               FUSEC_BINARY_DIR, FUSEC_SOURCE_DIR);
    shell_run(&sh, "%s", typed[i].command);
    bool absent = lacks(&sh);
    char *why = absent ? strdup(sh.err) : NULL;
    if (!absent && sh.code != 0) FC_FAIL("%s\nexit code %d\n%s", typed[i].command, sh.code, sh.err);
    if (!absent && typed[i].out)
        FC_EXPECT_CONTAINS(sh.out, typed[i].out);
    else
        FC_EXPECT_STREQ(sh.out, "");
    if (!absent && typed[i].then) EXPECT_RUN(sh, 0, "%s", typed[i].then);
    shell_close(&sh);
    if (absent) fc_test_skip(__FILE__, __LINE__, "%s", why);
    free(why);
}

/* The examples of each command. Completion is for a person's own shell and
 * folders, and left alone. Those that compile a program for many sizes and
 * processors take long, under a sanitizer minutes; aot.* and pack.* do less
 * of the same. */
static void help_examples(void *arg) {
    const size_t command = (size_t)(uintptr_t)arg;
    if (command == FC_CMD_BUILD || command == FC_CMD_CACHE) FC_TAKE_ONE_OF(3);
    const char *text = fc_commands[command].examples;
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "cp -r '%s/examples' . && cp examples/softmax.fuse my.fuse &&"
               "fusec -q -d interp -e x x=rand:f32:100 -o in.npy && cp in.npy a.npy",
               FUSEC_SOURCE_DIR);
    while (*text) {
        int n = (int)strcspn(text, "\n");
        shell_run(&sh, "%.*s", n, text);
        if (sh.code != 0 && !lacks(&sh))
            FC_FAIL("%.*s\nexit code %d\n%s", n, text, sh.code, sh.err);
        text += n + (text[n] == '\n');
    }
    shell_close(&sh);
}

FC_REGISTER(typed) {
    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++)
        FC_ADD_TEST("cli_typed", typed[i].name, type, i);
    for (size_t c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++) {
        char name[60];
        if (c == FC_CMD_COMPLETION) continue;
        if (FC_SANITIZED && (c == FC_CMD_BUILD || c == FC_CMD_CACHE)) continue;
        snprintf(name, sizeof name, "examples_of_%s", fc_commands[c].name);
        FC_ADD_TEST("cli_typed", name, help_examples, c);
    }
}
