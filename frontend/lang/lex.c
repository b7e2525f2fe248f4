/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lex.c - from text to tokens. See lex.h.
 *
 * A stack of open brackets decides about newlines. It is kept sane in broken texts: a word that
 * begins a statement closes every open "(" and "[", so that one missing ")" does not swallow the
 * rest of the file. */
#include "frontend/lang/lex.h"

enum { N = 0, A = 1, B = 2, AB = 3 };

static const struct {
    const char *text;
    uint8_t newline, length; /* of a text that is the same for all tokens of its kind */
} table[FC_TOK_COUNT] = {
#define FC_TOK(name, text, newline) {text, newline, sizeof text - 1},
#include "frontend/lang/tokens.def"
#undef FC_TOK
};

typedef struct lexer {
    const fc_source *src;
    fc_diags *ds;
    fc_tokens *out;
    const char *text;
    uint32_t at, len;
    FC_VEC(char) open; /* the open brackets, as characters */
    bool oom;
} lexer;

const char *fc_tok_text(fc_tok kind) {
    return table[kind].text;
}

bool fc_tok_starts_statement(fc_tok kind) {
    return kind == FC_TOK_RETURN || kind == FC_TOK_FOR || kind == FC_TOK_DEF ||
           kind == FC_TOK_EXPORT || kind == FC_TOK_EXTERN || kind == FC_TOK_CONST ||
           kind == FC_TOK_IMPORT || kind == FC_TOK_FROM;
}

void fc_tokens_free(fc_tokens *t) {
    if (!t->alloc) return;
    fc_vec_free(t->alloc, &t->toks);
    fc_vec_free(t->alloc, &t->comments);
}

/* ---- bytes that have no place in a source ---------------------------------------------------- */

static const char *forbidden(uint32_t cp) {
    if (cp == 0xfeff) return "a byte-order mark";
    if (cp == 0x061c || cp == 0x200e || cp == 0x200f || (cp >= 0x202a && cp <= 0x202e) ||
        (cp >= 0x2066 && cp <= 0x2069))
        return "a bidirectional control character";
    return NULL;
}

static bool check_bytes(lexer *lx) {
    const char *end = lx->text + lx->len;
    for (uint32_t i = 0; i < lx->len;) {
        unsigned char c = (unsigned char)lx->text[i];
        uint32_t cp = c;
        size_t n = 1;
        const char *what = NULL;
        if (c >= 0x80) {
            n = fc_utf8_next(lx->text + i, end, &cp);
            what = n ? forbidden(cp) : "a byte that is not UTF-8";
        } else if (c == 0) {
            what = "a NUL byte";
        } else if (c == '\r' && (i + 1 == lx->len || lx->text[i + 1] != '\n')) {
            what = "a carriage return without a newline";
        }
        if (what) {
            fc_range at = {i, i + (n ? (uint32_t)n : 1)};
            fc_diag_error(lx->ds, FUSEC_SYNTAX, lx->src, at, "%s, at byte offset %u", what, i);
            return false;
        }
        i += (uint32_t)n;
    }
    return true;
}

/* ---- brackets and newlines ------------------------------------------------------------------- */

static bool in_parens(const lexer *lx) {
    return lx->open.len > 0 && lx->open.at[lx->open.len - 1] != '{';
}

static void push(lexer *lx, char c) {
    if (!fc_push(lx->out->alloc, &lx->open, c)) lx->oom = true;
}

/* Closes the nearest `c` and what is open above it; a ")" or "]" does not look through a "{", nor
 * deeper than any program is nested. */
static void pop(lexer *lx, char c) {
    size_t deepest = lx->open.len > FC_NESTING_LIMIT ? lx->open.len - FC_NESTING_LIMIT : 0;
    for (size_t i = lx->open.len; i-- > deepest;) {
        if (lx->open.at[i] == c) {
            lx->open.len = i;
            return;
        }
        if (lx->open.at[i] == '{') return;
    }
}

static void emit(lexer *lx, fc_tok kind, uint32_t begin, uint32_t end) {
    fc_token t = {begin, end, (uint8_t)kind, FC_ROLE_NONE};
    if (!fc_push(lx->out->alloc, &lx->out->toks, t)) lx->oom = true;
}

static fc_tok last_kind(const lexer *lx) {
    size_t n = lx->out->toks.len;
    return n ? (fc_tok)lx->out->toks.at[n - 1].kind : FC_TOK_NL;
}

/* A newline stood between the last token and this one: is it the end of a statement? */
static void newline_before(lexer *lx, fc_tok next, uint32_t newline) {
    if (in_parens(lx) || next == FC_TOK_EOF) return;
    if ((table[last_kind(lx)].newline & A) || (table[next].newline & B)) return;
    emit(lx, FC_TOK_NL, newline, newline + 1);
}

/* Skips spaces, newlines and comments; returns whether a newline was among them and where. */
static bool skip_blanks(lexer *lx, uint32_t *newline) {
    bool seen = false;
    for (; lx->at < lx->len; lx->at++) {
        char c = lx->text[lx->at];
        if (c == '#') {
            uint32_t begin = lx->at, end;
            while (lx->at < lx->len && lx->text[lx->at] != '\n') lx->at++;
            end = lx->at;
            if (lx->text[end - 1] == '\r') end--;
            fc_range r = {begin, end};
            if (!fc_push(lx->out->alloc, &lx->out->comments, r)) lx->oom = true;
            if (lx->at == lx->len) break;
            c = '\n';
        }
        if (c == '\n') {
            if (!seen) *newline = lx->at;
            seen = true;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            break;
        }
    }
    return seen;
}

/* ---- tokens that vary ------------------------------------------------------------------------ */

static fc_tok word(lexer *lx, uint32_t *end) {
    const char *s = lx->text + lx->at;
    uint32_t n = 0;
    while (fc_is_word(s[n])) n++;
    *end = lx->at + n;
    if (n == 1 && s[0] == '_') return FC_TOK_HOLE;
    if (n == 4 && memcmp(s, "True", 4) == 0) return FC_TOK_TRUE;
    if (n == 5 && memcmp(s, "False", 5) == 0) return FC_TOK_FALSE;
    for (int k = FC_TOK_AND; k < FC_TOK_COUNT; k++)
        if (table[k].length == n && table[k].text[0] == s[0] && memcmp(table[k].text, s, n) == 0)
            return (fc_tok)k;
    if (n > FC_NAME_LIMIT)
        fc_diag_error(lx->ds, FUSEC_LIMIT, lx->src, (fc_range){lx->at, *end},
                      "a name of %u bytes; names may have %d", n, FC_NAME_LIMIT);
    return FC_TOK_NAME;
}

static uint32_t digits(const char *s, uint32_t i) {
    if (!fc_is_digit(s[i])) return i;
    while (fc_is_digit(s[i]) || s[i] == '_') i++;
    return i;
}

static bool is_hex(char c) {
    return fc_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* NUMBER = digits | "0x" hex | digits "." [ digits ] [ exp ] | "." digits [ exp ] | digits exp ;
 * IMAGINARY = NUMBER "i", but for hex;
 * a number does not end in "..". */
static uint32_t number_length(const char *s, bool *good) {
    uint32_t i = 0;
    *good = true;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        i = 2;
        *good = s[1] == 'x' && is_hex(s[i]);
        while (is_hex(s[i]) || (s[i] == '_' && i > 2)) i++;
        return i;
    }
    i = digits(s, i);
    if (s[i] == '.' && s[i + 1] != '.') i = digits(s, i + 1);
    if (s[i] == 'e' || s[i] == 'E') {
        uint32_t j = i + 1;
        if (s[j] == '+' || s[j] == '-') j++;
        *good = fc_is_digit(s[j]);
        if (*good) i = digits(s, j);
    }
    return i;
}

static fc_tok number(lexer *lx, uint32_t *end) {
    const char *s = lx->text + lx->at;
    bool good;
    uint32_t n = number_length(s, &good), full = n;
    while (fc_is_word(s[full])) full++;
    fc_range at = {lx->at, lx->at + full};
    *end = at.end;
    int shown = full > 40 ? 40 : (int)full;
    if (full > FC_NUMBER_LIMIT) {
        fc_diag_error(lx->ds, FUSEC_LIMIT, lx->src, at, "a number of %u bytes; numbers may have %d",
                      full, FC_NUMBER_LIMIT);
    } else if (!good) {
        fc_diag_error(lx->ds, FUSEC_SYNTAX, lx->src, at, "`%.*s` is not a number", shown, s);
    } else if (full > n && !(full == n + 1 && s[n] == 'i' && !(s[0] == '0' && s[1] == 'x'))) {
        fc_diag *d = fc_diag_error(lx->ds, FUSEC_SYNTAX, lx->src, at,
                                   "`%.*s` is not a number: literals have no suffix", shown, s);
        if (strchr("fFhH", s[n]) && full == n + 1)
            fc_diag_help(d, "%.*s, or with a dtype f32(%.*s)", (int)n, s, (int)n, s);
    }
    return FC_TOK_NUMBER;
}

static fc_tok string(lexer *lx, uint32_t *end) {
    uint32_t i = lx->at + 1;
    while (i < lx->len && lx->text[i] != '"' && lx->text[i] != '\n') {
        if (lx->text[i] == '\\' && i + 1 < lx->len && lx->text[i + 1] != '\n') i++;
        i++;
    }
    if (i < lx->len && lx->text[i] == '"') {
        *end = i + 1;
        return FC_TOK_STRING;
    }
    if (lx->text[i - 1] == '\r') i--;
    *end = i;
    fc_diag_error(lx->ds, FUSEC_SYNTAX, lx->src, (fc_range){lx->at, i},
                  "this string does not end on its line");
    return FC_TOK_BAD;
}

/* The longest operator that stands here; FC_TOK_BAD if there is none. */
static fc_tok operator_(lexer *lx, uint32_t *end) {
    fc_tok best = FC_TOK_BAD;
    uint32_t longest = 0;
    const char *s = lx->text + lx->at;
    for (int k = FC_TOK_LPAREN; k < FC_TOK_AND; k++) {
        uint32_t n = table[k].length;
        if (k != FC_TOK_HOLE && n > longest && lx->len - lx->at >= n && table[k].text[0] == s[0] &&
            memcmp(s, table[k].text, n) == 0)
            best = (fc_tok)k, longest = n;
    }
    *end = lx->at + longest;
    return best;
}

static fc_tok bad(lexer *lx, uint32_t *end) {
    const char *s = lx->text + lx->at;
    uint32_t cp = 0;
    uint32_t n = (uint32_t)fc_utf8_next(s, lx->text + lx->len, &cp);
    fc_range at = {lx->at, lx->at + n};
    *end = at.end;
    fc_diag *d;
    if (cp >= 0x80)
        d = fc_diag_error(lx->ds, FUSEC_SYNTAX, lx->src, at,
                          "`%.*s` (U+%04X) may stand in comments and strings only", (int)n, s, cp);
    else if (cp < 0x20 || cp == 0x7f)
        d = fc_diag_error(lx->ds, FUSEC_SYNTAX, lx->src, at, "unexpected control character U+%04X",
                          cp);
    else
        d = fc_diag_error(lx->ds, FUSEC_SYNTAX, lx->src, at, "unexpected character `%.*s`", (int)n,
                          s);
    if (cp != '\'') return FC_TOK_BAD;
    /* The rest of what was meant as a string has no mistakes of its own. */
    fc_diag_help(d, "strings are written with \"");
    const char *close = memchr(s + 1, '\'', lx->len - at.end);
    if (close && !memchr(s, '\n', (size_t)(close - s))) *end += (uint32_t)(close - s);
    return FC_TOK_BAD;
}

static fc_tok next_kind(lexer *lx, uint32_t *end) {
    *end = lx->at;
    if (lx->at >= lx->len) return FC_TOK_EOF;
    char c = lx->text[lx->at];
    if (fc_is_letter(c)) return word(lx, end);
    if (fc_is_digit(c) || (c == '.' && fc_is_digit(lx->text[lx->at + 1]))) return number(lx, end);
    if (c == '"') return string(lx, end);
    *end = lx->at + 1;
    if (c == ';') return FC_TOK_NL;
    fc_tok k = operator_(lx, end);
    return k == FC_TOK_BAD ? bad(lx, end) : k;
}

static void brackets(lexer *lx, fc_tok kind) {
    if (kind == FC_TOK_LPAREN || kind == FC_TOK_LBRACK || kind == FC_TOK_LBRACE)
        push(lx, table[kind].text[0]);
    if (kind == FC_TOK_RPAREN) pop(lx, '(');
    if (kind == FC_TOK_RBRACK) pop(lx, '[');
    if (kind == FC_TOK_RBRACE || fc_tok_starts_statement(kind))
        while (in_parens(lx)) lx->open.len--;
    if (kind == FC_TOK_RBRACE && lx->open.len > 0) lx->open.len--;
}

fusec_status fc_lex(const fc_source *src, fc_diags *ds, fc_tokens *out) {
    lexer lx = {.src = src, .ds = ds, .out = out, .text = src->text, .len = src->len};
    memset(out, 0, sizeof *out);
    out->alloc = src->alloc;
    if (!check_bytes(&lx)) return FUSEC_SYNTAX;
    for (;;) {
        uint32_t newline = 0, end;
        bool seen = skip_blanks(&lx, &newline);
        fc_tok kind = next_kind(&lx, &end);
        if (seen) newline_before(&lx, kind, newline);
        brackets(&lx, kind);
        emit(&lx, kind, lx.at, end);
        lx.at = end;
        if (kind == FC_TOK_EOF || lx.oom) break;
    }
    fc_vec_free(out->alloc, &lx.open);
    if (lx.oom) {
        fc_diag_oom(ds);
        return FUSEC_OUT_OF_MEMORY;
    }
    return FUSEC_OK;
}
