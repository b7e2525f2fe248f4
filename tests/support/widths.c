/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* widths.c - see widths.h. */
#include "tests/support/widths.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/cpuinfo.h"
#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"
#include "tests/support/test.h"

enum { PAD = 256 }; /* the guard of an array has twice as many bytes, most of them behind it */

/* ---- processors ------------------------------------------------------------------------------ */

const width_processor width_processors[WIDTH_PROCESSORS] = {
    {"host", NULL, 0, 0},
    {"avx512", "x86-64-v4", 64,
     FC_CPU_AVX512F | FC_CPU_AVX512BW | FC_CPU_AVX512DQ | FC_CPU_AVX512VL},
    {"avx2", "x86-64-v3", 32, FC_CPU_AVX2 | FC_CPU_FMA | FC_CPU_F16C},
    {"sse2", "x86-64", 16, 0},
};

bool width_open(width_target *t, const width_processor *p, size_t cache) {
    fc_error e = {0};
    fc_config c;
    fc_cpuinfo host;
    fc_config_init(&c);
    c.cache_dir = "";
    c.threads = 2;
    if (c.tiers == FC_TIERS_BOTH) c.tiers = FC_TIERS_FULL;
    fc_cpuinfo_get(&host);
#if !defined(__x86_64__)
    if (p && p->cpu) return false;
#endif
    if (p && (host.features & p->features) != p->features) return false;
    if (fc_context_new(&c, &t->ctx, &e)) return false;
    if (fc_context_device(t->ctx, p ? "cpu" : "interp", &t->device, NULL, &e)) {
        fc_context_free(t->ctx);
        return false;
    }
    if (p && p->cpu) {
        t->device->machine.cpu = p->cpu;
        t->device->machine.vector_bytes = p->vector_bytes;
    }
    t->device->machine.cache = cache;
    t->device->machine.far_cache = cache > 0;
    if (cache) t->device->machine.near_cache = cache;
    return true;
}

/* ---- programs -------------------------------------------------------------------------------- */

static size_t bytes_of(const fc_tensor *t) {
    size_t n = fc_dtypes[t->dtype].bytes;
    for (uint32_t i = 0; i < t->rank; i++) n *= (size_t)t->shape[i];
    return n;
}

void width_place(width_arrays *a, uint32_t i, size_t skew) {
    a->bytes[i] = bytes_of(&a->t[i]);
    a->base[i] = aligned_alloc(64, (a->bytes[i] + 2 * PAD + 63) / 64 * 64);
    memset(a->base[i], 0x5a, a->bytes[i] + 2 * PAD);
    a->t[i].data = a->base[i] + 64 + skew;
}

static bool guards_hold(const width_arrays *a, uint32_t i) {
    const char *data = a->t[i].data, *p = a->base[i];
    for (; p < data; p++)
        if (*p != 0x5a) return false;
    for (p = data + a->bytes[i]; p < a->base[i] + a->bytes[i] + 2 * PAD; p++)
        if (*p != 0x5a) return false;
    return true;
}

void width_free(width_arrays *a) {
    for (uint32_t i = 0; i < a->n; i++) free(a->base[i]);
}

fusec_status width_compile(const char *text, const width_input *in, uint32_t n, fc_graph *g,
                           fc_error *e) {
    fc_lang_input given[WIDTH_INPUTS] = {{0}};
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_lang_program p = {0};
    for (uint32_t i = 0; i < n; i++)
        given[i] = (fc_lang_input){.name = in[i].name,
                                   .kind = FC_LANG_TYPE,
                                   .has_dtype = true,
                                   .dtype = in[i].dtype,
                                   .rank = in[i].rank,
                                   .shape = in[i].shape};
    fc_graph_init(g, &fc_libc_alloc, NULL);
    fc_diags_init(&ds, &fc_libc_alloc);
    FC_TRY(fc_source_init(&src, &fc_libc_alloc, "<test>", text, strlen(text), e));
    fusec_status s = fc_parse_snippet(&src, &ds, &ast);
    fc_lang_request rq = {.snippet = &ast,
                          .inputs = given,
                          .input_count = n,
                          .complete = true,
                          .default_float = FUSEC_F32};
    if (!s) s = fc_lang_compile(&rq, g, &p, &ds);
    if (s) {
        fc_str why;
        fc_str_init(&why, &fc_libc_alloc);
        fc_diags_text(&ds, false, &why);
        (void)fc_fail(e, s, "%s", why.data);
        fc_str_free(&why);
    }
    fc_lang_program_free(&p);
    fc_ast_free(&ast);
    fc_diags_free(&ds);
    fc_source_free(&src);
    return s;
}

fusec_status width_run(const width_target *t, const fc_graph *g, const width_arrays *in,
                       const size_t *skew, width_arrays *out, fc_error *e) {
    fc_program *p = NULL;
    FC_TRY(fc_program_new(t->ctx, g, &(fc_program_options){.device = t->device}, &p, e));
    fusec_status s = fc_program_shapes(p, in->n, in->t, 0, NULL, out->shape, e);
    int64_t *at = out->shape;
    out->n = s ? 0 : (uint32_t)g->outputs.len;
    for (uint32_t i = 0; i < out->n; i++) {
        const fc_node node = g->outputs.at[i].node;
        out->t[i] = (fc_tensor){
            .dtype = (fusec_dtype)fc_at(g, node)->dtype, .rank = fc_rank(g, node), .shape = at};
        at += out->t[i].rank;
        width_place(out, i, skew[i]);
    }
    if (!s) s = fc_program_run(p, NULL, in->n, in->t, 0, NULL, out->n, out->t, e);
    fc_program_free(p);
    return s;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool same_element(fusec_dtype t, const char *a, const char *b) {
    if (memcmp(a, b, fc_dtypes[t].bytes) == 0) return true;
    uint64_t x = 0, y = 0;
    memcpy(&x, a, fc_dtypes[t].bytes);
    memcpy(&y, b, fc_dtypes[t].bytes);
    return fc_is_float(t) && fc_const_value(t, x) != fc_const_value(t, x) &&
           fc_const_value(t, y) != fc_const_value(t, y);
}

void width_compare(const width_arrays *want, const width_arrays *got) {
    for (uint32_t i = 0; i < want->n; i++) {
        const fusec_dtype t = want->t[i].dtype;
        const size_t n = fc_dtypes[t].bytes;
        FC_EXPECT_TRUE(guards_hold(got, i));
        for (size_t k = 0; k < want->bytes[i]; k += n) {
            const char *a = (const char *)want->t[i].data + k,
                       *b = (const char *)got->t[i].data + k;
            if (same_element(t, a, b)) continue;
            uint64_t x = 0, y = 0;
            memcpy(&x, a, n);
            memcpy(&y, b, n);
            fc_test_fail(__FILE__, __LINE__, "result %u, element %zu: %llx, but expected %llx", i,
                         k / n, (unsigned long long)y, (unsigned long long)x);
            break;
        }
    }
}

void width_fill(const width_check *c, width_arrays *in) {
    *in = (width_arrays){.n = c->n};
    for (uint32_t i = 0; i < c->n; i++) {
        const width_input *as = &c->in[i];
        in->t[i] = (fc_tensor){.dtype = as->dtype, .rank = as->rank, .shape = as->shape};
        width_place(in, i, 0);
        c->fill(&in->t[i], 7 + i);
    }
}

/* Machine code takes long to make: a commit tries some of the programs. */
void width_run_check(const width_check *c) {
    fc_graph g;
    fc_error e = {0};
    width_target t;
    width_arrays in, want = {0};
    const size_t aligned[WIDTH_OUTPUTS] = {0};
    if (!fc_test_takes(3)) return;
    FC_ASSERT_OK(width_compile(c->text, c->in, c->n, &g, &e), &e);
    width_fill(c, &in);
    FC_ASSERT_TRUE(width_open(&t, c->own ? &width_processors[0] : NULL, 0));
    FC_EXPECT_OK(width_run(&t, &g, &in, aligned, &want, &e), &e);
    fc_context_free(t.ctx);
    for (size_t k = 0; k < WIDTH_PROCESSORS; k++) {
        if ((c->functions || c->own) && width_processors[k].vector_bytes == 16) continue;
        if (!width_open(&t, &width_processors[k], c->cache)) continue;
        width_arrays got = {0};
        if (c->quick) t.ctx->config.tiers = FC_TIERS_QUICK;
        FC_TRACE("%s on %s", c->text, width_processors[k].name);
        FC_EXPECT_OK(width_run(&t, &g, &in, c->skew, &got, &e), &e);
        width_compare(&want, &got);
        FC_UNTRACE();
        width_free(&got);
        fc_context_free(t.ctx);
    }
    width_free(&want);
    width_free(&in);
    fc_graph_free(&g);
}

/* ---- data ------------------------------------------------------------------------------------ */

static uint64_t next_random(uint64_t *s) {
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void width_plain(const fc_tensor *t, uint64_t seed) {
    const size_t n = fc_dtypes[t->dtype].bytes;
    uint64_t r = seed;
    for (size_t i = 0; i < bytes_of(t) / n; i++) {
        const double v = ((double)(next_random(&r) >> 11) * 0x1p-53 - 0.5) * 40;
        const uint64_t bits = fc_const_bits(t->dtype, fc_is_float(t->dtype) ? v : (double)(int)v);
        memcpy((char *)t->data + i * n, &bits, n);
    }
}

void width_ties(const fc_tensor *t, uint64_t seed) {
    uint64_t r = seed;
    const double values[] = {0.0, -0.0, -1, -2, -0.0, 0.0, -3, -1};
    for (size_t i = 0; i < bytes_of(t) / 4; i++) {
        const uint64_t x = next_random(&r);
        float v = (float)values[x % 8];
        if (seed % 3 == 1 && x >> 8 & 3) v = -1.5f; /* zeros only here and there */
        if ((x >> 16) % 997 == 0) v = -INFINITY;
        if ((x >> 20) % 2999 == 0) v = NAN;
        ((float *)t->data)[i] = v;
    }
}

void width_any_bits(const fc_tensor *t, uint64_t seed) {
    uint64_t r = seed;
    const size_t n = fc_dtypes[t->dtype].bytes;
    for (size_t i = 0; i < bytes_of(t) / n; i++) {
        uint64_t x = next_random(&r);
        memcpy((char *)t->data + i * n, &x, n);
    }
}

void width_every(const fc_tensor *t, uint64_t seed) {
    const size_t n = bytes_of(t) / 2;
    for (size_t i = 0; i < n; i++) {
        const uint16_t bits = (uint16_t)(n < 65536 ? 0x3f80 + (i * 2 + seed) % 128 : i);
        memcpy((char *)t->data + 2 * i, &bits, 2);
    }
}