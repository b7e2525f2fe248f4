/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* source.h - one program text: its name, its bytes, and where its lines begin.
 *
 * In: any bytes up to the limit of 1 MiB. Out: positions for messages. Lines and columns count from
 * 1, columns in characters; a byte that is not UTF-8 counts as one character. Ranges are byte
 * offsets. */
#ifndef FUSEC_FRONTEND_LANG_SOURCE_H
#define FUSEC_FRONTEND_LANG_SOURCE_H

#include "ir/base.h"

#define FC_SOURCE_LIMIT (1u << 20)

typedef struct fc_range {
    uint32_t begin, end; /* byte offsets, end not included */
} fc_range;

typedef struct fc_pos {
    uint32_t line, col;
} fc_pos;

typedef struct fc_source {
    const fc_alloc *alloc;
    char *name; /* as messages show it; "<expr>" for the text of -e */
    char *text; /* a copy, NUL-terminated */
    uint32_t len;
    uint32_t *lines; /* where each line begins */
    uint32_t line_count;
} fc_source;

/* Fails with FUSEC_LIMIT for a text above the limit, and FUSEC_OUT_OF_MEMORY. On failure `s` is
 * empty and may be freed. */
fusec_status fc_source_init(fc_source *s, const fc_alloc *alloc, const char *name, const char *text,
                            size_t len, fc_error *e);
void fc_source_free(fc_source *s);

uint32_t fc_source_line_of(const fc_source *s, uint32_t offset);
/* Takes time with the length of the line. */
fc_pos fc_source_pos(const fc_source *s, uint32_t offset);
/* The bytes of a line (from 1) without its line end. */
fc_range fc_source_line(const fc_source *s, uint32_t line);
static inline bool fc_source_one_line(const fc_source *s, fc_range r) {
    return memchr(s->text + r.begin, '\n', r.end - r.begin) == NULL;
}

/* Length in bytes of the character at p, 0 if it is not valid UTF-8. `cp` may be NULL. */
size_t fc_utf8_next(const char *p, const char *end, uint32_t *cp);
/* Number of characters. */
size_t fc_utf8_count(const char *p, size_t len);

#endif
