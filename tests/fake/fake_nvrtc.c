/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_nvrtc.c - NVRTC that hands texts on as they are, with the macros it was given, or
 * misbehaves. */
#include "tests/fake/fake_state.h"
#include "tests/fake/misbehave.h"

typedef struct program {
    char *text;
} program;

API const char *nvrtcGetErrorString(int r);
const char *nvrtcGetErrorString(int r) {
    return r ? "made to fail" : "no error";
}
FN(nvrtcVersion, (int *major, int *minor)) {
    const int nvrtc_version = fake_number("FAKE_NVRTC_VERSION", 13000);
    *major = nvrtc_version / 1000;
    *minor = nvrtc_version % 1000 / 10;
    return nvrtc_version ? OK : 1;
}
FN(nvrtcCreateProgram, (program * *p, const char *source, const char *name, int n,
                        const char *const *headers, const char *const *names)) {
    (void)name, (void)n, (void)headers, (void)names;
    *p = malloc(sizeof **p);
    if (*p && !((*p)->text = strdup(source))) free(*p), *p = NULL;
    return *p ? OK : 1;
}
FN(nvrtcDestroyProgram, (program * *p)) {
    free((*p)->text);
    free(*p);
    *p = NULL;
    return OK;
}
#ifndef FAKE_NO_COMPILE
static void define(program *p, const char *name) {
    const size_t room = strlen(p->text) + strlen(name) + 16;
    char *text = malloc(room);
    if (!text) return;
    snprintf(text, room, "#define %s 1\n%s", name, p->text);
    free(p->text);
    p->text = text;
}
FN(nvrtcCompileProgram, (program * p, int n, const char *const *options)) {
    static const char macro[] = "--define-macro=";
    for (int i = 0; i < n; i++)
        if (!strncmp(options[i], macro, sizeof macro - 1)) define(p, options[i] + sizeof macro - 1);
    __atomic_fetch_add(&fake_control.compiled, 1, __ATOMIC_RELAXED); /* from several threads */
    const char *count = getenv("FAKE_COUNT");
    FILE *f = count ? fopen(count, "a") : NULL;
    if (f) {
        fputc('x', f);
        fclose(f);
    }
    misbehave(getenv("FAKE_NVRTC"));
    return OK;
}
#endif
FN(nvrtcGetProgramLogSize, (program * p, size_t *n)) {
    (void)p;
    *n = 1;
    return OK;
}
FN(nvrtcGetProgramLog, (program * p, char *t)) {
    (void)p;
    *t = 0;
    return OK;
}
FN(nvrtcGetCUBINSize, (program * p, size_t *n)) {
    *n = MARK_LEN + strlen(p->text) + 1;
    return OK;
}
FN(nvrtcGetCUBIN, (program * p, char *to)) {
    memcpy(to, MARK, MARK_LEN);
    memcpy(to + MARK_LEN, p->text, strlen(p->text) + 1);
    if (fake_control.bad_cubin) *to = 'x';
    return OK;
}
FN(nvrtcGetPTXSize, (program * p, size_t *n)) {
    return nvrtcGetCUBINSize(p, n);
}
FN(nvrtcGetPTX, (program * p, char *to)) {
    return nvrtcGetCUBIN(p, to);
}
FN(nvrtcGetNumSupportedArchs, (int *n)) {
    *n = 3;
    return OK;
}
FN(nvrtcGetSupportedArchs, (int *a)) {
    a[0] = 75, a[1] = 80, a[2] = 90;
    return OK;
}
