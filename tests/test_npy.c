/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_npy.c - .npy files: what is read, what is refused and with which words, hostile headers,
 * output. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/io/npy.h"
#include "tests/support/test.h"

static const fc_alloc *const heap = &fc_libc_alloc;

/* ---- files in memory ------------------------------------------------------------------------- */

typedef struct image {
    unsigned char data[70000];
    size_t size;
} image;

/* A file of the version with this header text and `bytes` bytes of data: 0, 1, 2, ... */
static void build(image *f, int version, const char *header, size_t bytes) {
    size_t n = strlen(header), at = version == 1 ? 10 : 12;
    memcpy(f->data, "\x93NUMPY", 6);
    f->data[6] = (unsigned char)version;
    f->data[7] = 0;
    for (size_t i = 8; i < at; i++) f->data[i] = (unsigned char)(n >> (8 * (i - 8)));
    memcpy(f->data + at, header, n);
    for (size_t i = 0; i < bytes; i++) f->data[at + n + i] = (unsigned char)i;
    f->size = at + n + bytes;
}

static fusec_status header_of(const void *data, size_t size, fc_npy *h, fc_error *e) {
    fc_reader in;
    fc_reader_memory(&in, data, size, "a.npy");
    return fc_npy_read_header(&in, h, e);
}

static fusec_status whole(const image *f, fc_npy *h, void *to, fc_error *e) {
    fc_reader in;
    fc_reader_memory(&in, f->data, f->size, "a.npy");
    FC_TRY(fc_npy_read_header(&in, h, e));
    return fc_npy_read_data(&in, h, heap, to, e);
}

FC_TEST(npy, versions_orders_and_layouts) {
    static const char plain[] = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n";
    for (int version = 1; version <= 3; version++) {
        image f;
        fc_npy h;
        fc_error e = {0};
        int16_t got[6];
        build(&f, version, plain, 12);
        FC_ASSERT_OK(whole(&f, &h, got, &e), &e);
        FC_EXPECT_EQ_I64(h.dtype, FUSEC_I16);
        FC_EXPECT_EQ_I64(h.rank, 2);
        FC_EXPECT_EQ_I64(h.count, 6);
        FC_EXPECT_EQ_I64(got[1], 0x0302);
    }
    image f;
    fc_npy h;
    fc_error e = {0};
    int16_t got[6];
    build(&f, 1, "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }\n", 12);
    FC_ASSERT_OK(whole(&f, &h, got, &e), &e);
    FC_EXPECT_EQ_I64(got[1], 0x0203);
    build(&f, 1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", 12);
    FC_ASSERT_OK(whole(&f, &h, got, &e), &e);
    FC_EXPECT_EQ_I64(got[1], 0x0504); /* [0, 1] is the third element of the file */
    uint8_t bools[3];
    build(&f, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", 3);
    FC_ASSERT_OK(whole(&f, &h, bools, &e), &e);
    FC_EXPECT_EQ_I64(bools[2], 1); /* a byte of 2 in the file */
}

FC_TEST(npy, headers_that_are_taken) {
    static const struct {
        const char *header;
        fusec_dtype dtype;
        int rank;
        size_t bytes;
    } good[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", FUSEC_F32, 0, 4},
        {"{\"shape\":(2,),\"descr\":\"=f8\",\"fortran_order\":True}", FUSEC_F64, 1, 16},
        {"  {'shape': (2L, 1L,), 'fortran_order': False, 'descr': 'f2',} ", FUSEC_F16, 2, 4},
        {"{'descr':'?','fortran_order':False,'shape':(0,9223372036854775807)}", FUSEC_BOOL, 2, 0},
        {"{'descr': '<u1', 'fortran_order': False, 'shape': (3,)}", FUSEC_U8, 1, 3},
        {"{'descr': '<u8', 'fortran_order': False,\n 'shape': (1,1,1)}\n", FUSEC_U64, 3, 8},
    };
    for (size_t i = 0; i < FC_COUNT(good); i++) {
        image f;
        fc_npy h;
        fc_error e = {0};
        build(&f, 1, good[i].header, good[i].bytes);
        FC_TRACE("%s", good[i].header);
        FC_EXPECT_OK(header_of(f.data, f.size, &h, &e), &e);
        FC_EXPECT_EQ_I64(h.dtype, good[i].dtype);
        FC_EXPECT_EQ_I64(h.rank, good[i].rank);
        FC_EXPECT_EQ_I64(h.bytes, (int64_t)good[i].bytes);
        FC_UNTRACE();
    }
}

FC_TEST(npy, headers_that_are_refused) {
    static const struct {
        const char *header, *words;
    } bad[] = {
        {"", "not a dict"},
        {"[]", "not a dict"},
        {"{}", "exactly descr"},
        {"{'descr': '<f4', 'fortran_order': False}", "exactly descr"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "exactly"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", "exactly"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "something stands behind"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': () 'x'", "three entries"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [3]}", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "negative"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", "64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807)}", "64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "64 bits"},
        {"{'descr': '<f\\x34', 'fortran_order': False, 'shape': ()}", "not a string"},
        {"{'descr': '<f4, 'fortran_order': False, 'shape': ()}", "dtype '<f4, '"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': ()}", "dtype '|O' (Python objects)"},
        {"{'descr': '|S5', 'fortran_order': False, 'shape': ()}", "dtype '|S5' (byte strings)"},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': ()}", "dtype '<U5' (text)"},
        {"{'descr': '<c32', 'fortran_order': False, 'shape': ()}", "complex numbers of an unusual size"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': ()}", "'<M8[ns]' (dates)"},
        {"{'descr': '<m8[s]', 'fortran_order': False, 'shape': ()}", "(time differences)"},
        {"{'descr': '|V2', 'fortran_order': False, 'shape': ()}", "bfloat16"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': ()}", "floats of an unusual size"},
        {"{'descr': '|f4', 'fortran_order': False, 'shape': ()}", "dtype '|f4'"},
        {"{'descr': '<b1x', 'fortran_order': False, 'shape': ()}", "dtype '<b1x'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "(records)"},
        {"{'descr': ", "not a string"},
    };
    for (size_t i = 0; i < FC_COUNT(bad); i++) {
        image f;
        fc_npy h;
        fc_error e = {0};
        build(&f, 1, bad[i].header, 4);
        FC_TRACE("%s", bad[i].header);
        FC_EXPECT_STATUS(header_of(f.data, f.size, &h, &e), FUSEC_NPY_FORMAT, &e);
        FC_EXPECT_CONTAINS(e.message, bad[i].words);
        FC_UNTRACE();
    }
}

/* The dtype as the header has it, no more of the header, and what to save instead. */
FC_TEST(npy, records_and_raw_bytes) {
    static const struct {
        const char *descr, *message;
    } bad[] = {
        {"[('x', '<f4'), ('y', '<i4')]",
         "dtype [('x', '<f4'), ('y', '<i4')] (records), which fusec does not take\n"
         "  taken: bool, i8 to i64, u8 to u64, f16, f32, f64\n"
         "  help: save one field: array['x'].copy()"},
        {"[('a]', [('b', '<f4', (2,))])]",
         "dtype [('a]', [('b', '<f4', (2,))])] (records), which fusec does not take\n"
         "  taken: bool, i8 to i64, u8 to u64, f16, f32, f64\n"
         "  help: save one field: array['a]'].copy()"},
        {"[(('title', 'name'), '<f8')]",
         "dtype [(('title', 'name'), '<f8')] (records), which fusec does not take\n"
         "  taken: bool, i8 to i64, u8 to u64, f16, f32, f64"},
        {"'|V8'", "dtype '|V8' (raw bytes), which fusec does not take\n"
                  "  taken: bool, i8 to i64, u8 to u64, f16, f32, f64"},
        {"'<V2'", "dtype '<V2' (raw bytes), which fusec does not take\n"
                  "  taken: bool, i8 to i64, u8 to u64, f16, f32, f64\n"
                  "  help: bfloat16 arrays are saved like this; save array.astype('f4')"},
    };
    for (size_t i = 0; i < FC_COUNT(bad); i++) {
        char header[200];
        image f;
        fc_npy h;
        fc_error e = {0};
        snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': False, 'shape': (2,)}",
                 bad[i].descr);
        build(&f, 1, header, 16);
        FC_TRACE("%s", bad[i].descr);
        FC_EXPECT_STATUS(header_of(f.data, f.size, &h, &e), FUSEC_NPY_FORMAT, &e);
        const char *dtype = strstr(e.message, "dtype ");
        FC_EXPECT_STREQ(dtype ? dtype : e.message, bad[i].message);
        FC_UNTRACE();
    }
}

FC_TEST(npy, rank_limit) {
    for (int rank = 31; rank <= 33; rank++) {
        char header[300] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
        for (int i = 0; i < rank; i++) strcat(header, "1,");
        strcat(header, ")}");
        image f;
        fc_npy h;
        fc_error e = {0};
        build(&f, 1, header, 4);
        FC_EXPECT_STATUS(header_of(f.data, f.size, &h, &e),
                         rank <= 32 ? FUSEC_OK : FUSEC_NPY_FORMAT, &e);
    }
}

/* The limit on the header itself, and lengths the file does not have. */
FC_TEST(npy, header_length) {
    static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': ()}";
    static image f;
    static char header[10100];
    for (size_t n = FC_NPY_HEADER_MAX - 1; n <= FC_NPY_HEADER_MAX + 1; n++) {
        fc_npy h;
        fc_error e = {0};
        memset(header, ' ', n);
        memcpy(header, dict, sizeof dict - 1);
        header[n] = 0;
        build(&f, 2, header, 4);
        FC_EXPECT_STATUS(header_of(f.data, f.size, &h, &e),
                         n <= FC_NPY_HEADER_MAX ? FUSEC_OK : FUSEC_NPY_FORMAT, &e);
    }
    fc_npy h;
    fc_error e = {0};
    build(&f, 2, dict, 4);
    memcpy(f.data + 8, "\xff\xff\xff\xff", 4);
    FC_EXPECT_STATUS(header_of(f.data, f.size, &h, &e), FUSEC_NPY_FORMAT, &e);
    FC_EXPECT_CONTAINS(e.message, "4,294,967,295 bytes; at most 10,000");
    e = (fc_error){0};
    memcpy(f.data + 8, "\x00\x10\x00\x00", 4);
    FC_EXPECT_STATUS(header_of(f.data, f.size, &h, &e), FUSEC_NPY_TRUNCATED, &e);
}

FC_TEST(npy, every_truncation) {
    image f;
    unsigned char got[64];
    build(&f, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }\n", 32);
    size_t full = f.size;
    for (size_t n = 0; n < full; n++) {
        fc_npy h;
        fc_error e = {0};
        f.size = n;
        FC_EXPECT_STATUS(whole(&f, &h, got, &e), FUSEC_NPY_TRUNCATED, &e);
    }
    fc_npy h;
    fc_error e = {0};
    f.size = full + 1;
    FC_EXPECT_STATUS(whole(&f, &h, got, &e), FUSEC_NPY_FORMAT, &e);
    FC_EXPECT_CONTAINS(e.message, "is too long");
}

/* Every byte of a header with every value: an answer each time, and no byte is touched beyond the
 * file (a sanitizer sees it: the copy ends where the file ends). */
FC_TEST(npy, every_mutation) {
    image f;
    build(&f, 1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", 12);
    unsigned char *copy = malloc(f.size);
    for (size_t at = 0; at < f.size - 12; at++) {
        for (int v = 0; v < 256; v++) {
            memcpy(copy, f.data, f.size);
            copy[at] = (unsigned char)v;
            fc_npy h;
            fc_error e = {0};
            fusec_status s = header_of(copy, f.size, &h, &e);
            if (s != FUSEC_OK && s != FUSEC_NPY_FORMAT && s != FUSEC_NPY_TRUNCATED)
                FC_FAIL("byte %zu = %d gives %s", at, v, fc_status_slug(s));
            if (s == FUSEC_OK && h.bytes + h.offset != (int64_t)f.size) FC_FAIL("wrong length");
        }
    }
    free(copy);
}

/* Random splices of pieces of headers. */
FC_TEST(npy, random_headers) {
    static const char *const pieces[] = {
        "{",    "}",     "'descr'", ":",          "'<f4'",   ",",       "'fortran_order'",
        "True", "False", "(",       ")",          "'shape'", "3",       "\"",
        "'",    "[",     "-",       "L",          "None",    "\\'",     "\n",
        "{{",   "((",    "'|O'",    "1000000000", "0",       "\xc3\xa9"};
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char header[600];
        size_t n = 0;
        image f;
        for (int i = 0; i < 20; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const char *p = pieces[(seed >> 33) % FC_COUNT(pieces)];
            memcpy(header + n, p, strlen(p));
            n += strlen(p);
        }
        header[n] = 0;
        fc_npy h;
        fc_error e = {0};
        build(&f, 1, header, 4);
        fusec_status s = header_of(f.data, f.size, &h, &e);
        if (s != FUSEC_OK && !e.message[0]) FC_FAIL("no message for %s", header);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

FC_TEST(npy, message_of_a_file_cut_short) {
    static image f;
    static char header[120];
    fc_npy h;
    fc_error e = {0};
    memset(header, ' ', 118);
    memcpy(header, "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 64), }", 62);
    build(&f, 1, header, 16384);
    FC_EXPECT_STATUS(header_of(f.data, f.size, &h, &e), FUSEC_NPY_TRUNCATED, &e);
    FC_EXPECT_STREQ(
        e.message,
        "a.npy is cut short: its header promises 25,600 bytes of data, the file has 16,384\n"
        "  header: f32[100, 64], C order, data starts at byte 128\n"
        "  file:   16,512 bytes, ends after row 64 of 100\n"
        "  help: write the file again; was it still being written?");
    e = (fc_error){0};
    FC_EXPECT_STATUS(header_of(f.data, f.size - 1, &h, &e), FUSEC_NPY_TRUNCATED, &e);
    FC_EXPECT_CONTAINS(e.message, "ends inside row 64 of 100");
}

FC_TEST(npy, message_of_other_files) {
    static const struct {
        const char *data, *words;
    } other[] = {{"PK\003\004xxxx", "zip archive"},
                 {"\x89PNG\r\n\x1a\n", "PNG image"},
                 {"\x1f\x8b\x08xxxxx", "gzip"},
                 {"\x80\x04xxxxxx", "pickle"},
                 {"\xff\xd8\xff\xe0\0\020JF", "JPEG image"},
                 {"hello, world", "it is text"},
                 {"hell\001, world", "begins with the bytes 68 65 6c 6c 01 2c"}};
    for (size_t i = 0; i < FC_COUNT(other); i++) {
        fc_npy h;
        fc_error e = {0};
        FC_EXPECT_STATUS(header_of(other[i].data, 8, &h, &e), FUSEC_NPY_FORMAT, &e);
        FC_EXPECT_CONTAINS(e.message, other[i].words);
    }
    fc_npy h;
    fc_error e = {0};
    FC_EXPECT_STATUS(header_of("", 0, &h, &e), FUSEC_NPY_TRUNCATED, &e);
    FC_EXPECT_STREQ(e.message, "a.npy is empty");
    e = (fc_error){0};
    FC_EXPECT_STATUS(header_of("\x93NUMPY\x04\x00", 8, &h, &e), FUSEC_NPY_FORMAT, &e);
    FC_EXPECT_CONTAINS(e.message, "version 4.0");
}

/* ---- real files ------------------------------------------------------------------------------ */

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[200];
    if (!folder[0]) {
        strcpy(folder, "/tmp/fusec-npy-XXXXXX");
        if (!mkdtemp(folder)) folder[0] = 0;
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void remove_folder(const char *const *names) {
    for (; *names; names++) unlink(in_folder(*names));
    rmdir(folder);
    folder[0] = 0;
}

FC_TEST(npy, directories_devices_and_missing_files) {
    fc_reader in;
    fc_npy h;
    fc_error e = {0};
    FC_EXPECT_STATUS(fc_reader_open(&in, "/tmp", &e), FUSEC_IO, &e);
    FC_EXPECT_STREQ(e.message, "cannot read /tmp: it is a directory");
    e = (fc_error){0};
    FC_EXPECT_STATUS(fc_reader_open(&in, "/no/such.npy", &e), FUSEC_IO, &e);
    FC_EXPECT_STREQ(e.message, "cannot open /no/such.npy: no such file or directory");
    e = (fc_error){0};
    FC_ASSERT_OK(fc_reader_open(&in, "/dev/zero", &e), &e);
    FC_EXPECT_STATUS(fc_npy_read_header(&in, &h, &e), FUSEC_NPY_FORMAT, &e);
    fc_reader_close(&in);
    /* A header on a pipe, then endless zeros, is found out after the data. */
    uint8_t bytes[16];
    FC_ASSERT_OK(fc_reader_open(&in, "/dev/zero", &(fc_error){0}), &e);
    e = (fc_error){0};
    FC_EXPECT_STATUS(fc_raw_read(&in, FUSEC_U8, 1, &(int64_t){16}, bytes, &e), FUSEC_IO, &e);
    FC_EXPECT_CONTAINS(e.message, "goes on after its 16 bytes");
    fc_reader_close(&in);
}

FC_TEST(npy, pipes) {
    image f;
    build(&f, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 4), }\n", 32);
    for (int extra = -1; extra <= 1; extra++) {
        int fd[2];
        float got[8];
        fc_reader in;
        fc_npy h;
        fc_error e = {0};
        FC_ASSERT_TRUE(pipe(fd) == 0);
        FC_ASSERT_TRUE(write(fd[1], f.data, f.size + (size_t)extra) > 0);
        close(fd[1]);
        fc_reader_fd(&in, fd[0], "standard input");
        FC_ASSERT_OK(fc_npy_read_header(&in, &h, &e), &e);
        FC_EXPECT_STATUS(fc_npy_read_data(&in, &h, heap, got, &e),
                         extra < 0    ? FUSEC_NPY_TRUNCATED
                         : extra == 0 ? FUSEC_OK
                                      : FUSEC_NPY_FORMAT,
                         &e);
        fc_reader_close(&in);
        close(fd[0]);
    }
}

/* The file shrinks between header and data. */
FC_TEST(npy, shrinks_while_read) {
    int64_t count = 1 << 20;
    fc_array a = {.dtype = FUSEC_I32, .rank = 1, .shape = {count}};
    a.data = calloc((size_t)count, 4);
    fc_error e = {0};
    fc_reader in;
    fc_npy h;
    const char *path = in_folder("shrink.npy");
    FC_ASSERT_OK(fc_npy_write_file(heap, path, &a, NULL, &e), &e);
    FC_ASSERT_OK(fc_reader_open(&in, path, &e), &e);
    FC_ASSERT_OK(fc_npy_read_header(&in, &h, &e), &e);
    FC_ASSERT_TRUE(truncate(path, 1 << 20) == 0);
    FC_EXPECT_STATUS(fc_npy_read_data(&in, &h, heap, a.data, &e), FUSEC_NPY_TRUNCATED, &e);
    FC_EXPECT_CONTAINS(e.message, "became shorter while it was read");
    fc_reader_close(&in);
    free(a.data);
    remove_folder((const char *[]){"shrink.npy", NULL});
}

/* ---- writing --------------------------------------------------------------------------------- */

static int64_t files_in_folder(void) {
    char command[120];
    long n = -1;
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *p = popen(command, "r");
    if (p && fscanf(p, "%ld", &n) != 1) n = -1;
    if (p) pclose(p);
    return n;
}

FC_TEST(npy, write_then_read) {
    float values[6] = {1, 2, 3, 4, 5, 6}, back[6];
    fc_array a = {.dtype = FUSEC_F32, .rank = 2, .shape = {2, 3}, .data = values};
    fc_error e = {0};
    fc_reader in;
    fc_npy h;
    int64_t written;
    const char *path = in_folder("w.npy");
    FC_ASSERT_OK(fc_npy_write_file(heap, path, &a, &written, &e), &e);
    FC_EXPECT_EQ_I64(written, 128 + 24);
    FC_ASSERT_OK(fc_reader_open(&in, path, &e), &e);
    FC_ASSERT_OK(fc_npy_read_header(&in, &h, &e), &e);
    FC_EXPECT_EQ_I64(h.offset % 64, 0);
    FC_EXPECT_OK(fc_npy_read_data(&in, &h, heap, back, &e), &e);
    FC_EXPECT_MEMEQ(values, back, sizeof back);
    fc_reader_close(&in);
    FC_EXPECT_EQ_I64(files_in_folder(), 1); /* no temporary file is left */
    /* The mode of a file that is replaced stays, and a link to it stays a link. */
    struct stat st;
    char link_path[200];
    snprintf(link_path, sizeof link_path, "%s/link.npy", folder);
    FC_ASSERT_TRUE(chmod(path, 0640) == 0 && symlink("w.npy", link_path) == 0);
    FC_ASSERT_OK(fc_npy_write_file(heap, link_path, &a, NULL, &e), &e);
    FC_EXPECT_TRUE(lstat(link_path, &st) == 0 && S_ISLNK(st.st_mode));
    FC_EXPECT_TRUE(stat(link_path, &st) == 0 && (st.st_mode & 0777) == 0640);
    remove_folder((const char *[]){"w.npy", "link.npy", NULL});
}

FC_TEST(npy, bf16_is_widened) {
    uint16_t values[2] = {0x3f80, 0xc040}; /* 1, -3 */
    float back[2];
    fc_array a = {.dtype = FUSEC_BF16, .rank = 1, .shape = {2}, .data = values};
    fc_error e = {0};
    fc_reader in;
    fc_npy h;
    const char *path = in_folder("b.npy");
    FC_EXPECT_TRUE(fc_npy_write_note(FUSEC_BF16) != NULL);
    FC_EXPECT_TRUE(fc_npy_write_note(FUSEC_F16) == NULL);
    FC_ASSERT_OK(fc_npy_write_file(heap, path, &a, NULL, &e), &e);
    FC_ASSERT_OK(fc_reader_open(&in, path, &e), &e);
    FC_ASSERT_OK(fc_npy_read_header(&in, &h, &e), &e);
    FC_EXPECT_OK(fc_npy_read_data(&in, &h, heap, back, &e), &e);
    FC_EXPECT_EQ_I64(h.dtype, FUSEC_F32);
    FC_EXPECT_EQ_F64((double)back[0], 1.0);
    FC_EXPECT_EQ_F64((double)back[1], -3.0);
    fc_reader_close(&in);
    remove_folder((const char *[]){"b.npy", NULL});
}

FC_TEST(npy, failed_output_leaves_nothing) {
    float value = 1;
    fc_array a = {.dtype = FUSEC_F32, .data = &value};
    fc_error e = {0};
    FC_EXPECT_STATUS(fc_npy_write_file(heap, "/no/such/dir/y.npy", &a, NULL, &e), FUSEC_IO, &e);
    FC_EXPECT_STREQ(e.message, "cannot write /no/such/dir/y.npy: no such file or directory");
    e = (fc_error){0};
    FC_EXPECT_STATUS(fc_npy_write_file(heap, "/dev/full", &a, NULL, &e), FUSEC_IO, &e);
    FC_EXPECT_STREQ(e.message, "cannot write /dev/full: no space left on the device");
    e = (fc_error){0};
    FC_EXPECT_STATUS(fc_npy_write_file(heap, "/tmp", &a, NULL, &e), FUSEC_IO, &e);
    FC_EXPECT_OK(fc_npy_write_file(heap, "/dev/null", &a, NULL, &(fc_error){0}), NULL);
    fc_outfile out;
    e = (fc_error){0};
    FC_ASSERT_OK(fc_outfile_open(&out, heap, in_folder("half.npy"), &e), &e);
    FC_EXPECT_OK(fc_outfile_write(&out, "half", 4, &e), &e);
    fc_outfile_abandon(&out);
    FC_EXPECT_EQ_I64(files_in_folder(), 0);
    remove_folder((const char *[]){NULL});
}

/* ---- NumPy ----------------------------------------------------------------------------------- */

FC_TEST(npy, interop_with_numpy) {
#ifdef FUSEC_TEST_PYTHON
    char self[1000], command[2200];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    FC_ASSERT_TRUE(n > 0);
    self[n] = 0;
    snprintf(command, sizeof command, FUSEC_TEST_PYTHON " %s/tests/npy_interop.py '%s' 2000 2>&1",
             FUSEC_SOURCE_DIR, self);
    FILE *p = popen(command, "r");
    FC_ASSERT_TRUE(p != NULL);
    static char output[8000];
    size_t got = fread(output, 1, sizeof output - 1, p);
    output[got] = 0;
    int rc = pclose(p);
    if (WIFEXITED(rc) && WEXITSTATUS(rc) == 77) FC_SKIP("NumPy is not installed");
    if (rc != 0) FC_FAIL("%s", output);
#else
    FC_SKIP("no Python with NumPy was found");
#endif
}
