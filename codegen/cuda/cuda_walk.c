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

static bool is(const fc_cuda_walk *w, fc_cuda_kind kind) {
    return w->in.g->cls->cuda.kind == kind;
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
    const bool all = is(w, FC_CUDA_ONE) && n->batch == n->count;
    const bool ends = is(w, FC_CUDA_OUTER) && !w->o.turned && limit(w); /* a run not whole */
    const char *turn = all ? "u" : "h + u";
    fc_cuda_group gr = w->group;
    gr.limit = limit(w);
    gr.taken = turn;
    gr.kept = all ? "[u]" : "[h + u]";
    if (w->o.turned && gr.limit) fc_cuda_line(&g->t, "if (c < end) {");
    if (!all) {
        fc_cuda_line(&g->t, n->kind == FC_LOOP_UNROLL ? "#pragma unroll" : "#pragma unroll 1");
        fc_cuda_line(&g->t, "for (int h = 0; h < %u%s; h += %d) {", (unsigned)n->count,
                     ends ? " && c + h < end" : "", n->batch);
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
    if (is(w, FC_CUDA_TILE)) {
        fc_cuda_tile_fill(g);
        return;
    }
    if (is(w, FC_CUDA_RECT)) {
        fc_cuda_walk_fill(w);
        return;
    }
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
    w->keeps = is(w, FC_CUDA_THREAD) && in->next;
    if (in->kind == FC_LOOP_GRID) {
        list(w, n->body);
        return;
    }
    fc_cuda_walk_begin(w);
    list(w, n->body);
    fc_cuda_walk_end(w);
}

/* What a thread does for rows one after the other. */
static void turns_of_rows(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    if (is(w, FC_CUDA_TILE)) {
        fc_cuda_tile_compute(g);
    } else if (is(w, FC_CUDA_MAP) && g->cls->cuda.rows_in_turn && n->end < g->np) {
        fc_cuda_walk_rows(w, n);
        list(w, n->body);
        fc_cuda_line(&g->t, "}");
    } else if (is(w, FC_CUDA_MAP) && n->way != FC_LOOP_APART && g->cls->vector > 1) {
        fc_cuda_walk_map(w);
    } else if (g->ring) {
        fc_ring_begin_row(w);
        list(w, n->body);
        fc_ring_end_row(w);
    } else if (is(w, FC_CUDA_RECT)) {
        fc_cuda_walk_thread(w, n);
        list(w, n->body);
        if (n->first == FC_RECT_OUTER) fc_cuda_walk_keep_results(w, true);
        fc_cuda_line(&g->t, "}");
    } else if (is(w, FC_CUDA_THREAD) && !(g->cls->cuda.once && g->np == 2 && n->first == 1)) {
        const size_t len = g->code.ins.len;
        memcpy(g->outer, g->done, len);
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int turn = 0; turn < %d; turn++) {", g->cls->cuda.repeat);
        list(w, n->body);
        while (w->closes) {
            fc_cuda_line(&g->t, "}");
            w->closes--;
        }
        fc_cuda_line(&g->t, "}");
        memcpy(g->done, g->outer, len);
        w->again = w->keeps;
        w->keeps = false;
    } else {
        list(w, n->body);
    }
}

static void open_row_of_thread(fc_cuda_text *t, const fc_loop *n) {
    const unsigned step = n->step;
    if (n->way == FC_LOOP_SPREAD) {
        fc_cuda_line(t, "for (ix l = c; l < c + %d && l < count; l += %u) {", FC_LANES, step);
        return;
    }
    if (step == FC_CHUNK) {
        fc_cuda_line(t, "for (ix c = 0; c < count; c += %u) {", step);
        return;
    }
    fc_cuda_line(t, "#pragma unroll 1");
    if (step == FC_LANES)
        fc_cuda_line(t, "for (ix k = l; k < c + %d && k < count; k += %u) {", FC_CHUNK, step);
    else
        fc_cuda_line(t, "for (ix k = 0; k < count; k += %u) {", step);
}

static void open_runs_of_scan(fc_cuda_text *t, unsigned step) {
    if (step == 1) { /* what the next elements read is on its way */
        fc_cuda_line(t, "#pragma unroll %d", FC_RUN / 2);
        fc_cuda_line(t, "for (ix k = begin; k < end; k++) {");
        return;
    }
    fc_cuda_line(t, "for (unsigned int n = 0; (ix)n * %u < count; n++) {", step);
    if (step != FC_RUN) return;
    fc_cuda_line(t, "const ix begin = (ix)n * %d;", FC_RUN);
    fc_cuda_line(t, "const ix end = begin + %d < count ? begin + %d : count;", FC_RUN, FC_RUN);
}

static void open_runs_of_columns(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_text *t = &w->in.g->t;
    if (w->o.full) {
        fc_cuda_line(t, n->count <= 2 ? "#pragma unroll" : "#pragma unroll 1");
        fc_cuda_line(t, "for (unsigned int n = 0; n < %u; n++) {", (unsigned)n->count);
        fc_cuda_line(t, "const ix i = begin + (ix)n * %u;", n->step);
    } else {
        fc_cuda_line(t, "#pragma unroll 1");
        fc_cuda_line(t, "for (ix i = begin; i < end; i += %u) {", n->step);
    }
    fc_cuda_line(t, w->o.turned ? "const ix c = i + (ix)(lane / %u * %d);" : "const ix c = i;",
                 w->o.x, fc_run_of(w->in.g->k));
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

static void open_serial(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_text *t = &w->in.g->t;
    switch (w->in.g->cls->cuda.kind) {
    case FC_CUDA_THREAD: open_row_of_thread(t, n); break;
    case FC_CUDA_SCAN: open_runs_of_scan(t, n->step); break;
    case FC_CUDA_OUTER: open_runs_of_columns(w, n); break;
    case FC_CUDA_RING:
    case FC_CUDA_CLUSTER: fc_ring_begin_chunks(w, n); break;
    default: open_chunks(t, n);
    }
}

static void serial(fc_cuda_walk *w, const fc_loop *n) {
    if (n->way == FC_LOOP_STAGED) {
        fc_cuda_scan_staged(w);
        return;
    }
    if (is(w, FC_CUDA_DOT)) {
        fc_dot_begin_serial(w->dot, n);
        list(w, n->body);
        fc_dot_end_serial(w->dot, n);
        return;
    }
    const bool whole = w->whole;
    open_serial(w, n);
    if (n->way == FC_LOOP_WHOLE) w->whole = true;
    list(w, n->body);
    w->whole = whole;
    if (is(w, FC_CUDA_OUTER) && !w->o.full && node_at(w, n->body)->kind == FC_LEAF_START)
        fc_cuda_line(&w->in.g->t, "n++;");
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
    else if (is(w, FC_CUDA_ONE))
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
    if (is(w, FC_CUDA_DOT)) {
        list(w, n->body);
        return;
    }
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
    return !is(w, FC_CUDA_SCAN) && w->o.v <= 1;
}

static void row(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const bool stage = n->phase < FC_SET_KEPT;
    if (is(w, FC_CUDA_ONE) && n->phase == 0) fc_cuda_walk_held(w);
    fc_cuda_slice(g, stage ? n->phase : (unsigned)FC_CUDA_STORES,
                  n->phase == FC_PHASE_RESULTS ? FC_ROW : FC_POINT);
    fc_cuda_row(g);
    if (stage && !is(w, FC_CUDA_SCAN)) fc_cuda_declare_results(g, n->phase);
    if (stage && has_scope(w)) fc_cuda_line(&g->t, "{");
    if (n->phase != FC_PHASE_ELEMENTS || !is(w, FC_CUDA_THREAD)) return;
    fc_cuda_line(&g->t, "if (live) {");
    if (g->cls->cuda.once) fc_cuda_line(&g->t, "const ix l = 0, k = 0;");
    w->closes = 1;
}

static void start(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const unsigned s = n->phase;
    switch (g->cls->cuda.kind) {
    case FC_CUDA_SCAN:
        if (g->cls->cuda.staged) return; /* with the text of the runs */
        FC_EACH_REDUCTION(g, 0, w->prefixed ? "w%u = red%u_start();" : "red%u w%u = red%u_start();",
                          r, r, r);
        return;
    case FC_CUDA_OUTER:
        FC_EACH_REDUCTION(g, s, "red%u w%u[%u];", r, r, w->o.v);
        FC_EACH_COLUMN(&w->o, s, "w%u[e] = red%u_start();", r, r);
        return;
    case FC_CUDA_RECT:
    case FC_CUDA_THREAD:
        if (node_at(w, n->next)->kind == FC_LOOP_VECTOR)
            fc_cuda_line(&g->t, "const ix l = 0, k = 0;");
        break;
    default: break;
    }
    fc_inner_start_lanes(g, s, w->group.n);
    const bool joins = is(w, FC_CUDA_LOOP) && node_at(w, n->next)->kind == FC_LOOP_CASE;
    if (!is(w, FC_CUDA_ONE) && !joins) return;
    FC_EACH_REDUCTION(g, s, "red%u x%u;", r, r);
}

static void clear(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    enum { LEVELS = 40 };
    switch (g->cls->cuda.kind) {
    case FC_CUDA_THREAD:
        FC_EACH_REDUCTION(g, n->phase, "red%u s%u[32];", r, r);
        fc_cuda_line(&g->t, "unsigned int n = 0;");
        break;
    case FC_CUDA_SCAN:
        if (g->cls->cuda.split == FC_CUDA_BACK) break;
        if (g->cls->cuda.columns && g->cls->cuda.staged) fc_cuda_scan_ahead(w);
        if (g->cls->cuda.block_rows) { /* a level a lane */
            FC_EACH_REDUCTION(g, 0, "red%u far%u = red%u_start();", r, r, r);
        } else {
            FC_EACH_REDUCTION(g, 0, "%s%u far%u[%d];", g->cls->cuda.columns ? "columns" : "red", r,
                              r, LEVELS);
        }
        break;
    case FC_CUDA_OUTER: fc_columns_clear(&w->o, n->phase); break;
    default: fc_cuda_walk_clear_chunks(w, n->phase);
    }
}

static void join(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const unsigned s = n->phase;
    const bool columns = is(w, FC_CUDA_OUTER), even = w->whole && fc_cuda_any_counts(g->k, s);
    if (columns && n->over == FC_LOOP_LANE) {
        fc_columns_meet_lanes(&w->o, s, even);
    } else if (columns) {
        fc_columns_join(&w->o, s, fc_cuda_any_counts(g->k, s));
    } else if (is(w, FC_CUDA_SCAN)) {
        fc_cuda_scan_join(g);
    } else if (n->over == FC_LOOP_WARP) {
        fc_inner_join_warps(&w->in, s, "m");
    } else if (n->over == FC_LOOP_GRID) {
        fc_inner_join_parts(&w->in, s);
    } else if (n->over == FC_LOOP_VECTOR) { /* teams: with the lanes, as order has it */
        if (!w->in.team) fc_inner_join_lanes(g, s, w->group.n);
    } else if (is(w, FC_CUDA_LOOP)) {
        fc_cuda_walk_meet_chunk(w, s);
    } else {
        fc_inner_meet_lanes(&w->in, s, w->whole);
    }
}

static void push(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    switch (g->cls->cuda.kind) {
    case FC_CUDA_THREAD:
        FC_EACH_REDUCTION(g, n->phase, "fc_put(s%u, w%u[0], n);", r, r);
        fc_cuda_line(&g->t, "n++;");
        break;
    case FC_CUDA_OUTER:
        fc_columns_push(&w->o, n->phase, w->whole && fc_cuda_any_counts(g->k, n->phase));
        break;
    case FC_CUDA_SCAN:
        if (g->cls->cuda.block_rows) {
            FC_EACH_REDUCTION(g, 0, "fc_keep(far%u, total%u, n);", r, r);
        } else if (g->cls->cuda.columns) {
            FC_EACH_REDUCTION(g, 0, "fc_put(far%u, total%u, n);", r, r);
        } else {
            FC_EACH_REDUCTION(g, 0, "fc_put(far%u, w%u, n);", r, r);
        }
        break;
    default: fc_cuda_walk_push_chunk(w, n->phase);
    }
}

static void finish(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const unsigned s = n->phase;
    switch (g->cls->cuda.kind) {
    case FC_CUDA_THREAD:
    case FC_CUDA_RECT:
        if (g->cls->cuda.once || is(w, FC_CUDA_RECT)) {
            FC_EACH_REDUCTION(g, s, "f%u = red%u_finish(w%u[0], (long long)count);", r, r, r);
            break;
        }
        FC_EACH_REDUCTION(g, s,
                          "f%u = red%u_finish(fc_sum(s%u, n, red%u_start()), (long long)count);", r,
                          r, r, r);
        break;
    case FC_CUDA_OUTER:
        FC_EACH_REDUCTION(g, s, "f%u = red%u_finish(x%u[%c], (long long)count);", r, r, r,
                          w->o.v > 1 ? 'e' : '0');
        break;
    default:
        fc_inner_finish(g, s);
        if (is(w, FC_CUDA_ONE)) fc_cuda_now_held(g);
    }
    if (has_scope(w)) fc_cuda_line(&g->t, "}");
    if (!w->keeps) return;
    FC_EACH_REDUCTION(g, s, "g%u[turn] = f%u;", r, r);
}

static void store(fc_cuda_walk *w, const fc_loop *n) {
    if (n->phase == FC_PHASE_ELEMENTS) return; /* with the code of the element */
    if (is(w, FC_CUDA_RECT)) {
        fc_cuda_walk_keep_results(w, false);
    } else if (w->o.v > 1) {
        fc_cuda_row_stores(w->in.g);
    } else {
        char columns[32];
        snprintf(columns, sizeof columns, "live && thread < %u", w->o.x);
        fc_cuda_line(&w->in.g->t, "if (%s) {", w->o.x ? columns : w->leader);
        fc_cuda_row_stores(w->in.g);
        fc_cuda_line(&w->in.g->t, "}");
    }
}

/* ---- elements ----------------------------------------------------------------------------------
 */

/* An element by itself: of a scan, or apart from others of its thread. */
static void point(fc_cuda_walk *w, const fc_loop *n) {
    if (w->prefixed && n->phase == 0) {
        fc_cuda_declare_results(w->in.g, 0);
        fc_cuda_scanned(w, true);
    }
    group(w, n->phase, is(w, FC_CUDA_SCAN));
}

/* ---- the tree -------------------------------------------------------------------------------- */

static void loop(fc_cuda_walk *w, const fc_loop *n) {
    switch (n->kind) {
    case FC_LOOP_GRID: rows_of_grid(w, n); break;
    case FC_LOOP_BLOCK:
        fc_cuda_walk_thread(w, n);
        if (is(w, FC_CUDA_MAP) && w->in.g->cls->vector > 1)
            fc_cuda_walk_map(w);
        else
            list(w, n->body);
        break;
    case FC_LOOP_ROLE:
        fc_ring_begin_role(w, n);
        list(w, n->body);
        break;
    case FC_LOOP_WARP: warps(w, n); break;
    case FC_LOOP_LANE: list(w, n->body); break;
    case FC_LOOP_CASE: either(w, n); break;
    case FC_LOOP_VECTOR: vector(w, n); break;
    default:
        if (n->batch && !of_rows(w, n)) {
            fc_cuda_slice(w->in.g, phase_of(phase_in(w, n)), FC_POINT);
            w->turns = n;
            if (w->in.g->ring)
                fc_ring_turns(w->in.g->ring, n, limit(w));
            else if (is(w, FC_CUDA_ONE) && phase_in(w, n) == FC_PHASE_ELEMENTS)
                fc_inner_store(&w->in, again);
            else
                batches(w, n);
        } else if (of_rows(w, n)) {
            turns_of_rows(w, n);
        } else {
            serial(w, n);
        }
    }
}

static void node(fc_cuda_walk *w, const fc_loop *n) {
    if (w->in.g->ring && fc_ring_leaf(w, n)) return;
    if (w->dot && fc_dot_leaf(w->dot, n)) return;
    if (w->slide && fc_slide_node(w->slide, n)) return;
    switch (n->kind) {
    case FC_LEAF_FILL: fill(w); break;
    case FC_LEAF_ROW: row(w, n); break;
    case FC_LEAF_POINT: point(w, n); break;
    case FC_LEAF_STEP: break; /* with the code of the element */
    case FC_LEAF_START: start(w, n); break;
    case FC_LEAF_JOIN: join(w, n); break;
    case FC_LEAF_CLEAR: clear(w, n); break;
    case FC_LEAF_PUSH: push(w, n); break;
    case FC_LEAF_FOLD:
        if (is(w, FC_CUDA_OUTER)) fc_columns_fold(&w->o, n->phase);
        if (is(w, FC_CUDA_LOOP)) fc_cuda_walk_fold_chunks(w, n->phase);
        break;
    case FC_LEAF_PREFIX: fc_cuda_scan_prefix(w); break;
    case FC_LEAF_SCANNED: fc_cuda_scanned(w, false); break;
    case FC_LEAF_PUT: break;
    case FC_LEAF_GET:
        if (is(w, FC_CUDA_OUTER))
            fc_columns_last_block(&w->o);
        else
            fc_cuda_walk_last_block(w);
        break;
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

/* ---- entry ----------------------------------------------------------------------------------- */

/* The groups of the leaves, as far as the class says. */
static fc_cuda_group group_of(const fc_cuda_gen *g) {
    const fc_cuda_kind kind = g->cls->cuda.kind;
    const bool team = kind == FC_CUDA_ONE || kind == FC_CUDA_LOOP;
    fc_cuda_group gr = {.n = team ? FC_CUDA_QUAD : g->cls->vector,
                        .step = 1,
                        .first = g->np,
                        .end = g->axes,
                        .own = g->cls->nr > 1 && !g->cls->aligned,
                        .wide = g->cls->aligned,
                        .number = "k",
                        .slot = team ? "[u]" : "",
                        .kept = team ? "[u]" : "[v]",
                        .lanes = true,
                        .taken = kind == FC_CUDA_THREAD ? "(k - l) / 128" : "0"};
    if (kind == FC_CUDA_RECT) {
        gr.own = gr.wide = false;
    } else if (kind == FC_CUDA_SCAN) {
        gr.own = gr.lanes = false;
        gr.across = gr.whole = g->cls->cuda.columns && g->cls->vector > 1;
    } else if (kind == FC_CUDA_OUTER) {
        gr.own = false;
        gr.across = gr.whole = true;
        gr.wide = g->cls->vector > 1;
        gr.slot = "[u]";
    } else if (kind == FC_CUDA_MAP) {
        gr.n = g->cls->cuda.apart;
        gr.step = FC_CUDA_MAP_THREADS;
        gr.first = 0;
        gr.end = g->np;
        gr.own = g->np > 1;
        gr.wide = gr.lanes = false;
        gr.limit = "rows";
    } else if (kind == FC_CUDA_THREAD && !g->cls->cuda.whole) {
        gr.limit = "count";
    }
    return gr;
}

void fc_cuda_walk_loops(fc_cuda_gen *g) {
    const fc_cuda_kind kind = g->cls->cuda.kind;
    const bool team = kind == FC_CUDA_ONE || kind == FC_CUDA_LOOP;
    fc_cuda_walk w = {.loops = &g->loops,
                      .in = {.g = g, .apart = 1},
                      .group = group_of(g),
                      .limit = g->ring ? "count" : "end",
                      .base = kind == FC_CUDA_ONE ? "" : "c + ",
                      .leader = "live",
                      .whole = g->cls->cuda.full};
    if (team || g->ring) {
        w.in = fc_cuda_inner_of(g);
        w.group = w.in.quad;
    }
    if (kind == FC_CUDA_OUTER) w.o = fc_columns_of(g);
    fc_dot dot;
    if (kind == FC_CUDA_DOT) {
        dot = fc_dot_of(g);
        w.dot = &dot;
    }
    list(&w, g->loops.function[0]);
}
