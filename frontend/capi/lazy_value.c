/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy_value.c - values of no graph: making them, counting, facts. */
#include "frontend/capi/lazy.h"

#include "ir/float_state.h"

/* ---- memory ---------------------------------------------------------------------------------- */

fc_held *fc_held_new(fusec_context *c) {
    fc_held *h = fc_calloc(&c->alloc, 1, sizeof *h);
    if (!h) return NULL;
    atomic_init(&h->refs, 1);
    h->ctx = c;
    return h;
}

/* Under no lock: the user's function may do what it likes. */
void fc_held_release(fc_held *h) {
    if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1) return;
    fc_device *d = h->ctx->device;
    if (h->owned && h->stream)
        d->ops->free_used(d, h->data); /* the stream may not exist any more */
    else if (h->owned)
        d->ops->free(d, NULL, h->data);
    if (h->release) h->release(h->user);
    fc_free(&h->ctx->alloc, h);
}

/* ---- counting -------------------------------------------------------------------------------- */

void fusec_lazy_retain(fusec_lazy *v) {
    if (v) atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
}

/* Who has the only reference needs no atomic step: nobody else can count. */
static bool is_last(fusec_lazy *v) {
    return v && (atomic_load_explicit(&v->refs, memory_order_acquire) == 1 ||
                 atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1);
}

/* Operands may form chains of any length. */
void fusec_lazy_release(fusec_lazy *v) {
    if (!is_last(v)) return;
    v->next = NULL;
    while (v) {
        fusec_lazy *todo = v->next;
        for (int i = 0; i < v->nops; i++) {
            if (!is_last(v->src[i])) continue;
            v->src[i]->next = todo;
            todo = v->src[i];
        }
        fc_held_release(atomic_load_explicit(&v->held, memory_order_relaxed));
        if (v->src != v->few) fc_free(&v->ctx->alloc, v->src);
        fc_free(&v->ctx->alloc, v);
        v = todo;
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

static fusec_lazy *new_value(fusec_context *c, int op, fusec_dtype t, uint32_t rank,
                             const int64_t *shape, uint32_t nattr) {
    fusec_lazy *v = fc_malloc(&c->alloc, sizeof *v + (rank + nattr) * sizeof *v->words);
    if (!v) return NULL;
    atomic_init(&v->refs, 1);
    v->op = (uint16_t)op;
    v->dtype = (uint8_t)t;
    v->rank = (uint8_t)rank;
    v->nops = v->most_ops = 0;
    v->src = v->few;
    v->keepdims = v->strided = false;
    v->mode = v->naxes = v->nlist = v->ntext = 0;
    v->nattr = (uint8_t)nattr;
    v->depth = 0;
    v->round = v->number = 0;
    v->ctx = c;
    atomic_init(&v->held, NULL);
    v->bits = v->more = 0;
    for (uint32_t i = 0; i < rank; i++) v->words[i] = shape[i];
    return v;
}

static fusec_status no_memory(void) {
    return fc_report_text(FUSEC_OUT_OF_MEMORY, "out of memory");
}

static fusec_status start(const char *what, const fusec_context *c, fusec_lazy **out) {
    if (!out) return fc_report_text(FUSEC_INVALID, "%s: the result pointer is NULL", what);
    *out = NULL;
    return c ? FUSEC_OK : fc_report_text(FUSEC_INVALID, "%s: the context is NULL", what);
}

fusec_status fusec_lazy_from(fusec_context *c, const fusec_tensor *t, void (*release)(void *),
                             void *user, fusec_lazy **out) {
    fc_error e = {0};
    fc_device *d;
    fc_tensor a;
    FC_TRY(start("fusec_lazy_from", c, out));
    if (!t) return fc_report_text(FUSEC_INVALID, "fusec_lazy_from: the array is NULL");
    if (fc_open_device(c, &d, &e) || fc_take_tensor(d, "the", "array", t, true, &a, &e))
        return fc_report(&e);
    fc_held *h = fc_held_new(c);
    fusec_lazy *v =
        h ? new_value(c, FC_OP_INPUT, a.dtype, a.rank, a.shape, a.strides ? a.rank : 0) : NULL;
    if (!v) {
        fc_free(&c->alloc, h);
        return no_memory();
    }
    if (a.strides) memcpy(v->words + a.rank, a.strides, a.rank * sizeof *v->words);
    v->strided = a.strides != NULL;
    h->data = a.data;
    h->release = release;
    h->user = user;
    h->on_device = a.on_device;
    atomic_init(&v->held, h);
    *out = v;
    return FUSEC_OK;
}

static fusec_status number(fusec_context *c, fusec_dtype t, uint64_t bits, fusec_lazy **out) {
    fusec_lazy *v = new_value(c, FC_OP_CONST, t, 0, NULL, 0);
    if (!v) return no_memory();
    v->bits = bits;
    *out = v;
    return FUSEC_OK;
}

static fusec_status check_dtype(const char *what, fusec_dtype t) {
    if ((unsigned)t < FC_DTYPE_ALL) return FUSEC_OK;
    return fc_report_text(FUSEC_INVALID, "%s: %d is not a dtype", what, (int)t);
}

fusec_status fusec_lazy_number(fusec_context *c, fusec_dtype t, double v, fusec_lazy **out) {
    FC_TRY(start("fusec_lazy_number", c, out));
    FC_TRY(check_dtype("fusec_lazy_number", t));
    const fusec_dtype real = fc_is_complex(t) ? fc_part_dtype(t) : t;
    const uint64_t state = fc_float_enter(), bits = fc_const_bits(real, v);
    fc_float_leave(state);
    return number(c, t, bits, out);
}

fusec_status fusec_lazy_integer(fusec_context *c, fusec_dtype t, int64_t v, fusec_lazy **out) {
    FC_TRY(start("fusec_lazy_integer", c, out));
    FC_TRY(check_dtype("fusec_lazy_integer", t));
    const fusec_dtype real = fc_is_complex(t) ? fc_part_dtype(t) : t;
    const uint64_t state = fc_float_enter(), bits = fc_const_int(real, v);
    fc_float_leave(state);
    return number(c, t, bits, out);
}

fusec_status fusec_lazy_scalar(fusec_context *c, fusec_dtype t, const void *element,
                               fusec_lazy **out) {
    uint64_t bits[2] = {0};
    FC_TRY(start("fusec_lazy_scalar", c, out));
    FC_TRY(check_dtype("fusec_lazy_scalar", t));
    if (!element || (unsigned)t >= FC_DTYPE_ALL)
        return fc_report_text(FUSEC_INVALID, "fusec_lazy_scalar: the element is NULL");
    memcpy(bits, element, fc_dtypes[t].bytes);
    FC_TRY(number(c, t, t == FUSEC_BOOL ? bits[0] != 0 : bits[0], out));
    (*out)->more = bits[1];
    return FUSEC_OK;
}

/* ---- operations ------------------------------------------------------------------------------ */

static fusec_status check_operands(const fusec_context *c, int op, int n, fusec_lazy *const *src) {
    const int want = fusec_op_arity(op);
    if (want == -1) return fc_report_text(FUSEC_INVALID, "fusec_lazy_op: %d is no operation", op);
    if (want == FC_ANY_ARITY ? n < 1 || n > FC_MOST_OPERANDS : n != want)
        return fc_report_text(FUSEC_ARGUMENT_COUNT, "%s takes %d operands, but %d were given",
                              fusec_op_name(op), want == FC_ANY_ARITY ? 1 : want, n);
    if (n && !src) return fc_report_text(FUSEC_INVALID, "fusec_lazy_op: the operands are NULL");
    for (int i = 0; i < n; i++)
        if (!src[i] || src[i]->ctx != c)
            return fc_report_text(FUSEC_INVALID, "%s: operand %d %s", fusec_op_name(op), i + 1,
                                  src[i] ? "belongs to another context" : "is NULL");
    return FUSEC_OK;
}

static uint32_t axes_of(const fusec_attr *a) {
    return a->axes ? (uint32_t)a->naxes : 0;
}
static uint32_t list_of(int op, const fusec_attr *a) {
    return a->start && !fc_lazy_takes_shape(op) ? (uint32_t)a->rank : 0;
}
static uint32_t text_words(const fusec_attr *a) {
    return a->text ? (uint32_t)(strlen(a->text) / sizeof(int64_t) + 1) : 0;
}

/* The words an operation's attributes take behind the shape. */
static uint32_t attr_words(int op, const fusec_attr *a, const fc_lazy_type *t,
                           const fusec_lazy *x) {
    if (op == FC_OP_SLICE) return 2 * t->rank;
    if (op == FC_OP_PERMUTE) return t->rank;
    if (fc_lazy_is_composite(op)) return axes_of(a) + 2 * list_of(op, a) + text_words(a);
    if (fusec_op_is_reduction(op)) return a->axes ? (uint32_t)a->naxes : x->rank;
    return 0;
}

/* Axes are counted from the front, and written out where all are meant; what a slice of no or one
 * element does not depend on is 0 and 1. */
static void keep_attr(fusec_lazy *v, const fusec_attr *a, const fusec_lazy *x) {
    int64_t *w = v->words + v->rank;
    if (v->op == FC_OP_SLICE) {
        for (uint32_t i = 0; i < v->rank; i++) {
            w[i] = v->words[i] ? a->start[i] : 0;
            w[v->rank + i] = v->words[i] > 1 && a->step ? a->step[i] : 1;
        }
        return;
    }
    if (fc_lazy_is_composite(v->op)) {
        v->naxes = (uint8_t)axes_of(a);
        v->nlist = (uint8_t)list_of(v->op, a);
        v->ntext = (uint8_t)text_words(a);
        for (uint32_t i = 0; i < v->naxes; i++) w[i] = a->axes[i];
        for (uint32_t i = 0; i < v->nlist; i++) {
            w[v->naxes + i] = a->start[i];
            w[v->naxes + v->nlist + i] = a->step ? a->step[i] : 0;
        }
        if (v->ntext) {
            w += v->naxes + 2 * v->nlist;
            memset(w, 0, v->ntext * sizeof *w);
            memcpy(w, a->text, strlen(a->text));
        }
        return;
    }
    const bool turned = v->op == FC_OP_PERMUTE && !a->axes;
    for (int64_t i = 0; i < v->nattr; i++) {
        w[i] = turned ? x->rank - 1 - i : a->axes ? a->axes[i] : i;
        if (w[i] < 0) w[i] += x->rank;
    }
    v->keepdims = v->op != FC_OP_PERMUTE && v->nattr && a->keepdims;
}

fusec_status fusec_lazy_op(fusec_context *c, int op, int n, fusec_lazy *const *src,
                           const fusec_attr *attr, fusec_lazy **out) {
    fc_lazy_type t;
    fusec_attr a = {0};
    FC_TRY(start("fusec_lazy_op", c, out));
    FC_TRY(check_operands(c, op, n, src));
    if (attr && attr->size < sizeof attr->size)
        return fc_report_text(FUSEC_INVALID, "%s: set attributes up with FUSEC_ATTR_INIT",
                              fusec_op_name(op));
    if (attr) memcpy(&a, attr, attr->size < sizeof a ? attr->size : sizeof a);
    if (fc_lazy_is_composite(op) &&
        (a.naxes < 0 || a.naxes > 1 || a.rank < 0 || a.rank > FC_MAX_RANK))
        return fc_report_text(FUSEC_INVALID, "%s: attributes with %d axes and lists of %d",
                              fusec_op_name(op), (int)a.naxes, (int)a.rank);
    const fc_lazy_row *row = fc_lazy_row_of(op);
    if (!row || !(row->needs & FC_LAZY_TEXT)) a.text = NULL;
    a.dims = NULL; /* sizes of a graph */
    FC_TRY(fc_lazy_infer(c, op, &a, n, src, &t));
    const uint32_t nattr = attr_words(op, &a, &t, n ? src[0] : NULL);
    fusec_lazy *v = new_value(c, op, t.dtype, t.rank, t.shape, nattr);
    if (!v) return no_memory();
    if (fc_lazy_is_composite(op)) v->mode = (uint8_t)a.mode;
    if (nattr) keep_attr(v, &a, src[0]);
    if (n > 3 && !(v->src = fc_malloc(&c->alloc, (size_t)n * sizeof *v->src))) {
        fc_free(&c->alloc, v);
        return no_memory();
    }
    v->nops = v->most_ops = (uint16_t)n;
    for (int i = 0; i < n; i++) {
        fusec_lazy_retain(src[i]);
        v->src[i] = src[i];
        const uint32_t depth = (uint32_t)fusec_lazy_depth(src[i]);
        if (depth > v->depth) v->depth = depth;
    }
    v->depth += v->depth < UINT32_MAX;
    *out = v;
    return FUSEC_OK;
}

/* ---- facts ----------------------------------------------------------------------------------- */

fusec_dtype fusec_lazy_dtype(const fusec_lazy *v) {
    return v ? (fusec_dtype)v->dtype : FUSEC_NO_DTYPE;
}

int fusec_lazy_rank(const fusec_lazy *v) {
    return v ? v->rank : -1;
}

const int64_t *fusec_lazy_shape(const fusec_lazy *v) {
    return v ? v->words : NULL;
}

int64_t fusec_lazy_depth(const fusec_lazy *v) {
    if (!v || atomic_load_explicit(&((fusec_lazy *)(uintptr_t)v)->held, memory_order_acquire))
        return 0;
    return v->depth;
}
