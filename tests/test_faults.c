/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_faults.c - running out of memory in the C API: building, compiling, running, evaluating on
 * demand, for expressions that reach each pass and schedule. See tests/support/faults.h. */
#include "tests/support/faults.h"
#include "tests/support/test.h"

#include <fusec/fusec.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 6, M = 40, SIZE = N * M, MAX_OUT = 3 };

/* ---- expressions ----------------------------------------------------------------------------- */

typedef struct expression {
    const char *name;
    int results;
    void (*build)(fusec_value x, fusec_value y, fusec_value out[MAX_OUT]);
} expression;

static const int last[] = {1}, first[] = {0};

static void map(fusec_value x, fusec_value y, fusec_value *out) {
    out[0] = fusec_where(fusec_gt(x, y), fusec_sin(fusec_add(fusec_mul(x, fusec_num(2)), y)),
                         fusec_div(x, fusec_num(3)));
}
static void simplified(fusec_value x, fusec_value y, fusec_value *out) {
    fusec_value z = fusec_add(fusec_mul(x, fusec_num(1)), fusec_num(0));
    out[0] = fusec_neg(fusec_neg(fusec_add(z, fusec_sub(y, fusec_num(0)))));
    out[1] = fusec_abs(fusec_abs(fusec_add(y, x)));
}
static void softmax(fusec_value x, fusec_value y, fusec_value *out) {
    fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, last, 1)));
    out[0] = fusec_add(fusec_div(e, fusec_sum(e, 1, last, 1)), y);
}
static void columns(fusec_value x, fusec_value y, fusec_value *out) {
    out[0] = fusec_sum(fusec_mul(x, y), 1, first, 0);
    out[1] = fusec_sub(x, fusec_mean(x, 1, first, 1));
}
static void whole(fusec_value x, fusec_value y, fusec_value *out) {
    out[0] = fusec_sum(fusec_mul(x, y), 0, NULL, 0);
    out[1] = fusec_div(x, fusec_sum(y, 0, NULL, 0));
}
static void places(fusec_value x, fusec_value y, fusec_value *out) {
    out[0] = fusec_argmax(x, 1, last, 0);
    out[1] = fusec_any(fusec_lt(x, y), 1, first, 0);
}
static void casts(fusec_value x, fusec_value y, fusec_value *out) {
    fusec_value h = fusec_cast(x, FUSEC_F16), i = fusec_cast(y, FUSEC_I32);
    out[0] = fusec_exp(h);
    out[1] = fusec_bit_and(fusec_floordiv(i, fusec_int(3)), fusec_int(5));
    out[2] = fusec_bitcast(x, FUSEC_U32);
}
static void transposed(fusec_value x, fusec_value y, fusec_value *out) {
    out[0] = fusec_add(fusec_transpose(x, NULL), fusec_num(1));
    out[1] = fusec_sum(fusec_transpose(fusec_mul(x, y), NULL), 1, last, 0);
}
static void sliced(fusec_value x, fusec_value y, fusec_value *out) {
    fusec_value a = fusec_slice(x, 1, 1, FUSEC_END, 1), b = fusec_slice(y, 1, FUSEC_END, -1, 1);
    out[0] = fusec_mul(fusec_flip(a, 0), b);
}
static void reshaped(fusec_value x, fusec_value y, fusec_value *out) {
    fusec_dim n = fusec_dim_of(x, 0), m = fusec_dim_of(x, 1), flat = fusec_dim_mul(n, m);
    out[0] = fusec_sqrt(fusec_abs(fusec_reshape(fusec_add(x, y), 1, &flat)));
    out[1] = fusec_sum(fusec_reshape(x, 1, &flat), 0, NULL, 0);
}
static void broadcast(fusec_value x, fusec_value y, fusec_value *out) {
    fusec_value r = fusec_sum(x, 1, last, 1), c = fusec_max(y, 1, first, 1);
    out[0] = fusec_add(fusec_exp(fusec_sin(r)), c);
    out[1] = fusec_cast(fusec_arange(r.graph, fusec_dim_of(x, 1)), FUSEC_F32);
}
static void stored(fusec_value x, fusec_value y, fusec_value *out) {
    fusec_value s = fusec_materialize(fusec_sin(x));
    out[0] = fusec_add(s, fusec_transpose(fusec_transpose(y, NULL), NULL));
    out[1] = fusec_cos(s);
}
static void chain(fusec_value x, fusec_value y, fusec_value *out) {
    fusec_value v = x;
    for (int i = 0; i < 70; i++) v = fusec_sin(fusec_add(v, i % 2 ? x : y));
    out[0] = v;
}

static const expression expressions[] = {
    {"map", 1, map},           {"simplified", 2, simplified}, {"softmax", 1, softmax},
    {"columns", 2, columns},   {"whole", 2, whole},           {"places", 2, places},
    {"casts", 3, casts},       {"transposed", 2, transposed}, {"sliced", 1, sliced},
    {"reshaped", 2, reshaped}, {"broadcast", 2, broadcast},   {"stored", 2, stored},
    {"chain", 1, chain},
};

/* ---- what the scenes share ------------------------------------------------------------------- */

typedef struct scene_arg {
    const expression *x;
    const char *device;
    bool from_disk; /* compiled kernels are on disk already */
    struct wanted *wanted;
} scene_arg;

/* The right results, computed once. */
typedef struct wanted {
    bool known;
    unsigned char data[MAX_OUT][SIZE * 8];
} wanted;

typedef struct scene {
    fusec_context *ctx;
    fusec_graph *g;
    fusec_program *p;
    fusec_value out[MAX_OUT];
    float x[SIZE], y[SIZE];
    unsigned char got[MAX_OUT][SIZE * 8];
    int64_t shape[MAX_OUT][2];
    size_t bytes[MAX_OUT];
} scene;

/* One folder for the whole process: the first run fills it, the others find their kernels. */
static const char *disk_folder(void) {
    static char path[64];
    if (!path[0]) snprintf(path, sizeof path, "/tmp/fusec-faults-%d", (int)getpid());
    return path;
}

static void remove_disk_folder(void) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", disk_folder());
    if (access(disk_folder(), F_OK) == 0 && system(command) != 0)
        fprintf(stderr, "%s stays\n", disk_folder());
}

static fusec_status noted(fault_run *r, fusec_status s) {
    if (s) {
        r->e.code = s;
        snprintf(r->e.message, sizeof r->e.message, "%s", fusec_message(NULL));
    }
    return s;
}

static fusec_status open_context(fault_run *r) {
    scene *s = r->state;
    const scene_arg *a = r->arg;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = a->device;
    o.cache_dir = a->from_disk ? disk_folder() : "";
    o.threads = 2;
    o.alloc = fault_realloc;
    o.alloc_user = &r->heap;
    return noted(r, fusec_context_new(&o, &s->ctx));
}

static bool ready_context(fault_run *r) {
    scene *s = r->state;
    for (int i = 0; i < SIZE; i++) {
        s->x[i] = (float)(i % 17) / 8 - 1;
        s->y[i] = (float)(i % 11) / 4 - 1;
    }
    memset(s->got, 0xa5, sizeof s->got);
    return !open_context(r) && !noted(r, fusec_device(s->ctx, NULL, NULL)) &&
           !noted(r, fusec_graph_new(s->ctx, &s->g));
}

static void build_inputs(scene *s, const scene_arg *a) {
    fusec_dim shape[2] = {fusec_sym(s->g, "n"), fusec_sym(s->g, "m")};
    fusec_value x = fusec_input(s->g, "x", FUSEC_F32, 2, shape);
    fusec_value y = fusec_input(s->g, "y", FUSEC_F32, 2, shape);
    a->x->build(x, y, s->out);
    for (int i = 0; i < a->x->results; i++)
        fusec_output(s->g, (const char *[]){"a", "b", "c"}[i], s->out[i]);
}

static void build_arrays(scene *s, const scene_arg *a) {
    const int64_t shape[2] = {N, M};
    fusec_value x = fusec_array(s->g, FUSEC_F32, 2, shape, s->x);
    fusec_value y = fusec_array(s->g, FUSEC_F32, 2, shape, s->y);
    a->x->build(x, y, s->out);
}

/* ---- building -------------------------------------------------------------------------------- */

static fusec_status act_build(fault_run *r) {
    scene *s = r->state;
    fusec_graph_reset(s->g);
    build_inputs(s, r->arg);
    return noted(r, fusec_graph_status(s->g));
}

static fusec_status act_build_arrays(fault_run *r) {
    scene *s = r->state;
    fusec_graph_reset(s->g);
    build_arrays(s, r->arg);
    return noted(r, fusec_graph_status(s->g));
}

/* ---- compiling ------------------------------------------------------------------------------- */

static bool ready_graph(fault_run *r) {
    return ready_context(r) && !act_build(r);
}

static fusec_status act_compile(fault_run *r) {
    scene *s = r->state;
    fusec_program *p = NULL;
    fusec_status st = noted(r, fusec_compile(s->g, &p));
    if (!st == !p) FC_FAIL("status %d and a program at %p", st, (void *)p);
    fusec_program_free(p);
    return st;
}

/* ---- running --------------------------------------------------------------------------------- */

static const int64_t in_shape[2] = {N, M};

static fusec_status run_into(fault_run *r, unsigned char out[MAX_OUT][SIZE * 8]) {
    scene *s = r->state;
    int n = ((const scene_arg *)r->arg)->x->results, at = 0;
    fusec_tensor in[2] = {{.data = s->x, .shape = in_shape, .rank = 2, .dtype = FUSEC_F32},
                          {.data = s->y, .shape = in_shape, .rank = 2, .dtype = FUSEC_F32}};
    fusec_tensor to[MAX_OUT];
    int64_t sizes[2 * MAX_OUT];
    fusec_status st = fusec_output_shapes(s->p, 2, in, sizes, 2 * MAX_OUT);
    for (int i = 0; !st && i < n; i++) {
        int rank = fusec_output_rank(s->p, i);
        to[i] = (fusec_tensor){.data = out[i],
                               .shape = sizes + at,
                               .rank = rank,
                               .dtype = fusec_output_dtype(s->p, i)};
        s->bytes[i] = fusec_dtype_bytes(to[i].dtype);
        for (int k = 0; k < rank; k++) s->bytes[i] *= (size_t)sizes[at + k];
        at += rank;
    }
    if (!st) st = fusec_run(s->p, 2, in, n, to);
    return noted(r, st);
}

static bool ready_program(fault_run *r) {
    scene *s = r->state;
    return ready_graph(r) && !noted(r, fusec_compile(s->g, &s->p));
}

static void clear(fault_run *r) {
    scene *s = r->state;
    fusec_program_free(s->p);
    fusec_graph_free(s->g);
    fusec_context_free(s->ctx);
    s->p = NULL;
    s->g = NULL;
    s->ctx = NULL;
}

/* The right result comes from a context of its own, which also leaves the kernels on disk. */
static bool ready_run(fault_run *r) {
    wanted *w = ((const scene_arg *)r->arg)->wanted;
    if (!w->known) {
        if (!ready_program(r) || run_into(r, w->data)) return false;
        w->known = true;
        clear(r);
    }
    return ready_program(r);
}

static fusec_status act_run(fault_run *r) {
    scene *s = r->state;
    return run_into(r, s->got);
}

static void check_results(fault_run *r, bool done) {
    scene *s = r->state;
    const scene_arg *a = r->arg;
    for (int i = 0; i < a->x->results; i++) {
        if (done && memcmp(s->got[i], a->wanted->data[i], s->bytes[i]) != 0)
            FC_FAIL("result %d is wrong", i);
        for (size_t k = done ? s->bytes[i] : 0; k < sizeof s->got[i]; k++)
            if (s->got[i][k] != 0xa5) {
                FC_FAIL("byte %zu of the memory of result %d was touched", k, i);
                return;
            }
    }
}

/* ---- on demand ------------------------------------------------------------------------------- */

static fusec_status read_all(fault_run *r, unsigned char out[MAX_OUT][SIZE * 8]) {
    scene *s = r->state;
    const scene_arg *a = r->arg;
    unsigned char room[MAX_OUT][SIZE * 8];
    for (int i = 0; i < a->x->results; i++) {
        int64_t shape[4] = {0};
        FC_TRY(noted(r, fusec_shape(s->out[i], shape)));
        s->bytes[i] = fusec_dtype_bytes(fusec_dtype_of(s->out[i]));
        for (int k = 0; k < fusec_rank(s->out[i]); k++) s->bytes[i] *= (size_t)shape[k];
        FC_TRY(noted(r, fusec_read(s->out[i], room[i], s->bytes[i])));
    }
    for (int i = 0; i < a->x->results; i++) memcpy(out[i], room[i], s->bytes[i]);
    return FUSEC_OK;
}

static bool ready_lazy(fault_run *r) {
    scene *s = r->state;
    wanted *w = ((const scene_arg *)r->arg)->wanted;
    if (!ready_context(r)) return false;
    build_arrays(s, r->arg);
    if (!w->known) {
        if (read_all(r, w->data)) return false;
        w->known = true;
        clear(r);
        if (!ready_context(r)) return false;
    }
    build_arrays(s, r->arg);
    return !noted(r, fusec_graph_status(s->g));
}

static fusec_status act_lazy(fault_run *r) {
    scene *s = r->state;
    return read_all(r, s->got);
}

/* All at once: the plan is kept, so a second graph of the same structure finds it. */
static fusec_status act_eval(fault_run *r) {
    scene *s = r->state;
    const scene_arg *a = r->arg;
    FC_TRY(noted(r, fusec_eval(s->out, a->x->results)));
    return read_all(r, s->got);
}

static fusec_status act_eval_twice(fault_run *r) {
    scene *s = r->state;
    const scene_arg *a = r->arg;
    fusec_graph_reset(s->g);
    build_arrays(s, r->arg);
    FC_TRY(noted(r, fusec_eval(s->out, a->x->results)));
    fusec_graph_reset(s->g);
    build_arrays(s, r->arg);
    FC_TRY(noted(r, fusec_graph_status(s->g)));
    return read_all(r, s->got);
}

/* After a failed build the values are empty: the retry builds anew. */
static fusec_status act_build_and_read(fault_run *r) {
    scene *s = r->state;
    fusec_graph_reset(s->g);
    build_arrays(s, r->arg);
    FC_TRY(noted(r, fusec_graph_status(s->g)));
    return read_all(r, s->got);
}

static fusec_status act_result_stays(fault_run *r) {
    scene *s = r->state;
    const void *a = NULL, *b = NULL;
    FC_TRY(noted(r, fusec_data(s->out[0], &a)));
    FC_TRY(noted(r, fusec_data(s->out[0], &b)));
    FC_EXPECT_EQ_PTR(a, b);
    return read_all(r, s->got);
}

/* ---- contexts, devices, memory --------------------------------------------------------------- */

static fusec_status act_context(fault_run *r) {
    scene *s = r->state;
    fusec_status st = open_context(r);
    if (!st) st = noted(r, fusec_device(s->ctx, NULL, NULL));
    fusec_context_free(s->ctx);
    s->ctx = NULL;
    return st;
}

static fusec_status act_graph(fault_run *r) {
    scene *s = r->state;
    fusec_graph *g = NULL;
    fusec_status st = noted(r, fusec_graph_new(s->ctx, &g));
    if (!st == !g) FC_FAIL("status %d and a graph at %p", st, (void *)g);
    fusec_graph_free(g);
    return st;
}

static fusec_status act_memory(fault_run *r) {
    scene *s = r->state;
    void *p = NULL;
    float back[SIZE] = {0};
    FC_TRY(noted(r, fusec_device_alloc(s->ctx, sizeof s->x, &p)));
    fusec_status st = fusec_upload(s->ctx, p, s->x, sizeof s->x);
    if (!st) st = fusec_download(s->ctx, back, p, sizeof back);
    if (!st) st = fusec_synchronize(s->ctx);
    if (!st) FC_EXPECT_MEMEQ(back, s->x, sizeof back);
    fusec_device_free(s->ctx, p);
    return noted(r, st);
}

/* Named sizes, numbers, full arrays and the errors of a graph. */
static fusec_status act_sizes(fault_run *r) {
    scene *s = r->state;
    fusec_graph_reset(s->g);
    fusec_dim n = fusec_sym(s->g, "n"),
              two = fusec_dim_add(fusec_dim_mul(n, fusec_size(s->g, 2)), fusec_size(s->g, 1));
    fusec_value x = fusec_input(s->g, "x", FUSEC_F64, 1, &n);
    fusec_value f = fusec_full(s->g, FUSEC_F64, 2.5, 1, &two);
    fusec_output(s->g, "x", fusec_add(x, fusec_cast(fusec_dim_value(two), FUSEC_F64)));
    fusec_output(s->g, "f", fusec_mul(f, fusec_const(s->g, FUSEC_F64, 3)));
    return noted(r, fusec_graph_status(s->g));
}

/* Twenty sizes of one program: the list of recent sizes overflows. */
static fusec_status act_many_sizes(fault_run *r) {
    scene *s = r->state;
    for (int64_t n = 1; n <= 20; n++) {
        const int64_t shape[2] = {2, n};
        fusec_tensor in[2] = {{.data = s->x, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                              {.data = s->y, .shape = shape, .rank = 2, .dtype = FUSEC_F32}};
        fusec_tensor out = {.data = s->got[0], .shape = shape, .rank = 2, .dtype = FUSEC_F32};
        FC_TRY(noted(r, fusec_run(s->p, 2, in, 1, &out)));
    }
    return FUSEC_OK;
}

/* ---- the scenes ------------------------------------------------------------------------------ */

#define SCENE(...) ((fault_scene){.state_bytes = sizeof(scene), .clear = clear, __VA_ARGS__})

static void run_scene(void *arg) {
    fault_scene_run(arg);
}

static void add(const char *suite, fault_scene s, const char *name, const expression *x,
                const char *device, bool from_disk) {
    static fault_scene all[160];
    static scene_arg args[160];
    static wanted results[160];
    static size_t n;
    args[n] = (scene_arg){x, device, from_disk, &results[n]};
    s.arg = &args[n];
    s.name = name;
    all[n] = s;
    fc_test_add(suite, name, __FILE__, __LINE__, run_scene, &all[n++]);
}

FC_REGISTER(fault_scenes) {
    const fault_scene build = SCENE(.ready = ready_context, .act = act_build),
                      compile = SCENE(.ready = ready_graph, .act = act_compile),
                      /* a launch of the interpreter has memory of its own to fall back on */
        run = SCENE(.ready = ready_run, .act = act_run, .check = check_results, .lenient = true),
                      lazy = SCENE(.ready = ready_lazy, .act = act_lazy, .check = check_results,
                                   .lenient = true),
                      /* what is on disk need not be found: compiling instead is no failure */
        run_disk =
            SCENE(.ready = ready_run, .act = act_run, .check = check_results, .lenient = true);
    atexit(remove_disk_folder);
    for (size_t i = 0; i < FC_COUNT(expressions); i++) {
        const expression *x = &expressions[i];
        add("faults_build", build, x->name, x, "interp", false);
        add("faults_compile", compile, x->name, x, "interp", false);
        add("faults_run", run, x->name, x, "interp", false);
        if (i % 3 == 0 && i < 12) add("faults_run_cpu", run_disk, x->name, x, "cpu", true);
        add("faults_lazy", lazy, x->name, x, "interp", false);
    }
    const expression *m = &expressions[0], *sm = &expressions[2];
    add("faults", SCENE(.act = act_context), "context_interp", m, "interp", false);
    add("faults", SCENE(.act = act_context), "context_cpu", m, "cpu", true);
    add("faults", SCENE(.act = act_context, .lenient = true), "context_auto", m, "auto", true);
    add("faults", SCENE(.ready = ready_context, .act = act_graph), "graph", m, "interp", false);
    add("faults", SCENE(.ready = ready_context, .act = act_memory), "memory", m, "cpu", false);
    add("faults", SCENE(.ready = ready_context, .act = act_sizes), "sizes", m, "interp", false);
    add("faults", SCENE(.ready = ready_context, .act = act_build_arrays), "arrays", m, "interp",
        false);
    add("faults",
        SCENE(.ready = ready_lazy, .act = act_eval, .check = check_results, .lenient = true),
        "eval", sm, "interp", false);
    add("faults",
        SCENE(.ready = ready_lazy, .act = act_eval_twice, .check = check_results, .lenient = true),
        "plans_found_again", sm, "interp", false);
    add("faults",
        SCENE(.ready = ready_lazy, .act = act_build_and_read, .check = check_results,
              .lenient = true),
        "build_and_read", sm, "interp", false);
    add("faults",
        SCENE(.ready = ready_lazy, .act = act_result_stays, .check = check_results,
              .lenient = true),
        "result_stays", m, "interp", false);
    add("faults", SCENE(.ready = ready_program, .act = act_many_sizes, .lenient = true),
        "many_sizes", m, "interp", false);
    /* with the compiler itself in the act: LLVM's own memory is not ours to fail */
    add("faults", run, "compiler_of_the_cpu", m, "cpu", false);
}
