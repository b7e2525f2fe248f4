/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_diskcache.c - the disk cache against every fault that can be made in seconds. */
#include "runtime/diskcache.h"
#include "runtime/sha256.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const fc_alloc *const A = &fc_libc_alloc;
enum { KIND = 7, HEADER = 152 };

/* ---- tools --------------------------------------------------------------------------------- */

static void remove_tree(const char *dir) {
    char path[700];
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            remove_tree(path);
        else
            unlink(path);
    }
    if (d) closedir(d);
    rmdir(dir);
}

typedef struct place {
    char root[64], dir[80];
    fc_diskcache *c;
} place;

static fc_diskcache *open_at(const char *dir, uint64_t limit) {
    fc_diskcache_dirs d = {.dir = dir};
    return fc_diskcache_open(A, &d, limit);
}

static bool start(place *p, uint64_t limit) {
    snprintf(p->root, sizeof p->root, "/tmp/fusec-cache-test-XXXXXX");
    if (!mkdtemp(p->root)) return false;
    snprintf(p->dir, sizeof p->dir, "%s/a/cache", p->root);
    p->c = open_at(p->dir, limit);
    return p->c && fc_diskcache_why(p->c) == NULL;
}

static void finish(place *p) {
    fc_diskcache_close(p->c);
    remove_tree(p->root);
}

static void make_key(uint8_t key[32], uint64_t n) {
    fc_sha256 s;
    fc_sha256_init(&s);
    fc_sha256_add_part(&s, &n, sizeof n);
    fc_sha256_end(&s, key);
}

/* Of entry n. */
static void path_of(const place *p, uint64_t n, char out[200]) {
    uint8_t key[32];
    char hex[65];
    make_key(key, n);
    fc_sha256_hex(key, hex);
    snprintf(out, 200, "%s/%s", p->dir, hex);
}

/* The bytes of entry n: its length and content follow from the number, so any reader can check
 * them. */
static size_t make_payload(uint64_t n, uint8_t out[4096]) {
    size_t len = 100 + (size_t)(n * 37 % 3000);
    for (size_t i = 0; i < len; i++) out[i] = (uint8_t)(n * 11 + i * 3 + (i >> 8));
    return len;
}

static bool put(fc_diskcache *c, uint64_t n) {
    uint8_t key[32], data[4096];
    make_key(key, n);
    return fc_diskcache_put(c, key, KIND, "label", data, make_payload(n, data));
}

typedef enum outcome { MISS, HIT, WRONG } outcome;

static outcome get(fc_diskcache *c, uint64_t n) {
    uint8_t key[32], data[4096];
    fc_bytes b = {NULL, 0};
    make_key(key, n);
    if (!fc_diskcache_get(c, key, KIND, &b)) return b.data ? WRONG : MISS;
    size_t len = make_payload(n, data);
    outcome o = b.len == len && memcmp(b.data, data, len) == 0 && b.data[len] == 0 ? HIT : WRONG;
    fc_bytes_free(A, &b);
    return o;
}

static size_t read_file(const char *path, uint8_t out[8192]) {
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(out, 1, 8192, f) : 0;
    if (f) fclose(f);
    return n;
}

static void write_file(const char *path, const void *data, size_t len) {
    FILE *f = fopen(path, "wb");
    if (!f) return;
    if (len) (void)!fwrite(data, 1, len, f);
    fclose(f);
}

/* Whether the damaged file was a miss and is gone. */
static void expect_dropped(place *p, uint64_t n, const char *path) {
    struct stat st;
    FC_EXPECT_EQ_I64(get(p->c, n), MISS);
    FC_EXPECT_TRUE(lstat(path, &st) != 0);
}

/* ---- the ordinary -------------------------------------------------------------------------- */

static void count_entry(void *user, const fc_diskcache_entry *entry) {
    int *n = user;
    FC_EXPECT_EQ_I64(entry->kind, KIND);
    FC_EXPECT_TRUE(entry->age >= 0 && entry->age < 100);
    FC_EXPECT_STREQ(entry->label, "label");
    ++*n;
}

FC_TEST(diskcache, keeps_and_forgets) {
    place p;
    fc_diskcache_stats st;
    int listed = 0;
    FC_ASSERT_TRUE(start(&p, 0));
    for (uint64_t n = 0; n < 20; n++) FC_EXPECT_EQ_I64(get(p.c, n), MISS);
    for (uint64_t n = 0; n < 20; n++) FC_EXPECT_TRUE(put(p.c, n));
    for (uint64_t n = 0; n < 20; n++) FC_EXPECT_EQ_I64(get(p.c, n), HIT);
    fc_diskcache *again = open_at(p.dir, 0); /* another process */
    FC_EXPECT_EQ_I64(get(again, 3), HIT);
    fc_diskcache_close(again);
    fc_diskcache_stats_get(p.c, &st);
    FC_EXPECT_EQ_U64(st.entries, 20);
    FC_EXPECT_EQ_U64(st.hits, 20);
    FC_EXPECT_EQ_U64(st.misses, 20);
    FC_EXPECT_EQ_U64(st.damaged, 0);
    FC_EXPECT_EQ_U64(st.limit, FC_CACHE_DEFAULT_LIMIT);
    fc_diskcache_list(p.c, count_entry, &listed);
    FC_EXPECT_EQ_I64(listed, 20);
    FC_EXPECT_EQ_U64(fc_diskcache_clear(p.c, 3600), 0);
    FC_EXPECT_EQ_U64(fc_diskcache_clear(p.c, 0), 20);
    FC_EXPECT_EQ_I64(get(p.c, 3), MISS);
    finish(&p);
}

FC_TEST(diskcache, empty_payload_and_too_large) {
    place p;
    uint8_t key[32];
    fc_bytes b = {NULL, 0};
    FC_ASSERT_TRUE(start(&p, 0));
    make_key(key, 1);
    FC_EXPECT_TRUE(fc_diskcache_put(p.c, key, KIND, "label", NULL, 0));
    FC_EXPECT_TRUE(fc_diskcache_get(p.c, key, KIND, &b));
    FC_EXPECT_EQ_I64((int64_t)b.len, 0);
    fc_bytes_free(A, &b);
    FC_EXPECT_FALSE(fc_diskcache_put(p.c, key, KIND, "label", key, (size_t)FC_CACHE_MAX_ENTRY));
    FC_EXPECT_FALSE(fc_diskcache_put(p.c, key, KIND, "label", key, SIZE_MAX));
    finish(&p);
}

static void expect_dir(fc_diskcache_dirs d, const char *wanted, const char *why) {
    fc_diskcache *c = fc_diskcache_open(A, &d, 0);
    FC_ASSERT_TRUE(c != NULL);
    FC_EXPECT_STREQ(fc_diskcache_dir(c), wanted);
    if (why)
        FC_EXPECT_CONTAINS(fc_diskcache_why(c) ? fc_diskcache_why(c) : "on", why);
    else
        FC_EXPECT_TRUE(fc_diskcache_why(c) == NULL);
    if (why) FC_EXPECT_FALSE(put(c, 1));
    if (why) FC_EXPECT_EQ_I64(get(c, 1), MISS);
    fc_diskcache_close(c);
}

FC_TEST(diskcache, chooses_the_directory) {
    place p;
    char home[100], xdg[100], wanted[120], file[120], open_dir[100], link[100];
    FC_ASSERT_TRUE(start(&p, 0));
    snprintf(home, sizeof home, "%s/home", p.root);
    snprintf(xdg, sizeof xdg, "%s/xdg", p.root);
    snprintf(wanted, sizeof wanted, "%s/.cache/fusec", home);
    expect_dir((fc_diskcache_dirs){.home = home}, wanted, NULL);
    snprintf(wanted, sizeof wanted, "%s/fusec", xdg);
    expect_dir((fc_diskcache_dirs){.home = home, .xdg_cache_home = xdg}, wanted, NULL);
    expect_dir((fc_diskcache_dirs){.home = home, .xdg_cache_home = xdg, .cache_dir = p.dir}, p.dir,
               NULL);
    expect_dir((fc_diskcache_dirs){.dir = "", .home = ""}, "", "no home");
    expect_dir((fc_diskcache_dirs){.dir = "cache"}, "cache", "not an absolute path");
    snprintf(file, sizeof file, "%s/file", p.root);
    write_file(file, "x", 1);
    expect_dir((fc_diskcache_dirs){.dir = file}, file, "Not a directory");
    expect_dir((fc_diskcache_dirs){.dir = "/proc/none"}, "/proc/none", "No such file");
    snprintf(open_dir, sizeof open_dir, "%s/open", p.root);
    FC_ASSERT_TRUE(mkdir(open_dir, 0700) == 0 && chmod(open_dir, 0777) == 0);
    expect_dir((fc_diskcache_dirs){.dir = open_dir}, open_dir, "others may write");
    snprintf(link, sizeof link, "%s/link", p.root);
    FC_ASSERT_TRUE(symlink(p.dir, link) == 0); /* a user may keep it on another disk */
    expect_dir((fc_diskcache_dirs){.dir = link}, link, NULL);
    if (geteuid() == 0) {
        FC_ASSERT_TRUE(chmod(open_dir, 0700) == 0 && chown(open_dir, 65534, 65534) == 0);
        expect_dir((fc_diskcache_dirs){.dir = open_dir}, open_dir, "belongs to another user");
    }
    FC_EXPECT_EQ_I64(get(NULL, 1), MISS);
    FC_EXPECT_FALSE(put(NULL, 1));
    FC_EXPECT_TRUE(fc_diskcache_why(NULL) != NULL);
    finish(&p);
}

/* ---- damage -------------------------------------------------------------------------------- */

/* A cache with entry n: where it is, its bytes and how many; 0: there is none. */
static size_t start_with(place *p, uint64_t n, char path[200], uint8_t *file) {
    if (!start(p, 0) || !put(p->c, n)) return 0;
    path_of(p, n, path);
    return read_file(path, file);
}

FC_TEST(diskcache, truncation) {
    place p;
    uint8_t file[8192];
    char path[200];
    size_t len = start_with(&p, 5, path, file);
    FC_ASSERT_TRUE(len > HEADER + 64);
    for (size_t n = 0; n < len; n += n < HEADER + 64 ? 1 : 7) {
        write_file(path, file, n);
        expect_dropped(&p, 5, path);
    }
    file[len] = 0;
    write_file(path, file, len + 1);
    expect_dropped(&p, 5, path);
    FC_EXPECT_TRUE(put(p.c, 5));
    FC_EXPECT_EQ_I64(get(p.c, 5), HIT);
    finish(&p);
}

FC_TEST(diskcache, bit_flips) {
    place p;
    uint8_t file[8192];
    char path[200];
    size_t len = start_with(&p, 6, path, file);
    FC_ASSERT_TRUE(len > HEADER + 64);
    for (size_t bit = 0; bit < 8 * len; bit += bit < (size_t)8 * HEADER ? 1 : 5) {
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        write_file(path, file, len);
        expect_dropped(&p, 6, path);
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    finish(&p);
}

FC_TEST(diskcache, hostile_lengths) {
    const uint64_t lengths[] = {
        0, 1, (uint64_t)1 << 31, UINT64_MAX, UINT64_MAX - HEADER, (uint64_t)64 << 20};
    place p;
    uint8_t file[8192];
    char path[200];
    size_t len = start_with(&p, 7, path, file);
    FC_ASSERT_TRUE(len > HEADER + 64);
    for (size_t i = 0; i < FC_COUNT(lengths); i++) {
        memcpy(file + 16, &lengths[i], 8);
        write_file(path, file, len);
        expect_dropped(&p, 7, path);
    }
    write_file(path, file, len); /* sparse and huge */
    FC_ASSERT_TRUE(truncate(path, (off_t)1 << 40) == 0);
    expect_dropped(&p, 7, path);
    finish(&p);
}

FC_TEST(diskcache, entry_of_another_key_or_kind) {
    place p;
    uint8_t key[32], data[4096];
    char from[200], to[200];
    fc_bytes b = {NULL, 0};
    uint8_t file[8192];
    FC_ASSERT_TRUE(start(&p, 0));
    for (uint64_t i = 0; i < 20; i++)
        for (uint64_t j = 0; j < 20; j++) {
            if (i == j) continue;
            FC_ASSERT_TRUE(put(p.c, i));
            path_of(&p, i, from);
            path_of(&p, j, to);
            write_file(to, file, read_file(from, file));
            expect_dropped(&p, j, to);
            FC_EXPECT_EQ_I64(get(p.c, i), HIT);
        }
    make_key(key, 1);
    FC_EXPECT_FALSE(fc_diskcache_get(p.c, key, KIND + 1, &b));
    FC_EXPECT_TRUE(fc_diskcache_put(p.c, key, KIND, "label", data, make_payload(1, data)));
    FC_EXPECT_EQ_I64(get(p.c, 1), HIT);
    finish(&p);
}

FC_TEST(diskcache, entries_that_are_no_files) {
    place p;
    char path[200], elsewhere[120];
    struct stat st;
    FC_ASSERT_TRUE(start(&p, 0));
    path_of(&p, 8, path);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", p.root);
    FC_ASSERT_TRUE(put(p.c, 8) && rename(path, elsewhere) == 0);
    FC_ASSERT_TRUE(symlink(elsewhere, path) == 0);
    expect_dropped(&p, 8, path);
    FC_EXPECT_TRUE(stat(elsewhere, &st) == 0); /* the link went, not what it pointed to */
    FC_ASSERT_TRUE(link(elsewhere, path) == 0);
    expect_dropped(&p, 8, path);
    FC_ASSERT_TRUE(mkfifo(path, 0600) == 0);
    alarm(100); /* a read of a pipe would wait for ever */
    expect_dropped(&p, 8, path);
    alarm(0);
    FC_ASSERT_TRUE(mkdir(path, 0700) == 0);
    FC_EXPECT_EQ_I64(get(p.c, 8), MISS);
    FC_EXPECT_FALSE(put(p.c, 8));
    rmdir(path);
    FC_EXPECT_TRUE(put(p.c, 8));
    FC_ASSERT_TRUE(chmod(path, 0666) == 0);
    expect_dropped(&p, 8, path);
    finish(&p);
}

static int count_temporaries(const place *p) {
    int n = 0;
    DIR *d = opendir(p->dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) n += strncmp(e->d_name, ".tmp-", 5) == 0;
    if (d) closedir(d);
    return n;
}

/* In a child, as the limits can't be taken back and root is stopped by no permission. */
static int child_result(void (*body)(place *p), place *p) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        body(p);
        _exit(fc_test_has_failed() ? 1 : 0);
    }
    if (waitpid(child, &status, 0) != child) return -1;
    return status;
}

static void with_full_disk(place *p) {
    struct rlimit r = {1000, 1000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &r); /* a write past it fails half-way, like that on a full disk */
    bool large = put(p->c, 80), small = put(p->c, 1);
    _exit(large || !small || get(p->c, 1) != HIT || count_temporaries(p) != 0);
}

static void without_descriptors(place *p) {
    struct rlimit r = {3, 3};
    setrlimit(RLIMIT_NOFILE, &r);
    bool stored = put(p->c, 82);
    outcome o = get(p->c, 82);
    _exit(stored || o != MISS);
}

static void in_a_read_only_dir(place *p) {
    char dir[100];
    snprintf(dir, sizeof dir, "%s/mine", p->root);
    if (mkdir(dir, 0700) != 0 || chown(dir, 65534, 65534) != 0) _exit(2);
    if (chmod(p->root, 0755) != 0 || seteuid(65534) != 0) _exit(3);
    fc_diskcache *c = open_at(dir, 0);
    bool before = put(c, 1);
    if (chmod(dir, 0500) != 0) _exit(4);
    bool after = put(c, 2);
    outcome o = get(c, 1), none = get(c, 2);
    fc_diskcache_close(c);
    if (chmod(dir, 0700) != 0) _exit(5);
    _exit(!before || after || o != HIT || none != MISS);
}

FC_TEST(diskcache, failing_system) {
    place p;
    FC_ASSERT_TRUE(start(&p, 0));
    FC_EXPECT_EQ_I64(child_result(with_full_disk, &p), 0);
    FC_EXPECT_EQ_I64(child_result(without_descriptors, &p), 0);
    if (geteuid() == 0) FC_EXPECT_EQ_I64(child_result(in_a_read_only_dir, &p), 0);
    remove_tree(p.dir); /* while it is open */
    FC_EXPECT_FALSE(put(p.c, 1));
    FC_EXPECT_EQ_I64(get(p.c, 1), MISS);
    finish(&p);
}

/* ---- eviction ------------------------------------------------------------------------------ */

static void set_age(const place *p, uint64_t n, int64_t seconds) {
    char path[200];
    path_of(p, n, path);
    struct timespec t[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    utimensat(AT_FDCWD, path, t, 0);
}

FC_TEST(diskcache, evicts_the_least_recently_used) {
    place p;
    fc_diskcache_stats st;
    const uint64_t limit = 60 << 10;
    FC_ASSERT_TRUE(start(&p, limit));
    for (uint64_t n = 0; n < 40; n++) FC_ASSERT_TRUE(put(p.c, n));
    for (uint64_t n = 0; n < 40; n++) set_age(&p, n, n < 5 ? -1000000 : (int64_t)(100000 - n));
    FC_EXPECT_EQ_I64(get(p.c, 10), HIT); /* used just now */
    for (uint64_t n = 100; n < 130; n++) {
        FC_ASSERT_TRUE(put(p.c, n));
        set_age(&p, n, 50);
    }
    fc_diskcache_stats_get(p.c, &st);
    FC_EXPECT_TRUE(st.bytes <= limit + limit / 10);
    FC_EXPECT_TRUE(st.bytes >= limit / 2);
    FC_EXPECT_EQ_I64(get(p.c, 10), HIT);
    FC_EXPECT_EQ_I64(get(p.c, 129), HIT);
    for (uint64_t n = 0; n < 8; n++)
        FC_EXPECT_EQ_I64(get(p.c, n), MISS); /* wrong clock, or oldest */
    finish(&p);
}

FC_TEST(diskcache, leaves_other_files_alone) {
    place p;
    char path[200], old[200], fresh[200];
    struct stat st;
    struct timespec t[2] = {{1000, 0}, {1000, 0}};
    FC_ASSERT_TRUE(start(&p, 20 << 10));
    snprintf(path, sizeof path, "%s/README", p.dir);
    snprintf(old, sizeof old, "%s/.tmp-1-2-3", p.dir);
    snprintf(fresh, sizeof fresh, "%s/.tmp-1-2-4", p.dir);
    write_file(path, "keep", 4);
    write_file(old, "x", 1);
    write_file(fresh, "x", 1);
    utimensat(AT_FDCWD, path, t, 0);
    utimensat(AT_FDCWD, old, t, 0);
    for (uint64_t n = 0; n < 60; n++) FC_EXPECT_TRUE(put(p.c, n));
    fc_diskcache_clear(p.c, 0);
    FC_EXPECT_TRUE(stat(path, &st) == 0);
    FC_EXPECT_TRUE(stat(old, &st) != 0); /* left by a writer that died */
    FC_EXPECT_TRUE(stat(fresh, &st) == 0);
    finish(&p);
}

/* Another program's files may be called by 64 digits too. */
FC_TEST(diskcache, a_name_makes_no_entry) {
    place p;
    char foreign[3][200];
    static const char *const texts[3] = {"somebody's notes", "fusecKC", "\177ELF"};
    struct stat st;
    struct timespec t[2] = {{1000, 0}, {1000, 0}};
    fc_diskcache_stats s;
    int listed = 0;
    FC_ASSERT_TRUE(start(&p, 20 << 10));
    for (int i = 0; i < 3; i++) {
        path_of(&p, 1000 + (uint64_t)i, foreign[i]);
        write_file(foreign[i], texts[i], strlen(texts[i]));
        utimensat(AT_FDCWD, foreign[i], t, 0); /* the oldest of all */
    }
    FC_EXPECT_TRUE(put(p.c, 1));
    fc_diskcache_stats_get(p.c, &s);
    FC_EXPECT_EQ_U64(s.entries, 1);
    fc_diskcache_list(p.c, count_entry, &listed);
    FC_EXPECT_EQ_I64(listed, 1);
    for (uint64_t n = 0; n < 60; n++) FC_EXPECT_TRUE(put(p.c, n)); /* evicts */
    FC_EXPECT_TRUE(fc_diskcache_clear(p.c, 0) > 0);
    for (int i = 0; i < 3; i++) FC_EXPECT_TRUE(stat(foreign[i], &st) == 0);
    write_file(foreign[0], "", 0); /* what a crash of the system can leave of an entry */
    FC_EXPECT_EQ_U64(fc_diskcache_clear(p.c, 0), 1);
    finish(&p);
}

static void take_label(void *user, const fc_diskcache_entry *entry) {
    memcpy(user, entry->label, FC_CACHE_LABEL);
}

FC_TEST(diskcache, labels_are_printable) {
    place p;
    uint8_t key[32];
    char label[FC_CACHE_LABEL], path[200], text[200];
    FC_ASSERT_TRUE(start(&p, 0));
    make_key(key, 1);
    path_of(&p, 1, path);
    FC_EXPECT_TRUE(fc_diskcache_put(p.c, key, KIND, NULL, key, 32));
    fc_diskcache_list(p.c, take_label, label);
    FC_EXPECT_STREQ(label, "");
    FC_EXPECT_TRUE(fc_diskcache_put(p.c, key, KIND, "a\tb\x1b[0m", key, 32));
    fc_diskcache_list(p.c, take_label, label);
    FC_EXPECT_STREQ(label, "a?b?[0m");
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    FC_EXPECT_TRUE(fc_diskcache_put(p.c, key, KIND, text, key, 32));
    fc_diskcache_list(p.c, take_label, label);
    FC_EXPECT_EQ_I64((int64_t)strlen(label), FC_CACHE_LABEL - 1);
    int fd = open(path, O_WRONLY); /* a label that fills its place, and no text */
    memset(text, '\x01', sizeof text);
    FC_EXPECT_TRUE(fd >= 0 && pwrite(fd, text, FC_CACHE_LABEL, 56) == FC_CACHE_LABEL);
    close(fd);
    fc_diskcache_list(p.c, take_label, label);
    FC_EXPECT_EQ_I64((int64_t)strspn(label, "?"), FC_CACHE_LABEL - 1);
    finish(&p);
}

/* ---- many processes ------------------------------------------------------------------------ */

/* Every process reads and writes the same keys through a cache that is far too small, and one of
 * them keeps removing what it finds. */
static int worker(const char *dir, int id, uint64_t rounds) {
    fc_diskcache *c = open_at(dir, 30 << 10);
    uint64_t random = (uint64_t)id * 2654435761u + 88172645463325252u;
    int wrong = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t n = random % 40;
        outcome o = get(c, n);
        if (o == WRONG) wrong++;
        if (o == MISS) (void)put(c, n);
        if (id == 0 && i % 50 == 0) fc_diskcache_clear(c, 0);
    }
    fc_diskcache_close(c);
    return wrong;
}

FC_TEST(diskcache, many_processes) {
    enum { N = 8 };
    place p;
    pid_t children[N];
    FC_ASSERT_TRUE(start(&p, 0));
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(worker(p.dir, i, 400));
    }
    for (int i = 0; i < N; i++) {
        int status = -1;
        FC_EXPECT_EQ_I64(waitpid(children[i], &status, 0), children[i]);
        FC_EXPECT_EQ_I64(status, 0);
    }
    FC_EXPECT_EQ_I64(count_temporaries(&p), 0);
    finish(&p);
}

FC_TEST(diskcache, killed_writers) {
    place p;
    int hits = 0;
    FC_ASSERT_TRUE(start(&p, 0));
    /* a busy machine may end the first 40 before they wrote anything */
    for (int round = 0; round < 40 || (!hits && round < 4000); round++) {
        pid_t child = fork();
        if (child == 0) _exit(worker(p.dir, round + 1, UINT64_MAX));
        struct timespec t = {0, 500000 + round % 1000 * 150000};
        nanosleep(&t, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        for (uint64_t n = 0; n < 40; n++) {
            outcome o = get(p.c, n);
            FC_EXPECT_TRUE(o != WRONG);
            hits += o == HIT;
        }
    }
    FC_EXPECT_GT_I64(hits, 0);
    finish(&p);
}
