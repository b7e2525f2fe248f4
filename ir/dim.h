/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dim.h - sizes of axes: linear forms over names, interned, so equal sizes have equal ids.
 *
 * A dim is c0 + c1*s1 + c2*s2 + ... with integer coefficients; the s are symbols. A product of two
 * non-constant dims, and // and % of them, are opaque symbols with a definition, equal only to the
 * same term. Ids are handed out in order: the definition of an opaque symbol uses smaller ids only,
 * so the values of all dims are computed by one loop (fc_dims_eval). */
#ifndef FUSEC_IR_DIM_H
#define FUSEC_IR_DIM_H

#include "ir/base.h"

typedef uint32_t fc_dim; /* id in a fc_dimtab; FC_DIM_NONE: building failed */
#define FC_DIM_NONE UINT32_MAX

typedef enum fc_symkind { FC_SYM_NAMED, FC_SYM_MUL, FC_SYM_FLOORDIV, FC_SYM_MOD } fc_symkind;

/* A size shares what it is made of, so that the text of one made in 40 steps may have 2^40 names.
 * Where sizes are to be written out as a program, those with more names, or with opaque terms
 * inside each other more deeply, are not made. */
enum { FC_DIM_NAMES = 1024, FC_DIM_DEPTH = 64 };

typedef struct fc_sym {
    fc_symkind kind;
    const char *name;      /* FC_SYM_NAMED */
    fc_dim a, b;           /* the operands of an opaque term */
    uint16_t names, depth; /* of its text, counted up to the bounds */
} fc_sym;

typedef struct fc_term {
    uint32_t sym;
    int64_t coef; /* not 0 */
} fc_term;

typedef struct fc_form { /* c + sum of terms, terms in ascending order of sym */
    int64_t c;
    uint32_t nterms;
    const fc_term *terms;
} fc_form;

typedef struct fc_dimtab {
    const fc_alloc *alloc;
    fc_arena arena;
    FC_VEC(fc_sym) syms;
    FC_VEC(fc_form) forms;
    uint32_t *slots; /* hash table of form ids + 1 */
    uint32_t nslots;
    bool oom;      /* a constructor ran out of memory: what it gave says nothing about the size */
    bool written;  /* FC_DIM_NAMES and FC_DIM_DEPTH hold */
    bool too_long; /* one of them was met when a size last failed */
} fc_dimtab;

void fc_dimtab_init(fc_dimtab *t, const fc_alloc *alloc);
void fc_dimtab_free(fc_dimtab *t);
/* Fills the empty table `to` with the symbols and dims of `from`, under the same ids. */
bool fc_dimtab_copy(fc_dimtab *to, const fc_dimtab *from);

/* All constructors return FC_DIM_NONE on overflow, for a text too long, out of memory or when an
 * operand is FC_DIM_NONE; fc_dim_fault says what a size then does ("does not fit 64 bits"),
 * fc_dim_fail makes an error of it: out of memory, or that `what` does that. */
const char *fc_dim_fault(const fc_dimtab *t);
fusec_status fc_dim_fail(const fc_dimtab *t, fc_error *e, const char *what);
fc_dim fc_dim_const(fc_dimtab *t, int64_t c);
fc_dim fc_dim_named(fc_dimtab *t, const char *name); /* the same name gives the same dim */
fc_dim fc_dim_fresh(fc_dimtab *t, const char *name); /* always a new symbol */
fc_dim fc_dim_add(fc_dimtab *t, fc_dim a, fc_dim b);
fc_dim fc_dim_sub(fc_dimtab *t, fc_dim a, fc_dim b);
fc_dim fc_dim_mul(fc_dimtab *t, fc_dim a, fc_dim b);
fc_dim fc_dim_floordiv(fc_dimtab *t, fc_dim a, fc_dim b); /* b != 0 */
fc_dim fc_dim_mod(fc_dimtab *t, fc_dim a, fc_dim b);

/* c + the terms, which have ascending symbols of the table and coefficients that are not 0; else
 * FC_DIM_NONE. */
fc_dim fc_dim_form(fc_dimtab *t, int64_t c, const fc_term *terms, uint32_t n);

bool fc_dim_is_const(const fc_dimtab *t, fc_dim d, int64_t *value); /* `value` may be NULL */
static inline bool fc_dim_is(const fc_dimtab *t, fc_dim d, int64_t want) {
    int64_t v;
    return fc_dim_is_const(t, d, &v) && v == want;
}
bool fc_dim_is_sym(const fc_dimtab *t, fc_dim d,
                   uint32_t *sym); /* just one symbol, coefficient 1 */
/* True when a - b is a constant, which is then known whatever the symbols are. */
bool fc_dim_diff(const fc_dimtab *t, fc_dim a, fc_dim b, int64_t *diff);

/* Values of all dims from the values of the named symbols (`sym_values` is indexed by symbol;
 * opaque ones are computed and written there). `values` has room for t->forms.len. False on
 * overflow or x // 0; `bad` gets the dim. */
bool fc_dims_eval(const fc_dimtab *t, int64_t *sym_values, int64_t *values, fc_dim *bad);
/* The same where only some symbols are known, and then only some dims are: `sym_known` and `known`
 * say which, opaque symbols are filled in. */
bool fc_dims_eval_known(const fc_dimtab *t, int64_t *sym_values, bool *sym_known, int64_t *values,
                        bool *known, fc_dim *bad);

void fc_dim_print(const fc_dimtab *t, fc_dim d,
                  fc_str *out); /* "2*n + 1", as the language writes it */

#endif
