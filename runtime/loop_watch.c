/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop_watch.c - see loop_watch.h. */
#include "runtime/loop_watch.h"

enum { WORD_ALIGN = 64 }; /* as all memory of the library */

void fc_watch_free(fc_device *d, const fc_alloc *a, fc_loop_watch *w) {
    if (!w) return;
    const struct fc_device_streams *f = d->hooks->streams;
    if (w->pending) (void)f->event_sync(d, w->event[w->last], NULL);
    for (uint32_t i = 0; i < w->made; i++) f->event_free(d, w->event[i]);
    if (w->words) f->host_free(d, w->words);
    fc_free(a, w);
}

static fusec_status make(fc_device *d, const fc_alloc *a, fc_loop_watch **out, fc_error *e) {
    const struct fc_device_streams *f = d->hooks->streams;
    void *words = NULL;
    fc_loop_watch *w = fc_calloc(a, 1, sizeof *w);
    if (!w) return fc_oom(e);
    fusec_status s = f->host_alloc(d, (size_t)FC_WATCHED * WORD_ALIGN, &words, e);
    w->words = words;
    for (; !s && w->made < FC_WATCHED; w->made += !s) s = f->event_new(d, &w->event[w->made], e);
    if (s)
        fc_watch_free(d, a, w);
    else
        *out = w;
    return s;
}

fusec_status fc_watch_take(fc_device *d, const fc_alloc *a, fc_loop_watch_place *kept,
                           fc_loop_watch **out, fc_error *e) {
    fc_loop_watch *w = atomic_exchange(kept, NULL);
    *out = NULL;
    if (!w) return make(d, a, out, e);
    fusec_status s = FUSEC_OK;
    if (w->pending) s = d->hooks->streams->event_sync(d, w->event[w->last], e);
    if (s) {
        fc_watch_free(d, a, w);
        return s;
    }
    w->pending = false;
    memset(w->noted, 0, sizeof w->noted);
    *out = w;
    return FUSEC_OK;
}

void fc_watch_put(fc_device *d, const fc_alloc *a, fc_loop_watch_place *kept, fc_loop_watch *w) {
    if (w) fc_watch_free(d, a, atomic_exchange(kept, w));
}

void *fc_watch_word(const fc_loop_watch *w, uint64_t round) {
    return w->words + round % FC_WATCHED * WORD_ALIGN;
}

fusec_status fc_watch_note(fc_device *d, fc_loop_watch *w, uint64_t round, bool wanted, fc_stream s,
                           fc_error *e) {
    const uint32_t at = (uint32_t)(round % FC_WATCHED);
    const bool one = round < FC_WATCH_FIRST || (round + 1) % FC_WATCH_EVERY == 0;
    if (w->noted[at] == round + 1 || (!one && !wanted)) return FUSEC_OK;
    w->last = at;
    w->noted[at] = round + 1;
    w->pending = true;
    return d->hooks->streams->event_record(d, w->event[at], s, e);
}

fusec_status fc_watch_wait(fc_device *d, fc_loop_watch *w, uint64_t round, bool *goes_on,
                           fc_error *e) {
    uint64_t behind = round;
    while (w->noted[behind % FC_WATCHED] != behind + 1) behind++;
    FC_TRY(d->hooks->streams->event_sync(d, w->event[behind % FC_WATCHED], e));
    *goes_on = *(volatile const char *)fc_watch_word(w, round) != 0;
    return FUSEC_OK;
}
