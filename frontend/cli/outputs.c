/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* outputs.c - results to files, to standard output, or as text. See outputs.h. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/outputs.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/arrow.h"
#include "frontend/cli/npz.h"
#include "frontend/cli/png.h"
#include "frontend/cli/print.h"
#include "frontend/cli/progress.h"
#include "frontend/cli/zarr.h"

static bool ends_with(const char *s, const char *end) {
    return fc_ends_with(s, strlen(s), end);
}

static bool is_array_file(const char *s) { /* of one result, its elements in order */
    return ends_with(s, ".npy") || ends_with(s, ".zarr") || fc_arrow_is(s, strlen(s));
}

/* ---- names of results ------------------------------------------------------------------------ */

static void result_names(const fc_job *s, char *buf, size_t size) {
    size_t n = 0;
    buf[0] = 0;
    for (size_t i = 0; i < s->graph.outputs.len && n + 70 < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%.60s", i ? ", " : "",
                              s->graph.outputs.at[i].name);
}

fusec_status fc_result_by_name(const fc_job *s, const char *name, size_t len, const char *flag,
                               uint32_t *out, fc_error *e) {
    const fc_graph *g = &s->graph;
    char names[400];
    *out = 0;
    result_names(s, names, sizeof names);
    if (!len) {
        if (g->outputs.len == 1) return FUSEC_OK;
        return fc_fail(e, FUSEC_USAGE,
                       "%s has %zu results: %s\n  help: %s %s=FILE names the one that is meant%s",
                       fc_job_name(s), g->outputs.len, names, flag, g->outputs.at[0].name,
                       strcmp(flag, "-o") ? "" : "; -o FILE.npz takes all");
    }
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (strlen(g->outputs.at[i].name) == len && !memcmp(g->outputs.at[i].name, name, len)) {
            *out = i;
            return FUSEC_OK;
        }
    return fc_fail(e, FUSEC_USAGE, "%s has no result `%.*s`; it has %s", fc_job_name(s),
                   len > 60 ? 60 : (int)len, name, names);
}

const char *fc_place_text(char *buf, size_t size, const fc_array *a, int64_t index) {
    int64_t at[FC_IO_RANK];
    size_t n = 0;
    buf[0] = 0;
    for (int k = a->rank - 1; k >= 0; k--) {
        at[k] = index % a->shape[k];
        index /= a->shape[k];
    }
    for (int k = 0; k < a->rank && n + 24 < size; k++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld%s", k ? ", " : "[", (long long)at[k],
                              k + 1 == a->rank ? "]" : "");
    return buf;
}

/* ---- before anything runs -------------------------------------------------------------------- */

static fusec_status check_inputs(const fc_job *s, const char *path, fc_error *e) {
    struct stat out, in;
    char shown[200];
    if (stat(path, &out) != 0 || (!S_ISREG(out.st_mode) && !S_ISDIR(out.st_mode))) return FUSEC_OK;
    for (size_t i = 0; i < s->input_count; i++) {
        const fc_cli_input *x = &s->inputs[i];
        bool known = x->kind == FC_INPUT_STDIN ? fstat(STDIN_FILENO, &in) == 0
                                               : x->path && stat(x->path, &in) == 0;
        if (known && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return fc_fail(e, FUSEC_USAGE,
                           "the output %s is the input %.*s; it would be overwritten\n"
                           "  help: write to another file, then rename it",
                           fc_shown_name(shown, sizeof shown, path), (int)x->name_len, x->name);
    }
    if (s->path && stat(s->path, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return fc_fail(e, FUSEC_USAGE, "the output %s is the program",
                       fc_shown_name(shown, sizeof shown, path));
    return FUSEC_OK;
}

static fusec_status check_folder(const char *path, fc_error *e) {
    char dir[4096], shown[200], text[32];
    struct stat st;
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (!slash || n >= sizeof dir) return FUSEC_OK;
    memcpy(dir, path, n);
    dir[n] = 0;
    if (!n || (stat(dir, &st) == 0 && S_ISDIR(st.st_mode))) return FUSEC_OK;
    return fc_fail(e, FUSEC_IO, "cannot write %s: %s", fc_shown_name(shown, sizeof shown, path),
                   stat(dir, &st) == 0 ? "its folder is a file" : fc_errno_text(2, text));
}

/* Where a path that does not exist yet would be made: its folder and last name, links followed. */
static bool place_of(const char *path, struct stat *folder, char name[256]) {
    char at[4096];
    if (!fc_resolve_links(path, at, sizeof at)) return false;
    char *slash = strrchr(at, '/'), *last = slash ? slash + 1 : at;
    if (strlen(last) >= 256) return false;
    memcpy(name, last, strlen(last) + 1);
    *last = 0;
    return stat(*at ? at : ".", folder) == 0;
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    char na[256], nb[256];
    if (!strcmp(a, b)) return true;
    bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
    if (has_a && has_b)
        return (S_ISREG(x.st_mode) || S_ISDIR(x.st_mode)) && x.st_dev == y.st_dev &&
               x.st_ino == y.st_ino;
    return !has_a && !has_b && place_of(a, &x, na) && place_of(b, &y, nb) && !strcmp(na, nb) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static fusec_status check_dash(const fc_job *s, fc_error *e) {
    int count = 0;
    for (size_t i = 0; i < s->cli->o.many.len; i++) {
        size_t n;
        if (s->cli->o.many.at[i].flag != FC_FLAG_OUTPUT) continue;
        count += !strcmp(fc_named_file(s->cli->o.many.at[i].text, &n), "-");
    }
    if (count > 1) return fc_fail(e, FUSEC_USAGE, "only one result goes to standard output");
    if (count && fc_term_is(STDOUT_FILENO))
        return fc_fail(e, FUSEC_USAGE,
                       "-o - writes NPY, and standard output is a terminal\n"
                       "  help: leave -o out to see the result as text");
    return FUSEC_OK;
}

/* What a file holds follows from its name, so a name that says nothing is refused. What is there
 * already and no plain file (a pipe, /dev/stdout) misleads nobody. */
static fusec_status check_extension(const char *word, const char *file, fc_error *e) {
    char shown[200];
    struct stat st;
    if (is_array_file(file) || ends_with(file, ".npz") || ends_with(file, ".png")) return FUSEC_OK;
    if (stat(file, &st) == 0 && !S_ISREG(st.st_mode)) return FUSEC_OK;
    fc_shown_name(shown, sizeof shown, file);
    const char *slash = strrchr(shown, '/'), *dot = strrchr(slash ? slash : shown, '.');
    int stem = dot && dot > shown && dot[-1] != '/' ? (int)(dot - shown) : (int)strlen(shown);
    const char *format = ends_with(file, ".csv")    ? "--format csv "
                         : ends_with(file, ".json") ? "--format json "
                                                    : "";
    return fc_fail(e, FUSEC_USAGE,
                   "-o %s: results are written as .npy, .npz (all of them), .zarr, .arrow or .png\n"
                   "  help: -o %.*s%.*s.npy\n"
                   "        %s>%s without -o, for text",
                   shown, (int)(file - word), word, stem, shown, format, shown);
}

fusec_status fc_outputs_check(fc_job *s, fc_error *e) {
    const fc_options *o = &s->cli->o;
    for (size_t i = 0; i < o->many.len; i++) {
        size_t n, k;
        uint32_t which;
        if (o->many.at[i].flag != FC_FLAG_OUTPUT) continue;
        const char *file = fc_named_file(o->many.at[i].text, &n);
        if (!*file)
            return fc_fail(e, FUSEC_USAGE, "-o %.60s: the file is missing", o->many.at[i].text);
        if (n || !ends_with(file, ".npz"))
            FC_TRY(fc_result_by_name(s, o->many.at[i].text, n, "-o", &which, e));
        if (!strcmp(file, "-")) continue;
        FC_TRY(check_extension(o->many.at[i].text, file, e));
        FC_TRY(check_inputs(s, file, e));
        FC_TRY(check_folder(file, e));
        for (size_t j = 0; j < i; j++) {
            if (o->many.at[j].flag != FC_FLAG_OUTPUT ||
                !same_file(fc_named_file(o->many.at[j].text, &k), file))
                continue;
            return fc_fail(e, FUSEC_USAGE, "two results go to %.200s", file);
        }
    }
    if (fc_cli_on(s->cli, FC_FLAG_FORMAT) && fc_cli_on(s->cli, FC_FLAG_OUTPUT))
        return fc_fail(e, FUSEC_USAGE, "--format is for results that go to no file");
    if (fc_cli_on(s->cli, FC_FLAG_FORMAT) && !strcmp(o->text[FC_FLAG_FORMAT], "npy")) {
        uint32_t which;
        FC_TRY(fc_result_by_name(s, NULL, 0, "-o", &which, e));
        if (fc_term_is(STDOUT_FILENO))
            return fc_fail(e, FUSEC_USAGE, "--format npy is not for a terminal\n  help: -o FILE");
    }
    return check_dash(s, e);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void wrote(const fc_job *s, const char *file, const fc_array *a, int64_t bytes,
                  double seconds) {
    char type[300], n[FC_COMMAS], time[32], shown[200];
    fc_cli_say(s->cli, "%s: %s, %s bytes, %s", fc_shown_name(shown, sizeof shown, file),
               fc_type_text(type, sizeof type, a->dtype, a->rank, a->shape), fc_commas(n, bytes),
               fc_show_seconds(time, seconds));
}

static fusec_status write_archive(fc_job *s, fc_outfile *f, uint32_t first, uint32_t count,
                                  fc_error *e) {
    fc_npz_item *items = fc_arena_alloc(&s->arena, (count + 1) * sizeof *items);
    fc_array *arrays = fc_arena_alloc(&s->arena, (count + 1) * sizeof *arrays);
    if (!items || !arrays) return fc_oom(e);
    for (uint32_t i = 0; i < count; i++) {
        arrays[i] = fc_tensor_array(&s->out[first + i]);
        items[i] = (fc_npz_item){s->graph.outputs.at[first + i].name, &arrays[i]};
    }
    return fc_npz_write(f, items, count, e);
}

/* A result on its way to a file. */
typedef struct out_job {
    fc_outfile f;
    const char *file;
    bool all; /* every result, as .npz */
    uint32_t which;
    int64_t bytes;
} out_job;

fusec_status fc_output_open(fc_job *s, fc_outfile *f, const char *file, const fc_tensor *t,
                            fc_error *e) {
    char header[FC_NPY_HEADER_ROOM];
    const char *like = NULL;
    const bool arrow = fc_arrow_is(file, strlen(file));
    if (!arrow && !ends_with(file, ".zarr")) {
        FC_TRY(fc_cli_out_open(s->cli, f, file, e));
        const fusec_status st =
            fc_outfile_write(f, header, fc_npy_header(header, t->dtype, (int)t->rank, t->shape), e);
        if (st) fc_cli_out_abandon(f);
        return st;
    }
    for (size_t i = s->input_count; i-- > 0;)
        if (s->inputs[i].kind == FC_INPUT_STORE && fc_zarr_is(s->inputs[i].path))
            like = s->inputs[i].path;
    return fc_cli_out_array(s->cli, f, file, fc_npy_stored_as(t->dtype), (int)t->rank, t->shape,
                            arrow ? s->graph.outputs.at[t - s->out].name : NULL, like, e);
}

/* The bytes, under the temporary name. On failure there is no file. */
static fusec_status write_file(fc_job *s, out_job *o, fc_error *e) {
    fc_progress progress;
    char what[280] = "writing ";
    fusec_status st;
    fc_array a = fc_tensor_array(&s->out[o->which]);
    if (s->written && s->written[o->which]) { /* in pieces, while they were computed */
        o->f = *s->written[o->which];
        s->written[o->which] = NULL;
        o->bytes = o->f.at;
        return FUSEC_OK;
    }
    fc_shown_name(what + strlen(what), 200, o->file);
    if (ends_with(o->file, ".png")) FC_TRY(fc_png_check(&a, o->file, e));
    const bool other = ends_with(o->file, ".npz") || ends_with(o->file, ".png");
    FC_TRY(other ? fc_cli_out_open(s->cli, &o->f, o->file, e)
                 : fc_output_open(s, &o->f, o->file, &s->out[o->which], e));
    fc_progress_start(&progress, what, true, s->cli->quiet, s->cli->verbose);
    o->f.progress = fc_progress_step, o->f.progress_user = &progress;
    if (ends_with(o->file, ".npz"))
        st = write_archive(s, &o->f, o->all ? 0 : o->which, o->all ? s->nout : 1, e);
    else if (ends_with(o->file, ".png"))
        st = fc_png_write(s->alloc, &o->f, &a, e);
    else
        st = fc_npy_write_data(&o->f, &a, e);
    fc_progress_end(&progress);
    if (!st) st = fc_outfile_finish(&o->f, e);
    o->bytes = o->f.at;
    if (st) fc_cli_out_abandon(&o->f);
    return st;
}

static void tell(const fc_job *s, const out_job *o, double seconds) {
    if (s->cli->quiet) return; /* the elements of an image are counted for what is said */
    char n[FC_COMMAS], time[32], shown[200];
    fc_array a = fc_tensor_array(&s->out[o->which]);
    bool npz = ends_with(o->file, ".npz"), png = ends_with(o->file, ".png");
    int64_t clipped = png ? fc_png_clipped(&a) : 0;
    fc_shown_name(shown, sizeof shown, o->file);
    if (npz && o->all)
        fc_cli_say(s->cli, "%s: %u arrays, %s bytes, %s", shown, s->nout, fc_commas(n, o->bytes),
                   fc_show_seconds(time, seconds));
    else
        wrote(s, o->file, &a, o->bytes, seconds);
    if (clipped)
        fc_cli_say(s->cli, "%s: %s elements are not from 0 to 1 and were cut off", shown,
                   fc_commas(n, clipped));
    const bool array = ends_with(o->file, ".npy") || ends_with(o->file, ".zarr") ||
                       fc_arrow_is(o->file, strlen(o->file));
    if (array && fc_npy_write_note(a.dtype))
        fc_cli_say(s->cli, "%s: %s", shown, fc_npy_write_note(a.dtype));
}

static fusec_status write_stdout(const fc_job *s, uint32_t which, fc_error *e) {
    fc_outfile f;
    fc_array a = fc_tensor_array(&s->out[which]);
    fc_outfile_fd(&f, STDOUT_FILENO, "standard output");
    FC_TRY(fc_npy_write(&f, &a, e));
    return fc_outfile_commit(&f, e);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_text(fc_job *s) {
    fc_print_style style = fc_term_is(STDOUT_FILENO) ? FC_PRINT_TERMINAL : FC_PRINT_WHOLE;
    fc_str *out = &s->cli->out;
    for (uint32_t i = 0; i < s->nout; i++) {
        char type[300];
        fc_array a = fc_tensor_array(&s->out[i]);
        if (s->nout > 1)
            fc_str_printf(out, "%s%s: %s\n", i ? "\n" : "", s->graph.outputs.at[i].name,
                          fc_type_text(type, sizeof type, a.dtype, a.rank, a.shape));
        fc_print_text(out, &a, style);
        fc_str_char(out, '\n');
    }
}

static void print_csv(fc_job *s) {
    for (uint32_t i = 0; i < s->nout; i++) {
        fc_array a = fc_tensor_array(&s->out[i]);
        if (s->nout > 1)
            fc_str_printf(&s->cli->out, "%s# %s\n", i ? "\n" : "", s->graph.outputs.at[i].name);
        fc_print_csv(&s->cli->out, &a);
    }
}

static void print_json(fc_job *s) {
    fc_str *out = &s->cli->out;
    if (s->nout > 1) fc_str_char(out, '{');
    for (uint32_t i = 0; i < s->nout; i++) {
        fc_array a = fc_tensor_array(&s->out[i]);
        if (s->nout > 1) {
            fc_str_add(out, i ? "," : "");
            fc_json_text(out, s->graph.outputs.at[i].name);
            fc_str_char(out, ':');
        }
        fc_print_json(out, &a);
    }
    fc_str_add(out, s->nout > 1 ? "}\n" : "\n");
}

static fusec_status print_all(fc_job *s, fc_error *e) {
    const char *format = s->cli->o.text[FC_FLAG_FORMAT];
    if (!format || !strcmp(format, "text"))
        print_text(s);
    else if (!strcmp(format, "csv"))
        print_csv(s);
    else if (!strcmp(format, "json"))
        print_json(s);
    else
        return write_stdout(s, 0, e);
    return s->cli->out.oom ? fc_oom(e) : FUSEC_OK;
}

/* The words of -o that name a file, or those that name standard output. */
static fusec_status list_jobs(const fc_job *s, bool dash, out_job *jobs, size_t *n, fc_error *e) {
    const fc_options *o = &s->cli->o;
    *n = 0;
    for (size_t i = 0; i < o->many.len; i++) {
        size_t len;
        if (o->many.at[i].flag != FC_FLAG_OUTPUT) continue;
        const char *file = fc_named_file(o->many.at[i].text, &len);
        if (dash != !strcmp(file, "-")) continue;
        out_job *job = &jobs[(*n)++];
        *job = (out_job){.file = file, .all = !len && ends_with(file, ".npz")};
        if (!job->all) FC_TRY(fc_result_by_name(s, o->many.at[i].text, len, "-o", &job->which, e));
    }
    return FUSEC_OK;
}

/* All files appear, or none: what can fail for want of space or of permission has been done under
 * temporary names before the first of them gets its own. */
static fusec_status write_files(fc_job *s, out_job *jobs, size_t n, double seconds, fc_error *e) {
    fusec_status st = FUSEC_OK;
    size_t written = 0, committed = 0;
    while (!st && written < n) {
        st = write_file(s, &jobs[written], e);
        written += !st;
    }
    while (!st && committed < n) st = fc_cli_out_commit(&jobs[committed++].f, e);
    for (size_t i = committed; i < written; i++) fc_cli_out_abandon(&jobs[i].f);
    for (size_t i = 0; !st && i < n; i++) tell(s, &jobs[i], seconds);
    return st;
}

const char *fc_output_file(fc_job *s, uint32_t which, fc_error *e) {
    size_t n, words = 0;
    const char *file = NULL;
    out_job *jobs = fc_arena_alloc(&s->arena, (s->cli->o.many.len + 1) * sizeof *jobs);
    if (!jobs || list_jobs(s, false, jobs, &n, e)) return NULL;
    for (size_t i = 0; i < n; i++) {
        words += jobs[i].all || jobs[i].which == which;
        if (!jobs[i].all && jobs[i].which == which && is_array_file(jobs[i].file))
            file = jobs[i].file;
    }
    return words == 1 ? file : NULL;
}

fusec_status fc_outputs_write(fc_job *s, double seconds, fc_error *e) {
    if (!fc_cli_on(s->cli, FC_FLAG_OUTPUT))
        return fc_cli_on(s->cli, FC_FLAG_EXPECT) ? FUSEC_OK : print_all(s, e);
    size_t n;
    out_job *jobs = fc_arena_alloc(&s->arena, (s->cli->o.many.len + 1) * sizeof *jobs);
    if (!jobs) return fc_oom(e);
    /* Files first: standard output stays empty if one of them fails. */
    FC_TRY(list_jobs(s, false, jobs, &n, e));
    FC_TRY(write_files(s, jobs, n, seconds, e));
    FC_TRY(list_jobs(s, true, jobs, &n, e));
    return n ? write_stdout(s, jobs[0].which, e) : FUSEC_OK;
}
