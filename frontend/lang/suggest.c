/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* suggest.c - names that are near, and names that are foreign. See suggest.h. */
#include "frontend/lang/suggest.h"

#define NAME_MAX_BYTES 255

static const struct {
    const char *theirs, *ours;
} foreign[] = {
    {"absolute", "abs"},
    {"add", "+"},
    {"all_reduce", "sum"},
    {"amax", "max"},
    {"amin", "min"},
    {"astype", "f32( )"},
    {"average", "mean"},
    {"cast", "f32( )"},
    {"ceiling", "ceil"},
    {"divide", "/"},
    {"equal", "=="},
    {"fabs", "abs"},
    {"fract", "x % 1"},
    {"greater", ">"},
    {"inversesqrt", "rsqrt"},
    {"less", "<"},
    {"ln", "log"},
    {"logical_and", "and"},
    {"logical_not", "not"},
    {"logical_or", "or"},
    {"mix", "lerp"},
    {"mod", "%"},
    {"mul", "*"},
    {"multiply", "*"},
    {"negative", "-"},
    {"power", "**"},
    {"product", "prod"},
    {"reduce_max", "max"},
    {"reduce_mean", "mean"},
    {"reduce_min", "min"},
    {"reduce_sum", "sum"},
    {"remainder", "%"},
    {"rint", "round"},
    {"saturate", "clip"},
    {"select", "where"},
    {"square", "x**2"},
    {"sub", "-"},
    {"subtract", "-"},
    {"swish", "silu"},
    {"true_divide", "/"},
};

const char *fc_foreign_name(const char *word, size_t len) {
    for (size_t i = 0; i < FC_COUNT(foreign); i++)
        if (strlen(foreign[i].theirs) == len && memcmp(foreign[i].theirs, word, len) == 0)
            return foreign[i].ours;
    return NULL;
}

unsigned fc_edit_distance(const char *a, size_t na, const char *b, size_t nb, unsigned limit) {
    uint16_t rows[3][NAME_MAX_BYTES + 1];
    if (na > NAME_MAX_BYTES || nb > NAME_MAX_BYTES) return limit + 1;
    if ((na > nb ? na - nb : nb - na) > limit) return limit + 1;
    uint16_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++) above[j] = (uint16_t)j, before[j] = 0;
    for (size_t i = 1; i <= na; i++) {
        row[0] = (uint16_t)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned d = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1u < d) d = above[j] + 1u;
            if (row[j - 1] + 1u < d) d = row[j - 1] + 1u;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1u < d)
                d = before[j - 2] + 1u;
            row[j] = (uint16_t)d;
        }
        uint16_t *spare = before;
        before = above, above = row, row = spare;
    }
    return above[nb];
}

void fc_suggest_start(fc_suggest *s, const char *word, size_t len) {
    memset(s, 0, sizeof *s);
    s->word = word;
    s->len = len;
    s->limit = len / 3 > 1 ? (unsigned)(len / 3) : 1;
}

void fc_suggest_try(fc_suggest *s, const char *name) {
    unsigned d = fc_edit_distance(s->word, s->len, name, strlen(name), s->limit);
    if (d > s->limit || d >= s->len) return; /* nothing of the word would be left */
    for (unsigned i = 0; i < s->count; i++)
        if (strcmp(s->best[i], name) == 0) return;
    unsigned i = s->count < FC_SUGGEST_MAX ? s->count++ : FC_SUGGEST_MAX;
    if (i == FC_SUGGEST_MAX && s->distance[--i] <= d) return;
    for (; i > 0 && s->distance[i - 1] > d; i--)
        s->best[i] = s->best[i - 1], s->distance[i] = s->distance[i - 1];
    s->best[i] = name, s->distance[i] = d;
}

/* Whether the message points at the word itself, which may have been somewhere in what it is
 * about. */
static bool points_at_word(const fc_suggest *s, const fc_diag *d) {
    return d && d->src && d->at.end - d->at.begin == s->len &&
           !memcmp(d->src->text + d->at.begin, s->word, s->len);
}

void fc_suggest_help(const fc_suggest *s, fc_diag *d) {
    for (unsigned i = 0; i < s->count && points_at_word(s, d); i++)
        fc_diag_fix(d, d->at, s->best[i]);
    if (s->count == 1) fc_diag_help(d, "did you mean %s?", s->best[0]);
    if (s->count == 2) fc_diag_help(d, "did you mean %s or %s?", s->best[0], s->best[1]);
    if (s->count == 3)
        fc_diag_help(d, "did you mean %s, %s or %s?", s->best[0], s->best[1], s->best[2]);
}
