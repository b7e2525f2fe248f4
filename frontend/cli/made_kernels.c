/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* made_kernels.c - see made_kernels.h.
 *
 * In: --sizes n=1..10^7,m=64,1024: for each size of the definitions numbers, and ranges, of which
 * those sizes are taken around which schedules change. Out: the cache has the kernels of all
 * combinations; what is bound, scheduled and compiled is what a call of these sizes would. */
#include "frontend/cli/made_kernels.h"

#include <stdlib.h>

#include "runtime/bind.h"

enum { MOST_POINTS = 20000 };

typedef struct named_sizes {
    const char *name; /* in the text of the flag */
    size_t len;
    FC_VEC(int64_t) at;
} named_sizes;

typedef struct size_lists {
    const fc_alloc *alloc;
    FC_VEC(named_sizes) lists;
} size_lists;

/* ---- --sizes --------------------------------------------------------------------------------- */

/* "4096", "10^7"; false: another form, or too large. */
static bool read_number(const char *p, size_t n, int64_t *out) {
    char text[32], *end;
    if (!n || n >= sizeof text) return false;
    memcpy(text, p, n);
    text[n] = 0;
    int64_t v = strtoll(text, &end, 10);
    if (end == text || v < 0) return false;
    if (*end == '^') {
        const int64_t base = v;
        const char *at = end + 1;
        const long power = strtol(at, &end, 10);
        if (end == at || power < 0 || power > 40) return false;
        v = 1;
        for (long i = 0; i < power; i++)
            if (!fc_mul_ok(v, base, &v)) return false;
    }
    *out = v;
    return !*end && v <= (int64_t)1 << 40;
}

static bool add_sizes(size_lists *z, named_sizes *list, const char *p, size_t n, fc_error *e) {
    int64_t from, to;
    size_t dots = 0, grid;
    while (dots + 1 < n && (p[dots] != '.' || p[dots + 1] != '.')) dots++;
    const bool range = dots + 1 < n;
    if (!read_number(p, range ? dots : n, &from) ||
        (range && (!read_number(p + dots + 2, n - dots - 2, &to) || to < from))) {
        fc_fail(e, FUSEC_USAGE, "--sizes takes n=1000,4096 or n=1..10^7, not `%.*s`",
                n > 60 ? 60 : (int)n, p);
        return false;
    }
    const int64_t *g = fc_size_grid(&grid);
    bool ok = fc_push(z->alloc, &list->at, from);
    for (size_t i = 0; range && i < grid; i++)
        if (g[i] > from && g[i] < to) ok &= fc_push(z->alloc, &list->at, g[i]);
    if (range && to > from) ok &= fc_push(z->alloc, &list->at, to);
    if (!ok) fc_oom(e);
    return ok;
}

static fusec_status read_sizes(size_lists *z, const char *text, fc_error *e) {
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, ","), key = strcspn(p, "=");
        if (key < n) {
            const named_sizes none = {.name = p, .len = key};
            if (!fc_push(z->alloc, &z->lists, none)) return fc_oom(e);
        }
        if (!z->lists.len)
            return fc_fail(e, FUSEC_USAGE, "--sizes %.60s: which size?\n  help: n=1..10^7", text);
        const size_t skip = key < n ? key + 1 : 0;
        if (!add_sizes(z, &z->lists.at[z->lists.len - 1], p + skip, n - skip, e)) return e->code;
        p += n + (p[n] == ',');
    }
    return FUSEC_OK;
}

static const named_sizes *sizes_of(const size_lists *z, const char *name) {
    const char *shown = strcmp(name, "...") ? name : "outer";
    for (size_t i = z->lists.len; i-- > 0;)
        if (z->lists.at[i].len == strlen(shown) &&
            !memcmp(z->lists.at[i].name, shown, z->lists.at[i].len))
            return &z->lists.at[i];
    return NULL;
}

/* ---- the kernels of one point ---------------------------------------------------------------- */

typedef struct point {
    fc_job *s;
    fc_program *p;
    fc_arena arena;
    int64_t *syms, *values;
    fc_tensor *in;
    fc_dim_value *dims;
    uint32_t nsyms, ndims;
    bool any; /* the kernels that take any sizes are made */
} point;

static fusec_status open_point(point *x, fc_error *e) {
    const fc_graph *g = &x->s->graph;
    x->nsyms = (uint32_t)g->dims.syms.len;
    x->syms = fc_arena_alloc(&x->arena, (x->nsyms + 1) * sizeof *x->syms);
    x->dims = fc_arena_alloc(&x->arena, (x->nsyms + 1) * sizeof *x->dims);
    x->values = fc_arena_alloc(&x->arena, (g->dims.forms.len + 1) * sizeof *x->values);
    x->in = fc_arena_alloc(&x->arena, (g->inputs.len + 1) * sizeof *x->in);
    if (!x->syms || !x->dims || !x->values || !x->in) return fc_oom(e);
    memset(x->syms, 0, (x->nsyms + 1) * sizeof *x->syms);
    return FUSEC_OK;
}

/* The inputs as these sizes make them; false: they do not fit together, and there is no such call.
 */
static bool shapes(point *x, fc_error *e) {
    const fc_graph *g = &x->s->graph;
    fc_dim bad;
    if (!fc_dims_eval(&g->dims, x->syms, x->values, &bad)) return false;
    for (size_t i = 0; i < g->conditions.len; i++) {
        const fc_condition *c = &g->conditions.at[i];
        const int64_t a = x->values[c->a], b = x->values[c->b];
        if (c->kind == FC_CHECK_EQ ? a != b : a < b) return false;
    }
    x->ndims = 0;
    for (uint32_t i = 0; i < x->nsyms; i++)
        if (g->dims.syms.at[i].kind == FC_SYM_NAMED)
            x->dims[x->ndims++] = (fc_dim_value){i, x->syms[i]};
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fc_node n = g->inputs.at[i].node;
        const uint32_t rank = fc_rank(g, n);
        int64_t *shape = fc_arena_alloc(&x->arena, (rank + 1) * sizeof *shape);
        if (!shape) return fc_oom(e), false;
        for (uint32_t k = 0; k < rank; k++) shape[k] = x->values[fc_axis(g, n, k)];
        x->in[i] =
            (fc_tensor){.dtype = (fusec_dtype)fc_at(g, n)->dtype, .rank = rank, .shape = shape};
    }
    return true;
}

/* Arrays of a caller may lie anywhere: all that schedules tell apart. After the first call come the
 * kernels that take any sizes. */
static fusec_status make_here(point *x, fc_error *e) {
    static const uint32_t aligns[] = {64, 32, 16, 8, 4, 1, 1};
    if (!shapes(x, e)) return e->code;
    const uint32_t nin = (uint32_t)x->s->graph.inputs.len;
    fc_program *p = fc_program_for(x->p, nin, x->in, x->ndims, x->dims);
    for (size_t i = 0; i < FC_COUNT(aligns) - x->any; i++) {
        fc_bound *b = NULL;
        fc_layouts l = {.align = aligns[i], .plain = i == FC_COUNT(aligns) - 1};
        FC_TRY(fc_bound_get_for(p, nin, x->in, x->ndims, x->dims, &l, FC_FULL_CODE, &b, e));
        fc_bound_release(p, b);
    }
    x->any = true;
    return FUSEC_OK;
}

static fusec_status make_all(point *x, const size_lists *z, fc_error *e) {
    const fc_graph *g = &x->s->graph;
    uint64_t points = 1;
    for (uint32_t i = 0; i < x->nsyms; i++) {
        const fc_sym *sym = &g->dims.syms.at[i];
        if (sym->kind != FC_SYM_NAMED) continue;
        const named_sizes *list = sizes_of(z, sym->name);
        if (!list)
            return fc_fail(e, FUSEC_USAGE, "--sizes does not say what %.60s is in %.60s",
                           strcmp(sym->name, "...") ? sym->name : "outer", fc_job_name(x->s));
        points *= list->at.len;
        if (points > MOST_POINTS)
            return fc_fail(e, FUSEC_LIMIT, "--sizes: more than %d combinations", MOST_POINTS);
    }
    for (uint64_t k = 0; k < points; k++) {
        uint64_t rest = k;
        for (uint32_t i = 0; i < x->nsyms; i++) {
            const fc_sym *sym = &g->dims.syms.at[i];
            const named_sizes *list = sym->kind == FC_SYM_NAMED ? sizes_of(z, sym->name) : NULL;
            if (!list) continue;
            x->syms[i] = list->at.at[rest % list->at.len];
            rest /= list->at.len;
        }
        FC_TRY(make_here(x, e));
    }
    return FUSEC_OK;
}

static fusec_status make_def(void *user, fc_job *s, const fc_item *d, const char *dtype,
                             const char *stem, fc_error *e) {
    const size_lists *z = user;
    fc_device *device;
    fusec_program *p = NULL;
    point x = {.s = s};
    (void)d, (void)dtype, (void)stem;
    FC_TRY(fc_job_device(s, NULL, &device, e));
    FC_TRY(fc_job_program(s, device, false, &p, e));
    x.p = p->p;
    fc_arena_init(&x.arena, s->alloc);
    fusec_status st = open_point(&x, e);
    if (!st) st = make_all(&x, z, e);
    fc_arena_free(&x.arena);
    fusec_program_free(p);
    return st;
}

fusec_status fc_make_kernels(fc_cli *c, fc_error *e) {
    size_lists z = {.alloc = c->alloc};
    const fc_source *src;
    fc_ast ast;
    fusec_status s = FUSEC_OK;
    for (size_t i = 0; !s && i < c->o.many.len; i++)
        if (c->o.many.at[i].flag == FC_FLAG_SIZES) s = read_sizes(&z, c->o.many.at[i].text, e);
    if (!s) s = fc_files_read(&c->files, c->o.files.at[0], &src, e);
    if (!s) {
        s = fc_parse_program(src, &c->ds, &ast);
        if (!s) s = fc_each_def(c, &ast, make_def, &z, e);
        fc_ast_free(&ast);
    }
    for (size_t i = 0; i < z.lists.len; i++) fc_vec_free(c->alloc, &z.lists.at[i].at);
    fc_vec_free(c->alloc, &z.lists);
    return s;
}
