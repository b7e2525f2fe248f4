/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* completion.c - scripts for bash, zsh and fish.
 *
 * Commands, flags and the words of choices come from cli.def. Definitions and their parameters are
 * found by the script itself, in the `def` lines of the file named on the command line, so that
 * completion starts no compiler: `fusec run norms.fuse:rm<TAB>`, then `x=<TAB>` lists
 * .npy files. */
#include "frontend/cli/help.h"

/* Lists the definitions of a file, or the parameters of all of them, one per line. */
#define LIST_DEFS "sed -n 's/^ *\\(export  *\\)\\{0,1\\}def  *\\([A-Za-z_][A-Za-z_0-9]*\\).*/\\2/p'"
#define LIST_PARAMETERS                                                                            \
    "sed -n 's/^ *\\(export  *\\)\\{0,1\\}def  *[A-Za-z_0-9]*(\\(.*\\)).*/\\2/p' \"$file\" "       \
    "2>/dev/null | sed 's/->.*//; s/\\[[^]]*\\]//g; s/ *[:=][^,]*//g' | tr ', ' '\\n\\n' | "       \
    "grep '^[A-Za-z_]' | sort -u"

static void words_of(fc_str *out, const char *choices) {
    for (const char *p = choices; *p; p++) {
        if (*p == '[') {
            while (*p && *p != ']') p++;
            continue;
        }
        fc_str_char(out, *p == '|' ? ' ' : *p);
    }
}

static bool has_words(fc_flag f) {
    return fc_flags[f].kind == FC_ARG_CHOICE || fc_flags[f].kind == FC_ARG_DEVICE;
}

static void flags_of(fc_str *out, fc_command c) {
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        if (fc_flag_shown((fc_flag)f) && fc_flag_applies((fc_flag)f, c))
            fc_str_printf(out, " --%s", fc_flags[f].name);
    }
}

static void command_names(fc_str *out) {
    for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++)
        fc_str_printf(out, "%s%s", c > FC_CMD_NONE + 1 ? " " : "", fc_commands[c].name);
}

/* "-o|--output" */
static void flag_pattern(fc_str *out, fc_flag f) {
    if (fc_flags[f].letter) fc_str_printf(out, "-%c|", fc_flags[f].letter);
    fc_str_printf(out, "--%s", fc_flags[f].name);
}

/* ---- bash, which zsh reads through bashcompinit ---------------------------------------------- */

/* The command and the file among the words so far. */
static void bash_words(fc_str *out) {
    fc_str_add(out, "_fusec() {\n"
                    "    local before cur prev='' command='' file='' word flags='' head=''\n"
                    "    before=${COMP_LINE:0:$COMP_POINT}\n"
                    "    cur=${before##*[[:space:]]}\n"
                    "    before=${before%\"$cur\"}\n"
                    "    for word in ${before#*[[:space:]]}; do\n"
                    "        prev=$word\n"
                    "        case $word in\n"
                    "        *.fuse|*.fuse:*) file=${word%%:*} ;;\n        ");
    for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++)
        fc_str_printf(out, "%s%s", c > FC_CMD_NONE + 1 ? "|" : "", fc_commands[c].name);
    fc_str_add(out, ") [ -z \"$command\" ] && command=$word ;;\n"
                    "        -e|--expr) [ -z \"$command\" ] && command=run ;;\n"
                    "        esac\n"
                    "    done\n"
                    "    COMPREPLY=()\n");
}

/* The value of a flag, the command. */
static void bash_flags(fc_str *out) {
    fc_str_add(out, "    case $prev in\n");
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        if (!has_words((fc_flag)f)) continue;
        fc_str_add(out, "    ");
        flag_pattern(out, (fc_flag)f);
        fc_str_add(out, ") COMPREPLY=($(compgen -W '");
        words_of(out, fc_flags[f].arg);
        fc_str_add(out, "' -- \"$cur\")); return ;;\n");
    }
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        if (strcmp(fc_flags[f].arg, "DIR") != 0) continue;
        fc_str_add(out, "    ");
        flag_pattern(out, (fc_flag)f);
        fc_str_add(out, ") COMPREPLY=($(compgen -d -S / -- \"$cur\")); return ;;\n");
    }
    fc_str_add(out, "    esac\n    if [ -z \"$command\" ]; then\n"
                    "        COMPREPLY=($(compgen -W '");
    command_names(out);
    fc_str_add(out, " -e --help --version' -- \"$cur\"))\n        return\n    fi\n"
                    "    case $command in\n");
    for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++) {
        fc_str_printf(out, "    %s) flags='", fc_commands[c].name);
        flags_of(out, (fc_command)c);
        fc_str_add(out, "' ;;\n");
    }
    fc_str_add(out, "    esac\n");
}

/* Everything else. */
static void bash_rest(fc_str *out) {
    fc_str_add(out, "    case $cur in\n"
                    "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\")) ;;\n"
                    "    *.fuse:*)\n"
                    "        file=${cur%%:*}\n"
                    "        head=$file:\n"
                    "        COMPREPLY=($(compgen -W \"$(" LIST_DEFS
                    " \"$file\" 2>/dev/null)\" -- \"${cur#*:}\"))\n"
                    "        ;;\n"
                    "    *=*)\n"
                    "        head=${cur%%=*}=\n"
                    "        COMPREPLY=($(compgen -f -X '!*.np[yz]' -- \"${cur#*=}\")"
                    " $(compgen -d -S / -- \"${cur#*=}\"))\n"
                    "        ;;\n"
                    "    *)\n"
                    "        case $command in\n"
                    "        help) COMPREPLY=($(compgen -W '");
    command_names(out);
    fc_str_add(out,
               " inputs outputs types environment exit-codes' -- \"$cur\")); return ;;\n"
               "        completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\"));"
               " return ;;\n"
               "        esac\n"
               "        if [ -n \"$file\" ] && [ \"$command\" != fmt ]; then\n"
               "            COMPREPLY=($(compgen -S = -W \"$(" LIST_PARAMETERS ")\" -- \"$cur\"))\n"
               "            type compopt >/dev/null 2>&1 && compopt -o nospace\n"
               "        else\n"
               "            COMPREPLY=($(compgen -f -X '!*.fuse' -- \"$cur\")"
               " $(compgen -d -S / -- \"$cur\"))\n"
               "        fi\n"
               "        ;;\n"
               "    esac\n"
               "    # bash breaks words at : and =, zsh does not\n"
               "    [ -z \"$head\" ] || [ -z \"$ZSH_VERSION\" ] ||"
               " COMPREPLY=(\"${COMPREPLY[@]/#/$head}\")\n"
               "}\n");
}

static void bash_body(fc_str *out) {
    bash_words(out);
    bash_flags(out);
    bash_rest(out);
}

static void bash(fc_str *out) {
    fc_str_add(out, "# completion of fusec for bash: source <(fusec completion bash)\n");
    bash_body(out);
    fc_str_add(out, "complete -o default -F _fusec fusec\n");
}

static void zsh(fc_str *out) {
    fc_str_add(out, "#compdef fusec\n"
                    "# completion of fusec for zsh: source <(fusec completion zsh)\n"
                    "autoload -Uz bashcompinit && bashcompinit\n");
    bash_body(out);
    fc_str_add(out, "complete -o default -F _fusec fusec\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

/* In single quotes, where ' and \ are escaped. */
static void fish_quoted(fc_str *out, const char *text) {
    fc_str_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') fc_str_char(out, '\\');
        fc_str_char(out, *text);
    }
    fc_str_char(out, '\'');
}

static void fish_flag(fc_str *out, fc_flag f) {
    const fc_flag_info *info = &fc_flags[f];
    fc_str_add(out, "complete -c fusec");
    if (info->commands != (uint32_t)~0) {
        fc_str_add(out, " -n '__fish_seen_subcommand_from");
        for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++) {
            if (fc_flag_applies(f, (fc_command)c)) fc_str_printf(out, " %s", fc_commands[c].name);
        }
        fc_str_char(out, '\'');
    }
    fc_str_printf(out, " -l %s", info->name);
    if (info->letter) fc_str_printf(out, " -s %c", info->letter);
    if (has_words(f)) {
        fc_str_add(out, " -x -a '");
        words_of(out, info->arg);
        fc_str_char(out, '\'');
    } else if (info->kind != FC_ARG_NONE && info->kind != FC_ARG_MAYBE) {
        fc_str_add(out, " -r");
    }
    fc_str_add(out, " -d ");
    fish_quoted(out, info->text);
    fc_str_char(out, '\n');
}

static void fish(fc_str *out) {
    fc_str_add(
        out, "# completion of fusec for fish: fusec completion fish | source\n"
             "function __fusec_file\n"
             "    string replace -r ':.*' '' -- (commandline -opc | string match -r "
             "'^[^-].*\\.fuse(?::.*)?$')[1]\n"
             "end\n"
             "function __fusec_defs\n"
             "    set -l cur (commandline -ct)\n"
             "    string match -q '*.fuse:*' -- $cur; or return\n"
             "    set -l file (string replace -r ':.*' '' -- $cur)\n"
             "    string replace -rf '^\\s*(?:export\\s+)?def\\s+(\\w+).*' \"$file:\\$1\" <$file\n"
             "end\n"
             "function __fusec_inputs\n"
             "    set -l cur (commandline -ct)\n"
             "    if string match -q '*=*' -- $cur\n"
             "        set -l name (string replace -r '=.*' '' -- $cur)\n"
             "        for f in *.npy *.npz; echo $name=$f; end\n"
             "        return\n"
             "    end\n"
             "    set -l file (__fusec_file)\n"
             "    test -n \"$file\"; and string match -rag '[(,]\\s*(\\w+)\\s*:' <$file | "
             "string replace -r '$' '='\n"
             "end\n");
    for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++) {
        fc_str_printf(out, "complete -c fusec -n __fish_use_subcommand -f -a %s -d ",
                      fc_commands[c].name);
        fish_quoted(out, fc_commands[c].what);
        fc_str_char(out, '\n');
    }
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        if (fc_flag_shown((fc_flag)f)) fish_flag(out, (fc_flag)f);
    }
    fc_str_add(out, "complete -c fusec -n '__fish_seen_subcommand_from run check explain bench' "
                    "-a '(__fusec_defs) (__fusec_inputs)'\n"
                    "complete -c fusec -n '__fish_seen_subcommand_from completion' -x -a "
                    "'bash zsh fish'\n");
}

fusec_status fc_completion(fc_str *out, const char *shell, fc_error *e) {
    if (!strcmp(shell, "bash"))
        bash(out);
    else if (!strcmp(shell, "zsh"))
        zsh(out);
    else if (!strcmp(shell, "fish"))
        fish(out);
    else
        return fc_fail(e, FUSEC_USAGE, "completion is for bash, zsh or fish, not for `%.60s`",
                       shell);
    return FUSEC_OK;
}
