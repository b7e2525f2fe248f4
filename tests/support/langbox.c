/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* langbox.c - see langbox.h. */
#include "tests/support/langbox.h"
#include "tests/support/graph_hash.h"

#include "tests/support/lang_files.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define INPUTS 300

typedef struct setup {
    langbox out;
    fc_diags ds;
    fc_source program_src, snippet_src;
    fc_ast program, snippet;
    fc_modules modules;
    const langbox_file *files; /* of imports; each is one source */
    size_t nfiles;
    fc_source imported[8];
    char called[10000]; /* "f g " */
    size_t called_len;
    bool has_program, has_snippet;
    fc_lang_request rq;
    fc_lang_input inputs[INPUTS];
    int64_t shapes[INPUTS][FC_MAX_RANK + 8];
    fc_lang_define defines[8];
    fc_lang_dtype dtypes[8];
    fc_str graph, results, printed;
    char words[100][500];
} setup;

static fc_lang_number number(const char *v) {
    fc_lang_number n = {FC_LANG_INT, *v == '-', 0, 0};
    if (strcmp(v, "true") == 0 || strcmp(v, "false") == 0) {
        n.kind = FC_LANG_BOOL;
        n.magnitude = *v == 't';
    } else if (strpbrk(v, ".e")) {
        n.kind = FC_LANG_FLOAT;
        n.value = strtod(v, NULL);
    } else {
        n.magnitude = strtoull(v + (*v == '-'), NULL, 0);
    }
    return n;
}

static bool is_number(const char *v) {
    char *end;
    strtod(v, &end);
    return (*v && !*end) || strcmp(v, "true") == 0 || strcmp(v, "false") == 0;
}

/* "f32[2, 3]" or "f32:2x3"; "?" is any size */
static void set_type(setup *s, fc_lang_input *in, const char *type) {
    size_t n = strcspn(type, "[:");
    int64_t *shape = s->shapes[in - s->inputs];
    in->has_dtype = fc_dtype_by_name(type, n, &in->dtype);
    in->shape = shape;
    for (const char *p = type + n; *p && in->rank < FC_MAX_RANK + 8;) {
        p += strspn(p, "[:x, ]");
        if (!*p) break;
        shape[in->rank++] = *p == '?' ? FC_LANG_ANY_SIZE : strtoll(p, NULL, 10);
        p += strspn(p, "0123456789?");
    }
}

static void add_input(setup *s, const char *name, const char *value, const langbox_input *known,
                      size_t nknown) {
    fc_lang_input *in = &s->inputs[s->rq.input_count++];
    memset(in, 0, sizeof *in);
    in->name = name;
    in->origin = value;
    if (is_number(value)) {
        in->kind = FC_LANG_SCALAR;
        in->number = number(value);
        in->origin = NULL;
        return;
    }
    for (size_t i = 0; i < nknown; i++)
        if (strcmp(known[i].name, name) == 0 && strcmp(known[i].origin, value) == 0) {
            set_type(s, in, known[i].type);
            return;
        }
    in->kind = strchr(value, ':') ? FC_LANG_TYPE : FC_LANG_ARRAY;
    set_type(s, in, in->kind == FC_LANG_TYPE ? value : "f32[2, 3]");
}

static char *copy(const fc_str *s) {
    char *t = malloc(s->len + 1);
    if (t) memcpy(t, s->data, s->len + 1);
    return t;
}

static void describe(setup *s, const fc_graph *g, const fc_lang_program *p) {
    fc_str_clear(&s->graph);
    fc_graph_print(g, &s->graph);
    for (size_t i = 0; i < g->conditions.len; i++) {
        const fc_condition *k = &g->conditions.at[i];
        fc_str_add(&s->graph, "require ");
        fc_dim_print(&g->dims, k->a, &s->graph);
        fc_str_add(&s->graph, k->kind == FC_CHECK_EQ ? " == " : " >= ");
        fc_dim_print(&g->dims, k->b, &s->graph);
        fc_str_char(&s->graph, '\n');
    }
    if (p->signature) fc_str_printf(&s->results, "%s\n", p->signature);
    for (uint32_t i = 0; i < p->result_count; i++)
        fc_str_printf(&s->results, "%s: %s\n", p->results[i].name, p->results[i].type);
    fc_str_clear(&s->printed);
    fc_lang_print_graph(g, "f", &s->printed);
    s->out.hash = fc_graph_hash(g);
    s->out.mode = p->mode;
}

static void compile(setup *s) {
    fc_graph g;
    fc_lang_program p;
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    s->out.status = fc_lang_compile(&s->rq, &g, &p, &s->ds);
    if (s->out.status == FUSEC_OK) describe(s, &g, &p);
    for (uint32_t i = 0; i < p.called_count; i++)
        if (s->called_len + strlen(p.called[i]) + 2 < sizeof s->called)
            s->called_len += (size_t)sprintf(s->called + s->called_len, "%s ", p.called[i]);
    fc_lang_program_free(&p);
    fc_graph_free(&g);
}

static bool was_called(const setup *s, const char *name) {
    char word[300];
    snprintf(word, sizeof word, "%s ", name);
    const char *p = strstr(s->called, word);
    while (p && p > s->called && p[-1] != ' ') p = strstr(p + 1, word);
    return p != NULL;
}

/* As fusec check: definitions without types where nothing calls them. */
static void compile_all(setup *s) {
    bool any = false;
    for (int typed = 1; typed >= !s->rq.check; typed--)
        for (const fc_item *it = s->program.items; it; it = it->next) {
            if (it->kind != FC_IT_DEF || fc_lang_is_typed(it) != typed) continue;
            if (!typed && was_called(s, it->name.text)) continue;
            s->rq.def = it->name.text;
            any = true;
            compile(s);
        }
    if (!any) compile(s);
}

static setup *start(void) {
    setup *s = calloc(1, sizeof *s);
    fc_diags_init(&s->ds, &fc_libc_alloc);
    fc_str_init(&s->graph, &fc_libc_alloc);
    fc_str_init(&s->results, &fc_libc_alloc);
    fc_str_init(&s->printed, &fc_libc_alloc);
    s->rq.default_float = FUSEC_F32;
    s->rq.inputs = s->inputs;
    s->rq.defines = s->defines;
    s->rq.dtypes = s->dtypes;
    return s;
}

/* One of the programs of the corpus; false: there is none of this name. */
static bool corpus_file(fc_source *out, const char *name) {
    char path[1000];
    snprintf(path, sizeof path, LANG_PROGRAMS "/%s", name);
    FILE *f = fopen(path, "rb");
    char text[10000];
    fc_error e = {0};
    if (!f) return false;
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    return !fc_source_init(out, &fc_libc_alloc, name, text, n, &e);
}

/* Imports are the other files of the test, by their names, or programs of the corpus. */
static fusec_status open_import(void *ctx, const fc_source *from, const char *path,
                                const fc_source **out, fc_str *tried, fc_error *e) {
    setup *s = ctx;
    (void)from;
    fc_str_printf(tried, "%s", path);
    if (s->program_src.name && strcmp(s->program_src.name, path) == 0) *out = &s->program_src;
    for (size_t i = 0; i < s->nfiles && i < FC_COUNT(s->imported) && !*out; i++) {
        const langbox_file *f = &s->files[i];
        if (strcmp(f->name, path) != 0) continue;
        *out = &s->imported[i];
        if (!s->imported[i].alloc)
            return fc_source_init(&s->imported[i], &fc_libc_alloc, path, f->text, strlen(f->text),
                                  e);
    }
    for (size_t i = s->nfiles; i < FC_COUNT(s->imported) && !*out; i++) {
        fc_source *known = &s->imported[i];
        if (known->name ? strcmp(known->name, path) == 0 : corpus_file(known, path)) *out = known;
        if (!known->name) break;
    }
    return FUSEC_OK;
}

static bool parse(setup *s, bool snippet, const char *name, const char *text, size_t len) {
    fc_source *src = snippet ? &s->snippet_src : &s->program_src;
    fc_ast *ast = snippet ? &s->snippet : &s->program;
    fc_error e = {0};
    s->out.status = fc_source_init(src, &fc_libc_alloc, name, text, len, &e);
    if (s->out.status != FUSEC_OK) {
        fc_diag_from(&s->ds, &e);
        return false;
    }
    s->out.status = (snippet ? fc_parse_snippet : fc_parse_program)(src, &s->ds, ast);
    *(snippet ? &s->has_snippet : &s->has_program) = true;
    if (snippet)
        s->rq.snippet = ast;
    else
        s->rq.program = ast;
    const fc_opener opener = {s, open_import};
    if (!snippet && s->out.status == FUSEC_OK)
        s->out.status = fc_modules_load(&s->modules, ast, &opener, &fc_libc_alloc, &s->ds);
    return s->out.status == FUSEC_OK;
}

static langbox end(setup *s) {
    fc_str text, json;
    fc_str_init(&text, &fc_libc_alloc);
    fc_str_init(&json, &fc_libc_alloc);
    fc_diags_text(&s->ds, false, &text);
    fc_diags_json(&s->ds, &json);
    s->out.graph = copy(&s->graph);
    s->out.results = copy(&s->results);
    s->out.printed = copy(&s->printed);
    s->out.text = copy(&text);
    s->out.json = copy(&json);
    s->out.errors = s->ds.errors;
    langbox out = s->out;
    fc_str_free(&text);
    fc_str_free(&json);
    fc_str_free(&s->graph);
    fc_str_free(&s->results);
    fc_str_free(&s->printed);
    fc_diags_free(&s->ds);
    fc_modules_free(&s->modules);
    for (size_t i = 0; i < FC_COUNT(s->imported); i++) fc_source_free(&s->imported[i]);
    if (s->has_program) fc_ast_free(&s->program);
    if (s->has_snippet) fc_ast_free(&s->snippet);
    if (s->program_src.alloc) fc_source_free(&s->program_src);
    if (s->snippet_src.alloc) fc_source_free(&s->snippet_src);
    free(s);
    return out;
}

/* Splits at blanks; what stands in single quotes is one word. */
static size_t split(setup *s, const char *command) {
    size_t n = 0;
    for (const char *p = command; *p && n < FC_COUNT(s->words);) {
        p += strspn(p, " \n");
        size_t at = 0;
        bool quoted = false;
        while (*p && (quoted || (*p != ' ' && *p != '\n'))) {
            if (*p == '\'')
                quoted = !quoted;
            else if (at + 1 < sizeof s->words[0])
                s->words[n][at++] = *p;
            p++;
        }
        if (at) n++;
    }
    return n;
}

static const langbox_file *file_named(const langbox_file *files, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(files[i].name, name) == 0) return &files[i];
    return NULL;
}

langbox langbox_command(const char *command, const langbox_file *files, size_t nfiles,
                        const langbox_input *inputs, size_t ninputs) {
    setup *s = start();
    size_t n = split(s, command);
    bool all = n > 1 && strcmp(s->words[1], "check") == 0, good = true;
    char line[1000];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(command, "\n"), command);
    s->rq.command = line;
    s->rq.complete = !all;
    s->rq.check = all;
    s->files = files;
    s->nfiles = nfiles;
    for (size_t i = 1; i < n && good; i++) {
        char *w = s->words[i], *eq = strchr(w, '='), *colon = strchr(w, ':');
        if (strcmp(w, "-e") == 0) {
            i++;
            good = parse(s, true, "<expr>", s->words[i], strlen(s->words[i]));
        } else if (strcmp(w, "--cast") == 0) {
            s->rq.cast = true;
        } else if (strcmp(w, "--default-float") == 0) {
            i++;
            fc_dtype_by_name(s->words[i], strlen(s->words[i]), &s->rq.default_float);
        } else if (strcmp(w, "--dtype") == 0) {
            fc_lang_dtype *d = &s->dtypes[s->rq.dtype_count++];
            char *v = s->words[++i];
            d->letter = *v;
            fc_dtype_by_name(v + 2, strlen(v + 2), &d->dtype);
        } else if (strcmp(w, "-D") == 0) {
            char *v = s->words[++i], *q = strchr(v, '=');
            *q = '\0';
            s->defines[s->rq.define_count++] = (fc_lang_define){v, number(q + 1)};
        } else if (strstr(w, ".fuse")) {
            if (colon) *colon = '\0', s->rq.def = colon + 1;
            const langbox_file *f = file_named(files, nfiles, w);
            good = f && parse(s, false, f->name, f->text, strlen(f->text));
        } else if (eq) {
            *eq = '\0';
            add_input(s, w, eq + 1, inputs, ninputs);
        }
    }
    if (good && all && !s->has_snippet && !s->rq.def && !s->rq.input_count)
        compile_all(s);
    else if (good)
        compile(s);
    return end(s);
}

langbox langbox_snippet(const char *text, const char *inputs) {
    setup *s = start();
    char *list = strdup(inputs), *p = list;
    s->rq.complete = true;
    while (*p) {
        p += strspn(p, ", ");
        char *name = p;
        p += strcspn(p, ":=,");
        if (!*p) break;
        char kind = *p;
        *p++ = '\0';
        p += strspn(p, " ");
        char *value = p;
        p += strcspn(p, "[,");
        if (*p == '[') p += strcspn(p, "]") + 1;
        char after = *p;
        *p = '\0';
        if (kind == '=') {
            add_input(s, name, value, NULL, 0);
        } else {
            fc_lang_input *in = &s->inputs[s->rq.input_count++];
            in->name = name;
            in->origin = name;
            set_type(s, in, value);
        }
        if (after) p++;
    }
    if (parse(s, true, "<expr>", text, strlen(text))) compile(s);
    langbox b = end(s);
    free(list);
    return b;
}

langbox langbox_program(const char *name, const char *text, size_t len, const char *def) {
    setup *s = start();
    if (parse(s, false, name, text, len)) {
        s->rq.def = def;
        if (def)
            compile(s);
        else
            compile_all(s);
    }
    return end(s);
}

void langbox_free(langbox *b) {
    free(b->graph);
    free(b->results);
    free(b->printed);
    free(b->text);
    free(b->json);
}

void langbox_round_trip(const langbox *first) {
    if (first->status != FUSEC_OK) return;
    langbox b = langbox_program("printed.fuse", first->printed, strlen(first->printed), NULL);
    FC_EXPECT_STREQ(b.text, "");
    FC_EXPECT_STREQ(b.printed, first->printed);
    if (b.status == FUSEC_OK) {
        langbox c = langbox_program("printed.fuse", b.printed, strlen(b.printed), NULL);
        FC_EXPECT_EQ_U64(c.hash, b.hash);
        FC_EXPECT_STREQ(c.graph, b.graph);
        langbox_free(&c);
    }
    langbox_free(&b);
}
