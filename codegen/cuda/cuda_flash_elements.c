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
    for (uint32_t a = 0; a < x->row; a++)
        fc_flash_index(g, fc_flash_axis(x, part, a), "at%u", (unsigned)a);
    if (row) fc_flash_index(g, fc_flash_axis(x, part, x->row), "%s", row);
    if (column) fc_flash_index(g, fc_flash_axis(x, part, x->column), "%s", column);
}

void fc_flash_close(fc_flash_gen *x) {
    fc_cuda_gen *g = &x->part[x->now];
    memset(g->done, 0, g->code.ins.len);
    fc_cuda_line(&g->t, "};");
}

/* ---- what is passed on ----------------------------------------------------------------------- */

/* What a part stores; `before`: the f32 that is rounded to it. */
static fc_val stored(const fc_cuda_gen *g, bool before) {
    const fc_val v = g->store_value[0];
    return before && fc_cuda_rounds(&g->t, v) ? g->code.ins.at[v].a : v;
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

#define ROW_AND_COLUMN "const ix row, const ix column"
#define OF_ROW         ROW_AND_COLUMN ", const int h"
#define WEIGHT         OF_ROW ", unsigned int &most, unsigned int &least, bool &near"

/* Opens a function of an element of a part; `takes`: the type of what it takes, or NULL. */
static fc_cuda_gen *begin(fc_flash_gen *x, uint32_t part, const char *name, const char *takes,
                          const char *arguments) {
    fc_cuda_gen *g = fc_flash_part(x, part);
    const char *shown = part == FC_FLASH_SHOWN ? "_shown" : "";
    if (takes)
        fc_cuda_line(&g->t, "const auto %s%s = [&](const %s x, %s) {", name, shown, takes,
                     arguments);
    else
        fc_cuda_line(&g->t, "const auto %s%s = [&](%s) {", name, shown, arguments);
    fc_flash_open(x, part, "row", part == x->f.n - 1 && !takes ? NULL : "column");
    return g;
}

/* f* of the reductions of stages before `stage`. */
static void results(fc_cuda_gen *g, unsigned stage) {
    for (unsigned r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].stage < stage)
            fc_cuda_line(&g->t, "const auto f%u = of_row%u[h];", r, r);
}

/* The code of one value where all axes [0, end) have indices, and "return ...;", of a float that is
 * rounded or of what is stored. */
static void value(fc_cuda_gen *g, fc_val v, uint32_t end) {
    fc_dot_slice(g, v);
    fc_cuda_bases(g, end);
    fc_cuda_element(g);
}

static void give_back(fc_flash_gen *x, fc_cuda_gen *g, fc_val v, bool rounded) {
    fc_cuda_indent(&g->t);
    fc_str_add(g->t.out, "return ");
    (rounded ? fc_cuda_operand : fc_cuda_to_storage)(&g->t, v);
    fc_str_add(g->t.out, ";\n");
    fc_flash_close(x);
}

static void finished(fc_cuda_gen *g) {
    fc_cuda_line(&g->t, "red0 sum;");
    fc_cuda_line(&g->t, "sum.c0 = c;");
    fc_cuda_line(&g->t, "const auto f0 = red0_finish(sum, (long long)count);");
}

static void score(fc_flash_gen *x) {
    fc_cuda_gen *g = begin(x, 0, "score", NULL, "const float c, " ROW_AND_COLUMN);
    const fc_val v = stored(g, x->forms.rounds);
    finished(g);
    value(g, v, g->np);
    give_back(x, g, v, x->forms.rounds);
}

static void take(fc_flash_gen *x, uint32_t part, unsigned stage) {
    const fc_kernel *k = x->j->kernel[1];
    char name[16], arguments[256] = OF_ROW;
    snprintf(name, sizeof name, "take%u", stage);
    for (unsigned r = 0; r < k->reductions.len; r++) {
        const size_t n = strlen(arguments);
        if (k->reductions.at[r].stage == stage)
            snprintf(arguments + n, sizeof arguments - n, ", part1::red%u &w%u", r, r);
    }
    fc_cuda_gen *g = begin(x, part, name, fc_flash_passed_type(x), arguments);
    results(g, stage);
    (void)fc_cuda_slice(g, stage, FC_POINT);
    fc_cuda_bases(g, g->axes);
    fc_cuda_element(g);
    for (unsigned r = 0; r < k->reductions.len; r++) {
        if (k->reductions.at[r].stage != stage) continue;
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "red%u_step(w%u, ", r, r);
        fc_cuda_operand(&g->t, fc_cuda_red_value(g, r)[0]);
        fc_str_add(g->t.out, ", (long long)column, 0ll);\n");
    }
    fc_flash_close(x);
}

/* With `by_row` quotients by what is the same in a row are made that way: the short one, of which
 * the caller tests whether it was right, or the other one. */
static void weight(fc_flash_gen *x, uint32_t part, const char *name, const char *by_row) {
    const bool hidden = part == FC_FLASH_HIDDEN;
    fc_cuda_gen *g =
        begin(x, part, name, hidden ? NULL : fc_flash_passed_type(x), hidden ? OF_ROW : WEIGHT);
    const fc_val v = stored(g, x->forms.weights);
    const bool near = by_row && *name == 'w';
    results(g, FC_CUDA_STORES);
    g->t.by_row = by_row;
    value(g, v, g->axes);
    for (fc_val q = 0; near && q < g->code.ins.len; q++) {
        if (!g->need[q] || !fc_cuda_divides_by_row(&g->t, q)) continue;
        fc_cuda_indent(&g->t);
        fc_str_add(g->t.out, "near = near && fc_near_one(");
        fc_cuda_operand(&g->t, g->code.ins.at[q].b);
        fc_str_add(g->t.out, ");\n");
    }
    g->t.by_row = NULL;
    give_back(x, g, v, x->forms.weights);
}

/* What a reduction takes: the first one of a softmax; any, of hidden elements. */
static void taken(fc_flash_gen *x, uint32_t part, const char *name, unsigned r, bool hidden) {
    fc_cuda_gen *g = begin(x, part, name, hidden ? NULL : fc_flash_passed_type(x),
                           hidden ? OF_ROW : ROW_AND_COLUMN);
    const fc_val v = fc_cuda_red_value(g, r)[0];
    results(g, g->k->reductions.at[r].stage);
    value(g, v, g->axes);
    give_back(x, g, v, true);
}

/* The bits of the left operand of the last product. */
static void left(fc_flash_gen *x, uint32_t part, const char *name) {
    const fc_access *a = &x->j->kernel[x->f.n - 1]->accesses.at[x->f.taken[x->f.n - 1]];
    const char *type = x->f.n == 2 ? fc_flash_passed_type(x) : fc_dtypes[a->dtype].cuda;
    fc_cuda_gen *g = begin(x, part, name, part == FC_FLASH_HIDDEN ? NULL : type, ROW_AND_COLUMN);
    const fc_dot d = dot_of(g);
    fc_flash_index(g, x->f.across, "0");
    value(g, fc_mma_narrow_of(&d, left_operand(g)), g->axes);
    fc_cuda_indent(&g->t);
    fc_str_add(g->t.out, "return ");
    fc_mma_put_bits(&d, left_operand(g));
    fc_str_add(g->t.out, ";\n");
    fc_flash_close(x);
}

static void finish(fc_flash_gen *x) {
    fc_cuda_gen *g = begin(x, x->f.n - 1, "finish", NULL, "const float c, " ROW_AND_COLUMN);
    fc_flash_index(g, x->f.across, "column");
    finished(g);
    (void)fc_cuda_slice(g, FC_CUDA_STORES, FC_ROW);
    fc_cuda_bases(g, g->np);
    fc_cuda_element(g);
    fc_cuda_row_stores(g);
    fc_flash_close(x);
}

/* Of the part between, with its code or that of tiles where nothing is hidden. */
static void between(fc_flash_gen *x, uint32_t part) {
    if (x->cls->cuda.flash_once) {
        taken(x, part, "power", 0, false);
        return;
    }
    for (unsigned s = 0; s < x->j->kernel[1]->nstages; s++) take(x, part, s);
    weight(x, part, "weight", x->forms.divides ? "fc_div_by_row($a, $b, most, least)" : NULL);
    if (x->forms.divides) weight(x, part, "far_weight", "fc_far_div($a, $b)");
}

/* Of elements that are hidden. */
static void hidden(fc_flash_gen *x) {
    for (unsigned r = 0; x->f.n == 3 && r < x->j->kernel[1]->reductions.len; r++) {
        char name[16];
        snprintf(name, sizeof name, "hide%u", r);
        taken(x, FC_FLASH_HIDDEN, name, r, true);
    }
    if (x->f.n == 3)
        weight(x, FC_FLASH_HIDDEN, "hidden_weight", NULL);
    else if (!x->passes)
        left(x, FC_FLASH_HIDDEN, "hidden_left");
}

void fc_flash_functions(fc_flash_gen *x) {
    score(x);
    if (x->f.n == 3) between(x, 1);
    if (x->f.n == 3 && x->mask.n) between(x, FC_FLASH_SHOWN);
    if (!x->forms.bare) left(x, x->f.n - 1, "left");
    if (x->mask.n && x->f.n == 2) left(x, FC_FLASH_SHOWN, "left");
    fc_flash_mask_functions(x);
    if (x->mask.n && !x->cls->cuda.flash_once) hidden(x);
    finish(x);
}

/* ---- elements -------------------------------------------------------------------------------- */

static const char *suffix(const fc_flash_gen *x) {
    return x->way == FC_LOOP_SHOWN ? "_shown" : "";
}

void fc_flash_score(fc_flash_gen *x) {
    const fc_kernel *k = x->j->kernel[0];
    const bool f16 = k->accesses.at[k->stores.at[0].access].dtype == FUSEC_F16;
    if (x->forms.rounds)
        FC_FLASH_PUT("fc_%s_round(x[i], x[i + 1], score(c[i], own[h], column0), score(c[i + 1], "
                     "own[h], column1));",
                     f16 ? "f16" : "bf16");
    else
        FC_FLASH_PUT("x[i] = score(c[i], own[h], column0), x[i + 1] = score(c[i + 1], own[h], "
                     "column1);");
}

/* The walk that goes once keeps what it makes of an element. */
void fc_flash_step(fc_flash_gen *x, unsigned stage) {
    const bool full = x->cls->cuda.full;
    fc_cuda_text *t = fc_flash_frame(x);
    if (x->cls->cuda.flash_once && !stage) {
        FC_FLASH_PUT("c[i] = %spower%s(x[i], own[h], column)%s;", full ? "" : "here < columns ? ",
                     suffix(x), full ? "" : " : fc_minus_inf()");
        FC_FLASH_PUT("part1::red0_step(w0[h], c[i], 0, 0);");
    } else if (x->cls->cuda.flash_once) {
        FC_FLASH_PUT("c[i] = fc_near_exp(c[i] - off[h]);");
        FC_FLASH_PUT("total[h] += c[i];");
    } else {
        fc_cuda_indent(t);
        fc_str_printf(t->out, "%stake%u%s(x[i], own[h], column, h",
                      full ? "" : "if (here < columns) ", stage, suffix(x));
        FC_FLASH_EACH(r, stage)
        fc_str_printf(t->out, fc_flash_in_order(x, r) ? ", w%u[turn * %u + i]" : ", w%u[h]", r,
                      fc_flash_scores(x->cls));
        fc_str_add(t->out, ");\n");
    }
}

/* What is made of x[i + e], rounded or in its bits. All hidden ones of a row are the same. */
static void put_weight(fc_flash_gen *x, unsigned e) {
    fc_str *out = fc_flash_frame(x)->out;
    const bool hidden = x->way == FC_LOOP_HIDDEN, two = x->f.n == 2,
               left = !x->forms.bare && !(hidden && two);
    if (!x->cls->cuda.full) fc_str_printf(out, "here%u < columns ? ", e);
    if (left) fc_str_printf(out, "left%s(", two ? suffix(x) : "");
    if (hidden)
        fc_str_add(out, "(h ? lower : upper)");
    else if (two)
        fc_str_printf(out, "x[i + %u]", e);
    else
        fc_str_printf(out, "%s%s(x[i + %u], own[h], column%u, h, most, least, near)",
                      x->way == FC_LOOP_FAR ? "far_weight" : "weight", suffix(x), e, e);
    if (left) fc_str_printf(out, ", own[h], column%u)", e);
    if (!x->cls->cuda.full) fc_str_add(out, x->forms.weights ? " : 0.0f" : " : (unsigned short)0");
}

void fc_flash_weights(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    const char *half = fc_flash_half(x, x->f.n - 1);
    if (x->cls->cuda.flash_once && x->way == FC_LOOP_HIDDEN) {
        FC_FLASH_PUT("weights[i / 2] = 0;");
    } else if (x->cls->cuda.flash_once) {
        FC_FLASH_PUT("weights[i / 2] = fc_%s_pair(c[i], c[i + 1]);", half);
    } else {
        fc_cuda_indent(t);
        fc_str_printf(
            t->out, x->forms.weights ? "weights[i / 2] = fc_%s_pair(" : "weights[i / 2] = fc_two(",
            half);
        put_weight(x, 0);
        fc_str_add(t->out, ", ");
        put_weight(x, 1);
        fc_str_add(t->out, ");\n");
    }
}
