/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_find.c - which kernels become one launch of cuda_flash.c.
 *
 * In: kernels that follow each other, without sizes. Out: which axes of theirs are the same one. */
#include <math.h>

#include "codegen/cuda/cuda_flash_facts.h"

enum { MOST_AXES = 8 }; /* of what is passed on: loops of a form inside each other are few */

/* Walked by one axis of the kernel, one by one; where it begins is for sizes to say. */
static bool is_simple(const fc_map *m) {
    return m->axis >= 0 && m->step == 1 && !m->next;
}

/* The axes of an access, which are different ones. */
static bool axes_of(const fc_access *a, uint32_t *axis) {
    uint64_t seen = 0;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (!is_simple(&a->map[i]) || seen >> a->map[i].axis & 1) return false;
        seen |= (uint64_t)1 << a->map[i].axis;
        axis[i] = (uint32_t)a->map[i].axis;
    }
    return !a->pair;
}

/* Code whose elements can be made one by one, anywhere. */
static bool is_plain(const fc_kernel *k) {
    return !k->updates.len && !k->checks.len && !k->records.len && !k->loops.len && !k->externs.len;
}

/* The one access of a kernel to a buffer of the plan, which is read nowhere else. */
static bool reads_once(const fc_kernel *k, uint32_t buffer, uint32_t *access) {
    uint32_t found = 0;
    for (uint32_t a = 0; a < k->accesses.len; a++) {
        const fc_access *x = &k->accesses.at[a];
        if (x->buffer == FC_NO_BUFFER || k->args.at[x->buffer].buffer != buffer) continue;
        *access = a;
        found++;
    }
    for (size_t i = 0; i < k->code.ins.len; i++)
        if (k->code.ins.at[i].op == FC_OP_LOAD_AT &&
            k->args.at[k->code.ins.at[i].imm].buffer == buffer)
            return false;
    return found == 1;
}

static bool is_product(const fc_kernel *k) {
    return k->schedule == FC_SCHED_DOT && k->nr == 1 && k->reductions.len == 1 &&
           fc_is_half((fusec_dtype)k->reductions.at[0].half);
}

/* Rows whose reductions a thread can do with a part of them: those that come in the order of the
 * tree have accumulators for 128 lanes, which are one number each. */
static bool is_of_rows(const fc_kernel *k) {
    unsigned in_order = 0; /* of the stage */
    if ((k->schedule != FC_SCHED_INNER && k->schedule != FC_SCHED_OUTER) || k->nr != 1)
        return false;
    for (size_t r = 0; r < k->reductions.len; r++) {
        const fc_reduction *x = &k->reductions.at[r];
        if (!r || x->stage != k->reductions.at[r - 1].stage) in_order = 0;
        in_order += !fc_cuda_any_order(x);
        if (fc_red_components(x) != 1 || fc_dtypes[x->dtype].bytes != 4 || in_order > 1)
            return false;
    }
    return true;
}

/* The last part: it sums over the columns of what it takes, and one axis is its own. */
static bool find_across(const fc_kernel *k, fc_flash *f) {
    const uint32_t *axis = f->axis[f->n - 1];
    uint64_t own = ((uint64_t)1 << k->np) - 1;
    for (uint32_t i = 0; i + 1 < f->rank; i++) own &= ~((uint64_t)1 << axis[i]);
    if (k->np != f->rank || axis[f->rank - 1] != k->np || !own) return false;
    f->across = 0;
    while (!(own >> f->across & 1)) f->across++;
    return true;
}

/* The axes of what part `i` stores and the next one takes, in the order of its array. */
static bool find_passed(const fc_joined *j, uint32_t i, fc_flash *f, uint32_t *from, uint32_t *to) {
    const fc_kernel *k = j->kernel[i], *next = j->kernel[i + 1];
    if (k->stores.len != 1) return false;
    const fc_access *a = &k->accesses.at[k->stores.at[0].access];
    if (!axes_of(a, from) || a->rank != k->np + (i ? 1 : 0) || (i && a->rank != f->rank))
        return false;
    f->rank = a->rank;
    if (f->rank < 2 || f->rank > MOST_AXES ||
        !reads_once(next, k->args.at[a->buffer].buffer, &f->taken[i + 1]))
        return false;
    const fc_access *taken = &next->accesses.at[f->taken[i + 1]];
    return taken->rank == f->rank && axes_of(taken, to);
}

/* Arrays that are passed on may have their axes in any order: here the columns, which the second
 * part reduces, come last. */
static bool find_axes(const fc_joined *j, fc_flash *f) {
    uint32_t from[FC_MAX_AXES], to[FC_MAX_AXES], columns = 0, n = 0;
    if (!find_passed(j, 0, f, from, to)) return false;
    while (columns < f->rank && to[columns] != j->kernel[1]->np) columns++;
    if (columns == f->rank) return false;
    for (uint32_t a = 0; a < f->rank; a++) {
        const uint32_t at = a == columns ? f->rank - 1 : n++;
        f->axis[0][at] = from[a];
        f->axis[1][at] = to[a];
    }
    if (j->n == 2) return true;
    if (j->kernel[1]->np != f->rank - 1 || !find_passed(j, 1, f, from, to)) return false;
    for (uint32_t at = 0; at < f->rank; at++) {
        uint32_t a = 0;
        while (a < f->rank && from[a] != f->axis[1][at]) a++;
        if (a == f->rank) return false;
        f->axis[2][at] = to[a];
    }
    return true;
}

bool fc_flash_find(const fc_joined *j, fc_flash *out) {
    fc_flash f = {.n = j->n};
    if (j->n < 2 || !is_product(j->kernel[0]) || !is_product(j->kernel[j->n - 1])) return false;
    if (j->n == 3 && !is_of_rows(j->kernel[1])) return false;
    for (uint32_t i = 0; i < j->n; i++)
        if (!is_plain(j->kernel[i])) return false;
    if (!find_axes(j, &f) || !find_across(j->kernel[f.n - 1], &f)) return false;
    for (uint32_t i = 0; i < f.n; i++) {
        f.axis[i][f.rank] = i ? FC_FLASH_NONE : j->kernel[0]->np;
        f.axis[i][f.rank + 1] = i + 1 < f.n ? FC_FLASH_NONE : f.across;
    }
    *out = f;
    return true;
}

void fc_flash_set_rows(fc_flash *f, uint32_t axis) {
    for (uint32_t i = 0; i < f->n; i++) {
        const uint32_t own = f->axis[i][axis];
        for (uint32_t a = axis; a + 2 < f->rank; a++) f->axis[i][a] = f->axis[i][a + 1];
        f->axis[i][f->rank - 2] = own;
    }
}

/* ---- a softmax ------------------------------------------------------------------------------- */

static const fc_instr *at(const fc_kernel *k, fc_val v) {
    return &k->code.ins.at[v];
}

static bool is_acc(const fc_kernel *k, fc_val v, uint32_t reduction) {
    return at(k, v)->op == FC_OP_ACC && fc_acc_reduction(at(k, v)) == reduction;
}

/* x - largest, which may have become fma(a, b, -largest) for an x of a*b. */
static bool is_distance(const fc_kernel *k, fc_val v, fc_val x) {
    const fc_instr *i = at(k, v), *of = at(k, x);
    if (i->op == FC_OP_sub) return i->a == x && is_acc(k, i->b, 0);
    return i->op == FC_OP_fma && of->op == FC_OP_mul && i->a == of->a && i->b == of->b &&
           at(k, i->c)->op == FC_OP_neg && is_acc(k, at(k, i->c)->a, 0);
}

static bool is_share(const fc_kernel *k, fc_val v, fc_val of) {
    const fc_instr *i = at(k, v);
    if (i->op == FC_OP_CAST && fc_is_half((fusec_dtype)i->dtype)) i = at(k, i->a);
    if (i->op == FC_OP_div) return i->a == of && is_acc(k, i->b, 1);
    if (i->op != FC_OP_mul) return false;
    const fc_val by = i->a == of ? i->b : i->b == of ? i->a : FC_NOVAL;
    if (by == FC_NOVAL) return false;
    const fc_instr *inverse = at(k, by);
    return (inverse->op == FC_OP_div && at(k, inverse->a)->op == FC_OP_CONST &&
            at(k, inverse->a)->imm == 0x3f800000u && is_acc(k, inverse->b, 1)) ||
           (inverse->op == FC_OP_reciprocal && is_acc(k, inverse->a, 1));
}

bool fc_flash_is_softmax(const fc_kernel *k) {
    if (k->reductions.len != 2 || k->nstages != 2) return false;
    const fc_reduction *largest = &k->reductions.at[0], *sum = &k->reductions.at[1];
    if (largest->op != FC_OP_max || sum->op != FC_OP_sum || sum->stage != 1) return false;
    if (largest->dtype != FUSEC_F32 || sum->dtype != FUSEC_F32) return false;
    const fc_instr *e = at(k, sum->value[0]);
    return e->op == FC_OP_exp && is_distance(k, e->a, largest->value[0]) &&
           is_share(k, k->stores.at[0].value, sum->value[0]);
}

/* ---- a mask ---------------------------------------------------------------------------------- */

enum { MOST_ROOTS = 16 };

/* What is made of an element: for reductions and what is stored, or the left operand. */
static size_t roots_of(const fc_joined *j, fc_val roots[MOST_ROOTS]) {
    const fc_kernel *k = j->kernel[1];
    size_t n = 0;
    if (j->n == 2) {
        roots[n++] = k->reductions.at[0].value[j->cls[1].cuda.dot_swapped];
        return n;
    }
    for (size_t r = 0; r < k->reductions.len && n + 1 < MOST_ROOTS; r++)
        roots[n++] = k->reductions.at[r].value[0];
    roots[n++] = k->stores.at[0].value;
    return n;
}

fusec_status fc_flash_find_mask(const fc_joined *j, const fc_flash *f, bool finite,
                                const fc_alloc *alloc, fc_mask *out) {
    fc_val roots[MOST_ROOTS];
    fc_mask_query q = {.roots = roots, .along = f->axis[1][f->rank - 1], .finite = finite};
    q.n = roots_of(j, roots);
    for (uint32_t a = 0; a + 1 < f->rank; a++)
        if (f->axis[0][a] != j->cls[0].cuda.dot_axis) q.apart |= (uint64_t)1 << f->axis[1][a];
    return fc_mask_find(j->kernel[1], &q, alloc, out);
}

bool fc_flash_hides_all(const fc_joined *j, const fc_mask *m) {
    const fc_reduction *r = &j->kernel[1]->reductions.at[0];
    double value;
    if (j->n == 3) return fc_mask_constant(m, m->map[r->value[0]], &value) && value == -INFINITY;
    return fc_mask_constant(m, m->map[r->value[j->cls[1].cuda.dot_swapped]], &value) && value == 0;
}
