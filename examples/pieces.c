/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pieces.c - mean and largest value of a file that is read in pieces, as one of any size is.
 *
 *     pieces [FILE of f32 values]      without one: 10,000,000 values are made and written first
 *
 * The results are those of a single call on all of it, to the bit, whatever the pieces are. */
#include <fusec/fusec.h>

#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 1 << 20 }; /* elements: 4 MiB */

static const char text[] = "def f(x: f32[n]) { return mean(x), max(x) }";

static int fail(const fusec_context *ctx, const char *what) {
    fprintf(stderr, "%s: %s\n", what, ctx ? fusec_message(ctx) : "failed");
    return 1;
}

/* A file to read, where none was given. */
static FILE *make_file(void) {
    FILE *f = tmpfile();
    for (int i = 0; f && i < 10000000; i++) {
        const float v = (float)(i % 1000) * 0.001f;
        if (!fwrite(&v, sizeof v, 1, f)) break;
    }
    return f;
}

static int run(fusec_context *ctx, fusec_cut *cut, fusec_partial *sums, FILE *f) {
    fusec_piece where = FUSEC_PIECE_INIT;
    float *x = malloc(PIECE * sizeof *x), mean, largest;
    int64_t n;
    fusec_tensor in = {.data = x, .shape = &n, .rank = 1, .dtype = FUSEC_F32};
    fusec_tensor out[2] = {{.data = &mean, .dtype = FUSEC_F32},
                           {.data = &largest, .dtype = FUSEC_F32}};
    fseek(f, 0, SEEK_END);
    where.total = ftell(f) / (long)sizeof *x;
    rewind(f);
    for (; x && where.begin < where.total; where.begin = where.end) {
        n = (int64_t)fread(x, sizeof *x, PIECE, f);
        where.end = where.begin + n;
        if (n == 0 || fusec_run_piece(cut, NULL, 0, &where, 1, &in, 2, out, NULL, sums))
            return free(x), fail(n ? ctx : NULL, "a piece");
    }
    if (!x || fusec_run_finish(cut, NULL, where.total, 1, &in, 2, out, sums))
        return free(x), fail(ctx, "the end");
    printf("%lld values: mean %g, largest %g\n", (long long)where.total, mean, largest);
    free(x);
    return 0;
}

int main(int argc, char **argv) {
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : make_file();
    fusec_context *ctx = NULL;
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    fusec_cut *cut = NULL;
    fusec_partial *sums = NULL;
    if (!f) return perror("the file"), 1;
    int status = 0;
    if (fusec_context_new(NULL, &ctx) || fusec_parse(ctx, NULL, text, &m) ||
        fusec_module_compile(m, NULL, 0, &p) || fusec_program_cut(p, "n", &cut) ||
        fusec_partial_new(cut, &sums))
        status = fail(ctx, "the program");
    if (!status) status = run(ctx, cut, sums, f);
    fusec_partial_free(sums);
    fusec_cut_free(cut);
    fusec_program_free(p);
    fusec_module_free(m);
    fusec_context_free(ctx);
    fclose(f);
    return status;
}
