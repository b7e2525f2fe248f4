/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* class.c - see class.h. */
#include "codegen/class.h"

/* The choices of `a` and `b` are the same, or code of `a` may run where `b` was chosen. */
#define X(name)                                                                                    \
    if (a->name != b->name) return false;
#define TESTS(name)                                                                                \
    if (runs ? a->name > b->name : a->name != b->name) return false;
#define SPEED(name)                                                                                \
    if (!runs && a->name != b->name) return false;

static bool match_cuda(const fc_cuda_class *a, const fc_cuda_class *b, bool runs) {
    FC_CUDA_CLASS(X, TESTS, SPEED)
    return a->kind == b->kind && a->split == b->split;
}

static bool match_llvm(const fc_llvm_class *a, const fc_llvm_class *b, bool runs) {
    FC_LLVM_CLASS(X, TESTS, SPEED)
    return true;
}
#undef X
#undef TESTS
#undef SPEED

/* But for `repeat`. */
static bool match(const fc_class *a, const fc_class *b, bool runs) {
    return a->target == b->target && a->np == b->np && a->nr == b->nr &&
           (runs ? a->wide >= b->wide : a->wide == b->wide) && a->aligned == b->aligned &&
           a->alike == b->alike && a->vector == b->vector && a->naccess == b->naccess &&
           memcmp(a->move, b->move, (size_t)a->naccess * (a->np + a->nr)) == 0 &&
           (a->target != FC_TARGET_CUDA || match_cuda(&a->cuda, &b->cuda, runs)) &&
           (a->target != FC_TARGET_LLVM || match_llvm(&a->llvm, &b->llvm, runs));
}

bool fc_class_equal(const fc_class *a, const fc_class *b) {
    return match(a, b, false) && (a->target != FC_TARGET_CUDA || a->cuda.repeat == b->cuda.repeat);
}

unsigned fc_class_stands_in(const fc_class *a, const fc_class *b) {
    if (!match(a, b, true)) return 0;
    if (a->target != FC_TARGET_CUDA || a->cuda.repeat == b->cuda.repeat) return 1;
    const bool rows = a->cuda.iterations && b->cuda.repeat % a->cuda.repeat == 0;
    return rows ? b->cuda.repeat / a->cuda.repeat : 0;
}

static void put_field(const char *name, unsigned value, fc_str *out) {
    if (value == 1) fc_str_printf(out, " %s", name);
    if (value > 1) fc_str_printf(out, " %s=%u", name, value);
}

void fc_class_print_choice(const fc_class *c, fc_str *out) {
    static const char *const kinds[] = {
#define X(name, text) text,
        FC_CUDA_KINDS(X)
#undef X
    };
    static const char *const splits[] = {
#define X(name, text) text,
        FC_CUDA_SPLITS(X)
#undef X
    };
    if (c->target == FC_TARGET_CUDA) {
        fc_str_printf(out, " %s", kinds[c->cuda.kind]);
        if (c->cuda.split) fc_str_printf(out, " %s", splits[c->cuda.split]);
        if (c->cuda.repeat > 1) put_field("repeat", c->cuda.repeat, out);
#define X(name) put_field(#name, c->cuda.name, out);
        FC_CUDA_CLASS(X, X, X)
#undef X
    } else if (c->target == FC_TARGET_LLVM) {
#define X(name) put_field(#name, c->llvm.name, out);
        FC_LLVM_CLASS(X, X, X)
#undef X
    }
}

void fc_class_print(const fc_class *c, fc_str *out) {
    const unsigned axes = (unsigned)c->np + c->nr;
    fc_str_printf(out, "p%u r%u i%d %s v%u", (unsigned)c->np, (unsigned)c->nr, c->wide ? 64 : 32,
                  c->aligned ? "aligned" : "unaligned", (unsigned)c->vector);
    if (c->alike) fc_str_add(out, " alike");
    fc_class_print_choice(c, out);
    for (uint32_t a = 0; a < c->naccess; a++) {
        fc_str_char(out, ' ');
        for (unsigned i = 0; i < axes; i++) fc_str_char(out, "01x"[c->move[(size_t)a * axes + i]]);
    }
}
