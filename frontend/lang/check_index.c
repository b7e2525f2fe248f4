/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_index.c - index definitions: C[i, j in 0..m] = value, and reductions over indices.
 *
 * Every index is an axis of one domain: those on the left in order, then those of reductions in the
 * order in which they enclose. An element of the domain is a value whose node has these axes, from
 * the first on, with the literal size 1 where it is the same for all; so operators broadcast
 * elements as they do arrays. An index without a range has that of an access where it stands
 * alone: the arrays that are accessed are evaluated first, and elements in a second pass. */
#include "frontend/lang/check_impl.h"

#define REDUCTION_BIT (UINT64_C(1) << 63)

/* ---- which indices there are --------------------------------------------------------------------
 */

static bool all_indices(const fc_expr *subscript) {
    for (const fc_expr *s = subscript->list; s; s = s->next)
        if ((s->kind != FC_EX_NAME && s->kind != FC_EX_INDEX) || s->parens) return false;
    return subscript->list != NULL;
}

bool fc_c_is_index_reduction(const fc_checker *c, const fc_call *f, const fc_expr *call) {
    const fc_expr *callee = call->callee;
    if (callee->kind != FC_EX_SUBSCRIPT || callee->a->kind != FC_EX_NAME) return false;
    const fc_expr *name = callee->a;
    if (fc_c_def(c, f->scope, name->text) || !all_indices(callee)) return false;
    return strcmp(name->text, "logsumexp") == 0 ||
           fc_is_reduction(fc_op_by_name(name->text, name->len));
}

static const char *index_name(const fc_expr *e) {
    return e->kind == FC_EX_INDEX ? e->index->text : e->text;
}

static fc_range index_at(const fc_expr *e) {
    return e->kind == FC_EX_INDEX ? e->index->at : e->at;
}

uint32_t fc_c_axes_at(const fc_call *f, const fc_expr *e) {
    uint32_t n = f->base;
    for (size_t i = 0; i < f->binders.len; i++) {
        const fc_binder *b = &f->binders.at[i];
        if (b->first <= e->id && e->id <= b->last && b->axis >= n) n = b->axis + 1;
    }
    return n;
}

const fc_binder *fc_c_binder(const fc_call *f, const fc_expr *name) {
    if (f->pass == FC_ONE_PASS) return NULL;
    for (size_t i = f->binders.len; i-- > 0;) { /* what encloses comes first */
        const fc_binder *b = &f->binders.at[i];
        if (b->first <= name->id && name->id <= b->last && strcmp(b->name, name->text) == 0)
            return b;
    }
    return NULL;
}

static bool add_binder(fc_checker *c, fc_call *f, fc_binder b) {
    if (f->binders.len == FC_INDEX_LIMIT || b.axis >= FC_MAX_RANK) {
        fc_c_error(c, FUSEC_LIMIT, b.at, "more than %d indices",
                   b.axis >= FC_MAX_RANK ? FC_MAX_RANK : FC_INDEX_LIMIT);
        c->stop = true;
        return false;
    }
    if (fc_push(c->alloc, &f->binders, b)) return true;
    fc_c_oom(c);
    return false;
}

/* The second one has no name, and a range that can't be known. */
static void twice(fc_checker *c, fc_binder *b) {
    fc_c_error(c, FUSEC_DUPLICATE_NAME, b->at, "the index `%s` is here twice", b->name);
    b->name = "";
    b->given = true;
}

/* The indices of a reduction, known in its argument. */
static void add_reduction(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_expr *arg = e->list;
    uint32_t axis = fc_c_axes_at(f, e);
    const size_t from = f->binders.len;
    for (const fc_expr *s = e->callee->list; s && arg; s = s->next) {
        fc_binder b = {.name = index_name(s), .at = index_at(s), .axis = axis++};
        b.first = arg->first;
        b.last = e->id - 1;
        b.range = s->kind == FC_EX_INDEX ? s : NULL;
        b.reduction = true;
        for (size_t i = from; i < f->binders.len; i++)
            if (strcmp(f->binders.at[i].name, b.name) == 0) twice(c, &b);
        if (!add_binder(c, f, b)) return;
    }
}

/* Which indices each node needs, from its parts: those end at its number less one, and begin one
 * after the other where the one before ends. */
static void set_masks(fc_checker *c, fc_call *f) {
    const uint32_t base = f->root->first;
    for (uint32_t i = base; i <= f->root->id; i++) {
        const fc_expr *e = f->ast->exprs.at[i];
        uint64_t mask = 0;
        for (uint32_t k = i; k > e->first; k = f->ast->exprs.at[k - 1]->first)
            mask |= f->masks[k - 1 - base];
        if (e->kind == FC_EX_NAME && f->roles[i - base] == FC_R_VALUE) {
            const fc_binder *b = fc_c_binder(f, e);
            if (b) mask |= UINT64_C(1) << (b - f->binders.at);
        }
        if (e->kind == FC_EX_CALL && fc_c_is_index_reduction(c, f, e)) {
            for (size_t b = 0; b < f->binders.len; b++)
                if (e->list && f->binders.at[b].first == e->list->first &&
                    f->binders.at[b].last == e->id - 1)
                    mask &= ~(UINT64_C(1) << b);
            mask |= REDUCTION_BIT;
        }
        f->masks[i - base] = mask;
    }
}

/* The indices of h[k[i], j in 0..n] += ...: names on the left that stand for nothing else. */
static void add_put(fc_checker *c, fc_call *f, const fc_expr *target) {
    uint32_t axis = 0;
    for (uint32_t i = target->first; i < target->id && !c->stop; i++) {
        const fc_expr *e = f->ast->exprs.at[i];
        const bool named = e->kind == FC_EX_INDEX;
        bool known = false;
        if (e == target->a ||
            (!named && (e->kind != FC_EX_NAME || f->roles[i - f->root->first] != FC_R_VALUE)))
            continue;
        fc_binder b = {.name = index_name(e), .at = index_at(e), .axis = axis};
        b.first = f->root->first;
        b.last = f->root->id;
        b.range = named ? e : NULL;
        for (size_t k = 0; k < f->binders.len; k++) {
            if (strcmp(f->binders.at[k].name, b.name) != 0) continue;
            known = true;
            if (named && f->binders.at[k].range) twice(c, &b);
            if (named) f->binders.at[k].range = e;
        }
        if (known || (!named && fc_c_names_value(c, f, e))) continue;
        if (!add_binder(c, f, b)) return;
        axis++;
    }
}

void fc_c_find_indices(fc_checker *c, fc_call *f) {
    const bool define = f->phase == FC_PH_BODY && f->stmt && f->stmt->kind == FC_ST_DEFINE &&
                        f->root == f->stmt->value && !fc_c_collects(f, f->stmt);
    f->binders.len = 0;
    f->pass = FC_ONE_PASS;
    for (size_t i = 0; define && i < f->left.len; i++) {
        fc_binder b = f->left.at[i];
        b.first = f->root->first;
        b.last = f->root->id;
        if (!add_binder(c, f, b)) return;
    }
    if (f->root->kind == FC_EX_PUT) add_put(c, f, f->root->a);
    for (uint32_t i = f->root->id + 1; i-- > f->root->first && !c->stop;) {
        const fc_expr *e = f->ast->exprs.at[i];
        if (e->kind == FC_EX_CALL && fc_c_is_index_reduction(c, f, e)) add_reduction(c, f, e);
    }
    if (!f->binders.len || c->stop) return;
    f->pass = FC_PASS_ARRAYS;
    set_masks(c, f);
}

/* ---- ranges -------------------------------------------------------------------------------------
 */

/* low .. high as they are written. */
static bool written_range(fc_checker *c, fc_call *f, const fc_expr *e, fc_binder *b) {
    const fc_value *low = fc_c_val(f, e->lo), *high = fc_c_val(f, e->hi);
    fc_dim to;
    for (int i = 0; i < 2 && f->pass != FC_ONE_PASS; i++) {
        const fc_expr *p = i ? e->hi : e->lo;
        if (!f->masks[p->id - f->root->first]) continue;
        fc_diag *d = fc_c_error(c, FUSEC_INDEX_RANGE, p->at,
                                "the range of an index can't depend on another index: it is one "
                                "size for all elements");
        fc_diag_help(d, "give it all, and choose: sum[%s](... ? ... : 0)", b->name);
        return false;
    }
    if (low->kind == FC_V_UNKNOWN || high->kind == FC_V_UNKNOWN) return false;
    for (int i = 0; i < 2; i++) {
        const fc_expr *p = i ? e->hi : e->lo;
        if (fc_c_size(c, i ? high : low, i ? &to : &b->low)) continue;
        fc_c_error(c, FUSEC_INDEX_RANGE, p->at,
                   "%s is no size: the range of an index is made of integers and sizes",
                   fc_c_quote(c, p->at));
        return false;
    }
    b->size = fc_dim_sub(&c->g->dims, to, b->low);
    if (b->size == FC_DIM_NONE) {
        fc_v_dim(c, b->size);
        return false;
    }
    int64_t n;
    if (fc_dim_is_const(&c->g->dims, b->size, &n) && n < 0) {
        fc_c_error(c, FUSEC_INDEX_RANGE, e->at, "the range %s..%s is less than empty",
                   fc_c_quote(c, e->lo->at), fc_c_quote(c, e->hi->at));
        return false;
    }
    const fc_pos pos = fc_source_pos(f->ast->src, e->at.begin);
    b->known = true;
    if (fc_dim_is_sym(&c->g->dims, b->size, NULL)) return true; /* not negative by itself */
    fc_require(c->g, FC_CHECK_GE, b->size, fc_dim_const(&c->g->dims, 0), FUSEC_SLICE_RANGE,
               fc_c_text(c, "the range of `%s` has a negative size (%s:%u:%u)", b->name,
                         f->ast->src->name, pos.line, pos.col));
    return fc_c_fine(c);
}

void fc_c_next_of_define(fc_checker *c, fc_call *f) {
    const fc_stmt *s = f->stmt;
    const fc_expr *e = f->left.len ? f->next_range : s->indices;
    if (!f->next_range && !f->left.len && f->base) {
        fc_c_error(c, FUSEC_NOT_YET, s->at,
                   "an index definition can't stand in a definition that is called for single "
                   "elements");
        c->stop = true;
        return;
    }
    for (; e; e = e->next) {
        fc_binder b = {.name = index_name(e), .at = index_at(e), .axis = (uint32_t)f->left.len};
        if (f->left.len == FC_MAX_RANK) {
            fc_c_error(c, FUSEC_LIMIT, b.at, "more than %d indices", FC_MAX_RANK);
            c->stop = true;
            return;
        }
        b.given = e->kind == FC_EX_INDEX;
        for (size_t i = 0; i < f->left.len; i++)
            if (strcmp(f->left.at[i].name, b.name) == 0) twice(c, &b);
        if (!fc_push(c->alloc, &f->left, b)) {
            fc_c_oom(c);
            return;
        }
        if (e->kind != FC_EX_INDEX) continue;
        f->next_range = e->next;
        fc_c_begin(c, f, e);
        return;
    }
    f->next_range = NULL;
    fc_c_begin(c, f, s->value);
}

void fc_c_take_range(fc_checker *c, fc_call *f, const fc_expr *range) {
    fc_binder *b = &f->left.at[f->left.len - 1];
    c->cur = range;
    if (*b->name) written_range(c, f, range, b);
}

static bool stands_alone(const fc_call *f, const fc_expr *e, const fc_binder *b) {
    return e->kind == FC_EX_NAME && fc_c_binder(f, e) == b;
}

/* `array[.., i, ..]` says how far i runs; all that do must agree. */
static bool range_from(fc_checker *c, fc_call *f, fc_binder *b, const fc_expr *access,
                       const fc_expr *at, fc_dim size) {
    if (!b->known) {
        b->known = true;
        b->low = fc_dim_const(&c->g->dims, 0);
        b->size = size;
        b->from = access;
        return true;
    }
    const int same = fc_c_same_dim(c, b->size, size);
    if (same == 1) return true;
    if (same < 0) {
        fc_require(c->g, FC_CHECK_EQ, b->size, size, FUSEC_INPUT_SHAPE, NULL);
        return fc_c_fine(c);
    }
    fc_diag *d = fc_c_error(c, FUSEC_INDEX_RANGE, at->at,
                            "the index `%s` runs over %s in %s, but over %s in %s", b->name,
                            fc_c_dim_text(c, b->size), fc_c_quote(c, b->from->at),
                            fc_c_dim_text(c, size), fc_c_quote(c, access->at));
    fc_c_fact(c, d, b->from->a, fc_c_val(f, b->from->a));
    fc_c_fact(c, d, access->a, fc_c_val(f, access->a));
    fc_diag_help(d, "give it a range: %s in 0..%s", b->name, fc_c_dim_text(c, size));
    return false;
}

static bool ranges_of_access(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_value *v = fc_c_val(f, e->a);
    uint32_t axis = 0;
    if (v->kind != FC_V_NODE || !f->masks[e->id - f->root->first]) return true;
    if (fc_v_rank(c, v) != e->count) {
        fc_c_bad_count(c, e, v);
        return false;
    }
    for (const fc_expr *p = e->list; p; p = p->next, axis++)
        for (size_t i = 0; i < f->binders.len; i++) {
            fc_binder *b = &f->binders.at[i];
            if (b->given || (b->range && !b->ragged) || !stands_alone(f, p, b)) continue;
            if (!range_from(c, f, b, e, p, fc_axis(c->g, v->node, axis))) return false;
        }
    return true;
}

/* An access in which the index stands beside others: it gives no range, but a hint. */
static const fc_expr *shifted_access(const fc_call *f, const fc_binder *b) {
    for (uint32_t i = f->root->first; i <= f->root->id; i++) {
        const fc_expr *e = f->ast->exprs.at[i];
        if (e->kind != FC_EX_NAME || fc_c_binder(f, e) != b) continue;
        for (uint32_t k = i + 1; k <= f->root->id; k++) {
            const fc_expr *s = f->ast->exprs.at[k];
            if (s->kind == FC_EX_SUBSCRIPT && s->first <= i && s->a->id < i) return s;
        }
    }
    return NULL;
}

static bool no_range(fc_checker *c, fc_call *f, const fc_binder *b) {
    const fc_expr *s = shifted_access(f, b);
    fc_diag *d = fc_c_error(c, FUSEC_INDEX_RANGE, b->at,
                            b->ragged ? "nothing says how far the index `%s` may go"
                                      : "the index `%s` has no range",
                            b->name);
    if (b->ragged) {
        fc_diag_help(d, "where a range is data, an access has the index alone: x[%s]", b->name);
    } else if (s) {
        fc_diag_partner(d, s->at);
        fc_c_fact(c, d, s->a, fc_c_val(f, s->a));
        fc_diag_help(d, "an access gives one only where the index stands alone; write %s in a..b",
                     b->name);
    } else {
        fc_diag_help(d, "write %s in a..b", b->name);
    }
    return false;
}

static bool is_put_to(const fc_call *f, const fc_expr *e) {
    return f->root->kind == FC_EX_PUT && f->root->a == e;
}

bool fc_c_find_ranges(fc_checker *c, fc_call *f) {
    bool good = true;
    for (size_t i = 0; i < f->binders.len; i++) {
        fc_binder *b = &f->binders.at[i];
        c->cur = f->root;
        b->value = b->length = FC_NONODE;
        b->ragged = b->reduction && b->range && fc_c_is_ragged(c, f, b);
        if (b->ragged) continue;
        if (b->range)
            good &= written_range(c, f, b->range, b);
        else if (b->given)
            good &= b->known;
    }
    for (uint32_t i = f->root->first; i <= f->root->id && good; i++) {
        const fc_expr *e = f->ast->exprs.at[i];
        if (e->kind == FC_EX_SUBSCRIPT &&
            (f->roles[i - f->root->first] == FC_R_VALUE || is_put_to(f, e)))
            good = ranges_of_access(c, f, e);
    }
    bool unknown = false; /* an array that was reported may be what would give the range */
    for (uint32_t i = f->root->first; i <= f->root->id; i++) {
        const fc_expr *e = f->ast->exprs.at[i];
        const bool access =
            e->kind == FC_EX_SUBSCRIPT && f->roles[i - f->root->first] == FC_R_VALUE;
        if (access && !f->masks[e->a->id - f->root->first])
            unknown |= fc_c_val(f, e->a)->kind == FC_V_UNKNOWN;
    }
    for (size_t i = 0; i < f->binders.len && good; i++) {
        const fc_binder *b = &f->binders.at[i];
        if (!b->known) good = unknown ? false : no_range(c, f, b);
    }
    return good;
}

fc_value fc_c_index_value(fc_checker *c, fc_call *f, const fc_binder *b) {
    if (b->ragged) return fc_c_ragged_value(c, f, b);
    fc_index_term *t = fc_c_alloc(c, sizeof *t);
    if (!t || !b->known) return FC_UNKNOWN;
    *t = (fc_index_term){b->axis, 1, b->size};
    return (fc_value){.kind = FC_V_INDEX, .count = 1, .dim = b->low, .terms = t};
}

/* ---- reductions ---------------------------------------------------------------------------------
 */

/* The element for every element of the domain of `rank` axes, of which those from `from` on get
 * their full size. */
static fc_node spread(fc_checker *c, fc_node n, uint32_t from, uint32_t rank, const fc_dim *sizes) {
    fc_dim shape[FC_MAX_RANK];
    n = fc_c_with_axes(c, n, rank);
    if (n == FC_NONODE) return n;
    for (uint32_t i = 0; i < rank; i++) shape[i] = i < from ? fc_axis(c->g, n, i) : sizes[i - from];
    return fc_c_built(c, fc_build_broadcast(c->g, n, rank, shape));
}

static bool one_argument(fc_checker *c, const fc_expr *e) {
    if (e->list && !e->list->next && !e->list->label) return true;
    fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at, "%s( ) takes one expression",
               fc_c_quote(c, e->callee->at));
    return false;
}

fc_value fc_c_index_reduction(fc_checker *c, fc_call *f, const fc_expr *e) {
    fc_dim sizes[FC_MAX_RANK], low = FC_DIM_NONE;
    int64_t axes[FC_MAX_RANK];
    const fc_op op = fc_op_by_name(e->callee->a->text, e->callee->a->len);
    const uint32_t from = fc_c_axes_at(f, e);
    uint32_t n = 0;
    if (!one_argument(c, e)) return FC_UNKNOWN;
    const fc_value *v = fc_c_val(f, e->list);
    if (!fc_c_operand(c, e->list, v)) return FC_UNKNOWN;
    if (!fc_v_element(v) && fc_v_rank(c, v)) {
        const fc_expr *part[1] = {e->list};
        fc_c_no_arrays(c, 1, part, v);
        return FC_UNKNOWN;
    }
    for (size_t i = 0; i < f->binders.len && n < FC_MAX_RANK - from; i++) {
        const fc_binder *b = &f->binders.at[i];
        if (b->first != e->list->first || b->last != e->id - 1 || b->axis < from) continue;
        if (b->ragged) return fc_c_ragged_reduction(c, f, e, op, b);
        low = b->low;
        axes[n] = from + n;
        sizes[n++] = b->size;
    }
    fc_node x = op == FC_OP_sum ? fc_c_sum_of_product(c, f, e->list, from, n) : FC_NONODE;
    if (x != FC_NONODE) return fc_v_element_if(fc_c_built(c, x), from > 0);
    x = fc_c_strong(c, e->list, v);
    if (x != FC_NONODE) x = spread(c, x, from, from + n, sizes);
    if (x == FC_NONODE) return FC_UNKNOWN;
    fc_node r = op == FC_OP_NONE ? fc_build_logsumexp(c->g, x, n, axes, false)
                                 : fc_build_reduce(c->g, op, x, n, axes, false);
    if ((op == FC_OP_argmin || op == FC_OP_argmax) && n == 1) /* the index, not its number */
        r = fc_build_op(c->g, FC_OP_add, r, fc_build_dim(c->g, low), FC_NONODE);
    return fc_v_element_if(fc_c_built(c, r), from > 0);
}

/* ---- the statement ------------------------------------------------------------------------------
 */

fc_value fc_c_defined_array(fc_checker *c, fc_call *f, const fc_expr *e, const fc_value *v) {
    fc_dim sizes[FC_MAX_RANK];
    const uint32_t rank = (uint32_t)f->left.len;
    fc_value out = FC_UNKNOWN;
    bool good = v->kind != FC_V_UNKNOWN && fc_c_operand(c, e, v);
    if (f->pass == FC_ONE_PASS) good = false;
    for (uint32_t i = 0; i < rank && good; i++) {
        sizes[i] = f->binders.at[i].size;
        good = f->binders.at[i].known;
    }
    if (good && !fc_v_element(v) && fc_v_rank(c, v)) {
        const fc_expr *part[1] = {e};
        good = fc_c_no_arrays(c, 1, part, v);
    }
    fc_node n = good ? fc_c_strong(c, e, v) : FC_NONODE;
    if (n != FC_NONODE) out = fc_v_node(spread(c, n, 0, rank, sizes));
    f->left.len = 0;
    f->binders.len = 0;
    f->pass = FC_ONE_PASS;
    return out;
}

/* ---- forgotten indices --------------------------------------------------------------------------
 */

static const fc_expr *access_with(const fc_call *f, const fc_expr *name) {
    for (uint32_t i = name->id + 1; i <= f->root->id; i++) {
        const fc_expr *e = f->ast->exprs.at[i];
        if (e->kind != FC_EX_SUBSCRIPT || e->first > name->id) continue;
        for (const fc_expr *p = e->list; p; p = p->next)
            if (p == name) return e;
    }
    return NULL;
}

/* "(from A axis 1 and B axis 0)", and how far it would run. */
static void where_it_runs(fc_checker *c, fc_call *f, const fc_expr *name, fc_diag *d) {
    fc_str from;
    fc_dim size = FC_DIM_NONE;
    fc_str_init(&from, c->alloc);
    for (uint32_t i = f->root->first; i <= f->root->id; i++) {
        const fc_expr *e = f->ast->exprs.at[i];
        const fc_expr *s =
            e->kind == FC_EX_NAME && e->len == name->len && strcmp(e->text, name->text) == 0
                ? access_with(f, e)
                : NULL;
        if (!s) continue;
        if (e != name) fc_diag_partner(d, e->at);
        const fc_binding *b = s->a->kind == FC_EX_NAME ? fc_c_find(f, s->a->text) : NULL;
        uint32_t axis = 0;
        for (const fc_expr *p = s->list; p != e; p = p->next) axis++;
        if (!b || b->value.kind != FC_V_NODE || axis >= fc_v_rank(c, &b->value)) continue;
        size = fc_axis(c->g, b->value.node, axis);
        fc_str_printf(&from, "%s%s axis %u", from.len ? " and " : "", s->a->text, axis);
    }
    if (from.len)
        fc_diag_line(d, "%s runs over %s (from %s)", name->text, fc_c_dim_text(c, size), from.data);
    fc_c_str_free(c, &from);
}

bool fc_c_free_index(fc_checker *c, fc_call *f, const fc_expr *name) {
    const bool define = f->stmt && f->stmt->kind == FC_ST_DEFINE && f->root == f->stmt->value &&
                        !fc_c_collects(f, f->stmt);
    const fc_stmt *s = f->stmt;
    if (define && strcmp(s->targets->text, name->text) == 0) {
        fc_diag *d = fc_c_error(c, FUSEC_RECURSION, name->at,
                                "`%s` is defined here, so it can't be read: all elements are "
                                "computed at once",
                                name->text);
        fc_diag_help(d, "a scan, such as cumsum, or `for` goes from element to element");
        return true;
    }
    if (f->pass == FC_ONE_PASS || !access_with(f, name)) return false;
    for (uint32_t i = 0; i < c->ds->len; i++) { /* one message for all of its places */
        const fc_diag *d = c->ds->at[i];
        for (const fc_diag_part *p = d->partners.first; p && d->code == FUSEC_FREE_INDEX;
             p = p->next)
            if (d->src == f->ast->src && p->at.begin == name->at.begin) return true;
    }
    fc_diag *d = fc_c_error(c, FUSEC_FREE_INDEX, name->at,
                            define ? "the index `%s` is on the right but not on the left"
                                   : "the index `%s` is not named by a reduction",
                            name->text);
    where_it_runs(c, f, name, d);
    const char *value = fc_c_quote(c, f->root->outer);
    if (define && strlen(value) < 60) {
        fc_range left = {s->targets->at.begin, f->root->outer.begin};
        fc_diag_help(d, "%s sum[%s](%s)", fc_c_quote(c, left), name->text, value);
    }
    return true;
}
