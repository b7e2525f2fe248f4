/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_pack.c - code without a compiler: packs, code that must not be compiled, levels of the CPU,
 * and what the cache keeps when the compiler is another one, at another place, or gone. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/compile/llvm_api.h"
#include "runtime/cpuinfo.h"
#include "runtime/pack.h"
#include "tests/fuzz/targets.h"
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* ---- the file -------------------------------------------------------------------------------- */

static fc_packed entry(uint8_t first, const char *code) {
    fc_packed x = {.kind = 1, .data = (const uint8_t *)code, .len = strlen(code)};
    x.key[0] = first;
    snprintf(x.label, sizeof x.label, "kernel %d", first);
    return x;
}

static void write_file(const char *path, const void *data, size_t n, mode_t mode) {
    FILE *f = fopen(path, "wb");
    FC_ASSERT_TRUE(f != NULL);
    if (n) FC_EXPECT_EQ_U64(fwrite(data, 1, n, f), n);
    fclose(f);
    FC_EXPECT_EQ_I64(chmod(path, mode), 0);
}

static void make_pack(fc_str *out) {
    fc_error e = {0};
    fc_packed x[] = {entry(9, "nine"), entry(2, "two"), entry(9, "again"), entry(5, "")};
    fc_str_init(out, &fc_libc_alloc);
    FC_EXPECT_OK(fc_pack_write("x86-64-v3", x, FC_COUNT(x), out, &e), &e);
}

static fusec_status open_bytes(const char *path, const void *data, size_t n, mode_t mode,
                               fc_error *e) {
    fc_pack *p = NULL;
    *e = (fc_error){0};
    write_file(path, data, n, mode);
    const fusec_status s = fc_pack_open(&fc_libc_alloc, path, &p, e);
    fc_pack_close(p);
    return s;
}

FC_TEST(pack, entries_are_found) {
    char path[] = "/tmp/fusec-pack-XXXXXX";
    close(mkstemp(path));
    fc_str file;
    fc_pack *p = NULL;
    fc_error e = {0};
    make_pack(&file);
    write_file(path, file.data, file.len, 0600);
    FC_ASSERT_OK(fc_pack_open(&fc_libc_alloc, path, &p, &e), &e);
    FC_EXPECT_STREQ(fc_pack_level(p), "x86-64-v3");
    FC_EXPECT_EQ_U64(fc_pack_count(p), 3);
    const fc_packed want[] = {entry(2, "two"), entry(5, "")};
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        fc_bytes b = {0};
        FC_EXPECT_TRUE(fc_pack_get(p, want[i].key, 1, &b));
        FC_EXPECT_TRUE(b.len == want[i].len && !memcmp(b.data, want[i].data, b.len));
        fc_bytes_free(&fc_libc_alloc, &b);
        FC_EXPECT_TRUE(!fc_pack_get(p, want[i].key, 2, &b));
    }
    fc_bytes none = {0};
    FC_EXPECT_TRUE(!fc_pack_get(p, entry(3, "").key, 1, &none));
    fc_pack_close(p);
    fc_str again;
    make_pack(&again);
    FC_EXPECT_TRUE(again.len == file.len && !memcmp(again.data, file.data, file.len));
    fc_str_free(&file);
    fc_str_free(&again);
    unlink(path);
}

FC_TEST(pack, what_is_not_trusted) {
    char path[] = "/tmp/fusec-pack-XXXXXX";
    close(mkstemp(path));
    fc_str file;
    fc_error e = {0};
    make_pack(&file);
    FC_EXPECT_EQ_I64(open_bytes(path, file.data, file.len, 0622, &e), FUSEC_IO);
    FC_EXPECT_TRUE(strstr(e.message, "others may write to it") != NULL);
    if (geteuid() == 0) { /* only root can give a file away */
        FC_EXPECT_EQ_I64(chmod(path, 0600), 0);
        fc_pack *p = NULL;
        e = (fc_error){0};
        if (!chown(path, 1, 1)) {
            FC_EXPECT_EQ_I64(fc_pack_open(&fc_libc_alloc, path, &p, &e), FUSEC_IO);
            FC_EXPECT_TRUE(strstr(e.message, "it belongs to another user") != NULL);
        }
        FC_EXPECT_EQ_I64(chown(path, 0, 0), 0);
    }
    FC_EXPECT_EQ_I64(open_bytes(path, "not a pack", 10, 0600, &e), FUSEC_IO);
    fc_pack *p = NULL;
    FC_EXPECT_EQ_I64(fc_pack_open(&fc_libc_alloc, "/nosuch.fpk", &p, &e), FUSEC_IO);
    FC_EXPECT_EQ_I64(fc_pack_open(&fc_libc_alloc, "/tmp", &p, &e), FUSEC_IO);
    fc_str_free(&file);
    unlink(path);
}

/* A changed byte of the index is an error, one of the code a miss; a cut file an error. */
FC_TEST(pack, every_changed_byte) {
    char path[] = "/tmp/fusec-pack-XXXXXX";
    close(mkstemp(path));
    fc_str file;
    fc_error e = {0};
    make_pack(&file);
    const size_t code = file.len - 7; /* "two", "", "nine" */
    for (size_t i = 0; i < file.len; i++) {
        file.data[i] = (char)(file.data[i] ^ 0x10);
        FC_EXPECT_EQ_I64(open_bytes(path, file.data, file.len, 0600, &e),
                         i < code ? FUSEC_IO : FUSEC_OK);
        file.data[i] = (char)(file.data[i] ^ 0x10);
    }
    for (size_t n = 0; n < file.len; n++)
        FC_EXPECT_EQ_I64(open_bytes(path, file.data, n, 0600, &e), FUSEC_IO);
    file.data[code] = 'T';
    write_file(path, file.data, file.len, 0600);
    fc_pack *p = NULL;
    fc_bytes b = {0};
    FC_ASSERT_OK(fc_pack_open(&fc_libc_alloc, path, &p, &e), &e);
    FC_EXPECT_TRUE(!fc_pack_get(p, entry(2, "").key, 1, &b) && b.data == NULL);
    fc_pack_close(p);
    /* with the checksum of the index made anew */
    uint8_t *signed_file = malloc(file.len + 1);
    FC_ASSERT_TRUE(signed_file != NULL);
    for (size_t i = 0; i < file.len; i++) {
        memcpy(signed_file + 1, file.data, file.len);
        signed_file[0] = 1;
        signed_file[1 + i] ^= (uint8_t)(1u << i % 8);
        fuzz_pack(signed_file, file.len + 1);
    }
    free(signed_file);
    fc_str_free(&file);
    unlink(path);
}

/* ---- processes without a compiler ------------------------------------------------------------ */

#define AT_LEVEL "FUSEC_DEVICE=cpu FUSEC_CPU=x86-64 FUSEC_TIERS=full FUSEC_CACHE_DIR=\"$PWD/kept\" "
#define NO_LLVM  "FUSEC_LIBLLVM_PATH=/nowhere "
#define SUM      "fusec -q -e 'sum(x*2)' x=iota:f32:1000"

/* False: this machine has no LLVM. Else the sum is in the cache. */
static bool compile_here(shell *sh) {
    shell_run(sh, AT_LEVEL SUM);
    if (sh->code == 5 && strstr(sh->err, "[no-llvm]")) return false;
    FC_EXPECT_EQ_I64(sh->code, 0);
    return true;
}

FC_TEST(pack, a_warm_cache_needs_no_compiler) {
    OPEN(sh);
    if (!compile_here(&sh)) {
        shell_close(&sh);
        FC_SKIP("no LLVM");
    }
    char *want = strdup(sh.out);
    EXPECT_RUN(sh, 0, AT_LEVEL NO_LLVM SUM);
    FC_EXPECT_STREQ(sh.out, want);
    EXPECT_RUN(sh, 5, AT_LEVEL NO_LLVM "fusec -q -e 'sum(x*3)' x=iota:f32:1000");
    FC_EXPECT_TRUE(strstr(sh.err, "[no-llvm]") != NULL);
    EXPECT_RUN(sh, 5,
               AT_LEVEL NO_LLVM "FUSEC_COMPILE=never fusec -q -e 'sum(x*3)' x=iota:f32:1000");
    FC_EXPECT_TRUE(strstr(sh.err, "[no-code]") != NULL);
    /* auto: nothing can be compiled, so the interpreter does it */
    EXPECT_RUN(sh, 0, NO_LLVM "FUSEC_LIBCUDA_PATH=/nowhere fusec -v -e 'sum(x*2)' x=iota:f32:1000");
    FC_EXPECT_TRUE(strstr(sh.err, "running on the interpreter") != NULL);
    free(want);
    shell_close(&sh);
}

FC_TEST(pack, the_same_compiler_at_another_path) {
    char path[512];
    if (!fc_llvm_find(NULL, path, sizeof path)) FC_SKIP("no LLVM");
    OPEN(sh);
    FC_EXPECT_TRUE(compile_here(&sh));
    EXPECT_RUN(sh, 0, "mkdir llvm && ln -s '%s' llvm/", path);
    EXPECT_RUN(sh, 0, AT_LEVEL "FUSEC_COMPILE=never FUSEC_LIBLLVM_PATH=\"$PWD/llvm/%s\" " SUM,
               strrchr(path, '/') + 1);
    /* another one: its code is made anew */
    EXPECT_RUN(sh, 0, "ln '%s' llvm/libLLVM-other.so || cp '%s' llvm/libLLVM-other.so", path, path);
    EXPECT_RUN(sh, 5,
               AT_LEVEL
               "FUSEC_COMPILE=never FUSEC_LIBLLVM_PATH=\"$PWD/llvm/libLLVM-other.so\" " SUM);
    FC_EXPECT_TRUE(strstr(sh.err, "[no-code]") != NULL);
    EXPECT_RUN(sh, 0, AT_LEVEL "FUSEC_LIBLLVM_PATH=\"$PWD/llvm/libLLVM-other.so\" " SUM);
    shell_close(&sh);
}

FC_TEST(pack, a_program_with_its_pack) {
    OPEN(sh);
    if (!compile_here(&sh)) {
        shell_close(&sh);
        FC_SKIP("no LLVM");
    }
    EXPECT_RUN(sh, 0, AT_LEVEL "fusec cache --pack app.fpk");
    FC_EXPECT_TRUE(strncmp(sh.out, "app.fpk: ", 9) == 0);
    EXPECT_RUN(sh, 0, "chmod 400 app.fpk");
#define PACKED                                                                                     \
    NO_LLVM "FUSEC_LIBCUDA_PATH=/nowhere FUSEC_CACHE_DIR= FUSEC_COMPILE=never "                    \
            "FUSEC_PACKS=app.fpk "
    EXPECT_RUN(sh, 0, PACKED SUM);
    FC_EXPECT_STREQ(sh.out, "999000.0\n");
    EXPECT_RUN(sh, 5, PACKED "fusec -q -e 'sum(x*3)' x=iota:f32:1000");
    FC_EXPECT_TRUE(strstr(sh.err, "there is no code for the kernel") &&
                   strstr(sh.err, "[no-code]"));
    EXPECT_RUN(sh, 4, "chmod 666 app.fpk; " PACKED SUM);
    FC_EXPECT_TRUE(strstr(sh.err, "app.fpk: others may write to it") != NULL);
    EXPECT_RUN(sh, 2, "FUSEC_DEVICE=cpu FUSEC_CPU=pentium " SUM);
    EXPECT_RUN(sh, 2, "FUSEC_COMPILE=perhaps " SUM);
    EXPECT_RUN(sh, 2, "fusec cache --pack a.fpk --clear");
    shell_close(&sh);
}

/* Kernels of sizes that nobody has computed yet. */
/* On a GPU, too, other classes run by code that takes any sizes. */
FC_TEST(pack, of_a_gpu) {
#define GPU                                                                                        \
    "FUSEC_LIBCUDA_PATH=" FAKE("whole") " FUSEC_NVRTC_PATH=" FAKE(                                 \
        "whole") " FAKE_CUDA_EXECUTE=1 "                                                           \
                 "FUSEC_CACHE_DIR=\"$PWD/kept\" "
    static const char *const shapes[] = {"1x1", "7x33", "200x3", "3x5000", "4x0"};
    if (!fake_can_execute()) FC_SKIP("kernels can't run on this host");
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "echo 'export def f(x: f32[n, m]) -> (s: f32[n], c: f32[m], r: f32[n, m]) {\n"
               "    return sum(x*2, axis=1), sum(x, axis=0), cumsum(x, axis=1)\n}' >f.fuse");
    EXPECT_RUN(sh, 0, GPU "fusec cache --pack app.fpk f.fuse --sizes n=3,m=5 -d cuda");
    EXPECT_RUN(sh, 0, "chmod 400 app.fpk && rm -rf kept");
    for (size_t i = 0; i < FC_COUNT(shapes); i++) {
        EXPECT_RUN(sh, 0,
                   GPU "FUSEC_COMPILE=never FUSEC_PACKS=app.fpk fusec -q run f.fuse x=rand:f32:%s "
                       "-d cuda -o s=s.npy -o c=c.npy -o r=r.npy",
                   shapes[i]);
        EXPECT_RUN(sh, 0,
                   "fusec -q run f.fuse x=rand:f32:%s -d interp --expect s=s.npy --expect c=c.npy "
                   "--expect r=r.npy",
                   shapes[i]);
    }
    shell_close(&sh);
}

FC_TEST(pack, a_program_that_has_not_run) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "echo 'export def f(x: T[n, m]) = sum(x*2, axis=-1)' >f.fuse");
#define PACK AT_LEVEL "fusec cache --pack app.fpk f.fuse "
    shell_run(&sh, PACK "--sizes n=1,100,m=3..1000 --dtype T=f32,f64");
    if (sh.code == 5 && strstr(sh.err, "[no-llvm]")) {
        shell_close(&sh);
        FC_SKIP("no LLVM");
    }
    FC_EXPECT_EQ_I64(sh.code, 0);
    EXPECT_RUN(sh, 0, "chmod 400 app.fpk");
    EXPECT_RUN(sh, 0, PACKED "fusec -q run f.fuse x=ones:f32:100x1000 -o y.npy");
    EXPECT_RUN(sh, 0, PACKED "fusec -q run f.fuse x=ones:f64:1x3");
    FC_EXPECT_STREQ(sh.out, "[6.]\n");
    /* other classes: by the code that takes any sizes, with the same bits */
    EXPECT_RUN(sh, 0, PACK "--sizes n=3,m=5 && chmod 400 app.fpk");
    static const char *const shapes[] = {"1x1", "7x33", "1000x2", "3x40000", "0x4"};
    for (size_t i = 0; i < FC_COUNT(shapes); i++) {
        EXPECT_RUN(sh, 0, PACKED "fusec -q run f.fuse x=rand:f32:%s -d cpu -o a.npy", shapes[i]);
        EXPECT_RUN(sh, 0, "fusec -q run f.fuse x=rand:f32:%s -d interp --expect a.npy", shapes[i]);
    }
    EXPECT_RUN(sh, 5, PACKED "fusec -q run f.fuse x=ones:i32:1x3");
    EXPECT_RUN(sh, 2, PACK);
    EXPECT_RUN(sh, 2, PACK "--sizes n=1");
    FC_EXPECT_TRUE(strstr(sh.err, "--sizes does not say what m is in f") != NULL);
    EXPECT_RUN(sh, 2, PACK "--sizes n=1,m=5..2");
    EXPECT_RUN(sh, 2, PACK "--sizes 4");
    EXPECT_RUN(sh, 2, PACK "--sizes n=1^999999999999,m=2"); /* in no time */
    EXPECT_RUN(sh, 2, PACK "--sizes n=10^,m=2");
    EXPECT_RUN(sh, 2, "fusec cache f.fuse --sizes n=1,m=2");
    EXPECT_RUN(sh, 4, "FUSEC_CACHE_DIR=kept fusec cache --pack none.fpk f.fuse --sizes n=1,m=2");
    FC_EXPECT_CONTAINS(sh.err, "a pack is made of the kernels that are kept on disk");
    EXPECT_RUN(sh, 1, "test -e none.fpk");
    shell_close(&sh);
}

/* ---- from C ---------------------------------------------------------------------------------- */

FC_TEST(pack, options) {
    fusec_context *ctx = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "cpu";
    o.cache_dir = "";
    o.packs = "/nosuch.fpk";
    FC_EXPECT_EQ_I64(fusec_context_new(&o, &ctx), FUSEC_IO);
    FC_EXPECT_TRUE(ctx == NULL && strstr(fusec_message(NULL), "/nosuch.fpk"));
    o.packs = NULL;
    o.cpu = "x86-64-v9";
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    FC_EXPECT_EQ_I64(fusec_device(ctx, NULL, NULL), FUSEC_INVALID);
    fusec_context_free(ctx);
    o.cpu = "x86-64";
    o.never_compile = 1;
    FC_ASSERT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    fusec_graph *g = NULL;
    float x = 1, y;
    FC_ASSERT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    const fusec_value v = fusec_sin(fusec_array(g, FUSEC_F32, 0, NULL, &x));
    FC_EXPECT_EQ_I64(fusec_read(v, &y, sizeof y), FUSEC_NO_CODE);
    capi_end(ctx, g);
}

FC_TEST(pack, levels_have_what_the_one_below_has) {
    static const char *const names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    unsigned before = 0;
    for (size_t i = 0; i < FC_COUNT(names); i++) {
        int bytes = 0;
        unsigned now = 0;
        FC_EXPECT_TRUE(fc_cpu_level(names[i], &bytes, &now) && bytes >= 16);
        FC_EXPECT_EQ_I64(before & ~now, 0);
        before = now;
    }
    int bytes;
    FC_EXPECT_TRUE(!fc_cpu_level("x86-64-v5", &bytes, &before));
}
