/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expect.c - --expect: results against files, exactly or within a tolerance. See outputs.h.
 *
 * Exact means the same bits, but any nan equals any nan. With tolerances an element passes when
 * |a - b| <= atol + rtol * |b|, or when it is at most --ulp units in the last place away. */
#include <math.h>
#include <stdio.h>

#include "frontend/cli/decimal.h"
#include "frontend/cli/outputs.h"
#include "frontend/cli/print.h"

typedef struct tolerance {
    bool any, relative; /* relative: rtol or atol was given */
    double rtol, atol, ulp;
} tolerance;

typedef struct verdict {
    int64_t differ, worst; /* elements outside the tolerance; the worst of all */
    double error, ulps;    /* of the worst: |a - b| and units in the last place */
} verdict;

/* Position of a float among all floats of its dtype; neighbours differ by 1. */
static double position(fusec_dtype t, const fc_array *a, int64_t i) {
    if (t == FUSEC_F64) {
        int64_t bits;
        memcpy(&bits, (const char *)a->data + i * 8, 8);
        return (double)(bits < 0 ? INT64_MIN - bits : bits);
    }
    if (t == FUSEC_F32) {
        int32_t bits;
        memcpy(&bits, (const char *)a->data + i * 4, 4);
        return (double)(bits < 0 ? (int64_t)INT32_MIN - bits : bits);
    }
    int16_t bits;
    memcpy(&bits, (const char *)a->data + i * 2, 2);
    return (double)(bits < 0 ? INT16_MIN - bits : bits);
}

static bool same_bits(const fc_array *a, const fc_array *b, int64_t i) {
    size_t n = fc_dtypes[a->dtype].bytes;
    return !memcmp((const char *)a->data + (size_t)i * n, (const char *)b->data + (size_t)i * n, n);
}

static bool passes(const tolerance *t, double x, double y, double error, double ulps) {
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (x == y) return t->any;
    if (isinf(x) || isinf(y)) return false;
    if (t->relative && error <= t->atol + t->rtol * fabs(y)) return true;
    return t->any && ulps <= t->ulp;
}

static void compare_floats(const fc_array *a, const fc_array *b, const tolerance *t, int64_t count,
                           verdict *v) {
    double worst = -1;
    for (int64_t i = 0; i < count; i++) {
        if (same_bits(a, b, i)) continue;
        double x = fc_float_at(a, i), y = fc_float_at(b, i), error = fabs(x - y);
        double ulps = fabs(position(a->dtype, a, i) - position(b->dtype, b, i));
        bool ok = passes(t, x, y, error, ulps);
        double weight = isnan(error) ? INFINITY : ulps;
        v->differ += !ok;
        if (isnan(x) && isnan(y)) continue;
        /* What fails outranks what passes. */
        if (!ok && v->differ == 1) worst = -1;
        if (weight <= worst || (ok && v->differ)) continue;
        worst = weight;
        v->worst = i;
        v->error = error;
        v->ulps = ulps;
    }
}

static void compare_exact(const fc_array *a, const fc_array *b, int64_t count, verdict *v) {
    for (int64_t i = 0; i < count; i++) {
        if (same_bits(a, b, i)) continue;
        if (!v->differ++) v->worst = i;
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void report(fc_job *s, const char *name, const char *file, const fc_array *a,
                   const fc_array *b, const verdict *v, const tolerance *t) {
    char place[300], n[FC_COMMAS], m[FC_COMMAS];
    int64_t count = 1;
    fc_str text;
    fc_str_init(&text, s->alloc);
    for (int k = 0; k < a->rank; k++) count *= a->shape[k];
    bool is_float = fc_is_float(a->dtype);
    if (!v->differ) {
        fc_str_printf(&text, "%s: %s %s", name,
                      t->any && is_float ? "within tolerance of" : "equals", file);
        if (is_float && v->ulps > 0) fc_str_printf(&text, ", at most %.0f ulp away", v->ulps);
    } else {
        fc_str_printf(&text, "%s: differs from %s in %s of %s element%s, worst ", name, file,
                      fc_commas(n, v->differ), fc_commas(m, count), count == 1 ? "" : "s");
        fc_str_printf(&text, "%s%s", a->rank ? "at " : "",
                      fc_place_text(place, sizeof place, a, v->worst));
        fc_str_add(&text, a->rank ? ": " : "is ");
        fc_print_element(&text, a, v->worst);
        fc_str_add(&text, ", expected ");
        fc_print_element(&text, b, v->worst);
        if (is_float && isfinite(v->error)) {
            fc_str_add(&text, " (off by ");
            fc_str_double(&text, v->error, true);
            fc_str_printf(&text, ", %.0f ulp)", v->ulps);
        }
    }
    /* A difference is an answer and is shown with -q too. */
    if (v->differ)
        fprintf(stderr, "%s\n", text.data);
    else
        fc_cli_say(s->cli, "%s", text.data);
    fc_str_free(&text);
}

static bool same_shape(const fc_array *a, int rank, const int64_t *shape) {
    return a->rank == rank && !memcmp(a->shape, shape, (size_t)rank * sizeof *shape);
}

/* ---- files ----------------------------------------------------------------------------------- */

static fusec_status load(fc_job *s, fc_cli_input *in, const fc_array *a, fc_array *b, bool *fits,
                         fc_error *e) {
    int64_t shape[FC_IO_RANK], count, bytes;
    FC_TRY(fc_input_open(in, e));
    bool scalar = in->kind == FC_INPUT_SCALAR;
    int rank = scalar ? a->rank : in->rank;
    fusec_dtype stored = in->has_dtype && !scalar ? in->dtype : a->dtype;
    for (int k = 0; k < rank; k++) {
        if (!scalar && in->dims[k].name)
            return fc_fail(e, FUSEC_USAGE, "--expect %.*s: a size by name", 60, in->value);
        shape[k] = scalar ? a->shape[k] : in->dims[k].size;
    }
    *b = (fc_array){.dtype = stored, .rank = rank};
    memcpy(b->shape, shape, (size_t)rank * sizeof *shape);
    /* NPY holds bf16 results as f32. */
    *fits = same_shape(a, rank, shape) &&
            (stored == a->dtype || (stored == FUSEC_F32 && a->dtype == FUSEC_BF16));
    if (!*fits || (scalar && rank)) return *fits = false, FUSEC_OK;
    if (!fc_shape_bytes(rank, shape, fc_dtypes[stored].bytes, &count, &bytes)) return fc_oom(e);
    b->data = fc_job_memory(s, bytes);
    if (!b->data) return fc_oom(e);
    FC_TRY(fc_input_read(in, stored, rank, shape, b->data, e));
    if (stored == a->dtype) return FUSEC_OK;
    void *narrow = fc_job_memory(s, bytes);
    if (!narrow) return fc_oom(e);
    FC_TRY(fc_convert(s->alloc, stored, b->data, a->dtype, narrow, count, e));
    b->data = narrow;
    b->dtype = a->dtype;
    return FUSEC_OK;
}

static fusec_status compare_one(fc_job *s, const char *word, const tolerance *t, fc_error *e) {
    size_t n;
    uint32_t which;
    char line[4200], type_a[300], type_b[300];
    fc_cli_input in = {0};
    fc_array b;
    bool fits;
    const char *file = fc_named_file(word, &n);
    FC_TRY(fc_result_by_name(s, word, n, "--expect", &which, e));
    if ((size_t)snprintf(line, sizeof line, "expect=%s", file) >= sizeof line)
        return fc_fail(e, FUSEC_USAGE, "--expect: the name of the file is too long");
    fc_array a = fc_tensor_array(&s->out[which]);
    const char *name = s->graph.outputs.at[which].name;
    fusec_status st = fc_input_parse(&in, line, s->alloc, e);
    if (!st) st = load(s, &in, &a, &b, &fits, e);
    fc_input_close(&in);
    if (st) return st;
    if (!fits) {
        s->cli->answer = 1;
        fprintf(stderr, "%s: is %s, but %s holds %s\n", name,
                fc_type_text(type_a, sizeof type_a, a.dtype, a.rank, a.shape), file,
                fc_type_text(type_b, sizeof type_b, b.dtype, b.rank, b.shape));
        return FUSEC_OK;
    }
    int64_t count = 1;
    verdict v = {0};
    if (fc_is_complex(a.dtype)) a = fc_array_parts(&a), b = fc_array_parts(&b);
    for (int k = 0; k < a.rank; k++) count *= a.shape[k];
    if (fc_is_float(a.dtype))
        compare_floats(&a, &b, t, count, &v);
    else
        compare_exact(&a, &b, count, &v);
    if (v.differ) s->cli->answer = 1;
    report(s, name, file, &a, &b, &v, t);
    return FUSEC_OK;
}

fusec_status fc_expect_check(fc_job *s, fc_error *e) {
    const fc_options *o = &s->cli->o;
    for (size_t i = 0; i < o->many.len; i++) {
        size_t n;
        uint32_t which;
        if (o->many.at[i].flag != FC_FLAG_EXPECT) continue;
        fc_named_file(o->many.at[i].text, &n);
        FC_TRY(fc_result_by_name(s, o->many.at[i].text, n, "--expect", &which, e));
    }
    bool tolerant = fc_cli_on(s->cli, FC_FLAG_RTOL) || fc_cli_on(s->cli, FC_FLAG_ATOL) ||
                    fc_cli_on(s->cli, FC_FLAG_ULP);
    if (tolerant && !fc_cli_on(s->cli, FC_FLAG_EXPECT))
        return fc_fail(e, FUSEC_USAGE, "--rtol, --atol and --ulp belong to --expect");
    return FUSEC_OK;
}

fusec_status fc_expect_compare(fc_job *s, fc_error *e) {
    const fc_options *o = &s->cli->o;
    tolerance t = {.relative = o->on[FC_FLAG_RTOL] || o->on[FC_FLAG_ATOL],
                   .rtol = o->number[FC_FLAG_RTOL],
                   .atol = o->number[FC_FLAG_ATOL],
                   .ulp = o->on[FC_FLAG_ULP] ? o->number[FC_FLAG_ULP] : 0};
    t.any = t.relative || o->on[FC_FLAG_ULP];
    for (size_t i = 0; i < o->many.len; i++)
        if (o->many.at[i].flag == FC_FLAG_EXPECT) FC_TRY(compare_one(s, o->many.at[i].text, &t, e));
    return FUSEC_OK;
}
