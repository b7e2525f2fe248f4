/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cpuinfo.h - facts about this machine's processor, without any library: what the code generator
 * may use, and how the work is to be cut. A feature counts only when the operating system saves its
 * registers too. */
#ifndef FUSEC_RUNTIME_CPUINFO_H
#define FUSEC_RUNTIME_CPUINFO_H

#include "codegen/target.h"

typedef struct fc_cpuinfo {
    char name[64];      /* "AMD EPYC 9B14", or "x86-64" */
    char key[160];      /* raw identification of model and features, for cache keys */
    unsigned features;  /* FC_CPU_ bits (codegen/target.h) */
    int vector_bytes;   /* 64 with AVX-512 F, BW, DQ and VL; 32 with AVX2; else 16 */
    int cores;          /* that this process may use: affinity and cgroup limit, at least 1 */
    size_t l1d, l2, l3; /* bytes of one cache of each kind; a usual size when unknown */
    size_t cache;       /* of all of them, what `cores` may count on: a virtual machine of few cores
                           sees all of its host's l3, and that of a server is hardly near */
    bool far_cache;     /* such an l3: spread over the cores of a whole server */
} fc_cpuinfo;

void fc_cpuinfo_get(fc_cpuinfo *out);

/* The vectors of a level of x86-64 ("x86-64-v3"), and the FC_CPU_ bits that it is made of; false:
 * there is no such level. */
bool fc_cpu_level(const char *name, int *vector_bytes, unsigned *features);

/* Where the limits of control groups are read: the list of the process's groups, and the roots of
 * the hierarchies of both versions. */
typedef struct fc_cpu_files {
    const char *groups, *v2, *v1;
} fc_cpu_files;

/* CPUs that the limits there give the process time for, rounded up; at most `most`. */
int fc_cgroup_cpus(const fc_cpu_files *files, int most);

/* CPUs of the process's affinity mask, and not more than its control groups allow; at least 1. */
int fc_usable_cpus(void);

/* The first line of a file without its newline; "" when there is none. */
void fc_read_line(const char *path, char *out, size_t size);

/* "avx512 avx2 fma f16c", for people. */
void fc_cpuinfo_features(const fc_cpuinfo *c, fc_str *out);

#endif
