/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_arc_data.h - polynomials of the inverse trigonometric functions
 *
 * Made by scripts/math-coefficients; lowest power first. */
/* clang-format off */
/* pi/2 in f32; error -1.72e-15 */
static const double pio2_parts[] = {0x1.921fb60000000p+0, -0x1.777a5c0000000p-25};
/* atan t = t + t^3 P(t^2), |t| <= 1; error 2.63e-09 */
static const double atan_f32[] = {
    -0x1.55553e0000000p-2, 0x1.9991ec0000000p-3, -0x1.2421180000000p-3, 0x1.c094400000000p-4,
    -0x1.5825340000000p-4, 0x1.da98ec0000000p-5, -0x1.fe756a0000000p-6, 0x1.6548700000000p-7,
    -0x1.d58efa0000000p-10,
};
/* asin t = t + t^3 P(t^2), |t| <= 1/2; error 4.86e-09 */
static const double asin_f32[] = {
    0x1.5555c80000000p-3, 0x1.3302060000000p-4, 0x1.747b740000000p-5, 0x1.8c41380000000p-6,
    0x1.5959ce0000000p-5,
};
/* pi/2 in f64; error -1.5e-33 */
static const double pio2_parts_f64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
/* pi/4 in f64, 1 to 4 times the first part is exact; error -7.49e-34 */
static const double pio4_parts_f64[] = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
/* atan t = t + t^3 P(t^2), |t| <= 1/2; error 4.05e-18 */
static const double atan_f64[] = {
    -0x1.5555555555516p-2, 0x1.9999999991140p-3, -0x1.249249215dd4bp-3, 0x1.c71c7090e354fp-4,
    -0x1.745cf4caa9f9ap-4, 0x1.3b113db8957d0p-4, -0x1.10f31ec66d0b0p-4, 0x1.dfe9734c6f64ep-5,
    -0x1.a39851a893e9fp-5, 0x1.56f58c1cccde9p-5, -0x1.c17f15c4c4c82p-6, 0x1.4b8303e931045p-7,
};
/* asin t = t + t^3 P(t^2), |t| <= 1/2; error 1.49e-17 */
static const double asin_f64[] = {
    0x1.5555555555390p-3, 0x1.333333336e7ffp-4, 0x1.6db6db427b42cp-5, 0x1.f1c72c389fb10p-6,
    0x1.6e89f44955902p-6, 0x1.1c6be116068a8p-6, 0x1.c6fdcd0118f75p-7, 0x1.8ec2b1dcd0620p-7,
    0x1.abd1e1e7c10a3p-8, 0x1.3ff2f39501d95p-6, -0x1.09d0804441d54p-6, 0x1.056c86726fba9p-5,
};
/* clang-format on */
