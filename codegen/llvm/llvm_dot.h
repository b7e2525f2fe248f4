/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_dot.h - what the files of llvm_dot.c share: a contraction that is written, and numbers. */
#ifndef FUSEC_CODEGEN_LLVM_DOT_H
#define FUSEC_CODEGEN_LLVM_DOT_H

#include "codegen/llvm/llvm_text.h"

typedef struct fc_ll_dot {
    fc_ll *f;
    fc_ll_panels p;
    fusec_dtype t;
    bool direct, bare, pairs;
    const char *type, *lanes; /* of an element; of a register */
    unsigned vectors;         /* of a row of a tile */
    unsigned low;             /* rows of low tiles; in brief code there are no others */
    fc_val value[2];
    uint8_t *need[2];    /* code of the left and of the right operand */
    uint32_t operand[2]; /* direct: their accesses */
    unsigned n_axis, m_axis;
    unsigned columns, all_rows; /* axes that are numbered as columns, as rows */
    const char *idx[FC_MAX_AXES];
    const fc_ll_box *b;
    const char *levels, *slot, *rows; /* i64: of the counter; taken; of the left panel */
    /* ptr */
    const char *left, *right, *counter, *tile;
    const char *width;    /* turned: i64, from row to row of the right operand's copy */
    const char *line;     /* of a row of the right panel, if it is made in pieces */
    const char *row, *kn; /* i64: first element of the row of a panel that is filled; elements */
    bool turned[2];       /* some load of the operand lies across its vectors */
    const char **held;    /* [ins] where what is one for a block of k is; NULL: nowhere */
} fc_ll_dot;

/* What the function of a tile is given, besides `n` elements of k. Columns of the registers of a
 * row: those of the right operand and of what is written, as distances from the first. */
#define FC_LL_DOT_ARGS(X)                                                                          \
    X(ptr, a)                                                                                      \
    X(ptr, b)                                                                                      \
    X(i64, down)                                                                                   \
    X(i64, along)                                                                                  \
    X(i64, next) /* from row to row of a, along k */                                               \
    X(i64, load1)                                                                                  \
    X(i64, load2)                                                                                  \
    X(i64, load3)                                                                                  \
    X(i64, mask)                                                                                   \
    X(ptr, levels) /* full levels, the counter */                                                  \
    X(ptr, to)                                                                                     \
    X(i64, step) X(i64, rows) X(i64, columns) /* what is there of the tile */                      \
        X(i64, store1) X(i64, store2) X(i64, store3) X(i64, ahead_a)                               \
            X(i64, ahead_b) /* bytes to what is asked for */

typedef struct fc_ll_dot_call {
    const char *n;
#define X(type, name) const char *name;
    FC_LL_DOT_ARGS(X)
#undef X
} fc_ll_dot_call;

/* llvm_dot_tile.c: the internal functions that make a tile of results in registers, one for a
 * height; whether columns past the last one are masked. */
void fc_ll_dot_tile(const fc_ll_dot *d, unsigned height);
bool fc_ll_dot_is_masked(const fc_ll_dot *d);

/* llvm_dot.c: a vector of an operand to its panel; the vectors [from, to) of one. */
void fc_ll_dot_to_panel(const fc_ll_dot *d, const char *panel, const char *element, const char *v,
                        fc_val value);
void fc_ll_dot_copy(fc_ll_dot *d, unsigned operand, const char *from, const char *to,
                    fc_ll_body body);
/* llvm_dot_window.c: the right panel, where columns are of several axes. */
void fc_ll_dot_make_pieces(fc_ll_dot *d);

static inline const char *fc_ll_dot_times(fc_ll *f, const char *a, unsigned b) {
    return fc_ll_bin(f, "mul", a, fc_ll_number(f, b));
}
static inline const char *fc_ll_dot_plus(fc_ll *f, const char *a, const char *b) {
    return fc_ll_bin(f, "add", a, b);
}
static inline const char *fc_ll_dot_minus(fc_ll *f, const char *a, const char *b) {
    return fc_ll_bin(f, "sub", a, b);
}
static inline const char *fc_ll_dot_up(fc_ll *f, const char *a,
                                       unsigned b) { /* the number of parts of b */
    return fc_ll_bin(f, "udiv", fc_ll_dot_plus(f, a, fc_ll_number(f, b - 1)), fc_ll_number(f, b));
}
static inline const char *fc_ll_dot_at(const fc_ll_dot *d, const char *p, const char *element) {
    return fc_ll_index(d->f, d->type, p, element);
}
/* The same of a panel. */
static inline const char *fc_ll_dot_in_panel(const fc_ll_dot *d, const char *p,
                                             const char *element) {
    return fc_ll_index(d->f, d->pairs ? "i16" : d->type, p, element);
}

#endif
