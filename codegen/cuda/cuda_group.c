/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_group.c - the innermost part of every schedule: a few elements of one thread.
 *
 * In: a group (which elements, along which axes, up to where) and the slice in g->need. Out: all
 * its loads, then its code once for what is equal at all elements and in an unrolled loop over e
 * for the rest, then steps of reductions or stores. Values of earlier scopes (g->done) are used by
 * name.
 *
 * Three ways an access meets a group: it stays (one load for all elements), it is wide (neighbours
 * in memory, one access of up to 16 bytes) or each element has its own place. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"

typedef enum way { STAYS, WIDE, EACH } way;
typedef struct name {
    char text[24];
} name;

/* The axis that elements are neighbours along. */
static uint32_t element_axis(const fc_cuda_gen *g, const fc_cuda_group *gr) {
    return gr->across ? g->np - 1 : gr->end - 1;
}

static bool moves(const fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t access) {
    uint32_t axis = element_axis(g, gr);
    for (uint32_t x = gr->own ? gr->first : axis; x <= axis; x++)
        if (fc_class_move(g->cls, access, x) != FC_MOVE_ZERO) return true;
    return false;
}

static way way_of(const fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t access) {
    if (!moves(g, gr, access)) return STAYS;
    bool one = fc_class_move(g->cls, access, element_axis(g, gr)) == FC_MOVE_ONE;
    return gr->wide && one ? WIDE : EACH;
}

/* The type that offsets of an access are computed in: the value of an index has 64 bits, but none
 * of a nest that is not far (fc_nest) needs them. */
static const char *offset_type(const fc_cuda_gen *g, uint32_t access) {
    return fc_cuda_is_memory(g->k, access) || g->divisors ? "ix" : "long long";
}

static const char *storage(const fc_cuda_gen *g, uint32_t access) {
    return fc_dtypes[g->k->accesses.at[access].dtype].cuda;
}

/* ---- indices and offsets -------------------------------------------------------------------- */

static name axis_name(const fc_cuda_gen *g, uint32_t axis) {
    name n;
    bool kept = axis < g->np;
    snprintf(n.text, sizeof n.text, "%c%u", kept ? 'i' : 'j',
             (unsigned)(kept ? axis : axis - g->np));
    return n;
}

void fc_cuda_indices(fc_cuda_gen *g, uint32_t first, uint32_t end, const char *number) {
    name rest;
    snprintf(rest.text, sizeof rest.text, "%s", number);
    for (uint32_t x = end; --x > first;) {
        name axis = axis_name(g, x), next;
        unsigned extent = g->l.extents + x;
        snprintf(next.text, sizeof next.text, "n%u", (unsigned)x);
        if (g->divisors)
            fc_cuda_line(&g->t, "const ix %s = fc_quotient(%s, by%u);", next.text, rest.text,
                         (unsigned)x);
        else
            fc_cuda_line(&g->t, "const ix %s = fc_quotient(%s, (ix)p.w[%u]);", next.text, rest.text,
                         extent);
        fc_cuda_line(&g->t, "const ix %s = %s - %s * (ix)p.w[%u];", axis.text, rest.text, next.text,
                     extent);
        rest = next;
    }
    name axis = axis_name(g, first);
    if (strcmp(axis.text, rest.text) != 0)
        fc_cuda_line(&g->t, "const ix %s = %s;", axis.text, rest.text);
}

/* Appends the terms of the axes [first, end). */
static void terms(fc_cuda_gen *g, uint32_t access, uint32_t first, uint32_t end) {
    for (uint32_t x = first; x < end; x++) {
        fc_move move = fc_class_move(g->cls, access, x);
        if (move == FC_MOVE_ZERO) continue;
        fc_str_printf(g->t.out, " + %s", axis_name(g, x).text);
        if (move == FC_MOVE_ANY)
            fc_str_printf(g->t.out, " * (%s)p.w[%u]", offset_type(g, access),
                          fc_cuda_word(g, access) + 1 + x);
    }
}

static void bases(fc_cuda_gen *g, uint32_t end, uint32_t without) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        const char *type = offset_type(g, a);
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "const %s b%u = (%s)p.w[%u]", type, (unsigned)a, type,
                      fc_cuda_word(g, a));
        terms(g, a, 0, without < end ? without : end);
        terms(g, a, without + 1, end);
        fc_str_add(g->t.out, ";\n");
    }
}

void fc_cuda_bases(fc_cuda_gen *g, uint32_t end) {
    bases(g, end, end);
}

void fc_cuda_bases_kept(fc_cuda_gen *g, const char *side) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        if (!g->used[a]) continue;
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "%s_b%u = (ix)p.w[%u]", side, (unsigned)a, fc_cuda_word(g, a));
        terms(g, a, 0, g->np);
        fc_str_add(g->t.out, ";\n");
    }
}

void fc_cuda_bases_from(fc_cuda_gen *g, const char *side) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        if (!g->used[a]) continue;
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "const ix b%u = %s_b%u", (unsigned)a, side, (unsigned)a);
        terms(g, a, g->np, g->axes);
        fc_str_add(g->t.out, ";\n");
    }
}

void fc_cuda_bases_but(fc_cuda_gen *g, uint32_t axis) {
    bases(g, g->np, axis);
}

static bool loads(const fc_cuda_gen *g, uint32_t a, bool cached) {
    return (g->used[a] & FC_CUDA_LOADS) && (g->cached[a] != 0) == cached;
}

/* o*: for the loads, or for everything else that the slice does with accesses. */
static void offsets(fc_cuda_gen *g, const fc_cuda_group *gr, bool loading, bool cached) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        bool wanted = loading ? loads(g, a, cached) : (g->used[a] & ~FC_CUDA_LOADS) != 0;
        if (!wanted) continue;
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "const %s o%u = b%u", offset_type(g, a), (unsigned)a, (unsigned)a);
        terms(g, a, gr->first, gr->end);
        fc_str_add(g->t.out, ";\n");
    }
}

/* Appends how far element e is from o*. */
static void distance(fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t access) {
    if (gr->own || !moves(g, gr, access)) return;
    fc_str_printf(g->t.out, gr->step == 1 ? " + e" : " + e * %d", gr->step);
    if (fc_class_move(g->cls, access, element_axis(g, gr)) == FC_MOVE_ANY)
        fc_str_printf(g->t.out, " * (%s)p.w[%u]", offset_type(g, access),
                      fc_cuda_word(g, access) + 1 + element_axis(g, gr));
}

static void element_place(fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t access) {
    fc_str_printf(g->t.out, "a%u[o%u", (unsigned)g->k->accesses.at[access].buffer,
                  (unsigned)access);
    distance(g, gr, access);
    fc_str_char(g->t.out, ']');
}

/* Number of element e, in parentheses where it is a sum. */
static name element_number(const fc_cuda_group *gr) {
    name n;
    if (gr->own || gr->across || gr->n == 1)
        snprintf(n.text, sizeof n.text, "%s", gr->own ? "m" : gr->number);
    else if (gr->step == 1)
        snprintf(n.text, sizeof n.text, "(%s + e)", gr->number);
    else
        snprintf(n.text, sizeof n.text, "(%s + e * %d)", gr->number, gr->step);
    return n;
}

/* What is compared with the limit for element e. */
static name tested_number(const fc_cuda_group *gr) {
    fc_cuda_group other = *gr;
    if (gr->tested && !gr->own) other.number = gr->tested;
    return element_number(&other);
}

static void begin_elements(fc_cuda_gen *g, const fc_cuda_group *gr) {
    if (gr->n > 1) fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < %d; e++) {", gr->n);
}

/* Inside the loop: what a group whose elements have nothing in common does for each. */
static void own_indices(fc_cuda_gen *g, const fc_cuda_group *gr) {
    fc_cuda_line(&g->t, "const ix m = %s + e * %d;", gr->number, gr->step);
    fc_cuda_indices(g, gr->first, gr->end, "m");
}

/* ---- loads ---------------------------------------------------------------------------------- */

static unsigned alignment(const fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t access) {
    unsigned each = fc_dtypes[g->k->accesses.at[access].dtype].bytes,
             bytes = (unsigned)gr->n * each;
    if (bytes & (bytes - 1)) return each;
    return bytes < 16 ? bytes : 16;
}

static void vector_type(fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t access) {
    fc_str_printf(g->t.out, "fc_vec<%s, %d, %u>", storage(g, access), gr->n,
                  alignment(g, gr, access));
}

static void declare(fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t a, int slots) {
    fc_cuda_indent(&g->t);
    if (way_of(g, gr, a) == STAYS)
        fc_str_add(g->t.out, storage(g, a));
    else
        vector_type(g, gr, a);
    fc_str_printf(g->t.out, " q%u", (unsigned)a);
    if (slots) fc_str_printf(g->t.out, "[%d]", slots);
    fc_str_add(g->t.out, ";\n");
}

void fc_cuda_group_declare(fc_cuda_gen *g, const fc_cuda_group *gr, int slots, bool cached) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (loads(g, a, cached)) declare(g, gr, a, slots);
}

static void begin_load(fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t a, const char *part) {
    fc_cuda_indent(&g->t);
    fc_str_printf(g->t.out, "q%u%s%s = ", (unsigned)a, g->cached[a] ? gr->kept : gr->slot, part);
}

static void load_stays(fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t a) {
    begin_load(g, gr, a, "");
    if (gr->limit) fc_str_printf(g->t.out, "%s < %s ? ", gr->number, gr->limit);
    fc_str_printf(g->t.out, "a%u[%c%u]", (unsigned)g->k->accesses.at[a].buffer, gr->own ? 'b' : 'o',
                  (unsigned)a);
    if (gr->limit) fc_str_printf(g->t.out, " : (%s)0", storage(g, a));
    fc_str_add(g->t.out, ";\n");
}

static void load_each(fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t a) {
    begin_load(g, gr, a, ".e[e]");
    if (gr->limit) fc_str_printf(g->t.out, "%s < %s ? ", tested_number(gr).text, gr->limit);
    element_place(g, gr, a);
    if (gr->limit) fc_str_printf(g->t.out, " : (%s)0", storage(g, a));
    fc_str_add(g->t.out, ";\n");
}

static void load_wide(fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t a) {
    const char *how = fc_cuda_lasts(g, a) ? "fc_load_last(" : NULL;
    begin_load(g, gr, a, "");
    fc_str_add(g->t.out, how ? how : "*");
    fc_str_add(g->t.out, "(const ");
    vector_type(g, gr, a);
    fc_str_printf(g->t.out, " *)(a%u + o%u)%s;\n", (unsigned)g->k->accesses.at[a].buffer,
                  (unsigned)a, how ? ")" : "");
}

static bool any_way(const fc_cuda_gen *g, const fc_cuda_group *gr, bool cached, way w) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (loads(g, a, cached) && way_of(g, gr, a) == w) return true;
    return false;
}

static void load_all(fc_cuda_gen *g, const fc_cuda_group *gr, bool cached, way w) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        if (!loads(g, a, cached) || way_of(g, gr, a) != w) continue;
        if (w == STAYS) load_stays(g, gr, a);
        if (w == EACH || (w == WIDE && gr->limit)) load_each(g, gr, a);
        if (w == WIDE && !gr->limit) load_wide(g, gr, a);
    }
}

static void load_each_element(fc_cuda_gen *g, const fc_cuda_group *gr, bool cached, way w) {
    begin_elements(g, gr);
    if (gr->own) {
        own_indices(g, gr);
        offsets(g, gr, true, cached);
    }
    load_all(g, gr, cached, w);
    fc_cuda_line(&g->t, "}");
}

void fc_cuda_group_load(fc_cuda_gen *g, const fc_cuda_group *gr, bool cached) {
    bool stays = any_way(g, gr, cached, STAYS), each = any_way(g, gr, cached, EACH);
    bool wide = any_way(g, gr, cached, WIDE);
    if (!stays && !each && !wide) return;
    fc_cuda_line(&g->t, "{");
    if (!gr->own) {
        fc_cuda_indices(g, gr->first, gr->end, gr->number);
        offsets(g, gr, true, cached);
    }
    if (stays) load_all(g, gr, cached, STAYS);
    if (wide) {
        fc_cuda_group whole = *gr;
        whole.limit = NULL;
        if (gr->limit && gr->whole)
            fc_cuda_line(&g->t, "if (%s < %s) {", gr->number, gr->limit);
        else if (gr->limit)
            fc_cuda_line(&g->t, "if (%s + %d <= %s) {", gr->number, gr->n, gr->limit);
        load_all(g, &whole, cached, WIDE);
        if (gr->limit) {
            fc_cuda_line(&g->t, "} else {");
            load_each_element(g, gr, cached, WIDE);
            fc_cuda_line(&g->t, "}");
        }
    }
    if (each) load_each_element(g, gr, cached, EACH);
    fc_cuda_line(&g->t, "}");
}

/* ---- code ----------------------------------------------------------------------------------- */

/* g->vary[v]: has another value at each element. */
static void mark_varying(fc_cuda_gen *g, const fc_cuda_group *gr) {
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        g->vary[v] = 0;
        if (!g->need[v] || g->done[v]) continue;
        if (i->op == FC_OP_LOAD || i->op == FC_OP_INDEX)
            g->vary[v] = moves(g, gr, (uint32_t)i->imm);
        if (g->block[v]) {
            g->vary[v] = g->block[v] != FC_CUDA_BLOCK_ONE;
            continue;
        }
        if (fc_cuda_windowed(g, v) || (i->op == FC_OP_ACC && (gr->sums || gr->staged))) {
            g->vary[v] = 1;
            continue;
        }
        for (int n = 0; n < fc_instr_arity(i); n++) g->vary[v] |= g->vary[fc_instr_operand(i, n)];
        if (g->hold[v] == FC_CUDA_HELD || i->op == FC_OP_PUT_AT) g->vary[v] = 1;
    }
}

static void loaded(fc_cuda_gen *g, const fc_cuda_group *gr, fc_val v) {
    uint32_t a = (uint32_t)g->code.ins.at[v].imm;
    char expr[48];
    const char *slot = g->cached[a] ? gr->kept : gr->slot;
    snprintf(expr, sizeof expr, "q%u%s%s", (unsigned)a, slot,
             way_of(g, gr, a) == STAYS ? "" : ".e[e]");
    fc_cuda_from_storage(&g->t, v, expr);
    g->local[v] = 1;
}

/* Of a read that is one for a block of k. */
static void of_block(fc_cuda_gen *g, fc_val v) {
    const unsigned together = g->block[v] - FC_CUDA_BLOCK_ONE;
    char expr[40], at[16] = "";
    if (together) snprintf(at, sizeof at, ".e[e / %u]", together);
    snprintf(expr, sizeof expr, "r%u%s", (unsigned)v, at);
    fc_cuda_from_storage(&g->t, v, expr);
    g->local[v] = 1;
}

/* Whether the element numbers of a group are fours that begin at multiples of four. Written so that
 * the compiler sees it, what is worked out for four neighbours together, a block of random words,
 * is worked out once. */
static bool in_fours(const fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t access) {
    return g->cls->cuda.fours && gr->wide && !gr->across && !gr->own && gr->step == 1 &&
           gr->n % 4 == 0 && fc_class_move(g->cls, access, element_axis(g, gr)) == FC_MOVE_ONE;
}

static void index_value(fc_cuda_gen *g, const fc_cuda_group *gr, fc_val v) {
    uint32_t a = (uint32_t)g->code.ins.at[v].imm;
    bool stays = !moves(g, gr, a);
    if (!stays && in_fours(g, gr, a)) {
        fc_cuda_line(&g->t, "const long long v%u = ((o%u + (e & ~3)) & -4ll) | (e & 3);",
                     (unsigned)v, (unsigned)a);
        g->local[v] = 1;
        return;
    }
    fc_cuda_indent(&g->t);
    fc_str_printf(g->t.out, "const long long v%u = %c%u", (unsigned)v, gr->own && stays ? 'b' : 'o',
                  (unsigned)a);
    distance(g, gr, a);
    fc_str_add(g->t.out, ";\n");
    g->local[v] = 1;
}

static void held(fc_cuda_gen *g, const fc_cuda_group *gr, fc_val v) {
    char expr[48];
    snprintf(expr, sizeof expr, "s%u%s.e[e]", (unsigned)v, gr->kept);
    fc_cuda_from_storage(&g->t, v, expr);
    g->local[v] = 1;
}

/* Inside the loop over elements. A value that does not differ between them is not held. */
static void hold(fc_cuda_gen *g, const fc_cuda_group *gr) {
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        if (g->hold[v] != FC_CUDA_HOLD || !g->need[v]) continue;
        if (!g->vary[v]) {
            g->hold[v] = 0;
            continue;
        }
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "s%u%s.e[e] = ", (unsigned)v, gr->kept);
        fc_cuda_to_storage(&g->t, v);
        fc_str_add(g->t.out, ";\n");
    }
}

/* What is computed at an element that the nest lacks is nobody's: nothing is read or reported
 * there, and it makes no rounds. */
static void at_element(fc_cuda_gen *g, const fc_cuda_group *gr, fc_val v) {
    char there[64] = "";
    if (gr->limit)
        snprintf(there, sizeof there, "%s < %s", g->vary[v] ? tested_number(gr).text : gr->number,
                 gr->limit);
    if (g->code.ins.at[v].op == FC_OP_ROUNDS) {
        g->t.there = there[0] ? there : NULL;
        fc_cuda_instr(&g->t, v);
        g->t.there = NULL;
    } else if (g->code.ins.at[v].op == FC_OP_PUT_AT)
        fc_cuda_put(g, v, there[0] ? there : NULL);
    else
        fc_cuda_computed(&g->t, v, there[0] ? there : NULL, g->l.extra + FC_PB_REPORT);
}

static void code(fc_cuda_gen *g, const fc_cuda_group *gr, bool varying) {
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        if (!g->need[v] || g->done[v] || g->local[v] || (g->vary[v] != 0) != varying) continue;
        uint16_t op = g->code.ins.at[v].op;
        if (g->hold[v] == FC_CUDA_HELD)
            held(g, gr, v);
        else if (g->block[v])
            of_block(g, v);
        else if (fc_cuda_windowed(g, v))
            fc_cuda_window_value(g, v);
        else if (op == FC_OP_LOAD)
            loaded(g, gr, v);
        else if (op == FC_OP_INDEX)
            index_value(g, gr, v);
        else if (fc_is_at_element(op) || op == FC_OP_ROUNDS)
            at_element(g, gr, v);
        else
            fc_cuda_instr(&g->t, v);
    }
}

/* ---- what becomes of the values ------------------------------------------------------------- */

/* Where element e is staged: columns lie one behind the other, a run each. */
static void staged_at(fc_cuda_gen *g, const fc_cuda_group *gr, size_t r) {
    fc_str_printf(g->t.out, "stage%u[at%u ", (unsigned)r, (unsigned)r);
    if (gr->across)
        fc_str_printf(g->t.out, "+ e * %d]", FC_RUN);
    else
        fc_str_add(g->t.out, "^ e]");
}

/* The values of an element, for the thread that has its run. */
static void to_stage(fc_cuda_gen *g, const fc_cuda_group *gr, size_t r) {
    for (unsigned v = 0; v < g->k->reductions.at[r].nvalues; v++) {
        fc_cuda_indent(&g->t);
        staged_at(g, gr, r);
        fc_str_printf(g->t.out, ".x.v%u = ", v);
        fc_cuda_operand(&g->t, fc_cuda_red_value(g, r)[v]);
        fc_str_add(g->t.out, ";\n");
    }
}

static void steps(fc_cuda_gen *g, const fc_cuda_group *gr, unsigned phase) {
    name number = element_number(gr);
    for (size_t r = 0; r < g->k->reductions.len; r++) {
        if (g->k->reductions.at[r].stage != phase) continue;
        if (g->stages) {
            to_stage(g, gr, r);
            continue;
        }
        fc_cuda_indent(&g->t);
        if (gr->limit)
            fc_str_printf(g->t.out, "if (%s < %s) ",
                          gr->whole ? gr->number : tested_number(gr).text, gr->limit);
        fc_str_printf(g->t.out, "red%u_step(", (unsigned)r);
        fc_str_printf(g->t.out, gr->lanes ? "w%u[e], " : "w%u, ", (unsigned)r);
        for (unsigned v = 0; v < g->k->reductions.at[r].nvalues; v++) {
            fc_str_add(g->t.out, v ? ", " : "");
            fc_cuda_operand(&g->t, fc_cuda_red_value(g, r)[v]);
        }
        fc_str_printf(g->t.out, ", (long long)%s, %s);\n", number.text, gr->taken);
    }
}

static bool writes(const fc_cuda_gen *g, size_t s) {
    return (g->used[g->k->stores.at[s].access] & FC_CUDA_WRITES) != 0;
}

static bool set_aside(const fc_cuda_group *gr, uint32_t a) {
    return gr->aside && gr->aside[a];
}

/* Whether a store of neighbours that are not aligned changes places with other lanes first. */
static bool turned(const fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t a) {
    return gr->exchange && !set_aside(gr, a) && !gr->own && way_of(g, gr, a) == EACH &&
           fc_class_move(g->cls, a, element_axis(g, gr)) == FC_MOVE_ONE;
}

static bool whole_vector(const fc_cuda_gen *g, const fc_cuda_group *gr, uint32_t a) {
    return way_of(g, gr, a) == WIDE || turned(g, gr, a);
}

/* Inside the loop over elements. */
static void stores(fc_cuda_gen *g, const fc_cuda_group *gr) {
    for (size_t s = 0; s < g->k->stores.len; s++) {
        uint32_t a = g->k->stores.at[s].access;
        if (!writes(g, s)) continue;
        fc_cuda_indent(&g->t);
        if (set_aside(gr, a)) {
            fc_str_printf(g->t.out, "y%u%s.e[e]", (unsigned)a, gr->slot);
        } else if (whole_vector(g, gr, a)) {
            fc_str_printf(g->t.out, "y%u.e[e]", (unsigned)a);
        } else {
            if (gr->limit)
                fc_str_printf(g->t.out, "if (%s < %s) ",
                              gr->whole ? gr->number : tested_number(gr).text, gr->limit);
            element_place(g, gr, a);
        }
        fc_str_add(g->t.out, " = ");
        fc_cuda_to_storage(&g->t, g->store_value[s]);
        fc_str_add(g->t.out, ";\n");
    }
}

static void declare_wide_stores(fc_cuda_gen *g, const fc_cuda_group *gr) {
    for (size_t s = 0; s < g->k->stores.len; s++) {
        uint32_t a = g->k->stores.at[s].access;
        if (!writes(g, s) || set_aside(gr, a) || !whole_vector(g, gr, a)) continue;
        fc_cuda_indent(&g->t);
        vector_type(g, gr, a);
        fc_str_printf(g->t.out, " y%u;\n", (unsigned)a);
    }
}

/* Bytes that a thread sets aside for its part of a store: as many for each store, whatever its
 * dtype, so that no warp writes where another one still reads. */
static unsigned turned_bytes(const fc_cuda_gen *g, const fc_cuda_group *gr) {
    unsigned bytes = 0;
    for (size_t s = 0; s < g->k->stores.len; s++) {
        uint32_t a = g->k->stores.at[s].access;
        unsigned each = fc_dtypes[g->k->accesses.at[a].dtype].bytes;
        bool point = g->k->accesses.at[a].level == FC_POINT;
        if (point && turned(g, gr, a) && each > bytes) bytes = each;
    }
    return bytes * (unsigned)gr->n;
}

void fc_cuda_group_turn(fc_cuda_gen *g, const fc_cuda_group *gr, unsigned threads) {
    const unsigned bytes = turned_bytes(g, gr);
    if (bytes)
        fc_cuda_line(&g->t, "__shared__ fc_vec<long long, 2, 16> aside[%u];",
                     (threads * bytes + 15) / 16);
}

/* Lane l of a team has the elements 4l ..; it stores l, team + l, ... */
static void turned_stores(fc_cuda_gen *g, const fc_cuda_group *gr) {
    unsigned team = gr->exchange, n = (unsigned)gr->n;
    for (size_t s = 0; s < g->k->stores.len; s++) {
        uint32_t a = g->k->stores.at[s].access;
        if (!writes(g, s) || !turned(g, gr, a)) continue;
        fc_cuda_line(&g->t, "{");
        fc_cuda_line(&g->t, "%s *const mine = (%s *)((char *)aside + (threadIdx.x - lane) * %u);",
                     storage(g, a), storage(g, a), turned_bytes(g, gr));
        fc_cuda_line(&g->t, "__syncwarp();");
        fc_cuda_indent(&g->t);
        fc_str_add(g->t.out, "*(");
        vector_type(g, gr, a);
        fc_str_printf(g->t.out, " *)(mine + lane * %u) = y%u;\n", n, (unsigned)a);
        fc_cuda_line(&g->t, "__syncwarp();");
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int e = 0; e < %u; e++) {", n);
        fc_cuda_line(&g->t, "const int at = e * %u + lane;", team);
        fc_cuda_indent(&g->t);
        if (gr->limit)
            fc_str_printf(g->t.out, "if (%s + (at - lane * %u) < %s) ", gr->number, n, gr->limit);
        fc_str_printf(g->t.out, "a%u[o%u + (at - lane * %u)] = mine[at];\n",
                      (unsigned)g->k->accesses.at[a].buffer, (unsigned)a, n);
        fc_cuda_line(&g->t, "}");
        fc_cuda_line(&g->t, "}");
    }
}

static void wide_stores(fc_cuda_gen *g, const fc_cuda_group *gr) {
    for (size_t s = 0; s < g->k->stores.len; s++) {
        uint32_t a = g->k->stores.at[s].access;
        unsigned buffer = g->k->accesses.at[a].buffer, n = a;
        if (!writes(g, s) || set_aside(gr, a) || way_of(g, gr, a) != WIDE) continue;
        if (gr->limit && !gr->whole)
            fc_cuda_line(&g->t, "if (%s + %d <= %s) {", gr->number, gr->n, gr->limit);
        fc_cuda_indent(&g->t);
        if (gr->limit && gr->whole) fc_str_printf(g->t.out, "if (%s < %s) ", gr->number, gr->limit);
        fc_str_add(g->t.out, "*(");
        vector_type(g, gr, a);
        fc_str_printf(g->t.out, " *)(a%u + o%u) = y%u;\n", buffer, n, n);
        if (!gr->limit || gr->whole) continue;
        fc_cuda_line(&g->t, "} else {");
        begin_elements(g, gr);
        fc_cuda_line(&g->t, "if (%s < %s) a%u[o%u + e] = y%u.e[e];", element_number(gr).text,
                     gr->limit, buffer, n, n);
        fc_cuda_line(&g->t, "}");
        fc_cuda_line(&g->t, "}");
    }
}

void fc_cuda_group_first(fc_cuda_gen *g, const fc_cuda_group *gr) {
    memset(g->local, 0, g->code.ins.len);
    mark_varying(g, gr);
    fc_cuda_indices(g, gr->first, gr->end, gr->number);
    offsets(g, gr, false, false);
    fc_cuda_line(&g->t, "const int e = 0;");
    code(g, gr, false);
    code(g, gr, true);
    memset(g->local, 0, g->code.ins.len);
}

void fc_cuda_group_open(fc_cuda_gen *g, const fc_cuda_group *gr) {
    memset(g->local, 0, g->code.ins.len);
    mark_varying(g, gr);
    code(g, gr, false);
    begin_elements(g, gr);
    code(g, gr, true);
    memset(g->local, 0, g->code.ins.len);
}

void fc_cuda_group_compute(fc_cuda_gen *g, const fc_cuda_group *gr, unsigned phase) {
    memset(g->local, 0, g->code.ins.len);
    mark_varying(g, gr);
    bool rest = false;
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->used[a] & ~FC_CUDA_LOADS) rest = true;
    fc_cuda_line(&g->t, "{");
    if (!gr->own && rest) {
        fc_cuda_indices(g, gr->first, gr->end, gr->number);
        offsets(g, gr, false, false);
    }
    code(g, gr, false);
    fc_cuda_windows_load(g);
    declare_wide_stores(g, gr);
    begin_elements(g, gr);
    if (gr->own) own_indices(g, gr);
    if (gr->own && rest) offsets(g, gr, false, false);
    if (gr->sums) fc_cuda_line(&g->t, "const auto f0 = %s;", gr->sums);
    for (size_t r = 0; gr->staged && r < g->k->reductions.len; r++) {
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "const auto f%u = ", (unsigned)r);
        staged_at(g, gr, r);
        fc_str_add(g->t.out, ".y;\n");
    }
    code(g, gr, true);
    hold(g, gr);
    if (phase == FC_CUDA_STORES)
        stores(g, gr);
    else
        steps(g, gr, phase);
    fc_cuda_line(&g->t, "}");
    wide_stores(g, gr);
    turned_stores(g, gr);
    fc_cuda_line(&g->t, "}");
    memset(g->local, 0, g->code.ins.len);
}
