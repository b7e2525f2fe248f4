/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse_stmt.c - statements, blocks and snippets.
 *
 * Nested loops are kept on a stack of open blocks, so the depth of a program costs no C stack. A
 * mistake in one statement is reported and the next statement is read; only a missing "}" ends the
 * block. */
#include "frontend/lang/parse_impl.h"

static fc_stmt *new_stmt(fc_parser *p, fc_stmt_kind kind) {
    fc_stmt *s = fc_node(p, sizeof *s);
    if (s) s->kind = (uint8_t)kind;
    return s;
}

static bool bad_target(fc_parser *p, const fc_expr *e) {
    fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, e->outer,
                  "only a name or name[index, ...] can stand on the left of `=`");
    return false;
}

static void as_name(const fc_expr *e, fc_name *out) {
    *out = (fc_name){e->text, e->len, e->at};
}

/* NAME "[" index { "," index } "]" ;   index = NAME [ "in" range ] ; */
static bool define_target(fc_parser *p, fc_stmt *s, const fc_expr *e) {
    const fc_expr *name = e->callee;
    if (e->parens || name->kind != FC_EX_NAME || name->parens) return bad_target(p, e);
    for (const fc_expr *i = e->list; i; i = i->next)
        if ((i->kind != FC_EX_NAME && i->kind != FC_EX_INDEX) || i->parens) {
            fc_diag *d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, i->outer,
                                       "an index on the left of `=` is a name, or name in a..b");
            if (i->kind == FC_EX_SUBSCRIPT || i->kind == FC_EX_NUMBER)
                fc_diag_help(d,
                             "scatter(%.*s, index, values, op=\"set\") stores at computed places",
                             (int)name->len, name->text);
            return false;
        }
    s->kind = FC_ST_DEFINE;
    s->indices = e->list;
    as_name(name, &s->targets[0]);
    return true;
}

/* Reads expressions again as the targets of "=". */
static bool targets(fc_parser *p, fc_stmt *s, const fc_expr *list, uint32_t count) {
    s->targets = fc_node(p, count * sizeof *s->targets);
    if (!s->targets) return false;
    s->target_count = count;
    if (count == 1 && list->kind == FC_EX_SUBSCRIPT) return define_target(p, s, list);
    for (uint32_t i = 0; i < count; i++, list = list->next) {
        if (list->kind != FC_EX_NAME || list->parens) return bad_target(p, list);
        as_name(list, &s->targets[i]);
    }
    return true;
}

/* NAME "[" ( expr | NAME "in" range ) { "," ... } "]" "+=" expr */
static fc_stmt *parse_put(fc_parser *p, fc_stmt *s, uint32_t from, fc_expr *target,
                          uint32_t count) {
    const fc_range at = fc_tok_range(p, p->at);
    const bool subscript = count == 1 && target->kind == FC_EX_SUBSCRIPT && !target->parens;
    if (!subscript || target->a->kind != FC_EX_NAME || target->a->parens) {
        const bool name = count == 1 && target->kind == FC_EX_NAME;
        fc_diag *d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, at,
                                   name ? "there is no `+=` of a whole value"
                                        : "on the left of `+=` stands name[index, ...]");
        if (name) fc_diag_help(d, "%s = %s + ...", target->text, target->text);
        return NULL;
    }
    p->at++;
    fc_expr *value = fc_parse_expr(p, FC_LV_EXPR);
    s->targets = value ? fc_node(p, sizeof *s->targets) : NULL;
    s->value = s->targets ? fc_expr_new(p, FC_EX_PUT, target, fc_since(p, from)) : NULL;
    if (!s->value) return NULL;
    s->value->op_at = at;
    s->value->a = target;
    s->value->b = value;
    s->target_count = s->value_count = 1;
    as_name(target->a, &s->targets[0]);
    s->at = fc_since(p, from);
    return s;
}

/* assign = NAME { "," NAME } "=" expr | NAME "[" index { "," index } "]" "=" expr ;
 * and parse_put. In a snippet also: exprs, the result. */
static fc_stmt *parse_assign(fc_parser *p, bool result) {
    uint32_t from = p->at, count;
    fc_stmt *s = new_stmt(p, FC_ST_BIND);
    fc_expr *list = s ? fc_parse_exprs(p, &count) : NULL;
    if (!list) return NULL;
    if (fc_peek(p) == FC_TOK_PLUS_ASSIGN) return parse_put(p, s, from, list, count);
    if (fc_peek(p) == FC_TOK_ASSIGN) {
        p->toks[p->at++].role = FC_ROLE_BIND;
        if (!targets(p, s, list, count)) return NULL;
        s->value = fc_parse_expr(p, FC_LV_EXPR);
        s->value_count = 1;
        s->at = fc_since(p, from);
        return s->value ? s : NULL;
    }
    s->kind = FC_ST_RESULT;
    s->value = list;
    s->value_count = count;
    s->at = fc_since(p, from);
    if (result || !fc_end_of_statement(p)) return result ? s : NULL;
    fc_diag *d =
        fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, s->at, "an expression alone does nothing here");
    fc_diag_help(d, "bind it to a name, or return it");
    return NULL;
}

/* loop = "for" NAME "in" range [ "while" expr ] block ; here up to the "{" */
static fc_stmt *parse_loop(fc_parser *p) {
    uint32_t from = p->at++;
    fc_stmt *s = new_stmt(p, FC_ST_LOOP);
    if (!s) return NULL;
    s->word = fc_tok_range(p, from);
    s->targets = fc_node(p, sizeof *s->targets);
    s->target_count = 1;
    if (!s->targets || !fc_expect_name(p, "the name of the loop variable", s->targets)) return NULL;
    if (!fc_expect(p, FC_TOK_IN, "`in`") || !fc_parse_range(p, &s->lo, &s->hi)) return NULL;
    if (fc_accept(p, FC_TOK_WHILE)) {
        s->cond = fc_parse_expr(p, FC_LV_EXPR);
        if (!s->cond) return NULL;
    }
    s->at = fc_since(p, from);
    if (fc_peek(p) == FC_TOK_LBRACE) return s;
    fc_expected(p, s->cond ? "`{`" : "`while` or `{`");
    return NULL;
}

/* "return" exprs */
static fc_stmt *parse_return(fc_parser *p) {
    uint32_t from = p->at++;
    fc_stmt *s = new_stmt(p, FC_ST_RETURN);
    if (!s) return NULL;
    s->word = fc_tok_range(p, from);
    s->value = fc_parse_exprs(p, &s->value_count);
    s->at = fc_since(p, from);
    if (s->value && p->snippet) {
        fc_diag *d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, s->word,
                                   "`return` belongs into a def; here the result stands alone");
        fc_diag_help(d, "leave the word out");
        return NULL;
    }
    return s->value ? s : NULL;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static fc_open_block *inner(fc_parser *p) {
    return &p->blocks.at[p->blocks.len - 1];
}

static bool open_block(fc_parser *p, fc_stmt *loop, uint32_t brace, bool counted) {
    fc_open_block b = {.loop = loop, .brace = brace};
    if (counted && !fc_enter(p, brace)) return false;
    if (fc_push(p->alloc, &p->blocks, b)) return true;
    fc_diag_oom(p->ds);
    p->stop = true;
    return false;
}

static void append(fc_open_block *b, fc_stmt *s) {
    if (b->last)
        b->last->next = s;
    else
        b->first = s;
    b->last = s;
}

static void end_or_sync(fc_parser *p) {
    if (!fc_end_of_statement(p)) fc_sync_statement(p);
}

/* The result of a snippet comes last. */
static bool after_result(fc_parser *p, const fc_stmt *last) {
    if (!last || last->kind != FC_ST_RESULT) return true;
    fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, last->at,
                  "this expression is not the last one, so its value is lost");
    return false;
}

/* stmt = assign eos | loop eos | "return" exprs eos ; */
static void statement(fc_parser *p) {
    bool outermost = p->snippet && p->blocks.len == 1;
    fc_stmt *s;
    if (outermost && !after_result(p, inner(p)->last)) {
        p->stop = true;
        return;
    }
    if (fc_peek(p) == FC_TOK_FOR) {
        s = parse_loop(p);
        if (s) {
            if (open_block(p, s, p->at, true)) p->at++;
            return;
        }
    } else {
        s = fc_peek(p) == FC_TOK_RETURN ? parse_return(p) : parse_assign(p, outermost);
    }
    if (!s) {
        fc_sync_statement(p);
        return;
    }
    append(inner(p), s);
    end_or_sync(p);
}

/* Reads a "}". True if it was the one of the outermost block. */
static bool close_block(fc_parser *p) {
    fc_open_block b = *inner(p);
    p->at++;
    fc_leave(p);
    p->blocks.len--;
    if (!b.loop) return true;
    b.loop->body = b.first;
    append(inner(p), b.loop);
    end_or_sync(p);
    return false;
}

/* The text of -e ends, or a definition begins, and blocks are open. True for the end of a
 * snippet. */
static bool end_of_text(fc_parser *p) {
    const fc_open_block *b = inner(p);
    if (!p->snippet || b->loop) {
        fc_expected_close(p, "`}`", b->brace);
        return false;
    }
    if (fc_peek(p) == FC_TOK_EOF) return true;
    fc_diag *d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, fc_tok_range(p, p->at),
                               "`%s` can't stand in the text of -e", fc_tok_text(fc_peek(p)));
    fc_diag_help(d, "definitions are in a file: fusec -f FILE -e 'f(x)'");
    return false;
}

/* A snippet that ends with a binding: what is bound is its result. */
static bool bound_result(fc_parser *p, fc_open_block *b) {
    const fc_stmt *last = b->last;
    if (!last || (last->kind != FC_ST_BIND && last->kind != FC_ST_DEFINE)) return true;
    fc_stmt *s = new_stmt(p, FC_ST_RESULT);
    fc_expr **end = s ? &s->value : NULL;
    for (uint32_t i = 0; s && i < last->target_count; i++) {
        const fc_name *name = &last->targets[i];
        fc_expr *e = fc_expr_new(p, FC_EX_NAME, NULL, name->at);
        if (!e) return false;
        e->text = name->text;
        e->len = name->len;
        *end = e;
        end = &e->next;
    }
    if (!s) return false;
    s->value_count = last->target_count;
    s->at = last->at;
    append(b, s);
    return true;
}

/* block   = "{" { NL } { stmt } "}" ;
 * snippet = { NL } { ( assign | loop ) eos } [ exprs { NL } ] ; */
bool fc_parse_block(fc_parser *p, uint32_t brace, fc_stmt **out) {
    p->blocks.len = 0;
    if (!open_block(p, NULL, brace, !p->snippet)) return false;
    while (!p->stop) {
        fc_tok k = fc_peek(p);
        bool base = p->snippet && p->blocks.len == 1;
        if (k == FC_TOK_NL) {
            p->at++;
        } else if (k == FC_TOK_EOF || fc_starts_item(k)) {
            bool good = end_of_text(p) && (!p->snippet || bound_result(p, &p->blocks.at[0]));
            *out = p->blocks.at[0].first;
            return good;
        } else if (k == FC_TOK_RBRACE && base) {
            fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, fc_tok_range(p, p->at),
                          "nothing opens this `}`");
            p->at++;
        } else if (k == FC_TOK_RBRACE) {
            fc_stmt *first = inner(p)->first;
            if (!close_block(p)) continue;
            *out = first;
            return true;
        } else {
            statement(p);
        }
    }
    return false;
}
