/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_emit.c - generated CUDA C: what its text promises, and which schedules sizes get. There
 * are no arrays, so sizes may be large. What it computes: test_cuda_samples.c. */
#include "runtime/compile/nvrtc.h"
#include "codegen/cuda/cuda_facts.h"
#include "codegen/target.h"
#include "tests/support/cuda_machines.h"
#include "tests/support/sample_build.h"
#include "tests/support/test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct plan {
    fc_dimtab dims;
    fc_kernel kernel;
    fc_arena arena;
    fc_class cls;
    fc_launch launch;
    fc_str text;
} plan;

static bool plan_on(plan *p, const fc_machine *m,
                    void (*build)(fc_kernel *, fc_dimtab *, const fc_dim *), const int64_t *size) {
    static const char *const names[FC_SAMPLE_SIZES] = {"n", "m", "d"};
    fc_error err = {0};
    fc_dim dim[FC_SAMPLE_SIZES], bad;
    int64_t syms[8] = {0}, values[64];
    fc_nest nest;
    memset(p, 0, sizeof *p);
    fc_str_init(&p->text, &fc_libc_alloc);
    fc_arena_init(&p->arena, &fc_libc_alloc);
    fc_dimtab_init(&p->dims, &fc_libc_alloc);
    fc_kernel_init(&p->kernel, &fc_libc_alloc);
    for (unsigned i = 0; i < FC_SAMPLE_SIZES; i++) {
        uint32_t sym;
        dim[i] = fc_dim_named(&p->dims, names[i]);
        if (fc_dim_is_sym(&p->dims, dim[i], &sym)) syms[sym] = size[i];
    }
    build(&p->kernel, &p->dims, dim);
    return fc_check_bool(FC_AT("dims", ""), fc_dims_eval(&p->dims, syms, values, &bad), true) &&
           fc_check_status(FC_AT("bind", ""),
                           fc_nest_bind(&p->kernel, values, &p->arena, &nest, &err), FUSEC_OK,
                           &err) &&
           fc_check_status(FC_AT("schedule", ""),
                           fc_cuda_target.schedule(m, &p->kernel, &nest, 256, &p->arena, &p->cls,
                                                   &p->launch, &err),
                           FUSEC_OK, &err) &&
           fc_check_status(FC_AT("emit", ""),
                           fc_cuda_target.emit(m, &p->kernel, &p->cls, "kernel", &p->text, &err),
                           FUSEC_OK, &err);
}

static bool plan_open(plan *p, void (*build)(fc_kernel *, fc_dimtab *, const fc_dim *),
                      const int64_t *size) {
    return plan_on(p, &fc_cuda_big, build, size);
}

static void plan_close(plan *p) {
    fc_str_free(&p->text);
    fc_kernel_free(&p->kernel);
    fc_dimtab_free(&p->dims);
    fc_arena_free(&p->arena);
}

static void expect_choice(const fc_class *cls, const char *want) {
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    fc_class_print_choice(cls, &s);
    FC_EXPECT_STREQ(s.data + 1, want);
    fc_str_free(&s);
}

FC_TEST(cuda_emit, sizes_are_arguments) {
    static const int64_t size[][2][FC_SAMPLE_SIZES] = {{{16384, 4096}, {20000, 5120}},
                                                       {{65536, 1000}, {20000, 900}}};
    static const char *const samples[] = {"square_error_rows", "softmax"};
    for (size_t i = 0; i < FC_COUNT(samples); i++) {
        plan a, b;
        const fc_sample *s = fc_sample_find(samples[i]);
        bool opened = plan_open(&a, s->build, size[i][0]);
        if (plan_open(&b, s->build, size[i][1]) && opened) {
            FC_EXPECT_TRUE(fc_class_equal(&a.cls, &b.cls));
            FC_EXPECT_STREQ(a.text.data, b.text.data);
            FC_EXPECT_TRUE(strstr(a.text.data, "#include") == NULL);
        }
        plan_close(&a);
        plan_close(&b);
    }
}

FC_TEST(cuda_emit, variants_follow_from_sizes) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        const char *choice;
        bool wide;
    } want[] = {
        {"square_error_rows", {1000000, 4}, "thread whole once", false},
        {"square_error_rows", {100000, 64}, "one repeat=2 whole full team=16 iterations", false},
        {"square_error_rows", {100000, 65}, "one repeat=4 team=32 iterations", false},
        {"square_error_rows", {16384, 1024}, "one whole full team=32 iterations=8", false},
        {"square_error_rows", {16384, 4096}, "loop team=64", false},
        {"softmax", {65536, 1000}, "one whole team=32 iterations=8 own large", false},
        {"softmax", {8192, 16384}, "one whole full team=512 iterations=8 own large", false},
        {"softmax", {4096, 50257}, "one gang team=256 iterations=8", false},
        {"softmax", {128, 1000000}, "one gang whole team=512 iterations=8", false},
        {"softmax", {32, 40960}, "one gang whole full team=256 iterations=8", false},
        {"softmax", {2, 1 << 24}, "loop gang team=256", false},
        {"square_error_all", {1 << 24}, "loop split team=256", false},
        {"square_error_all", {INT64_C(1) << 33}, "loop split team=256", true},
        {"column_sum", {16384, 16384}, "outer split full across=16 runs=8", false},
        {"column_sum", {16400, 16384}, "outer split across=16 runs=2", false},
        {"column_sum", {1024, 1 << 20}, "outer full across=16 runs=4", false},
        {"column_sum", {2048, 1 << 20}, "outer full across=8 runs=4", true},
        {"column_sum", {256, 1 << 20}, "outer full across=64 runs=4", false},
        {"column_sum", {1 << 24, 4}, "outer split full across runs=4 transposed", false},
        {"column_sum", {1 << 24, 8}, "outer split full across=2 runs=4 transposed", false},
        {"column_sum", {1 << 24, 16}, "outer split full across=4 runs=4", false},
        {"column_sum", {1 << 24, 6}, "outer split across=4 runs=2", false},
        {"distance", {8192, 8192, 3}, "rect whole once rect_rows=8 rect_columns=4", false},
        {"distance", {8192, 8190, 3}, "thread repeat=16 whole once", false},
        {"map_affine", {INT64_C(3) << 30}, "map whole large", true},
        {"map_affine", {(INT64_C(3) << 30) + 1}, "map large", true},
        {"map_broadcast", {16384, 16384}, "tile tile_side=64", false},
        {"map_broadcast", {16384, 8}, "map whole", false},
    };
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%s %lld %lld", want[i].sample, (long long)want[i].size[0],
                 (long long)want[i].size[1]);
        if (plan_open(&p, fc_sample_find(want[i].sample)->build, want[i].size)) {
            expect_choice(&p.cls, want[i].choice);
            FC_EXPECT_TRUE(p.cls.wide == want[i].wide);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* The class for code that is to be there soon: `elements` of a thread, one by one; 0: none. */
FC_TEST(cuda_emit, quick_maps_go_element_by_element) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        int elements;
    } want[] = {
        {"map_sin", {1 << 24}, 4},     {"map_affine", {INT64_C(3) << 30}, 4},
        {"map_sin", {1}, 0},           {"map_broadcast", {16384, 16384}, 0}, /* squares */
        {"map_index", {301, 7001}, 4}, {"column_sum", {16384, 16384}, 0},
    };
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        fc_error e = {0};
        FC_TRACE("%s %lld %lld", want[i].sample, (long long)want[i].size[0],
                 (long long)want[i].size[1]);
        if (plan_open(&p, fc_sample_find(want[i].sample)->build, want[i].size)) {
            fc_class quick = p.cls;
            const bool any = fc_cuda_target.quicker(&fc_cuda_big, &p.kernel, &p.launch, &quick);
            FC_EXPECT_EQ_I64(any, want[i].elements > 0);
            FC_EXPECT_EQ_I64(fc_class_equal(&quick, &p.cls), !any);
            p.text.len = 0;
            FC_EXPECT_OK(
                fc_cuda_target.emit(&fc_cuda_big, &p.kernel, &quick, "kernel", &p.text, &e), &e);
            FC_EXPECT_EQ_I64(strstr(p.text.data, "const ix k = ((ix)blockIdx.x * ") != NULL, any);
            if (any) FC_EXPECT_EQ_U64(quick.cuda.repeat, want[i].elements);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

FC_TEST(cuda_emit, long_rows_stream_through_shared_memory) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        int major;
        const char *choice; /* of a ring, or NULL */
        unsigned grid, block;
    } want[] = {
        {"softmax",
         {128, 1 << 20},
         9,
         "ring gang whole full team=256 warp_chunks buffers=7 large",
         128,
         800},
        {"softmax",
         {1024, 100001},
         9,
         "ring gang team=256 warp_chunks buffers=7 large",
         130,
         800},                                         /* 10 gangs of 13 */
        {"softmax", {70, 100001}, 9, NULL, 0, 0},      /* gangs with few rows each */
        {"softmax", {128, 3 << 20}, 9, NULL, 0, 0},    /* more parts than SMs */
        {"softmax", {1000, 600 << 10}, 9, NULL, 0, 0}, /* 75 parts, 57 SMs without any */
        {"softmax", {128, 1 << 20}, 8, NULL, 0, 0},    /* no bulk copies */
        {"softmax", {4096, 65536}, 9, NULL, 0, 0},     /* few blocks wait for each other */
    };
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        fc_machine m = fc_cuda_h200;
        m.clusters = false;
        m.sm_major = want[i].major;
        FC_TRACE("%s %lld %lld, sm_%d0", want[i].sample, (long long)want[i].size[0],
                 (long long)want[i].size[1], want[i].major);
        if (plan_on(&p, &m, fc_sample_find(want[i].sample)->build, want[i].size)) {
            FC_EXPECT_TRUE((p.cls.cuda.kind == FC_CUDA_RING) == (want[i].choice != NULL));
            FC_EXPECT_TRUE((strstr(p.text.data, "cp.async.bulk") != NULL) ==
                           (want[i].choice != NULL));
            if (want[i].choice) {
                expect_choice(&p.cls, want[i].choice);
                FC_EXPECT_EQ_U64(p.launch.grid[0], want[i].grid);
                FC_EXPECT_EQ_U64(p.launch.block[0], want[i].block);
                FC_EXPECT_TRUE(p.launch.together);
                FC_EXPECT_TRUE(p.launch.shared_bytes <= (uint32_t)m.shared_per_block);
            }
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

FC_TEST(cuda_emit, rows_lie_in_the_memory_of_clusters) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        bool clusters;
        const char *choice; /* of a cluster, or NULL */
        unsigned warps, blocks;
    } want[] = {
        {"softmax",
         {4096, 50257},
         true,
         "cluster close warps=13 lane_slots=2 blocks=2 large",
         13,
         2},
        {"softmax", {4096, 50257}, false, NULL, 0, 0},
        {"softmax",
         {2048, 65536},
         true,
         "cluster close whole full warps=8 lane_slots=2 blocks=4 large",
         8,
         4},
        {"softmax",
         {1024, 100000},
         true,
         "cluster close whole warps=9 lane_slots=4 blocks=6 large",
         9,
         6},
        {"softmax", {32, 40960}, true, NULL, 0, 0},             /* all rows at once: a gang */
        {"softmax", {8192, 16384}, true, NULL, 0, 0},           /* in registers */
        {"softmax", {1024, 200000}, true, NULL, 0, 0},          /* one block of 25 chunks an SM */
        {"square_error_rows", {4096, 50257}, true, NULL, 0, 0}, /* needed once */
    };
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        fc_machine m = fc_cuda_h200;
        m.clusters = want[i].clusters;
        FC_TRACE("%s %lld %lld", want[i].sample, (long long)want[i].size[0],
                 (long long)want[i].size[1]);
        if (plan_on(&p, &m, fc_sample_find(want[i].sample)->build, want[i].size)) {
            FC_EXPECT_TRUE((p.cls.cuda.kind == FC_CUDA_CLUSTER) == (want[i].choice != NULL));
            FC_EXPECT_TRUE((strstr(p.text.data, "__cluster_dims__") != NULL) ==
                           (want[i].choice != NULL));
            if (want[i].choice) {
                expect_choice(&p.cls, want[i].choice);
                FC_EXPECT_EQ_U64(p.launch.grid[0], (uint64_t)want[i].size[0] * want[i].blocks);
                FC_EXPECT_EQ_U64(p.launch.block[0], 32 * want[i].warps);
                FC_EXPECT_TRUE(!p.launch.together && !p.launch.tickets);
                FC_EXPECT_TRUE(p.launch.shared_bytes <= (uint32_t)m.shared_per_block);
            }
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* Whole vectors are stored as they are made, other rows leave by bulk copies. */
FC_TEST(cuda_emit, clusters_store_as_rows_are_aligned) {
    static const int64_t size[][FC_SAMPLE_SIZES] = {{4096, 50257}, {2048, 65536}};
    for (size_t i = 0; i < FC_COUNT(size); i++) {
        plan p;
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find("softmax")->build, size[i])) {
            const char *kernel = strstr(p.text.data, "__global__");
            FC_EXPECT_TRUE((strstr(kernel, "fc_take(") != NULL) == !p.cls.aligned);
        }
        plan_close(&p);
    }
}

/* Copies that a thread does not wait for are there from sm_80 on. */
FC_TEST(cuda_emit, older_devices_have_no_asynchronous_copies) {
    static const int64_t size[FC_SAMPLE_SIZES] = {4096, 50257};
    for (int major = 7; major <= 8; major++) {
        fc_machine m = fc_cuda_h200;
        m.clusters = false;
        m.sm_major = major;
        plan p;
        if (plan_on(&p, &m, fc_sample_find("softmax")->build, size)) {
            const char *kernel = strstr(p.text.data, "__global__");
            FC_EXPECT_EQ_U64(p.cls.cuda.split, FC_CUDA_GANG);
            FC_EXPECT_TRUE((strstr(kernel, "fc_copy<") != NULL) == (major >= 8));
            FC_EXPECT_TRUE((strstr(kernel, "fc_ahead(") != NULL) == (major < 8));
        }
        plan_close(&p);
    }
}

/* y = exp(sin(x) * cos(x)) */
static void build_sin_cos(fc_kernel *k, fc_dimtab *t, const fc_dim *size) {
    k->schedule = FC_SCHED_MAP;
    k->np = 1;
    k->extent[0] = size[0];
    fc_map map = {.axis = 0, .step = 1, .start = fc_dim_const(t, 0)};
    uint32_t in = fc_kernel_arg(k, FUSEC_F32, false, 0), out = fc_kernel_arg(k, FUSEC_F32, true, 1);
    fc_val x = fc_kernel_load(k, fc_kernel_access(k, in, 1, size, &map));
    fc_val c = fc_val_op(&k->code, FC_OP_cos, x, FC_NOVAL, FC_NOVAL);
    fc_val s = fc_val_op(&k->code, FC_OP_sin, x, FC_NOVAL, FC_NOVAL);
    fc_val product = fc_val_op(&k->code, FC_OP_mul, s, c, FC_NOVAL);
    fc_kernel_store(k, fc_kernel_access(k, out, 1, size, &map),
                    fc_val_op(&k->code, FC_OP_exp, product, FC_NOVAL, FC_NOVAL));
}

/* x[b,i,k] @ y[b,k,j] for many b */
static void build_stack(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    const fc_dim many = fc_dim_const(t, 4096);
    space(k, FC_SCHED_DOT, 3, 1, DIMS(many, s[0], s[1], s[2]));
    fc_val x = input(k, t, FUSEC_F32, 3, DIMS(many, s[0], s[2]), AXES(0, 1, 3)),
           y = input(k, t, FUSEC_F32, 3, DIMS(many, s[2], s[1]), AXES(0, 3, 2));
    output(k, t, FUSEC_F32, 3, DIMS(many, s[0], s[1]), AXES(0, 1, 2),
           fc_kernel_contract(k, x, y, 0));
}

/* Random words of its elements, a matrix of them. */
static void build_words(fc_kernel *k, fc_dimtab *t, const fc_dim *s) {
    space(k, FC_SCHED_MAP, 2, 0, s);
    const fc_map map[2] = {{.axis = 0, .step = 1, .start = fc_dim_const(t, 0)},
                           {.axis = 1, .step = 1, .start = fc_dim_const(t, 0)}};
    fc_val number = fc_kernel_load(k, fc_kernel_access(k, FC_NO_BUFFER, 2, s, map)),
           key = fc_val_const(&k->code, FUSEC_I64, 7);
    fc_val words = fc_val_op(&k->code, FC_OP_philox, number, key, key);
    fc_val x = input(k, t, FUSEC_U32, 1, DIMS(s[1]), AXES(1));
    words = fc_val_cast(&k->code, words, FUSEC_U32);
    output(k, t, FUSEC_U32, 2, s, AXES(0, 1), op2(k, FC_OP_add, words, x));
}

FC_TEST(cuda_emit, random_words_of_neighbours_are_one_block) {
    static const struct {
        int64_t size[FC_SAMPLE_SIZES];
        bool fours;
    } want[] = {{{4096, 1024, 1}, true}, {{4096, 1022, 1}, false}, {{1, 1022, 1}, true}};
    plan p;
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        if (plan_open(&p, build_words, want[i].size)) {
            FC_EXPECT_EQ_I64(p.cls.cuda.fours, want[i].fours);
            FC_EXPECT_TRUE(!strstr(p.text.data, "& -4ll") || want[i].fours);
            if (i == 0) FC_EXPECT_TRUE(strstr(p.text.data, "& -4ll") != NULL);
        }
        plan_close(&p);
    }
}

/* A thread that reads an operand element by element has the same row, or column, in each turn: its
 * place is kept for a tile (fc_dot_begin_place). */
FC_TEST(cuda_emit, threads_of_a_tile_keep_their_rows_and_columns) {
    for (unsigned i = 0; i < FC_CUDA_TILES; i++) {
        const fc_cuda_tile *t = &fc_cuda_tiles[i];
        if (t->piped) continue;
        FC_TRACE("tile %u", i);
        FC_EXPECT_EQ_U64(fc_cuda_tile_threads(t) % fc_cuda_tile_rows(t), 0);
        FC_EXPECT_EQ_U64(fc_cuda_tile_threads(t) % fc_cuda_tile_columns(t), 0);
        FC_UNTRACE();
    }
}

/* At every size, or a row of a product alone would have other bits than among others. */
FC_TEST(cuda_emit, products_of_16_bits_are_for_tensor_cores) {
    static const struct {
        int64_t size[FC_SAMPLE_SIZES];
        const char *choice;
    } want[] = {
        {{1, 1, 1}, "dot dot_axis dot_across dot_tile=2 dot_stages=2"},
        {{1, 512, 512}, "dot dot_axis dot_tile=2 dot_stages=2 dot_left dot_right=2"},
        {{512, 1, 512}, "dot dot_axis dot_tile=2 dot_swapped dot_stages=2 dot_left dot_right"},
        {{16, 512, 512}, "dot dot_across dot_tile=2 dot_stages=2 dot_left dot_right=2"},
        {{512, 512, 512}, "dot dot_across dot_tile dot_stages=2 dot_left dot_right=2"},
        {{2048, 2048, 511}, "dot dot_across dot_stages=2 dot_right=2"},
        {{4096, 4096, 4096}, "dot dot_across dot_stages=2 dot_left dot_right=2"},
    };
    static const struct {
        int64_t size[FC_SAMPLE_SIZES];
        fc_cuda_tile_size tile;
    } grouped[] = {{{16, 4096, 4096}, FC_CUDA_PIPE},
                   {{1, 8192, 4096}, FC_CUDA_PIPE_WIDE},
                   {{16, 4096, 4095}, FC_CUDA_PIPE},
                   {{64, 64, 64}, FC_CUDA_GROUP_NARROW},
                   {{16, 11008, 4096}, FC_CUDA_PIPE_GROUP_WIDEST},
                   {{17, 4096, 4096}, FC_CUDA_PIPE_GROUP},
                   {{64, 4096, 4096}, FC_CUDA_PIPE_GROUP},
                   {{64, 8192, 4096}, FC_CUDA_PIPE_GROUP_WIDE},
                   {{64, 4096, 11008}, FC_CUDA_PIPE_GROUP_WIDEST},
                   {{128, 4096, 4096}, FC_CUDA_GROUP_NARROW},
                   {{128, 11008, 4096}, FC_CUDA_GROUP_SMALL},
                   {{4096, 16, 4096}, FC_CUDA_PIPE},
                   {{4096, 64, 4096}, FC_CUDA_PIPE_GROUP},
                   {{1024, 1024, 64}, FC_CUDA_GROUP_NARROW},
                   {{65536, 64, 64}, FC_CUDA_GROUP_NARROW},
                   {{2048, 2048, 64}, FC_CUDA_GROUP_SMALL},
                   {{4096, 4096, 1}, FC_CUDA_GROUP_SMALL},
                   {{4096, 4096, 1024}, FC_CUDA_GROUP_LARGE},
                   {{512, 4096, 4096}, FC_CUDA_GROUP_SMALL},
                   {{64, 10000, 8}, FC_CUDA_TILE_SMALL}};
    fc_machine old = fc_cuda_big;
    plan p;
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        if (plan_open(&p, fc_sample_find("product_halves")->build, want[i].size)) {
            expect_choice(&p.cls, want[i].choice);
            FC_EXPECT_FALSE(p.cls.wide);
        }
        plan_close(&p);
    }
    for (size_t i = 0; i < FC_COUNT(grouped); i++) {
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find("product_halves")->build, grouped[i].size))
            FC_EXPECT_EQ_I64(p.cls.cuda.dot_tile, grouped[i].tile);
        plan_close(&p);
    }
    fc_machine later = fc_cuda_h200;
    later.later = true; /* wgmma is sm_90's alone */
    if (plan_on(&p, &later, fc_sample_find("product_halves")->build, want[6].size))
        FC_EXPECT_EQ_I64(p.cls.cuda.dot_tile, FC_CUDA_TILE_LARGE);
    plan_close(&p);
    old.sm_major = 7;
    if (plan_on(&p, &old, fc_sample_find("product_halves")->build, want[4].size))
        expect_choice(&p.cls, "dot split dot_across dot_tile=4 dot_stages=2 dot_parts=2");
    plan_close(&p);
}

/* Likewise f32 under its licence, in tiles of their own. */
FC_TEST(cuda_emit, licensed_products_of_f32_are_for_tensor_cores) {
    static const struct {
        int64_t size[FC_SAMPLE_SIZES];
        fc_cuda_tile_size tile;
        unsigned left, right;
    } want[] = {{{1, 512, 512}, FC_CUDA_WORDS_FLAT, FC_CUDA_BY_K, FC_CUDA_BY_PLACE},
                {{100, 100, 512}, FC_CUDA_WORDS_SMALL, FC_CUDA_BY_K, FC_CUDA_BY_PLACE},
                {{1024, 1024, 514}, FC_CUDA_WORDS_SMALL, FC_CUDA_BY_ONE, FC_CUDA_BY_PLACE},
                {{4096, 4096, 4096}, FC_CUDA_WORDS_WIDE, FC_CUDA_BY_K, FC_CUDA_BY_PLACE}};
    fc_machine old = fc_cuda_big;
    plan p;
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find("product_words")->build, want[i].size)) {
            FC_EXPECT_EQ_I64(p.cls.cuda.dot_tile, want[i].tile);
            FC_EXPECT_EQ_I64(p.cls.cuda.dot_left, want[i].left);
            FC_EXPECT_EQ_I64(p.cls.cuda.dot_right, want[i].right);
        }
        plan_close(&p);
    }
    if (plan_on(&p, &fc_cuda_h200, fc_sample_find("product_words_made")->build, want[1].size)) {
        FC_EXPECT_EQ_I64(p.cls.cuda.dot_left, FC_CUDA_MADE_BY_K);
        FC_EXPECT_EQ_I64(p.cls.cuda.dot_right, FC_CUDA_MADE_BY_K);
    }
    plan_close(&p);
    if (plan_on(&p, &fc_cuda_small, fc_sample_find("product_words")->build, want[3].size))
        FC_EXPECT_EQ_I64(p.cls.cuda.dot_tile, FC_CUDA_WORDS_LARGE); /* room for no wide one */
    plan_close(&p);
    old.sm_major = 7;
    if (plan_on(&p, &old, fc_sample_find("product_words")->build, want[3].size))
        FC_EXPECT_EQ_I64(p.cls.cuda.dot_tile, FC_CUDA_FMA_LARGE);
    plan_close(&p);
}

/* f64, where the bits are those of chains: of more than 16 rows and columns, on sm_90. */
FC_TEST(cuda_emit, products_of_f64_are_for_tensor_cores_that_make_chains) {
    static const struct {
        int64_t size[FC_SAMPLE_SIZES];
        fc_cuda_tile_size tile;
        bool later;
    } want[] = {{{4096, 4096, 4096}, FC_CUDA_DOUBLES_LARGE, false},
                {{100, 100, 512}, FC_CUDA_DOUBLES_SMALL, false},
                {{16, 4096, 512}, FC_CUDA_FMA_SMALL, false},
                {{4096, 4096, 4096}, FC_CUDA_FMA_SMALL, true}};
    plan p;
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        fc_machine m = fc_cuda_h200;
        m.later = want[i].later;
        if (plan_on(&p, &m, fc_sample_find("product_doubles")->build, want[i].size))
            FC_EXPECT_EQ_I64(p.cls.cuda.dot_tile, want[i].tile);
        plan_close(&p);
    }
}

/* And integers of 8 bits, where 32 bits hold the sums; so do those of i8 for more of k. */
FC_TEST(cuda_emit, products_of_8_bits_are_for_tensor_cores) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        fc_cuda_tile_size tile;
    } want[] = {{"product_bytes_lines", {8, 512, 512}, FC_CUDA_BYTES_FLAT},
                {"product_bytes_lines", {100, 100, 512}, FC_CUDA_BYTES_GROUP_NARROW},
                {"product_bytes_lines", {2048, 2048, 64}, FC_CUDA_BYTES_GROUP_SMALL},
                {"product_bytes_lines", {4096, 4096, 4096}, FC_CUDA_BYTES_GROUP_LARGE},
                {"product_bytes_lines", {4096, 4096, 4088}, FC_CUDA_BYTES_LARGE},
                {"product_bytes_across", {4096, 4096, 4096}, FC_CUDA_BYTES_LARGE},
                {"product_bytes_lines", {100, 100, 65793}, FC_CUDA_BYTES_SMALL},
                {"product_bytes_lines", {100, 100, 65794}, FC_CUDA_FMA_SMALL},
                {"product_bytes_made", {100, 100, 131071}, FC_CUDA_BYTES_SMALL},
                {"product_bytes_across", {100, 100, 1 << 20}, FC_CUDA_BYTES_SMALL}};
    plan p;
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find(want[i].sample)->build, want[i].size)) {
            FC_EXPECT_EQ_I64(p.cls.cuda.kind, FC_CUDA_DOT);
            FC_EXPECT_EQ_I64(p.cls.cuda.dot_tile, want[i].tile);
        }
        plan_close(&p);
    }
}

/* Operands that are computed of arrays which lie along a line, or stand along it: eight elements at
 * a time, where there is room. */
FC_TEST(cuda_emit, operands_are_made_of_what_lies_side_by_side) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        const char *choice;
    } want[] = {
        {"product_halves_made",
         {16, 4096, 4096},
         "dot full dot_across dot_tile=12 dot_stages=6 dot_left dot_right=3"},
        {"product_halves_made",
         {16, 4096, 4104},
         "dot dot_across dot_tile=9 dot_stages=4 dot_left dot_right=3"},
        {"product_halves_scaled",
         {16, 4096, 4096},
         "dot full dot_across dot_tile=12 dot_stages=5 dot_left dot_right=4"},
        {"product_halves_made",
         {16, 32768, 4096},
         "dot full dot_across dot_tile=14 dot_stages=7 dot_left dot_right=3"},
        {"product_halves_made",
         {32, 4096, 4096},
         "dot full dot_across dot_tile=16 dot_stages=15 dot_left dot_right=3"},
        {"product_halves_made",
         {64, 4096, 4096},
         "dot full dot_across dot_tile=16 dot_stages=15 dot_left dot_right=3"},
        {"product_halves_made",
         {512, 4096, 4096},
         "dot dot_across dot_tile=7 dot_stages=4 dot_left dot_right=3"},
        {"product_halves_made",
         {2048, 2048, 512},
         "dot dot_across dot_tile=7 dot_stages=3 dot_left dot_right=3"},
        {"product_halves_made", {2048, 2048, 516}, "dot dot_across dot_tile=6 dot_stages=4"},
        {"product_halves_made_turned",
         {16, 4096, 4096},
         "dot full dot_across dot_tile=12 dot_stages=5 dot_left dot_right=4"},
        {"product_halves_turned",
         {128, 512, 64},
         "dot dot_axis dot_across=2 dot_tile=8 dot_swapped dot_stages=7 dot_left dot_right=4"},
    };
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%s %d %d %d", want[i].sample, (int)want[i].size[0], (int)want[i].size[1],
                 (int)want[i].size[2]);
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find(want[i].sample)->build, want[i].size)) {
            expect_choice(&p.cls, want[i].choice);
            FC_EXPECT_TRUE((strstr(p.text.data, "fc_brought<") != NULL));
            FC_EXPECT_LE_I64(p.launch.shared_bytes, fc_cuda_h200.shared_per_block);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* Where tiles would leave SMs idle, blocks share their k; up to 16 rows or columns have tiles of
 * their own. */
FC_TEST(cuda_emit, few_results_of_long_sums_are_parts) {
    static const struct {
        int64_t size[FC_SAMPLE_SIZES];
        const char *choice;
        int64_t parts, span, items;
    } want[] = {
        {{4096, 4096, 4096}, "dot dot_across dot_tile=3 dot_stages=2 dot_right=2", 0, 0, 264},
        {{2048, 2048, 2048}, "dot dot_across dot_tile=3 dot_stages=2 dot_right=2", 0, 0, 256},
        {{1024, 1024, 1024},
         "dot split dot_across dot_tile=3 dot_stages=2 dot_parts=4 dot_right=2",
         4,
         256,
         256},
        {{256, 256, 256}, "dot dot_across dot_tile=4 dot_stages=2 dot_right=2", 0, 0, 16},
        {{256, 256, 1024},
         "dot split dot_across dot_tile=4 dot_stages=2 dot_parts=4 dot_right=2",
         4,
         256,
         64},
        {{16, 4096, 4096},
         "dot split dot_across dot_tile=5 dot_stages=2 dot_parts=16 dot_right=2",
         16,
         256,
         256},
        {{4096, 16, 4096},
         "dot split dot_axis dot_tile=5 dot_swapped dot_stages=2 dot_parts=16 dot_left=2",
         16,
         256,
         256},
        {{17, 17, 100000},
         "dot split dot_across dot_tile=4 dot_stages=2 dot_parts=16",
         13,
         8192,
         13},
    };
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%d %d %d", (int)want[i].size[0], (int)want[i].size[1], (int)want[i].size[2]);
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find("product_layer")->build, want[i].size)) {
            expect_choice(&p.cls, want[i].choice);
            FC_EXPECT_EQ_I64(p.launch.grid[0], want[i].items);
            if (want[i].parts) FC_EXPECT_EQ_I64(p.launch.spans, want[i].parts);
            if (want[i].parts) FC_EXPECT_EQ_I64(p.launch.span, want[i].span);
            FC_EXPECT_EQ_I64(p.launch.tickets,
                             want[i].parts ? want[i].items / want[i].parts : (int64_t)0);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* One step is all of k where that is most of it, and both operands come four at a time. */
FC_TEST(cuda_emit, short_sums_are_one_step) {
    static const struct {
        int64_t size[FC_SAMPLE_SIZES];
        bool whole;
    } want[] = {{{64, 64, 64}, true},   {{60, 72, 36}, true},  {{64, 64, 63}, false},
                {{64, 64, 68}, false},  {{64, 64, 32}, false}, {{64, 63, 64}, false},
                {{512, 512, 64}, false}};
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%d %d %d", (int)want[i].size[0], (int)want[i].size[1], (int)want[i].size[2]);
        if (plan_on(&p, &fc_cuda_h200, build_stack, want[i].size)) {
            FC_EXPECT_EQ_I64(p.cls.cuda.dot_tile == FC_CUDA_FMA_WHOLE, want[i].whole);
            FC_EXPECT_EQ_I64(p.launch.block[0], want[i].whole ? 128 : 256);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

FC_TEST(cuda_emit, sin_and_cos_of_one_operand_are_one_call) {
    static const int64_t size[FC_SAMPLE_SIZES] = {1 << 20};
    plan p;
    if (plan_open(&p, build_sin_cos, size)) {
        const char *kernel = strstr(p.text.data, "__global__");
        FC_EXPECT_CONTAINS(kernel, "fc_sincosf(v0, &v2, &v1);");
        FC_EXPECT_TRUE(strstr(kernel, "fc_sinf(") == NULL && strstr(kernel, "fc_cosf(") == NULL);
        FC_EXPECT_CONTAINS(p.text.data, "*(const fc_vec<float, 4, 16> *)");
    }
    plan_close(&p);
}

/* What is read once next to what is written, if all of it is more than the L2 holds: loads ask for
 * it to stay. */
FC_TEST(cuda_emit, large_streams_stay_in_the_l2) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        bool stays;
    } want[] = {
        {"softmax", {65536, 1024}, true},
        {"softmax", {65536, 1000}, true},
        {"softmax", {4096, 1024}, false},            /* 32 MB */
        {"softmax", {65536, 1003}, false},           /* not aligned */
        {"softmax", {2, 1 << 24}, false},            /* read in every stage */
        {"softmax", {128, 1000000}, false},          /* comes by asynchronous copies */
        {"square_error_rows", {65536, 1024}, false}, /* hardly anything is written */
        {"map_affine", {1 << 28}, true},
        {"map_affine", {1 << 20}, false},
        {"map_broadcast", {16384, 16384}, false}, /* turned in squares */
    };
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%s %lld %lld", want[i].sample, (long long)want[i].size[0],
                 (long long)want[i].size[1]);
        if (plan_open(&p, fc_sample_find(want[i].sample)->build, want[i].size)) {
            const char *kernel = strstr(p.text.data, "__global__");
            FC_EXPECT_TRUE(p.cls.cuda.large == want[i].stays);
            FC_EXPECT_TRUE((strstr(kernel, "= fc_load_last(") != NULL) == want[i].stays);
            FC_EXPECT_TRUE((strstr(p.text.data, "L2::evict_last") != NULL) == want[i].stays);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* The same of rows that come by bulk copies. */
FC_TEST(cuda_emit, large_rows_of_clusters_and_rings_stay_in_the_l2) {
    static const struct {
        int64_t size[FC_SAMPLE_SIZES];
        fc_cuda_kind kind;
        bool stays;
    } want[] = {{{4096, 50257}, FC_CUDA_CLUSTER, true},
                {{200, 34000}, FC_CUDA_CLUSTER, false},
                {{128, 1 << 20}, FC_CUDA_RING, true}};
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%lld %lld", (long long)want[i].size[0], (long long)want[i].size[1]);
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find("softmax")->build, want[i].size)) {
            FC_EXPECT_EQ_U64(p.cls.cuda.kind, want[i].kind);
            FC_EXPECT_TRUE(p.cls.cuda.large == want[i].stays);
            FC_EXPECT_TRUE((strstr(p.text.data, "complete_tx::bytes.L2::cache_hint") != NULL) ==
                           want[i].stays);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* Where all runs are whole, var joins parts of known size. Counters of few runs are registers. */
FC_TEST(cuda_emit, columns_join_what_is_whole) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        const char *even; /* how runs are joined that are all whole */
        const char *levels;
        int64_t spans;
    } want[] = {
        {"stats_outer", {262144, 256}, "fc_fill_even(", "for (unsigned int n = 0;", 0},
        {"stats_outer", {262140, 256}, "fc_fill_even(", "fc_filled(", 0},
        {"column_sum", {16384, 16384}, NULL, "fc_fill(c0[e], w0[e], n)", 8},
        {"column_sum", {256, 1 << 20}, NULL, "fc_fill(c0[e], w0[e], n)", 1},
        {"column_sum", {16380, 16384}, NULL, "fc_filled(c0[e], n", 32},
        {"column_sum", {1 << 26, 4}, NULL, "c0[4][3]", 4096},
        {"column_sum", {(1 << 26) - 4, 4}, NULL, "fc_filled(c0[e], n", 4096},
        {"column_sum", {1 << 16, 1 << 20}, NULL, "fc_counted(c0[e], s0[e], n", 0},
    };
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%s", want[i].sample);
        if (plan_open(&p, fc_sample_find(want[i].sample)->build, want[i].size)) {
            const char *kernel = strstr(p.text.data, "__global__");
            FC_EXPECT_TRUE((strstr(kernel, " + at, even);") != NULL) == (want[i].even != NULL));
            if (want[i].even) FC_EXPECT_CONTAINS(kernel, want[i].even);
            FC_EXPECT_CONTAINS(kernel, want[i].levels);
            if (want[i].spans) FC_EXPECT_EQ_I64(p.launch.spans, want[i].spans);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* Where elements are counted, lanes keep to themselves what any order suits, and the rest is a tree
 * of chunks whose whole ones have known numbers of elements; else all is a tree. */
FC_TEST(cuda_emit, spans_join_in_order_what_needs_it) {
    static const struct {
        const char *sample;
        const char *ordered, *known, *free; /* of the reduction that is of that kind */
    } want[] = {
        {"square_error_all", "x0 = fc_join(fc_from(p0, l), x0);", NULL, NULL},
        {"stats_inner", "x1 = fc_join(fc_from(p1, l), x1);",
         "x1 = fc_join_even(fc_from(p1, 1), x1, 2048);", "x3 = fc_join(x3, w3[0]);"},
        {"types", "x2 = fc_join(fc_from(p2, l), x2);", NULL, NULL},
        {"extremes_inner", "x1 = fc_join(fc_from(p1, l), x1);", NULL, NULL},
    };
    static const int64_t sizes[2][FC_SAMPLE_SIZES] = {{1 << 28}, {1, 1 << 28}};
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%s", want[i].sample);
        const fc_sample *s = fc_sample_find(want[i].sample);
        if (plan_open(&p, s->build, sizes[s->nsizes - 1])) {
            const char *kernel = strstr(p.text.data, "__global__");
            FC_EXPECT_CONTAINS(kernel, want[i].ordered);
            FC_EXPECT_TRUE((strstr(kernel, "fc_join_even(") != NULL) == (want[i].known != NULL));
            if (want[i].known) FC_EXPECT_CONTAINS(kernel, want[i].known);
            if (want[i].free) FC_EXPECT_CONTAINS(kernel, want[i].free);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* Whole lines of columns that are split are read past the L1; shorter rows share lines there. */
/* z = c ? x : y, w = f64(h): loads of 2, 4 and 16 bytes */
static void build_widths(fc_kernel *k, fc_dimtab *t, const fc_dim *size) {
    static const fusec_dtype types[] = {FUSEC_BOOL, FUSEC_F64, FUSEC_F64, FUSEC_F16};
    fc_val in[4];
    k->schedule = FC_SCHED_MAP;
    k->np = 1;
    k->extent[0] = size[0];
    fc_map map = {.axis = 0, .step = 1, .start = fc_dim_const(t, 0)};
    for (unsigned i = 0; i < 4; i++) {
        uint32_t arg = fc_kernel_arg(k, types[i], false, i);
        in[i] = fc_kernel_load(k, fc_kernel_access(k, arg, 1, size, &map));
    }
    const fc_val out[] = {fc_val_op(&k->code, FC_OP_where, in[0], in[1], in[2]),
                          fc_val_cast(&k->code, in[3], FUSEC_F64)};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t arg = fc_kernel_arg(k, FUSEC_F64, true, 4 + i);
        fc_kernel_store(k, fc_kernel_access(k, arg, 1, size, &map), out[i]);
    }
}

FC_TEST(cuda_emit, nvrtc_accepts_clusters) {
    if (FC_SANITIZED) FC_SKIP("NVRTC is not instrumented");
    static const char *const samples[] = {"softmax", "shares", "normalize_inner"};
    static const int64_t size[] = {50257, 65536};
    fc_nvrtc *nvrtc = NULL;
    fc_error err = {0};
    if (fc_nvrtc_open(&fc_libc_alloc, &nvrtc, &err) != FUSEC_OK) FC_SKIP("%s", err.message);
    for (size_t i = 0; i < FC_COUNT(samples) * FC_COUNT(size); i++) {
        plan p;
        fc_bytes cubin = {0};
        fc_nvrtc_options options = {.arch = "sm_90", .kind = FC_NVRTC_CUBIN};
        fc_error e = {0};
        const int64_t shape[FC_SAMPLE_SIZES] = {1000, size[i % FC_COUNT(size)]};
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find(samples[i / FC_COUNT(size)])->build, shape)) {
            FC_EXPECT_CONTAINS(p.text.data, "__cluster_dims__");
            FC_EXPECT_OK(fc_nvrtc_compile(nvrtc, p.text.data, "cluster.cu", &options, &cubin, &e),
                         &e);
        }
        fc_bytes_free(&fc_libc_alloc, &cubin);
        plan_close(&p);
    }
    fc_nvrtc_close(nvrtc);
}

FC_TEST(cuda_emit, nvrtc_accepts_large_streams) {
    if (FC_SANITIZED) FC_SKIP("NVRTC is not instrumented");
    static const struct {
        void (*build)(fc_kernel *, fc_dimtab *, const fc_dim *);
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
    } of[] = {{build_widths, NULL, {1 << 26}}, {NULL, "softmax", {65536, 1024}}};
    fc_nvrtc *nvrtc = NULL;
    fc_error err = {0};
    if (fc_nvrtc_open(&fc_libc_alloc, &nvrtc, &err) != FUSEC_OK) FC_SKIP("%s", err.message);
    for (size_t i = 0; i < FC_COUNT(of); i++) {
        plan p;
        fc_bytes cubin = {0};
        fc_nvrtc_options options = {.arch = "sm_90", .kind = FC_NVRTC_CUBIN};
        fc_error e = {0};
        if (plan_open(&p, of[i].build ? of[i].build : fc_sample_find(of[i].sample)->build,
                      of[i].size)) {
            FC_EXPECT_TRUE(p.cls.cuda.large);
            FC_EXPECT_OK(fc_nvrtc_compile(nvrtc, p.text.data, "large.cu", &options, &cubin, &e),
                         &e);
        }
        fc_bytes_free(&fc_libc_alloc, &cubin);
        plan_close(&p);
    }
    fc_nvrtc_close(nvrtc);
}

FC_TEST(cuda_emit, wide_accesses_where_they_fit) {
    static const struct {
        const char *sample;
        int64_t size[FC_SAMPLE_SIZES];
        unsigned vector;
        bool wide; /* the text reads four floats at once */
    } want[] = {
        {"column_sum", {16384, 16384}, 4, true},
        {"column_sum", {16384, 1001}, 1, false}, /* rows are not aligned */
        {"column_sum", {16384, 1002}, 2, false},
        {"normalize_outer", {4096, 4096}, 1, false}, /* results of a column stay in its thread */
        {"map_broadcast", {4096, 4096}, 4, true},
        {"map_broadcast", {4095, 4096}, 1, false},
    };
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%s %lld %lld", want[i].sample, (long long)want[i].size[0],
                 (long long)want[i].size[1]);
        if (plan_open(&p, fc_sample_find(want[i].sample)->build, want[i].size)) {
            FC_EXPECT_EQ_U64(p.cls.vector, want[i].vector);
            bool wide = strstr(p.text.data, "(const fc_vec<float, 4, 16> *)") != NULL;
            FC_EXPECT_TRUE(wide == want[i].wide);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* Whether a kernel waits for the one ahead before its text reads or writes memory of the device. */
static bool waits_first(const char *text) {
    static const char *const global[] = {"fc_bring", "held", "*(", "levels["};
    const char *const entry = strstr(text, "extern \"C\" __global__"),
                      *const wait = entry ? strstr(entry, "fc_begin();") : NULL;
    bool first = wait != NULL;
    for (size_t i = 0; first && i < FC_COUNT(global); i++) {
        const char *const at = strstr(entry, global[i]);
        first = !at || at > wait;
    }
    for (const char *at = entry; first && at < wait; at++)
        if (at[0] == 'a' && isdigit(at[1]) && at[2] == '[') first = false;
    return first;
}

/* What stands behind the product is asked for before any of its elements. */
FC_TEST(cuda_emit, flat_products_load_for_results_ahead) {
    plan p;
    if (plan_on(&p, &fc_cuda_h200, fc_sample_find("product_halves")->build,
                (const int64_t[FC_SAMPLE_SIZES]){16, 4096, 4096})) {
        const char *const entry = strstr(p.text.data, "extern \"C\" __global__"),
                          *const load = strstr(entry, "(a2 + o2)"),
                          *const gate = strstr(entry, "fc_gate_pass(");
        FC_EXPECT_TRUE(load && gate && load < gate);
        FC_EXPECT_TRUE(load && !strstr(load + 1, "(a2 + o2)"));
    }
    plan_close(&p);
}

FC_TEST(cuda_emit, flat_products_wait_before_they_use_memory) {
    static const char *const names[] = {"product_halves", "product_halves_made",
                                        "product_halves_across", "product_halves_scaled"};
    static const int64_t sizes[][FC_SAMPLE_SIZES] = {{16, 4096, 4096}, {16, 16384, 4096}};
    for (size_t i = 0; i < 2 * FC_COUNT(names); i++) {
        plan p;
        FC_TRACE("%s", names[i / 2]);
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find(names[i / 2])->build, sizes[i % 2])) {
            FC_EXPECT_TRUE(strstr(p.text.data, "fc_gate_pass(gates") != NULL);
            FC_EXPECT_TRUE(waits_first(p.text.data));
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* A step that is made is in registers when the next one is asked for, whose stage is free by then
 * if there are many; else that follows. */
FC_TEST(cuda_emit, flat_products_ask_before_they_make) {
    static const int64_t size[FC_SAMPLE_SIZES] = {16, 4096, 4096};
    static const struct {
        const char *sample;
        unsigned stages;
        bool before;
    } want[] = {{"product_halves_made", 6, true}, {"product_halves_scaled", 5, false}};
    for (size_t i = 0; i < FC_COUNT(want); i++) {
        plan p;
        FC_TRACE("%s", want[i].sample);
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find(want[i].sample)->build, size)) {
            const char *const entry = strstr(p.text.data, "extern \"C\" __global__"),
                              *const made = strstr(entry, "fc_gate_join(gates + made)");
            FC_EXPECT_EQ_U64(p.cls.cuda.dot_stages, want[i].stages);
            FC_EXPECT_TRUE(made && (strstr(entry, "fc_bring_set()") < made) == want[i].before);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
}

/* Of arrays as they are, turned ones, and operands that are made: by groups of warps, and flat ones
 * whose warps fetch or multiply. */
FC_TEST(cuda_emit, nvrtc_accepts_products_of_sm_90) {
    if (FC_SANITIZED) FC_SKIP("NVRTC is not instrumented");
    static const char *const names[] = {"product_halves", "product_halves_turned",
                                        "product_halves_across", "product_halves_made",
                                        "product_halves_made_turned"};
    static const char *const flat[] = {"product_halves", "product_halves_made",
                                       "product_halves_across", "product_halves_scaled"};
    static const int64_t sizes[][FC_SAMPLE_SIZES] = {
        {2048, 2048, 512}, {4096, 64, 520}, {16, 4096, 4096}, {16, 16384, 4096}};
    fc_error err = {0};
    fc_nvrtc *nvrtc = NULL;
    if (fc_nvrtc_open(&fc_libc_alloc, &nvrtc, &err) != FUSEC_OK) FC_SKIP("%s", err.message);
    for (size_t i = 0; i < FC_COUNT(names) + FC_COUNT(flat); i++) {
        plan p;
        fc_error e = {0};
        fc_bytes cubin = {0};
        fc_nvrtc_options options = {.arch = "sm_90", .kind = FC_NVRTC_CUBIN};
        const bool group = i < FC_COUNT(names);
        const char *name = group ? names[i] : flat[i - FC_COUNT(names)];
        FC_TRACE("%s", name);
        if (plan_on(&p, &fc_cuda_h200, fc_sample_find(name)->build,
                    sizes[i % 2 + (group ? 0 : 2)])) {
            FC_EXPECT_TRUE(strstr(p.text.data, group ? "wgmma.mma_async" : "fc_bring_join(") !=
                           NULL);
            FC_EXPECT_OK(fc_nvrtc_compile(nvrtc, p.text.data, "product.cu", &options, &cubin, &e),
                         &e);
            fc_bytes_free(&fc_libc_alloc, &cubin);
        }
        plan_close(&p);
        FC_UNTRACE();
    }
    fc_nvrtc_close(nvrtc);
}
