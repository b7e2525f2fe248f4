/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* external.c - functions of scalars as functions of arrays, for the types that are usual; the
 * operands of a call. */
#include "ir/external.h"

#include "ir/fold.h"

/* The types of k operands, and their values at v. */
#define OF_1(T) T
#define OF_2(T) T, OF_1(T)
#define OF_3(T) T, OF_2(T)
#define OF_4(T) T, OF_3(T)
#define OF_5(T) T, OF_4(T)
#define OF_6(T) T, OF_5(T)
#define OF_7(T) T, OF_6(T)
#define OF_8(T) T, OF_7(T)
#define AT_1    v[0][i]
#define AT_2    AT_1, v[1][i]
#define AT_3    AT_2, v[2][i]
#define AT_4    AT_3, v[3][i]
#define AT_5    AT_4, v[4][i]
#define AT_6    AT_5, v[5][i]
#define AT_7    AT_6, v[6][i]
#define AT_8    AT_7, v[7][i]

#define CASE(k, T)                                                                                 \
    case k:                                                                                        \
        for (int64_t i = 0; i < n; i++) to[i] = ((T(*)(OF_##k(T)))x->scalar)(AT_##k);              \
        break
#define FOR_TYPE(T, name)                                                                          \
    static void name(void *user, int64_t n, const void *const *in, void *out) {                    \
        const fc_extern *x = user;                                                                 \
        const T *v[FC_EXTERN_SCALARS];                                                             \
        T *to = out;                                                                               \
        for (unsigned k = 0; k < x->nargs; k++) v[k] = in[k];                                      \
        switch (x->nargs) {                                                                        \
            CASE(1, T);                                                                            \
            CASE(2, T);                                                                            \
            CASE(3, T);                                                                            \
            CASE(4, T);                                                                            \
            CASE(5, T);                                                                            \
            CASE(6, T);                                                                            \
            CASE(7, T);                                                                            \
            CASE(8, T);                                                                            \
        }                                                                                          \
    }
FOR_TYPE(float, of_f32)
FOR_TYPE(double, of_f64)
FOR_TYPE(int32_t, of_i32)
FOR_TYPE(int64_t, of_i64)

fc_extern_fn fc_extern_by_element(const fc_extern *x) {
    if (x->nargs > FC_EXTERN_SCALARS) return NULL;
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

uint32_t fc_extern_nodes(const fc_graph *g, const fc_ninfo *n, fc_node out[FC_MAX_EXTERN]) {
    const bool listed = n->nops == 3 && fc_at(g, n->src[2])->op == FC_OP_RECORD;
    for (unsigned k = 0; k < n->nops; k++) out[k] = n->src[k];
    return listed ? 2 + fc_record_nodes(g, n->src[2], FC_MAX_EXTERN - 2, out + 2) : n->nops;
}
