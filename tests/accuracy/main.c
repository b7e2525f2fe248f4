/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* main.c - the command fusec_accuracy; see accuracy.h and scripts/accuracy. */
#include "tests/accuracy/accuracy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/oracle.h"

static const char usage[] =
    "fusec_accuracy [OPTION ...]      largest errors of the functions, a line for each\n"
    "  --devices LIST    of interp,cpu,cuda; interp,cpu unless given\n"
    "  --ops LIST        functions; all unless given\n"
    "  --dtypes LIST     f16,bf16,f32,f64 unless given\n"
    "  --unary --binary  functions of one operand only, of two only\n"
    "  --exact           operations of the exact class on pairs of f16 and bf16, in place of "
    "functions\n"
    "  --samples N       inputs where not all are taken: f64, and pairs of f32; 1000000 unless "
    "given\n"
    "  --step N          of all bit patterns every N-th only\n"
    "  --shard I/N       part I, from 0, of N equal ones\n"
    "  --threads N       as many as processors unless given\n"
    "fusec_accuracy --speed [OP]        nanoseconds an element of the CPU's functions\n"
    "The exit status is 1 if an error is beyond its bound.\n";

typedef struct options {
    const char *devices, *ops, *dtypes;
    bool unary, binary, exact, speed;
    uint64_t samples, step, shard, shards;
    int threads;
} options;

static bool listed(const char *list, const char *name) {
    const size_t n = strlen(name);
    for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, name, n) && (p[n] == ',' || p[n] == 0)) return true;
    return false;
}

static bool parse(int argc, char **argv, options *o) {
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "--unary")) {
            o->binary = false;
        } else if (!strcmp(a, "--binary")) {
            o->unary = false;
        } else if (!strcmp(a, "--exact")) {
            o->exact = true;
        } else if (!strcmp(a, "--speed")) {
            o->speed = true;
            o->ops = v;
            i += v != NULL;
        } else if (!v) {
            return false;
        } else {
            i++;
            if (!strcmp(a, "--devices"))
                o->devices = v;
            else if (!strcmp(a, "--ops"))
                o->ops = v;
            else if (!strcmp(a, "--dtypes"))
                o->dtypes = v;
            else if (!strcmp(a, "--samples"))
                o->samples = strtoull(v, NULL, 10);
            else if (!strcmp(a, "--step"))
                o->step = strtoull(v, NULL, 10);
            else if (!strcmp(a, "--threads"))
                o->threads = atoi(v);
            else if (!strcmp(a, "--shard") && strchr(v, '/')) {
                o->shard = strtoull(v, NULL, 10);
                o->shards = strtoull(strchr(v, '/') + 1, NULL, 10);
            } else
                return false;
        }
    }
    return o->step > 0 && o->shard < o->shards && o->threads > 0;
}

static bool open_devices(const options *o, fc_acc_setup *s) {
    static const char *const names[FC_ACC_DEVICES] = {"interp", "cpu", "cuda"};
    for (int d = 0; d < FC_ACC_DEVICES; d++) {
        s->name[d] = names[d];
        if (!listed(o->devices, names[d])) continue;
        fusec_options with = FUSEC_OPTIONS_INIT;
        with.device = names[d];
        with.threads = 1;
        with.cache_dir = "";
        if (fusec_context_new(&with, &s->context[d]) != FUSEC_OK ||
            fusec_device(s->context[d], NULL, NULL) != FUSEC_OK) {
            fprintf(stderr, "fusec_accuracy: %s: %s\n", names[d], fusec_message(s->context[d]));
            return false;
        }
    }
    return true;
}

static bool is_function(fc_op op) {
    const fc_op_info *row = &fc_ops[op];
    if (!fc_is_elementwise(op) || (row->flags & FC_F_HIDDEN)) return false;
    return op == FC_OP_rsqrt || ((row->flags & FC_F_TRANSCENDENTAL) && !(row->flags & FC_F_EXACT));
}

/* Of two operands, with a result of their dtype. */
static bool is_exact_pair(fc_op op) {
    const fc_op_info *row = &fc_ops[op];
    double v;
    return fc_is_elementwise(op) && row->arity == 2 && (row->flags & FC_F_EXACT) &&
           !(row->flags & FC_F_HIDDEN) &&
           (row->rule == FC_RULE_ARITH || row->rule == FC_RULE_FLOAT || row->rule == FC_RULE_ANY) &&
           fc_o_float_op(op, false, 1, 1, 0, &v);
}

static bool measure_exact(const options *o, const fc_acc_setup *s) {
    static const fusec_dtype dtypes[] = {FUSEC_F16, FUSEC_BF16};
    bool fine = true;
    for (int op = 0; op < FC_OP_COUNT_; op++)
        for (size_t t = 0; t < FC_COUNT(dtypes) && is_exact_pair((fc_op)op); t++) {
            if (o->ops && !listed(o->ops, fc_ops[op].name)) continue;
            if (o->dtypes && !listed(o->dtypes, fusec_dtype_name(dtypes[t]))) continue;
            const uint64_t n = UINT64_C(1) << 32;
            const fc_acc_job j = {
                .op = (fc_op)op,
                .dtype = dtypes[t],
                .exact = true,
                .first = n / o->shards * o->shard,
                .last = o->shard + 1 == o->shards ? n : n / o->shards * (o->shard + 1),
                .step = o->step};
            fine = fc_acc_sweep(s, &j) && fine;
        }
    return fine;
}

static bool measure(const options *o, const fc_acc_setup *s) {
    static const fusec_dtype dtypes[] = {FUSEC_F16, FUSEC_BF16, FUSEC_F32, FUSEC_F64};
    bool fine = true;
    for (int op = 0; op < FC_OP_COUNT_; op++) {
        if (!is_function((fc_op)op) || (o->ops && !listed(o->ops, fc_ops[op].name))) continue;
        if (fc_ops[op].arity == 1 ? !o->unary : !o->binary) continue;
        for (size_t t = 0; t < FC_COUNT(dtypes); t++) {
            if (o->dtypes && !listed(o->dtypes, fusec_dtype_name(dtypes[t]))) continue;
            if (dtypes[t] == FUSEC_F64 && !fc_o_mpfr(FC_OP_exp, 1, 0, &(long double){0}))
                continue; /* built without MPFR: nothing to compare with */
            const uint64_t n = fc_acc_count((fc_op)op, dtypes[t], o->samples);
            const fc_acc_job j = {
                .op = (fc_op)op,
                .dtype = dtypes[t],
                .first = n / o->shards * o->shard,
                .last = o->shard + 1 == o->shards ? n : n / o->shards * (o->shard + 1),
                .step = dtypes[t] == FUSEC_F64 || n <= 65536 ? 1 : o->step};
            fine = fc_acc_sweep(s, &j) && fine;
        }
    }
    return fine;
}

int main(int argc, char **argv) {
    options o = {.devices = "interp,cpu",
                 .unary = true,
                 .binary = true,
                 .samples = 1000000,
                 .step = 1,
                 .shards = 1,
                 .threads = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    fc_acc_setup s = {.threads = 0};
    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    if (o.speed) {
        fc_accuracy_speed(o.ops);
        return 0;
    }
    s.threads = o.threads;
    const bool fine = open_devices(&o, &s) && (o.exact ? measure_exact : measure)(&o, &s);
    for (int d = 0; d < FC_ACC_DEVICES; d++) fusec_context_free(s.context[d]);
    return fine ? 0 : 1;
}
