/* status.h - the result of every fusec function that can fail. FUSEC_OK is 0. */
#ifndef FUSEC_STATUS_H
#define FUSEC_STATUS_H

typedef enum fusec_status {
    FUSEC_OK = 0,
#define FUSEC_ERR(name, slug, exit_code, text) FUSEC_##name,
#include <fusec/errors.def>
#undef FUSEC_ERR
    FUSEC_STATUS_COUNT
} fusec_status;

#endif
