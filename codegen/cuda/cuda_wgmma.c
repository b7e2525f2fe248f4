/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_wgmma.c - contractions of operands of 16 or 8 bits by groups of four warps (wgmma, sm_90):
 * what cuda_mma.c writes in another way there.
 *
 * In: a stage of shared memory, in lines of 128 bytes whose eight sixteens change places with the
 * number of the line. An operand by k has a line for each row (column), any other one for each
 * element of k, 64 rows (columns) after 64. Out: text. A group has 64 rows of the tile and all of
 * its columns; its products go on while the threads ask for the next stages, and are done a step
 * later. They are added in the order in which `mma` adds them, so the bits are the same. */
#include "codegen/cuda/cuda_dot.h"
#include "ir/plant.h"

enum { GROUP_ROWS = 64, LINE = 128 /* bytes */, ATOM = 8 * LINE };

static unsigned sums_of(const fc_dot *d) {
    return fc_cuda_tile_accumulators(d->tile);
}

void fc_wgmma_place(const fc_dot *d, const char *line, const char *in) {
    const unsigned each = fc_cuda_tile_group(d->tile), all = 8 * each;
    fc_str_printf(d->g->t.out, "%s / %u * %u + %s * %u + (%s / %u %% 8 ^ %s %% 8) * %u + %s %% %u",
                  in, all, all * all, line, all, in, each, line, each, in, each);
}

/* How the instructions find the operands in the first stage: bits of the address, what lies between
 * 64 rows (columns) and the next where lines are across k, and between 8 lines and the next. */
void fc_wgmma_places(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const fc_dot_side *y = &d->x[1];
    fc_cuda_line(t, "const unsigned int group = thread / 128;");
    fc_cuda_line(t, "#ifndef FC_EMULATE");
    fc_cuda_line(t, "const unsigned long long left_matrix = fc_matrix(all + group * %u, %d, %d);",
                 GROUP_ROWS * d->tile->depth, ATOM * 8, ATOM);
    fc_cuda_line(t, "const unsigned long long right_matrix = fc_matrix(all + %u, %d, %d);", y->from,
                 ATOM * 8, ATOM);
    fc_cuda_line(t, "#endif");
}

/* Appends all sums of a thread, each as the format has it. */
static void put_sums(const fc_dot *d, const char *format) {
    for (unsigned i = 0; i < sums_of(d); i++) {
        if (i) fc_str_add(d->g->t.out, ", ");
        fc_str_printf(d->g->t.out, format, i);
    }
}

static void emulated(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "#ifdef FC_EMULATE");
    fc_cuda_indent(t);
    fc_str_printf(t->out, "%s *const sums[] = {", fc_cuda_type(d->t));
    put_sums(d, "&c%u");
    fc_str_add(t->out, "};\n");
    fc_cuda_line(
        t, "fc_group_product_%s<%u, %d, %d>(sums, all + held + group * %u, all + held + %u, q);",
        fc_dot_feed(d), d->tile->wide, d->x[0].by_k, d->x[1].by_k, GROUP_ROWS * d->tile->depth,
        d->x[1].from);
    fc_cuda_line(t, "#else");
}

/* Signs of integers, or the dtype of both operands; and what transposes them, which integers can't
 * be. */
static void instruction(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned n = sums_of(d), deep = fc_cuda_tile_deep(d->tile),
                   each = fc_cuda_tile_group(d->tile);
    const bool bytes = d->tile->bytes == 1;
    const char *feed = fc_dot_feed(d);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "asm volatile(\"wgmma.mma_async.sync.aligned.m64n%uk%u.",
                  8u * d->tile->wide, deep);
    if (bytes)
        fc_str_printf(t->out, "s32.%.2s.%s {", feed, feed + 3);
    else
        fc_str_printf(t->out, "f32.%s.%s {", feed, feed);
    put_sums(d, "%%%u");
    fc_str_printf(t->out, "}, %%%u, %%%u, 1", n, n + 1);
    if (!bytes) fc_str_printf(t->out, ", 1, 1, %d, %d", !d->x[0].by_k, !d->x[1].by_k);
    fc_str_add(t->out, ";\" : ");
    put_sums(d, bytes ? "\"+r\"(c%u)" : "\"+f\"(c%u)");
    /* addresses are in units of 16 bytes: what is multiplied at once is 2 of them, or lines */
    fc_str_printf(t->out,
                  " : \"l\"(left_matrix + (held + q * %u) / %u), \"l\"(right_matrix + (held + q * "
                  "%u) / %u));\n",
                  d->x[0].by_k ? 1u : 8 * each, each, d->x[1].by_k ? 1u : 8 * each, each);
}

void fc_wgmma_multiply(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "fc_group_begin();");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (unsigned int q = 0; q < %u; q += %u) {", d->tile->depth,
                 fc_cuda_tile_deep(d->tile));
    emulated(d);
    instruction(d);
    fc_cuda_line(t, "#endif");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "fc_group_end();");
}

void fc_wgmma_products(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned last = (d->g->cls->cuda.dot_stages - 1u) * d->stage;
    fc_cuda_line(t, "const unsigned int held = %s;", FC_PLANT(dot_stage, "fill", "from"));
    fc_cuda_line(t, "from = from == %u ? 0 : from + %u;", last, d->stage);
    fc_wgmma_multiply(d);
}

void fc_wgmma_settle(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "#ifndef FC_EMULATE");
    fc_cuda_indent(t);
    fc_str_add(t->out, "asm volatile(\"wgmma.wait_group.sync.aligned 0;\" : ");
    put_sums(d, d->tile->bytes == 1 ? "\"+r\"(c%u)" : "\"+f\"(c%u)");
    fc_str_add(t->out, " :: \"memory\");\n");
    fc_cuda_line(t, "#endif");
}
