/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page.h - files of the source tree as text, and the code blocks of a Markdown page. */
#ifndef FUSEC_TESTS_SUPPORT_PAGE_H
#define FUSEC_TESTS_SUPPORT_PAGE_H

#include <stddef.h>

/* The whole text of a file below the root, to be freed; NULL if it can't be read. */
char *page_text(const char *path);

/* The next block after `*at` that is marked as `lang` ("c", "sh", "text"): its text without the
 * fences, to be freed, and `*at` behind it; NULL when there is none. */
char *page_block(const char **at, const char *lang);

#endif
