/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* blas_gelu.c - gelu(x @ w + b) with the product of a BLAS: sgemm through fusec_call, what follows
 * in one kernel of fusec.
 *
 * With FUSEC_EXAMPLE_CUDA the product is cuBLAS's on the stream of the call, in its workspace. */
#include <fusec/fusec.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Row-major c = a b is column-major c' = b' a'. */
#ifdef FUSEC_EXAMPLE_CUDA
#include <cublas_v2.h>

enum { WORKSPACE = 4 << 20 };

static int product(void *user, const fusec_call_args *a) {
    const int n = (int)a->inputs[0].shape[0], k = (int)a->inputs[0].shape[1],
              m = (int)a->inputs[1].shape[1];
    const float one = 1, zero = 0;
    cublasHandle_t blas = *(cublasHandle_t *)user;
    if (!n || !m || !k) return 0;
    return cublasSetStream(blas, a->stream) ||
           cublasSetWorkspace(blas, a->workspace, a->workspace_bytes) ||
           cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a->inputs[1].data, m,
                       a->inputs[0].data, k, &zero, a->outputs[0].data, m);
}
#else
void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc);

static int product(void *user, const fusec_call_args *a) {
    const int n = (int)a->inputs[0].shape[0], k = (int)a->inputs[0].shape[1],
              m = (int)a->inputs[1].shape[1];
    const float one = 1, zero = 0;
    (void)user;
    if (!n || !m || !k) return 0;
    sgemm_("N", "N", &m, &n, &k, &one, a->inputs[1].data, &m, a->inputs[0].data, &k, &zero,
           a->outputs[0].data, &m);
    return 0;
}
#endif

static fusec_value gelu(fusec_value v) {
    const fusec_value inner = fusec_erf(fusec_mul(v, fusec_num(0.70710678118654752)));
    return fusec_mul(fusec_mul(v, fusec_num(0.5)), fusec_add(inner, fusec_num(1)));
}

static fusec_program *compile(fusec_context *ctx, void *user) {
    const fusec_dtype dtype = FUSEC_F32;
    const int rank = 2;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (fusec_graph_new(ctx, &g)) return NULL;
    const fusec_dim n = fusec_sym(g, "n"), k = fusec_sym(g, "k"), m = fusec_sym(g, "m");
    const fusec_dim shape_x[2] = {n, k}, shape_w[2] = {k, m}, shape[2] = {n, m};
    fusec_value in[2] = {fusec_input(g, "x", FUSEC_F32, 2, shape_x),
                         fusec_input(g, "w", FUSEC_F32, 2, shape_w)},
                y;
    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    d.name = "sgemm";
    d.user = user;
#ifdef FUSEC_EXAMPLE_CUDA
    d.cuda = product;
    d.workspace = fusec_size(g, WORKSPACE);
#else
    d.host = product;
#endif
    d.noutputs = 1;
    d.dtypes = &dtype;
    d.ranks = &rank;
    d.shapes = shape;
    fusec_call(g, &d, 2, in, &y);
    fusec_output(g, "y", gelu(fusec_add(y, fusec_input(g, "b", FUSEC_F32, 1, &m))));
    fusec_compile(g, &p);
    fusec_graph_free(g);
    return p;
}

enum { N = 70, K = 50, M = 90 };

int main(void) {
    static float x[N * K], w[K * M], b[M], y[N * M];
    const int64_t shape_x[2] = {N, K}, shape_w[2] = {K, M}, shape_b[1] = {M}, shape_y[2] = {N, M};
    fusec_context *ctx = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    void *user = NULL;
#ifdef FUSEC_EXAMPLE_CUDA
    cublasHandle_t blas = NULL;
    user = &blas;
    o.device = "cuda";
#else
    o.device = "cpu";
#endif
    if (fusec_context_new(&o, &ctx)) return 1;
#ifdef FUSEC_EXAMPLE_CUDA
    if (fusec_device(ctx, NULL, NULL) || cublasCreate(&blas)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        fusec_context_free(ctx);
        return 77; /* skipped */
    }
#endif
    for (int i = 0; i < N * K; i++) x[i] = (float)(i % 13) / 13 - 0.5f;
    for (int i = 0; i < K * M; i++) w[i] = (float)(i % 7) / 7 - 0.5f;
    for (int i = 0; i < M; i++) b[i] = (float)i / M;
    fusec_program *p = compile(ctx, user);
    const fusec_tensor in[3] = {{.data = x, .shape = shape_x, .rank = 2, .dtype = FUSEC_F32},
                                {.data = w, .shape = shape_w, .rank = 2, .dtype = FUSEC_F32},
                                {.data = b, .shape = shape_b, .rank = 1, .dtype = FUSEC_F32}};
    const fusec_tensor out = {.data = y, .shape = shape_y, .rank = 2, .dtype = FUSEC_F32};
    double worst = 0;
    int bad = !p || fusec_run(p, 3, in, 1, &out);
    for (int i = 0; !bad && i < N * M; i++) {
        double v = b[i % M];
        for (int k = 0; k < K; k++) v += (double)x[i / M * K + k] * w[k * M + i % M];
        worst = fmax(worst, fabs(y[i] - v / 2 * (1 + erf(v / sqrt(2)))));
    }
    if (bad)
        fprintf(stderr, "%s\n", fusec_message(ctx));
    else
        printf("%d steps, largest error %.2g\n", fusec_kernel_count(p), worst);
    fusec_program_free(p);
#ifdef FUSEC_EXAMPLE_CUDA
    cublasDestroy(blas);
#endif
    fusec_context_free(ctx);
    return bad || !(worst < 1e-5);
}
