/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_cluster.c - FC_CUDA_CLUSTER: a row lies in the shared memory of a few blocks.
 *
 * In: a class of rows that no block holds well, shared by a cluster of `blocks` blocks, which run
 * at the same time and reach each other's shared memory. Each has `span` elements of the row, whole
 * chunks, which come by bulk copies that need no thread; its warps take the chunks in turn. Several
 * blocks live on an SM, so that rows that come hide what others wait for.
 *
 * A warp tells what it makes of a chunk to all blocks of the cluster, which have a slot for each
 * chunk of the row; the slots of a stage are there when as many bytes have come as its gate
 * expects. Then every warp joins them in order. A slot without a chunk has the start value.
 *
 * Values that a later phase takes over, and results on their way, are where a load was: see
 * cuda_ring_place.c, of which a block has one place. */
#include "codegen/cuda/cuda_ring.h"

enum { SIXTEEN = 16 };

/* ---- text: the slots ------------------------------------------------------------------------- */

static unsigned slots_of(const fc_ring *o) {
    return 32u * o->in.g->cls->cuda.lane_slots;
}

static unsigned stage_bytes(const fc_kernel *k, unsigned stage) {
    unsigned bytes = 0;
    for (size_t r = 0; r < k->reductions.len; r++)
        if (k->reductions.at[r].stage == stage)
            bytes += 4 * fc_cuda_red_words(&k->reductions.at[r]);
    return bytes;
}

static void make_gates(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    fc_cuda_line(&g->t, "__shared__ unsigned long long full, told[%u];", (unsigned)g->k->nstages);
    fc_cuda_line(&g->t, "if (threadIdx.x == 0) {");
    fc_cuda_line(&g->t, "fc_gate_make(&full, 32);");
    for (unsigned s = 0; s < g->k->nstages; s++)
        fc_cuda_line(&g->t, "fc_told_make(told + %u, (unsigned int)chunks * %u);", s,
                     stage_bytes(g->k, s));
    fc_cuda_line(&g->t, "}");
}

static void make_slots(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        fc_cuda_line(&g->t, "__shared__ fc_words<red%u> c%u[%u];", r, r, slots_of(o));
    fc_cuda_line(&g->t, "for (int n = (int)threadIdx.x; n < %u; n += %u) {", slots_of(o),
                 32 * o->in.warps);
    fc_cuda_line(&g->t, "if (n < chunks) continue;");
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        fc_cuda_line(&g->t, "c%u[n] = fc_words_of(red%u_start());", r, r);
    fc_cuda_line(&g->t, "}");
}

/* After a chunk: lane b tells block b. */
static void tell(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    fc_cuda_line(&g->t, o->in.full ? "if (lane < %d) {" : "if (lane < %d && first + c < count) {",
                 g->cls->cuda.blocks);
    fc_cuda_line(&g->t, "const int n = (int)(first / %d) + c / %d;", FC_CHUNK, FC_CHUNK);
    FC_EACH_REDUCTION(g, o->phase, "fc_tell(c%u[n].w, fc_words_of(x%u).w, lane, told + %u);", r, r,
                      o->phase);
    fc_cuda_line(&g->t, "}");
}

/* ---- text: phases ---------------------------------------------------------------------------- */

static void stage_text(fc_ring *o, unsigned stage) {
    fc_cuda_gen *g = o->in.g;
    o->phase = stage;
    fc_cuda_slice(g, stage, FC_POINT);
    fc_cuda_row(g);
    fc_cuda_declare_results(g, stage);
    fc_cuda_line(&g->t, "{");
    fc_ring_pointers(o);
    FC_EACH_REDUCTION(g, stage, "red%u x%u;", r, r);
    o->after = tell;
    fc_ring_chunks(o);
    fc_cuda_now_held(g);
    fc_cuda_line(&g->t, "fc_told_pass(told + %u);", stage);
    FC_EACH_REDUCTION(g, stage, "x%u = fc_told<%d, red%u>(c%u, lane);", r, g->cls->cuda.lane_slots,
                      r, r);
    fc_inner_finish(g, stage);
    fc_cuda_line(&g->t, "}");
}

static bool sends(const fc_ring *o) {
    for (uint32_t a = 0; a < o->in.g->k->accesses.len; a++)
        if (o->sent[a]) return true;
    return false;
}

/* After a chunk: its results leave. */
static void send(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    fc_cuda_line(&g->t, "const ix start = first + c;");
    fc_cuda_line(&g->t,
                 "const int left = start >= count ? 0 : count - start < %d ? (int)(count - start) "
                 ": %d;",
                 FC_CHUNK, FC_CHUNK);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (o->sent[a])
            fc_cuda_line(&g->t, "fc_take(a%u + b%u + start, z%u + c - lane * %d, left, lane);",
                         (unsigned)g->k->accesses.at[a].buffer, (unsigned)a, (unsigned)a,
                         fc_inner_lane(&o->in));
}

static void store_text(fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    o->phase = FC_CUDA_STORES;
    o->after = sends(o) ? send : NULL;
    if (!fc_inner_begin_stores(g, "threadIdx.x == 0 && part == 0")) return;
    fc_ring_pointers(o);
    fc_ring_chunks(o);
    if (sends(o)) fc_cuda_line(&g->t, "if (lane == 0) fc_sent();");
}

/* ---- entry ----------------------------------------------------------------------------------- */

static void frame(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    const unsigned blocks = g->cls->cuda.blocks;
    fc_cuda_line(&g->t, "#ifdef FC_EMULATE");
    fc_cuda_line(&g->t, "__shared__ fc_vec<double, 2, 16> room[%u];",
                 (unsigned)FC_CUDA_MOST_SHARED / SIXTEEN);
    fc_cuda_line(&g->t, "#else");
    fc_cuda_line(&g->t, FC_CUDA_EXTERN_ROOM);
    fc_cuda_line(&g->t, "#endif");
    fc_cuda_line(&g->t, "char *const here = (char *)room;");
    fc_cuda_line(&g->t, "const int span = (int)p.w[%u];", (unsigned)g->l.extra + FC_PB_SPAN);
    fc_cuda_line(&g->t, "const int part = (int)(blockIdx.x %% %u);", blocks);
    fc_cuda_line(&g->t, "const ix row = (ix)(blockIdx.x / %u);", blocks);
    fc_cuda_line(&g->t, "const ix from = (ix)part * span, first = from;");
    fc_cuda_line(
        &g->t,
        "const unsigned int length = (unsigned int)(count - from < span ? count - from : span);");
    fc_cuda_line(&g->t, "const int chunks = (int)((count + %d) / %d);", FC_CHUNK - 1, FC_CHUNK);
    fc_cuda_line(&g->t, "const int warp = (int)(threadIdx.x / 32), lane = (int)(threadIdx.x %% "
                        "32);");
    make_gates(o);
    /* What comes is on its way while blocks meet. */
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
    fc_cuda_line(&g->t, "if (warp == 0) {");
    fc_cuda_line(&g->t, "__syncwarp();");
    fc_ring_fetch(o, "&full");
    fc_cuda_line(&g->t, "}");
    make_slots(o);
    fc_cuda_line(&g->t, "__syncthreads();");
    fc_cuda_line(&g->t, "fc_cluster_arrive();");
    fc_cuda_line(&g->t, "fc_gate_pass(&full, 0);");
    fc_cuda_line(&g->t, "__syncwarp();");
    fc_cuda_line(&g->t, "fc_cluster_wait();");
}

fusec_status fc_cuda_emit_cluster(fc_cuda_gen *g, fc_error *e) {
    const fc_cuda_inner in = fc_cuda_inner_of(g);
    fc_ring o;
    FC_TRY(fc_ring_open(&o, &in, e));
    fusec_status s = fc_ring_settle(&o, e);
    if (s == FUSEC_OK) {
        frame(&o);
        for (unsigned stage = 0; stage < g->k->nstages; stage++) stage_text(&o, stage);
        store_text(&o);
    }
    fc_ring_close(&o);
    return s;
}
