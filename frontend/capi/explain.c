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

fusec_status fc_explain_flags(const char *what, unsigned flags, bool times) {
    static const unsigned forms = FUSEC_EXPLAIN_JSON | FUSEC_EXPLAIN_HTML | FUSEC_EXPLAIN_SVG |
                                  FUSEC_EXPLAIN_DOT | FUSEC_EXPLAIN_PLAIN;
    if (flags & ~(forms | FUSEC_EXPLAIN_COMPILE | FUSEC_EXPLAIN_TIMES))
        return fc_report_text(FUSEC_INVALID, "%s: unknown flags 0x%x", what, flags);
    if (flags & FUSEC_EXPLAIN_TIMES && !times)
        return fc_report_text(
            FUSEC_INVALID, "%s: FUSEC_EXPLAIN_TIMES needs outputs: use fusec_explain_with", what);
    if ((flags & forms) & ((flags & forms) - 1))
        return fc_report_text(FUSEC_INVALID,
                              "%s: JSON, HTML, SVG, DOT and PLAIN exclude each other", what);
    return FUSEC_OK;
}

/* What is only compared with may be too large where the program is not: it stores more between its
 * kernels, and has kernels of more elements. Then it is said why it does not run. */
static fusec_status allow(fc_plan_view *u, fusec_status st, bool too_large, const fc_error *why,
                          fc_error *e) {
    if (!st) return FUSEC_OK;
    if (!too_large) return fc_fail(e, st, "%s", why->message);
    u->refused = fc_arena_strdup(u->s->arena, why->message, strlen(why->message));
    return u->refused ? FUSEC_OK : fc_oom(e);
}

static fusec_status compare(const fc_plan_query *q, fc_program *unfused, fc_plan_view *u,
                            fc_error *e) {
    fc_error why = {0};
    fusec_status st = fc_plan_view_make(q, unfused, false, u, &why);
    return allow(u, st, st == FUSEC_LIMIT || st == FUSEC_INPUT_SHAPE, &why, e);
}

static fusec_status measure(fc_plan_view *v, fc_plan_view *u, fc_error *e) {
    fc_error why = {0};
    FC_TRY(fc_plan_view_time(v, e));
    if (!u || u->refused) return FUSEC_OK;
    fusec_status st = fc_plan_view_time(u, &why);
    return allow(u, st, st == FUSEC_OUT_OF_MEMORY && !u->p->device->host_memory, &why, e);
}

static fusec_status write(const fc_plan_view *v, const fc_plan_view *u,
                          const fusec_explain_options *o, fc_str *out, fc_error *e) {
    fc_plan_program text[2];
    size_t n = 0;
    if (o->text) text[n++] = (fc_plan_program){o->text_name ? o->text_name : "<text>", o->text, 0};
    if (o->expr) text[n++] = (fc_plan_program){"-e", o->expr, FC_PLACE_SNIPPET};
    if (o->flags & FUSEC_EXPLAIN_HTML) return fc_plan_html(v, u, text, n, out, e);
    if (o->flags & FUSEC_EXPLAIN_SVG)
        fc_plan_svg(v, false, out);
    else if (o->flags & FUSEC_EXPLAIN_DOT)
        fc_plan_dot(v, out);
    else if (o->flags & FUSEC_EXPLAIN_PLAIN)
        fc_plan_plain(v, out);
    else
        (o->flags & FUSEC_EXPLAIN_JSON ? fc_plan_json : fc_plan_text)(v, u, out);
    return FUSEC_OK;
}

static fusec_status explain(const fc_plan_query *q, fc_program *p, const fusec_explain_options *o,
                            fc_str *out, fc_error *e) {
    fc_plan_view v, u, *against = o->unfused ? &u : NULL;
    const bool times = (o->flags & FUSEC_EXPLAIN_TIMES) != 0;
    FC_TRY(fc_plan_view_make(q, p, times || o->flags & FUSEC_EXPLAIN_COMPILE, &v, e));
    if (against) FC_TRY(compare(q, o->unfused->p, &u, e));
    if (times) FC_TRY(measure(&v, against, e));
    return write(&v, against, o, out, e);
}

fusec_status fc_explain(fusec_context *c, fc_program *p, fc_plan_query *q,
                        const fusec_explain_options *o, char **out, fc_error *e) {
    fc_arena arena;
    fc_str text, title;
    fc_arena_init(&arena, &c->alloc);
    fc_str_init(&text, &c->alloc);
    fc_str_init(&title, &c->alloc);
    q->alloc = &c->alloc;
    q->arena = &arena;
    if (o->title)
        fc_str_add(&title, o->title);
    else
        print_title(p, q->name, &title);
    q->title = title.data;
    fusec_status s = title.oom ? fc_oom(e) : explain(q, p, o, &text, e);
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

fusec_status fusec_explain_with(fusec_program *p, const fusec_explain_options *options,
                                char **out) {
    fc_error e = {0};
    fc_arrays_taken a, b;
    fusec_explain_options o = FUSEC_EXPLAIN_OPTIONS_INIT;
    FC_TRY(start("fusec_explain", p, out));
    *out = NULL;
    if (options && options->size < sizeof options->size)
        return fc_report_text(FUSEC_INVALID, "fusec_explain: set the options up with "
                                             "FUSEC_EXPLAIN_OPTIONS_INIT");
    if (options) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    FC_TRY(fc_explain_flags("fusec_explain", o.flags, true));
    const bool times = (o.flags & FUSEC_EXPLAIN_TIMES) != 0;
    fc_start_arrays(&a, &p->ctx->alloc);
    fc_start_arrays(&b, &p->ctx->alloc);
    fc_plan_query q = {.name = p->name, .sized = times || o.ninputs || !fusec_input_count(p)};
    fusec_status s = FUSEC_OK;
    if (q.sized) s = fc_take_arrays(p, true, o.ninputs, o.inputs, times, &a, &e);
    if (times && !s) s = fc_take_arrays(p, false, o.noutputs, o.outputs, true, &b, &e);
    q.nin = a.n, q.in = a.at, q.ndims = a.ndims, q.dims = a.dims, q.nout = b.n, q.out = b.at;
    if (!s) s = fc_explain(p->ctx, p->p, &q, &o, out, &e);
    fc_free_arrays(&a);
    fc_free_arrays(&b);
    return s ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_explain(fusec_program *p, int ninputs, const fusec_tensor *inputs,
                           unsigned flags, char **out) {
    fusec_explain_options o = FUSEC_EXPLAIN_OPTIONS_INIT;
    FC_TRY(start("fusec_explain", p, out));
    *out = NULL;
    FC_TRY(fc_explain_flags("fusec_explain", flags, false));
    o.flags = flags;
    o.ninputs = ninputs;
    o.inputs = inputs;
    return fusec_explain_with(p, &o, out);
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
    fc_start_arrays(&a, &p->ctx->alloc);
    fc_str_init(&text, a.alloc);
    fusec_status s = fc_take_arrays(p, true, ninputs, inputs, false, &a, &e);
    if (!s) s = fc_program_source(p->p, (uint32_t)kernel, a.n, a.at, a.ndims, a.dims, &text, &e);
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
    fc_start_arrays(&a, &p->ctx->alloc);
    fc_start_arrays(&b, &p->ctx->alloc);
    for (int i = 0; i < fusec_kernel_count(p); i++) seconds[i] = 0;
    fusec_status s = fc_take_arrays(p, true, ninputs, inputs, true, &a, &e);
    if (!s) s = fc_take_arrays(p, false, noutputs, outputs, true, &b, &e);
    if (!s) s = fc_program_time(p->p, a.n, a.at, a.ndims, a.dims, b.n, b.at, seconds, &e);
    fc_free_arrays(&a);
    fc_free_arrays(&b);
    return s ? fc_report(&e) : FUSEC_OK;
}

/* ---- before a call ------------------------------------------------------------------------------
 */

fusec_status fusec_cost_of(fusec_program *p, int ninputs, const fusec_tensor *inputs,
                           unsigned flags, fusec_cost *out) {
    fc_error e = {0};
    fc_arena arena;
    fc_arrays_taken a;
    fc_plan_view v;
    FC_TRY(start("fusec_cost_of", p, out));
    if (out->size < sizeof out->size || flags & ~(unsigned)FUSEC_EXPLAIN_COMPILE)
        return fc_report_text(FUSEC_INVALID, "fusec_cost_of: %s",
                              out->size < sizeof out->size
                                  ? "set the result up with FUSEC_COST_INIT"
                                  : "unknown flags");
    fc_arena_init(&arena, &p->ctx->alloc);
    fc_start_arrays(&a, &p->ctx->alloc);
    fusec_status s = fc_take_arrays(p, true, ninputs, inputs, false, &a, &e);
    const fc_plan_query q = {.alloc = &p->ctx->alloc,
                             .arena = &arena,
                             .sized = true,
                             .nin = a.n,
                             .in = a.at,
                             .ndims = a.ndims,
                             .dims = a.dims};
    if (!s) s = fc_plan_view_make(&q, p->p, flags != 0, &v, &e);
    if (!s) {
        const fusec_cost c = {out->size, v.read, v.written, v.traffic, v.flop, v.predicted};
        memcpy(out, &c, out->size < sizeof c ? out->size : sizeof c);
    }
    fc_free_arrays(&a);
    fc_arena_free(&arena);
    return s ? fc_report(&e) : FUSEC_OK;
}
