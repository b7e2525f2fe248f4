/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* widths.h - whole programs at every vector width of the processor, and the data they get.
 *
 * A width_check is a program with its inputs. It runs on the interpreter, and on the CPU at each
 * width that this processor has; the results have to have equal bits. */
#ifndef FUSEC_TESTS_SUPPORT_WIDTHS_H
#define FUSEC_TESTS_SUPPORT_WIDTHS_H

#include "runtime/program.h"

typedef struct width_processor {
    const char *name, *cpu; /* cpu: LLVM's name; NULL: the host */
    int vector_bytes;
    unsigned features;
} width_processor;

enum { WIDTH_PROCESSORS = 4 };
extern const width_processor width_processors[WIDTH_PROCESSORS]; /* the host is the first */

enum { WIDTH_INPUTS = 3, WIDTH_OUTPUTS = 4 };

typedef struct width_target {
    fc_context *ctx;
    fc_device *device;
} width_target;

/* False: this processor lacks something. p == NULL: the interpreter. `cache` is the machine's last
 * one and its near one; 0: its own near one, and no last one. */
bool width_open(width_target *t, const width_processor *p, size_t cache);

typedef struct width_input {
    const char *name;
    fusec_dtype dtype;
    uint32_t rank;
    int64_t shape[4];
} width_input;

typedef struct width_arrays {
    uint32_t n;
    fc_tensor t[WIDTH_OUTPUTS];
    size_t bytes[WIDTH_OUTPUTS];
    char *base[WIDTH_OUTPUTS];
    int64_t shape[16];
} width_arrays;

/* Memory for array i `skew` bytes past an aligned place, with a guard around it. */
void width_place(width_arrays *a, uint32_t i, size_t skew);
void width_free(width_arrays *a);

fusec_status width_compile(const char *text, const width_input *in, uint32_t n, fc_graph *g,
                           fc_error *e);
/* Makes `out`, each result with its skew. */
fusec_status width_run(const width_target *t, const fc_graph *g, const width_arrays *in,
                       const size_t *skew, width_arrays *out, fc_error *e);
/* Equal bits, but for the bits of a nan; guards that hold. */
void width_compare(const width_arrays *want, const width_arrays *got);

typedef struct width_check {
    const char *text;
    width_input in[WIDTH_INPUTS];
    uint32_t n;
    void (*fill)(const fc_tensor *t, uint64_t seed);
    size_t cache; /* of the machine; 1: everything is streamed */
    size_t skew[WIDTH_OUTPUTS];
    bool functions; /* of libm: not at the narrowest width */
    bool own;       /* compared with the CPU at its own width and with a large cache */
    bool quick;     /* it is quick code that is compared */
} width_check;

/* Makes the inputs. */
void width_fill(const width_check *c, width_arrays *in);
void width_run_check(const width_check *c);

/* ---- fills ---------------------------------------------------------------------------------- */

/* Numbers whose sums round in every step; small integers. */
void width_plain(const fc_tensor *t, uint64_t seed);
/* Of f32: few values, so that there are ties; zeros of both signs; now and then an infinity or a
 * nan. */
void width_ties(const fc_tensor *t, uint64_t seed);
/* All bits are possible. */
void width_any_bits(const fc_tensor *t, uint64_t seed);
/* Of 16 bits: each in turn; of few elements numbers around 1 with all mantissas. */
void width_every(const fc_tensor *t, uint64_t seed);

#endif
