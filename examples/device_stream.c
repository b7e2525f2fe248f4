/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_stream.c - memory of the device and a stream: data stays there between calls, and on a GPU
 * nothing waits. On the CPU the same calls use plain memory. A caller with a CUstream or
 * cudaStream_t of its own passes it instead of NULL. */
#include <fusec/fusec.h>

#include <stdio.h>

int main(void) {
    enum { N = 1 << 16 };
    static float host[N];
    int64_t shape[1] = {N};
    void *stream = NULL, *x = NULL, *y = NULL;
    const char *device = "";
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    for (int i = 0; i < N; i++) host[i] = (float)(i % 10);

    fusec_dim n = fusec_sym(g, "n");
    fusec_value v = fusec_input(g, "x", FUSEC_F32, 1, &n);
    fusec_output(g, "y", fusec_add(fusec_mul(v, fusec_num(0.5)), fusec_num(1)));

    int bad = fusec_device(ctx, &device, NULL) || fusec_compile(g, &p) ||
              fusec_device_alloc(ctx, sizeof host, &x) ||
              fusec_device_alloc(ctx, sizeof host, &y) || fusec_upload(ctx, x, host, sizeof host);
    fusec_tensor
        tx = {.data = x, .shape = shape, .rank = 1, .dtype = FUSEC_F32, .place = FUSEC_DEVICE},
        ty = {.data = y, .shape = shape, .rank = 1, .dtype = FUSEC_F32, .place = FUSEC_DEVICE};
    bad = bad || fusec_run_on(p, stream, 1, &tx, 1, &ty); /* y = x/2 + 1 */
    bad = bad || fusec_run_on(p, stream, 1, &ty, 1, &tx); /* x = y/2 + 1, after it */
    bad = bad || fusec_synchronize(ctx) || fusec_download(ctx, host, x, sizeof host);
    if (bad) fprintf(stderr, "%s\n", fusec_message(ctx));

    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += host[i] != (float)(i % 10) * 0.25f + 1.5f;
    printf("%s: x[7] = %g, %d wrong\n", device, host[7], wrong);

    fusec_device_free(ctx, x);
    fusec_device_free(ctx, y);
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return bad || wrong ? 1 : 0;
}
