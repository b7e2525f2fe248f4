/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gradient_step.c - derivatives of analytic functions next to those by a complex step
 * (Squire and Trapp, 1998): the imaginary part of f(x + ih) over h, which takes no difference and
 * so loses no digits, by the functions of complex numbers. */
#include "ir/base.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

FC_TEST(gradient_step, of_analytic_functions) {
    static const char *const rows[][2] = {
        {"x", "exp"},       {"x", "log"},   {"x", "sin"},   {"x", "cos"},       {"x", "tan"},
        {"x", "sinh"},      {"x", "cosh"},  {"x", "tanh"},  {"x", "asin"},      {"x", "acos"},
        {"x", "atan"},      {"x", "asinh"}, {"x", "atanh"}, {"x + 1", "acosh"}, {"x", "sqrt"},
        {"x", "log1p"},     {"x", "expm1"}, {"x", "log2"},  {"x", "log10"},     {"x", "square"},
        {"x", "reciprocal"}};
    OPEN(sh);
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        const char *in = rows[i][0], *f = rows[i][1];
        FC_TRACE("%s(%s)", f, in);
        EXPECT_RUN(sh, 0,
                   "fusec -q -d interp -e 'd = grad(sum(%s(%s)*x + %s(%s)**2), x); "
                   "z = complex(x, 1e-30); w = z%s; step = imag(%s(w)*z + %s(w)**2)*1e30; "
                   "max(abs(d - step)/(1 + abs(d))) <= 1e-12' x=rand:f64:200",
                   f, in, f, in, in + 1, f, f);
        FC_EXPECT_STREQ(sh.out, "True\n");
        FC_UNTRACE();
    }
    shell_close(&sh);
}
