/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_first.c - the first result of programs that are new, in a process that has compiled before
 * and with an empty cache.
 *
 *     bench_first [ROUNDS [PART OF A NAME]]
 *
 * Processor time of all threads, so that others on the machine count little: of planning; of the
 * first call with quick code alone and with full code alone; and from the text to the first result
 * where the library chooses, as it interprets little work (FUSEC_TIERS=both), with what threads
 * behind the call do until then. Medians, and the least of the rounds in brackets. With
 * FUSEC_DEBUG=4 the texts that are compiled go to the error stream. */
#include <fusec/fusec.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_INPUTS = 8, MOST_ROUNDS = 101 };

typedef struct row {
    const char *name, *text;
    const char *inputs; /* of each one dtype:shape */
    const char *result;
} row;

#define MATRICES(t)                                                                                \
    {                                                                                              \
        "a @ b " #t, "export def f(a: " #t "[m, k], b: " #t "[k, n]) = a @ b",                     \
            #t ":96x96 " #t ":96x96", "96x96"                                                      \
    }

static const row rows[] = {
    MATRICES(f32),
    MATRICES(f64),
    MATRICES(i32),
    MATRICES(bf16),
    MATRICES(i8),
    {"a @ b f32, 32 x 32", "export def f(a: f32[m, k], b: f32[k, n]) = a @ b",
     "f32:32x32 f32:32x32", "32x32"},
    {"gelu(x @ w + b) f32",
     "export def f(x: f32[m, k], w: f32[k, n], b: f32[n]) {\n"
     "    y = x @ w + b\n"
     "    return 0.5*y*(1 + erf(y*0.70710678))\n}\n",
     "f32:96x96 f32:96x96 f32:96", "96x96"},
    {"gelu(x @ w + b) bf16",
     "export def f(x: bf16[m, k], w: bf16[k, n], b: bf16[n]) {\n"
     "    y = x @ w + b\n"
     "    return 0.5*y*(1 + erf(y*0.70710678))\n}\n",
     "bf16:96x96 bf16:96x96 bf16:96", "96x96"},
    {"(q*s) @ k.T", "export def f(q: f32[m, d], s: f32[m], k: f32[n, d]) = (q*s[:, None]) @ k.T",
     "f32:96x96 f32:96 f32:96x96", "96x96"},
    {"heads by einsum",
     "export def f(q: f32[b, h, m, d], k: f32[b, h, n, d]) = einsum(\"bhqd,bhkd->bhqk\", q, k)",
     "f32:2x4x96x64 f32:2x4x96x64", "2x4x96x96"},
    {"matrix @ vector", "export def f(a: f32[m, k], x: f32[k]) = a @ x", "f32:300x300 f32:300",
     "300"},
    {"vector @ matrix", "export def f(x: f32[k], a: f32[k, n]) = x @ a", "f32:300 f32:300x300",
     "300"},
    {"stack of 8 x 8", "export def f(a: f32[b, m, k], c: f32[b, k, n]) = a @ c",
     "f32:64x8x8 f32:64x8x8", "64x8x8"},
    {"i8 weights, scaled",
     "export def f(x: f32[m, k], w: i8[k, n], s: f32[n]) = x @ (f32(w)*s[None, :])",
     "f32:96x96 i8:96x96 f32:96", "96x96"},
    {"attention",
     "export def f(q: f32[h, n, d], k: f32[h, m, d], v: f32[h, m, c]) {\n"
     "    s = einsum(\"hnd,hmd->hnm\", q, k)*(1/sqrt(f32(d)))\n"
     "    e = exp(s - max(s, axis=-1, keepdims=true))\n"
     "    return (e/sum(e, axis=-1, keepdims=true)) @ v\n}\n",
     "f32:4x96x64 f32:4x96x64 f32:4x96x64", "4x96x64"},
    {"training step",
     "export def f(u: f32[d, h], b: f32[h], w: f32[h, c], x: f32[n, d], t: f32[n, c])"
     " -> (u2: f32[d, h], b2: f32[h], w2: f32[h, c]) {\n"
     "    r = relu(x @ u + b) @ w - t\n"
     "    du, db, dw = grad(mean(r*r), u, b, w)\n"
     "    return u - 0.01*du, b - 0.01*db, w - 0.01*dw\n}\n",
     "f32:64x96 f32:96 f32:96x96 f32:128x64 f32:128x96", "64x96 96 96x96"},
    {"gelu by tanh", "export def f(x: f32[n]) = 0.5*x*(1 + tanh(0.7978845608*(x + 0.044715*x**3)))",
     "f32:1000", "1000"},
    {"normal density", "export def f(x: f32[n]) = exp(-x*x/2)/sqrt(6.2831853) + sin(x)*cos(x)",
     "f32:1000", "1000"},
    {"softmax rows",
     "export def f(x: f32[n, m]) {\n"
     "    e = exp(x - max(x, axis=-1, keepdims=true))\n"
     "    return e/sum(e, axis=-1, keepdims=true)\n}\n",
     "f32:64x1000", "64x1000"},
    {"softmax of 10",
     "export def f(x: f32[n, m]) {\n"
     "    e = exp(x - max(x, axis=-1, keepdims=true))\n"
     "    return e/sum(e, axis=-1, keepdims=true)\n}\n",
     "f32:64x10", "64x10"},
    {"layernorm",
     "export def f(x: f32[n, m], s: f32[m], t: f32[m]) {\n"
     "    c = x - mean(x, axis=-1, keepdims=true)\n"
     "    return c*rsqrt(mean(c*c, axis=-1, keepdims=true) + 1e-5)*s + t\n}\n",
     "f32:64x512 f32:512 f32:512", "64x512"},
    {"standardise columns",
     "export def f(x: f32[n, m]) = (x - mean(x, axis=0))/(std(x, axis=0) + 1e-6)", "f32:300x40",
     "300x40"},
    {"nbody",
     "export def f(p: f32[n, 3], m: f32[n]) {\n"
     "    d = p[None, :, :] - p[:, None, :]\n"
     "    q = sum(d*d, axis=-1) + 0.01\n"
     "    return sum(d*(m/(q*sqrt(q)))[:, :, None], axis=1)\n}\n",
     "f32:200x3 f32:200", "200x3"},
    {"blur",
     "const R = 12\n"
     "export def f(x: f32[h, w]) {\n"
     "    g = exp(-f32(arange(-R, R + 1))**2/(2*3**2))\n"
     "    g = g/sum(g)\n"
     "    a = boundary(x, mode=\"symmetric\")\n"
     "    t[y in 0..h, x in 0..w] = sum[i in -R..R + 1](g[i + R]*a[y, x + i])\n"
     "    b = boundary(t, mode=\"symmetric\")\n"
     "    s[y in 0..h, x in 0..w] = sum[i in -R..R + 1](g[i + R]*b[y + i, x])\n"
     "    return s\n}\n",
     "f32:60x80", "60x80"},
    {"wave",
     "export def f(u: f32[h, w], v: f32[h, w]) {\n"
     "    b = boundary(u, mode=\"wrap\")\n"
     "    l[y in 0..h, x in 0..w] = b[y - 1, x] + b[y + 1, x] + b[y, x - 1] + b[y, x + 1] - 4*b[y, "
     "x]\n"
     "    return 2*u - v + 0.1*l\n}\n",
     "f32:60x80 f32:60x80", "60x80"},
    {"logistic regression",
     "export def f(w: f32[d], b: f32[1], x: f32[n, d], y: f32[n]) -> (w2: f32[d], b2: f32[1]) {\n"
     "    s = (x - mean(x, axis=0, keepdims=true))/std(x, axis=0, keepdims=true)\n"
     "    z = s @ w + b\n"
     "    dw, db = grad(mean(softplus(z) - y*z) + 1e-3*sum(w*w), w, b)\n"
     "    return w - 0.1*dw, b - 0.1*db\n}\n",
     "f32:4 f32:1 f32:100x4 f32:100", "4 1"},
    {"convolution",
     "export def f(x: f32[n, c, h, w], k: f32[m, c, a, b], bias: f32[m]) -> f32[n, m, h, w] {\n"
     "    p = boundary(x, mode=\"zero\")\n"
     "    y[s, f, i in 0..h, j in 0..w] ="
     " sum[l, u, v](p[s, l, i + u - a // 2, j + v - b // 2]*k[f, l, u, v])\n"
     "    return maximum(y + bias[:, None, None], 0)\n}\n",
     "f32:2x3x16x16 f32:8x3x3x3 f32:8", "2x8x16x16"},
    {"sort", "export def f(x: f32[n]) = sort(x)", "f32:1000", "1000"},
    {"cumsum", "export def f(x: f32[n, m]) = cumsum(x, axis=-1)", "f32:40x1000", "40x1000"},
    {"distances",
     "export def f(x: f32[n, d], y: f32[m, d]) {\n"
     "    d = x[:, None, :] - y[None, :, :]\n"
     "    return argmin(sum(d*d, axis=-1), axis=-1)\n}\n",
     "f32:100x8 f32:50x8", "100"},
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const fusec_context *c, const char *what) {
    fprintf(stderr, "%s: %s\n", what, fusec_message(c));
    exit(1);
}

/* "96x96" */
static const char *read_shape(const char *s, int64_t *shape, fusec_tensor *t) {
    t->rank = 0;
    t->shape = shape;
    do {
        char *end;
        shape[t->rank++] = strtoll(s, &end, 10);
        s = end;
    } while (*s++ == 'x');
    return s;
}

typedef struct arrays {
    fusec_tensor at[MOST_INPUTS];
    int64_t shape[MOST_INPUTS][8];
    int n;
} arrays;

static void *room_for(const fusec_tensor *t) {
    size_t n = 16;
    for (int i = 0; i < t->rank; i++) n *= (size_t)t->shape[i];
    return calloc(n, 1);
}

static void make_arrays(const row *r, arrays *in, arrays *out) {
    static const struct {
        const char *name;
        fusec_dtype t;
    } dtypes[] = {{"f32", FUSEC_F32},
                  {"f64", FUSEC_F64},
                  {"i32", FUSEC_I32},
                  {"bf16", FUSEC_BF16},
                  {"i8", FUSEC_I8}};
    in->n = out->n = 0;
    for (const char *s = r->inputs; *s;) {
        fusec_tensor *t = &in->at[in->n];
        *t = (fusec_tensor){.place = FUSEC_HOST};
        for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
            if (!strncmp(s, dtypes[i].name, strlen(dtypes[i].name))) t->dtype = dtypes[i].t;
        s = read_shape(strchr(s, ':') + 1, in->shape[in->n++], t);
        t->data = room_for(t);
        if (!s[-1]) break;
    }
    for (const char *s = r->result; *s;) {
        fusec_tensor *t = &out->at[out->n];
        *t = (fusec_tensor){.place = FUSEC_HOST, .dtype = in->at[0].dtype};
        s = read_shape(s, out->shape[out->n++], t);
        t->data = room_for(t);
        if (!s[-1]) break;
    }
    if (!strncmp(r->name, "a @ b i", 7) || !strcmp(r->name, "distances"))
        out->at[0].dtype = FUSEC_I64;
}

static void free_arrays(arrays *a) {
    for (int i = 0; i < a->n; i++) free(a->at[i].data);
}

enum { QUICK, FULL, BOTH, MODES };

/* Processor time of planning and of a first call. */
typedef struct times {
    double plan, call;
} times;

/* A program's definition that is compiled and called once. */
static int first_call(fusec_context *c, const row *r, const arrays *in, const arrays *out,
                      times *t) {
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    const double a = now();
    if (fusec_parse(c, NULL, r->text, &m) || fusec_module_compile(m, NULL, 0, &p)) die(c, r->name);
    const double b = now();
    if (fusec_run(p, in->n, in->at, out->n, out->at)) die(c, r->name);
    *t = (times){b - a, now() - b};
    const int kernels = fusec_kernel_count(p);
    fusec_program_free(p);
    fusec_module_free(m);
    return kernels;
}

static void log_line(void *user, const char *line) {
    fprintf(user, "%s\n", line);
}

/* The same in a context that has compiled something else before, with full effort and quickly. */
static int once(const row *r, int mode, const arrays *in, const arrays *out, times *t) {
    static const char *const tiers[MODES] = {"quick", "full", "both"};
    /* too much for the interpreter */
    static const row others[2] = {
        {"x + 1", "export def f(x: f32[n]) = x + 1", "f32:300000", "300000"},
        {"x - x*x", "export def f(x: f32[n]) = x - x*x", "f32:300000", "300000"}};
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *c = NULL;
    arrays x, y;
    o.device = "cpu";
    o.cache_dir = "";
    o.log = log_line;
    o.log_user = stderr;
    setenv("FUSEC_TIERS", tiers[mode], 1);
    if (fusec_context_new(&o, &c)) die(c, "context");
    make_arrays(&others[0], &x, &y);
    for (int i = 0; i < 2; i++) (void)first_call(c, &others[i], &x, &y, t);
    free_arrays(&x);
    free_arrays(&y);
    const struct timespec settle = {.tv_nsec = mode == BOTH ? 50000000 : 0};
    nanosleep(&settle, NULL);
    const int kernels = first_call(c, r, in, out, t);
    fusec_context_free(c);
    return kernels;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* "median (least)" of `n`, in milliseconds. */
static void print(const char *what, double *t, int n) {
    qsort(t, (size_t)n, sizeof *t, by_value);
    printf("  %s %6.2f (%6.2f)", what, 1e3 * t[n / 2], 1e3 * t[0]);
}

static void measure(const row *r, int rounds) {
    static double plan[MOST_ROUNDS], call[MODES][MOST_ROUNDS];
    arrays in, out;
    int kernels = 0;
    make_arrays(r, &in, &out);
    for (int i = 0; i < rounds; i++)
        for (int mode = 0; mode < MODES; mode++) {
            times t;
            kernels = once(r, mode, &in, &out, &t);
            plan[i] = t.plan;
            call[mode][i] = t.call + (mode == BOTH ? t.plan : 0);
        }
    printf("%-22s %2d kernel%s", r->name, kernels, kernels == 1 ? " " : "s");
    print("plan", plan, rounds);
    print("quick", call[QUICK], rounds);
    print("full", call[FULL], rounds);
    print("first result", call[BOTH], rounds);
    printf("\n");
    fflush(stdout);
    free_arrays(&in);
    free_arrays(&out);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
    if (rounds < 1 || rounds > MOST_ROUNDS) rounds = MOST_ROUNDS;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (argc < 3 || strstr(rows[i].name, argv[2])) measure(&rows[i], rounds);
    return 0;
}
