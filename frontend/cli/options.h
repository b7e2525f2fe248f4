/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options.h - the command line, parsed by the table cli.def.
 *
 * All strings point into argv, which must live as long as the options. */
#ifndef FUSEC_FRONTEND_CLI_OPTIONS_H
#define FUSEC_FRONTEND_CLI_OPTIONS_H

#include "frontend/cli/term.h"

typedef enum fc_command {
    FC_CMD_NONE, /* no command was given */
#define CLI_COMMAND(id, name, words, files, inputs, what, text, examples) FC_CMD_##id,
#include "frontend/cli/cli.def"
    FC_CMD_COUNT
} fc_command;

typedef enum fc_flag {
#define CLI_FLAG(id, letter, name, kind, arg, commands, text, example) FC_FLAG_##id,
#include "frontend/cli/cli.def"
    FC_FLAG_COUNT
} fc_flag;

typedef enum fc_flag_kind {
    FC_ARG_NONE,
    FC_ARG_TEXT,
    FC_ARG_ONCE,
    FC_ARG_MANY,
    FC_ARG_MAYBE,
    FC_ARG_CHOICE,
    FC_ARG_COUNT,
    FC_ARG_NUMBER,
    FC_ARG_DEVICE,
    FC_ARG_HIDDEN,
    FC_ARG_LATER
} fc_flag_kind;

typedef struct fc_command_info {
    const char *name, *words;
    size_t files; /* at most */
    bool inputs;  /* takes name=value */
    const char *what, *text, *examples;
} fc_command_info;

typedef struct fc_flag_info {
    char letter; /* 0: none */
    const char *name;
    fc_flag_kind kind;
    const char *arg;
    uint32_t commands; /* bit 1 << fc_command */
    const char *text, *example;
} fc_flag_info;

extern const fc_command_info fc_commands[FC_CMD_COUNT]; /* the first is empty */
extern const fc_flag_info fc_flags[FC_FLAG_COUNT];

/* Whether a command has a flag. */
static inline bool fc_flag_applies(fc_flag f, fc_command c) {
    return fc_flags[f].commands >> c & 1;
}
/* Whether help and completion show a flag. */
static inline bool fc_flag_shown(fc_flag f) {
    return fc_flags[f].kind != FC_ARG_HIDDEN && fc_flags[f].kind != FC_ARG_LATER;
}

typedef struct fc_repeated {
    fc_flag flag;
    const char *text;
} fc_repeated;

typedef struct fc_options {
    const fc_alloc *alloc;
    fc_command command;
    bool on[FC_FLAG_COUNT];
    const char *text[FC_FLAG_COUNT]; /* the last argument of a flag, NULL if there is none */
    double number[FC_FLAG_COUNT];    /* of COUNT and NUMBER */
    FC_VEC(fc_repeated) many;        /* arguments of MANY flags, in order */
    FC_VEC(const char *) files;      /* words that are neither flags nor name=value */
    FC_VEC(const char *) inputs;     /* name=value */
    fc_color color;
    bool json_errors;
} fc_options;

/* Fills `o` also on failure, as far as it was read: colour and error format are always known. With
 * --help or
 * --version nothing else is checked. */
fusec_status fc_options_parse(fc_options *o, int argc, char **argv, const fc_alloc *alloc,
                              fc_error *e);
void fc_options_free(fc_options *o);

bool fc_command_by_name(const char *name, fc_command *out);
/* Splits "[name=]FILE"; name_len is 0 where there is no name. Returns the file. */
const char *fc_named_file(const char *word, size_t *name_len);
/* Appends "\n  help: did you mean a, b or c?" if a name in the list is near; ends with NULL. */
void fc_add_suggestion(fc_error *e, const char *word, size_t len, const char *const *names,
                       const char *prefix);

#endif
