/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slide_find.c - whether two maps have the form of cuda_slide_facts.h.
 *
 * In: kernels, in whose code a read at an edge is a load of a computed element: the place of the
 * element itself, and how far what stands there is from it (passes/lower_index.c). Out: the reads,
 * and of each part a code of its own that says what stands at a place. It is made for every read,
 * with `place - shift` for the index of the axis; that it is one code for all reads of an array,
 * as equal expressions are one value, is what makes it a function of the place. */
#include "codegen/cuda/cuda_slide_facts.h"
#include "codegen/linear.h"

/* ---- the place of a load --------------------------------------------------------------------- */

enum { MOST_PARTS = 8 };
typedef struct parts {
    fc_val whole; /* index of the element itself */
    fc_val rest[MOST_PARTS];
    unsigned n;
} parts;

static bool is_whole(const fc_kernel *k, const fc_instr *i) {
    return i->op == FC_OP_INDEX && k->accesses.at[i->imm].shape != NULL;
}

static bool split(const fc_kernel *k, fc_val v, parts *p, unsigned depth) {
    const fc_instr *i = &k->code.ins.at[v];
    if (i->op == FC_OP_add)
        return depth && split(k, i->a, p, depth - 1) && split(k, i->b, p, depth - 1);
    if (is_whole(k, i)) {
        if (p->whole != FC_NOVAL) return false;
        p->whole = v;
        return true;
    }
    if (p->n == MOST_PARTS) return false;
    p->rest[p->n++] = v;
    return true;
}

static bool parts_of(const fc_kernel *k, fc_val load, parts *p) {
    *p = (parts){.whole = FC_NOVAL};
    return split(k, k->code.ins.at[load].a, p, MOST_PARTS) && p->whole != FC_NOVAL;
}

static bool constant_of(const fc_kernel *k, fc_val v, int64_t *out) {
    const fc_instr *i = &k->code.ins.at[v];
    int64_t a, b;
    if (i->op == FC_OP_CONST) return *out = (int64_t)i->imm, true;
    return i->op == FC_OP_mul && constant_of(k, i->a, &a) && constant_of(k, i->b, &b) &&
           fc_mul_ok(a, b, out);
}
static bool is_size(const fc_kernel *k, fc_val v) {
    return k->code.ins.at[v].op == FC_OP_CONST || k->code.ins.at[v].op == FC_OP_PARAM;
}

/* Of a load that is rows away: how many, and the elements of a row. False: it is so many elements
 * away, or has another form. */
static bool rows_of(const fc_kernel *k, const parts *p, fc_val *rows, fc_val *length) {
    const fc_instr *i = p->n == 1 ? &k->code.ins.at[p->rest[0]] : NULL;
    int64_t elements;
    if (!i || i->op != FC_OP_mul || constant_of(k, p->rest[0], &elements)) return false;
    const bool left = k->code.ins.at[i->a].op == FC_OP_PARAM || !is_size(k, i->b);
    *length = left ? i->a : i->b;
    *rows = left ? i->b : i->a;
    return is_size(k, *length);
}

static fc_val when_of(const fc_kernel *k, fc_val load) {
    const fc_instr *when = &k->code.ins.at[k->code.ins.at[load].b];
    return when->op == FC_OP_CONST && when->imm ? FC_NOVAL : k->code.ins.at[load].b;
}

/* ---- what stands at a place ------------------------------------------------------------------ */

typedef struct finder {
    fc_slide *out;
    const fc_kernel *k;
    unsigned part;
    int32_t axis;
    const int32_t *shift; /* [instructions] */
    uint8_t *need;        /* [instructions] of the read at hand */
    uint64_t *bits;       /* [instructions] of the load at hand */
    fc_val *made;         /* [instructions] in `code` */
    fc_code *code;
} finder;

/* Whether an index counts along the axis. */
static bool counts(const finder *x, const fc_instr *i) {
    const fc_access *a = &x->k->accesses.at[i->imm];
    return i->op == FC_OP_INDEX && !a->shape && a->rank == 1 && !a->map->next &&
           a->map->step == 1 && a->map->axis == x->axis;
}

static fc_val rebuilt(fc_code *c, const fc_linear *f) {
    fc_val sum = f->constant ? fc_val_i64(c, f->constant) : FC_NOVAL;
    uint64_t had = 0;
    for (unsigned n = 0; n < f->n; n++) { /* in the order of the values */
        unsigned next = FC_LINEAR_TERMS;
        for (unsigned i = 0; i < f->n; i++)
            if (!(had >> i & 1) && (next == FC_LINEAR_TERMS || f->term[i].of < f->term[next].of))
                next = i;
        had |= (uint64_t)1 << next;
        fc_val t = f->term[next].of;
        if (f->term[next].by != 1)
            t = fc_val_op(c, FC_OP_mul, t, fc_val_i64(c, f->term[next].by), FC_NOVAL);
        sum = sum == FC_NOVAL ? t : fc_val_op(c, FC_OP_add, sum, t, FC_NOVAL);
    }
    return sum == FC_NOVAL ? fc_val_i64(c, 0) : sum;
}

static fc_val linear(fc_code *c, fc_val v) {
    fc_linear f = {0};
    return v != FC_NOVAL && fc_linear_add(c, v, 1, &f) ? rebuilt(c, &f) : FC_NOVAL;
}

static fc_val plus(fc_code *c, fc_val a, fc_val b) {
    if (a == FC_NOVAL || b == FC_NOVAL) return FC_NOVAL;
    return linear(c, fc_val_op(c, FC_OP_add, a, b, FC_NOVAL));
}

/* An instruction whose operands are made; FC_NOVAL: it depends on more than the place. */
static fc_val made(finder *x, fc_val v, int32_t shift) {
    const fc_instr *i = &x->k->code.ins.at[v];
    fc_val of[3] = {FC_NOVAL, FC_NOVAL, FC_NOVAL};
    if (i->op == FC_OP_CONST || i->op == FC_OP_PARAM) return fc_code_add(x->code, *i);
    if (i->op == FC_OP_INDEX && counts(x, i))
        return plus(x->code, fc_code_add(x->code, *i), fc_val_i64(x->code, -(int64_t)shift));
    if (!fc_is_elementwise(i->op) && i->op != FC_OP_CVT) return FC_NOVAL;
    for (int n = 0; n < fc_instr_arity(i); n++) {
        of[n] = x->made[fc_instr_operand(i, n)];
        if (of[n] == FC_NOVAL) return FC_NOVAL;
    }
    if (i->op == FC_OP_CVT) return fc_val_cvt(x->code, of[0], (fusec_dtype)i->dtype);
    const fc_val r = fc_val_op(x->code, (fc_op)i->op, of[0], of[1], of[2]);
    return fc_is_linear_row(i) ? linear(x->code, r) : r;
}

/* Makes what is needed of a load, as a function of its place. */
static void make(finder *x, const fc_val *roots, unsigned n, int32_t shift) {
    memset(x->need, 0, x->k->code.ins.len);
    fc_kernel_slice(&x->k->code, roots, n, x->need);
    for (fc_val v = 0; v < x->k->code.ins.len; v++)
        x->made[v] = x->need[v] ? made(x, v, shift) : FC_NOVAL;
}

/* The place itself, in the code of the part; FC_NOVAL: no index of the kernel counts along the
 * axis. */
static fc_val place_itself(finder *x) {
    for (uint32_t v = 0; v < x->k->code.ins.len; v++)
        if (x->k->code.ins.at[v].op == FC_OP_INDEX && counts(x, &x->k->code.ins.at[v]))
            return fc_code_add(x->code, x->k->code.ins.at[v]);
    return FC_NOVAL;
}

/* Whether a load is so many elements or rows away, and meets no edge. */
static bool is_fixed(const fc_kernel *k, fc_val load, const parts *p) {
    for (unsigned i = 0; i < p->n; i++) {
        const fc_instr *r = &k->code.ins.at[p->rest[i]];
        if (!is_size(k, p->rest[i]) &&
            !(r->op == FC_OP_mul && is_size(k, r->a) && is_size(k, r->b)))
            return false;
    }
    return when_of(k, load) == FC_NOVAL;
}

/* What stands at the place of a load of a computed element. */
static bool stands(finder *x, fc_val load, fc_slide_reads *r) {
    parts p;
    fc_val roots[MOST_PARTS + 1], length, index = place_itself(x);
    unsigned n = 0;
    int64_t elements;
    const int32_t shift = x->shift[load];
    if (!parts_of(x->k, load, &p)) return false;
    r->access = (uint32_t)x->k->code.ins.at[p.whole].imm;
    if (is_fixed(x->k, load, &p)) return true; /* the place itself */
    if (index == FC_NOVAL) return false;
    if (x->part == FC_SLIDE_TAKES && rows_of(x->k, &p, &roots[0], &length))
        n = 1;
    else if (x->part == FC_SLIDE_TAKES &&
             (p.n > 1 || (p.n && !constant_of(x->k, p.rest[0], &elements))))
        return false;
    for (unsigned i = 0; x->part == FC_SLIDE_MAKES && i < p.n; i++) roots[n++] = p.rest[i];
    const unsigned sums = n;
    r->when = when_of(x->k, load);
    if (r->when != FC_NOVAL) roots[n++] = r->when;
    make(x, roots, n, shift);
    if (r->when != FC_NOVAL && (r->when = x->made[r->when]) == FC_NOVAL) return false;
    r->index = index;
    if (x->part == FC_SLIDE_TAKES && !sums) return true; /* so many elements, all of them rows */
    r->index = plus(x->code, r->index, fc_val_i64(x->code, -(int64_t)shift));
    for (unsigned i = 0; i < sums; i++) r->index = plus(x->code, r->index, x->made[roots[i]]);
    return r->index != FC_NOVAL;
}

/* ---- reads of an array ----------------------------------------------------------------------- */

/* Adds a read to those of the same array that agree on what stands beyond its edges, or as one of
 * its own. A load which meets no edge agrees with others among rows, where what stands at a place
 * is the place itself as far as the array goes; columns may be continued where the array goes on.
 */
static bool add(finder *x, fc_val load, fc_slide_reads r) {
    fc_slide *out = x->out;
    const bool rows = x->part == FC_SLIDE_TAKES;
    size_t n = 0;
    r.low = r.high = x->shift[load];
    for (; n < out->reads[x->part].len; n++) {
        fc_slide_reads *to = &out->reads[x->part].at[n];
        const int32_t low = r.low < to->low ? r.low : to->low,
                      high = r.high > to->high ? r.high : to->high;
        const bool any = rows && (to->index == FC_NOVAL || r.index == FC_NOVAL);
        if (to->arg != r.arg || (!rows && to->access != r.access) || high - low >= FC_SLIDE_MOST ||
            (!any && (to->index != r.index || to->when != r.when)))
            continue;
        if (to->index == FC_NOVAL) to->index = r.index, to->when = r.when;
        to->low = low;
        to->high = high;
        break;
    }
    if (n == out->reads[x->part].len && !fc_push(x->code->alloc, &out->reads[x->part], r))
        return false;
    out->of[x->part][load] = (uint16_t)(n + 1);
    return true;
}

uint32_t fc_slide_passed(const fc_joined *j) {
    const fc_kernel *from = j->kernel[FC_SLIDE_MAKES], *to = j->kernel[FC_SLIDE_TAKES];
    const uint32_t buffer =
        from->args.at[from->accesses.at[from->stores.at[0].access].buffer].buffer;
    uint32_t passed = UINT32_MAX;
    for (uint32_t a = 0; a < to->args.len; a++) {
        if (to->args.at[a].buffer != buffer) continue;
        if (passed != UINT32_MAX) return UINT32_MAX;
        passed = a;
    }
    return passed;
}

enum { ELSEWHERE = INT32_MAX }; /* of a shift: the load is no such read */

static bool find_load(finder *x, fc_val v) {
    const fc_instr *i = &x->k->code.ins.at[v];
    fc_slide_reads r = {.index = FC_NOVAL, .when = FC_NOVAL, .dtype = i->dtype};
    if (x->shift[v] == ELSEWHERE) return true;
    if (i->op == FC_OP_LOAD_AT) {
        r.arg = (uint32_t)i->imm;
        if (!stands(x, v, &r)) return false;
    } else {
        /* the shift counts from this one */
        r.access = (uint32_t)i->imm;
        r.arg = x->k->accesses.at[i->imm].buffer;
        for (size_t n = 0; n < x->out->reads[x->part].len; n++) {
            const fc_slide_reads *o = &x->out->reads[x->part].at[n];
            if (x->shift[v] && o->arg == r.arg && o->index == FC_NOVAL) r.access = o->access;
        }
    }
    return add(x, v, r);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Maps of the same axes, of which one stores what the other reads, and nothing that has to be done
 * once for each element. */
static bool is_plain(const fc_kernel *k) {
    return k->schedule == FC_SCHED_MAP && k->np >= 2 && k->stores.len && !k->updates.len &&
           !k->checks.len && !k->loops.len && !k->externs.len && !k->records.len;
}

static bool are_maps(const fc_joined *j) {
    const fc_kernel *from = j->kernel[FC_SLIDE_MAKES], *to = j->kernel[FC_SLIDE_TAKES];
    if (j->n != 2 || !is_plain(from) || !is_plain(to) || from->np != to->np ||
        from->stores.len != 1 || from->accesses.at[from->stores.at[0].access].pair)
        return false;
    return fc_slide_passed(j) != UINT32_MAX;
}

static bool find_part(fc_slide *out, unsigned part) {
    const fc_kernel *k = out->j->kernel[part];
    const fc_alloc *alloc = out->code[part].alloc;
    const size_t n = k->code.ins.len;
    finder x = {.out = out,
                .k = k,
                .part = part,
                .axis = (int32_t)(part == FC_SLIDE_MAKES ? out->column : out->row),
                .shift = out->j->shift[part],
                .code = &out->code[part]};
    x.need = fc_calloc(alloc, n + 1, 1);
    x.made = fc_calloc(alloc, n + 1, sizeof *x.made);
    out->of[part] = fc_calloc(alloc, n + 1, sizeof *out->of[part]);
    bool ok = x.need && x.made && out->of[part];
    for (fc_val v = 0; ok && v < n; v++)
        if (k->code.ins.at[v].op == FC_OP_LOAD || k->code.ins.at[v].op == FC_OP_LOAD_AT)
            ok = find_load(&x, v);
    fc_free(alloc, x.need);
    fc_free(alloc, x.made);
    return ok && out->code[part].status == FUSEC_OK;
}

bool fc_slide_find(const fc_joined *j, fc_slide *out) {
    *out = (fc_slide){.j = j};
    for (unsigned p = 0; p < 2; p++) fc_code_init(&out->code[p], j->kernel[0]->code.alloc);
    if (!are_maps(j) || !j->shift[0] || !j->shift[1]) return false;
    out->column = j->kernel[0]->np - 1;
    out->row = out->column - 1;
    if (!find_part(out, FC_SLIDE_MAKES) || !find_part(out, FC_SLIDE_TAKES)) return false;
    return out->reads[FC_SLIDE_TAKES].len == 1;
}

void fc_slide_free(fc_slide *x) {
    for (unsigned p = 0; p < 2; p++) {
        const fc_alloc *alloc = x->code[p].alloc;
        fc_code_free(&x->code[p]);
        fc_vec_free(alloc, &x->reads[p]);
        fc_free(alloc, x->of[p]);
        x->of[p] = NULL;
    }
}

/* ---- shifts ---------------------------------------------------------------------------------- */

static int64_t stride(const fc_joined *j, unsigned part, uint32_t access, uint32_t axis) {
    return j->nest[part]->stride[(size_t)access * j->kernel[part]->np + axis];
}

/* Elements from row to row of what is passed on. */
static int64_t row_length(const fc_joined *j) {
    const fc_kernel *k = j->kernel[FC_SLIDE_MAKES];
    return stride(j, FC_SLIDE_MAKES, k->stores.at[0].access, k->np - 2);
}

/* Whether an access goes over what is passed on as the one that stores it does. */
static bool walks_alike(const fc_joined *j, uint32_t access) {
    const fc_kernel *k = j->kernel[FC_SLIDE_MAKES];
    for (uint32_t a = 0; a < k->np; a++)
        if (stride(j, FC_SLIDE_TAKES, access, a) !=
            stride(j, FC_SLIDE_MAKES, k->stores.at[0].access, a))
            return false;
    return true;
}

/* What code gives in the middle of the axis. */
static bool in_the_middle(finder *x, const fc_val *roots, unsigned n) {
    const fc_nest *nest = x->out->j->nest[x->part];
    const fc_code *c = &x->k->code;
    memset(x->need, 0, c->ins.len);
    fc_kernel_slice(c, roots, n, x->need);
    for (fc_val v = 0; v < c->ins.len; v++)
        if (x->need[v] && c->ins.at[v].op == FC_OP_INDEX && nest->offset[c->ins.at[v].imm])
            return false;
    return fc_slide_eval(x->k, c, x->need, x->out->j->values, nest->extent[x->axis] / 2, x->bits);
}

/* Of a load at a computed element: what it is far from any edge. Others may be as far from what
 * they read as they like, as long as all agree on what stands at a place. */
static bool computed_shift(finder *x, fc_val load, int32_t *shift) {
    const fc_joined *j = x->out->j;
    const bool rows = x->part == FC_SLIDE_TAKES;
    const int64_t unit = rows ? row_length(j) : 1;
    parts p;
    fc_val roots[MOST_PARTS + 1], by, length;
    int64_t sum = 0;
    if (!parts_of(x->k, load, &p)) return false;
    const uint32_t whole = (uint32_t)x->k->code.ins.at[p.whole].imm;
    if (j->nest[x->part]->offset[whole] ||
        (rows ? !walks_alike(j, whole) : stride(j, x->part, whole, x->out->column) != 1))
        return false;
    memcpy(roots, p.rest, sizeof p.rest);
    roots[p.n] = when_of(x->k, load);
    if (!in_the_middle(x, roots, p.n + (roots[p.n] != FC_NOVAL))) return false;
    if (rows && rows_of(x->k, &p, &by, &length) && (int64_t)x->bits[length] != unit) return false;
    for (unsigned i = 0; i < p.n; i++)
        if (!fc_add_ok(sum, (int64_t)x->bits[p.rest[i]], &sum)) return false;
    if (sum % unit || fc_magnitude(sum / unit) > FC_SLIDE_MOST) return false;
    *shift = (int32_t)(sum / unit);
    return true;
}

/* Whether loads of it may come ahead: neighbours lie side by side, and rows are not all one. */
static bool may_come(const finder *x, uint32_t access) {
    const fc_joined *j = x->out->j;
    return !x->k->accesses.at[access].pair && stride(j, x->part, access, x->out->column) == 1 &&
           stride(j, x->part, access, x->out->row);
}

/* The first such load of the array; whether this access walks over it alike. */
static bool like_the_first(const finder *x, uint32_t access, uint32_t *first) {
    const fc_joined *j = x->out->j;
    for (fc_val v = 0; v < x->k->code.ins.len; v++) {
        const fc_instr *i = &x->k->code.ins.at[v];
        if (i->op != FC_OP_LOAD || !may_come(x, (uint32_t)i->imm) ||
            x->k->accesses.at[i->imm].buffer != x->k->accesses.at[access].buffer)
            continue;
        *first = (uint32_t)i->imm;
        for (uint32_t a = 0; a < x->k->np; a++)
            if (stride(j, x->part, *first, a) != stride(j, x->part, access, a)) return false;
        return true;
    }
    return false;
}

/* Of a load that meets no edge. */
static bool plain_shift(const finder *x, fc_val load, int32_t *shift) {
    const fc_joined *j = x->out->j;
    const uint32_t access = (uint32_t)x->k->code.ins.at[load].imm;
    const fc_nest *n = j->nest[x->part];
    int64_t by = n->offset[access];
    if (x->part == FC_SLIDE_TAKES) {
        if (x->k->accesses.at[access].buffer != fc_slide_passed(j)) return *shift = ELSEWHERE, true;
        if (!walks_alike(j, access) || by % row_length(j)) return false;
        by /= row_length(j);
    } else {
        uint32_t first;
        if (!may_come(x, access) || !like_the_first(x, access, &first))
            return *shift = ELSEWHERE, true;
        by -= n->offset[first];
        if (by < -FC_SLIDE_MOST || by > FC_SLIDE_MOST) return *shift = ELSEWHERE, true;
    }
    if (by < INT32_MIN / 2 || by > INT32_MAX / 2) return false;
    *shift = (int32_t)by;
    return true;
}

static bool shifts(finder *x, int32_t *out) {
    for (fc_val v = 0; v < x->k->code.ins.len; v++) {
        const fc_instr *i = &x->k->code.ins.at[v];
        out[v] = ELSEWHERE;
        if (i->op == FC_OP_LOAD && !plain_shift(x, v, &out[v])) return false;
        if (i->op != FC_OP_LOAD_AT) continue;
        if (x->part == FC_SLIDE_TAKES && i->imm != fc_slide_passed(x->out->j)) return false;
        if (!computed_shift(x, v, &out[v])) return false;
    }
    return true;
}

/* Whether loads of both parts are at the same element, wherever the nests are. */
static bool are_same(const fc_joined *j, uint32_t makes, uint32_t takes) {
    const fc_kernel *from = j->kernel[FC_SLIDE_MAKES], *to = j->kernel[FC_SLIDE_TAKES];
    const fc_access *a = &from->accesses.at[makes], *b = &to->accesses.at[takes];
    if (a->buffer == FC_NO_BUFFER || b->buffer == FC_NO_BUFFER || a->pair != b->pair ||
        from->args.at[a->buffer].written || a->dtype != b->dtype ||
        from->args.at[a->buffer].buffer != to->args.at[b->buffer].buffer ||
        j->nest[FC_SLIDE_MAKES]->offset[makes] != j->nest[FC_SLIDE_TAKES]->offset[takes])
        return false;
    for (uint32_t x = 0; x < from->np; x++)
        if (stride(j, FC_SLIDE_MAKES, makes, x) != stride(j, FC_SLIDE_TAKES, takes, x))
            return false;
    return true;
}

static bool find_same(fc_joined *j, fc_arena *arena) {
    const size_t n = j->kernel[FC_SLIDE_TAKES]->accesses.len;
    uint32_t *same = fc_arena_alloc(arena, (n + 1) * sizeof *same);
    j->same = same;
    for (uint32_t b = 0; same && b < n; b++) {
        same[b] = 0;
        for (uint32_t a = 0; a < j->kernel[FC_SLIDE_MAKES]->accesses.len && !same[b]; a++)
            if (are_same(j, a, b)) same[b] = a + 1;
    }
    return same != NULL;
}

bool fc_slide_shifts(fc_joined *j, fc_arena *arena) {
    if (!are_maps(j) || !find_same(j, arena)) return false;
    fc_slide out = {.j = j, .column = j->kernel[0]->np - 1, .row = j->kernel[0]->np - 2};
    for (unsigned p = 0; p < 2; p++) {
        const fc_kernel *k = j->kernel[p];
        int32_t *to = fc_arena_alloc(arena, (k->code.ins.len + 1) * sizeof *to);
        finder x = {.out = &out, .k = k, .part = p};
        x.axis = (int32_t)(p == FC_SLIDE_MAKES ? out.column : out.row);
        x.need = fc_arena_alloc(arena, k->code.ins.len + 1);
        x.bits = fc_arena_alloc(arena, (k->code.ins.len + 1) * sizeof *x.bits);
        if (!to || !x.need || !x.bits || !shifts(&x, to)) return false;
        j->shift[p] = to;
    }
    return true;
}
