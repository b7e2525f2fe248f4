/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* call_text.c - calls of CUDA kernels that the user gives as texts.
 *
 * In: a text, the name of its kernel, the arguments of a call, sizes for grid and block. Out: a
 * launch on the call's stream. A text is compiled once for a context and device, and kept in the
 * disk cache, from which packs are made; what comes of a name that is not there, of an empty grid or of a wrong text is the
 * user's error (FUSEC_CALL_FAILED). */
#include "runtime/call.h"
#include "runtime/kernel_make.h"
#include "runtime/sha256.h"

struct fc_call_code {
    fc_call_code *next;
    fc_device *d;
    void *code;
};

void fc_call_codes_free(const fc_alloc *a, fc_call_code *list) {
    while (list) {
        fc_call_code *x = list;
        list = x->next;
        x->d->ops->unload(x->d, x->code);
        fc_free(a, x);
    }
}

/* ---- code ------------------------------------------------------------------------------------ */

static fusec_status write_text(const fc_user_call *u, fc_str *out, fc_error *e) {
    fc_str_printf(out, FC_CUDA_USER "\n#line 1 \"%s\"\n%s\n", u->entry, u->text);
    return out->oom ? fc_oom(e) : FUSEC_OK;
}

static bool key_of(fc_device *d, const char *text, uint8_t key[FC_CACHE_KEY]) {
    fc_str facts;
    fc_sha256 h;
    fc_str_init(&facts, d->alloc);
    d->ops->salt(d, 0, &facts);
    fc_sha256_init(&h);
    fc_sha256_add_part(&h, "call", 4);
    fc_sha256_add_part(&h, facts.data, facts.len);
    fc_sha256_add_part(&h, text, strlen(text));
    fc_sha256_end(&h, key);
    const bool ok = !facts.oom;
    fc_str_free(&facts);
    return ok;
}

static fusec_status load(fc_device *d, const fc_user_call *u, const fc_bytes *binary, void **code,
                         fc_error *e) {
    fc_error why = {0};
    const fusec_status s = d->ops->load(d, NULL, NULL, u->entry, binary, code, &why);
    if (!s) return s;
    if (s != FUSEC_UNKNOWN_NAME) return fc_fail(e, s, "%s", why.message);
    return fc_fail(e, FUSEC_CALL_FAILED,
                   "the text of %.100s has no kernel `extern \"C\" __global__ void %s`: %s",
                   u->name, u->entry, why.message);
}

static bool from_kept(fc_context *c, fc_device *d, const fc_user_call *u, fc_diskcache *disk,
                      const uint8_t key[FC_CACHE_KEY], void **code) {
    fc_bytes binary = {0};
    if (!fc_code_find(c, d, disk, key, &binary)) return false;
    const bool loads = !load(d, u, &binary, code, NULL);
    if (loads) c->disk_hits++;
    fc_bytes_free(&c->config.alloc, &binary);
    return loads;
}

static fusec_status compile(fc_context *c, fc_device *d, const fc_user_call *u, const char *text,
                            void **code, fc_error *e) {
    fc_bytes binary = {0};
    uint8_t key[FC_CACHE_KEY];
    const bool keyed = key_of(d, text, key);
    fc_diskcache *disk = keyed ? fc_context_disk(c) : NULL;
    if (keyed && from_kept(c, d, u, disk, key, code)) return FUSEC_OK;
    if (c->config.never_compile)
        return fc_fail(e, FUSEC_NO_CODE,
                       "there is no code for %.100s in the packs and the cache, and none may be "
                       "compiled",
                       u->name);
    FC_TRY(d->ops->compile(d, 0, FC_FULL, text, &binary, e));
    c->compiles++;
    const fusec_status s = load(d, u, &binary, code, e);
    if (!s && disk) (void)fc_code_keep(disk, d, key, u->name, &binary);
    fc_bytes_free(d->alloc, &binary);
    return s;
}

static fusec_status make(fc_context *c, fc_device *d, const fc_user_call *u, void **code,
                         fc_error *e) {
    fc_str text;
    fc_str_init(&text, &c->config.alloc);
    fusec_status s = write_text(u, &text, e);
    if (!s) s = compile(c, d, u, text.data, code, e);
    fc_str_free(&text);
    return s;
}

/* Of any call with this text; under the context's lock. */
static void *find(const fc_context *c, const fc_user_call *u, const fc_device *d) {
    for (size_t i = 0; i < c->calls.len; i++) {
        const fc_user_call *o = c->calls.at[i];
        if (!o->code || strcmp(o->text, u->text) != 0 || strcmp(o->entry, u->entry) != 0) continue;
        for (const fc_call_code *x = o->code; x; x = x->next)
            if (x->d == d) return x->code;
    }
    return NULL;
}

fusec_status fc_call_code_get(fc_context *c, fc_device *d, fc_user_call *u, void **code,
                              fc_error *e) {
    pthread_mutex_lock(&c->lock);
    *code = find(c, u, d);
    pthread_mutex_unlock(&c->lock);
    if (*code) return FUSEC_OK;
    fc_call_code *x = fc_calloc(&c->config.alloc, 1, sizeof *x);
    if (!x) return fc_oom(e);
    x->d = d;
    const fusec_status s = make(c, d, u, &x->code, e);
    if (s) return fc_free(&c->config.alloc, x), s;
    pthread_mutex_lock(&c->lock);
    *code = find(c, u, d); /* another thread may have been quicker */
    if (!*code) {
        *code = x->code;
        x->next = u->code;
        u->code = x;
        x = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    fc_call_codes_free(&c->config.alloc, x);
    return FUSEC_OK;
}

/* ---- launches -------------------------------------------------------------------------------- */

static bool makes_nothing(const fusec_call_args *a) {
    for (int i = 0; i < a->noutputs; i++) {
        bool empty = !a->outputs[i].data; /* nobody reads it */
        for (int k = 0; k < a->outputs[i].rank; k++) empty |= a->outputs[i].shape[k] == 0;
        if (!empty) return false;
    }
    return true;
}

static uint32_t narrow(int64_t v) {
    return v < 0 || v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static void by_sizes(const fc_user_call *u, const int64_t *sizes, fusec_call_launch *l) {
    for (int i = 0; i < 3; i++) {
        const int64_t block = sizes[FC_CALL_BLOCK + i], n = sizes[FC_CALL_GRID + i];
        l->block[i] = narrow(block);
        l->grid[i] = narrow(u->by_threads && block > 0 ? n / block + (n % block != 0) : n);
    }
    l->shared_bytes = narrow(sizes[FC_CALL_SHARED]);
}

static fusec_status shape_of(const fc_user_call *u, const int64_t *sizes, const fusec_call_args *a,
                             fc_launch *out, fc_error *e) {
    fusec_call_launch l = {.size = sizeof l};
    by_sizes(u, sizes, &l);
    const int code = u->launch ? u->launch(u->user, a, &l) : 0;
    a->message[a->message_room - 1] = 0;
    if (code)
        return fc_fail(e, FUSEC_CALL_FAILED, "%.100s gave %d%s%s", u->name, code,
                       *a->message ? ": " : "", a->message);
    const uint64_t threads = (uint64_t)l.block[0] * l.block[1];
    if (!threads || !l.block[2] || threads > 1024 || threads * l.block[2] > 1024)
        return fc_fail(e, FUSEC_CALL_FAILED,
                       "%.100s has blocks of %u x %u x %u threads: 1 to 1024 are possible", u->name,
                       l.block[0], l.block[1], l.block[2]);
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++) {
        out->grid[i] = l.grid[i];
        out->block[i] = l.block[i];
    }
    out->shared_bytes = l.shared_bytes;
    return FUSEC_OK;
}

fusec_status fc_call_launch(const fc_step_call *c, const fc_user_call *u, void *code,
                            const int64_t *sizes, const fusec_call_args *a, fc_error *e) {
    fc_device *d = c->p->device;
    void *params[FC_CALL_MOST];
    fc_launch l;
    int n = 0;
    FC_TRY(shape_of(u, sizes, a, &l, e));
    if (!l.grid[0] || !l.grid[1] || !l.grid[2]) {
        if (makes_nothing(a)) return FUSEC_OK;
        return fc_fail(e, FUSEC_CALL_FAILED, "%.100s has a grid of %llu x %llu x %llu blocks",
                       u->name, (unsigned long long)l.grid[0], (unsigned long long)l.grid[1],
                       (unsigned long long)l.grid[2]);
    }
    /* arrays by their address, scalars by value */
    for (int i = 0; i < a->ninputs; i++)
        params[n++] = a->inputs[i].rank ? (void *)(uintptr_t)&a->inputs[i].data : a->inputs[i].data;
    for (int i = 0; i < a->noutputs; i++) params[n++] = (void *)(uintptr_t)&a->outputs[i].data;
    return d->ops->launch_args(d, c->stream, code, &l, params, e);
}
