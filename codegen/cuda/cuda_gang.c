/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_gang.c - a gang: the blocks that share a row and wait for each other's parts of it.
 *
 * In: a kernel of the inner schedule with cls->cuda.split == FC_CUDA_GANG. A launch has as many
 * blocks as run at the same time (fc_launch.together), in gangs of `parts` (FC_PB_SPANS); a gang
 * takes row after row. Part p of a row is an aligned power-of-two number of chunks, so what a block
 * makes of it is a subtree, and the parts are joined in order of p.
 *
 * Exchange n of a gang: every block publishes its accumulators, every block waits for those of all
 * others. Each 32-bit word of an accumulator travels with the low 32 bits of n in one 64-bit store,
 * so that a word is there as soon as its number is, without fences. Exchanges use sets of slots in
 * turn. Two are enough where a block waits for exchange n before it publishes n + 1: whoever
 * publishes n + 2 has seen all n + 1, and so nobody still reads n. The phases of a ring are several
 * rows apart; fc_cuda_gang_sets says how many sets it takes. The slots lie in the tickets; they are
 * zero before the first exchange (numbers start at 1), and the last block of a gang to leave makes
 * them zero again.
 *
 * While a gang works on a row, its next one is on the way: with `ahead` to shared memory,
 * where every thread finds what it asked for itself, else to the L2. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"

enum { SLOT = 96 }; /* characters of an expression */

/* This block's gang and part. */
void fc_cuda_gang_place(fc_cuda_gen *g) {
    fc_cuda_text *t = &g->t;
    unsigned words = fc_cuda_all_words(g->k);
    fc_cuda_line(t, "const ix parts = (ix)p.w[%u];", (unsigned)g->l.extra + FC_PB_SPANS);
    fc_cuda_line(t, "const ix gang = fc_quotient((ix)blockIdx.x, parts);");
    fc_cuda_line(t, "const ix gangs = fc_quotient((ix)gridDim.x, parts);");
    fc_cuda_line(t, "const ix part = (ix)blockIdx.x - gang * parts;");
    fc_cuda_line(
        t,
        "unsigned long long *const slots = (unsigned long long *)((p.w[%u] + 7) / 8 * 8) + "
        "gang * parts * %u;",
        (unsigned)g->l.extra + FC_PB_TICKETS, fc_cuda_gang_sets(g->cls) * words);
    fc_cuda_line(t, "unsigned int exchange = 0;");
}

/* Opens the loop over the rows of the gang. */
void fc_cuda_gang_begin(fc_cuda_gen *g) {
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (ix row = gang; row < rows; row += gangs) {");
}

/* Leaves the slots as they were found. */
void fc_cuda_gang_end(fc_cuda_gen *g) {
    fc_cuda_text *t = &g->t;
    unsigned words = fc_cuda_gang_sets(g->cls) * fc_cuda_all_words(g->k);
    fc_cuda_line(
        t,
        "unsigned int *const left = (unsigned int *)(slots + (gangs - gang) * parts * %u) + "
        "gang;",
        words);
    fc_cuda_line(t, "__shared__ bool last;");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "if (threadIdx.x == 0) last = atomicAdd(left, 1u) == (unsigned int)parts - 1;");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "if (!last) return;");
    fc_cuda_line(t, "if (threadIdx.x == 0) *left = 0;");
    fc_cuda_line(t, "for (ix i = (ix)threadIdx.x; i < parts * %u; i += %u) slots[i] = 0;", words,
                 fc_cuda_block_threads(g->k, g->cls));
}

/* The number of a thread among those that work on the same part of a row at the same time. */
static const char *thread_of(const fc_cuda_gen *g) {
    return g->ring ? "thread" : "threadIdx.x";
}

/* The set of slots of the exchange under way. */
static void slots_now(fc_cuda_gen *g, unsigned stage) {
    fc_cuda_line(&g->t, "unsigned long long *const now%u = slots + (exchange & %u) * parts * %u;",
                 stage, fc_cuda_gang_sets(g->cls) - 1, fc_cuda_all_words(g->k));
}

/* The slot of reduction r and part `part`, as an expression. In a ring those of all parts lie side
 * by side, so that few lines are asked for; the many blocks of other gangs would be in each other's
 * way. */
static void slot_of(const fc_cuda_gen *g, unsigned stage, unsigned r, const char *part,
                    char out[SLOT]) {
    unsigned at = 0;
    for (unsigned before = 0; before < r; before++)
        at += fc_cuda_red_words(&g->k->reductions.at[before]);
    if (g->ring)
        snprintf(out, SLOT, "now%u + parts * %u + %s * %u", stage, at, part,
                 fc_cuda_red_words(&g->k->reductions.at[r]));
    else
        snprintf(out, SLOT, "now%u + %s * %u + %u", stage, part, fc_cuda_all_words(g->k), at);
}

/* x* of the block goes to the others of the gang. A ring counts rows; it has slots of its own for
 * each reduction. */
void fc_cuda_gang_publish(fc_cuda_gen *g, unsigned stage) {
    char slot[SLOT];
    if (!g->ring) fc_cuda_line(&g->t, "exchange++;");
    slots_now(g, stage);
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (g->k->reductions.at[r].stage != stage) continue;
        slot_of(g, stage, r, "part", slot);
        fc_cuda_line(&g->t, "if (%s == 0) fc_publish(%s, x%u, exchange);", thread_of(g), slot, r);
    }
}

/* x* becomes that of the parts that this thread's warp is responsible for, which the caller joins
 * over the warps. A block has at least as many threads as a row has parts. */
void fc_cuda_gang_await(fc_cuda_gen *g, unsigned stage) {
    char slot[SLOT], part[24];
    snprintf(part, sizeof part, "(ix)%s", thread_of(g));
    if (g->ring) slots_now(g, stage);
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (g->k->reductions.at[r].stage != stage) continue;
        slot_of(g, stage, r, part, slot);
        fc_cuda_line(&g->t, "x%u = red%u_start();", r, r);
        fc_cuda_line(&g->t, "if (%s < parts) x%u = fc_await<red%u>(%s, exchange);", part, r, r,
                     slot);
    }
    FC_EACH_REDUCTION(g, stage, "x%u = fc_lanes(x%u, 32);", r, r);
}

/* ---- the next row --------------------------------------------------------------------------- */

static unsigned quad_bytes(const fc_kernel *k, uint32_t a) {
    return 4u * fc_dtypes[k->accesses.at[a].dtype].bytes;
}

/* Of what is kept, all but what is the same in all rows. */
static bool comes_ahead(const fc_cuda_gen *g, uint32_t a) {
    bool moves = false;
    for (uint32_t x = 0; x < g->np; x++)
        if (fc_class_move(g->cls, a, x) != FC_MOVE_ZERO) moves = true;
    return g->cached[a] && moves && fc_class_move(g->cls, a, g->np) == FC_MOVE_ONE;
}

bool fc_cuda_gang_room(const fc_cuda_gen *g, uint32_t a) {
    return g->cls->cuda.ahead && comes_ahead(g, a);
}

/* r*: this thread's places in shared memory, one for each iteration (and element, where they do not
 * come in quads), a block's threads apart. */
void fc_cuda_gang_rooms(fc_cuda_gen *g) {
    fc_cuda_text *t = &g->t;
    unsigned bytes = 0, each = fc_cuda_block_threads(g->k, g->cls) * (FC_CHUNK / FC_LANES);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (fc_cuda_gang_room(g, a)) bytes += quad_bytes(g->k, a) * each;
    if (!bytes) return;
    fc_cuda_line(t, "#ifdef FC_EMULATE");
    fc_cuda_line(t, "__shared__ fc_vec<double, 2, 16> room[%u];", bytes / 16);
    fc_cuda_line(t, "#else");
    fc_cuda_line(t, FC_CUDA_EXTERN_ROOM);
    fc_cuda_line(t, "#endif");
    bytes = 0;
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        unsigned quad = quad_bytes(g->k, a);
        if (!fc_cuda_gang_room(g, a)) continue;
        const char *type = fc_dtypes[g->k->accesses.at[a].dtype].cuda;
        if (fc_cuda_gang_quads(g->cls))
            fc_cuda_line(t,
                         "fc_vec<%s, 4, %u> *const r%u = (fc_vec<%s, 4, %u> *)((char *)room + %u) "
                         "+ threadIdx.x;",
                         type, quad, (unsigned)a, type, quad, bytes);
        else
            fc_cuda_line(t, "%s *const r%u = (%s *)((char *)room + %u) + threadIdx.x;", type,
                         (unsigned)a, type, bytes);
        bytes += quad * each;
    }
}

/* By the thread that will read them: quads or, where they are not aligned, elements. */
static void copy_row(fc_cuda_gen *g, uint32_t a) {
    unsigned threads = fc_cuda_block_threads(g->k, g->cls),
             buffer = (unsigned)g->k->accesses.at[a].buffer;
    bool quads = fc_cuda_gang_quads(g->cls);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", FC_CHUNK / FC_LANES);
    if (quads) {
        fc_cuda_line(&g->t, "const ix k = warp * %d + u * %d + lane * 4;", FC_CHUNK, FC_LANES);
        fc_cuda_line(&g->t, "if (k < count) fc_copy<%u>(r%u + u * %u, a%u + b%u + k);",
                     quad_bytes(g->k, a), (unsigned)a, threads, buffer, (unsigned)a);
    } else {
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int e = 0; e < 4; e++) {");
        fc_cuda_line(&g->t, "const ix k = warp * %d + u * %d + e * 32 + lane;", FC_CHUNK, FC_LANES);
        fc_cuda_line(&g->t, "if (k < count) fc_copy<%u>(r%u + (u * 4 + e) * %u, a%u + b%u + k);",
                     quad_bytes(g->k, a) / 4, (unsigned)a, threads, buffer, (unsigned)a);
        fc_cuda_line(&g->t, "}");
    }
    fc_cuda_line(&g->t, "}");
}

void fc_cuda_gang_arrived(fc_cuda_gen *g, uint32_t a) {
    unsigned threads = fc_cuda_block_threads(g->k, g->cls), n = (unsigned)a;
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", FC_CHUNK / FC_LANES);
    if (fc_cuda_gang_quads(g->cls)) {
        fc_cuda_line(&g->t, "q%u[u] = r%u[u * %u];", n, n, threads);
    } else {
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int e = 0; e < 4; e++) q%u[u].e[e] = r%u[(u * 4 + e) * %u];", n,
                     n, threads);
    }
    fc_cuda_line(&g->t, "}");
}

static void prefetch_row(fc_cuda_gen *g, uint32_t a) {
    unsigned threads = fc_cuda_block_threads(g->k, g->cls),
             line = FC_CUDA_LINE / fc_dtypes[g->k->accesses.at[a].dtype].bytes,
             elements = threads / 32 * FC_CHUNK;
    fc_cuda_line(&g->t,
                 "for (ix k = (ix)threadIdx.x * %u; k < %u && part * %u + k < count; k += %u)",
                 line, elements, elements, threads * line);
    fc_cuda_line(&g->t, "    fc_ahead(a%u + b%u + part * %u + k);",
                 (unsigned)g->k->accesses.at[a].buffer, (unsigned)a, elements);
}

/* Asks for this block's part of a row: `ahead`, an expression. */
void fc_cuda_gang_ahead(fc_cuda_gen *g, const char *ahead) {
    if (g->cls->nr != 1) return;
    fc_cuda_line(&g->t, "if (%s < rows) {", ahead);
    fc_cuda_line(&g->t, "const ix ahead = %s;", ahead);
    fc_cuda_indices(g, 0, g->np, "ahead");
    fc_cuda_bases(g, g->np);
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        if (!comes_ahead(g, a)) continue;
        if (fc_cuda_gang_room(g, a))
            copy_row(g, a);
        else
            prefetch_row(g, a);
    }
    fc_cuda_line(&g->t, "}");
}
