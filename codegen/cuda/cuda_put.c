/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_put.c - stores at computed elements, which others of the launch store to as well.
 *
 * In: an FC_OP_PUT_AT. Out: an atomic of integers, whose order makes no difference, or a store of
 * what nobody else stores. A smallest or largest value is looked at first: most updates of an
 * element find that another one has been there.
 *
 * Arrays with few elements (class field `copied`) have a copy in the shared memory of each block,
 * which goes over many parts of the map and puts what has come together into the array at its end.
 * Shared memory adds 32 bits at once: sums of 64 bits are two words, of which the upper one changes
 * seldom. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"

static void condition(fc_cuda_gen *g, fc_val v, const char *there) {
    const fc_instr *i = &g->code.ins.at[v], *when = &g->code.ins.at[i->b];
    const bool always = when->op == FC_OP_CONST && when->imm;
    fc_cuda_indent(&g->t);
    if (!there && always) return;
    fc_str_printf(g->t.out, "if (%s%s", there ? there : "", there && !always ? " && " : "");
    if (!always) fc_cuda_operand(&g->t, i->b);
    fc_str_add(g->t.out, ") ");
}

static fusec_dtype dtype_of(const fc_cuda_gen *g, const fc_update *u) {
    return (fusec_dtype)g->k->args.at[u->arg].dtype;
}

/* Whether a copy has two words for each element. */
static bool in_words(const fc_cuda_gen *g, const fc_update *u) {
    return u->op == FC_OP_sum && fc_dtypes[dtype_of(g, u)].bytes == 8;
}

static void put_own(fc_cuda_gen *g, uint32_t number, const fc_instr *i) {
    const fc_update *u = &g->k->updates.at[number];
    if (in_words(g, u))
        fc_str_printf(g->t.out, "fc_put_words<%u>(own%u + ", g->cls->cuda.copied, (unsigned)number);
    else
        fc_str_printf(g->t.out, "fc_put_%s(own%u + ", fc_ops[u->op].name, (unsigned)number);
    fc_cuda_operand(&g->t, i->a);
    fc_str_printf(g->t.out, ", (%s)", fc_dtypes[dtype_of(g, u)].cuda);
    fc_cuda_operand(&g->t, i->c);
    fc_str_add(g->t.out, ");\n");
}

void fc_cuda_put(fc_cuda_gen *g, fc_val v, const char *there) {
    const fc_instr *i = &g->code.ins.at[v];
    const fc_update *u = &g->k->updates.at[i->imm];
    const fusec_dtype t = (fusec_dtype)g->k->args.at[u->arg].dtype;
    condition(g, v, there);
    if (g->cls->cuda.copied) {
        put_own(g, (uint32_t)i->imm, i);
    } else if (u->op) {
        fc_str_printf(g->t.out, "fc_put_%s(a%u + ", fc_ops[u->op].name, (unsigned)u->arg);
        fc_cuda_operand(&g->t, i->a);
        fc_str_printf(g->t.out, ", (%s)", fc_dtypes[t].cuda);
        fc_cuda_operand(&g->t, i->c);
        fc_str_add(g->t.out, ");\n");
    } else {
        fc_str_printf(g->t.out, "a%u[", (unsigned)u->arg);
        fc_cuda_operand(&g->t, i->a);
        fc_str_add(g->t.out, "] = ");
        fc_cuda_to_storage(&g->t, i->c);
        fc_str_add(g->t.out, ";\n");
    }
    g->t.local[v] = 1;
}

/* ---- copies of a block ----------------------------------------------------------------------- */

static void start_of(const fc_cuda_gen *g, const fc_update *u, char *out, size_t size) {
    const fusec_dtype t = dtype_of(g, u);
    const uint64_t v = u->op == FC_OP_sum   ? 0
                       : u->op == FC_OP_min ? fc_const_max(t)
                                            : fc_const_min(t);
    snprintf(out, size, "(%s)0x%llxull", fc_dtypes[t].cuda, (unsigned long long)v);
}

/* Opens the loop over the parts that the block does; `block` is the number of one. */
void fc_cuda_own_begin(fc_cuda_gen *g) {
    char start[64];
    const unsigned n = g->cls->cuda.copied;
    for (size_t i = 0; i < g->k->updates.len; i++) {
        const fc_update *u = &g->k->updates.at[i];
        const bool words = in_words(g, u);
        start_of(g, u, start, sizeof start);
        fc_cuda_line(&g->t, "__shared__ %s own%u[%u];",
                     words ? "unsigned int" : fc_dtypes[dtype_of(g, u)].cuda, (unsigned)i,
                     words ? 2 * n : n);
        fc_cuda_line(&g->t, "for (int n = threadIdx.x; n < %u; n += %d) own%u[n] = %s;",
                     words ? 2 * n : n, FC_CUDA_MAP_THREADS, (unsigned)i, words ? "0" : start);
    }
    fc_cuda_line(&g->t, "__syncthreads();");
    fc_cuda_line(&g->t, "const ix blocks = (ix)p.w[%u];", g->l.extra + FC_PB_SPANS);
    fc_cuda_line(&g->t,
                 "for (ix block = (ix)blockIdx.x; block < blocks; block += (ix)gridDim.x) {");
}

void fc_cuda_own_end(fc_cuda_gen *g) {
    char start[64];
    fc_cuda_line(&g->t, "}");
    fc_cuda_line(&g->t, "__syncthreads();");
    for (size_t i = 0; i < g->k->updates.len; i++) {
        const fc_update *u = &g->k->updates.at[i];
        const char *type = fc_dtypes[dtype_of(g, u)].cuda;
        start_of(g, u, start, sizeof start);
        fc_cuda_line(&g->t, "for (int n = threadIdx.x; n < (int)p.w[%u]; n += %d) {",
                     (unsigned)(g->l.params + u->size), FC_CUDA_MAP_THREADS);
        if (in_words(g, u))
            fc_cuda_line(&g->t,
                         "const %s v = (%s)((unsigned long long)own%u[n + %u] << 32 | own%u[n]);",
                         type, type, (unsigned)i, (unsigned)g->cls->cuda.copied, (unsigned)i);
        else
            fc_cuda_line(&g->t, "const %s v = own%u[n];", type, (unsigned)i);
        fc_cuda_line(&g->t, "if (v != %s) fc_put_%s(a%u + n, v);", start, fc_ops[u->op].name,
                     (unsigned)u->arg);
        fc_cuda_line(&g->t, "}");
    }
}
