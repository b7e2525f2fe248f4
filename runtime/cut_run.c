/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cut_run.c - see cut.h: a sweep over a piece, and the finish.
 *
 * A piece is computed in blocks: aligned groups of leaves of all reductions of the sweep, so that
 * the accumulator of a block is that of a subtree. At the end of the array what is left is one
 * block where nothing comes behind it. Blocks are views of the caller's arrays. */
#include "codegen/nest.h"
#include "ir/plant.h"
#include "runtime/bind.h"
#include "runtime/partial.h"
#include "runtime/strides.h"

typedef struct run {
    fc_cut *c;
    const fc_sweep *sweep;
    uint32_t number; /* of the sweep; nsweeps: the finish */
    bool by_leaf;    /* its accumulators are those of all leaves, but of scans */
    bool aligned;    /* a scan begins anew in every block */
    bool fine;       /* what lies before a place, too, has to be the end of a subtree */
    fc_stream stream;
    fc_piece piece;
    uint32_t nin, nout;
    const fc_tensor *in, *out;
    fc_partial *before, *into;
    fc_arena arena;
    int64_t *values; /* of the dims of the whole arrays */
    fc_error *e;
} run;

/* ---- sizes ----------------------------------------------------------------------------------- */

static int along_input(const fc_cut *c, uint32_t i) {
    return c->pieces.along[c->pieces.graph->inputs.at[i].node];
}
static int along_output(const fc_cut *c, uint32_t i) {
    return c->pieces.along[c->pieces.graph->outputs.at[i].node];
}

static const fc_piece_range *range_of_input(const fc_cut *c, uint32_t i) {
    return &c->pieces.ranges[c->pieces.range[c->pieces.graph->inputs.at[i].node]];
}
static const fc_piece_range *range_of_output(const fc_cut *c, uint32_t i) {
    return &c->pieces.ranges[c->pieces.own[i]];
}

static void find_range(const fc_piece_range *r, const fc_piece *p, int64_t *begin, int64_t *end) {
    *begin = fc_piece_range_begin(r, p->begin, p->end, p->total);
    *end = fc_piece_range_end(r, p->end, p->total);
}

void fc_cut_input_range(const fc_cut *c, uint32_t i, const fc_piece *p, int64_t *begin,
                        int64_t *end) {
    find_range(range_of_input(c, i), p, begin, end);
}

void fc_cut_output_range(const fc_cut *c, uint32_t i, const fc_piece *p, int64_t *begin,
                         int64_t *end) {
    find_range(range_of_output(c, i), p, begin, end);
}

static int64_t length_of(const fc_piece_range *r, int64_t total) {
    return total + r->extra > 0 ? total + r->extra : 0;
}

int64_t fc_cut_input_length(const fc_cut *c, uint32_t i, int64_t total) {
    return length_of(range_of_input(c, i), total);
}

int64_t fc_cut_output_length(const fc_cut *c, uint32_t i, int64_t total) {
    return length_of(range_of_output(c, i), total);
}

/* A tensor whose axis has another size; the shape is copied. */
static bool resized(fc_arena *arena, const fc_tensor *t, int axis, int64_t size, fc_tensor *out) {
    int64_t *shape = fc_arena_alloc(arena, (t->rank + 1) * sizeof *shape);
    if (!shape) return false;
    for (uint32_t k = 0; k < t->rank; k++) shape[k] = (int)k == axis ? size : t->shape[k];
    *out = *t;
    out->shape = shape;
    return true;
}

/* Elements [at, at + n) of an axis of an array in host memory, around its ends. */
static bool copy_round(fc_arena *arena, const fc_tensor *t, int axis, int64_t at,
                       const int64_t *strides, fc_tensor *out) {
    const size_t bytes = fc_dtypes[t->dtype].bytes;
    const int64_t size = t->shape[axis];
    int64_t count = 1, index[FC_MAX_RANK] = {0};
    out->strides = NULL;
    for (uint32_t k = 0; k < t->rank; k++) count *= out->shape[k];
    char *to = fc_arena_alloc(arena, (size_t)count * bytes + 1);
    if (!to) return false;
    out->data = to;
    for (; count > 0 && size; count--, to += bytes) {
        int64_t from = 0;
        for (uint32_t k = 0; k < t->rank; k++)
            from +=
                strides[k] * ((int)k == axis ? ((at + index[k]) % size + size) % size : index[k]);
        memcpy(to, (const char *)t->data + from * (int64_t)bytes, bytes);
        for (uint32_t k = t->rank; k-- > 0 && ++index[k] == out->shape[k];) index[k] = 0;
    }
    return true;
}

bool fc_cut_view(fc_arena *arena, const fc_tensor *t, int axis, int64_t at, int64_t n,
                 fc_tensor *out) {
    int64_t step = 1;
    *out = *t;
    if (axis < 0) return true;
    int64_t *strides = fc_arena_alloc(arena, (t->rank + 1) * sizeof *strides);
    if (!strides || !resized(arena, t, axis, n, out)) return false;
    for (uint32_t k = t->rank; k-- > 0; step *= t->shape[k])
        strides[k] = t->strides ? t->strides[k] : step;
    out->strides = fc_strides_dense(t->rank, out->shape, strides) ? NULL : strides;
    if (out->data && (at < 0 || at + n > t->shape[axis]))
        return copy_round(arena, t, axis, at, strides, out);
    if (out->data)
        out->data = (char *)out->data + at * strides[axis] * (int64_t)fc_dtypes[t->dtype].bytes;
    return true;
}

int64_t fc_cut_total(const fc_cut *c, uint32_t nin, const fc_tensor *in) {
    for (uint32_t i = 0; i < nin; i++) {
        const int axis = along_input(c, i);
        if (axis >= 0) return in[i].shape[axis] - range_of_input(c, i)->extra;
    }
    return -1;
}

bool fc_cut_follows(const fc_cut *c, uint32_t sweep) {
    return fc_pieces_follows(&c->pieces, sweep);
}

static fusec_status bind_whole(const fc_cut *c, fc_arena *arena, uint32_t nin, const fc_tensor *in,
                               int64_t total, int64_t **values, fc_error *e) {
    const fc_graph *g = c->pieces.graph;
    fc_tensor *whole = fc_arena_alloc(arena, (nin + 1) * sizeof *whole);
    int64_t *symbols = fc_arena_alloc(arena, (g->dims.syms.len + 1) * sizeof *symbols);
    *values = fc_arena_alloc(arena, (g->dims.forms.len + 1) * sizeof **values);
    if (!whole || !symbols || !*values) return fc_oom(e);
    for (uint32_t i = 0; i < nin && i < g->inputs.len; i++) {
        whole[i] = in[i];
        const int axis = along_input(c, i);
        if (axis >= 0 && axis < (int)in[i].rank && total >= 0 &&
            !resized(arena, &in[i], axis, total + range_of_input(c, i)->extra, &whole[i]))
            return fc_oom(e);
    }
    return fc_bind_sizes(c->whole, nin, whole, c->ndims, c->dims, symbols, *values, e);
}

static bool product(const int64_t *dims, uint32_t n, const int64_t *values, int64_t *out) {
    *out = 1;
    for (uint32_t i = 0; i < n; i++)
        if (!fc_mul_ok(*out, values[dims[i]], out)) return false;
    return true;
}

/* Whether an aligned group of leaves is a range of positions. */
static bool fall_together(const fc_part *p, int64_t inner) {
    const int64_t leaf = fc_tree_leaf(p->tree, p->half), leaves = inner / leaf;
    if (inner <= leaf) return inner <= 0 || leaf % inner == 0;
    return inner % leaf == 0 && (leaves & (leaves - 1)) == 0;
}

int64_t fc_part_grain(const fc_part *p, int64_t inner) {
    int64_t n = fc_tree_leaf(p->tree, p->half);
    if (p->carry) return p->grain;
    if (inner <= 0) return 1;
    while (n > 1 && inner % 2 == 0) n /= 2, inner /= 2;
    return n;
}

/* Of a sweep, or of all (UINT32_MAX). */
static fusec_status grain_of(const fc_cut *c, uint32_t sweep, const int64_t *values, int64_t *grain,
                             bool *by_leaf, fc_error *e) {
    *grain = 1;
    *by_leaf = false;
    for (uint32_t i = 0; i < c->pieces.nparts; i++) {
        const fc_part *p = &c->pieces.parts[i];
        int64_t inner;
        if (sweep != UINT32_MAX && p->sweep != sweep) continue;
        if (!product(p->inner, p->ninner, values, &inner))
            return fc_fail(e, FUSEC_INPUT_SHAPE, "there are more than 2^63 elements");
        const int64_t own = fc_part_grain(p, inner);
        if (own > *grain) *grain = own;
        if (fall_together(p, inner)) continue;
        *by_leaf = true;
        if (!c->sweeps[p->sweep].by_leaf)
            return fc_fail(e, FUSEC_INPUT_SHAPE,
                           "a contraction that also sums %lld elements at each position can be cut "
                           "only where that is a power of two",
                           (long long)inner);
    }
    return FUSEC_OK;
}

fusec_status fc_cut_grain(const fc_cut *c, uint32_t nin, const fc_tensor *in, int64_t *grain,
                          fc_error *e) {
    fc_arena arena;
    int64_t *values;
    fc_arena_init(&arena, c->alloc);
    bool by_leaf;
    fusec_status s = bind_whole(c, &arena, nin, in, -1, &values, e);
    if (!s) s = grain_of(c, UINT32_MAX, values, grain, &by_leaf, e);
    fc_arena_free(&arena);
    return s;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* The part of an array of the piece that a block has, by the range. */
static bool part_of_array(run *r, const fc_tensor *t, int axis, const fc_piece_range *range,
                          const fc_piece *block, fc_tensor *out) {
    int64_t begin, end, first, last;
    find_range(range, block, &begin, &end);
    find_range(range, &r->piece, &first, &last);
    if (r->number == r->c->pieces.nsweeps) begin = end = first; /* nothing of it is needed */
    return fc_cut_view(&r->arena, t, axis, end > begin ? begin - first : 0, end - begin, out);
}

static fc_tensor number(const int64_t *v) {
    return (fc_tensor){.dtype = FUSEC_I64, .data = (void *)(uintptr_t)v};
}

static int64_t elements_at_position(const run *r, const fc_part *part) {
    int64_t n;
    product(part->inner, part->ninner, r->values, &n);
    return n;
}

/* What came before the places of a block where a scan begins anew. */
static fusec_status take_carries(run *r, uint32_t number, const fc_piece *block, fc_tensor *in,
                                 uint32_t *n) {
    const fc_part *part = &r->c->pieces.parts[number];
    int64_t width, end, at[3] = {block->begin};
    product(part->kept, part->nkept, r->values, &width);
    FC_TRY(fc_partial_sizes(r->before, number, r->piece.total, width, 1, r->e));
    if (part->places > 1) {
        find_range(&r->c->pieces.ranges[part->around], block, &at[0], &end);
        find_range(&r->c->pieces.ranges[part->range], block, &at[1], &at[2]);
        if (end <= at[2]) at[2] = 0; /* there is nothing behind it */
        if (at[0] >= at[1]) at[0] = 0;
    }
    for (uint32_t k = 0; k < part->places; k++) {
        int64_t *shape = fc_arena_alloc(&r->arena, (part->nkept + 1u) * sizeof *shape);
        char *data =
            fc_arena_alloc(&r->arena, fc_part_array_bytes(r->c, number, 0, width) * FC_CARRIES + 1);
        if (!shape || !data) return fc_oom(r->e);
        shape[0] = FC_CARRIES;
        for (uint32_t d = 0; d < part->nkept; d++) shape[d + 1] = r->values[part->kept[d]];
        FC_TRY(fc_partial_before(r->before, number, at[k] / FC_RUN, data, r->e));
        in[(*n)++] = (fc_tensor){.dtype = fc_component_dtype(part->red, part->dtype, 0),
                                 .rank = part->nkept + 1,
                                 .shape = shape,
                                 .data = data};
    }
    return FUSEC_OK;
}

/* What the program takes behind the inputs of the source: see passes/pieces.h. */
static fusec_status take_joined(run *r, const fc_piece *block, fc_tensor *in, uint32_t *n) {
    const fc_pieces *p = &r->c->pieces;
    for (uint32_t i = 0; i < p->nparts; i++) {
        const fc_part *part = &p->parts[i];
        fc_partial_whole all;
        int64_t width;
        if (part->sweep >= r->number || (part->carry && r->number == p->nsweeps)) continue;
        if (!r->before)
            return fc_fail(r->e, FUSEC_INVALID, "what earlier sweeps found out is missing");
        if (part->carry) {
            FC_TRY(take_carries(r, i, block, in, n));
            continue;
        }
        int64_t *shape = fc_arena_alloc(&r->arena, (part->nkept + 1u) * sizeof *shape);
        int64_t *count = fc_arena_alloc(&r->arena, sizeof *count);
        if (!shape || !count) return fc_oom(r->e);
        product(part->kept, part->nkept, r->values, &width);
        FC_TRY(fc_partial_sizes(r->before, i, r->piece.total, width, elements_at_position(r, part),
                                r->e));
        FC_TRY(fc_partial_all(r->before, i, &all, r->e));
        for (uint32_t k = 0; k < part->nkept; k++) shape[k] = r->values[part->kept[k]];
        *count = all.count;
        const char *data = all.data;
        for (unsigned k = 0; k < part->narrays; k++) {
            in[(*n)++] = (fc_tensor){.dtype = fc_component_dtype(part->red, part->dtype, (int)k),
                                     .rank = part->nkept,
                                     .shape = shape,
                                     .data = (void *)(uintptr_t)data};
            data += fc_part_array_bytes(r->c, i, k, width);
        }
        in[(*n)++] = number(count);
    }
    return FUSEC_OK;
}

static fusec_status take_inputs(run *r, const fc_piece *block, fc_tensor **in, uint32_t *nin) {
    const fc_pieces *p = &r->c->pieces;
    const bool finish = r->number == p->nsweeps;
    const size_t room = r->nin + 1 + p->ntotals + p->nparts * (FC_MAX_COMPONENTS + 1u);
    int64_t *at = fc_arena_alloc(&r->arena, sizeof *at);
    *in = fc_arena_alloc(&r->arena, room * sizeof **in);
    *nin = 0;
    if (!at || !*in) return fc_oom(r->e);
    *at = FC_PLANT(piece_begin, r->piece.begin, block->begin);
    for (uint32_t i = 0; i < r->nin; i++) {
        const int axis = along_input(r->c, i);
        fc_tensor *t = &(*in)[(*nin)++];
        *t = r->in[i];
        if (axis >= 0 && !part_of_array(r, &r->in[i], axis, range_of_input(r->c, i), block, t))
            return fc_oom(r->e);
    }
    if (!finish) (*in)[(*nin)++] = number(at);
    for (uint32_t i = 0; i < p->ntotals; i++) (*in)[(*nin)++] = number(&r->values[p->totals[i]]);
    return take_joined(r, block, *in, nin);
}

/* Memory for the arrays of `leaves` accumulators of a reduction, or for one (-1). */
static fusec_status take_accumulators(run *r, uint32_t number, unsigned k, int64_t leaves,
                                      fc_tensor *out) {
    const fc_part *part = &r->c->pieces.parts[number];
    const uint32_t front = leaves >= 0;
    int64_t width, *shape = fc_arena_alloc(&r->arena, (part->nkept + 2u) * sizeof *shape);
    if (!shape) return fc_oom(r->e);
    if (front) shape[0] = leaves;
    for (uint32_t d = 0; d < part->nkept; d++) shape[front + d] = r->values[part->kept[d]];
    product(part->kept, part->nkept, r->values, &width);
    if (front) width *= leaves;
    *out = (fc_tensor){.dtype = fc_component_dtype(part->red, part->dtype, (int)k),
                       .rank = part->nkept + front,
                       .shape = shape};
    out->data = fc_arena_alloc(&r->arena, fc_part_array_bytes(r->c, number, k, width) + 1);
    return out->data ? FUSEC_OK : fc_oom(r->e);
}

/* Elements of a reduction in a block. */
static int64_t elements_in(const run *r, const fc_part *part, const fc_piece *block) {
    int64_t begin, end, inner;
    find_range(&r->c->pieces.ranges[part->range], block, &begin, &end);
    product(part->inner, part->ninner, r->values, &inner);
    return (end - begin) * inner;
}

static bool is_by_leaf(const run *r, const fc_part *part) {
    return r->by_leaf && !part->carry;
}

/* Memory for the accumulators, then the caller's results. */
static fusec_status take_outputs(run *r, const fc_piece *block, fc_tensor **out, uint32_t *nout) {
    const fc_pieces *p = &r->c->pieces;
    *out = fc_arena_alloc(&r->arena,
                          (r->nout + 2u * p->nparts * FC_MAX_COMPONENTS + 1u) * sizeof **out);
    *nout = 0;
    if (!*out) return fc_oom(r->e);
    for (uint32_t i = 0; i < p->nparts; i++) {
        const fc_part *part = &p->parts[i];
        if (part->sweep != r->number) continue;
        const int64_t leaves = elements_in(r, part, block) / fc_tree_leaf(part->tree, part->half);
        for (unsigned k = 0; k < part->narrays; k++) {
            const bool all = is_by_leaf(r, part);
            FC_TRY(take_accumulators(r, i, k, all ? leaves : -1, &(*out)[(*nout)++]));
            if (all) FC_TRY(take_accumulators(r, i, k, -1, &(*out)[(*nout)++]));
        }
    }
    for (uint32_t i = 0; i < r->sweep->noutputs; i++) {
        const uint32_t which = r->sweep->outputs[i];
        const int axis = along_output(r->c, which);
        fc_tensor *t = &(*out)[(*nout)++];
        *t = r->out[which];
        if (axis >= 0 &&
            !part_of_array(r, &r->out[which], axis, range_of_output(r->c, which), block, t))
            return fc_oom(r->e);
    }
    return FUSEC_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* How many positions the block at `at` has: the largest aligned group of leaves that fits; or all
 * that are left, where they are the last ones and no more than such a group. */
static int64_t block_at(const run *r, int64_t at, int64_t grain) {
    const int64_t left = r->piece.end - at;
    int64_t n = grain;
    if (!r->aligned && (!r->sweep->nparts || r->by_leaf)) return left;
    while (n < left && at % (2 * n) == 0 && (2 * n <= left || r->piece.end == r->piece.total))
        n *= 2;
    if (r->fine && n > grain && n <= left) n /= 2;
    return n < left ? n : left;
}

static unsigned level_of(int64_t leaves) { /* of the smallest group of so many */
    unsigned level = 0;
    while ((INT64_C(1) << level) < leaves) level++;
    return level;
}

/* The accumulator of a block: a subtree of so many positions, some of which may be missing. */
static fusec_status put_subtree(run *r, uint32_t i, const fc_piece *block, int64_t size,
                                const fc_tensor *out) {
    const fc_part *part = &r->c->pieces.parts[i];
    const char *arrays[FC_MAX_COMPONENTS];
    const int64_t inner = elements_at_position(r, part),
                  leaf = fc_tree_leaf(part->tree, part->half);
    const int64_t leaves = size * inner / leaf;
    const unsigned level = level_of(leaves > 0 ? leaves : 1);
    for (unsigned k = 0; k < part->narrays; k++) arrays[k] = out[k].data;
    return fc_partial_put(r->into, i, level, (block->begin * inner / leaf) >> level, 1,
                          elements_in(r, part, block), arrays, r->e);
}

static fusec_status put_leaves(run *r, uint32_t i, const fc_piece *block, const fc_tensor *out) {
    const fc_part *part = &r->c->pieces.parts[i];
    const char *full[FC_MAX_COMPONENTS], *rest[FC_MAX_COMPONENTS];
    const int64_t inner = elements_at_position(r, part),
                  leaf = fc_tree_leaf(part->tree, part->half);
    const int64_t n = elements_in(r, part, block), leaves = n / leaf;
    const int64_t first = block->begin * inner / leaf;
    for (unsigned k = 0; k < part->narrays; k++)
        full[k] = out[2 * k].data, rest[k] = out[2 * k + 1].data;
    FC_TRY(fc_partial_put(r->into, i, 0, first, leaves, leaves * leaf, full, r->e));
    return fc_partial_put(r->into, i, 0, first + leaves, 1, n % leaf, rest, r->e);
}

static fusec_status put_block(run *r, const fc_piece *block, int64_t size, const fc_tensor *out) {
    const fc_pieces *p = &r->c->pieces;
    for (uint32_t i = 0; i < p->nparts; i++) {
        const fc_part *part = &p->parts[i];
        int64_t width;
        if (part->sweep != r->number) continue;
        if (!r->into) return fc_fail(r->e, FUSEC_INVALID, "the sweep needs a partial to fill");
        product(part->kept, part->nkept, r->values, &width);
        FC_TRY(fc_partial_sizes(r->into, i, r->piece.total, width, elements_at_position(r, part),
                                r->e));
        FC_TRY(is_by_leaf(r, part) ? put_leaves(r, i, block, out)
                                   : put_subtree(r, i, block, size, out));
        out += (is_by_leaf(r, part) ? 2 : 1) * part->narrays;
    }
    return FUSEC_OK;
}

/* The sizes of a block: those of the call, the cut one, those of its ranges. */
static fusec_status take_dims(run *r, const fc_piece *block, uint32_t *n, fc_dim_value **out) {
    const fc_pieces *p = &r->c->pieces;
    fc_dim_value *d = fc_arena_alloc(&r->arena, (r->c->ndims + 2 * p->nranges + 1) * sizeof *d);
    if (!(*out = d)) return fc_oom(r->e);
    *n = 0;
    for (uint32_t i = 0; i < r->c->ndims; i++) d[(*n)++] = r->c->dims[i];
    d[(*n)++] = (fc_dim_value){p->sym, block->end - block->begin};
    for (uint32_t k = 1; k < p->nranges && r->number < p->nsweeps; k++) {
        int64_t begin, end;
        find_range(&p->ranges[k], block, &begin, &end);
        d[(*n)++] = (fc_dim_value){fc_range_length_sym(p, k), end - begin};
        d[(*n)++] = (fc_dim_value){fc_range_before_sym(p, k), block->begin - begin};
    }
    return FUSEC_OK;
}

static fusec_status run_block(run *r, const fc_piece *block, int64_t size) {
    fc_tensor *in, *out;
    fc_dim_value *dims;
    uint32_t nin = 0, nout = 0, ndims = 0;
    fc_program *p = r->by_leaf ? r->sweep->by_leaf : r->sweep->program;
    if (!p) return FUSEC_OK;
    FC_TRY(take_outputs(r, block, &out, &nout));
    FC_TRY(take_inputs(r, block, &in, &nin));
    FC_TRY(take_dims(r, block, &ndims, &dims));
    FC_TRY(fc_program_run(p, r->stream, nin, in, ndims, dims, nout, out, r->e));
    return r->number < r->c->pieces.nsweeps ? put_block(r, block, size, out) : FUSEC_OK;
}

static fusec_status run_piece(run *r) {
    int64_t grain;
    FC_TRY(grain_of(r->c, r->number, r->values, &grain, &r->by_leaf, r->e));
    for (uint32_t i = 0; i < r->c->pieces.nparts; i++) {
        const fc_part *part = &r->c->pieces.parts[i];
        if (!part->carry || part->sweep > r->number) continue;
        r->aligned = true;
        r->fine |= part->sweep == r->number && part->places > 1;
        if (part->grain > grain) grain = part->grain;
    }
    if (r->piece.begin % grain || (r->piece.end % grain && r->piece.end != r->piece.total))
        return fc_fail(r->e, FUSEC_INVALID,
                       "a piece has to begin and end at multiples of %lld, or end with the array",
                       (long long)grain);
    int64_t at = r->piece.begin;
    do {
        const int64_t n = block_at(r, at, grain);
        int64_t size = grain;
        while (size < n) size *= 2;
        FC_TRY(run_block(r, &(fc_piece){at, at + n, r->piece.total}, size));
        at += n;
    } while (at < r->piece.end);
    return FUSEC_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static fusec_status check(const run *r) {
    const fc_graph *g = r->c->pieces.graph;
    const fc_piece *p = &r->piece;
    if (p->begin < 0 || p->begin > p->end || p->end > p->total)
        return fc_fail(r->e, FUSEC_INVALID, "there is no piece [%lld, %lld) of %lld",
                       (long long)p->begin, (long long)p->end, (long long)p->total);
    if (r->nin != g->inputs.len || r->nout != g->outputs.len)
        return fc_fail(r->e, FUSEC_ARGUMENT_COUNT,
                       "the program has %zu inputs and %zu outputs, but %u and %u were given",
                       g->inputs.len, g->outputs.len, r->nin, r->nout);
    if (r->before && r->before->cut != r->c)
        return fc_fail(r->e, FUSEC_INVALID, "the partial is of another cut");
    for (uint32_t i = 0; i < r->nin && r->number < r->c->pieces.nsweeps; i++) {
        const int axis = along_input(r->c, i);
        int64_t begin, end;
        if (axis < 0 || axis >= (int)r->in[i].rank) continue;
        find_range(range_of_input(r->c, i), p, &begin, &end);
        if (r->in[i].shape[axis] == end - begin) continue;
        return fc_fail(r->e, FUSEC_INPUT_SHAPE,
                       "input %s has %lld elements along axis %d, the piece [%lld, %lld)",
                       g->inputs.at[i].name, (long long)r->in[i].shape[axis], axis,
                       (long long)begin, (long long)end);
    }
    for (uint32_t k = 0; k < r->sweep->noutputs && r->number < r->c->pieces.nsweeps; k++) {
        const uint32_t i = r->sweep->outputs[k];
        const int axis = along_output(r->c, i);
        int64_t begin, end;
        if (axis < 0 || axis >= (int)r->out[i].rank) continue;
        find_range(range_of_output(r->c, i), p, &begin, &end);
        if (r->out[i].shape[axis] == end - begin) continue;
        return fc_fail(r->e, FUSEC_RESULT_SHAPE,
                       "result %s has %lld elements along axis %d, the piece [%lld, %lld)",
                       g->outputs.at[i].name, (long long)r->out[i].shape[axis], axis,
                       (long long)begin, (long long)end);
    }
    return FUSEC_OK;
}

static fusec_status call(run *r) {
    fc_arena_init(&r->arena, r->c->alloc);
    fusec_status s = check(r);
    if (!s) s = bind_whole(r->c, &r->arena, r->nin, r->in, r->piece.total, &r->values, r->e);
    if (!s) s = r->number < r->c->pieces.nsweeps ? run_piece(r) : run_block(r, &r->piece, 0);
    fc_arena_free(&r->arena);
    return s;
}

fusec_status fc_cut_run(fc_cut *c, fc_stream stream, uint32_t sweep, const fc_piece *piece,
                        uint32_t nin, const fc_tensor *in, uint32_t nout, const fc_tensor *out,
                        fc_partial *before, fc_partial *into, fc_error *e) {
    if (sweep >= c->pieces.nsweeps)
        return fc_fail(e, FUSEC_INVALID, "there is no sweep %u: the program has %u", sweep,
                       c->pieces.nsweeps);
    run r = {.c = c,
             .sweep = &c->sweeps[sweep],
             .number = sweep,
             .stream = stream,
             .piece = *piece,
             .nin = nin,
             .nout = nout,
             .in = in,
             .out = out,
             .before = before,
             .e = e};
    /* what a piece finds out is known when all of it is */
    if (into && into->cut != c) return fc_fail(e, FUSEC_INVALID, "the partial is of another cut");
    if (into && r.sweep->nparts) FC_TRY(fc_partial_new(c, &r.into, e));
    fusec_status s = call(&r);
    if (!s && r.into) s = fc_partial_take(into, r.into, e);
    fc_partial_free(r.into);
    return s;
}

fusec_status fc_cut_finish(fc_cut *c, fc_stream stream, int64_t total, uint32_t nin,
                           const fc_tensor *in, uint32_t nout, const fc_tensor *out,
                           fc_partial *all, fc_error *e) {
    run r = {.c = c,
             .sweep = &c->finish,
             .number = c->pieces.nsweeps,
             .stream = stream,
             .piece = {0, 0, total},
             .nin = nin,
             .nout = nout,
             .in = in,
             .out = out,
             .before = all,
             .e = e};
    return call(&r);
}
