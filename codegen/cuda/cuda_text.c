/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_text.c - what all text of a kernel is made of: lines, types, constants, operands. */
#include "codegen/cuda/cuda.h"

/* ---- lines ---------------------------------------------------------------------------------- */

void fc_cuda_indent(fc_cuda_text *t) {
    for (unsigned i = 0; i < t->depth; i++) fc_str_add(t->out, "    ");
}

void fc_cuda_line(fc_cuda_text *t, const char *fmt, ...) {
    if (fmt[0] == '}' && t->depth) t->depth--;
    if (fmt[0] != '#') fc_cuda_indent(t);
    va_list ap;
    va_start(ap, fmt);
    fc_str_vprintf(t->out, fmt, ap);
    va_end(ap);
    fc_str_char(t->out, '\n');
    size_t n = strlen(fmt);
    if (n && fmt[n - 1] == '{') t->depth++;
}

const char *fc_cuda_type(fusec_dtype t) {
    if (t == FUSEC_BOOL) return "bool";
    return fc_dtypes[fc_dtypes[t].compute].cuda;
}

/* ---- constants ------------------------------------------------------------------------------ */

static void hexadecimal(fc_str *out, double v, const char *suffix) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t fraction = bits & 0xfffffffffffffu;
    int exponent = (int)(bits >> 52 & 0x7ff), digits = 13;
    while (digits > 0 && (fraction & 15) == 0) {
        fraction >>= 4;
        digits--;
    }
    fc_str_printf(out, "%s0x%d", bits >> 63 ? "-" : "", exponent != 0);
    if (digits) fc_str_printf(out, ".%0*llx", digits, (unsigned long long)fraction);
    if (exponent == 0 && digits == 0) exponent = 1023; /* zero */
    fc_str_printf(out, "p%d%s", exponent ? exponent - 1023 : -1022, suffix);
}

static void float_literal(fc_str *out, fusec_dtype t, uint64_t bits) {
    double v = fc_const_value(t, bits);
    bool negative = v < 0 || (v == 0 && 1 / v < 0);
    if (v - v == 0) {
        if (negative) fc_str_char(out, '(');
        hexadecimal(out, v, t == FUSEC_F64 ? "" : "f");
        if (negative) fc_str_char(out, ')');
    } else if (t == FUSEC_F64) {
        fc_str_printf(out, "__longlong_as_double((long long)0x%llxull)", (unsigned long long)bits);
    } else {
        float f = (float)v;
        uint32_t wide;
        memcpy(&wide, &f, sizeof wide);
        if (t == FUSEC_F32) wide = (uint32_t)bits; /* a NaN with its payload */
        fc_str_printf(out, "__uint_as_float(0x%xu)", (unsigned)wide);
    }
}

static void literal(fc_str *out, fusec_dtype t, uint64_t bits) {
    unsigned width = fc_dtypes[t].bytes * 8u;
    const char *type = fc_cuda_type(t);
    if (width < 64) bits &= ((uint64_t)1 << width) - 1;
    if (t == FUSEC_BOOL) {
        fc_str_add(out, bits ? "true" : "false");
    } else if (fc_is_float(t)) {
        float_literal(out, t, bits);
    } else if (fc_is_unsigned(t)) {
        fc_str_printf(out, "(%s)%llu%s", type, (unsigned long long)bits, width == 64 ? "ull" : "u");
    } else {
        uint64_t sign = (uint64_t)1 << (width - 1);
        int64_t v = (int64_t)((bits ^ sign) - sign);
        if (v == INT64_MIN || v == INT32_MIN) /* no literal of the type has this value */
            fc_str_printf(out, "((%s)0x%llx%s)", type, (unsigned long long)bits,
                          width == 64 ? "ull" : "u");
        else
            fc_str_printf(out, "(%s)%s%lld%s%s", type, v < 0 ? "(" : "", (long long)v,
                          width == 64 ? "ll" : "", v < 0 ? ")" : "");
    }
}

/* ---- operands ------------------------------------------------------------------------------- */

void fc_cuda_operand(fc_cuda_text *t, fc_val v) {
    const fc_instr *i = &t->code->ins.at[v];
    if (i->op == FC_OP_CONST)
        literal(t->out, (fusec_dtype)i->dtype, i->imm);
    else if (i->op == FC_OP_ARG)
        fc_str_add(t->out, t->args[i->imm]);
    else
        fc_str_printf(t->out, "v%u", (unsigned)v);
}
