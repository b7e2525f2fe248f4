/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* source.c - program texts, line tables and UTF-8. See source.h. */
#include "frontend/lang/source.h"

size_t fc_utf8_next(const char *p, const char *end, uint32_t *cp) {
    const unsigned char *s = (const unsigned char *)p;
    size_t left = (size_t)(end - p), n;
    if (left == 0) return 0;
    uint32_t c = s[0], least;
    if (c < 0x80) {
        if (cp) *cp = c;
        return 1;
    }
    if (c >= 0xc2 && c < 0xe0) {
        n = 2, c &= 0x1f, least = 0x80;
    } else if (c >= 0xe0 && c < 0xf0) {
        n = 3, c &= 0x0f, least = 0x800;
    } else if (c >= 0xf0 && c < 0xf5) {
        n = 4, c &= 0x07, least = 0x10000;
    } else {
        return 0;
    }
    if (left < n) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    /* Overlong forms and surrogates are not characters. */
    if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    if (cp) *cp = c;
    return n;
}

size_t fc_utf8_count(const char *p, size_t len) {
    const char *end = p + len;
    size_t count = 0;
    while (p < end) {
        size_t n = fc_utf8_next(p, end, NULL);
        p += n ? n : 1;
        count++;
    }
    return count;
}

fusec_status fc_source_init(fc_source *s, const fc_alloc *alloc, const char *name, const char *text,
                            size_t len, fc_error *e) {
    memset(s, 0, sizeof *s);
    s->alloc = alloc;
    if (len > FC_SOURCE_LIMIT)
        return fc_fail(e, FUSEC_LIMIT, "%s has %zu bytes; a program may have at most %u", name, len,
                       FC_SOURCE_LIMIT);
    uint32_t lines = 1;
    for (size_t i = 0; i < len; i++) lines += text[i] == '\n';
    s->name = fc_strdup(alloc, name);
    s->text = fc_malloc(alloc, len + 1);
    s->lines = fc_malloc(alloc, lines * sizeof *s->lines);
    if (!s->name || !s->text || !s->lines) {
        fc_source_free(s);
        return fc_oom(e);
    }
    if (len) memcpy(s->text, text, len);
    s->text[len] = '\0';
    s->len = (uint32_t)len;
    s->lines[s->line_count++] = 0;
    for (uint32_t i = 0; i < s->len; i++)
        if (text[i] == '\n') s->lines[s->line_count++] = i + 1;
    return FUSEC_OK;
}

void fc_source_free(fc_source *s) {
    const fc_alloc *alloc = s->alloc;
    if (!alloc) return;
    fc_free(alloc, s->name);
    fc_free(alloc, s->text);
    fc_free(alloc, s->lines);
    memset(s, 0, sizeof *s);
}

uint32_t fc_source_line_of(const fc_source *s, uint32_t offset) {
    uint32_t lo = 0, hi = s->line_count;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->lines[mid] <= offset)
            lo = mid;
        else
            hi = mid;
    }
    return lo + 1;
}

fc_pos fc_source_pos(const fc_source *s, uint32_t offset) {
    if (offset > s->len) offset = s->len;
    uint32_t line = fc_source_line_of(s, offset), start = s->lines[line - 1];
    return (fc_pos){line, 1 + (uint32_t)fc_utf8_count(s->text + start, offset - start)};
}

fc_range fc_source_line(const fc_source *s, uint32_t line) {
    uint32_t begin = s->lines[line - 1];
    uint32_t end = line < s->line_count ? s->lines[line] - 1 : s->len;
    if (end > begin && s->text[end - 1] == '\r') end--;
    return (fc_range){begin, end};
}
