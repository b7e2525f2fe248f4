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

/* The same for n numbers: y[i] becomes fc_far_sin(x[i], y[i]). */
void fc_far_sinf_n(const float *x, float *y, long long n);
void fc_far_cosf_n(const float *x, float *y, long long n);
void fc_far_tanf_n(const float *x, float *y, long long n);
void fc_far_sin_n(const double *x, double *y, long long n);
void fc_far_cos_n(const double *x, double *y, long long n);
void fc_far_tan_n(const double *x, double *y, long long n);

#endif
