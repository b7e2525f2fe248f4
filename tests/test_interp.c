/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The interpreter on the sample kernels: equal bits with plain C at sizes around every block
 * length. */
#include "codegen/interp/interp.h"
#include "tests/support/sample_kernels.h"
#include "tests/support/test.h"

/* Runs all units in pieces of `piece` (0: the launch's tasks) and checks the outputs. */
static fusec_status run_pieces(fc_sample_run *run, int64_t piece, fc_error *e) {
    fc_machine m = {.target = FC_TARGET_INTERP};
    fc_class cls;
    fc_launch launch;
    fc_interp *ip;
    FC_TRY(
        fc_interp_target.schedule(&m, &run->kernel, &run->nest, 64, &run->arena, &cls, &launch, e));
    FC_TRY(fc_interp_compile(&run->kernel, NULL, &fc_libc_alloc, &ip, e));
    const int64_t *words = fc_sample_words(run, NULL);
    int64_t unit = piece ? piece : launch.unit;
    fusec_status s = words ? FUSEC_OK : fc_oom(e);
    for (int64_t at = 0; at < launch.units && s == FUSEC_OK; at += unit) {
        int64_t end = at + unit < launch.units ? at + unit : launch.units;
        fc_interp_run(ip, &cls, words, at, end);
    }
    fc_interp_free(ip);
    FC_TRY(s);
    return fc_sample_check(run, e);
}

static void try_sizes(const fc_sample *s, int64_t n, int64_t m, int64_t d, int64_t piece) {
    int64_t size[FC_SAMPLE_SIZES] = {n, m, d};
    fc_sample_run run;
    fc_error err = {0};
    FC_TRACE("%s [%lld, %lld, %lld]", s->name, (long long)n, (long long)m, (long long)d);
    fusec_status st = fc_sample_open(s, size, &run, &err);
    if (st == FUSEC_OK) st = run_pieces(&run, piece, &err);
    FC_EXPECT_OK(st, &err);
    fc_sample_close(&run);
    FC_UNTRACE();
}

static const int64_t lengths[] = {1,   2,   3,    7,    15,   16,   17,   31,   33,    127,  128,
                                  129, 255, 1000, 1023, 1024, 1025, 2049, 5000, 10000, 17000};

static void run_sample(void *arg) {
    FC_TAKE_ONE_OF(1);
    const fc_sample *s = arg;
    for (size_t i = 0; i < FC_COUNT(lengths); i++) {
        int64_t l = lengths[i];
        try_sizes(s, l, l < 300 ? 5 : 3, l < 300 ? 7 : 2, 0);
        if (s->nsizes > 1) try_sizes(s, 3, l, 2, 0);
        if (s->nsizes > 2) try_sizes(s, 2, 3, l, 0);
    }
    try_sizes(s, 130, 260, 3, 0);
    try_sizes(s, 130, 131, 3, 77); /* pieces that start within a block */
    try_sizes(s, 300, 1, 1, 1);
    for (unsigned axis = 0; axis < s->nsizes; axis++)
        if (!s->needs_elements)
            try_sizes(s, axis == 0 ? 0 : 3, axis == 1 ? 0 : 5, axis == 2 ? 0 : 2, 0);
}

FC_REGISTER(samples) {
    for (size_t i = 0; i < fc_nsamples; i++)
        if (!fc_sample_rounds(&fc_samples[i]))
            FC_ADD_TEST("interp", fc_samples[i].name, run_sample, &fc_samples[i]);
}

/* Fails the allocation number `left`. */
static void *failing(void *user, void *p, size_t size) {
    long *left = user;
    if (size > 0 && (*left)-- <= 0) return NULL;
    return fc_libc_alloc.fn(fc_libc_alloc.user, p, size);
}

FC_TEST(interp, out_of_memory) {
    fc_sample_run run;
    fc_error err = {0};
    FC_ASSERT_OK(
        fc_sample_open(fc_sample_find("stats_inner"), (const int64_t[]){3, 5, 0}, &run, &err),
        &err);
    for (long allowed = 0;; allowed++) {
        long left = allowed;
        fc_alloc alloc = {failing, &left};
        fc_error e = {0};
        fc_interp *ip;
        fusec_status s = fc_interp_compile(&run.kernel, NULL, &alloc, &ip, &e);
        if (s == FUSEC_OK) {
            fc_interp_free(ip);
            break;
        }
        FC_EXPECT_EQ_I64(s, FUSEC_OUT_OF_MEMORY);
        FC_EXPECT_EQ_PTR(ip, NULL);
    }
    fc_sample_close(&run);
}

FC_TEST(interp, text_has_no_sizes) {
    fc_error err = {0};
    fc_str text[2];
    for (int i = 0; i < 2; i++) {
        fc_sample_run run;
        fc_class cls;
        fc_launch launch;
        fc_machine m = {.target = FC_TARGET_INTERP};
        fc_str_init(&text[i], &fc_libc_alloc);
        FC_ASSERT_OK(fc_sample_open(fc_sample_find("softmax"), (const int64_t[]){3 + i, 50 + i, 0},
                                    &run, &err),
                     &err);
        FC_EXPECT_OK(fc_interp_target.schedule(&m, &run.kernel, &run.nest, 4, &run.arena, &cls,
                                               &launch, &err),
                     &err);
        FC_EXPECT_OK(fc_interp_target.emit(&m, &run.kernel, &cls, "k", &text[i], &err), &err);
        fc_sample_close(&run);
    }
    FC_EXPECT_STREQ(text[0].data, text[1].data);
    FC_EXPECT_CONTAINS(text[0].data, "kernel inner p1 r1");
    FC_EXPECT_CONTAINS(text[0].data, "reduce1 = stage 1 sum f32");
    fc_str_free(&text[0]);
    fc_str_free(&text[1]);
}
