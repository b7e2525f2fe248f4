/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* helper.c - starting, asking and ending the processes that compile: see helper.h. */
#include "runtime/compile/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SECONDS = 30, IDLE_MOST = 8, TALK = 400 };
#define BYTES ((uint64_t)8 << 30)

typedef struct worker {
    struct worker *next; /* in the list of those that wait for work */
    pid_t pid;
    int fd, talk;    /* questions and answers; what the process prints */
    char said[TALK]; /* the last of what it printed */
    size_t said_len;
} worker;

struct fc_helper {
    const fc_alloc *alloc;
    fc_helper_options o;
    pthread_mutex_t lock;
    worker *idle;
    int n_idle;
    pid_t owner; /* of the workers */
    uint64_t started;
};

fc_helper *fc_helper_new(const fc_alloc *alloc, const fc_helper_options *o) {
    fc_helper *h = fc_calloc(alloc, 1, sizeof *h);
    if (!h) return NULL;
    h->alloc = alloc;
    h->o = *o;
    if (h->o.seconds <= 0) h->o.seconds = SECONDS;
    if (!h->o.bytes) h->o.bytes = BYTES;
    h->owner = getpid();
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

/* ---- a process ------------------------------------------------------------------------------- */

static void close_fds(const worker *w) {
    if (w->fd >= 0) close(w->fd);
    if (w->talk >= 0) close(w->talk);
}

/* Waits for a process that has ended or is being ended. -1: somebody else took its status. */
static int reap(const worker *w) {
    int status = -1;
    while (waitpid(w->pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status;
}

static void end_worker(fc_helper *h, worker *w) {
    if (h->owner == getpid()) { /* else it is the parent's */
        kill(w->pid, SIGKILL);
        (void)reap(w);
    }
    close_fds(w);
    fc_free(h->alloc, w);
}

void fc_helper_free(fc_helper *h) {
    if (!h) return;
    while (h->idle) {
        worker *w = h->idle;
        h->idle = w->next;
        end_worker(h, w);
    }
    pthread_mutex_destroy(&h->lock);
    fc_free(h->alloc, h);
}

/* Above the standard descriptors and the one the child talks through, whatever the caller
 * closed. */
static bool lift(int fd[2]) {
    for (int i = 0; i < 2; i++) {
        int up = fd[i] > FC_HELPER_FD ? fd[i] : fcntl(fd[i], F_DUPFD_CLOEXEC, FC_HELPER_FD + 1);
        if (up < 0) return false;
        if (up != fd[i]) close(fd[i]);
        fd[i] = up;
    }
    return true;
}

static int spawn(const fc_helper *h, int fd, int talk, pid_t *pid) {
    char seconds[24], bytes[24];
    char *argv[] = {(char *)(uintptr_t)h->o.program, (char *)(uintptr_t)FC_HELPER_FLAG, seconds,
                    bytes, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    snprintf(seconds, sizeof seconds, "%d", h->o.seconds);
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)h->o.bytes);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setpgroup(&attr, 0);
    int r = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!r) r = posix_spawn_file_actions_adddup2(&files, talk, 1);
    if (!r) r = posix_spawn_file_actions_adddup2(&files, talk, 2);
    if (!r) r = posix_spawn_file_actions_adddup2(&files, fd, FC_HELPER_FD);
    if (!r) r = posix_spawn(pid, h->o.program, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return r;
}

static void close_pair(int fd[2]) {
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0) close(fd[i]);
}

/* Limits of the process or the machine are no faults of a compiler. */
static fusec_status cannot_start(int err) {
    switch (err) {
    case EMFILE:
    case ENFILE: return FUSEC_IO;
    case EAGAIN:
    case ENOMEM: return FUSEC_OUT_OF_MEMORY;
    default: return FUSEC_COMPILER;
    }
}

static fusec_status start_worker(fc_helper *h, worker **out, fc_error *e) {
    int pair[2] = {-1, -1}, talk[2] = {-1, -1}, err = 0;
    worker *w = fc_calloc(h->alloc, 1, sizeof *w);
    if (!w) return fc_oom(e);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
        pipe2(talk, O_CLOEXEC | O_NONBLOCK) != 0 || !lift(pair) || !lift(talk))
        err = errno;
    /* the caller's end must not block; the child's may */
    if (!err && fcntl(talk[1], F_SETFL, 0) != 0) err = errno;
    if (!err) err = spawn(h, pair[1], talk[1], &w->pid);
    if (err) {
        close_pair(pair);
        close_pair(talk);
        fc_free(h->alloc, w);
        return fc_fail(e, cannot_start(err), "the process that compiles can't be started: %s: %s",
                       h->o.program, strerror(err));
    }
    close(pair[1]);
    close(talk[1]);
    w->fd = pair[0];
    w->talk = talk[0];
    *out = w;
    return FUSEC_OK;
}

/* One that waits for work, or a new one. */
static fusec_status take_worker(fc_helper *h, worker **out, fc_error *e) {
    worker *foreign = NULL, *w;
    pthread_mutex_lock(&h->lock);
    if (h->owner != getpid()) { /* forked: the workers belong to the parent */
        foreign = h->idle;
        h->idle = NULL;
        h->n_idle = 0;
        h->owner = getpid();
    }
    w = h->idle;
    if (w) {
        h->idle = w->next;
        h->n_idle--;
    } else {
        h->started++;
    }
    pthread_mutex_unlock(&h->lock);
    while (foreign) {
        worker *next = foreign->next;
        close_fds(foreign);
        fc_free(h->alloc, foreign);
        foreign = next;
    }
    if (!w) return start_worker(h, out, e);
    *out = w;
    return FUSEC_OK;
}

static void give_back(fc_helper *h, worker *w) {
    bool keep = false;
    pthread_mutex_lock(&h->lock);
    if (h->n_idle < IDLE_MOST) {
        w->next = h->idle;
        h->idle = w;
        h->n_idle++;
        keep = true;
    }
    pthread_mutex_unlock(&h->lock);
    if (!keep) end_worker(h, w);
}

uint64_t fc_helper_started(const fc_helper *h) {
    return h->started;
}

/* ---- talking to it --------------------------------------------------------------------------- */

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads what the process prints, so that it does not wait for us; the end of it is kept. */
static void listen_to(worker *w) {
    char piece[4096];
    ssize_t n;
    while ((n = read(w->talk, piece, sizeof piece)) > 0) {
        const char *from = piece;
        size_t k = (size_t)n;
        if (k > TALK - 1) from += k - (TALK - 1), k = TALK - 1;
        if (w->said_len + k > TALK - 1) {
            size_t away = w->said_len + k - (TALK - 1);
            memmove(w->said, w->said + away, w->said_len - away);
            w->said_len -= away;
        }
        memcpy(w->said + w->said_len, from, k);
        w->said_len += k;
    }
}

typedef enum progress { DONE, ENDED, LATE } progress;

/* Sends or receives all of it before the deadline. */
static progress transfer(worker *w, bool sending, void *data, size_t n, int64_t deadline) {
    for (char *p = data; n;) {
        int64_t left = deadline - now_ms();
        if (left <= 0) return LATE;
        struct pollfd f[2] = {{w->fd, sending ? POLLOUT : POLLIN, 0}, {w->talk, POLLIN, 0}};
        int r = poll(f, w->talk >= 0 ? 2 : 1, left > 1000 ? 1000 : (int)left);
        if (r < 0 && errno != EINTR) return ENDED;
        if (r <= 0) continue;
        if (f[1].revents) {
            listen_to(w);
            if (f[1].revents & POLLHUP) { /* closed by the process: no more of it */
                close(w->talk);
                w->talk = -1;
            }
        }
        if (!f[0].revents) continue;
        ssize_t k = sending ? send(w->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT)
                            : recv(w->fd, p, n, MSG_DONTWAIT);
        if (k < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (k <= 0) return ENDED;
        p += k;
        n -= (size_t)k;
    }
    return DONE;
}

/* ---- what went wrong ------------------------------------------------------------------------- */

/* The line of what it printed that says the most: the first with a word for a fault, else
 * the last. */
static const char *telling_line(worker *w) {
    w->said[w->said_len] = 0;
    for (char *p = w->said; *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\n') *p = '?';
    char *last = NULL, *state = NULL;
    for (char *line = strtok_r(w->said, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        if (strstr(line, "ERROR") || strstr(line, "bad_alloc") || strstr(line, "ssertion"))
            return line;
        last = line;
    }
    return last ? last : "";
}

/* What ends compilers. (sigabbrev_np is newer than some C libraries that are in use.) */
static const char *name_of(int number) {
    static const struct {
        int number;
        const char *name;
    } known[] = {{SIGSEGV, "SEGV"}, {SIGABRT, "ABRT"}, {SIGKILL, "KILL"}, {SIGBUS, "BUS"},
                 {SIGFPE, "FPE"},   {SIGILL, "ILL"},   {SIGTRAP, "TRAP"}, {SIGSYS, "SYS"},
                 {SIGTERM, "TERM"}, {SIGINT, "INT"},   {SIGHUP, "HUP"},   {SIGQUIT, "QUIT"},
                 {SIGPIPE, "PIPE"}, {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}, {SIGALRM, "ALRM"}};
    for (size_t i = 0; i < FC_COUNT(known); i++)
        if (known[i].number == number) return known[i].name;
    return NULL;
}

static fusec_status died(fc_helper *h, worker *w, progress how, const char *what, fc_error *e) {
    char end[100];
    const char *signal_name = NULL;
    if (how == LATE) {
        kill(w->pid, SIGKILL);
        (void)reap(w);
        return fc_fail(e, FUSEC_COMPILER,
                       "%s took longer than %d s and was ended\n"
                       "  help: smaller kernels compile faster; materialize() splits one",
                       what, h->o.seconds);
    }
    kill(w->pid, SIGKILL); /* it may have closed its end and live on */
    int status = reap(w);
    if (w->talk >= 0) listen_to(w);
    const char *said = telling_line(w);
    if (strstr(said, "bad_alloc") || strstr(said, "out of memory"))
        return fc_fail(e, FUSEC_OUT_OF_MEMORY, "%s took more than the %.1f GiB it may have: %s",
                       what, (double)h->o.bytes / (1 << 30), said);
    if (status >= 0 && WIFSIGNALED(status)) signal_name = name_of(WTERMSIG(status));
    if (signal_name)
        snprintf(end, sizeof end, "by signal %d, SIG%s", WTERMSIG(status), signal_name);
    else if (status >= 0 && WIFEXITED(status))
        snprintf(end, sizeof end, "with status %d", WEXITSTATUS(status));
    else
        snprintf(end, sizeof end, "early");
    return fc_fail(e, FUSEC_COMPILER, "%s ended %s and gave no code%s%s", what, end,
                   *said ? "\n  it said: " : "", said);
}

/* ---- one text -------------------------------------------------------------------------------- */

typedef struct part {
    const char *text; /* NULL: left out */
    size_t len;       /* with its NUL */
} part;

static progress send_all(worker *w, fc_helper_request *r, const part parts[4], int64_t deadline) {
    progress p = transfer(w, true, r, sizeof *r, deadline);
    for (int i = 0; p == DONE && i < 4; i++)
        if (parts[i].text)
            p = transfer(w, true, (void *)(uintptr_t)parts[i].text, parts[i].len, deadline);
    return p;
}

/* ENDED also for an answer that can't be one. */
static progress receive(fc_helper *h, worker *w, fc_bytes *out, fusec_status *st, fc_error *e,
                        int64_t deadline) {
    fc_helper_reply r;
    char message[sizeof e->message];
    progress p = transfer(w, false, &r, sizeof r, deadline);
    if (p != DONE) return p;
    bool good = r.magic == FC_HELPER_MAGIC && r.status >= 0 && r.status < FC_STATUS_COUNT &&
                r.message < sizeof message && r.data <= FC_HELPER_MOST;
    if (!good) return ENDED;
    p = transfer(w, false, message, r.message, deadline);
    if (p != DONE) return p;
    message[r.message] = 0;
    uint8_t *data = fc_malloc(h->alloc, (size_t)r.data + 1);
    if (!data) {
        *st = fc_oom(e);
        return ENDED; /* the rest of the answer is not read: the process goes */
    }
    p = transfer(w, false, data, (size_t)r.data, deadline);
    data[r.data] = 0;
    if (p != DONE || r.status) {
        fc_free(h->alloc, data);
        if (p == DONE) *st = fc_fail(e, (fusec_status)r.status, "%s", message);
        return p;
    }
    out->data = data;
    out->len = (size_t)r.data;
    return DONE;
}

static fusec_status ask(fc_helper *h, fc_helper_request *r, const part parts[4], const char *what,
                        fc_bytes *out, fc_error *e) {
    worker *w = NULL;
    fusec_status st = FUSEC_OK;
    r->magic = FC_HELPER_MAGIC;
    FC_TRY(take_worker(h, &w, e));
    int64_t deadline = now_ms() + (int64_t)h->o.seconds * 1000;
    w->said_len = 0;
    progress p = send_all(w, r, parts, deadline);
    if (p == DONE) p = receive(h, w, out, &st, e, deadline);
    if (p == DONE) {
        give_back(h, w);
        return st;
    }
    if (st) { /* out of memory here: no fault of the process */
        end_worker(h, w);
        return st;
    }
    st = died(h, w, p, what, e);
    close_fds(w);
    fc_free(h->alloc, w);
    return st;
}

static part text_part(const char *s) {
    return (part){s, s ? strlen(s) + 1 : 0};
}

fusec_status fc_helper_llvm(fc_helper *h, const char *ir, size_t len, const char *name,
                            const fc_llvm_options *o, fc_bytes *out, fc_error *e) {
    part parts[4] = {text_part(o->cpu), text_part(o->features), text_part(name), {ir, len + 1}};
    fc_helper_request r = {.compiler = FC_HELPER_LLVM,
                           .kind = (int32_t)o->passes,
                           .level = o->level,
                           .flag = o->assembly,
                           .target = (uint32_t)parts[0].len,
                           .features = (uint32_t)parts[1].len,
                           .name = (uint32_t)parts[2].len,
                           .text = parts[3].len};
    return ask(h, &r, parts, "LLVM", out, e);
}

fusec_status fc_helper_nvrtc(fc_helper *h, const char *source, const char *name,
                             const fc_nvrtc_options *o, fc_bytes *out, fc_error *e) {
    if (o->n_extra) return fc_fail(e, FUSEC_INTERNAL, "more options than a helper takes");
    part parts[4] = {text_part(o->arch), {NULL, 0}, text_part(name), text_part(source)};
    fc_helper_request r = {.compiler = FC_HELPER_NVRTC,
                           .kind = (int32_t)o->kind,
                           .flag = o->fmad,
                           .target = (uint32_t)parts[0].len,
                           .name = (uint32_t)parts[2].len,
                           .text = parts[3].len};
    return ask(h, &r, parts, "NVRTC", out, e);
}
