/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_put.c - stores at computed elements.
 *
 * In: an FC_OP_PUT_AT. Out: one store for each lane, in turn: lanes may go to one element. What
 * other tasks may do at the same time is an atomic of integers; a smallest or largest value looks
 * at the element first, as most find that another one has been there.
 *
 * Of arrays with few elements a task has copies of its own on the stack, several of them so that
 * neighbouring lanes do not wait for each other, and puts what has come together into the array at
 * its end. */
#include "codegen/llvm/llvm_text.h"

enum { LATER = 64 /* elements */ };
enum { COPIES = 4, COPIED = 32 << 10 /* bytes of all of them */ };

/* How many copies of an array a task has. */
static unsigned copies(const fc_ll *f, fusec_dtype t) {
    unsigned n = COPIES;
    while (n > 1 && n * f->cls->llvm.copied * fc_dtypes[t].bytes > COPIED) n /= 2;
    return n;
}

/* ---- one update ------------------------------------------------------------------------------ */

typedef struct put {
    const fc_update *u;
    fusec_dtype t;
    unsigned W;
    const char *array, *element, *value;
    const char *indices, *more; /* an element is more + indices[lane]; NULL: it is not */
    fusec_dtype of;             /* of the indices */
} put;

/* An index that is read from memory is read again for its lane: that takes one instruction where
 * taking it out of a vector takes three. `v` is followed down to the load. */
static bool find_indices(fc_ll *f, fc_val v, fc_val when, put *p) {
    const fc_instr *i = &f->code.ins.at[v];
    if (i->op == FC_OP_where && i->a == when) return find_indices(f, i->b, when, p);
    if (i->op == FC_OP_add) {
        const bool left = f->uniform[i->a];
        if (!left && !f->uniform[i->b]) return false;
        const char *by = fc_ll_here(f, left ? i->a : i->b, 1);
        p->more = p->more ? fc_ll_bin(f, "add", p->more, by) : by;
        return find_indices(f, left ? i->b : i->a, when, p);
    }
    if (i->op == FC_OP_CVT || i->op == FC_OP_CAST) i = &f->code.ins.at[i->a];
    if (i->op != FC_OP_LOAD || !fc_is_int((fusec_dtype)i->dtype) || (f->tile && f->tile[i->imm]))
        return false;
    const char *first = fc_ll_first_index(f, (uint32_t)i->imm);
    p->of = (fusec_dtype)i->dtype;
    if (first) p->indices = fc_ll_element(f, (uint32_t)i->imm, first);
    return first != NULL;
}

static const char *element_of(fc_ll *f, const put *p, const char *indices, unsigned e) {
    const char *type = fc_ll_stored(f, p->of, 1);
    const unsigned bytes = fc_dtypes[p->of].bytes;
    const char *at = fc_ll_ins(f, "getelementptr %s, ptr %s, i64 %u", type, indices, e);
    const char *v = fc_ll_ins(f, "load %s, ptr %s, align %u", type, at, bytes);
    if (bytes == 8) return v;
    return fc_ll_ins(f, "%cext %s %s to i64", fc_is_unsigned(p->of) ? 'z' : 's', type, v);
}

/* What a later vector of a whole one will take. The code between two of them is long, so a
 * processor that waits for their elements has but a few under way. The last vectors ask for those
 * of the last one. */
static void ask_for_later(fc_ll *f, const put *p) {
    const char *type = fc_ll_stored(f, p->of, 1), *of = fc_ll_stored(f, p->t, 1);
    const char *more = fc_ll_bin(f, "sub", f->left, fc_ll_number(f, p->W));
    const char *by = fc_ll_min(f, more, fc_ll_number(f, LATER));
    const char *indices = fc_ll_index(f, type, p->indices, by);
    for (unsigned e = 0; e < p->W; e++)
        fc_ll_ask(f, fc_ll_index(f, of, p->array, element_of(f, p, indices, e)), 1);
}

static bool asks(const fc_ll *f, unsigned W) {
    return f->cls->llvm.reach && f->left && W > 1 && W == f->V;
}

void fc_ll_ask_at(fc_ll *f, const fc_instr *i, unsigned W) {
    put p = {.t = (fusec_dtype)i->dtype, .W = W};
    if (!asks(f, W) || !find_indices(f, i->a, i->b, &p)) return;
    fc_ll_if whole;
    fc_ll_if_begin(f, &whole, f->whole);
    p.array = fc_ll_word(f, f->lay.args + (uint32_t)i->imm, "ptr");
    if (p.more) p.array = fc_ll_index(f, fc_ll_stored(f, p.t, 1), p.array, p.more);
    ask_for_later(f, &p);
    fc_ll_if_else(f, &whole);
    fc_ll_if_end(f, &whole);
}

static const char *lane(fc_ll *f, const put *p, const char *v, fusec_dtype t, unsigned e) {
    if (p->W == 1) return v;
    return fc_ll_ins(f, "extractelement %s %s, i32 %u", fc_ll_type(f, t, p->W), v, e);
}

/* The element takes the value in, if it is any better. */
static void compared(fc_ll *f, const put *p, const char *at, const char *v, bool alone) {
    const char *type = fc_ll_stored(f, p->t, 1), *sign = fc_is_unsigned(p->t) ? "u" : "s";
    const unsigned bytes = fc_dtypes[p->t].bytes;
    const bool least = p->u->op == FC_OP_min;
    const char *old =
        alone ? fc_ll_ins(f, "load %s, ptr %s, align %u", type, at, bytes)
              : fc_ll_ins(f, "load atomic %s, ptr %s monotonic, align %u", type, at, bytes);
    const char *better =
        fc_ll_ins(f, "icmp %s%s %s %s, %s", sign, least ? "lt" : "gt", type, v, old);
    if (alone) {
        const char *now = fc_ll_select(f, type, 1, better, v, old);
        fc_ll_line(f, "store %s %s, ptr %s, align %u", type, now, at, bytes);
        return;
    }
    fc_ll_if takes;
    fc_ll_if_begin(f, &takes, better);
    fc_ll_ins(f, "atomicrmw %s%s ptr %s, %s %s monotonic", fc_is_unsigned(p->t) ? "u" : "",
              least ? "min" : "max", at, type, v);
    fc_ll_if_else(f, &takes);
    fc_ll_if_end(f, &takes);
}

static void put_lane(fc_ll *f, const put *p, unsigned e) {
    const char *type = fc_ll_stored(f, p->t, 1);
    const unsigned bytes = fc_dtypes[p->t].bytes;
    const bool own = f->cls->llvm.copied, alone = f->cls->llvm.alone || own;
    const char *element =
        p->indices ? element_of(f, p, p->indices, e) : lane(f, p, p->element, FUSEC_I64, e);
    const char *at = fc_ll_index(f, type, p->array, element);
    if (own && e % copies(f, p->t))
        at = fc_ll_ins(f, "getelementptr %s, ptr %s, i64 %u", type, at,
                       e % copies(f, p->t) * f->cls->llvm.copied);
    const char *v = fc_ll_pack(f, p->t, 1, lane(f, p, p->value, p->t, e));
    if (p->u->op == FC_OP_NONE) {
        fc_ll_line(f, "store %s %s, ptr %s, align %u", type, v, at, bytes);
    } else if (p->u->op != FC_OP_sum) {
        compared(f, p, at, v, alone);
    } else if (alone) {
        const char *old = fc_ll_ins(f, "load %s, ptr %s, align %u", type, at, bytes);
        fc_ll_line(f, "store %s %s, ptr %s, align %u", type,
                   fc_ll_ins(f, "add %s %s, %s", type, old, v), at, bytes);
    } else {
        fc_ll_ins(f, "atomicrmw add ptr %s, %s %s monotonic", at, type, v);
    }
}

static void put_lanes(fc_ll *f, const put *p, const char *mask) {
    for (unsigned e = 0; e < p->W; e++) {
        fc_ll_if there;
        if (mask) {
            const char *one =
                p->W == 1 ? mask
                          : fc_ll_ins(f, "extractelement <%u x i1> %s, i32 %u", p->W, mask, e);
            fc_ll_if_begin(f, &there, one);
        }
        put_lane(f, p, e);
        if (!mask) continue;
        fc_ll_if_else(f, &there);
        fc_ll_if_end(f, &there);
    }
}

/* Nearly everywhere all lanes are stored, and nothing has to be asked of each. */
const char *fc_ll_put_at(fc_ll *f, fc_val v, unsigned W) {
    const fc_instr *i = &f->code.ins.at[v], *when = &f->code.ins.at[i->b];
    const bool always = when->op == FC_OP_CONST && when->imm;
    const fc_update *u = &f->k->updates.at[i->imm];
    put p = {.u = u,
             .t = (fusec_dtype)f->k->args.at[u->arg].dtype,
             .W = W,
             .array = f->own ? f->own[i->imm] : fc_ll_word(f, f->lay.args + u->arg, "ptr"),
             .element = fc_ll_here(f, i->a, W),
             .value = fc_ll_here(f, i->c, W)};
    const char *holds = fc_ll_here(f, i->b, W), *mask = always ? NULL : holds;
    if (W > 1 && find_indices(f, i->a, i->b, &p) && p.more)
        p.array = fc_ll_index(f, fc_ll_stored(f, p.t, 1), p.array, p.more);
    if (W > 1 && f->mask)
        mask = mask ? fc_ll_ins(f, "and <%u x i1> %s, %s", W, f->mask, mask) : f->mask;
    if (W > 1 && mask) {
        fc_ll_if all;
        fc_ll_if_begin(f, &all, fc_ll_all_lanes(f, W, mask));
        if (p.indices && asks(f, W)) ask_for_later(f, &p);
        put_lanes(f, &p, NULL);
        fc_ll_if_else(f, &all);
        put_lanes(f, &p, mask);
        fc_ll_if_end(f, &all);
    } else {
        put_lanes(f, &p, mask);
    }
    return holds;
}

/* ---- copies of a task ------------------------------------------------------------------------ */

static fusec_dtype dtype_of(const fc_ll *f, const fc_update *u) {
    return (fusec_dtype)f->k->args.at[u->arg].dtype;
}

static const char *start_of(fc_ll *f, const fc_update *u) {
    const fusec_dtype t = dtype_of(f, u);
    const uint64_t start = u->op == FC_OP_sum   ? 0
                           : u->op == FC_OP_min ? fc_const_max(t)
                                                : fc_const_min(t);
    return fc_ll_const(f, t, start, 1);
}

void fc_ll_own_begin(fc_ll *f) {
    f->own = fc_ll_names(f, f->k->updates.len);
    for (size_t i = 0; i < f->k->updates.len; i++) {
        const fc_update *u = &f->k->updates.at[i];
        const fusec_dtype t = dtype_of(f, u);
        const char *type = fc_ll_stored(f, t, 1), *start = start_of(f, u);
        const unsigned all = copies(f, t) * f->cls->llvm.copied;
        fc_ll_loop l;
        f->own[i] = fc_ll_array(f, t, all);
        const char *n = fc_ll_for(f, &l, "0", fc_ll_number(f, all));
        fc_ll_line(f, "store %s %s, ptr %s, align %u", type, start,
                   fc_ll_index(f, type, f->own[i], n), fc_dtypes[t].bytes);
        fc_ll_for_end(f, &l, "1");
    }
}

/* Two copies of an element together. */
static const char *joined(fc_ll *f, const fc_update *u, const char *a, const char *b) {
    const fusec_dtype t = dtype_of(f, u);
    const char *type = fc_ll_stored(f, t, 1), *sign = fc_is_unsigned(t) ? "u" : "s";
    if (u->op == FC_OP_sum) return fc_ll_ins(f, "add %s %s, %s", type, a, b);
    const char *better =
        fc_ll_ins(f, "icmp %s%s %s %s, %s", sign, u->op == FC_OP_min ? "lt" : "gt", type, b, a);
    return fc_ll_select(f, type, 1, better, b, a);
}

void fc_ll_own_end(fc_ll *f) {
    for (size_t i = 0; i < f->k->updates.len; i++) {
        const fc_update *u = &f->k->updates.at[i];
        const fusec_dtype t = dtype_of(f, u);
        const char *type = fc_ll_stored(f, t, 1), *v = NULL;
        const char *size = fc_ll_word(f, f->lay.params + u->size, "i64");
        const unsigned bytes = fc_dtypes[t].bytes;
        fc_ll_loop l;
        fc_ll_if some;
        const char *n = fc_ll_for(f, &l, "0", size);
        for (unsigned c = 0; c < copies(f, t); c++) {
            const char *at = fc_ll_bin(f, "add", n, fc_ll_number(f, c * f->cls->llvm.copied));
            const char *one = fc_ll_ins(f, "load %s, ptr %s, align %u", type,
                                        fc_ll_index(f, type, f->own[i], at), bytes);
            v = v ? joined(f, u, v, one) : one;
        }
        fc_ll_if_begin(f, &some, fc_ll_ins(f, "icmp ne %s %s, %s", type, v, start_of(f, u)));
        fc_ll_ins(f, "atomicrmw %s ptr %s, %s %s monotonic",
                  u->op == FC_OP_sum   ? "add"
                  : u->op == FC_OP_min ? fc_is_unsigned(t) ? "umin" : "min"
                  : fc_is_unsigned(t)  ? "umax"
                                       : "max",
                  fc_ll_index(f, type, fc_ll_word(f, f->lay.args + u->arg, "ptr"), n), type, v);
        fc_ll_if_else(f, &some);
        fc_ll_if_end(f, &some);
        fc_ll_for_end(f, &l, "1");
    }
    f->own = NULL;
}
