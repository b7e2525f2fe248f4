/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash.c - two products on tensor cores, and what kernels between do with the rows of the
 * first, in one launch (wgmma, sm_90).
 *
 * In: joined kernels of the form of cuda_flash_facts.h, with classes. Out: a block that keeps 128
 * rows of the left operand in shared memory:
 *
 *     for each stage of the reductions between, and once more for the second product
 *         for each 128 columns, which have come to shared memory meanwhile
 *             scores: products of the first kernel, and its code, in registers
 *             the stage's accumulators take them; or they become weights, which are multiplied by
 *             128 rows of the right operand of the second product
 *     results of the second product, and the code behind it
 *
 * So scores are made once for each stage and once more. Their bits are the same each time, and sums
 * follow the trees that kernels of their own follow: 128 lanes of a chunk are accumulators of the
 * threads that have these columns. A softmax that may be regrouped goes through its row once: sums
 * and results are scaled when a larger element comes, and divided at the end. */
#include "codegen/cuda/cuda_dot.h"
#include "codegen/cuda/cuda_flash_text.h"
#include "codegen/cuda/prelude.h"
#include "ir/plant.h"

enum {
    THREADS = FC_CUDA_THREADS,
    SIDE = FC_FLASH_SIDE,
    BLOCK = FC_FLASH_BLOCK,
    LEVELS = 22, /* of chunks of 1024 elements, of 2^31 */
    BATCHES = 64 /* whose tiles of one row come one after the other, if there is a mask */
};
#define ONCE UINT_MAX /* in place of a stage: the only walk of a softmax */

static unsigned turns_of(const fc_flash_gen *x) {
    return x->cls->cuda.flash_turns;
}
static unsigned scores_of(const fc_flash_gen *x) {
    return fc_flash_scores(x->cls);
}
static unsigned sums_of(const fc_flash_gen *x) {
    return fc_flash_sums(x->cls);
}
/* ---- instructions ---------------------------------------------------------------------------- */

static void put_list(fc_cuda_text *t, const char *format, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (i) fc_str_add(t->out, ", ");
        fc_str_printf(t->out, format, i);
    }
}

/* A function for 16 of k: of scores from two matrices in shared memory, the first of which start
 * from nothing; of sums with the left operand in registers. */
static void product(fc_flash_gen *x, const char *name, uint32_t part, unsigned n, bool first,
                    bool from_registers) {
    fc_cuda_text *t = fc_flash_frame(x);
    const char *half = fc_flash_half(x, part);
    fc_cuda_line(
        t,
        from_registers
            ? "FC_INLINE void %s(float (&c)[%u], const unsigned int *a, unsigned long long "
              "right) {"
            : "FC_INLINE void %s(float (&c)[%u], unsigned long long left, unsigned long "
              "long right) {",
        name, n);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "asm volatile(\"wgmma.mma_async.sync.aligned.m64n%uk16.f32.%s.%s {",
                  2 * n, half, half);
    put_list(t, "%%%u", n);
    if (from_registers)
        fc_str_printf(t->out, "}, {%%%u, %%%u, %%%u, %%%u}, %%%u, 1, 1, 1, 1;\" : ", n, n + 1,
                      n + 2, n + 3, n + 4);
    else
        fc_str_printf(t->out, "}, %%%u, %%%u, %d, 1, 1, 0, 0;\" : ", n, n + 1, !first);
    put_list(t, "\"+f\"(c[%u])", n);
    if (from_registers)
        fc_str_add(t->out,
                   " : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"l\"(right));\n");
    else
        fc_str_add(t->out, " : \"l\"(left), \"l\"(right));\n");
    fc_cuda_line(t, "}");
}

/* Waits for all products. */
static void settle(fc_flash_gen *x, const char *name, unsigned n) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "FC_INLINE void %s(float (&c)[%u]) {", name, n);
    fc_cuda_indent(t);
    fc_str_add(t->out, "asm volatile(\"wgmma.wait_group.sync.aligned 0;\" : ");
    put_list(t, "\"+f\"(c[%u])", n);
    fc_str_add(t->out, " :: \"memory\");\n");
    fc_cuda_line(t, "}");
}

static void instructions(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "#ifndef FC_EMULATE");
    product(x, "fc_first_scores", 0, scores_of(x), true, false);
    product(x, "fc_more_scores", 0, scores_of(x), false, false);
    product(x, "fc_sums", x->f.n - 1, sums_of(x), false, true);
    settle(x, "fc_settle_scores", scores_of(x));
    settle(x, "fc_settle_sums", sums_of(x));
    fc_cuda_line(t, "#endif");
}

/* ---- a walk ---------------------------------------------------------------------------------- */

/* c: sums of the first product for the columns of a turn; x: what the first kernel makes of them.
 */
static void scores(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    const unsigned n = scores_of(x), each = SIDE / turns_of(x);
    fc_cuda_line(t, "float c[%u];", n);
    fc_cuda_line(t, "#ifdef FC_EMULATE");
    fc_cuda_line(t, "float *sums[%u];", n);
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) c[i] = 0, sums[i] = c + i;", n);
    fc_cuda_line(t, "for (unsigned int d = 0; d < %u; d += 16)", x->cls->cuda.flash_deep * 16u);
    fc_cuda_line(t,
                 "    fc_group_product_%s<%u, 1, 1>(sums, all + d / 64 * %d + group * 4096, all + "
                 "%u + held + d / 64 * %d + turn * %u, d %% 64);",
                 fc_flash_half(x, 0), n / 4, FC_FLASH_ROOM, fc_flash_rows_room(x->cls),
                 FC_FLASH_ROOM, each * BLOCK);
    fc_cuda_line(t, "#else");
    fc_cuda_line(t, "fc_group_begin();");
    for (unsigned d = 0; d < x->cls->cuda.flash_deep; d++) {
        const unsigned at = d / 4 * FC_FLASH_ROOM / 8 + d % 4 * 2;
        fc_cuda_line(t,
                     "fc_%s_scores(c, rows_matrix + %u, columns_matrix + %u + (held + turn * %u) "
                     "/ 8);",
                     d ? "more" : "first", at, at, each * BLOCK);
    }
    fc_cuda_line(t, "fc_group_go();");
    fc_cuda_line(t, "fc_settle_scores(c);");
    fc_cuda_line(t, "#endif");
    fc_cuda_line(t, "%s x[%u];", fc_flash_passed_type(x), n);
}

/* Opens the loop over a thread's scores of a turn, `by` at a time. */
static void begin_elements(fc_flash_gen *x, unsigned by) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i += %u) {", scores_of(x), by);
    fc_cuda_line(t, "const int h = i / 2 %% 2;");
    for (unsigned e = 0; e < by; e++) {
        char s[16] = "";
        if (by > 1) snprintf(s, sizeof s, "%u", e);
        fc_cuda_line(t, "const ix here%s = mine + (i / 4 * 8 + i %% 2 + %u);", s, e);
        if (x->cls->cuda.full)
            fc_cuda_line(t, "const ix column%s = here%s;", s, s);
        else
            fc_cuda_line(t, "const ix column%s = here%s < columns ? here%s : columns - 1;", s, s,
                         s);
    }
}

static void make_scores(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    begin_elements(x, 2);
    if (x->forms.rounds) {
        const fc_kernel *k = x->j->kernel[0];
        const bool f16 = k->accesses.at[k->stores.at[0].access].dtype == FUSEC_F16;
        fc_cuda_line(t,
                     "const unsigned int two = fc_%s_pair(score(c[i], own[h], column0), score(c[i "
                     "+ 1], own[h], column1));",
                     f16 ? "f16" : "bf16");
        if (f16) {
            fc_cuda_line(t, "x[i] = fc_f16_value((unsigned short)two);");
            fc_cuda_line(t, "x[i + 1] = fc_f16_value((unsigned short)(two >> 16));");
        } else {
            fc_cuda_line(t, "x[i] = __uint_as_float(two << 16);");
            fc_cuda_line(t, "x[i + 1] = __uint_as_float(two & 0xffff0000u);");
        }
    } else {
        fc_cuda_line(t, "x[i] = score(c[i], own[h], column0);");
        fc_cuda_line(t, "x[i + 1] = score(c[i + 1], own[h], column1);");
    }
    fc_cuda_line(t, "}");
}

/* Text about elements, once for tiles of which none is hidden, whose functions have another name,
 * and once for all others. */
static void twice(fc_flash_gen *x, void (*text)(fc_flash_gen *, const char *, unsigned),
                  unsigned number) {
    if (!x->mask.n) {
        text(x, "", number);
        return;
    }
    fc_cuda_line(fc_flash_frame(x), "if (whole) {");
    text(x, "_shown", number);
    fc_cuda_line(fc_flash_frame(x), "} else {");
    text(x, "", number);
    fc_cuda_line(fc_flash_frame(x), "}");
}

/* Opens the loop over columns. */
static void begin_walk(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix at = 0; at < columns; at += %d) {", SIDE);
}

/* What has come is there; opens the loop over turns. `apart`: turns have accumulators of
 * their own. */
static void begin_turns(fc_flash_gen *x, bool apart) {
    fc_cuda_text *t = fc_flash_frame(x);
    const unsigned stage = fc_flash_stage(x->cls), stages = x->cls->cuda.dot_stages;
    fc_cuda_line(t, "fc_group_brought<%u>();", stages - 2);
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "bring();");
    fc_cuda_line(t, "const unsigned int held = %s;", FC_PLANT(dot_stage, "fill", "from"));
    fc_cuda_line(t, "from = from == %u ? 0 : from + %u;", (stages - 1) * stage, stage);
    fc_cuda_line(t, apart ? "#pragma unroll" : "#pragma unroll 1");
    fc_cuda_line(t, "for (int turn = 0; turn < %u; turn++) {", turns_of(x));
    fc_cuda_line(t, "const ix mine = at + (ix)(turn * %u + lane %% 4 * 2);", SIDE / turns_of(x));
}

/* The walk with the second product: hidden tiles are left out, or have weights that are known. */
static void begin_last(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    begin_walk(x);
    if (x->mask.n) fc_cuda_line(t, "const bool away = hidden(at), whole = shown(at);");
    if (x->passes) fc_cuda_line(t, "if (!away) {");
    begin_turns(x, false);
    fc_cuda_line(t, "unsigned int weights[%u];", scores_of(x) / 2);
}

static void begin_shown(fc_flash_gen *x) {
    if (x->mask.n && !x->passes) fc_cuda_line(fc_flash_frame(x), "} else {");
    scores(x);
    make_scores(x);
}
static void end_shown(fc_flash_gen *x) {
    if (x->mask.n && !x->passes) fc_cuda_line(fc_flash_frame(x), "}");
}

/* ---- reductions between ---------------------------------------------------------------------- */

static bool in_order(const fc_flash_gen *x, unsigned r) {
    return !fc_cuda_any_order(&x->j->kernel[1]->reductions.at[r]);
}

static void declare(fc_flash_gen *x, unsigned r) {
    fc_cuda_text *t = fc_flash_frame(x);
    const unsigned n = in_order(x, r) ? 64 : 2;
    fc_cuda_line(t, "part1::red%u w%u[%u];", r, r, n);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) w%u[i] = part1::red%u_start();", n, r, r);
    if (in_order(x, r)) fc_cuda_line(t, "part1::red%u kept%u[2][%d];", r, r, LEVELS);
}

/* A chunk is complete: its 128 lanes become one. */
static void end_chunk(fc_flash_gen *x, unsigned r) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "if ((at + %d) %% %d == 0 || at + %d >= columns) {", SIDE, FC_CHUNK, SIDE);
    fc_cuda_line(t, "part1::red%u two[2];", r);
    fc_cuda_line(t, "fc_flash_lanes(w%u, two);", r);
    fc_cuda_line(t, "for (int h = 0; h < 2; h++)");
    fc_cuda_line(t, "    fc_put(kept%u[h], two[h], (unsigned int)(at / %d));", r, FC_CHUNK);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < 64; i++) w%u[i] = part1::red%u_start();", r, r);
    fc_cuda_line(t, "}");
}

static void result(fc_flash_gen *x, unsigned r) {
    fc_cuda_text *t = fc_flash_frame(x);
    const unsigned count = x->part[1].l.extra + FC_PB_COUNT;
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int h = 0; h < 2; h++)");
    if (in_order(x, r))
        fc_cuda_line(t,
                     "    of_row%u[h] = part1::red%u_finish(fc_sum(kept%u[h], (unsigned "
                     "int)((columns + %d) / %d), part1::red%u_start()), p.w[%u]);",
                     r, r, r, FC_CHUNK - 1, FC_CHUNK, r, count);
    else
        fc_cuda_line(t, "    of_row%u[h] = part1::red%u_finish(fc_flash_meet(w%u[h]), p.w[%u]);", r,
                     r, r, count);
}

static void put_accumulators(fc_flash_gen *x, unsigned stage) {
    const fc_kernel *k = x->j->kernel[1];
    fc_str *out = fc_flash_frame(x)->out;
    for (unsigned r = 0; r < k->reductions.len; r++)
        if (k->reductions.at[r].stage == stage)
            fc_str_printf(out, in_order(x, r) ? ", w%u[turn * %u + i]" : ", w%u[h]", r,
                          scores_of(x));
    fc_str_add(out, ");\n");
}

static void take_elements(fc_flash_gen *x, const char *suffix, unsigned stage) {
    fc_cuda_text *t = fc_flash_frame(x);
    begin_elements(x, 1);
    fc_cuda_indent(t);
    if (!x->cls->cuda.full) fc_str_add(t->out, "if (here < columns) ");
    fc_str_printf(t->out, "take%u%s(x[i], own[h], column, h", stage, suffix);
    put_accumulators(x, stage);
    fc_cuda_line(t, "}");
}

static void reduce(fc_flash_gen *x, unsigned stage) {
    const fc_kernel *k = x->j->kernel[1];
    fc_cuda_line(fc_flash_frame(x), "{");
    for (unsigned r = 0; r < k->reductions.len; r++)
        if (k->reductions.at[r].stage == stage) declare(x, r);
    bool apart = false;
    for (unsigned r = 0; r < k->reductions.len; r++)
        apart |= k->reductions.at[r].stage == stage && in_order(x, r);
    begin_walk(x);
    fc_flash_hide_stage(x, stage);
    begin_turns(x, apart);
    scores(x);
    make_scores(x);
    twice(x, take_elements, stage);
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "}"); /* turns */
    if (x->mask.n) fc_cuda_line(t, "}");
    for (unsigned r = 0; r < k->reductions.len; r++)
        if (k->reductions.at[r].stage == stage && in_order(x, r)) end_chunk(x, r);
    fc_cuda_line(t, "}");
    for (unsigned r = 0; r < k->reductions.len; r++)
        if (k->reductions.at[r].stage == stage) result(x, r);
    fc_cuda_line(t, "}");
}

/* ---- the second product ---------------------------------------------------------------------- */

/* What an element is as an operand: `name`(...) of x[i + e], rounded or in its bits. All hidden
 * ones of a row are the same. */
static void put_weight(fc_flash_gen *x, const char *name, const char *suffix, unsigned e) {
    fc_str *out = fc_flash_frame(x)->out;
    const bool rounds = x->forms.weights, left = !x->forms.bare && !(!name && x->f.n == 2);
    if (!x->cls->cuda.full) fc_str_printf(out, "here%u < columns ? ", e);
    if (left) fc_str_printf(out, "left%s(", x->f.n == 2 ? suffix : "");
    if (!name)
        fc_str_add(out, "(h ? lower : upper)");
    else if (*name)
        fc_str_printf(out, "%s%s(x[i + %u], own[h], column%u, h, most, least, near)", name, suffix,
                      e, e);
    else
        fc_str_printf(out, "x[i + %u]", e);
    if (left) fc_str_printf(out, ", own[h], column%u)", e);
    if (!x->cls->cuda.full) fc_str_add(out, rounds ? " : 0.0f" : " : (unsigned short)0");
}

/* Pairs of weights become registers of the left operand; `name` NULL: hidden ones. */
static void make_weights(fc_flash_gen *x, const char *name, const char *suffix) {
    const bool rounds = x->forms.weights;
    begin_elements(x, 2);
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_indent(t);
    if (rounds)
        fc_str_printf(t->out, "weights[i / 2] = fc_%s_pair(", fc_flash_half(x, x->f.n - 1));
    else
        fc_str_add(t->out, "weights[i / 2] = (unsigned int)(unsigned short)(");
    put_weight(x, name, suffix, 0);
    fc_str_add(t->out, rounds ? ", " : ") | (unsigned int)(unsigned short)(");
    put_weight(x, name, suffix, 1);
    fc_str_add(t->out, rounds ? ");\n" : ") << 16;\n");
    fc_cuda_line(t, "}");
}

static void near_weights(fc_flash_gen *x, const char *suffix, unsigned none) {
    (void)none;
    make_weights(x, x->f.n == 3 ? "weight" : "", suffix);
}

static void emulated_sums(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    const unsigned each = SIDE / turns_of(x), second = fc_flash_blocks_of_k(x->cls) * FC_FLASH_ROOM;
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) {", scores_of(x));
    fc_cuda_line(t, "const unsigned int on = thread / 32 * 16 + lane / 4 + i / 2 %% 2 * 8, off = i "
                    "/ 4 * 8 + lane %% 4 * 2 + i %% 2;");
    fc_cuda_line(t,
                 "made[off / 64 * %d + on * 64 + (off / 8 %% 8 ^ on %% 8) * 8 + off %% 8] = "
                 "(unsigned short)(weights[i / 2] >> i %% 2 * 16);",
                 FC_FLASH_ROOM);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "float *all_sums[%u];", sums_of(x));
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) all_sums[i] = o + i;", sums_of(x));
    fc_cuda_line(t, "for (unsigned int d = 0; d < %u; d += 16)", each);
    fc_cuda_line(t, "    for (int b = 0; b < %u; b++)", (unsigned)x->cls->cuda.flash_wide);
    fc_cuda_line(t,
                 "        fc_group_product_%s<8, 1, 0>(all_sums + b * 32, made + d / 64 * %d + "
                 "group * 4096, all + %u + held + b * %d + turn * %u + d / 64 * 4096, d %% 64);",
                 fc_flash_half(x, x->f.n - 1), FC_FLASH_ROOM, fc_flash_rows_room(x->cls) + second,
                 FC_FLASH_ROOM, each * BLOCK);
    fc_cuda_line(t, "__syncthreads();");
}

/* o += weights of a turn times what came with its columns. */
static void multiply(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    const unsigned each = SIDE / turns_of(x);
    fc_cuda_line(t, "#ifdef FC_EMULATE");
    emulated_sums(x);
    fc_cuda_line(t, "#else");
    fc_cuda_line(t, "fc_group_begin();");
    for (unsigned d = 0; d < each / 16; d++)
        fc_cuda_line(t, "fc_sums(o, weights + %u, right_matrix + %u + (held + turn * %u) / 8);",
                     4 * d, d * 16 * BLOCK / 8, each * BLOCK);
    fc_cuda_line(t, "fc_group_go();");
    fc_cuda_line(t, "fc_settle_sums(o);");
    fc_cuda_line(t, "#endif");
}

/* A chunk of the second product is complete: as in cuda_dot.c. */
static void join_levels(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    const unsigned n = sums_of(x);
    fc_cuda_line(t, "if (columns > %d && ((at + %d) %% %d == 0 || at + %d >= columns)) {",
                 FC_DOT_CHUNK16, SIDE, FC_DOT_CHUNK16, SIDE);
    fc_cuda_line(t, "const unsigned int chunk = (unsigned int)(at / %d);", FC_DOT_CHUNK16);
    fc_cuda_line(t, "const bool here = at + %d < columns;", SIDE);
    fc_cuda_line(t, "const unsigned int full = here ? chunk & ~(chunk + 1) : chunk;");
    fc_cuda_line(t, "for (unsigned int l = 0; full >> l; l++)");
    fc_cuda_line(t, "    if (full >> l & 1)");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "        for (int i = 0; i < %u; i++) o[i] = levels[(l * %u + i) * %d] + o[i];",
                 n, n, THREADS);
    fc_cuda_line(t, "if (here) {");
    fc_cuda_line(t, "unsigned int l = 0;");
    fc_cuda_line(t, "while (chunk >> l & 1) l++;");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) levels[(l * %u + i) * %d] = o[i], o[i] = 0;", n,
                 n, THREADS);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
}

static void last_walk(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    const bool divides = x->forms.divides;
    if (x->mask.n && !x->passes)
        fc_cuda_line(t, x->f.n == 3 ? "const auto upper = hidden_weight(own[0], 0, 0), lower = "
                                      "hidden_weight(own[1], 0, 1);"
                                    : "const auto upper = hidden_left(own[0], 0), lower = "
                                      "hidden_left(own[1], 0);");
    begin_last(x);
    if (x->mask.n && !x->passes) {
        fc_cuda_line(t, "if (away) {");
        make_weights(x, NULL, "");
    }
    begin_shown(x);
    fc_cuda_line(t, "unsigned int most = 0, least = ~0u;");
    fc_cuda_line(t, "bool near = true;");
    twice(x, near_weights, 0);
    if (divides) {
        fc_cuda_line(t, "if (!near || !fc_near_ones(most, least)) {");
        make_weights(x, "far_weight", "");
        fc_cuda_line(t, "}");
    }
    end_shown(x);
    multiply(x);
    fc_cuda_line(t, "}"); /* turns */
    if (x->passes) fc_cuda_line(t, "}");
    join_levels(x);
    fc_cuda_line(t, "}");
}

/* ---- a softmax that goes through its row once ------------------------------------------------ */

/* Where the largest so far is -inf nothing is subtracted: all that is there is 0. */
static void scale(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "float off[2];");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int h = 0; h < 2; h++) {");
    fc_cuda_line(t, "const float was = top[h];");
    fc_cuda_line(t, "top[h] = fc_flash_meet(w0[h]).c0;");
    fc_cuda_line(t, "w0[h].c0 = top[h];");
    fc_cuda_line(t, "off[h] = top[h] == fc_minus_inf() ? 0.0f : top[h];");
    fc_cuda_line(t, "by[h] = fc_near_exp(was - off[h]);");
    fc_cuda_line(t, "total[h] *= by[h];");
    fc_cuda_line(t, "}");
}

static void take_powers(fc_flash_gen *x, const char *suffix, unsigned none) {
    fc_cuda_text *t = fc_flash_frame(x);
    const bool full = x->cls->cuda.full;
    (void)none;
    begin_elements(x, 1);
    fc_cuda_line(t, "c[i] = %spower%s(x[i], own[h], column)%s;", full ? "" : "here < columns ? ",
                 suffix, full ? "" : " : fc_minus_inf()");
    fc_cuda_line(t, "part1::red0_step(w0[h], c[i], 0, 0);");
    fc_cuda_line(t, "}");
}

static void once(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "float top[2], total[2] = {0, 0}, by[2];");
    fc_cuda_line(t, "part1::red0 w0[2];");
    fc_cuda_line(t, "for (int h = 0; h < 2; h++) w0[h] = part1::red0_start(), top[h] = w0[h].c0;");
    begin_last(x);
    if (x->mask.n && !x->passes) {
        fc_cuda_line(t, "if (away) {");
        fc_cuda_line(t, "#pragma unroll");
        fc_cuda_line(t, "for (int i = 0; i < %u; i++) weights[i] = 0;", scores_of(x) / 2);
    }
    begin_shown(x);
    twice(x, take_powers, 0);
    scale(x);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) {", scores_of(x));
    fc_cuda_line(t, "c[i] = fc_near_exp(c[i] - off[i / 2 %% 2]);");
    fc_cuda_line(t, "total[i / 2 %% 2] += c[i];");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) o[i] *= by[i / 2 %% 2];", sums_of(x));
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) weights[i] = fc_%s_pair(c[2 * i], c[2 * i + 1]);",
                 scores_of(x) / 2, fc_flash_half(x, x->f.n - 1));
    end_shown(x);
    multiply(x);
    fc_cuda_line(t, "}"); /* turns */
    if (x->passes) fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "for (int h = 0; h < 2; h++) {");
    fc_cuda_line(t, "total[h] += __shfl_xor_sync(~0u, total[h], 1);");
    fc_cuda_line(t, "total[h] = 1.0f / (total[h] + __shfl_xor_sync(~0u, total[h], 2));");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) o[i] *= total[i / 2 %% 2];", sums_of(x));
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void store(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "fc_brought<0>();");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) {", sums_of(x));
    fc_cuda_line(t, "const int h = i / 2 %% 2;");
    fc_cuda_line(t, "const ix column = (ix)(i / 4 * 8 + lane %% 4 * 2 + i %% 2);");
    fc_cuda_line(t,
                 "if (first + h * 8 < down_size && column < wide) finish(o[i], own[h], column);");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
}

static unsigned extent_word(const fc_flash_gen *x, uint32_t part, uint32_t axis) {
    return x->part[part].l.extents + axis;
}

/* Rows next to each other first, then batches. Under a mask the last rows of some batches first,
 * which have most to do if the mask is a causal one: those with little are left for the end. */
static void tile_of_number(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    if (!x->mask.n) {
        fc_cuda_line(t, "ix rest = fc_quotient(number, high);");
        fc_cuda_line(t, "const ix m0 = (number - rest * high) * %d;", SIDE);
        return;
    }
    fc_cuda_line(t, "const ix turn = fc_quotient(number, %d * high);", BATCHES);
    fc_cuda_line(t,
                 "const ix all_batches = fc_quotient(tiles, high), others = all_batches - turn "
                 "* %d, batches = others < %d ? others : %d;",
                 BATCHES, BATCHES, BATCHES);
    fc_cuda_line(t,
                 "const ix of_turn = number - turn * %d * high, up = fc_quotient(of_turn, "
                 "batches);",
                 BATCHES);
    fc_cuda_line(t, "const ix m0 = (high - 1 - up) * %d;", SIDE);
    fc_cuda_line(t, "ix rest = turn * %d + of_turn - up * batches;", BATCHES);
}

static void begin_tile(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "for (ix number = blockIdx.x; number < tiles; number += gridDim.x) {");
    tile_of_number(x);
    for (uint32_t a = x->f.rank - 1; a-- > 0;) {
        const unsigned word = extent_word(x, 0, x->f.axis[0][a]);
        if (a == x->row) continue;
        fc_cuda_line(t, "const ix at%u = rest - fc_quotient(rest, (ix)p.w[%u]) * (ix)p.w[%u];",
                     (unsigned)a, word, word);
        fc_cuda_line(t, "rest = fc_quotient(rest, (ix)p.w[%u]);", word);
    }
    fc_cuda_line(t, "const ix first = m0 + (ix)(thread / 32 * 16 + lane / 4);");
    fc_cuda_line(t, "const ix own[2] = {first < down_size ? first : down_size - 1, first + 8 < "
                    "down_size ? first + 8 : down_size - 1};");
    fc_cuda_line(t, "float o[%u];", sums_of(x));
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) o[i] = 0;", sums_of(x));
    char room[16];
    for (unsigned r = 0;
         x->f.n == 3 && !x->cls->cuda.flash_once && r < x->j->kernel[1]->reductions.len; r++)
        fc_cuda_line(t, "%s of_row%u[2];", fc_cuda_red_result_type(&x->part[1], r, room), r);
}

static void begin(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    const fc_class *a = &x->j->cls[0];
    const unsigned rows = fc_flash_rows_room(x->cls), stage = fc_flash_stage(x->cls),
                   extra = x->part[0].l.extra;
    fc_cuda_line(t, "#ifdef FC_EMULATE");
    fc_cuda_line(t, "__shared__ fc_vec<double, 2, 16> room[%u];",
                 (rows + x->cls->cuda.dot_stages * stage) / 8);
    fc_cuda_line(t, "__shared__ unsigned short made[%d];", 2 * FC_FLASH_ROOM);
    fc_cuda_line(t, "#else");
    fc_cuda_line(t, FC_CUDA_EXTERN_ROOM);
    fc_cuda_line(t, "#endif");
    fc_cuda_line(t, "unsigned short *const all = (unsigned short *)fc_aligned(room);");
    fc_cuda_line(t,
                 "const unsigned int thread = threadIdx.x, lane = thread %% 32, group = thread / "
                 "128;");
    fc_cuda_line(t, "#ifndef FC_EMULATE");
    fc_cuda_line(t, "const unsigned long long rows_matrix = fc_matrix(all + group * 4096, 8192, "
                    "1024);");
    fc_cuda_line(t, "const unsigned long long columns_matrix = fc_matrix(all + %u, 8192, 1024);",
                 rows);
    fc_cuda_line(t, "const unsigned long long right_matrix = fc_matrix(all + %u, %d, 1024);",
                 rows + fc_flash_blocks_of_k(x->cls) * FC_FLASH_ROOM, 2 * FC_FLASH_ROOM);
    fc_cuda_line(t, "#endif");
    fc_cuda_line(t, "const unsigned int line = thread / 8, in = thread %% 8 * 8;");
    fc_cuda_line(t, "const unsigned int to = fc_settled(line * 64 + (in / 8 ^ line %% 8) * 8);");
    fc_cuda_line(t, "const ix down_size = (ix)p.w[%u], columns = (ix)p.w[%u];",
                 extent_word(x, 0, a->cuda.dot_axis), extent_word(x, 0, a->cuda.dot_across));
    fc_cuda_line(t, "const ix deep = (ix)p.w[%u], wide = (ix)p.w[%u];", extent_word(x, 0, a->np),
                 extent_word(x, x->f.n - 1, x->f.across));
    fc_cuda_line(t, "const ix high = (down_size + %d) / %d, tiles = (ix)p.w[%u];", SIDE - 1, SIDE,
                 extra + FC_PB_SPAN);
    fc_cuda_line(t,
                 "float *const levels = (float *)p.w[%u] + (long long)blockIdx.x * p.w[%u] * %u "
                 "+ thread;",
                 extra + FC_PB_WORKSPACE, extra + FC_PB_SPANS, sums_of(x) * THREADS);
}

static void body(fc_flash_gen *x) {
    begin(x);
    begin_tile(x);
    fc_flash_functions(x);
    fc_flash_bring(x);
    for (unsigned s = 0; s + 1 < fc_flash_walks(x); s++) reduce(x, s);
    if (x->cls->cuda.flash_once)
        once(x);
    else
        last_walk(x);
    store(x);
    fc_cuda_line(fc_flash_frame(x), "}");
}

static fusec_status write(fc_flash_gen *x, const char *name, fc_error *e) {
    fc_cuda_text *t = fc_flash_frame(x);
    FC_TRY(fc_flash_loops(x, e));
    for (uint32_t i = 0; i < x->f.n; i++) fc_cuda_prelude(fc_flash_part(x, i));
    for (uint32_t i = FC_FLASH_HIDDEN; x->mask.n && i < FC_FLASH_PARTS; i++)
        fc_cuda_prelude(fc_flash_part(x, i));
    for (uint32_t i = 0; i < x->f.n; i++) {
        fc_cuda_gen *g = fc_flash_part(x, i);
        fc_cuda_line(&g->t, "namespace part%u {", (unsigned)i);
        for (uint32_t r = 0; r < g->k->reductions.len; r++) FC_TRY(fc_cuda_red_functions(g, r, e));
        fc_cuda_line(&g->t, "}");
    }
    instructions(x);
    t = fc_flash_frame(x);
    fc_cuda_line(
        t,
        "extern \"C\" __global__ void __launch_bounds__(%d, %u) %s(const __grid_constant__ "
        "P p) {",
        THREADS, fc_flash_together(x->cls), name);
    body(x);
    fc_cuda_line(fc_flash_frame(x), "}");
    return t->out->oom ? fc_oom(e) : FUSEC_OK;
}

fusec_status fc_cuda_emit_flash(const fc_joined *j, const char *name, fc_str *out, fc_error *e) {
    fc_flash_gen x = {.j = j, .cls = &j->cls[0]};
    uint8_t had[FC_CUH_COUNT] = {0};
    if (!fc_flash_find(j, &x.f)) return fc_fail(e, FUSEC_INTERNAL, "kernels that can't be joined");
    while (x.f.axis[0][x.row] != j->cls[0].cuda.dot_axis) x.row++;
    fusec_status s = FUSEC_OK;
    uint32_t made = 0;
    for (; s == FUSEC_OK && made < j->n; made++) {
        fc_cuda_gen *g = &x.part[made];
        s = fc_cuda_gen_init(g, j->kernel[made], &j->cls[made], out, e);
        g->l = j->layout[made];
        g->had = had;
        if (!made) g->l.words = j->layout[j->n - 1].words; /* of the block of all */
        if (made) g->given = "x", g->given_access = x.f.taken[made];
    }
    if (s == FUSEC_OK) {
        fc_flash_find_forms(&x);
        x.part[1].given_value = x.forms.rounds;
        s = fc_flash_open_mask(&x, out, had, e);
    }
    if (s == FUSEC_OK) s = write(&x, name, e);
    fc_flash_close_mask(&x);
    for (uint32_t i = 0; i < made; i++) fc_cuda_gen_free(&x.part[i]);
    return s;
}
