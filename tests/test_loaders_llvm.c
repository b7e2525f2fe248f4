/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_loaders_llvm.c - LLVM's text to an object, the object to a callable, with every version of
 * LLVM that is on this machine; objects that are damaged. */
#include "runtime/compile/kernel_symbols.h"
#include "runtime/compile/llvm_compile.h"
#include "runtime/compile/objreloc.h"
#include "tests/support/test.h"

#include <elf.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const fc_alloc *const A = &fc_libc_alloc;

/* Opens the LLVM of a path; NULL: the one that is found or that the environment names. */
static fusec_status open_llvm(const char *path, fc_llvm **l, fc_error *e) {
    const char *named = getenv("FUSEC_LIBLLVM_PATH");
    char *kept = named ? strdup(named) : NULL;
    if (path) setenv("FUSEC_LIBLLVM_PATH", path, 1);
    fusec_status st = fc_llvm_open(A, l, e);
    if (kept)
        setenv("FUSEC_LIBLLVM_PATH", kept, 1);
    else
        unsetenv("FUSEC_LIBLLVM_PATH");
    free(kept);
    return st;
}

/* ---- LLVM: every version on this machine --------------------------------------------------- */

/* Vector loop body, calls outside, a constant pool, a table of constants, a jump table, memset. */
static const char kernel_ir[] =
    "@table = private constant [4 x float] [float 1.0, float 10.0, float 100.0, float 1000.0]\n"
    "@counter = internal global i64 5\n"
    "declare float @sinf(float)\n"
    "declare double @pow(double, double)\n"
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
    "define void @k_sin(ptr %x, ptr %y, i64 %n) {\n"
    "entry:\n  br label %loop\n"
    "loop:\n  %i = phi i64 [0, %entry], [%j, %loop]\n"
    "  %p = getelementptr float, ptr %x, i64 %i\n  %q = getelementptr float, ptr %y, i64 %i\n"
    "  %v = load float, ptr %p\n  %a = fmul float %v, 2.0\n  %b = fadd float %a, 1.0\n"
    "  %s = call float @sinf(float %b)\n  store float %s, ptr %q\n"
    "  %j = add i64 %i, 1\n  %c = icmp ult i64 %j, %n\n  br i1 %c, label %loop, label %end\n"
    "end:\n  ret void\n}\n"
    "define void @k_vec(ptr %x) {\n  %v = load <16 x float>, ptr %x, align 4\n"
    "  %w = fmul <16 x float> %v, <float 1.0, float 2.0, float 3.0, float 4.0, float 5.0, float "
    "6.0, "
    "float 7.0, float 8.0, float 9.0, float 10.0, float 11.0, float 12.0, float 13.0, float 14.0, "
    "float 15.0, float 16.0>\n  store <16 x float> %w, ptr %x, align 4\n  ret void\n}\n"
    "define float @k_table(i64 %i) {\n  %p = getelementptr [4 x float], ptr @table, i64 0, i64 %i\n"
    "  %v = load float, ptr %p\n  ret float %v\n}\n"
    "define i64 @k_count() {\n  %v = load i64, ptr @counter\n  %w = add i64 %v, 1\n"
    "  store i64 %w, ptr @counter\n  ret i64 %w\n}\n"
    "define double @k_pow(double %a, double %b) {\n  %p = call double @pow(double %a, double %b)\n"
    "  ret double %p\n}\n"
    "define void @k_zero(ptr %p, i64 %n) {\n"
    "  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)\n  ret void\n}\n"
    "define i32 @k_switch(i32 %i, ptr %p) {\n"
    "  switch i32 %i, label %d [ i32 0, label %a i32 1, label %b i32 2, label %c i32 3, label %e "
    "i32 4, label %f ]\n"
    "a:\n  store i32 7, ptr %p\n  ret i32 3\nb:\n  store i32 1, ptr %p\n  ret i32 9\n"
    "c:\n  %q = load i32, ptr %p\n  ret i32 %q\ne:\n  store i32 8, ptr %p\n  ret i32 -4\n"
    "f:\n  ret i32 77\nd:\n  ret i32 -1\n}\n";

static const fc_llvm_options usual = {.level = 2};

static fusec_status load_kernel(const fc_bytes *b, fc_object **o, fc_error *e) {
    return fc_object_load(A, b->data, b->len, fc_kernel_symbol, o, e);
}

static void check_kernels(const fc_object *o) {
    float x[16], y[16];
    void (*k_sin)(const float *, float *, int64_t);
    void (*k_vec)(float *);
    float (*k_table)(int64_t);
    int64_t (*k_count)(void);
    double (*k_pow)(double, double);
    void (*k_zero)(void *, int64_t);
    int (*k_switch)(int, int *);
    k_sin = (void (*)(const float *, float *, int64_t))fc_object_function(o, "k_sin");
    k_vec = (void (*)(float *))fc_object_function(o, "k_vec");
    k_table = (float (*)(int64_t))fc_object_function(o, "k_table");
    k_count = (int64_t(*)(void))fc_object_function(o, "k_count");
    k_pow = (double (*)(double, double))fc_object_function(o, "k_pow");
    k_zero = (void (*)(void *, int64_t))fc_object_function(o, "k_zero");
    k_switch = (int (*)(int, int *))fc_object_function(o, "k_switch");
    FC_EXPECT_TRUE(fc_object_function(o, "k_other") == NULL);
    FC_ASSERT_TRUE(k_sin && k_vec && k_table && k_count && k_pow && k_zero && k_switch);
    for (int i = 0; i < 16; i++) x[i] = (float)i;
    k_sin(x, y, 16);
    for (int i = 0; i < 16; i++) FC_EXPECT_EQ_F64(y[i], sinf((float)i * 2 + 1));
    k_vec(x);
    for (int i = 0; i < 16; i++) FC_EXPECT_EQ_F64(x[i], (float)i * (float)(i + 1));
    FC_EXPECT_EQ_F64(k_table(2), 100);
    FC_EXPECT_EQ_I64(k_count(), 6);
    FC_EXPECT_EQ_I64(k_count(), 7);
    FC_EXPECT_EQ_F64(k_pow(2, 10), 1024);
    k_zero(y, sizeof y);
    FC_EXPECT_EQ_F64(y[15], 0);
    int cell = 0;
    const int results[] = {3, 9, 1, -4, 77, -1};
    for (int i = 0; i < 6; i++) FC_EXPECT_EQ_I64(k_switch(i, &cell), results[i]);
}

static void check_rejected(fc_llvm *l, const char *ir, const char *part) {
    fc_bytes b = {NULL, 0};
    fc_error e = {0};
    FC_EXPECT_STATUS(fc_llvm_compile(l, ir, strlen(ir), "bad_kernel", &usual, &b, &e), FUSEC_LLVM,
                     &e);
    FC_EXPECT_CONTAINS(e.message, "LLVM rejected the generated kernel bad_kernel");
    FC_EXPECT_CONTAINS(e.message, part);
    FC_EXPECT_TRUE(b.data == NULL);
}

static void check_options(fc_llvm *l) {
    const fc_llvm_options variants[] = {
        {.level = 0, .passes = FC_LLVM_NO_PASSES},
        {.level = 1, .passes = FC_LLVM_EARLY_CSE},
        {.level = 2, .passes = FC_LLVM_CLEAN},
        {.level = 3, .passes = FC_LLVM_CLEAN},
#if defined(__x86_64__)
        {.level = 2, .cpu = "x86-64"},
        {.level = 2, .cpu = "x86-64", .features = "+sse4.2"},
#endif
    };
    for (size_t i = 0; i < FC_COUNT(variants); i++) {
        fc_bytes b = {NULL, 0};
        fc_error e = {0};
        fc_object *o = NULL;
        FC_TRACE("variant %zu", i);
        FC_ASSERT_OK(fc_llvm_compile(l, kernel_ir, strlen(kernel_ir), "k", &variants[i], &b, &e),
                     &e);
        FC_ASSERT_OK(load_kernel(&b, &o, &e), &e);
        check_kernels(o);
        FC_EXPECT_GT_I64((int64_t)fc_object_mapped_bytes(o), 0);
        fc_object_unload(o);
        fc_bytes_free(A, &b);
        FC_UNTRACE();
    }
}

typedef struct many {
    fc_llvm *l;
    int failures;
} many;

static void *compile_many(void *arg) {
    many *m = arg;
    for (int i = 0; i < 10; i++) {
        char ir[300];
        fc_bytes b = {NULL, 0};
        fc_error e = {0};
        fc_object *o = NULL;
        int n = snprintf(ir, sizeof ir,
                         "define i32 @f(i32 %%a) {\n%%b = add i32 %%a, %d\nret i32 %%b\n}\n", i);
        if (fc_llvm_compile(m->l, ir, (size_t)n, "f", &usual, &b, &e) != FUSEC_OK ||
            load_kernel(&b, &o, &e) != FUSEC_OK ||
            ((int (*)(int))fc_object_function(o, "f"))(100) != 100 + i)
            m->failures++;
        fc_object_unload(o);
        fc_bytes_free(A, &b);
    }
    return NULL;
}

static void check_threads(fc_llvm *l) {
    pthread_t t[4];
    many m[4];
    for (int i = 0; i < 4; i++) {
        m[i] = (many){l, 0};
        FC_ASSERT_EQ_I64(pthread_create(&t[i], NULL, compile_many, &m[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 4; i++) FC_EXPECT_EQ_I64(m[i].failures, 0);
}

static void check_assembly(fc_llvm *l) {
    const fc_llvm_options text = {.level = 2, .assembly = true};
    fc_bytes b = {NULL, 0};
    fc_error e = {0};
    FC_ASSERT_OK(fc_llvm_compile(l, kernel_ir, strlen(kernel_ir), "k", &text, &b, &e), &e);
    FC_EXPECT_CONTAINS((const char *)b.data, "k_switch:");
    FC_EXPECT_EQ_I64((int64_t)b.len, (int64_t)strlen((const char *)b.data));
    fc_bytes_free(A, &b);
}

static void check_version(void *arg) {
    const char *path = arg;
    fc_llvm *l = NULL;
    fc_error e = {0};
    if (path && access(path, R_OK) != 0) FC_SKIP("%s is not there", path);
    fusec_status st = open_llvm(path, &l, &e);
    if (!path && st == FUSEC_NO_LLVM) FC_SKIP("%s", e.message);
    FC_ASSERT_OK(st, &e);
    FC_EXPECT_GE_I64(l->major, 15);
    check_options(l);
    check_assembly(l);
    check_rejected(l, "define void @f() { this is no IR }", "expected");
    check_rejected(l, "define float @f(i32 %a) {\n ret i32 %a\n}\n", "");
    check_rejected(l,
                   "define void @f() {\n call void asm sideeffect \"nonsense\", \"={nowhere}\"()\n "
                   "ret void\n}\n",
                   "");
    check_threads(l);
    fc_llvm_close(l);
}

static const char *const llvm_libs[] = {"libLLVM-15.so.1", "libLLVM-16.so.1", "libLLVM-17.so.1",
                                        "libLLVM.so.18.1", "libLLVM.so.19.1", "libLLVM.so.20.1",
                                        "libLLVM.so.21.1", "libLLVM.so.22.1"};

FC_REGISTER(llvm_versions) {
    static char paths[FC_COUNT(llvm_libs)][128];
    FC_ADD_TEST("llvm", "found_by_default", check_version, NULL);
    for (size_t i = 0; i < FC_COUNT(llvm_libs); i++) {
        char name[32];
#if defined(__aarch64__)
        snprintf(paths[i], sizeof paths[i], "/usr/lib/aarch64-linux-gnu/%s", llvm_libs[i]);
#else
        snprintf(paths[i], sizeof paths[i], "/usr/lib/x86_64-linux-gnu/%s", llvm_libs[i]);
#endif
        snprintf(name, sizeof name, "version_%zu", i + 15);
        FC_ADD_TEST("llvm", name, check_version, paths[i]);
    }
}

FC_TEST(llvm, too_old_or_absent) {
    fc_llvm *l = NULL;
    fc_error e = {0};
    FC_EXPECT_STATUS(open_llvm("/nowhere/libLLVM.so", &l, &e), FUSEC_NO_LLVM, &e);
    FC_EXPECT_CONTAINS(e.message, "/nowhere/libLLVM.so");
    const char *old = "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1";
    if (access(old, R_OK) == 0) {
        fc_error e2 = {0};
        FC_EXPECT_STATUS(open_llvm(old, &l, &e2), FUSEC_NO_LLVM, &e2);
        FC_EXPECT_CONTAINS(e2.message, "older than 15");
    }
}

/* ---- the object loader against damage ------------------------------------------------------ */

static bool default_object(fc_bytes *b) {
    fc_llvm *l = NULL;
    fc_error e = {0};
    if (fc_llvm_open(A, &l, &e) != FUSEC_OK) return false;
    bool good = fc_llvm_compile(l, kernel_ir, strlen(kernel_ir), "k", &usual, b, &e) == FUSEC_OK;
    fc_llvm_close(l);
    return good;
}

/* Right or refused, never a fault: the function is not called. */
static void try_load(const uint8_t *data, size_t len, int *taken) {
    fc_object *o = NULL;
    fc_error e = {0};
    fc_bytes b = {(uint8_t *)(uintptr_t)data, len};
    if (load_kernel(&b, &o, &e) == FUSEC_OK) ++*taken;
    fc_object_unload(o);
}

FC_TEST(objload, damaged_objects) {
    fc_bytes b = {NULL, 0};
    int taken = 0;
    if (!default_object(&b)) FC_SKIP("no LLVM");
    for (size_t n = 0; n < b.len; n++) {
        uint8_t *cut =
            malloc(n ? n : 1); /* of its own size, so that a sanitizer sees every overrun */
        memcpy(cut, b.data, n);
        try_load(cut, n, &taken);
        free(cut);
    }
    FC_EXPECT_EQ_I64(taken, 0); /* the section table stands at the end */
    for (size_t bit = 0; bit < 8 * b.len; bit += 3) {
        b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        try_load(b.data, b.len, &taken);
        b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 3000; round++) {
        uint8_t kept[4];
        size_t at[4];
        for (int k = 0; k < 4; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            at[k] = (size_t)(random >> 8) % b.len;
            kept[k] = b.data[at[k]];
            b.data[at[k]] = (uint8_t)random;
        }
        try_load(b.data, b.len, &taken);
        for (int k = 3; k >= 0; k--) b.data[at[k]] = kept[k];
    }
    fc_bytes_free(A, &b);
}

FC_TEST(objload, unknown_function) {
    static const char ir[] = "declare float @no_such_function(float)\ndefine float @f(float %x) {\n"
                             "%y = call float @no_such_function(float %x)\nret float %y\n}\n";
    fc_llvm *l = NULL;
    fc_error e = {0};
    fc_bytes b = {NULL, 0};
    fc_object *o = NULL;
    if (fc_llvm_open(A, &l, &e) != FUSEC_OK) FC_SKIP("no LLVM");
    FC_ASSERT_OK(fc_llvm_compile(l, ir, strlen(ir), "f", &usual, &b, &e), &e);
    FC_EXPECT_STATUS(load_kernel(&b, &o, &e), FUSEC_LLVM, &e);
    FC_EXPECT_CONTAINS(e.message, "it needs no_such_function, which kernels can't call");
    fc_bytes_free(A, &b);
    fc_llvm_close(l);
}

/* Rows give names to what they compute; LLVM may ask for what no row names. */
FC_TEST(objload, symbols_of_kernels) {
    FC_EXPECT_TRUE(fc_kernel_symbol("exp") != NULL && fc_kernel_symbol("expf") != NULL);
    FC_EXPECT_TRUE(fc_kernel_symbol("exp") != fc_kernel_symbol("expf"));
    FC_EXPECT_TRUE(fc_kernel_symbol("exp2") != fc_kernel_symbol("exp"));
    FC_EXPECT_TRUE(fc_kernel_symbol("fc_far_sin") != NULL && fc_kernel_symbol("memcpy") != NULL);
    FC_EXPECT_TRUE(fc_kernel_symbol("expq") == NULL && fc_kernel_symbol("system") == NULL);
    double (*log10_of)(double) = (double (*)(double))fc_kernel_symbol("log10");
    FC_EXPECT_EQ_F64(log10_of(1000), 3);
}

static uint32_t patched(uint32_t type, uint32_t word, uint64_t address, uint64_t value,
                        bool *good) {
    uint8_t at[8] = {0};
    memcpy(at, &word, sizeof word);
    *good = fc_reloc_apply(FC_EM_AARCH64, type, at, address, value);
    memcpy(&word, at, sizeof word);
    return word;
}

/* The words are what the GNU assembler makes of the instructions named beside them. */
FC_TEST(objload, aarch64_relocations) {
    bool good;
    FC_EXPECT_EQ_U64(patched(283, 0x94000000, 0x10000, 0x10008, &good), 0x94000002); /* bl +8 */
    FC_EXPECT_TRUE(good);
    FC_EXPECT_EQ_U64(patched(282, 0x14000000, 0x10008, 0x10000, &good), 0x17fffffe); /* b -8 */
    FC_EXPECT_TRUE(good);
    (void)patched(283, 0x94000000, 0, UINT64_C(1) << 27, &good); /* 128 MiB is one step too far */
    FC_EXPECT_FALSE(good);
    (void)patched(283, 0x94000000, 0, (UINT64_C(1) << 27) - 4, &good);
    FC_EXPECT_TRUE(good);
    (void)patched(283, 0x94000000, 0, 2, &good); /* not a word */
    FC_EXPECT_FALSE(good);
    /* adrp x0, three pages on: immlo 3, immhi 0 */
    FC_EXPECT_EQ_U64(patched(275, 0x90000000, 0x1ffc, 0x4010, &good), 0xf0000000);
    FC_EXPECT_TRUE(good);
    FC_EXPECT_EQ_U64(patched(277, 0x91000000, 0, 0x12345, &good), 0x910d1400); /* add #0x345 */
    FC_EXPECT_EQ_U64(patched(286, 0xf9400000, 0, 0x12348, &good), 0xf941a400); /* ldr x0, #0x348 */
    FC_EXPECT_TRUE(good);
    (void)patched(286, 0xf9400000, 0, 0x12344, &good);
    FC_EXPECT_FALSE(good);
    FC_EXPECT_EQ_U64(patched(299, 0x3dc00000, 0, 0x12340, &good), 0x3dc0d000); /* ldr q0, #0x340 */
    FC_EXPECT_TRUE(good);
    FC_EXPECT_EQ_U64(patched(280, 0x54000000, 0x100, 0x110, &good), 0x54000080); /* b.eq +16 */
    FC_EXPECT_TRUE(good);
    unsigned width;
    FC_EXPECT_EQ_I64(fc_reloc_kind(FC_EM_AARCH64, 312, &width), FC_RELOC_GOT);
    FC_EXPECT_EQ_I64(fc_reloc_kind(FC_EM_AARCH64, 4711, &width), FC_RELOC_UNKNOWN);
}
