/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_once.c - does one thing with the object that test_aot_cuda.c builds, and says what came of
 * it: "open" without a context, or "once", an open and two calls. */
#include <stdbool.h>
#include <stdint.h>

#include "examples/ahead_of_time/gpu.h"
#include "gpu_code.h"

int main(int argc, char **argv) {
    const bool once = argc > 1 && !strcmp(argv[1], "once");
    gpu_code_cuda *cuda = NULL;
    void *stream = NULL;
    if (once && gpu_start(&stream)) return 2;
    float *x = once ? gpu_new(4 * 256) : NULL;
    void *scratch = once ? gpu_new(1 << 16) : NULL;
    const int opened = gpu_code_cuda_open(&cuda);
    printf("open %d %s\n", opened, gpu_code_cuda_message());
    for (int i = 0; once && !opened && i < 2; i++) {
        int r = gpu_code_stored_cuda(cuda, stream, 4, 0, x, (int64_t *)x, x, x, scratch);
        if (!r) r = gpu_code_twice_cuda(cuda, stream, 4, x, x, scratch);
        printf("call %d %s\n", r, gpu_code_cuda_message());
    }
    gpu_code_cuda_close(cuda);
    if (once) gpu_delete(x), gpu_delete(scratch);
    return 0;
}
