/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_helper.c - compilers in processes of their own: right results, and every way to die. The
 * compilers that misbehave are LLVM and NVRTC as made in tests/fake, and programs that are no
 * compilers. */
#include "runtime/compile/helper.h"
#include "tests/support/faults.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fusec/fusec.h>

#define FAKE      FUSEC_BINARY_DIR "/bin/fake/libfake_cuda_whole.so"
#define FAKE_LLVM FUSEC_BINARY_DIR "/bin/fake/libfake_llvm.so"

static const fc_alloc *const A = &fc_libc_alloc;

static int open_descriptors(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

/* No child is left, dead or alive. */
static void expect_no_children(void) {
    FC_EXPECT_EQ_I64(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- with compilers that are made to fail ---------------------------------------------------- */

static fusec_status nvrtc(fc_helper *h, const char *text, fc_bytes *out, fc_error *e) {
    const fc_nvrtc_options o = {.arch = "sm_90"};
    return fc_helper_nvrtc(h, text, "k.cu", &o, out, e);
}

static fusec_status llvm(fc_helper *h, const char *text, fc_bytes *out, fc_error *e) {
    const fc_llvm_options o = {.level = 2, .passes = FC_LLVM_EARLY_CSE};
    return fc_helper_llvm(h, text, strlen(text), "k.ll", &o, out, e);
}

typedef struct compiler {
    const char *name, *variable, *file, *does;
    fusec_status (*compile)(fc_helper *h, const char *text, fc_bytes *out, fc_error *e);
} compiler;

static const compiler compilers[] = {
    {"NVRTC", "FUSEC_NVRTC_PATH", FAKE, "FAKE_NVRTC", nvrtc},
    {"LLVM", "FUSEC_LIBLLVM_PATH", FAKE_LLVM, "FAKE_LLVM", llvm},
};

/* The fake one in place of the real one, which is there again after leave(). */
static char *enter(const compiler *c, const char *does) {
    const char *before = getenv(c->variable);
    char *kept = before ? strdup(before) : NULL;
    setenv(c->variable, c->file, 1);
    if (does) setenv(c->does, does, 1);
    setenv("ASAN_OPTIONS", "handle_segv=0:handle_abort=0", 0); /* a crash is a crash there too */
    return kept;
}

static void leave(const compiler *c, char *kept) {
    unsetenv(c->does);
    if (kept)
        setenv(c->variable, kept, 1);
    else
        unsetenv(c->variable);
    free(kept);
}

typedef struct failure {
    const char *name, *does;
    fusec_status status;
    const char *says; /* after the compiler's name */
    const char *in;   /* LLVM: what it is doing */
} failure;

static const failure failures[] = {
    {"crash", "crash", FUSEC_COMPILER, " ended by signal 11, SIGSEGV and gave no code", NULL},
    {"abort", "abort", FUSEC_OUT_OF_MEMORY, "LLVM ERROR: out of memory", NULL},
    {"hang", "hang", FUSEC_COMPILER, " took longer than 1 s and was ended", NULL},
    {"spin", "spin", FUSEC_COMPILER, " took longer than 1 s and was ended", NULL},
    {"memory", "memory", FUSEC_OUT_OF_MEMORY, " took more than the 1.0 GiB it may have", NULL},
    {"crash_open", "crash", FUSEC_COMPILER, " ended by signal 11, SIGSEGV and gave no code",
     "open"},
    {"crash_parse", "crash", FUSEC_COMPILER, " ended by signal 11, SIGSEGV and gave no code",
     "parse"},
    {"hang_passes", "hang", FUSEC_COMPILER, " took longer than 1 s and was ended", "passes"},
};

static void fails_in(const compiler *c, const failure *f) {
    const int before = open_descriptors();
    fc_error e = {0}, e2 = {0};
    fc_bytes out = {0};
    char *kept = enter(c, f->does);
    if (f->in) setenv("FAKE_LLVM_IN", f->in, 1);
    const bool hangs = strstr(f->says, "took longer") != NULL;
    const fc_helper_options o = {FUSEC_COMMAND, hangs ? 1 : 60, UINT64_C(1) << 30};
    fc_helper *h = fc_helper_new(A, &o);
    FC_EXPECT_STATUS(c->compile(h, "text", &out, &e), f->status, &e);
    FC_EXPECT_CONTAINS(e.message, f->says);
    FC_EXPECT_CONTAINS(e.message, c->name);
    FC_EXPECT_EQ_PTR(out.data, NULL);
    unsetenv(c->does); /* the next text finds a new process, and it is well */
    fusec_status s = c->compile(h, "text", &out, &e2);
    int more = 0; /* times that even this took longer than a second, on a busy machine */
    for (; hangs && s == FUSEC_COMPILER && more < 50; more++) {
        e2 = (fc_error){0};
        s = c->compile(h, "text", &out, &e2);
    }
    FC_EXPECT_OK(s, &e2);
    FC_EXPECT_EQ_U64(fc_helper_started(h), 2 + (uint64_t)more);
    FC_EXPECT_TRUE(out.len >= 4 && memmem(out.data, out.len, "text", 4));
    fc_bytes_free(A, &out);
    fc_helper_free(h);
    unsetenv("FAKE_LLVM_IN");
    leave(c, kept);
    expect_no_children();
    FC_EXPECT_EQ_I64(open_descriptors(), before);
}

static void fails(void *arg) {
    const failure *f = arg;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (!strcmp(f->does, "memory")) FC_SKIP("a sanitizer takes all the address space there is");
#endif
    for (size_t i = 0; i < FC_COUNT(compilers); i++) {
        if (f->in && compilers[i].compile != llvm) continue;
        FC_TRACE("%s", compilers[i].name);
        fails_in(&compilers[i], f);
        FC_UNTRACE();
    }
}

FC_REGISTER(helper_failures) {
    for (size_t i = 0; i < FC_COUNT(failures); i++)
        FC_ADD_TEST("helper", failures[i].name, fails, &failures[i]);
}

/* What a compiler prints neither disturbs the answer nor fills a pipe, and is not seen. */
FC_TEST(helper, noise) {
    for (size_t k = 0; k < FC_COUNT(compilers); k++) {
        const compiler *c = &compilers[k];
        fc_error e = {0};
        fc_bytes out = {0};
        char *kept = enter(c, "noise");
        const fc_helper_options o = {.program = FUSEC_COMMAND};
        fc_helper *h = fc_helper_new(A, &o);
        for (int i = 0; i < 3; i++) {
            FC_EXPECT_OK(c->compile(h, "text", &out, &e), &e);
            fc_bytes_free(A, &out);
        }
        FC_EXPECT_EQ_U64(fc_helper_started(h), 1); /* one process for all of them */
        fc_helper_free(h);
        leave(c, kept);
    }
}

/* An error of the compiler is passed on as it is, and the process stays. */
FC_TEST(helper, errors_are_those_of_the_compiler) {
    fc_error e = {0}, e2 = {0};
    fc_bytes out = {0};
    setenv("FUSEC_NVRTC_PATH", "/nowhere/libnvrtc.so", 1);
    const fc_helper_options o = {.program = FUSEC_COMMAND};
    fc_helper *h = fc_helper_new(A, &o);
    FC_EXPECT_STATUS(nvrtc(h, "text", &out, &e), FUSEC_NVRTC_SETUP, &e);
    FC_EXPECT_CONTAINS(e.message, "there is no NVRTC: cannot load /nowhere/libnvrtc.so");
    FC_EXPECT_STATUS(nvrtc(h, "text", &out, &e2), FUSEC_NVRTC_SETUP, &e2);
    FC_EXPECT_EQ_U64(fc_helper_started(h), 1);
    fc_helper_free(h);
    unsetenv("FUSEC_NVRTC_PATH");
    /* a text that LLVM rejects; the process goes on with the next */
    char *kept = enter(&compilers[1], NULL);
    fc_error e3 = {0}, e4 = {0};
    h = fc_helper_new(A, &o);
    FC_EXPECT_STATUS(llvm(h, "wrong", &out, &e3), FUSEC_LLVM, &e3);
    FC_EXPECT_CONTAINS(e3.message, "this is no text");
    FC_EXPECT_OK(llvm(h, "text", &out, &e4), &e4);
    FC_EXPECT_EQ_U64(fc_helper_started(h), 1);
    fc_bytes_free(A, &out);
    fc_helper_free(h);
    leave(&compilers[1], kept);
}

/* Hundreds of deaths leave no process and no descriptor. */
FC_TEST(helper, many_deaths) {
    const int before = open_descriptors();
    const fc_helper_options o = {.program = "/bin/false"};
    fc_helper *h = fc_helper_new(A, &o);
    for (int i = 0; i < 300; i++) {
        fc_error e = {0};
        fc_bytes out = {0};
        FC_EXPECT_STATUS(nvrtc(h, "text", &out, &e), FUSEC_COMPILER, &e);
        FC_EXPECT_CONTAINS(e.message, "ended with status 1");
    }
    fc_helper_free(h);
    expect_no_children();
    FC_EXPECT_EQ_I64(open_descriptors(), before);
}

/* ---- programs that are no compiler ----------------------------------------------------------- */

static void with_script(const char *script, const char *says) {
    char path[] = "/tmp/fusec-helper-XXXXXX";
    int fd = mkstemp(path);
    FC_ASSERT_TRUE(fd >= 0);
    dprintf(fd, "#!/bin/sh\n%s\n", script);
    fchmod(fd, 0700);
    close(fd);
    fc_error e = {0};
    fc_bytes out = {0};
    const fc_helper_options o = {path, 2, 0};
    fc_helper *h = fc_helper_new(A, &o);
    FC_EXPECT_STATUS(nvrtc(h, "text", &out, &e), FUSEC_COMPILER, &e);
    FC_EXPECT_CONTAINS(e.message, says);
    fc_helper_free(h);
    unlink(path);
    expect_no_children();
}

FC_TEST(helper, no_compilers) {
    with_script("echo hello; exit 3", "ended with status 3 and gave no code\n  it said: hello");
    with_script("head -c 100000 /dev/zero >&3", "gave no code"); /* garbage for an answer */
    with_script("printf '2hcf' >&3; sleep 60", "took longer than 2 s");
    with_script("exec 3>&-; sleep 60", "gave no code"); /* hangs up and lives on */
    with_script("kill -9 $$", "by signal 9, SIGKILL");
    fc_error e = {0};
    fc_bytes out = {0};
    const fc_helper_options o = {.program = "/nowhere/fusec"};
    fc_helper *h = fc_helper_new(A, &o);
    FC_EXPECT_STATUS(nvrtc(h, "text", &out, &e), FUSEC_COMPILER, &e);
    FC_EXPECT_CONTAINS(e.message, "can't be started: /nowhere/fusec: No such file or directory");
    fc_helper_free(h);
}

/* ---- behind the C API ------------------------------------------------------------------------ */

static fusec_status compute(fusec_context *ctx, float add, float *result) {
    float in[4] = {1, 2, 3, 4}, out[4] = {0};
    const int64_t shape[1] = {4};
    fusec_graph *g = NULL;
    fusec_status s = fusec_graph_new(ctx, &g);
    if (!s) {
        fusec_value x = fusec_array(g, FUSEC_F32, 1, shape, in);
        s = fusec_read(fusec_add(fusec_sqrt(x), fusec_num(add)), out, sizeof out);
    }
    fusec_graph_free(g);
    *result = out[3];
    return s;
}

static fusec_context *cpu_context(const char *program, const char *cache) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    o.device = "cpu";
    o.threads = 1;
    o.cache_dir = cache;
    o.compiler = program;
    FC_EXPECT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    return ctx;
}

static bool have_cpu(void) {
    fusec_context *ctx = cpu_context(NULL, "");
    bool have = ctx && !fusec_device(ctx, NULL, NULL);
    fusec_context_free(ctx);
    return have;
}

FC_TEST(helper, behind_the_library) {
    char dir[] = "/tmp/fusec-helper-XXXXXX", command[64];
    float y = 0;
    if (!have_cpu()) FC_SKIP("no LLVM");
    FC_ASSERT_TRUE(mkdtemp(dir) != NULL);
    fusec_context *ctx = cpu_context(FUSEC_COMMAND, dir);
    for (int i = 0; i < 3; i++) {
        FC_EXPECT_OK_TEXT(compute(ctx, (float)i, &y), fusec_message(ctx));
        FC_EXPECT_EQ_F64(y, 2 + i);
    }
    fusec_context_free(ctx);
    /* what is on disk needs no process: this one could not be started */
    ctx = cpu_context("/nowhere/fusec", dir);
    FC_EXPECT_OK_TEXT(compute(ctx, 1, &y), fusec_message(ctx));
    FC_EXPECT_EQ_F64(y, 3);
    FC_EXPECT_EQ_I64(compute(ctx, 9, &y), FUSEC_COMPILER);
    FC_EXPECT_CONTAINS(fusec_message(ctx), "can't be started");
    fusec_context_free(ctx);
    expect_no_children();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    FC_EXPECT_EQ_I64(system(command), 0);
}

typedef struct part_of {
    fusec_context *ctx;
    int number, failed;
} part_of;

static void *compile_some(void *arg) {
    part_of *p = arg;
    for (int i = 0; i < 5; i++) {
        float y = 0;
        p->failed += compute(p->ctx, (float)(100 * p->number + i), &y) != FUSEC_OK ||
                     y != 2 + (float)(100 * p->number + i);
    }
    return NULL;
}

/* Threads share the processes; a fork starts its own, and leaves the parent's alone. */
FC_TEST(helper, threads_and_fork) {
    enum { N = 8 };
    pthread_t t[N];
    part_of p[N];
    float y = 0;
    int status = -1;
    if (!have_cpu()) FC_SKIP("no LLVM");
    fusec_context *ctx = cpu_context(FUSEC_COMMAND, "");
    for (int i = 0; i < N; i++) {
        p[i] = (part_of){ctx, i, 0};
        FC_ASSERT_EQ_I64(pthread_create(&t[i], NULL, compile_some, &p[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], NULL);
        FC_EXPECT_EQ_I64(p[i].failed, 0);
    }
    pid_t child = fork();
    if (child == 0) _exit(compute(ctx, 1000, &y) || y != 1002 ? 1 : 0);
    FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
    FC_EXPECT_EQ_I64(status, 0);
    FC_EXPECT_OK_TEXT(compute(ctx, 2000, &y), fusec_message(ctx));
    FC_EXPECT_EQ_F64(y, 2002);
    fusec_context_free(ctx);
    expect_no_children();
}

/* ---- behind the command ---------------------------------------------------------------------- */

#define CUDA                                                                                       \
    "export FUSEC_LIBCUDA_PATH=" FAKE " FUSEC_NVRTC_PATH=" FAKE                                    \
    " FAKE_COUNT=$PWD/count; rm -f count; "                                                        \
    "export ASAN_OPTIONS=handle_segv=0:handle_abort=0; "

FC_TEST(helper, behind_the_command) {
    shell sh;
    if (!shell_open(&sh)) return;
    shell_run(&sh, CUDA "FAKE_NVRTC=crash fusec -e 'x*2' x=ones:f32:4 --device cuda -o o.npy");
    FC_EXPECT_EQ_I64(sh.code, 70);
    FC_EXPECT_CONTAINS(sh.err, "NVRTC ended by signal 11, SIGSEGV and gave no code");
    FC_EXPECT_CONTAINS(sh.err, "[compiler]");
    FC_EXPECT_CONTAINS(sh.err, "To report it, attach");
    shell_run(&sh, CUDA "FAKE_NVRTC=abort fusec -e 'x*2' x=ones:f32:4 --device cuda -o o.npy");
    FC_EXPECT_EQ_I64(sh.code, 5);
    FC_EXPECT_CONTAINS(sh.err, "[out-of-memory]");
    shell_run(&sh, CUDA "FAKE_NVRTC=noise fusec -e 'x*2' x=ones:f32:4 --device cuda -o o.npy");
    FC_EXPECT_EQ_I64(sh.code, 0);
    FC_EXPECT_STREQ(sh.out, "");
    /* the kernel is on disk now: a compiler that would crash is not asked */
    shell_run(&sh, CUDA "FAKE_NVRTC=crash fusec -e 'x*2' x=ones:f32:4 --device cuda -o o.npy; "
                        "echo $?; test -e count || echo none");
    FC_EXPECT_STREQ(sh.out, "0\nnone\n");
    /* without it the compiler takes the command along */
    shell_run(&sh,
              CUDA "FUSEC_COMPILER= FAKE_NVRTC=abort fusec -e 'x*3' x=ones:f32:4 --device cuda "
                   "-o o.npy");
    FC_EXPECT_EQ_I64(sh.code, 128 + SIGABRT);
    /* the same with LLVM; a device that does not compile goes on */
#define CPU "export FUSEC_LIBLLVM_PATH=" FAKE_LLVM " ASAN_OPTIONS=handle_segv=0:handle_abort=0; "
    shell_run(&sh, CPU "FAKE_LLVM=crash fusec -e 'x*5' x=ones:f32:4 --device cpu -o o.npy");
    FC_EXPECT_EQ_I64(sh.code, 70);
    FC_EXPECT_CONTAINS(sh.err, "LLVM ended by signal 11, SIGSEGV and gave no code");
    FC_EXPECT_CONTAINS(sh.err, "[compiler]");
    FC_EXPECT_CONTAINS(sh.err, "To report it, attach");
    shell_run(&sh, CPU "FAKE_LLVM=abort fusec -e 'x*5' x=ones:f32:4 --device cpu -o o.npy");
    FC_EXPECT_EQ_I64(sh.code, 5);
    FC_EXPECT_CONTAINS(sh.err, "[out-of-memory]");
    shell_run(&sh, CPU "FAKE_LLVM=abort fusec -e 'x*5' x=ones:f32:4 --device interp");
    FC_EXPECT_EQ_I64(sh.code, 0);
    shell_run(&sh, CPU "FUSEC_COMPILER= FAKE_LLVM=abort fusec -e 'x*5' x=ones:f32:4 --device cpu");
    FC_EXPECT_EQ_I64(sh.code, 128 + SIGABRT);
    /* asked for by hand it does nothing */
    shell_run(&sh, "fusec --compile-helper 1 1; echo $?");
    FC_EXPECT_STREQ(sh.out, "2\n");
    shell_close(&sh);
}

/* ---- its own memory -------------------------------------------------------------------------- */

static fusec_status act(fault_run *r) {
    fc_bytes out = {0};
    const fc_helper_options o = {.program = FUSEC_COMMAND};
    fc_helper *h = fc_helper_new(&r->heap.alloc, &o);
    fusec_status st = h ? nvrtc(h, "text", &out, &r->e) : fc_oom(&r->e);
    fc_bytes_free(&r->heap.alloc, &out);
    fc_helper_free(h);
    return st;
}

FC_TEST(helper, out_of_memory) {
    const fault_scene s = {.name = "helper", .act = act};
    setenv("FUSEC_NVRTC_PATH", FAKE, 1);
    fault_scene_run(&s);
    unsetenv("FUSEC_NVRTC_PATH");
    expect_no_children();
}
