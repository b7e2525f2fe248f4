/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* far.h - sine, cosine and tangent of angles far from 0, where reducing them takes more than a few
 * multiplications.
 *
 * fc_far_sin(x, y) is y where |x| is below FC_FAR_F64 or x is nan, else sin x, within 1 ulp (tan:
 * 2); the same for f32 with FC_FAR_F32. Generated code computes y from all its lanes and comes here
 * only when one of them needs it. The bits are the same on every processor. */
#ifndef FUSEC_IR_FAR_H
#define FUSEC_IR_FAR_H

#define FC_FAR_F32 0x1p20
#define FC_FAR_F64 0x1p30

float fc_far_sinf(float x, float y);
float fc_far_cosf(float x, float y);
float fc_far_tanf(float x, float y);
double fc_far_sin(double x, double y);
double fc_far_cos(double x, double y);
double fc_far_tan(double x, double y);

/* The same for vectors: v holds `width` numbers x, then `width` numbers y for each two bits of
 * `kinds` that are not 0, lowest first. Of each y the first n become what the function makes of x
 * and y. */
enum { FC_FAR_SIN = 1, FC_FAR_COS, FC_FAR_TAN };
void fc_far_lanesf(float *v, long long width, long long kinds, long long n);
void fc_far_lanes(double *v, long long width, long long kinds, long long n);

#endif
