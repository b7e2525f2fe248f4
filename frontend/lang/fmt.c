/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fmt.c - the formatter. See fmt.h.
 *
 * It works on the tokens, for which the parser has noted what it took them for, and on the
 * comments, line by line: a line of the source is a line of the output. Three passes: lines are
 * collected, their code is set (indentation, spaces, alignment of "="), trailing comments are put
 * behind it.
 *
 * A line that goes on with a statement is indented by 4 more ("->" by 8), or stands under the
 * bracket that is open. Columns are counted in characters. */
#include "frontend/lang/fmt_impl.h"

#define INDENT   4
#define NO_TOKEN UINT32_MAX

typedef struct line {
    uint32_t first, count; /* tokens; newline tokens among them are not printed */
    fc_range comment;      /* empty: none */
    bool blank_before;
    bool starts;       /* begins a statement, or is a comment between statements */
    bool plain;        /* no braces and no ";" so far */
    uint32_t bind;     /* the "=" of its first statement, or NO_TOKEN */
    uint32_t bind_col; /* where the source has it */
    uint32_t comment_col,
        code_col;            /* of the source: where the comment begins, where the code ends */
    uint32_t at, len, width; /* the code in `code`, and its width */
} line;

typedef struct bracket {
    uint32_t column, indent; /* of the bracket, of its line */
    bool last;               /* nothing but a comment behind it in its line */
    char kind;
} bracket;

typedef struct formatter {
    const fc_source *src;
    const fc_alloc *alloc;
    fc_ast ast;
    const fc_token *toks;
    uint32_t blocks; /* open "{" */
    fc_str code;
    bool oom;
    FC_VEC(line) lines;
    FC_VEC(bracket) open;
} formatter;

/* ---- lines ----------------------------------------------------------------------------------- */

static bool newline_token(const formatter *f, uint32_t tok) {
    return f->toks[tok].kind == FC_TOK_NL && f->src->text[f->toks[tok].begin] != ';';
}

/* Does what comes before token `tok` belong to the same statement? */
static bool starts_statement(const formatter *f, uint32_t tok) {
    if (tok == 0 || f->toks[tok].kind == FC_TOK_RBRACE || f->toks[tok].kind == FC_TOK_EOF)
        return true;
    fc_tok before = (fc_tok)f->toks[tok - 1].kind;
    return before == FC_TOK_NL || before == FC_TOK_LBRACE;
}

static uint32_t column(const formatter *f, uint32_t offset) {
    return fc_source_pos(f->src, offset).col - 1;
}

static unsigned newlines_between(const formatter *f, uint32_t begin, uint32_t end) {
    unsigned n = 0;
    for (uint32_t i = begin; i < end && n < 2; i++) n += f->src->text[i] == '\n';
    return n;
}

/* The line for an element at `begin`: the current one, or a new one if a newline stands
 * before it. */
static line *line_for(formatter *f, uint32_t prev_end, uint32_t begin, uint32_t tok) {
    unsigned newlines = newlines_between(f, prev_end, begin);
    if (f->lines.len > 0 && newlines == 0) return &f->lines.at[f->lines.len - 1];
    line l = {.first = tok, .bind = NO_TOKEN, .blank_before = f->lines.len > 0 && newlines > 1};
    l.starts = starts_statement(f, tok);
    l.plain = true;
    if (!fc_push(f->alloc, &f->lines, l)) {
        f->oom = true;
        return NULL;
    }
    return &f->lines.at[f->lines.len - 1];
}

static void add_token(formatter *f, line *l, uint32_t tok) {
    const fc_token *t = &f->toks[tok];
    l->count = tok + 1 - l->first;
    if (t->kind == FC_TOK_LBRACE || t->kind == FC_TOK_RBRACE || t->kind == FC_TOK_NL)
        l->plain = false;
    if (t->role == FC_ROLE_BIND && l->bind == NO_TOKEN && l->starts && l->plain) {
        l->bind = tok;
        l->bind_col = column(f, t->begin);
    }
}

static void collect(formatter *f) {
    const fc_tokens *all = &f->ast.tokens;
    uint32_t comment = 0, prev_end = 0;
    for (uint32_t tok = 0; tok < all->toks.len && !f->oom; tok++) {
        const fc_token *t = &all->toks.at[tok];
        while (comment < all->comments.len && all->comments.at[comment].begin < t->begin) {
            fc_range r = all->comments.at[comment];
            /* A newline token lies behind the comment that ends its line, and before later ones. */
            line *l = line_for(f, prev_end, r.begin, tok);
            if (!l) return;
            l->comment = r;
            l->comment_col = column(f, r.begin);
            if (l->count) l->code_col = column(f, prev_end);
            prev_end = r.end;
            comment++;
        }
        if (newline_token(f, tok) || t->kind == FC_TOK_EOF) continue;
        line *l = line_for(f, prev_end, t->begin, tok);
        if (!l) return;
        if (l->count == 0) l->first = tok, l->starts = starts_statement(f, tok);
        add_token(f, l, tok);
        prev_end = t->end;
    }
}

/* One blank line before and behind a def: in front of the comments that belong to the next
 * definition. */
static void separate_items(formatter *f) {
    const fc_item *prev = NULL, *item = f->ast.items;
    size_t after = 0; /* the first line behind the definition before */
    for (size_t i = 0; i < f->lines.len && item; i++) {
        line *l = &f->lines.at[i];
        if (l->count == 0) continue;
        uint32_t begin = f->toks[l->first].begin, end = f->toks[l->first + l->count - 1].end;
        if (prev && begin == item->at.begin &&
            (prev->kind == FC_IT_DEF || item->kind == FC_IT_DEF)) {
            bool apart = false;
            for (size_t k = after; k <= i; k++) apart |= f->lines.at[k].blank_before;
            if (!apart) f->lines.at[after].blank_before = true;
        }
        /* A line may end one definition and hold others. */
        while (item && item->at.end <= end) {
            prev = item;
            item = item->next;
            after = i + 1;
        }
    }
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool in_subscript(const formatter *f) {
    return f->open.len > 0 && f->open.at[f->open.len - 1].kind == '[';
}

static void track(formatter *f, const fc_token *t, uint32_t col, uint32_t indent, bool last) {
    bracket b = {col, indent, last, '('};
    switch ((fc_tok)t->kind) {
    case FC_TOK_LBRACE: f->blocks++, b.kind = '{'; break;
    case FC_TOK_LBRACK: b.kind = '['; break;
    case FC_TOK_LPAREN: break;
    case FC_TOK_RBRACE: f->blocks--; /* fallthrough */
    case FC_TOK_RPAREN:
    case FC_TOK_RBRACK: f->open.len--; return;
    default: return;
    }
    if (!fc_push(f->alloc, &f->open, b)) f->oom = true;
}

/* Sets the tokens of a line from its first up to `end`; "=" of the first statement stands at `bind`
 * at the least. Returns the width. */
static uint32_t set_tokens(formatter *f, const line *l, uint32_t end, uint32_t indent,
                           uint32_t bind, fc_str *out) {
    uint32_t width = indent, last = l->first + l->count - 1;
    const fc_token *prev = NULL;
    for (uint32_t i = 0; i < indent; i++) fc_str_char(out, ' ');
    for (uint32_t tok = l->first; tok < end; tok++) {
        const fc_token *t = &f->toks[tok];
        if (newline_token(f, tok)) continue;
        uint32_t len, gap = prev ? fc_fmt_gap(f->src, prev, t, in_subscript(f)) : 0;
        if (tok == l->bind && width + gap < bind) gap = bind - width;
        for (uint32_t i = 0; i < gap; i++) fc_str_char(out, ' ');
        const char *text = fc_fmt_text(f->src, t, &len);
        fc_str_addn(out, text, len);
        track(f, t, width + gap, indent, tok == last);
        if (f->oom) return width;
        width += gap + (uint32_t)fc_utf8_count(text, len);
        prev = t;
    }
    return width;
}

static uint32_t indent_of(const formatter *f, const line *l) {
    uint32_t base = INDENT * f->blocks;
    fc_tok first = l->count ? (fc_tok)f->toks[l->first].kind : FC_TOK_EOF;
    if (f->open.len > 0 && f->open.at[f->open.len - 1].kind != '{') {
        const bracket *b = &f->open.at[f->open.len - 1];
        bool closes = first == FC_TOK_RPAREN || first == FC_TOK_RBRACK;
        if (b->last) return b->indent + (closes ? 0 : INDENT);
        return b->column + (closes ? 0 : 1);
    }
    if (l->starts) return first == FC_TOK_RBRACE ? base - INDENT : base;
    return base + (first == FC_TOK_ARROW ? 2 * INDENT : INDENT);
}

/* Neighbouring lines whose "=" stand in one column keep that: where is it for the group that begins
 * here? */
static size_t align_group(formatter *f, size_t from, uint32_t indent, uint32_t *bind) {
    size_t i = from;
    const line *l = &f->lines.at[from];
    *bind = 0;
    if (l->bind == NO_TOKEN) return from + 1;
    fc_str scratch;
    fc_str_init(&scratch, f->alloc);
    for (; i < f->lines.len; i++) {
        const line *m = &f->lines.at[i];
        bool same = m->bind != NO_TOKEN && m->bind_col == l->bind_col;
        if (!same || (i > from && m->blank_before)) break;
        fc_str_clear(&scratch);
        uint32_t width = set_tokens(f, m, m->bind, indent, 0, &scratch);
        if (width + 1 > *bind) *bind = width + 1;
        /* A line with more in it, or one that goes on below, is the last of its group. */
        size_t next = i + 1;
        if (!m->plain || next == f->lines.len || !f->lines.at[next].starts) {
            i = next;
            break;
        }
    }
    f->oom |= scratch.oom;
    fc_str_free(&scratch);
    return i;
}

static void set_lines(formatter *f) {
    size_t group_end = 0;
    uint32_t bind = 0;
    for (size_t i = 0; i < f->lines.len && !f->oom; i++) {
        line *l = &f->lines.at[i];
        uint32_t indent = indent_of(f, l);
        if (i >= group_end) group_end = align_group(f, i, indent, &bind);
        l->at = (uint32_t)f->code.len;
        l->width = set_tokens(f, l, l->first + l->count, indent, bind, &f->code);
        l->len = (uint32_t)f->code.len - l->at;
    }
    f->oom |= f->code.oom;
}

/* ---- comments and output --------------------------------------------------------------------- */

static bool trailing(const line *l) {
    return l->count > 0 && l->comment.end > l->comment.begin;
}

/* Neighbouring comments of one column keep one column: behind the longest line, with the space that
 * was there. */
static size_t comment_group(const formatter *f, size_t from, uint32_t *col) {
    size_t i = from;
    uint32_t width = 0, gap = UINT32_MAX;
    for (; i < f->lines.len; i++) {
        const line *l = &f->lines.at[i];
        if (!trailing(l) || l->comment_col != f->lines.at[from].comment_col) break;
        if (i > from && l->blank_before) break;
        if (l->width > width) width = l->width;
        if (l->comment_col - l->code_col < gap) gap = l->comment_col - l->code_col;
    }
    *col = width + (gap > 0 ? gap : 1);
    return i;
}

static void write_lines(const formatter *f, fc_str *out) {
    size_t group_end = 0;
    uint32_t col = 0;
    for (size_t i = 0; i < f->lines.len; i++) {
        const line *l = &f->lines.at[i];
        if (l->blank_before) fc_str_char(out, '\n');
        fc_str_addn(out, f->code.data + l->at, l->len);
        if (trailing(l)) {
            if (i >= group_end) group_end = comment_group(f, i, &col);
            for (uint32_t w = l->width; w < col; w++) fc_str_char(out, ' ');
        }
        uint32_t end = l->comment.end;
        while (end > l->comment.begin && strchr(" \t", f->src->text[end - 1])) end--;
        fc_str_addn(out, f->src->text + l->comment.begin, end - l->comment.begin);
        fc_str_char(out, '\n');
    }
}

static fusec_status format(formatter *f, fc_diags *ds, fc_str *out) {
    f->toks = f->ast.tokens.toks.at;
    fc_fmt_mark_dtypes(&f->ast);
    collect(f);
    if (!f->oom) separate_items(f);
    if (!f->oom) set_lines(f);
    if (!f->oom) write_lines(f, out);
    if (!f->oom && !out->oom) return FUSEC_OK;
    fc_diag_oom(ds);
    return FUSEC_OUT_OF_MEMORY;
}

fusec_status fc_format(const fc_source *src, bool snippet, fc_diags *ds, fc_str *out) {
    formatter f = {.src = src, .alloc = src->alloc};
    fusec_status s =
        snippet ? fc_parse_snippet(src, ds, &f.ast) : fc_parse_program(src, ds, &f.ast);
    fc_str_init(&f.code, f.alloc);
    if (s == FUSEC_OK) s = format(&f, ds, out);
    fc_str_free(&f.code);
    fc_vec_free(f.alloc, &f.lines);
    fc_vec_free(f.alloc, &f.open);
    fc_ast_free(&f.ast);
    return s;
}
