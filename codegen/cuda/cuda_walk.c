/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_walk.c - a loop form (codegen/loop.h) as CUDA C.
 *
 * In: g->loops. Out: the text inside of the entry point. Loops over numbers of hardware are names
 * (cuda_place.c), other loops are loops, and at a leaf the files for memory, code and accumulators
 * write what is done there. Names: c where a chunk begins, h and u turns whose loads are in flight
 * one after the other and together, k an element's number, w0 accumulators of a thread, x0 what
 * becomes of them.
 *
 * Threads without a row work on the last one with `here` = 0 elements: they take part in every
 * exchange. */
#include <stdio.h>

#include "codegen/cuda/cuda_dot.h"
#include "codegen/cuda/cuda_ring.h"
#include "codegen/cuda/cuda_slide.h"

static void list(fc_cuda_walk *w, uint32_t at);

static const fc_loop *node_at(const fc_cuda_walk *w, uint32_t at) {
    return &w->loops->node.at[at];
}

/* Of teams: whether they have a row in registers, or walk over spans of chunks. */
static bool keeps_row(const fc_cuda_walk *w) {
    return w->in.g->cls->cuda.iterations > 0;
}
static bool walks(const fc_cuda_walk *w) {
    return !w->own && !keeps_row(w);
}

static bool of_rows(const fc_cuda_walk *w, const fc_loop *n) {
    return n->end <= w->in.g->np;
}

/* The phase whose elements a loop is about. */
static unsigned phase_in(const fc_cuda_walk *w, const fc_loop *n) {
    while (n->kind != FC_LEAF_POINT) n = node_at(w, n->body);
    return n->phase;
}

static unsigned phase_of(unsigned phase) {
    return phase == FC_PHASE_ELEMENTS ? (unsigned)FC_CUDA_STORES : phase;
}

static const char *limit(const fc_cuda_walk *w) {
    return w->whole ? NULL : w->limit;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* "const ix k = ...;": the first element of this thread in turn `turn` of a loop. */
static void number(const fc_cuda_walk *w, const fc_loop *n, const char *name, const char *turn) {
    fc_cuda_text *t = &w->in.g->t;
    if (n->step == 1)
        fc_cuda_line(t, "const ix %s = %s%s;", name, w->base, turn);
    else
        fc_cuda_line(t, "const ix %s = %s(%s) * %u + lane * %d;", name, w->base, turn,
                     (unsigned)n->step, fc_inner_lane(&w->in));
}

/* Loads of a few turns. Of whole groups those that do not exist read the first one instead of
 * nothing: no element needs a test. */
static void load_turns(fc_cuda_walk *w, const fc_loop *n, const fc_cuda_group *of, const char *turn,
                       unsigned batch, bool kept) {
    fc_cuda_text *t = &w->in.g->t;
    fc_cuda_group gr = *of;
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", batch);
    if (of->whole && of->limit) gr.limit = NULL;
    if (of->limit && gr.across) {
        fc_cuda_line(t, "const ix k = %s%s < %s ? %s%s : c;", w->base, turn, of->limit, w->base,
                     turn);
    } else if (of->limit && of->whole) {
        number(w, n, "at", turn);
        fc_cuda_line(t, "const ix k = at < %s ? at : 0;", of->limit);
    } else if (w->o.turned && !of->limit) {
        const unsigned x = w->o.x;
        fc_cuda_line(t, "const unsigned int n = u * 32 + lane;");
        fc_cuda_line(t, "const ix k = i + h + (ix)(n / %u * %d + n / %u %% %u);", x * batch,
                     fc_run_of(w->in.g->k), x, batch);
    } else {
        number(w, n, "k", turn);
        if (w->in.apart > 1) fc_cuda_line(t, "const ix t = (%s) * %d;", turn, FC_LANES);
    }
    fc_cuda_group_load(w->in.g, &gr, kept);
    fc_cuda_line(t, "}");
}

static void compute_turns(fc_cuda_walk *w, const fc_loop *n, const fc_cuda_group *gr,
                          const char *turn, unsigned phase) {
    fc_cuda_text *t = &w->in.g->t;
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", n->batch);
    number(w, n, "k", turn);
    if (w->in.apart > 1) fc_cuda_line(t, "const ix t = (%s) * %d;", turn, FC_LANES);
    fc_cuda_group_compute(w->in.g, gr, phase);
    fc_cuda_line(t, "}");
}

static bool any_load(const fc_cuda_gen *g, bool kept) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if ((g->used[a] & FC_CUDA_LOADS) && (g->cached[a] != 0) == kept) return true;
    return false;
}

/* Turns of a loop over elements: a few of them load, then they compute. */
static void batches(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const unsigned phase = phase_of(phase_in(w, n));
    const bool all = keeps_row(w) && n->batch == n->count;
    /* a run that is not whole, and rows of which most have less than a chunk */
    const bool ends = limit(w) && ((w->o.x && !w->o.turned) || (walks(w) && fc_is_ragged(g->k)));
    const char *turn = all ? "u" : "h + u";
    fc_cuda_group gr = w->group;
    gr.limit = limit(w);
    gr.taken = turn;
    gr.kept = all ? "[u]" : "[h + u]";
    if (w->o.turned && gr.limit) fc_cuda_line(&g->t, "if (c < end) {");
    if (!all) {
        fc_cuda_line(&g->t, n->kind == FC_LOOP_UNROLL ? "#pragma unroll" : "#pragma unroll 1");
        char end[48] = "";
        if (ends && n->step > 1)
            snprintf(end, sizeof end, " && c + h * %u < end", (unsigned)n->step);
        else if (ends)
            snprintf(end, sizeof end, " && c + h < end");
        fc_cuda_line(&g->t, "for (int h = 0; h < %u%s; h += %d) {", (unsigned)n->count, end,
                     n->batch);
    }
    fc_cuda_group_declare(g, &gr, n->batch, false);
    if (any_load(g, false)) load_turns(w, n, &gr, turn, n->batch, false);
    if (w->o.turned && !gr.limit) fc_columns_turn(&w->o, n->batch);
    compute_turns(w, n, &gr, turn, phase);
    if (!all) fc_cuda_line(&g->t, "}");
    if (w->o.turned && gr.limit) fc_cuda_line(&g->t, "}");
}

/* What several phases need of a row. */
static void fill(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    const fc_loop turns = {.step = FC_LANES};
    fc_cuda_group gr = w->group;
    char base[32] = "";
    for (uint32_t a = 0; a < g->k->accesses.len; a++) g->used[a] = g->cached[a] ? FC_CUDA_LOADS : 0;
    fc_cuda_group_declare(g, &gr, w->in.its, true);
    if (w->in.gang && g->cls->cuda.ahead) fc_cuda_line(&g->t, "fc_copied();");
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        if (!w->in.gang || !fc_cuda_gang_room(g, a)) continue;
        fc_cuda_gang_arrived(g, a);
        g->used[a] = 0;
    }
    if (!any_load(g, true)) return;
    if (w->in.warps > 1) snprintf(base, sizeof base, "warp * %d + ", FC_CHUNK);
    w->base = base;
    gr.limit = limit(w);
    load_turns(w, &turns, &gr, "u", (unsigned)w->in.its, true);
    w->base = "";
}

static void again(const fc_cuda_inner *in) {
    fc_cuda_walk *w = (fc_cuda_walk *)in;
    batches(w, w->turns);
}

/* One group, where it is needed. */
static void group(fc_cuda_walk *w, unsigned phase, bool braces) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_slice(g, phase_of(phase), FC_POINT);
    if (g->inside) {
        fc_cuda_inside_elements(g, &w->group);
        return;
    }
    if (braces) fc_cuda_line(&g->t, "{");
    fc_cuda_group_declare(g, &w->group, 0, false);
    fc_cuda_group_load(g, &w->group, false);
    fc_cuda_group_compute(g, &w->group, phase_of(phase));
    if (braces) fc_cuda_line(&g->t, "}");
}

/* ---- loops ----------------------------------------------------------------------------------- */

static void rows_of_grid(fc_cuda_walk *w, const fc_loop *n) {
    const fc_loop *in = node_at(w, n->body);
    if (in->kind == FC_LOOP_GRID) {
        list(w, n->body);
        return;
    }
    fc_cuda_walk_begin(w);
    list(w, n->body);
    fc_cuda_walk_end(w);
}

/* Whole chunks first, then the rest, or all alike. */
static void open_chunks(fc_cuda_text *t, const fc_loop *n) {
    if (n->way == FC_LOOP_REST) {
        fc_cuda_line(t, "if (c < end) {");
        return;
    }
    if (n->way == FC_LOOP_WHOLE) fc_cuda_line(t, "ix c = begin;");
    fc_cuda_line(t, "#pragma unroll 1");
    if (n->way == FC_LOOP_WHOLE)
        fc_cuda_line(t, "for (; c + %u <= end; c += %u) {", n->step, n->step);
    else
        fc_cuda_line(t, "for (ix c = begin; c < end; c += %u) {", n->step);
}

static void serial(fc_cuda_walk *w, const fc_loop *n) {
    const bool whole = w->whole;
    open_chunks(&w->in.g->t, n);
    if (n->way == FC_LOOP_WHOLE) w->whole = true;
    list(w, n->body);
    w->whole = whole;
    fc_cuda_line(&w->in.g->t, "}");
}

/* Where the range is whole, and where it is not. */
static void either(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_text *t = &w->in.g->t;
    const bool whole = w->whole;
    if (n->way == FC_LOOP_REST)
        fc_cuda_line(t, w->in.g->ring ? "} else if (first + c < count) {" : "} else {");
    else if (w->in.g->ring)
        fc_cuda_line(t, "if (first + c + %d <= count) {", FC_CHUNK);
    else if (keeps_row(w))
        fc_cuda_line(t, "if (whole) {");
    else
        fc_cuda_line(t, "if (%c + %u <= end) {", w->o.v ? 'i' : 'c', (unsigned)n->step);
    w->whole = n->way == FC_LOOP_WHOLE;
    list(w, n->body);
    w->whole = whole;
    if (n->way == FC_LOOP_REST) fc_cuda_line(t, "}");
}

static void warps(fc_cuda_walk *w, const fc_loop *n) {
    char base[32];
    if (n->step == FC_CHUNK) {
        snprintf(base, sizeof base, "warp * %d + ", FC_CHUNK);
        w->base = base;
    }
    list(w, n->body);
    if (n->step == FC_CHUNK) w->base = "";
}

static void vector(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    if (node_at(w, n->body)->kind != FC_LEAF_FINISH) {
        group(w, phase_in(w, n), false);
        return;
    }
    fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW);
    fc_cuda_line(&g->t, "if (live && thread < %u) {", w->o.x);
    fc_cuda_line(&g->t, "const ix column = i%u;", (unsigned)g->np - 1);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < %u; e++) {", w->o.v);
    fc_cuda_line(&g->t, "const ix i%u = column + e;", (unsigned)g->np - 1);
    fc_cuda_bases(g, g->np);
    list(w, n->body);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* Accumulators of several columns live on until these are stored. */
static bool has_scope(const fc_cuda_walk *w) {
    return w->o.v <= 1;
}

static void row(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const bool stage = n->phase < FC_SET_KEPT;
    if (keeps_row(w) && n->phase == 0) fc_cuda_walk_held(w);
    fc_cuda_slice(g, stage ? n->phase : (unsigned)FC_CUDA_STORES,
                  n->phase == FC_PHASE_RESULTS ? FC_ROW : FC_POINT);
    fc_cuda_row(g);
    if (stage) fc_cuda_declare_results(g, n->phase);
    if (stage && fc_is_ragged(g->k)) fc_cuda_walk_row_limit(w, n->phase);
    if (stage && has_scope(w)) fc_cuda_line(&g->t, "{");
    if (stage && fc_is_ragged(g->k)) fc_cuda_walk_row_end(w);
}

static void start(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    fc_inner_start_lanes(g, n->phase, w->group.n);
    if (keeps_row(w) || (walks(w) && node_at(w, n->next)->kind == FC_LOOP_CASE))
        FC_EACH_REDUCTION(g, n->phase, "red%u x%u;", r, r);
}

static void join(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const unsigned s = n->phase;
    if (n->over == FC_LOOP_WARP) {
        fc_inner_join_warps(&w->in, s, "m");
    } else if (n->over == FC_LOOP_GRID) {
        fc_inner_join_parts(&w->in, s);
    } else if (n->over == FC_LOOP_VECTOR) { /* teams: with the lanes, as order has it */
        if (!w->in.team) fc_inner_join_lanes(g, s, w->group.n);
    } else if (walks(w)) {
        fc_cuda_walk_meet_chunk(w, s);
    } else {
        fc_inner_meet_lanes(&w->in, s, w->whole);
    }
}

static void finish(fc_cuda_walk *w, const fc_loop *n) {
    fc_inner_finish(w->in.g, n->phase);
    if (keeps_row(w)) fc_cuda_now_held(w->in.g);
    fc_cuda_line(&w->in.g->t, "}");
}

static void store(fc_cuda_walk *w, const fc_loop *n) {
    if (n->phase == FC_PHASE_ELEMENTS) return; /* with the code of the element */
    if (w->o.v > 1) {
        fc_cuda_row_stores(w->in.g);
    } else {
        char columns[32];
        snprintf(columns, sizeof columns, "live && thread < %u", w->o.x);
        fc_cuda_line(&w->in.g->t, "if (%s) {", w->o.x ? columns : w->leader);
        fc_cuda_row_stores(w->in.g);
        fc_cuda_line(&w->in.g->t, "}");
    }
}

/* ---- the tree -------------------------------------------------------------------------------- */

static void loop(fc_cuda_walk *w, const fc_loop *n) {
    switch (n->kind) {
    case FC_LOOP_GRID: rows_of_grid(w, n); break;
    case FC_LOOP_WARP: warps(w, n); break;
    case FC_LOOP_BLOCK:
    case FC_LOOP_LANE: list(w, n->body); break;
    case FC_LOOP_CASE: either(w, n); break;
    case FC_LOOP_VECTOR: vector(w, n); break;
    default:
        if (n->batch && !of_rows(w, n)) {
            fc_cuda_slice(w->in.g, phase_of(phase_in(w, n)), FC_POINT);
            w->turns = n;
            if (w->in.g->ring)
                fc_ring_turns(w->in.g->ring, n, limit(w));
            else if (keeps_row(w) && phase_in(w, n) == FC_PHASE_ELEMENTS)
                fc_inner_store(&w->in, again);
            else
                batches(w, n);
        } else if (of_rows(w, n)) {
            list(w, n->body);
        } else {
            serial(w, n);
        }
    }
}

static void node(fc_cuda_walk *w, const fc_loop *n) {
    if (w->own && w->own(w, n)) return;
    switch (n->kind) {
    case FC_LEAF_FILL: fill(w); break;
    case FC_LEAF_ROW: row(w, n); break;
    case FC_LEAF_POINT: group(w, n->phase, false); break;
    case FC_LEAF_STEP: break; /* with the code of the element */
    case FC_LEAF_START: start(w, n); break;
    case FC_LEAF_JOIN: join(w, n); break;
    case FC_LEAF_CLEAR: fc_cuda_walk_clear_chunks(w, n->phase); break;
    case FC_LEAF_PUSH: fc_cuda_walk_push_chunk(w, n->phase); break;
    case FC_LEAF_FOLD: fc_cuda_walk_fold_chunks(w, n->phase); break;
    case FC_LEAF_PUT: break;
    case FC_LEAF_GET: fc_cuda_walk_last_block(w); break;
    case FC_LEAF_FINISH: finish(w, n); break;
    case FC_LEAF_STORE: store(w, n); break;
    default: loop(w, n);
    }
}

static void list(fc_cuda_walk *w, uint32_t at) {
    for (; at; at = node_at(w, at)->next) node(w, node_at(w, at));
}

void fc_cuda_walk_list(fc_cuda_walk *w, uint32_t at) {
    list(w, at);
}

void fc_cuda_walk_group(fc_cuda_walk *w, unsigned phase, bool braces) {
    group(w, phase, braces);
}

/* ---- entry ----------------------------------------------------------------------------------- */

/* The groups of the leaves, as far as the class says, but for rows of teams. */
static fc_cuda_group group_of(const fc_cuda_gen *g) {
    const fc_cuda_class *c = &g->cls->cuda;
    const bool thread = c->kind == FC_CUDA_THREAD;
    fc_cuda_group gr = {.n = g->cls->vector,
                        .step = 1,
                        .first = g->np,
                        .end = g->axes,
                        .own = g->cls->nr > 1 && !g->cls->aligned,
                        .wide = g->cls->aligned,
                        .number = "k",
                        .limit = thread && !c->whole ? "count" : NULL,
                        .slot = "",
                        .kept = "[v]",
                        .lanes = true,
                        .taken = thread ? "(k - l) / 128" : "0"};
    if (c->rect_rows) {
        gr.own = gr.wide = false;
    } else if (g->k->schedule == FC_SCHED_SCAN) {
        gr.own = gr.lanes = false;
        gr.across = gr.whole = c->columns && g->cls->vector > 1;
    } else if (c->across) {
        gr.own = false;
        gr.across = gr.whole = true;
        gr.wide = g->cls->vector > 1;
        gr.slot = "[u]";
    } else if (c->apart) {
        gr.n = c->apart;
        gr.step = FC_CUDA_MAP_THREADS;
        gr.first = 0;
        gr.end = g->np;
        gr.own = g->np > 1;
        gr.wide = gr.lanes = false;
        gr.limit = "rows";
    }
    return gr;
}

static fc_cuda_node *own_of(fc_cuda_kind kind) {
    static fc_cuda_node *const own[] = {[FC_CUDA_MAP] = fc_cuda_map_node,
                                        [FC_CUDA_TILE] = fc_cuda_tile_node,
                                        [FC_CUDA_THREAD] = fc_cuda_thread_node,
                                        [FC_CUDA_RECT] = fc_cuda_thread_node,
                                        [FC_CUDA_RING] = fc_ring_node,
                                        [FC_CUDA_CLUSTER] = fc_ring_node,
                                        [FC_CUDA_OUTER] = fc_columns_node,
                                        [FC_CUDA_SCAN] = fc_cuda_scan_node,
                                        [FC_CUDA_DOT] = fc_dot_node};
    return (size_t)kind < sizeof own / sizeof *own ? own[kind] : NULL;
}

void fc_cuda_walk_loops(fc_cuda_gen *g) {
    const bool thread = g->cls->cuda.kind == FC_CUDA_THREAD;
    fc_cuda_walk w = {.loops = &g->loops,
                      .in = {.g = g, .apart = 1},
                      .group = group_of(g),
                      .limit = g->ring ? "count" : "end",
                      .base = g->cls->cuda.iterations ? "" : "c + ",
                      .leader = thread && g->cls->cuda.team ? "live && lane == 0" : "live",
                      .whole = g->cls->cuda.full,
                      .own = own_of(g->cls->cuda.kind)};
    if (!w.own || g->ring) {
        w.in = fc_cuda_inner_of(g);
        w.group = w.in.quad;
    }
    if (g->cls->cuda.across) w.o = fc_columns_of(g);
    fc_dot dot;
    if (w.own == fc_dot_node) {
        dot = fc_dot_of(g);
        w.dot = &dot;
    }
    list(&w, g->loops.function[0]);
}
