/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lapack_lstsq.c - least squares with LAPACK: columns are standardised by kernels, dgels solves,
 * and a kernel computes what is left. */
#include <fusec/fusec.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void dgels_(const char *trans, const int *m, const int *n, const int *nrhs, double *a,
            const int *lda, double *b, const int *ldb, double *work, const int *lwork, int *info);

enum { WORK = 64 }; /* numbers of workspace for each column */

/* The row-major matrix is the transpose of a column-major one, so the transposed system is solved.
 * The matrix and the right side are copied: dgels overwrites them. */
static int least_squares(void *user, const fusec_call_args *a) {
    const int n = (int)a->inputs[0].shape[0], m = (int)a->inputs[0].shape[1], one = 1;
    const int lwork = WORK * (n + m);
    double *matrix = a->workspace, *right = matrix + (size_t)n * (size_t)m, *work = right + n;
    int info = 0;
    (void)user;
    memcpy(matrix, a->inputs[0].data, (size_t)n * (size_t)m * sizeof *matrix);
    memcpy(right, a->inputs[1].data, (size_t)n * sizeof *right);
    dgels_("T", &m, &n, &one, matrix, &m, right, &n, work, &lwork, &info);
    if (info) snprintf(a->message, a->message_room, "dgels: info %d", info);
    memcpy(a->outputs[0].data, right, (size_t)m * sizeof *right);
    return info;
}

enum { N = 200, M = 4 };

int main(void) {
    static double x[N * M], y[N];
    const double truth[M] = {1, -2, 0.5, 3};
    double weights[M], left, worst = 0;
    const int64_t shape[2] = {N, M};
    const fusec_dtype dtype = FUSEC_F64;
    const int rank = 1, columns = 0, last = -1;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "cpu";
    if (fusec_context_new(&o, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) x[i * M + j] = sin((double)(i * (j + 1) + j * j)) + j;

    fusec_value vx = fusec_array(g, FUSEC_F64, 2, shape, x),
                vy = fusec_array(g, FUSEC_F64, 1, shape, y);
    fusec_value mean = fusec_mean(vx, 1, &columns, 1), deviation = fusec_std(vx, 1, &columns, 1);
    fusec_value in[2] = {fusec_div(fusec_sub(vx, mean), deviation), vy}, w;
    const fusec_dim n = fusec_dim_of(vx, 0), m = fusec_dim_of(vx, 1);
    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    d.name = "dgels";
    d.host = least_squares;
    d.noutputs = 1;
    d.dtypes = &dtype;
    d.ranks = &rank;
    d.shapes = &m;
    d.workspace =
        fusec_dim_mul(fusec_dim_add(fusec_dim_mul(n, m),
                                    fusec_dim_mul(fusec_dim_add(n, m), fusec_size(g, WORK + 1))),
                      fusec_size(g, 8));
    fusec_call(g, &d, 2, in, &w);
    fusec_value r = fusec_sub(fusec_sum(fusec_mul(in[0], w), 1, &last, 0), vy);
    fusec_value norm = fusec_sqrt(fusec_sum(fusec_mul(r, r), 0, NULL, 0));

    /* the right side that these weights of the standardised columns give */
    double z[N * M];
    int bad = fusec_read(in[0], z, sizeof z);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) y[i] += z[i * M + j] * truth[j];
    bad = bad || fusec_read(w, weights, sizeof weights) || fusec_read(norm, &left, sizeof left);
    for (int j = 0; !bad && j < M; j++) worst = fmax(worst, fabs(weights[j] - truth[j]));
    if (bad)
        fprintf(stderr, "%s\n", fusec_message(ctx));
    else
        printf("largest error of a weight %.2g, what is left %.2g\n", worst, left);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return bad || !(worst < 1e-9) || !(left < 1e-9);
}
