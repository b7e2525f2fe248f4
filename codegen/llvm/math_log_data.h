/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_log_data.h - polynomials of the logarithms
 *
 * Made by scripts/math-coefficients; lowest power first. */
/* clang-format off */
/* ln 2 in f32, the first part times an exponent is exact; error 5.5e-14 */
static const double ln2_parts_f32[] = {0x1.62e4000000000p-1, 0x1.7f7d1c0000000p-20};
/* ln 2 in f64, the first part times an exponent is exact; error 1.95e-31 */
static const double ln2_parts_f64[] = {0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45};
/* log10 2 in f64, likewise; error 2.83e-31 */
static const double log10_2_f64[] = {0x1.34413509f7800p-2, 0x1.fef311f12b358p-46};
/* 1/ln 2 in f64; error -1.06e-33 */
static const double log2e_f64[] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
/* 1/ln 10 in f64; error 3.72e-34 */
static const double log10e_f64[] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
/* log(1+f) = f - f^2/2 + f^3 P(f), 1+f from sqrt(1/2) to sqrt(2); error 5.85e-09 */
static const double log_f32[] = {
    0x1.5555540000000p-2, -0x1.0002260000000p-2, 0x1.99a0200000000p-3, -0x1.5472920000000p-3,
    0x1.22d8c20000000p-3, -0x1.0d81660000000p-3, 0x1.0561820000000p-3, -0x1.38d5b00000000p-4,
};
/* log(1+f) = f + f^2 P(f), the same range, for f32 in f64; error 7.18e-10 */
static const double log_wide[] = {
    -0x1.ffffffd59ab19p-2, 0x1.555546385eb73p-2, -0x1.0000114bdcdbcp-2, 0x1.99a53d1769d8ap-3,
    -0x1.555aad1e108f4p-3, 0x1.232d98eb6bd62p-3, -0x1.fc34ec19c0e66p-4, 0x1.e776fda972cc1p-4,
    -0x1.de3d49e79e904p-4, 0x1.137102419f2f4p-4,
};
/* log(1+f) = 2s + s^3 P(s^2), s = f/(2+f); error 2.5e-18 */
static const double log_f64[] = {
    0x1.5555555555593p-1, 0x1.999999997fabfp-2, 0x1.2492494218065p-2, 0x1.c71c51eb2252ap-3,
    0x1.746644f5335ecp-3, 0x1.39a1209ad6121p-3, 0x1.2f0b6c9c28220p-3,
};
/* clang-format on */
