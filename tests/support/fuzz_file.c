/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_file.c - a failing graph as a program to keep, and such programs run again.
 *
 * The comments say what the text leaves open:
 *
 *     # cpu, seed 1234
 *     # output out (f32)[0]: wanted 0x1p+0, got 0x0p+0
 *     # sizes n=3 m=7
 *     # sizes n=5 m=7                      a second set, for the same program
 *     # input x0 seed 17
 *     export def f(x0: f32[n, m]) -> ... */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fuzz.h"
#include "tests/support/fuzz_text.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void print_sizes(const int64_t *v, fc_str *out) {
    fc_str_add(out, "# sizes");
    for (int i = 0; i < RG_NAMES; i++) fc_str_printf(out, " %s=%lld", rg_names[i], (long long)v[i]);
    fc_str_add(out, "\n");
}

void fuzz_print(const rg *r, const fuzz_ways *w, uint64_t seed, const char *why, fc_str *out) {
    fc_graph g;
    int input[RG_NODES];
    int64_t syms[256];
    rg_build(r, RG_SYMBOLIC, &g, input, syms);
    fc_str_printf(out, "# %s, seed %llu\n# ", w->device, (unsigned long long)seed);
    for (const char *p = why; *p; p++)
        if (*p == '\n')
            fc_str_add(out, "\n# ");
        else
            fc_str_char(out, *p);
    fc_str_add(out, "\n");
    print_sizes(r->name, out);
    if (r->has_other) print_sizes(r->other, out);
    for (size_t i = 0; i < g.inputs.len; i++)
        fc_str_printf(out, "# input %s seed %llu\n", g.inputs.at[i].name,
                      (unsigned long long)r->node[input[i]].bits);
    fuzz_text_print(&g, out);
    fc_graph_free(&g);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct replay {
    fc_graph g;
    int64_t sizes[2][256]; /* by symbol number */
    int nsizes;
    uint64_t seed[256]; /* of the inputs */
} replay;

static void read_sizes(replay *p, const char *line) {
    if (p->nsizes == 2) return;
    int64_t *v = p->sizes[p->nsizes++];
    for (uint32_t s = 0; s < p->g.dims.syms.len && s < 256; s++) {
        char word[80];
        const char *name = p->g.dims.syms.at[s].name;
        if (p->g.dims.syms.at[s].kind != FC_SYM_NAMED) continue;
        snprintf(word, sizeof word, " %s=", name);
        const char *at = strstr(line, word), *end = strchr(line, '\n');
        if (at && at < end) v[s] = strtoll(at + strlen(word), NULL, 10);
    }
}

static void read_seed(replay *p, const char *line) {
    char name[64];
    unsigned long long seed;
    if (sscanf(line, "# input %63s seed %llu", name, &seed) != 2) return;
    for (size_t i = 0; i < p->g.inputs.len && i < 256; i++)
        if (!strcmp(p->g.inputs.at[i].name, name)) p->seed[i] = seed;
}

static bool read_program(replay *p, const char *name, const char *text, fc_str *why) {
    memset(p, 0, sizeof *p);
    bool good = fuzz_text_read(name, text, &p->g, why);
    for (const char *line = text; good && *line == '#'; line = strchr(line, '\n') + 1) {
        if (!strncmp(line, "# sizes ", 8)) read_sizes(p, line);
        read_seed(p, line);
    }
    return good;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct turn { /* a set of sizes */
    fc_arrays in, first;
    fc_oracle o;
} turn;

static void open_turn(replay *p, int k, turn *t) {
    const void *data[256];
    fc_oracle sizes;
    memset(t, 0, sizeof *t);
    fc_oracle_sizes(&sizes, &p->g, p->sizes[k]);
    fc_arrays_for(&t->in, &p->g, &sizes, false);
    fc_oracle_free(&sizes);
    for (uint32_t i = 0; i < t->in.n; i++) {
        rg_fill(p->seed[i], &t->in.t[i]);
        data[i] = t->in.t[i].data;
    }
    fc_oracle_run(&t->o, &p->g, p->sizes[k], data);
}

static void close_turn(turn *t) {
    fc_arrays_free(&t->in);
    if (t->first.t) fc_arrays_free(&t->first);
    fc_oracle_free(&t->o);
}

/* Every set of sizes in turn with one program. */
static fuzz_verdict run_once(replay *p, turn *t, const fc_how *how, bool rude, fc_str *why) {
    fc_program *made = NULL;
    fc_error e = {0};
    fuzz_verdict v = FUZZ_GOOD;
    unsigned before = fuzz_enter(rude);
    fusec_status s = fc_rig_compile(how, &p->g, &made, &e);
    fuzz_leave(rude, before);
    for (int k = 0; !s && !v && k < p->nsizes; k++) {
        fc_arrays out = {0};
        before = fuzz_enter(rude);
        s = fc_rig_call(how, made, &p->g, p->sizes[k], &t[k].in, &out, &e);
        if (!fuzz_leave(rude, before) && !s)
            s = fc_fail(&e, FUSEC_INTERNAL, "the caller's float state has changed");
        bool bad = !s && (!t[k].first.t ? fc_judge(&p->g, &t[k].o, &out, why)
                                        : fc_differ(&p->g, &t[k].o, &t[k].first, &out, why));
        if (bad) v = FUZZ_WRONG;
        if (!t[k].first.t)
            t[k].first = out;
        else if (out.t)
            fc_arrays_free(&out);
    }
    if (made) fc_program_free(made);
    if (!s) return v;
    fc_str_printf(why, "[%s] %s", fc_status_slug(s), e.message);
    return FUZZ_FAILED;
}

fuzz_verdict fuzz_replay(const char *name, const char *text, const fuzz_ways *w, fc_str *why) {
    replay p;
    turn t[2];
    fuzz_verdict v = read_program(&p, name, text, why) ? FUZZ_GOOD : FUZZ_REFUSED;
    if (!v && !p.nsizes) p.nsizes = 1;
    for (int k = 0; !v && k < p.nsizes; k++) open_turn(&p, k, &t[k]);
    const bool opened = !v;
    fc_how how = {.runs = w->again ? 2 : 1};
    how.ctx = fc_rig(w->device, 1, &how.device);
    if (!v) v = run_once(&p, t, &how, false, why);
    if (!v && w->rude) v = run_once(&p, t, &how, true, why);
    how.unfused = true;
    if (!v && w->unfused) v = run_once(&p, t, &how, false, why);
    how.unfused = false;
    how.max_ops = w->max_ops;
    if (!v && w->max_ops) v = run_once(&p, t, &how, false, why);
    how.max_ops = 0;
    how.ctx = fc_rig(w->device, 3, &how.device);
    if (!v && w->threads) v = run_once(&p, t, &how, false, why);
    if (!v && w->text && !fuzz_text_agrees(&p.g, why)) v = FUZZ_FAILED;
    for (int k = 0; opened && k < p.nsizes; k++) close_turn(&t[k]);
    fc_graph_free(&p.g);
    return v;
}
