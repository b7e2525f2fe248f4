/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_reduce.c - accumulators: step, combine and finish code of each reduction, and the binary
 * counter that joins chunks or runs in the order of the tree.
 *
 * In: the kernel's reductions. Out: names of a stage's accumulators, slot by slot. Invariants: the
 * tree is that of ir/graph.h for every vector width; a start value combined with anything
 * changes nothing, so a counter may begin its last walk with start values. */
#include "codegen/llvm/llvm_text.h"
#include "ir/plant.h"

/* ---- programs ---------------------------------------------------------------------------- */

static void make(fc_ll *f, const fc_ll_red *r, fc_red_part part, fc_red_program *p) {
    const fusec_status st =
        fc_red_program_make(p, f->alloc, FC_TARGET_LLVM, f->math, r->of, part, NULL);
    if (st != FUSEC_OK) fc_ll_fail(f, st);
}

static void make_start(fc_ll *f, fc_ll_red *r) {
    make(f, r, FC_RED_START, &r->start);
    for (unsigned i = 0; i < r->components; i++) {
        const fc_instr *start = &r->start.code.ins.at[r->start.out[i]];
        if (start->op != FC_OP_CONST) fc_ll_fail(f, FUSEC_INTERNAL);
        r->init[i] = start->imm;
    }
}

static void build(fc_ll *f, const fc_reduction *from, fc_ll_red *r) {
    r->of = from;
    r->op = (fc_op)from->op;
    r->t = (fusec_dtype)from->dtype;
    r->components = fc_red_components(from);
    for (unsigned i = 0; i < r->components; i++) r->comp[i] = fc_red_component(from, i);
    make_start(f, r);
    make(f, r, FC_RED_STEP, &r->step);
    make(f, r, FC_RED_JOIN, &r->combine);
    make(f, r, FC_RED_FINISH, &r->finish);
}

static void lay_out(fc_ll *f, uint32_t number, fc_ll_stage *st) {
    fusec_dtype *slot = fc_ll_alloc(f, f->k->reductions.len * FC_MAX_COMPONENTS * sizeof *slot);
    fc_val *roots = fc_ll_alloc(f, FC_MAX_COMPONENTS * f->k->reductions.len * sizeof *roots);
    size_t nroots = 0;
    for (uint32_t i = 0; i < f->k->reductions.len; i++) {
        if (f->k->reductions.at[i].stage != number) continue;
        fc_ll_red *r = &f->red[i];
        if (st->count == 0) st->first = i;
        r->slot = st->nslots;
        for (unsigned c = 0; c < r->components; c++) slot[st->nslots++] = r->comp[c];
        st->uses_index |= r->step.uses_index;
        st->count++;
        nroots += fc_red_values(&f->k->reductions.at[i], f->map, roots + nroots);
    }
    st->slot = slot;
    st->needed = fc_ll_alloc(f, f->code.ins.len);
    fc_kernel_slice(&f->code, roots, nroots, st->needed);
}

/* Whether reduction i is quicker alone, as one of several of a stage: see llvm_extreme.c. */
static bool stands_alone(const fc_ll *f, uint32_t i) {
    return fc_ll_is_min_max(f->red[i].op) && fc_is_float(f->red[i].comp[0]);
}

static fc_ll_stage part_of(fc_ll *f, const fc_ll_stage *st, uint32_t first) {
    fc_ll_stage part = {.first = first, .base = f->red[first].slot};
    fc_val *roots = fc_ll_alloc(f, FC_MAX_COMPONENTS * st->count * sizeof *roots);
    size_t nroots = 0;
    for (uint32_t i = first; i < st->first + st->count; i++) {
        if (i > first && (stands_alone(f, i) || stands_alone(f, first))) break;
        part.nslots += f->red[i].components;
        part.uses_index |= f->red[i].step.uses_index;
        part.count++;
        nroots += fc_red_values(&f->k->reductions.at[i], f->map, roots + nroots);
    }
    part.slot = st->slot + part.base;
    part.needed = fc_ll_alloc(f, f->code.ins.len);
    fc_kernel_slice(&f->code, roots, nroots, part.needed);
    return part;
}

static void take_apart(fc_ll *f, fc_ll_stage *st) {
    bool any = false;
    for (uint32_t i = st->first; i < st->first + st->count; i++) any |= stands_alone(f, i);
    if (!any || st->count < 2) return;
    st->part = fc_ll_alloc(f, st->count * sizeof *st->part);
    for (uint32_t i = st->first; i < st->first + st->count; i += st->part[st->nparts++].count)
        st->part[st->nparts] = part_of(f, st, i);
}

void fc_ll_reductions(fc_ll *f) {
    f->red = fc_ll_alloc(f, f->k->reductions.len * sizeof *f->red);
    f->stage = fc_ll_alloc(f, f->k->nstages * sizeof *f->stage);
    for (size_t i = 0; i < f->k->reductions.len; i++) build(f, &f->k->reductions.at[i], &f->red[i]);
    for (uint32_t s = 0; s < f->k->nstages; s++) {
        lay_out(f, s, &f->stage[s]);
        take_apart(f, &f->stage[s]);
    }
}

void fc_ll_reductions_free(fc_ll *f) {
    if (f->scratch.alloc) fc_code_free(&f->scratch);
    for (size_t i = 0; f->red && i < f->k->reductions.len; i++) {
        fc_red_program_free(&f->red[i].start);
        fc_red_program_free(&f->red[i].step);
        fc_red_program_free(&f->red[i].combine);
        fc_red_program_free(&f->red[i].finish);
    }
}

/* ---- using them -------------------------------------------------------------------------- */

const char **fc_ll_inits(fc_ll *f, const fc_ll_stage *st, unsigned W) {
    const char **out = fc_ll_names(f, st->nslots);
    for (uint32_t i = st->first; i < st->first + st->count; i++)
        for (unsigned c = 0; c < f->red[i].components; c++)
            out[f->red[i].slot - st->base + c] =
                fc_ll_const(f, f->red[i].comp[c], f->red[i].init[c], W);
    return out;
}

/* Elements that are not there change nothing. What lanes have that are rows or columns which are
 * not there is of no use to anybody. */
static const char *keep_masked(fc_ll *f, fusec_dtype t, unsigned W, const char *now,
                               const char *before) {
    if (!f->mask || f->whole || W == 1 || !fc_ll_along_row(f)) return now;
    const char *type = fc_ll_type(f, t, W);
    return fc_ll_select(f, type, W, f->mask, now, before);
}

const char **fc_ll_step(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *const *acc,
                        const char *index) {
    const char **out = fc_ll_names(f, st->nslots);
    for (uint32_t i = st->first; i < st->first + st->count; i++) {
        const fc_ll_red *r = &f->red[i];
        const char *args[FC_RED_ARGS] = {NULL};
        for (unsigned c = 0; c < r->components; c++) args[c] = acc[r->slot - st->base + c];
        for (unsigned v = 0; v < r->of->nvalues; v++)
            args[FC_ARG_ELEMENT + v] = fc_ll_value(f, r->of->value[v], W);
        args[FC_ARG_INDEX] = index;
        /* the step of var divides by the number of elements */
        const bool counted = f->nth && W > 1 && fc_red_counts(r->of);
        const char *share = counted ? fc_ll_share(f, r->t, f->nth) : NULL;
        const unsigned at = r->slot - st->base;
        fc_ll_run(f, &r->step, W, args, share, r->components, out + at);
        for (unsigned c = 0; c < r->components; c++)
            out[at + c] = keep_masked(f, r->comp[c], W, out[at + c], acc[at + c]);
    }
    return out;
}

const char **fc_ll_combine(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *const *a,
                           const char *const *b) {
    const char **out = fc_ll_names(f, st->nslots);
    for (uint32_t i = st->first; i < st->first + st->count; i++) {
        const fc_ll_red *r = &f->red[i];
        const char *args[FC_RED_ARGS] = {NULL};
        const unsigned at = r->slot - st->base;
        for (unsigned c = 0; c < r->components; c++) {
            args[c] = a[at + c];
            args[FC_ARG_LATER + c] = b[at + c];
        }
        fc_ll_run(f, &r->combine, W, args, NULL, r->components, out + at);
    }
    return out;
}

unsigned fc_ll_steps(const fc_ll *f, const fc_ll_stage *st) {
    unsigned steps = 0;
    for (fc_val i = 0; i < f->code.ins.len; i++)
        if (st->needed[i] && !f->at_row[i] && f->code.ins.at[i].op != FC_OP_LOAD)
            steps += fc_ll_length(f, i);
    return steps;
}

const char **fc_ll_finish(fc_ll *f, uint32_t red, unsigned W, const char *const *acc) {
    const fc_ll_red *r = &f->red[red];
    const unsigned results = fc_red_results(r->of);
    const char *args[FC_RED_ARGS] = {NULL}, **out = fc_ll_names(f, results);
    for (unsigned c = 0; c < r->components; c++) args[c] = acc[r->slot + c];
    const char *count = fc_ll_extra(f, FC_PB_COUNT);
    args[FC_ARG_COUNT] = W == 1 ? count : fc_ll_splat(f, "i64", count);
    fc_ll_run(f, &r->finish, W, args, NULL, results, out);
    return out;
}

/* ---- lists of a stage's slots ------------------------------------------------------------ */

const char **fc_ll_slot_types(fc_ll *f, const fc_ll_stage *st, unsigned W, unsigned extra) {
    const char **types = fc_ll_names(f, st->nslots + extra);
    for (unsigned i = 0; i < extra; i++) types[i] = "i64";
    for (unsigned i = 0; i < st->nslots; i++) types[extra + i] = fc_ll_type(f, st->slot[i], W);
    return types;
}

const char **fc_ll_join(fc_ll *f, const fc_ll_stage *st, const char *first, const char *second,
                        const char *const *slots) {
    const char **all = fc_ll_names(f, st->nslots + 2);
    unsigned n = 0;
    all[n++] = first;
    if (second) all[n++] = second;
    memcpy(all + n, slots, st->nslots * sizeof *all);
    return all;
}

const char **fc_ll_arrays(fc_ll *f, const fc_ll_stage *st, unsigned count) {
    const char **out = fc_ll_names(f, st->nslots);
    for (unsigned i = 0; i < st->nslots; i++) out[i] = fc_ll_array(f, st->slot[i], count);
    return out;
}

void fc_ll_spill_all(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *const *arrays,
                     const char *at, const char *const *v) {
    for (unsigned i = 0; i < st->nslots; i++) fc_ll_spill(f, st->slot[i], W, arrays[i], at, v[i]);
}

const char **fc_ll_fill_all(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *const *arrays,
                            const char *at) {
    const char **out = fc_ll_names(f, st->nslots);
    for (unsigned i = 0; i < st->nslots; i++) out[i] = fc_ll_fill(f, st->slot[i], W, arrays[i], at);
    return out;
}

/* ---- the binary counter ------------------------------------------------------------------ */

static const char *level_element(fc_ll *f, const char *level, unsigned row, const char *at) {
    return fc_ll_bin(f, "add", fc_ll_bin(f, "mul", level, fc_ll_number(f, row)), at);
}

/* Bit l of `count` says that level l holds 2^l partials. Adding one is binary addition: while the
 * lowest level is full, combine with it and carry. */
void fc_ll_push(fc_ll *f, const fc_ll_stage *st, unsigned W, unsigned row, const char *at,
                const char *count, unsigned lowest, const char *const *partial) {
    fc_ll_loop l;
    fc_ll_loop_begin(f, &l, st->nslots + 2, fc_ll_slot_types(f, st, W, 2),
                     fc_ll_join(f, st, count, fc_ll_number(f, lowest), partial));
    const char *bit = fc_ll_bin(f, "and", l.carry[0], "1");
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ne i64 %s, 0", bit));
    const char *rest = fc_ll_bin(f, "lshr", l.carry[0], "1"),
               *up = fc_ll_bin(f, "add", l.carry[1], "1");
    const char **held = fc_ll_fill_all(f, st, W, st->levels, level_element(f, l.carry[1], row, at));
    const char **sum = fc_ll_combine(f, st, W, held, l.carry + 2);
    fc_ll_loop_end(f, &l, fc_ll_join(f, st, rest, up, sum));
    fc_ll_spill_all(f, st, W, st->levels, level_element(f, l.carry[1], row, at), l.carry + 2);
}

/* From the lowest full level up; what is there covers later elements than the next level. */
const char **fc_ll_fold(fc_ll *f, const fc_ll_stage *st, unsigned W, unsigned row, const char *at,
                        const char *count) {
    fc_ll_declare(f, "i64 @llvm.cttz.i64(i64, i1)");
    fc_ll_loop l;
    fc_ll_loop_begin(f, &l, st->nslots + 1, fc_ll_slot_types(f, st, W, 1),
                     fc_ll_join(f, st, count, NULL, fc_ll_inits(f, st, W)));
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ne i64 %s, 0", l.carry[0]));
    const char *level = fc_ll_ins(f, "call i64 @llvm.cttz.i64(i64 %s, i1 false)", l.carry[0]);
    const char *rest = fc_ll_bin(f, "and", l.carry[0], fc_ll_bin(f, "sub", l.carry[0], "1"));
    const char **held = fc_ll_fill_all(f, st, W, st->levels, level_element(f, level, row, at));
    const char **sum = fc_ll_combine(f, st, W, held, l.carry + 1);
    fc_ll_loop_end(f, &l, fc_ll_join(f, st, rest, NULL, sum));
    return l.carry + 1;
}

/* ---- partials of split reductions -------------------------------------------------------- */

const char *fc_ll_spans(fc_ll *f) {
    const char *spans = fc_ll_extra(f, FC_PB_SPANS);
    if (!f->cls->llvm.panels) return spans;
    spans = fc_ll_bin(f, "lshr", spans, "32");
    return FC_PLANT(dot_span, fc_ll_bin(f, "sub", spans, "1"), spans);
}

const char *fc_ll_span(fc_ll *f) {
    const char *span = fc_ll_extra(f, FC_PB_SPAN);
    if (!f->cls->llvm.panels) return span;
    return fc_ll_bin(f, "shl", fc_ll_number(f, FC_DOT_CHUNK), fc_ll_bin(f, "lshr", span, "48"));
}

/* The workspace is slot-major, then span, then row; a slot has 8 bytes for each value, so that its
 * place does not depend on dtypes, but values lie densely in it. */
static const char *partial_array(fc_ll *f, unsigned slot) {
    const char *values = fc_ll_bin(f, "mul", fc_ll_extra(f, FC_PB_ROWS), fc_ll_spans(f));
    const char *bytes = fc_ll_bin(f, "mul", values, fc_ll_number(f, slot * 8));
    return fc_ll_index(f, "i8", fc_ll_extra(f, FC_PB_WORKSPACE), bytes);
}

static const char *partial_element(fc_ll *f, const char *span, const char *row) {
    return fc_ll_bin(f, "add", fc_ll_bin(f, "mul", span, fc_ll_extra(f, FC_PB_ROWS)), row);
}

/* Lanes that are masked off belong to other rows. */
void fc_ll_put_partial(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *span,
                       const char *row, const char *const *acc) {
    const char *at = partial_element(f, span, row), *mask = W > 1 ? f->mask : NULL;
    for (unsigned i = 0; i < st->nslots; i++)
        fc_ll_spill_masked(f, st->slot[i], W, partial_array(f, i), at, mask, acc[i]);
}

static const char **get_partial(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *span,
                                const char *row) {
    const char **out = fc_ll_names(f, st->nslots), *mask = W > 1 ? f->mask : NULL;
    const char *at = partial_element(f, span, row);
    for (unsigned i = 0; i < st->nslots; i++)
        out[i] = fc_ll_fill_masked(f, st->slot[i], W, partial_array(f, i), at, mask);
    return out;
}

const char **fc_ll_join_spans(fc_ll *f, const fc_ll_stage *st, unsigned W, const char *row) {
    fc_ll_loop l;
    const char *spans = fc_ll_spans(f), *span = fc_ll_for(f, &l, "0", spans);
    fc_ll_push(f, st, W, W, "0", span, 0, get_partial(f, st, W, span, row));
    fc_ll_for_end(f, &l, "1");
    return fc_ll_fold(f, st, W, W, "0", spans);
}
