/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_json.c - the interface and the tables as one JSON object, for those who make bindings:
 * build/fusec.json (docs/bindings.md). Part of fusec_gen (gen_ops.c). */
#include "ir/gen/gen_json.h"

#include "ir/gen/gen_api.h"

static void text(FILE *out, const char *s) {
    fc_gen_quoted(out, s, strlen(s));
}

static const struct {
    const char *name;
    int number, bytes;
} dtype_rows[] = {
#define DTYPE(number, id, name, numpy, npy, kind, bytes, bits, compute, cuda, llvm, c)             \
    {name, number, bytes},
#include "ir/dtypes.def"
#undef DTYPE
};

static void dtypes(FILE *out) {
    for (size_t i = 0; i < FC_COUNT(dtype_rows); i++) {
        fprintf(out, "%s\n    {\"name\": ", i ? "," : "");
        text(out, dtype_rows[i].name);
        fprintf(out, ", \"number\": %d, \"bytes\": %d}", dtype_rows[i].number, dtype_rows[i].bytes);
    }
}

static void statuses(FILE *out) {
    static const struct {
        const char *name, *constant, *doc;
        int number;
    } rows[] = {
        {"ok", "FUSEC_OK", "nothing failed", 0},
#define FUSEC_ERR(number, id, slug, code, doc) {slug, "FUSEC_" #id, doc, number},
#include <fusec/errors.def>
#undef FUSEC_ERR
    };
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        fprintf(out, "%s\n    {\"name\": ", i ? "," : "");
        text(out, rows[i].name);
        fprintf(out, ", \"number\": %d, \"constant\": \"%s\", \"doc\": ", rows[i].number,
                rows[i].constant);
        text(out, rows[i].doc);
        fputc('}', out);
    }
}

/* The dtypes of operands, of the second one where the first is a condition; those of one number. A
 * test compares with fc_op_takes, which knows complex numbers, too. */
static void dtypes_of(FILE *out, fc_op op) {
    const fc_rule rule = fc_ops[op].rule;
    int n = 0;
    fputs("[", out);
    for (int t = 0; t < FC_DTYPE_COUNT; t++) {
        const bool numeric = rule == FC_RULE_ARITH || rule == FC_RULE_BITS || rule == FC_RULE_ANY;
        if (t == FUSEC_BOOL ? numeric && fc_op_on_bool(op) == FC_OP_NONE
                            : rule == FC_RULE_LOGIC || (rule == FC_RULE_BITS && t >= FUSEC_F16))
            continue;
        fprintf(out, "%s\"%s\"", n++ ? ", " : "", dtype_rows[t].name);
    }
    fputs("]", out);
}

static void operations(FILE *out) {
    int n = 0;
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_COUNT_; op++) {
        const fc_op_info *i = &fc_ops[op];
        if ((i->flags & FC_F_HIDDEN) || (fc_is_reduction(op) && i->arity > 1)) continue;
        fprintf(out, "%s\n    {\"name\": \"%s\", \"function\": \"fusec_%s\", \"operands\": %d, ",
                n++ ? "," : "", i->name, i->name, (int)i->arity);
        fprintf(out, "\"reduction\": %s, \"takes\": ", fc_is_reduction(op) ? "true" : "false");
        text(out, fc_gen_takes(i->rule));
        fputs(", \"dtypes\": ", out);
        dtypes_of(out, (fc_op)op);
        fputs(", \"gives\": ", out);
        text(out, fc_gen_gives(i->rule));
        fputs(", \"doc\": ", out);
        text(out, i->doc);
        fputc('}', out);
    }
}

bool fc_gen_json(FILE *out) {
    fputs("{\n", out);
    const bool good = fc_gen_api(out);
    fputs("  \"dtypes\": [", out);
    dtypes(out);
    fputs("\n  ],\n  \"statuses\": [", out);
    statuses(out);
    fputs("\n  ],\n  \"operations\": [", out);
    operations(out);
    fputs("\n  ]\n}\n", out);
    return good;
}
