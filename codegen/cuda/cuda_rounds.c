/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_rounds.c - loops that every element makes on its own (FC_OP_ROUNDS): a function of what is
 * carried. cuda_code.c calls it.
 *
 * In: the rounds of a kernel's loops, legalised (g->bodies, after those of folds). Out: the
 * functions loop0, loop1, ..., those inside of others first. Parameters: the counter k and its end,
 * whether the element exists, `zero`; then c0, c1, ... carried, r0, r1, ... read. */
#include "codegen/cuda/cuda.h"

#include <stdio.h>

enum { ROOM = 8 };

/* The names of the operands of a round. */
typedef struct names {
    char text[FC_ARG_VALUE + FC_MAX_REPEAT][ROOM];
    const char *at[FC_ARG_VALUE + FC_MAX_REPEAT];
} names;

static void name_operands(const fc_rounds *r, names *n) {
    for (unsigned i = 0; i < FC_ARG_VALUE + (unsigned)r->nvalues; i++) {
        const unsigned v = i - FC_ARG_VALUE;
        if (i == FC_ARG_COUNTER)
            snprintf(n->text[i], ROOM, "k");
        else if (v < r->ncarried)
            snprintf(n->text[i], ROOM, "c%u", v);
        else
            snprintf(n->text[i], ROOM, "r%u", v - r->ncarried);
        n->at[i] = n->text[i];
    }
}

static void head(fc_cuda_text *t, const fc_rounds *r, unsigned number) {
    fc_str_printf(t->out,
                  "FC_INLINE void loop%u(long long k, const long long end, const bool there, const "
                  "long long zero",
                  number);
    for (unsigned v = 0; v < r->nvalues; v++) {
        const char *type = fc_cuda_type((fusec_dtype)r->dtype[v]);
        if (v < r->ncarried)
            fc_str_printf(t->out, ", %s &c%u", type, v);
        else
            fc_str_printf(t->out, ", const %s r%u", type, v - r->ncarried);
    }
    fc_str_add(t->out, ") {\n");
    t->depth++;
}

static void some(fc_cuda_text *t, const uint8_t *needed) {
    t->need = needed;
    for (fc_val v = 0; v < t->code->ins.len; v++)
        if (needed[v]) fc_cuda_instr(t, v);
}

/* All next values are there before the first one takes its place. */
static void take_next(fc_cuda_text *t, const fc_rounds *r, const fc_val *next) {
    for (int step = 0; step < 2; step++)
        for (unsigned i = 0; i < r->ncarried; i++) {
            fc_cuda_indent(t);
            if (step) {
                fc_str_printf(t->out, "c%u = n%u;\n", i, i);
                continue;
            }
            fc_str_printf(t->out, "const %s n%u = ", fc_cuda_type((fusec_dtype)r->dtype[i]), i);
            fc_cuda_operand(t, next[i]);
            fc_str_add(t->out, ";\n");
        }
}

/* Rounds of little code are written down several times: the counter is looked at once for all of
 * them. A round of the Mandelbrot set takes 11.75 instructions and not 14. */
static unsigned rounds_at_once(const fc_code *code, const uint8_t *needed) {
    enum { AT_ONCE = 4, LITTLE = 32, FUNCTION = 16 };
    unsigned work = 0;
    for (fc_val v = 0; v < code->ins.len; v++) {
        const int op = code->ins.at[v].op;
        if (!needed[v] || op == FC_OP_CONST || op == FC_OP_ARG) continue;
        const bool simple = fc_is_elementwise(op) && !(fc_ops[op].flags & FC_F_TRANSCENDENTAL);
        work += simple || op == FC_OP_CVT ? 1 : FUNCTION;
    }
    return work <= LITTLE ? AT_ONCE : 1;
}

static void body(fc_cuda_text *t, const fc_rounds *r, const fc_val *out, const uint8_t *first,
                 const uint8_t *needed) {
    fc_cuda_indent(t);
    fc_str_printf(t->out, "#pragma unroll %u\n", rounds_at_once(t->code, needed));
    fc_cuda_line(t, "for (; k < end; k++) {");
    if (r->condition) {
        some(t, first);
        fc_cuda_indent(t);
        fc_str_add(t->out, "if (!(there && ");
        fc_cuda_operand(t, out[0]);
        fc_str_add(t->out, ")) break;\n");
    }
    some(t, needed);
    take_next(t, r, out + r->condition);
    fc_cuda_line(t, "}");
}

fusec_status fc_cuda_loop_function(fc_cuda_gen *g, uint32_t number, fc_error *e) {
    const fc_rounds *r = g->k->loops.at[number];
    const fc_code *code = &g->bodies[g->k->records.len + number];
    const fc_val *out = g->rounds_out[number];
    const size_t len = code->ins.len;
    names n;
    uint8_t *marks = fc_calloc(g->code.alloc, len + 1, 5);
    if (!marks) return fc_oom(e);
    uint8_t *first = marks, *needed = first + len, *sign = needed + len;
    name_operands(r, &n);
    memset(sign, 1, len); /* of a NaN, too: who can tell is not looked for here */
    if (r->condition) fc_kernel_slice(code, out, 1, first);
    fc_kernel_slice(code, out, fc_rounds_outs(r), needed);
    fc_cuda_text t = {.code = code,
                      .k = g->k,
                      .out = g->t.out,
                      .args = n.at,
                      .done = sign + len,
                      .local = sign + 2 * len,
                      .sign = sign,
                      .there = "there",
                      .bytes = g->t.bytes};
    head(&t, r, number);
    body(&t, r, out, first, needed);
    fc_cuda_line(&t, "}");
    fc_free(g->code.alloc, marks);
    return FUSEC_OK;
}
