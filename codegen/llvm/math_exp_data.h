/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_exp_data.h - polynomials of the exponentials and hyperbolic functions
 *
 * Made by scripts/math-coefficients; lowest power first. */
/* clang-format off */
/* ln 2 in f32; error -8.78e-17 */
static const double ln2_f32[] = {0x1.62e4300000000p-1, -0x1.05c6100000000p-29};
/* ln 2 in f64; error 5.71e-34 */
static const double ln2_f64[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
/* e^r = 1 + r P(r), |r| <= ln(2)/2; error 3.33e-09 */
static const double exp_f32[] = {
    0x1.0000000000000p+0, 0x1.fffffc0000000p-2, 0x1.55548c0000000p-3, 0x1.5558940000000p-5,
    0x1.123d040000000p-7, 0x1.6a6e1a0000000p-10,
};
/* e^r = 1 + r + r^2 P(r), |r| <= ln(2)/2; error 3.14e-09 */
static const double exp_f32_near[] = {
    0x1.fffffc0000000p-2, 0x1.5554920000000p-3, 0x1.5558aa0000000p-5, 0x1.1239860000000p-7,
    0x1.6a53f20000000p-10,
};
/* the same for f32 computed in f64; error 5.2e-11 */
static const double exp_wide[] = {
    0x1.0000003a3cc5ep-1, 0x1.555554441c4ccp-3, 0x1.55548d8da3128p-5, 0x1.11126f450bffep-7,
    0x1.6d8d38c17cebep-10, 0x1.9f0ac20d8b47dp-13,
};
/* the same in f64; error 3.76e-18 */
static const double exp_f64[] = {
    0x1.000000000000ap-1, 0x1.5555555555501p-3, 0x1.55555555506a8p-5, 0x1.1111111125fddp-7,
    0x1.6c16c1847d92cp-10, 0x1.a01a0133a3a8bp-13, 0x1.a01999497ebc2p-16, 0x1.71df10d2cdc2ap-19,
    0x1.28ae1329aad3ep-22, 0x1.ad9f9d03883b6p-26,
};
/* 2^r = 1 + r P(r), |r| <= 1/2; error 3.16e-09 */
static const double exp2_f32[] = {
    0x1.62e4300000000p-1, 0x1.ebfbdc0000000p-3, 0x1.c6af740000000p-5, 0x1.3b2dc40000000p-7,
    0x1.5f0ca20000000p-10, 0x1.418aa20000000p-13,
};
/* sinh r = r + r^3 P(r^2), |r| <= ln(2)/2, for f32 in f64; error 5.27e-12 */
static const double sinh_wide[] = {
    0x1.555555739538dp-3, 0x1.1110b1aa4f2d5p-7, 0x1.a1701ced60c51p-13,
};
/* cosh r = 1 + r^2 P(r^2), |r| <= ln(2)/2, for f32 in f64; error 1.54e-14 */
static const double cosh_wide[] = {
    0x1.ffffffffee4bfp-2, 0x1.5555558209b21p-5, 0x1.6c163511a2c16p-10, 0x1.a17543c845816p-16,
};
/* e^2u - 1 = 2u + u^2 P(u), -ln(2)/8 <= u <= 3 ln(2)/8; error 4.39e-10 */
static const double tanh_f32[] = {
    0x1.0000000000000p+1, 0x1.5555540000000p+0, 0x1.5555fe0000000p-1, 0x1.110fea0000000p-2,
    0x1.699daa0000000p-4, 0x1.df74560000000p-6,
};
/* the same in f64; error 2.96e-19 */
static const double tanh_f64[] = {
    0x1.0000000000000p+1, 0x1.555555555555ap+0, 0x1.5555555555515p-1, 0x1.111111110e341p-2,
    0x1.6c16c16c83057p-4, 0x1.a01a01bbcbe82p-6, 0x1.a019fb6cc8fb1p-8, 0x1.71de384ffe25ap-10,
    0x1.27fcd38852a32p-12, 0x1.a998d89af2800p-15, 0x1.501cace0a2417p-17,
};
/* clang-format on */
