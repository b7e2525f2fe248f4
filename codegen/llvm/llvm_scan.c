/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_scan.c - scans along the lanes: V runs of a row at a time.
 *
 * In: a block of V runs, of which the last ones may be missing, and what the counter holds of the
 * blocks before. Out: the results at its elements, stored, and its total in the counter. Elements
 * are computed as they lie in memory and put on the stack; from there they come back transposed, a
 * run in each lane. So a step takes element j of all runs in. The order is that of
 * docs/semantics.md: what stands before run r is nested from the latest subtree to the earliest
 * one. Of the block those are made by log2 V steps between lanes, of the blocks before they are
 * levels of the counter. The results take the same way back.
 *
 * What is missing comes after everything that is there, so whatever stands there changes nothing.
 */
#include "codegen/llvm/llvm_text.h"

typedef struct block {
    const fc_ll_stage *st;
    const char *lo;        /* i64: its first element */
    const char ***element; /* [reduction of the stage][value] stack arrays */
    const char ***result;  /* [reduction][result] */
    fc_ll_body body;       /* of the vectors under way */
} block;

#define EACH(b, i) for (uint32_t i = (b)->st->first; i < (b)->st->first + (b)->st->count; i++)

/* ---- elements as they lie in memory ---------------------------------------------------------- */

static const char *place(fc_ll *f, const block *b) {
    return fc_ll_bin(f, "sub", f->x, b->lo);
}

static void take_elements(fc_ll *f, void *user) {
    const block *b = user;
    fc_ll_forget_points(f);
    fc_ll_emit_points(f, b->st->needed);
    const char *at = place(f, b);
    EACH(b, i) {
        const fc_reduction *r = f->red[i].of;
        for (unsigned v = 0; v < r->nvalues; v++)
            fc_ll_spill(f, fc_red_element(r, v), f->V, b->element[i][v], at,
                        fc_ll_value(f, r->value[v], f->V));
    }
    fc_ll_forget_points(f);
}

static void store_elements(fc_ll *f, void *user) {
    const block *b = user;
    fc_ll_forget_points(f);
    const char *at = place(f, b);
    EACH(b, i) {
        fc_ll_red *r = &f->red[i];
        r->scanned = fc_ll_names(f, fc_red_results(r->of));
        for (unsigned k = 0; k < fc_red_results(r->of); k++)
            r->scanned[k] = fc_ll_fill(f, fc_red_result(r->of, k), f->V, b->result[i][k], at);
    }
    fc_ll_emit_points(f, f->point_needed);
    fc_ll_run_stores(f, FC_POINT, f->V);
    fc_ll_forget_points(f);
}

static void at_vector(fc_ll *f, void *user) {
    fc_ll_at_vector(f, ((block *)user)->body, user);
}

/* ---- and turned ------------------------------------------------------------------------------ */

/* In brief code one after the other, through memory. */
static void turn_by_elements(fc_ll *f, fusec_dtype t, const char *array, bool out, const char **v) {
    const char *turned = fc_ll_array(f, t, FC_RUN * f->V);
    fc_ll_loop runs, elements;
    for (unsigned j = 0; out && j < FC_RUN; j++)
        fc_ll_spill(f, t, f->V, turned, fc_ll_number(f, j * f->V), v[j]);
    const char *r = fc_ll_for(f, &runs, "0", fc_ll_number(f, f->V));
    const char *j = fc_ll_for(f, &elements, "0", fc_ll_number(f, FC_RUN));
    const char *here = fc_ll_bin(f, "add", fc_ll_bin(f, "mul", r, fc_ll_number(f, FC_RUN)), j);
    const char *there = fc_ll_bin(f, "add", fc_ll_bin(f, "mul", j, fc_ll_number(f, f->V)), r);
    const char *e = fc_ll_fill(f, t, 1, out ? turned : array, out ? there : here);
    fc_ll_spill(f, t, 1, out ? array : turned, out ? here : there, e);
    fc_ll_for_end(f, &elements, "1");
    fc_ll_for_end(f, &runs, "1");
    for (unsigned i = 0; !out && i < FC_RUN; i++)
        v[i] = fc_ll_fill(f, t, f->V, turned, fc_ll_number(f, i * f->V));
}

/* v[j]: element j of each run, from the array or to it. */
static void turn(fc_ll *f, fusec_dtype t, const char *array, bool out, const char **v) {
    const unsigned parts = FC_RUN / f->V;
    const char *type = fc_ll_type(f, t, f->V), **u = fc_ll_names(f, f->V);
    if (f->cls->llvm.brief) {
        turn_by_elements(f, t, array, out, v);
        return;
    }
    for (unsigned g = 0; g < parts; g++) {
        for (unsigned r = 0; r < f->V; r++) {
            const char *at = fc_ll_number(f, (parts * r + g) * f->V);
            u[r] = out ? v[g * f->V + r]
                       : fc_ll_ins(f, "freeze %s %s", type, fc_ll_fill(f, t, f->V, array, at));
        }
        fc_ll_transpose(f, type, u);
        for (unsigned r = 0; r < f->V; r++) {
            if (out)
                fc_ll_spill(f, t, f->V, array, fc_ll_number(f, (parts * r + g) * f->V), u[r]);
            else
                v[g * f->V + r] = u[r];
        }
    }
}

/* Accumulators of each run up to each element, or before it: now[j]. The whole runs are returned.
 */
static const char **step_runs(fc_ll *f, const block *b, const char ***now) {
    const fc_ll_stage *st = b->st;
    const char **acc = fc_ll_names(f, st->nslots), ***x = fc_ll_alloc(f, FC_RUN * sizeof *x);
    for (unsigned j = 0; j < FC_RUN; j++) now[j] = fc_ll_names(f, st->nslots);
    memcpy(acc, fc_ll_inits(f, st, f->V), st->nslots * sizeof *acc);
    EACH(b, i) {
        const fc_ll_red *r = &f->red[i];
        for (unsigned v = 0; v < r->of->nvalues; v++) {
            x[v] = fc_ll_names(f, FC_RUN);
            turn(f, fc_red_element(r->of, v), b->element[i][v], false, x[v]);
        }
        for (unsigned j = 0; j < FC_RUN; j++) {
            const char *args[FC_RED_ARGS] = {NULL}, *before[FC_MAX_COMPONENTS];
            memcpy(before, acc + r->slot, r->components * sizeof *before);
            for (unsigned c = 0; c < r->components; c++) args[c] = acc[r->slot + c];
            for (unsigned v = 0; v < r->of->nvalues; v++) args[FC_ARG_ELEMENT + v] = x[v][j];
            fc_ll_run(f, &r->step, f->V, args, NULL, r->components, acc + r->slot);
            for (unsigned c = 0; c < r->components; c++)
                now[j][r->slot + c] = r->of->exclusive ? before[c] : acc[r->slot + c];
        }
    }
    return acc;
}

/* ---- what stands before each run ------------------------------------------------------------- */

/* In each lane those of the lane that subtree `subtree` of the one under its bit `level` begins
 * with. */
static const char **from_lanes(fc_ll *f, const fc_ll_stage *st, const char *const *v,
                               unsigned level, unsigned subtree) {
    const char **out = fc_ll_names(f, st->nslots);
    unsigned *lane = fc_ll_alloc(f, f->V * sizeof *lane);
    for (unsigned l = 0; l < f->V; l++)
        lane[l] = (l >> (level + 1) << (level + 1)) | subtree << level;
    for (unsigned s = 0; s < st->nslots; s++)
        out[s] = fc_ll_shuffle(f, fc_ll_type(f, st->slot[s], f->V), v[s], NULL, f->V, lane);
    return out;
}

/* `a` in the lanes that have the bit, else `b`. */
static const char **where_bit(fc_ll *f, const fc_ll_stage *st, unsigned level, const char *const *a,
                              const char *const *b) {
    const char **out = fc_ll_names(f, st->nslots), *mask = "";
    for (unsigned l = 0; l < f->V; l++)
        mask = fc_ll_fmt(f, "%s%si1 %u", mask, l ? ", " : "", l >> level & 1);
    for (unsigned s = 0; s < st->nslots; s++) {
        const char *type = fc_ll_type(f, st->slot[s], f->V);
        out[s] =
            fc_ll_ins(f, "select <%u x i1> <%s>, %s %s, %s %s", f->V, mask, type, a[s], type, b[s]);
    }
    return out;
}

/* The subtrees of the block before each run. `total` gets that of all runs, in all lanes. */
static const char **within_block(fc_ll *f, const fc_ll_stage *st, const char *const *runs,
                                 const char **total) {
    const char **before = fc_ll_inits(f, st, f->V), **all = fc_ll_names(f, st->nslots);
    memcpy(all, runs, st->nslots * sizeof *all);
    for (unsigned level = 0; 1u << level < f->V; level++) {
        const char **first = from_lanes(f, st, all, level, 0);
        before = where_bit(f, st, level, fc_ll_combine(f, st, f->V, first, before), before);
        all = fc_ll_combine(f, st, f->V, first, from_lanes(f, st, all, level, 1));
    }
    memcpy(total, all, st->nslots * sizeof *all);
    return before;
}

/* And those of the blocks before, from the lowest full level of the counter up. */
static const char **with_levels(fc_ll *f, const fc_ll_stage *st, const char *blocks,
                                const char *const *before) {
    fc_ll_loop l;
    fc_ll_declare(f, "i64 @llvm.cttz.i64(i64, i1)");
    fc_ll_loop_begin(f, &l, st->nslots + 1, fc_ll_slot_types(f, st, f->V, 1),
                     fc_ll_join(f, st, blocks, NULL, before));
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ne i64 %s, 0", l.carry[0]));
    const char *level = fc_ll_ins(f, "call i64 @llvm.cttz.i64(i64 %s, i1 false)", l.carry[0]);
    const char *rest = fc_ll_bin(f, "and", l.carry[0], fc_ll_bin(f, "sub", l.carry[0], "1"));
    const char **held = fc_ll_fill_all(f, st, 1, st->levels, level);
    for (unsigned s = 0; s < st->nslots; s++)
        held[s] = fc_ll_splat(f, fc_ll_type(f, st->slot[s], 1), held[s]);
    const char **sum = fc_ll_combine(f, st, f->V, held, l.carry + 1);
    fc_ll_loop_end(f, &l, fc_ll_join(f, st, rest, NULL, sum));
    return l.carry + 1;
}

/* ---- a block --------------------------------------------------------------------------------- */

static void lay_out(fc_ll *f, block *b) {
    const unsigned n = FC_RUN * f->V;
    b->element = fc_ll_alloc(f, f->k->reductions.len * sizeof *b->element);
    b->result = fc_ll_alloc(f, f->k->reductions.len * sizeof *b->result);
    EACH(b, i) {
        const fc_reduction *r = f->red[i].of;
        b->element[i] = fc_ll_names(f, r->nvalues);
        b->result[i] = fc_ll_names(f, fc_red_results(r));
        for (unsigned v = 0; v < r->nvalues; v++)
            b->element[i][v] = fc_ll_array(f, fc_red_element(r, v), n);
        for (unsigned k = 0; k < fc_red_results(r); k++)
            b->result[i][k] = fc_ll_array(f, fc_red_result(r, k), n);
    }
}

static void finish_elements(fc_ll *f, const block *b, const char *const *before,
                            const char ***now) {
    const char ***all = fc_ll_alloc(f, FC_RUN * sizeof *all);
    for (unsigned j = 0; j < FC_RUN; j++) all[j] = fc_ll_combine(f, b->st, f->V, before, now[j]);
    EACH(b, i) {
        const unsigned results = fc_red_results(f->red[i].of);
        const char **out = fc_ll_names(f, results * FC_RUN);
        for (unsigned j = 0; j < FC_RUN; j++) {
            const char **of = fc_ll_finish(f, i, f->V, all[j]);
            for (unsigned k = 0; k < results; k++) out[k * FC_RUN + j] = of[k];
        }
        for (unsigned k = 0; k < results; k++)
            turn(f, fc_red_result(f->red[i].of, k), b->result[i][k], true, out + k * FC_RUN);
    }
}

void fc_ll_scan_block(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi,
                      const char *number) {
    block b = {.st = st, .lo = lo, .body = take_elements};
    const char ***now = fc_ll_alloc(f, FC_RUN * sizeof *now), **total = fc_ll_names(f, st->nslots);
    lay_out(f, &b);
    f->ahead = FC_LOOP_SOON;
    fc_ll_vectors(f, lo, hi, 4, at_vector, &b);
    f->ahead = FC_LOOP_NOT_AHEAD;
    const char **runs = step_runs(f, &b, now);
    const char **before = within_block(f, st, runs, total);
    before = with_levels(f, st, number, before);
    for (unsigned s = 0; s < st->nslots; s++)
        total[s] =
            fc_ll_ins(f, "extractelement %s %s, i32 0", fc_ll_type(f, st->slot[s], f->V), total[s]);
    fc_ll_push(f, st, 1, 1, "0", number, 0, total);
    finish_elements(f, &b, before, now);
    b.body = store_elements;
    fc_ll_lines(f, lo, hi, 4, at_vector, &b);
}
