/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* select_passes.h - what select_host.c does with the keys of a chunk; included by it for each type
 * of them, with KEY and FN(name) defined. */

static void FN(bounds)(const choice *s, choice_chunk *c) {
    const KEY *k = s->from.keys;
    KEY least = k[c->begin], most = least;
    for (int64_t i = c->begin; i < c->end; i++) {
        least = k[i] < least ? k[i] : least;
        most = k[i] > most ? k[i] : most;
    }
    c->least = least;
    c->most = most;
}

/* Neighbours are counted in different tables, since equal ones wait for each other. */
static void FN(count)(const choice *s, choice_chunk *c) {
    const KEY *k = s->from.keys, least = (KEY)s->least;
    const int64_t buckets = s->buckets;
    uint32_t *n = c->count, *m = n + buckets;
    memset(n, 0, 2 * (size_t)buckets * sizeof *n);
    int64_t i = c->begin;
    for (; i + 1 < c->end; i += 2) {
        n[(KEY)(k[i] - least) >> s->shift]++;
        m[(KEY)(k[i + 1] - least) >> s->shift]++;
    }
    if (i < c->end) n[(KEY)(k[i] - least) >> s->shift]++;
    for (int64_t b = 0; b < buckets; b++) n[b] += m[b];
}

static void FN(keep)(const choice *s, choice_chunk *c) {
    const KEY *k = s->from.keys, low = (KEY)s->low, span = (KEY)(s->high - s->low);
    const int64_t *at = s->from.at;
    KEY *keys = s->to.keys;
    int64_t to = c->to;
    if (!s->positions) {
        for (int64_t i = c->begin; i < c->end; i++)
            if ((KEY)(k[i] - low) <= span) keys[to++] = k[i];
        return;
    }
    for (int64_t i = c->begin; i < c->end; i++) {
        if ((KEY)(k[i] - low) > span) continue;
        keys[to] = k[i];
        s->to.at[to++] = at ? at[i] : i;
    }
}

static void FN(step)(const choice *s, choice_chunk *c) {
    if (s->step == BOUNDS)
        FN(bounds)(s, c);
    else if (s->step == COUNT)
        FN(count)(s, c);
    else
        FN(keep)(s, c);
}

#undef KEY
#undef FN
