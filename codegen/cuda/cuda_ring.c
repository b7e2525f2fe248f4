/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_ring.c - FC_CUDA_RING: rows that no block can keep stream through a ring of places in shared
 * memory.
 *
 * In: a gang (cuda_gang.c) of one block an SM, each with the same part of every row of the gang.
 * Each phase - the stages and the stores at the end - has warps of its own, and one warp more asks
 * for what comes: so a block works on several rows at a time, one for each phase, while others are
 * on their way, and nobody's wait for the other blocks is seen by the memory.
 *
 * A place has room for what the phases load of a part. It goes from hand to hand: the last warp
 * fills it by bulk copies and waits at `empty`, all others wait at `full`; phase s > 0 waits for
 * the results of stage s - 1, to which this block's own warps of the phase before contribute when
 * they are done with the place. So whoever has passed that wait may write to it: a value that a
 * later phase needs takes the place of what no later phase loads. The warps of the stores give the
 * place back.
 *
 * A warp's share of a part is 2^n chunks, a block's is 2^n of those: subtrees (codegen/nest.h). */
#include "codegen/cuda/cuda_ring.h"

enum { SIXTEEN = 16 }; /* bytes of a unit of shared memory */

/* ---- text: what the warps of a phase do for a row -------------------------------------------- */

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
    fc_inner_finish(g, stage);
    fc_cuda_line(&g->t, "}");
}

/* Stages that the slices of the phase take results of, and always the one before: its results say
 * that all warps of earlier phases are done with the place. */
static void find_wanted(const fc_ring *o, unsigned phase) {
    fc_cuda_gen *g = o->in.g;
    for (unsigned s = 0; s < g->k->nstages; s++) o->wanted[s] = s + 1 == phase;
    for (int level = 0; level < (phase == g->k->nstages ? 2 : 1); level++) {
        fc_cuda_slice(g, o->phase, level ? FC_ROW : FC_POINT);
        for (fc_val v = 0; v < g->code.ins.len; v++) {
            const fc_instr *i = &g->code.ins.at[v];
            if (g->need[v] && i->op == FC_OP_ACC)
                o->wanted[g->k->reductions.at[fc_acc_reduction(i)].stage] = 1;
        }
    }
}

static void begin_row(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    fc_cuda_line(&g->t, "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (ix row = gang; row < rows; row += gangs) {");
    fc_cuda_line(&g->t, "exchange++;");
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
}

static void end_row(const fc_ring *o) {
    fc_cuda_line(&o->in.g->t, "if (++place == %d) {", o->in.g->cls->cuda.buffers);
    fc_cuda_line(&o->in.g->t, "place = 0;");
    fc_cuda_line(&o->in.g->t, "odd ^= 1;");
    fc_cuda_line(&o->in.g->t, "}");
    fc_cuda_line(&o->in.g->t, "}");
}

static void publish(const fc_ring *o, unsigned stage) {
    join_warps(o, stage, "m");
    fc_cuda_gang_publish(o->in.g, stage);
}

static void join_chunk(const fc_ring *o) {
    FC_EACH_REDUCTION(o->in.g, o->phase, "fc_fill(t%u, x%u, c / %d);", r, r, FC_CHUNK);
}

static void stage_row(fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    unsigned stage = o->phase, levels = 1;
    while (1u << (levels - 1) < o->each) levels++;
    fc_cuda_slice(g, stage, FC_POINT);
    fc_cuda_row(g);
    fc_ring_pointers(o);
    FC_EACH_REDUCTION(g, stage, "red%u x%u;", r, r);
    if (o->each > 1) FC_EACH_REDUCTION(g, stage, "red%u t%u[%u];", r, r, levels);
    o->after = o->each > 1 ? join_chunk : NULL;
    fc_ring_chunks(o);
    if (o->after) FC_EACH_REDUCTION(g, stage, "x%u = t%u[%u];", r, r, levels - 1);
    o->after = NULL;
    bool keeps = false;
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->hold[v] == FC_CUDA_HOLD && g->need[v]) keeps = true;
    if (keeps) fc_cuda_line(&g->t, "fc_kept();");
    fc_cuda_now_held(g);
    publish(o, stage);
}

static void send(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    bool any = false;
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        if (!o->sent[a]) continue;
        if (!any)
            fc_cuda_line(&g->t,
                         "const int left = first >= count ? 0 : count - first < %u ? (int)(count - "
                         "first) : %u;",
                         o->each * FC_CHUNK, o->each * FC_CHUNK);
        fc_cuda_line(&g->t, "fc_take%s(a%u + b%u + first, z%u - lane * %d, left, lane);",
                     g->cls->aligned ? "_lines" : "", (unsigned)g->k->accesses.at[a].buffer,
                     (unsigned)a, (unsigned)a, fc_inner_lane(&o->in));
        any = true;
    }
    if (any) fc_cuda_line(&g->t, "if (lane == 0) fc_sent();");
}

static void store_row(fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    if (fc_inner_begin_stores(g, "lane == 0 && warp == 0 && part == 0")) {
        fc_ring_pointers(o);
        fc_ring_chunks(o);
        send(o);
    }
    fc_cuda_line(&g->t, "__syncwarp();");
    fc_cuda_line(&g->t, "if (lane == 0) fc_gate_join(empty + place);");
}

static void phase_text(fc_ring *o, unsigned phase) {
    fc_cuda_gen *g = o->in.g;
    o->phase = phase == g->k->nstages ? (unsigned)FC_CUDA_STORES : phase;
    memcpy(g->done, o->done, g->code.ins.len);
    fc_cuda_line(&g->t, phase ? "} else if (role == %u) {" : "if (role == %u) {", phase);
    begin_row(o);
    fc_cuda_line(&g->t, "fc_gate_pass(full + place, odd);");
    find_wanted(o, phase);
    for (unsigned s = 0; s < phase; s++)
        if (o->wanted[s]) await_stage(o, s);
    if (phase < g->k->nstages)
        stage_row(o);
    else
        store_row(o);
    end_row(o);
}

/* ---- text: the warp that asks for parts ------------------------------------------------------ */

static void fetch_text(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    fc_cuda_line(&g->t, "} else {");
    begin_row(o);
    fc_cuda_line(&g->t, "fc_gate_pass(empty + place, odd ^ 1);");
    fc_ring_begin_place(o);
    fc_ring_fetch(o, "full + place");
    end_row(o);
}

/* ---- entry ----------------------------------------------------------------------------------- */

static void frame(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    unsigned places = g->cls->cuda.buffers, team = g->cls->cuda.team, part = fc_ring_part(g->cls);
    fc_cuda_line(&g->t, "#ifdef FC_EMULATE");
    fc_cuda_line(&g->t, "__shared__ fc_vec<double, 2, 16> ring[%u];",
                 places * fc_ring_place_bytes(g->k, part, g->cached) / SIXTEEN);
    fc_cuda_line(&g->t, "#else");
    fc_cuda_line(&g->t, FC_CUDA_EXTERN_ROOM);
    fc_cuda_line(&g->t, "fc_vec<double, 2, 16> *const ring = room;");
    fc_cuda_line(&g->t, "#endif");
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
                 o->each * FC_CHUNK);
    fc_cuda_line(
        &g->t, "const unsigned int length = (unsigned int)(count - from < %u ? count - from : %u);",
        part, part);
    fc_cuda_line(&g->t, "int place = 0;");
    fc_cuda_line(&g->t, "unsigned int odd = 0;");
}

fusec_status fc_cuda_emit_ring(fc_cuda_gen *g, fc_error *e) {
    const fc_cuda_inner in = fc_cuda_inner_of(g);
    fc_ring o;
    FC_TRY(fc_ring_open(&o, &in, e));
    fusec_status s = fc_ring_settle(&o, e);
    if (s == FUSEC_OK) {
        fc_cuda_gang_place(g);
        frame(&o);
        for (unsigned phase = 0; phase <= g->k->nstages; phase++) phase_text(&o, phase);
        fetch_text(&o);
        fc_cuda_line(&g->t, "}");
        fc_cuda_gang_end(g);
    }
    fc_ring_close(&o);
    return s;
}
