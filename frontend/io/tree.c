/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tree.c - see tree.h. readdir() allocates, so names come from the system call itself where there
 * is one. */
#define _GNU_SOURCE
#include "frontend/io/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEPTH = 64 };

static void remove_at(int folder, const char *name, int depth);

#ifdef SYS_getdents64
/* What the kernel writes: number, offset, length, type, name. */
enum { LENGTH_AT = 16, NAME_AT = 19 };

static void empty(int fd, int depth) {
    char buf[2048] __attribute__((aligned(8)));
    long n;
    /* From the beginning again after names went, until a round finds nothing that goes. */
    for (int round = 0; round < 2; round++) {
        (void)lseek(fd, 0, SEEK_SET);
        while ((n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0)
            for (long at = 0; at + NAME_AT < n;) {
                uint16_t length;
                const char *name = buf + at + NAME_AT;
                memcpy(&length, buf + at + LENGTH_AT, sizeof length);
                if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) remove_at(fd, name, depth);
                at += length;
            }
    }
}
#else
static void empty(int fd, int depth) {
    DIR *d = fdopendir(dup(fd));
    for (struct dirent *x = d ? readdir(d) : NULL; x; x = readdir(d))
        if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
            remove_at(fd, x->d_name, depth);
    if (d) closedir(d);
}
#endif

static void remove_at(int folder, const char *name, int depth) {
    if (unlinkat(folder, name, 0) == 0 || depth == DEPTH) return;
    const int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    empty(fd, depth + 1);
    close(fd);
    (void)unlinkat(folder, name, AT_REMOVEDIR);
}

void fc_remove_tree(const char *path) {
    remove_at(AT_FDCWD, path, 0);
}
