/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_tiers.c - see kernel_tiers.h. */
#include "runtime/kernel_tiers.h"

#include "runtime/cpuinfo.h"
#include "runtime/background.h"

struct fc_tier {
    fc_context *c;
    fc_device *d;
    fc_background *full;
    fc_part *parts; /* with the variants that have quick code; NULL: it is gone */
    size_t n;
};

/* ---- whether ----------------------------------------------------------------------------------*/

static bool is_long(const fc_making *x) {
    if (!x->d->target->long_to_compile) return true;
    for (size_t i = 0; i < x->n; i++)
        if (x->items[i].v && !x->items[i].loaded &&
            x->d->target->long_to_compile(x->items[i].w->kernel))
            return true;
    return false;
}

static size_t processors(const fc_context *c) {
    return (size_t)(c->config.processors ? c->config.processors : fc_usable_cpus());
}

/* In strict mode alone: what a licence allows is used by one optimisation and not by another. */
static bool are_allowed(const fc_making *x) {
    for (size_t i = 0; i < x->n; i++)
        if (!x->items[i].w->kernel) return false; /* of those nobody asks for better code */
    return x->meanwhile != FC_MEANWHILE_WAIT && x->c->config.tiers == FC_TIERS_BOTH &&
           !x->d->helper &&
           !(x->mode &
             ~(uint32_t)(FC_MODE_WIDE16 | FC_MODE_TF32 | FC_MODE_CLAMP | FC_MODE_UNCHECKED));
}

enum { MOST_UNDONE = 256 }; /* texts in memory that wait for full effort */

/* Two processors may be one core, and two compilations there take as long as one after the other.
 * On one processor calls would share it with what is compiled behind them. */
fc_tier_order fc_tiers_for(const fc_making *x, size_t njobs) {
    if (x->c->config.tiers == FC_TIERS_QUICK && !x->d->helper) return FC_QUICK_TIER;
    if (!are_allowed(x) || !is_long(x)) return FC_ONE_TIER;
    const size_t undone = (size_t)fc_background_running(), cpus = processors(x->c);
    if (cpus < 2 || undone + njobs > MOST_UNDONE) return FC_ONE_TIER;
    return 2 * (undone + 2 * njobs) > cpus ? FC_TIERS_AFTER : FC_TIERS_BESIDE;
}

/* ---- a tier -----------------------------------------------------------------------------------*/

static void destroy(fc_tier *t) {
    const fc_alloc *a = &t->c->config.alloc;
    fc_background_free(t->full);
    fc_free(a, t->parts);
    fc_free(a, t);
}

static void keep_on_disk(void *user, const fc_bytes *binary) {
    const fc_tier *t = user;
    fc_parts_store(t->c, t->d, t->parts, t->n, binary);
}

bool fc_tier_start(fc_making *x, size_t job, const char *text) {
    fc_tier *t = fc_calloc(&x->c->config.alloc, 1, sizeof *t);
    if (!t) return false;
    t->c = x->c;
    t->d = x->d;
    t->parts = fc_parts_of(x, job, &t->n);
    fc_background_then *then = fc_context_disk(x->c) ? keep_on_disk : NULL;
    if (t->parts) t->full = fc_background_start(x->d, x->mode, text, then, t);
    if (!t->full) {
        destroy(t);
        return false;
    }
    for (size_t i = 0; i < t->n; i++) {
        t->parts[i].v->tier = t;
        atomic_store(&t->parts[i].v->quick, true);
    }
    return true;
}

bool fc_tier_done(const fc_tier *t) {
    return fc_background_done(t->full);
}

/* ---- the full code ----------------------------------------------------------------------------*/

/* Part i, loaded; *code is of the same binary once it is set. */
static fc_variant *load(fc_tier *t, size_t i, const fc_bytes *binary, void **code) {
    const fc_device_ops *ops = t->d->ops;
    fc_variant *v = fc_calloc(&t->c->config.alloc, 1, sizeof *v);
    const char *const name = t->parts[i].name;
    if (!v) return NULL;
    if (*code ? ops->load_more(t->d, *code, name, &v->code, NULL)
              : ops->load(t->d, NULL, NULL, name, binary, &v->code, NULL)) {
        fc_free(&t->c->config.alloc, v);
        return NULL;
    }
    *code = v->code;
    v->device = t->d;
    memcpy(v->key, t->parts[i].key, sizeof v->key);
    if (ops->facts) ops->facts(t->d, v->code, &v->facts);
    return v;
}

void fc_tier_finish(fc_tier *t, fc_tier_put *put, void *user) {
    const fc_bytes *binary = fc_background_result(t->full);
    void *code = NULL;
    for (size_t i = 0; i < t->n; i++) {
        fc_variant *quick = t->parts[i].v;
        if (!quick) continue;
        fc_variant *full = binary ? load(t, i, binary, &code) : NULL;
        quick->tier = NULL;
        put(user, quick, full);
    }
    if (binary)
        fc_log(t->c, 1, "%zu kernel%s compiled with full effort: %zu bytes of code", t->n,
               t->n == 1 ? "" : "s", binary->len);
    destroy(t);
}

void fc_tier_hand(fc_tier *t, fc_variant *from, fc_variant *to) {
    for (size_t i = 0; i < t->n; i++)
        if (t->parts[i].v == from) t->parts[i].v = to;
    to->tier = t;
    atomic_store(&to->quick, true);
    from->tier = NULL;
}

void fc_tier_forget(fc_tier *t, const fc_variant *quick) {
    bool any = false;
    for (size_t i = 0; t && i < t->n; i++) {
        if (t->parts[i].v == quick) t->parts[i].v = NULL;
        any |= t->parts[i].v != NULL;
    }
    if (t && !any) destroy(t);
}
