/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lapack_lstsq.c - least squares with LAPACK: columns are standardised by kernels, dgels solves,
 * and a kernel computes what is left.
 *
 * With FUSEC_EXAMPLE_CUDA it is cuSOLVER's QR on the stream of the call, in its workspace. */
#include <fusec/fusec.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef FUSEC_EXAMPLE_CUDA
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

typedef struct solver {
    cusolverDnHandle_t dense;
    cublasHandle_t blas;
    int lwork; /* numbers of workspace */
} solver;

/* Numbers of the whole workspace: matrix, right side, factors, work, and the place of `info`. */
static int64_t open_solver(solver *s, int n, int m) {
    int a = 0, b = 0;
    if (cusolverDnCreate(&s->dense) || cublasCreate(&s->blas) ||
        cusolverDnDgeqrf_bufferSize(s->dense, n, m, NULL, n, &a) ||
        cusolverDnDormqr_bufferSize(s->dense, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, n, 1, m, NULL, n, NULL,
                                    NULL, n, &b))
        return -1;
    s->lwork = a > b ? a : b;
    return (int64_t)n * m + n + m + s->lwork + 1;
}

static void close_solver(solver *s) {
    cusolverDnDestroy(s->dense);
    cublasDestroy(s->blas);
}

/* The input is the transposed matrix, row by row: the matrix, column by column. */
static int least_squares(void *user, const fusec_call_args *a) {
    solver *s = user;
    cudaStream_t stream = a->stream;
    const int m = (int)a->inputs[0].shape[0], n = (int)a->inputs[0].shape[1];
    const double one = 1;
    double *matrix = a->workspace, *right = matrix + (size_t)n * (size_t)m, *tau = right + n,
           *work = tau + m;
    int *info = (int *)(work + s->lwork);
    return cusolverDnSetStream(s->dense, stream) || cublasSetStream(s->blas, stream) ||
           cudaMemcpyAsync(matrix, a->inputs[0].data, (size_t)n * (size_t)m * sizeof *matrix,
                           cudaMemcpyDeviceToDevice, stream) ||
           cudaMemcpyAsync(right, a->inputs[1].data, (size_t)n * sizeof *right,
                           cudaMemcpyDeviceToDevice, stream) ||
           cusolverDnDgeqrf(s->dense, n, m, matrix, n, tau, work, s->lwork, info) ||
           cusolverDnDormqr(s->dense, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, n, 1, m, matrix, n, tau, right,
                            n, work, s->lwork, info) ||
           cublasDtrsm(s->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                       CUBLAS_DIAG_NON_UNIT, m, 1, &one, matrix, n, right, n) ||
           cudaMemcpyAsync(a->outputs[0].data, right, (size_t)m * sizeof *right,
                           cudaMemcpyDeviceToDevice, stream);
}
#else
void dgels_(const char *trans, const int *m, const int *n, const int *nrhs, double *a,
            const int *lda, double *b, const int *ldb, double *work, const int *lwork, int *info);

enum { WORK = 64 }; /* numbers of workspace for each column */

typedef struct solver {
    int unused;
} solver;

static int64_t open_solver(solver *s, int n, int m) {
    s->unused = 0;
    return (int64_t)n * m + n + WORK * (n + m);
}

static void close_solver(solver *s) {
    (void)s;
}

/* The input is the transposed matrix, row by row: the matrix, column by column. It and the right
 * side are copied: dgels overwrites them. */
static int least_squares(void *user, const fusec_call_args *a) {
    const int m = (int)a->inputs[0].shape[0], n = (int)a->inputs[0].shape[1], one = 1;
    const int lwork = WORK * (n + m);
    double *matrix = a->workspace, *right = matrix + (size_t)n * (size_t)m, *work = right + n;
    int info = 0;
    (void)user;
    memcpy(matrix, a->inputs[0].data, (size_t)n * (size_t)m * sizeof *matrix);
    memcpy(right, a->inputs[1].data, (size_t)n * sizeof *right);
    dgels_("N", &n, &m, &one, matrix, &n, right, &n, work, &lwork, &info);
    if (info) snprintf(a->message, a->message_room, "dgels: info %d", info);
    memcpy(a->outputs[0].data, right, (size_t)m * sizeof *right);
    return info;
}
#endif

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
    solver solve;
#ifdef FUSEC_EXAMPLE_CUDA
    o.device = "cuda";
#else
    o.device = "cpu";
#endif
    if (fusec_context_new(&o, &ctx)) return 1;
    const int64_t workspace = fusec_device(ctx, NULL, NULL) ? -1 : open_solver(&solve, N, M);
    if (workspace < 0) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        fusec_context_free(ctx);
        return 77; /* skipped */
    }
    if (fusec_graph_new(ctx, &g)) return 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) x[i * M + j] = sin((double)(i * (j + 1) + j * j)) + j;

    fusec_value vx = fusec_array(g, FUSEC_F64, 2, shape, x),
                vy = fusec_array(g, FUSEC_F64, 1, shape, y);
    fusec_value mean = fusec_mean(vx, 1, &columns, 1), deviation = fusec_std(vx, 1, &columns, 1);
    fusec_value standard = fusec_div(fusec_sub(vx, mean), deviation), w;
    fusec_value in[2] = {fusec_transpose(standard, NULL), vy};
    const fusec_dim m = fusec_dim_of(vx, 1);
    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    d.name = "gels";
#ifdef FUSEC_EXAMPLE_CUDA
    d.cuda = least_squares;
#else
    d.host = least_squares;
#endif
    d.user = &solve;
    d.noutputs = 1;
    d.dtypes = &dtype;
    d.ranks = &rank;
    d.shapes = &m;
    d.workspace = fusec_size(g, 8 * workspace);
    fusec_call(g, &d, 2, in, &w);
    fusec_value r = fusec_sub(fusec_sum(fusec_mul(standard, w), 1, &last, 0), vy);
    fusec_value norm = fusec_sqrt(fusec_sum(fusec_mul(r, r), 0, NULL, 0));

    /* the right side that these weights of the standardised columns give */
    double z[N * M];
    int bad = fusec_read(standard, z, sizeof z);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) y[i] += z[i * M + j] * truth[j];
    bad = bad || fusec_read(w, weights, sizeof weights) || fusec_read(norm, &left, sizeof left);
    for (int j = 0; !bad && j < M; j++) worst = fmax(worst, fabs(weights[j] - truth[j]));
    if (bad)
        fprintf(stderr, "%s\n", fusec_message(ctx));
    else
        printf("largest error of a weight %.2g, what is left %.2g\n", worst, left);
    fusec_graph_free(g);
    close_solver(&solve);
    fusec_context_free(ctx);
    return bad || !(worst < 1e-9) || !(left < 1e-9);
}
