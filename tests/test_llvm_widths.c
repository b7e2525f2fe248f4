/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_llvm_widths.c - whole programs at every vector width of the processor, against the
 * interpreter, to the bit: what the CPU engine does differently for some shapes (tiles, short rows,
 * stores that pass by the cache, extremes, divisions by one number, kept values). NEON is in
 * test_llvm_neon.c.
 *
 * Only operations without functions of libm are used where the narrowest width takes part: it has
 * no fma and calls libm for those. */
#include "tests/support/test.h"
#include "tests/support/widths.h"

#include <stdio.h>

static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64, FUSEC_I8, FUSEC_BF16, FUSEC_I64};

FC_TEST(llvm_widths, tiles) {
    const int64_t sizes[][2] = {{64, 64}, {70, 33}, {17, 130}, {8, 200}, {131, 16}};
    for (size_t i = 0; i < FC_COUNT(sizes) * FC_COUNT(dtypes); i++) {
        const int64_t n = sizes[i % FC_COUNT(sizes)][0], m = sizes[i % FC_COUNT(sizes)][1];
        const fusec_dtype t = dtypes[i / FC_COUNT(sizes)];
        width_check c = {.text = "a.T + b + c", .n = 3, .fill = width_plain};
        c.in[0] = (width_input){"a", t, 2, {m, n}};
        c.in[1] = (width_input){"b", t, 2, {n, m}};
        c.in[2] = (width_input){"c", t, 2, {n, 1}};
        width_run_check(&c);
    }
    width_check c = {
        .text = "transpose(a, (2, 0, 1))*2 + transpose(b, (1, 2, 0))", .n = 2, .fill = width_plain};
    c.in[0] = (width_input){"a", FUSEC_F32, 3, {19, 35, 21}};
    c.in[1] = (width_input){"b", FUSEC_F32, 3, {35, 21, 19}};
    width_run_check(&c);
}

/* Panels whose columns, or rows, are the places of pictures (llvm_dot_window.c). */
FC_TEST(llvm_widths, convolutions) {
    static const char *const first[] = {
        "conv(a, b, padding=1)", "conv(a, b, stride=2, padding=[0, [1, 2]], dilation=[2, 1])",
        "maximum(conv(a, b) + b[:, :1, :1, 0], 0)"};
    for (size_t i = 0; i < FC_COUNT(first) * FC_COUNT(dtypes); i++) {
        const fusec_dtype t = dtypes[i / FC_COUNT(first)];
        width_check c = {.text = first[i % FC_COUNT(first)], .n = 2, .fill = width_plain};
        c.in[0] = (width_input){"a", t, 4, {3, 5, 9, 13}};
        c.in[1] = (width_input){"b", t, 4, {17, 5, 3, 3}};
        width_run_check(&c);
    }
    for (size_t i = 0; i < FC_COUNT(dtypes); i++) {
        width_check c = {
            .text = "einsum(\"nhwcuv,cuvf->nhwf\", window(window(a, 3, axis=1), 3, axis=2), b)",
            .n = 2,
            .fill = width_plain};
        c.in[0] = (width_input){"a", dtypes[i], 4, {2, 9, 8, 31}};
        c.in[1] = (width_input){"b", dtypes[i], 4, {31, 3, 3, 35}};
        width_run_check(&c);
    }
}

/* Maps in two texts (llvm_inside.c): every mode and way of joining, rows that end anywhere, stores
 * that pass by the cache. */
FC_TEST(llvm_widths, edges) {
    static const struct {
        const char *text;
        fusec_dtype dtype;
        int64_t rows, x, y; /* lengths of rows; y: 0, there is no second input */
        size_t cache;
    } cases[] = {
        {"b = boundary(x, mode=\"edge\"); b[i - 1, j] + b[i + 1, j] + b[i, j - 1]*2 + b[i, j + 3]",
         FUSEC_F32, 5, 133, 0, 1},
        {"b = boundary(x, mode=\"reflect\"); b[i - 1, j - 2] + b[i + 1, j + 1]", FUSEC_F32, 4, 70,
         0, 0},
        {"b = boundary(x, mode=\"symmetric\"); b[i - 1, j] + b[i, j + 50]", FUSEC_F64, 3, 41, 0, 1},
        {"b = boundary(x, mode=\"wrap\"); b[i, j - 20] + b[i + 1, j + 140]", FUSEC_F32, 3, 67, 0,
         1},
        {"b = boundary(x, mode=\"zero\"); b[i, j - 9] + b[i + 1, j + 1]", FUSEC_BF16, 3, 150, 0, 1},
        {"b = boundary(x, mode=\"edge\"); b[i, 2*j - 3] + b[i, 40 - j]", FUSEC_F32, 2, 67, 0, 0},
        {"p = pad(x, [[0, 0], [1, 2]], mode=\"edge\"); (p[:, :131]*2, f64(p[:, 3:]))", FUSEC_F32, 4,
         131, 0, 1},
        {"b = boundary(x, mode=\"edge\"); b[i, j + 1] - b[i, j - 1]", FUSEC_F32, 2, 128, 0, 0},
        {"concat([x, y + 1, x], axis=1)*2", FUSEC_I8, 3, 77, 150, 1},
        {"concat([x, y + 1, x], axis=1)*2", FUSEC_I8, 3, 1040, 2000, 1},
        {"concat([x, y + 1, x], axis=1)*2", FUSEC_I8, 3, 80, 96, 1},
        {"roll(x, 5, axis=1) - pad(y, [[1, 0], [3, 17]], value=5)", FUSEC_F32, 3, 90, 70, 1},
        {"tile(x, [1, 3])", FUSEC_I64, 2, 35, 0, 0},
        {"where(arange(3)[:, None]*20 >= arange(70)[None], x, 0)", FUSEC_F32, 3, 70, 0, 0},
    };
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        char text[300];
        const bool indexed = strstr(cases[i].text, "b[i") != NULL;
        const char *at = indexed ? strstr(cases[i].text, "; ") + 2 : cases[i].text;
        if (indexed)
            snprintf(text, sizeof text, "%.*su[i in 0..%d, j in 0..%d] = %s; u",
                     (int)(at - cases[i].text), cases[i].text, (int)cases[i].rows, (int)cases[i].x,
                     at);
        else
            snprintf(text, sizeof text, "%s", at);
        width_check c = {.text = text,
                         .n = cases[i].y ? 2 : 1,
                         .fill = width_plain,
                         .cache = cases[i].cache,
                         .skew = {4, 8}};
        c.in[0] = (width_input){"x", cases[i].dtype, 2, {cases[i].rows, cases[i].x}};
        c.in[1] = (width_input){"y", cases[i].dtype, 2, {cases[i].rows, cases[i].y}};
        if (strstr(text, "pad(")) c.in[1].shape[0]--;
        width_run_check(&c);
    }
}

/* Reductions of what is read across an edge: whole arrays and rows, vectors across the end of a
 * row, several results, places of extremes. */
FC_TEST(llvm_widths, reductions_at_edges) {
    static const struct {
        const char *mode, *text;
        fusec_dtype dtype;
        int64_t rows, columns;
    } cases[] = {{"wrap", "sum(u)", FUSEC_F32, 23, 131},
                 {"edge", "sum(u, axis=1)", FUSEC_F64, 5, 1200},
                 {"reflect", "(sum(u), max(u))", FUSEC_I16, 9, 64},
                 {"symmetric", "var(u)", FUSEC_F32, 40, 33},
                 {"zero", "argmax(u, axis=1)", FUSEC_I8, 4, 300},
                 {"wrap", "argmin(u)", FUSEC_F32, 3, 2060},
                 {"edge", "max(u, axis=1)", FUSEC_BF16, 3, 517},
                 {"wrap", "sum(u, axis=1)", FUSEC_I64, 7, 140}};
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "b = boundary(x, mode=\"%s\"); u[i in 0..%d, j in 0..%d] = b[i - 1, j]*3 + b[i, j "
                 "+ 2] - b[i + 1, j - 1]; %s",
                 cases[i].mode, (int)cases[i].rows, (int)cases[i].columns, cases[i].text);
        width_check c = {.text = text, .n = 1, .fill = width_plain, .skew = {4}};
        c.in[0] = (width_input){"x", cases[i].dtype, 2, {cases[i].rows, cases[i].columns}};
        width_run_check(&c);
    }
}

/* Pixels of few channels: lanes go over two axes. */
FC_TEST(llvm_widths, channels) {
    static const struct {
        const char *mode;
        fusec_dtype dtype;
        int64_t channels;
        size_t cache;
    } cases[] = {{"edge", FUSEC_U8, 3, 1},
                 {"reflect", FUSEC_F32, 3, 1},
                 {"wrap", FUSEC_F64, 2, 0},
                 {"zero", FUSEC_F32, 7, 0},
                 {"symmetric", FUSEC_I16, 4, 1}};
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "b = boundary(x, mode=\"%s\"); "
                 "u[i in 0..5, j in 0..29, k] = b[i - 1, j - 2, k] + b[i, j + 1, k]*2 + j + k; u",
                 cases[i].mode);
        width_check c = {
            .text = text, .n = 1, .fill = width_plain, .cache = cases[i].cache, .skew = {8}};
        c.in[0] = (width_input){"x", cases[i].dtype, 3, {5, 29, cases[i].channels}};
        width_run_check(&c);
    }
}

/* Pixels of few channels, and what there is one of for each pixel or each channel. */
FC_TEST(llvm_widths, pixels_and_channels) {
    static const struct {
        const char *text;
        fusec_dtype dtype, other;
        int64_t rows, pixels, channels;
    } cases[] = {{"x*m[:, :, None]", FUSEC_F32, FUSEC_F32, 1, 1000, 3},
                 {"x + m[:, :, None]*c", FUSEC_U8, FUSEC_U8, 3, 333, 3},
                 {"x*2 + where(m[:, :, None], x, 1)", FUSEC_F64, FUSEC_BOOL, 2, 70, 4},
                 {"x - m[:, :, None]*c", FUSEC_I64, FUSEC_I64, 5, 67, 2},
                 {"f32(x)*m[:, :, None]", FUSEC_I8, FUSEC_BF16, 1, 4099, 3},
                 {"x + c", FUSEC_BF16, FUSEC_F32, 7, 9, 4},
                 {"x[:, 1:]*m[:, :-1, None]", FUSEC_F32, FUSEC_F32, 4, 130, 3}};
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        const fusec_dtype of_channel =
            cases[i].other == FUSEC_BOOL ? cases[i].dtype : cases[i].other;
        width_check c = {.text = cases[i].text, .n = 1, .fill = width_plain, .skew = {8, 4}};
        c.in[0] = (width_input){
            "x", cases[i].dtype, 3, {cases[i].rows, cases[i].pixels, cases[i].channels}};
        if (strstr(c.text, "m["))
            c.in[c.n++] = (width_input){"m", cases[i].other, 2, {cases[i].rows, cases[i].pixels}};
        if (strstr(c.text, " c") || strstr(c.text, "*c"))
            c.in[c.n++] = (width_input){"c", of_channel, 1, {cases[i].channels}};
        width_run_check(&c);
    }
}

FC_TEST(llvm_widths, short_rows) {
    static const char *const texts[] = {
        "sum(x, axis=1)", "(argmax(x, axis=1), max(x, axis=1))", "var(x, axis=1)",
        "m = mean(x, axis=1, keepdims=true); (x - m) / (max(x, axis=1, keepdims=true) + y)"};
    const int64_t counts[] = {1, 2, 3, 8, 9, 16, 17, 64, 100, 127};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i / FC_COUNT(counts)], .n = 1, .fill = width_plain};
        const int64_t count = counts[i % FC_COUNT(counts)];
        c.in[0] = (width_input){"x", FUSEC_F32, 2, {i % 2 ? 67 : 200, count}};
        c.in[1] = (width_input){"y", FUSEC_F32, 1, {count}};
        c.n = strstr(c.text, "+ y") ? 2 : 1;
        width_run_check(&c);
    }
    width_check c = {
        .text = "d = a[:, None, :] - b[None, :, :]; sum(d*d, axis=2)", .n = 2, .fill = width_plain};
    c.in[0] = (width_input){"a", FUSEC_F64, 2, {37, 3}};
    c.in[1] = (width_input){"b", FUSEC_F64, 2, {41, 3}};
    width_run_check(&c);
}

/* Columns from memory, in wide blocks, with spans and without. */
FC_TEST(llvm_widths, wide_columns) {
    static const char *const texts[] = {"sum(x, axis=0)", "max(abs(x - y), axis=0)",
                                        "(argmin(x, axis=0), sum(x, axis=0))", "var(x, axis=0)",
                                        "sum(x[::3]*y[:, None], axis=0)"};
    for (size_t i = 0; i < 2 * FC_COUNT(texts); i++) {
        const bool bf16 = i % FC_COUNT(texts) == 1, thinned = i % FC_COUNT(texts) == 4;
        const int64_t width = i < FC_COUNT(texts) ? 4200 : 141;
        width_check c = {
            .text = texts[i % FC_COUNT(texts)], .n = 1, .fill = width_plain, .cache = 1};
        c.in[0] =
            (width_input){"x", bf16 ? FUSEC_BF16 : FUSEC_F32, 2, {thinned ? 1900 : 633, width}};
        c.in[1] = (width_input){"y", bf16 ? FUSEC_BF16 : FUSEC_F32, 1, {thinned ? 634 : width}};
        c.n = strstr(c.text, "y") ? 2 : 1;
        width_run_check(&c);
    }
    width_check c = {.text = "sum(x*x, axis=1)", .n = 1, .fill = width_plain, .cache = 1};
    c.in[0] = (width_input){"x", FUSEC_F32, 3, {128, 130, 133}};
    width_run_check(&c);
    c.in[0] = (width_input){"x", FUSEC_F32, 3, {2, 2300, 133}};
    width_run_check(&c);
    c.text = "sum(x, axis=0)"; /* rows that would meet in the sets of a cache */
    c.in[0] = (width_input){"x", FUSEC_F32, 2, {130, 16384}};
    width_run_check(&c);
}

/* Scans that go row after row: one block of columns and several, the last ones not whole, stores
 * that pass by the cache, accumulators of 8 bytes and records. */
FC_TEST(llvm_widths, scans_row_after_row) {
    static const char *const texts[] = {
        "cumsum(x, axis=0)",
        "cumsum(x, axis=0, exclusive=true)*2 + x",
        "cumprod(x*0.25 + 1, axis=0, reverse=true)",
        "(cummax(x, axis=0), cumsum(x*x, axis=0))",
        "linrec(x*0.5, x, axis=0)",
        "cumsum(x, axis=0, reset=x > 0.5)",
        "cumsum(f64(x), axis=0)",
        "cumsum(x[:, ::-1], axis=0) - max(x, axis=1, keepdims=true)",
        "cumsum(x[::2], axis=0)"};
    static const int64_t shapes[][2] = {
        {600, 70}, {777, 1100}, {512, 2048}, {1000, 64}, {300, 2600}};
    for (size_t i = 0; i < FC_COUNT(texts) * FC_COUNT(shapes); i++) {
        const int64_t *shape = shapes[i / FC_COUNT(texts)];
        width_check c = {
            .text = texts[i % FC_COUNT(texts)], .n = 1, .fill = width_plain, .cache = i % 2};
        c.in[0] = (width_input){"x", FUSEC_F32, 2, {shape[0], shape[1]}};
        width_run_check(&c);
    }
    width_check c = {.text = "cumsum(x, axis=1)", .n = 1, .fill = width_plain, .cache = 1};
    c.in[0] = (width_input){"x", FUSEC_F32, 3, {3, 300, 130}};
    width_run_check(&c);
}

/* A row is one vector, of 4 to 128 lanes; runs that are written out, and long spans. */
FC_TEST(llvm_widths, few_columns) {
    static const char *const texts[] = {"sum(x, axis=0)", "max(-x, axis=0)", "sum(x*x + y, axis=0)",
                                        "(argmax(x, axis=0), var(x, axis=0))",
                                        "sum(x[::-2], axis=0)"};
    const int64_t widths[] = {2, 3, 4, 5, 8, 9, 16, 23, 64, 77, 128},
                  counts[] = {1, 16, 37, 5003, 66000};
    for (size_t i = 0; i < FC_COUNT(widths) * FC_COUNT(counts); i++) {
        const int64_t width = widths[i % FC_COUNT(widths)], count = counts[i / FC_COUNT(widths)];
        const fusec_dtype t = dtypes[i % FC_COUNT(dtypes)];
        width_check c = {.text = texts[(i + i / FC_COUNT(widths)) % FC_COUNT(texts)],
                         .n = 1,
                         .fill = width_plain,
                         .cache = i % 2};
        if (width > 23 && count > 5003) continue;
        c.in[0] = (width_input){"x", t, 2, {count, width}};
        c.in[1] = (width_input){"y", t, 1, {width}};
        c.n = strstr(c.text, "y") ? 2 : 1;
        width_run_check(&c);
    }
}

/* The same with results for each element, with several axes of either kind, and backwards. */
FC_TEST(llvm_widths, few_columns_of_several_axes) {
    static const char *const texts[] = {"x - mean(x, axis=0)",
                                        "sum(x, axis=1)",
                                        "sum(x, axis=(0, 1)) + max(x, axis=(0, 1))",
                                        "sum(x[:, ::-1], axis=1)",
                                        "sum(x[:, :, 1:], axis=1)",
                                        "sum(x*x[:, :, :1], axis=1)"};
    const int64_t widths[] = {3, 4, 20, 64, 100};
    for (size_t i = 0; i < FC_COUNT(texts) * FC_COUNT(widths); i++) {
        width_check c = {
            .text = texts[i % FC_COUNT(texts)], .n = 1, .fill = width_plain, .cache = i % 2};
        c.in[0] = (width_input){
            "x", i % 4 ? FUSEC_F32 : FUSEC_F64, 3, {5, 307, widths[i / FC_COUNT(texts)]}};
        width_run_check(&c);
    }
}

/* Pairs of rows: what lies across the lanes is the same for all rows of a block. */
FC_TEST(llvm_widths, pairs_of_short_rows) {
    static const char *const texts[] = {
        "sum((a[:, None, :] - b[None, :, :])**2, axis=-1)",
        "(argmax(a[:, None, :] * b[None, :, :], axis=-1), mean(a[:, None, :] + b, axis=-1))",
        "x = a[:, None, :] - b[None, :, :]; x*max(x, axis=-1, keepdims=true)",
        "sum(exp(a[:, None, :] - b[None, :, :]), axis=-1)",
        "max(sum(a*a) - b[None, None, :, :] + c[:, :, None, :], axis=-1)",
        "sum(a[:, None, :]*(b[None, :, :] - b[None, ::-1, :])*b[None, :, ::-1], axis=-1)"};
    const int64_t counts[] = {1, 2, 3, 5, 7, 8, 16, 41};
    const int64_t sizes[][2] = {{5, 16}, {64, 33}, {70, 130}, {3, 64}};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i / FC_COUNT(counts)], .n = 2, .fill = width_plain};
        const int64_t count = counts[i % FC_COUNT(counts)];
        const int64_t *size = sizes[(i + i / FC_COUNT(counts)) % FC_COUNT(sizes)];
        const fusec_dtype t = i % 3 == 2 ? FUSEC_BF16 : FUSEC_F32;
        c.in[0] = (width_input){"a", t, 2, {size[0], count}};
        c.in[1] = (width_input){"b", t, 2, {size[1], count}};
        c.in[2] = (width_input){"c", t, 3, {2, size[0], count}};
        c.n = strstr(c.text, "+ c") ? 3 : 2;
        c.own = c.functions = strstr(c.text, "exp") != NULL;
        width_run_check(&c);
    }
}

/* Vectors along the rows, joined across them: every number of vectors, masked and whole, and rows
 * that do not follow each other. */
FC_TEST(llvm_widths, packed_rows) {
    static const char *const texts[] = {"sum(x, axis=1)", "max(x, axis=1)",
                                        "(y, sum(x[:, 1:]*y[:, :-1] + k, axis=1))"};
    const int64_t counts[] = {4, 7, 8, 15, 16, 17, 32, 33, 48, 65, 96, 112, 127};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i % FC_COUNT(texts)],
                         .n = 1,
                         .fill = i % 2 ? width_plain : width_any_bits};
        const fusec_dtype t = dtypes[i * 7 / 2 % FC_COUNT(dtypes)];
        const int64_t rows = i % 2 ? 67 : 16, count = counts[i / FC_COUNT(texts)];
        c.in[0] = (width_input){"x", t, 2, {rows, count}};
        c.in[1] = (width_input){"y", t, 2, {rows, count}};
        c.in[2] = (width_input){"k", t, 1, {1}};
        if (strstr(c.text, "+ k")) c.n = 3;
        width_run_check(&c);
    }
    width_check zeros = {.text = "(sum(x - x - 0.0, axis=1), sum(-0.0*abs(x), axis=1))", .n = 1};
    zeros.fill = width_plain;
    zeros.in[0] = (width_input){"x", FUSEC_F32, 2, {40, 20}};
    width_run_check(&zeros);
}

/* The same with what all rows share and what each has once: a vector, weights, and results with
 * code behind them. */
FC_TEST(llvm_widths, packed_rows_that_share) {
    static const char *const texts[] = {"x @ v", "sum(x*v - r[:, None], axis=1)*r",
                                        "sum(c*v, axis=2) + r"};
    const int64_t counts[] = {8, 15, 33, 64, 100, 127};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 2, .fill = width_plain};
        const fusec_dtype t = dtypes[i * 5 % 2];
        const int64_t rows = i % 2 ? 67 : 16, count = counts[i / FC_COUNT(texts)];
        const bool batch = strstr(c.text, "c*") != NULL;
        c.in[0] = (width_input){"x", t, 2, {rows, count}};
        if (batch) c.in[0] = (width_input){"c", t, 3, {3, rows, count}};
        c.in[1] = (width_input){"v", t, 1, {count}};
        c.in[2] = (width_input){"r", t, 1, {rows}};
        if (strchr(c.text, 'r')) c.n = 3;
        width_run_check(&c);
    }
}

/* Variances of rows up to a chunk: some rows at a time, fewer at the end, bands that are whole and
 * not, several reductions, what all rows share. */
FC_TEST(llvm_widths, bands_of_rows) {
    static const char *const texts[] = {"var(x, axis=1)", "(mean(x, axis=1), var(x*v, axis=1))",
                                        "sqrt(var(x - r[:, None], axis=1)) + r",
                                        "(var(x, axis=1), max(x + 1, axis=1))"};
    const int64_t counts[] = {128, 129, 200, 256, 513, 1000, 1023}, sizes[] = {35, 64, 41};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i % FC_COUNT(texts)],
                         .n = strstr(texts[i % FC_COUNT(texts)], "v,") ? 2 : 1,
                         .fill = i % 5 == 4 ? width_any_bits : width_plain};
        const fusec_dtype t = i % 3 == 1 ? FUSEC_F64 : FUSEC_F32;
        const int64_t rows = sizes[i % FC_COUNT(sizes)], count = counts[i / FC_COUNT(texts)];
        c.in[0] = (width_input){"x", t, 2, {rows, count}};
        c.in[1] = (width_input){"v", t, 1, {count}};
        if (strchr(c.text, '[')) c.in[1] = (width_input){"r", t, 1, {rows}}, c.n = 2;
        width_run_check(&c);
    }
}

/* A vector and a matrix that lies along the sum: tiles of columns, whole and not, several runs,
 * other inputs beside the matrix. */
FC_TEST(llvm_widths, columns_across) {
    static const char *const texts[] = {"a @ b.T", "(a @ b.T)*2 + r", "sum(b.T, axis=0)",
                                        "sum(b.T*r - 1, axis=0)", "max(b.T, axis=0)"};
    const int64_t sizes[][2] = {{16, 16}, {33, 300}, {70, 256}, {12, 41}, {64, 531}};
    for (size_t i = 0; i < FC_COUNT(sizes) * FC_COUNT(texts); i++) {
        const char *text = texts[i % FC_COUNT(texts)];
        const int64_t *size = sizes[i / FC_COUNT(texts)];
        const fusec_dtype t = dtypes[i % FC_COUNT(dtypes)];
        const width_input a = {"a", t, 2, {1, size[1]}}, b = {"b", t, 2, {size[0], size[1]}},
                          r = {"r", t, 1, {size[0]}};
        width_check c = {.text = text, .fill = width_plain};
        if (strchr(text, '@')) c.in[c.n++] = a;
        c.in[c.n++] = b;
        if (strchr(text, 'r')) c.in[c.n++] = r;
        width_run_check(&c);
    }
    width_check heads = {.text = "a @ transpose(b, (0, 2, 1))", .n = 2, .fill = width_plain};
    heads.in[0] = (width_input){"a", FUSEC_F32, 3, {3, 1, 40}};
    heads.in[1] = (width_input){"b", FUSEC_F32, 3, {3, 50, 40}};
    width_run_check(&heads);
}

FC_TEST(llvm_widths, streams) {
    const int64_t sizes[] = {1, 15, 64, 1000, 4099, 70001};
    for (size_t i = 0; i < FC_COUNT(sizes) * 6; i++) {
        const int64_t n = sizes[i % FC_COUNT(sizes)];
        width_check c = {
            .text = "(x*2 + 1, f64(x) - 1, x > 0)", .n = 1, .fill = width_plain, .cache = 1};
        c.in[0] = (width_input){"x", FUSEC_F32, 1, {n}};
        c.skew[0] = 4 * (i / FC_COUNT(sizes));
        c.skew[1] = 8 * (i / FC_COUNT(sizes) % 2);
        c.skew[2] = i / FC_COUNT(sizes);
        width_run_check(&c);
        c.text = "x*2 + 1";
        width_run_check(&c);
    }
    const int64_t rows[][2] = {{3, 1024}, {5, 1003}, {9, 16}, {7, 4096}};
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        width_check c = {
            .text = "x - mean(x, axis=1, keepdims=true)", .n = 1, .fill = width_plain, .cache = 1};
        c.in[0] = (width_input){"x", FUSEC_F32, 2, {rows[i][0], rows[i][1]}};
        c.skew[0] = 4 * i;
        width_run_check(&c);
        c.text = "x + x[:, :1]";
        width_run_check(&c);
    }
}

/* Memory is asked for ahead of the loads, also beyond the ends of arrays; transposed tiles are
 * streamed where rows are whole lines. */
FC_TEST(llvm_widths, asks_ahead) {
    static const char *const softmax =
        "e = exp(x - max(x, axis=1, keepdims=true)); e / sum(e, axis=1, keepdims=true)";
    static const struct {
        const char *text;
        int64_t x[2], y[2];
    } cases[] = {
        {"x.T + y", {64, 96}, {96, 64}},
        {"x.T + y", {50, 80}, {80, 50}},
        {"x.T * 2", {80, 130}, {1, 1}},
        {"(x.T + y, f64(x.T), y > 0)", {128, 70}, {70, 128}},
        {"exp(x) + y", {3, 1001}, {3, 1001}},
        {"sum(exp(x), axis=1)", {5, 3000}, {1, 1}},
        {"sum(exp(x), axis=1)", {2, 140000}, {1, 1}},
        {"mean(x, axis=1, keepdims=true) * x", {4, 20000}, {1, 1}},
        {"(x - mean(x, axis=1, keepdims=true)) * y", {40, 30}, {1, 30}},
    };
    for (size_t i = 0; i < FC_COUNT(cases) * 2; i++) {
        const size_t n = i % FC_COUNT(cases);
        width_check c = {.text = cases[n].text, .n = 2, .fill = width_plain, .cache = 1};
        c.own = strstr(c.text, "exp") != NULL;
        if (!strchr(c.text, 'y')) c.n = 1;
        c.in[0] = (width_input){"x", FUSEC_F32, 2, {cases[n].x[0], cases[n].x[1]}};
        c.in[1] = (width_input){"y", FUSEC_F32, 2, {cases[n].y[0], cases[n].y[1]}};
        c.skew[0] = i == n ? 0 : 4;
        width_run_check(&c);
    }
    const int64_t rows[][2] = {{5, 1003}, {3, 20000}, {200, 40}, {33, 256}};
    for (size_t i = 0; i < FC_COUNT(rows); i++) {
        width_check c = {.text = softmax, .n = 1, .fill = width_plain, .cache = 1, .own = true};
        c.in[0] = (width_input){"x", FUSEC_F32, 2, {rows[i][0], rows[i][1]}};
        width_run_check(&c);
    }
}

/* Updates that go beyond the near cache ask for those of later vectors, and there are none behind
 * the last one: lengths around one vector and around as far as they look. */
FC_TEST(llvm_widths, updates_that_go_far) {
    static const char *const texts[] = {"h[k[i]] += v[i]; h", "h[k[i] + 20] += v[i]; h",
                                        "scatter(h, k, v, op=\"max\")",
                                        "h[k[i]] += i % 3; h[0:300]"};
    const int64_t sizes[] = {1, 7, 15, 17, 65, 100, 4099};
    for (size_t i = 0; i < FC_COUNT(texts) * FC_COUNT(sizes); i++) {
        const size_t t = i % FC_COUNT(texts);
        const int64_t n = sizes[i / FC_COUNT(texts)];
        width_check c = {.text = texts[t], .n = t == 3 ? 2 : 3, .cache = 1, .fill = width_plain};
        const fusec_dtype of = i / FC_COUNT(texts) % 2 ? FUSEC_F32 : FUSEC_F64;
        c.in[t != 2] = (width_input){"h", of, 1, {300}};
        c.in[t == 2] = (width_input){"k", t == 1 ? FUSEC_I8 : FUSEC_U8, 1, {n}};
        c.in[2] = (width_input){"v", of, 1, {n}};
        width_run_check(&c);
    }
}

static void fill_pairs(const fc_tensor *t, uint64_t seed) {
    const int64_t n = 2 * t->shape[0] * (t->rank > 1 ? t->shape[1] : 1);
    const fc_tensor parts = {.data = t->data, .shape = &n, .rank = 1, .dtype = FUSEC_F64};
    width_plain(&parts, seed);
}

/* Both parts of pairs, the first or the second alone, and stores of them that reach a line or not,
 * in memory that is read backwards, too. */
FC_TEST(llvm_widths, pairs_side_by_side) {
    static const char *const texts[] = {"x*y + x", "imag(x)*2 + real(y)",
                                        "(complex(imag(x), real(y)), real(x), x*2)",
                                        "conj(x[::-1]) + y", "where(real(x) > 0, x, y)"};
    const int64_t sizes[][2] = {{1, 1}, {1, 7}, {3, 33}, {1, 4099}};
    for (size_t i = 0; i < FC_COUNT(texts) * FC_COUNT(sizes) * 2; i++) {
        const int64_t *s = sizes[i / FC_COUNT(texts) % FC_COUNT(sizes)];
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 2, .fill = fill_pairs};
        c.cache = i % 2; /* 1: they pass by the cache */
        for (int k = 0; k < 2; k++)
            c.in[k] = (width_input){k ? "y" : "x", FUSEC_C128, 2, {s[0], s[1]}};
        for (int k = 0; k < WIDTH_OUTPUTS; k++) c.skew[k] = i % 3 * 8;
        width_run_check(&c);
    }
}

FC_TEST(llvm_widths, extremes) {
    static const char *const texts[] = {"(max(x, axis=1), argmin(x, axis=1))",
                                        "max(x, axis=1)",
                                        "min(x, axis=1)",
                                        "argmax(x, axis=1)",
                                        "argmin(x, axis=1)",
                                        "max(-x, axis=1)",
                                        "argmax(i32(x), axis=1)"};
    const int64_t counts[] = {128, 1000, 1152, 5120, 140000};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i / FC_COUNT(counts)], .n = 1, .fill = width_ties};
        c.in[0] =
            (width_input){"x", FUSEC_F32, 2, {3 + (int64_t)i % 4, counts[i % FC_COUNT(counts)]}};
        width_run_check(&c);
        c.fill = width_plain;
        width_run_check(&c);
    }
}

/* Extremes beside other reductions of a stage are found by themselves. */
FC_TEST(llvm_widths, extremes_among_others) {
    static const char *const texts[] = {
        "(min(x, axis=1), max(x, axis=1))",
        "(mean(x, axis=1), var(x, axis=1), min(x, axis=1), max(x, axis=1))",
        "(max(x*2, axis=1), sum(x > 0, axis=1), argmax(x, axis=1), min(-x, axis=1))",
        "(max(x, axis=1), max(i32(x), axis=1), var(x, axis=1))",
        "s = min(x, axis=1, keepdims=true); (x - s)/(max(x, axis=1, keepdims=true) - s + 1)",
        "(max(exp(x), axis=1), sum(exp(x), axis=1), min(x, axis=1))",
        "(max(x, axis=1), var(x, axis=1), sum(x, axis=1))",
        "(sum(x, axis=1), sum(x*x, axis=1), sum(x > 1, axis=1), max(x, axis=1))",
        "e = exp(x); e / (sum(e, axis=1, keepdims=true) + max(x, axis=1, keepdims=true))"};
    const int64_t counts[] = {31, 1000, 1152, 5120, 140000};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i / FC_COUNT(counts)], .n = 1, .cache = i % 2};
        const fusec_dtype t = i % 7 == 3 ? FUSEC_F64 : i % 7 == 4 ? FUSEC_BF16 : FUSEC_F32;
        c.own = c.functions = strstr(c.text, "exp") != NULL;
        c.fill = i % 3 == 0 ? width_plain : t == FUSEC_F32 ? width_ties : width_any_bits;
        c.in[0] = (width_input){"x", t, 2, {3 + (int64_t)i % 4, counts[i % FC_COUNT(counts)]}};
        width_run_check(&c);
    }
}

FC_TEST(llvm_widths, divisions) {
    const fusec_dtype floats[] = {FUSEC_F32, FUSEC_F64, FUSEC_F16, FUSEC_BF16};
    for (size_t i = 0; i < 3 * FC_COUNT(floats); i++) {
        width_check c = {
            .text = "(x / s, (x - 1) / 3)", .n = 2, .fill = i % 2 ? width_any_bits : width_plain};
        c.in[0] = (width_input){"x", floats[i / 3], 2, {2000, 48}};
        c.in[1] = (width_input){"s", floats[i / 3], 2, {2000, 1}};
        width_run_check(&c);
    }
}

/* All values of bf16, by divisors of every length: quotients near to halfway between two. */
FC_TEST(llvm_widths, divisions_of_bf16) {
    width_check c = {
        .text = "(x / s, x / s > y, where(x > 0, -x, floor(x)))", .n = 3, .fill = width_every};
    c.in[0] = (width_input){"x", FUSEC_BF16, 2, {1, 65536}};
    c.in[1] = (width_input){"s", FUSEC_BF16, 2, {33, 1}};
    c.in[2] = (width_input){"y", FUSEC_BF16, 2, {33, 1}};
    width_run_check(&c);
    c.text = "x / s";
    c.in[1] = (width_input){"s", FUSEC_BF16, 2, {64, 1}};
    c.n = 2;
    width_run_check(&c);
}

/* Quotients that are whole up to rounding, large ones, infinities, subnormals, and masked tails. */
FC_TEST(llvm_widths, remainders) {
    const fusec_dtype floats[] = {FUSEC_F32, FUSEC_F64, FUSEC_BF16};
    for (size_t i = 0; i < 4 * FC_COUNT(floats); i++) {
        width_check c = {.text = i % 2 ? "(fmod(x, y), x % y, x // y, fmod(k, y))"
                                       : "(fmod(y*7, y), fmod(x*100, y), fmod(y*k, y))",
                         .n = 3,
                         .fill = i % 4 < 2 ? width_plain : width_any_bits};
        c.in[0] = (width_input){"x", floats[i / 4], 1, {4001}};
        c.in[1] = (width_input){"y", floats[i / 4], 1, {4001}};
        c.in[2] = (width_input){"k", floats[i / 4], 1, {1}};
        width_run_check(&c);
    }
}

FC_TEST(llvm_widths, var_at_every_count) {
    const int64_t counts[] = {129, 1023, 1024, 1025, 3000, 4096};
    for (size_t i = 0; i < FC_COUNT(counts); i++) {
        width_check c = {.text = "(var(x, axis=1), var(x, axis=0), std(y, axis=1))",
                         .n = 2,
                         .fill = width_plain};
        c.in[0] = (width_input){"x", FUSEC_F32, 2, {40, counts[i]}};
        c.in[1] = (width_input){"y", FUSEC_F64, 2, {5, counts[i]}};
        width_run_check(&c);
    }
}

/* The functions are not the interpreter's: the CPU's own widths are compared with one another. */
FC_TEST(llvm_widths, kept_values) {
    const int64_t counts[] = {3, 16, 100, 1000, 8192, 8193, 16384, 16385};
    for (size_t i = 0; i < FC_COUNT(counts); i++) {
        width_input x = {"x", FUSEC_F32, 2, {30, counts[i]}};
        fc_graph g;
        fc_error e = {0};
        width_arrays in = {.n = 1}, first = {0};
        const size_t aligned[WIDTH_OUTPUTS] = {0};
        FC_ASSERT_OK(width_compile("e = exp(x - max(x, axis=1, keepdims=true)); e / sum(e, axis=1, "
                                   "keepdims=true)",
                                   &x, 1, &g, &e),
                     &e);
        in.t[0] = (fc_tensor){.dtype = x.dtype, .rank = 2, .shape = x.shape};
        width_place(&in, 0, 0);
        width_plain(&in.t[0], 3);
        for (size_t k = 0; k < WIDTH_PROCESSORS; k++) {
            width_target t;
            width_arrays got = {0};
            if (width_processors[k].vector_bytes == 16 || !width_open(&t, &width_processors[k], 0))
                continue;
            FC_EXPECT_OK(width_run(&t, &g, &in, aligned, &got, &e), &e);
            fc_context_free(t.ctx);
            if (first.n) width_compare(&first, &got);
            if (first.n)
                width_free(&got);
            else
                first = got;
        }
        width_free(&first);
        width_free(&in);
        fc_graph_free(&g);
    }
}

/* Rows that full code takes side by side, by the code of a first call: they come one after the
 * other. */
FC_TEST(llvm_widths, short_rows_in_turn) {
    static const char *const texts[] = {
        "e = exp(x - max(x, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)",
        "max(x, axis=-1)",
        "(argmin(x, axis=-1), x[..., ::-1]*y)",
        "x - mean(x*y, axis=-1, keepdims=true)",
        "(x - mean(x, axis=-1, keepdims=true)) * var(x, axis=-1, keepdims=true)",
        "log(sum(exp(x - y), axis=-1))",
        "s = sum(exp(x), axis=0); x*s"};
    const int64_t counts[] = {1, 3, 7, 10, 16, 41, 127}, rows[][2] = {{1, 16}, {3, 67}, {5, 130}};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 2, .fill = width_plain};
        const fusec_dtype types[] = {FUSEC_F32, FUSEC_F64, FUSEC_BF16};
        const int64_t count = counts[i / FC_COUNT(texts)], *row = rows[i % 5 % FC_COUNT(rows)];
        c.in[0] = (width_input){"x", types[i % FC_COUNT(types)], 3, {row[0], row[1], count}};
        c.in[1] = (width_input){"y", types[i % FC_COUNT(types)], 2, {row[1], count}};
        c.n = strchr(c.text, 'y') ? 2 : 1;
        c.own = strstr(c.text, "exp(") != NULL;
        c.quick = true;
        width_run_check(&c);
    }
}

/* Rows of a transposed array, at the ends of lanes, groups of them and chunks. */
FC_TEST(llvm_widths, deep_rows) {
    static const char *const texts[] = {"sum(x.T, axis=1)",
                                        "(max(x.T, axis=1), argmin(x.T, axis=1))",
                                        "var(x.T, axis=1)",
                                        "(sum(x.T*w, axis=1), any(x.T > 3, axis=1))",
                                        "mean(x.T*w - v, axis=1, keepdims=true)*v",
                                        "log(sum(exp(x.T), axis=1))"};
    const fusec_dtype types[] = {FUSEC_F32, FUSEC_F64, FUSEC_BF16};
    const int64_t counts[] = {128, 135, 1024, 1025, 1153, 3077};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 1, .fill = width_plain};
        const fusec_dtype t = types[i % 5 % FC_COUNT(types)];
        const int64_t count = counts[i / FC_COUNT(texts)], rows = i % 2 ? 256 : 263;
        c.in[0] = (width_input){"x", t, 2, {count, rows}};
        if (strstr(c.text, "w")) c.in[c.n++] = (width_input){"w", t, 1, {count}};
        if (strstr(c.text, "*v")) c.in[c.n++] = (width_input){"v", t, 2, {rows, 1}};
        c.own = strstr(c.text, "exp(") != NULL;
        c.quick = i % 3 == 0;
        width_run_check(&c);
    }
}

/* Chunks by the code of a first call: whole ones, parts of one, and spans. */
FC_TEST(llvm_widths, chunks_joined_in_one_way) {
    static const char *const texts[] = {"var(x, axis=1)",
                                        "(mean(x, axis=1), std(x*x, axis=1), max(x, axis=1))",
                                        "x - var(x, axis=1, keepdims=true)",
                                        "x @ y",
                                        "(sum(x*y, axis=1), max(x, axis=1), argmin(x, axis=1))",
                                        "x - sum(x, axis=1, keepdims=true)",
                                        "(sum(x), sum(x*x))"};
    const fusec_dtype types[] = {FUSEC_F64, FUSEC_F32, FUSEC_BF16};
    const int64_t counts[] = {128, 1000, 2048, 2049, 5000, 140000};
    for (size_t i = 0; i < FC_COUNT(counts) * FC_COUNT(texts); i++) {
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 1, .fill = width_plain};
        const int64_t count = counts[i / FC_COUNT(texts)];
        const fusec_dtype t = types[i % 5 % FC_COUNT(types)];
        c.in[0] = (width_input){"x", t, 2, {count > 5000 ? 2 : 5, count}};
        c.in[1] = (width_input){"y", t, 1, {count}};
        if (strchr(c.text, 'y')) c.n = 2;
        c.quick = true;
        width_run_check(&c);
    }
}

static void full_and_quick(width_check *c) {
    width_run_check(c);
    c->quick = true;
    width_run_check(c);
}

/* Products: operands as they lie and across, from panels and from where they are, whole and low
 * tiles, several chunks. */
FC_TEST(llvm_widths, products) {
    static const char *const texts[] = {"a @ b", "(a*2) @ b + 1", "a.T @ b.T", "a @ b @ c.T",
                                        "a @ b + 1"};
    const int64_t sizes[][3] = {{1, 1, 1},    {17, 33, 5},    {30, 9, 300}, {13, 70, 520},
                                {41, 16, 64}, {40, 300, 270}, {6, 50, 40}};
    const fusec_dtype products[] = {FUSEC_F32, FUSEC_F64, FUSEC_I8, FUSEC_BF16};
    for (size_t i = 0; i < FC_COUNT(texts) * FC_COUNT(products); i++) {
        const int64_t *s = sizes[i % FC_COUNT(sizes)];
        const fusec_dtype t = products[i / FC_COUNT(texts)];
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 2, .fill = width_plain};
        c.in[0] = (width_input){"a", t, 2, {s[0], s[2]}};
        c.in[1] = (width_input){"b", t, 2, {s[2], s[1]}};
        c.in[2] = (width_input){"c", t, 2, {7, s[1]}};
        if (strstr(c.text, "a.T")) {
            c.in[0] = (width_input){"a", t, 2, {s[2], s[0]}};
            c.in[1] = (width_input){"b", t, 2, {s[1], s[2]}};
        }
        if (strstr(c.text, "c.T")) c.n = 3;
        if (c.n == 3 && t == FUSEC_I8) c.text = "a @ b @ i64(c.T)";
        full_and_quick(&c);
    }
    const int64_t rests[] = {9, 17, 33, 50, 57}; /* behind tiles of three vectors */
    for (size_t i = 0; i < FC_COUNT(rests); i++) {
        width_check c = {.text = "a @ b + 1", .n = 2, .fill = width_plain};
        c.in[0] = (width_input){"a", FUSEC_F32, 2, {3, 37}};
        c.in[1] = (width_input){"b", FUSEC_F32, 2, {37, rests[i]}};
        full_and_quick(&c);
    }
    const int64_t parts[][3] = {{601, 64, 60},
                                {100, 70, 130}}; /* in place, several units of rows */
    for (size_t i = 0; i < 2 * FC_COUNT(parts); i++) {
        const int64_t *s = parts[i / 2];
        width_check c = {.text = i % 2 ? "a @ b + 1" : "a @ b", .n = 2, .fill = width_plain};
        c.in[0] = (width_input){"a", FUSEC_F32, 2, {s[0], s[2]}};
        c.in[1] = (width_input){"b", FUSEC_F32, 2, {s[2], s[1]}};
        full_and_quick(&c);
    }
    const int64_t low[][2] = {
        {800, 9}, {800, 5}, {100, 64}, {100, 32}}; /* rows after a tile of six */
    for (size_t i = 0; i < FC_COUNT(low); i++) {
        const fusec_dtype t = i % 2 ? FUSEC_F64 : FUSEC_F32;
        width_check c = {.text = "a @ b + 1", .n = 2, .fill = width_plain};
        c.in[0] = (width_input){"a", t, 2, {5, low[i][0]}};
        c.in[1] = (width_input){"b", t, 2, {low[i][0], low[i][1]}};
        full_and_quick(&c);
    }
}

/* A right operand that lies along k, turned for each unit: columns and elements that fill no
 * vector, several chunks, units of rows, stacks. */
FC_TEST(llvm_widths, products_turned) {
    static const char *const texts[] = {"a @ b.T", "a @ b.T + 1"};
    const int64_t sizes[][3] = {{17, 33, 5},  {30, 9, 300}, {13, 20, 520},  {601, 60, 64},
                                {5, 16, 800}, {3, 1, 37},   {700, 17, 300}, {100, 130, 70}};
    for (size_t i = 0; i < FC_COUNT(sizes) * FC_COUNT(texts); i++) {
        const int64_t *s = sizes[i / FC_COUNT(texts)];
        const fusec_dtype t = i % 3 == 1 ? FUSEC_F64 : FUSEC_F32;
        width_check c = {.text = texts[i % FC_COUNT(texts)], .n = 2, .fill = width_plain};
        c.in[0] = (width_input){"a", t, 2, {s[0], s[2]}};
        c.in[1] = (width_input){"b", t, 2, {s[1], s[2]}};
        full_and_quick(&c);
    }
    width_check stack = {.text = "a @ transpose(b, (0, 2, 1)) + 1", .n = 2, .fill = width_plain};
    stack.in[0] = (width_input){"a", FUSEC_F32, 3, {7, 9, 21}};
    stack.in[1] = (width_input){"b", FUSEC_F32, 3, {7, 18, 21}};
    full_and_quick(&stack);
}
