/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_description.c - build/fusec.json, from which bindings are made, next to what it describes:
 * every exported function, structs as the compiler lays them out, numbers, dtypes of operations. */
#include <fusec/fusec.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/ops.h"
#include "tests/support/test.h"

static char *file_text(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = f ? calloc(1, 1 << 20) : NULL;
    if (text && !fread(text, 1, (1 << 20) - 1, f)) text[0] = 0;
    if (f) fclose(f);
    return text;
}

static char *description(void) {
    return file_text(FUSEC_BINARY_DIR "/fusec.json");
}

static const char *object(const char *text, const char *name, const char *behind) {
    char key[512];
    snprintf(key, sizeof key, "{\"name\": \"%s\", %s", name, behind);
    return strstr(text, key);
}

FC_TEST(description, every_function) {
    char *text = description(),
         *symbols = file_text(FUSEC_SOURCE_DIR "/tests/golden/abi.symbols.txt");
    int n = 0;
    FC_ASSERT_TRUE(text && symbols);
    for (char *p = strtok(symbols, "\n"); p; p = strtok(NULL, "\n"), n++)
        if (!object(text, p, "\"returns\": ")) FC_FAIL("%s is not described", p);
    FC_EXPECT_GE_I64(n, 100);
    free(text);
    free(symbols);
}

/* The sizes and offsets in the list of the interface, which is compared with the compiler's. */
FC_TEST(description, layouts_and_numbers) {
    char *text = description(),
         *layout = file_text(FUSEC_SOURCE_DIR "/tests/golden/abi.layout.txt");
    const char *in = NULL;
    int fields = 0, numbers = 0;
    FC_ASSERT_TRUE(text && layout);
    for (char *p = strtok(layout, "\n"); p; p = strtok(NULL, "\n")) {
        char name[100], want[200];
        unsigned offset;
        long long value;
        if (sscanf(p, " %u %99[^,],", &offset, name) == 2 && in) {
            snprintf(want, sizeof want, "{\"name\": \"%s\", \"type\": ", name);
            const char *at = strstr(in, want), *end = at ? strchr(at, '\n') : NULL;
            snprintf(want, sizeof want, "\"offset\": %u", offset);
            const char *found = at ? strstr(at, want) : NULL;
            if (!found || !end || found > end) FC_FAIL("%s: not at %u", name, offset);
            fields++;
        } else if (sscanf(p, "%99[a-z_]: %u bytes", name, &offset) == 2) {
            in = object(text, name, "\"doc\": ");
            if (!in) FC_FAIL("%s is not described", name);
        } else if (sscanf(p, "status %u %99s", &offset, name) == 2) {
            snprintf(want, sizeof want, "\"number\": %u, ", offset);
            if (!object(text, name, want)) FC_FAIL("status %s = %u", name, offset);
        } else if (sscanf(p, "%99[A-Z0-9_] = %lld", name, &value) == 2) {
            snprintf(want, sizeof want,
                     value == INT64_MIN ? "\"value\": \"%lld\"}" : "\"value\": %lld}", value);
            if (!object(text, name, want)) FC_FAIL("%s = %lld is not described", name, value);
            numbers++;
        }
    }
    FC_EXPECT_GE_I64(fields, 40);
    FC_EXPECT_GE_I64(numbers, 20);
    free(text);
    free(layout);
}

static void check_struct(const char *text, const char *name, size_t bytes, const char *last,
                         size_t offset) {
    char want[100];
    const char *at = object(text, name, "\"doc\": ");
    if (!at) FC_FAIL("%s is not described", name);
    const char *end = at ? strstr(at, "], \"bytes\": ") : NULL;
    if (!end) return;
    FC_EXPECT_EQ_U64(strtoul(end + strlen("], \"bytes\": "), NULL, 10), bytes);
    snprintf(want, sizeof want, "{\"name\": \"%s\", ", last);
    const char *field = strstr(at, want);
    FC_ASSERT_TRUE(field && field < end);
    FC_EXPECT_EQ_U64(strtoul(strstr(field, "\"offset\": ") + 10, NULL, 10), offset);
}

FC_TEST(description, structs) {
    char *text = description();
    int n = 0;
    FC_ASSERT_TRUE(text != NULL);
#define STRUCT(type, last)                                                                         \
    check_struct(text, #type, sizeof(type), #last, offsetof(type, last));                          \
    n++;
    STRUCT(fusec_options, never_compile)
    STRUCT(fusec_counters, plans)
    STRUCT(fusec_tensor, reserved)
    STRUCT(fusec_value, kind)
    STRUCT(fusec_dim, id)
    STRUCT(fusec_attr, text)
    STRUCT(fusec_piece, total)
    STRUCT(fusec_call_args, message_room)
    STRUCT(fusec_call_launch, shared_bytes)
    STRUCT(fusec_call_desc, launch)
    STRUCT(fusec_extern_desc, slots)
    STRUCT(fusec_device_info, reserved)
#undef STRUCT
    const char *p = strstr(text, "\"structs\": ["), *end = strstr(p, "\"opaque\": [");
    int described = 0;
    for (; (p = strstr(p, "\"begins_with_size\"")) && p < end; p++) described++;
    if (described > n) printf("%d structs are not compared\n", described - n);
    FC_EXPECT_GE_I64(described, n);
    free(text);
}

FC_TEST(description, dtypes_of_operations) {
    char *text = description();
    int n = 0;
    FC_ASSERT_TRUE(text != NULL);
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_COUNT_; op++) {
        char want[200];
        if ((fc_ops[op].flags & FC_F_HIDDEN) || (fc_is_reduction(op) && fc_ops[op].arity > 1))
            continue;
        const char *at = object(text, fc_ops[op].name, "\"function\": ");
        if (!at) FC_FAIL("%s is not described", fc_ops[op].name);
        const char *list = at ? strstr(at, "\"dtypes\": [") : NULL;
        const char *end = list ? strchr(list, ']') : NULL;
        if (!end) continue;
        for (int t = 0; t < FC_DTYPE_COUNT; t++) {
            snprintf(want, sizeof want, "\"%s\"", fusec_dtype_name((fusec_dtype)t));
            const char *found = strstr(list, want);
            if ((found && found < end) != fc_op_takes((fc_op)op, (fusec_dtype)t))
                FC_FAIL("%s of %s", fc_ops[op].name, want);
        }
        n++;
    }
    FC_EXPECT_GE_I64(n, 80);
    free(text);
}
