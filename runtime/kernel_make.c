/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_make.c - see kernel_make.h.
 *
 * Where the compiler takes long to start (fc_device.kernels_together) several kernels are one
 * program, and so one binary. On disk the binary has a key made of the keys of its kernels, and
 * each kernel has an entry that says where it is. */
#include "runtime/kernel_make.h"

#include <stddef.h>
#include <stdio.h>

#include "runtime/background.h"
#include "runtime/compile_jobs.h"
#include "runtime/kernel_tiers.h"
#include "runtime/sha256.h"

static const char group_mark[8] = "fusec@1";
typedef struct group_entry {
    char mark[8];
    uint8_t binary[32];
    uint32_t index;
} group_entry;

void fc_item_name(const fc_wanted *w, char name[FC_KERNEL_NAME]) {
    if (w->joined)
        fc_joined_name(w->joined, name);
    else if (w->kernel)
        fc_kernel_name(w->kernel, name);
    else
        snprintf(name, FC_KERNEL_NAME, "%.*s", FC_KERNEL_NAME - 1, w->label);
}

fusec_status fc_item_text(const fc_device *d, const fc_wanted *w, const fc_class *cls,
                          const char *name, fc_str *out, fc_error *e) {
    if (w->joined) return d->target->emit_joined(&d->machine, w->joined, name, out, e);
    if (w->kernel) return d->target->emit(&d->machine, w->kernel, cls, name, out, e);
    w->own(w->number, name, out);
    return FUSEC_OK;
}

static void entry_name(const fc_item *t, char name[FC_ENTRY_NAME]) {
    fc_item_name(t->w, name);
    const size_t n = strlen(name);
    if (t->grouped) snprintf(name + n, FC_ENTRY_NAME - n, "_%u", t->index);
}

typedef bool fc_same(const fc_item *a, const fc_item *b);

/* `binary` is loaded for item `first`; what else is in it (same) follows. */
static fusec_status load_group(fc_making *x, size_t first, const fc_bytes *binary, bool from_disk,
                               fc_same *same, fc_error *e) {
    const fc_device_ops *ops = x->d->ops;
    const size_t end = x->items[first].grouped ? x->n : first + 1;
    void *code = NULL;
    for (size_t i = first; i < end; i++) {
        fc_item *t = &x->items[i];
        if (!t->v || t->loaded || (i != first && !same(&x->items[first], t))) continue;
        char name[FC_ENTRY_NAME];
        entry_name(t, name);
        FC_TRY(code ? ops->load_more(x->d, code, name, &t->v->code, e)
                    : ops->load(x->d, t->w->kernel, t->w->cls, name, binary, &t->v->code, e));
        code = t->v->code;
        t->loaded = true;
        x->loaded++;
        t->v->from_disk = from_disk;
        if (ops->facts && t->effort == FC_FULL) ops->facts(x->d, code, &t->v->facts);
    }
    return FUSEC_OK;
}

/* ---- what is kept ------------------------------------------------------------------------------
 *
 * The compiler that made it, its length in front, then the code. It is no part of the key, so code
 * is found where there is no compiler; another compiler's counts as missing, and is replaced. */

static void maker_of(const fc_device *d, char out[FC_MAKER]) {
    fc_str s;
    fc_str_init(&s, d->alloc);
    if (d->ops->maker) d->ops->maker((fc_device *)(uintptr_t)d, &s);
    snprintf(out, FC_MAKER, "%s", s.data);
    fc_str_free(&s);
}

static bool is_group(const fc_bytes *b) {
    return b->len == sizeof(group_entry) && !memcmp(b->data, group_mark, sizeof group_mark);
}

/* Leaves the code alone. */
static bool unwrap(const char *maker, fc_bytes *b) {
    const size_t n = b->len ? b->data[0] : 0;
    if (n >= FC_MAKER || b->len < n + 1) return false;
    if (*maker && (strlen(maker) != n || memcmp(maker, b->data + 1, n) != 0)) return false;
    b->len -= n + 1;
    memmove(b->data, b->data + n + 1, b->len + 1);
    return true;
}

bool fc_code_keep(fc_diskcache *disk, const fc_device *d, const uint8_t key[32], const char *label,
                  const fc_bytes *binary) {
    char maker[FC_MAKER];
    maker_of(d, maker);
    const size_t n = strlen(maker);
    uint8_t *data = disk ? fc_malloc(d->alloc, binary->len + n + 1) : NULL;
    if (!data) return false;
    data[0] = (uint8_t)n;
    memcpy(data + 1, maker, n);
    if (binary->len) memcpy(data + 1 + n, binary->data, binary->len);
    const bool kept =
        fc_diskcache_put(disk, key, (uint32_t)d->kind, label, data, binary->len + n + 1);
    fc_free(d->alloc, data);
    return kept;
}

static bool find_by(fc_context *c, uint32_t kind, const char *maker, fc_diskcache *disk,
                    const uint8_t key[32], fc_bytes *out) {
    if (fc_context_packed(c, key, kind, out)) {
        if (is_group(out) || unwrap("", out)) return true;
        fc_bytes_free(&c->config.alloc, out);
    }
    if (!disk || !fc_diskcache_get(disk, key, kind, out)) return false;
    if (is_group(out) || unwrap(maker, out)) return true;
    fc_bytes_free(&c->config.alloc, out);
    return false;
}

/* From the packs, whoever made it, or from disk. */
static bool find_kept(const fc_making *x, fc_diskcache *disk, const uint8_t key[32],
                      fc_bytes *out) {
    return find_by(x->c, (uint32_t)x->d->kind, x->maker, disk, key, out);
}

bool fc_code_find(fc_context *c, const fc_device *d, fc_diskcache *disk, const uint8_t key[32],
                  fc_bytes *out) {
    char maker[FC_MAKER];
    maker_of(d, maker);
    return find_by(c, (uint32_t)d->kind, maker, disk, key, out);
}

/* ---- from disk ------------------------------------------------------------------------------- */

static bool same_binary(const fc_item *a, const fc_item *b) {
    return b->grouped && !memcmp(a->binary, b->binary, sizeof a->binary);
}

/* The item is kernel g->index of a binary that has an entry of its own. */
static void note_group(fc_item *t, const group_entry *g) {
    memcpy(t->binary, g->binary, sizeof t->binary);
    t->index = g->index;
    t->grouped = true;
}

/* Finds the others of the plan that are in the same binary as item `first`. */
static void note_others(fc_making *x, fc_diskcache *disk, size_t first, const group_entry *like) {
    for (size_t k = first + 1; k < x->n; k++) {
        fc_item *o = &x->items[k];
        fc_bytes b = {0};
        group_entry g;
        if (!o->v || o->loaded || !find_kept(x, disk, o->key, &b)) continue;
        if (is_group(&b) && !memcmp(b.data, like, offsetof(group_entry, index))) {
            memcpy(&g, b.data, sizeof g);
            note_group(o, &g);
        }
        fc_bytes_free(&x->c->config.alloc, &b);
    }
}

/* From the binary that entry `g` of item i names; the others of the plan that are in it, too. What
 * does not load is compiled under its own name. */
static void load_from_group(fc_making *x, fc_diskcache *disk, size_t i, const group_entry *g) {
    fc_bytes b = {0};
    note_group(&x->items[i], g);
    note_others(x, disk, i, g);
    if (find_kept(x, disk, x->items[i].binary, &b))
        (void)load_group(x, i, &b, true, same_binary, NULL);
    fc_bytes_free(&x->c->config.alloc, &b);
    for (size_t k = i; k < x->n; k++)
        if (!x->items[k].loaded) x->items[k].grouped = false;
}

/* A damaged or foreign entry that does not load is a miss. */
static void try_disk(fc_making *x, fc_diskcache *disk, size_t i) {
    const fc_item *t = &x->items[i];
    fc_bytes b = {0};
    group_entry g;
    if (!t->v || t->loaded || !find_kept(x, disk, t->key, &b)) return;
    const size_t before = x->loaded;
    if (x->d->kernels_together && is_group(&b)) {
        memcpy(&g, b.data, sizeof g);
        load_from_group(x, disk, i, &g);
    } else {
        (void)load_group(x, i, &b, true, NULL, NULL);
    }
    fc_bytes_free(&x->c->config.alloc, &b);
    const size_t more = x->loaded - before;
    x->c->disk_hits += more;
    if (more) fc_log(x->c, 1, "%zu kernel%s from the disk cache", more, more == 1 ? "" : "s");
}

/* ---- from the compiler ----------------------------------------------------------------------- */

static bool same_job(const fc_item *a, const fc_item *b) {
    return a->job == b->job;
}

/* Of CUDA C a program takes some 20 ms and each KiB of text 4 more. So there is one for every four
 * kernels, or fewer that are longer, as long as there are threads for them. */
enum { KERNELS_A_PROGRAM = 4, BYTES_A_PROGRAM = 16 << 10 };

static bool is_missing(const fc_item *t) {
    return t->v && !t->loaded;
}

static size_t bytes_missing(const fc_making *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++)
        if (is_missing(&x->items[i])) n += x->items[i].text.len;
    return n;
}

static size_t count_jobs(const fc_making *x, size_t missing) {
    if (!x->d->kernels_together) return missing;
    const size_t threads = (size_t)fc_compile_threads();
    size_t jobs = (missing + KERNELS_A_PROGRAM - 1) / KERNELS_A_PROGRAM;
    const size_t by_bytes = bytes_missing(x) / BYTES_A_PROGRAM;
    if (jobs < by_bytes) jobs = by_bytes < missing ? by_bytes : missing;
    return jobs < threads ? jobs : threads;
}

/* The class of a kernel's code; true: with little effort it is another one than the launch has. */
static bool class_of(const fc_making *x, const fc_item *t, fc_effort effort, fc_class *cls) {
    const fc_target *target = x->d->target;
    if (!t->w->kernel) return false;
    *cls = *t->w->cls;
    return effort == FC_QUICK && target->quicker && !t->w->joined &&
           target->quicker(&x->d->machine, t->w->kernel, t->w->launch, cls);
}

/* The kernels of job `j` as one text, each in a name space of its own if there are several. */
static fusec_status write_text(const fc_making *x, size_t j, fc_effort effort, fc_str *out,
                               fc_error *e) {
    for (size_t i = 0; i < x->n; i++) {
        const fc_item *t = &x->items[i];
        char name[FC_ENTRY_NAME];
        fc_class cls;
        if (!t->v || t->loaded || t->job != j) continue;
        (void)class_of(x, t, effort, &cls);
        entry_name(t, name);
        if (t->grouped) fc_str_printf(out, "namespace %s_space {\n", name);
        FC_TRY(fc_item_text(x->d, t->w, &cls, name, out, e));
        if (t->grouped) fc_str_add(out, "}\n");
    }
    return out->oom ? fc_oom(e) : FUSEC_OK;
}

/* What is compiled for job `j` with little effort, where it is not the text itself; else NULL. */
static const char *quick_text(const fc_making *x, size_t j, fc_str *out) {
    fc_class cls;
    bool other = false;
    for (size_t i = 0; i < x->n; i++)
        other |= x->items[i].job == j && class_of(x, &x->items[i], FC_QUICK, &cls);
    return other && !write_text(x, j, FC_QUICK, out, NULL) ? out->data : NULL;
}

fc_part *fc_parts_of(const fc_making *x, size_t job, size_t *n) {
    *n = 0;
    for (size_t i = 0; i < x->n; i++) *n += x->items[i].v && x->items[i].job == job;
    fc_part *p = fc_calloc(&x->c->config.alloc, *n + 1, sizeof *p);
    for (size_t i = 0, k = 0; p && i < x->n; i++) {
        const fc_item *t = &x->items[i];
        if (!t->v || t->job != job) continue;
        memcpy(p[k].key, t->key, sizeof t->key);
        memcpy(p[k].label, t->w->label, sizeof t->w->label);
        entry_name(t, p[k].name);
        p[k].v = t->v;
        p[k++].index = t->index;
    }
    return p;
}

void fc_parts_store(fc_context *c, const fc_device *d, const fc_part *parts, size_t n,
                    const fc_bytes *binary) {
    fc_diskcache *disk = fc_context_disk(c);
    const uint32_t kind = (uint32_t)d->kind;
    fc_sha256 h;
    group_entry g;
    char shown[2 * FC_CACHE_LABEL];
    if (n == 1) {
        fc_code_keep(disk, d, parts->key, parts->label, binary);
        return;
    }
    memset(&g, 0, sizeof g);
    memcpy(g.mark, group_mark, sizeof g.mark);
    fc_sha256_init(&h);
    for (size_t i = 0; i < n; i++) fc_sha256_add_part(&h, parts[i].key, sizeof parts[i].key);
    fc_sha256_end(&h, g.binary);
    snprintf(shown, sizeof shown, "code of %zu kernels: %s, ...", n, parts->label);
    if (!fc_code_keep(disk, d, g.binary, shown, binary)) return;
    for (size_t i = 0; i < n; i++) {
        g.index = parts[i].index;
        fc_diskcache_put(disk, parts[i].key, kind, parts[i].label, (const uint8_t *)&g, sizeof g);
    }
}

static void store_job(fc_making *x, size_t job, const fc_bytes *binary) {
    size_t n;
    fc_part *parts = fc_parts_of(x, job, &n);
    if (parts) fc_parts_store(x->c, x->d, parts, n, binary);
    fc_free(&x->c->config.alloc, parts);
}

/* Deals the missing kernels out to jobs in order, so that each has about the same text, and none is
 * without. */
static size_t deal(fc_making *x, size_t missing) {
    const size_t njobs = count_jobs(x, missing);
    const size_t share = x->d->kernels_together ? bytes_missing(x) / njobs : 0;
    uint32_t in_job[FC_COMPILE_THREADS] = {0};
    size_t job = 0, held = 0, left = missing;
    for (size_t i = 0; i < x->n; i++) {
        fc_item *t = &x->items[i];
        t->job = SIZE_MAX;
        if (!is_missing(t)) continue;
        const bool full = held + t->text.len / 2 > share, needed = left == njobs - 1 - job;
        if (held && job + 1 < njobs && (full || needed)) {
            job++;
            held = 0;
        }
        held += t->text.len;
        left--;
        t->job = job;
        if (x->d->kernels_together) t->index = in_job[job]++;
    }
    for (size_t i = 0; i < x->n; i++)
        x->items[i].grouped =
            x->items[i].job != SIZE_MAX && x->d->kernels_together && in_job[x->items[i].job] > 1;
    return njobs;
}

static fusec_status give_texts(fc_making *x, fc_compile_job *jobs, fc_str *texts, fc_error *e) {
    for (size_t i = 0; i < x->n; i++) {
        fc_item *t = &x->items[i];
        if (t->job == SIZE_MAX || jobs[t->job].text) continue;
        if (t->grouped) FC_TRY(write_text(x, t->job, FC_FULL, &texts[t->job], e));
        jobs[t->job].text = t->grouped ? texts[t->job].data : t->text.data;
    }
    return FUSEC_OK;
}

/* So little work is done by the interpreter until the full code is there, and nobody waits for a
 * compiler. What can't be begun is compiled as usual. */
static bool interpret_first(fc_making *x, fc_compile_job *jobs, size_t njobs, fc_tier_order tiers) {
    const bool both = tiers == FC_TIERS_AFTER || tiers == FC_TIERS_BESIDE;
    if (!both || !x->d->ops->interpret || x->meanwhile != FC_MEANWHILE_ANY) return false;
    if (x->d->interpreted_work <= 0) return false;
    for (size_t j = 0; j < njobs; j++) jobs[j].left_out = fc_tier_start(x, j, jobs[j].text);
    fc_background_guard_exit(x->d);
    return true;
}

/* Kernels that were interpreted so far: their full code is under way. */
static void mark_interpreted(const fc_making *x, fc_compile_job *jobs) {
    for (size_t i = 0; i < x->n; i++)
        if (x->items[i].job != SIZE_MAX && x->items[i].interpreted)
            jobs[x->items[i].job].has_full = true;
}

/* Where the full code can't be begun, the quick one is left out (beside) or stays (after). Quick
 * texts are there before that, for compilers may take one after the other. */
static void compile_jobs(fc_making *x, fc_compile_job *jobs, fc_str *quick_texts, size_t njobs) {
    fc_tier_order tiers = fc_tiers_for(x, njobs);
    if (interpret_first(x, jobs, njobs, tiers)) tiers = FC_ONE_TIER; /* of what is left */
    mark_interpreted(x, jobs);
    for (size_t j = 0; j < njobs; j++) {
        if (tiers == FC_ONE_TIER && !jobs[j].has_full) continue;
        jobs[j].quick = quick_text(x, j, &quick_texts[j]);
        if (jobs[j].quick) fc_log(x->c, 4, "%s", jobs[j].quick);
    }
    for (size_t j = 0; j < njobs; j++) {
        const bool begun = !jobs[j].has_full && tiers == FC_TIERS_BESIDE;
        const bool quick =
            begun ? fc_tier_start(x, j, jobs[j].text) : jobs[j].has_full || tiers != FC_ONE_TIER;
        jobs[j].effort = quick ? FC_QUICK : FC_FULL;
    }
    fc_compile_jobs(x->d, x->mode, jobs, njobs);
    for (size_t j = 0; j < njobs && tiers == FC_TIERS_AFTER; j++)
        if (!jobs[j].error.code && !jobs[j].has_full) (void)fc_tier_start(x, j, jobs[j].text);
    if (tiers != FC_ONE_TIER) fc_background_guard_exit(x->d);
    for (size_t i = 0; i < x->n; i++)
        if (x->items[i].job != SIZE_MAX) x->items[i].effort = jobs[x->items[i].job].effort;
}

static fusec_status interpret_meanwhile(fc_making *x, fc_item *t, fc_error *e) {
    FC_TRY(x->d->ops->interpret(x->d, t->w->kernel, &t->v->code, e));
    t->v->interpreted = true;
    t->effort = FC_QUICK;
    t->loaded = true;
    x->loaded++;
    x->compiled++;
    fc_log(x->c, 1, "1 kernel interpreted until it is compiled");
    return FUSEC_OK;
}

static fusec_status take_code(fc_making *x, const fc_compile_job *jobs, fc_error *e) {
    for (size_t i = 0; i < x->n; i++) {
        fc_item *t = &x->items[i];
        if (t->job == SIZE_MAX || t->loaded) continue;
        const fc_compile_job *j = &jobs[t->job];
        const size_t before = x->loaded;
        if (j->error.code) return fc_fail(e, j->error.code, "%s", j->error.message);
        if (j->left_out) {
            FC_TRY(interpret_meanwhile(x, t, e));
            continue;
        }
        FC_TRY(load_group(x, i, &j->binary, false, same_job, e));
        const size_t more = x->loaded - before;
        x->compiled += more;
        if (j->effort == FC_FULL) store_job(x, t->job, &j->binary);
        fc_log(x->c, 1, "%zu kernel%s compiled%s: %zu bytes of text, %zu of code", more,
               more == 1 ? "" : "s", j->effort == FC_QUICK ? " quickly" : "",
               strlen(fc_compile_text(j)), j->binary.len);
    }
    return FUSEC_OK;
}

static fusec_status compile_missing(fc_making *x, size_t missing, fc_error *e) {
    const fc_alloc *a = &x->c->config.alloc;
    size_t njobs = deal(x, missing);
    fc_compile_job *jobs = fc_calloc(a, njobs, sizeof *jobs);
    fc_str *texts = fc_calloc(a, 2 * njobs, sizeof *texts); /* and those for little effort */
    fusec_status s = jobs && texts ? FUSEC_OK : fc_oom(e);
    for (size_t j = 0; !s && j < 2 * njobs; j++) fc_str_init(&texts[j], a);
    if (!s) s = give_texts(x, jobs, texts, e);
    if (!s) {
        compile_jobs(x, jobs, texts + njobs, njobs);
        s = take_code(x, jobs, e);
    }
    for (size_t j = 0; jobs && texts && j < njobs; j++) {
        fc_bytes_free(x->d->alloc, &jobs[j].binary);
        fc_str_free(&texts[j]);
        fc_str_free(&texts[njobs + j]);
    }
    fc_free(a, jobs);
    fc_free(a, texts);
    return s;
}

/* The interpreter has no text to compile and nothing to keep. */
static fusec_status interpret(fc_making *x, fc_error *e) {
    fc_bytes none = {0};
    for (size_t i = 0; i < x->n; i++) {
        fc_item *t = &x->items[i];
        if (!t->v) continue;
        FC_TRY(x->d->ops->load(x->d, t->w->kernel, t->w->cls, FC_ENTRY, &none, &t->v->code, e));
        t->loaded = true;
        x->loaded++;
        x->compiled++;
    }
    return FUSEC_OK;
}

/* FUSEC_COMPILE=never: the first that is missing. */
static fusec_status not_there(const fc_making *x, fc_error *e) {
    const fc_item *t = x->items;
    while (!t->v || t->loaded) t++;
    return fc_fail(e, FUSEC_NO_CODE,
                   "there is no code for the kernel \"%s\" in the packs and the cache, and none "
                   "may be compiled",
                   t->w->label);
}

/* What is not in the packs. Where everything is, nobody asks for a folder or a compiler. */
static void try_cache(fc_making *x) {
    fc_diskcache *disk = x->c->config.tiers == FC_TIERS_QUICK ? NULL : fc_context_disk(x->c);
    maker_of(x->d, x->maker);
    for (size_t i = 0; i < x->n && disk; i++) try_disk(x, disk, i);
}

fusec_status fc_kernels_make(fc_making *x, size_t missing, fc_error *e) {
    if (x->d->kind == FC_DEV_INTERP) return interpret(x, e);
    for (size_t i = 0; i < x->n && x->c->npacks; i++) try_disk(x, NULL, i);
    if (x->loaded < missing) try_cache(x);
    missing -= x->loaded;
    if (!missing) return FUSEC_OK;
    return x->c->config.never_compile ? not_there(x, e) : compile_missing(x, missing, e);
}
