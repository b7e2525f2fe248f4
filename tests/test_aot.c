/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_aot.c - `fusec build`: the header in C99 and in C++, the object next to the library, what it
 * needs of others, and mistakes. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/cpu_bits.h"
#include "runtime/cpuinfo.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

#define CC  FUSEC_TEST_CC " " FUSEC_TEST_CFLAGS
#define FEW "FUSEC_AOT_CLASSES=1" /* where it does not matter for which sizes there is code */

/* A folder with the object of tests/aot/program.fuse; false: something is missing here. */
static bool build(shell *sh, const char *environment, const char *options) {
    if (!shell_run(sh, "ld --version >ld.txt && objcopy --version >objcopy.txt") || sh->code)
        return false;
    shell_run(sh,
              "cp '%s/tests/aot/program.fuse' '%s/tests/aot/driver.c' . && %s fusec build "
              "program.fuse -o . %s",
              FUSEC_SOURCE_DIR, FUSEC_SOURCE_DIR, environment, options);
    if (sh->code == 5 && strstr(sh->err, "[no-llvm]")) return false;
    if (sh->code) FC_FAIL("exit code %d\n%s", sh->code, sh->err);
    return sh->code == 0;
}

static bool has_level(const char *name) {
    int bytes;
    unsigned needs;
    return fc_cpu_level(name, &bytes, &needs) && !(needs & ~fc_cpu_bits());
}

static void drive(shell *sh, const char *level) {
    EXPECT_RUN(
        (*sh), 0,
        CC " -std=c99 -O1 -D_POSIX_C_SOURCE=200809L -I'%s/include' driver.c program.o -o driver "
           "-L'%s/lib' -Wl,-rpath,'%s/lib' -lfusec -lm -lpthread",
        FUSEC_SOURCE_DIR, FUSEC_BINARY_DIR, FUSEC_BINARY_DIR);
    EXPECT_RUN((*sh), 0, "./driver program.fuse %s >out.txt || { cat out.txt >&2; exit 1; }",
               level);
    EXPECT_RUN((*sh), 0, "cat out.txt");
    FC_EXPECT_TRUE(strstr(sh->out, " calls, 0 wrong") != NULL);
}

/* Nothing of fusec or of a compiler: what is not there is of libc and libm. */
static void expect_libc_alone(shell *sh) {
    EXPECT_RUN((*sh), 0, "nm -u program.o | grep -E 'fusec|fc_|LLVM|__cpu|nvrtc' ; test $? = 1");
    EXPECT_RUN((*sh), 0, "nm program.o | grep -E ' [TDBRC] ' | grep -v ' program_' ; test $? = 1");
    EXPECT_RUN((*sh), 0,
               "echo 'void *f(void); int main(void) { return 0; }' >m.c && " CC
               " -Wl,--no-undefined -shared program.o -o program.so -lm");
}

/* A level alone, so that it is the one that runs. */
static void next_to_the_library(const char *environment, const char *level) {
    char options[40];
    FC_TAKE_ONE_OF(2);
    if (!has_level(level)) FC_SKIP("this processor is below %s", level);
    OPEN(sh);
    snprintf(options, sizeof options, "--arch %s", level);
    if (build(&sh, environment, options)) {
        drive(&sh, level);
        expect_libc_alone(&sh);
    }
    shell_close(&sh);
}

FC_TEST(aot, calls_give_the_bits_of_the_library) {
    next_to_the_library("", "x86-64-v3");
}

/* The code that takes any sizes, for all of them. */
FC_TEST(aot, plain_code_gives_the_bits_of_the_library) {
    next_to_the_library("FUSEC_AOT_CLASSES=0", "x86-64");
}

FC_TEST(aot, the_header_is_c99_and_cxx) {
    OPEN(sh);
    if (build(&sh, "FUSEC_LIBLLVM_PATH=nosuch.so", "--emit header,json")) {
        EXPECT_RUN(sh, 0,
                   "echo '#include \"program.h\"' >a.c && echo '#include \"program.h\"' >>a.c");
        EXPECT_RUN(sh, 0, CC " -std=c99 -Wall -Wextra -Wpedantic -Werror -c a.c");
        EXPECT_RUN(sh, 0, CC " -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -c a.c");
        EXPECT_RUN(sh, 0, "cat program.h");
        FC_EXPECT_CONTAINS(sh.out,
                           "int program_soft(const program_env *env, int64_t outer, int64_t n, "
                           "const float *x, float *out);");
        FC_EXPECT_CONTAINS(sh.out, "const float *x, float int_, float *mean, float *x_out);");
        FC_EXPECT_CONTAINS(sh.out, "int program_turned_f32(");
        EXPECT_RUN(sh, 0, "cat program.json");
        FC_EXPECT_CONTAINS(sh.out, "{\"function\":\"program_whole\",\"definition\":\"whole\"");
        EXPECT_RUN(sh, 1, "test -e program.o");
    }
    shell_close(&sh);
}

/* Of all levels, where it may choose between them. */
FC_TEST(aot, the_object_needs_libc_and_libm_alone) {
    FC_TAKE_ONE_OF(1);
    OPEN(sh);
    if (build(&sh, FEW, "")) expect_libc_alone(&sh);
    shell_close(&sh);
}

/* Two objects, of which each has all it needs, in one program; a size that is fixed. */
FC_TEST(aot, objects_do_not_meet) {
    OPEN(sh);
    if (build(&sh, FEW, "--arch x86-64,x86-64-v3 --entry soft,whole") &&
        build(&sh, FEW, "--arch x86-64,x86-64-v3 --prefix other --static n=4 --entry soft")) {
        EXPECT_RUN(
            sh, 0,
            "cat >m.c <<'X'\n"
            "#include \"program.h\"\n#include \"other.h\"\n#include <string.h>\n"
            "int main(void) {\n"
            "    float x[8] = {1, 2, 3, 4, 4, 3, 2, 1}, y[8], z[8];\n"
            "    if (program_soft(NULL, 2, 4, x, y) || other_soft(NULL, 2, x, z)) return 1;\n"
            "    return memcmp(y, z, sizeof y) != 0;\n}\nX\n" CC
            " -include stddef.h m.c program.o other.o -o m -lm && ./m");
    }
    shell_close(&sh);
}

/* A program of one call, which is 0 where the rows of the result add up to 1. */
static void write_caller(shell *sh, const char *name) {
    EXPECT_RUN((*sh), 0,
               "cat >%s.c <<'X'\n"
               "#include \"%s.h\"\n"
               "int main(void) {\n"
               "    float x[8] = {1, 2, 3, 4, 4, 3, 2, 1}, y[8], sum = 0;\n"
               "    if (%s_abi() != 1 || %s_soft(0, 2, 4, x, y)) return 1;\n"
               "    for (int i = 0; i < 8; i++) sum += y[i];\n"
               "    return !(sum > 1.9999f && sum < 2.0001f);\n}\nX\n",
               name, name, name, name);
}

FC_TEST(aot, libraries_and_what_build_systems_are_told) {
    OPEN(sh);
    if (build(&sh, "", "--prefix nn --entry soft --arch x86-64 --emit header,lib,so,cmake,pc")) {
        write_caller(&sh, "nn");
        EXPECT_RUN(sh, 0, CC " nn.c libnn.a -o a -lm && ./a");
        EXPECT_RUN(sh, 0, CC " nn.c -L. -lnn -Wl,-rpath,\"$PWD\" -o b && ./b");
        EXPECT_RUN(sh, 0, "nm -D --defined-only libnn.so | grep -c ' T nn_' | grep -x 2");
        EXPECT_RUN(sh, 1, "nm -D --defined-only libnn.so | grep -v ' T nn_'");
        EXPECT_RUN(sh, 1, "test -e nn.o");
        EXPECT_RUN(sh, 0, "cat nn.pc nn.cmake");
        FC_EXPECT_CONTAINS(sh.out, "Libs: ${prefix}/libnn.a -lm");
        FC_EXPECT_CONTAINS(sh.out, "target_link_libraries(nn INTERFACE "
                                   "${CMAKE_CURRENT_LIST_DIR}/libnn.a m)");
        if (shell_run(&sh, "pkg-config --version >version.txt") && !sh.code)
            EXPECT_RUN(sh, 0,
                       CC " nn.c -o c $(PKG_CONFIG_PATH=. pkg-config --cflags --libs nn) && ./c");
    }
    shell_close(&sh);
}

/* It is small, too. In a root of its own there are libc and libm, nothing to write to, and nobody's
 * rights. */
FC_TEST(aot, an_object_runs_where_there_is_nothing_else) {
    OPEN(sh);
    const bool built = build(&sh, "", "--prefix nn --entry soft");
    if (built) EXPECT_RUN(sh, 0, "test $(stat -c %%s nn.o) -le 256000");
    if (built && geteuid() == 0) { /* who else can't change the root */
        write_caller(&sh, "nn");
        /* not with a sanitizer, which looks into /proc */
        EXPECT_RUN(sh, 0, FUSEC_TEST_CC " nn.c nn.o -o nn -lm && ./nn");
        EXPECT_RUN(sh, 0,
                   "mkdir root && cp nn root/ && for lib in $(ldd nn | grep -oE '/[^ ]+'); do "
                   "mkdir -p root$(dirname $lib) && cp -L $lib root$lib; done; chmod -R a-w root");
        EXPECT_RUN(sh, 0,
                   "chmod a+rx . && PATH=$PATH:/usr/sbin chroot --userspec=65534:65534 "
                   "\"$PWD/root\" /nn");
        EXPECT_RUN(sh, 0, "ldd nn | grep -cE 'LLVM|nvrtc|cuda|fusec' | grep -x 0");
        EXPECT_RUN(sh, 0, "chmod -R u+w root");
    }
    shell_close(&sh);
}

FC_TEST(aot, mistakes) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "cp '%s/tests/aot/program.fuse' .", FUSEC_SOURCE_DIR);
    EXPECT_RUN(sh, 2, "fusec build program.fuse -o out --emit header,nosuch");
    EXPECT_RUN(sh, 3, "fusec build program.fuse -o out --arch armv8");
    FC_EXPECT_CONTAINS(sh.err,
                       "an object has code for levels of x86-64 and for GPUs, not for armv8");
    EXPECT_RUN(sh, 2, "fusec build program.fuse -o out --entry nosuch");
    if (build(&sh, FEW, "--entry soft --emit header")) {
        EXPECT_RUN(sh, 4,
                   "PATH=$(dirname $(command -v fusec)) " FEW
                   " fusec build program.fuse --entry soft -o "
                   "out --emit obj");
        FC_EXPECT_CONTAINS(sh.err, "ld of binutils is needed");
    }
    shell_close(&sh);
}
