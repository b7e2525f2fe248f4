/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mutate_words.c - a text is a row of spans; a change is a splice of it. */
#include "tests/fuzz/mutate_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 4096, MOST_CHANGES = 4, LONGEST_PHRASE = 12 };

typedef struct words {
    uint8_t *text;
    size_t size, room;
    size_t at[MOST_WORDS + 1]; /* where each word begins, and where the last one ends */
    size_t count;
    uint64_t dice;
} words;

static size_t below(words *w, size_t n) {
    w->dice = w->dice * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(w->dice >> 33) % n;
}

static int kind(uint8_t c) {
    if (isalnum(c) || c == '_' || c == '.' || c >= 0x80) return 1;
    if (c == ' ') return 2;
    return 0; /* a word of its own */
}

static void split(words *w) {
    size_t i = 0;
    for (w->count = 0; i < w->size && w->count < MOST_WORDS; w->count++) {
        int k = kind(w->text[i]);
        w->at[w->count] = i++;
        while (k && i < w->size && kind(w->text[i]) == k) i++;
    }
    w->at[w->count] = i;
}

/* Puts `n` bytes where those from `from` to `to` are; false without room. */
static int splice(words *w, size_t from, size_t to, const uint8_t *bytes, size_t n) {
    if (w->size - (to - from) + n > w->room) return 0;
    memmove(w->text + from + n, w->text + to, w->size - to);
    if (n) memcpy(w->text + from, bytes, n); /* nothing comes from nowhere */
    w->size = w->size - (to - from) + n;
    return 1;
}

/* Copies the words from `a` up to `b` to where those from `c` up to `d` are. */
static void copy(words *w, size_t a, size_t b, size_t c, size_t d) {
    size_t n = w->at[b] - w->at[a];
    uint8_t *bytes = malloc(n + 1);
    if (!bytes) return;
    memcpy(bytes, w->text + w->at[a], n);
    splice(w, w->at[c], w->at[d], bytes, n);
    free(bytes);
}

static size_t phrase_end(words *w, size_t first) {
    size_t left = w->count - first;
    return first + 1 + below(w, left < LONGEST_PHRASE ? left : LONGEST_PHRASE);
}

/* What `a` and `b` enclose stays where it is, moved by the difference of their lengths. */
static void swap(words *w, size_t a, size_t b) {
    if (a > b) {
        size_t t = a;
        a = b;
        b = t;
    }
    if (a == b) return;
    size_t n = w->at[b + 1] - w->at[a], head = w->at[a + 1] - w->at[a],
           tail = w->at[b + 1] - w->at[b];
    uint8_t *whole = malloc(n), *text = w->text + w->at[a];
    if (!whole) return;
    memcpy(whole, text, n);
    memcpy(text, whole + n - tail, tail);
    memcpy(text + tail, whole + head, n - head - tail);
    memcpy(text + n - head, whole, head);
    free(whole);
}

static void copy_line(words *w) {
    size_t from = below(w, w->size), to = from, where = below(w, w->size);
    while (from > 0 && w->text[from - 1] != '\n') from--;
    while (to < w->size && w->text[to] != '\n') to++;
    while (where > 0 && w->text[where - 1] != '\n') where--;
    size_t n = to - from;
    uint8_t *line = malloc(n + 1);
    if (!line) return;
    memcpy(line, w->text + from, n);
    line[n] = '\n';
    splice(w, where, where, line, n + 1);
    free(line);
}

static void bracket(words *w, size_t a, size_t b) {
    static const char pairs[][3] = {"()", "[]", "{}"};
    const char *p = pairs[below(w, 3)];
    if (splice(w, w->at[b], w->at[b], (const uint8_t *)p + 1, 1))
        splice(w, w->at[a], w->at[a], (const uint8_t *)p, 1);
}

static void change(words *w) {
    size_t a = below(w, w->count), b = below(w, w->count), end = phrase_end(w, a);
    switch (below(w, 7)) {
    case 0: splice(w, w->at[a], w->at[end], NULL, 0); break;
    case 1: copy(w, a, a + 1, a, a); break;
    case 2: copy(w, a, a + 1, b, b + 1); break;
    case 3: swap(w, a, b); break;
    case 4: copy(w, a, end, b, below(w, 2) ? b : b + 1); break;
    case 5: copy_line(w); break;
    default: bracket(w, a, end); break;
    }
}

size_t fuzz_mutate_words(uint8_t *data, size_t size, size_t room, unsigned seed) {
    words *w = malloc(sizeof *w);
    if (!w) return size;
    *w = (words){.text = data, .size = size, .room = room, .dice = seed};
    for (size_t n = 1 + below(w, MOST_CHANGES); n; n--) {
        split(w);
        if (w->count == 0) break;
        change(w);
    }
    size = w->size;
    free(w);
    return size;
}
