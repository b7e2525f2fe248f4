/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_capi_null.c - every public function with NULL, or with a value that is none: an error where
 * it can say one, and nothing else. */
#include "tests/support/capi.h"
#include "tests/support/test.h"

FC_TEST(capi_null, contexts_graphs_and_programs) {
    const fusec_value none = {0};
    const char *text;
    void *memory;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    fusec_counters c = FUSEC_COUNTERS_INIT;
    fusec_context_free(NULL);
    fusec_graph_free(NULL);
    fusec_graph_reset(NULL);
    fusec_program_free(NULL);
    fusec_device_free(NULL, NULL);
    fusec_device_free(NULL, &c);
    FC_EXPECT_EQ_I64(fusec_get_counters(NULL, &c), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_get_counters(NULL, NULL), FUSEC_INVALID);
    fusec_output(NULL, "x", none);
    FC_EXPECT_EQ_I64(fusec_graph_new(NULL, &g), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_new(NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_graph_status(NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_device(NULL, &text, &text), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_compile(NULL, &p), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_compile(NULL, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_run(NULL, 0, NULL, 0, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_run_on(NULL, NULL, 0, NULL, 0, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_output_shapes(NULL, 0, NULL, NULL, 0), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_input_count(NULL) + fusec_output_count(NULL) + fusec_kernel_count(NULL),
                     0);
    FC_EXPECT_TRUE(fusec_input_name(NULL, 0) == NULL && fusec_output_name(NULL, 0) == NULL);
    FC_EXPECT_EQ_I64(fusec_output_rank(NULL, 0), -1);
    FC_EXPECT_EQ_U64(fusec_compile_count(NULL), 0);
    FC_EXPECT_EQ_I64(fusec_output_dtype(NULL, 0), FUSEC_NO_DTYPE);
    FC_EXPECT_EQ_I64(fusec_device_alloc(NULL, 1, &memory), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_device_alloc(NULL, 1, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_upload(NULL, NULL, NULL, 0), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_synchronize(NULL), FUSEC_INVALID);
}

FC_TEST(capi_null, evaluation) {
    const fusec_value none = {0};
    const void *data;
    FC_EXPECT_EQ_I64(fusec_eval(NULL, 1), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_eval(NULL, -1), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_eval(NULL, 0), FUSEC_OK);
    FC_EXPECT_EQ_I64(fusec_eval(&none, 1), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_read(none, NULL, 0), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_data(none, &data), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_data(none, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_shape(none, NULL), FUSEC_INVALID);
    FC_EXPECT_EQ_I64(fusec_rank(none), -1);
    fusec_value v = fusec_array(NULL, FUSEC_F32, 0, NULL, NULL);
    FC_EXPECT_EQ_I64(v.kind, 0);
}

/* Values have no status: that nothing else happens is the test. */
FC_TEST(capi_null, values) {
    const fusec_value none = {0};
    const fusec_dim no_dim = {0};
    fusec_device_array(NULL, FUSEC_F32, 0, NULL, NULL);
    fusec_input(NULL, "x", FUSEC_F32, 0, NULL);
    fusec_const(NULL, FUSEC_F32, 0);
    fusec_full(NULL, FUSEC_F32, 0, 0, NULL);
    fusec_arange(NULL, no_dim);
    fusec_dim_value(no_dim);
    FC_EXPECT_EQ_I64(fusec_dim_known(no_dim, NULL), 0);
    fusec_dim_of(none, 0);
    fusec_dim_add(no_dim, no_dim);
    fusec_dim_mul(fusec_size(NULL, 1), fusec_sym(NULL, "n"));
    fusec_cast(none, FUSEC_F32);
    fusec_bitcast(none, FUSEC_F32);
    fusec_materialize(none);
    fusec_reshape(none, 0, NULL);
    fusec_broadcast(none, 0, NULL);
    fusec_transpose(none, NULL);
    fusec_slice(none, 0, 0, 0, 1);
    fusec_squeeze(none, 0);
    fusec_view(none, 1, NULL, NULL, NULL, NULL);
    fusec_pad(none, NULL, NULL, FUSEC_EDGE_ZERO, none);
    fusec_roll(none, 1, 0);
    fusec_tile(none, 1, NULL);
    fusec_repeat(none, 2, 0);
    fusec_window(none, 2, 0, 1);
    fusec_conv(none, none, NULL, NULL, NULL, NULL, 1);
    fusec_concat(0, NULL, 0);
    fusec_concat(1, &none, 0);
    fusec_stack(1, &none, 0);
    fusec_take(none, none, 0);
    fusec_take_along(none, none, 0);
    fusec_ragged(none, none, none, FUSEC_RAGGED_SUM);
    fusec_histogram(none, (fusec_dim){0}, none);
    fusec_segment(none, none, (fusec_dim){0}, FUSEC_PUT_SUM);
    fusec_add(none, none);
    fusec_where(none, fusec_num(1), none);
    fusec_sum(none, 0, NULL, 0);
    fusec_sum(fusec_num(1), 0, NULL, 0);
}
