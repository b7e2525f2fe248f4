/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graph.c - the node array, its interning, and the text form. The typed builders are in
 * build*.c. */
#include "ir/graph.h"

#include "ir/eval.h"
#include "ir/external.h"
#include "ir/loop.h"
#include "ir/plant.h"

const fc_limits fc_default_limits = {.nodes = 65536, .rank = 32, .inputs = 256, .outputs = 256};

_Static_assert(sizeof(fc_ninfo) == 40, "fc_ninfo is compared as memory: no padding");

void fc_graph_init(fc_graph *g, const fc_alloc *alloc, const fc_limits *limits) {
    memset(g, 0, sizeof *g);
    g->alloc = alloc;
    g->limits = limits ? *limits : fc_default_limits;
    g->default_float = FUSEC_F32;
    fc_arena_init(&g->arena, alloc);
    fc_dimtab_init(&g->dims, alloc);
    fc_intern_list(g, NULL, 0); /* list 0: the shape of a scalar */
}

void fc_graph_free(fc_graph *g) {
    fc_vec_free(g->alloc, &g->nodes);
    fc_vec_free(g->alloc, &g->inputs);
    fc_vec_free(g->alloc, &g->outputs);
    fc_vec_free(g->alloc, &g->conditions);
    fc_vec_free(g->alloc, &g->customs);
    fc_vec_free(g->alloc, &g->words);
    fc_vec_free(g->alloc, &g->places);
    fc_vec_free(g->alloc, &g->list_data);
    fc_vec_free(g->alloc, &g->lists);
    fc_free(g->alloc, g->node_slots);
    fc_free(g->alloc, g->list_slots);
    fc_dimtab_free(&g->dims);
    fc_arena_free(&g->arena);
    memset(g, 0, sizeof *g);
}

bool fc_axis_is_one(const fc_graph *g, fc_node n, uint32_t axis) {
    return fc_dim_is(&g->dims, fc_axis(g, n, axis), 1);
}

bool fc_graph_has(const fc_graph *g, fc_op op) {
    for (fc_node n = 0; n < g->nodes.len; n++)
        if (fc_at(g, n)->op == op) return true;
    return false;
}

void fc_mark_operands(const fc_graph *g, fc_node end, uint8_t *need) {
    for (fc_node n = end; n-- > 0;)
        for (int k = 0; need[n] && k < fc_at(g, n)->nops; k++) need[fc_at(g, n)->src[k]] = 1;
}

/* What is much larger than the last content is given back: clearing it would cost more than it
 * saves. */
void fc_graph_clear(fc_graph *g) {
    const bool large = g->nnode_slots > 4096 && g->nodes.len * 16 < g->nnode_slots;
    if (large) {
        fc_vec_free(g->alloc, &g->nodes);
        fc_free(g->alloc, g->node_slots);
        g->node_slots = NULL;
        g->nnode_slots = 0;
    }
    if (g->node_slots) memset(g->node_slots, 0, g->nnode_slots * sizeof *g->node_slots);
    if (g->list_slots) memset(g->list_slots, 0, g->nlist_slots * sizeof *g->list_slots);
    g->customs.len = g->nseeds = g->nholes = 0;
    g->places.len = g->place = 0;
    g->nodes.len = g->inputs.len = g->outputs.len = g->conditions.len = g->words.len =
        g->list_data.len = g->lists.len = 0;
    fc_dimtab_free(&g->dims);
    fc_arena_free(&g->arena);
    fc_arena_init(&g->arena, g->alloc);
    fc_dimtab_init(&g->dims, g->alloc);
    memset(&g->error, 0, sizeof g->error);
    memset(&g->widened, 0, sizeof g->widened);
    fc_intern_list(g, NULL, 0);
}

/* ---- lists ------------------------------------------------------------------------------- */

static uint64_t list_hash(const int64_t *v, uint32_t n) {
    uint64_t h = fc_mix(n, 0x1157);
    for (uint32_t i = 0; i < n; i++) h = fc_mix(h, (uint64_t)v[i]);
    return h;
}

static bool grow_list_slots(fc_graph *g) {
    uint32_t n = g->nlist_slots ? g->nlist_slots * 2 : 64;
    uint32_t *slots = fc_calloc(g->alloc, n, sizeof *slots);
    if (!slots) return false;
    for (uint32_t id = 0; id < g->lists.len; id++) {
        uint64_t h = list_hash(fc_list_at(g, id), fc_list_len(g, id));
        while (slots[h & (n - 1)]) h++;
        slots[h & (n - 1)] = id + 1;
    }
    fc_free(g->alloc, g->list_slots);
    g->list_slots = slots;
    g->nlist_slots = n;
    return true;
}

fc_list fc_intern_list(fc_graph *g, const int64_t *v, uint32_t n) {
    if (g->lists.len * 2 >= g->nlist_slots && !grow_list_slots(g)) {
        fc_oom(&g->error);
        return 0;
    }
    uint64_t h = list_hash(v, n);
    for (; g->list_slots[h & (g->nlist_slots - 1)]; h++) {
        fc_list id = g->list_slots[h & (g->nlist_slots - 1)] - 1;
        if (fc_list_len(g, id) == n && (n == 0 || !memcmp(fc_list_at(g, id), v, n * sizeof *v)))
            return id;
    }
    uint64_t range = (uint64_t)g->list_data.len << 32 | n;
    if (!fc_reserve(g->alloc, &g->list_data, g->list_data.len + n + 1) ||
        !fc_push(g->alloc, &g->lists, range)) {
        fc_oom(&g->error);
        return 0;
    }
    if (n) memcpy(g->list_data.at + g->list_data.len, v, n * sizeof *v);
    g->list_data.len += n;
    g->list_slots[h & (g->nlist_slots - 1)] = (uint32_t)g->lists.len;
    return (fc_list)(g->lists.len - 1);
}

/* ---- nodes ------------------------------------------------------------------------------- */

/* A node as five words: read once, then hashed, compared and stored in registers. */
typedef struct node_words {
    uint64_t w[5];
} node_words;

static inline node_words words_of(const fc_ninfo *n) {
    node_words r;
    memcpy(&r.w[0], &n->op, 8);
    memcpy(&r.w[1], &n->src[0], 8);
    memcpy(&r.w[2], &n->src[2], 8);
    memcpy(&r.w[3], &n->attr, 8);
    memcpy(&r.w[4], &n->axis_kind, 8);
    return r;
}

/* The last word but for the words of messages, which two equal nodes may differ in. */
static inline uint64_t last_word(const node_words *n) {
    uint32_t half[2];
    memcpy(half, &n->w[4], sizeof half);
    return half[0];
}

/* A sum of products with odd constants, which can run at once, and a final mix. */
static inline uint64_t node_hash(const node_words *n) {
    uint64_t h = n->w[0] * 0x9e3779b97f4a7c15u + n->w[1] * 0xbf58476d1ce4e5b9u +
                 n->w[2] * 0x94d049bb133111ebu + n->w[3] * 0xff51afd7ed558ccdu +
                 last_word(n) * 0xc4ceb9fe1a85ec53u;
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}

static inline bool node_equal(const fc_ninfo *a, const node_words *b) {
    node_words x = words_of(a);
    return x.w[0] == b->w[0] && x.w[1] == b->w[1] && x.w[2] == b->w[2] && x.w[3] == b->w[3] &&
           last_word(&x) == last_word(b);
}

/* ---- the table of nodes ------------------------------------------------------------------------
 *
 * A slot holds the upper half of the hash, so that other nodes are passed over without a look at
 * them, and the id + 1; 0 is free. Slots come in lines of eight. A node stands first of all in the
 * line of its latest operand: what is built one after the other stands side by side, and a graph of
 * a million nodes is walked through memory in order. When that line is full, and for leaves, the
 * place comes from the hash. Nothing is ever removed, so a line that was full stays full. */
enum { LINE = 8 };

static inline uint64_t slot_of(uint64_t hash, fc_node id) {
    return (hash >> 32) << 32 | (id + 1);
}

static inline fc_node latest_operand(const node_words *n) {
    fc_ninfo i;
    memcpy(&i.src[0], &n->w[1], 8);
    memcpy(&i.src[2], &n->w[2], 4);
    /* FC_NONODE wraps to 0: less than every operand + 1 */
    const fc_node a = i.src[0] + 1, b = i.src[1] + 1, c = i.src[2] + 1, m = a > b ? a : b;
    return (m > c ? m : c) - 1;
}

/* Where a node that is in no slot goes. */
static inline uint32_t free_slot(const uint64_t *slots, uint32_t n, fc_node latest, uint64_t hash) {
    const uint32_t mask = n - 1;
    uint32_t at;
    if (latest != FC_NONODE) {
        at = latest / (LINE / 2) * LINE & mask;
        for (uint32_t i = 0; i < LINE; i++)
            if (!slots[at + i]) return at + i;
    }
    for (at = (uint32_t)hash & mask; slots[at]; at = (at + 1) & mask) {
    }
    return at;
}

static __attribute__((noinline)) bool grow_node_slots(fc_graph *g) {
    uint32_t n = g->nnode_slots ? g->nnode_slots * 2 : 256;
    uint64_t *slots = fc_calloc(g->alloc, n, sizeof *slots);
    if (!slots) return false;
    for (fc_node id = 0; id < g->nodes.len; id++) {
        node_words w = words_of(&g->nodes.at[id]);
        uint64_t h = node_hash(&w);
        slots[free_slot(slots, n, latest_operand(&w), h)] = slot_of(h, id);
    }
    fc_free(g->alloc, g->node_slots);
    g->node_slots = slots;
    g->nnode_slots = n;
    return true;
}

static bool fold(fc_graph *g, const fc_ninfo *n, uint64_t *bits) {
    bool candidate = fc_is_pointwise(n->op);
    if (!candidate) return false;
    uint64_t in[3] = {0};
    for (int i = 0; i < n->nops; i++) {
        const fc_ninfo *s = fc_at(g, n->src[i]);
        if (s->op != FC_OP_CONST) return false;
        in[i] = s->attr;
    }
    if (FC_PLANTED(fold_where) && n->op == FC_OP_where) in[0] ^= 1;
    fusec_dtype t = (fusec_dtype)fc_at(g, n->src[n->op == FC_OP_where ? 1 : 0])->dtype;
    return fc_fold((fc_op)n->op, t, (fusec_dtype)n->dtype, in, bits);
}

static inline bool is_at(const fc_graph *g, uint64_t slot, const node_words *w, uint64_t hash) {
    return !((slot ^ hash) >> 32) && node_equal(&g->nodes.at[(uint32_t)slot - 1], w);
}

/* The node's id if it is there; else the free slot for it. */
static inline fc_node find_node(const fc_graph *g, const node_words *w, uint64_t hash,
                                uint32_t *free) {
    const uint32_t mask = g->nnode_slots - 1;
    const fc_node latest = latest_operand(w);
    uint32_t at;
    if (latest != FC_NONODE) {
        at = latest / (LINE / 2) * LINE & mask;
        for (uint32_t i = 0; i < LINE; i++) {
            uint64_t slot = g->node_slots[at + i];
            if (!slot) return *free = at + i, FC_NONODE;
            if (is_at(g, slot, w, hash)) return (uint32_t)slot - 1;
        }
    }
    for (at = (uint32_t)hash & mask; g->node_slots[at]; at = (at + 1) & mask)
        if (is_at(g, g->node_slots[at], w, hash)) return (uint32_t)g->node_slots[at] - 1;
    *free = at;
    return FC_NONODE;
}

void fc_graph_set_place(fc_graph *g, fc_node n, uint32_t place) {
    while (g->places.len <= n)
        if (!fc_push(g->alloc, &g->places, 0)) {
            fc_oom(&g->error);
            return;
        }
    g->places.at[n] = place;
}

static fc_node push_node(fc_graph *g, const node_words *w, uint64_t hash, uint32_t slot) {
    if (g->nodes.len >= g->limits.nodes) {
        fc_fail(&g->error, FUSEC_LIMIT, "the graph has more than %u nodes", g->limits.nodes);
        return FC_NONODE;
    }
    if (g->nodes.len == g->nodes.cap && !fc_reserve(g->alloc, &g->nodes, g->nodes.len + 1)) {
        fc_oom(&g->error);
        return FC_NONODE;
    }
    memcpy(&g->nodes.at[g->nodes.len++], w, sizeof *w);
    g->node_slots[slot] = slot_of(hash, (fc_node)(g->nodes.len - 1));
    if (g->place) fc_graph_set_place(g, (fc_node)(g->nodes.len - 1), g->place);
    return (fc_node)(g->nodes.len - 1);
}

/* Checks the operands and puts them in order; unused ones become FC_NONODE. Written out, without a
 * loop: this runs for every node that is asked for. */
static inline bool set_operands(const fc_graph *g, fc_ninfo *n) {
    const uint32_t len = (uint32_t)g->nodes.len, nops = n->nops;
    const fc_node a = nops > 0 ? n->src[0] : FC_NONODE, b = nops > 1 ? n->src[1] : FC_NONODE,
                  c = nops > 2 ? n->src[2] : FC_NONODE;
    if ((nops > 0 && a >= len) || (nops > 1 && b >= len) || (nops > 2 && c >= len)) return false;
    const bool swap = nops == 2 && a > b && (fc_ops[n->op].flags & FC_F_COMMUTES);
    n->src[0] = swap ? b : a;
    n->src[1] = swap ? a : b;
    n->src[2] = c;
    return true;
}

fc_node fc_graph_add(fc_graph *g, fc_ninfo *n) {
    if (g->error.code || !set_operands(g, n)) return FC_NONODE;
    uint64_t bits;
    if (n->nops && n->shape == 0 && fold(g, n, &bits))
        return fc_build_const(g, (fusec_dtype)n->dtype, bits);
    if (g->nodes.len * 2 >= g->nnode_slots && !grow_node_slots(g)) {
        fc_oom(&g->error);
        return FC_NONODE;
    }
    const node_words w = words_of(n);
    const uint64_t hash = node_hash(&w);
    uint32_t slot = 0;
    fc_node id = find_node(g, &w, hash, &slot);
    return id != FC_NONODE ? id : push_node(g, &w, hash, slot);
}

fc_node fc_graph_node(fc_graph *g, fc_ninfo n) {
    return fc_graph_add(g, &n);
}

/* ---- conditions -------------------------------------------------------------------------- */

fusec_status fc_require(fc_graph *g, fc_check kind, fc_dim a, fc_dim b, fusec_status status,
                        const char *message) {
    int64_t diff;
    if (a == FC_DIM_NONE || b == FC_DIM_NONE) return fc_dim_fail(&g->dims, &g->error, "a size");
    if (fc_dim_diff(&g->dims, a, b, &diff)) {
        if (kind == FC_CHECK_EQ ? diff == 0 : diff >= 0) return FUSEC_OK;
        fc_str s;
        fc_str_init(&s, g->alloc);
        fc_dim_print(&g->dims, a, &s);
        fc_str_add(&s, kind == FC_CHECK_EQ ? " is not " : " is smaller than ");
        fc_dim_print(&g->dims, b, &s);
        fusec_status r = message ? fc_fail(&g->error, status, "%s: %s", message, s.data)
                                 : fc_fail(&g->error, status, "%s", s.data);
        fc_str_free(&s);
        return r;
    }
    for (size_t i = 0; i < g->conditions.len; i++) {
        const fc_condition *c = &g->conditions.at[i];
        if (c->kind == kind && c->a == a && c->b == b) return FUSEC_OK;
    }
    fc_condition c = {.kind = kind, .status = status, .a = a, .b = b};
    if (message) {
        c.message = fc_arena_strdup(&g->arena, message, strlen(message));
        if (!c.message) return fc_oom(&g->error);
    }
    return fc_push(g->alloc, &g->conditions, c) ? FUSEC_OK : fc_oom(&g->error);
}

/* ---- text -------------------------------------------------------------------------------- */

void fc_type_print(const fc_graph *g, fc_node n, fc_str *out) {
    const fc_ninfo *i = fc_at(g, n);
    fc_str_add(out, fc_dtypes[i->dtype].name);
    uint32_t rank = fc_rank(g, n);
    for (uint32_t a = 0; a < rank; a++) {
        fc_str_add(out, a ? ", " : "[");
        fc_dim_print(&g->dims, fc_axis(g, n, a), out);
    }
    if (rank) fc_str_char(out, ']');
}

const char *const fc_edge_names[FC_EDGE_COUNT] = {"none", "zero",    "edge",
                                                  "wrap", "reflect", "symmetric"};

/* "[1 + i0 - 2*i2 wrap, i1]" */
static void print_view(const fc_graph *g, const fc_ninfo *n, fc_str *out) {
    const uint32_t ra = fc_rank(g, n->src[0]), rn = fc_list_len(g, n->shape);
    for (uint32_t i = 0; i < ra; i++) {
        const fc_view_axis v = fc_view_axis_of(g, n, i);
        fc_str_add(out, i ? ", " : " [");
        fc_dim_print(&g->dims, v.start, out);
        for (uint32_t k = 0; k < rn; k++)
            if (v.step[k]) fc_str_printf(out, " + %lld*i%u", (long long)v.step[k], (unsigned)k);
        if (v.edge) fc_str_printf(out, " %s", fc_edge_names[v.edge]);
    }
    fc_str_add(out, ra ? "]" : "");
}

/* " 1 scan axes 0x1 from 0x0, 0x3f800000": the result, then what all results share. */
static void print_fold(const fc_graph *g, const fc_ninfo *n, fc_str *out) {
    static const char *const kinds[] = {" reduce", " scan", " exclusive scan"};
    const int64_t *v = fc_list_at(g, (fc_list)n->attr);
    fc_str_printf(out, " %lld%s axes 0x%llx from", (long long)v[0], v[1] <= 2 ? kinds[v[1]] : " ?",
                  (unsigned long long)v[2]);
    for (uint32_t i = 3; i < fc_list_len(g, (fc_list)n->attr); i++)
        fc_str_printf(out, "%s0x%llx", i > 3 ? ", " : " ", (unsigned long long)v[i]);
}

static void print_const(const fc_ninfo *n, fc_str *out) {
    const fusec_dtype t = (fusec_dtype)n->dtype;
    fc_str_char(out, ' ');
    if (fc_is_float(t))
        fc_str_double(out, fc_const_value(t, n->attr), t != FUSEC_F64);
    else if (t == FUSEC_U64)
        fc_str_printf(out, "%llu", (unsigned long long)n->attr);
    else
        fc_str_printf(out, "%lld", (long long)fc_const_value(t, n->attr));
}

static void print_slices(const fc_graph *g, const fc_ninfo *n, fc_str *out) {
    const int64_t *v = fc_list_at(g, (fc_list)n->attr);
    for (uint32_t i = 0; i < fc_list_len(g, (fc_list)n->attr) / 3; i++) {
        fc_str_add(out, i ? ", " : " [");
        fc_dim_print(&g->dims, (fc_dim)v[3 * i], out);
        fc_str_printf(out, ":%lld:", (long long)v[3 * i + 1]);
        fc_dim_print(&g->dims, (fc_dim)v[3 * i + 2], out);
    }
    fc_str_char(out, ']');
}

/* Of a permutation or a reduction, with the latter's tree. */
static void print_axes(const fc_graph *g, const fc_ninfo *n, fc_str *out) {
    static const char *const trees[] = {" outer", " inner", " dot"};
    for (uint32_t i = 0; i < fc_list_len(g, (fc_list)n->attr); i++)
        fc_str_printf(out, "%s%lld", i ? ", " : " (",
                      (long long)fc_list_at(g, (fc_list)n->attr)[i]);
    fc_str_char(out, ')');
    if (fc_is_reduction(n->op))
        fc_str_add(out, n->axis_kind <= FC_TREE_DOT ? trees[n->axis_kind] : " ?");
}

static void print_scan(const fc_ninfo *n, fc_str *out) {
    const fc_scan s = fc_scan_of(n);
    fc_str_printf(out, " %s axis %u%s", fc_ops[s.op].name, s.axis, s.exclusive ? " exclusive" : "");
}

static void print_scatter(const fc_ninfo *n, fc_str *out) {
    const fc_scatter s = fc_scatter_of(n);
    fc_str_printf(out, " %s axis %u%s%s", s.op ? fc_ops[s.op].name : "set", s.axis,
                  s.unique ? " unique" : "", n->flags & FC_NODE_INSIDE ? " inside" : "");
}

static void print_attr(const fc_graph *g, const fc_ninfo *n, fc_str *out) {
    static const char *const casts[] = {
        [FC_CAST_STOP] = " stop", [FC_CAST_SEED] = " seed", [FC_CAST_CUSTOM] = " custom"};
    const unsigned long long attr = n->attr;
    switch (n->op) {
    case FC_OP_CONST: print_const(n, out); break;
    case FC_OP_DIM:
        fc_str_char(out, ' ');
        fc_dim_print(&g->dims, (fc_dim)attr, out);
        break;
    case FC_OP_EXTERN: fc_str_printf(out, " %s", fc_extern_of(n)->name); break;
    case FC_OP_PART: fc_str_add(out, attr ? " imag" : " real"); break;
    case FC_OP_INPUT: fc_str_printf(out, " %s", g->inputs.at[attr].name); break;
    case FC_OP_CAST:
        if (FC_CAST_KIND(attr) < FC_COUNT(casts) && casts[FC_CAST_KIND(attr)])
            fc_str_add(out, casts[FC_CAST_KIND(attr)]);
        break;
    case FC_OP_FFT:
        fc_str_printf(out, "%s%s", attr & 1 ? " inverse" : "", attr & 2 ? " real" : "");
        break;
    case FC_OP_HOLE:
    case FC_OP_RESULT: fc_print_body_attr(n, out); break;
    case FC_OP_IOTA: fc_str_printf(out, " axis %llu", attr); break;
    case FC_OP_SLICE: print_slices(g, n, out); break;
    case FC_OP_VIEW: print_view(g, n, out); break;
    case FC_OP_TAKE:
        fc_str_printf(out, " axis %llu%s", attr, n->flags & FC_NODE_INSIDE ? " inside" : "");
        break;
    case FC_OP_SCATTER:
    case FC_OP_UPDATE: print_scatter(n, out); break;
    case FC_OP_CHECK:
        fc_str_add(out, " in ");
        fc_dim_print(&g->dims, fc_check_size(g, n), out);
        break;
    case FC_OP_SCAN: print_scan(n, out); break;
    case FC_OP_SLOT: fc_str_printf(out, " %llu", attr); break;
    case FC_OP_FOLD: print_fold(g, n, out); break;
    case FC_OP_ROUNDS:
        fc_str_printf(out, " %llu of %llu%s", attr & 0xff, attr >> 8 & 0xff,
                      attr >> 16 & 1 ? " while" : "");
        break;
    default:
        if (n->op == FC_OP_PERMUTE || fc_is_reduction(n->op)) print_axes(g, n, out);
    }
}

void fc_graph_print(const fc_graph *g, fc_str *out) {
    for (fc_node id = 0; id < g->nodes.len; id++) {
        const fc_ninfo *n = fc_at(g, id);
        fc_str_printf(out, "%%%u = %s", id, fc_ops[n->op].name);
        for (int i = 0; i < n->nops; i++) fc_str_printf(out, "%s%%%u", i ? ", " : " ", n->src[i]);
        print_attr(g, n, out);
        fc_str_add(out, " : ");
        fc_type_print(g, id, out);
        fc_str_char(out, '\n');
    }
    for (size_t i = 0; i < g->outputs.len; i++)
        fc_str_printf(out, "output %s = %%%u\n", g->outputs.at[i].name, g->outputs.at[i].node);
}
