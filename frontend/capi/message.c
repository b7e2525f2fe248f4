/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* message.c - the text of the last failure of a thread.
 *
 * It is thread-local because functions of one context are called by many threads, and every one
 * reads its own failure. It is the only state outside a context, and nothing but fusec_message
 * depends on it. */
#include "frontend/capi/capi.h"

static _Thread_local fc_error last;
static _Thread_local struct {
    int line, column;
    bool fresh; /* the message it belongs to has not come yet */
} place;

fusec_status fc_report(const fc_error *e) {
    if (e != &last) memcpy(&last, e, sizeof last);
    if (!place.fresh) place.line = place.column = 0;
    place.fresh = false;
    return e->code;
}

fusec_status fc_report_text(fusec_status s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    last.code = FUSEC_OK;
    place.line = place.column = 0;
    fc_vfail(&last, s, fmt, ap);
    va_end(ap);
    return s;
}

void fc_report_place(int line, int column) {
    place.line = line;
    place.column = column;
    place.fresh = true;
}

void fusec_message_place(int *line, int *column) {
    if (line) *line = place.line;
    if (column) *column = place.column;
}

const char *fusec_message(const fusec_context *ctx) {
    (void)ctx;
    return last.message;
}

const char *fusec_status_name(fusec_status s) {
    if ((unsigned)s >= FC_STATUS_COUNT) return "unknown";
    return s == FUSEC_OK ? "ok" : fc_status_slug(s);
}
