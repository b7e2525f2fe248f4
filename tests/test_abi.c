/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_abi.c - the binary interface: what libfusec.so exports, and how public structs and numbers
 * lie, next to the lists that are committed (tests/golden/abi.*). docs/abi.md says what may change.
 * Functions of rows (include/fusec/ops.h) come and go with the table of operations; that each is
 * exported is tested, too. */
#include <elf.h>
#include <fusec/fusec.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/ops.h"
#include "tests/support/test.h"

/* ---- exported names -------------------------------------------------------------------------- */

typedef struct names {
    char *file; /* the whole library */
    char **at;
    size_t len;
} names;

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool read_names(names *n, const char *path) {
    memset(n, 0, sizeof *n);
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    n->file = malloc((size_t)size + 1);
    bool ok = n->file && fread(n->file, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)(void *)n->file;
    if (!ok || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(void *)(n->file + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++) {
        if (s[i].sh_type != SHT_DYNSYM) continue;
        const Elf64_Sym *sym = (const Elf64_Sym *)(void *)(n->file + s[i].sh_offset);
        const size_t count = s[i].sh_size / sizeof *sym;
        n->at = calloc(count + 1, sizeof *n->at);
        for (size_t k = 0; n->at && k < count; k++)
            if (sym[k].st_shndx != SHN_UNDEF && sym[k].st_shndx != SHN_ABS)
                n->at[n->len++] = n->file + s[s[i].sh_link].sh_offset + sym[k].st_name;
    }
    if (n->at) qsort(n->at, n->len, sizeof *n->at, by_text);
    return n->at != NULL;
}

static bool has(const names *n, const char *name) {
    return bsearch(&name, n->at, n->len, sizeof *n->at, by_text) != NULL;
}

static bool is_row(const char *name) {
    if (strncmp(name, "fusec_", 6) != 0) return false;
    const fc_op op = fc_op_by_name(name + 6, strlen(name + 6));
    return op != FC_OP_NONE && !(fc_ops[op].flags & FC_F_HIDDEN);
}

/* What was exported once is exported for ever; what is new is said, and is listed by --bless. */
static void compare(const names *n, const char *now) {
    static const char path[] = FUSEC_SOURCE_DIR "/tests/golden/abi.symbols.txt";
    char line[200], word[204];
    int listed = 0;
    FILE *f = fopen(path, "r");
    fc_str old;
    fc_str_init(&old, &fc_libc_alloc);
    fc_str_char(&old, '\n');
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        fc_str_printf(&old, "%s\n", line);
        if (!has(n, line)) FC_FAIL("%s is not exported any more", line);
        listed++;
    }
    if (f) fclose(f);
    FC_EXPECT_GE_I64(listed, 100);
    for (const char *p = now; *p; p += strcspn(p, "\n") + 1) {
        snprintf(word, sizeof word, "\n%.*s\n", (int)strcspn(p, "\n"), p);
        if (!strstr(old.data, word)) printf("new in the interface: %s", word + 1);
    }
    fc_str_free(&old);
}

FC_TEST(abi, exported_names) {
    names n;
    fc_str text;
    fc_str_init(&text, &fc_libc_alloc);
    if (!read_names(&n, FUSEC_BINARY_DIR "/lib/libfusec.so")) FC_SKIP("no ELF library");
    for (size_t i = 0; i < n.len; i++) {
        FC_EXPECT_TRUE(strncmp(n.at[i], "fusec_", 6) == 0);
        if (!is_row(n.at[i])) fc_str_printf(&text, "%s\n", n.at[i]);
    }
#define ROW(name) FC_EXPECT_TRUE(has(&n, "fusec_" #name));
    FUSEC_OPS_UNARY(ROW)
    FUSEC_OPS_BINARY(ROW)
#undef ROW
    FC_EXPECT_TRUE(has(&n, "fusec_where") && has(&n, "fusec_sum"));
    if (fc_test_blessing())
        FC_EXPECT_GOLDEN("abi.symbols.txt", text.data);
    else
        compare(&n, text.data);
    fc_str_free(&text);
    free(n.at);
    free(n.file);
}

/* ---- the C library ----------------------------------------------------------------------------
 */

/* Names a version of glibc above 2.34, which RHEL 9 has: the library would not load there. */
static const char *too_new(const char *file, const Elf64_Shdr *s, const Elf64_Shdr *strings) {
    const char *at = file + s->sh_offset, *text = file + strings->sh_offset;
    for (;;) {
        const Elf64_Verneed *need = (const Elf64_Verneed *)(const void *)at;
        const char *a = at + need->vn_aux;
        for (int i = 0; i < need->vn_cnt; i++) {
            const Elf64_Vernaux *x = (const Elf64_Vernaux *)(const void *)a;
            int minor;
            if (sscanf(text + x->vna_name, "GLIBC_2.%d", &minor) == 1 && minor > 34)
                return text + x->vna_name;
            a += x->vna_next;
        }
        if (!need->vn_next) return NULL;
        at += need->vn_next;
    }
}

static void check_glibc(const char *path) {
    names n;
    int seen = 0;
    if (!read_names(&n, path)) FC_SKIP("no ELF library");
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)(void *)n.file;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(void *)(n.file + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++) {
        if (s[i].sh_type != SHT_GNU_verneed) continue;
        const char *name = too_new(n.file, &s[i], &s[s[i].sh_link]);
        if (name) FC_FAIL("%s needs %s", path, name);
        seen++;
    }
    FC_EXPECT_EQ_I64(seen, 1);
    free(n.at);
    free(n.file);
}

FC_TEST(abi, loads_with_the_c_library_of_rhel_9) {
    check_glibc(FUSEC_BINARY_DIR "/lib/libfusec.so");
    check_glibc(FUSEC_BINARY_DIR "/bin/fusec");
}

/* ---- layouts and numbers --------------------------------------------------------------------- */

#define STRUCT(type) fc_str_printf(&text, "%s: %zu bytes\n", #type, sizeof(type));
#define FIELD(type, f)                                                                             \
    fc_str_printf(&text, "    %zu %s, %zu\n", offsetof(type, f), #f, sizeof(((type *)0)->f));
#define NUMBER(name) fc_str_printf(&text, "%s = %lld\n", #name, (long long)(name));

FC_TEST(abi, layouts) {
    fc_str text;
    fc_str_init(&text, &fc_libc_alloc);
    STRUCT(fusec_options)
    FIELD(fusec_options, size)
    FIELD(fusec_options, device)
    FIELD(fusec_options, cache_dir)
    FIELD(fusec_options, threads)
    FIELD(fusec_options, mode)
    FIELD(fusec_options, log)
    FIELD(fusec_options, log_user)
    FIELD(fusec_options, alloc)
    FIELD(fusec_options, alloc_user)
    FIELD(fusec_options, max_nodes)
    FIELD(fusec_options, max_inputs)
    FIELD(fusec_options, max_outputs)
    FIELD(fusec_options, compiler)
    FIELD(fusec_options, tiers)
    FIELD(fusec_options, default_float)
    FIELD(fusec_options, llvm_path)
    FIELD(fusec_options, nvrtc_path)
    FIELD(fusec_options, poll)
    FIELD(fusec_options, poll_user)
    FIELD(fusec_options, bounds)
    FIELD(fusec_options, packs)
    FIELD(fusec_options, cpu)
    FIELD(fusec_options, never_compile)
    FIELD(fusec_options, device_alloc)
    FIELD(fusec_options, device_free)
    FIELD(fusec_options, device_alloc_user)
    STRUCT(fusec_extern_desc)
    FIELD(fusec_extern_desc, name)
    FIELD(fusec_extern_desc, nargs)
    FIELD(fusec_extern_desc, dtypes)
    FIELD(fusec_extern_desc, result)
    FIELD(fusec_extern_desc, cuda)
    FIELD(fusec_extern_desc, arrays)
    FIELD(fusec_extern_desc, user)
    FIELD(fusec_extern_desc, scalar)
    FIELD(fusec_extern_desc, slots)
    STRUCT(fusec_call_desc)
    FIELD(fusec_call_desc, name)
    FIELD(fusec_call_desc, host)
    FIELD(fusec_call_desc, cuda)
    FIELD(fusec_call_desc, user)
    FIELD(fusec_call_desc, noutputs)
    FIELD(fusec_call_desc, dtypes)
    FIELD(fusec_call_desc, ranks)
    FIELD(fusec_call_desc, shapes)
    FIELD(fusec_call_desc, workspace)
    FIELD(fusec_call_desc, text)
    FIELD(fusec_call_desc, entry)
    FIELD(fusec_call_desc, grid)
    FIELD(fusec_call_desc, threads)
    FIELD(fusec_call_desc, block)
    FIELD(fusec_call_desc, shared)
    FIELD(fusec_call_desc, launch)
    STRUCT(fusec_call_launch)
    STRUCT(fusec_memory_stats)
    STRUCT(fusec_explain_options)
    FIELD(fusec_explain_options, flags)
    FIELD(fusec_explain_options, ninputs)
    FIELD(fusec_explain_options, noutputs)
    FIELD(fusec_explain_options, inputs)
    FIELD(fusec_explain_options, outputs)
    FIELD(fusec_explain_options, title)
    FIELD(fusec_explain_options, unfused)
    FIELD(fusec_explain_options, text)
    FIELD(fusec_explain_options, text_name)
    FIELD(fusec_explain_options, expr)
    STRUCT(fusec_cost)
    FIELD(fusec_cost, read)
    FIELD(fusec_cost, written)
    FIELD(fusec_cost, traffic)
    FIELD(fusec_cost, operations)
    FIELD(fusec_cost, predicted)
    STRUCT(fusec_counters)
    FIELD(fusec_counters, size)
    FIELD(fusec_counters, compiles)
    FIELD(fusec_counters, disk_hits)
    FIELD(fusec_counters, memory_hits)
    FIELD(fusec_counters, plans)
    STRUCT(fusec_tensor)
    FIELD(fusec_tensor, data)
    FIELD(fusec_tensor, shape)
    FIELD(fusec_tensor, strides)
    FIELD(fusec_tensor, rank)
    FIELD(fusec_tensor, dtype)
    FIELD(fusec_tensor, place)
    FIELD(fusec_tensor, device_id)
    FIELD(fusec_tensor, reserved)
    STRUCT(fusec_value)
    FIELD(fusec_value, graph)
    FIELD(fusec_value, bits)
    FIELD(fusec_value, node)
    FIELD(fusec_value, kind)
    STRUCT(fusec_dim)
    FIELD(fusec_dim, graph)
    FIELD(fusec_dim, id)
    STRUCT(fusec_attr)
    FIELD(fusec_attr, size)
    FIELD(fusec_attr, dtype)
    FIELD(fusec_attr, keepdims)
    FIELD(fusec_attr, naxes)
    FIELD(fusec_attr, rank)
    FIELD(fusec_attr, axes)
    FIELD(fusec_attr, shape)
    FIELD(fusec_attr, start)
    FIELD(fusec_attr, step)
    FIELD(fusec_attr, mode)
    FIELD(fusec_attr, dims)
    FIELD(fusec_attr, text)
    NUMBER(FUSEC_HOST)
    NUMBER(FUSEC_DEVICE)
    NUMBER(FUSEC_CUDA)
    NUMBER(FUSEC_END)
    NUMBER(FUSEC_PROGRAM_GRAPH)
    NUMBER(FUSEC_PROGRAM_UNFUSED)
    NUMBER(FUSEC_EXPLAIN_JSON)
    NUMBER(FUSEC_EXPLAIN_COMPILE)
    NUMBER(FUSEC_EXPLAIN_HTML)
    NUMBER(FUSEC_EXPLAIN_SVG)
    NUMBER(FUSEC_EXPLAIN_DOT)
    NUMBER(FUSEC_EXPLAIN_PLAIN)
    NUMBER(FUSEC_EXPLAIN_TIMES)
    NUMBER(FUSEC_TIERS_DEFAULT)
    NUMBER(FUSEC_TIERS_FULL)
    NUMBER(FUSEC_TIERS_BOTH)
    NUMBER(FUSEC_MODE_CONTRACT)
    NUMBER(FUSEC_MODE_REASSOC)
    NUMBER(FUSEC_MODE_RECIP)
    NUMBER(FUSEC_MODE_NNAN)
    NUMBER(FUSEC_MODE_NINF)
    NUMBER(FUSEC_MODE_NSZ)
    NUMBER(FUSEC_MODE_APPROX)
    NUMBER(FUSEC_MODE_WIDE16)
    NUMBER(FUSEC_MODE_TF32)
    NUMBER(FUSEC_NO_DTYPE)
    for (int t = 0; t < FC_DTYPE_COUNT; t++)
        fc_str_printf(&text, "dtype %d %s\n", t, fusec_dtype_name((fusec_dtype)t));
    for (int s = 0; s < FC_STATUS_COUNT; s++)
        fc_str_printf(&text, "status %d %s\n", s, fusec_status_name((fusec_status)s));
    FC_EXPECT_GOLDEN("abi.layout.txt", text.data);
    fc_str_free(&text);
}

/* ---- callers of other versions --------------------------------------------------------------- */

/* A caller's struct may be shorter or longer than ours; what it lacks has its default, and what is
 * behind it is not touched. */
FC_TEST(abi, structs_of_other_sizes) {
    struct {
        fusec_options o;
        char more[32];
    } longer;
    fusec_context *ctx = NULL;
    memset(&longer, 0xff, sizeof longer);
    const fusec_options defaults = FUSEC_OPTIONS_INIT;
    longer.o = defaults;
    longer.o.size = sizeof longer;
    longer.o.device = "interp";
    FC_EXPECT_OK_TEXT(fusec_context_new(&longer.o, &ctx), fusec_message(NULL));
    fusec_counters c;
    memset(&c, 0xff, sizeof c);
    c.size = offsetof(fusec_counters, memory_hits);
    FC_EXPECT_OK_TEXT(fusec_get_counters(ctx, &c), fusec_message(ctx));
    FC_EXPECT_TRUE(c.compiles == 0 && c.disk_hits == 0 && c.memory_hits == UINT64_MAX);
    FC_EXPECT_EQ_U64(c.size, offsetof(fusec_counters, memory_hits));
    c.size = 1;
    FC_EXPECT_EQ_I64(fusec_get_counters(ctx, &c), FUSEC_INVALID);
    fusec_context_free(ctx);
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.size = offsetof(fusec_options, threads); /* before the fields with nonsense in them */
    o.device = "interp";
    o.threads = -1;
    o.default_float = 77;
    FC_EXPECT_OK_TEXT(fusec_context_new(&o, &ctx), fusec_message(NULL));
    fusec_lazy *v = NULL, *w = NULL;
    fusec_attr a = FUSEC_ATTR_INIT;
    a.size = offsetof(fusec_attr, keepdims);
    a.dtype = FUSEC_F64;
    a.keepdims = 99;
    FC_EXPECT_OK_TEXT(fusec_lazy_integer(ctx, FUSEC_I32, 7, &v), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_lazy_op(ctx, fusec_op_find("cast"), 1, &v, &a, &w), fusec_message(ctx));
    FC_EXPECT_EQ_I64(fusec_lazy_dtype(w), FUSEC_F64);
    fusec_lazy_release(v);
    fusec_lazy_release(w);
    fusec_context_free(ctx);
}
