/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options.c - parses argv by the table cli.def. Which words belong together is decided here; what
 * they mean is the business of the commands. */
#include "frontend/cli/options.h"

#include <stdio.h>

#include "frontend/cli/input.h"
#include "frontend/lang/suggest.h"

enum {
    ALL = ~0,
#define CLI_COMMAND(id, name, words, files, inputs, what, text, examples) id = 1 << FC_CMD_##id,
#include "frontend/cli/cli.def"
};

const fc_command_info fc_commands[FC_CMD_COUNT] = {
    {"", "", 0, false, "", "", ""},
#define CLI_COMMAND(id, name, words, files, inputs, what, text, examples)                          \
    {name, words, files, inputs, what, text, examples},
#include "frontend/cli/cli.def"
};

const fc_flag_info fc_flags[FC_FLAG_COUNT] = {
#define CLI_FLAG(id, letter, name, kind, arg, commands, text, example)                             \
    {letter, name, FC_ARG_##kind, arg, (uint32_t)(commands), text, example},
#include "frontend/cli/cli.def"
};

bool fc_command_by_name(const char *name, fc_command *out) {
    for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++) {
        if (strcmp(fc_commands[c].name, name) != 0) continue;
        *out = (fc_command)c;
        return true;
    }
    return false;
}

const char *fc_named_file(const char *word, size_t *name_len) {
    *name_len = 0;
    return fc_is_assignment(word, name_len) ? word + *name_len + 1 : (*name_len = 0, word);
}

void fc_add_suggestion(fc_error *e, const char *word, size_t len, const char *const *names,
                       const char *prefix) {
    fc_suggest s;
    if (!e) return;
    fc_suggest_start(&s, word, len);
    for (; *names; names++) fc_suggest_try(&s, *names);
    for (unsigned i = 0; i < s.count; i++) {
        size_t n = strlen(e->message);
        snprintf(e->message + n, sizeof e->message - n, "%s%s%s%s",
                 i == 0             ? "\n  help: did you mean "
                 : i + 1 == s.count ? " or "
                                    : ", ",
                 prefix, s.best[i], i + 1 == s.count ? "?" : "");
    }
}

/* ---- flags ----------------------------------------------------------------------------------- */

typedef struct parser {
    fc_options *o;
    int argc, at; /* the next word */
    char **argv;
    int expr_end; /* the word behind the argument of -e; 0: none */
    fc_error *e;
} parser;

static void shown_flag(char buf[64], fc_flag f) {
    snprintf(buf, 64, "--%s", fc_flags[f].name);
}

static bool flag_by_name(const char *name, size_t len, fc_flag *out) {
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        if (strlen(fc_flags[f].name) != len || memcmp(fc_flags[f].name, name, len) != 0) continue;
        *out = (fc_flag)f;
        return true;
    }
    return false;
}

static bool flag_by_letter(char letter, fc_flag *out) {
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        if (fc_flags[f].letter != letter) continue;
        *out = (fc_flag)f;
        return true;
    }
    return false;
}

static fusec_status unknown_flag(parser *p, const char *word, size_t len) {
    const char *names[FC_FLAG_COUNT + 1];
    size_t n = 0;
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        bool here = p->o->command == FC_CMD_NONE || fc_flag_applies((fc_flag)f, p->o->command);
        if (fc_flag_shown((fc_flag)f) && here) names[n++] = fc_flags[f].name;
    }
    names[n] = NULL;
    fusec_status s =
        fc_fail(p->e, FUSEC_USAGE, "unknown option %.*s", len > 60 ? 60 : (int)len, word);
    if (len > 2 && word[1] == '-') fc_add_suggestion(p->e, word + 2, len - 2, names, "--");
    return s;
}

/* Whether `text` is one of the words of "a|b|c". */
static bool is_choice(const char *choices, const char *text) {
    size_t n = strlen(text);
    for (const char *c = choices; c; c = strchr(c, '|') ? strchr(c, '|') + 1 : NULL) {
        if (strcspn(c, "|") == n && memcmp(c, text, n) == 0) return true;
    }
    return false;
}

/* auto cpu cuda cuda:N interp none */
static bool is_device(const char *text) {
    if (is_choice("auto|cpu|cuda|interp|none", text)) return true;
    if (strncmp(text, "cuda:", 5) != 0 || !text[5] || strlen(text) > 8) return false;
    return strspn(text + 5, "0123456789") == strlen(text + 5);
}

static fusec_status check_argument(parser *p, fc_flag f, const char *arg) {
    const fc_flag_info *info = &fc_flags[f];
    fc_weak w;
    switch (info->kind) {
    case FC_ARG_CHOICE:
        if (is_choice(info->arg, arg)) return FUSEC_OK;
        return fc_fail(p->e, FUSEC_USAGE, "--%s takes %s, not `%.60s`", info->name, info->arg, arg);
    case FC_ARG_DEVICE:
        if (is_device(arg)) return FUSEC_OK;
        return fc_fail(p->e, FUSEC_USAGE, "--%s takes %s, not `%.60s`", info->name, info->arg, arg);
    case FC_ARG_COUNT:
    case FC_ARG_NUMBER: {
        bool whole = info->kind == FC_ARG_COUNT;
        bool ok = fc_weak_parse(arg, &w) && w.kind != FC_WEAK_BOOL && w.number >= whole;
        if (whole) ok = ok && w.kind == FC_WEAK_INT && w.number <= 1e6;
        if (!ok)
            return fc_fail(p->e, FUSEC_USAGE, "--%s takes a %s, not `%.60s`", info->name,
                           whole ? "whole number from 1" : "number from 0", arg);
        p->o->number[f] = w.number;
        return FUSEC_OK;
    }
    default: return FUSEC_OK;
    }
}

/* `arg` NULL: the flag stands alone. */
static fusec_status set_flag(parser *p, fc_flag f, const char *arg) {
    fc_options *o = p->o;
    if (fc_flags[f].kind == FC_ARG_LATER)
        return fc_fail(p->e, FUSEC_USAGE, "this version of fusec does not have --%s yet",
                       fc_flags[f].name);
    if (fc_flags[f].kind == FC_ARG_ONCE && o->on[f])
        return fc_fail(p->e, FUSEC_USAGE, "--%s is given twice", fc_flags[f].name);
    if (arg) FC_TRY(check_argument(p, f, arg));
    o->on[f] = true;
    if (arg) o->text[f] = arg;
    if (f == FC_FLAG_EXPR) p->expr_end = p->at;
    if (fc_flags[f].kind == FC_ARG_MANY) {
        fc_repeated item = {f, arg};
        if (!fc_push(o->alloc, &o->many, item)) return fc_oom(p->e);
    }
    return FUSEC_OK;
}

static bool takes_argument(fc_flag f) {
    fc_flag_kind k = fc_flags[f].kind;
    return k != FC_ARG_NONE && k != FC_ARG_HIDDEN && k != FC_ARG_MAYBE && k != FC_ARG_LATER;
}

/* The next word as the argument of a flag. */
static fusec_status next_argument(parser *p, fc_flag f, const char **arg) {
    if (p->at == p->argc)
        return fc_fail(p->e, FUSEC_USAGE, "--%s needs an argument: --%s %s", fc_flags[f].name,
                       fc_flags[f].name, fc_flags[f].arg);
    *arg = p->argv[p->at++];
    return FUSEC_OK;
}

static fusec_status long_flag(parser *p, const char *word) {
    const char *equal = strchr(word, '='), *arg = equal ? equal + 1 : NULL;
    size_t len = equal ? (size_t)(equal - word) : strlen(word);
    fc_flag f;
    if (!flag_by_name(word + 2, len - 2, &f)) return unknown_flag(p, word, len);
    if (arg && !takes_argument(f) && fc_flags[f].kind != FC_ARG_MAYBE)
        return fc_fail(p->e, FUSEC_USAGE, "--%s takes no argument", fc_flags[f].name);
    if (!arg && takes_argument(f)) FC_TRY(next_argument(p, f, &arg));
    return set_flag(p, f, arg);
}

/* -q, -qv, -o FILE, -oFILE */
static fusec_status short_flags(parser *p, const char *word) {
    for (const char *c = word + 1; *c; c++) {
        fc_flag f;
        const char *arg = NULL;
        if (!flag_by_letter(*c, &f)) {
            char one[3] = {'-', *c, 0};
            return unknown_flag(p, c == word + 1 ? word : one, c == word + 1 ? strlen(word) : 2);
        }
        if (takes_argument(f)) {
            if (c[1])
                arg = c + 1;
            else
                FC_TRY(next_argument(p, f, &arg));
        }
        FC_TRY(set_flag(p, f, arg));
        if (arg) break;
    }
    return FUSEC_OK;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n > k && !strcmp(s + n - k, end);
}

static fusec_status unknown_command(parser *p, const char *word) {
    const char *names[FC_CMD_COUNT];
    size_t n = 0;
    for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++) names[n++] = fc_commands[c].name;
    names[n] = NULL;
    if (ends_with(word, ".fuse") || strstr(word, ".fuse:"))
        return fc_fail(p->e, FUSEC_USAGE,
                       "the first word is a command, and `%.100s` is a file\n"
                       "  help: fusec run %.100s",
                       word, word);
    fusec_status s = fc_fail(p->e, FUSEC_USAGE, "there is no command `%.100s`", word);
    fc_add_suggestion(p->e, word, strlen(word), names, "fusec ");
    return s;
}

static bool is_data_file(const char *word) {
    size_t n = strlen(word);
    return n > 4 && (!strcmp(word + n - 4, ".npy") || !strcmp(word + n - 4, ".npz") ||
                     !strcmp(word + n - 4, ".png"));
}

/* The words that the shell made of an expression follow directly on -e. */
static fusec_status surplus_words(parser *p) {
    fc_options *o = p->o;
    fc_error *e = p->e;
    const char *name = fc_commands[o->command].name;
    size_t most = o->on[FC_FLAG_EXPR] ? 0 : fc_commands[o->command].files;
    char list[200] = "";
    size_t n = 0;
    for (size_t i = most; i < o->files.len && n + 60 < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, " %.50s", o->files.at[i]);
    if (!o->on[FC_FLAG_EXPR]) {
        const char *word = o->files.at[most];
        bool data = fc_commands[o->command].inputs && is_data_file(word);
        return fc_fail(e, FUSEC_USAGE, "fusec %s takes %s, and here are also:%s%s%s", name,
                       most ? "one file" : "no words", list,
                       data ? "\n  help: inputs have names: x=" : "", data ? word : "");
    }
    char whole[300];
    int k = snprintf(whole, sizeof whole, "%.100s", o->text[FC_FLAG_EXPR]);
    int words = 0;
    for (int i = p->expr_end; i < p->argc && words < 5; i++, words++) {
        size_t len;
        if (fc_is_assignment(p->argv[i], &len) || (p->argv[i][0] == '-' && p->argv[i][1])) break;
        k += snprintf(whole + k, sizeof whole - (size_t)k, " %.30s", p->argv[i]);
    }
    if (!words)
        return fc_fail(e, FUSEC_USAGE,
                       "with -e there is no file, and here are also:%s\n"
                       "  help: -f FILE gives definitions for -e",
                       list);
    return fc_fail(
        e, FUSEC_USAGE,
        "surplus words behind -e '%.100s':%s\n"
        "  help: the shell has split the expression; in single quotes it stays whole: -e '%s'",
        o->text[FC_FLAG_EXPR], list, whole);
}

static fusec_status one_word(parser *p, const char *word, bool flags_ended) {
    fc_options *o = p->o;
    size_t name_len;
    if (fc_is_assignment(word, &name_len))
        return fc_push(o->alloc, &o->inputs, word) ? FUSEC_OK : fc_oom(p->e);
    if (o->command == FC_CMD_NONE && !o->on[FC_FLAG_EXPR] && !flags_ended)
        return fc_command_by_name(word, &o->command) ? FUSEC_OK : unknown_command(p, word);
    return fc_push(o->alloc, &o->files, word) ? FUSEC_OK : fc_oom(p->e);
}

/* ---- checks over the whole line -------------------------------------------------------------- */

static fusec_status check_flags(parser *p) {
    fc_options *o = p->o;
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        if (!o->on[f] || fc_flag_applies((fc_flag)f, o->command)) continue;
        char shown[64], list[100] = "";
        size_t n = 0;
        shown_flag(shown, (fc_flag)f);
        for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++) {
            if (fc_flag_applies((fc_flag)f, (fc_command)c))
                n += (size_t)snprintf(list + n, sizeof list - n, " %s", fc_commands[c].name);
        }
        return fc_fail(p->e, FUSEC_USAGE, "fusec %s has no option %s; it belongs to:%s",
                       fc_commands[o->command].name, shown, list);
    }
    if (o->on[FC_FLAG_JSON] + o->on[FC_FLAG_PLAIN] + o->on[FC_FLAG_DOT] > 1)
        return fc_fail(p->e, FUSEC_USAGE, "%s exclude each other",
                       !o->on[FC_FLAG_DOT]     ? "--json and --plain"
                       : !o->on[FC_FLAG_PLAIN] ? "--json and --dot"
                       : !o->on[FC_FLAG_JSON]  ? "--plain and --dot"
                                               : "--json, --plain and --dot");
    for (int f = FC_FLAG_HTML; f <= FC_FLAG_SVG; f++) {
        if (!o->on[f]) continue;
        if (o->on[FC_FLAG_JSON] || o->on[FC_FLAG_PLAIN] || o->on[FC_FLAG_DOT] ||
            o->on[FC_FLAG_EMIT])
            return fc_fail(p->e, FUSEC_USAGE, "--%s excludes --json, --plain, --dot and --emit",
                           fc_flags[f].name);
        if (!*o->text[f])
            return fc_fail(p->e, FUSEC_USAGE, "--%s: the file is missing", fc_flags[f].name);
    }
    if (o->on[FC_FLAG_HTML] && o->on[FC_FLAG_SVG] &&
        !strcmp(o->text[FC_FLAG_HTML], o->text[FC_FLAG_SVG]))
        return fc_fail(p->e, FUSEC_USAGE, "--html and --svg go to the same place");
    if (o->on[FC_FLAG_FILE] && !o->on[FC_FLAG_EXPR])
        return fc_fail(
            p->e, FUSEC_USAGE,
            "--file gives definitions for -e, and there is no -e\n  help: fusec %s %.100s",
            fc_commands[o->command].name, o->text[FC_FLAG_FILE]);
    if (o->on[FC_FLAG_DEVICE] && !strcmp(o->text[FC_FLAG_DEVICE], "none") &&
        o->command != FC_CMD_EXPLAIN)
        return fc_fail(p->e, FUSEC_USAGE, "--device none is for explain");
    return FUSEC_OK;
}

static fusec_status check_inputs(parser *p) {
    fc_options *o = p->o;
    size_t n, k, streams = 0;
    if (o->inputs.len && !fc_commands[o->command].inputs)
        return fc_fail(p->e, FUSEC_USAGE, "fusec %s takes no inputs, and here is %.100s",
                       fc_commands[o->command].name, o->inputs.at[0]);
    for (size_t i = 0; i < o->inputs.len; i++) {
        const char *word = o->inputs.at[i];
        fc_is_assignment(word, &n);
        streams += !strcmp(word + n, "=-");
        if (streams == 2)
            return fc_fail(p->e, FUSEC_USAGE, "only one input comes from standard input");
        for (size_t j = 0; j < i; j++) {
            fc_is_assignment(o->inputs.at[j], &k);
            if (k != n || memcmp(o->inputs.at[j], word, n) != 0) continue;
            return fc_fail(p->e, FUSEC_DUPLICATE_INPUT, "`%.*s` is given twice\n  %.200s\n  %.200s",
                           (int)n, word, o->inputs.at[j], word);
        }
    }
    for (size_t i = 0; i < o->many.len; i++) {
        if (o->many.at[i].flag != FC_FLAG_DEFINE) continue;
        if (!fc_is_assignment(o->many.at[i].text, &n))
            return fc_fail(p->e, FUSEC_USAGE, "-D takes NAME=VALUE, not `%.100s`",
                           o->many.at[i].text);
    }
    return FUSEC_OK;
}

/* Colour, error format, help and version count wherever they stand, also behind a mistake. */
static void look_ahead(fc_options *o, int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *w = argv[i], *next = i + 1 < argc ? argv[i + 1] : "";
        const char *color = !strncmp(w, "--color=", 8) ? w + 8 : !strcmp(w, "--color") ? next : "";
        if (!strcmp(color, "always")) o->color = FC_COLOR_ALWAYS;
        if (!strcmp(color, "never")) o->color = FC_COLOR_NEVER;
        if (!strcmp(color, "auto")) o->color = FC_COLOR_AUTO;
        if (!strcmp(w, "--error-format=json")) o->json_errors = true;
        if (!strcmp(w, "--error-format") && !strcmp(next, "json")) o->json_errors = true;
        if (!strcmp(w, "-h") || !strcmp(w, "--help")) o->on[FC_FLAG_HELP] = true;
        if (!strcmp(w, "--version")) o->on[FC_FLAG_VERSION] = true;
        if (!strcmp(w, "-e") || !strcmp(w, "--expr")) i++; /* its argument is no flag */
    }
    if (!o->on[FC_FLAG_HELP] && !o->on[FC_FLAG_VERSION]) return;
    for (int i = 1; i < argc && o->command == FC_CMD_NONE; i++)
        fc_command_by_name(argv[i], &o->command);
}

fusec_status fc_options_parse(fc_options *o, int argc, char **argv, const fc_alloc *alloc,
                              fc_error *e) {
    fc_error own = {0};
    parser p = {.o = o, .argc = argc, .argv = argv, .at = 1, .e = e ? e : &own};
    memset(o, 0, sizeof *o);
    o->alloc = alloc;
    look_ahead(o, argc, argv);
    if (o->on[FC_FLAG_HELP] || o->on[FC_FLAG_VERSION]) return FUSEC_OK;
    bool ended = false;
    while (p.at < argc) {
        const char *word = argv[p.at++];
        if (!ended && !strcmp(word, "--"))
            ended = true;
        else if (ended || word[0] != '-' || !word[1])
            FC_TRY(one_word(&p, word, ended));
        else
            FC_TRY(word[1] == '-' ? long_flag(&p, word) : short_flags(&p, word));
    }
    if (o->command == FC_CMD_NONE && o->on[FC_FLAG_EXPR]) o->command = FC_CMD_RUN;
    if (o->command == FC_CMD_NONE) {
        if (argc == 1) return FUSEC_OK;
        return fc_fail(p.e, FUSEC_USAGE, "there is no command\n  help: fusec --help lists them");
    }
    FC_TRY(check_flags(&p));
    size_t most = o->on[FC_FLAG_EXPR] ? 0 : fc_commands[o->command].files;
    if (o->files.len > most) return surplus_words(&p);
    return check_inputs(&p);
}

void fc_options_free(fc_options *o) {
    fc_vec_free(o->alloc, &o->many);
    fc_vec_free(o->alloc, &o->files);
    fc_vec_free(o->alloc, &o->inputs);
}
