/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cmd_fmt.c - `fusec fmt`: files in place, standard input to standard output, or --check. */
#include "frontend/cli/command.h"
#include "frontend/lang/fmt.h"

static fusec_status put(fc_cli *c, const char *path, const fc_source *src, const fc_str *text,
                        fc_error *e) {
    bool same = src->len == text->len && !memcmp(src->text, text->data, text->len);
    if (fc_cli_on(c, FC_FLAG_FMT_CHECK)) {
        if (same) return FUSEC_OK;
        c->answer = 1;
        fc_str_printf(&c->out, "%s\n", src->name);
        return FUSEC_OK;
    }
    if (!strcmp(path, "-")) {
        fc_str_addn(&c->out, text->data, text->len);
        return FUSEC_OK;
    }
    return same ? FUSEC_OK : fc_cli_write_text(c, path, text->data, text->len, e);
}

static fusec_status format_one(fc_cli *c, const char *path, fc_error *e) {
    const fc_source *src;
    fc_str text;
    FC_TRY(fc_files_read(&c->files, path, &src, e));
    fc_str_init(&text, c->alloc);
    fusec_status s = fc_format(src, false, &c->ds, &text);
    if (!s) s = text.oom ? fc_oom(e) : put(c, path, src, &text, e);
    fc_str_free(&text);
    return s;
}

fusec_status fc_cmd_fmt(fc_cli *c, fc_error *e) {
    if (!c->o.files.len) return format_one(c, "-", e);
    /* A file with mistakes does not keep the others from being formatted. */
    fusec_status first = FUSEC_OK;
    for (size_t i = 0; i < c->o.files.len; i++) {
        fc_error own = {0};
        fusec_status s = format_one(c, c->o.files.at[i], &own);
        if (own.code) fc_report_add(&c->ds, &own);
        if (!first) first = s;
    }
    return first && !c->ds.errors ? fc_fail(e, first, "%s", fc_status_text(first)) : first;
}
