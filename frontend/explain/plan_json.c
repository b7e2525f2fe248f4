/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan_json.c - a plan for programs: JSON, and dot for Graphviz. See plan_view.h. */
#include "frontend/explain/plan_view.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_args(const fc_plan_view *v, const fc_kernel *k, bool written, fc_str *out) {
    fc_str name;
    size_t n = 0;
    fc_str_init(&name, v->s->alloc);
    fc_str_char(out, '[');
    for (size_t a = 0; a < k->args.len; a++) {
        if (k->args.at[a].written != written) continue;
        fc_str_clear(&name);
        fc_buffer_name(v->p->plan, k->args.at[a].buffer, &name);
        fc_str_add(out, n++ ? "," : "");
        fc_json_text(out, name.data);
    }
    for (size_t x = 0; !written && x < k->params.len; x++) {
        if (k->params.at[x].is_dim) continue;
        fc_str_add(out, n++ ? "," : "");
        fc_json_text(out, v->p->plan->graph.inputs.at[k->params.at[x].source].name);
    }
    fc_str_char(out, ']');
    fc_str_free(&name);
}

static void json_int(fc_str *out, const char *key, bool known, int64_t value) {
    if (known)
        fc_str_printf(out, ",\"%s\":%lld", key, (long long)value);
    else
        fc_str_printf(out, ",\"%s\":null", key);
}

/* Of the program's file; lines of -e are negative. Nothing for graphs that come from no text. */
static void json_lines(const fc_kernel *k, fc_str *out) {
    if (!k->places.len) return;
    fc_str_add(out, ",\"lines\":[");
    for (size_t i = 0; i < k->places.len; i++) {
        const uint32_t place = k->places.at[i];
        fc_str_printf(out, "%s%s%u", i ? "," : "", fc_place_in_snippet(place) ? "-" : "",
                      fc_place_line(place));
    }
    fc_str_char(out, ']');
}

static void json_predicted(fc_str *out, bool known, double seconds) {
    fc_str_add(out, ",\"predicted_us\":");
    if (known)
        fc_json_number(out, seconds * 1e6);
    else
        fc_str_add(out, "null");
}

static void json_kernel(const fc_plan_view *v, uint32_t i, fc_str *out) {
    const fc_step *st = v->p->plan->steps.at[i];
    const fc_kernel_view *k = &v->kernels[i];
    bool known = v->bytes != NULL;
    char name[16];
    fc_str_printf(out, "%s{\"name\":\"%s\",\"makes\":", i ? "," : "",
                  fc_step_name(name, v->p->plan, i));
    fc_json_text(out, st->what);
    fc_str_printf(out, ",\"schedule\":\"%s\",\"target\":\"%s\",\"inputs\":", k->report.schedule,
                  fc_target_name(v->p->device));
    json_args(v, &st->kernel, false, out);
    fc_str_add(out, ",\"outputs\":");
    json_args(v, &st->kernel, true, out);
    json_int(out, "bytes_read", known, k->report.bytes_read);
    json_int(out, "bytes_written", known, k->report.bytes_written);
    json_int(out, "bytes_floor", known, k->report.bytes_floor);
    json_int(out, "ops", true, st->ops);
    json_int(out, "elements", known, k->elements);
    json_int(out, "registers", k->report.facts.registers != 0, k->report.facts.registers);
    json_int(out, "spill_bytes", k->report.facts.registers != 0, k->report.facts.spill_bytes);
    fc_str_add(out, ",\"shape_class\":");
    if (known)
        fc_json_text(out, k->report.cls);
    else
        fc_str_add(out, "null");
    fc_str_add(out, ",\"why\":");
    fc_json_text(out, st->why);
    fc_str_add(out, ",\"note\":");
    fc_json_text(out, st->note);
    json_lines(&st->kernel, out);
    fc_plan_loop_json(v->p->plan, i, out);
    fc_plan_transform_json(v, i, out);
    json_predicted(out, v->predicted > 0 && !k->follows, k->report.predicted);
    if (v->seconds > 0) {
        double bytes = (double)k->report.bytes_floor;
        fc_str_add(out, ",\"us\":");
        fc_json_number(out, k->seconds * 1e6);
        fc_str_add(out, ",\"gbs\":");
        fc_json_number(out, k->seconds > 0 ? bytes / k->seconds * 1e-9 : 0);
    }
    fc_str_char(out, '}');
}

/* Kernels that run strip by strip (runtime/strips.h). */
static void json_strips(const fc_plan_view *v, fc_str *out) {
    char first[16], last[16];
    uint32_t n = 0;
    fc_str_add(out, ",\"strips\":[");
    for (uint32_t i = 0; i < v->count; i++) {
        const fc_strips *c = &v->kernels[i].strips;
        if (!c->n || c->first != i) continue;
        fc_str_printf(out, "%s{\"first\":\"%s\",\"last\":\"%s\",\"count\":%u,\"rows\":[",
                      n++ ? "," : "", fc_step_name(first, v->p->plan, i),
                      fc_step_name(last, v->p->plan, i + c->n - 1), c->count);
        for (uint32_t k = 0; k < c->axes; k++)
            fc_str_printf(out, "%s%lld", k ? "," : "", (long long)c->extent[k]);
        fc_str_printf(out, "],\"side_by_side\":%u,\"bytes\":%llu,\"bytes_uncut\":%llu}", c->threads,
                      (unsigned long long)c->bytes, (unsigned long long)c->whole_bytes);
    }
    fc_str_char(out, ']');
}

/* Kernels that are one launch (runtime/join.h). */
static void json_joined(const fc_plan_view *v, fc_str *out) {
    char first[16], last[16];
    uint32_t n = 0;
    fc_str_add(out, ",\"joined\":[");
    for (uint32_t i = 0; i < v->count; i++)
        if (v->kernels[i].joined)
            fc_str_printf(out,
                          "%s{\"first\":\"%s\",\"last\":\"%s\",\"launch\":\"%s\",\"bytes\":%llu}",
                          n++ ? "," : "", fc_step_name(first, v->p->plan, i),
                          fc_step_name(last, v->p->plan, i + v->kernels[i].joined - 1),
                          v->kernels[i].launch, (unsigned long long)fc_plan_passed(v, i));
    fc_str_char(out, ']');
}

void fc_plan_json(const fc_plan_view *v, const fc_plan_view *u, fc_str *out) {
    fc_str_add(out, "{\"program\":");
    fc_json_text(out, v->s->name);
    fc_str_add(out, ",\"signature\":");
    fc_json_text(out, v->s->title);
    fc_str_printf(out, ",\"device\":\"%s\",\"device_text\":", v->p->device->name);
    fc_json_text(out, v->p->device->text);
    fc_str_printf(out, ",\"compiles\":%llu,\"kernels\":[", (unsigned long long)v->p->compiles);
    for (uint32_t i = 0; i < v->count; i++) json_kernel(v, i, out);
    fc_str_char(out, ']');
    json_strips(v, out);
    json_joined(v, out);
    if (!u) {
        fc_str_add(out, "}\n");
        return;
    }
    fc_str_printf(out, ",\"unfused\":{\"kernels\":%u", u->count);
    json_int(out, "bytes", u->bytes != NULL, u->traffic);
    json_predicted(out, u->predicted > 0, u->predicted);
    if (u->seconds > 0) {
        fc_str_add(out, ",\"us\":");
        fc_json_number(out, u->seconds * 1e6);
    }
    if (u->refused) {
        fc_str_add(out, ",\"refused\":");
        fc_json_text(out, u->refused);
    }
    fc_str_add(out, "}}\n");
}

/* ---- dot ------------------------------------------------------------------------------------- */

static void dot_text(fc_str *out, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fc_str_char(out, '\\');
        fc_str_char(out, *text);
    }
}

void fc_plan_dot(const fc_plan_view *v, fc_str *out) {
    const fc_plan *p = v->p->plan;
    fc_str_add(out, "digraph plan {\n    rankdir=LR;\n    node [fontname=\"monospace\"];\n");
    for (uint32_t b = 0; b < p->buffers.len; b++) {
        fc_str type;
        fc_str_init(&type, v->s->alloc);
        fc_buffer_name(p, b, &type);
        fc_str_add(&type, ": ");
        fc_buffer_type(p, b, &type);
        fc_str_printf(out, "    b%u [label=\"", b);
        dot_text(out, type.data);
        fc_str_printf(out, "\"%s];\n",
                      p->buffers.at[b].kind == FC_BUF_TEMP ? ", style=dashed" : "");
        fc_str_free(&type);
    }
    for (uint32_t i = 0; i < v->count; i++) {
        const fc_step *st = p->steps.at[i];
        char name[16];
        fc_str_printf(out, "    k%u [shape=box, label=\"%s %s\\n", i, fc_step_name(name, p, i),
                      v->kernels[i].report.schedule);
        dot_text(out, st->what);
        fc_str_add(out, "\"];\n");
        for (size_t a = 0; a < st->kernel.args.len; a++) {
            const fc_arg *x = &st->kernel.args.at[a];
            if (x->written)
                fc_str_printf(out, "    k%u -> b%u;\n", i, x->buffer);
            else
                fc_str_printf(out, "    b%u -> k%u;\n", x->buffer, i);
        }
        for (size_t a = 0; a < st->kernel.params.len; a++)
            if (!st->kernel.params.at[a].is_dim)
                fc_str_printf(out, "    b%u -> k%u;\n", st->kernel.params.at[a].source, i);
    }
    fc_str_add(out, "}\n");
}
