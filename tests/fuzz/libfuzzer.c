/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libfuzzer.c - a target for libFuzzer; FUZZ_TARGET is its function. With FUZZ_WORDS half of the
 * new inputs are old ones with other words, half what libFuzzer makes of the bytes. */
#include "tests/fuzz/mutate_words.h"
#include "tests/fuzz/targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_TARGET(data, size);
    return 0;
}

#ifdef FUZZ_WORDS
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    if (seed % 2) return LLVMFuzzerMutate(data, size, room);
    return fuzz_mutate_words(data, size, room, seed / 2);
}
#endif
