/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_def.c - a plan as constants of an object: dims, conditions, buffers, kernels.
 *
 * The structs are those that the functions of codegen/ work with, as they lie in this process; the
 * object has them at other addresses. So the command and the run time inside it are of one build.
 */
#include <stddef.h>

#include "frontend/cli/aot.h"

/* A block of `n` elements; none for none. */
static uint32_t array(fc_image *m, const void *at, size_t n, size_t size) {
    return n ? fc_image_add(m, at, n * size) : FC_NO_BLOCK;
}

#define VEC(m, v) array((m), (v)->at, (v)->len, sizeof *(v)->at)

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint32_t dims_block(fc_image *m, const fc_dimtab *t) {
    fc_dimtab copy = {.syms = {.len = t->syms.len}, .forms = {.len = t->forms.len}};
    const uint32_t syms = VEC(m, &t->syms), forms = VEC(m, &t->forms);
    for (size_t i = 0; i < t->syms.len; i++)
        fc_image_point(m, syms, i * sizeof(fc_sym) + offsetof(fc_sym, name), FC_NO_BLOCK);
    for (size_t i = 0; i < t->forms.len; i++) {
        const fc_form *f = &t->forms.at[i];
        fc_image_point(m, forms, i * sizeof *f + offsetof(fc_form, terms),
                       array(m, f->terms, f->nterms, sizeof *f->terms));
    }
    const uint32_t b = fc_image_add(m, &copy, sizeof copy);
    fc_image_point(m, b, offsetof(fc_dimtab, syms.at), syms);
    fc_image_point(m, b, offsetof(fc_dimtab, forms.at), forms);
    return b;
}

/* Leading axes come first, as they are written. */
uint32_t fc_aot_sizes(const fc_job *s, uint32_t *sym, uint32_t room) {
    const fc_dimtab *t = &s->graph.dims;
    uint32_t n = 0;
    int64_t value;
    for (int leading = 0; leading < 2; leading++)
        for (uint32_t i = 0; i < t->syms.len; i++) {
            const char *name = t->syms.at[i].name;
            if (t->syms.at[i].kind != FC_SYM_NAMED || (strcmp(name, "...") != 0) != leading ||
                fc_job_static(s, name, &value))
                continue;
            if (n < room) sym[n] = i;
            n++;
        }
    return n;
}

static uint32_t sizes_block(fc_image *m, const fc_job *s, uint64_t *count) {
    const fc_dimtab *t = &s->graph.dims;
    const uint32_t n = fc_aot_sizes(s, NULL, 0);
    uint32_t b = FC_NO_BLOCK, *sym = fc_calloc(m->alloc, n + 1, sizeof *sym);
    fc_str all;
    fc_str_init(&all, m->alloc);
    *count = 0;
    m->oom |= !sym;
    if (sym) fc_aot_sizes(s, sym, n);
    for (uint32_t i = 0; sym && i < t->syms.len; i++) {
        fc_aot_size z = {.sym = i};
        if (t->syms.at[i].kind != FC_SYM_NAMED) continue;
        (void)fc_job_static(s, t->syms.at[i].name, &z.value);
        for (uint32_t k = 0; k < n; k++)
            if (sym[k] == i) z.given = k + 1;
        fc_str_addn(&all, (const char *)&z, sizeof z);
        ++*count;
    }
    if (*count) b = fc_image_add(m, all.data, all.len);
    m->oom |= all.oom;
    fc_str_free(&all);
    fc_free(m->alloc, sym);
    return b;
}

static uint32_t conditions_block(fc_image *m, const fc_graph *g) {
    const uint32_t b = VEC(m, &g->conditions);
    for (size_t i = 0; i < g->conditions.len; i++)
        fc_image_point(m, b, i * sizeof(fc_condition) + offsetof(fc_condition, message),
                       FC_NO_BLOCK);
    return b;
}

static uint32_t buffers_block(fc_image *m, const fc_plan *p) {
    const fc_graph *g = &p->graph;
    const fc_aot_array none = {0};
    uint32_t b = FC_NO_BLOCK;
    for (size_t i = 0; i < p->buffers.len; i++) {
        const fc_ninfo *n = fc_at(g, p->buffers.at[i].node);
        const uint32_t rank = fc_list_len(g, n->shape);
        fc_dim shape[FC_MAX_RANK];
        for (uint32_t k = 0; k < rank; k++) shape[k] = (fc_dim)fc_list_at(g, n->shape)[k];
        const fc_aot_array one = {.bytes = fc_dtypes[n->dtype].bytes, .rank = rank};
        if (b == FC_NO_BLOCK)
            b = fc_image_add(m, &one, sizeof one);
        else if (b < m->blocks.len)
            fc_str_addn(&m->blocks.at[b].bytes, (const char *)&one, sizeof one);
        fc_image_point(m, b, i * sizeof none + offsetof(fc_aot_array, shape),
                       array(m, shape, rank, sizeof *shape));
    }
    return b;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static uint32_t maps_block(fc_image *m, const fc_map *maps, uint32_t n) {
    const uint32_t b = array(m, maps, n, sizeof *maps);
    for (uint32_t i = 0; i < n; i++)
        fc_image_point(m, b, i * sizeof *maps + offsetof(fc_map, next),
                       maps[i].next ? maps_block(m, maps[i].next, 1) : FC_NO_BLOCK);
    return b;
}

static uint32_t accesses_block(fc_image *m, const fc_kernel *k) {
    const uint32_t b = VEC(m, &k->accesses);
    for (size_t i = 0; i < k->accesses.len; i++) {
        const fc_access *x = &k->accesses.at[i];
        const size_t at = i * sizeof *x;
        const uint32_t shape =
            x->shape ? array(m, x->shape, x->rank, sizeof *x->shape) : FC_NO_BLOCK;
        fc_image_point(m, b, at + offsetof(fc_access, shape), shape);
        fc_image_point(m, b, at + offsetof(fc_access, map), maps_block(m, x->map, x->rank));
    }
    return b;
}

/* What a copy of a code points to, at `at` of a block. */
static void code_pointers(fc_image *m, uint32_t b, size_t at, const fc_code *c) {
    fc_image_point_symbol(m, b, at + offsetof(fc_code, alloc), "fc_libc_alloc");
    fc_image_point(m, b, at + offsetof(fc_code, ins.at), VEC(m, &c->ins));
}

static fc_code bare_code(const fc_code *c) {
    fc_code copy = *c;
    copy.slots = NULL;
    copy.nslots = 0;
    copy.rewrite = NULL;
    return copy;
}

/* The record of a reduction by a definition. */
static uint32_t record_block(fc_image *m, const fc_record *r) {
    fc_record copy = *r;
    copy.code = bare_code(&r->code);
    const uint32_t b = fc_image_add(m, &copy, sizeof copy);
    code_pointers(m, b, offsetof(fc_record, code), &r->code);
    return b;
}

static uint32_t rounds_block(fc_image *m, const fc_rounds *r) {
    fc_rounds copy = *r;
    copy.code = bare_code(&r->code);
    const uint32_t b = fc_image_add(m, &copy, sizeof copy);
    code_pointers(m, b, offsetof(fc_rounds, code), &r->code);
    return b;
}

/* A block of `n` pointers; FC_NO_BLOCK for none. */
static uint32_t pointers_block(fc_image *m, size_t n) {
    uint32_t b = FC_NO_BLOCK;
    void **none = n ? fc_calloc(m->alloc, n, sizeof *none) : NULL;
    m->oom |= n && !none;
    if (none) b = fc_image_add(m, none, n * sizeof *none);
    fc_free(m->alloc, none);
    return b;
}

static uint32_t loops_block(fc_image *m, const fc_kernel *k) {
    const uint32_t b = pointers_block(m, k->loops.len);
    for (size_t i = 0; i < k->loops.len; i++)
        fc_image_point(m, b, i * sizeof(void *), rounds_block(m, k->loops.at[i]));
    return b;
}

static uint32_t records_block(fc_image *m, const fc_kernel *k) {
    const uint32_t b = pointers_block(m, k->records.len);
    for (size_t i = 0; i < k->records.len; i++)
        fc_image_point(m, b, i * sizeof(void *), record_block(m, k->records.at[i]));
    return b;
}

static uint32_t reductions_block(fc_image *m, const fc_kernel *k) {
    const uint32_t b = VEC(m, &k->reductions);
    for (size_t i = 0; i < k->reductions.len; i++) {
        const fc_record *r = k->reductions.at[i].record;
        fc_image_point(m, b, i * sizeof(fc_reduction) + offsetof(fc_reduction, record),
                       r ? record_block(m, r) : FC_NO_BLOCK);
    }
    return b;
}

static uint32_t kernel_block(fc_image *m, const fc_kernel *k) {
    fc_kernel copy = *k;
    copy.code = bare_code(&k->code);
    copy.places.len = 0;
    memset(&copy.arena, 0, sizeof copy.arena);
    const uint32_t b = fc_image_add(m, &copy, sizeof copy);
    code_pointers(m, b, offsetof(fc_kernel, code), &k->code);
    fc_image_point(m, b, offsetof(fc_kernel, accesses.at), accesses_block(m, k));
    fc_image_point(m, b, offsetof(fc_kernel, reductions.at), reductions_block(m, k));
    fc_image_point(m, b, offsetof(fc_kernel, stores.at), VEC(m, &k->stores));
    fc_image_point(m, b, offsetof(fc_kernel, updates.at), VEC(m, &k->updates));
    fc_image_point(m, b, offsetof(fc_kernel, params.at), VEC(m, &k->params));
    fc_image_point(m, b, offsetof(fc_kernel, args.at), VEC(m, &k->args));
    fc_image_point(m, b, offsetof(fc_kernel, checks.at), VEC(m, &k->checks));
    fc_image_point(m, b, offsetof(fc_kernel, records.at), records_block(m, k));
    fc_image_point(m, b, offsetof(fc_kernel, loops.at), loops_block(m, k));
    fc_image_point(m, b, offsetof(fc_kernel, externs.at), FC_NO_BLOCK);
    fc_image_point(m, b, offsetof(fc_kernel, places.at), FC_NO_BLOCK);
    return b;
}

static uint32_t kernels_block(fc_image *m, const fc_plan *p) {
    const uint64_t none = 0;
    uint32_t b = FC_NO_BLOCK;
    for (size_t i = 0; i < p->steps.len; i++) {
        if (b == FC_NO_BLOCK)
            b = fc_image_add(m, &none, sizeof none);
        else if (b < m->blocks.len)
            fc_str_addn(&m->blocks.at[b].bytes, (const char *)&none, sizeof none);
        fc_image_point(m, b, i * sizeof none, kernel_block(m, &p->steps.at[i]->kernel));
    }
    return b;
}

static uint32_t levels_block(fc_aot *a, const uint32_t *code) {
    fc_aot_level levels[FC_AOT_LEVELS] = {0};
    for (int i = 0; i < a->nlevels; i++)
        levels[i] = (fc_aot_level){.features = a->levels[i].features,
                                   .vector_bytes = a->levels[i].vector_bytes};
    const uint32_t b = array(&a->image, levels, (size_t)a->nlevels, sizeof *levels);
    for (int i = 0; i < a->nlevels; i++)
        fc_image_point(&a->image, b, (size_t)i * sizeof *levels + offsetof(fc_aot_level, code),
                       code[i]);
    return b;
}

uint32_t fc_aot_def_block(fc_aot *a, const fc_job *s, const fc_plan *p, const uint32_t *code,
                          uint32_t images) {
    fc_image *m = &a->image;
    fc_aot_def d = {.nconditions = p->graph.conditions.len,
                    .nin = p->graph.inputs.len,
                    .nout = p->graph.outputs.len,
                    .nbuffers = p->buffers.len,
                    .nkernels = p->steps.len,
                    .nlevels = (uint64_t)a->nlevels,
                    .nimages = (uint64_t)a->ngpus,
                    .number = a->defs.len};
    const uint32_t sizes = sizes_block(m, s, &d.nsizes);
    const uint32_t b = fc_image_add(m, &d, sizeof d);
    fc_image_point(m, b, offsetof(fc_aot_def, dims), dims_block(m, &p->graph.dims));
    fc_image_point(m, b, offsetof(fc_aot_def, sizes), sizes);
    fc_image_point(m, b, offsetof(fc_aot_def, conditions), conditions_block(m, &p->graph));
    fc_image_point(m, b, offsetof(fc_aot_def, buffers), buffers_block(m, p));
    fc_image_point(m, b, offsetof(fc_aot_def, kernels), kernels_block(m, p));
    fc_image_point(m, b, offsetof(fc_aot_def, levels), levels_block(a, code));
    fc_image_point(m, b, offsetof(fc_aot_def, images), images);
    return b;
}
