/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* term.c - terminals: colour. See term.h. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/term.h"

#include <stdlib.h>
#include <unistd.h>

bool fc_term_is(int fd) {
    return isatty(fd) == 1;
}

bool fc_term_color(int fd, fc_color flag) {
    const char *force = getenv("FORCE_COLOR"), *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (flag != FC_COLOR_AUTO) return flag == FC_COLOR_ALWAYS;
    if (force && *force && strcmp(force, "0") != 0) return true;
    if (no && *no) return false;
    return fc_term_is(fd) && !(term && !strcmp(term, "dumb"));
}
