/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* faults.h - every allocation of a scenario fails once, and from every one on all of them fail.
 *
 * A scenario is an act on objects that were made before. In: the act and what must hold after it.
 * Out: failed checks when an act that ran out of memory says something else, leaks, touches its
 * outputs, or does not succeed when it is tried again on the same objects.
 *
 *     static fusec_status act(fault_run *r) { ... allocate through r->heap.alloc ... }
 *     static const fault_scene scenes[] = {{.name = "copy", .act = act, .ready = ready, ...}};
 *     FC_TEST(faults, copy) { fault_scene_run(&scenes[0]); }
 */
#ifndef FUSEC_TESTS_SUPPORT_FAULTS_H
#define FUSEC_TESTS_SUPPORT_FAULTS_H

#include <stdatomic.h>

#include "ir/base.h"

enum { FAULT_FRAMES = 16 };

/* An allocator that counts what is alive and fails on demand; any thread may call it. */
typedef struct fault_heap {
    fc_alloc alloc;             /* hand this out */
    atomic_llong live;          /* blocks that were not given back */
    atomic_llong bytes;         /* and their bytes */
    atomic_llong calls;         /* allocations since it was armed */
    atomic_llong failed;        /* of them refused */
    atomic_llong fail_at;       /* the number of the first that fails, from 1; 0: none */
    bool onward;                /* all after it fail too */
    void *frames[FAULT_FRAMES]; /* where the first that failed was asked for */
    int depth;
} fault_heap;

void fault_heap_init(fault_heap *h);
void fault_arm(fault_heap *h, long long fail_at, bool onward);
void fault_disarm(fault_heap *h);
/* The allocator in the form of fusec_options.alloc. */
void *fault_realloc(void *heap, void *p, size_t size);

typedef struct fault_run {
    fault_heap heap;
    const void *arg; /* of the scene */
    void *state;     /* room for the scene's objects, all zero at first */
    fc_error e;      /* of the last act */
} fault_run;

typedef struct fault_scene {
    const char *name;
    const void *arg;
    size_t state_bytes;
    bool (*ready)(fault_run *r); /* may be NULL; false: can't be done on this machine */
    fusec_status (*act)(fault_run *r);
    /* `done` is whether the act succeeded; if it did not, nothing may have changed. May be NULL. */
    void (*check)(fault_run *r, bool done);
    void (*clear)(fault_run *r); /* may be NULL */
    /* The act may leave out what it could not allocate and succeed all the same. */
    bool lenient;
} fault_scene;

/* Runs it with the first, second, ... allocation failing until none is left to fail. */
void fault_scene_run(const fault_scene *s);

#endif
