/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* help.c - pages for people, from the tables. */
#include "frontend/cli/help.h"

#include "frontend/lang/library.h"
#include "ir/ops.h"

#include <stdio.h>

typedef struct page {
    const char *name, *what, *text;
} page;

static const page pages[] = {
#define CLI_PAGE(slug, text) {slug, NULL, text},
#include "frontend/cli/pages.def"
};

static const page topics[] = {
#define CLI_TOPIC(name, what, text) {name, what, text},
#include "frontend/cli/pages.def"
};

/* ---- layout ---------------------------------------------------------------------------------- */

#define COLUMNS 79

static void spaces(fc_str *out, int n) {
    while (n-- > 0) fc_str_char(out, ' ');
}

/* One paragraph; `column` is where the first line begins. */
static void paragraph(fc_str *out, const char *p, size_t n, int indent, int column) {
    const char *end = p + n;
    bool first = true;
    while (p < end) {
        while (p < end && *p == ' ') p++;
        size_t word = 0;
        while (p + word < end && p[word] != ' ') word++;
        if (!word) break;
        if (!first && column + 1 + (int)word > COLUMNS) {
            fc_str_char(out, '\n');
            spaces(out, indent);
            column = indent;
        } else if (!first) {
            fc_str_char(out, ' ');
            column++;
        }
        fc_str_addn(out, p, word);
        column += (int)word;
        p += word;
        first = false;
    }
    fc_str_char(out, '\n');
}

void fc_help_wrap(fc_str *out, const char *text, int indent) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n) spaces(out, indent);
        if (n && text[0] != ' ') {
            paragraph(out, text, n, indent, indent);
        } else {
            fc_str_addn(out, text, n);
            fc_str_char(out, '\n');
        }
        text += n + (text[n] == '\n');
    }
}

/* "  left    right", the right side wrapped in its column. */
static void entry(fc_str *out, const char *left, const char *right, int column) {
    int n = (int)strlen(left);
    fc_str_printf(out, "  %s", left);
    if (n + 4 > column) {
        fc_str_char(out, '\n');
        spaces(out, column);
    } else {
        spaces(out, column - n - 2);
    }
    paragraph(out, right, strlen(right), column, column);
}

/* "-o, --output [name=]FILE" */
static void flag_left(char *buf, size_t size, fc_flag f) {
    const fc_flag_info *info = &fc_flags[f];
    char letter[8] = "    ";
    if (info->letter) snprintf(letter, sizeof letter, "-%c, ", info->letter);
    if (info->kind == FC_ARG_MAYBE)
        snprintf(buf, size, "%s--%s[=%s]", letter, info->name, info->arg);
    else
        snprintf(buf, size, "%s--%s%s%s", letter, info->name, *info->arg ? " " : "", info->arg);
}

static bool everywhere(fc_flag f) {
    return fc_flags[f].commands == (uint32_t)~0;
}

static void flag_list(fc_str *out, fc_command c, bool common) {
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        char left[100];
        if (!fc_flag_shown((fc_flag)f) || everywhere((fc_flag)f) != common) continue;
        if (!common && !fc_flag_applies((fc_flag)f, c)) continue;
        flag_left(left, sizeof left, (fc_flag)f);
        entry(out, left, fc_flags[f].text, 32);
    }
}

static void examples(fc_str *out, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        fc_str_printf(out, "  %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

void fc_help_short(fc_str *out) {
    fc_str_add(out, "  fusec -e 'sin(x*2 + 1)' x=in.npy -o y.npy\n"
                    "  fusec run examples/softmax.fuse x=rand:f32:1000x64\n"
                    "\n"
                    "fusec compiles expressions on arrays into few kernels, for GPU and CPU.\n"
                    "fusec --help lists the commands, fusec help inputs the forms of x=...\n");
}

void fc_help_main(fc_str *out) {
    fc_str_add(out, "fusec compiles expressions on arrays into few kernels, for GPU and CPU.\n\n"
                    "  fusec -e 'sin(x*2 + 1)' x=in.npy -o y.npy\n"
                    "  fusec run examples/softmax.fuse x=rand:f32:1000x64\n\n"
                    "Commands (fusec COMMAND --help shows the options of one):\n");
    for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++)
        entry(out, fc_commands[c].name, fc_commands[c].what, 16);
    fc_str_add(out, "\nOptions of all commands:\n");
    flag_list(out, FC_CMD_NONE, true);
    fc_str_add(out, "\nTopics (fusec help TOPIC):\n");
    for (size_t i = 0; i < FC_COUNT(topics); i++) entry(out, topics[i].name, topics[i].what, 16);
    fc_str_add(out, "\nAn error ends in a word in brackets; fusec help WORD explains it.\n");
}

void fc_help_command(fc_str *out, fc_command c) {
    const fc_command_info *info = &fc_commands[c];
    if (c == FC_CMD_NONE) {
        fc_help_main(out);
        return;
    }
    fc_str_printf(out, "fusec %s%s%s\n\n", info->name, *info->words ? " " : "", info->words);
    fc_help_wrap(out, info->text, 0);
    fc_str_add(out, "\nExamples:\n");
    examples(out, info->examples);
    size_t before = out->len;
    fc_str_add(out, "\nOptions:\n");
    size_t empty = out->len;
    flag_list(out, c, false);
    if (out->len == empty && !out->oom) {
        out->len = before;
        out->data[before] = 0;
    }
    fc_str_add(out, "\nOptions of all commands:\n");
    flag_list(out, c, true);
}

/* Rows that the language calls by name. */
static bool callable(int op) {
    return op >= FC_OP_FIRST_ELEMENTWISE && !(fc_ops[op].flags & (FC_F_OPERATOR | FC_F_HIDDEN));
}

static void function_line(fc_str *out, int op) {
    static const char *const operands[] = {"", "x", "x, y", "x, y, z"};
    char left[40];
    snprintf(left, sizeof left, "%s(%s)", fc_ops[op].name,
             operands[fc_is_reduction(op) ? 1 : fc_ops[op].arity]);
    entry(out, left, fc_ops[op].doc, 20);
}

static const char *const joins[][2] = {
#define JOIN(call, doc) {call, doc},
#include "ir/joins.def"
#undef JOIN
};

static bool join_line(fc_str *out, const char *name) {
    const size_t n = strlen(name);
    for (size_t i = 0; i < FC_COUNT(joins); i++) {
        if (strncmp(joins[i][0], name, n) != 0 || joins[i][0][n] != '(') continue;
        entry(out, joins[i][0], joins[i][1], 28);
        return true;
    }
    return false;
}

/* Of a definition that comes with fusec: what it is for; its text, if that is asked for. */
static void library_line(fc_str *out, const fc_library_entry *e, bool text) {
    fc_str left, doc;
    fc_str_init(&left, out->alloc);
    fc_str_init(&doc, out->alloc);
    fc_library_signature(e, &left);
    fc_library_doc(e, &doc);
    if (left.oom || doc.oom)
        out->oom = true;
    else if (text)
        fc_str_add(out, e->text);
    else
        entry(out, left.len < 40 ? left.data : e->name, doc.data, 28);
    fc_str_free(&left);
    fc_str_free(&doc);
}

/* The topic that is made from the table of operations. */
static void functions_page(fc_str *out, const char *text) {
    fc_help_wrap(out, text, 0);
    for (int op = 0; op < FC_OP_COUNT_; op++) {
        if (op == FC_OP_FIRST_ELEMENTWISE) fc_str_add(out, "\nElementwise:\n");
        if (op == FC_OP_FIRST_REDUCTION) fc_str_add(out, "\nReductions:\n");
        if (callable(op)) function_line(out, op);
    }
    fc_str_add(out, "\nReading and storing at indices, moving, joining:\n");
    for (size_t i = 0; i < FC_COUNT(joins); i++) entry(out, joins[i][0], joins[i][1], 28);
    fc_str_add(
        out,
        "\nDefinitions in the language, which come with it (fusec help NAME shows the text):\n");
    for (size_t i = 0; i < fc_library_count; i++) library_line(out, &fc_library[i], false);
}

static void slug_page(fc_str *out, const char *slug, const char *text) {
    for (int s = FUSEC_OK + 1; s < FC_STATUS_COUNT; s++) {
        if (strcmp(fc_status_slug((fusec_status)s), slug) != 0) continue;
        fc_str_printf(out, "%s: %s\n", slug, fc_status_text((fusec_status)s));
        fc_str_printf(out, "The command ends with exit code %d.\n",
                      fc_status_exit((fusec_status)s));
        if (text) fc_str_char(out, '\n');
    }
    if (text) fc_help_wrap(out, text, 0);
}

static const page *find(const page *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(list[i].name, name)) return &list[i];
    }
    return NULL;
}

fusec_status fc_help_word(fc_str *out, const char *word, fc_error *e) {
    const char *names[FC_CMD_COUNT + FC_COUNT(topics) + FC_COUNT(pages) + FC_STATUS_COUNT];
    size_t n = 0;
    fc_command c;
    if (fc_command_by_name(word, &c)) {
        fc_help_command(out, c);
        return FUSEC_OK;
    }
    const page *p = find(topics, FC_COUNT(topics), word);
    if (p && !strcmp(word, "functions")) {
        functions_page(out, p->text);
        return FUSEC_OK;
    }
    if (p) {
        fc_help_wrap(out, p->text, 0);
        return FUSEC_OK;
    }
    fc_op op = fc_op_by_name(word, strlen(word));
    if (op != FC_OP_NONE && callable(op)) {
        function_line(out, op);
        return FUSEC_OK;
    }
    if (join_line(out, word)) return FUSEC_OK;
    for (size_t i = 0; i < fc_library_count; i++)
        if (!strcmp(fc_library[i].name, word)) {
            library_line(out, &fc_library[i], true);
            return FUSEC_OK;
        }
    /* The brackets may be copied along with the word. */
    char slug[64];
    snprintf(slug, sizeof slug, "%s", word + (*word == '['));
    if (*word == '[') slug[strcspn(slug, "]")] = 0;
    bool known = false;
    p = find(pages, FC_COUNT(pages), slug);
    for (int s = FUSEC_OK + 1; s < FC_STATUS_COUNT; s++) {
        names[n++] = fc_status_slug((fusec_status)s);
        known |= !strcmp(names[n - 1], slug);
    }
    if (p || known) {
        slug_page(out, slug, p ? p->text : NULL);
        return FUSEC_OK;
    }
    for (int k = FC_CMD_NONE + 1; k < FC_CMD_COUNT; k++) names[n++] = fc_commands[k].name;
    for (size_t i = 0; i < FC_COUNT(topics); i++) names[n++] = topics[i].name;
    names[n] = NULL;
    fusec_status s = fc_fail(e, FUSEC_USAGE, "there is no help on `%.60s`", word);
    fc_add_suggestion(e, word, strlen(word), names, "");
    if (e && !strstr(e->message, "\n")) {
        size_t len = strlen(e->message);
        snprintf(
            e->message + len, sizeof e->message - len,
            "\n  help: fusec help lists commands and topics, fusec help functions the functions");
    }
    return s;
}

/* ---- man pages ------------------------------------------------------------------------------- */

/* Text for troff: a backslash, a leading point or quote, and minus signs must be escaped. */
static void troff(fc_str *out, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool start = i == 0 || text[i - 1] == '\n';
        if (start && (text[i] == '.' || text[i] == '\'')) fc_str_add(out, "\\&");
        switch (text[i]) {
        case '\\': fc_str_add(out, "\\e"); break;
        case '-': fc_str_add(out, "\\-"); break;
        case '\'': fc_str_add(out, "\\(aq"); break;
        case '`': fc_str_add(out, "\\(ga"); break;
        case '^': fc_str_add(out, "\\(ha"); break;
        case '~': fc_str_add(out, "\\(ti"); break;
        default: fc_str_char(out, text[i]); break;
        }
    }
}

static void troff_line(fc_str *out, const char *before, const char *text) {
    fc_str_add(out, before);
    troff(out, text, strlen(text));
    fc_str_char(out, '\n');
}

static void troff_example(fc_str *out, const char *text) {
    fc_str_add(out, ".PP\n.nf\n.RS\n");
    troff_line(out, "", text);
    fc_str_add(out, ".RE\n.fi\n");
}

static void troff_flags(fc_str *out, fc_command c) {
    for (int f = 0; f < FC_FLAG_COUNT; f++) {
        char left[100];
        bool common = everywhere((fc_flag)f);
        if (!fc_flag_shown((fc_flag)f)) continue;
        if (c == FC_CMD_NONE ? !common : !fc_flag_applies((fc_flag)f, c)) continue;
        flag_left(left, sizeof left, (fc_flag)f);
        troff_line(out, ".TP\n.B ", left + strspn(left, " "));
        troff_line(out, "", fc_flags[f].text);
        if (*fc_flags[f].example) {
            fc_str_add(out, ".RS\n");
            troff_example(out, fc_flags[f].example);
            fc_str_add(out, ".RE\n");
        }
    }
}

/* Paragraphs filled, indented lines as they are. */
static void troff_text(fc_str *out, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n && text[0] == ' ') {
            fc_str_add(out, ".nf\n");
            troff(out, text, n);
            fc_str_add(out, "\n.fi\n");
        } else if (n) {
            fc_str_add(out, ".PP\n");
            troff(out, text, n);
            fc_str_char(out, '\n');
        }
        text += n + (text[n] == '\n');
    }
}

static void man_main(fc_str *out) {
    fc_str_add(out, ".SH SYNOPSIS\n");
    for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++) {
        fc_str_printf(out, ".B fusec %s\n", fc_commands[c].name);
        if (*fc_commands[c].words) troff_line(out, "", fc_commands[c].words);
        fc_str_add(out, ".br\n");
    }
    fc_str_add(out, ".SH DESCRIPTION\nfusec compiles expressions on arrays into few kernels, for "
                    "GPU and CPU.\n.SH COMMANDS\n");
    for (int c = FC_CMD_NONE + 1; c < FC_CMD_COUNT; c++) {
        fc_str_printf(out, ".TP\n.BR fusec\\-%s (1)\n", fc_commands[c].name);
        troff_line(out, "", fc_commands[c].what);
    }
    fc_str_add(out, ".SH OPTIONS OF ALL COMMANDS\n");
    troff_flags(out, FC_CMD_NONE);
    for (size_t i = 0; i < FC_COUNT(topics); i++) {
        troff_line(out, ".SH ", topics[i].what);
        troff_text(out, topics[i].text);
    }
    fc_str_add(out, ".SH ERRORS\n");
    for (size_t i = 0; i < FC_COUNT(pages); i++) {
        troff_line(out, ".TP\n.B ", pages[i].name);
        troff_line(out, "", pages[i].text);
    }
}

void fc_help_man(fc_str *out, fc_command c, const char *version) {
    const fc_command_info *info = &fc_commands[c];
    char title[40] = "fusec";
    if (c != FC_CMD_NONE) snprintf(title, sizeof title, "fusec\\-%s", info->name);
    fc_str_printf(out, ".TH \"%s\" 1 \"\" \"fusec %s\"\n.SH NAME\n%s \\- %s\n", title, version,
                  title, c == FC_CMD_NONE ? "compile and run expressions on arrays" : info->what);
    if (c == FC_CMD_NONE) {
        man_main(out);
        return;
    }
    fc_str_printf(out, ".SH SYNOPSIS\n.B fusec %s\n", info->name);
    if (*info->words) troff_line(out, "", info->words);
    fc_str_add(out, ".SH DESCRIPTION\n");
    troff_text(out, info->text);
    fc_str_add(out, ".SH OPTIONS\n");
    troff_flags(out, c);
    fc_str_add(out, ".SH EXAMPLES\n");
    for (const char *p = info->examples; *p;) {
        char line[200];
        size_t n = strcspn(p, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, p);
        troff_example(out, line);
        p += n + (p[n] == '\n');
    }
    fc_str_add(out, ".SH SEE ALSO\n.BR fusec (1)\n");
}
