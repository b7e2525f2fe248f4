/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cmd_cache.c - `fusec cache`: where compiled kernels are kept, how big that is,
 * clearing it, and making one file of it, also for a program that has not run yet. */
#include "frontend/cli/made_kernels.h"
#include "frontend/io/array.h"
#include "runtime/pack.h"

#include <stdio.h>

/* "30d", "12h", "90m", "10s", "2w" as seconds. */
static fusec_status parse_age(const char *text, int64_t *out, fc_error *e) {
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    int64_t n = 0;
    size_t i = 0;
    for (; text[i] >= '0' && text[i] <= '9' && n < 1000000; i++) n = n * 10 + (text[i] - '0');
    for (size_t u = 0; i && u < FC_COUNT(units); u++) {
        if (text[i] != units[u].unit || text[i + 1]) continue;
        *out = n * units[u].seconds;
        return FUSEC_OK;
    }
    return fc_fail(e, FUSEC_USAGE, "--older takes an age such as 30d, 12h or 90m, not `%.60s`",
                   text);
}

static void age_text(char buf[24], int64_t seconds) {
    if (seconds >= 2 * 86400)
        snprintf(buf, 24, "%lldd", (long long)(seconds / 86400));
    else if (seconds >= 2 * 3600)
        snprintf(buf, 24, "%lldh", (long long)(seconds / 3600));
    else
        snprintf(buf, 24, "%lldm", (long long)(seconds / 60));
}

/* ---- entries ------------------------------------------------------------------------------- */

typedef struct lister {
    fc_str *out;
    bool json, plain;
    uint64_t count;
} lister;

static const char *kind_name(uint32_t kind) {
    return kind == FC_DEV_CUDA ? "cuda" : kind == FC_DEV_CPU ? "cpu" : "other";
}

static void list_one(void *user, const fc_diskcache_entry *x) {
    lister *l = user;
    char key[2 * FC_CACHE_KEY + 1], size[32], age[24];
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < FC_CACHE_KEY; i++) {
        key[2 * i] = digits[x->key[i] >> 4];
        key[2 * i + 1] = digits[x->key[i] & 15];
    }
    key[2 * FC_CACHE_KEY] = 0;
    if (l->json) {
        fc_str_printf(l->out, "%s{\"key\":\"%s\",\"device\":\"%s\",\"bytes\":%llu,\"age\":%lld",
                      l->count ? "," : "", key, kind_name(x->kind), (unsigned long long)x->bytes,
                      (long long)x->age);
        fc_str_add(l->out, ",\"kernel\":");
        fc_json_text(l->out, x->label);
        fc_str_char(l->out, '}');
    } else if (l->plain) {
        fc_str_printf(l->out, "%s\t%s\t%llu\t%lld\t%s\n", key, kind_name(x->kind),
                      (unsigned long long)x->bytes, (long long)x->age, x->label);
    } else {
        if (!l->count)
            fc_str_printf(l->out, "%-16s  %-6s  %10s  %6s  %s\n", "key", "device", "size", "used",
                          "made for");
        age_text(age, x->age);
        fc_str_printf(l->out, "%.16s  %-6s  %10s  %6s  %s\n", key, kind_name(x->kind),
                      fc_show_bytes(size, (int64_t)x->bytes), age, x->label);
    }
    l->count++;
}

/* ---- the three answers ----------------------------------------------------------------------- */

static void summary_json(fc_diskcache *disk, const fc_diskcache_stats *st, const char *dir,
                         const char *why, lister *list, bool all) {
    fc_str *out = list->out;
    fc_str_add(out, "{\"directory\":");
    fc_json_text(out, dir);
    fc_str_add(out, ",\"off\":");
    if (why)
        fc_json_text(out, why);
    else
        fc_str_add(out, "null");
    fc_str_printf(out, ",\"entries\":%llu,\"bytes\":%llu,\"limit\":%llu",
                  (unsigned long long)st->entries, (unsigned long long)st->bytes,
                  (unsigned long long)st->limit);
    if (all) {
        fc_str_add(out, ",\"list\":[");
        fc_diskcache_list(disk, list_one, list);
        fc_str_add(out, "]");
    }
    fc_str_add(out, "}\n");
}

static void summary_text(fc_str *out, const fc_diskcache_stats *st, const char *dir,
                         const char *why) {
    char size[32], limit[32], n[FC_COMMAS];
    if (*dir) fc_str_printf(out, "%s\n", dir);
    if (why)
        fc_str_printf(out, "not used: %s\n", why);
    else
        fc_str_printf(out, "%s entr%s, %s of at most %s\n", fc_commas(n, (int64_t)st->entries),
                      st->entries == 1 ? "y" : "ies", fc_show_bytes(size, (int64_t)st->bytes),
                      fc_show_bytes(limit, (int64_t)st->limit));
}

static void summary(fc_cli *c, fc_diskcache *disk) {
    fc_diskcache_stats st = {0};
    const char *why = disk ? fc_diskcache_why(disk) : "it is switched off";
    const char *dir = disk ? fc_diskcache_dir(disk) : "";
    bool list = fc_cli_on(c, FC_FLAG_LIST);
    lister l = {&c->out, fc_cli_on(c, FC_FLAG_JSON), fc_cli_on(c, FC_FLAG_PLAIN), 0};
    if (disk) fc_diskcache_stats_get(disk, &st);
    if (l.json)
        summary_json(disk, &st, dir, why, &l, list);
    else if (list)
        fc_diskcache_list(disk, list_one, &l);
    else if (l.plain)
        fc_str_printf(&c->out, "%s\t%llu\t%llu\t%llu\n", dir, (unsigned long long)st.entries,
                      (unsigned long long)st.bytes, (unsigned long long)st.limit);
    else
        summary_text(&c->out, &st, dir, why);
}

static fusec_status clear(fc_cli *c, fc_diskcache *disk, fc_error *e) {
    int64_t older = 0;
    fc_diskcache_stats before = {0}, after = {0};
    char freed[32], n[FC_COMMAS];
    if (fc_cli_on(c, FC_FLAG_OLDER)) FC_TRY(parse_age(c->o.text[FC_FLAG_OLDER], &older, e));
    if (disk) fc_diskcache_stats_get(disk, &before);
    uint64_t removed = disk ? fc_diskcache_clear(disk, older) : 0;
    if (disk) fc_diskcache_stats_get(disk, &after);
    int64_t bytes = before.bytes > after.bytes ? (int64_t)(before.bytes - after.bytes) : 0;
    if (fc_cli_on(c, FC_FLAG_JSON))
        fc_str_printf(&c->out, "{\"removed\":%llu,\"bytes\":%lld}\n", (unsigned long long)removed,
                      (long long)bytes);
    else
        fc_str_printf(&c->out, "removed %s entr%s, %s\n", fc_commas(n, (int64_t)removed),
                      removed == 1 ? "y" : "ies", fc_show_bytes(freed, bytes));
    return FUSEC_OK;
}

/* ---- packs ----------------------------------------------------------------------------------- */

typedef struct packing {
    const fc_alloc *alloc;
    FC_VEC(fc_packed) entries;
    bool oom;
} packing;

static void pack_one(void *user, const fc_diskcache_entry *x) {
    packing *p = user;
    fc_packed one = {.kind = x->kind};
    memcpy(one.key, x->key, sizeof one.key);
    memcpy(one.label, x->label, sizeof one.label);
    p->oom |= !fc_push(p->alloc, &p->entries, one);
}

/* What is gone or damaged by now is left out. */
static void read_all(packing *p, fc_diskcache *disk) {
    size_t kept = 0;
    for (size_t i = 0; i < p->entries.len; i++) {
        fc_packed x = p->entries.at[i];
        fc_bytes b = {0};
        if (!fc_diskcache_get(disk, x.key, x.kind, &b)) continue;
        x.data = b.data;
        x.len = b.len;
        p->entries.at[kept++] = x;
    }
    p->entries.len = kept;
}

static fusec_status pack(fc_cli *c, fc_diskcache *disk, fc_error *e) {
    const char *path = c->o.text[FC_FLAG_PACK];
    packing p = {.alloc = c->alloc};
    char n[FC_COMMAS], size[32];
    fc_str file;
    fc_str_init(&file, c->alloc);
    if (disk) fc_diskcache_list(disk, pack_one, &p);
    fusec_status s = p.oom ? fc_oom(e) : FUSEC_OK;
    if (s) p.entries.len = 0;
    read_all(&p, disk);
    const size_t count = p.entries.len;
    if (!s) s = fc_pack_write(c->config.cpu ? c->config.cpu : "", p.entries.at, count, &file, e);
    if (!s) s = fc_cli_write_text(c, path, file.data, file.len, e);
    if (!s && fc_cli_on(c, FC_FLAG_JSON))
        fc_str_printf(&c->out, "{\"entries\":%zu,\"bytes\":%zu}\n", count, file.len);
    else if (!s)
        fc_str_printf(&c->out, "%s: %s kernel%s, %s\n", path, fc_commas(n, (int64_t)count),
                      count == 1 ? "" : "s", fc_show_bytes(size, (int64_t)file.len));
    for (size_t i = 0; i < count; i++) fc_free(c->alloc, (void *)(uintptr_t)p.entries.at[i].data);
    fc_vec_free(c->alloc, &p.entries);
    fc_str_free(&file);
    return s;
}

fusec_status fc_cmd_cache(fc_cli *c, fc_error *e) {
    fc_context *ctx;
    if (fc_cli_on(c, FC_FLAG_LIST) && fc_cli_on(c, FC_FLAG_CLEAR))
        return fc_fail(e, FUSEC_USAGE, "--list and --clear exclude each other");
    if (fc_cli_on(c, FC_FLAG_PACK) && (fc_cli_on(c, FC_FLAG_LIST) || fc_cli_on(c, FC_FLAG_CLEAR)))
        return fc_fail(e, FUSEC_USAGE, "--pack goes with neither --list nor --clear");
    if (fc_cli_on(c, FC_FLAG_OLDER) && !fc_cli_on(c, FC_FLAG_CLEAR))
        return fc_fail(e, FUSEC_USAGE, "--older belongs to --clear");
    if (fc_cli_on(c, FC_FLAG_SIZES) != (c->o.files.len > 0) ||
        (c->o.files.len && !fc_cli_on(c, FC_FLAG_PACK)))
        return fc_fail(e, FUSEC_USAGE,
                       "a program and its sizes go with --pack\n  help: fusec cache --pack app.fpk "
                       "FILE --sizes n=1..10^7");
    FC_TRY(fc_context_new(&c->config, &ctx, e));
    fc_diskcache *disk = fc_context_disk(ctx);
    fusec_status s = FUSEC_OK;
    if (fc_cli_on(c, FC_FLAG_PACK) && (!disk || fc_diskcache_why(disk)))
        s = fc_fail(e, FUSEC_IO,
                    "a pack is made of the kernels that are kept on disk, and none are\n"
                    "  help: FUSEC_CACHE_DIR=$PWD/kept fusec cache --pack FILE");
    if (!s && c->o.files.len) s = fc_make_kernels(c, e);
    if (s) {
        fc_context_free(ctx);
        return s;
    }
    if (fc_cli_on(c, FC_FLAG_CLEAR))
        s = clear(c, disk, e);
    else if (fc_cli_on(c, FC_FLAG_PACK))
        s = pack(c, disk, e);
    else
        summary(c, disk);
    fc_context_free(ctx);
    return s;
}
