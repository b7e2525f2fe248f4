/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_rows.c - every elementwise row and every cast as CUDA C: NVRTC accepts it, and run on
 * the host (tests/support/cuda_emu.h) it gives the bits that fc_eval gives for the same expansions;
 * functions, which are the C library's there, agree within twice their bound. One kernel holds all
 * rows of a dtype. Besides, the texts that NVRTC needs to make right code. */
#include "runtime/compile/nvrtc.h"
#include "codegen/target.h"
#include "tests/support/codebox.h"
#include "tests/support/cuda_host.h"
#include "tests/support/cuda_machines.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"
#include "tests/support/ulp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 397, MOST = 160, MOST_BYTES = (ELEMENTS * 8 + 63) / 64 * 64 };

typedef struct rows { /* a map with inputs 0..2 of dtype t and an output for each operation */
    fusec_dtype t;
    bool casts;
    fc_dimtab dims;
    fc_kernel k;
    fc_dim n;
    fc_op op[MOST];
    fusec_dtype to[MOST];
    unsigned outputs;
} rows;

static bool row_takes(const fc_op_info *row, fusec_dtype t) {
    if (row->flags & FC_F_HIDDEN) return false;
    return row->rule != FC_RULE_SELECT && fc_box_takes(row, t); /* expansions are full of select */
}

static uint32_t access_of(rows *r, fusec_dtype t, bool written) {
    fc_map map = {.axis = 0, .step = 1, .start = fc_dim_const(&r->dims, 0)};
    uint32_t arg = fc_kernel_arg(&r->k, t, written, (fc_node)r->k.args.len);
    return fc_kernel_access(&r->k, arg, 1, &r->n, &map);
}

static void output(rows *r, fc_op op, fusec_dtype to, fc_val v) {
    r->op[r->outputs] = op;
    r->to[r->outputs++] = to;
    fc_kernel_store(&r->k, access_of(r, to, true), v);
}

static void make(rows *r, fusec_dtype t, bool casts) {
    memset(r, 0, sizeof *r);
    r->t = t;
    r->casts = casts;
    fc_dimtab_init(&r->dims, &fc_libc_alloc);
    fc_kernel_init(&r->k, &fc_libc_alloc);
    r->n = fc_dim_named(&r->dims, "n");
    r->k.schedule = FC_SCHED_MAP;
    r->k.np = 1;
    r->k.extent[0] = r->n;
    fc_val in[3];
    for (int i = 0; i < 3; i++) in[i] = fc_kernel_load(&r->k, access_of(r, t, false));
    for (int to = 0; casts && to < FC_DTYPE_COUNT; to++)
        if (to != (int)t)
            output(r, FC_OP_CAST, (fusec_dtype)to, fc_val_cast(&r->k.code, in[0], (fusec_dtype)to));
    for (int op = FC_OP_FIRST_ELEMENTWISE; !casts && op < FC_OP_FIRST_REDUCTION; op++) {
        int arity = fc_ops[op].arity;
        if (!row_takes(&fc_ops[op], t)) continue;
        fc_val v = fc_val_op(&r->k.code, (fc_op)op, in[0], arity > 1 ? in[1] : FC_NOVAL,
                             arity > 2 ? in[2] : FC_NOVAL);
        output(r, (fc_op)op, fc_val_dtype(&r->k.code, v), v);
    }
}

static void unmake(rows *r) {
    fc_kernel_free(&r->k);
    fc_dimtab_free(&r->dims);
}

/* ---- text ----------------------------------------------------------------------------------- */

typedef struct bound {
    fc_arena arena;
    fc_nest nest;
    fc_class cls;
    fc_launch launch;
    int64_t values[16];
} bound;

static bool bind_to(rows *r, bound *b) {
    fc_error err = {0};
    int64_t syms[4] = {ELEMENTS};
    fc_dim bad;
    fc_arena_init(&b->arena, &fc_libc_alloc);
    return fc_check_status(FC_AT("verify", ""), fc_kernel_verify(&r->k, &err), FUSEC_OK, &err) &&
           fc_check_bool(FC_AT("dims", ""), fc_dims_eval(&r->dims, syms, b->values, &bad), true) &&
           fc_check_status(FC_AT("bind", ""),
                           fc_nest_bind(&r->k, b->values, &b->arena, &b->nest, &err), FUSEC_OK,
                           &err) &&
           fc_check_status(FC_AT("schedule", ""),
                           fc_cuda_target.schedule(&fc_cuda_big, &r->k, &b->nest, 64, &b->arena,
                                                   &b->cls, &b->launch, &err),
                           FUSEC_OK, &err);
}

static bool text_of(rows *r, const bound *b, unsigned number, fc_str *text) {
    fc_error err = {0};
    char name[16];
    snprintf(name, sizeof name, "k%u", number);
    return fc_check_status(FC_AT("emit", ""),
                           fc_cuda_target.emit(&fc_cuda_big, &r->k, &b->cls, name, text, &err),
                           FUSEC_OK, &err);
}

/* Kernel number i is about dtype i / 2: rows, or casts. */
enum { KERNELS = 2 * FC_DTYPE_COUNT };

/* ---- NVRTC ---------------------------------------------------------------------------------- */

FC_TEST(cuda_rows, nvrtc_accepts_every_row) {
    fc_nvrtc *nvrtc = NULL;
    fc_error err = {0};
    if (fc_nvrtc_open(&fc_libc_alloc, &nvrtc, &err) != FUSEC_OK) FC_SKIP("%s", err.message);
    fc_nvrtc_options options = {.arch = "sm_90", .kind = FC_NVRTC_CUBIN};
    for (unsigned i = 0; i < KERNELS; i++) {
        if (!fc_test_takes(3)) continue;
        FC_TRACE("%s of %s", i % 2 ? "casts" : "rows", fc_dtypes[i / 2].name);
        rows r;
        bound b = {0};
        fc_str text;
        fc_bytes cubin = {0};
        fc_str_init(&text, &fc_libc_alloc);
        make(&r, (fusec_dtype)(i / 2), i % 2 != 0);
        fc_error e = {0};
        if (bind_to(&r, &b) && text_of(&r, &b, i, &text))
            FC_EXPECT_OK(fc_nvrtc_compile(nvrtc, text.data, "rows.cu", &options, &cubin, &e), &e);
        fc_bytes_free(&fc_libc_alloc, &cubin);
        fc_str_free(&text);
        fc_arena_free(&b.arena);
        unmake(&r);
        FC_UNTRACE();
    }
    fc_nvrtc_close(nvrtc);
}

/* ---- on the host ---------------------------------------------------------------------------- */

typedef struct data {
    _Alignas(64) char in[3][MOST_BYTES];
    _Alignas(64) char out[MOST][MOST_BYTES];
    _Alignas(64) char want[MOST_BYTES];
} data;

/* Every operand walks through the special values in another order. */
static void fill(data *d, fusec_dtype t) {
    static char values[FC_BOX_SPECIALS * 8];
    size_t n = fc_box_specials(t, values), bytes = fc_dtypes[t].bytes;
    static const size_t stride[3] = {1, 7, 19};
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < ELEMENTS; i++)
            memcpy(d->in[k] + i * bytes, values + (i * stride[k] + (k ? i / n : 0)) % n * bytes,
                   bytes);
}

/* Both may be off by the bound of the row, in narrow dtypes by their last place. The normal numbers
 * are made of exact rows. */
static double allowed(fc_op op, fusec_dtype t) {
    const fc_op_info *row = &fc_ops[op];
    if (!(row->flags & FC_F_TRANSCENDENTAL) || op == FC_OP_box_muller) return 0;
    return t == FUSEC_F64 ? 2 * (double)row->ulp64 : t == FUSEC_F32 ? 2 * (double)row->ulp32 : 1;
}

static bool same(fc_op op, fusec_dtype t, const char *a, const char *b) {
    if (memcmp(a, b, fc_dtypes[t].bytes) == 0) return true;
    double x = fc_box_at(t, a, 0), y = fc_box_at(t, b, 0);
    if (!fc_is_float(t)) return false;
    return (x != x && y != y) || fc_ulps(t, x, y) <= allowed(op, t);
}

static void compare(rows *r, data *d, unsigned o) {
    fusec_dtype to = r->to[o];
    size_t bytes = fc_dtypes[to].bytes;
    if (!fc_box_op(r->op[o], r->t, to, FC_TARGET_CUDA, ELEMENTS, d->in[0], d->in[1], d->in[2],
                   d->want))
        return;
    for (size_t i = 0; i < ELEMENTS; i++) {
        if (same(r->op[o], to, d->out[o] + i * bytes, d->want + i * bytes)) continue;
        FC_FAIL("%s of %s to %s, element %zu: %.17g instead of %.17g", fc_ops[r->op[o]].name,
                fc_dtypes[r->t].name, fc_dtypes[to].name, i, fc_box_at(to, d->out[o], i),
                fc_box_at(to, d->want, i));
        return;
    }
}

static void run(fc_cuda_host *host, unsigned i, data *d) {
    static int64_t words[4 * (MOST + 3) + 32];
    rows r;
    bound b = {0};
    make(&r, (fusec_dtype)(i / 2), i % 2 != 0);
    if (bind_to(&r, &b)) {
        void *args[MOST + 3];
        for (unsigned k = 0; k < 3; k++) args[k] = d->in[k];
        for (unsigned k = 0; k < r.outputs; k++) args[3 + k] = d->out[k];
        fill(d, r.t);
        fc_nest_fill(&r.k, &b.nest, b.values, args, NULL, words);
        FC_EXPECT_TRUE(fc_cuda_host_run(host, i, &b.launch, words));
        for (unsigned o = 0; o < r.outputs; o++) compare(&r, d, o);
    }
    fc_arena_free(&b.arena);
    unmake(&r);
}

FC_TEST(cuda_rows, every_row_computes_on_the_host) {
    fc_cuda_host host;
    if (!fc_cuda_host_open(&host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    for (unsigned i = 0; i < KERNELS; i++) {
        rows r;
        bound b = {0};
        fc_str text;
        fc_str_init(&text, &fc_libc_alloc);
        make(&r, (fusec_dtype)(i / 2), i % 2 != 0);
        if (bind_to(&r, &b) && text_of(&r, &b, i, &text)) fc_cuda_host_add(&host, text.data);
        fc_str_free(&text);
        fc_arena_free(&b.arena);
        unmake(&r);
    }
    data *d = aligned_alloc(64, (sizeof *d + 63) / 64 * 64);
    bool built = d && fc_cuda_host_build(&host);
    FC_EXPECT_TRUE(built);
    for (unsigned i = 0; built && i < KERNELS; i++) run(&host, i, d);
    free(d);
    fc_cuda_host_close(&host);
}

/* ---- what NVRTC gets wrong ------------------------------------------------------------------- */

typedef struct otherwise {
    const char *expression, *text; /* NULL: none of these texts */
} otherwise;

/* Whether it comes out right shows on a GPU only (tests/regressions); what it costs is paid where
 * it is needed. See codegen/cuda/cuda_guard.c and cuda_sign.c. */
FC_TEST(cuda_rows, what_nvrtc_gets_wrong_is_written_otherwise) {
    static const otherwise cases[] = {
        {"b + b < b", "fc_byte("},
        {"maximum(-b, b)", "fc_byte("},
        {"i32(b)", NULL},
        {"b", NULL},
        {"min(-i)", "zero - "},
        {"min(0 - i)", "zero - "},
        {"min(i * -4)", "zero)"},
        {"min(i * 4)", NULL},
        {"abs(x) > -1", "fc_opaque("},
        {"copysign(x, f32(-1)) < 2", "fc_opaque("},
        {"x > -1", NULL},
        {"x * x > -1", NULL},
        {"where(b > 0, f32(-0.0), f32(-1))", "fc_opaque("},
        {"where(b > 0, f32(-0.0), f32(0.0))", "fc_opaque("},
        {"where(x > 0, f32(-0.0), x)", NULL},
        {"-x", "fc_signed_negf("},
        {"exp(-x)", NULL},
        {"copysign(h, h)", "fc_f16_signed_value("},
        {"where(h > 0, h, -h)", "fc_f16_signed_bits("},
        {"h + h", NULL},
        {"exp(-h)", NULL},
    };
    static const char *const texts[] = {"fc_byte(",   "zero - ",   "zero)",
                                        "fc_opaque(", "fc_signed", "fc_f16_signed"};
    OPEN(sh);
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        EXPECT_RUN(sh, 0,
                   "echo 'export def f(b: i8[n], i: i32[n], x: f32[n], h: f16[n], n: dim) = %s' "
                   ">f.fuse; rm -rf c; fusec build -q f.fuse -o c --emit cuda --arch sm_90 && sed "
                   "1,/__global__/d c/*.cu",
                   cases[i].expression);
        FC_TRACE("%s", cases[i].expression);
        if (cases[i].text) FC_EXPECT_TRUE(strstr(sh.out, cases[i].text) != NULL);
        for (size_t t = 0; !cases[i].text && t < FC_COUNT(texts); t++)
            FC_EXPECT_TRUE(strstr(sh.out, texts[t]) == NULL);
        FC_UNTRACE();
    }
    shell_close(&sh);
}
