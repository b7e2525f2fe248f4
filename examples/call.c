/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* call.c - a function of C among kernels: a system of equations is solved between two of them.
 *
 * A library's function is called the same way: LAPACK's here, cuSOLVER's on a GPU. */
#include <fusec/fusec.h>
#include <stdio.h>
#include <string.h>

/* x of a x = b by Gauss, with a copy of a in the workspace. */
static int solve(void *user, const fusec_call_args *a) {
    (void)user;
    const int64_t n = a->inputs[0].shape[0];
    double *m = a->workspace, *x = a->outputs[0].data;
    memcpy(m, a->inputs[0].data, (size_t)(n * n) * sizeof *m);
    memcpy(x, a->inputs[1].data, (size_t)n * sizeof *x);
    for (int64_t k = 0; k < n; k++) {
        if (m[k * n + k] == 0) {
            snprintf(a->message, a->message_room, "no pivot in column %lld", (long long)k);
            return 1;
        }
        for (int64_t i = k + 1; i < n; i++) {
            const double f = m[i * n + k] / m[k * n + k];
            for (int64_t j = k; j < n; j++) m[i * n + j] -= f * m[k * n + j];
            x[i] -= f * x[k];
        }
    }
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t j = k + 1; j < n; j++) x[k] -= m[k * n + j] * x[j];
        x[k] /= m[k * n + k];
    }
    return 0;
}

int main(void) {
    double a[9] = {4, 1, 0, 1, 3, 1, 0, 1, 2}, b[3] = {1, 2, 3}, x[3], left;
    const int64_t shape[2] = {3, 3};
    const fusec_dtype dtype = FUSEC_F64;
    const int rank = 1, last = -1;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    if (fusec_context_new(&(fusec_options){.size = sizeof(fusec_options), .device = "cpu"}, &ctx) ||
        fusec_graph_new(ctx, &g)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }
    fusec_value va = fusec_array(g, FUSEC_F64, 2, shape, a),
                vb = fusec_array(g, FUSEC_F64, 1, shape, b);
    fusec_value scaled[2] = {fusec_mul(va, fusec_num(2)), fusec_mul(vb, fusec_num(2))}, vx;

    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    const fusec_dim n = fusec_dim_of(va, 0);
    d.name = "solve";
    d.host = solve;
    d.noutputs = 1;
    d.dtypes = &dtype;
    d.ranks = &rank;
    d.shapes = &n;
    d.workspace = fusec_dim_mul(fusec_dim_mul(n, n), fusec_size(g, 8));
    fusec_call(g, &d, 2, scaled, &vx);

    /* how far a x is from b */
    fusec_value r = fusec_sub(fusec_sum(fusec_mul(va, vx), 1, &last, 0), vb);
    fusec_value worst = fusec_max(fusec_abs(r), 0, NULL, 0);
    const int bad = fusec_read(vx, x, sizeof x) || fusec_read(worst, &left, sizeof left);
    if (bad)
        fprintf(stderr, "%s\n", fusec_message(ctx));
    else
        printf("x = %.4f %.4f %.4f, %s\n", x[0], x[1], x[2], left < 1e-12 ? "right" : "wrong");
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return bad || left >= 1e-12;
}
