/* term.h - what the command may do with a stream: colour, and a line of progress.
 *
 * stdout and stderr are looked at separately. Colour never carries information alone. */
#ifndef FUSEC_FRONTEND_CLI_TERM_H
#define FUSEC_FRONTEND_CLI_TERM_H

#include "ir/base.h"

typedef enum fc_color { FC_COLOR_AUTO, FC_COLOR_ALWAYS, FC_COLOR_NEVER } fc_color;

bool fc_term_is(int fd);
/* The flag wins, then FORCE_COLOR, then NO_COLOR, TERM=dumb and whether it is a terminal. */
bool fc_term_color(int fd, fc_color flag);

/* One line on stderr that is rewritten, from the first second on, and erased at the end. Where
 * stderr is no terminal there is nothing, or with `verbose` one line every 10 seconds. */
typedef struct fc_progress {
    const char *what; /* "reading a.npy"; the string must stay */
    bool bytes;       /* counts bytes, otherwise pieces of work */
    bool terminal, verbose, drawn;
    int64_t started, last; /* milliseconds */
} fc_progress;

void fc_progress_start(fc_progress *p, const char *what, bool bytes, bool quiet, bool verbose);
/* `user` is an fc_progress: may be set as the progress function of an fc_reader. total < 0:
 * unknown. */
void fc_progress_step(void *user, int64_t done, int64_t total);
void fc_progress_end(fc_progress *p);

/* "12.3 GiB", "340 ms": for people. Return buf. */
const char *fc_show_bytes(char buf[32], int64_t bytes);
const char *fc_show_seconds(char buf[32], double seconds);

#endif
