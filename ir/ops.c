/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ops.c - the table of all operations, made from ops.def.
 *
 * Structural operations have a name (for dumps) and nothing else. A row of ops.def that lacks a
 * column, or has one twice, does not compile: every column adds its own digit to a sum that has to
 * come out right. */
#include "ir/ops.h"

/* "0" marks a column that does not apply; any other entry is longer than one character
 * (ops.def). */
#define GIVEN(e) (sizeof(e) > 2)

/* flags as ops.def spells them */
enum {
    C = FC_F_COMMUTES,
    X = FC_F_EXACT,
    H = FC_F_HIDDEN,
    O = FC_F_OPERATOR,
    T = FC_F_TRANSCENDENTAL,
    E = FC_F_EMPTY_IS_ERROR
};

#define STRUCT(op, text, kind)                                                                     \
    [FC_OP_##op] = {.name = (text), .doc = "", .rule = FC_RULE_STRUCT, .attr = FC_ATTR_##kind}

const fc_op_info fc_ops[FC_OP_COUNT_] = {
    /* clang-format off */
    STRUCT(NONE, "none", NONE),
    STRUCT(INPUT, "input", INPUT),
    STRUCT(CONST, "const", NUMBER),
    STRUCT(DIM, "dim", DIM),
    STRUCT(IOTA, "iota", NUMBER),
    STRUCT(CAST, "cast", CAST),
    STRUCT(BITCAST, "bitcast", NONE),
    STRUCT(EXTERN, "extern", EXTERN),
    STRUCT(PART, "part", NUMBER),
    STRUCT(PAIR, "complex", NONE),
    STRUCT(BROADCAST, "broadcast", NONE),
    STRUCT(PERMUTE, "permute", LIST),
    STRUCT(SLICE, "slice", SLICES),
    STRUCT(VIEW, "view", VIEWS),
    STRUCT(RESHAPE, "reshape", NONE),
    STRUCT(TAKE, "take", NUMBER),
    STRUCT(CHECK, "check", DIMS),
    STRUCT(SCATTER, "scatter", ROW),
    STRUCT(UPDATE, "update", ROW),
    STRUCT(SCAN, "scan", ROW),
    STRUCT(SLOT, "slot", NUMBER),
    STRUCT(RECORD, "record", NONE),
    STRUCT(FOLD, "fold", LIST),
    STRUCT(ROUNDS, "rounds", NUMBER),
    STRUCT(MATERIALIZE, "materialize", NONE),
    STRUCT(LIST, "list", NONE),
    STRUCT(HOLE, "hole", NUMBER),
    STRUCT(LOOP, "loop", NUMBER),
    STRUCT(SORT, "sort", NONE),
    STRUCT(FFT, "fft", NUMBER),
    STRUCT(CALL, "call", NUMBER),
    STRUCT(RESULT, "result", NUMBER),
    STRUCT(LOAD, "load", NONE),
    STRUCT(LOAD_AT, "load_at", NONE),
    STRUCT(INSIDE, "inside", NONE),
    STRUCT(PUT_AT, "put_at", NONE),
    STRUCT(PARAM, "param", NONE),
    STRUCT(INDEX, "index", NONE),
    STRUCT(ACC, "acc", NONE),
    STRUCT(COUNT, "count", NONE),
    STRUCT(ARG, "arg", NONE),
    STRUCT(CVT, "cvt", NONE),
/* clang-format on */

#define OP(op, operands, type_rule, letters, columns, text)                                        \
    [FC_OP_##op] = {columns.name = #op, .doc = (text), .rule = FC_RULE_##type_rule,                \
                    .arity = (operands), .flags = (letters)},
#define CUDA(f, i)    .cuda_f = (f), .cuda_i = (i),
#define LLVM(f, s, u) .llvm_f = (f), .llvm_s = (s), .llvm_u = (u),
#define EVAL(f, i)    .eval_f = GIVEN(#f), .eval_i = GIVEN(#i),
#define EXPAND(f, i)  .expand_f = GIVEN(#f), .expand_i = GIVEN(#i),
#define ULP(f32, f64) .ulp32 = (f32), .ulp64 = (f64),
#define GRAD(...)     .grad = {__VA_ARGS__},
#define RED(op, type_rule, letters, parts, columns, text)                                          \
    [FC_OP_##op] = {.name = #op,                                                                   \
                    .doc = (text),                                                                 \
                    .rule = FC_RULE_##type_rule,                                                   \
                    .attr = FC_ATTR_LIST,                                                          \
                    .arity = 1,                                                                    \
                    .flags = (letters),                                                            \
                    .components = (parts)},
#define RED2(op, type_rule, letters, parts, columns, text)                                         \
    [FC_OP_##op] = {.name = #op,                                                                   \
                    .doc = (text),                                                                 \
                    .rule = FC_RULE_##type_rule,                                                   \
                    .attr = FC_ATTR_LIST,                                                          \
                    .arity = 2,                                                                    \
                    .flags = (letters),                                                            \
                    .components = (parts)},
#include "ir/ops.def"
};

#define OP(op, operands, type_rule, letters, columns, text)                                        \
    _Static_assert((0 columns) == 0x11111 + 0x100000 * (operands), "columns of " #op);
#define CUDA(f, i)    +0x1
#define LLVM(f, s, u) +0x10
#define EVAL(f, i)    +0x100
#define EXPAND(f, i)  +0x1000
#define ULP(f32, f64) +0x10000
#define GRAD(...)     +0x100000 * sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)
#define RED(op, type_rule, letters, parts, columns, text)                                          \
    _Static_assert((0 columns) == 0x1111, "columns of " #op);
#define INIT(...)    +0x1
#define STEP(...)    +0x10
#define COMBINE(...) +0x100
#define FINISH(...)  +0x1000
#include "ir/ops.def"

static const struct {
    const char *name;
    fc_op op;
} aliases[] = {
#define ALIAS(other, row) {#other, FC_OP_##row},
#include "ir/ops.def"
};

static bool is_name(const char *text, const char *name, size_t len) {
    return strlen(text) == len && memcmp(text, name, len) == 0;
}

fc_op fc_op_by_name(const char *name, size_t len) {
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_COUNT_; op++)
        if (!(fc_ops[op].flags & FC_F_HIDDEN) && is_name(fc_ops[op].name, name, len))
            return (fc_op)op;
    for (size_t i = 0; i < FC_COUNT(aliases); i++)
        if (is_name(aliases[i].name, name, len)) return aliases[i].op;
    return FC_OP_NONE;
}

fc_op fc_op_on_bool(fc_op op) {
    switch (op) {
    case FC_OP_add:
    case FC_OP_maximum:
    case FC_OP_fmax:
    case FC_OP_bit_or: return FC_OP_logical_or;
    case FC_OP_mul:
    case FC_OP_minimum:
    case FC_OP_fmin:
    case FC_OP_bit_and: return FC_OP_logical_and;
    case FC_OP_bit_xor: return FC_OP_ne;
    case FC_OP_bit_not: return FC_OP_logical_not;
    default: return FC_OP_NONE;
    }
}
