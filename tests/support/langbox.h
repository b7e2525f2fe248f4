/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* langbox.h - compiles a text of the language for a test.
 *
 *     langbox b = langbox_command("fusec -e 'x*2' x=a.npy", files, inputs)
 *
 * A command is read as the command line does: run and check with FILE[:DEF], -e TEXT with -f FILE,
 * -D NAME=VALUE, --cast, --default-float f64, --dtype T=f16, and name=value. A value that reads as
 * a number or bool is a scalar; one of the form f32:100x64 is a type; anything else is a file,
 * whose dtype and shape `inputs` gives. A program may import the other files. */
#ifndef FUSEC_TESTS_SUPPORT_LANGBOX_H
#define FUSEC_TESTS_SUPPORT_LANGBOX_H

#include "frontend/lang/compile.h"
#include "frontend/lang/modules.h"
#include "frontend/lang/parse.h"

typedef struct langbox_file {
    const char *name;
    const char *text;
} langbox_file;

/* "x", "a.npy", "f32[100, 64]" */
typedef struct langbox_input {
    const char *name, *origin, *type;
} langbox_input;

typedef struct langbox {
    fusec_status status;
    uint32_t errors;
    char *graph;   /* fc_graph_print, and a line for each condition; of the last definition */
    char *results; /* "name: type" lines of every definition: parameters, "->", results */
    char *text;    /* messages */
    char *json;
    char *printed; /* fc_lang_print_graph */
    uint64_t hash;
    unsigned mode;
} langbox;

langbox langbox_command(const char *command, const langbox_file *files, size_t nfiles,
                        const langbox_input *inputs, size_t ninputs);
/* -e TEXT with inputs "x: f32[2, 3], s=2.5" */
langbox langbox_snippet(const char *text, const char *inputs);
/* Every typed definition of a program is checked, or just `def`. */
langbox langbox_program(const char *name, const char *text, size_t len, const char *def);
/* What is printed reads back, and prints the same again. */
void langbox_round_trip(const langbox *b);
void langbox_free(langbox *b);

#endif
