/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_products.c - joined products: what tensor cores do (wgmma, sm_90).
 *
 * In: stages of shared memory, and weights in registers. Out: text of both products, sixteen
 * elements of k at a time: a group of four warps has 64 rows of the tile. The first product has
 * both operands in shared memory; its results lie in a thread as the second one wants its left
 * operand. There is another text for who emulates them. */
#include "codegen/cuda/cuda_flash_text.h"

enum { THREADS = FC_CUDA_THREADS, SIDE = FC_FLASH_SIDE, BLOCK = FC_FLASH_BLOCK };

/* Elements from one turn's columns to the next one's, in a stage. */
static unsigned turn_of(const fc_flash_gen *x) {
    return SIDE / x->cls->cuda.flash_turns * BLOCK;
}

static void put_list(fc_cuda_text *t, const char *format, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (i) fc_str_add(t->out, ", ");
        fc_str_printf(t->out, format, i);
    }
}

/* A function for 16 of k: of scores from two matrices in shared memory, the first of which start
 * from nothing; of sums with the left operand in registers. */
static void product(fc_flash_gen *x, const char *name, uint32_t part, unsigned n, bool first) {
    fc_cuda_text *t = fc_flash_frame(x);
    const char *half = fc_flash_half(x, part);
    fc_cuda_line(t, "FC_INLINE void %s(float (&c)[%u], %s, unsigned long long right) {", name, n,
                 part ? "const unsigned int *a" : "unsigned long long left");
    fc_cuda_indent(t);
    fc_str_printf(t->out, "asm volatile(\"wgmma.mma_async.sync.aligned.m64n%uk16.f32.%s.%s {",
                  2 * n, half, half);
    put_list(t, "%%%u", n);
    if (part)
        fc_str_printf(t->out, "}, {%%%u, %%%u, %%%u, %%%u}, %%%u, 1, 1, 1, 1;\" : ", n, n + 1,
                      n + 2, n + 3, n + 4);
    else
        fc_str_printf(t->out, "}, %%%u, %%%u, %d, 1, 1, 0, 0;\" : ", n, n + 1, !first);
    put_list(t, "\"+f\"(c[%u])", n);
    fc_str_printf(t->out, " : %s, \"l\"(right));\n",
                  part ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])" : "\"l\"(left)");
    fc_cuda_line(t, "}");
}

/* Waits for all products. */
static void settle(fc_flash_gen *x, const char *name, unsigned n) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "FC_INLINE void %s(float (&c)[%u]) {", name, n);
    fc_cuda_indent(t);
    fc_str_add(t->out, "asm volatile(\"wgmma.wait_group.sync.aligned 0;\" : ");
    put_list(t, "\"+f\"(c[%u])", n);
    fc_str_add(t->out, " :: \"memory\");\n");
    fc_cuda_line(t, "}");
}

void fc_flash_instructions(fc_flash_gen *x) {
    const unsigned scores = fc_flash_scores(x->cls), sums = fc_flash_sums(x->cls);
    fc_cuda_line(fc_flash_frame(x), "#ifndef FC_EMULATE");
    product(x, "fc_first_scores", 0, scores, true);
    product(x, "fc_more_scores", 0, scores, false);
    product(x, "fc_sums", x->f.n - 1, sums, false);
    settle(x, "fc_settle_scores", scores);
    settle(x, "fc_settle_sums", sums);
    fc_cuda_line(fc_flash_frame(x), "#endif");
}

/* c: sums of the first product; x: place for what its kernel makes of them. */
void fc_flash_first_product(fc_flash_gen *x, unsigned steps) {
    const unsigned n = fc_flash_scores(x->cls);
    FC_FLASH_PUT("float c[%u];", n);
    FC_FLASH_PUT("#ifdef FC_EMULATE");
    FC_FLASH_PUT("float *sums[%u];", n);
    FC_FLASH_PUT("for (int i = 0; i < %u; i++) c[i] = 0, sums[i] = c + i;", n);
    FC_FLASH_PUT("for (unsigned int d = 0; d < %u; d += 16)", steps * 16);
    FC_FLASH_PUT("    fc_group_product_%s<%u, 1, 1>(sums, all + d / 64 * %d + group * 4096, all + "
                 "%u + held + d / 64 * %d + turn * %u, d %% 64);",
                 fc_flash_half(x, 0), n / 4, FC_FLASH_ROOM, fc_flash_rows_room(x->cls),
                 FC_FLASH_ROOM, turn_of(x));
    FC_FLASH_PUT("#else");
    FC_FLASH_PUT("fc_group_begin();");
    for (unsigned d = 0; d < steps; d++) {
        const unsigned at = d / 4 * FC_FLASH_ROOM / 8 + d % 4 * 2;
        FC_FLASH_PUT(
            "fc_%s_scores(c, rows_matrix + %u, columns_matrix + %u + (held + turn * %u) / 8);",
            d ? "more" : "first", at, at, turn_of(x));
    }
    FC_FLASH_PUT("fc_group_go();");
    FC_FLASH_PUT("fc_settle_scores(c);");
    FC_FLASH_PUT("#endif");
    FC_FLASH_PUT("%s x[%u];", fc_flash_passed_type(x), n);
}

static void emulated_sums(fc_flash_gen *x, unsigned steps) {
    const unsigned right =
                       fc_flash_rows_room(x->cls) + fc_flash_blocks_of_k(x->cls) * FC_FLASH_ROOM,
                   n = fc_flash_sums(x->cls);
    FC_FLASH_PUT("for (int i = 0; i < %u; i++) {", fc_flash_scores(x->cls));
    FC_FLASH_PUT("const unsigned int on = thread / 32 * 16 + lane / 4 + i / 2 %% 2 * 8, off = i "
                 "/ 4 * 8 + lane %% 4 * 2 + i %% 2;");
    FC_FLASH_PUT("made[off / 64 * %d + on * 64 + (off / 8 %% 8 ^ on %% 8) * 8 + off %% 8] = "
                 "(unsigned short)(weights[i / 2] >> i %% 2 * 16);",
                 FC_FLASH_ROOM);
    FC_FLASH_PUT("}");
    FC_FLASH_PUT("__syncthreads();");
    FC_FLASH_PUT("float *all_sums[%u];", n);
    FC_FLASH_PUT("for (int i = 0; i < %u; i++) all_sums[i] = o + i;", n);
    FC_FLASH_PUT("for (unsigned int d = 0; d < %u; d += 16)", steps * 16);
    FC_FLASH_PUT("    for (int b = 0; b < %u; b++)", n / 32);
    FC_FLASH_PUT("        fc_group_product_%s<8, 1, 0>(all_sums + b * 32, made + d / 64 * %d + "
                 "group * 4096, all + %u + held + b * %d + turn * %u + d / 64 * 4096, d %% 64);",
                 fc_flash_half(x, x->f.n - 1), FC_FLASH_ROOM, right, FC_FLASH_ROOM, turn_of(x));
    FC_FLASH_PUT("__syncthreads();");
}

/* o += weights of a turn times what came with its columns. */
void fc_flash_last_product(fc_flash_gen *x, unsigned steps) {
    FC_FLASH_PUT("#ifdef FC_EMULATE");
    emulated_sums(x, steps);
    FC_FLASH_PUT("#else");
    FC_FLASH_PUT("fc_group_begin();");
    for (unsigned d = 0; d < steps; d++)
        FC_FLASH_PUT("fc_sums(o, weights + %u, right_matrix + %u + (held + turn * %u) / 8);", 4 * d,
                     d * 16 * BLOCK / 8, turn_of(x));
    FC_FLASH_PUT("fc_group_go();");
    FC_FLASH_PUT("fc_settle_sums(o);");
    FC_FLASH_PUT("#endif");
}

/* A chunk of the second product is complete: as in cuda_dot.c. */
void fc_flash_join_levels(fc_flash_gen *x) {
    const unsigned n = fc_flash_sums(x->cls);
    FC_FLASH_PUT("const unsigned int chunk = (unsigned int)(at / %u);", x->chunk);
    FC_FLASH_PUT("const bool here = at + %d < columns;", SIDE);
    FC_FLASH_PUT("const unsigned int full = here ? chunk & ~(chunk + 1) : chunk;");
    FC_FLASH_PUT("for (unsigned int l = 0; full >> l; l++)");
    FC_FLASH_PUT("    if (full >> l & 1)");
    FC_FLASH_PUT("#pragma unroll");
    FC_FLASH_PUT("        for (int i = 0; i < %u; i++) o[i] = levels[(l * %u + i) * %d] + o[i];", n,
                 n, THREADS);
    FC_FLASH_PUT("if (here) {");
    FC_FLASH_PUT("unsigned int l = 0;");
    FC_FLASH_PUT("while (chunk >> l & 1) l++;");
    FC_FLASH_PUT("#pragma unroll");
    FC_FLASH_PUT("for (int i = 0; i < %u; i++) levels[(l * %u + i) * %d] = o[i], o[i] = 0;", n, n,
                 THREADS);
    FC_FLASH_PUT("}");
}
