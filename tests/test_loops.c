/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_loops.c - loop forms (codegen/loop.h): the print, and each rule of the verifier broken once.
 * Forms are written as they print and read by a small parser here. What schedules build is in
 * tests/golden/NAME.loops.txt. */
#include "codegen/loop.h"
#include "tests/support/sample_kernels.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- from text to a form --------------------------------------------------------------------- */

#define X(name, text) text,
static const char *const kinds[] = {FC_LOOP_KINDS(X) FC_LEAF_KINDS(X)};
static const char *const ways[] = {FC_LOOP_WAYS(X)};
static const char *const aheads[] = {FC_LOOP_AHEADS(X)};
#undef X

static unsigned find(const char *word, const char *const *words, size_t n) {
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(word, words[i])) return i;
    return UINT32_MAX;
}

static uint32_t read_step(const char *word) {
    if (!strcmp(word, "span")) return FC_STEP_SPAN;
    if (!strcmp(word, "task")) return FC_STEP_TASK;
    if (!strcmp(word, "rows")) return FC_STEP_ROWS;
    if (!strcmp(word, "columns")) return FC_STEP_COLUMNS;
    return (uint32_t)strtoul(word, NULL, 10);
}

static void read_option(fc_loop *n, const char *word, const char *next) {
    const unsigned way = find(word, ways, FC_COUNT(ways));
    const unsigned ahead = find(word, aheads, FC_COUNT(aheads));
    if (!strcmp(word, "by"))
        n->step = read_step(next);
    else if (!strcmp(word, "over"))
        n->over = (uint8_t)find(next, kinds, FC_COUNT(kinds));
    else if (!strcmp(word, "of"))
        n->part = (uint8_t)strtoul(next, NULL, 10);
    else if (word[0] == 'x')
        n->count = (uint32_t)strtoul(word + 1, NULL, 10);
    else if (!strncmp(word, "level=", 6))
        n->level = (uint8_t)strtoul(word + 6, NULL, 10);
    else if (way < FC_COUNT(ways))
        n->way = (uint8_t)way;
    else if (ahead < FC_COUNT(aheads))
        n->ahead = (uint8_t)ahead;
    if (way < FC_COUNT(ways) && fc_is_joining(n)) n->phase = (uint8_t)strtoul(next, NULL, 10);
}

static void read_line(fc_loops *l, char *line) {
    char *word[10] = {NULL}, *rest = line;
    unsigned n = 0;
    while (n < 9 && (word[n] = strtok_r(n ? NULL : line, " ", &rest))) n++;
    const unsigned kind = find(word[0], kinds, FC_COUNT(kinds));
    FC_ASSERT_TRUE(kind < FC_COUNT(kinds) && n > 1);
    const char *dash = strchr(word[1], '-');
    const unsigned first = (unsigned)strtoul(word[1], NULL, 10);
    const unsigned phase = !strcmp(word[1], "results")    ? FC_PHASE_RESULTS
                           : !strcmp(word[1], "elements") ? FC_PHASE_ELEMENTS
                           : !strcmp(word[1], "kept")     ? FC_SET_KEPT
                                                          : first;
    const unsigned last = dash ? (unsigned)strtoul(dash + 1, NULL, 10) : first;
    fc_loop *node = fc_is_loop(kind) ? fc_loops_open(l, (fc_loop_kind)kind, first, last + 1, 1)
                                     : fc_loops_leaf(l, (fc_loop_kind)kind, phase);
    if (kind == FC_LOOP_ROLE) node->phase = (uint8_t)phase;
    for (unsigned i = 2; i < n; i++) read_option(node, word[i], word[i + 1] ? word[i + 1] : "");
}

static void read_form(const char *text, fc_loops *l) {
    char line[128];
    unsigned base = 0;
    fc_loops_init(l, &fc_libc_alloc);
    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        const size_t spaces = strspn(text, " ");
        snprintf(line, sizeof line, "%.*s", (int)((size_t)(end - text) - spaces), text + spaces);
        if (!strcmp(line, "finish:")) {
            fc_loops_function(l, 1);
            base = 1;
            continue;
        }
        const unsigned depth = (unsigned)spaces / 2 - base;
        if (l->depth > depth) fc_loops_close(l, l->depth - depth);
        read_line(l, line);
    }
}

/* ---- the print ------------------------------------------------------------------------------- */

static const char sums[] = "task 0\n"
                           "  row 0\n"
                           "  serial 1 by 1024\n"
                           "    lanes 0 ahead=row\n"
                           "    push 0\n"
                           "  fold 0 by 1024\n"
                           "  finish 0\n"
                           "  row results\n"
                           "  store results\n";
static const char columns[] = "task 1 by span\n"
                              "  task 0 by 32\n"
                              "    serial 1 by 16\n"
                              "      vector 0 by 8 masked\n"
                              "        row 0\n"
                              "        unroll 1 x16 carry 0 ahead=run\n"
                              "          point 0\n"
                              "          step 0\n"
                              "        push 0\n"
                              "    vector 0 by 8\n"
                              "      fold 0 by 16\n"
                              "      put 0\n"
                              "finish:\n"
                              "  task 0 by task\n"
                              "    vector 0 by 8\n"
                              "      get 0\n"
                              "      finish 0\n"
                              "      row results\n"
                              "      store results\n";
static const char map[] = "task 0 by span\n"
                          "  row elements\n"
                          "  vector 0 by 8 x4 aligned ahead\n"
                          "    point elements\n"
                          "    store elements\n";

static const char tiles[] = "task 1 by columns\n"
                            "  task 0 by rows\n"
                            "    serial 2 by 256\n"
                            "      serial 1 by 32\n"
                            "        serial 0 by 14\n"
                            "          lanes 0\n"
                            "          push 0\n"
                            "          last 2\n"
                            "            fold 0 by 256\n"
                            "            serial 0\n"
                            "              vector 1 by 16 x2 masked\n"
                            "                finish 0\n"
                            "                row results\n"
                            "                store results\n";

static const char ring[] = "grid 1 by span gang\n"
                           "  role 0 x8\n"
                           "    serial 0 gang\n"
                           "      row 0\n"
                           "      warp 1 by 1024 x8\n"
                           "        start 0\n"
                           "        serial 1\n"
                           "          point 0\n"
                           "          step 0\n"
                           "      put 0\n"
                           "  role results x8\n"
                           "    serial 0 gang\n"
                           "      get 0\n"
                           "      finish 0\n"
                           "      row results\n"
                           "      store results\n";

/* Two maps that are one launch. */
static const char parts[] = "grid 0 by span\n"
                            "  fill 0\n"
                            "  serial 0 by 4 early\n"
                            "    await 0\n"
                            "    unroll 0 x4\n"
                            "      point elements\n"
                            "      store elements\n"
                            "    fill 0 ahead\n"
                            "    if 0 by 4 whole\n"
                            "      unroll 0 x4\n"
                            "        point elements of 1\n"
                            "        store elements of 1\n"
                            "    shift 1\n";

/* Sums of rows that another kernel reduces, a tile at a time, where no mask hides it. */
static const char walk[] = "grid 0\n"
                           "  row 0 of 1\n"
                           "  start 0 of 1\n"
                           "  serial 1 by 128 carry 0 of 1\n"
                           "    if 1 hidden of 1\n"
                           "      lanes 0 of 1\n"
                           "    if 1 rest of 1\n"
                           "      serial 2 by 16 carry 0\n"
                           "        lanes 0\n"
                           "      finish 0\n"
                           "      row results\n"
                           "      store results\n"
                           "      lane 1 x128\n"
                           "        point 0 of 1\n"
                           "        step 0 of 1\n"
                           "  join 0 over lane of 1\n"
                           "  finish 0 of 1\n"
                           "  row results of 1\n"
                           "  store results of 1\n";

/* A softmax that goes once. */
static const char once[] = "grid 0\n"
                           "  start 0\n"
                           "  start 1\n"
                           "  serial 1 by 128\n"
                           "    lane 1 x128\n"
                           "      point 0\n"
                           "      step 0\n"
                           "    join 0 over lane\n"
                           "    rescale 0\n"
                           "    lane 1 x128\n"
                           "      point 1\n"
                           "      step 1\n"
                           "      point elements\n"
                           "      store elements\n"
                           "  join 1 over lane\n"
                           "  finish 1\n"
                           "  rescale 1\n";

FC_TEST(loops, print_is_read_back) {
    static const char *const texts[] = {sums, columns, map, tiles, ring, parts, walk, once};
    for (size_t i = 0; i < FC_COUNT(texts); i++) {
        fc_loops l;
        fc_str text;
        fc_str_init(&text, &fc_libc_alloc);
        read_form(texts[i], &l);
        fc_loops_print(&l, "", &text);
        FC_EXPECT_STREQ(text.data, texts[i]);
        fc_str_free(&text);
        fc_loops_free(&l);
    }
}

FC_TEST(loops, nothing_deeper_than_the_limit) {
    fc_loops l;
    fc_loops_init(&l, &fc_libc_alloc);
    for (unsigned i = 0; i < FC_LOOP_DEPTH; i++) fc_loops_open(&l, FC_LOOP_SERIAL, 0, 1, 1);
    FC_EXPECT_TRUE(!l.oom);
    fc_loops_open(&l, FC_LOOP_SERIAL, 0, 1, 1);
    fc_loops_leaf(&l, FC_LEAF_ROW, 0);
    FC_EXPECT_TRUE(l.oom);
    fc_loops_free(&l);
}

/* ---- the verifier ---------------------------------------------------------------------------- */

/* A form of a sample, with line `at` replaced by `line` (NULL: left out); what must be said. */
typedef struct broken {
    const char *sample, *form;
    const char *at, *line;
    const char *message;
} broken;

static const broken rules[] = {
    {"square_error_rows", sums, NULL, NULL, NULL},
    {"column_sum", columns, NULL, NULL, NULL},
    {"map_affine", map, NULL, NULL, NULL},
    /* kinds */
    {"map_affine", map, "task 0 by span", "block 0 by 128", "a loop of another target"},
    {"square_error_rows", sums, "  serial 1 by 1024", "  task 1 by 1024",
     "a unit inside of a unit"},
    {"column_sum", columns, "        unroll 1 x16 carry 0 ahead=run", "        vector 1 by 8",
     "a vector inside of a vector"},
    {"square_error_rows", sums, "    push 0", "    push 0\n  serial 1", "a loop without a body"},
    /* ranges */
    {"map_affine", map, "task 0 by span", "task 3", "there are no axes 3 to 4"},
    {"square_error_rows", sums, "task 0", "task 0-1", "kept and reduced axes are numbered as one"},
    {"square_error_rows", sums, "  serial 1 by 1024", "  serial 0", "axis 0 has its place already"},
    {"column_sum", columns, "  task 0 by 32", "  task 0 by 0", "a loop without a step"},
    /* places */
    {"map_affine", map, "  vector 0 by 8 x4 aligned ahead", "  serial 0 by 8",
     "code where no row is"},
    {"square_error_rows", sums, "    lanes 0 ahead=row", "    point 0",
     "code of a point where no element is"},
    {"column_sum", columns, "        unroll 1 x16 carry 0 ahead=run",
     "        unroll 1 x16 carry 0\n          row 0", "what is once a row, at each element"},
    /* the tree */
    {"square_error_rows", sums, "  serial 1 by 1024", "  serial 1 by 1000",
     "a partial that is no part of the tree"},
    {"column_sum", columns, "    serial 1 by 16", "    serial 1 by 32",
     "a partial that is no part of the tree"},
    {"square_error_rows", sums, "    lanes 0 ahead=row", NULL,
     "accumulators of stage 0 that nothing made"},
    {"column_sum", columns, "          step 0", NULL, "a loop that steps nothing of stage 0"},
    {"column_sum", columns, "          step 0", "          step 0\n          scanned 0",
     "elements of a scan without a prefix"},
    {"column_sum", columns, "          step 0", "          step 0\n          scan 0",
     "prefixes of what is no scan"},
    /* tiles */
    {"product_layer", tiles, NULL, NULL, NULL},
    {"product_layer", tiles, "        serial 0 by 14", "        serial 2 by 14",
     "code where no row is"},
    {"product_layer", tiles, "      serial 1 by 32", "      vector 1 by 32",
     "a vector inside of a vector"},
    {"product_layer", tiles, "            serial 0", "            serial 0 by 2",
     "code where no row is"},
    {"product_layer", tiles, "    serial 2 by 256", "    serial 2 by 128",
     "a partial that is no part of the tree"},
    {"product_layer", tiles, "          push 0", "          push 0\n          store results",
     "code where no row is"},
    {"square_error_rows", sums, "  fold 0 by 1024", "  last 1", "the last turn of no loop"},
    /* roles, of the other target */
    {"square_error_rows", ring, NULL, NULL, NULL},
    {"square_error_rows", ring, "    serial 0 gang", "    role 1 x8", "a role inside of a loop"},
    {"square_error_rows", ring, "      put 0", NULL, "a partial that nobody put"},
    {"square_error_rows", ring, "      get 0", NULL, "accumulators of stage 0 that nothing made"},
    {"square_error_rows", ring, "      finish 0", NULL, "a phase before the results that it needs"},
    {"square_error_rows", sums, "  row 0", "  role 0 x8", "a loop of another target"},
    /* order */
    {"square_error_rows", sums, "  finish 0", NULL, "a phase before the results that it needs"},
    {"square_error_rows", sums, "  row 0", "  row 1", "there is no stage 1"},
    {"softmax", sums, "  finish 0", "  finish 0\n  row 1",
     "a phase before the results that it needs"},
    {"square_error_rows", sums, "  row results", "  store 0", "a store of stage 0"},
    /* stores */
    {"square_error_rows", sums, "  store results", NULL, "results are stored 0 times"},
    {"map_affine", map, "    store elements", "    store elements\n    store elements",
     "elements are stored 2 times"},
    /* buffers */
    {"map_affine", map, "  row elements", "  fill 0", "there is no stage buffer 0"},
    /* parts */
    {"map_affine", parts, NULL, NULL, NULL},
    {"map_affine", parts, "        point elements of 1", "        point elements of 2",
     "there is no kernel 2"},
    {"map_affine", parts, "        store elements of 1", NULL, "elements are stored 0 times"},
    {"map_affine", parts, "  fill 0", NULL, "nobody asked for stage buffer 0"},
    {"map_affine", parts, "    await 0", NULL,
     "code that reads stage buffer 0 before it is filled"},
    {"map_affine", parts, "      point elements", "      fill 0\n      point elements",
     "code that reads stage buffer 0 before it is filled"},
    {"map_affine", parts, "    fill 0 ahead", NULL,
     "a turn that does not leave stage buffers as it found them"},
    {"map_affine", parts, "    fill 0 ahead", "    shift 1",
     "code that reads stage buffer 1 before it is filled"},
    {"map_affine", parts, "    shift 1", NULL,
     "a turn that does not leave stage buffers as it found them"},
    {"map_affine", parts, "    shift 1", "    shift 0", "nothing in stage buffer 0 moves on"},
    {"map_affine", parts, "  serial 0 by 4 early", "  serial 0 by 5 early",
     "a stage buffer of another size"},
    /* parts with axes of their own */
    {"square_error_rows", walk, NULL, NULL, NULL},
    {"square_error_rows", walk, "      store results", NULL,
     "code that reads stage buffer 1 before it is filled"},
    {"square_error_rows", walk, "      lanes 0 of 1", "      row 0 of 1",
     "cases that leave other accumulators"},
    {"square_error_rows", walk, "      serial 2 by 16 carry 0", "      serial 3 by 16 carry 0",
     "there are no axes 3 to 4"},
    {"square_error_rows", walk, "  row 0 of 1", "  step 0 of 1",
     "code of a point where no element is"},
    {"square_error_rows", walk, "  join 0 over lane of 1",
     "  lane 1 x128\n    point 0 of 1\n  join 0 over lane of 1",
     "code that reads stage buffer 1 before it is filled"},
    /* what changes as a walk goes on */
    {"softmax", once, NULL, NULL, NULL},
    {"softmax", once, "    rescale 0", NULL, "a phase before the results that it needs"},
    {"softmax", once, "  rescale 1", NULL, "elements that wait for a stage"},
    {"softmax", once, "  finish 1", "  if 1 shown of 1\n    row 1\n  finish 1",
     "there is no kernel 1"},
};

/* What the first part reads by itself, and what it passes on. */
static void two_parts(fc_loops *l) {
    fc_loops_buffer(l, (fc_stage_buffer){.space = FC_SPACE_SHARED, .copied = true});
    fc_loops_buffer(
        l, (fc_stage_buffer){
               .set = 1, .space = FC_SPACE_REGISTERS, .passed = true, .elements = 6, .around = 2});
}

/* What the first part passes on along the columns, while it sums along an axis of its own. */
static void two_axes(const broken *b, fc_loops *l) {
    static const uint32_t axes[2][FC_MAX_AXES] = {{0, 2}, {0, 1}}, own[2][FC_MAX_AXES] = {{0, 1}};
    l->axis = b->form == walk ? axes : b->form == once ? own : NULL;
    if (b->form == walk)
        fc_loops_buffer(l, (fc_stage_buffer){.set = 1,
                                             .space = FC_SPACE_REGISTERS,
                                             .passed = true,
                                             .along = 1,
                                             .elements = 128});
}

static void change(const broken *b, fc_str *text) {
    const char *line = b->form;
    for (const char *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        const bool here = b->at && (size_t)(end - line) == strlen(b->at) &&
                          !strncmp(line, b->at, (size_t)(end - line));
        if (!here)
            fc_str_addn(text, line, (size_t)(end + 1 - line));
        else if (b->line)
            fc_str_printf(text, "%s\n", b->line);
    }
}

/* Forms of a GPU begin with its blocks. */
static fusec_status verify(const char *sample, fc_loops *l, fc_error *e) {
    const bool grid = l->node.at[l->function[0]].kind == FC_LOOP_GRID;
    fc_sample_run run;
    fc_class cls;
    const int64_t sizes[FC_SAMPLE_SIZES] = {100, 70, 30};
    fusec_status s = fc_sample_bind(fc_sample_find(sample), sizes, &run, e);
    if (s == FUSEC_OK)
        s = fc_class_of(&run.nest, grid ? FC_TARGET_CUDA : FC_TARGET_LLVM, &run.arena, &cls, e);
    if (s == FUSEC_OK && run.kernel.schedule == FC_SCHED_DOT) cls.llvm.panels = true;
    const fc_kernel *k[2] = {&run.kernel, &run.kernel};
    if (l->axis) cls.cuda.flash_mask = cls.cuda.flash_once = 1;
    const fc_class both[2] = {cls, cls};
    const bool two = l->buffer.len == 2 || (l->axis && l->buffer.len);
    if (s == FUSEC_OK) s = fc_loops_verify_parts(l, k, both, two ? 2 : 1, e);
    fc_sample_close(&run);
    return s;
}

static void run_rule(void *arg) {
    const broken *b = arg;
    fc_loops l;
    fc_str text;
    fc_error e = {0};
    fc_str_init(&text, &fc_libc_alloc);
    change(b, &text);
    read_form(text.data, &l);
    if (b->form == parts) two_parts(&l);
    two_axes(b, &l);
    const fusec_status s = verify(b->sample, &l, &e);
    FC_TRACE("%s\n%s", text.data, b->message ? b->message : "");
    FC_EXPECT_EQ_I64(s, b->message ? FUSEC_INTERNAL : FUSEC_OK);
    FC_EXPECT_CONTAINS(e.message, b->message ? b->message : "");
    FC_UNTRACE();
    fc_str_free(&text);
    fc_loops_free(&l);
}

FC_REGISTER(rules) {
    for (size_t i = 0; i < FC_COUNT(rules); i++) {
        char name[32];
        snprintf(name, sizeof name, "rule_%zu", i);
        FC_ADD_TEST("loops", name, run_rule, &rules[i]);
    }
}

/* Buffers that do not lie as they say. */
FC_TEST(loops, buffers) {
    static const struct {
        fc_stage_buffer b;
        const char *message;
    } wrong[] = {
        {{.set = 1}, "nobody moves stage buffer 1"},
        {{.access = 9}, "a stage buffer of no access"},
        {{.access = 0, .along = 0, .transposed = true}, "does not lie along axis 0"},
        {{.access = 9, .packed = true, .space = FC_SPACE_SHARED}, "a stage buffer of no access"},
    };
    for (size_t i = 0; i < FC_COUNT(wrong); i++) {
        fc_loops l;
        fc_error e = {0};
        read_form(sums, &l);
        fc_loops_buffer(&l, wrong[i].b);
        FC_EXPECT_EQ_I64(verify("square_error_rows", &l, &e), FUSEC_INTERNAL);
        FC_EXPECT_CONTAINS(e.message, wrong[i].message);
        fc_loops_free(&l);
    }
}
