/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
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
/* erf x = x + x P(x^2), |x| <= 0.92; error 1.1e-17 */
static const double erf_f64[] = {
    0x1.06eba8214db69p-3, -0x1.812746b037a05p-2, 0x1.ce2f21a0439c7p-4, -0x1.b82ce312b1be9p-6,
    0x1.565bcd11e4999p-8, -0x1.c02db431b9be3p-11, 0x1.f9a320749b603p-14, -0x1.f4d0ebbcbddbfp-17,
    0x1.b9c6eb5556140p-20, -0x1.5de308c312709p-23, 0x1.e5360dd512337p-27, -0x1.da0462b040a95p-31,
};
/* 1 - erf x = exp(-P(x - 2)), 0.92 <= x <= 6; error 1.94e-18 */
static const double erf_f64_far[] = {
    0x1.575b329b1f516p+2, 0x1.1ac3258a8dc29p+2, 0x1.d8f5dece92214p-1, 0x1.0dc3b5fb0ff45p-6,
    -0x1.d406b371d747bp-9, 0x1.7ffcfb5093417p-11, -0x1.1bc3a6b916bf2p-13, 0x1.5b656591962ebp-16,
    -0x1.0603df4bc282cp-19, -0x1.b5399a3bd0c34p-23, 0x1.73dbb3b562ce7p-23, -0x1.f11a614ba8cc8p-25,
    0x1.e0d47b2d38e4bp-27, -0x1.53d874cbbe41fp-29, 0x1.0ca4edff43ae8p-32, 0x1.5ca68b4ab0e87p-37,
    -0x1.89786158a86f8p-36, 0x1.40248a4b173e0p-36, -0x1.85f58f1b67008p-38, -0x1.0b5a45a16a1b5p-41,
    0x1.2fa14249604fcp-41, -0x1.4ab97e8391798p-44,
};
/* erfc x = exp(-x^2) P(t) / (1 + 2x), t = (x-4)/(x+4), 0 <= x <= 27.3; error 3.75e-17 */
static const double erfc_f64[] = {
    0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28ep-3, 0x1.f7f5df66fc343p-7, 0x1.16ecefcfa549bp-4,
    -0x1.9ddb23c3e28c2p-4, 0x1.7fee004e0d6f8p-4, -0x1.0fb06dfeb7fbep-4, 0x1.3079edf77088ep-5,
    -0x1.09623874ebdc1p-6, 0x1.49c6722f8c1b6p-8, -0x1.8d4aa5f33daccp-11, -0x1.a1dedf239afd0p-13,
    0x1.3be1063bf8f8ep-13, -0x1.9961b5a2f30f5p-16, -0x1.78aa75f57c828p-17, 0x1.7f75bb4c71a8bp-18,
    0x1.4392cfd45369dp-22, -0x1.be162efd13e3fp-21, 0x1.11cafaad38ba5p-24, 0x1.e4b2cce009c0ep-24,
    -0x1.2cf702d0afd55p-27, -0x1.c1dfafe3487aep-27, -0x1.9f798e4d414a2p-30,
};
/* clang-format on */
