/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_fft.c - fft, ifft, rfft and irfft along one axis, the last one unless another is named. */
#include "frontend/lang/check_impl.h"
#include "ir/fft.h"

static const char *const names[] = {"fft", "ifft", "rfft", "irfft", NULL};

bool fc_c_is_fft_name(const char *name) {
    return fc_c_listed(names, name);
}

void fc_c_suggest_ffts(fc_suggest *s) {
    for (int i = 0; names[i]; i++) fc_suggest_try(s, names[i]);
}

/* norm="forward": inverse transforms are not divided. */
static bool take_norm(fc_checker *c, fc_call *f, const fc_expr *e, bool *scaled) {
    *scaled = true;
    if (!e || fc_c_val(f, e)->kind == FC_V_UNKNOWN) return !e;
    const char *text = e->kind == FC_EX_STRING ? fc_c_quote(c, e->at) : "";
    const bool forward = strcmp(text, "\"forward\"") == 0;
    *scaled = !forward;
    if (forward || strcmp(text, "\"backward\"") == 0) return true;
    fc_c_error(c, FUSEC_INVALID, e->at, "norm is \"backward\" or \"forward\"");
    return false;
}

bool fc_c_fft_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out) {
    static const char *const keys[] = {"axis", "norm", "n", NULL};
    const fc_arg_spec spec = {NULL, 1, 1, keys};
    const fc_expr *array[1], *kw[3];
    int64_t axes[FC_MAX_RANK] = {-1};
    uint32_t count = 1;
    int kind = 0;
    bool scaled;
    fc_value x;
    fc_dim n = FC_DIM_NONE;
    if (!fc_c_is_fft_name(name)) return false;
    while (strcmp(names[kind], name) != 0) kind++;
    *out = FC_UNKNOWN;
    if (!fc_c_args(c, e, &spec, array, kw) || !fc_c_array_arg(c, f, array[0], &x) ||
        (kw[0] && !fc_c_axes(c, f, array[0], &x, kw[0], axes, &count)) ||
        !take_norm(c, f, kw[1], &scaled))
        return true;
    if (count != 1) {
        fc_c_error(c, FUSEC_BAD_AXIS, kw[0]->at, "%s() goes along one axis", name);
        return true;
    }
    if (kw[2] && (kind != FC_FFT_INVERSE_REAL || !fc_c_size(c, fc_c_val(f, kw[2]), &n))) {
        fc_c_error(c, FUSEC_SHAPE_MISMATCH, kw[2]->at,
                   "n is the length of what irfft() gives, a size");
        return true;
    }
    *out =
        fc_v_node(fc_c_built(c, fc_build_fft(c->g, (fc_fft_kind)kind, x.node, axes[0], n, scaled)));
    return true;
}
