/* cuda_team.c - what the schedules with threads for a row share: lanes, warps and gangs meet, rows
 * are dealt out, stores begin. See cuda_inner.h. */
#include "codegen/cuda/cuda_inner.h"

/* ---- lanes ----------------------------------------------------------------------------------- */

void fc_inner_start_lanes(fc_cuda_gen *g, unsigned stage, int n) {
    FC_EACH_REDUCTION(g, stage, "red%u w%u[%d];", r, r, n);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < %d; e++) {", n);
    FC_EACH_REDUCTION(g, stage, "w%u[e] = red%u_start();", r, r);
    fc_cuda_line(&g->t, "}");
}

static void join_lanes(fc_cuda_gen *g, unsigned r, int n) {
    for (int s = 1; s < n; s *= 2)
        for (int e = 0; e + s < n; e += 2 * s)
            fc_cuda_line(&g->t, "w%u[%d] = fc_join(w%u[%d], w%u[%d]);", r, e, r, e, r, e + s);
}

void fc_inner_join_lanes(fc_cuda_gen *g, unsigned stage, int n) {
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].stage == stage) join_lanes(g, r, n);
}

/* A largest or smallest element is the same in any order. */
static bool any_order(unsigned op) {
    return (fc_ops[op].flags & FC_F_EXACT) && fc_ops[op].components == 1;
}

/* Lanes a warp apart meet in the order of elements, where that matters. */
void fc_inner_meet_lanes(const fc_cuda_inner *in, unsigned stage, bool even) {
    fc_cuda_gen *g = in->g;
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        const fc_reduction *red = &g->k->reductions.at[r];
        const bool evens = even && fc_cuda_counts(red->op);
        if (red->stage != stage) continue;
        if (in->apart > 1 && !any_order(red->op)) {
            fc_cuda_line(&g->t, "x%u = fc_apart<%s>(w%u);", r, evens ? "true" : "false", r);
            continue;
        }
        join_lanes(g, r, FC_CUDA_QUAD);
        fc_cuda_line(&g->t, "x%u = fc_lanes%s(w%u[0], %u);", r, evens ? "_even" : "", r,
                     in->team < 32 ? in->team : 32);
    }
}

/* ---- who works on what, and how it is joined ------------------------------------------------- */

void fc_inner_team_rows(const fc_cuda_inner *in) {
    fc_cuda_gen *g = in->g;
    unsigned rows = fc_cuda_block(in->g->cls) / in->team;
    fc_cuda_line(&g->t, "const int lane = (int)(threadIdx.x %% %u);",
                 in->team < 32 ? in->team : 32);
    if (in->gang) {
        fc_cuda_gang_place(g);
        fc_cuda_line(&g->t, "const ix warp = part * %u + (ix)(threadIdx.x / 32);", in->warps);
        fc_cuda_gang_rooms(g);
        if (g->cls->variant & FC_CUDA_AHEAD) fc_cuda_gang_ahead(g, "gang");
        fc_cuda_gang_begin(g);
        fc_cuda_line(&g->t, "const bool live = true;");
        fc_cuda_line(&g->t, "const ix here = count;");
    } else {
        int turns = fc_cuda_turns(g->cls);
        if (turns > 1) {
            fc_cuda_line(&g->t, "#pragma unroll");
            fc_cuda_line(&g->t, "for (int turn = 0; turn < %d; turn++) {", turns);
        }
        if (turns > 1)
            fc_cuda_line(&g->t, "const ix block = (ix)blockIdx.x * %d + turn;", turns);
        else
            fc_cuda_line(&g->t, "const ix block = (ix)blockIdx.%c;", g->cls->split ? 'y' : 'x');
        fc_cuda_line(&g->t, "const ix place = block * %u + (ix)(threadIdx.x / %u);", rows,
                     in->team);
        fc_cuda_line(&g->t,
                     in->full ? "const bool live = true;" : "const bool live = place < rows;");
        fc_cuda_line(&g->t, "const ix row = live ? place : rows - 1;");
        fc_cuda_line(&g->t, "const ix here = live ? count : 0;");
    }
    if (in->warps > 1 && !in->gang)
        fc_cuda_line(&g->t, "const int warp = (int)(threadIdx.x %% %u / 32);", in->team);
    fc_cuda_indices(g, 0, g->np, "row");
    fc_cuda_bases(g, g->np);
}

void fc_inner_join_warps(const fc_cuda_inner *in, unsigned stage, const char *array) {
    fc_cuda_gen *g = in->g;
    unsigned w = in->warps, block = fc_cuda_block(in->g->cls);
    if (w == 1) return;
    FC_EACH_REDUCTION(g, stage, "__shared__ red%u %s%u[%u];", r, array, r, block / 32);
    fc_cuda_line(&g->t, "if (lane == 0) {");
    FC_EACH_REDUCTION(g, stage, "%s%u[threadIdx.x / 32] = x%u;", array, r, r);
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "__syncthreads();");
    FC_EACH_REDUCTION(g, stage, "x%u = fc_lanes(%s%u[threadIdx.x / %u * %u + lane %% %u], %u);", r,
                      array, r, in->team, w, w, w);
}

void fc_inner_join_parts(const fc_cuda_inner *in, unsigned stage) {
    if (!in->gang) return;
    fc_cuda_gang_publish(in->g, stage);
    if (stage == 0 && fc_cuda_kind(in->g->cls) == FC_CUDA_ONE)
        fc_cuda_gang_ahead(in->g, "row + gangs");
    fc_cuda_gang_await(in->g, stage);
    fc_inner_join_warps(in, stage, "l");
}

void fc_inner_finish(fc_cuda_gen *g, unsigned stage) {
    FC_EACH_REDUCTION(g, stage, "f%u = red%u_finish(x%u, (long long)count);", r, r, r);
}

/* ---- stores ---------------------------------------------------------------------------------- */

bool fc_inner_begin_stores(fc_cuda_gen *g, const char *leader) {
    if (fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW)) {
        fc_cuda_row(g);
        fc_cuda_line(&g->t, "if (%s) {", leader);
        fc_cuda_row_stores(g);
        fc_cuda_line(&g->t, "}");
    }
    if (!fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT)) return false;
    fc_cuda_row(g);
    return true;
}

/* A quotient by a value of the row that this slice computes. */
static bool is_quotient(const fc_cuda_gen *g, fc_val v) {
    return g->need[v] && !g->done[v] && g->hold[v] != FC_CUDA_HELD &&
           fc_cuda_divides_by_row(&g->t, v);
}

static bool any_quotient(const fc_cuda_gen *g, bool share) {
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (is_quotient(g, v) && (g->share[v] != 0) == share) return true;
    return false;
}

/* Whether this slice has quotients by a value of the row: then a gang or a cluster, whose blocks
 * wait for each other while one computes, makes them the short way, and again by division where
 * that was not good enough. Only where stores need no other thread; elsewhere memory is the limit,
 * and a second pass would only be compiled. */
static bool divides_twice(const fc_cuda_inner *in) {
    const fc_cuda_gen *g = in->g;
    if (!in->gang || (!g->cls->aligned && in->apart == 1)) return false;
    return any_quotient(g, true) || any_quotient(g, false);
}

/* Quotients of exponentials by their sum over the row, which no single one is above. */
void fc_cuda_find_shares(fc_cuda_gen *g) {
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (i->op != FC_OP_div || g->code.ins.at[i->a].op != FC_OP_exp ||
            g->code.ins.at[i->b].op != FC_OP_ACC)
            continue;
        const size_t r = (size_t)g->code.ins.at[i->b].imm;
        g->share[v] = g->k->reductions.at[r].op == FC_OP_sum && g->red_value[r] == i->a;
    }
}

/* Whether none of the quotients was too far from 1 for the short way. */
static void test_quotients(fc_cuda_gen *g, bool shares, bool others) {
    fc_cuda_text *t = &g->t;
    fc_cuda_indent(t);
    fc_str_add(t->out, "if (!(");
    if (others) fc_str_add(t->out, "fc_near_ones(most, least)");
    if (shares) fc_str_add(t->out, others ? " && fc_none_low(low)" : "fc_none_low(low)");
    for (fc_val v = 0; v < t->code->ins.len; v++) {
        if (!is_quotient(g, v)) continue;
        fc_str_add(t->out, " && fc_near_one(");
        fc_cuda_operand(t, t->code->ins.at[v].b);
        fc_str_char(t->out, ')');
    }
    fc_str_add(t->out, ")) {\n");
    t->depth++;
}

void fc_inner_store(const fc_cuda_inner *in, void (*pass)(const fc_cuda_inner *in)) {
    fc_cuda_text *t = &in->g->t;
    if (!divides_twice(in)) {
        pass(in);
        return;
    }
    const bool shares = any_quotient(in->g, true), others = any_quotient(in->g, false);
    if (others) fc_cuda_line(t, "unsigned int most = 0, least = ~0u;");
    if (shares) fc_cuda_line(t, "unsigned int low = ~0u;");
    t->by_row = "fc_div_by_row($a, $b, most, least)";
    t->by_share = "fc_share_of($a, $b, low)";
    pass(in);
    test_quotients(in->g, shares, others);
    t->by_row = "fc_far_div($a, $b)";
    t->by_share = NULL;
    pass(in);
    fc_cuda_line(t, "}");
    t->by_row = NULL;
}
