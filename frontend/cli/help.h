/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* help.h - everything `fusec help` shows, man pages and completion scripts, made from cli.def,
 * errors.def and pages.def. All functions append text; the caller looks at out->oom. */
#ifndef FUSEC_FRONTEND_CLI_HELP_H
#define FUSEC_FRONTEND_CLI_HELP_H

#include "frontend/cli/options.h"

/* What `fusec` alone shows: two examples and where to go on. */
void fc_help_short(fc_str *out);
/* `fusec --help` and `fusec help`. */
void fc_help_main(fc_str *out);
/* `fusec help COMMAND` and `fusec COMMAND --help`. */
void fc_help_command(fc_str *out, fc_command c);
/* `fusec help WORD`: a command, a topic or a slug. */
fusec_status fc_help_word(fc_str *out, const char *word, fc_error *e);
/* fusec(1) for FC_CMD_NONE, else fusec-COMMAND(1), as troff. */
void fc_help_man(fc_str *out, fc_command c, const char *version);
/* The script for bash, zsh or fish. */
fusec_status fc_completion(fc_str *out, const char *shell, fc_error *e);

/* Text broken into lines of at most 79 columns, each behind `indent` spaces. Lines of the text that
 * begin with a space stay as they are. */
void fc_help_wrap(fc_str *out, const char *text, int indent);

#endif
