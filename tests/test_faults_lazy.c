/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_faults_lazy.c - running out of memory with values of no graph, arrays with strides, texts of
 * the language, and plans as text. See tests/support/faults.h. */
#include "tests/support/faults.h"
#include "tests/support/test.h"

#include <fusec/fusec.h>

#include <stdio.h>

enum { N = 4, M = 6 };

typedef struct lazy_state {
    fusec_context *ctx;
    float x[N * M];
    int64_t shape[2], turned[2];
    fusec_lazy *in;
    atomic_int released;
    fusec_module *module;
    fusec_program *p;
} lazy_state;

static void count(void *user) {
    atomic_fetch_add((atomic_int *)user, 1);
}

static bool ready(fault_run *r) {
    lazy_state *s = r->state;
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_tensor t = {.data = s->x, .shape = s->shape, .rank = 2, .dtype = FUSEC_F32};
    o.device = "interp";
    o.cache_dir = "";
    o.threads = 1;
    o.alloc = fault_realloc;
    o.alloc_user = &r->heap;
    for (int i = 0; i < N * M; i++) s->x[i] = (float)i;
    s->shape[0] = s->turned[1] = N;
    s->shape[1] = s->turned[0] = M;
    atomic_init(&s->released, 0);
    if (fusec_context_new(&o, &s->ctx) || fusec_device(s->ctx, NULL, NULL)) return false;
    if (fusec_parse(s->ctx, "a.fuse", "def f(x: f32[n, m]) = sum(x*2, axis=1)", &s->module))
        return false;
    return !fusec_lazy_from(s->ctx, &t, count, &s->released, &s->in) &&
           !fusec_module_compile(s->module, "f", 0, &s->p);
}

static void clear(fault_run *r) {
    lazy_state *s = r->state;
    fusec_lazy_release(s->in);
    if (s->ctx && s->in) FC_EXPECT_EQ_I64(atomic_load(&s->released), 1);
    fusec_program_free(s->p);
    fusec_module_free(s->module);
    fusec_context_free(s->ctx);
}

static fusec_status one(fusec_context *c, const char *name, fusec_lazy *a, fusec_lazy *b,
                        const fusec_attr *attr, fusec_lazy **out) {
    fusec_lazy *src[2] = {a, b};
    return fusec_lazy_op(c, fusec_op_find(name), b ? 2 : 1, src, attr, out);
}

static fusec_status fault(fault_run *r, fusec_status s) {
    r->e.code = s;
    if (s) snprintf(r->e.message, sizeof r->e.message, "%s", fusec_message(NULL));
    return s;
}

/* sum(transpose(x) * 3.5 + row(x), axis 0), with shapes that the long way finds, too. */
static fusec_status act_lazy(fault_run *r) {
    lazy_state *s = r->state;
    fusec_context *c = s->ctx;
    fusec_lazy *v[7] = {0};
    fusec_attr axis0 = FUSEC_ATTR_INIT, cut = FUSEC_ATTR_INIT, none = FUSEC_ATTR_INIT;
    const int64_t zero = 0, start[2] = {0, 1}, size[2] = {M, 1};
    float out[N];
    axis0.naxes = 1;
    axis0.axes = &zero;
    cut.rank = 2;
    cut.start = start;
    cut.shape = size;
    fusec_status st = one(c, "permute", s->in, NULL, &none, &v[0]);
    if (!st) st = fusec_lazy_number(c, FUSEC_F32, 3.5, &v[1]);
    if (!st) st = one(c, "mul", v[0], v[1], NULL, &v[2]);
    if (!st) st = one(c, "slice", v[0], NULL, &cut, &v[3]);
    if (!st) st = one(c, "add", v[2], v[3], NULL, &v[4]);
    if (!st) st = one(c, "logsumexp", v[4], NULL, &axis0, &v[5]);
    if (!st) st = one(c, "sum", v[4], NULL, &axis0, &v[6]);
    fusec_lazy *both[2] = {v[5], v[6]};
    if (!st) st = fusec_lazy_eval(both, 2, NULL, NULL);
    if (!st) st = fusec_lazy_read(v[6], out, sizeof out);
    if (!st) FC_EXPECT_TRUE(out[0] == 3.5f * 15 + (6 + 7 + 8 + 9 + 10 + 11));
    for (int i = 0; i < 7; i++) fusec_lazy_release(v[i]);
    return fault(r, st);
}

static fusec_status act_errors(fault_run *r) {
    lazy_state *s = r->state;
    fusec_lazy *y = NULL;
    fusec_tensor t = {.data = s->x, .shape = s->turned, .rank = 2, .dtype = FUSEC_F32};
    fusec_lazy *other = NULL;
    fusec_status st = fusec_lazy_from(s->ctx, &t, NULL, NULL, &other);
    if (!st) {
        st = one(s->ctx, "add", s->in, other, NULL, &y);
        FC_EXPECT_TRUE(y == NULL);
        if (st == FUSEC_SHAPE_MISMATCH) st = FUSEC_OK;
    }
    fusec_lazy_release(other);
    return fault(r, st);
}

/* Strides that are walked, and data that is not aligned, which is copied. */
static fusec_status act_strides(fault_run *r) {
    lazy_state *s = r->state;
    unsigned char odd[4 * N * M + 4];
    const int64_t strides[2] = {1, N}, n = N;
    float out[2 * N];
    const int64_t two = 2;
    memcpy(odd + 1, s->x, sizeof s->x);
    fusec_tensor in = {
        .data = s->x, .shape = s->shape, .strides = strides, .rank = 2, .dtype = FUSEC_F32};
    fusec_tensor to = {.data = out, .shape = &n, .strides = &two, .rank = 1, .dtype = FUSEC_F32};
    fusec_status st = fusec_run(s->p, 1, &in, 1, &to);
    in.data = odd + 1;
    in.strides = NULL;
    if (!st) st = fusec_run(s->p, 1, &in, 1, &to);
    if (!st) FC_EXPECT_TRUE(out[2] == 2 * (6 + 7 + 8 + 9 + 10 + 11));
    in.data = out; /* the result on its input: through memory of the library */
    in.shape = to.shape = (const int64_t[2]){1, N};
    if (!st) {
        in.rank = 2;
        to.rank = 1;
        to.shape = (const int64_t[1]){1};
        to.data = out + 2;
        st = fusec_run(s->p, 1, &in, 1, &to);
    }
    return fault(r, st);
}

static fusec_status act_language(fault_run *r) {
    lazy_state *s = r->state;
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    fusec_graph *g = NULL;
    const char *names[] = {"x", "k"};
    fusec_status st = fusec_parse(s->ctx, "b.fuse", "def g(x: f32[n]) = x + 1", &m);
    if (!st) st = fusec_module_compile(m, NULL, 0, &p);
    if (!st) st = fusec_graph_new(s->ctx, &g);
    if (!st) {
        float sum;
        fusec_value v[2] = {fusec_array(g, FUSEC_F32, 2, s->shape, s->x), fusec_num(2)};
        st = fusec_read(fusec_expr(g, "sum(x*k + 0.25)", 2, names, v), &sum, 4);
        if (!st) FC_EXPECT_EQ_F64(sum, N * M * (N * M - 1) + 0.25 * N * M);
    }
    fusec_graph_free(g);
    fusec_program_free(p);
    fusec_module_free(m);
    return fault(r, st);
}

static fusec_status act_mistake(fault_run *r) {
    lazy_state *s = r->state;
    fusec_module *m = NULL;
    fusec_status st = fusec_parse(s->ctx, "b.fuse", "def g(x: f32[n]) = x +", &m);
    FC_EXPECT_TRUE(m == NULL);
    return fault(r, st == FUSEC_SYNTAX ? FUSEC_OK : st);
}

static fusec_status act_explain(fault_run *r) {
    lazy_state *s = r->state;
    char *text[4] = {0};
    fusec_lazy *y = NULL;
    fusec_tensor in = {.data = s->x, .shape = s->shape, .rank = 2, .dtype = FUSEC_F32};
    fusec_status st = fusec_explain(s->p, 1, &in, FUSEC_EXPLAIN_COMPILE, &text[0]);
    if (!st) st = fusec_source(s->p, 0, 1, &in, &text[1]);
    if (!st) st = one(s->ctx, "exp", s->in, NULL, NULL, &y);
    if (!st) st = fusec_lazy_explain(&y, 1, FUSEC_EXPLAIN_JSON, &text[2]);
    if (!st) st = fusec_explain(s->p, 1, &in, FUSEC_EXPLAIN_HTML, &text[3]);
    for (int i = 0; i < 4; i++) fusec_text_free(s->ctx, text[i]);
    fusec_lazy_release(y);
    return fault(r, st);
}

/* Saved in both forms, read, and compiled. */
static fusec_status act_saved(fault_run *r) {
    lazy_state *s = r->state;
    fusec_graph *g = NULL, *back = NULL;
    fusec_program *p = NULL;
    fusec_status st = fusec_graph_new(s->ctx, &g);
    if (!st) {
        const fusec_dim n = fusec_sym(g, "n");
        fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n);
        fusec_value i = fusec_input(g, "i", FUSEC_I64, 1, &n);
        fusec_output(g, "y", fusec_slice(fusec_take(x, i, 0), 0, 1, FUSEC_END, 1));
        st = fusec_graph_status(g);
    }
    for (unsigned form = 0; !st && form < 2; form++) {
        char *bytes = NULL;
        size_t size = 0;
        st = fusec_graph_bytes(g, form, &bytes, &size);
        if (!st) st = fusec_graph_from_bytes(s->ctx, NULL, bytes, size, &back);
        FC_EXPECT_TRUE(!st == (back != NULL));
        if (!st) st = fusec_compile(back, &p);
        fusec_program_free(p);
        fusec_graph_free(back);
        fusec_text_free(s->ctx, bytes);
        p = NULL;
        back = NULL;
    }
    fusec_graph_free(g);
    return fault(r, st);
}

static int negate(void *user, const fusec_call_args *a) {
    (void)user;
    for (int i = 0; i < N * M; i++)
        ((float *)a->outputs[0].data)[i] = -((const float *)a->inputs[0].data)[i];
    return 0;
}

static float twice(float x) {
    return 2 * x;
}

/* A function of the caller inside a kernel, and one between two. */
static fusec_status act_call(fault_run *r) {
    static const fusec_dtype dtype = FUSEC_F32;
    static const int rank = 2;
    lazy_state *s = r->state;
    fusec_graph *g = NULL;
    float sum = 0;
    fusec_status st = fusec_graph_new(s->ctx, &g);
    if (!st) {
        const fusec_value x = fusec_array(g, FUSEC_F32, 2, s->shape, s->x);
        const fusec_dtype dtypes[] = {dtype};
        fusec_extern_desc e = FUSEC_EXTERN_DESC_INIT;
        e.name = "twice";
        e.nargs = 1;
        e.dtypes = dtypes;
        e.result = dtype;
        e.scalar = (void (*)(void))twice;
        const fusec_value in = fusec_extern(g, &e, &x);
        const fusec_dim shape[2] = {fusec_dim_of(x, 0), fusec_dim_of(x, 1)};
        fusec_value out;
        fusec_call_desc d = FUSEC_CALL_DESC_INIT;
        d.name = "negate";
        d.host = negate;
        d.noutputs = 1;
        d.dtypes = &dtype;
        d.ranks = &rank;
        d.shapes = shape;
        st = fusec_call(g, &d, 1, &in, &out);
        if (!st) st = fusec_read(fusec_sum(out, 0, NULL, 0), &sum, sizeof sum);
        if (!st) FC_EXPECT_EQ_F64(sum, -N * M * (N * M - 1));
    }
    fusec_graph_free(g);
    return fault(r, st);
}

/* Calls may go without what makes the next one quick, and messages without some of their words. */
#define SCENE(text, fn, may)                                                                       \
    {                                                                                              \
        .name = text, .state_bytes = sizeof(lazy_state), .ready = ready, .act = fn,                \
        .clear = clear, .lenient = may                                                             \
    }

static const fault_scene scenes[] = {
    SCENE("lazy values", act_lazy, true),   SCENE("a wrong operation", act_errors, true),
    SCENE("strides", act_strides, true),    SCENE("the language", act_language, true),
    SCENE("saved graphs", act_saved, true), SCENE("calls of functions", act_call, true),
    SCENE("a mistake", act_mistake, false), SCENE("plans as text", act_explain, true),
};

FC_TEST(faults, lazy_values) {
    fault_scene_run(&scenes[0]);
}
FC_TEST(faults, a_wrong_lazy_operation) {
    fault_scene_run(&scenes[1]);
}
FC_TEST(faults, strides) {
    fault_scene_run(&scenes[2]);
}
FC_TEST(faults, the_language_from_c) {
    fault_scene_run(&scenes[3]);
}
FC_TEST(faults, saved_graphs) {
    fault_scene_run(&scenes[4]);
}
FC_TEST(faults, functions_of_the_caller) {
    fault_scene_run(&scenes[5]);
}
FC_TEST(faults, a_mistake_in_a_text) {
    fault_scene_run(&scenes[6]);
}
FC_TEST(faults, plans_as_text) {
    fault_scene_run(&scenes[7]);
}
