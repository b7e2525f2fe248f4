/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* match.h - the simplification rules of rules.def, compiled for one run, and matching of patterns.
 *
 * A rule is two texts: a pattern, and the result that may stand for it.
 *
 *     sub(add(x, y), y)        rows by name, and cast(...)
 *     x y z  p q               any value; the same letter twice is the same value
 *     c d                      any constant; `c:pow2` one of a condition, see below
 *     0 -1 0.5 inf             constants of the dtype that is met; 0 is either zero, +0 and -0 are
 *                              just one
 *     true false  min max      bool constants; the lowest and the highest value of an integer dtype
 *     c.log2                   in results: the exponent of a power of two
 *     r g                      in GRAD of ops.def only: the result, and the derivative that arrives
 *
 *     pow2   integers: 2^k, k >= 0. Floats: +-2^k whose reciprocal is a normal number
 *     recip  a float whose reciprocal is a normal number
 *     wide   an integer that, read as unsigned, is at least the width of its dtype
 *
 * Operands of commutative rows match in both orders. A constant in the pattern is a CONST node,
 * which the operands of elementwise nodes always are after simplification, never a broadcast of
 * one. A result made only of constants folds when it is built; a constant in a result has the dtype
 * of what it stands beside. */
#ifndef FUSEC_PASSES_MATCH_H
#define FUSEC_PASSES_MATCH_H

#include "ir/graph.h"

/* Which dtypes a rule holds for: those of x. */
enum {
    FC_FOR_BOOL = 1,
    FC_FOR_SIGNED = 2,
    FC_FOR_UNSIGNED = 4,
    FC_FOR_HALF = 8,  /* f16, bf16 */
    FC_FOR_WIDE = 16, /* f32, f64 */
    FC_FOR_INT = FC_FOR_SIGNED | FC_FOR_UNSIGNED,
    FC_FOR_FLOAT = FC_FOR_HALF | FC_FOR_WIDE,
    FC_FOR_ALL = 31
};
uint32_t fc_for_dtype(fusec_dtype t);

typedef struct fc_rewrite_rule {
    uint32_t licence; /* FC_MODE_* flags that must all be set; 0: exact */
    uint32_t dtypes;  /* FC_FOR_* */
    const char *pattern, *result;
} fc_rewrite_rule;

extern const fc_rewrite_rule fc_rewrite_rules[];
extern const uint32_t fc_rewrite_rule_count;

/* ---- compiled form --------------------------------------------------------------------------- */

typedef enum fc_pkind { FC_P_OP, FC_P_VALUE, FC_P_ANY_CONST, FC_P_CONST } fc_pkind;
typedef enum fc_pwhat {
    FC_P_PLAIN,  /* of a constant: `value`, zero of either sign */
    FC_P_SIGNED, /* exactly `value`, sign of zero included */
    FC_P_BOOL,
    FC_P_MIN,
    FC_P_MAX,
    FC_P_POW2, /* conditions of a FC_P_ANY_CONST */
    FC_P_RECIP,
    FC_P_WIDE,
    FC_P_LOG2 /* in results */
} fc_pwhat;

enum { FC_P_SLOTS = 9, FC_P_RESULT = 7, FC_P_ARRIVES = 8, FC_P_TERMS = 16, FC_P_NOSLOT = 255 };

typedef struct fc_pterm {
    uint8_t kind, what;
    uint8_t slot; /* FC_P_VALUE, FC_P_ANY_CONST; of a comparison in a result: gives the dtype */
    uint8_t nkids;
    uint8_t kid[3]; /* indices of terms of the same text */
    uint8_t swap;   /* of a commutative row of a pattern: its bit in fc_variant.swaps, else 0 */
    uint16_t op;
    double value;
} fc_pterm;

typedef struct fc_compiled {
    const fc_rewrite_rule *rule;
    uint8_t npattern, nresult; /* terms; the root is term 0 */
    uint8_t nswaps;            /* commutative rows of the pattern */
    fc_pterm pattern[FC_P_TERMS], result[FC_P_TERMS];
} fc_compiled;

/* A rule with one choice of operand orders. */
typedef struct fc_variant {
    uint16_t rule;
    uint8_t swaps;      /* operands are exchanged at these terms */
    uint16_t expect[3]; /* op that operand k of the root must have; FC_OP_NONE: any */
} fc_variant;

typedef struct fc_ruleset {
    const fc_alloc *alloc;
    FC_VEC(fc_compiled) rules;
    FC_VEC(fc_variant) variants;      /* by root, then in the order of the table */
    uint32_t first[FC_OP_COUNT_ + 1]; /* variants of root op are first[op] ... first[op + 1] - 1 */
    uint32_t mode;                    /* a rule that needs more than it does not match */
} fc_ruleset;

/* What the letters stand for, in the order x y z p q c d r g. */
typedef struct fc_match {
    fc_node at[FC_P_SLOTS];
} fc_match;

/* Compiles the rules for matching under `mode`. A rule that can't be read is FUSEC_INTERNAL. On
 * failure there is nothing to free. */
fusec_status fc_rules_compile(const fc_alloc *alloc, const fc_rewrite_rule *rules, uint32_t n,
                              uint32_t mode, fc_ruleset *out, fc_error *e);
void fc_rules_free(fc_ruleset *s);
/* The rules of rules.def under `mode`. They are shared and not to be freed. */
fusec_status fc_rules_own(uint32_t mode, fc_ruleset *out, fc_error *e);

/* The first rule that fits a node with this op and these operands (nodes of g), or NULL. */
const fc_compiled *fc_rules_match(const fc_ruleset *s, const fc_graph *g, const fc_ninfo *n,
                                  fc_match *m);

/* The bits of a constant of a rule for dtype t; false when the dtype has no such constant. */
bool fc_pterm_bits(const fc_pterm *p, fusec_dtype t, uint64_t *bits);
/* k of a constant 2^k of an integer dtype. */
uint32_t fc_log2_bits(uint64_t bits);

/* ---- derivatives of rows --------------------------------------------------------------------- */

/* A text of the column GRAD. */
typedef struct fc_formula {
    const fc_pterm *terms; /* the root is term 0; NULL: "none" */
    uint8_t n;
    bool zero;
    bool chooses; /* gives 0 where it does not choose g, whatever the factors there are */
    bool safe;    /* g = 0 gives 0, also where a factor is infinite or nan */
} fc_formula;

/* Of operand k of an elementwise row. They are shared and not to be freed. */
fusec_status fc_gradient_formula(int op, unsigned k, const fc_formula **out, fc_error *e);

/* ---- simplification with other rules, for tests ---------------------------------------------- */

fusec_status fc_simplify_with(const fc_graph *src, const fc_ruleset *rules, fc_graph *dst,
                              fc_error *e);

#endif
