/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* strides.c - see strides.h. */
#include "runtime/strides.h"

#include "ir/graph.h"

static bool is_empty(uint32_t rank, const int64_t *shape) {
    for (uint32_t i = 0; i < rank; i++)
        if (shape[i] == 0) return true;
    return false;
}

bool fc_strides_dense(uint32_t rank, const int64_t *shape, const int64_t *strides) {
    int64_t want = 1;
    if (!strides || is_empty(rank, shape)) return true;
    for (uint32_t i = rank; i-- > 0;) {
        if (shape[i] != 1 && strides[i] != want) return false;
        if (!fc_mul_ok(want, shape[i], &want)) return false;
    }
    return true;
}

bool fc_strides_span(uint32_t rank, const int64_t *shape, const int64_t *strides, size_t element,
                     size_t *before, size_t *from) {
    int64_t low = 0, high = 0, dense = 1, by, size = (int64_t)element;
    *before = *from = 0;
    if (is_empty(rank, shape)) return true;
    for (uint32_t i = rank; i-- > 0;) {
        if (!fc_mul_ok(strides ? strides[i] : dense, shape[i] - 1, &by) ||
            !fc_add_ok(by < 0 ? low : high, by, by < 0 ? &low : &high) ||
            (!strides && !fc_mul_ok(dense, shape[i], &dense)))
            return false;
    }
    if (!fc_mul_ok(low, size, &low) || !fc_add_ok(high, 1, &high) || !fc_mul_ok(high, size, &high))
        return false;
    if (low < -PTRDIFF_MAX || high > PTRDIFF_MAX) return false;
    *before = (size_t)-low;
    *from = (size_t)high;
    return true;
}

/* Axes from the smallest stride up: each has to step over all that the smaller ones reach. */
bool fc_strides_apart(uint32_t rank, const int64_t *shape, const int64_t *strides) {
    uint32_t done = 0;
    int64_t reach = 0, by;
    if (!strides || is_empty(rank, shape)) return true;
    for (uint32_t n = 0; n < rank; n++) {
        uint32_t at = rank;
        for (uint32_t i = 0; i < rank; i++)
            if (!(done >> i & 1) &&
                (at == rank || fc_magnitude(strides[i]) < fc_magnitude(strides[at])))
                at = i;
        done |= 1u << at;
        if (shape[at] == 1) continue;
        if (fc_magnitude(strides[at]) <= reach) return false;
        if (!fc_mul_ok(fc_magnitude(strides[at]), shape[at] - 1, &by) ||
            !fc_add_ok(reach, by, &reach))
            return false;
    }
    return true;
}

/* ---- other shapes ---------------------------------------------------------------------------- */

typedef struct axes { /* without those of length 1 */
    uint32_t n;
    int64_t size[FC_MAX_RANK], stride[FC_MAX_RANK];
} axes;

static axes real_axes(uint32_t rank, const int64_t *shape, const int64_t *strides) {
    axes a = {0};
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 1) continue;
        a.size[a.n] = shape[i];
        a.stride[a.n++] = strides[i];
    }
    return a;
}

/* Runs of old axes that have as many elements as a run of new ones; inside a run the old axes must
 * be walked as one. */
bool fc_strides_reshape(uint32_t rank, const int64_t *shape, const int64_t *strides,
                        uint32_t to_rank, const int64_t *to, int64_t *out) {
    const axes a = real_axes(rank, shape, strides);
    for (uint32_t i = 0; i < to_rank; i++) out[i] = 0;
    if (is_empty(rank, shape)) return true;
    for (uint32_t old = 0, next = 0; old < a.n;) {
        const uint32_t first = next;
        int64_t have = a.size[old++], want = 1;
        while (next < to_rank && want < have) want *= to[next++];
        while (want != have) {
            if (want < have) {
                if (next == to_rank) return false;
                want *= to[next++];
            } else {
                if (old == a.n || a.stride[old - 1] != a.stride[old] * a.size[old]) return false;
                have *= a.size[old++];
            }
        }
        int64_t by = a.stride[old - 1];
        for (uint32_t i = next; i-- > first;) {
            if (to[i] == 1) continue;
            out[i] = by;
            by *= to[i];
        }
    }
    return true;
}

/* ---- copies ---------------------------------------------------------------------------------- */

typedef struct walk {
    uint32_t n;
    int64_t size[FC_MAX_RANK + 1], to[FC_MAX_RANK + 1], from[FC_MAX_RANK + 1]; /* in bytes */
} walk;

/* The axes of both sides in bytes, merged where both walk two as one. */
static walk walk_of(size_t element, uint32_t rank, const int64_t *shape, const int64_t *dst,
                    const int64_t *src) {
    walk w = {0};
    int64_t dense = 1, to[FC_MAX_RANK], from[FC_MAX_RANK], e = (int64_t)element;
    for (uint32_t i = rank; i-- > 0; dense *= shape[i]) {
        to[i] = (dst ? dst[i] : dense) * e;
        from[i] = (src ? src[i] : dense) * e;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 1) continue;
        const uint32_t k = w.n;
        if (k && w.to[k - 1] == to[i] * shape[i] && w.from[k - 1] == from[i] * shape[i]) {
            w.size[k - 1] *= shape[i];
            w.to[k - 1] = to[i];
            w.from[k - 1] = from[i];
            continue;
        }
        w.size[k] = shape[i];
        w.to[k] = to[i];
        w.from[k] = from[i];
        w.n++;
    }
    return w;
}

static void copy_line(size_t element, int64_t n, char *to, int64_t by_to, const char *from,
                      int64_t by_from) {
    if (by_to == (int64_t)element && by_from == (int64_t)element) {
        memcpy(to, from, (size_t)n * element);
        return;
    }
    for (int64_t i = 0; i < n; i++, to += by_to, from += by_from) memcpy(to, from, element);
}

void fc_strided_copy(size_t element, uint32_t rank, const int64_t *shape, void *dst,
                     const int64_t *dst_strides, const void *src, const int64_t *src_strides) {
    int64_t at[FC_MAX_RANK] = {0};
    if (is_empty(rank, shape)) return;
    const walk w = walk_of(element, rank, shape, dst_strides, src_strides);
    char *to = dst;
    const char *from = src;
    if (!w.n) {
        memcpy(to, from, element);
        return;
    }
    const uint32_t last = w.n - 1;
    for (;;) {
        copy_line(element, w.size[last], to, w.to[last], from, w.from[last]);
        uint32_t i = last;
        for (; i-- > 0;) {
            to += w.to[i];
            from += w.from[i];
            if (++at[i] < w.size[i]) break;
            to -= w.to[i] * w.size[i];
            from -= w.from[i] * w.size[i];
            at[i] = 0;
        }
        if (i == UINT32_MAX) return;
    }
}
