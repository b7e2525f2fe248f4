/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cmd_bench.c - `fusec bench`: the time of a program, and of others beside it.
 *
 * One discarded run, then at least 10 and half a second of them, until the spread settles or
 * --max-time is over. On a GPU a run is the sum of its kernels' times by the device's own clock,
 * each the mean of many launches; on the CPU and the interpreter it is the time of a call. Data is
 * on the device beforehand, and compilation is reported apart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/cli/job.h"
#include "frontend/cli/progress.h"

enum { LEAST_RUNS = 10, MOST_RUNS = 10000 };

typedef struct entry {
    const char *name;
    char device[320];
    uint32_t kernels, runs;
    double median, spread, plan, compile;
    int64_t traffic;
    double peak; /* bytes/s of the device's memory, 0 = unknown */
    uint64_t compiled, from_disk;
} entry;

/* ---- placing data ---------------------------------------------------------------------------- */

/* Copies arguments to the memory of a GPU; on the others they stay where they are. */
static fusec_status place(fc_device *d, fusec_tensor *t, int n, bool copy, fc_error *e) {
    for (int i = 0; i < n; i++) {
        int64_t count, bytes;
        void *p;
        if (!fc_shape_bytes(t[i].rank, t[i].shape, fc_dtypes[t[i].dtype].bytes, &count, &bytes))
            return fc_oom(e);
        if (copy && !t[i].rank) continue; /* scalars are read from host memory */
        FC_TRY(d->ops->alloc(d, NULL, (size_t)bytes, &p, e));
        fusec_status s = copy ? d->ops->upload(d, NULL, p, t[i].data, (size_t)bytes, e) : FUSEC_OK;
        t[i].data = p;
        t[i].place = FUSEC_DEVICE;
        FC_TRY(s);
    }
    return d->ops->sync(d, NULL, e);
}

static void unplace(fc_device *d, fusec_tensor *t, int n) {
    for (int i = 0; i < n; i++)
        if (t[i].place == FUSEC_DEVICE) d->ops->free(d, NULL, t[i].data);
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef struct call {
    fc_job *s;
    fusec_program *p;
    fusec_tensor *in, *out;
    int nin, nout;
    double *steps;
} call;

static fusec_status once(call *c, double *seconds, fc_error *e) {
    const int steps = fusec_kernel_count(c->p);
    *seconds = 0;
    if (c->p->p->device->kind == FC_DEV_CUDA) {
        const fusec_status st = fusec_times(c->p, c->nin, c->in, c->nout, c->out, c->steps, steps);
        for (int i = 0; i < steps; i++) *seconds += c->steps[i];
        return fc_job_failed(st, e);
    }
    double start = fc_seconds_now();
    FC_TRY(fc_job_failed(fusec_run(c->p, c->nin, c->in, c->nout, c->out), e));
    *seconds = fc_seconds_now() - start;
    return FUSEC_OK;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median and half the distance of the quartiles. */
static void settle(double *t, uint32_t n, entry *out) {
    qsort(t, n, sizeof *t, ascending);
    out->runs = n;
    out->median = n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
    out->spread = (t[n - 1 - n / 4] - t[n / 4]) / 2;
}

static fusec_status sample(call *c, entry *out, fc_error *e) {
    const fc_cli *cli = c->s->cli;
    double most = fc_cli_on(cli, FC_FLAG_MAX_TIME) ? cli->o.number[FC_FLAG_MAX_TIME] : 3;
    double *t = fc_arena_alloc(&c->s->arena, 2 * MOST_RUNS * sizeof *t);
    double start, spent;
    uint32_t n = 0;
    fc_progress progress;
    if (!t) return fc_oom(e);
    FC_TRY(once(c, &spent, e));
    fc_progress_start(&progress, out->name, false, cli->quiet, cli->verbose);
    start = fc_seconds_now();
    do {
        fusec_status s = once(c, &t[n], e);
        if (s) {
            fc_progress_end(&progress);
            return s;
        }
        n++;
        fc_progress_step(&progress, n, -1);
        spent = fc_seconds_now() - start;
        if (n < LEAST_RUNS || spent < 0.5 || n % 16) continue;
        memcpy(t + MOST_RUNS, t, n * sizeof *t);
        settle(t + MOST_RUNS, n, out);
        if (out->spread < 0.01 * out->median) break;
    } while (n < MOST_RUNS && (spent < most || n < 3));
    fc_progress_end(&progress);
    settle(t, n, out);
    return FUSEC_OK;
}

static fusec_status measure_on(fc_job *s, fc_device *d, fusec_program *p, entry *out, fc_error *e) {
    fusec_cost cost = FUSEC_COST_INIT;
    bool copy = !d->host_memory;
    uint64_t compiled = s->ctx->compiles, from_disk = s->ctx->disk_hits;
    const int steps = fusec_kernel_count(p);
    call c = {.s = s, .p = p, .nin = fusec_input_count(p), .nout = fusec_output_count(p)};
    FC_TRY(fc_job_results(s, p->p, e));
    FC_TRY(fc_job_inputs(s, p, &c.in, e));
    FC_TRY(fc_job_outputs(s, &c.out, e));
    double start = fc_seconds_now();
    FC_TRY(fc_job_failed(fusec_cost_of(p, c.nin, c.in, FUSEC_EXPLAIN_COMPILE, &cost), e));
    out->compile = fc_seconds_now() - start;
    out->compiled = s->ctx->compiles - compiled;
    out->from_disk = s->ctx->disk_hits - from_disk;
    out->plan = (double)p->p->plan_ns * 1e-9;
    out->kernels = (uint32_t)steps;
    out->traffic = cost.traffic;
    out->peak = d->bandwidth;
    snprintf(out->device, sizeof out->device, "%s%s%s", d->name, *d->text ? ": " : "", d->text);
    c.steps = fc_arena_alloc(&s->arena, ((size_t)steps + 1) * sizeof *c.steps);
    if (!c.steps) return fc_oom(e);
    fusec_status st = copy ? place(d, c.in, c.nin, true, e) : FUSEC_OK;
    if (!st && copy) st = place(d, c.out, c.nout, false, e);
    if (!st) st = sample(&c, out, e);
    if (copy) unplace(d, c.in, c.nin);
    if (copy) unplace(d, c.out, c.nout);
    return st;
}

static fusec_status measure(fc_job *s, const char *device, bool unfused, entry *out, fc_error *e) {
    fc_device *d;
    fusec_program *p = NULL;
    FC_TRY(fc_job_device(s, device, &d, e));
    FC_TRY(fc_job_program(s, d, unfused, &p, e));
    fusec_status st = measure_on(s, d, p, out, e);
    fusec_program_free(p);
    return st;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void rate(char buf[32], const entry *x) {
    double r = x->median > 0 ? (double)x->traffic / x->median : 0;
    if (r >= 1e12)
        snprintf(buf, 32, "%.2f TB/s", r * 1e-12);
    else
        snprintf(buf, 32, "%.1f GB/s", r * 1e-9);
}

static void table_line(const entry *x, const entry *first, fc_str *out) {
    char median[32], spread[32], around[40], traffic[32], speed[32], peak[16] = "";
    rate(speed, x);
    fc_show_seconds(spread, x->spread);
    snprintf(around, sizeof around, "+-%s", spread);
    if (x->peak > 0 && x->median > 0)
        snprintf(peak, sizeof peak, "%.0f %%", 100 * (double)x->traffic / x->median / x->peak);
    fc_str_printf(out, "%-10s %10s  %11s  %10s  %11s  %7s  %7u  %6u runs", x->name,
                  fc_show_seconds(median, x->median), around, fc_show_bytes(traffic, x->traffic),
                  speed, peak, x->kernels, x->runs);
    if (x != first && first->median > 0) {
        bool slower = x->median >= first->median;
        fc_str_printf(out, "  %.1fx %s",
                      slower ? x->median / first->median : first->median / x->median,
                      slower ? "slower" : "faster");
    }
    fc_str_char(out, '\n');
}

static void print_text(const fc_job *s, const entry *list, size_t n, fc_str *out) {
    char plan[32], compile[32];
    fc_job_title(s, out);
    fc_str_printf(out, "\non %s\n\n%-10s %10s  %11s  %10s  %11s  %7s  %7s\n", list[0].device, "",
                  "median", "spread", "traffic", "rate", "of peak", "kernels");
    for (size_t i = 0; i < n; i++) table_line(&list[i], list, out);
    fc_str_printf(out,
                  "\nplanned in %s, code in %s: %llu compiled, %llu from the cache\n"
                  "caches are warm: a run finds what the one before has left\n",
                  fc_show_seconds(plan, list[0].plan), fc_show_seconds(compile, list[0].compile),
                  (unsigned long long)list[0].compiled, (unsigned long long)list[0].from_disk);
}

static void print_json(const fc_job *s, const entry *list, size_t n, fc_str *out) {
    fc_str title;
    fc_str_init(&title, s->alloc);
    fc_job_title(s, &title);
    fc_str_add(out, "{\"program\":");
    fc_json_text(out, fc_job_name(s));
    fc_str_add(out, ",\"signature\":");
    fc_json_text(out, title.data);
    fc_str_add(out, ",\"results\":[");
    for (size_t i = 0; i < n; i++) {
        const entry *x = &list[i];
        fc_str_add(out, i ? ",{\"name\":" : "{\"name\":");
        fc_json_text(out, x->name);
        fc_str_add(out, ",\"device\":");
        fc_json_text(out, x->device);
        fc_str_printf(out, ",\"kernels\":%u,\"runs\":%u,\"traffic\":%lld,\"median\":", x->kernels,
                      x->runs, (long long)x->traffic);
        fc_json_number(out, x->median);
        fc_str_add(out, ",\"spread\":");
        fc_json_number(out, x->spread);
        fc_str_add(out, ",\"compile\":");
        fc_json_number(out, x->compile);
        fc_str_printf(out, ",\"compiled\":%llu}", (unsigned long long)x->compiled);
    }
    fc_str_add(out, "]}\n");
    fc_str_free(&title);
}

static void print_plain(const entry *list, size_t n, fc_str *out) {
    for (size_t i = 0; i < n; i++) {
        fc_str_printf(out, "%s\t", list[i].name);
        fc_str_double(out, list[i].median, false);
        fc_str_char(out, '\t');
        fc_str_double(out, list[i].spread, false);
        fc_str_printf(out, "\t%lld\t%u\t%u\n", (long long)list[i].traffic, list[i].kernels,
                      list[i].runs);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static fusec_status bench_all(fc_job *s, fc_error *e) {
    const fc_options *o = &s->cli->o;
    size_t n = 1;
    entry *list = fc_arena_alloc(&s->arena, (o->many.len + 1) * sizeof *list);
    if (!list) return fc_oom(e);
    for (size_t i = 0; i < o->many.len; i++) {
        const char *vs = o->many.at[i].text;
        if (o->many.at[i].flag != FC_FLAG_VS) continue;
        if (strcmp(vs, "unfused") && strcmp(vs, "cpu") && strcmp(vs, "interp") &&
            strncmp(vs, "cuda", 4))
            return fc_fail(e, FUSEC_USAGE, "--vs takes unfused, cpu, cuda or interp, not `%.60s`",
                           vs);
    }
    FC_TRY(fc_job_data(s, true, e));
    list[0].name = "fused";
    FC_TRY(measure(s, NULL, false, &list[0], e));
    for (size_t i = 0; i < o->many.len; i++) {
        const char *vs = o->many.at[i].text;
        if (o->many.at[i].flag != FC_FLAG_VS) continue;
        bool unfused = !strcmp(vs, "unfused");
        list[n].name = vs;
        FC_TRY(measure(s, unfused ? NULL : vs, unfused, &list[n], e));
        n++;
    }
    if (fc_cli_on(s->cli, FC_FLAG_JSON))
        print_json(s, list, n, &s->cli->out);
    else if (fc_cli_on(s->cli, FC_FLAG_PLAIN))
        print_plain(list, n, &s->cli->out);
    else
        print_text(s, list, n, &s->cli->out);
    return s->cli->out.oom ? fc_oom(e) : FUSEC_OK;
}

fusec_status fc_cmd_bench(fc_cli *c, fc_error *e) {
    fc_job s;
    fc_job_request rq = fc_job_words(c, true);
    fusec_status st = fc_job_open(&s, c, &rq, e);
    if (!st) st = bench_all(&s, e);
    fc_job_close(&s);
    return st;
}
