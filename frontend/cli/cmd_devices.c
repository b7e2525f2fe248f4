/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cmd_devices.c - `fusec devices`: what was looked for, what was found, and why not.
 *
 * Every row is a name, whether it can be used, and a text; the three output forms print
 * the rows. */
#include "runtime/cpuinfo.h"
#include "runtime/cuda/driver.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/llvm_api.h"
#include "frontend/cli/command.h"

typedef struct row {
    char name[16];
    bool usable;
    char *text;
} row;

typedef struct table {
    fc_cli *c;
    FC_VEC(row) rows;
    bool oom;
} table;

static void add(table *t, const char *name, bool usable, const char *fmt, ...) FC_PRINTF(4, 5);
static void add(table *t, const char *name, bool usable, const char *fmt, ...) {
    row r = {.usable = usable};
    fc_str text;
    va_list ap;
    size_t n = strlen(name);
    memcpy(r.name, name, n < sizeof r.name ? n : sizeof r.name - 1);
    fc_str_init(&text, t->c->alloc);
    va_start(ap, fmt);
    fc_str_vprintf(&text, fmt, ap);
    va_end(ap);
    text.data[strcspn(text.data, "\n")] = 0; /* the first line says it */
    r.text = text.oom ? NULL : fc_strdup(t->c->alloc, text.data);
    fc_str_free(&text);
    if (!r.text || !fc_push(t->c->alloc, &t->rows, r)) {
        fc_free(t->c->alloc, r.text);
        t->oom = true;
    }
}

/* ---- what is looked for ---------------------------------------------------------------------- */

static void cuda_devices(table *t, fc_cuda *cuda) {
    for (int i = 0; i < cuda->n_devices; i++) {
        fc_cuda_info x;
        fc_error e = {0};
        char name[16], mem[32];
        fc_str n;
        fc_str_init(&n, t->c->alloc);
        fc_str_printf(&n, "cuda:%d", i);
        memset(name, 0, sizeof name);
        memcpy(name, n.data, n.len < sizeof name ? n.len : sizeof name - 1);
        fc_str_free(&n);
        if (fc_cuda_device(cuda, i, &x, &e)) {
            add(t, name, false, "%s", e.message);
            continue;
        }
        double bandwidth = 2e3 * x.memory_clock_khz * (x.memory_bus_bits / 8.0);
        if (bandwidth > 0)
            add(t, name, true, "%s, sm_%d, %d SMs, %s, %.1f TB/s", x.name, x.cc, x.sm_count,
                fc_show_bytes(mem, (int64_t)x.total_memory), bandwidth * 1e-12);
        else
            add(t, name, true, "%s, sm_%d, %d SMs, %s", x.name, x.cc, x.sm_count,
                fc_show_bytes(mem, (int64_t)x.total_memory));
    }
}

static void look_for_cuda(table *t) {
    fc_cuda *cuda = NULL;
    fc_error e = {0};
    if (fc_cuda_open(t->c->alloc, &cuda, &e)) {
        add(t, "cuda", false, "%s", e.message);
        return;
    }
    add(t, "driver", true, "CUDA %d.%d, %s", cuda->version / 1000, cuda->version % 1000 / 10,
        cuda->lib.path);
    cuda_devices(t, cuda);
    fc_cuda_close(cuda);
}

static void look_for_nvrtc(table *t) {
    fc_nvrtc *n = NULL;
    fc_error e = {0};
    if (fc_nvrtc_open(t->c->alloc, &n, &e)) {
        add(t, "nvrtc", false, "%s", e.message);
        return;
    }
    if (n->n_archs)
        add(t, "nvrtc", true, "%d.%d, sm_%d to sm_%d, %s", n->major, n->minor, n->archs[0],
            n->archs[n->n_archs - 1], n->lib.path);
    else
        add(t, "nvrtc", true, "%d.%d, %s", n->major, n->minor, n->lib.path);
    fc_nvrtc_close(n);
}

static void look_for_cpu(table *t) {
    fc_llvm *l = NULL;
    fc_error e = {0};
    fc_cpuinfo cpu;
    fc_str features;
    bool ok = fc_llvm_open(t->c->alloc, &l, &e) == FUSEC_OK;
    if (ok)
        add(t, "llvm", true, "%u.%u.%u, %s", l->major, l->minor, l->patch, l->lib.path);
    else
        add(t, "llvm", false, "%s", e.message);
    fc_llvm_close(l);
    fc_cpuinfo_get(&cpu);
    fc_str_init(&features, t->c->alloc);
    fc_cpuinfo_features(&cpu, &features);
    int threads = t->c->config.threads ? t->c->config.threads : cpu.cores;
    add(t, "cpu", ok, "%s, %d core%s, %s, %d-byte vectors, %d thread%s%s", cpu.name, cpu.cores,
        cpu.cores == 1 ? "" : "s", features.data, cpu.vector_bytes, threads,
        threads == 1 ? "" : "s", ok ? "" : "; without LLVM nothing can be compiled for it");
    fc_str_free(&features);
}

static const char *automatic(const table *t) {
    bool nvrtc = false, cuda = false, cpu = false;
    for (size_t i = 0; i < t->rows.len; i++) {
        const row *r = &t->rows.at[i];
        nvrtc |= r->usable && !strcmp(r->name, "nvrtc");
        cuda |= r->usable && !strcmp(r->name, "cuda:0");
        cpu |= r->usable && !strcmp(r->name, "cpu");
    }
    return cuda && nvrtc ? "cuda:0" : cpu ? "cpu" : "interp";
}

/* ---- output ---------------------------------------------------------------------------------- */

static void print_json(const table *t, fc_str *out) {
    fc_str_printf(out, "{\"auto\":\"%s\",\"devices\":[", automatic(t));
    for (size_t i = 0; i < t->rows.len; i++) {
        const row *r = &t->rows.at[i];
        fc_str_printf(out, "%s{\"name\":\"%s\",\"usable\":%s,\"text\":", i ? "," : "", r->name,
                      r->usable ? "true" : "false");
        fc_json_text(out, r->text);
        fc_str_add(out, "}");
    }
    fc_str_add(out, "]}\n");
}

static void print_text(const table *t, fc_str *out, bool plain) {
    for (size_t i = 0; i < t->rows.len; i++) {
        const row *r = &t->rows.at[i];
        if (plain)
            fc_str_printf(out, "%s\t%s\t%s\n", r->name, r->usable ? "usable" : "not usable",
                          r->text);
        else
            fc_str_printf(out, "%-8s %s%s\n", r->name, r->usable ? "" : "not usable: ", r->text);
    }
    if (!plain) fc_str_printf(out, "\nwithout --device: %s\n", automatic(t));
}

fusec_status fc_cmd_devices(fc_cli *c, fc_error *e) {
    table t = {.c = c};
    look_for_cuda(&t);
    look_for_nvrtc(&t);
    look_for_cpu(&t);
    add(&t, "interp", true, "built in, needs nothing");
    if (fc_cli_on(c, FC_FLAG_JSON))
        print_json(&t, &c->out);
    else
        print_text(&t, &c->out, fc_cli_on(c, FC_FLAG_PLAIN));
    for (size_t i = 0; i < t.rows.len; i++) fc_free(c->alloc, t.rows.at[i].text);
    fc_vec_free(c->alloc, &t.rows);
    return t.oom ? fc_oom(e) : FUSEC_OK;
}
