/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* saved.h - graphs as bytes, so that one process builds what another one runs.
 *
 * The form, all numbers LEB128 (signed ones zigzag), all texts with their length in front:
 *
 *     magic, version, bytes of the body, as fixed little-endian numbers
 *     operations: the names of those that are used; nodes have the number of a name here, so that
 *         new rows of ops.def change nothing
 *     default float, inputs by name
 *     dims in order: a symbol (a name, or two dims and what is done with them), or a form
 *     words: how messages call a checked index
 *     functions of the user, if there are any: name, dtypes of operands and result
 *     nodes: operation, dtype, flags, operands as distances, shape, attr as its kind says
 *         (fc_attr_kind: a new operation needs no line here)
 *     outputs, conditions, derivatives of the user's own
 *     SHA-256 of all that is before
 *
 * What no output, input or condition needs is left out, and the rest keeps its order, so a graph
 * that is read is saved as the same bytes. */
#ifndef FUSEC_FRONTEND_SAVED_SAVED_H
#define FUSEC_FRONTEND_SAVED_SAVED_H

#include "ir/external.h"

#define FC_SAVED_MAGIC                                                                             \
    "\x89"                                                                                         \
    "fusecG\n"
enum { FC_SAVED_VERSION = 1, FC_SAVED_HEADER = 16, FC_SAVED_DIGEST = 32 };

/* Kinds of the records of dims: FC_SYM_NAMED and those after it, or a form. */
enum { FC_SAVED_FORM = 7 };

/* The bytes at the end of `out`. */
fusec_status fc_saved_write(const fc_graph *g, fc_str *out, fc_error *e);

/* Whether bytes begin as those of a saved graph do. */
bool fc_saved_is(const void *data, size_t size);
/* Into an empty graph with its limits set. Bytes of any kind are taken, and what does not make a
 * graph is FUSEC_IO with the reason; `g` is then good for nothing but fc_graph_free. What a graph
 * says of itself is believed as in a program's text: with bounds="inside" nobody looks at an
 * index. Functions of the user come from `externs` (NULL: there are none); one that is not there
 * is FUSEC_CALL_FAILED. */
fusec_status fc_saved_read(const void *data, size_t size, const fc_extern_source *externs,
                           fc_graph *g, fc_error *e);

#endif
