/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy_eval.c - computing values of no graph: the part that is not computed is walked and written
 * as a key; a plan with this key is found, or made of a graph of this part; it runs.
 *
 * The key says what is done to what: operations, dtypes, axes, and for each size whether it is 0,
 * 1, or the k-th different one that was met. Numbers are arguments, but for those that simplify.
 * So the key is the same for other data, other sizes that are equal where they were equal, other
 * numbers. The walk is made under the context's lazy lock, as it marks the values; planning and
 * running are not. */
#include <stdio.h>

#include "frontend/capi/explain.h"
#include "frontend/capi/lazy.h"

enum { REC_LEAF = 0x9001, REC_ROOT };
/* operands: the number of a node; a constant, whose bits follow; a number that is an argument */
#define REC_NODE     (UINT32_C(1) << 31)
#define REC_NUMBER   (UINT32_C(1) << 30)
#define REC_ARGUMENT (UINT32_C(3) << 30)

/* What an evaluation works with; kept by the context for the next one. */
typedef struct fc_lazy_work {
    struct fc_lazy_work *next;
    fc_key key;
    FC_VEC(fusec_lazy *) order; /* by number */
    FC_VEC(fusec_lazy *) stack;
    FC_VEC(fusec_lazy *) inputs; /* arrays and numbers in the order of the program's inputs; held */
    FC_VEC(fusec_lazy *) roots;  /* what is computed */
    FC_VEC(fusec_lazy *) gone;   /* operands of what was computed */
    FC_VEC(fc_tensor) in;
    FC_VEC(fc_tensor) out;
    FC_VEC(fc_held *) results;
    FC_VEC(fc_dim_value) sizes;
    uint32_t narguments;
} work;

/* ---- what is kept between evaluations -------------------------------------------------------- */

void fc_lazy_pool_free(fusec_context *c) {
    for (work *w = c->lazy.work; w;) {
        work *next = w->next;
        const fc_alloc *a = &c->alloc;
        fc_key_free(&w->key);
        fc_vec_free(a, &w->order);
        fc_vec_free(a, &w->stack);
        fc_vec_free(a, &w->inputs);
        fc_vec_free(a, &w->roots);
        fc_vec_free(a, &w->gone);
        fc_vec_free(a, &w->in);
        fc_vec_free(a, &w->out);
        fc_vec_free(a, &w->results);
        fc_vec_free(a, &w->sizes);
        fc_free(a, w);
        w = next;
    }
    c->lazy.work = NULL;
    fusec_graph_free(c->lazy.graph);
    c->lazy.graph = NULL;
}

static void lock(fusec_context *c) {
    pthread_mutex_lock(&c->lazy.lock);
}
static void unlock(fusec_context *c) {
    pthread_mutex_unlock(&c->lazy.lock);
}

fusec_graph *fc_lazy_take_graph(fusec_context *c) {
    lock(c);
    fusec_graph *g = c->lazy.graph;
    c->lazy.graph = NULL;
    unlock(c);
    if (!g) fusec_graph_new(c, &g);
    return g;
}

void fc_lazy_give_graph(fusec_context *c, fusec_graph *g) {
    if (!g) return;
    fusec_graph_reset(g);
    lock(c);
    const bool keep = !c->lazy.graph;
    if (keep) c->lazy.graph = g;
    unlock(c);
    if (!keep) fusec_graph_free(g);
}

/* ---- the key --------------------------------------------------------------------------------- */

/* 0, 1, or 2 + the number of the size among the different ones. */
static inline bool size(fc_key *k, int64_t n) {
    uint32_t i = 0;
    if (n > 1) {
        while (i < k->sizes.len && k->sizes.at[i] != n) i++;
        if (i == k->sizes.len && !fc_push(k->alloc, &k->sizes, n)) return false;
        i += 2;
    } else {
        i = (uint32_t)n;
    }
    fc_key_add(k, i);
    return true;
}

static bool sizes(fc_key *k, uint32_t n, const int64_t *v) {
    bool ok = fc_key_room(k, n + 1);
    for (uint32_t i = 0; ok && i < n; i++) ok = size(k, v[i]);
    return ok;
}

static bool is_argument(const work *w, const fusec_lazy *user, int operand, const fusec_lazy *v) {
    const fusec_dtype t = (fusec_dtype)v->dtype;
    if (w->narguments >= FC_MOST_ARGUMENTS || fc_is_complex(t)) return false;
    if (fc_lazy_is_draw(user->op)) return true; /* seeds and bounds */
    return !fc_number_simplifies(t, v->bits) &&
           !fc_number_is_structure((fc_op)user->op, operand, t, v->bits);
}

static inline fc_held *held(const fusec_lazy *v) {
    return atomic_load_explicit(&((fusec_lazy *)(uintptr_t)v)->held, memory_order_acquire);
}

static bool add_input(work *w, fusec_lazy *v) {
    if (!fc_push(w->key.alloc, &w->inputs, v)) return false;
    fusec_lazy_retain(v);
    return true;
}

static bool operand(work *w, const fusec_lazy *user, int i, fusec_lazy *v) {
    fc_key *k = &w->key;
    if (v->op != FC_OP_CONST) {
        fc_key_add(k, REC_NODE | v->number);
        return true;
    }
    if (is_argument(w, user, i, v)) {
        w->narguments++;
        fc_key_add(k, REC_ARGUMENT | v->dtype);
        return add_input(w, v);
    }
    fc_key_add(k, REC_NUMBER | v->dtype);
    fc_key_add64(k, v->bits);
    if (v->dtype == FUSEC_C128) fc_key_add64(k, v->more);
    return true;
}

static bool leaf(work *w, fusec_lazy *v) {
    fc_key *k = &w->key;
    fc_key_add(k, REC_LEAF | (uint32_t)v->dtype << 16 | (uint32_t)v->rank << 24);
    return sizes(k, v->rank, v->words) && add_input(w, v);
}

static bool record(work *w, fusec_lazy *v) {
    fc_key *k = &w->key;
    const int64_t *a = fc_lazy_attr(v);
    if (!fc_key_room(k, 16 + 4 * (size_t)v->nops)) return false;
    if (held(v)) return leaf(w, v);
    fc_key_add(k, v->op | (uint32_t)v->dtype << 16 | (uint32_t)v->mode << 24 |
                      (uint32_t)v->keepdims << 28);
    fc_key_add(k, v->nops);
    for (int i = 0; i < v->nops; i++)
        if (!operand(w, v, i, v->src[i])) return false;
    if (fc_lazy_takes_shape(v->op)) {
        fc_key_add(k, v->rank);
        if (!sizes(k, v->rank, v->words)) return false;
    }
    if (!v->nattr) return true;
    uint32_t plain = 0;
    if (v->op == FC_OP_SLICE) {
        plain = v->rank;
        if (!sizes(k, v->rank, a)) return false;
    }
    if (!fc_key_room(k, 2 * (size_t)v->nattr + 1)) return false;
    fc_key_add(k, v->nattr);
    for (uint32_t i = plain; i < v->nattr; i++) fc_key_add64(k, (uint64_t)a[i]);
    return true;
}

static inline bool marked(const fusec_context *c, const fusec_lazy *v) {
    return v->op == FC_OP_CONST || v->round == c->lazy.round;
}

/* Operands before users. */
static bool walk(fusec_context *c, work *w, fusec_lazy *root) {
    const fc_alloc *a = &c->alloc;
    bool ok = fc_push(a, &w->stack, root);
    while (ok && w->stack.len) {
        fusec_lazy *v = w->stack.at[w->stack.len - 1];
        if (marked(c, v)) {
            w->stack.len--;
            continue;
        }
        const size_t before = w->stack.len;
        if (!held(v))
            for (int i = v->nops; ok && i-- > 0;)
                if (!marked(c, v->src[i])) ok = fc_push(a, &w->stack, v->src[i]);
        if (!ok || w->stack.len != before) continue;
        v->round = c->lazy.round;
        v->number = (uint32_t)w->order.len;
        w->stack.len--;
        ok = fc_push(a, &w->order, v) && record(w, v);
    }
    return ok;
}

static bool make_key(fusec_context *c, work *w) {
    c->lazy.round++;
    for (size_t i = 0; i < w->roots.len; i++) {
        fusec_lazy *v = w->roots.at[i];
        if (!walk(c, w, v) || !fc_key_room(&w->key, 4)) return false;
        fc_key_add(&w->key, REC_ROOT);
        if (v->op == FC_OP_CONST) {
            /* an argument, whatever it is */
            fc_key_add(&w->key, REC_ARGUMENT | v->dtype);
            if (!add_input(w, v)) return false;
        } else {
            fc_key_add(&w->key, REC_NODE | v->number);
        }
    }
    w->key.hash = fc_key_hash(w->key.words.at, w->key.words.len);
    return true;
}

/* ---- the graph of an expression that is new -------------------------------------------------- */

static fc_node build_input(fusec_graph *g, const fusec_lazy *v) {
    fc_dim dims[FC_MAX_RANK];
    for (uint32_t i = 0; i < v->rank; i++) dims[i] = fc_extent_of(g, v->words[i]);
    return fc_build_input(&g->ir, "array", (fusec_dtype)v->dtype, v->rank, dims);
}

static fc_node build_node(fusec_graph *g, work *w, const fusec_lazy *v, const fc_node *nodes) {
    fc_node few[3], *src = few;
    if (held(v)) return build_input(g, v);
    if (v->nops > 3 && !(src = fc_malloc(g->ir.alloc, v->nops * sizeof *src)))
        return fc_oom(&g->ir.error), FC_NONODE;
    for (int i = 0; i < v->nops; i++) {
        const fusec_lazy *x = v->src[i];
        if (x->op != FC_OP_CONST) {
            src[i] = nodes[x->number];
        } else if (is_argument(w, v, i, x)) {
            w->narguments++;
            src[i] = build_input(g, x);
        } else {
            src[i] = fc_lazy_number(g, x);
        }
    }
    const fusec_attr a = fc_lazy_attributes(v);
    const fc_node made = fc_lazy_build(g, v->op, &a, v->nops, src);
    if (src != few) fc_free(g->ir.alloc, src);
    return made;
}

/* As the key was made: inputs are numbered in the same order. No condition is left: what it says
 * was tested when the values were made. */
static fusec_status build_graph(fusec_graph *g, work *w, fc_error *e) {
    const fc_alloc *alloc = g->ir.alloc;
    fc_node *nodes = fc_malloc(alloc, (w->order.len + 1) * sizeof *nodes);
    if (!nodes) return fc_oom(e);
    w->narguments = 0;
    size_t at = 0;
    for (size_t r = 0; r < w->roots.len && !g->ir.error.code; r++) {
        fusec_lazy *root = w->roots.at[r];
        const bool number = root->op == FC_OP_CONST;
        while (!number && at <= root->number) {
            nodes[at] = build_node(g, w, w->order.at[at], nodes);
            at++;
        }
        char name[24];
        snprintf(name, sizeof name, "r%zu", r);
        fc_build_output(&g->ir, name, number ? build_input(g, root) : nodes[root->number]);
    }
    g->ir.conditions.len = g->tested = 0;
    fc_free(alloc, nodes);
    return g->ir.error.code ? (*e = g->ir.error, e->code) : FUSEC_OK;
}

/* The program's sizes: the symbol of each size of the key. */
static fusec_status name_sizes(fusec_graph *g, work *w, fc_error *e) {
    w->sizes.len = 0;
    for (size_t i = 0; i < w->key.sizes.len; i++) {
        fc_dim_value v = {.value = w->key.sizes.at[i]};
        if (!fc_dim_is_sym(&g->ir.dims, fc_extent_of(g, v.value), &v.sym) ||
            !fc_push(g->ir.alloc, &w->sizes, v))
            return fc_oom(e);
    }
    return FUSEC_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static fusec_status scalar_to_host(fusec_context *c, fc_held *h, fusec_dtype t, void *stream,
                                   fc_error *e) {
    fc_device *d = c->device;
    uint64_t word[2] = {0};
    lock(c);
    const bool there = h->has_scalar;
    unlock(c);
    if (there) return FUSEC_OK;
    FC_TRY(d->ops->download(d, stream, word, h->data, fc_dtypes[t].bytes, e));
    FC_TRY(d->ops->sync(d, stream, e));
    lock(c);
    memcpy(h->scalar, word, sizeof word);
    h->has_scalar = true;
    unlock(c);
    return FUSEC_OK;
}

static void describe(const fusec_lazy *v, fc_tensor *t) {
    *t = (fc_tensor){.dtype = (fusec_dtype)v->dtype, .rank = v->rank, .shape = v->words};
    if (v->strided) t->strides = v->words + v->rank;
}

static fusec_status take_inputs(fusec_context *c, work *w, void *stream, bool *from_host,
                                fc_error *e) {
    fc_device *d = c->device;
    bool own_pending = false;
    if (!fc_reserve(&c->alloc, &w->in, w->inputs.len + 1)) return fc_oom(e);
    for (size_t i = 0; i < w->inputs.len; i++) {
        fusec_lazy *v = w->inputs.at[i];
        fc_tensor *t = &w->in.at[i];
        fc_held *h = held(v);
        describe(v, t);
        t->data = h ? h->data : &v->bits;
        t->on_device = h && h->on_device;
        own_pending |= h && h->owned && stream && h->stream != stream;
        *from_host |= !t->on_device;
        if (t->rank || !t->on_device || d->host_memory) continue;
        FC_TRY(scalar_to_host(c, h, t->dtype, h->stream ? h->stream : NULL, e));
        t->data = h->scalar;
        t->on_device = false;
    }
    /* results that the device's own stream computes, used on another one */
    return own_pending && !d->host_memory ? d->ops->sync(d, NULL, e) : FUSEC_OK;
}

static fusec_status new_result(fusec_context *c, work *w, const fusec_lazy *v, void *stream,
                               fc_tensor *t, fc_error *e) {
    size_t bytes;
    if (!fc_array_bytes((fusec_dtype)v->dtype, v->rank, v->words, &bytes))
        return fc_fail(e, FUSEC_INPUT_SHAPE, "a result has more bytes than memory can address");
    fc_held *h = fc_held_new(c);
    if (!h) return fc_oom(e);
    h->on_device = true;
    h->stream = c->device->host_memory ? NULL : stream;
    if (fc_context_memory(c->runtime, c->device, h->stream, bytes, &h->data, e)) {
        fc_free(&c->alloc, h);
        return e->code;
    }
    h->owned = true;
    describe(v, t);
    t->data = h->data;
    t->on_device = true;
    w->results.at[w->results.len++] = h;
    return FUSEC_OK;
}

static fusec_status take_output(fusec_context *c, size_t i, const fusec_tensor *into, fc_tensor *t,
                                fc_error *e) {
    char name[24];
    snprintf(name, sizeof name, "%zu", i);
    return fc_take_tensor(c->device, "output", name, into, true, t, e);
}

static fusec_status take_outputs(fusec_context *c, work *w, const fusec_tensor *into, void *stream,
                                 fc_error *e) {
    const size_t n = w->roots.len;
    if (!fc_reserve(&c->alloc, &w->out, n + 1) || !fc_reserve(&c->alloc, &w->results, n + 1))
        return fc_oom(e);
    for (size_t i = 0; i < n; i++)
        if (into)
            FC_TRY(take_output(c, i, &into[i], &w->out.at[i], e));
        else
            FC_TRY(new_result(c, w, w->roots.at[i], stream, &w->out.at[i], e));
    return FUSEC_OK;
}

static fusec_status take_sizes(fusec_context *c, work *w, const fc_planned *p, fc_error *e) {
    if (!fc_reserve(&c->alloc, &w->sizes, p->nfree + 1)) return fc_oom(e);
    for (uint32_t i = 0; i < p->nfree; i++)
        w->sizes.at[i] =
            (fc_dim_value){.sym = p->free[i].sym, .value = w->key.sizes.at[p->free[i].named]};
    return FUSEC_OK;
}

static fusec_status run(fusec_context *c, work *w, const fc_planned *p, const fusec_tensor *into,
                        void *stream, fc_error *e) {
    bool from_host = false;
    fc_device *d = c->device;
    FC_TRY(take_inputs(c, w, stream, &from_host, e));
    FC_TRY(take_outputs(c, w, into, stream, e));
    FC_TRY(take_sizes(c, w, p, e));
    FC_TRY(fc_program_run(p->program, stream, (uint32_t)w->inputs.len, w->in.at, p->nfree,
                          w->sizes.at, (uint32_t)w->roots.len, w->out.at, e));
    /* arrays of the caller may change or go when we return */
    return from_host && !d->host_memory ? d->ops->sync(d, stream, e) : FUSEC_OK;
}

/* Results become the values', unless another thread was first; their operands may go. */
static void keep_results(fusec_context *c, work *w) {
    lock(c);
    for (size_t i = 0; i < w->results.len; i++) {
        fusec_lazy *v = w->roots.at[i];
        if (held(v) || v->op == FC_OP_CONST) continue;
        atomic_store_explicit(&v->held, w->results.at[i], memory_order_release);
        w->results.at[i] = NULL;
        for (int k = 0; k < v->nops; k++) w->gone.at[w->gone.len++] = v->src[k];
        v->nops = 0;
    }
    unlock(c);
}

/* The plan of what has to be computed: found by its key, or made. Inputs are held from then on.
 * Comes with the lock, and gives it up. */
static fusec_status plan(fusec_context *c, work *w, fc_planned **out, fc_error *e) {
    fc_planned *p = NULL;
    fusec_graph *g = NULL;
    fusec_status s = FUSEC_OK;
    if (!make_key(c, w)) s = fc_oom(e);
    if (!s) p = fc_plans_find(c, &w->key);
    if (!s && !p) {
        g = c->lazy.graph;
        c->lazy.graph = NULL;
        if (!g && fusec_graph_new(c, &g)) s = fc_oom(e);
        if (!s) s = build_graph(g, w, e);
    }
    unlock(c);
    if (!s && !p) s = name_sizes(g, w, e);
    if (!s && !p) s = fc_plans_make(c, &w->key, &g->ir, (uint32_t)w->sizes.len, w->sizes.at, &p, e);
    fc_lazy_give_graph(c, g);
    *out = p;
    return s;
}

/* Comes with the lock, and gives it up. */
static fusec_status compute(fusec_context *c, work *w, const fusec_tensor *into, void *stream,
                            fc_error *e) {
    fc_planned *p = NULL;
    fusec_status s = plan(c, w, &p, e);
    if (!s) s = run(c, w, p, into, stream, e);
    if (!s && !into) keep_results(c, w);
    fc_plans_release(c, p);
    return s;
}

/* ---- the public functions -------------------------------------------------------------------- */

/* Under the lock. */
static work *take_work(fusec_context *c) {
    work *w = c->lazy.work;
    if (w)
        c->lazy.work = w->next;
    else if ((w = fc_calloc(&c->alloc, 1, sizeof *w)))
        w->key.alloc = &c->alloc;
    return w;
}

static void give_work(fusec_context *c, work *w) {
    for (size_t i = 0; i < w->inputs.len; i++) fusec_lazy_release(w->inputs.at[i]);
    for (size_t i = 0; i < w->gone.len; i++) fusec_lazy_release(w->gone.at[i]);
    for (size_t i = 0; i < w->results.len; i++) fc_held_release(w->results.at[i]);
    w->key.words.len = w->key.inputs.len = w->key.sizes.len = 0;
    w->order.len = w->stack.len = w->inputs.len = w->roots.len = 0;
    w->gone.len = w->results.len = 0;
    w->narguments = 0;
    lock(c);
    w->next = c->lazy.work;
    c->lazy.work = w;
    unlock(c);
}

/* What has to be computed: each value once, without `into` only what is not there. */
static bool find_roots(fusec_context *c, work *w, fusec_lazy *const *v, int n, bool into) {
    size_t operands = 0; /* that may go when the values are computed */
    for (int i = 0; i < n; i++) {
        bool skip = !into && (held(v[i]) || v[i]->op == FC_OP_CONST);
        for (size_t k = 0; !into && !skip && k < w->roots.len; k++) skip = w->roots.at[k] == v[i];
        if (skip) continue;
        if (!fc_push(&c->alloc, &w->roots, v[i])) return false;
        operands += v[i]->most_ops;
    }
    return fc_reserve(&c->alloc, &w->gone, operands);
}

/* With the lock, if it is not NULL: an evaluation's work, whose roots are found. */
static work *begin(fusec_context *c, fusec_lazy *const *v, int n, bool into, fc_error *e) {
    lock(c);
    work *w = take_work(c);
    if (w && find_roots(c, w, v, n, into)) return w;
    unlock(c);
    if (w) give_work(c, w);
    fc_oom(e);
    return NULL;
}

static fusec_status eval(fusec_lazy *const *v, int n, const fusec_tensor *into, void *stream,
                         fc_error *e) {
    fc_device *d;
    fusec_context *c = v[0]->ctx;
    FC_TRY(fc_open_device(c, &d, e));
    fusec_status s = FUSEC_OK;
    work *w = begin(c, v, n, into != NULL, e);
    if (!w) return e->code;
    if (w->roots.len)
        s = compute(c, w, into, stream, e);
    else
        unlock(c);
    give_work(c, w);
    return s;
}

static fusec_status check_values(const char *what, fusec_lazy *const *v, int n) {
    if (n < 0 || (n > 0 && !v))
        return fc_report_text(FUSEC_INVALID, "%s: %d values at %p", what, n, (const void *)v);
    for (int i = 0; i < n; i++)
        if (!v[i] || v[i]->ctx != v[0]->ctx)
            return fc_report_text(FUSEC_INVALID, "%s: value %d %s", what, i + 1,
                                  v[i] ? "belongs to another context" : "is NULL");
    return FUSEC_OK;
}

fusec_status fusec_lazy_eval(fusec_lazy *const *v, int n, const fusec_tensor *into, void *stream) {
    fc_error e;
    e.code = FUSEC_OK;
    FC_TRY(check_values("fusec_lazy_eval", v, n));
    return n && eval(v, n, into, stream, &e) ? fc_report(&e) : FUSEC_OK;
}

static fusec_status explain(fusec_lazy *const *v, int n, unsigned flags, char **out, fc_error *e) {
    fc_device *d;
    fc_planned *p = NULL;
    bool from_host = false;
    fusec_context *c = v[0]->ctx;
    FC_TRY(fc_open_device(c, &d, e));
    /* with `into` what is there already counts, too: there is always something to explain */
    work *w = begin(c, v, n, true, e);
    if (!w) return e->code;
    fusec_status s = plan(c, w, &p, e);
    if (!s) s = take_inputs(c, w, NULL, &from_host, e);
    if (!s) s = take_sizes(c, w, p, e);
    if (!s) {
        fusec_explain_options o = FUSEC_EXPLAIN_OPTIONS_INIT;
        o.flags = flags;
        fc_plan_query q = {.name = "program",
                           .sized = true,
                           .nin = (uint32_t)w->inputs.len,
                           .in = w->in.at,
                           .ndims = p->nfree,
                           .dims = w->sizes.at};
        s = fc_explain(c, p->program, &q, &o, out, e);
    }
    fc_plans_release(c, p);
    give_work(c, w);
    return s;
}

fusec_status fusec_lazy_explain(fusec_lazy *const *v, int n, unsigned flags, char **out) {
    fc_error e = {0};
    if (!out)
        return fc_report_text(FUSEC_INVALID, "fusec_lazy_explain: the result pointer is NULL");
    *out = NULL;
    if (n < 1) return fc_report_text(FUSEC_INVALID, "fusec_lazy_explain: %d values", n);
    FC_TRY(check_values("fusec_lazy_explain", v, n));
    FC_TRY(fc_explain_flags("fusec_lazy_explain", flags, false));
    return explain(v, n, flags, out, &e) ? fc_report(&e) : FUSEC_OK;
}

fusec_status fusec_lazy_tensor(fusec_lazy *v, fusec_tensor *out) {
    if (!out) return fc_report_text(FUSEC_INVALID, "fusec_lazy_tensor: the result pointer is NULL");
    memset(out, 0, sizeof *out);
    FC_TRY(fusec_lazy_eval(&v, 1, NULL, NULL));
    const fc_held *h = held(v);
    const fc_device *d = v->ctx->device;
    out->data = h ? h->data : &v->bits;
    out->shape = v->words;
    out->strides = v->strided ? v->words + v->rank : NULL;
    out->rank = v->rank;
    out->dtype = v->dtype;
    if (!h || !h->on_device || d->host_memory) return FUSEC_OK;
    out->place = FUSEC_CUDA;
    out->device_id = d->ordinal;
    return FUSEC_OK;
}

fusec_status fusec_lazy_read(fusec_lazy *v, void *out, size_t bytes) {
    size_t have;
    if (!v) return fc_report_text(FUSEC_INVALID, "fusec_lazy_read: the value is NULL");
    if (!fc_array_bytes((fusec_dtype)v->dtype, v->rank, v->words, &have) || have != bytes)
        return fc_report_text(FUSEC_INVALID,
                              "fusec_lazy_read: the result has %zu bytes, but there is memory for "
                              "%zu",
                              have, bytes);
    if (bytes && !out) return fc_report_text(FUSEC_INVALID, "fusec_lazy_read: the memory is NULL");
    if (v->op == FC_OP_CONST) {
        const uint64_t words[2] = {v->bits, v->more};
        memcpy(out, words, bytes);
        return FUSEC_OK;
    }
    fc_error e = {0};
    FC_TRY(fusec_lazy_eval(&v, 1, NULL, NULL));
    const fc_held *h = held(v);
    fc_device *d = v->ctx->device;
    if (!bytes) return FUSEC_OK;
    if (v->strided) {
        const fusec_tensor to = {
            .data = out, .shape = v->words, .rank = v->rank, .dtype = v->dtype};
        return fusec_lazy_eval(&v, 1, &to, NULL);
    }
    if (!h->on_device) {
        memcpy(out, h->data, bytes);
        return FUSEC_OK;
    }
    if (d->ops->download(d, h->stream, out, h->data, bytes, &e) || d->ops->sync(d, h->stream, &e))
        return fc_report(&e);
    return FUSEC_OK;
}
