/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop.c - see loop.h: how a loop form is built and shown. */
#include "codegen/loop.h"

/* ---- building -------------------------------------------------------------------------------- */

void fc_loops_init(fc_loops *l, const fc_alloc *alloc) {
    *l = (fc_loops){.alloc = alloc};
    if (!fc_push(alloc, &l->node, (fc_loop){0})) l->oom = true;
}

void fc_loops_free(fc_loops *l) {
    fc_vec_free(l->alloc, &l->node);
    fc_vec_free(l->alloc, &l->buffer);
}

void fc_loops_function(fc_loops *l, unsigned which) {
    l->depth = 0;
    l->last[0] = 0;
    l->current = which;
}

/* What an `oom` form hands out, so that those who build one need not look: nobody reads it. */
static fc_loop *spare(fc_loops *l) {
    l->oom = true;
    return &l->none;
}

static fc_loop *add(fc_loops *l, fc_loop node) {
    const uint32_t n = (uint32_t)l->node.len;
    if (l->oom || l->depth > FC_LOOP_DEPTH || !fc_push(l->alloc, &l->node, node)) return spare(l);
    const uint32_t before = l->last[l->depth];
    if (before)
        l->node.at[before].next = n;
    else if (l->depth)
        l->node.at[l->open[l->depth - 1]].body = n;
    else
        l->function[l->current] = n;
    l->last[l->depth] = n;
    return &l->node.at[n];
}

fc_loop *fc_loops_leaf(fc_loops *l, fc_loop_kind kind, unsigned phase) {
    return add(l, (fc_loop){.kind = (uint8_t)kind, .phase = (uint8_t)phase});
}

fc_loop *fc_loops_open(fc_loops *l, fc_loop_kind kind, unsigned first, unsigned end,
                       uint32_t step) {
    fc_loop *loop = add(l, (fc_loop){.kind = (uint8_t)kind,
                                     .first = (uint8_t)first,
                                     .end = (uint8_t)end,
                                     .step = step,
                                     .count = 1});
    if (!l->oom && l->depth < FC_LOOP_DEPTH) {
        l->open[l->depth++] = (uint32_t)l->node.len - 1;
        l->last[l->depth] = 0;
    } else {
        return spare(l);
    }
    return loop;
}

void fc_loops_close(fc_loops *l, unsigned n) {
    l->depth = n < l->depth ? l->depth - n : 0;
}

void fc_loops_buffer(fc_loops *l, fc_stage_buffer b) {
    if (!fc_push(l->alloc, &l->buffer, b)) l->oom = true;
}

/* ---- the print ------------------------------------------------------------------------------- */

#define X(name, text) text,
static const char *const kinds[] = {FC_LOOP_KINDS(X) FC_LEAF_KINDS(X)};
static const char *const ways[] = {FC_LOOP_WAYS(X)};
static const char *const aheads[] = {FC_LOOP_AHEADS(X)};
static const char *const spaces[] = {FC_BUFFER_SPACES(X)};
#undef X

static void put_word(const char *word, fc_str *out) {
    if (word[0]) fc_str_printf(out, " %s", word);
}

static void print_step(uint32_t step, fc_str *out) {
    static const char *const open[] = {" by columns", " by rows", " by task", " by span"};
    if (step >= FC_STEP_COLUMNS)
        fc_str_add(out, open[step - FC_STEP_COLUMNS]);
    else if (step > 1)
        fc_str_printf(out, " by %u", (unsigned)step);
}

static void print_phase(const fc_loop *n, fc_str *out) {
    static const char *const named[] = {"kept", "elements", "results"};
    if (n->phase >= FC_SET_KEPT)
        put_word(named[n->phase - FC_SET_KEPT], out);
    else
        fc_str_printf(out, " %u", (unsigned)n->phase);
    if (n->kind == FC_LEAF_JOIN) fc_str_printf(out, " over %s", kinds[n->over]);
    if (n->level) fc_str_printf(out, " level=%u", (unsigned)n->level);
    print_step(n->step, out);
}

static void print_loop(const fc_loop *n, fc_str *out) {
    if (n->kind == FC_LOOP_ROLE) {
        print_phase(n, out);
        fc_str_printf(out, " x%u", (unsigned)n->count);
        return;
    }
    fc_str_printf(out, " %u", (unsigned)n->first);
    if (n->end > n->first + 1) fc_str_printf(out, "-%u", n->end - 1u);
    print_step(n->step, out);
    if (n->count > 1) fc_str_printf(out, " x%u", (unsigned)n->count);
    if (n->batch) fc_str_printf(out, " batch=%u", n->batch);
}

static void print_part(unsigned part, fc_str *out) {
    if (part) fc_str_printf(out, " of %u", part);
}

static void print_node(const fc_loop *n, fc_str *out) {
    fc_str_add(out, kinds[n->kind]);
    if (fc_is_loop(n->kind))
        print_loop(n, out);
    else
        print_phase(n, out);
    put_word(ways[n->way], out);
    if (fc_is_joining(n)) fc_str_printf(out, " %u", (unsigned)n->phase);
    put_word(aheads[n->ahead], out);
    print_part(n->part, out);
    fc_str_char(out, '\n');
}

/* Depth is bounded by FC_LOOP_DEPTH. */
static void print_list(const fc_loops *l, uint32_t at, unsigned depth, const char *prefix,
                       fc_str *out) {
    for (; at; at = l->node.at[at].next) {
        fc_str_printf(out, "%s%*s", prefix, (int)(2 * depth), "");
        print_node(&l->node.at[at], out);
        print_list(l, l->node.at[at].body, depth + 1, prefix, out);
    }
}

static void print_buffer(const fc_stage_buffer *b, fc_str *out) {
    fc_str_add(out, "buffer");
    print_phase(&(fc_loop){.kind = FC_LEAF_FILL, .phase = b->set}, out);
    fc_str_printf(out, ": %s %u", b->packed ? "operand" : "access", (unsigned)b->access);
    print_part(b->part, out);
    fc_str_printf(out, " %s along %u, ",
                  b->packed       ? "packed"
                  : b->passed     ? "passed on"
                  : b->transposed ? "transposed"
                                  : "gathered",
                  (unsigned)b->along);
    if (b->elements == FC_STEP_SPAN)
        fc_str_add(out, "a span");
    else
        fc_str_printf(out, "%u x %u", (unsigned)b->lanes, (unsigned)b->elements);
    if (b->around) fc_str_printf(out, " with %u around", (unsigned)b->around);
    fc_str_printf(out, " in %s", spaces[b->space]);
    if (b->copied) fc_str_add(out, ", copied");
    if (b->stages) fc_str_printf(out, ", %u in turn", (unsigned)b->stages);
    fc_str_char(out, '\n');
}

void fc_loops_print(const fc_loops *l, const char *prefix, fc_str *out) {
    for (size_t i = 0; i < l->buffer.len; i++) {
        fc_str_add(out, prefix);
        print_buffer(&l->buffer.at[i], out);
    }
    for (unsigned i = 0; i < FC_LOOP_FUNCTIONS; i++) {
        if (i && l->function[i]) fc_str_printf(out, "%sfinish:\n", prefix);
        print_list(l, l->function[i], i, prefix, out);
    }
}
