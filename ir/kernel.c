/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel.c - making, printing and counting kernels (ir/kernel_verify.c checks them).
 *
 * In: parts, in the order arguments, accesses, code, reductions, stores. Out: a fc_kernel as
 * ir/kernel.h describes it. Nothing here looks at the value of a size. */
#include "ir/kernel.h"
#include "ir/expand.h"

void fc_kernel_init(fc_kernel *k, const fc_alloc *alloc) {
    memset(k, 0, sizeof *k);
    fc_code_init(&k->code, alloc);
    fc_arena_init(&k->arena, alloc);
}

void fc_kernel_free(fc_kernel *k) {
    const fc_alloc *alloc = k->code.alloc;
    if (!alloc) return; /* never initialised */
    fc_vec_free(alloc, &k->accesses);
    fc_vec_free(alloc, &k->reductions);
    fc_vec_free(alloc, &k->stores);
    fc_vec_free(alloc, &k->updates);
    fc_vec_free(alloc, &k->params);
    fc_vec_free(alloc, &k->args);
    fc_vec_free(alloc, &k->checks);
    fc_vec_free(alloc, &k->externs);
    fc_vec_free(alloc, &k->places);
    for (size_t i = 0; i < k->records.len; i++) fc_code_free(&k->records.at[i]->code);
    fc_vec_free(alloc, &k->records);
    for (size_t i = 0; i < k->loops.len; i++) fc_code_free(&k->loops.at[i]->code);
    fc_vec_free(alloc, &k->loops);
    fc_code_free(&k->code);
    fc_arena_free(&k->arena);
}

/* ---- making ---------------------------------------------------------------------------------- */

static uint32_t out_of_memory(fc_kernel *k) {
    if (k->code.status == FUSEC_OK) k->code.status = FUSEC_OUT_OF_MEMORY;
    return UINT32_MAX;
}

uint32_t fc_kernel_arg(fc_kernel *k, fusec_dtype t, bool written, uint32_t buffer) {
    fc_arg arg = {.written = written, .dtype = (uint8_t)t, .buffer = buffer};
    if (!fc_push(k->code.alloc, &k->args, arg)) return out_of_memory(k);
    return (uint32_t)k->args.len - 1;
}

static uint32_t add_param(fc_kernel *k, fc_scalar param) {
    for (size_t i = 0; i < k->params.len; i++) {
        const fc_scalar *p = &k->params.at[i];
        if (p->dtype == param.dtype && p->is_dim == param.is_dim && p->part == param.part &&
            p->source == param.source && p->function == param.function)
            return (uint32_t)i;
    }
    if (!fc_push(k->code.alloc, &k->params, param)) return out_of_memory(k);
    return (uint32_t)k->params.len - 1;
}

uint32_t fc_kernel_param(fc_kernel *k, fusec_dtype t, bool is_dim, uint32_t source) {
    return add_param(k, (fc_scalar){.dtype = (uint8_t)t, .is_dim = is_dim, .source = source});
}

uint32_t fc_kernel_param_part(fc_kernel *k, fusec_dtype t, uint32_t source, unsigned part) {
    return add_param(k, (fc_scalar){.dtype = (uint8_t)t, .part = (uint8_t)part, .source = source});
}

static unsigned listed(const fc_code *c, fc_val record, unsigned most, fc_val *out) {
    unsigned n = 0;
    for (; record != FC_NOVAL; record = c->ins.at[record].c) {
        const fc_instr *i = &c->ins.at[record];
        if (n < most) out[n++] = i->a;
        if (i->b != FC_NOVAL && n < most) out[n++] = i->b;
    }
    return n;
}

static uint32_t extern_use(fc_kernel *k, const fc_extern *x) {
    for (size_t i = 0; i < k->externs.len; i++)
        if (k->externs.at[i].function == x) return (uint32_t)i;
    fc_extern_use use = {.function = x};
    use.param = add_param(k, (fc_scalar){.dtype = FUSEC_U64, .is_dim = true, .function = x});
    if (!fc_push(k->code.alloc, &k->externs, use)) return out_of_memory(k);
    return (uint32_t)k->externs.len - 1;
}

fc_val fc_kernel_extern(fc_kernel *k, fc_code *c, const fc_extern *x, const fc_val v[3]) {
    const uint32_t number = extern_use(k, x);
    const unsigned n = x->nargs < 3 ? x->nargs : 3;
    if (number == UINT32_MAX) return FC_NOVAL;
    for (unsigned i = 0; i < n; i++)
        if (v[i] == FC_NOVAL) return FC_NOVAL;
    return fc_code_add(c, (fc_instr){.op = FC_OP_EXTERN,
                                     .dtype = x->result,
                                     .a = v[0],
                                     .b = n > 1 ? v[1] : FC_NOVAL,
                                     .c = n > 2 ? v[2] : FC_NOVAL,
                                     .imm = number});
}

unsigned fc_extern_values(const fc_code *c, const fc_instr *i, fc_val out[FC_MAX_EXTERN]) {
    const unsigned n = (unsigned)fc_instr_arity(i);
    for (unsigned k = 0; k < n; k++) out[k] = fc_instr_operand(i, (int)k);
    if (n < 3 || c->ins.at[i->c].op != FC_OP_RECORD) return n;
    return 2 + listed(c, i->c, FC_MAX_EXTERN - 2, out + 2);
}

static bool same_map(const fc_map *a, const fc_map *b) {
    if (a->start != b->start) return false;
    for (; a && b; a = a->next, b = b->next)
        if (a->axis != b->axis || a->step != b->step) return false;
    return !a && !b;
}

static bool same_access(const fc_access *x, const fc_access *y) {
    if (x->buffer != y->buffer || x->rank != y->rank || !x->shape != !y->shape) return false;
    if (x->pair != y->pair) return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!same_map(&x->map[i], &y->map[i])) return false;
        if (x->shape && x->shape[i] != y->shape[i]) return false;
    }
    return true;
}

uint32_t fc_kernel_other_part(const fc_kernel *k, uint32_t access) {
    fc_access other = k->accesses.at[access];
    if (!other.pair) return UINT32_MAX;
    other.pair = (uint8_t)(3 - other.pair);
    for (uint32_t i = 0; i < k->accesses.len; i++)
        if (same_access(&k->accesses.at[i], &other)) return i;
    return UINT32_MAX;
}

/* The further terms of a map, copied. */
static bool copy_terms(fc_kernel *k, fc_map *m) {
    for (const fc_map *t = m->next; t; t = t->next) {
        fc_map *copy = fc_arena_alloc(&k->arena, sizeof *copy);
        if (!copy) return false;
        *copy = *t;
        m->next = copy;
        m = copy;
    }
    return true;
}

uint32_t fc_kernel_access(fc_kernel *k, uint32_t buffer, uint32_t rank, const fc_dim *shape,
                          const fc_map *map) {
    return fc_kernel_access_pair(k, buffer, rank, shape, map, 0);
}

uint32_t fc_kernel_access_pair(fc_kernel *k, uint32_t buffer, uint32_t rank, const fc_dim *shape,
                               const fc_map *map, unsigned pair) {
    bool index = buffer == FC_NO_BUFFER;
    if (!index && buffer >= k->args.len) return UINT32_MAX;
    fc_access acc = {.buffer = buffer, .rank = rank, .shape = shape, .map = map};
    acc.dtype = index ? (uint8_t)FUSEC_I64 : k->args.at[buffer].dtype;
    acc.pair = (uint8_t)pair;
    acc.level = k->schedule == FC_SCHED_MAP ? FC_POINT : FC_ROW;
    for (uint32_t i = 0; i < rank; i++)
        for (const fc_map *m = &map[i]; m; m = m->next)
            if (m->axis >= (int32_t)k->np) acc.level = FC_POINT;
    for (size_t i = 0; i < k->accesses.len; i++)
        if (same_access(&k->accesses.at[i], &acc)) return (uint32_t)i;

    fc_map *maps = fc_arena_alloc(&k->arena, (rank + 1) * sizeof *maps);
    fc_dim *dims = fc_arena_alloc(&k->arena, (rank + 1) * sizeof *dims);
    if (!maps || !dims) return out_of_memory(k);
    for (uint32_t i = 0; i < rank; i++) {
        maps[i] = map[i];
        if (!copy_terms(k, &maps[i])) return out_of_memory(k);
        if (shape) dims[i] = shape[i];
    }
    acc.map = maps;
    acc.shape = shape ? dims : NULL;
    if (!fc_push(k->code.alloc, &k->accesses, acc)) return out_of_memory(k);
    return (uint32_t)k->accesses.len - 1;
}

static fc_val leaf(fc_kernel *k, fc_op op, fusec_dtype t, fc_level level, uint64_t imm) {
    fc_instr i = {.op = (uint16_t)op,
                  .dtype = (uint8_t)t,
                  .level = (uint8_t)level,
                  .a = FC_NOVAL,
                  .b = FC_NOVAL,
                  .c = FC_NOVAL,
                  .imm = imm};
    return fc_code_add(&k->code, i);
}

fc_val fc_kernel_load(fc_kernel *k, uint32_t access) {
    if (access >= k->accesses.len) return FC_NOVAL;
    const fc_access *a = &k->accesses.at[access];
    return leaf(k, a->buffer == FC_NO_BUFFER ? FC_OP_INDEX : FC_OP_LOAD, (fusec_dtype)a->dtype,
                (fc_level)a->level, access);
}

fc_val fc_kernel_load_at(fc_kernel *k, uint32_t arg, fc_val element, fc_val when) {
    if (arg >= k->args.len) return FC_NOVAL;
    fc_instr i = {.op = FC_OP_LOAD_AT,
                  .dtype = k->args.at[arg].dtype,
                  .level = k->schedule == FC_SCHED_MAP ? FC_POINT : FC_ROW,
                  .a = element,
                  .b = when == FC_NOVAL ? fc_val_bits(&k->code, FUSEC_BOOL, 1) : when,
                  .c = FC_NOVAL,
                  .imm = arg};
    return fc_code_add(&k->code, i);
}

fc_val fc_kernel_inside(fc_kernel *k, fc_val index, fc_val size, fc_val position,
                        fc_check_site check) {
    fc_instr i = {.op = FC_OP_INSIDE,
                  .dtype = FUSEC_BOOL,
                  .level = k->schedule == FC_SCHED_MAP ? FC_POINT : FC_ROW,
                  .a = index,
                  .b = size,
                  .c = position,
                  .imm = k->checks.len};
    if (!fc_push(k->code.alloc, &k->checks, check)) return out_of_memory(k);
    return fc_code_add(&k->code, i);
}

fc_val fc_kernel_param_value(fc_kernel *k, uint32_t param) {
    if (param >= k->params.len) return FC_NOVAL;
    return leaf(k, FC_OP_PARAM, (fusec_dtype)k->params.at[param].dtype, FC_ROW, param);
}

/* ---- reductions ------------------------------------------------------------------------------ */

unsigned fc_red_components(const fc_reduction *r) {
    return r->record ? r->record->n : fc_ops[r->op].components;
}

fusec_dtype fc_red_component(const fc_reduction *r, unsigned c) {
    if (r->record) return (fusec_dtype)r->record->dtype[c];
    return fc_component_dtype((fc_op)r->op, (fusec_dtype)r->dtype, (int)c);
}

unsigned fc_red_results(const fc_reduction *r) {
    return r->record ? r->record->n : 1;
}

fusec_dtype fc_red_result(const fc_reduction *r, unsigned result) {
    if (r->record) return (fusec_dtype)r->record->dtype[result];
    return fc_red_dtype((fc_op)r->op, (fusec_dtype)r->dtype);
}

fusec_dtype fc_red_element(const fc_reduction *r, unsigned i) {
    return (fusec_dtype)(r->record ? r->record->dtype[i] : r->dtype);
}

fc_record *fc_kernel_add_record(fc_kernel *k) {
    fc_record *f = fc_arena_alloc(&k->arena, sizeof *f);
    if (!f || !fc_push(k->code.alloc, &k->records, f)) return out_of_memory(k), NULL;
    memset(f, 0, sizeof *f);
    fc_code_init(&f->code, k->code.alloc);
    return f;
}

fc_rounds *fc_kernel_new_rounds(fc_kernel *k) {
    fc_rounds *r = fc_arena_alloc(&k->arena, sizeof *r);
    if (!r) return out_of_memory(k), NULL;
    memset(r, 0, sizeof *r);
    fc_code_init(&r->code, k->code.alloc);
    return r;
}

bool fc_kernel_add_rounds(fc_kernel *k, fc_rounds *r) {
    if (fc_push(k->code.alloc, &k->loops, r)) return true;
    fc_code_free(&r->code);
    return out_of_memory(k), false;
}

unsigned fc_listed_values(const fc_code *c, fc_val record, fc_val out[FC_MAX_LISTED]) {
    return listed(c, record, FC_MAX_LISTED, out);
}

uint64_t fc_expected_rounds(const fc_code *c, fc_val repeat) {
    fc_val v[FC_MAX_LISTED];
    fc_listed_values(c, c->ins.at[repeat].a, v);
    const fc_instr *a = &c->ins.at[v[0]], *b = &c->ins.at[v[1]];
    if (a->op != FC_OP_CONST || b->op != FC_OP_CONST) return FC_REPEAT_ROUNDS;
    return (int64_t)b->imm > (int64_t)a->imm ? b->imm - a->imm : 0;
}

/* Its number; an equal one is the same. `r` has no gaps that are not 0. */
static uint32_t add_reduction(fc_kernel *k, const fc_reduction *r) {
    uint32_t n = 0;
    while (n < k->reductions.len && memcmp(&k->reductions.at[n], r, sizeof *r) != 0) n++;
    if (n == k->reductions.len && !fc_push(k->code.alloc, &k->reductions, *r))
        return out_of_memory(k), UINT32_MAX;
    if (k->nstages <= r->stage) k->nstages = r->stage + 1u;
    return n;
}

static void blank_reduction(fc_reduction *r, fc_op op, unsigned stage, bool exclusive) {
    memset(r, 0, sizeof *r); /* compared by its bytes */
    r->op = (uint16_t)op;
    r->half = FUSEC_BOOL;
    r->stage = (uint8_t)stage;
    r->exclusive = exclusive;
    r->limit = FC_NOVAL;
    for (unsigned i = 0; i < FC_MAX_COMPONENTS; i++) r->value[i] = FC_NOVAL;
}

/* The integer that was only widened to be the element of a contraction. */
static fc_val before_widening(const fc_code *c, fc_val v) {
    const fc_instr *i = &c->ins.at[v];
    if (i->op != FC_OP_CAST) return v;
    const fusec_dtype to = (fusec_dtype)i->dtype, from = fc_val_dtype(c, i->a);
    const bool holds = fc_dtypes[to].bits > fc_dtypes[from].bits && from != FUSEC_BOOL &&
                       (fc_is_unsigned(from) || fc_is_signed(to));
    return fc_is_int(to) && fc_is_int(from) && holds ? i->a : v;
}

static fc_val add_row(fc_kernel *k, fc_op red, fc_val value, fc_val other, fc_val limit,
                      unsigned stage, bool exclusive) {
    fc_reduction r;
    const fc_val element[] = {value, other};
    blank_reduction(&r, red, stage, exclusive);
    if (value == FC_NOVAL) return FC_NOVAL;
    r.limit = limit;
    r.dtype = (uint8_t)fc_acc_dtype(red, fc_val_dtype(&k->code, value));
    r.nvalues = other == FC_NOVAL ? 1 : 2;
    const fusec_dtype from = fc_val_dtype(&k->code, value);
    if (r.nvalues == 2 && fc_is_half(from) && fc_val_dtype(&k->code, other) == from)
        r.half = (uint8_t)from;
    else if (r.nvalues == 2 && k->tf32 && r.dtype == FUSEC_F32)
        r.half = FUSEC_F32;
    for (unsigned i = 0; i < r.nvalues; i++) {
        const fc_val of = r.nvalues == 2 ? before_widening(&k->code, element[i]) : element[i];
        r.value[i] = fc_val_cast(&k->code, of, (fusec_dtype)r.dtype);
        if (r.value[i] == FC_NOVAL) return FC_NOVAL;
    }
    return fc_kernel_acc(k, add_reduction(k, &r), 0);
}

uint32_t fc_kernel_fold(fc_kernel *k, const fc_record *record, const fc_val value[], unsigned stage,
                        bool exclusive) {
    fc_reduction r;
    blank_reduction(&r, FC_OP_FOLD, stage, exclusive);
    r.record = record;
    r.nvalues = record->n;
    for (unsigned i = 0; i < record->n; i++) {
        if (value[i] == FC_NOVAL) return UINT32_MAX;
        r.value[i] = value[i];
    }
    return add_reduction(k, &r);
}

fc_val fc_kernel_acc(fc_kernel *k, uint32_t reduction, unsigned result) {
    if (reduction >= k->reductions.len) return FC_NOVAL;
    const fc_level level = k->schedule == FC_SCHED_SCAN ? FC_POINT : FC_ROW;
    return leaf(k, FC_OP_ACC, fc_red_result(&k->reductions.at[reduction], result), level,
                fc_acc_imm(reduction, result));
}

fc_val fc_kernel_reduce(fc_kernel *k, fc_op red, fc_val value, unsigned stage) {
    return add_row(k, red, value, FC_NOVAL, FC_NOVAL, stage, false);
}

fc_val fc_kernel_reduce_ragged(fc_kernel *k, fc_op red, fc_val value, fc_val limit,
                               unsigned stage) {
    return add_row(k, red, value, FC_NOVAL, limit, stage, false);
}

fc_val fc_kernel_scan(fc_kernel *k, fc_op red, fc_val value, bool exclusive) {
    return add_row(k, red, value, FC_NOVAL, FC_NOVAL, 0, exclusive);
}

fc_val fc_kernel_contract(fc_kernel *k, fc_val left, fc_val right, unsigned stage) {
    return right == FC_NOVAL ? right : add_row(k, FC_OP_dot, left, right, FC_NOVAL, stage, false);
}

void fc_kernel_store(fc_kernel *k, uint32_t access, fc_val value) {
    fc_store s = {.access = access, .value = value};
    /* along an axis of literal size 1 there is one point, and no index of it in the access */
    if (access < k->accesses.len && k->schedule == FC_SCHED_SCAN)
        k->accesses.at[access].level = FC_POINT;
    if (access == UINT32_MAX || value == FC_NOVAL || !fc_push(k->code.alloc, &k->stores, s))
        out_of_memory(k);
}

bool fc_access_moves(const fc_access *a, int32_t axis) {
    for (uint32_t i = 0; i < a->rank; i++)
        for (const fc_map *m = &a->map[i]; m; m = m->next)
            if (m->axis == axis && m->step) return true;
    return false;
}

bool fc_can_update(fc_op op, fusec_dtype t) {
    if (op == FC_OP_NONE) return true;
    const bool whole = fc_is_int(t) && t != FUSEC_BOOL && fc_dtypes[t].bytes >= 4;
    return whole && (op == FC_OP_sum || op == FC_OP_min || op == FC_OP_max);
}

void fc_kernel_update(fc_kernel *k, fc_update u, fc_val element, fc_val when, fc_val value) {
    if (u.arg >= k->args.len || element == FC_NOVAL || value == FC_NOVAL) {
        out_of_memory(k);
        return;
    }
    fc_instr i = {.op = FC_OP_PUT_AT,
                  .dtype = FUSEC_BOOL,
                  .level = FC_POINT,
                  .a = element,
                  .b = when == FC_NOVAL ? fc_val_bits(&k->code, FUSEC_BOOL, 1) : when,
                  .c = value,
                  .imm = k->updates.len};
    u.value = fc_code_add(&k->code, i);
    if (u.value == FC_NOVAL || !fc_push(k->code.alloc, &k->updates, u)) out_of_memory(k);
}

/* ---- using ----------------------------------------------------------------------------------- */

void fc_kernel_slice(const fc_code *code, const fc_val *roots, size_t nroots, uint8_t *needed) {
    for (size_t i = 0; i < nroots; i++) needed[roots[i]] = 1;
    for (size_t i = code->ins.len; i-- > 0;) { /* users come after their operands */
        const fc_instr *in = &code->ins.at[i];
        int arity = needed[i] ? fc_instr_arity(in) : 0;
        if (arity > 0) needed[in->a] = 1;
        if (arity > 1) needed[in->b] = 1;
        if (arity > 2) needed[in->c] = 1;
    }
}

static bool computes(const fc_instr *in) {
    return fc_is_elementwise(in->op) || in->op == FC_OP_CAST || in->op == FC_OP_CVT ||
           in->op == FC_OP_EXTERN;
}

static bool counts(const fc_kernel *k, const fc_instr *in) {
    const bool work = computes(in) || in->op == FC_OP_ROUNDS;
    return work && (in->level == FC_POINT || k->schedule == FC_SCHED_MAP);
}

enum { MOST_WORK = 1 << 20 };

static uint32_t work_of_one(const fc_kernel *k, const fc_instr *in) {
    return in->op == FC_OP_EXTERN ? 1 + k->externs.at[in->imm].function->slots : computes(in);
}

static uint32_t work_of(uint64_t each, uint64_t rounds) {
    return rounds && each > MOST_WORK / rounds ? MOST_WORK : (uint32_t)(each * rounds);
}

/* What the rounds of the loop at %i take. */
static void count_rounds(const fc_kernel *k, const fc_code *c, size_t i, uint32_t *ops,
                         uint32_t *trans) {
    const fc_rounds *r = k->loops.at[c->ins.at[i].imm];
    const uint64_t rounds = fc_expected_rounds(c, (fc_val)i);
    uint32_t n = 0, functions = 0;
    for (size_t j = 0; j < r->code.ins.len; j++) {
        const fc_instr *in = &r->code.ins.at[j];
        if (in->op == FC_OP_ROUNDS) count_rounds(k, &r->code, j, &n, &functions);
        n += work_of_one(k, in);
        functions += fc_is_elementwise(in->op) && (fc_ops[in->op].flags & FC_F_TRANSCENDENTAL);
    }
    *ops += work_of(n, rounds);
    *trans += work_of(functions, rounds);
}

enum { IN_ADDRESS = 2, AS_VALUE = 3 }; /* of what is needed, which is 1 at first */

/* A sum or product of an index and what is the same at all elements. */
static bool is_displacement(const fc_code *c, const fc_instr *in) {
    return in->dtype == FUSEC_I64 &&
           (in->op == FC_OP_add || in->op == FC_OP_sub || in->op == FC_OP_mul) &&
           (c->ins.at[in->a].level == FC_ROW || c->ins.at[in->b].level == FC_ROW);
}

/* Such sums that do nothing but say where an element is are part of its address. */
static void find_addresses(const fc_code *c, uint8_t *needed) {
    for (fc_val v = (fc_val)c->ins.len; v-- > 0;) {
        const fc_instr *in = &c->ins.at[v];
        const bool inside = needed[v] == IN_ADDRESS && is_displacement(c, in);
        for (int n = 0; needed[v] && n < fc_instr_arity(in); n++) {
            const bool place = in->op == FC_OP_LOAD_AT && n == 0;
            uint8_t *of = &needed[fc_instr_operand(in, n)];
            if (!place && !inside) *of = AS_VALUE;
            if (*of < IN_ADDRESS) *of = IN_ADDRESS;
        }
    }
}

static void count_needed(const fc_kernel *k, uint8_t *needed, uint32_t *ops, uint32_t *trans) {
    if (needed) find_addresses(&k->code, needed);
    for (size_t i = 0; i < k->code.ins.len; i++) {
        const fc_instr *in = &k->code.ins.at[i];
        if ((needed && !needed[i]) || !counts(k, in)) continue;
        if (needed && needed[i] == IN_ADDRESS && is_displacement(&k->code, in)) continue;
        if (in->op == FC_OP_ROUNDS) {
            count_rounds(k, &k->code, i, ops, trans);
            continue;
        }
        *ops += work_of_one(k, in);
        if (fc_is_elementwise(in->op) && (fc_ops[in->op].flags & FC_F_TRANSCENDENTAL)) *trans += 1;
    }
}

/* What a step by a fold takes beyond one operation. */
static void count_fold(const fc_kernel *k, const fc_record *f, uint32_t *ops, uint32_t *trans) {
    for (size_t i = 0; f && i < f->code.ins.len; i++) {
        const uint16_t op = f->code.ins.at[i].op;
        if (op == FC_OP_ARG || op == FC_OP_CONST) continue;
        *ops += op == FC_OP_EXTERN ? work_of_one(k, &f->code.ins.at[i]) : 1;
        if (fc_is_elementwise(op) && (fc_ops[op].flags & FC_F_TRANSCENDENTAL)) *trans += 1;
    }
}

void fc_kernel_cost(const fc_kernel *k, uint32_t *ops, uint32_t *transcendental) {
    *ops = 0;
    *transcendental = 0;
    /* Kernels within the limits of passes/fuse.h fit: the answer shapes launches, and is to be the
     * same when memory is short. */
    uint8_t small[4096], *needed = small;
    size_t n = k->code.ins.len;
    if (n > sizeof small) needed = fc_malloc(k->code.alloc, n);
    if (!needed) { /* an estimate: every instruction once */
        count_needed(k, NULL, ops, transcendental);
        return;
    }
    for (uint32_t s = 0; s <= k->nstages; s++) {
        memset(needed, 0, n);
        for (size_t i = 0; s < k->nstages && i < k->reductions.len; i++) {
            if (k->reductions.at[i].stage != s) continue;
            fc_val values[FC_MAX_COMPONENTS];
            fc_kernel_slice(&k->code, values, fc_red_values(&k->reductions.at[i], NULL, values),
                            needed);
            *ops += 1;
            count_fold(k, k->reductions.at[i].record, ops, transcendental);
        }
        for (size_t i = 0; s == k->nstages && i < k->stores.len; i++)
            fc_kernel_slice(&k->code, &k->stores.at[i].value, 1, needed);
        for (size_t i = 0; s == k->nstages && i < k->updates.len; i++) {
            fc_kernel_slice(&k->code, &k->updates.at[i].value, 1, needed);
            *ops += 1;
        }
        count_needed(k, needed, ops, transcendental);
    }
    if (needed != small) fc_free(k->code.alloc, needed);
}

/* ---- text ------------------------------------------------------------------------------------ */

const char *fc_schedule_name(fc_schedule s) {
    static const char *const names[FC_SCHED_COUNT] = {"map", "inner", "outer", "dot", "scan"};
    return names[s];
}

static void print_extents(const fc_kernel *k, const fc_dimtab *dims, fc_str *out) {
    for (uint32_t i = 0; i < k->np + k->nr; i++) {
        fc_str_add(out, i == 0 ? " [" : i == k->np ? " | " : ", ");
        if (i == 0 && k->np == 0) fc_str_add(out, "| ");
        fc_dim_print(dims, k->extent[i], out);
    }
    if (k->np + k->nr) fc_str_char(out, ']');
}

static void print_map(const fc_map *m, const fc_dimtab *dims, fc_str *out) {
    int64_t start;
    bool plain = fc_dim_is_const(dims, m->start, &start);
    if (m->axis < 0) {
        fc_dim_print(dims, m->start, out);
        return;
    }
    for (const fc_map *t = m; t; t = t->next) {
        fc_str_printf(out, "%si%d", t == m ? "" : " + ", (int)t->axis);
        if (t->step != 1) fc_str_printf(out, "*%lld", (long long)t->step);
    }
    if (plain && start == 0) return;
    fc_str_add(out, " + ");
    fc_dim_print(dims, m->start, out);
}

static void print_access(const fc_kernel *k, const fc_access *a, const fc_dimtab *dims,
                         fc_str *out) {
    if (a->buffer == FC_NO_BUFFER)
        fc_str_add(out, "index");
    else
        fc_str_printf(out, "arg%u", (unsigned)a->buffer);
    if (k->schedule != FC_SCHED_MAP) fc_str_add(out, a->level == FC_ROW ? " row" : " point");
    if (!dims) return;
    for (uint32_t i = 0; i < a->rank; i++) {
        fc_str_add(out, i ? ", " : " [");
        print_map(&a->map[i], dims, out);
    }
    if (a->rank) fc_str_char(out, ']');
    if (a->pair) fc_str_printf(out, " part %d", a->pair - 1);
    if (!a->shape) return;
    fc_str_add(out, " of [");
    for (uint32_t i = 0; i < a->rank; i++) {
        if (i) fc_str_add(out, ", ");
        fc_dim_print(dims, a->shape[i], out);
    }
    fc_str_char(out, ']');
}

static void print_arguments(const fc_kernel *k, const fc_dimtab *dims, fc_str *out) {
    for (size_t i = 0; i < k->args.len; i++)
        fc_str_printf(out, "arg%u = %s %s\n", (unsigned)i, fc_dtypes[k->args.at[i].dtype].name,
                      k->args.at[i].written ? "out" : "in");
    for (size_t i = 0; i < k->params.len; i++) {
        const fc_scalar *p = &k->params.at[i];
        fc_str_printf(out, "param%u = %s", (unsigned)i, fc_dtypes[p->dtype].name);
        if (dims && !p->is_dim) fc_str_printf(out, " input %u", (unsigned)p->source);
        if (dims && p->part) fc_str_printf(out, " part %u", (unsigned)p->part);
        if (dims && p->is_dim && !p->function) {
            fc_str_add(out, " size ");
            fc_dim_print(dims, p->source, out);
        }
        fc_str_char(out, '\n');
    }
    for (size_t i = 0; i < k->accesses.len; i++) {
        fc_str_printf(out, "access%u = ", (unsigned)i);
        print_access(k, &k->accesses.at[i], dims, out);
        fc_str_char(out, '\n');
    }
}

/* Its starts, its code and which values of that are the new record. */
static void print_fold(const fc_record *f, fc_str *out) {
    for (unsigned c = 0; c < f->n; c++)
        fc_str_printf(out, "%s%s 0x%llx", c ? ", " : "  start ", fc_dtypes[f->dtype[c]].name,
                      (unsigned long long)f->start[c]);
    fc_str_char(out, '\n');
    fc_code_print(&f->code, out);
    for (unsigned c = 0; c < f->n; c++)
        fc_str_printf(out, "%s%%%u", c ? ", " : "  end ", (unsigned)f->out[c]);
    fc_str_char(out, '\n');
}

static void print_rounds(const fc_rounds *r, size_t number, fc_str *out) {
    fc_str_printf(out, "rounds%zu = carries", number);
    for (unsigned i = 0; i < r->nvalues; i++)
        fc_str_printf(out, "%s%s",
                      i == r->ncarried ? " reads "
                      : i              ? ", "
                                       : " ",
                      fc_dtypes[r->dtype[i]].name);
    fc_str_char(out, '\n');
    fc_code_print(&r->code, out);
    for (unsigned i = 0; i < fc_rounds_outs(r); i++)
        fc_str_printf(out, "%s%%%u",
                      i              ? ", "
                      : r->condition ? "  while "
                                     : "  next ",
                      (unsigned)r->out[i]);
    fc_str_char(out, '\n');
}

/* With its text, as code of a GPU has it in it. */
static void print_extern(const fc_extern *x, size_t number, fc_str *out) {
    fc_str_printf(out, "extern%zu = %s %s(", number, fc_dtypes[x->result].name, x->name);
    for (unsigned i = 0; i < x->nargs; i++)
        fc_str_printf(out, "%s%s", i ? ", " : "", fc_dtypes[x->dtype[i]].name);
    fc_str_add(out, ")\n");
    if (x->cuda) fc_str_printf(out, "%s\n", x->cuda);
}

void fc_kernel_print(const fc_kernel *k, const fc_dimtab *dims, fc_str *out) {
    fc_str_printf(out, "kernel %s p%u r%u", fc_schedule_name(k->schedule), (unsigned)k->np,
                  (unsigned)k->nr);
    if (dims) print_extents(k, dims, out);
    fc_str_char(out, '\n');
    print_arguments(k, dims, out);
    for (size_t i = 0; i < k->loops.len; i++) print_rounds(k->loops.at[i], i, out);
    for (size_t i = 0; i < k->externs.len; i++) print_extern(k->externs.at[i].function, i, out);
    fc_code_print(&k->code, out);
    for (size_t i = 0; i < k->reductions.len; i++) {
        const fc_reduction *r = &k->reductions.at[i];
        fc_str_printf(out, "reduce%u = stage %u %s", (unsigned)i, (unsigned)r->stage,
                      fc_ops[r->op].name);
        if (!r->record) fc_str_printf(out, " %s", fc_dtypes[r->dtype].name);
        for (unsigned v = 0; v < r->nvalues; v++)
            fc_str_printf(out, " %%%u", (unsigned)r->value[v]);
        if (r->limit != FC_NOVAL) fc_str_printf(out, " of %%%u elements", (unsigned)r->limit);
        if (r->half != FUSEC_BOOL)
            fc_str_printf(out, " of %s", r->half == FUSEC_F32 ? "tf32" : fc_dtypes[r->half].name);
        fc_str_add(out, r->exclusive ? " exclusive\n" : "\n");
        if (r->record) print_fold(r->record, out);
    }
    for (size_t i = 0; i < k->stores.len; i++)
        fc_str_printf(out, "store access%u %%%u\n", (unsigned)k->stores.at[i].access,
                      (unsigned)k->stores.at[i].value);
    for (size_t i = 0; i < k->updates.len; i++) {
        const fc_update *u = &k->updates.at[i];
        fc_str_printf(out, "update%u = %s arg%u of param%u %%%u\n", (unsigned)i,
                      u->op ? fc_ops[u->op].name : "set", (unsigned)u->arg, (unsigned)u->size,
                      (unsigned)u->value);
    }
}
