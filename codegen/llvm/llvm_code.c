/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_code.c - straight-line code as text: the kernel's own, at width 1 or V, and programs of
 * reductions.
 *
 * In: code legalised for LLVM, and the place where it runs. Out: the names of its values. A value
 * that is the same in all lanes (uniform) is computed once at width 1 and spread when a vector
 * needs it; a value of row level is computed before the loop over the points. Names of one scope
 * are forgotten at its end.
 *
 * The columns of ops.def: "fadd" an instruction, "?olt" a comparison, "@llvm.sqrt" an intrinsic,
 * "#sin" a function of libm, "!fc_far_sin" one of ir/far.h, and the spellings neg, not, select,
 * scale, philox. */
#include "codegen/llvm/llvm_text.h"
#include "codegen/llvm/llvm_math.h"
#include "ir/expand.h"
#include "ir/plant.h"

/* ---- functions of libm ----------------------------------------------------------------------- */

static const char *arguments(fc_ll *f, const char *type, unsigned n, const char *const *args) {
    const char *text = "";
    for (unsigned i = 0; i < n; i++)
        text = fc_ll_fmt(f, "%s%s%s %s", text, i ? ", " : "", type, args[i]);
    return text;
}

/* An internal function that calls `fn` for the first n lanes; the others give their first
 * operand. */
static void define_lanes(fc_ll *f, const char *name, const char *fn, const char *scalar,
                         unsigned nargs) {
    const char *vector = fc_ll_wide(f, scalar, f->V);
    const char *start = fc_ll_fmt(f, "define internal %s @%s(", vector, name);
    fc_str *out = &f->helpers;
    if (strstr(out->data, start)) return;
    fc_str_printf(out, "\n%s", start);
    for (unsigned i = 0; i < nargs; i++) fc_str_printf(out, "%s %%x%u, ", vector, i);
    fc_str_add(out, "i64 %n) {\nentry:\n");
    for (unsigned i = 0; i < nargs; i++)
        fc_str_printf(out, "  %%m%u = alloca %s, align 64\n  store %s %%x%u, ptr %%m%u, align 64\n",
                      i, vector, vector, i, i);
    fc_str_add(out,
               "  br label %head\nhead:\n  %i = phi i64 [ 0, %entry ], [ %next, %lane ]\n"
               "  %more = icmp ult i64 %i, %n\n  br i1 %more, label %lane, label %done\nlane:\n");
    const char *args[3] = {"0", "0", "0"};
    for (unsigned i = 0; i < nargs; i++) {
        fc_str_printf(
            out, "  %%p%u = getelementptr %s, ptr %%m%u, i64 %%i\n  %%v%u = load %s, ptr %%p%u\n",
            i, scalar, i, i, scalar, i);
        args[i] = fc_ll_fmt(f, "%%v%u", i);
    }
    fc_str_printf(out, "  %%r = call %s @%s(%s) nobuiltin\n  store %s %%r, ptr %%p0\n", scalar, fn,
                  arguments(f, scalar, nargs, args), scalar);
    fc_str_printf(out, "  %%next = add i64 %%i, 1\n  br label %%head\ndone:\n");
    fc_str_printf(out, "  %%all = load %s, ptr %%m0, align 64\n  ret %s %%all\n}\n", vector,
                  vector);
}

/* "nobuiltin", because LLVM would fold a call with a constant by other code than the one that runs,
 * and make pow(2, x) an exp2: the bits would depend on what was fused. */
const char *fc_ll_math(fc_ll *f, const char *fn, unsigned nargs, fusec_dtype t, unsigned W,
                       const char *const *args) {
    const char *scalar = fc_ll_type(f, t, 1), *type = fc_ll_type(f, t, W);
    const char *libm = fc_ll_fmt(f, "%s%s", fn, t == FUSEC_F32 ? "f" : "");
    const char *params = scalar;
    for (unsigned i = 1; i < nargs; i++) params = fc_ll_fmt(f, "%s, %s", params, scalar);
    fc_ll_declare(f, fc_ll_fmt(f, "%s @%s(%s)", scalar, libm, params));
    const char *given = arguments(f, type, nargs, args);
    if (W == 1) return fc_ll_ins(f, "call %s @%s(%s) nobuiltin", type, libm, given);
    const char *lanes = fc_ll_fmt(f, "%s.%s.lanes", f->name, libm);
    define_lanes(f, lanes, libm, scalar, nargs);
    return fc_ll_ins(f, "call %s @%s(%s, i64 %s)", type, lanes, given,
                     f->active ? f->active : fc_ll_number(f, W));
}

/* ---- one instruction ------------------------------------------------------------------------- */

static const char *column(fc_op op, fusec_dtype t) {
    const fc_op_info *row = &fc_ops[op];
    if (FC_PLANTED(compare_signed) && row->rule == FC_RULE_COMPARE && !fc_is_float(t))
        return row->llvm_s;
    return fc_is_float(t) ? row->llvm_f : fc_is_signed(t) ? row->llvm_s : row->llvm_u;
}

const char *fc_ll_intrinsic(fc_ll *f, const char *name, unsigned nargs, fusec_dtype t, unsigned W,
                            const char *const *args) {
    const char *type = fc_ll_type(f, t, W), *types = type;
    for (unsigned i = 1; i < nargs; i++) types = fc_ll_fmt(f, "%s, %s", types, type);
    const char *full = fc_ll_fmt(f, "%s.%s", name, fc_ll_suffix(f, fc_ll_type(f, t, 1), W));
    fc_ll_declare(f, fc_ll_fmt(f, "%s %s(%s)", type, full, types));
    return fc_ll_ins(f, "call %s %s(%s)", type, full, arguments(f, type, nargs, args));
}

static const char *far_alone(fc_ll *f, fusec_dtype t, unsigned W, const char *fn,
                             const char *const *a) {
    fc_ll_far r = {.n = 1, .x = {a[0]}, .fn = {fn}, .y = {a[1]}};
    fc_ll_far_lanes(f, t, W, &r);
    return r.out[0];
}

/* Lanes that are masked off hold 0, and a division by it would trap. */
static const char *safe_divisor(fc_ll *f, fusec_dtype t, unsigned W, const char *b) {
    if (!f->mask || W == 1) return b;
    const char *type = fc_ll_type(f, t, W);
    return fc_ll_select(f, type, W, f->mask, b, fc_ll_const(f, t, 1, W));
}

/* Vectors of i64 are divided lane by lane. Indices that are continued periodically are below their
 * period nearly everywhere, and then there is nothing to divide. */
static const char *divide_if(fc_ll *f, const char *text, bool rest, unsigned W, const char *a,
                             const char *b) {
    const char *type = fc_ll_type(f, FUSEC_I64, W);
    const char *below = fc_ll_ins(f, "icmp ult %s %s, %s", type, a, b);
    const char *positive =
        fc_ll_ins(f, "icmp sgt %s %s, %s", type, b, fc_ll_const(f, FUSEC_I64, 0, W));
    const char *both = fc_ll_ins(f, "and <%u x i1> %s, %s", W, below, positive);
    fc_ll_if all;
    fc_ll_if_begin(f, &all, fc_ll_all_lanes(f, W, both));
    fc_ll_if_else(f, &all);
    const char *r = fc_ll_ins(f, "%s %s %s, %s", text, type, a, b);
    fc_ll_if_end(f, &all);
    return fc_ll_either(f, &all, type, rest ? a : "zeroinitializer", r);
}

/* Brief code divides in one place, as each lane is some ten instructions. */
static const char *divide_aside(fc_ll *f, const char *text, bool rest, fusec_dtype t, unsigned W,
                                const char *const *a) {
    const char *type = fc_ll_type(f, t, W);
    const char *name =
        fc_ll_fmt(f, "%s.%s.%s", f->name, text, fc_ll_suffix(f, fc_ll_type(f, t, 1), W));
    const char *head = fc_ll_fmt(f, "%s @%s(%s %%x0, %s %%x1)", type, name, type, type);
    if (!strstr(f->helpers.data, head)) {
        fc_ll_aside_begin(f);
        fc_ll_goto(f, "start");
        fc_ll_label(f, "start");
        fc_ll_line(f, "ret %s %s", type,
                   t == FUSEC_I64 ? divide_if(f, text, rest, W, "%x0", "%x1")
                                  : fc_ll_ins(f, "%s %s %%x0, %%x1", text, type));
        fc_ll_aside_end(f, head);
    }
    return fc_ll_ins(f, "call %s @%s(%s %s, %s %s)", type, name, type, a[0], type, a[1]);
}

static const char *divide(fc_ll *f, fc_op op, const char *text, fusec_dtype t, unsigned W,
                          const char *const *a) {
    const char *const by[] = {a[0], safe_divisor(f, t, W, a[1])};
    const bool rest = op == FC_OP_irem_raw;
    if (W > 1 && f->cls->llvm.brief && !f->aside.open) return divide_aside(f, text, rest, t, W, by);
    if (W > 1 && t == FUSEC_I64) return divide_if(f, text, rest, W, by[0], by[1]);
    return fc_ll_ins(f, "%s %s %s, %s", text, fc_ll_type(f, t, W), by[0], by[1]);
}

static const char *by_column(fc_ll *f, fc_op op, unsigned nargs, fusec_dtype t, unsigned W,
                             const char *const *a) {
    const char *text = column(op, t), *type = fc_ll_type(f, t, W);
    if (f->functions && fc_math_has(op, t)) return fc_ll_call(f, op, t, W, a);
    if (!text) fc_ll_fail(f, FUSEC_INTERNAL);
    if (op == FC_OP_fmod && W > 1 && fc_ll_has_remainder(f, t)) return fc_ll_remainder(f, t, a);
    if (text[0] == '#') return fc_ll_math(f, text + 1, nargs, t, W, a);
    if (text[0] == '!') return far_alone(f, t, W, text + 1, a);
    if (text[0] == '@') return fc_ll_intrinsic(f, text, nargs, t, W, a);
    if (text[0] == '?')
        return fc_ll_ins(f, "%s %s %s %s, %s", fc_is_float(t) ? "fcmp" : "icmp", text + 1, type,
                         a[0], a[1]);
    if (!strcmp(text, "neg"))
        return fc_ll_ins(f, "sub %s %s, %s", type, fc_ll_const(f, t, 0, W), a[0]);
    if (!strcmp(text, "not"))
        return fc_ll_ins(f, "xor %s %s, %s", type, a[0], fc_ll_const(f, t, UINT64_MAX, W));
    if (!strcmp(text, "scale")) return fc_ll_scale(f, t, W, a[0], a[1]);
    if (!strcmp(text, "philox")) return fc_ll_philox(f, W, a);
    if (nargs == 1) return fc_ll_ins(f, "%s %s %s", text, type, a[0]);
    if (op == FC_OP_idiv_raw || op == FC_OP_irem_raw) return divide(f, op, text, t, W, a);
    return fc_ll_ins(f, "%s %s %s, %s", text, type, a[0], a[1]);
}

static fc_ll_narrowing narrowing(const fc_ll *f, const fc_code *code, fc_val i) {
    return code == &f->code ? (fc_ll_narrowing)f->narrowing[i] : FC_LL_NARROW_ANY;
}

const char *fc_ll_compute(fc_ll *f, const fc_code *code, fc_val i, unsigned W,
                          const char *const *a) {
    const fc_instr *ins = &code->ins.at[i];
    fusec_dtype from = fc_val_dtype(code, ins->a), to = (fusec_dtype)ins->dtype;
    if (ins->op == FC_OP_CVT && to == FUSEC_BF16)
        return fc_ll_to_bf16(f, narrowing(f, code, i), W, a[0]);
    if (ins->op == FC_OP_CVT) return fc_ll_cvt(f, from, to, W, a[0]);
    if (ins->op == FC_OP_BITCAST) return fc_ll_bitcast(f, from, to, W, a[0]);
    if (ins->op == FC_OP_where) {
        const char *type = fc_ll_type(f, to, W);
        return fc_ll_select(f, type, W, a[0], a[1], a[2]);
    }
    if (!fc_is_elementwise(ins->op)) fc_ll_fail(f, FUSEC_INTERNAL);
    return by_column(f, (fc_op)ins->op, (unsigned)fc_instr_arity(ins), from, W, a);
}

unsigned fc_ll_length(const fc_ll *f, fc_val i) {
    /* beside a rounding that looks for nans a division costs nothing: it is taken for ten */
    static const unsigned narrowing[] = {
        [FC_LL_NARROW_ANY] = 10, [FC_LL_NARROW_CLEAN] = 5, [FC_LL_NARROW_EXACT] = 0};
    const fc_instr *ins = &f->code.ins.at[i];
    if (ins->op != FC_OP_CVT || ins->dtype != FUSEC_BF16) return 1;
    return narrowing[f->narrowing[i]];
}

/* ---- programs -------------------------------------------------------------------------------- */

void fc_ll_run(fc_ll *f, const fc_red_program *p, unsigned W, const char *const *args,
               const char *share, unsigned nout, const char **out) {
    const char **name = fc_ll_names(f, p->code.ins.len);
    for (fc_val i = 0; i < p->code.ins.len; i++) {
        const fc_instr *ins = &p->code.ins.at[i];
        if (!p->needed[i] || ins->op == FC_OP_RECORD) continue;
        if (ins->op == FC_OP_CONST) {
            name[i] = fc_ll_const(f, (fusec_dtype)ins->dtype, ins->imm, W);
        } else if (ins->op == FC_OP_ARG) {
            name[i] = args[ins->imm];
        } else if (ins->op == FC_OP_EXTERN) {
            name[i] = fc_ll_extern_in(f, &p->code, i, W, name);
        } else {
            const char *a[3] = {NULL, NULL, NULL};
            for (int n = 0; n < fc_instr_arity(ins); n++) a[n] = name[fc_instr_operand(ins, n)];
            name[i] = share && ins->op == FC_OP_div ? share : fc_ll_compute(f, &p->code, i, W, a);
        }
    }
    for (unsigned i = 0; i < nout; i++) out[i] = name[p->out[i]];
}

/* ---- the kernel's code: where each value belongs --------------------------------------------- */

/* Of elements of a row inside of a part: an index along another reduced axis, and what is made of
 * it, is the same throughout a vector. */
static bool same_in_lanes(const fc_ll *f, const fc_instr *ins) {
    const bool of_vector = fc_ll_along_row(f) && f->of_part;
    switch (ins->op) {
    case FC_OP_CONST:
    case FC_OP_PARAM:
    case FC_OP_COUNT: return true;
    case FC_OP_ACC: return fc_ll_along_row(f) && f->k->schedule != FC_SCHED_SCAN;
    case FC_OP_PUT_AT: return false; /* done for each */
    case FC_OP_LOAD:
    case FC_OP_INDEX:
        if (of_vector && ins->op == FC_OP_INDEX &&
            fc_class_move(f->cls, (uint32_t)ins->imm, f->lane_axis) == FC_MOVE_ZERO)
            return true;
        if (fc_ll_along_row(f)) return ins->level == FC_ROW;
        if (f->cls->llvm.joined &&
            fc_class_move(f->cls, (uint32_t)ins->imm, f->lane_axis - 1) != FC_MOVE_ZERO)
            return false;
        return fc_class_move(f->cls, (uint32_t)ins->imm, f->lane_axis) == FC_MOVE_ZERO;
    default: break;
    }
    for (int n = 0; n < fc_instr_arity(ins); n++)
        if (!f->uniform[fc_instr_operand(ins, n)]) return false;
    return of_vector || !fc_ll_along_row(f) || ins->level == FC_ROW;
}

/* Whether it is made from what is known of a part only. */
static bool of_part(const fc_ll *f, const fc_instr *ins) {
    for (int n = 0; n < fc_instr_arity(ins); n++) {
        const fc_val v = fc_instr_operand(ins, n);
        if (f->uniform[v] && !f->at_row[v]) return true;
    }
    return false;
}

static bool once_a_row(const fc_ll *f, const fc_instr *ins, bool uniform) {
    if (f->of_part && of_part(f, ins)) return false;
    if (ins->op == FC_OP_CONST || ins->op == FC_OP_PARAM || ins->op == FC_OP_COUNT) return true;
    return f->k->schedule == FC_SCHED_MAP ? uniform : ins->level == FC_ROW;
}

void fc_ll_classify(fc_ll *f) {
    size_t n = f->code.ins.len;
    f->uniform = fc_ll_alloc(f, n);
    f->at_row = fc_ll_alloc(f, n);
    f->s_point = fc_ll_alloc(f, n);
    f->v_point = fc_ll_alloc(f, n);
    f->far_waits = fc_ll_alloc(f, n);
    f->s = fc_ll_names(f, n);
    f->v = fc_ll_names(f, n);
    f->tuple = fc_ll_alloc(f, n * sizeof *f->tuple);
    f->divisor = fc_ll_alloc(f, n * sizeof *f->divisor);
    for (fc_val i = 0; i < n; i++) {
        const fc_instr *ins = &f->code.ins.at[i];
        const bool known = f->of_part && f->of_part[i];
        f->uniform[i] = known || same_in_lanes(f, ins);
        f->at_row[i] = !known && once_a_row(f, ins, f->uniform[i]);
    }
    fc_ll_find_narrowing(f);
    fc_ll_find_coarse(f);
}

void fc_ll_look_along(fc_ll *f, uint32_t axis, bool along_row) {
    f->lane_axis = axis;
    f->along_row = along_row;
    fc_ll_classify(f);
}

/* ---- the kernel's code: emission ------------------------------------------------------------- */

static bool is_far(const fc_instr *ins) {
    return ins->op == FC_OP_far_sin || ins->op == FC_OP_far_cos || ins->op == FC_OP_far_tan;
}

static const char *value(fc_ll *f, fc_val i, unsigned W);

/* Adds the rows that wait, of one x or of the others. */
static void take_waiting(fc_ll *f, fc_val first, bool same_x, fc_ll_far *r, fc_val *group) {
    const fc_instr *of = &f->code.ins.at[first];
    for (fc_val k = 0; k < f->code.ins.len && r->n < FC_LL_FAR; k++) {
        const fc_instr *ins = &f->code.ins.at[k];
        if (!f->far_waits[k] || !is_far(ins) || ins->dtype != of->dtype) continue;
        if ((ins->a == of->a) != same_x) continue;
        f->far_waits[k] = false;
        group[r->n] = k;
        r->fn[r->n] = column((fc_op)ins->op, (fusec_dtype)of->dtype) + 1;
        r->x[r->n] = value(f, ins->a, f->V);
        r->y[r->n++] = value(f, ins->b, f->V);
        if (same_x) continue;
        take_waiting(f, k, true, r, group);
    }
}

/* Rows of ir/far.h wait until one is needed: by then others have their operands, too, and one
 * branch does for all. */
static void far_group(fc_ll *f, fc_val i) {
    fc_ll_far r = {.n = 0};
    fc_val group[FC_LL_FAR] = {0};
    take_waiting(f, i, true, &r, group);
    take_waiting(f, i, false, &r, group);
    fc_ll_far_lanes(f, (fusec_dtype)f->code.ins.at[i].dtype, f->V, &r);
    for (unsigned k = 0; k < r.n; k++) {
        f->v[group[k]] = r.out[k];
        f->v_point[group[k]] = f->in_point;
    }
}

static const char *value(fc_ll *f, fc_val i, unsigned W) {
    const fc_instr *ins = &f->code.ins.at[i];
    if (f->far_waits[i]) far_group(f, i);
    if (ins->op == FC_OP_CONST) return fc_ll_const(f, (fusec_dtype)ins->dtype, ins->imm, W);
    if (W == 1) {
        if (!f->s[i]) fc_ll_fail(f, FUSEC_INTERNAL);
        return f->s[i];
    }
    if (!f->v[i]) {
        if (!f->s[i]) fc_ll_fail(f, FUSEC_INTERNAL);
        f->v[i] = fc_ll_splat(f, fc_ll_type(f, (fusec_dtype)ins->dtype, 1), f->s[i]);
        f->v_point[i] = f->in_point;
    }
    return f->v[i];
}

const char *fc_ll_here(fc_ll *f, fc_val v, unsigned W) {
    return value(f, v, W);
}

static const char *parameter(fc_ll *f, uint32_t n) {
    fusec_dtype t = (fusec_dtype)f->k->params.at[n].dtype;
    return fc_ll_unpack(f, t, 1, fc_ll_word(f, f->lay.params + n, fc_ll_stored(f, t, 1)));
}

static const char *accumulated(fc_ll *f, const fc_instr *ins, unsigned W) {
    const fc_ll_red *r = &f->red[fc_acc_reduction(ins)];
    const unsigned k = fc_acc_result(ins);
    if (r->scanned) return r->scanned[k];
    if (W == 1) return r->result[k];
    if (r->vector) return r->vector[k];
    return fc_ll_fill(f, (fusec_dtype)ins->dtype, W, r->memory[k], f->column);
}

static const char *emit(fc_ll *f, fc_val i, unsigned W) {
    const fc_instr *ins = &f->code.ins.at[i];
    switch (ins->op) {
    case FC_OP_PARAM: return parameter(f, (uint32_t)ins->imm);
    case FC_OP_COUNT: return fc_ll_extra(f, FC_PB_COUNT);
    case FC_OP_ACC: return accumulated(f, ins, W);
    case FC_OP_LOAD:
    case FC_OP_INDEX: return fc_ll_load(f, (uint32_t)ins->imm, W);
    case FC_OP_LOAD_AT: return fc_ll_load_at(f, i, W);
    case FC_OP_INSIDE: return fc_ll_inside(f, i, W);
    case FC_OP_PUT_AT: return fc_ll_put_at(f, i, W);
    case FC_OP_RECORD: return "list"; /* no value of its own */
    case FC_OP_ROUNDS: f->tuple[i] = fc_ll_loop_at(f, i, W); return "loop";
    case FC_OP_EXTERN: return fc_ll_extern(f, i, W);
    case FC_OP_RESULT: return f->tuple[ins->a][ins->imm];
    default: break;
    }
    const char *a[3] = {NULL, NULL, NULL};
    const fc_ll_divisor *by = ins->op == FC_OP_div ? &f->divisor[ins->b] : NULL;
    if (by && by->b && W > 1 && f->coarse[i])
        return fc_ll_divide_coarsely(f, value(f, ins->a, W), by, (fc_ll_coarse)f->coarse[i]);
    if (by && by->b && W > 1)
        return fc_ll_divide(f, (fusec_dtype)ins->dtype, value(f, ins->a, W), by);
    for (int n = 0; n < fc_instr_arity(ins); n++) a[n] = value(f, fc_instr_operand(ins, n), W);
    return fc_ll_compute(f, &f->code, i, W, a);
}

static void emit_level(fc_ll *f, const uint8_t *needed, bool row) {
    for (fc_val i = 0; i < f->code.ins.len; i++) {
        if (!needed[i] || f->at_row[i] != row || f->code.ins.at[i].op == FC_OP_CONST) continue;
        const char **slot = f->uniform[i] ? &f->s[i] : &f->v[i];
        if (*slot) continue;
        if (is_far(&f->code.ins.at[i]) && !f->uniform[i]) {
            f->far_waits[i] = true;
            continue;
        }
        *slot = emit(f, i, f->uniform[i] ? 1 : f->V);
        (f->uniform[i] ? f->s_point : f->v_point)[i] = f->in_point;
    }
    for (fc_val i = 0; i < f->code.ins.len; i++)
        if (f->far_waits[i]) far_group(f, i);
}

/* Whether all points of a row are divided by the same number. */
static bool divides(const fc_ll *f, const fc_instr *ins) {
    return ins->op == FC_OP_div && fc_ll_divides(f, (fusec_dtype)ins->dtype) && f->at_row[ins->b] &&
           f->uniform[ins->b];
}

/* Whether divisions take longer than all else that is done for a point. */
static bool waits_for_divider(const fc_ll *f, const uint8_t *needed) {
    unsigned divisions = 0, others = 0;
    for (fc_val i = 0; i < f->code.ins.len; i++) {
        if (!needed[i] || f->at_row[i] || f->uniform[i]) continue;
        if (divides(f, &f->code.ins.at[i]))
            divisions++;
        else
            others += fc_ll_length(f, i);
    }
    return others <= FC_LL_DIVIDER * divisions;
}

static bool has_value(const fc_ll *f, fc_val v) {
    return f->code.ins.at[v].op != FC_OP_RECORD && f->code.ins.at[v].op != FC_OP_ROUNDS;
}

/* Spreads the row's scalars that vectors of the points need, so that the loop does not. */
static void spread_for_points(fc_ll *f, const uint8_t *needed) {
    const bool divider = waits_for_divider(f, needed);
    for (fc_val i = 0; i < f->code.ins.len; i++) {
        const fc_instr *ins = &f->code.ins.at[i];
        if (!needed[i] || f->at_row[i] || f->uniform[i]) continue;
        if (divider && divides(f, ins) && !f->divisor[ins->b].b)
            f->divisor[ins->b] = fc_ll_divisor_of(f, (fusec_dtype)ins->dtype, value(f, ins->b, 1));
        for (int n = 0; n < fc_instr_arity(ins); n++)
            if (f->at_row[fc_instr_operand(ins, n)] && has_value(f, fc_instr_operand(ins, n)))
                value(f, fc_instr_operand(ins, n), f->V);
    }
}

void fc_ll_emit_rows(fc_ll *f, const uint8_t *needed) {
    f->in_point = false;
    emit_level(f, needed, true);
    spread_for_points(f, needed);
}

void fc_ll_emit_points(fc_ll *f, const uint8_t *needed) {
    f->in_point = true;
    emit_level(f, needed, false);
}

static void forget_points(fc_ll *f) {
    for (size_t i = 0; i < f->code.ins.len; i++) {
        if (f->s_point[i]) f->s[i] = NULL;
        if (f->v_point[i]) f->v[i] = NULL;
    }
    f->in_point = false;
}

/* Of both texts, where there are two (llvm_inside.c). */
static void in_texts(fc_ll *f, void (*forget)(fc_ll *f)) {
    forget(f);
    if (!f->has_inside) return;
    fc_ll_swap_text(f);
    forget(f);
    fc_ll_swap_text(f);
}

void fc_ll_forget_points(fc_ll *f) {
    in_texts(f, forget_points);
}

static void forget_all(fc_ll *f) {
    memset(f->s, 0, f->code.ins.len * sizeof *f->s);
    memset(f->v, 0, f->code.ins.len * sizeof *f->v);
    memset(f->divisor, 0, f->code.ins.len * sizeof *f->divisor);
    f->in_point = false;
}

void fc_ll_forget(fc_ll *f) {
    in_texts(f, forget_all);
}

const char *fc_ll_value(fc_ll *f, fc_val v, unsigned W) {
    return value(f, f->map[v], W);
}

void fc_ll_run_stores(fc_ll *f, fc_level level, unsigned W) {
    for (size_t i = 0; i < f->k->stores.len; i++) {
        const fc_store *s = &f->k->stores.at[i];
        if (fc_ll_store_level(f, s) == level)
            fc_ll_store(f, s->access, W, fc_ll_value(f, s->value, W));
    }
}
