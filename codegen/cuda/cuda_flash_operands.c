/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_operands.c - joined products: how operands come to shared memory.
 *
 * In: a tile of rows. Out: text of its left operand, which stays, and of bring(), which asks for
 * the next 128 columns of the first product and, in the last walk, what the second multiplies by:
 * in lines of 64 elements whose eights change places from line to line, as wgmma has them. Bare
 * arrays come by 16 bytes, and no thread waits; others are computed element by element. */
#include <stdio.h>

#include "codegen/cuda/cuda_dot.h"
#include "codegen/cuda/cuda_flash_text.h"

enum { THREADS = FC_CUDA_THREADS, SIDE = FC_FLASH_SIDE, BLOCK = FC_FLASH_BLOCK };

typedef struct side {
    const char *name, *first, *size, *length; /* the first line; how many there are; along one */
    uint32_t part;
    bool left;
    unsigned reads, wide; /* elements of each of the 128 lines that it fills */
    uint32_t line, along; /* axes of the part: from line to line, and along one */
} side;

static side side_of(const fc_flash_gen *x, enum fc_flash_set set) {
    static const side named[] = {
        {.name = "q", .first = "m0", .size = "down_size", .length = "deep", .left = true},
        {.name = "k", .first = "next", .size = "columns", .length = "deep"},
        {.name = "v", .first = "next", .size = "columns", .length = "wide"}};
    const uint32_t part = set == FC_FLASH_RIGHT ? x->f.n - 1 : 0;
    const fc_class *c = &x->j->cls[part];
    side s = named[set];
    s.part = part;
    s.reads = s.left ? c->cuda.dot_left : c->cuda.dot_right;
    s.wide = BLOCK * (part ? x->cls->cuda.flash_wide : fc_flash_blocks_of_k(x->cls));
    s.line = x->f.axis[part][s.left ? x->row : x->column];
    s.along = x->f.axis[part][part ? x->wide : x->deep];
    return s;
}

static fc_val operand(fc_flash_gen *x, const side *s) {
    const fc_cuda_gen *g = &x->part[s->part];
    return fc_cuda_red_value(g, 0)[s->left == g->cls->cuda.dot_swapped];
}

/* With indices of the axes that the operand stands along: rows of the other one, columns. */
static void open_side(fc_flash_gen *x, const side *s) {
    fc_flash_open(x, s->part, NULL, NULL);
    for (uint32_t a = x->row; a <= x->wide; a++) {
        const uint32_t own = x->f.axis[s->part][a];
        if (own != FC_FLASH_NONE && own != s->line && own != s->along)
            fc_flash_index(fc_flash_part(x, s->part), own, "0");
    }
}

/* Once a tile: where this thread's first sixteen bytes are of the first line. */
static void begin_side(fc_flash_gen *x, const side *s) {
    fc_cuda_gen *g = fc_flash_part(x, s->part);
    if (s->reads == FC_CUDA_BY_ONE) return;
    const uint32_t a = fc_cuda_bare(&g->code, operand(x, s));
    fc_cuda_line(&g->t, "const unsigned short *%s;", s->name);
    fc_cuda_line(&g->t, "{");
    open_side(x, s);
    fc_flash_index(g, s->line, s->left ? "m0 + (ix)line" : "(ix)line");
    fc_flash_index(g, s->along, "(ix)in");
    fc_cuda_bases(g, g->axes);
    fc_cuda_line(&g->t, "%s = a%u + b%u;", s->name, (unsigned)g->k->accesses.at[a].buffer,
                 (unsigned)a);
    fc_flash_close(x);
}

static void bring_eights(fc_flash_gen *x, const side *s, const char *to) {
    fc_cuda_gen *g = fc_flash_part(x, s->part);
    const uint32_t a = fc_cuda_bare(&g->code, operand(x, s));
    const unsigned turn = THREADS / (BLOCK / FC_CUDA_EIGHT); /* lines of a turn of all threads */
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %u; u++)", SIDE / turn);
    for (unsigned b = 0; b < s->wide / BLOCK; b++) {
        if (!b) fc_cuda_line(&g->t, "{");
        fc_cuda_line(
            &g->t,
            "fc_bring(%s + %u + to + u * %u, %s + ((long long)%s + u * %u) * p.w[%u] + %u, "
            "(ix)in + %u < %s && %s + (ix)line + u * %u < %s);",
            to, b * FC_FLASH_ROOM, turn * BLOCK, s->name, s->left ? "0" : s->first, turn,
            fc_cuda_word(g, a) + 1 + s->line, b * BLOCK, b * BLOCK, s->length, s->first, turn,
            s->size);
    }
    fc_cuda_line(&g->t, "}");
}

static void bring_ones(fc_flash_gen *x, const side *s, const char *to) {
    fc_cuda_gen *g = fc_flash_part(x, s->part);
    const fc_dot d = {.g = g, .half = (fusec_dtype)g->k->reductions.at[0].half};
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (unsigned int turn = thread; turn < %u; turn += %d) {", SIDE * s->wide,
                 THREADS);
    fc_cuda_line(&g->t, "const unsigned int on = turn / %u, off = turn %% %u;", s->wide, s->wide);
    fc_cuda_line(&g->t, "const ix line_at = %s + (ix)on, along_at = (ix)off;", s->first);
    open_side(x, s);
    fc_flash_index(g, s->line, "line_at < %s ? line_at : %s - 1", s->size, s->size);
    fc_flash_index(g, s->along, "along_at < %s ? along_at : %s - 1", s->length, s->length);
    fc_dot_slice(g, fc_mma_narrow_of(&d, operand(x, s)));
    fc_cuda_bases(g, g->axes);
    fc_cuda_element(g);
    fc_cuda_indent(&g->t);
    fc_str_printf(g->t.out,
                  "(%s)[off / %d * %d + on * %d + (off / 8 %% 8 ^ on %% 8) * 8 + off %% 8] = "
                  "line_at < %s && along_at < %s ? ",
                  to, BLOCK, FC_FLASH_ROOM, BLOCK, s->size, s->length);
    fc_mma_put_bits(&d, operand(x, s));
    fc_str_add(g->t.out, " : (unsigned short)0;\n");
    fc_flash_close(x);
}

static void bring_side(fc_flash_gen *x, enum fc_flash_set set, const char *to) {
    const side s = side_of(x, set);
    (s.reads == FC_CUDA_BY_ONE ? bring_ones : bring_eights)(x, &s, to);
}

#define NEXT "next += 128; if (next >= columns) next = 0, walk++;"
_Static_assert(SIDE == 128, "NEXT");

/* Nothing of a hidden tile is asked for but what the last walk multiplies by. */
static void skip_hidden(fc_flash_gen *x, unsigned walks) {
    const unsigned skipping = x->passes ? walks : walks - 1;
    if (!x->mask.n || !skipping) return;
    FC_FLASH_PUT("while (walk < %u && hidden(next)) {", skipping);
    FC_FLASH_PUT("%s", NEXT);
    FC_FLASH_PUT("}");
}

/* A stage: columns, and for the last walk what they are multiplied by. */
static void bring_stages(fc_flash_gen *x) {
    const unsigned rows = fc_flash_rows_room(x->cls), stage = fc_flash_stage(x->cls),
                   stages = x->cls->cuda.dot_stages, walks = fc_flash_walks(x);
    char second[64];
    snprintf(second, sizeof second, "stage + %u",
             fc_flash_blocks_of_k(x->cls) * (unsigned)FC_FLASH_ROOM);
    FC_FLASH_PUT("unsigned int fill = 0, from = 0, walk = 0;");
    FC_FLASH_PUT("ix next = 0;");
    FC_FLASH_PUT("const auto bring = [&] {");
    skip_hidden(x, walks);
    FC_FLASH_PUT("if (walk < %u) {", walks);
    FC_FLASH_PUT("unsigned short *const stage = all + %u + fill;", rows);
    if (x->mask.n && !x->passes) FC_FLASH_PUT("if (!hidden(next)) {");
    bring_side(x, FC_FLASH_COLUMNS, "stage");
    if (x->mask.n && !x->passes) FC_FLASH_PUT("}");
    if (walks > 1) FC_FLASH_PUT("if (walk == %u) {", walks - 1);
    bring_side(x, FC_FLASH_RIGHT, second);
    if (walks > 1) FC_FLASH_PUT("}");
    FC_FLASH_PUT("fill = fill == %u ? 0 : fill + %u;", (stages - 1) * stage, stage);
    FC_FLASH_PUT("%s", NEXT);
    FC_FLASH_PUT("}");
    FC_FLASH_PUT("fc_bring_set();");
    FC_FLASH_PUT("};");
    FC_FLASH_PUT("#pragma unroll 1");
    FC_FLASH_PUT("for (int ahead = 0; ahead < %u; ahead++) bring();", stages - 1);
}

void fc_flash_bring(fc_flash_gen *x) {
    for (unsigned set = FC_FLASH_ROWS; set <= FC_FLASH_RIGHT; set++) {
        const side s = side_of(x, set);
        begin_side(x, &s);
    }
    bring_side(x, FC_FLASH_ROWS, "all");
    bring_stages(x);
}
