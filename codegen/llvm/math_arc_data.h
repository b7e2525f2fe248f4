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
/* clang-format on */
