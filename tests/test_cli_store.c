/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cli_store.c - Zarr arrays: what is written is read, also as other programs write it, and
 * what is damaged or can't be written leaves nothing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/arrow.h"
#include "frontend/cli/json.h"
#include "frontend/cli/zarr.h"
#include "tests/support/shell.h"
#include "tests/support/test.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

static const char *const no_json[] = {
    "",    "{",  "[1,]", "{\"a\"}", "{\"a\":}", "\"\\q\"",  "\"\\u12\"", "[1] 2",
    "tru", "\"", "\"\\", "{1:2}",   "[,]",      "\"a\nb\"", "{\"a\":1",  "\"\\uzzzz\""};

FC_TEST(cli_store, json) {
    static const char text[] = " {\"a\": [1, -2.5e3, NaN, \"x\\\"\\u0041\\n\"], \"b\": {\"c\": "
                               "null}, \"d\": true}";
    fc_arena arena;
    int64_t v;
    char deep[400];
    fc_arena_init(&arena, &fc_libc_alloc);
    const fc_json *j = fc_json_parse(&arena, text, strlen(text)), *a = fc_json_get(j, "a");
    FC_EXPECT_TRUE(a != NULL && fc_json_count(a) == 4);
    FC_EXPECT_TRUE(fc_json_size(a->first, &v) && v == 1 && !fc_json_size(a->first->next, &v));
    FC_EXPECT_STREQ(a->first->next->text, "-2.5e3");
    FC_EXPECT_TRUE(fc_json_is(a->first->next->next->next, "x\"A\n"));
    FC_EXPECT_TRUE(fc_json_get(fc_json_get(j, "b"), "c")->kind == FC_JSON_NULL);
    FC_EXPECT_TRUE(!fc_json_get(j, "e") && !fc_json_get(a, "a") && !fc_json_get(NULL, "a"));
    for (size_t i = 0; i < FC_COUNT(no_json); i++)
        FC_EXPECT_TRUE(!fc_json_parse(&arena, no_json[i], strlen(no_json[i])));
    memset(deep, '[', sizeof deep);
    FC_EXPECT_TRUE(!fc_json_parse(&arena, deep, sizeof deep));
    FC_EXPECT_TRUE(!fc_json_size(fc_json_parse(&arena, "99999999999999999999", 20), &v));
    fc_arena_free(&arena);
}

FC_TEST(cli_store, crc32c) {
    FC_EXPECT_EQ_U64(fc_crc32c("123456789", 9), 0xe3069283u);
}

/* ---- there and back -------------------------------------------------------------------------- */

FC_TEST(cli_store, written_and_read) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x - 0.5' x=rand:f32:5000x7 -o x.npy -o a.zarr");

    EXPECT_RUN(sh, 0, "fusec -d interp -e x x=x.npy -o a.zarr");
    FC_EXPECT_CONTAINS(sh.err, "a.zarr: f32[5000, 7], ");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=a.zarr --expect x.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x / max(x)' x=x.npy -o y.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x / max(x)' x=a.zarr -o y.zarr --split n=512");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=y.zarr --expect y.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x > 0' x=a.zarr -o y.zarr && test -d y.zarr/c");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'sum(x)' x=y.zarr");
    EXPECT_RUN(sh, 0, "test \"$(ls -A | grep -c fusec)\" = 0");
    shell_close(&sh);
}

/* Version 2 without compression, elements of 2 bytes in the other order, the axes turned round,
 * a chunk over the end, and one that is not there. */
static const char v2[] =
    "{\"zarr_format\": 2, \"shape\": [3, 2], \"chunks\": [2, 2], \"dtype\": \">i2\",\n"
    " \"fill_value\": 7, \"order\": \"F\", \"filters\": null, \"compressor\": null}\n";

FC_TEST(cli_store, version_2) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "mkdir a.zarr");
    shell_write(&sh, "a.zarr/.zarray", v2);
    EXPECT_RUN(sh, 0, "printf '\\0\\1\\0\\2\\0\\3\\0\\4' >a.zarr/0.0");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=a.zarr --format csv");
    FC_EXPECT_STREQ(sh.out, "1,3\n2,4\n7,7\n");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x*2' x=a.zarr -o b.zarr && cat b.zarr/.zarray");
    FC_EXPECT_CONTAINS(sh.out, "\"chunks\": [2, 2]");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=b.zarr --format csv --split n=1");
    FC_EXPECT_STREQ(sh.out, "2,6\n4,8\n14,14\n");
    EXPECT_RUN(sh, 4, "printf '\\1' >>a.zarr/0.0 && fusec -q -d interp -e x x=a.zarr -o c.zarr");
    FC_EXPECT_CONTAINS(sh.err, "the chunk a.zarr/0.0 is damaged: it has too many elements");
    EXPECT_RUN(sh, 4, "truncate -s 5 a.zarr/0.0; fusec -q -d interp -e x x=a.zarr -o c.zarr");
    FC_EXPECT_CONTAINS(sh.err, "the chunk a.zarr/0.0 is damaged: it has too few elements");
    EXPECT_RUN(sh, 4,
               "rm a.zarr/0.0; mkdir a.zarr/0.0; fusec -q -d interp -e x x=a.zarr -o c.zarr");
    FC_EXPECT_CONTAINS(sh.err, "it is no file");
    EXPECT_RUN(sh, 2, "ls c.zarr");
    shell_close(&sh);
}

/* Version 3: shards of two chunks with an index behind them, whose checksum is looked at. */
static const char v3[] =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4], \"data_type\": \"uint8\",\n"
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [4]}},\n"
    " \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 9, \"attributes\": {},\n"
    " \"codecs\": [{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [2],\n"
    "  \"codecs\": [{\"name\": \"bytes\"}], \"index_codecs\": [{\"name\": \"bytes\",\n"
    "  \"configuration\": {\"endian\": \"little\"}}, \"crc32c\"]}}]}\n";

FC_TEST(cli_store, shards) {
    unsigned char shard[2 + 32 + 4] = {3, 4};
    OPEN(sh);
    memset(shard + 2, 0xff, 32);
    memset(shard + 2 + 16, 0, 16); /* the second chunk: 2 bytes at 0; the first is not there */
    shard[2 + 24] = 2;
    const uint32_t crc = fc_crc32c(shard + 2, 32);
    for (int i = 0; i < 4; i++) shard[34 + i] = (unsigned char)(crc >> 8 * i);
    EXPECT_RUN(sh, 0, "mkdir -p a.zarr/c");
    shell_write(&sh, "a.zarr/zarr.json", v3);
    char path[260];
    snprintf(path, sizeof path, "%s/a.zarr/c/0", sh.folder);
    FILE *f = fopen(path, "wb");
    FC_EXPECT_TRUE(f && fwrite(shard, 1, sizeof shard, f) == sizeof shard);
    if (f) fclose(f);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=a.zarr --format csv");
    FC_EXPECT_STREQ(sh.out, "9\n9\n3\n4\n");
    EXPECT_RUN(sh, 4,
               "printf '\\1' | dd of=a.zarr/c/0 bs=1 seek=20 conv=notrunc 2>/dev/null; "
               "fusec -q -d interp -e x x=a.zarr");
    FC_EXPECT_CONTAINS(sh.err, "the chunk a.zarr/c/0 is damaged: its checksum");
    EXPECT_RUN(sh, 4, "truncate -s 9 a.zarr/c/0; fusec -q -d interp -e x x=a.zarr");
    FC_EXPECT_CONTAINS(sh.err, "it is shorter than its index");
    shell_close(&sh);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

/* A text of the metadata of v2 that is replaced, by what, and the message. */
static const struct {
    const char *from, *to, *err;
} damaged[] = {
    {"2, \"shape\"", "3, \"shape\"", "is damaged, or of another version"},
    {"[3, 2]", "[3, -2]", "its shape or that of its chunks"},
    {"[3, 2]", "[3, 2, 1]", "its shape or that of its chunks"},
    {"[3, 2]", "3", "its shape is no list"},
    {"[2, 2]", "[0, 2]", "a size of its chunks is 0"},
    {"[2, 2]", "[2000000000, 2000000000]", "its chunks are larger than 1 GiB"},
    {"[3, 2]", "[9000000000000000000, 2000]", "does not fit into 64 bits"},
    {">i2", "|S8", "its elements are |S8"},
    {"\">i2\"", "[[\"a\", \"<i2\"]]", "of several parts"},
    {"7,", "\"x\",", "its fill value is not one of its dtype"},
    {"7,", "70000,", "its fill value is not one of its dtype"},
    {"\"compressor\": null", "\"compressor\": {\"id\": \"lzma\"}", "needs the codec lzma"},
    {"\"filters\": null", "\"filters\": [{\"id\": \"delta\"}]", "needs the codec delta"},
    {"}\n", "", "is damaged, or of another version"},
};

static void run_damaged(void *arg) {
    const size_t i = (size_t)(uintptr_t)arg;
    char text[600];
    OPEN(sh);
    const char *at = strstr(v2, damaged[i].from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - v2), v2, damaged[i].to,
             at + strlen(damaged[i].from));
    EXPECT_RUN(sh, 0, "mkdir a.zarr");
    shell_write(&sh, "a.zarr/.zarray", text);
    EXPECT_RUN(sh, 4, "fusec -q -d interp -e x x=a.zarr -o y.zarr");
    FC_EXPECT_CONTAINS(sh.err, damaged[i].err);
    EXPECT_RUN(sh, 2, "ls y.zarr");
    shell_close(&sh);
}

FC_REGISTER(damaged) {
    for (size_t i = 0; i < FC_COUNT(damaged); i++) {
        char name[20];
        snprintf(name, sizeof name, "damaged%zu", i);
        FC_ADD_TEST("cli_store", name, run_damaged, i);
    }
}

FC_TEST(cli_store, cannot_be_written) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:5000 -o x.zarr");
    EXPECT_RUN(sh, 4, "ulimit -f 8; fusec -q -d interp -e 'x*3' x=x.zarr -o y.zarr");
    FC_EXPECT_CONTAINS(sh.err, "cannot write y.zarr: ");
    EXPECT_RUN(sh, 4, "ulimit -f 8; fusec -q -d interp -e 'x*3' x=x.zarr -o y.zarr --split n=1024");
    EXPECT_RUN(sh, 0, "mkdir z.zarr && touch z.zarr/mine");
    EXPECT_RUN(sh, 4, "fusec -q -d interp -e 'x*3' x=x.zarr -o z.zarr");
    FC_EXPECT_CONTAINS(sh.err, "it is there already, and no Zarr array");
    EXPECT_RUN(sh, 0, "test -e z.zarr/mine && test \"$(ls -A | grep -c -e fusec- -e y.zarr)\" = 0");
    EXPECT_RUN(sh, 2, "fusec -q -d interp -e 'x*3' x=x.zarr -o x.zarr");
    FC_EXPECT_CONTAINS(sh.err, "the output x.zarr is the input x");
    EXPECT_RUN(sh, 0, "mkdir g.zarr && echo '{}' >g.zarr/.zgroup && cp -r x.zarr g.zarr/part");
    EXPECT_RUN(sh, 4, "fusec -q -d interp -e x x=g.zarr");
    FC_EXPECT_CONTAINS(sh.err, "g.zarr is a group of arrays: part [io]\n  help: g.zarr/part");
    EXPECT_RUN(sh, 4, "FUSEC_ZSTD_PATH=/none fusec -q -d interp -e x x=x.zarr");
    FC_EXPECT_CONTAINS(sh.err, "compressed by Zstandard");
    EXPECT_RUN(sh, 0, "FUSEC_ZSTD_PATH=/none fusec -q -d interp -e x x=iota:f32:9 -o y.zarr");
    EXPECT_RUN(sh, 0, "grep -q gzip y.zarr/zarr.json && fusec -q -d interp -e 'sum(x)' x=y.zarr");
    FC_EXPECT_STREQ(sh.out, "36.0\n");
    EXPECT_RUN(sh, 4, "head -c 900 /dev/zero >b.b2nd; fusec -q -d interp -e x x=b.b2nd");
    FC_EXPECT_CONTAINS(sh.err, "is not a Blosc2 array");
    shell_close(&sh);
}

/* Ended while it writes: no folder of another name stays. */
FC_TEST(cli_store, interrupted) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=rand:f32:200000 -o x.npy; mkfifo p");
    shell_run(
        &sh, "(exec " FUSEC_COMMAND " -q -d interp -e 'x*3' x=p --split n=1024 -o y.zarr) & a=$!; "
             "exec 3>p; head -c 400000 x.npy >&3; "
             "until ls -A | grep -q fusec- || ! kill -0 $a; do :; done; kill $a; wait $a; exit $?");
    FC_EXPECT_EQ_I64(sh.code, 143);
    EXPECT_RUN(sh, 0, "find . -not -path './.cache*'");
    if (strstr(sh.out, "fusec-") || strstr(sh.out, "y.zarr")) FC_FAIL("it left %s", sh.out);
    shell_close(&sh);
}

/* ---- Arrow ----------------------------------------------------------------------------------- */

/* As pyarrow writes a stream of a: f32 = 1.5, -2, 3 and b: bool = true, false, true, in two
 * batches.
 */
static const char arrow[] =
    "ffffffffa00000001000000000000a000c000600050008000a000000000104000c0000000800080000000400"
    "0800000004000000020000004000000004000000d8ffffff0000010610000000180000000400000000000000"
    "01000000620000000400040004000000100014000800060007000c0000001000100000000000010310000000"
    "180000000400000000000000010000006100060008000600060000000000010000000000ffffffffb8000000"
    "14000000000000000c0016000600050008000c000c0000000003040018000000180000000000000000000a00"
    "18000c00040008000a0000005c00000010000000020000000000000000000000040000000000000000000000"
    "000000000000000000000000000000000c000000000000001000000000000000000000000000000010000000"
    "0000000001000000000000000000000002000000020000000000000000000000000000000200000000000000"
    "00000000000000000000c03f000000c000004040000000000500000000000000ffffffffb800000014000000"
    "000000000c0016000600050008000c000c0000000003040018000000100000000000000000000a0018000c00"
    "040008000a0000005c0000001000000001000000000000000000000004000000000000000000000000000000"
    "0000000000000000000000000400000000000000080000000000000000000000000000000800000000000000"
    "0100000000000000000000000200000001000000000000000000000000000000010000000000000000000000"
    "0000000000004040000000000100000000000000ffffffff00000000";

static size_t write_arrow(const shell *sh, size_t n, size_t changed, unsigned char by) {
    const size_t all = strlen(arrow) / 2;
    char path[260];
    snprintf(path, sizeof path, "%s/x.arrows", sh->folder);
    FILE *f = fopen(path, "wb");
    for (size_t i = 0; f && i < (n < all ? n : all); i++) {
        const char two[] = {arrow[2 * i], arrow[2 * i + 1], 0};
        fputc((int)strtoul(two, NULL, 16) ^ (i == changed ? by : 0), f);
    }
    if (f) fclose(f);
    return all;
}

FC_TEST(cli_store, arrow) {
    OPEN(sh);
    const size_t all = write_arrow(&sh, SIZE_MAX, SIZE_MAX, 0);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x*2' x=x.arrows:a --format csv");
    FC_EXPECT_STREQ(sh.out, "3.0\n-4.0\n6.0\n");
    EXPECT_RUN(sh, 0,
               "fusec -q -d interp -e 'where(x, 1, 2)' x=x.arrows:b --format csv --split n=2");
    FC_EXPECT_STREQ(sh.out, "1\n2\n1\n");
    EXPECT_RUN(sh, 4, "fusec -q -d interp -e x x=x.arrows");
    FC_EXPECT_CONTAINS(sh.err, "several columns, and none was named [io]\n  columns: a, b");
    EXPECT_RUN(sh, 4, "fusec -q -d interp -e x x=x.arrows:c");
    FC_EXPECT_CONTAINS(sh.err, "x.arrows has no column `c`");
    write_arrow(&sh, all - 30, SIZE_MAX, 0);
    EXPECT_RUN(sh, 4,
               "fusec -q -d interp -e x x=x.arrows:a -o y.zarr; a=$?; test ! -e y.zarr && exit $a");
    shell_close(&sh);
}

/* What is written is read again (tests/store_interop.py has what others write, and read). */
FC_TEST(cli_store, arrow_written) {
    OPEN(sh);
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x - 0.5' x=rand:f32:50000 -o x.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x*2' x=x.npy -o a.npy");
    EXPECT_RUN(sh, 0, "fusec -d interp -e 'x*2' x=x.npy -o a.arrow -o a.arrows --split n=4096");
    FC_EXPECT_CONTAINS(sh.err, "a.arrow: f32[50000], ");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=a.arrow:out --expect a.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=a.arrows --expect a.npy --split n=1024");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e 'x > 0' x=x.npy -o b.npy -o b.feather");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=b.feather --expect b.npy");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=iota:i16:700x9 -o c.npy -o c.arrows");
    EXPECT_RUN(sh, 0, "fusec -q -d interp -e x x=c.arrows --expect c.npy");
    EXPECT_RUN(sh, 4, "ulimit -f 8; fusec -q -d interp -e 'x*3' x=x.npy -o y.arrow");
    FC_EXPECT_CONTAINS(sh.err, "cannot write y.arrow: ");
    EXPECT_RUN(sh, 4, "ulimit -f 8; fusec -q -d interp -e 'x*3' x=x.npy -o y.arrow --split n=1024");
    EXPECT_RUN(sh, 2, "fusec -q -d interp -e 'sum(x)' x=x.npy -o y.arrow");
    FC_EXPECT_CONTAINS(sh.err, "a column of Arrow has one axis, or two");
    EXPECT_RUN(sh, 2, "fusec -q -d interp -e 'x > 0' x=c.npy -o y.arrow");
    FC_EXPECT_CONTAINS(sh.err, "columns of rows of bool are not written");
    EXPECT_RUN(sh, 0, "test \"$(ls -A | grep -c -e fusec- -e y.arrow)\" = 0");
    shell_close(&sh);
}

/* Every byte of the messages changed, and every length: an error or numbers, nothing worse. */
FC_TEST(cli_store, arrow_damaged) {
    OPEN(sh);
    char path[260];
    snprintf(path, sizeof path, "%s/x.arrows", sh.folder);
    const size_t all = strlen(arrow) / 2;
    for (size_t i = 0; i < 2 * all; i++) {
        fc_reader r;
        fc_npy h;
        fc_error e = {0};
        char data[64];
        size_t got;
        write_arrow(&sh, i < all ? SIZE_MAX : i - all, i, 0x41);
        if (fc_arrow_open(&r, &fc_libc_alloc, path, i & 1 ? "b" : "a", &h, &e)) continue;
        do {
            if (fc_reader_fill(&r, data, sizeof data, &got, &e)) break;
        } while (got == sizeof data);
        fc_reader_close(&r);
    }
    shell_close(&sh);
}
