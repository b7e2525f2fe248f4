/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cmd_run.c - `fusec run`: program and inputs to results. */
#include <stdio.h>

#include "frontend/cli/emit.h"
#include "frontend/cli/fault.h"
#include "frontend/cli/job_mesh.h"
#include "frontend/cli/outputs.h"
#include "frontend/cli/progress.h"
#include "frontend/cli/split.h"
#include "frontend/cli/timeline.h"

/* Compiles what is missing, so that what is measured later is the computation. */
static fusec_status compile(fc_job *s, fusec_program *p, fc_error *e) {
    fusec_cost cost = FUSEC_COST_INIT;
    fusec_tensor *in;
    fc_progress progress;
    FC_TRY(fc_job_inputs(s, p, &in, e));
    double start = fc_seconds_now();
    fc_progress_clock(&progress, "compiling", s->cli->quiet, s->cli->verbose);
    fusec_status st = fusec_cost_of(p, fusec_input_count(p), in, FUSEC_EXPLAIN_COMPILE, &cost);
    fc_progress_end(&progress);
    if (st || !s->cli->verbose) return fc_job_failed(st, e);
    char plan[32], took[32];
    fc_cli_say(s->cli,
               "fusec: %s: %d kernels, planned in %s, compiled in %s (%llu new, %llu from disk)",
               p->p->device->name, fusec_kernel_count(p),
               fc_show_seconds(plan, (double)p->p->plan_ns * 1e-9),
               fc_show_seconds(took, fc_seconds_now() - start),
               (unsigned long long)s->ctx->compiles, (unsigned long long)s->ctx->disk_hits);
    return FUSEC_OK;
}

static fusec_status compute(fc_job *s, fusec_program *p, double *seconds, fc_error *e) {
    fc_progress progress;
    double at = fc_timeline_now(s->cli);
    FC_TRY(fc_job_results(s, p->p, e));
    FC_TRY(fc_job_data(s, false, e));
    at = fc_timeline_phase(s->cli, "read inputs", at);
    FC_TRY(compile(s, p, e));
    at = fc_timeline_phase(s->cli, "bind and compile", at);
    fc_progress_clock(&progress, "computing", s->cli->quiet, s->cli->verbose);
    fusec_status st = s->cli->o.text[FC_FLAG_DEVICES] ? fc_mesh_job(s, p->p, seconds, e)
                                                      : fc_job_run(s, p, seconds, e);
    fc_progress_end(&progress);
    fc_timeline_phase(s->cli, "compute", at);
    return st;
}

static fusec_status in_parts(fc_job *s, fusec_program *p, double *seconds, fc_error *e) {
    const double at = fc_timeline_now(s->cli);
    const fusec_status st = fc_split_run(s, p->p, seconds, e);
    fc_timeline_phase(s->cli, "compute in pieces", at);
    return st;
}

static fusec_status run(fc_job *s, bool in_pieces, fc_error *e) {
    fc_device *d;
    fusec_program *p = NULL;
    const char *first;
    double seconds = 0;
    FC_TRY(fc_outputs_check(s, e));
    FC_TRY(fc_expect_check(s, e));
    double at = fc_timeline_now(s->cli);
    FC_TRY(fc_mesh_first(s, &first, e));
    FC_TRY(fc_job_device(s, first, &d, e));
    at = fc_timeline_phase(s->cli, "open device", at);
    FC_TRY(fc_job_program(s, d, false, &p, e));
    fc_timeline_phase(s->cli, "plan", at);
    fusec_status st = in_pieces ? in_parts(s, p, &seconds, e) : compute(s, p, &seconds, e);
    if (!st && fc_cli_on(s->cli, FC_FLAG_KEEP))
        st = fc_emit_keep(s, p, s->cli->o.text[FC_FLAG_KEEP], e);
    if (st && fc_status_exit(st) == 70) fc_fault_kernels(s, p);
    fusec_program_free(p);
    if (!st && fc_cli_on(s->cli, FC_FLAG_CHECK_FINITE)) st = fc_finite_check(s, e);
    if (!st) st = fc_expect_compare(s, e);
    at = fc_timeline_now(s->cli);
    if (!st) st = fc_outputs_write(s, seconds, e);
    fc_timeline_phase(s->cli, "write results", at);
    return st;
}

static fusec_status open_and_run(fc_cli *c, bool in_pieces, fc_error *e) {
    fc_job s;
    fc_job_request rq = fc_job_words(c, true);
    rq.cut = in_pieces || c->o.text[FC_FLAG_DEVICES];
    const double at = fc_timeline_now(c);
    fusec_status st = fc_job_open(&s, c, &rq, e);
    fc_timeline_phase(c, "parse and check", at);
    if (!st) st = run(&s, in_pieces, e);
    fc_timeline_settle(c);
    fc_split_close(&s);
    fc_job_close(&s);
    return st;
}

/* Results that are compared or looked at are in memory, so that what is computed then in pieces are
 * only the inputs; and standard input is gone when it was read once. */
static bool may_split(const fc_cli *c) {
    const char *flag = c->o.text[FC_FLAG_SPLIT];
    if (flag && !strcmp(flag, "never")) return false;
    for (size_t i = 0; i < c->o.inputs.len; i++) {
        const char *equal = strchr(c->o.inputs.at[i], '=');
        if (equal && !strcmp(equal, "=-")) return false;
    }
    return true;
}

static fusec_status whole_or_in_pieces(fc_cli *c, fc_error *e) {
    const char *flag = c->o.text[FC_FLAG_SPLIT];
    if (flag && strcmp(flag, "auto") && strcmp(flag, "never")) return open_and_run(c, true, e);
    const fusec_status st = open_and_run(c, false, e);
    if (st != FUSEC_OUT_OF_MEMORY || !may_split(c)) return st;
    fc_error own = {0};
    if (!open_and_run(c, true, &own)) return e->code = FUSEC_OK, FUSEC_OK;
    if (own.code == FUSEC_OUT_OF_MEMORY) return st;
    if (own.code != FUSEC_INVALID) return *e = own, own.code;
    const size_t n = strlen(e->message);
    snprintf(e->message + n, sizeof e->message - n, "\n  in pieces it can't be computed: %s",
             own.message);
    return st;
}

fusec_status fc_cmd_run(fc_cli *c, fc_error *e) {
    FC_TRY(fc_timeline_open(c, e));
    const fusec_status st = whole_or_in_pieces(c, e);
    return fc_timeline_close(c, st, e);
}
