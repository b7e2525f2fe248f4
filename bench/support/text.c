/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* text.c - a program's text as a graph of the C API. The language has no function in the public
 * header yet, so the graph behind the public one is filled here as the command fills its own. */
#include "bench/support/bench.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/capi/capi.h"
#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"

unsigned bench_mode(const char *word) {
    if (!strcmp(word, "strict")) return FUSEC_MODE_STRICT;
    if (!strcmp(word, "wide16")) return FUSEC_MODE_WIDE16;
    if (!strcmp(word, "fast")) return FUSEC_MODE_FAST;
    bench_fail("%s is no mode", word);
}

static void complain(const fc_diags *ds, const fc_alloc *alloc) {
    fc_str text;
    fc_str_init(&text, alloc);
    fc_diags_text(ds, false, &text);
    bench_fail("%s", text.data ? text.data : "out of memory");
}

fusec_graph *bench_graph_of(fusec_context *ctx, const char *text, int n, const bench_input *in,
                            unsigned mode) {
    const fc_alloc *alloc = &ctx->alloc;
    fusec_graph *g = NULL;
    fc_source src = {0};
    fc_ast ast = {0};
    fc_diags ds;
    fc_error e = {0};
    fc_lang_program out = {0};
    fc_lang_input *given = bench_calloc((size_t)n, sizeof *given);
    bench_check(ctx, fusec_graph_new(ctx, &g), "graph");
    fc_diags_init(&ds, alloc);
    if (fc_source_init(&src, alloc, "program", text, strlen(text), &e)) bench_fail("%s", e.message);
    if (fc_parse_program(&src, &ds, &ast)) complain(&ds, alloc);
    for (int i = 0; i < n; i++)
        given[i] = (fc_lang_input){.name = in[i].name,
                                   .kind = FC_LANG_TYPE,
                                   .has_dtype = true,
                                   .dtype = in[i].dtype,
                                   .rank = (uint32_t)in[i].rank,
                                   .shape = in[i].shape};
    fc_lang_request rq = {.program = &ast,
                          .inputs = given,
                          .input_count = (size_t)n,
                          .default_float = FUSEC_F32,
                          .mode = mode};
    if (fc_lang_compile(&rq, &g->ir, &out, &ds)) complain(&ds, alloc);
    g->ninputs = (uint32_t)g->ir.inputs.len;
    for (size_t i = 0; i < g->ir.inputs.len; i++)
        if (!fc_push(alloc, &g->leaves, ((fc_leaf){.bound = false}))) bench_fail("out of memory");
    fc_lang_program_free(&out);
    fc_ast_free(&ast);
    fc_diags_free(&ds);
    fc_source_free(&src);
    free(given);
    return g;
}
