/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cmd_help.c - `fusec help` and `fusec completion`. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frontend/cli/command.h"
#include "ir/version.h"

/* `fusec help --man [COMMAND]`, for the build. */
static fusec_status man_page(fc_cli *c, const char *word, fc_error *e) {
    fc_command cmd = FC_CMD_NONE;
    if (word && !fc_command_by_name(word, &cmd))
        return fc_fail(e, FUSEC_USAGE, "there is no command `%.60s`", word);
    fc_help_man(&c->out, cmd, FC_VERSION);
    return FUSEC_OK;
}

/* $PAGER on a terminal. False if there is none, or it could not be started. */
static bool through_pager(const fc_cli *c) {
    const char *pager = getenv("PAGER");
    if (!pager || !*pager || !fc_term_is(STDOUT_FILENO)) return false;
    FILE *f = popen(pager, "w");
    if (!f) return false;
    fwrite(c->out.data, 1, c->out.len, f);
    return pclose(f) == 0;
}

fusec_status fc_cmd_help(fc_cli *c, fc_error *e) {
    const char *word = c->o.files.len ? c->o.files.at[0] : NULL;
    if (fc_cli_on(c, FC_FLAG_MAN)) return man_page(c, word, e);
    if (word)
        FC_TRY(fc_help_word(&c->out, word, e));
    else
        fc_help_main(&c->out);
    if (through_pager(c)) fc_str_clear(&c->out);
    return FUSEC_OK;
}

fusec_status fc_cmd_completion(fc_cli *c, fc_error *e) {
    if (!c->o.files.len)
        return fc_fail(e, FUSEC_USAGE,
                       "which shell?\n  help: fusec completion bash      (or zsh, fish)");
    return fc_completion(&c->out, c->o.files.at[0], e);
}
