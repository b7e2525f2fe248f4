/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mutate_words.h - changes a text word by word, for libFuzzer targets that read text.
 *
 * Changed bytes seldom make another program that is right; words that change places do. */
#ifndef FUSEC_TESTS_FUZZ_MUTATE_WORDS_H
#define FUSEC_TESTS_FUZZ_MUTATE_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Makes one to four changes to the `size` bytes of `data`, which has room for `room`: a word is
 * left out, said twice, replaced by one of the same text or changes places with it; some words in a
 * row, or a line, are copied elsewhere; a part is put into brackets. Words are names, numbers,
 * spaces, ends of lines and single signs. The same seed makes the same changes. Returns the new
 * size. */
size_t fuzz_mutate_words(uint8_t *data, size_t size, size_t room, unsigned seed);

#endif
