/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot.c - contractions: a block makes a tile of results, each thread `dot_tile` squared of
 * them in registers.
 *
 * In: a kernel of FC_SCHED_DOT whose rows are along the axis `dot_axis` and whose columns are along
 * the innermost kept axis (codegen/dot.h). Out: a block that walks over tiles, SIDE rows and
 * columns each:
 *
 *     for each step of DEPTH elements of k
 *         every thread computes some elements of either operand, by the kernel's own code, into
 *         registers (of a bare array four neighbours come at once); meanwhile it takes the step
 * before from shared memory into its chains of fma after each chunk of FC_DOT_CHUNK the results
 * meet the levels of a binary counter, which lie in the workspace, a row of threads side by side;
 * one copy of that code the registers go to the other of two stages of shared memory results change
 * places through shared memory, so that neighbouring threads have neighbouring columns, and run the
 * kernel's code behind the product; one copy of that, too
 *
 * Integers of 8 bits, or of whose sums the lower 32 bits are looked at, have accumulators of 32.
 *
 * Elements of k past the end are zero in both operands, rows and columns past the end are the last
 * ones again, and nobody stores them. One name an accumulator and rolled loops: that is what NVRTC
 * compiles soon. */
#include "codegen/cuda/cuda.h"
#include "ir/plant.h"

enum { DEPTH = 16, PAD = 4, GRID = FC_CUDA_DOT_GRID };

typedef struct dot {
    fc_cuda_gen *g;
    unsigned tile, side, stages; /* of shared memory, in bytes */
    unsigned down, across;       /* axes */
    fusec_dtype t;
    const char *type;
} dot;

static unsigned side_of(unsigned tile) {
    return tile * GRID;
}
static unsigned row_of(const dot *d) { /* elements, of a row in shared memory */
    return d->side + PAD;
}

/* ---- elements of the operands ---------------------------------------------------------------- */

void fc_cuda_value_slice(fc_cuda_gen *g, fc_val root) {
    memset(g->need, 0, g->code.ins.len);
    fc_kernel_slice(&g->code, &root, 1, g->need);
    memset(g->used, 0, g->k->accesses.len);
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->need[v]) continue;
        if (i->op == FC_OP_LOAD) g->used[i->imm] |= FC_CUDA_LOADS;
        if (i->op == FC_OP_INDEX) g->used[i->imm] |= FC_CUDA_INDEXES;
    }
}

bool fc_cuda_reads_along_k(const fc_cuda_gen *g) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->used[a] & FC_CUDA_LOADS && fc_class_move(g->cls, a, g->axes - 1) == FC_MOVE_ONE)
            return true;
    return false;
}

/* Element `at` (m or n) and `deep` (k) of thread's u-th load. */
static void element_place(const dot *d, bool k_fast) {
    fc_cuda_text *t = &d->g->t;
    const unsigned every = FC_CUDA_THREADS / (k_fast ? DEPTH : d->side);
    if (k_fast) {
        fc_cuda_line(t, "const unsigned int deep = thread %% %d;", DEPTH);
        fc_cuda_line(t, "const unsigned int at = thread / %d + u * %u;", DEPTH, every);
    } else {
        fc_cuda_line(t, "const unsigned int at = thread %% %u;", d->side);
        fc_cuda_line(t, "const unsigned int deep = thread / %u + u * %u;", d->side, every);
    }
}

static unsigned loads_of(const dot *d) {
    return d->side * DEPTH / FC_CUDA_THREADS;
}

static fc_cuda_reads reads_of(const dot *d, bool left) {
    return (fc_cuda_reads)(left ? d->g->cls->cuda.dot_left : d->g->cls->cuda.dot_right);
}

/* Four neighbours along k or along the rows (columns) of bare arrays. */
static void quad_place(const dot *d, bool by_k) {
    fc_cuda_text *t = &d->g->t;
    const unsigned groups = (by_k ? DEPTH : d->side) / 4, every = FC_CUDA_THREADS / groups;
    fc_cuda_line(t, "const unsigned int %s = thread %% %u * 4, %s = thread / %u + u * %u;",
                 by_k ? "deep" : "at", groups, by_k ? "at" : "deep", groups, every);
}

static void load_quads(const dot *d, bool left, bool by_k) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const unsigned axis = left ? d->down : d->across, other = left ? d->across : d->down;
    const fc_val value = fc_cuda_red_value(g, 0)[left ? 0 : 1];
    const uint32_t a = (uint32_t)g->code.ins.at[value].imm;
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", loads_of(d) / 4);
    quad_place(d, by_k);
    fc_cuda_line(t, "const ix place = %s + (ix)at, depth = step * %d + (ix)deep;",
                 left ? "m0" : "n0", DEPTH);
    fc_cuda_line(t, "const ix size = (ix)p.w[%u];", g->l.extents + axis);
    fc_cuda_line(t, "const ix i%u = place < size ? place : size - %d, i%u = 0;", axis, by_k ? 1 : 4,
                 other);
    fc_cuda_line(t, "const ix j0 = depth < count ? depth : count - %d;", by_k ? 4 : 1);
    fc_cuda_bases(g, g->axes);
    fc_cuda_line(t, "%s[u] = depth < count ? *(const quad *)(a%u + b%u) : quad{};",
                 left ? "left" : "right", (unsigned)g->k->accesses.at[a].buffer, (unsigned)a);
    fc_cuda_line(t, "}");
}

static void put_quads(const dot *d, bool left, bool by_k) {
    fc_cuda_text *t = &d->g->t;
    const char *stage = left ? "stage_left" : "stage_right", *from = left ? "left" : "right";
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", loads_of(d) / 4);
    quad_place(d, by_k);
    fc_cuda_line(t, "%s *const to = %s + ((unsigned int)step & 1) * %u + deep * %u + at;", d->type,
                 stage, DEPTH * row_of(d), row_of(d));
    for (unsigned e = 0; e < 4 && by_k; e++)
        fc_cuda_line(t, "to[%u] = %s[u].e[%u];", e * row_of(d), from, e);
    if (!by_k) fc_cuda_line(t, "*(quad *)to = %s[u];", from);
    fc_cuda_line(t, "}");
}

static void load_operand(const dot *d, bool left) {
    if (reads_of(d, left) != FC_CUDA_BY_ONE) {
        load_quads(d, left, reads_of(d, left) == FC_CUDA_BY_K);
        return;
    }
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const unsigned axis = left ? d->down : d->across, other = left ? d->across : d->down;
    const fc_val value = fc_cuda_red_value(g, 0)[left ? 0 : 1];
    fc_cuda_value_slice(g, value);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", loads_of(d));
    element_place(d, fc_cuda_reads_along_k(g));
    fc_cuda_line(t, "const ix place = %s + (ix)at, depth = step * %d + (ix)deep;",
                 left ? "m0" : "n0", DEPTH);
    fc_cuda_line(t, "const ix size = (ix)p.w[%u];", g->l.extents + axis);
    fc_cuda_line(t, "const ix i%u = place < size ? place : size - 1, i%u = 0;", axis, other);
    fc_cuda_line(t, "const ix element = depth < count ? depth : count - 1;");
    fc_cuda_indices(g, g->np, g->axes, "element");
    fc_cuda_bases(g, g->axes);
    fc_cuda_element(g);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "%s[u] = depth < count ? (%s)", left ? "left" : "right", d->type);
    fc_cuda_operand(t, value);
    fc_str_printf(t->out, " : (%s)0;\n", d->type);
    fc_cuda_line(t, "}");
}

static void put_operand(const dot *d, bool left) {
    if (reads_of(d, left) != FC_CUDA_BY_ONE) {
        put_quads(d, left, reads_of(d, left) == FC_CUDA_BY_K);
        return;
    }
    fc_cuda_gen *g = d->g;
    fc_cuda_value_slice(g, fc_cuda_red_value(g, 0)[left ? 0 : 1]);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %u; u++) {", loads_of(d));
    element_place(d, fc_cuda_reads_along_k(g));
    fc_cuda_line(&g->t, "%s[((unsigned int)step & 1) * %u + deep * %u + at] = %s[u];",
                 left ? "stage_left" : "stage_right", DEPTH * row_of(d), row_of(d),
                 left ? "left" : "right");
    fc_cuda_line(&g->t, "}");
}

/* ---- the chains ------------------------------------------------------------------------------ */

static unsigned accumulators(const dot *d) {
    return d->tile * d->tile;
}

static void chain(const dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned quads = d->tile / 4;
    fc_cuda_line(t, "const unsigned int from = ((unsigned int)step + %d & 1) * %u;",
                 FC_PLANT(dot_stage, 0, 1), DEPTH * row_of(d));
    fc_cuda_line(t, "#pragma unroll 2");
    fc_cuda_line(t, "for (unsigned int q = 0; q < %d; q++) {", DEPTH);
    for (unsigned h = 0; h < quads; h++) {
        fc_cuda_line(t,
                     "const quad x%u = *(const quad *)(stage_left + from + q * %u + ty * 4 + %u);",
                     h, row_of(d), h * 4 * GRID);
        fc_cuda_line(t,
                     "const quad y%u = *(const quad *)(stage_right + from + q * %u + tx * 4 + %u);",
                     h, row_of(d), h * 4 * GRID);
    }
    for (unsigned i = 0; i < d->tile; i++)
        for (unsigned j = 0; j < d->tile; j++)
            fc_cuda_line(t, "c%u = dot_step(x%u.e[%u], y%u.e[%u], c%u);", i * d->tile + j, i / 4,
                         i % 4, j / 4, j % 4, i * d->tile + j);
    fc_cuda_line(t, "}");
}

/* Takes in the levels of the chunk's trailing ones, after the last chunk all that are there. */
void fc_cuda_meet_levels(fc_cuda_text *t, const char *type, unsigned n) {
    fc_cuda_line(t, "const unsigned int full = here ? chunk & ~(chunk + 1) : chunk;");
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (unsigned int l = 0; full >> l; l++) {");
    fc_cuda_line(t, "if (!(full >> l & 1)) continue;");
    fc_cuda_line(t, "const %s *const held = levels + l * %u;", type, n * FC_CUDA_THREADS);
    for (unsigned i = 0; i < n; i++)
        fc_cuda_line(t, "c%u = dot_join(held[%u], c%u);", i, i * FC_CUDA_THREADS, i);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "if (here) {");
    fc_cuda_line(t, "unsigned int l = 0;");
    fc_cuda_line(t, "while (chunk >> l & 1) l++;");
    fc_cuda_line(t, "%s *const held = levels + l * %u;", type, n * FC_CUDA_THREADS);
    for (unsigned i = 0; i < n; i++)
        fc_cuda_line(t, "held[%u] = c%u, c%u = (%s)0;", i * FC_CUDA_THREADS, i, i, type);
    fc_cuda_line(t, "}");
}

static void steps(const dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = 0;; step++) {");
    fc_cuda_line(t, "const bool here = step * %d < count;", DEPTH);
    for (int s = 0; s < 2; s++) {
        const bool alone = reads_of(d, !s) == FC_CUDA_BY_ONE;
        fc_cuda_line(t, "%s %s[%u];", alone ? d->type : "quad", s ? "right" : "left",
                     alone ? loads_of(d) : loads_of(d) / 4);
    }
    fc_cuda_line(t, "if (here) {");
    load_operand(d, true);
    load_operand(d, false);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "if (step > 0) {");
    chain(d);
    fc_cuda_line(t, "if (!here || step %% %d == 0) {", FC_DOT_CHUNK / DEPTH);
    fc_cuda_line(t, "const unsigned int chunk = (unsigned int)((step - 1) / %d);",
                 FC_DOT_CHUNK / DEPTH);
    fc_cuda_meet_levels(t, d->type, accumulators(d));
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "if (!here) break;");
    put_operand(d, true);
    put_operand(d, false);
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "}");
}

/* ---- results --------------------------------------------------------------------------------- */

/* Rows of a half: those that one quad of each thread's rows makes. */
static void put_half(const dot *d, unsigned half) {
    fc_cuda_text *t = &d->g->t;
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < d->tile; j++)
            fc_cuda_line(t, "turned[(ty * 4 + %u) * %u + tx * 4 + %u] = c%u;", i, d->side,
                         j / 4 * 4 * GRID + j % 4, (half * 4 + i) * d->tile + j);
}

static void results(const dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const unsigned halves = d->tile / 4, rows = 4 * GRID;
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (unsigned int half = 0; half < %u; half++) {", halves);
    fc_cuda_line(t, "__syncthreads();");
    for (unsigned h = 0; h < halves; h++) {
        fc_cuda_line(t, "if (half == %u) {", h);
        put_half(d, h);
        fc_cuda_line(t, "}");
    }
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (unsigned int e = thread; e < %u; e += %d) {", rows * d->side,
                 FC_CUDA_THREADS);
    fc_cuda_line(t, "const ix i%u = m0 + (ix)(half * %u + e / %u), i%u = n0 + (ix)(e %% %u);",
                 d->down, rows, d->side, d->across, d->side);
    fc_cuda_line(t, "if (i%u < (ix)p.w[%u] && i%u < (ix)p.w[%u]) {", d->down,
                 g->l.extents + d->down, d->across, g->l.extents + d->across);
    fc_cuda_line(t, "red0 sum;");
    fc_cuda_line(t, "sum.c0 = turned[e];");
    fc_cuda_line(t, "const %s f0 = red0_finish(sum, (long long)count);",
                 fc_cuda_type((fusec_dtype)g->k->reductions.at[0].dtype));
    if (fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW)) {
        fc_cuda_bases(g, g->np);
        fc_cuda_row(g);
        fc_cuda_row_stores(g);
    }
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void functions(const dot *d) {
    fc_cuda_text *t = &d->g->t;
    const char *u = d->t == FUSEC_I32 ? "unsigned int" : "unsigned long long";
    fc_cuda_line(t, "typedef fc_vec<%s, 4, 16> quad;", d->type);
    fc_cuda_line(t, "const auto dot_step = [](%s x, %s y, %s c) {", d->type, d->type, d->type);
    if (fc_is_float(d->t))
        fc_cuda_line(t, "return fma%s(x, y, c);", d->t == FUSEC_F32 ? "f" : "");
    else
        fc_cuda_line(t, "return (%s)((%s)x * (%s)y + (%s)c);", d->type, u, u, u);
    fc_cuda_line(t, "};");
    fc_cuda_line(t, "const auto dot_join = [](%s a, %s b) {", d->type, d->type);
    if (fc_is_float(d->t))
        fc_cuda_line(t, "return a + b;");
    else
        fc_cuda_line(t, "return (%s)((%s)a + (%s)b);", d->type, u, u);
    fc_cuda_line(t, "};");
}

/* The tile of a number: columns fastest, then rows, then the other axes. */
static void place(const dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    fc_cuda_line(t, "ix rest = fc_quotient(number, wide);");
    fc_cuda_line(t, "const ix n0 = (number - rest * wide) * %u;", d->side);
    fc_cuda_line(t, "const ix over = fc_quotient(rest, high), m0 = (rest - over * high) * %u;",
                 d->side);
    fc_cuda_line(t, "rest = over;");
    for (unsigned axis = g->np; axis-- > 0;) {
        if (axis == d->down || axis == d->across) continue;
        const unsigned extent = g->l.extents + axis;
        fc_cuda_line(t, "const ix i%u = rest - fc_quotient(rest, (ix)p.w[%u]) * (ix)p.w[%u];", axis,
                     extent, extent);
        fc_cuda_line(t, "rest = fc_quotient(rest, (ix)p.w[%u]);", extent);
    }
}

void fc_cuda_emit_dot(fc_cuda_gen *g) {
    const fusec_dtype of =
        g->cls->cuda.dot_narrow ? FUSEC_I32 : (fusec_dtype)g->k->reductions.at[0].dtype;
    dot d = {.g = g, .tile = g->cls->cuda.dot_tile, .down = g->cls->cuda.dot_axis, .t = of};
    fc_cuda_text *t = &g->t;
    const unsigned bytes = fc_dtypes[of].bytes;
    d.side = side_of(d.tile);
    d.across = g->np - 1;
    d.type = fc_cuda_type(of);
    d.stages = 2 * DEPTH * row_of(&d) * bytes;
    functions(&d);
    fc_cuda_line(t, "__shared__ fc_vec<long long, 2, 16> room[%u];", 2 * d.stages / 16);
    fc_cuda_line(t, "%s *const stage_left = (%s *)room, *const stage_right = stage_left + %u;",
                 d.type, d.type, d.stages / bytes);
    fc_cuda_line(t, "%s *const turned = (%s *)room;", d.type, d.type);
    fc_cuda_line(t, "const unsigned int thread = threadIdx.x, ty = thread / %d, tx = thread %% %d;",
                 GRID, GRID);
    fc_cuda_line(
        t, "%s *const levels = (%s *)p.w[%u] + (long long)blockIdx.x * p.w[%u] * %u + thread;",
        d.type, d.type, g->l.extra + FC_PB_WORKSPACE, g->l.extra + FC_PB_SPANS,
        accumulators(&d) * FC_CUDA_THREADS);
    fc_cuda_line(t, "const ix high = ((ix)p.w[%u] + %u) / %u, wide = ((ix)p.w[%u] + %u) / %u;",
                 g->l.extents + d.down, d.side - 1, d.side, g->l.extents + d.across, d.side - 1,
                 d.side);
    fc_cuda_line(t, "const ix tiles = (ix)p.w[%u];", g->l.extra + FC_PB_SPAN);
    fc_cuda_line(t, "for (ix number = blockIdx.x; number < tiles; number += gridDim.x) {");
    place(&d);
    for (unsigned i = 0; i < accumulators(&d); i++)
        fc_cuda_line(t, "%s c%u = (%s)0;", d.type, i, d.type);
    steps(&d);
    results(&d);
    fc_cuda_line(t, "}");
}
