/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower.c - see lower.h. Walks from the roots of a region to its leaves with an explicit stack and
 * makes the kernel's code; a value is known by its node and its index map, so equal reads are made
 * once. */
#include "passes/lower_impl.h"

#include "ir/expand.h"
#include "ir/fold.h"
#include "ir/plant.h"
#include "passes/ragged.h"

/* ---- values made so far ------------------------------------------------------------------ */

static inline uint64_t key_of(fc_node n, fc_list map) {
    return ((uint64_t)n << 32 | map) + 1;
}

static fc_lower_entry *slot_of(const fc_lowering *l, uint64_t key) {
    uint64_t h = (key * 0x9e3779b97f4a7c15u) >> 32; /* the node is in the upper half */
    while (l->slots[h & (l->nslots - 1)].key && l->slots[h & (l->nslots - 1)].key != key) h++;
    return &l->slots[h & (l->nslots - 1)];
}

bool fc_lower_known(const fc_lowering *l, fc_node n, fc_list map, fc_val *out) {
    if (!l->nslots) return false;
    fc_lower_entry *s = slot_of(l, key_of(n, map));
    if (!s->key) return false;
    *out = s->val;
    return true;
}

/* For those who ask which lines a kernel computes. */
static void note_place(fc_lowering *l, fc_node n) {
    const uint32_t place = fc_graph_place(l->g, n);
    for (size_t i = l->k->places.len; place && i-- > 0;)
        if (l->k->places.at[i] == place) return;
    if (place && !fc_push(l->alloc, &l->k->places, place)) l->oom = true;
}

static void remember(fc_lowering *l, fc_node n, fc_list map, fc_val v) {
    if (l->nused * 2 >= l->nslots) {
        fc_lower_entry *old = l->slots;
        uint32_t nold = l->nslots;
        l->nslots = nold ? nold * 2 : 128;
        l->slots = fc_calloc(l->alloc, l->nslots, sizeof *l->slots);
        if (!l->slots) {
            l->slots = old;
            l->nslots = nold;
            l->oom = true;
            return;
        }
        for (uint32_t i = 0; i < nold; i++)
            if (old[i].key) *slot_of(l, old[i].key) = old[i];
        fc_free(l->alloc, old);
    }
    fc_lower_entry *s = slot_of(l, key_of(n, map));
    if (!s->key) l->nused++;
    *s = (fc_lower_entry){key_of(n, map), v};
}

static void push(fc_lowering *l, fc_node n, fc_list map) {
    fc_lower_todo t = {n, map};
    if (!fc_push(l->alloc, &l->todo, t)) l->oom = true;
}

/* ---- leaves ------------------------------------------------------------------------------ */

static uint32_t arg_for(fc_lowering *l, uint32_t buffer, fusec_dtype t, bool written) {
    for (size_t i = 0; i < l->k->args.len; i++)
        if (l->k->args.at[i].buffer == buffer) return (uint32_t)i;
    return fc_kernel_arg(l->k, t, written, buffer);
}

/* What an array is made of in memory as kernels see it: a pair of two f32 is a word of 64 bits, a
 * pair of two f64 two elements. */
static fusec_dtype in_memory(fusec_dtype t) {
    return t == FUSEC_C64 ? FUSEC_U64 : t == FUSEC_C128 ? FUSEC_F64 : t;
}

static uint32_t access_for(fc_lowering *l, uint32_t arg, fc_list shape, fc_list map,
                           unsigned pair) {
    const uint32_t rank = fc_list_len(l->g, shape);
    fc_dim dims[FC_MAX_RANK];
    fc_map m[FC_MAX_RANK];
    fc_map *room = fc_malloc(l->alloc, ((size_t)rank + 1) * FC_MAX_AXES * sizeof *room);
    if (!room) return l->oom = true, UINT32_MAX;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = (fc_dim)fc_list_at(l->g, shape)[i];
        fc_lower_affine(l, fc_map_index(l->g, map, i), &m[i], room + (size_t)i * FC_MAX_AXES);
    }
    const uint32_t access = fc_kernel_access_pair(l->k, arg, rank, dims, m, pair);
    fc_free(l->alloc, room);
    return access;
}

/* `pair`: which part of pairs of f64, from 1; else 0. */
static fc_val load(fc_lowering *l, fc_node n, fc_list shape, fc_list map, unsigned pair) {
    const fusec_dtype t = in_memory((fusec_dtype)fc_at(l->g, n)->dtype);
    const uint32_t arg = arg_for(l, l->buffer[n], t, false);
    fc_code *c = &l->k->code;
    fc_map_join_axes(l->g, &shape, &map);
    l->oom |= map == FC_NOMAP;
    if (l->oom) return FC_NOVAL;
    const uint32_t rank = fc_list_len(l->g, shape);
    fc_lower_reach(l, arg, shape == fc_at(l->g, n)->shape ? rank : 0, map);
    if (fc_map_is_affine(l->g, map, rank) && !fc_lower_as_element(l, arg, shape, map, pair))
        return fc_kernel_load(l->k, access_for(l, arg, shape, map, pair));
    const fc_val when = fc_lower_guards(l, map, rank, 0);
    fc_val at = fc_lower_element(l, map, shape);
    if (pair && at != FC_NOVAL) {
        at = fc_val_op(c, FC_OP_add, at, at, FC_NOVAL);
        at = fc_val_op(c, FC_OP_add, at, fc_val_i64(c, (int64_t)pair - 1), FC_NOVAL);
    }
    return fc_kernel_load_at(l->k, arg, at, when);
}

static fc_val index_value(fc_lowering *l, fc_node n, fc_list map) {
    const fc_list index = fc_map_index(l->g, map, (uint32_t)fc_at(l->g, n)->attr);
    fc_map m, room[FC_MAX_AXES];
    if (!fc_map_is_affine(l->g, map, fc_rank(l->g, n)) || l->k->schedule == FC_SCHED_DOT)
        return fc_lower_index(l, index);
    fc_lower_affine(l, index, &m, room);
    return fc_kernel_load(l->k, fc_kernel_access(l->k, FC_NO_BUFFER, 1, NULL, &m));
}

/* ---- one node ---------------------------------------------------------------------------- */

/* A constant, a size or a scalar that comes with the call, spread or not. */
static bool is_number(const fc_graph *g, fc_node n) {
    while (fc_is_view(fc_at(g, n)->op)) n = fc_at(g, n)->src[0];
    const fc_op op = (fc_op)fc_at(g, n)->op;
    return op == FC_OP_CONST || op == FC_OP_DIM || (op == FC_OP_INPUT && fc_rank(g, n) == 0);
}

/* The operands of node n under `map` that its value is made from; 0 when it is a leaf. */
static int operands(fc_lowering *l, fc_node n, fc_list map, fc_lower_todo out[3]) {
    const fc_ninfo *i = fc_at(l->g, n);
    if (fc_is_view(i->op)) {
        out[0] = (fc_lower_todo){i->src[0], fc_map_view(l->g, n, map)};
        return 1;
    }
    if (i->op == FC_OP_TAKE) { /* the array is read where the index says, which is known then */
        out[0] = (fc_lower_todo){i->src[1], map};
        out[1] = (fc_lower_todo){i->src[0], fc_map_take(l->g, n, map)};
        return 2;
    }
    if (i->op == FC_OP_ROUNDS) { /* its body is lowered once for all elements */
        out[0] = (fc_lower_todo){i->src[0], map};
        return 1;
    }
    for (int k = 0; k < i->nops; k++) {
        const bool record = i->op == FC_OP_RECORD && fc_at(l->g, i->src[k])->op != FC_OP_RECORD;
        const bool list = i->op == FC_OP_EXTERN && fc_at(l->g, i->src[k])->op == FC_OP_RECORD;
        bool scalar = fc_rank(l->g, i->src[k]) == 0 && !list &&
                      (record || (i->op != FC_OP_RECORD && fc_rank(l->g, n) != 0));
        out[k] = (fc_lower_todo){i->src[k], scalar ? 0 : map};
    }
    /* a number comes last: which of two nodes is the older depends on what else uses it, and
     * kernels that compute the same should be the same */
    if (i->nops == 2 && (fc_ops[i->op].flags & FC_F_COMMUTES) && is_number(l->g, i->src[0]) &&
        !is_number(l->g, i->src[1])) {
        const fc_lower_todo first = out[0];
        out[0] = out[1];
        out[1] = first;
    }
    return i->nops;
}

/* Whether another kernel stores the value. */
static bool made_elsewhere(const fc_lowering *l, fc_node n) {
    return l->f->home[n] != FC_NOREGION && &l->f->regions.at[l->f->home[n]] != l->r;
}

static bool is_leaf(const fc_lowering *l, fc_node n) {
    const fc_ninfo *i = fc_at(l->g, n);
    if (i->nops == 0 || i->op == FC_OP_PART || made_elsewhere(l, n)) return true;
    fc_node array;
    if (i->op == FC_OP_RESHAPE) return fc_reshape_reads(l->g, l->f, n, &array);
    return fc_reduces(l->g, n) || fc_scans(l->g, n);
}

/* The parts of a word, and the word of two parts: the first one in the lower half. */
static fc_val part_of_word(fc_code *c, fc_val word, bool second) {
    if (second) word = fc_val_op(c, FC_OP_shr_raw, word, fc_val_bits(c, FUSEC_U64, 32), FC_NOVAL);
    return fc_val_bitcast(c, fc_val_cast(c, word, FUSEC_U32), FUSEC_F32);
}

static fc_val word_of_parts(fc_code *c, fc_val re, fc_val im) {
    re = fc_val_cast(c, fc_val_bitcast(c, re, FUSEC_U32), FUSEC_U64);
    im = fc_val_cast(c, fc_val_bitcast(c, im, FUSEC_U32), FUSEC_U64);
    im = fc_val_op(c, FC_OP_shl_raw, im, fc_val_bits(c, FUSEC_U64, 32), FC_NOVAL);
    return fc_val_op(c, FC_OP_bit_or, re, im, FC_NOVAL);
}

/* A part of an array of pairs: `n` is an input, or a reshape of one. */
static fc_val load_part(fc_lowering *l, fc_node n, fc_list map, bool second) {
    const fc_list shape = fc_at(l->g, n)->shape;
    while (fc_at(l->g, n)->op == FC_OP_RESHAPE) n = fc_at(l->g, n)->src[0];
    const fc_ninfo *i = fc_at(l->g, n);
    if (i->op == FC_OP_INPUT && fc_rank(l->g, n) == 0)
        return fc_kernel_param_value(
            l->k, fc_kernel_param_part(l->k, fc_part_dtype((fusec_dtype)i->dtype),
                                       (uint32_t)i->attr, second));
    if (i->dtype == FUSEC_C64) return part_of_word(&l->k->code, load(l, n, shape, map, 0), second);
    return load(l, n, shape, map, second ? 2 : 1);
}

static fc_val leaf(fc_lowering *l, fc_node n, fc_list map) {
    const fc_ninfo *i = fc_at(l->g, n);
    fc_code *c = &l->k->code;
    if (i->nops && made_elsewhere(l, n)) return load(l, n, i->shape, map, 0);
    switch (i->op) {
    case FC_OP_PART: return load_part(l, i->src[0], map, i->attr != 0);
    case FC_OP_CONST: return fc_val_bits(c, (fusec_dtype)i->dtype, i->attr);
    case FC_OP_DIM:
        return fc_kernel_param_value(l->k,
                                     fc_kernel_param(l->k, FUSEC_I64, true, (uint32_t)i->attr));
    case FC_OP_INPUT:
        if (fc_rank(l->g, n) == 0)
            return fc_kernel_param_value(
                l->k, fc_kernel_param(l->k, (fusec_dtype)i->dtype, false, (uint32_t)i->attr));
        return load(l, n, i->shape, map, 0);
    case FC_OP_IOTA: return index_value(l, n, map);
    default: { /* a reshape of an array in memory: read under the new shape */
        fc_node a = i->src[0];
        while (fc_at(l->g, a)->op == FC_OP_RESHAPE) a = fc_at(l->g, a)->src[0];
        return load(l, a, i->shape, map, 0);
    }
    }
}

/* Arithmetic on f16 and bf16 rounds at every node. Under wide16 such a value stays in f32 inside
 * the kernel: it is narrowed where its bits are looked at and where it is stored. Its functions
 * need not be more accurate than such a dtype asks for; the code says which they are. */
static fc_val wide(const fc_lowering *l, fc_val v) {
    bool half = v != FC_NOVAL && l->wide16 && fc_is_half(fc_val_dtype(&l->k->code, v));
    return half ? fc_val_cast(&l->k->code, v, FUSEC_F32) : v;
}

/* Outside, a view with the mode zero and what is taken are 0, whatever is computed there. What is
 * read as it is is 0 anyway, and a call with a checked index outside has no result. */
static fc_val read_value(fc_lowering *l, fc_node n, fc_list map, fc_val v) {
    const fc_ninfo *i = fc_at(l->g, n);
    const fc_guard *g;
    fc_code *c = &l->k->code;
    if (v == FC_NOVAL || (i->op != FC_OP_VIEW && i->op != FC_OP_TAKE)) return v;
    if (i->op == FC_OP_TAKE && fc_at(l->g, i->src[1])->op == FC_OP_CHECK) return v;
    if (c->ins.at[v].op == FC_OP_LOAD_AT) return v;
    const uint32_t before = fc_map_guards(l->g, map, fc_rank(l->g, n), &g);
    const fc_list inner =
        i->op == FC_OP_TAKE ? fc_map_take(l->g, n, map) : fc_map_view(l->g, n, map);
    const fc_val when = fc_lower_guards(l, inner, fc_rank(l->g, fc_at(l->g, n)->src[0]), before);
    if (when == FC_NOVAL) return v;
    return fc_val_op(c, FC_OP_where, when, v, fc_val_bits(c, fc_val_dtype(c, v), 0));
}

static bool is_made_of(fc_lowering *l, fc_val v, fc_val of) {
    const fc_code *c = &l->k->code;
    if (v < of) return false;
    uint8_t *need = fc_calloc(c->alloc, (size_t)(v - of) + 1, 1);
    if (!need) return l->oom = true;
    need[v - of] = 1;
    for (fc_val i = v; i > of; i--) {
        const fc_instr *x = &c->ins.at[i];
        const fc_val in[3] = {x->a, x->b, x->c};
        for (int k = 0; k < 3 && need[i - of]; k++)
            if (in[k] != FC_NOVAL && in[k] >= of && in[k] < i) need[in[k] - of] = 1;
    }
    const bool is = need[0] != 0;
    fc_free(c->alloc, need);
    return is;
}

/* Of an array whose elements are all the same nothing is read at the index, which is checked all
 * the same: a checked index is never negative. */
static fc_val taken_value(fc_lowering *l, fc_node n, fc_list map, fc_val index, fc_val v) {
    fc_code *c = &l->k->code;
    v = read_value(l, n, map, v);
    if (v == FC_NOVAL || fc_at(l->g, fc_at(l->g, n)->src[1])->op != FC_OP_CHECK) return v;
    if (is_made_of(l, v, index)) return v;
    const fc_val ok = fc_val_op(c, FC_OP_le, fc_val_i64(c, 0), index, FC_NOVAL);
    return fc_val_op(c, FC_OP_where, ok, v, fc_val_bits(c, fc_val_dtype(c, v), 0));
}

static fc_val compute(fc_lowering *l, fc_node n, fc_list map, fc_val in[3]) {
    const fc_ninfo *i = fc_at(l->g, n);
    fc_code *c = &l->k->code;
    if (i->op == FC_OP_RECORD) {
        for (int k = 0; k < i->nops; k++)
            if (fc_at(l->g, i->src[k])->op != FC_OP_RECORD)
                in[k] = fc_val_cast(c, in[k], (fusec_dtype)fc_at(l->g, i->src[k])->dtype);
        return fc_lower_record_of(c, in);
    }
    if (i->op == FC_OP_ROUNDS) return wide(l, fc_lower_repeat(l, n, in[0]));
    if (i->op == FC_OP_EXTERN) return fc_kernel_extern(l->k, c, fc_extern_of(i), in);
    for (int k = 0; k < i->nops; k++) in[k] = wide(l, in[k]);
    switch (i->op) {
    case FC_OP_CAST: return wide(l, fc_val_cast(c, in[0], (fusec_dtype)i->dtype));
    case FC_OP_BITCAST:
        in[0] = fc_val_cast(c, in[0], (fusec_dtype)fc_at(l->g, i->src[0])->dtype);
        return fc_val_bitcast(c, in[0], (fusec_dtype)i->dtype);
    case FC_OP_MATERIALIZE: return in[0];
    case FC_OP_TAKE: return taken_value(l, n, map, in[0], in[1]);
    case FC_OP_CHECK: return fc_lower_check(l, n, map, in[0]);
    default:
        if (fc_is_view(i->op)) return read_value(l, n, map, in[0]);
        break;
    }
    c->node16 = l->wide16 && fc_is_half((fusec_dtype)i->dtype) ? i->dtype : 0;
    const fc_val r = fc_val_op(c, (fc_op)i->op, in[0], in[1], in[2]);
    c->node16 = 0;
    return r;
}

static fc_val value_of(fc_lowering *l, fc_node root, fc_list root_map) {
    fc_val v = FC_NOVAL;
    push(l, root, root_map);
    while (l->todo.len && !l->oom) {
        fc_lower_todo t = l->todo.at[l->todo.len - 1];
        l->oom = t.map == FC_NOMAP;
        if (l->oom) break;
        if (fc_lower_known(l, t.node, t.map, &v)) {
            l->todo.len--;
            continue;
        }
        if (is_leaf(l, t.node)) {
            remember(l, t.node, t.map, leaf(l, t.node, t.map));
            continue;
        }
        fc_lower_todo ops[3];
        fc_val in[3] = {FC_NOVAL, FC_NOVAL, FC_NOVAL};
        int n = operands(l, t.node, t.map, ops);
        bool ready = true;
        for (int k = n; k-- > 0;)
            if (!fc_lower_known(l, ops[k].node, ops[k].map, &in[k])) {
                push(l, ops[k].node, ops[k].map);
                ready = false;
            }
        if (ready) {
            note_place(l, t.node);
            remember(l, t.node, t.map, compute(l, t.node, t.map, in));
        }
    }
    l->todo.len = 0;
    return l->oom ? FC_NOVAL : v;
}

/* ---- the kernel -------------------------------------------------------------------------- */

static void set_axes(fc_lowering *l) {
    fc_kernel *k = l->k;
    const fc_region *r = l->r;
    uint32_t rank = fc_list_len(l->g, r->domain);
    k->schedule = r->schedule;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < rank; i++) {
            bool reduced = r->reduced >> i & 1;
            if (reduced != (pass == 1)) continue;
            uint32_t axis = k->np + k->nr;
            k->extent[axis] = (fc_dim)fc_list_at(l->g, r->domain)[i];
            l->axis[i] = (int32_t)axis;
            if (reduced)
                k->nr++;
            else
                k->np++;
        }
}

static void store_to(fc_lowering *l, const fc_root *root, uint32_t buffer, fc_val v,
                     unsigned pair) {
    const fc_ninfo *n = fc_at(l->g, root->node);
    const uint32_t arg = arg_for(l, buffer, in_memory((fusec_dtype)n->dtype), true);
    fc_lower_reach(l, arg, fc_list_len(l->g, n->shape), root->map);
    fc_kernel_store(l->k, access_for(l, arg, n->shape, root->map, pair), v);
}

/* The index is known before the element that it is part of. */
static void build_update(fc_lowering *l, const fc_root *root) {
    const fc_ninfo n = *fc_at(l->g, root->node);
    const fc_scatter how = fc_scatter_of(&n);
    const fc_val index = value_of(l, n.src[1], root->map);
    fc_val value = index == FC_NOVAL ? index : value_of(l, n.src[2], root->map);
    const fc_list map = fc_map_put(l->g, root->node, root->map);
    if (value == FC_NOVAL || map == FC_NOMAP) return;
    value = fc_val_cast(&l->k->code, value, (fusec_dtype)n.dtype);
    fc_update u = {.arg = arg_for(l, l->buffer[root->node], (fusec_dtype)n.dtype, true),
                   .op = (uint16_t)how.op};
    const fc_val when = fc_lower_guards(l, map, fc_list_len(l->g, n.shape), 0);
    const fc_val element = fc_lower_element(l, map, n.shape);
    fc_dim size = fc_dim_const(&l->g->dims, 1);
    for (uint32_t i = 0; i < fc_list_len(l->g, n.shape); i++)
        size = fc_dim_mul(&l->g->dims, size, (fc_dim)fc_list_at(l->g, n.shape)[i]);
    l->oom |= size == FC_DIM_NONE;
    if (l->oom) return;
    u.size = fc_kernel_param(l->k, FUSEC_I64, true, size);
    fc_kernel_update(l->k, u, element, when, value);
}

/* Every place the root is written to: one temporary, or all outputs that are this node. They follow
 * the inputs. */
static void store_root(fc_lowering *l, const fc_root *root, fc_val v, unsigned pair) {
    const uint32_t one = l->buffer[root->node], first = (uint32_t)l->g->inputs.len;
    if (l->plan->buffers.at[one].kind == FC_BUF_TEMP ||
        l->plan->buffers.at[one].node != root->node) {
        store_to(l, root, one, v, pair);
        return;
    }
    for (uint32_t b = first; b < first + l->g->outputs.len; b++)
        if (l->plan->buffers.at[b].node == root->node) store_to(l, root, b, v, pair);
}

/* A part of a root of pairs: of a pair, or of an input that is a result as it is. */
static fc_val part_value(fc_lowering *l, const fc_root *root, bool second) {
    const fc_ninfo *i = fc_at(l->g, root->node);
    if (i->op != FC_OP_PAIR) return load_part(l, root->node, root->map, second);
    const fc_node part = i->src[second];
    const bool scalar = fc_rank(l->g, part) == 0 && fc_rank(l->g, root->node) != 0;
    return value_of(l, part, scalar ? 0 : root->map);
}

static void store_complex(fc_lowering *l, const fc_root *root) {
    const fc_val re = part_value(l, root, false), im = part_value(l, root, true);
    if (re == FC_NOVAL || im == FC_NOVAL) return;
    if (fc_at(l->g, root->node)->dtype == FUSEC_C64) {
        store_root(l, root, word_of_parts(&l->k->code, re, im), 0);
        return;
    }
    store_root(l, root, re, 1);
    store_root(l, root, im, 2);
}

fc_val fc_lower_element_of(fc_lowering *l, fc_node n) {
    return value_of(l, n, fc_map_identity(l->g, fc_at(l->g, n)->shape));
}

/* Whether v is the same along a kernel axis. */
static bool stays_along(const fc_lowering *l, fc_val v, int32_t axis) {
    const fc_code *c = &l->k->code;
    uint8_t *need = fc_calloc(l->alloc, c->ins.len + 1, 1);
    bool stays = need != NULL;
    if (need) fc_kernel_slice(c, &v, 1, need);
    for (size_t i = 0; stays && i < c->ins.len; i++) {
        const fc_instr *in = &c->ins.at[i];
        if (need[i] && (in->op == FC_OP_LOAD || in->op == FC_OP_INDEX))
            stays = !fc_access_moves(&l->k->accesses.at[in->imm], axis);
    }
    fc_free(l->alloc, need);
    return stays;
}

/* A reduction of rows that end by data. Columns side by side have to end together; those that do
 * not are as long as the longest, with the choice that the mark is on. */
static fc_val accumulate_ragged(fc_lowering *l, fc_node root, unsigned stage) {
    const fc_ninfo n = *fc_at(l->g, root);
    const fc_list map = fc_map_identity(l->g, fc_at(l->g, n.src[0])->shape);
    fc_node value, length;
    fc_ragged_parts(l->g, n.src[0], &value, &length);
    const bool number = fc_rank(l->g, length) == 0;
    const fc_val end = map == FC_NOMAP ? FC_NOVAL : value_of(l, length, number ? 0 : map);
    if (end == FC_NOVAL) return l->oom = true, end;
    const bool together =
        l->k->schedule == FC_SCHED_INNER || stays_along(l, end, (int32_t)l->k->np - 1);
    if (l->k->code.ins.at[end].level != FC_ROW || l->k->nr != 1 || !together)
        return fc_kernel_reduce(l->k, (fc_op)n.op, fc_lower_element_of(l, n.src[0]), stage);
    const bool same = fc_rank(l->g, value) == 0;
    l->length = length;
    const fc_val x = value_of(l, value, same ? 0 : map);
    l->length = FC_NONODE;
    return fc_kernel_reduce_ragged(l->k, (fc_op)n.op, x, end, stage);
}

static fc_val accumulate(fc_lowering *l, fc_node root, unsigned stage) {
    const fc_ninfo *n = fc_at(l->g, root);
    if (n->op == FC_OP_FOLD) return fc_lower_fold(l, root, stage);
    if (fc_row_end(l->g, root) != FC_NONODE) return accumulate_ragged(l, root, stage);
    const fc_val v = fc_lower_element_of(l, n->src[0]);
    if (v == FC_NOVAL) return v;
    if (n->op == FC_OP_SCAN) {
        const fc_scan s = fc_scan_of(n);
        return fc_kernel_scan(l->k, s.op, v, s.exclusive);
    }
    if (n->op == FC_OP_dot)
        return fc_kernel_contract(l->k, v, fc_lower_element_of(l, n->src[1]), stage);
    return fc_kernel_reduce(l->k, (fc_op)n->op, v, stage);
}

/* Reductions stage by stage: what a stage reads of earlier ones is then known to value_of. */
static void build(fc_lowering *l) {
    const fc_region *r = l->r;
    for (uint32_t stage = 0; stage < r->stages; stage++)
        for (size_t i = 0; i < r->roots.len && !l->oom; i++) {
            const fc_root *root = &r->roots.at[i];
            if (!fc_makes_accumulator(root->role) || root->stage != (int8_t)stage) continue;
            const fc_ninfo *n = fc_at(l->g, root->node);
            const fc_val acc = accumulate(l, root->node, stage);
            note_place(l, root->node);
            remember(l, root->node, root->map,
                     wide(l, fc_val_cast(&l->k->code, acc, (fusec_dtype)n->dtype)));
        }
    for (size_t i = 0; i < r->roots.len && !l->oom; i++) {
        const fc_root *root = &r->roots.at[i];
        if (fc_at(l->g, root->node)->op == FC_OP_UPDATE) {
            build_update(l, root);
            continue;
        }
        if (!root->stored) continue;
        const fusec_dtype t = (fusec_dtype)fc_at(l->g, root->node)->dtype;
        if (fc_is_complex(t)) {
            store_complex(l, root);
            continue;
        }
        fc_val v = value_of(l, root->node, root->map);
        if (v != FC_NOVAL) store_root(l, root, fc_val_cast(&l->k->code, v, t), 0);
    }
}

static void make(fc_lowering *l) {
    fc_kernel_init(l->k, l->g->alloc);
    l->k->tf32 = l->tf32;
    set_axes(l);
    build(l);
    fc_free(l->alloc, l->slots);
    l->slots = NULL;
    l->nslots = l->nused = 0;
    fc_vec_free(l->alloc, &l->todo);
    fc_vec_free(l->alloc, &l->records);
    fc_vec_free(l->alloc, &l->loops);
}

fusec_status fc_lower(fc_graph *g, const fc_pass_options *o, const fc_fusion *f, uint32_t region,
                      const fc_plan *plan, const uint32_t *buffer, fc_kernel *k, fc_error *e) {
    fc_lowering l = {.g = g,
                     .f = f,
                     .r = &f->regions.at[region],
                     .plan = plan,
                     .buffer = buffer,
                     .k = k,
                     .length = FC_NONODE};
    l.alloc = g->alloc;
    l.wide16 = FC_PLANTED(lost_rounding) || (o->mode & FC_MODE_WIDE16) != 0;
    l.tf32 = (o->mode & FC_MODE_TF32) != 0;
    make(&l);
    if (!l.oom && fc_lower_find_neighbours(&l)) {
        fc_kernel_free(k);
        l.again = true;
        make(&l);
    }
    fc_vec_free(l.alloc, &l.reads);
    fc_vec_free(l.alloc, &l.neighbours);
    if (l.oom || k->code.status == FUSEC_OUT_OF_MEMORY || g->error.code == FUSEC_OUT_OF_MEMORY)
        return fc_oom(e);
    if (k->code.status) return fc_fail(e, k->code.status, "a kernel could not be built");
    return g->error.code ? fc_fail(e, g->error.code, "%s", g->error.message) : FUSEC_OK;
}
