/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_compile.h - textual LLVM IR in, a relocatable object or assembly text out.
 *
 * Each call has a context and a target machine to itself, so calls from several threads do not
 * meet. The object is position independent, small code model: what runtime/compile/objload.h takes.
 * Whatever LLVM has to say ends up in the error message, never on a stream. A fault that LLVM
 * itself calls fatal
 * ("Cannot select", out of memory) still ends the process. */
#ifndef FUSEC_RUNTIME_COMPILE_LLVM_COMPILE_H
#define FUSEC_RUNTIME_COMPILE_LLVM_COMPILE_H

#include "runtime/compile/bytes.h"
#include "runtime/compile/llvm_api.h"

typedef enum fc_llvm_passes {
    FC_LLVM_EARLY_CSE, /* enough for code that comes well formed from the generator */
    FC_LLVM_CLEAN,     /* with instcombine and simplifycfg */
    FC_LLVM_NO_PASSES
} fc_llvm_passes;

typedef struct fc_llvm_options {
    const char *cpu;      /* NULL: the host's */
    const char *features; /* NULL: the host's when `cpu` is NULL, else none */
    fc_llvm_passes passes;
    int level;     /* of the code generator: 0 to 3; 2 is usual */
    bool assembly; /* text instead of an object */
} fc_llvm_options;

/* `ir` must have a NUL at ir[len]. `name` stands in messages. FUSEC_LLVM when the text was
 * rejected. `out` must be empty and stays so on failure. */
fusec_status fc_llvm_compile(fc_llvm *l, const char *ir, size_t len, const char *name,
                             const fc_llvm_options *o, fc_bytes *out, fc_error *e);

#endif
