/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every row of ops.def, every cast and every reduction through LLVM, on every dtype and at three
 * vector widths: equal bits with the same code computed by fc_eval (rows, casts; functions by the
 * formulas that the backend has for them) and by the interpreter (reductions). */
#include "codegen/interp/interp.h"
#include "codegen/llvm/llvm_math.h"
#include "tests/support/codebox.h"
#include "tests/support/llvm_run.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

enum { N = 1511, OPS = 8 };

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t noise(uint64_t v) {
    v = (v + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 29)) * 0x94d049bb133111ebu;
    return v ^ (v >> 32);
}

/* Whether a signalling nan of 16 bits is quiet after it was loaded is left to the processor. */
static void quiet(fusec_dtype t, unsigned char *to) {
    uint16_t bits;
    memcpy(&bits, to, sizeof bits);
    if (isnan(fc_box_at(t, to, 0))) bits |= t == FUSEC_F16 ? 0x200 : 0x40;
    memcpy(to, &bits, sizeof bits);
}

/* Special values in mixed order, and between them ordinary ones. */
static void fill(fusec_dtype t, unsigned seed, size_t n, unsigned char *to) {
    static unsigned char special[FC_BOX_SPECIALS * 8];
    size_t count = fc_box_specials(t, special), bytes = fc_dtypes[t].bytes;
    for (size_t i = 0; i < n; i++) {
        uint64_t h = noise(i * 7 + seed),
                 bits = fc_const_bits(t, (double)(int64_t)(h >> 44) / 65536 - 8);
        if (h & 4) {
            memcpy(to + i * bytes, special + (h >> 8) % count * bytes, bytes);
        } else {
            memcpy(to + i * bytes, &bits, bytes);
        }
        if (fc_is_half(t)) quiet(t, to + i * bytes);
    }
}

static bool same_value(fusec_dtype t, const void *a, const void *b) {
    if (memcmp(a, b, fc_dtypes[t].bytes) == 0) return true;
    return fc_is_float(t) && isnan(fc_box_at(t, a, 0)) && isnan(fc_box_at(t, b, 0));
}

static void compare(const char *what, fusec_dtype t, size_t n, const unsigned char *got,
                    const unsigned char *want) {
    for (size_t i = 0; i < n; i++) {
        size_t at = i * fc_dtypes[t].bytes;
        if (same_value(t, got + at, want + at)) continue;
        FC_FAIL("%s: element %zu is %a, not %a", what, i, fc_box_at(t, got, i),
                fc_box_at(t, want, i));
        return;
    }
}

/* ---- a kernel made of one-axis or two-axis accesses ------------------------------------------ */

typedef struct box {
    fc_dimtab dims;
    fc_kernel k;
    fc_dim extent[2];
    int64_t values[16]; /* of dims */
    unsigned nargs;
    unsigned char *data[OPS + 3];
} box;

static void box_open(box *b, fc_schedule schedule, int64_t kept, int64_t reduced) {
    memset(b, 0, sizeof *b);
    fc_dimtab_init(&b->dims, &fc_libc_alloc);
    fc_kernel_init(&b->k, &fc_libc_alloc);
    b->extent[0] = fc_dim_named(&b->dims, "n");
    b->extent[1] = fc_dim_named(&b->dims, "m");
    fc_dim zero = fc_dim_const(&b->dims, 0);
    b->values[b->extent[0]] = kept;
    b->values[b->extent[1]] = reduced;
    b->values[zero] = 0;
    b->k.schedule = schedule;
    b->k.np = 1;
    b->k.nr = schedule == FC_SCHED_MAP ? 0 : 1;
    memcpy(b->k.extent, b->extent, sizeof b->extent);
}

static void box_close(box *b) {
    for (unsigned i = 0; i < b->nargs; i++) free(b->data[i]);
    fc_kernel_free(&b->k);
    fc_dimtab_free(&b->dims);
}

/* An array over the kept axis, or over both: rows are lines of it for the inner schedule, else
 * columns. */
static uint32_t box_array(box *b, fusec_dtype t, bool written, bool both, size_t n) {
    fc_dim zero = fc_dim_const(&b->dims, 0), shape[2] = {b->extent[0], b->extent[1]};
    fc_map map[2] = {{.axis = 0, .step = 1, .start = zero}, {.axis = 1, .step = 1, .start = zero}};
    if (b->k.schedule == FC_SCHED_OUTER && both) {
        shape[0] = b->extent[1];
        shape[1] = b->extent[0];
        map[0].axis = 1;
        map[1].axis = 0;
    }
    uint32_t arg = fc_kernel_arg(&b->k, t, written, b->nargs);
    b->data[b->nargs++] = calloc(n + 1, 8);
    return fc_kernel_access(&b->k, arg, both ? 2 : 1, shape, map);
}

static fc_val box_input(box *b, fusec_dtype t, bool both, size_t n) {
    uint32_t access = box_array(b, t, false, both, n);
    fill(t, b->nargs, n, b->data[b->nargs - 1]);
    return fc_kernel_load(&b->k, access);
}

static void box_output(box *b, fc_val v, size_t n) {
    fc_kernel_store(&b->k, box_array(b, fc_val_dtype(&b->k.code, v), true, false, n), v);
}

static fusec_status box_run(box *b, fc_llvm_run *r, fc_interp *ip, fc_error *e) {
    fc_arena arena;
    fc_nest nest;
    fc_class cls;
    fc_arena_init(&arena, &fc_libc_alloc);
    fusec_status st = fc_kernel_verify(&b->k, e);
    if (st == FUSEC_OK) st = fc_nest_bind(&b->k, b->values, &arena, &nest, e);
    if (st == FUSEC_OK) {
        int64_t words[200];
        fc_nest_fill(&b->k, &nest, b->values, (void *const *)b->data, NULL, words);
        if (ip) {
            st = fc_class_of(&nest, FC_TARGET_INTERP, &arena, &cls, e);
            if (st == FUSEC_OK) fc_interp_run(ip, &cls, words, 0, nest.rows);
        } else {
            st = fc_llvm_run_kernel(r, &b->k, &nest, &arena, words, NULL, e);
        }
    }
    fc_arena_free(&arena);
    return st;
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct work {
    fc_op op;
    fusec_dtype to; /* of a cast or bit cast */
} work;

static fc_val apply(fc_code *c, const work *w, const fc_val x[3]) {
    if (w->op == FC_OP_CAST) return fc_val_cast(c, x[0], w->to);
    if (w->op == FC_OP_BITCAST) return fc_val_bitcast(c, x[0], w->to);
    return fc_val_op(c, w->op, x[0], fc_ops[w->op].arity > 1 ? x[1] : FC_NOVAL,
                     fc_ops[w->op].arity > 2 ? x[2] : FC_NOVAL);
}

/* Up to OPS operations on the same three inputs in one kernel. */
static void try_ops(fc_llvm_run *r, fusec_dtype t, const work *w, unsigned n) {
    box b;
    fc_error e = {0};
    fc_val x[3], out[OPS];
    const fc_machine m = fc_llvm_run_machine(r);
    box_open(&b, FC_SCHED_MAP, N, 0);
    bool select = n == 1 && w[0].op == FC_OP_where;
    for (unsigned i = 0; i < 3; i++)
        x[i] = box_input(&b, select && i == 0 ? FUSEC_BOOL : t, false, N);
    for (unsigned i = 0; i < n; i++) {
        out[i] = apply(&b.k.code, &w[i], x);
        box_output(&b, out[i], N);
    }
    FC_EXPECT_OK(b.k.code.status, NULL);
    FC_EXPECT_OK(box_run(&b, r, NULL, &e), &e);
    for (unsigned i = 0; i < n; i++) {
        unsigned char want[N * 8];
        const char *name = fc_ops[w[i].op].name;
        fusec_dtype to = fc_val_dtype(&b.k.code, out[i]);
        if (fc_box_op_as(w[i].op, t, w[i].to, FC_TARGET_LLVM, fc_math_rewrite(&m), N, b.data[0],
                         b.data[1], b.data[2], want))
            compare(name, to, N, b.data[3 + i], want);
    }
    fc_llvm_run_clear(r);
    box_close(&b);
}

static void try_all(fc_llvm_run *r, fusec_dtype t, const work *w, unsigned n) {
    for (unsigned i = 0; i < n; i += OPS) try_ops(r, t, w + i, n - i < OPS ? n - i : OPS);
}

static void rows_of(fc_llvm_run *r, fusec_dtype t) {
    work list[FC_OP_COUNT_];
    unsigned n = 0;
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++)
        if (!(fc_ops[op].flags & FC_F_HIDDEN) && fc_box_takes(&fc_ops[op], t) && op != FC_OP_where)
            list[n++] = (work){(fc_op)op, t};
    try_all(r, t, list, n);
    try_ops(r, t, &(work){FC_OP_where, t}, 1);
}

static void casts_of(fc_llvm_run *r, fusec_dtype t) {
    work list[2 * FC_DTYPE_COUNT];
    unsigned n = 0;
    for (int to = 0; to < FC_DTYPE_COUNT; to++) {
        if (to != (int)t) list[n++] = (work){FC_OP_CAST, (fusec_dtype)to};
        if (to != (int)t && t != FUSEC_BOOL && to != FUSEC_BOOL &&
            fc_dtypes[to].bytes == fc_dtypes[t].bytes)
            list[n++] = (work){FC_OP_BITCAST, (fusec_dtype)to};
    }
    try_all(r, t, list, n);
}

static void at_every_width(fusec_dtype t, void (*try)(fc_llvm_run *, fusec_dtype)) {
    bool any = false;
    for (unsigned w = 0; w < FC_LLVM_WIDTHS; w++) {
        fc_llvm_run *r = fc_llvm_run_open(w);
        if (!r) continue;
        any = true;
        FC_TRACE("%s with %d bytes", fc_dtypes[t].name, fc_llvm_run_bytes(r));
        if (fc_test_takes(3)) try(r, t);
        FC_UNTRACE();
        fc_llvm_run_close(r);
    }
    if (!any) FC_SKIP("no LLVM, or no vectors of that width");
}

static void rows_and_casts_of(fc_llvm_run *r, fusec_dtype t) {
    rows_of(r, t);
    casts_of(r, t);
}

static void run_dtype(void *arg) {
    at_every_width((fusec_dtype)(uintptr_t)arg, rows_and_casts_of);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool reduces(const fc_op_info *row, fusec_dtype t) {
    if (row->rule == FC_RULE_BOOL) return t == FUSEC_BOOL;
    return row->rule != FC_RULE_MEAN || fc_is_float(t);
}

/* Results of the interpreter are the wanted ones. */
static void try_reduction(fc_llvm_run *r, fc_schedule schedule, fc_op op, fusec_dtype t,
                          int64_t rows, int64_t count) {
    box b;
    fc_error e = {0};
    fc_interp *ip = NULL;
    unsigned char want[80 * 8];
    box_open(&b, schedule, rows, count);
    fc_val acc = fc_kernel_reduce(&b.k, op, box_input(&b, t, true, (size_t)(rows * count)), 0);
    box_output(&b, acc, (size_t)rows);
    fusec_status st = fc_interp_compile(&b.k, NULL, &fc_libc_alloc, &ip, &e);
    if (st == FUSEC_OK) st = box_run(&b, NULL, ip, &e);
    memcpy(want, b.data[1], (size_t)rows * 8);
    memset(b.data[1], 0, (size_t)rows * 8);
    if (st == FUSEC_OK) st = box_run(&b, r, NULL, &e);
    FC_EXPECT_OK(st, &e);
    if (st == FUSEC_OK)
        compare(fc_ops[op].name, fc_val_dtype(&b.k.code, acc), (size_t)rows, b.data[1], want);
    fc_interp_free(ip);
    fc_llvm_run_clear(r);
    box_close(&b);
}

static void reductions_of(fc_llvm_run *r, fusec_dtype t) {
    for (int op = FC_OP_FIRST_REDUCTION; op < FC_OP_COUNT_; op++) {
        if (fc_ops[op].arity == 2) continue; /* contractions: tests/test_contract.c */
        if (!reduces(&fc_ops[op], t)) continue;
        try_reduction(r, FC_SCHED_INNER, (fc_op)op, t, 5, 1311);
        try_reduction(r, FC_SCHED_OUTER, (fc_op)op, t, 75, 57);
    }
}

static void run_reductions(void *arg) {
    at_every_width((fusec_dtype)(uintptr_t)arg, reductions_of);
}

FC_REGISTER(llvm_ops) {
    for (uintptr_t t = 0; t < FC_DTYPE_COUNT; t++) {
        FC_ADD_TEST("llvm_ops", fc_dtypes[t].name, run_dtype, t);
        FC_ADD_TEST("llvm_reductions", fc_dtypes[t].name, run_reductions, t);
    }
}
