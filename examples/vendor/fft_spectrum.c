/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fft_spectrum.c - a power spectrum in dB of windowed frames: frames and window in one kernel, the
 * transforms of FFTW through fusec_call, logarithms of magnitudes in another kernel.
 *
 * With FUSEC_EXAMPLE_CUDA the transforms are cuFFT's on the stream of the call, in its workspace.
 */
#include <fusec/fusec.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 4096, WIDTH = 256, STEP = 128, FRAMES = (SAMPLES - WIDTH) / STEP + 1 };
enum { LINES = WIDTH / 2 + 1 };

#ifdef FUSEC_EXAMPLE_CUDA
#include <cufft.h>

typedef struct transforms {
    cufftHandle plan;
    size_t bytes;
} transforms;

static int open_transforms(transforms *t) {
    int n = WIDTH;
    return cufftCreate(&t->plan) || cufftSetAutoAllocation(t->plan, 0) ||
           cufftMakePlanMany(t->plan, 1, &n, NULL, 1, WIDTH, NULL, 1, LINES, CUFFT_R2C, FRAMES,
                             &t->bytes);
}

static void close_transforms(transforms *t) {
    cufftDestroy(t->plan);
}

static int transform(void *user, const fusec_call_args *a) {
    transforms *t = user;
    return cufftSetStream(t->plan, a->stream) || cufftSetWorkArea(t->plan, a->workspace) ||
           cufftExecR2C(t->plan, a->inputs[0].data, a->outputs[0].data);
}
#else
#include <fftw3.h>

typedef struct transforms {
    size_t bytes;
} transforms;

static int open_transforms(transforms *t) {
    t->bytes = 0;
    return 0;
}

static void close_transforms(transforms *t) {
    (void)t;
    fftwf_cleanup();
}

static int transform(void *user, const fusec_call_args *a) {
    const int n = WIDTH, frames = (int)a->inputs[0].shape[0];
    (void)user;
    fftwf_plan p = fftwf_plan_many_dft_r2c(1, &n, frames, a->inputs[0].data, NULL, 1, WIDTH,
                                           a->outputs[0].data, NULL, 1, LINES,
                                           FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    if (!p) return 1;
    fftwf_execute(p);
    fftwf_destroy_plan(p);
    return 0;
}
#endif

/* 20 log10 |X|, not below -100. */
static fusec_value decibels(fusec_value x) {
    const fusec_value size = fusec_maximum(fusec_abs(x), fusec_num(1e-5));
    return fusec_mul(fusec_log10(size), fusec_num(20));
}

static fusec_program *compile(fusec_context *ctx, transforms *t) {
    const fusec_dtype dtype = FUSEC_C64;
    const int rank = 2;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (fusec_graph_new(ctx, &g)) return NULL;
    const fusec_dim n = fusec_size(g, SAMPLES), w = fusec_size(g, WIDTH);
    fusec_value frames = fusec_window(fusec_input(g, "x", FUSEC_F32, 1, &n), WIDTH, 0, STEP);
    fusec_value y,
        hann = fusec_mul(
            fusec_num(.5),
            fusec_sub(fusec_num(1), fusec_cos(fusec_mul(fusec_cast(fusec_arange(g, w), FUSEC_F32),
                                                        fusec_num(6.283185307179586 / WIDTH)))));
    frames = fusec_mul(frames, hann);
    const fusec_dim shape[2] = {fusec_dim_of(frames, 0), fusec_size(g, LINES)};
    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    d.name = "fft";
#ifdef FUSEC_EXAMPLE_CUDA
    d.cuda = transform;
#else
    d.host = transform;
#endif
    d.user = t;
    d.noutputs = 1;
    d.dtypes = &dtype;
    d.ranks = &rank;
    d.shapes = shape;
    if (t->bytes) d.workspace = fusec_size(g, (int64_t)t->bytes);
    fusec_call(g, &d, 1, &frames, &y);
    fusec_output(g, "spectrum", decibels(y));
    fusec_compile(g, &p);
    fusec_graph_free(g);
    return p;
}

/* The sum that the transform stands for. */
static double line(const float *x, int k) {
    double re = 0, im = 0;
    for (int i = 0; i < WIDTH; i++) {
        const double turn = 6.283185307179586 / WIDTH, v = x[i] * .5 * (1 - cos(turn * i));
        re += v * cos(turn * k * i);
        im -= v * sin(turn * k * i);
    }
    return 20 * log10(fmax(sqrt(re * re + im * im), 1e-5));
}

int main(void) {
    static float x[SAMPLES], y[FRAMES * LINES];
    const int64_t shape_x[1] = {SAMPLES}, shape_y[2] = {FRAMES, LINES};
    fusec_context *ctx = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    transforms t;
    double worst = 0;
#ifdef FUSEC_EXAMPLE_CUDA
    o.device = "cuda";
#else
    o.device = "cpu";
#endif
    if (fusec_context_new(&o, &ctx)) return 1;
    if (fusec_device(ctx, NULL, NULL)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        fusec_context_free(ctx);
        return 77; /* skipped */
    }
    for (int i = 0; i < SAMPLES; i++)
        x[i] = (float)(sin(0.3 * i) + 0.5 * sin(1e-4 * i * i) + 0.01 * (i * 7919 % 101 - 50) / 50);
    fusec_program *p = open_transforms(&t) ? NULL : compile(ctx, &t);
    const fusec_tensor in = {.data = x, .shape = shape_x, .rank = 1, .dtype = FUSEC_F32};
    const fusec_tensor out = {.data = y, .shape = shape_y, .rank = 2, .dtype = FUSEC_F32};
    const int bad = !p || fusec_run(p, 1, &in, 1, &out);
    for (int f = 0; !bad && f < FRAMES; f++)
        for (int k = 0; k < LINES; k++) {
            const double want = line(x + f * STEP, k);
            if (want > -40) worst = fmax(worst, fabs(y[f * LINES + k] - want));
        }
    if (bad)
        fprintf(stderr, "%s\n", fusec_message(ctx));
    else
        printf("%d frames, %d steps, largest error %.2g dB\n", FRAMES, fusec_kernel_count(p),
               worst);
    fusec_program_free(p);
    close_transforms(&t);
    fusec_context_free(ctx);
    return bad || !(worst < 0.05);
}
