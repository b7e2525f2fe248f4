/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* modules.h - the files that a program imports.
 *
 * In: a parsed program, and somebody who can open files. Out: every imported file parsed, each
 * once, and `module` of the imports of all of them set. What can't be found, what does not parse
 * and files that import each other in a circle are reported in `ds`.
 *
 *     fc_modules m;
 *     fusec_status s = fc_modules_load(&m, &ast, &opener, alloc, &ds);
 *     ... fc_lang_compile with `ast` ...
 *     fc_modules_free(&m);                                                  in every case
 */
#ifndef FUSEC_FRONTEND_LANG_MODULES_H
#define FUSEC_FRONTEND_LANG_MODULES_H

#include "frontend/lang/ast.h"
#include "frontend/lang/diag.h"

#define FC_MODULE_LIMIT 256 /* files that one program may import, others' imports included */

typedef struct fc_opener {
    void *ctx;
    /* The file that `from` calls `path`. One file is one source, also under several names; sources
     * outlive the modules. FUSEC_OK with *out NULL: there is none, and `tried` says where it was
     * looked for. */
    fusec_status (*open)(void *ctx, const fc_source *from, const char *path, const fc_source **out,
                         fc_str *tried, fc_error *e);
} fc_opener;

typedef struct fc_modules {
    const fc_alloc *alloc;
    FC_VEC(fc_ast *) asts;
} fc_modules;

/* `opener` NULL: nothing can be imported, which the checker reports. */
fusec_status fc_modules_load(fc_modules *m, fc_ast *program, const fc_opener *opener,
                             const fc_alloc *alloc, fc_diags *ds);
void fc_modules_free(fc_modules *m);

#endif
