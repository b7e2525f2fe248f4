/* kernel_cache.c - see kernel_cache.h.
 *
 * The key is a hash of the generated text and of everything else the binary depends on
 * (fc_device_ops.salt), so it can't be stale. One lock is held while a kernel is made: every kernel
 * is compiled once, and two threads that need different kernels wait for each other, which costs
 * nothing once caches are warm. */
#include "runtime/kernel_cache.h"

#include "runtime/sha256.h"
#include "ir/plant.h"

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
    v->device->ops->unload(v->device, v->code);
    fc_free(&c->config.alloc, v);
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
        if (!v->refs && v->used < horizon) {
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

static bool insert(fc_context *c, struct fc_kcache *k, fc_variant *v) {
    if ((2 * (k->used + 1) > k->nslots || k->idle > MAX_IDLE) && !rebuild(c, k)) return false;
    put(k->slots, k->nslots, v);
    k->used++;
    return true;
}

static void make_key(fc_device *d, uint32_t mode, const fc_str *text, const fc_str *salt,
                     uint8_t key[32]) {
    static const char build_id[] = "fusec 0.1.0 format 1";
    fc_sha256 h;
    (void)mode;
    fc_sha256_init(&h);
    fc_sha256_add_part(&h, build_id, sizeof build_id);
    fc_sha256_add_part(&h, d->name, d->kind == FC_DEV_CUDA ? 4 : strlen(d->name));
    fc_sha256_add_part(&h, salt->data, salt->len);
    fc_sha256_add_part(&h, text->data, FC_PLANT(stale_code, text->len * 3 / 4, text->len));
    fc_sha256_end(&h, key);
}

/* From disk, else from the compiler. A damaged or foreign entry that does not load is a miss. */
static fusec_status make(fc_context *c, uint32_t mode, const fc_kernel *k, const fc_class *cls,
                         const char *text, const char *label, fc_variant *v, fc_error *e) {
    fc_device *d = v->device;
    fc_bytes binary = {0};
    if (d->kind == FC_DEV_INTERP) {
        FC_TRY(d->ops->load(d, k, cls, FC_ENTRY, &binary, &v->code, e));
        c->compiles++;
        return FUSEC_OK;
    }
    fc_diskcache *disk = fc_context_disk(c);
    if (fc_diskcache_get(disk, v->key, (uint32_t)d->kind, &binary)) {
        v->from_disk = d->ops->load(d, k, cls, FC_ENTRY, &binary, &v->code, NULL) == FUSEC_OK;
        fc_bytes_free(&c->config.alloc, &binary);
        if (v->from_disk) {
            c->disk_hits++;
            fc_log(c, 1, "kernel from the disk cache");
            return FUSEC_OK;
        }
    }
    FC_TRY(d->ops->compile(d, mode, text, &binary, e));
    c->compiles++;
    fusec_status s = d->ops->load(d, k, cls, FC_ENTRY, &binary, &v->code, e);
    if (!s) fc_diskcache_put(disk, v->key, (uint32_t)d->kind, label, binary.data, binary.len);
    fc_log(c, 1, "kernel compiled: %zu bytes of text, %zu of code", strlen(text), binary.len);
    fc_bytes_free(d->alloc, &binary);
    return s;
}

static fusec_status get_locked(fc_context *c, struct fc_kcache *kc, fc_device *d, uint32_t mode,
                               const fc_kernel *k, const fc_class *cls, const fc_str *text,
                               const char *label, const uint8_t key[32], fc_variant **out,
                               fc_error *e) {
    fc_variant *v = find(kc, key, d);
    if (v) {
        c->memory_hits++;
        if (!v->refs) kc->idle--;
    } else {
        v = fc_calloc(&c->config.alloc, 1, sizeof *v);
        if (!v) return fc_oom(e);
        v->device = d;
        memcpy(v->key, key, 32);
        fusec_status s = make(c, mode, k, cls, text->data, label, v, e);
        if (!s && !insert(c, kc, v)) {
            d->ops->unload(d, v->code);
            s = fc_oom(e);
        }
        if (s) {
            fc_free(&c->config.alloc, v);
            return s;
        }
    }
    v->refs++;
    v->used = ++kc->clock;
    *out = v;
    return FUSEC_OK;
}

fusec_status fc_kcache_get(fc_context *c, fc_device *d, uint32_t mode, const fc_kernel *k,
                           const fc_class *cls, const char *label, fc_variant **out,
                           uint64_t *compiles, fc_error *e) {
    struct fc_kcache *kc = cache_of(c, e);
    if (!kc) return FUSEC_OUT_OF_MEMORY;
    fc_str text, salt;
    uint8_t key[32];
    fc_str_init(&text, &c->config.alloc);
    fc_str_init(&salt, &c->config.alloc);
    fusec_status s = d->target->emit(&d->machine, k, cls, FC_ENTRY, &text, e);
    if (!s) {
        d->ops->salt(d, mode, &salt);
        if (text.oom || salt.oom) s = fc_oom(e);
    }
    if (!s) {
        fc_log(c, 4, "%s", text.data);
        make_key(d, mode, &text, &salt, key);
        pthread_mutex_lock(&kc->lock);
        const uint64_t before = c->compiles;
        s = get_locked(c, kc, d, mode, k, cls, &text, label, key, out, e);
        *compiles += c->compiles - before;
        pthread_mutex_unlock(&kc->lock);
    }
    fc_str_free(&text);
    fc_str_free(&salt);
    return s;
}

void fc_kcache_release(fc_context *c, fc_variant *v) {
    if (!v) return;
    pthread_mutex_lock(&c->kernels->lock);
    if (--v->refs == 0) c->kernels->idle++;
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
