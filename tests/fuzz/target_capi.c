/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target_capi.c - a sequence of calls of the C API from bytes.
 *
 * Each call takes a byte for its function and bytes for its arguments; values, dims and arrays come
 * from pools that calls fill. Values of another graph, empty ones, wrong dtypes, axes, ranks and
 * shapes are among them: each has to be an error and nothing worse, and a graph with an error has
 * to give it again from every later use. All runs on the interpreter. Arrays may be of any size,
 * but what would have more than MOST elements is compiled only: to compute billions of them takes
 * the time and the memory that it has to take. */
#include <fusec/fusec.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/targets.h"

enum {
    VALUES = 24,
    DIMS = 8,
    ROOM = 4096, /* bytes of any result that is read */
    CALLS = 200,
    INPUT = 4,     /* elements of a program's inputs along an axis */
    MOST = 1 << 17 /* elements of any array that is computed */
};

typedef struct machine {
    const uint8_t *at, *end;
    fusec_context *ctx;
    fusec_graph *g[2];
    fusec_value v[VALUES];
    fusec_dim d[DIMS];
    int64_t most[DIMS], named; /* that the dim may be in a call; that any of them may be */
    unsigned nv, nd;
    bool huge; /* an array has more elements than MOST */
} machine;

static _Alignas(16) unsigned char memory[ROOM], result[ROOM];

static unsigned byte(machine *m) {
    return m->at < m->end ? *m->at++ : 0;
}
static fusec_graph *graph(machine *m) {
    return m->g[byte(m) % 16 == 0];
}
static fusec_value value(machine *m) {
    unsigned b = byte(m);
    if (b == 255) return (fusec_value){0};
    if (b >= 250) return fusec_int((int64_t)byte(m) - 100);
    if (b >= 245) return fusec_num((double)byte(m) / 16 - 8);
    return m->v[b % VALUES];
}
static int64_t times(int64_t a, int64_t b) {
    return a > MOST || b > MOST ? MOST + 1 : a * b;
}
static void keep(machine *m, fusec_value v) {
    int64_t shape[32], n = 1;
    m->v[m->nv++ % VALUES] = v;
    const int rank = fusec_rank(v);
    if (rank < 0 || rank > 32) return;
    const bool named = fusec_shape(v, shape) != FUSEC_OK;
    for (int k = 0; k < rank; k++) n = times(n, named ? m->named : shape[k]);
    m->huge |= n > MOST;
}
static fusec_dim dim(machine *m) {
    return m->d[byte(m) % DIMS];
}
static fusec_dtype dtype(machine *m) {
    return (fusec_dtype)(byte(m) % (FUSEC_F64 + 2));
}

/* ---- groups of functions --------------------------------------------------------------------- */

static fusec_value one(machine *m) {
    static fusec_value (*const fns[])(fusec_value) = {
        fusec_neg,   fusec_abs, fusec_sign,  fusec_relu,        fusec_sqrt,   fusec_exp,
        fusec_log,   fusec_sin, fusec_tanh,  fusec_sigmoid,     fusec_floor,  fusec_round,
        fusec_isnan, fusec_erf, fusec_rsqrt, fusec_logical_not, fusec_bit_not};
    return fns[byte(m) % (sizeof fns / sizeof fns[0])](value(m));
}

static fusec_value two(machine *m) {
    static fusec_value (*const fns[])(fusec_value, fusec_value) = {
        fusec_add,     fusec_sub,     fusec_mul,  fusec_div,         fusec_floordiv, fusec_mod,
        fusec_fmod,    fusec_pow,     fusec_fmin, fusec_maximum,     fusec_atan2,    fusec_copysign,
        fusec_bit_and, fusec_bit_xor, fusec_shl,  fusec_logical_and, fusec_lt,       fusec_eq};
    unsigned f = byte(m) % (sizeof fns / sizeof fns[0]);
    fusec_value a = value(m);
    return fns[f](a, value(m));
}

static fusec_value three(machine *m) {
    static fusec_value (*const fns[])(fusec_value, fusec_value, fusec_value) = {
        fusec_where, fusec_fma, fusec_clip, fusec_lerp};
    unsigned f = byte(m) % 4;
    fusec_value a = value(m), b = value(m);
    return fns[f](a, b, value(m));
}

static fusec_value reduction(machine *m) {
    static fusec_value (*const fns[])(fusec_value, int, const int *, int) = {
        fusec_sum, fusec_prod, fusec_min, fusec_max,    fusec_any,    fusec_all,
        fusec_var, fusec_mean, fusec_std, fusec_argmin, fusec_argmax, fusec_logsumexp};
    unsigned f = byte(m) % (sizeof fns / sizeof fns[0]), how = byte(m);
    int axes[3] = {(int)(byte(m) % 7) - 3, (int)(byte(m) % 7) - 3, 0};
    int n = (int)(how % 4);
    return fns[f](value(m), n, n ? axes : NULL, how / 4 % 2);
}

static fusec_value moved(machine *m) {
    const unsigned how = byte(m) % 9;
    const fusec_value none = {0}, v = value(m), w = value(m), parts[3] = {v, w, v};
    const int axis = (int)(byte(m) % 7) - 3, rank = (int)(byte(m) % 5);
    const int64_t k = (int64_t)byte(m) % 9 - 2, step = (int64_t)byte(m) % 4;
    int64_t many[16];
    fusec_dim dims[4] = {dim(m), dim(m), dim(m), dim(m)};
    fusec_edge edges[4];
    for (int i = 0; i < 16; i++) many[i] = (int64_t)byte(m) % 5 - 1;
    for (int i = 0; i < 4; i++) edges[i] = (fusec_edge)(byte(m) % 7);
    switch (how) {
    case 0: return fusec_pad(v, many, many + 4, edges[0], byte(m) % 2 ? none : w);
    case 1: return fusec_roll(v, k, axis);
    case 2: return fusec_tile(v, rank, many);
    case 3: return fusec_repeat(v, k, axis);
    case 4: return fusec_window(v, k, axis, step);
    case 5: return fusec_concat(1 + (int)(byte(m) % 3), parts, axis);
    case 6: return fusec_stack(1 + (int)(byte(m) % 3), parts, axis);
    case 7: return byte(m) % 2 ? fusec_take(v, w, axis) : fusec_take_along(v, w, axis);
    default:
        if (fusec_rank(v) > 4) return v;
        return fusec_view(v, rank < 4 ? rank : 4, dims, byte(m) % 2 ? dims : NULL, edges, many);
    }
}

static fusec_value view(machine *m) {
    unsigned how = byte(m) % 8;
    if (how == 7) return moved(m);
    fusec_value v = value(m);
    fusec_dim shape[4] = {dim(m), dim(m), dim(m), dim(m)};
    int axes[4], rank = (int)(byte(m) % 5), axis = (int)(byte(m) % 7) - 3;
    for (int k = 0; k < 4; k++) axes[k] = (int)(byte(m) % 5);
    switch (how) {
    case 0: return fusec_broadcast(v, rank, shape);
    case 1: return fusec_reshape(v, rank, shape);
    case 2: return fusec_transpose(v, rank ? axes : NULL);
    case 3: return fusec_flip(v, axis);
    case 4: return fusec_expand_dims(v, axis);
    case 5: return fusec_squeeze(v, axis);
    default: {
        int64_t start = (int64_t)byte(m) - 8, stop = (int64_t)byte(m) - 8, step = axes[0] - 2;
        return fusec_slice(v, axis, byte(m) % 4 ? start : FUSEC_END, byte(m) % 4 ? stop : FUSEC_END,
                           step);
    }
    }
}

static fusec_value leaf(machine *m) {
    static const char *const names[] = {"a", "b", "c", "x1", "long_name", "", "1x", "def"};
    fusec_graph *g = graph(m);
    unsigned how = byte(m) % 8;
    fusec_dtype t = dtype(m);
    int rank = (int)(byte(m) % 4);
    int64_t shape[4];
    fusec_dim dims[4] = {dim(m), dim(m), dim(m), dim(m)};
    for (int k = 0; k < 4; k++) shape[k] = byte(m) % 6;
    switch (how) {
    case 0: return fusec_input(g, names[byte(m) % 8], t, rank, rank ? dims : NULL);
    case 1: return fusec_const(g, t, (double)byte(m) / 8 - 4);
    case 2: return fusec_full(g, t, byte(m), rank, dims);
    case 3: return fusec_arange(g, dim(m));
    case 4: return fusec_dim_value(dim(m));
    case 5:
        shape[0] -= 1; /* may be negative: an error */
        break;
    default: break;
    }
    return fusec_array(g, t, rank, rank ? shape : NULL, memory);
}

static void size(machine *m) {
    static const char *const names[] = {"n", "m", "k", "", "2"};
    const unsigned how = byte(m) % 7, a = byte(m) % DIMS, b = byte(m) % DIMS, at = m->nd++ % DIMS;
    int64_t most = m->named;
    fusec_dim d;
    switch (how) {
    case 0: d = fusec_sym(graph(m), names[byte(m) % 5]), most = INPUT; break;
    case 1: d = fusec_dim_add(m->d[a], m->d[b]), most = m->most[a] + m->most[b]; break;
    case 2: d = fusec_dim_sub(m->d[a], m->d[b]), most = m->most[a]; break;
    case 3: d = fusec_dim_mul(m->d[a], m->d[b]), most = times(m->most[a], m->most[b]); break;
    case 4: {
        fusec_value v = value(m);
        d = fusec_dim_of(v, (int)(byte(m) % 5) - 2);
        break;
    }
    default: {
        fusec_graph *g = graph(m);
        most = (int64_t)byte(m) - 2;
        d = fusec_size(g, most);
    }
    }
    m->d[at] = d;
    m->most[at] = most < 0 ? 0 : most > MOST ? MOST + 1 : most;
    if (m->most[at] > m->named) m->named = m->most[at];
}

/* ---- functions of the caller ------------------------------------------------------------------
 */

static float difference(float x, float a) {
    return x - a;
}

/* `user` is the number of bytes of an element. */
static void zeros(void *user, int64_t n, const void *const *in, void *out) {
    (void)in;
    memset(out, 0, (size_t)n * (size_t)(uintptr_t)user);
}

static int fill(void *user, const fusec_call_args *a) {
    for (int i = 0; i < a->noutputs; i++) {
        size_t bytes = fusec_dtype_bytes(a->outputs[i].dtype);
        for (int k = 0; k < a->outputs[i].rank; k++) bytes *= (size_t)a->outputs[i].shape[k];
        if (bytes && a->outputs[i].data) memset(a->outputs[i].data, 0, bytes);
    }
    return user ? 3 : 0;
}

static void inside(machine *m) {
    static const char *const names[] = {"f", "1f", "", "g_2"};
    fusec_extern_desc d = FUSEC_EXTERN_DESC_INIT;
    const fusec_value v[4] = {value(m), value(m), value(m), value(m)};
    fusec_dtype types[4];
    const unsigned how = byte(m);
    for (int i = 0; i < 4; i++) types[i] = dtype(m);
    d.name = names[how % 4 == 3 ? byte(m) % 4 : 0];
    d.nargs = (int)(how / 4 % 5);
    d.dtypes = types;
    d.result = dtype(m);
    d.user = (void *)(uintptr_t)fusec_dtype_bytes(d.result);
    if (how / 32 % 4) d.arrays = zeros;
    if (how / 64 % 2) {
        d.arrays = NULL;
        d.scalar = (void (*)(void))difference;
        d.nargs = 2;
        types[0] = types[1] = d.result = FUSEC_F32;
    }
    d.slots = (int)(byte(m) % 40);
    keep(m, fusec_extern(graph(m), &d, v));
}

static void between(machine *m) {
    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    const fusec_value v[3] = {value(m), value(m), value(m)};
    const fusec_dim dims[4] = {dim(m), dim(m), dim(m), dim(m)};
    const fusec_dtype types[2] = {dtype(m), dtype(m)};
    const int ranks[2] = {(int)(byte(m) % 3), (int)(byte(m) % 3)};
    fusec_value out[2] = {{0}, {0}};
    d.name = "fill";
    d.host = byte(m) % 8 ? fill : NULL;
    d.user = byte(m) % 8 ? NULL : m;
    if (byte(m) % 8 == 0) d.text = "text", d.entry = byte(m) % 2 ? "entry" : "";
    d.noutputs = (int)(byte(m) % 3);
    d.dtypes = types;
    d.ranks = ranks;
    d.shapes = dims;
    if (byte(m) % 4 == 0) d.workspace = dim(m);
    (void)fusec_call(graph(m), &d, (int)(byte(m) % 4), v, out);
    for (int i = 0; i < d.noutputs; i++) keep(m, out[i]);
}

static void borrowed(machine *m) {
    const int64_t shape[2] = {(int64_t)(byte(m) % 5), (int64_t)(byte(m) % 5)},
                  strides[2] = {(int64_t)(byte(m) % 5), 1};
    const fusec_tensor t = {.data = memory,
                            .shape = shape,
                            .strides = byte(m) % 2 ? strides : NULL,
                            .rank = (int32_t)(byte(m) % 3),
                            .dtype = dtype(m),
                            .place = (int32_t)(byte(m) % 4)};
    keep(m, fusec_array_from(graph(m), &t, NULL, NULL));
}

/* ---- computing ------------------------------------------------------------------------------- */

static void look(fusec_value v) {
    int64_t shape[32];
    fusec_dtype_of(v);
    if (fusec_rank(v) > 0 && fusec_rank(v) <= 32) fusec_shape(v, shape);
}

static void read_value(machine *m) {
    fusec_value v = value(m);
    int64_t shape[32];
    size_t bytes = 1;
    look(v);
    if (fusec_rank(v) < 0 || fusec_rank(v) > 32 || fusec_shape(v, shape)) return;
    for (int k = 0; k < fusec_rank(v); k++) bytes *= (size_t)shape[k];
    bytes *= fusec_dtype_bytes(fusec_dtype_of(v));
    if (bytes > ROOM || m->huge) return;
    fusec_read(v, result, byte(m) % 8 ? bytes : bytes + 1);
}

static void run_program(machine *m) {
    enum { SLOTS = 8 };
    fusec_graph *g = graph(m);
    fusec_program *p = NULL;
    int64_t shape[SLOTS][4], sizes[64];
    fusec_tensor in[SLOTS], out[SLOTS];
    if (fusec_compile(g, &p)) return;
    int n = fusec_input_count(p), k = fusec_output_count(p);
    for (int i = 0; i < n && i < SLOTS; i++) {
        for (int a = 0; a < 4; a++) shape[i][a] = byte(m) % (INPUT + 1);
        in[i] = (fusec_tensor){
            .data = memory, .shape = shape[i], .rank = (int32_t)(byte(m) % 4), .dtype = dtype(m)};
        fusec_input_name(p, i);
    }
    if (!m->huge && n <= SLOTS && k <= SLOTS && !fusec_output_shapes(p, n, in, sizes, 64)) {
        int64_t *at = sizes;
        size_t used = 0;
        for (int i = 0; i < k; i++) {
            size_t bytes = fusec_dtype_bytes(fusec_output_dtype(p, i));
            int rank = fusec_output_rank(p, i);
            out[i] = (fusec_tensor){.data = result + used,
                                    .shape = at,
                                    .rank = rank,
                                    .dtype = fusec_output_dtype(p, i)};
            for (int a = 0; a < rank; a++) bytes *= (size_t)*at++;
            used += (bytes + 15) / 16 * 16;
            if (used > ROOM) break;
        }
        if (used <= ROOM) {
            fusec_status a = fusec_run(p, n, in, k, out), b = fusec_run(p, n, in, k, out);
            fuzz_require(a == b, "a call gives the same again");
        }
    }
    fusec_kernel_count(p);
    fusec_compile_count(p);
    fusec_output_name(p, 0);
    fusec_input_name(p, 99);
    fusec_program_free(p);
}

static void reset(machine *m, fusec_graph *g) {
    for (int i = 0; i < VALUES; i++)
        if (m->v[i].graph == g) m->v[i] = (fusec_value){0};
    for (int i = 0; i < DIMS; i++)
        if (m->d[i].graph == g) m->d[i] = (fusec_dim){0};
    fusec_graph_reset(g);
}

static void step(machine *m) {
    static const char *const names[] = {"y", "z", "y", ""};
    unsigned call = byte(m) % 32;
    if (call < 6)
        keep(m, leaf(m));
    else if (call < 9)
        keep(m, one(m));
    else if (call < 14)
        keep(m, two(m));
    else if (call < 16)
        keep(m, three(m));
    else if (call < 18)
        keep(m, reduction(m));
    else if (call < 21)
        keep(m, view(m));
    else if (call < 23)
        size(m);
    else if (call == 23)
        keep(m, fusec_cast(value(m), dtype(m)));
    else if (call == 24)
        keep(m, fusec_bitcast(value(m), dtype(m)));
    else if (call == 25)
        keep(m, fusec_materialize(value(m)));
    else if (call == 26)
        fusec_output(graph(m), names[byte(m) % 4], value(m));
    else if (call < 29)
        read_value(m);
    else if (call == 29)
        run_program(m);
    else if (call == 30) {
        fusec_value v[2] = {value(m), value(m)};
        const int n = (int)(byte(m) % 3);
        if (!m->huge) fusec_eval(v, n);
    } else {
        const unsigned what = byte(m) % 4;
        if (what == 0) reset(m, graph(m));
        if (what == 1) inside(m);
        if (what == 2) between(m);
        if (what == 3) borrowed(m);
    }
    fusec_message(m->ctx);
}

void fuzz_capi(const uint8_t *data, size_t size) {
    machine m = {.at = data, .end = data + size};
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "interp";
    o.cache_dir = "";
    o.threads = 1;
    o.max_nodes = 400;
    for (unsigned i = 0; i < ROOM; i++) memory[i] = (unsigned char)(i % 2);
    if (fusec_context_new(&o, &m.ctx)) return;
    for (int i = 0; i < 2; i++)
        if (fusec_graph_new(m.ctx, &m.g[i])) abort();
    for (int i = 0; i < DIMS; i++) {
        m.d[i] = fusec_size(m.g[0], i);
        m.most[i] = m.named = i;
    }
    for (int i = 0; m.at < m.end && i < CALLS; i++) step(&m);
    for (int i = 0; i < 2; i++) fusec_graph_free(m.g[i]);
    fusec_context_free(m.ctx);
}
