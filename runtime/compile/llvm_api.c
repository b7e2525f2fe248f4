/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_api.c - see llvm_api.h. */
#include "runtime/compile/llvm_api.h"

#include <pthread.h>
#include <stdio.h>

#define ROW(...) FC_DYN_ROW(fc_llvm_fns, __VA_ARGS__)
static const fc_dynsym symbols[] = {FC_LLVM_FNS(ROW)};

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

static const char *const names[] = {
    "libLLVM.so.22.1", "libLLVM.so.22",   "libLLVM.so.21.1", "libLLVM.so.20.1", "libLLVM.so.19.1",
    "libLLVM.so.18.1", "libLLVM-18.so.1", "libLLVM-18.so",   "libLLVM-17.so.1", "libLLVM-17.so",
    "libLLVM-16.so.1", "libLLVM-16.so",   "libLLVM-15.so.1", "libLLVM-15.so",   NULL};
/* The fixed places come before the linker's own search, so that fc_llvm_find knows what will be
 * loaded. */
static const char *const dirs[] = {"/usr/lib/" MULTIARCH,
                                   "/usr/lib64",
                                   "/usr/lib",
                                   "/usr/lib/llvm-*/lib",
                                   "/usr/lib64/llvm*/lib64",
                                   "/usr/local/lib",
                                   "/usr/local/llvm*/lib",
                                   "",
                                   NULL};

static bool accept(void *user, const fc_dynlib *lib, char *why, size_t why_size) {
    fc_llvm *l = user;
    (void)lib;
    l->major = l->minor = l->patch = 0;
    if (l->fn.version) {
        l->fn.version(&l->major, &l->minor, &l->patch);
    } else if (l->fn.since_15) { /* the question itself came with 16 */
        l->major = 15;
    }
    if (l->major >= 15) return true;
    snprintf(why, why_size, "this LLVM is older than 15");
    return false;
}

static fc_dynsearch make_search(const char *places, fc_llvm *l) {
    fc_dynsearch s = {.env_name = "FUSEC_LIBLLVM_PATH",
                      .first = places,
                      .names = names,
                      .dirs = dirs,
                      .syms = symbols,
                      .n_syms = FC_COUNT(symbols),
                      .accept = accept,
                      .user = l};
    return s;
}

bool fc_llvm_find(const char *places, char *path, size_t size) {
    fc_dynsearch s = make_search(places, NULL);
    return fc_dynlib_find(&s, path, size);
}

static void set_traits(fc_llvm *l) {
    l->traits.masked_align_operand = l->major < 22;
    l->traits.memory_attribute = l->major >= 16;
    l->traits.minimum_lowered = l->major >= 19;
    /* From 18 on a bare instcombine ends the process when one round was not enough. */
    l->traits.clean_passes = l->major >= 18
                                 ? "function(instcombine<no-verify-fixpoint>,early-cse,simplifycfg)"
                                 : "function(instcombine,early-cse,simplifycfg)";
}

void fc_llvm_without_halves(char *features) {
    char *halves = strstr(features, "+avx512fp16");
    if (halves) *halves = '-';
}

static fusec_status read_host(fc_llvm *l, fc_error *e) {
    char *triple = l->fn.default_triple(), *cpu = l->fn.host_cpu();
    char *features = l->fn.host_features(), *message = NULL;
    fusec_status st = FUSEC_OK;
    snprintf(l->triple, sizeof l->triple, "%s", triple);
    snprintf(l->cpu, sizeof l->cpu, "%s", cpu);
    l->features = fc_strdup(l->alloc, features);
    if (!l->features) st = fc_oom(e);
    if (l->features) fc_llvm_without_halves(l->features);
    if (st == FUSEC_OK && l->fn.target_of(l->triple, &l->target, &message) != 0) {
        st = fc_fail(e, FUSEC_NO_LLVM, "%s can't make code for this machine: %s", l->lib.path,
                     message ? message : l->triple);
        if (message) l->fn.dispose_message(message);
    }
    l->fn.dispose_message(triple);
    l->fn.dispose_message(cpu);
    l->fn.dispose_message(features);
    return st;
}

/* The list of targets belongs to libLLVM and to the whole process, and registering is not safe
 * against itself: contexts that open it at the same time take turns. */
static void register_target(const fc_llvm *l) {
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&turn);
    l->fn.init_info();
    l->fn.init_target();
    l->fn.init_mc();
    l->fn.init_printer();
    pthread_mutex_unlock(&turn);
}

fusec_status fc_llvm_open(const fc_alloc *alloc, fc_llvm **out, fc_error *e) {
    return fc_llvm_open_in(alloc, NULL, out, e);
}

fusec_status fc_llvm_open_in(const fc_alloc *alloc, const char *places, fc_llvm **out,
                             fc_error *e) {
    *out = NULL;
    fc_llvm *l = fc_calloc(alloc, 1, sizeof *l);
    if (!l) return fc_oom(e);
    l->alloc = alloc;
    fc_dynsearch s = make_search(places, l);
    fc_str why;
    fc_str_init(&why, alloc);
    fusec_status st = FUSEC_OK;
    if (fc_dynlib_open(&s, &l->fn, sizeof l->fn, &l->lib, &why)) {
        set_traits(l);
        register_target(l);
        st = read_host(l, e);
    } else {
        st = fc_fail(e, FUSEC_NO_LLVM, "there is no LLVM library: %s", why.data);
    }
    fc_str_free(&why);
    if (st == FUSEC_OK)
        *out = l;
    else
        fc_llvm_close(l);
    return st;
}

void fc_llvm_close(fc_llvm *l) {
    if (!l) return;
    /* The library itself stays loaded: its targets are registered, and it can't be unloaded
     * safely. */
    for (int i = 0; i < FC_LLVM_LEVELS * FC_LLVM_SPARE; i++) {
        fc_llvm_machine m = atomic_exchange(&l->spare[i / FC_LLVM_SPARE][i % FC_LLVM_SPARE], NULL);
        if (m) l->fn.dispose_machine(m);
    }
    fc_free(l->alloc, l->features);
    fc_free(l->alloc, l);
}
