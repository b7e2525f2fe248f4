/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_faults_parts.c - running out of memory below and beside the C API: the language, files, the
 * text of kernels, caches, reports, and whole commands. See tests/support/faults.h. */
#include "tests/support/faults.h"
#include "tests/support/test.h"

#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/cli/command.h"
#include "frontend/cli/npz.h"
#include "frontend/cli/png.h"
#include "frontend/io/npy.h"
#include "frontend/lang/compile.h"
#include "frontend/lang/fmt.h"
#include "frontend/lang/parse.h"
#include "runtime/diskcache.h"
#include "runtime/program.h"

/* ---- the language ---------------------------------------------------------------------------- */

static const char program_text[] =
    "const S = 3\n"
    "def g(a, k = S) -> (u: f32[n], v: f32[n]) {\n    return a * k, a - k\n}\n"
    "export def f(x: f32[n], y: f32[n, n]) -> f32[n - 1] {\n"
    "    u, v = g(x)\n"
    "    return (u[1:] + v[:-1]) * max(y, axis=0)[:n - 1] / (1/3 + S) + where(n > 3, 2, 1.5)\n}\n";
static const char wrong_text[] =
    "export def f(x: f32[n], y: f32[m, n]) -> f32[n] {\n    return x + y[1:] * nope + sinn(x)\n}\n";

static const char gradient_text[] =
    "def rule(x: f32[n], dy: f32[n]) -> f32[n] = dy\n"
    "@gradient(rule)\ndef steps(x: f32[n]) -> f32[n] = round(x)\n"
    "export def f(x: f32[n], w: f32[n, n]) -> (a: f32[n], b: f32[n, n], c: f32, d: f32[n, n]) {\n"
    "    y = sum(std(w @ steps(x)) * x[1:]) + logsumexp(x) + prod(x[::2])\n"
    "    a, b = grad(y, x, w)\n"
    "    return a, b, jvp(y, x, stop_grad(a)), jacobian(x * x + max(x), x)\n}\n";

static const char loop_text[] =
    "export def f(x: f32[n], k: i32) -> (y: f32[n], p: f32[n, n], s: i64) {\n"
    "    for i in 0..k while sum(x) < 9 {\n        for j in 0..i { x = x + max(x) }\n    }\n"
    "    for i in 0..n { p[i] = x*i }\n"
    "    for i in 0..20 while x < 3 { x = flip(x, axis=0) + 1 }\n"
    "    v, s = unique(x, size=n)\n    return v, p, s\n}\n";

typedef struct lang_state {
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_str text;
    fc_graph g;
    fc_lang_program out;
} lang_state;

static const char *text_of(const fault_run *r) {
    return r->arg ? r->arg : program_text;
}

static fusec_status of_diags(fault_run *r, fusec_status s, const fc_diags *ds) {
    if (ds->oom) return FUSEC_OUT_OF_MEMORY;
    if (s == FUSEC_OUT_OF_MEMORY || !ds->errors) return s;
    (void)r;
    return ds->first == FUSEC_OUT_OF_MEMORY ? ds->first : FUSEC_OK; /* mistakes are an answer */
}

static fusec_status act_parse(fault_run *r) {
    lang_state *s = r->state;
    const char *t = text_of(r);
    fc_diags_init(&s->ds, &r->heap.alloc);
    fusec_status st = fc_source_init(&s->src, &r->heap.alloc, "p.fuse", t, strlen(t), &r->e);
    if (!st) st = of_diags(r, fc_parse_program(&s->src, &s->ds, &s->ast), &s->ds);
    fc_ast_free(&s->ast);
    memset(&s->ast, 0, sizeof s->ast);
    fc_diags_free(&s->ds);
    fc_source_free(&s->src);
    return st;
}

static bool ready_ast(fault_run *r) {
    lang_state *s = r->state;
    const char *t = text_of(r);
    fc_diags_init(&s->ds, &r->heap.alloc);
    return !fc_source_init(&s->src, &r->heap.alloc, "p.fuse", t, strlen(t), &r->e) &&
           !fc_parse_program(&s->src, &s->ds, &s->ast);
}

static void clear_ast(fault_run *r) {
    lang_state *s = r->state;
    fc_ast_free(&s->ast);
    fc_diags_free(&s->ds);
    fc_source_free(&s->src);
}

/* Checks, and prints the graph or the messages in all forms. */
static fusec_status act_check(fault_run *r) {
    lang_state *s = r->state;
    fc_diags found;
    fc_diags_init(&found, &r->heap.alloc);
    fc_str_init(&s->text, &r->heap.alloc);
    fc_graph_init(&s->g, &r->heap.alloc, NULL);
    fc_lang_request rq = {.program = &s->ast, .def = "f", .default_float = FUSEC_F32};
    fusec_status st = of_diags(r, fc_lang_compile(&rq, &s->g, &s->out, &found), &found);
    if (!st && !found.errors) {
        fc_lang_print_graph(&s->g, "f", &s->text);
        fc_graph_print(&s->g, &s->text);
    }
    fc_diags_text(&found, true, &s->text);
    fc_diags_json(&found, &s->text);
    if (!st && s->text.oom) st = FUSEC_OUT_OF_MEMORY;
    fc_str_free(&s->text);
    fc_lang_program_free(&s->out);
    memset(&s->out, 0, sizeof s->out);
    fc_graph_free(&s->g);
    fc_diags_free(&found);
    return st;
}

static fusec_status act_format(fault_run *r) {
    lang_state *s = r->state;
    fc_diags found;
    fc_diags_init(&found, &r->heap.alloc);
    fc_str_init(&s->text, &r->heap.alloc);
    fusec_status st = of_diags(r, fc_format(&s->src, false, &found, &s->text), &found);
    if (!st && s->text.oom) st = FUSEC_OUT_OF_MEMORY;
    if (!st) FC_EXPECT_CONTAINS(s->text.data, "export def f");
    fc_str_free(&s->text);
    fc_diags_free(&found);
    return st;
}

/* ---- files ----------------------------------------------------------------------------------- */

enum { ROWS = 4, COLS = 6 };

typedef struct file_state {
    char path[64];
    fc_array a;
    float data[ROWS * COLS], got[ROWS * COLS];
    uint8_t pixels[ROWS * COLS * 3], seen[ROWS * COLS * 3];
} file_state;

static bool ready_file(fault_run *r) {
    file_state *s = r->state;
    snprintf(s->path, sizeof s->path, "/tmp/fusec-faults-file-%d", (int)getpid());
    s->a = (fc_array){.dtype = FUSEC_F32, .rank = 2, .shape = {ROWS, COLS}, .data = s->data};
    for (int i = 0; i < ROWS * COLS; i++) s->data[i] = (float)i / 3;
    for (int i = 0; i < ROWS * COLS * 3; i++) s->pixels[i] = (uint8_t)(i * 7);
    return true;
}

static void clear_file(fault_run *r) {
    unlink(((file_state *)r->state)->path);
}

/* No file appears unless it is whole, and no temporary stays. */
static void check_file(fault_run *r, bool done) {
    file_state *s = r->state;
    FC_EXPECT_EQ_I64(access(s->path, F_OK) == 0, done);
    char command[200];
    snprintf(command, sizeof command, "ls %s?* >/dev/null 2>&1", s->path);
    if (!done && system(command) == 0) FC_FAIL("a temporary file is left");
    unlink(s->path);
}

static fusec_status act_npy_write(fault_run *r) {
    file_state *s = r->state;
    return fc_npy_write_file(&r->heap.alloc, s->path, &s->a, NULL, &r->e);
}

static fusec_status act_npy_fortran(fault_run *r) {
    file_state *s = r->state;
    fc_npy h = {.dtype = FUSEC_F32, .fortran = true, .rank = 2, .shape = {ROWS, COLS}};
    h.count = ROWS * COLS;
    h.bytes = (int64_t)sizeof s->data;
    fc_reader in;
    fc_reader_memory(&in, s->data, sizeof s->data, "memory");
    memset(s->got, 0xa5, sizeof s->got);
    fusec_status st = fc_npy_read_data(&in, &h, &r->heap.alloc, s->got, &r->e);
    if (!st) FC_EXPECT_EQ_F64(s->got[1], s->data[ROWS]);
    return st;
}

static fusec_status save_npz(fault_run *r) {
    file_state *s = r->state;
    fc_npz_item items[] = {{"first", &s->a}, {"second", &s->a}};
    fc_outfile out;
    FC_TRY(fc_outfile_open(&out, &r->heap.alloc, s->path, &r->e));
    fusec_status st = fc_npz_write(&out, items, 2, &r->e);
    if (!st) return fc_outfile_commit(&out, &r->e);
    fc_outfile_abandon(&out);
    return st;
}

static bool ready_npz(fault_run *r) {
    return ready_file(r) && !save_npz(r);
}

static fusec_status act_npz_read(fault_run *r) {
    file_state *s = r->state;
    fc_reader in;
    fc_npy h;
    FC_TRY(fc_npz_open(&in, &r->heap.alloc, s->path, "second", &r->e));
    fusec_status st = fc_npy_read_header(&in, &h, &r->e);
    if (!st) st = fc_npy_read_data(&in, &h, &r->heap.alloc, s->got, &r->e);
    fc_reader_close(&in);
    if (!st) FC_EXPECT_MEMEQ(s->got, s->data, sizeof s->got);
    return st;
}

static fusec_status save_png(fault_run *r) {
    file_state *s = r->state;
    fc_array a = {.dtype = FUSEC_U8, .rank = 3, .shape = {ROWS, COLS, 3}, .data = s->pixels};
    fc_outfile out;
    FC_TRY(fc_outfile_open(&out, &r->heap.alloc, s->path, &r->e));
    fusec_status st = fc_png_write(&r->heap.alloc, &out, &a, &r->e);
    if (!st) return fc_outfile_commit(&out, &r->e);
    fc_outfile_abandon(&out);
    return st;
}

static bool ready_png(fault_run *r) {
    return ready_file(r) && !save_png(r);
}

static fusec_status act_png_read(fault_run *r) {
    file_state *s = r->state;
    fc_array a = {0};
    FC_TRY(fc_png_info(s->path, &a, &r->e));
    a.data = s->seen;
    FC_TRY(fc_png_read(&r->heap.alloc, s->path, &a, &r->e));
    FC_EXPECT_MEMEQ(s->seen, s->pixels, sizeof s->seen);
    return FUSEC_OK;
}

/* ---- passes, kernels, reports ---------------------------------------------------------------- */

static const char plan_text[] =
    "export def f(x: f32[n, m], y: f32[n, m]) -> (a: f32[n, m], b: f32[m], c: f32[m, n]) {\n"
    "    e = exp(x - max(x, axis=1, keepdims=true))\n"
    "    p = e / sum(e, axis=1, keepdims=true)\n"
    "    return p * 1 + 0, sum(p * y, axis=0), reshape(transpose(sin(x) + y), [m, n])\n}\n";

typedef struct plan_state {
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_graph g;
    fc_lang_program lang;
    fc_context *ctx;
    fc_device *device;
    fc_program *p;
    float x[ROWS * COLS], y[ROWS * COLS];
} plan_state;

static const int64_t plan_shape[2] = {ROWS, COLS};

static bool ready_plan(fault_run *r) {
    plan_state *s = r->state;
    fc_diags_init(&s->ds, &r->heap.alloc);
    fc_graph_init(&s->g, &r->heap.alloc, NULL);
    for (int i = 0; i < ROWS * COLS; i++) s->x[i] = s->y[i] = (float)i / 7;
    if (fc_source_init(&s->src, &r->heap.alloc, "p.fuse", plan_text, strlen(plan_text), &r->e) ||
        fc_parse_program(&s->src, &s->ds, &s->ast))
        return false;
    fc_lang_request rq = {.program = &s->ast, .default_float = FUSEC_F32};
    if (fc_lang_compile(&rq, &s->g, &s->lang, &s->ds)) return false;
    fc_config config;
    fc_config_init(&config);
    config.alloc = r->heap.alloc;
    config.cache_dir = "";
    config.threads = 1;
    return !fc_context_new(&config, &s->ctx, &r->e);
}

static void clear_plan(fault_run *r) {
    plan_state *s = r->state;
    fc_program_free(s->p);
    if (s->device && s->device->name[0] == 's') fc_device_close(s->device); /* "sm_90" */
    fc_context_free(s->ctx);
    fc_lang_program_free(&s->lang);
    fc_graph_free(&s->g);
    fc_ast_free(&s->ast);
    fc_diags_free(&s->ds);
    fc_source_free(&s->src);
}

/* `arg` is a mask of optional passes to leave out. */
static fusec_status act_plan(fault_run *r) {
    plan_state *s = r->state;
    fc_plan *p = NULL;
    fc_str dump;
    fc_str_init(&dump, &r->heap.alloc);
    fc_pass_options o = {.disable = (uint32_t)(uintptr_t)r->arg,
                         .unfused = (uintptr_t)r->arg == 3,
                         .verify = true,
                         .dump = &dump};
    fusec_status st = fc_plan_build(&s->g, &o, &p, &r->e);
    if (!st && dump.oom) st = FUSEC_OUT_OF_MEMORY;
    if (!st) FC_EXPECT_CONTAINS(dump.data, "kernel");
    fc_plan_free(p);
    fc_str_free(&dump);
    return st;
}

static bool ready_program(fault_run *r) {
    plan_state *s = r->state;
    if (!ready_plan(r)) return false;
    fusec_status st = strcmp(r->arg, "sm_90") == 0
                          ? fc_device_open_cuda_offline(&r->heap.alloc, 90, &s->device, &r->e)
                          : fc_context_device(s->ctx, r->arg, &s->device, NULL, &r->e);
    fc_program_options o = {.device = s->device};
    return !st && !fc_program_new(s->ctx, &s->g, &o, &s->p, &r->e);
}

/* The source of every kernel of the program: CUDA C, LLVM IR or a listing. */
static fusec_status act_source(fault_run *r) {
    plan_state *s = r->state;
    fc_tensor in[2] = {{.dtype = FUSEC_F32, .rank = 2, .shape = plan_shape, .data = s->x},
                       {.dtype = FUSEC_F32, .rank = 2, .shape = plan_shape, .data = s->y}};
    for (uint32_t i = 0; i < s->p->plan->steps.len; i++) {
        fc_str text;
        fc_str_init(&text, &r->heap.alloc);
        fusec_status st = fc_program_source(s->p, i, 2, in, 0, NULL, &text, &r->e);
        if (!st && text.oom) st = FUSEC_OUT_OF_MEMORY;
        if (!st) FC_EXPECT_TRUE(text.len > 100);
        fc_str_free(&text);
        FC_TRY(st);
    }
    return FUSEC_OK;
}

static fusec_status act_report(fault_run *r) {
    plan_state *s = r->state;
    fc_tensor in[2] = {{.dtype = FUSEC_F32, .rank = 2, .shape = plan_shape, .data = s->x},
                       {.dtype = FUSEC_F32, .rank = 2, .shape = plan_shape, .data = s->y}};
    fc_step_report reports[16];
    return fc_program_report(s->p, 2, in, 0, NULL, true, reports, &r->e);
}

/* ---- the disk cache -------------------------------------------------------------------------- */

typedef struct disk_state {
    char dir[64];
    fc_diskcache *c;
} disk_state;

static bool ready_disk(fault_run *r) {
    disk_state *s = r->state;
    snprintf(s->dir, sizeof s->dir, "/tmp/fusec-faults-disk-%d", (int)getpid());
    fc_diskcache_dirs dirs = {.dir = s->dir};
    s->c = fc_diskcache_open(&r->heap.alloc, &dirs, 0);
    return s->c != NULL;
}

static void clear_disk(fault_run *r) {
    disk_state *s = r->state;
    char command[100];
    fc_diskcache_close(s->c);
    snprintf(command, sizeof command, "rm -rf '%s'", s->dir);
    if (system(command) != 0) FC_FAIL("%s stays", s->dir);
}

static fusec_status act_disk_open(fault_run *r) {
    fc_diskcache_dirs dirs = {.dir = ((disk_state *)r->state)->dir};
    fc_diskcache *c = fc_diskcache_open(&r->heap.alloc, &dirs, 0);
    if (!c) return FUSEC_OUT_OF_MEMORY;
    fc_diskcache_close(c);
    return FUSEC_OK;
}

static void visit(void *user, const fc_diskcache_entry *e) {
    (void)e;
    ++*(int *)user;
}

/* Whatever fails, the cache keeps working and never gives wrong bytes. */
static fusec_status act_disk_use(fault_run *r) {
    disk_state *s = r->state;
    for (uint8_t i = 0; i < 5; i++) {
        uint8_t key[FC_CACHE_KEY] = {i, 7}, data[300];
        fc_bytes b = {0};
        memset(data, i, sizeof data);
        (void)fc_diskcache_put(s->c, key, 1, "", data, sizeof data);
        if (fc_diskcache_get(s->c, key, 1, &b)) FC_EXPECT_MEMEQ(b.data, data, sizeof data);
        fc_bytes_free(&r->heap.alloc, &b);
    }
    int n = 0;
    fc_diskcache_stats st;
    fc_diskcache_list(s->c, visit, &n);
    fc_diskcache_stats_get(s->c, &st);
    fc_diskcache_clear(s->c, 0);
    return FUSEC_OK;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A whole command in a child, as it changes signal handlers and writes to its streams: with the
 * n-th allocation failing it ends with 0 or with the status of out of memory, and leaks nothing. */
typedef struct command {
    const char *name;
    const char *argv[8];
} command;

enum { GOOD = 0, BAD_CODE = 1, LEAK = 2, NEVER = 3 };

static int run_command(const command *c, long long n, bool onward, int report, bool *fired) {
    fault_heap h;
    char *argv[10] = {(char *)(uintptr_t) "fusec"};
    int argc = 1;
    for (; c->argv[argc - 1]; argc++) argv[argc] = (char *)(uintptr_t)c->argv[argc - 1];
    fault_heap_init(&h);
    fault_arm(&h, n, onward);
    int code = fc_cli_main_with(argc, argv, &h.alloc);
    *fired = atomic_load(&h.failed) > 0;
    fault_disarm(&h);
    bool bad = code != 0 && (!*fired || code != fc_status_exit(FUSEC_OUT_OF_MEMORY));
    if (!bad && !atomic_load(&h.live)) return GOOD;
    dprintf(report, "%s %d at allocation %lld%s\n", bad ? "exit code" : "leak", code, n,
            onward ? " and all after it" : "");
    backtrace_symbols_fd(h.frames, h.depth, report);
    return bad ? BAD_CODE : LEAK;
}

/* In the child: all allocations of the command. Writes what went wrong, and where, to `report`. */
static void command_child(const command *c, const char *folder, int report) {
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || chdir(folder) != 0) _exit(9);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    setenv("FUSEC_CACHE_DIR", "", 1);
    setenv("FUSEC_DEVICE", "interp", 1);
    setenv("FUSEC_THREADS", "1", 1);
    for (int onward = 0; onward < 2; onward++)
        for (long long n = 1;; n++) {
            bool fired = false;
            int r = run_command(c, n, onward != 0, report, &fired);
            if (r != GOOD) _exit(r);
            if (!fired && n == 1) _exit(NEVER);
            if (!fired) break;
        }
    _exit(GOOD);
}

static void command_scene(void *arg) {
    const command *c = arg;
    char folder[] = "/tmp/fusec-faults-XXXXXX", path[100], text[2000] = "";
    int report[2], status = -1;
    FC_ASSERT_TRUE(mkdtemp(folder) && pipe(report) == 0);
    snprintf(path, sizeof path, "%s/p.fuse", folder);
    FILE *f = fopen(path, "w");
    FC_ASSERT_TRUE(f != NULL);
    fputs(plan_text, f);
    fclose(f);
    snprintf(path, sizeof path, "%s/main.fuse", folder);
    f = fopen(path, "w");
    FC_ASSERT_TRUE(f != NULL);
    fputs("import \"p.fuse\"\ndef g(x: T[n]) -> T[n] = x * 2\ndef h(x) = g(x)\n", f);
    fclose(f);
    snprintf(path, sizeof path, "%s/bend.cu", folder);
    f = fopen(path, "w");
    FC_ASSERT_TRUE(f != NULL);
    fputs("extern def bend(x: f32) -> f32\ndef g(x: f32[n]) -> f32[n] = bend(x)\n", f);
    fclose(f);
    pid_t child = fork();
    if (child == 0) command_child(c, folder, report[1]);
    close(report[1]);
    waitpid(child, &status, 0);
    ssize_t n = read(report[0], text, sizeof text - 1);
    close(report[0]);
    if (status != 0) FC_FAIL("status 0x%x: %.*s", (unsigned)status, n > 0 ? (int)n : 0, text);
    snprintf(path, sizeof path, "rm -rf '%s'", folder);
    if (system(path) != 0) FC_FAIL("%s stays", folder);
}

static const command commands[] = {
    {"run_expr", {"-e", "exp(x) / sum(exp(x))", "x=rand:f32:3x4"}},
    {"run_file", {"run", "p.fuse", "x=rand:f32:3x4", "y=ones:f32:3x4", "-o", "a=a.npy"}},
    {"run_index",
     {"-e",
      "b = boundary(x, mode=\"wrap\"); C[i in 0..3] = max[k](b[i - 1, k] + k); "
      "for j in 0..2 while C < 9 { t = 2*C; C = t + j }; concat([C, C[y], take(C, y)])",
      "x=rand:f32:3x4", "y=zeros:i32:2"}},
    {"run_json", {"-e", "x > 0.5", "x=rand:f32:3x4", "--format", "json"}},
    {"run_npz", {"run", "p.fuse", "x=rand:f32:3x4", "y=ones:f32:3x4", "-o", "o.npz"}},
    {"run_png", {"-e", "x", "x=rand:f32:3x4", "-o", "o.png"}},
    {"check", {"check", "p.fuse"}},
    {"check_json", {"check", "p.fuse", "--json"}},
    {"check_import", {"check", "main.fuse", "-I", "."}},
    {"check_extern", {"check", "bend.cu", "--extern", "bend.cu"}}, /* it is both */
    {"explain_extern",
     {"explain", "bend.cu", "--device", "none", "--emit=fuse,cuda", "--extern=bend.cu"}},
    {"explain", {"explain", "p.fuse", "x=f32:30x40", "y=f32:30x40"}},
    {"explain_cuda", {"explain", "p.fuse", "--device", "none", "--emit", "cuda"}},
    {"explain_json", {"explain", "p.fuse", "--json"}},
    {"fmt", {"fmt", "--check", "p.fuse"}},
    {"help", {"help", "run"}},
    {"help_slug", {"help", "shape-mismatch"}},
    {"completion", {"completion", "bash"}},
    {"cache", {"cache", "--list"}},
};

/* ---- the scenes ------------------------------------------------------------------------------ */

#define ARG(x) ((const void *)(uintptr_t)(x))
static const fault_scene scenes[] = {
    {"parse", NULL, sizeof(lang_state), NULL, act_parse, NULL, NULL, false},
    {"parse_wrong", wrong_text, sizeof(lang_state), NULL, act_parse, NULL, NULL, false},
    {"check", NULL, sizeof(lang_state), ready_ast, act_check, NULL, clear_ast, false},
    {"check_gradient", gradient_text, sizeof(lang_state), ready_ast, act_check, NULL, clear_ast,
     false},
    {"check_loop", loop_text, sizeof(lang_state), ready_ast, act_check, NULL, clear_ast, false},
    {"check_wrong", wrong_text, sizeof(lang_state), ready_ast, act_check, NULL, clear_ast, false},
    {"format", NULL, sizeof(lang_state), ready_ast, act_format, NULL, clear_ast, false},
    {"npy_write", NULL, sizeof(file_state), ready_file, act_npy_write, check_file, clear_file,
     false},
    {"npy_fortran", NULL, sizeof(file_state), ready_file, act_npy_fortran, NULL, clear_file, false},
    {"npz_write", NULL, sizeof(file_state), ready_file, save_npz, check_file, clear_file, false},
    {"npz_read", NULL, sizeof(file_state), ready_npz, act_npz_read, NULL, clear_file, false},
    {"png_write", NULL, sizeof(file_state), ready_file, save_png, check_file, clear_file, false},
    {"png_read", NULL, sizeof(file_state), ready_png, act_png_read, NULL, clear_file, false},
    {"plan", ARG(0), sizeof(plan_state), ready_plan, act_plan, NULL, clear_plan, false},
    {"plan_without_simplify", ARG(1), sizeof(plan_state), ready_plan, act_plan, NULL, clear_plan,
     false},
    {"plan_without_reshape", ARG(2), sizeof(plan_state), ready_plan, act_plan, NULL, clear_plan,
     false},
    {"plan_unfused", ARG(3), sizeof(plan_state), ready_plan, act_plan, NULL, clear_plan, false},
    {"text_of_interp", "interp", sizeof(plan_state), ready_program, act_source, NULL, clear_plan,
     false},
    {"text_of_llvm", "cpu", sizeof(plan_state), ready_program, act_source, NULL, clear_plan, false},
    {"text_of_cuda", "sm_90", sizeof(plan_state), ready_program, act_source, NULL, clear_plan,
     false},
    {"report", "interp", sizeof(plan_state), ready_program, act_report, NULL, clear_plan, false},
    {"disk_open", NULL, sizeof(disk_state), ready_disk, act_disk_open, NULL, clear_disk, true},
    {"disk_use", NULL, sizeof(disk_state), ready_disk, act_disk_use, NULL, clear_disk, true},
};

static void run_scene(void *arg) {
    fault_scene_run(arg);
}

FC_REGISTER(fault_part_scenes) {
    for (size_t i = 0; i < FC_COUNT(scenes); i++)
        FC_ADD_TEST("faults_parts", scenes[i].name, run_scene, &scenes[i]);
    for (size_t i = 0; i < FC_COUNT(commands); i++)
        FC_ADD_TEST("faults_command", commands[i].name, command_scene, &commands[i]);
}
