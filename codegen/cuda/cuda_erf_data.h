/* cuda_erf_data.h - polynomials of the error function, as text
 *
 * Made by scripts/math-coefficients; lowest power first. */
/* clang-format off */
/* erfc a = 2^(-a^2 L) 2^24 P(1/(a + 2)), 0 <= a <= 10.06, L = 0x1.715476p+0; error 6.05e-09 */
static const char erfc_f32[] =
    "0x1.0caef60000000p-41, 0x1.209e1e0000000p-25, 0x1.240ee60000000p-24, 0x1.ca74240000000p-24, "
    "0x1.2276b80000000p-22, -0x1.fbfb9c0000000p-22, 0x1.5b2d920000000p-19, -0x1.ebb8000000000p-18, "
    "0x1.45f3220000000p-17, -0x1.aab2ee0000000p-18, 0x1.c25f540000000p-20,";
/* erfc a = exp(-a^2) 2^60 P((a - 4)/(a + 4)) / (a + 4), 0 <= a <= 27.3; error 5.86e-17 */
static const char erfc_f64[] =
    "0x1.18932bf08e154p-60, -0x1.f3fe31ecb49c0p-61, 0x1.8be202d26c70bp-61, -0x1.14eacb1ad02c3p-61, "
    "0x1.52cac2370feecp-62, -0x1.645fd8a4c0309p-63, 0x1.38dbd2c8ef4edp-64, -0x1.b00c052a1c87bp-66, "
    "0x1.908f471b73653p-68, -0x1.269b56e28e371p-72, -0x1.dd2841d57ad0ap-72, 0x1.72cddbb26de91p-73, "
    "-0x1.e7ef864f242bfp-79, -0x1.3c74673bbe990p-76, 0x1.3b116a2926292p-78, 0x1.7f0fd3bd0ded0p-80, "
    "-0x1.c68b800000000p-81, -0x1.54c5900000000p-84, 0x1.0ac1400000000p-83, 0x1.00ec400000000p-88, "
    "-0x1.05a4500000000p-86, -0x1.ae5c300000000p-91, 0x1.d941d00000000p-91,";
/* e^r = P(r), |r| <= ln(2)/2; error 9.92e-18 */
static const char exp_f64[] =
    "0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.0000000000016p-1, 0x1.555555555557ap-3, "
    "0x1.555555554e1acp-5, 0x1.111111110ad73p-7, 0x1.6c16c18991027p-10, 0x1.a01a01bfffa2ep-13, "
    "0x1.a019900000000p-16, 0x1.71dde00000000p-19, 0x1.28b4100000000p-22, 0x1.af78700000000p-26,";
/* clang-format on */
