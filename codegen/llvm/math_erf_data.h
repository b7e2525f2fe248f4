/* math_erf_data.h - polynomials of the error function
 *
 * Made by scripts/math-coefficients; lowest power first. */
/* clang-format off */
/* erf x = x + x P(x^2), |x| <= 0.92; error 1.41e-08 */
static const double erf_f32[] = {
    0x1.06eba60000000p-3, -0x1.8126ee0000000p-2, 0x1.ce1bc80000000p-4, -0x1.b69df80000000p-6,
    0x1.47a3160000000p-8, -0x1.3ba8b40000000p-11,
};
/* 1 - erf x = exp(-(x + x P(x))), 0.92 <= x <= 4; error 2.15e-10 */
static const double erf_f32_far[] = {
    0x1.07463a0000000p-3, 0x1.4570920000000p-1, 0x1.af29a20000000p-4, -0x1.7385960000000p-6,
    0x1.8035300000000p-9, -0x1.a370e60000000p-15, -0x1.7da99a0000000p-15, 0x1.4aed1e0000000p-18,
};
/* erfc x = exp(-x^2) P(t) / (1 + 2x), t = (x-3)/(x+3), 0 <= x <= 10.1, for f32 in f64; error 3.3e-11 */
static const double erfc_wide[] = {
    0x1.40c522d7dfe99p+0, -0x1.15c084d54cdd2p-3, -0x1.85a15c05800a0p-5, 0x1.09836c2ee72a3p-3,
    -0x1.e88b7eb1ec73cp-4, 0x1.17c97a7fd5e0ep-4, -0x1.8576d194d2358p-6, 0x1.4c12a498d4edbp-9,
    0x1.f084a18eb54f0p-10, -0x1.9e3ea85b2e343p-11, -0x1.092c9a0ba02a8p-13, 0x1.0a7bebe9e24ccp-13,
    0x1.16b2ebcc7b693p-15,
};
/* clang-format on */
