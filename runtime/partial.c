/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* partial.c - see partial.h. */
#include "runtime/partial.h"

#include "codegen/nest.h"
#include "ir/plant.h"

/* ---- sizes ----------------------------------------------------------------------------------- */

static fusec_dtype dtype_of(const fc_cut *cut, uint32_t part, unsigned array) {
    const fc_part *p = &cut->pieces.parts[part];
    return fc_component_dtype(p->red, p->dtype, (int)array);
}

size_t fc_part_array_bytes(const fc_cut *cut, uint32_t part, unsigned array, int64_t width) {
    return fc_dtypes[dtype_of(cut, part, array)].bytes * (size_t)width;
}

size_t fc_part_bytes(const fc_cut *cut, uint32_t part, int64_t width) {
    size_t bytes = 0;
    for (unsigned k = 0; k < cut->pieces.parts[part].narrays; k++)
        bytes += fc_part_array_bytes(cut, part, k, width);
    return bytes;
}

/* Positions that the reduction is over. */
static int64_t positions(const fc_partial *p, uint32_t part) {
    const fc_pieces *c = &p->cut->pieces;
    const int64_t n = p->total + c->ranges[c->parts[part].range].extra;
    return n > 0 ? n : 0;
}

int64_t fc_partial_elements(const fc_partial *p, uint32_t part) {
    int64_t n;
    return p->total >= 0 && fc_mul_ok(positions(p, part), p->set[part].inner, &n) ? n : -1;
}

static int64_t leaf_of(const fc_partial *p, uint32_t part) {
    const fc_part *x = &p->cut->pieces.parts[part];
    return fc_tree_leaf(x->tree, x->half);
}

/* ---- life ------------------------------------------------------------------------------------ */

fusec_status fc_partial_new(const fc_cut *cut, fc_partial **out, fc_error *e) {
    const uint32_t n = cut->pieces.nparts;
    *out = NULL;
    fc_partial *p = fc_calloc(cut->alloc, 1, sizeof *p);
    if (p) p->set = fc_calloc(cut->alloc, n + 1, sizeof *p->set);
    if (!p || !p->set) {
        fc_free(cut->alloc, p);
        return fc_oom(e);
    }
    p->cut = cut;
    p->alloc = cut->alloc;
    pthread_mutex_init(&p->lock, NULL);
    p->total = -1;
    for (uint32_t i = 0; i < n; i++) p->set[i].width = p->set[i].inner = -1;
    *out = p;
    return FUSEC_OK;
}

void fc_partial_free(fc_partial *p) {
    if (!p) return;
    for (uint32_t i = 0; i < p->cut->pieces.nparts; i++) {
        for (size_t k = 0; k < p->set[i].at.len; k++) fc_free(p->alloc, p->set[i].at.at[k].data);
        for (size_t k = 0; k < p->set[i].made.len; k++)
            fc_free(p->alloc, p->set[i].made.at[k].data);
        fc_vec_free(p->alloc, &p->set[i].at);
        fc_vec_free(p->alloc, &p->set[i].made);
        fc_free(p->alloc, p->set[i].all);
    }
    pthread_mutex_destroy(&p->lock);
    fc_free(p->alloc, p->set);
    fc_free(p->alloc, p);
}

static fusec_status check_sizes(const fc_partial *p, uint32_t part, int64_t total, int64_t width,
                                int64_t inner, fc_error *e) {
    const struct fc_partial_set *s = &p->set[part];
    if ((p->total >= 0 && p->total != total) || (s->width >= 0 && s->width != width) ||
        (s->inner >= 0 && s->inner != inner))
        return fc_fail(e, FUSEC_INVALID, "the pieces are of arrays of other sizes");
    return FUSEC_OK;
}

static void set_sizes(fc_partial *p, uint32_t part, int64_t total, int64_t width, int64_t inner) {
    p->total = total;
    p->set[part].width = width;
    p->set[part].inner = inner;
}

fusec_status fc_partial_sizes(fc_partial *p, uint32_t part, int64_t total, int64_t width,
                              int64_t inner, fc_error *e) {
    pthread_mutex_lock(&p->lock);
    const fusec_status s = check_sizes(p, part, total, width, inner, e);
    if (!s) set_sizes(p, part, total, width, inner);
    pthread_mutex_unlock(&p->lock);
    return s;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* `n` pairs: arrays of accumulators of `a` with those of `b`, which are `stride` accumulators
 * apart each, to dense ones. */
static fusec_status join(const fc_partial *p, uint32_t part, int64_t n, int64_t stride,
                         const char *const *a, const char *const *b, char *const *to, fc_error *e) {
    const int64_t width = p->set[part].width, flat = n * width;
    const unsigned narrays = p->cut->pieces.parts[part].narrays;
    /* one axis is joined as one, a pair of axes row by row */
    for (int64_t row = 0, rows = stride == 1 || width == 1 ? 1 : n; row < rows; row++) {
        const int64_t size = rows == 1 ? flat : width, step = width == 1 ? stride : 1;
        fc_tensor in[2 * FC_MAX_COMPONENTS], out[FC_MAX_COMPONENTS];
        for (unsigned k = 0; k < narrays; k++) {
            const fusec_dtype t = dtype_of(p->cut, part, k);
            const size_t bytes = fc_dtypes[t].bytes, from = bytes * (size_t)(row * stride * width);
            in[k] = (fc_tensor){.dtype = t, .rank = 1, .shape = &size};
            if (step != 1) in[k].strides = &step;
            in[narrays + k] = out[k] = in[k];
            in[k].data = (void *)(uintptr_t)(a[k] + from);
            in[narrays + k].data = (void *)(uintptr_t)(b[k] + from);
            out[k].data = to[k] + bytes * (size_t)(row * width);
            out[k].strides = NULL;
        }
        FC_TRY(
            fc_program_run(p->cut->joins[part], NULL, 2 * narrays, in, 0, NULL, narrays, out, e));
    }
    return FUSEC_OK;
}

static void split(const fc_partial *p, uint32_t part, char *data, int64_t n, char **arrays) {
    for (unsigned k = 0; k < p->cut->pieces.parts[part].narrays; k++) {
        arrays[k] = data;
        data += fc_part_array_bytes(p->cut, part, k, n * p->set[part].width);
    }
}

/* ---- putting --------------------------------------------------------------------------------- */

static int64_t first_leaf(const fc_subtree *s) {
    return s->index << s->level;
}
static int64_t end_leaf(const fc_partial *p, uint32_t part, const fc_subtree *s) {
    const int64_t leaf = leaf_of(p, part);
    return first_leaf(s) + s->count / leaf + (s->count % leaf != 0);
}

static bool is_scan(const fc_partial *p, uint32_t part) {
    return p->cut->pieces.parts[part].carry;
}

/* Of subtrees in order, the place of the first that begins at a leaf or behind it; of those that
 * begin there the smaller ones come first. */
static size_t place_of(const fc_subtree *at, size_t n, int64_t leaf, unsigned level) {
    size_t low = 0;
    while (low < n) {
        const size_t mid = low + (n - low) / 2;
        const int64_t first = first_leaf(&at[mid]);
        if (first < leaf || (first == leaf && at[mid].level < level))
            low = mid + 1;
        else
            n = mid;
    }
    return low;
}

static bool overlaps(const fc_partial *p, uint32_t part, const fc_subtree *s) {
    const struct fc_partial_set *set = &p->set[part];
    if (is_scan(p, part)) { /* in order, none over another */
        const size_t i = place_of(set->at.at, set->at.len, first_leaf(s), 0);
        return (i > 0 && end_leaf(p, part, &set->at.at[i - 1]) > first_leaf(s)) ||
               (i < set->at.len && first_leaf(&set->at.at[i]) < end_leaf(p, part, s));
    }
    for (size_t i = 0; i < p->set[part].at.len; i++) {
        const fc_subtree *o = &p->set[part].at.at[i];
        if (first_leaf(s) < end_leaf(p, part, o) && first_leaf(o) < end_leaf(p, part, s))
            return true;
    }
    return false;
}

/* The place of the sibling among the first n of the set; n: it is not there. */
static size_t sibling_of(const struct fc_partial_set *set, const fc_subtree *s, size_t n) {
    const int64_t sibling = FC_PLANT(piece_siblings, s->index + 1, s->index ^ 1);
    for (size_t i = 0; i < n; i++)
        if (set->at.at[i].level == s->level && set->at.at[i].index == sibling) return i;
    return n;
}

/* Joins two accumulators to a new one; NULL when that fails. */
static char *joined(const fc_partial *p, uint32_t part, char *earlier, char *later, fc_error *e) {
    char *a[FC_MAX_COMPONENTS], *b[FC_MAX_COMPONENTS], *to[FC_MAX_COMPONENTS];
    char *data = fc_malloc(p->alloc, fc_part_bytes(p->cut, part, p->set[part].width) + 1);
    if (!data) return fc_oom(e), NULL;
    split(p, part, earlier, 1, a);
    split(p, part, later, 1, b);
    split(p, part, data, 1, to);
    if (!join(p, part, 1, 1, (const char *const *)a, (const char *const *)b, to, e)) return data;
    fc_free(p->alloc, data);
    return NULL;
}

/* Joins what has its sibling there, of those from `from` on and of what is made of them. Where that
 * fails nothing is lost: they stay side by side, until it is done again. */
static fusec_status settle(fc_partial *p, uint32_t part, size_t from, fc_error *e) {
    struct fc_partial_set *set = &p->set[part];
    fc_subtree *at = set->at.at;
    while (from < set->at.len) {
        const size_t last = set->at.len - 1, i = sibling_of(set, &at[last], last);
        const fc_subtree s = at[last];
        if (i == last) {
            at[last] = at[from], at[from++] = s;
            continue;
        }
        const fc_subtree o = at[i];
        const bool later = s.index & 1;
        char *data = joined(p, part, later ? o.data : s.data, later ? s.data : o.data, e);
        if (!data) return e->code;
        fc_free(p->alloc, s.data);
        fc_free(p->alloc, o.data);
        if (i < from)
            at[i] = at[--from], at[from] = at[last - 1];
        else
            at[i] = at[last - 1];
        at[last - 1] = (fc_subtree){s.level + 1, s.index >> 1, s.count + o.count, data};
        set->at.len = last;
    }
    return FUSEC_OK;
}

/* Adds subtrees, whose data becomes the set's; or nothing. */
static fusec_status add(fc_partial *p, uint32_t part, const fc_subtree *s, size_t n, fc_error *e) {
    struct fc_partial_set *set = &p->set[part];
    const size_t from = set->at.len;
    fc_error later = {0}; /* what could not be joined for now */
    if (!n) return FUSEC_OK;
    if (!fc_reserve(p->alloc, &set->at, from + n)) return fc_oom(e);
    for (size_t k = 0; k < n && is_scan(p, part); k++) {
        const size_t i = place_of(set->at.at, set->at.len, first_leaf(&s[k]), s[k].level);
        memmove(&set->at.at[i + 1], &set->at.at[i], (set->at.len++ - i) * sizeof *s);
        set->at.at[i] = s[k];
    }
    if (is_scan(p, part)) return FUSEC_OK;
    memcpy(set->at.at + from, s, n * sizeof *s);
    set->at.len += n;
    fc_free(p->alloc, set->all);
    set->all = NULL;
    settle(p, part, from, &later);
    return FUSEC_OK;
}

/* Subtrees that will be added together. */
typedef FC_VEC(fc_subtree) fresh;

static void drop(fc_partial *p, fresh *f) {
    for (size_t i = 0; i < f->len; i++) fc_free(p->alloc, f->at[i].data);
    f->len = 0;
}

static fusec_status put_copy(fc_partial *p, uint32_t part, fresh *f, fc_subtree s, int64_t at,
                             const char *const *arrays, fc_error *e) {
    char *own[FC_MAX_COMPONENTS];
    s.data = fc_malloc(p->alloc, fc_part_bytes(p->cut, part, p->set[part].width) + 1);
    if (!s.data) return fc_oom(e);
    split(p, part, s.data, 1, own);
    for (unsigned k = 0; k < p->cut->pieces.parts[part].narrays; k++) {
        const size_t bytes = fc_part_array_bytes(p->cut, part, k, p->set[part].width);
        memcpy(own[k], arrays[k] + bytes * (size_t)at, bytes);
    }
    if (fc_push(p->alloc, f, s)) return FUSEC_OK;
    fc_free(p->alloc, s.data);
    return fc_oom(e);
}

/* Pairs of a level at once, then the next level. `tail`: elements that the last one lacks. */
static fusec_status put_many(fc_partial *p, uint32_t part, fresh *f, unsigned level, int64_t index,
                             int64_t n, int64_t tail, const char *const *arrays, fc_error *e) {
    const int64_t full = leaf_of(p, part) << level, width = p->set[part].width;
    const unsigned narrays = p->cut->pieces.parts[part].narrays;
    int64_t at = 0;
    if (n && (index & 1 || n == 1)) {
        const fc_subtree s = {level, index, full - (n == 1 ? tail : 0), NULL};
        FC_TRY(put_copy(p, part, f, s, at++, arrays, e));
    }
    const int64_t pairs = (n - at) / 2;
    if ((n - at) % 2) {
        const fc_subtree s = {level, index + n - 1, full - tail, NULL};
        FC_TRY(put_copy(p, part, f, s, n - 1, arrays, e));
        tail = 0;
    }
    if (!pairs) return FUSEC_OK;
    char *to[FC_MAX_COMPONENTS],
        *data = fc_malloc(p->alloc, fc_part_bytes(p->cut, part, pairs * width));
    const char *a[FC_MAX_COMPONENTS], *b[FC_MAX_COMPONENTS];
    if (!data) return fc_oom(e);
    split(p, part, data, pairs, to);
    for (unsigned k = 0; k < narrays; k++) {
        const size_t bytes = fc_part_array_bytes(p->cut, part, k, width);
        a[k] = arrays[k] + bytes * (size_t)at;
        b[k] = a[k] + bytes;
    }
    fusec_status s = join(p, part, pairs, 2, a, b, to, e);
    if (!s)
        s = put_many(p, part, f, level + 1, (index + at) / 2, pairs, tail, (const char *const *)to,
                     e);
    fc_free(p->alloc, data);
    return s;
}

/* Of no elements there is the start value alone: a subtree like others, so that it is sent and
 * merged as they are, but once. */
static bool is_new(const fc_partial *p, uint32_t part, int64_t n, int64_t count) {
    return n && (count || (!fc_partial_elements(p, part) && !p->set[part].at.len));
}

static fusec_status put(fc_partial *p, uint32_t part, unsigned level, int64_t index, int64_t n,
                        int64_t count, const char *const *arrays, fc_error *e) {
    const fc_subtree all = {level, index, count, NULL};
    fresh f = {0};
    if (!is_new(p, part, n, count)) return FUSEC_OK;
    if (count && !FC_PLANTED(piece_twice) && overlaps(p, part, &all))
        return fc_fail(e, FUSEC_INVALID, "a part of the elements was given before");
    fusec_status s = count ? put_many(p, part, &f, level, index, n,
                                      (leaf_of(p, part) << level) * n - count, arrays, e)
                           : put_copy(p, part, &f, (fc_subtree){0}, 0, arrays, e);
    if (!s) s = add(p, part, f.at, f.len, e);
    if (s) drop(p, &f);
    fc_vec_free(p->alloc, &f);
    return s;
}

fusec_status fc_partial_put(fc_partial *p, uint32_t part, unsigned level, int64_t index, int64_t n,
                            int64_t count, const char *const *arrays, fc_error *e) {
    pthread_mutex_lock(&p->lock);
    const fusec_status s = put(p, part, level, index, n, count, arrays, e);
    pthread_mutex_unlock(&p->lock);
    return s;
}

/* ---- everything ------------------------------------------------------------------------------ */

static fusec_status check_complete(const fc_partial *p, uint32_t part, fc_error *e) {
    const struct fc_partial_set *set = &p->set[part];
    int64_t have = 0;
    for (size_t i = 0; i < set->at.len; i++) have += set->at.at[i].count;
    if (p->total < 0) return fc_fail(e, FUSEC_INVALID, "no piece was computed yet");
    if (have == fc_partial_elements(p, part)) return FUSEC_OK;
    return fc_fail(e, FUSEC_INVALID, "of %lld elements only %lld were in the pieces so far",
                   (long long)fc_partial_elements(p, part), (long long)have);
}

/* The one that begins last of those before leaf `end`. */
static const fc_subtree *last_before(const struct fc_partial_set *set, int64_t end) {
    const fc_subtree *best = NULL;
    for (size_t i = 0; i < set->at.len; i++) {
        const fc_subtree *s = &set->at.at[i];
        if (first_leaf(s) < end && (!best || first_leaf(s) > first_leaf(best))) best = s;
    }
    return best;
}

static fusec_status join_all(fc_partial *p, uint32_t part, fc_error *e) {
    struct fc_partial_set *set = &p->set[part];
    if (set->all) return FUSEC_OK;
    FC_TRY(check_complete(p, part, e));
    FC_TRY(settle(p, part, 0, e));
    const size_t bytes = fc_part_bytes(p->cut, part, set->width);
    const fc_subtree *s = last_before(set, INT64_MAX);
    if (!s) return fc_fail(e, FUSEC_INVALID, "no piece was computed yet");
    char *all = fc_malloc(p->alloc, bytes + 1);
    if (!all) return fc_oom(e);
    memcpy(all, s->data, bytes);
    while ((s = last_before(set, first_leaf(s)))) {
        char *more = joined(p, part, s->data, all, e);
        fc_free(p->alloc, all);
        if (!more) return e->code;
        all = more;
    }
    set->all = all;
    return FUSEC_OK;
}

/* What is complete takes no more pieces, so that `all` stays. */
fusec_status fc_partial_all(fc_partial *p, uint32_t part, fc_partial_whole *out, fc_error *e) {
    pthread_mutex_lock(&p->lock);
    const fusec_status s = join_all(p, part, e);
    *out = (fc_partial_whole){p->set[part].all, p->set[part].width, fc_partial_elements(p, part)};
    pthread_mutex_unlock(&p->lock);
    return s;
}

/* ---- scans ---------------------------------------------------------------------------------- */

static bool is_at(const fc_subtree *s, unsigned level, int64_t index) {
    return s->level == level && s->index == index;
}

/* The accumulator of a whole subtree of a scan's elements, joined if need be; NULL: it fails. */
static char *subtree_of(fc_partial *p, uint32_t part, unsigned level, int64_t index, fc_error *e) {
    struct fc_partial_set *set = &p->set[part];
    const int64_t leaf = index << level;
    size_t i = place_of(set->at.at, set->at.len, leaf, level);
    if (i < set->at.len && is_at(&set->at.at[i], level, index)) return set->at.at[i].data;
    i = place_of(set->made.at, set->made.len, leaf, level);
    if (i < set->made.len && is_at(&set->made.at[i], level, index)) return set->made.at[i].data;
    if (!level)
        return fc_fail(e, FUSEC_INVALID,
                       "what a scan has before the piece is missing: the sweep before it has to be "
                       "done for all pieces before, and for the same ones"),
               NULL;
    char *a = subtree_of(p, part, level - 1, 2 * index, e);
    char *b = a ? subtree_of(p, part, level - 1, 2 * index + 1, e) : NULL;
    fc_subtree s = {level, index, leaf_of(p, part) << level, NULL};
    if (b) s.data = joined(p, part, a, b, e);
    if (!s.data) return NULL;
    if (!fc_push(p->alloc, &set->made, s)) return fc_free(p->alloc, s.data), fc_oom(e), NULL;
    i = place_of(set->made.at, set->made.len - 1, leaf, level);
    memmove(&set->made.at[i + 1], &set->made.at[i], (set->made.len - 1 - i) * sizeof s);
    set->made.at[i] = s;
    return s.data;
}

/* The value that changes nothing, in all elements. */
static fusec_status fill(const fc_partial *p, uint32_t part, char *out, int64_t n, fc_error *e) {
    const fc_part *x = &p->cut->pieces.parts[part];
    const size_t bytes = fc_dtypes[dtype_of(p->cut, part, 0)].bytes;
    fc_val start[FC_MAX_COMPONENTS];
    fc_code c;
    fc_code_init(&c, p->alloc);
    fc_red_init(&c, x->red, x->dtype, start);
    const bool good = !c.status && c.ins.at[start[0]].op == FC_OP_CONST;
    const uint64_t bits = good ? c.ins.at[start[0]].imm : 0;
    fc_code_free(&c);
    if (!good) return fc_oom(e);
    for (int64_t k = 0; k < n; k++) memcpy(out + (size_t)k * bytes, &bits, bytes);
    return FUSEC_OK;
}

static fusec_status before(fc_partial *p, uint32_t part, int64_t leaf, char *out, fc_error *e) {
    const size_t bytes = fc_part_array_bytes(p->cut, part, 0, p->set[part].width);
    FC_TRY(fill(p, part, out, FC_CARRIES * p->set[part].width, e));
    if (leaf >> FC_CARRIES)
        return fc_fail(e, FUSEC_LIMIT, "a scan of more than 2^%d elements", FC_CARRIES + 4);
    for (unsigned level = 0; leaf >> level; level++) {
        if (!(leaf >> level & 1)) continue;
        const char *s = subtree_of(p, part, level, (leaf >> level) - 1, e);
        if (!s) return e->code;
        memcpy(out, s, bytes);
        out += bytes;
    }
    return FUSEC_OK;
}

fusec_status fc_partial_before(fc_partial *p, uint32_t part, int64_t leaf, char *out, fc_error *e) {
    pthread_mutex_lock(&p->lock);
    const fusec_status s = before(p, part, leaf, out, e);
    pthread_mutex_unlock(&p->lock);
    return s;
}

/* ---- merging --------------------------------------------------------------------------------- */

static fusec_status can_merge(const fc_partial *p, const fc_partial *from, bool both, fc_error *e) {
    for (uint32_t i = 0; i < p->cut->pieces.nparts; i++) {
        const struct fc_partial_set *s = &from->set[i];
        if (s->width < 0) continue;
        FC_TRY(check_sizes(p, i, from->total, s->width, s->inner, e));
        for (size_t k = 0; k < s->at.len; k++)
            if (!FC_PLANTED(piece_twice) && overlaps(p, i, &s->at.at[k]))
                return fc_fail(e, FUSEC_INVALID, "a part of the elements %s",
                               both ? "is in both" : "was given before");
    }
    return FUSEC_OK;
}

/* All of it or nothing: what may fail is done for every reduction before the first takes any. */
static fusec_status merge(fc_partial *p, fc_partial *from, bool copy, fc_error *e) {
    const uint32_t n = p->cut->pieces.nparts;
    fusec_status st = can_merge(p, from, copy, e);
    fresh *f = st ? NULL : fc_calloc(p->alloc, n + 1, sizeof *f);
    if (!f) return st ? st : fc_oom(e);
    for (uint32_t i = 0; i < n && !st; i++) {
        struct fc_partial_set *set = &from->set[i];
        if (set->width >= 0) set_sizes(p, i, from->total, set->width, set->inner);
        for (size_t k = 0; k < set->at.len && copy && !st; k++) {
            char *arrays[FC_MAX_COMPONENTS];
            if (!is_new(p, i, 1, set->at.at[k].count)) continue;
            split(from, i, set->at.at[k].data, 1, arrays);
            st = put_copy(p, i, &f[i], set->at.at[k], 0, (const char *const *)arrays, e);
        }
        if (!st && !fc_reserve(p->alloc, &p->set[i].at, p->set[i].at.len + set->at.len))
            st = fc_oom(e);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct fc_partial_set *set = &from->set[i];
        if (st)
            drop(p, &f[i]);
        else if (copy)
            st = add(p, i, f[i].at, f[i].len, e);
        else if (!set->at.len || is_new(p, i, 1, set->at.at[0].count))
            st = add(p, i, set->at.at, set->at.len, e), set->at.len = 0;
        fc_vec_free(p->alloc, &f[i]);
    }
    fc_free(p->alloc, f);
    return st;
}

fusec_status fc_partial_take(fc_partial *p, fc_partial *from, fc_error *e) {
    pthread_mutex_lock(&p->lock);
    const fusec_status s = merge(p, from, false, e);
    pthread_mutex_unlock(&p->lock);
    return s;
}

fusec_status fc_partial_merge(fc_partial *p, fc_partial *from, fc_error *e) {
    if (p == from || memcmp(p->cut->hash, from->cut->hash, FC_SHA256_SIZE) != 0)
        return fc_fail(e, FUSEC_INVALID,
                       p == from ? "a partial can't be merged into itself"
                                 : "the partials are of other programs");
    fc_partial *first = p < from ? p : from, *second = p < from ? from : p;
    pthread_mutex_lock(&first->lock); /* in one order, as two may be merged both ways */
    pthread_mutex_lock(&second->lock);
    const fusec_status s = merge(p, from, true, e);
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
    return s;
}
