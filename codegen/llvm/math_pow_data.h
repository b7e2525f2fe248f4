/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_pow_data.h - polynomials of powers and of the cube root
 *
 * Made by scripts/math-coefficients; lowest power first. */
/* clang-format off */
/* log(1+f) = f + f^2 P(f), 1+f from sqrt(1/2) to sqrt(2), for f32 in f64; error 2.76e-12 */
static const double log_wide_fine[] = {
    -0x1.fffffffeedfb4p-2, 0x1.5555556521fb9p-2, -0x1.0000015896467p-2, 0x1.999988a6dff32p-3,
    -0x1.555468f1c879ep-3, 0x1.2494e1a1f738bp-3, -0x1.0022a79a9d5dbp-3, 0x1.c6e47261afb62p-4,
    -0x1.94b5732341101p-4, 0x1.71df7f1040445p-4, -0x1.7da70f51111dep-4, 0x1.77c57f2ce8cd4p-4,
    -0x1.8c8a93225c954p-5,
};
/* 1/3 in f64; error 1.03e-33 */
static const double third_f64[] = {0x1.5555555555555p-2, 0x1.5555555555555p-56};
/* 2/ln 2 in f64; error -2.12e-33 */
static const double two_log2e_f64[] = {0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55};
/* log(1+f) = 2s (1 + s^2 (1/3 + s^2 P(s^2))); error 1.12e-20 */
static const double log_f64_fine[] = {
    0x1.9999999999b31p-3, 0x1.2492492457b60p-3, 0x1.c71c722d95b99p-4, 0x1.745ce9d245bf1p-4,
    0x1.3b1eef42c9d3dp-4, 0x1.0f7f9ba6cb319p-4, 0x1.0e45998767024p-4,
};
/* (1+f)^(-1/3), roughly; error 3.77e-05 */
static const double cbrt_start[] = {
    0x1.fffcee0625b2ap-1, -0x1.54e42c8eb2690p-2, 0x1.cb7ee86f9a876p-3, -0x1.82e1e4850d1fbp-3,
    0x1.06e3c37c13a76p-3,
};
/* clang-format on */
