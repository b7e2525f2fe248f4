/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* job_sizes.c - the sizes of a program's arrays, as far as the command line says them. See job.h.
 *
 * In: the graph, whose sizes are forms over names, and the inputs. Out: which names are known and
 * what they are, the value of every size that follows from them, and the shapes of the arguments
 * when that is all of them. */
#include "frontend/cli/job.h"
#include "runtime/bind.h"

#include <stdio.h>

/* ---- names ----------------------------------------------------------------------------------- */

typedef struct sizes {
    int64_t *symbols;
    bool *known; /* of each symbol */
} sizes;

static void learn(const fc_job *s, sizes *z, fc_dim d, int64_t value) {
    uint32_t sym;
    if (!fc_dim_is_sym(&s->graph.dims, d, &sym) || z->known[sym]) return;
    z->known[sym] = true;
    z->symbols[sym] = value;
}

/* The value of a size that is known by its name. */
static int64_t by_name(const fc_job *s, const sizes *z, const fc_input_dim *d) {
    for (size_t i = 0; d->name && i < s->graph.dims.syms.len; i++) {
        const fc_sym *sym = &s->graph.dims.syms.at[i];
        if (sym->kind == FC_SYM_NAMED && z->known[i] && strlen(sym->name) == d->name_len &&
            !memcmp(sym->name, d->name, d->name_len))
            return z->symbols[i];
    }
    return FC_LANG_ANY_SIZE;
}

/* What the inputs and the numbers on the command line say about the symbols. */
static fusec_status learn_all(fc_job *s, sizes *z, fc_error *e) {
    const fc_graph *g = &s->graph;
    for (uint32_t i = 0; i < s->lang.param_count; i++) {
        const fc_lang_param *p = &s->lang.params[i];
        const fc_lang_input *in = p->given == FC_LANG_NONE ? NULL : &s->given[p->given];
        if (p->is_dim && in) {
            if (in->number.kind != FC_LANG_INT || in->number.negative ||
                in->number.magnitude > INT64_MAX)
                return fc_fail(e, FUSEC_INPUT_SHAPE, "%s is a size and can't be %s", p->name,
                               s->inputs[s->given_from[p->given]].value);
            fc_dim_value v = {p->sym, (int64_t)in->number.magnitude};
            s->dims[s->ndims++] = v;
            z->known[p->sym] = true;
            z->symbols[p->sym] = v.value;
        }
        if (p->input == FC_LANG_NONE || !in) continue;
        fc_node n = g->inputs.at[p->input].node;
        for (uint32_t k = 0; k < in->rank && k < fc_rank(g, n); k++)
            if (in->shape[k] != FC_LANG_ANY_SIZE) learn(s, z, fc_axis(g, n, k), in->shape[k]);
    }
    /* Sizes under names of the program: x=rand:nxm where another input says what n is. */
    for (uint32_t i = 0; i < s->lang.param_count; i++) {
        const fc_lang_param *p = &s->lang.params[i];
        if (p->input == FC_LANG_NONE || p->given == FC_LANG_NONE) continue;
        const fc_lang_input *in = &s->given[p->given];
        fc_node n = g->inputs.at[p->input].node;
        for (uint32_t k = 0; k < in->rank && k < fc_rank(g, n); k++) {
            if (in->shape[k] != FC_LANG_ANY_SIZE) continue;
            int64_t v = by_name(s, z, &s->inputs[s->given_from[p->given]].dims[k]);
            if (v >= 0) learn(s, z, fc_axis(g, n, k), v);
        }
    }
    return FUSEC_OK;
}

static fusec_status unknown_size(const fc_job *s, const sizes *z, fc_error *e) {
    const fc_dimtab *t = &s->graph.dims;
    for (size_t i = 0; i < s->given_count; i++) /* x=rand:nxm */
        for (uint32_t k = 0; k < s->given[i].rank; k++) {
            const fc_cli_input *in = &s->inputs[s->given_from[i]];
            const fc_input_dim *d = &in->dims[k];
            if (s->given[i].shape[k] == FC_LANG_ANY_SIZE && d->name && by_name(s, z, d) < 0)
                return fc_fail(e, FUSEC_MISSING_INPUT,
                               "the size %.*s of %.*s is not known\n  help: %.*s=1000 gives it",
                               (int)d->name_len, d->name, (int)in->name_len, in->name,
                               (int)d->name_len, d->name);
        }
    for (size_t i = 0; i < t->syms.len; i++)
        if (t->syms.at[i].kind == FC_SYM_NAMED && !z->known[i])
            return fc_fail(e, FUSEC_MISSING_INPUT,
                           "the size %s is not known\n  help: %s=1000 gives it", t->syms.at[i].name,
                           t->syms.at[i].name);
    return FUSEC_OK;
}

static bool all_known(const fc_job *s, const sizes *z) {
    const fc_dimtab *t = &s->graph.dims;
    for (size_t i = 0; i < t->syms.len; i++)
        if (t->syms.at[i].kind == FC_SYM_NAMED && !z->known[i]) return false;
    return true;
}

/* A tensor without data for an input of the graph. */
static fusec_status shape_tensor(fc_job *s, uint32_t i, fc_error *e) {
    const fc_graph *g = &s->graph;
    fc_node n = g->inputs.at[i].node;
    const fc_lang_param *p = fc_job_param(s, i);
    uint32_t rank = fc_rank(g, n);
    int64_t *shape = fc_arena_alloc(&s->arena, (rank + 1) * sizeof *shape), count, bytes;
    if (!shape) return fc_oom(e);
    for (uint32_t k = 0; k < rank; k++) {
        shape[k] = s->values[fc_axis(g, n, k)];
        if (!p || p->given == FC_LANG_NONE) continue;
        const fc_lang_input *in = &s->given[p->given];
        if (in->rank == rank && in->shape[k] != FC_LANG_ANY_SIZE) shape[k] = in->shape[k];
    }
    s->in[i] = (fc_tensor){.dtype = (fusec_dtype)fc_at(g, n)->dtype, .rank = rank, .shape = shape};
    bool negative = false; /* that is a condition of the program, with a message of its own */
    for (uint32_t k = 0; k < rank; k++) negative |= shape[k] < 0;
    if (negative ||
        fc_shape_bytes((int)rank, shape, fc_dtypes[s->in[i].dtype].bytes, &count, &bytes))
        return FUSEC_OK;
    return fc_fail(e, FUSEC_INPUT_SHAPE, "input %s has more bytes than 64 bits can count",
                   g->inputs.at[i].name);
}

static fusec_status start_sizes(fc_job *s, sizes *z, fc_error *e) {
    const fc_dimtab *t = &s->graph.dims;
    *z = (sizes){
        .symbols = fc_arena_alloc(&s->arena, (t->syms.len + 1) * sizeof(int64_t)),
        .known = fc_arena_alloc(&s->arena, t->syms.len + 1),
    };
    s->values = fc_arena_alloc(&s->arena, (t->forms.len + 1) * sizeof *s->values);
    s->known = fc_arena_alloc(&s->arena, t->forms.len + 1);
    s->nin = (uint32_t)s->graph.inputs.len;
    s->ndims = 0;
    s->in = fc_arena_alloc(&s->arena, (s->nin + 1) * sizeof *s->in);
    s->dims = fc_arena_alloc(&s->arena, (t->syms.len + 1) * sizeof *s->dims);
    if (!z->symbols || !z->known || !s->values || !s->known || !s->in || !s->dims) return fc_oom(e);
    return learn_all(s, z, e);
}

/* The sizes that follow from the names that are known. */
static fusec_status derive(fc_job *s, sizes *z, fc_error *e) {
    fc_dim bad;
    fc_str size;
    if (fc_dims_eval_known(&s->graph.dims, z->symbols, z->known, s->values, s->known, &bad))
        return FUSEC_OK;
    fc_str_init(&size, s->alloc);
    fc_dim_print(&s->graph.dims, bad, &size);
    fusec_status st = fc_fail(e, FUSEC_INPUT_SHAPE,
                              "the size %s does not fit into 64 bits for these inputs", size.data);
    fc_str_free(&size);
    return st;
}

static fusec_status finish_sizes(fc_job *s, sizes *z, fc_error *e) {
    FC_TRY(derive(s, z, e));
    for (uint32_t i = 0; i < s->nin; i++) FC_TRY(shape_tensor(s, i, e));
    s->sized = true;
    return FUSEC_OK;
}

fusec_status fc_job_sizes(fc_job *s, bool complete, fc_error *e) {
    sizes z;
    FC_TRY(start_sizes(s, &z, e));
    if (all_known(s, &z)) return finish_sizes(s, &z, e);
    return complete ? unknown_size(s, &z, e) : derive(s, &z, e);
}

bool fc_job_decides(const fc_job *s, const fc_condition *x) {
    return s->known[x->a] && s->known[x->b];
}

fusec_status fc_job_conditions(const fc_job *s, fc_error *e) {
    for (size_t i = 0; i < s->graph.conditions.len; i++) {
        const fc_condition *x = &s->graph.conditions.at[i];
        if (fc_job_decides(s, x)) FC_TRY(fc_condition_test(&s->graph, x, s->values, e));
    }
    return FUSEC_OK;
}

/* --static n=64 */
bool fc_job_static(const fc_job *s, const char *name, int64_t *out) {
    const fc_options *o = &s->cli->o;
    for (size_t i = 0; i < o->many.len; i++) {
        size_t n;
        fc_weak w;
        const char *word = o->many.at[i].text;
        if (o->many.at[i].flag != FC_FLAG_STATIC || !fc_is_assignment(word, &n)) continue;
        if (strlen(name) != n || memcmp(name, word, n) != 0) continue;
        if (!fc_weak_parse(word + n + 1, &w) || w.kind != FC_WEAK_INT || w.negative ||
            w.magnitude > INT64_MAX)
            continue;
        *out = (int64_t)w.magnitude;
        return true;
    }
    return false;
}

fusec_status fc_job_examples(fc_job *s, fc_str *note, fc_error *e) {
    const fc_dimtab *t = &s->graph.dims;
    sizes z;
    size_t unknown = 0, said = 0;
    FC_TRY(start_sizes(s, &z, e));
    for (size_t i = 0; i < t->syms.len; i++)
        unknown += t->syms.at[i].kind == FC_SYM_NAMED && !z.known[i];
    /* Large, but all of them together below what 32-bit indices can count. */
    int64_t example = unknown <= 2 ? 4096 : unknown == 3 ? 1024 : unknown <= 5 ? 64 : 4;
    for (size_t i = 0; i < t->syms.len; i++) {
        const fc_sym *sym = &t->syms.at[i];
        if (sym->kind != FC_SYM_NAMED || z.known[i]) continue;
        z.known[i] = true;
        z.symbols[i] = example;
        fc_job_static(s, sym->name, &z.symbols[i]);
        fc_str_printf(note, "%s%s = %lld", said++ ? ", " : "", sym->name, (long long)z.symbols[i]);
        s->dims[s->ndims++] = (fc_dim_value){(uint32_t)i, z.symbols[i]};
    }
    return finish_sizes(s, &z, e);
}
