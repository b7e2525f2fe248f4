/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_memory.c - memory of the fake driver: the host's, with every range checked. */
#include "tests/fake/fake_state.h"

static int allocate(address *p, size_t n) {
    void *m = fake_make(n, &fake_control.memory);
    *p = (address)(uintptr_t)m;
    return m ? OK : NO_MEMORY;
}
FN(cuMemGetInfo_v2, (size_t * have, size_t *total)) {
    NEED_CONTEXT("cuMemGetInfo");
    HIT("cuMemGetInfo_v2");
    *total = fake_control.limit ? fake_control.limit : (size_t)1 << 34;
    *have = *total - fake_control.bytes;
    return OK;
}
FN(cuMemAlloc_v2, (address * p, size_t n)) {
    NEED_CONTEXT("cuMemAlloc");
    HIT("cuMemAlloc_v2");
    NEED_CALM();
    return allocate(p, n);
}
FN(cuMemFree_v2, (address p)) {
    NEED_CONTEXT("cuMemFree");
    HIT("cuMemFree_v2");
    NEED_CALM();
    return fake_drop((void *)(uintptr_t)p, &fake_control.memory, "cuMemFree");
}
FN(cuMemAllocHost_v2, (void **p, size_t n)) {
    HIT("cuMemAllocHost_v2");
    *p = fake_make(n, &fake_control.pinned);
    return *p ? OK : NO_MEMORY;
}
FN(cuMemFreeHost, (void *p)) {
    HIT("cuMemFreeHost");
    return fake_drop(p, &fake_control.pinned, "cuMemFreeHost");
}
FN(cuPointerGetAttribute, (void *value, int attribute, address p)) {
    NEED_CONTEXT("cuPointerGetAttribute");
    HIT("cuPointerGetAttribute");
    if (!fake_is_alive((void *)(uintptr_t)p, &fake_control.memory)) return INVALID;
    *(int *)value = attribute == 2 ? 2 : 0;
    return OK;
}
#ifndef FAKE_NO_POOLS
static char pool;

FN(cuMemAllocAsync, (address * p, size_t n, void *s)) {
    NEED_CONTEXT("cuMemAllocAsync");
    NEED_STREAM(s, "cuMemAllocAsync");
    HIT("cuMemAllocAsync");
    if (fake_control.no_pools) return UNSUPPORTED;
    return allocate(p, n);
}
FN(cuMemFreeAsync, (address p, void *s)) {
    NEED_CONTEXT("cuMemFreeAsync");
    NEED_STREAM(s, "cuMemFreeAsync");
    HIT("cuMemFreeAsync");
    return fake_drop((void *)(uintptr_t)p, &fake_control.memory, "cuMemFreeAsync");
}
FN(cuDeviceGetDefaultMemPool, (void **p, int d)) {
    (void)d;
    HIT("cuDeviceGetDefaultMemPool");
    *p = &pool;
    return OK;
}
FN(cuMemPoolSetAttribute, (void *p, int a, void *v)) {
    (void)p, (void)a, (void)v;
    HIT("cuMemPoolSetAttribute");
    return OK;
}
FN(cuMemPoolGetAttribute, (void *p, int a, unsigned long long *v)) {
    (void)p;
    HIT("cuMemPoolGetAttribute");
    *v = fake_control.bytes + (a < 7 ? 4096 : 0); /* reserved: some more than used */
    return OK;
}
#endif

static int copy(address to, address from, size_t n, bool check_to, bool check_from,
                const char *name) {
    if (check_to && !fake_in_memory(to, n, name)) return INVALID;
    if (check_from && !fake_in_memory(from, n, name)) return INVALID;
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
    return OK;
}
#define COPY(symbol, args, to, from, n, check_to, check_from, waits, s)                            \
    FN(symbol, args) {                                                                             \
        NEED_CONTEXT(#symbol);                                                                     \
        NEED_STREAM(s, #symbol);                                                                   \
        int r = fake_hit(#symbol, waits);                                                          \
        return r ? r                                                                               \
                 : copy((address)(uintptr_t)(to), (address)(uintptr_t)(from), n, check_to,         \
                        check_from, #symbol);                                                      \
    }
COPY(cuMemcpyHtoD_v2, (address to, const void *from, size_t n), to, from, n, true, false, true,
     NULL)
COPY(cuMemcpyDtoH_v2, (void *to, address from, size_t n), to, from, n, false, true, true, NULL)
COPY(cuMemcpyDtoD_v2, (address to, address from, size_t n), to, from, n, true, true, true, NULL)
COPY(cuMemcpyHtoDAsync_v2, (address to, const void *from, size_t n, void *s), to, from, n, true,
     false, false, s)
COPY(cuMemcpyDtoHAsync_v2, (void *to, address from, size_t n, void *s), to, from, n, false, true,
     false, s)
COPY(cuMemcpyDtoDAsync_v2, (address to, address from, size_t n, void *s), to, from, n, true, true,
     false, s)

FN(cuMemsetD8_v2, (address p, unsigned char v, size_t n)) {
    NEED_CONTEXT("cuMemsetD8");
    WAIT("cuMemsetD8_v2");
    if (!fake_in_memory(p, n, "cuMemsetD8")) return INVALID;
    memset((void *)(uintptr_t)p, v, n);
    return OK;
}
FN(cuMemsetD8Async, (address p, unsigned char v, size_t n, void *s)) {
    NEED_CONTEXT("cuMemsetD8Async");
    NEED_STREAM(s, "cuMemsetD8Async");
    HIT("cuMemsetD8Async");
    if (!fake_in_memory(p, n, "cuMemsetD8Async")) return INVALID;
    memset((void *)(uintptr_t)p, v, n);
    return OK;
}
FN(cuMemsetD2D32Async,
   (address p, size_t pitch, unsigned v, size_t width, size_t height, void *s)) {
    NEED_CONTEXT("cuMemsetD2D32Async");
    NEED_STREAM(s, "cuMemsetD2D32Async");
    HIT("cuMemsetD2D32Async");
    if (p % 4 || pitch % 4 || (height > 1 && pitch < 4 * width)) return INVALID;
    for (size_t row = 0; row < height; row++) {
        if (!fake_in_memory(p + row * pitch, 4 * width, "cuMemsetD2D32Async")) return INVALID;
        for (size_t k = 0; k < width; k++)
            memcpy((char *)(uintptr_t)p + row * pitch + 4 * k, &v, 4);
    }
    return OK;
}
