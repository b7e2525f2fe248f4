/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_mma.c - contractions of 16-bit operands on tensor cores: a block makes a tile of results,
 * each of its warps `high` pieces of 16 rows by `wide` of 8 columns, in registers.
 *
 * In: a kernel of FC_SCHED_DOT whose operands were cast from one 16-bit dtype. Out: a block that
 * walks over tiles of one of fc_cuda_tiles:
 *
 *     for each step of `depth` elements of k
 *         wait until its stage of shared memory is filled
 *         ask for the stage that lies `stages` - 1 steps ahead: bare arrays come as they are, eight
 *         neighbours at a time, and no thread waits; other operands are computed by the kernel's
 *         own code, one element at a time
 *         take pieces from shared memory, and their products into the accumulators
 *         after each chunk of FC_DOT_CHUNK16 the results meet the levels of a binary counter, as in
 *         cuda_dot.c
 *     results change places through shared memory, so that neighbouring threads have neighbouring
 *     columns, and run the kernel's code behind the product; one copy of that
 *
 * Sixteen elements of k are one addition to an accumulator, in order of k; that is the same for
 * every tile, so results do not depend on it. Elements of k past the end are zero in both operands,
 * rows and columns past the end are the last ones again, and nobody stores them. */
#include "codegen/cuda/cuda.h"
#include "ir/plant.h"

enum { EIGHT = 8, SIXTEEN = 16, DEEP = 16 };

typedef struct operand {
    fc_val value;
    unsigned axis; /* of its rows (columns); the number of kept axes: it has one */
    unsigned side; /* of them in a tile */
    fc_cuda_reads reads;
    bool by_k;           /* lines in shared memory are along k */
    unsigned line, from; /* elements of a line; where it begins in a stage */
    const char *at, *size, *name;
} operand;

typedef struct mma {
    fc_cuda_gen *g;
    const fc_cuda_tile *tile;
    operand x[2];   /* of the rows, of the columns */
    unsigned stage; /* elements */
    fusec_dtype half;
} mma;

/* ---- operands -------------------------------------------------------------------------------- */

/* The 16-bit value behind an operand, if the cast is not folded. */
static fc_val narrow_of(const mma *d, fc_val v) {
    const fc_instr *i = &d->g->code.ins.at[v];
    return i->op == FC_OP_CVT && d->g->code.ins.at[i->a].dtype == d->half ? i->a : v;
}

static void put_bits(const mma *d, fc_val v) {
    fc_cuda_text *t = &d->g->t;
    const fc_val narrow = narrow_of(d, v);
    if (narrow != v) {
        fc_cuda_to_storage(t, narrow);
        return;
    }
    fc_str_printf(t->out, "fc_%s_bits(", d->half == FUSEC_F16 ? "f16" : "bf16");
    fc_cuda_operand(t, v);
    fc_str_char(t->out, ')');
}

/* ---- bare operands --------------------------------------------------------------------------- */

/* Groups of eight that lie side by side along a line, and how many lines a turn of all threads is
 * below the one before. */
static unsigned groups_of_line(const mma *d, const operand *x) {
    return (x->by_k ? d->tile->depth : x->side) / EIGHT;
}
static unsigned lines_of_turn(const mma *d, const operand *x) {
    return FC_CUDA_THREADS / groups_of_line(d, x);
}
static unsigned lines_of(const mma *d, const operand *x) {
    return x->by_k ? x->side : d->tile->depth;
}

/* Where this thread's first group is: line and place in it. */
static void thread_place(const mma *d, const operand *x) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "const unsigned int %s_line = thread / %u;", x->name, groups_of_line(d, x));
    fc_cuda_line(t, "const unsigned int %s_in = thread %% %u * %d;", x->name, groups_of_line(d, x),
                 EIGHT);
    fc_cuda_line(t, "const unsigned int %s_to = fc_settled(%s_line * %u + %s_in);", x->name,
                 x->name, x->line, x->name);
}

/* Appends the elements from one line to the next. */
static void stride(const mma *d, const operand *x) {
    const unsigned axis = x->by_k ? x->axis : d->g->np;
    const uint32_t a = fc_cuda_bare(&d->g->code, x->value);
    if (axis == d->g->np && x->by_k)
        fc_str_add(d->g->t.out, "0");
    else
        fc_str_printf(d->g->t.out, "p.w[%u]", fc_cuda_word(d->g, a) + 1 + axis);
}

/* Once a tile: the address of this thread's first group in the first step, which need not exist;
 * which of its rows (columns), counted from there, are the last. */
static void begin_eights(const mma *d, const operand *x, const operand *other) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const uint32_t a = fc_cuda_bare(&g->code, x->value);
    const char *at = x->by_k ? "line" : "in";
    fc_cuda_line(t, "const unsigned short *%s;", x->name);
    fc_cuda_line(t, "const ix %s_rest = %s - %s - (ix)%s_%s;", x->name, x->size, x->at, x->name,
                 at);
    fc_cuda_line(t, "{");
    if (x->axis < g->np)
        fc_cuda_line(t, "const ix i%u = %s + (ix)%s_%s;", x->axis, x->at, x->name, at);
    if (other->axis < g->np) fc_cuda_line(t, "const ix i%u = 0;", other->axis);
    fc_cuda_line(t, "const ix j0 = (ix)%s_%s;", x->name, x->by_k ? "in" : "line");
    fc_cuda_bases(g, g->axes);
    fc_cuda_line(t, "%s = a%u + b%u;", x->name, (unsigned)g->k->accesses.at[a].buffer, (unsigned)a);
    fc_cuda_line(t, "}");
}

static void bring_eights(const mma *d, const operand *x) {
    fc_cuda_text *t = &d->g->t;
    const unsigned down = lines_of_turn(d, x), lines = lines_of(d, x);
    if (lines < down) fc_cuda_line(t, "if (%s_line < %u) {", x->name, lines);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++)", lines < down ? 1 : lines / down);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "    fc_bring(stage + %u + %s_to + u * %u, %s + u * %u * ", x->from,
                  x->name, down * x->line, x->name, down);
    stride(d, x);
    fc_str_printf(t->out,
                  x->by_k ? ", (ix)%s_in < todo && u * %u < %s_rest);\n"
                          : ", (ix)%s_line + u * %u < todo && 0 < %s_rest);\n",
                  x->name, down, x->name);
    if (lines < down) fc_cuda_line(t, "}");
    fc_cuda_indent(t);
    fc_str_printf(t->out, "%s += %u", x->name, d->tile->depth);
    if (!x->by_k) fc_str_add(t->out, " * "), stride(d, x);
    fc_str_add(t->out, ";\n");
}

/* ---- operands that are computed -------------------------------------------------------------- */

/* Each thread's elements: neighbouring threads are neighbours along k, or along the rows. */
static void bring_ones(const mma *d, const operand *x, const operand *other) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const unsigned depth = d->tile->depth, fast = x->by_k ? depth : x->side;
    fc_cuda_value_slice(g, narrow_of(d, x->value));
    fc_cuda_line(t, "#pragma unroll 4");
    fc_cuda_line(t, "for (unsigned int turn = thread; turn < %u; turn += %d) {", x->side * depth,
                 FC_CUDA_THREADS);
    fc_cuda_line(t, "const unsigned int %s = turn %% %u, %s = turn / %u;", x->by_k ? "deep" : "at",
                 fast, x->by_k ? "at" : "deep", fast);
    fc_cuda_line(t, "const ix place = %s + (ix)at, depth = count - todo + (ix)deep;", x->at);
    if (x->axis < g->np)
        fc_cuda_line(t, "const ix i%u = place < %s ? place : %s - 1;", x->axis, x->size, x->size);
    if (other->axis < g->np) fc_cuda_line(t, "const ix i%u = 0;", other->axis);
    fc_cuda_line(t, "const ix element = depth < count ? depth : count - 1;");
    fc_cuda_indices(g, g->np, g->axes, "element");
    fc_cuda_bases(g, g->axes);
    fc_cuda_element(g);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "stage[%u + %s * %u + %s] = depth < count ? ", x->from,
                  x->by_k ? "at" : "deep", x->line, x->by_k ? "deep" : "at");
    put_bits(d, x->value);
    fc_str_add(t->out, " : (unsigned short)0;\n");
    fc_cuda_line(t, "}");
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void bring(const mma *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned stages = d->g->cls->cuda.dot_stages;
    fc_cuda_line(t, "if (todo > 0) {");
    fc_cuda_line(t, "unsigned short *const stage = all + fill;");
    for (int s = 0; s < 2; s++) {
        if (d->x[s].reads == FC_CUDA_BY_ONE)
            bring_ones(d, &d->x[s], &d->x[!s]);
        else
            bring_eights(d, &d->x[s]);
    }
    fc_cuda_line(t, "todo -= %u;", d->tile->depth);
    fc_cuda_line(t, "fill = fill == %u ? 0 : fill + %u;", (stages - 1) * d->stage, d->stage);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "fc_bring_set();");
}

/* ---- products -------------------------------------------------------------------------------- */

/* Where the line of a piece begins that this lane tells: of 16 rows and 16 of k the upper rows come
 * first, of 8 columns and 16 of k the lower half of k, as the instruction wants them. */
static void lane_places(const mma *d) {
    fc_cuda_text *t = &d->g->t;
    const operand *x = &d->x[0], *y = &d->x[1];
    const char *two = d->tile->wide > 1 ? "lane / 16 * 8" : "0";
    const unsigned high = 16 * d->tile->high, wide = 8 * d->tile->wide;
    if (x->by_k)
        fc_cuda_line(t,
                     "const unsigned int left_at = fc_settled((down * %u + lane %% 16) * %u + "
                     "lane / 16 * 8);",
                     high, x->line);
    else
        fc_cuda_line(t,
                     "const unsigned int left_at = fc_settled((lane / 16 * 8 + lane %% 8) * %u + "
                     "down * %u + lane / 8 %% 2 * 8);",
                     x->line, high);
    if (y->by_k)
        fc_cuda_line(t,
                     "const unsigned int right_at = fc_settled(%u + (across * %u + %s + lane %% 8) "
                     "* %u + lane / 8 %% 2 * 8);",
                     y->from, wide, two, y->line);
    else
        fc_cuda_line(t,
                     "const unsigned int right_at = fc_settled(%u + (lane / 8 %% 2 * 8 + "
                     "lane %% 8) * %u + across * %u + %s);",
                     y->from, y->line, wide, two);
}

/* Pieces `first` rows or columns further on, at k = q. */
static void take(const mma *d, const operand *x, const char *name, unsigned number, unsigned n,
                 unsigned first) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "unsigned int %s%u[%u];", name, number, n);
    if (x->by_k)
        fc_cuda_line(t, "fc_pieces(%s%u, stage + %s_at + %u + q);", name, number, name,
                     first * x->line);
    else
        fc_cuda_line(t, "fc_pieces_turned(%s%u, stage + %s_at + q * %u + %u);", name, number, name,
                     x->line, first);
}

static void products(const mma *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned wide = d->tile->wide, by = wide > 1 ? 2 : 1,
                   last = (d->g->cls->cuda.dot_stages - 1u) * d->stage;
    fc_cuda_line(t, "const unsigned short *const stage = all + %s;",
                 FC_PLANT(dot_stage, "fill", "from"));
    fc_cuda_line(t, "from = from == %u ? 0 : from + %u;", last, d->stage);
    fc_cuda_line(t, "#pragma unroll 2");
    fc_cuda_line(t, "for (unsigned int q = 0; q < %u; q += %d) {", d->tile->depth, DEEP);
    for (unsigned i = 0; i < d->tile->high; i++) take(d, &d->x[0], "left", i, 4, 16 * i);
    for (unsigned j = 0; j < wide; j += by) take(d, &d->x[1], "right", j, 2 * by, 8 * j);
    for (unsigned i = 0; i < d->tile->high; i++)
        for (unsigned j = 0; j < wide; j++) {
            const unsigned c = (i * wide + j) * 4, y = j / by * by, half = j % by * 2;
            fc_cuda_line(t, "fc_product_%s(c%u, c%u, c%u, c%u, left%u, right%u[%u], right%u[%u]);",
                         d->half == FUSEC_F16 ? "f16" : "bf16", c, c + 1, c + 2, c + 3, i, y, half,
                         y, half + 1);
        }
    fc_cuda_line(t, "}");
}

static unsigned accumulators(const mma *d) {
    return 4u * d->tile->high * d->tile->wide;
}

static void steps(const mma *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned stages = d->g->cls->cuda.dot_stages;
    fc_cuda_line(t, "unsigned int fill = 0, from = 0;");
    fc_cuda_line(t, "ix todo = count;");
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = -%u; step < steps; step++) {", stages - 1);
    fc_cuda_line(t, "if (step >= 0) {");
    fc_cuda_line(t, "fc_brought<%u>();", stages - 2);
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "}");
    bring(d);
    fc_cuda_line(t, "if (step < 0) continue;");
    products(d);
    fc_cuda_line(t, "const bool here = step + 1 < steps;");
    fc_cuda_line(t, "if (!here || (step + 1) %% %u == 0) {", FC_DOT_CHUNK16 / d->tile->depth);
    fc_cuda_line(t, "const unsigned int chunk = (unsigned int)(step / %u);",
                 FC_DOT_CHUNK16 / d->tile->depth);
    fc_cuda_meet_levels(t, "float", accumulators(d));
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
}

/* ---- results --------------------------------------------------------------------------------- */

/* One piece of each warp's rows at a time. */
static void put_pieces(const mma *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned wide = d->tile->wide, columns = d->x[1].side;
    for (unsigned i = 0; i < d->tile->high; i++) {
        fc_cuda_line(t, "if (piece == %u) {", i);
        for (unsigned c = 0; c < 4 * wide; c++)
            fc_cuda_line(t, "turned[mine + %u] = c%u;",
                         c / 4 * EIGHT + c % 4 / 2 * EIGHT * columns + c % 2, i * 4 * wide + c);
        fc_cuda_line(t, "}");
    }
}

static void result(const mma *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const operand *x = &d->x[0], *y = &d->x[1];
    fc_cuda_line(t, "const unsigned int row = e / %u;", y->side);
    fc_cuda_line(t, "const ix down_at = m0 + (ix)((row / 16 * %u + piece) * 16 + row %% 16);",
                 d->tile->high);
    fc_cuda_line(t, "const ix across_at = n0 + (ix)(e %% %u);", y->side);
    fc_cuda_line(t, "if (down_at < %s && across_at < %s) {", x->size, y->size);
    if (x->axis < g->np) fc_cuda_line(t, "const ix i%u = down_at;", x->axis);
    if (y->axis < g->np) fc_cuda_line(t, "const ix i%u = across_at;", y->axis);
    fc_cuda_line(t, "red0 sum;");
    fc_cuda_line(t, "sum.c0 = turned[e];");
    fc_cuda_line(t, "const float f0 = red0_finish(sum, (long long)count);");
    if (fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW)) {
        fc_cuda_bases(g, g->np);
        fc_cuda_row(g);
        fc_cuda_row_stores(g);
    }
    fc_cuda_line(t, "}");
}

static void results(const mma *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned columns = d->x[1].side;
    fc_cuda_line(t, "fc_brought<0>();");
    fc_cuda_line(
        t, "const unsigned int mine = (down * 16 + lane / 4) * %u + across * %u + lane %% 4 * 2;",
        columns, d->tile->wide * EIGHT);
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (unsigned int piece = 0; piece < %u; piece++) {", d->tile->high);
    fc_cuda_line(t, "__syncthreads();");
    put_pieces(d);
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (unsigned int e = thread; e < %u; e += %d) {",
                 d->tile->down * SIXTEEN * columns, FC_CUDA_THREADS);
    result(d);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static operand operand_of(fc_cuda_gen *g, const fc_cuda_tile *tile, bool columns) {
    const bool right = columns != (bool)g->cls->cuda.dot_swapped;
    operand x = {.value = fc_cuda_red_value(g, 0)[right],
                 .axis = columns ? g->cls->cuda.dot_across : g->cls->cuda.dot_axis,
                 .side = columns ? fc_cuda_tile_columns(tile) : fc_cuda_tile_rows(tile),
                 .reads = columns ? g->cls->cuda.dot_right : g->cls->cuda.dot_left,
                 .name = columns ? "y" : "x",
                 .at = columns ? "n0" : "m0",
                 .size = columns ? "columns" : "down_size"};
    fc_cuda_value_slice(g, x.value);
    x.by_k = x.reads == FC_CUDA_BY_K || (x.reads == FC_CUDA_BY_ONE && fc_cuda_reads_along_k(g));
    x.line = fc_cuda_tile_line(tile, x.side, x.by_k);
    return x;
}

/* The tile of a number: columns fastest, then rows, then the other axes. */
static void place(const mma *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    fc_cuda_line(t, "ix rest = fc_quotient(number, wide);");
    fc_cuda_line(t, "const ix n0 = (number - rest * wide) * %u;", d->x[1].side);
    fc_cuda_line(t, "const ix over = fc_quotient(rest, high), m0 = (rest - over * high) * %u;",
                 d->x[0].side);
    fc_cuda_line(t, "rest = over;");
    for (unsigned axis = g->np; axis-- > 0;) {
        if (axis == d->x[0].axis || axis == d->x[1].axis) continue;
        const unsigned extent = g->l.extents + axis;
        fc_cuda_line(t, "const ix i%u = rest - fc_quotient(rest, (ix)p.w[%u]) * (ix)p.w[%u];", axis,
                     extent, extent);
        fc_cuda_line(t, "rest = fc_quotient(rest, (ix)p.w[%u]);", extent);
    }
}

static void sizes(const mma *d) {
    fc_cuda_gen *g = d->g;
    for (int s = 0; s < 2; s++) {
        const operand *x = &d->x[s];
        if (x->axis < g->np)
            fc_cuda_line(&g->t, "const ix %s = (ix)p.w[%u];", x->size, g->l.extents + x->axis);
        else
            fc_cuda_line(&g->t, "const ix %s = 1;", x->size);
        fc_cuda_line(&g->t, "const ix %s = (%s + %u) / %u;", s ? "wide" : "high", x->size,
                     x->side - 1, x->side);
    }
}

static void shared(const mma *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned held = d->g->cls->cuda.dot_stages * d->stage * 2,
                   turned = d->tile->down * SIXTEEN * d->x[1].side * 4;
    fc_cuda_line(t, "#ifdef FC_EMULATE");
    fc_cuda_line(t, "__shared__ fc_vec<double, 2, 16> room[%u];",
                 (held > turned ? held : turned) / 16);
    fc_cuda_line(t, "#else");
    fc_cuda_line(t, FC_CUDA_EXTERN_ROOM);
    fc_cuda_line(t, "#endif");
    fc_cuda_line(t, "unsigned short *const all = (unsigned short *)room;");
    fc_cuda_line(t, "float *const turned = (float *)room;");
}

void fc_cuda_emit_mma(fc_cuda_gen *g) {
    const fc_cuda_tile *tile = &fc_cuda_tiles[g->cls->cuda.dot_tile];
    fc_cuda_text *t = &g->t;
    mma d = {.g = g, .tile = tile, .half = (fusec_dtype)g->k->reductions.at[0].half};
    for (int s = 0; s < 2; s++) d.x[s] = operand_of(g, tile, s);
    d.x[1].from = fc_cuda_tile_room(tile, d.x[0].side, d.x[0].by_k);
    d.stage = d.x[1].from + fc_cuda_tile_room(tile, d.x[1].side, d.x[1].by_k);
    fc_cuda_line(t, "const auto dot_join = [](float a, float b) { return a + b; };");
    shared(&d);
    fc_cuda_line(t, "const unsigned int thread = threadIdx.x, lane = thread %% 32;");
    fc_cuda_line(t, "const unsigned int down = thread / 32 / %u, across = thread / 32 %% %u;",
                 tile->across, tile->across);
    fc_cuda_line(
        t,
        "float *const levels = (float *)p.w[%u] + (long long)blockIdx.x * p.w[%u] * %u + thread;",
        g->l.extra + FC_PB_WORKSPACE, g->l.extra + FC_PB_SPANS, accumulators(&d) * FC_CUDA_THREADS);
    sizes(&d);
    for (int s = 0; s < 2; s++)
        if (d.x[s].reads != FC_CUDA_BY_ONE) thread_place(&d, &d.x[s]);
    lane_places(&d);
    fc_cuda_line(t, "const ix tiles = (ix)p.w[%u], steps = (count + %u) / %u;",
                 g->l.extra + FC_PB_SPAN, tile->depth - 1, tile->depth);
    fc_cuda_line(t, "for (ix number = blockIdx.x; number < tiles; number += gridDim.x) {");
    place(&d);
    for (int s = 0; s < 2; s++)
        if (d.x[s].reads != FC_CUDA_BY_ONE) begin_eights(&d, &d.x[s], &d.x[!s]);
    for (unsigned i = 0; i < accumulators(&d); i++) fc_cuda_line(t, "float c%u = 0;", i);
    steps(&d);
    results(&d);
    fc_cuda_line(t, "}");
}
