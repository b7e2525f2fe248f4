/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* explain_pieces.c - see explain_pieces.h. */
#include "frontend/cli/explain_pieces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "passes/rewrite.h"
#include "runtime/cut.h"

enum { PIECE_BYTES = 8 << 20 };

typedef struct view {
    fc_job *s;
    const fc_graph *g;
    fc_pieces p;
    int64_t total, step; /* positions of all and of a piece; -1: not known */
    uint8_t *read;       /* [inputs] of the sweep at hand */
} view;

/* ---- the flag -------------------------------------------------------------------------------- */

fusec_status fc_pieces_flag(const char *what, const char *text, char name[64], int64_t *step,
                            fc_error *e) {
    const char *equal = strchr(text, '=');
    const size_t n = equal ? (size_t)(equal - text) : strlen(text);
    fc_weak w;
    if (!n || n >= 64) return fc_fail(e, FUSEC_USAGE, "%s %.60s: NAME or NAME=N", what, text);
    memcpy(name, text, n);
    name[n] = 0;
    *step = 0;
    if (!equal || !strcmp(equal + 1, "auto")) return FUSEC_OK;
    if (!fc_weak_parse(equal + 1, &w) || w.kind != FC_WEAK_INT || w.negative || !w.magnitude ||
        w.magnitude > INT64_MAX)
        return fc_fail(e, FUSEC_USAGE, "%s %.60s: the number of positions is from 1, or auto", what,
                       text);
    *step = (int64_t)w.magnitude;
    return FUSEC_OK;
}

/* The size of the first axis of the input with most bytes. */
static fusec_status largest(const fc_job *s, char name[64], fc_error *e) {
    const fc_graph *g = &s->graph;
    int64_t most = -1;
    name[0] = 0;
    for (uint32_t i = 0; i < s->nin; i++) {
        const fc_tensor *t = &s->in[i];
        int64_t count, bytes;
        uint32_t sym;
        if (!t->rank ||
            !fc_shape_bytes((int)t->rank, t->shape, fc_dtypes[t->dtype].bytes, &count, &bytes) ||
            bytes <= most)
            continue;
        most = bytes;
        const fc_dim d = fc_axis(g, g->inputs.at[i].node, 0);
        name[0] = 0;
        if (fc_dim_is_sym(&g->dims, d, &sym)) snprintf(name, 64, "%s", g->dims.syms.at[sym].name);
    }
    return *name ? FUSEC_OK : fc_fail(e, FUSEC_INVALID, "no input can be cut along its first axis");
}

fusec_status fc_pieces_size(const fc_job *s, char name[64], int64_t *step, fc_error *e) {
    const char *flag = s->cli->o.text[FC_FLAG_SPLIT];
    *step = 0;
    if (flag && strcmp(flag, "auto") != 0) return fc_pieces_flag("--split", flag, name, step, e);
    return largest(s, name, e);
}

int64_t fc_pieces_step(int64_t grain, int64_t row) {
    int64_t step = grain;
    while (step <= PIECE_BYTES / 2 / (row > 0 ? row : 1)) step *= 2;
    return step;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool is_known(const view *v, fc_dim d) {
    return v->s->known && v->s->known[d];
}

/* Bytes of an array, and of one position of it; -1: not known. */
static int64_t bytes_of(const view *v, fc_node n, bool position) {
    int64_t bytes = (int64_t)fc_dtypes[fc_at(v->g, n)->dtype].bytes;
    for (uint32_t k = 0; k < fc_rank(v->g, n); k++) {
        const fc_dim d = fc_axis(v->g, n, k);
        if (position && (int)k == v->p.along[n]) continue;
        if (!is_known(v, d)) return -1;
        bytes = fc_mul_most(bytes, v->s->values[d]);
    }
    return bytes;
}

static void find_total(view *v) {
    const fc_dimtab *t = &v->g->dims;
    v->total = -1;
    for (fc_dim d = 0; d < t->forms.len; d++) {
        uint32_t sym;
        if (fc_dim_is_sym(t, d, &sym) && sym == v->p.sym && is_known(v, d))
            v->total = v->s->values[d];
    }
}

/* The fewest positions of a piece: whole leaves of all reductions along the cut. */
static int64_t grain_of(const view *v) {
    int64_t grain = 1;
    for (uint32_t i = 0; i < v->p.nparts; i++) {
        const fc_part *part = &v->p.parts[i];
        int64_t inner = 1;
        for (uint32_t k = 0; k < part->ninner; k++)
            inner = is_known(v, (fc_dim)part->inner[k])
                        ? fc_mul_most(inner, v->s->values[part->inner[k]])
                        : 1;
        const int64_t own = fc_part_grain(part, inner);
        if (own > grain) grain = own;
    }
    return grain;
}

static void find_step(view *v, int64_t wanted) {
    int64_t row = 1;
    const int64_t grain = grain_of(v);
    for (uint32_t i = 0; i < v->g->inputs.len; i++) {
        const fc_node n = v->g->inputs.at[i].node;
        const int64_t bytes = bytes_of(v, n, true);
        if (v->p.along[n] >= 0 && bytes > 0) row = fc_add_most(row, bytes);
    }
    for (uint32_t i = 0; i < v->g->outputs.len; i++) {
        const fc_node n = v->g->outputs.at[i].node;
        const int64_t bytes = bytes_of(v, n, true);
        if (v->p.along[n] >= 0 && bytes > 0) row = fc_add_most(row, bytes);
    }
    v->step = wanted ? (wanted + grain - 1) / grain * grain : fc_pieces_step(grain, row);
    if (v->total >= 0 && v->step > v->total) v->step = v->total ? v->total : 1;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* Which inputs a sweep's graph reads. */
static fusec_status find_read(view *v, uint32_t sweep, fc_error *e) {
    fc_graph g;
    uint32_t *outputs = fc_arena_alloc(&v->s->arena, (v->g->outputs.len + 1) * sizeof *outputs), n;
    if (!outputs) return fc_oom(e);
    FC_TRY(fc_pieces_sweep(&v->p, sweep, NULL, &g, outputs, &n, e));
    uint8_t *live = fc_calloc(g.alloc, g.nodes.len + 1, 1);
    if (live) fc_rewrite_live(&g, live);
    for (uint32_t i = 0; i < v->g->inputs.len && live; i++) v->read[i] = live[g.inputs.at[i].node];
    fc_free(g.alloc, live);
    fc_graph_free(&g);
    return live ? FUSEC_OK : fc_oom(e);
}

static void part_text(const view *v, const fc_part *part, fc_str *out) {
    const fc_ninfo *i = fc_at(v->g, part->node);
    fc_str_printf(out, "%s of ", fc_ops[i->op].name);
    fc_job_type(v->s, i->src[0], out);
}

/* What a sweep's results wait for: reductions of the sweep before. */
static void reason(const view *v, uint32_t sweep, fc_str *out) {
    const char *between = "";
    for (uint32_t i = 0; i < v->p.nparts; i++) {
        if (v->p.parts[i].sweep + 1 != sweep) continue;
        fc_str_printf(out, "%s", between);
        part_text(v, &v->p.parts[i], out);
        between = ", ";
    }
}

static bool is_made_in(const view *v, uint32_t output, uint32_t sweep) {
    const fc_node n = v->g->outputs.at[output].node;
    return v->p.along[n] >= 0 && v->p.sweep[n] == sweep;
}

static void bytes_text(fc_str *out, int64_t bytes) {
    char text[32];
    if (bytes >= 0) fc_str_printf(out, " (%s)", fc_show_bytes(text, bytes));
}

static void sweep_text(const view *v, uint32_t sweep, fc_str *out) {
    const char *between = "";
    fc_str_printf(out, "sweep %u   reads", sweep + 1);
    for (uint32_t i = 0; i < v->g->inputs.len; i++) {
        if (!v->read[i]) continue;
        fc_str_printf(out, "%s %s", between, v->g->inputs.at[i].name);
        bytes_text(out, bytes_of(v, v->g->inputs.at[i].node, false));
        between = ",";
    }
    for (uint32_t i = 0; i < v->p.nparts; i++) {
        if (v->p.parts[i].sweep != sweep) continue;
        fc_str_printf(out, "\n          joins over its pieces ");
        part_text(v, &v->p.parts[i], out);
    }
    for (uint32_t i = 0; i < v->g->outputs.len; i++) {
        if (!is_made_in(v, i, sweep)) continue;
        fc_str_printf(out, "\n          writes %s", v->g->outputs.at[i].name);
        bytes_text(out, bytes_of(v, v->g->outputs.at[i].node, false));
    }
    if (sweep) {
        const bool follows = fc_pieces_follows(&v->p, sweep);
        fc_str_printf(out, "\n          it needs %s ",
                      follows ? "of each piece what is before it of the" : "the finished");
        reason(v, sweep, out);
        if (follows)
            fc_str_printf(out,
                          "\n          one device does it with the sweep before, reading once");
    }
    fc_str_char(out, '\n');
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void array_text(const view *v, const char *name, fc_node n, const fc_piece_range *r,
                       fc_str *out) {
    const int64_t bytes = bytes_of(v, n, true);
    fc_str_printf(out, "%-8s  ", name);
    fc_job_type(v->s, n, out);
    if (v->p.along[n] < 0) {
        fc_str_printf(out, ", whole");
    } else {
        fc_str_printf(out, ", in pieces along axis %d", v->p.along[n]);
        if (bytes >= 0) bytes_text(out, fc_mul_most(bytes, v->step));
        if (r->before || r->after)
            fc_str_printf(out, ", with %lld before and %lld behind%s", (long long)r->before,
                          (long long)r->after, r->round ? ", around the ends" : "");
    }
    fc_str_char(out, '\n');
}

static const char *size_name(const view *v) {
    return v->g->dims.syms.at[v->p.sym].name;
}

static fusec_status text(view *v, fc_error *e) {
    fc_str *out = &v->s->cli->out;
    const fc_pieces *p = &v->p;
    char a[FC_COMMAS], b[FC_COMMAS], c[FC_COMMAS];
    fc_job_title(v->s, out);
    fc_str_printf(out, "\nalong %s in pieces of %s", size_name(v), fc_commas(a, v->step));
    if (v->total >= 0)
        fc_str_printf(out, " of %s: %s pieces", fc_commas(b, v->total),
                      fc_commas(c, v->total ? (v->total - 1) / v->step + 1 : 1));
    fc_str_printf(out, ", %u sweep%s\n\n", p->nsweeps, p->nsweeps == 1 ? "" : "s");
    for (uint32_t s = 0; s < p->nsweeps; s++) {
        FC_TRY(find_read(v, s, e));
        sweep_text(v, s, out);
    }
    fc_str_char(out, '\n');
    for (uint32_t i = 0; i < v->g->inputs.len; i++) {
        const fc_input *x = &v->g->inputs.at[i];
        array_text(v, x->name, x->node, &p->ranges[p->range[x->node]], out);
    }
    for (uint32_t i = 0; i < v->g->outputs.len; i++)
        array_text(v, v->g->outputs.at[i].name, v->g->outputs.at[i].node, &p->ranges[p->own[i]],
                   out);
    return FUSEC_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_names(fc_str *out, const char *key, uint32_t n, const char *const *names,
                       const bool *which) {
    const char *between = "";
    fc_json_text(out, key);
    fc_str_printf(out, ": [");
    for (uint32_t i = 0; i < n; i++) {
        if (!which[i]) continue;
        fc_str_printf(out, "%s", between);
        fc_json_text(out, names[i]);
        between = ", ";
    }
    fc_str_char(out, ']');
}

static fusec_status json_sweep(view *v, uint32_t sweep, fc_str *out, fc_error *e) {
    const size_t n = v->g->inputs.len + v->g->outputs.len + 1;
    const char **names = fc_arena_alloc(&v->s->arena, n * sizeof *names);
    bool *which = fc_arena_alloc(&v->s->arena, n * sizeof *which);
    fc_str why;
    if (!names || !which) return fc_oom(e);
    FC_TRY(find_read(v, sweep, e));
    for (uint32_t i = 0; i < v->g->inputs.len; i++)
        names[i] = v->g->inputs.at[i].name, which[i] = v->read[i];
    fc_str_printf(out, "%s{", sweep ? ", " : "");
    json_names(out, "reads", (uint32_t)v->g->inputs.len, names, which);
    for (uint32_t i = 0; i < v->g->outputs.len; i++)
        names[i] = v->g->outputs.at[i].name, which[i] = is_made_in(v, i, sweep);
    fc_str_printf(out, ", ");
    json_names(out, "writes", (uint32_t)v->g->outputs.len, names, which);
    fc_str_init(&why, v->s->alloc);
    reason(v, sweep, &why);
    if (why.len) fc_str_printf(out, ", \"because\": "), fc_json_text(out, why.data);
    if (fc_pieces_follows(&v->p, sweep)) fc_str_printf(out, ", \"with_previous\": true");
    fc_str_free(&why);
    fc_str_char(out, '}');
    return FUSEC_OK;
}

static fusec_status json(view *v, fc_error *e) {
    fc_str *out = &v->s->cli->out;
    fc_str_printf(out, "{\"along\": ");
    fc_json_text(out, size_name(v));
    fc_str_printf(out, ", \"positions\": ");
    fc_json_number(out, v->total >= 0 ? (double)v->total : (double)NAN);
    fc_str_printf(out, ", \"piece\": %lld, \"sweeps\": [", (long long)v->step);
    for (uint32_t s = 0; s < v->p.nsweeps; s++) FC_TRY(json_sweep(v, s, out, e));
    fc_str_printf(out, "]}\n");
    return FUSEC_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

fusec_status fc_explain_pieces(fc_job *s, const char *flag, fc_error *e) {
    view v = {.s = s, .g = &s->graph};
    char name[64];
    int64_t step;
    FC_TRY(fc_pieces_flag("--pieces", flag, name, &step, e));
    uint32_t sym;
    FC_TRY(fc_cut_size(v.g, name, &sym, e));
    FC_TRY(fc_pieces_find(v.g, sym, &v.p, e));
    v.read = fc_arena_alloc(&s->arena, v.g->inputs.len + 1);
    fusec_status st = v.read ? FUSEC_OK : fc_oom(e);
    find_total(&v);
    find_step(&v, step);
    if (!st) st = fc_cli_on(s->cli, FC_FLAG_JSON) ? json(&v, e) : text(&v, e);
    fc_pieces_free(&v.p);
    if (!st && s->cli->out.oom) st = fc_oom(e);
    return st;
}
