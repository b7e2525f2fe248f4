/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cpuinfo.c - see cpuinfo.h. What the processor is, is read once in a process; how many CPUs it may
 * use, at each call. */
#include "runtime/cpuinfo.h"

#include "runtime/cpu_bits.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* ---- features ------------------------------------------------------------------------------ */

#if defined(__x86_64__)

static void brand(fc_cpuinfo *c) {
    unsigned r[12];
    if (!__get_cpuid(0x80000002u, &r[0], &r[1], &r[2], &r[3]) ||
        !__get_cpuid(0x80000003u, &r[4], &r[5], &r[6], &r[7]) ||
        !__get_cpuid(0x80000004u, &r[8], &r[9], &r[10], &r[11])) {
        snprintf(c->name, sizeof c->name, "x86-64");
        return;
    }
    char text[sizeof r + 1];
    memcpy(text, r, sizeof r);
    text[sizeof r] = 0;
    char *s = text;
    while (*s == ' ') s++;
    snprintf(c->name, sizeof c->name, "%s", s);
    for (size_t n = strlen(c->name); n > 0 && c->name[n - 1] == ' '; n--) c->name[n - 1] = 0;
}

static void detect(fc_cpuinfo *c) {
    unsigned id = 0, ebx = 0, ecx = 0, edx = 0, b7 = 0, c7 = 0, d7 = 0, a7 = 0, a71 = 0, x = 0;
    brand(c);
    __get_cpuid(1, &id, &ebx, &ecx, &edx);
    __get_cpuid_count(7, 0, &a7, &b7, &c7, &d7);
    if (a7 >= 1) __get_cpuid_count(7, 1, &a71, &x, &x, &x);
    const uint64_t saved = fc_cpu_saved_registers();
    c->features = fc_cpu_bits();
    const unsigned full = FC_CPU_AVX512F | FC_CPU_AVX512BW | FC_CPU_AVX512DQ | FC_CPU_AVX512VL;
    c->vector_bytes = (c->features & full) == full ? 64 : c->features & FC_CPU_AVX2 ? 32 : 16;
    snprintf(c->key, sizeof c->key, "x86-64 %08x %08x %08x %08x %08x %08x %08x %llx %.40s", id, ecx,
             edx, b7, c7, d7, a71, (unsigned long long)saved, c->name);
}

#else

void fc_read_line(const char *path, char *out, size_t size);

/* No identification can be trusted to exist here: the model line of /proc/cpuinfo names it well
 * enough. */
static void detect(fc_cpuinfo *c) {
#if defined(__aarch64__)
    c->features = fc_cpu_bits();
    snprintf(c->name, sizeof c->name, "aarch64");
#else
    snprintf(c->name, sizeof c->name, "unknown");
#endif
    c->vector_bytes = 16;
    char midr[40];
    fc_read_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", midr, sizeof midr);
    snprintf(c->key, sizeof c->key, "%s %s", c->name, midr);
}

#endif

bool fc_cpu_level(const char *name, int *vector_bytes, unsigned *features) {
    enum {
        V2 = FC_CPU_SSE42,
        V3 = V2 | FC_CPU_AVX | FC_CPU_AVX2 | FC_CPU_FMA | FC_CPU_F16C | FC_CPU_BMI2,
        V4 = V3 | FC_CPU_AVX512F | FC_CPU_AVX512BW | FC_CPU_AVX512DQ | FC_CPU_AVX512VL
    };
    static const struct {
        const char *name;
        int vector_bytes;
        unsigned features;
    } levels[] = {
        {"x86-64", 16, 0}, {"x86-64-v2", 16, V2}, {"x86-64-v3", 32, V3}, {"x86-64-v4", 64, V4}};
    for (size_t i = 0; i < FC_COUNT(levels); i++) {
        if (strcmp(levels[i].name, name) != 0) continue;
        *vector_bytes = levels[i].vector_bytes;
        *features = levels[i].features;
        return true;
    }
    return false;
}

void fc_cpuinfo_features(const fc_cpuinfo *c, fc_str *out) {
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {
        {FC_CPU_AVX512F, "avx512f"},   {FC_CPU_AVX512BW, "avx512bw"}, {FC_CPU_AVX512DQ, "avx512dq"},
        {FC_CPU_AVX512VL, "avx512vl"}, {FC_CPU_AVX2, "avx2"},         {FC_CPU_FMA, "fma"},
        {FC_CPU_F16C, "f16c"},         {FC_CPU_BMI2, "bmi2"},         {FC_CPU_AVX, "avx"},
        {FC_CPU_SSE42, "sse4.2"},      {FC_CPU_NEON, "neon"}};
    const char *gap = "";
    for (size_t i = 0; i < FC_COUNT(names); i++) {
        if (!(c->features & names[i].bit)) continue;
        fc_str_printf(out, "%s%s", gap, names[i].name);
        gap = " ";
    }
}

/* ---- files of the kernel ------------------------------------------------------------------- */

/* The first line without its newline; "" when there is none. */
void fc_read_line(const char *path, char *out, size_t size) {
    out[0] = 0;
    FILE *f = fopen(path, "re");
    if (!f) return;
    if (!fgets(out, (int)size, f)) out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    fclose(f);
}

/* ---- caches -------------------------------------------------------------------------------- */

static void caches(fc_cpuinfo *c) {
    for (int i = 0; i < 8; i++) {
        char path[100], level[20], type[20], size[40];
        const char *base = "/sys/devices/system/cpu/cpu0/cache/index";
        snprintf(path, sizeof path, "%s%d/level", base, i);
        fc_read_line(path, level, sizeof level);
        snprintf(path, sizeof path, "%s%d/type", base, i);
        fc_read_line(path, type, sizeof type);
        snprintf(path, sizeof path, "%s%d/size", base, i);
        fc_read_line(path, size, sizeof size);
        size_t bytes = (size_t)strtoull(size, NULL, 10);
        if (strchr(size, 'K')) bytes <<= 10;
        if (strchr(size, 'M')) bytes <<= 20;
        if (level[0] == '1' && strcmp(type, "Data") == 0) c->l1d = bytes;
        if (level[0] == '2') c->l2 = bytes;
        if (level[0] == '3') c->l3 = bytes;
    }
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    size_t *const to[] = {&c->l1d, &c->l2, &c->l3};
    for (int i = 0; i < 3; i++) {
        long n = *to[i] ? 0 : sysconf(names[i]);
        if (n > 0) *to[i] = (size_t)n;
    }
#endif
    if (!c->l1d) c->l1d = (size_t)32 << 10;
    if (!c->l2) c->l2 = (size_t)512 << 10;
    if (!c->l3) c->l3 = (size_t)8 << 20;
}

/* As much as processors have of it for each core. Who may use few cores of many has others beside
 * him in the cache, and finds a third of it for himself: on such a machine of 32 MiB arrays of 12
 * MiB in all that are used over and over come from memory as often as from there. */
#define CACHE_OF_CORE ((size_t)4 << 20)
#define LEAST_PART    3
/* A larger one is spread over the cores of a whole server: what comes from the parts of others
 * comes hardly faster than from memory, and a store that reads the line first costs as much. */
#define CACHE_OF_SERVER ((size_t)128 << 20)

/* Of the second-level caches of a server half, as the arrays are not alone there. */
static size_t counted_on(const fc_cpuinfo *c) {
    const size_t n = (size_t)c->cores, last = c->l3 > c->l2 ? c->l3 : c->l2;
    if (c->far_cache) return n * c->l2 / 2;
    const size_t own = n * CACHE_OF_CORE, least = last / LEAST_PART;
    return last < own ? last : own < least ? least : own;
}

/* What does not change while the process runs. */
static struct {
    pthread_once_t once;
    fc_cpuinfo info;
} found = {.once = PTHREAD_ONCE_INIT};

static void find(void) {
    detect(&found.info);
    caches(&found.info);
}

void fc_cpuinfo_get(fc_cpuinfo *out) {
    pthread_once(&found.once, find);
    *out = found.info;
    out->cores = fc_usable_cpus();
    out->far_cache = out->l3 > CACHE_OF_SERVER;
    out->cache = counted_on(out);
}
