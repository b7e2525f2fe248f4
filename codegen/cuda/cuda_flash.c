/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash.c - two products on tensor cores, and what kernels between do with the rows of the
 * first, in one launch (wgmma, sm_90).
 *
 * In: joined kernels of the form of cuda_flash_facts.h, with classes, and the loop form that
 * cuda_flash_loops.c builds of them. Out: its text. Scores, which are products of the first kernel
 * and its code, are made once for each stage of the reductions between, and once more for the
 * second product. Their bits are the same each time, and sums follow the trees that kernels of
 * their own follow: 128 lanes of a chunk are accumulators of the threads that have these columns. A
 * softmax that may be regrouped goes through its row once: sums and results are scaled when a
 * larger element comes, and divided at the end.
 *
 * Loops over rows of a thread and over its columns are one: element i is in row h = i / 2 % 2. What
 * is once a row is done for both of them. Names: at, where a tile of columns begins, turn, a part
 * of it; c, sums of the first product, x, what its kernel makes of them; w0, accumulators, of_row0,
 * their results; o, sums of the last product. */
#include <stdio.h>

#include "codegen/cuda/cuda_flash_text.h"
#include "ir/plant.h"

enum {
    THREADS = FC_CUDA_THREADS,
    SIDE = FC_FLASH_SIDE,
    LEVELS = 22, /* of chunks of 1024 elements, of 2^31 */
    BATCHES = 64 /* whose tiles of one row come one after the other, if there is a mask */
};

static void list(fc_flash_gen *x, uint32_t at);

static const fc_loop *node_at(fc_flash_gen *x, uint32_t at) {
    return &fc_flash_form(x)->node.at[at];
}

/* One line for each of a thread's rows. */
#define EACH_ROW(...)                                                                              \
    do {                                                                                           \
        FC_FLASH_PUT("#pragma unroll");                                                            \
        FC_FLASH_PUT("for (int h = 0; h < 2; h++)");                                               \
        FC_FLASH_PUT("    " __VA_ARGS__);                                                          \
    } while (0)

/* ---- reductions between ---------------------------------------------------------------------- */

/* Of a stage: at first, and when a chunk begins. */
static void start(fc_flash_gen *x, unsigned stage) {
    if (x->cls->cuda.flash_once) {
        FC_FLASH_PUT(stage ? "float total[2] = {0, 0};" : "float top[2], by[2];");
        if (stage) return;
        FC_FLASH_PUT("part1::red0 w0[2];");
        EACH_ROW("w0[h] = part1::red0_start(), top[h] = w0[h].c0;");
        return;
    }
    FC_FLASH_EACH(r, stage) {
        const unsigned n = fc_flash_in_order(x, r) ? 64 : 2;
        if (x->ends && n == 2) continue;
        if (!x->ends) FC_FLASH_PUT("part1::red%u w%u[%u];", r, r, n);
        FC_FLASH_PUT("#pragma unroll");
        FC_FLASH_PUT("for (int i = 0; i < %u; i++) w%u[i] = part1::red%u_start();", n, r, r);
    }
}

/* Threads that share a row; of those in order, all lanes of a chunk. */
static void join(fc_flash_gen *x, const fc_loop *n) {
    FC_FLASH_EACH(r, n->phase) {
        if (x->cls->cuda.flash_once) continue; /* with what takes the results */
        if (fc_flash_in_order(x, r) != x->ends) continue;
        if (!x->ends) {
            EACH_ROW("w%u[h] = fc_flash_meet(w%u[h]);", r, r);
            continue;
        }
        FC_FLASH_PUT("part1::red%u two%u[2];", r, r);
        FC_FLASH_PUT("fc_flash_lanes(w%u, two%u);", r, r);
    }
}

static void finish(fc_flash_gen *x, unsigned stage) {
    const unsigned count = x->part[1].l.extra + FC_PB_COUNT;
    if (x->cls->cuda.flash_once) {
        EACH_ROW("total[h] = 1.0f / fc_flash_sum(total[h]);");
        return;
    }
    FC_FLASH_EACH(r, stage) {
        if (fc_flash_in_order(x, r))
            EACH_ROW("of_row%u[h] = part1::red%u_finish(fc_sum(kept%u[h], (unsigned int)((columns "
                     "+ %d) / %d), part1::red%u_start()), p.w[%u]);",
                     r, r, r, FC_CHUNK - 1, FC_CHUNK, r, count);
        else
            EACH_ROW("of_row%u[h] = part1::red%u_finish(w%u[h], p.w[%u]);", r, r, r, count);
    }
    FC_FLASH_PUT("}");
}

/* Where the largest so far is -inf nothing is subtracted: all that is there is 0. */
static void rescale(fc_flash_gen *x) {
    FC_FLASH_PUT("float off[2];");
    FC_FLASH_PUT("#pragma unroll");
    FC_FLASH_PUT("for (int h = 0; h < 2; h++) {");
    FC_FLASH_PUT("const float was = top[h];");
    FC_FLASH_PUT("top[h] = fc_flash_meet(w0[h]).c0;");
    FC_FLASH_PUT("w0[h].c0 = top[h];");
    FC_FLASH_PUT("off[h] = top[h] == fc_minus_inf() ? 0.0f : top[h];");
    FC_FLASH_PUT("by[h] = fc_near_exp(was - off[h]);");
    FC_FLASH_PUT("total[h] *= by[h];");
    FC_FLASH_PUT("}");
}

static void middle_leaf(fc_flash_gen *x, const fc_loop *n) {
    const unsigned s = n->phase;
    switch (n->kind) {
    case FC_LEAF_ROW: FC_FLASH_PUT("{"); break;
    case FC_LEAF_START: start(x, s); break;
    case FC_LEAF_CLEAR:
        FC_FLASH_EACH(r, s)
        if (fc_flash_in_order(x, r)) FC_FLASH_PUT("part1::red%u kept%u[2][%d];", r, r, LEVELS);
        break;
    case FC_LEAF_LANES: FC_FLASH_EACH(r, s) fc_flash_hide(x, r); break;
    case FC_LEAF_STEP: fc_flash_step(x, s); break;
    case FC_LEAF_JOIN:
        if (n->over == FC_LOOP_LANE) join(x, n);
        break;
    case FC_LEAF_PUSH:
        FC_FLASH_EACH(r, s)
        if (fc_flash_in_order(x, r))
            EACH_ROW("fc_put(kept%u[h], two%u[h], (unsigned int)(at / %u));", r, r, x->chunk);
        break;
    case FC_LEAF_FINISH: finish(x, s); break;
    case FC_LEAF_RESCALE: rescale(x); break;
    default: break; /* points and stores: with what takes the element; folds: with results */
    }
}

/* ---- products -------------------------------------------------------------------------------- */

static void clear(fc_flash_gen *x) {
    FC_FLASH_PUT("float o[%u];", fc_flash_sums(x->cls));
    FC_FLASH_PUT("#pragma unroll");
    FC_FLASH_PUT("for (int i = 0; i < %u; i++) o[i] = 0;", fc_flash_sums(x->cls));
    if (!x->mask.n || x->passes || x->cls->cuda.flash_once) return;
    if (x->f.n == 3)
        FC_FLASH_PUT(
            "const auto upper = hidden_weight(own[0], 0, 0), lower = hidden_weight(own[1], 0, 1);");
    else
        FC_FLASH_PUT("const auto upper = hidden_left(own[0], 0), lower = hidden_left(own[1], 0);");
}

/* What has come is there, and what comes next is asked for. */
static void fill(fc_flash_gen *x) {
    const unsigned stage = fc_flash_stage(x->cls), stages = x->cls->cuda.dot_stages;
    FC_FLASH_PUT("fc_group_brought<%u>();", stages - 2);
    FC_FLASH_PUT("__syncthreads();");
    FC_FLASH_PUT("bring();");
    FC_FLASH_PUT("const unsigned int held = %s;", FC_PLANT(dot_stage, "fill", "from"));
    FC_FLASH_PUT("from = from == %u ? 0 : from + %u;", (stages - 1) * stage, stage);
}

static void product_leaf(fc_flash_gen *x, const fc_loop *n) {
    switch (n->kind) {
    case FC_LEAF_CLEAR: clear(x); break;
    case FC_LEAF_PUSH: fc_flash_join_levels(x); break;
    case FC_LEAF_RESCALE:
        FC_FLASH_PUT("#pragma unroll");
        FC_FLASH_PUT("for (int i = 0; i < %u; i++) o[i] *= %s[i / 2 %% 2];", fc_flash_sums(x->cls),
                     n->phase ? "total" : "by");
        break;
    case FC_LEAF_FILL:
        if (n->phase == FC_FLASH_ROWS) fc_flash_bring(x);
        if (n->phase == FC_FLASH_COLUMNS) fill(x);
        if (n->phase == FC_FLASH_WEIGHTS) fc_flash_weights(x);
        break; /* the right operand comes with the columns */
    case FC_LEAF_FINISH:
        if (!n->part)
            fc_flash_score(x);
        else
            FC_FLASH_PUT(
                "if (first + h * 8 < down_size && here < wide) finish(o[i], own[h], here);");
        break;
    default: break; /* code and stores of results: with these */
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Opens the loop over a thread's rows and columns of a turn, one or two neighbours at a time. */
static void begin_elements(fc_flash_gen *x, const fc_loop *n) {
    const fc_loop *each = node_at(x, node_at(x, n->body)->body);
    const bool pairs = each->kind == FC_LOOP_VECTOR, wide = n->first == x->wide;
    if (wide) FC_FLASH_PUT("fc_brought<0>();"); /* none is under way when a tile ends */
    FC_FLASH_PUT("#pragma unroll");
    FC_FLASH_PUT("for (int i = 0; i < %u; i += %u) {", 4 * n->count, pairs ? 2 : 1);
    FC_FLASH_PUT("const int h = i / 2 %% 2;");
    for (unsigned e = 0; e < (pairs ? 2 : 1); e++) {
        char s[16] = "";
        if (pairs) snprintf(s, sizeof s, "%u", e);
        FC_FLASH_PUT("const ix here%s = %s + (i / 4 * 8 + i %% 2 + %u);", s,
                     wide ? "(ix)(lane % 4 * 2)" : "mine", e);
        if (wide) continue;
        if (x->cls->cuda.full)
            FC_FLASH_PUT("const ix column%s = here%s;", s, s);
        else
            FC_FLASH_PUT("const ix column%s = here%s < columns ? here%s : columns - 1;", s, s, s);
    }
    list(x, each->body);
    FC_FLASH_PUT("}");
}

/* Tiles of columns. Chunks of them have no loop of their own. */
static void tiles(fc_flash_gen *x, const fc_loop *n) {
    const fc_loop *in = node_at(x, n->body);
    if (in->kind == FC_LOOP_SERIAL && in->step == SIDE) {
        x->chunk = n->step;
        list(x, n->body);
        return;
    }
    x->walk = n;
    FC_FLASH_PUT("#pragma unroll 1");
    FC_FLASH_PUT("for (ix at = 0; at < columns; at += %d) {", SIDE);
    if (x->mask.n) /* in the order in which they are asked for: registers depend on it */
        FC_FLASH_PUT(n->part == x->f.n - 1 ? "const bool away = hidden(at), whole = shown(at);"
                                           : "const bool whole = shown(at), away = hidden(at);");
    list(x, n->body);
    FC_FLASH_PUT("}");
    x->walk = NULL;
}

static void turns(fc_flash_gen *x, const fc_loop *n) {
    FC_FLASH_PUT(n->kind == FC_LOOP_UNROLL ? "#pragma unroll" : "#pragma unroll 1");
    FC_FLASH_PUT("for (int turn = 0; turn < %u; turn++) {", (unsigned)n->count);
    FC_FLASH_PUT("const ix mine = at + (ix)(turn * %u + lane %% 4 * 2);", (unsigned)n->step);
    if (x->walk->part + 1u == x->f.n) {
        FC_FLASH_PUT("unsigned int weights[%u];", fc_flash_scores(x->cls) / 2);
        if (x->f.n == 3 && !x->cls->cuda.flash_once) {
            FC_FLASH_PUT("unsigned int most = 0, least = ~0u;");
            FC_FLASH_PUT("bool near = true;");
        }
    }
    list(x, n->body);
    FC_FLASH_PUT("}");
}

static const char *condition_of(unsigned way) {
    switch (way) {
    case FC_LOOP_HIDDEN: return "away";
    case FC_LOOP_SEEN: return "!away";
    case FC_LOOP_SHOWN: return "whole";
    default: return "!near || !fc_near_ones(most, least)";
    }
}

static void either(fc_flash_gen *x, const fc_loop *n) {
    const uint8_t before = x->way;
    const fc_loop *next = node_at(x, n->next);
    if (n->way == FC_LOOP_REST)
        FC_FLASH_PUT("} else {");
    else
        FC_FLASH_PUT("if (%s) {", condition_of(n->way));
    x->way = n->way;
    list(x, n->body);
    x->way = before;
    if (!n->next || next->kind != FC_LOOP_CASE || next->way != FC_LOOP_REST) FC_FLASH_PUT("}");
}

static void last_turn(fc_flash_gen *x, const fc_loop *n) {
    FC_FLASH_PUT("if ((at + %d) %% %u == 0 || at + %d >= columns) {", SIDE, x->chunk, SIDE);
    x->ends = true;
    list(x, n->body);
    x->ends = false;
    FC_FLASH_PUT("}");
}

/* ---- the place of a block -------------------------------------------------------------------- */

static unsigned extent_word(const fc_flash_gen *x, uint32_t part, uint32_t axis) {
    return x->part[part].l.extents + axis;
}

/* Rows next to each other first, then batches. Under a mask the last rows of some batches first,
 * which have most to do if the mask is a causal one: those with little are left for the end. */
static void tile_of_number(fc_flash_gen *x) {
    if (!x->mask.n) {
        FC_FLASH_PUT("ix rest = fc_quotient(number, high);");
        FC_FLASH_PUT("const ix m0 = (number - rest * high) * %d;", SIDE);
        return;
    }
    FC_FLASH_PUT("const ix turn = fc_quotient(number, %d * high);", BATCHES);
    FC_FLASH_PUT("const ix all_batches = fc_quotient(tiles, high), others = all_batches - turn "
                 "* %d, batches = others < %d ? others : %d;",
                 BATCHES, BATCHES, BATCHES);
    FC_FLASH_PUT("const ix of_turn = number - turn * %d * high, up = fc_quotient(of_turn, "
                 "batches);",
                 BATCHES);
    FC_FLASH_PUT("const ix m0 = (high - 1 - up) * %d;", SIDE);
    FC_FLASH_PUT("ix rest = turn * %d + of_turn - up * batches;", BATCHES);
}

/* What all tiles have in common. */
static void begin_launch(fc_flash_gen *x) {
    const fc_class *a = &x->j->cls[0];
    const unsigned rows = fc_flash_rows_room(x->cls), stage = fc_flash_stage(x->cls),
                   extra = x->part[0].l.extra;
    FC_FLASH_PUT("#ifdef FC_EMULATE");
    FC_FLASH_PUT("__shared__ fc_vec<double, 2, 16> room[%u];",
                 (rows + x->cls->cuda.dot_stages * stage) / 8);
    FC_FLASH_PUT("__shared__ unsigned short made[%d];", 2 * FC_FLASH_ROOM);
    FC_FLASH_PUT("#else");
    FC_FLASH_PUT(FC_CUDA_EXTERN_ROOM);
    FC_FLASH_PUT("#endif");
    FC_FLASH_PUT("unsigned short *const all = (unsigned short *)fc_aligned(room);");
    FC_FLASH_PUT("const unsigned int thread = threadIdx.x, lane = thread %% 32, group = thread / "
                 "128;");
    FC_FLASH_PUT("#ifndef FC_EMULATE");
    FC_FLASH_PUT("const unsigned long long rows_matrix = fc_matrix(all + group * 4096, 8192, "
                 "1024);");
    FC_FLASH_PUT("const unsigned long long columns_matrix = fc_matrix(all + %u, 8192, 1024);",
                 rows);
    FC_FLASH_PUT("const unsigned long long right_matrix = fc_matrix(all + %u, %d, 1024);",
                 rows + fc_flash_blocks_of_k(x->cls) * FC_FLASH_ROOM, 2 * FC_FLASH_ROOM);
    FC_FLASH_PUT("#endif");
    FC_FLASH_PUT("const unsigned int line = thread / 8, in = thread %% 8 * 8;");
    FC_FLASH_PUT("const unsigned int to = fc_settled(line * 64 + (in / 8 ^ line %% 8) * 8);");
    FC_FLASH_PUT("const ix down_size = (ix)p.w[%u], columns = (ix)p.w[%u];",
                 extent_word(x, 0, a->cuda.dot_axis), extent_word(x, 0, a->cuda.dot_across));
    FC_FLASH_PUT("const ix deep = (ix)p.w[%u], wide = (ix)p.w[%u];", extent_word(x, 0, a->np),
                 extent_word(x, x->f.n - 1, x->f.across));
    FC_FLASH_PUT("const ix high = (down_size + %d) / %d, tiles = (ix)p.w[%u];", SIDE - 1, SIDE,
                 extra + FC_PB_SPAN);
    FC_FLASH_PUT("float *const levels = (float *)p.w[%u] + (long long)blockIdx.x * p.w[%u] * %u "
                 "+ thread;",
                 extra + FC_PB_WORKSPACE, extra + FC_PB_SPANS, fc_flash_sums(x->cls) * THREADS);
}

/* Names of a tile, its rows and what kernels do with their elements. */
static void begin_tile(fc_flash_gen *x) {
    FC_FLASH_PUT("for (ix number = blockIdx.x; number < tiles; number += gridDim.x) {");
    tile_of_number(x);
    for (uint32_t a = x->row; a-- > 0;) {
        const unsigned word = extent_word(x, 0, x->f.axis[0][a]);
        FC_FLASH_PUT("const ix at%u = rest - fc_quotient(rest, (ix)p.w[%u]) * (ix)p.w[%u];",
                     (unsigned)a, word, word);
        FC_FLASH_PUT("rest = fc_quotient(rest, (ix)p.w[%u]);", word);
    }
    FC_FLASH_PUT("const ix first = m0 + (ix)(thread / 32 * 16 + lane / 4);");
    FC_FLASH_PUT(
        "const ix own[2] = {first < down_size ? first : down_size - 1, first + 8 < down_size ? "
        "first + 8 : down_size - 1};");
    char room[16];
    const size_t n = x->f.n == 3 && !x->cls->cuda.flash_once ? x->j->kernel[1]->reductions.len : 0;
    for (unsigned r = 0; r < n; r++)
        FC_FLASH_PUT("%s of_row%u[2];", fc_cuda_red_result_type(&x->part[1], r, room), r);
    fc_flash_functions(x);
}

static void grid(fc_flash_gen *x, const fc_loop *n) {
    if (node_at(x, n->body)->kind == FC_LOOP_GRID) {
        list(x, n->body);
        return;
    }
    begin_launch(x);
    begin_tile(x);
    list(x, n->body);
    FC_FLASH_PUT("__syncthreads();");
    FC_FLASH_PUT("}");
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Steps of k of a product are written out. */
static void unrolled(fc_flash_gen *x, const fc_loop *n) {
    const fc_loop *in = node_at(x, n->body);
    if (in->kind == FC_LEAF_LANES)
        (in->part ? fc_flash_last_product : fc_flash_first_product)(x, n->count);
    else if (n->first == x->row)
        list(x, n->body);
    else if (x->walk && n->step > 8)
        turns(x, n);
    else
        begin_elements(x, n);
}

static void node(fc_flash_gen *x, const fc_loop *n) {
    switch (n->kind) {
    case FC_LOOP_GRID: grid(x, n); break;
    case FC_LOOP_WARP:
    case FC_LOOP_LANE: list(x, n->body); break; /* rows of a thread: own[h] */
    case FC_LOOP_SERIAL: (x->walk ? turns : tiles)(x, n); break;
    case FC_LOOP_UNROLL: unrolled(x, n); break;
    case FC_LOOP_CASE: either(x, n); break;
    case FC_LOOP_LAST: last_turn(x, n); break;
    default:
        if (n->part == 1 && x->f.n == 3)
            middle_leaf(x, n);
        else
            product_leaf(x, n);
    }
}

static void list(fc_flash_gen *x, uint32_t at) {
    for (; at; at = node_at(x, at)->next) node(x, node_at(x, at));
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static fusec_status write(fc_flash_gen *x, const char *name, fc_error *e) {
    FC_TRY(fc_flash_loops(x, e));
    for (uint32_t i = 0; i < FC_FLASH_PARTS; i++)
        if (x->part[i].code.alloc) fc_cuda_prelude(fc_flash_part(x, i));
    for (uint32_t i = 0; i < x->f.n; i++) {
        fc_cuda_gen *g = fc_flash_part(x, i);
        fc_cuda_line(&g->t, "namespace part%u {", (unsigned)i);
        for (uint32_t r = 0; r < g->k->reductions.len; r++) FC_TRY(fc_cuda_red_functions(g, r, e));
        fc_cuda_line(&g->t, "}");
    }
    fc_flash_instructions(x);
    FC_FLASH_PUT(
        "extern \"C\" __global__ void __launch_bounds__(%d, %u) %s(const __grid_constant__ P p) {",
        THREADS, fc_flash_together(x->cls), name);
    FC_FLASH_PUT("fc_begin();");
    list(x, fc_flash_form(x)->function[0]);
    FC_FLASH_PUT("}");
    return fc_flash_frame(x)->out->oom ? fc_oom(e) : FUSEC_OK;
}

fusec_status fc_flash_open_part(fc_flash_gen *x, uint32_t part, const fc_kernel *k, fc_str *out,
                                fc_error *e) {
    const uint32_t of = fc_flash_part_of(part);
    fc_cuda_gen *g = &x->part[part];
    FC_TRY(fc_cuda_gen_init(g, k, &x->j->cls[of], out, e));
    g->l = x->j->layout[of];
    g->had = x->had;
    if (!of) g->l.words = x->j->layout[x->f.n - 1].words; /* of the block of all */
    if (of) g->given = "x", g->given_access = x->f.taken[of];
    if (of == 1) g->given_value = x->forms.rounds;
    return FUSEC_OK;
}

static fusec_status open_parts(fc_flash_gen *x, fc_str *out, fc_error *e) {
    const fc_joined *j = x->j;
    uint32_t row = 0;
    if (!fc_flash_find(j, &x->f)) return fc_fail(e, FUSEC_INTERNAL, "kernels that can't be joined");
    while (x->f.axis[0][row] != j->cls[0].cuda.dot_axis) row++;
    fc_flash_set_rows(&x->f, row);
    x->row = x->f.rank - 2;
    x->column = x->row + 1;
    x->deep = x->row + 2;
    x->wide = x->row + 3;
    for (uint32_t i = 0; i < j->n; i++) FC_TRY(fc_flash_open_part(x, i, j->kernel[i], out, e));
    fc_flash_find_forms(x);
    x->part[1].given_value = x->forms.rounds;
    return fc_flash_open_mask(x, out, e);
}

fusec_status fc_cuda_emit_flash(const fc_joined *j, const char *name, fc_str *out, fc_error *e) {
    fc_flash_gen x = {.j = j, .cls = &j->cls[0]};
    fusec_status s = open_parts(&x, out, e);
    if (s == FUSEC_OK) s = write(&x, name, e);
    for (uint32_t i = 0; i < FC_FLASH_PARTS; i++)
        if (x.part[i].code.alloc) fc_cuda_gen_free(&x.part[i]);
    fc_flash_close_mask(&x);
    return s;
}
