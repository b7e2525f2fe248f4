/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* implied_volatility.c - at which volatility does an option cost what it costs? Newton's method on
 * the price of Black and Scholes, whose derivative comes from fusec_grad. The step is written down
 * again in every round; it is planned and compiled in the first one. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>

enum { OPTIONS = 20000, ROUNDS = 12 };

static double strike[OPTIONS], years[OPTIONS], truth[OPTIONS], price[OPTIONS], vol[OPTIONS];
static const double SPOT = 100, RATE = 0.02;

static fusec_value num(double v) {
    return fusec_num(v);
}

static fusec_value cdf(fusec_value x) {
    return fusec_mul(num(0.5), fusec_erfc(fusec_mul(x, num(-0.70710678118654752))));
}

static fusec_value call_price(fusec_value k, fusec_value t, fusec_value v) {
    fusec_value sigma = fusec_mul(v, fusec_sqrt(t));
    fusec_value drift = fusec_mul(fusec_add(num(RATE), fusec_mul(num(0.5), fusec_mul(v, v))), t);
    fusec_value d1 = fusec_div(fusec_add(fusec_log(fusec_div(num(SPOT), k)), drift), sigma);
    fusec_value paid = fusec_mul(k, fusec_exp(fusec_mul(num(-RATE), t)));
    return fusec_sub(fusec_mul(num(SPOT), cdf(d1)), fusec_mul(paid, cdf(fusec_sub(d1, sigma))));
}

static fusec_value bind(fusec_graph *g, const double *data) {
    int64_t shape[1] = {OPTIONS};
    return fusec_array(g, FUSEC_F64, 1, shape, data);
}

int main(void) {
    static double next[OPTIONS];
    fusec_counters first = FUSEC_COUNTERS_INIT, last = FUSEC_COUNTERS_INIT;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    for (int i = 0; i < OPTIONS; i++) {
        strike[i] = 80 + 40.0 * i / OPTIONS;
        years[i] = 0.25 + 0.05 * (i % 36);
        truth[i] = 0.12 + 0.01 * (i % 29);
        vol[i] = 0.3;
    }
    fusec_value v = call_price(bind(g, strike), bind(g, years), bind(g, truth));
    fusec_status s = fusec_read(v, price, sizeof price);
    fusec_graph_reset(g);

    for (int round = 0; !s && round < ROUNDS; round++) {
        fusec_value x = bind(g, vol), vega;
        v = call_price(bind(g, strike), bind(g, years), x);
        fusec_grad(fusec_sum(v, 0, NULL, 0), 1, &x, &vega);
        fusec_value off = fusec_sub(v, bind(g, price));
        s = fusec_read(fusec_sub(x, fusec_div(off, vega)), next, sizeof next);
        for (int i = 0; i < OPTIONS; i++) vol[i] = next[i];
        fusec_graph_reset(g);
        fusec_get_counters(ctx, round ? &last : &first);
    }
    if (s) fprintf(stderr, "%s\n", fusec_message(ctx));
    double worst = 0;
    for (int i = 0; i < OPTIONS; i++) worst = fmax(worst, fabs(vol[i] - truth[i]));
    printf("%d options, %d rounds: at most %.1e off; plans after one round %d, after all %d\n",
           OPTIONS, ROUNDS, worst, (int)first.plans, (int)last.plans);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return !s && worst < 1e-8 && last.plans == first.plans ? 0 : 1;
}
