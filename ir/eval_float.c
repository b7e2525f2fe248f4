/* eval_float.c - rows on blocks of f32 and f64 values. */
#include "ir/eval_rows.h"

#include <math.h>

#include "ir/eval.h"
#include "ir/far.h"

#define fc_log10f log10f
double fc_log10(double x) {
    return (double)log10l((long double)x);
}

#define PICK(f, i) f

#define LOOPS   loops_f32
#define T       float
#define U       float
#define F(name) name##f
#include "ir/eval_loops.def"
#undef F
#define LOOPS   loops_f64
#define T       double
#define U       double
#define F(name) name
#include "ir/eval_loops.def"

void fc_eval_float(fc_op op, fusec_dtype t, size_t n, const void *a, const void *b, const void *c,
                   void *out) {
    if (t == FUSEC_F64)
        loops_f64(op, n, a, b, c, out);
    else
        loops_f32(op, n, a, b, c, out);
}
