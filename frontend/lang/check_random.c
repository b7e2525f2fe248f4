/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_random.c - uniform, normal, bits, randint, bernoulli: arrays of random numbers.
 *
 * Two draws with the same seed, stream and shape are a warning: their numbers are the same, or made
 * of the same words. */
#include "frontend/lang/check_impl.h"

const char *const fc_c_random_names[] = {"uniform", "normal", "bits", "randint", "bernoulli", NULL};

bool fc_c_is_random_name(const char *name) {
    return fc_c_listed(fc_c_random_names, name);
}

/* A scalar integer of dtype t, written or computed. */
static bool integer(fc_checker *c, fc_call *f, const fc_expr *e, const char *what, fusec_dtype t,
                    fc_node *out) {
    if (!e) return *out = fc_build_const(c->g, t, 0), true;
    const fc_value *v = fc_c_val(f, e);
    if (!fc_c_operand(c, e, v)) return false;
    const bool scalar = fc_v_rank(c, v) == 0;
    if (!scalar || fc_v_weakness(v) == FC_W_FLOAT || fc_v_weakness(v) == FC_W_BOOL ||
        (fc_v_weakness(v) == FC_W_STRONG && !fc_is_int(fc_v_dtype(c, v)))) {
        fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->at, "%s is an integer, and this is %s", what,
                   fc_c_value_type(c, v));
        return false;
    }
    *out = fc_c_node(c, e, v, t);
    return *out != FC_NONODE;
}

static void warn_same(fc_checker *c, fc_call *f, const fc_expr *e, const fc_draw *d) {
    int64_t shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < d->rank; i++) shape[i] = d->shape[i];
    const fc_seen_draw key = {
        .shape = fc_intern_list(c->g, shape, d->rank), .seed = d->seed, .stream = d->stream};
    for (size_t i = 0; i < c->draws.len; i++) {
        const fc_seen_draw *s = &c->draws.at[i];
        if (s->shape != key.shape || s->seed != key.seed || s->stream != key.stream) continue;
        for (uint32_t k = 0; k < c->ds->len; k++)
            if (c->ds->at[k]->src == f->ast->src && c->ds->at[k]->at.begin == e->at.begin) return;
        fc_diag *w = fc_diag_warning(c->ds, "same-draw", f->ast->src, e->at,
                                     "another draw has the same seed, stream and shape: equal "
                                     "numbers, or made of the same words");
        fc_diag_help(w, "give one of them a stream of its own: stream=1");
        return;
    }
    if (!fc_push(c->alloc, &c->draws, key)) fc_c_oom(c);
}

enum { UNIFORM, NORMAL, BITS, RANDINT, BERNOULLI };

static bool dtype_fits(fc_checker *c, const fc_expr *kw, int kind, fusec_dtype t) {
    const bool good = kind == BITS      ? t == FUSEC_U32 || t == FUSEC_U64
                      : kind == RANDINT ? fc_is_int(t)
                                        : fc_is_float(t);
    if (!good)
        fc_c_error(c, FUSEC_DTYPE_MISMATCH, kw->at, "%s() makes %s, not %s",
                   fc_c_random_names[kind],
                   kind == BITS      ? "u32 or u64"
                   : kind == RANDINT ? "integers"
                                     : "floats",
                   fc_dtypes[t].name);
    return good;
}

static fc_value randint(fc_checker *c, fc_call *f, const fc_expr *const *p, const fc_draw *d,
                        fusec_dtype t) {
    fc_node lo, hi;
    const fc_value *from = fc_c_val(f, p[1]), *to = fc_c_val(f, p[2]);
    if (!integer(c, f, p[1], "the low end", FUSEC_I64, &lo) ||
        !integer(c, f, p[2], "the high end", FUSEC_I64, &hi))
        return FC_UNKNOWN;
    if (from->kind == FC_V_INT && to->kind == FC_V_INT && from->i >= to->i) {
        fc_c_error(c, FUSEC_LITERAL_RANGE, p[2]->at,
                   "randint() draws from %s up to %s - 1: there is no such integer",
                   fc_c_wide_text(c, from->i), fc_c_wide_text(c, to->i));
        return FC_UNKNOWN;
    }
    const fc_node n = fc_c_built(c, fc_build_randint(c->g, d, lo, hi));
    return fc_v_node(n == FC_NONODE ? n : fc_c_built(c, fc_build_cast(c->g, n, t)));
}

static fc_value bernoulli(fc_checker *c, fc_call *f, const fc_expr *e, const fc_draw *d) {
    fc_value v = *fc_c_val(f, e);
    if (!fc_c_operand(c, e, &v)) return FC_UNKNOWN;
    fusec_dtype t = fc_v_weak(&v) ? c->g->default_float : fc_v_dtype(c, &v);
    if (!fc_is_float(t)) t = c->g->default_float;
    const fc_node p = fc_c_node(c, e, &v, t);
    return p == FC_NONODE ? FC_UNKNOWN : fc_v_node(fc_c_built(c, fc_build_bernoulli(c->g, d, p)));
}

bool fc_c_random_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name,
                      fc_value *out) {
    static const char *const keys[] = {"seed", "stream", "dtype", NULL};
    static const char *const keys_of_bool[] = {"seed", "stream", NULL};
    static const char *const names_of_range[] = {"shape", "lo", "hi"};
    static const char *const names_of_chance[] = {"shape", "p"};
    int kind = 0;
    if (!fc_c_is_random_name(name)) return false;
    *out = FC_UNKNOWN;
    while (strcmp(fc_c_random_names[kind], name) != 0) kind++;
    const uint32_t n = kind == RANDINT ? 3 : kind == BERNOULLI ? 2 : 1;
    const fc_arg_spec spec = {kind == BERNOULLI ? names_of_chance : names_of_range, n, n,
                              kind == BERNOULLI ? keys_of_bool : keys};
    const fc_expr *p[3], *kw[3] = {NULL, NULL, NULL};
    fc_dim shape[FC_MAX_RANK];
    fc_draw d = {.shape = shape};
    fusec_dtype t = kind == BITS ? FUSEC_U32 : kind == RANDINT ? FUSEC_I64 : c->g->default_float;
    if (!fc_c_args(c, e, &spec, p, kw)) return true;
    if (kw[2] && (!fc_c_dtype_arg(c, kw[2], &t) || !dtype_fits(c, kw[2], kind, t))) return true;
    if (!fc_c_shape_arg(c, f, p[0], &d.rank, shape, NULL) ||
        !fc_c_require_sizes(c, d.rank, shape) ||
        !integer(c, f, kw[0], "a seed", FUSEC_U64, &d.seed) ||
        !integer(c, f, kw[1], "a stream", FUSEC_U64, &d.stream))
        return true;
    warn_same(c, f, e, &d);
    if (kind == RANDINT)
        *out = randint(c, f, p, &d, t);
    else if (kind == BERNOULLI)
        *out = bernoulli(c, f, p[1], &d);
    else
        *out = fc_v_node(fc_c_built(c, kind == UNIFORM  ? fc_build_uniform(c->g, &d, t)
                                       : kind == NORMAL ? fc_build_normal(c->g, &d, t)
                                                        : fc_build_bits(c->g, &d, t)));
    return true;
}
