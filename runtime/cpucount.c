/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cpucount.c - how many CPUs this process may use: those of its affinity mask, and no more than the
 * limits of its control groups (both versions) give it time for. Where a file is missing or says
 * what is not understood, there is no limit. */
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/cpuinfo.h"

static int by_affinity(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (int n = 1024; n <= 1024 * 1024; n *= 4) { /* the mask must cover every possible CPU */
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        if (!set) break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)n);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) return count;
    }
    return online > 0 && online < 1 << 16 ? (int)online : 1;
}

/* CPUs of a limit of `quota` per `period`, rounded up; INT_MAX-like when there is no limit. */
static int cpus_of(const char *quota, const char *period, int none) {
    long long q = atoll(quota), p = atoll(period);
    if (!isdigit((unsigned char)quota[0]) || q <= 0 || p <= 0) return none;
    long long n = (q + p - 1) / p;
    return n < none ? (int)n : none;
}

static int limit_v2(const char *dir, int none) {
    char path[700], line[100], *period;
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    fc_read_line(path, line, sizeof line);
    period = strchr(line, ' ');
    if (!period) return none;
    *period++ = 0;
    return cpus_of(line, period, none);
}

static int limit_v1(const char *dir, int none) {
    char path[700], quota[40], period[40];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    fc_read_line(path, quota, sizeof quota);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    fc_read_line(path, period, sizeof period);
    return cpus_of(quota, period, none);
}

/* The strictest limit from the process's group up to the root of the hierarchy. Inside a container
 * the path may name a directory that is not visible; the walk then starts to count where one is. */
static int walk_up(const char *root, const char *group, int (*limit)(const char *, int), int none) {
    char dir[600];
    int least = none;
    snprintf(dir, sizeof dir, "%s%s", root, strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        int n = limit(dir, none);
        if (n < least) least = n;
        if (strlen(dir) <= strlen(root)) return least;
        *strrchr(dir, '/') = 0;
    }
}

/* Whether a list like "cpu,cpuacct" has "cpu" in it. */
static bool has_cpu(const char *list) {
    for (const char *at = list;; at++) {
        const size_t n = strcspn(at, ",");
        if (n == 3 && memcmp(at, "cpu", 3) == 0) return true;
        at += n;
        if (*at == 0) return false;
    }
}

int fc_cgroup_cpus(const fc_cpu_files *files, int none) {
    int least = none;
    char line[512];
    FILE *f = fopen(files->groups, "re");
    if (!f) return none;
    while (fgets(line, sizeof line, f)) { /* "0::/a/b" or "4:cpu,cpuacct:/a/b" */
        line[strcspn(line, "\n")] = 0;
        char *kinds = strchr(line, ':'), *group = kinds ? strchr(kinds + 1, ':') : NULL;
        if (!group || group[1] != '/') continue;
        *group++ = 0;
        int n = none;
        if (kinds[1] == 0)
            n = walk_up(files->v2, group, limit_v2, none);
        else if (has_cpu(kinds + 1))
            n = walk_up(files->v1, group, limit_v1, none);
        if (n < least) least = n;
    }
    fclose(f);
    return least;
}

int fc_usable_cpus(void) {
    const fc_cpu_files files = {
        .groups = "/proc/self/cgroup", .v2 = "/sys/fs/cgroup", .v1 = "/sys/fs/cgroup/cpu"};
    const int n = fc_cgroup_cpus(&files, by_affinity());
    return n < 1 ? 1 : n;
}
