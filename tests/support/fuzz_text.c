/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_text.c - see fuzz_text.h. */
#include "tests/support/fuzz_text.h"

#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"
#include "frontend/saved/saved.h"
#include "tests/support/graph_hash.h"

void fuzz_text_print(const fc_graph *g, fc_str *out) {
    fc_lang_print_graph(g, "f", out);
}

bool fuzz_text_read(const char *name, const char *text, fc_graph *g, fc_str *why) {
    return fuzz_text_read_with(name, text, NULL, g, why);
}

bool fuzz_text_read_with(const char *name, const char *text, const fc_extern_source *externs,
                         fc_graph *g, fc_str *why) {
    fc_source src;
    fc_diags ds;
    fc_ast ast;
    fc_lang_program made;
    fc_error e = {0};
    fc_lang_request rq = {.program = &ast, .externs = externs, .default_float = FUSEC_F32};
    fc_graph_init(g, &fc_libc_alloc, NULL);
    if (fc_source_init(&src, &fc_libc_alloc, name, text, strlen(text), &e)) {
        fc_str_add(why, e.message);
        return false;
    }
    fc_diags_init(&ds, &fc_libc_alloc);
    bool good = fc_parse_program(&src, &ds, &ast) == FUSEC_OK;
    if (good) {
        good = fc_lang_compile(&rq, g, &made, &ds) == FUSEC_OK;
        fc_lang_program_free(&made);
    }
    if (!good) fc_diags_text(&ds, false, why);
    fc_diags_free(&ds);
    fc_ast_free(&ast);
    fc_source_free(&src);
    return good;
}

bool fuzz_saved_agrees(const fc_graph *g, fc_str *why) {
    fc_graph read;
    fc_error e = {0};
    fc_str first, second;
    fc_str_init(&first, &fc_libc_alloc);
    fc_str_init(&second, &fc_libc_alloc);
    fc_graph_init(&read, &fc_libc_alloc, NULL);
    bool good = !fc_saved_write(g, &first, &e) &&
                !fc_saved_read(first.data, first.len, NULL, &read, &e) &&
                !fc_saved_write(&read, &second, &e);
    if (!good) fc_str_printf(why, "saving and reading: %s", e.message);
    if (good && (first.len != second.len || memcmp(first.data, second.data, first.len) != 0 ||
                 fc_graph_hash(g) != fc_graph_hash(&read))) {
        fc_str_add(why, "the saved graph is another one:\n");
        fc_graph_print(g, why);
        fc_graph_print(&read, why);
        good = false;
    }
    fc_graph_free(&read);
    fc_str_free(&first);
    fc_str_free(&second);
    return good;
}

bool fuzz_text_agrees(const fc_graph *g, fc_str *why) {
    fc_graph read;
    fc_str first, second;
    fc_str_init(&first, &fc_libc_alloc);
    fc_str_init(&second, &fc_libc_alloc);
    fuzz_text_print(g, &first);
    bool good = fuzz_text_read("f.fuse", first.data, &read, why) && fuzz_saved_agrees(g, why);
    if (good) fuzz_text_print(&read, &second);
    if (good && strcmp(first.data, second.data) != 0) {
        fc_str_printf(why, "the printed graph reads as another one:\n%s\n%s", first.data,
                      second.data);
        good = false;
    }
    fc_graph_free(&read);
    fc_str_free(&first);
    fc_str_free(&second);
    return good;
}
