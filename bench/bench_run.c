/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_run.c - one workload by fusec: a program's text on made-up inputs, timed through the public
 * C API, beside a plain copy of as many bytes in the same process.
 *
 *     bench_run --program FILE --input SPEC... [--device cuda|cpu|interp] [--threads N]
 *               [--mode strict|wide16|fast] [--sets N] [--batches N] [--launches N] [--ms T]
 *               [--bytes N] [--save DIR] [--cache DIR]
 *
 * Prints one line of JSON. A batch is at least --launches calls and --ms milliseconds, over --sets
 * rotated sets of inputs and outputs; on a GPU two events stand around it, elsewhere the clock. The
 * results of set 0 go to DIR/out0, DIR/out1, ... as plain bytes, for whoever checks them. --bytes
 * is what the copy moves, reads and writes together. No disk cache unless --cache names one. */
#include "bench/support/bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ARRAYS = 256, MOST_BATCHES = 64 };

typedef struct options {
    const char *program, *device, *save, *cache;
    int threads, sets, batches, launches;
    unsigned mode;
    double ms;
    size_t bytes;
    int nin;
    bench_input in[MOST_ARRAYS];
} options;

typedef struct run {
    const options *o;
    fusec_context *ctx;
    fusec_program *p;
    bench_gpu *gpu; /* NULL on a CPU */
    int nout, next;
    int64_t sizes[MOST_ARRAYS * BENCH_RANK];
    fusec_tensor *in, *out; /* set after set */
    size_t moved;           /* bytes of all arrays of a set */
} run;

/* ---- options --------------------------------------------------------------------------------- */

static const char *value_of(int argc, char **argv, int *i) {
    if (*i + 1 >= argc) bench_fail("%s wants a value", argv[*i]);
    return argv[++*i];
}

static void take_option(options *o, const char *name, const char *v) {
    if (!strcmp(name, "--program"))
        o->program = v;
    else if (!strcmp(name, "--device"))
        o->device = v;
    else if (!strcmp(name, "--save"))
        o->save = v;
    else if (!strcmp(name, "--cache"))
        o->cache = v;
    else if (!strcmp(name, "--threads"))
        o->threads = atoi(v);
    else if (!strcmp(name, "--sets"))
        o->sets = atoi(v);
    else if (!strcmp(name, "--batches"))
        o->batches = atoi(v);
    else if (!strcmp(name, "--launches"))
        o->launches = atoi(v);
    else if (!strcmp(name, "--mode"))
        o->mode = bench_mode(v);
    else if (!strcmp(name, "--ms"))
        o->ms = atof(v);
    else if (!strcmp(name, "--bytes"))
        o->bytes = (size_t)strtoull(v, NULL, 10);
    else if (!strcmp(name, "--input") && o->nin < MOST_ARRAYS)
        bench_input_parse(v, &o->in[o->nin++]);
    else
        bench_fail("%s is no option", name);
}

static void take_options(int argc, char **argv, options *o) {
    *o =
        (options){.device = "auto", .cache = "", .sets = 3, .batches = 9, .launches = 20, .ms = 20};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        take_option(o, name, value_of(argc, argv, &i));
    }
    if (!o->program) bench_fail("no --program");
    if (o->sets < 1 || o->batches < 1 || o->batches > MOST_BATCHES || o->launches < 1)
        bench_fail("--sets, --batches and --launches start at 1");
}

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = bench_calloc(1, 1 << 20);
    if (!f || !fread(text, 1, (1 << 20) - 1, f)) bench_fail("cannot read %s", path);
    fclose(f);
    return text;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void *device_memory(run *r, size_t bytes) {
    void *p = NULL;
    bench_check(r->ctx, fusec_device_alloc(r->ctx, bytes, &p), "memory");
    r->moved += bytes;
    return p;
}

/* A scalar is the host's, as in use. */
static void give_by_value(run *r, fusec_tensor *t) {
    void *own = bench_calloc(1, 16);
    bench_check(r->ctx, fusec_download(r->ctx, own, t->data, fusec_dtype_bytes(t->dtype)),
                "download");
    t->data = own;
    t->place = FUSEC_HOST;
}

static void make_inputs(run *r) {
    const options *o = r->o;
    r->in = bench_calloc((size_t)(o->sets * o->nin), sizeof *r->in);
    for (int s = 0; s < o->sets; s++)
        for (int i = 0; i < o->nin; i++) {
            const bench_input *in = &o->in[i];
            fusec_tensor *t = &r->in[s * o->nin + i];
            *t = (fusec_tensor){
                .shape = in->shape, .rank = in->rank, .dtype = in->dtype, .place = FUSEC_DEVICE};
            t->data = device_memory(r, bench_bytes(in->dtype, in->rank, in->shape));
            bench_fill(r->ctx, in, (uint32_t)(1000 * s + i + 1), t->data);
            if (!in->rank) give_by_value(r, t);
        }
}

static void make_outputs(run *r) {
    const options *o = r->o;
    r->nout = fusec_output_count(r->p);
    r->out = bench_calloc((size_t)(o->sets * r->nout), sizeof *r->out);
    bench_check(r->ctx,
                fusec_output_shapes(r->p, o->nin, r->in, r->sizes, MOST_ARRAYS * BENCH_RANK),
                "shapes");
    for (int s = 0; s < o->sets; s++) {
        const int64_t *shape = r->sizes;
        for (int i = 0; i < r->nout; i++) {
            fusec_tensor *t = &r->out[s * r->nout + i];
            *t = (fusec_tensor){.shape = shape,
                                .rank = fusec_output_rank(r->p, i),
                                .dtype = fusec_output_dtype(r->p, i),
                                .place = FUSEC_DEVICE};
            t->data = device_memory(r, bench_bytes(t->dtype, t->rank, shape));
            shape += t->rank;
        }
    }
}

static void save_outputs(run *r) {
    for (int i = 0; i < r->nout && r->o->save; i++) {
        char path[1200];
        fusec_tensor *t = &r->out[i];
        size_t bytes = bench_bytes(t->dtype, t->rank, t->shape);
        void *host = bench_calloc(1, bytes);
        snprintf(path, sizeof path, "%s/out%d", r->o->save, i);
        bench_check(r->ctx, fusec_download(r->ctx, host, t->data, bytes), "download");
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(host, 1, bytes, f) != bytes || fclose(f))
            bench_fail("cannot write %s", path);
        free(host);
    }
}

/* ---- timing ---------------------------------------------------------------------------------- */

static void call(run *r) {
    const options *o = r->o;
    int s = r->next;
    r->next = s + 1 == o->sets ? 0 : s + 1;
    bench_check(r->ctx,
                fusec_run_on(r->p, r->gpu ? bench_gpu_stream(r->gpu) : NULL, o->nin,
                             r->in + s * o->nin, r->nout, r->out + s * r->nout),
                "call");
}

/* Seconds a call of `fn`, of one batch of n. */
static double batch(run *r, void (*fn)(run *), int n) {
    if (r->gpu) {
        bench_gpu_mark(r->gpu, 0);
        for (int i = 0; i < n; i++) fn(r);
        bench_gpu_mark(r->gpu, 1);
        return bench_gpu_elapsed(r->gpu) / n;
    }
    double start = bench_now();
    for (int i = 0; i < n; i++) fn(r);
    return (bench_now() - start) / n;
}

/* How many calls make a batch, after enough of them that clocks and caches are as later. */
static int warm_up(run *r, void (*fn)(run *)) {
    double start = bench_now(), each = batch(r, fn, r->o->sets), n;
    do each = batch(r, fn, r->o->sets);
    while (bench_now() - start < 0.03);
    n = r->o->ms * 1e-3 / (each > 1e-8 ? each : 1e-8);
    if (each > 3e-3) return each * r->o->launches > 0.1 ? 5 : r->o->launches;
    return n < r->o->launches ? r->o->launches : n > 1e6 ? 1000000 : (int)n;
}

static bench_stat measure(run *r, void (*fn)(run *), int *per_batch) {
    double t[MOST_BATCHES];
    int n = warm_up(r, fn);
    if (per_batch) *per_batch = n;
    for (int i = 0; i < r->o->batches; i++) t[i] = batch(r, fn, n);
    return bench_stat_of(t, r->o->batches);
}

/* The host's time for a call that only launches: short bursts, so that the queue never fills. */
static double host_time(run *r) {
    double t[21];
    for (int k = 0; k < 21; k++) {
        double start = bench_now();
        for (int i = 0; i < 20; i++) call(r);
        t[k] = (bench_now() - start) / 20;
        bench_gpu_sync(r->gpu);
    }
    return bench_stat_of(t, 21).median;
}

/* ---- the copy -------------------------------------------------------------------------------- */

typedef struct copies {
    run r; /* first: a copy is timed as a call is */
    char *from, *to;
    size_t half;
} copies;

static void copy_once(run *r) {
    copies *c = (copies *)r;
    size_t at = (size_t)r->next * c->half;
    r->next = r->next + 1 == r->o->sets ? 0 : r->next + 1;
    bench_gpu_copy(r->gpu, c->to + at, c->from + at, c->half);
}

static void print_gpu_copy(run *r, FILE *f) {
    copies c = {.r = {.o = r->o, .ctx = r->ctx, .gpu = r->gpu}};
    c.half = (r->o->bytes / 2 + 255) / 256 * 256;
    size_t all = c.half * (size_t)r->o->sets;
    c.from = device_memory(&c.r, all);
    c.to = device_memory(&c.r, all);
    fprintf(f, ",");
    bench_put_stat(f, "copy_us", measure(&c.r, copy_once, NULL), 1e6);
    fusec_device_free(r->ctx, c.from);
    fusec_device_free(r->ctx, c.to);
}

static void print_cpu_copies(run *r, FILE *f) {
    static const char *const names[] = {"copy_us", "copy_past_us", "read_us"};
    const int threads = r->o->threads > 0 ? r->o->threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int k = 0; k < 3; k++) {
        fprintf(f, ",");
        bench_put_stat(f, names[k],
                       bench_stream((bench_stream_kind)k, r->o->bytes, threads, r->o->sets), 1e6);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void free_arrays(run *r) {
    for (int i = 0; i < r->o->sets * r->o->nin; i++) fusec_device_free(r->ctx, r->in[i].data);
    for (int i = 0; i < r->o->sets * r->nout; i++) fusec_device_free(r->ctx, r->out[i].data);
    free(r->in);
    free(r->out);
}

static void first_call(run *r, const char *text, FILE *f) {
    const options *o = r->o;
    double start = bench_now();
    fusec_graph *g = bench_graph_of(r->ctx, text, o->nin, o->in, o->mode);
    double graph = bench_now();
    bench_check(r->ctx, fusec_compile(g, &r->p), "compile");
    double plan = bench_now();
    fusec_graph_free(g);
    make_outputs(r);
    double ready = bench_now();
    call(r);
    if (r->gpu) bench_gpu_sync(r->gpu);
    double done = bench_now();
    r->next = 0;
    call(r); /* once more, warm */
    if (r->gpu) bench_gpu_sync(r->gpu);
    double second = bench_now();
    r->next = 0;
    fprintf(f,
            ",\"graph_ms\":%.4g,\"plan_ms\":%.4g,\"first_ms\":%.6g,\"second_ms\":%.6g,"
            "\"kernels\":%d",
            1e3 * (graph - start), 1e3 * (plan - graph), 1e3 * (plan - start + done - ready),
            1e3 * (second - done), fusec_kernel_count(r->p));
}

int main(int argc, char **argv) {
    static options o;
    static run r;
    const char *name, *notice;
    int per_batch;
    take_options(argc, argv, &o);
    fusec_options fo = FUSEC_OPTIONS_INIT;
    fo.tiers = FUSEC_TIERS_FULL; /* no call is measured with quick code */
    fo.device = o.device;
    fo.cache_dir = o.cache;
    fo.threads = o.threads;
    fo.mode = o.mode;
    r.o = &o;
    bench_check(NULL, fusec_context_new(&fo, &r.ctx), "context");
    bench_check(r.ctx, fusec_device(r.ctx, &name, &notice), "device");
    if (!strncmp(name, "cuda", 4)) r.gpu = bench_gpu_open();
    char *text = read_text(o.program);
    printf("{\"device\":");
    bench_put_text(stdout, r.gpu ? bench_gpu_name(r.gpu) : name);
    make_inputs(&r);
    first_call(&r, text, stdout);
    printf(",");
    bench_put_stat(stdout, "us", measure(&r, call, &per_batch), 1e6);
    printf(",\"launches\":%d,\"sets\":%d", per_batch, o.sets);
    if (r.gpu)
        printf(",\"host_us\":%.4g,\"l2\":%lld", 1e6 * host_time(&r),
               (long long)bench_gpu_l2(r.gpu));
    save_outputs(&r); /* after timing: what is checked is what the timed calls left */
    free_arrays(&r);
    if (o.bytes && r.gpu) print_gpu_copy(&r, stdout);
    if (o.bytes && !r.gpu) print_cpu_copies(&r, stdout);
    printf("}\n");
    fusec_program_free(r.p);
    fusec_context_free(r.ctx);
    bench_gpu_close(r.gpu);
    free(text);
    return 0;
}
