/* check_call.c - calls: of definitions, casts, elementwise rows, reductions.
 *
 * The builtins come from the rows of ops.def by name; a row that is spelled as an operator is no
 * function. Definitions of the user come first. */
#include "frontend/lang/check_impl.h"

#include "ir/code.h"

/* ---- which names there are ------------------------------------------------------------------- */

static const char *const later[] = {"boundary",  "concat", "cumsum",  "dot",  "einsum",
                                    "grad",      "normal", "repeat",  "roll", "stack",
                                    "stop_grad", "take",   "uniform", "bits"};

bool fc_c_later(const char *name) {
    for (size_t i = 0; i < FC_COUNT(later); i++)
        if (strcmp(later[i], name) == 0) return true;
    return false;
}

static const struct {
    const char *alias, *name;
} aliases[] = {{"arcsin", "asin"},   {"arccos", "acos"},   {"arctan", "atan"},
               {"arctan2", "atan2"}, {"arcsinh", "asinh"}, {"arccosh", "acosh"},
               {"arctanh", "atanh"}};

const char *fc_c_alias(const char *name) {
    for (size_t i = 0; i < FC_COUNT(aliases); i++)
        if (strcmp(aliases[i].alias, name) == 0) return aliases[i].name;
    return name;
}

static bool callable(fc_op op) {
    return op != FC_OP_NONE && (!(fc_ops[op].flags & FC_F_OPERATOR) || op == FC_OP_pow);
}

static fc_op row_by_name(const char *name) {
    fc_op op = fc_op_by_name(name, strlen(name));
    return callable(op) ? op : FC_OP_NONE;
}

bool fc_c_is_builtin(const char *name) {
    return row_by_name(fc_c_alias(name)) != FC_OP_NONE || strcmp(name, "logsumexp") == 0 ||
           strcmp(name, "bitcast") == 0 || strcmp(name, "materialize") == 0 ||
           fc_c_is_shape_name(name) || fc_c_is_make_name(name);
}

void fc_c_suggest_builtins(fc_suggest *s) {
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_COUNT_; op++)
        if (callable((fc_op)op) && !(fc_ops[op].flags & FC_F_HIDDEN))
            fc_suggest_try(s, fc_ops[op].name);
    for (size_t i = 0; fc_c_shape_names[i]; i++) fc_suggest_try(s, fc_c_shape_names[i]);
    for (size_t i = 0; fc_c_make_names[i]; i++) fc_suggest_try(s, fc_c_make_names[i]);
    for (size_t i = 0; i < FC_COUNT(later); i++) fc_suggest_try(s, later[i]);
    fc_suggest_try(s, "logsumexp");
    fc_suggest_try(s, "bitcast");
    fc_suggest_try(s, "materialize");
    for (int t = 0; t < FUSEC_DTYPE_COUNT; t++) fc_suggest_try(s, fc_dtypes[t].name);
}

bool fc_c_dtype_name(const fc_call *f, const char *name, size_t len, fusec_dtype *t) {
    if (len == 1 && *name >= 'A' && *name <= 'Z' && f && f->letters[*name - 'A']) {
        *t = (fusec_dtype)(f->letters[*name - 'A'] - 1);
        return true;
    }
    return fc_dtype_by_name(name, len, t);
}

/* ---- arguments ------------------------------------------------------------------------------- */

void fc_c_count_error(fc_checker *c, const fc_expr *call, uint32_t least, uint32_t most,
                      uint32_t got) {
    const char *name = fc_c_quote(c, call->callee->at);
    const char *plural = most == 1 ? "" : "s";
    if (least == most)
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, call->at, "%s() takes %u argument%s and got %u", name,
                   most, plural, got);
    else
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, call->at, "%s() takes %u to %u arguments and got %u",
                   name, least, most, got);
}

static bool bad_label(fc_checker *c, const fc_expr *call, const fc_expr *a,
                      const fc_arg_spec *spec) {
    fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, a->label->at, "%s() has no argument `%s`",
                            fc_c_quote(c, call->callee->at), a->label->text);
    fc_suggest s;
    fc_suggest_start(&s, a->label->text, a->label->len);
    for (uint32_t i = 0; spec->keywords && spec->keywords[i]; i++)
        fc_suggest_try(&s, spec->keywords[i]);
    for (uint32_t i = 0; i < spec->positions; i++)
        if (spec->names && spec->names[i]) fc_suggest_try(&s, spec->names[i]);
    fc_suggest_help(&s, d);
    return false;
}

static bool given_twice(fc_checker *c, const fc_expr *a, const char *name) {
    fc_c_error(c, FUSEC_ARGUMENT_COUNT, a->label ? a->label->at : a->at,
               "the argument `%s` is given twice", name);
    return false;
}

bool fc_c_args(fc_checker *c, const fc_expr *call, const fc_arg_spec *spec,
               const fc_expr **positions, const fc_expr **keywords) {
    uint32_t n = 0, nkeys = 0;
    while (spec->keywords && spec->keywords[nkeys]) keywords[nkeys++] = NULL;
    for (uint32_t i = 0; i < spec->positions; i++) positions[i] = NULL;
    for (const fc_expr *a = call->list; a; a = a->next) {
        if (!a->label) {
            if (n < spec->positions) positions[n] = a;
            n++;
            continue;
        }
        const fc_expr **slot = NULL;
        for (uint32_t i = 0; i < nkeys; i++)
            if (strcmp(spec->keywords[i], a->label->text) == 0) slot = &keywords[i];
        for (uint32_t i = 0; spec->names && i < spec->positions; i++)
            if (spec->names[i] && strcmp(spec->names[i], a->label->text) == 0) slot = &positions[i];
        if (!slot) return bad_label(c, call, a, spec);
        if (*slot) return given_twice(c, a, a->label->text);
        *slot = a;
    }
    uint32_t got = n;
    for (uint32_t i = n; i < spec->positions; i++) got += positions[i] != NULL;
    bool hole = false;
    for (uint32_t i = 0; i < spec->least; i++) hole |= positions[i] == NULL;
    if (n <= spec->positions && !hole) return true;
    fc_c_count_error(c, call, spec->least, spec->positions, got);
    return false;
}

bool fc_c_dtype_arg(fc_checker *c, const fc_expr *e, fusec_dtype *t) {
    if (e->kind == FC_EX_NAME && fc_c_dtype_name(c->f, e->text, e->len, t)) return true;
    fc_diag *d = fc_c_error(c, FUSEC_UNKNOWN_NAME, e->at, "%s is no dtype", fc_c_quote(c, e->at));
    fc_suggest s;
    if (e->kind != FC_EX_NAME) return false;
    fc_suggest_start(&s, e->text, e->len);
    for (int i = 0; i < FUSEC_DTYPE_COUNT; i++) fc_suggest_try(&s, fc_dtypes[i].name);
    fc_suggest_help(&s, d);
    return false;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static const char *axes_text(fc_checker *c, uint32_t rank) {
    if (rank == 0) return "it has none";
    if (rank == 1) return "its only axis is 0 (or -1)";
    if (rank == 2) return "its axes are 0 and 1 (or -2 and -1)";
    return fc_c_text(c, "its axes are 0 to %u (or -%u to -1)", rank - 1, rank);
}

static bool bad_axis(fc_checker *c, const fc_expr *array, const fc_value *v, const fc_expr *e,
                     const char *why) {
    fc_diag *d =
        fc_c_error(c, FUSEC_BAD_AXIS, e->at, "%s: %s is %s, %s", why, fc_c_quote(c, array->at),
                   fc_c_value_type(c, v), axes_text(c, fc_v_rank(c, v)));
    fc_c_fact(c, d, array, v);
    return false;
}

/* The axis that the declared type of a parameter calls `name`; -1: not decided by it. */
static int declared_axis(fc_call *f, const fc_expr *array, const char *name, uint32_t rank) {
    const fc_binding *b = array->kind == FC_EX_NAME ? fc_c_find(f, array->text) : NULL;
    int found = -1;
    if (!b || !b->type) return -1;
    uint32_t i = 0, after = b->type->rank;
    for (const fc_expr *d = b->type->dims; d; d = d->next, i++) {
        after--;
        if (d->kind != FC_EX_NAME || strcmp(d->text, name) != 0) continue;
        if (found >= 0) return -1;
        found = (int)(rank - 1 - after);
    }
    return found;
}

/* An axis by the name of its size. */
static bool axis_by_name(fc_checker *c, fc_call *f, const fc_expr *array, const fc_value *v,
                         const fc_expr *e, fc_dim_binding *dim, int64_t *out) {
    uint32_t rank = fc_v_rank(c, v), hits = 0;
    int declared = declared_axis(f, array, e->text, rank);
    if (declared >= 0) {
        *out = declared;
        return true;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (fc_axis(c->g, v->node, i) == dim->dim) *out = i, hits++;
    if (hits == 1) return true;
    return bad_axis(c, array, v, e,
                    fc_c_text(c, hits ? "several axes are %s" : "no axis is %s", e->text));
}

static bool one_axis(fc_checker *c, fc_call *f, const fc_expr *array, const fc_value *v,
                     const fc_expr *e, int64_t *out) {
    const fc_value *x = fc_c_val(f, e);
    uint32_t rank = fc_v_rank(c, v), unused;
    if (e->kind == FC_EX_NAME && !fc_c_find(f, e->text)) {
        fc_dim_binding *dim = fc_c_dim(f, e->text);
        if (dim && v->kind == FC_V_NODE) return axis_by_name(c, f, array, v, e, dim, out);
        if (x->kind == FC_V_UNKNOWN && !fc_namemap_get(&c->const_map, e->text, &unused))
            return bad_axis(c, array, v, e, fc_c_text(c, "no axis is called %s", e->text));
    }
    if (x->kind == FC_V_UNKNOWN) return false;
    if (x->kind != FC_V_INT) {
        fc_c_error(c, FUSEC_BAD_AXIS, e->at,
                   "an axis is an integer constant or the name of a dim, not %s",
                   fc_c_quote(c, e->at));
        return false;
    }
    if (x->i < -(fc_wide)rank || x->i >= rank)
        return bad_axis(c, array, v, e,
                        fc_c_text(c, "axis %s does not exist", fc_c_wide_text(c, x->i)));
    *out = (int64_t)(x->i < 0 ? x->i + rank : x->i);
    return true;
}

bool fc_c_axes(fc_checker *c, fc_call *f, const fc_expr *array, const fc_value *v,
               const fc_expr *axis, int64_t *axes, uint32_t *count) {
    uint32_t rank = fc_v_rank(c, v);
    *count = 0;
    if (!axis) {
        for (uint32_t i = 0; i < rank; i++) axes[i] = i;
        *count = rank;
        return true;
    }
    bool many = axis->kind == FC_EX_TUPLE || axis->kind == FC_EX_LIST;
    for (const fc_expr *e = many ? axis->list : axis; e; e = many ? e->next : NULL) {
        int64_t a = 0;
        if (*count == FC_MAX_RANK || !one_axis(c, f, array, v, e, &a)) return false;
        for (uint32_t i = 0; i < *count; i++)
            if (axes[i] == a)
                return bad_axis(c, array, v, e,
                                fc_c_text(c, "axis %lld is given twice", (long long)a));
        axes[(*count)++] = a;
    }
    return true;
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
    bool axis = b->kind == FC_EX_NUMBER && !b->real;
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

static bool flag_arg(fc_checker *c, fc_call *f, const fc_expr *e, bool *out) {
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
    for (const fc_expr *a = e->list; a; a = a->next) n += a->label == NULL;
    if (n != 1) {
        two_arguments(c, e, op, n);
        return FC_UNKNOWN;
    }
    if (!fc_c_args(c, e, &spec, array, kw)) return FC_UNKNOWN;
    fc_value *v = fc_c_val(f, array[0]);
    if (!fc_c_operand(c, array[0], v)) return FC_UNKNOWN;
    fc_value x = fc_v_node(fc_c_strong(c, array[0], v));
    if (x.kind == FC_V_UNKNOWN) return x;
    if (!fc_c_axes(c, f, array[0], &x, kw[0], axes, &count) || !flag_arg(c, f, kw[1], &keep))
        return FC_UNKNOWN;
    if (!not_empty(c, e, op, array[0], &x, axes, count)) return FC_UNKNOWN;
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
    if (v->kind == FC_V_INT && t != FUSEC_BOOL && (!fc_is_float(t) || v->i <= INT64_MAX))
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
    return fc_v_node(fc_c_built(c, n));
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
    return fc_v_node(fc_c_built(c, fc_build_bitcast(c->g, fc_c_strong(c, p[0], v), t)));
}

static fc_value materialize(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_arg_spec spec = {NULL, 1, 1, NULL};
    const fc_expr *x;
    if (!fc_c_args(c, e, &spec, &x, NULL) || !fc_c_operand(c, x, fc_c_val(f, x))) return FC_UNKNOWN;
    fc_node n = fc_c_strong(c, x, fc_c_val(f, x));
    return fc_v_node(fc_c_built(c, fc_build_materialize(c->g, n)));
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void recursion(fc_checker *c, const fc_expr *e, const fc_item *def) {
    const char *name = def->name.text, *by = c->f->def ? c->f->def->name.text : name;
    if (c->f->def == def)
        fc_c_error(c, FUSEC_RECURSION, e->at,
                   "%s() calls itself: definitions are put in where they are called", name);
    else
        fc_c_error(c, FUSEC_RECURSION, e->at,
                   "%s() calls %s(), which leads back to %s(): definitions are put in where they "
                   "are called",
                   by, name, by);
}

static const char *missing_text(fc_checker *c, const fc_call *f) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    uint32_t i = 0, n = 0, k = 0;
    for (const fc_param *p = f->def->params; p; p = p->next, i++) n += !f->given[i] && !p->fallback;
    i = 0;
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        if (f->given[i] || p->fallback) continue;
        fc_str_printf(&s, "%s`%s`", k == 0 ? "" : k + 1 == n ? " and " : ", ", p->name.text);
        k++;
    }
    const char *t = fc_c_text(c, "%s %s missing", s.data, n == 1 ? "is" : "are");
    fc_c_str_free(c, &s);
    return n ? t : NULL;
}

static void argument_count(fc_checker *c, fc_call *f, const fc_expr *e, uint32_t got) {
    const fc_item *def = f->def;
    uint32_t most = def->param_count, least = 0, missing = 0, i = 0;
    const fc_param *last = NULL;
    for (const fc_param *p = def->params; p; p = p->next, i++) {
        least += p->fallback == NULL;
        if (!f->given[i] && !p->fallback) last = p, missing++;
    }
    const char *why = got <= most ? missing_text(c, f) : NULL;
    const char *takes = least == most ? fc_c_text(c, "%u argument%s", most, most == 1 ? "" : "s")
                                      : fc_c_text(c, "%u to %u arguments", least, most);
    const char *name = def->name.text;
    fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at, "%s() takes %s and got %u%s%s", name,
                            takes, got, why ? ": " : "", why ? why : "");
    fc_pos pos = fc_source_pos(f->ast->src, def->name.at.begin);
    fc_diag_line(d, "defined: %s:%u:%u    def %s", f->ast->src->name, pos.line, pos.col,
                 fc_c_quote_all(c, f->ast, def->signature));
    bool scalar = last && (!last->type || !last->type->brackets);
    if (!why || missing != 1 || !scalar || last->next) return;
    fusec_dtype t;
    bool whole =
        last->type && (fc_c_type_class(last->type, &t) == FC_TC_DIM ||
                       (fc_c_type_class(last->type, &t) == FC_TC_ARRAY && !fc_is_float(t)));
    const char *text = fc_c_quote_all(c, c->f->ast, e->at), *v = whole ? "1" : "0.01";
    if (!d || strlen(text) > 200) return;
    fc_diag_help(d, "%.*s%s%s), or give %s a default in the definition: %s = %s",
                 (int)strlen(text) - 1, text, e->count ? ", " : "", v, last->name.text,
                 last->name.text, v);
}

/* The arguments in the order of the parameters, into the new frame. */
static bool place_arguments(fc_checker *c, fc_call *to, fc_call *f, const fc_expr *e) {
    uint32_t n = 0, got = 0;
    for (const fc_expr *a = e->list; a; a = a->next) {
        uint32_t i = 0;
        const fc_param *p = to->def->params;
        got++;
        if (!a->label) {
            i = n++;
            if (i >= to->def->param_count) continue;
        } else {
            for (; p && strcmp(p->name.text, a->label->text) != 0; p = p->next) i++;
            if (!p) {
                fc_diag *d =
                    fc_c_error(c, FUSEC_ARGUMENT_COUNT, a->label->at, "%s() has no parameter `%s`",
                               to->def->name.text, a->label->text);
                fc_suggest s;
                if (!d) return false;
                fc_suggest_start(&s, a->label->text, a->label->len);
                for (p = to->def->params; p; p = p->next) fc_suggest_try(&s, p->name.text);
                fc_suggest_help(&s, d);
                return false;
            }
        }
        if (to->given[i]) return given_twice(c, a, a->label ? a->label->text : "");
        to->given[i] = true;
        to->args[i] = *fc_c_val(f, a);
    }
    bool complete = n <= to->def->param_count;
    uint32_t i = 0;
    for (const fc_param *p = to->def->params; p; p = p->next, i++)
        complete &= to->given[i] || p->fallback;
    if (!complete) argument_count(c, to, e, got);
    return complete;
}

static bool user_call(fc_checker *c, fc_call *f, const fc_expr *e, const fc_item *def) {
    for (size_t i = 0; i < c->calls.len; i++) {
        if (c->calls.at[i]->def != def) continue;
        recursion(c, e, def);
        return true;
    }
    for (const fc_expr *a = e->list; a; a = a->next) {
        const fc_value *v = fc_c_val(f, a);
        bool shape = v->kind == FC_V_LIST || (v->kind == FC_V_TUPLE && !v->names);
        if (v->kind >= FC_V_TUPLE && !shape && !fc_c_operand(c, a, v)) return true;
    }
    if (!fc_c_check_signature(c, c->rq->program, def)) return true;
    fc_call *to = fc_c_push(c, c->rq->program, def);
    if (!to) return false;
    c->f = f; /* messages are about the call */
    to->site = e;
    to->site_ast = f->ast;
    bool good = place_arguments(c, to, f, e);
    c->f = to;
    if (good) return false;
    fc_c_drop(c);
    return true;
}

/* ---- all calls ------------------------------------------------------------------------------- */

static fc_value odd_callee(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_expr *callee = e->callee;
    if (callee->kind == FC_EX_MEMBER) {
        fc_c_bad_member(c, e);
    } else if (callee->kind == FC_EX_SUBSCRIPT && callee->a->kind == FC_EX_NAME &&
               fc_is_reduction(row_by_name(callee->a->text))) {
        fc_c_not_yet(c, f->ast, callee->at, fc_c_quote(c, callee->at));
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
    uint32_t i;
    *out = FC_UNKNOWN;
    if (callee->kind != FC_EX_NAME) {
        *out = odd_callee(c, f, e);
        return true;
    }
    const fc_item *def = fc_c_def(c, callee->text);
    if (def) return user_call(c, f, e, def);
    const char *name = fc_c_alias(callee->text);
    fc_op op = row_by_name(name);
    if (fc_c_dtype_name(f, name, strlen(name), &t))
        r = cast(c, f, e, t);
    else if (fc_is_elementwise(op))
        r = elementwise(c, f, e, op);
    else if (fc_is_reduction(op) || strcmp(name, "logsumexp") == 0)
        r = reduction(c, f, e, op);
    else if (strcmp(name, "bitcast") == 0)
        r = bitcast(c, f, e);
    else if (strcmp(name, "materialize") == 0)
        r = materialize(c, f, e);
    else if (fc_c_later(name))
        fc_c_not_yet(c, f->ast, callee->at, name);
    else if (!fc_c_shape_call(c, f, e, name, &r) && !fc_c_make_call(c, f, e, name, &r) &&
             !fc_namemap_get(&c->foreign_map, name, &i))
        fc_c_unknown_function(c, callee);
    *fc_c_val(f, e) = r;
    return true;
}
