/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lex.h - from text to tokens.
 *
 * In: a source. Out: all its tokens, the last one FC_TOK_EOF, and its comments. Newlines that end a
 * statement are tokens (FC_TOK_NL), as is ";"; all other white space is gone. Everything that is
 * wrong goes to the diagnostics: bytes that have no place in a source end the lexing at once,
 * anything else leaves a token (FC_TOK_BAD if need be) so that the parser can go on. */
#ifndef FUSEC_FRONTEND_LANG_LEX_H
#define FUSEC_FRONTEND_LANG_LEX_H

#include "frontend/lang/diag.h"

#define FC_NAME_LIMIT    255 /* bytes */
#define FC_NUMBER_LIMIT  64  /* bytes */
#define FC_NESTING_LIMIT 256 /* brackets, prefix operators, **, ? : of one inside the other */

typedef enum fc_tok {
#define FC_TOK(name, text, newline) FC_TOK_##name,
#include "frontend/lang/tokens.def"
#undef FC_TOK
    FC_TOK_COUNT
} fc_tok;

/* What the parser took a token for; the formatter needs to know. */
typedef enum fc_role {
    FC_ROLE_NONE,
    FC_ROLE_UNARY,   /* - + ~ ! in front of an operand */
    FC_ROLE_POSTFIX, /* ( of a call, [ of a subscript or a type */
    FC_ROLE_SLICE,   /* : in a subscript */
    FC_ROLE_TYPE,    /* : in front of a type */
    FC_ROLE_ARG,     /* = of a named argument */
    FC_ROLE_BIND,    /* = of a binding or a const */
    FC_ROLE_ATTR,    /* @ of an attribute */
    FC_ROLE_DTYPE,   /* a name that stands for a type */
    FC_ROLE_CALLEE,  /* a name that is called */
    FC_ROLE_LABEL    /* the name of a named argument */
} fc_role;

typedef struct fc_token {
    uint32_t begin, end;
    uint8_t kind; /* fc_tok */
    uint8_t role; /* fc_role */
} fc_token;

typedef struct fc_tokens {
    const fc_alloc *alloc;
    FC_VEC(fc_token) toks;
    FC_VEC(fc_range) comments; /* from "#" to the end of the line, without it */
} fc_tokens;

/* Returns FUSEC_OUT_OF_MEMORY, or FUSEC_SYNTAX when there are no tokens to parse. Reported errors
 * that do leave tokens are in `ds` only. fc_tokens_free is needed in every case. */
fusec_status fc_lex(const fc_source *src, fc_diags *ds, fc_tokens *out);
void fc_tokens_free(fc_tokens *t);

/* "(", "return"; NULL for tokens without a fixed text. */
const char *fc_tok_text(fc_tok kind);
static inline bool fc_tok_reserved(fc_tok kind) {
    return kind >= FC_TOK_ELIF && kind < FC_TOK_COUNT;
}
static inline bool fc_tok_word(fc_tok kind) {
    return kind >= FC_TOK_AND && kind < FC_TOK_COUNT;
}
/* A word that begins a statement or a definition and can't stand inside an expression. */
bool fc_tok_starts_statement(fc_tok kind);

static inline bool fc_is_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline bool fc_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static inline bool fc_is_word(char c) {
    return fc_is_letter(c) || fc_is_digit(c);
}

#endif
