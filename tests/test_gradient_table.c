/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gradient_table.c - 278 derivatives of 145 expressions, as JAX computes them: tests/gradients,
 * made by scripts/make_gradient_table.py. A result of the program there is how far one of them is
 * off. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/shell.h"
#include "tests/support/test.h"

enum { PARTS = 5 };

/* "c12: f64", and the number in the next line. */
static int check_results(const char *out) {
    int n = 0;
    for (const char *p = out; p; n++) {
        const char *name = p, *line = strchr(p, '\n');
        const double off = line ? strtod(line + 1, NULL) : 1;
        if (!(off < 1e-13)) FC_FAIL("%.*s is %g off", (int)strcspn(name, ":"), name, off);
        p = line ? strstr(line, "\n\n") : NULL;
        p = p && p[2] == 'c' ? p + 2 : NULL;
    }
    return n;
}

FC_TEST(gradient_table, agrees_with_jax) {
    shell sh;
    int n = 0;
    if (!shell_open(&sh)) return;
    for (int part = 0; part < PARTS; part++) {
        if (!shell_run(&sh,
                       "cd '%s/tests/gradients' && fusec run gradients.fuse:part%d x=x.npy p=p.npy "
                       "q=q.npy v=v.npy s=0.7 want=want.npy -q -d interp",
                       FUSEC_SOURCE_DIR, part))
            break;
        if (sh.code) FC_FAIL("part %d: exit code %d\n%s", part, sh.code, sh.err);
        if (!sh.code) n += check_results(sh.out);
    }
    FC_EXPECT_EQ_I64(n, 278);
    printf("%d derivatives\n", n);
    shell_close(&sh);
}
