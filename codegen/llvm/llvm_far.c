/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_far.c - sine, cosine and tangent of angles far from 0 (ir/far.h).
 *
 * In: angles and what their formulas made of all lanes. Out: the same, or what the library makes of
 * the lanes that are far. One branch for all of them, to calls that hardly ever run: constants do
 * not stay in registers across a call, and each block more takes its time to compile. */
#include "codegen/llvm/llvm_text.h"
#include "ir/far.h"

static bool is_new_x(const fc_ll_far *r, unsigned k) {
    return k == 0 || r->x[k] != r->x[k - 1];
}

static unsigned far_kind(const char *fn) {
    return strstr(fn, "sin") ? FC_FAR_SIN : strstr(fn, "cos") ? FC_FAR_COS : FC_FAR_TAN;
}

/* Through memory, in one call for each x: nothing of it is compiled here. */
static void far_in_memory(fc_ll *f, fusec_dtype t, unsigned W, fc_ll_far *r) {
    const char *name = t == FUSEC_F64 ? "fc_far_lanes" : "fc_far_lanesf";
    fc_ll_declare(f, fc_ll_fmt(f, "void @%s(ptr, i64, i64, i64)", name));
    const char *array[FC_LL_FAR];
    for (unsigned k = 0, end; k < r->n; k = end) {
        for (end = k + 1; end < r->n && !is_new_x(r, end);) end++;
        unsigned kinds = 0;
        array[k] = fc_ll_array(f, t, (end - k + 1) * W);
        fc_ll_spill(f, t, W, array[k], "0", r->x[k]);
        for (unsigned i = k; i < end; i++) {
            array[i] = array[k];
            kinds |= far_kind(r->fn[i]) << 2 * (i - k);
            fc_ll_spill(f, t, W, array[k], fc_ll_number(f, (i - k + 1) * W), r->y[i]);
        }
        fc_ll_line(f, "call void @%s(ptr %s, i64 %u, i64 %u, i64 %s)", name, array[k], W, kinds,
                   f->active ? f->active : fc_ll_number(f, W));
    }
    for (unsigned k = 0, at = 0; k < r->n; k++) {
        at = is_new_x(r, k) ? W : at + W;
        r->out[k] = fc_ll_fill(f, t, W, array[k], fc_ll_number(f, at));
    }
}

/* The masks of AVX-512 are joined first, then there is one to look at. Elsewhere they are vectors,
 * which LLVM packs. */
static const char *any_lane(fc_ll *f, unsigned W, unsigned bytes, const char *mask) {
    for (; f->m->vector_bytes == 64 && W * bytes > 64; W /= 2) {
        const char *half[2];
        for (unsigned h = 0; h < 2; h++)
            half[h] = fc_ll_pick(f, fc_ll_wide(f, "i1", W), mask, NULL, W / 2, h * W / 2, 1, W);
        mask = fc_ll_ins(f, "or <%u x i1> %s, %s", W / 2, half[0], half[1]);
    }
    return fc_ll_any_lane(f, W, mask);
}

/* Whether any lane of any x is far from 0. */
static const char *any_far(fc_ll *f, fusec_dtype t, unsigned W, const fc_ll_far *r) {
    const char *type = fc_ll_type(f, t, W), *any = NULL;
    const char *limit =
        fc_ll_const(f, t, fc_const_bits(t, t == FUSEC_F64 ? FC_FAR_F64 : FC_FAR_F32), W);
    for (unsigned k = 0; k < r->n; k++) {
        if (!is_new_x(r, k)) continue;
        const char *size = fc_ll_intrinsic(f, "@llvm.fabs", 1, t, W, &r->x[k]);
        const char *here = fc_ll_ins(f, "fcmp oge %s %s, %s", type, size, limit);
        any = any ? fc_ll_ins(f, "or %s %s, %s", fc_ll_type(f, FUSEC_BOOL, W), any, here) : here;
    }
    return W == 1 ? any : any_lane(f, W, fc_dtypes[t].bytes, any);
}

void fc_ll_far_lanes(fc_ll *f, fusec_dtype t, unsigned W, fc_ll_far *r) {
    const char *type = fc_ll_type(f, t, W);
    fc_ll_if branch;
    fc_ll_if_begin(f, &branch, any_far(f, t, W, r));
    if (W > 1)
        far_in_memory(f, t, W, r);
    else
        for (unsigned k = 0; k < r->n; k++) {
            const char *args[2] = {r->x[k], r->y[k]};
            r->out[k] = fc_ll_math(f, r->fn[k], 2, t, W, args);
        }
    fc_ll_if_else(f, &branch);
    fc_ll_if_end(f, &branch);
    for (unsigned k = 0; k < r->n; k++)
        r->out[k] = fc_ll_either(f, &branch, type, r->out[k], r->y[k]);
}
