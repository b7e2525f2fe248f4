/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* json.h - JSON texts as trees, for the metadata of array stores.
 *
 * A text is hostile input: depth and length are limited, and nothing recurses deeper than DEPTH.
 * Numbers stay text, so that who needs one reads it in the dtype it is for. NaN, Infinity and
 * -Infinity without quotes, as Python writes them, are numbers. */
#ifndef FUSEC_FRONTEND_CLI_JSON_H
#define FUSEC_FRONTEND_CLI_JSON_H

#include "ir/base.h"

typedef enum fc_json_kind {
    FC_JSON_NULL,
    FC_JSON_BOOL, /* text "true" or "false" */
    FC_JSON_NUMBER,
    FC_JSON_STRING,
    FC_JSON_LIST,
    FC_JSON_OBJECT,
} fc_json_kind;

typedef struct fc_json fc_json;
struct fc_json {
    fc_json_kind kind;
    const char *key;  /* in an object; else NULL */
    const char *text; /* escapes resolved; other than ASCII after a \u is '?' */
    const fc_json *first, *next;
};

/* NULL: not JSON, or out of memory. Lives in the arena. */
const fc_json *fc_json_parse(fc_arena *arena, const char *text, size_t len);

/* The value of a key; NULL: `v` is NULL, no object, or has none. */
const fc_json *fc_json_get(const fc_json *v, const char *key);
size_t fc_json_count(const fc_json *v);
bool fc_json_is(const fc_json *v, const char *string);
/* A whole number that is not negative. */
bool fc_json_size(const fc_json *v, int64_t *out);

#endif
