/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* faults.c - see faults.h. */
#include "tests/support/faults.h"

#include <execinfo.h>
#include <stdlib.h>

#include "tests/support/test.h"

enum { MOST = 100000, HEADER = 32 }; /* of allocations in one act; keeps the alignment of malloc */

void *fault_realloc(void *user, void *p, size_t size) {
    fault_heap *h = user;
    char *block = p ? (char *)p - HEADER : NULL;
    if (size == 0) {
        if (!block) return NULL;
        size_t had;
        memcpy(&had, block, sizeof had);
        atomic_fetch_sub(&h->live, 1);
        atomic_fetch_sub(&h->bytes, (long long)had);
        memset(block, 0xdd, HEADER + had); /* who reads it afterwards shall notice */
        free(block);
        return NULL;
    }
    long long n = atomic_fetch_add(&h->calls, 1) + 1;
    if (h->fail_at && (h->onward ? n >= h->fail_at : n == h->fail_at)) {
        if (atomic_fetch_add(&h->failed, 1) == 0) h->depth = backtrace(h->frames, FAULT_FRAMES);
        return NULL;
    }
    size_t had = 0;
    if (size > SIZE_MAX - HEADER) return NULL;
    if (block) memcpy(&had, block, sizeof had);
    char *now = realloc(block, size + HEADER);
    if (!now) return NULL;
    memcpy(now, &size, sizeof size);
    if (!block) {
        atomic_fetch_add(&h->live, 1);
        memset(now + HEADER, 0xcc, size < 4096 ? size : 4096);
    }
    atomic_fetch_add(&h->bytes, (long long)size - (long long)had);
    return now + HEADER;
}

void fault_heap_init(fault_heap *h) {
    memset(h, 0, sizeof *h);
    h->alloc = (fc_alloc){fault_realloc, h};
}

void fault_arm(fault_heap *h, long long fail_at, bool onward) {
    atomic_store(&h->calls, 0);
    atomic_store(&h->failed, 0);
    h->fail_at = fail_at;
    h->onward = onward;
}

void fault_disarm(fault_heap *h) {
    h->fail_at = 0;
}

/* Where the allocation that failed first was asked for. */
static void show_place(const fault_heap *h) {
    char **names = backtrace_symbols(h->frames, h->depth);
    for (int i = 1; names && i < h->depth && i < 9; i++) FC_FAIL("  %s", names[i]);
    free(names);
}

/* One act with the n-th allocation failing, and a second one without. False: no allocation was left
 * to fail. */
static bool one(const fault_scene *s, fault_run *r, long long n, bool onward) {
    r->e = (fc_error){0};
    fault_arm(&r->heap, n, onward);
    fusec_status got = s->act(r);
    bool fired = atomic_load(&r->heap.failed) > 0;
    fault_disarm(&r->heap);
    if (got && (!fired || got != FUSEC_OUT_OF_MEMORY))
        FC_FAIL("status %s: %s", fc_status_slug(got), r->e.message);
    if (!got && fired && !s->lenient)
        FC_FAIL("a failed allocation went unnoticed"), show_place(&r->heap);
    if (s->check) s->check(r, !got);
    if (got && !fc_test_has_failed()) {
        r->e = (fc_error){0};
        got = s->act(r);
        if (got) FC_FAIL("the retry failed: %s, %s", fc_status_slug(got), r->e.message);
        if (s->check) s->check(r, !got);
    }
    return fired;
}

void fault_scene_run(const fault_scene *s) {
    void *state = calloc(1, s->state_bytes ? s->state_bytes : 1);
    for (int onward = 0; onward < 2 && state; onward++)
        for (long long n = 1; n < MOST; n++) {
            fault_run r = {.arg = s->arg, .state = state};
            fault_heap_init(&r.heap);
            memset(state, 0, s->state_bytes);
            if (s->ready && !s->ready(&r)) {
                if (s->clear) s->clear(&r);
                free(state);
                if (!fc_test_has_failed()) fc_test_skip(__FILE__, __LINE__, "%s", r.e.message);
                return;
            }
            FC_TRACE("allocation %lld fails%s", n, onward ? ", and all after it" : "");
            bool fired = one(s, &r, n, onward != 0);
            if (s->clear) s->clear(&r);
            FC_EXPECT_EQ_I64(atomic_load(&r.heap.live), 0);
            FC_UNTRACE();
            if (!fired || fc_test_has_failed()) break;
        }
    free(state);
}
