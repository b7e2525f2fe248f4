/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_mma_made.c - operands of tensor cores that are computed, 16 bytes of neighbours at
 * a time.
 *
 * In: an operand all of whose arrays lie along one axis, of k or of its rows (columns), or stand
 * along it: casts, scales by row or column, dequantisation. Out: text. What moves comes as it is to
 * a part of the stage of its own, by asynchronous copies several steps ahead, as bare operands do;
 * each thread reads only what it asked for, so it waits for no other. A step before the products
 * the kernel's own code makes the elements of it, and of what stands, which is read where it is,
 * and puts them where products look for them, 16 bytes at a time. */
#include <stdio.h>

#include "codegen/cuda/cuda_dot.h"
#include "ir/plant.h"

static unsigned axis_of(const fc_dot *d, const fc_dot_side *x) {
    return x->by_k ? d->g->np : x->axis;
}

static bool is_load(const fc_dot *d, uint32_t a) {
    return d->g->used[a] & FC_CUDA_LOADS;
}

bool fc_made_comes(const fc_dot *d, const fc_dot_side *x, uint32_t a) {
    return is_load(d, a) && fc_class_move(d->g->cls, a, axis_of(d, x)) != FC_MOVE_ZERO;
}

static unsigned turns_of(const fc_dot *d, const fc_dot_side *x) {
    const unsigned lines = fc_dot_lines_of(d, x), down = fc_dot_lines_of_turn(d, x);
    return lines < down ? 1 : lines / down;
}

/* Elements of a stage that the arrays before `a` take. */
static unsigned raw_before(const fc_dot *d, const fc_dot_side *x, uint32_t a) {
    unsigned bytes = 0;
    for (uint32_t b = 0; b < a; b++)
        if (fc_made_comes(d, x, b)) bytes += fc_cuda_bytes(d->g->k, b);
    return bytes * x->side * d->tile->depth / fc_cuda_tile_bytes(d->tile);
}

unsigned fc_made_room(const fc_dot *d, const fc_dot_side *x) {
    fc_made_slice(d, x, x->value);
    return raw_before(d, x, (uint32_t)d->g->k->accesses.len);
}

/* That a group needs of an array which comes. */
static unsigned group_bytes(const fc_dot *d, uint32_t a) {
    return fc_cuda_tile_group(d->tile) * fc_cuda_bytes(d->g->k, a);
}

static const char *storage(const fc_dot *d, uint32_t a) {
    return fc_dtypes[d->g->k->accesses.at[a].dtype].cuda;
}

void fc_made_stride(const fc_dot *d, uint32_t a, unsigned axis) {
    if (axis < d->g->axes && fc_class_move(d->g->cls, a, axis) != FC_MOVE_ZERO)
        fc_str_printf(d->g->t.out, "p.w[%u]", fc_cuda_word(d->g, a) + 1 + axis);
    else
        fc_str_add(d->g->t.out, "0");
}

void fc_made_begin(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    fc_made_slice(d, x, x->value);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (is_load(d, a))
            fc_cuda_line(t, "const %s *%s_q%u;", storage(d, a), x->name, (unsigned)a);
    fc_blocks_declare(d, x);
    fc_dot_begin_first(d, x);
    fc_blocks_begin(d, x);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (is_load(d, a))
            fc_cuda_line(t, "%s_q%u = a%u + b%u;", x->name, (unsigned)a,
                         (unsigned)g->k->accesses.at[a].buffer, (unsigned)a);
    fc_cuda_line(t, "}");
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Opens the loop over a thread's groups; whether one exists, if `left` elements of k do. */
static void begin_groups(const fc_dot *d, const fc_dot_side *x, const char *left) {
    fc_cuda_text *t = &d->g->t;
    const unsigned down = fc_dot_lines_of_turn(d, x), lines = fc_dot_lines_of(d, x);
    if (fc_dot_workers(d, x) < FC_CUDA_THREADS)
        fc_cuda_line(t, "if (thread >= %u)", FC_CUDA_THREADS - fc_dot_workers(d, x));
    if (lines < down) fc_cuda_line(t, "if (%s_line < %u)", x->name, lines);
    if (lines >= down) fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", turns_of(d, x));
    if (x->by_k)
        fc_cuda_line(t, "const bool there = (ix)%s_in < %s && u * %u < %s_rest;", x->name, left,
                     down, x->name);
    else
        fc_cuda_line(t, "const bool there = (ix)%s_line + u * %u < %s && 0 < %s_rest;", x->name,
                     down, left, x->name);
}

/* Appends the address of a group in array `a`. */
static void group_at(const fc_dot *d, const fc_dot_side *x, uint32_t a) {
    fc_str_printf(d->g->t.out, "%s_q%u + u * %u * ", x->name, (unsigned)a,
                  fc_dot_lines_of_turn(d, x));
    fc_made_stride(d, a, x->by_k ? x->axis : d->g->np);
}

/* The same of what came of it. */
static void raw_at(const fc_dot *d, const fc_dot_side *x, uint32_t a) {
    fc_str_printf(d->g->t.out, "(stage + %u + (u * %u + thread %% %u) * %u)",
                  x->raw + raw_before(d, x, a), fc_dot_workers(d, x), fc_dot_workers(d, x),
                  group_bytes(d, a) / fc_cuda_tile_bytes(d->tile));
}

/* To the next step: of arrays that come, or of those that stand. */
static void advance(const fc_dot *d, const fc_dot_side *x, bool coming) {
    fc_cuda_text *t = &d->g->t;
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++) {
        if (!is_load(d, a) || fc_made_comes(d, x, a) != coming) continue;
        fc_cuda_indent(t);
        fc_str_printf(t->out, "%s_q%u += %u * ", x->name, (unsigned)a, d->tile->depth);
        fc_made_stride(d, a, d->g->np);
        fc_str_add(t->out, ";\n");
    }
}

void fc_made_ask(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    fc_made_slice(d, x, x->value);
    begin_groups(d, x, "todo");
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++) {
        const unsigned bytes = group_bytes(d, a);
        for (unsigned at = 0; fc_made_comes(d, x, a) && at < bytes; at += 16) {
            fc_cuda_indent(t);
            if (bytes < 16)
                fc_str_printf(t->out, "fc_bring_some<%u>(", bytes);
            else
                fc_str_add(t->out, "fc_bring(");
            raw_at(d, x, a);
            fc_str_printf(t->out, " + %u, ", at / fc_cuda_tile_bytes(d->tile));
            group_at(d, x, a);
            fc_str_printf(t->out, " + %u, there);\n", at / fc_cuda_bytes(d->g->k, a));
        }
    }
    fc_cuda_line(t, "}");
    advance(d, x, true);
}

/* q* of a group. */
static void loads(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++) {
        const unsigned bytes = group_bytes(d, a);
        if (!is_load(d, a)) continue;
        fc_cuda_indent(t);
        if (fc_made_comes(d, x, a)) {
            char type[48];
            snprintf(type, sizeof type, "fc_vec<%s, %u, %u>", storage(d, a),
                     fc_cuda_tile_group(d->tile), bytes < 16 ? bytes : 16);
            fc_str_printf(t->out, "const %s q%u = *(const %s *)", type, (unsigned)a, type);
            raw_at(d, x, a);
            fc_str_add(t->out, ";\n");
            if (d->tile->bytes || bytes != FC_CUDA_EIGHT) continue;
            fc_cuda_indent(t);
            snprintf(type, sizeof type, "fc_vec<unsigned int, 2, 8>");
            fc_str_printf(t->out, "const %s w%u = *(const %s *)", type, (unsigned)a, type);
            raw_at(d, x, a);
            fc_str_add(t->out, ";\n");
        } else {
            fc_str_printf(t->out, "const %s q%u = there ? *(", storage(d, a), (unsigned)a);
            group_at(d, x, a);
            fc_str_printf(t->out, ") : (%s)0;\n", storage(d, a));
        }
    }
}

/* The f32 whose rounding is an operand, or that is one; FC_NOVAL: there is none. */
static fc_val float_of(const fc_dot *d, const fc_dot_side *x) {
    const fc_val narrow = fc_mma_narrow_of(d, x->value);
    if (narrow == x->value) return d->half == FUSEC_F64 ? FC_NOVAL : narrow;
    return fc_cuda_rounds(&d->g->t, narrow) ? d->g->code.ins.at[narrow].a : FC_NOVAL;
}

/* An operand that is 8-bit integers as they come: they become floats two at a time. */
static bool put_bytes(const fc_dot *d, const fc_dot_side *x, fc_val of, unsigned n,
                      const char *kept) {
    fc_cuda_text *t = &d->g->t;
    const fc_instr *i = of == FC_NOVAL ? NULL : &d->g->code.ins.at[of], *from;
    if (!i || i->op != FC_OP_CVT || !fc_is_half(d->half)) return false;
    from = &d->g->code.ins.at[i->a];
    const uint32_t a = (uint32_t)from->imm;
    if (from->op != FC_OP_LOAD || !fc_cuda_of_byte(i, from) || !fc_made_comes(d, x, a))
        return false;
    fc_cuda_line(t, "fc_vec<unsigned int, %u, %u> bits;", n / 2, 2 * n);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int e = 0; e < %u; e++) {", n / 2);
    fc_cuda_line(t, "bits.e[e] = fc_%s_bytes(w%u.e[e / 2], e %% 2, %s)%s%s;", fc_dot_feed(d),
                 (unsigned)a, fc_is_signed((fusec_dtype)from->dtype) ? "true" : "false",
                 kept ? " & " : "", kept ? kept : "");
    fc_cuda_line(t, "}");
    return true;
}

/* Floats, which are rounded two at a time, or bits. */
void fc_made_group(const fc_dot *d, const fc_dot_side *x, unsigned n, const char *kept) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const unsigned axis = axis_of(d, x);
    const fc_cuda_group gr = {
        .n = (int)n, .step = 1, .first = axis, .end = axis + 1, .wide = true, .slot = ""};
    const fc_val of = float_of(d, x);
    if (put_bytes(d, x, of, n, kept)) return;
    fc_made_slice(d, x, of != FC_NOVAL ? of : fc_mma_narrow_of(d, x->value));
    fc_cuda_line(t, "fc_vec<%s, %u, 16> made;",
                 of != FC_NOVAL         ? "float"
                 : d->half == FUSEC_F64 ? "double"
                 : d->half == FUSEC_I8  ? "unsigned char"
                                        : "unsigned short",
                 n);
    fc_cuda_group_open(g, &gr);
    fc_cuda_indent(t);
    fc_str_add(t->out, "made.e[e] = ");
    if (of != FC_NOVAL)
        fc_cuda_operand(t, of);
    else
        fc_mma_put_bits(d, x->value);
    fc_str_add(t->out, ";\n");
    fc_cuda_line(t, "}");
    const bool whole = !fc_is_half(d->half); /* elements are stored as they are made */
    const unsigned words = n * (whole ? fc_dtypes[d->half].bytes : 2) / 4;
    fc_cuda_line(t, "fc_vec<unsigned int, %u, %u> bits;", words, 4 * words);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int e = 0; e < %u; e++)", words);
    if (whole)
        fc_cuda_line(t, "    bits.e[e] = ((const fc_vec<unsigned int, %u, 16> &)made).e[e]%s%s;",
                     words, kept ? " & " : "", kept ? kept : "");
    else if (of != FC_NOVAL)
        fc_cuda_line(t, "    bits.e[e] = fc_%s_pair(made.e[2 * e], made.e[2 * e + 1])%s%s;",
                     fc_dot_feed(d), kept ? " & " : "", kept ? kept : "");
    else
        fc_cuda_line(t,
                     "    bits.e[e] = (made.e[2 * e] | (unsigned int)made.e[2 * e + 1] << 16)%s%s;",
                     kept ? " & " : "", kept ? kept : "");
}

static fc_blocks_turn turn_of(const fc_dot *d, const fc_dot_side *x, char who[64]) {
    const unsigned down = fc_dot_lines_of_turn(d, x), lines = fc_dot_lines_of(d, x),
                   idle = FC_CUDA_THREADS - fc_dot_workers(d, x);
    who[0] = 0;
    if (idle) snprintf(who, 64, "thread >= %u && ", idle);
    if (lines < down)
        snprintf(who + strlen(who), 64 - strlen(who), "%s_line < %u && ", x->name, lines);
    return (fc_blocks_turn){fc_cuda_tile_group(d->tile), turns_of(d, x), down, who};
}

static void make(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    char who[64];
    const fc_blocks_turn turn = turn_of(d, x, who);
    fc_made_slice(d, x, x->value);
    begin_groups(d, x, "left");
    loads(d, x);
    fc_blocks_values(d, x, &turn);
    fc_cuda_line(t, "const unsigned int kept = there ? ~0u : 0u;");
    fc_made_group(d, x, fc_cuda_tile_group(d->tile), "kept");
    fc_cuda_line(t, "*(fc_vec<unsigned int, 4, 16> *)(stage + %u + %s_to + u * %u) = bits;",
                 x->from, x->name, fc_dot_lines_of_turn(d, x) * x->line);
    fc_cuda_line(t, "}");
    fc_made_slice(d, x, x->value);
    advance(d, x, false);
    fc_blocks_advance(d, x);
}

/* Before what comes is waited for. */
static void ask_blocks(const fc_dot *d, const fc_dot_side *x) {
    char who[64];
    const fc_blocks_turn turn = turn_of(d, x, who);
    fc_made_slice(d, x, x->value);
    fc_blocks_hold(d, x, &turn);
    fc_blocks_load(d, x, &turn, 0);
}

void fc_made_make(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned stages = d->g->cls->cuda.dot_stages;
    fc_cuda_line(t, "if (step >= -1 && step + 1 < steps) {");
    fc_cuda_line(t, "%s *const stage = all + %s;", d->type, FC_PLANT(dot_made, "fill", "made"));
    for (int s = 0; s < 2; s++)
        if (fc_cuda_is_made(d->x[s].reads)) ask_blocks(d, &d->x[s]);
    fc_cuda_line(t, "fc_brought<%u>();", fc_cuda_tile_ahead(d->g->cls) - 1);
    for (int s = 0; s < 2; s++)
        if (fc_cuda_is_made(d->x[s].reads)) make(d, &d->x[s]);
    fc_cuda_line(t, "left -= %u;", d->tile->depth);
    fc_cuda_line(t, "made = made == %u ? 0 : made + %u;", (stages - 1) * d->stage, d->stage);
    fc_cuda_line(t, "}");
}
