/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* json.c - see json.h. */
#include "frontend/cli/json.h"

enum { DEPTH = 64 };

typedef struct scan {
    fc_arena *arena;
    const char *p, *end;
} scan;

static const fc_json *value(scan *s, int depth);

static void spaces(scan *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static bool take(scan *s, char c) {
    spaces(s);
    if (s->p == s->end || *s->p != c) return false;
    s->p++;
    return true;
}

/* The character behind a backslash; 0: none. */
static char escaped(scan *s) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    unsigned code = 0;
    const char c = *s->p++, *at = c ? strchr(from, c) : NULL;
    if (at) return to[at - from];
    if (c != 'u' || s->end - s->p < 4) return 0;
    for (int i = 0; i < 4; i++) {
        const char h = *s->p++;
        const unsigned low = (unsigned)h | 0x20;
        if (h >= '0' && h <= '9')
            code = code * 16 + (unsigned)(h - '0');
        else if (low >= 'a' && low <= 'f')
            code = code * 16 + (low - 'a' + 10);
        else
            return 0;
    }
    return code >= 0x20 && code < 0x7f ? (char)code : '?';
}

static const char *string(scan *s) {
    if (!take(s, '"')) return NULL;
    const char *end = s->p;
    while (end < s->end && *end != '"') end += *end == '\\' ? 2 : 1;
    if (end >= s->end) return NULL;
    char *out = fc_arena_alloc(s->arena, (size_t)(end - s->p) + 1);
    size_t n = 0;
    while (out && s->p < end) {
        char c = *s->p++;
        if ((unsigned char)c < 0x20) return NULL;
        if (c == '\\' && !(c = escaped(s))) return NULL;
        out[n++] = c;
    }
    s->p = end + 1;
    return out;
}

static bool number_char(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool word(scan *s, fc_json *v) {
    static const struct {
        const char *text;
        fc_json_kind kind;
    } words[] = {{"null", FC_JSON_NULL},       {"true", FC_JSON_BOOL},
                 {"false", FC_JSON_BOOL},      {"NaN", FC_JSON_NUMBER},
                 {"Infinity", FC_JSON_NUMBER}, {"-Infinity", FC_JSON_NUMBER}};
    for (size_t i = 0; i < FC_COUNT(words); i++) {
        const size_t n = strlen(words[i].text);
        if ((size_t)(s->end - s->p) < n || memcmp(s->p, words[i].text, n) != 0) continue;
        v->kind = words[i].kind, v->text = words[i].text;
        s->p += n;
        return true;
    }
    const char *start = s->p;
    while (s->p < s->end && number_char(*s->p)) s->p++;
    v->kind = FC_JSON_NUMBER;
    v->text = fc_arena_strdup(s->arena, start, (size_t)(s->p - start));
    return s->p > start && v->text;
}

/* What stands between the brackets. */
static bool members(scan *s, fc_json *v, int depth, char close) {
    const fc_json **end = &v->first;
    if (take(s, close)) return true;
    do {
        const char *key = NULL;
        if (close == '}' && (!(key = string(s)) || !take(s, ':'))) return false;
        fc_json *x = (fc_json *)(uintptr_t)value(s, depth + 1);
        if (!x) return false;
        x->key = key;
        *end = x;
        end = &x->next;
    } while (take(s, ','));
    return take(s, close);
}

static const fc_json *value(scan *s, int depth) {
    fc_json *v = depth < DEPTH ? fc_arena_alloc(s->arena, sizeof *v) : NULL;
    if (!v) return NULL;
    if (take(s, '{')) return v->kind = FC_JSON_OBJECT, members(s, v, depth, '}') ? v : NULL;
    if (take(s, '[')) return v->kind = FC_JSON_LIST, members(s, v, depth, ']') ? v : NULL;
    if (s->p < s->end && *s->p == '"')
        return v->kind = FC_JSON_STRING, (v->text = string(s)) ? v : NULL;
    return word(s, v) ? v : NULL;
}

const fc_json *fc_json_parse(fc_arena *arena, const char *text, size_t len) {
    scan s = {arena, text, text + len};
    const fc_json *v = value(&s, 0);
    spaces(&s);
    return s.p == s.end ? v : NULL;
}

const fc_json *fc_json_get(const fc_json *v, const char *key) {
    if (!v || v->kind != FC_JSON_OBJECT) return NULL;
    for (const fc_json *x = v->first; x; x = x->next)
        if (!strcmp(x->key, key)) return x;
    return NULL;
}

size_t fc_json_count(const fc_json *v) {
    size_t n = 0;
    for (const fc_json *x = v ? v->first : NULL; x; x = x->next) n++;
    return n;
}

bool fc_json_is(const fc_json *v, const char *string) {
    return v && v->kind == FC_JSON_STRING && !strcmp(v->text, string);
}

bool fc_json_size(const fc_json *v, int64_t *out) {
    *out = 0;
    if (!v || v->kind != FC_JSON_NUMBER) return false;
    for (const char *p = v->text; *p; p++)
        if (*p < '0' || *p > '9' || !fc_mul_ok(*out, 10, out) || !fc_add_ok(*out, *p - '0', out))
            return false;
    return *v->text != 0;
}
