/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* input.h - what `name=value` on the command line means, and its data.
 *
 *     fc_input_parse   the text only: kind, dtype and sizes as far as they are written; touches
 *                      no file
 *     fc_input_open    opens a file and reads its header, so that dtype and shape are known
 *     fc_input_read    brings the data into memory, once the caller knows the dtype and all sizes
 *     fc_input_close   always, also after a failure
 *
 * The strings of an fc_cli_input point into the argument it was parsed from, which must live
 * as long. */
#ifndef FUSEC_FRONTEND_CLI_INPUT_H
#define FUSEC_FRONTEND_CLI_INPUT_H

#include "frontend/cli/made.h"
#include "frontend/io/npy.h"

typedef enum fc_input_kind {
    FC_INPUT_NPY,    /* a file */
    FC_INPUT_NPZ,    /* an array of an archive */
    FC_INPUT_PNG,    /* an image */
    FC_INPUT_STDIN,  /* NPY on standard input */
    FC_INPUT_STORE,  /* an array in chunks: known when it is opened */
    FC_INPUT_RAW,    /* bytes without a header */
    FC_INPUT_MADE,   /* rand, randn, zeros, ones, iota */
    FC_INPUT_TYPE,   /* a type without data */
    FC_INPUT_SCALAR, /* a weak number or bool */
} fc_input_kind;

typedef struct fc_input_dim {
    const char *name; /* a dim that is bound elsewhere; NULL: `size` counts */
    size_t name_len;
    int64_t size;
} fc_input_dim;

typedef enum fc_weak_kind { FC_WEAK_BOOL, FC_WEAK_INT, FC_WEAK_FLOAT } fc_weak_kind;

/* A number as written. Integers reach from -2^63 to 2^64-1. */
typedef struct fc_weak {
    fc_weak_kind kind;
    bool negative;      /* of an integer */
    uint64_t magnitude; /* of an integer; a bool is 0 or 1 */
    double number;      /* the value of any kind */
} fc_weak;

typedef struct fc_cli_input {
    const char *name; /* the part before "=" */
    size_t name_len;
    const char *value; /* the part behind it */
    fc_input_kind kind;
    bool has_dtype;
    fusec_dtype dtype;
    int rank; /* of dims; a scalar has 0 */
    fc_input_dim dims[FC_IO_RANK];
    fc_maker maker;
    uint64_t seed; /* without seed= made from the name, so that two inputs differ */
    fc_weak scalar;
    /* files, after fc_input_open */
    const fc_alloc *alloc;
    char *path, *key;
    bool open;
    fc_reader reader;
    fc_npy header;
} fc_cli_input;

/* Whether a word is `name=value` with a name of the language. */
bool fc_is_assignment(const char *word, size_t *name_len);
/* A number as the language writes it, with a sign before it, or true, false, inf, nan. */
bool fc_weak_parse(const char *text, fc_weak *out);
/* The value in a dtype: `out` has room for it. An integer that does not fit is refused, and so are
 * a float for an integer and a number for a bool. */
fusec_status fc_weak_store(const fc_weak *w, const char *name, fusec_dtype dtype, void *out,
                           fc_error *e);

fusec_status fc_input_parse(fc_cli_input *in, const char *word, const fc_alloc *alloc, fc_error *e);
fusec_status fc_input_open(fc_cli_input *in, fc_error *e);
/* What fc_input_open opened from its beginning again, for one more reading. */
fusec_status fc_input_again(fc_cli_input *in, fc_error *e);
/* `dtype` and `shape` are those of the value itself (no conversion takes place); `dst` has the
 * room. */
fusec_status fc_input_read(fc_cli_input *in, fusec_dtype dtype, int rank, const int64_t *shape,
                           void *dst, fc_error *e);
void fc_input_close(fc_cli_input *in);

/* "a.npy", "a.npz:key", "standard input", "x=2.5": how a message calls the value. */
const char *fc_input_shown(const fc_cli_input *in, char *buf, size_t size);

/* Of a name of n characters; whatever the case of its letters. */
bool fc_ends_with(const char *s, size_t n, const char *end);

#endif
