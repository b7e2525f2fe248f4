/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* outside.c - see outside.h. */
#include "runtime/outside.h"

#include <ctype.h>

uint32_t fc_outside_before(const fc_plan *plan, size_t step) {
    size_t n = 0;
    for (size_t i = 0; i < step; i++) n += plan->steps.at[i]->kernel.checks.len;
    return (uint32_t)n;
}

int64_t fc_outside_address(const fc_program *p, const fc_bound *b, uint32_t step, void *scratch) {
    char *words = b->report != SIZE_MAX ? (char *)scratch + b->report : p->report;
    if (!p->plan->steps.at[step]->kernel.checks.len || !words) return 0;
    return (int64_t)(uintptr_t)(words + fc_outside_offset(p->plan, step));
}

/* ---- the message ----------------------------------------------------------------------------- */

static void put_place(const fc_graph *g, const fc_bound *b, fc_node n, uint64_t position,
                      fc_str *out) {
    int64_t at[FC_MAX_RANK];
    const fc_list attr = (fc_list)fc_at(g, n)->attr; /* the size, then the shape */
    const uint32_t rank = fc_list_len(g, attr) - 1;
    for (uint32_t i = rank; i-- > 0;) {
        const int64_t size = b->values[fc_list_at(g, attr)[1 + i]];
        at[i] = size > 0 ? (int64_t)(position % (uint64_t)size) : 0;
        position = size > 0 ? position / (uint64_t)size : 0;
    }
    for (uint32_t i = 0; i < rank; i++)
        fc_str_printf(out, "%s%lld", i ? ", " : "[", (long long)at[i]);
    if (rank) fc_str_char(out, ']');
}

/* What `index[position]` can be written of; else it is `text at [position]`. */
static bool is_name(const char *text) {
    while (text && (isalnum((unsigned char)*text) || *text == '_')) text++;
    return text && !*text;
}

/* "t.fuse:6:17: an index of `t[idx]` is outside: idx[1042] is 17, axis 0 of t has 10 elements" */
static fusec_status tell(const fc_program *p, const fc_bound *b, const fc_check_site *site,
                         const uint64_t *word, fc_error *e) {
    static const fc_words general = {NULL, NULL, NULL, NULL};
    const fc_graph *g = &p->plan->graph;
    const fc_words *w = site->words ? &g->words.at[site->words - 1] : &general;
    const uint64_t position = ~word[0];
    const int64_t value = (int32_t)(uint32_t)word[1], size = b->values[site->size];
    const bool same = (uint32_t)(word[1] >> 32) == (uint32_t)word[0];
    fc_str s;
    fc_str_init(&s, p->alloc);
    if (w->place) fc_str_printf(&s, "%s: ", w->place);
    if (w->access)
        fc_str_printf(&s, "an index of `%s` is outside: ", w->access);
    else
        fc_str_add(&s, "an index is outside: ");
    fc_str_add(&s, w->index ? w->index : "the index");
    if (!is_name(w->index) && fc_list_len(g, (fc_list)fc_at(g, site->node)->attr) > 1)
        fc_str_add(&s, " at ");
    put_place(g, b, site->node, position, &s);
    if (same) fc_str_printf(&s, " is %lld", (long long)value);
    if (same && value == INT32_MAX) fc_str_add(&s, " or more");
    if (same && value == INT32_MIN) fc_str_add(&s, " or less");
    fc_str_printf(&s, "%s %s has %lld element%s", same ? "," : " is not inside,",
                  w->axis ? w->axis : "the axis it is for", (long long)size, size == 1 ? "" : "s");
    const fusec_status r = s.oom ? fc_oom(e) : fc_fail(e, FUSEC_INDEX_OUT_OF_RANGE, "%s", s.data);
    fc_str_free(&s);
    return r;
}

fusec_status fc_outside_look(const fc_program *p, const fc_bound *b, const uint64_t *words,
                             fc_error *e) {
    const uint64_t *w = words;
    for (size_t i = 0; i < p->plan->steps.len; i++) {
        const fc_kernel *k = &p->plan->steps.at[i]->kernel;
        for (size_t c = 0; c < k->checks.len; c++, w += 2)
            if (w[0]) return tell(p, b, &k->checks.at[c], w, e);
    }
    return FUSEC_OK;
}

/* ---- on a device with memory of its own ------------------------------------------------------ */

fusec_status fc_outside_make(fc_program *p, fc_error *e) {
    fc_device *d = p->device;
    fusec_status s = FUSEC_OK;
    if (d->host_memory) return FUSEC_OK;
    const size_t bytes = fc_outside_bytes(p->plan);
    if (!bytes) return FUSEC_OK;
    pthread_mutex_lock(&p->lock);
    if (!p->report) {
        s = d->ops->alloc(d, NULL, bytes, &p->report, e);
        if (!s) s = d->ops->zero(d, NULL, p->report, bytes, e);
        if (!s) s = d->ops->sync(d, NULL, e); /* calls on other streams come after it */
        if (s) fc_outside_free(p);
    }
    pthread_mutex_unlock(&p->lock);
    return s;
}

void fc_outside_free(fc_program *p) {
    if (p->report) p->device->ops->free(p->device, NULL, p->report);
    p->report = NULL;
}

fusec_status fc_outside_wait(fc_program *p, fc_bound *b, fc_stream s, fc_error *e) {
    if (!p->report) return FUSEC_OK;
    const size_t bytes = fc_outside_bytes(p->plan);
    fc_device *d = p->device;
    uint64_t *words = fc_malloc(p->alloc, bytes);
    if (!words) return fc_oom(e);
    fusec_status r = d->ops->download(d, s, words, p->report, bytes, e);
    if (!r) r = d->ops->sync(d, s, e);
    if (!r) r = fc_outside_look(p, b, words, e);
    if (r == FUSEC_INDEX_OUT_OF_RANGE) d->ops->zero(d, s, p->report, bytes, NULL);
    fc_free(p->alloc, words);
    return r;
}
