/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sha256.c - the examples of the standard, and splitting. */
#include "runtime/sha256.h"
#include "tests/support/test.h"

static void check_digest(const char *text, size_t len, int repeat, const char *wanted) {
    fc_sha256 s;
    uint8_t d[FC_SHA256_SIZE];
    char hex[2 * FC_SHA256_SIZE + 1];
    fc_sha256_init(&s);
    for (int i = 0; i < repeat; i++) fc_sha256_add(&s, text, len);
    fc_sha256_end(&s, d);
    fc_sha256_hex(d, hex);
    FC_EXPECT_STREQ(hex, wanted);
}

FC_TEST(sha256, examples_of_the_standard) {
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    check_digest("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 3, 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest(two, 56, 1, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_digest("aaaaaaaaaa", 10, 100000,
                 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

FC_TEST(sha256, any_split_gives_the_same) {
    uint8_t text[300], whole[32], parts[32];
    fc_sha256 s;
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)(i * 7);
    for (size_t len = 0; len < sizeof text; len += 13) {
        fc_sha256_init(&s);
        fc_sha256_add(&s, text, len);
        fc_sha256_end(&s, whole);
        for (size_t cut = 0; cut <= len; cut++) {
            fc_sha256_init(&s);
            fc_sha256_add(&s, text, cut);
            fc_sha256_add(&s, text + cut, len - cut);
            fc_sha256_end(&s, parts);
            FC_EXPECT_MEMEQ(whole, parts, 32);
        }
    }
}

/* What the processor has instructions for is also computed without them. */
FC_TEST(sha256, both_ways_are_the_same) {
    uint8_t text[64 * 37];
    uint32_t plain[8] = {0}, here[8] = {0};
    fc_sha256_mix *mix = fc_sha256_mix_here();
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)(i * i / 7 + i);
    for (size_t n = 0; n < 9; n++) {
        fc_sha256_mix_plain(plain, text + 64 * n * (n - 1) / 2, n);
        mix(here, text + 64 * n * (n - 1) / 2, n);
        FC_EXPECT_MEMEQ(plain, here, sizeof plain);
    }
}
