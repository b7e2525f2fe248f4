/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_bind.c - the arguments of a call to the parameters of its definition.
 *
 * In: the values of the arguments. Out: names, sizes and dtype variables of the new frame; equal
 * sizes that are not known to be equal become conditions of the graph. */
#include "frontend/lang/check_impl.h"

static const fc_expr *argument(const fc_call *f, const fc_param *p, uint32_t index) {
    uint32_t n = 0;
    for (const fc_expr *a = f->site->list; a; a = a->next) {
        if (a->label ? strcmp(a->label->text, p->name.text) == 0 : n++ == index) return a;
    }
    return f->site;
}

static fc_diag *argument_error(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i,
                               fusec_status s, const char *text) {
    const fc_expr *a = argument(f, p, i);
    fc_diag *d = fc_c_error_in(c, f->site_ast, s, a->at, "%s", text);
    fc_diag_fact_at(d, p->name.text, p->type ? fc_c_quote(c, p->type->at) : "anything", f->ast->src,
                    p->name.at);
    return d;
}

static const char *takes(fc_checker *c, fc_call *f, const fc_param *p, const char *is) {
    return fc_c_text(c, "%s() takes %s: %s, and this is %s", f->def->name.text, p->name.text,
                     fc_c_quote(c, p->type->at), is);
}

/* Axis `axis` of argument i has size `d`, and the parameter calls it `e`. */
static bool bind_axis(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i, const fc_expr *e,
                      fc_dim d) {
    fc_dim_binding *b = fc_c_dim(f, e->text);
    if (!b) {
        fc_dim_binding fresh = {.name = e->text, .dim = d, .from = p, .size = -1};
        if (!fc_push(c->alloc, &f->dims, fresh)) fc_c_oom(c);
        return !c->stop;
    }
    if (b->dim == FC_DIM_NONE) {
        b->dim = d;
        return true;
    }
    int same = fc_c_same_dim(c, b->dim, d);
    if (same == 1) return true;
    if (same == 0) {
        fc_diag *g = argument_error(
            c, f, p, i, FUSEC_SHAPE_MISMATCH,
            fc_c_text(c, "%s() has one size %s, and it is %s in %s but %s in %s", f->def->name.text,
                      e->text, fc_c_dim_text(c, b->dim), b->from ? b->from->name.text : e->text,
                      fc_c_dim_text(c, d), p->name.text));
        if (b->from && b->from->type)
            fc_diag_fact_at(g, b->from->name.text, fc_c_quote(c, b->from->type->at), f->ast->src,
                            b->from->name.at);
        return false;
    }
    fc_require(c->g, FC_CHECK_EQ, b->dim, d, FUSEC_INPUT_SHAPE, NULL);
    return fc_c_fine(c);
}

static bool bind_rest(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i, uint32_t n,
                      const fc_dim *shape) {
    if (!f->has_rest) {
        f->has_rest = true;
        f->rest_rank = n;
        memcpy(f->rest, shape, n * sizeof *shape);
        return true;
    }
    bool good = n == f->rest_rank;
    for (uint32_t k = 0; k < n && good; k++) {
        int same = fc_c_same_dim(c, f->rest[k], shape[k]);
        good = same != 0;
        if (same < 0) fc_require(c->g, FC_CHECK_EQ, f->rest[k], shape[k], FUSEC_INPUT_SHAPE, NULL);
    }
    if (good) return fc_c_fine(c);
    argument_error(c, f, p, i, FUSEC_SHAPE_MISMATCH,
                   fc_c_text(c, "the axes that `...` stands for in %s() are not the same in %s",
                             f->def->name.text, p->name.text));
    return false;
}

/* Names and "..." of a parameter's type from the argument's shape. */
static bool bind_shape(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    const fc_value *v = &f->args[i];
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank = fc_v_shape(c, v, shape), at = 0;
    bool dots = p->type->dims && p->type->dims->kind == FC_EX_ELLIPSIS;
    uint32_t named = p->type->rank - dots;
    if (dots ? rank < named : rank != named) {
        argument_error(c, f, p, i, FUSEC_SHAPE_MISMATCH,
                       takes(c, f, p, fc_v_weak(v) ? "a number" : fc_c_value_type(c, v)));
        return false;
    }
    bool good = true;
    for (const fc_expr *d = p->type->dims; d && good; d = d->next) {
        if (d->kind == FC_EX_ELLIPSIS) {
            good = bind_rest(c, f, p, i, rank - named, shape);
            at += rank - named;
            continue;
        }
        if (fc_c_is_binder(c, f->scope, d)) good = bind_axis(c, f, p, i, d, shape[at]);
        at++;
    }
    return good;
}

/* Sizes that are not just a name, when all names are bound. */
static bool check_sizes(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    uint32_t at = 0;
    for (const fc_expr *d = p->type->dims; d; d = d->next) {
        if (d->kind == FC_EX_ELLIPSIS) at += f->rest_rank;
        if (d->kind == FC_EX_ELLIPSIS) continue;
        uint32_t axis = at++;
        if (fc_c_is_binder(c, f->scope, d) || d->kind == FC_EX_HOLE) continue;
        fc_dim want = fc_c_eval_dim(c, f, d), have = fc_axis(c->g, f->args[i].node, axis);
        int same = want == FC_DIM_NONE ? 1 : fc_c_same_dim(c, want, have);
        if (same < 0) fc_require(c->g, FC_CHECK_EQ, want, have, FUSEC_INPUT_SHAPE, NULL);
        if (same == 0) {
            argument_error(c, f, p, i, FUSEC_SHAPE_MISMATCH,
                           takes(c, f, p, fc_c_value_type(c, &f->args[i])));
            return false;
        }
    }
    return fc_c_fine(c);
}

static bool bind_dtype(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    fusec_dtype have = fc_v_dtype(c, &f->args[i]), want;
    if (fc_v_weak(&f->args[i])) return true;
    if (fc_c_type_class(p->type, &want) == FC_TC_LETTER) {
        uint8_t *l = &f->letters[*p->type->name.text - 'A'];
        if (!*l) *l = (uint8_t)(have + 1);
        want = (fusec_dtype)(*l - 1);
    }
    if (want == have) return true;
    const char *is = fc_c_value_type(c, &f->args[i]);
    const char *text =
        fc_c_type_class(p->type, &want) == FC_TC_LETTER
            ? fc_c_text(c, "%s() has one dtype %s, which is %s, and this is %s", f->def->name.text,
                        p->type->name.text,
                        fc_dtypes[f->letters[*p->type->name.text - 'A'] - 1].name, is)
            : takes(c, f, p, is);
    fc_c_declared_dtype(f, p->type, &want);
    fc_diag *d = argument_error(c, f, p, i, FUSEC_DTYPE_MISMATCH, text);
    fc_diag_help(d, "nothing converts by itself: write %s(%s)", fc_dtypes[want].name,
                 fc_c_quote_in(c, f->site_ast, argument(f, p, i)->at));
    return false;
}

static bool bind_size(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    fc_dim d = FC_DIM_NONE;
    const fc_value *v = &f->args[i];
    if (v->kind != FC_V_UNKNOWN && !fc_c_size(c, v, &d)) {
        argument_error(c, f, p, i, FUSEC_DTYPE_MISMATCH,
                       fc_c_text(c, "%s() takes a size for %s: a dim, or an integer constant",
                                 f->def->name.text, p->name.text));
        return false;
    }
    fc_dim_binding b = {.name = p->name.text, .dim = d, .from = p, .size = -1};
    if (!fc_push(c->alloc, &f->dims, b)) fc_c_oom(c);
    return !c->stop;
}

/* What depends on an argument that is not known is not known either. */
static void bind_nothing(fc_checker *c, fc_call *f, const fc_param *p) {
    for (const fc_expr *d = p->type ? p->type->dims : NULL; d; d = d->next) {
        if (!fc_c_is_binder(c, f->scope, d) || fc_c_dim(f, d->text)) continue;
        fc_dim_binding b = {.name = d->text, .dim = FC_DIM_NONE, .from = p, .size = -1};
        if (!fc_push(c->alloc, &f->dims, b)) fc_c_oom(c);
    }
}

/* Weak values and defaults get the declared dtype, and a scalar default of an array its shape. */
bool fc_c_convert_argument(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    fc_value *v = &f->args[i];
    fusec_dtype t;
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank = 0;
    const fc_expr *at = f->given[i] ? NULL : p->fallback;
    if (!fc_v_weak(v) && f->given[i]) return true;
    if (fc_c_type_class(p->type, &t) == FC_TC_LETTER && !f->letters[*p->type->name.text - 'A']) {
        t = fc_c_default_dtype(c, v);
        if (f->top && t == FUSEC_I64) t = c->g->default_float;
        f->letters[*p->type->name.text - 'A'] = (uint8_t)(t + 1);
    }
    if (!fc_c_declared_dtype(f, p->type, &t)) return false;
    if (!fc_v_weak(v) && fc_v_dtype(c, v) != t) {
        fc_c_error(c, FUSEC_DTYPE_MISMATCH, p->fallback->at, "%s is %s, and its default is %s",
                   p->name.text, fc_dtypes[t].name, fc_c_value_type(c, v));
        return false;
    }
    fc_call *own = c->f;
    const fc_expr *e = at ? at : argument(f, p, i);
    if (!at) { /* a literal that does not fit is a mistake of the caller */
        for (size_t k = c->calls.len; k-- > 0;)
            if (c->calls.at[k] == f && k > 0) c->f = c->calls.at[k - 1];
    }
    fc_node n = fc_c_node(c, e, v, t);
    c->f = own;
    *v = fc_v_like(n, v);
    if (n == FC_NONODE) return false;
    if (f->given[i] || !p->type->brackets) return true;
    if (!fc_c_declared_shape(c, f, p->type, &rank, shape)) return false;
    *v = fc_v_node(fc_c_built(c, fc_build_broadcast(c->g, n, rank, shape)));
    return v->kind != FC_V_UNKNOWN;
}

void fc_c_bind_names(fc_checker *c, fc_call *f) {
    uint32_t i = 0;
    fusec_dtype t;
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        fc_c_value_name(c, f, p->name.text, p->name.at);
        if (p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM) continue;
        const char *origin = f->top && f->input_of[i] != FC_LANG_NONE && !p->type
                                 ? fc_c_input_origin(c, f->input_of[i])
                                 : NULL;
        fc_c_bind(c, (fc_binding){.name = p->name.text,
                                  .value = f->args[i],
                                  .at = p->name.at,
                                  .type = p->type,
                                  .origin = origin,
                                  .quiet = true});
    }
}

bool fc_c_bind_call(fc_checker *c, fc_call *f) {
    fusec_dtype t;
    bool good = true;
    uint32_t i = 0;
    c->cur = NULL;
    for (const fc_param *p = f->def->params; p; p = p->next, i++)
        if (p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM) good &= bind_size(c, f, p, i);
    i = 0;
    for (const fc_param *p = f->def->params; p && good; p = p->next, i++) {
        if (!p->type || !f->given[i] || fc_c_type_class(p->type, &t) == FC_TC_DIM) continue;
        if (f->args[i].kind == FC_V_UNKNOWN) {
            bind_nothing(c, f, p);
            continue;
        }
        c->f = c->calls.at[c->calls.len - 2];
        good = fc_c_operand(c, argument(f, p, i), &f->args[i]);
        c->f = f;
        good = good && bind_shape(c, f, p, i) && bind_dtype(c, f, p, i);
    }
    i = 0;
    for (const fc_param *p = f->def->params; p && good; p = p->next, i++) {
        if (!p->type || fc_c_type_class(p->type, &t) == FC_TC_DIM) continue;
        if (f->args[i].kind == FC_V_UNKNOWN) continue;
        if (f->given[i]) good = check_sizes(c, f, p, i);
        good = good && fc_c_convert_argument(c, f, p, i);
    }
    if (good) fc_c_bind_names(c, f);
    c->steps += f->dims.len * f->dims.len / 64; /* looking names up takes time */
    return good && !c->stop;
}
