/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_rect.c - rows of at most 8 elements over two kept axes: every reduction and several
 * dtypes as CUDA text on the host, by the driver of the tests, against the interpreter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fusec/fusec.h>

#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

enum { N = 19, M = 48, MOST_D = 8, WIDEST = 8 };

typedef struct call {
    fusec_dtype dtype;
    int reduction; /* of `reduce` */
    int64_t d;
    unsigned char a[N * MOST_D * WIDEST], b[M * MOST_D * WIDEST], row[M * WIDEST];
    unsigned char out[N * M * 8];
    size_t bytes; /* of `out` */
} call;

static fusec_value reduce(fusec_value x, int which) {
    static const int last[] = {2};
    switch (which) {
    case 0: return fusec_sum(x, 1, last, 0);
    case 1: return fusec_max(x, 1, last, 0);
    case 2: return fusec_min(x, 1, last, 0);
    case 3: return fusec_prod(x, 1, last, 0);
    case 4: return fusec_argmax(x, 1, last, 0);
    case 5: return fusec_any(fusec_ne(x, fusec_int(0)), 1, last, 0);
    default: return fusec_var(x, 1, last, 0);
    }
}

static bool is_float(fusec_dtype t) {
    return t == FUSEC_F32 || t == FUSEC_F64 || t == FUSEC_BF16;
}

/* What rows and columns have in common goes through the reduction; a row of M comes after it, where
 * dtypes allow. */
static fusec_status build(fusec_graph *g, const call *c) {
    const fusec_dim one = fusec_size(g, 1), n = fusec_sym(g, "n"), m = fusec_sym(g, "m"),
                    d = fusec_sym(g, "d"), as[3] = {n, one, d}, bs[3] = {one, m, d};
    fusec_value a = fusec_input(g, "a", c->dtype, 3, as), b = fusec_input(g, "b", c->dtype, 3, bs),
                row = fusec_input(g, "row", c->dtype, 1, &m),
                r = reduce(fusec_sub(a, b), c->reduction);
    const bool same = is_float(c->dtype) && c->reduction != 4 && c->reduction != 5;
    fusec_output(g, "out", same ? fusec_add(r, row) : r);
    if (!same) fusec_output(g, "row2", fusec_add(row, row));
    return fusec_graph_status(g);
}

static fusec_status run_on(fusec_context *ctx, call *c) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    unsigned char second[M * 8];
    const int64_t as[3] = {N, 1, c->d}, bs[3] = {1, M, c->d}, m[1] = {M}, os[2] = {N, M};
    const fusec_tensor in[3] = {{.data = c->a, .shape = as, .rank = 3, .dtype = c->dtype},
                                {.data = c->b, .shape = bs, .rank = 3, .dtype = c->dtype},
                                {.data = c->row, .shape = m, .rank = 1, .dtype = c->dtype}};
    fusec_status s = fusec_graph_new(ctx, &g);
    if (!s) s = build(g, c);
    if (!s) s = fusec_compile(g, &p);
    if (!s) {
        const fusec_tensor out[2] = {
            {.data = c->out, .shape = os, .rank = 2, .dtype = fusec_output_dtype(p, 0)},
            {.data = second, .shape = m, .rank = 1, .dtype = c->dtype}};
        c->bytes = N * M * fusec_dtype_bytes(fusec_output_dtype(p, 0));
        s = fusec_run(p, 3, in, fusec_output_count(p), out);
    }
    fusec_program_free(p);
    fusec_graph_free(g);
    return s;
}

static void fill(unsigned char *to, size_t n, fusec_dtype t, unsigned seed) {
    for (size_t i = 0; i < n; i++) {
        const int v = (int)((i * 7 + seed) % 11) - 5; /* small: sums and products are exact */
        const float f = (float)v;
        const double f64 = v;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        const uint16_t half = (uint16_t)(bits >> 16);
        const int8_t i8 = (int8_t)v;
        const int32_t i32 = v;
        const size_t size = fusec_dtype_bytes(t);
        const void *from = t == FUSEC_F32    ? (const void *)&f
                           : t == FUSEC_F64  ? (const void *)&f64
                           : t == FUSEC_BF16 ? (const void *)&half
                           : t == FUSEC_I8   ? (const void *)&i8
                                             : (const void *)&i32;
        memcpy(to + i * size, from, size);
    }
}

FC_TEST(cuda_rect, every_reduction_computes_as_the_interpreter) {
    static const struct {
        fusec_dtype dtype;
        const char *reductions;
    } rows[] = {{FUSEC_F32, "0123456"},
                {FUSEC_F64, "06"},
                {FUSEC_BF16, "014"},
                {FUSEC_I8, "05"},
                {FUSEC_I32, "24"}};
    static call c;
    static unsigned char want[sizeof c.out];
    fake_machine fake;
    fusec_context *cuda = NULL, *interp = NULL;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&fake, FAKE("whole"))) return;
    fake.fake->execute = true;
    FC_EXPECT_EQ_I64(capi_open("interp", 0, &interp), FUSEC_OK);
    FC_EXPECT_EQ_I64(capi_open("cuda", 0, &cuda), FUSEC_OK);
    for (size_t t = 0; t < sizeof rows / sizeof *rows; t++)
        for (const char *r = rows[t].reductions; *r; r++) {
            c.dtype = rows[t].dtype;
            c.reduction = *r - '0';
            c.d = 2 + (int64_t)(t + (size_t)c.reduction) % 7; /* 2 to 8 */
            fill(c.a, (size_t)(N * c.d), c.dtype, 1);
            fill(c.b, (size_t)(M * c.d), c.dtype, 4);
            fill(c.row, M, c.dtype, 9);
            FC_TRACE("dtype %d, reduction %d, %d elements", (int)c.dtype, c.reduction, (int)c.d);
            if (run_on(interp, &c)) FC_FAIL("%s", fusec_message(interp));
            memcpy(want, c.out, c.bytes);
            memset(c.out, 0xcd, sizeof c.out);
            if (run_on(cuda, &c)) FC_FAIL("%s", fusec_message(cuda));
            FC_EXPECT_MEMEQ(c.out, want, c.bytes);
            FC_UNTRACE();
        }
    fusec_context_free(cuda);
    fusec_context_free(interp);
    fake_check_balance(&fake, false);
    fake_machine_close(&fake);
}
