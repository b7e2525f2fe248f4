/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_name.c - what a kernel is called in profilers and traces: see fc_kernel_name in kernel.h.
 *
 *     softmax         fusec_inner_max_sum_exp_sub
 *     sin(x*2 + 1)    fusec_map_sin_mul_add */
#include "ir/kernel.h"

enum { WORDS = 4 };

typedef struct words {
    const char *at[WORDS];
    size_t n, len; /* of all of them, with what is between them */
} words;

static void add(words *w, const char *word) {
    for (size_t i = 0; i < w->n; i++)
        if (!strcmp(w->at[i], word)) return;
    const size_t len = strlen(word) + 1;
    if (w->n == WORDS || w->len + len > FC_KERNEL_NAME - 20) return;
    w->at[w->n++] = word;
    w->len += len;
}

/* Operations in the order of the code: functions first, then what is cheap. */
static void add_operations(words *w, const fc_kernel *k, bool functions) {
    for (size_t i = 0; i < k->code.ins.len; i++) {
        const fc_instr *x = &k->code.ins.at[i];
        if (functions && x->op == FC_OP_EXTERN) add(w, "extern");
        if (!fc_is_elementwise(x->op)) continue;
        if (functions == ((fc_ops[x->op].flags & FC_F_TRANSCENDENTAL) != 0))
            add(w, fc_ops[x->op].name);
    }
}

static bool reads_anywhere(const fc_kernel *k) {
    for (size_t i = 0; i < k->code.ins.len; i++)
        if (k->code.ins.at[i].op == FC_OP_LOAD_AT) return true;
    return false;
}

void fc_kernel_name(const fc_kernel *k, char out[FC_KERNEL_NAME]) {
    words w = {.n = 0};
    for (size_t i = 0; i < k->reductions.len; i++)
        add(&w, k->reductions.at[i].record ? "fold" : fc_ops[k->reductions.at[i].op].name);
    if (k->updates.len) add(&w, "scatter");
    add_operations(&w, k, true);
    if (reads_anywhere(k)) add(&w, "gather");
    add_operations(&w, k, false);
    if (!w.n) add(&w, "copy");
    char *at = out;
    const char *const schedule = fc_schedule_name(k->schedule);
    memcpy(at, "fusec_", 6);
    memcpy(at + 6, schedule, strlen(schedule));
    at += 6 + strlen(schedule);
    for (size_t i = 0; i < w.n; i++) {
        *at++ = '_';
        memcpy(at, w.at[i], strlen(w.at[i]));
        at += strlen(w.at[i]);
    }
    *at = 0;
}
