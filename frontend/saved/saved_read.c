/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* saved_read.c - bytes to a graph: see saved.h.
 *
 * In: bytes that anybody may have made. Out: a graph that fc_graph_verify takes, or FUSEC_IO. Every
 * count is held against the bytes that are left before memory is asked for, every number against
 * the table it is of; nodes are made by fc_graph_node as all others. */
#include <fusec/status.h>

#include "frontend/saved/saved.h"
#include "passes/plan.h"
#include "runtime/sha256.h"

typedef struct loader {
    fc_graph *g;
    const uint8_t *at, *end;
    const char *wrong; /* the first thing that is */
    uint16_t *op;
    fc_node *node;
    uint32_t nops, nnodes, ncustoms;
    const fc_extern_source *source;
    FC_VEC(const fc_extern *) externs;
} loader;

static uint64_t wrong(loader *l, const char *what) {
    if (!l->wrong) l->wrong = what;
    return 0;
}

static bool stopped(const loader *l) {
    return l->wrong || l->g->error.code;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static uint64_t get(loader *l) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (l->wrong || l->at == l->end) return wrong(l, "it ends too early");
        const uint8_t b = *l->at++;
        if (shift == 63 && b > 1) break;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128) return v;
    }
    return wrong(l, "a number has more than 64 bits");
}

static int64_t get_signed(loader *l) {
    const uint64_t v = get(l);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* A number below `n`. */
static uint32_t get_below(loader *l, uint64_t n, const char *what) {
    const uint64_t v = get(l);
    return !l->wrong && v < n ? (uint32_t)v : (uint32_t)wrong(l, what);
}

/* How many records follow, each of which has a byte at least. */
static uint32_t get_count(loader *l) {
    return get_below(l, (uint64_t)(l->end - l->at) + 1, "it ends too early");
}

/* NULL also where something is wrong. */
static const char *get_text(loader *l) {
    const uint64_t n = get(l);
    if (l->wrong || n == 0) return NULL;
    if (n - 1 > (uint64_t)(l->end - l->at) || memchr(l->at, 0, (size_t)n - 1))
        return wrong(l, "a text is cut off"), NULL;
    const char *copy = fc_arena_strdup(&l->g->arena, (const char *)l->at, (size_t)n - 1);
    l->at += n - 1;
    if (!copy) fc_oom(&l->g->error);
    return copy;
}

static const char *get_name(loader *l) {
    const char *t = get_text(l);
    if (!t && !stopped(l)) wrong(l, "a name is missing");
    return stopped(l) ? NULL : t;
}

/* ---- tables before the nodes ----------------------------------------------------------------- */

static fc_op op_of(const char *name) {
    for (int op = FC_OP_INPUT; op < FC_OP_COUNT_; op++)
        if (!strcmp(fc_ops[op].name, name)) return (fc_op)op;
    return FC_OP_NONE;
}

static void read_ops(loader *l) {
    l->nops = get_count(l);
    l->op = fc_arena_alloc(&l->g->arena, (l->nops + 1) * sizeof *l->op);
    if (!l->op) fc_oom(&l->g->error);
    for (uint32_t i = 0; i < l->nops && !stopped(l); i++) {
        const char *name = get_name(l);
        if (!name) return;
        l->op[i] = (uint16_t)op_of(name);
        if (l->op[i] == FC_OP_CALL) /* its number is one of this context */
            fc_fail(&l->g->error, FUSEC_IO, "a saved graph with calls of functions");
        if (!l->op[i] && strcmp(name, fc_ops[FC_OP_NONE].name) != 0)
            fc_fail(&l->g->error, FUSEC_IO, "this version has no operation %.60s", name);
    }
}

static fusec_dtype get_plain_dtype(loader *l) {
    const uint32_t t = get_below(l, FC_DTYPE_COUNT, "a dtype that there is not");
    if (!l->wrong && !fc_extern_takes((fusec_dtype)t)) wrong(l, "a function of such a dtype");
    return (fusec_dtype)t;
}

static void find_extern(loader *l, const fc_extern *like) {
    const fc_extern *x = NULL;
    const fc_extern_source *s = l->source;
    if (s && s->find(s->ctx, like, &x, &l->g->error)) return;
    if (!x)
        fc_fail(&l->g->error, FUSEC_CALL_FAILED,
                "the saved graph has a function %.60s, and none is given for it: %s", like->name,
                s ? s->help : "none may be");
    else if (!fc_push(l->g->alloc, &l->externs, x))
        fc_oom(&l->g->error);
}

static void read_externs(loader *l) {
    bool any = false;
    for (uint32_t i = 0; i < l->nops; i++) any |= l->op[i] == FC_OP_EXTERN;
    const uint32_t n = any ? get_count(l) : 0;
    for (uint32_t i = 0; i < n && !stopped(l); i++) {
        fc_extern like = {.name = get_name(l)};
        like.nargs = (uint8_t)get_below(l, FC_MAX_EXTERN + 1, "a function has too many operands");
        for (unsigned k = 0; k < like.nargs; k++) like.dtype[k] = (uint8_t)get_plain_dtype(l);
        like.result = (uint8_t)get_plain_dtype(l);
        if (!like.nargs) wrong(l, "a function has no operands");
        if (!stopped(l)) find_extern(l, &like);
    }
}

static bool is_named(const loader *l, const char *name) {
    for (size_t i = 0; i < l->g->inputs.len; i++)
        if (!strcmp(l->g->inputs.at[i].name, name)) return true;
    return false;
}

static void read_inputs(loader *l) {
    const uint32_t n = get_count(l);
    if (n > l->g->limits.inputs) {
        fc_fail(&l->g->error, FUSEC_LIMIT, "more than %u inputs", l->g->limits.inputs);
        return;
    }
    for (uint32_t i = 0; i < n && !stopped(l); i++) {
        const fc_input in = {.name = get_name(l), .node = FC_NONODE};
        if (!in.name) return;
        if (is_named(l, in.name)) wrong(l, "two inputs have one name");
        if (!fc_push(l->g->alloc, &l->g->inputs, in)) fc_oom(&l->g->error);
    }
}

static fc_dim get_dim(loader *l) {
    return get_below(l, l->g->dims.forms.len, "a size does not exist");
}

static fc_dim read_symbol(loader *l, fc_symkind kind) {
    fc_dimtab *t = &l->g->dims;
    if (kind == FC_SYM_NAMED) {
        const char *name = get_name(l);
        return name ? fc_dim_fresh(t, name) : FC_DIM_NONE;
    }
    const fc_dim a = get_dim(l), b = get_dim(l);
    if (stopped(l)) return FC_DIM_NONE;
    return kind == FC_SYM_MUL        ? fc_dim_mul(t, a, b)
           : kind == FC_SYM_FLOORDIV ? fc_dim_floordiv(t, a, b)
                                     : fc_dim_mod(t, a, b);
}

static fc_dim read_form(loader *l) {
    fc_dimtab *t = &l->g->dims;
    const int64_t c = get_signed(l);
    const uint32_t n = get_count(l);
    fc_term *terms = fc_malloc(l->g->alloc, (n + 1) * sizeof *terms);
    if (!terms) return fc_oom(&l->g->error), FC_DIM_NONE;
    for (uint32_t i = 0; i < n && !l->wrong; i++) {
        terms[i].sym = get_below(l, t->syms.len, "a name of a size does not exist");
        terms[i].coef = get_signed(l);
    }
    const fc_dim d = l->wrong ? FC_DIM_NONE : fc_dim_form(t, c, terms, n);
    fc_free(l->g->alloc, terms);
    return d;
}

/* Each record makes just one dim, and a new one. */
static void read_dims(loader *l) {
    const uint32_t n = get_count(l);
    for (uint32_t i = 0; i < n && !stopped(l); i++) {
        const uint64_t kind = get(l);
        const size_t before = l->g->dims.forms.len;
        if (kind > FC_SYM_MOD && kind != FC_SAVED_FORM) wrong(l, "a size of a kind there is not");
        if (stopped(l)) return;
        const fc_dim d = kind == FC_SAVED_FORM ? read_form(l) : read_symbol(l, (fc_symkind)kind);
        if (l->g->dims.oom) fc_oom(&l->g->error);
        if (d != before || l->g->dims.forms.len != before + 1) wrong(l, "a size is not canonical");
    }
}

static void read_words(loader *l) {
    const uint32_t n = get_count(l);
    for (uint32_t i = 0; i < n && !stopped(l); i++) {
        fc_words w;
        w.access = get_text(l);
        w.index = get_text(l);
        w.axis = get_text(l);
        w.place = get_text(l);
        if (!stopped(l) && !fc_push(l->g->alloc, &l->g->words, w)) fc_oom(&l->g->error);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

enum { MOST_ENTRIES = 1 + FC_MAX_RANK * (2 + FC_MAX_RANK) };

static fc_list read_list(loader *l, fc_attr_kind kind) {
    int64_t v[MOST_ENTRIES] = {0};
    const uint32_t n = get_below(l, MOST_ENTRIES + 1, "a list is too long");
    for (uint32_t i = 0; i < n && !l->wrong; i++) {
        /* the first entry of a view's list, by which the others are told apart */
        if (kind == FC_ATTR_VIEWS && i == 1 && (v[0] < 0 || v[0] > FC_MAX_RANK))
            wrong(l, "its rank is too high");
        if (!l->wrong) v[i] = fc_attr_is_dim(kind, v, i) ? (int64_t)get_dim(l) : get_signed(l);
    }
    return stopped(l) ? 0 : fc_intern_list(l->g, v, n);
}

static uint64_t read_cast(loader *l) {
    const uint64_t kind = get_below(l, FC_CAST_CUSTOM + 1, "a mark of a cast that there is not");
    const uint64_t result = get_below(l, 1 << 24, "a mark of a cast is too large");
    const uint64_t number = get_below(l, UINT32_MAX, "a mark of a cast is too large");
    if (kind == FC_CAST_CUSTOM && number >= l->ncustoms) wrong(l, "a derivative is missing");
    if (kind == FC_CAST_SEED && number >= l->g->nseeds) l->g->nseeds = (uint32_t)number + 1;
    return FC_CAST_ATTR(kind, result, number);
}

static uint64_t read_attr(loader *l, uint16_t op) {
    const fc_attr_kind kind = (fc_attr_kind)fc_ops[op].attr;
    switch (kind) {
    case FC_ATTR_NONE: return 0;
    case FC_ATTR_NUMBER: return get(l);
    case FC_ATTR_INPUT: return get_below(l, l->g->inputs.len, "an input does not exist");
    case FC_ATTR_DIM: return get_dim(l);
    case FC_ATTR_CAST: return read_cast(l);
    case FC_ATTR_EXTERN: {
        const uint32_t i = get_below(l, l->externs.len, "a function does not exist");
        return l->wrong ? 0 : (uint64_t)(uintptr_t)l->externs.at[i];
    }
    case FC_ATTR_ROW: {
        const uint64_t row = l->op[get_below(l, l->nops, "an operation does not exist")];
        return row | (uint64_t)get_below(l, UINT32_MAX, "an attribute is too large") << 16;
    }
    default: return read_list(l, kind);
    }
}

/* What fc_node_fault does not look at. */
static const char *marks_fault(const fc_graph *g, const fc_ninfo *n) {
    const bool reduction = fc_is_reduction(n->op);
    const bool computed = n->op == FC_OP_TAKE || n->op == FC_OP_SCATTER;
    const uint32_t flags = reduction              ? FC_NODE_KEEPDIMS | 3 * FC_NODE_SPREAD
                           : computed             ? FC_NODE_INSIDE
                           : n->op == FC_OP_CONST ? FC_NODE_OWN
                           : n->op == FC_OP_FOLD  ? FC_NODE_KEEPDIMS
                                                  : 0;
    if (n->flags & ~flags) return "a node has flags that mean nothing";
    if (n->axis_kind && !reduction && n->op != FC_OP_FOLD)
        return "a node that reduces nothing names a tree";
    if (n->words && n->op != FC_OP_CHECK) return "a node has words that is no check";
    if (n->op == FC_OP_CAST && n->attr && n->dtype != fc_at(g, n->src[0])->dtype)
        return "a marked cast changes the dtype";
    for (uint32_t i = 1; n->op == FC_OP_SLICE && i < fc_list_len(g, (fc_list)n->attr); i += 3) {
        const int64_t step = fc_list_at(g, (fc_list)n->attr)[i];
        if (step > FC_MAX_STEP || step < -FC_MAX_STEP) return "a step is too large";
    }
    return NULL;
}

static void read_operands(loader *l, fc_ninfo *n, uint32_t id) {
    for (int k = 0; k < n->nops; k++) {
        const uint32_t back = get_below(l, (uint64_t)id + 1, "an operand does not exist");
        if (!back) wrong(l, "an operand is the node itself");
        if (!stopped(l)) n->src[k] = l->node[id - back];
    }
    if (n->nops == 2 && n->src[0] > n->src[1] && (fc_ops[n->op].flags & FC_F_COMMUTES)) {
        const fc_node first = n->src[1];
        n->src[1] = n->src[0];
        n->src[0] = first;
    }
}

static void check_node(loader *l, const fc_ninfo *n) {
    fc_graph *g = l->g;
    if (n->op == FC_OP_INPUT) {
        if (g->inputs.at[n->attr].node != FC_NONODE) wrong(l, "an input comes twice");
        g->inputs.at[n->attr].node = (fc_node)g->nodes.len;
    }
    /* steps and their results are looked at with the whole graph: they are read back from it */
    const bool later = fc_is_step(n->op) || n->op == FC_OP_RESULT;
    const char *why = later ? NULL : fc_node_fault(g, (fc_node)g->nodes.len, n);
    if (!why) why = marks_fault(g, n);
    if (why) wrong(l, why);
}

static fc_node read_node(loader *l, uint32_t id) {
    fc_ninfo n = {.src = {FC_NONODE, FC_NONODE, FC_NONODE}};
    n.op = l->op[get_below(l, l->nops, "an operation does not exist")];
    const uint64_t bits = get(l);
    n.dtype = bits & 31;
    n.nops = bits >> 5 & 3;
    n.axis_kind = bits >> 7 & 7;
    n.flags = bits >> 10 & 0x3fffff;
    n.words = (uint32_t)(bits >> 32);
    read_operands(l, &n, id);
    n.shape = read_list(l, FC_ATTR_DIMS);
    if (!stopped(l)) n.attr = read_attr(l, n.op);
    if (!stopped(l)) check_node(l, &n);
    /* nobody's word is taken for where memory is written */
    if (n.op == FC_OP_SCATTER) n.flags &= ~(uint32_t)FC_NODE_INSIDE;
    return stopped(l) ? FC_NONODE : fc_graph_node(l->g, n);
}

static void read_nodes(loader *l) {
    l->nnodes = get_count(l);
    if (l->nnodes > l->g->limits.nodes) {
        fc_fail(&l->g->error, FUSEC_LIMIT, "the graph has more than %u nodes", l->g->limits.nodes);
        return;
    }
    l->node = fc_malloc(l->g->alloc, (l->nnodes + 1) * sizeof *l->node);
    if (!l->node) fc_oom(&l->g->error);
    for (uint32_t i = 0; i < l->nnodes && !stopped(l); i++) l->node[i] = read_node(l, i);
    for (size_t i = 0; i < l->g->inputs.len && !stopped(l); i++)
        if (l->g->inputs.at[i].node == FC_NONODE) wrong(l, "an input has no node");
}

/* ---- tables behind them ---------------------------------------------------------------------- */

static fc_node get_node(loader *l, bool may_miss) {
    const uint32_t n = get_below(l, (uint64_t)l->nnodes + 1, "a node does not exist");
    if (!n && !may_miss) wrong(l, "a node is missing");
    return n && !stopped(l) ? l->node[n - 1] : FC_NONODE;
}

static fc_node *get_nodes(loader *l, uint32_t n, bool may_miss) {
    fc_node *to = fc_arena_alloc(&l->g->arena, (n + 1) * sizeof *to);
    if (!to) fc_oom(&l->g->error);
    for (uint32_t i = 0; i < n && !stopped(l); i++) to[i] = get_node(l, may_miss);
    return to;
}

static void read_outputs(loader *l) {
    const uint32_t n = get_count(l);
    for (uint32_t i = 0; i < n && !stopped(l); i++) {
        const char *name = get_name(l);
        const fc_node node = get_node(l, false);
        if (!stopped(l)) fc_build_output(l->g, name, node);
    }
}

static void read_conditions(loader *l) {
    const uint32_t n = get_count(l);
    for (uint32_t i = 0; i < n && !stopped(l); i++) {
        fc_condition c;
        c.kind = (fc_check)get_below(l, FC_CHECK_GE + 1, "a condition of a kind there is not");
        c.status = (fusec_status)get_below(l, FC_STATUS_COUNT, "a status that there is not");
        c.a = get_dim(l);
        c.b = get_dim(l);
        c.message = get_text(l);
        if (!c.status) wrong(l, "a condition without a status");
        if (!stopped(l) && !fc_push(l->g->alloc, &l->g->conditions, c)) fc_oom(&l->g->error);
    }
}

/* A result is the cast that says so; a share has the type of its argument. */
static void check_custom(loader *l, const fc_custom *c, uint32_t number) {
    const fc_graph *g = l->g;
    for (uint32_t i = 0; i < c->nresults; i++) {
        const fc_ninfo *n = fc_at(g, c->result[i]), *seed = fc_at(g, c->seed[i]);
        if (n->op != FC_OP_CAST || n->attr != FC_CAST_ATTR(FC_CAST_CUSTOM, i, number) ||
            seed->op != FC_OP_CAST || FC_CAST_KIND(seed->attr) != FC_CAST_SEED ||
            seed->dtype != n->dtype || seed->shape != n->shape)
            wrong(l, "a derivative is of something else");
    }
    for (uint32_t i = 0; i < c->nargs; i++) {
        const fc_ninfo *a = fc_at(g, c->arg[i]);
        const fc_ninfo *dx = c->dx[i] == FC_NONODE ? a : fc_at(g, c->dx[i]);
        if (a->dtype != dx->dtype || (a->shape != dx->shape && dx->op != FC_OP_CONST))
            wrong(l, "a derivative has another type than what it is by");
    }
}

static void read_customs(loader *l) {
    for (uint32_t i = 0; i < l->ncustoms && !stopped(l); i++) {
        fc_custom c = {.nresults = get_count(l), .nargs = get_count(l)};
        c.result = get_nodes(l, c.nresults, false);
        c.seed = get_nodes(l, c.nresults, false);
        c.arg = get_nodes(l, c.nargs, false);
        c.dx = get_nodes(l, c.nargs, true);
        if (!stopped(l)) check_custom(l, &c, i);
        if (!stopped(l) && !fc_push(l->g->alloc, &l->g->customs, c)) fc_oom(&l->g->error);
    }
    /* every mark leads to the result that it says */
    for (fc_node n = 0; n < l->g->nodes.len && !stopped(l); n++) {
        const fc_ninfo *i = fc_at(l->g, n);
        if (i->op != FC_OP_CAST || FC_CAST_KIND(i->attr) != FC_CAST_CUSTOM) continue;
        const fc_custom *c = &l->g->customs.at[FC_CAST_NUMBER(i->attr)];
        if (FC_CAST_RESULT(i->attr) >= c->nresults || c->result[FC_CAST_RESULT(i->attr)] != n)
            wrong(l, "a derivative is of something else");
    }
}

static void read_body(loader *l) {
    read_ops(l);
    const uint32_t t = get_below(l, FC_DTYPE_ALL, "a dtype that there is not");
    if (!l->wrong && !fc_is_float((fusec_dtype)t)) wrong(l, "the default float is none");
    l->g->default_float = (fusec_dtype)t;
    if (!stopped(l)) read_inputs(l);
    if (!stopped(l)) read_dims(l);
    if (!stopped(l)) read_words(l);
    if (!stopped(l)) read_externs(l);
    if (!stopped(l)) l->ncustoms = get_count(l);
    if (!stopped(l)) read_nodes(l);
    if (!stopped(l)) read_outputs(l);
    if (!stopped(l)) read_conditions(l);
    if (!stopped(l)) read_customs(l);
    if (!stopped(l) && l->at != l->end) wrong(l, "something follows its end");
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool fc_saved_is(const void *data, size_t size) {
    return size >= 8 && !memcmp(data, FC_SAVED_MAGIC, 8);
}

static uint32_t fixed(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static const char *check_around(const uint8_t *p, size_t size) {
    uint8_t digest[FC_SHA256_SIZE];
    fc_sha256 sum;
    if (!fc_saved_is(p, size)) return "it does not begin as one";
    if (size < FC_SAVED_HEADER + FC_SAVED_DIGEST) return "it ends too early";
    if (fixed(p + 8) != FC_SAVED_VERSION) return "another version of fusec wrote it";
    if (fixed(p + 12) != size - FC_SAVED_HEADER - FC_SAVED_DIGEST)
        return "it is longer or shorter than it says";
    fc_sha256_init(&sum);
    fc_sha256_add(&sum, p, size - FC_SAVED_DIGEST);
    fc_sha256_end(&sum, digest);
    return memcmp(digest, p + size - FC_SAVED_DIGEST, sizeof digest) ? "its checksum is wrong"
                                                                     : NULL;
}

fusec_status fc_saved_read(const void *data, size_t size, const fc_extern_source *externs,
                           fc_graph *g, fc_error *e) {
    const uint8_t *p = data;
    const char *why = check_around(p, size);
    if (why) return fc_fail(e, FUSEC_IO, "no saved graph: %s", why);
    loader l = {
        .g = g, .at = p + FC_SAVED_HEADER, .end = p + size - FC_SAVED_DIGEST, .source = externs};
    read_body(&l);
    fc_free(g->alloc, l.node);
    fc_vec_free(g->alloc, &l.externs);
    if (g->error.code) return *e = g->error, e->code;
    if (l.wrong) return fc_fail(e, FUSEC_IO, "a damaged saved graph: %s", l.wrong);
    fc_error broken = {0};
    const fusec_status s = fc_graph_verify(g, &broken);
    if (s == FUSEC_OUT_OF_MEMORY) return fc_oom(e);
    if (s) return fc_fail(e, FUSEC_IO, "a damaged saved graph: %s", broken.message);
    return FUSEC_OK;
}
