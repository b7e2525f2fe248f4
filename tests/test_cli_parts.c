/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli_parts.c - parts of the command that need no program: values, made-up data, archives,
 * images, printing. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frontend/cli/decimal.h"
#include "frontend/cli/input.h"
#include "frontend/cli/npz.h"
#include "frontend/cli/png.h"
#include "frontend/cli/print.h"
#include "ir/philox.h"
#include "tests/support/test.h"

static const fc_alloc *const heap = &fc_libc_alloc;

/* ---- jobs for npy_interop.py ----------------------------------------------------------------- */

static fusec_status load(const char *value, fc_array *a, fc_error *e) {
    char word[1100];
    fc_cli_input in;
    int64_t count, bytes;
    snprintf(word, sizeof word, "x=%s", value);
    a->data = NULL;
    fusec_status s = fc_input_parse(&in, word, heap, e);
    if (s == FUSEC_OK) s = fc_input_open(&in, e);
    if (s == FUSEC_OK) {
        a->dtype = in.dtype;
        a->rank = in.rank;
        for (int i = 0; i < in.rank; i++) a->shape[i] = in.dims[i].size;
        s = fc_shape_bytes(a->rank, a->shape, fc_dtypes[a->dtype].bytes, &count, &bytes)
                ? FUSEC_OK
                : FUSEC_INPUT_SHAPE;
        a->data = s == FUSEC_OK ? malloc((size_t)bytes + 1) : NULL;
        if (a->data) s = fc_input_read(&in, a->dtype, a->rank, a->shape, a->data, e);
    }
    fc_input_close(&in);
    return s;
}

static fusec_status save_pair(const char *path, const fc_array *a, fc_error *e) {
    fc_npz_item items[] = {{"first", a}, {"second", a}};
    fc_outfile out;
    FC_TRY(fc_outfile_open(&out, heap, path, e));
    fusec_status s = fc_npz_write(&out, items, 2, e);
    if (s == FUSEC_OK) return fc_outfile_commit(&out, e);
    fc_outfile_abandon(&out);
    return s;
}

static fusec_status save_text(const char *kind, const char *path, const fc_array *a, fc_error *e) {
    fc_str text;
    fc_str_init(&text, heap);
    if (!strcmp(kind, "text")) fc_print_text(&text, a, FC_PRINT_TERMINAL);
    if (!strcmp(kind, "whole")) fc_print_text(&text, a, FC_PRINT_WHOLE);
    if (!strcmp(kind, "csv")) fc_print_csv(&text, a);
    if (!strcmp(kind, "json")) fc_print_json(&text, a);
    fc_outfile out;
    fusec_status s = text.oom ? fc_oom(e) : fc_outfile_open(&out, heap, path, e);
    if (s == FUSEC_OK) {
        s = fc_outfile_write(&out, text.data, text.len, e);
        fusec_status closed = fc_outfile_commit(&out, e);
        if (s == FUSEC_OK) s = closed;
    }
    fc_str_free(&text);
    return s;
}

FC_TEST(cli_parts, batch) {
    const char *listing = getenv("FUSEC_TEST_BATCH");
    if (!listing) FC_SKIP("run by npy_interop.py");
    FILE *f = fopen(listing, "r");
    FC_ASSERT_TRUE(f != NULL);
    char kind[16], from[1000], to[1000];
    while (fscanf(f, "%15s %999s %999s", kind, from, to) == 3) {
        fc_error e = {0};
        fc_array a;
        fusec_status s = load(from, &a, &e);
        if (s == FUSEC_OK && !strcmp(kind, "copy"))
            s = fc_npy_write_file(heap, to, &a, NULL, &e);
        else if (s == FUSEC_OK && !strcmp(kind, "npz"))
            s = save_pair(to, &a, &e);
        else if (s == FUSEC_OK)
            s = save_text(kind, to, &a, &e);
        FC_TRACE("%s %s", kind, from);
        FC_EXPECT_OK(s, &e);
        FC_UNTRACE();
        free(a.data);
    }
    fclose(f);
}

/* ---- values ---------------------------------------------------------------------------------- */

FC_TEST(cli_parts, numbers) {
    static const struct {
        const char *text;
        fc_weak_kind kind;
        double value;
    } good[] = {{"0", FC_WEAK_INT, 0},
                {"100_000", FC_WEAK_INT, 100000},
                {"-7", FC_WEAK_INT, -7},
                {"+7", FC_WEAK_INT, 7},
                {"0xff", FC_WEAK_INT, 255},
                {"-0xF_f", FC_WEAK_INT, -255},
                {"2.5", FC_WEAK_FLOAT, 2.5},
                {"2.", FC_WEAK_FLOAT, 2},
                {".5", FC_WEAK_FLOAT, 0.5},
                {"1e-5", FC_WEAK_FLOAT, 1e-5},
                {"-1.5E+3", FC_WEAK_FLOAT, -1500},
                {"1_0.2_5", FC_WEAK_FLOAT, 10.25},
                {"inf", FC_WEAK_FLOAT, (double)INFINITY},
                {"-inf", FC_WEAK_FLOAT, -(double)INFINITY},
                {"true", FC_WEAK_BOOL, 1},
                {"False", FC_WEAK_BOOL, 0},
                {"18446744073709551615", FC_WEAK_INT, 18446744073709551615.0},
                {"-9223372036854775808", FC_WEAK_INT, -9223372036854775808.0}};
    static const char *const bad[] = {"",
                                      "-",
                                      "x",
                                      "1.2.3",
                                      "0x",
                                      "1e",
                                      "e5",
                                      "_1",
                                      "1__a",
                                      "--1",
                                      "1 ",
                                      "+true",
                                      ".",
                                      "0b1",
                                      "1f",
                                      "12abc",
                                      "18446744073709551616",
                                      "-9223372036854775809",
                                      "infinity",
                                      "0x1p3"};
    fc_weak w;
    for (size_t i = 0; i < FC_COUNT(good); i++) {
        FC_TRACE("%s", good[i].text);
        FC_EXPECT_TRUE(fc_weak_parse(good[i].text, &w));
        FC_EXPECT_EQ_I64(w.kind, good[i].kind);
        FC_EXPECT_EQ_F64(w.number, good[i].value);
        FC_UNTRACE();
    }
    for (size_t i = 0; i < FC_COUNT(bad); i++) {
        FC_TRACE("%s", bad[i]);
        FC_EXPECT_FALSE(fc_weak_parse(bad[i], &w));
        FC_UNTRACE();
    }
    FC_EXPECT_TRUE(fc_weak_parse("nan", &w) && isnan(w.number));
}

FC_TEST(cli_parts, numbers_in_dtypes) {
    fc_weak w;
    fc_error e = {0};
    int8_t i8;
    uint64_t u64;
    float f32;
    uint8_t flag;
    FC_EXPECT_TRUE(fc_weak_parse("-128", &w));
    FC_EXPECT_OK(fc_weak_store(&w, "n", FUSEC_I8, &i8, &e), &e);
    FC_EXPECT_EQ_I64(i8, -128);
    FC_EXPECT_STATUS(fc_weak_store(&w, "n", FUSEC_U64, &u64, &e), FUSEC_INPUT_DTYPE, &e);
    FC_EXPECT_STREQ(e.message, "-128 does not fit n: u64");
    FC_EXPECT_TRUE(fc_weak_parse("128", &w));
    e = (fc_error){0};
    FC_EXPECT_STATUS(fc_weak_store(&w, "n", FUSEC_I8, &i8, &e), FUSEC_INPUT_DTYPE, &e);
    FC_EXPECT_TRUE(fc_weak_parse("0.1", &w));
    e = (fc_error){0};
    FC_EXPECT_OK(fc_weak_store(&w, "n", FUSEC_F32, &f32, &e), &e);
    FC_EXPECT_TRUE(f32 == 0.1f);
    FC_EXPECT_STATUS(fc_weak_store(&w, "n", FUSEC_I8, &i8, &e), FUSEC_INPUT_DTYPE, &e);
    e = (fc_error){0};
    FC_EXPECT_STATUS(fc_weak_store(&w, "n", FUSEC_BOOL, &flag, &e), FUSEC_INPUT_DTYPE, &e);
    FC_EXPECT_TRUE(fc_weak_parse("true", &w));
    e = (fc_error){0};
    FC_EXPECT_OK(fc_weak_store(&w, "n", FUSEC_BOOL, &flag, &e), &e);
    FC_EXPECT_EQ_I64(flag, 1);
}

FC_TEST(cli_parts, forms_of_values) {
    static const struct {
        const char *word;
        fc_input_kind kind;
        const char *type; /* "dtype/sizes", "?" where the dtype is open */
    } good[] = {
        {"x=a.npy", FC_INPUT_NPY, "?/"},
        {"x=a.npz:key", FC_INPUT_NPZ, "?/"},
        {"x=dir/b.NPZ", FC_INPUT_NPZ, "?/"},
        {"x=photo.png", FC_INPUT_PNG, "?/"},
        {"x=-", FC_INPUT_STDIN, "?/"},
        {"x=2.5", FC_INPUT_SCALAR, "?/"},
        {"x=./2.5", FC_INPUT_NPY, "?/"},
        {"on=true", FC_INPUT_SCALAR, "?/"},
        {"x=rand:f32:1000x64", FC_INPUT_MADE, "f32/1000 64"},
        {"x=rand:float32:1_000x64", FC_INPUT_MADE, "f32/1000 64"},
        {"x=randn:1000:seed=7", FC_INPUT_MADE, "?/1000"},
        {"x=zeros", FC_INPUT_MADE, "?/"},
        {"x=ones:f16", FC_INPUT_MADE, "f16/"},
        {"x=iota:i32:nx3:seed=1", FC_INPUT_MADE, "i32/n 3"},
        {"x=rand:f32:n,max_len", FC_INPUT_MADE, "f32/n max_len"},
        {"x=rand:seed=3", FC_INPUT_MADE, "?/"},
        {"x=raw:f32:1000x64:a:b.bin", FC_INPUT_RAW, "f32/1000 64"},
        {"x=f32:1000x64", FC_INPUT_TYPE, "f32/1000 64"},
        {"x=bf16", FC_INPUT_TYPE, "bf16/"},
    };
    for (size_t i = 0; i < FC_COUNT(good); i++) {
        fc_cli_input in;
        fc_error e = {0};
        char type[200];
        FC_TRACE("%s", good[i].word);
        FC_EXPECT_OK(fc_input_parse(&in, good[i].word, heap, &e), &e);
        FC_EXPECT_EQ_I64(in.kind, good[i].kind);
        int n = snprintf(type, sizeof type, "%s/", in.has_dtype ? fc_dtypes[in.dtype].name : "?");
        for (int k = 0; k < in.rank; k++) {
            const char *gap = k ? " " : "";
            size_t room = sizeof type - (size_t)n;
            if (in.dims[k].name)
                n += snprintf(type + n, room, "%s%.*s", gap, (int)in.dims[k].name_len,
                              in.dims[k].name);
            else
                n += snprintf(type + n, room, "%s%lld", gap, (long long)in.dims[k].size);
        }
        FC_EXPECT_STREQ(type, good[i].type);
        fc_input_close(&in);
        FC_UNTRACE();
    }
    static const char *const bad[] = {"x",
                                      "x=",
                                      "1=2",
                                      "_=2",
                                      "x=rand:f32:3x",
                                      "x=rand:f32:3:4",
                                      "x=rand:f32:3:seed=-1",
                                      "x=rand:f32:3:seed=x",
                                      "x=raw:f32:3",
                                      "x=raw:a.bin",
                                      "x=f32:a-b",
                                      "x=f32:99999999999999999999"};
    for (size_t i = 0; i < FC_COUNT(bad); i++) {
        fc_cli_input in;
        fc_error e = {0};
        FC_TRACE("%s", bad[i]);
        FC_EXPECT_STATUS(fc_input_parse(&in, bad[i], heap, &e), FUSEC_USAGE, &e);
        fc_input_close(&in);
        FC_UNTRACE();
    }
}

/* ---- made-up data ---------------------------------------------------------------------------- */

FC_TEST(cli_parts, rand_known_answers) {
    static const double want[8] = {16015482, 12585465, 1915578, 1437100,
                                   6827662,  13342652, 2882303, 16070126};
    float got[8];
    FC_EXPECT_OK(fc_make(FC_MAKE_RAND, FUSEC_F32, 7, 8, got, NULL), NULL);
    for (int i = 0; i < 8; i++) FC_EXPECT_EQ_F64((double)got[i] * 16777216, want[i]);
}

/* An element depends on seed and index only, not on how many there are; ranges are kept; the normal
 * numbers have the right moments. */
FC_TEST(cli_parts, made_data) {
    enum { N = 100000 };
    static double d[N], e[N];
    for (int maker = 0; maker < FC_MAKER_COUNT; maker++) {
        FC_EXPECT_OK(fc_make((fc_maker)maker, FUSEC_F64, 3, N, d, NULL), NULL);
        for (int n = 1; n < N; n = n * 3 + 1) {
            FC_EXPECT_OK(fc_make((fc_maker)maker, FUSEC_F64, 3, n, e, NULL), NULL);
            FC_EXPECT_MEMEQ(d, e, (size_t)n * sizeof *d);
        }
    }
    double sum = 0, square = 0, worst = 0;
    FC_EXPECT_OK(fc_make(FC_MAKE_RANDN, FUSEC_F64, 3, N, d, NULL), NULL);
    for (int i = 0; i < N; i++) sum += d[i], square += d[i] * d[i];
    FC_EXPECT_NEAR(sum / N, 0, 0.015);
    FC_EXPECT_NEAR(square / N, 1, 0.02);
    static uint32_t words[4];
    for (uint32_t b = 0; b < N / 4; b++) { /* against the math library */
        fc_philox_block(b, 3, 0, words);
        for (int i = 0; i < 4; i += 2) {
            double r = sqrt(-2 * log(((double)words[i] + 1) * 0x1p-32));
            double t = 6.283185307179586477 * ((double)words[i + 1] * 0x1p-32);
            worst = fmax(worst, fabs(d[4 * b + (uint32_t)i] - r * cos(t)));
            worst = fmax(worst, fabs(d[4 * b + (uint32_t)i + 1] - r * sin(t)));
        }
    }
    FC_EXPECT_NEAR(worst, 0, 1e-13);
    static int8_t small[N];
    FC_EXPECT_OK(fc_make(FC_MAKE_RAND, FUSEC_I8, 3, N, small, NULL), NULL);
    int low = 127, high = -128;
    for (int i = 0; i < N; i++) {
        if (small[i] < low) low = small[i];
        if (small[i] > high) high = small[i];
    }
    FC_EXPECT_EQ_I64(low, 0);
    FC_EXPECT_EQ_I64(high, 99);
    static uint16_t half[N];
    FC_EXPECT_OK(fc_make(FC_MAKE_RAND, FUSEC_BF16, 3, N, half, NULL), NULL);
    for (int i = 0; i < N; i++) {
        if (half[i] >= 0x3f80) FC_FAIL("bf16 rand reaches 1 at %d", i);
    }
    FC_EXPECT_STATUS(fc_make(FC_MAKE_RANDN, FUSEC_I32, 3, 1, d, NULL), FUSEC_INPUT_DTYPE, NULL);
}

/* ---- archives and images --------------------------------------------------------------------- */

static const char *temporary(char path[64]) {
    strcpy(path, "/tmp/fusec-parts-XXXXXX");
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    return path;
}

static bool put_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, n, f) == n;
    return f && fclose(f) == 0 && ok;
}

static size_t get_file(const char *path, unsigned char *data, size_t room) {
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(data, 1, room, f) : 0;
    if (f) fclose(f);
    return n;
}

static fusec_status read_npz(const char *path, const char *key, void *to, size_t room,
                             fc_error *e) {
    fc_reader in;
    fc_npy h;
    FC_TRY(fc_npz_open(&in, heap, path, key, e));
    fusec_status s = fc_npy_read_header(&in, &h, e);
    if (s == FUSEC_OK && h.bytes > (int64_t)room) s = FUSEC_NPY_FORMAT;
    if (s == FUSEC_OK) s = fc_npy_read_data(&in, &h, heap, to, e);
    fc_reader_close(&in);
    return s;
}

/* Every truncation and every changed byte of an archive: an answer, and never wrong data. */
FC_TEST(cli_parts, damaged_archives) {
    char path[64];
    static unsigned char good[4000], copy[4000];
    float values[5] = {1, 2, 3, 4, 5}, got[64];
    fc_array a = {.dtype = FUSEC_F32, .rank = 1, .shape = {5}, .data = values};
    fc_error e = {0};
    temporary(path);
    FC_ASSERT_OK(save_pair(path, &a, &e), &e);
    size_t size = get_file(path, good, sizeof good);
    FC_ASSERT_TRUE(size > 100 && size < sizeof good);
    FC_EXPECT_OK(read_npz(path, "second", got, sizeof got, &e), &e);
    FC_EXPECT_MEMEQ(got, values, sizeof values);
    FC_EXPECT_STATUS(read_npz(path, "third", got, sizeof got, &e), FUSEC_IO, &e);
    FC_EXPECT_CONTAINS(e.message, "has no array `third`\n  arrays: first, second");
    e = (fc_error){0};
    FC_EXPECT_STATUS(read_npz(path, NULL, got, sizeof got, &e), FUSEC_IO, &e);
    FC_EXPECT_CONTAINS(e.message, "several arrays");
    for (size_t n = 0; n < size; n++) {
        e = (fc_error){0};
        FC_ASSERT_TRUE(put_file(path, good, n));
        if (read_npz(path, "second", got, sizeof got, &e) == FUSEC_OK) FC_FAIL("%zu bytes", n);
    }
    for (size_t at = 0; at < size; at++) {
        for (int bit = 0; bit < 8; bit += 3) {
            e = (fc_error){0};
            memcpy(copy, good, size);
            copy[at] ^= (unsigned char)(1 << bit);
            FC_ASSERT_TRUE(put_file(path, copy, size));
            if (read_npz(path, "second", got, sizeof got, &e) == FUSEC_OK &&
                memcmp(got, values, sizeof values) != 0)
                FC_FAIL("byte %zu: wrong data", at);
        }
    }
    unlink(path);
}

static fusec_status write_png(const char *path, const fc_array *a, fc_error *e) {
    fc_outfile out;
    FC_TRY(fc_outfile_open(&out, heap, path, e));
    fusec_status s = fc_png_write(heap, &out, a, e);
    if (s == FUSEC_OK) return fc_outfile_commit(&out, e);
    fc_outfile_abandon(&out);
    return s;
}

FC_TEST(cli_parts, images) {
    char path[64];
    uint8_t pixels[2 * 3 * 4], got[2 * 3 * 4];
    fc_error e = {0};
    temporary(path);
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 11);
    for (int channels = 1; channels <= 4; channels++) {
        fc_array a = {.dtype = FUSEC_U8, .rank = 3, .shape = {2, 3, channels}, .data = pixels};
        fc_array b = {0};
        if (channels == 1) a.rank = 2;
        if (channels == 2) {
            FC_EXPECT_STATUS(write_png(path, &a, &e), FUSEC_IO, &e);
            e = (fc_error){0};
            continue;
        }
        FC_ASSERT_OK(write_png(path, &a, &e), &e);
        FC_ASSERT_OK(fc_png_info(path, &b, &e), &e);
        FC_EXPECT_EQ_I64(b.rank, a.rank);
        b.data = got;
        FC_ASSERT_OK(fc_png_read(heap, path, &b, &e), &e);
        FC_EXPECT_MEMEQ(got, pixels, (size_t)(6 * channels));
    }
    float grey[6] = {-1, 0, 0.5f, 1, 2, NAN};
    static const uint8_t want[6] = {0, 0, 128, 255, 255, 0};
    fc_array a = {.dtype = FUSEC_F32, .rank = 2, .shape = {2, 3}, .data = grey}, b = {0};
    FC_ASSERT_OK(write_png(path, &a, &e), &e);
    FC_ASSERT_OK(fc_png_info(path, &b, &e), &e);
    b.data = got;
    FC_ASSERT_OK(fc_png_read(heap, path, &b, &e), &e);
    FC_EXPECT_MEMEQ(got, want, sizeof want);
    /* Truncations: a message each, and no crash. */
    static unsigned char file[4000];
    size_t size = get_file(path, file, sizeof file);
    for (size_t n = 0; n < size; n++) {
        e = (fc_error){0};
        FC_ASSERT_TRUE(put_file(path, file, n));
        if (fc_png_read(heap, path, &b, &e) == FUSEC_OK) FC_FAIL("%zu bytes are enough", n);
        if (!e.message[0]) FC_FAIL("no message for %zu bytes", n);
    }
    unlink(path);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void expect_text(const fc_array *a, fc_print_style style, const char *want) {
    fc_str s;
    fc_str_init(&s, heap);
    fc_print_text(&s, a, style);
    FC_EXPECT_STREQ(s.data, want);
    fc_str_free(&s);
}

FC_TEST(cli_parts, text_of_bf16) {
    uint16_t v[4] = {0x3f80, 0x3dcd, 0xc0a0, 0x7f80}; /* 1, 0.1, -5, inf */
    fc_array a = {.dtype = FUSEC_BF16, .rank = 1, .shape = {4}, .data = v};
    expect_text(&a, FC_PRINT_WHOLE, "[ 1.   0.1 -5.   inf]");
}

FC_TEST(cli_parts, json_of_special_values) {
    float v[4] = {1, -2.5f, INFINITY, NAN};
    fc_array a = {.dtype = FUSEC_F32, .rank = 2, .shape = {2, 2}, .data = v};
    fc_array empty = {.dtype = FUSEC_F32, .rank = 2, .shape = {2, 0}, .data = v};
    fc_str s;
    fc_str_init(&s, heap);
    fc_print_json(&s, &a);
    FC_EXPECT_STREQ(s.data, "[[1.0, -2.5], [\"inf\", \"nan\"]]");
    fc_str_clear(&s);
    fc_print_json(&s, &empty);
    FC_EXPECT_STREQ(s.data, "[[], []]");
    fc_str_clear(&s);
    fc_print_csv(&s, &a);
    FC_EXPECT_STREQ(s.data, "1.0,-2.5\ninf,nan\n");
    fc_str_free(&s);
}

/* Every half of either kind prints digits that read back to it. */
FC_TEST(cli_parts, halves_read_back) {
    for (uint32_t bits = 0; bits < 0x8000; bits++) {
        uint16_t v = (uint16_t)bits;
        fc_array a = {.rank = 0, .data = &v};
        for (int t = 0; t < 2; t++) {
            a.dtype = t ? FUSEC_BF16 : FUSEC_F16;
            fc_decimal d = fc_decimal_of(&a, 0);
            if (d.kind != FC_DECIMAL_FINITE) continue;
            char text[40];
            double back;
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)d.digits,
                     d.exponent - d.count + 1);
            FC_ASSERT_TRUE(fc_parse_double(text, NULL, &back));
            uint16_t again = t ? fc_double_to_bf16(back) : fc_double_to_half(back);
            if (again != v) FC_FAIL("%s %04x gives %s", fc_dtypes[a.dtype].name, bits, text);
            if (d.count > (t ? 4 : 5)) FC_FAIL("%04x has %d digits", bits, d.count);
        }
    }
}
