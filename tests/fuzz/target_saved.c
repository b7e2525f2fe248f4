/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target_saved.c - a saved graph. The first byte says whether the rest is the file as it is, or its
 * body, around which magic, length and checksum are put: the checksum keeps chance out. */
#include <stdlib.h>

#include "frontend/saved/saved.h"
#include "passes/plan.h"
#include "runtime/sha256.h"
#include "tests/fuzz/targets.h"

/* Functions of the user that a graph may name. */
static fusec_status find(void *user, const fc_extern *like, const fc_extern **out, fc_error *e) {
    static const fc_extern known[2] = {
        {.name = "part", .nargs = 1, .dtype = {FUSEC_F32}, .result = FUSEC_F32},
        {.name = "weigh",
         .nargs = 4,
         .dtype = {FUSEC_F32, FUSEC_F32, FUSEC_F32, FUSEC_F32},
         .result = FUSEC_F32}};
    (void)user, (void)e;
    for (size_t i = 0; i < FC_COUNT(known); i++)
        if (!strcmp(known[i].name, like->name) && known[i].nargs == like->nargs &&
            known[i].result == like->result && !memcmp(known[i].dtype, like->dtype, like->nargs))
            *out = &known[i];
    return FUSEC_OK;
}
static const fc_extern_source source = {find, NULL, ""};

static void sign(uint8_t *file, size_t body) {
    fc_sha256 sum;
    memcpy(file, FC_SAVED_MAGIC, 8);
    for (unsigned i = 0; i < 4; i++) {
        file[8 + i] = (uint8_t)(FC_SAVED_VERSION >> 8 * i);
        file[12 + i] = (uint8_t)(body >> 8 * i);
    }
    fc_sha256_init(&sum);
    fc_sha256_add(&sum, file, FC_SAVED_HEADER + body);
    fc_sha256_end(&sum, file + FC_SAVED_HEADER + body);
}

/* What was read can be saved and read again, as the same bytes from then on; and planned. */
static void use(const fc_graph *g) {
    fc_graph again;
    fc_error e = {0};
    fc_str first, second;
    fc_str_init(&first, &fc_libc_alloc);
    fc_str_init(&second, &fc_libc_alloc);
    fc_graph_init(&again, &fc_libc_alloc, NULL);
    fuzz_require(!fc_saved_write(g, &first, &e), "what was read is saved");
    fuzz_require(!fc_saved_read(first.data, first.len, &source, &again, &e), "and read again");
    fuzz_require(!fc_saved_write(&again, &second, &e), "and saved again");
    fuzz_require(first.len == second.len && !memcmp(first.data, second.data, first.len),
                 "as the same bytes");
    fc_pass_options o = {0};
    fc_plan *plan = NULL;
    if (g->outputs.len && !fc_plan_build(g, &o, &plan, &e)) fc_plan_free(plan);
    fc_graph_free(&again);
    fc_str_free(&first);
    fc_str_free(&second);
}

void fuzz_saved(const uint8_t *data, size_t size) {
    fc_graph g;
    fc_error e = {0};
    if (!size) return;
    const size_t body = size - 1, whole = FC_SAVED_HEADER + body + FC_SAVED_DIGEST;
    uint8_t *file = malloc(whole);
    if (!file) return;
    memcpy(file + FC_SAVED_HEADER, data + 1, body);
    sign(file, body);
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    const fusec_status s = data[0] & 1 ? fc_saved_read(data + 1, body, &source, &g, &e)
                                       : fc_saved_read(file, whole, &source, &g, &e);
    fuzz_require(!s == !e.code && (s || !g.error.code), "an error or a graph");
    if (!s) use(&g);
    fc_graph_free(&g);
    free(file);
}
