/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_fibers.c - see cuda_fibers.h. */
#undef _FORTIFY_SOURCE /* its longjmp takes a change of stacks for an error */
#include "tests/support/cuda_fibers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK = 128 << 10, WARP = 32, MOST_THREADS = 1024, MOST_WARPS = MOST_THREADS / WARP };
enum { GROUPS = 16 };

typedef enum state { READY, AT_BLOCK, AT_WARP, AT_GROUP, DONE } state;

typedef struct fiber {
    jmp_buf at;
    bool begun;
    unsigned char now;  /* a state */
    unsigned char turn; /* which of the two exchange buffers the next shuffle uses */
    int group;          /* AT_GROUP: the barrier's number */
    fc_thread where;
} fiber;

/* A block at a time. Machines that are not in use keep their fibers, who wait for their next block;
 * any thread of the host may let them go on. */
typedef struct machine {
    fiber *fibers, *current;
    char *stacks;     /* pages that are never touched cost nothing */
    unsigned size, n; /* fibers; threads of the block */
    unsigned char ready[MOST_WARPS], at_warp[MOST_WARPS]; /* how many of a warp */
    unsigned at_block, done;
    int at_group[GROUPS], members[GROUPS];
    uint64_t exchange[MOST_WARPS][2][WARP];
    unsigned pauses;
    uint32_t chance;
    jmp_buf home;
    const fc_fiber_kernel *kernel;
    const void *params;
    fc_cluster_blocks *cluster;
    struct machine *next;
} machine;

/* That of this thread of the host, for calls from kernels. */
static __attribute__((tls_model("initial-exec"))) _Thread_local machine *mine;

/* ---- what kernels call ----------------------------------------------------------------------- */

static unsigned number(const machine *m) {
    return (unsigned)(m->current - m->fibers);
}

static void stop(machine *m, state s) {
    fiber *f = m->current;
    f->now = (unsigned char)s;
    if (s != READY) m->ready[number(m) / WARP]--;
    if (_setjmp(f->at) == 0) _longjmp(m->home, 1);
}

static const fc_thread *self(void) {
    return &mine->current->where;
}
static fc_cluster_blocks *cluster_of_block(void) {
    return mine->cluster;
}
/* Threads of this block go on and, when many of them have nothing to do, those of others. */
static void pause_thread(void) {
    if (++mine->pauses % 256 == 0) sched_yield();
    stop(mine, READY);
}
static void wait_block(void) {
    mine->at_block++;
    stop(mine, AT_BLOCK);
}
static void wait_warp(void) {
    mine->at_warp[number(mine) / WARP]++;
    stop(mine, AT_WARP);
}
static void wait_group(int group, int members) {
    mine->current->group = group %= GROUPS;
    mine->at_group[group]++;
    mine->members[group] = members;
    stop(mine, AT_GROUP);
}
static uint64_t exchange(uint64_t v, unsigned lane) {
    const unsigned t = number(mine), buffer = mine->current->turn++ & 1;
    uint64_t *slots = mine->exchange[t / WARP][buffer];
    slots[t % WARP] = v;
    wait_warp();
    return slots[lane % WARP];
}

static const fc_fibers calls = {self,      cluster_of_block, pause_thread, wait_block,
                                wait_warp, wait_group,       exchange};

/* ---- a block --------------------------------------------------------------------------------- */

/* The life of a fiber: one block after the other. */
static void live(void) {
    machine *m = mine;
    for (;;) {
        m->kernel->run(m->params);
        m->done++;
        stop(m, DONE);
    }
}

static void begin(machine *m, unsigned t) {
    ucontext_t c;
    m->fibers[t].begun = true;
    getcontext(&c);
    c.uc_stack.ss_sp = m->stacks + (size_t)t * STACK;
    c.uc_stack.ss_size = STACK;
    c.uc_link = NULL;
    makecontext(&c, live, 0);
    setcontext(&c);
}

static void resume(machine *m, unsigned t) {
    m->current = &m->fibers[t];
    if (_setjmp(m->home) != 0) return;
    if (m->current->begun) _longjmp(m->current->at, 1);
    begin(m, t);
}

static unsigned lanes(const machine *m, unsigned warp) {
    return m->n - warp * WARP < WARP ? m->n - warp * WARP : WARP;
}

static void set_ready(machine *m, unsigned t) {
    m->fibers[t].now = READY;
    m->ready[t / WARP]++;
}

/* Lets those go on whom nobody has to be waited for any more. */
static void release(machine *m) {
    for (unsigned w = 0; w * WARP < m->n; w++) {
        if (m->at_warp[w] < lanes(m, w)) continue;
        for (unsigned i = 0; i < lanes(m, w); i++) set_ready(m, w * WARP + i);
        m->at_warp[w] = 0;
    }
    for (int g = 0; g < GROUPS; g++) {
        if (!m->at_group[g] || m->at_group[g] < m->members[g]) continue;
        for (unsigned t = 0; t < m->n; t++)
            if (m->fibers[t].now == AT_GROUP && m->fibers[t].group == g) set_ready(m, t);
        m->at_group[g] = 0;
    }
    if (!m->at_block || m->at_block + m->done < m->n) return;
    for (unsigned t = 0; t < m->n; t++)
        if (m->fibers[t].now == AT_BLOCK) set_ready(m, t);
    m->at_block = 0;
}

/* A bit for each warp: whether it goes on now. Warps that depend on their order without a barrier
 * give wrong results here sooner or later. */
static uint32_t toss(machine *m) {
    uint32_t s = m->chance;
    s ^= s << 13, s ^= s >> 17, s ^= s << 5;
    return m->chance = s;
}

static void reset(machine *m, const fc_thread *of) {
    m->at_block = m->done = 0;
    memset(m->at_group, 0, sizeof m->at_group);
    memset(m->at_warp, 0, sizeof m->at_warp);
    memset(m->ready, 0, sizeof m->ready);
    for (unsigned t = 0; t < m->n; t++) {
        fiber *f = &m->fibers[t];
        if (f->now != DONE) f->begun = false; /* a block before this one did not end */
        f->where = *of;
        f->where.thread = (fc_index){t % of->threads.x, t / of->threads.x % of->threads.y,
                                     t / of->threads.x / of->threads.y};
        f->turn = 0;
        set_ready(m, t);
    }
}

static bool run_block(machine *m, const fc_thread *of) {
    bool any;
    reset(m, of);
    do {
        const uint32_t coins = toss(m);
        for (unsigned w = 0; w * WARP < m->n; w++) {
            if (!m->ready[w] || (m->n > WARP && !(coins >> w & 1))) continue;
            for (unsigned i = 0; i < lanes(m, w); i++)
                if (m->fibers[w * WARP + i].now == READY) resume(m, w * WARP + i);
        }
        release(m);
        any = false;
        for (unsigned w = 0; w * WARP < m->n; w++) any |= m->ready[w] != 0;
    } while (any);
    return m->done == m->n;
}

/* ---- machines -------------------------------------------------------------------------------- */

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static machine *idle;

static bool grow(machine *m, unsigned n) {
    m->n = n;
    if (n <= m->size) return true;
    if (m->stacks) munmap(m->stacks, (size_t)m->size * STACK);
    free(m->fibers);
    m->size = 0;
    m->fibers = calloc(n, sizeof *m->fibers);
    m->stacks = mmap(NULL, (size_t)n * STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->stacks == MAP_FAILED) m->stacks = NULL;
    if (!m->fibers || !m->stacks) return false;
    m->size = n;
    return true;
}

static void give_back(machine *m) {
    mine = NULL;
    pthread_mutex_lock(&idle_lock);
    m->next = idle;
    idle = m;
    pthread_mutex_unlock(&idle_lock);
}

static machine *take(const fc_fiber_kernel *k, const void *params, unsigned n) {
    pthread_mutex_lock(&idle_lock);
    machine *m = idle;
    if (m) idle = m->next;
    pthread_mutex_unlock(&idle_lock);
    if (!m) m = calloc(1, sizeof *m);
    if (!m || !grow(m, n)) abort(); /* blocks that wait for this one would do so for ever */
    if (!m->chance) m->chance = 1;
    m->kernel = k;
    m->params = params;
    m->cluster = NULL;
    return mine = m;
}

__attribute__((destructor)) static void free_idle(void) {
    while (idle) {
        machine *m = idle;
        idle = m->next;
        if (m->stacks) munmap(m->stacks, (size_t)m->size * STACK);
        free(m->fibers);
        free(m);
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

typedef struct launch {
    const fc_fiber_kernel *kernel;
    const void *params;
    fc_thread of;
    unsigned threads; /* of a block */
} launch;

typedef struct one_block {
    const launch *l;
    fc_cluster_blocks *cluster;
    unsigned x, of_cluster;
    pthread_t thread;
    bool good;
} one_block;

static void *run_alone(void *arg) {
    one_block *b = arg;
    machine *m = take(b->l->kernel, b->l->params, b->l->threads);
    fc_thread of = b->l->of;
    of.block = (fc_index){b->x, 0, 0};
    if ((m->cluster = b->cluster)) b->cluster->place[b->of_cluster] = b->l->kernel->place();
    b->good = run_block(m, &of);
    give_back(m);
    return NULL;
}

/* Blocks first, ... (along x) at once. */
static bool run_together(const launch *l, unsigned first, unsigned n, fc_cluster_blocks *cluster) {
    one_block *all = calloc(n, sizeof *all);
    unsigned started = 0;
    bool good = all != NULL;
    for (; good && started < n; started++) {
        one_block *b = &all[started];
        *b = (one_block){.l = l, .cluster = cluster, .x = first + started, .of_cluster = started};
        if (pthread_create(&b->thread, NULL, run_alone, b) != 0) abort();
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(all[i].thread, NULL);
        good = good && all[i].good;
    }
    free(all);
    return good;
}

static bool run_clusters(const launch *l, unsigned blocks, unsigned n) {
    bool good = blocks % n == 0 && n <= FC_MOST_OF_CLUSTER;
    for (unsigned x = 0; good && x < blocks; x += n) {
        fc_cluster_blocks c = {.threads = n * l->threads};
        good = run_together(l, x, n, &c);
    }
    return good;
}

static bool run_in_turn(const launch *l) {
    machine *m = take(l->kernel, l->params, l->threads);
    fc_thread of = l->of;
    bool good = true;
    for (of.block.z = 0; of.block.z < of.grid.z; of.block.z++)
        for (of.block.y = 0; of.block.y < of.grid.y; of.block.y++)
            for (of.block.x = 0; of.block.x < of.grid.x; of.block.x++)
                good = good && run_block(m, &of);
    give_back(m);
    return good;
}

bool fc_fibers_launch(const fc_fiber_kernel *k, const void *params, const unsigned g[3],
                      const unsigned b[3], bool together) {
    const launch l = {.kernel = k,
                      .params = params,
                      .of = {.grid = {g[0], g[1], g[2]}, .threads = {b[0], b[1], b[2]}},
                      .threads = b[0] * b[1] * b[2]};
    if (l.threads > MOST_THREADS) return false;
    if (together) return run_together(&l, 0, g[0], NULL);
    if (k->cluster()) return run_clusters(&l, g[0], k->cluster());
    return run_in_turn(&l);
}

/* ---- libraries ------------------------------------------------------------------------------- */

void *fc_fibers_load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const fc_fibers **to = library ? dlsym(library, "fc_emu") : NULL;
    if (!to) return NULL;
    *to = &calls;
    return library;
}

const fc_fiber_kernel *fc_fibers_kernel(void *library, const char *name) {
    return dlsym(library, name);
}
