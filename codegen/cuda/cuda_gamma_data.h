/* cuda_gamma_data.h - polynomial of the gamma function, as text
 *
 * Made by scripts/math-coefficients; lowest power first. */
/* clang-format off */
/* 1 / gamma(1.5 + u), |u| <= 1/2; error 1.83e-17 */
static const char reciprocal_gamma[] =
    "0x1.20dd750429b6dp+0, -0x1.514d3d9058483p-5, -0x1.0da5a671c0465p-1, 0x1.669be41a93212p-3, "
    "0x1.a18540be2aa3cp-5, -0x1.5955cc3931940p-5, 0x1.b16203eb90e13p-8, 0x1.15f7f01993557p-9, "
    "-0x1.232bd96c97cffp-10, 0x1.3f8488ba64303p-13, 0x1.a9650eff5416fp-16, -0x1.d259390e563a2p-17, "
    "0x1.214d889dfae4fp-19, 0x1.08d6d32e9d867p-24, -0x1.7d516f1f91e9dp-24, 0x1.c57a8cf62abbap-27,";
/* clang-format on */
