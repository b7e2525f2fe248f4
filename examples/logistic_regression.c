/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* logistic_regression.c - tells two kinds of iris apart by the sizes of their leaves: logistic
 * regression on the measurements of examples/data/iris.txt, trained by its gradient until that is
 * small. With a file name as argument it also writes the loss of every step there as NPY;
 *
 *     fusec run examples/curve.fuse y=loss.npy -o loss.png
 *
 * draws it. One step is one program: the loss, its gradients, and the weights moved by them. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>

enum { FLOWERS = 100, SIZES = 4, MOST_STEPS = 4000 };

static float x[FLOWERS][SIZES], kind[FLOWERS], curve[MOST_STEPS];

static int read_flowers(const char *path) {
    FILE *f = fopen(path, "r");
    char line[200];
    int n = 0;
    if (!f) return 0;
    while (n < FLOWERS && fgets(line, sizeof line, f))
        if (sscanf(line, "%f %f %f %f %f", &x[n][0], &x[n][1], &x[n][2], &x[n][3], &kind[n]) == 5)
            n++;
    fclose(f);
    return n;
}

/* w and b moved against the gradient of the loss. A little weight decay: kinds that can be told
 * apart without a mistake would have weights without bounds. */
static void build(fusec_graph *g) {
    fusec_dim shape[2] = {fusec_sym(g, "n"), fusec_sym(g, "d")};
    fusec_value vx = fusec_input(g, "x", FUSEC_F32, 2, shape);
    fusec_value y = fusec_input(g, "y", FUSEC_F32, 1, shape);
    fusec_value w = fusec_input(g, "w", FUSEC_F32, 1, shape + 1);
    fusec_value b = fusec_input(g, "b", FUSEC_F32, 1, (fusec_dim[]){fusec_size(g, 1)});
    fusec_value rate = fusec_input(g, "rate", FUSEC_F32, 0, NULL);

    fusec_value centred = fusec_sub(vx, fusec_mean(vx, 1, (int[]){0}, 1));
    fusec_value scaled = fusec_div(centred, fusec_std(vx, 1, (int[]){0}, 1));
    fusec_value z = fusec_add(fusec_matmul(scaled, w), b);
    fusec_value loss = fusec_mean(fusec_sub(fusec_softplus(z), fusec_mul(y, z)), 0, NULL, 0);
    loss = fusec_add(loss, fusec_mul(fusec_num(1e-3), fusec_sum(fusec_mul(w, w), 0, NULL, 0)));

    fusec_value weights[2] = {w, b}, d[2];
    fusec_grad(loss, 2, weights, d);
    fusec_value steepest = fusec_maximum(fusec_max(fusec_abs(d[0]), 0, NULL, 0),
                                         fusec_max(fusec_abs(d[1]), 0, NULL, 0));
    fusec_output(g, "loss", loss);
    fusec_output(g, "steepest", steepest);
    fusec_output(g, "w", fusec_sub(w, fusec_mul(rate, d[0])));
    fusec_output(g, "b", fusec_sub(b, fusec_mul(rate, d[1])));
    /* which are told apart rightly */
    fusec_value said = fusec_gt(z, fusec_num(0)), is = fusec_gt(y, fusec_num(0.5));
    fusec_output(g, "right", fusec_sum(fusec_eq(said, is), 0, NULL, 0));
}

static int write_curve(const char *path, int n) {
    FILE *f = fopen(path, "wb");
    char text[119];
    if (!f) return 0;
    int len = snprintf(text, sizeof text,
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", n);
    fprintf(f, "\x93NUMPY%c%c%c%c%s%*s\n", 1, 0, 118, 0, text, 117 - len, "");
    fwrite(curve, sizeof *curve, (size_t)n, f);
    return fclose(f) == 0;
}

int main(int argc, char **argv) {
    float w[SIZES] = {0}, b[1] = {0}, next_w[SIZES], next_b[1], rate = 1, steepest = 1;
    int64_t sizes[2] = {FLOWERS, SIZES}, one[1] = {1}, right = 0;
    int steps = 0;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (read_flowers("examples/data/iris.txt") != FLOWERS) {
        fprintf(stderr, "logistic_regression: run it where examples/data/iris.txt is\n");
        return 1;
    }
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    build(g);
    fusec_status s = fusec_compile(g, &p);
    while (!s && steps < MOST_STEPS && steepest > 1e-4f) {
        fusec_tensor in[5] = {{.data = x, .shape = sizes, .rank = 2, .dtype = FUSEC_F32},
                              {.data = kind, .shape = sizes, .rank = 1, .dtype = FUSEC_F32},
                              {.data = w, .shape = sizes + 1, .rank = 1, .dtype = FUSEC_F32},
                              {.data = b, .shape = one, .rank = 1, .dtype = FUSEC_F32},
                              {.data = &rate, .dtype = FUSEC_F32}};
        fusec_tensor out[5] = {{.data = &curve[steps], .dtype = FUSEC_F32},
                               {.data = &steepest, .dtype = FUSEC_F32},
                               {.data = next_w, .shape = sizes + 1, .rank = 1, .dtype = FUSEC_F32},
                               {.data = next_b, .shape = one, .rank = 1, .dtype = FUSEC_F32},
                               {.data = &right, .dtype = FUSEC_I64}};
        s = fusec_run(p, 5, in, 5, out);
        for (int i = 0; i < SIZES; i++) w[i] = next_w[i];
        b[0] = next_b[0];
        steps++;
    }
    if (s) fprintf(stderr, "%s\n", fusec_message(ctx));
    printf("%d steps of %d kernels: loss %.4f, then %.4f; %d of %d told apart\n", steps,
           p ? fusec_kernel_count(p) : 0, curve[0], steps ? curve[steps - 1] : 0, (int)right,
           FLOWERS);
    if (!s && argc > 1 && !write_curve(argv[1], steps)) s = FUSEC_IO;
    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return !s && steepest <= 1e-4f && right >= 95 ? 0 : 1;
}
