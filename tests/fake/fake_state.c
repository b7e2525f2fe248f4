/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_state.c - see fake_state.h. Work is done when it is ordered; only errors come late. The lock
 * makes it safe for threads; a test changes the controls while nobody calls. */
#include "tests/fake/fake_state.h"

enum { MOST = 4096 };

fake_cuda fake_control;
pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
int fake_version = 13000, fake_devices = 1;

static int pending, dead; /* an error that waits to be seen; one that stays */
static char fail_name[64];
static fake_thing things[MOST];

API fake_cuda *fake_cuda_control(void);
API void fake_cuda_reset(void);
fake_cuda *fake_cuda_control(void) {
    return &fake_control;
}

int fake_number(const char *name, int otherwise) {
    const char *s = getenv(name);
    return s ? atoi(s) : otherwise;
}

__attribute__((constructor)) static void from_environment(void) {
    const char *fail = getenv("FAKE_CUDA_FAIL");
    fake_version = fake_number("FAKE_CUDA_VERSION", fake_version);
    fake_devices = fake_number("FAKE_CUDA_DEVICES", fake_devices);
    fake_control.execute = fake_number("FAKE_CUDA_EXECUTE", 0) != 0;
    if (fail &&
        sscanf(fail, "%63[^:]:%ld:%d", fail_name, &fake_control.fail_at, &fake_control.result) == 3)
        fake_control.fail_in = fail_name;
}

/* ---- errors on demand ------------------------------------------------------------------------ */

bool fake_is_lost(int r) {
    return r == 214 || r == 220 || r == 226 || r == 700 || r == 702 ||
           (r >= 709 && r <= 721 && r != TOO_MANY_BLOCKS) || r == 810 || r == 911 || r == 999;
}

void fake_misuse(const char *where) {
    if (!fake_control.misuse++) fake_control.misused = where;
}

API int fake_cuda_misuses(void);
/* For those who do not know the struct. */
int fake_cuda_misuses(void) {
    return (int)fake_control.misuse;
}

/* Every call comes by here. `waits` is whether the call would notice what went wrong before. */
int fake_hit(const char *name, bool waits) {
    pthread_mutex_lock(&fake_lock);
    int r = OK;
    fake_control.calls++;
    if (dead) {
        fake_control.calls_after_loss += strcmp(name, "cuCtxPopCurrent_v2") != 0;
        r = dead;
    } else if (fake_control.fail_at &&
               (!fake_control.fail_in || !strcmp(fake_control.fail_in, name)) &&
               --fake_control.fail_at == 0) {
        if (fake_control.times > 1) fake_control.times--, fake_control.fail_at = 1;
        fake_control.fired++;
        fake_control.last = name;
        if (fake_control.later) {
            pending = fake_control.result;
        } else {
            r = fake_control.result;
            if (fake_control.stays || fake_is_lost(r)) dead = r;
        }
    } else if (waits && pending) {
        r = pending;
        pending = 0;
        if (fake_control.stays || fake_is_lost(r)) dead = r;
    }
    pthread_mutex_unlock(&fake_lock);
    return r;
}

/* ---- things that are alive ------------------------------------------------------------------- */
/* One may begin where another ends: what begins at p comes first. */
fake_thing *fake_find(const void *p, size_t bytes) {
    fake_thing *around = NULL;
    for (int i = 0; i < MOST; i++) {
        fake_thing *t = &things[i];
        if (!t->at || (const char *)p < t->at || (const char *)p + bytes > t->at + t->bytes)
            continue;
        if (t->at == p) return t;
        around = t;
    }
    return around;
}

void *fake_make(size_t bytes, long *count) {
    void *p = NULL;
    pthread_mutex_lock(&fake_lock);
    bool room = count != &fake_control.memory || !fake_control.limit ||
                fake_control.bytes + bytes <= fake_control.limit;
    for (int i = 0; i < MOST && room && !p; i++) {
        if (things[i].at) continue;
        p = aligned_alloc(256, (bytes + 255) / 256 * 256);
        if (!p) break;
        memset(p, 0xee, bytes);
        things[i] = (fake_thing){p, bytes, count};
        ++*count;
        if (count == &fake_control.memory) fake_control.bytes += bytes;
    }
    pthread_mutex_unlock(&fake_lock);
    return p;
}

int fake_drop(const void *p, const long *count, const char *where) {
    pthread_mutex_lock(&fake_lock);
    fake_thing *t = fake_find(p, 0);
    int r = OK;
    if (!t || t->at != p || t->count != count) {
        fake_misuse(where);
        r = INVALID;
    } else {
        if (count == &fake_control.memory) fake_control.bytes -= t->bytes;
        --*t->count;
        free(t->at);
        memset(t, 0, sizeof *t);
    }
    pthread_mutex_unlock(&fake_lock);
    return r;
}

bool fake_is_alive(const void *p, const long *count) {
    pthread_mutex_lock(&fake_lock);
    fake_thing *t = fake_find(p, 0);
    bool alive = t && t->at == p && t->count == count;
    pthread_mutex_unlock(&fake_lock);
    return alive;
}

bool fake_in_memory(address p, size_t bytes, const char *where) {
    pthread_mutex_lock(&fake_lock);
    fake_thing *t = fake_find((void *)(uintptr_t)p, bytes);
    bool good = t && t->count == &fake_control.memory;
    if (!good) fake_misuse(where);
    pthread_mutex_unlock(&fake_lock);
    return good;
}

/* Between tests: nothing is alive and nothing is wrong. */
void fake_cuda_reset(void) {
    fake_capture_mode = 0;
    for (int i = 0; i < MOST; i++) free(things[i].at);
    memset(things, 0, sizeof things);
    memset(&fake_control, 0, sizeof fake_control);
    pending = dead = 0;
    fake_no_context();
}
