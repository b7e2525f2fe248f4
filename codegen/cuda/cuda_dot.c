/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot.c - contractions: a block makes a tile of results in registers (fc_cuda_tiles).
 *
 * In: a kernel of FC_SCHED_DOT whose class says along which axes rows and columns of a tile are.
 * Out: a block that walks over tiles:
 *
 *     for each step of `depth` elements of k, after a few whose stages are filled in advance
 *         fetch the stage of shared memory that lies `stages` - 1 steps ahead
 *         take this step's into the accumulators: on tensor cores as cuda_mma.c says, else by
 *         chains of fma, as cuda_dot_chain.c says
 *         after each chunk the results meet the levels of a binary counter, which lie in the
 *         workspace, a row of threads side by side; one copy of that code
 *     results change places through shared memory, so that neighbouring threads have neighbouring
 *     columns, and run the kernel's code behind the product; one copy of that, too
 *
 * Where there are few tiles, blocks share the k of each (cuda_dot_split.c).
 *
 * Integers of 8 bits, or of whose sums the lower 32 bits are looked at, have accumulators of 32.
 *
 * Elements of k past the end are zero in both operands, rows and columns past the end are the last
 * ones again, and nobody stores them. One name an accumulator and rolled loops: that is what NVRTC
 * compiles soon. */
#include "codegen/cuda/cuda_dot.h"
#include "ir/plant.h"

/* ---- steps of k ------------------------------------------------------------------------------ */

/* On tensor cores there are loops over chunks and over the steps of one: accumulators that are on
 * their way are nobody's but the products' in the inner one. */
static void begin_chunks(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned ahead = fc_cuda_tile_ahead(d->g->cls);
    fc_cuda_line(t, "unsigned int fill = 0, from = 0;");
    fc_cuda_line(t, "ix todo = %s;", fc_dot_many(d));
    if (fc_dot_makes(d)) {
        fc_cuda_line(t, "unsigned int made = 0;");
        fc_cuda_line(t, "ix left = todo;");
    }
    fc_cuda_line(t, "const auto bring = [&](ix step) {");
    fc_mma_fill(d);
    fc_cuda_line(t, "};");
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = -%u; step < 0; step++)", ahead);
    fc_cuda_line(t, "    bring(step);");
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = 0; step < steps;) {");
}

static void begin_steps(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned each = fc_cuda_tile_chunk(d->tile) / d->tile->depth;
    fc_cuda_line(t, "const ix end = steps - step < %u ? steps : step + %u;", each, each);
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (; step < end; step++) {");
    if (d->tile->piped) return;
    fc_cuda_line(t, d->tile->group ? "fc_group_brought<%u>();" : "fc_brought<%u>();",
                 fc_cuda_tile_ahead(d->g->cls) - 1);
    fc_cuda_line(t, "__syncthreads();");
}

static void begin_serial(const fc_dot *d, const fc_loop *n) {
    if (n->step == fc_cuda_tile_chunk(d->tile))
        (d->tile->piped    ? fc_flat_begin_chunks
         : d->tile->tensor ? begin_chunks
                           : fc_chain_begin)(d);
    else if (d->tile->tensor && n->step == d->tile->depth)
        begin_steps(d);
}

static void end_serial(const fc_dot *d, const fc_loop *n) {
    if (d->tile->piped && n->step == fc_cuda_tile_chunk(d->tile)) {
        fc_flat_end_chunks(d);
    } else if (d->tile->tensor) {
        if (n->step != fc_cuda_tile_deep(d->tile)) fc_cuda_line(&d->g->t, "}");
    } else if (n->step == fc_cuda_tile_chunk(d->tile)) {
        fc_chain_end(d);
    }
}

/* The chunk that ends takes in the levels of its trailing ones, the last one all that are there. */
static void join_levels(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned n = fc_cuda_tile_accumulators(d->tile), threads = fc_cuda_tile_threads(d->tile);
    const char *type = fc_cuda_type(d->t);
    fc_cuda_line(t, "const unsigned int full = here ? chunk & ~(chunk + 1) : chunk;");
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (unsigned int l = 0; full >> l; l++) {");
    fc_cuda_line(t, "if (!(full >> l & 1)) continue;");
    fc_cuda_line(t, "const %s *const held = levels + l * %u;", type, n * threads);
    for (unsigned i = 0; i < n; i++)
        fc_cuda_line(t, "c%u = dot_join(held[%u], c%u);", i, i * threads, i);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "if (here) {");
    fc_cuda_line(t, "unsigned int l = 0;");
    fc_cuda_line(t, "while (chunk >> l & 1) l++;");
    fc_cuda_line(t, "%s *const held = levels + l * %u;", type, n * threads);
    for (unsigned i = 0; i < n; i++)
        fc_cuda_line(t, "held[%u] = c%u, c%u = (%s)0;", i * threads, i, i, type);
    fc_cuda_line(t, "}");
}

static void push(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned steps = fc_cuda_tile_chunk(d->tile) / d->tile->depth;
    if (d->tile->tensor) {
        if (d->tile->group) fc_wgmma_settle(d);
        fc_cuda_line(t, "const bool here = step < steps;");
        fc_cuda_line(t, "const unsigned int chunk = (unsigned int)((step - 1) / %u);", steps);
        join_levels(d);
        return;
    }
    fc_cuda_line(t, "const bool here = step + 1 < steps;");
    fc_cuda_line(t, "if (!here || (step + 1) %% %u == 0) {", steps);
    fc_cuda_line(t, "const unsigned int chunk = (unsigned int)(step / %u);", steps);
    join_levels(d);
    fc_cuda_line(t, "}");
}

/* ---- a tile ---------------------------------------------------------------------------------- */

static void functions(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const char *type = fc_cuda_type(d->t),
               *u = d->t == FUSEC_I32 ? "unsigned int" : "unsigned long long";
    fc_cuda_line(t, "const auto dot_join = [](%s a, %s b) {", type, type);
    if (fc_is_float(d->t))
        fc_cuda_line(t, "return a + b;");
    else
        fc_cuda_line(t, "return (%s)((%s)a + (%s)b);", type, u, u);
    fc_cuda_line(t, "};");
    if (d->tile->tensor) return;
    fc_chain_functions(d);
}

/* Stages of operands, or results of a pass. */
static void shared(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned bytes = fc_dtypes[d->t].bytes,
                   each = d->tile->tensor ? fc_cuda_tile_bytes(d->tile) : bytes,
                   behind = d->tile->piped ? fc_flat_behind(d) : 0,
                   held = (d->g->cls->cuda.dot_stages * d->stage + behind) * each,
                   turned = fc_dot_of_pass(d) * bytes;
    if (d->tile->tensor) fc_cuda_line(t, "#ifdef FC_EMULATE");
    fc_cuda_line(t, "__shared__ fc_vec<double, 2, 16> room[%u];",
                 (held > turned ? held : turned) / 16);
    if (d->tile->tensor) {
        fc_cuda_line(t, "#else");
        fc_cuda_line(t, FC_CUDA_EXTERN_ROOM);
        fc_cuda_line(t, "#endif");
    }
    fc_cuda_line(t,
                 d->tile->piped && d->tile->group
                     ? "%s *const all = fc_settled((%s *)fc_aligned(room));"
                 : d->tile->group ? "%s *const all = (%s *)fc_aligned(room);"
                 : d->tile->piped ? "%s *const all = fc_settled((%s *)room);"
                                  : "%s *const all = (%s *)room;",
                 d->type, d->type);
    fc_cuda_line(t, "%s *const turned = (%s *)all;", fc_cuda_type(d->t), fc_cuda_type(d->t));
}

static void sizes(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    for (int s = 0; s < 2; s++) {
        const fc_dot_side *x = &d->x[s];
        if (x->axis < g->np) {
            fc_cuda_indent(&g->t);
            fc_str_printf(g->t.out, "const ix %s = (ix)p.w[%u]", x->size, g->l.extents + x->axis);
            for (unsigned axis = 0; axis < g->np; axis++)
                if (x->also >> axis & 1)
                    fc_str_printf(g->t.out, " * (ix)p.w[%u]", g->l.extents + axis);
            fc_str_add(g->t.out, ";\n");
        } else
            fc_cuda_line(&g->t, "const ix %s = 1;", x->size);
        fc_cuda_line(&g->t, "const ix %s = (%s + %u) / %u;", s ? "wide" : "high", x->size,
                     x->side - 1, x->side);
    }
    if (fc_dot_is_split(d))
        fc_dot_split_sizes(d);
    else
        fc_cuda_line(&g->t, "const ix tiles = (ix)p.w[%u], steps = (count + %u) / %u;",
                     g->l.extra + FC_PB_SPAN, d->tile->depth - 1u, d->tile->depth);
}

enum { BAND = 16 }; /* tiles of as many rows: blocks that run together share operands in the L2 */

static void place_of_tile(const fc_dot *d, const char *tile) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "ix rest = fc_quotient(%s, high * wide);", tile);
    fc_cuda_line(t, "const ix inside = %s - rest * (high * wide);", tile);
    fc_cuda_line(t, "const ix band = fc_quotient(inside, %d * wide) * %d;", BAND, BAND);
    fc_cuda_line(t, "const ix below = high - band < %d ? high - band : %d;", BAND, BAND);
    fc_cuda_line(t, "const ix over = fc_quotient(inside - band * wide, below);");
    fc_cuda_line(t,
                 "const ix m0 = (inside - over * below - band * wide + band) * %u, n0 = over * %u;",
                 d->x[0].side, d->x[1].side);
}

/* The tile of a number: in bands of some rows, one below the other first, then columns, then the
 * next band, then the other axes. */
static void begin_tile(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const char *tile = fc_dot_is_split(d) ? "tile" : "number";
    fc_cuda_line(t, "for (ix number = blockIdx.x; number < %s; number += gridDim.x) {",
                 fc_dot_is_split(d) ? "tiles * parts" : "tiles");
    if (fc_dot_is_split(d)) fc_dot_split_part(d);
    (d->tile->piped && !d->tile->group ? fc_flat_place : place_of_tile)(d, tile);
    for (unsigned axis = g->np; axis-- > 0;) {
        if (fc_cuda_is_of_tile(g->cls, axis)) continue;
        const unsigned extent = g->l.extents + axis;
        fc_cuda_line(t, "const ix i%u = rest - fc_quotient(rest, (ix)p.w[%u]) * (ix)p.w[%u];", axis,
                     extent, extent);
        fc_cuda_line(t, "rest = fc_quotient(rest, (ix)p.w[%u]);", extent);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Whether neighbours along k of what the slice reads lie side by side. */
static bool reads_along_k(const fc_cuda_gen *g) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->used[a] & FC_CUDA_LOADS && fc_class_move(g->cls, a, g->axes - 1) == FC_MOVE_ONE)
            return true;
    return false;
}

static fc_dot_side operand_of(fc_cuda_gen *g, bool columns) {
    const fc_cuda_tile *tile = fc_cuda_tile_of(g->cls);
    fc_dot_side x = {.value = fc_cuda_red_value(g, 0)[columns != (bool)g->cls->cuda.dot_swapped],
                     .axis = columns ? g->cls->cuda.dot_across : g->cls->cuda.dot_axis,
                     .also = columns ? g->cls->cuda.dot_columns : g->cls->cuda.dot_rows,
                     .side = (columns ? fc_cuda_tile_columns : fc_cuda_tile_rows)(tile),
                     .reads = columns ? g->cls->cuda.dot_right : g->cls->cuda.dot_left,
                     .name = columns ? "y" : "x",
                     .at = columns ? "n0" : "m0",
                     .size = columns ? "columns" : "down_size"};
    fc_dot_slice(g, x.value);
    x.by_k = x.reads == FC_CUDA_BY_K || x.reads == FC_CUDA_MADE_BY_K || x.reads == FC_CUDA_AT_K ||
             (x.reads == FC_CUDA_BY_ONE && reads_along_k(g));
    x.along =
        x.by_k && (tile->tensor || (tile->stages == 1 && !columns && x.reads == FC_CUDA_BY_K));
    x.line = fc_cuda_tile_line(tile, x.side, x.along);
    return x;
}

fc_dot fc_dot_of(fc_cuda_gen *g) {
    const fc_reduction *r = &g->k->reductions.at[0];
    fc_dot d = {.g = g,
                .tile = fc_cuda_tile_of(g->cls),
                .x = {operand_of(g, false), operand_of(g, true)},
                .t = g->cls->cuda.dot_narrow ? FUSEC_I32 : (fusec_dtype)r->dtype,
                .half = (fusec_dtype)r->half};
    if (d.tile->tensor && d.tile->bytes == 1) d.half = FUSEC_I8;
    if (d.tile->tensor && d.tile->bytes == 8) d.half = FUSEC_F64;
    d.x[1].from = fc_cuda_tile_room(d.tile, d.x[0].side, d.x[0].along);
    d.stage = d.x[1].from + fc_cuda_tile_room(d.tile, d.x[1].side, d.x[1].along);
    for (int s = 0; s < 2 && !d.tile->piped; s++) {
        d.x[s].raw = d.stage;
        if (fc_cuda_is_made(d.x[s].reads)) d.stage += fc_made_room(&d, &d.x[s]);
    }
    d.type = !d.tile->tensor || d.tile->bytes >= 4 ? fc_cuda_type(d.t)
             : d.tile->bytes == 1                  ? "unsigned char"
                                                   : "unsigned short";
    return d;
}

void fc_dot_begin(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const char *type = fc_cuda_type(d->t);
    functions(d);
    shared(d);
    fc_cuda_line(t, d->tile->piped ? "const unsigned int thread = fc_settled(threadIdx.x);"
                                   : "const unsigned int thread = threadIdx.x;");
    sizes(d);
    fc_dot_divisors(d);
    fc_dot_constants(d);
    if (!fc_dot_is_split(d))
        fc_cuda_line(
            t, "%s *const levels = (%s *)p.w[%u] + (long long)blockIdx.x * p.w[%u] * %u + thread;",
            type, type, g->l.extra + FC_PB_WORKSPACE, g->l.extra + FC_PB_SPANS,
            fc_cuda_tile_accumulators(d->tile) * fc_cuda_tile_threads(d->tile));
    (d->tile->tensor ? fc_mma_places : fc_chain_places)(d);
    begin_tile(d);
    (d->tile->tensor ? fc_mma_begin_tile : fc_chain_begin_tile)(d);
}

void fc_dot_end(const fc_dot *d) {
    for (int i = 0; i < 3; i++)
        fc_cuda_line(&d->g->t, "}"); /* a result, results, passes or what is before them */
    fc_cuda_line(&d->g->t, "__syncthreads();");
    fc_cuda_line(&d->g->t, "}");
}

bool fc_dot_node(fc_cuda_walk *w, const fc_loop *n) {
    const fc_dot *d = w->dot;
    fc_cuda_gen *g = d->g;
    switch (n->kind) {
    case FC_LOOP_SERIAL:
        if (n->end <= g->np) return false;
        begin_serial(d, n);
        fc_cuda_walk_list(w, n->body);
        end_serial(d, n);
        break;
    case FC_LOOP_VECTOR: fc_cuda_walk_list(w, n->body); break;
    case FC_LEAF_CLEAR:
        for (unsigned i = 0; i < fc_cuda_tile_accumulators(d->tile); i++)
            fc_cuda_line(&g->t, "%s c%u = 0;", fc_cuda_type(d->t), i);
        break;
    case FC_LEAF_FILL:
        if (d->tile->piped) break;
        if (d->tile->tensor) {
            fc_cuda_line(&g->t, "bring(step);");
        } else {
            fc_chain_fill(d);
        }
        break;
    case FC_LEAF_LANES: fc_mma_products(d); break;
    case FC_LEAF_STEP: fc_chain_products(d); break;
    case FC_LEAF_PUSH:
        if (d->tile->stages > 1) push(d); /* else it is one chunk */
        break;
    default: return fc_dot_results_leaf(d, n);
    }
    return true;
}
