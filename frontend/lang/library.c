/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* library.c - the table of library.fuse, and what can be said of a definition without reading it.
 */
#include "frontend/lang/library.h"

#include "frontend/lang/lex.h"

const fc_library_entry fc_library[] = {
#define FC_SECTION(name, text) {#name, text},
#include "frontend/lang/library.inc"
#undef FC_SECTION
};
const size_t fc_library_count = FC_COUNT(fc_library);

void fc_library_doc(const fc_library_entry *e, fc_str *out) {
    for (const char *s = e->text; *s == '#'; s = strchr(s, '\n') + 1) {
        const size_t n = strcspn(s, "\n");
        if (s != e->text) fc_str_char(out, ' ');
        fc_str_addn(out, s + 2, n - 2);
    }
}

void fc_library_signature(const fc_library_entry *e, fc_str *out) {
    const char *s = strstr(e->text, "def ") + strlen("def ");
    fc_str_addn(out, s, strcspn(s, ")") + 1);
}

bool fc_library_is_named(const char *name, const char *text) {
    const size_t n = strlen(name);
    for (const char *s = strstr(text, name); s; s = strstr(s + 1, name))
        if ((s == text || !fc_is_word(s[-1])) && !fc_is_word(s[n])) return true;
    return false;
}
