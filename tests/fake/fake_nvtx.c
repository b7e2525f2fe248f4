/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_nvtx.c - NVTX: ranges are lines of the file that FAKE_NVTX names, "+name" and "-". */
#include "tests/fake/fake_state.h"

static void say(const char *mark, const char *name) {
    const char *path = getenv("FAKE_NVTX");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f) return;
    fprintf(f, "%s%s\n", mark, name);
    fclose(f);
}

FN(nvtxRangePushA, (const char *name)) {
    say("+", name);
    return 0;
}
FN(nvtxRangePop, (void)) {
    say("-", "");
    return 0;
}
