/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_stack.c - windows (cuda_window.c) that differ by rows of their array.
 *
 * In: windows, and so many rows of the nest that a thread does together. Out: t*, what all of those
 * rows read, each row of the array once. That the next row of the nest reads the next row of the
 * array is tested when it runs: an index moves by a word of the parameter block, and a row is as
 * long as another one says. */
#include <stdio.h>

#include "codegen/cuda/cuda_window.h"

enum { MOST_ROWS = 32 }; /* of a stack */

/* Whether from row to row nothing but indices changes in a form: what they move by is tested when
 * it runs, all else is asked for at one row. `down`: what changes. */
static bool moves_evenly(const fc_cuda_gen *g, const uint8_t *down, const fc_linear *f) {
    for (unsigned i = 0; i < f->n; i++)
        if (down[f->term[i].of] && g->code.ins.at[f->term[i].of].op != FC_OP_INDEX) return false;
    return true;
}

/* Whether what holds at the first and the last of some rows holds at those between. */
static bool is_interval(const fc_cuda_gen *g, const uint8_t *down, fc_val v) {
    const fc_instr *i = &g->code.ins.at[v];
    fc_linear f = {0};
    if (!down[v]) return true;
    switch (i->op) {
    case FC_OP_logical_and: return is_interval(g, down, i->a) && is_interval(g, down, i->b);
    case FC_OP_lt:
    case FC_OP_le:
    case FC_OP_gt:
    case FC_OP_ge:
        return fc_linear_add(&g->code, i->a, 1, &f) && fc_linear_add(&g->code, i->b, -1, &f) &&
               moves_evenly(g, down, &f);
    default: return false;
    }
}

static bool may_stack(const fc_cuda_gen *g, const uint8_t *down, const window *w) {
    return w->chosen == FC_NOVAL && moves_evenly(g, down, &w->leader) &&
           (w->when == FC_NOVAL || is_interval(g, down, w->when));
}

/* The row that the middle of a window is nearest to. */
static int64_t nearest_row(const window *w, int64_t length) {
    const int64_t at = w->low + (int64_t)fc_cuda_window_length(w) / 2 + length / 2;
    return at / length - (at % length < 0);
}

/* Whether windows of one array, whose places differ by constants, are where rows of this length
 * would have them: in more than one, and near their beginnings. */
static bool are_rows(const fc_cuda_gen *g, const window *first, int64_t length) {
    bool several = false;
    for (size_t i = 0; i < g->windows->of.len; i++) {
        const window *w = &g->windows->of.at[i];
        if (w->arg != first->arg || !fc_linear_same_terms(&w->leader, &first->leader)) continue;
        const int64_t row = nearest_row(w, length), rest = w->low - row * length;
        if (w->chosen != FC_NOVAL || w->whole || rest <= -FC_WINDOW_MOST || rest >= FC_WINDOW_MOST)
            return false;
        several |= row != nearest_row(first, length);
    }
    return several;
}

/* Puts the whole rows of these windows' places aside. */
static void take_rows(fc_cuda_gen *g, const window *first, int64_t length) {
    struct fc_cuda_windows *x = g->windows;
    const fc_linear leader = first->leader;
    const uint32_t arg = first->arg;
    for (size_t i = 0; i < x->of.len; i++) {
        window *w = &x->of.at[i];
        if (w->arg != arg || !fc_linear_same_terms(&w->leader, &leader)) continue;
        w->whole = nearest_row(w, length) * length;
        w->low -= w->whole;
        for (fc_val v = 0; v < g->code.ins.len; v++)
            if (x->place[v].window == i + 1) x->place[v].at -= w->whole;
    }
}

/* Where a row is as long as the program says: one of the constants by which indices are multiplied.
 * 0: there is none. */
static int64_t constant_row(fc_cuda_gen *g, const window *w, const fc_code *edges) {
    for (fc_val v = 0; v < edges->ins.len; v++) {
        const fc_instr *i = &edges->ins.at[v];
        if (i->op != FC_OP_mul || i->dtype != FUSEC_I64) continue;
        for (int n = 0; n < 2; n++) {
            const fc_instr *by = &edges->ins.at[fc_instr_operand(i, n)];
            const int64_t length = (int64_t)by->imm;
            if (by->op != FC_OP_CONST || length <= FC_WINDOW_MOST || length > INT32_MAX ||
                !are_rows(g, w, length))
                continue;
            take_rows(g, w, length);
            return length;
        }
    }
    return 0;
}

/* Takes a term out of a form; how often it was there. */
static int64_t without(fc_linear *f, fc_val of) {
    int64_t by = 0;
    unsigned n = 0;
    for (unsigned i = 0; i < f->n; i++)
        if (f->term[i].of == of)
            by = f->term[i].by;
        else
            f->term[n++] = f->term[i];
    f->n = n;
    return by;
}

/* The row of its array that a window of a stack lies in. */
static int64_t row_in(const stack *s, const window *w) {
    fc_linear f = w->leader;
    return s->by == FC_NOVAL ? w->whole / s->length : without(&f, s->by);
}

static bool same_stack(const window *a, const window *b, fc_val by) {
    fc_linear x = a->leader, y = b->leader;
    (void)without(&x, by);
    (void)without(&y, by);
    return a->arg == b->arg && b->chosen == FC_NOVAL && fc_linear_same_terms(&x, &y);
}

/* All windows of the stack of window `first`. */
static void fill_stack(fc_cuda_gen *g, const uint8_t *down, uint32_t number) {
    struct fc_cuda_windows *x = g->windows;
    stack *s = &x->stacks.at[number];
    for (size_t i = 0; i < x->of.len; i++) {
        window *w = &x->of.at[i];
        if (w->stack || !same_stack(&x->of.at[s->first], w, s->by) || !may_stack(g, down, w))
            continue;
        const int64_t row = row_in(s, w), low = row < s->low ? row : s->low,
                      high = row > s->high ? row : s->high, own = w->low + fc_cuda_window_length(w),
                      from = w->low < s->from ? w->low : s->from, end = own > s->end ? own : s->end;
        if (high - low >= MOST_ROWS || end - from > FC_WINDOW_MOST) continue;
        w->stack = (uint16_t)(number + 1);
        w->row = row;
        s->low = low;
        s->high = high;
        s->from = from;
        s->end = end;
    }
}

static bool find(fc_cuda_gen *g, const uint8_t *down, const fc_code *edges) {
    struct fc_cuda_windows *x = g->windows;
    for (uint32_t i = 0; i < x->of.len; i++) {
        const window *w = &x->of.at[i];
        if (w->stack || !may_stack(g, down, w)) continue;
        stack s = {.first = i, .by = fc_cuda_window_row(g, w)};
        if (s.by == FC_NOVAL) s.length = constant_row(g, w, edges);
        if (s.by == FC_NOVAL && !s.length) continue;
        s.low = s.high = row_in(&s, w);
        s.from = s.end = w->low;
        if (!fc_push(g->code.alloc, &x->stacks, s)) return false;
        fill_stack(g, down, (uint32_t)x->stacks.len - 1);
    }
    return true;
}

fusec_status fc_cuda_stacks_find(fc_cuda_gen *g, const uint8_t *known, const fc_code *edges,
                                 fc_error *e) {
    if (!g->cls->cuda.rows_in_turn) return FUSEC_OK;
    uint8_t *down = fc_calloc(g->code.alloc, g->code.ins.len + 1, 1);
    if (!down) return fc_oom(e);
    fc_cuda_windows_vary(g, known, g->np - 2u, down);
    const bool found = find(g, down, edges);
    fc_free(g->code.alloc, down);
    return found ? FUSEC_OK : fc_oom(e);
}

/* ---- text ------------------------------------------------------------------------------------ */

bool fc_cuda_windows_stacked(const fc_cuda_gen *g) {
    return g->windows && g->windows->stacks.len;
}

void fc_cuda_windows_together(fc_cuda_gen *g, bool yes) {
    g->windows->together = yes;
}

void fc_cuda_windows_stack_need(fc_cuda_gen *g) {
    for (size_t i = 0; i < g->windows->stacks.len; i++) {
        const stack *s = &g->windows->stacks.at[i];
        const fc_linear *f = &g->windows->of.at[s->first].leader;
        if (s->by != FC_NOVAL) fc_kernel_slice(&g->code, &s->by, 1, g->need);
        for (unsigned t = 0; t < f->n; t++) fc_kernel_slice(&g->code, &f->term[t].of, 1, g->need);
    }
    for (size_t i = 0; i < g->windows->of.len; i++) {
        const window *w = &g->windows->of.at[i];
        if (w->stack && w->when != FC_NOVAL) fc_kernel_slice(&g->code, &w->when, 1, g->need);
    }
}

static void row_length(fc_cuda_gen *g, const stack *s) {
    if (s->by == FC_NOVAL)
        fc_str_printf(g->t.out, "%lldll", (long long)s->length);
    else
        fc_cuda_operand(&g->t, s->by);
}

/* Whether the next row of the nest reads the next row of the array, which is what an index moves
 * by; and whether what is read on a condition is read. */
void fc_cuda_windows_stack_test(fc_cuda_gen *g) {
    for (size_t i = 0; i < g->windows->stacks.len; i++) {
        const stack *s = &g->windows->stacks.at[i];
        const fc_linear *f = &g->windows->of.at[s->first].leader;
        fc_cuda_indent(&g->t);
        fc_str_add(g->t.out, "every = every && ");
        row_length(g, s);
        fc_str_add(g->t.out, " == 0");
        for (unsigned t = 0; t < f->n; t++) {
            const fc_instr *of = &g->code.ins.at[f->term[t].of];
            if (of->op != FC_OP_INDEX) continue;
            const fc_move move = fc_class_move(g->cls, (uint32_t)of->imm, g->np - 2);
            if (move == FC_MOVE_ONE) fc_str_printf(g->t.out, " + %lldll", (long long)f->term[t].by);
            if (move == FC_MOVE_ANY)
                fc_str_printf(g->t.out, " + %lldll * (long long)p.w[%u]", (long long)f->term[t].by,
                              fc_cuda_word(g, (uint32_t)of->imm) + 1 + g->np - 2);
        }
        fc_str_add(g->t.out, ";\n");
    }
    for (size_t i = 0; i < g->windows->of.len; i++) {
        const window *w = &g->windows->of.at[i];
        if (!w->stack || w->when == FC_NOVAL) continue;
        fc_cuda_indent(&g->t);
        fc_str_add(g->t.out, "every = every && ");
        fc_cuda_operand(&g->t, w->when);
        fc_str_add(g->t.out, ";\n");
    }
}

static unsigned stack_rows(const stack *s, unsigned rows) {
    return (unsigned)(s->high - s->low) + rows;
}

/* What somebody reads of row `row` of the stack, from its `from` on. */
static uint64_t used_of_row(const fc_cuda_gen *g, uint32_t number, unsigned row, unsigned rows) {
    const stack *s = &g->windows->stacks.at[number];
    uint64_t used = 0;
    for (size_t i = 0; i < g->windows->of.len; i++) {
        const window *w = &g->windows->of.at[i];
        if (w->stack != number + 1) continue;
        const int64_t turn = (int64_t)row - (w->row - s->low);
        if (turn >= 0 && turn < (int64_t)rows) used |= w->used << (w->low - s->from);
    }
    return used;
}

static unsigned stack_length(const fc_cuda_gen *g, uint32_t number, unsigned rows) {
    uint64_t all = 0;
    unsigned n = 0;
    for (unsigned r = 0; r < stack_rows(&g->windows->stacks.at[number], rows); r++)
        all |= used_of_row(g, number, r, rows);
    while (n < FC_WINDOW_MOST && all >> n) n++;
    return n;
}

void fc_cuda_windows_stack_declare(fc_cuda_gen *g, unsigned rows) {
    for (uint32_t i = 0; i < g->windows->stacks.len; i++) {
        const stack *s = &g->windows->stacks.at[i];
        fc_cuda_line(&g->t, "%s t%u[%u][%u];", fc_dtypes[g->windows->of.at[s->first].dtype].cuda,
                     (unsigned)i, stack_rows(s, rows), stack_length(g, i, rows));
    }
}

static void load_stack(fc_cuda_gen *g, uint32_t number, unsigned rows, bool vectors) {
    const stack *s = &g->windows->stacks.at[number];
    window w = g->windows->of.at[s->first];
    w.low = s->from;
    for (unsigned r = 0; r < stack_rows(s, rows); r++) {
        char to[24], from[40];
        snprintf(to, sizeof to, "t%u[%u]", (unsigned)number, r);
        snprintf(from, sizeof from, "l + %lldll * by", (long long)(s->low + r));
        fc_cuda_window_elements(g, &w, used_of_row(g, number, r, rows), vectors, to, from);
    }
}

/* Where the place of the first row is known. */
void fc_cuda_windows_stack_load(fc_cuda_gen *g, unsigned rows) {
    for (uint32_t i = 0; i < g->windows->stacks.len; i++) {
        const stack *s = &g->windows->stacks.at[i];
        const window *w = &g->windows->of.at[s->first];
        const unsigned each = fc_dtypes[w->dtype].bytes;
        fc_linear f = w->leader;
        (void)without(&f, s->by);
        fc_cuda_line(&g->t, "{");
        fc_cuda_indent(&g->t);
        fc_str_add(g->t.out, "const long long by = ");
        row_length(g, s);
        fc_str_printf(g->t.out, ";\n");
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "const %s *const l = a%u + (", fc_dtypes[w->dtype].cuda,
                      (unsigned)w->arg);
        fc_cuda_window_leader(g, &f);
        fc_str_add(g->t.out, ");\n");
        fc_cuda_line(&g->t,
                     "if ((((unsigned long long)l | (unsigned long long)by * %u) & %u) == 0) {",
                     each, fc_cuda_window_bytes(w, g->cls->vector) - 1);
        load_stack(g, i, rows, true);
        fc_cuda_line(&g->t, "} else {");
        load_stack(g, i, rows, false);
        fc_cuda_line(&g->t, "}");
        fc_cuda_line(&g->t, "}");
    }
}
