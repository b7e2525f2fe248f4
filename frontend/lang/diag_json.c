/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diag_json.c - messages for programs: one JSON object per line. See diag.h. */
#include "frontend/lang/diag.h"

static void string(fc_str *out, const char *s) {
    const char *end = s + strlen(s);
    fc_str_char(out, '"');
    while (s < end) {
        uint32_t cp = 0;
        size_t n = fc_utf8_next(s, end, &cp);
        if (n == 0)
            fc_str_add(out, "\\ufffd");
        else if (cp == '"' || cp == '\\')
            fc_str_printf(out, "\\%c", (int)cp);
        else if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x2028 || cp == 0x2029)
            fc_str_printf(out, "\\u%04x", cp);
        else
            fc_str_addn(out, s, n);
        s += n ? n : 1;
    }
    fc_str_char(out, '"');
}

static void member(fc_str *out, const char *key, const char *value) {
    fc_str_printf(out, "\"%s\":", key);
    string(out, value ? value : "");
}

static void comma(fc_str *out, const fc_diag_part *next) {
    if (next) fc_str_char(out, ',');
}

static void labels(fc_str *out, const fc_diag *d) {
    fc_str_add(out, ",\"labels\":[");
    for (const fc_diag_part *l = d->partners.first; l; l = l->next) {
        fc_str_add(out, "{");
        member(out, "file", l->src->name);
        fc_str_printf(out, ",\"line\":%u,\"col\":%u,\"end_line\":%u,\"end_col\":%u,", l->begin.line,
                      l->begin.col, l->end.line, l->end.col);
        member(out, "text", "");
        fc_str_add(out, "}");
        comma(out, l->next ? l->next : d->labels.first);
    }
    for (const fc_diag_part *l = d->labels.first; l; l = l->next) {
        fc_str_add(out, "{");
        member(out, "file", l->src->name);
        fc_str_printf(out, ",\"line\":%u,\"col\":%u,\"end_line\":%u,\"end_col\":%u,", l->begin.line,
                      l->begin.col, l->end.line, l->end.col);
        member(out, "text", l->text);
        fc_str_add(out, "}");
        comma(out, l->next);
    }
    fc_str_add(out, "]");
}

static void facts(fc_str *out, const fc_diag *d) {
    fc_str_add(out, ",\"facts\":[");
    for (const fc_diag_part *f = d->facts.first; f; f = f->next) {
        fc_str_add(out, "{");
        if (f->name) {
            member(out, "name", f->name);
            fc_str_char(out, ',');
            member(out, "type", f->text);
            fc_str_char(out, ',');
            member(out, "origin", f->origin);
        } else {
            member(out, "text", f->text);
        }
        fc_str_add(out, "}");
        comma(out, f->next);
    }
    fc_str_add(out, "]");
}

static void help_and_fixes(fc_str *out, const fc_diag *d) {
    fc_str_add(out, ",\"help\":[");
    for (const fc_diag_part *h = d->help.first; h; h = h->next) {
        string(out, h->text ? h->text : "");
        comma(out, h->next);
    }
    fc_str_add(out, "],\"fixes\":[");
    for (const fc_diag_part *f = d->fixes.first; f; f = f->next) {
        fc_str_printf(out, "{\"line\":%u,\"col\":%u,\"end_col\":%u,", f->begin.line, f->begin.col,
                      f->end.col);
        member(out, "text", f->text);
        fc_str_add(out, "}");
        comma(out, f->next);
    }
    fc_str_add(out, "]");
}

void fc_diags_json(const fc_diags *ds, fc_str *out) {
    static const char *const severity[] = {"error", "warning", "note"};
    for (uint32_t i = 0; i < ds->len; i++) {
        const fc_diag *d = ds->at[i];
        fc_str_add(out, "{");
        member(out, "slug", d->slug);
        fc_str_printf(out, ",\"severity\":\"%s\",", severity[d->severity]);
        member(out, "message", d->message);
        if (d->src) {
            fc_str_char(out, ',');
            member(out, "file", d->src->name);
            fc_str_printf(out, ",\"line\":%u,\"col\":%u,\"end_line\":%u,\"end_col\":%u",
                          d->begin.line, d->begin.col, d->end.line, d->end.col);
        } else {
            fc_str_add(out, ",\"file\":null,\"line\":null,\"col\":null,"
                            "\"end_line\":null,\"end_col\":null");
        }
        labels(out, d);
        facts(out, d);
        help_and_fixes(out, d);
        fc_str_add(out, "}\n");
    }
    if (ds->oom)
        fc_str_add(out, "{\"slug\":\"out-of-memory\",\"severity\":\"error\","
                        "\"message\":\"not enough memory on the host\",\"file\":null,\"line\":null,"
                        "\"col\":null,\"end_line\":null,\"end_col\":null,\"labels\":[],"
                        "\"facts\":[],\"help\":[],\"fixes\":[]}\n");
}
