/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_window.c - reads at computed elements that lie side by side.
 *
 * In: code in which places are affine (codegen/inside.h). Out: a window for all reads of one array
 * whose places differ by constants: w*, the elements that a thread's neighbours read of it, each
 * once. Where the window's leader is aligned, whole vectors of them are one access; only elements
 * that somebody reads are touched. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"
#include "codegen/linear.h"

enum { MOST = 64 }; /* elements of a window */

typedef struct window {
    uint32_t arg;
    fc_val when;      /* FC_NOVAL: always */
    fc_linear leader; /* without its constant */
    int64_t low;      /* of the constants */
    uint64_t used;    /* a bit for each element from low on */
    uint8_t dtype;
} window;

typedef struct place {
    uint16_t window; /* its number + 1 */
    int64_t at;      /* constant of the place */
} place;

struct fc_cuda_windows {
    FC_VEC(window) of;
    place *place;    /* [ins] */
    uint8_t *varies; /* [ins] along the neighbours */
};

/* ---- finding them ---------------------------------------------------------------------------- */

static void find_varying(const fc_cuda_gen *g, uint8_t *varies) {
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (i->op == FC_OP_LOAD || i->op == FC_OP_INDEX)
            varies[v] = fc_class_move(g->cls, (uint32_t)i->imm, g->np - 1) != FC_MOVE_ZERO;
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

static uint64_t bits(int64_t first, unsigned n) {
    return ((UINT64_C(1) << n) - 1) << first;
}

/* Whether the window takes `n` elements from `at` on, too. */
static bool takes(window *w, int64_t at, unsigned n) {
    const int64_t below = w->low - at, from = below > 0 ? 0 : -below;
    if (below > 0 && (below >= MOST || w->used >> (MOST - below))) return false;
    if (from + n > MOST) return false;
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
                .low = f->constant,
                .used = bits(0, n),
                .dtype = i->dtype};
    const int64_t at = f->constant;
    f->constant = 0;
    w.leader = *f;
    size_t number = 0;
    for (; number < x->of.len; number++) {
        window *o = &x->of.at[number];
        if (o->arg == w.arg && o->when == w.when && fc_linear_same_terms(&o->leader, f) &&
            takes(o, at, n))
            break;
    }
    if (number == UINT16_MAX || (number == x->of.len && !fc_push(g->code.alloc, &x->of, w)))
        return false;
    x->place[v] = (place){.window = (uint16_t)(number + 1), .at = at};
    return true;
}

fusec_status fc_cuda_windows_find(fc_cuda_gen *g, fc_error *e) {
    const fc_alloc *alloc = g->code.alloc;
    const size_t len = g->code.ins.len;
    struct fc_cuda_windows *x = g->windows = fc_calloc(alloc, 1, sizeof *x);
    if (!x) return fc_oom(e);
    x->place = fc_calloc(alloc, len + 1, sizeof *x->place);
    x->varies = fc_calloc(alloc, len + 1, 1);
    if (!x->place || !x->varies) return fc_oom(e);
    find_varying(g, x->varies);
    for (fc_val v = 0; v < len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        fc_linear f = {0};
        if (i->op != FC_OP_LOAD_AT || x->varies[i->b] || !fc_linear_add(&g->code, i->a, 1, &f) ||
            !moves_by_one(g, x->varies, &f))
            continue;
        if (!add(g, v, &f)) return fc_oom(e);
    }
    return FUSEC_OK;
}

void fc_cuda_windows_free(fc_cuda_gen *g) {
    struct fc_cuda_windows *x = g->windows;
    if (!x) return;
    fc_vec_free(g->code.alloc, &x->of);
    fc_free(g->code.alloc, x->place);
    fc_free(g->code.alloc, x->varies);
    fc_free(g->code.alloc, x);
    g->windows = NULL;
}

bool fc_cuda_windowed(const fc_cuda_gen *g, fc_val v) {
    return g->windows && g->windows->place[v].window;
}

static const window *window_of(const fc_cuda_gen *g, fc_val v) {
    return &g->windows->of.at[g->windows->place[v].window - 1];
}

void fc_cuda_windows_need(fc_cuda_gen *g, fc_val v) {
    const window *w = window_of(g, v);
    for (unsigned i = 0; i < w->leader.n; i++) g->need[w->leader.term[i].of] = 1;
    if (w->when != FC_NOVAL) g->need[w->when] = 1;
}

/* ---- text ------------------------------------------------------------------------------------ */

static unsigned length(const window *w) {
    unsigned n = 0;
    while (n < MOST && w->used >> n) n++;
    return n;
}

/* Elements of the widest access from element k on, which lies at low + k: a whole vector, or a half
 * of one, all of which is read. */
static unsigned width_at(const fc_cuda_gen *g, const window *w, unsigned k) {
    unsigned n = g->cls->vector;
    if (n & (n - 1)) return 1;
    while (n > 1 && ((w->low + k) % n || k + n > MOST || (w->used & bits(k, n)) != bits(k, n)))
        n /= 2;
    return n;
}

static bool has_vectors(const fc_cuda_gen *g, const window *w) {
    for (unsigned k = 0; k < length(w); k++)
        if (w->used >> k & 1 && width_at(g, w, k) > 1) return true;
    return false;
}

/* To which the leader has to be aligned. */
static unsigned bytes_of(const window *w, unsigned n) {
    const unsigned bytes = n * fc_dtypes[w->dtype].bytes;
    return bytes < 16 ? bytes : 16;
}

/* Appends where the first of the neighbours is in its array, without the constant. */
static void leader(fc_cuda_gen *g, const window *w) {
    for (unsigned i = 0; i < w->leader.n; i++) {
        const fc_val of = w->leader.term[i].of;
        const int64_t by = w->leader.term[i].by;
        fc_str_add(g->t.out, i ? " + " : "");
        if (by != 1) fc_str_printf(g->t.out, "%lldll * ", (long long)by);
        if (g->windows->varies[of])
            fc_str_printf(g->t.out, "o%u", (unsigned)g->code.ins.at[of].imm);
        else
            fc_cuda_operand(&g->t, of);
    }
}

static void load(fc_cuda_gen *g, unsigned number, bool vectors) {
    const window *w = &g->windows->of.at[number];
    const unsigned n = length(w);
    for (unsigned k = 0; k < n; k++) {
        const long long at = (long long)(w->low + k);
        const unsigned v = vectors ? width_at(g, w, k) : 1;
        if (!(w->used >> k & 1)) continue;
        if (v > 1) {
            fc_cuda_line(&g->t, "fc_spread(w%u + %u, *(const fc_vec<%s, %u, %u> *)(l%u + %lld));",
                         number, k, fc_dtypes[w->dtype].cuda, v, bytes_of(w, v), number, at);
            k += v - 1;
        } else {
            fc_cuda_line(&g->t, "w%u[%u] = l%u[%lld];", number, k, number, at);
        }
    }
}

static void declare(fc_cuda_gen *g, unsigned number) {
    const window *w = &g->windows->of.at[number];
    const char *type = fc_dtypes[w->dtype].cuda;
    fc_cuda_line(&g->t, "%s w%u[%u]%s;", type, number, length(w),
                 w->when == FC_NOVAL ? "" : " = {}");
    fc_cuda_indent(&g->t);
    fc_str_printf(g->t.out, "const %s *const l%u = a%u + (", type, number, (unsigned)w->arg);
    leader(g, w);
    fc_str_add(g->t.out, ");\n");
}

static bool is_needed(const fc_cuda_gen *g, unsigned number) {
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
        const unsigned bytes = bytes_of(w, g->cls->vector);
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

void fc_cuda_windows_load(fc_cuda_gen *g) {
    if (!g->windows) return;
    for (unsigned i = 0; i < g->windows->of.len; i++)
        if (is_needed(g, i)) declare(g, i);
    if (!test(g)) {
        load_all(g, false);
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
    char expr[40];
    snprintf(expr, sizeof expr, "w%u[e + %u]", (unsigned)p->window - 1, (unsigned)(p->at - w->low));
    fc_cuda_from_storage(&g->t, v, expr);
    g->local[v] = 1;
}
