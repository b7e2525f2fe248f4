/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* step_sort.c - the order of rows of keys.
 *
 * In: unsigned integers of 1 to 8 bytes, rows along the last axis. Out: the positions of each row
 * in order, stable. On the host rows are tasks: short ones are sorted by insertion, others by radix
 * from the lowest digit, without the passes in which all keys have the same one. Other devices run
 * a network of exchanges, a program of its own. */
#include "runtime/step.h"

#include "runtime/device_host.h"

enum { SHORT = 48 };

typedef struct item {
    uint64_t key;
    int64_t at;
} item;

typedef struct job {
    const fc_alloc *alloc;
    const char *keys;
    int64_t *out;
    int64_t n;
    uint32_t bytes;
} job;

static uint64_t key_at(const job *j, const char *row, int64_t i) {
    switch (j->bytes) {
    case 1: return ((const uint8_t *)row)[i];
    case 2: return ((const uint16_t *)(const void *)row)[i];
    case 4: return ((const uint32_t *)(const void *)row)[i];
    default: return ((const uint64_t *)(const void *)row)[i];
    }
}

static void insertion(const job *j, const char *row, int64_t *out) {
    uint64_t key[SHORT];
    for (int64_t i = 0; i < j->n; i++) {
        const uint64_t k = key_at(j, row, i);
        int64_t at = i;
        for (; at > 0 && key[at - 1] > k; at--) key[at] = key[at - 1], out[at] = out[at - 1];
        key[at] = k;
        out[at] = i;
    }
}

/* Digits of 8 bits, of long rows 11: fewer passes, and their counts still fit into the first cache.
 */
enum { WIDE = 11, NARROW = 8, LONG = 1 << 14, MOST_DIGITS = 8 };

typedef struct digits {
    uint32_t width, n;
    int64_t *count; /* [n][1 << width] */
} digits;

static digits digits_of(const job *j, int64_t *count) {
    const uint32_t width = j->n >= LONG ? WIDE : NARROW;
    return (digits){width, (8 * j->bytes + width - 1) / width, count};
}

static inline uint64_t digit(const digits *x, uint64_t key, uint32_t d) {
    return key >> (x->width * d) & ((UINT64_C(1) << x->width) - 1);
}

static void count_all(const job *j, const char *row, const digits *x) {
    memset(x->count, 0, ((size_t)x->n << x->width) * sizeof *x->count);
    for (int64_t i = 0; i < j->n; i++) {
        const uint64_t k = key_at(j, row, i);
        for (uint32_t d = 0; d < x->n; d++) x->count[((size_t)d << x->width) + digit(x, k, d)]++;
    }
}

/* Where each digit's items begin; false: all have the same one. */
static bool begins(const digits *x, uint32_t d, int64_t n) {
    int64_t *count = x->count + ((size_t)d << x->width), sum = 0;
    for (int64_t k = 0; k < INT64_C(1) << x->width; k++) {
        const int64_t c = count[k];
        if (c == n) return false;
        count[k] = sum;
        sum += c;
    }
    return true;
}

/* Keys of up to 32 bits stand above their positions in one word. */
static void radix_words(const job *j, const char *row, int64_t *out, const digits *x, uint64_t *a,
                        uint64_t *b) {
    for (int64_t i = 0; i < j->n; i++) a[i] = key_at(j, row, i) << 32 | (uint64_t)i;
    for (uint32_t d = 0; d < x->n; d++) {
        if (!begins(x, d, j->n)) continue;
        int64_t *to = x->count + ((size_t)d << x->width);
        for (int64_t i = 0; i < j->n; i++) b[to[digit(x, a[i] >> 32, d)]++] = a[i];
        uint64_t *other = a;
        a = b;
        b = other;
    }
    for (int64_t i = 0; i < j->n; i++) out[i] = (int64_t)(a[i] & UINT32_MAX);
}

static void radix_items(const job *j, const char *row, int64_t *out, const digits *x, item *a,
                        item *b) {
    for (int64_t i = 0; i < j->n; i++) a[i] = (item){key_at(j, row, i), i};
    for (uint32_t d = 0; d < x->n; d++) {
        if (!begins(x, d, j->n)) continue;
        int64_t *to = x->count + ((size_t)d << x->width);
        for (int64_t i = 0; i < j->n; i++) b[to[digit(x, a[i].key, d)]++] = a[i];
        item *other = a;
        a = b;
        b = other;
    }
    for (int64_t i = 0; i < j->n; i++) out[i] = a[i].at;
}

static void radix(const job *j, const char *row, int64_t *out, char *room) {
    const digits x = digits_of(j, (int64_t *)(void *)room);
    char *items = room + ((size_t)MOST_DIGITS << WIDE) * sizeof *x.count;
    count_all(j, row, &x);
    if (j->bytes <= 4 && j->n <= UINT32_MAX)
        radix_words(j, row, out, &x, (uint64_t *)(void *)items, (uint64_t *)(void *)items + j->n);
    else
        radix_items(j, row, out, &x, (item *)(void *)items, (item *)(void *)items + j->n);
}

static fusec_status sort_rows(void *arg, int64_t begin, int64_t end, fc_error *e) {
    const job *j = arg;
    const size_t each = j->bytes <= 4 && j->n <= UINT32_MAX ? sizeof(uint64_t) : sizeof(item);
    const size_t bytes = ((size_t)MOST_DIGITS << WIDE) * sizeof(int64_t) + 2 * (size_t)j->n * each;
    char *room = NULL;
    if (j->n > SHORT && !(room = fc_malloc(j->alloc, bytes))) return fc_oom(e);
    for (int64_t r = begin; r < end; r++) {
        const char *row = j->keys + (size_t)(r * j->n) * j->bytes;
        if (room)
            radix(j, row, j->out + r * j->n, room);
        else
            insertion(j, row, j->out + r * j->n);
    }
    fc_free(j->alloc, room);
    return FUSEC_OK;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static void sizes_of(const fc_step_call *c, const fc_step *s, int64_t size[2]) {
    const fc_graph *g = &c->p->plan->graph;
    const fc_node key = s->in[0].node;
    const uint32_t rank = fc_rank(g, key);
    size[0] = 1;
    for (uint32_t i = 0; i + 1 < rank; i++) size[0] *= c->b->values[fc_axis(g, key, i)];
    size[1] = c->b->values[fc_axis(g, key, rank - 1)];
}

static uint32_t which(fusec_dtype key) {
    return (uint32_t)__builtin_ctz(fc_dtypes[key].bytes);
}

fusec_status fc_sort_run(const fc_step_call *c, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    const fusec_dtype key = (fusec_dtype)fc_at(&c->p->plan->graph, s->in[0].node)->dtype;
    fc_device *d = c->p->device;
    int64_t size[2];
    sizes_of(c, s, size);
    if (size[0] <= 0 || size[1] <= 0 || !s->nout) return FUSEC_OK;
    const fc_tensor in = {
        .dtype = key, .rank = 2, .shape = size, .data = c->at[s->in[0].buffer], .on_device = true};
    fc_tensor out = {.dtype = FUSEC_I64,
                     .rank = 2,
                     .shape = size,
                     .data = c->at[s->out[0].buffer],
                     .on_device = true};
    if (!d->host_memory)
        return fc_program_run(c->p->networks[which(key)], c->stream, 1, &in, 0, NULL, 1, &out, e);
    job j = {c->p->alloc, in.data, out.data, size[1], fc_dtypes[key].bytes};
    const int64_t unit = size[1] > 4096 ? 1 : 4096 / size[1] + 1;
    return fc_host_run((fc_host_device *)d, size[0], unit, false, sort_rows, &j, e);
}

fusec_status fc_sort_make(fc_program *p, uint32_t step, fc_error *e) {
    const fc_step *s = p->plan->steps.at[step];
    const fusec_dtype key = (fusec_dtype)fc_at(&p->plan->graph, s->in[0].node)->dtype;
    if (p->device->host_memory || p->networks[which(key)]) return FUSEC_OK;
    fc_graph g;
    fc_graph_init(&g, p->alloc, NULL);
    const fc_program_options o = {.device = p->device, .graph = p->graph, .name = "sort"};
    fusec_status r = fc_build_sort_network(&g, key) ? FUSEC_OK : FUSEC_INTERNAL;
    if (r) r = g.error.code ? fc_fail(e, g.error.code, "%s", g.error.message) : fc_oom(e);
    if (!r) r = fc_program_new(p->ctx, &g, &o, &p->networks[which(key)], e);
    fc_graph_free(&g);
    return r;
}
