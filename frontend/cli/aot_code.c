/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_code.c - the code of a level of the CPU, and the tables of the variants of kernels. */
#include "codegen/llvm/schedule/llvm_schedule.h"
#include "frontend/cli/aot.h"
#include "runtime/compile/helper.h"

/* ---- code ------------------------------------------------------------------------------------ */

fusec_status fc_aot_compile(fc_aot *a, const fc_str *text, const char *cpu, fc_error *e) {
    fc_llvm_options o = {.cpu = cpu, .passes = FC_LLVM_EARLY_CSE, .level = 2};
    fc_bytes object = {0};
    fusec_status s;
    if (text->oom) return fc_oom(e);
    if (!a->compiles) return FUSEC_OK;
    if (a->ctx->helper) {
        s = fc_helper_llvm(a->ctx->helper, text->data, text->len, "aot", &o, &object, e);
    } else {
        if (!a->lib) FC_TRY(fc_llvm_open(a->alloc, &a->lib, e));
        s = fc_llvm_compile(a->lib, text->data, text->len, "aot", &o, &object, e);
    }
    if (s) return s;
    if (fc_push(a->alloc, &a->objects, object)) return FUSEC_OK;
    fc_bytes_free(a->alloc, &object);
    return fc_oom(e);
}

/* Emits and compiles a class under `name`, which stays; *finish: NULL where there is none. */
static fusec_status make(fc_aot *a, const fc_kernel *k, const fc_class *cls, const fc_machine *m,
                         const char *name, const char **finish, fc_error *e) {
    fc_str text, with;
    fc_str_init(&text, a->alloc);
    fc_str_init(&with, a->alloc);
    fusec_status s = fc_llvm_target.emit(m, k, cls, name, &text, e);
    fc_str_printf(&with, "@%s_finish(", name);
    *finish = NULL;
    if (!s && strstr(text.data, with.data)) {
        *finish = fc_arena_strdup(&a->arena, with.data + 1, with.len - 2);
        if (!*finish) s = fc_oom(e);
    }
    if (!s) s = fc_aot_compile(a, &text, m->cpu, e);
    fc_str_printf(&a->declarations, "declare void @%s(ptr, i64, i64)\n", name);
    if (*finish) fc_str_printf(&a->declarations, "declare void @%s(ptr, i64, i64)\n", *finish);
    fc_str_free(&text);
    fc_str_free(&with);
    return s;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void add_variant(fc_aot *a, uint32_t block, size_t at, const fc_aot_choice *x, size_t v) {
    const fc_class *cls = &x->cls[v];
    const size_t moves = (size_t)cls->naccess * (cls->np + cls->nr);
    const uint32_t move = fc_image_add(&a->image, cls->move, moves + 1);
    const struct {
        size_t at;
        const char *symbol;
    } code[] = {{offsetof(fc_aot_variant, main), x->main[v]},
                {offsetof(fc_aot_variant, finish), x->finish[v]}};
    fc_image_point(&a->image, block, at + offsetof(fc_aot_variant, cls.move), move);
    for (size_t i = 0; i < FC_COUNT(code); i++)
        if (code[i].symbol)
            fc_image_point_symbol(&a->image, block, at + code[i].at, code[i].symbol);
        else
            fc_image_point(&a->image, block, at + code[i].at, FC_NO_BLOCK);
    const char *name = x->name[v];
    fc_image_point(&a->image, block, at + offsetof(fc_aot_variant, name),
                   name ? fc_image_add(&a->image, name, strlen(name) + 1) : FC_NO_BLOCK);
}

static void kernel_code(fc_aot *a, const fc_aot_choice *x, uint32_t block, size_t at) {
    uint32_t variants = FC_NO_BLOCK;
    fc_str all;
    fc_str_init(&all, a->alloc);
    for (size_t v = 0; v < x->n; v++) {
        const fc_aot_variant one = {.cls = x->cls[v]};
        fc_str_addn(&all, (const char *)&one, sizeof one);
    }
    a->image.oom |= all.oom;
    if (x->n) variants = fc_image_add(&a->image, all.data, all.len);
    fc_str_free(&all);
    for (size_t v = 0; v < x->n; v++) add_variant(a, variants, v * sizeof(fc_aot_variant), x, v);
    fc_image_point(&a->image, block, at + offsetof(fc_aot_code, variants), variants);
    add_variant(a, block, at + offsetof(fc_aot_code, plain), x, x->n);
}

uint32_t fc_aot_code_table(fc_aot *a, const fc_aot_choice *of, size_t n) {
    uint64_t first = 0;
    fc_str all;
    fc_str_init(&all, a->alloc);
    for (size_t i = 0; i < n; i++) {
        fc_aot_code one = {.n = of[i].n, .first = first};
        one.plain.cls = of[i].cls[of[i].n];
        fc_str_addn(&all, (const char *)&one, sizeof one);
        first += of[i].n + 1;
    }
    a->image.oom |= all.oom;
    const uint32_t block = n ? fc_image_add(&a->image, all.data, all.len) : FC_NO_BLOCK;
    fc_str_free(&all);
    for (size_t i = 0; i < n; i++) kernel_code(a, &of[i], block, i * sizeof(fc_aot_code));
    return block;
}

/* ---- a level --------------------------------------------------------------------------------- */

static const char *variant_name(fc_aot *a, const char *of, int level, size_t kernel,
                                size_t number) {
    fc_str s;
    fc_str_init(&s, a->alloc);
    fc_str_printf(&s, "%s_k%zu_l%d_v%zu", of, kernel, level, number);
    const char *name = s.oom ? NULL : fc_arena_strdup(&a->arena, s.data, s.len);
    fc_str_free(&s);
    return name;
}

static fusec_status make_kernel(fc_aot *a, const fc_kernel *k, const fc_machine *m, int level,
                                const char *name, size_t number, fc_aot_choice *x, fc_error *e) {
    for (size_t v = 0; v <= x->n; v++) {
        x->main[v] = variant_name(a, name, level, number, v);
        if (!x->main[v]) return fc_oom(e);
        FC_TRY(make(a, k, &x->cls[v], m, x->main[v], &x->finish[v], e));
    }
    return FUSEC_OK;
}

fusec_status fc_aot_code_block(fc_aot *a, const fc_job *s, const fc_plan *p, int level,
                               const char *name, uint32_t *block, fc_error *e) {
    const fc_aot_target *t = &a->levels[level];
    const fc_machine m = fc_aot_machine(t->cpu, t->vector_bytes);
    const fc_aot_machine_of of = {&fc_llvm_target, &m, 1};
    fc_aot_choice *x = fc_calloc(a->alloc, p->steps.len + 1, sizeof *x);
    fusec_status st = x ? fc_aot_choose(a, s, p, &of, x, e) : fc_oom(e);
    for (size_t i = 0; !st && i < p->steps.len; i++)
        st = make_kernel(a, &p->steps.at[i]->kernel, &m, level, name, i, &x[i], e);
    if (!st) *block = fc_aot_code_table(a, x, p->steps.len);
    fc_free(a->alloc, x);
    return st;
}
