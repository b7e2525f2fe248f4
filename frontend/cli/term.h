/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* term.h - what the command may do with a stream: colour.
 *
 * stdout and stderr are looked at separately. Colour never carries information alone. */
#ifndef FUSEC_FRONTEND_CLI_TERM_H
#define FUSEC_FRONTEND_CLI_TERM_H

#include "frontend/explain/words.h"

typedef enum fc_color { FC_COLOR_AUTO, FC_COLOR_ALWAYS, FC_COLOR_NEVER } fc_color;

bool fc_term_is(int fd);
/* The flag wins, then FORCE_COLOR, then NO_COLOR, TERM=dumb and whether it is a terminal. */
bool fc_term_color(int fd, fc_color flag);

#endif
