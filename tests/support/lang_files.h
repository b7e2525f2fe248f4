/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lang_files.h - the corpus of the text language, and what tests of readers share.
 *
 *     static void parses(const char *dir, const char *name, const char *text, size_t len) { ... }
 *     each_lang_file(LANG_PROGRAMS, ".fuse", parses);
 */
#ifndef FUSEC_TESTS_SUPPORT_LANG_FILES_H
#define FUSEC_TESTS_SUPPORT_LANG_FILES_H

#include <stddef.h>
#include <stdint.h>

#define LANG_PROGRAMS FUSEC_SOURCE_DIR "/tests/lang/programs"
#define LANG_ERRORS   FUSEC_SOURCE_DIR "/tests/lang/errors"

typedef void (*lang_file_fn)(const char *dir, const char *name, const char *text, size_t len);

/* Calls `fn` for each file of a folder that ends in `ext`, in the order of their names. The text
 * ends in a NUL that `len` does not count. At least one must be there. */
void each_lang_file(const char *dir, const char *ext, lang_file_fn fn);

/* 31 bits of a linear congruential generator: the same texts on every machine. */
uint32_t lang_random(uint64_t *state);

#endif
