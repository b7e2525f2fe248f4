/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ulp.h - the error of a float result. */
#ifndef FUSEC_TESTS_SUPPORT_ULP_H
#define FUSEC_TESTS_SUPPORT_ULP_H

#include <fusec/fusec.h>

/* In units of the last place that a value of the size of `exact` has in the dtype, subnormals
 * included. Infinite where only the very value would do: of nan, infinity and zero, the sign of a
 * zero included. */
double fc_ulps(fusec_dtype t, double got, long double exact);

#endif
