/* cuda_red.c - a reduction as small functions on a struct, so that schedules read like the tree
 * they walk.
 *
 * - struct red0: the accumulator; it also lies in workspaces.
 * - red0_start(): of no elements.
 * - red0_step(a, x, i, t): takes in element x (of a contraction x, y) with number i, after t
 *   others: lanes and runs take
 *   their elements in order, so callers know t, mostly as a constant, and counts need no memory.
 * - red0_finish(a, n): the result over n elements.
 * - fc_join(a, b): a covers earlier elements than b.
 * - fc_join_even(a, b, n), of columns (cuda_outer.c) and spans (cuda_loop.c) where some reduction
 *   counts: the same where each covers n elements. A number that is known leaves nothing of the
 *   counts.
 * - fc_meet(a, b, swap): fc_join, b being the earlier one if `swap`.
 * - fc_pick(a, b, second): one of them.
 * - fc_from(a, lane), fc_xor(a, m): the accumulator of another lane of the warp.
 * - fc_even(a, m): fc_xor where all lanes have the same count, which then stays a known number.
 * - red0_peek(a, x), red0_better(a, b), of argmin and argmax: takes in the value only; whether b,
 *   which covers later elements and may have no place, has anything better.
 *
 * In: ir/expand.h, which writes them with rows of the op table. */
#include "codegen/cuda/cuda.h"

enum { ARG_A = 0, ARG_B = 3, ARG_X = 6, ARG_I = 7, ARG_N = 8, ARG_Y = 9 };
static const char *const arg_names[] = {"a.c0", "a.c1", "a.c2", "b.c0", "b.c1",
                                        "b.c2", "x",    "i",    "n",    "y"};
/* of the step of a reduction that counts its elements */
static const char *const counted_names[] = {"a.c0", "a.c1", "t", "b.c0", "b.c1",
                                            "b.c2", "x",    "i", "n",    "y"};
/* of a join of parts that have the same number of elements */
static const char *const even_names[] = {"a.c0", "a.c1", "n", "b.c0", "b.c1",
                                         "n",    "x",    "i", "n",    "y"};

typedef struct red {
    fc_op op;
    fusec_dtype dtype;
    int components;
    uint32_t number;
} red;

static red red_of(const fc_reduction *r, uint32_t number) {
    red d = {(fc_op)r->op, (fusec_dtype)r->dtype, fc_ops[r->op].components, number};
    return d;
}

bool fc_cuda_any_counts(const fc_kernel *k, unsigned stage) {
    for (size_t r = 0; r < k->reductions.len; r++)
        if (k->reductions.at[r].stage == stage && fc_cuda_counts(k->reductions.at[r].op))
            return true;
    return false;
}

bool fc_cuda_any_order(const fc_reduction *r) {
    const bool exact = (fc_ops[r->op].flags & FC_F_EXACT) || !fc_is_float((fusec_dtype)r->dtype);
    return exact && fc_ops[r->op].components == 1;
}

bool fc_cuda_evens(const fc_cuda_gen *g) {
    bool counts = false;
    for (unsigned s = 0; s < g->k->nstages; s++) counts |= fc_cuda_any_counts(g->k, s);
    return counts && (g->k->schedule == FC_SCHED_OUTER || g->cls->cuda.kind == FC_CUDA_LOOP);
}

unsigned fc_cuda_components(const fc_kernel *k) {
    unsigned n = 0;
    for (size_t r = 0; r < k->reductions.len; r++)
        n += (unsigned)fc_ops[k->reductions.at[r].op].components;
    return n;
}

size_t fc_cuda_red_bytes(const fc_reduction *r) {
    size_t bytes = 0, align = 1;
    for (int c = 0; c < fc_ops[r->op].components; c++) {
        size_t size = fc_dtypes[fc_component_dtype((fc_op)r->op, (fusec_dtype)r->dtype, c)].bytes;
        bytes = (bytes + size - 1) / size * size + size;
        if (size > align) align = size;
    }
    return (bytes + align - 1) / align * align;
}

/* ---- bodies: code in, lines out ------------------------------------------------------------- */

typedef enum part { START, STEP, JOIN, FINISH, EVEN } part;

static void build(const red *d, part p, fc_code *c, fc_val out[FC_MAX_COMPONENTS]) {
    fc_val a[FC_MAX_COMPONENTS], b[FC_MAX_COMPONENTS];
    const bool pair = fc_ops[d->op].arity == 2;
    for (int n = 0; n < d->components; n++) {
        fusec_dtype type = fc_component_dtype(d->op, d->dtype, n);
        a[n] = p == START ? FC_NOVAL : fc_val_arg(c, (unsigned)(ARG_A + n), type, FC_POINT);
        b[n] = p == JOIN || p == EVEN ? fc_val_arg(c, (unsigned)(ARG_B + n), type, FC_POINT)
                                      : FC_NOVAL;
    }
    if (p == START) fc_red_init(c, d->op, d->dtype, out);
    if (p == STEP)
        fc_red_step(c, d->op, d->dtype, a, fc_val_arg(c, ARG_X, d->dtype, FC_POINT),
                    pair ? fc_val_arg(c, ARG_Y, d->dtype, FC_POINT) : FC_NOVAL,
                    fc_val_arg(c, ARG_I, FUSEC_I64, FC_POINT), out);
    if (p == JOIN || p == EVEN) fc_red_combine(c, d->op, d->dtype, a, b, out);
    if (p == FINISH)
        out[0] = fc_red_finish(c, d->op, d->dtype, a, fc_val_arg(c, ARG_N, FUSEC_I64, FC_POINT));
}

static void render(fc_cuda_text *t, const red *d, part p, const fc_val *out, int n) {
    for (fc_val v = 0; v < t->code->ins.len; v++)
        if (t->need[v]) fc_cuda_instr(t, v);
    const char *result = p == STEP ? "a" : "r";
    const bool makes = p == START || p == JOIN || p == EVEN;
    if (makes) fc_cuda_line(t, "red%u r;", (unsigned)d->number);
    for (int i = 0; i < n; i++) {
        fc_str_printf(t->out, p == FINISH ? "    return " : "    %s.c%d = ", result, i);
        fc_cuda_operand(t, out[i]);
        fc_str_add(t->out, ";\n");
    }
    if (makes) fc_cuda_line(t, "return r;");
}

static fusec_status body(fc_cuda_gen *g, const red *d, part p, fc_error *e) {
    const fc_alloc *alloc = g->code.alloc;
    fc_code c, legal;
    fc_code_init(&c, alloc);
    fc_code_init(&legal, alloc);
    fc_val out[FC_MAX_COMPONENTS] = {0}, *map = NULL;
    uint8_t *marks = NULL;
    int n = p == FINISH ? 1 : d->components;
    bool counts = fc_cuda_counts(d->op), counted = p == STEP && counts;
    build(d, p, &c, out);
    fusec_status s = c.status;
    if (s == FUSEC_OK && !(map = fc_calloc(alloc, c.ins.len + 1, sizeof *map)))
        s = FUSEC_OUT_OF_MEMORY;
    if (s == FUSEC_OK) s = fc_legalize(&c, FC_TARGET_CUDA, &legal, map);
    if (s == FUSEC_OK && !(marks = fc_calloc(alloc, legal.ins.len + 1, 3))) s = FUSEC_OUT_OF_MEMORY;
    if (s == FUSEC_OK) {
        size_t len = legal.ins.len;
        fc_cuda_text t = {.code = &legal,
                          .out = g->t.out,
                          .depth = 1,
                          .args = counted     ? counted_names
                                  : p == EVEN ? even_names
                                              : arg_names,
                          .division = !counts || p == FINISH ? NULL
                                      : p == STEP            ? "fc_share($b)"
                                      : p == EVEN            ? "fc_half($b)"
                                                             : "fc_part($a, $b)",
                          .need = marks,
                          .done = marks + len,
                          .local = marks + 2 * len};
        for (int i = 0; i < n; i++) out[i] = map[out[i]];
        fc_kernel_slice(&legal, out, (size_t)n, marks);
        render(&t, d, p, out, n);
    }
    fc_free(alloc, marks);
    fc_free(alloc, map);
    fc_code_free(&c);
    fc_code_free(&legal);
    return s == FUSEC_OK ? s : fc_fail(e, s, "a reduction could not be written as CUDA C");
}

/* ---- the functions -------------------------------------------------------------------------- */

static void type_and_shuffles(fc_cuda_text *t, const red *d) {
    unsigned n = (unsigned)d->number;
    fc_cuda_line(t, "struct red%u {", n);
    for (int c = 0; c < d->components; c++)
        fc_cuda_line(t, "%s c%d;", fc_cuda_type(fc_component_dtype(d->op, d->dtype, c)), c);
    fc_cuda_line(t, "};");
    static const char *const kinds[] = {"xor", "from", "even"};
    for (int k = 0; k < (fc_cuda_counts(d->op) ? 3 : 2); k++) {
        fc_cuda_line(t, "FC_INLINE red%u fc_%s(const red%u &a, int lane) {", n, kinds[k], n);
        fc_cuda_line(t, k == 2 ? "red%u r = a;" : "red%u r;", n);
        for (int c = 0; c < (k == 2 ? 2 : d->components); c++)
            fc_cuda_line(t, "r.c%d = fc_lane_%s(a.c%d, lane);", c, kinds[k % 2], c);
        fc_cuda_line(t, "return r;");
        fc_cuda_line(t, "}");
    }
}

static fusec_status join_even(fc_cuda_gen *g, const red *d, fc_error *e) {
    const unsigned n = (unsigned)d->number;
    fc_cuda_line(
        &g->t, "FC_INLINE red%u fc_join_even(const red%u &a, const red%u &b, const long long n) {",
        n, n, n);
    if (fc_cuda_counts(d->op))
        FC_TRY(body(g, d, EVEN, e));
    else
        fc_cuda_line(&g->t, "return fc_join(a, b);");
    fc_cuda_line(&g->t, "}");
    return FUSEC_OK;
}

/* Components are chosen one by one: a choice between two structs would put them into memory. */
static void pick(fc_cuda_text *t, const red *d) {
    unsigned n = (unsigned)d->number;
    fc_cuda_line(t, "FC_INLINE red%u fc_pick(const red%u &a, const red%u &b, bool second) {", n, n,
                 n);
    fc_cuda_line(t, "red%u r;", n);
    for (int c = 0; c < d->components; c++)
        fc_cuda_line(t, "r.c%d = second ? b.c%d : a.c%d;", c, c, c);
    fc_cuda_line(t, "return r;");
    fc_cuda_line(t, "}");
}

static void meet(fc_cuda_text *t, const red *d) {
    unsigned n = (unsigned)d->number;
    fc_cuda_line(t, "FC_INLINE red%u fc_meet(const red%u &a, const red%u &b, bool swap) {", n, n,
                 n);
    if (d->components == 1) { /* commutes */
        fc_cuda_line(t, "return fc_join(a, b);");
    } else {
        fc_cuda_line(t, "red%u x, y;", n);
        for (int c = 0; c < d->components; c++) {
            fc_cuda_line(t, "x.c%d = swap ? b.c%d : a.c%d;", c, c, c);
            fc_cuda_line(t, "y.c%d = swap ? a.c%d : b.c%d;", c, c, c);
        }
        fc_cuda_line(t, "return fc_join(x, y);");
    }
    fc_cuda_line(t, "}");
}

/* A value that is no number wins once and for all. */
static fusec_status seek(fc_cuda_gen *g, const red *d, fc_error *e) {
    fc_cuda_text *t = &g->t;
    unsigned n = (unsigned)d->number;
    bool max = d->op == FC_OP_argmax;
    red value = {max ? FC_OP_max : FC_OP_min, d->dtype, 1, d->number};
    fc_cuda_line(t, "FC_INLINE void red%u_peek(red%u &a, const %s x) {", n, n,
                 fc_cuda_type(d->dtype));
    FC_TRY(body(g, &value, STEP, e));
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "FC_INLINE bool red%u_better(const red%u &a, const red%u &b) {", n, n, n);
    fc_cuda_line(t, "return a.c1 < 0 || (a.c0 == a.c0 && !(b.c0 %s a.c0));", max ? "<=" : ">=");
    fc_cuda_line(t, "}");
    return FUSEC_OK;
}

fusec_status fc_cuda_red_functions(fc_cuda_gen *g, uint32_t r, fc_error *e) {
    red d = red_of(&g->k->reductions.at[r], r);
    fc_cuda_text *t = &g->t;
    unsigned n = (unsigned)r;
    const char *element = fc_cuda_type(d.dtype),
               *result = fc_cuda_type(fc_red_dtype(d.op, d.dtype));
    const bool pair = g->k->reductions.at[r].other != FC_NOVAL;
    type_and_shuffles(t, &d);
    for (part p = START; p <= FINISH; p++) {
        if (p == START) fc_cuda_line(t, "FC_INLINE red%u red%u_start() {", n, n);
        if (p == STEP)
            fc_cuda_line(t,
                         "FC_INLINE void red%u_step(red%u &a, const %s x,%s%s%s const long long i, "
                         "const long long t) {",
                         n, n, element, pair ? " const " : "", pair ? element : "",
                         pair ? " y," : "");
        if (p == JOIN)
            fc_cuda_line(t, "FC_INLINE red%u fc_join(const red%u &a, const red%u &b) {", n, n, n);
        if (p == FINISH)
            fc_cuda_line(t, "FC_INLINE %s red%u_finish(const red%u &a, const long long n) {",
                         result, n, n);
        FC_TRY(body(g, &d, p, e));
        fc_cuda_line(t, "}");
    }
    if (fc_cuda_apart(g->cls) > 1) pick(t, &d);
    if (fc_cuda_evens(g)) FC_TRY(join_even(g, &d, e));
    meet(t, &d);
    if (fc_cuda_seeks(g, d.op)) FC_TRY(seek(g, &d, e));
    return FUSEC_OK;
}

void fc_cuda_declare_results(fc_cuda_gen *g, unsigned stage) {
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        red d = red_of(&g->k->reductions.at[r], r);
        if (g->k->reductions.at[r].stage == stage)
            fc_cuda_line(&g->t, "%s f%u;", fc_cuda_type(fc_red_dtype(d.op, d.dtype)), r);
    }
}

void fc_cuda_declare_turns(fc_cuda_gen *g, unsigned r) {
    red d = red_of(&g->k->reductions.at[r], r);
    fc_cuda_line(&g->t, "%s g%u[%d];", fc_cuda_type(fc_red_dtype(d.op, d.dtype)), r,
                 g->cls->cuda.repeat);
}

void fc_cuda_partials(fc_cuda_gen *g, const char *offset) {
    unsigned bytes = 0;
    fc_cuda_line(&g->t, "const ix spans = (ix)p.w[%u];", (unsigned)g->l.extra + FC_PB_SPANS);
    fc_cuda_line(&g->t, "const long long cells = ((long long)rows * spans + 7) / 8 * 8;");
    for (unsigned r = 0; r < g->k->reductions.len; r++) {
        fc_cuda_line(&g->t, "red%u *const z%u = (red%u *)(p.w[%u] + cells * %u) + %s;", r, r, r,
                     (unsigned)g->l.extra + FC_PB_WORKSPACE, bytes, offset);
        bytes += (unsigned)fc_cuda_red_bytes(&g->k->reductions.at[r]);
    }
}

size_t fc_cuda_partial_bytes(const fc_kernel *k, int64_t rows, int64_t spans) {
    size_t bytes = 0;
    for (size_t r = 0; r < k->reductions.len; r++) bytes += fc_cuda_red_bytes(&k->reductions.at[r]);
    return (size_t)((rows * spans + 7) / 8 * 8) * bytes;
}
