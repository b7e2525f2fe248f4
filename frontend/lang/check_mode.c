/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_mode.c - float modes: what attributes say, and that a program has one mode.
 *
 * Definitions are put in where they are called, and the graph has one mode for all of its nodes. A
 * licence need not be used, so a definition may be compiled with fewer than its attribute gives.
 * With more it would break what the attribute promises, and that is refused. */
#include "frontend/lang/check_impl.h"

#include <fusec/fusec.h>

static const struct {
    const char *name;
    unsigned flag;
} mode_flags[] = {
    {"contract", FUSEC_MODE_CONTRACT}, {"reassoc", FUSEC_MODE_REASSOC}, {"recip", FUSEC_MODE_RECIP},
    {"nnan", FUSEC_MODE_NNAN},         {"ninf", FUSEC_MODE_NINF},       {"nsz", FUSEC_MODE_NSZ},
    {"approx", FUSEC_MODE_APPROX},     {"tf32", FUSEC_MODE_TF32},
};

static void bad_attribute(fc_checker *c, const fc_attr *a) {
    fc_diag *d =
        fc_c_error(c, FUSEC_UNKNOWN_NAME, a->name.at, "there is no attribute `%s`", a->name.text);
    fc_diag_help(d, "the float mode is @strict, @contract, @fast, @fast(contract, recip, ...) or "
                    "@wide16");
}

static unsigned fast_list(fc_checker *c, const fc_attr *a) {
    unsigned mode = 0;
    for (const fc_expr *e = a->args; e; e = e->next) {
        unsigned flag = 0;
        for (size_t i = 0; i < FC_COUNT(mode_flags); i++)
            if (e->kind == FC_EX_NAME && !e->label && strcmp(e->text, mode_flags[i].name) == 0)
                flag = mode_flags[i].flag;
        mode |= flag;
        if (flag) continue;
        fc_diag *d = fc_c_error(c, FUSEC_UNKNOWN_NAME, e->at, "%s is no flag of @fast",
                                fc_c_quote(c, e->at));
        fc_diag_help(d, "the flags are contract, reassoc, recip, nnan, ninf, nsz, approx and tf32");
    }
    return mode;
}

unsigned fc_c_float_mode(fc_checker *c, const fc_item *def) {
    unsigned mode = 0;
    bool any = false;
    for (const fc_attr *a = def->attrs; a; a = a->next) {
        const char *n = a->name.text;
        if (strcmp(n, "gradient") == 0) continue;
        any = true;
        if (strcmp(n, "fast") == 0)
            mode |= a->count ? fast_list(c, a) : (unsigned)FUSEC_MODE_FAST;
        else if (a->count)
            bad_attribute(c, a);
        else if (strcmp(n, "contract") == 0)
            mode |= FUSEC_MODE_CONTRACT;
        else if (strcmp(n, "wide16") == 0)
            mode |= FUSEC_MODE_WIDE16 | (c->rq->mode & (unsigned)FUSEC_MODE_FAST);
        else if (strcmp(n, "strict") != 0)
            bad_attribute(c, a);
    }
    return any ? mode : c->rq->mode;
}

/* "contract, recip" */
static const char *licences(fc_checker *c, unsigned mode) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    for (size_t i = 0; i < FC_COUNT(mode_flags); i++)
        if (mode & mode_flags[i].flag)
            fc_str_printf(&s, "%s%s", s.len ? ", " : "", mode_flags[i].name);
    if (mode & FUSEC_MODE_WIDE16) fc_str_printf(&s, "%swide16", s.len ? ", " : "");
    const char *t = fc_c_text(c, "%s", s.data);
    fc_c_str_free(c, &s);
    return t;
}

bool fc_c_mode_fits(fc_checker *c, const fc_expr *call, const fc_def *entry) {
    const fc_item *top = c->out->item, *def = entry->item;
    const fc_ast *ast = c->scopes.at[entry->scope].ast;
    bool any = false;
    for (const fc_attr *a = def->attrs; a; a = a->next)
        any |= strcmp(a->name.text, "gradient") != 0;
    if (!any) return true;
    unsigned own = fc_c_float_mode(c, def), more = c->out->mode & ~own;
    if (!more) return true;
    fc_range at = def->attrs->at;
    const char *text = fc_c_quote_in(c, ast, at);
    fc_diag *d =
        fc_c_error(c, FUSEC_NOT_YET, call->at,
                   "%s() is %s, and here it would become part of a program that may also use %s",
                   def->name.text, text, licences(c, more));
    fc_diag_fact_at(d, def->name.text, text, ast->src, at);
    if (top && top->attrs)
        fc_diag_help(d, "one program has one float mode: give %s() the attribute of %s()",
                     top->name.text, def->name.text);
    else
        fc_diag_help(d,
                     "one program has one float mode: leave --fast and --contract away, or the "
                     "attribute of %s()",
                     def->name.text);
    return false;
}
