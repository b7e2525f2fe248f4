/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sample_run.c - arrays for a sample kernel: made, filled, compared. */
#include "tests/support/sample_kernels.h"

#include <math.h>
#include <stdlib.h>

/* ---- inputs ---------------------------------------------------------------------------------- */

static uint64_t noise(uint64_t arg, uint64_t i) {
    uint64_t h = (arg + 1) * 0x9e3779b97f4a7c15u + i * 0xd1342543de82ef95u;
    h = (h ^ (h >> 31)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 29)) * 0x94d049bb133111ebu;
    return h ^ (h >> 32);
}

/* Magnitudes differ by 2^8, so that the order of a sum shows; products of many stay finite. */
static double real_value(uint64_t h, bool specials) {
    static const double scale[8] = {0x1p-4, 0x1p-3, 0x1p-2, 0x1p-1, 1, 2, 4, 8};
    if (specials) {
        if (h % 1511 == 0) return NAN;
        if (h % 997 == 1) return h & 4096 ? INFINITY : -INFINITY;
        if (h % 5 == 2) return h & 8192 ? -0.0 : 0.0;
        if (h % 5 == 3) return (double)(int64_t)(h >> 40 & 7) - 4; /* ties */
    }
    return ((double)(h >> 12) * 0x1p-51 - 1) * scale[h & 7]; /* [-1, 1) of that size */
}

/* f32 next to small whole numbers, which they are when they are rounded to 11 bits. */
static void fill_near(uint64_t arg, size_t n, float *data) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t h = noise(arg, i);
        data[i] = ((float)(h % 9) - 4.0f) * (1 + (h >> 20 & 1 ? 0x1p-14f : -0x1p-14f));
    }
}

static void fill(fusec_dtype t, uint64_t arg, size_t n, bool specials, void *data) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t h = noise(arg, i);
        switch (t) {
        case FUSEC_F32: ((float *)data)[i] = (float)real_value(h, specials); break;
        case FUSEC_F64: ((double *)data)[i] = real_value(h, specials); break;
        case FUSEC_F16:
            ((uint16_t *)data)[i] = fc_double_to_half((double)(float)real_value(h, specials));
            break;
        case FUSEC_BF16: /* small whole numbers: sums of their products are exact in any order */
            ((uint16_t *)data)[i] = fc_sample_bf16((double)(h % 17) - 8);
            break;
        case FUSEC_BOOL: ((uint8_t *)data)[i] = h % 3 != 0; break;
        default: memcpy((char *)data + i * fc_dtypes[t].bytes, &h, fc_dtypes[t].bytes);
        }
    }
}

uint16_t fc_sample_bf16(double v) {
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int64_t arg_elements(const fc_sample_run *run, uint32_t arg) {
    for (size_t i = 0; i < run->kernel.accesses.len; i++) {
        const fc_access *a = &run->kernel.accesses.at[i];
        int64_t n = 1;
        if (a->buffer != arg) continue;
        for (uint32_t j = 0; j < a->rank; j++) n *= run->values[a->shape[j]];
        return n;
    }
    return 0;
}

static void *array(
    size_t bytes) { /* whole cache lines, one line extra to show writes past the end */
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (p) memset(p, 0xa5, (bytes + 63) / 64 * 64 + 64);
    return p;
}

static fusec_status make_arrays(fc_sample_run *run, fc_error *e) {
    run->nargs = (unsigned)run->kernel.args.len;
    for (unsigned i = 0; i < run->nargs; i++) {
        const fc_arg *arg = &run->kernel.args.at[i];
        run->elements[i] = (size_t)arg_elements(run, i);
        run->bytes[i] = run->elements[i] * fc_dtypes[arg->dtype].bytes;
        run->data[i] = array(run->bytes[i]);
        run->want[i] = arg->written ? array(run->bytes[i]) : run->data[i];
        if (!run->data[i] || !run->want[i]) return fc_oom(e);
        if (!arg->written && arg->dtype == FUSEC_F32 && fc_sample_rounds(run->sample))
            fill_near(i, run->elements[i], run->data[i]);
        else if (!arg->written)
            fill((fusec_dtype)arg->dtype, i, run->elements[i], run->sample->specials, run->data[i]);
    }
    float p = 1.25f;
    uint32_t bits;
    memcpy(&bits, &p, sizeof bits);
    run->scalars[0] = bits; /* samples with a scalar have one, an f32, as parameter 0 */
    return FUSEC_OK;
}

static fusec_status eval_dims(fc_sample_run *run, const fc_dim *dim, fc_error *e) {
    int64_t *syms = fc_arena_alloc(&run->arena, (run->dims.syms.len + 1) * sizeof *syms);
    run->values = fc_arena_alloc(&run->arena, (run->dims.forms.len + 1) * sizeof *run->values);
    if (!syms || !run->values) return fc_oom(e);
    for (unsigned i = 0; i < run->sample->nsizes; i++) {
        uint32_t sym;
        if (!fc_dim_is_sym(&run->dims, dim[i], &sym))
            return fc_fail(e, FUSEC_INTERNAL, "no symbol");
        syms[sym] = run->size[i];
    }
    fc_dim bad;
    if (!fc_dims_eval(&run->dims, syms, run->values, &bad))
        return fc_fail(e, FUSEC_INTERNAL, "a size of the sample has no value");
    return FUSEC_OK;
}

fusec_status fc_sample_bind(const fc_sample *s, const int64_t size[FC_SAMPLE_SIZES],
                            fc_sample_run *run, fc_error *e) {
    static const char *const names[FC_SAMPLE_SIZES] = {"n", "m", "d"};
    fc_dim dim[FC_SAMPLE_SIZES];
    memset(run, 0, sizeof *run);
    run->sample = s;
    fc_arena_init(&run->arena, &fc_libc_alloc);
    fc_dimtab_init(&run->dims, &fc_libc_alloc);
    fc_kernel_init(&run->kernel, &fc_libc_alloc);
    for (unsigned i = 0; i < s->nsizes; i++) {
        run->size[i] = size[i];
        dim[i] = fc_dim_named(&run->dims, names[i]);
    }
    s->build(&run->kernel, &run->dims, dim);
    FC_TRY(fc_kernel_verify(&run->kernel, e));
    FC_TRY(eval_dims(run, dim, e));
    return fc_nest_bind(&run->kernel, run->values, &run->arena, &run->nest, e);
}

fusec_status fc_sample_open(const fc_sample *s, const int64_t size[FC_SAMPLE_SIZES],
                            fc_sample_run *run, fc_error *e) {
    FC_TRY(fc_sample_bind(s, size, run, e));
    return make_arrays(run, e);
}

void fc_sample_close(fc_sample_run *run) {
    for (unsigned i = 0; i < run->nargs; i++) {
        if (run->want[i] != run->data[i]) free(run->want[i]);
        free(run->data[i]);
    }
    fc_kernel_free(&run->kernel);
    fc_dimtab_free(&run->dims);
    fc_arena_free(&run->arena);
}

int64_t *fc_sample_words(fc_sample_run *run, void *const *args) {
    const fc_nest *n = &run->nest;
    fc_layout l =
        fc_layout_of(run->nargs, n->np + n->nr, n->naccess, (uint32_t)run->kernel.params.len);
    int64_t *words = fc_arena_alloc(&run->arena, l.words * sizeof *words);
    if (words)
        fc_nest_fill(&run->kernel, n, run->values, args ? args : run->data, run->scalars, words);
    return words;
}

/* ---- comparing ------------------------------------------------------------------------------- */

void fc_sample_run_reference(fc_sample_run *run) {
    run->sample->reference(run->size, run->want, run->scalars);
}

static int64_t ordered(float f) { /* neighbours differ by 1 */
    int32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits < 0 ? (int64_t)INT32_MIN - bits : bits;
}

static bool same_bits(fusec_dtype t, const void *a, const void *b) {
    if (memcmp(a, b, fc_dtypes[t].bytes) == 0) return true;
    if (t == FUSEC_F16) {
        uint16_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return isnan(fc_half_to_float(x)) && isnan(fc_half_to_float(y));
    }
    if (t == FUSEC_F32) {
        float x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return isnan(x) && isnan(y);
    }
    if (t == FUSEC_F64) {
        double x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return isnan(x) && isnan(y);
    }
    return false;
}

/* Of two numbers of one sign. */
static bool near_f64(int ulps, const void *a, const void *b) {
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x ^ y) >= 0 && x - y >= -ulps && x - y <= ulps;
}

static bool near_enough(fusec_dtype t, int ulps, const void *a, const void *b) {
    float x, y;
    if (t == FUSEC_F64 && ulps) return near_f64(ulps, a, b);
    if (t != FUSEC_F32 || ulps == 0) return false;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (isnan(x) || isnan(y)) return false;
    int64_t d = ordered(x) - ordered(y);
    return d >= -ulps && d <= ulps;
}

static double shown(fusec_dtype t, const void *p) {
    uint64_t bits = 0;
    memcpy(&bits, p, fc_dtypes[t].bytes);
    return fc_const_value(t, bits);
}

static fusec_status compare(const fc_sample_run *run, unsigned arg, fc_error *e) {
    fusec_dtype t = (fusec_dtype)run->kernel.args.at[arg].dtype;
    const char *got = run->data[arg], *want = run->want[arg];
    for (size_t i = 0; i < run->elements[arg]; i++) {
        size_t at = i * fc_dtypes[t].bytes;
        if (same_bits(t, got + at, want + at)) continue;
        if (near_enough(t, run->sample->ulps, got + at, want + at)) continue;
        return fc_fail(e, FUSEC_INTERNAL,
                       "%s [%lld, %lld, %lld]: arg%u[%zu] is %.9g (%a), not %.9g (%a)",
                       run->sample->name, (long long)run->size[0], (long long)run->size[1],
                       (long long)run->size[2], arg, i, shown(t, got + at), shown(t, got + at),
                       shown(t, want + at), shown(t, want + at));
    }
    for (size_t i = run->bytes[arg]; i < (run->bytes[arg] + 63) / 64 * 64 + 64; i++)
        if ((unsigned char)got[i] != 0xa5)
            return fc_fail(e, FUSEC_INTERNAL, "%s: wrote past the end of arg%u", run->sample->name,
                           arg);
    return FUSEC_OK;
}

fusec_status fc_sample_check(fc_sample_run *run, fc_error *e) {
    fc_sample_run_reference(run);
    for (unsigned i = 0; i < run->nargs; i++)
        if (run->kernel.args.at[i].written) FC_TRY(compare(run, i, e));
    return FUSEC_OK;
}
