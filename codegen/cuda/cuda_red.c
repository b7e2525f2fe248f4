/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_red.c - a reduction as small functions on a struct, so that schedules read like the tree
 * they walk.
 *
 * - struct red0: the accumulator; it also lies in workspaces.
 * - red0_start(): of no elements.
 * - red0_step(a, x, i, t): takes in element x (of a contraction x, y, of a fold a record) with
 *   number i, after t others: lanes and runs take their elements in order, so callers know t,
 * mostly as a constant, and counts need no memory.
 * - red0_finish(a, n): the result over n elements; of a fold the record, a struct red0.
 * - fc_join(a, b): a covers earlier elements than b.
 * - fc_join_even(a, b, n), of columns (cuda_outer.c) and spans (cuda_chunks.c) where some reduction
 *   counts: the same where each covers n elements. A number that is known leaves nothing of the
 *   counts.
 * - fc_meet(a, b, swap): fc_join, b being the earlier one if `swap`.
 * - fc_pick(a, b, second): one of them.
 * - fc_from(a, lane), fc_xor(a, m): the accumulator of another lane of the warp.
 * - fc_even(a, m): fc_xor where all lanes have the same count, which then stays a known number.
 *
 * In: ir/red_program.h, the parts in rows of the op table. */
#include "codegen/cuda/cuda.h"
#include "ir/red_program.h"

#include <stdio.h>

/* What a body is of: a part of ir/red_program.h, or JOIN of parts with as many elements each. */
enum { EVEN = FC_RED_PARTS, BODIES };

/* The operands' names. A step knows by `t` how many elements an accumulator counts. */
#define SIXTEEN(of)                                                                                \
    of "0", of "1", of "2", of "3", of "4", of "5", of "6", of "7", of "8", of "9", of "10",       \
        of "11", of "12", of "13", of "14", of "15"
_Static_assert(FC_MAX_COMPONENTS == 16, "names of the values of a record");
static const char *const arg_names[BODIES][FC_RED_ARGS] = {
    [FC_RED_STEP] = {SIXTEEN("a.c"), "x", "y", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9",
                     "x10", "x11", "x12", "x13", "x14", "x15", "i"},
    [FC_RED_JOIN] = {SIXTEEN("a.c"), SIXTEEN("b.c")},
    [FC_RED_FINISH] = {SIXTEEN("a.c"), "n"},
    [EVEN] = {"a.c0", "a.c1", "n", [FC_ARG_LATER] = "b.c0", "b.c1", "n"}};
static const char *const counted_step[FC_RED_ARGS] = {
    "a.c0", "a.c1", "t", [FC_ARG_ELEMENT] = "x", [FC_ARG_INDEX] = "i"};
/* How reductions that count divide: what the divisors are is known. */
static const char *const divisions[BODIES] = {
    [FC_RED_STEP] = "fc_share($b)", [FC_RED_JOIN] = "fc_part($a, $b)", [EVEN] = "fc_half($b)"};

typedef struct red {
    const fc_reduction *of;
    uint32_t number;
} red;

bool fc_cuda_any_counts(const fc_kernel *k, unsigned stage) {
    for (size_t r = 0; r < k->reductions.len; r++)
        if (k->reductions.at[r].stage == stage && fc_red_counts(&k->reductions.at[r])) return true;
    return false;
}

bool fc_cuda_evens(const fc_cuda_gen *g) {
    bool counts = false;
    for (unsigned s = 0; s < g->k->nstages; s++) counts |= fc_cuda_any_counts(g->k, s);
    return counts && (g->k->schedule == FC_SCHED_OUTER || g->cls->cuda.kind == FC_CUDA_LOOP);
}

/* ---- bodies: code in, lines out ------------------------------------------------------------- */

/* The record of a fold is its result, and a new one is complete before it replaces the old one. */
static void render(fc_cuda_text *t, const red *d, int p, const fc_red_program *prog) {
    const bool fold = d->of->record != NULL,
               makes = p != FC_RED_FINISH && (fold || p != FC_RED_STEP);
    if (fold && p == FC_RED_FINISH) {
        fc_cuda_line(t, "return a;");
        return;
    }
    for (fc_val v = 0; v < t->code->ins.len; v++)
        if (t->need[v]) fc_cuda_instr(t, v);
    if (makes) fc_cuda_line(t, "red%u r;", (unsigned)d->number);
    for (unsigned i = 0; i < prog->nout; i++) {
        fc_str_printf(t->out,
                      p == FC_RED_FINISH ? "    return " : "    %s.c%u = ", makes ? "r" : "a", i);
        fc_cuda_operand(t, prog->out[i]);
        fc_str_add(t->out, ";\n");
    }
    if (makes) fc_cuda_line(t, p == FC_RED_STEP ? "a = r;" : "return r;");
}

static fusec_status body(fc_cuda_gen *g, const red *d, int p, fc_error *e) {
    const fc_alloc *alloc = g->code.alloc;
    const bool counts = fc_red_counts(d->of);
    fc_red_program prog;
    FC_TRY(fc_red_program_make(&prog, alloc, FC_TARGET_CUDA, NULL, d->of,
                               p == EVEN ? FC_RED_JOIN : (fc_red_part)p, e));
    const size_t len = prog.code.ins.len;
    uint8_t *marks = fc_calloc(alloc, len + 1, 2);
    if (marks) {
        fc_cuda_text t = {.code = &prog.code,
                          .k = g->k,
                          .out = g->t.out,
                          .depth = 1,
                          .args = counts && p == FC_RED_STEP ? counted_step : arg_names[p],
                          .division = counts ? divisions[p] : NULL,
                          .need = prog.needed,
                          .done = marks,
                          .local = marks + len};
        render(&t, d, p, &prog);
    }
    const bool made = marks != NULL;
    fc_free(alloc, marks);
    fc_red_program_free(&prog);
    return made ? FUSEC_OK : fc_oom(e);
}

/* ---- the functions -------------------------------------------------------------------------- */

/* The type of a result: of a fold the record. */
static const char *result_type(const red *d, char text[16]) {
    if (!d->of->record) return fc_cuda_type(fc_red_result(d->of, 0));
    snprintf(text, 16, "red%u", (unsigned)d->number);
    return text;
}

static void type_and_shuffles(fc_cuda_text *t, const red *d) {
    unsigned n = (unsigned)d->number;
    fc_cuda_line(t, "struct red%u {", n);
    const unsigned components = fc_red_components(d->of);
    for (unsigned c = 0; c < components; c++)
        fc_cuda_line(t, "%s c%u;", fc_cuda_type(fc_red_component(d->of, c)), c);
    fc_cuda_line(t, "};");
    static const char *const kinds[] = {"xor", "from", "even"};
    for (int k = 0; k < (fc_red_counts(d->of) ? 3 : 2); k++) {
        fc_cuda_line(t, "FC_INLINE red%u fc_%s(const red%u &a, int lane) {", n, kinds[k], n);
        fc_cuda_line(t, k == 2 ? "red%u r = a;" : "red%u r;", n);
        for (unsigned c = 0; c < (k == 2 ? 2 : components); c++)
            fc_cuda_line(t, "r.c%u = fc_lane_%s(a.c%u, lane);", c, kinds[k % 2], c);
        fc_cuda_line(t, "return r;");
        fc_cuda_line(t, "}");
    }
}

static fusec_status join_even(fc_cuda_gen *g, const red *d, fc_error *e) {
    const unsigned n = (unsigned)d->number;
    fc_cuda_line(
        &g->t, "FC_INLINE red%u fc_join_even(const red%u &a, const red%u &b, const long long n) {",
        n, n, n);
    if (fc_red_counts(d->of))
        FC_TRY(body(g, d, EVEN, e));
    else
        fc_cuda_line(&g->t, "return fc_join(a, b);");
    fc_cuda_line(&g->t, "}");
    return FUSEC_OK;
}

/* Components are chosen one by one: a choice between two structs would put them into memory. */
static void pick(fc_cuda_text *t, const red *d) {
    unsigned n = (unsigned)d->number;
    fc_cuda_line(t, "FC_INLINE red%u fc_pick(const red%u &a, const red%u &b, bool second) {", n, n,
                 n);
    fc_cuda_line(t, "red%u r;", n);
    for (unsigned c = 0; c < fc_red_components(d->of); c++)
        fc_cuda_line(t, "r.c%u = second ? b.c%u : a.c%u;", c, c, c);
    fc_cuda_line(t, "return r;");
    fc_cuda_line(t, "}");
}

static void meet(fc_cuda_text *t, const red *d) {
    unsigned n = (unsigned)d->number;
    fc_cuda_line(t, "FC_INLINE red%u fc_meet(const red%u &a, const red%u &b, bool swap) {", n, n,
                 n);
    if (fc_red_components(d->of) == 1 && !d->of->record) { /* commutes */
        fc_cuda_line(t, "return fc_join(a, b);");
    } else {
        fc_cuda_line(t, "red%u x, y;", n);
        for (unsigned c = 0; c < fc_red_components(d->of); c++) {
            fc_cuda_line(t, "x.c%u = swap ? b.c%u : a.c%u;", c, c, c);
            fc_cuda_line(t, "y.c%u = swap ? a.c%u : b.c%u;", c, c, c);
        }
        fc_cuda_line(t, "return fc_join(x, y);");
    }
    fc_cuda_line(t, "}");
}

static void step_head(fc_cuda_text *t, const red *d) {
    fc_str_printf(t->out, "FC_INLINE void red%u_step(red%u &a, ", (unsigned)d->number,
                  (unsigned)d->number);
    for (unsigned v = 0; v < d->of->nvalues; v++)
        fc_str_printf(t->out, "const %s %s, ", fc_cuda_type(fc_red_element(d->of, v)),
                      arg_names[FC_RED_STEP][FC_ARG_ELEMENT + v]);
    fc_str_add(t->out, "const long long i, const long long t) {\n");
    t->depth++;
}

fusec_status fc_cuda_red_functions(fc_cuda_gen *g, uint32_t r, fc_error *e) {
    const red d = {&g->k->reductions.at[r], r};
    fc_cuda_text *t = &g->t;
    unsigned n = (unsigned)r;
    char room[16];
    type_and_shuffles(t, &d);
    for (int p = 0; p < FC_RED_PARTS; p++) {
        if (p == FC_RED_START) fc_cuda_line(t, "FC_INLINE red%u red%u_start() {", n, n);
        if (p == FC_RED_STEP) step_head(t, &d);
        if (p == FC_RED_JOIN)
            fc_cuda_line(t, "FC_INLINE red%u fc_join(const red%u &a, const red%u &b) {", n, n, n);
        if (p == FC_RED_FINISH)
            fc_cuda_line(t, "FC_INLINE %s red%u_finish(const red%u &a, const long long n) {",
                         result_type(&d, room), n, n);
        FC_TRY(body(g, &d, p, e));
        fc_cuda_line(t, "}");
    }
    if (fc_cuda_apart(g->cls) > 1) pick(t, &d);
    if (fc_cuda_evens(g)) FC_TRY(join_even(g, &d, e));
    meet(t, &d);
    return FUSEC_OK;
}

void fc_cuda_declare_results(fc_cuda_gen *g, unsigned stage) {
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        const red d = {&g->k->reductions.at[r], r};
        char room[16];
        if (d.of->stage == stage) fc_cuda_line(&g->t, "%s f%u;", result_type(&d, room), r);
    }
}

const char *fc_cuda_red_result_type(const fc_cuda_gen *g, unsigned r, char room[16]) {
    return result_type(&(red){&g->k->reductions.at[r], r}, room);
}

void fc_cuda_declare_turns(fc_cuda_gen *g, unsigned r) {
    const red d = {&g->k->reductions.at[r], r};
    char room[16];
    fc_cuda_line(&g->t, "%s g%u[%d];", result_type(&d, room), r, g->cls->cuda.repeat);
}

void fc_cuda_partials(fc_cuda_gen *g, const char *offset) {
    unsigned bytes = 0;
    fc_cuda_line(&g->t, "const ix spans = (ix)p.w[%u];", (unsigned)g->l.extra + FC_PB_SPANS);
    fc_cuda_line(&g->t, "const long long cells = ((long long)rows * spans + 7) / 8 * 8;");
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        fc_cuda_line(&g->t, "red%u *const z%u = (red%u *)(p.w[%u] + cells * %u) + %s;", r, r, r,
                     (unsigned)g->l.extra + FC_PB_WORKSPACE, bytes, offset);
        bytes += (unsigned)fc_cuda_red_bytes(&g->k->reductions.at[r]);
    }
}
