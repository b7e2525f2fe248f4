/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cuda_samples.c - generated CUDA C computes the samples bit for bit (ulps for those with
 * functions) at awkward sizes, run on the host through tests/support/cuda_emu.h. */
#include "codegen/cuda/cuda.h"
#include "tests/support/cuda_host.h"
#include "tests/support/cuda_machines.h"
#include "tests/support/cuda_samples.h"
#include "tests/support/sample_kernels.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t sizes1[][FC_SAMPLE_SIZES] = {
    {0},    {1},    {2},    {3},    {7},    {31},    {32},    {127},   {128},   {129},
    {1000}, {1023}, {1024}, {1025}, {5000}, {10000}, {33000}, {70001}, {170001}};
static const int64_t sizes2[][FC_SAMPLE_SIZES] = {
    {1, 1},     {3, 7},     {2, 8},      {5, 31},    {4, 32},    {4, 128},   {7, 129},  {3, 1000},
    {9, 1023},  {2, 1024},  {3, 1025},   {2, 5000},  {1, 10000}, {2, 33000}, {300, 5},  {300, 36},
    {5000, 4},  {33, 64},   {64, 1},     {70, 20},   {0, 5},     {5, 0},     {1000, 3}, {5000, 33},
    {40000, 2}, {3, 40000}, {100, 260},  {1, 70000}, {96, 160},  {20000, 9}, {40, 512}, {70, 500},
    {3000, 8},  {9000, 16}, {2, 180003}, {32, 4096}, {17, 2048}};
static const int64_t sizes3[][FC_SAMPLE_SIZES] = {
    {1, 1, 1},     {2, 3, 4},    {5, 8, 16},    {3, 33, 40},  {7, 129, 3}, {4, 64, 32},
    {9, 5, 1000},  {2, 1025, 2}, {1, 20000, 3}, {40, 30, 50}, {3, 0, 4},   {90, 64, 3},
    {37, 1028, 3}, {5, 8, 8},    {300, 4, 2},   {301, 12, 1}};

typedef struct job {
    const fc_sample *sample;
    const int64_t *size;
    const fc_machine *machine;
    uint32_t align;
    bool wide; /* with 64-bit indices whatever the sizes are */
    unsigned text;
} job;

typedef struct jobs {
    FC_VEC(job) all;
    FC_VEC(char *) texts; /* without the name */
    fc_cuda_host host;
} jobs;

/* ---- emitting ------------------------------------------------------------------------------- */

static bool schedule(const job *j, fc_sample_run *run, fc_class *cls, fc_launch *l) {
    fc_error err = {0};
    fusec_status status = fc_cuda_target.schedule(j->machine, &run->kernel, &run->nest, j->align,
                                                  &run->arena, cls, l, &err);
    cls->wide |= j->wide;
    return fc_check_status(FC_AT("schedule", ""), status, FUSEC_OK, &err);
}

/* Without arrays. */
static bool prepare(const job *j, fc_sample_run *run, fc_class *cls, fc_launch *l) {
    fc_error err = {0};
    return fc_check_status(FC_AT("bind", ""), fc_sample_bind(j->sample, j->size, run, &err),
                           FUSEC_OK, &err) &&
           schedule(j, run, cls, l);
}

static bool emit(const job *j, const fc_sample_run *run, const fc_class *cls, const char *name,
                 fc_str *out) {
    fc_error err = {0};
    return fc_check_status(FC_AT("emit", ""),
                           fc_cuda_target.emit(j->machine, &run->kernel, cls, name, out, &err),
                           FUSEC_OK, &err);
}

/* A commit tries some of them. Texts that were seen before are not built again. */
static void add_job(jobs *js, job *j) {
    if (!fc_test_takes(6)) return;
    fc_sample_run run;
    fc_class cls;
    fc_launch l;
    fc_str text;
    char name[16];
    fc_str_init(&text, &fc_libc_alloc);
    if (prepare(j, &run, &cls, &l) && l.grid[0] && emit(j, &run, &cls, "NAME", &text)) {
        for (j->text = 0; j->text < js->texts.len; j->text++)
            if (strcmp(js->texts.at[j->text], text.data) == 0) break;
        if (j->text == js->texts.len) {
            (void)fc_push(&fc_libc_alloc, &js->texts, fc_strdup(&fc_libc_alloc, text.data));
            fc_str_clear(&text);
            snprintf(name, sizeof name, "k%u", j->text);
            if (emit(j, &run, &cls, name, &text)) fc_cuda_host_add(&js->host, text.data);
        }
    }
    fc_str_free(&text);
    fc_sample_close(&run);
    (void)fc_push(&fc_libc_alloc, &js->all, *j);
}

/* Of the sizes numbers first, first + step, ... */
static void add_sizes(jobs *js, const fc_sample *s, const fc_machine *m, uint32_t align, bool wide,
                      size_t first, size_t step) {
    const int64_t(*sizes)[FC_SAMPLE_SIZES] = s->nsizes == 1   ? sizes1
                                             : s->nsizes == 2 ? sizes2
                                                              : sizes3;
    size_t n = s->nsizes == 1   ? FC_COUNT(sizes1)
               : s->nsizes == 2 ? FC_COUNT(sizes2)
                                : FC_COUNT(sizes3);
    for (size_t i = first; i < n; i += step) {
        bool empty = false;
        for (unsigned k = 0; k < s->nsizes; k++) empty |= sizes[i][k] == 0;
        if (empty && s->needs_elements) continue;
        job j = {s, sizes[i], m, align, wide, 0};
        add_job(js, &j);
    }
}

/* Of contractions: around tiles and chunks; machines of few SMs take the larger tiles.
 * Where operands are made there is room for that. */
static void add_products(jobs *js, const fc_sample *s) {
    static const int64_t sizes[][FC_SAMPLE_SIZES] = {
        {130, 140, 300}, {129, 65, 513},  {64, 200, 16},    {2, 129, 257}, /* and for 16 bits: */
        {136, 144, 328}, {16, 72, 2064},  {24, 8, 4168},    {40, 16, 20000},
        {256, 128, 72},  {120, 56, 4232}, {1, 40, 256},     {16, 64, 0},
        {3, 40, 8336},   {24, 40, 2056},  {136, 144, 1032}, /* and for chains: */
        {9, 300, 1281},  {300, 5, 2049},  {20, 24, 9999},   /* and for elements of 1 and 4 bytes: */
        {132, 512, 324}, {144, 272, 4112}};
    enum { HALVES = 4, CHAINS = 15, BYTES = 18 };
    const bool bytes = fc_sample_rounds(s) || strstr(s->name, "bytes_"),
               halves = strstr(s->name, "halves") || bytes, made = strstr(s->name, "made"),
               f64 = strstr(s->name, "batch") || strstr(s->name, "doubles");
    const fc_machine *const machines[] = {made ? &fc_cuda_narrow : &fc_cuda_small,
                                          halves || f64 ? &fc_cuda_h200 : &fc_cuda_big,
                                          &fc_cuda_clustered};
    if (strncmp(s->name, "product", 7) != 0) return;
    for (size_t i = 0; i < FC_COUNT(sizes); i++) {
        if (i >= BYTES ? !bytes : halves ? i >= CHAINS : i >= HALVES && i < CHAINS) continue;
        for (int m = 0; m < (halves || f64 ? 3 : 2); m++) {
            job j = {s, sizes[i], machines[m], 64, i == 3, 0};
            add_job(js, &j);
        }
    }
}

/* ---- schedules that only some sizes have ------------------------------------------------------
 */

static bool is_gang(const fc_class *cls) {
    return cls->cuda.split == FC_CUDA_GANG;
}
static bool is_ring(const fc_class *cls) {
    return cls->cuda.kind == FC_CUDA_RING;
}
static bool is_cluster(const fc_class *cls) {
    return cls->cuda.kind == FC_CUDA_CLUSTER;
}
static bool is_full_column(const fc_class *cls) {
    return cls->cuda.kind == FC_CUDA_OUTER && cls->cuda.full;
}

/* Of the sizes each sample takes `taken`, beginning with another one than the sample before. */
typedef struct choice {
    const char *name;
    bool (*is)(const fc_class *);
    bool others;  /* those that have another schedule run too */
    size_t least; /* jobs of it that all samples make together */
    size_t taken, sizes;
    const fc_machine *machine[2]; /* by turns, as `align` */
    uint32_t align[2];
    int64_t size[6][FC_SAMPLE_SIZES];
} choice;

static const choice choices[] = {
    /* with a chunk for each warp, with several rows for each gang, and walking over spans */
    {.name = "gangs",
     .is = is_gang,
     .others = true,
     .least = 10,
     .taken = 5,
     .sizes = 5,
     .machine = {&fc_cuda_narrow, &fc_cuda_narrow},
     .align = {4, 64},
     .size = {{2, 20000}, {5, 33000}, {7, 40004}, {1, 70000}, {1, 70001}}},
    /* whole and aligned, aligned or not with a part that is not whole, and anywhere */
    {.name = "rings",
     .is = is_ring,
     .least = 5,
     .taken = 2,
     .sizes = 3,
     .machine = {&fc_cuda_ringed, &fc_cuda_ringed},
     .align = {64, 4},
     .size = {{8, 73728}, {8, 65540}, {9, 65537}}},
    /* the same; a part may be one chunk that is not whole */
    {.name = "clusters",
     .is = is_cluster,
     .least = 8,
     .taken = 3,
     .sizes = 5,
     .machine = {&fc_cuda_clustered, &fc_cuda_clustered},
     .align = {64, 4},
     .size = {{4, 40960}, {5, 50257}, {4, 66564}, {4, 33001}, {5, 50252}}},
    /* whose threads all have as many whole runs: split or not, one run a thread and several,
     * turned, and with counters in registers */
    {.name = "columns",
     .is = is_full_column,
     .least = 12,
     .taken = 6,
     .sizes = 6,
     .machine = {&fc_cuda_big, &fc_cuda_small},
     .align = {64, 64},
     .size = {{8192, 64}, {4096, 8}, {256, 4096}, {1024, 512}, {8192, 2}, {16384, 16}}},
};

/* The job of a choice's number k for sample number i, and whether it has that schedule. */
static bool choose(const choice *c, const fc_sample *s, size_t i, size_t k, job *j) {
    fc_sample_run run;
    fc_class cls;
    fc_launch l;
    const size_t first = c->taken < c->sizes ? i : 0;
    *j = (job){s,
               c->size[(first + k) % c->sizes],
               c->machine[k % 2],
               c->align[k % 2],
               (i + k / 2) % 2 == 0,
               0};
    const bool is = prepare(j, &run, &cls, &l) && c->is(&cls);
    fc_sample_close(&run);
    return is;
}

static void add_chosen(jobs *js, const fc_sample *s, size_t i) {
    if (s->nsizes != 2) return;
    for (size_t c = 0; c < FC_COUNT(choices); c++)
        for (size_t k = 0; k < choices[c].taken; k++) {
            job j;
            if (choose(&choices[c], s, i, k, &j) || choices[c].others) add_job(js, &j);
        }
}

static size_t count_chosen(const choice *c, const fc_sample *samples, size_t n) {
    size_t count = 0;
    job j;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c->taken && samples[i].nsizes == 2; k++)
            count += choose(c, &samples[i], i, k, &j);
    return count;
}

FC_TEST(cuda_samples, rare_schedules_occur) {
    for (size_t c = 0; c < FC_COUNT(choices); c++) {
        FC_TRACE("%s", choices[c].name);
        FC_EXPECT_GE_I64((int64_t)(count_chosen(&choices[c], fc_samples, fc_nsamples) +
                                   count_chosen(&choices[c], fc_cuda_samples, fc_ncuda_samples)),
                         (int64_t)choices[c].least);
        FC_UNTRACE();
    }
}

/* ---- running -------------------------------------------------------------------------------- */

static void launch(const fc_cuda_host *host, const job *j, fc_sample_run *run, const fc_launch *l) {
    fc_error err = {0};
    int64_t *words = fc_sample_words(run, NULL);
    const fc_layout lay = fc_layout_of(run->nargs, run->nest.np + run->nest.nr, run->nest.naccess,
                                       (uint32_t)run->kernel.params.len);
    void *workspace = malloc(l->workspace_bytes + 1);
    memset(workspace, 0xff, l->workspace_bytes);
    uint32_t *tickets = calloc(l->tickets + 1, sizeof *tickets);
    words[lay.extra + FC_PB_SPANS] = l->spans;
    words[lay.extra + FC_PB_SPAN] = l->span;
    words[lay.extra + FC_PB_WORKSPACE] = (int64_t)(intptr_t)workspace;
    words[lay.extra + FC_PB_TICKETS] = (int64_t)(intptr_t)tickets;
    if (l->grid[0]) FC_EXPECT_TRUE(fc_cuda_host_run(host, j->text, l, words));
    FC_EXPECT_OK(fc_sample_check(run, &err), &err);
    for (uint32_t t = 0; t < l->tickets; t++) FC_EXPECT_EQ_U64(tickets[t], 0);
    free(workspace);
    free(tickets);
}

static void run_job(const fc_cuda_host *host, const job *j) {
    fc_sample_run run;
    fc_class cls;
    fc_launch l;
    fc_error err = {0};
    fc_str name;
    fc_str_init(&name, &fc_libc_alloc);
    if (fc_check_status(FC_AT("open", ""), fc_sample_open(j->sample, j->size, &run, &err), FUSEC_OK,
                        &err) &&
        schedule(j, &run, &cls, &l)) {
        fc_class_print(&cls, &name);
        FC_TRACE("%s %lld %lld %lld on %d, k%u: %s", j->sample->name, (long long)j->size[0],
                 (long long)j->size[1], (long long)j->size[2], j->machine->sm_count, j->text,
                 name.data);
        launch(host, j, &run, &l);
        FC_UNTRACE();
    }
    fc_str_free(&name);
    fc_sample_close(&run);
}

static void run_sample(const fc_sample *s, size_t i, uint32_t other_align) {
    jobs js = {0};
    if (!fc_cuda_host_open(&js.host)) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    /* every size with half of the samples, so that each meets all schedules */
    add_sizes(&js, s, &fc_cuda_big, 64, false, i % 2, 2);
    add_sizes(&js, s, &fc_cuda_small, 64, i % 2 != 0, i % 4, 4);
    add_sizes(&js, s, &fc_cuda_small, other_align, i % 2 == 0, (i + 2) % 4, 4);
    add_chosen(&js, s, i);
    add_products(&js, s);
    bool built = fc_cuda_host_build(&js.host);
    FC_EXPECT_TRUE(built);
    for (size_t k = 0; built && k < js.all.len; k++) run_job(&js.host, &js.all.at[k]);
    fc_cuda_host_close(&js.host);
    for (size_t k = 0; k < js.texts.len; k++) fc_free(&fc_libc_alloc, js.texts.at[k]);
    fc_vec_free(&fc_libc_alloc, &js.texts);
    fc_vec_free(&fc_libc_alloc, &js.all);
}

static void run_common(void *arg) {
    const fc_sample *s = arg;
    run_sample(s, (size_t)(s - fc_samples), 4);
}
/* Some have elements of 8 bytes. */
static void run_own(void *arg) {
    const fc_sample *s = arg;
    const size_t i = (size_t)(s - fc_cuda_samples);
    run_sample(s, i, i % 2 ? 4 : 8);
}

FC_REGISTER(cuda_samples) {
    for (size_t i = 0; i < fc_nsamples; i++)
        FC_ADD_TEST("cuda_samples", fc_samples[i].name, run_common, &fc_samples[i]);
    for (size_t i = 0; i < fc_ncuda_samples; i++)
        FC_ADD_TEST("cuda_samples", fc_cuda_samples[i].name, run_own, &fc_cuda_samples[i]);
}
