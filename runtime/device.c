/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device.c - what all devices share. */
#include "runtime/device.h"

#include <stdio.h>

void fc_device_close(fc_device *d) {
    if (!d) return;
    fc_usermem *m = d->usermem;
    d->hooks->close(d);
    fc_usermem_free(m);
}

bool fc_device_memory_stats(fc_device *d, fc_memory_stats *out) {
    memset(out, 0, sizeof *out);
    if (!d->usermem) return d->hooks->memory_stats && d->hooks->memory_stats(d, out);
    fc_usermem_stats(d->usermem, out);
    return true;
}

bool fc_device_memory(fc_device *d, uint64_t *free_bytes, uint64_t *total) {
    return d->hooks->memory && d->hooks->memory(d, free_bytes, total);
}

static const char *amount(char buf[32], uint64_t bytes) {
    bool small = bytes < (uint64_t)100 << 20;
    snprintf(buf, 32, "%.1f %s", (double)bytes / (small ? 1 << 20 : 1 << 30),
             small ? "MiB" : "GiB");
    return buf;
}

fusec_status fc_device_no_memory(fc_device *d, uint64_t bytes, fc_error *e) {
    uint64_t have, total;
    char needs[32], has[32];
    amount(needs, bytes);
    if (!fc_device_memory(d, &have, &total))
        return fc_fail(e, FUSEC_OUT_OF_MEMORY, "not enough memory on %s: this needs %s", d->name,
                       needs);
    return fc_fail(e, FUSEC_OUT_OF_MEMORY, "not enough memory on %s: this needs %s, %s are free%s",
                   d->name, needs, amount(has, have),
                   bytes <= have ? ", but not to this process" : "");
}

fusec_status fc_device_poll(const fc_device *d, fc_error *e) {
    if (!d->poll || !d->poll(d->poll_user)) return FUSEC_OK;
    return fc_fail(e, FUSEC_CANCELLED, "the caller's poll function asked to stop");
}

fusec_status fc_device_alive(fc_device *d, fc_error *e) {
    return d->hooks->alive ? d->hooks->alive(d, e) : FUSEC_OK;
}

fusec_status fc_device_ready(fc_device *d, fc_error *e) {
    return d->hooks->ready ? d->hooks->ready(d, e) : FUSEC_OK;
}
