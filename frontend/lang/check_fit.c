/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_fit.c - whether an input has the dtype and the sizes that its parameter declares. */
#include "frontend/lang/check_impl.h"

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *sizes_text(fc_checker *c, const fc_lang_input *in) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    for (uint32_t i = 0; i < in->rank; i++) {
        fc_str_add(&s, i ? ", " : "[");
        if (in->shape[i] < 0)
            fc_str_char(&s, '?');
        else
            fc_str_printf(&s, "%lld", (long long)in->shape[i]);
    }
    if (in->rank) fc_str_char(&s, ']');
    const char *t = fc_c_text(c, "%s", s.data);
    fc_c_str_free(c, &s);
    return t;
}

/* "a.npy holds f64[100, 64], but scale() takes x: f32[n, m]" */
static const char *holds_but_takes(fc_checker *c, const fc_call *f, const fc_param *p, uint32_t k) {
    const fc_lang_input *in = &c->rq->inputs[k];
    const char *type = p->type ? fc_c_quote(c, p->type->at) : "anything";
    const char *dtype = in->has_dtype ? fc_dtypes[in->dtype].name : "an array ";
    const char *what = in->kind == FC_LANG_ARRAY ? fc_c_text(c, "%s holds", fc_c_input_origin(c, k))
                                                 : fc_c_text(c, "%s is", in->name);
    return fc_c_text(c, "%s %s%s, but %s() takes %s: %s", what, dtype, sizes_text(c, in),
                     f->def->name.text, p->name.text, type);
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static const char *thousands(fc_checker *c, uint64_t n) {
    char digits[32];
    int at = sizeof digits, count = 0;
    digits[--at] = '\0';
    do {
        if (count && count % 3 == 0) digits[--at] = ',';
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
        count++;
    } while (n);
    return fc_c_text(c, "%s", digits + at);
}

static const char *conversion(fc_checker *c, const fc_lang_input *in, fusec_dtype to) {
    uint64_t count = 1;
    bool known = true;
    for (uint32_t i = 0; i < in->rank; i++)
        known = known && in->shape[i] >= 0 &&
                !__builtin_mul_overflow(count, (uint64_t)in->shape[i], &count) &&
                count < 1ull << 56;
    fusec_dtype from = in->dtype;
    bool narrow = fc_dtypes[to].bytes < fc_dtypes[from].bytes;
    const char *risk = to == FUSEC_BOOL || from == FUSEC_BOOL              ? ""
                       : fc_is_float(to) && (narrow || !fc_is_float(from)) ? ", may round"
                       : fc_is_float(to)                                   ? ""
                       : fc_is_float(from)                                 ? ", truncates"
                       : narrow || fc_is_signed(from) != fc_is_signed(to)  ? ", may wrap"
                                                                           : "";
    const char *names = fc_c_text(c, "%s to %s", fc_dtypes[from].name, fc_dtypes[to].name);
    if (!known) return fc_c_text(c, "here %s%s", names, risk);
    return fc_c_text(c, "here %s: %s bytes to %s%s", names,
                     thousands(c, count * fc_dtypes[from].bytes),
                     thousands(c, count * fc_dtypes[to].bytes), risk);
}

bool fc_c_match_dtype(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k) {
    const fc_lang_input *in = &c->rq->inputs[k];
    fusec_dtype want;
    if (!in->has_dtype || in->kind == FC_LANG_SCALAR) return true;
    if (fc_c_type_class(p->type, &want) == FC_TC_LETTER) {
        uint8_t *l = &f->letters[*p->type->name.text - 'A'];
        if (!*l) *l = (uint8_t)(in->dtype + 1);
        want = (fusec_dtype)(*l - 1);
        if (want == in->dtype || c->rq->cast) return true;
        fc_diag *d =
            fc_c_input_error(c, FUSEC_INPUT_DTYPE,
                             fc_c_text(c, "%s, and %s is %s here", holds_but_takes(c, f, p, k),
                                       p->type->name.text, fc_dtypes[want].name));
        fc_c_signature_line(c, f, d);
        fc_diag_help(d, "--cast converts inputs to the declared type (%s)",
                     conversion(c, in, want));
        return false;
    }
    if (want == in->dtype || c->rq->cast) return true;
    fc_diag *d = fc_c_input_error(c, FUSEC_INPUT_DTYPE, holds_but_takes(c, f, p, k));
    fc_c_signature_line(c, f, d);
    fc_diag_help(d, "--cast converts inputs to the declared type (%s)", conversion(c, in, want));
    const char *type = fc_c_quote(c, p->type->at);
    fc_diag_help(d, "or declare %s: T%s to accept any type", p->name.text,
                 type + p->type->name.len);
    return false;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* One line for each of the two inputs, and a mark under the size that is wrong. */
static void size_lines(fc_checker *c, fc_diag *d, const fc_param *pa, uint32_t ka,
                       const fc_param *pb, uint32_t kb, uint32_t axis, int64_t want) {
    const fc_param *p[2] = {pa, pb};
    uint32_t k[2] = {ka, kb};
    const char *type[2], *origin[2];
    size_t w1 = 0, w2 = 0;
    int from = pa ? 0 : 1;
    for (int i = from; i < 2; i++) {
        type[i] = fc_c_text(c, "%s: %s", p[i]->name.text, fc_c_quote(c, p[i]->type->at));
        origin[i] = fc_c_input_origin(c, k[i]);
        size_t n1 = fc_utf8_count(type[i], strlen(type[i]));
        size_t n2 = fc_utf8_count(origin[i], strlen(origin[i]));
        if (n1 > w1) w1 = n1;
        if (n2 > w2) w2 = n2;
    }
    for (int i = from; i < 2; i++) {
        size_t n1 = fc_utf8_count(type[i], strlen(type[i]));
        size_t n2 = fc_utf8_count(origin[i], strlen(origin[i]));
        fc_diag_line(d, "%s%*s%s%*s%s", type[i], (int)(w1 - n1) + 4, "", origin[i],
                     (int)(w2 - n2) + 4, "", sizes_text(c, &c->rq->inputs[k[i]]));
    }
    size_t at = w1 + w2 + 9;
    const fc_lang_input *in = &c->rq->inputs[kb];
    for (uint32_t i = 0; i < axis; i++)
        at += strlen(fc_c_text(c, "%lld", (long long)in->shape[i])) + 2;
    int width = (int)strlen(fc_c_text(c, "%lld", (long long)in->shape[axis]));
    char marks[24] = "^^^^^^^^^^^^^^^^^^^^^^^";
    fc_diag_line(d, "%*s%.*s should be %lld", (int)at, "", width, marks, (long long)want);
}

static const fc_param *param_of_input(const fc_call *f, uint32_t k) {
    uint32_t i = 0;
    for (const fc_param *p = f->def->params; p; p = p->next, i++)
        if (f->input_of[i] == k) return p;
    return NULL;
}

static bool match_name(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k, const fc_expr *e,
                       uint32_t axis) {
    const fc_lang_input *in = &c->rq->inputs[k];
    int64_t n = in->shape[axis];
    fc_dim_binding *b = fc_c_dim(f, e->text);
    if (n < 0 || !b) return true;
    if (b->size < 0) {
        b->size = n;
        b->from_input = k;
    }
    if (b->size == n) return true;
    const fc_param *other = param_of_input(f, b->from_input);
    bool array = other && c->rq->inputs[b->from_input].kind != FC_LANG_SCALAR;
    const char *there = other && array ? other->name.text : NULL;
    fc_diag *d =
        fc_c_input_error(c, FUSEC_INPUT_SHAPE,
                         there ? fc_c_text(c, "%s is %lld in %s but %lld in %s", e->text,
                                           (long long)b->size, there, (long long)n, p->name.text)
                               : fc_c_text(c, "%s is given as %lld but is %lld in %s", e->text,
                                           (long long)b->size, (long long)n, p->name.text));
    size_lines(c, d, array ? other : NULL, b->from_input, p, k, axis, b->size);
    return false;
}

/* A size that is an integer, a const or an expression; -1: not known. */
static int64_t known_size(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_dimtab *t = &c->g->dims;
    for (uint32_t i = e->first; i <= e->id; i++) {
        const fc_expr *x = f->ast->exprs.at[i];
        const fc_dim_binding *b = x->kind == FC_EX_NAME ? fc_c_dim(f, x->text) : NULL;
        if (b && b->size < 0) return -1;
    }
    fc_dim d = fc_c_eval_dim(c, f, e), bad;
    if (d == FC_DIM_NONE) return -1;
    int64_t *syms = fc_calloc(c->alloc, t->syms.len + 1, sizeof *syms);
    int64_t *values = fc_calloc(c->alloc, t->forms.len + 1, sizeof *values);
    int64_t r = -1;
    if (syms && values) {
        for (size_t i = 0; i < t->syms.len; i++) syms[i] = 1;
        for (size_t i = 0; i < f->dims.len; i++) {
            uint32_t s;
            if (f->dims.at[i].size >= 0 && fc_dim_is_sym(t, f->dims.at[i].dim, &s))
                syms[s] = f->dims.at[i].size;
        }
        if (fc_dims_eval(t, syms, values, &bad)) r = values[d];
    } else {
        fc_c_oom(c);
    }
    fc_free(c->alloc, syms);
    fc_free(c->alloc, values);
    return r;
}

/* Sizes that are not just names. */
bool fc_c_match_exprs(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k) {
    const fc_lang_input *in = &c->rq->inputs[k];
    uint32_t axis = 0;
    bool dots = p->type->dims && p->type->dims->kind == FC_EX_ELLIPSIS;
    if (dots) axis = in->rank - (p->type->rank - 1);
    for (const fc_expr *e = dots ? p->type->dims->next : p->type->dims; e; e = e->next, axis++) {
        if (fc_c_is_binder(c, f->scope, e) || e->kind == FC_EX_HOLE || in->shape[axis] < 0)
            continue;
        int64_t want = known_size(c, f, e);
        if (want < 0 || want == in->shape[axis]) continue;
        const char *text = fc_c_quote(c, e->at);
        fc_diag *d = fc_c_input_error(
            c, FUSEC_INPUT_SHAPE,
            e->kind == FC_EX_NUMBER
                ? fc_c_text(c, "axis %u of %s is %lld, but %s() takes %s: %s", axis, p->name.text,
                            (long long)in->shape[axis], f->def->name.text, p->name.text,
                            fc_c_quote(c, p->type->at))
                : fc_c_text(c, "axis %u of %s is %lld, but %s is %lld", axis, p->name.text,
                            (long long)in->shape[axis], text, (long long)want));
        size_lines(c, d, NULL, 0, p, k, axis, want);
        return false;
    }
    return true;
}

static bool match_scalar(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k) {
    const fc_lang_input *in = &c->rq->inputs[k];
    fusec_dtype t;
    bool dim = fc_c_type_class(p->type, &t) == FC_TC_DIM;
    if (!dim && !p->type->brackets) return true;
    if (!dim && p->type->rank == 1 && p->type->dims->kind == FC_EX_ELLIPSIS) {
        if (!f->has_rest) f->rest_rank = 0;
        f->has_rest = true;
        if (f->rest_rank == 0) return true;
    }
    if (dim && in->number.kind == FC_LANG_INT && !in->number.negative &&
        in->number.magnitude <= INT64_MAX) {
        fc_dim_binding *b = fc_c_dim(f, p->name.text);
        if (b && b->size < 0) {
            b->size = (int64_t)in->number.magnitude;
            b->from_input = k;
        }
        return true;
    }
    fc_diag *d = fc_c_input_error(
        c, FUSEC_INPUT_SHAPE,
        dim ? fc_c_text(c, "%s is a size of %s(): an integer that is not negative", p->name.text,
                        f->def->name.text)
            : fc_c_text(c, "%s is a number, but %s() takes %s: %s", p->name.text, f->def->name.text,
                        p->name.text, fc_c_quote(c, p->type->at)));
    fc_c_signature_line(c, f, d);
    return false;
}

bool fc_c_match_shape(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k) {
    const fc_lang_input *in = &c->rq->inputs[k];
    fusec_dtype t;
    if (in->kind == FC_LANG_SCALAR) return match_scalar(c, f, p, k);
    bool dots = p->type->dims && p->type->dims->kind == FC_EX_ELLIPSIS;
    uint32_t named = p->type->rank - dots;
    bool fits = dots ? in->rank >= named : in->rank == named;
    fits = fits && fc_c_type_class(p->type, &t) != FC_TC_DIM && in->rank <= FC_MAX_RANK;
    if (fits && dots && f->has_rest) fits = f->rest_rank == in->rank - named;
    if (!fits) {
        fc_diag *d = fc_c_input_error(c, FUSEC_INPUT_SHAPE, holds_but_takes(c, f, p, k));
        fc_c_signature_line(c, f, d);
        return false;
    }
    if (dots) f->rest_rank = in->rank - named;
    f->has_rest |= dots;
    uint32_t axis = dots ? in->rank - named : 0;
    for (const fc_expr *e = dots ? p->type->dims->next : p->type->dims; e; e = e->next, axis++)
        if (fc_c_is_binder(c, f->scope, e) && !match_name(c, f, p, k, e, axis)) return false;
    return true;
}
