/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_llvm.c - an LLVM that hands texts on as they are, or misbehaves: the functions of
 * runtime/compile/llvm_api.h, found by FUSEC_LIBLLVM_PATH as the real ones are.
 *
 *     FAKE_LLVM=crash|hang|abort|memory|noise|spin   what it does instead of compiling
 *     FAKE_LLVM_IN=open|parse|passes|emit            where; emit unless it is said
 *
 * A module and a buffer are the text; everything else is a name for nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/misbehave.h"

#define FN(type, name, args)                                                                       \
    __attribute__((visibility("default"))) type name args;                                         \
    type name args
#if defined(__aarch64__)
#define INIT(what) LLVMInitializeAArch64##what
#else
#define INIT(what) LLVMInitializeX86##what
#endif

typedef struct text {
    size_t len;
    char at[];
} text;

static char nothing;

static void here(const char *place) {
    const char *where = getenv("FAKE_LLVM_IN");
    if (!strcmp(place, where ? where : "emit")) misbehave(getenv("FAKE_LLVM"));
}

static text *text_of(const char *data, size_t len) {
    text *t = malloc(sizeof *t + len + 1);
    if (!t) return NULL;
    t->len = len;
    memcpy(t->at, data, len);
    t->at[len] = 0;
    return t;
}

FN(void, LLVMGetVersion, (unsigned *major, unsigned *minor, unsigned *patch)) {
    *major = 19;
    *minor = *patch = 0;
}
FN(void, LLVMPointerTypeInContext, (void)) {}
FN(void, INIT(TargetInfo), (void)) {}
FN(void, INIT(Target), (void)) {
    here("open");
}
FN(void, INIT(TargetMC), (void)) {}
FN(void, INIT(AsmPrinter), (void)) {}
FN(char *, LLVMGetDefaultTargetTriple, (void)) {
    return strdup("fake-unknown-linux");
}
FN(char *, LLVMGetHostCPUName, (void)) {
    return strdup("fake");
}
FN(char *, LLVMGetHostCPUFeatures, (void)) {
    return strdup("");
}
FN(void, LLVMDisposeMessage, (char *s)) {
    free(s);
}
FN(int, LLVMGetTargetFromTriple, (const char *triple, void **t, char **message)) {
    (void)triple, (void)message;
    *t = &nothing;
    return 0;
}
FN(void *, LLVMCreateTargetMachine,
   (void *t, const char *triple, const char *cpu, const char *features, int level, int reloc,
    int model)) {
    (void)t, (void)triple, (void)cpu, (void)features, (void)level, (void)reloc, (void)model;
    return &nothing;
}
FN(void, LLVMDisposeTargetMachine, (void *m)) {
    (void)m;
}
FN(void *, LLVMCreateTargetDataLayout, (void *m)) {
    return m;
}
FN(void, LLVMDisposeTargetData, (void *l)) {
    (void)l;
}
FN(int, LLVMTargetMachineEmitToMemoryBuffer,
   (void *m, text *module, int type, char **message, text **out)) {
    (void)m, (void)type, (void)message;
    here("emit");
    *out = text_of(module->at, module->len);
    return *out == NULL;
}
FN(void *, LLVMContextCreate, (void)) {
    return &nothing;
}
FN(void, LLVMContextDispose, (void *c)) {
    (void)c;
}
FN(void, LLVMContextSetDiagnosticHandler, (void *c, void (*fn)(void *, void *), void *user)) {
    (void)c, (void)fn, (void)user;
}
FN(int, LLVMGetDiagInfoSeverity, (void *d)) {
    (void)d;
    return 0;
}
FN(char *, LLVMGetDiagInfoDescription, (void *d)) {
    (void)d;
    return NULL;
}
FN(text *, LLVMCreateMemoryBufferWithMemoryRange,
   (const char *data, size_t len, const char *name, int terminated)) {
    (void)name, (void)terminated;
    return text_of(data, len);
}
FN(const char *, LLVMGetBufferStart, (text * b)) {
    return b->at;
}
FN(size_t, LLVMGetBufferSize, (text * b)) {
    return b->len;
}
FN(void, LLVMDisposeMemoryBuffer, (text * b)) {
    free(b);
}
FN(int, LLVMParseIRInContext, (void *c, text *b, text **module, char **message)) {
    (void)c;
    here("parse");
    *module = b; /* it takes the buffer */
    if (b && strncmp(b->at, "wrong", 5) != 0) return 0;
    *message = strdup("this is no text");
    free(b);
    return 1;
}
FN(void, LLVMDisposeModule, (text * m)) {
    free(m);
}
FN(void, LLVMSetTarget, (text * m, const char *triple)) {
    (void)m, (void)triple;
}
FN(void, LLVMSetModuleDataLayout, (text * m, void *l)) {
    (void)m, (void)l;
}
FN(int, LLVMVerifyModule, (text * m, int action, char **message)) {
    (void)m, (void)action, (void)message;
    return 0;
}
FN(void *, LLVMCreatePassBuilderOptions, (void)) {
    return &nothing;
}
FN(void, LLVMDisposePassBuilderOptions, (void *o)) {
    (void)o;
}
FN(void *, LLVMRunPasses, (text * m, const char *passes, void *machine, void *options)) {
    (void)m, (void)passes, (void)machine, (void)options;
    here("passes");
    return NULL;
}
FN(char *, LLVMGetErrorMessage, (void *e)) {
    (void)e;
    return NULL;
}
FN(void, LLVMDisposeErrorMessage, (char *s)) {
    LLVMDisposeMessage(s);
}
