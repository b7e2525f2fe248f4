/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_hyper_data.h - polynomials of the hyperbolic functions in f64
 *
 * Made by scripts/math-coefficients; lowest power first. */
/* clang-format off */
/* ln 2 in f64; error 5.71e-34 */
static const double ln2_f64[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
/* sinh r = r + r^3 P(r^2), |r| <= ln(2)/2; error 4.47e-20 */
static const double sinh_f64[] = {
    0x1.5555555555555p-3, 0x1.11111111113bbp-7, 0x1.a01a019e6f43bp-13, 0x1.71de4174182f7p-19,
    0x1.ae490553b9927p-26, 0x1.882318c355058p-33,
};
/* cosh r = 1 + r^2 P(r^2), |r| <= ln(2)/2; error 3.56e-18 */
static const double cosh_f64[] = {
    0x1.000000000000cp-1, 0x1.555555554fdf8p-5, 0x1.6c16c1860bc4ap-10, 0x1.a01995ab116d3p-16,
    0x1.28b10728dd13bp-22,
};
/* clang-format on */
