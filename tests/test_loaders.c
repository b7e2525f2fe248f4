/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_loaders.c - libraries found at run time, and what is known of the processor. */
#include "runtime/cpuinfo.h"
#include "runtime/compile/dynlib.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <unistd.h>

static const fc_alloc *const A = &fc_libc_alloc;

/* ---- dynlib -------------------------------------------------------------------------------- */

typedef struct demo_fns {
    double (*cosine)(double);
    void (*missing)(void);
} demo_fns;

FC_TEST(dynlib, lists_what_was_looked_for) {
    const char *const names[] = {"libdoes-not-exist.so.7", "libdoes-not-exist.so", NULL};
    const char *const dirs[] = {"", "/nowhere/lib", "/nowhere/*/lib", NULL};
    fc_dynsearch s = {.env_name = "FUSEC_TEST_LIB", .names = names, .dirs = dirs};
    demo_fns t;
    fc_dynlib lib;
    fc_str why;
    fc_str_init(&why, A);
    FC_EXPECT_FALSE(fc_dynlib_open(&s, &t, sizeof t, &lib, &why));
    FC_EXPECT_STREQ(why.data,
                    "libdoes-not-exist.so.7, libdoes-not-exist.so not found in the linker's "
                    "path, /nowhere/lib, /nowhere/*/lib");
    fc_str_clear(&why);
    setenv("FUSEC_TEST_LIB", "/etc/hostname", 1);
    FC_EXPECT_FALSE(fc_dynlib_open(&s, &t, sizeof t, &lib, &why));
    FC_EXPECT_CONTAINS(why.data, "cannot load /etc/hostname");
    FC_EXPECT_CONTAINS(why.data, "FUSEC_TEST_LIB is /etc/hostname, so nothing else was searched");
    unsetenv("FUSEC_TEST_LIB");
    fc_str_free(&why);
}

FC_TEST(dynlib, required_and_optional_functions) {
    const char *const names[] = {"libm.so.6", NULL};
    const char *const dirs[] = {"", NULL};
    fc_dynsym syms[] = {{"cos", offsetof(demo_fns, cosine), true},
                        {"no_such_function", offsetof(demo_fns, missing), false}};
    fc_dynsearch s = {.names = names, .dirs = dirs, .syms = syms, .n_syms = 2};
    demo_fns t;
    fc_dynlib lib;
    fc_str why;
    fc_str_init(&why, A);
    FC_ASSERT_TRUE(fc_dynlib_open(&s, &t, sizeof t, &lib, &why));
    FC_EXPECT_EQ_F64(t.cosine(0), 1);
    FC_EXPECT_TRUE(t.missing == NULL);
    fc_dynlib_close(&lib);
    syms[1].required = true;
    FC_EXPECT_FALSE(fc_dynlib_open(&s, &t, sizeof t, &lib, &why));
    FC_EXPECT_CONTAINS(why.data, "libm.so.6 has no no_such_function");
    FC_EXPECT_TRUE(t.cosine == NULL);
    fc_str_free(&why);
}

/* ---- the processor ------------------------------------------------------------------------- */

FC_TEST(cpuinfo, is_plausible) {
    fc_cpuinfo c;
    fc_str s;
    fc_cpuinfo_get(&c);
    fc_str_init(&s, A);
    fc_cpuinfo_features(&c, &s);
    FC_EXPECT_TRUE(c.vector_bytes == 16 || c.vector_bytes == 32 || c.vector_bytes == 64);
    FC_EXPECT_GE_I64(c.cores, 1);
    FC_EXPECT_LE_I64(c.cores, sysconf(_SC_NPROCESSORS_CONF));
    FC_EXPECT_GE_I64((int64_t)c.l2, (int64_t)c.l1d);
    FC_EXPECT_GT_I64((int64_t)strlen(c.key), 10);
#if defined(__x86_64__)
    __builtin_cpu_init();
    FC_EXPECT_EQ_I64(!!(c.features & FC_CPU_AVX2), !!__builtin_cpu_supports("avx2"));
    FC_EXPECT_EQ_I64(!!(c.features & FC_CPU_FMA), !!__builtin_cpu_supports("fma"));
    FC_EXPECT_EQ_I64(!!(c.features & FC_CPU_AVX512F), !!__builtin_cpu_supports("avx512f"));
    FC_EXPECT_EQ_I64(!!(c.features & FC_CPU_AVX512VL), !!__builtin_cpu_supports("avx512vl"));
#endif
    fc_str_free(&s);
}
