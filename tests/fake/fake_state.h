/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_state.h - what the files of the fake driver share: controls, errors on demand, things that
 * are alive, and how a function of the driver is written. */
#ifndef FUSEC_TESTS_FAKE_STATE_H
#define FUSEC_TESTS_FAKE_STATE_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/fake_cuda.h"

#define API __attribute__((visibility("default")))
#define FN(name, args)                                                                             \
    API int name args;                                                                             \
    int name args

/* "Code" is the text of the kernel behind a mark. */
#define MARK     "\177FAKE\n"
#define MARK_LEN (sizeof MARK - 1)

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, BAD_IMAGE = 200, BAD_CONTEXT = 201, NOT_FOUND = 500 };
enum { UNSUPPORTED = 801, CAPTURE_UNSUPPORTED = 900 };
enum { TOO_MANY_BLOCKS = 720 }; /* for a launch whose blocks run at the same time */

enum { FAKE_MULTIPROCESSORS = 4 };

typedef unsigned long long address;

extern fake_cuda fake_control;
extern pthread_mutex_t fake_lock;
/* From the environment. */
extern int fake_version, fake_devices;

int fake_number(const char *name, int otherwise); /* of a variable of the environment */
bool fake_is_lost(int r);
void fake_misuse(const char *where);

/* ---- errors on demand: every call comes by here ---------------------------------------------- */

/* `waits` is whether the call would notice what went wrong before. */
int fake_hit(const char *name, bool waits);
#define HIT(name)                                                                                  \
    do {                                                                                           \
        int r_ = fake_hit(name, false);                                                            \
        if (r_) return r_;                                                                         \
    } while (0)
#define WAIT(name)                                                                                 \
    do {                                                                                           \
        int r_ = fake_hit(name, true);                                                             \
        if (r_) return r_;                                                                         \
    } while (0)

/* ---- things that are alive ------------------------------------------------------------------- */

typedef struct fake_thing {
    char *at;
    size_t bytes;
    long *count; /* of its kind, in fake_control */
} fake_thing;

fake_thing *fake_find(const void *p, size_t bytes); /* under the lock */
void *fake_make(size_t bytes, long *count);
int fake_drop(const void *p, const long *count, const char *where);
bool fake_is_alive(const void *p, const long *count);
bool fake_in_memory(address p, size_t bytes, const char *where);

/* ---- what calls need ------------------------------------------------------------------------- */

bool fake_current(const char *where); /* a context */
void fake_no_context(void);           /* of this thread, any more */
bool fake_stream_good(void *s, const char *where);
#define NEED_CONTEXT(name)                                                                         \
    do {                                                                                           \
        if (!fake_current(name)) return BAD_CONTEXT;                                               \
    } while (0)
/* Of the calling thread: 0, global, as a thread begins; 2: relaxed. */
extern _Thread_local int fake_capture_mode;
/* Ends the recording of another thread, unless this one has said that it takes no part in it. */
bool fake_recorded(void);
#define NEED_CALM()                                                                                \
    do {                                                                                           \
        if (fake_recorded()) return CAPTURE_UNSUPPORTED;                                           \
    } while (0)
#define NEED_STREAM(s, name)                                                                       \
    do {                                                                                           \
        if (!fake_stream_good(s, name)) return 400;                                                \
    } while (0)

#endif
