// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// support.c - what LLVM's archives want of libraries that are newer than the oldest system the package
// is for (glibc 2.28), or that nothing of what fusec asks for needs (compression).
//
// All of it is local to the shared object.

#define _GNU_SOURCE
#include <stddef.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- glibc 2.29 to 2.36 ----

char __libc_single_threaded;

int fusec_stat(const char *path, struct stat *to) __asm__("stat");
int fusec_lstat(const char *path, struct stat *to) __asm__("lstat");
int fusec_fstat(int fd, struct stat *to) __asm__("fstat");

// The kernel's structure is glibc's on x86-64.
int fusec_stat(const char *path, struct stat *to) { return (int)syscall(SYS_stat, path, to); }
int fusec_lstat(const char *path, struct stat *to) { return (int)syscall(SYS_lstat, path, to); }
int fusec_fstat(int fd, struct stat *to) { return (int)syscall(SYS_fstat, fd, to); }

unsigned arc4random(void) {
    unsigned r = 0;
    if (getrandom(&r, sizeof r, 0) != sizeof r) r = (unsigned)getpid();
    return r;
}

// Of the unwinder: nothing here throws. -1: not found.
int _dl_find_object(void *pc, void *result) {
    (void)pc, (void)result;
    return -1;
}

struct counts {
    size_t n[10];
};
struct counts mallinfo2(void) { return (struct counts){{0}}; }

// ---- zlib and zstd: sections of debug information could be compressed; there are none ----

size_t ZSTD_CCtx_setParameter(void *c, int p, int v) { return (void)c, (void)p, (void)v, (size_t)-1; }
size_t ZSTD_compress2(void *c, void *to, size_t room, const void *from, size_t n) {
    return (void)c, (void)to, (void)room, (void)from, (void)n, (size_t)-1;
}
size_t ZSTD_compressBound(size_t n) { return n + 512; }
void *ZSTD_createCCtx(void) { return NULL; }
size_t ZSTD_freeCCtx(void *c) { return (void)c, 0; }
unsigned ZSTD_isError(size_t code) { return code == (size_t)-1; }
int compress2(unsigned char *to, unsigned long *room, const unsigned char *from, unsigned long n, int level) {
    return (void)to, (void)room, (void)from, (void)n, (void)level, -2;
}
unsigned long compressBound(unsigned long n) { return n + 512; }
int uncompress(unsigned char *to, unsigned long *room, const unsigned char *from, unsigned long n) {
    return (void)to, (void)room, (void)from, (void)n, -2;
}
unsigned long crc32(unsigned long crc, const unsigned char *p, unsigned n) { return (void)p, (void)n, crc; }
