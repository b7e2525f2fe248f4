/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_json.c - the tables as one JSON object, for those who make bindings: build/fusec.json. Part
 * of fusec_gen (gen_ops.c). */
#include "ir/gen/gen_json.h"

static void text(FILE *out, const char *s) {
    fputc('"', out);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fputc('\\', out);
        fputc(*s, out);
    }
    fputc('"', out);
}

static void dtypes(FILE *out) {
    static const struct {
        const char *name;
        int number, bytes;
    } rows[] = {
#define DTYPE(number, id, name, numpy, npy, kind, bytes, bits, compute, cuda, llvm, c)             \
    {name, number, bytes},
#include "ir/dtypes.def"
#undef DTYPE
    };
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        fprintf(out, "%s\n    {\"name\": ", i ? "," : "");
        text(out, rows[i].name);
        fprintf(out, ", \"number\": %d, \"bytes\": %d}", rows[i].number, rows[i].bytes);
    }
}

static void statuses(FILE *out) {
    static const struct {
        const char *name, *doc;
        int number;
    } rows[] = {
#define FUSEC_ERR(number, id, slug, code, doc) {slug, doc, number},
#include <fusec/errors.def>
#undef FUSEC_ERR
    };
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        fprintf(out, "%s\n    {\"name\": ", i ? "," : "");
        text(out, rows[i].name);
        fprintf(out, ", \"number\": %d, \"doc\": ", rows[i].number);
        text(out, rows[i].doc);
        fputc('}', out);
    }
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
        fputs(", \"gives\": ", out);
        text(out, fc_gen_gives(i->rule));
        fputs(", \"doc\": ", out);
        text(out, i->doc);
        fputc('}', out);
    }
}

void fc_gen_json(FILE *out) {
    fputs("{\n  \"dtypes\": [", out);
    dtypes(out);
    fputs("\n  ],\n  \"statuses\": [", out);
    statuses(out);
    fputs("\n  ],\n  \"operations\": [", out);
    operations(out);
    fputs("\n  ]\n}\n", out);
}
