/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_outer.c - columns that threads share: the outer tree of ir/graph.h.
 *
 * Threads along x own neighbouring rows, `vector` of them each. Threads along y share their rows:
 * each takes an aligned power-of-two span of runs of FC_RUN elements, combines its runs by a binary
 * counter whose lowest levels are registers, all of them where a thread has few runs (`runs`), and
 * the parts meet in shared memory in order of y. With split a row's spans are spread over blocks as
 * well (blockIdx.y), and blocks that finish last combine them, group by group.
 *
 * Where rows of memory are much shorter than a line, a thread with a run of its own would touch a
 * line of its own with every load. There (`transposed`) the runs of a warp's threads follow each
 * other, its lanes load what lies side by side and find their own elements in shared memory; the
 * lanes of a warp then join by shuffles, and its warps are the parts that meet.
 *
 * Where every thread has a row and `runs` whole runs (`full`), nothing is tested and numbers of
 * elements are known.
 *
 * In: the loops of the form, w*, what a thread makes of a run. Out: x*, that of all runs. */
#include "codegen/cuda/cuda_walk.h"

enum { MEETING_BYTES = 32 << 10 }; /* of accumulators that meet at once */

/* Elements from one run of a thread to its next. */
static int stride(const fc_cuda_columns *o) {
    const int run = fc_run_of(o->g->k);
    return o->turned ? run * 32 / (int)o->x : run;
}

/* ---- one run -------------------------------------------------------------------------------- */

static bool along_rows(const fc_cuda_gen *g, uint32_t a) {
    for (uint32_t x = g->np; x < g->axes; x++)
        if (fc_class_move(g->cls, a, x) != FC_MOVE_ZERO) return true;
    return false;
}

/* Turned: vector n = 32 u + lane of a warp is element n / x % batch of its run n / (x * batch), at
 * place n % x across. Places in shared memory are mixed so that neither side meets a bank twice. */
void fc_columns_turn(const fc_cuda_columns *o, unsigned batch) {
    fc_cuda_text *t = &o->g->t;
    const unsigned run = o->x * batch;
    for (uint32_t a = 0; a < o->g->k->accesses.len; a++) {
        if (!(o->g->used[a] & FC_CUDA_LOADS) || !along_rows(o->g, a)) continue;
        const unsigned each = o->v * fc_cuda_bytes(o->g->k, a),
                       mask = 128 / each - 1; /* vectors that all banks hold */
        fc_cuda_line(t, "{");
        fc_cuda_line(t, "auto *const mine = (decltype(&q%u[0]))meeting + part * %u;", (unsigned)a,
                     32 * batch);
        fc_cuda_line(t, "__syncwarp();");
        fc_cuda_line(t, "#pragma unroll");
        fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", batch);
        fc_cuda_line(t, "const unsigned int n = u * 32 + lane;");
        fc_cuda_line(t, "mine[n ^ (n / %u * %u & %u)] = q%u[u];", run, o->x, mask, (unsigned)a);
        fc_cuda_line(t, "}");
        fc_cuda_line(t, "__syncwarp();");
        fc_cuda_line(t, "#pragma unroll");
        fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", batch);
        fc_cuda_line(t, "const unsigned int n = lane / %u * %u + u * %u + lane %% %u;", o->x, run,
                     o->x, o->x);
        fc_cuda_line(t, "q%u[u] = mine[n ^ (n / %u * %u & %u)];", (unsigned)a, run, o->x, mask);
        fc_cuda_line(t, "}");
        fc_cuda_line(t, "}");
    }
}

/* The lanes of a transposed warp. Of whole runs the numbers of elements are known wherever they
 * meet. */
static void meet_lanes(const fc_cuda_columns *o, unsigned stage, bool even) {
    fc_cuda_gen *g = o->g;
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int m = %u; m < 32; m *= 2) {", o->x);
    FC_EACH_COLUMN(o, stage, "w%u[e] = fc_meet(w%u[e], fc_%s(w%u[e], m), (lane & m) != 0);", r, r,
                   even && fc_red_counts(&g->k->reductions.at[r]) ? "even" : "xor", r);
    fc_cuda_line(&g->t, "}");
}

/* Takes the run in w* into the span's counter. */
static void push(const fc_cuda_columns *o, unsigned stage, bool even) {
    if (even && o->runs)
        FC_EACH_COLUMN(o, stage, "fc_fill_even(c%u[e], w%u[e], n, %d);", r, r, stride(o));
    else if (even)
        FC_EACH_COLUMN(o, stage, "fc_count_even(c%u[e], s%u[e], w%u[e], n, %d);", r, r, r,
                       stride(o));
    else if (o->runs)
        FC_EACH_COLUMN(o, stage, "fc_fill(c%u[e], w%u[e], n);", r, r);
    else
        FC_EACH_COLUMN(o, stage, "fc_count(c%u[e], s%u[e], w%u[e], n);", r, r, r);
}

/* ---- one stage ------------------------------------------------------------------------------ */

/* How many threads share a column when parts meet: each joins some parts, then one of them what
 * came of it. */
static unsigned slices_of(const fc_cuda_columns *o) {
    unsigned n = 1;
    while (o->down > 4 && n * n < o->down && 2 * n * o->x * o->v <= FC_CUDA_THREADS) n *= 2;
    return n;
}

/* Bytes of m*, all accumulators of reduction r. */
static size_t room_of(const fc_cuda_columns *o, unsigned r) {
    return (fc_cuda_red_bytes(&o->g->k->reductions.at[r]) * o->x * o->down * o->v + 15) / 16 * 16;
}

/* The reductions of a stage from `first` on that meet together: as many as have room. */
static unsigned meet_together(const fc_cuda_columns *o, unsigned stage, unsigned first,
                              size_t *bytes) {
    unsigned r = first;
    *bytes = 0;
    for (; r < o->g->k->reductions.len; r++) {
        if (o->g->k->reductions.at[r].stage != stage) continue;
        if (*bytes && *bytes + room_of(o, r) > MEETING_BYTES) break;
        *bytes += room_of(o, r);
    }
    return r;
}

/* A line for every reduction of a stage in [first, end). */
#define EACH_OF(o, stage, first, end, ...)                                                         \
    for (unsigned r = (first); r < (end); r++)                                                     \
        if ((o)->g->k->reductions.at[r].stage == (stage)) fc_cuda_line(&(o)->g->t, __VA_ARGS__)

/* m[at] = the n places from `at` on, `step` apart. With `even` each has `even` elements. */
static void join_places(const fc_cuda_columns *o, unsigned stage, unsigned first, unsigned end,
                        unsigned n, unsigned step, bool even) {
    EACH_OF(o, stage, first, end, "fc_places<%u, %u>(m%u + at%s);", n, step, r,
            even ? ", even" : "");
}

/* All parts of all columns that have come together in m*; a block may have more columns than
 * threads. */
static void join_columns(const fc_cuda_columns *o, unsigned stage, unsigned first, unsigned end,
                         bool even) {
    fc_cuda_text *t = &o->g->t;
    const unsigned columns = o->x * o->v, slices = slices_of(o), each = o->down / slices;
    if (columns > FC_CUDA_THREADS) { /* then slices is 1 */
        fc_cuda_line(t, "for (unsigned int at = thread; at < %u; at += %u) {", columns,
                     FC_CUDA_THREADS);
    } else {
        fc_cuda_line(t, "if (thread < %u) {", columns * slices);
        fc_cuda_line(t, "const unsigned int at = thread %% %u + thread / %u * %u;", columns,
                     columns, columns * each);
    }
    if (even) fc_cuda_line(t, "const ix even = span;");
    join_places(o, stage, first, end, each, columns, even);
    fc_cuda_line(t, "}");
    if (slices == 1) return;
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "if (thread < %u) {", columns);
    fc_cuda_line(t, "const unsigned int at = thread;");
    if (even) fc_cuda_line(t, "const ix even = span * %u;", each);
    join_places(o, stage, first, end, slices, columns * each, even);
    fc_cuda_line(t, "}");
}

/* x0 of all parts of a row, in their order; every thread gets the result. Of a turned warp, whose
 * lanes all have the same, the first ones act. With `evens` the parts of a block whose runs are all
 * whole have `span` elements each. */
static void join_parts(const fc_cuda_columns *o, unsigned stage, bool evens) {
    fc_cuda_text *t = &o->g->t;
    const char *acts = o->turned ? "if (acts) " : "";
    size_t bytes;
    for (unsigned first = 0, end; first < o->g->k->reductions.len && o->down > 1; first = end) {
        size_t begin = 0;
        end = meet_together(o, stage, first, &bytes);
        if (!bytes) continue;
        fc_cuda_line(t, "{");
        for (unsigned r = first; r < end; r++) {
            if (o->g->k->reductions.at[r].stage != stage) continue;
            fc_cuda_line(t, "red%u *const m%u = (red%u *)(meeting + %u);", r, r, r,
                         (unsigned)(begin / 16));
            begin += room_of(o, r);
        }
        fc_cuda_line(t, "const unsigned int column = threadIdx.x * %u;", o->v);
        fc_cuda_line(t, "const unsigned int mine = part * %u + column;", o->x * o->v);
        if (o->turned) fc_cuda_line(t, "const bool acts = lane < %u;", o->x);
        fc_cuda_line(t, "__syncthreads();");
        fc_cuda_line(t, "for (int e = 0; e < %u; e++) {", o->v);
        EACH_OF(o, stage, first, end, "%sm%u[mine + e] = x%u[e];", acts, r, r);
        fc_cuda_line(t, "}");
        fc_cuda_line(t, "__syncthreads();");
        if (evens && !o->full) {
            fc_cuda_line(t, "if ((%s + 1) * %u * span <= count) {",
                         o->g->cls->cuda.split ? "(ix)blockIdx.y" : "(ix)0", o->down);
            join_columns(o, stage, first, end, true);
            fc_cuda_line(t, "} else {");
        }
        join_columns(o, stage, first, end, evens && o->full);
        if (evens && !o->full) fc_cuda_line(t, "}");
        fc_cuda_line(t, "__syncthreads();");
        fc_cuda_line(t, "for (int e = 0; e < %u; e++) {", o->v);
        EACH_OF(o, stage, first, end, "x%u[e] = m%u[column + e];", r, r);
        fc_cuda_line(t, "}");
        fc_cuda_line(t, "}");
    }
}

/* Room for accumulators, and before that for the loads of turned warps. */
static void declare_meeting(const fc_cuda_columns *o) {
    size_t most = 0, bytes;
    for (unsigned s = 0; s < o->g->k->nstages; s++)
        for (unsigned r = 0; r < o->g->k->reductions.len;) {
            r = meet_together(o, s, r, &bytes);
            if (bytes > most) most = bytes;
        }
    bytes = o->turned ? (size_t)fc_cuda_widest(o->g->k) *
                            (size_t)fc_cuda_outer_batch(o->g->k, o->g->cls) * o->v * o->x * o->y
                      : 0;
    if (most < bytes) most = bytes;
    if (o->down > 1)
        fc_cuda_line(&o->g->t, "__shared__ fc_vec<long long, 2, 16> meeting[%u];",
                     (unsigned)((most + 15) / 16));
}

/* x0 = members 0 .. of a group, `step` spans apart, joined as a tree. */
static void join_members(const fc_cuda_columns *o) {
    fc_cuda_gen *g = o->g;
    int n = fc_cuda_outer_group((int)o->down) / (int)o->down;
    FC_EACH_REDUCTION(g, 0, "red%u y%u[%d][%u];", r, r, n, o->v);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int u = 0; u < %d; u++) {", n);
    fc_cuda_line(&g->t, "const ix at = (ix)part * %d + u;", n);
    fc_cuda_line(&g->t, "const ix z = (group * %d + at) * step * rows;",
                 fc_cuda_outer_group((int)o->down));
    FC_EACH_COLUMN(o, 0, "y%u[u][e] = at < members ? z%u[z + e] : red%u_start();", r, r, r);
    fc_cuda_line(&g->t, "}");
    for (int s = 1; s < n; s *= 2)
        for (int u = 0; u < n; u += 2 * s)
            FC_EACH_COLUMN(o, 0, "y%u[%d][e] = fc_join(y%u[%d][e], y%u[%d][e]);", r, u, r, u, r,
                           u + s);
    FC_EACH_COLUMN(o, 0, "x%u[e] = y%u[0][e];", r, r);
    join_parts(o, 0, false);
}

/* Spans are joined in groups, groups in groups of groups: the block that finishes a group last goes
 * on with its x0, and the very last one with whole rows in all its threads. */
static void last_block(const fc_cuda_columns *o) {
    fc_cuda_gen *g = o->g;
    fc_cuda_text *t = &g->t;
    int size = fc_cuda_outer_group((int)o->down);
    fc_cuda_partials(g, "row");
    fc_cuda_line(t, "unsigned int *ticket = (unsigned int *)p.w[%u];",
                 (unsigned)g->l.extra + FC_PB_TICKETS);
    fc_cuda_line(t, "__shared__ bool last;");
    fc_cuda_line(t, "ix number = (ix)blockIdx.y, many = spans, step = 1;");
    fc_cuda_line(t, "do {");
    fc_cuda_line(t, "const ix group = number / %d, groups = (many + %d) / %d;", size, size - 1,
                 size);
    fc_cuda_line(t, "const ix members = group + 1 < groups ? %d : many - group * %d;", size, size);
    fc_cuda_line(t, "if (live && thread < %u) {", o->x);
    FC_EACH_COLUMN(o, 0, "z%u[number * step * rows + e] = x%u[e];", r, r);
    fc_cuda_line(t, "__threadfence();");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "if (thread == 0) {");
    fc_cuda_line(t, "unsigned int *const mine = ticket + blockIdx.x * groups + group;");
    fc_cuda_line(t, "last = atomicAdd(mine, 1u) == (unsigned int)members - 1;");
    fc_cuda_line(t, "if (last) *mine = 0;");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "if (!last) return;");
    fc_cuda_line(t, "__threadfence();");
    join_members(o);
    fc_cuda_line(t, "ticket += gridDim.x * groups;");
    fc_cuda_line(t, "number = group;");
    fc_cuda_line(t, "many = groups;");
    fc_cuda_line(t, "step *= %d;", size);
    fc_cuda_line(t, "} while (many > 1);");
}

/* How many levels of a span's counter are registers where there are any number of them. What is
 * indexed lies in local memory, whose lines a stream of loads drives out of the L1; turned warps
 * take more runs than others and have the registers. */
static unsigned levels(const fc_cuda_columns *o) {
    if (o->runs) return fc_cuda_log2(o->runs) + 1;
    size_t bytes = 0;
    for (size_t r = 0; r < o->g->k->reductions.len; r++)
        bytes += fc_cuda_red_bytes(&o->g->k->reductions.at[r]);
    return o->turned && bytes * o->v <= 16 ? 4 : 2;
}

/* x*, and the counter of runs; where runs walk, places for all of them. */
static void clear(const fc_cuda_columns *o, unsigned s) {
    fc_cuda_gen *g = o->g;
    FC_EACH_REDUCTION(g, s, "red%u x%u[%u];", r, r, o->v);
    FC_EACH_REDUCTION(g, s, "red%u c%u[%u][%u];", r, r, o->v, levels(o));
    if (!o->runs) FC_EACH_REDUCTION(g, s, "red%u s%u[%u][32];", r, r, o->v);
    if (!o->full) fc_cuda_line(&g->t, "unsigned int n = 0;");
}

static void fold(const fc_cuda_columns *o, unsigned s) {
    if (o->full)
        FC_EACH_COLUMN(o, s, "x%u[e] = c%u[e][%u];", r, r, levels(o) - 1);
    else if (o->runs)
        FC_EACH_COLUMN(o, s, "x%u[e] = fc_filled(c%u[e], n, red%u_start());", r, r, r);
    else
        FC_EACH_COLUMN(o, s, "x%u[e] = fc_counted(c%u[e], s%u[e], n, red%u_start());", r, r, r, r);
}

fc_cuda_columns fc_columns_of(fc_cuda_gen *g) {
    const fc_cuda_class *c = &g->cls->cuda;
    fc_cuda_columns o = {.g = g, .x = c->across, .y = FC_CUDA_THREADS / c->across};
    o.v = g->cls->vector;
    o.turned = c->transposed;
    o.full = c->full;
    o.runs = c->runs;
    o.down = o.turned ? FC_CUDA_THREADS / 32 : o.y;
    return o;
}

void fc_columns_place(const fc_cuda_columns *o) {
    fc_cuda_gen *g = o->g;
    fc_cuda_line(&g->t, "const ix place = ((ix)blockIdx.x * %u + (ix)threadIdx.x) * %u;", o->x,
                 o->v);
    if (o->full) {
        fc_cuda_line(&g->t, "const bool live = true;");
        fc_cuda_line(&g->t, "const ix row = place;");
    } else {
        fc_cuda_line(&g->t, "const bool live = place < rows;");
        fc_cuda_line(&g->t, "const ix row = live ? place : rows - %u;", o->v);
        fc_cuda_line(&g->t, "const ix here = live ? count : 0;");
    }
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
    fc_cuda_line(&g->t, "const unsigned int thread = threadIdx.y * %u + threadIdx.x;", o->x);
    if (o->turned) fc_cuda_line(&g->t, "const unsigned int lane = thread %% 32;");
    fc_cuda_line(&g->t, "const unsigned int part = %s;", o->turned ? "thread / 32" : "threadIdx.y");
    if (fc_is_ragged(g->k)) { /* with the row's end */
        declare_meeting(o);
        return;
    }
    if (o->full)
        fc_cuda_line(&g->t, "const ix span = %d;", (int)o->runs * stride(o));
    else
        fc_cuda_line(&g->t, "const ix span = (ix)p.w[%u] / %u;", g->l.extra + FC_PB_SPAN, o->down);
    fc_cuda_indent(&g->t);
    fc_str_add(g->t.out, "const ix begin = ");
    if (g->cls->cuda.split) fc_str_printf(g->t.out, "(ix)blockIdx.y * %u * span + ", o->down);
    fc_str_add(g->t.out, "(ix)part * span;\n");
    if (!o->full) fc_cuda_line(&g->t, "const ix end = begin + span < here ? begin + span : here;");
    declare_meeting(o);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void serial(fc_cuda_walk *w, const fc_loop *n) {
    const fc_cuda_columns *c = &w->o;
    fc_cuda_text *t = &c->g->t;
    if (c->full) {
        fc_cuda_line(t, n->count <= 2 ? "#pragma unroll" : "#pragma unroll 1");
        fc_cuda_line(t, "for (unsigned int n = 0; n < %u; n++) {", (unsigned)n->count);
        fc_cuda_line(t, "const ix i = begin + (ix)n * %u;", n->step);
    } else {
        fc_cuda_line(t, "#pragma unroll 1");
        fc_cuda_line(t, "for (ix i = begin; i < end; i += %u) {", n->step);
    }
    fc_cuda_line(t, c->turned ? "const ix c = i + (ix)(lane / %u * %d);" : "const ix c = i;", c->x,
                 fc_run_of(c->g->k));
    fc_cuda_walk_list(w, n->body);
    if (!c->full && w->loops->node.at[n->body].kind == FC_LEAF_START) fc_cuda_line(t, "n++;");
    fc_cuda_line(t, "}");
}

bool fc_columns_node(fc_cuda_walk *w, const fc_loop *n) {
    const fc_cuda_columns *c = &w->o;
    fc_cuda_gen *g = c->g;
    const unsigned s = n->phase;
    switch (n->kind) {
    case FC_LOOP_SERIAL:
        if (n->batch) return false;
        serial(w, n);
        break;
    case FC_LEAF_START:
        FC_EACH_REDUCTION(g, s, "red%u w%u[%u];", r, r, c->v);
        FC_EACH_COLUMN(c, s, "w%u[e] = red%u_start();", r, r);
        break;
    case FC_LEAF_CLEAR: clear(c, s); break;
    case FC_LEAF_JOIN:
        if (n->over == FC_LOOP_LANE)
            meet_lanes(c, s, w->whole && fc_cuda_any_counts(g->k, s));
        else
            join_parts(c, s, fc_cuda_any_counts(g->k, s));
        break;
    case FC_LEAF_PUSH: push(c, s, w->whole && fc_cuda_any_counts(g->k, s)); break;
    case FC_LEAF_FOLD: fold(c, s); break;
    case FC_LEAF_GET: last_block(c); break;
    case FC_LEAF_FINISH:
        FC_EACH_REDUCTION(g, s, "f%u = red%u_finish(x%u[%c], (long long)count);", r, r, r,
                          c->v > 1 ? 'e' : '0');
        if (c->v == 1) fc_cuda_line(&g->t, "}");
        break;
    default: return false;
    }
    return true;
}
