/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* external.c - see external.h. */
#include "runtime/external.h"

#include <dlfcn.h>

#include "runtime/program.h"

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

static bool same(const fc_extern *a, const fc_extern *like) {
    const bool code = like->scalar ? a->scalar == like->scalar
                                   : !a->scalar && a->fn == like->fn && a->given == like->given;
    return code && a->nargs == like->nargs && a->result == like->result &&
           a->slots == like->slots && !memcmp(a->dtype, like->dtype, a->nargs) &&
           same_text(a->name, like->name) && same_text(a->cuda, like->cuda);
}

static void free_extern(const fc_alloc *a, fc_extern *x) {
    if (!x) return;
    fc_free(a, (char *)(uintptr_t)x->name);
    fc_free(a, (char *)(uintptr_t)x->cuda);
    fc_free(a, x);
}

static fc_extern *copy(const fc_alloc *a, const fc_extern *like) {
    fc_extern *x = fc_calloc(a, 1, sizeof *x);
    if (!x) return NULL;
    *x = *like;
    x->name = fc_strdup(a, like->name);
    x->cuda = like->cuda ? fc_strdup(a, like->cuda) : NULL;
    if (!x->name || !x->cuda != !like->cuda) return free_extern(a, x), NULL;
    x->user = x->scalar ? x : x->given;
    if (x->scalar) x->fn = fc_extern_by_element(x);
    return x;
}

fusec_status fc_extern_intern(fc_context *c, const fc_extern *like, const fc_extern **out,
                              fc_error *e) {
    const fc_alloc *a = &c->config.alloc;
    pthread_mutex_lock(&c->lock);
    size_t i = 0;
    while (i < c->externs.len && !same(c->externs.at[i], like)) i++;
    fc_extern *x = i < c->externs.len ? c->externs.at[i] : copy(a, like);
    const bool ok = x && (i < c->externs.len || fc_push(a, &c->externs, x));
    if (ok) x->number = (uint32_t)i;
    if (!ok) free_extern(a, x);
    pthread_mutex_unlock(&c->lock);
    *out = ok ? x : NULL;
    return ok ? FUSEC_OK : fc_oom(e);
}

const fc_extern *fc_extern_at(fc_context *c, int64_t number) {
    pthread_mutex_lock(&c->lock);
    const bool there = number >= 0 && (uint64_t)number < c->externs.len;
    const fc_extern *x = there ? c->externs.at[number] : NULL;
    pthread_mutex_unlock(&c->lock);
    return x;
}

fusec_status fc_extern_by_name(fc_context *c, const fc_extern *like, const fc_extern **out,
                               fc_error *e) {
    uint32_t n = 0;
    *out = NULL;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->externs.len; i++) {
        const fc_extern *x = c->externs.at[i];
        if (strcmp(x->name, like->name) || x->nargs != like->nargs || x->result != like->result ||
            memcmp(x->dtype, like->dtype, like->nargs))
            continue;
        *out = x;
        n++;
    }
    pthread_mutex_unlock(&c->lock);
    if (n < 2) return FUSEC_OK;
    *out = NULL;
    return fc_fail(e, FUSEC_CALL_FAILED, "the context has %u functions %.60s of these types", n,
                   like->name);
}

static void add_place(const void *p, fc_str *out) {
    Dl_info at;
    if (p && dladdr(p, &at) && at.dli_fname && at.dli_fbase) {
        const char *base = strrchr(at.dli_fname, '/');
        fc_str_printf(out, " %s+%zx", base ? base + 1 : at.dli_fname,
                      (size_t)((const char *)p - (const char *)at.dli_fbase));
    } else {
        fc_str_printf(out, " %zx", (size_t)(uintptr_t)p);
    }
}

void fc_extern_identity(const fc_extern *x, fc_str *out) {
    fc_str_printf(out, "%s %u", x->name, x->result);
    for (unsigned k = 0; k < x->nargs; k++) fc_str_printf(out, " %u", x->dtype[k]);
    add_place(x->scalar ? (const void *)(uintptr_t)x->scalar : (const void *)(uintptr_t)x->fn, out);
    add_place(x->given, out);
    fc_str_printf(out, "\n%s\n", x->cuda ? x->cuda : "");
}

void fc_externs_free(fc_context *c) {
    for (size_t i = 0; i < c->externs.len; i++) free_extern(&c->config.alloc, c->externs.at[i]);
    fc_vec_free(&c->config.alloc, &c->externs);
}

fusec_status fc_externs_check(const fc_program *p, fc_error *e) {
    const bool gpu = p->device->kind == FC_DEV_CUDA;
    for (size_t s = 0; s < p->plan->steps.len; s++) {
        const fc_kernel *k = &p->plan->steps.at[s]->kernel;
        for (size_t i = 0; i < k->externs.len; i++) {
            const fc_extern *x = k->externs.at[i].function;
            if (!(gpu ? x->cuda != NULL : x->fn != NULL))
                return fc_fail(e, FUSEC_CALL_FAILED, "%.100s has no function for %s", x->name,
                               gpu ? "CUDA, which takes it as a text of CUDA C (--extern FILE.cu, "
                                     "fusec_extern_desc.cuda)"
                                   : "the CPU");
        }
    }
    return FUSEC_OK;
}
