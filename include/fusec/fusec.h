/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fusec.h - array expressions compiled into as few kernels as the mathematics allows, on CPU and
 * GPU.
 *
 *     #include <fusec/fusec.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         float in[4] = {0, 1, 2, 3}, out[4];
 *         int64_t shape[1] = {4};
 *         fusec_context *ctx = NULL;
 *         fusec_graph *g = NULL;
 *         if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
 *
 *         fusec_value x = fusec_array(g, FUSEC_F32, 1, shape, in); // my memory, not copied
 *         fusec_value y = fusec_sin(fusec_add(fusec_mul(x, fusec_num(2)), fusec_num(1)));
 *         if (fusec_read(y, out, sizeof out)) // one kernel runs here
 *             fprintf(stderr, "%s\n", fusec_message(ctx));
 *         else
 *             for (int i = 0; i < 4; i++) printf("%g\n", out[i]);
 *
 *         fusec_graph_free(g);
 *         fusec_context_free(ctx);
 *         return 0;
 *     }
 *
 * Errors. Every function that can fail returns a fusec_status, 0 for success; fusec_message gives
 * the text: what was expected, what was found, where. Functions that build expressions do not fail
 * one by one: the first error sticks to the graph, the values made from then on are empty, and
 * fusec_compile, fusec_read, fusec_eval and fusec_graph_status return it. No function aborts,
 * prints or exits; LLVM and NVRTC, which compile in this process unless fusec_options.compiler
 * says otherwise, do abort when memory runs out.
 *
 * Ownership. What comes back through a T ** belongs to the caller, who gives it to the T's free
 * function (which takes NULL). Everything else that is returned is borrowed: values live as long as
 * their graph, strings as said. A context must outlive its graphs and programs; a graph may be
 * freed as soon as it is compiled.
 *
 * Threads. A context and a program may be used by several threads at once. A graph is used by one
 * thread at a time. fusec_message is per thread; its buffer is the only state outside a context.
 *
 * Arrays are dense and row-major unless strides say otherwise; sizes and strides count elements,
 * bytes are called bytes. f16 and bf16 are
 * uint16_t in C, bool is one byte, 0 or 1. What each operation computes is in docs/semantics.md,
 * the list of them in docs/operations.md. */
#ifndef FUSEC_H
#define FUSEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <fusec/dtype.h>
#include <fusec/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(FUSEC_BUILD) && defined(__GNUC__)
#define FUSEC_API __attribute__((visibility("default")))
#else
#define FUSEC_API
#endif

#define FUSEC_VERSION_MAJOR 0
#define FUSEC_VERSION_MINOR 1
#define FUSEC_VERSION_PATCH 0
FUSEC_API const char *fusec_version(void); /* "0.1.0", of the library that runs */

/* Structs that may grow begin with their size, by which the library knows what the caller's has.
 * FUSEC_*_INIT gives one with all other fields zero. */
#define FUSEC_INIT_FUNCTION(type)                                                                  \
    static inline type type##_init(void) {                                                         \
        type v;                                                                                    \
        memset(&v, 0, sizeof v);                                                                   \
        v.size = sizeof v;                                                                         \
        return v;                                                                                  \
    }

typedef struct fusec_context fusec_context;
typedef struct fusec_graph fusec_graph;
typedef struct fusec_program fusec_program;

/* ---- context: devices and caches --------------------------------------------------------- */

/* Zero or NULL in every field means the default. Set it up with FUSEC_OPTIONS_INIT. */
typedef struct fusec_options {
    size_t size; /* sizeof(fusec_options): lets later versions add fields */
    /* "auto" (CUDA if it works, else CPU, else interpreter), "cpu", "cuda", "cuda:1", "interp";
     * "sm_90": such a GPU, which is not there: programs have plans and sources, and none runs */
    const char *device;
    /* For compiled kernels; default $XDG_CACHE_HOME/fusec, "" for no disk cache. A folder that can't
     * be used is no error: kernels are not kept, and `log` gets the reason. */
    const char *cache_dir;
    int threads;   /* of the CPU device; default: what the process may use */
    unsigned mode; /* FUSEC_MODE_*: licences to round differently; default strict */
    /* Receives debug lines when FUSEC_DEBUG is set in the environment. */
    void (*log)(void *user, const char *line);
    void *log_user;
    /* Every allocation of the library; realloc semantics, size 0 frees; called by any thread. */
    void *(*alloc)(void *user, void *p, size_t bytes);
    void *alloc_user;
    /* Limits of a graph; 0 = 65,536 nodes, 256 inputs, 256 outputs. */
    uint32_t max_nodes, max_inputs, max_outputs;
    /* Where kernels are compiled. LLVM and NVRTC end the process they run in when memory runs out.
     * With the path of a `fusec` command here they run in processes of their own, with 30 seconds
     * for a kernel and 8 GiB of memory, and what happens to them is FUSEC_COMPILER or
     * FUSEC_OUT_OF_MEMORY. The default, and "": in this process. */
    const char *compiler;
    unsigned tiers; /* FUSEC_TIERS_* */
    /* What integers become where a fraction is needed (int / int, the mean of ints, a fraction next
     * to integers): FUSEC_F32, the default, or FUSEC_F64. */
    unsigned default_float;
    /* Where LLVM and NVRTC are looked for before the usual places: files and folders, with ':'
     * between them. FUSEC_LIBLLVM_PATH and FUSEC_NVRTC_PATH in the environment come first, and with
     * `compiler` only they count. */
    const char *llvm_path, *nvrtc_path;
    /* Called by the thread that called the library, about every 50 ms while it waits for the CPU or
     * the interpreter, and before it compiles; under no lock of the library, so it may wait for other
     * threads that call it. Not 0: the call stops with FUSEC_CANCELLED, and
     * what its results hold is not defined. */
    int (*poll)(void *user);
    void *poll_user;
    unsigned bounds; /* FUSEC_BOUNDS_* */
    /* Files of compiled kernels (`fusec cache --pack`), with ':' between them, looked into before
     * the cache, whatever compiler made them. A file that is no pack, or that others own or may
     * write to, is FUSEC_IO. */
    const char *packs;
    /* The level of x86-64 that code of the CPU is for, "x86-64-v3": so it runs on other processors,
     * too. The default is that of the first pack, or this processor. */
    const char *cpu;
    int never_compile; /* not 0: code that is not there is FUSEC_NO_CODE */
    /* Both or none: memory of the device (of the host on cpu and interp), in place of the library's
     * pool, for temporaries, results and fusec_device_alloc. In the order of `stream` (a CUstream;
     * NULL on cpu and interp): what is freed may still be used by what the stream was given before.
     * Aligned to 256 bytes (64 on cpu and interp); NULL: there is none. Called by any thread. */
    void *(*device_alloc)(void *user, size_t bytes, void *stream);
    void (*device_free)(void *user, void *p, size_t bytes, void *stream);
    void *device_alloc_user;
} fusec_options;
FUSEC_INIT_FUNCTION(fusec_options)
#define FUSEC_OPTIONS_INIT fusec_options_init()

/* Tiered compilation. A first call runs code that was compiled quickly, in half the time or less,
 * while a thread compiles the full code; calls go on with the quick one until that is there, and
 * nobody waits (the quick one stays if the compiler fails). The results are the same, bit for bit,
 * but for the sign and payload of a NaN that an operation makes. It is left out where it
 * does not pay or would show: for much work, without a processor to spare, in modes other than
 * strict and wide16, on streams that are being recorded, with options.compiler, when the code is on
 * disk. fusec_context_free, fork and the end of the process wait for what is being compiled;
 * options.threads does not bound these threads. */
enum {
    FUSEC_TIERS_DEFAULT = 0, /* both, unless FUSEC_TIERS in the environment is `full` (or, for
                                tests, `quick`: quick code only) */
    FUSEC_TIERS_FULL = 1,    /* full code only: every call is as fast as the next */
    FUSEC_TIERS_BOTH = 2
};

/* What becomes of an index from an array that is outside its axis (fusec_take and its like). */
enum {
    FUSEC_BOUNDS_CHECK = 0, /* the call fails with FUSEC_INDEX_OUT_OF_RANGE */
    FUSEC_BOUNDS_CLAMP = 1, /* it counts as the nearest inside; of an empty axis 0 is read */
    FUSEC_BOUNDS_OFF = 2    /* nobody looks: the program promises that there is none */
};

/* Float modes, docs/semantics.md. Strict (none) rounds every operation as written. */
enum {
    FUSEC_MODE_STRICT = 0,
    FUSEC_MODE_CONTRACT = 1, /* a*b + c may round once */
    FUSEC_MODE_REASSOC = 2,  /* sums may be regrouped */
    FUSEC_MODE_RECIP = 4,    /* a/b may become a*(1/b) */
    FUSEC_MODE_NNAN = 8,     /* no NaN occurs */
    FUSEC_MODE_NINF = 16,    /* no infinity occurs */
    FUSEC_MODE_NSZ = 32,     /* the sign of a zero does not matter */
    FUSEC_MODE_APPROX = 64,  /* approximate functions */
    FUSEC_MODE_FAST = 127,   /* all of the above */
    FUSEC_MODE_WIDE16 = 128, /* f16 and bf16 values stay f32 inside a kernel */
    FUSEC_MODE_TF32 = 1024   /* operands of f32 products may be rounded to 11 bits */
};

/* `options` may be NULL. What they leave out comes from the environment (FUSEC_DEVICE,
 * FUSEC_CACHE_DIR, FUSEC_THREADS, FUSEC_COMPILER, FUSEC_TIERS, FUSEC_PACKS, FUSEC_CPU,
 * FUSEC_COMPILE, FUSEC_DEBUG), which is read here and never again. */
FUSEC_API fusec_status fusec_context_new(const fusec_options *options, fusec_context **out);
FUSEC_API void fusec_context_free(fusec_context *ctx);

/* The message of the last failure in this thread: "" if there was none. Good until the thread's
 * next call. `ctx` may be NULL, also when making the context failed. */
FUSEC_API const char *fusec_message(const fusec_context *ctx);
FUSEC_API const char *fusec_status_name(fusec_status s); /* "shape-mismatch" */
/* Where the text of the language is wrong that the message is about, counted from 1; 0 and 0: it is
 * about no text. */
FUSEC_API void fusec_message_place(int *line, int *column);

/* Opens the context's device if that has not happened yet: "cuda:0", "cpu" or "interp". `notice`
 * (may be NULL) gets one line when a better device was passed over, "" otherwise; both live as long
 * as the context. FUSEC_DRIVER, with the names set, when a GPU was lost by an error after which
 * CUDA promises nothing: then only another process can use it again. */
FUSEC_API fusec_status fusec_device(fusec_context *ctx, const char **name, const char **notice);

/* Kernels compiled so far; loaded from the disk cache; found in memory. Expressions that fusec_eval
 * and its like had to plan: one that is found again by its structure does not count. */
typedef struct fusec_counters {
    size_t size; /* sizeof(fusec_counters); fields behind it are left alone */
    uint64_t compiles, disk_hits, memory_hits, plans;
} fusec_counters;
FUSEC_INIT_FUNCTION(fusec_counters)
#define FUSEC_COUNTERS_INIT fusec_counters_init()
FUSEC_API fusec_status fusec_get_counters(const fusec_context *ctx, fusec_counters *out);

/* ---- arrays -------------------------------------------------------------------------------- */

/* Whose memory: host memory; memory of the context's device, whichever that is (host memory on cpu
 * and interp); memory of GPU number device_id, which must be the context's. */
typedef enum fusec_place { FUSEC_HOST = 0, FUSEC_DEVICE = 1, FUSEC_CUDA = 2 } fusec_place;

/* An array in memory. What is left zero has its default, so name the fields that are set
 * (`{.data = x, .shape = &n, .rank = 1, .dtype = FUSEC_F32}`). Element [i, j, ...] is at data[i *
 * strides[0] + j * strides[1] + ...], counted in elements: strides may be negative, and 0 where it
 * is only read. `data` need not be a multiple of the element's size on the host. Rank-0 inputs of
 * programs are read from host memory when the call is made, whatever `place` says. */
typedef struct fusec_tensor {
    void *data;
    const int64_t *shape;   /* NULL for rank 0 */
    const int64_t *strides; /* NULL: dense, row-major */
    int32_t rank;
    uint32_t dtype;       /* fusec_dtype */
    int32_t place;        /* fusec_place */
    int32_t device_id;    /* of FUSEC_CUDA */
    uint64_t reserved[2]; /* 0 */
} fusec_tensor;

/* ---- graph: building expressions --------------------------------------------------------- */

FUSEC_API fusec_status fusec_graph_new(fusec_context *ctx, fusec_graph **out);
FUSEC_API void fusec_graph_free(fusec_graph *g);
/* The first error of building, 0 so far. */
FUSEC_API fusec_status fusec_graph_status(const fusec_graph *g);
/* Forgets all values, also bound arrays and results, and the error. Values made before must not be
 * used again. */
FUSEC_API void fusec_graph_reset(fusec_graph *g);

/* A value of an expression: handled by copying, never freed. The fields are the library's; all zero
 * is an empty value, and using it is an error. A number (fusec_num, fusec_int) has no graph and no
 * dtype and takes those of the array it meets. */
typedef struct fusec_value {
    fusec_graph *graph;
    uint64_t bits;
    uint32_t node;
    uint32_t kind;
} fusec_value;

/* The length of an axis: a number, or a name (a letter, then letters, digits and _) that the call's
 * arrays bind. Equal names are equal lengths; only the constant 1 broadcasts. */
typedef struct fusec_dim {
    fusec_graph *graph;
    uint32_t id;
} fusec_dim;
FUSEC_API fusec_dim fusec_sym(fusec_graph *g, const char *name);
FUSEC_API fusec_dim fusec_size(fusec_graph *g, int64_t n);
FUSEC_API fusec_dim fusec_dim_add(fusec_dim a, fusec_dim b);
FUSEC_API fusec_dim fusec_dim_sub(fusec_dim a, fusec_dim b);
FUSEC_API fusec_dim fusec_dim_mul(fusec_dim a, fusec_dim b);
FUSEC_API fusec_dim fusec_dim_of(fusec_value v, int axis); /* negative counts from the end */
/* 1, and the length in *n, if it is a number and depends on no name. */
FUSEC_API int fusec_dim_known(fusec_dim d, int64_t *n);
FUSEC_API fusec_value fusec_dim_value(fusec_dim d); /* as an i64 scalar */

/* A named input, bound when the program is called. Rank 0 with shape NULL is a scalar. */
FUSEC_API fusec_value fusec_input(fusec_graph *g, const char *name, fusec_dtype t, int rank,
                                  const fusec_dim *shape);
/* The caller's memory as an array: not copied, read when a result that needs it is computed. */
FUSEC_API fusec_value fusec_array(fusec_graph *g, fusec_dtype t, int rank, const int64_t *shape,
                                  const void *data);
/* The same, of either place, with a function that is called once when the graph does not need the
 * memory any more: it is reset or freed. After a failure it is not called. Dense. */
FUSEC_API fusec_value fusec_array_from(fusec_graph *g, const fusec_tensor *t,
                                       void (*release)(void *user), void *user);
/* The same in memory of the graph's device. On cpu and interp that is host memory. */
FUSEC_API fusec_value fusec_device_array(fusec_graph *g, fusec_dtype t, int rank,
                                         const int64_t *shape, const void *data);
/* Names a result of the program. */
FUSEC_API void fusec_output(fusec_graph *g, const char *name, fusec_value v);

/* Numbers. Next to a float array both become its dtype. Next to integers fusec_int does (it must
 * fit), while fusec_num makes all operands the default float, f32; next to bools fusec_int makes
 * them i64. Two numbers give a number, computed in i64 or f64. */
FUSEC_API fusec_value fusec_num(double v);
FUSEC_API fusec_value fusec_int(int64_t v);
/* A scalar of this dtype, converted as a cast does. */
FUSEC_API fusec_value fusec_const(fusec_graph *g, fusec_dtype t, double v);
FUSEC_API fusec_value fusec_const_i64(fusec_graph *g, fusec_dtype t, int64_t v);
FUSEC_API fusec_value fusec_const_u64(fusec_graph *g, fusec_dtype t, uint64_t v);
FUSEC_API fusec_value fusec_full(fusec_graph *g, fusec_dtype t, double v, int rank,
                                 const fusec_dim *shape);
FUSEC_API fusec_value fusec_arange(fusec_graph *g, fusec_dim n); /* i64: 0, 1, ..., n-1 */
/* n numbers from a to b, both among them, computed in f64; one alone is a. */
FUSEC_API fusec_value fusec_linspace(fusec_graph *g, fusec_dtype t, double a, double b,
                                     fusec_dim n);
/* The lower or upper triangle of the last two axes, 0 elsewhere; k shifts the diagonal. */
FUSEC_API fusec_value fusec_tril(fusec_value x, int64_t k);
FUSEC_API fusec_value fusec_triu(fusec_value x, int64_t k);
/* x[1:] - x[:-1] along an axis; of bools where they change. */
FUSEC_API fusec_value fusec_diff(fusec_value x, int axis);
/* Rounded half to even to so many decimal digits: round(x * 10^digits) / 10^digits. */
FUSEC_API fusec_value fusec_round_to(fusec_value x, int digits);

/* What stands in order, along an axis (negative counts from the end). The order is that of numbers, -0
 * before +0 and nan last; equal elements keep theirs, also where `down` is not 0, which is from the
 * largest on, nan last too. fusec_argsort gives positions, i64. fusec_topk: the k largest, and where
 * they are. fusec_searchsorted: how many elements of `sorted`, which has one axis, are less than
 * each of v (`right`: or equal), i64; one dtype. fusec_quantile: between the two elements that q, 0
 * to 1, lies between, as in NumPy. */
FUSEC_API fusec_value fusec_sort(fusec_value x, int axis, int down);
FUSEC_API fusec_value fusec_argsort(fusec_value x, int axis, int down);
FUSEC_API fusec_value fusec_topk(fusec_value x, fusec_dim k, int axis, fusec_value *positions);
FUSEC_API fusec_value fusec_searchsorted(fusec_value sorted, fusec_value v, int right);
FUSEC_API fusec_value fusec_quantile(fusec_value x, double q, int axis);
/* What a mask (bool, one axis) holds, of which the number is data: `size` elements, 0 behind the last,
 * and into *count (i64; NULL: not wanted) how many there are, also more than size. fusec_nonzero:
 * positions; fusec_compress: rows of x along axis 0; fusec_unique: the elements of x in order, each
 * once. */
FUSEC_API fusec_value fusec_nonzero(fusec_value mask, fusec_dim size, fusec_value *count);
FUSEC_API fusec_value fusec_compress(fusec_value mask, fusec_value x, fusec_dim size,
                                     fusec_value *count);
FUSEC_API fusec_value fusec_unique(fusec_value x, fusec_dim size, fusec_value *count);

/* Loops. The body is written down once, between begin and end, with values that stand for those of a
 * round; what it uses from outside does not change.
 *
 *     fusec_loop *l = fusec_loop_begin(g, fusec_int(0), steps);      rounds 0 .. steps - 1
 *     fusec_value u = fusec_carry(l, u0);                            u at the begin of a round
 *     fusec_next(l, u, fusec_add(u, fusec_mul(k, laplace(u))));      and at its end
 *     fusec_value last;
 *     fusec_loop_end(l, 1, &last);
 *
 * first and end are integers: numbers, or scalars of the graph. A carried value keeps dtype and shape.
 * fusec_while: a scalar bool of the body; where it does not hold the round is not made, and none after
 * it. fusec_collect: the result has the value of each round along a new first axis; then first and
 * end are sizes (numbers or fusec_dim_value), and there is no condition. fusec_loop_end gives the
 * values after the last round in the order of fusec_carry, then what was collected, and frees the
 * loop, also when it fails. Values of the body are good inside of it alone. Loops may be inside each
 * other, 8 deep, and have 64 values. An end before the begin fails the call (FUSEC_SLICE_RANGE). */
typedef struct fusec_loop fusec_loop;
FUSEC_API fusec_loop *fusec_loop_begin(fusec_graph *g, fusec_value first, fusec_value end);
FUSEC_API fusec_value fusec_loop_counter(fusec_loop *l); /* i64 scalar */
FUSEC_API fusec_value fusec_carry(fusec_loop *l, fusec_value start);
FUSEC_API void fusec_next(fusec_loop *l, fusec_value carried, fusec_value next);
FUSEC_API void fusec_while(fusec_loop *l, fusec_value condition);
FUSEC_API void fusec_collect(fusec_loop *l, fusec_value v);
FUSEC_API fusec_status fusec_loop_end(fusec_loop *l, int n, fusec_value *results);

/* Random numbers of Philox4x32-10: each depends on seed, stream and the number of its element (in C
 * order of the shape) alone, and is the same on every device, to the bit (docs/semantics.md, 11).
 * Seed and stream are integers: numbers, or scalars that a call gives. fusec_bits: words, u32 or
 * u64. fusec_uniform: floats in [0, 1). fusec_normal: floats, mean 0, variance 1. fusec_randint:
 * i64 from lo up to hi - 1. fusec_bernoulli: true with probability p, a number or an array that
 * broadcasts. Draws with equal seed and stream are equal: give each its own stream. fusec_permutation:
 * 0 .. n - 1 in an order of their own, i64. */
FUSEC_API fusec_value fusec_permutation(fusec_graph *g, fusec_dim n, fusec_value seed,
                                        fusec_value stream);
FUSEC_API fusec_value fusec_bits(fusec_graph *g, fusec_dtype t, int rank, const fusec_dim *shape,
                                 fusec_value seed, fusec_value stream);
FUSEC_API fusec_value fusec_uniform(fusec_graph *g, fusec_dtype t, int rank, const fusec_dim *shape,
                                    fusec_value seed, fusec_value stream);
FUSEC_API fusec_value fusec_normal(fusec_graph *g, fusec_dtype t, int rank, const fusec_dim *shape,
                                   fusec_value seed, fusec_value stream);
FUSEC_API fusec_value fusec_randint(fusec_graph *g, fusec_value lo, fusec_value hi, int rank,
                                    const fusec_dim *shape, fusec_value seed, fusec_value stream);
FUSEC_API fusec_value fusec_bernoulli(fusec_graph *g, fusec_value p, int rank,
                                      const fusec_dim *shape, fusec_value seed, fusec_value stream);

FUSEC_API fusec_dtype fusec_dtype_of(fusec_value v); /* FUSEC_NO_DTYPE: a number, or empty */
FUSEC_API int fusec_rank(fusec_value v);             /* -1: empty */
FUSEC_API size_t fusec_dtype_bytes(fusec_dtype t);
FUSEC_API const char *fusec_dtype_name(fusec_dtype t); /* "f32" */

/* Float to integer truncates and saturates, into floats rounds to nearest even. */
FUSEC_API fusec_value fusec_cast(fusec_value v, fusec_dtype t);
/* The same bits in a dtype of the same width. */
FUSEC_API fusec_value fusec_bitcast(fusec_value v, fusec_dtype t);
/* The value is stored: nothing fuses across. */
FUSEC_API fusec_value fusec_materialize(fusec_value v);

/* Contractions: sums of products, each product added with one rounding, in an order that sizes,
 * threads and devices do not change, but for 16-bit floats on tensor cores (docs/semantics.md,
 * section 6). Operands have one dtype; integers give i64 or u64. matmul: the last axis of a with the
 * second to last of b (the only one of a vector), leading axes broadcast; dot is the same. einsum:
 * "ik,kj->ij", as in NumPy, for up to 8 operands from left to right; a letter twice in one operand
 * takes its diagonal. What is around it fuses. */
FUSEC_API fusec_value fusec_matmul(fusec_value a, fusec_value b);
FUSEC_API fusec_value fusec_dot(fusec_value a, fusec_value b);
FUSEC_API fusec_value fusec_einsum(const char *text, int n, const fusec_value *operands);
/* x [n, c, places...] with filters [m, c / groups, sizes...], as machine learning has it: the
 * filters are not turned. For each axis behind the first two a stride, zeros before and after it,
 * and a dilation; NULL: 1, none, 1. The result is [n, m, places...]; groups are parts of c and m.
 */
FUSEC_API fusec_value fusec_conv(fusec_value x, fusec_value filters, const int64_t *stride,
                                 const int64_t *before, const int64_t *after,
                                 const int64_t *dilation, int64_t groups);

/* Derivatives (docs/gradients.md): expressions like all others, in the same graph. What is derived,
 * and what it is derived by, are float arrays or scalars. An error, FUSEC_NO_GRADIENT where
 * something has no derivative, sticks to the graph and is returned; the values given are then
 * empty.
 *
 * vjp, reverse mode: dx[i] becomes the derivative of sum(y*dy) by x[i], in its dtype and shape. dy
 * has dtype and shape of y, or is a number. grad is vjp of a scalar for dy = 1. jvp, forward mode:
 * how y moves when each x[i] moves along dx[i]. jacobian: dy/dx, the axes of y, then those of x. */
FUSEC_API fusec_status fusec_grad(fusec_value loss, int n, const fusec_value *x, fusec_value *dx);
FUSEC_API fusec_status fusec_vjp(fusec_value y, fusec_value dy, int n, const fusec_value *x,
                                 fusec_value *dx);
FUSEC_API fusec_value fusec_jvp(fusec_value y, int n, const fusec_value *x, const fusec_value *dx);
FUSEC_API fusec_value fusec_jacobian(fusec_value y, fusec_value x);
/* The value itself, for derivatives a constant. */
FUSEC_API fusec_value fusec_stop_grad(fusec_value v);
/* A value with a derivative of its own. fusec_cotangent stands for what will arrive at y; from it
 * the derivative dx[i] by each x[i] is made, linear in it, of dtype and shape of x[i] (or a
 * number). fusec_custom_grad gives y with that rule: use what it gives in place of y. */
FUSEC_API fusec_value fusec_cotangent(fusec_value y);
FUSEC_API fusec_value fusec_custom_grad(fusec_value y, fusec_value dy, int n, const fusec_value *x,
                                        const fusec_value *dx);

/* Fourier transforms along an axis (negative counts from the end), as NumPy has them: of complex
 * arrays, and of real ones, which become complex. ifft and irfft are divided by the length. rfft, of
 * real arrays, gives elements 0 to n/2; irfft takes these, and gives n real ones (0: an even n, twice
 * the elements less 2). The transform is a step of its own; what is before and behind it fuses. */
FUSEC_API fusec_value fusec_fft(fusec_value x, int axis);
FUSEC_API fusec_value fusec_ifft(fusec_value x, int axis);
FUSEC_API fusec_value fusec_rfft(fusec_value x, int axis);
FUSEC_API fusec_value fusec_irfft(fusec_value x, int64_t n, int axis);

/* Prefixes along an axis (negative counts from the end): element i is the sum, product, smallest,
 * largest of elements 0 to i, whether any or all of them are true. The shape stays, the dtype is
 * that of the reduction (integers add up in i64 or u64). EXCLUSIVE: of elements 0 to i - 1, for i =
 * 0 what the reduction has for no elements; REVERSE: from the last element down. The order of float
 * sums is fixed (docs/semantics.md, section 6): equal bits on all devices. */
enum { FUSEC_SCAN_EXCLUSIVE = 1, FUSEC_SCAN_REVERSE = 2 };
FUSEC_API fusec_value fusec_cumsum(fusec_value v, int axis, unsigned flags);
FUSEC_API fusec_value fusec_cumprod(fusec_value v, int axis, unsigned flags);
FUSEC_API fusec_value fusec_cummin(fusec_value v, int axis, unsigned flags);
FUSEC_API fusec_value fusec_cummax(fusec_value v, int axis, unsigned flags);
FUSEC_API fusec_value fusec_cumany(fusec_value v, int axis, unsigned flags);
FUSEC_API fusec_value fusec_cumall(fusec_value v, int axis, unsigned flags);

/* The same in stretches: an element whose `reset` (bool, broadcast together with v) is true is the
 * first one of a new stretch. */
FUSEC_API fusec_value fusec_cumsum_reset(fusec_value v, fusec_value reset, int axis,
                                         unsigned flags);
FUSEC_API fusec_value fusec_cumprod_reset(fusec_value v, fusec_value reset, int axis,
                                          unsigned flags);
FUSEC_API fusec_value fusec_cummin_reset(fusec_value v, fusec_value reset, int axis,
                                         unsigned flags);
FUSEC_API fusec_value fusec_cummax_reset(fusec_value v, fusec_value reset, int axis,
                                         unsigned flags);
FUSEC_API fusec_value fusec_cumany_reset(fusec_value v, fusec_value reset, int axis,
                                         unsigned flags);
FUSEC_API fusec_value fusec_cumall_reset(fusec_value v, fusec_value reset, int axis,
                                         unsigned flags);
/* y[t] = a[t]*y[t-1] + b[t] along an axis, 0 before the first element. FUSEC_SCAN_REVERSE: from the
 * last one down; FUSEC_SCAN_EXCLUSIVE: y[t-1] in place of y[t]. */
FUSEC_API fusec_value fusec_linrec(fusec_value a, fusec_value b, int axis, unsigned flags);

/* Reductions and scans by a function of your own, of records of 1 to 16 values, of which a complex
 * number is two: x[0] .. x[n-1] are arrays that broadcast together, and an element is a record of
 * one value of each.
 *
 * fusec_record_pair gives the values of two records, a[] of earlier elements and b[] of later ones:
 * scalars, of the dtypes of x (16-bit floats as f32). Make of them c[], the one record that takes
 * their place, by operations of <fusec/ops.h> and numbers; it must be associative, and `start` must
 * change nothing that it is joined with. start NULL: none; then no elements are
 * FUSEC_EMPTY_REDUCTION, and at most 15 values fit. What is not elementwise is
 * FUSEC_NOT_POINTWISE, another dtype FUSEC_RESULT_DTYPE. The order is that of the other reductions
 * (docs/semantics.md, section 6). out[] are n values, each an array; all are made by one kernel. */
FUSEC_API fusec_status fusec_record_pair(int n, const fusec_value *x, fusec_value *a,
                                         fusec_value *b);
FUSEC_API fusec_status fusec_reduce_by(int n, const fusec_value *x, const fusec_value *start,
                                       const fusec_value *c, int naxes, const int *axes,
                                       int keepdims, fusec_value *out);
FUSEC_API fusec_status fusec_scan_by(int n, const fusec_value *x, const fusec_value *start,
                                     const fusec_value *c, int axis, unsigned flags,
                                     fusec_value *out);

/* Views: they cost index arithmetic, not memory. */
FUSEC_API fusec_value fusec_broadcast(fusec_value v, int rank, const fusec_dim *shape);
FUSEC_API fusec_value fusec_reshape(fusec_value v, int rank, const fusec_dim *shape);
FUSEC_API fusec_value fusec_transpose(fusec_value v, const int *axes); /* NULL reverses the axes */
FUSEC_API fusec_value fusec_flip(fusec_value v, int axis);
/* A new axis of length 1 before `axis`; away with an axis of constant length 1. */
FUSEC_API fusec_value fusec_expand_dims(fusec_value v, int axis);
FUSEC_API fusec_value fusec_squeeze(fusec_value v, int axis);
/* Elements start, start + step, ... below stop (above it for a negative step) along one axis.
 * FUSEC_END leaves a bound out, as in x[:stop] or x[start::-1]; other negative bounds count from
 * the end. Bounds outside the array are an error of the call; they are not clamped as in Python.
 * The step is not 0; of more than one element it is 2^48 at most. */
#define FUSEC_END INT64_MIN
FUSEC_API fusec_value fusec_slice(fusec_value v, int axis, int64_t start, int64_t stop,
                                  int64_t step);

/* Reading outside an array. `x` of a b c continued to both sides:
 *     NONE: not at all, it is an error of the call;     ZERO: 0 0 | a b c | 0 0
 *     EDGE: a a | a b c | c c                           WRAP: b c | a b c | a b
 *     REFLECT: c b | a b c | b a                        SYMMETRIC: b a | a b c | c b
 * Any integer is an index of these; an empty axis has nothing to continue except by ZERO. */
typedef enum fusec_edge {
    FUSEC_EDGE_NONE = 0,
    FUSEC_EDGE_ZERO = 1,
    FUSEC_EDGE_EDGE = 2,
    FUSEC_EDGE_WRAP = 3,
    FUSEC_EDGE_REFLECT = 4,
    FUSEC_EDGE_SYMMETRIC = 5
} fusec_edge;

/* The general view: axis i of `v` is read at starts[i] + sum over k of steps[i*rank + k] * (index k
 * of the result), continued by edges[i]. NULL: starts 0, edges NONE, steps 0. */
FUSEC_API fusec_value fusec_view(fusec_value v, int rank, const fusec_dim *shape,
                                 const fusec_dim *starts, const fusec_edge *edges,
                                 const int64_t *steps);
/* Moving and joining; nothing is copied that the kernel which uses it can read where it is.
 * Negative axes count from the end. */
/* before[i] and after[i] more elements at the ends of axis i (NULL: none). With the mode ZERO they
 * are `value`, a number or a scalar; with an empty value ((fusec_value){0}) they are 0. */
FUSEC_API fusec_value fusec_pad(fusec_value v, const int64_t *before, const int64_t *after,
                                fusec_edge mode, fusec_value value);
FUSEC_API fusec_value fusec_roll(fusec_value v, int64_t shift, int axis);
/* The whole array times[i] times over along each axis, aligned from the right. */
FUSEC_API fusec_value fusec_tile(fusec_value v, int rank, const int64_t *times);
/* Every element `times` times over along an axis. */
FUSEC_API fusec_value fusec_repeat(fusec_value v, int64_t times, int axis);
/* The windows of `width` elements that begin every `step` elements of an axis: that axis counts
 * them, and a new last axis of that width is their elements. */
FUSEC_API fusec_value fusec_window(fusec_value v, int64_t width, int axis, int64_t step);
/* One after the other along an axis, and along a new axis; one dtype, and the other axes equal. */
FUSEC_API fusec_value fusec_concat(int n, const fusec_value *parts, int axis);
FUSEC_API fusec_value fusec_stack(int n, const fusec_value *parts, int axis);
/* The axes of `index` (any integer dtype) in place of an axis: out[.., i.., ..] = v[.., index[i..],
 * ..]. take_along: both have one rank and broadcast but for the axis, out[.., i, ..] =
 * v[.., index[.., i, ..], ..]. An index below 0 or beyond the end fails the call with
 * FUSEC_INDEX_OUT_OF_RANGE. */
FUSEC_API fusec_value fusec_take(fusec_value v, fusec_value index, int axis);
FUSEC_API fusec_value fusec_take_along(fusec_value v, fusec_value index, int axis);
/* How an element takes values in, of which several may go to it. */
typedef enum fusec_put {
    FUSEC_PUT_SET, /* it becomes the last one, in the order of the indices */
    FUSEC_PUT_SUM,
    FUSEC_PUT_MIN,
    FUSEC_PUT_MAX,
    FUSEC_PUT_ANY, /* of bool */
    FUSEC_PUT_ALL,
    FUSEC_PUT_MEAN /* fusec_segment, of floats: of no row nan */
} fusec_put;
/* No two values go to one element: with SET that saves work; where it does not hold any one of them
 * stays. */
#define FUSEC_PUT_UNIQUE 1u
/* `base` with values put into it: element out[.., index[i..], ..] takes v[.., i.., ..] in, the other
 * way round than fusec_take reads. `base` itself stays what it is. v has its dtype and broadcasts to
 * the shape that fusec_take would have; a number is for all. scatter_along: index and v broadcast to
 * one shape, whose last axes are those of `base`, of the same size but for `axis`; axes before them
 * are further values. The result does not depend on the order in which they come: sums of floats are
 * made on a grid and rounded once (docs/semantics.md). An index outside: as fusec_take. */
FUSEC_API fusec_value fusec_scatter(fusec_value base, fusec_value index, fusec_value v, int axis,
                                    fusec_put op, unsigned flags);
FUSEC_API fusec_value fusec_scatter_along(fusec_value base, fusec_value index, fusec_value v,
                                          int axis, fusec_put op, unsigned flags);
/* How many indices have each of the numbers 0 .. n - 1, as i64; with weights of the indices' shape
 * the sums of those, in their dtype ((fusec_value){0}: none). */
FUSEC_API fusec_value fusec_histogram(fusec_value index, fusec_dim n, fusec_value weights);
/* Rows by their numbers: element r of n is made of the v[i..] whose ids[i..] is r. With no row it is
 * 0, or the end of the dtype's range for MIN and MAX. */
FUSEC_API fusec_value fusec_segment(fusec_value v, fusec_value ids, fusec_dim n, fusec_put op);

/* How the elements of a row that ends by data become one. */
typedef enum fusec_ragged_op {
    FUSEC_RAGGED_SUM,
    FUSEC_RAGGED_PROD,
    FUSEC_RAGGED_MIN, /* of no element: the end of the dtype's range */
    FUSEC_RAGGED_MAX,
    FUSEC_RAGGED_ANY,
    FUSEC_RAGGED_ALL,
    FUSEC_RAGGED_MEAN,   /* of no element nan */
    FUSEC_RAGGED_ARGMIN, /* the index along the first axis of v; of no element -1 */
    FUSEC_RAGGED_ARGMAX,
    FUSEC_RAGGED_LOGSUMEXP
} fusec_ragged_op;
/* Rows of data lengths, as those of a sparse matrix: element [i..] of the result is made of
 * v[begin[i..] : end[i..]]; further axes of v stay behind. begin and end are integers of one shape,
 * from 0 to the size of v's first axis; where an end is not behind its begin the row is empty. What v
 * is made of is computed in the kernel, and no work is done behind the ends. */
FUSEC_API fusec_value fusec_ragged(fusec_value v, fusec_value begin, fusec_value end,
                                   fusec_ragged_op op);

/* Elementwise operations and reductions, one function for each row of the operation table. */
#include <fusec/ops.h>

/* ---- evaluating on demand -----------------------------------------------------------------
 *
 * For values made of fusec_array and fusec_device_array. An expression is planned and compiled the
 * first time its structure is seen in the context and found again later, whatever the graph, the
 * sizes and the data. A result is kept with the value: using it again computes nothing. */

/* Computes several values in one plan; their results stay with them. */
FUSEC_API fusec_status fusec_eval(const fusec_value *v, int n);
/* Computes if needed and copies the result to host memory; `bytes` must be its exact size. */
FUSEC_API fusec_status fusec_read(fusec_value v, void *out, size_t bytes);
/* Computes if needed; `*data` is memory of the device, good until the graph is reset or freed. An
 * array that is there already is the caller's own. Before other streams read it on a GPU:
 * fusec_synchronize. */
FUSEC_API fusec_status fusec_data(fusec_value v, const void **data);
/* The shape of a value made of arrays with known sizes; `shape` has room for fusec_rank(v)
 * numbers. */
FUSEC_API fusec_status fusec_shape(fusec_value v, int64_t *shape);

/* ---- values of no graph ---------------------------------------------------------------------
 *
 * For languages that hold and drop values one by one. A fusec_lazy is an immutable value: an array
 * in memory, a number, or an operation on other values that is computed when it is asked for. It is
 * counted: what comes back through a fusec_lazy ** has one reference, which the caller gives back
 * with fusec_lazy_release. Operands are kept by the values made of them, until those are computed.
 * Any thread may use any value. A function that fails returns its status, makes nothing and harms
 * no value.
 *
 * What is planned and compiled is found again by structure: the same operations on arrays of the
 * same dtypes and ranks, whatever their sizes, and with other numbers. Numbers are arguments, but
 * for those that simplify (0, 1, -1, 2, 0.5, whole exponents up to 64, integer divisors). Sizes are
 * known, so an axis of length 1 always broadcasts, and errors come from the operation that is
 * wrong. */
typedef struct fusec_lazy fusec_lazy;

/* An array in memory of the caller, not copied: it must not change or go away before `release` is
 * called, once, with `user`: by any thread that drops the last value that needs it, under no lock
 * of the library. `release` may be NULL. After a failure it is not called. */
FUSEC_API fusec_status fusec_lazy_from(fusec_context *ctx, const fusec_tensor *t,
                                       void (*release)(void *user), void *user, fusec_lazy **out);
/* A rank-0 value, converted as a cast does (integers wrap). */
FUSEC_API fusec_status fusec_lazy_number(fusec_context *ctx, fusec_dtype t, double v,
                                         fusec_lazy **out);
FUSEC_API fusec_status fusec_lazy_integer(fusec_context *ctx, fusec_dtype t, int64_t v,
                                          fusec_lazy **out);
/* Copies one element of dtype `t` at `element`. */
FUSEC_API fusec_status fusec_lazy_scalar(fusec_context *ctx, fusec_dtype t, const void *element,
                                         fusec_lazy **out);

/* Operations have numbers in a process, found by name: the functions of <fusec/ops.h> ("sin",
 * "add", "sum", "logsumexp", ...) and "cast", "bitcast", "materialize", "broadcast", "reshape",
 * "permute", "slice", "iota", "matmul", "take", "take_along", "pad", "roll", "tile", "repeat",
 * "window", "concat", "stack", "cumsum" and its like, "sort", "argsort", "searchsorted", "einsum",
 * "bits", "uniform", "normal", "randint", "bernoulli", "permutation", "real", "imag", "conj",
 * "angle", "complex", "nextafter", "spacing", "extern", "text", whose operands and attributes fusec_op_doc says. -1: there is none. Names
 * and numbers from 0 to fusec_op_count() - 1; the name of a number without operation is NULL. */
FUSEC_API int fusec_op_find(const char *name);
FUSEC_API int fusec_op_count(void);
FUSEC_API const char *fusec_op_name(int op);
FUSEC_API const char *fusec_op_doc(int op); /* one line; "" if there is none */
FUSEC_API int fusec_op_arity(int op);       /* operands; -1: no operation; -2: one or more */
FUSEC_API int fusec_op_is_reduction(int op);

/* What an operation has to be told besides its operands. Set it up with FUSEC_ATTR_INIT; fields
 * that an operation does not name are not looked at. */
typedef struct fusec_attr {
    size_t size;       /* sizeof(fusec_attr) */
    uint32_t dtype;    /* cast, bitcast, bits, uniform, normal: of the result */
    uint32_t keepdims; /* reductions: reduced axes stay with length 1 */
    int32_t naxes;     /* of `axes` */
    int32_t rank;      /* of `shape`, `start` and `step` */
    const int64_t
        *axes; /* reductions: NULL means all; take: one axis; permute: result axis i is axes[i] of
                  the operand, NULL reverses. Negative ones count from the end */
    const int64_t *shape; /* of the result: broadcast, reshape, slice, random numbers; iota: one
                             length */
    const int64_t *start; /* slice: element i of the result's axis is start + i * step of the */
    const int64_t *step;  /* operand's, all inside; step NULL: 1 */
    uint32_t mode;        /* pad: fusec_edge, 0 zeros; cumsum and its like: FUSEC_SCAN_* */
    uint32_t reserved;
    const fusec_dim *dims; /* fusec_op: sizes of its graph in place of `shape`, if not NULL */
    const char *text;      /* einsum: "ik,kj->ij", up to 255 characters */
} fusec_attr;
FUSEC_INIT_FUNCTION(fusec_attr)
#define FUSEC_ATTR_INIT fusec_attr_init()

/* `attr` may be NULL. Operands are broadcast to one shape and must have one dtype. `operands` may
 * be given back at once. */
FUSEC_API fusec_status fusec_lazy_op(fusec_context *ctx, int op, int n, fusec_lazy *const *operands,
                                     const fusec_attr *attr, fusec_lazy **out);

/* The same operation on values of a graph. Numbers adapt to the arrays they meet where it is
 * elementwise, and are scalars of their own dtype elsewhere. */
FUSEC_API fusec_value fusec_op(fusec_graph *g, int op, int n, const fusec_value *operands,
                               const fusec_attr *attr);

FUSEC_API void fusec_lazy_retain(fusec_lazy *v);
FUSEC_API void fusec_lazy_release(fusec_lazy *v); /* NULL is fine */

FUSEC_API fusec_dtype fusec_lazy_dtype(const fusec_lazy *v); /* FUSEC_NO_DTYPE: NULL */
FUSEC_API int fusec_lazy_rank(const fusec_lazy *v);          /* -1: NULL */
/* The lengths of the axes, good as long as the value. */
FUSEC_API const int64_t *fusec_lazy_shape(const fusec_lazy *v);
/* How many operations wait behind it, one after the other; 0: it is computed. */
FUSEC_API int64_t fusec_lazy_depth(const fusec_lazy *v);

/* Computes values of one context in one plan, in the order of `stream` (NULL: the device's own).
 * Results stay with their values, and operands that nobody else holds are released. With `into`,
 * one array for each value, results go to this memory instead and the values stay as they are; on
 * the host they are complete when it returns. */
FUSEC_API fusec_status fusec_lazy_eval(fusec_lazy *const *v, int n, const fusec_tensor *into,
                                       void *stream);
/* Where the array is, computing it if needed: pointer, shape and strides are good as long as the
 * caller holds the value. On a GPU what is in its memory may still be being computed. */
FUSEC_API fusec_status fusec_lazy_tensor(fusec_lazy *v, fusec_tensor *out);
/* Computes if needed and copies to host memory, dense; `bytes` must be the exact size. */
FUSEC_API fusec_status fusec_lazy_read(fusec_lazy *v, void *out, size_t bytes);

/* ---- programs: compile once, call with any sizes ----------------------------------------- */

/* All outputs of the graph. Its leaves are inputs, no arrays. A named size that is the length of no
 * input's axis is an input behind the others: an i64 of rank 0, whose data every call has to have.
 */
FUSEC_API fusec_status fusec_compile(fusec_graph *g, fusec_program **out);

/* FUSEC_PROGRAM_GRAPH: on CUDA a repeated call with the same sizes is one launch of a CUDA graph,
 * not one launch for each kernel; for programs of many small kernels. Other pointers and scalars
 * than at the last call cost some time for each kernel that they change. The results are the same
 * bit for bit. Intermediate results keep their memory between calls, and arrays must be on the
 * device, else kernels are launched one by one. Nothing changes on other devices. */
enum {
    FUSEC_PROGRAM_GRAPH = 1,
    FUSEC_PROGRAM_UNFUSED = 2 /* a kernel for each operation: to compare with, and for tests */
};
/* As fusec_compile; `flags` are the FUSEC_PROGRAM_* wanted, or 0. */
FUSEC_API fusec_status fusec_compile_with(fusec_graph *g, unsigned flags, fusec_program **out);
/* Licences (FUSEC_MODE_*) of the programs that are compiled from this graph afterwards, in place of
 * those of the context. Values that are evaluated keep the context's. FUSEC_INVALID: unknown bits.
 */
FUSEC_API fusec_status fusec_graph_mode(fusec_graph *g, unsigned mode);
FUSEC_API void fusec_program_free(fusec_program *p);

/* Runs the program: inputs and outputs in the order they were declared. Outputs are the caller's
 * memory, of the shapes fusec_output_shapes gives, with any strides that keep their elements apart;
 * they may not overlap each other. One may lie on an input: exactly there it costs nothing where
 * each element depends on its own place only (x += 1), else the library goes through memory of its
 * own. The results are complete when it returns. `ninputs` and `noutputs` must be those of the
 * program. */
FUSEC_API fusec_status fusec_run(fusec_program *p, int ninputs, const fusec_tensor *inputs,
                                 int noutputs, const fusec_tensor *outputs);
/* The same, ordered on a stream: the CUstream or cudaStream_t of the caller (NULL: the device's own
 * stream). With device tensors alone it only launches and does not wait. If a tensor of rank above
 * 0 is on the host, it waits for the stream: inputs have been read, also of page-locked memory, and
 * all outputs are complete when it returns. On cpu and interp it is fusec_run. */
FUSEC_API fusec_status fusec_run_on(fusec_program *p, void *stream, int ninputs,
                                    const fusec_tensor *inputs, int noutputs,
                                    const fusec_tensor *outputs);
/* The shapes of all outputs for these inputs (their data is not looked at): the sizes of each
 * output in turn. `room` counts the entries of `sizes`. */
FUSEC_API fusec_status fusec_output_shapes(fusec_program *p, int ninputs,
                                           const fusec_tensor *inputs, int64_t *sizes, int room);

FUSEC_API int fusec_input_count(const fusec_program *p);
FUSEC_API int fusec_output_count(const fusec_program *p);
/* Names live as long as the program; NULL when there is no such input or output. */
FUSEC_API const char *fusec_input_name(const fusec_program *p, int i);
FUSEC_API const char *fusec_output_name(const fusec_program *p, int i);
FUSEC_API fusec_dtype fusec_output_dtype(const fusec_program *p, int i);
FUSEC_API int fusec_output_rank(const fusec_program *p, int i);
/* Launches of one call; the most, where large calls store operands of products that small ones
 * compute in the product's loads. */
FUSEC_API int fusec_kernel_count(const fusec_program *p);
/* Kernels compiled for it so far: once per shape class, whatever the sizes. */
FUSEC_API uint64_t fusec_compile_count(const fusec_program *p);

/* ---- programs in pieces -------------------------------------------------------------------------
 *
 * A program cut along a size is computed from pieces of its arrays: of a file larger than memory,
 * by several processes or machines, in any order. The results are those of one call, bit for bit,
 * as the order of reductions is fixed (docs/semantics.md, section 6) and any cut keeps it.
 *
 *     fusec_program_cut(p, "n", &cut);
 *     for (int sweep = 0; sweep < fusec_cut_sweeps(cut); sweep++)
 *         each piece, in any order: fusec_run_piece(cut, NULL, sweep, &piece, ..., acc, acc);
 *     fusec_run_finish(cut, NULL, total, ..., acc);
 *
 * What is elementwise along the size needs one sweep; what is made of a reduction over it, and lies
 * along it again, one more: x / sum(x) two, a softmax three. Every piece of a sweep comes before
 * any of the next, but where fusec_cut_follows says so. */
typedef struct fusec_cut fusec_cut;
typedef struct fusec_partial fusec_partial;

/* Positions [begin, end) of the size, which is `total` in the whole arrays. */
typedef struct fusec_piece {
    size_t size; /* sizeof(fusec_piece) */
    int64_t begin, end, total;
} fusec_piece;
FUSEC_INIT_FUNCTION(fusec_piece)
#define FUSEC_PIECE_INIT fusec_piece_init()

/* `dim` names a size of the program. FUSEC_INVALID, with the operation that is in the way: it can't
 * be cut there (what reads anywhere along it, as reversals and indices do); nor can a program with
 * sizes that no array has. The program has to live as long as the cut. */
FUSEC_API fusec_status fusec_program_cut(fusec_program *p, const char *dim, fusec_cut **out);
FUSEC_API void fusec_cut_free(fusec_cut *c);
FUSEC_API int fusec_cut_sweeps(const fusec_cut *c);
/* 1: the sweep needs nothing of the one before it but what scans (cumsum and its like) have
 * before a piece: where pieces come in order, both can be run on each while it is there. All sweeps
 * of such a program need the same pieces. */
FUSEC_API int fusec_cut_follows(const fusec_cut *c, int sweep);
/* The axis of an input or output that lies along the cut; -1: it is whole, the same for all
 * pieces. */
FUSEC_API int fusec_cut_input_axis(const fusec_cut *c, int i);
FUSEC_API int fusec_cut_output_axis(const fusec_cut *c, int i);
/* The elements [begin, end) of that axis that a piece has: of what slices read with their
 * neighbours, some before and behind its own positions, as far as they are there. Where an edge
 * goes round (boundary "wrap", roll), `begin` may be negative and `end` behind the array's: those
 * elements are the ones at its other end. */
FUSEC_API fusec_status fusec_cut_input_range(const fusec_cut *c, int i, const fusec_piece *where,
                                             int64_t *begin, int64_t *end);
FUSEC_API fusec_status fusec_cut_output_range(const fusec_cut *c, int i, const fusec_piece *where,
                                              int64_t *begin, int64_t *end);
/* The sweep that makes an output; -1: fusec_run_finish does. */
FUSEC_API int fusec_cut_output_sweep(const fusec_cut *c, int i);
/* Pieces begin at multiples of so many positions, and end there or where the array does. A power of
 * two, 1024 at most, for the sizes of these inputs (their data is not looked at). */
FUSEC_API fusec_status fusec_cut_grain(fusec_cut *c, int ninputs, const fusec_tensor *inputs,
                                       int64_t *grain);

/* Runs a sweep over a piece, as fusec_run_on. Inputs and outputs that lie along the cut are the
 * piece's part of them (fusec_cut_input_range); outputs of another sweep are not touched, and their
 * data may be NULL. What the sweep finds out of reductions goes into `into`; `before` has it of all
 * pieces of the sweeps before. They may be the same; NULL where there is nothing of the kind. A
 * piece whose elements are in `into` already is FUSEC_INVALID. */
FUSEC_API fusec_status fusec_run_piece(fusec_cut *c, void *stream, int sweep,
                                       const fusec_piece *where, int ninputs,
                                       const fusec_tensor *inputs, int noutputs,
                                       const fusec_tensor *outputs, fusec_partial *before,
                                       fusec_partial *into);
/* The outputs that are whole. Of inputs that lie along the cut data is not looked at. */
FUSEC_API fusec_status fusec_run_finish(fusec_cut *c, void *stream, int64_t total, int ninputs,
                                        const fusec_tensor *inputs, int noutputs,
                                        const fusec_tensor *outputs, fusec_partial *all);

/* One call on several devices: programs[i] is the same program compiled in a context of its own, of
 * the device that computes part i. The arrays are dense, whole and in host memory; each device has
 * an equal share of the size `dim`, in a thread of its own. The results are those of one device, to
 * the bit (functions such as sin differ between kinds of devices as they always do). FUSEC_INVALID as fusec_program_cut; the error of a device, with its name: nothing is known
 * of the results. */
FUSEC_API fusec_status fusec_run_devices(int n, fusec_program *const *programs, const char *dim,
                                         int ninputs, const fusec_tensor *inputs, int noutputs,
                                         const fusec_tensor *outputs);

/* What is known of a cut's reductions from some pieces: a few accumulators for each, whatever
 * the number of pieces. Threads may share one, as `before`, as `into` and to merge: it is locked
 * while it is looked at. The cut has to live as long. */
FUSEC_API fusec_status fusec_partial_new(fusec_cut *c, fusec_partial **out);
FUSEC_API void fusec_partial_free(fusec_partial *p);
/* Puts what `from` knows into `into`: of other pieces, in any order. FUSEC_INVALID, and nothing
 * done: they have elements in common, or are of other programs or sizes. */
FUSEC_API fusec_status fusec_partial_merge(fusec_partial *into, const fusec_partial *from);
/* As bytes, for another process with the same program and version of the library. *need gets their
 * number, which grows as pieces come; with room for fewer nothing is written. What is read may be anything: FUSEC_INVALID. */
FUSEC_API fusec_status fusec_partial_bytes(const fusec_partial *p, void *bytes, size_t room,
                                           size_t *need);
FUSEC_API fusec_status fusec_partial_from(fusec_cut *c, const void *bytes, size_t n,
                                          fusec_partial **out);

/* ---- looking into programs --------------------------------------------------------------------
 *
 * Texts belong to the caller, who gives them to fusec_text_free. */

FUSEC_API void fusec_text_free(fusec_context *ctx, char *text); /* NULL is fine */

enum {
    FUSEC_EXPLAIN_JSON = 1,    /* one JSON object, with the same names as `fusec explain --json` */
    FUSEC_EXPLAIN_COMPILE = 2, /* compiles what is missing, so that registers are known */
    FUSEC_EXPLAIN_HTML = 4,    /* a page: picture, kernels and their code; one file, no script */
    FUSEC_EXPLAIN_SVG = 8,     /* the picture alone */
    FUSEC_EXPLAIN_DOT = 16,    /* the same for Graphviz */
    FUSEC_EXPLAIN_PLAIN = 32,  /* a line for each kernel, fields between tabs. At most one of JSON,
                                  HTML, SVG, DOT and PLAIN */
    FUSEC_EXPLAIN_TIMES = 64   /* runs it and shows measured times beside the predicted ones; of
                                  fusec_explain_with */
};
/* The plan: its kernels, what each makes, reads and writes, why they are several. For these inputs
 * (their data is not looked at); with `ninputs` 0 of a program that has inputs, for any. */
FUSEC_API fusec_status fusec_explain(fusec_program *p, int ninputs, const fusec_tensor *inputs,
                                     unsigned flags, char **out);
/* The same with more to say. What is left zero is not said. */
typedef struct fusec_explain_options {
    size_t size; /* sizeof(fusec_explain_options); use FUSEC_EXPLAIN_OPTIONS_INIT */
    unsigned flags;
    int32_t ninputs, noutputs; /* outputs with FUSEC_EXPLAIN_TIMES alone */
    const fusec_tensor *inputs, *outputs;
    const char *title;      /* its first line; NULL: names and types */
    fusec_program *unfused; /* to compare with: the same program of FUSEC_PROGRAM_UNFUSED */
    /* Texts of the language that it was made of, for a page: those of a module, with the name of
     * the file, and of an expression. Each kernel shows the lines that it computes. */
    const char *text, *text_name, *expr;
} fusec_explain_options;
FUSEC_INIT_FUNCTION(fusec_explain_options)
#define FUSEC_EXPLAIN_OPTIONS_INIT fusec_explain_options_init()
FUSEC_API fusec_status fusec_explain_with(fusec_program *p, const fusec_explain_options *options,
                                          char **out);
/* What a call with these inputs costs, all its kernels together; their data is not looked at. With
 * FUSEC_EXPLAIN_COMPILE as `flags` what is missing is compiled, so that the first call need not. */
typedef struct fusec_cost {
    size_t size;           /* sizeof(fusec_cost); use FUSEC_COST_INIT */
    int64_t read, written; /* bytes */
    int64_t traffic;       /* bytes of every array of every kernel once: what memory has to move */
    int64_t operations;
    double predicted; /* seconds; 0: not known for this device */
} fusec_cost;
FUSEC_INIT_FUNCTION(fusec_cost)
#define FUSEC_COST_INIT fusec_cost_init()
FUSEC_API fusec_status fusec_cost_of(fusec_program *p, int ninputs, const fusec_tensor *inputs,
                                     unsigned flags, fusec_cost *out);
/* The plan that computing these values takes. */
FUSEC_API fusec_status fusec_lazy_explain(fusec_lazy *const *v, int n, unsigned flags, char **out);
/* The text of a kernel for these inputs: CUDA C, LLVM IR, or the interpreter's listing. */
FUSEC_API fusec_status fusec_source(fusec_program *p, int kernel, int ninputs,
                                    const fusec_tensor *inputs, char **out);
/* Runs as fusec_run and measures: seconds of a launch of each kernel. `room` counts `seconds`, of
 * which fusec_kernel_count are needed. */
FUSEC_API fusec_status fusec_times(fusec_program *p, int ninputs, const fusec_tensor *inputs,
                                   int noutputs, const fusec_tensor *outputs, double *seconds,
                                   int room);

/* ---- the language ------------------------------------------------------------------------------
 *
 * docs/language.md. Messages show the line that is wrong and what is wrong with it. */

/* A text of definitions. `name` is how messages call it (NULL: "<text>"). It may be used by several
 * threads at once. Nothing can be imported. */
typedef struct fusec_module fusec_module;
FUSEC_API fusec_status fusec_parse(fusec_context *ctx, const char *name, const char *text,
                                   fusec_module **out);
/* The same of a file and of what it imports, which is looked for in the folder of the importing
 * file, then in these `n` folders in order. All is read here. FUSEC_IO: there is no such file. */
FUSEC_API fusec_status fusec_parse_file(fusec_context *ctx, const char *path, int n,
                                        const char *const *folders, fusec_module **out);
FUSEC_API void fusec_module_free(fusec_module *m);
FUSEC_API int fusec_module_count(const fusec_module *m);               /* of its definitions */
FUSEC_API const char *fusec_module_name(const fusec_module *m, int i); /* NULL: there is none */
/* A definition as a program, its parameters the inputs, sizes (`n: dim`) that no array has behind
 * the arrays; NULL: the only exported one, or the only one. `flags` as of fusec_compile_with. */
FUSEC_API fusec_status fusec_module_compile(const fusec_module *m, const char *def, unsigned flags,
                                            fusec_program **out);

/* An expression, as after `fusec run -e`: its names are values of the graph, or numbers. As in all
 * building, the first error sticks to the graph and the value is empty:
 *
 *     const char *names[] = {"x", "a"};
 *     fusec_value v[] = {x, fusec_num(0.5)};
 *     fusec_value y = fusec_expr(g, "x > 0 ? x : a*expm1(x)", 2, names, v); */
FUSEC_API fusec_value fusec_expr(fusec_graph *g, const char *text, int n, const char *const *names,
                                 const fusec_value *values);
/* The same with the definitions and constants of a module (may be NULL) and `nresults` results, 64
 * at most: "EPS" gives the constant of this name, "nn.EPS" that of a file imported as nn. */
FUSEC_API fusec_status fusec_module_expr(const fusec_module *m, fusec_graph *g, const char *text,
                                         int n, const char *const *names, const fusec_value *values,
                                         int nresults, fusec_value *results);

/* Such a text for values of no graph: its number, for the operation "text" (fusec_lazy_op, fusec_op),
 * whose operands are the values of the names in this order, and whose start[0] is the number. Of a
 * text with several results start[1] says which, and start[2] how many. `program` has definitions;
 * NULL: none. Equal texts have one number, as long as the context; a text that does not parse is
 * refused here, what it says of its operands where it is used. */
FUSEC_API fusec_status fusec_text_number(fusec_context *ctx, const char *program, const char *text,
                                         int n, const char *const *names, int64_t *number);

/* ---- functions of the caller inside kernels ----------------------------------------------------
 *
 * A scalar function that fusec lacks. It fuses as the rows of the operation table do: a CUDA kernel
 * has its text, code of the CPU calls it. It has to be pure, and to have a result for all values of
 * its operands: it is called as often as a kernel likes, by several threads, also for elements that
 * nobody reads. */

/* Element i of `out` from elements i of in[0], in[1], ...: dense arrays of n elements of the
 * description's dtypes, bool one byte. */
typedef void (*fusec_extern_fn)(void *user, int64_t n, const void *const *in, void *out);

typedef struct fusec_extern_desc {
    size_t size;               /* sizeof(fusec_extern_desc); use FUSEC_EXTERN_DESC_INIT */
    const char *name;          /* a name of C */
    int nargs;                 /* 1 to 16 */
    const fusec_dtype *dtypes; /* of the operands; no 16-bit floats and no complex numbers */
    fusec_dtype result;
    /* CUDA C in which a __device__ function has that name, of float, double, bool, signed char,
     * unsigned char, short, unsigned short, int, unsigned, long long and unsigned long long. It may
     * have others besides; it includes nothing. NULL: there is none for a GPU. */
    const char *cuda;
    /* One of these for cpu and interp, or none. `scalar`: the function itself, `float f(float)`, of
     * f32, f64, i32 or i64 for operands (8 at most) and result alike. */
    fusec_extern_fn arrays;
    void *user; /* of `arrays` */
    void (*scalar)(void);
    int slots; /* what it costs, in simple operations; 0: as much as a sine */
} fusec_extern_desc;
FUSEC_INIT_FUNCTION(fusec_extern_desc)
#define FUSEC_EXTERN_DESC_INIT fusec_extern_desc_init()
/* The function of these values, which broadcast together; numbers take its dtypes, others have to
 * have them. An error sticks to the graph. FUSEC_CALL_FAILED, by what compiles: there is none for
 * the device, or its text is wrong (the message counts its lines). It has no derivative of its own
 * (fusec_custom_grad gives it one). A saved graph has its name and types: who reads it gives the
 * function to the context first (fusec_extern_number). In partials of programs in pieces it counts
 * as the same where its text and its place in a library or program are. */
FUSEC_API fusec_value fusec_extern(fusec_graph *g, const fusec_extern_desc *desc,
                                   const fusec_value *x);
/* The function for the `extern def` of this name in the module or in what it imports; a second one
 * takes its place. Before the module is compiled: without it a declaration is an error there. */
FUSEC_API fusec_status fusec_module_extern(fusec_module *m, const fusec_extern_desc *desc);
/* Its number in the context: start[0] of the operation "extern" (fusec_op, fusec_lazy_op), whose
 * operands have its dtypes. */
FUSEC_API fusec_status fusec_extern_number(fusec_context *ctx, const fusec_extern_desc *desc,
                                           int64_t *number);

/* ---- functions of the caller as steps ----------------------------------------------------------
 *
 * A function that fusec knows nothing of, of arrays to arrays: a library, or C. It does not fuse:
 * what it reads is stored before, and what it gives is stored. The same inputs give the same
 * results, and it is called in the order of the stream, once for each place where its results are
 * needed. */

/* What a function is called with: arrays are dense, scalars may be in host memory (their place says
 * so). A result that nobody reads has no data. */
typedef struct fusec_call_args {
    size_t size;
    void *stream; /* of the call, a CUstream; NULL on cpu and interp */
    int32_t ninputs, noutputs;
    const fusec_tensor *inputs, *outputs;
    void *workspace; /* of the device, 64-byte aligned; what it holds is not defined */
    size_t workspace_bytes;
    char *message; /* room for what went wrong, with its 0 */
    size_t message_room;
} fusec_call_args;
/* 0, or a number that becomes part of the message of FUSEC_CALL_FAILED. It must not call functions
 * of the program that it is part of. */
typedef int (*fusec_call_fn)(void *user, const fusec_call_args *args);
/* How a kernel is launched. */
typedef struct fusec_call_launch {
    size_t size;
    uint32_t grid[3], block[3], shared_bytes;
} fusec_call_launch;
/* Changes what the description's sizes make of a launch; the result is that of fusec_call_fn. */
typedef int (*fusec_call_launch_fn)(void *user, const fusec_call_args *args,
                                    fusec_call_launch *launch);

typedef struct fusec_call_desc {
    size_t size;              /* sizeof(fusec_call_desc); use FUSEC_CALL_DESC_INIT */
    const char *name;         /* for messages and plans */
    fusec_call_fn host, cuda; /* on cpu and interp; on cuda, where it launches on args->stream.
                                 NULL: there is none */
    void *user;
    int noutputs;
    const fusec_dtype *dtypes; /* of the results; */
    const int *ranks;          /* their numbers of axes, */
    const fusec_dim *shapes;   /* and all their axes, one result after the other */
    fusec_dim workspace;       /* bytes; all zero: none */
    /* A CUDA kernel in place of `cuda`: CUDA C that includes nothing, and the name of its `extern "C"
     * __global__` function. Its arguments are the inputs, then the results, in their order: arrays
     * as pointers (NULL: nobody reads the result), inputs of rank 0 by value, so sizes are i64
     * (fusec_dim_value). One that a kernel makes is waited for. */
    const char *text, *entry;
    /* Its blocks, and the threads of one, in each direction; all zero: 1. With `threads` the blocks
     * are as many as have so many threads. Bytes of dynamic shared memory. */
    fusec_dim grid[3], threads[3], block[3], shared;
    fusec_call_launch_fn launch; /* NULL: none */
} fusec_call_desc;
FUSEC_INIT_FUNCTION(fusec_call_desc)
#define FUSEC_CALL_DESC_INIT fusec_call_desc_init()
/* The results of calling it with these values, 64 at most of both. Calls with equal descriptions
 * and inputs are one. FUSEC_CALL_FAILED comes from what runs the program: a function that fails, a
 * text that does not compile (the message counts its lines) or lacks the kernel, a grid of no blocks
 * for results that are not empty. There is no derivative. */
FUSEC_API fusec_status fusec_call(fusec_graph *g, const fusec_call_desc *desc, int n,
                                  const fusec_value *inputs, fusec_value *outputs);

/* ---- saved graphs ------------------------------------------------------------------------------
 *
 * A graph with named inputs and outputs, written by one process and compiled by another, which
 * finds the code of the first one in the cache. What no output needs is left out. TEXT is a program
 * of the language, as the compiler reads it; BINARY is smaller, is read in microseconds and keeps
 * all: it is written for one version of the form and read by every fusec that has its operations.
 */
enum { FUSEC_TEXT = 0, FUSEC_BINARY = 1 };
/* The file appears whole or not at all. FUSEC_INVALID: no outputs, or arrays (fusec_array) in it,
 * calls (fusec_call), or two functions of one name. */
FUSEC_API fusec_status fusec_graph_save(const fusec_graph *g, const char *path, unsigned form);
/* The bytes, which the caller gives to fusec_text_free; those of TEXT end with a 0 that *size does
 * not count. */
FUSEC_API fusec_status fusec_graph_bytes(const fusec_graph *g, unsigned form, char **out,
                                         size_t *size);
/* Of either form. Bytes of any kind are taken: what makes no graph is FUSEC_IO, or of a text the
 * error that it has. Indices that a program says are inside are believed to be. FUSEC_CALL_FAILED:
 * it has a function (fusec_extern) of which the context has none of that name and these types, or
 * several. */
FUSEC_API fusec_status fusec_graph_load(fusec_context *ctx, const char *path, fusec_graph **out);
/* `name`: how messages call it (NULL: "<graph>"). */
FUSEC_API fusec_status fusec_graph_from_bytes(fusec_context *ctx, const char *name,
                                              const void *data, size_t size, fusec_graph **out);
/* The named inputs and the outputs of a graph, in the order they were declared, to compile or to go
 * on building with. Names live as long as the graph; NULL, and an empty value: there is none. */
FUSEC_API int fusec_graph_input_count(const fusec_graph *g);
FUSEC_API int fusec_graph_output_count(const fusec_graph *g);
FUSEC_API const char *fusec_graph_input_name(const fusec_graph *g, int i);
FUSEC_API const char *fusec_graph_output_name(const fusec_graph *g, int i);
FUSEC_API fusec_value fusec_graph_input(fusec_graph *g, int i);
FUSEC_API fusec_value fusec_graph_output(fusec_graph *g, int i);

/* ---- memory of the context's device ------------------------------------------------------
 *
 * Plain host memory on cpu and interp. Copies are complete when they return. fusec_device_free and
 * fusec_synchronize know nothing of the caller's own streams. */

FUSEC_API fusec_status fusec_device_alloc(fusec_context *ctx, size_t bytes, void **out);
FUSEC_API void fusec_device_free(fusec_context *ctx, void *p);
FUSEC_API fusec_status fusec_upload(fusec_context *ctx, void *device, const void *host,
                                    size_t bytes);
FUSEC_API fusec_status fusec_download(fusec_context *ctx, void *host, const void *device,
                                      size_t bytes);
FUSEC_API fusec_status fusec_synchronize(fusec_context *ctx);

/* Copies in the order of a stream, which do not wait on a GPU when the host's memory is
 * page-locked: it must not change, or be read, before the stream comes to it. On cpu and interp
 * they are done when they return. */
FUSEC_API fusec_status fusec_upload_on(fusec_context *ctx, void *stream, void *device,
                                       const void *host, size_t bytes);
FUSEC_API fusec_status fusec_download_on(fusec_context *ctx, void *stream, void *host,
                                         const void *device, size_t bytes);
/* Page-locked memory of the host; plain memory on cpu and interp. */
FUSEC_API fusec_status fusec_host_alloc(fusec_context *ctx, size_t bytes, void **out);
FUSEC_API void fusec_host_free(fusec_context *ctx, void *p);
/* Gives memory that was freed and is kept for reuse back to the driver, but for `keep` bytes. Waits
 * for the device. */
FUSEC_API fusec_status fusec_memory_trim(fusec_context *ctx, size_t keep);
/* Bytes of the device's memory; all 0: nothing is known. On a GPU those of the driver's pool, whoever
 * in the process uses it; with options.device_alloc what that was asked for. */
typedef struct fusec_memory_stats {
    size_t size; /* sizeof(fusec_memory_stats); use FUSEC_MEMORY_STATS_INIT */
    uint64_t used, used_most;         /* given out, now and at most */
    uint64_t reserved, reserved_most; /* and what is kept for reuse besides */
} fusec_memory_stats;
FUSEC_INIT_FUNCTION(fusec_memory_stats)
#define FUSEC_MEMORY_STATS_INIT fusec_memory_stats_init()
FUSEC_API fusec_status fusec_get_memory_stats(fusec_context *ctx, fusec_memory_stats *out);
/* Whose memory it points to: FUSEC_HOST, or FUSEC_CUDA with the number of the GPU. What the driver
 * does not know is the host's. `device_id` may be NULL. */
FUSEC_API fusec_status fusec_place_of(fusec_context *ctx, const void *p, int32_t *place,
                                      int32_t *device_id);

/* The device's own stream, a CUstream, which NULL stands for; NULL on cpu and interp. It is not the
 * default stream, nor does it wait for that. */
FUSEC_API fusec_status fusec_stream(fusec_context *ctx, void **out);

/* A point in the work of a stream. A context must outlive its events; `stream` NULL is the device's
 * own. On cpu and interp all that was called is done, and an event is the time of its recording. */
typedef struct fusec_event fusec_event;
FUSEC_API fusec_status fusec_event_new(fusec_context *ctx, fusec_event **out);
FUSEC_API void fusec_event_free(fusec_event *v); /* NULL is fine */
FUSEC_API fusec_status fusec_event_record(fusec_event *v, void *stream);
/* What is given to `stream` from now on comes after it; nobody waits here. */
FUSEC_API fusec_status fusec_event_wait(fusec_event *v, void *stream);
FUSEC_API fusec_status fusec_event_synchronize(fusec_event *v);
FUSEC_API fusec_status fusec_event_elapsed(fusec_event *from, fusec_event *to, double *seconds);
/* What is given to `stream` from now on comes after what `other` has been given. */
FUSEC_API fusec_status fusec_stream_wait(fusec_context *ctx, void *stream, void *other);

/* What the context computes on; 0 and "" where a field does not apply, or is not known. */
enum { FUSEC_DEVICE_INTERP = 0, FUSEC_DEVICE_CPU = 1, FUSEC_DEVICE_CUDA = 2 };
typedef struct fusec_device_info {
    size_t size; /* sizeof(fusec_device_info); use FUSEC_DEVICE_INFO_INIT */
    int32_t kind, ordinal;
    char name[16];  /* "cuda:0" */
    char text[240]; /* for people */
    uint64_t memory_free, memory_total;
    uint64_t cache_bytes;          /* the L2 of a GPU; what the process may count on of a CPU's */
    int32_t threads, vector_bytes; /* of a CPU */
    int32_t major, minor, multiprocessors, threads_per_multiprocessor, shared_bytes_per_block;
    int32_t reserved;
} fusec_device_info;
FUSEC_INIT_FUNCTION(fusec_device_info)
#define FUSEC_DEVICE_INFO_INIT fusec_device_info_init()
FUSEC_API fusec_status fusec_get_device_info(fusec_context *ctx, fusec_device_info *out);

#ifdef __cplusplus
}
#endif
#endif
