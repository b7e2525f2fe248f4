/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_joined.c - see cuda_joined.h. */
#include "tests/support/cuda_joined.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/bind.h"
#include "tests/support/cuda_machines.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

enum { MOST_BUFFERS = 16 };

static void build(fc_join_job *x, fc_join_program *program, const void *of,
                  const fc_join_size *sizes, size_t n) {
    fc_graph *g = &x->g;
    fc_graph_init(g, &fc_libc_alloc, NULL);
    program(g, of);
    for (uint32_t i = 0; i < g->dims.syms.len && i < FC_JOIN_SYMBOLS; i++)
        for (size_t k = 0; g->dims.syms.at[i].name && k < n; k++)
            if (!strcmp(g->dims.syms.at[i].name, sizes[k].name)) x->syms[i] = sizes[k].value;
}

/* Arrays, and with `judged` what the oracle wants. */
static void fill(fc_join_job *x, bool judged) {
    fc_rng random = {7};
    const void *data[FC_JOIN_STEPS];
    fc_oracle o;
    fc_oracle_sizes(&o, &x->g, x->syms);
    fc_arrays_for(&x->in, &x->g, &o, false);
    fc_arrays_for(&x->out, &x->g, &o, true);
    fc_oracle_free(&o);
    for (uint32_t i = 0; i < x->in.n; i++) {
        const fc_tensor *t = &x->in.t[i];
        for (int64_t k = 0; k < fc_array_count(t); k++)
            fc_oracle_store(t->dtype, t->data, k,
                            t->dtype == FUSEC_I32 && t->rank == 1 /* lengths, or weights */
                                ? (uint64_t)(2 * k)
                                : fc_random_value(t->dtype, &random, true));
        data[i] = t->data;
    }
    if (judged) fc_oracle_run(&x->o, &x->g, x->syms, data);
}

static fusec_status join(fc_join_job *x, fc_error *e) {
    const uint32_t n = (uint32_t)x->plan->steps.len - x->first;
    fc_machine few = fc_cuda_h200;
    few.sm_count = x->sms;
    x->j.n = n;
    x->j.values = x->values;
    for (uint32_t i = 0; i < n && i < FC_MOST_JOINED; i++) {
        x->j.kernel[i] = &x->plan->steps.at[x->first + i]->kernel;
        x->j.nest[i] = &x->plain[i];
        FC_TRY(fc_nest_bind_plain(x->j.kernel[i], x->values, NULL, &x->arena, &x->plain[i], e));
    }
    if (n < 2 || n > FC_MOST_JOINED) return FUSEC_OK;
    (void)fc_joined_layouts(&x->j);
    return fc_cuda_target.join(&few, x->mode, x->align, &x->arena, &x->j, &x->all, &x->can, e);
}

bool fc_join_open(fc_join_job *x, fc_join_program *program, const void *of,
                  const fc_join_size *sizes, size_t nsizes, uint32_t joined, uint32_t mode,
                  uint32_t align, int sms, bool judged) {
    fc_error e = {0};
    fc_dim bad;
    memset(x, 0, sizeof *x);
    x->mode = mode;
    x->align = align;
    x->sms = sms;
    fc_arena_init(&x->arena, &fc_libc_alloc);
    build(x, program, of, sizes, nsizes);
    fill(x, judged);
    const fc_pass_options po = {.verify = true, .mode = mode};
    if (fc_plan_build(&x->g, &po, &x->plan, &e)) return FC_FAIL("%s", e.message), false;
    const uint32_t steps = (uint32_t)x->plan->steps.len;
    if (steps > FC_JOIN_STEPS) return FC_FAIL("%u steps", (unsigned)steps), false;
    x->first = joined && joined < steps ? steps - joined : 0;
    const fc_dimtab *dims = &x->plan->graph.dims;
    x->values = fc_arena_alloc(&x->arena, (dims->forms.len + 1) * sizeof *x->values);
    FC_EXPECT_TRUE(fc_dims_eval(dims, x->syms, x->values, &bad));
    if (join(x, &e)) return FC_FAIL("%s", e.message), false;
    return true;
}

void fc_join_close(fc_join_job *x) {
    if (x->plan) fc_plan_free(x->plan);
    fc_arrays_free(&x->in);
    fc_arrays_free(&x->out);
    if (x->o.g) fc_oracle_free(&x->o);
    fc_graph_free(&x->g);
    fc_arena_free(&x->arena);
}

/* ---- running --------------------------------------------------------------------------------- */

static void put_mistake(const fc_join_job *x, fc_str *text) {
    char *at = strstr(text->data, x->find);
    fc_str wrong;
    if (!at) {
        FC_FAIL("the text has no \"%s\"", x->find);
        return;
    }
    fc_str_init(&wrong, &fc_libc_alloc);
    fc_str_printf(&wrong, "%.*s%s%s", (int)(at - text->data), text->data, x->put,
                  at + strlen(x->find));
    fc_str_free(text);
    *text = wrong;
}

static bool add_text(fc_cuda_host *host, const fc_join_job *x, size_t step, unsigned *number) {
    fc_error e = {0};
    fc_str text;
    char name[16];
    fc_str_init(&text, &fc_libc_alloc);
    *number = host->count;
    snprintf(name, sizeof name, "k%u", host->count);
    const fusec_status s =
        step == SIZE_MAX ? fc_cuda_target.emit_joined(&fc_cuda_h200, &x->j, name, &text, &e)
                         : fc_cuda_target.emit(&fc_cuda_h200, &x->plan->steps.at[step]->kernel,
                                               &x->cls[step], name, &text, &e);
    if (!s && step == SIZE_MAX && x->find) put_mistake(x, &text);
    if (!s) fc_cuda_host_add(host, text.data);
    fc_str_free(&text);
    return s ? FC_FAIL("%s", e.message), false : true;
}

bool fc_join_add_texts(fc_cuda_host *host, fc_join_job *x) {
    fc_error e = {0};
    for (size_t i = 0; i < x->plan->steps.len; i++) {
        const fc_kernel *k = &x->plan->steps.at[i]->kernel;
        if (fc_nest_bind(k, x->values, &x->arena, &x->nest[i], &e) ||
            fc_cuda_target.schedule(&fc_cuda_h200, k, &x->nest[i], x->align, &x->arena, &x->cls[i],
                                    &x->launch[i], &e))
            return FC_FAIL("%s", e.message), false;
        if (!add_text(host, x, i, &x->text[i])) return false;
    }
    return add_text(host, x, SIZE_MAX, &x->joined_text);
}

static void *zeroed(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) abort();
    memset(p, 0, (bytes + 127) / 64 * 64);
    return p;
}

static void fill_words(const fc_join_job *x, size_t step, const fc_nest *n, void *const *at,
                       int64_t *to) {
    const fc_kernel *k = &x->plan->steps.at[step]->kernel;
    void *args[16];
    uint64_t scalars[16] = {0};
    for (size_t a = 0; a < k->args.len; a++) args[a] = at[k->args.at[a].buffer];
    for (size_t i = 0; i < k->params.len; i++)
        if (!k->params.at[i].is_dim)
            memcpy(&scalars[i], x->in.t[k->params.at[i].source].data,
                   fc_dtypes[k->params.at[i].dtype].bytes);
    fc_nest_fill(k, n, x->values, args, scalars, to);
}

static void launch(const fc_cuda_host *host, unsigned text, const fc_launch *l, uint32_t extra,
                   int64_t *words) {
    void *work = zeroed(l->workspace_bytes), *tickets = zeroed(4 * (size_t)l->tickets);
    words[extra + FC_PB_SPANS] = l->spans;
    words[extra + FC_PB_SPAN] = l->span;
    words[extra + FC_PB_WORKSPACE] = (int64_t)(intptr_t)work;
    words[extra + FC_PB_TICKETS] = (int64_t)(intptr_t)tickets;
    FC_EXPECT_TRUE(fc_cuda_host_run(host, text, l, words));
    free(work);
    free(tickets);
}

/* The first `end` steps. */
static void run_apart(const fc_cuda_host *host, const fc_join_job *x, void *const *at, size_t end) {
    for (size_t i = 0; i < end; i++) {
        const fc_kernel *k = &x->plan->steps.at[i]->kernel;
        int64_t words[512] = {0};
        const fc_layout l = fc_layout_of((uint32_t)k->args.len, x->nest[i].np + x->nest[i].nr,
                                         (uint32_t)k->accesses.len, (uint32_t)k->params.len);
        fill_words(x, i, &x->nest[i], at, words);
        launch(host, x->text[i], &x->launch[i], l.extra, words);
    }
}

static void run_joined(const fc_cuda_host *host, const fc_join_job *x, void *const *at) {
    int64_t words[512] = {0};
    for (uint32_t i = 0; i < x->j.n; i++)
        fill_words(x, x->first + i, &x->plain[i], at, words + x->j.layout[i].args);
    launch(host, x->joined_text, &x->all, x->j.layout[0].extra, words);
}

static size_t bytes_of(const fc_join_job *x, size_t buffer) {
    const fc_graph *g = &x->plan->graph;
    const fc_node n = x->plan->buffers.at[buffer].node;
    size_t bytes = fc_dtypes[fc_at(g, n)->dtype].bytes;
    for (uint32_t k = 0; k < fc_rank(g, n); k++) bytes *= (size_t)x->values[fc_axis(g, n, k)];
    return bytes;
}

/* The largest distance of two arrays of 16-bit floats, as a part of the largest element. */
static double distance(const fc_join_job *x, const uint16_t *a, const uint16_t *b, size_t n) {
    double most = 0, large = 0;
    for (size_t i = 0; i < n; i++) {
        const bool bf16 = x->out.t[0].dtype == FUSEC_BF16;
        const double u = bf16 ? fc_bf16_to_float(a[i]) : fc_half_to_float(a[i]),
                     v = bf16 ? fc_bf16_to_float(b[i]) : fc_half_to_float(b[i]);
        most = fmax(most, fabs(u - v));
        large = fmax(large, fabs(u));
    }
    return most / large;
}

/* Memory of a buffer, that begins as arrays do. */
static char *room_for(const fc_join_job *x, size_t buffer) {
    return (char *)zeroed(bytes_of(x, buffer) + 64) + (x->align < 64 ? x->align : 0);
}
static void give_back(const fc_join_job *x, void *at) {
    if (at) free((char *)at - (x->align < 64 ? x->align : 0));
}

static bool is_temp(const fc_join_job *x, size_t buffer) {
    return x->plan->buffers.at[buffer].kind == FC_BUF_TEMP;
}

/* Whether a joined step makes it. */
static bool is_passed(const fc_join_job *x, size_t buffer) {
    for (uint32_t i = 0; i + 1 < x->j.n; i++)
        for (size_t a = 0; a < x->j.kernel[i]->args.len; a++)
            if (x->j.kernel[i]->args.at[a].written && x->j.kernel[i]->args.at[a].buffer == buffer)
                return is_temp(x, buffer);
    return false;
}

/* Memory of all buffers, and results of the steps one after the other; `at` is left with those of
 * the launch. */
static void run_both(const fc_join_job *x, const fc_cuda_host *host, void **at, void **apart) {
    const size_t outs = x->in.n + x->out.n;
    for (size_t b = 0; b < x->plan->buffers.len; b++) {
        at[b] = room_for(x, b);
        if (b < x->in.n) memcpy(at[b], x->in.t[b].data, bytes_of(x, b));
    }
    run_apart(host, x, at, x->plan->steps.len);
    for (size_t b = x->in.n; b < outs; b++) {
        apart[b] = zeroed(bytes_of(x, b));
        memcpy(apart[b], at[b], bytes_of(x, b));
        memset(at[b], 0, bytes_of(x, b));
    }
    for (size_t b = outs; b < x->plan->buffers.len; b++)
        if (is_passed(x, b)) give_back(x, at[b]), at[b] = NULL;
    run_apart(host, x, at, x->first);
    run_joined(host, x, at);
}

static void free_both(const fc_join_job *x, void **at, void **apart) {
    for (size_t b = 0; b < MOST_BUFFERS; b++) {
        give_back(x, at[b]);
        free(apart[b]);
    }
}

void fc_join_compare(fc_join_job *x, const fc_cuda_host *host, double bound) {
    void *at[MOST_BUFFERS] = {0}, *apart[MOST_BUFFERS] = {0};
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    run_both(x, host, at, apart);
    for (size_t b = x->in.n; b < x->in.n + x->out.n; b++) {
        const size_t bytes = bytes_of(x, b);
        if (bound)
            FC_EXPECT_TRUE(distance(x, apart[b], at[b], bytes / 2) < bound);
        else
            FC_EXPECT_TRUE(memcmp(apart[b], at[b], bytes) == 0);
        memcpy(x->out.t[b - x->in.n].data, at[b], bytes);
    }
    if (!bound && x->o.g && fc_judge(&x->g, &x->o, &x->out, &why)) FC_FAIL("%s", why.data);
    free_both(x, at, apart);
    fc_str_free(&why);
}

bool fc_join_differs(fc_join_job *x, const fc_cuda_host *host) {
    void *at[MOST_BUFFERS] = {0}, *apart[MOST_BUFFERS] = {0};
    bool differs = false;
    run_both(x, host, at, apart);
    for (size_t b = x->in.n; b < x->in.n + x->out.n; b++)
        differs |= memcmp(apart[b], at[b], bytes_of(x, b)) != 0;
    free_both(x, at, apart);
    return differs;
}

void fc_join_on_device(fc_join_program *program, const void *of, const fc_join_size *sizes,
                       size_t nsizes, int sms, uint32_t *launches, size_t *scratch) {
    fc_fixture f;
    fc_join_job x = {0};
    fc_bound *b;
    *launches = 0;
    if (!fc_fixture_open(&f, "interp")) return;
    fc_target joins = fc_interp_target;
    fc_machine machine = f.device->machine;
    joins.schedule = fc_cuda_target.schedule;
    joins.join = fc_cuda_target.join;
    f.device->machine = fc_cuda_h200;
    f.device->machine.sm_count = sms;
    const fc_target *own = f.device->target;
    f.device->target = &joins;
    build(&x, program, of, sizes, nsizes);
    fc_graph_free(&f.g);
    f.g = x.g;
    fill(&x, false);
    fc_program *p = fc_fixture_compile(&f);
    if (p && !fc_bound_get(p, x.in.n, x.in.t, 0, NULL, 64, FC_NO_CODE, &b, &f.e)) {
        *launches = b->nlaunches;
        *scratch = b->scratch;
        fc_bound_release(p, b);
    } else {
        FC_FAIL("%s", f.e.message);
    }
    fc_program_free(p);
    f.device->target = own;
    f.device->machine = machine;
    fc_arrays_free(&x.in);
    fc_arrays_free(&x.out);
    fc_fixture_close(&f, NULL);
}
