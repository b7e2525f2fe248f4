/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_sig.c - signatures: types, sizes, binding of arguments.
 *
 * A signature is checked once, before anything is bound. A call then binds its dtype variables and
 * sizes from the arguments; of the definition that is compiled the parameters become inputs, and
 * the sizes are symbols with the names as written. */
#include "frontend/lang/check_impl.h"

#define PARAM_LIMIT 256

/* ---- types ----------------------------------------------------------------------------------- */

fc_type_class fc_c_type_class(const fc_type *t, fusec_dtype *dtype) {
    const char *n = t->name.text;
    if (strcmp(n, "dim") == 0) return t->brackets ? FC_TC_BAD : FC_TC_DIM;
    if (t->name.len == 1 && *n >= 'A' && *n <= 'Z') return FC_TC_LETTER;
    return fc_dtype_by_name(n, t->name.len, dtype) ? FC_TC_ARRAY : FC_TC_BAD;
}

bool fc_c_declared_dtype(fc_call *f, const fc_type *t, fusec_dtype *out) {
    fc_type_class k = fc_c_type_class(t, out);
    if (k != FC_TC_LETTER) return k == FC_TC_ARRAY;
    uint8_t l = f->letters[*t->name.text - 'A'];
    if (l) *out = (fusec_dtype)(l - 1);
    return l != 0;
}

fc_dim_binding *fc_c_dim(fc_call *f, const char *name) {
    for (size_t i = 0; i < f->dims.len; i++)
        if (strcmp(f->dims.at[i].name, name) == 0) return &f->dims.at[i];
    return NULL;
}

bool fc_c_is_binder(const fc_checker *c, uint32_t scope, const fc_expr *e) {
    uint32_t i;
    return e->kind == FC_EX_NAME && !fc_c_const(c, scope, e->text, &i);
}

/* ---- checking a signature -------------------------------------------------------------------- */

typedef struct sig {
    fc_checker *c;
    uint32_t scope;
    const fc_ast *ast;
    const fc_item *def;
    fc_namemap dims; /* names that parameters bind */
    fc_namemap params;
    uint32_t letters; /* bit set of dtype variables */
    bool rest;
    bool good;
} sig;

static const fc_type *next_type(const fc_param **p, const fc_result **r) {
    while (*p) {
        const fc_type *t = (*p)->type;
        *p = (*p)->next;
        if (t) return t;
    }
    if (!*r) return NULL;
    const fc_type *t = (*r)->type;
    *r = (*r)->next;
    return t;
}

static void ambiguous(sig *s, const fc_type *bad, const char *what, const char *help) {
    fc_diag *d = fc_c_error_in(s->c, s->ast, FUSEC_AMBIGUOUS_TYPE, bad->name.at, "`%s` %s",
                               bad->name.text, what);
    const fc_param *p = s->def->params;
    const fc_result *r = s->def->results;
    for (const fc_type *t; (t = next_type(&p, &r)) != NULL;)
        if (t != bad && strcmp(t->name.text, bad->name.text) == 0) fc_diag_partner(d, t->name.at);
    fc_diag_help(d, "write %s", help);
}

static void bad_type(sig *s, const fc_type *t) {
    const char *n = t->name.text;
    s->good = false;
    const fc_param *p = s->def->params;
    const fc_result *r = s->def->results;
    for (const fc_type *o; (o = next_type(&p, &r)) != NULL && o != t;)
        if (strcmp(o->name.text, n) == 0) return; /* one message for all of them */
    if (strcmp(n, "float") == 0) {
        ambiguous(s, t, "is 32 bits in C and 64 bits in NumPy", "f32 or f64");
    } else if (strcmp(n, "int") == 0) {
        ambiguous(s, t, "is 32 bits in C and 64 bits in NumPy", "i32 or i64");
    } else if (strcmp(n, "double") == 0) {
        ambiguous(s, t, "is a name of C; dtypes give their bits", "f64");
    } else if (strcmp(n, "half") == 0) {
        ambiguous(s, t, "does not say which 16 bits", "f16 or bf16");
    } else if (strcmp(n, "dim") == 0) {
        fc_c_error_in(s->c, s->ast, FUSEC_AMBIGUOUS_TYPE, t->at, "a dim is one size, not an array");
    } else {
        fc_diag *d = fc_c_error_in(s->c, s->ast, FUSEC_UNKNOWN_NAME, t->name.at,
                                   "there is no dtype `%s`", n);
        fc_suggest g;
        fc_suggest_start(&g, n, t->name.len);
        for (int i = 0; i < FC_DTYPE_ALL; i++) {
            fc_suggest_try(&g, fc_dtypes[i].name);
            fc_suggest_try(&g, fc_dtypes[i].long_name);
        }
        fc_suggest_help(&g, d);
    }
}

static bool put(sig *s, fc_namemap *m, const char *name, uint32_t v) {
    if (fc_namemap_put(s->c->alloc, m, name, v)) return true;
    fc_c_oom(s->c);
    return s->good = false;
}

static void signature_error(sig *s, fusec_status code, fc_range at, const char *text) {
    fc_c_error_in(s->c, s->ast, code, at, "%s", text);
    s->good = false;
}

/* Names, "..." and the form of the dims of one parameter. */
static void read_dims(sig *s, const fc_param *p) {
    uint32_t unused, i = 0;
    bool dots = false;
    for (const fc_expr *d = p->type->dims; d; d = d->next, i++) {
        if (d->kind == FC_EX_ELLIPSIS && (i > 0 || dots))
            signature_error(s, FUSEC_SYNTAX, d->at, "`...` stands first in a type, and once");
        dots |= d->kind == FC_EX_ELLIPSIS;
        if (!fc_c_is_binder(s->c, s->scope, d) || fc_namemap_get(&s->dims, d->text, &unused))
            continue;
        put(s, &s->dims, d->text, 0);
    }
    s->rest |= dots;
    if (i > FC_MAX_RANK) {
        fc_c_error_in(s->c, s->ast, FUSEC_LIMIT, p->type->at, "more than %d axes", FC_MAX_RANK);
        s->good = false;
    }
}

static void read_params(sig *s) {
    fusec_dtype t;
    uint32_t unused;
    for (const fc_param *p = s->def->params; p; p = p->next) {
        if (fc_namemap_get(&s->params, p->name.text, &unused)) {
            fc_c_error_in(s->c, s->ast, FUSEC_DUPLICATE_NAME, p->name.at,
                          "two parameters are called `%s`", p->name.text);
            s->good = false;
        }
        put(s, &s->params, p->name.text, p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM);
        if (!p->type) continue;
        switch (fc_c_type_class(p->type, &t)) {
        case FC_TC_BAD: bad_type(s, p->type); break;
        case FC_TC_LETTER: s->letters |= 1u << (*p->type->name.text - 'A'); break;
        case FC_TC_DIM: put(s, &s->dims, p->name.text, 1); break;
        default: break;
        }
        read_dims(s, p);
    }
    for (const fc_param *p = s->def->params; p; p = p->next)
        for (const fc_expr *d = p->type ? p->type->dims : NULL; d; d = d->next) {
            uint32_t is_dim;
            if (!fc_c_is_binder(s->c, s->scope, d) ||
                !fc_namemap_get(&s->params, d->text, &is_dim) || is_dim)
                continue;
            fc_diag *g = fc_c_error_in(s->c, s->ast, FUSEC_DUPLICATE_NAME, d->at,
                                       "`%s` is a parameter and a dimension", d->text);
            fc_diag_help(g, "parameters and dimensions share their names: call one of them "
                            "otherwise");
            s->good = false;
        }
}

/* "n, m     (from x)" */
static const char *known_dims(sig *s) {
    fc_checker *c = s->c;
    fc_str names, from;
    fc_namemap seen = {0};
    fusec_dtype t;
    uint32_t unused;
    fc_str_init(&names, c->alloc);
    fc_str_init(&from, c->alloc);
    for (const fc_param *p = s->def->params; p; p = p->next) {
        bool any = false, dim = p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM;
        const fc_expr *d = p->type ? p->type->dims : NULL;
        for (bool first = dim; first || d; first = false) {
            const char *n = first ? p->name.text : fc_c_is_binder(c, s->scope, d) ? d->text : NULL;
            if (!first) d = d->next;
            if (!n || fc_namemap_get(&seen, n, &unused)) continue;
            if (!fc_namemap_put(c->alloc, &seen, n, 0)) break;
            fc_str_printf(&names, "%s%s", names.len ? ", " : "", n);
            any = true;
        }
        if (any) fc_str_printf(&from, "%s%s", from.len ? ", " : "", p->name.text);
    }
    const char *text = names.len ? fc_c_text(c, "%s     (from %s)", names.data, from.data) : NULL;
    fc_c_str_free(c, &names);
    fc_c_str_free(c, &from);
    fc_free(c->alloc, seen.keys);
    fc_free(c->alloc, seen.values);
    return text;
}

static void unknown_dim(sig *s, const fc_expr *e) {
    fc_checker *c = s->c;
    s->good = false;
    fc_diag *d = fc_c_error_in(c, s->ast, FUSEC_UNKNOWN_DIM, e->at,
                               "the dimension `%s` is not known here", e->text);
    const char *known = known_dims(s);
    if (known) fc_diag_line(d, "known: %s", known);
    const char *sign = fc_c_quote_all(c, s->ast, s->def->signature);
    if (strlen(sign) > 200) return;
    fc_diag_help(d, "use the name of an argument's dimension, or add a parameter: %.*s%s%s: dim)",
                 (int)strlen(sign) - 1, sign, s->def->params ? ", " : "", e->text);
}

/* The expression of one dim: names that are known, integers, + - * // %. */
static void check_dim(sig *s, const fc_expr *root, bool result) {
    uint32_t i;
    if (root->kind == FC_EX_ELLIPSIS) {
        if (result && !s->rest)
            signature_error(s, FUSEC_UNKNOWN_DIM, root->at, "no parameter has `...`");
        return;
    }
    if (root->kind == FC_EX_HOLE) {
        if (result) signature_error(s, FUSEC_UNKNOWN_DIM, root->at, "a result has no `_`");
        return;
    }
    for (uint32_t k = root->first; k <= root->id && s->good; k++) {
        const fc_expr *e = s->ast->exprs.at[k];
        bool arith = e->kind == FC_EX_BINARY &&
                     (e->op == FC_OPER_ADD || e->op == FC_OPER_SUB || e->op == FC_OPER_MUL ||
                      e->op == FC_OPER_FLOORDIV || e->op == FC_OPER_MOD);
        arith |= e->kind == FC_EX_UNARY && (e->op == FC_OPER_NEG || e->op == FC_OPER_PLUS);
        arith |= e->kind == FC_EX_NUMBER && !e->real && !e->huge && e->number.i <= INT64_MAX;
        if (e->kind == FC_EX_NAME) {
            if (!fc_namemap_get(&s->dims, e->text, &i) && !fc_c_const(s->c, s->scope, e->text, &i))
                unknown_dim(s, e);
        } else if (!arith) {
            signature_error(s, FUSEC_UNKNOWN_DIM, e->at,
                            "a dimension is made of names, integers and + - * // %");
        }
    }
}

static void check_result_type(sig *s, const fc_type *t) {
    fusec_dtype dtype;
    uint32_t i = 0;
    switch (fc_c_type_class(t, &dtype)) {
    case FC_TC_BAD: bad_type(s, t); break;
    case FC_TC_DIM: signature_error(s, FUSEC_AMBIGUOUS_TYPE, t->at, "a result has a dtype"); break;
    case FC_TC_LETTER:
        if (s->letters >> (*t->name.text - 'A') & 1) break;
        fc_c_error_in(s->c, s->ast, FUSEC_UNKNOWN_NAME, t->name.at,
                      "no parameter has the dtype variable `%s`", t->name.text);
        s->good = false;
        break;
    default: break;
    }
    for (const fc_expr *d = t->dims; d; d = d->next, i++) {
        if (d->kind == FC_EX_ELLIPSIS && i > 0)
            signature_error(s, FUSEC_SYNTAX, d->at, "`...` stands first in a type, and once");
        check_dim(s, d, true);
    }
}

static void check_results_names(sig *s) {
    for (const fc_result *r = s->def->results; r; r = r->next)
        for (const fc_result *o = s->def->results; o != r; o = o->next)
            if (r->name.len && o->name.len && strcmp(o->name.text, r->name.text) == 0) {
                fc_c_error_in(s->c, s->ast, FUSEC_DUPLICATE_NAME, r->name.at,
                              "two results are called `%s`", r->name.text);
                s->good = false;
            }
}

bool fc_c_check_signature(fc_checker *c, fc_def *entry) {
    const fc_ast *ast = c->scopes.at[entry->scope].ast;
    const fc_item *def = entry->item;
    if (entry->state) return entry->state == 1;
    sig s = {.c = c, .scope = entry->scope, .ast = ast, .def = def, .good = true};
    if (def->param_count > PARAM_LIMIT || def->result_count > PARAM_LIMIT) {
        fc_c_error_in(c, ast, FUSEC_LIMIT, def->name.at, "more than %d %s", PARAM_LIMIT,
                      def->param_count > PARAM_LIMIT ? "parameters" : "results");
        s.good = false;
    } else {
        read_params(&s);
        for (const fc_param *p = def->params; p; p = p->next)
            for (const fc_expr *d = p->type ? p->type->dims : NULL; d; d = d->next)
                if (s.good) check_dim(&s, d, false);
        for (const fc_result *r = def->results; r; r = r->next) check_result_type(&s, r->type);
        check_results_names(&s);
    }
    fc_namemap_free(c->alloc, &s.dims);
    fc_namemap_free(c->alloc, &s.params);
    entry->state = s.good ? 1 : 2;
    return s.good;
}

/* ---- sizes of types -------------------------------------------------------------------------- */

static fc_dim dim_leaf(fc_checker *c, fc_call *f, const fc_expr *e) {
    uint32_t i;
    fc_dim d = FC_DIM_NONE;
    if (e->kind == FC_EX_NUMBER) return fc_dim_const(&c->g->dims, (int64_t)e->number.i);
    const fc_dim_binding *b = fc_c_dim(f, e->text);
    if (b) return b->dim;
    if (!fc_c_const(c, f->scope, e->text, &i)) return FC_DIM_NONE;
    const fc_value *v = &c->consts.at[i].value;
    if (v->kind != FC_V_UNKNOWN && !fc_c_size(c, v, &d))
        fc_c_error(c, FUSEC_UNKNOWN_DIM, e->at, "the const `%s` is no integer", e->text);
    return d;
}

/* `v` holds the values of the nodes from number `base` on. */
static fc_dim dim_node(fc_checker *c, fc_call *f, const fc_expr *e, const fc_dim *v,
                       uint32_t base) {
    fc_dimtab *t = &c->g->dims;
    if (e->kind == FC_EX_NUMBER || e->kind == FC_EX_NAME) return dim_leaf(c, f, e);
    fc_dim a = v[e->a->id - base];
    if (e->kind == FC_EX_UNARY)
        return e->op == FC_OPER_NEG ? fc_dim_mul(t, a, fc_dim_const(t, -1)) : a;
    fc_dim b = v[e->b->id - base];
    if (a == FC_DIM_NONE || b == FC_DIM_NONE) return FC_DIM_NONE;
    fc_dim r = FC_DIM_NONE;
    switch (e->op) {
    case FC_OPER_ADD: r = fc_dim_add(t, a, b); break;
    case FC_OPER_SUB: r = fc_dim_sub(t, a, b); break;
    case FC_OPER_MUL: r = fc_dim_mul(t, a, b); break;
    case FC_OPER_FLOORDIV: r = fc_dim_floordiv(t, a, b); break;
    case FC_OPER_MOD: r = fc_dim_mod(t, a, b); break;
    default: break;
    }
    if (r == FC_DIM_NONE && t->oom)
        fc_c_oom(c);
    else if (r == FC_DIM_NONE)
        fc_c_error(c, FUSEC_LIMIT, e->at, "the size %s %s", fc_c_quote(c, e->at), fc_dim_fault(t));
    return r;
}

fc_dim fc_c_eval_dim(fc_checker *c, fc_call *f, const fc_expr *root) {
    if (root->kind == FC_EX_NAME || root->kind == FC_EX_NUMBER) return dim_leaf(c, f, root);
    size_t n = root->id - root->first + 1;
    fc_dim *v = fc_malloc(c->alloc, n * sizeof *v);
    if (!v) {
        fc_c_oom(c);
        return FC_DIM_NONE;
    }
    c->steps += n;
    for (uint32_t i = root->first; i <= root->id; i++)
        v[i - root->first] = dim_node(c, f, f->ast->exprs.at[i], v, root->first);
    fc_dim d = v[n - 1];
    fc_free(c->alloc, v);
    return d;
}

bool fc_c_declared_shape(fc_checker *c, fc_call *f, const fc_type *t, uint32_t *rank,
                         fc_dim *shape) {
    bool good = true;
    *rank = 0;
    for (const fc_expr *d = t->dims; d; d = d->next) {
        uint32_t n = d->kind == FC_EX_ELLIPSIS ? f->rest_rank : 1;
        if (*rank + n > FC_MAX_RANK) {
            fc_c_error(c, FUSEC_LIMIT, t->at, "more than %d axes", FC_MAX_RANK);
            return false;
        }
        if (d->kind == FC_EX_ELLIPSIS) {
            memcpy(shape + *rank, f->rest, n * sizeof *shape);
            good &= f->has_rest;
        } else if (d->kind == FC_EX_HOLE) {
            shape[*rank] = fc_dim_fresh(&c->g->dims, "_");
        } else {
            shape[*rank] = fc_c_eval_dim(c, f, d);
        }
        for (uint32_t i = 0; i < n; i++) good &= shape[*rank + i] != FC_DIM_NONE;
        *rank += n;
    }
    return good;
}
