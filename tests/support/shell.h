/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shell.h - runs the command `fusec` as a user would: in a shell, in an empty folder of its own.
 *
 *     OPEN(sh);                                     or ends the test, which has failed then
 *     EXPECT_RUN(sh, 0, "fusec -e 'x*2' x=3");      `fusec` is the command that was built
 *     FC_EXPECT_STREQ(sh.out, "6\n");
 *     shell_close(&sh);                             removes the folder
 */
#ifndef FUSEC_TESTS_SUPPORT_SHELL_H
#define FUSEC_TESTS_SUPPORT_SHELL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct shell {
    char folder[200];
    int code; /* of the last run; 128 + the signal's number if one ended it */
    char *out, *err;
    size_t out_len;
} shell;

bool shell_open(shell *sh);
/* Runs a script; its compiled kernels are kept in the folder. False (and a failed test) only when
 * no shell could be started. */
bool shell_run(shell *sh, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with a terminal as standard error, whose output becomes `err`. When `until` (or NULL) is
 * in it, there is a file "seen" in the folder. What still runs after `ms` milliseconds gets a
 * SIGTERM, and two seconds later a SIGKILL. */
bool shell_run_on_terminal(shell *sh, int ms, const char *until, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool shell_write(shell *sh, const char *name, const char *text);
void shell_close(shell *sh);

/* Most tests need no compiler: they use the interpreter. */
#define OPEN(sh)                                                                                   \
    shell sh;                                                                                      \
    if (!shell_open(&sh) || !shell_run(&sh, "true")) return

#define EXPECT_RUN(sh, wanted, ...)                                                                \
    do {                                                                                           \
        if (!shell_run(&sh, __VA_ARGS__)) break;                                                   \
        if (sh.code != (wanted))                                                                   \
            FC_FAIL("%s\nexit code %d instead of %d\n%s", #__VA_ARGS__, sh.code, (wanted),         \
                    sh.err);                                                                       \
    } while (0)

#endif
