/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* command.c - from argv to an exit code: options, signals, the subcommand, its messages, stdout. */
#include "frontend/cli/command.h"
#include "frontend/cli/externs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frontend/cli/fault.h"
#include "frontend/cli/help.h"
#include "frontend/cli/streams.h"
#include "ir/version.h"

/* ---- messages ----------------------------------------------------------------------------- */

static void show(const fc_cli *c, const fc_diags *ds) {
    fc_str text;
    fc_str_init(&text, c->alloc);
    if (c->o.json_errors)
        fc_diags_json(ds, &text);
    else
        fc_diags_text(ds, c->color, &text);
    if (text.oom)
        fputs(fc_diag_oom_text, stderr);
    else
        fwrite(text.data, 1, text.len, stderr);
    fc_str_free(&text);
}

void fc_cli_note(fc_cli *c, const char *slug, const char *fmt, ...) {
    if (c->quiet) return;
    fc_diags ds;
    fc_str text;
    va_list ap;
    fc_diags_init(&ds, c->alloc);
    fc_str_init(&text, c->alloc);
    va_start(ap, fmt);
    fc_str_vprintf(&text, fmt, ap);
    va_end(ap);
    fc_diag_note(&ds, slug, NULL, (fc_range){0, 0}, "%s", text.data);
    show(c, &ds);
    fc_str_free(&text);
    fc_diags_free(&ds);
}

void fc_cli_say(const fc_cli *c, const char *fmt, ...) {
    if (c->quiet) return;
    fc_str text;
    va_list ap;
    fc_str_init(&text, c->alloc);
    va_start(ap, fmt);
    fc_str_vprintf(&text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s\n", text.data);
    fc_str_free(&text);
}

/* ---- configuration --------------------------------------------------------------------------- */

static void log_line(void *user, const char *line) {
    (void)user;
    fprintf(stderr, "fusec: %s\n", line);
}

static const struct {
    const char *name;
    uint32_t bits;
} licences[] = {
    {"contract", FC_MODE_CONTRACT}, {"reassoc", FC_MODE_REASSOC}, {"recip", FC_MODE_RECIP},
    {"nnan", FC_MODE_NNAN},         {"ninf", FC_MODE_NINF},       {"nsz", FC_MODE_NSZ},
    {"approx", FC_MODE_APPROX},     {"wide16", FC_MODE_WIDE16},   {"tf32", FC_MODE_TF32},
};

/* The licences of --fast=LIST; without a list all but wide16 and tf32. */
static fusec_status fast_mode(const char *list, uint32_t *mode, fc_error *e) {
    if (!list) {
        for (size_t i = 0; i < FC_COUNT(licences); i++)
            if (!(licences[i].bits & (FC_MODE_WIDE16 | FC_MODE_TF32))) *mode |= licences[i].bits;
        return FUSEC_OK;
    }
    const char *names[FC_COUNT(licences) + 1] = {0};
    for (size_t i = 0; i < FC_COUNT(licences); i++) names[i] = licences[i].name;
    for (const char *p = list;;) {
        size_t n = strcspn(p, ","), i = 0;
        while (i < FC_COUNT(licences) &&
               (strlen(licences[i].name) != n || memcmp(licences[i].name, p, n) != 0))
            i++;
        if (i == FC_COUNT(licences)) {
            fusec_status s = fc_fail(e, FUSEC_USAGE,
                                     "--fast takes contract, reassoc, recip, nnan, ninf, nsz, "
                                     "approx, wide16 or tf32, not `%.*s`",
                                     n > 60 ? 60 : (int)n, p);
            fc_add_suggestion(e, p, n, names, "--fast=");
            return s;
        }
        *mode |= licences[i].bits;
        if (!p[n]) return FUSEC_OK;
        p += n + 1;
    }
}

static fusec_status configure(fc_cli *c, fc_error *e) {
    fc_config *f = &c->config;
    int strict = fc_cli_on(c, FC_FLAG_STRICT), contract = fc_cli_on(c, FC_FLAG_CONTRACT);
    FC_TRY(fc_config_from_env(f, e));
    f->alloc = *c->alloc;
    f->tiers = FC_TIERS_FULL; /* a command would wait for the full code at its end */
    if (!f->compiler && !getenv("FUSEC_COMPILER")) f->compiler = c->self; /* set but empty: none */
    if (fc_cli_on(c, FC_FLAG_DEVICE)) f->device = c->o.text[FC_FLAG_DEVICE];
    if (fc_cli_on(c, FC_FLAG_THREADS)) f->threads = (int)c->o.number[FC_FLAG_THREADS];
    if (fc_cli_on(c, FC_FLAG_NO_CACHE)) f->cache_dir = "";
    if (strict + contract + fc_cli_on(c, FC_FLAG_FAST) > 1)
        return fc_fail(e, FUSEC_USAGE, "--strict, --contract and --fast exclude each other");
    if (contract) f->mode |= FC_MODE_CONTRACT;
    if (fc_cli_on(c, FC_FLAG_FAST)) FC_TRY(fast_mode(c->o.text[FC_FLAG_FAST], &f->mode, e));
    const char *bounds = fc_cli_on(c, FC_FLAG_BOUNDS) ? c->o.text[FC_FLAG_BOUNDS] : "check";
    if (!strcmp(bounds, "clamp")) f->mode |= FC_MODE_CLAMP;
    if (!strcmp(bounds, "off")) f->mode |= FC_MODE_UNCHECKED;
    f->log = log_line;
    if (c->verbose && f->debug < 2) f->debug = 2;
    return FUSEC_OK;
}

/* ---- the run of a command -------------------------------------------------------------------- */

static fusec_status (*const commands[FC_CMD_COUNT])(fc_cli *, fc_error *) = {
    [FC_CMD_RUN] = fc_cmd_run,         [FC_CMD_CHECK] = fc_cmd_check,
    [FC_CMD_EXPLAIN] = fc_cmd_explain, [FC_CMD_BENCH] = fc_cmd_bench,
    [FC_CMD_BUILD] = fc_cmd_build,     [FC_CMD_FMT] = fc_cmd_fmt,
    [FC_CMD_DEVICES] = fc_cmd_devices, [FC_CMD_CACHE] = fc_cmd_cache,
    [FC_CMD_HELP] = fc_cmd_help,       [FC_CMD_COMPLETION] = fc_cmd_completion,
};

static fusec_status dispatch(fc_cli *c, fc_error *e) {
    if (fc_cli_on(c, FC_FLAG_VERSION)) {
        fc_str_printf(&c->out, "fusec " FC_VERSION "\nlanguage %d\n", FC_LANGUAGE_VERSION);
        return FUSEC_OK;
    }
    if (fc_cli_on(c, FC_FLAG_HELP)) {
        fc_help_command(&c->out, c->o.command);
        return FUSEC_OK;
    }
    if (c->o.command == FC_CMD_NONE) {
        fc_help_short(&c->out);
        return FUSEC_OK;
    }
    FC_TRY(configure(c, e));
    return commands[c->o.command](c, e);
}

static bool to_stdout(const fc_cli *c, fc_error *e) {
    fc_outfile f;
    if (c->out.oom) return fc_oom(e), false;
    fc_outfile_fd(&f, STDOUT_FILENO, "standard output");
    return !fc_outfile_write(&f, c->out.data, c->out.len, e) && !fc_outfile_commit(&f, e);
}

static int finish(fc_cli *c, fusec_status s, fc_error *e) {
    /* What was found out before a later step failed is shown all the same, then the failure. */
    if (s && e->code && fc_status_exit(s) == 70) fc_fault_report(c, e);
    if (s && e->code)
        fc_report_add(&c->ds, e);
    else if (s && !c->ds.errors)
        fc_diag_error(&c->ds, s, NULL, (fc_range){0, 0}, "%s", fc_status_text(s));
    if (c->quiet) fc_diags_errors_only(&c->ds);
    if (c->ds.errors || c->ds.oom || c->ds.len) show(c, &c->ds);
    if (s) return fc_status_exit(s);
    *e = (fc_error){0};
    if (to_stdout(c, e)) return c->answer;
    fc_diags ds;
    fc_diags_init(&ds, c->alloc);
    fc_report_add(&ds, e);
    show(c, &ds);
    fc_diags_free(&ds);
    return fc_status_exit(e->code);
}

/* -I: where imports are looked for. */
static const char *include_folder(const void *ctx, size_t i) {
    const fc_cli *c = ctx;
    for (size_t k = 0; k < c->o.many.len; k++)
        if (c->o.many.at[k].flag == FC_FLAG_INCLUDE && i-- == 0) return c->o.many.at[k].text;
    return NULL;
}

static int run(int argc, char **argv, const fc_alloc *alloc, const char *self) {
    fc_cli c = {.alloc = alloc, .self = self};
    fc_error e = {0};
    c.files = (fc_files){.alloc = alloc, .folder = include_folder, .ctx = &c};
    fc_streams_start();
    fc_diags_init(&c.ds, c.alloc);
    fc_str_init(&c.out, c.alloc);
    fusec_status s = fc_options_parse(&c.o, argc, argv, c.alloc, &e);
    c.color = fc_term_color(STDERR_FILENO, c.o.color);
    c.quiet = c.o.on[FC_FLAG_QUIET];
    c.verbose = c.o.on[FC_FLAG_VERBOSE] && !c.quiet;
    if (!s) s = dispatch(&c, &e);
    int code = finish(&c, s, &e);
    fc_str_free(&c.out);
    fc_diags_free(&c.ds);
    fc_cli_externs_free(&c);
    fc_files_free(&c.files);
    for (size_t i = 0; i < c.attachments.len; i++) {
        fc_free(c.alloc, c.attachments.at[i].name);
        fc_free(c.alloc, c.attachments.at[i].text);
    }
    fc_vec_free(c.alloc, &c.attachments);
    fc_options_free(&c.o);
    return code;
}

int fc_cli_main(int argc, char **argv) {
    static const char self[] = "/proc/self/exe";
    return run(argc, argv, &fc_libc_alloc, access(self, X_OK) == 0 ? self : NULL);
}

int fc_cli_main_with(int argc, char **argv, const fc_alloc *alloc) {
    return run(argc, argv, alloc, NULL);
}
