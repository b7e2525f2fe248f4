/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_views.c - see fuzz_ways.h: a program called with arrays that are not dense. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fuzz_ways.h"

typedef struct view {
    fc_tensor t;
    int64_t strides[FC_MAX_RANK], count;
    unsigned char *memory, *before; /* all of it, and as it was */
    size_t bytes;
} view;

/* Strides of a random layout in elements, and the number of elements from the first to the last. */
static int64_t lay_out(view *v, fc_rng *rng, int64_t *first) {
    uint32_t order[FC_MAX_RANK], n = v->t.rank;
    int64_t by = fc_below(rng, 3) ? 1 : 1 + (int64_t)fc_below(rng, 3), low = 0, high = 0;
    const bool turned = fc_below(rng, 3) == 0;
    for (uint32_t i = 0; i < n; i++) order[i] = turned ? i : n - 1 - i;
    if (n > 1 && fc_below(rng, 4) == 0) {
        const uint32_t a = (uint32_t)fc_below(rng, n), b = (uint32_t)fc_below(rng, n), x = order[a];
        order[a] = order[b];
        order[b] = x;
    }
    for (uint32_t i = 0; i < n; i++) {
        const int64_t size = v->t.shape[order[i]];
        const bool back = fc_below(rng, 5) == 0;
        v->strides[order[i]] = back ? -by : by;
        if (size > 1) *(back ? &low : &high) += (back ? -by : by) * (size - 1);
        by *= size ? size : 1;
        if (fc_below(rng, 3) == 0) by += (int64_t)fc_below(rng, 5);
    }
    *first = -low;
    return high - low + 1;
}

static int64_t place_of(const view *v, int64_t i) {
    int64_t at = 0;
    for (uint32_t k = v->t.rank; k-- > 0; i /= v->t.shape[k])
        at += i % v->t.shape[k] * v->strides[k];
    return at;
}

static bool open_view(view *v, const fc_tensor *like, fc_rng *rng) {
    const size_t element = fc_dtypes[like->dtype].bytes;
    const uint64_t how = fc_below(rng, 6);
    int64_t first = 0, span = 1;
    memset(v, 0, sizeof *v);
    v->t = *like;
    v->count = fc_array_count(like);
    if (how) {
        span = lay_out(v, rng, &first);
    } else {
        for (uint32_t k = like->rank; k-- > 0; span *= like->shape[k]) v->strides[k] = span;
    }
    const size_t odd = fc_below(rng, 6) == 0 ? 1 + fc_below(rng, 7) : fc_below(rng, 3) * element;
    v->bytes = (size_t)(span + 8) * element + 16;
    v->memory = malloc(v->bytes);
    v->before = malloc(v->bytes);
    if (!v->memory || !v->before) return false;
    for (size_t i = 0; i < v->bytes; i++) v->memory[i] = (unsigned char)fc_random(rng);
    v->t.data = v->memory + odd + (size_t)first * element;
    v->t.strides = how ? v->strides : NULL;
    if (!v->count) v->t.data = v->memory;
    return true;
}

static uint64_t load_at(const view *v, int64_t i) {
    const size_t element = fc_dtypes[v->t.dtype].bytes;
    uint64_t bits = 0;
    memcpy(&bits, (char *)v->t.data + place_of(v, i) * (int64_t)element, element);
    return bits;
}

static void store_at(const view *v, int64_t i, uint64_t bits) {
    const size_t element = fc_dtypes[v->t.dtype].bytes;
    memcpy((char *)v->t.data + place_of(v, i) * (int64_t)element, &bits, element);
}

/* Whether nothing but the elements has changed; puts them back. */
static bool only_elements(view *v) {
    for (int64_t i = 0; i < v->count; i++) {
        const size_t element = fc_dtypes[v->t.dtype].bytes;
        const size_t at = (size_t)((unsigned char *)v->t.data - v->memory) +
                          (size_t)(place_of(v, i) * (int64_t)element);
        memcpy(v->memory + at, v->before + at, element);
    }
    return !memcmp(v->memory, v->before, v->bytes);
}

/* The result is exactly an input, or overlaps it. */
static void put_on_input(view *out, view *in, uint32_t nin, fc_rng *rng) {
    for (uint32_t i = 0; i < nin; i++) {
        view *x = &in[i];
        bool same = x->t.dtype == out->t.dtype && x->t.rank == out->t.rank && x->count;
        for (uint32_t k = 0; same && k < x->t.rank; k++) same = x->t.shape[k] == out->t.shape[k];
        if (!same || fc_below(rng, 2)) continue;
        out->t.data = x->t.data;
        memcpy(out->strides, x->strides, sizeof out->strides);
        out->t.strides = x->t.strides ? out->strides : NULL;
        if (fc_below(rng, 3) == 0)
            out->t.data = (char *)out->t.data + fc_dtypes[out->t.dtype].bytes;
        return;
    }
}

static bool inside(const view *in, const view *out) {
    return (unsigned char *)out->t.data >= in->memory &&
           (unsigned char *)out->t.data < in->memory + in->bytes;
}

static fuzz_verdict compare(const fuzz_case *c, view *in, view *out, fc_str *why) {
    fc_arrays got = {.n = c->out->n};
    got.t = calloc(got.n + 1, sizeof *got.t);
    bool wrong = !got.t;
    for (uint32_t i = 0; i < got.n; i++) {
        got.t[i] = c->out->t[i];
        got.t[i].data = calloc((size_t)out[i].count + 1, fc_dtypes[got.t[i].dtype].bytes);
        for (int64_t k = 0; k < out[i].count; k++)
            fc_oracle_store(got.t[i].dtype, got.t[i].data, k, load_at(&out[i], k));
    }
    wrong = wrong || fc_differ(c->g, c->o, c->out, &got, why);
    for (uint32_t i = 0; i < got.n; i++) free(got.t[i].data);
    free(got.t);
    for (uint32_t i = 0; !wrong && i < c->out->n; i++)
        if (inside(&out[i], &out[i]) && !only_elements(&out[i])) {
            fc_str_printf(why, "something outside result %u was written", i);
            wrong = true;
        }
    for (uint32_t i = 0; !wrong && i < c->in->n; i++) {
        bool shared = false, shifted = false;
        for (uint32_t k = 0; k < c->out->n; k++) {
            shared |= inside(&in[i], &out[k]);
            shifted |= inside(&in[i], &out[k]) && in[i].t.data != out[k].t.data;
        }
        if (shifted) continue;
        if (shared ? !only_elements(&in[i]) : memcmp(in[i].memory, in[i].before, in[i].bytes)) {
            fc_str_printf(why, "input %u was changed", i);
            wrong = true;
        }
    }
    return wrong ? FUZZ_WRONG : FUZZ_GOOD;
}

static void say(const char *what, const view *v, uint32_t n, fc_str *why) {
    for (uint32_t i = 0; i < n; i++) {
        fc_str_printf(why, "\n%s %u at %zu%s", what, i, (size_t)((uintptr_t)v[i].t.data & 63),
                      v[i].t.strides ? ", strides" : "");
        for (uint32_t k = 0; v[i].t.strides && k < v[i].t.rank; k++)
            fc_str_printf(why, " %lld", (long long)v[i].strides[k]);
    }
}

static fuzz_verdict call(const fuzz_case *c, fc_program *p, view *in, view *out, fc_rng *rng,
                         fc_str *why) {
    fc_tensor ti[RG_NODES], to[RG_OUTPUTS];
    fc_dim_value dims[256];
    fc_error e = {0};
    for (uint32_t i = 0; i < c->in->n; i++) {
        if (!open_view(&in[i], &c->in->t[i], rng)) return FUZZ_FAILED;
        for (int64_t k = 0; k < in[i].count; k++)
            store_at(&in[i], k, fc_oracle_load(in[i].t.dtype, c->in->t[i].data, k));
    }
    for (uint32_t i = 0; i < c->out->n; i++) {
        if (!open_view(&out[i], &c->out->t[i], rng)) return FUZZ_FAILED;
        if (c->out->n == 1) put_on_input(&out[i], in, c->in->n, rng);
        to[i] = out[i].t;
    }
    for (uint32_t i = 0; i < c->in->n; i++) {
        memcpy(in[i].before, in[i].memory, in[i].bytes);
        ti[i] = in[i].t;
    }
    for (uint32_t i = 0; i < c->out->n; i++) memcpy(out[i].before, out[i].memory, out[i].bytes);
    const uint32_t ndims = fc_rig_dims(c->g, c->syms, dims);
    const fusec_status s = fc_program_run(p, NULL, c->in->n, ti, ndims, dims, c->out->n, to, &e);
    fuzz_verdict v = s ? FUZZ_FAILED : compare(c, in, out, why);
    if (s) fc_str_printf(why, "[%s] %s", fc_status_slug(s), e.message);
    if (v) say("input", in, c->in->n, why);
    if (v) say("result", out, c->out->n, why);
    return v;
}

fuzz_verdict fuzz_views(const fuzz_case *c, const char *device, fc_str *why) {
    view in[RG_NODES] = {0}, out[RG_OUTPUTS] = {0};
    fc_how how = {0};
    fc_program *p = NULL;
    fc_error e = {0};
    fc_rng rng = {c->r->node[0].bits * 31 + (uint64_t)c->r->nnodes};
    how.ctx = fc_rig(device, 1, &how.device);
    fusec_status s = fc_rig_compile(&how, c->g, &p, &e);
    if (s) return fc_str_printf(why, "[%s] %s", fc_status_slug(s), e.message), FUZZ_FAILED;
    fuzz_verdict v = FUZZ_GOOD;
    for (int turn = 0; turn < 3 && !v; turn++) {
        v = call(c, p, in, out, &rng, why);
        for (int i = 0; i < RG_NODES; i++) free(in[i].memory), free(in[i].before);
        for (int i = 0; i < RG_OUTPUTS; i++) free(out[i].memory), free(out[i].before);
        memset(in, 0, sizeof in);
        memset(out, 0, sizeof out);
    }
    fc_program_free(p);
    return v;
}
