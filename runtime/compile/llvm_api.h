/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_api.h - libLLVM found at run time: its C functions as a table, its version, the host's
 * target.
 *
 * Versions 15 to 22 are known; what differs between them is in fc_llvm_traits and nowhere else. The
 * library is opened with local symbols, so that other copies in the process (drivers, Python
 * packages) do not meet it. After the opening nothing changes any more but the target machines that
 * wait to be used again, and every thread may compile. */
#ifndef FUSEC_RUNTIME_COMPILE_LLVM_API_H
#define FUSEC_RUNTIME_COMPILE_LLVM_API_H

#include <stdatomic.h>

#include "runtime/compile/dynlib.h"

typedef struct fc_llvm_context_ *fc_llvm_context;
typedef struct fc_llvm_module_ *fc_llvm_module;
typedef struct fc_llvm_buffer_ *fc_llvm_buffer;
typedef struct fc_llvm_target_ *fc_llvm_target_ref;
typedef struct fc_llvm_machine_ *fc_llvm_machine;
typedef struct fc_llvm_layout_ *fc_llvm_layout;
typedef struct fc_llvm_pass_options_ *fc_llvm_pass_options;
typedef struct fc_llvm_error_ *fc_llvm_error;
typedef struct fc_llvm_diagnostic_ *fc_llvm_diagnostic;
typedef void (*fc_llvm_diagnostic_fn)(fc_llvm_diagnostic d, void *user);

#if defined(__aarch64__)
#define FC_LLVM_INIT(what) "LLVMInitializeAArch64" what
#else
#define FC_LLVM_INIT(what) "LLVMInitializeX86" what
#endif

/* clang-format off */
#define FC_LLVM_FNS(X)                                                                             \
    X(void, version, "LLVMGetVersion", (unsigned *major, unsigned *minor, unsigned *patch), 0)     \
    X(void, since_15, "LLVMPointerTypeInContext", (void), 0)                                       \
    X(void, init_info, FC_LLVM_INIT("TargetInfo"), (void), 1)                                      \
    X(void, init_target, FC_LLVM_INIT("Target"), (void), 1)                                        \
    X(void, init_mc, FC_LLVM_INIT("TargetMC"), (void), 1)                                          \
    X(void, init_printer, FC_LLVM_INIT("AsmPrinter"), (void), 1)                                   \
    X(char *, default_triple, "LLVMGetDefaultTargetTriple", (void), 1)                             \
    X(char *, host_cpu, "LLVMGetHostCPUName", (void), 1)                                           \
    X(char *, host_features, "LLVMGetHostCPUFeatures", (void), 1)                                  \
    X(void, dispose_message, "LLVMDisposeMessage", (char *text), 1)                                \
    X(int, target_of, "LLVMGetTargetFromTriple", (const char *triple, fc_llvm_target_ref *t, char **message), 1) \
    X(fc_llvm_machine, create_machine, "LLVMCreateTargetMachine", (fc_llvm_target_ref t, const char *triple, const char *cpu, const char *features, int level, int reloc, int model), 1) \
    X(void, dispose_machine, "LLVMDisposeTargetMachine", (fc_llvm_machine m), 1)                   \
    X(fc_llvm_layout, create_layout, "LLVMCreateTargetDataLayout", (fc_llvm_machine m), 1)         \
    X(void, dispose_layout, "LLVMDisposeTargetData", (fc_llvm_layout l), 1)                        \
    X(int, emit, "LLVMTargetMachineEmitToMemoryBuffer", (fc_llvm_machine m, fc_llvm_module mod, int file_type, char **message, fc_llvm_buffer *out), 1) \
    X(fc_llvm_context, create_context, "LLVMContextCreate", (void), 1)                             \
    X(void, dispose_context, "LLVMContextDispose", (fc_llvm_context c), 1)                         \
    X(void, set_handler, "LLVMContextSetDiagnosticHandler", (fc_llvm_context c, fc_llvm_diagnostic_fn fn, void *user), 1) \
    X(int, severity, "LLVMGetDiagInfoSeverity", (fc_llvm_diagnostic d), 1)                         \
    X(char *, description, "LLVMGetDiagInfoDescription", (fc_llvm_diagnostic d), 1)                \
    X(fc_llvm_buffer, wrap_buffer, "LLVMCreateMemoryBufferWithMemoryRange", (const char *data, size_t len, const char *name, int nul_terminated), 1) \
    X(const char *, buffer_start, "LLVMGetBufferStart", (fc_llvm_buffer b), 1)                     \
    X(size_t, buffer_size, "LLVMGetBufferSize", (fc_llvm_buffer b), 1)                             \
    X(void, dispose_buffer, "LLVMDisposeMemoryBuffer", (fc_llvm_buffer b), 1)                      \
    X(int, parse, "LLVMParseIRInContext", (fc_llvm_context c, fc_llvm_buffer b, fc_llvm_module *out, char **message), 1) \
    X(void, dispose_module, "LLVMDisposeModule", (fc_llvm_module m), 1)                            \
    X(void, set_triple, "LLVMSetTarget", (fc_llvm_module m, const char *triple), 1)                \
    X(void, set_layout, "LLVMSetModuleDataLayout", (fc_llvm_module m, fc_llvm_layout l), 1)        \
    X(int, verify, "LLVMVerifyModule", (fc_llvm_module m, int action, char **message), 1)          \
    X(fc_llvm_pass_options, create_options, "LLVMCreatePassBuilderOptions", (void), 1)             \
    X(void, dispose_options, "LLVMDisposePassBuilderOptions", (fc_llvm_pass_options o), 1)         \
    X(fc_llvm_error, run_passes, "LLVMRunPasses", (fc_llvm_module m, const char *passes, fc_llvm_machine tm, fc_llvm_pass_options o), 1) \
    X(char *, error_message, "LLVMGetErrorMessage", (fc_llvm_error e), 1)                          \
    X(void, dispose_error, "LLVMDisposeErrorMessage", (char *text), 1)
/* clang-format on */
typedef struct fc_llvm_fns {
    FC_LLVM_FNS(FC_DYN_FIELD)
} fc_llvm_fns;

/* What the version means to those who write IR or choose passes. */
typedef struct fc_llvm_traits {
    bool masked_align_operand; /* llvm.masked.load/store take the alignment as an operand
                                  (up to 21) */
    bool memory_attribute;     /* memory(none) instead of readnone (from 16) */
    bool minimum_lowered;      /* llvm.minimum/maximum can be lowered; the process ends where not */
    const char *clean_passes;  /* early-cse with instcombine and simplifycfg */
} fc_llvm_traits;

enum { FC_LLVM_SPARE = 8, FC_LLVM_LEVELS = 4 };

typedef struct fc_llvm {
    const fc_alloc *alloc;
    fc_dynlib lib;
    fc_llvm_fns fn;
    unsigned major, minor, patch;
    fc_llvm_traits traits;
    fc_llvm_target_ref target;
    char triple[80];
    char cpu[64];
    char *features; /* "+avx2,-avx512f,..." of the host */
    /* Machines for the host that nobody uses, by level: making one and its tables costs half a
     * millisecond. */
    _Atomic(fc_llvm_machine) spare[FC_LLVM_LEVELS][FC_LLVM_SPARE];
} fc_llvm;

/* FUSEC_NO_LLVM with a list of what was looked for when there is none. */
fusec_status fc_llvm_open(const fc_alloc *alloc, fc_llvm **out, fc_error *e);
/* The same with places that come first (fc_dynsearch.first). */
fusec_status fc_llvm_open_in(const fc_alloc *alloc, const char *places, fc_llvm **out, fc_error *e);
void fc_llvm_close(fc_llvm *l); /* NULL is fine */
/* Switches the arithmetic of halves off in LLVM's list of features: nothing is computed in halves,
 * and where vectors of them have registers a streamed store loses its nontemporal mark. */
void fc_llvm_without_halves(char *features);

/* The file that fc_llvm_open would load, without loading it (the name holds the version). */
bool fc_llvm_find(const char *places, char *path, size_t size);

#endif
