/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plans.c - programs of expressions that were evaluated before, found by their structure.
 *
 * The key is the structure itself (key.c), word for word: a hash finds it, a comparison decides.
 * The least recently used plans go when there are more than FC_MAX_PLANS. Planning happens outside
 * the lock; when two threads plan the same expression at once, the first one's is kept. */
#include "frontend/capi/key.h"

/* ---- the table, under its lock --------------------------------------------------------------- */

static fc_planned *find(fc_plans *t, const fc_key *k) {
    for (uint32_t i = 0; i < t->len; i++) {
        if (t->hashes[i] != k->hash) continue;
        fc_planned *p = t->at[i];
        if (p->len != k->words.len || memcmp(p->key, k->words.at, p->len * sizeof *p->key) != 0)
            continue;
        atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
        p->used = ++t->clock;
        return p;
    }
    return NULL;
}

static void destroy(fusec_context *c, fc_planned *p) {
    if (!p) return;
    fc_program_free(p->program);
    fc_free(&c->alloc, p->key);
    fc_free(&c->alloc, p->free);
    fc_free(&c->alloc, p);
}

/* Puts it in; what has to make room comes back, to be destroyed without the lock. */
static fc_planned *insert(fc_plans *t, fc_planned *p) {
    fc_planned *old = NULL;
    uint32_t at = t->len;
    if (t->len == FC_MAX_PLANS) {
        for (uint32_t i = 0; i < t->len; i++)
            if (!atomic_load_explicit(&t->at[i]->refs, memory_order_acquire) &&
                (!old || t->at[i]->used < old->used))
                old = t->at[i], at = i;
        if (!old) return NULL; /* all are running: this one is used once */
    } else {
        t->len++;
    }
    t->at[at] = p;
    t->hashes[at] = p->hash;
    p->cached = true;
    return old;
}

/* ---- getting one ----------------------------------------------------------------------------- */

fc_planned *fc_plans_find(fusec_context *c, const fc_key *key) {
    pthread_mutex_lock(&c->plans.lock);
    fc_planned *p = find(&c->plans, key);
    pthread_mutex_unlock(&c->plans.lock);
    return p;
}

/* Sizes that no array of the run has: the program asks for them. */
static bool find_free_sizes(const fusec_context *c, const fc_graph *g, uint32_t nsizes,
                            const fc_dim_value *sizes, fc_planned *p) {
    p->free = fc_malloc(&c->alloc, (nsizes + 1) * sizeof *p->free);
    if (!p->free) return false;
    for (uint32_t i = 0; i < nsizes; i++) {
        bool bound = false;
        for (size_t k = 0; k < g->inputs.len && !bound; k++)
            for (uint32_t a = 0; a < fc_rank(g, g->inputs.at[k].node) && !bound; a++) {
                uint32_t sym;
                bound = fc_dim_is_sym(&g->dims, fc_axis(g, g->inputs.at[k].node, a), &sym) &&
                        sym == sizes[i].sym;
            }
        if (!bound) p->free[p->nfree++] = (fc_free_size){.sym = sizes[i].sym, .named = i};
    }
    return true;
}

static fusec_status plan(fusec_context *c, const fc_key *key, const fc_graph *g, uint32_t nsizes,
                         const fc_dim_value *sizes, fc_planned **out, fc_error *e) {
    fc_device *d;
    FC_TRY(fc_open_device(c, &d, e));
    fc_planned *p = fc_calloc(&c->alloc, 1, sizeof *p);
    if (!p) return fc_oom(e);
    p->hash = key->hash;
    p->len = key->words.len;
    atomic_init(&p->refs, 1);
    p->key = fc_malloc(&c->alloc, p->len * sizeof *p->key);
    if (p->key) memcpy(p->key, key->words.at, p->len * sizeof *p->key);
    fc_program_options o = {.device = d, .mode = c->runtime->config.mode};
    fusec_status s = p->key && find_free_sizes(c, g, nsizes, sizes, p)
                         ? fc_program_new(c->runtime, g, &o, &p->program, e)
                         : fc_oom(e);
    if (s) {
        destroy(c, p);
        return s;
    }
    *out = p;
    return FUSEC_OK;
}

fusec_status fc_plans_make(fusec_context *c, const fc_key *key, const fc_graph *g, uint32_t nsizes,
                           const fc_dim_value *sizes, fc_planned **out, fc_error *e) {
    fc_plans *t = &c->plans;
    fc_planned *made = NULL, *gone;
    FC_TRY(plan(c, key, g, nsizes, sizes, &made, e));
    pthread_mutex_lock(&t->lock);
    t->made++;
    fc_planned *p = find(t, key);
    if (p) {
        gone = made;
    } else {
        p = made;
        p->used = ++t->clock;
        gone = insert(t, p);
    }
    pthread_mutex_unlock(&t->lock);
    destroy(c, gone);
    *out = p;
    return FUSEC_OK;
}

void fc_plans_release(fusec_context *c, fc_planned *p) {
    if (!p) return;
    const bool cached = p->cached; /* the table's: once no one uses it, it may go at any time */
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1 && !cached) destroy(c, p);
}

void fc_plans_free(fusec_context *c) {
    for (uint32_t i = 0; i < c->plans.len; i++) destroy(c, c->plans.at[i]);
    c->plans.len = 0;
}
