/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_user.c - calls of definitions: a frame for the body, and the arguments in the order of the
 * parameters. */
#include "frontend/lang/check_impl.h"

static void recursion(fc_checker *c, const fc_expr *e, const fc_item *def) {
    const char *name = def->name.text, *by = c->f->def ? c->f->def->name.text : name;
    if (c->f->def == def)
        fc_c_error(c, FUSEC_RECURSION, e->at,
                   "%s() calls itself: definitions are put in where they are called", name);
    else
        fc_c_error(c, FUSEC_RECURSION, e->at,
                   "%s() calls %s(), which leads back to %s(): definitions are put in where they "
                   "are called",
                   by, name, by);
}

static const char *missing_text(fc_checker *c, const fc_call *f) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    uint32_t i = 0, n = 0, k = 0;
    for (const fc_param *p = f->def->params; p; p = p->next, i++) n += !f->given[i] && !p->fallback;
    i = 0;
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        if (f->given[i] || p->fallback) continue;
        fc_str_printf(&s, "%s`%s`", k == 0 ? "" : k + 1 == n ? " and " : ", ", p->name.text);
        k++;
    }
    const char *t = fc_c_text(c, "%s %s missing", s.data, n == 1 ? "is" : "are");
    fc_c_str_free(c, &s);
    return n ? t : NULL;
}

static void argument_count(fc_checker *c, fc_call *f, const fc_expr *e, uint32_t got) {
    const fc_item *def = f->def;
    uint32_t most = def->param_count, least = 0, missing = 0, i = 0;
    const fc_param *last = NULL;
    for (const fc_param *p = def->params; p; p = p->next, i++) {
        least += p->fallback == NULL;
        if (!f->given[i] && !p->fallback) last = p, missing++;
    }
    const char *why = got <= most ? missing_text(c, f) : NULL;
    const char *takes = least == most ? fc_c_text(c, "%u argument%s", most, most == 1 ? "" : "s")
                                      : fc_c_text(c, "%u to %u arguments", least, most);
    const char *name = def->name.text;
    fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at, "%s() takes %s and got %u%s%s", name,
                            takes, got, why ? ": " : "", why ? why : "");
    fc_pos pos = fc_source_pos(f->ast->src, def->name.at.begin);
    fc_diag_line(d, "defined: %s:%u:%u    def %s", f->ast->src->name, pos.line, pos.col,
                 fc_c_quote_all(c, f->ast, def->signature));
    bool scalar = last && (!last->type || !last->type->brackets);
    if (!why || missing != 1 || !scalar || last->next) return;
    fusec_dtype t;
    bool whole =
        last->type && (fc_c_type_class(last->type, &t) == FC_TC_DIM ||
                       (fc_c_type_class(last->type, &t) == FC_TC_ARRAY && !fc_is_float(t)));
    const char *text = fc_c_quote_all(c, c->f->ast, e->at), *v = whole ? "1" : "0.01";
    if (!d || strlen(text) > 200) return;
    fc_diag_help(d, "%.*s%s%s), or give %s a default in the definition: %s = %s",
                 (int)strlen(text) - 1, text, e->count ? ", " : "", v, last->name.text,
                 last->name.text, v);
}

/* The arguments in the order of the parameters, into the new frame. */
static bool place_arguments(fc_checker *c, fc_call *to, fc_call *f, const fc_expr *e) {
    uint32_t n = 0, got = 0;
    for (const fc_expr *a = e->list; a; a = a->next) {
        uint32_t i = 0;
        const fc_param *p = to->def->params;
        got++;
        if (!a->label) {
            i = n++;
            if (i >= to->def->param_count) continue;
        } else {
            for (; p && strcmp(p->name.text, a->label->text) != 0; p = p->next) i++;
            if (!p) {
                fc_diag *d =
                    fc_c_error(c, FUSEC_ARGUMENT_COUNT, a->label->at, "%s() has no parameter `%s`",
                               to->def->name.text, a->label->text);
                fc_suggest s;
                if (!d) return false;
                fc_suggest_start(&s, a->label->text, a->label->len);
                for (p = to->def->params; p; p = p->next) fc_suggest_try(&s, p->name.text);
                fc_suggest_help(&s, d);
                return false;
            }
        }
        if (to->given[i]) return fc_c_given_twice(c, a, a->label ? a->label->text : "");
        to->given[i] = true;
        to->args[i] = *fc_c_val(f, a);
    }
    bool complete = n <= to->def->param_count;
    uint32_t i = 0;
    for (const fc_param *p = to->def->params; p; p = p->next, i++)
        complete &= to->given[i] || p->fallback;
    if (!complete) argument_count(c, to, e, got);
    return complete;
}

bool fc_c_may_call(fc_checker *c, const fc_expr *e, fc_def *def) {
    if (def->item->kind == FC_IT_EXTERN) {
        fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at, "`%s` is extern and has no body",
                                def->item->name.text);
        fc_diag_help(d, "name a def that calls it");
        return false;
    }
    for (size_t i = 0; i < c->calls.len; i++) {
        if (c->calls.at[i]->def != def->item) continue;
        recursion(c, e, def->item);
        return false;
    }
    return fc_c_check_signature(c, def) && fc_c_mode_fits(c, e, def);
}

bool fc_c_user_call(fc_checker *c, fc_call *f, const fc_expr *e, fc_def *def) {
    def->called = true;
    for (const fc_expr *a = e->list; a; a = a->next) {
        const fc_value *v = fc_c_val(f, a);
        if (v->kind >= FC_V_TUPLE && !fc_v_is_list(v) && !fc_c_operand(c, a, v)) return true;
    }
    if (def->item->kind == FC_IT_EXTERN) {
        const fc_value v = fc_c_extern_call(c, f, e, def);
        return *fc_c_val(f, e) = v, true;
    }
    if (!fc_c_may_call(c, e, def)) return true;
    fc_call *to = fc_c_push(c, def->scope, def->item);
    if (!to) return false;
    c->f = f; /* messages are about the call */
    to->site = e;
    to->site_ast = f->ast;
    for (const fc_expr *a = e->list; a; a = a->next)
        if (fc_v_element(fc_c_val(f, a))) to->base = fc_c_axes_at(f, e);
    bool good = place_arguments(c, to, f, e);
    c->f = to;
    if (good) return false;
    fc_c_drop(c);
    return true;
}
