/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_fold.c - reductions and scans by code of the user's: the trees of docs/semantics.md,
 * section 6, over records, and the body evaluated anew for each joining of two.
 *
 * What is missing at the end of a tree is left out: a start changes nothing that it is joined with.
 */
#include <stdlib.h>
#include <string.h>

#include "ir/fold.h"
#include "tests/support/oracle.h"

enum { LANES = 128, CHUNK = 1024, RUN = 16 };

typedef struct record {
    fc_oval at[FC_MAX_RECORD];
} record;

typedef struct folding {
    const fc_oracle *o;
    uint32_t n, count; /* values of a record, nodes of the body */
    fc_node body[FC_MAX_RECORD];
    fc_node *order; /* what the body is made of, operands first */
    fc_oval *value; /* of nodes */
    record start;
} folding;

static void *take(size_t n, size_t size) {
    void *p = calloc(n + 1, size);
    if (!p) abort();
    return p;
}

static void open_body(folding *f, const fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_fold_spec s = fc_fold_of(o->g, n);
    uint8_t *need = take(o->g->nodes.len, 1);
    *f = (folding){.o = o, .n = s.n};
    fc_record_nodes(o->g, n->src[1], FC_MAX_RECORD, f->body);
    f->order = take(o->g->nodes.len, sizeof *f->order);
    f->value = take(o->g->nodes.len, sizeof *f->value);
    for (uint32_t k = 0; k < s.n; k++) {
        need[f->body[k]] = 1;
        f->start.at[k] = fc_o_exact((fusec_dtype)fc_at(o->g, f->body[k])->dtype, s.start[k]);
    }
    for (fc_node x = id; x-- > 0;)
        for (int k = 0; need[x] && k < fc_at(o->g, x)->nops; k++) need[fc_at(o->g, x)->src[k]] = 1;
    for (fc_node x = 0; x < id; x++)
        if (need[x]) f->order[f->count++] = x;
    free(need);
}

static void close_body(folding *f) {
    free(f->order);
    free(f->value);
}

/* a, of earlier elements, with b. */
static void join(folding *f, record *a, const record *b) {
    for (uint32_t i = 0; i < f->count; i++) {
        const fc_node x = f->order[i];
        const fc_ninfo *n = fc_at(f->o->g, x);
        fc_oval in[3] = {{.bits = 0}};
        for (int k = 0; k < n->nops; k++) in[k] = f->value[n->src[k]];
        if (n->op == FC_OP_CONST) {
            f->value[x] = fc_o_exact((fusec_dtype)n->dtype, n->attr);
        } else if (n->op == FC_OP_SLOT) {
            const uint32_t c = (uint32_t)n->attr;
            f->value[x] = c < FC_MAX_RECORD ? a->at[c] : b->at[c - FC_MAX_RECORD];
        } else {
            f->value[x] = fc_o_element(f->o->g, x, in);
        }
    }
    for (uint32_t k = 0; k < f->n; k++) a->at[k] = f->value[f->body[k]];
}

static record chain(folding *f, const record *x, int64_t n, int64_t step) {
    record a = f->start;
    for (int64_t i = 0; i < n; i += step) join(f, &a, &x[i]);
    return a;
}

static record pairwise(folding *f, record *v, int64_t n) {
    for (int64_t apart = 1; apart < n; apart *= 2)
        for (int64_t i = 0; i + apart < n; i += 2 * apart) join(f, &v[i], &v[i + apart]);
    return v[0];
}

static record chunk(folding *f, const record *x, int64_t n) {
    record lane[LANES];
    int64_t used = 0;
    for (; used < LANES && used < n; used++) lane[used] = chain(f, x + used, n - used, LANES);
    return pairwise(f, lane, used);
}

static record tree(folding *f, bool inner, const record *x, int64_t n) {
    const int64_t piece = inner ? CHUNK : RUN, pieces = (n + piece - 1) / piece;
    record *v = take((size_t)pieces, sizeof *v), r = f->start;
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t from = i * piece, rest = n - from < piece ? n - from : piece;
        v[i] = inner ? chunk(f, x + from, rest) : chain(f, x + from, rest, 1);
    }
    if (pieces) r = pairwise(f, v, pieces);
    free(v);
    return r;
}

/* What is before the run of the last element, and the run. */
static record prefix(folding *f, const record *x, int64_t n, bool exclusive) {
    const int64_t end = n - 1, whole = end / RUN * RUN;
    record run = chain(f, x + whole, n - whole - exclusive, 1);
    if (!whole) return run;
    record r = tree(f, false, x, whole);
    join(f, &r, &run);
    return r;
}

static const fc_oval *element(const fc_oarray *a, int64_t i) {
    return &a->at[a->rank ? i : 0];
}

/* Element j of the line along `axes` that result i belongs to, counted in the shape of `s`. */
static int64_t place(const fc_oarray *s, uint64_t axes, const int64_t *at, int64_t j) {
    int64_t full[FC_MAX_RANK], p = 0;
    for (uint32_t k = s->rank; k-- > 0;) {
        full[k] = at[k];
        if (!(axes >> k & 1)) continue;
        full[k] = j % s->shape[k];
        j /= s->shape[k];
    }
    for (uint32_t k = 0; k < s->rank; k++) p = p * s->shape[k] + full[k];
    return p;
}

/* The place of result i in the elements' shape; of reduced axes it is 0. */
static void spread(const fc_oarray *a, const fc_oarray *s, const fc_ninfo *n,
                   const fc_fold_spec *spec, int64_t i, int64_t *at) {
    const bool all = spec->kind != FC_FOLD_REDUCE || (n->flags & FC_NODE_KEEPDIMS);
    for (uint32_t k = s->rank, from = a->rank; k-- > 0;) {
        const bool gone = !all && (spec->axes >> k & 1);
        at[k] = gone ? 0 : i % a->shape[--from];
        if (!gone) i /= a->shape[from];
    }
}

void fc_o_fold(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_fold_spec s = fc_fold_of(o->g, n);
    fc_oarray *a = &o->node[id];
    fc_node element_of[FC_MAX_RECORD];
    folding f;
    open_body(&f, o, id);
    fc_record_nodes(o->g, n->src[0], FC_MAX_RECORD, element_of);
    const fc_oarray *x = &o->node[element_of[0]];
    int64_t count = 1, at[FC_MAX_RANK];
    uint32_t axis = 0;
    for (uint32_t k = 0; k < x->rank; k++)
        if (s.axes >> k & 1) count *= x->shape[axis = k];
    record *line = take((size_t)count, sizeof *line);
    for (int64_t i = 0; i < a->count; i++) {
        spread(a, x, n, &s, i, at);
        const int64_t len = s.kind == FC_FOLD_REDUCE ? count : at[axis] + 1;
        for (int64_t j = 0; j < len; j++)
            for (uint32_t c = 0; c < s.n; c++)
                line[j].at[c] = *element(&o->node[element_of[c]], place(x, s.axes, at, j));
        const record r = s.kind == FC_FOLD_REDUCE
                             ? tree(&f, s.axes >> (x->rank - 1) & 1, line, len)
                             : prefix(&f, line, len, s.kind == FC_FOLD_EXCLUSIVE);
        a->at[i] = r.at[s.result];
    }
    free(line);
    close_body(&f);
}
