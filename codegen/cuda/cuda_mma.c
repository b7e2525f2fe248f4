/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_mma.c - contractions on tensor cores, of 16-bit operands, of f32 that may be rounded, of
 * integers of 8 bits or f64: how cuda_dot.c fills a stage of shared memory, and what it makes of
 * one.
 *
 * In: a kernel whose operands were cast from one 16-bit dtype, from i8 or u8, whose f32 a licence
 * lets be rounded (tf32), or of f64. Out: text. Bare arrays come as they are, 16 bytes of
 * neighbours at a time, and no thread waits; other operands are computed by the kernel's own code,
 * from what comes in the same way (cuda_mma_made.c) or one element at a time. A warp has `high`
 * pieces of 16 rows by `wide` of 8 columns, in registers, and where a tile has less of them than a
 * block has warps, the others only fetch. Sixteen elements of k (eight of f32) are one addition to
 * an accumulator, in order of k; that is the same for every tile, so results do not depend on it.
 */
#include "codegen/cuda/cuda_dot.h"
#include "ir/plant.h"

/* ---- bare operands --------------------------------------------------------------------------- */

void fc_mma_place(const fc_dot *d, const fc_dot_side *x, const char *line, const char *in) {
    if (d->tile->group)
        fc_wgmma_place(d, line, in);
    else
        fc_str_printf(d->g->t.out, "%s * %u + %s", line, x->line, in);
}

/* Where this thread's first group is: line and place in it. */
static void thread_place(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "const unsigned int %s_line = thread %% %u / %u;", x->name,
                 fc_dot_workers(d, x), fc_dot_groups_of_line(d, x));
    fc_cuda_line(t, "const unsigned int %s_in = thread %% %u * %u;", x->name,
                 fc_dot_groups_of_line(d, x), fc_cuda_tile_group(d->tile));
    fc_cuda_indent(t);
    fc_str_printf(t->out, "const unsigned int %s_to = fc_settled(", x->name);
    fc_mma_place(d, x, *x->name == 'x' ? "x_line" : "y_line", *x->name == 'x' ? "x_in" : "y_in");
    fc_str_add(t->out, ");\n");
}

/* Once a tile: the address of that group. */
static void begin_eights(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const uint32_t a = fc_cuda_bare_of(d->tile, &g->code, x->value);
    fc_cuda_line(t, "const %s *%s;", d->type, x->name);
    fc_dot_begin_first(d, x);
    fc_cuda_line(t,
                 d->half == FUSEC_I8 ? "%s = (const unsigned char *)a%u + b%u;" : "%s = a%u + b%u;",
                 x->name, (unsigned)g->k->accesses.at[a].buffer, (unsigned)a);
    fc_cuda_line(t, "}");
}

static void bring_eights(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    const uint32_t a = fc_cuda_bare_of(d->tile, &d->g->code, x->value);
    const unsigned down = fc_dot_lines_of_turn(d, x), lines = fc_dot_lines_of(d, x);
    if (lines < down) fc_cuda_line(t, "if (%s_line < %u) {", x->name, lines);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++)", lines < down ? 1 : lines / down);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "    fc_bring(stage + %u + %s_to + u * %u, %s + u * %u * ", x->from,
                  x->name, down * x->line, x->name, down);
    fc_dot_stride(d, x, a);
    fc_str_printf(t->out,
                  x->by_k ? ", (ix)%s_in < todo && u * %u < %s_rest);\n"
                          : ", (ix)%s_line + u * %u < todo && 0 < %s_rest);\n",
                  x->name, down, x->name);
    if (lines < down) fc_cuda_line(t, "}");
    fc_cuda_indent(t);
    fc_str_printf(t->out, "%s += %u", x->name, d->tile->depth);
    if (!x->by_k) fc_str_add(t->out, " * "), fc_dot_stride(d, x, a);
    fc_str_add(t->out, ";\n");
}

/* ---- operands that are computed -------------------------------------------------------------- */

/* Each thread's elements: neighbouring threads are neighbours along k, or along the rows. */
static void bring_ones(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    fc_dot_slice(d->g, fc_mma_narrow_of(d, x->value));
    fc_cuda_line(t, "#pragma unroll 4");
    fc_cuda_line(t, "for (unsigned int turn = thread; turn < %u; turn += %u) {",
                 x->side * d->tile->depth, fc_cuda_tile_threads(d->tile));
    fc_dot_turn_place(d, x);
    fc_dot_element(d, x, 1);
    fc_cuda_element(d->g);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "stage[%u + ", x->from);
    fc_mma_place(d, x, x->by_k ? "at" : "deep", x->by_k ? "deep" : "at");
    fc_str_add(t->out, "] = depth < count ? ");
    fc_mma_put_bits(d, x->value);
    fc_str_printf(t->out, " : (%s)0;\n", d->type);
    fc_cuda_line(t, "}");
}

/* ---- operands through a window --------------------------------------------------------------- */

static void bring_window(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    const unsigned down = fc_dot_lines_of_turn(d, x), lines = fc_dot_lines_of(d, x);
    if (lines < down) fc_cuda_line(t, "if (%s_line < %u)", x->name, lines);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", lines < down ? 1 : lines / down);
    fc_cuda_line(t, "const unsigned int %s = %s_line + u * %u, %s = %s_in;",
                 x->by_k ? "at" : "deep", x->name, down, x->by_k ? "deep" : "at", x->name);
    fc_dot_element(d, x, FC_CUDA_EIGHT);
    fc_dot_find_window(d, x);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "fc_bring(stage + %u + %s_to + u * %u, ", x->from, x->name,
                  down * x->line);
    fc_dot_window_at(d, x);
    fc_str_add(t->out, ", ");
    fc_dot_window_there(d, x);
    fc_str_add(t->out, ");\n");
    fc_cuda_line(t, "}");
}

/* ---- a step ---------------------------------------------------------------------------------- */

void fc_mma_fill(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned stages = d->g->cls->cuda.dot_stages;
    fc_cuda_line(t, "if (todo > 0) {");
    fc_cuda_line(t, "%s *const stage = all + fill;", d->type);
    for (int s = 0; s < 2; s++) {
        if (fc_cuda_is_made(d->x[s].reads))
            fc_made_ask(d, &d->x[s]);
        else if (d->x[s].reads == FC_CUDA_BY_ONE)
            bring_ones(d, &d->x[s]);
        else if (fc_cuda_is_at(d->x[s].reads))
            bring_window(d, &d->x[s]);
        else
            bring_eights(d, &d->x[s]);
    }
    fc_cuda_line(t, "todo -= %u;", d->tile->depth);
    fc_cuda_line(t, "fill = fill == %u ? 0 : fill + %u;", (stages - 1) * d->stage, d->stage);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "fc_bring_set();");
    if (fc_dot_makes(d)) fc_made_make(d);
}

void fc_mma_begin_tile(const fc_dot *d) {
    if (d->tile->piped) {
        fc_flat_begin_tile(d);
        return;
    }
    for (int s = 0; s < 2; s++)
        if (fc_cuda_is_made(d->x[s].reads))
            fc_made_begin(d, &d->x[s]);
        else if (d->x[s].reads == FC_CUDA_BY_ONE)
            fc_dot_begin_place(d, &d->x[s], d->x[s].side);
        else if (!fc_cuda_is_at(d->x[s].reads))
            begin_eights(d, &d->x[s]);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Words across k are read where they are: element lane / 4 of line lane % 4. */
static void word_place(const fc_dot *d, const fc_dot_side *x, const char *name, const char *at,
                       unsigned each) {
    fc_cuda_line(&d->g->t,
                 "const unsigned int %s_at = fc_settled(%u + lane %% 4 * %u + %s * %u + lane / 4);",
                 name, x->from, x->line, at, each);
}

/* And so are doubles, element lane % 4 of line lane / 4 of those along k. */
static void double_place(const fc_dot *d, const fc_dot_side *x, const char *name, const char *at,
                         unsigned each) {
    if (!x->by_k)
        word_place(d, x, name, at, each);
    else
        fc_cuda_line(&d->g->t,
                     "const unsigned int %s_at = fc_settled(%u + (%s * %u + lane / 4) * %u + lane "
                     "%% 4);",
                     name, x->from, at, each, x->line);
}

/* Bytes across k are lines of pairs; which four of k a lane gets is one of both. */
static void byte_place(const fc_dot *d, const fc_dot_side *x, const char *name, const char *at,
                       unsigned each) {
    fc_cuda_line(&d->g->t,
                 "const unsigned int %s_at = fc_settled(%u + fc_byte_line(lane) * %u + %s * %u);",
                 name, x->from, x->line, at, each);
}

static void place_across(const fc_dot *d, const fc_dot_side *x, const char *name, const char *at,
                         unsigned each) {
    (d->tile->bytes == 4 ? word_place : byte_place)(d, x, name, at, each);
}

/* Where the line of a piece begins that this lane tells: of 16 rows and 16 of k the upper rows come
 * first, of 8 columns and 16 of k the lower half of k, as the instruction wants them. Of words half
 * as many of k are as long, of bytes twice as many. */
static void lane_places(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const fc_dot_side *x = &d->x[0], *y = &d->x[1];
    const char *two = d->tile->wide > 1 ? "lane / 16 * 8" : "0";
    const unsigned high = 16 * d->tile->high, wide = 8 * d->tile->wide,
                   half = fc_cuda_tile_group(d->tile);
    if (d->tile->bytes == 8) {
        double_place(d, x, "left", "down", high);
        double_place(d, y, "right", "across", wide);
        return;
    }
    if (x->by_k)
        fc_cuda_line(t,
                     "const unsigned int left_at = fc_settled((down * %u + lane %% 16) * %u + "
                     "lane / 16 * %u);",
                     high, x->line, half);
    else if (d->tile->bytes)
        place_across(d, x, "left", "down", high);
    else
        fc_cuda_line(t,
                     "const unsigned int left_at = fc_settled((lane / 16 * 8 + lane %% 8) * %u + "
                     "down * %u + lane / 8 %% 2 * 8);",
                     x->line, high);
    if (y->by_k)
        fc_cuda_line(t,
                     "const unsigned int right_at = fc_settled(%u + (across * %u + %s + lane %% 8) "
                     "* %u + lane / 8 %% 2 * %u);",
                     y->from, wide, two, y->line, half);
    else if (d->tile->bytes)
        place_across(d, y, "right", "across", wide);
    else
        fc_cuda_line(t,
                     "const unsigned int right_at = fc_settled(%u + (lane / 8 %% 2 * 8 + "
                     "lane %% 8) * %u + across * %u + %s);",
                     y->from, y->line, wide, two);
}

/* The same of doubles: of 16 rows the upper one and that 8 below, or of 8 columns each one. */
static void take_doubles(const fc_dot *d, const fc_dot_side *x, const char *name, unsigned number,
                         unsigned n, unsigned first) {
    fc_cuda_text *t = &d->g->t;
    const unsigned place = x->by_k ? x->line : 1;
    fc_cuda_indent(t);
    fc_str_printf(t->out, "const double %s%u[%u] = {", name, number, n);
    for (unsigned i = 0; i < n; i++)
        fc_str_printf(t->out, "%sstage[%s_at + %u + q * %u]", i ? ", " : "", name,
                      (first + 8 * i) * place, x->by_k ? 1 : x->line);
    fc_str_add(t->out, "};\n");
}

/* Pieces `first` rows or columns further on, at k = q. */
static void take(const fc_dot *d, const fc_dot_side *x, const char *name, unsigned number,
                 unsigned n, unsigned first) {
    fc_cuda_text *t = &d->g->t;
    const bool left = x == d->x;
    if (d->tile->bytes == 8) {
        take_doubles(d, x, name, number, n / 2, first);
        return;
    }
    fc_cuda_line(t, "unsigned int %s%u[%u];", name, number, n);
    if (x->by_k)
        fc_cuda_line(t, "fc_pieces(%s%u, stage + %s_at + %u + q);", name, number, name,
                     first * x->line);
    else if (d->tile->bytes == 1)
        fc_cuda_line(t, "fc_bytes_turned<%d>(%s%u, stage + %s_at + q * %u + %u, lane);", left, name,
                     number, name, x->line, first);
    else if (d->tile->bytes)
        fc_cuda_line(t, "fc_words_across(%s%u, stage + %s_at + q * %u + %u, %u, %u);", name, number,
                     name, x->line, first, left ? 8 : 4 * x->line, left ? 4 * x->line : 8);
    else
        fc_cuda_line(t, "fc_pieces_turned(%s%u, stage + %s_at + q * %u + %u);", name, number, name,
                     x->line, first);
    if (d->tile->bytes == 4) fc_cuda_line(t, "fc_tf32(%s%u);", name, number);
}

void fc_mma_places(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "const unsigned int lane = thread %% 32;");
    fc_cuda_line(t, "const unsigned int down = thread / 32 / %u, across = thread / 32 %% %u;",
                 d->tile->across, d->tile->across);
    for (int s = 0; s < 2; s++)
        if (d->x[s].reads != FC_CUDA_BY_ONE && !d->tile->piped) thread_place(d, &d->x[s]);
    (d->tile->piped ? fc_flat_places : d->tile->group ? fc_wgmma_places : lane_places)(d);
}

void fc_mma_products(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned wide = d->tile->wide, by = wide > 1 ? 2 : 1, deep = fc_cuda_tile_deep(d->tile),
                   last = (d->g->cls->cuda.dot_stages - 1u) * d->stage;
    if (d->tile->group || d->tile->piped) {
        (d->tile->piped ? fc_flat_products : fc_wgmma_products)(d);
        return;
    }
    fc_cuda_line(t, "const %s *const stage = all + %s;", d->type,
                 FC_PLANT(dot_stage, "fill", "from"));
    fc_cuda_line(t, "from = from == %u ? 0 : from + %u;", last, d->stage);
    if (fc_cuda_tile_busy(d->tile) < FC_CUDA_THREADS)
        fc_cuda_line(t, "if (thread < %u)", fc_cuda_tile_busy(d->tile));
    fc_cuda_line(t, "#pragma unroll %d",
                 d->tile->high * wide > 1 && !d->tile->bytes ? 2 : d->tile->depth / deep);
    fc_cuda_line(t, "for (unsigned int q = 0; q < %u; q += %d) {", d->tile->depth, deep);
    for (unsigned i = 0; i < d->tile->high; i++) take(d, &d->x[0], "left", i, 4, 16 * i);
    for (unsigned j = 0; j < wide; j += by) take(d, &d->x[1], "right", j, 2 * by, 8 * j);
    for (unsigned i = 0; i < d->tile->high; i++)
        for (unsigned j = 0; j < wide; j++) {
            const unsigned c = (i * wide + j) * 4, y = j / by * by, half = j % by * 2;
            fc_cuda_indent(t);
            fc_str_printf(t->out, "fc_product_%s(c%u, c%u, c%u, c%u, left%u, ", fc_dot_feed(d), c,
                          c + 1, c + 2, c + 3, i);
            if (d->tile->bytes == 8)
                fc_str_printf(t->out, "right%u[%u]);\n", y, half / 2);
            else
                fc_str_printf(t->out, "right%u[%u], right%u[%u]);\n", y, half, y, half + 1);
        }
    fc_cuda_line(t, "}");
}
