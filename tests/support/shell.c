/* shell.c - see shell.h. */
#include "tests/support/shell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

bool shell_open(shell *sh) {
    const char *tmp = getenv("TMPDIR");
    memset(sh, 0, sizeof *sh);
    snprintf(sh->folder, sizeof sh->folder, "%.150s/fusec-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(sh->folder)) return true;
    FC_FAIL("no temporary folder");
    return false;
}

static char *read_all(const char *folder, const char *name, size_t *len) {
    char path[300];
    size_t cap = 4096, n = 0;
    char *text = malloc(cap);
    snprintf(path, sizeof path, "%s.%s", folder, name);
    FILE *f = fopen(path, "rb");
    for (size_t k = 1; f && text && k; n += k) {
        if (n + 4096 > cap) {
            char *more = realloc(text, cap *= 2);
            if (!more) free(text);
            text = more;
        }
        k = text ? fread(text + n, 1, 4095, f) : 0;
    }
    if (f) fclose(f);
    if (text) text[n] = 0;
    if (len) *len = n;
    return text;
}

static void forget(shell *sh) {
    free(sh->out);
    free(sh->err);
    sh->out = sh->err = NULL;
}

bool shell_run(shell *sh, const char *fmt, ...) {
    char script[8192], whole[9500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(script, sizeof script, fmt, ap);
    va_end(ap);
    forget(sh);
    snprintf(whole, sizeof whole,
             "cd '%s' || exit 99\n"
             "unset FUSEC_DEVICE FUSEC_DEBUG FUSEC_THREADS FORCE_COLOR\n"
             "export FUSEC_CACHE_DIR='%s/.cache' NO_COLOR=1\n"
             "fusec() { '%s' \"$@\"; }\n"
             "{ %s\n} >'%s.out' 2>'%s.err' </dev/null",
             sh->folder, sh->folder, FUSEC_COMMAND, script, sh->folder, sh->folder);
    int status = system(whole);
    if (status < 0) {
        FC_FAIL("no shell");
        return false;
    }
    sh->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    sh->out = read_all(sh->folder, "out", &sh->out_len);
    sh->err = read_all(sh->folder, "err", NULL);
    if (sh->out && sh->err) return true;
    FC_FAIL("not enough memory");
    return false;
}

bool shell_write(shell *sh, const char *name, const char *text) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", sh->folder, name);
    FILE *f = fopen(path, "wb");
    bool ok = f && fputs(text, f) >= 0;
    if (f && fclose(f) != 0) ok = false;
    if (!ok) FC_FAIL("%s can't be written", path);
    return ok;
}

void shell_close(shell *sh) {
    char line[1000];
    forget(sh);
    snprintf(line, sizeof line, "chmod -R u+w '%s'; rm -rf '%s' '%s.out' '%s.err'", sh->folder,
             sh->folder, sh->folder, sh->folder);
    if (system(line) != 0) FC_FAIL("%s can't be removed", sh->folder);
}
