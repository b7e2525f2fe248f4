/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_thread.c - rows that a thread has by itself: several one after the other, or a rectangle of
 * short ones.
 *
 * In: the walk over a form (cuda_walk.c). Out: which rows are a thread's, and the nodes that are
 * not as in all forms. */
#include <stdio.h>

#include "codegen/cuda/cuda_walk.h"

/* ---- rows of threads ------------------------------------------------------------------------- */

/* What does not exist is the last row again, so that loads need no test and those that all turns
 * share are one. */
static void place_of_axis(fc_cuda_gen *g, unsigned axis, const char *place) {
    unsigned extent = (unsigned)g->l.extents + axis;
    fc_cuda_line(&g->t, "const ix at%u = %s;", axis, place);
    fc_cuda_line(&g->t, "const ix i%u = at%u < (ix)p.w[%u] ? at%u : (ix)p.w[%u] - 1;", axis, axis,
                 extent, axis, extent);
}

static void thread_row(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    const bool once = g->cls->cuda.once;
    const int repeat = g->cls->cuda.repeat;
    char place[96];
    if (once && g->np == 2) { /* what moves along one axis only is read once for several turns */
        int wide = fc_cuda_repeat_across(g->cls);
        fc_cuda_line(&g->t, "const ix across = ((ix)p.w[%u] + %d) / %d;",
                     (unsigned)g->l.extents + 1, wide * FC_CUDA_THREADS - 1,
                     wide * FC_CUDA_THREADS);
        fc_cuda_line(&g->t, "const ix down = fc_quotient((ix)blockIdx.x, across);");
        snprintf(place, sizeof place, "down * %d + turn / %d", repeat / wide, wide);
        place_of_axis(g, 0, place);
        snprintf(place, sizeof place,
                 "(((ix)blockIdx.x - down * across) * %d + turn %% %d) * %d + (ix)threadIdx.x",
                 wide, wide, FC_CUDA_THREADS);
        place_of_axis(g, 1, place);
        fc_cuda_line(&g->t, "const bool live = at0 == i0 && at1 == i1;");
    } else {
        const unsigned team = g->cls->cuda.team;
        if (team > 1)
            fc_cuda_line(&g->t, "const ix place = (ix)blockIdx.x * %u + (ix)(threadIdx.x / %u);",
                         FC_CUDA_THREADS / team, team);
        else
            fc_cuda_line(&g->t,
                         "const ix place = ((ix)blockIdx.x * %d + turn) * %d + (ix)threadIdx.x;",
                         repeat, FC_CUDA_THREADS);
        if (team) fc_cuda_line(&g->t, "const int lane = (int)(threadIdx.x %% %u);", team);
        w->members = team > 1 ? team : 0;
        fc_cuda_line(&g->t, "const bool live = place < rows;");
        fc_cuda_line(&g->t, "const ix row = live ? place : rows - 1;");
        fc_cuda_indices(g, 0, g->np, "row");
    }
    fc_cuda_bases(g, g->np);
}

/* The results of all turns are there before the first is stored. */
static void kept_results(fc_cuda_gen *g) {
    for (unsigned s = 0; s < g->k->nstages; s++) {
        fc_cuda_declare_results(g, s);
        FC_EACH_REDUCTION(g, s, "f%u = g%u[turn];", r, r);
    }
}

/* ---- rectangles of short rows ---------------------------------------------------------------- */

enum { WIDE = 16 }; /* bytes of an access */

static void rect_place(fc_cuda_gen *g) {
    const unsigned width = (unsigned)g->l.extents + FC_RECT_INNER;
    fc_cuda_line(&g->t, "const ix across = ((ix)p.w[%u] / %d + %d) / %d;", width,
                 g->cls->cuda.rect_columns, FC_CUDA_MAP_THREADS - 1, FC_CUDA_MAP_THREADS);
    fc_cuda_line(&g->t, "const ix down = fc_quotient((ix)blockIdx.x, across);");
    fc_cuda_line(&g->t,
                 "const ix left = (((ix)blockIdx.x - down * across) * %d + (ix)threadIdx.x) * %d;",
                 FC_CUDA_MAP_THREADS, g->cls->cuda.rect_columns);
    fc_cuda_line(&g->t, "if (left >= (ix)p.w[%u]) return;", width);
}

/* q*[v] of all neighbours from vectors n*. */
static void load_neighbours(fc_cuda_gen *g, const fc_cuda_group *gr) {
    const int v = g->cls->cuda.rect_columns, count = g->cls->vector;
    fc_cuda_group_declare(g, gr, v, true);
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        const unsigned name = (unsigned)a, buffer = (unsigned)g->k->accesses.at[a].buffer;
        const int each = WIDE / (int)fc_cuda_bytes(g->k, a);
        const char *type = fc_dtypes[g->k->accesses.at[a].dtype].cuda;
        if (!g->cached[a] || !(g->used[a] & FC_CUDA_LOADS)) continue;
        fc_cuda_line(&g->t, "fc_vec<%s, %d, %d> n%u[%d];", type, each, WIDE, name,
                     v * count / each);
        fc_cuda_line(&g->t, "const fc_vec<%s, %d, %d> *const from%u =", type, each, WIDE, name);
        fc_cuda_line(&g->t, "    (const fc_vec<%s, %d, %d> *)(a%u + ((ix)p.w[%u] + left * %d));",
                     type, each, WIDE, buffer, fc_cuda_word(g, a), count);
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", v * count / each);
        fc_cuda_line(&g->t, "n%u[u] = from%u[u];", name, name);
        fc_cuda_line(&g->t, "}");
        fc_cuda_line(&g->t, "#pragma unroll");
        fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", v * count);
        fc_cuda_line(&g->t, "q%u[u / %d].e[u %% %d] = n%u[u / %d].e[u %% %d];", name, count, count,
                     name, each, each);
        fc_cuda_line(&g->t, "}");
    }
}

static void keep_columns(fc_cuda_gen *g) {
    fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW);
    fc_cuda_row(g);
    for (size_t s = 0; s < g->k->stores.len; s++) {
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "y%u.e[v] = ", (unsigned)g->k->stores.at[s].access);
        fc_cuda_to_storage(&g->t, g->store_value[s]);
        fc_str_add(g->t.out, ";\n");
    }
}

static void each_store(fc_cuda_gen *g, bool declare) {
    for (size_t s = 0; s < g->k->stores.len; s++) {
        const uint32_t a = g->k->stores.at[s].access;
        const char *type = fc_dtypes[g->k->accesses.at[a].dtype].cuda;
        const int v = g->cls->cuda.rect_columns;
        const unsigned bytes = fc_cuda_bytes(g->k, a) * (unsigned)v, word = fc_cuda_word(g, a);
        if (declare)
            fc_cuda_line(&g->t, "fc_vec<%s, %d, %u> y%u;", type, v, bytes, (unsigned)a);
        else
            fc_cuda_line(&g->t,
                         "*(fc_vec<%s, %d, %u> *)(a%u + ((ix)p.w[%u] + i0 * (ix)p.w[%u] + left)) = "
                         "y%u;",
                         type, v, bytes, (unsigned)g->k->accesses.at[a].buffer, word, word + 1,
                         (unsigned)a);
    }
}

/* The row under way: along the outer axis what does not exist is the last one again, and is not
 * stored. */
static void rect_row(fc_cuda_gen *g, const fc_loop *n) {
    const unsigned height = (unsigned)g->l.extents + FC_RECT_OUTER;
    fc_cuda_line(&g->t, "#pragma unroll");
    if (n->first == FC_RECT_OUTER) {
        fc_cuda_line(&g->t, "for (int r = 0; r < %u; r++) {", (unsigned)n->count);
        fc_cuda_line(&g->t, "const ix at = down * %u + r;", (unsigned)n->count);
        fc_cuda_line(&g->t, "const ix i0 = at < (ix)p.w[%u] ? at : (ix)p.w[%u] - 1;", height,
                     height);
        each_store(g, true);
    } else {
        fc_cuda_line(&g->t, "for (int v = 0; v < %u; v++) {", (unsigned)n->count);
        fc_cuda_line(&g->t, "const ix i1 = left + v;");
        fc_cuda_bases(g, g->np);
    }
}

static void row_of_rectangle(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    rect_row(g, n);
    fc_cuda_walk_list(w, n->body);
    if (n->first == FC_RECT_OUTER) {
        fc_cuda_line(&g->t, "if (at == i0) {");
        each_store(g, false);
        fc_cuda_line(&g->t, "}");
    }
    fc_cuda_line(&g->t, "}");
}

/* ---- the walk -------------------------------------------------------------------------------- */

static const fc_loop *node_at(const fc_cuda_walk *w, uint32_t at) {
    return &w->loops->node.at[at];
}

/* Rows of a thread. What it knows of one it does not know of the next. */
static void turns(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    const size_t len = g->code.ins.len;
    memcpy(g->outer, g->done, len);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int turn = 0; turn < %d; turn++) {", g->cls->cuda.repeat);
    fc_cuda_walk_list(w, n->body);
    while (w->closes) {
        fc_cuda_line(&g->t, "}");
        w->closes--;
    }
    fc_cuda_line(&g->t, "}");
    memcpy(g->done, g->outer, len);
    w->again = w->keeps;
    w->keeps = false;
}

static void rows(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    if (g->cls->cuda.rect_rows)
        row_of_rectangle(w, n);
    else if (g->cls->cuda.once && g->np == 2 && n->first == 1)
        fc_cuda_walk_list(w, n->body); /* one loop for both axes */
    else
        turns(w, n);
}

static void block(fc_cuda_walk *w, const fc_loop *n) {
    if (w->in.g->cls->cuda.rect_rows)
        rect_place(w->in.g);
    else
        thread_row(w);
    if (w->again) kept_results(w->in.g);
    fc_cuda_walk_list(w, n->body);
}

static void serial(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_text *t = &w->in.g->t;
    const unsigned step = n->step;
    const bool chunks = step == FC_CHUNK;
    const unsigned team = w->members;
    if (n->way != FC_LOOP_SPREAD && !chunks)
        fc_cuda_line(t, team == 32 ? "#pragma unroll 4" : "#pragma unroll 1");
    if (chunks && w->in.g->cls->cuda.team) w->chunks = n;
    if (n->way == FC_LOOP_SPREAD && team) {
        fc_cuda_line(t, "for (ix g = c; g < c + %d && g < most; g += %u) {", FC_LANES,
                     team * w->in.g->cls->vector);
        fc_cuda_line(t, "const ix l = g + lane * %d;", (int)w->in.g->cls->vector);
    } else if (chunks && team) {
        fc_cuda_line(t, "for (ix c = 0; c < most; c += %u) {", step);
    } else if (n->way == FC_LOOP_SPREAD)
        fc_cuda_line(t, "for (ix l = c; l < c + %d && l < count; l += %u) {", FC_LANES, step);
    else if (step == FC_LANES && team == 32) /* loads of all of it may be under way */
        fc_cuda_line(t, "for (int h = 0; h < %u; h += %u) {", FC_CHUNK, step);
    else if (step == FC_LANES)
        fc_cuda_line(t, "for (ix k = l; k < c + %d && k < count; k += %u) {", FC_CHUNK, step);
    else
        fc_cuda_line(t, "for (ix %c = 0; %c < count; %c += %u) {", chunks ? 'c' : 'k',
                     chunks ? 'c' : 'k', chunks ? 'c' : 'k', step);
    if (step == FC_LANES && team == 32) fc_cuda_line(t, "const ix k = l + h;");
    fc_cuda_walk_list(w, n->body);
    fc_cuda_line(t, "}");
}

static void elements(fc_cuda_walk *w) {
    fc_cuda_gen *g = w->in.g;
    fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    fc_cuda_row(g);
    fc_cuda_line(&g->t, "if (live) {");
    if (g->cls->cuda.once) fc_cuda_line(&g->t, "const ix l = 0, k = 0;");
    w->closes = 1;
}

/* ---- rows that end by data ------------------------------------------------------------------- */

static void clear(fc_cuda_gen *g, unsigned s) {
    FC_EACH_REDUCTION(g, s, "red%u s%u[32];", r, r);
    fc_cuda_line(&g->t, "unsigned int n = 0;");
}

/* What a row has once, and its points need. */
static bool is_of_row(const fc_cuda_gen *g, fc_val v) {
    const fc_op op = (fc_op)g->code.ins.at[v].op;
    return g->need[v] && g->done[v] && op != FC_OP_CONST && op != FC_OP_PARAM;
}

static void take_over(fc_cuda_gen *g, bool pass) {
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (is_of_row(g, v))
            fc_cuda_line(
                &g->t, pass ? "const auto z%u = fc_lane_from(v%u, from);" : "const auto v%u = z%u;",
                (unsigned)v, (unsigned)v);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->used[a] && g->k->accesses.at[a].level == FC_POINT)
            fc_cuda_line(
                &g->t, pass ? "const auto y%u = fc_lane_from(b%u, from);" : "const auto b%u = y%u;",
                (unsigned)a, (unsigned)a);
}

/* Rows that are much longer than most are done by all lanes of the warp, one after the other. */
static void far_rows(fc_cuda_walk *w, unsigned s) {
    fc_cuda_gen *g = w->in.g;
    const unsigned team = g->cls->cuda.team;
    fc_cuda_line(&g->t,
                 "for (unsigned int todo = __ballot_sync(0xffffffffu, far%u && live && lane == 0); "
                 "todo; todo &= "
                 "todo - 1) {",
                 s);
    fc_cuda_line(&g->t, "int from = 0;");
    fc_cuda_line(&g->t, "while (!(todo >> from & 1)) from++;");
    fc_cuda_slice(g, s, FC_POINT);
    take_over(g, true);
    fc_cuda_line(&g->t, "const ix far_limit = fc_lane_from(limit%u, from);", s);
    fc_cuda_line(&g->t, "{");
    take_over(g, false);
    fc_cuda_line(&g->t, "const ix count = far_limit, most = far_limit;");
    fc_cuda_line(&g->t, "const bool mine = (threadIdx.x & 31) / %u == (unsigned int)from / %u;",
                 team, team);
    fc_cuda_line(&g->t, "const int lane = (int)(threadIdx.x & 31);");
    clear(g, s);
    w->members = 32;
    serial(w, w->chunks);
    w->members = team > 1 ? team : 0;
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].stage == s)
            fc_cuda_line(&g->t,
                         "if (mine) f%u = red%u_finish(fc_sum(s%u, n, red%u_start()), (long "
                         "long)count);",
                         r, r, r, r);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "}");
}

static void finish(fc_cuda_walk *w, unsigned s) {
    fc_cuda_gen *g = w->in.g;
    if (g->cls->cuda.once) {
        FC_EACH_REDUCTION(g, s, "f%u = red%u_finish(w%u[0], (long long)count);", r, r, r);
    } else {
        FC_EACH_REDUCTION(g, s,
                          "f%u = red%u_finish(fc_sum(s%u, n, red%u_start()), (long long)count);", r,
                          r, r, r);
    }
    fc_cuda_line(&g->t, "}");
    if (g->cls->cuda.team && fc_cuda_has_far(g)) far_rows(w, s);
    if (w->keeps) FC_EACH_REDUCTION(g, s, "g%u[turn] = f%u;", r, r);
}

bool fc_cuda_thread_node(fc_cuda_walk *w, const fc_loop *n) {
    fc_cuda_gen *g = w->in.g;
    switch (n->kind) {
    case FC_LOOP_GRID: /* the results of all rows are stored behind them */
        w->keeps = !g->cls->cuda.rect_rows && node_at(w, n->body)->next;
        return false;
    case FC_LOOP_BLOCK: block(w, n); break;
    case FC_LOOP_UNROLL: rows(w, n); break;
    case FC_LOOP_SERIAL: serial(w, n); break;
    case FC_LEAF_FILL:
        fc_cuda_slice(g, 0, FC_POINT);
        load_neighbours(g, &w->group);
        break;
    case FC_LEAF_ROW:
        if (n->phase != FC_PHASE_ELEMENTS) return false;
        elements(w);
        break;
    case FC_LEAF_START:
        if (node_at(w, n->next)->kind == FC_LOOP_VECTOR)
            fc_cuda_line(&g->t, "const ix l = 0, k = 0;");
        return false;
    case FC_LEAF_CLEAR: clear(g, n->phase); break;
    case FC_LEAF_PUSH:
        if (w->members == 32 && g->cls->cuda.team == 1)
            FC_EACH_REDUCTION(g, n->phase, "w%u[0] = fc_lanes(w%u[0], 32);", r, r);
        FC_EACH_REDUCTION(g, n->phase, "fc_put(s%u, w%u[0], n);", r, r);
        fc_cuda_line(&g->t, "n++;");
        break;
    case FC_LEAF_JOIN:
        if (n->over != FC_LOOP_LANE) return false;
        FC_EACH_REDUCTION(g, n->phase, "w%u[0] = fc_lanes(w%u[0], %u);", r, r, w->members);
        break;
    case FC_LEAF_FOLD: break; /* when it is finished */
    case FC_LEAF_FINISH: finish(w, n->phase); break;
    case FC_LEAF_STORE:
        if (!g->cls->cuda.rect_rows) return false;
        keep_columns(g);
        break;
    default: return false;
    }
    return true;
}
