/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_lazy.c - see fuzz_ways.h: a recipe as values of no graph. */
#include <stdio.h>
#include <stdlib.h>

#include <fusec/fusec.h>

#include "tests/support/fuzz_ways.h"

static fusec_context *contexts[2]; /* interp, cpu */

static fusec_context *context_for(const char *device) {
    fusec_context **c = &contexts[!strcmp(device, "cpu")];
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = device;
    o.cache_dir = "";
    o.tiers = FUSEC_TIERS_FULL;
    if (!*c) fusec_context_new(&o, c);
    return *c;
}

typedef struct maker {
    const fuzz_case *c;
    fusec_context *ctx;
    fusec_lazy *node[RG_NODES];
} maker;

static int64_t value(const rg *r, int size) {
    return r->size[size].value;
}

static const char *name_of(const rg_node *n) {
    switch (n->kind) {
    case RG_IOTA: return "iota";
    case RG_CAST: return "cast";
    case RG_BITCAST: return "bitcast";
    case RG_BROADCAST: return "broadcast";
    case RG_PERMUTE: return "permute";
    case RG_SLICE: return "slice";
    case RG_RESHAPE: return "reshape";
    case RG_STORE: return "materialize";
    case RG_LOGSUMEXP: return "logsumexp";
    default: return fc_ops[n->op].name;
    }
}

static int operands(const rg_node *n) {
    if (n->kind == RG_OP) return fc_ops[n->op].arity;
    return n->kind > RG_OP;
}

static fusec_status make_op(maker *m, const rg_node *n, fusec_lazy **out) {
    const rg *r = m->c->r;
    int64_t shape[RG_RANK], start[RG_RANK], step[RG_RANK];
    fusec_lazy *src[3] = {0};
    fusec_attr a = FUSEC_ATTR_INIT;
    for (int k = 0; k < n->rank; k++) {
        const rg_cut *c = &n->cut[k];
        shape[k] = value(r, n->shape[k]);
        start[k] = c->from + (n->kind == RG_SLICE && c->of >= 0 ? value(r, c->of) : 0);
        step[k] = c->step;
    }
    for (int k = 0; k < operands(n); k++) src[k] = m->node[n->src[k]];
    a.dtype = n->t;
    a.rank = n->rank;
    a.shape = shape;
    a.start = start;
    a.step = step;
    a.keepdims = n->keep;
    a.axes = n->axes;
    a.naxes = n->kind == RG_PERMUTE ? n->rank : n->naxes;
    return fusec_lazy_op(m->ctx, fusec_op_find(name_of(n)), operands(n), src, &a, out);
}

static fusec_status make(maker *m, int i, const fc_tensor *in) {
    const rg_node *n = &m->c->r->node[i];
    fusec_lazy **out = &m->node[i];
    const uint64_t bits = n->kind == RG_DIM ? (uint64_t)value(m->c->r, n->naxes) : n->bits;
    if (n->kind == RG_NUMBER || n->kind == RG_DIM)
        return fusec_lazy_scalar(m->ctx, n->t, &bits, out);
    if (n->kind != RG_INPUT) return make_op(m, n, out);
    const fusec_tensor t = {
        .data = in->data, .shape = in->shape, .rank = (int32_t)in->rank, .dtype = in->dtype};
    return fusec_lazy_from(m->ctx, &t, NULL, NULL, out);
}

static fuzz_verdict compare(maker *m, fc_str *why) {
    const fuzz_case *c = m->c;
    fusec_lazy *roots[RG_OUTPUTS];
    fc_arrays got = {.n = c->out->n};
    fusec_status s = FUSEC_OK;
    for (uint32_t i = 0; i < got.n; i++) roots[i] = m->node[c->r->output[i]];
    s = fusec_lazy_eval(roots, (int)got.n, NULL, NULL);
    got.t = calloc(got.n + 1, sizeof *got.t);
    if (!got.t) return FUZZ_FAILED;
    for (uint32_t i = 0; i < got.n; i++) {
        got.t[i] = c->out->t[i];
        const size_t bytes = (size_t)fc_array_count(&got.t[i]) * fc_dtypes[got.t[i].dtype].bytes;
        got.t[i].data = calloc(bytes + 1, 1);
        if (!s) s = fusec_lazy_read(roots[i], got.t[i].data, bytes);
    }
    fuzz_verdict v = FUZZ_GOOD;
    if (s) {
        fc_str_printf(why, "[%s] %s", fc_status_slug(s), fusec_message(NULL));
        v = FUZZ_FAILED;
    } else if (fc_differ(c->g, c->o, c->out, &got, why)) {
        v = FUZZ_WRONG;
    }
    for (uint32_t i = 0; i < got.n; i++) free(got.t[i].data);
    free(got.t);
    return v;
}

/* Contractions by labels and reads at indices have no operation with a number. */
static bool has_operation(const rg_node *n) {
    return n->kind <= RG_LOGSUMEXP;
}

fuzz_verdict fuzz_lazy(const fuzz_case *c, const char *device, fc_str *why) {
    for (int i = 0; i < c->r->nnodes; i++)
        if (!has_operation(&c->r->node[i])) return FUZZ_GOOD;
    maker m = {.c = c, .ctx = context_for(device)};
    fusec_status s = m.ctx ? FUSEC_OK : FUSEC_INTERNAL;
    bool live[RG_NODES] = {0};
    uint32_t next = 0;
    for (int i = 0; i < c->r->noutputs; i++) live[c->r->output[i]] = true;
    for (int i = c->r->nnodes; i-- > 0;)
        for (int k = 0; live[i] && k < operands(&c->r->node[i]); k++)
            live[c->r->node[i].src[k]] = true;
    for (int i = 0; i < c->r->nnodes && !s; i++) {
        if (!live[i]) continue;
        s = make(&m, i, &c->in->t[next]);
        next += c->r->node[i].kind == RG_INPUT;
    }
    fuzz_verdict v = FUZZ_FAILED;
    if (s)
        fc_str_printf(why, "[%s] %s", fc_status_slug(s), fusec_message(NULL));
    else
        v = compare(&m, why);
    for (int i = 0; i < RG_NODES; i++) fusec_lazy_release(m.node[i]);
    return v;
}
