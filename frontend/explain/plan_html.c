/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan_html.c - a plan as one page: the program, the picture, and each kernel with its code.
 *
 * In: the views that explain's text is made from. Out: a page that needs no network and no script;
 * its own policy (Content-Security-Policy) would make any request an error. It is well-formed XML,
 * too. Equal code of several kernels stands there once. */
#include <stdio.h>

#include "frontend/explain/plan_view.h"

static const char head[] =
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:\"/>\n"
    "<style>\n"
    ":root{color-scheme:light dark;--fg:#1b1b1f;--bg:#fff;--soft:#5a5a66;--edge:#c9c9d2;"
    "--code:#f5f5f8;--link:#0b57d0}\n"
    "@media(prefers-color-scheme:dark){:root{--fg:#ececf1;--bg:#131316;--soft:#a9a9b8;"
    "--edge:#3c3c46;--code:#1d1d22;--link:#8ab4f8}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg);"
    "max-width:76rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font:600 1.3rem ui-monospace,monospace;overflow-wrap:anywhere}h2{margin-top:2.2rem}"
    "h3{font:600 1rem ui-monospace,monospace;margin:1.6rem 0 .3rem}\n"
    "a{color:var(--link)}.soft{color:var(--soft)}\n"
    ".wide{overflow:auto;max-height:85vh;border:1px solid var(--edge)}\n"
    "pre{background:var(--code);padding:.6rem;overflow:auto;max-height:70vh;font-size:13px;"
    "margin:.3rem 0}\n"
    "table{border-collapse:collapse}th,td{text-align:left;padding:.15rem .7rem .15rem 0;"
    "border-bottom:1px solid var(--edge);vertical-align:top}td.n,th.n{text-align:right;"
    "white-space:nowrap}\n"
    "pre .no{color:var(--soft);user-select:none;-webkit-user-select:none}"
    "pre span:target{outline:2px solid var(--link)}section:target h3{outline:2px solid "
    "var(--link)}\n"
    "dl{margin:.3rem 0;display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}summary{cursor:pointer}\n"
    "@media print{.wide,pre{max-height:none;border:0}}\n"
    "</style>\n";

typedef struct page {
    const fc_plan_view *v;
    const fc_plan_program *programs;
    size_t nprograms;
    fc_str *out;
    const char **code; /* of each kernel, NULL: it has none */
    const char **ir;
} page;

/* ---- small parts -------------------------------------------------------------------------------
 */

static void tagged(fc_str *out, const char *tag, const char *text) {
    fc_str_printf(out, "<%s>", tag);
    fc_markup_text(out, text);
    fc_str_printf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

static void number(fc_str *out, const char *text) {
    tagged(out, "td class=\"n\"", text);
}

static void fact(fc_str *out, const char *name, const char *text) {
    tagged(out, "dt", name);
    tagged(out, "dd", text);
    fc_str_char(out, '\n');
}

static void fact_int(fc_str *out, const char *name, int64_t n) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)n);
    fact(out, name, text);
}

/* ---- the head -----------------------------------------------------------------------------------
 */

static void against(const fc_plan_view *v, const fc_plan_view *u, fc_str *out) {
    char bytes[32], us[32];
    fc_str_printf(out, "<p>%u kernel%s", v->count, v->count == 1 ? "" : "s");
    if (v->bytes) fc_str_printf(out, ", %s of traffic", fc_show_bytes(bytes, v->traffic));
    if (v->predicted > 0) fc_str_printf(out, ", predicted %s", fc_show_seconds(us, v->predicted));
    if (v->seconds > 0) fc_str_printf(out, ", measured %s", fc_show_seconds(us, v->seconds));
    fc_str_char(out, '.');
    if (u) {
        fc_str_printf(out, " Unfused: %u kernel%s", u->count, u->count == 1 ? "" : "s");
        if (u->bytes) fc_str_printf(out, ", %s of traffic", fc_show_bytes(bytes, u->traffic));
        if (u->bytes && v->bytes && v->traffic > 0)
            fc_str_printf(out, " (%.1fx)", (double)u->traffic / (double)v->traffic);
        if (u->predicted > 0)
            fc_str_printf(out, ", predicted %s", fc_show_seconds(us, u->predicted));
        if (u->seconds > 0) fc_str_printf(out, ", measured %s", fc_show_seconds(us, u->seconds));
        if (u->refused) {
            fc_str_add(out, ", not run: ");
            fc_markup_text(out, u->refused);
        }
        fc_str_char(out, '.');
    }
    fc_str_add(out, "</p>\n");
}

/* A line has the number that messages call it by, and an anchor: "p0L12" is line 12 of program 0.
 */
static void program_text(const fc_plan_program *x, size_t program, fc_str *out) {
    int line = 1;
    fc_str one;
    fc_str_init(&one, out->alloc);
    tagged(out, "h3", x->name);
    fc_str_add(out, "\n<pre>");
    for (const char *p = x->text; *p; line++) {
        const size_t n = strcspn(p, "\n");
        fc_str_clear(&one);
        fc_str_addn(&one, p, n);
        fc_str_printf(out, "<span id=\"p%zuL%d\"><span class=\"no\">%4d  </span>", program, line,
                      line);
        fc_markup_text(out, one.data);
        fc_str_add(out, "</span>\n");
        p += n + (p[n] == '\n');
    }
    fc_str_add(out, "</pre>\n");
    out->oom |= one.oom;
    fc_str_free(&one);
}

/* ---- the table ----------------------------------------------------------------------------------
 */

static void kernel_row(const fc_plan_view *v, uint32_t i, fc_str *out) {
    const fc_step *st = v->p->plan->steps.at[i];
    const fc_kernel_view *k = &v->kernels[i];
    char name[16], text[32];
    fc_str cell;
    fc_str_init(&cell, out->alloc);
    fc_step_name(name, v->p->plan, i);
    fc_str_printf(out, "<tr><td><a href=\"#%s\">%s</a></td>", name, name);
    tagged(out, "td", st->what);
    tagged(out, "td", k->report.schedule);
    fc_plan_bytes(v, i, false, &cell);
    number(out, cell.data);
    fc_str_clear(&cell);
    fc_plan_bytes(v, i, true, &cell);
    number(out, cell.data);
    if (v->bytes)
        number(out, fc_show_count(text, fc_mul_most(k->elements, (int64_t)st->ops)));
    else
        fc_str_printf(out, "<td class=\"n\">%u*</td>", st->ops);
    if (v->predicted > 0) number(out, k->follows ? "" : fc_show_seconds(text, k->report.predicted));
    if (v->seconds > 0) {
        number(out, fc_show_seconds(text, k->seconds));
        number(out, fc_show_rate(text, (double)k->report.bytes_floor, k->seconds));
    }
    fc_str_add(out, "</tr>\n");
    out->oom |= cell.oom;
    fc_str_free(&cell);
}

static void table(const fc_plan_view *v, fc_str *out) {
    fc_str_add(out,
               "<table>\n<tr><th>kernel</th><th>makes</th><th>schedule</th>"
               "<th class=\"n\">read</th><th class=\"n\">written</th><th class=\"n\">flop</th>");
    if (v->predicted > 0) fc_str_add(out, "<th class=\"n\">predicted</th>");
    if (v->seconds > 0) fc_str_add(out, "<th class=\"n\">measured</th><th class=\"n\">rate</th>");
    fc_str_add(out, "</tr>\n");
    for (uint32_t i = 0; i < v->count; i++) kernel_row(v, i, out);
    fc_str_add(out, "</table>\n");
    if (!v->bytes && v->count) fc_str_add(out, "<p class=\"soft\">* operations per element</p>\n");
}

/* ---- kernels ------------------------------------------------------------------------------------
 */

static void arrays(const fc_plan_view *v, const fc_kernel *k, bool written, fc_str *out) {
    const fc_plan *p = v->p->plan;
    char shown[32];
    size_t n = 0;
    fc_str s;
    fc_str_init(&s, out->alloc);
    for (size_t a = 0; a < k->args.len; a++) {
        const uint32_t b = k->args.at[a].buffer;
        if (k->args.at[a].written != written) continue;
        fc_str_add(&s, n++ ? ", " : "");
        fc_buffer_name(p, b, &s);
        fc_str_add(&s, ": ");
        fc_buffer_type(p, b, &s);
        if (v->bytes) fc_str_printf(&s, " (%s)", fc_show_bytes(shown, (int64_t)v->bytes[b]));
        if (written && p->buffers.at[b].kind == FC_BUF_TEMP)
            fc_str_add(&s, fc_plan_updates(k, (uint32_t)a) ? " updated" : " stored");
    }
    for (size_t x = 0; !written && x < k->params.len; x++)
        if (!k->params.at[x].is_dim)
            fc_str_printf(&s, "%s%s", n++ ? ", " : "",
                          p->graph.inputs.at[k->params.at[x].source].name);
    if (n) fact(out, written ? "writes" : "reads", s.data);
    out->oom |= s.oom;
    fc_str_free(&s);
}

static bool is_line(const fc_plan_program *x, uint32_t place, uint32_t *line) {
    *line = place - x->place;
    return place > x->place && *line < 1u << 30;
}

/* Links to the lines that a kernel computes, in order. */
static void lines(const page *g, const fc_kernel *k) {
    bool any = false;
    for (size_t p = 0; p < g->nprograms; p++)
        for (uint32_t line, last = 0, next; last != UINT32_MAX; last = next) {
            next = UINT32_MAX;
            for (size_t i = 0; i < k->places.len; i++)
                if (is_line(&g->programs[p], k->places.at[i], &line) && line > last && line < next)
                    next = line;
            if (next == UINT32_MAX) break;
            fc_str_add(g->out, any ? ", " : "<dt>lines</dt><dd>");
            fc_str_printf(g->out, "<a href=\"#p%zuL%u\">%s%u</a>", p, next,
                          g->nprograms > 1 && p ? "-e:" : "", next);
            any = true;
        }
    if (any) fc_str_add(g->out, "</dd>\n");
}

/* What the others and their links take without their texts. */
enum { KERNEL_BYTES = 1024 };

static void details(const page *g, const char *const *texts, uint32_t i, const char *what) {
    char name[16];
    if (!texts[i]) return;
    for (uint32_t k = 0; k < i; k++) {
        if (!texts[k] || strcmp(texts[k], texts[i]) != 0) continue;
        fc_step_name(name, g->v->p->plan, k);
        fc_str_printf(g->out, "<p class=\"soft\">%s: as <a href=\"#%s\">%s</a></p>\n", what, name,
                      name);
        return;
    }
    const size_t before = g->out->len, behind = (size_t)(g->v->count - i) * KERNEL_BYTES;
    fc_str_printf(g->out, "<details><summary>%s</summary><pre>", what);
    fc_markup_text(g->out, texts[i]);
    fc_str_add(g->out, "</pre></details>\n");
    if (g->out->oom || g->out->len + behind <= FC_PAGE_BYTES) return;
    g->out->len = before;
    fc_str_printf(g->out,
                  "<p class=\"soft\">%s: left out, the page would be too large; <code>fusec "
                  "explain --emit</code> shows it</p>\n",
                  what);
}

static void kernel_section(const page *g, uint32_t i) {
    const fc_plan_view *v = g->v;
    const fc_step *st = v->p->plan->steps.at[i];
    const fc_kernel_view *k = &v->kernels[i];
    fc_str *out = g->out;
    char name[16];
    fc_step_name(name, v->p->plan, i);
    fc_str_printf(out, "<section id=\"%s\">\n<h3>%s ", name, name);
    fc_markup_text(out, st->what);
    fc_str_add(out, "</h3>\n<dl>\n");
    fact(out, "schedule", k->report.schedule);
    if (v->bytes && *k->report.cls) fact(out, "class", k->report.cls);
    lines(g, &st->kernel);
    arrays(v, &st->kernel, false, out);
    arrays(v, &st->kernel, true, out);
    if (*st->why) fact(out, "apart, because", st->why);
    if (*st->note) fact(out, "note", st->note);
    if (v->bytes) {
        fact_int(out, "bytes read", k->report.bytes_read);
        fact_int(out, "bytes written", k->report.bytes_written);
        fact_int(out, "each array once", k->report.bytes_floor);
        fact_int(out, "elements", k->elements);
    }
    fact_int(out, "operations an element", st->ops);
    if (k->report.facts.registers) {
        fact_int(out, "registers", k->report.facts.registers);
        fact_int(out, "bytes of spills", k->report.facts.spill_bytes);
    }
    fc_str_add(out, "</dl>\n");
    details(g, g->ir, i, "loop nest");
    details(g, g->code, i,
            v->p->device->kind == FC_DEV_CUDA  ? "CUDA C"
            : v->p->device->kind == FC_DEV_CPU ? "LLVM IR"
                                               : "tape");
    fc_str_add(out, "</section>\n");
}

/* The texts of all kernels; steps that are none have no text, nor have arrays without elements. */
static fusec_status collect(page *g, fc_error *e) {
    const fc_plan_query *q = g->v->s;
    const fc_plan *plan = g->v->p->plan;
    fc_str s;
    fusec_status st = FUSEC_OK;
    g->code = fc_arena_alloc(q->arena, (g->v->count + 1) * sizeof *g->code);
    g->ir = fc_arena_alloc(q->arena, (g->v->count + 1) * sizeof *g->ir);
    if (!g->code || !g->ir) return fc_oom(e);
    fc_str_init(&s, q->alloc);
    for (uint32_t i = 0; i < g->v->count && !st; i++) {
        g->code[i] = g->ir[i] = NULL;
        if (plan->steps.at[i]->kind != FC_STEP_KERNEL) continue;
        fc_str_clear(&s);
        fc_kernel_print(&plan->steps.at[i]->kernel, &plan->graph.dims, &s);
        g->ir[i] = fc_arena_strdup(q->arena, s.data, s.len);
        fc_str_clear(&s);
        if (q->sized) st = fc_program_source(g->v->p, i, q->nin, q->in, q->ndims, q->dims, &s, e);
        if (!st && s.len) g->code[i] = fc_arena_strdup(q->arena, s.data, s.len);
        if (!st && (s.oom || !g->ir[i] || (s.len && !g->code[i]))) st = fc_oom(e);
    }
    fc_str_free(&s);
    return st;
}

static void loops(const fc_plan_view *v, fc_str *out) {
    fc_str s;
    fc_str_init(&s, out->alloc);
    fc_plan_loops_text(v->p->plan, 0, &s);
    if (s.len) tagged(out, "pre", s.data);
    out->oom |= s.oom;
    fc_str_free(&s);
}

fusec_status fc_plan_html(const fc_plan_view *v, const fc_plan_view *u,
                          const fc_plan_program *programs, size_t count, fc_str *out, fc_error *e) {
    page g = {.v = v, .programs = programs, .nprograms = count, .out = out};
    const fc_device *d = v->p->device;
    FC_TRY(collect(&g, e));
    fc_str_add(out, "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n"
                    "<head><meta charset=\"utf-8\"/>\n<title>");
    fc_markup_text(out, v->s->name);
    fc_str_printf(out, ": plan</title>\n%s%s</head>\n<body>\n", head, fc_plan_svg_style);
    tagged(out, "h1", v->s->title);
    fc_str_add(out, "\n<p class=\"soft\">on ");
    fc_markup_text(out, d->name);
    fc_str_add(out, *d->text ? ": " : "");
    fc_markup_text(out, d->text);
    fc_str_add(out, "</p>\n");
    against(v, u, out);
    if (count) fc_str_add(out, "<h2>Program</h2>\n");
    for (size_t i = 0; i < count; i++) program_text(&programs[i], i, out);
    fc_str_add(out, "<h2>Plan</h2>\n<div class=\"wide\" tabindex=\"0\">");
    fc_plan_svg(v, true, out);
    fc_str_add(out, "</div>\n<h2>Kernels</h2>\n");
    table(v, out);
    loops(v, out);
    for (uint32_t i = 0; i < v->count; i++) kernel_section(&g, i);
    fc_str_add(out, "</body>\n</html>\n");
    return out->oom ? fc_oom(e) : FUSEC_OK;
}
