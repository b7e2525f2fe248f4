/* cuda_map.c - no reduction: every thread computes a few points.
 *
 * vector > 1   neighbours along the inner axis. Where they lie follows from the linear thread
 * number by one division for each outer axis and thread, or, with `rows_of_grid`, the outer axes
 * are the grid's second direction. With `whole` vectors exist as a whole or not at all:
 * no element needs a test, and 16-bit ones stay in pairs from the load to the store.
 * vector 1     elements FC_CUDA_MAP_THREADS apart in the linear order of all points, so that
 * neighbouring threads always touch neighbouring points. With one axis the places differ by a
 * constant; with more each element works out its own indices. Quick code takes them one by one. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"

/* ---- choice --------------------------------------------------------------------------------- */

static unsigned map_vector(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                           uint32_t align) {
    uint32_t inner = n->np - 1;
    unsigned widest = 0;
    for (uint32_t a = 0; a < n->naccess; a++)
        if (fc_cuda_is_memory(k, a) && fc_class_move(cls, a, inner) == FC_MOVE_ONE &&
            fc_cuda_bytes(k, a) > widest)
            widest = fc_cuda_bytes(k, a);
    if (!widest) return 1;
    unsigned v = 16 / widest;
    while (v > 1 && (!fc_cuda_text_fits(k, v, FC_CUDA_MAP_FUNCTIONS) || n->extent[inner] < v ||
                     !fc_cuda_can_be_wide(k, n, cls, inner, v, align)))
        v /= 2;
    return v;
}

/* Functions of f64 have three times the instructions of f32: several vectors of them are more than
 * the SM's cache of instructions has room for. */
static bool has_long_functions(const fc_kernel *k) {
    for (size_t v = 0; v < k->code.ins.len; v++) {
        const fc_instr *i = &k->code.ins.at[v];
        if (i->dtype == FUSEC_F64 && (fc_ops[i->op].flags & FC_F_TRANSCENDENTAL)) return true;
    }
    return false;
}

/* Whether most of what a thread does is not the wait for its loads: it has several functions to
 * compute, or nothing that it reads is as large as what it writes. Then it takes several vectors,
 * so that loads are on the way while others compute, and blocks are not too short to be worth their
 * start. */
static unsigned map_repeat(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                           const fc_class *cls, unsigned v) {
    uint32_t ops, heavy;
    bool streams = false;
    unsigned repeat = 1;
    fc_kernel_cost(k, &ops, &heavy);
    for (uint32_t a = 0; a < n->naccess; a++) {
        bool all = fc_cuda_is_load(k, a);
        for (uint32_t x = 0; x < n->np; x++)
            if (fc_class_move(cls, a, x) == FC_MOVE_ZERO) all = false;
        streams |= all;
    }
    if (heavy >= 2 && !has_long_functions(k)) repeat = 2;
    if (!streams) repeat = 4;
    while (repeat > 1 && (fc_cuda_unroll(k, (int)repeat, (int)v) < (int)repeat ||
                          n->rows / v / repeat < (int64_t)m->sm_count * m->max_threads_per_sm))
        repeat /= 2;
    return repeat;
}

/* Blocks of a row are the grid's first direction where they fill it well and there are enough of
 * them to be worth it; else all vectors have one number. */
static bool rows_fit_grid(const fc_machine *m, const fc_nest *n, int64_t pieces, int64_t blocks,
                          unsigned repeat) {
    const int64_t outer = n->rows / n->extent[n->np - 1];
    return n->np > 1 && outer <= 65535 &&
           outer * blocks >= (int64_t)m->sm_count * FC_CUDA_ENOUGH_BLOCKS &&
           pieces * 8 >= blocks * repeat * FC_CUDA_MAP_THREADS * 7;
}

void fc_cuda_map_vectors(const fc_machine *m, const fc_nest *n, fc_class *cls, fc_launch *l,
                         unsigned repeat) {
    const int64_t inner = n->extent[n->np - 1], v = cls->vector, pieces = fc_ceil_div(inner, v),
                  each = (int64_t)repeat * FC_CUDA_MAP_THREADS;
    cls->cuda.repeat = (uint16_t)repeat;
    cls->cuda.whole = inner % v == 0;
    cls->cuda.rows_of_grid = false;
    l->block[0] = FC_CUDA_MAP_THREADS;
    l->grid[0] = (uint64_t)fc_ceil_div(n->rows / inner * pieces, each);
    l->grid[1] = 1;
    if (!rows_fit_grid(m, n, pieces, fc_ceil_div(pieces, each), repeat)) return;
    cls->cuda.rows_of_grid = true;
    l->grid[0] = (uint64_t)fc_ceil_div(pieces, each);
    l->grid[1] = (uint64_t)(n->rows / inner);
}

void fc_cuda_map_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n, uint32_t align,
                          fc_class *cls, fc_launch *l) {
    unsigned v = map_vector(k, n, cls, align);
    cls->vector = (uint8_t)v;
    cls->aligned = v > 1;
    if (v > 1) {
        fc_cuda_map_vectors(m, n, cls, l, map_repeat(m, k, n, cls, v));
        return;
    }
    unsigned each = 4; /* elements of a thread, as long as there are threads for everybody */
    while (each > 1 && (!fc_cuda_text_fits(k, each, FC_CUDA_MAP_FUNCTIONS) ||
                        n->rows / each < (int64_t)m->sm_count * m->max_threads_per_sm))
        each /= 2;
    cls->cuda.apart = (uint16_t)each;
    l->block[0] = FC_CUDA_MAP_THREADS;
    l->grid[0] = (uint64_t)fc_ceil_div(fc_ceil_div(n->rows, each), FC_CUDA_MAP_THREADS);
}

bool fc_cuda_map_quicker(const fc_machine *m, const fc_kernel *k, const fc_launch *l,
                         fc_class *cls) {
    (void)m, (void)k;
    (void)l;
    const int elements = (cls->vector > 1 ? cls->vector : cls->cuda.apart) * cls->cuda.repeat;
    if (cls->cuda.kind != FC_CUDA_MAP || elements <= 1 || elements > UINT8_MAX ||
        cls->cuda.rows_of_grid)
        return false;
    cls->vector = 1;
    cls->cuda.whole = false;
    cls->cuda.apart = 1;
    cls->cuda.repeat = (uint16_t)elements;
    cls->aligned = false;
    return true;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* What all vectors of a thread have in common. */
static void place(fc_cuda_gen *g) {
    unsigned last = g->np - 1u, v = g->cls->vector;
    fc_cuda_line(&g->t, "const ix inner = (ix)p.w[%u];", g->l.extents + last);
    if (g->cls->cuda.rows_of_grid) {
        fc_cuda_line(&g->t, "const ix outer = (ix)blockIdx.y;");
        fc_cuda_indices(g, 0, last, "outer");
    } else if (g->np > 1) {
        fc_cuda_line(&g->t, "const ix pieces = (inner + %u) / %u;", v - 1, v);
    }
}

/* i0.. of vector t, the last one pointing at its first element; opens an `if` for what exists. */
static void begin_vector(fc_cuda_gen *g, int repeat) {
    unsigned last = g->np - 1u, v = g->cls->vector;
    if (repeat > 1) {
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", repeat);
        fc_cuda_line(&g->t, "const ix t = ((ix)blockIdx.x * %d + u) * %d + (ix)threadIdx.x;",
                     repeat, FC_CUDA_MAP_THREADS);
    } else {
        fc_cuda_line(&g->t, "const ix t = (ix)blockIdx.x * %d + (ix)threadIdx.x;",
                     FC_CUDA_MAP_THREADS);
    }
    if (g->np == 1 || g->cls->cuda.rows_of_grid) {
        fc_cuda_line(&g->t, "const ix i%u = t * %u;", last, v);
        fc_cuda_line(&g->t, repeat > 1 ? "if (i%u < inner) {" : "if (i%u >= inner) return;", last);
    } else {
        fc_cuda_line(&g->t, "const ix outer = fc_quotient(t, pieces);");
        fc_cuda_line(&g->t, repeat > 1 ? "if (outer * inner < rows) {"
                                       : "if (outer * inner >= rows) return;");
        fc_cuda_line(&g->t, "const ix i%u = (t - outer * pieces) * %u;", last, v);
        fc_cuda_indices(g, 0, last, "outer");
    }
    fc_cuda_bases(g, last);
}

static void end_vector(fc_cuda_gen *g, int repeat) {
    if (repeat == 1) return;
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
}

/* Vectors of neighbours; all loads of a thread go before the first use. */
static void neighbours(fc_cuda_gen *g) {
    unsigned last = g->np - 1u, v = g->cls->vector;
    const int repeat = g->cls->cuda.repeat;
    char number[16];
    snprintf(number, sizeof number, "i%u", last);
    fc_cuda_group gr = {.n = (int)v,
                        .step = 1,
                        .first = last,
                        .end = last + 1,
                        .wide = true,
                        .number = number,
                        .limit = g->cls->cuda.whole ? NULL : "inner",
                        .slot = repeat > 1 ? "[u]" : ""};
    place(g);
    fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    fc_cuda_group_declare(g, &gr, repeat > 1 ? repeat : 0, false);
    begin_vector(g, repeat);
    fc_cuda_group_load(g, &gr, false);
    if (repeat > 1) {
        end_vector(g, repeat);
        begin_vector(g, repeat);
    }
    fc_cuda_group_compute(g, &gr, FC_CUDA_STORES);
    end_vector(g, repeat);
}

static void spaced(fc_cuda_gen *g) {
    const int n = g->cls->cuda.apart, repeat = g->cls->cuda.repeat;
    if (repeat > 1) {
        fc_cuda_line(&g->t, "#pragma unroll 1");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", repeat);
        fc_cuda_line(&g->t, "const ix k = ((ix)blockIdx.x * %d + u) * %d + (ix)threadIdx.x;",
                     repeat, n * FC_CUDA_MAP_THREADS);
    } else {
        fc_cuda_line(&g->t, "const ix k = (ix)blockIdx.x * %d + (ix)threadIdx.x;",
                     n * FC_CUDA_MAP_THREADS);
    }
    fc_cuda_line(&g->t, "if (k >= rows) return;");
    fc_cuda_bases(g, 0);
    fc_cuda_group gr = {.n = n,
                        .step = FC_CUDA_MAP_THREADS,
                        .first = 0,
                        .end = g->np,
                        .own = g->np > 1,
                        .number = "k",
                        .limit = "rows",
                        .slot = ""};
    fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    fc_cuda_group_declare(g, &gr, 0, false);
    fc_cuda_group_load(g, &gr, false);
    fc_cuda_group_compute(g, &gr, FC_CUDA_STORES);
    if (repeat > 1) fc_cuda_line(&g->t, "}");
}

void fc_cuda_emit_map(fc_cuda_gen *g) {
    if (g->cls->cuda.kind == FC_CUDA_TILE)
        fc_cuda_emit_tile(g);
    else if (g->cls->vector > 1)
        neighbours(g);
    else
        spaced(g);
}
