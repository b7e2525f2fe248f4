/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_window.c - reads at computed elements that lie side by side.
 *
 * In: code in which places are affine (codegen/inside.h). Out: a window for all reads of one array
 * whose places differ by constants: w*, the elements that a thread's neighbours read of it, each
 * once. Where the window's leader is aligned, whole vectors of them are one access; only elements
 * that somebody reads are touched. */
#include <stdio.h>

#include "codegen/cuda/cuda_window.h"

enum { MOST_CHOICES = 4 }; /* inside of each other */

/* ---- finding them ---------------------------------------------------------------------------- */

void fc_cuda_windows_vary(const fc_cuda_gen *g, const uint8_t *known, unsigned axis,
                          uint8_t *varies) {
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (known[v]) continue;
        if (i->op == FC_OP_LOAD || i->op == FC_OP_INDEX)
            varies[v] = fc_class_move(g->cls, (uint32_t)i->imm, axis) != FC_MOVE_ZERO;
        for (int n = 0; n < fc_instr_arity(i); n++) varies[v] |= varies[fc_instr_operand(i, n)];
    }
}

/* Whether neighbours read neighbours: one index counts them, all else stays. */
static bool moves_by_one(const fc_cuda_gen *g, const uint8_t *varies, const fc_linear *f) {
    int64_t by = 0;
    for (unsigned i = 0; i < f->n; i++) {
        const fc_instr *of = &g->code.ins.at[f->term[i].of];
        if (!varies[f->term[i].of]) continue;
        if (of->op != FC_OP_INDEX ||
            fc_class_move(g->cls, (uint32_t)of->imm, g->np - 1) != FC_MOVE_ONE)
            return false;
        by += f->term[i].by;
    }
    return by == 1;
}

/* The same of a place that is picked from several, by what is the same for all neighbours. */
static bool chosen_moves_by_one(const fc_cuda_gen *g, const uint8_t *varies, fc_val v,
                                unsigned depth) {
    const fc_instr *i = &g->code.ins.at[v];
    fc_linear f = {0};
    if (i->op == FC_OP_where)
        return depth && !varies[i->a] && chosen_moves_by_one(g, varies, i->b, depth - 1) &&
               chosen_moves_by_one(g, varies, i->c, depth - 1);
    return fc_linear_add(&g->code, v, 1, &f) && moves_by_one(g, varies, &f);
}

static uint64_t bits(int64_t first, unsigned n) {
    return ((UINT64_C(1) << n) - 1) << first;
}

/* Whether the window takes `n` elements from `at` on, too. */
static bool takes(window *w, int64_t at, unsigned n) {
    const int64_t below = w->low - at, from = below > 0 ? 0 : -below;
    if (below > 0 && (below >= FC_WINDOW_MOST || w->used >> (FC_WINDOW_MOST - below))) return false;
    if (from + n > FC_WINDOW_MOST) return false;
    if (below > 0) {
        w->used <<= below;
        w->low = at;
    }
    w->used |= bits(from, n);
    return true;
}

static bool add(fc_cuda_gen *g, fc_val v, fc_linear *f) {
    struct fc_cuda_windows *x = g->windows;
    const fc_instr *i = &g->code.ins.at[v], *when = &g->code.ins.at[i->b];
    const unsigned n = g->cls->vector;
    window w = {.arg = (uint32_t)i->imm,
                .when = when->op == FC_OP_CONST && when->imm ? FC_NOVAL : i->b,
                .chosen = f->n ? FC_NOVAL : i->a,
                .low = f->constant,
                .used = bits(0, n),
                .dtype = i->dtype};
    const int64_t at = f->constant;
    f->constant = 0;
    w.leader = *f;
    size_t number = 0;
    for (; number < x->of.len; number++) {
        window *o = &x->of.at[number];
        if (o->arg == w.arg && o->when == w.when && o->chosen == w.chosen &&
            fc_linear_same_terms(&o->leader, f) && takes(o, at, n))
            break;
    }
    if (number == UINT16_MAX || (number == x->of.len && !fc_push(g->code.alloc, &x->of, w)))
        return false;
    x->place[v] = (place){.window = (uint16_t)(number + 1), .at = at};
    return true;
}

fusec_status fc_cuda_windows_find(fc_cuda_gen *g, const uint8_t *known, fc_error *e) {
    const fc_alloc *alloc = g->code.alloc;
    const size_t len = g->code.ins.len;
    struct fc_cuda_windows *x = g->windows = fc_calloc(alloc, 1, sizeof *x);
    if (!x) return fc_oom(e);
    x->place = fc_calloc(alloc, len + 1, sizeof *x->place);
    x->varies = fc_calloc(alloc, len + 1, 1);
    if (!x->place || !x->varies) return fc_oom(e);
    fc_cuda_windows_vary(g, known, g->np - 1u, x->varies);
    for (fc_val v = 0; v < len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        fc_linear f = {0};
        if (i->op != FC_OP_LOAD_AT || x->varies[i->b]) continue;
        if (!fc_linear_add(&g->code, i->a, 1, &f) || !moves_by_one(g, x->varies, &f)) {
            if (!chosen_moves_by_one(g, x->varies, i->a, MOST_CHOICES)) continue;
            f = (fc_linear){0};
        }
        if (!add(g, v, &f)) return fc_oom(e);
    }
    return FUSEC_OK;
}

void fc_cuda_windows_free(fc_cuda_gen *g) {
    struct fc_cuda_windows *x = g->windows;
    if (!x) return;
    fc_vec_free(g->code.alloc, &x->of);
    fc_vec_free(g->code.alloc, &x->stacks);
    fc_free(g->code.alloc, x->place);
    fc_free(g->code.alloc, x->varies);
    fc_free(g->code.alloc, x);
    g->windows = NULL;
}

bool fc_cuda_windows_any(const fc_cuda_gen *g) {
    return g->windows->of.len > 0;
}

bool fc_cuda_windowed(const fc_cuda_gen *g, fc_val v) {
    return g->windows && g->windows->place[v].window;
}

static const window *window_of(const fc_cuda_gen *g, fc_val v) {
    return &g->windows->of.at[g->windows->place[v].window - 1];
}

static void need_chosen(fc_cuda_gen *g, fc_val v) {
    const fc_instr *i = &g->code.ins.at[v];
    fc_linear f = {0};
    if (i->op == FC_OP_where) {
        g->need[i->a] = 1;
        need_chosen(g, i->b);
        need_chosen(g, i->c);
    } else if (fc_linear_add(&g->code, v, 1, &f)) {
        for (unsigned n = 0; n < f.n; n++) g->need[f.term[n].of] = 1;
    }
}

void fc_cuda_windows_need(fc_cuda_gen *g, fc_val v) {
    const window *w = window_of(g, v);
    for (unsigned i = 0; i < w->leader.n; i++) g->need[w->leader.term[i].of] = 1;
    if (w->chosen != FC_NOVAL) need_chosen(g, w->chosen);
    if (w->when != FC_NOVAL) g->need[w->when] = 1;
}

/* ---- text ------------------------------------------------------------------------------------ */

unsigned fc_cuda_window_length(const window *w) {
    unsigned n = 0;
    while (n < FC_WINDOW_MOST && w->used >> n) n++;
    return n;
}

/* Elements of the widest access from element k on, which lies at low + k: a whole vector, or a half
 * of one, all of which is read. */
static unsigned width_at(const fc_cuda_gen *g, const window *w, unsigned k) {
    unsigned n = g->cls->vector;
    if (n & (n - 1)) return 1;
    while (n > 1 &&
           ((w->low + k) % n || k + n > FC_WINDOW_MOST || (w->used & bits(k, n)) != bits(k, n)))
        n /= 2;
    return n;
}

static bool has_vectors(const fc_cuda_gen *g, const window *w) {
    for (unsigned k = 0; k < fc_cuda_window_length(w); k++)
        if (w->used >> k & 1 && width_at(g, w, k) > 1) return true;
    return false;
}

/* To which the leader has to be aligned. */
unsigned fc_cuda_window_bytes(const window *w, unsigned n) {
    const unsigned bytes = n * fc_dtypes[w->dtype].bytes;
    return bytes < 16 ? bytes : 16;
}

/* Appends where the first of the neighbours is in its array, without the constant. */
void fc_cuda_window_leader(fc_cuda_gen *g, const fc_linear *f) {
    for (unsigned i = 0; i < f->n; i++) {
        const fc_val of = f->term[i].of;
        const int64_t by = f->term[i].by;
        fc_str_add(g->t.out, i ? " + " : "");
        if (by != 1) fc_str_printf(g->t.out, "%lldll * ", (long long)by);
        if (g->windows->varies[of])
            fc_str_printf(g->t.out, "o%u", (unsigned)g->code.ins.at[of].imm);
        else
            fc_cuda_operand(&g->t, of);
    }
}

static void chosen(fc_cuda_gen *g, fc_val v) {
    const fc_instr *i = &g->code.ins.at[v];
    fc_linear f = {0};
    if (i->op == FC_OP_where) {
        fc_str_char(g->t.out, '(');
        fc_cuda_operand(&g->t, i->a);
        fc_str_add(g->t.out, " ? ");
        chosen(g, i->b);
        fc_str_add(g->t.out, " : ");
        chosen(g, i->c);
        fc_str_char(g->t.out, ')');
    } else if (fc_linear_add(&g->code, v, 1, &f)) {
        fc_cuda_window_leader(g, &f);
        if (f.constant) fc_str_printf(g->t.out, " + %lldll", (long long)f.constant);
    }
}

/* Of elements from `low` on, of which those in `used` are read, to `to`; they lie behind `from`. */
void fc_cuda_window_elements(fc_cuda_gen *g, const window *w, uint64_t used, bool vectors,
                             const char *to, const char *from) {
    const bool last = fc_cuda_windows_last(g);
    const char *type = fc_dtypes[w->dtype].cuda, *open = last ? "fc_load_last(" : "*",
               *close = last ? ")" : "";
    const window part = {.low = w->low, .used = used, .dtype = w->dtype};
    for (unsigned k = 0; k < FC_WINDOW_MOST && used >> k; k++) {
        const long long at = (long long)(w->low + k);
        const unsigned v = vectors ? width_at(g, &part, k) : 1;
        if (!(used >> k & 1)) continue;
        if (v > 1) {
            fc_cuda_line(&g->t, "fc_spread(%s + %u, %s(const fc_vec<%s, %u, %u> *)(%s + %lld)%s);",
                         to, k, open, type, v, fc_cuda_window_bytes(w, v), from, at, close);
            k += v - 1;
        } else {
            fc_cuda_line(&g->t, "%s[%u] = %s(%s + %lld)%s;", to, k, open, from, at, close);
        }
    }
}

static void load(fc_cuda_gen *g, unsigned number, bool vectors) {
    const window *w = &g->windows->of.at[number];
    char to[16], from[16];
    snprintf(to, sizeof to, "w%u", number);
    snprintf(from, sizeof from, "l%u", number);
    fc_cuda_window_elements(g, w, w->used, vectors, to, from);
}

/* Appends the address of what its constants count from. */
static void address(fc_cuda_gen *g, const window *w) {
    fc_str_printf(g->t.out, "a%u + (", (unsigned)w->arg);
    if (w->chosen == FC_NOVAL)
        fc_cuda_window_leader(g, &w->leader);
    else
        chosen(g, w->chosen);
    if (w->whole) fc_str_printf(g->t.out, " + %lldll", (long long)w->whole);
    fc_str_char(g->t.out, ')');
}

static void declare(fc_cuda_gen *g, unsigned number) {
    const window *w = &g->windows->of.at[number];
    const char *type = fc_dtypes[w->dtype].cuda;
    fc_cuda_line(&g->t, "%s w%u[%u]%s;", type, number, fc_cuda_window_length(w),
                 w->when == FC_NOVAL ? "" : " = {}");
    fc_cuda_indent(&g->t);
    fc_str_printf(g->t.out, "const %s *const l%u = ", type, number);
    address(g, w);
    fc_str_add(g->t.out, ";\n");
}

static bool is_needed(const fc_cuda_gen *g, unsigned number) {
    if (g->windows->together && g->windows->of.at[number].stack) return false;
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->need[v] && g->windows->place[v].window == number + 1) return true;
    return false;
}

static void load_all(fc_cuda_gen *g, bool vectors) {
    for (unsigned i = 0; i < g->windows->of.len; i++) {
        const window *w = &g->windows->of.at[i];
        if (!is_needed(g, i)) continue;
        if (w->when != FC_NOVAL) {
            fc_cuda_indent(&g->t);
            fc_str_add(g->t.out, "if (");
            fc_cuda_operand(&g->t, w->when);
            fc_str_add(g->t.out, ") {\n");
            g->t.depth++;
        }
        load(g, i, vectors);
        if (w->when != FC_NOVAL) fc_cuda_line(&g->t, "}");
    }
}

/* Whether all windows that have vectors are aligned for them. */
static bool test(fc_cuda_gen *g) {
    unsigned most = 1, n = 0;
    for (unsigned i = 0; i < g->windows->of.len; i++) {
        const window *w = &g->windows->of.at[i];
        const unsigned bytes = fc_cuda_window_bytes(w, g->cls->vector);
        if (!is_needed(g, i) || !has_vectors(g, w)) continue;
        if (!n) {
            fc_cuda_indent(&g->t);
            fc_str_add(g->t.out, "const bool fits = ((");
        }
        fc_str_printf(g->t.out, "%s(unsigned long long)l%u", n++ ? " | " : "", i);
        if (bytes > most) most = bytes;
    }
    if (n) fc_str_printf(g->t.out, ") & %u) == 0;\n", most - 1);
    return n > 0;
}

fc_val fc_cuda_window_row(const fc_cuda_gen *g, const window *w) {
    for (unsigned i = 0; i < w->leader.n; i++) {
        const fc_instr *of = &g->code.ins.at[w->leader.term[i].of];
        if (of->op != FC_OP_INDEX) continue;
        const fc_access *a = &g->k->accesses.at[of->imm];
        for (unsigned p = 0; p < w->leader.n && a->rank > 1; p++) {
            const fc_instr *by = &g->code.ins.at[w->leader.term[p].of];
            if (by->op == FC_OP_PARAM && g->k->params.at[by->imm].is_dim &&
                g->k->params.at[by->imm].source == a->shape[a->rank - 1])
                return w->leader.term[p].of;
        }
    }
    return FC_NOVAL;
}

/* Whether its place is a sum of indices and whole rows. */
static bool counts_indices(const fc_cuda_gen *g, const window *w) {
    const fc_val row = fc_cuda_window_row(g, w);
    for (unsigned t = 0; t < w->leader.n; t++)
        if (w->leader.term[t].of != row && g->code.ins.at[w->leader.term[t].of].op != FC_OP_INDEX)
            return false;
    return w->chosen == FC_NOVAL;
}

/* Of places that are hardly ever not aligned the text has vectors alone, and asks for it where it
 * asks for the bounds. */
bool fc_cuda_windows_even(const fc_cuda_gen *g) {
    bool any = false;
    for (unsigned i = 0; g->cls->cuda.even && g->windows && i < g->windows->of.len; i++) {
        const window *w = &g->windows->of.at[i];
        if (!has_vectors(g, w)) continue;
        if (!counts_indices(g, w)) return false;
        any = true;
    }
    return any;
}

void fc_cuda_windows_even_need(fc_cuda_gen *g) {
    for (unsigned i = 0; i < g->windows->of.len; i++) {
        const window *w = &g->windows->of.at[i];
        for (unsigned t = 0; t < w->leader.n && has_vectors(g, w); t++)
            fc_kernel_slice(&g->code, &w->leader.term[t].of, 1, g->need);
    }
}

void fc_cuda_windows_even_test(fc_cuda_gen *g) {
    unsigned most = 1, n = 0;
    for (unsigned i = 0; i < g->windows->of.len; i++) {
        const window *w = &g->windows->of.at[i];
        const unsigned bytes = fc_cuda_window_bytes(w, g->cls->vector);
        if (!has_vectors(g, w)) continue;
        fc_str_add(g->t.out, n++ ? " | (unsigned long long)(" : "(((unsigned long long)(");
        address(g, w);
        fc_str_char(g->t.out, ')');
        if (bytes > most) most = bytes;
    }
    fc_str_printf(g->t.out, ") & %u) == 0", most - 1);
}

void fc_cuda_windows_load(fc_cuda_gen *g) {
    if (!g->windows || g->windows->given) return;
    for (unsigned i = 0; i < g->windows->of.len; i++)
        if (is_needed(g, i)) declare(g, i);
    const bool even = fc_cuda_windows_even(g);
    if (even || !test(g)) {
        load_all(g, even);
        return;
    }
    fc_cuda_line(&g->t, "if (fits) {");
    load_all(g, true);
    fc_cuda_line(&g->t, "} else {");
    load_all(g, false);
    fc_cuda_line(&g->t, "}");
}

void fc_cuda_window_value(fc_cuda_gen *g, fc_val v) {
    const place *p = &g->windows->place[v];
    const window *w = window_of(g, v);
    char expr[64];
    if (g->windows->together && w->stack) {
        const stack *s = &g->windows->stacks.at[w->stack - 1];
        snprintf(expr, sizeof expr, "t%u[r + %u][e + %u]", (unsigned)w->stack - 1,
                 (unsigned)(w->row - s->low), (unsigned)(p->at - s->from));
    } else {
        snprintf(expr, sizeof expr, "w%u[e + %u]", (unsigned)p->window - 1,
                 (unsigned)(p->at - w->low));
    }
    fc_cuda_from_storage(&g->t, v, expr);
    g->local[v] = 1;
}
