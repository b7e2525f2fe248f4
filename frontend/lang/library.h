/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* library.h - definitions that come with fusec (library.fuse): one text each, by name. */
#ifndef FUSEC_FRONTEND_LANG_LIBRARY_H
#define FUSEC_FRONTEND_LANG_LIBRARY_H

#include "ir/base.h"

typedef struct fc_library_entry {
    const char *name, *text;
} fc_library_entry;

extern const fc_library_entry fc_library[];
extern const size_t fc_library_count;

/* What it is for: the comment in front of the definition, on one line. False: out of memory. */
void fc_library_doc(const fc_library_entry *e, fc_str *out);
/* "softmax(x, axis = -1)" */
void fc_library_signature(const fc_library_entry *e, fc_str *out);
/* Whether a program's text has the name in it as a word. */
bool fc_library_is_named(const char *name, const char *text);

#endif
