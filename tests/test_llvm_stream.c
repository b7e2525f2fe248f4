/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_llvm_stream.c - stores that pass by the cache (codegen/llvm/llvm_stream.c): that narrow
 * results are right wherever they begin and end, and that machine code keeps the mark. */
#include "runtime/compile/llvm_compile.h"
#include "codegen/nest.h"
#include "codegen/target.h"
#include "tests/support/test.h"
#include "tests/support/widths.h"

#include <stdio.h>
#include <string.h>

/* Results that share lines by 2 and 4 vectors, from every place of a line, alone and together. */
FC_TEST(llvm_stream, lines_of_narrow_results) {
    static const char *const texts[] = {"bf16(x)*2 + 1",
                                        "f16(x*2)",
                                        "i8(x)",
                                        "x > 0",
                                        "(bf16(x), x > 0, i16(x))",
                                        "(f16(x) + 1, f64(x), x + 1)"};
    const int64_t sizes[] = {31, 4099};
    for (size_t i = 0; i < FC_COUNT(texts) * FC_COUNT(sizes) * 3; i++) {
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 1, .cache = 1};
        const size_t turn = i / FC_COUNT(texts) / FC_COUNT(sizes);
        c.fill = turn % 2 ? width_plain : width_any_bits;
        c.in[0] = (width_input){"x", FUSEC_F32, 1, {sizes[i / FC_COUNT(texts) % FC_COUNT(sizes)]}};
        if (strstr(c.text, "i8(") || strstr(c.text, "i16(")) c.fill = width_plain;
        c.skew[0] = turn * 22;
        c.skew[1] = i % 4 ? turn * 24 : turn * 22;
        c.skew[2] = i % 3 ? turn * 8 : turn * 56;
        width_run_check(&c);
    }
}

/* The second result reaches a line elsewhere than the first one. */
FC_TEST(llvm_stream, results_that_begin_elsewhere) {
    static const char *const texts[] = {"(x > 0, x < 1)", "(bf16(x), f16(x))", "(x + 1, x > 0)"};
    for (size_t i = 0; i < FC_COUNT(texts) * 8; i += 2) {
        width_check c = {.text = texts[i / 8], .n = 1, .cache = 1, .fill = width_plain};
        c.in[0] = (width_input){"x", FUSEC_F32, 1, {4099}};
        c.skew[1] = 8 * (i % 8 + i / 8 % 2);
        width_run_check(&c);
    }
}

/* Rows of a map, of a reduction over one axis, and of one over two, whose vectors may cross a row.
 */
FC_TEST(llvm_stream, rows_of_narrow_results) {
    static const char *const texts[] = {
        "bf16(x*y)",
        "(x*y > 0, i8(x*y))",
        "(x*y, i8(x*y))",
        "bf16(x - mean(x, axis=-1, keepdims=true))",
        "x*y > max(x, axis=-1, keepdims=true)",
        "s = sum(x*y, axis=(-1, -2), keepdims=true); bf16(x*y - s)",
        "s = sum(x*y, axis=(-1, -2), keepdims=true); (x*y > s, i8(x))"};
    const int64_t widths[] = {64, 2051, 4112};
    for (size_t i = 0; i < FC_COUNT(texts) * FC_COUNT(widths); i++) {
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 2, .cache = 1};
        c.fill = width_plain;
        c.in[0] = (width_input){"x", FUSEC_F32, 3, {3, 5, widths[i / FC_COUNT(texts)]}};
        c.in[1] = (width_input){"y", FUSEC_F32, 1, {widths[i / FC_COUNT(texts)]}};
        if (!strchr(c.text, 'y')) c.n = 1;
        c.skew[0] = 2 * (i % 5);
        width_run_check(&c);
    }
}

/* Scans down columns: vectors of several registers, all rows of a result at the same place of a
 * line or not, and columns that are left over. */
FC_TEST(llvm_stream, scans_down_columns) {
    static const char *const texts[] = {
        "cumsum(x, axis=1)", "(cummax(x, axis=1), cumsum(f64(x)*y, axis=1)*y)",
        "bf16(cumprod(sqrt(abs(x)), axis=1))", "linrec(x*0.1, x, axis=1)",
        "cumsum(x, axis=1, exclusive=true) > 0"};
    const int64_t widths[] = {304, 300};
    for (size_t i = 0; i < FC_COUNT(texts) * FC_COUNT(widths); i++) {
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 2, .cache = 1};
        const int64_t width = widths[i / FC_COUNT(texts)];
        c.fill = width_plain;
        c.in[0] = (width_input){"x", FUSEC_F32, 3, {2, 35, width}};
        c.in[1] = (width_input){"y", FUSEC_F32, 1, {width}};
        if (!strstr(c.text, "*y")) c.n = 1;
        c.skew[0] = i % 2 * 8;
        width_run_check(&c);
    }
}

/* out = x as another dtype */
static void build_cast(fc_kernel *k, fc_dimtab *t, fusec_dtype to) {
    const fc_dim n = fc_dim_named(t, "n");
    const fc_map map = {.axis = 0, .step = 1, .start = fc_dim_const(t, 0)};
    k->schedule = FC_SCHED_MAP;
    k->np = 1;
    k->extent[0] = n;
    const uint32_t in = fc_kernel_arg(k, FUSEC_F32, false, 0), out = fc_kernel_arg(k, to, true, 1);
    const fc_val x = fc_kernel_load(k, fc_kernel_access(k, in, 1, &n, &map));
    fc_kernel_store(k, fc_kernel_access(k, out, 1, &n, &map), fc_val_cast(&k->code, x, to));
}

/* Machine code of it for long arrays, for LLVM's processor `cpu`. */
static bool assembly_of(fc_llvm *l, fusec_dtype to, const char *cpu, const char *features,
                        fc_bytes *out, fc_error *e) {
    const fc_machine m = {.target = FC_TARGET_LLVM,
                          .vector_bytes = 64,
                          .cache = 1,
                          .threads = 1,
                          .cpu = cpu,
                          .features = "+avx2,+f16c"};
    const fc_llvm_options o = {.cpu = cpu, .features = features, .level = 2, .assembly = true};
    fc_dimtab dims;
    fc_kernel k;
    fc_arena arena;
    fc_nest nest;
    fc_class cls;
    fc_launch launch;
    fc_str text;
    int64_t size = 1 << 24, values[16];
    fc_dim bad;
    fc_dimtab_init(&dims, &fc_libc_alloc);
    fc_kernel_init(&k, &fc_libc_alloc);
    fc_arena_init(&arena, &fc_libc_alloc);
    fc_str_init(&text, &fc_libc_alloc);
    build_cast(&k, &dims, to);
    const bool made = fc_dims_eval(&dims, &size, values, &bad) &&
                      !fc_nest_bind(&k, values, &arena, &nest, e) &&
                      !fc_llvm_target.schedule(&m, &k, &nest, 4, &arena, &cls, &launch, e) &&
                      !fc_llvm_target.emit(&m, &k, &cls, "k", &text, e) &&
                      !fc_llvm_compile(l, text.data, text.len, "k", &o, out, e);
    fc_str_free(&text);
    fc_kernel_free(&k);
    fc_dimtab_free(&dims);
    fc_arena_free(&arena);
    return made;
}

/* Streamed stores of such registers. */
static int marked(const fc_bytes *assembly, const char *registers) {
    int n = 0;
    const char *end = (const char *)assembly->data + assembly->len;
    for (const char *at = (const char *)assembly->data; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end) line_end = end;
        char line[160];
        snprintf(line, sizeof line, "%.*s", (int)(line_end - at), at);
        n += strstr(line, "vmovnt") != NULL && strstr(line, registers) != NULL;
        at = line_end + 1;
    }
    return n;
}

/* LLVM makes a plain store of some marked ones: of elements that are made shorter on the way, and
 * of halves where there are instructions for them. */
FC_TEST(llvm_stream, machine_code_keeps_the_mark) {
    static const struct {
        fusec_dtype to;
        int stores; /* of the four vectors of a turn */
    } want[] = {{FUSEC_F32, 4}, {FUSEC_I32, 4}, {FUSEC_BF16, 2}, {FUSEC_F16, 2},
                {FUSEC_I16, 2}, {FUSEC_I8, 1},  {FUSEC_BOOL, 1}};
    static const char *const cpus[][2] = {{"skylake-avx512", ""},
                                          {"sapphirerapids", "-avx512fp16"}};
    fc_llvm *l = NULL;
    fc_error e = {0};
    if (fc_llvm_open(&fc_libc_alloc, &l, &e)) FC_SKIP("%s", e.message);
    FC_EXPECT_TRUE(strstr(l->features, "+avx512fp16") == NULL); /* of the host */
    for (size_t i = 0; i < FC_COUNT(want) * FC_COUNT(cpus); i++) {
        const char *const *cpu = cpus[i % FC_COUNT(cpus)];
        const size_t t = i / FC_COUNT(cpus);
        fc_bytes code = {0};
        FC_TRACE("%s for %s", fc_dtypes[want[t].to].name, cpu[0]);
        if (assembly_of(l, want[t].to, cpu[0], cpu[1], &code, &e))
            FC_EXPECT_GE_I64(marked(&code, "%zmm"), want[t].stores);
        else
            FC_EXPECT_OK(FUSEC_INTERNAL, &e);
        FC_UNTRACE();
        fc_bytes_free(&fc_libc_alloc, &code);
    }
    fc_llvm_close(l);
}

FC_TEST(llvm_stream, halves_are_no_registers) {
    char some[] = "+avx512f,+avx512fp16,+f16c", none[] = "+avx2,-avx512fp16";
    fc_llvm_without_halves(some);
    fc_llvm_without_halves(none);
    FC_EXPECT_STREQ(some, "+avx512f,-avx512fp16,+f16c");
    FC_EXPECT_STREQ(none, "+avx2,-avx512fp16");
}
