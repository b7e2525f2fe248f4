/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_run.c - see llvm_run.h. */
#include "tests/support/llvm_run.h"

#include <stdlib.h>

#include "runtime/cpuinfo.h"
#include "runtime/compile/kernel_symbols.h"
#include "runtime/compile/llvm_compile.h"

typedef void (*kernel_fn)(const int64_t *words, int64_t begin, int64_t end);

typedef struct variant {
    char key[400];
    fc_object *object;
    kernel_fn run, finish;
} variant;

enum { VARIANTS = 200 };

struct fc_llvm_run {
    fc_llvm *llvm;
    const char *cpu;
    unsigned host_features;
    int bytes;
    bool wide;
    unsigned n;
    variant variants[VARIANTS];
};

typedef struct width {
    const char *cpu;
    int bytes;
} width;

#if defined(__x86_64__)
static const width widths[FC_LLVM_WIDTHS + 1] = {
    {NULL, 64}, {"x86-64-v3", 32}, {"x86-64", 16}, {"x86-64-v3", 16}};
#else
static const width widths[FC_LLVM_WIDTHS + 1] = {{NULL, 64}, {NULL, 32}, {NULL, 16}, {NULL, 16}};
#endif

fc_llvm_run *fc_llvm_run_open(unsigned number) {
    const width *w = &widths[number];
    fc_error e = {0};
    fc_cpuinfo host;
    fc_cpuinfo_get(&host);
    if (w->cpu && strstr(w->cpu, "v3") && !(host.features & FC_CPU_AVX2)) return NULL;
    fc_llvm_run *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->cpu = w->cpu;
    r->host_features = host.features;
    /* a machine of vectors of 64 bytes has AVX-512's instructions for them */
    r->bytes = w->bytes > host.vector_bytes && !w->cpu ? host.vector_bytes : w->bytes;
    if (fc_llvm_open(&fc_libc_alloc, &r->llvm, &e) == FUSEC_OK) return r;
    free(r);
    return NULL;
}

void fc_llvm_run_clear(fc_llvm_run *r) {
    for (unsigned i = 0; r && i < r->n; i++) fc_object_unload(r->variants[i].object);
    if (r) r->n = 0;
}

void fc_llvm_run_close(fc_llvm_run *r) {
    if (!r) return;
    fc_llvm_run_clear(r);
    fc_llvm_close(r->llvm);
    free(r);
}

int fc_llvm_run_bytes(const fc_llvm_run *r) {
    return r->bytes;
}

fc_machine fc_llvm_run_machine(const fc_llvm_run *r) {
    return (fc_machine){.target = FC_TARGET_LLVM,
                        .vector_bytes = r->bytes,
                        .cpu = r->cpu,
                        .host_features = r->host_features};
}

void fc_llvm_run_wide(fc_llvm_run *r, bool wide) {
    r->wide = wide;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static fusec_status compile(const fc_llvm_run *r, const fc_str *ir, variant *v, fc_error *e) {
    fc_bytes object = {0};
    fc_llvm_options o = {.cpu = r->cpu, .passes = FC_LLVM_EARLY_CSE, .level = 2};
    FC_TRY(fc_llvm_compile(r->llvm, ir->data, ir->len, "k", &o, &object, e));
    fusec_status st =
        fc_object_load(&fc_libc_alloc, object.data, object.len, fc_kernel_symbol, &v->object, e);
    fc_bytes_free(&fc_libc_alloc, &object);
    FC_TRY(st);
    v->run = (kernel_fn)fc_object_function(v->object, "k");
    v->finish = (kernel_fn)fc_object_function(v->object, "k_finish");
    return v->run ? FUSEC_OK : fc_fail(e, FUSEC_INTERNAL, "no entry");
}

static fusec_status make_variant(fc_llvm_run *r, const fc_machine *m, const fc_kernel *k,
                                 const fc_class *cls, const char *key, fc_error *e) {
    variant *v = &r->variants[r->n];
    fc_str ir;
    if (r->n == VARIANTS || strlen(key) >= sizeof v->key)
        return fc_fail(e, FUSEC_INTERNAL, "too many variants");
    memcpy(v->key, key, strlen(key) + 1);
    fc_str_init(&ir, &fc_libc_alloc);
    fusec_status st = fc_llvm_target.emit(m, k, cls, "k", &ir, e);
    if (st == FUSEC_OK) st = compile(r, &ir, v, e);
    if (st == FUSEC_OK) r->n++;
    fc_str_free(&ir);
    return st;
}

static fusec_status find_variant(fc_llvm_run *r, const fc_machine *m, const fc_kernel *k,
                                 const fc_class *cls, const variant **out, fc_error *e) {
    fc_str key;
    unsigned i = 0;
    fusec_status st = FUSEC_OK;
    fc_str_init(&key, &fc_libc_alloc);
    fc_class_print(cls, &key);
    while (i < r->n && strcmp(r->variants[i].key, key.data) != 0) i++;
    if (i == r->n) st = make_variant(r, m, k, cls, key.data, e);
    *out = &r->variants[i];
    fc_str_free(&key);
    return st;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Tasks run last to first: none may depend on another. The rows of the finish are cut in the
 * middle. */
static fusec_status launch(const fc_kernel *k, const fc_nest *n, const fc_launch *l,
                           const variant *v, int64_t *words, fc_error *e) {
    fc_layout lay =
        fc_layout_of((uint32_t)k->args.len, n->np + n->nr, n->naccess, (uint32_t)k->params.len);
    void *workspace = malloc(l->workspace_bytes + 1);
    uint32_t *tickets = calloc(l->tickets + 1, sizeof *tickets);
    if (!workspace || !tickets) {
        free(workspace);
        free(tickets);
        return fc_oom(e);
    }
    memset(workspace, 0xff, l->workspace_bytes); /* nan: nobody counts on zeros */
    words[lay.extra + FC_PB_SPANS] = l->spans;
    words[lay.extra + FC_PB_SPAN] = l->span;
    words[lay.extra + FC_PB_WORKSPACE] = (int64_t)(intptr_t)workspace;
    words[lay.extra + FC_PB_TICKETS] = (int64_t)(intptr_t)tickets;
    for (int64_t t = l->tasks; t-- > 0;) {
        int64_t end = (t + 1) * l->unit;
        v->run(words, t * l->unit, end < l->units ? end : l->units);
    }
    if (l->finish) {
        v->finish(words, n->rows / 2, n->rows);
        v->finish(words, 0, n->rows / 2);
    }
    bool left = false;
    for (uint32_t t = 0; t < l->tickets; t++) left |= tickets[t] != 0;
    free(workspace);
    free(tickets);
    return left ? fc_fail(e, FUSEC_INTERNAL, "a ticket is not zero afterwards") : FUSEC_OK;
}

fusec_status fc_llvm_run_kernel(fc_llvm_run *r, const fc_kernel *k, const fc_nest *n,
                                fc_arena *arena, int64_t *words, fc_class *out, fc_error *e) {
    fc_machine m = fc_llvm_run_machine(r);
    fc_class cls;
    fc_launch l;
    const variant *v;
    FC_TRY(fc_llvm_target.schedule(&m, k, n, 64, arena, &cls, &l, e));
    if (r->wide) cls.wide = true;
    if (out) *out = cls;
    FC_TRY(find_variant(r, &m, k, &cls, &v, e));
    return launch(k, n, &l, v, words, e);
}
