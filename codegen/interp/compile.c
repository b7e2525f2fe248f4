/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile.c - kernel to tapes.
 *
 * In: a verified kernel. Out: an fc_interp. The code is legalised once for the interpreter; each
 * stage and the stores take their slice of it, split into what runs once (constants, parameters),
 * once a row, and at every point. A slot is used again as soon as its value has been read for the
 * last time, so that the blocks of a long kernel stay in the cache. */
#include "codegen/interp/tape.h"
#include "ir/eval.h"

/* ---- laying code out in slots ---------------------------------------------------------------- */

typedef struct layout {
    const fc_alloc *alloc;
    const fc_code *code;
    const fc_kernel *k;                 /* whose loops are in the code, */
    fc_interp *ip;                      /* and where they go; NULL in reductions, which have none */
    bool flat;                          /* a map or a program: nothing belongs to a row */
    uint8_t *needed, *uniform, *pinned; /* [code length] */
    uint32_t *slot, *uses;
    FC_VEC(uint32_t) spare;
    uint32_t first, next,
        high; /* of the slots used again: first one, next fresh one, highest so far */
} layout;

static void layout_free(layout *l) {
    fc_free(l->alloc, l->needed);
    fc_free(l->alloc, l->slot);
    fc_vec_free(l->alloc, &l->spare);
}

static int operands(const fc_instr *in, fc_val src[3]) {
    src[0] = in->a;
    src[1] = in->b;
    src[2] = in->c;
    return fc_instr_arity(in);
}

static bool is_uniform(const layout *l, const fc_instr *in) {
    fc_val src[3];
    int arity = operands(in, src);
    if (fc_is_at_element(in->op)) return false; /* of an element */
    if (arity == 0) return in->op == FC_OP_CONST || in->op == FC_OP_PARAM || in->op == FC_OP_COUNT;
    for (int i = 0; i < arity; i++)
        if (!l->uniform[src[i]]) return false;
    return true;
}

static fusec_status layout_init(layout *l, const fc_alloc *alloc, const fc_code *code, bool flat,
                                fc_error *e) {
    size_t n = code->ins.len + 1;
    memset(l, 0, sizeof *l);
    l->alloc = alloc;
    l->code = code;
    l->flat = flat;
    l->needed = fc_calloc(alloc, n, 3);
    l->slot = fc_calloc(alloc, n, 2 * sizeof *l->slot);
    if (!l->needed || !l->slot) return fc_oom(e);
    l->uniform = l->needed + n;
    l->pinned = l->uniform + n;
    l->uses = l->slot + n;
    for (size_t i = 0; i < code->ins.len; i++) l->uniform[i] = is_uniform(l, &code->ins.at[i]);
    return FUSEC_OK;
}

static fusec_status add_loop(layout *l, fc_val v, fc_error *e);

/* A loop or a list of its operands: no block of values. */
static bool is_tuple(const layout *l, fc_val v) {
    return l->code->ins.at[v].op == FC_OP_RECORD || l->code->ins.at[v].op == FC_OP_ROUNDS;
}

/* The operands' slots of a function of the user. */
static fusec_status list_operands(layout *l, const fc_instr *in, fc_step *s, fc_error *e) {
    fc_val v[FC_MAX_EXTERN];
    const unsigned n = fc_extern_values(l->code, in, v);
    s->a = (uint32_t)l->ip->operands.len;
    for (unsigned i = 0; i < n; i++)
        if (!fc_push(l->alloc, &l->ip->operands, l->slot[v[i]])) return fc_oom(e);
    return FUSEC_OK;
}

static fusec_status emit_step(layout *l, fc_tape *tape, fc_val v, fc_error *e) {
    const fc_instr *in = &l->code->ins.at[v];
    fc_val src[3];
    int arity = operands(in, src);
    if (in->op == FC_OP_RECORD) return FUSEC_OK;
    if (in->op == FC_OP_ROUNDS) FC_TRY(add_loop(l, v, e));
    fc_step s = {.op = in->op, .to = in->dtype, .dst = l->slot[v], .imm = in->imm};
    if (in->op == FC_OP_ROUNDS) s.imm = l->slot[v];
    if (arity > 0) s.a = l->slot[src[0]];
    if (arity > 1) s.b = l->slot[src[1]];
    if (arity > 2) s.c = l->slot[src[2]];
    s.t = in->dtype;
    if (arity > 0) s.t = l->code->ins.at[src[in->op == FC_OP_where ? 1 : 0]].dtype;
    if (in->op == FC_OP_EXTERN) FC_TRY(list_operands(l, in, &s, e));
    return fc_push(l->alloc, &tape->steps, s) ? FUSEC_OK : fc_oom(e);
}

/* Everything uniform that is needed gets a slot of its own, from `next` on. */
static fusec_status emit_once(layout *l, fc_tape *once, fc_error *e) {
    for (size_t i = 0; i < l->code->ins.len; i++) {
        if (!l->needed[i] || !l->uniform[i]) continue;
        if (!is_tuple(l, (fc_val)i)) l->slot[i] = l->next++;
        FC_TRY(emit_step(l, once, (fc_val)i, e));
    }
    l->high = l->next;
    return FUSEC_OK;
}

static bool has_own_slot(const layout *l, fc_val v) {
    uint16_t op = l->code->ins.at[v].op;
    return l->uniform[v] || op == FC_OP_ACC || op == FC_OP_ARG;
}

static bool at_point(const layout *l, fc_val v) {
    return l->flat || l->code->ins.at[v].level == FC_POINT;
}

/* Counts readers within a part; row values that points read stay to the end of the phase. */
static void count_uses(layout *l) {
    for (size_t i = 0; i < l->code->ins.len; i++) {
        fc_val src[3];
        int arity = l->needed[i] ? operands(&l->code->ins.at[i], src) : 0;
        for (int j = 0; j < arity; j++) {
            l->uses[src[j]]++;
            if (l->code->ins.at[i].op == FC_OP_RECORD) l->pinned[src[j]] = 1; /* for the loop */
            if (at_point(l, (fc_val)i) && !at_point(l, src[j])) l->pinned[src[j]] = 1;
        }
    }
}

static uint32_t take_slot(layout *l) {
    if (l->spare.len) return l->spare.at[--l->spare.len];
    uint32_t s = l->next++;
    if (l->next > l->high) l->high = l->next;
    return s;
}

static fusec_status release_operands(layout *l, const fc_instr *in, fc_error *e) {
    fc_val src[3];
    int arity = operands(in, src);
    for (int i = 0; i < arity; i++) {
        if (has_own_slot(l, src[i]) || is_tuple(l, src[i]) || l->pinned[src[i]] ||
            --l->uses[src[i]] > 0)
            continue;
        if (!fc_push(l->alloc, &l->spare, l->slot[src[i]])) return fc_oom(e);
    }
    return FUSEC_OK;
}

static fusec_status emit_part(layout *l, bool point, fc_tape *tape, fc_error *e) {
    for (size_t i = 0; i < l->code->ins.len; i++) {
        fc_val v = (fc_val)i;
        if (!l->needed[i] || has_own_slot(l, v) || at_point(l, v) != point) continue;
        if (!is_tuple(l, v))
            l->slot[i] = take_slot(l); /* not the slot of an operand: widths may differ */
        FC_TRY(emit_step(l, tape, v, e));
        FC_TRY(release_operands(l, &l->code->ins.at[i], e));
    }
    return FUSEC_OK;
}

static fusec_status emit_phase(layout *l, const fc_val *roots, size_t nroots, fc_phase *p,
                               fc_error *e) {
    size_t n = l->code->ins.len;
    memset(l->needed, 0, n);
    memset(l->pinned, 0, n);
    memset(l->uses, 0, n * sizeof *l->uses);
    l->spare.len = 0;
    l->next = l->first;
    fc_kernel_slice(l->code, roots, nroots, l->needed);
    for (size_t i = 0; i < nroots; i++) l->pinned[roots[i]] = 1;
    count_uses(l);
    FC_TRY(emit_part(l, false, &p->row, e));
    return emit_part(l, true, &p->point, e);
}

/* ---- the programs of a reduction ------------------------------------------------------------- */

static void program_free(const fc_alloc *alloc, fc_program *p) {
    fc_vec_free(alloc, &p->once.steps);
    fc_vec_free(alloc, &p->body.steps);
}

/* An operand that is a result as it is: copied, so that results never lie in an operand's slot. */
static fusec_status copy_operands(layout *l, fc_program *p, const fc_val *out, unsigned nout,
                                  fc_error *e) {
    for (unsigned i = 0; i < nout; i++) {
        const fc_instr *in = &l->code->ins.at[out[i]];
        p->out[i] = l->slot[out[i]];
        if (in->op != FC_OP_ARG) continue;
        fc_step copy = {.op = FC_OP_NONE, .t = in->dtype, .to = in->dtype, .a = p->out[i]};
        copy.dst = p->out[i] = l->high++;
        if (!fc_push(l->alloc, &p->body.steps, copy)) return fc_oom(e);
    }
    return FUSEC_OK;
}

static fusec_status lay_program(fc_interp *ip, const fc_kernel *k, const fc_code *code,
                                const fc_val *out, unsigned nout, uint32_t nargs, fc_program *p,
                                fc_error *e) {
    layout l;
    fc_phase phase = {0};
    fusec_status s = layout_init(&l, ip->alloc, code, true, e);
    l.k = k;
    l.ip = ip;
    l.next = nargs;
    if (s == FUSEC_OK) {
        for (size_t i = 0; i < code->ins.len; i++)
            if (code->ins.at[i].op == FC_OP_ARG) l.slot[i] = (uint32_t)code->ins.at[i].imm;
        fc_kernel_slice(code, out, nout, l.needed);
        s = emit_once(&l, &p->once, e);
    }
    l.first = l.next;
    if (s == FUSEC_OK) s = emit_phase(&l, out, nout, &phase, e);
    p->body = phase.point;
    if (s == FUSEC_OK) s = copy_operands(&l, p, out, nout, e);
    p->nslots = l.high;
    layout_free(&l);
    return s;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static fusec_status lay_rounds(layout *l, const fc_rounds *r, fc_program *p, fc_error *e) {
    fc_val out[FC_MAX_REPEAT + 1];
    fc_code legal;
    fc_code_init(&legal, l->alloc);
    legal.rewrite = l->ip->rewrite;
    fc_val *map = fc_malloc(l->alloc, (r->code.ins.len + 1) * sizeof *map);
    fusec_status s =
        map ? fc_legalize(&r->code, FC_TARGET_INTERP, &legal, map) : FUSEC_OUT_OF_MEMORY;
    if (s != FUSEC_OK)
        fc_fail(e, s, "the code of a loop could not be expanded for the interpreter");
    for (unsigned i = 0; s == FUSEC_OK && i < fc_rounds_outs(r); i++) out[i] = map[r->out[i]];
    if (s == FUSEC_OK)
        s = lay_program(l->ip, l->k, &legal, out, fc_rounds_outs(r),
                        FC_ARG_VALUE + (uint32_t)r->nvalues, p, e);
    fc_free(l->alloc, map);
    fc_code_free(&legal);
    return s;
}

/* The loop at v; its slot becomes its number. */
static fusec_status add_loop(layout *l, fc_val v, fc_error *e) {
    const fc_instr *in = &l->code->ins.at[v];
    const fc_rounds *r = l->k->loops.at[in->imm];
    fc_interp_loop loop = {
        .ncarried = r->ncarried, .nvalues = r->nvalues, .condition = r->condition};
    fc_val operand[FC_MAX_LISTED];
    const unsigned n = fc_listed_values(l->code, in->a, operand);
    for (unsigned i = 0; i < n; i++) loop.operand[i] = l->slot[operand[i]];
    for (unsigned i = 0; i < r->nvalues; i++)
        loop.size[i] = (uint8_t)fc_eval_size((fusec_dtype)r->dtype[i]);
    fusec_status s = lay_rounds(l, r, &loop.round, e);
    if (s == FUSEC_OK && !fc_push(l->alloc, &l->ip->loops, loop)) s = fc_oom(e);
    if (s != FUSEC_OK) program_free(l->alloc, &loop.round);
    l->slot[v] = (uint32_t)l->ip->loops.len - 1;
    return s;
}

static fusec_status make_program(fc_interp *ip, const fc_reduction *r, fc_red_part part,
                                 fc_program *p, bool *indexed, fc_error *e) {
    fc_red_program from;
    FC_TRY(fc_red_program_make(&from, ip->alloc, FC_TARGET_INTERP, ip->rewrite, r, part, e));
    *indexed |= from.uses_index;
    const fusec_status s =
        lay_program(ip, NULL, &from.code, from.out, from.nout, FC_RED_ARGS, p, e);
    fc_red_program_free(&from);
    return s;
}

static fusec_status make_reduction(fc_interp *ip, const fc_reduction *r, fc_interp_reduction *to,
                                   fc_error *e) {
    to->stage = r->stage;
    to->ncomponents = (uint8_t)fc_red_components(r);
    to->nresults = (uint8_t)fc_red_results(r);
    to->nvalues = r->nvalues;
    for (unsigned i = 0; i < to->ncomponents; i++)
        to->size[i] = (uint8_t)fc_eval_size(fc_red_component(r, i));
    for (unsigned i = 0; i < to->nvalues; i++)
        to->value_size[i] = (uint8_t)fc_eval_size(fc_red_element(r, i));
    for (unsigned i = 0; i < to->nresults; i++)
        to->result_size[i] = (uint8_t)fc_eval_size(fc_red_result(r, i));
    fc_program *const parts[FC_RED_PARTS] = {&to->init, &to->step, &to->combine, &to->finish};
    for (int i = 0; i < FC_RED_PARTS; i++)
        FC_TRY(make_program(ip, r, (fc_red_part)i, parts[i], &to->indexed, e));
    to->exclusive = r->exclusive;
    return FUSEC_OK;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

void fc_interp_free(fc_interp *ip) {
    if (!ip) return;
    const fc_alloc *alloc = ip->alloc;
    fc_vec_free(alloc, &ip->once.steps);
    for (size_t i = 0; i < ip->phases.len; i++) {
        fc_vec_free(alloc, &ip->phases.at[i].row.steps);
        fc_vec_free(alloc, &ip->phases.at[i].point.steps);
    }
    for (size_t i = 0; i < ip->reductions.len; i++) {
        fc_interp_reduction *r = &ip->reductions.at[i];
        program_free(alloc, &r->init);
        program_free(alloc, &r->step);
        program_free(alloc, &r->combine);
        program_free(alloc, &r->finish);
    }
    fc_vec_free(alloc, &ip->phases);
    fc_vec_free(alloc, &ip->accesses);
    fc_vec_free(alloc, &ip->reductions);
    fc_vec_free(alloc, &ip->stores);
    fc_vec_free(alloc, &ip->updates);
    fc_vec_free(alloc, &ip->externs);
    fc_vec_free(alloc, &ip->operands);
    for (size_t i = 0; i < ip->loops.len; i++) program_free(alloc, &ip->loops.at[i].round);
    fc_vec_free(alloc, &ip->loops);
    if (ip->spare) pthread_mutex_destroy(&ip->spare->turn);
    fc_free(alloc, ip->spare);
    fc_free(alloc, ip);
}

static fusec_status copy_parts(fc_interp *ip, const fc_kernel *k, fc_error *e) {
    ip->schedule = k->schedule;
    ip->nargs = (uint32_t)k->args.len;
    ip->nparams = (uint32_t)k->params.len;
    ip->nstages = k->nstages;
    for (size_t i = 0; i < k->accesses.len; i++) {
        const fc_access *a = &k->accesses.at[i];
        fc_interp_access to = {.buffer = a->buffer, .dtype = a->dtype, .level = a->level};
        if (!fc_push(ip->alloc, &ip->accesses, to)) return fc_oom(e);
    }
    for (size_t i = 0; i < k->reductions.len; i++) {
        fc_interp_reduction r = {0};
        if (!fc_push(ip->alloc, &ip->reductions, r)) return fc_oom(e);
        FC_TRY(make_reduction(ip, &k->reductions.at[i], &ip->reductions.at[i], e));
    }
    for (size_t i = 0; i < k->stores.len; i++)
        if (!fc_push(ip->alloc, &ip->stores, k->stores.at[i])) return fc_oom(e);
    for (size_t i = 0; i < k->updates.len; i++) {
        const fc_update *u = &k->updates.at[i];
        fc_interp_update to = {.arg = u->arg, .op = u->op, .dtype = k->args.at[u->arg].dtype};
        if (!fc_push(ip->alloc, &ip->updates, to)) return fc_oom(e);
    }
    for (size_t i = 0; i < k->externs.len; i++) {
        const fc_interp_extern to = {.param = k->externs.at[i].param};
        if (!fc_push(ip->alloc, &ip->externs, to)) return fc_oom(e);
    }
    return FUSEC_OK;
}

/* The values phase `stage` has to compute, as numbers of the legal code. */
static size_t roots_of(const fc_kernel *k, const fc_val *map, uint32_t stage, fc_val *roots) {
    size_t n = 0;
    for (size_t i = 0; stage < k->nstages && i < k->reductions.len; i++)
        if (k->reductions.at[i].stage == stage)
            n += fc_red_values(&k->reductions.at[i], map, roots + n);
    for (size_t i = 0; stage == k->nstages && i < k->stores.len; i++)
        roots[n++] = map[k->stores.at[i].value];
    for (size_t i = 0; stage == k->nstages && i < k->updates.len; i++)
        roots[n++] = map[k->updates.at[i].value];
    return n;
}

/* After emit_phase the slots of its roots stand in l->slot. */
static void note_slots(const layout *l, const fc_kernel *k, const fc_val *map, uint32_t stage,
                       fc_interp *ip) {
    for (size_t i = 0; stage < k->nstages && i < k->reductions.len; i++) {
        const fc_reduction *r = &k->reductions.at[i];
        if (r->stage != stage) continue;
        for (unsigned v = 0; v < r->nvalues; v++)
            ip->reductions.at[i].value[v] = l->slot[map[r->value[v]]];
    }
    const fc_val limit = stage < k->nstages ? fc_stage_limit(k, stage) : FC_NOVAL;
    ip->phases.at[stage].limited = limit != FC_NOVAL;
    if (limit != FC_NOVAL) ip->phases.at[stage].limit = l->slot[map[limit]];
    for (size_t i = 0; stage == k->nstages && i < k->stores.len; i++)
        ip->stores.at[i].value = l->slot[map[k->stores.at[i].value]];
}

static fusec_status lay_kernel(layout *l, const fc_kernel *k, const fc_val *map, fc_val *roots,
                               fc_interp *ip, fc_error *e) {
    for (uint32_t s = 0; s <= k->nstages; s++)
        fc_kernel_slice(l->code, roots, roots_of(k, map, s, roots), l->needed);
    FC_TRY(emit_once(l, &ip->once, e));
    l->first = l->next;
    for (size_t i = 0; i < k->reductions.len; i++) {
        ip->reductions.at[i].result = l->first;
        l->first += ip->reductions.at[i].nresults;
    }
    l->high = l->first;
    for (size_t i = 0; i < l->code->ins.len; i++) {
        const fc_instr *in = &l->code->ins.at[i];
        if (in->op == FC_OP_ACC)
            l->slot[i] = ip->reductions.at[fc_acc_reduction(in)].result + fc_acc_result(in);
    }
    for (uint32_t s = 0; s <= k->nstages; s++) {
        fc_phase phase = {0};
        if (!fc_push(ip->alloc, &ip->phases, phase)) return fc_oom(e);
        FC_TRY(emit_phase(l, roots, roots_of(k, map, s, roots), &ip->phases.at[s], e));
        note_slots(l, k, map, s, ip);
        if (k->schedule == FC_SCHED_SCAN) l->first = l->high; /* both phases run at every element */
    }
    ip->nslots = l->high;
    return FUSEC_OK;
}

static fusec_status compile(fc_interp *ip, const fc_kernel *k, fc_error *e) {
    const fc_alloc *alloc = ip->alloc;
    FC_TRY(copy_parts(ip, k, e));
    fc_code legal;
    layout l = {.alloc = alloc};
    fc_code_init(&legal, alloc);
    legal.rewrite = ip->rewrite;
    fc_val *map = fc_malloc(alloc, (k->code.ins.len + 1) * sizeof *map);
    fc_val *roots = fc_malloc(
        alloc, (FC_MAX_COMPONENTS * k->reductions.len + fc_kernel_ends(k) + 1) * sizeof *roots);
    fusec_status s =
        map && roots ? fc_legalize(&k->code, FC_TARGET_INTERP, &legal, map) : fc_oom(e);
    if (s != FUSEC_OK)
        fc_fail(e, s, "the code of a kernel could not be expanded for the interpreter");
    if (s == FUSEC_OK) s = layout_init(&l, alloc, &legal, k->schedule == FC_SCHED_MAP, e);
    l.k = k;
    l.ip = ip;
    if (s == FUSEC_OK) s = lay_kernel(&l, k, map, roots, ip, e);
    layout_free(&l);
    fc_free(alloc, roots);
    fc_free(alloc, map);
    fc_code_free(&legal);
    return s;
}

fusec_status fc_interp_compile(const fc_kernel *k, fc_rewrite rewrite, const fc_alloc *alloc,
                               fc_interp **out, fc_error *e) {
    fc_interp *ip = fc_calloc(alloc, 1, sizeof *ip);
    *out = NULL;
    if (!ip) return fc_oom(e);
    ip->alloc = alloc;
    ip->rewrite = rewrite;
    fusec_status s = compile(ip, k, e);
    if (s == FUSEC_OK && !fc_interp_make_spare(ip)) s = fc_oom(e);
    if (s == FUSEC_OK)
        *out = ip;
    else
        fc_interp_free(ip);
    return s;
}
