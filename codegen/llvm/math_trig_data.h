/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_trig_data.h - polynomials of sine and cosine and the parts of pi/2
 *
 * Made by scripts/math-coefficients; lowest power first. */
/* clang-format off */
/* pi/2 in f32; error 1.06e-23 */
static const double pio2_f32[] = {0x1.921fb40000000p+0, 0x1.4442d20000000p-24, -0x1.ee59da0000000p-50};
/* pi/2 in f64; error 5.56e-50 */
static const double pio2_f64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
/* sin r = r + r^3 P(r^2), |r| <= 0.82; error 5.51e-09 */
static const double sin_f32[] = {
    -0x1.5555400000000p-3, 0x1.1105480000000p-7, -0x1.98a08c0000000p-13,
};
/* cos r = 1 - r^2/2 + r^4 P(r^2), |r| <= 0.82; error 1.99e-10 */
static const double cos_f32[] = {
    0x1.5555460000000p-5, -0x1.6c09de0000000p-10, 0x1.99492a0000000p-16,
};
/* sin r = r + r^3 P(r^2), |r| <= 0.79; error 4.11e-18 */
static const double sin_f64[] = {
    -0x1.5555555555547p-3, 0x1.111111110f5c7p-7, -0x1.a01a019bbe383p-13, 0x1.71de3531006e9p-19,
    -0x1.ae5e2fa9bb7a4p-26, 0x1.5d83564a57b66p-33,
};
/* cos r = 1 - r^2/2 + r^4 P(r^2), |r| <= 0.79; error 6.17e-20 */
static const double cos_f64[] = {
    0x1.555555555554ap-5, -0x1.6c16c16c14df7p-10, 0x1.a01a019c5ab7dp-16, -0x1.27e4f7cbc3bc7p-22,
    0x1.1ee9c20def4c2p-29, -0x1.8f991eb0c8ac0p-37,
};
/* clang-format on */
