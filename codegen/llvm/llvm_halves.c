/* llvm_halves.c - the largest or smallest f16 or bf16 of a row, by its bits.
 *
 * In: a stage with a min or max of elements as they lie in memory. Out: its accumulator. The bits
 * of floats compare as numbers do where the sign is not set, and the other way round where it is.
 * So three integers say all, of which a vector holds twice as many as of f32, and nothing is
 * converted:
 *
 *     high       the largest as signed ones: if not negative, it is the largest of all
 *     low        the smallest as signed ones: the largest if all are negative, and if none is, the
 *                smallest
 *     far        the largest as unsigned ones: if it has the sign, it is the smallest of all
 *
 * A NaN is beyond an infinity, in `high` or in `far`. */
#include "codegen/llvm/llvm_text.h"

#include <math.h>

enum { VECTORS = FC_LL_BAND / 2 }; /* in a band, each of twice as many elements */
enum { HIGH, LOW, FAR, KINDS };
static const char *const beyond[KINDS] = {"sgt", "slt", "ugt"};

/* The load whose elements are reduced as they are, or NULL. */
static const fc_instr *loaded(const fc_ll *f, const fc_ll_stage *st) {
    const fc_instr *i = &f->code.ins.at[f->map[f->k->reductions.at[st->first].value]];
    if (i->op == FC_OP_CVT && i->dtype == FUSEC_F32) i = &f->code.ins.at[i->a];
    return i->op == FC_OP_LOAD && fc_is_half((fusec_dtype)i->dtype) ? i : NULL;
}

bool fc_ll_is_of_halves(const fc_ll *f, const fc_ll_stage *st) {
    const fc_instr *i = loaded(f, st);
    return i && f->cls->llvm.bands && fc_ll_is_min_max(f->red[st->first].op) &&
           fc_class_move(f->cls, (uint32_t)i->imm, f->lane_axis) == FC_MOVE_ONE;
}

/* The position and accumulators for each kind and vector of a band. */
typedef struct carried {
    const char *all[1 + KINDS * VECTORS], *types[1 + KINDS * VECTORS];
} carried;

/* Not beyond any element that there may be; there are elements for a band. */
static void start(fc_ll *f, fusec_dtype t, const char *lo, carried *c) {
    const int64_t least = (int16_t)fc_const_bits(t, -INFINITY);
    const int64_t most = (int16_t)fc_const_bits(t, INFINITY);
    const int64_t from[KINDS] = {least, most, 0};
    c->all[0] = lo;
    c->types[0] = "i64";
    for (unsigned i = 0; i < KINDS * VECTORS; i++) {
        c->all[1 + i] = fc_ll_int(f, 16, from[i / VECTORS], f->V);
        c->types[1 + i] = fc_ll_wide(f, "i16", f->V);
    }
}

static const char *further(fc_ll *f, unsigned kind, const char *x, const char *y) {
    const char *type = fc_ll_wide(f, "i16", f->V);
    const char *first = fc_ll_ins(f, "icmp %s %s %s, %s", beyond[kind], type, x, y);
    return fc_ll_ins(f, "select %s %s, %s %s, %s %s", fc_ll_wide(f, "i1", f->V), first, type, x,
                     type, y);
}

/* The last band ends with the row and has elements of the one before it. */
static void bands(fc_ll *f, uint32_t access, const char *hi, carried *c) {
    fc_ll_loop l;
    const unsigned band = VECTORS * f->V;
    const char *last = fc_ll_bin(f, "sub", hi, fc_ll_fmt(f, "%u", band));
    fc_ll_loop_begin(f, &l, 1 + KINDS * VECTORS, c->types, c->all);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], hi));
    const char *at = fc_ll_min(f, l.carry[0], last);
    for (unsigned v = 0; v < VECTORS; v++) {
        f->x = fc_ll_bin(f, "add", at, fc_ll_fmt(f, "%u", v * f->V));
        const char *x = fc_ll_load_as_stored(f, access);
        for (unsigned kind = 0; kind < KINDS; kind++) {
            const unsigned i = 1 + kind * VECTORS + v;
            c->all[i] = further(f, kind, x, l.carry[i]);
        }
    }
    c->all[0] = fc_ll_bin(f, "add", l.carry[0], fc_ll_fmt(f, "%u", band));
    fc_ll_loop_end(f, &l, c->all);
    memcpy(c->all, l.carry, sizeof c->all);
}

/* Of all lanes of VECTORS vectors. */
static const char *furthest(fc_ll *f, unsigned kind, const carried *c) {
    static const char *const name[KINDS] = {"smax", "smin", "umax"};
    const char *const *v = c->all + 1 + kind * VECTORS, *all = v[0];
    const char *fn = fc_ll_fmt(f, "@llvm.vector.reduce.%s.v%ui16", name[kind], f->V);
    const char *type = fc_ll_wide(f, "i16", f->V);
    for (unsigned i = 1; i < VECTORS; i++) all = further(f, kind, v[i], all);
    fc_ll_declare(f, fc_ll_fmt(f, "i16 %s(%s)", fn, type));
    return fc_ll_ins(f, "call i16 %s(%s %s)", fn, type, all);
}

static const char *result(fc_ll *f, fusec_dtype t, bool max, const char *const m[KINDS]) {
    const char *nan = fc_ll_const(f, FUSEC_F32, fc_const_bits(FUSEC_F32, (double)NAN), 1);
    const char *positive =
        fc_ll_ins(f, "icmp sgt i16 %s, %d", m[HIGH], (int)(int16_t)fc_const_bits(t, INFINITY));
    const char *negative =
        fc_ll_ins(f, "icmp ugt i16 %s, %d", m[FAR], (int)(int16_t)fc_const_bits(t, -INFINITY));
    const char *end = m[max ? HIGH : FAR];
    const char *there = fc_ll_ins(f, "icmp %s i16 %s, 0", max ? "sge" : "slt", end);
    const char *bits = fc_ll_ins(f, "select i1 %s, i16 %s, i16 %s", there, end, m[LOW]);
    return fc_ll_ins(f, "select i1 %s, float %s, float %s",
                     fc_ll_ins(f, "or i1 %s, %s", positive, negative), nan,
                     fc_ll_unpack(f, t, 1, bits));
}

const char **fc_ll_extreme_half(fc_ll *f, const fc_ll_stage *st, const char *lo, const char *hi) {
    carried c;
    const fc_instr *i = loaded(f, st);
    const fusec_dtype t = (fusec_dtype)i->dtype;
    const bool max = f->red[st->first].op == FC_OP_max;
    const char **out = fc_ll_names(f, 1), *m[KINDS];
    const unsigned V = f->V;
    f->V = 2 * V;
    start(f, t, lo, &c);
    bands(f, (uint32_t)i->imm, hi, &c);
    for (unsigned kind = 0; kind < KINDS; kind++) m[kind] = furthest(f, kind, &c);
    f->V = V;
    out[0] = result(f, t, max, m);
    return out;
}
