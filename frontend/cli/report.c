/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report.c - turns the message of an fc_error into a record with facts and help. See report.h. */
#include "frontend/cli/report.h"

static const char *line_end(const char *p) {
    const char *end = strchr(p, '\n');
    return end ? end : p + strlen(p);
}

void fc_report_add(fc_diags *ds, const fc_error *e) {
    const char *p = e->message, *end = line_end(p);
    fc_error first = {.code = e->code};
    memcpy(first.message, p, (size_t)(end - p));
    fc_diag *d = fc_diag_from(ds, &first);
    bool help = false;
    while (*end) {
        p = end + 1;
        end = line_end(p);
        while (p < end && *p == ' ' && p < end - 1) p++;
        if (end - p >= 6 && !memcmp(p, "help: ", 6)) {
            help = true;
            p += 6;
        }
        if (help)
            fc_diag_help(d, "%.*s", (int)(end - p), p);
        else
            fc_diag_line(d, "%.*s", (int)(end - p), p);
    }
}

void fc_report_error(fc_str *out, const fc_error *e, bool color, bool json) {
    fc_diags ds;
    fc_diags_init(&ds, out->alloc);
    fc_report_add(&ds, e);
    if (json)
        fc_diags_json(&ds, out);
    else
        fc_diags_text(&ds, color, out);
    fc_diags_free(&ds);
}
