/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_lang_parse.c - lexer, parser, messages and formatter of the text language.
 *
 * Programs are in tests/lang/programs. Messages are in tests/lang/errors, one case per file:
 *
 *     === command          the command line; the text of -e is what stands in the single quotes
 *     === file NAME        a program file, any number of them; the last one is checked
 *     === stderr           what must be printed, to the byte (rewritten by --bless)
 *
 * Files named gallery_* are the examples of the language description. */
#include "tests/support/test.h"

#include "tests/support/lang_files.h"
#include "tests/support/parsebox.h"

#include "frontend/lang/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- one parse ------------------------------------------------------------------------------- */

static const char *dump_of(const char *snippet) {
    static char buffer[4000];
    parsed r = parse_text("<expr>", snippet, strlen(snippet), true);
    snprintf(buffer, sizeof buffer, "%s", r.status == FUSEC_OK ? r.dump.data : r.text.data);
    parsed_free(&r);
    return buffer;
}

/* Both read to the same operations; parentheses of their own may differ. */
static void expect_same(const char *a, const char *b) {
    char first[4000], *p;
    snprintf(first, sizeof first, "%s", dump_of(a));
    char second[4000];
    snprintf(second, sizeof second, "%s", dump_of(b));
    while ((p = strstr(first, " ()")) != NULL) memmove(p, p + 3, strlen(p + 3) + 1);
    while ((p = strstr(second, " ()")) != NULL) memmove(p, p + 3, strlen(p + 3) + 1);
    FC_EXPECT_STREQ(first, second);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void parses(const char *dir, const char *name, const char *text, size_t len) {
    (void)dir;
    parsed r = parse_text(name, text, len, strstr(name, ".txt") != NULL);
    FC_EXPECT_STREQ(r.text.data, "");
    parsed_free(&r);
}

static void formats_to_itself(const char *dir, const char *name, const char *text, size_t len) {
    (void)dir;
    char *out = format_text(text, len, strstr(name, ".txt") != NULL);
    FC_EXPECT_STREQ(out ? out : "mistakes", text);
    free(out);
}

FC_TEST(lang_parse, programs) {
    each_lang_file(LANG_PROGRAMS, ".fuse", parses);
}
FC_TEST(lang_parse, snippets) {
    each_lang_file(LANG_PROGRAMS "/snippets", ".txt", parses);
}
FC_TEST(lang_fmt, programs_stay) {
    each_lang_file(LANG_PROGRAMS, ".fuse", formats_to_itself);
}
FC_TEST(lang_fmt, snippets_stay) {
    each_lang_file(LANG_PROGRAMS "/snippets", ".txt", formats_to_itself);
}

FC_TEST(lang_parse, precedence) {
    expect_same("-x**2", "-(x**2)");
    expect_same("2**-x**3", "2**(-(x**3))");
    expect_same("a ? b : c ? d : e", "a ? b : (c ? d : e)");
    expect_same("a ? b ? c : d : e", "a ? (b ? c : d) : e");
    expect_same("!a == b", "(!a) == b");
    expect_same("not a == b", "not (a == b)");
    expect_same("a or b and not c < d", "a or (b and (not (c < d)))");
    expect_same("a & b == c | d", "(a & b) == (c | d)");
    expect_same("a | b ^ c & d << e + f * g", "a | (b ^ (c & (d << (e + (f * g)))))");
    expect_same("a - b - c", "(a - b) - c");
    expect_same("a / b // c % d @ e", "(((a / b) // c) % d) @ e");
    expect_same("-a.T[0](b)", "-(((a.T)[0])(b))");
    expect_same("a && b || c", "a and b or c");
    expect_same("True", "true");
}

FC_TEST(lang_parse, chains_and_subscripts) {
    FC_EXPECT_STREQ(dump_of("0 < x <= 1"), "%0 = number 0\n%1 = name x\n%2 = number 1\n"
                                           "%3 = compare %0 %1 %2 < <=\nresult = %3\n");
    FC_EXPECT_STREQ(dump_of("x[1:, ::2, None, ..., k in 0..n]"),
                    "%0 = name x\n%1 = number 1\n%2 = slice %1 - -\n%3 = number 2\n"
                    "%4 = slice - - %3\n%5 = newaxis\n%6 = ellipsis\n%7 = number 0\n%8 = name n\n"
                    "%9 = index k %7 %8\n%10 = subscript %0, %2 %4 %5 %6 %9\nresult = %10\n");
    FC_EXPECT_STREQ(dump_of("f(a, axis=-1,)"),
                    "%0 = name f\n%1 = name a\n%2 = number 1\n%3 = unary - %2\n"
                    "%4 = call %0, %1 axis: %3\nresult = %4\n");
    FC_EXPECT_STREQ(dump_of("C[i, j in 0..m] = x; a, b = f(x); C"),
                    "%0 = name C\n%1 = name i\n%2 = number 0\n%3 = name m\n%4 = index j %2 %3\n"
                    "%5 = subscript %0, %1 %4\n%6 = name x\n%7 = name a\n%8 = name b\n%9 = name f\n"
                    "%10 = name x\n%11 = call %9, %10\n%12 = name C\ndefine C %1 %4 = %6\n"
                    "bind a b = %11\nresult = %12\n");
}

/* The nodes below an expression are exactly first .. id, and their order is children first. */
FC_TEST(lang_parse, numbering) {
    const char *text = "y = f(a, [b, -c], d=x[1:n, ...].T) ? (a, b) : 0 < a**2 < 1; y + (y * 2)";
    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_diags_init(&ds, &fc_libc_alloc);
    FC_ASSERT_OK(fc_source_init(&src, &fc_libc_alloc, "p", text, strlen(text), NULL), NULL);
    FC_ASSERT_OK(fc_parse_snippet(&src, &ds, &ast), NULL);
    for (size_t i = 0; i < ast.exprs.len; i++) {
        const fc_expr *e = ast.exprs.at[i];
        FC_EXPECT_EQ_I64(e->id, (int64_t)i);
        FC_EXPECT_TRUE(e->first <= e->id);
        for (uint32_t k = e->first; k < e->id; k++) {
            const fc_expr *below = ast.exprs.at[k];
            FC_EXPECT_TRUE(below->first >= e->first);
            FC_EXPECT_TRUE(below->outer.begin >= e->at.begin && below->outer.end <= e->at.end);
        }
    }
    FC_EXPECT_EQ_I64(ast.stmts->value->first, 1);
    FC_EXPECT_EQ_I64(ast.stmts->next->value->id, (int64_t)ast.exprs.len - 1);
    fc_ast_free(&ast);
    fc_diags_free(&ds);
    fc_source_free(&src);
}

FC_TEST(lang_parse, signature) {
    const char *text = "# first\n# second\n@fast(contract)\nexport def f(x: f32[n, m - 1], y = 3)"
                       " -> (a: T[..., _], b: i8) {\n    return x, y\n}\n";
    parsed r = parse_text("p.fuse", text, strlen(text), false);
    FC_EXPECT_STREQ(
        r.dump.data,
        "%0 = name fast\n%1 = name contract\n%2 = call %0, %1\n%3 = name n\n%4 = name m\n"
        "%5 = number 1\n%6 = binary %4 - %5\n%7 = number 3\n%8 = ellipsis\n%9 = hole\n"
        "%10 = name x\n%11 = name y\nattr fast () %1\nexport def f\n"
        "param x f32[ %3 %6] -\nparam y - %7\nresult a T[ %8 %9]\nresult b i8\nblock\n"
        "return = %10 %11\n");
    parsed_free(&r);

    fc_source src;
    fc_ast ast;
    fc_diags ds;
    fc_diags_init(&ds, &fc_libc_alloc);
    FC_ASSERT_OK(fc_source_init(&src, &fc_libc_alloc, "p", text, strlen(text), NULL), NULL);
    FC_ASSERT_OK(fc_parse_program(&src, &ds, &ast), NULL);
    const fc_item *f = ast.items;
    FC_EXPECT_EQ_I64(f->doc.begin, 0);
    FC_EXPECT_EQ_I64(f->doc.end, 16);
    FC_EXPECT_EQ_I64(f->param_count, 2);
    FC_EXPECT_EQ_I64(f->result_count, 2);
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_ast_quote(&ast, f->signature, &s);
    FC_EXPECT_STREQ(s.data, "f(x: f32[n, m - 1], y = 3)");
    fc_str_free(&s);
    fc_ast_free(&ast);
    fc_diags_free(&ds);
    fc_source_free(&src);
}

static const fc_expr *number(const char *text, fc_source *src, fc_ast *ast, fc_diags *ds) {
    fc_diags_init(ds, &fc_libc_alloc);
    fc_source_init(src, &fc_libc_alloc, "<expr>", text, strlen(text), NULL);
    return fc_parse_snippet(src, ds, ast) == FUSEC_OK ? ast->exprs.at[0] : NULL;
}

FC_TEST(lang_parse, numbers) {
    static const struct {
        const char *text;
        bool real, huge;
        uint64_t i;
        double f;
    } cases[] = {
        {"0", false, false, 0, 0},
        {"007", false, false, 7, 7},
        {"100_000", false, false, 100000, 100000},
        {"0xff_FF", false, false, 65535, 65535},
        {"18446744073709551615", false, false, UINT64_MAX, 18446744073709551615.0},
        {"18446744073709551616", false, true, 0, 18446744073709551616.0},
        {"0x1_0000_0000_0000_0000", false, true, 0, 18446744073709551616.0},
        {"1.", true, false, 1, 1},
        {".5", true, false, 0, 0.5},
        {"1.5e-3", true, false, 1, 1.5e-3},
        {"1_0.2_5", true, false, 10, 10.25},
        {"2E2", true, false, 2, 200},
        {"0.1", true, false, 0, 0.1},
        {"1e999", true, false, 1, HUGE_VAL},
    };
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        fc_source src;
        fc_ast ast;
        fc_diags ds;
        FC_TRACE("%s", cases[i].text);
        const fc_expr *e = number(cases[i].text, &src, &ast, &ds);
        FC_ASSERT_TRUE(e != NULL);
        FC_EXPECT_EQ_I64(e->real, cases[i].real);
        FC_EXPECT_EQ_I64(e->huge, cases[i].huge);
        if (!e->huge && !e->real) FC_EXPECT_EQ_U64(e->number.i, cases[i].i);
        FC_EXPECT_EQ_F64(e->number.f, cases[i].f);
        FC_UNTRACE();
        fc_ast_free(&ast);
        fc_diags_free(&ds);
        fc_source_free(&src);
    }
}

FC_TEST(lang_lex, newlines) {
    expect_same("y = a +\n  b\ny", "y = a + b; y");
    expect_same("y = (a\n - b)\n\n;;\ny\n", "y = (a - b); y");
    expect_same("y = a\n # comment\n\n  ? b\n  : c\ny", "y = a ? b : c; y");
    expect_same("y = a\n  or b\n  && c; y", "y = a or b and c; y");
    expect_same("\r\n y = a\r\n y\r\n", "y = a; y");
    expect_same("for k in\n 0 ..\n n while\n a { y = b }\n y",
                "for k in 0..n while a { y = b }; y");
    expect_same("y = x[a:\n b\n, k in\n0..n\n]; y", "y = x[a:b, k in 0..n]; y");
    FC_EXPECT_CONTAINS(dump_of("(a; b)"), "expected `)` before `;`");
    FC_EXPECT_CONTAINS(dump_of("a\n- b"), "not the last one");
}

FC_TEST(lang_lex, forbidden_bytes) {
    static const struct {
        const char *text;
        size_t len;
        const char *message;
    } cases[] = {
        {"x\n + \0 1", 8, "<expr>:2:4: error: a NUL byte, at byte offset 5 [syntax]"},
        {"x\r+ 1", 5, "<expr>:1:2: error: a carriage return without a newline, at byte offset 1"},
        {"x # \r", 5, "a carriage return without a newline, at byte offset 4"},
        {"\xef\xbb\xbfx", 4, "<expr>:1:1: error: a byte-order mark, at byte offset 0"},
        {"x # \xff", 5, "<expr>:1:5: error: a byte that is not UTF-8, at byte offset 4"},
        {"x # \xc0\xaf", 6, "a byte that is not UTF-8, at byte offset 4"},
        {"x # \xed\xa0\x80", 7, "a byte that is not UTF-8, at byte offset 4"},
        {"x # \xe2\x82", 6, "a byte that is not UTF-8, at byte offset 4"},
        {"x # \xc3\xa9 \xe2\x80\xae", 10,
         "<expr>:1:7: error: a bidirectional control character, at byte offset 7"},
        {"x # \xe2\x81\xa6", 7, "a bidirectional control character, at byte offset 4"},
    };
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        parsed r = parse_text("<expr>", cases[i].text, cases[i].len, true);
        FC_EXPECT_CONTAINS(r.text.data, cases[i].message);
        FC_EXPECT_EQ_I64(r.errors, 1);
        parsed_free(&r);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

/* The text of the section that begins with `head`, up to the next "=== ". */
static char *section(const char *text, const char *head, char *rest_of_line, size_t size) {
    const char *p = strstr(text, head);
    if (!p) return NULL;
    p += strlen(head);
    const char *line = strchr(p, '\n');
    snprintf(rest_of_line, size, "%.*s", (int)(line - p), p);
    const char *end = strstr(line, "\n=== ");
    size_t len = end ? (size_t)(end - line) : strlen(line + 1);
    char *copy = calloc(1, len + 1);
    memcpy(copy, line + 1, len);
    return copy;
}

static void message_case(const char *dir, const char *name, const char *text, size_t len) {
    char rest[200], file[200] = "<expr>";
    char *command = section(text, "=== command", rest, sizeof rest);
    char *program = section(text, "=== file ", file, sizeof file);
    char *wanted = section(text, "=== stderr", rest, sizeof rest);
    bool snippet = program == NULL;
    (void)len;
    FC_ASSERT_TRUE(command && wanted);
    if (snippet) {
        char *open = strchr(command, '\'');
        FC_ASSERT_TRUE(open != NULL);
        program = strdup(open + 1);
        *strrchr(program, '\'') = '\0';
    }
    parsed r = parse_text(file, program, strlen(program), snippet);
    if (r.errors == 0) { /* a mistake that is not the parser's: see test_lang_check.c */
        parsed_free(&r);
        free(command);
        free(program);
        free(wanted);
        return;
    }
    if (fc_test_blessing()) {
        char path[1000];
        snprintf(path, sizeof path, "%s/%s", dir, name);
        FILE *f = fopen(path, "wb");
        FC_ASSERT_TRUE(f != NULL);
        fprintf(f, "%.*s=== stderr\n%s", (int)(strstr(text, "=== stderr") - text), text,
                r.text.data);
        fclose(f);
    } else {
        FC_EXPECT_STREQ(r.text.data, wanted);
    }
    parse_holds(program, strlen(program), snippet);
    parsed_free(&r);
    free(command);
    free(program);
    free(wanted);
}

FC_TEST(lang_diag, messages) {
    each_lang_file(LANG_ERRORS, ".txt", message_case);
}

FC_TEST(lang_diag, parts) {
    fc_source a, b;
    fc_diags ds;
    fc_str out;
    const char *text = "sqrt(a - b)\n", *other = "\n\n\n\n\n\n\n\n\n\n\n\n  def f(x)\n";
    fc_source_init(&a, &fc_libc_alloc, "a.fuse", text, strlen(text), NULL);
    fc_source_init(&b, &fc_libc_alloc, "b.fuse", other, strlen(other), NULL);
    fc_diags_init(&ds, &fc_libc_alloc);
    fc_str_init(&out, &fc_libc_alloc);
    fc_diag *d = fc_diag_error(&ds, FUSEC_SHAPE_MISMATCH, &a, (fc_range){7, 8}, "no %s", "match");
    fc_diag_partner(d, (fc_range){5, 6});
    fc_diag_partner(d, (fc_range){9, 10});
    fc_diag_label(d, &b, (fc_range){14, 17}, "defined here");
    fc_diag_fact_at(d, "a", "f32[n]", &b, (fc_range){20, 21});
    fc_diag_fact(d, "long", "f32[n, m]", "a.npy");
    fc_diag_fact(d, "c", "f64", NULL);
    fc_diag_line(d, "known: %d", 3);
    fc_diag_help(d, "one");
    fc_diag_help(d, "two");
    fc_diag_fix(d, (fc_range){7, 8}, "+");
    fc_diag_warning(&ds, "unused-value", &a, (fc_range){0, 4}, "unused");
    fc_diag_note(&ds, "no-gpu", NULL, (fc_range){0, 0}, "no \"driver\"");
    fc_diags_text(&ds, false, &out);
    FC_EXPECT_STREQ(out.data, "a.fuse:1:8: error: no match [shape-mismatch]\n"
                              "   1 | sqrt(a - b)\n"
                              "     |      ~ ^ ~\n"
                              "  defined here, at b.fuse:13:3\n"
                              "  13 |   def f(x)\n"
                              "     |   ~~~\n"
                              "  a: f32[n]          b.fuse:13:9\n"
                              "  long: f32[n, m]    a.npy\n"
                              "  c: f64\n"
                              "  known: 3\n"
                              "  help: one\n"
                              "        two\n"
                              "a.fuse:1:1: warning: unused [unused-value]\n"
                              "   1 | sqrt(a - b)\n"
                              "     | ^^^^\n"
                              "fusec: note: no \"driver\" [no-gpu]\n");
    fc_str_clear(&out);
    fc_diags_json(&ds, &out);
    FC_EXPECT_STREQ(
        out.data,
        "{\"slug\":\"shape-mismatch\",\"severity\":\"error\",\"message\":\"no match\","
        "\"file\":\"a.fuse\",\"line\":1,\"col\":8,\"end_line\":1,\"end_col\":9,\"labels\":["
        "{\"file\":\"a.fuse\",\"line\":1,\"col\":6,\"end_line\":1,\"end_col\":7,\"text\":\"\"},"
        "{\"file\":\"a.fuse\",\"line\":1,\"col\":10,\"end_line\":1,\"end_col\":11,\"text\":\"\"},"
        "{\"file\":\"b.fuse\",\"line\":13,\"col\":3,\"end_line\":13,\"end_col\":6,"
        "\"text\":\"defined here\"}],\"facts\":["
        "{\"name\":\"a\",\"type\":\"f32[n]\",\"origin\":\"b.fuse:13:9\"},"
        "{\"name\":\"long\",\"type\":\"f32[n, m]\",\"origin\":\"a.npy\"},"
        "{\"name\":\"c\",\"type\":\"f64\",\"origin\":\"\"},{\"text\":\"known: 3\"}],"
        "\"help\":[\"one\",\"two\"],\"fixes\":[{\"line\":1,\"col\":8,\"end_col\":9,\"text\":\"+\"}]"
        "}\n"
        "{\"slug\":\"unused-value\",\"severity\":\"warning\",\"message\":\"unused\","
        "\"file\":\"a.fuse\",\"line\":1,\"col\":1,\"end_line\":1,\"end_col\":5,\"labels\":[],"
        "\"facts\":[],\"help\":[],\"fixes\":[]}\n"
        "{\"slug\":\"no-gpu\",\"severity\":\"note\",\"message\":\"no "
        "\\\"driver\\\"\",\"file\":null,"
        "\"line\":null,\"col\":null,\"end_line\":null,\"end_col\":null,\"labels\":[],"
        "\"facts\":[],\"help\":[],\"fixes\":[]}\n");
    fc_str_clear(&out);
    fc_diags_text(&ds, true, &out);
    FC_EXPECT_CONTAINS(out.data, "a.fuse:1:8: \033[31merror:\033[0m no match");
    FC_EXPECT_CONTAINS(out.data, "  \033[34mhelp:\033[0m one\n        two\n");
    FC_EXPECT_CONTAINS(out.data, "\033[33mwarning:\033[0m unused");
    fc_str_free(&out);
    fc_diags_free(&ds);
    fc_source_free(&a);
    fc_source_free(&b);
}

FC_TEST(lang_diag, errors_push_warnings_out) {
    fc_diags ds;
    fc_str out;
    fc_range none = {0, 0};
    fc_diags_init(&ds, &fc_libc_alloc);
    fc_str_init(&out, &fc_libc_alloc);
    for (int i = 0; i < 25; i++) fc_diag_warning(&ds, "unused-value", NULL, none, "w%d", i);
    for (int i = 0; i < 22; i++) fc_diag_error(&ds, FUSEC_SYNTAX, NULL, none, "e%d", i);
    fc_diags_text(&ds, false, &out);
    FC_EXPECT_EQ_I64(ds.len, FC_DIAG_LIMIT);
    FC_EXPECT_CONTAINS(out.data, "fusec: error: e19 [syntax]\n... and 27 more\n22 errors\n");
    FC_EXPECT_TRUE(strstr(out.data, "warning") == NULL);
    fc_str_free(&out);
    fc_diags_free(&ds);
}

FC_TEST(lang_diag, did_you_mean) {
    static const char *const names[] = {"softplus", "sqrt", "sum", "sin", "sinh", "asin", "mean"};
    static const struct {
        const char *word, *help;
    } cases[] = {{"sotfplus", "  help: did you mean softplus?\n"},
                 {"sim", "  help: did you mean sum or sin?\n"},
                 {"sinn", "  help: did you mean sin or sinh?\n"},
                 {"x", ""}};
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        fc_diags ds;
        fc_str out;
        fc_suggest s;
        fc_diags_init(&ds, &fc_libc_alloc);
        fc_str_init(&out, &fc_libc_alloc);
        fc_diag *d = fc_diag_error(&ds, FUSEC_UNKNOWN_NAME, NULL, (fc_range){0, 0}, "no");
        fc_suggest_start(&s, cases[i].word, strlen(cases[i].word));
        for (size_t k = 0; k < FC_COUNT(names); k++) fc_suggest_try(&s, names[k]);
        fc_suggest_help(&s, d);
        fc_diags_text(&ds, false, &out);
        FC_EXPECT_STREQ(strchr(out.data, '\n') + 1, cases[i].help);
        fc_str_free(&out);
        fc_diags_free(&ds);
    }
    FC_EXPECT_STREQ(fc_foreign_name("fabs", 4), "abs");
    FC_EXPECT_TRUE(fc_foreign_name("abs", 3) == NULL);
    FC_EXPECT_EQ_I64(fc_edit_distance("ab", 2, "ba", 2, 2), 1);
    FC_EXPECT_EQ_I64(fc_edit_distance("", 0, "abc", 3, 5), 3);
}

/* ---- formatter ------------------------------------------------------------------------------- */

FC_TEST(lang_fmt, rules) {
    const char *in =
        "\n\nimport   \"a.fuse\"  as  nn\nconst A=3\nconst LONG:float32   =   4 # x\n"
        "def float64(x) = x\n# doc\n@fast( contract,recip )\n"
        "export   def f( x:float32[ n,m-1,... ],y = 3 )->(a:f32[n] , b:f32,) {\n\n\n  # first\n"
        "  a=x+1# c1\n  bcd=-x*2   # c2\n  C[i,j in 0 .. n]=sum[k]( x [ i,k ]*y)\n"
        "  x1     = 1    # one\n  longer = 2    # two\r\n\tfor k in 0..5 while a>3 and not(b) {\n"
        "a=zeros( [3,4],dtype=float32 )\n # tail  \n}\n}\ndef g(x) {return x ?a:b} # tail\n"
        "def h(x) = foo(a,\n  b,\n       # in\n  c) + [\n1\n] + float64(x)\n  or bitcast( x , "
        "uint32 )"
        " .T[ a : b ,: : 2, None ]|1 .T";
    const char *out =
        "import \"a.fuse\" as nn\nconst A = 3\nconst LONG: f32 = 4 # x\n\n"
        "def float64(x) = x\n\n# doc\n@fast(contract, recip)\n"
        "export def f(x: f32[n, m-1, ...], y = 3) -> (a: f32[n], b: f32,) {\n\n    # first\n"
        "    a = x + 1 # c1\n    bcd = -x*2   # c2\n    C[i, j in 0..n] = sum[k](x[i, k]*y)\n"
        "    x1     = 1    # one\n    longer = 2    # two\n    for k in 0..5 while a > 3 and not "
        "(b) {\n"
        "        a = zeros([3, 4], dtype=f32)\n        # tail\n    }\n}\n\n"
        "def g(x) { return x ? a : b } # tail\n\ndef h(x) = foo(a,\n               b,\n"
        "               # in\n               c) + [\n                   1\n               ]"
        " + float64(x)\n    or bitcast(x, u32).T[a:b, ::2, None] | 1 .T\n";
    char *got = format_text(in, strlen(in), false);
    FC_EXPECT_STREQ(got ? got : "mistakes", out);
    free(got);
    got = format_text(" # only\n\n\n# comments", 20, false);
    FC_EXPECT_STREQ(got, "# only\n\n# comments\n");
    free(got);
    got = format_text(" \n ", 3, false);
    FC_EXPECT_STREQ(got, "");
    free(got);
}
