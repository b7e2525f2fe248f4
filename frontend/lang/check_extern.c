/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_extern.c - functions from outside: `extern def f(x: f32) -> f32`.
 *
 * In: declarations, and who gives functions for them (compile.h). Out: for each its description,
 * and calls as nodes. Whoever compiles says which code is used; a text only names it. All
 * declarations are looked at, called or not. */
#include "frontend/lang/check_impl.h"

/* ---- declarations ---------------------------------------------------------------------------- */

/* A type of a scalar that C has. */
static bool scalar_type(fc_checker *c, const fc_ast *ast, const fc_type *t, fc_range at,
                        uint8_t *out) {
    fusec_dtype d;
    if (t && !t->brackets && fc_c_type_class(t, &d) == FC_TC_ARRAY && fc_extern_takes(d))
        return *out = (uint8_t)d, true;
    fc_diag *g = fc_c_error_in(c, ast, FUSEC_DTYPE_MISMATCH, t ? t->at : at,
                               "an extern def takes and gives scalars that C has a type for");
    fc_diag_help(g, "f32, f64, bool, i8 ... i64, u8 ... u64; a call takes arrays all the same, "
                    "element by element");
    return false;
}

static bool declared(fc_checker *c, const fc_def *def, fc_extern *x) {
    const fc_ast *ast = c->scopes.at[def->scope].ast;
    const fc_item *it = def->item;
    fusec_dtype t;
    if (fc_c_is_builtin(it->name.text) || fc_dtype_by_name(it->name.text, it->name.len, &t)) {
        fc_c_error_in(c, ast, FUSEC_DUPLICATE_NAME, it->name.at,
                      "`%s` is a builtin; an extern def has another name", it->name.text);
        return false;
    }
    if (it->param_count < 1 || it->param_count > FC_MAX_EXTERN) {
        fc_c_error_in(c, ast, FUSEC_ARGUMENT_COUNT, it->signature,
                      "an extern def has 1 to %d parameters, not %u", FC_MAX_EXTERN,
                      it->param_count);
        return false;
    }
    if (it->result_count != 1 || it->results->name.len) {
        fc_c_error_in(c, ast, FUSEC_ARGUMENT_COUNT, it->signature,
                      "an extern def has one result without a name: -> f32");
        return false;
    }
    *x = (fc_extern){.name = it->name.text};
    for (const fc_param *p = it->params; p; p = p->next) {
        if (p->fallback) {
            fc_c_error_in(c, ast, FUSEC_SYNTAX, p->at,
                          "a parameter of an extern def has no default");
            return false;
        }
        if (!scalar_type(c, ast, p->type, p->at, &x->dtype[x->nargs++])) return false;
    }
    return scalar_type(c, ast, it->results->type, it->results->at, &x->result);
}

static void find(fc_checker *c, fc_def *def) {
    const fc_ast *ast = c->scopes.at[def->scope].ast;
    const fc_extern_source *from = c->rq->externs;
    fc_extern like;
    fc_error e = {0};
    if (!declared(c, def, &like)) return;
    fusec_status s =
        from && from->find ? from->find(from->ctx, &like, &def->function, &e) : FUSEC_OK;
    if (s == FUSEC_OUT_OF_MEMORY) {
        fc_c_oom(c);
    } else if (s) {
        fc_c_error_in(c, ast, s, def->item->name.at, "%s", e.message);
    } else if (!def->function) {
        fc_diag *d =
            fc_c_error_in(c, ast, FUSEC_CALL_FAILED, def->item->name.at,
                          "`%s` is extern, and no function is given for it", def->item->name.text);
        if (from && from->help) fc_diag_help(d, "%s", from->help);
    }
}

void fc_c_read_externs(fc_checker *c) {
    for (size_t i = 0; i < c->defs.len && !c->stop; i++)
        if (c->defs.at[i].item->kind == FC_IT_EXTERN) find(c, &c->defs.at[i]);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The operands in the order of the parameters. */
static bool place(fc_checker *c, const fc_expr *e, const fc_item *def, const fc_expr **part) {
    static const char *const none[] = {NULL};
    const char *names[FC_MAX_EXTERN];
    uint32_t n = 0;
    for (const fc_param *p = def->params; p; p = p->next) names[n++] = p->name.text;
    const fc_arg_spec spec = {names, n, n, none};
    return fc_c_args(c, e, &spec, part, NULL);
}

static fc_node operand(fc_checker *c, const fc_def *def, const fc_expr *e, const fc_value *v,
                       uint32_t i) {
    const fusec_dtype t = (fusec_dtype)def->function->dtype[i];
    if (!fc_c_operand(c, e, v)) return FC_NONODE;
    if (fc_v_weak(v) || fc_v_dtype(c, v) == t) return fc_c_node(c, e, v, t);
    fc_diag *d = fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->at, "%s is %s; %s() takes %s here",
                            fc_c_quote(c, e->at), fc_c_value_type(c, v), def->item->name.text,
                            fc_dtypes[t].name);
    fc_c_fact(c, d, e, v);
    fc_diag_help(d, "%s(%s)", fc_dtypes[t].name, fc_c_quote(c, e->at));
    return FC_NONODE;
}

fc_value fc_c_extern_call(fc_checker *c, fc_call *f, const fc_expr *e, const fc_def *def) {
    const fc_expr *part[FC_MAX_EXTERN];
    fc_value v[FC_MAX_EXTERN];
    fc_node node[FC_MAX_EXTERN];
    bool good = true;
    if (!def->function || !place(c, e, def->item, part)) return FC_UNKNOWN;
    const uint32_t n = def->function->nargs;
    for (uint32_t i = 0; i < n; i++) {
        v[i] = *fc_c_val(f, part[i]);
        node[i] = operand(c, def, part[i], &v[i], i);
        good &= node[i] != FC_NONODE;
    }
    if (!good) return FC_UNKNOWN;
    const bool element = fc_c_line_up(c, n, v, node);
    if (element && !fc_c_no_arrays(c, n, part, v)) return FC_UNKNOWN;
    return fc_v_element_if(fc_c_built(c, fc_build_extern(c->g, def->function, node)), element);
}
