/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* black_scholes.c - prices of call and put options: two results of one program, which share most of
 * the work. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>

static fusec_value num(double v) {
    return fusec_num(v);
}

/* The normal distribution. */
static fusec_value cdf(fusec_value x) {
    return fusec_mul(num(0.5), fusec_erfc(fusec_mul(x, num(-0.70710678118654752))));
}

static void build(fusec_graph *g) {
    fusec_dim n = fusec_sym(g, "n");
    fusec_value spot = fusec_input(g, "spot", FUSEC_F64, 1, &n);
    fusec_value strike = fusec_input(g, "strike", FUSEC_F64, 1, &n);
    fusec_value years = fusec_input(g, "years", FUSEC_F64, 1, &n);
    fusec_value rate = fusec_input(g, "rate", FUSEC_F64, 0, NULL); /* a scalar: the same for all */
    fusec_value vol = fusec_input(g, "volatility", FUSEC_F64, 0, NULL);

    fusec_value sigma = fusec_mul(vol, fusec_sqrt(years));
    fusec_value drift = fusec_mul(fusec_add(rate, fusec_mul(num(0.5), fusec_mul(vol, vol))), years);
    fusec_value d1 = fusec_div(fusec_add(fusec_log(fusec_div(spot, strike)), drift), sigma);
    fusec_value d2 = fusec_sub(d1, sigma);
    fusec_value paid = fusec_mul(strike, fusec_exp(fusec_neg(fusec_mul(rate, years))));
    fusec_value call = fusec_sub(fusec_mul(spot, cdf(d1)), fusec_mul(paid, cdf(d2)));
    fusec_output(g, "call", call);
    fusec_output(g, "put", fusec_add(fusec_sub(call, spot), paid));
}

int main(void) {
    double spot[3] = {100, 42, 55}, strike[3] = {100, 40, 60}, years[3] = {1, 0.5, 2}, rate = 0.05,
           vol = 0.2;
    double call[3], put[3];
    int64_t three[1] = {3};
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    build(g);

    fusec_tensor in[5] = {{.data = spot, .shape = three, .rank = 1, .dtype = FUSEC_F64},
                          {.data = strike, .shape = three, .rank = 1, .dtype = FUSEC_F64},
                          {.data = years, .shape = three, .rank = 1, .dtype = FUSEC_F64},
                          {.data = &rate, .dtype = FUSEC_F64},
                          {.data = &vol, .dtype = FUSEC_F64}};
    fusec_tensor out[2] = {{.data = call, .shape = three, .rank = 1, .dtype = FUSEC_F64},
                           {.data = put, .shape = three, .rank = 1, .dtype = FUSEC_F64}};
    if (fusec_compile(g, &p) || fusec_run(p, 5, in, 2, out)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }
    for (int i = 0; i < 3; i++)
        printf("spot %g, strike %g: call %.4f, put %.4f\n", spot[i], strike[i], call[i], put[i]);

    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return fabs(call[0] - 10.4506) < 1e-4 && fabs(put[0] - 5.5735) < 1e-4 ? 0 : 1;
}
