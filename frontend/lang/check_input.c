/* check_input.c - what was given on the command line against what the program takes.
 *
 * In: names, dtypes and sizes of the inputs; no data is looked at. Out: which parameter has which
 * input, dtype variables and sizes that follow from them, and messages in the words of both. */
#include "frontend/lang/check_impl.h"

static const fc_range nowhere = {0, 0};

const char *fc_c_input_origin(fc_checker *c, uint32_t input) {
    const fc_lang_input *in = &c->rq->inputs[input];
    return in->origin ? in->origin : fc_c_text(c, "%s=...", in->name);
}

static fc_diag *input_error(fc_checker *c, fusec_status s, const char *text) {
    return fc_diag_error(c->ds, s, NULL, nowhere, "%s", text);
}

/* "net(x: f32[n, k])      mlp.fuse:4:12" */
static void signature_line(fc_checker *c, const fc_call *f, fc_diag *d) {
    fc_pos pos = fc_source_pos(f->ast->src, f->def->name.at.begin);
    fc_str s;
    fc_str_init(&s, c->alloc);
    fc_ast_quote(f->ast, f->def->signature, &s);
    fc_diag_line(d, "%s      %s:%u:%u", s.data, f->ast->src->name, pos.line, pos.col);
    fc_c_str_free(c, &s);
}

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

/* ---- names ----------------------------------------------------------------------------------- */

static bool given_twice(fc_checker *c) {
    bool twice = false;
    for (size_t i = 0; i < c->rq->input_count; i++)
        for (size_t k = 0; k < i; k++) {
            if (strcmp(c->rq->inputs[i].name, c->rq->inputs[k].name) != 0) continue;
            input_error(c, FUSEC_DUPLICATE_INPUT,
                        fc_c_text(c, "`%s` is given twice: %s and %s", c->rq->inputs[i].name,
                                  fc_c_input_origin(c, (uint32_t)k),
                                  fc_c_input_origin(c, (uint32_t)i)));
            twice = true;
        }
    return twice;
}

static void unknown_input(fc_checker *c, fc_call *f, const fc_lang_input *in) {
    fc_diag *d = input_error(c, FUSEC_UNKNOWN_INPUT,
                             fc_c_text(c, "%s() has no input `%s`", f->def->name.text, in->name));
    signature_line(c, f, d);
    fc_suggest s;
    fc_suggest_start(&s, in->name, strlen(in->name));
    for (const fc_param *p = f->def->params; p; p = p->next) fc_suggest_try(&s, p->name.text);
    fc_suggest_help(&s, d);
}

static bool match_names(fc_checker *c, fc_call *f) {
    bool good = true;
    for (uint32_t k = 0; k < c->rq->input_count; k++) {
        const fc_lang_input *in = &c->rq->inputs[k];
        uint32_t i = 0;
        const fc_param *p = f->def->params;
        for (; p && strcmp(p->name.text, in->name) != 0; p = p->next) i++;
        fc_dim_binding *dim = fc_c_dim(f, in->name);
        if (p) {
            f->input_of[i] = k;
        } else if (dim && in->kind == FC_LANG_SCALAR && in->number.kind == FC_LANG_INT) {
            dim->size = (int64_t)in->number.magnitude;
            dim->from_input = k;
        } else {
            unknown_input(c, f, in);
            good = false;
        }
    }
    return good;
}

/* "64x10": sizes as far as they are known, for the rest 10. */
static void try_sizes(fc_call *f, const fc_type *t, fc_str *s) {
    bool first = true;
    for (const fc_expr *d = t->dims; d; d = d->next) {
        const fc_dim_binding *b = d->kind == FC_EX_NAME ? fc_c_dim(f, d->text) : NULL;
        if (d->kind == FC_EX_ELLIPSIS) continue;
        long long n = b && b->size >= 0         ? (long long)b->size
                      : d->kind == FC_EX_NUMBER ? (long long)d->number.i
                                                : 10;
        fc_str_printf(s, "%s%lld", first ? "" : "x", n);
        first = false;
    }
}

static void missing_help(fc_checker *c, fc_call *f, fc_diag *d, const bool *missing) {
    fc_str s, attempt;
    fusec_dtype t;
    uint32_t i = 0;
    fc_str_init(&s, c->alloc);
    fc_str_init(&attempt, c->alloc);
    if (c->rq->command) fc_str_add(&s, c->rq->command);
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        if (!missing[i]) continue;
        bool array = !p->type || p->type->brackets;
        if (s.len) fc_str_char(&s, ' ');
        if (array) {
            fc_str_printf(&s, "%s=FILE.npy", p->name.text);
            if (attempt.len || !p->type) continue;
            if (!fc_c_declared_dtype(f, p->type, &t)) t = c->g->default_float;
            fc_str_printf(&attempt, "%s=rand:%s:", p->name.text, fc_dtypes[t].name);
            try_sizes(f, p->type, &attempt);
        } else {
            bool known = fc_c_declared_dtype(f, p->type, &t);
            bool dim = fc_c_type_class(p->type, &t) == FC_TC_DIM;
            const char *v = dim                        ? "64"
                            : known && t == FUSEC_BOOL ? "true"
                            : known && !fc_is_float(t) ? "1"
                                                       : "0.5";
            fc_str_printf(&s, "%s=%s", p->name.text, v);
        }
    }
    if (attempt.len)
        fc_diag_help(d, "%s      (or %s to try it)", s.data, attempt.data);
    else
        fc_diag_help(d, "%s", s.data);
    fc_c_str_free(c, &s);
    fc_c_str_free(c, &attempt);
}

static bool missing_inputs(fc_checker *c, fc_call *f) {
    fc_str given, lacking, list;
    bool missing[257] = {false};
    uint32_t i = 0, n = 0, k = 0;
    fc_str_init(&given, c->alloc);
    fc_str_init(&lacking, c->alloc);
    fc_str_init(&list, c->alloc);
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        const fc_dim_binding *dim = fc_c_dim(f, p->name.text);
        bool bound = dim && dim->size >= 0;
        if (f->input_of[i] != FC_LANG_NONE)
            fc_str_printf(&given, "%s%s", given.len ? ", " : "", p->name.text);
        if (f->given[i] || p->fallback || bound) continue;
        missing[i] = true;
        n++;
        fc_str_printf(&lacking, "%s%s", lacking.len ? ", " : "", p->name.text);
    }
    i = 0;
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        if (!missing[i]) continue;
        fc_str_printf(&list, "%s`%s`", k == 0 ? "" : k + 1 == n ? " and " : ", ", p->name.text);
        k++;
    }
    if (n) {
        fc_diag *d = input_error(c, FUSEC_MISSING_INPUT,
                                 fc_c_text(c, "%s() needs %s, which %s not given",
                                           f->def->name.text, list.data, n == 1 ? "was" : "were"));
        signature_line(c, f, d);
        fc_diag_line(d, "given:   %s", given.len ? given.data : "nothing");
        fc_diag_line(d, "missing: %s", lacking.data);
        missing_help(c, f, d, missing);
    }
    fc_c_str_free(c, &given);
    fc_c_str_free(c, &lacking);
    fc_c_str_free(c, &list);
    return n > 0;
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

static bool match_dtype(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k) {
    const fc_lang_input *in = &c->rq->inputs[k];
    fusec_dtype want;
    if (!in->has_dtype || in->kind == FC_LANG_SCALAR) return true;
    if (fc_c_type_class(p->type, &want) == FC_TC_LETTER) {
        uint8_t *l = &f->letters[*p->type->name.text - 'A'];
        if (!*l) *l = (uint8_t)(in->dtype + 1);
        want = (fusec_dtype)(*l - 1);
        if (want == in->dtype || c->rq->cast) return true;
        fc_diag *d = input_error(c, FUSEC_INPUT_DTYPE,
                                 fc_c_text(c, "%s, and %s is %s here", holds_but_takes(c, f, p, k),
                                           p->type->name.text, fc_dtypes[want].name));
        signature_line(c, f, d);
        fc_diag_help(d, "--cast converts inputs to the declared type (%s)",
                     conversion(c, in, want));
        return false;
    }
    if (want == in->dtype || c->rq->cast) return true;
    fc_diag *d = input_error(c, FUSEC_INPUT_DTYPE, holds_but_takes(c, f, p, k));
    signature_line(c, f, d);
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
        input_error(c, FUSEC_INPUT_SHAPE,
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
static bool match_exprs(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k) {
    const fc_lang_input *in = &c->rq->inputs[k];
    uint32_t axis = 0;
    bool dots = p->type->dims && p->type->dims->kind == FC_EX_ELLIPSIS;
    if (dots) axis = in->rank - (p->type->rank - 1);
    for (const fc_expr *e = dots ? p->type->dims->next : p->type->dims; e; e = e->next, axis++) {
        if (fc_c_is_binder(c, e) || e->kind == FC_EX_HOLE || in->shape[axis] < 0) continue;
        int64_t want = known_size(c, f, e);
        if (want < 0 || want == in->shape[axis]) continue;
        const char *text = fc_c_quote(c, e->at);
        fc_diag *d = input_error(
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
    fc_diag *d =
        input_error(c, FUSEC_INPUT_SHAPE,
                    dim ? fc_c_text(c, "%s is a size of %s(): an integer that is not negative",
                                    p->name.text, f->def->name.text)
                        : fc_c_text(c, "%s is a number, but %s() takes %s: %s", p->name.text,
                                    f->def->name.text, p->name.text, fc_c_quote(c, p->type->at)));
    signature_line(c, f, d);
    return false;
}

static bool match_shape(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k) {
    const fc_lang_input *in = &c->rq->inputs[k];
    fusec_dtype t;
    if (in->kind == FC_LANG_SCALAR) return match_scalar(c, f, p, k);
    bool dots = p->type->dims && p->type->dims->kind == FC_EX_ELLIPSIS;
    uint32_t named = p->type->rank - dots;
    bool fits = dots ? in->rank >= named : in->rank == named;
    fits = fits && fc_c_type_class(p->type, &t) != FC_TC_DIM && in->rank <= FC_MAX_RANK;
    if (fits && dots && f->has_rest) fits = f->rest_rank == in->rank - named;
    if (!fits) {
        fc_diag *d = input_error(c, FUSEC_INPUT_SHAPE, holds_but_takes(c, f, p, k));
        signature_line(c, f, d);
        return false;
    }
    if (dots) f->rest_rank = in->rank - named;
    f->has_rest |= dots;
    uint32_t axis = dots ? in->rank - named : 0;
    for (const fc_expr *e = dots ? p->type->dims->next : p->type->dims; e; e = e->next, axis++)
        if (fc_c_is_binder(c, e) && !match_name(c, f, p, k, e, axis)) return false;
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_dims(fc_checker *c, fc_call *f) {
    fusec_dtype t;
    for (const fc_param *p = f->def->params; p; p = p->next) {
        bool dim = p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM;
        const fc_expr *e = p->type ? p->type->dims : NULL;
        for (bool first = dim; first || e; first = false) {
            const char *name = first ? p->name.text : fc_c_is_binder(c, e) ? e->text : NULL;
            if (!first) e = e->next;
            if (!name || fc_c_dim(f, name)) continue;
            fc_dim_binding b = {.name = name, .from = p, .size = -1};
            b.dim = fc_dim_named(&c->g->dims, name);
            if (!fc_push(c->alloc, &f->dims, b)) fc_c_oom(c);
        }
    }
}

bool fc_c_match_inputs(fc_checker *c, fc_call *f) {
    bool good = !given_twice(c);
    uint32_t i = 0;
    for (; i < f->def->param_count; i++) f->input_of[i] = FC_LANG_NONE;
    add_dims(c, f);
    good = good && match_names(c, f);
    i = 0;
    for (const fc_param *p = f->def->params; p && good; p = p->next, i++) {
        uint32_t k = f->input_of[i];
        f->given[i] = k != FC_LANG_NONE || !c->rq->complete;
        if (k == FC_LANG_NONE || !p->type) continue;
        good = match_dtype(c, f, p, k) && match_shape(c, f, p, k);
    }
    i = 0;
    for (const fc_param *p = f->def->params; p && good; p = p->next, i++) {
        uint32_t k = f->input_of[i];
        if (k == FC_LANG_NONE || !p->type || c->rq->inputs[k].kind == FC_LANG_SCALAR) continue;
        good = match_exprs(c, f, p, k);
    }
    if (good && c->rq->complete) good = !missing_inputs(c, f);
    i = 0;
    fusec_dtype t;
    for (const fc_param *p = f->def->params; p; p = p->next, i++)
        if (p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM && !p->fallback)
            f->given[i] = true;
    return good && !c->stop;
}

/* ---- snippets -------------------------------------------------------------------------------- */

bool fc_c_snippet_inputs(fc_checker *c) {
    return !given_twice(c);
}

bool fc_c_snippet_input(fc_checker *c, fc_call *f, const fc_expr *name) {
    uint32_t k = 0;
    while (k < c->rq->input_count && strcmp(c->rq->inputs[k].name, name->text) != 0) k++;
    if (k == c->rq->input_count) return false;
    const fc_lang_input *in = &c->rq->inputs[k];
    fc_lang_param out = {
        .name = in->name, .src = f->ast->src, .at = name->at, .input = FC_LANG_NONE, .given = k};
    fc_value v = FC_UNKNOWN;
    fc_dim shape[FC_MAX_RANK];
    c->input_used[k] = true;
    if (in->kind == FC_LANG_SCALAR) {
        v = fc_v_number(&in->number);
        out.type = "number";
    } else if (in->rank > FC_MAX_RANK) {
        fc_c_error(c, FUSEC_LIMIT, name->at, "%s has more than %d axes", in->name, FC_MAX_RANK);
    } else {
        for (uint32_t a = 0; a < in->rank; a++)
            shape[a] = in->shape[a] < 0 ? fc_dim_fresh(&c->g->dims, "_")
                                        : fc_dim_const(&c->g->dims, in->shape[a]);
        out.dtype = in->has_dtype ? in->dtype : c->g->default_float;
        out.rank = in->rank;
        v = fc_v_node(fc_c_built(c, fc_build_input(c->g, in->name, out.dtype, in->rank, shape)));
        out.input = v.kind == FC_V_UNKNOWN ? FC_LANG_NONE : (uint32_t)c->g->inputs.len - 1;
        if (v.kind != FC_V_UNKNOWN) out.type = fc_c_value_type(c, &v);
    }
    if (!fc_push(c->alloc, &c->params, out)) fc_c_oom(c);
    fc_c_bind(c, (fc_binding){.name = in->name,
                              .value = v,
                              .at = name->at,
                              .origin = fc_c_input_origin(c, k),
                              .quiet = true});
    return true;
}

static void suggest_inputs(fc_checker *c, fc_suggest *s) {
    for (size_t i = 0; i < c->rq->input_count; i++) fc_suggest_try(s, c->rq->inputs[i].name);
}

void fc_c_snippet_missing(fc_checker *c, fc_call *f, const fc_expr *name) {
    for (uint32_t i = 0; i < c->ds->len; i++) { /* one message for each name */
        const fc_diag_part *l = c->ds->at[i]->labels.first;
        if (c->ds->at[i]->code != FUSEC_MISSING_INPUT || !l) continue;
        if (l->at.end - l->at.begin == name->len &&
            memcmp(f->ast->src->text + l->at.begin, name->text, name->len) == 0)
            return;
    }
    fc_diag *d =
        input_error(c, FUSEC_MISSING_INPUT,
                    fc_c_text(c, "the expression needs `%s`, which was not given", name->text));
    fc_diag_label(d, f->ast->src, name->at, "used here");
    fc_str s;
    fc_str_init(&s, c->alloc);
    for (size_t i = 0; i < c->rq->input_count; i++)
        fc_str_printf(&s, "%s%s", i ? ", " : "", c->rq->inputs[i].name);
    fc_diag_line(d, "given: %s", s.len ? s.data : "nothing");
    fc_c_str_free(c, &s);
    fc_suggest g;
    fc_suggest_start(&g, name->text, name->len);
    suggest_inputs(c, &g);
    for (size_t i = 0; i < f->names.len; i++) fc_suggest_try(&g, f->names.at[i].name);
    for (size_t i = 0; i < c->consts.len; i++) fc_suggest_try(&g, c->consts.at[i].item->name.text);
    if (g.count)
        fc_suggest_help(&g, d);
    else
        fc_diag_help(d, "%s%s%s=FILE.npy", c->rq->command ? c->rq->command : "",
                     c->rq->command ? " " : "", name->text);
}

void fc_c_snippet_unused(fc_checker *c) {
    for (size_t i = 0; i < c->rq->input_count; i++)
        if (!c->input_used[i])
            input_error(c, FUSEC_UNKNOWN_INPUT,
                        fc_c_text(c, "the expression does not use `%s`", c->rq->inputs[i].name));
}
