/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_plan_page.c - explain as a page and as a picture: the facts of the text, markup that is well
 * formed whatever the names are, no request and no script, and the size of a page of 300 kernels.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ir/base.h"
#include "tests/support/page.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* ---- well-formed: every element is closed, in order; no stray < or & ----------------------------
 */

static bool is_entity(const char *p) {
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    for (size_t i = 0; i < FC_COUNT(known); i++)
        if (!strncmp(p, known[i], strlen(known[i]))) return true;
    return false;
}

static void expect_well_formed(const char *text) {
    static char open[64][32];
    int depth = 0;
    for (const char *p = text; *p; p++) {
        if (*p == '&' && !is_entity(p)) FC_FAIL("a stray & at: %.60s", p);
        if (*p != '<') continue;
        const char *end = strchr(p, '>');
        if (!end) FC_FAIL("a tag without an end: %.60s", p);
        if (p[1] == '!') {
            p = end;
            continue;
        }
        const bool closes = p[1] == '/';
        const size_t n = strcspn(p + 1 + closes, " />\n");
        if (closes) {
            if (!depth || strlen(open[depth - 1]) != n || strncmp(open[depth - 1], p + 2, n) != 0)
                FC_FAIL("%.20s closes <%s>", p, depth ? open[depth - 1] : "nothing");
            depth--;
        } else if (end[-1] != '/') {
            if (depth == 64 || n >= 32) FC_FAIL("too deep: %.60s", p);
            snprintf(open[depth++], 32, "%.*s", (int)n, p + 1);
        }
        p = end;
    }
    FC_EXPECT_EQ_I64(depth, 0);
}

static char *read_file(const shell *sh, const char *name, size_t *len) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", sh->folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    char *text = calloc(1, *len + 1);
    if (text && fread(text, 1, *len, f) != *len) *len = 0;
    fclose(f);
    return text;
}

/* ---- facts
 * --------------------------------------------------------------------------------------- */

static const char two_kernels[] = "# scans along both axes\n"
                                  "export def f(x: f32[n, m]) -> f32[n, m] {\n"
                                  "    down = cumsum(x, axis=0)\n"
                                  "    return cumsum(down*2, axis=1)\n"
                                  "}\n";

FC_TEST(plan_page, has_the_facts_of_the_text) {
    OPEN(sh);
    size_t len = 0;
    shell_write(&sh, "f.fuse", two_kernels);
    EXPECT_RUN(sh, 0, "fusec explain -d none f.fuse x=f32:64x100 --html p.html --svg p.svg");
    FC_EXPECT_CONTAINS(sh.err, "wrote p.html");
    FC_EXPECT_STREQ(sh.out, "");
    char *page = read_file(&sh, "p.html", &len), *picture = read_file(&sh, "p.svg", &len);
    FC_ASSERT_TRUE(page && picture);
    expect_well_formed(page);
    expect_well_formed(picture);
    static const char *const facts[] = {
        "f(x: f32[64, 100]) -&gt; f32[64, 100]",
        "<span id=\"p0L3\"><span class=\"no\">   3  </span>    down",
        "<section id=\"k0\">",
        "<section id=\"k1\">",
        "<dt>lines</dt><dd><a href=\"#p0L3\">3</a></dd>",
        "<dt>lines</dt><dd><a href=\"#p0L4\">4</a></dd>",
        "it scans along another axis",
        "25.0 KiB",
        "<dt>class</dt><dd>p1 r1",
        "<dt>bytes read</dt><dd>25600</dd>",
        "Unfused: 3 kernels",
        "<summary>loop nest</summary><pre>kernel scan",
        "__global__",
        "default-src 'none'"};
    for (size_t i = 0; i < FC_COUNT(facts); i++) FC_EXPECT_CONTAINS(page, facts[i]);
    FC_EXPECT_CONTAINS(picture, ">k1 scan</text>");
    FC_EXPECT_CONTAINS(picture, "x: f32[n, m]");
    FC_EXPECT_TRUE(!strstr(page, "<script") && !strstr(page, "http-equiv=\"refresh\""));
    free(page);
    free(picture);
    EXPECT_RUN(sh, 0, "fusec explain -d none f.fuse x=f32:64x100 --json");
    FC_EXPECT_CONTAINS(sh.out, "\"lines\":[3]");
    EXPECT_RUN(sh, 0, "fusec explain -d none -f f.fuse -e 'exp(f(x))' x=f32:64x100 --html -");
    FC_EXPECT_CONTAINS(sh.out, "<a href=\"#p1L1\">-e:1</a>");
    EXPECT_RUN(sh, 0, "fusec explain -d interp f.fuse --svg -"); /* sizes by name */
    expect_well_formed(sh.out);
    EXPECT_RUN(sh, 0, "fusec explain -d interp -e 'x*2' x=f32:8 --time --html -");
    expect_well_formed(sh.out);
    FC_EXPECT_CONTAINS(sh.out, "measured");
    EXPECT_RUN(sh, 0, "fusec explain -d interp -e 'x' x=f32:8 --html -"); /* a copy */
    expect_well_formed(sh.out);
    shell_close(&sh);
}

FC_TEST(plan_page, texts_of_programs_stay_text) {
    OPEN(sh);
    EXPECT_RUN(sh, 0,
               "fusec explain -d interp -e 'x*2 # </pre></script><img src=x onerror=alert(1)> ]]> "
               "&nbsp; \"' x=f32:8 --html -");
    expect_well_formed(sh.out);
    FC_EXPECT_CONTAINS(sh.out, "&lt;img src=x onerror=alert(1)&gt; ]]&gt; &amp;nbsp; &quot;");
    EXPECT_RUN(sh, 0,
               "printf 'export def f(x: f32[n]) -> f32[n] = x*2 # \\001' >'<b>&.fuse'; "
               "fusec explain -d interp '<b>&.fuse' --html -");
    expect_well_formed(sh.out);
    FC_EXPECT_CONTAINS(sh.out, "<h3>&lt;b&gt;&amp;.fuse</h3>");
    FC_EXPECT_CONTAINS(sh.out, "# \xef\xbf\xbd");
    shell_close(&sh);
}

FC_TEST(plan_page, messages) {
    OPEN(sh);
    EXPECT_RUN(sh, 2, "fusec explain -e 'x*2' x=f32:8 --html p.html --json");
    FC_EXPECT_CONTAINS(sh.err, "--html excludes --json, --plain, --dot and --emit");
    EXPECT_RUN(sh, 2, "fusec explain -e 'x*2' x=f32:8 --svg ''");
    FC_EXPECT_CONTAINS(sh.err, "--svg: the file is missing");
    EXPECT_RUN(sh, 2, "fusec explain -e 'x*2' x=f32:8 --svg p --html p");
    FC_EXPECT_CONTAINS(sh.err, "--html and --svg go to the same place");
    EXPECT_RUN(sh, 4, "fusec explain -d interp -e 'x*2' x=f32:8 --html none/p.html");
    FC_EXPECT_CONTAINS(sh.err, "cannot write none/p.html");
    EXPECT_RUN(sh, 2, "fusec run -e 'x*2' x=1 --html p.html");
    FC_EXPECT_CONTAINS(sh.err, "it belongs to: explain");
    shell_close(&sh);
}

/* ---- a page of 300 kernels, in a browser where there is one -------------------------------------
 */

static void write_deep(shell *sh) {
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_str_add(&s, "export def f(x: f32[n, m]) -> f32[n, m] {\n    b0 = x\n");
    for (int i = 1; i <= 150; i++)
        fc_str_printf(
            &s, "    a%d = cumsum(b%d, axis=0)\n    b%d = cumsum(a%d*%d + sin(b%d), axis=1)\n", i,
            i - 1, i, i, i, i - 1);
    fc_str_add(&s, "    return b150\n}\n");
    shell_write(sh, "deep.fuse", s.data);
    fc_str_free(&s);
}

FC_TEST(plan_page, three_hundred_kernels) {
    OPEN(sh);
    size_t len = 0;
    write_deep(&sh);
    EXPECT_RUN(sh, 0, "fusec explain -d none deep.fuse x=f32:4096x4096 --html deep.html");
    char *page = read_file(&sh, "deep.html", &len);
    FC_ASSERT_TRUE(page != NULL);
    FC_EXPECT_TRUE(len > 100000 && len <= 2000000);
    FC_EXPECT_CONTAINS(page, "<section id=\"k299\">");
    expect_well_formed(page);
    free(page);
    shell_close(&sh);
}

/* Where their texts are too much for a page, the first ones are there. */
FC_TEST(plan_page, more_texts_than_fit) {
    OPEN(sh);
    size_t len = 0;
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_str_add(&s, "export def f(x: f32[n, m]) -> f32[n, m] {\n    b0 = x\n");
    for (int i = 1; i <= 450; i++)
        fc_str_printf(&s, "    b%d = materialize(sin(b%d)*%d.5 + b%d)\n", i, i - 1, i, i - 1);
    fc_str_add(&s, "    return b450\n}\n");
    shell_write(&sh, "texts.fuse", s.data);
    fc_str_free(&s);
    EXPECT_RUN(sh, 0, "fusec explain -d none texts.fuse x=f32:1000x1000 --html texts.html");
    char *page = read_file(&sh, "texts.html", &len);
    FC_ASSERT_TRUE(page != NULL);
    FC_EXPECT_TRUE(len > 1000000 && len <= 2000000);
    FC_EXPECT_CONTAINS(page, "<section id=\"k449\">");
    FC_EXPECT_CONTAINS(page, "left out, the page would be too large");
    expect_well_formed(page);
    free(page);
    shell_close(&sh);
}

/* Console messages have CONSOLE in them; what else the browser says is about its own machine. */
FC_TEST(plan_page, a_browser_has_nothing_to_say) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "command -v chromium-headless-shell chromium || echo none");
    char browser[100];
    snprintf(browser, sizeof browser, "%.*s", (int)strcspn(sh.out, "\n"), sh.out);
    if (!strcmp(browser, "none")) {
        shell_close(&sh);
        FC_SKIP("there is no Chromium");
    }
    write_deep(&sh);
    EXPECT_RUN(sh, 0, "fusec explain -d none deep.fuse x=f32:4096x4096 --html deep.html");
    EXPECT_RUN(sh, 0,
               "%s --headless --no-sandbox --disable-gpu --user-data-dir=profile "
               "--enable-logging=stderr --dump-dom "
               "\"file://$PWD/deep.html\"",
               browser);
    FC_EXPECT_TRUE(!strstr(sh.err, "CONSOLE"));
    FC_EXPECT_CONTAINS(sh.out, "<section id=\"k299\">");
    FC_EXPECT_CONTAINS(sh.out, "<svg ");
    shell_close(&sh);
}
