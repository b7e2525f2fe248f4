/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_call.c - calls of builtins: elementwise rows, casts, reductions; and which call is what.
 *
 * The builtins come from the rows of ops.def by name; a row that is spelled as an operator is no
 * function. Definitions of the user come first (check_user.c). */
#include "frontend/lang/check_impl.h"

#include "frontend/lang/library.h"
#include "ir/code.h"
#include "ir/composites.h"

/* ---- which names there are ------------------------------------------------------------------- */

static bool callable(fc_op op) {
    return op != FC_OP_NONE && (!(fc_ops[op].flags & FC_F_OPERATOR) || op == FC_OP_pow);
}

static fc_op row_by_name(const char *name) {
    fc_op op = fc_op_by_name(name, strlen(name));
    return callable(op) ? op : FC_OP_NONE;
}

bool fc_c_is_builtin(const char *name) {
    return row_by_name(name) != FC_OP_NONE || fc_c_is_composite_name(name) ||
           strcmp(name, "logsumexp") == 0 || strcmp(name, "bitcast") == 0 ||
           strcmp(name, "materialize") == 0 || fc_c_is_dot_name(name) || fc_c_is_scan_name(name) ||
           fc_c_is_fft_name(name) || fc_c_is_shape_name(name) || fc_c_is_make_name(name) ||
           fc_c_is_join_name(name) || fc_c_is_scatter_name(name) || fc_c_is_random_name(name) ||
           fc_c_is_gradient_name(name) || fc_c_is_sort_name(name) || fc_c_is_fold_name(name);
}

void fc_c_suggest_builtins(fc_checker *c, fc_suggest *s) {
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_COUNT_; op++)
        if (callable((fc_op)op) && !(fc_ops[op].flags & FC_F_HIDDEN))
            fc_suggest_try(s, fc_ops[op].name);
    for (size_t i = 0; fc_c_shape_names[i]; i++) fc_suggest_try(s, fc_c_shape_names[i]);
    for (size_t i = 0; fc_c_make_names[i]; i++) fc_suggest_try(s, fc_c_make_names[i]);
    for (size_t i = 0; fc_c_random_names[i]; i++) fc_suggest_try(s, fc_c_random_names[i]);
    for (size_t i = 0; fc_c_sort_names[i]; i++) fc_suggest_try(s, fc_c_sort_names[i]);
    for (size_t i = 0; fc_c_gradient_names[i]; i++) fc_suggest_try(s, fc_c_gradient_names[i]);
    for (size_t i = 0; fc_c_join_names[i]; i++) fc_suggest_try(s, fc_c_join_names[i]);
    for (size_t i = 0; fc_c_scatter_names[i]; i++) fc_suggest_try(s, fc_c_scatter_names[i]);
    for (size_t i = 0; fc_c_fold_names[i]; i++) fc_suggest_try(s, fc_c_fold_names[i]);
    fc_c_suggest_scans(c, s);
    fc_c_suggest_ffts(s);
    for (size_t i = 0; fc_c_array_names[i]; i++) fc_suggest_try(s, fc_c_array_names[i]);
    for (size_t i = 0; i < fc_composite_count; i++) fc_suggest_try(s, fc_composites[i].name);
    for (size_t i = 0; i < fc_library_count; i++) fc_suggest_try(s, fc_library[i].name);
    fc_c_suggest_dots(s);
    fc_suggest_try(s, "logsumexp");
    fc_suggest_try(s, "bitcast");
    fc_suggest_try(s, "materialize");
    for (int t = 0; t < FC_DTYPE_ALL; t++) fc_suggest_try(s, fc_dtypes[t].name);
}

bool fc_c_dtype_name(const fc_call *f, const char *name, size_t len, fusec_dtype *t) {
    if (len == 1 && *name >= 'A' && *name <= 'Z' && f && f->letters[*name - 'A']) {
        *t = (fusec_dtype)(f->letters[*name - 'A'] - 1);
        return true;
    }
    return fc_dtype_by_name(name, len, t);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* max(x, 0): an argument too many, which has two readings for min and max. */
static void two_arguments(fc_checker *c, const fc_expr *e, fc_op op, uint32_t n) {
    const char *name = fc_c_quote(c, e->callee->at);
    static const char *const numbers[] = {"no", "one", "two", "three", "four"};
    fc_diag *d = fc_c_error(
        c, FUSEC_ARGUMENT_COUNT, e->at, "%s() reduces one array; here it has %s argument%s", name,
        n < FC_COUNT(numbers) ? numbers[n] : fc_c_text(c, "%u", n), n == 1 ? "" : "s");
    if (n != 2) return;
    const fc_expr *b = e->list->next;
    bool axis = b->kind == FC_EX_NUMBER && !b->real && e->list->kind != FC_EX_NUMBER;
    const char *ta = fc_c_quote(c, e->list->outer), *tb = fc_c_quote(c, b->outer);
    const char *along = fc_c_text(c, "%s(%s, axis=%s)", name, ta, axis ? tb : "...");
    if (op != FC_OP_max && op != FC_OP_min) {
        fc_diag_help(d, "%s", along);
        return;
    }
    const char *pick = op == FC_OP_max ? "max" : "min";
    const char *each = fc_c_text(c, "%simum(%s, %s)", pick, ta, tb);
    size_t wa = strlen(each), wb = strlen(along), w = wa > wb ? wa : wb;
    fc_diag_help(d, "%-*s  element by element, like C and GLSL %s(a, b)", (int)w, each, pick);
    if (axis)
        fc_diag_help(d, "%-*s  along axis %s, like NumPy np.%s(%s, %s)", (int)w, along, tb, pick,
                     ta, tb);
    else
        fc_diag_help(d, "%-*s  along one axis", (int)w, along);
}

bool fc_c_flag_arg(fc_checker *c, fc_call *f, const fc_expr *e, bool *out) {
    *out = false;
    if (!e) return true;
    const fc_value *v = fc_c_val(f, e);
    if (v->kind == FC_V_BOOL) {
        *out = v->truth;
        return true;
    }
    if (v->kind != FC_V_UNKNOWN)
        fc_c_error(c, FUSEC_NOT_BOOL, e->at, "%s is true or false", e->label->text);
    return false;
}

/* What has no result for no elements, where that is known now. */
static bool not_empty(fc_checker *c, const fc_expr *e, fc_op op, const fc_expr *array,
                      const fc_value *v, const int64_t *axes, uint32_t count) {
    if (op != FC_OP_NONE && !(fc_ops[op].flags & FC_F_EMPTY_IS_ERROR)) return true;
    for (uint32_t i = 0; i < count; i++) {
        int64_t n;
        fc_dim d = fc_axis(c->g, v->node, (uint32_t)axes[i]);
        if (!fc_dim_is_const(&c->g->dims, d, &n) || n != 0) continue;
        fc_diag *g = fc_c_error(c, FUSEC_EMPTY_REDUCTION, e->at, "%s() of no elements: %s is %s",
                                fc_c_quote(c, e->callee->at), fc_c_quote(c, array->at),
                                fc_c_value_type(c, v));
        fc_c_fact(c, g, array, v);
        return false;
    }
    return true;
}

static fc_value reduction(fc_checker *c, fc_call *f, const fc_expr *e, fc_op op) {
    static const char *const keys[] = {"axis", "keepdims", NULL};
    const fc_arg_spec spec = {NULL, 1, 1, keys};
    const fc_expr *array[1], *kw[2];
    int64_t axes[FC_MAX_RANK];
    uint32_t n = 0, count;
    bool keep;
    fc_value x;
    for (const fc_expr *a = e->list; a; a = a->next) n += a->label == NULL;
    if (n != 1) {
        two_arguments(c, e, op, n);
        return FC_UNKNOWN;
    }
    if (!fc_c_args(c, e, &spec, array, kw) || !fc_c_array_arg(c, f, array[0], &x) ||
        !fc_c_axes(c, f, array[0], &x, kw[0], axes, &count) || !fc_c_flag_arg(c, f, kw[1], &keep) ||
        !not_empty(c, e, op, array[0], &x, axes, count))
        return FC_UNKNOWN;
    const int64_t *list = kw[0] ? axes : NULL;
    fc_node r = op == FC_OP_NONE ? fc_build_logsumexp(c->g, x.node, kw[0] ? count : 0, list, keep)
                                 : fc_build_reduce(c->g, op, x.node, kw[0] ? count : 0, list, keep);
    return fc_v_node(fc_c_built(c, r));
}

/* ---- elementwise, casts ---------------------------------------------------------------------- */

static fc_value elementwise(fc_checker *c, fc_call *f, const fc_expr *e, fc_op op) {
    static const char *const clip_names[] = {"x", "lo", "hi"};
    const fc_arg_spec spec = {op == FC_OP_clip ? clip_names : NULL, fc_ops[op].arity,
                              fc_ops[op].arity, NULL};
    const fc_expr *parts[3] = {NULL, NULL, NULL};
    fc_value v[3];
    if (!fc_c_args(c, e, &spec, parts, NULL)) return FC_UNKNOWN;
    for (uint32_t i = 0; i < spec.positions; i++) v[i] = *fc_c_val(f, parts[i]);
    return fc_c_row(c, op, e, e->at, spec.positions, parts, v);
}

static fc_value cast_value(fc_checker *c, const fc_expr *e, const fc_value *v, fusec_dtype t) {
    fc_node n;
    if (fc_v_element(v))
        n = fc_build_cast(c->g, v->kind == FC_V_NODE ? v->node : fc_c_index_node(c, v), t);
    else if (v->kind == FC_V_INT && fc_is_complex(t))
        n = fc_build_number(c->g, t, (double)v->i);
    else if (v->kind == FC_V_INT && t != FUSEC_BOOL && (!fc_is_float(t) || v->i <= INT64_MAX))
        n = fc_build_const(c->g, t, fc_const_int(t, (int64_t)(uint64_t)v->i));
    else if (v->kind == FC_V_INT && t == FUSEC_BOOL)
        n = fc_build_const(c->g, t, v->i != 0);
    else if (v->kind == FC_V_INT)
        n = fc_build_cast(c->g, fc_build_const(c->g, FUSEC_U64, (uint64_t)v->i), t);
    else if (v->kind == FC_V_FLOAT)
        n = fc_build_number(c->g, t, v->f);
    else if (v->kind == FC_V_NODE)
        n = fc_build_cast(c->g, v->node, t);
    else
        n = fc_build_cast(c->g, fc_c_strong(c, e, v), t);
    return fc_v_like(fc_c_built(c, n), v);
}

static fc_value cast(fc_checker *c, fc_call *f, const fc_expr *e, fusec_dtype t) {
    const fc_arg_spec spec = {NULL, 1, 1, NULL};
    const fc_expr *x;
    if (!fc_c_args(c, e, &spec, &x, NULL) || !fc_c_operand(c, x, fc_c_val(f, x))) return FC_UNKNOWN;
    return cast_value(c, x, fc_c_val(f, x), t);
}

static fc_value bitcast(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_arg_spec spec = {NULL, 2, 2, NULL};
    const fc_expr *p[2];
    fusec_dtype t;
    if (!fc_c_args(c, e, &spec, p, NULL) || !fc_c_dtype_arg(c, p[1], &t)) return FC_UNKNOWN;
    const fc_value *v = fc_c_val(f, p[0]);
    if (!fc_c_operand(c, p[0], v)) return FC_UNKNOWN;
    fusec_dtype from = fc_v_dtype(c, v);
    if (fc_dtypes[from].bytes != fc_dtypes[t].bytes || from == FUSEC_BOOL || t == FUSEC_BOOL) {
        fc_diag *d = fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->at,
                                "bitcast() keeps the size in bits: %s has %d, %s has %d",
                                fc_dtypes[from].name, fc_dtypes[from].bits, fc_dtypes[t].name,
                                fc_dtypes[t].bits);
        fc_c_fact(c, d, p[0], v);
        return FC_UNKNOWN;
    }
    return fc_v_like(fc_c_built(c, fc_build_bitcast(c->g, fc_c_strong(c, p[0], v), t)), v);
}

static fc_value materialize(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_arg_spec spec = {NULL, 1, 1, NULL};
    const fc_expr *x;
    if (!fc_c_args(c, e, &spec, &x, NULL) || !fc_c_operand(c, x, fc_c_val(f, x))) return FC_UNKNOWN;
    fc_node n = fc_c_strong(c, x, fc_c_val(f, x));
    return fc_v_like(fc_c_built(c, fc_build_materialize(c->g, n)), fc_c_val(f, x));
}

/* ---- all calls ------------------------------------------------------------------------------- */

static fc_value odd_callee(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_expr *callee = e->callee;
    uint32_t module;
    if (callee->kind == FC_EX_MEMBER && fc_c_module(c, f, callee, &module)) {
        fc_c_no_member(c, module, callee, true);
    } else if (callee->kind == FC_EX_MEMBER) {
        fc_c_bad_member(c, e);
    } else if (fc_c_is_index_reduction(c, f, e)) {
        return fc_c_index_reduction(c, f, e);
    } else {
        fc_c_error(c, FUSEC_UNKNOWN_NAME, callee->at, "%s is no function",
                   fc_c_quote(c, callee->at));
    }
    return FC_UNKNOWN;
}

bool fc_c_call(fc_checker *c, fc_call *f, const fc_expr *e) {
    fc_value *out = fc_c_val(f, e), r = FC_UNKNOWN;
    const fc_expr *callee = e->callee;
    fusec_dtype t;
    *out = FC_UNKNOWN;
    fc_def *def = fc_c_callee(c, f, callee);
    if (def) return fc_c_user_call(c, f, e, def);
    if (callee->kind != FC_EX_NAME) {
        *out = odd_callee(c, f, e);
        return true;
    }
    const char *name = callee->text;
    if (fc_c_is_fold_name(name)) return fc_c_fold_call(c, f, e, name);
    fc_op op = row_by_name(name);
    if (fc_c_dtype_name(f, name, strlen(name), &t))
        r = cast(c, f, e, t);
    else if (fc_c_composite_call(c, f, e, name, &r))
        ;
    else if (fc_is_elementwise(op))
        r = elementwise(c, f, e, op);
    else if (strcmp(name, "bitcast") == 0)
        r = bitcast(c, f, e);
    else if (strcmp(name, "materialize") == 0)
        r = materialize(c, f, e);
    else if (fc_c_is_builtin(name) && !fc_c_no_elements(c, f, e))
        r = FC_UNKNOWN;
    else if (fc_is_reduction(op) || strcmp(name, "logsumexp") == 0)
        r = reduction(c, f, e, op);
    else if (!fc_c_dot_call(c, f, e, name, &r) && !fc_c_scan_call(c, f, e, name, &r) &&
             !fc_c_fft_call(c, f, e, name, &r) && !fc_c_shape_call(c, f, e, name, &r) &&
             !fc_c_make_call(c, f, e, name, &r) && !fc_c_join_call(c, f, e, name, &r) &&
             !fc_c_scatter_call(c, f, e, name, &r) && !fc_c_random_call(c, f, e, name, &r) &&
             !fc_c_sort_call(c, f, e, name, &r) && !fc_c_gradient_call(c, f, e, name, &r))
        fc_c_unknown_function(c, callee);
    *fc_c_val(f, e) = r;
    return true;
}
