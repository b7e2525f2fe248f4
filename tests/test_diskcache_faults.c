/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_diskcache_faults.c - the disk cache when the system is against it: every kind of system call
 * fails, the disk is full, clocks are wrong, entries are foreign, and sixteen processes write,
 * evict, remove the folder and are killed. Damage of single entries is in test_diskcache.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/diskcache.h"
#include "tests/support/test.h"

static const fc_alloc *const A = &fc_libc_alloc;
enum { KIND = 3, MOST = 6000 };

typedef enum outcome { MISS, HIT, WRONG } outcome;

static void make_dir(char dir[40]) {
    snprintf(dir, 40, "/tmp/fusec-disk-XXXXXX");
    FC_EXPECT_TRUE(mkdtemp(dir) != NULL);
}

static void remove_dir(const char *dir) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command) != 0) FC_FAIL("%s stays", dir);
}

static fc_diskcache *open_at(const char *dir, uint64_t limit) {
    fc_diskcache_dirs dirs = {.dir = dir};
    return fc_diskcache_open(A, &dirs, limit);
}

/* Entry n: its bytes follow from its number, so every reader can tell. */
static size_t entry(uint64_t n, uint8_t key[FC_CACHE_KEY], uint8_t data[MOST]) {
    size_t len = 1 + (size_t)(n * 977 % (MOST - 1));
    for (int i = 0; i < FC_CACHE_KEY; i++) key[i] = (uint8_t)(n * 131 + (uint64_t)i * 17);
    for (size_t i = 0; i < len; i++) data[i] = (uint8_t)(n + i * 7);
    return len;
}

static bool put(fc_diskcache *c, uint64_t n) {
    uint8_t key[FC_CACHE_KEY], data[MOST];
    size_t len = entry(n, key, data);
    return fc_diskcache_put(c, key, KIND, n % 2 ? "a label" : NULL, data, len);
}

static outcome get(fc_diskcache *c, uint64_t n) {
    uint8_t key[FC_CACHE_KEY], data[MOST];
    fc_bytes b = {NULL, 0};
    size_t len = entry(n, key, data);
    if (!fc_diskcache_get(c, key, KIND, &b)) return b.data ? WRONG : MISS;
    outcome o = b.len == len && memcmp(b.data, data, len) == 0 ? HIT : WRONG;
    fc_bytes_free(A, &b);
    return o;
}

static int temporaries(const char *dir) {
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) n += strncmp(e->d_name, ".tmp-", 5) == 0;
    if (d) closedir(d);
    return n;
}

static int status_of(pid_t child) {
    int status = -1;
    FC_EXPECT_EQ_I64(waitpid(child, &status, 0), child);
    return status;
}

/* ---- every kind of system call fails --------------------------------------------------------- */

/* From here on `call` gives the error `err` in this process. */
static bool deny(long call, int err) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)err),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = {sizeof f / sizeof f[0], f};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0;
}

typedef struct denial {
    const char *name;
    long call;
    int err;
    bool opens; /* the failing begins before the cache is opened */
} denial;

static const denial denials[] = {
    {"openat_emfile", SYS_openat, EMFILE, false},
    {"openat_enfile_at_start", SYS_openat, ENFILE, true},
    {"openat_eacces", SYS_openat, EACCES, false},
    {"write_enospc", SYS_write, ENOSPC, false},
    {"write_edquot", SYS_write, EDQUOT, false},
    {"write_eio", SYS_write, EIO, false},
    {"read_eio", SYS_read, EIO, false},
    {"pread_eio", SYS_pread64, EIO, false},
    {"fstat_eio", SYS_fstat, EIO, false},
    {"newfstatat_eio", SYS_newfstatat, EIO, false},
    {"close_eio", SYS_close, EIO, false},
    {"rename_eio", SYS_rename, EIO, false},
    {"renameat_exdev", SYS_renameat, EXDEV, false},
    {"unlinkat_eperm", SYS_unlinkat, EPERM, false},
    {"getdents_eio", SYS_getdents64, EIO, false},
    {"mkdir_erofs_at_start", SYS_mkdir, EROFS, true},
    {"flock_enolck", SYS_flock, ENOLCK, false},
    {"utimensat_eperm", SYS_utimensat, EPERM, false},
    {"lseek_eio", SYS_lseek, EIO, false},
};

static int denied_child(const denial *d, const char *dir) {
    if (d->opens && !deny(d->call, d->err)) return 77;
    fc_diskcache *c = open_at(dir, 20 << 10);
    if (!d->opens && !deny(d->call, d->err)) return 77;
    for (uint64_t n = 0; n < 40; n++) {
        if (get(c, n) == WRONG) return 1;
        (void)put(c, n);
        if (get(c, n) == WRONG) return 2;
    }
    fc_diskcache_stats st;
    fc_diskcache_stats_get(c, &st);
    fc_diskcache_clear(c, 0);
    fc_diskcache_close(c);
    return 0;
}

static void denied(void *arg) {
    const denial *d = arg;
    char dir[40];
    make_dir(dir);
    fc_diskcache *c = open_at(dir, 0);
    for (uint64_t n = 0; n < 5; n++) FC_EXPECT_TRUE(put(c, n));
    pid_t child = fork();
    if (child == 0) {
        alarm(100);
        _exit(denied_child(d, dir));
    }
    int status = status_of(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        fc_diskcache_close(c);
        remove_dir(dir);
        FC_SKIP("system calls can't be filtered here");
    }
    FC_EXPECT_EQ_I64(status, 0);
    /* nothing is left that could harm: the next process reads and writes */
    for (uint64_t n = 0; n < 40; n++) {
        FC_EXPECT_TRUE(get(c, n) != WRONG);
        FC_EXPECT_TRUE(put(c, n));
        FC_EXPECT_EQ_I64(get(c, n), HIT);
    }
    if (d->call != SYS_unlinkat && d->call != SYS_rename) FC_EXPECT_EQ_I64(temporaries(dir), 0);
    fc_diskcache_close(c);
    remove_dir(dir);
}

FC_REGISTER(denials) {
    for (size_t i = 0; i < FC_COUNT(denials); i++)
        FC_ADD_TEST("diskcache_denied", denials[i].name, denied, &denials[i]);
}

/* ---- a disk that is full --------------------------------------------------------------------- */

FC_TEST(diskcache_faults, a_full_disk) {
    char dir[40], at[60];
    int hits = 0;
    make_dir(dir);
    snprintf(at, sizeof at, "%s/small", dir);
    FC_ASSERT_TRUE(mkdir(at, 0700) == 0);
    if (mount("none", at, "tmpfs", 0, "size=64k,mode=700") != 0) {
        remove_dir(dir);
        FC_SKIP("no file system can be mounted here");
    }
    fc_diskcache *c = open_at(at, 0);
    for (uint64_t n = 0; n < 200; n++) (void)put(c, n);
    for (uint64_t n = 0; n < 200; n++) {
        outcome o = get(c, n);
        FC_EXPECT_TRUE(o != WRONG);
        hits += o == HIT;
    }
    FC_EXPECT_GT_I64(hits, 3);
    FC_EXPECT_EQ_I64(temporaries(at), 0);
    fc_diskcache_clear(c, 0);
    FC_EXPECT_TRUE(put(c, 1)); /* there is room again */
    fc_diskcache_close(c);
    FC_EXPECT_EQ_I64(umount(at), 0);
    remove_dir(dir);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* The one file of the folder that is an entry. */
static bool only_entry(const char *dir, char path[300]) {
    bool found = false;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (strlen(e->d_name) >= 60) {
            snprintf(path, 300, "%s/%s", dir, e->d_name);
            found = true;
        }
    if (d) closedir(d);
    return found;
}

static void set_time(const char *path, int64_t at) {
    struct timespec t[2] = {{at, 0}, {at, 0}};
    FC_EXPECT_EQ_I64(utimensat(AT_FDCWD, path, t, 0), 0);
}

/* Neither the past nor the future keeps an entry for ever or starves the others. */
FC_TEST(diskcache_faults, clock_skew) {
    const int64_t times[] = {0, 1, 1000000000, (int64_t)time(NULL) + 86400 * 365, INT32_MAX};
    char dir[40], path[300];
    for (size_t i = 0; i < FC_COUNT(times); i++) {
        make_dir(dir);
        fc_diskcache *c = open_at(dir, 30 << 10);
        FC_ASSERT_TRUE(put(c, 1000) && only_entry(dir, path));
        set_time(path, times[i]);
        FC_EXPECT_EQ_I64(get(c, 1000), HIT);
        set_time(path, times[i]);
        for (uint64_t n = 0; n < 60; n++) {
            FC_EXPECT_TRUE(put(c, n));
            FC_EXPECT_EQ_I64(get(c, n), HIT);
        }
        fc_diskcache_stats st;
        fc_diskcache_stats_get(c, &st);
        FC_EXPECT_TRUE(st.bytes <= (33 << 10));
        fc_diskcache_close(c);
        remove_dir(dir);
    }
}

/* ---- entries of others ----------------------------------------------------------------------- */

FC_TEST(diskcache_faults, entries_of_others) {
    char dir[40], path[300];
    make_dir(dir);
    fc_diskcache *c = open_at(dir, 0);
    FC_ASSERT_TRUE(put(c, 7) && only_entry(dir, path));
    if (geteuid() == 0) {
        FC_EXPECT_EQ_I64(chown(path, 65534, 65534), 0);
        FC_EXPECT_EQ_I64(get(c, 7), MISS);
        FC_EXPECT_TRUE(put(c, 7));
        FC_EXPECT_EQ_I64(get(c, 7), HIT);
        unlink(path);
        if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) == 0) { /* endless zeros */
            alarm(100);
            FC_EXPECT_EQ_I64(get(c, 7), MISS);
            alarm(0);
            unlink(path);
        }
        FC_EXPECT_TRUE(put(c, 7));
    }
    FC_EXPECT_EQ_I64(chmod(path, 0400), 0); /* ours, only not to be written: good enough */
    FC_EXPECT_EQ_I64(get(c, 7), HIT);
    fc_diskcache_close(c);
    /* the folder becomes another's while it is open, and is gone for the next */
    if (geteuid() == 0) {
        FC_EXPECT_EQ_I64(chown(dir, 65534, 65534), 0);
        c = open_at(dir, 0);
        FC_EXPECT_TRUE(fc_diskcache_why(c) != NULL);
        FC_EXPECT_EQ_I64(get(c, 7), MISS);
        fc_diskcache_close(c);
    }
    remove_dir(dir);
}

/* ---- sixteen processes ----------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *s) {
    *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
    return *s;
}

/* Reads and writes shared keys; number 0 evicts by a small limit, number 1 clears. */
static int worker(const char *dir, int id, double seconds) {
    struct timespec t, start;
    uint64_t seed = (uint64_t)id * 2654435761u + 88172645463325252u;
    fc_diskcache *c = open_at(dir, id == 0 ? 10 << 10 : 60 << 10);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0;; i++) {
        uint64_t n = next_random(&seed) % 24;
        outcome o = get(c, n);
        if (o == WRONG) return 1;
        if (o == MISS) (void)put(c, n);
        if (id == 1 && i % 64 == 0) fc_diskcache_clear(c, 0);
        if (i % 16) continue;
        clock_gettime(CLOCK_MONOTONIC, &t);
        if ((double)(t.tv_sec - start.tv_sec) + 1e-9 * (double)(t.tv_nsec - start.tv_nsec) >
            seconds)
            break;
    }
    fc_diskcache_close(c);
    return 0;
}

/* Others keep making files in it, so it may well stay. */
static void remove_under_way(const char *dir) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s' 2>/dev/null", dir);
    if (system(command) < 0) FC_FAIL("no shell");
}

/* All of them at once, one folder that somebody keeps removing, and kill -9 at any moment. */
FC_TEST(diskcache_faults, sixteen_processes_and_kill) {
    enum { N = 16, ROUNDS = 12 };
    const char *longer = getenv("FUSEC_CAMPAIGN_ROUNDS");
    const int rounds = longer ? atoi(longer) : ROUNDS;
    char dir[40];
    uint64_t seed = 4711;
    make_dir(dir);
    for (int round = 0; round < rounds; round++) {
        pid_t child[N];
        bool killed[N] = {false};
        for (int i = 0; i < N; i++) {
            child[i] = fork();
            if (child[i] == 0) {
                alarm(100);
                _exit(worker(dir, i, 0.15));
            }
        }
        for (int k = 0; k < N / 2; k++) {
            struct timespec t = {0, (long)(next_random(&seed) % 15000000)};
            nanosleep(&t, NULL);
            int i = (int)(next_random(&seed) % N);
            killed[i] = true;
            kill(child[i], SIGKILL);
            if (k == N / 4 && round % 4 == 3) remove_under_way(dir);
        }
        for (int i = 0; i < N; i++) {
            int status = status_of(child[i]);
            if (!killed[i]) FC_EXPECT_EQ_I64(status, 0);
        }
        fc_diskcache *c = open_at(dir, 0); /* the next process is right */
        for (uint64_t n = 0; n < 24; n++) {
            FC_EXPECT_TRUE(get(c, n) != WRONG);
            FC_EXPECT_TRUE(put(c, n));
            FC_EXPECT_EQ_I64(get(c, n), HIT);
        }
        fc_diskcache_close(c);
    }
    remove_dir(dir);
}
