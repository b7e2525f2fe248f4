/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_sort.c - what stands in order: sort, argsort, topk, median, quantile, searchsorted, unique,
 * nonzero, compress, permutation. How many elements a mask holds is data, so size= says for how
 * many there is room, and the count is a second result. */
#include "frontend/lang/check_impl.h"

enum {
    SORT,
    ARGSORT,
    TOPK,
    MEDIAN,
    QUANTILE,
    SEARCHSORTED,
    UNIQUE,
    NONZERO,
    COMPRESS,
    PERMUTATION
};
const char *const fc_c_sort_names[] = {"sort",     "argsort",      "topk",   "median",
                                       "quantile", "searchsorted", "unique", "nonzero",
                                       "compress", "permutation",  NULL};

bool fc_c_is_sort_name(const char *name) {
    return fc_c_listed(fc_c_sort_names, name);
}

typedef struct order_call {
    fc_checker *c;
    fc_call *f;
    const fc_expr *e, *p[2], *kw[4];
    fc_value x[2];
    int kind;
} order_call;

static bool one_axis(order_call *o, const fc_expr *given, int64_t *axis) {
    int64_t axes[FC_MAX_RANK];
    uint32_t count = 0;
    *axis = -1;
    if (!given) return true;
    if (!fc_c_axes(o->c, o->f, o->p[0], &o->x[0], given, axes, &count)) return false;
    *axis = count ? axes[0] : -1;
    if (count != 1)
        fc_c_error(o->c, FUSEC_BAD_AXIS, given->at, "%s() goes along one axis",
                   fc_c_sort_names[o->kind]);
    return count == 1;
}

static bool room_of(order_call *o, const fc_expr *e, const char *what, fc_dim *out) {
    fc_checker *c = o->c;
    if (!e) {
        fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, o->e->at,
                                "%s() needs %s: how many there are is known only when the data are",
                                fc_c_sort_names[o->kind], what);
        fc_diag_help(d, "size= is for how many there is room; the count is the second result");
        return false;
    }
    const fc_value *v = fc_c_val(o->f, e);
    if (fc_c_size(c, v, out)) return fc_c_require_sizes(c, 1, out);
    if (v->kind != FC_V_UNKNOWN)
        fc_c_error(c, FUSEC_SHAPE_MISMATCH, e->at, "%s is a size, and this is %s", what,
                   fc_c_value_type(c, v));
    return false;
}

static fc_value two(fc_checker *c, const fc_node *n, const char *first, const char *second) {
    const char **names = fc_c_alloc(c, 2 * sizeof *names);
    fc_value *items = fc_c_alloc(c, 2 * sizeof *items);
    if (!names || !items) return FC_UNKNOWN;
    names[0] = first;
    names[1] = second;
    for (int i = 0; i < 2; i++) items[i] = fc_v_node(n[i]);
    return (fc_value){.kind = FC_V_TUPLE, .count = 2, .items = items, .names = names};
}

static bool integer_of(order_call *o, const fc_expr *e, const char *what, fusec_dtype t,
                       fc_node *out) {
    fc_checker *c = o->c;
    *out = fc_build_const(c->g, t, 0);
    if (!e) return true;
    const fc_value *v = fc_c_val(o->f, e);
    if (!fc_c_operand(c, e, v)) return false;
    if (fc_v_rank(c, v) == 0 && !fc_is_float(fc_v_dtype(c, v)) && fc_v_dtype(c, v) != FUSEC_BOOL)
        return (*out = fc_c_node(c, e, v, t)) != FC_NONODE;
    fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->at, "%s is an integer, and this is %s", what,
               fc_c_value_type(c, v));
    return false;
}

/* Some places of an order. */
static fc_value part(order_call *o, int64_t axis, bool down) {
    fc_node first;
    fc_dim count;
    if (!o->kw[3]) {
        fc_c_error(o->c, FUSEC_ARGUMENT_COUNT, o->kw[2]->at,
                   "argsort() needs count= beside first=: how many places of the order are wanted");
        return FC_UNKNOWN;
    }
    if (!integer_of(o, o->kw[2], "first=", FUSEC_I64, &first) ||
        !room_of(o, o->kw[3], "count=", &count))
        return FC_UNKNOWN;
    return fc_v_node(fc_c_built(
        o->c, fc_build_argsort_places(o->c->g, o->x[0].node, axis, down, first, count)));
}

static fc_value order(order_call *o) {
    int64_t axis;
    bool down;
    if (!one_axis(o, o->kw[0], &axis) || !fc_c_flag_arg(o->c, o->f, o->kw[1], &down))
        return FC_UNKNOWN;
    if (o->kw[2] || o->kw[3]) return part(o, axis, down);
    return fc_v_node(fc_c_built(o->c, o->kind == SORT
                                          ? fc_build_sort(o->c->g, o->x[0].node, axis, down)
                                          : fc_build_argsort(o->c->g, o->x[0].node, axis, down)));
}

static fc_value topk(order_call *o) {
    int64_t axis;
    fc_dim k;
    fc_node n[2];
    if (!one_axis(o, o->kw[0], &axis) || !room_of(o, o->p[1], "k", &k)) return FC_UNKNOWN;
    if (!fc_build_topk(o->c->g, o->x[0].node, k, axis, n)) return fc_c_fine(o->c), FC_UNKNOWN;
    return two(o->c, n, "values", "positions");
}

static fc_value quantile(order_call *o) {
    fc_checker *c = o->c;
    int64_t axis;
    double q = 0.5;
    fc_node x = o->x[0].node;
    if (o->kind == QUANTILE && !fc_v_real(fc_c_val(o->f, o->p[1]), &q)) {
        fc_c_error(c, FUSEC_INVALID, o->p[1]->at, "q is a number that is known before the call");
        return FC_UNKNOWN;
    }
    if (!(q >= 0 && q <= 1)) {
        fc_c_error(c, FUSEC_LITERAL_RANGE, o->p[1]->at, "a quantile is from 0 to 1");
        return FC_UNKNOWN;
    }
    if (!one_axis(o, o->kw[0], &axis)) return FC_UNKNOWN;
    if (!o->kw[0] && fc_rank(c->g, x) != 1) { /* of all elements */
        fc_dim n = fc_dim_const(&c->g->dims, 1);
        for (uint32_t i = 0; i < fc_rank(c->g, x); i++)
            n = fc_dim_mul(&c->g->dims, n, fc_axis(c->g, x, i));
        x = fc_build_reshape(c->g, x, 1, &n);
    }
    return fc_v_node(
        fc_c_built(c, fc_build_quantile(c->g, x, fc_build_number(c->g, FUSEC_F64, q), axis)));
}

static fc_value searched(order_call *o) {
    fc_checker *c = o->c;
    bool right = false;
    if (o->kw[0]) {
        const bool text = fc_c_val(o->f, o->kw[0])->kind == FC_V_STRING;
        right = text && strcmp(o->kw[0]->text, "right") == 0;
        if (!right && !(text && strcmp(o->kw[0]->text, "left") == 0)) {
            fc_c_error(c, FUSEC_INVALID, o->kw[0]->at, "side is \"left\" or \"right\"");
            return FC_UNKNOWN;
        }
    }
    const fusec_dtype t = fc_v_dtype(c, &o->x[0]);
    fc_node v = fc_v_weak(&o->x[1]) ? fc_c_node(c, o->p[1], &o->x[1], t) : o->x[1].node;
    return fc_v_node(fc_c_built(c, fc_build_searchsorted(c->g, o->x[0].node, v, right)));
}

static fc_value held(order_call *o) {
    fc_graph *g = o->c->g;
    fc_dim size;
    fc_node n[2];
    if (!room_of(o, o->kw[0], "size=", &size)) return FC_UNKNOWN;
    const bool made = o->kind == UNIQUE ? fc_build_unique(g, o->x[0].node, size, n)
                      : o->kind == NONZERO
                          ? fc_build_nonzero(g, o->x[0].node, size, n)
                          : fc_build_compress(g, o->x[0].node, o->x[1].node, size, n);
    if (!made) return fc_c_fine(o->c), FC_UNKNOWN;
    return two(o->c, n, o->kind == NONZERO ? "positions" : "values", "count");
}

static fc_value permutation(order_call *o) {
    fc_dim n;
    fc_node seed, stream;
    if (!room_of(o, o->p[0], "n", &n) ||
        !integer_of(o, o->kw[0], "a seed", FUSEC_U64, &seed) ||
        !integer_of(o, o->kw[1], "a stream", FUSEC_U64, &stream))
        return FC_UNKNOWN;
    return fc_v_node(fc_c_built(o->c, fc_build_permutation(o->c->g, n, seed, stream)));
}

static bool arrays(order_call *o, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const fc_value *v = fc_c_val(o->f, o->p[i]);
        if (i && o->kind == SEARCHSORTED && fc_v_weak(v) && v->kind != FC_V_TUPLE) {
            o->x[i] = *v;
            continue;
        }
        if (!fc_c_array_arg(o->c, o->f, o->p[i], &o->x[i])) return false;
    }
    return true;
}

bool fc_c_sort_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out) {
    static const char *const along[] = {"axis", NULL}, *const down[] = {"axis", "descending", NULL},
                             *const places[] = {"axis", "descending", "first", "count", NULL},
                             *const side[] = {"side", NULL}, *const room[] = {"size", NULL},
                             *const draw[] = {"seed", "stream", NULL},
                             *const names[] = {NULL, NULL};
    static const struct {
        uint32_t positions, arrays;
        const char *const *keys;
    } forms[] = {
        [SORT] = {1, 1, down},        [ARGSORT] = {1, 1, places},   [TOPK] = {2, 1, along},
        [MEDIAN] = {1, 1, along},     [QUANTILE] = {2, 1, along}, [SEARCHSORTED] = {2, 2, side},
        [UNIQUE] = {1, 1, room},      [NONZERO] = {1, 1, room},   [COMPRESS] = {2, 2, room},
        [PERMUTATION] = {1, 0, draw},
    };
    order_call o = {.c = c, .f = f, .e = e};
    if (!fc_c_is_sort_name(name)) return false;
    *out = FC_UNKNOWN;
    while (strcmp(fc_c_sort_names[o.kind], name) != 0) o.kind++;
    const fc_arg_spec spec = {names, forms[o.kind].positions, forms[o.kind].positions,
                              forms[o.kind].keys};
    if (!fc_c_args(c, e, &spec, o.p, o.kw) || !arrays(&o, forms[o.kind].arrays)) return true;
    *out = o.kind <= ARGSORT        ? order(&o)
           : o.kind == TOPK         ? topk(&o)
           : o.kind <= QUANTILE     ? quantile(&o)
           : o.kind == SEARCHSORTED ? searched(&o)
           : o.kind == PERMUTATION  ? permutation(&o)
                                    : held(&o);
    return true;
}
