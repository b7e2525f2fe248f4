/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* codec.h - compressed bytes: zlib is linked, Zstandard, LZ4 and Blosc are libraries that are
 * looked for when bytes of theirs come (FUSEC_ZSTD_PATH, FUSEC_LZ4_PATH, FUSEC_BLOSC_PATH). */
#ifndef FUSEC_FRONTEND_CLI_CODEC_H
#define FUSEC_FRONTEND_CLI_CODEC_H

#include "runtime/compile/dynlib.h"

typedef enum fc_codec {
    FC_CODEC_GZIP, /* and zlib: which of them the bytes say */
    FC_CODEC_ZLIB,
    FC_CODEC_ZSTD,
    FC_CODEC_LZ4, /* a block behind its length, as numcodecs writes it */
    FC_CODEC_LZ4_FRAME,
    FC_CODEC_BLOSC,
    FC_CODEC_CRC32C, /* no compression: four bytes behind the others */
} fc_codec;

/* Libraries that are open. All zero at first. */
typedef struct fc_codecs {
    struct {
        fc_dynlib lib;
        bool open;
        void *fn[8];
    } libs[3];
} fc_codecs;

void fc_codecs_close(fc_codecs *c);

/* Whether bytes of this kind can be read and written here; what is missing goes to `e`, which may
 * be NULL. */
bool fc_codec_open(fc_codecs *c, fc_codec codec, const fc_alloc *alloc, fc_error *e);

/* Decodes to at most `room` bytes; false: damaged, or more than that. The codec has been opened.
 * `*n` is what came. */
bool fc_codec_decode(fc_codecs *c, fc_codec codec, const void *in, size_t size, void *out,
                     size_t room, size_t *n);
/* Room that encoding may need, and encoding; false: it failed. GZIP, ZLIB and ZSTD. */
size_t fc_codec_room(size_t size);
bool fc_codec_encode(fc_codecs *c, fc_codec codec, const void *in, size_t size, void *out,
                     size_t room, size_t *n);

uint32_t fc_crc32c(const void *data, size_t n);

#endif
