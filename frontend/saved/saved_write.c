/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* saved_write.c - a graph to bytes: see saved.h.
 *
 * In: any graph without an error. Out: its bytes. New numbers are handed out in the order of the
 * old ones, so what interning and the order of operands depend on stays. */
#include "frontend/saved/saved.h"
#include "runtime/sha256.h"

typedef struct saver {
    const fc_graph *g;
    fc_str *out;
    uint32_t *node, *dim, *sym; /* new number + 1; while marking 1: it is needed */
    uint32_t *words, *custom;
    uint32_t *op;                      /* number of its name + 1 */
    FC_VEC(const fc_extern *) externs; /* of the user, in the order of their numbers here */
    bool again;                        /* marking: something before was marked */
} saver;

/* ---- bytes ----------------------------------------------------------------------------------- */

static void put(saver *s, uint64_t v) {
    for (; v >= 128; v >>= 7) fc_str_char(s->out, (char)(v | 128));
    fc_str_char(s->out, (char)v);
}

static void put_signed(saver *s, int64_t v) {
    put(s, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

/* NULL is a text of its own. */
static void put_text(saver *s, const char *t) {
    put(s, t ? strlen(t) + 1 : 0);
    if (t) fc_str_add(s->out, t);
}

static void put_fixed(fc_str *out, uint32_t v) {
    for (int i = 0; i < 4; i++) fc_str_char(out, (char)(v >> 8 * i));
}

/* ---- what is needed -------------------------------------------------------------------------- */

static void mark(saver *s, uint32_t *map, uint32_t id, uint32_t at) {
    if (id == FC_NONODE || map[id]) return;
    map[id] = 1;
    s->again |= id >= at;
}

static void mark_list(saver *s, fc_attr_kind kind, fc_list l) {
    const int64_t *v = fc_list_at(s->g, l);
    for (uint32_t i = 0; i < fc_list_len(s->g, l); i++)
        if (fc_attr_is_dim(kind, v, i)) s->dim[v[i]] = 1;
}

static void mark_custom(saver *s, uint32_t number, fc_node at) {
    const fc_custom *c = &s->g->customs.at[number];
    s->custom[number] = 1;
    for (uint32_t i = 0; i < c->nresults; i++) {
        mark(s, s->node, c->result[i], at);
        mark(s, s->node, c->seed[i], at);
    }
    for (uint32_t i = 0; i < c->nargs; i++) {
        mark(s, s->node, c->arg[i], at);
        mark(s, s->node, c->dx[i], at);
    }
}

static size_t extern_number(const saver *s, const fc_extern *x) {
    size_t i = 0;
    while (i < s->externs.len && s->externs.at[i] != x) i++;
    return i;
}

static void mark_node(saver *s, fc_node id) {
    const fc_ninfo *n = fc_at(s->g, id);
    const fc_attr_kind kind = (fc_attr_kind)fc_ops[n->op].attr;
    for (int k = 0; k < n->nops; k++) s->node[n->src[k]] = 1;
    mark_list(s, FC_ATTR_DIMS, n->shape);
    s->op[n->op] = 1;
    if (n->words) s->words[n->words - 1] = 1;
    if (kind == FC_ATTR_DIM) s->dim[n->attr] = 1;
    if (kind >= FC_ATTR_LIST) mark_list(s, kind, (fc_list)n->attr);
    if (kind == FC_ATTR_ROW) s->op[n->attr & 0xffff] = 1;
    if (kind == FC_ATTR_CAST && FC_CAST_KIND(n->attr) == FC_CAST_CUSTOM &&
        FC_CAST_NUMBER(n->attr) < s->g->customs.len)
        mark_custom(s, FC_CAST_NUMBER(n->attr), id);
}

static void mark_dims(saver *s) {
    const fc_dimtab *t = &s->g->dims;
    for (size_t d = t->forms.len; d-- > 0;)
        for (uint32_t i = 0; s->dim[d] && i < t->forms.at[d].nterms; i++) {
            const uint32_t sym = t->forms.at[d].terms[i].sym;
            s->sym[sym] = 1;
            if (t->syms.at[sym].kind == FC_SYM_NAMED) continue;
            s->dim[t->syms.at[sym].a] = s->dim[t->syms.at[sym].b] = 1;
        }
}

static void mark_all(saver *s) {
    const fc_graph *g = s->g;
    for (size_t i = 0; i < g->inputs.len; i++) s->node[g->inputs.at[i].node] = 1;
    for (size_t i = 0; i < g->outputs.len; i++) s->node[g->outputs.at[i].node] = 1;
    for (size_t i = 0; i < g->conditions.len; i++)
        s->dim[g->conditions.at[i].a] = s->dim[g->conditions.at[i].b] = 1;
    do {
        s->again = false;
        for (fc_node n = (fc_node)g->nodes.len; n-- > 0;)
            if (s->node[n]) mark_node(s, n);
    } while (s->again);
    mark_dims(s);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* From marks to new numbers + 1; how many there are. */
static uint32_t number(uint32_t *map, size_t n) {
    uint32_t next = 0;
    for (size_t i = 0; i < n; i++)
        if (map[i]) map[i] = ++next;
    return next;
}

static void put_ops(saver *s) {
    put(s, number(s->op, FC_OP_COUNT_));
    for (int op = 0; op < FC_OP_COUNT_; op++)
        if (s->op[op]) put_text(s, fc_ops[op].name);
}

static void put_dim(saver *s, int64_t d) {
    put(s, s->dim[d] - 1);
}

static void put_symbol(saver *s, const fc_sym *y) {
    put(s, (uint64_t)y->kind);
    if (y->kind == FC_SYM_NAMED) {
        put_text(s, y->name);
        return;
    }
    put_dim(s, y->a);
    put_dim(s, y->b);
}

static void put_form(saver *s, const fc_form *f) {
    put(s, FC_SAVED_FORM);
    put_signed(s, f->c);
    put(s, f->nterms);
    for (uint32_t i = 0; i < f->nterms; i++) {
        put(s, s->sym[f->terms[i].sym] - 1);
        put_signed(s, f->terms[i].coef);
    }
}

/* A symbol comes with the form that is nothing but it; that form is where symbols stand among the
 * forms. */
static void put_dims(saver *s) {
    const fc_dimtab *t = &s->g->dims;
    uint32_t next = 0, alone;
    for (size_t d = 0; d < t->forms.len; d++) {
        const bool own = fc_dim_is_sym(t, (fc_dim)d, &alone) && alone == next;
        if (own) s->dim[d] = s->sym[next++];
    }
    number(s->sym, t->syms.len);
    put(s, number(s->dim, t->forms.len));
    next = 0;
    for (size_t d = 0; d < t->forms.len; d++) {
        const bool own = fc_dim_is_sym(t, (fc_dim)d, &alone) && alone == next;
        if (own && s->dim[d]) put_symbol(s, &t->syms.at[alone]);
        if (!own && s->dim[d]) put_form(s, &t->forms.at[d]);
        next += own;
    }
}

static void put_list(saver *s, fc_attr_kind kind, fc_list l) {
    put(s, fc_list_len(s->g, l));
    for (uint32_t i = 0; i < fc_list_len(s->g, l); i++) {
        const int64_t *v = fc_list_at(s->g, l);
        if (fc_attr_is_dim(kind, v, i))
            put_dim(s, v[i]);
        else
            put_signed(s, v[i]);
    }
}

static void put_cast(saver *s, uint64_t attr) {
    const unsigned kind = FC_CAST_KIND(attr);
    const uint32_t n = FC_CAST_NUMBER(attr);
    put(s, kind);
    put(s, FC_CAST_RESULT(attr));
    put(s, kind == FC_CAST_CUSTOM ? s->custom[n] - 1 : n);
}

/* What a reader has to be given: in the order of the nodes. Only where there are any. */
static void put_externs(saver *s) {
    const fc_graph *g = s->g;
    if (!s->op[FC_OP_EXTERN]) return;
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_extern *x = fc_extern_of(fc_at(g, n));
        if (!s->node[n] || fc_at(g, n)->op != FC_OP_EXTERN) continue;
        if (extern_number(s, x) == s->externs.len)
            s->out->oom |= !fc_push(g->alloc, &s->externs, x);
    }
    put(s, s->externs.len);
    for (size_t i = 0; i < s->externs.len; i++) {
        const fc_extern *x = s->externs.at[i];
        put_text(s, x->name);
        put(s, x->nargs);
        for (unsigned k = 0; k < x->nargs; k++) put(s, x->dtype[k]);
        put(s, x->result);
    }
}

static void put_attr(saver *s, const fc_ninfo *n) {
    const fc_attr_kind kind = (fc_attr_kind)fc_ops[n->op].attr;
    switch (kind) {
    case FC_ATTR_NONE: break;
    case FC_ATTR_NUMBER:
    case FC_ATTR_INPUT: put(s, n->attr); break;
    case FC_ATTR_DIM: put_dim(s, (int64_t)n->attr); break;
    case FC_ATTR_CAST: put_cast(s, n->attr); break;
    case FC_ATTR_EXTERN: put(s, extern_number(s, fc_extern_of(n))); break;
    case FC_ATTR_ROW:
        put(s, s->op[n->attr & 0xffff] - 1);
        put(s, n->attr >> 16);
        break;
    default: put_list(s, kind, (fc_list)n->attr);
    }
}

/* One number holds all flags of a node: most have none. */
static void put_node(saver *s, fc_node id) {
    const fc_ninfo *n = fc_at(s->g, id);
    put(s, s->op[n->op] - 1);
    put(s, n->dtype | (uint64_t)n->nops << 5 | (uint64_t)n->axis_kind << 7 |
               (uint64_t)(n->words ? s->words[n->words - 1] : 0) << 32 | (uint64_t)n->flags << 10);
    for (int k = 0; k < n->nops; k++) put(s, s->node[id] - s->node[n->src[k]]);
    put_list(s, FC_ATTR_DIMS, n->shape);
    put_attr(s, n);
}

static void put_words(saver *s) {
    put(s, number(s->words, s->g->words.len));
    for (size_t i = 0; i < s->g->words.len; i++) {
        const fc_words *w = &s->g->words.at[i];
        if (!s->words[i]) continue;
        put_text(s, w->access);
        put_text(s, w->index);
        put_text(s, w->axis);
        put_text(s, w->place);
    }
}

static void put_nodes(saver *s, const fc_node *n, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) put(s, n[i] == FC_NONODE ? 0 : s->node[n[i]]);
}

static void put_rest(saver *s) {
    const fc_graph *g = s->g;
    put(s, g->outputs.len);
    for (size_t i = 0; i < g->outputs.len; i++) {
        put_text(s, g->outputs.at[i].name);
        put_nodes(s, &g->outputs.at[i].node, 1);
    }
    put(s, g->conditions.len);
    for (size_t i = 0; i < g->conditions.len; i++) {
        const fc_condition *c = &g->conditions.at[i];
        put(s, (uint64_t)c->kind);
        put(s, (uint64_t)c->status);
        put_dim(s, c->a);
        put_dim(s, c->b);
        put_text(s, c->message);
    }
    for (size_t i = 0; i < g->customs.len; i++) {
        const fc_custom *c = &g->customs.at[i];
        if (!s->custom[i]) continue;
        put(s, c->nresults);
        put(s, c->nargs);
        put_nodes(s, c->result, c->nresults);
        put_nodes(s, c->seed, c->nresults);
        put_nodes(s, c->arg, c->nargs);
        put_nodes(s, c->dx, c->nargs);
    }
}

static void put_body(saver *s) {
    const fc_graph *g = s->g;
    mark_all(s);
    put_ops(s);
    put(s, (uint64_t)g->default_float);
    put(s, g->inputs.len);
    for (size_t i = 0; i < g->inputs.len; i++) put_text(s, g->inputs.at[i].name);
    put_dims(s);
    put_words(s);
    put_externs(s);
    put(s, number(s->custom, g->customs.len));
    put(s, number(s->node, g->nodes.len));
    for (fc_node n = 0; n < g->nodes.len; n++)
        if (s->node[n]) put_node(s, n);
    put_rest(s);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_around(saver *s) {
    fc_str body, *out = s->out;
    const size_t from = out->len;
    uint8_t digest[FC_SHA256_SIZE];
    fc_sha256 sum;
    fc_str_init(&body, s->g->alloc);
    s->out = &body;
    put_body(s);
    fc_str_addn(out, FC_SAVED_MAGIC, 8);
    put_fixed(out, FC_SAVED_VERSION);
    put_fixed(out, (uint32_t)body.len);
    fc_str_addn(out, body.data, body.len);
    out->oom |= body.oom;
    fc_str_free(&body);
    if (out->oom) return;
    fc_sha256_init(&sum);
    fc_sha256_add(&sum, out->data + from, out->len - from);
    fc_sha256_end(&sum, digest);
    fc_str_addn(out, (const char *)digest, sizeof digest);
}

fusec_status fc_saved_write(const fc_graph *g, fc_str *out, fc_error *e) {
    if (g->error.code) return fc_fail(e, g->error.code, "%s", g->error.message);
    const size_t n[] = {g->nodes.len, g->dims.forms.len, g->dims.syms.len,
                        g->words.len, g->customs.len,    FC_OP_COUNT_};
    size_t all = 0, at = 0;
    for (size_t i = 0; i < FC_COUNT(n); i++) all += n[i] + 1;
    uint32_t *memory = fc_calloc(g->alloc, all, sizeof *memory);
    if (!memory) return fc_oom(e);
    saver s = {.g = g, .out = out};
    uint32_t **const maps[] = {&s.node, &s.dim, &s.sym, &s.words, &s.custom, &s.op};
    for (size_t i = 0; i < FC_COUNT(n); at += n[i++] + 1) *maps[i] = memory + at;
    put_around(&s);
    fc_vec_free(g->alloc, &s.externs);
    fc_free(g->alloc, memory);
    return out->oom ? fc_oom(e) : FUSEC_OK;
}
