/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_map_schedule.c - how a map is launched: vectors or elements of a thread. */
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/linear.h"

/* Neighbours of a thread; `align` 0: they are read and written one by one. */
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
                     (align && !fc_cuda_can_be_wide(k, n, cls, inner, v, align))))
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

/* Whether elements read their neighbours: at computed places, which come from no array of indices.
 */
static bool reads_neighbours(const fc_kernel *k) {
    bool places = false;
    if (k->checks.len || k->updates.len) return false;
    for (size_t v = 0; v < k->code.ins.len; v++) {
        const fc_instr *i = &k->code.ins.at[v];
        places |= i->op == FC_OP_LOAD_AT;
        if (i->op == FC_OP_LOAD && fc_is_int((fusec_dtype)i->dtype) &&
            fc_dtypes[i->dtype].bytes >= 4)
            return false;
    }
    return places;
}

/* Whether most of what a thread does is not the wait for its loads: it has several functions to
 * compute, or nothing that it reads is as large as what it writes. Then it takes several vectors,
 * so that loads are on the way while others compute, and blocks are not too short to be worth their
 * start. */
static unsigned map_repeat(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                           const fc_class *cls, unsigned v) {
    uint32_t ops, heavy;
    bool streams = reads_neighbours(k);
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
    if (cls->cuda.rows_in_turn)
        l->grid[1] = (uint64_t)fc_ceil_div(n->rows / inner, cls->cuda.rows_in_turn);
}

/* At how many places next to each element the array is read that is read at most. */
static unsigned places(const fc_kernel *k) {
    unsigned most = 0;
    for (size_t v = 0; v < k->code.ins.len; v++) {
        unsigned n = 0;
        for (size_t u = 0; u <= v && k->code.ins.at[v].op == FC_OP_LOAD_AT; u++)
            n += k->code.ins.at[u].op == FC_OP_LOAD_AT &&
                 k->code.ins.at[u].imm == k->code.ins.at[v].imm;
        if (n > most) most = n;
    }
    return most;
}

/* Whether what is read depends on the row in other ways than by where the row begins: rows above
 * and below. */
static bool reads_rows(const fc_kernel *k, const fc_nest *n, const fc_class *cls) {
    if (fc_reads_other_rows(k)) return true;
    for (uint32_t a = 0; a < n->naccess; a++)
        if (!fc_cuda_is_memory(k, a) && fc_class_move(cls, a, n->np - 1) == FC_MOVE_ZERO &&
            fc_class_move(cls, a, n->np - 2) != FC_MOVE_ZERO)
            return true;
    return false;
}

/* What several rows read of the same ones is read once if a thread does them (stacks of windows):
 * the more rows, the larger the part that is shared; the fewer, the nearer to each other is what
 * the memory has to do at a time. */
static unsigned rows_in_turn(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                             const fc_class *cls) {
    enum { FEW = 4, MANY = 8, MANY_PLACES = 8 };
    if (n->np < 2 || !reads_neighbours(k) || places(k) < 2 || !reads_rows(k, n, cls)) return 0;
    const int64_t outer = n->rows / n->extent[n->np - 1],
                  blocks =
                      fc_ceil_div(n->extent[n->np - 1], (int64_t)cls->vector * FC_CUDA_MAP_THREADS);
    unsigned rows = places(k) < MANY_PLACES ? FEW : MANY;
    while (rows >= FEW && outer / rows * blocks < (int64_t)m->sm_count * FC_CUDA_ENOUGH_BLOCKS)
        rows /= 2;
    return rows >= FEW ? rows : 0;
}

/* Arrays of few elements that get many updates have a copy in each block, and there are as many
 * blocks as run at a time. */
static void choose_own(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                       fc_launch *l) {
    enum { SHARED = 32 << 10, OFTEN = 64 }; /* bytes of a block; updates of an element */
    unsigned own = 64, bytes = 0;
    if (!n->updated || n->updated > SHARED || n->rows < OFTEN * n->updated) return;
    while (own < n->updated) own *= 2;
    for (size_t i = 0; i < k->updates.len; i++) {
        if (!k->updates.at[i].op) return;
        bytes += own * fc_dtypes[k->args.at[k->updates.at[i].arg].dtype].bytes;
    }
    if (bytes > SHARED) return;
    const unsigned most = 8 * (4 << 10) / (bytes < (4u << 10) ? (4u << 10) : bytes);
    const uint64_t blocks = (uint64_t)m->sm_count * (most ? most : 1);
    if (cls->cuda.rows_of_grid) {
        const int64_t inner = n->extent[n->np - 1], pieces = fc_ceil_div(inner, cls->vector);
        cls->cuda.rows_of_grid = false;
        l->grid[0] = (uint64_t)fc_ceil_div(n->rows / inner * pieces,
                                           (int64_t)cls->cuda.repeat * FC_CUDA_MAP_THREADS);
        l->grid[1] = 1;
    }
    cls->cuda.copied = (uint16_t)own;
    l->spans = (int64_t)l->grid[0];
    l->span = 1;
    if (l->grid[0] > blocks) l->grid[0] = blocks;
}

/* Whether neighbours update neighbours: where a row goes comes from data, where in the row does
 * not, as in the gradient of an embedding. */
static bool updates_neighbours(const fc_kernel *k, const fc_class *cls, unsigned axis,
                               uint8_t *needed) {
    for (size_t u = 0; u < k->updates.len; u++) {
        const fc_val at = k->code.ins.at[k->updates.at[u].value].a;
        bool moves = false;
        memset(needed, 0, k->code.ins.len);
        fc_kernel_slice(&k->code, &at, 1, needed);
        for (fc_val v = 0; v < k->code.ins.len; v++) {
            const fc_instr *i = &k->code.ins.at[v];
            if (!needed[v]) continue;
            if (i->op == FC_OP_LOAD_AT) return false;
            if (i->op != FC_OP_LOAD && i->op != FC_OP_INDEX) continue;
            const fc_move move = fc_class_move(cls, (uint32_t)i->imm, axis);
            if (move != FC_MOVE_ZERO && (i->op == FC_OP_LOAD || move == FC_MOVE_ANY)) return false;
            moves |= move == FC_MOVE_ONE;
        }
        if (!moves) return false;
    }
    return k->updates.len > 0;
}

/* Whether all indices that count neighbours are multiples of a vector where one begins: then so
 * are, nearly always, the places of windows, and what is read of them is aligned. */
static bool is_even(const fc_kernel *k, const fc_nest *n, const fc_class *cls, uint32_t align) {
    const uint32_t inner = n->np - 1;
    bool any = false;
    if (align < 16) return false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        if (fc_cuda_is_memory(k, a) || fc_class_move(cls, a, inner) != FC_MOVE_ONE) continue;
        any = true;
        if (n->offset[a] % cls->vector) return false;
        for (uint32_t i = 0; i < inner; i++)
            if (n->stride[(size_t)a * (n->np + n->nr) + i] % cls->vector) return false;
    }
    return any;
}

enum { SEVERAL_PLACES = 3 };

static void choose_vectors(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                           uint32_t align, bool apart, fc_class *cls, fc_launch *l) {
    unsigned v = apart ? 1 : map_vector(k, n, cls, align);
    cls->aligned = v > 1;
    if (v == 1 && !apart && reads_neighbours(k) && places(k) >= SEVERAL_PLACES &&
        map_vector(k, n, cls, 0) > 1)
        v = 2; /* what they share is worth more than whole stores */
    cls->vector = (uint8_t)v;
    if (v > 1) {
        cls->cuda.rows_in_turn = (uint16_t)rows_in_turn(m, k, n, cls);
        fc_cuda_map_vectors(m, n, cls, l, map_repeat(m, k, n, cls, v));
        if (!cls->cuda.rows_of_grid) cls->cuda.rows_in_turn = 0;
        cls->cuda.even =
            !cls->cuda.rows_in_turn && reads_neighbours(k) && is_even(k, n, cls, align);
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

/* Atomics of a warp that meet one sector of 32 bytes are one access of the L2. So neighbours that
 * are updated are those of a warp, not of a thread. */
fusec_status fc_cuda_map_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                  uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *l,
                                  fc_error *e) {
    uint8_t *needed = fc_arena_alloc(arena, k->code.ins.len + 1);
    if (!needed) return fc_oom(e);
    choose_vectors(m, k, n, align, updates_neighbours(k, cls, n->np - 1, needed), cls, l);
    if (k->updates.len) choose_own(m, k, n, cls, l);
    return FUSEC_OK;
}

bool fc_cuda_map_quicker(const fc_machine *m, const fc_kernel *k, const fc_launch *l,
                         fc_class *cls) {
    (void)m, (void)k;
    (void)l;
    const int elements = (cls->vector > 1 ? cls->vector : cls->cuda.apart) * cls->cuda.repeat;
    if (cls->cuda.kind != FC_CUDA_MAP || elements <= 1 || elements > UINT8_MAX ||
        cls->cuda.rows_of_grid || cls->cuda.copied)
        return false;
    cls->vector = 1;
    cls->cuda.even = false;
    cls->cuda.whole = false;
    cls->cuda.apart = 1;
    cls->cuda.repeat = (uint16_t)elements;
    cls->aligned = false;
    return true;
}
