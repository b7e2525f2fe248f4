/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_device.c - devices, contexts, streams and events of the fake driver; see fake_cuda.h. */
#include "tests/fake/fake_state.h"

#include <stdatomic.h>

/* ---- devices and contexts -------------------------------------------------------------------- */

enum { DEPTH = 64 };
static char primary;
static __thread void *stack[DEPTH]; /* of current contexts */
static __thread int depth;

bool fake_current(const char *where) {
    if (depth && stack[depth - 1]) return true;
    fake_misuse(where);
    return false;
}
void fake_no_context(void) {
    depth = 0;
}

FN(cuInit, (unsigned flags)) {
    (void)flags;
    HIT("cuInit");
    return fake_number("FAKE_CUDA_INIT", OK);
}
FN(cuDriverGetVersion, (int *v)) {
    *v = fake_version;
    return OK;
}
FN(cuGetErrorName, (int r, const char **t)) {
    *t = fake_is_lost(r)  ? "CUDA_ERROR_LOST"
         : r == NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                          : "CUDA_ERROR";
    return OK;
}
FN(cuGetErrorString, (int r, const char **t)) {
    *t = fake_is_lost(r) ? "the device is gone" : r == NO_MEMORY ? "out of memory" : "made to fail";
    return OK;
}
FN(cuDeviceGetCount, (int *n)) {
    HIT("cuDeviceGetCount");
    *n = fake_devices;
    return OK;
}
FN(cuDeviceGet, (int *d, int i)) {
    HIT("cuDeviceGet");
    *d = i;
    return i < fake_devices ? OK : 101;
}
FN(cuDeviceGetName, (char *name, int size, int d)) {
    HIT("cuDeviceGetName");
    snprintf(name, (size_t)size, "Fake GPU %d", d);
    return OK;
}
FN(cuDeviceGetAttribute, (int *v, int a, int d)) {
    (void)d;
    HIT("cuDeviceGetAttribute");
    switch (a) {
    case 1: *v = 1024; break;
    case 8: *v = 48 << 10; break;
    case 10: *v = 32; break;
    case 12: *v = 65536; break;
    case 16: *v = FAKE_MULTIPROCESSORS; break;
    case 39: *v = 2048; break;
    case 75: *v = 9; break;
    case 76: *v = 0; break;
    case 97: *v = 227 << 10; break;
    case 95: *v = !fake_control.no_gangs; break;
    case 115: *v = !fake_control.no_pools; break;
    case 120: *v = !fake_control.no_clusters; break;
    default: *v = 0;
    }
    return OK;
}
FN(cuDeviceTotalMem_v2, (size_t * n, int d)) {
    (void)d;
    HIT("cuDeviceTotalMem_v2");
    *n = (size_t)1 << 34;
    return OK;
}
FN(cuDevicePrimaryCtxRetain, (void **c, int d)) {
    (void)d;
    HIT("cuDevicePrimaryCtxRetain");
    fake_control.contexts++;
    *c = &primary;
    return OK;
}
FN(cuDevicePrimaryCtxRelease_v2, (int d)) {
    (void)d;
    HIT("cuDevicePrimaryCtxRelease_v2");
    if (--fake_control.contexts < 0) fake_misuse("cuDevicePrimaryCtxRelease");
    return OK;
}
FN(cuCtxPushCurrent_v2, (void *c)) {
    HIT("cuCtxPushCurrent_v2");
    if (depth == DEPTH) return fake_misuse("cuCtxPushCurrent"), INVALID;
    stack[depth++] = c;
    return OK;
}
FN(cuCtxPopCurrent_v2, (void **c)) {
    int r = fake_hit("cuCtxPopCurrent_v2", false); /* it is popped all the same */
    if (!depth) return fake_misuse("cuCtxPopCurrent"), BAD_CONTEXT;
    *c = stack[--depth];
    return r;
}
FN(cuCtxSetCurrent, (void *c)) {
    HIT("cuCtxSetCurrent");
    if (!depth) depth = 1;
    stack[depth - 1] = c;
    return OK;
}
FN(cuCtxGetCurrent, (void **c)) {
    HIT("cuCtxGetCurrent");
    *c = depth ? stack[depth - 1] : NULL;
    return OK;
}
FN(cuCtxGetDevice, (int *d)) {
    NEED_CONTEXT("cuCtxGetDevice");
    HIT("cuCtxGetDevice");
    *d = 0;
    return OK;
}
FN(cuCtxSynchronize, (void)) {
    NEED_CONTEXT("cuCtxSynchronize");
    WAIT("cuCtxSynchronize");
    return OK;
}

/* ---- streams and events ---------------------------------------------------------------------- */

bool fake_stream_good(void *s, const char *where) {
    if ((uintptr_t)s <= 2) return true; /* the default ones: NULL, of CUDA, of the thread */
    if (fake_is_alive(s, &fake_control.streams)) return true;
    fake_misuse(where);
    return false;
}

static atomic_long made_streams; /* the number of the latest: a place in memory comes again */

FN(cuStreamCreate, (void **s, unsigned flags)) {
    (void)flags;
    NEED_CONTEXT("cuStreamCreate");
    HIT("cuStreamCreate");
    *s = fake_make(sizeof(unsigned long long), &fake_control.streams);
    if (*s) *(unsigned long long *)*s = (unsigned long long)++made_streams;
    return *s ? OK : NO_MEMORY;
}
FN(cuStreamGetId, (void *s, unsigned long long *id)) {
    NEED_STREAM(s, "cuStreamGetId");
    HIT("cuStreamGetId");
    if (!s) return INVALID;
    if (fake_control.capturing) { /* as a driver does */
        fake_control.recordings_ended++;
        return 900;
    }
    *id = (uintptr_t)s <= 2 ? (unsigned long long)(uintptr_t)s : *(unsigned long long *)s;
    return OK;
}
FN(cuStreamIsCapturing, (void *s, int *status)) {
    NEED_STREAM(s, "cuStreamIsCapturing");
    HIT("cuStreamIsCapturing");
    *status = fake_control.capturing;
    return OK;
}
_Thread_local int fake_capture_mode;

FN(cuThreadExchangeStreamCaptureMode, (int *mode)) {
    HIT("cuThreadExchangeStreamCaptureMode");
    const int was = fake_capture_mode;
    fake_control.capture_mode = fake_capture_mode = *mode;
    *mode = was;
    return OK;
}
bool fake_recorded(void) {
    const bool bad = fake_control.recording && fake_capture_mode != 2;
    if (bad) fake_control.strict_calls++;
    return bad;
}
FN(cuStreamDestroy_v2, (void *s)) {
    HIT("cuStreamDestroy_v2");
    return fake_drop(s, &fake_control.streams, "cuStreamDestroy");
}
FN(cuStreamSynchronize, (void *s)) {
    NEED_STREAM(s, "cuStreamSynchronize");
    WAIT("cuStreamSynchronize");
    return OK;
}
FN(cuStreamQuery, (void *s)) {
    NEED_STREAM(s, "cuStreamQuery");
    WAIT("cuStreamQuery");
    return OK;
}
FN(cuStreamWaitEvent, (void *s, void *ev, unsigned flags)) {
    (void)flags, (void)ev;
    NEED_STREAM(s, "cuStreamWaitEvent");
    HIT("cuStreamWaitEvent");
    return OK;
}
FN(cuEventCreate, (void **ev, unsigned flags)) {
    (void)flags;
    HIT("cuEventCreate");
    *ev = fake_make(1, &fake_control.events);
    return *ev ? OK : NO_MEMORY;
}
FN(cuEventDestroy_v2, (void *ev)) {
    HIT("cuEventDestroy_v2");
    return fake_drop(ev, &fake_control.events, "cuEventDestroy");
}
FN(cuEventRecord, (void *ev, void *s)) {
    NEED_STREAM(s, "cuEventRecord");
    HIT("cuEventRecord");
    return fake_is_alive(ev, &fake_control.events) ? OK : (fake_misuse("cuEventRecord"), 400);
}
FN(cuEventSynchronize, (void *ev)) {
    (void)ev;
    WAIT("cuEventSynchronize");
    return OK;
}
FN(cuEventElapsedTime, (float *ms, void *a, void *b)) {
    (void)a, (void)b;
    HIT("cuEventElapsedTime");
    *ms = 1;
    return OK;
}
