/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diag_text.c - messages for people.
 *
 * Out, for each record: the first line that editors know, the source line with ^^^ and ~~~, labels
 * with their lines, facts, help. Source text is shown so that it can't harm a terminal: control
 * characters and invalid bytes become "?", a tab becomes a space, and of a very long line only a
 * window is shown. */
#include "frontend/lang/diag.h"

#define WINDOW 200 /* characters of a source line that are shown at most */
#define BEFORE 100 /* of these, in front of the culprit */

#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define BLUE   "\033[34m"
#define BOLD   "\033[1m"
#define RESET  "\033[0m"

typedef struct painter {
    fc_str *out;
    bool color;
} painter;

static void paint(painter *p, const char *color, const char *text) {
    if (p->color) fc_str_add(p->out, color);
    fc_str_add(p->out, text);
    if (p->color) fc_str_add(p->out, RESET);
}

static void spaces(fc_str *out, size_t n) {
    while (n-- > 0) fc_str_char(out, ' ');
}

static int digits(uint32_t n) {
    int d = 1;
    while (n >= 10) n /= 10, d++;
    return d;
}

/* Text from outside fusec: no control characters, no invalid bytes. */
static void safe_char(fc_str *out, const char *p, size_t n, uint32_t cp) {
    if (cp == '\t')
        fc_str_char(out, ' ');
    else if (n == 0 || cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x061c ||
             (cp >= 0x200e && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202e) ||
             (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff)
        fc_str_char(out, '?');
    else
        fc_str_addn(out, p, n);
}

static void safe_text(fc_str *out, const char *s) {
    const char *end = s + strlen(s);
    while (s < end) {
        uint32_t cp = 0;
        size_t n = fc_utf8_next(s, end, &cp);
        safe_char(out, s, n, cp);
        s += n ? n : 1;
    }
}

static bool within(fc_range r, uint32_t offset) {
    return offset >= r.begin && offset < r.end;
}

/* Shows one source line and the marks below it. `mark` is the character for `at`. */
static void source_line(painter *p, const fc_source *src, uint32_t line, fc_range at, char mark,
                        const fc_diag_part *partners, int width) {
    fc_range r = fc_source_line(src, line);
    while (r.end > r.begin && (src->text[r.end - 1] == ' ' || src->text[r.end - 1] == '\t'))
        r.end--;
    if (at.end <= at.begin) at.end = at.begin + 1; /* a place between characters: one mark */
    uint32_t col = fc_source_pos(src, at.begin).col - 1, count = 0;
    uint32_t from = 0;
    uint32_t total = (uint32_t)fc_utf8_count(src->text + r.begin, r.end - r.begin);
    if (total > WINDOW && col > BEFORE) from = col - BEFORE;

    fc_str marks;
    fc_str_init(&marks, p->out->alloc);
    fc_str_printf(p->out, "%*u | ", width, line);
    if (from) fc_str_add(p->out, "..."), fc_str_add(&marks, "   ");
    size_t used = marks.len;
    for (uint32_t i = r.begin; i <= r.end; count++) {
        const char *s = src->text + i, *end = src->text + r.end;
        uint32_t cp = 0;
        size_t n = i < r.end ? fc_utf8_next(s, end, &cp) : 1;
        if (count >= from + WINDOW) break;
        if (count >= from) {
            char m = within(at, i) ? mark : ' ';
            for (const fc_diag_part *q = partners; q && m == ' '; q = q->next)
                if (within(q->at, i)) m = '~';
            if (i == r.end && within(at, i) && at.begin < i)
                m = ' '; /* only up to the line's end */
            fc_str_char(&marks, m);
            if (m != ' ') used = marks.len;
            if (i < r.end) safe_char(p->out, s, n, cp);
        }
        i += n ? (uint32_t)n : 1;
    }
    if (total > from + WINDOW) fc_str_add(p->out, "...");
    /* A place behind the trimmed line still gets its mark. */
    if (at.begin > r.end) {
        spaces(&marks, col > marks.len ? col - marks.len : 0);
        fc_str_char(&marks, mark);
        used = marks.len;
    }
    fc_str_char(p->out, '\n');
    spaces(p->out, (size_t)width);
    fc_str_add(p->out, " | ");
    if (p->color) fc_str_add(p->out, BOLD);
    fc_str_addn(p->out, marks.data, used < marks.len ? used : marks.len);
    if (p->color) fc_str_add(p->out, RESET);
    fc_str_char(p->out, '\n');
    p->out->oom |= marks.oom;
    fc_str_free(&marks);
}

static void first_line(painter *p, const fc_diag *d) {
    if (d->src) {
        safe_text(p->out, d->src->name);
        fc_str_printf(p->out, ":%u:%u: ", d->begin.line, d->begin.col);
    } else {
        fc_str_add(p->out, "fusec: ");
    }
    if (d->severity == FC_ERROR) paint(p, RED, "error:");
    if (d->severity == FC_WARNING) paint(p, YELLOW, "warning:");
    if (d->severity == FC_NOTE) paint(p, BLUE, "note:");
    fc_str_char(p->out, ' ');
    safe_text(p->out, d->message);
    fc_str_printf(p->out, " [%s]\n", d->slug);
}

static size_t fact_width(const fc_diag_part *f) {
    return fc_utf8_count(f->name, strlen(f->name)) + 2 + fc_utf8_count(f->text, strlen(f->text));
}

static void facts(painter *p, const fc_diag *d) {
    size_t widest = 0;
    for (const fc_diag_part *f = d->facts.first; f; f = f->next)
        if (f->name && f->text && f->origin && fact_width(f) > widest) widest = fact_width(f);
    for (const fc_diag_part *f = d->facts.first; f; f = f->next) {
        if (!f->text) continue;
        fc_str_add(p->out, "  ");
        if (f->name) {
            safe_text(p->out, f->name);
            fc_str_add(p->out, ": ");
        }
        safe_text(p->out, f->text);
        if (f->name && f->origin) {
            spaces(p->out, widest - fact_width(f) + 4);
            safe_text(p->out, f->origin);
        }
        fc_str_char(p->out, '\n');
    }
}

static void one(painter *p, const fc_diag *d) {
    int width = 4;
    first_line(p, d);
    if (d->src) {
        if (digits(d->begin.line) > width) width = digits(d->begin.line);
        for (const fc_diag_part *l = d->labels.first; l; l = l->next)
            if (digits(l->begin.line) > width) width = digits(l->begin.line);
        source_line(p, d->src, d->begin.line, d->at, '^', d->partners.first, width);
    }
    for (const fc_diag_part *l = d->labels.first; l; l = l->next) {
        fc_str_add(p->out, "  ");
        if (l->text) safe_text(p->out, l->text);
        fc_str_add(p->out, ", at ");
        safe_text(p->out, l->src->name);
        fc_str_printf(p->out, ":%u:%u\n", l->begin.line, l->begin.col);
        source_line(p, l->src, l->begin.line, l->at, '~', NULL, width);
    }
    facts(p, d);
    for (const fc_diag_part *h = d->help.first; h; h = h->next) {
        if (!h->text) continue;
        fc_str_add(p->out, "  ");
        if (h == d->help.first)
            paint(p, BLUE, "help:");
        else
            fc_str_add(p->out, "     ");
        fc_str_char(p->out, ' ');
        safe_text(p->out, h->text);
        fc_str_char(p->out, '\n');
    }
}

void fc_diags_text(const fc_diags *ds, bool color, fc_str *out) {
    painter p = {out, color};
    for (uint32_t i = 0; i < ds->len; i++) one(&p, ds->at[i]);
    if (ds->oom) fc_str_add(out, fc_diag_oom_text);
    if (ds->dropped) fc_str_printf(out, "... and %u more\n", ds->dropped);
    if (ds->errors >= 2) fc_str_printf(out, "%u errors\n", ds->errors);
}
