/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli_options.c - command lines, and what the command says without running anything: mistakes,
 * pages of help. */
#include <stdio.h>

#include "frontend/cli/help.h"
#include "frontend/cli/report.h"
#include "tests/support/test.h"

static const fc_alloc *const heap = &fc_libc_alloc;

static fusec_status parse(fc_options *o, const char *line, fc_error *e) {
    static char copy[500];
    static char *words[40];
    int n = 0;
    /* Words are separated by "|", so that they may hold spaces. */
    snprintf(copy, sizeof copy, "fusec%s%s", *line ? "|" : "", line);
    words[n++] = copy;
    for (char *p = copy; *p; p++) {
        if (*p != '|') continue;
        *p = 0;
        words[n++] = p + 1;
    }
    return fc_options_parse(o, n, words, heap, e);
}

FC_TEST(cli_options, command_lines) {
    fc_options o;
    fc_error e = {0};
    FC_ASSERT_OK(parse(&o, "-e|x*2|x=a.npy|-qv|-oy.npy|--fast=contract|-D|N=-1", &e), &e);
    FC_EXPECT_EQ_I64(o.command, FC_CMD_RUN);
    FC_EXPECT_STREQ(o.text[FC_FLAG_EXPR], "x*2");
    FC_EXPECT_STREQ(o.text[FC_FLAG_FAST], "contract");
    FC_EXPECT_TRUE(o.on[FC_FLAG_QUIET] && o.on[FC_FLAG_VERBOSE]);
    FC_EXPECT_EQ_I64((int64_t)o.inputs.len, 1);
    FC_EXPECT_EQ_I64((int64_t)o.many.len, 2);
    FC_EXPECT_STREQ(o.many.at[0].text, "y.npy");
    fc_options_free(&o);
    FC_ASSERT_OK(parse(&o, "--color|never|bench|--threads=4|f.fuse:g|x=rand:f32:n|--vs|cpu", &e),
                 &e);
    FC_EXPECT_EQ_I64(o.command, FC_CMD_BENCH);
    FC_EXPECT_EQ_I64(o.color, FC_COLOR_NEVER);
    FC_EXPECT_EQ_F64(o.number[FC_FLAG_THREADS], 4);
    FC_EXPECT_STREQ(o.files.at[0], "f.fuse:g");
    fc_options_free(&o);
    FC_ASSERT_OK(parse(&o, "fmt|--|-odd-name.fuse", &e), &e);
    FC_EXPECT_STREQ(o.files.at[0], "-odd-name.fuse");
    fc_options_free(&o);
    FC_ASSERT_OK(parse(&o, "", &e), &e);
    FC_EXPECT_EQ_I64(o.command, FC_CMD_NONE);
    fc_options_free(&o);
    FC_ASSERT_OK(parse(&o, "run|--nonsense|--help", &e), &e);
    FC_EXPECT_TRUE(o.on[FC_FLAG_HELP] && o.command == FC_CMD_RUN);
    fc_options_free(&o);
}

FC_TEST(cli_options, wrong_command_lines) {
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"build|nn.fuse|--emti=cubin", "unknown option --emti\n  help: did you mean --emit?"},
        {"-e|x|*|2|x=a.npy",
         "surplus words behind -e 'x': * 2\n"
         "  help: the shell has split the expression; in single quotes it stays whole: -e 'x * 2'"},
        {"rnu", "there is no command `rnu`\n  help: did you mean fusec run?"},
        {"softmax.fuse", "the first word is a command, and `softmax.fuse` is a file\n"
                         "  help: fusec run softmax.fuse"},
        {"run|a.fuse|b.fuse", "fusec run takes one file, and here are also: b.fuse"},
        {"fmt|--emit|ir", "fusec fmt has no option --emit; it belongs to: explain build"},
        {"run|f.fuse|--threads|0", "--threads takes a whole number from 1, not `0`"},
        {"run|f.fuse|--rtol", "--rtol needs an argument: --rtol X"},
        {"run|f.fuse|--cast=yes", "--cast takes no argument"},
        {"run|f.fuse|-d|gpu", "--device takes auto|cpu|cuda[:N]|interp, not `gpu`"},
        {"run|f.fuse|-e|x", "with -e there is no file, and here are also: f.fuse\n"
                            "  help: -f FILE gives definitions for -e"},
        {"-e|x|-e|y", "--expr is given twice"},
        {"run|f.fuse|x=-|y=-", "only one input comes from standard input"},
        {"run|f.fuse|-Z", "unknown option -Z"},
        {"run|f.fuse|-D|N", "-D takes NAME=VALUE, not `N`"},
        {"build|f.fuse|x=1", "fusec build takes no inputs, and here is x=1"},
        {"bench|f.fuse|--warm", "this version of fusec does not have --warm yet"},
        {"-q", "there is no command\n  help: fusec --help lists them"},
    };
    for (size_t i = 0; i < FC_COUNT(bad); i++) {
        fc_options o;
        fc_error e = {0};
        FC_TRACE("%s", bad[i].line);
        FC_EXPECT_STATUS(parse(&o, bad[i].line, &e), FUSEC_USAGE, &e);
        FC_EXPECT_STREQ(e.message, bad[i].message);
        fc_options_free(&o);
        FC_UNTRACE();
    }
    fc_options o;
    fc_error e = {0};
    FC_EXPECT_STATUS(parse(&o, "run|f.fuse|x=1|xx=2|x=3", &e), FUSEC_DUPLICATE_INPUT, &e);
    fc_options_free(&o);
}

FC_TEST(cli_options, reported_errors) {
    fc_error e = {.code = FUSEC_NPY_TRUNCATED};
    strcpy(e.message, "a.npy is cut short\n  header: f32[2]\n  help: one\n        two");
    fc_str s;
    fc_str_init(&s, heap);
    fc_report_error(&s, &e, false, false);
    FC_EXPECT_STREQ(s.data, "fusec: error: a.npy is cut short [npy-truncated]\n"
                            "  header: f32[2]\n  help: one\n        two\n");
    fc_str_free(&s);
}

/* Every slug has a page, every page wraps, and all of it is in the man pages. */
FC_TEST(cli_options, help_pages) {
    fc_str s;
    fc_str_init(&s, heap);
    for (int code = FUSEC_OK + 1; code < FC_STATUS_COUNT; code++) {
        fc_error e = {0};
        fc_str_clear(&s);
        FC_EXPECT_OK(fc_help_word(&s, fc_status_slug((fusec_status)code), &e), &e);
        FC_EXPECT_CONTAINS(s.data, fc_status_text((fusec_status)code));
    }
    for (int c = 0; c < FC_CMD_COUNT; c++) {
        fc_str_clear(&s);
        fc_help_command(&s, (fc_command)c);
        for (const char *p = s.data; *p; p += strcspn(p, "\n"), p += *p == '\n') {
            if (strcspn(p, "\n") > 80) FC_FAIL("too wide: %.*s", (int)strcspn(p, "\n"), p);
        }
        fc_str_clear(&s);
        fc_help_man(&s, (fc_command)c, "1.0");
        FC_EXPECT_CONTAINS(s.data, ".SH NAME");
    }
    fc_error e = {0};
    FC_EXPECT_STATUS(fc_help_word(&s, "shape-mismach", &e), FUSEC_USAGE, &e);
    FC_EXPECT_CONTAINS(e.message, "did you mean shape-mismatch or");
    fc_str_clear(&s);
    e = (fc_error){0};
    FC_EXPECT_OK(fc_help_word(&s, "[bad-axis]", &e), &e);
    static const char *const shells[] = {"bash", "zsh", "fish"};
    for (size_t i = 0; i < FC_COUNT(shells); i++) {
        fc_str_clear(&s);
        FC_EXPECT_OK(fc_completion(&s, shells[i], &e), &e);
        FC_EXPECT_CONTAINS(s.data, "check-finite");
    }
    fc_str_free(&s);
}
