/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_cache.c - see kernel_cache.h.
 *
 * The key is a hash of the generated text and of everything else the binary depends on
 * (fc_device_ops.salt), so it can't be stale. One lock is held while a kernel is made: every kernel
 * is compiled once, and two threads that need different kernels wait for each other, which costs
 * nothing once caches are warm. */
#include "runtime/kernel_tiers.h"
#include "runtime/sha256.h"
#include "ir/plant.h"
#include "ir/version.h"

enum {
    MAX_IDLE = 1024
}; /* loaded kernels that no program holds; the least recently used go first */

struct fc_kcache {
    pthread_mutex_t lock;
    fc_variant **slots; /* open addressing by the first bytes of the key */
    uint32_t nslots, used, idle;
    uint64_t clock;
};

static struct fc_kcache *cache_of(fc_context *c, fc_error *e) {
    pthread_mutex_lock(&c->lock);
    if (!c->kernels) {
        struct fc_kcache *k = fc_calloc(&c->config.alloc, 1, sizeof *k);
        if (k) pthread_mutex_init(&k->lock, NULL);
        c->kernels = k;
    }
    pthread_mutex_unlock(&c->lock);
    if (!c->kernels) fc_oom(e);
    return c->kernels;
}

static uint64_t slot_hash(const uint8_t key[32]) {
    uint64_t h;
    memcpy(&h, key, sizeof h);
    return h;
}

static fc_variant *find(const struct fc_kcache *k, const uint8_t key[32], const fc_device *d) {
    if (!k->nslots) return NULL;
    for (uint64_t h = slot_hash(key);; h++) {
        fc_variant *v = k->slots[h & (k->nslots - 1)];
        if (!v) return NULL;
        if (v->device == d && !memcmp(v->key, key, 32)) return v;
    }
}

static void put(fc_variant **slots, uint32_t n, fc_variant *v) {
    uint64_t h = slot_hash(v->key);
    while (slots[h & (n - 1)]) h++;
    slots[h & (n - 1)] = v;
}

static void destroy(fc_context *c, fc_variant *v) {
    fc_tier_forget(v->tier, v);
    v->device->ops->unload(v->device, v->code);
    fc_free(&c->config.alloc, v);
}

/* What full code is being compiled for stays until then. */
static bool can_go(const fc_variant *v) {
    return !v->refs && (!v->tier || fc_tier_done(v->tier));
}

/* A table of the right size without the half of the idle kernels that was used longest ago. */
static bool rebuild(fc_context *c, struct fc_kcache *k) {
    uint64_t horizon = 0;
    if (k->idle > MAX_IDLE) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < k->nslots; i++)
            if (k->slots[i] && !k->slots[i]->refs) sum += k->slots[i]->used;
        horizon = sum / k->idle;
    }
    uint32_t n = 64;
    while (n < 4 * (k->used + 1)) n *= 2;
    fc_variant **slots = fc_calloc(&c->config.alloc, n, sizeof *slots);
    if (!slots) return false;
    for (uint32_t i = 0; i < k->nslots; i++) {
        fc_variant *v = k->slots[i];
        if (!v) continue;
        if (can_go(v) && v->used < horizon) {
            destroy(c, v);
            k->used--;
            k->idle--;
        } else {
            put(slots, n, v);
        }
    }
    fc_free(&c->config.alloc, k->slots);
    k->slots = slots;
    k->nslots = n;
    return true;
}

/* Closes the gaps that removals left: each entry, in the order of the probes, moves to the first
 * free place. It allocates nothing, as it is wanted when memory is short. */
static void close_gaps(struct fc_kcache *k) {
    uint32_t start = 0;
    while (k->slots[start]) start++; /* the table is never full */
    for (uint32_t i = 1; i <= k->nslots; i++) {
        uint32_t at = (start + i) & (k->nslots - 1);
        fc_variant *v = k->slots[at];
        k->slots[at] = NULL;
        if (v) put(k->slots, k->nslots, v);
    }
}

uint32_t fc_kcache_drop_idle(fc_context *c, const fc_device *d) {
    struct fc_kcache *k = cache_of(c, NULL);
    uint32_t dropped = 0;
    if (!k) return 0;
    pthread_mutex_lock(&k->lock);
    for (uint32_t i = 0; i < k->nslots; i++) {
        fc_variant *v = k->slots[i];
        if (!v || v->refs || v->device != d) continue; /* waits for what is being compiled for it */
        destroy(c, v);
        k->slots[i] = NULL;
        dropped++;
    }
    k->used -= dropped;
    k->idle -= dropped;
    if (dropped) close_gaps(k);
    pthread_mutex_unlock(&k->lock);
    return dropped;
}

static bool insert(fc_context *c, struct fc_kcache *k, fc_variant *v) {
    if ((2 * (k->used + 1) > k->nslots || k->idle > MAX_IDLE) && !rebuild(c, k)) return false;
    put(k->slots, k->nslots, v);
    k->used++;
    return true;
}

static void make_key(const fc_device *d, const fc_str *text, const fc_str *salt, uint8_t key[32]) {
    static const char build_id[] = "fusec " FC_VERSION " format 2";
    fc_sha256 h;
    fc_sha256_init(&h);
    fc_sha256_add_part(&h, build_id, sizeof build_id);
    fc_sha256_add_part(&h, d->name, d->kind == FC_DEV_CUDA ? 4 : strlen(d->name));
    fc_sha256_add_part(&h, salt->data, salt->len);
    fc_sha256_add_part(&h, text->data, FC_PLANT(stale_code, text->len * 3 / 4, text->len));
    fc_sha256_end(&h, key);
}

/* ---- all together ---------------------------------------------------------------------------- */

static void take(struct fc_kcache *kc, fc_variant *v, fc_variant **out) {
    if (!v->refs++ && v->used) kc->idle--; /* a new one was never idle */
    v->used = ++kc->clock;
    *out = v;
}

typedef struct replacing {
    fc_context *c;
    struct fc_kcache *kc;
} replacing;

/* Without full code the quick one is good for all calls. What is interpreted is not: the next call
 * compiles it and says what is wrong, and nothing else is interpreted any more. */
static void replace(void *user, fc_variant *quick, fc_variant *full) {
    const replacing *r = user;
    struct fc_kcache *kc = r->kc;
    if (!full && !quick->interpreted) {
        atomic_store(&quick->quick, false);
        return;
    }
    uint64_t h = slot_hash(quick->key);
    while (kc->slots[h & (kc->nslots - 1)] != quick) h++;
    kc->slots[h & (kc->nslots - 1)] = full;
    if (full) {
        full->used = ++kc->clock;
        kc->idle++;
    } else {
        quick->device->interpreted_work = 0;
        kc->used--;
        close_gaps(kc);
    }
    quick->replaced = true;
    if (quick->refs) return;
    kc->idle--;
    destroy(r->c, quick);
}

/* The code by this key: the full one if it is there or has to be waited for. */
static fc_variant *find_best(const fc_making *x, struct fc_kcache *kc, const uint8_t key[32]) {
    fc_variant *v = find(kc, key, x->d);
    if (!v || !v->tier || (x->meanwhile != FC_MEANWHILE_WAIT && !fc_tier_done(v->tier))) return v;
    fc_tier_finish(v->tier, replace, &(replacing){x->c, kc});
    return find(kc, key, x->d);
}

bool fc_kcache_has_full(fc_context *c, const fc_variant *v) {
    pthread_mutex_lock(&c->kernels->lock);
    const bool has = !v->tier || fc_tier_done(v->tier);
    pthread_mutex_unlock(&c->kernels->lock);
    return has;
}

/* Takes what is there; makes the others, still without code, each once. */
static fusec_status look_up(fc_making *x, struct fc_kcache *kc, size_t *missing, fc_error *e) {
    const fc_alloc *a = &x->c->config.alloc;
    struct fc_kcache fresh = {.nslots = 64}; /* what is made here, by key */
    while (fresh.nslots < 2 * x->n) fresh.nslots *= 2;
    fresh.slots = fc_calloc(a, fresh.nslots, sizeof(fc_variant *));
    fusec_status s = fresh.slots ? FUSEC_OK : fc_oom(e);
    for (size_t i = 0; i < x->n && !s; i++) {
        fc_item *t = &x->items[i];
        if (find(&fresh, t->key, x->d)) continue; /* before `interpreted` of it could be replaced */
        fc_variant *v = find_best(x, kc, t->key);
        const bool takes_long = v && v->tier && v->interpreted && x->meanwhile != FC_MEANWHILE_ANY;
        if (v && !takes_long) {
            x->c->memory_hits++;
            take(kc, v, t->w->out);
            continue;
        }
        t->v = fc_calloc(a, 1, sizeof *t->v);
        if (!t->v) {
            s = fc_oom(e);
            break;
        }
        t->v->device = x->d;
        t->interpreted = v;
        memcpy(t->v->key, t->key, sizeof t->key);
        put(fresh.slots, fresh.nslots, t->v);
        ++*missing;
    }
    fc_free(a, fresh.slots);
    return s;
}

/* The item has quick code for what was interpreted, and takes its place. */
static void take_over(const fc_making *x, struct fc_kcache *kc, const fc_item *t) {
    fc_variant *old = t->interpreted;
    uint64_t h = slot_hash(old->key);
    while (kc->slots[h & (kc->nslots - 1)] != old) h++;
    kc->slots[h & (kc->nslots - 1)] = t->v;
    fc_tier_hand(old->tier, old, t->v);
    old->replaced = true;
    if (old->refs) return;
    kc->idle--;
    destroy(x->c, old);
}

static void take_all_over(const fc_making *x, struct fc_kcache *kc) {
    for (size_t i = 0; i < x->n; i++) {
        fc_item *t = &x->items[i];
        if (!t->v || !t->interpreted) continue;
        take_over(x, kc, t);
        take(kc, t->v, t->w->out);
        t->v = NULL;
    }
}

static fusec_status get_locked(fc_making *x, struct fc_kcache *kc, fc_error *e) {
    size_t missing = 0;
    fusec_status s = look_up(x, kc, &missing, e);
    if (!s && missing) s = fc_kernels_make(x, missing, e);
    if (!s) take_all_over(x, kc); /* first, as what is inserted may drive out what is idle */
    for (size_t i = 0; i < x->n; i++) {
        fc_item *t = &x->items[i];
        if (!t->v) continue;
        if (!s && !insert(x->c, kc, t->v)) s = fc_oom(e);
        if (s) {
            fc_tier_forget(t->v->tier, t->v);
            if (t->loaded) x->d->ops->unload(x->d, t->v->code);
            fc_free(&x->c->config.alloc, t->v);
        } else {
            take(kc, t->v, t->w->out);
        }
        t->v = NULL;
    }
    for (size_t i = 0; i < x->n && !s; i++) /* the same code twice in a plan */
        if (!*x->items[i].w->out) take(kc, find(kc, x->items[i].key, x->d), x->items[i].w->out);
    x->c->compiles += x->compiled;
    return s;
}

/* The text of every kernel, and its key. */
static fusec_status describe(fc_making *x, const fc_wanted *w, fc_error *e) {
    fc_str salt;
    fc_str_init(&salt, &x->c->config.alloc);
    for (size_t i = 0; i < x->n; i++) fc_str_init(&x->items[i].text, &x->c->config.alloc);
    x->d->ops->salt(x->d, x->mode, &salt);
    fusec_status s = salt.oom ? fc_oom(e) : FUSEC_OK;
    for (size_t i = 0; i < x->n && !s; i++) {
        fc_item *t = &x->items[i];
        t->w = &w[i];
        char name[FC_KERNEL_NAME];
        fc_item_name(&w[i], name);
        s = fc_item_text(x->d, &w[i], w[i].cls, name, &t->text, e);
        if (!s && t->text.oom) s = fc_oom(e);
        if (s) break;
        fc_log(x->c, 4, "%s", t->text.data);
        make_key(x->d, &t->text, &salt, t->key);
    }
    fc_str_free(&salt);
    return s;
}

fusec_status fc_kcache_get(fc_context *c, fc_device *d, uint32_t mode, const fc_wanted *w, size_t n,
                           fc_meanwhile meanwhile, uint64_t *compiles, fc_error *e) {
    fc_making x = {.c = c, .d = d, .mode = mode, .n = n, .meanwhile = meanwhile};
    struct fc_kcache *kc = cache_of(c, e);
    if (!kc) return FUSEC_OUT_OF_MEMORY;
    if (!n) return FUSEC_OK;
    x.items = fc_calloc(&c->config.alloc, n, sizeof *x.items);
    if (!x.items) return fc_oom(e);
    fusec_status s = describe(&x, w, e);
    if (!s) {
        pthread_mutex_lock(&kc->lock);
        s = get_locked(&x, kc, e);
        pthread_mutex_unlock(&kc->lock);
        *compiles += x.compiled;
    }
    for (size_t i = 0; i < n; i++) fc_str_free(&x.items[i].text);
    fc_free(&c->config.alloc, x.items);
    return s;
}

void fc_kcache_release(fc_context *c, fc_variant *v) {
    if (!v) return;
    pthread_mutex_lock(&c->kernels->lock);
    if (--v->refs == 0) {
        if (v->replaced)
            destroy(c, v);
        else
            c->kernels->idle++;
    }
    pthread_mutex_unlock(&c->kernels->lock);
}

void fc_kcache_free(fc_context *c) {
    struct fc_kcache *k = c->kernels;
    if (!k) return;
    for (uint32_t i = 0; i < k->nslots; i++)
        if (k->slots[i]) destroy(c, k->slots[i]);
    fc_free(&c->config.alloc, k->slots);
    pthread_mutex_destroy(&k->lock);
    fc_free(&c->config.alloc, k);
    c->kernels = NULL;
}
