/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* misbehave.h - what a compiler does instead of compiling: crash, abort, hang, spin (use the
 * processor without end), memory (take all there is), noise (print much, and then compile). */
#ifndef FUSEC_TESTS_FAKE_MISBEHAVE_H
#define FUSEC_TESTS_FAKE_MISBEHAVE_H

void misbehave(const char *how); /* NULL: nothing */

#endif
