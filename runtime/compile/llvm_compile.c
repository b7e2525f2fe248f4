/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_compile.c - see llvm_compile.h. */
#include "runtime/compile/llvm_compile.h"

#include <stdio.h>

enum { RELOC_PIC = 2, MODEL_SMALL = 3 };
enum { FILE_ASSEMBLY = 0, FILE_OBJECT = 1 };
enum { VERIFY_RETURN_STATUS = 2 };
enum { SEVERITY_ERROR = 0 };

typedef struct job {
    fc_llvm *l;
    const fc_llvm_options *o;
    const char *name;
    fc_llvm_context context;
    fc_llvm_module module;
    fc_llvm_machine machine;
    char first_error[600]; /* of the diagnostics */
} job;

static const char *cpu_of(const fc_llvm *l, const fc_llvm_options *o) {
    return o->cpu ? o->cpu : l->cpu;
}

static const char *features_of(const fc_llvm *l, const fc_llvm_options *o) {
    return o->features ? o->features : o->cpu ? "" : l->features;
}

static const char *passes_of(const fc_llvm *l, const fc_llvm_options *o) {
    switch (o->passes) {
    case FC_LLVM_EARLY_CSE: return "function(early-cse)";
    case FC_LLVM_CLEAN: return l->traits.clean_passes;
    case FC_LLVM_NO_PASSES: break;
    }
    return NULL;
}

static void on_diagnostic(fc_llvm_diagnostic d, void *user) {
    job *j = user;
    if (j->l->fn.severity(d) != SEVERITY_ERROR || j->first_error[0]) return;
    char *text = j->l->fn.description(d);
    snprintf(j->first_error, sizeof j->first_error, "%s", text ? text : "an error");
    if (text) j->l->fn.dispose_message(text);
}

/* Takes a message of LLVM, which may be NULL. */
static fusec_status rejected(const job *j, char *message, fc_error *e) {
    const char *text = j->first_error[0] ? j->first_error : message ? message : "no reason given";
    fusec_status st =
        fc_fail(e, FUSEC_LLVM, "LLVM rejected the generated kernel %s\n  LLVM %u.%u, %s: %s",
                j->name, j->l->major, j->l->minor, cpu_of(j->l, j->o), text);
    if (message) j->l->fn.dispose_message(message);
    return st;
}

/* ---- target machines ----------------------------------------------------------------------- */

/* Where machines like this one are kept; NULL: nowhere. */
static _Atomic(fc_llvm_machine) *spare_of(fc_llvm *l, const fc_llvm_options *o) {
    const bool usual = !o->cpu && !o->features && o->level >= 0 && o->level < FC_LLVM_LEVELS;
    return usual ? l->spare[o->level] : NULL;
}

static fc_llvm_machine take_machine(fc_llvm *l, const fc_llvm_options *o) {
    _Atomic(fc_llvm_machine) *spare = spare_of(l, o);
    for (int i = 0; spare && i < FC_LLVM_SPARE; i++) {
        fc_llvm_machine m = atomic_exchange(&spare[i], NULL);
        if (m) return m;
    }
    return l->fn.create_machine(l->target, l->triple, cpu_of(l, o), features_of(l, o), o->level,
                                RELOC_PIC, MODEL_SMALL);
}

/* `good`: it has made code, so it can be used again. */
static void put_machine(fc_llvm *l, const fc_llvm_options *o, fc_llvm_machine m, bool good) {
    _Atomic(fc_llvm_machine) *spare = good ? spare_of(l, o) : NULL;
    for (int i = 0; spare && i < FC_LLVM_SPARE; i++) {
        fc_llvm_machine none = NULL;
        if (atomic_compare_exchange_strong(&spare[i], &none, m)) return;
    }
    l->fn.dispose_machine(m);
}

/* ---- the steps ----------------------------------------------------------------------------- */

static fusec_status prepare(job *j, fc_error *e) {
    fc_llvm *l = j->l;
    j->context = l->fn.create_context();
    j->machine = take_machine(l, j->o);
    if (!j->context || !j->machine)
        return fc_fail(e, FUSEC_LLVM, "LLVM can't make a target machine for %s, %s", l->triple,
                       cpu_of(l, j->o));
    l->fn.set_handler(j->context, on_diagnostic, j);
    return FUSEC_OK;
}

static fusec_status parse(job *j, const char *ir, size_t len, fc_error *e) {
    const fc_llvm *l = j->l;
    char *message = NULL;
    fc_llvm_buffer text = l->fn.wrap_buffer(ir, len, j->name, 1);
    if (l->fn.parse(j->context, text, &j->module, &message) != 0) { /* takes the buffer */
        j->module = NULL;
        return rejected(j, message, e);
    }
    fc_llvm_layout layout = l->fn.create_layout(j->machine);
    l->fn.set_triple(j->module, l->triple);
    l->fn.set_layout(j->module, layout);
    l->fn.dispose_layout(layout);
    int bad = l->fn.verify(j->module, VERIFY_RETURN_STATUS, &message);
    if (bad) return rejected(j, message, e);
    if (message) l->fn.dispose_message(message);
    return FUSEC_OK;
}

static fusec_status optimise(job *j, fc_error *e) {
    const fc_llvm *l = j->l;
    const char *passes = passes_of(l, j->o);
    if (!passes) return FUSEC_OK;
    fc_llvm_pass_options options = l->fn.create_options();
    fc_llvm_error failed = l->fn.run_passes(j->module, passes, j->machine, options);
    l->fn.dispose_options(options);
    if (!failed) return FUSEC_OK;
    char *text = l->fn.error_message(failed);
    fusec_status st =
        fc_fail(e, FUSEC_LLVM, "LLVM %u.%u does not run %s: %s", l->major, l->minor, passes, text);
    l->fn.dispose_error(text);
    return st;
}

static fusec_status emit(job *j, fc_bytes *out, fc_error *e) {
    const fc_llvm *l = j->l;
    char *message = NULL;
    fc_llvm_buffer code = NULL;
    int failed = l->fn.emit(j->machine, j->module, j->o->assembly ? FILE_ASSEMBLY : FILE_OBJECT,
                            &message, &code);
    fusec_status st = FUSEC_OK;
    if (failed || j->first_error[0])
        st = rejected(j, message, e);
    else if (!fc_bytes_copy(l->alloc, out, l->fn.buffer_start(code), l->fn.buffer_size(code)))
        st = fc_oom(e);
    if (!failed && code) l->fn.dispose_buffer(code);
    return st;
}

fusec_status fc_llvm_compile(fc_llvm *l, const char *ir, size_t len, const char *name,
                             const fc_llvm_options *o, fc_bytes *out, fc_error *e) {
    job j = {.l = l, .o = o, .name = name};
    fusec_status st = prepare(&j, e);
    if (st == FUSEC_OK) st = parse(&j, ir, len, e);
    if (st == FUSEC_OK) st = optimise(&j, e);
    if (st == FUSEC_OK) st = emit(&j, out, e);
    if (j.module) l->fn.dispose_module(j.module);
    if (j.machine) put_machine(l, o, j.machine, st == FUSEC_OK);
    if (j.context) l->fn.dispose_context(j.context);
    return st;
}
