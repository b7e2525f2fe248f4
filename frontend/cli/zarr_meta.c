/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* zarr_meta.c - what zarr.json (version 3) and .zarray (version 2) say about an array. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "frontend/cli/input.h"
#include "frontend/cli/json.h"
#include "frontend/cli/zarr.h"

enum { META_MOST = 16 << 20, CHUNK_MOST = 1 << 30 };
enum { LITTLE = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

static fusec_status bad(const fc_zarr *z, fc_error *e, const char *what) {
    return fc_fail(e, FUSEC_NPY_FORMAT, "%s is not a Zarr array fusec can read: %s", z->name, what);
}

/* ---- dtypes and fill values ------------------------------------------------------------------ */

/* "float32" is f32, "bfloat16" bf16. */
static bool dtype_of_name(const char *text, fusec_dtype *out) {
    static const struct {
        const char *from, *to;
    } kinds[] = {{"int", "i"}, {"uint", "u"}, {"float", "f"}, {"complex", "c"}, {"bfloat", "bf"}};
    char own[16];
    if (!strcmp(text, "bool")) return *out = FUSEC_BOOL, true;
    for (size_t i = 0; i < FC_COUNT(kinds); i++) {
        const size_t n = strlen(kinds[i].from);
        if (strncmp(text, kinds[i].from, n) != 0 || strlen(text + n) > 3) continue;
        snprintf(own, sizeof own, "%s%s", kinds[i].to, text + n);
        return fc_dtype_by_name(own, strlen(own), out);
    }
    return false;
}

/* "<f4": as NumPy writes it. */
bool fc_zarr_descr(const char *text, fusec_dtype *out, bool *swap) {
    if (!*text || !strchr("<>|", *text)) return false;
    for (int t = 0; t < FC_DTYPE_ALL; t++) {
        const char *npy = fc_dtypes[t].npy;
        if (!npy || strcmp(npy + 1, text + 1) != 0) continue;
        *out = (fusec_dtype)t;
        *swap = fc_dtypes[t].bytes > 1 && *text == (LITTLE ? '>' : '<');
        return true;
    }
    return false;
}

/* "0x7fc00000": the bits of a float. */
static bool read_bits(const char *text, fusec_dtype t, void *out) {
    uint64_t v = 0;
    size_t n = 0;
    for (text += 2; *text; text++, n++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, *text | 0x20);
        if (!at || n == 16) return false;
        v = v << 4 | (uint64_t)(at - digits);
    }
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) v <<= 8 * (8 - fc_dtypes[t].bytes);
    memcpy(out, &v, fc_dtypes[t].bytes);
    return n > 0;
}

static bool read_fill(const fc_json *v, fusec_dtype t, unsigned char *out) {
    fc_weak w;
    fc_error own = {0};
    if (!v || v->kind == FC_JSON_NULL) return true; /* nothing is said: zero */
    if (fc_is_complex(t)) {
        const size_t half = fc_dtypes[t].bytes / 2;
        if (v->kind != FC_JSON_LIST || fc_json_count(v) != 2) return false;
        return read_fill(v->first, fc_part_dtype(t), out) &&
               read_fill(v->first->next, fc_part_dtype(t), out + half);
    }
    if (v->kind == FC_JSON_LIST || v->kind == FC_JSON_OBJECT) return false;
    const bool real = t == FUSEC_BF16 || fc_dtypes[t].name[0] == 'f';
    if (real && !strncmp(v->text, "0x", 2)) return read_bits(v->text, t, out);
    const char *text = !strcmp(v->text, "NaN")         ? "nan"
                       : !strcmp(v->text, "Infinity")  ? "inf"
                       : !strcmp(v->text, "-Infinity") ? "-inf"
                                                       : v->text;
    if (t == FUSEC_BOOL && v->kind == FC_JSON_NUMBER) /* version 2 has them as numbers, too */
        text = strcmp(text, "0") != 0 ? "true" : "false";
    return fc_weak_parse(text, &w) && fc_weak_store(&w, "fill_value", t, out, &own) == FUSEC_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool read_sizes(const fc_json *list, int rank, int64_t *out) {
    if (!list || list->kind != FC_JSON_LIST || (rank >= 0 && fc_json_count(list) != (size_t)rank))
        return false;
    for (const fc_json *x = list->first; x; x = x->next)
        if (!fc_json_size(x, out++)) return false;
    return true;
}

static fusec_status read_shape(fc_zarr *z, const fc_json *shape, const fc_json *chunk,
                               fc_error *e) {
    int64_t count, bytes;
    if (!shape || shape->kind != FC_JSON_LIST || fc_json_count(shape) > FC_IO_RANK)
        return bad(z, e, "its shape is no list of at most 32 sizes");
    z->rank = (int)fc_json_count(shape);
    if (!read_sizes(shape, z->rank, z->shape) || !read_sizes(chunk, z->rank, z->chunk))
        return bad(z, e, "its shape or that of its chunks is not as it should be");
    if (!fc_shape_bytes(z->rank, z->shape, fc_dtypes[z->dtype].bytes, &count, &bytes))
        return bad(z, e, "its size does not fit into 64 bits");
    for (int k = 0; k < z->rank; k++) {
        z->per[k] = 1;
        z->chain.axis[k] = z->index.axis[k] = (uint8_t)k;
        if (z->chunk[k] < 1) return bad(z, e, "a size of its chunks is 0");
    }
    return FUSEC_OK;
}

static fusec_status check_chunk(const fc_zarr *z, fc_error *e) {
    int64_t count, bytes, files = 1;
    if (!fc_shape_bytes(z->rank, z->chunk, fc_dtypes[z->dtype].bytes, &count, &bytes) ||
        bytes > CHUNK_MOST)
        return bad(z, e, "its chunks are larger than 1 GiB");
    for (int k = 0; k < z->rank; k++)
        if (!fc_mul_ok(files, z->per[k], &files) || files > CHUNK_MOST / 16)
            return bad(z, e, "its shards have too many chunks");
    return FUSEC_OK;
}

/* ---- codecs ---------------------------------------------------------------------------------- */

static bool codec_by_name(const char *name, fc_codec *out) {
    static const struct {
        const char *name;
        fc_codec codec;
    } known[] = {{"gzip", FC_CODEC_GZIP},
                 {"zlib", FC_CODEC_ZLIB},
                 {"zstd", FC_CODEC_ZSTD},
                 {"blosc", FC_CODEC_BLOSC},
                 {"lz4", FC_CODEC_LZ4},
                 {"crc32c", FC_CODEC_CRC32C},
                 {"numcodecs.zlib", FC_CODEC_ZLIB},
                 {"numcodecs.lz4", FC_CODEC_LZ4}};
    for (size_t i = 0; i < FC_COUNT(known); i++)
        if (!strcmp(name, known[i].name)) return *out = known[i].codec, true;
    return false;
}

static fusec_status unknown_codec(const fc_zarr *z, const char *name, fc_error *e) {
    char shown[60], text[160];
    snprintf(text, sizeof text,
             "it needs the codec %s; known are bytes, transpose, gzip, zlib, "
             "zstd, blosc, lz4, crc32c, sharding_indexed",
             fc_shown_name(shown, sizeof shown, name));
    return bad(z, e, text);
}

/* A compression of compressed bytes says nowhere how long those are. */
static fusec_status add_codec(const fc_zarr *z, fc_zarr_chain *c, const char *name, fc_error *e) {
    fc_codec codec;
    if (!codec_by_name(name, &codec)) return unknown_codec(z, name, e);
    for (int k = 0; k < c->ncodecs; k++)
        if (c->codecs[k] != FC_CODEC_CRC32C && codec != FC_CODEC_CRC32C)
            return bad(z, e, "its chunks are compressed twice");
    if (c->ncodecs == FC_ZARR_CODECS) return bad(z, e, "its chunks have too many codecs");
    c->codecs[c->ncodecs++] = codec;
    return FUSEC_OK;
}

static const char *name_of(const fc_json *codec) {
    const fc_json *n = codec && codec->kind == FC_JSON_OBJECT ? fc_json_get(codec, "name") : codec;
    return n && n->kind == FC_JSON_STRING ? n->text : "?";
}

/* Several of them in a row: what is stored of an axis of the former. */
static bool transpose(const fc_zarr *z, fc_zarr_chain *c, const fc_json *config) {
    int64_t order[FC_IO_RANK];
    uint8_t before[FC_IO_RANK];
    uint32_t seen = 0;
    if (!read_sizes(fc_json_get(config, "order"), z->rank, order)) return false;
    memcpy(before, c->axis, sizeof before);
    for (int k = 0; k < z->rank; k++) {
        if (order[k] >= z->rank || seen >> order[k] & 1) return false;
        seen |= 1u << order[k];
        c->axis[k] = before[order[k]];
    }
    return true;
}

static fusec_status read_chain(fc_zarr *z, fc_zarr_chain *c, const fc_json *list, bool inner,
                               fc_error *e);

static fusec_status read_shards(fc_zarr *z, const fc_json *config, fc_error *e) {
    int64_t outer[FC_IO_RANK];
    memcpy(outer, z->chunk, sizeof outer);
    if (!read_sizes(fc_json_get(config, "chunk_shape"), z->rank, z->chunk))
        return bad(z, e, "the chunks of its shards have no shape");
    for (int k = 0; k < z->rank; k++) {
        if (z->chunk[k] < 1 || outer[k] % z->chunk[k])
            return bad(z, e, "its shards are not made of whole chunks");
        z->per[k] = outer[k] / z->chunk[k];
    }
    const fc_json *where = fc_json_get(config, "index_location");
    z->sharded = true;
    z->index_first = fc_json_is(where, "start");
    if (where && !z->index_first && !fc_json_is(where, "end"))
        return bad(z, e, "the index of its shards is at no known place");
    FC_TRY(read_chain(z, &z->index, fc_json_get(config, "index_codecs"), true, e));
    for (int k = 0; k < z->index.ncodecs; k++)
        if (z->index.codecs[k] != FC_CODEC_CRC32C)
            return bad(z, e, "the index of its shards is compressed");
    return read_chain(z, &z->chain, fc_json_get(config, "codecs"), true, e);
}

static fusec_status read_chain(fc_zarr *z, fc_zarr_chain *c, const fc_json *list, bool inner,
                               fc_error *e) {
    bool bytes = false;
    if (!list || list->kind != FC_JSON_LIST) return bad(z, e, "it has no list of codecs");
    for (const fc_json *x = list->first; x; x = x->next) {
        const char *name = name_of(x);
        const fc_json *config = fc_json_get(x, "configuration");
        if (!bytes && !strcmp(name, "transpose")) {
            if (!transpose(z, c, config)) return bad(z, e, "a transpose of it is not one");
        } else if (!bytes && !strcmp(name, "bytes")) {
            c->swap = fc_json_is(fc_json_get(config, "endian"), LITTLE ? "big" : "little");
            bytes = true;
        } else if (!bytes && !inner && list->first == x && !x->next &&
                   !strcmp(name, "sharding_indexed")) {
            FC_TRY(read_shards(z, config, e));
            bytes = true;
        } else if (!strcmp(name, "sharding_indexed")) {
            return bad(z, e, "its shards are inside of other codecs");
        } else if (!bytes) {
            return unknown_codec(z, name, e);
        } else {
            FC_TRY(add_codec(z, c, name, e));
        }
    }
    return bytes ? FUSEC_OK : bad(z, e, "no codec of it makes bytes");
}

/* ---- the two versions ------------------------------------------------------------------------ */

static fusec_status no_dtype(const fc_zarr *z, const fc_json *v, fc_error *e) {
    char shown[60], text[160];
    snprintf(text, sizeof text,
             "its elements are %s; taken are bool, integers, floats and complex "
             "numbers",
             fc_shown_name(shown, sizeof shown,
                           v && v->kind == FC_JSON_STRING ? v->text : "of several parts"));
    return bad(z, e, text);
}

static void read_separator(fc_zarr *z, const fc_json *v) {
    if (fc_json_is(v, "/")) z->separator = '/';
    if (fc_json_is(v, ".")) z->separator = '.';
}

static fusec_status read_v3(fc_zarr *z, const fc_json *v, fc_error *e) {
    const fc_json *grid = fc_json_get(v, "chunk_grid"),
                  *keys = fc_json_get(v, "chunk_key_encoding");
    const fc_json *dtype = fc_json_get(v, "data_type");
    const fc_json *config = fc_json_get(keys, "configuration");
    if (!dtype || dtype->kind != FC_JSON_STRING || !dtype_of_name(dtype->text, &z->dtype))
        return no_dtype(z, dtype, e);
    if (strcmp(name_of(grid), "regular") != 0) return bad(z, e, "its chunks are not all alike");
    if (fc_json_count(fc_json_get(v, "storage_transformers")))
        return bad(z, e, "it has storage transformers");
    FC_TRY(read_shape(z, fc_json_get(v, "shape"),
                      fc_json_get(fc_json_get(grid, "configuration"), "chunk_shape"), e));
    const bool plain = !strcmp(name_of(keys), "v2");
    if (!plain && strcmp(name_of(keys), "default") != 0)
        return bad(z, e, "its chunks have unknown names");
    z->version = plain ? 2 : 3; /* of the names, which is all that matters from here on */
    z->separator = plain ? '.' : '/';
    read_separator(z, fc_json_get(config, "separator"));
    if (!read_fill(fc_json_get(v, "fill_value"), z->dtype, z->fill))
        return bad(z, e, "its fill value is not one of its dtype");
    return read_chain(z, &z->chain, fc_json_get(v, "codecs"), false, e);
}

static fusec_status read_v2(fc_zarr *z, const fc_json *v, fc_error *e) {
    const fc_json *dtype = fc_json_get(v, "dtype"), *packed = fc_json_get(v, "compressor");
    const fc_json *filters = fc_json_get(v, "filters");
    if (!dtype || dtype->kind != FC_JSON_STRING ||
        !fc_zarr_descr(dtype->text, &z->dtype, &z->chain.swap))
        return no_dtype(z, dtype, e);
    FC_TRY(read_shape(z, fc_json_get(v, "shape"), fc_json_get(v, "chunks"), e));
    z->version = 2, z->separator = '.';
    read_separator(z, fc_json_get(v, "dimension_separator"));
    if (fc_json_is(fc_json_get(v, "order"), "F"))
        for (int k = 0; k < z->rank; k++) z->chain.axis[k] = (uint8_t)(z->rank - 1 - k);
    if (!read_fill(fc_json_get(v, "fill_value"), z->dtype, z->fill))
        return bad(z, e, "its fill value is not one of its dtype");
    for (const fc_json *x = filters ? filters->first : NULL; x; x = x->next)
        FC_TRY(add_codec(z, &z->chain, name_of(fc_json_get(x, "id")), e));
    if (!packed || packed->kind == FC_JSON_NULL) return FUSEC_OK;
    return add_codec(z, &z->chain, name_of(fc_json_get(packed, "id")), e);
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool has_file(const char *path, const char *name) {
    char full[4096];
    const int n = snprintf(full, sizeof full, "%s/%s", path, name);
    return n > 0 && (size_t)n < sizeof full && access(full, F_OK) == 0;
}

bool fc_zarr_is(const char *path) {
    return has_file(path, "zarr.json") || has_file(path, ".zarray") || has_file(path, ".zgroup");
}

static fusec_status read_file(const fc_alloc *alloc, const char *path, const char *name,
                              fc_str *out, fc_error *e) {
    char full[4096], piece[4096];
    fc_reader r;
    size_t got;
    snprintf(full, sizeof full, "%s/%s", path, name);
    FC_TRY(fc_reader_open(&r, full, e));
    fusec_status st = FUSEC_OK;
    fc_str_init(out, alloc);
    do {
        st = fc_reader_fill(&r, piece, sizeof piece, &got, e);
        if (!st) fc_str_addn(out, piece, got);
        if (!st && out->len > META_MOST)
            st = fc_fail(e, FUSEC_NPY_FORMAT, "%s is larger than 16 MiB", r.name);
    } while (!st && got == sizeof piece);
    fc_reader_close(&r);
    if (!st && out->oom) st = fc_oom(e);
    if (st) fc_str_free(out);
    return st;
}

static fusec_status refuse_group(const fc_zarr *z, const char *path, fc_error *e) {
    char list[300] = "", full[4096];
    size_t n = 0;
    DIR *d = opendir(path);
    for (struct dirent *x = d ? readdir(d) : NULL; x; x = readdir(d)) {
        const size_t len = strlen(x->d_name);
        if (x->d_name[0] == '.' || n + len + 3 > sizeof list ||
            snprintf(full, sizeof full, "%s/%s", path, x->d_name) >= (int)sizeof full ||
            !fc_zarr_is(full))
            continue;
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", x->d_name);
    }
    if (d) closedir(d);
    for (char *c = list; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    return fc_fail(e, FUSEC_IO, "%s is a group of arrays: %s\n  help: %s/%.*s", z->name,
                   n ? list : "none", z->name, n ? (int)strcspn(list, ",") : 5, n ? list : "ARRAY");
}

bool fc_zarr_is_array(const char *path) {
    fc_zarr z;
    fc_error own = {0};
    if (has_file(path, ".zarray")) return true;
    return has_file(path, "zarr.json") &&
           fc_zarr_read_meta(&fc_libc_alloc, path, &z, &own) != FUSEC_IO;
}

fusec_status fc_zarr_read_meta(const fc_alloc *alloc, const char *path, fc_zarr *z, fc_error *e) {
    fc_arena arena;
    fc_str text;
    memset(z, 0, sizeof *z);
    fc_shown_name(z->name, sizeof z->name, path);
    const bool three = has_file(path, "zarr.json");
    if (!three && !has_file(path, ".zarray")) return refuse_group(z, path, e);
    FC_TRY(read_file(alloc, path, three ? "zarr.json" : ".zarray", &text, e));
    fc_arena_init(&arena, alloc);
    const fc_json *v = fc_json_parse(&arena, text.data, text.len);
    int64_t format;
    fusec_status st;
    if (!v || !fc_json_size(fc_json_get(v, "zarr_format"), &format) || format != (three ? 3 : 2))
        st = bad(z, e, "its metadata is damaged, or of another version than 2 and 3");
    else if (three && fc_json_is(fc_json_get(v, "node_type"), "group"))
        st = refuse_group(z, path, e);
    else
        st = three ? read_v3(z, v, e) : read_v2(z, v, e);
    if (!st) st = check_chunk(z, e);
    fc_arena_free(&arena);
    fc_str_free(&text);
    return st;
}

/* ---- what is written ------------------------------------------------------------------------- */

void fc_zarr_key(const fc_zarr *z, const int64_t *at, fc_str *out) {
    fc_str_char(out, '/');
    if (z->version == 3) fc_str_char(out, 'c');
    if (z->version == 2 && !z->rank) fc_str_char(out, '0');
    for (int k = 0; k < z->rank; k++) {
        if (k || z->version == 3) fc_str_char(out, z->separator);
        fc_str_printf(out, "%" PRId64, at[k]);
    }
}

static void list_text(const int64_t *v, int n, fc_str *out) {
    fc_str_char(out, '[');
    for (int k = 0; k < n; k++) fc_str_printf(out, "%s%" PRId64, k ? ", " : "", v[k]);
    fc_str_char(out, ']');
}

static void dtype_text(fusec_dtype t, fc_str *out) {
    const char *name = fc_dtypes[t].name;
    if (t == FUSEC_BOOL) {
        fc_str_add(out, "bool");
        return;
    }
    fc_str_printf(out, "%s%s",
                  *name == 'i'   ? "int"
                  : *name == 'u' ? "uint"
                  : *name == 'f' ? "float"
                                 : "complex",
                  name + 1);
}

static const char *zero_text(fusec_dtype t) {
    return t == FUSEC_BOOL             ? "false"
           : fc_is_complex(t)          ? "[0.0, 0.0]"
           : *fc_dtypes[t].name == 'f' ? "0.0"
                                       : "0";
}

static void text_v3(const fc_zarr *z, fc_str *out) {
    const bool zstd = z->chain.codecs[0] == FC_CODEC_ZSTD;
    fc_str_add(out, "{\n  \"zarr_format\": 3,\n  \"node_type\": \"array\",\n  \"shape\": ");
    list_text(z->shape, z->rank, out);
    fc_str_add(out, ",\n  \"data_type\": \"");
    dtype_text(z->dtype, out);
    fc_str_add(out, "\",\n  \"chunk_grid\": {\"name\": \"regular\", "
                    "\"configuration\": {\"chunk_shape\": ");
    list_text(z->chunk, z->rank, out);
    fc_str_printf(out,
                  "}},\n  \"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": "
                  "{\"separator\": \"/\"}},\n  \"fill_value\": %s,\n  \"codecs\": [\n    ",
                  zero_text(z->dtype));
    if (fc_dtypes[z->dtype].bytes > 1)
        fc_str_printf(out, "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"%s\"}},\n",
                      LITTLE ? "little" : "big");
    else
        fc_str_add(out, "{\"name\": \"bytes\"},\n");
    fc_str_printf(out, "    {\"name\": \"%s\", \"configuration\": {\"level\": 1%s}}\n  ],\n",
                  zstd ? "zstd" : "gzip", zstd ? ", \"checksum\": true" : "");
    fc_str_add(out, "  \"attributes\": {}\n}\n");
}

static void text_v2(const fc_zarr *z, fc_str *out) {
    fc_str_add(out, "{\n  \"zarr_format\": 2,\n  \"shape\": ");
    list_text(z->shape, z->rank, out);
    fc_str_add(out, ",\n  \"chunks\": ");
    list_text(z->chunk, z->rank, out);
    fc_str_printf(out, ",\n  \"dtype\": \"%c%s\",\n  \"fill_value\": %s,\n",
                  fc_dtypes[z->dtype].bytes == 1 ? '|'
                  : LITTLE                       ? '<'
                                                 : '>',
                  fc_dtypes[z->dtype].npy + 1, zero_text(z->dtype));
    fc_str_printf(out,
                  "  \"order\": \"C\",\n  \"filters\": null,\n  \"dimension_separator\": \"%c\",\n"
                  "  \"compressor\": {\"id\": \"%s\", \"level\": 1}\n}\n",
                  z->separator, z->chain.codecs[0] == FC_CODEC_ZSTD ? "zstd" : "gzip");
}

void fc_zarr_meta_text(const fc_zarr *z, fc_str *out) {
    (z->version == 2 ? text_v2 : text_v3)(z, out);
}
