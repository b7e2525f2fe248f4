/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fmt.h - the formatter.
 *
 * In: a source. Out: the same program in the one style of the language. Only white space changes,
 * and the long spellings of dtypes become short, so the graph stays the same; formatting twice
 * changes nothing. Line breaks and comments stay where they are. */
#ifndef FUSEC_FRONTEND_LANG_FMT_H
#define FUSEC_FRONTEND_LANG_FMT_H

#include "frontend/lang/parse.h"

/* Appends to `out`. A source with mistakes is not formatted: they are in `ds`, and `out` is left as
 * it is. */
fusec_status fc_format(const fc_source *src, bool snippet, fc_diags *ds, fc_str *out);

#endif
