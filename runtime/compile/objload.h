/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* objload.h - a relocatable ELF object in memory in, functions that can be called out; no LLVM
 * needed.
 *
 * Takes what the small code model makes for x86-64 and aarch64: code, constants and data, local
 * relocations, and calls to functions that the caller knows. The bytes may come from a
 * damaged file: every offset, size and index is checked before use, and what is not known
 * (thread-local storage, constructors, common symbols, other relocations) is refused, never
 * skipped. Memory is writable while it is filled; then code becomes executable and constants
 * read-only. */
#ifndef FUSEC_RUNTIME_COMPILE_OBJLOAD_H
#define FUSEC_RUNTIME_COMPILE_OBJLOAD_H

#include "runtime/compile/bytes.h"

typedef void (*fc_fn)(void); /* to be cast to the real type */

/* The function of a name that the object calls; NULL: there is none. */
typedef fc_fn fc_find_symbol(const char *name);

typedef struct fc_object fc_object;

/* Errors: FUSEC_LLVM (not an object that this loader takes, or it
 * calls something unknown) and FUSEC_OUT_OF_MEMORY. The bytes are not needed afterwards. */
fusec_status fc_object_load(const fc_alloc *alloc, const uint8_t *data, size_t len,
                            fc_find_symbol *find, fc_object **out, fc_error *e);
/* A global function of the object; NULL when there is none of this name. */
fc_fn fc_object_function(const fc_object *o, const char *name);
size_t fc_object_mapped_bytes(const fc_object *o);
void fc_object_unload(fc_object *o); /* NULL is fine; its functions must not run any more */

#endif
