/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan_text.c - a plan as text: a table of its kernels, and why they are several. See
 * plan_view.h. */
#include <stdio.h>

#include "frontend/explain/plan_view.h"

/* ---- columns --------------------------------------------------------------------------------- */

/* Bytes of the arrays a kernel reads or writes, each once, in the names of the sizes: "4*n*m +
 * 4*n". */
static void symbolic_bytes(const fc_plan *plan, const fc_kernel *k, bool written, fc_str *out) {
    /* The plan is the caller's, and its table of sizes only grows. */
    fc_dimtab *t = (fc_dimtab *)(uintptr_t)&plan->graph.dims;
    fc_dim sum = fc_dim_const(t, 0);
    for (size_t a = 0; a < k->args.len; a++) {
        if (k->args.at[a].written != written) continue;
        fc_node n = plan->buffers.at[k->args.at[a].buffer].node;
        fc_dim bytes = fc_dim_const(t, 1);
        for (uint32_t i = 0; i < fc_rank(&plan->graph, n); i++)
            bytes = fc_dim_mul(t, bytes, fc_axis(&plan->graph, n, i));
        bytes =
            fc_dim_mul(t, fc_dim_const(t, fc_dtypes[fc_at(&plan->graph, n)->dtype].bytes), bytes);
        sum = fc_dim_add(t, sum, bytes);
    }
    if (sum == FC_DIM_NONE)
        fc_str_add(out, "?");
    else
        fc_dim_print(t, sum, out);
}

void fc_plan_bytes(const fc_plan_view *v, uint32_t i, bool written, fc_str *out) {
    char shown[32];
    const fc_step_report *r = &v->kernels[i].report;
    if (v->bytes)
        fc_str_add(out, fc_show_bytes(shown, written ? r->bytes_written : r->bytes_read));
    else
        symbolic_bytes(v->p->plan, &v->p->plan->steps.at[i]->kernel, written, out);
}

/* Column widths of the table: as wide as their widest cell. */
typedef struct widths {
    int what, read, written;
} widths;

static int widest(int a, size_t b) {
    return (int)b > a ? (int)b : a;
}

static widths measure(const fc_plan_view *v) {
    widths w = {8, 4, 7};
    fc_str cell;
    fc_str_init(&cell, v->s->alloc);
    for (uint32_t i = 0; i < v->count; i++) {
        w.what = widest(w.what, strlen(v->p->plan->steps.at[i]->what));
        fc_str_clear(&cell);
        fc_plan_bytes(v, i, false, &cell);
        w.read = widest(w.read, cell.len);
        fc_str_clear(&cell);
        fc_plan_bytes(v, i, true, &cell);
        w.written = widest(w.written, cell.len);
    }
    if (w.what > 44) w.what = 44;
    fc_str_free(&cell);
    return w;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The columns that end a line: what was predicted (negative: with another kernel) and what was
 * measured. */
static void times(const fc_plan_view *v, double predicted, double seconds, int64_t bytes,
                  fc_str *out) {
    char us[32], rate[32];
    if (v->predicted > 0 && (predicted >= 0 || v->seconds > 0))
        fc_str_printf(out, "  %9s", predicted < 0 ? "" : fc_show_seconds(us, predicted));
    if (v->seconds > 0) {
        fc_show_rate(rate, (double)bytes, seconds);
        fc_str_printf(out, "  %9s  %10s", fc_show_seconds(us, seconds), rate);
    }
    fc_str_char(out, '\n');
}

static void kernel_line(const fc_plan_view *v, uint32_t i, widths w, fc_str *out) {
    const fc_step *st = v->p->plan->steps.at[i];
    const fc_kernel_view *k = &v->kernels[i];
    char flop[32], name[16];
    fc_str read, written;
    fc_str_init(&read, v->s->alloc);
    fc_str_init(&written, v->s->alloc);
    fc_plan_bytes(v, i, false, &read);
    fc_plan_bytes(v, i, true, &written);
    fc_step_name(name, v->p->plan, i);
    if (v->bytes)
        fc_show_count(flop, k->elements * (int64_t)st->ops);
    else
        snprintf(flop, sizeof flop, "%u*", st->ops);
    fc_str_printf(out, "%-6s  %-*.44s  %-8s  %*s  %*s  %7s", name, w.what, st->what,
                  k->report.schedule, w.read, read.data, w.written, written.data, flop);
    times(v, k->follows ? -1 : k->report.predicted, k->seconds, k->report.bytes_floor, out);
    fc_str_free(&read);
    fc_str_free(&written);
}

static void total_line(const fc_plan_view *v, widths w, fc_str *out) {
    char read[32], written[32], flop[32];
    if (!v->bytes || v->count < 2) return;
    fc_show_count(flop, v->flop);
    fc_str_printf(out, "%-6s  %-*s  %-8s  %*s  %*s  %7s", "total", w.what, "", "", w.read,
                  fc_show_bytes(read, v->read), w.written, fc_show_bytes(written, v->written),
                  flop);
    times(v, v->predicted, v->seconds, v->traffic, out);
}

/* It was stored by an earlier kernel. */
bool fc_plan_updates(const fc_kernel *k, uint32_t arg) {
    for (size_t i = 0; i < k->updates.len; i++)
        if (k->updates.at[i].arg == arg) return true;
    return false;
}

/* Whether what kernel i makes stays inside of a launch. */
static bool is_passed(const fc_plan_view *v, uint32_t i) {
    uint32_t first = i;
    while (first && !v->kernels[first].joined) first--;
    return i + 1 < first + v->kernels[first].joined;
}

/* Every array between kernels, who stores it and why; what would make a kernel faster. */
static void stored_lines(const fc_plan_view *v, fc_str *out) {
    const fc_plan *p = v->p->plan;
    char shown[32], name[16];
    for (uint32_t i = 0; i < v->count; i++) {
        const fc_step *st = p->steps.at[i];
        bool said = false;
        for (size_t a = 0; a < st->kernel.args.len; a++) {
            uint32_t b = st->kernel.args.at[a].buffer;
            if (!st->kernel.args.at[a].written || p->buffers.at[b].kind != FC_BUF_TEMP) continue;
            if (fc_plan_updates(&st->kernel, (uint32_t)a)) continue;
            fc_str_add(out, is_passed(v, i) ? "passed    " : "stored    ");
            fc_buffer_name(p, b, out);
            fc_str_add(out, ": ");
            fc_buffer_type(p, b, out);
            if (v->bytes) fc_str_printf(out, ", %s", fc_show_bytes(shown, (int64_t)v->bytes[b]));
            fc_str_printf(out, ", by %s%s%s\n", fc_step_name(name, p, i), *st->why ? ": " : "",
                          st->why);
            said = true;
        }
        if (!said && *st->why)
            fc_str_printf(out, "apart     %s: %s\n", fc_step_name(name, p, i), st->why);
        if (*st->note) fc_str_printf(out, "note      %s: %s\n", fc_step_name(name, p, i), st->note);
    }
}

/* Kernels that run strip by strip: how many strips of how many rows, and what is between the
 * kernels at a time. */
static void strip_lines(const fc_plan_view *v, fc_str *out) {
    char at_a_time[32], whole[32], first[16], last[16];
    for (uint32_t i = 0; i < v->count; i++) {
        const fc_strips *c = &v->kernels[i].strips;
        if (!c->n || c->first != i) continue;
        fc_str_printf(out, "strips    %s to %s: %u of ", fc_step_name(first, v->p->plan, i),
                      fc_step_name(last, v->p->plan, i + c->n - 1), c->count);
        for (uint32_t k = 0; k < c->axes; k++)
            fc_str_printf(out, "%s%lld", k ? "x" : "", (long long)c->extent[k]);
        fc_str_printf(out, " rows, with %s between them in place of %s\n",
                      fc_show_bytes(at_a_time, (int64_t)(c->bytes * c->threads)),
                      fc_show_bytes(whole, (int64_t)c->whole_bytes));
    }
}

/* Kernels that are one launch, and what they hand over. */
static void joined_lines(const fc_plan_view *v, fc_str *out) {
    char passed[32], first[16], last[16];
    for (uint32_t i = 0; i < v->count; i++)
        if (v->kernels[i].joined)
            fc_str_printf(
                out, "joined    %s to %s: one launch, %s; the %s between them stay on the chip\n",
                fc_step_name(first, v->p->plan, i),
                fc_step_name(last, v->p->plan, i + v->kernels[i].joined - 1), v->kernels[i].launch,
                fc_show_bytes(passed, (int64_t)fc_plan_passed(v, i)));
}

/* Kernels with more values than registers: they go through memory. */
static void spill_lines(const fc_plan_view *v, fc_str *out) {
    for (uint32_t i = 0; i < v->count; i++) {
        const fc_code_facts *f = &v->kernels[i].report.facts;
        if (f->spill_bytes)
            fc_str_printf(out, "spills    k%u: %u registers and %u bytes of memory a thread\n", i,
                          f->registers, f->spill_bytes);
    }
}

static void unfused_line(const fc_plan_view *v, const fc_plan_view *u, fc_str *out) {
    char bytes[32], us[32];
    int64_t ours = v->traffic, theirs = u ? u->traffic : 0;
    bool again = ours < v->read + v->written;
    if (v->bytes)
        fc_str_printf(out, "traffic   %s%s\n", fc_show_bytes(bytes, ours),
                      again ? ": every array of a kernel once; its loops read some again" : "");
    if (!u) return;
    fc_str_printf(out, "unfused   %u kernel%s", u->count, u->count == 1 ? "" : "s");
    if (u->bytes) fc_str_printf(out, ", %s of traffic", fc_show_bytes(bytes, theirs));
    if (u->bytes && ours > 0) fc_str_printf(out, " (%.1fx)", (double)theirs / (double)ours);
    if (u->predicted > 0) fc_str_printf(out, ", predicted %s", fc_show_seconds(us, u->predicted));
    if (u->seconds > 0 && v->seconds > 0)
        fc_str_printf(out, ", measured %s (%.1fx)", fc_show_seconds(us, u->seconds),
                      u->seconds / v->seconds);
    if (u->refused) fc_str_printf(out, ", not run: %s", u->refused);
    fc_str_char(out, '\n');
}

void fc_plan_text(const fc_plan_view *v, const fc_plan_view *u, fc_str *out) {
    const fc_device *d = v->p->device;
    widths w = measure(v);
    fc_str_add(out, v->s->title);
    fc_str_printf(out, "\non %s%s%s\n\n", d->name, *d->text ? ": " : "", d->text);
    fc_str_printf(out, "%-6s  %-*s  %-8s  %*s  %*s  %7s%s%s\n", "kernel", w.what, "makes",
                  "schedule", w.read, "read", w.written, "written", "flop",
                  v->predicted > 0 ? "  predicted" : "",
                  v->seconds > 0 ? "   measured        rate" : "");
    for (uint32_t i = 0; i < v->count; i++) kernel_line(v, i, w, out);
    total_line(v, w, out);
    if (!v->bytes && v->count) fc_str_add(out, "* operations per element\n");
    fc_str_char(out, '\n');
    stored_lines(v, out);
    strip_lines(v, out);
    joined_lines(v, out);
    fc_plan_loops_text(v->p->plan, 0, out);
    fc_plan_transforms_text(v, out);
    spill_lines(v, out);
    unfused_line(v, u, out);
}

void fc_plan_plain(const fc_plan_view *v, fc_str *out) {
    char name[16];
    for (uint32_t i = 0; i < v->count; i++) {
        const fc_kernel_view *k = &v->kernels[i];
        const fc_step *st = v->p->plan->steps.at[i];
        fc_str_printf(out, "%s\t%s\t%s\t%lld\t%lld\t%lld\t%s", fc_step_name(name, v->p->plan, i),
                      st->what, k->report.schedule, (long long)k->report.bytes_read,
                      (long long)k->report.bytes_written,
                      (long long)(k->elements * (int64_t)st->ops), k->report.cls);
        fc_str_char(out, '\t');
        if (v->predicted > 0) fc_str_double(out, k->report.predicted * 1e6, false);
        if (v->seconds > 0) {
            fc_str_char(out, '\t');
            fc_str_double(out, k->seconds * 1e6, false);
        }
        fc_str_char(out, '\n');
    }
}
