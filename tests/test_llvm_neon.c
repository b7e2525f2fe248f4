/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_llvm_neon.c - programs as AArch64 code, when its tools are here, against the interpreter.
 *
 * The text for NEON goes through llc and a cross compiler and runs under qemu: in.bin has the
 * numbers of a launch, the parameter block and the arrays, out.bin gets the results. */
#include "runtime/bind.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"
#include "tests/support/widths.h"

#include <stdio.h>
#include <stdlib.h>

static const char neon_main[] =
    "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "void k(const int64_t *, int64_t, int64_t);\n"
    "void k_finish(const int64_t *, int64_t, int64_t) __attribute__((weak));\n"
    "int main(void) {\n"
    "    enum { WORDS, ARGS, UNITS, UNIT, ROWS, SPACE, WORKSPACE, FINISH, N };\n"
    "    int64_t h[N], bytes[32], w[256];\n"
    "    FILE *f = fopen(\"in.bin\", \"rb\"), *o = fopen(\"out.bin\", \"wb\");\n"
    "    if (!f || !o || fread(h, 8, N, f) != N) return 1;\n"
    "    if (fread(bytes, 8, h[ARGS], f) != h[ARGS] || fread(w, 8, h[WORDS], f) != h[WORDS]) "
    "return 2;\n"
    "    for (int i = 0; i < h[ARGS]; i++) {\n"
    "        char *p = aligned_alloc(64, (llabs(bytes[i]) + 128) / 64 * 64);\n"
    "        w[i] = (int64_t)(intptr_t)p;\n"
    "        if (bytes[i] > 0 && fread(p, 1, bytes[i], f) != bytes[i]) return 3;\n"
    "    }\n"
    "    w[h[WORKSPACE]] = (int64_t)(intptr_t)malloc(h[SPACE] + 64);\n"
    "    for (int64_t u = 0; u < h[UNITS]; u += h[UNIT])\n"
    "        k(w, u, u + h[UNIT] < h[UNITS] ? u + h[UNIT] : h[UNITS]);\n"
    "    if (h[FINISH]) k_finish(w, 0, h[ROWS]);\n"
    "    for (int i = 0; i < h[ARGS]; i++)\n"
    "        if (bytes[i] < 0) fwrite((void *)(intptr_t)w[i], 1, -bytes[i], o);\n"
    "    return fclose(o) ? 4 : 0;\n"
    "}\n";

static bool write_launch(const char *path, const fc_kernel *k, const fc_bound *b,
                         const width_arrays *in) {
    const fc_bound_step *s = &b->steps[0];
    const int64_t head[] = {s->layout.words,
                            (int64_t)k->args.len,
                            s->launch.units,
                            s->launch.unit,
                            s->nest.rows,
                            (int64_t)s->launch.workspace_bytes,
                            s->layout.extra + FC_PB_WORKSPACE,
                            s->launch.finish};
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    fwrite(head, 8, FC_COUNT(head), f);
    for (size_t i = 0; i < k->args.len; i++) {
        int64_t bytes = (int64_t)b->bytes[k->args.at[i].buffer];
        if (k->args.at[i].written) bytes = -bytes;
        fwrite(&bytes, 8, 1, f);
    }
    fwrite(s->words, 8, s->layout.words, f);
    for (size_t i = 0; i < k->args.len; i++)
        if (!k->args.at[i].written)
            fwrite(in->t[k->args.at[i].buffer].data, 1, b->bytes[k->args.at[i].buffer], f);
    return fclose(f) == 0;
}

static void read_results(const char *path, const fc_kernel *k, uint32_t nin, width_arrays *out) {
    FILE *f = fopen(path, "rb");
    FC_ASSERT_TRUE(f != NULL);
    for (size_t i = 0; i < k->args.len; i++) {
        if (!k->args.at[i].written) continue;
        const uint32_t o = k->args.at[i].buffer - nin;
        FC_EXPECT_EQ_I64((int64_t)fread(out->t[o].data, 1, out->bytes[o], f),
                         (int64_t)out->bytes[o]);
    }
    fclose(f);
}

static bool emit_neon(shell *sh, const width_target *t, fc_program *p, const fc_bound *b) {
    fc_str text;
    fc_error e = {0};
    fc_str_init(&text, &fc_libc_alloc);
    FC_EXPECT_OK(fc_llvm_target.emit(&t->device->machine, &p->plan->steps.at[0]->kernel,
                                     &b->steps[0].cls, "k", &text, &e),
                 &e);
    bool ok = shell_write(sh, "k.ll", text.data) && shell_write(sh, "main.c", neon_main);
    fc_str_free(&text);
    return ok && shell_run(sh, "\"$LLC\" -mtriple=aarch64-linux-gnu -relocation-model=pic -O2 "
                               "-filetype=obj k.ll -o k.o && aarch64-linux-gnu-gcc -static -O1 -w "
                               "main.c k.o -lm -o k");
}

static void run_neon(shell *sh, const width_check *c) {
    fc_graph g;
    fc_error e = {0};
    width_target plain_target, t;
    fc_program *p = NULL;
    fc_bound *b = NULL;
    width_arrays in, want = {0}, got = {0};
    const size_t aligned[WIDTH_OUTPUTS] = {0};
    char path[256];
    FC_ASSERT_OK(width_compile(c->text, c->in, c->n, &g, &e), &e);
    width_fill(c, &in);
    FC_ASSERT_TRUE(width_open(&plain_target, NULL, 0) &&
                   width_open(&t, &width_processors[0], c->cache));
    t.device->machine.vector_bytes = 16;
    t.device->machine.cpu = "generic";
    t.device->machine.features = "+neon";
    FC_EXPECT_OK(width_run(&plain_target, &g, &in, aligned, &want, &e), &e);
    FC_EXPECT_OK(width_run(&plain_target, &g, &in, aligned, &got, &e), &e);
    for (uint32_t i = 0; i < got.n; i++) memset(got.t[i].data, 0, got.bytes[i]);
    FC_ASSERT_OK(fc_program_new(t.ctx, &g, &(fc_program_options){.device = t.device}, &p, &e), &e);
    FC_ASSERT_OK(fc_bound_get(p, in.n, in.t, 0, NULL, 64, FC_NO_CODE, &b, &e), &e);
    FC_EXPECT_EQ_I64((int64_t)p->plan->steps.len, 1);
    FC_TRACE("%s for NEON", c->text);
    snprintf(path, sizeof path, "%s/in.bin", sh->folder);
    if (write_launch(path, &p->plan->steps.at[0]->kernel, b, &in) && emit_neon(sh, &t, p, b) &&
        sh->code == 0 && shell_run(sh, "qemu-aarch64 ./k") && sh->code == 0) {
        snprintf(path, sizeof path, "%s/out.bin", sh->folder);
        read_results(path, &p->plan->steps.at[0]->kernel, in.n, &got);
        width_compare(&want, &got);
    } else {
        FC_FAIL("code %d: %s", sh->code, sh->err ? sh->err : "");
    }
    FC_UNTRACE();
    fc_bound_release(p, b);
    fc_program_free(p);
    fc_context_free(t.ctx);
    fc_context_free(plain_target.ctx);
    width_free(&want);
    width_free(&got);
    width_free(&in);
    fc_graph_free(&g);
}

FC_TEST(llvm_neon, under_emulation) {
    static const struct {
        const char *text;
        int64_t x[2], y[2];
        size_t cache;
    } cases[] = {
        {"x*2 + y", {3, 1001}, {3, 1001}, 1},
        {"x.T + y", {37, 50}, {50, 37}, 0},
        {"sum(x*y, axis=1)", {5, 3000}, {5, 3000}, 0},
        {"sum(x, axis=0) + y", {100, 33}, {1, 33}, 0},
        {"var(x, axis=1) * y", {40, 30}, {1, 40}, 0},
        {"argmax(x + y, axis=1)", {3, 5000}, {1, 1}, 0},
        {"max(x, axis=1) / y", {7, 2048}, {1, 7}, 0},
        {"x / sum(y, axis=1, keepdims=true)", {9, 256}, {9, 256}, 0},
        {"x > y ? x : f32(f16(y))", {9, 256}, {9, 256}, 0},
    };
    shell sh;
    if (!shell_open(&sh)) return;
    if (!shell_run(&sh, "command -v qemu-aarch64 aarch64-linux-gnu-gcc >/dev/null && "
                        "ls /usr/lib/llvm-*/bin/llc | sort -V | tail -1") ||
        sh.code != 0 || sh.out_len < 4) {
        shell_close(&sh);
        FC_SKIP("needs qemu-aarch64, aarch64-linux-gnu-gcc and llc");
    }
    sh.out[strcspn(sh.out, "\n")] = 0;
    setenv("LLC", sh.out, 1);
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        width_check c = {
            .text = cases[i].text, .n = 2, .fill = width_plain, .cache = cases[i].cache};
        if (!strstr(c.text, "y")) c.n = 1;
        c.in[0] = (width_input){"x", FUSEC_F32, 2, {cases[i].x[0], cases[i].x[1]}};
        c.in[1] = (width_input){"y", FUSEC_F32, 2, {cases[i].y[0], cases[i].y[1]}};
        if (cases[i].y[0] == 1) {
            c.in[1].rank = 1;
            c.in[1].shape[0] = cases[i].y[1];
        }
        run_neon(&sh, &c);
    }
    unsetenv("LLC");
    shell_close(&sh);
}
