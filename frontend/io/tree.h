/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tree.h - a folder with all that is in it. */
#ifndef FUSEC_FRONTEND_IO_TREE_H
#define FUSEC_FRONTEND_IO_TREE_H

/* Removes a file, or a folder and what is in it; links are not followed. What can't be removed
 * stays. May be called by a signal handler: it allocates nothing. */
void fc_remove_tree(const char *path);

#endif
