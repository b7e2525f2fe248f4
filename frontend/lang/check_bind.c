/* check_bind.c - arguments to parameters, and results to what was promised. */
#include "frontend/lang/check_impl.h"

/* ---- calls ----------------------------------------------------------------------------------- */

static const fc_expr *argument(const fc_call *f, const fc_param *p, uint32_t index) {
    uint32_t n = 0;
    for (const fc_expr *a = f->site->list; a; a = a->next) {
        if (a->label ? strcmp(a->label->text, p->name.text) == 0 : n++ == index) return a;
    }
    return f->site;
}

static fc_diag *argument_error(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i,
                               fusec_status s, const char *text) {
    const fc_expr *a = argument(f, p, i);
    fc_diag *d = fc_c_error_in(c, f->site_ast, s, a->at, "%s", text);
    fc_diag_fact_at(d, p->name.text, p->type ? fc_c_quote(c, p->type->at) : "anything", f->ast->src,
                    p->name.at);
    return d;
}

static const char *takes(fc_checker *c, fc_call *f, const fc_param *p, const char *is) {
    return fc_c_text(c, "%s() takes %s: %s, and this is %s", f->def->name.text, p->name.text,
                     fc_c_quote(c, p->type->at), is);
}

/* Axis `axis` of argument i has size `d`, and the parameter calls it `e`. */
static bool bind_axis(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i, const fc_expr *e,
                      fc_dim d) {
    fc_dim_binding *b = fc_c_dim(f, e->text);
    if (!b) {
        fc_dim_binding fresh = {.name = e->text, .dim = d, .from = p, .size = -1};
        if (!fc_push(c->alloc, &f->dims, fresh)) fc_c_oom(c);
        return !c->stop;
    }
    if (b->dim == FC_DIM_NONE) {
        b->dim = d;
        return true;
    }
    int same = fc_c_same_dim(c, b->dim, d);
    if (same == 1) return true;
    if (same == 0) {
        fc_diag *g = argument_error(
            c, f, p, i, FUSEC_SHAPE_MISMATCH,
            fc_c_text(c, "%s() has one size %s, and it is %s in %s but %s in %s", f->def->name.text,
                      e->text, fc_c_dim_text(c, b->dim), b->from ? b->from->name.text : e->text,
                      fc_c_dim_text(c, d), p->name.text));
        if (b->from && b->from->type)
            fc_diag_fact_at(g, b->from->name.text, fc_c_quote(c, b->from->type->at), f->ast->src,
                            b->from->name.at);
        return false;
    }
    fc_require(c->g, FC_CHECK_EQ, b->dim, d, FUSEC_INPUT_SHAPE, NULL);
    return fc_c_fine(c);
}

static bool bind_rest(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i, uint32_t n,
                      const fc_dim *shape) {
    if (!f->has_rest) {
        f->has_rest = true;
        f->rest_rank = n;
        memcpy(f->rest, shape, n * sizeof *shape);
        return true;
    }
    bool good = n == f->rest_rank;
    for (uint32_t k = 0; k < n && good; k++) {
        int same = fc_c_same_dim(c, f->rest[k], shape[k]);
        good = same != 0;
        if (same < 0) fc_require(c->g, FC_CHECK_EQ, f->rest[k], shape[k], FUSEC_INPUT_SHAPE, NULL);
    }
    if (good) return fc_c_fine(c);
    argument_error(c, f, p, i, FUSEC_SHAPE_MISMATCH,
                   fc_c_text(c, "the axes that `...` stands for in %s() are not the same in %s",
                             f->def->name.text, p->name.text));
    return false;
}

/* Names and "..." of a parameter's type from the argument's shape. */
static bool bind_shape(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    const fc_value *v = &f->args[i];
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank = fc_v_shape(c, v, shape), at = 0;
    bool dots = p->type->dims && p->type->dims->kind == FC_EX_ELLIPSIS;
    uint32_t named = p->type->rank - dots;
    if (dots ? rank < named : rank != named) {
        argument_error(c, f, p, i, FUSEC_SHAPE_MISMATCH,
                       takes(c, f, p, fc_v_weak(v) ? "a number" : fc_c_value_type(c, v)));
        return false;
    }
    bool good = true;
    for (const fc_expr *d = p->type->dims; d && good; d = d->next) {
        if (d->kind == FC_EX_ELLIPSIS) {
            good = bind_rest(c, f, p, i, rank - named, shape);
            at += rank - named;
            continue;
        }
        if (fc_c_is_binder(c, d)) good = bind_axis(c, f, p, i, d, shape[at]);
        at++;
    }
    return good;
}

/* Sizes that are not just a name, when all names are bound. */
static bool check_sizes(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    uint32_t at = 0;
    for (const fc_expr *d = p->type->dims; d; d = d->next) {
        if (d->kind == FC_EX_ELLIPSIS) at += f->rest_rank;
        if (d->kind == FC_EX_ELLIPSIS) continue;
        uint32_t axis = at++;
        if (fc_c_is_binder(c, d) || d->kind == FC_EX_HOLE) continue;
        fc_dim want = fc_c_eval_dim(c, f, d), have = fc_axis(c->g, f->args[i].node, axis);
        int same = want == FC_DIM_NONE ? 1 : fc_c_same_dim(c, want, have);
        if (same < 0) fc_require(c->g, FC_CHECK_EQ, want, have, FUSEC_INPUT_SHAPE, NULL);
        if (same == 0) {
            argument_error(c, f, p, i, FUSEC_SHAPE_MISMATCH,
                           takes(c, f, p, fc_c_value_type(c, &f->args[i])));
            return false;
        }
    }
    return fc_c_fine(c);
}

static bool bind_dtype(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    fusec_dtype have = fc_v_dtype(c, &f->args[i]), want;
    if (fc_v_weak(&f->args[i])) return true;
    if (fc_c_type_class(p->type, &want) == FC_TC_LETTER) {
        uint8_t *l = &f->letters[*p->type->name.text - 'A'];
        if (!*l) *l = (uint8_t)(have + 1);
        want = (fusec_dtype)(*l - 1);
    }
    if (want == have) return true;
    const char *is = fc_c_value_type(c, &f->args[i]);
    const char *text =
        fc_c_type_class(p->type, &want) == FC_TC_LETTER
            ? fc_c_text(c, "%s() has one dtype %s, which is %s, and this is %s", f->def->name.text,
                        p->type->name.text,
                        fc_dtypes[f->letters[*p->type->name.text - 'A'] - 1].name, is)
            : takes(c, f, p, is);
    fc_c_declared_dtype(f, p->type, &want);
    fc_diag *d = argument_error(c, f, p, i, FUSEC_DTYPE_MISMATCH, text);
    fc_diag_help(d, "nothing converts by itself: write %s(%s)", fc_dtypes[want].name,
                 fc_c_quote_in(c, f->site_ast, argument(f, p, i)->at));
    return false;
}

static bool bind_size(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    fc_dim d = FC_DIM_NONE;
    const fc_value *v = &f->args[i];
    if (v->kind != FC_V_UNKNOWN && !fc_c_size(c, v, &d)) {
        argument_error(c, f, p, i, FUSEC_DTYPE_MISMATCH,
                       fc_c_text(c, "%s() takes a size for %s: a dim, or an integer constant",
                                 f->def->name.text, p->name.text));
        return false;
    }
    fc_dim_binding b = {.name = p->name.text, .dim = d, .from = p, .size = -1};
    if (!fc_push(c->alloc, &f->dims, b)) fc_c_oom(c);
    return !c->stop;
}

/* What depends on an argument that is not known is not known either. */
static void bind_nothing(fc_checker *c, fc_call *f, const fc_param *p) {
    for (const fc_expr *d = p->type ? p->type->dims : NULL; d; d = d->next) {
        if (!fc_c_is_binder(c, d) || fc_c_dim(f, d->text)) continue;
        fc_dim_binding b = {.name = d->text, .dim = FC_DIM_NONE, .from = p, .size = -1};
        if (!fc_push(c->alloc, &f->dims, b)) fc_c_oom(c);
    }
}

/* Weak values and defaults get the declared dtype, and a scalar default of an array its shape. */
static bool convert(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i) {
    fc_value *v = &f->args[i];
    fusec_dtype t;
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank = 0;
    const fc_expr *at = f->given[i] ? NULL : p->fallback;
    if (!fc_v_weak(v) && f->given[i]) return true;
    if (fc_c_type_class(p->type, &t) == FC_TC_LETTER && !f->letters[*p->type->name.text - 'A']) {
        t = fc_c_default_dtype(c, v);
        if (f->top && t == FUSEC_I64) t = c->g->default_float;
        f->letters[*p->type->name.text - 'A'] = (uint8_t)(t + 1);
    }
    if (!fc_c_declared_dtype(f, p->type, &t)) return false;
    if (!fc_v_weak(v) && fc_v_dtype(c, v) != t) {
        fc_c_error(c, FUSEC_DTYPE_MISMATCH, p->fallback->at, "%s is %s, and its default is %s",
                   p->name.text, fc_dtypes[t].name, fc_c_value_type(c, v));
        return false;
    }
    fc_call *own = c->f;
    const fc_expr *e = at ? at : argument(f, p, i);
    if (!at) { /* a literal that does not fit is a mistake of the caller */
        for (size_t k = c->calls.len; k-- > 0;)
            if (c->calls.at[k] == f && k > 0) c->f = c->calls.at[k - 1];
    }
    fc_node n = fc_c_node(c, e, v, t);
    c->f = own;
    *v = fc_v_node(n);
    if (n == FC_NONODE) return false;
    if (f->given[i] || !p->type->brackets) return true;
    if (!fc_c_declared_shape(c, f, p->type, &rank, shape)) return false;
    *v = fc_v_node(fc_c_built(c, fc_build_broadcast(c->g, n, rank, shape)));
    return v->kind != FC_V_UNKNOWN;
}

static void bind_names(fc_checker *c, fc_call *f) {
    uint32_t i = 0;
    fusec_dtype t;
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        if (p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM) continue;
        const char *origin = f->top && f->input_of[i] != FC_LANG_NONE && !p->type
                                 ? fc_c_input_origin(c, f->input_of[i])
                                 : NULL;
        fc_c_bind(c, (fc_binding){.name = p->name.text,
                                  .value = f->args[i],
                                  .at = p->name.at,
                                  .type = p->type,
                                  .origin = origin,
                                  .quiet = true});
    }
}

bool fc_c_bind_call(fc_checker *c, fc_call *f) {
    fusec_dtype t;
    bool good = true;
    uint32_t i = 0;
    c->cur = NULL;
    for (const fc_param *p = f->def->params; p; p = p->next, i++)
        if (p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM) good &= bind_size(c, f, p, i);
    i = 0;
    for (const fc_param *p = f->def->params; p && good; p = p->next, i++) {
        if (!p->type || !f->given[i] || fc_c_type_class(p->type, &t) == FC_TC_DIM) continue;
        if (f->args[i].kind == FC_V_UNKNOWN) {
            bind_nothing(c, f, p);
            continue;
        }
        c->f = c->calls.at[c->calls.len - 2];
        good = fc_c_operand(c, argument(f, p, i), &f->args[i]);
        c->f = f;
        good = good && bind_shape(c, f, p, i) && bind_dtype(c, f, p, i);
    }
    i = 0;
    for (const fc_param *p = f->def->params; p && good; p = p->next, i++) {
        if (!p->type || fc_c_type_class(p->type, &t) == FC_TC_DIM) continue;
        if (f->args[i].kind == FC_V_UNKNOWN) continue;
        if (f->given[i]) good = check_sizes(c, f, p, i);
        good = good && convert(c, f, p, i);
    }
    if (good) bind_names(c, f);
    c->steps += f->dims.len * f->dims.len / 64; /* looking names up takes time */
    return good && !c->stop;
}

/* ---- the top --------------------------------------------------------------------------------- */

static void top_symbols(fc_checker *c, fc_call *f) {
    fusec_dtype t;
    uint32_t i = 0;
    bool leading = false; /* some type has "..." */
    for (const fc_param *p = f->def->params; p; p = p->next, i++) {
        bool is_dim = p->type && fc_c_type_class(p->type, &t) == FC_TC_DIM;
        if (is_dim) {
            fc_dim d = fc_dim_named(&c->g->dims, p->name.text);
            if (!f->given[i] && !fc_c_size(c, &f->args[i], &d)) d = FC_DIM_NONE;
            fc_dim_binding *b = fc_c_dim(f, p->name.text);
            if (b) {
                b->dim = d;
            } else {
                fc_dim_binding fresh = {.name = p->name.text, .dim = d, .from = p, .size = -1};
                if (!fc_push(c->alloc, &f->dims, fresh)) fc_c_oom(c);
            }
        }
        for (const fc_expr *e = p->type ? p->type->dims : NULL; e; e = e->next) {
            leading |= e->kind == FC_EX_ELLIPSIS;
            if (!fc_c_is_binder(c, e) || fc_c_dim(f, e->text)) continue;
            fc_dim_binding b = {.name = e->text, .from = p, .size = -1};
            b.dim = fc_dim_named(&c->g->dims, e->text);
            if (!fc_push(c->alloc, &f->dims, b)) fc_c_oom(c);
        }
    }
    if (!f->has_rest) f->rest_rank = leading;
    f->has_rest = true;
    for (uint32_t k = 0; k < f->rest_rank; k++) f->rest[k] = fc_dim_fresh(&c->g->dims, "...");
}

/* Dtype variables that no input decided. */
static void top_letters(fc_checker *c, fc_call *f) {
    fusec_dtype t;
    for (const fc_param *p = f->def->params; p; p = p->next) {
        if (!p->type || fc_c_type_class(p->type, &t) != FC_TC_LETTER) continue;
        uint8_t *l = &f->letters[*p->type->name.text - 'A'];
        if (*l) continue;
        t = c->g->default_float;
        for (size_t k = 0; k < c->rq->dtype_count; k++)
            if (c->rq->dtypes[k].letter == *p->type->name.text) t = c->rq->dtypes[k].dtype;
        *l = (uint8_t)(t + 1);
    }
}

static bool make_input(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i, fusec_dtype t,
                       uint32_t rank, const fc_dim *shape, fc_lang_param *out) {
    fc_node n = fc_c_built(c, fc_build_input(c->g, p->name.text, t, rank, shape));
    f->args[i] = fc_v_node(n);
    if (n == FC_NONODE) return false;
    out->input = (uint32_t)c->g->inputs.len - 1;
    out->dtype = t;
    out->rank = rank;
    return true;
}

/* A parameter without a type is what its input is. */
static bool untyped_param(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i,
                          fc_lang_param *out) {
    uint32_t k = f->input_of[i];
    fc_dim shape[FC_MAX_RANK];
    if (k == FC_LANG_NONE) {
        fc_diag *d = fc_c_error(c, FUSEC_MISSING_INPUT, p->name.at,
                                "`%s` has no type, so its input must be given", p->name.text);
        fc_diag_help(d, "%s=FILE.npy, or %s=f32:1000x64 to try a type", p->name.text, p->name.text);
        return false;
    }
    const fc_lang_input *in = &c->rq->inputs[k];
    if (in->kind == FC_LANG_SCALAR) {
        f->args[i] = fc_v_number(&in->number);
        out->type = "number";
        return true;
    }
    if (in->rank > FC_MAX_RANK) {
        fc_c_error(c, FUSEC_LIMIT, p->name.at, "%s has more than %d axes", in->name, FC_MAX_RANK);
        return false;
    }
    for (uint32_t a = 0; a < in->rank; a++)
        shape[a] = in->shape[a] < 0 ? fc_dim_fresh(&c->g->dims, "_")
                                    : fc_dim_const(&c->g->dims, in->shape[a]);
    fusec_dtype t = in->has_dtype ? in->dtype : c->g->default_float;
    if (!make_input(c, f, p, i, t, in->rank, shape, out)) return false;
    out->type = fc_c_value_type(c, &f->args[i]);
    return true;
}

static const char *resolved_type(fc_checker *c, fc_call *f, const fc_type *t) {
    fusec_dtype dtype;
    const char *text = fc_c_quote_all(c, f->ast, t->at);
    if (fc_c_type_class(t, &dtype) != FC_TC_LETTER || !fc_c_declared_dtype(f, t, &dtype))
        return text;
    return fc_c_text(c, "%s%s", fc_dtypes[dtype].name, text + t->name.len);
}

static bool top_param(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i,
                      fc_lang_param *out) {
    fusec_dtype t;
    fc_dim shape[FC_MAX_RANK];
    uint32_t rank;
    if (!p->type && !f->given[i]) return true;
    if (!p->type) return untyped_param(c, f, p, i, out);
    out->type = resolved_type(c, f, p->type);
    if (fc_c_type_class(p->type, &t) == FC_TC_DIM) {
        out->is_dim = f->given[i];
        fc_dim_is_sym(&c->g->dims, fc_c_dim(f, p->name.text)->dim, &out->sym);
        return true;
    }
    if (!f->given[i]) return f->args[i].kind != FC_V_UNKNOWN && convert(c, f, p, i);
    fc_c_declared_dtype(f, p->type, &t);
    return fc_c_declared_shape(c, f, p->type, &rank, shape) &&
           make_input(c, f, p, i, t, rank, shape, out);
}

static void write_signature(fc_checker *c, fc_call *f) {
    fc_str s;
    fc_str_init(&s, c->alloc);
    fc_str_printf(&s, "%s(", f->def->name.text);
    for (size_t i = 0; i < c->params.len; i++)
        fc_str_printf(&s, "%s%s%s%s", i ? ", " : "", c->params.at[i].name,
                      c->params.at[i].type ? ": " : "",
                      c->params.at[i].type ? c->params.at[i].type : "");
    fc_str_char(&s, ')');
    const fc_result *r = f->def->results;
    bool many = r && r->name.len;
    if (r) fc_str_add(&s, many ? " -> (" : " -> ");
    for (const fc_result *q = r; q; q = q->next) {
        if (q->name.len) fc_str_printf(&s, "%s: ", q->name.text);
        fc_str_printf(&s, "%s%s", resolved_type(c, f, q->type), q->next ? ", " : "");
    }
    if (many) fc_str_char(&s, ')');
    c->out->signature = fc_arena_strdup(&c->out->arena, s.data, s.len);
    fc_c_str_free(c, &s);
}

bool fc_c_bind_top(fc_checker *c, fc_call *f) {
    bool good = true;
    uint32_t i = 0;
    c->cur = NULL;
    top_symbols(c, f);
    top_letters(c, f);
    for (const fc_param *p = f->def->params; p && !c->stop; p = p->next, i++) {
        fc_lang_param out = {.name = p->name.text,
                             .src = f->ast->src,
                             .at = p->name.at,
                             .input = FC_LANG_NONE,
                             .given = f->input_of[i],
                             .has_default = p->fallback != NULL};
        good &= top_param(c, f, p, i, &out);
        if (!fc_push(c->alloc, &c->params, out)) fc_c_oom(c);
    }
    if (good) bind_names(c, f);
    if (good) write_signature(c, f);
    return good && !c->stop;
}

/* ---- results --------------------------------------------------------------------------------- */

/* The operands of an expression, for facts; at most `most`. */
static uint32_t operands(const fc_expr *e, const fc_expr **out, uint32_t most) {
    uint32_t n = 0;
    const fc_expr *list = NULL;
    switch ((fc_expr_kind)e->kind) {
    case FC_EX_NAME: out[n++] = e; break;
    case FC_EX_BINARY: out[n++] = e->a, out[n++] = e->b; break;
    case FC_EX_COND: out[n++] = e->b, out[n++] = e->c; break;
    case FC_EX_UNARY:
    case FC_EX_SUBSCRIPT:
    case FC_EX_MEMBER: out[n++] = e->a; break;
    case FC_EX_CALL:
    case FC_EX_COMPARE: list = e->list; break;
    default: break;
    }
    for (; list && n < most; list = list->next)
        if (!list->label) out[n++] = list;
    return n;
}

/* The node that made a value wider than it was: a cast that was written, or FC_NONODE. */
static fc_node widened(const fc_checker *c, fc_node n) {
    const fc_graph *g = c->g;
    uint8_t wide = fc_at(g, n)->dtype;
    for (;;) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op == FC_OP_CAST && fc_at(g, i->src[0])->dtype != wide) return n;
        fc_node next = FC_NONODE;
        for (int k = 0; k < i->nops; k++) {
            const fc_ninfo *s = fc_at(g, i->src[k]);
            if (s->dtype != wide || s->op == FC_OP_CONST) continue;
            bool implied = s->op == FC_OP_CAST && i->src[k] < c->places.len && n < c->places.len &&
                           c->places.at[i->src[k]].at.begin == c->places.at[n].at.begin;
            if (next == FC_NONODE || !implied) next = i->src[k];
        }
        if (next == FC_NONODE) return FC_NONODE;
        n = next;
    }
}

static void result_facts(fc_checker *c, fc_call *f, fc_diag *d, const fc_expr *e,
                         const fusec_dtype *wrong, bool *cast) {
    const fc_expr *parts[8];
    *cast = false;
    if (e != f->done || !d) return;
    f->root = e;
    uint32_t n = operands(e, parts, FC_COUNT(parts));
    for (uint32_t i = 0; i < n; i++) {
        const fc_value *v = fc_c_val(f, parts[i]);
        if (v->kind != FC_V_NODE || v->weak) continue;
        fc_node from = wrong && fc_v_dtype(c, v) == *wrong ? widened(c, v->node) : FC_NONODE;
        if (!wrong) {
            fc_c_fact(c, d, parts[i], v);
        } else if (from != FC_NONODE && from < c->places.len) {
            fc_place p = c->places.at[from];
            fc_pos pos = fc_source_pos(p.ast->src, p.at.begin);
            *cast = true;
            fc_diag_fact(d, fc_c_quote(c, parts[i]->at), fc_c_value_type(c, v),
                         fc_c_text(c, "becomes %s at %s:%u:%u, in %s", fc_dtypes[*wrong].name,
                                   p.ast->src->name, pos.line, pos.col,
                                   fc_c_quote_in(c, p.ast, p.at)));
        } else {
            fc_diag_fact(d, fc_c_quote(c, parts[i]->at), fc_c_value_type(c, v), NULL);
        }
    }
    f->root = NULL;
}

static const char *parenthesised(fc_checker *c, const fc_expr *e) {
    bool simple = e->kind == FC_EX_NAME || e->kind == FC_EX_CALL || e->kind == FC_EX_SUBSCRIPT ||
                  e->kind == FC_EX_MEMBER;
    return simple ? fc_c_quote(c, e->at) : fc_c_text(c, "(%s)", fc_c_quote(c, e->at));
}

static bool wrong_shape(fc_checker *c, fc_call *f, const fc_expr *e, const fc_value *v,
                        const char *promised, uint32_t rank, const fc_dim *shape) {
    bool cast;
    fc_dim have[FC_MAX_RANK];
    uint32_t n = fc_v_shape(c, v, have);
    const char *is = fc_v_weak(v) ? "a number" : fc_c_value_type(c, v);
    fc_diag *d = fc_c_error(c, FUSEC_RESULT_SHAPE, e->outer, "%s() promises %s, but this is %s",
                            f->def->name.text, promised, is);
    result_facts(c, f, d, e, NULL, &cast);
    if (n == 2 && rank == 2 && have[0] == shape[1] && have[1] == shape[0]) {
        fc_dim swapped[2] = {have[1], have[0]};
        fc_diag_help(d, "%s.T is %s", parenthesised(c, e),
                     fc_c_type_text(c, fc_v_dtype(c, v), 2, swapped));
    }
    return false;
}

static bool wrong_dtype(fc_checker *c, fc_call *f, const fc_expr *e, const fc_value *v,
                        const char *promised, fusec_dtype want) {
    bool cast;
    fusec_dtype have = fc_v_dtype(c, v);
    fc_diag *d = fc_c_error(c, FUSEC_RESULT_DTYPE, e->outer, "%s() promises %s, but this is %s",
                            f->def->name.text, promised, fc_c_value_type(c, v));
    result_facts(c, f, d, e, &have, &cast);
    const char *text = fc_c_quote(c, e->at), *to = fc_dtypes[want].name;
    if (cast)
        fc_diag_help(d, "narrowing is never silent. Drop the %s( ) there, or write %s(%s) here",
                     fc_dtypes[have].name, to, text);
    else
        fc_diag_help(d, "nothing converts by itself: write %s(%s) here", to, text);
    return false;
}

static bool check_result(fc_checker *c, fc_call *f, const fc_type *t, const fc_expr *e,
                         fc_value *v) {
    fusec_dtype want;
    fc_dim shape[FC_MAX_RANK], have[FC_MAX_RANK];
    uint32_t rank;
    if (v->kind == FC_V_UNKNOWN || !fc_c_operand(c, e, v)) return false;
    if (!fc_c_declared_dtype(f, t, &want) || !fc_c_declared_shape(c, f, t, &rank, shape))
        return false;
    const char *promised = fc_c_type_text(c, want, rank, shape);
    bool same = fc_v_rank(c, v) == rank;
    fc_v_shape(c, v, have);
    for (uint32_t i = 0; i < rank && same; i++) same = fc_c_same_dim(c, have[i], shape[i]) != 0;
    if (!same) return wrong_shape(c, f, e, v, promised, rank, shape);
    fc_weakness w = fc_v_weakness(v);
    bool converts = w == FC_W_BOOL || (w == FC_W_INT && want != FUSEC_BOOL) ||
                    (w == FC_W_FLOAT && fc_is_float(want));
    if (w ? !converts : fc_v_dtype(c, v) != want) return wrong_dtype(c, f, e, v, promised, want);
    for (uint32_t i = 0; i < rank; i++)
        if (fc_c_same_dim(c, have[i], shape[i]) < 0)
            fc_require(c->g, FC_CHECK_EQ, have[i], shape[i], FUSEC_INPUT_SHAPE,
                       fc_c_text(c, "%s() promises %s", f->def->name.text, promised));
    c->cur = e;
    if (!fc_c_fine(c)) return false;
    if (w) *v = fc_v_node(fc_c_node(c, e, v, want));
    return v->kind != FC_V_UNKNOWN;
}

void fc_c_check_results(fc_checker *c, fc_call *f) {
    const fc_result *r = f->def->results;
    size_t n = f->results.len;
    if (!r) return;
    if (n != f->def->result_count && !(n == 1 && f->results.at[0].kind == FC_V_UNKNOWN)) {
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, f->result_exprs.at[0]->outer,
                   "%s() promises %u result%s, but this gives %zu", f->def->name.text,
                   f->def->result_count, f->def->result_count == 1 ? "" : "s", n);
        for (size_t i = 0; i < n; i++) f->results.at[i] = FC_UNKNOWN;
    }
    for (size_t i = 0; i < n && r; i++, r = r->next)
        if (!check_result(c, f, r->type, f->result_exprs.at[i], &f->results.at[i]))
            f->results.at[i] = FC_UNKNOWN;
    for (; f->results.len < f->def->result_count && !c->stop;) /* callers take as many */
        if (!fc_push(c->alloc, &f->results, FC_UNKNOWN) ||
            !fc_push(c->alloc, &f->result_exprs, f->result_exprs.at[0]))
            fc_c_oom(c);
    if (f->results.len > f->def->result_count) f->results.len = f->def->result_count;
}
