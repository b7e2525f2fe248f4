/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_driver.c - calls the functions of the object that test_aot_cuda.c builds, on the processor
 * and on the GPU of a fake driver: the bits have to be equal, for sizes of many classes and arrays
 * that begin anywhere. With "large" it runs on a real GPU, too, whose sizes are larger. */
#include <stdint.h>
#include <stdlib.h>

#include "examples/ahead_of_time/gpu.h"
#include "gpu_code.h"
#include "tests/fake/fake_cuda.h"

typedef gpu_code_cuda handle;
static handle *cuda;
static void *stream;
static int64_t n, m;
static int calls, wrong;

enum { K = 37, MOST = 4 };

/* An array: its bytes, what it begins with. */
typedef struct array {
    char kind; /* f, h, i: f32, f16, i64 below n; o: a result */
    size_t count, size;
} array;
typedef struct test {
    const char *name;
    array at[MOST];
    int (*here)(void **a), (*there)(void **a, void *scratch), (*need)(size_t *bytes);
} test;

#define LIST(...) __VA_ARGS__
#define A(i, T)   ((T *)a[i])
#define CASE(def, SIZES, ARGS)                                                                     \
    static int here_##def(void **a) {                                                              \
        return gpu_code_##def(NULL, LIST SIZES, LIST ARGS);                                        \
    }                                                                                              \
    static int there_##def(void **a, void *scratch) {                                              \
        return gpu_code_##def##_cuda(cuda, stream, LIST SIZES, LIST ARGS, scratch);                \
    }                                                                                              \
    static int need_##def(size_t *bytes) {                                                         \
        return gpu_code_##def##_cuda_scratch(cuda, LIST SIZES, bytes);                             \
    }
static const float by[2] = {0.5f, -2};
CASE(rows, (n, m), (A(0, float), A(1, float), A(2, float)))
CASE(twice, (n * m), (A(0, float), A(1, float)))
CASE(columns, (n, m), (A(0, float), 0.5f, A(1, float), A(2, float)))
CASE(product, (n, K, m), (A(0, float), A(1, float), A(2, float)))
CASE(half, (n, K, m), (A(0, uint16_t), A(1, uint16_t), A(2, uint16_t)))
CASE(pick, (n, 5, m), (A(0, float), A(1, int64_t), A(2, float)))
CASE(stored, (n, m), (A(0, float), A(1, int64_t), A(2, float), A(3, float)))
CASE(running, (n, m), (A(0, float), A(1, float)))
CASE(turned, (n, m), (A(0, float), A(1, float)))
CASE(spin, (n), (A(0, float), by, A(1, float)))
CASE(rounds, (n), (A(0, float), A(1, float)))
CASE(largest, (n, m), (A(0, float), A(1, float)))

#define F(count)                                                                                   \
    { 'f', (size_t)(count), 4 }
#define H(count)                                                                                   \
    { 'h', (size_t)(count), 2 }
#define I(count)                                                                                   \
    { 'i', (size_t)(count), 8 }
#define O(count, by)                                                                               \
    { 'o', (size_t)(count), by }
#define T(def, ...)                                                                                \
    { #def, {__VA_ARGS__ }, here_##def, there_##def, need_##def }

#define U(def)                                                                                     \
    { .name = #def, .there = there_##def, .need = need_##def }

/* Small multiples of a quarter: sums of products are exact in f16, too. */
static void fill(void *p, const array *x) {
    for (size_t i = 0; i < x->count; i++) {
        const int v = (int)(i * 7919 % 17) - 8;
        if (x->kind == 'f') ((float *)p)[i] = (float)v / 4;
        if (x->kind == 'i') ((int64_t *)p)[i] = (int64_t)(i * 31) % (n ? n : 1);
        if (x->kind == 'h') ((uint16_t *)p)[i] = (uint16_t)(v & 1 ? 0x3c00 : v & 2 ? 0xb800 : 0);
    }
}

/* Bit for bit; a NaN of a GPU has other bits than one of a processor. */
static int same(const void *a, const void *b, const array *x) {
    const float *p = a, *q = b;
    if (x->size != 4) return !memcmp(a, b, x->count * x->size);
    for (size_t i = 0; i < x->count; i++)
        if (memcmp(&p[i], &q[i], 4) != 0 && !(p[i] != p[i] && q[i] != q[i])) return 0;
    return 1;
}

/* `apart`: elements from the beginning of memory to each array on the GPU. */
static void run(const test *t, size_t apart) {
    char *host[MOST] = {0}, *memory[MOST] = {0};
    void *device[MOST] = {0}, *scratch = NULL;
    size_t bytes = 0;
    int bad = t->need(&bytes);
    if (bytes) scratch = gpu_new(bytes);
    for (int i = 0; i < MOST; i++) {
        const array *x = &t->at[i];
        host[i] = calloc(x->count * x->size + 8, 1);
        memory[i] = gpu_new(x->count * x->size + 64);
        device[i] = memory[i] + apart * (t->here == here_spin ? 8 : x->size);
        fill(host[i], x);
        if (x->count)
            bad |= gpu.upload((gpu_address)(size_t)device[i], host[i], x->count * x->size, stream);
    }
    const int here = t->here((void **)host);
    int there = t->there(device, scratch);
    uint64_t words[2] = {0, 0};
    if (here == GPU_CODE_INDEX && !there) { /* the first words of scratch say so */
        bad |= gpu.download(words, (gpu_address)(size_t)scratch, sizeof words, stream) ||
               gpu.wait(stream);
        if (words[0] || words[1]) there = here;
    }
    for (int i = 0; !bad && !there && i < MOST; i++) {
        const size_t size = t->at[i].count * t->at[i].size;
        char *got = malloc(size + 1);
        if (size)
            bad = gpu.download(got, (gpu_address)(size_t)device[i], size, stream) ||
                  gpu.wait(stream) || !same(got, host[i], &t->at[i]);
        free(got);
    }
    calls++;
    if (bad || here != there) {
        wrong++;
        printf("%s of %d, %d, %d elements apart: %d here, %d there %s\n", t->name, (int)n, (int)m,
               (int)apart, here, there, gpu_code_cuda_message());
    }
    for (int i = 0; i < MOST; i++) free(host[i]), gpu_delete(memory[i]);
    gpu_delete(scratch);
}

static void run_all(int64_t rows, int64_t columns, size_t apart) {
    n = rows, m = columns;
    const test tests[] = {T(rows, F(n * m), O(n, 4), O(n * m, 4)),
                          T(twice, F(n * m), O(n * m, 4)),
                          T(columns, F(n * m), O(m, 4), O(n * m, 4)),
                          T(product, F(n * K), F(K * m), O(n * m, 4)),
                          T(half, H(n * K), H(K * m), O(n * m, 2)),
                          T(pick, F(n * 5), I(m), O(m * 5, 4)),
                          T(stored, F(n), I(m), F(m), O(n, 4)),
                          T(running, F(n * m), O(n * m, 4)),
                          T(turned, F(n * m), O(n * m, 4)),
                          T(spin, F(2 * n), O(2 * n, 4)),
                          T(rounds, F(n), O(n, 4)),
                          T(largest, F(n * m), O(n, 4))};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) run(&tests[i], apart);
}

/* A call that is made again launches, and does nothing else. */
static void run_again(fake_cuda *control) {
    float *x = gpu_new(4 * 1000 * 64), *y = gpu_new(4 * 1000 * 64);
    size_t bytes = 0;
    if (gpu_code_twice_cuda_scratch(cuda, 64000, &bytes) || !bytes) wrong++;
    void *scratch = gpu_new(bytes);
    const int first = gpu_code_twice_cuda(cuda, stream, 64000, x, y, scratch);
    const size_t memory = control->bytes;
    const long before = control->calls, launched = control->launched;
    const int second = gpu_code_twice_cuda(cuda, stream, 64000, x, y, scratch);
    if (first || second || control->bytes != memory || control->launched != launched + 2 ||
        control->calls > before + 3)
        wrong++, printf("a second call: %d, %ld calls\n", second, control->calls - before);
    gpu_delete(x), gpu_delete(y), gpu_delete(scratch);
}

static void codes(void) {
    float *x = gpu_new(256);
    int64_t *i = gpu_new(256);
    char *scratch = gpu_new(1 << 16);
    const int64_t outside[2] = {0, 9};
    uint64_t words[2] = {0, 0};
    size_t bytes;
    gpu.upload((gpu_address)(size_t)i, outside, sizeof outside, stream);
    const int got[] = {gpu_code_twice_cuda(NULL, stream, 4, x, x, scratch),
                       gpu_code_twice_cuda(cuda, stream, -4, x, x, scratch),
                       gpu_code_twice_cuda(cuda, stream, 4, NULL, x, scratch),
                       gpu_code_twice_cuda(cuda, stream, 4, x, x, NULL),
                       gpu_code_twice_cuda(cuda, stream, 4, x, x, scratch + 8),
                       gpu_code_running_cuda_scratch(cuda, INT64_MAX, INT64_MAX, &bytes),
                       gpu_code_spin_cuda(cuda, stream, 2, x + 1, by, x + 8, scratch),
                       gpu_code_pick_cuda(cuda, stream, 2, 5, 2, x, i, x, scratch)};
    const int want[] = {GPU_CODE_ARG, GPU_CODE_SHAPE, GPU_CODE_ARG, GPU_CODE_ARG,
                        GPU_CODE_ARG, GPU_CODE_SHAPE, GPU_CODE_ARG, GPU_CODE_OK};
    for (int k = 0; k < 8; k++)
        if (got[k] != want[k]) wrong++, printf("code %d is %d\n", k, got[k]);
    gpu.download(words, (gpu_address)(size_t)scratch, sizeof words, stream);
    gpu.wait(stream);
    if (!words[0] && !words[1]) wrong++, printf("no index was outside\n");
    gpu_delete(x), gpu_delete(i), gpu_delete(scratch);
}

/* Sizes that many have: which of these calls find no code of their own. Nothing runs. */
static int usual_sizes(fake_cuda *control) {
    static const int64_t rows[] = {1024, 8192, 16384, 65536},
                         columns[] = {256, 768, 1024, 2048, 4096, 5000, 8192, 16384};
    void *a[MOST] = {(void *)4096, (void *)8192, (void *)12288, (void *)16384};
    if (gpu_code_cuda_open(&cuda)) return 2;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 8; k++) {
            n = rows[i], m = columns[k];
            const test tests[] = {U(rows),   U(twice), U(columns), U(running),
                                  U(turned), U(spin),  U(rounds),  U(largest)};
            for (size_t t = 0; t < 8; t++) {
                calls++;
                size_t bytes = 0;
                const int bad = tests[t].need(&bytes);
                void *scratch = bytes ? gpu_new(bytes) : NULL;
                const int r = bad ? bad : tests[t].there(a, scratch);
                gpu_delete(scratch);
                if (r || strstr(control->kernel, "plain"))
                    wrong++, printf("%s of %d, %d: %d %s\n", tests[t].name, (int)n, (int)m, r,
                                    control->kernel);
            }
        }
    gpu_code_cuda_close(cuda);
    printf("%d calls, %d plain\n", calls, wrong);
    return 0;
}

int main(int argc, char **argv) {
    static const int64_t sizes[] = {0, 1, 34, 1029};
    void *symbol = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_control");
    fake_cuda *(*find)(void);
    memcpy(&find, &symbol, sizeof find);
    if (gpu_start(&stream)) return 2;
    if (argc > 1 && !strcmp(argv[1], "sizes")) return symbol ? usual_sizes(find()) : 2;
    const int large = argc > 1 && !strcmp(argv[1], "large");
    if ((!symbol && !large) || gpu_code_cuda_open(&cuda)) {
        printf("%s\n", gpu_code_cuda_message());
        return 2;
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++)
            if (large || sizes[i] * sizes[k] < 2000) run_all(sizes[i], sizes[k], (i + k) % 3);
    run_all(2, 9000, 0);
    run_all(300, 20, 1);
    if (large) run_all(3, 40000, 0), run_all(40000, 3, 1), run_all(1, 1000003, 2);
    if (symbol) run_again(find());
    codes();
    gpu_code_cuda_close(cuda);
    if (symbol && find()->misuse) wrong++, printf("misused in %s\n", find()->misused);
    if (symbol && find()->modules) wrong++, printf("%ld modules are left\n", find()->modules);
    printf("%d calls, %d wrong\n", calls, wrong);
    return wrong != 0;
}
