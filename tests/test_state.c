/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_state.c - what belongs to the caller is left as it was found: float control, locale, signal
 * handlers and masks, descriptors, the working folder; and what a fork does. On every device of
 * this machine. */
#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <fusec/fusec.h>

#include "tests/support/test.h"

enum { N = 100, M = 70, SIZE = N * M };
static const int last[] = {1}, first[] = {0};

/* ---- something to do ------------------------------------------------------------------------- */

typedef struct result {
    float y[SIZE], s[M];
} result;

/* Opens, compiles, runs, reads and closes; `device` must be there. */
static fusec_status everything(const char *device, const char *compiler, result *out) {
    static float x[SIZE];
    const int64_t shape[2] = {N, M};
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    o.device = device;
    o.cache_dir = "";
    o.threads = 3;
    o.compiler = compiler;
    for (int i = 0; i < SIZE && x[1] == 0; i++) /* exact: not the mode's business */
        x[SIZE - 1 - i] = (float)((i * 37 + 1) % 101) / 8;
    fusec_status st = fusec_context_new(&o, &ctx);
    if (!st) st = fusec_graph_new(ctx, &g);
    if (!st) {
        fusec_value v = fusec_array(g, FUSEC_F32, 2, shape, x);
        fusec_value e = fusec_exp(fusec_sub(v, fusec_max(v, 1, last, 1)));
        fusec_value y = fusec_div(e, fusec_sum(e, 1, last, 1));
        st = fusec_read(fusec_mul(y, fusec_num(1e-38)), out->y, sizeof out->y); /* subnormal */
        if (!st) st = fusec_read(fusec_sum(y, 1, first, 0), out->s, sizeof out->s);
    }
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return st;
}

static const char *const devices[] = {"interp", "cpu", "cuda"};

static bool have(const char *device) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    o.device = device;
    bool there = !fusec_context_new(&o, &ctx) && !fusec_device(ctx, NULL, NULL);
    fusec_context_free(ctx);
    return there;
}

/* For each device, and for the CPU also with its compiler in a process of its own. */
#define FOR_EACH_WAY(device, compiler)                                                             \
    for (size_t way_ = 0; way_ < 2 * sizeof devices / sizeof *devices; way_++)                     \
        for (const char *device = have(devices[way_ / 2]) && (way_ % 2 == 0 || way_ == 3)          \
                                      ? devices[way_ / 2]                                          \
                                      : NULL,                                                      \
                        *compiler = way_ % 2 ? FUSEC_COMMAND : "";                                 \
             device; device = NULL)

/* ---- float control --------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* Flushing, odd rounding and unmasked exceptions neither change a bit nor are changed. */
FC_TEST(state, float_control) {
    static result plain, odd;
    const unsigned settings[] = {
        0x1f80 | 0x8040,          /* flush to zero, denormals are zero */
        0x1f80 | 0x4000,          /* round up */
        0x1f80 | 0x6000 | 0x8040, /* toward zero, and flushing */
        0x1f80 & ~0x0200u,        /* division by zero traps */
        0x1f80 & ~0x0080u,        /* an invalid operation traps */
    };
    FOR_EACH_WAY(device, compiler) {
        FC_TRACE("%s %s", device, compiler);
        FC_EXPECT_OK_TEXT(everything(device, compiler, &plain), fusec_message(NULL));
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
            unsigned before = _mm_getcsr();
            _mm_setcsr(settings[i]);
            fusec_status st = everything(device, compiler, &odd);
            unsigned after = _mm_getcsr();
            _mm_setcsr(before);
            FC_EXPECT_OK_TEXT(st, fusec_message(NULL));
            FC_EXPECT_EQ_I64(after & ~0x3fu, settings[i]); /* the flags may be raised */
            FC_EXPECT_MEMEQ(&odd, &plain, sizeof plain);
        }
        FC_UNTRACE();
    }
}
#endif

FC_TEST(state, rounding_mode) {
    static result plain, odd;
    const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    FOR_EACH_WAY(device, compiler) {
        FC_EXPECT_OK_TEXT(everything(device, compiler, &plain), fusec_message(NULL));
        for (int i = 0; i < 3; i++) {
            FC_EXPECT_EQ_I64(fesetround(modes[i]), 0);
            fusec_status st = everything(device, compiler, &odd);
            FC_EXPECT_EQ_I64(fegetround(), modes[i]);
            fesetround(FE_TONEAREST);
            FC_EXPECT_OK_TEXT(st, fusec_message(NULL));
            FC_EXPECT_MEMEQ(&odd, &plain, sizeof plain);
        }
    }
}

/* ---- locale ---------------------------------------------------------------------------------- */

FC_TEST(state, locale) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "C.UTF-8"};
    static result plain, other;
    int tried = 0;
    FOR_EACH_WAY(device, compiler) {
        FC_EXPECT_OK_TEXT(everything(device, compiler, &plain), fusec_message(NULL));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char kept[100];
            if (!setlocale(LC_ALL, names[i])) continue;
            tried++;
            snprintf(kept, sizeof kept, "%s", setlocale(LC_ALL, NULL));
            fusec_status st = everything(device, compiler, &other);
            FC_EXPECT_STREQ(setlocale(LC_ALL, NULL), kept);
            setlocale(LC_ALL, "C");
            FC_EXPECT_OK_TEXT(st, fusec_message(NULL));
            FC_EXPECT_MEMEQ(&other, &plain, sizeof plain);
        }
    }
    FC_EXPECT_GT_I64(tried, 0);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* compute-sanitizer has handlers and descriptors of its own in this process. */
static bool under_compute_sanitizer(void) {
    char line[1000];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && !found && fgets(line, sizeof line, f)) found = strstr(line, "/compute-sanitizer/");
    if (f) fclose(f);
    return found;
}

static volatile sig_atomic_t alarms;
static void on_alarm(int sig) {
    (void)sig;
    alarms++;
}

static bool same_action(int sig, const struct sigaction *was) {
    struct sigaction now;
    return sigaction(sig, NULL, &now) != 0 ||
           (now.sa_handler == was->sa_handler && now.sa_flags == was->sa_flags);
}

/* No handler is set, no mask changed, whatever was there before. */
FC_TEST(state, signal_handlers_and_masks) {
    if (under_compute_sanitizer()) FC_SKIP("compute-sanitizer sets handlers");
    static result r;
    struct sigaction before[65];
    sigset_t mask, now, odd, kept;
    FOR_EACH_WAY(device, compiler) {
        for (int sig = 1; sig < 65; sig++) sigaction(sig, NULL, &before[sig]);
        sigprocmask(SIG_SETMASK, NULL, &mask);
        FC_EXPECT_OK_TEXT(everything(device, compiler, &r), fusec_message(NULL));
        for (int sig = 1; sig < 65; sig++)
            if (!same_action(sig, &before[sig])) FC_FAIL("%s: signal %d", device, sig);
        sigemptyset(&odd);
        sigaddset(&odd, SIGUSR1);
        sigaddset(&odd, SIGCHLD);
        sigprocmask(SIG_SETMASK, &odd, NULL);
        FC_EXPECT_OK_TEXT(everything(device, compiler, &r), fusec_message(NULL));
        sigprocmask(SIG_SETMASK, &mask, &now);
        kept = now;
        for (int sig = 1; sig < 65; sig++)
            FC_EXPECT_EQ_I64(sigismember(&kept, sig) == 1, sig == SIGUSR1 || sig == SIGCHLD);
    }
}

/* A timer that fires all the time, without SA_RESTART: calls are interrupted and go on. */
FC_TEST(state, a_storm_of_signals) {
    static result plain, stormy;
    FOR_EACH_WAY(device, compiler) {
        FC_EXPECT_OK_TEXT(everything(device, compiler, &plain), fusec_message(NULL));
        struct sigaction a = {.sa_handler = on_alarm}, old;
        struct itimerval fast = {{0, 300}, {0, 300}}, none = {{0, 0}, {0, 0}};
        sigaction(SIGALRM, &a, &old);
        alarms = 0;
        setitimer(ITIMER_REAL, &fast, NULL);
        fusec_status st = FUSEC_OK;
        for (int i = 0; i < 3 && !st; i++) st = everything(device, compiler, &stormy);
        setitimer(ITIMER_REAL, &none, NULL);
        sigaction(SIGALRM, &old, NULL);
        FC_EXPECT_OK_TEXT(st, fusec_message(NULL));
        FC_EXPECT_MEMEQ(&stormy, &plain, sizeof plain);
        FC_EXPECT_GT_I64(alarms, 0);
    }
}

/* A caller that ignores SIGCHLD has its children taken away by the system; the compiler's too. */
FC_TEST(state, children_ignored_and_pipes_broken) {
    static result r;
    if (!have("cpu")) FC_SKIP("no LLVM");
    pid_t child = fork();
    if (child == 0) {
        signal(SIGCHLD, SIG_IGN);
        signal(SIGPIPE, SIG_DFL);
        _exit(everything("cpu", FUSEC_COMMAND, &r) ||
              everything("cpu", "/bin/true", &r) != FUSEC_COMPILER);
    }
    int status = -1;
    FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
    FC_EXPECT_EQ_I64(status, 0);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int count_open(bool *all_marked) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        int fd = atoi(e->d_name);
        if (e->d_name[0] == '.' || fd == dirfd(d)) continue;
        n++;
        if (fd > 2 && all_marked && !(fcntl(fd, F_GETFD) & FD_CLOEXEC)) {
            char link[64], to[200] = "";
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            if (readlink(link, to, sizeof to - 1) > 0) fprintf(stderr, "%s is inherited\n", to);
            *all_marked = false;
        }
    }
    if (d) closedir(d);
    return n;
}

/* What forks below runs in a new process image: CUDA does not survive a fork, and what other tests
 * of this process opened is not ours to count. The image is this program with one test as filter
 * and the way in the environment, where the test finds it. */
static int run_apart(const char *test, const char *device, const char *compiler) {
    char filter[80];
    snprintf(filter, sizeof filter, "--gtest_filter=state.%s", test);
    pid_t child = fork();
    if (child == 0) {
        setenv("FUSEC_TEST_APART", device, 1);
        setenv("FUSEC_TEST_APART_COMPILER", compiler, 1);
        unsetenv("GTEST_TOTAL_SHARDS"); /* as ours, if we are one of several */
        unsetenv("GTEST_SHARD_INDEX");
        execl("/proc/self/exe", "fusec_tests", "--gtest_brief=1", filter, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
    return status;
}

/* The way that a new image was given; device is NULL elsewhere. */
typedef struct way {
    const char *device, *compiler;
} way;

static way given_way(void) {
    return (way){getenv("FUSEC_TEST_APART"), getenv("FUSEC_TEST_APART_COMPILER")};
}

static void descriptors_apart(way w) {
    static result r;
    bool marked = true;
    closefrom(3);                                       /* what the test program had */
    if (everything(w.device, w.compiler, &r)) _exit(1); /* libraries are loaded now */
    int before = count_open(&marked);
    for (int i = 0; i < 20; i++)
        if (everything(w.device, w.compiler, &r)) _exit(1);
    if (count_open(&marked) != before) _exit(2);
    _exit(marked ? 0 : 3);
}

/* No descriptor stays open after a context, and none is inherited by a program that is started. */
FC_TEST(state, descriptors) {
    way w = given_way();
    if (under_compute_sanitizer()) FC_SKIP("compute-sanitizer opens descriptors");
    if (w.device) descriptors_apart(w);
    FOR_EACH_WAY(device, compiler) {
        FC_TRACE("%s %s", device, compiler);
        FC_EXPECT_EQ_I64(run_apart("descriptors", device, compiler), 0);
        FC_UNTRACE();
    }
}

/* With standard input, output and error closed nothing of ours takes their place. */
FC_TEST(state, standard_descriptors_closed) {
    static result r;
    way w = given_way();
    if (w.device) {
        for (int fd = 0; fd < 3; fd++) close(fd);
        _exit(everything(w.device, w.compiler, &r) ? 1 : count_open(NULL) > 60);
    }
    FOR_EACH_WAY(device, compiler) {
        FC_TRACE("%s %s", device, compiler);
        FC_EXPECT_EQ_I64(run_apart("standard_descriptors_closed", device, compiler), 0);
        FC_UNTRACE();
    }
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* A child goes on with the parent's context on cpu and interp: its threads are started anew. On a
 * GPU it is told that CUDA does not survive a fork. */
FC_TEST(state, fork_after_use) {
    static float x[SIZE], y[SIZE];
    FOR_EACH_WAY(device, compiler) {
        const int64_t shape[2] = {N, M};
        fusec_options o = FUSEC_OPTIONS_INIT;
        fusec_context *ctx = NULL;
        fusec_graph *g = NULL;
        o.device = device;
        o.cache_dir = "";
        o.threads = 4;
        o.compiler = compiler;
        FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
        FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
        fusec_value v = fusec_array(g, FUSEC_F32, 2, shape, x);
        FC_ASSERT_OK_TEXT(fusec_read(fusec_exp(v), y, sizeof y), fusec_message(ctx));
        for (int i = 0; i < 3; i++) {
            pid_t child = fork();
            if (child == 0) {
                alarm(100);
                fusec_status st = fusec_read(fusec_cos(v), y, sizeof y);
                bool good = strcmp(device, "cuda")
                                ? !st && y[SIZE - 1] == 1
                                : st == FUSEC_DRIVER && strstr(fusec_message(ctx), "fork");
                fusec_graph_free(g);
                fusec_context_free(ctx);
                _exit(good ? 0 : 1);
            }
            int status = -1;
            FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
            FC_EXPECT_EQ_I64(status, 0);
        }
        FC_EXPECT_OK_TEXT(fusec_read(fusec_sin(v), y, sizeof y), fusec_message(ctx));
        fusec_graph_free(g);
        fusec_context_free(ctx);
    }
}
