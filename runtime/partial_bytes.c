/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* partial_bytes.c - partials as bytes, for other processes.
 *
 *     "FUSECPT" 1, SHA-256 of the graph and the size, total
 *     for each reduction over the cut: width, inner, number of subtrees, and of each
 *         level, index, elements, its arrays
 *     SHA-256 of all that
 *
 * Numbers are i64 in the byte order of x86 and ARM, little-endian. Reading expects anything. */
#include "codegen/nest.h"
#include "runtime/partial.h"

static const char magic[8] = {'F', 'U', 'S', 'E', 'C', 'P', 'T', 1};
enum { HEAD = sizeof magic + FC_SHA256_SIZE + 8, SET = 3 * 8, SUBTREE = 3 * 8 };

/* ---- writing --------------------------------------------------------------------------------- */

static size_t size_of(const fc_partial *p) {
    size_t n = HEAD + FC_SHA256_SIZE;
    for (uint32_t i = 0; i < p->cut->pieces.nparts; i++) {
        const struct fc_partial_set *s = &p->set[i];
        n += SET + s->at.len * SUBTREE;
        if (s->at.len) n += s->at.len * fc_part_bytes(p->cut, i, s->width);
    }
    return n;
}

static char *put(char *to, const void *data, size_t n) {
    memcpy(to, data, n);
    return to + n;
}

static char *put_number(char *to, int64_t v) {
    for (int i = 0; i < 8; i++) to[i] = (char)((uint64_t)v >> 8 * i);
    return to + 8;
}

static void write_to(const fc_partial *p, void *out) {
    char *to = put(out, magic, sizeof magic);
    to = put(to, p->cut->hash, FC_SHA256_SIZE);
    to = put_number(to, p->total);
    for (uint32_t i = 0; i < p->cut->pieces.nparts; i++) {
        const struct fc_partial_set *s = &p->set[i];
        to = put_number(to, s->width);
        to = put_number(to, s->inner);
        to = put_number(to, (int64_t)s->at.len);
        for (size_t k = 0; k < s->at.len; k++) {
            to = put_number(to, s->at.at[k].level);
            to = put_number(to, s->at.at[k].index);
            to = put_number(to, s->at.at[k].count);
            to = put(to, s->at.at[k].data, fc_part_bytes(p->cut, i, s->width));
        }
    }
    uint8_t hash[FC_SHA256_SIZE];
    fc_sha256 h;
    fc_sha256_init(&h);
    fc_sha256_add(&h, out, (size_t)(to - (char *)out));
    fc_sha256_end(&h, hash);
    put(to, hash, sizeof hash);
}

size_t fc_partial_write(fc_partial *p, void *out, size_t room) {
    pthread_mutex_lock(&p->lock);
    const size_t n = size_of(p);
    if (n <= room) write_to(p, out);
    pthread_mutex_unlock(&p->lock);
    return n;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *at, *end;
    bool bad;
} reader;

static int64_t get_number(reader *r) {
    uint64_t v = 0;
    if (r->end - r->at < 8) return r->bad = true, 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)r->at[i] << 8 * i;
    r->at += 8;
    return (int64_t)v;
}

static bool is_whole(const void *bytes, size_t n) {
    uint8_t hash[FC_SHA256_SIZE];
    fc_sha256 h;
    if (n < HEAD + FC_SHA256_SIZE || memcmp(bytes, magic, sizeof magic) != 0) return false;
    fc_sha256_init(&h);
    fc_sha256_add(&h, bytes, n - FC_SHA256_SIZE);
    fc_sha256_end(&h, hash);
    return memcmp(hash, (const uint8_t *)bytes + n - FC_SHA256_SIZE, sizeof hash) == 0;
}

/* Whether there can be such a subtree of the array. */
static bool fits(const fc_partial *p, uint32_t part, int64_t level, int64_t index, int64_t count) {
    int64_t first, size;
    const int64_t elements = fc_partial_elements(p, part);
    const int64_t leaf =
        fc_tree_leaf(p->cut->pieces.parts[part].tree, p->cut->pieces.parts[part].half);
    if (!elements) return !level && !index && !count;
    if (level < 0 || level > 52 || index < 0 || count <= 0) return false;
    if (!fc_mul_ok(leaf, INT64_C(1) << level, &size) || !fc_mul_ok(index, size, &first))
        return false;
    if (count > size || first >= elements) return false;
    return count == (elements - first < size ? elements - first : size);
}

static fusec_status read_set(reader *r, fc_partial *p, uint32_t part, int64_t total, fc_error *e) {
    const int64_t width = get_number(r), inner = get_number(r), n = get_number(r);
    if (r->bad || n < 0 || (n && (width < 0 || inner < 0 || total < 0)))
        return r->bad = true, FUSEC_OK;
    if (width < 0) return FUSEC_OK;
    if (width > r->end - r->at && n) return r->bad = true, FUSEC_OK;
    FC_TRY(fc_partial_sizes(p, part, total, width, inner, e));
    const size_t bytes = fc_part_bytes(p->cut, part, n ? width : 0);
    for (int64_t k = 0; k < n && !r->bad; k++) {
        const int64_t level = get_number(r), index = get_number(r), count = get_number(r);
        const char *arrays[FC_MAX_COMPONENTS];
        if (r->bad || !fits(p, part, level, index, count) || (size_t)(r->end - r->at) < bytes)
            return r->bad = true, FUSEC_OK;
        arrays[0] = (const char *)r->at;
        for (unsigned a = 1; a < p->cut->pieces.parts[part].narrays; a++)
            arrays[a] = arrays[a - 1] + fc_part_array_bytes(p->cut, part, a - 1, width);
        FC_TRY(fc_partial_put(p, part, (unsigned)level, index, 1, count, arrays, e));
        r->at += bytes;
    }
    return FUSEC_OK;
}

fusec_status fc_partial_read(const fc_cut *cut, const void *bytes, size_t n, fc_partial **out,
                             fc_error *e) {
    *out = NULL;
    if (!is_whole(bytes, n))
        return fc_fail(e, FUSEC_INVALID, "the bytes are no partial, or damaged");
    reader r = {(const uint8_t *)bytes + sizeof magic, (const uint8_t *)bytes + n - FC_SHA256_SIZE,
                false};
    if (memcmp(r.at, cut->hash, FC_SHA256_SIZE) != 0)
        return fc_fail(e, FUSEC_INVALID, "the partial is of another program, size or version");
    r.at += FC_SHA256_SIZE;
    const int64_t total = get_number(&r);
    if (total > INT64_MAX / 4) return fc_fail(e, FUSEC_INVALID, "the bytes are no partial");
    fc_partial *p;
    FC_TRY(fc_partial_new(cut, &p, e));
    fusec_status s = FUSEC_OK;
    for (uint32_t i = 0; i < cut->pieces.nparts && !s && !r.bad; i++)
        s = read_set(&r, p, i, total, e);
    if (!s && (r.bad || r.at != r.end))
        s = fc_fail(e, FUSEC_INVALID, "the bytes are no partial, or damaged");
    if (s) {
        fc_partial_free(p);
        return s;
    }
    *out = p;
    return FUSEC_OK;
}

fusec_status fc_partial_tell(fc_partial *from, fc_partial *to, fc_error *e) {
    const size_t n = fc_partial_write(from, NULL, 0);
    char *bytes = fc_malloc(to->alloc, n);
    fc_partial *told = NULL;
    if (!bytes) return fc_oom(e);
    fc_partial_write(from, bytes, n);
    fusec_status s = fc_partial_read(to->cut, bytes, n, &told, e);
    if (!s) s = fc_partial_take(to, told, e);
    fc_partial_free(told);
    fc_free(to->alloc, bytes);
    return s;
}
