/* term.h - what the command may do with a stream: colour; sizes and times for people.
 *
 * stdout and stderr are looked at separately. Colour never carries information alone. */
#ifndef FUSEC_FRONTEND_CLI_TERM_H
#define FUSEC_FRONTEND_CLI_TERM_H

#include "ir/base.h"

typedef enum fc_color { FC_COLOR_AUTO, FC_COLOR_ALWAYS, FC_COLOR_NEVER } fc_color;

bool fc_term_is(int fd);
/* The flag wins, then FORCE_COLOR, then NO_COLOR, TERM=dumb and whether it is a terminal. */
bool fc_term_color(int fd, fc_color flag);

/* "12.3 GiB", "340 ms": for people. Return buf. */
const char *fc_show_bytes(char buf[32], int64_t bytes);
const char *fc_show_seconds(char buf[32], double seconds);

#endif
