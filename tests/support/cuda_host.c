/* cuda_host.c - see cuda_host.h. */
#include "tests/support/cuda_host.h"
#include "tests/support/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char compiler[] = "c++";

bool fc_cuda_host_open(fc_cuda_host *h) {
    memset(h, 0, sizeof *h);
    if (FC_SANITIZED) return false; /* it and fibers do not go together */
    char test[80];
    snprintf(test, sizeof test, "%s --version >/dev/null 2>&1", compiler);
    if (system(test) != 0) return false;
    snprintf(h->folder, sizeof h->folder, "/tmp/fusec-emu-XXXXXX");
    if (!mkdtemp(h->folder)) return false;
    h->parts = 2;
    for (unsigned i = 0; i < h->parts; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/part%u.cc", h->folder, i);
        FILE *f = fopen(path, "w");
        if (!f) return false;
        fprintf(f, "#define FC_EMULATE 1\n#include \"tests/support/cuda_emu.h\"\n");
        h->file[i] = f;
    }
    return true;
}

unsigned fc_cuda_host_add(fc_cuda_host *h, const char *text) {
    unsigned n = h->count++;
    fprintf(h->file[n % h->parts],
            "namespace n%u {\n%s\nextern \"C\" bool run_k%u(const long long *w, const unsigned *g, "
            "const unsigned *b, bool together) "
            "{\n    P p;\n    memcpy(&p, w, sizeof p);\n    return fc_emu::launch(g, b, together, "
            "fc_cluster(&p), [&] { "
            "k%u(p); });\n}\n}\n",
            n, text, n, n);
    return h->count;
}

bool fc_cuda_host_build(fc_cuda_host *h) {
    char command[1200];
    size_t at = 0;
    for (unsigned i = 0; i < h->parts; i++) {
        fclose(h->file[i]);
        h->file[i] = NULL;
        at += (size_t)snprintf(
            command + at, sizeof command - at,
            "%s -std=c++17 -O1 -w -fPIC -shared -ffp-contract=off -fno-strict-aliasing "
            "-U_FORTIFY_SOURCE "
            "-fsanitize=alignment,bounds,integer-divide-by-zero -fsanitize-undefined-trap-on-error "
            "-I%s %s/part%u.cc -o %s/part%u.so & ",
            compiler, FUSEC_SOURCE_DIR, h->folder, i, h->folder, i);
    }
    snprintf(command + at, sizeof command - at, "wait");
    if (system(command) != 0) return false;
    for (unsigned i = 0; i < h->parts; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/part%u.so", h->folder, i);
        h->library[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!h->library[i]) return false;
    }
    return true;
}

bool fc_cuda_host_run(fc_cuda_host *h, unsigned number, const fc_launch *l, const int64_t *words) {
    typedef bool (*run_fn)(const long long *, const unsigned *, const unsigned *, bool);
    char name[32];
    snprintf(name, sizeof name, "run_k%u", number);
    void *symbol = dlsym(h->library[number % h->parts], name);
    run_fn run;
    memcpy(&run, &symbol, sizeof run);
    unsigned grid[3];
    for (int i = 0; i < 3; i++) grid[i] = (unsigned)l->grid[i];
    return run && run((const long long *)words, grid, l->block, l->together);
}

void fc_cuda_host_close(fc_cuda_host *h) {
    for (unsigned i = 0; i < h->parts; i++) {
        if (h->file[i]) fclose(h->file[i]);
        if (h->library[i]) dlclose(h->library[i]);
        char path[96];
        snprintf(path, sizeof path, "%s/part%u.cc", h->folder, i);
        unlink(path);
        snprintf(path, sizeof path, "%s/part%u.so", h->folder, i);
        unlink(path);
    }
    rmdir(h->folder);
    memset(h, 0, sizeof *h);
}
