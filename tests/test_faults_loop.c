/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_faults_loop.c - programs of loops and a sort are planned and run while every allocation
 * fails once, and derivatives of loops and scans are made and planned. */
#include "ir/fold.h"
#include "ir/loop.h"
#include "passes/gradient.h"
#include "passes/plan.h"
#include "runtime/program.h"
#include "tests/support/faults.h"
#include "tests/support/test.h"

enum { N = 60 };

typedef struct loop_state {
    fc_context *ctx;
    fc_device *device;
    float x[N], y[N];
} loop_state;

static bool ready(fault_run *r) {
    loop_state *s = r->state;
    fc_config config;
    fc_config_init(&config);
    config.alloc = r->heap.alloc;
    config.cache_dir = "";
    config.threads = 1;
    for (int i = 0; i < N; i++) s->x[i] = (float)(i * 7 % 13);
    return !fc_context_new(&config, &s->ctx, &r->e) &&
           !fc_context_device(s->ctx, "interp", &s->device, NULL, &r->e);
}

static void clear(fault_run *r) {
    loop_state *s = r->state;
    fc_context_free(s->ctx);
}

/* Four rounds of x = x/2 while it is below 1e9, inside of a kernel. */
static fc_node inside(fc_graph *g, fc_node x, fc_dim n) {
    const fc_node hole = fc_build_hole(g, FUSEC_F32, 1, &n),
                  on = fc_build_hole(g, FUSEC_BOOL, 1, &n);
    const fc_node most = fc_build_const(g, FUSEC_F32, fc_const_bits(FUSEC_F32, 1e9)),
                  half = fc_build_const(g, FUSEC_F32, fc_const_bits(FUSEC_F32, 0.5));
    const fc_node mask = fc_build_op(g, FC_OP_logical_and, on,
                                     fc_build_op(g, FC_OP_lt, hole, most, FC_NONODE), FC_NONODE);
    const fc_node next[2] = {
        fc_build_op(g, FC_OP_where, mask, fc_build_op(g, FC_OP_mul, hole, half, FC_NONODE), hole),
        mask};
    const fc_node start[2] = {x, fc_build_broadcast(g, fc_build_const(g, FUSEC_BOOL, 1), 1, &n)};
    const fc_node holes[2] = {hole, on};
    fc_node out[2];
    const fc_loop_parts p = {.first = fc_build_const(g, FUSEC_I64, 0),
                             .end = fc_build_const(g, FUSEC_I64, 4),
                             .counter = FC_NONODE,
                             .condition = fc_build_reduce(g, FC_OP_any, mask, 0, NULL, false),
                             .ncarried = 2,
                             .start = start,
                             .hole = holes,
                             .next = next};
    return fc_build_loop(g, &p, out) ? out[0] : FC_NONODE;
}

/* y = the elements of x in order, three rounds of y = y + max(y) while the counter is below 9, and
 * those. */
static void build(fc_graph *g) {
    const fc_dim n = fc_dim_named(&g->dims, "n");
    const fc_node x = fc_build_input(g, "x", FUSEC_F32, 1, &n);
    const fc_node start = fc_build_sort(g, x, -1, false), hole = fc_build_hole(g, FUSEC_F32, 1, &n);
    const fc_node most = fc_build_reduce(g, FC_OP_max, hole, 0, NULL, false);
    const fc_node next = fc_build_op(g, FC_OP_add, hole, most, FC_NONODE);
    fc_loop_parts p = {.first = fc_build_const(g, FUSEC_I64, 0),
                       .end = fc_build_const(g, FUSEC_I64, 3),
                       .counter = fc_build_hole(g, FUSEC_I64, 0, NULL),
                       .ncarried = 1,
                       .start = &start,
                       .hole = &hole,
                       .next = &next};
    fc_node out[2];
    p.condition = fc_build_op(g, FC_OP_lt, p.counter, fc_build_const(g, FUSEC_I64, 9), FC_NONODE);
    if (fc_build_loop(g, &p, out)) fc_build_output(g, "y", inside(g, out[0], n));
}

static fusec_status act(fault_run *r) {
    loop_state *s = r->state;
    const int64_t shape[1] = {N};
    const fc_tensor in = {.dtype = FUSEC_F32, .rank = 1, .shape = shape, .data = s->x};
    fc_tensor out = {.dtype = FUSEC_F32, .rank = 1, .shape = shape, .data = s->y};
    const fc_program_options o = {.device = s->device};
    fc_program *p = NULL;
    fc_graph g;
    fc_graph_init(&g, &r->heap.alloc, NULL);
    build(&g);
    fusec_status st = g.error.code ? (r->e = g.error, g.error.code) : FUSEC_OK;
    if (!st) st = fc_program_new(s->ctx, &g, &o, &p, &r->e);
    for (int i = 0; i < 2 && !st; i++)
        st = fc_program_run(p, NULL, 1, &in, 0, NULL, 1, &out, &r->e);
    if (!st) FC_EXPECT_TRUE(s->y[0] * 16 == 12 * 7 && s->y[N - 1] * 16 == 12 * 8);
    fc_program_free(p);
    fc_graph_free(&g);
    return st;
}

/* Lenient: a call that can't be made ready for the next one succeeds. */
FC_TEST(faults_loop, planned_and_run) {
    static const fault_scene scene = {"loop", NULL, sizeof(loop_state), ready, act, NULL,
                                      clear,  true};
    fault_scene_run(&scene);
}

/* ---- derivatives ----------------------------------------------------------------------------- */

/* By x of the sum of y = linrec(sin(x), x), or of what three rounds of y = y*x leave; along x. */
static void derive(fc_graph *g, bool loop) {
    const fc_dim n = fc_dim_named(&g->dims, "n");
    const fc_node x = fc_build_input(g, "x", FUSEC_F32, 1, &n);
    const fc_node turned = fc_build_op(g, FC_OP_sin, x, FC_NONODE, FC_NONODE);
    const fc_node hole = fc_build_hole(g, FUSEC_F32, 1, &n);
    const fc_node next = fc_build_op(g, FC_OP_mul, hole, x, FC_NONODE);
    const fc_loop_parts p = {.first = fc_build_const(g, FUSEC_I64, 0),
                             .end = fc_build_const(g, FUSEC_I64, 3),
                             .counter = fc_build_hole(g, FUSEC_I64, 0, NULL),
                             .condition = FC_NONODE,
                             .ncarried = 1,
                             .start = &x,
                             .hole = &hole,
                             .next = &next};
    fc_node y = FC_NONODE, dx;
    if (!loop) y = fc_build_linrec(g, turned, x, FC_NONODE, 0, (fc_fold_args){.resets = false});
    if (loop && !fc_build_loop(g, &p, &y)) return;
    const fc_node loss = fc_build_reduce(g, FC_OP_sum, y, 0, NULL, false);
    if (fc_grad(g, loss, 1, &x, &dx)) fc_build_output(g, "dx", dx);
    fc_build_output(g, "moved", fc_jvp(g, y, 1, &x, &x));
}

static fusec_status act_derive(fault_run *r) {
    const fc_pass_options o = {.verify = true};
    fc_plan *plan = NULL;
    fc_graph g;
    fc_graph_init(&g, &r->heap.alloc, NULL);
    derive(&g, r->arg != NULL);
    fusec_status st = g.error.code ? (r->e = g.error, g.error.code) : FUSEC_OK;
    if (!st) st = fc_plan_build(&g, &o, &plan, &r->e);
    fc_plan_free(plan);
    fc_graph_free(&g);
    return st;
}

/* Lenient: a range of indices that there is no memory for is not known. */
FC_TEST(faults_loop, derived) {
    static const fault_scene scenes[] = {
        {.name = "fold", .act = act_derive, .lenient = true},
        {.name = "loop", .arg = "loop", .act = act_derive, .lenient = true}};
    for (size_t i = 0; i < FC_COUNT(scenes); i++) fault_scene_run(&scenes[i]);
}
