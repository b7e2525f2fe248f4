/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dynlib.h - libraries found at run time.
 *
 * In: file names from best to worst, the places to look, and a table of wanted functions. Out: an
 * open library and a struct of function pointers, or a reason that says what was looked for and
 * where.
 *
 * The functions of a library are one X-macro list; each row becomes a typed pointer and a table
 * row:
 *
 *     #define FOO_FNS(X)                                 \
 *         X(int, version, "fooVersion", (int *major), 1)   1: the library is useless without it
 *     typedef struct foo_fns { FOO_FNS(FC_DYN_FIELD) } foo_fns;
 *     #define FOO_ROW(...) FC_DYN_ROW(foo_fns, __VA_ARGS__)
 *     static const fc_dynsym foo_syms[] = {FOO_FNS(FOO_ROW)};
 */
#ifndef FUSEC_RUNTIME_COMPILE_DYNLIB_H
#define FUSEC_RUNTIME_COMPILE_DYNLIB_H

#include "ir/base.h"

#define FC_DYN_FIELD(ret, field, symbol, args, required) ret(*field) args;
#define FC_DYN_ROW(table, ret, field, symbol, args, required)                                      \
    {symbol, offsetof(table, field), required},

typedef struct fc_dynsym {
    const char *name;
    size_t offset; /* of the pointer in the caller's table */
    bool required;
} fc_dynsym;

typedef struct fc_dynlib {
    void *handle;
    char path[512];
} fc_dynlib;

typedef struct fc_dynsearch {
    const char *env_name; /* "FUSEC_LIBCUDA_PATH": a file or a directory; when it is set, nothing
                             else is searched */
    const char *first; /* files and directories, with ':' between them, that come before all others;
                          NULL: none */
    const char *const *names; /* file names from best to worst, NULL at the end */
    const char *const *dirs;  /* directories or glob patterns; "" is the search of the dynamic
                                 linker;  NULL at the end. Every place is tried for the first name,
                                 then for the  second. */
    const fc_dynsym *syms;
    size_t n_syms;
    /* Last word on an opened library (its version, say); writes the reason for a no. May
     * be NULL. */
    bool (*accept)(void *user, const fc_dynlib *lib, char *why, size_t why_size);
    void *user;
} fc_dynsearch;

/* Opens the first library that loads, has every required function and is accepted. On failure the
 * table is all NULL and `why` says what was looked for; `why` must be initialised and is only
 * appended to. */
bool fc_dynlib_open(const fc_dynsearch *s, void *table, size_t table_size, fc_dynlib *lib,
                    fc_str *why);
void fc_dynlib_close(fc_dynlib *lib); /* also right for one that is not open */

/* The file that fc_dynlib_open would try first, symbolic links resolved, without loading anything:
 * its name stands for the version in cache keys. False when only the dynamic linker could tell. */
bool fc_dynlib_find(const fc_dynsearch *s, char *path, size_t size);

/* Directories built at run time: at most FC_DYN_DIRS of them, one that does not fit is left out. */
enum { FC_DYN_DIRS = 32 };
typedef struct fc_dyndirs {
    const char *at[FC_DYN_DIRS + 1]; /* ends with NULL */
    size_t n, used;
    char text[4096];
} fc_dyndirs;
void fc_dyndirs_init(fc_dyndirs *d);
/* `base` NULL or "" adds nothing (an environment variable that is not set). */
void fc_dyndirs_add(fc_dyndirs *d, const char *base, const char *tail);
/* Where CUDA is installed, and the wheels that bring a library of it: those of CUDA 13 in one
 * folder, older ones in that of their package. */
void fc_dyndirs_add_toolkits(fc_dyndirs *d);
void fc_dyndirs_add_wheels(fc_dyndirs *d, const char *package);

/* getenv, but NULL in set-user-id programs and for an empty value. */
const char *fc_env(const char *name);

#endif
