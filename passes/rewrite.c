/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rewrite.c - the frame of every graph pass: see rewrite.h. */
#include "passes/rewrite.h"

static bool copy_lists(const fc_graph *src, fc_graph *dst) {
    for (fc_list l = 0; l < src->lists.len; l++)
        if (fc_intern_list(dst, fc_list_at(src, l), fc_list_len(src, l)) != l) return false;
    return true;
}

static bool copy_inputs(const fc_graph *src, fc_graph *dst) {
    for (size_t i = 0; i < src->inputs.len; i++) {
        const fc_input *in = &src->inputs.at[i];
        fc_input copy = {.name = fc_arena_strdup(&dst->arena, in->name, strlen(in->name)),
                         .node = fc_graph_node(dst, *fc_at(src, in->node))};
        if (!copy.name || copy.node == FC_NONODE || !fc_push(dst->alloc, &dst->inputs, copy))
            return false;
    }
    return true;
}

static bool copy_conditions(const fc_graph *src, fc_graph *dst) {
    for (size_t i = 0; i < src->conditions.len; i++) {
        fc_condition c = src->conditions.at[i];
        if (c.message && !(c.message = fc_arena_strdup(&dst->arena, c.message, strlen(c.message))))
            return false;
        if (!fc_push(dst->alloc, &dst->conditions, c)) return false;
    }
    return true;
}

static bool copy_text(fc_graph *g, const char **text) {
    if (*text) *text = fc_arena_strdup(&g->arena, *text, strlen(*text));
    return *text != NULL;
}

static bool copy_words(const fc_graph *src, fc_graph *dst) {
    for (size_t i = 0; i < src->words.len; i++) {
        fc_words s = src->words.at[i];
        const bool ok =
            (!s.access || copy_text(dst, &s.access)) && (!s.index || copy_text(dst, &s.index)) &&
            (!s.axis || copy_text(dst, &s.axis)) && (!s.place || copy_text(dst, &s.place));
        if (!ok || !fc_push(dst->alloc, &dst->words, s)) return false;
    }
    return true;
}

bool fc_rewrite_context(const fc_graph *src, fc_graph *dst) {
    return fc_dimtab_copy(&dst->dims, &src->dims) && copy_lists(src, dst) && copy_words(src, dst);
}

fusec_status fc_rewrite_begin(const fc_graph *src, fc_graph *dst) {
    fc_limits limits = src->limits;
    limits.nodes =
        FC_NONODE - 1; /* the user's graph passed the limit; what a pass adds is not theirs */
    fc_graph_init(dst, src->alloc, &limits);
    dst->default_float = src->default_float;
    dst->nholes = src->nholes;
    if (src->error.code) return fc_fail(&dst->error, src->error.code, "%s", src->error.message);
    if (!dst->error.code &&
        !(fc_rewrite_context(src, dst) && copy_inputs(src, dst) && copy_conditions(src, dst)))
        fc_oom(&dst->error);
    return dst->error.code;
}

void fc_rewrite_live(const fc_graph *src, uint8_t *live) {
    memset(live, 0, src->nodes.len);
    for (size_t i = 0; i < src->outputs.len; i++) live[src->outputs.at[i].node] = 1;
    for (size_t n = src->nodes.len; n-- > 0;)
        for (int k = 0; live[n] && k < src->nodes.at[n].nops; k++)
            live[src->nodes.at[n].src[k]] = 1;
}

fc_ninfo fc_rewrite_info(const fc_graph *src, fc_node n, const fc_node *map) {
    fc_ninfo i = *fc_at(src, n);
    for (int k = 0; k < i.nops; k++) i.src[k] = map[i.src[k]];
    return i;
}

fc_node fc_rewrite_node(const fc_graph *src, fc_graph *dst, fc_node n, const fc_node *map) {
    const fc_ninfo *i = fc_at(src, n);
    if (i->op == FC_OP_INPUT) return dst->inputs.at[i->attr].node;
    return fc_graph_node(dst, fc_rewrite_info(src, n, map));
}

static fusec_status finish(const fc_graph *src, fc_graph *dst, const fc_node *map, fc_error *e) {
    for (size_t i = 0; !dst->error.code && i < src->outputs.len; i++) {
        const fc_output *o = &src->outputs.at[i];
        fc_output copy = {.name = fc_arena_strdup(&dst->arena, o->name, strlen(o->name)),
                          .node = map[o->node]};
        if (copy.node >= dst->nodes.len)
            fc_fail(&dst->error, FUSEC_INTERNAL, "a pass lost the output %s", o->name);
        else if (!copy.name || !fc_push(dst->alloc, &dst->outputs, copy))
            fc_oom(&dst->error);
    }
    if (!dst->error.code) return FUSEC_OK;
    fusec_status s = fc_fail(e, dst->error.code, "%s", dst->error.message);
    fc_graph_free(dst);
    return s;
}

/* Most passes say for every node what stands for it: what was made up to that, and was not there
 * before, comes from where the node does. */
static void carry_by_map(const fc_graph *src, fc_graph *dst, const uint8_t *live,
                         const fc_node *map) {
    fc_node done = 0;
    for (fc_node n = 0; n < src->places.len; n++)
        for (; live[n] && map[n] < dst->nodes.len && done <= map[n]; done++)
            if (src->places.at[n]) fc_graph_set_place(dst, done, src->places.at[n]);
}

/* The others leave most nodes as they were, in their order. */
static void carry_in_order(const fc_graph *src, fc_graph *dst, const uint8_t *live) {
    fc_node next = 0;
    for (fc_node m = 0; m < dst->nodes.len; m++)
        for (fc_node n = next; n < src->places.len; n++) {
            if (!live[n] || fc_at(src, n)->op != fc_at(dst, m)->op) continue;
            if (src->places.at[n]) fc_graph_set_place(dst, m, src->places.at[n]);
            next = n + 1;
            break;
        }
}

/* `map` was FC_NONODE for all nodes before the pass. */
static void carry_places(const fc_graph *src, fc_graph *dst, const uint8_t *live,
                         const fc_node *map) {
    bool mapped = true;
    for (fc_node n = 0; n < src->places.len; n++) mapped &= !live[n] || map[n] < dst->nodes.len;
    if (mapped)
        carry_by_map(src, dst, live, map);
    else
        carry_in_order(src, dst, live);
    for (fc_node n = (fc_node)dst->places.len; n-- > 0;) /* what is left: where its user does */
        for (int k = 0; dst->places.at[n] && k < fc_at(dst, n)->nops; k++)
            if (!fc_graph_place(dst, fc_at(dst, n)->src[k]))
                fc_graph_set_place(dst, fc_at(dst, n)->src[k], dst->places.at[n]);
}

static fusec_status build(const fc_graph *src, fc_graph *dst, fc_rewrite_fn walk, const void *user,
                          fc_error *e) {
    uint8_t *live = fc_malloc(src->alloc, src->nodes.len);
    fc_node *map = fc_malloc(src->alloc, src->nodes.len * sizeof *map);
    bool ok = live && map;
    if (fc_rewrite_begin(src, dst) == FUSEC_OK && ok) {
        fc_rewrite_live(src, live);
        if (src->places.len) memset(map, 0xff, src->nodes.len * sizeof *map);
        ok = walk(src, dst, live, map, user);
        if (ok && src->places.len && !dst->error.code) carry_places(src, dst, live, map);
    }
    if (!ok && !dst->error.code) fc_oom(&dst->error);
    const fusec_status s = finish(src, dst, map, e);
    fc_free(src->alloc, live);
    fc_free(src->alloc, map);
    return s;
}

typedef struct each {
    fc_rewrite_one rewritten;
    void *user;
} each;

static bool walk_each(const fc_graph *src, fc_graph *dst, const uint8_t *live, fc_node *map,
                      const void *user) {
    const each *by = user;
    for (fc_node n = 0; n < src->nodes.len && !dst->error.code; n++) {
        map[n] = FC_NONODE;
        if (!live[n]) continue;
        if (by->rewritten) map[n] = by->rewritten(src, dst, n, map, by->user);
        if (map[n] == FC_NONODE && !dst->error.code) map[n] = fc_rewrite_node(src, dst, n, map);
    }
    return true;
}

fusec_status fc_rewrite_copy(const fc_graph *src, fc_graph *dst, fc_error *e) {
    return build(src, dst, walk_each, &(each){NULL, NULL}, e);
}

fusec_status fc_rewrite_sweep(fc_graph *g, fc_error *e) {
    uint8_t *live = fc_malloc(g->alloc, g->nodes.len);
    size_t used = 0;
    fusec_status s = live ? FUSEC_OK : fc_oom(e);
    if (live) {
        fc_rewrite_live(g, live);
        for (size_t i = 0; i < g->inputs.len; i++) live[g->inputs.at[i].node] = 1;
        for (size_t n = 0; n < g->nodes.len; n++) used += live[n];
    }
    fc_free(g->alloc, live);
    if (!s && used == g->nodes.len) return FUSEC_OK;
    fc_graph old = *g;
    if (!s) s = fc_rewrite_copy(&old, g, e);
    fc_graph_free(&old);
    if (s) memset(g, 0, sizeof *g);
    return s;
}

fusec_status fc_rewrite_by(const fc_graph *src, fc_graph *dst, fc_rewrite_fn walk, const void *user,
                           fc_error *e) {
    FC_TRY(build(src, dst, walk, user, e));
    return fc_rewrite_sweep(dst, e);
}

fusec_status fc_rewrite_each(const fc_graph *src, fc_graph *dst, fc_rewrite_one rewritten,
                             void *user, fc_error *e) {
    return fc_rewrite_by(src, dst, walk_each, &(each){rewritten, user}, e);
}
