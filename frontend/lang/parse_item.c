/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse_item.c - what stands at the top of a file: imports, consts, defs with their signatures.
 *
 * After a mistake in a signature or a const the rest of that definition is skipped. */
#include "frontend/lang/parse_impl.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* dim = arith | "..." | "_" ; */
static fc_expr *parse_dim(fc_parser *p) {
    if (fc_peek(p) == FC_TOK_ELLIPSIS) return fc_expr_leaf(p, FC_EX_ELLIPSIS, p->at++);
    if (fc_peek(p) == FC_TOK_HOLE) return fc_expr_leaf(p, FC_EX_HOLE, p->at++);
    if (fc_peek(p) == FC_TOK_RBRACK) {
        fc_diag *d = fc_expected(p, "a dimension");
        fc_diag_help(d, "a scalar has no brackets");
        return NULL;
    }
    return fc_parse_expr(p, FC_LV_ARITH);
}

/* dims = dim { "," dim } ; */
static bool parse_dims(fc_parser *p, fc_type *t) {
    fc_expr **link = &t->dims;
    uint32_t open = p->at;
    p->toks[p->at++].role = FC_ROLE_POSTFIX;
    t->brackets = true;
    do {
        fc_expr *d = parse_dim(p);
        if (!d) return false;
        *link = d;
        link = &d->next;
        t->rank++;
    } while (fc_accept(p, FC_TOK_COMMA));
    if (fc_accept(p, FC_TOK_RBRACK)) return true;
    fc_expected_close(p, "`,` or `]`", open);
    return false;
}

/* type = NAME [ "[" dims "]" ] ; */
fc_type *fc_parse_type(fc_parser *p) {
    uint32_t from = p->at;
    fc_type *t = fc_node(p, sizeof *t);
    if (!t || !fc_expect_name(p, "a type", &t->name)) return NULL;
    p->toks[from].role = FC_ROLE_DTYPE;
    if (fc_peek(p) == FC_TOK_LBRACK && !parse_dims(p, t)) return NULL;
    t->at = fc_since(p, from);
    return t;
}

/* ":" type, if there is one */
static bool optional_type(fc_parser *p, fc_type **out) {
    if (fc_peek(p) != FC_TOK_COLON) return true;
    p->toks[p->at++].role = FC_ROLE_TYPE;
    *out = fc_parse_type(p);
    return *out != NULL;
}

/* ---- signatures ------------------------------------------------------------------------------ */

/* param = NAME [ ":" type ] [ "=" expr ] ; */
static fc_param *parse_param(fc_parser *p) {
    uint32_t from = p->at;
    fc_param *x = fc_node(p, sizeof *x);
    if (!x || !fc_expect_name(p, "a parameter", &x->name) || !optional_type(p, &x->type))
        return NULL;
    if (fc_accept(p, FC_TOK_ASSIGN)) {
        x->fallback = fc_parse_expr(p, FC_LV_EXPR);
        if (!x->fallback) return NULL;
    }
    x->at = fc_since(p, from);
    return x;
}

/* params = param { "," param } [ "," ] ; here with the parentheses */
static bool parse_params(fc_parser *p, fc_item *f) {
    uint32_t open = p->at;
    fc_param **link = &f->params;
    if (!fc_expect(p, FC_TOK_LPAREN, "`(`")) return false;
    p->toks[open].role = FC_ROLE_POSTFIX;
    while (fc_peek(p) != FC_TOK_RPAREN) {
        fc_param *x = parse_param(p);
        if (!x) return false;
        *link = x;
        link = &x->next;
        f->param_count++;
        if (!fc_accept(p, FC_TOK_COMMA)) break;
    }
    if (fc_accept(p, FC_TOK_RPAREN)) return true;
    fc_expected_close(p, "`,` or `)`", open);
    return false;
}

/* result = NAME ":" type ; */
static fc_result *parse_result(fc_parser *p) {
    uint32_t from = p->at;
    fc_result *r = fc_node(p, sizeof *r);
    if (!r || !fc_expect_name(p, "the name of a result", &r->name)) return NULL;
    if (fc_peek(p) != FC_TOK_COLON) fc_expected(p, "`:`");
    if (fc_peek(p) != FC_TOK_COLON || !optional_type(p, &r->type)) return NULL;
    r->at = fc_since(p, from);
    return r;
}

/* results = type | "(" result { "," result } [ "," ] ")" ; */
static bool parse_results(fc_parser *p, fc_item *f) {
    uint32_t open = p->at;
    fc_result **link = &f->results;
    if (fc_peek(p) != FC_TOK_LPAREN) {
        fc_result *r = fc_node(p, sizeof *r);
        if (!r) return false;
        r->type = fc_parse_type(p);
        r->at = fc_since(p, open);
        f->results = r;
        f->result_count = 1;
        return r->type != NULL;
    }
    p->at++;
    do {
        fc_result *r = parse_result(p);
        if (!r) return false;
        *link = r;
        link = &r->next;
        f->result_count++;
    } while (fc_accept(p, FC_TOK_COMMA) && fc_peek(p) != FC_TOK_RPAREN);
    if (fc_accept(p, FC_TOK_RPAREN)) return true;
    fc_expected_close(p, "`,` or `)`", open);
    return false;
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* The comment lines directly above the line that `begin` is on. */
static fc_range comment_above(const fc_source *src, uint32_t begin) {
    uint32_t line = fc_source_line_of(src, begin), first = line, i = begin;
    while (i > src->lines[line - 1] && strchr(" \t", src->text[i - 1])) i--;
    bool alone = i == src->lines[line - 1]; /* nothing stands before it in its line */
    while (alone && first > 1) {
        fc_range r = fc_source_line(src, first - 1);
        while (r.begin < r.end && (src->text[r.begin] == ' ' || src->text[r.begin] == '\t'))
            r.begin++;
        if (r.begin == r.end || src->text[r.begin] != '#') break;
        first--;
    }
    if (first == line) return (fc_range){begin, begin};
    return (fc_range){fc_source_line(src, first).begin, fc_source_line(src, line - 1).end};
}

/* attr = "@" NAME [ "(" [ args ] ")" ] eos ; */
static fc_attr *parse_attr(fc_parser *p) {
    uint32_t from = p->at;
    fc_attr *a = fc_node(p, sizeof *a);
    if (!a) return NULL;
    p->toks[p->at++].role = FC_ROLE_ATTR;
    if (fc_peek(p) != FC_TOK_NAME) {
        fc_expect_name(p, "the name of an attribute", &a->name);
        return NULL;
    }
    uint32_t name = p->at;
    fc_expr *e = fc_parse_expr(p, FC_LV_POSTFIX);
    if (!e) return NULL;
    const fc_expr *what = e->kind == FC_EX_CALL ? e->callee : e;
    if (what->kind != FC_EX_NAME || what->parens || e->parens) {
        fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, e->outer, "an attribute is @name or @name(...)");
        return NULL;
    }
    if (!fc_name_from(p, name, &a->name)) return NULL;
    a->parens = e->kind == FC_EX_CALL;
    a->args = a->parens ? e->list : NULL;
    a->count = a->parens ? e->count : 0;
    a->at = fc_since(p, from);
    return fc_end_of_statement(p) ? a : NULL;
}

/* body = "=" expr eos | block eos ; */
static bool parse_body(fc_parser *p, fc_item *f, uint32_t from) {
    if (fc_accept(p, FC_TOK_ASSIGN)) {
        f->value = fc_parse_expr(p, FC_LV_EXPR);
        if (!f->value) return false;
    } else if (fc_peek(p) == FC_TOK_LBRACE) {
        uint32_t brace = p->at++;
        f->block = true;
        if (!fc_parse_block(p, brace, &f->body)) return false;
        f->end_brace = fc_tok_range(p, p->at - 1);
    } else {
        bool colon = fc_peek(p) == FC_TOK_COLON;
        fc_diag *d = fc_expected(p, f->results ? "`=` or `{`" : "`->`, `=` or `{`");
        if (colon) fc_diag_help(d, "a body is written = expr, or { ... return expr }");
        return false;
    }
    f->at = fc_since(p, from);
    return fc_end_of_statement(p);
}

/* NAME "(" [ params ] ")" [ "->" results ], behind the word "def" */
static bool parse_head(fc_parser *p, fc_item *f, uint32_t def) {
    uint32_t name = p->at;
    if (!fc_expect_name(p, "the name of the definition", &f->name) || !parse_params(p, f))
        return false;
    f->signature = fc_since(p, name);
    if (fc_accept(p, FC_TOK_ARROW) && !parse_results(p, f)) return false;
    f->full = fc_since(p, def);
    return true;
}

/* func = { attr } [ "export" ] "def" NAME "(" [ params ] ")" [ "->" results ] body ; */
static fc_item *parse_func(fc_parser *p) {
    uint32_t from = p->at;
    fc_item *f = fc_node(p, sizeof *f);
    if (!f) return NULL;
    f->kind = FC_IT_DEF;
    f->doc = comment_above(p->src, p->toks[from].begin);
    for (fc_attr **link = &f->attrs; fc_peek(p) == FC_TOK_AT; link = &(*link)->next)
        if (!(*link = parse_attr(p))) return NULL;
    f->exported = fc_accept(p, FC_TOK_EXPORT);
    uint32_t def = p->at;
    if (!fc_expect(p, FC_TOK_DEF, f->exported ? "`def`" : "`export` or `def`")) return NULL;
    return parse_head(p, f, def) && parse_body(p, f, from) ? f : NULL;
}

/* extern = "extern" "def" NAME "(" params ")" "->" type eos ; */
static fc_item *parse_extern(fc_parser *p) {
    uint32_t from = p->at++, def = p->at;
    fc_item *f = fc_node(p, sizeof *f);
    if (!f || !fc_expect(p, FC_TOK_DEF, "`def`")) return NULL;
    f->kind = FC_IT_EXTERN;
    f->doc = comment_above(p->src, p->toks[from].begin);
    if (!parse_head(p, f, def)) return NULL;
    if (fc_peek(p) == FC_TOK_ASSIGN || fc_peek(p) == FC_TOK_LBRACE) {
        fc_diag *d = fc_expected(p, "a new line");
        fc_diag_help(d, "an extern def has no body: it is in the file that --extern names");
        return NULL;
    }
    f->at = fc_since(p, from);
    return fc_end_of_statement(p) ? f : NULL;
}

/* const = "const" NAME [ ":" type ] "=" expr eos ; */
static fc_item *parse_const(fc_parser *p) {
    uint32_t from = p->at++;
    fc_item *c = fc_node(p, sizeof *c);
    if (!c || !fc_expect_name(p, "the name of the const", &c->name)) return NULL;
    c->kind = FC_IT_CONST;
    if (!optional_type(p, &c->type)) return NULL;
    if (fc_peek(p) == FC_TOK_ASSIGN) p->toks[p->at].role = FC_ROLE_BIND;
    if (!fc_expect(p, FC_TOK_ASSIGN, c->type ? "`=`" : "`:` or `=`")) return NULL;
    c->value = fc_parse_expr(p, FC_LV_EXPR);
    c->at = fc_since(p, from);
    return c->value && fc_end_of_statement(p) ? c : NULL;
}

static bool parse_path(fc_parser *p, fc_item *i) {
    uint32_t len;
    if (fc_peek(p) != FC_TOK_STRING) {
        fc_expected(p, "the path in quotes");
        return false;
    }
    i->path_at = fc_tok_range(p, p->at);
    i->path = fc_string_value(p, p->at++, &len);
    return i->path != NULL;
}

/* NAME { "," NAME } */
static bool parse_names(fc_parser *p, fc_item *i) {
    uint32_t first = p->at;
    do {
        fc_name unused;
        if (!fc_expect_name(p, "a name", &unused)) return false;
        i->name_count++;
    } while (fc_accept(p, FC_TOK_COMMA));
    i->names = fc_node(p, i->name_count * sizeof *i->names);
    if (!i->names) return false;
    for (uint32_t n = 0; n < i->name_count; n++)
        if (!fc_name_from(p, first + 2 * n, &i->names[n])) return false;
    return true;
}

/* import = "import" STRING [ "as" NAME ] eos | "from" STRING "import" NAME { "," NAME } eos ; */
static fc_item *parse_import(fc_parser *p) {
    bool from_path = fc_peek(p) == FC_TOK_FROM;
    uint32_t from = p->at++;
    fc_item *i = fc_node(p, sizeof *i);
    if (!i) return NULL;
    i->kind = from_path ? FC_IT_FROM : FC_IT_IMPORT;
    if (!parse_path(p, i)) return NULL;
    if (from_path) {
        if (!fc_expect(p, FC_TOK_IMPORT, "`import`") || !parse_names(p, i)) return NULL;
    } else if (fc_accept(p, FC_TOK_AS)) {
        if (!fc_expect_name(p, "a name for the module", &i->name)) return NULL;
    }
    i->at = fc_since(p, from);
    return fc_end_of_statement(p) ? i : NULL;
}

static void no_item(fc_parser *p) {
    bool binds = fc_peek(p) == FC_TOK_NAME && fc_peek2(p) == FC_TOK_ASSIGN;
    fc_range at = fc_tok_range(p, p->at);
    if (fc_peek(p) == FC_TOK_RBRACE) {
        fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at, "nothing opens this `}`");
        p->at++;
        return;
    }
    fc_diag *d = fc_expected(p, "`def`, `export`, `extern`, `const` or `import`");
    if (binds)
        fc_diag_help(d, "const %.*s = ... for a constant; any other value belongs into a def",
                     (int)(at.end - at.begin), p->src->text + at.begin);
}

/* item = import | const | func | extern ; */
static fc_item *parse_item(fc_parser *p) {
    switch (fc_peek(p)) {
    case FC_TOK_IMPORT:
    case FC_TOK_FROM: return parse_import(p);
    case FC_TOK_CONST: return parse_const(p);
    case FC_TOK_DEF:
    case FC_TOK_EXPORT:
    case FC_TOK_AT: return parse_func(p);
    case FC_TOK_EXTERN: return parse_extern(p);
    default: no_item(p); return NULL;
    }
}

/* program = { NL } { item } ; */
void fc_parse_items(fc_parser *p) {
    fc_item **link = &p->ast->items;
    fc_skip_newlines(p);
    while (fc_peek(p) != FC_TOK_EOF && !p->stop) {
        uint32_t depth = p->depth;
        fc_item *i = parse_item(p);
        p->depth = depth;
        if (i) {
            *link = i;
            link = &i->next;
        } else if (!p->stop) {
            fc_sync_item(p);
        }
        fc_skip_newlines(p);
    }
}
