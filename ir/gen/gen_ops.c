/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_ops.c - writes files made from the table of operations (ir/ops.def). A program of the build,
 * no part of the library.
 *
 *     fusec_gen operations FILE    docs/operations.md: a table for each group of ops.def
 *     fusec_gen header FILE        include/fusec/ops.h: a C function for each row
 *     fusec_gen python FILE        rows of the Python extension, with docstrings (gen_python.c)
 *     fusec_gen stubs FILE         type stubs of the Python package
 *     fusec_gen json FILE          the interface and the tables, for bindings (gen_json.c,
 * gen_api.c)
 *
 * A new kind of file is one function and one row of `kinds`. */
#include <stdio.h>

#include "ir/gen/gen_json.h"
#include "ir/gen/gen_python.h"
#include "ir/ops.h"

/* ---- the rows with their headings, in the order of ops.def ------------------------------ */

typedef struct entry {
    const char *group; /* a heading, or NULL */
    fc_op op;
} entry;

static const entry entries[] = {
#define GROUP(title)   {title, FC_OP_NONE},
#define OP(name, ...)  {NULL, FC_OP_##name},
#define RED(name, ...) {NULL, FC_OP_##name},
#include "ir/ops.def"
};

static const struct {
    const char *call, *doc;
} joins[] = {
#define JOIN(call, doc) {call, doc},
#include "ir/joins.def"
#undef JOIN
};

/* The rows of composites.def; fold: no operands. */
typedef struct row_of_composites {
    const char *name, *doc, *parameter;
    int operands, results;
} row_of_composites;

static const row_of_composites composites[] = {
#define MAP(name, operands, results, like, doc) {#name, doc, NULL, operands, results},
#define FOLD(name, parameter, value, doc)                                                          \
    {#name, doc, sizeof #parameter > 2 ? #parameter : NULL, 0, 1},
#include "ir/composites.def"
};

static bool is_shown(const entry *e) {
    return e->group == NULL && !(fc_ops[e->op].flags & FC_F_HIDDEN);
}

/* ---- docs/operations.md ----------------------------------------------------------------- */

static const char intro[] =
    "# Operations\n"
    "\n"
    "Made from `ir/ops.def` by `fusec_gen`; change it there. What the operations compute at the "
    "edges is\n"
    "in [semantics.md](semantics.md).\n"
    "\n"
    "*Bits*: \"fixed\" means that every backend gives the same bits; on integers every operation "
    "does.\n"
    "*Error*: the largest one in units in the last place, for f32 and f64;\n"
    "0.5 is correctly rounded. f16 and bf16 compute in f32 and round once.\n";

const char *fc_gen_takes(fc_rule rule) {
    switch (rule) {
    case FC_RULE_ARITH: return "numbers";
    case FC_RULE_FLOAT: return "floats; integers become floats";
    case FC_RULE_LOGIC:
    case FC_RULE_BOOL: return "bool";
    case FC_RULE_BITS: return "integers, bool";
    case FC_RULE_SELECT: return "bool, then any two of one dtype";
    case FC_RULE_MEAN: return "floats; integers become floats";
    default: return "any dtype";
    }
}

const char *fc_gen_gives(fc_rule rule) {
    switch (rule) {
    case FC_RULE_COMPARE:
    case FC_RULE_TEST: return "bool";
    case FC_RULE_SUM: return "i64, u64 or the float";
    case FC_RULE_INDEX: return "i64";
    default: return "the same";
    }
}

/* A bar would end the cell. */
static void cell(FILE *out, const char *text) {
    fputs(" ", out);
    for (; *text != 0; text++) fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
    fputs(" |", out);
}

static void call(FILE *out, fc_op op) {
    static const char *const elementwise[] = {"", "x", "x, y", "x, y, z"};
    const char *operands = fc_is_reduction(op) ? "x, axis" : elementwise[fc_ops[op].arity];
    fprintf(out, "| `%s(%s)` |", fc_ops[op].name, operands);
}

/* Bits and error; a bound of 0 stands for an operation without floats in its result. */
static void accuracy(FILE *out, const fc_op_info *row) {
    cell(out, row->flags & FC_F_EXACT ? "fixed" : "bounded");
    if (row->ulp32 > 0)
        fprintf(out, " %g, %g |", (double)row->ulp32, (double)row->ulp64);
    else
        fputs(" |", out);
}

static void heading(FILE *out, const char *title, fc_op first) {
    fprintf(out, "\n## %c%s\n\n", title[0] - ('a' <= title[0] && title[0] <= 'z' ? 32 : 0),
            title + 1);
    if (fc_is_reduction(first))
        fputs("The order of float sums is part of the semantics (section 6), so they are fixed as "
              "well.\n\n"
              "| | takes | gives | no elements | |\n|---|---|---|---|---|\n",
              out);
    else
        fputs("| | takes | gives | bits | error | |\n|---|---|---|---|---|---|\n", out);
}

static void row(FILE *out, fc_op op) {
    const fc_op_info *info = &fc_ops[op];
    call(out, op);
    cell(out, fc_gen_takes(info->rule));
    cell(out, fc_gen_gives(info->rule));
    if (fc_is_reduction(op))
        cell(out, info->flags & FC_F_EMPTY_IS_ERROR ? "an error" : "allowed");
    else
        accuracy(out, info);
    cell(out, info->doc);
    fputs("\n", out);
}

static void operations(FILE *out) {
    fputs(intro, out);
    const char *title = NULL; /* printed with the first row below it, if there is one */
    for (size_t k = 0; k < FC_COUNT(entries); k++) {
        if (entries[k].group != NULL) title = entries[k].group;
        if (!is_shown(&entries[k])) continue;
        if (title != NULL) heading(out, title, entries[k].op);
        title = NULL;
        row(out, entries[k].op);
    }
    fputs("\n## Made of several operations\n\n"
          "From `ir/composites.def`. Where two things are named, there are two results.\n\n| | "
          "|\n|---|---|\n",
          out);
    for (size_t k = 0; k < FC_COUNT(composites); k++) {
        const row_of_composites *c = &composites[k];
        fprintf(out, "| `%s(%s%s%s)` |", c->name,
                c->operands == 2 ? "x, y"
                : c->operands    ? "x"
                                 : "x, axis",
                c->parameter ? ", " : "", c->parameter ? c->parameter : "");
        cell(out, c->doc);
        fputs("\n", out);
    }
    fputs("\n## Reading and storing at indices, moving, joining\n\n"
          "From `ir/joins.def`. They are views and reads at computed places, and fuse like "
          "them.\n\n| | |\n|---|---|\n",
          out);
    for (size_t k = 0; k < FC_COUNT(joins); k++) {
        fprintf(out, "| `%s` |", joins[k].call);
        cell(out, joins[k].doc);
        fputs("\n", out);
    }
}

/* ---- include/fusec/ops.h ---------------------------------------------------------------- */

static const char header_intro[] =
    "/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */\n"
    "/* ops.h - the elementwise operations and reductions, one function each. Part of fusec.h.\n"
    " *\n"
    " * Made from ir/ops.def by fusec_gen; change it there. Operands are broadcast to one shape "
    "(axes align\n"
    " * from the right, only the constant size 1 stretches) and have one dtype; numbers take it.\n"
    " *\n"
    " * Reductions go over `naxes` axes, negative ones count from the end; naxes 0 and axes NULL "
    "mean all.\n"
    " * keepdims keeps the reduced axes with size 1. */\n"
    "#ifndef FUSEC_OPS_H\n"
    "#define FUSEC_OPS_H\n"
    "\n"
    "#include <fusec/fusec.h>\n"
    "\n"
    "#ifdef __cplusplus\n"
    "extern \"C\" {\n"
    "#endif\n"
    "\n"
    "/* clang-format off */\n";

static const char lists_intro[] =
    "\n/* The names with 1, 2 and 3 operands and the reductions, for tables and bindings: X(name) "
    "for each. */\n";

static const char header_end[] = "/* clang-format on */\n"
                                 "\n"
                                 "#ifdef __cplusplus\n"
                                 "}\n"
                                 "#endif\n"
                                 "#endif\n";

static void prototype(FILE *out, const char *name, const char *operands, const char *doc) {
    char text[400];
    snprintf(text, sizeof text, "fusec_%s(%s);", name, operands);
    fprintf(out, "FUSEC_API fusec_value %-66s /* %s */\n", text, doc);
}

/* #define FUSEC_OPS_<which>(X) X(name) ... of the elementwise rows of an arity; 0 stands for
 * reductions. */
static void list(FILE *out, const char *which, int arity) {
    fprintf(out, "#define FUSEC_OPS_%s(X)", which);
    for (size_t k = 0; k < FC_COUNT(entries); k++) {
        if (!is_shown(&entries[k])) continue;
        const fc_op op = entries[k].op;
        if ((fc_is_reduction(op) ? 0 : fc_ops[op].arity) == arity)
            fprintf(out, " X(%s)", fc_ops[op].name);
    }
    fputs("\n", out);
}

static void composite(FILE *out, const row_of_composites *c) {
    static const char *const operands[] = {
        "fusec_value x, int naxes, const int *axes, int keepdims", "fusec_value x",
        "fusec_value x, fusec_value y"};
    char text[200];
    if (c->results == 2)
        fprintf(out,
                "FUSEC_API void fusec_%s(%s, fusec_value *first, fusec_value *second); /* %s */\n",
                c->name, operands[c->operands], c->doc);
    else if (c->parameter) {
        snprintf(text, sizeof text,
                 "fusec_value x, double %s, int naxes, const int *axes, int keepdims",
                 c->parameter);
        prototype(out, c->name, text, c->doc);
    } else
        prototype(out, c->name, operands[c->operands], c->doc);
}

static void header(FILE *out) {
    static const char *const elementwise[] = {"", "fusec_value x", "fusec_value x, fusec_value y",
                                              "fusec_value x, fusec_value y, fusec_value z"};
    static const char reduction[] = "fusec_value x, int naxes, const int *axes, int keepdims";
    fputs(header_intro, out);
    const char *title = NULL;
    for (size_t k = 0; k < FC_COUNT(entries); k++) {
        if (entries[k].group != NULL) title = entries[k].group;
        if (!is_shown(&entries[k])) continue;
        if (title != NULL) fprintf(out, "\n/* %s */\n", title);
        title = NULL;
        const fc_op op = entries[k].op;
        prototype(out, fc_ops[op].name,
                  fc_is_reduction(op) ? reduction : elementwise[fc_ops[op].arity], fc_ops[op].doc);
    }
    prototype(out, "logsumexp", reduction, "log(sum(exp(x))) without overflow");
    fputs("\n/* made of several operations; results after the operands */\n", out);
    for (size_t k = 0; k < FC_COUNT(composites); k++) composite(out, &composites[k]);
    fputs(lists_intro, out);
    list(out, "UNARY", 1);
    list(out, "BINARY", 2);
    list(out, "TERNARY", 3);
    list(out, "REDUCTIONS", 0);
    fputs(header_end, out);
}

/* ---- main ------------------------------------------------------------------------------- */

static bool json_good = true;

static void json(FILE *out) {
    json_good = fc_gen_json(out);
}

static const struct {
    const char *name;
    void (*write)(FILE *out);
} kinds[] = {{"operations", operations},
             {"header", header},
             {"python", fc_gen_python},
             {"stubs", fc_gen_stubs},
             {"json", json}};

int main(int argc, char **argv) {
    for (size_t k = 0; argc == 3 && k < FC_COUNT(kinds); k++) {
        if (strcmp(argv[1], kinds[k].name) != 0) continue;
        FILE *out = fopen(argv[2], "w");
        if (out != NULL) kinds[k].write(out);
        if (out == NULL || ferror(out) || fclose(out) != 0) {
            fprintf(stderr, "fusec_gen: can't write %s\n", argv[2]);
            return 1;
        }
        return json_good ? 0 : 1;
    }
    fputs("usage: fusec_gen KIND FILE; kinds:", stderr);
    for (size_t k = 0; k < FC_COUNT(kinds); k++) fprintf(stderr, " %s", kinds[k].name);
    fputs("\n", stderr);
    return 2;
}
