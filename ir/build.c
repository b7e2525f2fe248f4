/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build.c - typed builders for leaves, casts, elementwise operations and reductions.
 *
 * They check what the rows of ops.def say about dtypes, broadcast the operands, and hand a complete
 * node to fc_graph_node. Error texts name the operation and the types it met. */
#include "ir/graph.h"

#include <stdio.h>

#include "ir/code.h"
#include "ir/complex.h"
#include "ir/expand.h"
#include "ir/external.h"
#include "ir/fold.h"
#include "ir/float_state.h"

fc_node fc_fail_types(fc_graph *g, fusec_status s, const char *what, fc_node a, fc_node b,
                      const char *why) {
    if (g->error.code) return FC_NONODE;
    fc_str t;
    fc_str_init(&t, g->alloc);
    fc_type_print(g, a, &t);
    if (b != FC_NONODE) {
        fc_str_add(&t, " and ");
        fc_type_print(g, b, &t);
    }
    fc_fail(&g->error, s, "%s of %s: %s", what, t.data, why);
    fc_str_free(&t);
    return FC_NONODE;
}

static fc_node fail_type(fc_graph *g, fusec_status s, fc_op op, fc_node a, fc_node b,
                         const char *why) {
    return fc_fail_types(g, s, fc_ops[op].name, a, b, why);
}

static fc_ninfo node_like(const fc_graph *g, fc_op op, fc_node a) {
    const fc_ninfo *s = fc_at(g, a);
    return (fc_ninfo){.op = (uint16_t)op,
                      .dtype = s->dtype,
                      .nops = 1,
                      .shape = s->shape,
                      .src = {a, FC_NONODE, FC_NONODE}};
}

/* ---- leaves ------------------------------------------------------------------------------ */

void fc_bad_axis(fc_graph *g, uint32_t axis) {
    char what[40];
    snprintf(what, sizeof what, "the size of axis %u", axis);
    fc_dim_fail(&g->dims, &g->error, what);
}

static fc_list shape_list(fc_graph *g, uint32_t rank, const fc_dim *shape, bool *ok) {
    int64_t v[FC_MAX_RANK];
    *ok = false;
    if (g->error.code) return 0;
    if (rank > g->limits.rank || rank > FC_MAX_RANK) {
        fc_fail(&g->error, FUSEC_LIMIT, "rank %u is above the limit of %u", rank, g->limits.rank);
        return 0;
    }
    for (uint32_t i = 0; i < rank; i++) {
        int64_t c;
        if (shape[i] == FC_DIM_NONE) {
            fc_bad_axis(g, i);
            return 0;
        }
        if (fc_dim_is_const(&g->dims, shape[i], &c) && c < 0) {
            fc_fail(&g->error, FUSEC_INPUT_SHAPE, "axis %u has the negative size %lld", i,
                    (long long)c);
            return 0;
        }
        v[i] = shape[i];
    }
    fc_list l = fc_intern_list(g, v, rank);
    *ok = !g->error.code;
    return l;
}

fc_node fc_build_input(fc_graph *g, const char *name, fusec_dtype t, uint32_t rank,
                       const fc_dim *shape) {
    bool ok;
    fc_list l = shape_list(g, rank, shape, &ok);
    if (!ok) return FC_NONODE;
    if (g->inputs.len >= g->limits.inputs) {
        fc_fail(&g->error, FUSEC_LIMIT, "more than %u inputs", g->limits.inputs);
        return FC_NONODE;
    }
    fc_input in = {.name = fc_arena_strdup(&g->arena, name, strlen(name)),
                   .node = (fc_node)g->nodes.len};
    if (!in.name || !fc_push(g->alloc, &g->inputs, in)) {
        fc_oom(&g->error);
        return FC_NONODE;
    }
    fc_node n = fc_graph_node(
        g,
        (fc_ninfo){.op = FC_OP_INPUT, .dtype = (uint8_t)t, .shape = l, .attr = g->inputs.len - 1});
    if (n != FC_NONODE) g->inputs.at[g->inputs.len - 1].node = n;
    return n;
}

void fc_build_output(fc_graph *g, const char *name, fc_node n) {
    if (!fc_usable(g, n)) return;
    if (g->outputs.len >= g->limits.outputs) {
        fc_fail(&g->error, FUSEC_LIMIT, "more than %u outputs", g->limits.outputs);
        return;
    }
    for (size_t i = 0; i < g->outputs.len; i++)
        if (!strcmp(g->outputs.at[i].name, name)) {
            fc_fail(&g->error, FUSEC_DUPLICATE_NAME, "two outputs are called %s", name);
            return;
        }
    fc_output o = {.name = fc_arena_strdup(&g->arena, name, strlen(name)), .node = n};
    if (!o.name || !fc_push(g->alloc, &g->outputs, o)) fc_oom(&g->error);
}

fc_node fc_build_const(fc_graph *g, fusec_dtype t, uint64_t bits) {
    if (fc_is_complex(t)) return fc_complex_const(g, t, (uint64_t[]){bits, 0});
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_CONST, .dtype = (uint8_t)t, .attr = bits});
}

fc_node fc_build_number(fc_graph *g, fusec_dtype t, double v) {
    if (fc_is_complex(t)) return fc_build_cast(g, fc_build_number(g, fc_part_dtype(t), v), t);
    const uint64_t state = fc_float_enter();
    const uint64_t bits = fc_const_bits(t, v);
    fc_float_leave(state);
    return fc_build_const(g, t, bits);
}

fc_node fc_build_dim(fc_graph *g, fc_dim d) {
    int64_t v;
    if (d == FC_DIM_NONE) {
        fc_dim_fail(&g->dims, &g->error, "a size");
        return FC_NONODE;
    }
    if (fc_dim_is_const(&g->dims, d, &v)) return fc_i64(g, v);
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_DIM, .dtype = FUSEC_I64, .attr = d});
}

fc_node fc_build_iota(fc_graph *g, fc_dim n) {
    bool ok;
    fc_list l = shape_list(g, 1, &n, &ok);
    if (!ok) return FC_NONODE;
    fc_require(g, FC_CHECK_GE, n, fc_dim_const(&g->dims, 0), FUSEC_INPUT_SHAPE, NULL);
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_IOTA, .dtype = FUSEC_I64, .shape = l});
}

fc_node fc_build_iota_along(fc_graph *g, fc_dim n, uint32_t rank, uint32_t axis) {
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) shape[i] = i == axis ? n : fc_dim_const(&g->dims, 1);
    return fc_build_reshape(g, fc_build_iota(g, n), rank, shape);
}

fc_node fc_build_full(fc_graph *g, fc_node scalar, uint32_t rank, const fc_dim *shape) {
    for (uint32_t i = 0; i < rank; i++)
        fc_require(g, FC_CHECK_GE, shape[i], fc_dim_const(&g->dims, 0), FUSEC_INPUT_SHAPE, NULL);
    return fc_build_broadcast(g, scalar, rank, shape);
}

/* ---- conversions ------------------------------------------------------------------------- */

fc_node fc_build_cast(fc_graph *g, fc_node a, fusec_dtype t) {
    if (!fc_usable(g, a)) return FC_NONODE;
    if (fc_at(g, a)->dtype == t) return a;
    if (fc_is_complex(t) || fc_has_parts(g, a)) return fc_complex_cast(g, a, t);
    fc_ninfo n = node_like(g, FC_OP_CAST, a);
    n.dtype = (uint8_t)t;
    return fc_graph_node(g, n);
}

fc_node fc_build_bitcast(fc_graph *g, fc_node a, fusec_dtype t) {
    if (!fc_usable(g, a)) return FC_NONODE;
    fusec_dtype from = (fusec_dtype)fc_at(g, a)->dtype;
    if (from == t) return a;
    bool of_bool = from == FUSEC_BOOL || t == FUSEC_BOOL;
    if (fc_is_complex(from) || fc_is_complex(t))
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, "bitcast", a, FC_NONODE,
                             "complex numbers have two parts; take real() and imag()");
    if (fc_dtypes[from].bytes != fc_dtypes[t].bytes || of_bool) {
        fc_fail(&g->error, FUSEC_DTYPE_MISMATCH, "bitcast from %s to %s: %s", fc_dtypes[from].name,
                fc_dtypes[t].name,
                of_bool ? "bool has no bits to keep; cast it" : "the widths differ");
        return FC_NONODE;
    }
    fc_ninfo n = node_like(g, FC_OP_BITCAST, a);
    n.dtype = (uint8_t)t;
    return fc_graph_node(g, n);
}

static fc_node marked_cast(fc_graph *g, fc_node a, uint64_t attr) {
    if (!fc_usable(g, a)) return FC_NONODE;
    fc_ninfo n = node_like(g, FC_OP_CAST, a);
    n.attr = attr;
    return fc_graph_node(g, n);
}

fc_node fc_build_stop_grad(fc_graph *g, fc_node a) {
    if (fc_usable(g, a) && fc_has_parts(g, a)) {
        fc_parts p = fc_complex_parts(g, a);
        p.re = fc_build_stop_grad(g, p.re);
        return fc_build_pair(g, p.re, fc_build_stop_grad(g, p.im));
    }
    return marked_cast(g, a, FC_CAST_ATTR(FC_CAST_STOP, 0, 0));
}

fc_node fc_build_seed(fc_graph *g, fc_node y) {
    if (!fc_usable(g, y)) return FC_NONODE;
    if (!fc_has_parts(g, y)) return marked_cast(g, y, FC_CAST_ATTR(FC_CAST_SEED, 0, g->nseeds++));
    const fc_parts p = fc_full_parts(g, y);
    const fc_node re = fc_build_seed(g, p.re);
    return fc_build_pair(g, re, fc_build_seed(g, p.im));
}

static bool is_seed(const fc_graph *g, fc_node seed, fc_node y) {
    const fc_ninfo *i = fc_at(g, seed);
    return i->op == FC_OP_CAST && FC_CAST_KIND(i->attr) == FC_CAST_SEED && i->src[0] == y;
}

bool fc_is_seed_of(fc_graph *g, fc_node seed, fc_node y) {
    if (!fc_has_parts(g, y)) return is_seed(g, seed, y);
    if (fc_at(g, seed)->op != FC_OP_PAIR) return false;
    const fc_parts p = fc_full_parts(g, y), s = fc_complex_parts(g, seed);
    return !g->error.code && is_seed(g, s.re, p.re) && is_seed(g, s.im, p.im);
}

/* The nodes, those of complex numbers as two; `like` are those that they belong to, some of which
 * have none (FC_NONODE). Their number is that of `like`. */
static fc_node *in_parts(fc_graph *g, uint32_t n, const fc_node *from, const fc_node *like,
                         uint32_t *len) {
    fc_node *to = fc_arena_alloc(&g->arena, (2 * (size_t)n + 1) * sizeof *to);
    if (!to) fc_oom(&g->error);
    *len = 0;
    for (uint32_t i = 0; i < n && !g->error.code; i++) {
        const bool two = like[i] != FC_NONODE && fc_has_parts(g, like[i]);
        const fc_node none = FC_NONODE;
        fc_parts p = {from[i], none};
        if (two && from[i] != none)
            p = from == like ? fc_full_parts(g, from[i]) : fc_complex_parts(g, from[i]);
        to[(*len)++] = p.re;
        if (two) to[(*len)++] = p.im;
    }
    return to;
}

/* A share has dtype and shape of its argument. */
static bool has_dtype_of(fc_graph *g, fc_node dx, fc_node arg) {
    if (dx == FC_NONODE) return true;
    if (!fc_usable(g, dx) || !fc_usable(g, arg)) return false;
    if (fc_at(g, dx)->dtype == fc_at(g, arg)->dtype) return true;
    return fail_type(g, FUSEC_DTYPE_MISMATCH, FC_OP_CAST, dx, arg,
                     "a derivative has the dtype of what it is by"),
           false;
}

static bool has_shape_of(fc_graph *g, fc_node *dx, fc_node arg) {
    if (*dx == FC_NONODE || fc_at(g, *dx)->op == FC_OP_CONST) return true;
    *dx = fc_build_like(g, *dx, arg);
    return *dx != FC_NONODE;
}

/* A complex result, argument or share is two of the record. */
bool fc_build_custom(fc_graph *g, uint32_t nresults, const fc_node *y, const fc_node *seed,
                     uint32_t nargs, const fc_node *arg, const fc_node *dx, fc_node *out) {
    const uint32_t number = (uint32_t)g->customs.len;
    fc_custom r;
    for (uint32_t i = 0; i < nargs; i++)
        if (!has_dtype_of(g, dx[i], arg[i])) return false;
    r.dx = in_parts(g, nargs, dx, arg, &r.nargs);
    r.arg = in_parts(g, nargs, arg, arg, &r.nargs);
    r.seed = in_parts(g, nresults, seed, y, &r.nresults);
    r.result = in_parts(g, nresults, y, y, &r.nresults);
    for (uint32_t i = 0; !g->error.code && i < r.nargs; i++)
        if (!has_shape_of(g, (fc_node *)&r.dx[i], r.arg[i])) return false;
    for (uint32_t i = 0; !g->error.code && i < r.nresults; i++)
        ((fc_node *)r.result)[i] =
            marked_cast(g, r.result[i], FC_CAST_ATTR(FC_CAST_CUSTOM, i, number));
    for (uint32_t i = 0, k = 0; !g->error.code && i < nresults; i++) {
        const bool two = fc_has_parts(g, y[i]);
        out[i] = two ? fc_build_pair(g, r.result[k], r.result[k + 1]) : r.result[k];
        k += two ? 2 : 1;
    }
    if (!g->error.code && !fc_push(g->alloc, &g->customs, r)) fc_oom(&g->error);
    return !g->error.code;
}

fc_node fc_build_materialize(fc_graph *g, fc_node a) {
    if (!fc_usable(g, a)) return FC_NONODE;
    if (!fc_has_parts(g, a)) return fc_graph_node(g, node_like(g, FC_OP_MATERIALIZE, a));
    fc_parts p = fc_full_parts(g, a);
    p.re = fc_build_materialize(g, p.re);
    return fc_build_pair(g, p.re, fc_build_materialize(g, p.im));
}

/* ---- elementwise ------------------------------------------------------------------------- */

/* How two dtypes combine: the wider of a kind; signed with unsigned the smallest signed that holds
 * both; integer with float that float; bool with a number the number; complex with a float the
 * complex number that holds both, with an integer itself. */
bool fc_promote(fusec_dtype a, fusec_dtype b, fusec_dtype *out) {
    if (a == b) return *out = a, true;
    if (a == FUSEC_BOOL) return *out = b, true;
    if (b == FUSEC_BOOL) return *out = a, true;
    if (fc_is_complex(a) || fc_is_complex(b)) {
        const fusec_dtype real = fc_is_complex(a) ? b : a;
        const bool wide = a == FUSEC_C128 || b == FUSEC_C128 || real == FUSEC_F64;
        return *out = wide ? FUSEC_C128 : FUSEC_C64, true;
    }
    if (fc_is_float(a) && fc_is_float(b)) {
        if (fc_is_half(a) && fc_is_half(b)) return *out = FUSEC_F32, true;
        return *out = fc_dtypes[a].bytes > fc_dtypes[b].bytes ? a : b, true;
    }
    if (fc_is_float(a)) return *out = a, true;
    if (fc_is_float(b)) return *out = b, true;
    if (fc_is_signed(a) == fc_is_signed(b))
        return *out = fc_dtypes[a].bytes > fc_dtypes[b].bytes ? a : b, true;
    fusec_dtype s = fc_is_signed(a) ? a : b, u = fc_is_signed(a) ? b : a;
    if (u == FUSEC_U64) return false;
    while (fc_dtypes[s].bytes <= fc_dtypes[u].bytes) s = (fusec_dtype)(s + 1);
    return *out = s, true;
}

bool fc_op_takes(fc_op op, fusec_dtype t) {
    if (fc_is_complex(t)) return fc_complex_takes(op);
    switch (fc_ops[op].rule) {
    case FC_RULE_LOGIC: return t == FUSEC_BOOL;
    case FC_RULE_BITS:
        return !fc_is_float(t) && (t != FUSEC_BOOL || fc_op_on_bool(op) != FC_OP_NONE);
    case FC_RULE_ARITH:
    case FC_RULE_ANY: return t != FUSEC_BOOL || fc_op_on_bool(op) != FC_OP_NONE;
    default: return true;
    }
}

static bool is_rounding(fc_op op) {
    return op == FC_OP_floor || op == FC_OP_ceil || op == FC_OP_trunc || op == FC_OP_round;
}

/* Operands of one dtype that the rule accepts; may change op and operands. False: error set. */
static bool check_operands(fc_graph *g, fc_op *op, fc_node *src, int n) {
    const fc_op_info *row = &fc_ops[*op];
    int first = row->rule == FC_RULE_SELECT ? 1 : 0;
    if (first && fc_at(g, src[0])->dtype != FUSEC_BOOL)
        return fail_type(g, FUSEC_NOT_BOOL, *op, src[0], FC_NONODE, "the condition must be bool"),
               false;
    fusec_dtype t = (fusec_dtype)fc_at(g, src[first])->dtype;
    for (int i = first + 1; i < n; i++)
        if (fc_at(g, src[i])->dtype != t)
            return fail_type(g, FUSEC_DTYPE_MISMATCH, *op, src[first], src[i],
                             "an operation takes one dtype; cast one of them"),
                   false;
    if (row->rule == FC_RULE_LOGIC && t != FUSEC_BOOL)
        return fail_type(g, FUSEC_NOT_BOOL, *op, src[0], FC_NONODE, "the operands must be bool"),
               false;
    if (t == FUSEC_BOOL &&
        (row->rule == FC_RULE_ARITH || row->rule == FC_RULE_BITS || row->rule == FC_RULE_ANY)) {
        fc_op form = fc_op_on_bool(*op);
        if (form == FC_OP_NONE)
            return fail_type(g, FUSEC_DTYPE_MISMATCH, *op, src[0], FC_NONODE,
                             "not defined on bool; cast to a number"),
                   false;
        *op = form;
    }
    if (row->rule == FC_RULE_BITS && fc_is_float(t))
        return fail_type(g, FUSEC_DTYPE_MISMATCH, *op, src[0], FC_NONODE,
                         "bit operations take integers"),
               false;
    if (row->rule == FC_RULE_FLOAT && !fc_is_float(t))
        for (int i = 0; i < n; i++) src[i] = fc_build_cast(g, src[i], g->default_float);
    return !g->error.code;
}

/* x**2 is x*x; an integer to a negative constant power is an error. FC_NONODE: an
 * ordinary power. */
static fc_node build_pow(fc_graph *g, fc_node x, fc_node y) {
    const fc_ninfo *e = fc_at(g, y);
    if (e->op == FC_OP_BROADCAST) e = fc_at(g, e->src[0]);
    if (e->op != FC_OP_CONST) return FC_NONODE;
    fusec_dtype t = (fusec_dtype)e->dtype;
    if (fc_is_signed(t) && (int64_t)fc_const_value(t, e->attr) < 0)
        return fail_type(g, FUSEC_LITERAL_RANGE, FC_OP_pow, x, FC_NONODE,
                         "an integer to a negative power; cast to a float first");
    return fc_const_is(t, e->attr, 2.0) ? fc_op2(g, FC_OP_mul, x, x) : FC_NONODE;
}

/* The usual cases are short ways past the general one: one or two floats of one dtype, where
 * nothing has to be converted or renamed. */
static inline bool is_plain(const fc_graph *g, fc_op op, fc_node a, fc_node b) {
    const fc_op_info *row = &fc_ops[op];
    const bool binary = row->arity == 2;
    if (row->arity > 2 || row->rule > FC_RULE_TEST || op == FC_OP_pow) return false;
    if (a >= g->nodes.len || (binary && b >= g->nodes.len)) return false;
    const uint8_t t = fc_at(g, a)->dtype;
    return fc_is_float((fusec_dtype)t) && (!binary || fc_at(g, b)->dtype == t);
}

/* Of one shape, or with a constant. */
static inline bool plain_op(const fc_graph *g, fc_op op, fc_node a, fc_node b, fc_ninfo *out) {
    const fc_op_info *row = &fc_ops[op];
    const fc_ninfo *x = fc_at(g, a), *y = row->arity == 2 ? fc_at(g, b) : x;
    if (x->shape != y->shape && x->op != FC_OP_CONST && y->op != FC_OP_CONST) return false;
    bool test = row->rule >= FC_RULE_COMPARE;
    *out = (fc_ninfo){.op = (uint16_t)op,
                      .dtype = test ? FUSEC_BOOL : x->dtype,
                      .nops = row->arity,
                      .shape = x->op == FC_OP_CONST ? y->shape : x->shape,
                      .src = {a, b, FC_NONODE}};
    return true;
}

static fc_node widen(fc_graph *g, fc_node a, fc_list shape) {
    const fc_ninfo *i = fc_at(g, a);
    if (i->shape == shape) return a;
    if (i->op == FC_OP_BROADCAST) a = i->src[0]; /* one does for several */
    fc_ninfo n = {.op = FC_OP_BROADCAST,
                  .dtype = i->dtype,
                  .nops = 1,
                  .shape = shape,
                  .src = {a, FC_NONODE, FC_NONODE}};
    return fc_graph_add(g, &n);
}

/* Of the two shapes that met last. */
static inline bool widened_op(fc_graph *g, fc_op op, fc_node a, fc_node b, fc_ninfo *out) {
    const fc_ninfo *x = fc_at(g, a), *y = fc_at(g, b);
    if (x->shape != g->widened.a || y->shape != g->widened.b) return false;
    const bool test = fc_ops[op].rule >= FC_RULE_COMPARE;
    *out = (fc_ninfo){.op = (uint16_t)op,
                      .dtype = test ? FUSEC_BOOL : x->dtype,
                      .nops = 2,
                      .shape = g->widened.both};
    out->src[0] = widen(g, a, out->shape);
    out->src[1] = widen(g, b, out->shape);
    out->src[2] = FC_NONODE;
    return true;
}

/* What takes the shape of the others as it is: constants and sizes. */
/* Whether the operands have one shape, or fit any; *shape, that of the first, becomes it. Equal
 * shapes, the common case, need no look at the dims. */
static inline bool one_shape(const fc_graph *g, const fc_node *src, int n, fc_list *shape) {
    bool same = true, fit = fc_is_scalar_leaf(g, src[0]);
    for (int i = 1; i < n; i++) {
        const fc_list s = fc_at(g, src[i])->shape;
        const bool fits = fc_is_scalar_leaf(g, src[i]);
        if (s != *shape && !fits) {
            if (fit && *shape == 0)
                *shape = s;
            else
                same = false;
        }
        fit &= fits;
    }
    return same;
}

/* Widens the operands to the shape that all of them have in common. */
static bool widen_all(fc_graph *g, fc_op op, fc_node *src, int n, fc_list *shape) {
    uint32_t rank = 0;
    fc_dim dims[FC_MAX_RANK];
    fc_node acc = src[0];
    const fc_list met[2] = {fc_at(g, src[0])->shape, fc_at(g, src[1])->shape};
    for (int i = 1; i < n; i++) {
        if (!fc_broadcast_shapes(g, op, acc, src[i], &rank, dims)) return false;
        acc = i + 1 < n ? fc_build_broadcast(g, acc, rank, dims) : acc;
    }
    for (int i = 0; i < n; i++) {
        if (fc_is_scalar_leaf(g, src[i])) continue;
        src[i] = fc_build_broadcast(g, src[i], rank, dims);
        if (src[i] == FC_NONODE) return false;
        *shape = fc_at(g, src[i])->shape;
    }
    if (n == 2) {
        g->widened.a = met[0];
        g->widened.b = met[1];
        g->widened.both = *shape;
    }
    return true;
}

fc_node fc_build_op(fc_graph *g, fc_op op, fc_node a, fc_node b, fc_node c) {
    fc_node src[3] = {a, b, c};
    int n = fc_ops[op].arity;
    fc_ninfo plain;
    if (g->error.code) return FC_NONODE;
    if (is_plain(g, op, a, b) &&
        (plain_op(g, op, a, b, &plain) || (n == 2 && widened_op(g, op, a, b, &plain))))
        return fc_graph_add(g, &plain);
    for (int i = 0; i < n; i++)
        if (src[i] >= g->nodes.len) return FC_NONODE;
    for (int i = 0; i < n; i++)
        if (fc_has_parts(g, src[i])) return fc_complex_op(g, op, src);
    if (!check_operands(g, &op, src, n)) return FC_NONODE;
    fusec_dtype t = (fusec_dtype)fc_at(g, src[op == FC_OP_where ? 1 : 0])->dtype;
    if (is_rounding(op) && !fc_is_float(t)) return src[0];

    fc_ninfo node = {.op = (uint16_t)op, .nops = (uint8_t)n, .dtype = (uint8_t)t};
    fc_rule rule = fc_ops[op].rule;
    if (rule == FC_RULE_COMPARE || rule == FC_RULE_TEST) node.dtype = FUSEC_BOOL;

    fc_list shape = fc_at(g, src[0])->shape;
    if (!one_shape(g, src, n, &shape) && !widen_all(g, op, src, n, &shape)) return FC_NONODE;
    node.shape = shape;
    memcpy(node.src, src, sizeof src); /* all three: a loop over n costs more than all the rest */
    if (op == FC_OP_pow) {
        fc_node p = build_pow(g, src[0], src[1]);
        if (p != FC_NONODE || g->error.code) return p;
    }
    return fc_graph_add(g, &node);
}

fc_node fc_build_extern(fc_graph *g, const fc_extern *x, const fc_node *arg) {
    fc_node src[FC_MAX_EXTERN] = {FC_NONODE, FC_NONODE, FC_NONODE};
    if (g->error.code) return FC_NONODE;
    for (int i = 0; i < x->nargs; i++) {
        if (arg[i] >= g->nodes.len) return FC_NONODE;
        src[i] = arg[i];
        if (fc_at(g, arg[i])->dtype == x->dtype[i]) continue;
        fc_fail(&g->error, FUSEC_DTYPE_MISMATCH, "operand %d of %.100s is %s, not %s", i + 1,
                x->name, fc_dtypes[x->dtype[i]].name, fc_dtypes[fc_at(g, arg[i])->dtype].name);
        return FC_NONODE;
    }
    fc_list shape = fc_at(g, src[0])->shape;
    if (!one_shape(g, src, x->nargs, &shape) && !widen_all(g, FC_OP_EXTERN, src, x->nargs, &shape))
        return FC_NONODE;
    if (x->nargs > 3) src[2] = fc_build_record(g, x->nargs - 2u, src + 2);
    return fc_graph_node(g, (fc_ninfo){.op = FC_OP_EXTERN,
                                       .nops = x->nargs > 3 ? 3 : x->nargs,
                                       .dtype = x->result,
                                       .shape = shape,
                                       .src = {src[0], src[1], src[2]},
                                       .attr = (uint64_t)(uintptr_t)x});
}

/* ---- reductions -------------------------------------------------------------------------- */

bool fc_axis_mask(fc_graph *g, fc_op op, fc_node a, uint32_t naxes, const int64_t *axes,
                  uint64_t *mask) {
    uint32_t rank = fc_rank(g, a);
    *mask = 0;
    if (!axes) return *mask = rank == 64 ? ~(uint64_t)0 : ((uint64_t)1 << rank) - 1, true;
    for (uint32_t i = 0; i < naxes; i++) {
        int64_t x = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (x < 0 || x >= rank || (*mask >> x & 1)) {
            char why[80] = "an axis is given twice";
            if (x < 0 || x >= rank) {
                fc_str s;
                fc_str_init(&s, g->alloc);
                fc_str_printf(&s, "axis %lld does not exist", (long long)axes[i]);
                memcpy(why, s.data, s.len < sizeof why ? s.len + 1 : 1);
                fc_str_free(&s);
            }
            return fail_type(g, FUSEC_BAD_AXIS, op, a, FC_NONODE, why), false;
        }
        *mask |= (uint64_t)1 << x;
    }
    return true;
}

static fc_node reduce_operand(fc_graph *g, fc_op op, fc_node a) {
    fusec_dtype t = (fusec_dtype)fc_at(g, a)->dtype;
    switch (fc_ops[op].rule) {
    case FC_RULE_BOOL: return fc_build_cast(g, a, FUSEC_BOOL);
    case FC_RULE_MEAN: return fc_is_float(t) ? a : fc_build_cast(g, a, g->default_float);
    default: return a;
    }
}

fc_node fc_build_reduce(fc_graph *g, fc_op op, fc_node a, uint32_t naxes, const int64_t *axes,
                        bool keepdims) {
    if (!fc_usable(g, a)) return FC_NONODE;
    uint64_t mask;
    if (!fc_axis_mask(g, op, a, naxes, axes, &mask)) return FC_NONODE;
    if (fc_has_parts(g, a)) return fc_complex_reduce(g, op, a, naxes, axes, keepdims);
    fc_dim one = fc_dim_const(&g->dims, 1);
    uint32_t rank = fc_rank(g, a);
    a = reduce_operand(g, op, a);
    if (rank == 0 || (mask == 0)) { /* no axes: a reduction over one element each */
        fc_dim shape[FC_MAX_RANK + 1];
        fc_shape_of(g, a, shape);
        if (rank + 1 > g->limits.rank)
            return fail_type(g, FUSEC_LIMIT, op, a, FC_NONODE, "the rank is too high");
        shape[rank] = one;
        a = fc_build_reshape(g, a, rank + 1, shape);
        mask = (uint64_t)1 << rank++;
        keepdims = false;
    }
    if (a == FC_NONODE) return FC_NONODE;
    int64_t list[FC_MAX_RANK], dims[FC_MAX_RANK];
    uint32_t nred = 0, nkept = 0;
    for (uint32_t i = 0; i < rank; i++) {
        fc_dim d = fc_axis(g, a, i);
        if (mask >> i & 1) {
            list[nred++] = i;
            if (keepdims) dims[nkept++] = one;
            if (fc_ops[op].flags & FC_F_EMPTY_IS_ERROR)
                fc_require(g, FC_CHECK_GE, d, one, FUSEC_EMPTY_REDUCTION,
                           "a smallest or largest element of no elements");
        } else {
            dims[nkept++] = d;
        }
    }
    fc_ninfo n = {.op = (uint16_t)op, .nops = 1, .src = {a, FC_NONODE, FC_NONODE}};
    n.dtype = (uint8_t)fc_red_dtype(op, (fusec_dtype)fc_at(g, a)->dtype);
    n.axis_kind = (uint32_t)(mask >> (rank - 1) & 1);
    n.flags = keepdims ? FC_NODE_KEEPDIMS : 0;
    n.attr = fc_intern_list(g, list, nred);
    n.shape = fc_intern_list(g, dims, nkept);
    return fc_graph_node(g, n);
}

/* log(sum(exp(x - h))) + h with h the maximum, or 0 where that is not finite, so that rows of -inf
 * stay -inf. On f16 and bf16 all steps run in f32 and the result rounds once. */
fc_node fc_build_logsumexp(fc_graph *g, fc_node a, uint32_t naxes, const int64_t *axes,
                           bool keepdims) {
    if (!fc_usable(g, a)) return FC_NONODE;
    fusec_dtype t = (fusec_dtype)fc_at(g, a)->dtype;
    if (fc_is_complex(t)) return fc_complex_refuse(g, FC_OP_max, a);
    if (!fc_is_float(t)) t = g->default_float;
    fc_node x = fc_build_cast(g, a, fc_is_half(t) ? FUSEC_F32 : t);
    if (x == FC_NONODE) return x;
    fusec_dtype w = (fusec_dtype)fc_at(g, x)->dtype;
    fc_node top = fc_build_reduce(g, FC_OP_max, x, naxes, axes, true);
    fc_node h = fc_where(g, fc_op1(g, FC_OP_isfinite, top), top, fc_build_number(g, w, 0));
    h = fc_build_stop_grad(g, h); /* the result does not depend on it */
    fc_node e = fc_op1(g, FC_OP_exp, fc_op2(g, FC_OP_sub, x, h));
    fc_node s = fc_build_reduce(g, FC_OP_sum, e, naxes, axes, true);
    fc_node r = fc_op2(g, FC_OP_add, fc_op1(g, FC_OP_log, s), h);
    if (r == FC_NONODE) return r;
    if (!keepdims && fc_rank(g, r)) {
        uint64_t mask;
        if (!fc_axis_mask(g, FC_OP_max, x, naxes, axes, &mask)) return FC_NONODE;
        fc_dim shape[FC_MAX_RANK];
        uint32_t rank = 0;
        for (uint32_t i = 0; i < fc_rank(g, x); i++)
            if (!(mask >> i & 1)) shape[rank++] = fc_axis(g, r, i);
        r = fc_build_reshape(g, r, rank, shape);
    }
    return fc_build_cast(g, r, t);
}
