/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_loaders_cuda.c - NVRTC and the CUDA driver: found, absent, old, failing. What needs one that
 * is not there is skipped; faulty ones are tables of functions made here. */
#include "codegen/target.h"
#include "runtime/cuda/driver.h"
#include "runtime/compile/nvrtc.h"
#include "tests/support/test.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const fc_alloc *const A = &fc_libc_alloc;

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
    setenv("FUSEC_NVRTC_PATH", "/nowhere", 1);
    FC_EXPECT_STATUS(fc_nvrtc_open(A, &n, &e3), FUSEC_NVRTC_SETUP, &e3);
    FC_EXPECT_CONTAINS(e3.message, "FUSEC_NVRTC_PATH is /nowhere");
    unsetenv("FUSEC_NVRTC_PATH");
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
    if (result == 6) return strstr(o[0], "Ofast") ? 5 : 0; /* does not know this one alone */
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
#define KERNEL "extern \"C\" __global__ void k();\n"
    static const struct {
        const char *text;
        int more; /* options */
    } brief[] = {{"0 " FC_CUDA_BRIEFLY KERNEL, 1},
                 {"0 " FC_CUDA_BRIEFLY KERNEL KERNEL, 0},
                 {"0 " FC_CUDA_BRIEFLY KERNEL FC_CUDA_BRIEFLY KERNEL, 1},
                 {"6 " FC_CUDA_BRIEFLY KERNEL, 0}};
    for (size_t i = 0; i < FC_COUNT(brief); i++) {
        FC_ASSERT_OK(fc_nvrtc_compile(n, brief[i].text, "k.cu", &o, &b, &e), &e);
        FC_EXPECT_EQ_I64(fake_options, all + brief[i].more);
        fc_bytes_free(A, &b);
    }
    fc_nvrtc_close(n);
}

/* ---- the CUDA driver ----------------------------------------------------------------------- */

FC_TEST(cuda, no_driver) {
    fc_cuda *c = NULL;
    fc_error e = {0};
    setenv("FUSEC_LIBCUDA_PATH", "/nowhere/libcuda.so.1", 1);
    FC_EXPECT_STATUS(fc_cuda_open(A, &c, &e), FUSEC_NO_GPU, &e);
    FC_EXPECT_CONTAINS(e.message, "there is no CUDA driver");
    unsetenv("FUSEC_LIBCUDA_PATH");
}

FC_TEST(cuda, linking_stub_has_every_function) {
    const char *stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
    fc_cuda *c = NULL;
    fc_error e = {0};
    if (access(stub, R_OK) != 0) FC_SKIP("no toolkit");
    setenv("FUSEC_LIBCUDA_PATH", stub, 1);
    FC_EXPECT_STATUS(fc_cuda_open(A, &c, &e), FUSEC_NO_GPU, &e);
    FC_EXPECT_CONTAINS(e.message, "stand-in for linking");
    unsetenv("FUSEC_LIBCUDA_PATH");
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
static int f_event_sync(fc_cu_event ev) {
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
                                        .event_sync = f_event_sync};

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
    bool bad = false;
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
    FC_EXPECT_OK(fc_cuda_alloc_async(c, 0, NULL, &p, &e[0]), &e[0]);
    FC_EXPECT_EQ_U64(p, 0);
    next_result = 700;
    FC_EXPECT_STATUS(fc_cuda_event_sync(c, NULL, &e[3]), FUSEC_DRIVER, &e[3]);
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

static void launch_and_read(device_run *r) {
    enum { N = 1000 };
    static float x[N], y[N];
    struct {
        fc_cu_ptr a, b;
        int n;
    } packed = {r->a, r->b, N};
    const fc_cuda_grid g = {{8, 1, 1}, {128, 1, 1}, 0, false};
    fc_error e = {0};
    for (int i = 0; i < N; i++) x[i] = (float)i / 7;
    FC_ASSERT_OK(fc_cuda_memset_async(r->c, r->b, 0xff, sizeof y, r->s, &e), &e);
    FC_ASSERT_OK(fc_cuda_h2d_async(r->c, r->a, x, sizeof x, r->s, &e), &e);
    FC_ASSERT_OK(fc_cuda_launch(r->c, r->f, &g, r->s, &packed, 20, &e), &e);
    FC_ASSERT_OK(fc_cuda_d2h_async(r->c, y, r->b, sizeof y, r->s, &e), &e);
    FC_ASSERT_OK(fc_cuda_stream_sync(r->c, r->s, &e), &e);
    for (int i = 0; i < N; i++) {
        volatile float product = x[i] * 3.0f; /* not contracted here either */
        FC_ASSERT_EQ_F64(y[i], product + 1.5f);
    }
}

static void on_device(device_run *r) {
    fc_error e = {0};
    fc_bytes code = {NULL, 0};
    char arch[16];
    fc_nvrtc_options o = {.arch = arch};
    fc_cuda_func_info fi;
    float ms = -1;
    fc_cu_event t[2];
    FC_ASSERT_TRUE(fc_nvrtc_best_arch(r->n, r->info.cc, arch, &o.kind));
    FC_ASSERT_OK(fc_nvrtc_compile(r->n, cuda_source, "k.cu", &o, &code, &e), &e);
    FC_ASSERT_OK(fc_cuda_load(r->c, code.data, &r->m, NULL, &e), &e);
    fc_bytes_free(A, &code);
    FC_ASSERT_OK(fc_cuda_function(r->c, r->m, "k", &r->f, &e), &e);
    FC_ASSERT_OK(fc_cuda_func_info_get(r->c, r->f, &fi, &e), &e);
    FC_EXPECT_GT_I64(fi.registers, 0);
    FC_EXPECT_OK(fc_cuda_max_dynamic_shared(r->c, r->f, r->info.shared_per_block_optin, &e), &e);
    FC_ASSERT_OK(fc_cuda_stream_create(r->c, &r->s, &e), &e);
    FC_ASSERT_OK(fc_cuda_keep_memory(r->c, r->info.device, UINT64_MAX, &e), &e);
    FC_ASSERT_OK(fc_cuda_alloc(r->c, 4000, &r->a, &e), &e);
    FC_ASSERT_OK(fc_cuda_alloc_async(r->c, 4000, r->s, &r->b, &e), &e);
    FC_ASSERT_OK(fc_cuda_event_create(r->c, true, &t[0], &e), &e);
    FC_ASSERT_OK(fc_cuda_event_create(r->c, true, &t[1], &e), &e);
    FC_EXPECT_OK(fc_cuda_event_record(r->c, t[0], r->s, &e), &e);
    launch_and_read(r);
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
