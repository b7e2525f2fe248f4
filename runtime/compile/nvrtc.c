/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* nvrtc.c - see nvrtc.h. */
#include "runtime/compile/nvrtc.h"

#include "codegen/target.h"

#include <stdio.h>
#include <stdlib.h>

enum { /* results of NVRTC that are told apart */
       RESULT_OK = 0,
       RESULT_OUT_OF_MEMORY = 1,
       RESULT_INVALID_OPTION = 5,
       RESULT_BUILTIN_FAILURE = 7
};
enum { MAX_OPTIONS = 40 };

#define ROW(...) FC_DYN_ROW(fc_nvrtc_fns, __VA_ARGS__)
static const fc_dynsym symbols[] = {FC_NVRTC_FNS(ROW)};

static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};

/* ---- finding it ---------------------------------------------------------------------------- */

/* A toolkit that the user points at comes before a newer one elsewhere, so it is a search of its
 * own. */
static void chosen_dirs(fc_dyndirs *d) {
    fc_dyndirs_init(d);
    fc_dyndirs_add(d, fc_env("CUDA_HOME"), "/lib64");
    fc_dyndirs_add(d, fc_env("CUDA_PATH"), "/lib64");
}

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

/* What the dynamic linker would look at first. */
static void add_linker_path(fc_dyndirs *d) {
    const char *p = fc_env("LD_LIBRARY_PATH");
    for (size_t n; p && *p; p += n + (p[n] != 0)) {
        char one[256];
        n = strcspn(p, ":;");
        if (!n || n >= sizeof one) continue;
        memcpy(one, p, n);
        one[n] = 0;
        fc_dyndirs_add(d, one, "");
    }
}

/* The linker's own search comes last, so that fc_nvrtc_find knows what will be loaded. */
static void usual_dirs(fc_dyndirs *d) {
    fc_dyndirs_init(d);
    add_linker_path(d);
    fc_dyndirs_add_toolkits(d);
    fc_dyndirs_add(d, "/usr/lib/" MULTIARCH, "");
    fc_dyndirs_add_wheels(d, "cuda_nvrtc");
    fc_dyndirs_add(d, "", "");
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static bool read_archs(fc_nvrtc *n) {
    int count = 0;
    int archs[256];
    if (n->fn.n_archs(&count) != RESULT_OK || count <= 0 || (size_t)count > FC_COUNT(archs))
        return false;
    if (n->fn.archs(archs) != RESULT_OK) return false;
    qsort(archs, (size_t)count, sizeof archs[0], by_number);
    int skip = count > FC_NVRTC_ARCHS ? count - FC_NVRTC_ARCHS : 0;
    n->n_archs = count - skip;
    memcpy(n->archs, archs + skip, (size_t)n->n_archs * sizeof archs[0]);
    return true;
}

static bool accept(void *user, const fc_dynlib *lib, char *why, size_t why_size) {
    fc_nvrtc *n = user;
    (void)lib;
    if (n->fn.version(&n->major, &n->minor) != RESULT_OK || !read_archs(n)) {
        snprintf(why, why_size, "does not tell its version and architectures");
        return false;
    }
    if (n->major < FC_NVRTC_OLDEST) { /* its assembler does not know what kernels of sm_90 use */
        snprintf(why, why_size, "is of CUDA %d.%d; %d is the oldest that will do", n->major,
                 n->minor, FC_NVRTC_OLDEST);
        return false;
    }
    return true;
}

static fc_dynsearch make_search(const fc_dyndirs *dirs, fc_nvrtc *n) {
    fc_dynsearch s = {.env_name = "FUSEC_NVRTC_PATH",
                      .names = names,
                      .dirs = dirs->at,
                      .syms = symbols,
                      .n_syms = FC_COUNT(symbols),
                      .accept = accept,
                      .user = n};
    return s;
}

bool fc_nvrtc_find(const char *places, char *path, size_t size) {
    fc_dyndirs chosen, usual;
    chosen_dirs(&chosen);
    usual_dirs(&usual);
    fc_dynsearch s = make_search(&chosen, NULL);
    s.first = places;
    if ((chosen.n || places) && fc_dynlib_find(&s, path, size)) return true;
    s.first = NULL;
    s.dirs = usual.at;
    return fc_dynlib_find(&s, path, size);
}

fusec_status fc_nvrtc_open(const fc_alloc *alloc, fc_nvrtc **out, fc_error *e) {
    return fc_nvrtc_open_in(alloc, NULL, out, e);
}

fusec_status fc_nvrtc_open_in(const fc_alloc *alloc, const char *places, fc_nvrtc **out,
                              fc_error *e) {
    *out = NULL;
    fc_nvrtc *n = fc_calloc(alloc, 1, sizeof *n);
    if (!n) return fc_oom(e);
    n->alloc = alloc;
    fc_dyndirs chosen, usual;
    chosen_dirs(&chosen);
    usual_dirs(&usual);
    fc_dynsearch s = make_search(&chosen, n);
    fc_str why;
    fc_str_init(&why, alloc);
    bool told = fc_env(s.env_name) != NULL; /* then the places do not count */
    s.first = places;
    bool found =
        (chosen.n || places) && !told && fc_dynlib_open(&s, &n->fn, sizeof n->fn, &n->lib, &why);
    if (!found) {
        if (why.len) fc_str_add(&why, "; ");
        s.first = NULL;
        s.dirs = usual.at;
        found = fc_dynlib_open(&s, &n->fn, sizeof n->fn, &n->lib, &why);
    }
    if (!found) {
        fusec_status st = fc_fail(e, FUSEC_NVRTC_SETUP, "there is no NVRTC: %s", why.data);
        fc_str_free(&why);
        fc_nvrtc_close(n);
        return st;
    }
    fc_str_free(&why);
    *out = n;
    return FUSEC_OK;
}

fusec_status fc_nvrtc_open_with(const fc_alloc *alloc, const fc_nvrtc_fns *fn, fc_nvrtc **out,
                                fc_error *e) {
    char why[100];
    *out = NULL;
    fc_nvrtc *n = fc_calloc(alloc, 1, sizeof *n);
    if (!n) return fc_oom(e);
    n->alloc = alloc;
    n->fn = *fn;
    if (!accept(n, &n->lib, why, sizeof why)) {
        fc_nvrtc_close(n);
        return fc_fail(e, FUSEC_NVRTC_SETUP, "this NVRTC %s", why);
    }
    *out = n;
    return FUSEC_OK;
}

void fc_nvrtc_close(fc_nvrtc *n) {
    if (!n) return;
    /* NVRTC does not give back all it took when it is unloaded, so it stays until the
     * process ends. */
    fc_free(n->alloc, n);
}

/* ---- architectures ------------------------------------------------------------------------- */

bool fc_nvrtc_best_arch(const fc_nvrtc *n, int cc, char arch[16], fc_nvrtc_kind *kind) {
    int best = 0;
    for (int i = 0; i < n->n_archs; i++)
        if (n->archs[i] <= cc) best = n->archs[i];
    if (!best) return false;
    /* Machine code runs on later members of its own family, and on nothing else. */
    *kind = best / 10 == cc / 10 ? FC_NVRTC_CUBIN : FC_NVRTC_PTX;
    snprintf(arch, 16, "sm_%d", best);
    return true;
}

static fusec_status check_arch(const fc_nvrtc *n, const char *arch, fc_error *e) {
    if (strncmp(arch, "sm_", 3) != 0 || arch[3] < '1' || arch[3] > '9')
        return fc_fail(e, FUSEC_INTERNAL, "`%s` is no CUDA architecture", arch);
    int number = atoi(arch + 3); /* sm_90a is number 90 */
    for (int i = 0; i < n->n_archs; i++)
        if (n->archs[i] == number) return FUSEC_OK;
    return fc_fail(e, FUSEC_NVRTC_SETUP,
                   "NVRTC %d.%d does not know %s (it knows sm_%d to sm_%d)\n"
                   "  help: install the cuda-nvrtc package that belongs to the device's driver",
                   n->major, n->minor, arch, n->n_archs ? n->archs[0] : 0,
                   n->n_archs ? n->archs[n->n_archs - 1] : 0);
}

/* ---- options ------------------------------------------------------------------------------- */

typedef struct option_list {
    const char *at[MAX_OPTIONS];
    int n, newest, optional; /* how many of the first an older NVRTC may not know */
    char arch[64];
} option_list;

static size_t count_of(const char *text, const char *word) {
    size_t n = 0;
    for (text = strstr(text, word); text; text = strstr(text + 1, word)) n++;
    return n;
}

static bool is_brief(const char *source) {
    const size_t n = count_of(source, FC_CUDA_BRIEFLY);
    return n && n == count_of(source, "extern \"C\" __global__");
}

/* What an older NVRTC may not know comes first: the newest is dropped then, and, if it was not
 * that, all of it. Our texts use nothing that --minimal leaves out, and it saves 2 ms of 24; the
 * code is the same. Products of groups of warps are known to sm_90a alone, whose code runs on sm_90
 * and on nothing later. */
static bool make_options(const fc_nvrtc_options *o, const char *source, option_list *l) {
    const bool fast = o->quick || is_brief(source);
    const char *const fixed[] = {o->quick ? "--Ofast-compile=mid" : "--Ofast-compile=min",
                                 "-no-cache",
                                 "--minimal",
                                 "--std=c++17",
                                 "--ftz=false",
                                 "--prec-div=true",
                                 "--prec-sqrt=true",
                                 o->fmad ? "--fmad=true" : "--fmad=false"};
    if (o->n_extra > MAX_OPTIONS - FC_COUNT(fixed) - 2) return false;
    l->n = 0;
    for (size_t i = !fast; i < FC_COUNT(fixed); i++) l->at[l->n++] = fixed[i];
    l->newest = fast;
    l->optional = l->newest + 2;
    snprintf(l->arch, sizeof l->arch, "--gpu-architecture=%s_%.16s%s",
             o->kind == FC_NVRTC_CUBIN ? "sm" : "compute", o->arch + 3,
             !strcmp(o->arch, "sm_90") && strstr(source, "wgmma.") ? "a" : "");
    l->at[l->n++] = l->arch;
    if (o->quick) l->at[l->n++] = "--define-macro=FC_TEXT_QUICK";
    for (size_t i = 0; i < o->n_extra; i++) l->at[l->n++] = o->extra[i];
    return true;
}

void fc_nvrtc_describe(const fc_nvrtc_options *o, fc_str *out) {
    option_list l;
    if (!make_options(o, "", &l)) return;
    for (int i = 0; i < l.n; i++) fc_str_printf(out, " %s", l.at[i]);
}

/* ---- compiling ----------------------------------------------------------------------------- */

static char *read_log(const fc_nvrtc *n, fc_nvrtc_program p) {
    size_t size = 0;
    if (n->fn.log_size(p, &size) != RESULT_OK || size == 0) return NULL;
    char *text = fc_malloc(n->alloc, size + 1);
    if (!text) return NULL;
    if (n->fn.log(p, text) != RESULT_OK) text[0] = 0;
    text[size] = 0;
    return text;
}

static fusec_status report(const fc_nvrtc *n, fc_nvrtc_program p, int result, const char *source,
                           const char *name, const char *arch, fc_error *e) {
    if (result == RESULT_OUT_OF_MEMORY)
        return fc_fail(e, FUSEC_OUT_OF_MEMORY, "NVRTC ran out of memory on %s", name);
    char *log = read_log(n, p);
    const char *text = log && *log ? log : n->fn.error_string(result);
    fusec_status st;
    if (result == RESULT_BUILTIN_FAILURE || strstr(text, "libnvrtc-builtins"))
        st = fc_fail(e, FUSEC_NVRTC_SETUP,
                     "NVRTC cannot start: libnvrtc-builtins.so.%d.%d not found, next to %s\n"
                     "  help: install the cuda-nvrtc package of the same version, or set CUDA_HOME",
                     n->major, n->minor, n->lib.path[0] ? n->lib.path : names[0]);
    else if (strstr(source, FC_CUDA_USER))
        st = fc_fail(e, FUSEC_CALL_FAILED,
                     "CUDA text of the user does not compile (NVRTC %d.%d): %s", n->major, n->minor,
                     text);
    else
        st =
            fc_fail(e, FUSEC_NVRTC, "NVRTC rejected the generated kernel %s\n  NVRTC %d.%d, %s: %s",
                    name, n->major, n->minor, arch, text);
    fc_free(n->alloc, log);
    return st;
}

static fusec_status fetch(const fc_nvrtc *n, fc_nvrtc_program p, fc_nvrtc_kind kind, fc_bytes *out,
                          fc_error *e) {
    bool cubin = kind == FC_NVRTC_CUBIN;
    size_t size = 0;
    int result = cubin ? n->fn.cubin_size(p, &size) : n->fn.ptx_size(p, &size);
    if (result != RESULT_OK || size == 0)
        return fc_fail(e, FUSEC_NVRTC, "NVRTC gave no code: %s", n->fn.error_string(result));
    uint8_t *data = fc_malloc(n->alloc, size + 1);
    if (!data) return fc_oom(e);
    result = cubin ? n->fn.cubin(p, (char *)data) : n->fn.ptx(p, (char *)data);
    if (result != RESULT_OK) {
        fc_free(n->alloc, data);
        return fc_fail(e, FUSEC_NVRTC, "NVRTC gave no code: %s", n->fn.error_string(result));
    }
    data[size] = 0;
    if (!cubin && data[size - 1] == 0) size--; /* PTX is counted with its NUL */
    out->data = data;
    out->len = size;
    return FUSEC_OK;
}

fusec_status fc_nvrtc_compile(const fc_nvrtc *n, const char *source, const char *name,
                              const fc_nvrtc_options *o, fc_bytes *out, fc_error *e) {
    option_list l;
    fc_nvrtc_program p = NULL;
    FC_TRY(check_arch(n, o->arch, e));
    if (!make_options(o, source, &l))
        return fc_fail(e, FUSEC_INTERNAL, "too many options for NVRTC");
    int result = n->fn.create(&p, source, name, 0, NULL, NULL);
    if (result != RESULT_OK)
        return fc_fail(e, result == RESULT_OUT_OF_MEMORY ? FUSEC_OUT_OF_MEMORY : FUSEC_NVRTC_SETUP,
                       "NVRTC cannot start: %s", n->fn.error_string(result));
    result = n->fn.compile(p, l.n, l.at);
    const int drop[] = {l.newest, l.optional};
    if (result == RESULT_INVALID_OPTION && o->quick && o->refused) *o->refused = true;
    for (size_t i = 0; i < FC_COUNT(drop) && result == RESULT_INVALID_OPTION; i++)
        if (drop[i]) result = n->fn.compile(p, l.n - drop[i], l.at + drop[i]);
    fusec_status st = result == RESULT_OK ? fetch(n, p, o->kind, out, e)
                                          : report(n, p, result, source, name, o->arch, e);
    n->fn.destroy(&p);
    return st;
}
