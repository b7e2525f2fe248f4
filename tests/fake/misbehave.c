/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* misbehave.c - see misbehave.h. */
#include "tests/fake/misbehave.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void misbehave(const char *how) {
    if (!how) return;
    if (!strcmp(how, "crash")) raise(SIGSEGV);
    if (!strcmp(how, "abort")) {
        fprintf(stderr, "LLVM ERROR: out of memory\n");
        abort();
    }
    while (!strcmp(how, "hang")) pause();
    while (!strcmp(how, "spin")) __asm__ volatile("");
    if (!strcmp(how, "noise")) {
        for (int i = 0; i < 20000; i++) printf("a compiler that talks %d\n", i);
        fflush(stdout);
        for (int i = 0; i < 20000; i++) fprintf(stderr, "and warns %d\n", i);
    }
    while (!strcmp(how, "memory")) {
        char *p = malloc(64 << 20);
        if (!p) {
            fprintf(stderr, "terminate called after throwing an instance of 'std::bad_alloc'\n");
            abort();
        }
        memset(p, 1, 64 << 20);
    }
}
