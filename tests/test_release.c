/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_release.c - scripts/release refuses what can't be a release. */
#include <string.h>

#include "ir/base.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* A repository with what the script looks at. */
static const char setup[] =
    "export HOME=$PWD GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
    "GIT_COMMITTER_EMAIL=a@b\n"
    "mkdir -p base/include/fusec base/scripts base/tests/golden && cd base && git init -q . && "
    "cp " FUSEC_SOURCE_DIR "/scripts/release scripts/ && "
    "printf '#define FUSEC_VERSION_MAJOR 0\\n#define FUSEC_VERSION_MINOR 3\\n"
    "#define FUSEC_VERSION_PATCH 1\\n' >include/fusec/fusec.h && "
    "printf '# Changes\\n\\n## 0.3.1\\n' >CHANGELOG.md && echo 'version: 0.3.1' >CITATION.cff && "
    "printf 'fusec_a\\nfusec_b\\n' >tests/golden/abi.symbols.txt && git add -A && "
    "git commit -qm x\n";

FC_TEST(release, what_is_refused) {
    static const struct {
        int code;
        const char *change, *said;
    } row[] = {
        {0, "true", "release: 0.3.1 at "},
        {1, "echo x >new", "there is what is not committed:\n?? new"},
        {1, "echo >>CHANGELOG.md", "not committed:\n M CHANGELOG.md"},
        {1, "echo '## Unreleased' >>CHANGELOG.md; git commit -qam y", "it becomes \"## 0.3.1\""},
        {1, "echo '## 0.3.0' >CHANGELOG.md; git commit -qam y", "no section \"## 0.3.1\""},
        {1, "echo 'version: 0.3.0' >CITATION.cff; git commit -qam y", "does not say version 0.3.1"},
        {0, "git tag v0.3.0", "can be made"},
        {0, "git tag v0.3.1", "can be made"},
        {1, "git tag v0.3.1; git commit -q --allow-empty -m y", "the tag v0.3.1 is another commit"},
        {1, "git tag v0.10.0", "0.3.1 is not above the last release, 0.10.0"},
        {1, "git tag v0.3.0; echo fusec_b >tests/golden/abi.symbols.txt; git commit -qam y",
         "needs another soname:\nfusec_a"},
        {0, "git tag v0.2.9; echo fusec_b >tests/golden/abi.symbols.txt; git commit -qam y",
         "can be made"}};
    OPEN(sh);
    EXPECT_RUN(sh, 0, "command -v git || echo none");
    if (!strcmp(sh.out, "none\n")) {
        shell_close(&sh);
        FC_SKIP("there is no git");
    }
    EXPECT_RUN(sh, 0, "%s", setup);
    for (size_t i = 0; i < FC_COUNT(row); i++) {
        EXPECT_RUN(sh, row[i].code,
                   "export HOME=$PWD GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
                   "GIT_COMMITTER_EMAIL=a@b; rm -rf r; cp -r base r; cd r; %s; "
                   "scripts/release --check 2>&1",
                   row[i].change);
        FC_EXPECT_CONTAINS(sh.out, row[i].said);
    }
    shell_close(&sh);
}
