/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* class.c - see class.h. */
#include "codegen/class.h"

static bool equal_choice(const fc_class *a, const fc_class *b) {
#define X(name)                                                                                    \
    if (a->cuda.name != b->cuda.name) return false;
    if (a->target == FC_TARGET_CUDA) {
        FC_CUDA_CLASS(X)
        return a->cuda.kind == b->cuda.kind && a->cuda.split == b->cuda.split &&
               a->cuda.repeat == b->cuda.repeat;
    }
#undef X
#define X(name)                                                                                    \
    if (a->llvm.name != b->llvm.name) return false;
    if (a->target == FC_TARGET_LLVM) {
        FC_LLVM_CLASS(X)
    }
#undef X
    return true;
}

bool fc_class_equal(const fc_class *a, const fc_class *b) {
    return a->target == b->target && a->np == b->np && a->nr == b->nr && a->wide == b->wide &&
           a->aligned == b->aligned && a->alike == b->alike && a->vector == b->vector &&
           a->naccess == b->naccess &&
           memcmp(a->move, b->move, (size_t)a->naccess * (a->np + a->nr)) == 0 &&
           equal_choice(a, b);
}

/* What only says how fast a text is, or that it has less to test, is let be what it is in `a`. */
unsigned fc_class_stands_in(const fc_class *a, const fc_class *b) {
    fc_class x = *b;
    unsigned more = 1;
    if (a->target != b->target) return 0;
    x.wide |= a->wide;
    if (a->target == FC_TARGET_CUDA) {
        x.cuda.large = a->cuda.large;
        x.cuda.full &= a->cuda.full;
        x.cuda.fours &= a->cuda.fours;
        if (b->cuda.kind == FC_CUDA_MAP) x.cuda.whole &= a->cuda.whole;
        if (b->cuda.kind == FC_CUDA_ONE && b->cuda.repeat % a->cuda.repeat == 0) {
            more = b->cuda.repeat / a->cuda.repeat;
            x.cuda.repeat = a->cuda.repeat;
        }
    } else if (a->target == FC_TARGET_LLVM) {
        x.llvm.stream = a->llvm.stream;
        x.llvm.ahead = a->llvm.ahead;
        x.llvm.one_chunk &= a->llvm.one_chunk;
    }
    return fc_class_equal(a, &x) ? more : 0;
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
        FC_CUDA_CLASS(X)
#undef X
    } else if (c->target == FC_TARGET_LLVM) {
#define X(name) put_field(#name, c->llvm.name, out);
        FC_LLVM_CLASS(X)
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
