/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_nvrtc.c - see fuzz_nvrtc.h. */
#include "tests/support/fuzz_nvrtc.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/compile/nvrtc.h"

enum { BATCH = 24, TEXT = 400 << 10, SEEN = 1 << 20 };

static fc_context *ctx;
static fc_device *device;
static fc_nvrtc *nvrtc;
static fc_str batch;
static uint32_t waiting;
static uint64_t compiled;
static uint64_t seen[SEEN]; /* hashes of texts that were compiled, by their low bits */
static struct part {        /* of the batch */
    size_t at;
    uint64_t seed;
} parts[BATCH];
static uint64_t current, culprit; /* seeds */
static bool alone;

static void close_all(void) {
    fc_str_free(&batch);
    fc_nvrtc_close(nvrtc);
    fc_device_close(device);
    fc_context_free(ctx);
}

static bool open_all(void) {
    fc_config c;
    if (ctx) return nvrtc != NULL;
    fc_config_init(&c);
    c.cache_dir = "";
    fc_str_init(&batch, &fc_libc_alloc);
    if (fc_context_new(&c, &ctx, NULL)) return false;
    atexit(close_all);
    if (fc_device_open_cuda_offline(&fc_libc_alloc, 90, &device, NULL)) return false;
    return fc_nvrtc_open(&fc_libc_alloc, &nvrtc, NULL) == FUSEC_OK;
}

bool fuzz_nvrtc_there(void) {
    return open_all();
}

uint64_t fuzz_nvrtc_kernels(void) {
    return compiled;
}

void fuzz_nvrtc_seed(uint64_t seed, bool by_itself) {
    current = seed;
    alone = by_itself;
    if (!alone) return;
    waiting = 0;
    if (ctx) fc_str_clear(&batch);
}

uint64_t fuzz_nvrtc_culprit(void) {
    return culprit;
}

static fusec_status compile(const char *text, fc_error *e) {
    fc_bytes code = {0};
    fc_nvrtc_options o = {.arch = "sm_90", .kind = FC_NVRTC_CUBIN};
    fusec_status s = fc_nvrtc_compile(nvrtc, text, "batch.cu", &o, &code, e);
    fc_bytes_free(&fc_libc_alloc, &code);
    return s;
}

/* A batch has failed: which kernel of it? Each by itself, in order; e is about that one. */
static void find_culprit(fc_error *e) {
    fc_str one;
    fusec_status s = FUSEC_OK;
    culprit = current;
    for (uint32_t i = 0; i < waiting && !s; i++) {
        size_t end = i + 1 < waiting ? parts[i + 1].at : batch.len;
        fc_error why = {0};
        fc_str_init(&one, &fc_libc_alloc);
        fc_str_addn(&one, batch.data + parts[i].at, end - parts[i].at);
        s = compile(one.data, &why);
        if (s) culprit = parts[i].seed, *e = why;
        fc_str_free(&one);
    }
}

fuzz_verdict fuzz_nvrtc_flush(fc_str *why) {
    fc_error e = {0};
    if (!waiting) return FUZZ_GOOD;
    fusec_status s = compile(batch.data, &e);
    if (s) find_culprit(&e);
    compiled += waiting;
    waiting = 0;
    fc_str_clear(&batch);
    if (!s) return FUZZ_GOOD;
    fc_str_printf(why, "[%s] %s", fc_status_slug(s), e.message);
    return FUZZ_FAILED;
}

static fuzz_verdict add(const fc_str *text, fc_str *why) {
    uint64_t h = fc_hash_bytes(text->data, text->len);
    const char *entry = strstr(text->data, "extern \"C\" __global__");
    if (entry) entry = strstr(entry, " fusec_");
    if (!text->len || (seen[h % SEEN] == h && !alone)) return FUZZ_GOOD;
    if (!entry) {
        fc_str_add(why, "the text has no entry point");
        culprit = current;
        return FUZZ_FAILED;
    }
    seen[h % SEEN] = h;
    parts[waiting] = (struct part){batch.len, current};
    fc_str_printf(&batch, "namespace n%u {\n", waiting);
    entry += strcspn(entry, "(");
    fc_str_addn(&batch, text->data, (size_t)(entry - text->data));
    fc_str_printf(&batch, "%u%s}\n", waiting, entry);
    waiting++;
    return waiting == BATCH || batch.len > TEXT ? fuzz_nvrtc_flush(why) : FUZZ_GOOD;
}

fuzz_verdict fuzz_nvrtc(const fc_graph *g, const int64_t *syms, const fc_arrays *in, fc_str *why) {
    fc_how how = {0};
    fc_dim_value d[256];
    fc_program *p = NULL;
    fc_error e = {0};
    fc_str text;
    if (!open_all()) return FUZZ_GOOD;
    how.ctx = ctx;
    how.device = device;
    uint32_t nd = fc_rig_dims(g, syms, d);
    fusec_status s = fc_rig_compile(&how, g, &p, &e);
    fuzz_verdict v = FUZZ_GOOD;
    fc_str_init(&text, &fc_libc_alloc);
    for (uint32_t i = 0; !s && !v && i < p->plan->steps.len; i++) {
        fc_str_clear(&text);
        s = fc_program_source(p, i, in->n, in->t, nd, d, &text, &e);
        if (!s) v = add(&text, why);
    }
    if (s) {
        fc_str_printf(why, "[%s] %s", fc_status_slug(s), e.message);
        culprit = current;
        v = FUZZ_FAILED;
    }
    fc_str_free(&text);
    if (p) fc_program_free(p);
    return v;
}
