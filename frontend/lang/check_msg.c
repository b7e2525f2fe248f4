/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_msg.c - texts of messages: places, types as the source names them, and the mistakes that
 * people bring along from other languages. */
#include "frontend/lang/check_impl.h"

#define QUOTE_MAX 60 /* characters of an expression that a message repeats */

/* ---- texts ----------------------------------------------------------------------------------- */

const char *fc_c_text(fc_checker *c, const char *fmt, ...) {
    fc_str s;
    va_list ap;
    fc_str_init(&s, c->alloc);
    va_start(ap, fmt);
    fc_str_vprintf(&s, fmt, ap);
    va_end(ap);
    char *text = s.oom ? NULL : fc_arena_strdup(&c->arena, s.data, s.len);
    fc_c_str_free(c, &s);
    if (!text) fc_c_oom(c);
    return text ? text : "";
}

const char *fc_c_quote_in(fc_checker *c, const fc_ast *ast, fc_range at) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    if (at.end - at.begin > 8 * QUOTE_MAX) at.end = at.begin + 8 * QUOTE_MAX;
    fc_ast_quote(ast, at, &s);
    size_t n = s.len;
    if (n > QUOTE_MAX)
        for (n = QUOTE_MAX - 3; n && ((unsigned char)s.data[n] & 0xc0) == 0x80;) n--;
    const char *text = fc_c_text(c, "%.*s%s", (int)n, s.data, n < s.len ? "..." : "");
    fc_c_str_free(c, &s);
    return text;
}

const char *fc_c_quote_all(fc_checker *c, const fc_ast *ast, fc_range at) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    fc_ast_quote(ast, at, &s);
    const char *text = fc_c_text(c, "%s", s.data);
    fc_c_str_free(c, &s);
    return text;
}

const char *fc_c_quote(fc_checker *c, fc_range at) {
    return fc_c_quote_in(c, c->f->ast, at);
}

const char *fc_c_dim_text(fc_checker *c, fc_dim d) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    fc_dim_print(&c->g->dims, d, &s);
    const char *text = fc_c_text(c, "%s", s.data);
    fc_c_str_free(c, &s);
    return text;
}

const char *fc_c_wide_text(fc_checker *c, fc_wide i) {
    char digits[48];
    int n = sizeof digits;
    bool negative = i < 0;
    digits[--n] = '\0';
    do {
        int d = (int)(i % 10);
        digits[--n] = (char)('0' + (d < 0 ? -d : d));
        i /= 10;
    } while (i);
    if (negative) digits[--n] = '-';
    return fc_c_text(c, "%s", digits + n);
}

static bool is_rest(const fc_checker *c, fc_dim d) {
    uint32_t sym;
    return fc_dim_is_sym(&c->g->dims, d, &sym) && c->g->dims.syms.at[sym].name &&
           strcmp(c->g->dims.syms.at[sym].name, "...") == 0;
}

/* Several axes of one "..." print once. */
const char *fc_c_type_text(fc_checker *c, fusec_dtype t, uint32_t rank, const fc_dim *shape) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    fc_str_add(&s, fc_dtypes[t].name);
    for (uint32_t i = 0; i < rank; i++) {
        if (i && is_rest(c, shape[i]) && is_rest(c, shape[i - 1])) continue;
        fc_str_add(&s, i ? ", " : "[");
        fc_dim_print(&c->g->dims, shape[i], &s);
    }
    if (rank) fc_str_char(&s, ']');
    const char *text = fc_c_text(c, "%s", s.data);
    fc_c_str_free(c, &s);
    return text;
}

const char *fc_c_value_type(fc_checker *c, const fc_value *v) {
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank = fc_v_shape(c, v, shape);
    return fc_c_type_text(c, fc_v_dtype(c, v), rank, shape);
}

/* ---- reporting ------------------------------------------------------------------------------- */

static bool was_reported(const fc_checker *c, const fc_source *src, fusec_status s, fc_range at) {
    for (uint32_t i = 0; i < c->ds->len; i++) {
        const fc_diag *d = c->ds->at[i];
        if (d->src == src && d->code == s && d->at.begin == at.begin && d->at.end == at.end)
            return true;
    }
    return false;
}

static fc_diag *report(fc_checker *c, const fc_ast *ast, fusec_status s, fc_range at,
                       const char *fmt, va_list ap) {
    fc_str text;
    fc_str_init(&text, c->alloc);
    fc_str_vprintf(&text, fmt, ap);
    fc_diag *d = fc_diag_error(c->ds, s, ast->src, at, "%s", text.data);
    fc_c_str_free(c, &text);
    return d;
}

fc_diag *fc_c_error_in(fc_checker *c, const fc_ast *ast, fusec_status s, fc_range at,
                       const char *fmt, ...) {
    if (was_reported(c, ast->src, s, at)) return NULL;
    va_list ap;
    va_start(ap, fmt);
    fc_diag *d = report(c, ast, s, at, fmt, ap);
    va_end(ap);
    return d;
}

fc_diag *fc_c_error(fc_checker *c, fusec_status s, fc_range at, const char *fmt, ...) {
    const fc_ast *ast = c->f->ast;
    if (was_reported(c, ast->src, s, at)) return NULL;
    va_list ap;
    va_start(ap, fmt);
    fc_diag *d = report(c, ast, s, at, fmt, ap);
    va_end(ap);
    if (c->f->site) fc_diag_label(d, c->f->site_ast->src, c->f->site->at, "in this call");
    return d;
}

static bool has_fact(const fc_diag *d, const char *name) {
    for (const fc_diag_part *p = d->facts.first; p; p = p->next)
        if (p->name && strcmp(p->name, name) == 0) return true;
    return false;
}

void fc_c_fact(fc_checker *c, fc_diag *d, const fc_expr *e, const fc_value *v) {
    if (!d || v->kind != FC_V_NODE || v->weak) return;
    const char *name = fc_c_quote(c, e->at), *type = fc_c_value_type(c, v);
    const fc_binding *b = e->kind == FC_EX_NAME ? fc_c_find(c->f, e->text) : NULL;
    if (has_fact(d, name)) return;
    if (b && b->origin)
        fc_diag_fact(d, name, type, b->origin);
    else if (b)
        fc_diag_fact_at(d, name, type, c->f->ast->src, b->at);
    else
        fc_diag_fact(d, name, type, NULL);
}

void fc_c_not_yet(fc_checker *c, const fc_ast *ast, fc_range at, const char *what) {
    fc_diag *d = fc_c_error_in(
        c, ast, FUSEC_NOT_YET, at,
        "`%s` is part of the language, but this version of fusec does not compile it", what);
    fc_diag_help(d, "fusec help not-yet lists such parts");
}

fc_range fc_c_here(const fc_checker *c) {
    const fc_ast *ast = c->f->ast;
    bool ours = c->cur && c->cur->id < ast->exprs.len && ast->exprs.at[c->cur->id] == c->cur;
    return ours ? c->cur->at : c->f->def ? c->f->def->name.at : (fc_range){0, 0};
}

bool fc_c_fine(fc_checker *c) {
    fc_error *e = &c->g->error;
    if (!e->code) return true;
    if (e->code == FUSEC_OUT_OF_MEMORY) {
        fc_c_oom(c);
    } else {
        fc_c_error(c, e->code, fc_c_here(c), "%s", e->message);
        c->stop |= e->code == FUSEC_LIMIT && c->g->nodes.len >= c->g->limits.nodes;
    }
    memset(e, 0, sizeof *e);
    return false;
}

fc_node fc_c_built(fc_checker *c, fc_node n) {
    return fc_c_fine(c) ? n : FC_NONODE;
}

/* ---- names that do not exist ----------------------------------------------------------------- */

void fc_c_unknown_function(fc_checker *c, const fc_expr *name) {
    const char *ours = fc_foreign_name(name->text, name->len);
    bool value = fc_c_find(c->f, name->text) != NULL;
    fc_diag *d = fc_c_error(c, FUSEC_UNKNOWN_NAME, name->at, "there is no function `%s`%s",
                            name->text, value ? ": it is a value" : "");
    if (!d) return; /* looking for near names takes time */
    if (ours) {
        fc_diag_help(d, "did you mean %s?", ours);
        return;
    }
    fc_suggest s;
    fc_suggest_start(&s, name->text, name->len);
    fc_c_suggest_names(&s, &c->scopes.at[c->f->scope].defs);
    fc_c_suggest_builtins(c, &s);
    if (s.count)
        fc_suggest_help(&s, d);
    else if (!value)
        fc_diag_help(d, "fusec help functions lists them");
}

void fc_c_unknown_name(fc_checker *c, const fc_expr *name) {
    static const char *const constants[] = {"pi", "tau", "e", "inf", "nan"};
    bool function = fc_c_is_builtin(name->text) || fc_c_def(c, c->f->scope, name->text);
    fc_diag *d = fc_c_error(c, FUSEC_UNKNOWN_NAME, name->at,
                            function ? "`%s` is a function, not a value" : "there is no value `%s`",
                            name->text);
    if (!d) return;
    if (function) {
        fc_diag_help(d, "call it: %s( )", name->text);
        return;
    }
    fc_suggest s;
    fc_suggest_start(&s, name->text, name->len);
    for (size_t i = 0; i < c->f->names.len; i++)
        if (fc_c_find(c->f, c->f->names.at[i].name)) fc_suggest_try(&s, c->f->names.at[i].name);
    for (size_t i = 0; i < c->f->dims.len; i++) fc_suggest_try(&s, c->f->dims.at[i].name);
    fc_c_suggest_names(&s, &c->scopes.at[c->f->scope].consts);
    for (size_t i = 0; i < FC_COUNT(constants); i++)
        if (name->len > 2) fc_suggest_try(&s, constants[i]);
    fc_suggest_help(&s, d);
}

/* ---- np.f(x) and x.f(): rewritten ------------------------------------------------------------ */

typedef struct edit {
    uint32_t begin, end; /* replaced by `text` */
    uint32_t id;
    const char *text;
} edit;

typedef struct edits {
    edit at[32];
    uint32_t len;
    bool complete; /* every member has a spelling */
} edits;

static void add_edit(edits *es, uint32_t begin, uint32_t end, uint32_t id, const char *text) {
    if (es->len == FC_COUNT(es->at)) {
        es->complete = false;
        return;
    }
    uint32_t i = es->len++;
    for (; i > 0; i--) {
        const edit *o = &es->at[i - 1];
        bool before = o->begin != begin                        ? o->begin < begin
                      : (o->end == o->begin) != (end == begin) ? o->end == o->begin
                                                               : o->id > id;
        if (before) break;
        es->at[i] = *o;
    }
    es->at[i] = (edit){begin, end, id, text};
}

/* The source text of a range with the edits in it. */
static const char *apply(fc_checker *c, const edits *es, fc_range at) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    uint32_t pos = at.begin;
    const char *text = c->f->ast->src->text;
    for (uint32_t i = 0; i < es->len; i++) {
        const edit *e = &es->at[i];
        if (e->begin < at.begin || e->end > at.end) continue;
        if (e->begin > pos) fc_str_addn(&s, text + pos, e->begin - pos);
        fc_str_add(&s, e->text);
        if (e->end > pos) pos = e->end;
    }
    if (at.end > pos) fc_str_addn(&s, text + pos, at.end - pos);
    const char *r = fc_c_text(c, "%s", s.data);
    fc_c_str_free(c, &s);
    return r;
}

static bool is_value_name(fc_checker *c, const char *name) {
    uint32_t i;
    if (fc_c_find(c->f, name) || fc_c_dim(c->f, name)) return true;
    if (fc_c_const(c, c->f->scope, name, &i)) return true;
    for (size_t k = 0; !c->f->def && k < c->rq->input_count; k++)
        if (strcmp(c->rq->inputs[k].name, name) == 0) return true;
    return false;
}

static bool is_prefix(fc_checker *c, const fc_expr *member) {
    return member->object->kind == FC_EX_NAME && !is_value_name(c, member->object->text);
}

static const char *our_name(const fc_name *n) {
    if (fc_c_is_builtin(n->text)) return n->text;
    const char *ours = fc_foreign_name(n->text, n->len);
    return ours && fc_c_is_builtin(ours) ? ours : NULL;
}

static void edit_call(fc_checker *c, edits *es, const fc_expr *call) {
    const fc_expr *m = call->callee, *arg = call->list;
    const char *ours = our_name(m->member);
    fusec_dtype t;
    if (is_prefix(c, m)) {
        es->complete &= ours != NULL;
        if (ours) add_edit(es, m->at.begin, m->at.end, m->id, ours);
        return;
    }
    uint32_t begin = m->object->outer.begin, end = m->object->outer.end;
    if (strcmp(m->member->text, "astype") == 0 && call->count == 1 && arg->kind == FC_EX_NAME &&
        fc_c_dtype_name(c->f, arg->text, arg->len, &t)) {
        add_edit(es, begin, begin, m->id, fc_c_text(c, "%s(", arg->text));
        add_edit(es, end, call->at.end, m->id, ")");
        return;
    }
    es->complete &= ours != NULL;
    if (!ours) return;
    uint32_t stop = arg ? (arg->label ? arg->label->at.begin : arg->outer.begin) : call->at.end - 1;
    uint32_t inner = m->object->parens ? m->object->at.begin : begin; /* its parentheses go */
    if (m->object->parens) end = m->object->at.end;
    add_edit(es, begin, inner, m->id, fc_c_text(c, "%s(", ours));
    add_edit(es, end, stop, m->id, arg ? ", " : "");
}

static void edit_member(fc_checker *c, edits *es, const fc_expr *m) {
    const char *n = m->member->text;
    bool constant = strcmp(n, "pi") == 0 || strcmp(n, "e") == 0 || strcmp(n, "inf") == 0 ||
                    strcmp(n, "nan") == 0;
    if (is_prefix(c, m) && constant) {
        add_edit(es, m->at.begin, m->at.end, m->id, n);
    } else if (!is_prefix(c, m) && strcmp(n, "size") == 0) {
        add_edit(es, m->object->outer.begin, m->object->outer.begin, m->id, "size(");
        add_edit(es, m->object->outer.end, m->at.end, m->id, ")");
    } else {
        es->complete = false;
    }
}

/* The whole expression in our spelling. `mark` gets every such member but `first`. */
static void collect(fc_checker *c, edits *es, const fc_expr *first, fc_diag *mark) {
    const fc_expr *root = c->f->root;
    uint32_t seen = 0;
    es->complete = true;
    for (uint32_t i = root->first; i <= root->id; i++) {
        const fc_expr *e = c->f->ast->exprs.at[i];
        bool call = e->kind == FC_EX_CALL && e->callee->kind == FC_EX_MEMBER;
        if (call) edit_call(c, es, e);
        if (e->kind != FC_EX_MEMBER || strcmp(e->member->text, "T") == 0) continue;
        if (++seen > FC_COUNT(es->at)) { /* nobody types that many */
            es->complete = false;
            return;
        }
        bool called = false;
        for (uint32_t k = i + 1; k <= root->id && !called; k++) {
            const fc_expr *p = c->f->ast->exprs.at[k];
            called = p->kind == FC_EX_CALL && p->callee == e;
            if (p->first <= i) break; /* the node that e belongs to */
        }
        if (!called) edit_member(c, es, e);
        if (mark && e != first) fc_diag_partner(mark, e->op_at);
    }
}

void fc_c_bad_member(fc_checker *c, const fc_expr *e) {
    const fc_expr *m = e->kind == FC_EX_CALL ? e->callee : e;
    if (c->f->member_root == c->f->root) return;
    c->f->member_root = c->f->root;
    if (c->ds->errors > FC_DIAG_LIMIT) { /* only counted */
        fc_c_error(c, FUSEC_NO_METHODS, m->op_at, "a value has no methods, only .T");
        return;
    }
    edits es = {.len = 0};
    collect(c, &es, m, NULL);
    bool one_line = fc_source_one_line(c->f->ast->src, c->f->root->outer);
    fc_diag *d;
    if (is_prefix(c, m)) {
        const char *name = fc_c_quote(c, m->at);
        edits own = {.complete = true};
        if (e->kind == FC_EX_CALL)
            edit_call(c, &own, e);
        else
            edit_member(c, &own, e);
        d = own.complete
                ? fc_c_error(c, FUSEC_UNKNOWN_NAME, m->at, "names have no prefix here: `%s` is %s",
                             name, apply(c, &own, e->at))
                : fc_c_error(c, FUSEC_UNKNOWN_NAME, m->at, "names have no prefix here: `%s`", name);
    } else {
        d = fc_c_error(c, FUSEC_NO_METHODS, m->op_at, "a value has no methods, only .T");
    }
    edits marks = {.len = 0};
    collect(c, &marks, m, d);
    const char *fixed = apply(c, &es, c->f->root->outer);
    if (es.complete && one_line && strlen(fixed) < 200) fc_diag_help(d, "%s", fixed);
}
