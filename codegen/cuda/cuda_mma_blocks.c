/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_mma_blocks.c - what of an operand made on tensor cores is one for a block of it: scales and
 * zero points, or several numbers in a byte (codegen/blocks.h).
 *
 * In: an operand whose groups of neighbours lie along k or along its rows (columns). Out: text. A
 * group reads such an array once: one element, or neighbours of a row of it. That is under way
 * before what the group comes from is waited for: held* of each group that a thread has in a step.
 */
#include <stdio.h>

#include "codegen/blocks.h"
#include "codegen/cuda/cuda_dot.h"

typedef struct block {
    fc_block_read of;
    fc_val value; /* in the legalised code */
    fusec_dtype t;
} block;

/* The next read from instruction *at of the kernel's code on that the slice under way has. */
static bool next_block(const fc_dot *d, fc_val *at, block *out) {
    const fc_cuda_gen *g = d->g;
    for (; *at < g->k->code.ins.len; ++*at) {
        const fc_val v = g->map[*at];
        if (v == FC_NOVAL || !g->block[v] || !fc_find_block_read(g->k, *at, &out->of)) continue;
        out->value = v;
        out->t = (fusec_dtype)g->k->code.ins.at[*at].dtype;
        ++*at;
        return true;
    }
    return false;
}

static bool moves(const fc_dot *d, uint32_t a, unsigned axis) {
    return axis < d->g->axes && fc_class_move(d->g->cls, a, axis) != FC_MOVE_ZERO;
}

/* What g->block says of a read. */
static uint8_t block_of(const fc_dot *d, const fc_dot_side *x, const fc_block_read *of) {
    const unsigned axis = x->by_k ? d->g->np : x->axis;
    if (moves(d, of->place, axis)) return FC_CUDA_BLOCK_ONE + 1;
    for (unsigned i = 0; i < of->n; i++)
        if (moves(d, of->part[i].index, axis) && of->part[i].of < FC_CUDA_EIGHT)
            return (uint8_t)(FC_CUDA_BLOCK_ONE + of->part[i].of);
    return FC_CUDA_BLOCK_ONE;
}

void fc_made_slice(const fc_dot *d, const fc_dot_side *x, fc_val root) {
    fc_cuda_gen *g = d->g;
    fc_block_read of;
    memset(g->block, 0, g->code.ins.len);
    for (fc_val v = 0; v < g->k->code.ins.len; v++)
        if (g->map[v] != FC_NOVAL && fc_find_block_read(g->k, v, &of))
            g->block[g->map[v]] = block_of(d, x, &of);
    memset(g->need, 0, g->code.ins.len);
    memset(g->used, 0, g->k->accesses.len);
    g->need[root] = 1;
    for (fc_val v = (fc_val)g->code.ins.len; v-- > 0;) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->need[v]) {
            g->block[v] = 0;
            continue;
        }
        if (g->block[v]) continue;
        if (i->op == FC_OP_LOAD) g->used[i->imm] |= FC_CUDA_LOADS;
        if (i->op == FC_OP_INDEX) g->used[i->imm] |= FC_CUDA_INDEXES;
        for (int n = 0; n < fc_instr_arity(i); n++) g->need[fc_instr_operand(i, n)] = 1;
    }
}

bool fc_blocks_have_bytes(const fc_dot *d) {
    fc_val at = 0;
    block b;
    while (next_block(d, &at, &b))
        if (fc_dtypes[b.t].bytes == 1 && d->g->block[b.value] != FC_CUDA_BLOCK_ONE) return true;
    return false;
}

bool fc_blocks_any(const fc_dot *d) {
    fc_val at = 0;
    block b;
    return next_block(d, &at, &b);
}

/* Turns of a thread whose lines are of one block, whichever turn is the first of them. */
static unsigned of_block(const fc_dot *d, const fc_dot_side *x, const block *b,
                         const fc_blocks_turn *turn) {
    unsigned n = 1;
    if (x->by_k || moves(d, b->of.place, d->g->np)) return 1;
    for (; turn->turns % (2 * n) == 0; n *= 2)
        for (unsigned i = 0; i < b->of.n; i++)
            if (moves(d, b->of.part[i].index, d->g->np) && b->of.part[i].of % (2 * n * turn->down))
                return n;
    return n;
}

/* Whether access `a` is an index that k does not move and the text of the slice has. */
static bool is_held_index(const fc_dot *d, uint32_t a) {
    fc_val at = 0;
    block b;
    if (moves(d, a, d->g->np)) return false;
    while (next_block(d, &at, &b))
        for (unsigned i = 0; i < b.of.n; i++)
            if (b.of.part[i].index == a) return true;
    return d->g->used[a] & FC_CUDA_INDEXES;
}

static bool uses_depth(const fc_dot *d) {
    fc_val at = 0;
    block b;
    if (next_block(d, &at, &b)) return true;
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++)
        if (d->g->used[a] & FC_CUDA_INDEXES) return true;
    return false;
}

/* Elements that are read together. */
static void type_of(const fc_dot *d, const block *b, unsigned n, char type[64]) {
    const char *one = fc_dtypes[b->t].cuda;
    const unsigned together = d->g->block[b->value] - FC_CUDA_BLOCK_ONE,
                   of = together ? n / together : 1, bytes = of * fc_dtypes[b->t].bytes;
    if (of == 1)
        snprintf(type, 64, "%s", one);
    else
        snprintf(type, 64, "fc_vec<%s, %u, %u>", one, of, bytes < 16 ? bytes : 16u);
}

void fc_blocks_declare(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    fc_val at = 0;
    block b;
    while (next_block(d, &at, &b))
        fc_cuda_line(t, "const %s *%s_r%u;", fc_dtypes[b.t].cuda, x->name, (unsigned)b.value);
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++)
        if (is_held_index(d, a)) fc_cuda_line(t, "ix %s_p%u;", x->name, (unsigned)a);
    if (uses_depth(d))
        fc_cuda_line(t, "const ix %s_k0 = %s(ix)%s_%s, %s_stop = %s%s; ix %s_k = %s_k0;", x->name,
                     fc_dot_first(d), x->name, x->by_k ? "in" : "line", x->name, fc_dot_first(d),
                     fc_dot_many(d), x->name, x->name);
}

void fc_blocks_begin(const fc_dot *d, const fc_dot_side *x) {
    fc_val at = 0;
    block b;
    while (next_block(d, &at, &b))
        fc_cuda_line(&d->g->t, "%s_r%u = a%u + b%u;", x->name, (unsigned)b.value,
                     (unsigned)b.of.arg, (unsigned)b.of.place);
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++)
        if (is_held_index(d, a))
            fc_cuda_line(&d->g->t, "%s_p%u = (ix)b%u;", x->name, (unsigned)a, (unsigned)a);
}

static void hold(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn,
                 const char *name) {
    fc_val at = 0;
    block b;
    char type[64];
    while (next_block(d, &at, &b)) {
        type_of(d, &b, turn->n, type);
        fc_cuda_line(&d->g->t, "%s %s%u_%s[%u] = {};", type, name, (unsigned)b.value, x->name,
                     turn->turns / of_block(d, x, &b, turn));
    }
}

void fc_blocks_hold(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn) {
    hold(d, x, turn, "held");
}

/* Registers of held*. */
static unsigned held_words(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn) {
    unsigned words = 0;
    fc_val at = 0;
    block b;
    while (next_block(d, &at, &b)) {
        const unsigned together = d->g->block[b.value] - FC_CUDA_BLOCK_ONE,
                       bytes = (together ? turn->n / together : 1) * fc_dtypes[b.t].bytes;
        words += (bytes + 3) / 4 * turn->turns / of_block(d, x, &b, turn);
    }
    return words;
}

/* Appends k of turn u, some steps after the one that is made next. */
static void depth_of(const fc_dot *d, const fc_dot_side *x, unsigned down, unsigned steps) {
    fc_str *out = d->g->t.out;
    fc_str_printf(out, "%s_k", x->name);
    if (!x->by_k) fc_str_printf(out, " + u * %u", down);
    if (steps) fc_str_printf(out, " + %u", steps * d->tile->depth);
}

/* Appends "if (it is there)" and, in a second call, where it is. */
static void begin_there(const fc_dot *d, const fc_dot_side *x, unsigned down, unsigned steps,
                        const char *who) {
    fc_str *out = d->g->t.out;
    fc_cuda_indent(&d->g->t);
    fc_str_printf(out, "if (%s", who);
    depth_of(d, x, down, steps);
    if (x->by_k)
        fc_str_printf(out, " < %s_stop && u * %u < %s_rest) ", x->name, down, x->name);
    else
        fc_str_printf(out, " < %s_stop && 0 < %s_rest) ", x->name, x->name);
}

/* Appends the value of index access `a` in turn u; the elements from its line in turn 0. */
static void lines_on(const fc_dot *d, const fc_dot_side *x, uint32_t a, unsigned down) {
    if (!x->by_k || !moves(d, a, x->axis)) return;
    fc_str_printf(d->g->t.out, " + u * %u * ", down);
    fc_made_stride(d, a, x->axis);
}

static void index_of(const fc_dot *d, const fc_dot_side *x, uint32_t a, unsigned down,
                     unsigned steps) {
    if (moves(d, a, d->g->np)) {
        depth_of(d, x, down, steps);
        return;
    }
    fc_str_printf(d->g->t.out, "%s_p%u", x->name, (unsigned)a);
    lines_on(d, x, a, down);
}

static void address(const fc_dot *d, const fc_dot_side *x, const block *b, unsigned down,
                    unsigned steps) {
    fc_str *out = d->g->t.out;
    fc_str_printf(out, "%s_r%u", x->name, (unsigned)b->value);
    lines_on(d, x, b->of.place, down);
    if (moves(d, b->of.place, d->g->np)) {
        fc_str_add(out, " + (");
        depth_of(d, x, down, steps);
        fc_str_printf(out, " - %s_k0) * ", x->name);
        fc_made_stride(d, b->of.place, d->g->np);
    }
    for (unsigned i = 0; i < b->of.n; i++) {
        const fc_block_part *p = &b->of.part[i];
        fc_str_add(out, " + fc_quotient((ix)(");
        index_of(d, x, p->index, down, steps);
        fc_str_printf(out, "), %lld)", (long long)p->of);
        if (p->by == FC_NOVAL) continue;
        fc_str_add(out, " * ");
        fc_cuda_operand(&d->g->t, d->g->map[p->by]);
    }
}

/* To `name`, of some steps after the one that is made next. */
static void load(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn,
                 const char *name, unsigned steps, unsigned ahead) {
    fc_cuda_text *t = &d->g->t;
    fc_val at = 0;
    block b;
    char type[64];
    while (next_block(d, &at, &b)) {
        const unsigned of = of_block(d, x, &b, turn), down = of * turn->down;
        type_of(d, &b, turn->n, type);
        fc_cuda_line(t, "#pragma unroll");
        fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", turn->turns / of);
        begin_there(d, x, down, steps, turn->who);
        fc_str_printf(t->out, "%s%u_%s[u] = *(const %s *)(", name, (unsigned)b.value, x->name,
                      type);
        address(d, x, &b, down, steps);
        fc_str_add(t->out, ");\n");
        if (ahead) {
            begin_there(d, x, down, ahead, turn->who);
            fc_str_add(t->out, "fc_come(");
            address(d, x, &b, down, ahead);
            fc_str_add(t->out, ");\n");
        }
        fc_cuda_line(t, "}");
    }
}

void fc_blocks_load(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn,
                    unsigned ahead) {
    load(d, x, turn, "held", 0, ahead);
}

/* Whether something is new with each step, and no scale: several numbers in a byte. */
static bool is_packed(const fc_dot *d) {
    fc_val at = 0;
    block b;
    while (next_block(d, &at, &b))
        for (unsigned i = 0; i < b.of.n; i++)
            if (b.of.part[i].of < FC_CUDA_EIGHT) return true;
    return false;
}

enum { MOST_TWICE = 20 }; /* registers that there are besides */

bool fc_blocks_load_next(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn,
                         unsigned ahead) {
    if (!is_packed(d) || held_words(d, x, turn) > MOST_TWICE) return false;
    hold(d, x, turn, "next");
    load(d, x, turn, "next", 1, ahead);
    return true;
}

void fc_blocks_take_next(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn) {
    fc_val at = 0;
    block b;
    while (next_block(d, &at, &b)) {
        fc_cuda_line(&d->g->t, "#pragma unroll");
        fc_cuda_line(&d->g->t, "for (int u = 0; u < %u; u++)",
                     turn->turns / of_block(d, x, &b, turn));
        fc_cuda_line(&d->g->t, "    held%u_%s[u] = next%u_%s[u];", (unsigned)b.value, x->name,
                     (unsigned)b.value, x->name);
    }
}

void fc_blocks_values(const fc_dot *d, const fc_dot_side *x, const fc_blocks_turn *turn) {
    fc_cuda_text *t = &d->g->t;
    fc_val at = 0;
    block b;
    char type[64];
    while (next_block(d, &at, &b)) {
        type_of(d, &b, turn->n, type);
        fc_cuda_line(t, "const %s r%u = held%u_%s[u / %u];", type, (unsigned)b.value,
                     (unsigned)b.value, x->name, of_block(d, x, &b, turn));
    }
    for (uint32_t a = 0; a < d->g->k->accesses.len; a++) {
        if (!(d->g->used[a] & FC_CUDA_INDEXES)) continue;
        fc_cuda_indent(t);
        fc_str_printf(t->out, "const long long o%u = ", (unsigned)a);
        index_of(d, x, a, turn->down, 0);
        fc_str_add(t->out, ";\n");
    }
}

void fc_blocks_advance(const fc_dot *d, const fc_dot_side *x) {
    if (uses_depth(d)) fc_cuda_line(&d->g->t, "%s_k += %u;", x->name, d->tile->depth);
}
