/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_python.c - what the Python package has for each operation: rows for the extension, with
 * docstrings, and type stubs. Part of fusec_gen (gen_ops.c). */
#include "ir/gen/gen_python.h"

static const char *const rules[] = {
    [FC_RULE_ARITH] = "ARITH",     [FC_RULE_FLOAT] = "FLOAT",   [FC_RULE_ANY] = "ANY",
    [FC_RULE_COMPARE] = "COMPARE", [FC_RULE_TEST] = "TEST",     [FC_RULE_LOGIC] = "LOGIC",
    [FC_RULE_BITS] = "BITS",       [FC_RULE_SELECT] = "SELECT", [FC_RULE_SUM] = "SUM",
    [FC_RULE_KEEP] = "KEEP",       [FC_RULE_BOOL] = "BOOL",     [FC_RULE_INDEX] = "INDEX",
    [FC_RULE_MEAN] = "MEAN"};

/* The package shows elementwise rows of up to three operands and all reductions. */
static bool is_shown(int op) {
    return !(fc_ops[op].flags & FC_F_HIDDEN) &&
           (fc_is_reduction(op) || (fc_is_elementwise(op) && fc_ops[op].arity <= 3));
}

static const char *rule_of(fc_rule rule) {
    const char *name = (size_t)rule < FC_COUNT(rules) ? rules[rule] : NULL;
    return name ? name : "OTHER";
}

static const char *operands(int op) {
    static const char *const names[] = {"", "x", "x, y", "x, y, z"};
    return fc_is_reduction(op) ? "x" : names[fc_ops[op].arity];
}

/* What an example passes as operand i: elements that every dtype of the rule has. */
static const char *example(int op, int i) {
    switch (fc_ops[op].rule) {
    case FC_RULE_LOGIC:
    case FC_RULE_BOOL: return i == 0 ? "[True, False]" : "[True, True]";
    case FC_RULE_BITS: return i == 0 ? "[6, 5]" : "[2, 1]";
    case FC_RULE_SELECT: return i == 0 ? "[True, False]" : "[0.5, 0.25]";
    default: return i == 0 ? "[0.25, 0.5]" : "[0.5, 0.75]";
    }
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static void quoted(FILE *out, const char *text) {
    for (; *text != 0; text++) fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void docstring(FILE *out, int op) {
    const fc_op_info *row = &fc_ops[op];
    fprintf(out, "\"%s(%s, /)\\n--\\n\\n", row->name, operands(op));
    quoted(out, row->doc);
    fputs(".\\n\\n", out);
    if (fc_is_reduction(op))
        fputs("Over all axes, or those of `axis`; `keepdims` keeps them with length 1.\\n", out);
    else if (row->arity > 1)
        fputs("Operands broadcast to one shape; their dtypes promote as NumPy's do, Python numbers "
              "take that of the arrays.\\n",
              out);
    else
        fputs("The result has the shape of the operand.\\n", out);
    fprintf(out, "Takes: %s. Gives: %s.\\n", fc_gen_takes(row->rule), fc_gen_gives(row->rule));
    fprintf(out, "Raises: fusec.DtypeError for other dtypes%s%s.\\n\\n",
            row->arity > 1 ? ", fusec.ShapeError for shapes that do not broadcast" : "",
            row->flags & FC_F_EMPTY_IS_ERROR ? ", ValueError for no elements" : "");
    fprintf(out, ">>> fx.%s(", row->name);
    for (int i = 0; i < (fc_is_reduction(op) ? 1 : row->arity); i++)
        fprintf(out, "%sfx.asarray(%s)", i ? ", " : "", example(op, i));
    fprintf(out, ").shape\\n%s\\n\"", fc_is_reduction(op) ? "()" : "(2,)");
}

void fc_gen_python(FILE *out) {
    fputs("/* fx_rows.h - made from ir/ops.def by fusec_gen. */\n", out);
    for (int op = 0; op < FC_OP_COUNT_; op++) {
        if (!is_shown(op)) continue;
        fprintf(out, "FX_ROW(%s, %d, %s,\n       ", fc_ops[op].name,
                fc_is_reduction(op) ? 0 : fc_ops[op].arity, rule_of(fc_ops[op].rule));
        docstring(out, op);
        fputs(")\n", out);
    }
    fputs("FX_ROW(logsumexp, 0, MEAN, \"logsumexp(x, /)\\n--\\n\\nlog(sum(exp(x))) without "
          "overflow.\\n\\nOver all axes, or those of `axis`.\\n\\n"
          ">>> fx.logsumexp(fx.asarray([0.25, 0.5])).shape\\n()\\n\")\n",
          out);
}

/* ---- stubs --------------------------------------------------------------------------------------
 */

/* Functions of the package with the names of rows: scripts/python-stubs has them. */
static bool is_wrapped(int op) {
    static const char *const names[] = {"where",         "clip",       "round",
                                        "sign",          "reciprocal", "float_power",
                                        "bitwise_count", "ldexp",      "sinc"};
    for (size_t i = 0; i < FC_COUNT(names); i++)
        if (!strcmp(names[i], fc_ops[op].name)) return true;
    return fc_is_reduction(op);
}

void fc_gen_stubs(FILE *out) {
    fputs("# Made from ir/ops.def by fusec_gen.\n"
          "from typing import Any\n\nfrom ._types import Array, Operand\n\n",
          out);
    for (int op = 0; op < FC_OP_COUNT_; op++) {
        static const char *const elementwise[] = {"", "x: Operand, /", "x: Operand, y: Operand, /",
                                                  "x: Operand, y: Operand, z: Operand, /"};
        if (!is_shown(op) || is_wrapped(op)) continue;
        fprintf(out,
                "def %s(%s, *, out: Any = ..., where: Any = ..., dtype: Any = ..., "
                "casting: str = ...) -> Array: ...\n",
                fc_ops[op].name, elementwise[fc_ops[op].arity]);
    }
}
