/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diag.h - what is wrong, as records, and how it is shown.
 *
 * In: a status (its slug stands in the message), a range of a source or none, a message of one
 * line, then facts, help and labels, added one by one. Out: text for people or JSON for programs.
 *
 * Reporting does not fail: every function takes a NULL record and does nothing with it, a record
 * beyond the first 20 is only counted, and when memory is short the list says so with a constant
 * text. Sources must live until the list has been rendered. Strings are copied. */
#ifndef FUSEC_FRONTEND_LANG_DIAG_H
#define FUSEC_FRONTEND_LANG_DIAG_H

#include "frontend/lang/source.h"

#define FC_DIAG_LIMIT 20

typedef enum fc_severity { FC_ERROR, FC_WARNING, FC_NOTE } fc_severity;

/* One line or mark that belongs to a record. Which fields count depends on the list it is in. */
typedef struct fc_diag_part {
    struct fc_diag_part *next;
    const fc_source *src; /* partners, labels, fixes */
    fc_range at;
    fc_pos begin, end;
    const char *name;   /* facts; NULL for a line that is shown as it is */
    const char *text;   /* a fact's type, a label's or help line's text, a fix's replacement */
    const char *origin; /* facts; may be NULL */
} fc_diag_part;

typedef struct fc_diag_parts {
    fc_diag_part *first, *last;
} fc_diag_parts;

struct fc_diags;

typedef struct fc_diag {
    struct fc_diags *owner;
    fc_severity severity;
    fusec_status code; /* FUSEC_OK for warnings and notes */
    const char *slug;
    const char *message;
    const fc_source *src; /* NULL: no position */
    fc_range at;
    fc_pos begin, end; /* 0 without a position */
    fc_diag_parts partners, labels, facts, help, fixes;
} fc_diag;

typedef struct fc_diags {
    fc_arena arena;
    fc_diag *at[FC_DIAG_LIMIT];
    uint32_t len;
    uint32_t errors;    /* all that were reported, also those dropped */
    uint32_t dropped;   /* reported, but beyond the limit */
    fusec_status first; /* code of the first error, FUSEC_OK if there was none */
    FC_VEC(fc_source *) library; /* of definitions that come with fusec: they live as long */
    bool oom;
} fc_diags;

void fc_diags_init(fc_diags *ds, const fc_alloc *alloc);
void fc_diags_free(fc_diags *ds);

/* `src` NULL: without a position. An empty range is shown as one caret. */
fc_diag *fc_diag_error(fc_diags *ds, fusec_status code, const fc_source *src, fc_range at,
                       const char *fmt, ...) FC_PRINTF(5, 6);
fc_diag *fc_diag_warning(fc_diags *ds, const char *slug, const fc_source *src, fc_range at,
                         const char *fmt, ...) FC_PRINTF(5, 6);
fc_diag *fc_diag_note(fc_diags *ds, const char *slug, const fc_source *src, fc_range at,
                      const char *fmt, ...) FC_PRINTF(5, 6);
/* The error of a lower layer, without a position. */
fc_diag *fc_diag_from(fc_diags *ds, const fc_error *e);
void fc_diag_oom(fc_diags *ds);

/* Marks a partner of the culprit with ~~~ if it stands on the culprit's line. */
void fc_diag_partner(fc_diag *d, fc_range at);
/* "TEXT, at file:line:col", then that source line with ~~~. */
void fc_diag_label(fc_diag *d, const fc_source *src, fc_range at, const char *fmt, ...)
    FC_PRINTF(4, 5);
/* A partner if it is on the culprit's line, else a label. */
void fc_diag_related(fc_diag *d, fc_range at, const char *text);
/* "name: type    origin"; origins of one record are aligned. `origin` may be NULL. */
void fc_diag_fact(fc_diag *d, const char *name, const char *type, const char *origin);
/* The origin is a place: "file:line:col". */
void fc_diag_fact_at(fc_diag *d, const char *name, const char *type, const fc_source *src,
                     fc_range at);
void fc_diag_line(fc_diag *d, const char *fmt, ...) FC_PRINTF(2, 3);
void fc_diag_help(fc_diag *d, const char *fmt, ...) FC_PRINTF(2, 3);
void fc_diag_fix(fc_diag *d, fc_range at, const char *text);

void fc_diags_errors_only(fc_diags *ds); /* forgets warnings and notes */
/* Puts the records from index `from` on into the order of the source; equal places keep their
 * order. */
void fc_diags_sort(fc_diags *ds, uint32_t from);

void fc_diags_text(const fc_diags *ds, bool color, fc_str *out);
void fc_diags_json(const fc_diags *ds, fc_str *out); /* one object per line */
extern const char fc_diag_oom_text[];                /* for when `out` itself ran out of memory */

#endif
