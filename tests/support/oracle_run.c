/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_run.c - see oracle_run.h. */
#include "tests/support/oracle_run.h"

#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- contexts -------------------------------------------------------------------------------- */

enum { MAX_RIGS = 16, GUARD = 64 };

static struct rig {
    char name[16];
    int threads;
    fc_context *ctx;
    fc_device *device;
} rigs[MAX_RIGS];
static int nrigs;
static char cache_dir[FC_RIG_PATH];
static bool given; /* cache_dir: it is the parent's */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

void fc_rig_remove_folder(const char *path) {
    if (path[0]) nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void fc_rig_make_folder(char path[FC_RIG_PATH]) {
    const char *tmp = getenv("TMPDIR");
    snprintf(path, FC_RIG_PATH, "%.200s/fusec-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(path)) path[0] = 0;
}

void fc_rig_use_folder(const char *path) {
    snprintf(cache_dir, sizeof cache_dir, "%s", path);
    given = true;
}

static void close_rigs(void) {
    for (int i = 0; i < nrigs; i++) fc_context_free(rigs[i].ctx);
    nrigs = 0;
    if (!given) fc_rig_remove_folder(cache_dir);
}

static void make_cache_dir(void) {
    if (!given) fc_rig_make_folder(cache_dir);
    atexit(close_rigs);
}

fc_context *fc_rig(const char *device, int threads, fc_device **out) {
    for (int i = 0; i < nrigs; i++)
        if (!strcmp(rigs[i].name, device) && rigs[i].threads == threads) {
            *out = rigs[i].device;
            return rigs[i].device ? rigs[i].ctx : NULL;
        }
    if (nrigs == MAX_RIGS) return NULL;
    if (!nrigs) make_cache_dir();
    struct rig *r = &rigs[nrigs++];
    fc_config c;
    fc_error e = {0};
    fc_config_init(&c);
    c.threads = threads;
    c.cache_dir = cache_dir;
    if (c.tiers == FC_TIERS_BOTH) c.tiers = FC_TIERS_FULL; /* each program is run once */
    snprintf(r->name, sizeof r->name, "%s", device);
    r->threads = threads;
    r->device = NULL;
    if (fc_context_new(&c, &r->ctx, &e) || fc_context_device(r->ctx, device, &r->device, NULL, &e))
        r->device = NULL;
    *out = r->device;
    return r->device ? r->ctx : NULL;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void *take(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) abort();
    return p;
}

int64_t fc_array_count(const fc_tensor *t) {
    int64_t n = 1;
    for (uint32_t k = 0; k < t->rank; k++) n *= t->shape[k];
    return n;
}

static size_t bytes_of(const fc_tensor *t) {
    return (size_t)fc_array_count(t) * fc_dtypes[t->dtype].bytes;
}

/* The data has guards before and behind it. */
void fc_arrays_for(fc_arrays *a, const fc_graph *g, const fc_oracle *sizes, bool outputs) {
    a->n = (uint32_t)(outputs ? g->outputs.len : g->inputs.len);
    a->t = take(a->n, sizeof *a->t);
    for (uint32_t i = 0; i < a->n; i++) {
        fc_node n = outputs ? g->outputs.at[i].node : g->inputs.at[i].node;
        int64_t *shape = take(FC_MAX_RANK, sizeof *shape);
        a->t[i] = (fc_tensor){
            .dtype = (fusec_dtype)fc_at(g, n)->dtype, .rank = fc_rank(g, n), .shape = shape};
        for (uint32_t k = 0; k < a->t[i].rank; k++) shape[k] = sizes->sizes[fc_axis(g, n, k)];
        size_t bytes = bytes_of(&a->t[i]);
        char *p = aligned_alloc(GUARD, (bytes + 3 * GUARD - 1) / GUARD * GUARD);
        if (!p) abort();
        memset(p, 0xa5, bytes + 2 * GUARD);
        memset(p + GUARD, 0, bytes);
        a->t[i].data = p + GUARD;
    }
}

static bool guards_hold(const fc_tensor *t) {
    const unsigned char *p = t->data;
    size_t bytes = bytes_of(t);
    for (int i = 0; i < GUARD; i++)
        if (p[i - GUARD] != 0xa5 || p[bytes + (size_t)i] != 0xa5) return false;
    return true;
}

void fc_arrays_free(fc_arrays *a) {
    for (uint32_t i = 0; i < a->n; i++) {
        free((char *)a->t[i].data - GUARD);
        free((void *)(uintptr_t)a->t[i].shape);
    }
    free(a->t);
    memset(a, 0, sizeof *a);
}

/* ---- runs ------------------------------------------------------------------------------------ */

uint32_t fc_rig_dims(const fc_graph *g, const int64_t *syms, fc_dim_value *out) {
    uint32_t n = 0;
    for (uint32_t s = 0; s < g->dims.syms.len; s++) {
        bool found = g->dims.syms.at[s].kind != FC_SYM_NAMED;
        for (size_t i = 0; !found && i < g->inputs.len; i++)
            for (uint32_t k = 0; k < fc_rank(g, g->inputs.at[i].node); k++) {
                uint32_t sym;
                found |=
                    fc_dim_is_sym(&g->dims, fc_axis(g, g->inputs.at[i].node, k), &sym) && sym == s;
            }
        if (!found) out[n++] = (fc_dim_value){s, syms[s]};
    }
    return n;
}

static uint64_t checksum(const fc_arrays *a) {
    uint64_t h = 0;
    for (uint32_t i = 0; i < a->n; i++)
        h = fc_mix(h, fc_hash_bytes(a->t[i].data, bytes_of(&a->t[i])));
    return h;
}

static fusec_status check_shapes(fc_program *p, const fc_arrays *in, const fc_arrays *out,
                                 uint32_t nd, const fc_dim_value *d, fc_error *e) {
    int64_t *shapes = take((size_t)out->n * FC_MAX_RANK, sizeof *shapes), *at = shapes;
    fusec_status s = fc_program_shapes(p, in->n, in->t, nd, d, shapes, e);
    for (uint32_t i = 0; !s && i < out->n; i++)
        for (uint32_t k = 0; !s && k < out->t[i].rank; k++)
            if (*at++ != out->t[i].shape[k])
                s = fc_fail(e, FUSEC_INTERNAL,
                            "output %u, axis %u: wanted %" PRId64 ", got %" PRId64, i, k,
                            out->t[i].shape[k], at[-1]);
    free(shapes);
    return s;
}

static fusec_status run_program(fc_program *p, const fc_how *how, const fc_graph *g,
                                const int64_t *syms, const fc_arrays *in, fc_arrays *out,
                                fc_error *e) {
    fc_dim_value *d = take(g->dims.syms.len, sizeof *d);
    uint32_t nd = fc_rig_dims(g, syms, d);
    uint64_t before = checksum(in), first = 0;
    fusec_status s = check_shapes(p, in, out, nd, d, e);
    for (int i = 0; !s && i < (how->runs ? how->runs : 1); i++) {
        s = fc_program_run(p, NULL, in->n, in->t, nd, d, out->n, out->t, e);
        uint64_t sum = s ? 0 : checksum(out);
        if (i && !s && sum != first)
            s = fc_fail(e, FUSEC_INTERNAL, "run %d differs from the first", i);
        if (!i) first = sum;
    }
    for (uint32_t i = 0; !s && i < out->n; i++)
        if (!guards_hold(&out->t[i]))
            s = fc_fail(e, FUSEC_INTERNAL, "output %u: written beside it", i);
    if (!s && checksum(in) != before) s = fc_fail(e, FUSEC_INTERNAL, "an input was changed");
    free(d);
    return s;
}

fusec_status fc_rig_compile(const fc_how *how, const fc_graph *g, fc_program **p, fc_error *e) {
    fc_program_options o = {
        .device = how->device, .unfused = how->unfused, .max_ops = how->max_ops};
    return fc_program_new(how->ctx, g, &o, p, e);
}

fusec_status fc_rig_call(const fc_how *how, fc_program *p, const fc_graph *g, const int64_t *syms,
                         const fc_arrays *in, fc_arrays *out, fc_error *e) {
    fc_oracle sizes;
    fc_oracle_sizes(&sizes, g, syms);
    fc_arrays_for(out, g, &sizes, true);
    fc_oracle_free(&sizes);
    return run_program(p, how, g, syms, in, out, e);
}

fusec_status fc_rig_run(const fc_how *how, const fc_graph *g, const int64_t *syms,
                        const fc_arrays *in, fc_arrays *out, fc_error *e) {
    fc_program *p = NULL;
    memset(out, 0, sizeof *out);
    FC_TRY(fc_rig_compile(how, g, &p, e));
    fusec_status s = fc_rig_call(how, p, g, syms, in, out, e);
    fc_program_free(p);
    return s;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void say_where(const fc_graph *g, const fc_tensor *t, uint32_t output, int64_t i,
                      fc_str *why) {
    int64_t at[FC_MAX_RANK];
    for (uint32_t k = t->rank; k-- > 0; i /= t->shape[k]) at[k] = i % t->shape[k];
    fc_str_printf(why, "output %s (%s)[", g->outputs.at[output].name, fc_dtypes[t->dtype].name);
    for (uint32_t k = 0; k < t->rank; k++) fc_str_printf(why, "%s%" PRId64, k ? ", " : "", at[k]);
    fc_str_add(why, "]: ");
}

static void say_value(fusec_dtype t, uint64_t bits, fc_str *why) {
    fc_str_printf(why, "0x%" PRIx64, bits);
    if (fc_is_float(t)) fc_str_printf(why, " = %a", fc_o_value(t, bits));
}

bool fc_judge(const fc_graph *g, const fc_oracle *o, const fc_arrays *out, fc_str *why) {
    for (uint32_t i = 0; i < out->n; i++) {
        const fc_tensor *t = &out->t[i];
        const fc_oarray *want = &o->node[g->outputs.at[i].node];
        for (int64_t k = 0; k < want->count; k++) {
            uint64_t got = fc_oracle_load(t->dtype, t->data, k);
            if (fc_oracle_accepts(t->dtype, &want->at[k], got)) continue;
            say_where(g, t, i, k, why);
            fc_str_add(why, "wanted ");
            fc_oracle_print(t->dtype, &want->at[k], why);
            fc_str_add(why, ", got ");
            say_value(t->dtype, got, why);
            return true;
        }
    }
    return false;
}

bool fc_differ(const fc_graph *g, const fc_oracle *o, const fc_arrays *a, const fc_arrays *b,
               fc_str *why) {
    for (uint32_t i = 0; i < a->n; i++) {
        const fc_tensor *t = &a->t[i];
        const fc_oarray *want = &o->node[g->outputs.at[i].node];
        for (int64_t k = 0; k < want->count; k++) {
            uint64_t x = fc_oracle_load(t->dtype, t->data, k);
            uint64_t y = fc_oracle_load(t->dtype, b->t[i].data, k);
            if (fc_oracle_same(t->dtype, x, y) || (!want->at[k].r.exact && want->at[k].r.taint))
                continue;
            say_where(g, t, i, k, why);
            say_value(t->dtype, x, why);
            fc_str_add(why, " and ");
            say_value(t->dtype, y, why);
            return true;
        }
    }
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

uint64_t fc_random(fc_rng *r) { /* splitmix64 */
    uint64_t z = (r->s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static const double float_specials[] = {0,
                                        1,
                                        2,
                                        3,
                                        0.5,
                                        1.5,
                                        2.5,
                                        3.5,
                                        0.1,
                                        10,
                                        100,
                                        1e-3,
                                        0.25,
                                        4,
                                        7,
                                        16777216,
                                        16777217,
                                        4503599627370495.5,
                                        2147483647,
                                        2147483648,
                                        255.5,
                                        127.5,
                                        32767.5,
                                        65535.5,
                                        65504,
                                        65520,
                                        1e5,
                                        1e10,
                                        1e30,
                                        1e300,
                                        3.14159265358979,
                                        1.5707963267948966,
                                        88.7,
                                        104,
                                        709.8,
                                        745.2,
                                        171.7,
                                        35.05,
                                        0x1p-10,
                                        0x1p-24,
                                        0x1p-14,
                                        0x1p-126,
                                        0x1p-149,
                                        0x1p-1022,
                                        0x1p-1074,
                                        0x1.fffffep127,
                                        0x1.fffffffffffffp1023,
                                        9.2233720368547758e18,
                                        1.8446744073709552e19,
                                        0.99999994,
                                        1.00000012,
                                        0.49999997,
                                        2.2,
                                        33.3,
                                        1e-40,
                                        1e-310,
                                        22.0,
                                        0x1p62};

enum { NSPECIAL = sizeof float_specials / sizeof float_specials[0] };

uint32_t fc_special_count(fusec_dtype t) {
    if (t == FUSEC_BOOL) return 2;
    return fc_is_float(t) ? 2 * NSPECIAL + 3 : 2 * (8 * fc_dtypes[t].bytes + 10);
}

uint64_t fc_special(fusec_dtype t, uint32_t i) {
    if (t == FUSEC_BOOL) return i & 1;
    if (fc_is_float(t)) {
        if (i == 0) return fc_o_bits(t, (double)NAN);
        if (i <= 2) return fc_o_bits(t, i == 1 ? (double)INFINITY : -(double)INFINITY);
        double v = float_specials[(i - 3) / 2];
        return fc_o_bits(t, i % 2 ? v : -v);
    }
    uint32_t width = 8u * fc_dtypes[t].bytes, k = i / 2;
    uint64_t v; /* the ends, powers of two, and small numbers: shift counts around the width */
    if (k < 5)
        v = (uint64_t)k;
    else if (k < 9)
        v = width + k - 6;
    else if (k == 9)
        v = ((uint64_t)1 << (width - 1)) - 1;
    else
        v = (uint64_t)1 << (k - 10);
    return fc_o_cast(FUSEC_U64, t, i & 1 ? 0 - v : v);
}

uint64_t fc_random_value(fusec_dtype t, fc_rng *r, bool tame) {
    uint64_t x = fc_random(r);
    if (t == FUSEC_BOOL) return x >> 7 & 1;
    if (!tame) {
        x &= UINT64_MAX >> (64 - 8 * fc_dtypes[t].bytes);
        /* signalling nans are left out: libm's hypot(inf, snan) is nan */
        return fc_is_float(t) && isnan(fc_o_value(t, x)) ? fc_o_bits(t, (double)NAN) : x;
    }
    if (fc_is_float(t)) return fc_o_bits(t, ((double)(x >> 11) * 0x1p-53 - 0.5) * 8);
    return fc_o_cast(FUSEC_I64, t, (uint64_t)((int64_t)(x % 41) - (fc_is_signed(t) ? 20 : 0)));
}
