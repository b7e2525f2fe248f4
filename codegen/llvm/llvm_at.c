/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_at.c - loads at computed elements, and checks of indices.
 *
 * In: an instruction and its operands. Out: its value. Where the element moves by one along the
 * lanes, and everything else in it is the same for all of them, the load is that of a vector; else
 * it gathers. Lanes that are not there, or where the condition does not hold, are not read and are
 * 0. */
#include "codegen/llvm/llvm_text.h"

/* ---- the element -------------------------------------------------------------------------------
 */

static const char *first_of_choice(fc_ll *f, const fc_instr *i, int *moving) {
    int left = 0, right = 0;
    if (!f->uniform[i->a]) return NULL;
    const char *a = fc_ll_first_of(f, i->b, &left);
    const char *b = a ? fc_ll_first_of(f, i->c, &right) : NULL;
    if (!b || left != right) return NULL;
    *moving += left;
    return fc_ll_select(f, "i64", 1, fc_ll_here(f, i->a, 1), a, b);
}

const char *fc_ll_first_of(fc_ll *f, fc_val v, int *moving) {
    const fc_instr *i = &f->code.ins.at[v];
    if (f->uniform[v]) return fc_ll_here(f, v, 1);
    if (i->dtype != FUSEC_I64) return NULL;
    if (i->op == FC_OP_INDEX) {
        *moving += 1;
        return fc_ll_first_index(f, (uint32_t)i->imm);
    }
    if (i->op == FC_OP_where) return first_of_choice(f, i, moving);
    int left = 0, right = 0;
    if (i->op != FC_OP_add && i->op != FC_OP_sub && i->op != FC_OP_mul) return NULL;
    const char *a = fc_ll_first_of(f, i->a, &left);
    const char *b = a ? fc_ll_first_of(f, i->b, &right) : NULL;
    if (!b) return NULL;
    if (i->op != FC_OP_mul) {
        *moving += i->op == FC_OP_add ? left + right : left - right;
        return fc_ll_bin(f, i->op == FC_OP_add ? "add" : "sub", a, b);
    }
    const bool by_left = f->code.ins.at[i->a].op == FC_OP_CONST;
    const fc_instr *by = &f->code.ins.at[by_left ? i->a : i->b];
    const int64_t n = (int64_t)by->imm;
    if (by->op != FC_OP_CONST || n < -64 || n > 64) return NULL;
    *moving += (by_left ? right : left) * (int)n;
    return fc_ll_bin(f, "mul", a, b);
}

static const char *mask_with(fc_ll *f, const char *when) {
    if (!f->mask) return when;
    if (!when) return f->mask;
    return fc_ll_ins(f, "and <%u x i1> %s, %s", f->V, f->mask, when);
}

/* ---- loads -------------------------------------------------------------------------------------
 */

typedef struct load {
    uint32_t arg;
    fusec_dtype t;
    const char *first, *lanes; /* one of the two: element of lane 0, elements of all */
} load;

/* What is there; `mask` may be NULL. */
static const char *read(fc_ll *f, const load *l, unsigned W, const char *mask) {
    const char *array = fc_ll_word(f, f->lay.args + l->arg, "ptr");
    const char *type = fc_ll_stored(f, l->t, 1), *at = l->first ? l->first : l->lanes;
    at = fc_ll_ins(f, "getelementptr %s, ptr %s, %s %s", type, array,
                   l->first ? "i64" : fc_ll_wide(f, "i64", W), at);
    return fc_ll_read(f, l->t, W, at, !l->first, mask);
}

/* A condition that is the same for all lanes is a branch. */
static const char *read_when(fc_ll *f, const load *l, unsigned W, const char *cond) {
    const char *type = fc_ll_stored(f, l->t, W);
    fc_ll_if holds;
    fc_ll_if_begin(f, &holds, cond);
    const char *v = read(f, l, W, W > 1 ? f->mask : NULL);
    fc_ll_if_else(f, &holds);
    fc_ll_if_end(f, &holds);
    return fc_ll_either(f, &holds, type, v, "zeroinitializer");
}

/* Whether the element depends on data that differs between lanes: then neighbours are chance. */
static bool from_data(const fc_ll *f, fc_val v, unsigned depth) {
    const fc_instr *i = &f->code.ins.at[v];
    if (f->uniform[v]) return false;
    if (i->op == FC_OP_LOAD || i->op == FC_OP_LOAD_AT || !depth) return true;
    for (int n = 0; n < fc_instr_arity(i); n++)
        if (from_data(f, fc_instr_operand(i, n), depth - 1)) return true;
    return false;
}

/* What is continued at an edge is a run of neighbours nearly everywhere: one vector then. */
static const char *read_run(fc_ll *f, const load *l, unsigned W, const char *mask) {
    const char *type = fc_ll_stored(f, l->t, W);
    load run = *l;
    fc_ll_if is_run;
    run.first = fc_ll_ins(f, "extractelement <%u x i64> %s, i32 0", W, l->lanes);
    const char *next = fc_ll_ins(f, "add <%u x i64> %s, %s", W, fc_ll_splat(f, "i64", run.first),
                                 fc_ll_iota(f, 64));
    const char *same = fc_ll_ins(f, "icmp eq <%u x i64> %s, %s", W, l->lanes, next);
    fc_ll_if_begin(f, &is_run, fc_ll_all_lanes(f, W, same));
    const char *a = read(f, &run, W, mask);
    fc_ll_if_else(f, &is_run);
    const char *b = read(f, l, W, mask);
    fc_ll_if_end(f, &is_run);
    return fc_ll_either(f, &is_run, type, a, b);
}

enum { LOOK = 12 }; /* instructions below an element */

/* Whether an index of the lanes is divided: then lanes that follow each other mostly have one
 * element. */
static bool divides(const fc_ll *f, fc_val v, unsigned depth) {
    const fc_instr *i = &f->code.ins.at[v];
    if (f->uniform[v] || !depth) return false;
    if (i->op == FC_OP_shr_raw || i->op == FC_OP_idiv_raw) return true;
    for (int n = 0; n < fc_instr_arity(i); n++)
        if (divides(f, fc_instr_operand(i, n), depth - 1)) return true;
    return false;
}

/* One element for all lanes, if they have the same one. */
static const char *read_one(fc_ll *f, const load *l, unsigned W, const char *mask) {
    const char *type = fc_ll_stored(f, l->t, W);
    load one = *l;
    fc_ll_if is_one;
    one.first = fc_ll_ins(f, "extractelement <%u x i64> %s, i32 0", W, l->lanes);
    const char *same =
        fc_ll_ins(f, "icmp eq <%u x i64> %s, %s", W, l->lanes, fc_ll_splat(f, "i64", one.first));
    fc_ll_if_begin(f, &is_one, fc_ll_all_lanes(f, W, same));
    const char *a = fc_ll_splat(f, fc_ll_stored(f, l->t, 1), read(f, &one, 1, NULL));
    fc_ll_if_else(f, &is_one);
    const char *b = read(f, l, W, mask);
    fc_ll_if_end(f, &is_one);
    return fc_ll_either(f, &is_one, type, a, b);
}

const char *fc_ll_load_at(fc_ll *f, fc_val v, unsigned W) {
    const fc_instr *i = &f->code.ins.at[v], *when = &f->code.ins.at[i->b];
    const bool always = when->op == FC_OP_CONST && when->imm;
    load l = {.arg = (uint32_t)i->imm, .t = (fusec_dtype)i->dtype};
    int moving = 0;
    if (W == 1) {
        l.first = fc_ll_here(f, i->a, 1);
    } else {
        l.first = f->coord ? NULL : fc_ll_first_of(f, i->a, &moving);
        if (moving != 1) l.first = NULL;
        if (!l.first) l.lanes = fc_ll_here(f, i->a, W);
    }
    const char *stored;
    if (!always && f->uniform[i->b]) {
        stored = read_when(f, &l, W, fc_ll_here(f, i->b, 1));
    } else {
        const char *mask = W == 1 ? NULL : mask_with(f, always ? NULL : fc_ll_here(f, i->b, W));
        if (l.lanes) fc_ll_ask_at(f, i, W);
        const bool one = always && l.lanes && divides(f, i->a, LOOK),
                   run = l.lanes && !f->cls->llvm.brief && !from_data(f, i->a, LOOK);
        stored = (one && run ? read_one : run ? read_run : read)(f, &l, W, mask);
    }
    return fc_ll_unpack(f, l.t, W, stored);
}

/* ---- checks ------------------------------------------------------------------------------------
 */

/* An internal function that reports one index, for a cold place. */
static const char *reporter(fc_ll *f) {
    const char *name = fc_ll_fmt(f, "%s.outside", f->name);
    const char *start = fc_ll_fmt(f, "define internal void @%s(", name);
    if (f->helpers.data && strstr(f->helpers.data, start)) return name;
    fc_str_printf(&f->helpers, "\n%s", start);
    fc_str_add(&f->helpers, "ptr %words, i64 %position, i64 %value) noinline cold {\n"
                            "  %key = xor i64 %position, -1\n"
                            "  %below = icmp slt i64 %value, -2147483648\n"
                            "  %low = select i1 %below, i64 -2147483648, i64 %value\n"
                            "  %above = icmp sgt i64 %low, 2147483647\n"
                            "  %short = select i1 %above, i64 2147483647, i64 %low\n"
                            "  %bits = and i64 %short, 4294967295\n"
                            "  %high = shl i64 %key, 32\n"
                            "  %second = or i64 %high, %bits\n"
                            "  %there = getelementptr i64, ptr %words, i64 1\n"
                            "  %a = atomicrmw umax ptr %words, i64 %key monotonic\n"
                            "  %b = atomicrmw umax ptr %there, i64 %second monotonic\n"
                            "  ret void\n}\n");
    return name;
}

/* The same of the lanes of a vector that fail. */
static const char *vector_reporter(fc_ll *f, unsigned W) {
    const char *one = reporter(f), *name = fc_ll_fmt(f, "%s.outside%u", f->name, W);
    const char *start = fc_ll_fmt(f, "define internal void @%s(", name);
    if (strstr(f->helpers.data, start)) return name;
    fc_str_printf(&f->helpers,
                  "\n%sptr %%words, <%u x i1> %%fails, <%u x i64> %%positions, "
                  "<%u x i64> %%values) noinline cold {\n"
                  "entry:\n  br label %%test\n"
                  "test:\n  %%i = phi i32 [ 0, %%entry ], [ %%next, %%rest ]\n"
                  "  %%bad = extractelement <%u x i1> %%fails, i32 %%i\n"
                  "  br i1 %%bad, label %%report, label %%rest\n"
                  "report:\n"
                  "  %%position = extractelement <%u x i64> %%positions, i32 %%i\n"
                  "  %%value = extractelement <%u x i64> %%values, i32 %%i\n"
                  "  call void @%s(ptr %%words, i64 %%position, i64 %%value)\n"
                  "  br label %%rest\n"
                  "rest:\n  %%next = add i32 %%i, 1\n"
                  "  %%more = icmp ult i32 %%next, %u\n"
                  "  br i1 %%more, label %%test, label %%end\n"
                  "end:\n  ret void\n}\n",
                  start, W, W, W, W, W, W, one, W);
    return name;
}

const char *fc_ll_inside(fc_ll *f, fc_val v, unsigned W) {
    const fc_instr *i = &f->code.ins.at[v];
    const char *type = fc_ll_type(f, FUSEC_I64, W), *flag = fc_ll_type(f, FUSEC_BOOL, W);
    const char *index = fc_ll_here(f, i->a, W), *size = fc_ll_here(f, i->b, W);
    const char *position = fc_ll_here(f, i->c, W);
    const char *ok = fc_ll_ins(f, "icmp ult %s %s, %s", type, index, size);
    const char *not_ok = fc_ll_ins(f, "xor %s %s, %s", flag, ok, fc_ll_const(f, FUSEC_BOOL, 1, W));
    const char *counts =
        fc_ll_ins(f, "icmp sge %s %s, %s", type, position, fc_ll_const(f, FUSEC_I64, 0, W));
    const char *fails = fc_ll_ins(f, "and %s %s, %s", flag, not_ok, counts), *any = fails;
    if (W > 1) {
        fails = mask_with(f, fails);
        any = fc_ll_any_lane(f, W, fails);
    }
    fc_ll_if cold;
    fc_ll_if_begin(f, &cold, any);
    const char *words = fc_ll_word(f, f->lay.extra + FC_PB_REPORT, "ptr");
    words =
        fc_ll_ins(f, "getelementptr i64, ptr %s, i64 %llu", words, 2 * (unsigned long long)i->imm);
    if (W == 1)
        fc_ll_line(f, "call void @%s(ptr %s, i64 %s, i64 %s)", reporter(f), words, position, index);
    else
        fc_ll_line(f, "call void @%s(ptr %s, %s %s, %s %s, %s %s)", vector_reporter(f, W), words,
                   flag, fails, type, position, type, index);
    fc_ll_if_else(f, &cold);
    fc_ll_if_end(f, &cold);
    return ok;
}
