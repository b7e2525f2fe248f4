/* cuda_sign.c - where the sign of a NaN has to be kept.
 *
 * A device gives one NaN, the positive one, where it widens or narrows 16 bits and where it negates
 * by its adder. Nearly always nobody can tell. These can: copysign, of its second operand; a view
 * of the bits; and who reads a result. They can of a NaN that came from memory and went through
 * rows that keep or set the sign (neg, copysign, where, conversions); that of a NaN which was
 * computed is open everywhere (docs/semantics.md).
 *
 * In: legalised code and the values that are stored. Out: g->sign, 1 for each value that is both:
 * somebody can tell, and it is not open. cuda_code.c writes those with the functions below, two
 * instructions more; all other text stays what it is. */
#include "codegen/cuda/cuda.h"

static bool is_float(const fc_cuda_gen *g, fc_val v) {
    return fc_is_float((fusec_dtype)g->code.ins.at[v].dtype);
}

/* From users to what they use: who can tell. */
static void find_readers(fc_cuda_gen *g) {
    for (size_t s = 0; s < g->k->stores.len; s++) g->sign[g->store_value[s]] = 1;
    for (fc_val v = (fc_val)g->code.ins.len; v-- > 0;) {
        const fc_instr *i = &g->code.ins.at[v];
        const uint8_t read = g->sign[v] && is_float(g, v);
        switch (i->op) {
        case FC_OP_BITCAST: g->sign[i->a] = 1; break;
        case FC_OP_copysign: g->sign[i->b] = 1; break;
        case FC_OP_neg:
        case FC_OP_CVT: g->sign[i->a] |= read; break;
        case FC_OP_where:
            g->sign[i->b] |= read;
            g->sign[i->c] |= read;
            break;
        default: break;
        }
    }
}

/* The other way: what is not open. */
static bool is_fixed(const fc_cuda_gen *g, const fc_instr *i) {
    switch (i->op) {
    case FC_OP_LOAD:
    case FC_OP_PARAM:
    case FC_OP_ARG:
    case FC_OP_CONST:
    case FC_OP_BITCAST:
    case FC_OP_copysign: return true;
    case FC_OP_neg:
    case FC_OP_CVT: return g->sign[i->a];
    case FC_OP_where: return g->sign[i->b] || g->sign[i->c];
    default: return false;
    }
}

void fc_cuda_find_signs(fc_cuda_gen *g) {
    find_readers(g);
    for (fc_val v = 0; v < g->code.ins.len; v++)
        g->sign[v] = g->sign[v] && is_float(g, v) && is_fixed(g, &g->code.ins.at[v]);
}

/* ---- how it is kept -------------------------------------------------------------------------- */

/* A negation is written in PTX: what the compiler knows as one is the adder's again. */
static const char functions[] =
    "FC_INLINE float fc_signed_negf(float f) {\n"
    "#ifdef FC_EMULATE\n"
    "    return -f;\n"
    "#else\n"
    "    unsigned int r;\n"
    "    asm(\"xor.b32 %0, %1, 0x80000000;\" : \"=r\"(r) : \"r\"(__float_as_uint(f)));\n"
    "    return __uint_as_float(r);\n"
    "#endif\n"
    "}\n"
    "FC_INLINE double fc_signed_neg(double f) {\n"
    "#ifdef FC_EMULATE\n"
    "    return -f;\n"
    "#else\n"
    "    long long r;\n"
    "    asm(\"xor.b64 %0, %1, 0x8000000000000000;\" : \"=l\"(r) : "
    "\"l\"(__double_as_longlong(f)));\n"
    "    return __longlong_as_double(r);\n"
    "#endif\n"
    "}\n";

static const char functions_f16[] =
    "FC_INLINE float fc_f16_signed_value(unsigned short h) {\n"
    "    return __uint_as_float((__float_as_uint(fc_f16_value(h)) & 0x7fffffffu) | "
    "((unsigned int)h & 0x8000u) << 16);\n"
    "}\n"
    "FC_INLINE unsigned short fc_f16_signed_bits(float f) {\n"
    "    return (unsigned short)((fc_f16_bits(f) & 0x7fffu) | (__float_as_uint(f) >> 16 & "
    "0x8000u));\n"
    "}\n";

static const char functions_bf16[] =
    "FC_INLINE float fc_bf16_signed_round(float f) {\n"
    "    return __uint_as_float((__float_as_uint(fc_bf16_round(f)) & 0x7fffffffu) | "
    "(__float_as_uint(f) & 0x80000000u));\n"
    "}\n";

void fc_cuda_sign_prelude(const fc_cuda_gen *g) {
    bool any = false, f16 = false, bf16 = false;
    for (size_t v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->sign[v]) continue;
        any |= i->op == FC_OP_neg;
        f16 |= i->dtype == FUSEC_F16;
        bf16 |= i->dtype == FUSEC_BF16 && i->op == FC_OP_CVT;
    }
    if (any) fc_str_add(g->t.out, functions);
    if (f16) fc_str_add(g->t.out, functions_f16);
    if (bf16) fc_str_add(g->t.out, functions_bf16);
}
