/* cmd_run.c - `fusec run`: program and inputs to results. */
#include "frontend/cli/emit.h"
#include "frontend/cli/fault.h"
#include "frontend/cli/outputs.h"
#include "frontend/cli/progress.h"

/* Compiles what is missing, so that what is measured later is the computation. */
static fusec_status compile(fc_job *s, fc_program *p, fc_error *e) {
    uint32_t steps = (uint32_t)p->plan->steps.len;
    fc_step_report *r = fc_arena_alloc(&s->arena, (steps + 1) * sizeof *r);
    if (!r) return fc_oom(e);
    fc_progress progress;
    double start = fc_seconds_now();
    fc_progress_clock(&progress, "compiling", s->cli->quiet, s->cli->verbose);
    fusec_status st = fc_program_report(p, s->nin, s->in, s->ndims, s->dims, false, r, e);
    fc_progress_end(&progress);
    if (st || !s->cli->verbose) return st;
    char plan[32], took[32];
    fc_cli_say(s->cli,
               "fusec: %s: %u kernels, planned in %s, compiled in %s (%llu new, %llu from disk)",
               p->device->name, steps, fc_show_seconds(plan, (double)p->plan_ns * 1e-9),
               fc_show_seconds(took, fc_seconds_now() - start),
               (unsigned long long)s->ctx->compiles, (unsigned long long)s->ctx->disk_hits);
    return FUSEC_OK;
}

static fusec_status compute(fc_job *s, fc_program *p, double *seconds, fc_error *e) {
    fc_progress progress;
    FC_TRY(fc_job_results(s, p, e));
    FC_TRY(fc_job_data(s, false, e));
    FC_TRY(compile(s, p, e));
    fc_progress_clock(&progress, "computing", s->cli->quiet, s->cli->verbose);
    fusec_status st = fc_job_run(s, p, seconds, e);
    fc_progress_end(&progress);
    return st;
}

static fusec_status run(fc_job *s, fc_error *e) {
    fc_device *d;
    fc_program *p = NULL;
    double seconds = 0;
    FC_TRY(fc_outputs_check(s, e));
    FC_TRY(fc_expect_check(s, e));
    FC_TRY(fc_job_device(s, NULL, &d, e));
    FC_TRY(fc_job_program(s, d, false, &p, e));
    fusec_status st = compute(s, p, &seconds, e);
    if (!st && fc_cli_on(s->cli, FC_FLAG_KEEP))
        st = fc_emit_keep(s, p, s->cli->o.text[FC_FLAG_KEEP], e);
    if (st && fc_status_exit(st) == 70) fc_fault_kernels(s, p);
    fc_program_free(p);
    if (!st && fc_cli_on(s->cli, FC_FLAG_CHECK_FINITE)) st = fc_finite_check(s, e);
    if (!st) st = fc_expect_compare(s, e);
    return st ? st : fc_outputs_write(s, seconds, e);
}

fusec_status fc_cmd_run(fc_cli *c, fc_error *e) {
    fc_job s;
    fc_job_request rq = fc_job_words(c, true);
    fusec_status st = fc_job_open(&s, c, &rq, e);
    if (!st) st = run(&s, e);
    fc_job_close(&s);
    return st;
}
