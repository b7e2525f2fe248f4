/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diag.c - collecting messages. See diag.h; diag_text.c and diag_json.c show them. */
#include "frontend/lang/diag.h"

const char fc_diag_oom_text[] = "fusec: error: not enough memory on the host [out-of-memory]\n";

void fc_diags_init(fc_diags *ds, const fc_alloc *alloc) {
    memset(ds, 0, sizeof *ds);
    fc_arena_init(&ds->arena, alloc);
}

void fc_diags_free(fc_diags *ds) {
    for (size_t i = 0; i < ds->library.len; i++) {
        fc_source_free(ds->library.at[i]);
        fc_free(ds->arena.alloc, ds->library.at[i]);
    }
    fc_vec_free(ds->arena.alloc, &ds->library);
    fc_arena_free(&ds->arena);
    memset(ds, 0, sizeof *ds);
}

void fc_diag_oom(fc_diags *ds) {
    if (!ds->oom) ds->errors++;
    ds->oom = true;
    if (ds->first == FUSEC_OK) ds->first = FUSEC_OUT_OF_MEMORY;
}

/* Formats into the arena; NULL and the oom mark when memory is short. */
static const char *format(fc_diags *ds, const char *fmt, va_list ap) {
    fc_str s;
    fc_str_init(&s, ds->arena.alloc);
    fc_str_vprintf(&s, fmt, ap);
    char *text = s.oom ? NULL : fc_arena_strdup(&ds->arena, s.data, s.len);
    fc_str_free(&s);
    if (!text) fc_diag_oom(ds);
    return text;
}

static const char *copy(fc_diags *ds, const char *text) {
    char *p = fc_arena_strdup(&ds->arena, text, strlen(text));
    if (!p) fc_diag_oom(ds);
    return p;
}

/* When the list is full an error takes the place of the last warning or note, so that warnings
 * never hide errors. */
static bool make_room(fc_diags *ds, fc_severity severity) {
    if (ds->len < FC_DIAG_LIMIT) return true;
    ds->dropped++;
    if (severity != FC_ERROR) return false;
    uint32_t i = ds->len;
    while (i > 0 && ds->at[i - 1]->severity == FC_ERROR) i--;
    if (i == 0) return false;
    memmove(&ds->at[i - 1], &ds->at[i], (ds->len - i) * sizeof ds->at[0]);
    ds->len--;
    return true;
}

static fc_diag *add(fc_diags *ds, fc_severity severity, fusec_status code, const char *slug,
                    const fc_source *src, fc_range at, const char *fmt, va_list ap) {
    if (severity == FC_ERROR) {
        ds->errors++;
        if (ds->first == FUSEC_OK) ds->first = code;
    }
    if (!make_room(ds, severity)) return NULL;
    fc_diag *d = fc_arena_alloc(&ds->arena, sizeof *d);
    const char *message = format(ds, fmt, ap);
    if (!d || !message) {
        fc_diag_oom(ds);
        return NULL;
    }
    d->owner = ds;
    d->severity = severity;
    d->code = code;
    d->slug = slug;
    d->message = message;
    d->src = src;
    if (src) {
        d->at = at;
        d->begin = fc_source_pos(src, at.begin);
        d->end = fc_source_pos(src, at.end);
    }
    ds->at[ds->len++] = d;
    return d;
}

fc_diag *fc_diag_error(fc_diags *ds, fusec_status code, const fc_source *src, fc_range at,
                       const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fc_diag *d = add(ds, FC_ERROR, code, fc_status_slug(code), src, at, fmt, ap);
    va_end(ap);
    return d;
}

#define SAY(name, severity)                                                                        \
    fc_diag *name(fc_diags *ds, const char *slug, const fc_source *src, fc_range at,               \
                  const char *fmt, ...) {                                                          \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        fc_diag *d = add(ds, severity, FUSEC_OK, slug, src, at, fmt, ap);                          \
        va_end(ap);                                                                                \
        return d;                                                                                  \
    }
SAY(fc_diag_warning, FC_WARNING)
SAY(fc_diag_note, FC_NOTE)

fc_diag *fc_diag_from(fc_diags *ds, const fc_error *e) {
    if (e->code == FUSEC_OUT_OF_MEMORY && !e->message[0]) {
        fc_diag_oom(ds);
        return NULL;
    }
    return fc_diag_error(ds, e->code, NULL, (fc_range){0, 0}, "%s", e->message);
}

static fc_diag_part *part(fc_diag *d, fc_diag_parts *list) {
    fc_diag_part *p = fc_arena_alloc(&d->owner->arena, sizeof *p);
    if (!p) {
        fc_diag_oom(d->owner);
        return NULL;
    }
    if (list->last)
        list->last->next = p;
    else
        list->first = p;
    list->last = p;
    return p;
}

static void place(fc_diag_part *p, const fc_source *src, fc_range at) {
    p->src = src;
    p->at = at;
    p->begin = fc_source_pos(src, at.begin);
    p->end = fc_source_pos(src, at.end);
}

void fc_diag_partner(fc_diag *d, fc_range at) {
    if (!d || !d->src) return;
    fc_diag_part *p = part(d, &d->partners);
    if (p) place(p, d->src, at);
}

void fc_diag_label(fc_diag *d, const fc_source *src, fc_range at, const char *fmt, ...) {
    if (!d) return;
    fc_diag_part *p = part(d, &d->labels);
    if (!p) return;
    place(p, src, at);
    va_list ap;
    va_start(ap, fmt);
    p->text = format(d->owner, fmt, ap);
    va_end(ap);
}

void fc_diag_related(fc_diag *d, fc_range at, const char *text) {
    if (!d || !d->src) return;
    if (fc_source_pos(d->src, at.begin).line == d->begin.line)
        fc_diag_partner(d, at);
    else
        fc_diag_label(d, d->src, at, "%s", text);
}

void fc_diag_fact(fc_diag *d, const char *name, const char *type, const char *origin) {
    if (!d) return;
    fc_diag_part *p = part(d, &d->facts);
    if (!p) return;
    p->name = copy(d->owner, name);
    p->text = copy(d->owner, type);
    if (origin) p->origin = copy(d->owner, origin);
}

void fc_diag_fact_at(fc_diag *d, const char *name, const char *type, const fc_source *src,
                     fc_range at) {
    if (!d) return;
    fc_str s;
    fc_pos pos = fc_source_pos(src, at.begin);
    fc_str_init(&s, d->owner->arena.alloc);
    fc_str_printf(&s, "%s:%u:%u", src->name, pos.line, pos.col);
    if (s.oom)
        fc_diag_oom(d->owner);
    else
        fc_diag_fact(d, name, type, s.data);
    fc_str_free(&s);
}

void fc_diag_line(fc_diag *d, const char *fmt, ...) {
    if (!d) return;
    fc_diag_part *p = part(d, &d->facts);
    if (!p) return;
    va_list ap;
    va_start(ap, fmt);
    p->text = format(d->owner, fmt, ap);
    va_end(ap);
}

void fc_diag_help(fc_diag *d, const char *fmt, ...) {
    if (!d) return;
    fc_diag_part *p = part(d, &d->help);
    if (!p) return;
    va_list ap;
    va_start(ap, fmt);
    p->text = format(d->owner, fmt, ap);
    va_end(ap);
}

void fc_diag_fix(fc_diag *d, fc_range at, const char *text) {
    if (!d || !d->src) return;
    fc_diag_part *p = part(d, &d->fixes);
    if (!p) return;
    place(p, d->src, at);
    p->text = copy(d->owner, text);
}

void fc_diags_errors_only(fc_diags *ds) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < ds->len; i++)
        if (ds->at[i]->severity == FC_ERROR) ds->at[n++] = ds->at[i];
    ds->len = n;
}

void fc_diags_sort(fc_diags *ds, uint32_t from) {
    for (uint32_t i = from + 1; i < ds->len; i++) {
        fc_diag *d = ds->at[i];
        uint32_t j = i;
        for (; j > from && ds->at[j - 1]->at.begin > d->at.begin; j--) ds->at[j] = ds->at[j - 1];
        ds->at[j] = d;
    }
}
