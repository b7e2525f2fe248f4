/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* helper_serve.c - the process that compiles for another one: see helper.h.
 *
 * It limits itself before it loads a compiler. What the compilers print goes to the descriptors 1
 * and 2, which the caller listens to; the answers go through a descriptor of their own. */
#include "runtime/compile/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const fc_alloc *const heap = &fc_libc_alloc;

/* Sanitizers reserve terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_MEMORY false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMIT_MEMORY false
#endif
#endif
#ifndef LIMIT_MEMORY
#define LIMIT_MEMORY true
#endif

typedef struct server {
    fc_llvm *llvm;
    fc_nvrtc *nvrtc;
    unsigned seconds;
} server;

static bool get(void *to, size_t n) {
    for (char *p = to; n;) {
        ssize_t k = read(FC_HELPER_FD, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static bool put(const void *from, size_t n) {
    for (const char *p = from; n;) {
        ssize_t k = send(FC_HELPER_FD, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

typedef struct job {
    fc_helper_request r;
    char *target, *features, *name, *text;
} job;

static bool get_text(char **to, uint64_t len) {
    *to = NULL;
    if (!len) return true;
    if (len > FC_HELPER_MOST || !(*to = fc_malloc(heap, len))) return false;
    return get(*to, len) && (*to)[len - 1] == 0;
}

static void drop(job *j) {
    fc_free(heap, j->target);
    fc_free(heap, j->features);
    fc_free(heap, j->name);
    fc_free(heap, j->text);
    memset(j, 0, sizeof *j);
}

static fusec_status compile(server *s, const job *j, fc_bytes *out, fc_error *e) {
    const fc_helper_request *r = &j->r;
    const char *name = j->name ? j->name : "";
    if (!j->text) return fc_fail(e, FUSEC_INTERNAL, "a compiler was given no text");
    if (r->compiler == FC_HELPER_LLVM) {
        if (!s->llvm) FC_TRY(fc_llvm_open(heap, &s->llvm, e));
        fc_llvm_options o = {.cpu = j->target,
                             .features = j->features,
                             .passes = (fc_llvm_passes)r->kind,
                             .level = r->level,
                             .assembly = r->flag != 0};
        return fc_llvm_compile(s->llvm, j->text, (size_t)r->text - 1, name, &o, out, e);
    }
    if (!s->nvrtc) FC_TRY(fc_nvrtc_open(heap, &s->nvrtc, e));
    fc_nvrtc_options o = {
        .arch = j->target ? j->target : "", .kind = (fc_nvrtc_kind)r->kind, .fmad = r->flag != 0};
    return fc_nvrtc_compile(s->nvrtc, j->text, name, &o, out, e);
}

static bool answer(server *s) {
    job j = {0};
    fc_bytes out = {0};
    fc_error e = {0};
    if (!get(&j.r, sizeof j.r) || j.r.magic != FC_HELPER_MAGIC) return false;
    bool good = get_text(&j.target, j.r.target) && get_text(&j.features, j.r.features) &&
                get_text(&j.name, j.r.name) && get_text(&j.text, j.r.text);
    if (good) {
        alarm(s->seconds + 5); /* the caller ends us before; this is for when it is gone */
        fusec_status st = compile(s, &j, &out, &e);
        alarm(0);
        size_t n = st ? strlen(e.message) : 0;
        fc_helper_reply reply = {.magic = FC_HELPER_MAGIC,
                                 .status = (int32_t)st,
                                 .message = (uint32_t)n,
                                 .data = st ? 0 : out.len};
        good = put(&reply, sizeof reply) && put(e.message, n) && put(out.data, reply.data);
    }
    fc_bytes_free(heap, &out);
    drop(&j);
    return good;
}

static void limit(int what, rlim_t value) {
    struct rlimit r;
    if (getrlimit(what, &r) != 0) return;
    if (r.rlim_max != RLIM_INFINITY && value > r.rlim_max) value = r.rlim_max;
    r.rlim_cur = value;
    setrlimit(what, &r);
}

int fc_helper_serve(int argc, char **argv) {
    server s = {.seconds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0};
    uint64_t bytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(FC_HELPER_FD, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return 2; /* by hand */
#ifdef SYS_close_range
    syscall(SYS_close_range, FC_HELPER_FD + 1, ~0u, 0); /* what the caller forgot to mark */
#endif
    fcntl(FC_HELPER_FD, F_SETFD, FD_CLOEXEC);
    limit(RLIMIT_CORE, 0);
    if (LIMIT_MEMORY && bytes) limit(RLIMIT_AS, (rlim_t)bytes);
    while (answer(&s)) {
    }
    return 0;
}
