/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse.c - entry points of the parser, and what all of its rules use. See parse.h. */
#include "frontend/lang/parse_impl.h"

/* ---- tokens ---------------------------------------------------------------------------------- */

fc_range fc_since(const fc_parser *p, uint32_t from) {
    uint32_t last = p->at > from ? p->at - 1 : from;
    return (fc_range){p->toks[from].begin, p->toks[last].end};
}

bool fc_accept(fc_parser *p, fc_tok kind) {
    if (fc_peek(p) != kind) return false;
    p->at++;
    return true;
}

void fc_skip_newlines(fc_parser *p) {
    while (fc_accept(p, FC_TOK_NL)) continue;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Where to point for the next token: a newline and the end of the text are shown behind the last
 * token. */
static fc_range error_range(const fc_parser *p) {
    fc_range r = fc_tok_range(p, p->at);
    fc_tok k = fc_peek(p);
    bool end = k == FC_TOK_EOF || (k == FC_TOK_NL && p->src->text[r.begin] != ';');
    if (end && p->at > 0) r.begin = r.end = p->toks[p->at - 1].end;
    return r;
}

static void describe(const fc_parser *p, fc_str *out) {
    fc_range r = fc_tok_range(p, p->at);
    fc_tok k = fc_peek(p);
    if (k == FC_TOK_EOF)
        fc_str_add(out, p->snippet ? "the end of the text" : "the end of the file");
    else if (k == FC_TOK_NL && p->src->text[r.begin] != ';')
        fc_str_add(out, "the end of the line");
    else if (r.end - r.begin > 40)
        fc_str_printf(out, "`%.37s...`", p->src->text + r.begin);
    else
        fc_str_printf(out, "`%.*s`", (int)(r.end - r.begin), p->src->text + r.begin);
}

fc_diag *fc_expected(fc_parser *p, const char *what) {
    if (fc_peek(p) == FC_TOK_BAD || p->stop) return NULL;
    fc_str s;
    fc_str_init(&s, p->alloc);
    describe(p, &s);
    fc_diag *d = NULL;
    if (s.oom)
        fc_diag_oom(p->ds);
    else
        d = fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, error_range(p), "expected %s before %s",
                          what, s.data);
    fc_str_free(&s);
    return d;
}

fc_diag *fc_expected_close(fc_parser *p, const char *what, uint32_t open) {
    fc_diag *d = fc_expected(p, what);
    fc_diag_related(d, fc_tok_range(p, open), "opened here");
    return d;
}

bool fc_expect(fc_parser *p, fc_tok kind, const char *what) {
    if (fc_accept(p, kind)) return true;
    fc_expected(p, what);
    return false;
}

bool fc_expect_name(fc_parser *p, const char *what, fc_name *out) {
    fc_tok k = fc_peek(p);
    if (k == FC_TOK_NAME) return fc_name_from(p, p->at++, out);
    if (fc_tok_word(k))
        fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, fc_tok_range(p, p->at),
                      "`%s` is a %s and can't be a name", fc_tok_text(k),
                      fc_tok_reserved(k) ? "reserved word" : "keyword");
    else
        fc_expected(p, what);
    return false;
}

bool fc_end_of_statement(fc_parser *p) {
    fc_tok k = fc_peek(p);
    if (k == FC_TOK_NL) {
        fc_skip_newlines(p);
        return true;
    }
    if (k == FC_TOK_EOF || k == FC_TOK_RBRACE) return true;
    if (k == FC_TOK_RPAREN || k == FC_TOK_RBRACK)
        fc_diag_error(p->ds, FUSEC_SYNTAX, p->src, fc_tok_range(p, p->at),
                      "nothing opens this `%s`", fc_tok_text(k));
    else
        fc_expected(p, "an operator or a new line");
    return false;
}

/* ---- memory and limits ----------------------------------------------------------------------- */

void *fc_node(fc_parser *p, size_t size) {
    void *node = fc_arena_alloc(&p->ast->arena, size);
    if (!node) {
        fc_diag_oom(p->ds);
        p->stop = true;
    }
    return node;
}

bool fc_enter(fc_parser *p, uint32_t tok) {
    if (++p->depth <= FC_NESTING_LIMIT) return true;
    if (!p->stop)
        fc_diag_error(p->ds, FUSEC_LIMIT, p->src, fc_tok_range(p, tok),
                      "nested deeper than %d levels", FC_NESTING_LIMIT);
    p->stop = true;
    return false;
}

void fc_leave(fc_parser *p) {
    p->depth--;
}

bool fc_name_from(fc_parser *p, uint32_t tok, fc_name *out) {
    fc_range r = fc_tok_range(p, tok);
    out->at = r;
    out->len = r.end - r.begin;
    out->text = fc_arena_strdup(&p->ast->arena, p->src->text + r.begin, out->len);
    if (out->text) return true;
    fc_diag_oom(p->ds);
    p->stop = true;
    return false;
}

const char *fc_string_value(fc_parser *p, uint32_t tok, uint32_t *len) {
    fc_range r = fc_tok_range(p, tok);
    uint32_t n = 0, end = r.end;
    char *text = fc_node(p, r.end - r.begin + 1);
    if (!text) return NULL;
    if (end > r.begin + 1 && p->src->text[end - 1] == '"') end--;
    for (uint32_t i = r.begin + 1; i < end; i++) {
        if (p->src->text[i] == '\\' && i + 1 < end) i++;
        text[n++] = p->src->text[i];
    }
    *len = n;
    return text;
}

/* ---- going on after a mistake ---------------------------------------------------------------- */

bool fc_starts_item(fc_tok k) {
    return k == FC_TOK_DEF || k == FC_TOK_EXPORT || k == FC_TOK_EXTERN || k == FC_TOK_CONST || k == FC_TOK_IMPORT ||
           k == FC_TOK_FROM;
}

void fc_sync_statement(fc_parser *p) {
    uint32_t braces = 0;
    for (;; p->at++) {
        fc_tok k = fc_peek(p);
        if (k == FC_TOK_EOF || fc_starts_item(k)) return;
        if (k == FC_TOK_LBRACE) braces++;
        if (k == FC_TOK_RBRACE && braces-- == 0) return;
        if (braces) continue;
        if (k == FC_TOK_NL) {
            fc_skip_newlines(p);
            return;
        }
        if (fc_tok_starts_statement(k)) return;
    }
}

void fc_sync_item(fc_parser *p) {
    uint32_t braces = 0;
    for (;; p->at++) {
        fc_tok k = fc_peek(p);
        if (k == FC_TOK_EOF || fc_starts_item(k)) return;
        if (k == FC_TOK_LBRACE) braces++;
        if (k == FC_TOK_RBRACE && braces) braces--;
        /* The body of a def with a bad head may begin on a line of its own. */
        if (k == FC_TOK_NL && !braces && fc_peek2(p) != FC_TOK_LBRACE) {
            fc_skip_newlines(p);
            return;
        }
    }
}

/* ---- entry points ---------------------------------------------------------------------------- */

static fusec_status parse(const fc_source *src, fc_diags *ds, bool snippet, fc_ast *out) {
    fc_parser p = {.src = src, .ds = ds, .ast = out, .alloc = src->alloc, .snippet = snippet};
    uint32_t errors = ds->errors, from = ds->len;
    memset(out, 0, sizeof *out);
    out->src = src;
    fc_arena_init(&out->arena, src->alloc);
    if (fc_lex(src, ds, &out->tokens) == FUSEC_OK) {
        p.toks = out->tokens.toks.at;
        if (snippet)
            fc_parse_block(&p, 0, &out->stmts);
        else
            fc_parse_items(&p);
        fc_vec_free(p.alloc, &p.frames);
        fc_vec_free(p.alloc, &p.blocks);
    }
    fc_diags_sort(ds, from < ds->len ? from : ds->len);
    if (ds->errors == errors) return FUSEC_OK;
    return from < ds->len && ds->at[from]->code ? ds->at[from]->code : ds->first;
}

fusec_status fc_parse_program(const fc_source *src, fc_diags *ds, fc_ast *out) {
    return parse(src, ds, false, out);
}

fusec_status fc_parse_snippet(const fc_source *src, fc_diags *ds, fc_ast *out) {
    return parse(src, ds, true, out);
}
