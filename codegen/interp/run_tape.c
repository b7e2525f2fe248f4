/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run_tape.c - one tape over a block of lanes, and the memory that it reads and stores; see run.c.
 */
#include "codegen/interp/run.h"
#include "ir/eval.h"
#include "ir/plant.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static void move_run(const fc_interp_state *r, const fc_interp_access *a, fc_interp_direction d,
                     int64_t offset, int64_t stride, size_t n, char *block) {
    if (d == FC_INTERP_INDEXING) {
        for (size_t i = 0; i < n; i++) {
            int64_t value = offset + (int64_t)i * stride;
            memcpy(block + i * sizeof value, &value, sizeof value);
        }
        return;
    }
    fusec_dtype t = (fusec_dtype)a->dtype;
    char *array = (char *)(intptr_t)r->words[r->at.args + a->buffer];
    char *p = array + offset * fc_dtypes[t].bytes;
    if (d == FC_INTERP_LOADING)
        fc_eval_load(t, n, p, stride, block);
    else
        fc_eval_store(t, n, block, p, stride);
}

/* Moves n lanes from the current lane position on: one strided run for each line of the innermost
 * axis. */
static void move_lanes(const fc_interp_state *r, uint32_t access, fc_interp_direction d, size_t n,
                       char *block) {
    const fc_interp_access *a = &r->ip->accesses.at[access];
    size_t size = d == FC_INTERP_INDEXING ? sizeof(int64_t) : fc_eval_size((fusec_dtype)a->dtype);
    const int64_t *stride = fc_interp_access_words(r, access) + 1 + r->lane_axis;
    uint32_t inner = r->lane_axes - 1;
    int64_t offset = r->base[access], index[FC_MAX_AXES];
    for (uint32_t i = 0; i <= inner; i++) {
        index[i] = r->lane[i];
        offset += index[i] * stride[i];
    }
    for (size_t done = 0; done < n;) {
        int64_t left = fc_interp_extent(r, r->lane_axis + inner) - index[inner];
        size_t now = (size_t)fc_interp_smaller(left, (int64_t)(n - done));
        move_run(r, a, d, offset, stride[inner], now, block + done * size);
        done += now;
        offset += (int64_t)now * stride[inner];
        index[inner] += (int64_t)now;
        for (uint32_t i = inner; i > 0 && index[i] == fc_interp_extent(r, r->lane_axis + i); i--) {
            offset += stride[i - 1] - index[i] * stride[i];
            index[i] = 0;
            index[i - 1] += 1;
        }
    }
}

/* In an inner reduction a row's own values are the same in all lanes. */
static bool one_per_row(const fc_interp_state *r, uint32_t access) {
    return r->ip->schedule == FC_SCHED_INNER && r->ip->accesses.at[access].level == FC_ROW;
}

void fc_interp_move(const fc_interp_state *r, uint32_t access, fc_interp_direction d, size_t n,
                    char *block) {
    if (!one_per_row(r, access))
        move_lanes(r, access, d, n, block);
    else
        move_run(r, &r->ip->accesses.at[access], d, r->base[access], 0,
                 d == FC_INTERP_STORING ? 1 : n, block);
}

/* Elements of an argument wherever `when` holds, else 0. */
static void load_at(const fc_interp_state *r, const fc_step *s, const char *element,
                    const char *when, size_t n, char *block) {
    const fusec_dtype t = (fusec_dtype)s->to;
    const char *array = (const char *)(intptr_t)r->words[r->at.args + s->imm];
    const size_t size = fc_eval_size(t);
    memset(block, 0, n * size);
    for (size_t i = 0; i < n; i++) {
        int64_t at;
        memcpy(&at, element + i * sizeof at, sizeof at);
        if (!when[i]) continue;
        fc_eval_load(t, 1, array + at * fc_dtypes[t].bytes, 0, block + i * size);
    }
}

static void check_inside(const fc_interp_state *r, const fc_step *s, const char *frame, size_t n,
                         char *block) {
    uint64_t *report = (uint64_t *)(intptr_t)r->words[r->at.extra + FC_PB_REPORT];
    for (size_t i = 0; i < n; i++) {
        int64_t v[3];
        memcpy(&v[0], frame + (size_t)s->a * FC_SLOT_BYTES + i * sizeof v[0], sizeof v[0]);
        memcpy(&v[1], frame + (size_t)s->b * FC_SLOT_BYTES + i * sizeof v[0], sizeof v[0]);
        memcpy(&v[2], frame + (size_t)s->c * FC_SLOT_BYTES + i * sizeof v[0], sizeof v[0]);
        block[i] = v[0] >= 0 && v[0] < v[1];
        if (!block[i] && v[2] >= 0 && report)
            fc_report_outside(report, (uint32_t)s->imm, v[2], v[0]);
    }
}

#define TAKE_IN(T)                                                                                 \
    do {                                                                                           \
        T *to = (T *)(void *)p, x, old, now;                                                       \
        memcpy(&x, v, sizeof x);                                                                   \
        old = __atomic_load_n(to, __ATOMIC_RELAXED);                                               \
        do {                                                                                       \
            now = op == FC_OP_sum                         ? (T)((uint64_t)old + (uint64_t)x)       \
                  : (op == FC_OP_min ? x < old : x > old) ? x                                      \
                                                          : old;                                   \
        } while (now != old && !__atomic_compare_exchange_n(to, &old, now, true, __ATOMIC_RELAXED, \
                                                            __ATOMIC_RELAXED));                    \
    } while (0)

/* An element takes a value in, while other threads do the same. */
static void take_in(fc_op op, fusec_dtype t, char *p, const char *v) {
    switch (t) {
    case FUSEC_I32: TAKE_IN(int32_t); return;
    case FUSEC_U32: TAKE_IN(uint32_t); return;
    case FUSEC_I64: TAKE_IN(int64_t); return;
    default: TAKE_IN(uint64_t); return;
    }
}

static void put_at(const fc_interp_state *r, const fc_step *s, const char *frame, size_t n,
                   char *block) {
    const fc_interp_update *u = &r->ip->updates.at[s->imm];
    const fusec_dtype t = (fusec_dtype)u->dtype;
    const size_t size = fc_eval_size(t);
    char *array = (char *)(intptr_t)r->words[r->at.args + u->arg];
    const char *element = frame + (size_t)s->a * FC_SLOT_BYTES,
               *when = frame + (size_t)s->b * FC_SLOT_BYTES,
               *value = frame + (size_t)s->c * FC_SLOT_BYTES;
    for (size_t i = 0; i < n; i++) {
        int64_t at;
        memcpy(&at, element + i * sizeof at, sizeof at);
        block[i] = when[i];
        if (!when[i] || (FC_PLANTED(scatter_lane) && i + 1 == n)) continue;
        char *p = array + at * fc_dtypes[t].bytes;
        if (u->op == FC_OP_NONE)
            fc_eval_store(t, 1, value + i * size, p, 0);
        else
            take_in((fc_op)u->op, t, p, value + i * size);
    }
}

/* ---- tapes ----------------------------------------------------------------------------------- */

/* Repeats the first value of a block. */
void fc_interp_splat(char *block, size_t size, size_t n) {
    for (size_t i = 1; i < n; i++) memcpy(block + i * size, block, size);
}

static bool any_of(const char *flag, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (flag[i]) return true;
    return false;
}

/* The lanes make rounds until the last one of them stops. */
static void run_loop(const fc_interp_state *r, const fc_step *s, char *frame, size_t n) {
    const fc_interp_loop *d = &r->ip->loops.at[s->imm];
    char *own = r->loop[s->imm];
    int64_t k, end;
    memcpy(&k, fc_interp_slot(frame, d->operand[0]), sizeof k);
    const int64_t first = FC_PLANT(loop_counter, k, 0);
    memcpy(&end, fc_interp_slot(frame, d->operand[1]), sizeof end);
    for (uint32_t i = 0; i < d->nvalues; i++)
        memcpy(fc_interp_slot(own, FC_ARG_VALUE + i),
               fc_interp_slot(frame, d->operand[FC_REPEAT_BOUNDS + i]), d->size[i] * n);
    end -= FC_PLANTED(loop_rounds) && k < end;
    for (; k < end; k++) {
        const int64_t counter = k - first;
        fc_eval_load(FUSEC_I64, n, &counter, 0, fc_interp_slot(own, FC_ARG_COUNTER));
        fc_interp_tape(r, &d->round.body, own, n);
        if (d->condition &&
            !any_of(fc_interp_slot(own, d->round.out[0]), FC_PLANT(loop_lanes, 1, n)))
            break;
        for (uint32_t i = 0; i < d->ncarried; i++)
            memcpy(fc_interp_slot(own, FC_ARG_VALUE + i),
                   fc_interp_slot(own, d->round.out[d->condition + i]), d->size[i] * n);
    }
}

static void loop_result(const fc_interp_state *r, const fc_step *s, size_t n, char *dst) {
    memcpy(dst, fc_interp_slot(r->loop[s->a], FC_ARG_VALUE + (uint32_t)s->imm),
           n * fc_eval_size((fusec_dtype)s->to));
}

static void call_extern(const fc_interp_state *r, const fc_step *s, char *frame, size_t n,
                        char *dst) {
    const uint32_t param = r->ip->externs.at[s->imm].param;
    const fc_extern *x = (const fc_extern *)(intptr_t)r->words[r->at.params + param];
    const void *in[FC_MAX_EXTERN];
    for (unsigned i = 0; i < x->nargs; i++)
        in[i] = fc_interp_slot(frame, r->ip->operands.at[s->a + i]);
    x->fn(x->user, (int64_t)n, in, dst);
}

static void run_step(const fc_interp_state *r, const fc_step *s, char *frame, size_t n) {
    char *dst = fc_interp_slot(frame, s->dst);
    fusec_dtype t = (fusec_dtype)s->t;
    switch (s->op) {
    case FC_OP_CONST: fc_eval_load(t, n, &s->imm, 0, dst); return;
    case FC_OP_PARAM: fc_eval_load(t, n, &r->words[r->at.params + s->imm], 0, dst); return;
    case FC_OP_COUNT: fc_eval_load(FUSEC_I64, n, &r->count, 0, dst); return;
    case FC_OP_LOAD: fc_interp_move(r, (uint32_t)s->imm, FC_INTERP_LOADING, n, dst); return;
    case FC_OP_INDEX: fc_interp_move(r, (uint32_t)s->imm, FC_INTERP_INDEXING, n, dst); return;
    case FC_OP_LOAD_AT:
        load_at(r, s, fc_interp_slot(frame, s->a), fc_interp_slot(frame, s->b), n, dst);
        return;
    case FC_OP_INSIDE: check_inside(r, s, frame, n, dst); return;
    case FC_OP_PUT_AT: put_at(r, s, frame, n, dst); return;
    case FC_OP_ROUNDS: run_loop(r, s, frame, n); return;
    case FC_OP_RESULT: loop_result(r, s, n, dst); return;
    case FC_OP_EXTERN: call_extern(r, s, frame, n, dst); return;
    case FC_OP_NONE: memcpy(dst, fc_interp_slot(frame, s->a), n * fc_eval_size(t)); return;
    default:
        fc_eval((fc_op)s->op, t, (fusec_dtype)s->to, n, fc_interp_slot(frame, s->a),
                fc_interp_slot(frame, s->b), fc_interp_slot(frame, s->c), dst);
    }
}

void fc_interp_tape(const fc_interp_state *r, const fc_tape *tape, char *frame, size_t n) {
    for (size_t i = 0; i < tape->steps.len; i++) run_step(r, &tape->steps.at[i], frame, n);
}
