/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* command.h - what the subcommands of `fusec` share: options, configuration, streams, messages.
 *
 * A subcommand fills `out` (standard output, written only when it succeeded, so that stdout is the
 * whole answer or empty) and returns a status with its message in the fc_error, or with records in
 * `ds`. fc_cli_main shows both and turns the status into the exit code. */
#ifndef FUSEC_FRONTEND_CLI_COMMAND_H
#define FUSEC_FRONTEND_CLI_COMMAND_H

#include "frontend/explain/words.h"
#include "frontend/cli/options.h"
#include "frontend/cli/report.h"
#include "frontend/io/outfile.h"
#include "frontend/lang/files.h"
#include "runtime/context.h"

#define FC_LANGUAGE_VERSION 1

/* A text that belongs into the report of a fault. */
typedef struct fc_attachment {
    char *name, *text;
} fc_attachment;

typedef struct fc_cli {
    fc_options o;
    const fc_alloc *alloc;
    fc_config config; /* the environment and the flags */
    fc_diags ds;      /* what there is to say about program texts */
    fc_files files;   /* live until the records are shown */
    FC_VEC(fc_attachment) attachments;
    fc_str out;
    bool color, quiet, verbose;
    const char *self;       /* this command as a program that can be started; NULL: not known */
    struct fc_trace *trace; /* --trace; NULL: none */
    struct fc_cli_externs *externs; /* --extern (externs.h); NULL: none */
    int answer;                     /* exit code of a command that was done: 1 is "no" */
} fc_cli;

/* The whole command: parses, runs, reports. Returns the exit code. */
int fc_cli_main(int argc, char **argv);
/* The same inside of another program: all memory from `alloc`, and compilers run in this
 * process. */
int fc_cli_main_with(int argc, char **argv, const fc_alloc *alloc);

fusec_status fc_cmd_run(fc_cli *c, fc_error *e);
fusec_status fc_cmd_check(fc_cli *c, fc_error *e);
fusec_status fc_cmd_explain(fc_cli *c, fc_error *e);
fusec_status fc_cmd_bench(fc_cli *c, fc_error *e);
fusec_status fc_cmd_build(fc_cli *c, fc_error *e);
fusec_status fc_cmd_fmt(fc_cli *c, fc_error *e);
fusec_status fc_cmd_devices(fc_cli *c, fc_error *e);
fusec_status fc_cmd_cache(fc_cli *c, fc_error *e);
fusec_status fc_cmd_help(fc_cli *c, fc_error *e);
fusec_status fc_cmd_completion(fc_cli *c, fc_error *e);

static inline bool fc_cli_on(const fc_cli *c, fc_flag f) {
    return c->o.on[f];
}

/* ---- talk: standard error, at once ---- */

/* A note "fusec: note: TEXT [slug]"; nothing with -q. */
void fc_cli_note(fc_cli *c, const char *slug, const char *fmt, ...) FC_PRINTF(3, 4);
/* A line of text; nothing with -q. */
void fc_cli_say(const fc_cli *c, const char *fmt, ...) FC_PRINTF(2, 3);

/* ---- files ---- */

/* As fc_outfile_open, commit and abandon; between them an interrupt removes the temporary file. A
 * few hundred at a time. */
fusec_status fc_cli_out_open(fc_cli *c, fc_outfile *f, const char *path, fc_error *e);
/* The same for a column of an Arrow file (fc_arrow_create), or without one for a Zarr array
 * (fc_zarr_create). */
fusec_status fc_cli_out_array(fc_cli *c, fc_outfile *f, const char *path, fusec_dtype dtype,
                              int rank, const int64_t *shape, const char *column, const char *like,
                              fc_error *e);
fusec_status fc_cli_out_commit(fc_outfile *f, fc_error *e);
void fc_cli_out_abandon(fc_outfile *f);
/* A whole text file. */
fusec_status fc_cli_write_text(fc_cli *c, const char *path, const char *text, size_t len,
                               fc_error *e);

/* ---- small texts ---- */

double fc_seconds_now(void); /* a monotonic clock */

#endif
