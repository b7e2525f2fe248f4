/* kernel_cache.c - see kernel_cache.h.
 *
 * The key is a hash of the generated text and of everything else the binary depends on
 * (fc_device_ops.salt), so it can't be stale. One lock is held while a kernel is made: every kernel
 * is compiled once, and two threads that need different kernels wait for each other, which costs
 * nothing once caches are warm. */
#include "runtime/kernel_cache.h"

#include <stddef.h>
#include <stdio.h>

#include "runtime/compile_jobs.h"
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
    struct fc_kcache *k = c->kernels;
    uint32_t dropped = 0;
    if (!k) return 0;
    pthread_mutex_lock(&k->lock);
    for (uint32_t i = 0; i < k->nslots; i++) {
        fc_variant *v = k->slots[i];
        if (!v || v->refs || v->device != d) continue;
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

/* ---- kernels of one binary ---------------------------------------------------------------------
 *
 * Where the compiler takes long to start (fc_device.kernels_together) several kernels are one
 * program, and so one binary. On disk the binary has a key made of the keys of its kernels, and
 * each kernel has an entry that says where it is. */

static const char group_mark[8] = "fusec@1";
typedef struct group_entry {
    char mark[8];
    uint8_t binary[32];
    uint32_t index;
} group_entry;

static void entry_name(char name[32], bool grouped, uint32_t index) {
    if (grouped)
        snprintf(name, 32, FC_ENTRY "_%u", index);
    else
        memcpy(name, FC_ENTRY, sizeof FC_ENTRY);
}

/* One kernel on its way: where it comes from. */
typedef struct item {
    const fc_wanted *w;
    fc_str text;
    uint8_t key[32];
    fc_variant *v; /* new; NULL: found, or the same as an earlier item */
    bool grouped, loaded;
    uint8_t binary[32]; /* key of the binary it is in, when it is on disk */
    uint32_t index;     /* in that binary */
    size_t job;
} item;

typedef struct getter {
    fc_context *c;
    struct fc_kcache *kc;
    fc_device *d;
    uint32_t mode;
    item *items;
    size_t n;
    uint64_t compiled;
} getter;

/* `binary` is loaded for item `first`; what else is in it (same) follows. */
static fusec_status load_group(getter *x, size_t first, const fc_bytes *binary, bool from_disk,
                               bool (*same)(const item *a, const item *b), fc_error *e) {
    const fc_device_ops *ops = x->d->ops;
    void *code = NULL;
    for (size_t i = first; i < x->n; i++) {
        item *t = &x->items[i];
        if (!t->v || t->loaded || !same(&x->items[first], t)) continue;
        char name[32];
        entry_name(name, t->grouped, t->index);
        FC_TRY(code ? ops->load_more(x->d, code, name, &t->v->code, e)
                    : ops->load(x->d, t->w->kernel, t->w->cls, name, binary, &t->v->code, e));
        code = t->v->code;
        t->loaded = true;
        t->v->from_disk = from_disk;
        if (ops->facts) ops->facts(x->d, code, &t->v->facts);
    }
    return FUSEC_OK;
}

/* ---- from disk ------------------------------------------------------------------------------- */

static bool same_item(const item *a, const item *b) {
    return a == b;
}
static bool same_binary(const item *a, const item *b) {
    return b->grouped && !memcmp(a->binary, b->binary, sizeof a->binary);
}

static uint64_t loaded_count(const getter *x) {
    uint64_t n = 0;
    for (size_t i = 0; i < x->n; i++) n += x->items[i].loaded;
    return n;
}

/* A damaged or foreign entry that does not load is a miss. */
static void try_disk(getter *x, fc_diskcache *disk, size_t i) {
    item *t = &x->items[i];
    const uint32_t kind = (uint32_t)x->d->kind;
    fc_bytes b = {0};
    group_entry g;
    if (!t->v || t->loaded || !fc_diskcache_get(disk, t->key, kind, &b)) return;
    const uint64_t before = loaded_count(x);
    if (x->d->kernels_together && b.len == sizeof g &&
        !memcmp(b.data, group_mark, sizeof group_mark)) {
        memcpy(&g, b.data, sizeof g);
        fc_bytes_free(&x->c->config.alloc, &b);
        memcpy(t->binary, g.binary, sizeof t->binary);
        t->index = g.index;
        t->grouped = true;
        for (size_t k = i + 1; k < x->n; k++) { /* others of the plan are in the same one */
            item *o = &x->items[k];
            if (!o->v || o->loaded || !fc_diskcache_get(disk, o->key, kind, &b)) continue;
            if (b.len == sizeof g && !memcmp(b.data, &g, offsetof(group_entry, index))) {
                memcpy(&g, b.data, sizeof g);
                memcpy(o->binary, g.binary, sizeof o->binary);
                o->index = g.index;
                o->grouped = true;
            }
            fc_bytes_free(&x->c->config.alloc, &b);
        }
        if (fc_diskcache_get(disk, t->binary, kind, &b))
            (void)load_group(x, i, &b, true, same_binary, NULL);
    } else {
        (void)load_group(x, i, &b, true, same_item, NULL);
    }
    fc_bytes_free(&x->c->config.alloc, &b);
    x->c->disk_hits += loaded_count(x) - before;
    if (loaded_count(x) > before)
        fc_log(x->c, 1, "%llu kernel%s from the disk cache",
               (unsigned long long)(loaded_count(x) - before),
               loaded_count(x) - before == 1 ? "" : "s");
    for (size_t k = i; k < x->n; k++) /* what did not load is compiled under its own name */
        if (!x->items[k].loaded) x->items[k].grouped = false;
}

/* ---- from the compiler ----------------------------------------------------------------------- */

static bool same_job(const item *a, const item *b) {
    return a->job == b->job;
}

/* A program for every four kernels as long as there are threads for them: one more kernel in a
 * program costs less than a third of a program. */
enum { KERNELS_A_PROGRAM = 4 };

static size_t count_jobs(const getter *x, size_t missing) {
    if (!x->d->kernels_together) return missing;
    size_t jobs = (missing + KERNELS_A_PROGRAM - 1) / KERNELS_A_PROGRAM,
           threads = (size_t)fc_compile_threads();
    return jobs < threads ? jobs : threads;
}

/* The kernels of job `j` as one text, each in a name space of its own. */
static fusec_status join_texts(getter *x, size_t j, fc_str *out, fc_error *e) {
    for (size_t i = 0; i < x->n; i++) {
        const item *t = &x->items[i];
        char name[32];
        if (!t->v || t->loaded || t->job != j) continue;
        entry_name(name, true, t->index);
        fc_str_printf(out, "namespace %s_space {\n", name);
        FC_TRY(x->d->target->emit(&x->d->machine, t->w->kernel, t->w->cls, name, out, e));
        fc_str_add(out, "}\n");
    }
    return out->oom ? fc_oom(e) : FUSEC_OK;
}

static void store_job(getter *x, size_t j, const fc_bytes *binary) {
    fc_diskcache *disk = fc_context_disk(x->c);
    const uint32_t kind = (uint32_t)x->d->kind;
    fc_sha256 h;
    group_entry g;
    bool grouped = false;
    char label[FC_CACHE_LABEL] = "", shown[2 * FC_CACHE_LABEL];
    unsigned count = 0;
    memset(&g, 0, sizeof g);
    memcpy(g.mark, group_mark, sizeof g.mark);
    fc_sha256_init(&h);
    for (size_t i = 0; i < x->n; i++) {
        const item *t = &x->items[i];
        if (!t->v || t->job != j) continue;
        grouped = t->grouped;
        if (!label[0]) memcpy(label, t->w->label, sizeof label);
        if (!grouped) fc_diskcache_put(disk, t->key, kind, label, binary->data, binary->len);
        count++;
        fc_sha256_add_part(&h, t->key, sizeof t->key);
    }
    if (!grouped) return;
    fc_sha256_end(&h, g.binary);
    snprintf(shown, sizeof shown, "code of %u kernels: %s, ...", count, label);
    if (!fc_diskcache_put(disk, g.binary, kind, shown, binary->data, binary->len)) return;
    for (size_t i = 0; i < x->n; i++) {
        const item *t = &x->items[i];
        if (!t->v || t->job != j) continue;
        g.index = t->index;
        fc_diskcache_put(disk, t->key, kind, t->w->label, (const uint8_t *)&g, sizeof g);
    }
}

/* Deals the missing kernels out to jobs, as evenly as they go. */
static size_t deal(getter *x, size_t missing) {
    size_t njobs = count_jobs(x, missing), at = 0;
    uint32_t in_job[FC_COMPILE_THREADS] = {0};
    for (size_t i = 0; i < x->n; i++) {
        item *t = &x->items[i];
        t->job = SIZE_MAX;
        if (!t->v || t->loaded) continue;
        t->job = x->d->kernels_together ? at * njobs / missing : at;
        at++;
        if (x->d->kernels_together) t->index = in_job[t->job]++;
    }
    for (size_t i = 0; i < x->n; i++)
        x->items[i].grouped =
            x->items[i].job != SIZE_MAX && x->d->kernels_together && in_job[x->items[i].job] > 1;
    return njobs;
}

static fusec_status compile_jobs(getter *x, fc_compile_job *jobs, fc_str *texts, size_t njobs,
                                 fc_error *e) {
    for (size_t i = 0; i < x->n; i++) {
        item *t = &x->items[i];
        if (t->job == SIZE_MAX || jobs[t->job].text) continue;
        if (t->grouped) FC_TRY(join_texts(x, t->job, &texts[t->job], e));
        jobs[t->job].text = t->grouped ? texts[t->job].data : t->text.data;
    }
    fc_compile_jobs(x->d, x->mode, jobs, njobs);
    for (size_t j = 0; j < njobs; j++)
        if (jobs[j].error.code) return fc_fail(e, jobs[j].error.code, "%s", jobs[j].error.message);
    for (size_t i = 0; i < x->n; i++) {
        item *t = &x->items[i];
        if (t->job == SIZE_MAX || t->loaded) continue;
        const fc_compile_job *j = &jobs[t->job];
        const uint64_t before = loaded_count(x);
        FC_TRY(load_group(x, i, &j->binary, false, same_job, e));
        x->compiled += loaded_count(x) - before;
        store_job(x, t->job, &j->binary);
        fc_log(x->c, 1, "%llu kernel%s compiled: %zu bytes of text, %zu of code",
               (unsigned long long)(loaded_count(x) - before),
               loaded_count(x) - before == 1 ? "" : "s", strlen(j->text), j->binary.len);
    }
    return FUSEC_OK;
}

static fusec_status compile_missing(getter *x, size_t missing, fc_error *e) {
    const fc_alloc *a = &x->c->config.alloc;
    size_t njobs = deal(x, missing);
    fc_compile_job *jobs = fc_calloc(a, njobs, sizeof *jobs);
    fc_str *texts = fc_calloc(a, njobs, sizeof *texts);
    fusec_status s = jobs && texts ? FUSEC_OK : fc_oom(e);
    for (size_t j = 0; !s && j < njobs; j++) fc_str_init(&texts[j], a);
    if (!s) s = compile_jobs(x, jobs, texts, njobs, e);
    for (size_t j = 0; jobs && texts && j < njobs; j++) {
        fc_bytes_free(x->d->alloc, &jobs[j].binary);
        fc_str_free(&texts[j]);
    }
    fc_free(a, jobs);
    fc_free(a, texts);
    return s;
}

/* The interpreter has no text to compile and nothing to keep. */
static fusec_status interpret(getter *x, fc_error *e) {
    fc_bytes none = {0};
    for (size_t i = 0; i < x->n; i++) {
        item *t = &x->items[i];
        if (!t->v) continue;
        FC_TRY(x->d->ops->load(x->d, t->w->kernel, t->w->cls, FC_ENTRY, &none, &t->v->code, e));
        t->loaded = true;
        x->compiled++;
    }
    return FUSEC_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

static void take(struct fc_kcache *kc, fc_variant *v, fc_variant **out) {
    if (!v->refs++ && v->used) kc->idle--; /* a new one was never idle */
    v->used = ++kc->clock;
    *out = v;
}

/* Takes what is there; makes the others, still without code. */
static fusec_status look_up(getter *x, size_t *missing, fc_error *e) {
    for (size_t i = 0; i < x->n; i++) {
        item *t = &x->items[i];
        fc_variant *v = find(x->kc, t->key, x->d);
        if (v) {
            x->c->memory_hits++;
            take(x->kc, v, t->w->out);
            continue;
        }
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = x->items[k].v && !memcmp(x->items[k].key, t->key, sizeof t->key);
        if (again) continue;
        t->v = fc_calloc(&x->c->config.alloc, 1, sizeof *t->v);
        if (!t->v) return fc_oom(e);
        t->v->device = x->d;
        memcpy(t->v->key, t->key, sizeof t->key);
        ++*missing;
    }
    return FUSEC_OK;
}

static fusec_status make(getter *x, size_t missing, fc_error *e) {
    if (!missing) return FUSEC_OK;
    if (x->d->kind == FC_DEV_INTERP) return interpret(x, e);
    fc_diskcache *disk = fc_context_disk(x->c);
    for (size_t i = 0; i < x->n; i++) try_disk(x, disk, i);
    missing -= (size_t)loaded_count(x);
    return missing ? compile_missing(x, missing, e) : FUSEC_OK;
}

static fusec_status get_locked(getter *x, fc_error *e) {
    size_t missing = 0;
    fusec_status s = look_up(x, &missing, e);
    if (!s) s = make(x, missing, e);
    for (size_t i = 0; i < x->n; i++) {
        item *t = &x->items[i];
        if (!t->v) continue;
        if (!s && !insert(x->c, x->kc, t->v)) s = fc_oom(e);
        if (s) {
            if (t->loaded) x->d->ops->unload(x->d, t->v->code);
            fc_free(&x->c->config.alloc, t->v);
        } else {
            take(x->kc, t->v, t->w->out);
        }
        t->v = NULL;
    }
    for (size_t i = 0; i < x->n && !s; i++) /* the same code twice in a plan */
        if (!*x->items[i].w->out)
            take(x->kc, find(x->kc, x->items[i].key, x->d), x->items[i].w->out);
    x->c->compiles += x->compiled;
    return s;
}

/* The text of every kernel, and its key. */
static fusec_status describe(getter *x, const fc_wanted *w, fc_error *e) {
    fc_str salt;
    fc_str_init(&salt, &x->c->config.alloc);
    for (size_t i = 0; i < x->n; i++) fc_str_init(&x->items[i].text, &x->c->config.alloc);
    x->d->ops->salt(x->d, x->mode, &salt);
    fusec_status s = salt.oom ? fc_oom(e) : FUSEC_OK;
    for (size_t i = 0; i < x->n && !s; i++) {
        item *t = &x->items[i];
        t->w = &w[i];
        s = x->d->target->emit(&x->d->machine, w[i].kernel, w[i].cls, FC_ENTRY, &t->text, e);
        if (!s && t->text.oom) s = fc_oom(e);
        if (s) break;
        fc_log(x->c, 4, "%s", t->text.data);
        make_key(x->d, x->mode, &t->text, &salt, t->key);
    }
    fc_str_free(&salt);
    return s;
}

fusec_status fc_kcache_get(fc_context *c, fc_device *d, uint32_t mode, const fc_wanted *w, size_t n,
                           uint64_t *compiles, fc_error *e) {
    getter x = {.c = c, .d = d, .mode = mode, .n = n, .kc = cache_of(c, e)};
    if (!x.kc) return FUSEC_OUT_OF_MEMORY;
    if (!n) return FUSEC_OK;
    x.items = fc_calloc(&c->config.alloc, n, sizeof *x.items);
    if (!x.items) return fc_oom(e);
    fusec_status s = describe(&x, w, e);
    if (!s) {
        pthread_mutex_lock(&x.kc->lock);
        s = get_locked(&x, e);
        pthread_mutex_unlock(&x.kc->lock);
        *compiles += x.compiled;
    }
    for (size_t i = 0; i < n; i++) fc_str_free(&x.items[i].text);
    fc_free(&c->config.alloc, x.items);
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
