/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_main.c - fusec_fuzz: random graphs for a given time, on as many cores as wanted.
 *
 *     fusec_fuzz DEVICE [--seconds S] [--count N] [--jobs J] [--seed N] [--out DIR] [--first]
 *                       [--ahead N]
 *
 * DEVICE is cpu, cuda, interp or nvrtc. Workers are processes that take every J-th seed. A worker
 * that finds a difference shrinks it and writes DIR/DEVICE-SEED.fuse; one that crashes or does not
 * come back is replaced, and its graph is shrunk in processes of its own. --first ends at the first
 * failure, and a signal (TERM, INT) before the time is over. --ahead N compiles what a worker's
 * next N graphs need at once (12 for cuda, else 1). The last line counts; the exit status is 1 when
 * something failed. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/fuzz.h"
#include "tests/support/fuzz_nvrtc.h"

enum { MAX_JOBS = 256, HANG = 120 /* seconds */, SHRINK = 300 /* tries */ };

typedef struct options {
    const char *device, *out;
    double seconds;
    uint64_t count, seed;
    int jobs, ahead;
    bool first;
} options;

typedef struct slot { /* shared with a worker */
    _Atomic uint64_t next, done, failures, kernels;
    _Atomic int64_t beat;
    pid_t pid;
    char folder[FC_RIG_PATH];
} slot;

static slot *slots;
static volatile sig_atomic_t stopped; /* by a signal: what was done still counts */

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep(const options *o, const rg *r, const fuzz_ways *w, uint64_t seed,
                 const char *why) {
    char path[1000];
    fc_str text;
    fc_str_init(&text, &fc_libc_alloc);
    fuzz_print(r, w, seed, why, &text);
    snprintf(path, sizeof path, "%s/%s-%llu.fuse", o->out, o->device, (unsigned long long)seed);
    FILE *f = fopen(path, "w");
    if (f) fwrite(text.data, 1, text.len, f);
    if (f) fclose(f);
    printf("FAILED: seed %llu, see %s\n%s\n", (unsigned long long)seed, path, text.data);
    fflush(stdout);
    fc_str_free(&text);
}

/* `first` is why it failed when it was one of many. */
static void shrink_and_keep(const options *o, uint64_t seed, fuzz_verdict v, bool apart,
                            const char *first) {
    rg r;
    fuzz_ways w;
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    fuzz_nvrtc_seed(seed, true);
    fuzz_make(seed, o->device, &r, &w);
    fuzz_shrink(&r, &w, v, apart, SHRINK);
    if (apart)
        fuzz_try_apart(&r, &w, &why);
    else if (!fuzz_try(&r, &w, &why))
        fuzz_flush(&why);
    if (!why.len) fc_str_printf(&why, "it does not fail when run again; the first time: %s", first);
    keep(o, &r, &w, seed, why.data);
    fuzz_nvrtc_seed(seed, false);
    fc_str_free(&why);
}

/* ---- a worker -------------------------------------------------------------------------------- */

static bool one(const options *o, uint64_t seed) {
    rg r;
    fuzz_ways w;
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    fuzz_make(seed, o->device, &r, &w);
    fuzz_nvrtc_seed(seed, false);
    fuzz_verdict v = fuzz_try(&r, &w, &why);
    if (v && !strcmp(o->device, "nvrtc")) seed = fuzz_nvrtc_culprit();
    if (v && o->first)
        printf("FAILED: seed %llu: %s\n", (unsigned long long)seed, why.data);
    else if (v == FUZZ_FAILED && !strcmp(o->device, "cuda"))
        _exit(3); /* a device that is lost fails whatever is tried next: see replace() */
    else if (v)
        shrink_and_keep(o, seed, v, false, why.data);
    fc_str_free(&why);
    return v == FUZZ_GOOD;
}

static void work(const options *o, slot *s, double end) {
    for (int n = 0; now() < end && !stopped && s->next < o->seed + o->count; n++) {
        s->beat = (int64_t)now();
        if (o->ahead > 1 && n % o->ahead == 0)
            fuzz_ahead(s->next, (uint64_t)o->jobs, o->ahead, o->device);
        if (!one(o, s->next)) {
            s->failures++;
            if (o->first) break;
        }
        s->done++;
        s->kernels = fuzz_nvrtc_kernels();
        s->next += (uint64_t)o->jobs;
    }
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    if (fuzz_flush(&why)) {
        s->failures++;
        shrink_and_keep(o, fuzz_nvrtc_culprit(), FUZZ_FAILED, false, why.data);
    }
    s->kernels = fuzz_nvrtc_kernels();
    fc_str_free(&why);
}

/* The parent opens no device: what a library left in it would not work in a child. */
static void start(const options *o, slot *s, double end) {
    s->beat = (int64_t)now();
    fflush(stdout);
    fc_rig_make_folder(s->folder);
    pid_t pid = fork();
    if (pid) { /* only the parent writes here: the slot is shared */
        s->pid = pid;
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    fc_rig_use_folder(s->folder);
    work(o, s, end);
    fflush(stdout);
    exit(0);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static void replace(const options *o, slot *s, int status, double end) {
    uint64_t seed = s->next;
    s->failures++;
    printf("FAILED: seed %llu ended its process by %s %d\n", (unsigned long long)seed,
           WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (!o->first) shrink_and_keep(o, seed, FUZZ_FAILED, true, "its process ended");
    s->next += (uint64_t)o->jobs;
    s->done++;
    s->pid = 0;
    if (now() < end && !stopped && !o->first) start(o, s, end);
}

static bool failures(const options *o) {
    for (int i = 0; i < o->jobs; i++)
        if (slots[i].failures) return true;
    return false;
}

static int watch(const options *o, double end) {
    int alive = o->jobs;
    while (alive) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno != EINTR) break;
        if (pid == 0) {
            struct timespec pause = {0, 50 * 1000 * 1000};
            nanosleep(&pause, NULL);
        }
        for (int i = 0; i < o->jobs; i++) {
            slot *s = &slots[i];
            if (!s->pid) continue;
            bool hangs = now() - (double)s->beat > HANG, over = o->first && failures(o);
            if (pid != s->pid) {
                if (stopped) kill(s->pid, SIGTERM);
                if (hangs || over) kill(s->pid, SIGKILL);
                continue;
            }
            bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            s->pid = 0;
            fc_rig_remove_folder(s->folder);
            if (!clean && !over) replace(o, s, status, end);
            if (!s->pid) alive--;
        }
    }
    return failures(o);
}

static bool is_device(const char *name) {
    static const char *const devices[] = {"cpu", "cuda", "interp", "nvrtc"};
    for (size_t i = 0; i < FC_COUNT(devices); i++)
        if (!strcmp(name, devices[i])) return true;
    return false;
}

static bool read_options(int argc, char **argv, options *o) {
    *o = (options){.out = ".", .seconds = 60, .count = UINT64_MAX / 2, .jobs = 1};
    o->seed = (uint64_t)time(NULL) * 1000003;
    if (argc < 2 || !is_device(argv[1])) return false;
    o->device = argv[1];
    o->ahead = strcmp(o->device, "cuda") ? 1 : 12;
    for (int i = 2; i < argc; i++) {
        const char *v = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--first")) {
            o->first = true;
            continue;
        }
        if (!strcmp(argv[i], "--seconds"))
            o->seconds = strtod(v, NULL);
        else if (!strcmp(argv[i], "--count"))
            o->count = strtoull(v, NULL, 10);
        else if (!strcmp(argv[i], "--jobs"))
            o->jobs = atoi(v);
        else if (!strcmp(argv[i], "--seed"))
            o->seed = strtoull(v, NULL, 10);
        else if (!strcmp(argv[i], "--ahead"))
            o->ahead = atoi(v);
        else if (!strcmp(argv[i], "--out"))
            o->out = v;
        else
            return false;
        i++;
    }
    return o->jobs > 0 && o->jobs <= MAX_JOBS;
}

int main(int argc, char **argv) {
    options o;
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: fusec_fuzz cpu|cuda|interp|nvrtc [--seconds S] [--count N] "
                        "[--jobs J] [--seed N] [--out DIR] [--first] [--ahead N]\n");
        return 2;
    }
    slots = mmap(NULL, MAX_JOBS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    if (slots == MAP_FAILED) return 2;
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    double begin = now(), end = begin + o.seconds;
    for (int i = 0; i < o.jobs; i++) {
        slots[i].next = o.seed + (uint64_t)i;
        start(&o, &slots[i], end);
    }
    int bad = watch(&o, end);
    uint64_t done = 0, failed = 0, kernels = 0;
    for (int i = 0; i < o.jobs; i++) {
        done += slots[i].done;
        failed += slots[i].failures;
        kernels += slots[i].kernels;
    }
    double s = now() - begin, hourly = 3600 * (double)done / s;
    printf("%s: %llu graphs from seed %llu, %llu failed, %.0f s, %.0f an hour, %.0f an hour and "
           "process",
           o.device, (unsigned long long)done, (unsigned long long)o.seed,
           (unsigned long long)failed, s, hourly, hourly / o.jobs);
    if (kernels) printf(", %llu kernels", (unsigned long long)kernels);
    printf("\n");
    return bad;
}
