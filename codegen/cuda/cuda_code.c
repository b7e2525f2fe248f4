/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_code.c - one instruction of legalised code as CUDA C.
 *
 * In: instructions whose operands have names (or are constants, which stand where they are used).
 * Out: one line each. A row of ops.def supplies its own text (column CUDA); here are only the
 * operations that are not rows: constants, conversions, reinterpretations. f16 and bf16 values are
 * floats with the bits of the narrow type; where the 16 bits themselves are known they are kept as
 * h*, so that a store needs no second conversion and a NaN keeps its payload. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"

/* ---- operands ------------------------------------------------------------------------------- */

static const fc_instr *instr(const fc_cuda_text *t, fc_val v) {
    return &t->code->ins.at[v];
}

static const char *half_name(fusec_dtype t) {
    return t == FUSEC_F16 ? "f16" : "bf16";
}

/* Whether the line that defines v also defines its bits h*. */
static bool has_bits(const fc_instr *i) {
    return fc_is_half((fusec_dtype)i->dtype) &&
           (i->op == FC_OP_LOAD || i->op == FC_OP_LOAD_AT || i->op == FC_OP_CVT ||
            i->op == FC_OP_BITCAST || i->op == FC_OP_PARAM);
}

/* The 16 bits of a value of dtype f16 or bf16. */
static void half_bits(fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    if (i->op == FC_OP_CONST) {
        fc_str_printf(t->out, "(unsigned short)0x%xu", (unsigned)(i->imm & 0xffff));
    } else if (has_bits(i)) {
        fc_str_printf(t->out, "h%u", (unsigned)v);
    } else {
        fc_str_printf(t->out, "fc_%s_bits(", half_name((fusec_dtype)i->dtype));
        fc_cuda_operand(t, v);
        fc_str_char(t->out, ')');
    }
}

static void begin(fc_cuda_text *t, fc_val v) {
    fc_cuda_indent(t);
    fc_str_printf(t->out, "const %s v%u = ", fc_cuda_type((fusec_dtype)instr(t, v)->dtype),
                  (unsigned)v);
}

static void begin_bits(fc_cuda_text *t, fc_val v) {
    fc_cuda_indent(t);
    fc_str_printf(t->out, "const unsigned short h%u = ", (unsigned)v);
}

/* Whether the sign is kept of a NaN, too (cuda_sign.c). */
static const char *kept_sign(const fc_cuda_text *t, fc_val v) {
    return t->sign && t->sign[v] ? "signed_" : "";
}

/* After h*: the value. That of a bf16 has the very bits. */
static void value_of_bits(fc_cuda_text *t, fc_val v) {
    fusec_dtype type = (fusec_dtype)instr(t, v)->dtype;
    fc_str_add(t->out, ";\n");
    begin(t, v);
    fc_str_printf(t->out, "fc_%s_%svalue(h%u);\n", half_name(type),
                  type == FUSEC_F16 ? kept_sign(t, v) : "", (unsigned)v);
}

void fc_cuda_from_storage(fc_cuda_text *t, fc_val v, const char *expr) {
    fusec_dtype type = (fusec_dtype)instr(t, v)->dtype;
    if (fc_is_half(type)) {
        begin_bits(t, v);
        fc_str_add(t->out, expr);
        value_of_bits(t, v);
    } else {
        begin(t, v);
        if (fc_cuda_guard_load(t, v))
            fc_str_printf(t->out, "fc_byte(%s);\n", expr);
        else
            fc_str_printf(t->out, type == FUSEC_BOOL ? "%s != 0;\n" : "%s;\n", expr);
    }
}

void fc_cuda_to_storage(fc_cuda_text *t, fc_val v) {
    fusec_dtype type = (fusec_dtype)instr(t, v)->dtype;
    if (fc_is_half(type)) {
        half_bits(t, v);
        return;
    }
    if (type == FUSEC_BOOL) fc_str_add(t->out, "(unsigned char)");
    fc_cuda_operand(t, v);
}

/* ---- reads at computed elements ------------------------------------------------------------- */

/* A load of an element where its condition holds, else 0. */
static void load_at(fc_cuda_text *t, fc_val v, const char *there) {
    const fc_instr *i = instr(t, v), *when = instr(t, i->b);
    const char *type = fc_dtypes[i->dtype].cuda;
    const bool always = when->op == FC_OP_CONST && when->imm;
    char expr[24];
    snprintf(expr, sizeof expr, "e%u", (unsigned)v);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "const %s %s = ", type, expr);
    if (there) fc_str_add(t->out, there);
    if (there && !always) fc_str_add(t->out, " && ");
    if (!always) fc_cuda_operand(t, i->b);
    if (there || !always) fc_str_add(t->out, " ? ");
    fc_str_printf(t->out, "a%u[", (unsigned)i->imm);
    fc_cuda_operand(t, i->a);
    fc_str_add(t->out, "]");
    if (there || !always) fc_str_printf(t->out, " : (%s)0", type);
    fc_str_add(t->out, ";\n");
    fc_cuda_from_storage(t, v, expr);
}

static void check(fc_cuda_text *t, fc_val v, const char *there, unsigned report) {
    const fc_instr *i = instr(t, v);
    begin(t, v);
    fc_str_add(t->out, "(unsigned long long)");
    fc_cuda_operand(t, i->a);
    fc_str_add(t->out, " < (unsigned long long)");
    fc_cuda_operand(t, i->b);
    fc_str_add(t->out, ";\n");
    fc_cuda_indent(t);
    fc_str_printf(t->out, "if (!v%u && %s%s", (unsigned)v, there ? there : "", there ? " && " : "");
    fc_cuda_operand(t, i->c);
    fc_str_printf(t->out, " >= 0) fc_outside((unsigned long long *)p.w[%u] + %llu, ", report,
                  2 * (unsigned long long)i->imm);
    fc_cuda_operand(t, i->c);
    fc_str_add(t->out, ", ");
    fc_cuda_operand(t, i->a);
    fc_str_add(t->out, ");\n");
}

void fc_cuda_computed(fc_cuda_text *t, fc_val v, const char *there, unsigned report) {
    if (instr(t, v)->op == FC_OP_LOAD_AT)
        load_at(t, v, there);
    else
        check(t, v, there, report);
    t->local[v] = 1;
}

/* ---- conversions ---------------------------------------------------------------------------- */

/* Whether all values of an operand are values of a 16-bit dtype. */
static bool is_half_value(const fc_cuda_text *t, fc_val v, fusec_dtype half) {
    const fc_instr *i = instr(t, v);
    if (i->op == FC_OP_CVT) return instr(t, i->a)->dtype == half;
    return i->op == FC_OP_CONST && half == FUSEC_BF16 && (i->imm & 0xffff) == 0;
}

/* The name of a sum, difference or product of 16-bit values that is only wanted in 16 bits. */
static const char *half_operation(const fc_cuda_text *t, const fc_instr *i) {
    const fc_instr *a = instr(t, i->a);
    fusec_dtype half = (fusec_dtype)i->dtype;
    if (!t->narrow || t->narrow[i->a] != half || a->dtype != FUSEC_F32) return NULL;
    if (a->op != FC_OP_add && a->op != FC_OP_sub && a->op != FC_OP_mul) return NULL;
    if (!is_half_value(t, a->a, half) || !is_half_value(t, a->b, half)) return NULL;
    return a->op == FC_OP_add ? "add" : a->op == FC_OP_sub ? "sub" : "mul";
}

/* The 16 bits behind an f32 that has a value of the 16-bit dtype. */
static void bits_behind(fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    if (i->op == FC_OP_CONST)
        fc_str_printf(t->out, "(unsigned short)0x%xu", (unsigned)(i->imm >> 16 & 0xffff));
    else
        half_bits(t, i->a);
}

bool fc_cuda_of_byte(const fc_instr *i, const fc_instr *from) {
    return i->dtype == FUSEC_F32 && (from->dtype == FUSEC_I8 || from->dtype == FUSEC_U8);
}

bool fc_cuda_rounds(const fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    return i->op == FC_OP_CVT && fc_is_half((fusec_dtype)i->dtype) &&
           instr(t, i->a)->dtype == FUSEC_F32 && !half_operation(t, i) && !*kept_sign(t, v);
}

/* Conversions that one instruction does with one rounding; casts were expanded into them. */
static void convert(fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    fusec_dtype to = (fusec_dtype)i->dtype;
    const char *operation = fc_is_half(to) ? half_operation(t, i) : NULL;
    if (operation) {
        begin_bits(t, v);
        fc_str_printf(t->out, "fc_%s_%s(", half_name(to), operation);
        bits_behind(t, instr(t, i->a)->a);
        fc_str_add(t->out, ", ");
        bits_behind(t, instr(t, i->a)->b);
        fc_str_char(t->out, ')');
        value_of_bits(t, v);
        return;
    }
    if (to == FUSEC_F16)
        begin_bits(t, v);
    else
        begin(t, v);
    if (fc_is_half(to))
        fc_str_printf(t->out, "fc_%s_%s%s(", half_name(to), kept_sign(t, v),
                      to == FUSEC_F16 ? "bits" : "round");
    else if (fc_cuda_of_byte(i, instr(t, i->a)))
        fc_str_add(t->out, "fc_of_byte(");
    else
        fc_str_printf(t->out, "(%s)(", fc_cuda_type(to));
    fc_cuda_operand(t, i->a);
    fc_str_add(t->out, to == FUSEC_F16 ? ")" : ");\n");
    if (to == FUSEC_F16) value_of_bits(t, v);
    if (to == FUSEC_BF16) { /* its bits are the upper ones of the float */
        begin_bits(t, v);
        fc_str_printf(t->out, "fc_bf16_upper(v%u);\n", (unsigned)v);
    }
}

static void reinterpret(fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    fusec_dtype to = (fusec_dtype)i->dtype, from = (fusec_dtype)instr(t, i->a)->dtype;
    if (fc_is_half(to)) {
        begin_bits(t, v);
        fc_str_add(t->out, "(unsigned short)");
        if (fc_is_half(from))
            half_bits(t, i->a);
        else
            fc_cuda_operand(t, i->a);
        value_of_bits(t, v);
        return;
    }
    begin(t, v);
    if (fc_is_half(from)) {
        fc_str_printf(t->out, "(%s)", fc_cuda_type(to));
        half_bits(t, i->a);
        fc_str_add(t->out, ";\n");
        return;
    }
    const char *through = "";
    if (to == FUSEC_F32 && from != FUSEC_F32) through = "__uint_as_float";
    if (to == FUSEC_F64 && from != FUSEC_F64) through = "__longlong_as_double";
    if (from == FUSEC_F32 && to != FUSEC_F32) through = "__float_as_uint";
    if (from == FUSEC_F64 && to != FUSEC_F64) through = "__double_as_longlong";
    fc_str_printf(t->out, "(%s)%s(", fc_cuda_type(to), through);
    fc_cuda_operand(t, i->a);
    fc_str_add(t->out, ");\n");
}

/* ---- rows of the table ---------------------------------------------------------------------- */

/* Arithmetic that wraps is done in an unsigned type of at least the width of int: narrower ones
 * would be promoted to int, whose overflow is undefined. */
static const char *unsigned_twin(fusec_dtype t) {
    return fc_dtypes[t].bytes == 8 ? "unsigned long long" : "unsigned int";
}

/* NVRTC knows functions of constants, by other code than the one that runs: the bits would depend
 * on what was fused. So an argument that it may find to be constant goes through fc_opaque. These
 * can't be: floats from memory, and what strict arithmetic makes of them. */
static bool varies(const fc_cuda_text *t, fc_val v, unsigned depth) {
    const fc_instr *i = instr(t, v);
    bool real = fc_is_float((fusec_dtype)i->dtype), function = !(fc_ops[i->op].flags & FC_F_EXACT);
    switch (i->op) {
    case FC_OP_LOAD:
    case FC_OP_LOAD_AT: return i->dtype != FUSEC_BOOL;
    case FC_OP_ARG: return true;
    case FC_OP_PARAM:
    case FC_OP_ACC: return real;
    case FC_OP_CVT:
    case FC_OP_neg:
    case FC_OP_abs:
    case FC_OP_sqrt:
    case FC_OP_add:
    case FC_OP_sub:
    case FC_OP_mul:
    case FC_OP_div:
    case FC_OP_fma: break;
    default:
        if (!function || !fc_is_elementwise(i->op)) return false;
    }
    for (int k = 0; depth && k < fc_instr_arity(i); k++)
        if ((real || i->op == FC_OP_CVT) && varies(t, fc_instr_operand(i, k), depth - 1))
            return true;
    return false;
}

/* Besides functions: NVRTC 13.0 takes the nan of 0/0 for an ordinary value where it finds the zeros
 * itself. */
static bool to_hide(const fc_cuda_text *t, const fc_instr *i, fc_val v) {
    if (fc_cuda_guard_constant(t, i, v)) return true;
    if (!fc_is_float((fusec_dtype)instr(t, v)->dtype) || varies(t, v, 8)) return false;
    if (i->op == FC_OP_div) return v == i->a && !varies(t, i->b, 8);
    return !(fc_ops[i->op].flags & FC_F_EXACT);
}

static void argument(fc_cuda_text *t, const fc_instr *i, fc_val v) {
    bool hide = to_hide(t, i, v);
    if (hide) fc_str_add(t->out, "fc_opaque(");
    fc_cuda_operand(t, v);
    if (hide) fc_str_add(t->out, ", zero)");
}

static void substitute(fc_cuda_text *t, const char *text, const fc_instr *i, fusec_dtype type) {
    for (; *text; text++) {
        if (*text != '$') {
            fc_str_char(t->out, *text);
            continue;
        }
        switch (*++text) {
        case 'a': argument(t, i, i->a); break;
        case 'b': argument(t, i, i->b); break;
        case 'c': argument(t, i, i->c); break;
        case 't': fc_str_add(t->out, fc_cuda_type(type)); break;
        case 'u': fc_str_add(t->out, unsigned_twin(type)); break;
        default: fc_str_add(t->out, type == FUSEC_F64 ? "" : "f"); break;
        }
    }
}

/* The other one of sin and cos of the same operand, if this slice needs it too. */
static fc_val partner(const fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    fc_op other = i->op == FC_OP_sin ? FC_OP_cos : FC_OP_sin;
    for (fc_val p = 0; t->need && p < t->code->ins.len; p++)
        if (t->need[p] && !t->done[p] && !t->local[p] && instr(t, p)->op == other &&
            instr(t, p)->a == i->a)
            return p;
    return FC_NOVAL;
}

static void sine_and_cosine(fc_cuda_text *t, fc_val v, fc_val other) {
    const fc_instr *i = instr(t, v);
    bool first = i->op == FC_OP_sin;
    fc_cuda_indent(t);
    fc_str_printf(t->out, "%s v%u, v%u;\n", fc_cuda_type((fusec_dtype)i->dtype), (unsigned)v,
                  (unsigned)other);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "fc_sincos%s(", i->dtype == FUSEC_F64 ? "" : "f");
    argument(t, i, i->a);
    fc_str_printf(t->out, ", &v%u, &v%u);\n", (unsigned)(first ? v : other),
                  (unsigned)(first ? other : v));
    t->local[other] = 1;
}

/* Of what is rounded to 16 bits in the end, code that gives the same bits (quotients) or stays
 * inside the bounds of 16-bit functions for fewer instructions; of what wide16 leaves in f32, the
 * same functions: see prelude/half.cuh. */
static const char *narrow_text(const fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    fusec_dtype wide = fc_cuda_node16(i), half = (fusec_dtype)(t->narrow ? t->narrow[v] : 0);
    if (i->dtype != FUSEC_F32) return NULL;
    if (!fc_is_half(half)) half = wide;
    if (!fc_is_half(half)) return NULL;
    if (i->op == FC_OP_exp) return "fc_exp16($a)";
    if (i->op == FC_OP_sin && !fc_is_half(wide)) return "fc_sin16($a)";
    if (i->op == FC_OP_tanh && half == FUSEC_BF16) return "fc_tanh16($a)";
    if (i->op != FC_OP_div) return NULL;
    if (fc_is_half(wide)) return "fc_div_near($a, $b)";
    if (!is_half_value(t, i->a, half) || !is_half_value(t, i->b, half)) return NULL;
    return half == FUSEC_BF16 ? "fc_div_bf16($a, $b)" : "fc_div_f16($a, $b)";
}

bool fc_cuda_divides_by_row(const fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v), *b = i->op == FC_OP_div ? instr(t, i->b) : NULL;
    return b && i->dtype == FUSEC_F32 && i->level == FC_POINT && b->level == FC_ROW &&
           b->op != FC_OP_CONST && !narrow_text(t, v);
}

static void row(fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    fusec_dtype type = (fusec_dtype)instr(t, i->op == FC_OP_where ? i->b : i->a)->dtype;
    const char *text = fc_is_float(type) ? fc_ops[i->op].cuda_f : fc_ops[i->op].cuda_i;
    const char *narrow = narrow_text(t, v), *guard = fc_cuda_guard_row(t, i);
    if (narrow) text = narrow;
    if (guard) text = guard;
    if (t->division && i->op == FC_OP_div) text = t->division;
    if (t->by_row && fc_cuda_divides_by_row(t, v)) text = t->by_row;
    if (type == FUSEC_BOOL && i->op == FC_OP_bit_not) text = "!$a"; /* ~ would promote to int */
    if (i->op == FC_OP_neg && t->sign && t->sign[v]) text = "fc_signed_neg$f($a)";
    begin(t, v);
    substitute(t, text ? text : "", i, type);
    fc_str_add(t->out, ";\n");
}

/* ---- calls of what stands above the kernel --------------------------------------------------- */

static void extern_call(fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "const %s v%u = user%u::%s(", fc_cuda_type((fusec_dtype)i->dtype),
                  (unsigned)v, (unsigned)i->imm, t->k->externs.at[i->imm].function->name);
    fc_val operand[FC_MAX_EXTERN];
    const unsigned nops = fc_extern_values(t->code, i, operand);
    for (unsigned n = 0; n < nops; n++) {
        if (n) fc_str_add(t->out, ", ");
        fc_cuda_operand(t, operand[n]);
    }
    fc_str_add(t->out, ");\n");
}

/* w* are the carried values after it. */
static void loop_call(fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    const fc_rounds *r = t->k->loops.at[i->imm];
    fc_val operand[FC_MAX_LISTED];
    fc_listed_values(t->code, i->a, operand);
    const fc_val *value = operand + FC_REPEAT_BOUNDS;
    for (unsigned c = 0; c < r->ncarried; c++) {
        fc_cuda_indent(t);
        fc_str_printf(t->out, "%s w%u_%u = ", fc_cuda_type((fusec_dtype)r->dtype[c]), (unsigned)v,
                      c);
        fc_cuda_operand(t, value[c]);
        fc_str_add(t->out, ";\n");
    }
    fc_cuda_indent(t);
    fc_str_printf(t->out, "loop%u(", (unsigned)i->imm);
    fc_cuda_operand(t, operand[0]);
    fc_str_add(t->out, ", ");
    fc_cuda_operand(t, operand[1]);
    fc_str_printf(t->out, ", %s, zero", t->there ? t->there : "true");
    for (unsigned c = 0; c < r->nvalues; c++) {
        fc_str_add(t->out, ", ");
        if (c < r->ncarried)
            fc_str_printf(t->out, "w%u_%u", (unsigned)v, c);
        else
            fc_cuda_operand(t, value[c]);
    }
    fc_str_add(t->out, ");\n");
}

void fc_cuda_instr(fc_cuda_text *t, fc_val v) {
    const fc_instr *i = instr(t, v);
    if (i->op == FC_OP_CONST || i->op == FC_OP_ARG || i->op == FC_OP_RECORD || t->local[v]) return;
    if (i->op == FC_OP_CVT) {
        convert(t, v);
    } else if (i->op == FC_OP_BITCAST) {
        reinterpret(t, v);
    } else if (i->op == FC_OP_ACC) {
        begin(t, v);
        fc_str_printf(t->out, "f%u", (unsigned)fc_acc_reduction(i));
        if (t->k->reductions.at[fc_acc_reduction(i)].record)
            fc_str_printf(t->out, ".c%u", fc_acc_result(i));
        fc_str_add(t->out, ";\n");
    } else if (i->op == FC_OP_ROUNDS) {
        loop_call(t, v);
    } else if (i->op == FC_OP_RESULT) {
        begin(t, v);
        fc_str_printf(t->out, "w%u_%u;\n", (unsigned)i->a, (unsigned)i->imm);
    } else if (i->op == FC_OP_EXTERN) {
        extern_call(t, v);
    } else if (i->op == FC_OP_COUNT) {
        begin(t, v);
        fc_str_add(t->out, "count;\n");
    } else {
        fc_val other = i->op == FC_OP_sin || i->op == FC_OP_cos ? partner(t, v) : FC_NOVAL;
        if (other != FC_NOVAL)
            sine_and_cosine(t, v, other);
        else
            row(t, v);
    }
    t->local[v] = 1;
}
