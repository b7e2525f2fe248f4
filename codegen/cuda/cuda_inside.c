/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_inside.c - maps whose reads may meet an edge, in two texts.
 *
 * In: the code of codegen/inside.h for vectors. Out: for each vector of a thread
 *
 *     bool plain = true;
 *     {
 *         the bounds, at the first and the last element
 *         if (all that is asked for holds)
 *             the code without bounds, with its reads side by side (cuda_window.c)
 *     }
 *     if (plain) the kernel's own code
 *
 * so that only warps at an edge run both. The second text is for one element, in a loop that stays
 * one: 4 times 13 remainders side by side took 188 registers, which all of the kernel then had to
 * have. Elements that lie apart are vectors of one. The two texts have names of their own, v0 and
 * so on, as they are in scopes of their own.
 *
 * Rows that a thread does together, as they read some rows of an array that are the same (stacks of
 * windows), have one more text, for where all of them are inside. What is affine holds for all rows
 * if it does for the first and the last one. */
#include "codegen/cuda/cuda.h"
#include "codegen/inside.h"
#include "ir/plant.h"

struct fc_cuda_inside {
    fc_inside in;
    fc_kernel kernel; /* with that code; all else is borrowed */
    fc_cuda_gen g;    /* of it */
};

/* ---- making it ------------------------------------------------------------------------------- */

/* Quick code, whose elements come one after the other, has one text. */
static bool may_have_two(const fc_cuda_gen *g) {
    const bool quick = g->cls->vector == 1 && g->cls->cuda.repeat > 1;
    return !quick && !g->k->updates.len && !g->cls->cuda.copied && !g->cls->alike;
}

static bool borrow(fc_cuda_gen *g, struct fc_cuda_inside *x) {
    const size_t n = g->k->stores.len;
    x->kernel = *g->k;
    x->kernel.code = x->in.code;
    x->kernel.stores.at = fc_calloc(g->code.alloc, n + 1, sizeof(fc_store));
    if (!x->kernel.stores.at) return false;
    for (size_t i = 0; i < n; i++) {
        x->kernel.stores.at[i] = g->k->stores.at[i];
        x->kernel.stores.at[i].value = x->in.map[g->k->stores.at[i].value];
    }
    return true;
}

fusec_status fc_cuda_inside_init(fc_cuda_gen *g, fc_error *e) {
    if (!may_have_two(g)) return FUSEC_OK;
    struct fc_cuda_inside *x = g->inside = fc_calloc(g->code.alloc, 1, sizeof *x);
    if (!x) return fc_oom(e);
    const fusec_status st =
        fc_inside_make(g->k, g->cls, g->np - 1, FC_INSIDE_VECTORS, g->code.alloc, &x->in);
    if (st != FUSEC_OK) return fc_fail(e, st, "the code of a kernel inside of its edges");
    if (!x->in.map) { /* not worth it */
        fc_cuda_inside_free(g);
        return FUSEC_OK;
    }
    if (!borrow(g, x)) return fc_oom(e);
    FC_TRY(fc_cuda_gen_init(&x->g, &x->kernel, g->cls, g->t.out, e));
    uint8_t *known = fc_calloc(g->code.alloc, x->g.code.ins.len + 1, 1);
    if (!known) return fc_oom(e);
    for (size_t i = 0; i < x->in.bounds.len; i++)
        if (x->in.bounds.at[i].value != FC_NOVAL) known[x->g.map[x->in.bounds.at[i].value]] = 1;
    fusec_status found = fc_cuda_windows_find(&x->g, known, e);
    if (!found) found = fc_cuda_stacks_find(&x->g, known, &g->k->code, e);
    fc_free(g->code.alloc, known);
    if (found == FUSEC_OK && !x->in.bounds.len && !fc_cuda_windows_any(&x->g))
        fc_cuda_inside_free(g);
    return found;
}

void fc_cuda_inside_free(fc_cuda_gen *g) {
    struct fc_cuda_inside *x = g->inside;
    const fc_alloc *alloc = g->code.alloc;
    if (!x) return;
    if (x->g.code.alloc) fc_cuda_gen_free(&x->g);
    fc_free(alloc, x->kernel.stores.at);
    fc_inside_free(&x->in);
    fc_free(alloc, x);
    g->inside = NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool is_known(const fc_inside_bound *b) {
    return b->value != FC_NOVAL;
}

/* What g->need asks of accesses. */
static void use_needed(fc_cuda_gen *g) {
    memset(g->used, 0, g->k->accesses.len);
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (g->need[v] && i->op == FC_OP_LOAD) g->used[i->imm] |= FC_CUDA_LOADS;
        if (g->need[v] && i->op == FC_OP_INDEX) g->used[i->imm] |= FC_CUDA_INDEXES;
    }
}

/* What bounds and conditions are made from. */
static void slice(struct fc_cuda_inside *x) {
    fc_cuda_gen *g = &x->g;
    memset(g->need, 0, g->code.ins.len);
    for (size_t i = 0; i < x->in.bounds.len; i++) {
        const fc_inside_bound *b = &x->in.bounds.at[i];
        const fc_val root = g->map[is_known(b) ? b->value : b->number];
        fc_kernel_slice(&g->code, &root, 1, g->need);
    }
    for (size_t i = 0; i < x->in.needed.len; i++) {
        const fc_val root = g->map[x->in.needed.at[i]];
        fc_kernel_slice(&g->code, &root, 1, g->need);
    }
    if (fc_cuda_windows_even(g)) fc_cuda_windows_even_need(g);
    use_needed(g);
}

/* Appends a number of the last element of the group, or the first. */
static void number(const struct fc_cuda_inside *x, const fc_cuda_group *gr,
                   const fc_inside_bound *b, bool last) {
    fc_str_printf(x->g.t.out, "v%u", (unsigned)x->g.map[b->number]);
    if (last && b->slope)
        fc_str_printf(x->g.t.out, " + %d", b->slope * (gr->n - FC_PLANT(edge_inside, 2, 1)));
}

static void and_then(const struct fc_cuda_inside *x, bool *any) {
    fc_str_add(x->g.t.out, *any ? " && " : "inside = ");
    *any = true;
}

/* inside = ...: that all elements exist and all that is asked for holds at each. */
static void test(struct fc_cuda_inside *x, const fc_cuda_group *gr) {
    fc_cuda_text *t = &x->g.t;
    bool any = false;
    fc_cuda_indent(t);
    if (gr->limit) {
        and_then(x, &any);
        fc_str_printf(t->out, "%s + %d <= %s", gr->number, gr->n, gr->limit);
    }
    for (size_t i = 0; i < x->in.bounds.len; i++) {
        const fc_inside_bound *b = &x->in.bounds.at[i];
        and_then(x, &any);
        if (is_known(b)) fc_str_printf(t->out, "v%u == (", (unsigned)x->g.map[b->value]);
        number(x, gr, b, is_known(b) || b->slope < 0);
        fc_str_add(t->out, is_known(b) ? " >= 0)" : " >= 0");
    }
    for (size_t i = 0; i < x->in.needed.len; i++) {
        and_then(x, &any);
        fc_cuda_operand(t, x->g.map[x->in.needed.at[i]]);
    }
    if (fc_cuda_windows_even(&x->g)) {
        and_then(x, &any);
        fc_cuda_windows_even_test(&x->g);
    }
    fc_str_add(t->out, any ? ";\n" : "inside = true;\n");
}

/* What is known of the vector has the names of its values from here on. */
static void know(struct fc_cuda_inside *x, bool after) {
    for (size_t i = 0; i < x->in.bounds.len; i++) {
        const fc_inside_bound *b = &x->in.bounds.at[i];
        if (!is_known(b)) continue;
        const unsigned v = (unsigned)x->g.map[b->value];
        fc_cuda_line(&x->g.t, after ? "const bool v%u = k%u;" : "k%u = v%u;",
                     after ? v : (unsigned)i, after ? (unsigned)i : v);
        x->g.done[v] = after;
    }
}

/* One element after the other, as few registers as that takes: `compute` is what is done with each.
 */
static void in_turn(fc_cuda_gen *g, const fc_cuda_group *gr,
                    void (*compute)(fc_cuda_gen *, const fc_cuda_group *)) {
    const fc_cuda_group one = {
        .n = 1, .step = 1, .first = gr->first, .end = gr->end, .number = "m", .slot = ""};
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (int s = 0; s < %d; s++) {", gr->n);
    fc_cuda_line(&g->t, "const ix m = %s + s * %d;", gr->number, gr->step);
    fc_cuda_line(&g->t, gr->limit ? "if (m < %s) {" : "{", gr->limit);
    fc_cuda_group_declare(g, &one, 0, false);
    fc_cuda_group_load(g, &one, false);
    compute(g, &one);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
}

void fc_cuda_inside_elements(fc_cuda_gen *g, const fc_cuda_group *gr) {
    in_turn(g, gr, fc_cuda_inside_compute);
}

static void at_the_edge(fc_cuda_gen *g, const fc_cuda_group *gr) {
    fc_cuda_group_compute(g, gr, FC_CUDA_STORES);
}

/* Whether nothing is asked for: all elements exist, and no read may meet an edge. */
static bool is_always_inside(const struct fc_cuda_inside *x, const fc_cuda_group *gr) {
    return !gr->limit && !x->in.bounds.len && !x->in.needed.len && !fc_cuda_windows_even(&x->g);
}

static void compute_inside(struct fc_cuda_inside *x, const fc_cuda_group *whole) {
    fc_cuda_slice(&x->g, FC_CUDA_STORES, FC_POINT);
    fc_cuda_group_compute(&x->g, whole, FC_CUDA_STORES);
    memset(x->g.done, 0, x->g.code.ins.len);
}

void fc_cuda_inside_compute(fc_cuda_gen *g, const fc_cuda_group *gr) {
    struct fc_cuda_inside *x = g->inside;
    fc_cuda_group whole = *gr;
    whole.limit = NULL;
    if (is_always_inside(x, gr)) {
        fc_cuda_line(&g->t, "{");
        x->g.t.depth = g->t.depth;
        fc_cuda_parameters(&x->g);
        compute_inside(x, &whole);
        fc_cuda_line(&x->g.t, "}");
        g->t.depth = x->g.t.depth;
        return;
    }
    fc_cuda_line(&g->t, "bool plain = true;");
    fc_cuda_line(&g->t, "{");
    x->g.t.depth = g->t.depth;
    fc_cuda_parameters(&x->g);
    fc_cuda_line(&x->g.t, "bool inside;");
    for (size_t i = 0; i < x->in.bounds.len; i++)
        if (is_known(&x->in.bounds.at[i])) fc_cuda_line(&x->g.t, "bool k%u;", (unsigned)i);
    fc_cuda_line(&x->g.t, "{");
    slice(x);
    fc_cuda_group_first(&x->g, &whole);
    know(x, false);
    test(x, gr);
    fc_cuda_line(&x->g.t, "}");
    fc_cuda_line(&x->g.t, "if (inside) {");
    know(x, true);
    compute_inside(x, &whole);
    fc_cuda_line(&x->g.t, "plain = false;");
    fc_cuda_line(&x->g.t, "}");
    fc_cuda_line(&x->g.t, "}");
    g->t.depth = x->g.t.depth;
    fc_cuda_line(&g->t, "if (plain) {");
    if (gr->n > 1)
        in_turn(g, gr, at_the_edge);
    else
        at_the_edge(g, gr);
    fc_cuda_line(&g->t, "}");
}

/* ---- rows together --------------------------------------------------------------------------- */

bool fc_cuda_inside_stacked(const fc_cuda_gen *g) {
    return g->inside && fc_cuda_windows_stacked(&g->inside->g) && g->cls->cuda.repeat == 1;
}

void fc_cuda_inside_rows_begin(fc_cuda_gen *g) {
    struct fc_cuda_inside *x = g->inside;
    x->g.t.depth = g->t.depth;
    fc_cuda_parameters(&x->g);
    for (size_t i = 0; i < x->in.bounds.len; i++)
        if (is_known(&x->in.bounds.at[i])) fc_cuda_line(&x->g.t, "bool k%u = false;", (unsigned)i);
}

void fc_cuda_inside_rows_end(fc_cuda_gen *g) {
    memset(g->inside->g.done, 0, g->inside->g.code.ins.len);
}

/* What is known of the vector is the same at both rows. */
void fc_cuda_inside_rows_test(fc_cuda_gen *g, const fc_cuda_group *gr) {
    struct fc_cuda_inside *x = g->inside;
    x->g.t.depth = g->t.depth;
    fc_cuda_line(&x->g.t, "bool inside;");
    slice(x);
    fc_cuda_windows_stack_need(&x->g);
    use_needed(&x->g);
    fc_cuda_group_first(&x->g, gr);
    test(x, gr);
    fc_cuda_line(&x->g.t, "every = inside;");
    for (size_t i = 0; i < x->in.bounds.len; i++) {
        if (!is_known(&x->in.bounds.at[i])) continue;
        const unsigned v = (unsigned)x->g.map[x->in.bounds.at[i].value];
        fc_cuda_line(&x->g.t, "every = every && (r == 0 || k%u == v%u);", (unsigned)i, v);
        fc_cuda_line(&x->g.t, "k%u = v%u;", (unsigned)i, v);
    }
    fc_cuda_windows_stack_test(&x->g);
    g->t.depth = x->g.t.depth;
}

void fc_cuda_inside_rows_declare(fc_cuda_gen *g, unsigned rows) {
    struct fc_cuda_inside *x = g->inside;
    x->g.t.depth = g->t.depth;
    fc_cuda_windows_stack_declare(&x->g, rows);
}

void fc_cuda_inside_rows_load(fc_cuda_gen *g, const fc_cuda_group *gr, unsigned rows) {
    struct fc_cuda_inside *x = g->inside;
    x->g.t.depth = g->t.depth;
    memset(x->g.need, 0, x->g.code.ins.len);
    fc_cuda_windows_stack_need(&x->g);
    use_needed(&x->g);
    fc_cuda_group_first(&x->g, gr);
    fc_cuda_windows_stack_load(&x->g, rows);
    g->t.depth = x->g.t.depth;
}

void fc_cuda_inside_rows_compute(fc_cuda_gen *g, const fc_cuda_group *gr) {
    struct fc_cuda_inside *x = g->inside;
    fc_cuda_group whole = *gr;
    whole.limit = NULL;
    x->g.t.depth = g->t.depth;
    know(x, true);
    fc_cuda_slice(&x->g, FC_CUDA_STORES, FC_POINT);
    fc_cuda_windows_together(&x->g, true);
    fc_cuda_group_compute(&x->g, &whole, FC_CUDA_STORES);
    fc_cuda_windows_together(&x->g, false);
    g->t.depth = x->g.t.depth;
}
