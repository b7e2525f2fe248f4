/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* codec.c - see codec.h. */
#include "frontend/cli/codec.h"

#include <zlib.h>

enum { ZSTD, LZ4, BLOSC };
enum { LEVEL = 1 }; /* of what is written: the quick one */
enum { ZSTD_LEVEL = 100, ZSTD_CHECKSUM = 201 };

/* ---- libraries ------------------------------------------------------------------------------- */

typedef struct zstd_fns {
    size_t (*decompress)(void *, size_t, const void *, size_t);
    unsigned (*is_error)(size_t);
    void *(*new_writer)(void);
    size_t (*free_writer)(void *);
    size_t (*set)(void *, int, int);
    size_t (*compress)(void *, void *, size_t, const void *, size_t);
} zstd_fns;

typedef struct lz4_fns {
    int (*decompress)(const char *, char *, int, int);
    size_t (*new_reader)(void **, unsigned);
    size_t (*free_reader)(void *);
    size_t (*read)(void *, void *, size_t *, const void *, size_t *, const void *);
    unsigned (*is_error)(size_t);
} lz4_fns;

enum { LZ4_VERSION = 100 }; /* of the interface of frames */

/* Of Blosc 1 or of Blosc 2, which reads the chunks of both. */
typedef struct blosc_fns {
    int (*validate)(const void *, size_t, size_t *);
    int (*decompress)(const void *, void *, size_t, int);
    int (*validate2)(const void *, size_t, size_t *);
    int (*decompress2)(const void *, int32_t, void *, int32_t);
    void (*init2)(void);
} blosc_fns;

#define ROW(table, field, symbol, required)                                                        \
    { symbol, offsetof(table, field), required }

static const fc_dynsym zstd_syms[] = {
    ROW(zstd_fns, decompress, "ZSTD_decompress", true),
    ROW(zstd_fns, is_error, "ZSTD_isError", true),
    ROW(zstd_fns, new_writer, "ZSTD_createCCtx", true),
    ROW(zstd_fns, free_writer, "ZSTD_freeCCtx", true),
    ROW(zstd_fns, set, "ZSTD_CCtx_setParameter", true),
    ROW(zstd_fns, compress, "ZSTD_compress2", true),
};
static const fc_dynsym lz4_syms[] = {
    ROW(lz4_fns, decompress, "LZ4_decompress_safe", true),
    ROW(lz4_fns, new_reader, "LZ4F_createDecompressionContext", true),
    ROW(lz4_fns, free_reader, "LZ4F_freeDecompressionContext", true),
    ROW(lz4_fns, read, "LZ4F_decompress", true),
    ROW(lz4_fns, is_error, "LZ4F_isError", true),
};
static const fc_dynsym blosc_syms[] = {
    ROW(blosc_fns, validate, "blosc_cbuffer_validate", false),
    ROW(blosc_fns, decompress, "blosc_decompress_ctx", false),
    ROW(blosc_fns, validate2, "blosc1_cbuffer_validate", false),
    ROW(blosc_fns, decompress2, "blosc2_decompress", false),
    ROW(blosc_fns, init2, "blosc2_init", false),
};

static const struct library {
    const char *env, *what;
    const char *names[7];
    const fc_dynsym *syms;
    size_t nsyms;
} libraries[] = {
    {"FUSEC_ZSTD_PATH",
     "Zstandard (libzstd.so.1; on Debian the package libzstd1)",
     {"libzstd.so.1", "libzstd.so"},
     zstd_syms,
     FC_COUNT(zstd_syms)},
    {"FUSEC_LZ4_PATH",
     "LZ4 (liblz4.so.1; on Debian the package liblz4-1)",
     {"liblz4.so.1", "liblz4.so"},
     lz4_syms,
     FC_COUNT(lz4_syms)},
    {"FUSEC_BLOSC_PATH",
     "Blosc (libblosc.so.1 or libblosc2.so; on Debian the package libblosc1)",
     {"libblosc.so.1", "libblosc2.so.9", "libblosc2.so.8", "libblosc2.so.7", "libblosc2.so.6",
      "libblosc2.so"},
     blosc_syms,
     FC_COUNT(blosc_syms)},
};

static bool accept_blosc(void *user, const fc_dynlib *lib, char *why, size_t room) {
    const blosc_fns *f = user;
    static const char text[] = "has neither Blosc's functions nor those of Blosc 2";
    (void)lib;
    if ((f->validate && f->decompress) || (f->validate2 && f->decompress2 && f->init2)) return true;
    if (room >= sizeof text) memcpy(why, text, sizeof text);
    return false;
}

static int library_of(fc_codec codec) {
    return codec == FC_CODEC_ZSTD                                 ? ZSTD
           : codec == FC_CODEC_LZ4 || codec == FC_CODEC_LZ4_FRAME ? LZ4
           : codec == FC_CODEC_BLOSC                              ? BLOSC
                                                                  : -1;
}

bool fc_codec_open(fc_codecs *c, fc_codec codec, const fc_alloc *alloc, fc_error *e) {
    static const char *const dirs[] = {"", NULL};
    const int k = library_of(codec);
    if (k < 0 || c->libs[k].open) return true;
    const struct library *l = &libraries[k];
    fc_str why;
    fc_str_init(&why, alloc);
    const fc_dynsearch s = {.env_name = l->env,
                            .names = l->names,
                            .dirs = dirs,
                            .syms = l->syms,
                            .n_syms = l->nsyms,
                            .accept = k == BLOSC ? accept_blosc : NULL,
                            .user = c->libs[k].fn};
    c->libs[k].open =
        fc_dynlib_open(&s, c->libs[k].fn, sizeof c->libs[k].fn, &c->libs[k].lib, &why);
    if (!c->libs[k].open)
        fc_fail(e, FUSEC_IO,
                "its bytes are compressed by %s, which is not there: %.300s\n"
                "  help: %s names the file",
                l->what, why.data, l->env);
    fc_str_free(&why);
    const blosc_fns *f = (const void *)c->libs[BLOSC].fn;
    if (k == BLOSC && c->libs[k].open && f->init2) f->init2();
    return c->libs[k].open;
}

void fc_codecs_close(fc_codecs *c) {
    for (int k = 0; k <= LZ4; k++)
        if (c->libs[k].open) fc_dynlib_close(&c->libs[k].lib);
    /* Blosc stays, as it may have threads of its own. */
    memset(c, 0, sizeof *c);
}

/* ---- checksums ------------------------------------------------------------------------------- */

uint32_t fc_crc32c(const void *data, size_t n) {
    const unsigned char *p = data;
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78 : 0);
    }
    while (n--) crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
    return ~crc;
}

static uint32_t le32(const unsigned char *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool decode_crc(const unsigned char *in, size_t size, void *out, size_t room, size_t *n) {
    if (size < 4 || size - 4 > room || le32(in + size - 4) != fc_crc32c(in, size - 4)) return false;
    memcpy(out, in, *n = size - 4);
    return true;
}

/* ---- zlib ------------------------------------------------------------------------------------ */

/* Lengths of zlib have 32 bits, so both sides go in parts. */
static uInt part(size_t n) {
    return n < (size_t)1 << 30 ? (uInt)n : (uInt)1 << 30;
}

static bool inflate_all(const void *in, size_t size, void *out, size_t room, size_t *n) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in, .next_out = out};
    size_t left = size, free_ = room;
    int rc = Z_OK;
    if (inflateInit2(&z, MAX_WBITS + 32) != Z_OK) return false;
    while (rc == Z_OK) {
        const uInt give = part(left), take = part(free_);
        z.avail_in = give, z.avail_out = take;
        rc = inflate(&z, Z_NO_FLUSH);
        left -= give - z.avail_in, free_ -= take - z.avail_out;
        if (rc == Z_OK && give == z.avail_in && take == z.avail_out) rc = Z_BUF_ERROR;
    }
    inflateEnd(&z);
    *n = room - free_;
    return rc == Z_STREAM_END && left == 0;
}

static bool deflate_all(bool gzip, const void *in, size_t size, void *out, size_t room, size_t *n) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in, .next_out = out};
    size_t left = size, free_ = room;
    int rc = Z_OK;
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, MAX_WBITS + (gzip ? 16 : 0), 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return false;
    while (rc == Z_OK) {
        const uInt give = part(left), take = part(free_);
        z.avail_in = give, z.avail_out = take;
        rc = deflate(&z, left == give ? Z_FINISH : Z_NO_FLUSH);
        left -= give - z.avail_in, free_ -= take - z.avail_out;
        if (rc == Z_OK && !free_) rc = Z_BUF_ERROR;
    }
    deflateEnd(&z);
    *n = room - free_;
    return rc == Z_STREAM_END;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool decode_blosc(const blosc_fns *f, const void *in, size_t size, void *out, size_t room,
                         size_t *n) {
    if (size > INT32_MAX || room > INT32_MAX) return false;
    if ((f->validate ? f->validate : f->validate2)(in, size, n) < 0 || *n > room) return false;
    if (!*n) return true;
    return (f->validate ? f->decompress(in, out, room, 1)
                        : f->decompress2(in, (int32_t)size, out, (int32_t)room)) == (int)*n;
}

static bool decode_frame(const lz4_fns *lz4, const char *in, size_t size, char *out, size_t room,
                         size_t *n) {
    void *reader = NULL;
    size_t more = 1, took = 1, gave = 1;
    *n = 0;
    if (lz4->is_error(lz4->new_reader(&reader, LZ4_VERSION))) return false;
    while (more && (took || gave)) {
        took = size, gave = room - *n;
        more = lz4->read(reader, out + *n, &gave, in, &took, NULL);
        if (lz4->is_error(more)) break;
        in += took, size -= took, *n += gave;
    }
    lz4->free_reader(reader);
    return !more && !size;
}

bool fc_codec_decode(fc_codecs *c, fc_codec codec, const void *in, size_t size, void *out,
                     size_t room, size_t *n) {
    const zstd_fns *zstd = (const void *)c->libs[ZSTD].fn;
    const lz4_fns *lz4 = (const void *)c->libs[LZ4].fn;
    switch (codec) {
    case FC_CODEC_GZIP:
    case FC_CODEC_ZLIB: return inflate_all(in, size, out, room, n);
    case FC_CODEC_CRC32C: return decode_crc(in, size, out, room, n);
    case FC_CODEC_ZSTD: *n = zstd->decompress(out, room, in, size); return !zstd->is_error(*n);
    case FC_CODEC_LZ4: {
        if (size < 4 || size > INT32_MAX || room > INT32_MAX) return false;
        const int got = lz4->decompress((const char *)in + 4, out, (int)size - 4, (int)room);
        *n = got < 0 ? 0 : (size_t)got;
        return got >= 0 && *n == le32(in);
    }
    case FC_CODEC_LZ4_FRAME: return decode_frame(lz4, in, size, out, room, n);
    case FC_CODEC_BLOSC:
        return decode_blosc((const void *)c->libs[BLOSC].fn, in, size, out, room, n);
    }
    return false;
}

size_t fc_codec_room(size_t size) {
    return size + size / 100 + 1024;
}

bool fc_codec_encode(fc_codecs *c, fc_codec codec, const void *in, size_t size, void *out,
                     size_t room, size_t *n) {
    const zstd_fns *zstd = (const void *)c->libs[ZSTD].fn;
    if (codec != FC_CODEC_ZSTD) return deflate_all(codec == FC_CODEC_GZIP, in, size, out, room, n);
    void *writer = zstd->new_writer();
    if (!writer) return false;
    zstd->set(writer, ZSTD_LEVEL, LEVEL);
    zstd->set(writer, ZSTD_CHECKSUM, 1);
    *n = zstd->compress(writer, out, room, in, size);
    zstd->free_writer(writer);
    return !zstd->is_error(*n);
}
