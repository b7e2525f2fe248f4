/* device.c - what all devices share. */
#include "runtime/device.h"

void fc_device_close(fc_device *d) {
    if (d) d->hooks->close(d);
}

bool fc_device_memory(fc_device *d, uint64_t *free_bytes, uint64_t *total) {
    return d->hooks->memory && d->hooks->memory(d, free_bytes, total);
}

fusec_status fc_device_ready(fc_device *d, fc_error *e) {
    return d->hooks->ready ? d->hooks->ready(d, e) : FUSEC_OK;
}
