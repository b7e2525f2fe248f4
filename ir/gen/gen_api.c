/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_api.c - the functions, types and constants of the public headers as JSON. Part of fusec_gen.
 *
 * In: include/fusec/{dtype,fusec,ops}.h, which keep to a few forms: one declaration a statement,
 * `FUSEC_API result name(arguments);`, `typedef struct`, `typedef enum`, `enum`, `#define NAME
 * number`. Whatever else is met fails, so that nothing is left out silently.
 * Out: the members that gen_api.h names. What an argument is for follows from its type and from the
 * conventions of fusec.h: what comes back through a T ** is the caller's, who gives it to T's free
 * function; other pointers that are not const are written to; arrays have their length in an
 * argument named for it. */
#include "ir/gen/gen_api.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    const char *at;
    size_t len;
} span;

typedef struct reader {
    const char *p, *file;
    span doc;  /* the comment before the next declaration, or that of the group it is in */
    bool good; /* nothing was wrong so far */
} reader;

/* Declarations of one kind, each a line of JSON; they come in any order and are written by kind. */
enum { CONSTANTS, ENUMS, STRUCTS, OPAQUE, CALLBACKS, FUNCTIONS, KINDS };
static const char *const kind_names[KINDS] = {"constants", "enums",     "structs",
                                              "opaque",    "callbacks", "functions"};
typedef struct lists {
    FILE *out[KINDS];
    char *text[KINDS];
    size_t size[KINDS];
    int count[KINDS];
} lists;

static FILE *begin(lists *l, int kind) {
    fputs(l->count[kind]++ ? ",\n    " : "\n    ", l->out[kind]);
    return l->out[kind];
}

/* ---- texts -------------------------------------------------------------------------------------
 */

void fc_gen_quoted(FILE *out, const char *text, size_t len) {
    fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"' || text[i] == '\\') fputc('\\', out);
        if (text[i] == '\n')
            fputs("\\n", out);
        else
            fputc(text[i], out);
    }
    fputc('"', out);
}

static void quoted(FILE *out, span s) {
    fc_gen_quoted(out, s.at, s.len);
}

static bool is(span s, const char *text) {
    return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static bool ends(span s, const char *text) {
    const size_t n = strlen(text);
    return s.len >= n && !memcmp(s.at + s.len - n, text, n);
}

static span trimmed(const char *from, const char *to) {
    while (from < to && isspace((unsigned char)*from)) from++;
    while (from < to && isspace((unsigned char)to[-1])) to--;
    return (span){from, (size_t)(to - from)};
}

/* A comment without the marks and indents of its lines, as one paragraph; blank lines and indented
 * examples stay lines of their own. */
static void comment(FILE *out, span c) {
    bool first = true;
    fputc('"', out);
    for (const char *p = c.at, *end = c.at + c.len; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        if (!eol) eol = end;
        while (p < eol && isspace((unsigned char)*p)) p++;
        if (p < eol && *p == '*') p++;
        const bool example = eol - p > 4 && !memcmp(p, "     ", 5);
        if (p < eol && *p == ' ') p++;
        const span line = example ? (span){p, (size_t)(eol - p)} : trimmed(p, eol);
        if (!first) fputs(example || !line.len ? "\\n" : " ", out);
        for (size_t i = 0; i < line.len; i++) {
            if (line.at[i] == '"' || line.at[i] == '\\') fputc('\\', out);
            fputc(line.at[i], out);
        }
        first = false;
        p = eol + 1;
    }
    fputc('"', out);
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static void wrong(reader *r, const char *what) {
    if (r->good) fprintf(stderr, "fusec_gen: %s: %s: %.60s\n", r->file, what, r->p ? r->p : "");
    r->good = false;
}

/* Past blanks and comments; a comment becomes the documentation of what follows. An empty line ends
 * a group. */
static void skip(reader *r) {
    for (;;) {
        int lines = 0;
        for (; isspace((unsigned char)*r->p); r->p++) lines += *r->p == '\n';
        if (lines > 1) r->doc = (span){NULL, 0};
        if (r->p[0] != '/' || (r->p[1] != '*' && r->p[1] != '/')) return;
        const bool block = r->p[1] == '*';
        const char *end = strstr(r->p + 2, block ? "*/" : "\n");
        if (!end) {
            wrong(r, "a comment without an end");
            return;
        }
        r->doc = trimmed(r->p + 2, end);
        r->p = end + (block ? 2 : 0);
    }
}

/* The comment that stands on the rest of the line, if there is one. */
static span behind(reader *r) {
    const char *p = r->p;
    while (*p == ' ' || *p == ',') p++;
    if (p[0] != '/' || p[1] != '*') return (span){NULL, 0};
    const char *end = strstr(p + 2, "*/");
    if (!end) return (span){NULL, 0};
    r->p = end + 2;
    return trimmed(p + 2, end);
}

/* The text up to `stop`, which is taken too, without the comments in it. */
static span until(reader *r, char stop, char *room, size_t size) {
    size_t n = 0;
    int depth = 0;
    for (; *r->p && (depth || *r->p != stop); r->p++) {
        if (r->p[0] == '/' && r->p[1] == '*') {
            const char *end = strstr(r->p, "*/");
            if (!end) break;
            r->p = end + 1;
            continue;
        }
        if (*r->p == '(' || *r->p == '{') depth++;
        if (*r->p == ')' || *r->p == '}') depth--;
        if (n + 1 < size) room[n++] = *r->p == '\n' ? ' ' : *r->p;
    }
    if (!*r->p)
        wrong(r, "the end of the file");
    else
        r->p++;
    if (n + 1 >= size) wrong(r, "a declaration that is too long");
    return trimmed(room, room + n);
}

/* ---- a type and a name -------------------------------------------------------------------------
 */

typedef struct declared {
    span type, base, name; /* `const int64_t *`, `int64_t`, `shape` */
    int pointers, length;  /* length: of an array in a struct, else 0 */
    bool constant;         /* what it points to is const */
    bool callback;         /* a pointer to a function, written out */
} declared;

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Memory until the end of fc_gen_api. */
static struct block { struct block *next; } * kept;

static char *keep(size_t n) {
    struct block *b = calloc(1, sizeof *b + n);
    if (!b) return NULL;
    b->next = kept;
    kept = b;
    return (char *)(b + 1);
}

static void give_back(void) {
    for (struct block *next; kept; kept = next) {
        next = kept->next;
        free(kept);
    }
}

/* A type may have blanks where lines were broken: they are one. */
static span squeezed(span s) {
    char *to = keep(s.len + 1);
    size_t n = 0;
    for (size_t i = 0; to && i < s.len; i++)
        if (!isspace((unsigned char)s.at[i]) || (n && to[n - 1] != ' ')) to[n++] = s.at[i];
    return (span){to, n};
}

static declared declaration(span s) {
    declared d = {0};
    const char *open = memchr(s.at, '(', s.len);
    if (open) { /* result (*name)(arguments) */
        const char *star = memchr(open, '*', s.len - (size_t)(open - s.at));
        const char *p = star ? star + 1 : open;
        d.callback = true;
        d.name.at = p;
        while (is_word(*p)) p++;
        d.name.len = (size_t)(p - d.name.at);
        d.type = squeezed(s);
        d.base = (span){"function", 8};
        d.pointers = 1;
        return d;
    }
    const char *end = s.at + s.len;
    if (end > s.at && end[-1] == ']') {
        while (end > s.at && *end != '[') end--;
        d.length = atoi(end + 1);
    }
    const char *name = end;
    while (name > s.at && is_word(name[-1])) name--;
    d.name = (span){name, (size_t)(end - name)};
    d.type = squeezed(trimmed(s.at, name));
    const char *p = d.type.at, *stop = d.type.at + d.type.len;
    if (d.type.len > 6 && !memcmp(p, "const ", 6)) d.constant = true, p += 6;
    d.base.at = p;
    while (p < stop && *p != '*') p++;
    d.base = trimmed(d.base.at, p);
    for (; p < stop; p++) d.pointers += *p == '*';
    return d;
}

/* The pieces of a list, at commas outside of brackets. */
static int pieces(span s, span *out, int room) {
    int n = 0, depth = 0;
    const char *from = s.at;
    if (!s.len || is(s, "void")) return 0;
    for (const char *p = s.at; p <= s.at + s.len; p++) {
        if (p < s.at + s.len && *p == '(') depth++;
        if (p < s.at + s.len && *p == ')') depth--;
        if (p < s.at + s.len && (depth || *p != ',')) continue;
        if (n < room) out[n] = trimmed(from, p);
        n++;
        from = p + 1;
    }
    return n;
}

/* ---- what an argument is for -------------------------------------------------------------------
 */

/* The types that are only pointed to, with what takes them back. */
static const struct {
    const char *type, *release;
} opaque[] = {{"fusec_context", "fusec_context_free"}, {"fusec_graph", "fusec_graph_free"},
              {"fusec_program", "fusec_program_free"}, {"fusec_loop", "fusec_loop_end"},
              {"fusec_lazy", "fusec_lazy_release"},    {"fusec_cut", "fusec_cut_free"},
              {"fusec_partial", "fusec_partial_free"}, {"fusec_module", "fusec_module_free"},
              {"fusec_event", "fusec_event_free"},     {"char", "fusec_text_free"}};

static const char *release_of(span base) {
    for (size_t i = 0; i < FC_COUNT(opaque); i++)
        if (is(base, opaque[i].type)) return opaque[i].release;
    return NULL;
}

static bool is_opaque(span base) {
    return release_of(base) && !is(base, "char");
}

/* Which argument counts an array: by the names that the headers use. */
static const struct {
    const char *array, *count;
} counts[] = {{"shape", "rank"},
              {"starts", "rank"},
              {"edges", "rank"},
              {"steps", "rank*rank(v)"},
              {"times", "rank"},
              {"axes", "naxes"},
              {"before", "rank(v)"},
              {"after", "rank(v)"},
              {"inputs", "ninputs"},
              {"outputs", "noutputs"},
              {"results", "nresults"},
              {"results", "n"},
              {"sizes", "room"},
              {"seconds", "room"},
              {"bytes", "room"},
              {"bytes", "n"},
              {"data", "size"},
              {"folders", "n"},
              {"names", "n"},
              {"values", "n"},
              {"out", "bytes"},
              {"programs", "n"},
              {"device", "bytes"},
              {"host", "bytes"},
              {"operands", "n"},
              {"parts", "n"},
              {"x", "n"},
              {"dx", "n"},
              {"a", "n"},
              {"b", "n"},
              {"c", "n"},
              {"start", "n"},
              {"out", "n"},
              {"v", "n"},
              {"into", "n"},
              {"inputs", "n"},
              {"outputs", "desc->noutputs"}};

typedef struct function {
    span name;
    declared result, argument[16];
    int n;
} function;

static const char *count_of(const function *f, const declared *a) {
    if (!a->pointers || a->callback || (is_opaque(a->base) && a->pointers == 1)) return NULL;
    if (is(a->base, "char") && a->pointers == 1) return NULL;
    for (size_t i = 0; i < FC_COUNT(counts); i++) {
        if (!is(a->name, counts[i].array)) continue;
        if (strchr(counts[i].count, '>') || strchr(counts[i].count, '(')) {
            const bool call = is(f->name, "fusec_call");
            if (call == !strchr(counts[i].count, '(') && !is_opaque(a->base))
                return counts[i].count;
            continue;
        }
        if (a->pointers == 2 && !a->constant && is_opaque(a->base) && is(a->name, "out"))
            return NULL;
        for (int k = 0; k < f->n; k++)
            if (is(f->argument[k].name, counts[i].count) && f->argument[k].pointers == 0)
                return counts[i].count;
    }
    return NULL;
}

static bool is_const_of_handles(const declared *a) { /* fusec_lazy *const *v */
    for (size_t i = 0; i + 5 < a->type.len; i++)
        if (!memcmp(a->type.at + i, "const", 5) && i) return true;
    return false;
}

static const char *direction(const declared *a) {
    if (!a->pointers || a->callback) return "in";
    if (a->pointers >= 2) return is_const_of_handles(a) ? "in" : "out";
    if (a->constant || is_opaque(a->base)) return "in";
    if (is(a->base, "void"))
        return is(a->name, "out") || is(a->name, "host") || is(a->name, "bytes") ? "out" : "in";
    if (is(a->base, "fusec_counters") || is(a->base, "fusec_device_info")) return "inout";
    return is(a->base, "char") ? "in" : "out";
}

/* Whose the thing is that a pointer leads to. */
static const char *ownership(const function *f, const declared *a, const char *way) {
    if (!a->pointers || a->callback) return NULL;
    if (!strcmp(way, "in")) {
        const char *release = release_of(a->base);
        return release && a->pointers == 1 && is(f->name, release) ? "taken" : "borrowed";
    }
    if (a->pointers == 2 && !a->constant)
        return release_of(a->base) || is(a->base, "void") ? "given" : "borrowed";
    return a->pointers == 2 ? "lent" : "borrowed";
}

static const char *given_back_by(const function *f, const declared *a) {
    if (a->pointers != 2 || a->constant) return NULL;
    if (!is(a->base, "void")) return release_of(a->base);
    return is(f->name, "fusec_host_alloc") ? "fusec_host_free" : "fusec_device_free";
}

static void argument(FILE *out, const function *f, const declared *a) {
    const char *way = direction(a), *own = ownership(f, a, way), *count = count_of(f, a);
    fputs("{\"name\": ", out);
    quoted(out, a->name);
    fputs(", \"type\": ", out);
    quoted(out, a->type);
    fputs(", \"base\": ", out);
    quoted(out, a->base);
    fprintf(out, ", \"pointers\": %d, \"direction\": \"%s\"", a->pointers, way);
    if (own) fprintf(out, ", \"ownership\": \"%s\"", own);
    if (own && !strcmp(own, "given")) fprintf(out, ", \"free\": \"%s\"", given_back_by(f, a));
    if (count) fprintf(out, ", \"count\": \"%s\"", count);
    fputc('}', out);
}

/* ---- the kinds of declarations -----------------------------------------------------------------
 */

static void arguments(FILE *out, function *f, span list) {
    span p[16];
    f->n = pieces(list, p, (int)FC_COUNT(p));
    for (int i = 0; i < f->n; i++) f->argument[i] = declaration(p[i]);
    fputs(", \"arguments\": [", out);
    for (int i = 0; i < f->n; i++) {
        fputs(i ? ", " : "", out);
        argument(out, f, &f->argument[i]);
    }
    fputc(']', out);
}

static void read_function(reader *r, lists *l) {
    char head[200], list[1200];
    function f = {0};
    const span before = r->doc, h = until(r, '(', head, sizeof head);
    const span inside = until(r, ')', list, sizeof list);
    if (*r->p != ';') wrong(r, "no ; after a function");
    r->p++;
    const span tail = behind(r);
    f.result = declaration(h);
    f.name = f.result.name;
    FILE *out = begin(l, FUNCTIONS);
    fputs("{\"name\": ", out);
    quoted(out, f.name);
    fputs(", \"returns\": ", out);
    quoted(out, f.result.type);
    if (f.result.pointers)
        fprintf(out, ", \"ownership\": \"%s\"", is(f.result.base, "fusec_loop") ? "given" : "lent");
    arguments(out, &f, inside);
    fputs(", \"doc\": ", out);
    comment(out, tail.at ? tail : before);
    fputc('}', out);
}

static void read_enum(reader *r, lists *l, span name) {
    char text[1500];
    span p[64];
    long long value = 0;
    const span doc = r->doc, body = until(r, '}', text, sizeof text);
    const int n = pieces(body, p, (int)FC_COUNT(p));
    FILE *out = begin(l, ENUMS);
    fputs("{\"name\": ", out);
    quoted(out, name);
    fputs(", \"values\": [", out);
    for (int i = 0; i < n && p[i].len; i++) {
        const char *equals = memchr(p[i].at, '=', p[i].len);
        const span key = trimmed(p[i].at, equals ? equals : p[i].at + p[i].len);
        if (equals) value = strtoll(equals + 1, NULL, 0);
        fputs(i ? ", {\"name\": " : "{\"name\": ", out);
        quoted(out, key);
        fprintf(out, ", \"value\": %lld}", value++);
    }
    fputs("], \"doc\": ", out);
    comment(out, doc);
    fputc('}', out);
}

/* Sizes and alignments on a 64-bit machine: all that public structs have in them. */
static size_t size_of(const declared *d) {
    if (d->pointers) return 8;
    if (ends(d->base, "_fn") || is(d->base, "size_t")) return 8;
    if (is(d->base, "fusec_dim")) return 16;
    if (is(d->base, "char")) return 1;
    return ends(d->base, "64_t") ? 8 : 4;
}

static void read_struct(reader *r, lists *l, span name) {
    size_t at = 0, widest = 1;
    bool sized = false, first = true;
    char text[400];
    FILE *out = begin(l, STRUCTS);
    fputs("{\"name\": ", out);
    quoted(out, name);
    fputs(", \"doc\": ", out);
    comment(out, r->doc);
    fputs(", \"fields\": [", out);
    for (skip(r); r->good && *r->p != '}'; skip(r)) {
        span p[8];
        const span all = until(r, ';', text, sizeof text);
        const bool callback = memchr(all.at, '(', all.len) != NULL;
        const int n = callback ? (p[0] = all, 1) : pieces(all, p, (int)FC_COUNT(p));
        declared lead = declaration(p[0]);
        for (int i = 0; i < n; i++) {
            declared d = declaration(p[i]);
            if (i) { /* `size_t a, b` and `const char *a, *b` */
                const declared own = d;
                d = lead;
                d.name = own.name;
                d.length = own.length;
            }
            const size_t bytes = size_of(&d), align = is(d.base, "fusec_dim") ? 8 : bytes;
            at = (at + align - 1) / align * align;
            if (align > widest) widest = align;
            fputs(first ? "\n      {\"name\": " : ",\n      {\"name\": ", out);
            first = false;
            quoted(out, d.name);
            fputs(", \"type\": ", out);
            quoted(out, d.type);
            fprintf(out, ", \"offset\": %zu", at);
            if (d.length) fprintf(out, ", \"length\": %d", d.length);
            fputc('}', out);
            sized |= at == 0 && is(d.name, "size");
            at += bytes * (size_t)(d.length ? d.length : 1);
        }
        behind(r);
    }
    if (*r->p == '}') r->p++;
    fprintf(out, "], \"bytes\": %zu, \"begins_with_size\": %s}",
            (at + widest - 1) / widest * widest, sized ? "true" : "false");
}

static void read_opaque(lists *l, span name) {
    FILE *out = begin(l, OPAQUE);
    fputs("{\"name\": ", out);
    quoted(out, name);
    const char *release = release_of(name);
    fprintf(out, ", \"free\": \"%s\"}", release ? release : "");
}

static void read_callback(reader *r, lists *l, span all) {
    function f = {0};
    const declared d = declaration(all);
    const char *open = d.name.at + d.name.len;
    if (*open != ')' || open[1] != '(') {
        wrong(r, "a typedef of another form");
        return;
    }
    FILE *out = begin(l, CALLBACKS);
    fputs("{\"name\": ", out);
    quoted(out, d.name);
    fputs(", \"returns\": ", out);
    quoted(out, trimmed(all.at, memchr(all.at, '(', all.len)));
    f.name = d.name;
    arguments(out, &f, trimmed(open + 2, all.at + all.len - 1));
    fputs(", \"doc\": ", out);
    comment(out, r->doc);
    fputc('}', out);
}

static span word(reader *r) {
    skip(r);
    const char *from = r->p;
    while (is_word(*r->p)) r->p++;
    return (span){from, (size_t)(r->p - from)};
}

static void read_typedef(reader *r, lists *l) {
    char text[400];
    const char *from = r->p;
    const span doc = r->doc, kind = word(r), name = word(r);
    skip(r);
    r->doc = doc;
    if (*r->p == '{' && (is(kind, "struct") || is(kind, "enum"))) {
        r->p++;
        if (is(kind, "struct"))
            read_struct(r, l, name);
        else
            read_enum(r, l, name);
        until(r, ';', text, sizeof text);
    } else if (is(kind, "struct")) {
        read_opaque(l, name);
        until(r, ';', text, sizeof text);
    } else {
        r->p = from;
        read_callback(r, l, until(r, ';', text, sizeof text));
    }
}

/* A line of the preprocessor: `#define FUSEC_NAME number` is a constant, all else is skipped. */
static void read_directive(reader *r, lists *l) {
    const char *eol = r->p;
    while (*eol && (*eol != '\n' || eol[-1] == '\\')) eol++;
    const span line = {r->p, (size_t)(eol - r->p)};
    if (line.len > 8 && !memcmp(line.at, "#define ", 8)) {
        const char *p = line.at + 8, *from = p;
        while (is_word(*p)) p++;
        const span name = {from, (size_t)(p - from)};
        while (*p == ' ') p++;
        const bool minimum = !strncmp(p, "INT64_MIN", 9);
        if (isdigit((unsigned char)*p) || minimum) {
            FILE *out = begin(l, CONSTANTS);
            fputs("{\"name\": ", out);
            quoted(out, name);
            if (minimum) /* too large for the numbers of many readers of JSON */
                fputs(", \"value\": \"-9223372036854775808\"}", out);
            else
                fprintf(out, ", \"value\": %lld}", strtoll(p, NULL, 0));
        }
    }
    r->p = *eol ? eol + 1 : eol;
}

static bool take(reader *r, const char *text) {
    const size_t n = strlen(text);
    if (strncmp(r->p, text, n) != 0) return false;
    r->p += n;
    return true;
}

static void read_header(reader *r, lists *l) {
    for (skip(r); r->good && *r->p; skip(r)) {
        if (*r->p == '#')
            read_directive(r, l);
        else if (take(r, "FUSEC_API "))
            read_function(r, l);
        else if (take(r, "typedef "))
            read_typedef(r, l);
        else if (take(r, "enum {")) {
            char text[100];
            read_enum(r, l, (span){"", 0});
            until(r, ';', text, sizeof text);
        } else if (take(r, "FUSEC_INIT_FUNCTION(")) {
            char text[100];
            until(r, ')', text, sizeof text);
        } else if (!take(r, "extern \"C\" {") && !take(r, "}"))
            wrong(r, "a declaration of another form");
    }
}

static char *file_text(const char *name) {
    char path[1000];
    snprintf(path, sizeof path, "%s/include/fusec/%s", FUSEC_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    char *text = keep(1 << 20);
    if (!f || !text || !fread(text, 1, (1 << 20) - 1, f)) {
        fprintf(stderr, "fusec_gen: can't read %s\n", path);
        text = NULL;
    }
    if (f) fclose(f);
    return text;
}

bool fc_gen_api(FILE *out) {
    static const char *const files[] = {"dtype.h", "fusec.h", "ops.h"};
    lists l = {0};
    bool good = true;
    for (int k = 0; k < KINDS; k++) l.out[k] = open_memstream(&l.text[k], &l.size[k]);
    for (size_t i = 0; i < FC_COUNT(files); i++) {
        reader r = {.p = file_text(files[i]), .file = files[i], .good = true};
        if (r.p) read_header(&r, &l);
        good &= r.p && r.good;
    }
    for (int k = 0; k < KINDS; k++) {
        fclose(l.out[k]);
        fprintf(out, "  \"%s\": [%s\n  ],\n", kind_names[k], l.text[k]);
        free(l.text[k]);
    }
    give_back();
    return good;
}
