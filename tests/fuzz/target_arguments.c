/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target_arguments.c - words of the command line, each ended by a newline: options, and what
 * name=value says. Nothing is run and no file is opened. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/input.h"
#include "frontend/cli/options.h"
#include "tests/fuzz/targets.h"

enum { MAX_WORDS = 40, MAX_TEXT = 1 << 12 };

static void read_input(const char *word) {
    fc_cli_input in;
    fc_error e = {0};
    memset(&in, 0, sizeof in);
    if (!fc_input_parse(&in, word, &fc_libc_alloc, &e)) {
        fuzz_require(in.rank <= FC_IO_RANK, "the rank of an input");
        if (in.kind == FC_INPUT_SCALAR)
            for (int t = 0; t < FC_DTYPE_COUNT; t++) {
                uint64_t room;
                fc_error why = {0};
                fc_weak_store(&in.scalar, "x", (fusec_dtype)t, &room, &why);
            }
    }
    fc_input_close(&in);
}

void fuzz_arguments(const uint8_t *data, size_t size) {
    char *text = malloc(size + 2), *words[MAX_WORDS + 2];
    int n = 0;
    if (!text || size > MAX_TEXT) {
        free(text);
        return;
    }
    words[n++] = strcpy(text, "");
    if (size) memcpy(text, data, size);
    text[size] = 0;
    char name[] = "fusec";
    words[0] = name;
    for (char *p = text; n <= MAX_WORDS;) {
        words[n++] = p;
        p = strchr(p, '\n');
        if (!p) break;
        *p++ = 0;
    }
    words[n] = NULL;
    fc_options o;
    fc_error e = {0};
    memset(&o, 0, sizeof o);
    if (!fc_options_parse(&o, n, words, &fc_libc_alloc, &e))
        for (size_t i = 0; i < o.inputs.len; i++) read_input(o.inputs.at[i]);
    fc_options_free(&o);
    for (int i = 1; i < n; i++) {
        size_t len;
        fc_weak w;
        fc_weak_parse(words[i], &w);
        if (fc_is_assignment(words[i], &len)) read_input(words[i]);
    }
    free(text);
}
