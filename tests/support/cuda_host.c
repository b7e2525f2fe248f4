/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_host.c - see cuda_host.h. */
#include "tests/support/cuda_host.h"
#include "tests/support/cuda_fibers.h"
#include "tests/support/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char compiler[] = "c++";

bool fc_cuda_host_is_there(void) {
    static int found = -1;
    char test[80];
    snprintf(test, sizeof test, "%s --version >/dev/null 2>&1", compiler);
    if (FC_SANITIZED) return false; /* fibers change stacks */
    if (found < 0) found = system(test) == 0;
    return found;
}

static void path_of(const fc_cuda_host *h, const char *file, char path[96]) {
    snprintf(path, 96, "%s/%s", h->folder, file);
}

bool fc_cuda_host_open(fc_cuda_host *h) {
    memset(h, 0, sizeof *h);
    snprintf(h->folder, sizeof h->folder, "/tmp/fusec-emu-XXXXXX");
    if (!fc_cuda_host_is_there() || !mkdtemp(h->folder)) return false;
    char path[96];
    path_of(h, "k.cc", path);
    h->file = fopen(path, "w");
    if (!h->file) return false;
    fprintf(h->file, "#define FC_EMULATE 1\n#include \"tests/support/cuda_emu.h\"\n");
    return true;
}

unsigned fc_cuda_host_add(fc_cuda_host *h, const char *text) {
    unsigned n = h->count++;
    fprintf(h->file, "namespace n%u {\n%s\nFC_KERNEL(host_k%u, k%u)\n}\n", n, text, n, n);
    return h->count;
}

/* -O0 would compile in half the time and run for three times as long. */
bool fc_cuda_host_build(fc_cuda_host *h) {
    char command[600], path[96];
    fclose(h->file);
    h->file = NULL;
    snprintf(
        command, sizeof command,
        "%s -std=c++17 -O1 -w -fPIC -shared -ffp-contract=off -fno-strict-aliasing "
        "-fsanitize=alignment,bounds,integer-divide-by-zero -fsanitize-undefined-trap-on-error "
        "-I%s %s/k.cc -o %s/k.so",
        compiler, FUSEC_SOURCE_DIR, h->folder, h->folder);
    if (system(command) != 0) return false;
    path_of(h, "k.so", path);
    h->library = fc_fibers_load(path);
    return h->library != NULL;
}

bool fc_cuda_host_run(const fc_cuda_host *h, unsigned number, const fc_launch *l,
                      const int64_t *words) {
    char name[32];
    snprintf(name, sizeof name, "host_k%u", number);
    const fc_fiber_kernel *k = fc_fibers_kernel(h->library, name);
    unsigned grid[3];
    for (int i = 0; i < 3; i++) grid[i] = (unsigned)l->grid[i];
    return k && fc_fibers_launch(k, words, grid, l->block, l->together);
}

void fc_cuda_host_close(fc_cuda_host *h) {
    static const char *const files[] = {"k.cc", "k.so"};
    if (h->file) fclose(h->file);
    if (h->library) dlclose(h->library);
    for (size_t i = 0; i < FC_COUNT(files); i++) {
        char path[96];
        path_of(h, files[i], path);
        unlink(path);
    }
    rmdir(h->folder);
    memset(h, 0, sizeof *h);
}
