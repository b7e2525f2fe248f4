/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parsebox.c - one parse with everything that can be asked of it. */
#include "tests/support/parsebox.h"

#include "tests/support/test.h"

#include "frontend/lang/fmt.h"

#include <stdlib.h>

parsed parse_text(const char *name, const char *text, size_t len, bool snippet) {
    parsed r = {0};
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_error e = {0};
    fc_str_init(&r.dump, &fc_libc_alloc);
    fc_str_init(&r.text, &fc_libc_alloc);
    fc_str_init(&r.json, &fc_libc_alloc);
    fc_diags_init(&ds, &fc_libc_alloc);
    r.status = fc_source_init(&src, &fc_libc_alloc, name, text, len, &e);
    if (r.status == FUSEC_OK) {
        r.status = (snippet ? fc_parse_snippet : fc_parse_program)(&src, &ds, &ast);
        if (r.status == FUSEC_OK) fc_ast_dump(&ast, &r.dump);
        fc_ast_free(&ast);
    } else {
        fc_diag_from(&ds, &e);
    }
    fc_diags_text(&ds, false, &r.text);
    fc_diags_json(&ds, &r.json);
    r.errors = ds.errors;
    r.shown = ds.len;
    fc_diags_free(&ds);
    fc_source_free(&src);
    return r;
}

void parsed_free(parsed *r) {
    fc_str_free(&r->dump);
    fc_str_free(&r->text);
    fc_str_free(&r->json);
}

char *format_text(const char *text, size_t len, bool snippet) {
    fc_source src;
    fc_diags ds;
    fc_str out;
    char *result = NULL;
    if (fc_source_init(&src, &fc_libc_alloc, "p.fuse", text, len, NULL) != FUSEC_OK) return NULL;
    fc_diags_init(&ds, &fc_libc_alloc);
    fc_str_init(&out, &fc_libc_alloc);
    if (fc_format(&src, snippet, &ds, &out) == FUSEC_OK) result = strdup(out.data);
    fc_str_free(&out);
    fc_diags_free(&ds);
    fc_source_free(&src);
    return result;
}

bool parse_holds(const char *text, size_t len, bool snippet) {
    parsed r = parse_text("p.fuse", text, len, snippet);
    bool good = r.status == FUSEC_OK;
    FC_EXPECT_EQ_I64(good, r.errors == 0);
    FC_EXPECT_TRUE(r.shown <= FC_DIAG_LIMIT);
    if (good && !memchr(text, '\0', len)) {
        char *once = format_text(text, len, snippet);
        char *twice = once ? format_text(once, strlen(once), snippet) : NULL;
        FC_EXPECT_TRUE(once && twice);
        if (once && twice) {
            parsed again = parse_text("p.fuse", once, strlen(once), snippet);
            FC_EXPECT_STREQ(once, twice);
            FC_EXPECT_STREQ(r.dump.data, again.dump.data);
            if (strcmp(once, twice) != 0 || strcmp(r.dump.data, again.dump.data) != 0)
                FC_FAIL("the text was:\n%.*s", (int)len, text);
            parsed_free(&again);
        }
        free(once);
        free(twice);
    }
    parsed_free(&r);
    return good;
}
