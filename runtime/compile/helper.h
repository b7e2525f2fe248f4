/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* helper.h - LLVM and NVRTC in a process of their own.
 *
 * Both end the process they run in when memory runs out, and a fault in them would too. With a
 * helper that process is not the caller's: a text goes out, a binary or a message comes back, and a
 * compiler that dies, hangs or takes too much is an error like any other.
 *
 *     in:  a program to start (the `fusec` command), limits of time and memory
 *     out: what fc_llvm_compile and fc_nvrtc_compile give; FUSEC_COMPILER when the compiler died or
 *          took too long, FUSEC_OUT_OF_MEMORY when it took too much
 *
 * Nothing is started before the first text, and a process is used for the texts that follow.
 * Several threads compile in several processes. They have no descriptor of the caller but the one
 * they talk through, default signals, a process group of their own (so that an interrupt at the
 * terminal goes to the caller only), and end when the caller does. After a fork the child starts
 * its own. */
#ifndef FUSEC_RUNTIME_COMPILE_HELPER_H
#define FUSEC_RUNTIME_COMPILE_HELPER_H

#include "runtime/compile/nvrtc.h"
#include "runtime/compile/llvm_compile.h"

typedef struct fc_helper fc_helper;

typedef struct fc_helper_options {
    const char *program; /* called as PROGRAM --compile-helper SECONDS BYTES; kept by the caller */
    int seconds;         /* for one text; 0 = 30 */
    uint64_t bytes;      /* address space of a process; 0 = 8 GiB */
} fc_helper_options;

fc_helper *fc_helper_new(const fc_alloc *alloc, const fc_helper_options *o); /* NULL: no memory */
void fc_helper_free(fc_helper *h); /* NULL is fine; ends its processes */

fusec_status fc_helper_llvm(fc_helper *h, const char *ir, size_t len, const char *name,
                            const fc_llvm_options *o, fc_bytes *out, fc_error *e);
fusec_status fc_helper_nvrtc(fc_helper *h, const char *source, const char *name,
                             const fc_nvrtc_options *o, fc_bytes *out, fc_error *e);

/* How many processes were started so far. */
uint64_t fc_helper_started(const fc_helper *h);

/* ---- the other side: what PROGRAM does ------------------------------------------------------- */

#define FC_HELPER_FLAG "--compile-helper"

/* Answers texts until the caller is gone; the status for _exit: exit handlers of the compilers are
 * nobody's business. */
int fc_helper_serve(int argc, char **argv);

/* ---- between them ---------------------------------------------------------------------------- */

enum { FC_HELPER_FD = 3, FC_HELPER_MAGIC = 0x66636832 };
enum { FC_HELPER_LLVM = 1, FC_HELPER_NVRTC = 2 };
#define FC_HELPER_MOST ((uint64_t)256 << 20) /* bytes of a text or a binary */

/* Followed by the strings in this order, each with a NUL that is counted; length 0 is NULL. */
typedef struct fc_helper_request {
    uint32_t magic, compiler;
    int32_t kind;    /* llvm: passes; nvrtc: cubin or PTX */
    int32_t level;   /* llvm */
    int32_t flag;    /* llvm: assembly; nvrtc: fmad */
    uint32_t target; /* length of the processor's or the architecture's name */
    uint32_t features;
    uint32_t name;
    uint64_t text;
} fc_helper_request;

/* Followed by the message, then the binary. */
typedef struct fc_helper_reply {
    uint32_t magic;
    int32_t status;
    uint32_t message;
    uint32_t zero;
    uint64_t data;
} fc_helper_reply;

#endif
