/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* external.c - functions of scalars as functions of arrays, for the types that are usual. */
#include "ir/external.h"

#define FOR_TYPE(T, name)                                                                          \
    static void name(void *user, int64_t n, const void *const *in, void *out) {                    \
        const fc_extern *x = user;                                                                 \
        const T *a = in[0], *b = x->nargs > 1 ? in[1] : NULL, *c = x->nargs > 2 ? in[2] : NULL;    \
        T *to = out;                                                                               \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i] = x->nargs == 1   ? ((T(*)(T))x->scalar)(a[i])                                   \
                    : x->nargs == 2 ? ((T(*)(T, T))x->scalar)(a[i], b[i])                          \
                                    : ((T(*)(T, T, T))x->scalar)(a[i], b[i], c[i]);                \
    }
FOR_TYPE(float, of_f32)
FOR_TYPE(double, of_f64)
FOR_TYPE(int32_t, of_i32)
FOR_TYPE(int64_t, of_i64)

fc_extern_fn fc_extern_by_element(const fc_extern *x) {
    for (unsigned i = 0; i < x->nargs; i++)
        if (x->dtype[i] != x->result) return NULL;
    switch (x->result) {
    case FUSEC_F32: return of_f32;
    case FUSEC_F64: return of_f64;
    case FUSEC_I32: return of_i32;
    case FUSEC_I64: return of_i64;
    default: return NULL;
    }
}
