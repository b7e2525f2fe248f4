/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_complex_random.c - random graphs whose floats come from and go to arrays of pairs: every
 * float input is a part of a complex one, every float result both parts of a complex one. The bits
 * have to be those of the graph of real arrays. Then float results are transformed, which the
 * oracle judges: it knows pairs, parts and transforms by their definitions. */
#include "tests/support/random_graph.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "ir/complex.h"
#include "ir/fft.h"
#include "passes/plan.h"
#include "passes/rewrite.h"

static bool paired(fusec_dtype t) {
    return t == FUSEC_F32 || t == FUSEC_F64;
}

/* Which part of input i is read. */
static bool second(size_t i) {
    return i % 3 == 1;
}

static bool of_pairs(const fc_graph *src, fc_graph *dst, const uint8_t *live, fc_node *map,
                     const void *user) {
    (void)user;
    for (size_t i = 0; i < dst->inputs.len; i++) {
        fc_ninfo *in = &dst->nodes.at[dst->inputs.at[i].node];
        if (paired((fusec_dtype)in->dtype)) in->dtype = (uint8_t)fc_complex_of(in->dtype);
    }
    for (fc_node n = 0; n < src->nodes.len && !dst->error.code; n++) {
        const fc_ninfo *i = fc_at(src, n);
        if (!live[n]) continue;
        map[n] = fc_rewrite_node(src, dst, n, map);
        if (i->op == FC_OP_INPUT && paired((fusec_dtype)i->dtype))
            map[n] = fc_build_part(dst, map[n], second(i->attr));
    }
    return true;
}

static fusec_status make_pairs(const fc_graph *g, bool transform, fc_graph *out, fc_error *e) {
    FC_TRY(fc_rewrite_by(g, out, of_pairs, NULL, e));
    for (size_t i = 0; i < out->outputs.len; i++) {
        const fc_node n = out->outputs.at[i].node;
        if (paired((fusec_dtype)fc_at(out, n)->dtype))
            out->outputs.at[i].node = fc_build_pair(out, n, n);
        else
            continue;
        if (transform && fc_rank(out, n))
            out->outputs.at[i].node = fc_build_dft(out, i & 1 ? FC_FFT_INVERSE : FC_FFT_FORWARD,
                                                   out->outputs.at[i].node, FC_DIM_NONE);
    }
    return out->error.code ? fc_fail(e, out->error.code, "%s", out->error.message) : FUSEC_OK;
}

/* The value in its part, its complement in the other one. */
static void spread(const fc_tensor *from, fc_tensor *to, bool to_second) {
    const size_t bytes = fc_dtypes[from->dtype].bytes;
    if (from->dtype == to->dtype) {
        memcpy(to->data, from->data, (size_t)fc_array_count(from) * bytes);
        return;
    }
    for (int64_t i = 0; i < fc_array_count(from); i++) {
        const uint64_t v = fc_oracle_load(from->dtype, from->data, i);
        fc_oracle_store(from->dtype, to->data, 2 * i + to_second, v);
        fc_oracle_store(from->dtype, to->data, 2 * i + !to_second, ~v);
    }
}

static bool differs(const fc_graph *g, const fc_oracle *o, const fc_arrays *real,
                    const fc_arrays *pairs) {
    for (uint32_t i = 0; i < real->n; i++) {
        const fusec_dtype t = real->t[i].dtype;
        const fc_oarray *want = &o->node[g->outputs.at[i].node];
        const int parts = paired(t) ? 2 : 1;
        for (int64_t k = 0; k < want->count; k++)
            for (int p = 0; p < parts; p++) {
                const uint64_t x = fc_oracle_load(t, real->t[i].data, k),
                               y = fc_oracle_load(t, pairs->t[i].data, parts * k + p);
                if (fc_oracle_same(t, x, y) || (!want->at[k].r.exact && want->at[k].r.taint))
                    continue;
                FC_FAIL("output %u, element %lld, part %d: %llx and %llx", i, (long long)k, p,
                        (unsigned long long)x, (unsigned long long)y);
                return true;
            }
    }
    return false;
}

/* Against the oracle on the same graph. */
static bool is_wrong(const fc_graph *g, const int64_t *syms, const fc_arrays *in,
                     const fc_arrays *out) {
    fc_oracle o;
    const void *data[256];
    bool wrong = false;
    for (uint32_t i = 0; i < in->n; i++) data[i] = in->t[i].data;
    fc_oracle_run(&o, g, syms, data);
    for (uint32_t i = 0; i < out->n && !wrong; i++) {
        const fusec_dtype t = out->t[i].dtype, part = fc_is_complex(t) ? fc_part_dtype(t) : t;
        const fc_oarray *want = &o.node[g->outputs.at[i].node];
        for (int64_t k = 0; k < want->count && !wrong; k++) {
            const uint64_t got = fc_oracle_load(part, out->t[i].data, k);
            wrong = !fc_oracle_accepts(part, &want->at[k], got);
            if (!wrong) continue;
            fc_str s;
            fc_str_init(&s, &fc_libc_alloc);
            fc_oracle_print(part, &want->at[k], &s);

            FC_FAIL("output %u, value %lld is %a, not %s", i, (long long)k, fc_o_value(part, got),
                    s.data);
            fc_str_free(&s);
        }
    }
    fc_oracle_free(&o);
    return wrong;
}

static bool try_seed(const fc_how *how, uint64_t seed, bool transform) {
    const rg_options options = {24, transform ? 80 : 600, false};
    fc_rng rng = {seed};
    rg r;
    fc_graph real, pairs;
    int input[RG_NODES];
    int64_t syms[256] = {0};
    fc_error e = {0};
    fc_oracle o;
    fc_arrays in, in_pairs, out = {0}, out_pairs = {0};
    memset(&r, 0, sizeof r);
    rg_make(&r, &rng, &options);
    rg_build(&r, seed & 3, &real, input, syms);
    fusec_status s = real.error.code ? real.error.code : make_pairs(&real, transform, &pairs, &e);
    if (s) {
        if (!real.error.code) FC_FAIL("seed %llu: %s", (unsigned long long)seed, e.message);
        fc_graph_free(&real);
        return !e.code;
    }
    FC_EXPECT_OK(fc_graph_verify(&pairs, &e), &e);
    fc_oracle_sizes(&o, &real, syms);
    fc_arrays_for(&in, &real, &o, false);
    fc_oracle_free(&o);
    fc_oracle_sizes(&o, &pairs, syms);
    fc_arrays_for(&in_pairs, &pairs, &o, false);
    fc_oracle_free(&o);
    const void *data[256];
    for (uint32_t i = 0; i < in.n; i++) {
        rg_fill(r.node[input[i]].bits, &in.t[i]);
        spread(&in.t[i], &in_pairs.t[i], second(i));
        data[i] = in.t[i].data;
    }
    fc_oracle_run(&o, &real, syms, data);
    s = fc_rig_run(how, &real, syms, &in, &out, &e);
    if (!s) s = fc_rig_run(how, &pairs, syms, &in_pairs, &out_pairs, &e);
    if (s) FC_FAIL("seed %llu: %s", (unsigned long long)seed, e.message);
    const bool bad = s || (transform ? is_wrong(&pairs, syms, &in_pairs, &out_pairs)
                                     : differs(&real, &o, &out, &out_pairs));
    if (bad && !s) FC_FAIL("seed %llu", (unsigned long long)seed);
    fc_oracle_free(&o);
    fc_arrays_free(&in);
    fc_arrays_free(&in_pairs);
    fc_arrays_free(&out);
    fc_arrays_free(&out_pairs);
    fc_graph_free(&real);
    fc_graph_free(&pairs);
    return !bad;
}

typedef struct campaign {
    const char *device;
    int count;
    bool transform;
} campaign;

static void run_campaign(void *arg) {
    const campaign *c = arg;
    fc_device *d;
    fc_context *ctx = fc_rig(c->device, 2, &d);
    if (!ctx) FC_SKIP("there is no device %s", c->device);
    for (int i = 0; i < c->count; i++) {
        if (!fc_test_takes(2)) continue;
        const fc_how how = {.ctx = ctx, .device = d, .unfused = i % 5 == 4};
        if (!try_seed(&how, (uint64_t)i + 1, c->transform)) return;
    }
}

static const campaign campaigns[] = {{"interp", 1500, false}, {"cpu", 80, false},
                                     {"cuda", 80, false},     {"interp", 150, true},
                                     {"cpu", 10, true},       {"cuda", 10, true}};

FC_REGISTER(complex_random) {
    for (size_t i = 0; i < FC_COUNT(campaigns); i++) {
        const campaign *c = &campaigns[i];
        if (c->transform)
            FC_ADD_TEST("transforms_random", c->device, run_campaign, c);
        else
            FC_ADD_TEST("complex_random", c->device, run_campaign, c);
    }
}
