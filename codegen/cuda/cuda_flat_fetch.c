/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flat_fetch.c - flat tiles whose warps either fetch or multiply (cuda_flat.c): who fetches.
 *
 * In: operands that come by copies of 16 bytes, are made of such, or come one by one. Out: text of
 * the warps without products. What an operand is made of comes to places of its own, some steps
 * before it is made, by the thread that asked for it and waits for nothing else. */
#include <stdio.h>

#include "codegen/cuda/cuda_dot.h"

unsigned fc_flat_fetchers(const fc_dot *d) {
    return fc_cuda_tile_threads(d->tile) - fc_cuda_tile_busy(d->tile);
}

/* Steps of k that what is made comes ahead. */
static int ahead_of(const fc_dot *d) {
    return (int)fc_cuda_flat_ahead(d->tile);
}

static bool is_bare(const fc_dot_side *x) {
    return x->reads != FC_CUDA_BY_ONE && !fc_cuda_is_made(x->reads);
}

static bool makes(const fc_dot *d) {
    return fc_cuda_is_made(d->x[1].reads);
}

/* ---- who fetches what ------------------------------------------------------------------------ */

/* Of an operand: elements that a thread has side by side, such groups of a line, lines that all
 * threads take in a turn, all of them, and lines from a thread's turn to its next. */
typedef struct share {
    unsigned each, groups, down, lines, apart;
} share;

/* Sixteen elements where they come from bytes, as whole accesses are of 16 bytes; else eight. */
static unsigned each_of(const fc_dot *d, const fc_dot_side *x) {
    if (!fc_cuda_is_made(x->reads)) return FC_CUDA_EIGHT;
    fc_made_slice(d, x, x->value);
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++)
        if (fc_made_comes(d, x, a) && fc_cuda_bytes(d->g->k, a) == 1) return 2 * FC_CUDA_EIGHT;
    return fc_blocks_have_bytes(d) ? 2 * FC_CUDA_EIGHT : FC_CUDA_EIGHT;
}

static unsigned turns_of(share s) {
    return s.lines < s.down ? 1 : s.lines / s.down;
}

/* Where something is one for a block of lines, those of a warp follow each other from turn to turn:
 * a thread has the lines of few blocks. */
static share share_of(const fc_dot *d, const fc_dot_side *x) {
    share s = {.each = each_of(d, x), .lines = x->by_k ? x->side : d->tile->depth};
    s.groups = (x->by_k ? d->tile->depth : x->side) / s.each;
    s.down = s.apart = fc_flat_fetchers(d) / s.groups;
    if (fc_cuda_is_made(x->reads) && !x->by_k && turns_of(s) > 1 && fc_blocks_any(d) &&
        (!d->tile->group || 32 / s.groups % 8 == 0))
        s.apart = 32 / s.groups;
    return s;
}

/* Sixteens of a group of array `a`; those of all arrays before it, of a thread, in a step. */
static unsigned sixteens(const fc_dot *d, uint32_t a) {
    return each_of(d, &d->x[1]) * fc_cuda_bytes(d->g->k, a) / 16;
}

static unsigned before(const fc_dot *d, uint32_t a) {
    const unsigned turns = turns_of(share_of(d, &d->x[1]));
    unsigned n = 0;
    for (uint32_t b = 0; b < a; b++)
        if (fc_made_comes(d, &d->x[1], b)) n += turns * sixteens(d, b);
    return n;
}

/* Elements of 16 bits that come in a step, and all that lies behind the stages. */
static unsigned raw_of(const fc_dot *d) {
    if (!makes(d)) return 0;
    fc_made_slice(d, &d->x[1], d->x[1].value);
    return before(d, (uint32_t)d->g->k->accesses.len) * fc_flat_fetchers(d) * FC_CUDA_EIGHT;
}

unsigned fc_flat_behind(const fc_dot *d) {
    return ahead_of(d) * raw_of(d);
}

void fc_flat_fetching_places(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    if (makes(d))
        fc_cuda_line(t, "const unsigned int raw_to = fc_settled(thread %% %u * %d);",
                     fc_flat_fetchers(d), FC_CUDA_EIGHT);
    for (int i = 0; i < 2; i++) {
        const fc_dot_side *x = &d->x[i];
        if (x->reads == FC_CUDA_BY_ONE) continue;
        const share s = share_of(d, x);
        if (s.apart == s.down)
            fc_cuda_line(t, "const unsigned int %s_line = thread %% %u / %u;", x->name,
                         fc_flat_fetchers(d), s.groups);
        else
            fc_cuda_line(t,
                         "const unsigned int %s_line = thread %% %u / 32 * %u + thread %% 32 / %u;",
                         x->name, fc_flat_fetchers(d), s.apart * turns_of(s), s.groups);
        fc_cuda_line(t, "const unsigned int %s_in = thread %% %u * %u;", x->name, s.groups, s.each);
        fc_cuda_indent(t);
        fc_str_printf(t->out, "const unsigned int %s_to = fc_settled(", x->name);
        fc_mma_place(d, x, i ? "y_line" : "x_line", i ? "y_in" : "x_in");
        fc_str_add(t->out, ");\n");
    }
}

static bool stands(const fc_dot *d, uint32_t a) {
    return d->g->used[a] & FC_CUDA_LOADS && !fc_made_comes(d, &d->x[1], a);
}

/* Appends whether the line of turn u is one of the operand's. */
static const char *in_turn(const fc_dot *d, const fc_dot_side *x, char text[64]) {
    if (x->by_k)
        snprintf(text, 64, "u * %u < %s_rest", share_of(d, x).down, x->name);
    else
        snprintf(text, 64, "0 < %s_rest", x->name);
    return text;
}

/* Whether what stands along lines is another number in each step. */
static bool changes(const fc_dot *d, uint32_t a) {
    return stands(d, a) && !d->x[1].by_k && fc_class_move(d->g->cls, a, d->g->np) != FC_MOVE_ZERO;
}

/* The numbers of an array that stands along lines, of each line that a thread has, if they are. */
static void load_held(const fc_dot *d, uint32_t a, const char *there) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const fc_dot_side *y = &d->x[1];
    const share s = share_of(d, y);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++)", turns_of(s));
    fc_cuda_indent(t);
    fc_str_printf(t->out, "    if (%s) held%u[u] = %s_q%u[u * %u * ", there, (unsigned)a, y->name,
                  (unsigned)a, s.apart);
    fc_made_stride(d, a, y->by_k ? y->axis : g->np);
    fc_str_add(t->out, "];\n");
}

static void hold(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const fc_dot_side *y = &d->x[1];
    const share s = share_of(d, y);
    fc_made_slice(d, y, y->value);
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        const char *type = fc_dtypes[g->k->accesses.at[a].dtype].cuda;
        char there[128];
        if (!stands(d, a)) continue;
        in_turn(d, y, there);
        if (changes(d, a))
            snprintf(there, sizeof there, "0 < y_rest && (ix)y_line + u * %u < %s", s.apart,
                     fc_dot_many(d));
        fc_cuda_line(t, "%s held%u[%u] = {};", type, (unsigned)a, turns_of(s));
        fc_cuda_line(t, "if (thread >= %u) {", fc_cuda_tile_busy(d->tile));
        load_held(d, a, there);
        fc_cuda_line(t, "}");
    }
}

/* Those of the next step, for which nobody waits before it is made; `left` is what is left of k
 * behind this one. */
static void hold_next(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const share s = share_of(d, &d->x[1]);
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        char there[128];
        if (!changes(d, a)) continue;
        fc_cuda_indent(t);
        fc_str_printf(t->out, "y_q%u += %u * ", (unsigned)a, d->tile->depth);
        fc_made_stride(d, a, g->np);
        fc_str_add(t->out, ";\n");
        if (g->cls->cuda.full)
            snprintf(there, sizeof there, "0 < y_rest && step + 1 < steps");
        else
            snprintf(there, sizeof there, "0 < y_rest && (ix)y_line + u * %u < left", s.apart);
        load_held(d, a, there);
    }
}

static fc_blocks_turn turn_of(const fc_dot *d, char who[32]) {
    const share s = share_of(d, &d->x[1]);
    who[0] = 0;
    if (s.lines < s.down) snprintf(who, 32, "y_line < %u && ", s.lines);
    return (fc_blocks_turn){s.each, turns_of(s), s.apart, who};
}

/* What is one for a block of k: of the next step. */
static void load_blocks(const fc_dot *d) {
    const fc_dot_side *y = &d->x[1];
    char who[32];
    const fc_blocks_turn turn = turn_of(d, who);
    fc_made_slice(d, y, y->value);
    fc_blocks_load(d, y, &turn, (unsigned)ahead_of(d));
}

static void hold_blocks(const fc_dot *d) {
    const fc_dot_side *y = &d->x[1];
    char who[32];
    const fc_blocks_turn turn = turn_of(d, who);
    fc_made_slice(d, y, y->value);
    fc_blocks_hold(d, y, &turn);
    fc_cuda_line(&d->g->t, "if (thread >= %u) {", fc_cuda_tile_busy(d->tile));
    load_blocks(d);
    fc_cuda_line(&d->g->t, "}");
}

/* An array that comes, by the name of its variables: how far it is from turn to turn, and from step
 * to step. */
static void strides(const fc_dot *d, const fc_dot_side *x, const char *name, uint32_t a) {
    fc_cuda_gen *g = d->g;
    for (int step = 0; step < 2; step++) {
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "const long long %s_%s = fc_settled(%ull * ", name,
                      step ? "step" : "turn", step ? d->tile->depth : share_of(d, x).apart);
        fc_made_stride(d, a, !step && x->by_k ? x->axis : g->np);
        fc_str_add(g->t.out, ");\n");
    }
}

static void name_of(const fc_dot_side *x, uint32_t a, char name[16]) {
    if (fc_cuda_is_made(x->reads))
        snprintf(name, 16, "%s_q%u", x->name, (unsigned)a);
    else
        snprintf(name, 16, "%s", x->name);
}

static void all_strides(const fc_dot *d) {
    const fc_dot_side *y = &d->x[1];
    char name[16];
    for (int i = 0; i < 2; i++)
        if (is_bare(&d->x[i]))
            strides(d, &d->x[i], d->x[i].name, fc_cuda_bare(&d->g->code, d->x[i].value));
    fc_made_slice(d, y, y->value);
    for (uint32_t a = 0; makes(d) && a < d->g->k->accesses.len; a++) {
        if (!fc_made_comes(d, y, a)) continue;
        name_of(y, a, name);
        strides(d, y, name, a);
    }
}

/* What is found without memory is found while the kernel ahead still runs. */
void fc_flat_begin_tile(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    for (int i = 0; i < 2; i++) {
        const fc_dot_side *x = &d->x[i];
        if (fc_cuda_is_made(x->reads)) {
            fc_made_begin(d, x);
            continue;
        }
        if (!is_bare(x)) continue;
        const uint32_t a = fc_cuda_bare(&g->code, x->value);
        fc_cuda_line(t, "const unsigned short *%s;", x->name);
        fc_dot_begin_first(d, x);
        fc_cuda_line(t, "%s = a%u + b%u;", x->name, (unsigned)g->k->accesses.at[a].buffer,
                     (unsigned)a);
        fc_cuda_line(t, "}");
    }
    all_strides(d);
    fc_cuda_line(t, "if (begun == 0) fc_begin();");
    if (makes(d)) {
        hold(d);
        hold_blocks(d);
    }
    fc_dot_results_ahead(d);
}

/* ---- fetchers -------------------------------------------------------------------------------- */

/* Opens the loop over turns, in which `from` is in the array and `there` says whether it is. */
static void begin_turns(const fc_dot *d, const fc_dot_side *x, const char *name, const char *type) {
    fc_cuda_text *t = &d->g->t;
    const share s = share_of(d, x);
    char there[64];
    in_turn(d, x, there);
    if (s.lines < s.down)
        fc_cuda_line(t, "if (%s_line < %u) {", x->name, s.lines);
    else
        fc_cuda_line(t, "{");
    fc_cuda_line(t, "const %s *from = %s;", type, name);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++, from += %s_turn) {", turns_of(s), name);
    if (x->by_k)
        fc_cuda_line(t, "const bool there = (ix)%s_in < todo && %s;", x->name, there);
    else
        fc_cuda_line(t, "const bool there = (ix)%s_line + u * %u < todo && %s;", x->name, s.apart,
                     there);
}

static void end_turns(const fc_dot *d, const char *name) {
    fc_cuda_line(&d->g->t, "}");
    fc_cuda_line(&d->g->t, "}");
    fc_cuda_line(&d->g->t, "%s += %s_step;", name, name);
}

static void ask_bare(const fc_dot *d, const fc_dot_side *x) {
    begin_turns(d, x, x->name, "unsigned short");
    fc_cuda_line(&d->g->t, "fc_bring(stage + %u + %s_to + u * %u, from, there);", x->from, x->name,
                 share_of(d, x).apart * x->line);
    end_turns(d, x->name);
}

/* Appends where sixteen `i` of turn u of an array is that came. */
static void raw_at(const fc_dot *d, uint32_t a, const char *i) {
    fc_str_printf(d->g->t.out, "raw + raw_to + (%u + u * %u + %s) * %u", before(d, a),
                  sixteens(d, a), i, fc_flat_fetchers(d) * FC_CUDA_EIGHT);
}

/* Whether all lines are one: then the L1 gives it to all but the first. */
static bool is_shared(const fc_dot *d, uint32_t a) {
    const unsigned across = d->x[1].by_k ? d->x[1].axis : d->g->np;
    return across >= d->g->axes || fc_class_move(d->g->cls, a, across) == FC_MOVE_ZERO;
}

static void ask_raw(const fc_dot *d, uint32_t a) {
    fc_cuda_text *t = &d->g->t;
    char name[16];
    name_of(&d->x[1], a, name);
    begin_turns(d, &d->x[1], name, fc_dtypes[d->g->k->accesses.at[a].dtype].cuda);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++)", sixteens(d, a));
    fc_cuda_indent(t);
    fc_str_printf(t->out, "    fc_bring%s(", is_shared(d, a) ? "_some<16>" : "");
    raw_at(d, a, "i");
    fc_str_printf(t->out, ", from + i * %u, there);\n", 16 / fc_cuda_bytes(d->g->k, a));
    end_turns(d, name);
}

/* Elements of an array that come one by one: a thread waits for some of them at a time, while what
 * has been asked for in other ways is on its way. */
static void make_ones(const fc_dot *d, const fc_dot_side *x) {
    enum { LOADS = 32 };
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const unsigned of_thread = x->side * d->tile->depth / fc_flat_fetchers(d),
                   some = of_thread < LOADS ? of_thread : LOADS;
    fc_dot_slice(g, fc_mma_narrow_of(d, x->value));
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (unsigned int some = 0; some < %u; some += %u) {", of_thread, some);
    fc_cuda_line(t, "const unsigned int first = some * %u + thread %% %u;", fc_flat_fetchers(d),
                 fc_flat_fetchers(d));
    fc_cuda_line(t, "unsigned short ones[%u];", some);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", some);
    fc_cuda_line(t, "const unsigned int turn = first + u * %u;", fc_flat_fetchers(d));
    fc_dot_turn_place(d, x);
    fc_dot_element(d, x, 1);
    fc_cuda_element(g);
    fc_cuda_indent(t);
    fc_str_add(t->out, "ones[u] = depth < count ? ");
    fc_mma_put_bits(d, x->value);
    fc_str_add(t->out, " : (unsigned short)0;\n");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", some);
    fc_cuda_line(t, "const unsigned int turn = first + u * %u;", fc_flat_fetchers(d));
    fc_dot_turn_place(d, x);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "stage[%u + ", x->from);
    fc_mma_place(d, x, x->by_k ? "at" : "deep", x->by_k ? "deep" : "at");
    fc_str_add(t->out, "] = ones[u];\n");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
}

static void ask(const fc_dot *d) {
    const fc_dot_side *y = &d->x[1];
    if (makes(d)) {
        fc_made_slice(d, y, y->value);
        for (uint32_t a = 0; a < d->g->k->accesses.len; a++)
            if (fc_made_comes(d, y, a)) ask_raw(d, a);
    }
    for (int i = 2; i-- > 0;)
        if (is_bare(&d->x[i])) ask_bare(d, &d->x[i]);
    for (int i = 0; i < 2; i++)
        if (d->x[i].reads == FC_CUDA_BY_ONE) make_ones(d, &d->x[i]);
    fc_cuda_line(&d->g->t, "todo -= %u;", d->tile->depth);
}

/* How often a fetcher joins the gate of a step: with what was copied, and when it has put
 * something there itself. */
static bool joins_with_copies(const fc_dot *d) {
    return !makes(d) && (is_bare(&d->x[0]) || is_bare(&d->x[1]));
}
static bool joins_itself(const fc_dot *d) {
    return makes(d) || d->x[0].reads == FC_CUDA_BY_ONE || d->x[1].reads == FC_CUDA_BY_ONE;
}
unsigned fc_flat_joins(const fc_dot *d) {
    return fc_flat_fetchers(d) * (unsigned)(joins_with_copies(d) + joins_itself(d));
}

/* All that came of an array in a step, or its names: bytes as words, which nobody takes apart
 * before they are needed. */
static void collect_of(const fc_dot *d, uint32_t a, bool declared) {
    fc_cuda_text *t = &d->g->t;
    const unsigned n = (unsigned)a, bytes = fc_cuda_bytes(d->g->k, a), six = sixteens(d, a),
                   turns = turns_of(share_of(d, &d->x[1]));
    const char *type = bytes == 1 ? "unsigned int" : fc_dtypes[d->g->k->accesses.at[a].dtype].cuda;
    const unsigned of = bytes == 1 ? 4 : 16 / bytes;
    if (declared) {
        fc_cuda_line(t, "fc_vec<%s, %u, 16> came%u[%u];", type, of, n, turns * six);
        return;
    }
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++)", turns);
    for (unsigned i = 0; i < six; i++) {
        char at[16];
        snprintf(at, sizeof at, "%u", i);
        fc_cuda_indent(t);
        fc_str_printf(t->out, "%scame%u[u * %u + %u] = *(const fc_vec<%s, %u, 16> *)(",
                      i ? "        " : "    ", n, six, i, type, of);
        raw_at(d, a, at);
        fc_str_add(t->out, i + 1 < six ? "),\n" : ");\n");
    }
}

static void collect(const fc_dot *d, bool declared) {
    fc_made_slice(d, &d->x[1], d->x[1].value);
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++)
        if (fc_made_comes(d, &d->x[1], a)) collect_of(d, a, declared);
}

/* q* of a group of it. */
static void came(const fc_dot *d, uint32_t a) {
    fc_cuda_text *t = &d->g->t;
    const char *type = fc_dtypes[d->g->k->accesses.at[a].dtype].cuda;
    const unsigned n = (unsigned)a, bytes = fc_cuda_bytes(d->g->k, a), of = 16 / bytes;
    const unsigned each = each_of(d, &d->x[1]);
    if (bytes == 1) fc_cuda_line(t, "const fc_vec<unsigned int, 4, 16> w%u = came%u[u];", n, n);
    fc_cuda_line(t, "fc_vec<%s, %u, 16> q%u;", type, each, n);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int e = 0; e < %u; e++)", each);
    if (bytes == 1)
        fc_cuda_line(t, "    q%u.e[e] = (%s)(w%u.e[e / 4] >> e %% 4 * 8);", n, type, n);
    else
        fc_cuda_line(t, "    q%u.e[e] = came%u[u * %u + e / %u].e[e %% %u];", n, n, sixteens(d, a),
                     of, of);
}

/* q* of a group. */
static void group(const fc_dot *d) {
    char who[32];
    const fc_blocks_turn turn = turn_of(d, who);
    fc_made_slice(d, &d->x[1], d->x[1].value);
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++) {
        const char *type = fc_dtypes[d->g->k->accesses.at[a].dtype].cuda;
        if (stands(d, a))
            fc_cuda_line(&d->g->t, "const %s q%u = held%u[u];", type, (unsigned)a, (unsigned)a);
        else if (fc_made_comes(d, &d->x[1], a))
            came(d, a);
    }
    fc_blocks_values(d, &d->x[1], &turn);
}

/* The columns of a step, by the code of the operand; zeros past the end of k. */
static void make(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const fc_dot_side *y = &d->x[1];
    const share s = share_of(d, y);
    const bool ends = !d->g->cls->cuda.full;
    char who[32];
    const fc_blocks_turn turn = turn_of(d, who);
    fc_made_slice(d, y, y->value);
    const bool twice = fc_blocks_load_next(d, y, &turn, (unsigned)ahead_of(d));
    if (s.lines < s.down) fc_cuda_line(t, "if (y_line < %u)", s.lines);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", turns_of(s));
    group(d);
    if (ends && y->by_k) fc_cuda_line(t, "const unsigned int kept = (ix)y_in < left ? ~0u : 0u;");
    if (ends && !y->by_k)
        fc_cuda_line(t, "const unsigned int kept = (ix)y_line + u * %u < left ? ~0u : 0u;",
                     s.apart);
    fc_made_group(d, y, s.each, ends ? "kept" : NULL);
    for (unsigned h = 0; h < s.each / FC_CUDA_EIGHT; h++) /* in + 8 is in | 8 */
        fc_cuda_line(t,
                     "*(fc_vec<unsigned int, 4, 16> *)(stage + %u + (y_to %c %u) + u * %u) = "
                     "{{bits.e[%u], bits.e[%u], bits.e[%u], bits.e[%u]}};",
                     y->from, d->tile->group ? '^' : '+', h * FC_CUDA_EIGHT, s.apart * y->line,
                     4 * h, 4 * h + 1, 4 * h + 2, 4 * h + 3);
    fc_cuda_line(t, "}");
    fc_made_slice(d, y, y->value);
    fc_blocks_advance(d, y);
    if (twice)
        fc_blocks_take_next(d, y, &turn);
    else
        load_blocks(d);
    if (ends) fc_cuda_line(t, "left -= %u;", d->tile->depth);
    fc_made_slice(d, y, y->value);
    hold_next(d);
}

static void begin_fetching(const fc_dot *d) {
    fc_flat_begin_slots(d);
    fc_cuda_line(&d->g->t, "ix todo = %s;", fc_dot_many(d));
}

static void fetch(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    begin_fetching(d);
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = 0; step < steps; step++) {");
    fc_cuda_line(t, "fc_gate_pass(gates + %u + slot, odd ^ 1);", d->g->cls->cuda.dot_stages);
    fc_cuda_line(t, "unsigned short *const stage = all + slot * %u;", d->stage);
    ask(d);
    if (joins_with_copies(d)) fc_cuda_line(t, "fc_bring_join(gates + slot);");
    if (joins_itself(d)) fc_cuda_line(t, "fc_gate_join(gates + slot);");
    fc_flat_next_slot(d);
    fc_cuda_line(t, "}");
}

static void ask_ahead(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned stages = d->g->cls->cuda.dot_stages;
    fc_cuda_line(t, "if (step + %d < steps) {", ahead_of(d));
    fc_cuda_line(t, "fc_gate_pass(gates + %u + slot, odd ^ 1);", stages);
    fc_cuda_line(t, "unsigned short *const stage = all + slot * %u;", d->stage);
    ask(d);
    fc_flat_next_slot(d);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "fc_bring_set();");
}

/* A step is made when the sets before those ahead have come, of which it is the last. If
 * stages are enough to have a free one by then, the next is asked for where it was as soon as it is
 * in registers: it may take as much longer to come as this one is made. */
static void fetch_and_make(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned stages = d->g->cls->cuda.dot_stages;
    const bool early = (int)stages >= 2 * ahead_of(d);
    begin_fetching(d);
    if (!d->g->cls->cuda.full) fc_cuda_line(t, "ix left = todo;");
    fc_cuda_line(t, "unsigned int made = slot, here = 0;");
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = -%d; step < steps; step++) {", ahead_of(d));
    fc_cuda_line(t, "unsigned short *const raw = all + %u + here * %u;", stages * d->stage,
                 raw_of(d));
    fc_cuda_line(t, "here = here == %d ? 0 : here + 1;", ahead_of(d) - 1);
    collect(d, true);
    fc_cuda_line(t, "if (step >= 0) {");
    fc_cuda_line(t, "fc_brought<%d>();", ahead_of(d) - 1);
    collect(d, false);
    fc_cuda_line(t, "}");
    if (early) ask_ahead(d);
    fc_cuda_line(t, "if (step >= 0) {");
    fc_cuda_line(t, "unsigned short *const stage = all + made * %u;", d->stage);
    make(d);
    fc_cuda_line(t, "fc_gate_join(gates + made);");
    fc_cuda_line(t, "made = made == %u ? 0 : made + 1;", stages - 1);
    fc_cuda_line(t, "}");
    if (!early) ask_ahead(d);
    fc_cuda_line(t, "}");
}

void fc_flat_fetch(const fc_dot *d) {
    (makes(d) ? fetch_and_make : fetch)(d);
}
