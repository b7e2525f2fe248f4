/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* explain.c - plans, sources and times as texts and numbers, for those who embed the library and
 * want to assert them. */
#include "frontend/capi/explain.h"

/* ---- texts ----------------------------------------------------------------------------------- */

void fusec_text_free(fusec_context *ctx, char *text) {
    if (ctx) fc_free(&ctx->alloc, text);
}

/* The text becomes the caller's. */
static fusec_status give(fusec_context *c, const fc_str *s, char **out, fc_error *e) {
    if (s->oom || !(*out = fc_strdup(&c->alloc, s->data))) return fc_oom(e);
    return FUSEC_OK;
}

/* "f(x: f32[n], k: f32) -> (y: f32[n])" */
static void print_title(const fc_program *p, const char *name, fc_str *out) {
    const fc_graph *g = &p->plan->graph;
    fc_str_printf(out, "%s(", name);
    for (size_t i = 0; i < g->inputs.len; i++) {
        fc_str_printf(out, "%s%s: ", i ? ", " : "", g->inputs.at[i].name);
        fc_type_print(g, g->inputs.at[i].node, out);
    }
    fc_str_add(out, ") -> (");
    for (size_t i = 0; i < g->outputs.len; i++) {
        fc_str_printf(out, "%s%s: ", i ? ", " : "", g->outputs.at[i].name);
        fc_type_print(g, g->outputs.at[i].node, out);
    }
    fc_str_char(out, ')');
}

fusec_status fc_explain_flags(const char *what, unsigned flags) {
    static const unsigned forms = FUSEC_EXPLAIN_JSON | FUSEC_EXPLAIN_HTML | FUSEC_EXPLAIN_SVG;
    if (flags & ~(forms | FUSEC_EXPLAIN_COMPILE))
        return fc_report_text(FUSEC_INVALID, "%s: unknown flags 0x%x", what, flags);
    if ((flags & forms) & ((flags & forms) - 1))
        return fc_report_text(FUSEC_INVALID, "%s: JSON, HTML and SVG exclude each other", what);
    return FUSEC_OK;
}

static fusec_status write(const fc_plan_view *v, unsigned flags, fc_str *out, fc_error *e) {
    if (flags & FUSEC_EXPLAIN_HTML) return fc_plan_html(v, NULL, NULL, 0, out, e);
    if (flags & FUSEC_EXPLAIN_SVG)
        fc_plan_svg(v, false, out);
    else
        (flags & FUSEC_EXPLAIN_JSON ? fc_plan_json : fc_plan_text)(v, NULL, out);
    return FUSEC_OK;
}

fusec_status fc_explain(fusec_context *c, fc_program *p, fc_plan_query *q, unsigned flags,
                        char **out, fc_error *e) {
    fc_arena arena;
    fc_str text, title;
    fc_plan_view v;
    fc_arena_init(&arena, &c->alloc);
    fc_str_init(&text, &c->alloc);
    fc_str_init(&title, &c->alloc);
    q->alloc = &c->alloc;
    q->arena = &arena;
    q->name = *p->name ? p->name : "program";
    print_title(p, q->name, &title);
    q->title = title.data;
    fusec_status s = title.oom ? fc_oom(e) : FUSEC_OK;
    if (!s) s = fc_plan_view_make(q, p, (flags & FUSEC_EXPLAIN_COMPILE) != 0, &v, e);
    if (!s) s = write(&v, flags, &text, e);
    if (!s) s = give(c, &text, out, e);
    fc_str_free(&text);
    fc_str_free(&title);
    fc_arena_free(&arena);
    return s;
}

/* ---- programs -------------------------------------------------------------------------------- */

static fusec_status start(const char *what, const fusec_program *p, const void *out) {
    if (p && out) return FUSEC_OK;
    return fc_report_text(FUSEC_INVALID, "%s: the %s is NULL", what,
                          p ? "result pointer" : "program");
}

fusec_status fusec_explain(fusec_program *p, int ninputs, const fusec_tensor *inputs,
                           unsigned flags, char **out) {
    fc_error e = {0};
    FC_TRY(start("fusec_explain", p, out));
    *out = NULL;
    FC_TRY(fc_explain_flags("fusec_explain", flags));
    fc_arrays_taken a;
    a.alloc = &p->ctx->alloc;
    a.at = a.few;
    fc_plan_query q = {.sized = ninputs != 0 || !fusec_input_count(p)};
    fusec_status s = q.sized ? fc_take_arrays(p, true, ninputs, inputs, false, &a, &e) : FUSEC_OK;
    q.nin = q.sized && ninputs > 0 ? (uint32_t)ninputs : 0;
    q.in = a.at;
    if (!s) s = fc_explain(p->ctx, p->p, &q, flags, out, &e);
    fc_free_arrays(&a);
    return s ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_source(fusec_program *p, int kernel, int ninputs, const fusec_tensor *inputs,
                          char **out) {
    fc_error e = {0};
    FC_TRY(start("fusec_source", p, out));
    *out = NULL;
    if (kernel < 0 || kernel >= fusec_kernel_count(p))
        return fc_report_text(FUSEC_INVALID, "fusec_source: the program has %d kernels, not %d",
                              fusec_kernel_count(p), kernel + 1);
    fc_arrays_taken a;
    fc_str text;
    a.alloc = &p->ctx->alloc;
    fc_str_init(&text, a.alloc);
    fusec_status s = fc_take_arrays(p, true, ninputs, inputs, false, &a, &e);
    if (!s)
        s = fc_program_source(p->p, (uint32_t)kernel, (uint32_t)ninputs, a.at, 0, NULL, &text, &e);
    if (!s) s = give(p->ctx, &text, out, &e);
    fc_free_arrays(&a);
    fc_str_free(&text);
    return s ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_times(fusec_program *p, int ninputs, const fusec_tensor *inputs, int noutputs,
                         const fusec_tensor *outputs, double *seconds, int room) {
    fc_error e = {0};
    FC_TRY(start("fusec_times", p, seconds));
    if (room < fusec_kernel_count(p))
        return fc_report_text(FUSEC_INVALID, "fusec_times: %d kernels, room for %d",
                              fusec_kernel_count(p), room);
    fc_arrays_taken a, b;
    a.alloc = b.alloc = &p->ctx->alloc;
    b.at = b.few;
    for (int i = 0; i < fusec_kernel_count(p); i++) seconds[i] = 0;
    fusec_status s = fc_take_arrays(p, true, ninputs, inputs, true, &a, &e);
    if (!s) s = fc_take_arrays(p, false, noutputs, outputs, true, &b, &e);
    if (!s)
        s = fc_program_time(p->p, (uint32_t)ninputs, a.at, 0, NULL, (uint32_t)noutputs, b.at,
                            seconds, &e);
    fc_free_arrays(&a);
    fc_free_arrays(&b);
    return s ? fc_report(&e) : FUSEC_OK;
}
