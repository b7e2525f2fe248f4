/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_top.c - the definition that is compiled: its parameters become inputs of the graph.
 *
 * In: what check_input.c made of the command line. Out: the graph's inputs under the names of the
 * signature, the description of the parameters, and the signature as it is shown. */
#include "frontend/lang/check_impl.h"

static void top_symbols(fc_checker *c, fc_call *f) {
    fusec_dtype t;
    uint32_t i = 0;
    bool leading = false; /* some type has "..." */
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        bool is_dim = p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM;
        if (is_dim) {
            fc_dim d = fc_dim_named(&c->g->dims, p->name.text);
            if (!f->given[i] && !fc_c_size(c, &f->args[i], &d)) d = FC_DIM_NONE;
            fc_dim_binding *b = fc_c_dim(f, p->name.text);
            if (b) {
                b->dim = d;
            } else {
                fc_dim_binding fresh = {.name = p->name.text, .dim = d, .from = p, .size = -1};
                if (!fc_push(c->alloc, &f->dims, fresh)) fc_c_oom(c);
            }
        }
        for (const fc_expr *e = p->type ? p->type->dims : NULL; e; e = e->next) {
            leading |= e->kind == FC_EX_ELLIPSIS;
            if (!fc_c_is_binder(c, f->scope, e) || fc_c_dim(f, e->text)) continue;
            fc_dim_binding b = {.name = e->text, .from = p, .size = -1};
            b.dim = fc_dim_named(&c->g->dims, e->text);
            if (!fc_push(c->alloc, &f->dims, b)) fc_c_oom(c);
        }
    }
    if (!f->has_rest) f->rest_rank = leading;
    f->has_rest = true;
    for (uint32_t k = 0; k < f->rest_rank; k++) f->rest[k] = fc_dim_fresh(&c->g->dims, "...");
}

/* Dtype variables that no input decided. */
static void top_letters(fc_checker *c, fc_call *f) {
    fusec_dtype t;
    for (const fc_param *p = f->def->params; p; p = p->next) {
        if (!p->type || fc_c_type_class(p->type, &t) != FC_TC_LETTER) continue;
        uint8_t *l = &f->letters[*p->type->name.text - 'A'];
        if (*l) continue;
        t = c->g->default_float;
        for (size_t k = 0; k < c->rq->dtype_count; k++)
            if (c->rq->dtypes[k].letter == *p->type->name.text) t = c->rq->dtypes[k].dtype;
        *l = (uint8_t)(t + 1);
    }
}

static bool make_input(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i, fusec_dtype t,
                       uint32_t rank, const fc_dim *shape, fc_lang_param *out) {
    fc_node n = fc_c_built(c, fc_build_input(c->g, p->name.text, t, rank, shape));
    f->args[i] = fc_v_node(n);
    if (n == FC_NONODE) return false;
    out->input = (uint32_t)c->g->inputs.len - 1;
    out->dtype = t;
    out->rank = rank;
    return true;
}

/* A parameter without a type is what its input is. */
static bool untyped_param(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i,
                          fc_lang_param *out) {
    uint32_t k = f->input_of[i];
    fc_dim shape[FC_MAX_RANK];
    if (k == FC_LANG_NONE && c->rq->check) {
        f->args[i] = FC_UNKNOWN;
        return true;
    }
    if (k == FC_LANG_NONE) {
        fc_diag *d = fc_c_error(c, FUSEC_MISSING_INPUT, p->name.at,
                                "`%s` has no type, so its input must be given", p->name.text);
        fc_diag_help(d, "%s=FILE.npy, or %s=f32:1000x64 to try a type", p->name.text, p->name.text);
        return false;
    }
    const fc_lang_input *in = &c->rq->inputs[k];
    if (in->kind == FC_LANG_SCALAR) {
        f->args[i] = fc_v_number(&in->number);
        out->type = "number";
        return true;
    }
    if (in->rank > FC_MAX_RANK) {
        fc_c_error(c, FUSEC_LIMIT, p->name.at, "%s has more than %d axes", in->name, FC_MAX_RANK);
        return false;
    }
    for (uint32_t a = 0; a < in->rank; a++)
        shape[a] = fc_c_input_size(c, in, a);
    fusec_dtype t = in->has_dtype ? in->dtype : c->g->default_float;
    if (!make_input(c, f, p, i, t, in->rank, shape, out)) return false;
    out->type = fc_c_value_type(c, &f->args[i]);
    return true;
}

static const char *resolved_type(fc_checker *c, fc_call *f, const fc_type *t) {
    fusec_dtype dtype;
    const char *text = fc_c_quote_all(c, f->ast, t->at);
    bool as_written = c->rq->check && !c->rq->input_count;
    if (as_written || fc_c_type_class(t, &dtype) != FC_TC_LETTER ||
        !fc_c_declared_dtype(f, t, &dtype))
        return text;
    return fc_c_text(c, "%s%s", fc_dtypes[dtype].name, text + t->name.len);
}

static bool top_param(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i,
                      fc_lang_param *out) {
    fusec_dtype t;
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank;
    if (!p->type && !f->given[i]) return true;
    if (!p->type) return untyped_param(c, f, p, i, out);
    out->type = resolved_type(c, f, p->type);
    if (fc_c_type_class(p->type, &t) == FC_TC_DIM) {
        out->is_dim = f->given[i];
        fc_dim_is_sym(&c->g->dims, fc_c_dim(f, p->name.text)->dim, &out->sym);
        return true;
    }
    if (!f->given[i]) return f->args[i].kind != FC_V_UNKNOWN && fc_c_convert_argument(c, f, p, i);
    fc_c_declared_dtype(f, p->type, &t);
    return fc_c_declared_shape(c, f, p->type, &rank, shape) &&
           make_input(c, f, p, i, t, rank, shape, out);
}

static void write_signature(fc_checker *c, fc_call *f) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    fc_str_printf(&s, "%s(", f->def->name.text);
    for (size_t i = 0; i < c->params.len; i++)
        fc_str_printf(&s, "%s%s%s%s", i ? ", " : "", c->params.at[i].name,
                      c->params.at[i].type ? ": " : "",
                      c->params.at[i].type ? c->params.at[i].type : "");
    fc_str_char(&s, ')');
    const fc_result *r = f->def->results;
    bool many = r && r->name.len;
    if (r) fc_str_add(&s, many ? " -> (" : " -> ");
    for (const fc_result *q = r; q; q = q->next) {
        if (q->name.len) fc_str_printf(&s, "%s: ", q->name.text);
        fc_str_printf(&s, "%s%s", resolved_type(c, f, q->type), q->next ? ", " : "");
    }
    if (many) fc_str_char(&s, ')');
    c->out->signature = fc_arena_strdup(&c->out->arena, s.data, s.len);
    fc_c_str_free(c, &s);
}

bool fc_c_bind_top(fc_checker *c, fc_call *f) {
    bool good = true;
    uint32_t i = 0;
    c->cur = NULL;
    top_symbols(c, f);
    top_letters(c, f);
    for (const fc_param *p = f->def->params; p && !c->stop; p = p->next, i++) {
        fc_lang_param out = {.name = p->name.text,
                             .src = f->ast->src,
                             .at = p->name.at,
                             .input = FC_LANG_NONE,
                             .given = f->input_of[i],
                             .has_default = p->fallback != NULL};
        good &= top_param(c, f, p, i, &out);
        if (!fc_push(c->alloc, &c->params, out)) fc_c_oom(c);
    }
    if (good) fc_c_bind_names(c, f);
    if (good) write_signature(c, f);
    return good && !c->stop;
}
