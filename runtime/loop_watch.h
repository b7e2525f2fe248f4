/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop_watch.h - conditions of the last rounds of a loop, which a device with memory of its own
 * writes where the host sees them: in page-locked memory, with events behind rounds. So the host
 * knows of a round while later ones run, and no copy stands between them. An event holds the stream
 * up for a microsecond: behind each of the first rounds there is one, so that short loops are known
 * to end soon, later behind one of EVERY. */
#ifndef FUSEC_RUNTIME_LOOP_WATCH_H
#define FUSEC_RUNTIME_LOOP_WATCH_H

#include <stdatomic.h>

#include "runtime/device.h"

enum {
    FC_WATCHED = 8, /* rounds at a time, at most */
    FC_WATCH_EVERY = 4,
    FC_WATCH_FIRST = 16 /* rounds of which each has its event, and fewer are ahead */
};

typedef struct fc_loop_watch {
    char *words; /* of FC_WATCHED rounds */
    void *event[FC_WATCHED];
    uint64_t noted[FC_WATCHED]; /* 1 + the round whose event it is; 0: none's */
    uint32_t made, last;        /* events that are there; of the last round that was noted */
    bool pending;               /* that round may still be under way */
} fc_loop_watch;
/* One that no call has, kept for the next. */
typedef _Atomic(fc_loop_watch *) fc_loop_watch_place;

/* Takes the one that is kept, or makes one; no round of a call before writes to it any more. */
fusec_status fc_watch_take(fc_device *d, const fc_alloc *a, fc_loop_watch_place *kept,
                           fc_loop_watch **out, fc_error *e);
void fc_watch_put(fc_device *d, const fc_alloc *a, fc_loop_watch_place *kept, fc_loop_watch *w);
void fc_watch_free(fc_device *d, const fc_alloc *a, fc_loop_watch *w); /* NULL is fine */

/* Where a round puts its condition. */
void *fc_watch_word(const fc_loop_watch *w, uint64_t round);
/* Round `round` has been given to stream `s`; `wanted`: it is looked at soon, or is the last. */
fusec_status fc_watch_note(fc_device *d, fc_loop_watch *w, uint64_t round, bool wanted, fc_stream s,
                           fc_error *e);
/* So many rounds may be under way when `done` have been given. */
static inline uint64_t fc_watch_ahead(uint64_t done, uint64_t most) {
    return done < FC_WATCH_FIRST && most > FC_WATCH_EVERY ? FC_WATCH_EVERY : most;
}
/* Waits for round `round`, one of the last FC_WATCHED, behind which or behind a later one there is
 * an event: its condition. */
fusec_status fc_watch_wait(fc_device *d, fc_loop_watch *w, uint64_t round, bool *goes_on,
                           fc_error *e);

#endif
