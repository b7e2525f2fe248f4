/* test_loaders.c - libraries found at run time, text to binary, binary to callable. What needs a
 * library or a device that is not there is skipped; faulty versions of them are made here. */
#include "codegen/cpuinfo.h"
#include "codegen/cuda/driver.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/llvm/kernel_symbols.h"
#include "codegen/llvm/llvm_compile.h"
#include "codegen/llvm/objreloc.h"
#include "tests/support/test.h"

#include <elf.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const fc_alloc *const A = &fc_libc_alloc;

static void set_env(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* ---- dynlib -------------------------------------------------------------------------------- */

typedef struct demo_fns {
    double (*cosine)(double);
    void (*missing)(void);
} demo_fns;

FC_TEST(dynlib, lists_what_was_looked_for) {
    const char *const names[] = {"libdoes-not-exist.so.7", "libdoes-not-exist.so", NULL};
    const char *const dirs[] = {"", "/nowhere/lib", "/nowhere/*/lib", NULL};
    fc_dynsearch s = {.env_name = "FUSEC_TEST_LIB", .names = names, .dirs = dirs};
    demo_fns t;
    fc_dynlib lib;
    fc_str why;
    fc_str_init(&why, A);
    FC_EXPECT_FALSE(fc_dynlib_open(&s, &t, sizeof t, &lib, &why));
    FC_EXPECT_STREQ(why.data,
                    "libdoes-not-exist.so.7, libdoes-not-exist.so not found in the linker's "
                    "path, /nowhere/lib, /nowhere/*/lib");
    fc_str_clear(&why);
    set_env("FUSEC_TEST_LIB", "/etc/hostname");
    FC_EXPECT_FALSE(fc_dynlib_open(&s, &t, sizeof t, &lib, &why));
    FC_EXPECT_CONTAINS(why.data, "cannot load /etc/hostname");
    FC_EXPECT_CONTAINS(why.data, "FUSEC_TEST_LIB is /etc/hostname, so nothing else was searched");
    set_env("FUSEC_TEST_LIB", NULL);
    fc_str_free(&why);
}

FC_TEST(dynlib, required_and_optional_functions) {
    const char *const names[] = {"libm.so.6", NULL};
    const char *const dirs[] = {"", NULL};
    fc_dynsym syms[] = {{"cos", offsetof(demo_fns, cosine), true},
                        {"no_such_function", offsetof(demo_fns, missing), false}};
    fc_dynsearch s = {.names = names, .dirs = dirs, .syms = syms, .n_syms = 2};
    demo_fns t;
    fc_dynlib lib;
    fc_str why;
    fc_str_init(&why, A);
    FC_ASSERT_TRUE(fc_dynlib_open(&s, &t, sizeof t, &lib, &why));
    FC_EXPECT_EQ_F64(t.cosine(0), 1);
    FC_EXPECT_TRUE(t.missing == NULL);
    fc_dynlib_close(&lib);
    syms[1].required = true;
    FC_EXPECT_FALSE(fc_dynlib_open(&s, &t, sizeof t, &lib, &why));
    FC_EXPECT_CONTAINS(why.data, "libm.so.6 has no no_such_function");
    FC_EXPECT_TRUE(t.cosine == NULL);
    fc_str_free(&why);
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
    return fc_object_load(A, b->data, b->len, fc_kernel_symbols, fc_kernel_symbols_count, o, e);
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
    fc_str text;
    if (path && access(path, R_OK) != 0) FC_SKIP("%s is not there", path);
    set_env("FUSEC_LIBLLVM_PATH", path);
    fusec_status st = fc_llvm_open(A, &l, &e);
    set_env("FUSEC_LIBLLVM_PATH", NULL);
    if (!path && st == FUSEC_NO_LLVM) FC_SKIP("%s", e.message);
    FC_ASSERT_OK(st, &e);
    FC_EXPECT_GE_I64(l->major, 15);
    fc_str_init(&text, A);
    fc_llvm_describe(l, &usual, &text);
    FC_EXPECT_CONTAINS(text.data, "passes=function(early-cse) level=2");
    fc_str_free(&text);
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
    set_env("FUSEC_LIBLLVM_PATH", "/nowhere/libLLVM.so");
    FC_EXPECT_STATUS(fc_llvm_open(A, &l, &e), FUSEC_NO_LLVM, &e);
    FC_EXPECT_CONTAINS(e.message, "/nowhere/libLLVM.so");
    const char *old = "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1";
    if (access(old, R_OK) == 0) {
        fc_error e2 = {0};
        set_env("FUSEC_LIBLLVM_PATH", old);
        FC_EXPECT_STATUS(fc_llvm_open(A, &l, &e2), FUSEC_NO_LLVM, &e2);
        FC_EXPECT_CONTAINS(e2.message, "older than 15");
    }
    set_env("FUSEC_LIBLLVM_PATH", NULL);
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

FC_TEST(objload, symbols_are_sorted) {
    for (size_t i = 1; i < fc_kernel_symbols_count; i++)
        FC_EXPECT_LT_I64(strcmp(fc_kernel_symbols[i - 1].name, fc_kernel_symbols[i].name), 0);
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

/* ---- NVRTC --------------------------------------------------------------------------------- */

static const char cuda_source[] =
    "extern \"C\" __global__ void k(const float *a, float *b, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) b[i] = a[i] * 3.0f + 1.5f;\n"
    "}\n";

FC_TEST(nvrtc, compiles) {
    fc_nvrtc *n = NULL;
    fc_error e = {0};
    fc_bytes b = {NULL, 0};
    if (fc_nvrtc_open(A, &n, &e) != FUSEC_OK) FC_SKIP("%s", e.message);
    char arch[16];
    fc_nvrtc_options o = {.arch = arch};
    FC_ASSERT_TRUE(fc_nvrtc_best_arch(n, n->archs[n->n_archs - 1], arch, &o.kind));
    FC_EXPECT_EQ_I64(o.kind, FC_NVRTC_CUBIN);
    FC_ASSERT_OK(fc_nvrtc_compile(n, cuda_source, "k.cu", &o, &b, &e), &e);
    FC_EXPECT_MEMEQ(b.data, ELFMAG, SELFMAG);
    fc_bytes_free(A, &b);
    o.kind = FC_NVRTC_PTX;
    FC_ASSERT_OK(fc_nvrtc_compile(n, cuda_source, "k.cu", &o, &b, &e), &e);
    FC_EXPECT_TRUE(strstr((char *)b.data, "mul.rn.f32") || strstr((char *)b.data, "mul.f32"));
    FC_EXPECT_TRUE(strstr((char *)b.data, "fma.rn") == NULL);
    FC_EXPECT_EQ_I64((int64_t)b.len, (int64_t)strlen((char *)b.data));
    fc_bytes_free(A, &b);
    o.fmad = true;
    FC_ASSERT_OK(fc_nvrtc_compile(n, cuda_source, "k.cu", &o, &b, &e), &e);
    FC_EXPECT_CONTAINS((char *)b.data, "fma.rn.f32");
    fc_bytes_free(A, &b);
    fc_nvrtc_close(n);
}

FC_TEST(nvrtc, says_what_is_wrong) {
    fc_nvrtc *n = NULL;
    fc_error e = {0}, e2 = {0}, e3 = {0};
    fc_bytes b = {NULL, 0};
    if (fc_nvrtc_open(A, &n, &e) != FUSEC_OK) FC_SKIP("%s", e.message);
    fc_nvrtc_options o = {.arch = "sm_90", .kind = FC_NVRTC_CUBIN};
    FC_EXPECT_STATUS(fc_nvrtc_compile(n, "int f( {", "broken.cu", &o, &b, &e), FUSEC_NVRTC, &e);
    FC_EXPECT_CONTAINS(e.message, "broken.cu(1): error");
    o.arch = "sm_10";
    FC_EXPECT_STATUS(fc_nvrtc_compile(n, cuda_source, "k.cu", &o, &b, &e2), FUSEC_NVRTC_SETUP, &e2);
    FC_EXPECT_CONTAINS(e2.message, "does not know sm_10");
    fc_nvrtc_close(n);
    set_env("FUSEC_NVRTC_PATH", "/nowhere");
    FC_EXPECT_STATUS(fc_nvrtc_open(A, &n, &e3), FUSEC_NVRTC_SETUP, &e3);
    FC_EXPECT_CONTAINS(e3.message, "FUSEC_NVRTC_PATH is /nowhere");
    set_env("FUSEC_NVRTC_PATH", NULL);
}

/* An NVRTC whose compile gives the result that its source names. */
static char fake_log[200];
static int fake_options;
static const char *fake_error(int r) {
    return r == 1 ? "NVRTC_ERROR_OUT_OF_MEMORY" : "NVRTC_ERROR";
}
static int fake_version(int *a, int *b) {
    return *a = 12, *b = 8, 0;
}
static int fake_create(fc_nvrtc_program *p, const char *source, const char *name, int n,
                       const char *const *h, const char *const *i) {
    (void)name, (void)n, (void)h, (void)i;
    *p = (fc_nvrtc_program)(uintptr_t)source;
    return 0;
}
static int fake_destroy(fc_nvrtc_program *p) {
    return *p = NULL, 0;
}
static int fake_compile(fc_nvrtc_program p, int n, const char *const *o) {
    fake_options = n;
    int result = atoi((const char *)p);
    return result == 5 && strcmp(o[0], "-no-cache") != 0 ? 0 : result;
}
static int fake_log_size(fc_nvrtc_program p, size_t *n) {
    return (void)p, *n = sizeof fake_log, 0;
}
static int fake_get_log(fc_nvrtc_program p, char *t) {
    return (void)p, memcpy(t, fake_log, sizeof fake_log), 0;
}
static int fake_size(fc_nvrtc_program p, size_t *n) {
    return (void)p, *n = 4, 0;
}
static int fake_code(fc_nvrtc_program p, char *t) {
    return (void)p, memcpy(t, "code", 4), 0;
}
static int fake_n_archs(int *n) {
    return *n = 4, 0;
}
static int fake_archs(int *a) {
    return a[0] = 90, a[1] = 75, a[2] = 80, a[3] = 89, 0;
}

FC_TEST(nvrtc, fake) {
    const fc_nvrtc_fns fns = {fake_error,    fake_version, fake_create, fake_destroy, fake_compile,
                              fake_log_size, fake_get_log, fake_size,   fake_code,    fake_size,
                              fake_code,     fake_n_archs, fake_archs};
    fc_nvrtc *n = NULL;
    fc_error e = {0}, e1 = {0}, e7 = {0};
    fc_bytes b = {NULL, 0};
    char arch[16];
    fc_nvrtc_options o = {.arch = "sm_90"};
    FC_ASSERT_OK(fc_nvrtc_open_with(A, &fns, &n, &e), &e);
    FC_EXPECT_TRUE(fc_nvrtc_best_arch(n, 90, arch, &o.kind) && o.kind == FC_NVRTC_CUBIN);
    FC_EXPECT_TRUE(fc_nvrtc_best_arch(n, 86, arch, &o.kind) && o.kind == FC_NVRTC_CUBIN);
    FC_EXPECT_STREQ(arch, "sm_80");
    FC_EXPECT_TRUE(fc_nvrtc_best_arch(n, 120, arch, &o.kind) && o.kind == FC_NVRTC_PTX);
    FC_EXPECT_FALSE(fc_nvrtc_best_arch(n, 70, arch, &o.kind));
    o.kind = FC_NVRTC_CUBIN;
    FC_EXPECT_STATUS(fc_nvrtc_compile(n, "1", "k.cu", &o, &b, &e1), FUSEC_OUT_OF_MEMORY, &e1);
    snprintf(fake_log, sizeof fake_log, "failed to open libnvrtc-builtins.so.12.8");
    FC_EXPECT_STATUS(fc_nvrtc_compile(n, "7", "k.cu", &o, &b, &e7), FUSEC_NVRTC_SETUP, &e7);
    FC_EXPECT_CONTAINS(e7.message, "libnvrtc-builtins.so.12.8 not found");
    FC_ASSERT_OK(fc_nvrtc_compile(n, "0", "k.cu", &o, &b, &e), &e);
    int all = fake_options;
    fc_bytes_free(A, &b);
    FC_ASSERT_OK(fc_nvrtc_compile(n, "5", "k.cu", &o, &b, &e), &e); /* an NVRTC without -no-cache */
    FC_EXPECT_EQ_I64(fake_options, all - 2);
    fc_bytes_free(A, &b);
    fc_nvrtc_close(n);
}

/* ---- the CUDA driver ----------------------------------------------------------------------- */

FC_TEST(cuda, no_driver) {
    fc_cuda *c = NULL;
    fc_error e = {0};
    set_env("FUSEC_LIBCUDA_PATH", "/nowhere/libcuda.so.1");
    FC_EXPECT_STATUS(fc_cuda_open(A, &c, &e), FUSEC_NO_GPU, &e);
    FC_EXPECT_CONTAINS(e.message, "there is no CUDA driver");
    set_env("FUSEC_LIBCUDA_PATH", NULL);
}

FC_TEST(cuda, linking_stub_has_every_function) {
    const char *stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
    fc_cuda *c = NULL;
    fc_error e = {0};
    if (access(stub, R_OK) != 0) FC_SKIP("no toolkit");
    set_env("FUSEC_LIBCUDA_PATH", stub);
    FC_EXPECT_STATUS(fc_cuda_open(A, &c, &e), FUSEC_NO_GPU, &e);
    FC_EXPECT_CONTAINS(e.message, "stand-in for linking");
    set_env("FUSEC_LIBCUDA_PATH", NULL);
}

/* A driver of three functions more than the start needs; `next` is the result of the next call. */
static int next_result, calls;
static int f_result(void) {
    int r = next_result;
    calls++;
    next_result = 0;
    return r;
}
static int f_init(unsigned f) {
    return (void)f, f_result();
}
static int f_version(int *v) {
    return *v = 12040, 0;
}
static int f_text(int r, const char **t) {
    return (void)r, *t = "some text", 0;
}
static int f_count(int *n) {
    return *n = 1, 0;
}
static int f_alloc(fc_cu_ptr *p, size_t n) {
    return *p = n, f_result();
}
static int f_free(fc_cu_ptr p) {
    return (void)p, f_result();
}
static int f_load(fc_cu_module *m, const void *i) {
    return (void)m, (void)i, f_result();
}
static int f_query(fc_cu_event ev) {
    return (void)ev, f_result();
}
static const fc_cuda_fns fake_driver = {.init = f_init,
                                        .driver_version = f_version,
                                        .error_name = f_text,
                                        .error_string = f_text,
                                        .device_count = f_count,
                                        .mem_alloc = f_alloc,
                                        .mem_free = f_free,
                                        .module_load = f_load,
                                        .event_query = f_query};

FC_TEST(cuda, start_results) {
    const int results[] = {34, 100, 3, 999};
    for (size_t i = 0; i < FC_COUNT(results); i++) {
        fc_cuda *c = NULL;
        fc_error e = {0};
        next_result = results[i];
        FC_EXPECT_STATUS(fc_cuda_open_with(A, &fake_driver, &c, &e), FUSEC_NO_GPU, &e);
        FC_EXPECT_TRUE(c == NULL);
    }
}

FC_TEST(cuda, errors_and_loss) {
    fc_cuda *c = NULL;
    fc_error e[6] = {{0}};
    fc_cu_ptr p = 0;
    fc_cu_module m = NULL;
    bool bad = false, done = true;
    next_result = 0;
    FC_ASSERT_OK(fc_cuda_open_with(A, &fake_driver, &c, &e[0]), &e[0]);
    FC_EXPECT_OK(fc_cuda_alloc(c, 100, &p, &e[0]), &e[0]);
    next_result = 2;
    FC_EXPECT_STATUS(fc_cuda_alloc(c, 100, &p, &e[1]), FUSEC_OUT_OF_MEMORY, &e[1]);
    FC_EXPECT_STREQ(e[1].message, "cuMemAlloc: some text (some text, 2)");
    FC_EXPECT_FALSE(fc_cuda_is_lost(c));
    next_result = 209;
    FC_EXPECT_STATUS(fc_cuda_load(c, "image", &m, &bad, &e[2]), FUSEC_DRIVER, &e[2]);
    FC_EXPECT_TRUE(bad);
    next_result = 600;
    FC_EXPECT_OK(fc_cuda_event_done(c, NULL, &done, &e[0]), &e[0]);
    FC_EXPECT_FALSE(done);
    FC_EXPECT_OK(fc_cuda_alloc_async(c, 0, NULL, &p, &e[0]), &e[0]);
    FC_EXPECT_EQ_U64(p, 0);
    next_result = 700;
    FC_EXPECT_STATUS(fc_cuda_event_done(c, NULL, &done, &e[3]), FUSEC_DRIVER, &e[3]);
    FC_EXPECT_TRUE(fc_cuda_is_lost(c));
    int before = calls;
    FC_EXPECT_STATUS(fc_cuda_alloc(c, 100, &p, &e[4]), FUSEC_DRIVER, &e[4]);
    FC_EXPECT_CONTAINS(e[4].message, "lost");
    fc_cuda_free(c, 4711);
    FC_EXPECT_EQ_I64(calls, before);
    fc_cuda_close(c);
}

FC_TEST(cuda, forked_child_is_refused) {
    fc_cuda *c = NULL;
    fc_error e = {0};
    fc_cu_ptr p = 0;
    int status = -1;
    next_result = 0;
    FC_ASSERT_OK(fc_cuda_open_with(A, &fake_driver, &c, &e), &e);
    pid_t child = fork();
    if (child == 0)
        _exit(fc_cuda_alloc(c, 8, &p, &e) == FUSEC_DRIVER && strstr(e.message, "fork") ? 0 : 1);
    FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
    FC_EXPECT_EQ_I64(status, 0);
    fc_cuda_close(c);
}

typedef struct device_run {
    fc_cuda *c;
    fc_nvrtc *n;
    fc_cuda_info info;
    fc_cu_context ctx;
    fc_cu_stream s;
    fc_cu_module m;
    fc_cu_function f;
    fc_cu_ptr a, b;
} device_run;

static void launch_both_ways(device_run *r) {
    enum { N = 1000 };
    static float x[N], y[N];
    struct {
        fc_cu_ptr a, b;
        int n;
    } packed = {r->a, r->b, N};
    void *ptrs[] = {&packed.a, &packed.b, &packed.n};
    const fc_cuda_grid g = {{8, 1, 1}, {128, 1, 1}, 0};
    fc_error e = {0};
    for (int i = 0; i < N; i++) x[i] = (float)i / 7;
    for (int way = 0; way < 2; way++) {
        FC_ASSERT_OK(fc_cuda_memset_async(r->c, r->b, 0xff, sizeof y, r->s, &e), &e);
        FC_ASSERT_OK(fc_cuda_h2d_async(r->c, r->a, x, sizeof x, r->s, &e), &e);
        if (way == 0)
            FC_ASSERT_OK(fc_cuda_launch(r->c, r->f, &g, r->s, &packed, 20, &e), &e);
        else
            FC_ASSERT_OK(fc_cuda_launch_ptrs(r->c, r->f, &g, r->s, ptrs, &e), &e);
        FC_ASSERT_OK(fc_cuda_d2h_async(r->c, y, r->b, sizeof y, r->s, &e), &e);
        FC_ASSERT_OK(fc_cuda_stream_sync(r->c, r->s, &e), &e);
        for (int i = 0; i < N; i++) {
            volatile float product = x[i] * 3.0f; /* not contracted here either */
            FC_ASSERT_EQ_F64(y[i], product + 1.5f);
        }
    }
}

static void on_device(device_run *r) {
    fc_error e = {0};
    fc_bytes code = {NULL, 0};
    char arch[16];
    fc_nvrtc_options o = {.arch = arch};
    fc_cuda_func_info fi;
    int ordinal = -2, blocks = 0;
    float ms = -1;
    fc_cu_event t[2];
    FC_ASSERT_TRUE(fc_nvrtc_best_arch(r->n, r->info.cc, arch, &o.kind));
    FC_ASSERT_OK(fc_nvrtc_compile(r->n, cuda_source, "k.cu", &o, &code, &e), &e);
    FC_ASSERT_OK(fc_cuda_load(r->c, code.data, &r->m, NULL, &e), &e);
    fc_bytes_free(A, &code);
    FC_ASSERT_OK(fc_cuda_function(r->c, r->m, "k", &r->f, &e), &e);
    FC_ASSERT_OK(fc_cuda_func_info_get(r->c, r->f, &fi, &e), &e);
    FC_EXPECT_GT_I64(fi.registers, 0);
    FC_EXPECT_OK(fc_cuda_occupancy(r->c, r->f, 128, 0, &blocks, &e), &e);
    FC_EXPECT_GT_I64(blocks, 0);
    FC_EXPECT_OK(fc_cuda_max_dynamic_shared(r->c, r->f, r->info.shared_per_block_optin, &e), &e);
    FC_ASSERT_OK(fc_cuda_stream_create(r->c, &r->s, &e), &e);
    FC_ASSERT_OK(fc_cuda_keep_memory(r->c, r->info.device, UINT64_MAX, &e), &e);
    FC_ASSERT_OK(fc_cuda_alloc(r->c, 4000, &r->a, &e), &e);
    FC_ASSERT_OK(fc_cuda_alloc_async(r->c, 4000, r->s, &r->b, &e), &e);
    FC_EXPECT_TRUE(fc_cuda_pointer(r->c, (void *)(uintptr_t)r->a, &ordinal));
    FC_EXPECT_EQ_I64(ordinal, 0);
    FC_EXPECT_FALSE(fc_cuda_pointer(r->c, &ordinal, &ordinal));
    FC_ASSERT_OK(fc_cuda_event_create(r->c, true, &t[0], &e), &e);
    FC_ASSERT_OK(fc_cuda_event_create(r->c, true, &t[1], &e), &e);
    FC_EXPECT_OK(fc_cuda_event_record(r->c, t[0], r->s, &e), &e);
    launch_both_ways(r);
    FC_EXPECT_OK(fc_cuda_event_record(r->c, t[1], r->s, &e), &e);
    FC_EXPECT_OK(fc_cuda_event_sync(r->c, t[1], &e), &e);
    FC_EXPECT_OK(fc_cuda_event_ms(r->c, t[0], t[1], &ms, &e), &e);
    FC_EXPECT_TRUE(ms > 0 && ms < 10000);
    fc_cuda_event_destroy(r->c, t[0]);
    fc_cuda_event_destroy(r->c, t[1]);
    bool bad = false;
    fc_error e2 = {0};
    fc_cu_module none;
    FC_EXPECT_STATUS(fc_cuda_load(r->c, "this is no image at all", &none, &bad, &e2), FUSEC_DRIVER,
                     &e2);
    FC_EXPECT_TRUE(bad);
}

FC_TEST(cuda, on_a_device) {
    device_run r = {0};
    fc_error e = {0};
    if (fc_cuda_open(A, &r.c, &e) != FUSEC_OK) FC_SKIP("%s", e.message);
    fc_error e2 = {0};
    if (fc_nvrtc_open(A, &r.n, &e2) != FUSEC_OK) {
        fc_cuda_close(r.c);
        FC_SKIP("%s", e2.message);
    }
    FC_ASSERT_OK(fc_cuda_device(r.c, 0, &r.info, &e), &e);
    FC_EXPECT_GT_I64(r.info.sm_count, 0);
    FC_EXPECT_GT_I64(r.info.memory_bus_bits, 0);
    printf("%s cc %d, %d SMs, L2 %d, shared %d/%d, clocks %d %d kHz, bus %d, %llu bytes\n",
           r.info.name, r.info.cc, r.info.sm_count, r.info.l2_bytes, r.info.shared_per_block,
           r.info.shared_per_block_optin, r.info.clock_khz, r.info.memory_clock_khz,
           r.info.memory_bus_bits, (unsigned long long)r.info.total_memory);
    FC_ASSERT_OK(fc_cuda_retain(r.c, r.info.device, &r.ctx, &e), &e);
    FC_ASSERT_OK(fc_cuda_push(r.c, r.ctx, &e), &e);
    on_device(&r);
    fc_cuda_free_async(r.c, r.b, r.s);
    fc_cuda_free(r.c, r.a);
    FC_EXPECT_OK(fc_cuda_sync(r.c, &e), &e);
    fc_cuda_stream_destroy(r.c, r.s);
    fc_cuda_unload(r.c, r.m);
    fc_cuda_pop(r.c);
    fc_cuda_release(r.c, r.info.device);
    FC_EXPECT_FALSE(fc_cuda_is_lost(r.c));
    fc_nvrtc_close(r.n);
    fc_cuda_close(r.c);
}

/* ---- the processor ------------------------------------------------------------------------- */

FC_TEST(cpuinfo, is_plausible) {
    fc_cpuinfo c;
    fc_str s;
    fc_cpuinfo_get(&c);
    fc_str_init(&s, A);
    fc_cpuinfo_features(&c, &s);
    FC_EXPECT_TRUE(c.vector_bytes == 16 || c.vector_bytes == 32 || c.vector_bytes == 64);
    FC_EXPECT_GE_I64(c.cores, 1);
    FC_EXPECT_LE_I64(c.cores, sysconf(_SC_NPROCESSORS_CONF));
    FC_EXPECT_GE_I64((int64_t)c.l2, (int64_t)c.l1d);
    FC_EXPECT_GT_I64((int64_t)strlen(c.key), 10);
#if defined(__x86_64__)
    __builtin_cpu_init();
    FC_EXPECT_EQ_I64(!!(c.features & FC_CPU_AVX2), !!__builtin_cpu_supports("avx2"));
    FC_EXPECT_EQ_I64(!!(c.features & FC_CPU_FMA), !!__builtin_cpu_supports("fma"));
    FC_EXPECT_EQ_I64(!!(c.features & FC_CPU_AVX512F), !!__builtin_cpu_supports("avx512f"));
    FC_EXPECT_EQ_I64(!!(c.features & FC_CPU_AVX512VL), !!__builtin_cpu_supports("avx512vl"));
#endif
    fc_str_free(&s);
}
