/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse_impl.h - what the files of the parser share.
 *
 * A parser function returns NULL or false after it has reported a mistake (or met a FC_TOK_BAD,
 * which the lexer has reported); its caller passes that on to the place that can find the next
 * statement or definition. */
#ifndef FUSEC_FRONTEND_LANG_PARSE_IMPL_H
#define FUSEC_FRONTEND_LANG_PARSE_IMPL_H

#include "frontend/lang/parse.h"

/* How tightly operators bind, from the grammar rules expr ... power. */
typedef enum fc_level {
    FC_LV_EXPR,
    FC_LV_OR,
    FC_LV_AND,
    FC_LV_NOT,
    FC_LV_COMPARE,
    FC_LV_BITS,
    FC_LV_XOR,
    FC_LV_MASK,
    FC_LV_SHIFT,
    FC_LV_ARITH,
    FC_LV_TERM,
    FC_LV_UNARY,
    FC_LV_POWER,
    FC_LV_POSTFIX
} fc_level;

/* An operator or bracket that waits for its right side. */
typedef struct fc_frame {
    uint8_t kind;  /* fc_frame_kind, parse_expr.h */
    uint8_t op;    /* fc_oper */
    uint8_t level; /* fc_level: operators of their own, brackets the least they take inside */
    uint8_t part;  /* subscripts: how many parts of a slice, or of an index range, have been read */
    bool counted;  /* in the nesting */
    uint32_t tok;  /* the operator, or the bracket */
    uint32_t tok2; /* of a condition the ":" or the "else"; of a slice its first token */
    uint32_t count;
    fc_expr *left; /* left operand, callee, condition */
    fc_expr *mid;  /* of a condition */
    fc_expr *head, *tail;
    fc_expr *parts[3];
    const fc_name *name; /* label of the next argument, index of the next subscript */
    fc_link *links;
    uint32_t link_cap;
} fc_frame;

/* A "{" that waits for its "}". */
typedef struct fc_open_block {
    fc_stmt *loop; /* NULL: the body of a def, or the snippet */
    fc_stmt *first, *last;
    uint32_t brace; /* token */
} fc_open_block;

typedef struct fc_parser {
    const fc_source *src;
    fc_diags *ds;
    fc_ast *ast;
    const fc_alloc *alloc;
    fc_token *toks;
    uint32_t at; /* the next token */
    uint32_t depth;
    bool snippet;
    bool stop; /* no point in going on: out of memory, or nested too deep */
    FC_VEC(fc_frame) frames;
    FC_VEC(fc_open_block) blocks;
} fc_parser;

/* ---- parse.c: tokens, errors, memory ---- */
static inline fc_tok fc_peek(const fc_parser *p) {
    return (fc_tok)p->toks[p->at].kind;
}
static inline fc_tok fc_peek2(const fc_parser *p) {
    return fc_peek(p) == FC_TOK_EOF ? FC_TOK_EOF : (fc_tok)p->toks[p->at + 1].kind;
}
static inline fc_range fc_tok_range(const fc_parser *p, uint32_t tok) {
    return (fc_range){p->toks[tok].begin, p->toks[tok].end};
}
/* From the beginning of token `from` to the end of the last one that was read. */
fc_range fc_since(const fc_parser *p, uint32_t from);
bool fc_accept(fc_parser *p, fc_tok kind);
/* Reports "expected WHAT before ..." at the next token; NULL if it was reported already. */
fc_diag *fc_expected(fc_parser *p, const char *what);
/* The same for a closing bracket, and shows where `open` was opened. */
fc_diag *fc_expected_close(fc_parser *p, const char *what, uint32_t open);
bool fc_expect(fc_parser *p, fc_tok kind, const char *what);
bool fc_expect_name(fc_parser *p, const char *what, fc_name *out);
/* eos = NL { NL } ; the end of the text and "}" end a statement too */
bool fc_end_of_statement(fc_parser *p);
void fc_skip_newlines(fc_parser *p);
void *fc_node(fc_parser *p, size_t size);
bool fc_enter(fc_parser *p, uint32_t tok); /* one level deeper */
void fc_leave(fc_parser *p);
/* After a mistake: to the end of the statement, or to the next definition. */
void fc_sync_statement(fc_parser *p);
void fc_sync_item(fc_parser *p);
bool fc_starts_item(fc_tok kind);
bool fc_name_from(fc_parser *p, uint32_t tok, fc_name *out);
const char *fc_string_value(fc_parser *p, uint32_t tok, uint32_t *len);

/* ---- parse_expr.c ---- */
/* An expression of operators that bind at least as tightly as `least`. */
fc_expr *fc_parse_expr(fc_parser *p, fc_level least);
/* exprs = expr { "," expr } ; returns the first of the list */
fc_expr *fc_parse_exprs(fc_parser *p, uint32_t *count);
bool fc_parse_range(fc_parser *p, fc_expr **lo, fc_expr **hi);

/* ---- parse_node.c: making expressions ---- */
fc_expr *fc_expr_leaf(fc_parser *p, fc_expr_kind kind, uint32_t tok);
fc_expr *fc_expr_new(fc_parser *p, fc_expr_kind kind, const fc_expr *first, fc_range at);

/* ---- parse_stmt.c ---- */
/* Reads up to and with the "}" that closes `brace`, or a snippet to its end. */
bool fc_parse_block(fc_parser *p, uint32_t brace, fc_stmt **out);

/* ---- parse_item.c ---- */
fc_type *fc_parse_type(fc_parser *p);
void fc_parse_items(fc_parser *p);

#endif
