/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_ring.c - the text of forms whose rows lie in shared memory, as far as others do not have it:
 * rings and clusters.
 *
 * In: the walk over a form (cuda_walk.c). Out: what stands around the loops of such blocks, and the
 * leaves that are about places and other blocks.
 *
 * FC_CUDA_RING: rows that no block can keep stream through a ring of places. A gang (cuda_gang.c)
 * has one block an SM, each with the same part of every row of the gang. Each phase - the stages
 * and the stores at the end - has warps of its own, and one warp more asks for what comes: so a
 * block works on several rows at a time, one for each phase, while others are on their way, and
 * nobody's wait for the other blocks is seen by the memory.
 *
 * A place has room for what the phases load of a part. It goes from hand to hand: the last warp
 * fills it by bulk copies and waits at `empty`, all others wait at `full`; phase s > 0 waits for
 * the results of stage s - 1, to which this block's own warps of the phase before contribute when
 * they are done with the place. So whoever has passed that wait may write to it: a value that a
 * later phase needs takes the place of what no later phase loads. The warps of the stores give the
 * place back. A warp's share of a part is 2^n chunks, a block's is 2^n of those: subtrees
 * (ir/graph.h).
 *
 * FC_CUDA_CLUSTER: a row lies in the shared memory of a few blocks, which run at the same time and
 * reach each other's shared memory. Each has `span` elements of the row, whole chunks, which come
 * by bulk copies that need no thread; its warps take the chunks in turn. Several blocks live on an
 * SM, so that rows that come hide what others wait for. A warp tells what it makes of a chunk to
 * all blocks of the cluster, which have a slot for each chunk of the row; the slots of a stage are
 * there when as many bytes have come as its gate expects. Then every warp joins them in order. A
 * slot without a chunk has the start value. */
#include "codegen/cuda/cuda_ring.h"

enum { SIXTEEN = 16 }; /* bytes of a unit of shared memory */

/* ---- rings: results of a phase --------------------------------------------------------------- */

/* x* of the phase's warps, in order, in all its threads. Of two sets one is written while the other
 * may still be read. */
static void join_warps(const fc_ring *o, unsigned stage, const char *array) {
    fc_cuda_gen *g = o->in.g;
    unsigned w = o->in.warps;
    FC_EACH_REDUCTION(g, stage, "__shared__ red%u %s%u[%u];", r, array, r, 2 * w);
    fc_cuda_line(&g->t, "if (lane == 0) {");
    FC_EACH_REDUCTION(g, stage, "%s%u[(exchange & 1) * %u + warp] = x%u;", array, r, w, r);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "__threadfence_block();");
    fc_cuda_line(&g->t, "fc_group(%u, %u);",
                 1 + (o->phase == FC_CUDA_STORES ? g->k->nstages : o->phase), 32 * w);
    FC_EACH_REDUCTION(g, stage, "x%u = fc_lanes(%s%u[(exchange & 1) * %u + lane %% %u], %u);", r,
                      array, r, w, w, w);
}

/* f* of an earlier stage. */
static void await_stage(const fc_ring *o, unsigned stage) {
    fc_cuda_gen *g = o->in.g;
    fc_cuda_declare_results(g, stage);
    fc_cuda_line(&g->t, "{");
    FC_EACH_REDUCTION(g, stage, "red%u x%u;", r, r);
    fc_cuda_gang_await(g, stage);
    join_warps(o, stage, "l");
}

static bool keeps(const fc_cuda_gen *g) {
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->hold[v] == FC_CUDA_HOLD && g->need[v]) return true;
    return false;
}

static void done_with_part(const fc_ring *o, unsigned stage) {
    if (keeps(o->in.g)) fc_cuda_line(&o->in.g->t, "fc_kept();");
    fc_cuda_now_held(o->in.g);
    join_warps(o, stage, "m");
}

/* ---- clusters: the slots --------------------------------------------------------------------- */

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

static void told(const fc_ring *o, unsigned stage) {
    fc_cuda_gen *g = o->in.g;
    fc_cuda_now_held(g);
    fc_cuda_line(&g->t, "fc_told_pass(told + %u);", stage);
    FC_EACH_REDUCTION(g, stage, "x%u = fc_told<%d, red%u>(c%u, lane);", r, g->cls->cuda.lane_slots,
                      r, r);
}

/* ---- what comes and what leaves -------------------------------------------------------------- */

/* Of a cluster what comes is on its way while blocks meet. */
static void fill(const fc_ring *o) {
    fc_cuda_text *t = &o->in.g->t;
    if (!o->cluster) {
        fc_cuda_line(t, "fc_gate_pass(empty + place, odd ^ 1);");
        fc_ring_begin_place(o);
        fc_ring_fetch(o, "full + place");
        return;
    }
    fc_cuda_line(t, "if (warp == 0) {");
    fc_cuda_line(t, "__syncwarp();");
    fc_ring_fetch(o, "&full");
    fc_cuda_line(t, "}");
    make_slots(o);
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "fc_cluster_arrive();");
    fc_cuda_line(t, "fc_gate_pass(&full, 0);");
    fc_cuda_line(t, "__syncwarp();");
    fc_cuda_line(t, "fc_cluster_wait();");
}

/* Results of a chunk of a cluster, or of all chunks of a ring's warp. */
static void flush(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    const char *first = o->cluster ? "start" : "first";
    const unsigned n = o->cluster ? FC_CHUNK : g->cls->cuda.warp_chunks * FC_CHUNK;
    if (o->cluster) fc_cuda_line(&g->t, "const ix start = first + c;");
    fc_cuda_line(&g->t,
                 "const int left = %s >= count ? 0 : count - %s < %u ? (int)(count - %s) : %u;",
                 first, first, n, first, n);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (o->sent[a])
            fc_cuda_line(&g->t, "fc_take(a%u + b%u + %s, z%u%s - lane * %d, left, lane);",
                         (unsigned)g->k->accesses.at[a].buffer, (unsigned)a, first, (unsigned)a,
                         o->cluster ? " + c" : "", fc_inner_lane(&o->in));
    if (!o->cluster) fc_cuda_line(&g->t, "if (lane == 0) fc_sent();");
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Of a ring the size is known when the text is compiled. */
static void declare_room(const fc_ring *o, const char *name, unsigned bytes) {
    fc_cuda_text *t = &o->in.g->t;
    fc_cuda_line(t, "#ifdef FC_EMULATE");
    fc_cuda_line(t, "__shared__ fc_vec<double, 2, 16> %s[%u];", name, bytes / SIXTEEN);
    fc_cuda_line(t, "#else");
    fc_cuda_line(t, FC_CUDA_EXTERN_ROOM);
    if (!o->cluster) fc_cuda_line(t, "fc_vec<double, 2, 16> *const %s = room;", name);
    fc_cuda_line(t, "#endif");
}

static void begin_ring(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    unsigned places = g->cls->cuda.buffers, team = g->cls->cuda.team, part = fc_ring_part(g->cls);
    fc_cuda_gang_place(g);
    declare_room(o, "ring", places * fc_ring_place_bytes(g->k, part, g->cached));
    fc_cuda_line(&g->t, "__shared__ unsigned long long full[%u], empty[%u];", places, places);
    fc_cuda_line(&g->t, "if (threadIdx.x < %u) {", places);
    fc_cuda_line(&g->t, "fc_gate_make(full + threadIdx.x, 32);");
    fc_cuda_line(&g->t, "fc_gate_make(empty + threadIdx.x, %u);", o->in.warps);
    fc_cuda_line(&g->t, "fc_gates_made();");
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "__syncthreads();");
    fc_cuda_line(&g->t, "const int role = (int)(threadIdx.x / %u);", team);
    fc_cuda_line(&g->t, "const int thread = (int)(threadIdx.x %% %u), warp = thread / 32;", team);
    fc_cuda_line(&g->t, "const int lane = thread %% 32;");
    fc_cuda_line(&g->t, "const ix from = part * %u, first = from + warp * %u;", part,
                 (unsigned)g->cls->cuda.warp_chunks * FC_CHUNK);
    fc_cuda_line(
        &g->t, "const unsigned int length = (unsigned int)(count - from < %u ? count - from : %u);",
        part, part);
    fc_cuda_line(&g->t, "int place = 0;");
    fc_cuda_line(&g->t, "unsigned int odd = 0;");
}

static void begin_cluster(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    const unsigned blocks = g->cls->cuda.blocks;
    declare_room(o, "room", FC_CUDA_MOST_SHARED);
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
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
}

void fc_ring_begin(fc_cuda_walk *w) {
    const fc_ring *o = w->in.g->ring;
    w->leader =
        o->cluster ? "threadIdx.x == 0 && part == 0" : "lane == 0 && warp == 0 && part == 0";
    (o->cluster ? begin_cluster : begin_ring)(o);
    memcpy(w->in.g->outer, w->in.g->done, w->in.g->code.ins.len);
}

void fc_ring_end(fc_cuda_walk *w) {
    const fc_ring *o = w->in.g->ring;
    if (o->cluster && fc_ring_sends(o)) fc_cuda_line(&w->in.g->t, "if (lane == 0) fc_sent();");
}

/* ---- roles and rows of a ring ---------------------------------------------------------------- */

static bool fetches(const fc_loop *n) {
    return n->phase == FC_SET_KEPT;
}

static void begin_role(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const unsigned role = n->phase == FC_PHASE_ELEMENTS ? g->k->nstages : n->phase;
    g->ring->phase = n->phase == FC_PHASE_ELEMENTS ? (unsigned)FC_CUDA_STORES : n->phase;
    if (fetches(n))
        fc_cuda_line(&g->t, "} else {");
    else
        fc_cuda_line(&g->t, role ? "} else if (role == %u) {" : "if (role == %u) {", role);
}

static void begin_row(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    memcpy(g->done, g->outer, g->code.ins.len);
    fc_cuda_gang_begin(g);
    fc_cuda_line(&g->t, "exchange++;");
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
    if (g->ring->phase != FC_SET_KEPT) fc_cuda_line(&g->t, "fc_gate_pass(full + place, odd);");
}

static void end_row(fc_cuda_walk *w) {
    fc_cuda_text *t = &w->in.g->t;
    if (w->in.g->ring->phase == FC_CUDA_STORES) {
        fc_cuda_line(t, "__syncwarp();");
        fc_cuda_line(t, "if (lane == 0) fc_gate_join(empty + place);");
    }
    fc_cuda_line(t, "if (++place == %d) {", w->in.g->cls->cuda.buffers);
    fc_cuda_line(t, "place = 0;");
    fc_cuda_line(t, "odd ^= 1;");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* x* of a stage is that of each chunk. */
static void begin_chunks(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_line(&g->t, "#pragma unroll 1");
    if (g->ring->cluster)
        fc_cuda_line(&g->t, "for (int c = warp * %d; c < span; c += %u) {", FC_CHUNK,
                     (unsigned)n->step);
    else
        fc_cuda_line(&g->t, "for (int c = 0; c < %u; c += %u) {",
                     g->cls->cuda.warp_chunks * FC_CHUNK, (unsigned)n->step);
    FC_EACH_REDUCTION(g, g->ring->phase, "x%u = red%u_start();", r, r);
}

static unsigned levels(const fc_cuda_gen *g) {
    return 1 + fc_cuda_log2(g->cls->cuda.warp_chunks);
}

static void row(fc_ring *o, unsigned phase) {
    fc_cuda_gen *g = o->in.g;
    const bool stage = phase < FC_SET_KEPT;
    o->phase = stage ? phase : (unsigned)FC_CUDA_STORES;
    fc_cuda_slice(g, o->phase, phase == FC_PHASE_RESULTS ? FC_ROW : FC_POINT);
    fc_cuda_row(g);
    if (phase == FC_PHASE_RESULTS) return;
    if (stage && o->cluster) {
        fc_cuda_declare_results(g, phase);
        fc_cuda_line(&g->t, "{");
    }
    fc_ring_pointers(o);
    FC_EACH_REDUCTION(g, phase, "red%u x%u;", r, r);
}

static void serial(fc_cuda_walk *w, const fc_loop *n) {
    if (n->end <= w->in.g->np) {
        begin_row(w);
        fc_cuda_walk_list(w, n->body);
        end_row(w);
    } else {
        begin_chunks(w, n);
        fc_cuda_walk_list(w, n->body);
        fc_cuda_line(&w->in.g->t, "}");
    }
}

bool fc_ring_node(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    fc_ring *o = g->ring;
    const unsigned s = n->phase;
    switch (n->kind) {
    case FC_LOOP_ROLE:
        begin_role(w, n);
        fc_cuda_walk_list(w, n->body);
        return true;
    case FC_LOOP_SERIAL:
        if (!n->batch) serial(w, n);
        return !n->batch;
    case FC_LEAF_FILL: fill(o); return true;
    case FC_LEAF_FLUSH: flush(o); return true;
    case FC_LEAF_ROW: row(o, s); return true;
    case FC_LEAF_CLEAR: FC_EACH_REDUCTION(g, s, "red%u t%u[%u];", r, r, levels(g)); return true;
    case FC_LEAF_PUSH:
        FC_EACH_REDUCTION(g, s, "fc_fill(t%u, x%u, c / %d);", r, r, FC_CHUNK);
        return true;
    case FC_LEAF_FOLD: FC_EACH_REDUCTION(g, s, "x%u = t%u[%u];", r, r, levels(g) - 1); return true;
    case FC_LEAF_PUT:
        if (o->cluster)
            tell(o);
        else
            fc_cuda_gang_publish(g, s);
        return true;
    case FC_LEAF_GET: (o->cluster ? told : await_stage)(o, s); return true;
    case FC_LEAF_JOIN:
        if (n->over == FC_LOOP_WARP) done_with_part(o, s);
        return n->over == FC_LOOP_WARP;
    default: return false;
    }
}
