/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cpucount.c - how many CPUs the process may use: affinity masks of children, and files of
 * control groups as the kernel writes them. */
#include "runtime/cpuinfo.h"
#include "runtime/device.h"
#include "tests/support/test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 1000 }; /* more CPUs than any limit here */

typedef struct tree {
    char root[64], groups[128], v2[128], v1[128];
    fc_cpu_files files;
} tree;

static void tree_make(tree *t) {
    snprintf(t->root, sizeof t->root, "/tmp/fusec-cpus-XXXXXX");
    FC_ASSERT_TRUE(mkdtemp(t->root) != NULL);
    snprintf(t->groups, sizeof t->groups, "%s/groups", t->root);
    snprintf(t->v2, sizeof t->v2, "%s/two", t->root);
    snprintf(t->v1, sizeof t->v1, "%s/one", t->root);
    t->files = (fc_cpu_files){.groups = t->groups, .v2 = t->v2, .v1 = t->v1};
}

/* A file below the root; folders on the way are made. */
static void put(const tree *t, const char *name, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", t->root, name);
    for (char *at = path + strlen(t->root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = 0;
        mkdir(path, 0700);
    }
    FILE *f = fopen(path, "w");
    FC_ASSERT_TRUE(f != NULL);
    fputs(text, f);
    fclose(f);
}

static void tree_remove(const tree *t) {
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", t->root);
    FC_EXPECT_EQ_I64(system(command), 0);
}

static void expect(const char *groups, int cpus, tree *t) {
    put(t, "groups", groups);
    FC_EXPECT_EQ_I64(fc_cgroup_cpus(&t->files, MANY), cpus);
}

FC_TEST(cpucount, version_2) {
    tree t;
    tree_make(&t);
    expect("0::/\n", MANY, &t); /* no file */
    put(&t, "two/cpu.max", "max 100000\n");
    put(&t, "two/a/cpu.max", "300000 100000\n");
    put(&t, "two/a/b/cpu.max", "max 100000\n");
    put(&t, "two/a/c/cpu.max", "150000 100000\n");
    put(&t, "two/a/d/cpu.max", "50000 100000\n");
    put(&t, "two/odd/cpu.max", "400000\n");
    put(&t, "two/zero/cpu.max", "0 100000\n");
    put(&t, "two/big/cpu.max", "9000000000000 100000\n");
    expect("0::/\n", MANY, &t);
    expect("0::/a\n", 3, &t);
    expect("0::/a/b\n", 3, &t); /* the parent's */
    expect("0::/a/c\n", 2, &t); /* one and a half */
    expect("0::/a/d\n", 1, &t);
    expect("0::/a/not/there\n", 3, &t);
    expect("0::/odd\n", MANY, &t);
    expect("0::/zero\n", MANY, &t);
    expect("0::/big\n", MANY, &t);
    expect("nothing of the kind\n", MANY, &t);
    expect("", MANY, &t);
    FC_EXPECT_EQ_I64(fc_cgroup_cpus(&t.files, 1), 1);
    tree_remove(&t);
}

FC_TEST(cpucount, version_1) {
    tree t;
    tree_make(&t);
    put(&t, "one/cpu.cfs_quota_us", "-1\n");
    put(&t, "one/cpu.cfs_period_us", "100000\n");
    put(&t, "one/box/cpu.cfs_quota_us", "250000\n");
    put(&t, "one/box/cpu.cfs_period_us", "50000\n");
    put(&t, "one/box/in/cpu.cfs_quota_us", "-1\n");
    put(&t, "one/box/in/cpu.cfs_period_us", "100000\n");
    put(&t, "one/half/cpu.cfs_quota_us", "250000\n"); /* no period */
    put(&t, "two/box/cpu.max", "200000 100000\n");
    expect("4:cpu,cpuacct:/\n", MANY, &t);
    expect("4:cpu,cpuacct:/box\n", 5, &t);
    expect("4:cpuacct,cpu:/box/in\n", 5, &t);
    expect("3:cpu:/box\n", 5, &t);
    expect("3:cpuset:/box\n2:cpuacct:/box\n1:memory,cpuset:/box\n", MANY, &t);
    expect("4:cpu:/half\n", MANY, &t);
    expect("4:cpu:/box\n0::/box\n", 2, &t); /* both versions: the strictest */
    expect("0::/elsewhere\n4:cpu:/box\n", 5, &t);
    tree_remove(&t);
}

FC_TEST(cpucount, no_files) {
    const fc_cpu_files none = {.groups = "/not/there", .v2 = "/not/there", .v1 = "/not/there"};
    FC_EXPECT_EQ_I64(fc_cgroup_cpus(&none, 7), 7);
}

/* The exit status of a child that may use `n` of this process's CPUs: what it counts, and 100 more
 * when a device that is asked for no number of threads takes another one. */
static int counted_by_child(const cpu_set_t *all, int n) {
    int status = -1, left = n;
    const pid_t child = fork();
    if (child != 0) {
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    cpu_set_t few;
    CPU_ZERO(&few);
    for (int i = 0; i < CPU_SETSIZE && left > 0; i++)
        if (CPU_ISSET(i, all)) {
            CPU_SET(i, &few);
            left--;
        }
    if (sched_setaffinity(0, sizeof few, &few) != 0) _exit(99);
    const int cpus = fc_usable_cpus();
    fc_device *d = NULL;
    fc_error e = {0};
    if (fc_device_open_interp(&fc_libc_alloc, 0, &d, &e)) _exit(98);
    const int threads = d->machine.threads;
    fc_device_close(d);
    _exit(cpus + (threads == cpus ? 0 : 100));
}

FC_TEST(cpucount, follows_the_affinity_mask) {
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0) FC_SKIP("more CPUs than a mask of this size");
    const int have = fc_usable_cpus();
    for (int n = 1; n <= have && n <= 8; n++) FC_EXPECT_EQ_I64(counted_by_child(&all, n), n);
}
