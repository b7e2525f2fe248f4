/* plans.c - programs of expressions that were evaluated before, found by their structure.
 *
 * The key is the structure itself, byte for byte: a hash finds it, a comparison decides. The least
 * recently used plans go when there are more than FC_MAX_PLANS. Planning happens outside the lock;
 * when two threads plan the same expression at once, the first one's is kept. */
#include "frontend/capi/capi.h"

/* ---- keys ------------------------------------------------------------------------------------ */

static void add_word(fc_str *s, uint64_t v) {
    fc_str_addn(s, (const char *)&v, sizeof v);
}

/* Everything of a graph but names. Its ids are canonical already (extract.c). */
static void make_key(const fc_graph *g, fc_str *key) {
    add_word(key, g->nodes.len);
    fc_str_addn(key, (const char *)g->nodes.at, g->nodes.len * sizeof *g->nodes.at);
    add_word(key, g->lists.len);
    fc_str_addn(key, (const char *)g->lists.at, g->lists.len * sizeof *g->lists.at);
    fc_str_addn(key, (const char *)g->list_data.at, g->list_data.len * sizeof *g->list_data.at);
    add_word(key, g->dims.forms.len);
    for (size_t i = 0; i < g->dims.forms.len; i++) {
        const fc_form *f = &g->dims.forms.at[i];
        add_word(key, (uint64_t)f->c);
        add_word(key, f->nterms);
        for (uint32_t k = 0; k < f->nterms; k++) {
            add_word(key, f->terms[k].sym);
            add_word(key, (uint64_t)f->terms[k].coef);
        }
    }
    for (size_t i = 0; i < g->dims.syms.len; i++) {
        const fc_sym *s = &g->dims.syms.at[i];
        bool named = s->kind == FC_SYM_NAMED;
        add_word(key, (uint64_t)s->kind);
        add_word(key, named ? 0 : (uint64_t)s->a << 32 | s->b);
    }
    for (size_t i = 0; i < g->outputs.len; i++) add_word(key, g->outputs.at[i].node);
}

/* ---- the table, under its lock --------------------------------------------------------------- */

static fc_planned *find(fc_plans *t, uint64_t hash, const fc_str *key) {
    for (uint32_t i = 0; i < t->len; i++) {
        fc_planned *p = t->at[i];
        if (p->hash != hash || p->len != key->len || memcmp(p->key, key->data, key->len) != 0)
            continue;
        p->refs++;
        p->used = ++t->clock;
        return p;
    }
    return NULL;
}

static void destroy(fusec_context *c, fc_planned *p) {
    if (!p) return;
    fc_program_free(p->program);
    fc_free(&c->alloc, p->key);
    fc_free(&c->alloc, p);
}

/* Puts it in; what has to make room comes back, to be destroyed without the lock. */
static fc_planned *insert(fc_plans *t, fc_planned *p) {
    fc_planned *old = NULL;
    uint32_t at = t->len;
    if (t->len == FC_MAX_PLANS) {
        for (uint32_t i = 0; i < t->len; i++)
            if (!t->at[i]->refs && (!old || t->at[i]->used < old->used)) old = t->at[i], at = i;
        if (!old) return NULL; /* all are running: this one is used once */
    } else {
        t->len++;
    }
    t->at[at] = p;
    p->cached = true;
    return old;
}

/* ---- getting one ----------------------------------------------------------------------------- */

static fusec_status plan(fusec_context *c, const fc_graph *g, uint64_t hash, const fc_str *key,
                         fc_planned **out, fc_error *e) {
    fc_device *d;
    FC_TRY(fc_open_device(c, &d, e));
    fc_planned *p = fc_calloc(&c->alloc, 1, sizeof *p);
    if (!p) return fc_oom(e);
    p->hash = hash;
    p->len = key->len;
    p->refs = 1;
    p->key = fc_malloc(&c->alloc, key->len);
    if (p->key) memcpy(p->key, key->data, key->len);
    fc_program_options o = {.device = d, .mode = c->runtime->config.mode};
    fusec_status s = p->key ? fc_program_new(c->runtime, g, &o, &p->program, e) : fc_oom(e);
    if (s) {
        destroy(c, p);
        return s;
    }
    *out = p;
    return FUSEC_OK;
}

fusec_status fc_plans_get(fusec_context *c, const fc_graph *g, fc_planned **out, fc_error *e) {
    fc_plans *t = &c->plans;
    fc_planned *made = NULL, *gone = NULL;
    fc_str key;
    fc_str_init(&key, &c->alloc);
    make_key(g, &key);
    uint64_t hash = fc_hash_bytes(key.data, key.len);
    pthread_mutex_lock(&t->lock);
    fc_planned *p = key.oom ? NULL : find(t, hash, &key);
    pthread_mutex_unlock(&t->lock);
    fusec_status s = key.oom ? fc_oom(e) : p ? FUSEC_OK : plan(c, g, hash, &key, &made, e);
    if (made) {
        pthread_mutex_lock(&t->lock);
        t->made++;
        p = find(t, hash, &key);
        if (p) {
            gone = made;
        } else {
            p = made;
            p->used = ++t->clock;
            gone = insert(t, p);
        }
        pthread_mutex_unlock(&t->lock);
        destroy(c, gone);
    }
    fc_str_free(&key);
    *out = p;
    return s;
}

void fc_plans_release(fusec_context *c, fc_planned *p) {
    if (!p) return;
    pthread_mutex_lock(&c->plans.lock);
    bool last = --p->refs == 0 && !p->cached;
    pthread_mutex_unlock(&c->plans.lock);
    if (last) destroy(c, p);
}

void fc_plans_free(fusec_context *c) {
    for (uint32_t i = 0; i < c->plans.len; i++) destroy(c, c->plans.at[i]);
    c->plans.len = 0;
}
