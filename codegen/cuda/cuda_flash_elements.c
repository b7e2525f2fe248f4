/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_elements.c - joined products: what each kernel does with one element, as functions
 * inside of the kernel.
 *
 * In: parts, whose code is what it is in kernels of their own. Out: text. What a part takes from
 * the one before it is an argument `x` of its functions instead of a load. Each part has a name
 * space for its reductions. */
#include "codegen/cuda/cuda_dot.h"
#include "codegen/cuda/cuda_flash_text.h"

fc_cuda_gen *fc_flash_part(fc_flash_gen *x, uint32_t part) {
    x->part[part].t.depth = x->part[x->now].t.depth;
    x->now = part;
    return &x->part[part];
}

void fc_flash_index(fc_cuda_gen *g, uint32_t axis, const char *format, ...) {
    char value[96];
    va_list ap;
    va_start(ap, format);
    vsnprintf(value, sizeof value, format, ap);
    va_end(ap);
    fc_cuda_line(&g->t, "const ix %c%u = %s;", axis < g->np ? 'i' : 'j',
                 axis < g->np ? axis : axis - g->np, value);
}

void fc_flash_open(fc_flash_gen *x, uint32_t part, const char *row, const char *column) {
    fc_cuda_gen *g = fc_flash_part(x, part);
    fc_cuda_text *t = &g->t;
    fc_cuda_line(t, "using namespace part%u;", (unsigned)fc_flash_part_of(part));
    fc_cuda_arguments(g);
    fc_cuda_parameters(g);
    fc_cuda_line(t, "const ix count = (ix)p.w[%u];", g->l.extra + FC_PB_COUNT);
    fc_cuda_line(t, "const long long zero = p.w[%u];", g->l.extra + FC_PB_SPARE0);
    for (uint32_t a = 0; a < fc_flash_row(x); a++)
        fc_flash_index(g, fc_flash_axis(x, part, a), "at%u", (unsigned)a);
    if (row) fc_flash_index(g, fc_flash_axis(x, part, fc_flash_row(x)), "%s", row);
    if (column) fc_flash_index(g, fc_flash_axis(x, part, fc_flash_column(x)), "%s", column);
}

void fc_flash_close(fc_flash_gen *x) {
    fc_cuda_gen *g = &x->part[x->now];
    memset(g->done, 0, g->code.ins.len);
    fc_cuda_line(&g->t, "};");
}

/* The code of one value where all axes [0, end) have indices. */
void fc_flash_value(fc_cuda_gen *g, fc_val root, uint32_t end) {
    fc_dot_slice(g, root);
    fc_cuda_bases(g, end);
    fc_cuda_element(g);
}

void fc_flash_give_back(fc_cuda_gen *g, fc_val v, bool rounded) {
    fc_cuda_indent(&g->t);
    fc_str_add(g->t.out, "return ");
    if (rounded)
        fc_cuda_operand(&g->t, v);
    else
        fc_cuda_to_storage(&g->t, v);
    fc_str_add(g->t.out, ";\n");
}

/* ---- what is passed on ----------------------------------------------------------------------- */

/* What a part stores; `before`: the f32 that is rounded to it. */
static fc_val stored(const fc_cuda_gen *g, bool before) {
    const fc_val v = g->store_value[0];
    return before ? g->code.ins.at[v].a : v;
}

const char *fc_flash_passed_type(const fc_flash_gen *x) {
    const fc_kernel *k = x->j->kernel[0];
    return x->forms.rounds ? "float" : fc_dtypes[k->accesses.at[k->stores.at[0].access].dtype].cuda;
}

const char *fc_flash_half(const fc_flash_gen *x, uint32_t part) {
    return x->j->kernel[part]->reductions.at[0].half == FUSEC_F16 ? "f16" : "bf16";
}

static fc_val left_operand(const fc_cuda_gen *g) {
    return fc_cuda_red_value(g, 0)[g->cls->cuda.dot_swapped];
}

static fc_dot dot_of(fc_cuda_gen *g) {
    return (fc_dot){.g = g, .half = (fusec_dtype)g->k->reductions.at[0].half};
}

static bool is_bare(fc_flash_gen *x) {
    fc_cuda_gen *g = &x->part[x->f.n - 1];
    const fc_dot d = dot_of(g);
    const fc_instr *i = &g->code.ins.at[fc_mma_narrow_of(&d, left_operand(g))];
    return i->op == FC_OP_LOAD && i->imm == x->f.taken[x->f.n - 1] && i->dtype == d.half;
}

static bool divides(fc_cuda_gen *g) {
    bool any = false;
    fc_dot_slice(g, g->store_value[0]);
    for (fc_val v = 0; v < g->code.ins.len; v++)
        any |= g->need[v] && fc_cuda_divides_by_row(&g->t, v);
    return any;
}

void fc_flash_find_forms(fc_flash_gen *x) {
    const fc_cuda_gen *first = &x->part[0], *last = &x->part[x->f.n - 2]; /* that pass on */
    x->forms.rounds = fc_cuda_rounds(&first->t, first->store_value[0]);
    x->forms.bare = is_bare(x);
    x->forms.weights = x->forms.bare && fc_cuda_rounds(&last->t, last->store_value[0]);
    x->forms.divides = x->f.n == 3 && divides(&x->part[1]);
}

/* ---- functions ------------------------------------------------------------------------------- */

static void finished(fc_cuda_gen *g) {
    fc_cuda_line(&g->t, "red0 sum;");
    fc_cuda_line(&g->t, "sum.c0 = c;");
    fc_cuda_line(&g->t, "const auto f0 = red0_finish(sum, (long long)count);");
}

/* Of the names of functions of part 1. */
static const char *suffix(uint32_t part) {
    return part == FC_FLASH_SHOWN ? "_shown" : "";
}

static void score(fc_flash_gen *x) {
    fc_cuda_gen *g = fc_flash_part(x, 0);
    const fc_val v = stored(g, x->forms.rounds);
    fc_cuda_line(&g->t, "const auto score = [&](const float c, const ix row, const ix column) {");
    fc_flash_open(x, 0, "row", "column");
    finished(g);
    fc_flash_value(g, v, g->np);
    fc_flash_give_back(g, v, x->forms.rounds);
    fc_flash_close(x);
}

/* f* of the reductions of stages before `stage`. */
void fc_flash_results(fc_cuda_gen *g, unsigned stage) {
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].stage < stage)
            fc_cuda_line(&g->t, "const auto f%u = of_row%u[h];", r, r);
}

static void take(fc_flash_gen *x, uint32_t part, unsigned stage) {
    fc_cuda_gen *g = fc_flash_part(x, part);
    fc_cuda_text *t = &g->t;
    fc_cuda_indent(t);
    fc_str_printf(t->out,
                  "const auto take%u%s = [&](const %s x, const ix row, const ix column, const int "
                  "h",
                  stage, suffix(part), fc_flash_passed_type(x));
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].stage == stage)
            fc_str_printf(t->out, ", part1::red%u &w%u", r, r);
    fc_str_add(t->out, ") {\n");
    t->depth++;
    fc_flash_open(x, part, "row", "column");
    fc_flash_results(g, stage);
    (void)fc_cuda_slice(g, stage, FC_POINT);
    fc_cuda_bases(g, g->axes);
    fc_cuda_element(g);
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        if (g->k->reductions.at[r].stage != stage) continue;
        fc_cuda_indent(t);
        fc_str_printf(t->out, "red%u_step(w%u, ", r, r);
        fc_cuda_operand(t, fc_cuda_red_value(g, r)[0]);
        fc_str_add(t->out, ", (long long)column, 0ll);\n");
    }
    fc_flash_close(x);
}

/* `name`(x, row, column, h). With `near` quotients by what is the same in a row are made the short
 * way; whether that was right is for the caller to test. */
static void weight(fc_flash_gen *x, uint32_t part, const char *name, const char *by_row,
                   bool near) {
    fc_cuda_gen *g = fc_flash_part(x, part);
    fc_cuda_text *t = &g->t;
    const fc_val v = stored(g, x->forms.weights);
    fc_cuda_line(t,
                 "const auto %s%s = [&](const %s x, const ix row, const ix column, const int h, "
                 "unsigned int &most, unsigned int &least, bool &near) {",
                 name, suffix(part), fc_flash_passed_type(x));
    fc_flash_open(x, part, "row", "column");
    fc_flash_results(g, FC_CUDA_STORES);
    t->by_row = by_row;
    fc_flash_value(g, v, g->axes);
    for (fc_val q = 0; near && q < g->code.ins.len; q++) {
        if (!g->need[q] || !fc_cuda_divides_by_row(t, q)) continue;
        fc_cuda_indent(t);
        fc_str_add(t->out, "near = near && fc_near_one(");
        fc_cuda_operand(t, g->code.ins.at[q].b);
        fc_str_add(t->out, ");\n");
    }
    t->by_row = NULL;
    fc_flash_give_back(g, v, x->forms.weights);
    fc_flash_close(x);
}

/* What a softmax takes the largest of. */
static void power(fc_flash_gen *x, uint32_t part) {
    fc_cuda_gen *g = fc_flash_part(x, part);
    const fc_val v = fc_cuda_red_value(g, 0)[0];
    fc_cuda_line(&g->t, "const auto power%s = [&](const %s x, const ix row, const ix column) {",
                 suffix(part), fc_flash_passed_type(x));
    fc_flash_open(x, part, "row", "column");
    fc_flash_value(g, v, g->axes);
    fc_flash_give_back(g, v, true);
    fc_flash_close(x);
}

/* The bits of the left operand of the last product. */
void fc_flash_left(fc_flash_gen *x, uint32_t part, const char *name) {
    fc_cuda_gen *g = fc_flash_part(x, part);
    const fc_access *a = &g->k->accesses.at[x->f.taken[x->f.n - 1]];
    const fc_dot d = dot_of(g);
    char takes[64] = "";
    if (part != FC_FLASH_HIDDEN)
        snprintf(takes, sizeof takes, "const %s x, ",
                 x->f.n == 2 ? fc_flash_passed_type(x) : fc_dtypes[a->dtype].cuda);
    fc_cuda_line(&g->t, "const auto %s = [&](%sconst ix row, const ix column) {", name, takes);
    fc_flash_open(x, part, "row", "column");
    fc_flash_index(g, x->f.across, "0");
    fc_flash_value(g, fc_mma_narrow_of(&d, left_operand(g)), g->axes);
    fc_cuda_indent(&g->t);
    fc_str_add(g->t.out, "return ");
    fc_mma_put_bits(&d, left_operand(g));
    fc_str_add(g->t.out, ";\n");
    fc_flash_close(x);
}

static void finish(fc_flash_gen *x) {
    fc_cuda_gen *g = fc_flash_last(x);
    fc_cuda_line(&g->t, "const auto finish = [&](const float c, const ix row, const ix column) {");
    fc_flash_open(x, x->f.n - 1, "row", NULL);
    fc_flash_index(g, x->f.across, "column");
    finished(g);
    (void)fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW);
    fc_cuda_bases(g, g->np);
    fc_cuda_element(g);
    fc_cuda_row_stores(g);
    fc_flash_close(x);
}

/* Of the part that takes what the first one passes on. */
static void of_part(fc_flash_gen *x, uint32_t part) {
    const unsigned stages = x->f.n == 3 ? x->j->kernel[1]->nstages : 0;
    const bool once = x->cls->cuda.flash_once, near = x->forms.divides;
    for (unsigned s = 0; !once && s < stages; s++) take(x, part, s);
    if (once) power(x, part);
    if (once || x->f.n == 2) return;
    weight(x, part, "weight", near ? "fc_div_by_row($a, $b, most, least)" : NULL, near);
    if (near) weight(x, part, "far_weight", "fc_far_div($a, $b)", false);
}

void fc_flash_functions(fc_flash_gen *x) {
    score(x);
    of_part(x, 1);
    if (x->mask.n) of_part(x, FC_FLASH_SHOWN);
    if (!x->forms.bare) fc_flash_left(x, x->f.n - 1, "left");
    if (x->mask.n && x->f.n == 2) fc_flash_left(x, FC_FLASH_SHOWN, "left_shown");
    fc_flash_mask_functions(x);
    finish(x);
}
