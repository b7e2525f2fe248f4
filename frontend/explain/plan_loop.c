/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan_loop.c - what explain says of loops, and of steps that are no kernels: Fourier transforms.
 * See plan_view.h.
 *
 *     rounds    k0: 256 inside, each element on its own, while its condition holds
 *     rounds    l0: 1 step a round, as the body has view
 *               l0.k0  r0  map
 *     fft       by cuFFT 12.0
 */
#include "frontend/explain/plan_view.h"
#include "passes/bodies.h"
#include "runtime/step.h"

static bool is_kernels(const fc_plan_body *b) {
    for (size_t i = 0; i < b->plan->steps.len; i++)
        if (b->plan->steps.at[i]->kind != FC_STEP_KERNEL) return false;
    return true;
}

static void why_text(const fc_plan_body *b, fc_str *out) {
    const bool ahead = fc_body_runs_ahead(b);
    fc_str_printf(out, ", as the body has %s", b->why);
    if (b->loop.condition) fc_str_add(out, "; the condition is read after each");
    if (ahead) fc_str_add(out, ", on a GPU while later ones run");
    if ((ahead || !b->loop.condition) && is_kernels(b))
        fc_str_add(out, "; on a GPU many go some at a time, as one graph");
}

/* The number of rounds of the loop at v; -1: it comes with the call. */
static int64_t known_rounds(const fc_code *c, fc_val v) {
    fc_val operand[FC_MAX_LISTED];
    fc_listed_values(c, c->ins.at[v].a, operand);
    const bool known =
        c->ins.at[operand[0]].op == FC_OP_CONST && c->ins.at[operand[1]].op == FC_OP_CONST;
    return known ? (int64_t)fc_expected_rounds(c, v) : -1;
}

/* Loops that a kernel has inside. */
static void inside_text(const fc_kernel *k, const char *name, uint32_t indent, fc_str *out) {
    for (fc_val v = 0; v < k->code.ins.len; v++) {
        if (k->code.ins.at[v].op != FC_OP_ROUNDS) continue;
        const int64_t rounds = known_rounds(&k->code, v);
        fc_str_printf(out, "%*s%s%s: ", (int)indent, "", indent ? "" : "rounds    ", name);
        if (rounds >= 0) fc_str_printf(out, "%lld ", (long long)rounds);
        fc_str_printf(out, "inside, each element on its own%s\n",
                      k->loops.at[k->code.ins.at[v].imm]->condition ? ", while its condition holds"
                                                                    : "");
    }
}

/* Bodies are at most FC_MAX_LOOP_LEVEL deep. */
void fc_plan_loops_text(const fc_plan *p, uint32_t indent, fc_str *out) {
    char name[16], inner[16];
    for (uint32_t i = 0; i < p->steps.len; i++) {
        const fc_step *s = p->steps.at[i];
        fc_step_name(name, p, i);
        if (s->kind == FC_STEP_KERNEL) inside_text(&s->kernel, name, indent, out);
        if (s->kind != FC_STEP_LOOP) continue;
        const fc_plan_body *b = p->bodies.at[s->body];
        const uint32_t n = (uint32_t)b->plan->steps.len;
        fc_str_printf(out, "%*s%s%s: %u step%s a round", (int)indent, "",
                      indent ? "" : "rounds    ", name, n, n == 1 ? "" : "s");
        why_text(b, out);
        fc_str_char(out, '\n');
        for (uint32_t k = 0; k < n; k++)
            fc_str_printf(out, "%*s%s.%s  %s  %s\n", (int)(indent ? indent + 4 : 10), "", name,
                          fc_step_name(inner, b->plan, k), fc_step_schedule(b->plan->steps.at[k]),
                          b->plan->steps.at[k]->what);
        fc_plan_loops_text(b->plan, indent ? indent + 4 : 14, out);
    }
}

static void inside_json(const fc_kernel *k, fc_str *out) {
    bool any = false;
    for (fc_val v = 0; v < k->code.ins.len; v++) {
        if (k->code.ins.at[v].op != FC_OP_ROUNDS) continue;
        fc_str_printf(out, "%s{\"rounds\":%lld,\"condition\":%s}", any ? "," : ",\"inside\":[",
                      (long long)known_rounds(&k->code, v),
                      k->loops.at[k->code.ins.at[v].imm]->condition ? "true" : "false");
        any = true;
    }
    if (any) fc_str_char(out, ']');
}

void fc_plan_loop_json(const fc_plan *p, uint32_t step, fc_str *out) {
    const fc_step *s = p->steps.at[step];
    char name[16];
    if (s->kind == FC_STEP_KERNEL) inside_json(&s->kernel, out);
    if (s->kind != FC_STEP_LOOP) return;
    const fc_plan_body *b = p->bodies.at[s->body];
    fc_str_add(out, ",\"body\":{\"why\":");
    fc_json_text(out, b->why);
    fc_str_printf(out, ",\"condition\":%s,\"ahead\":%s,\"kernels\":[",
                  b->loop.condition ? "true" : "false", fc_body_runs_ahead(b) ? "true" : "false");
    for (uint32_t k = 0; k < b->plan->steps.len; k++) {
        const fc_step *x = b->plan->steps.at[k];
        fc_str_printf(out, "%s{\"name\":\"%s\",\"makes\":", k ? "," : "",
                      fc_step_name(name, b->plan, k));
        fc_json_text(out, x->what);
        fc_str_printf(out, ",\"schedule\":\"%s\"", fc_step_schedule(x));
        fc_plan_loop_json(b->plan, k, out);
        fc_str_char(out, '}');
    }
    fc_str_add(out, "]}");
}

static bool transforms(const fc_plan *p) {
    bool any = false;
    for (size_t i = 0; i < p->steps.len; i++) any |= p->steps.at[i]->kind == FC_STEP_FFT;
    for (size_t i = 0; i < p->bodies.len; i++) any |= transforms(p->bodies.at[i]->plan);
    return any;
}

void fc_plan_transforms_text(const fc_plan_view *v, fc_str *out) {
    fc_str who;
    if (!transforms(v->p->plan)) return;
    fc_str_init(&who, v->p->alloc);
    fc_fft_who(v->p->device, &who);
    if (who.len) fc_str_printf(out, "fft       %s\n", who.data);
    fc_str_free(&who);
}

void fc_plan_transform_json(const fc_plan_view *v, uint32_t step, fc_str *out) {
    fc_str who;
    if (v->p->plan->steps.at[step]->kind != FC_STEP_FFT) return;
    fc_str_init(&who, v->p->alloc);
    fc_fft_who(v->p->device, &who);
    fc_str_add(out, ",\"transform\":");
    fc_json_text(out, who.len ? who.data : "by the device");
    fc_str_free(&who);
}
