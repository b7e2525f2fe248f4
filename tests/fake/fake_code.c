/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_code.c - code, launches and graphs of the fake driver: kernels run on the host or not at
 * all. "Code" is the text of a kernel behind a mark; with `execute` it is compiled for the host
 * behind tests/support/cuda_emu.h. */
#include <fenv.h>
#include <unistd.h>

#include "tests/fake/fake_state.h"
#include "tests/support/cuda_fibers.h"

enum { TEXTS = 4096, KERNELS = 64 };

/* ---- code ------------------------------------------------------------------------------------ */

typedef struct function { /* a kernel of a module; its address is the handle */
    char name[80];
    const fc_fiber_kernel *kernel; /* with `execute` */
    bool spills;
    unsigned shared; /* what launches may add to what it declares: as if that were all there is */
} function;
typedef struct module {
    function fn[KERNELS];
    int n;
} module;

/* Texts that were compiled for the host in this process. */
static struct {
    unsigned long long hash;
    module m;
} texts[TEXTS];

/* The kernels of a text: one in the open, or several in name spaces of their own. */
static void find_kernels(const char *text, module *m) {
    static const char opening[] = "extern \"C\" __global__";
    m->n = 0;
    for (const char *at = text; (at = strstr(at, opening)) && m->n < KERNELS; at++) {
        const char *name = strstr(at, " fusec_");
        if (name)
            snprintf(m->fn[m->n++].name, sizeof m->fn[0].name, "%.*s", (int)strcspn(name + 1, "("),
                     name + 1);
    }
}

static void write_program(FILE *f, const char *text, const module *m) {
    fprintf(f, "#define FC_EMULATE 1\n#include \"tests/support/cuda_emu.h\"\n%s\n", text);
    for (int i = 0; i < m->n; i++) {
        const char *name = m->fn[i].name;
        if (m->n == 1)
            fprintf(f, "FC_KERNEL(host_%s, %s)\n", name, name);
        else
            fprintf(f, "namespace %s_space {\nFC_KERNEL(host_%s, %s)\n}\n", name, name, name);
    }
}

static bool find_symbols(void *so, module *m) {
    for (int i = 0; i < m->n; i++) {
        char name[96];
        snprintf(name, sizeof name, "host_%s", m->fn[i].name);
        m->fn[i].kernel = fc_fibers_kernel(so, name);
        if (!m->fn[i].kernel) return false;
    }
    return true;
}

static bool compile_for_host(const char *text, module *m) {
    unsigned long long h = 1469598103934665603ull;
    for (const char *p = text; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211ull;
    int i = 0;
    for (; i < TEXTS && texts[i].hash; i++)
        if (texts[i].hash == h) {
            *m = texts[i].m;
            return true;
        }
    char folder[] = "/tmp/fusec-fake-XXXXXX", path[64], command[600];
    if (i == TEXTS || !mkdtemp(folder)) return false;
    snprintf(path, sizeof path, "%s/k.cc", folder);
    FILE *f = fopen(path, "w");
    if (!f) return false;
    write_program(f, text, m);
    fclose(f);
    snprintf(
        command, sizeof command,
        "c++ -std=c++17 -nostdinc++ -O0 -w -fPIC -shared -ffp-contract=off -fno-strict-aliasing "
        "-I%s %s -o %s/k.so",
        FUSEC_SOURCE_DIR, path, folder);
    bool good = false;
    if (system(command) == 0) {
        snprintf(path, sizeof path, "%s/k.so", folder);
        void *so = fc_fibers_load(path);
        good = so && find_symbols(so, m);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0 || !good) return false;
    texts[i].hash = h;
    texts[i].m = *m;
    return true;
}

/* Whether `f` is a kernel of a module that is loaded. */
static bool is_function(const void *f) {
    pthread_mutex_lock(&fake_lock);
    fake_thing *t = fake_find(f, sizeof(function));
    bool good = t && t->count == &fake_control.modules;
    pthread_mutex_unlock(&fake_lock);
    return good;
}

FN(cuModuleLoadData, (void **m, const void *image)) {
    NEED_CONTEXT("cuModuleLoadData");
    HIT("cuModuleLoadData");
    NEED_CALM();
    if (memcmp(image, MARK, MARK_LEN) != 0) return BAD_IMAGE;
    module *x = fake_make(sizeof *x, &fake_control.modules);
    if (!x) return NO_MEMORY;
    memset(x, 0, sizeof *x);
    find_kernels((const char *)image + MARK_LEN, x);
    if (fake_control.execute && !compile_for_host((const char *)image + MARK_LEN, x))
        for (int i = 0; i < x->n; i++) x->fn[i].kernel = NULL;
    for (int i = 0; i < x->n; i++) x->fn[i].spills = fake_control.spilling > 0;
    if (fake_control.spilling > 0) fake_control.spilling--;
    *m = x;
    return OK;
}
FN(cuModuleUnload, (void *m)) {
    NEED_CONTEXT("cuModuleUnload");
    HIT("cuModuleUnload");
    NEED_CALM();
    return fake_drop(m, &fake_control.modules, "cuModuleUnload");
}
FN(cuModuleGetFunction, (void **f, void *m, const char *name)) {
    HIT("cuModuleGetFunction");
    if (!fake_is_alive(m, &fake_control.modules)) return fake_misuse("cuModuleGetFunction"), 400;
    module *x = m;
    for (int i = 0; i < x->n; i++)
        if (!strcmp(name, x->fn[i].name)) {
            *f = &x->fn[i];
            return OK;
        }
    return NOT_FOUND;
}
FN(cuFuncGetAttribute, (int *v, int a, void *f)) {
    enum { LOCAL_BYTES = 3, REGISTERS = 4, PTX_VERSION = 5 };
    HIT("cuFuncGetAttribute");
    const bool spills = ((const function *)f)->spills;
    if (a == PTX_VERSION) return *v = fake_control.early ? 90 : 80, OK;
    *v = a == LOCAL_BYTES ? (spills ? 128 : 0) : a == REGISTERS && spills ? 255 : 32;
    return OK;
}
FN(cuFuncSetAttribute, (void *f, int a, int v)) {
    enum { MOST_DYNAMIC_SHARED = 8 };
    HIT("cuFuncSetAttribute");
    if (a == MOST_DYNAMIC_SHARED) ((function *)f)->shared = (unsigned)v;
    return OK;
}
static int launch_code(const function *c, const unsigned g[3], const unsigned b[3],
                       const void *args, bool together) {
    /* launches of threads take turns: shared memory of the emulation is static */
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    fake_control.launched++;
    fake_control.kernel = c->name;
    if (!fake_control.execute) return OK;
    fenv_t of_caller; /* means nothing to a GPU */
    pthread_mutex_lock(&turn);
    fegetenv(&of_caller);
    fesetenv(FE_DFL_ENV);
    bool good = c->kernel && fc_fibers_launch(c->kernel, args, g, b, together);
    fesetenv(&of_caller);
    pthread_mutex_unlock(&turn);
    return good ? OK : 719;
}

#ifndef FAKE_NO_LAUNCH
FN(cuLaunchKernel, (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                    unsigned bz, unsigned shared, void *s, void **params, void **extra)) {
    NEED_CONTEXT("cuLaunchKernel");
    NEED_STREAM(s, "cuLaunchKernel");
    HIT("cuLaunchKernel");
    if (!is_function(f)) return fake_misuse("cuLaunchKernel"), 400;
    if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024) return INVALID;
    if (shared > ((function *)f)->shared) return INVALID;
    const unsigned g[3] = {gx, gy, gz}, b[3] = {bx, by, bz};
    /* for a kernel of the test's, a struct P of pointers to the arguments */
    return launch_code(f, g, b, params ? (void *)params : extra[1], false);
}
#endif
/* CUlaunchConfig, with its first attribute */
typedef struct launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
    const struct { int id, unused, value; } * attributes;
    unsigned n;
} launch_config;
FN(cuLaunchKernelEx, (const launch_config *c, void *f, void **params, void **extra)) {
    enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
    NEED_CONTEXT("cuLaunchKernelEx");
    NEED_STREAM(c->stream, "cuLaunchKernelEx");
    HIT("cuLaunchKernelEx");
    if (!is_function(f) || params) return fake_misuse("cuLaunchKernelEx"), 400;
    if (c->n != 1 || c->attributes->id != PROGRAMMATIC_STREAM_SERIALIZATION) return INVALID;
    if (c->shared > ((function *)f)->shared) return INVALID;
    fake_control.launched_early += c->attributes->value != 0;
    return launch_code(f, c->grid, c->block, extra[1], false);
}
/* Of 512 threads two blocks run on each multiprocessor, as many as the schedules of gangs take. */
FN(cuLaunchCooperativeKernel, (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, void *s, void **params)) {
    NEED_CONTEXT("cuLaunchCooperativeKernel");
    NEED_STREAM(s, "cuLaunchCooperativeKernel");
    HIT("cuLaunchCooperativeKernel");
    if (!is_function(f)) return fake_misuse("cuLaunchCooperativeKernel"), 400;
    if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024) return INVALID;
    if (shared > ((function *)f)->shared) return INVALID;
    if (gx * gy * gz * bx * by * bz > FAKE_MULTIPROCESSORS * 1024) return TOO_MANY_BLOCKS;
    const unsigned g[3] = {gx, gy, gz}, b[3] = {bx, by, bz};
    fake_control.launched_together++;
    return launch_code(f, g, b, params[0], true);
}

/* ---- graphs: kernels in a row ---------------------------------------------------------------- */

enum { NODES = 128, PARAMS = 4096 };
typedef struct node_params { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    const function *function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
    void *kernel, *context;
} node_params;
typedef struct graph {
    size_t n;
    struct {
        node_params p;
        char args[PARAMS];
    } node[NODES];
} graph;

static void take_node(graph *g, size_t i, const node_params *p) {
    g->node[i].p = *p;
    const fc_fiber_kernel *k = p->function->kernel;
    if (p->params && k) memcpy(g->node[i].args, p->params[0], k->params);
}
FN(cuGraphCreate, (graph * *g, unsigned flags)) {
    (void)flags;
    HIT("cuGraphCreate");
    *g = fake_make(sizeof **g, &fake_control.graphs);
    if (*g) (*g)->n = 0;
    return *g ? OK : NO_MEMORY;
}
FN(cuGraphAddKernelNode_v2,
   (void **at, graph *g, void *const *after, size_t nafter, const node_params *p)) {
    (void)after, (void)nafter;
    HIT("cuGraphAddKernelNode_v2");
    if (!fake_is_alive(g, &fake_control.graphs) || g->n == NODES)
        return fake_misuse("cuGraphAddKernelNode"), 400;
    if (!is_function(p->function)) return fake_misuse("cuGraphAddKernelNode"), 400;
    if (p->shared > p->function->shared) return INVALID;
    take_node(g, g->n, p);
    *at = (void *)(uintptr_t)++g->n;
    return OK;
}
FN(cuGraphInstantiateWithFlags, (graph * *x, graph *g, unsigned long long flags)) {
    (void)flags;
    HIT("cuGraphInstantiateWithFlags");
    if (!fake_is_alive(g, &fake_control.graphs)) return fake_misuse("cuGraphInstantiate"), 400;
    *x = fake_make(sizeof **x, &fake_control.graphs);
    if (*x) **x = *g;
    return *x ? OK : NO_MEMORY;
}
FN(cuGraphExecKernelNodeSetParams_v2, (graph * x, void *at, const node_params *p)) {
    HIT("cuGraphExecKernelNodeSetParams_v2");
    size_t i = (size_t)(uintptr_t)at;
    if (!fake_is_alive(x, &fake_control.graphs) || i < 1 || i > x->n)
        return fake_misuse("cuGraphExecKernelNodeSetParams"), 400;
    take_node(x, i - 1, p);
    return OK;
}
FN(cuGraphLaunch, (graph * x, void *s)) {
    NEED_STREAM(s, "cuGraphLaunch");
    HIT("cuGraphLaunch");
    if (!fake_is_alive(x, &fake_control.graphs)) return fake_misuse("cuGraphLaunch"), 400;
    fake_control.graph_launches++;
    for (size_t i = 0; i < x->n; i++) {
        const node_params *p = &x->node[i].p;
        if (!is_function(p->function)) return fake_misuse("cuGraphLaunch"), 400;
        int r = launch_code(p->function, p->grid, p->block, x->node[i].args, false);
        if (r) return r;
    }
    return OK;
}
FN(cuGraphExecDestroy, (graph * x)) {
    HIT("cuGraphExecDestroy");
    return fake_drop(x, &fake_control.graphs, "cuGraphExecDestroy");
}
FN(cuGraphDestroy, (graph * g)) {
    HIT("cuGraphDestroy");
    return fake_drop(g, &fake_control.graphs, "cuGraphDestroy");
}
