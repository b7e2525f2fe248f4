/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sweep.c - one job: threads take blocks of inputs, compute the exact results, and compare those of
 * each device. */
#include "tests/accuracy/accuracy.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/oracle.h"
#include "tests/support/row_apply.h"
#include "tests/support/ulp.h"

enum { B = FC_ACC_BLOCK };

typedef struct worst {
    double ulp, x, y, got;
    long double want;
    uint64_t wrong; /* results that are not the nearest number */
} worst;

typedef struct sweep {
    const fc_acc_setup *setup;
    const fc_acc_job *job;
    fusec_program *program[FC_ACC_DEVICES];
    double *value; /* of the 65536 bit patterns of a dtype of 16 bits */
    _Atomic uint64_t next;
    pthread_mutex_t lock;
    worst at[FC_ACC_DEVICES];
    _Atomic bool failed;
    char failure[400]; /* why */
} sweep;

/* The buffers of a thread. */
typedef struct desk {
    double *x, *y;
    long double *want;
    double *nearest; /* number of the dtype to `want` */
    void *in[2], *out;
    worst at[FC_ACC_DEVICES];
} desk;

static bool compile(sweep *s, int d) {
    fusec_context *ctx = s->setup->context[d];
    fusec_graph *g = NULL;
    if (fusec_graph_new(ctx, &g) == FUSEC_OK) {
        const fusec_dim n = fusec_sym(g, "n");
        const fusec_value x = fusec_input(g, "x", s->job->dtype, 1, &n);
        const bool two = fc_ops[s->job->op].arity == 2;
        const fusec_value y = two ? fusec_input(g, "y", s->job->dtype, 1, &n) : x;
        fusec_output(g, "v", fc_row_apply(s->job->op, x, y));
        fusec_compile(g, &s->program[d]);
    }
    if (!s->program[d])
        snprintf(s->failure, sizeof s->failure, "%s: %s", s->setup->name[d], fusec_message(ctx));
    fusec_graph_free(g);
    return s->program[d] != NULL;
}

/* ---- a block ---------------------------------------------------------------------------- */

static void store(fusec_dtype t, void *array, size_t i, double v) {
    if (t == FUSEC_F32)
        ((float *)array)[i] = (float)v;
    else
        ((double *)array)[i] = v;
}

/* Patterns of 16 bits are taken as they are: the sign of a nan is one of them. */
static void take_input(const sweep *s, uint64_t at, size_t n, desk *k) {
    const fc_acc_job *j = s->job;
    const bool two = fc_ops[j->op].arity == 2;
    if (s->value) {
        const uint16_t x = (uint16_t)at, y = (uint16_t)(at >> 16);
        k->x[n] = s->value[x];
        k->y[n] = two ? s->value[y] : 0;
        ((uint16_t *)k->in[0])[n] = x;
        ((uint16_t *)k->in[1])[n] = y;
        return;
    }
    fc_acc_input(j, at, &k->x[n], &k->y[n]);
    store(j->dtype, k->in[0], n, k->x[n]);
    if (two) store(j->dtype, k->in[1], n, k->y[n]);
}

static size_t prepare(const sweep *s, uint64_t from, desk *k) {
    const fc_acc_job *j = s->job;
    size_t n = 0;
    for (uint64_t at = from; n < B && at < j->last; at += j->step, n++) {
        take_input(s, at, n, k);
        const double x = k->x[n], y = k->y[n];
        double v = 0;
        if (j->exact && fc_o_float_op(j->op, false, x, y, 0, &v))
            k->want[n] = (long double)fc_o_round(j->dtype, v);
        else if (j->dtype != FUSEC_F64)
            k->want[n] = (long double)fc_o_libm(j->op, x, y);
        else
            fc_o_mpfr(j->op, x, y, &k->want[n]);
        k->nearest[n] = j->exact || j->dtype == FUSEC_F64 ? (double)k->want[n]
                        : j->dtype == FUSEC_F32           ? (double)(float)k->want[n]
                                                : fc_o_round(j->dtype, (double)k->want[n]);
    }
    return n;
}

static double result(const sweep *s, const void *out, size_t i) {
    if (s->value) return s->value[((const uint16_t *)out)[i]];
    return s->job->dtype == FUSEC_F32 ? (double)((const float *)out)[i] : ((const double *)out)[i];
}

static void compare(const sweep *s, const desk *k, size_t n, worst *w) {
    const fc_acc_job *j = s->job;
    for (size_t i = 0; i < n; i++) {
        const double got = result(s, k->out, i);
        if (got == k->nearest[i] && (got != 0 || !signbit(got) == !signbit(k->nearest[i])))
            continue;
        if (j->exact && isnan(got) && isnan(k->nearest[i])) continue; /* its bits are open */
        const double ulp = j->exact ? (double)INFINITY : fc_ulps(j->dtype, got, k->want[i]);
        if (!(ulp > 0.5)) continue;
        const double slack = fc_o_math_slack(j->op, j->dtype, k->x[i]);
        if (slack > 0 && fabsl((long double)got - k->want[i]) <= (long double)slack) continue;
        w->wrong++;
        if (ulp > w->ulp) *w = (worst){ulp, k->x[i], k->y[i], got, k->want[i], w->wrong};
    }
}

static void fail(sweep *s, int d) {
    pthread_mutex_lock(&s->lock);
    if (!s->failure[0])
        snprintf(s->failure, sizeof s->failure, "%s: %s", s->setup->name[d],
                 fusec_message(s->setup->context[d]));
    s->failed = true;
    pthread_mutex_unlock(&s->lock);
}

static void block(sweep *s, desk *k, uint64_t from) {
    const size_t n = prepare(s, from, k);
    const int64_t shape[1] = {(int64_t)n};
    const int arity = fc_ops[s->job->op].arity;
    for (int d = 0; d < FC_ACC_DEVICES; d++) {
        if (!s->program[d]) continue;
        fusec_tensor in[2], out;
        for (int i = 0; i < 2; i++)
            in[i] =
                (fusec_tensor){.data = k->in[i], .shape = shape, .rank = 1, .dtype = s->job->dtype};
        out = (fusec_tensor){.data = k->out, .shape = shape, .rank = 1, .dtype = s->job->dtype};
        if (fusec_run(s->program[d], arity, in, 1, &out) == FUSEC_OK)
            compare(s, k, n, &k->at[d]);
        else
            fail(s, d);
    }
}

/* ---- threads ---------------------------------------------------------------------------- */

static bool desk_open(desk *k) {
    memset(k, 0, sizeof *k);
    k->x = malloc(B * sizeof *k->x);
    k->y = malloc(B * sizeof *k->y);
    k->want = malloc(B * sizeof *k->want);
    k->nearest = malloc(B * sizeof *k->nearest);
    for (int i = 0; i < 2; i++) k->in[i] = aligned_alloc(64, B * sizeof(double));
    k->out = aligned_alloc(64, B * sizeof(double));
    return k->x && k->y && k->want && k->nearest && k->in[0] && k->in[1] && k->out;
}

static void desk_close(desk *k) {
    free(k->x);
    free(k->y);
    free(k->want);
    free(k->nearest);
    free(k->in[0]);
    free(k->in[1]);
    free(k->out);
}

static void *work(void *arg) {
    sweep *s = arg;
    desk k;
    const uint64_t size = (uint64_t)B * s->job->step;
    bool open = desk_open(&k);
    while (open && !s->failed) {
        const uint64_t from = s->job->first + atomic_fetch_add(&s->next, 1) * size;
        if (from >= s->job->last) break;
        block(s, &k, from);
    }
    pthread_mutex_lock(&s->lock);
    if (!open) snprintf(s->failure, sizeof s->failure, "out of memory");
    for (int d = 0; d < FC_ACC_DEVICES; d++) {
        const uint64_t wrong = s->at[d].wrong + k.at[d].wrong;
        if (k.at[d].ulp > s->at[d].ulp) s->at[d] = k.at[d];
        s->at[d].wrong = wrong;
    }
    pthread_mutex_unlock(&s->lock);
    desk_close(&k);
    fc_o_mpfr_done();
    return NULL;
}

static double bound_of(const fc_acc_job *j) {
    if (j->exact) return 0.5;
    if (j->dtype == FUSEC_F32) return (double)fc_ops[j->op].ulp32;
    return j->dtype == FUSEC_F64 ? (double)fc_ops[j->op].ulp64 : 1;
}

/* function, dtype, device, largest error, bound, x, y, result, exact result, inputs, how many are
 * not the nearest number */
static bool report(const sweep *s) {
    const fc_acc_job *j = s->job;
    const double bound = bound_of(j);
    bool fine = !s->failure[0];
    if (!fine) fprintf(stderr, "fusec_accuracy: %s: %s\n", fc_ops[j->op].name, s->failure);
    for (int d = 0; !s->failure[0] && d < FC_ACC_DEVICES; d++) {
        const worst *w = &s->at[d];
        if (!s->program[d]) continue;
        printf("%s\t%s\t%s\t%.4f\t%g\t%a\t%a\t%a\t%La\t%llu\t%llu\n", fc_ops[j->op].name,
               fusec_dtype_name(j->dtype), s->setup->name[d], w->ulp > 0.5 ? w->ulp : 0.5, bound,
               w->x, w->y, w->got, w->want, (unsigned long long)((j->last - j->first) / j->step),
               (unsigned long long)w->wrong);
        if (!(w->ulp <= bound)) fine = false;
    }
    fflush(stdout);
    return fine;
}

static bool list_values(sweep *s) {
    const fusec_dtype t = s->job->dtype;
    if (fusec_dtype_bytes(t) != 2) return true;
    s->value = malloc(65536 * sizeof *s->value);
    for (uint32_t i = 0; s->value && i < 65536; i++) s->value[i] = fc_o_value(t, i);
    return s->value != NULL;
}

bool fc_acc_sweep(const fc_acc_setup *setup, const fc_acc_job *j) {
    enum { MOST = 256 };
    sweep s = {.setup = setup, .job = j};
    pthread_t thread[MOST];
    int started = 0;
    bool fine = list_values(&s);
    for (int d = 0; d < FC_ACC_DEVICES; d++)
        if (setup->context[d]) fine = compile(&s, d) && fine;
    pthread_mutex_init(&s.lock, NULL);
    while (fine && started < setup->threads && started < MOST &&
           pthread_create(&thread[started], NULL, work, &s) == 0)
        started++;
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&s.lock);
    fine = report(&s);
    for (int d = 0; d < FC_ACC_DEVICES; d++) fusec_program_free(s.program[d]);
    free(s.value);
    return fine;
}
