/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target_language.c - programs and snippets through parser, checker, formatter, printer and passes.
 *
 * A text that begins with `!` is a snippet with the inputs x: f32[3, 4], y: f32[4], n: i32 and the
 * number s. What is promised: formatting twice changes nothing, a printed graph reads as the same
 * text, and the passes keep what they guarantee. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/lang/compile.h"
#include "frontend/lang/fmt.h"
#include "passes/plan.h"
#include "tests/fuzz/targets.h"

enum { MAX_TEXT = 1 << 14, MAX_PLANNED = 300 /* nodes: larger ones only cost time */ };

void fuzz_require(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static void plan(const fc_graph *g, uint32_t mode, bool unfused) {
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {.mode = mode, .unfused = unfused, .verify = true};
    fusec_status s = fc_plan_build(g, &o, &p, &e);
    if (s == FUSEC_INTERNAL) fuzz_require(0, e.message);
    if (p) fc_plan_free(p);
}

static void reprint(const fc_graph *g) {
    fc_str text, again;
    fc_source src;
    fc_diags ds;
    fc_ast ast;
    fc_graph read;
    fc_lang_program made;
    fc_lang_request rq = {.program = &ast, .default_float = FUSEC_F32};
    fc_str_init(&text, &fc_libc_alloc);
    fc_str_init(&again, &fc_libc_alloc);
    fc_lang_print_graph(g, "f", &text);
    if (!fc_source_init(&src, &fc_libc_alloc, "f.fuse", text.data, text.len, NULL)) {
        fc_graph_init(&read, &fc_libc_alloc, NULL);
        fc_diags_init(&ds, &fc_libc_alloc);
        fuzz_require(!fc_parse_program(&src, &ds, &ast), "a printed graph is a program");
        bool good = !fc_lang_compile(&rq, &read, &made, &ds);
        if (!good) {
            fc_diags_text(&ds, false, &again);
            fprintf(stderr, "%s\n%s\n", text.data, again.data);
        }
        fuzz_require(good, "a printed graph is a right program");
        fc_lang_print_graph(&read, "f", &again);
        if (strcmp(text.data, again.data) != 0) fprintf(stderr, "%s\n%s\n", text.data, again.data);
        fuzz_require(!strcmp(text.data, again.data), "a printed graph prints the same again");
        fc_lang_program_free(&made);
        fc_graph_free(&read);
        fc_diags_free(&ds);
        fc_ast_free(&ast);
        fc_source_free(&src);
    }
    fc_str_free(&text);
    fc_str_free(&again);
}

static void use(const fc_graph *g, const fc_lang_program *p) {
    fc_error e = {0};
    if (fc_graph_verify(g, &e)) fuzz_require(0, e.message);
    if (g->nodes.len > MAX_PLANNED || g->outputs.len == 0) return;
    reprint(g);
    plan(g, p->mode, false);
    plan(g, 0, true);
}

static void check(fc_lang_request *rq) {
    fc_graph g;
    fc_diags ds;
    fc_str text;
    fc_lang_program made;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_diags_init(&ds, &fc_libc_alloc);
    fc_str_init(&text, &fc_libc_alloc);
    if (!fc_lang_compile(rq, &g, &made, &ds)) use(&g, &made);
    fc_diags_text(&ds, false, &text);
    fc_diags_json(&ds, &text);
    fc_lang_program_free(&made);
    fc_graph_free(&g);
    fc_diags_free(&ds);
    fc_str_free(&text);
}

static void check_snippet(const fc_ast *ast) {
    static const int64_t shape[] = {3, 4};
    const fc_lang_input inputs[] = {
        {.name = "x", .has_dtype = true, .dtype = FUSEC_F32, .rank = 2, .shape = shape},
        {.name = "y", .has_dtype = true, .dtype = FUSEC_F32, .rank = 1, .shape = shape + 1},
        {.name = "n", .has_dtype = true, .dtype = FUSEC_I32},
        {.name = "s",
         .kind = FC_LANG_SCALAR,
         .number = {.kind = FC_LANG_INT, .magnitude = 3, .value = 3}},
    };
    fc_lang_request rq = {.snippet = ast,
                          .inputs = inputs,
                          .input_count = FC_COUNT(inputs),
                          .complete = true,
                          .default_float = FUSEC_F32};
    check(&rq);
}

/* Every definition that can be checked without inputs. */
static void check_program(const fc_ast *ast) {
    int checked = 0;
    for (const fc_item *it = ast->items; it && checked < 4; it = it->next) {
        if (it->kind != FC_IT_DEF || !fc_lang_is_typed(it)) continue;
        fc_lang_request rq = {.program = ast, .def = it->name.text, .default_float = FUSEC_F64};
        check(&rq);
        checked++;
    }
}

static void format(const fc_source *src, bool snippet) {
    fc_str once, twice;
    fc_diags ds;
    fc_source again;
    fc_str_init(&once, &fc_libc_alloc);
    fc_str_init(&twice, &fc_libc_alloc);
    fc_diags_init(&ds, &fc_libc_alloc);
    if (!fc_format(src, snippet, &ds, &once) &&
        !fc_source_init(&again, &fc_libc_alloc, "again", once.data, once.len, NULL)) {
        fuzz_require(!fc_format(&again, snippet, &ds, &twice), "formatted text is formatted");
        if (strcmp(once.data, twice.data) != 0)
            fprintf(stderr, "%s\n----\n%s\n", once.data, twice.data);
        fuzz_require(!strcmp(once.data, twice.data), "formatting twice changes nothing");
        fc_source_free(&again);
    }
    fc_diags_free(&ds);
    fc_str_free(&once);
    fc_str_free(&twice);
}

void fuzz_language(const uint8_t *data, size_t size) {
    fc_source src;
    fc_diags ds;
    fc_ast ast;
    fc_error e = {0};
    if (size > MAX_TEXT) return;
    bool snippet = size && data[0] == '!';
    /* a copy of exactly this size, so that reading past it is seen */
    char *text = malloc(size + 1);
    if (!text) return;
    if (size) memcpy(text, data, size);
    text[size] = 0;
    if (!fc_source_init(&src, &fc_libc_alloc, "a.fuse", text + snippet, size - snippet, &e)) {
        fc_diags_init(&ds, &fc_libc_alloc);
        bool good = !(snippet ? fc_parse_snippet : fc_parse_program)(&src, &ds, &ast);
        if (good) format(&src, snippet);
        if (good && snippet) check_snippet(&ast);
        if (good && !snippet) check_program(&ast);
        fc_ast_free(&ast);
        fc_diags_free(&ds);
        fc_source_free(&src);
    }
    free(text);
}
