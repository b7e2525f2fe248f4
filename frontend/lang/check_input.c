/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_input.c - what was given on the command line against what the program takes: names.
 *
 * In: names, dtypes and sizes of the inputs; no data is looked at. Out: which parameter has which
 * input, dtype variables and sizes that follow from them, and messages in the words of both.
 * Whether an input fits its parameter is in check_fit.c. */
#include "frontend/lang/check_impl.h"

static const fc_range nowhere = {0, 0};

const char *fc_c_input_origin(fc_checker *c, uint32_t input) {
    const fc_lang_input *in = &c->rq->inputs[input];
    return in->origin ? in->origin : fc_c_text(c, "%s=...", in->name);
}

fc_diag *fc_c_input_error(fc_checker *c, fusec_status s, const char *text) {
    return fc_diag_error(c->ds, s, NULL, nowhere, "%s", text);
}

/* "net(x: f32[n, k])      mlp.fuse:4:12" */
void fc_c_signature_line(fc_checker *c, const fc_call *f, fc_diag *d) {
    fc_pos pos = fc_source_pos(f->ast->src, f->def->name.at.begin);
    fc_str s;
    fc_str_init(&s, c->alloc);
    fc_ast_quote(f->ast, f->def->signature, &s);
    fc_diag_line(d, "%s      %s:%u:%u", s.data, f->ast->src->name, pos.line, pos.col);
    fc_c_str_free(c, &s);
}

/* ---- names ----------------------------------------------------------------------------------- */

fc_dim fc_c_input_size(fc_checker *c, const fc_lang_input *in, uint32_t axis) {
    fc_dimtab *t = &c->g->dims;
    if (in->names && in->names[axis]) return fc_dim_named(t, in->names[axis]);
    return in->shape[axis] < 0 ? fc_dim_fresh(t, "_") : fc_dim_const(t, in->shape[axis]);
}

bool fc_c_inputs_twice(fc_checker *c) {
    bool twice = false;
    for (size_t i = 0; i < c->rq->input_count; i++)
        for (size_t k = 0; k < i; k++) {
            if (strcmp(c->rq->inputs[i].name, c->rq->inputs[k].name) != 0) continue;
            fc_c_input_error(c, FUSEC_DUPLICATE_INPUT,
                             fc_c_text(c, "`%s` is given twice: %s and %s", c->rq->inputs[i].name,
                                       fc_c_input_origin(c, (uint32_t)k),
                                       fc_c_input_origin(c, (uint32_t)i)));
            twice = true;
        }
    return twice;
}

static void unknown_input(fc_checker *c, fc_call *f, const fc_lang_input *in) {
    fc_diag *d =
        fc_c_input_error(c, FUSEC_UNKNOWN_INPUT,
                         fc_c_text(c, "%s() has no input `%s`", f->def->name.text, in->name));
    fc_c_signature_line(c, f, d);
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

/* ":64x10": sizes as far as they are known, for the rest 10. False if one is computed from
 * others. */
static bool try_sizes(fc_call *f, const fc_type *t, fc_str *s) {
    bool first = true;
    for (const fc_expr *d = t->dims; d; d = d->next) {
        const fc_dim_binding *b = d->kind == FC_EX_NAME ? fc_c_dim(f, d->text) : NULL;
        if (d->kind == FC_EX_ELLIPSIS) continue;
        if (d->kind != FC_EX_NAME && d->kind != FC_EX_NUMBER && d->kind != FC_EX_HOLE) return false;
        long long n = b && b->size >= 0         ? (long long)b->size
                      : d->kind == FC_EX_NUMBER ? (long long)d->number.i
                                                : 10;
        fc_str_printf(s, "%s%lld", first ? ":" : "x", n);
        first = false;
    }
    return true;
}

/* A value for a parameter that is no array. */
static const char *some_number(fc_call *f, const fc_param *p) {
    fusec_dtype t;
    if (fc_c_type_class(p->type, &t) == FC_TC_DIM) return "10";
    if (!fc_c_declared_dtype(f, p->type, &t) || fc_is_float(t)) return "0.5";
    return t == FUSEC_BOOL ? "true" : "1";
}

/* The command with what is missing: as files, and made up to try it. */
static void missing_help(fc_checker *c, fc_call *f, fc_diag *d, const bool *missing) {
    fc_str files, made;
    fusec_dtype t;
    uint32_t i = 0, arrays = 0;
    bool can_try = true;
    fc_str_init(&files, c->alloc);
    fc_str_init(&made, c->alloc);
    if (c->rq->command) fc_str_add(&files, c->rq->command);
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        if (!missing[i]) continue;
        const char *name = p->name.text;
        if (files.len) fc_str_char(&files, ' ');
        if (made.len) fc_str_char(&made, ' ');
        if (p->type && !p->type->brackets) {
            fc_str_printf(&files, "%s=%s", name, some_number(f, p));
            fc_str_printf(&made, "%s=%s", name, some_number(f, p));
            continue;
        }
        arrays++;
        fc_str_printf(&files, "%s=FILE.npy", name);
        if (!p->type || !fc_c_declared_dtype(f, p->type, &t)) t = c->g->default_float;
        fc_str_printf(&made, "%s=rand:%s", name, fc_dtypes[t].name);
        if (p->type)
            can_try = try_sizes(f, p->type, &made) && can_try;
        else
            fc_str_add(&made, ":10x10");
    }
    if (arrays && can_try)
        fc_diag_help(d, "%s      (or %s to try it)", files.data, made.data);
    else
        fc_diag_help(d, "%s", files.data);
    fc_c_str_free(c, &files);
    fc_c_str_free(c, &made);
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
        fc_diag *d =
            fc_c_input_error(c, FUSEC_MISSING_INPUT,
                             fc_c_text(c, "%s() needs %s, which %s not given", f->def->name.text,
                                       list.data, n == 1 ? "was" : "were"));
        fc_c_signature_line(c, f, d);
        fc_diag_line(d, "given:   %s", given.len ? given.data : "nothing");
        fc_diag_line(d, "missing: %s", lacking.data);
        missing_help(c, f, d, missing);
    }
    fc_c_str_free(c, &given);
    fc_c_str_free(c, &lacking);
    fc_c_str_free(c, &list);
    return n > 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_dims(fc_checker *c, fc_call *f) {
    fusec_dtype t;
    for (const fc_param *p = f->def->params; p; p = p->next) {
        bool dim = p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM;
        const fc_expr *e = p->type ? p->type->dims : NULL;
        for (bool first = dim; first || e; first = false) {
            const char *name = first                            ? p->name.text
                               : fc_c_is_binder(c, f->scope, e) ? e->text
                                                                : NULL;
            if (!first) e = e->next;
            if (!name || fc_c_dim(f, name)) continue;
            fc_dim_binding b = {.name = name, .from = p, .size = -1};
            b.dim = fc_dim_named(&c->g->dims, name);
            if (!fc_push(c->alloc, &f->dims, b)) fc_c_oom(c);
        }
    }
}

bool fc_c_match_inputs(fc_checker *c, fc_call *f) {
    bool good = !fc_c_inputs_twice(c);
    uint32_t i = 0;
    for (; i < f->def->param_count; i++) f->input_of[i] = FC_LANG_NONE;
    add_dims(c, f);
    good = good && match_names(c, f);
    i = 0;
    for (const fc_param *p = f->def->params; p && good; p = p->next, i++) {
        uint32_t k = f->input_of[i];
        f->given[i] = k != FC_LANG_NONE || !c->rq->complete;
        if (k == FC_LANG_NONE || !p->type) continue;
        good = fc_c_match_dtype(c, f, p, k) && fc_c_match_shape(c, f, p, k);
    }
    i = 0;
    for (const fc_param *p = f->def->params; p && good; p = p->next, i++) {
        uint32_t k = f->input_of[i];
        if (k == FC_LANG_NONE || !p->type || c->rq->inputs[k].kind == FC_LANG_SCALAR) continue;
        good = fc_c_match_exprs(c, f, p, k);
    }
    if (good && c->rq->complete) good = !missing_inputs(c, f);
    i = 0;
    fusec_dtype t;
    for (const fc_param *p = f->def->params; p; p = p->next, i++)
        if (p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM && !p->fallback)
            f->given[i] = true;
    return good && !c->stop;
}
