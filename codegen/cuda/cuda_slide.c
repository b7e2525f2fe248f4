/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slide.c - two maps in one launch, as their form is (cuda_slide_facts.h): a thread goes down
 * its columns and keeps the rows of the first map that the second one reads.
 *
 * In: the kernels, their classes and shifts. Out: CUDA C. A block has columns side by side and some
 * rows; a warp of it 32 vectors of columns, and nothing to do with others. In turn it
 *
 *     makes some rows of the first map, by its own code, behind those that it has in t0
 *     asks for what the next turn reads
 *     makes as many rows of the second map, by its own code, whose reads are t0
 *     moves t0 up
 *
 * What the first map reads side by side comes to shared memory by asynchronous copies, the places
 * of a line as they are numbered: by 16 bytes, and at an edge, or where rows are not aligned,
 * element by element from where the kernel's code says that it stands. A row of t0 that is beyond
 * an edge is the row that stands there, made again, or zero. */
#include <stdio.h>

#include "codegen/cuda/cuda_slide_facts.h"
#include "codegen/cuda/cuda_window.h"
#include "codegen/cuda/prelude.h"

typedef struct slide {
    const fc_joined *j;
    const fc_class *cls; /* of the first part */
    fc_slide f;
    fc_cuda_gen part[2];
    fc_cuda_gen place[2]; /* of f.code */
    fc_kernel places[2];  /* theirs; all but the code is borrowed */
    uint8_t *aside;       /* [accesses of the first part] its store */
    fc_str *out;
    unsigned depth;
} slide;

/* ---- scopes ---------------------------------------------------------------------------------- */

static fc_cuda_gen *at_depth(slide *x, fc_cuda_gen *g) {
    g->t.depth = x->depth;
    return g;
}

/* A line of the frame. */
static void line(slide *x, const char *format, ...) FC_PRINTF(2, 3);
static void line(slide *x, const char *format, ...) {
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (*text == '}' && x->depth) x->depth--;
    fc_cuda_line(&at_depth(x, &x->part[0])->t, *text == '#' ? "#%s" : "%s", text + (*text == '#'));
    if (text[strlen(text) - 1] == '{') x->depth++;
}

static unsigned vector_of(const slide *x) {
    return x->cls->vector;
}
static unsigned rows_of(const slide *x) {
    return x->cls->cuda.slide_rows;
}
static unsigned span_of(const slide *x) {
    return fc_slide_span(&x->f);
}
static const fc_slide_reads *taken(const slide *x) {
    return &x->f.reads[FC_SLIDE_TAKES].at[0];
}

/* What a part has in the scope that is open. */
static fc_cuda_gen *enter(slide *x, unsigned part) {
    fc_cuda_gen *g = at_depth(x, &x->part[part]);
    fc_cuda_arguments(g);
    fc_cuda_parameters(g);
    fc_cuda_line(&g->t, "const long long zero = p.w[%u];", g->l.extra + FC_PB_SPARE0);
    return g;
}

static void leave(slide *x, fc_cuda_gen *g) {
    memset(g->done, 0, g->code.ins.len);
    x->depth = g->t.depth;
    line(x, "}");
}

/* ---- places ---------------------------------------------------------------------------------- */

/* at = ..., there = ...: what stands at the place `at`. */
static void stands(slide *x, unsigned part, const fc_slide_reads *r) {
    fc_cuda_gen *g = at_depth(x, &x->place[part]);
    fc_val roots[2];
    unsigned n = 0;
    if (r->index == FC_NOVAL) return;
    line(x, "{");
    g = at_depth(x, g);
    fc_cuda_parameters(g);
    fc_cuda_line(&g->t, "const long long zero = p.w[%u];", g->l.extra + FC_PB_SPARE0);
    roots[n++] = g->map[r->index];
    if (r->when != FC_NOVAL) roots[n++] = g->map[r->when];
    memset(g->need, 0, g->code.ins.len);
    fc_kernel_slice(&g->code, roots, n, g->need);
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->code.ins.at[v].op == FC_OP_INDEX && g->need[v])
            fc_cuda_line(&g->t, "const long long b%u = at;", (unsigned)g->code.ins.at[v].imm);
    fc_cuda_element(g);
    for (unsigned i = 0; i < n; i++) {
        fc_cuda_indent(&g->t);
        fc_str_add(g->t.out, i ? "there = " : "at = (ix)(");
        fc_cuda_operand(&g->t, roots[i]);
        fc_str_add(g->t.out, i ? ";\n" : ");\n");
    }
    leave(x, g);
}

/* row_at(at, there): the row of the first map that stands at a place of the second one, or some row
 * where none does. */
static void row_at(slide *x) {
    line(x, "const auto row_at = [&](ix at, bool &there) {");
    line(x, "there = true;");
    line(x, "if (at < 0 || at >= tall) {");
    stands(x, FC_SLIDE_TAKES, taken(x));
    line(x, "at = at < 0 ? 0 : at >= tall ? tall - 1 : at;");
    line(x, "}");
    line(x, "return at;");
    line(x, "};");
}

/* column_at<n>(at): the column that stands at a place of reads n of the first map; -1: none does,
 * or nobody reads there. */
static void column_at(slide *x, unsigned n) {
    const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[n];
    line(x, "const auto column_at%u = [&](ix at) {", n);
    line(x, "bool there = at >= %d && at < wide + %d;", (int)(r->low < 0 ? r->low : 0),
         (int)(r->high > 0 ? r->high : 0));
    line(x, "if (there) {");
    stands(x, FC_SLIDE_MAKES, r);
    line(x, "}");
    line(x, "return there ? at : (ix)-1;");
    line(x, "};");
}

/* ---- lines in shared memory ------------------------------------------------------------------ */

static const char *type_of(const fc_slide_reads *r) {
    return fc_dtypes[r->dtype].cuda;
}
static unsigned bytes_of(const fc_slide_reads *r) {
    return fc_dtypes[r->dtype].bytes;
}
static unsigned line_of(const slide *x, const fc_slide_reads *r) {
    return fc_slide_line(r, vector_of(x));
}

/* Where the lines of reads n begin in a warp's room, and behind all lines which columns they are.
 */
static unsigned lines_at(const slide *x, unsigned n) {
    unsigned bytes = 0;
    for (unsigned i = 0; i < n; i++) {
        const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[i];
        bytes += line_of(x, r) * bytes_of(r);
    }
    return bytes * rows_of(x);
}
static unsigned columns_at(const slide *x, unsigned n) {
    unsigned bytes = lines_at(x, (unsigned)x->f.reads[FC_SLIDE_MAKES].len);
    for (unsigned i = 0; i < n; i++)
        bytes += line_of(x, &x->f.reads[FC_SLIDE_MAKES].at[i]) * FC_SLIDE_INDEX;
    return bytes;
}

/* `name`: the line of a row of a turn. */
static void line_at(slide *x, unsigned n, const char *qualifier, const char *name,
                    const char *row) {
    const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[n];
    line(x, "%s%s *const %s = (%s%s *)(mine + %u) + %s * %u;", qualifier, type_of(r), name,
         qualifier, type_of(r), lines_at(x, n), row, line_of(x, r));
}

/* Indices of the outer axes, which both parts have in common, and of a row. */
static void row_index(slide *x, const char *row) {
    line(x, "const ix i%u = %s;", (unsigned)x->f.row, row);
}

/* 16 bytes of a line, and how often all lanes bring such a piece of the lines of a turn. */
static unsigned pieces_of(const slide *x, const fc_slide_reads *r) {
    return line_of(x, r) * bytes_of(r) / 16;
}
static unsigned rounds_of(const slide *x, const fc_slide_reads *r) {
    return (rows_of(x) * pieces_of(x, r) + 31) / 32;
}

/* What comes to the lines of reads n of this warp. column<n>: which column each element is; -1:
 * none is, or nobody reads it. Pieces [low, high) are columns side by side, in whole 16 bytes;
 * source<n>: where the pieces of a lane are from the first row of a turn; -1: it is none of these.
 * The other elements, odd<n> of them, the first<n> in front of those pieces, come one by one. */
static void sources(slide *x, unsigned n) {
    const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[n];
    const unsigned pieces = pieces_of(x, r), size = line_of(x, r), each = size / pieces;
    line(x, "ix *const column%u = (ix *)(mine + %u);", n, columns_at(x, n));
    line(x, "ix source%u[%u];", n, rounds_of(x, r));
    line(x, "int first%u, odd%u;", n, n);
    line(x, "{");
    row_index(x, "0");
    fc_cuda_gen *g = enter(x, FC_SLIDE_MAKES);
    fc_cuda_text *t = &g->t;
    fc_cuda_bases(g, x->f.column);
    fc_cuda_line(t, "const ix begin = left + %d;", (int)fc_slide_line_low(r));
    fc_cuda_line(t, "const ix by = (ix)p.w[%u];",
                 fc_cuda_word(g, r->access) + 1 + (unsigned)x->f.row);
    fc_cuda_line(t,
                 "const bool even = (((unsigned long long)(a%u + (b%u + begin)) | (unsigned long "
                 "long)by * %u) & 15) == 0;",
                 (unsigned)r->arg, (unsigned)r->access, bytes_of(r));
    fc_cuda_line(t, "for (int c = lane; c < %u; c += 32) column%u[c] = column_at%u(begin + c);",
                 size, n, n);
    fc_cuda_line(t, "__syncwarp();");
    fc_cuda_line(t, "const auto whole = [&](const int c) {");
    fc_cuda_line(t, "bool all = even && begin + c * %u >= 0;", each); /* -1 is none */
    fc_cuda_line(t, "for (int e = c * %u; e < (c + 1) * %u; e++) {", each, each);
    fc_cuda_line(t, "all = all && column%u[e] == begin + e;", n);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "return all;");
    fc_cuda_line(t, "};");
    fc_cuda_line(t, "int low = 0;");
    fc_cuda_line(t, "while (low < %u && !whole(low)) low++;", pieces);
    fc_cuda_line(t, "int high = low;");
    fc_cuda_line(t, "while (high < %u && whole(high)) high++;", pieces);
    fc_cuda_line(t, "first%u = low * %u;", n, each);
    fc_cuda_line(t, "odd%u = (%u - (high - low)) * %u;", n, pieces, each);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int n = 0; n < %u; n++) {", rounds_of(x, r));
    fc_cuda_line(t, "const int k = n * 32 + lane, c = k %% %u;", pieces);
    fc_cuda_line(t, "const bool there = k < %u && c >= low && c < high;", rows_of(x) * pieces);
    fc_cuda_line(t, "source%u[n] = there ? k / %u * by + (begin + c * %u) : (ix)-1;", n, pieces,
                 each);
    fc_cuda_line(t, "}");
    leave(x, g);
}

/* One element of a line. */
static void bring_element(slide *x, const fc_slide_reads *r, const char *to, const char *from) {
    if (bytes_of(r) >= 4)
        line(x, "fc_bring_some<%u>(&%s, %s + (at < 0 ? 0 : at), at >= 0);", bytes_of(r), to, from);
    else
        line(x, "%s = at < 0 ? (%s)0 : %s[at];", to, type_of(r), from);
}

/* All lines of a turn, whose rows follow each other. */
static void bring_turn(slide *x, unsigned n) {
    const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[n];
    const fc_cuda_gen *g = &x->part[FC_SLIDE_MAKES];
    const unsigned size = line_of(x, r), each = 16 / bytes_of(r);
    line(x, "{");
    line_at(x, n, "", "to", "0");
    line(x, "const %s *const from = a%u + b%u;", type_of(r), (unsigned)r->arg, (unsigned)r->access);
    line(x, "#pragma unroll");
    line(x, "for (int n = 0; n < %u; n++) {", rounds_of(x, r));
    line(x, "if (source%u[n] >= 0) fc_bring(to + (n * 32 + lane) * %u, from + source%u[n], true);",
         n, each, n);
    line(x, "}");
    line(x, "#pragma unroll 1");
    line(x, "for (int k = lane; k < odd%u; k += 32) {", n);
    line(x, "const int c = k < first%u ? k : k + (%u - odd%u);", n, size, n);
    line(x, "const ix at = column%u[c], by = (ix)p.w[%u];", n,
         fc_cuda_word(g, r->access) + 1 + (unsigned)x->f.row);
    line(x, "#pragma unroll");
    line(x, "for (int r = 0; r < %u; r++) {", rows_of(x));
    char at[32];
    snprintf(at, sizeof at, "to[r * %u + c]", size);
    bring_element(x, r, at, "(from + r * by)");
    line(x, "}");
    line(x, "}");
    line(x, "}");
}

/* Line r of a turn. */
static void bring_line(slide *x, unsigned n) {
    const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[n];
    line(x, "{");
    line_at(x, n, "", "to", "r");
    line(x, "const %s *const from = a%u + b%u;", type_of(r), (unsigned)r->arg, (unsigned)r->access);
    line(x, "#pragma unroll 1");
    line(x, "for (int c = lane; c < %u; c += 32) {", line_of(x, r));
    line(x, "const ix at = column%u[c];", n);
    bring_element(x, r, "to[c]", "from");
    line(x, "}");
    line(x, "}");
}

/* bring(place): what the first map reads in the rows at `place` and behind. */
static void bring(slide *x) {
    const size_t arrays = x->f.reads[FC_SLIDE_MAKES].len;
    line(x, "const auto bring = [&](const ix place) {");
    line(x, "if (place >= 0 && place + %u <= tall) {", rows_of(x));
    row_index(x, "place");
    fc_cuda_gen *g = enter(x, FC_SLIDE_MAKES);
    fc_cuda_bases(g, x->f.column);
    for (unsigned n = 0; n < arrays; n++) bring_turn(x, n);
    leave(x, at_depth(x, g));
    line(x, "else {");
    line(x, "#pragma unroll 1");
    line(x, "for (int r = 0; r < %u; r++) {", rows_of(x));
    line(x, "bool there;");
    row_index(x, "row_at(place + r, there)");
    g = enter(x, FC_SLIDE_MAKES);
    fc_cuda_bases(g, x->f.column);
    for (unsigned n = 0; n < arrays; n++) bring_line(x, n);
    leave(x, at_depth(x, g));
    line(x, "}");
    line(x, "fc_bring_set();");
    line(x, "};");
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Of a part: a vector of columns, in a row. */
static fc_cuda_group group_of(const slide *x, unsigned part, const char *number,
                              const uint8_t *aside) {
    return (fc_cuda_group){.n = (int)vector_of(x),
                           .step = 1,
                           .first = x->f.column,
                           .end = x->f.column + 1,
                           .wide = x->j->cls[part].aligned,
                           .number = number,
                           .limit = "wide",
                           .slot = "",
                           .kept = "",
                           .whole = x->j->cls[part].cuda.whole,
                           .aside = aside};
}

/* What is the same for all elements of a batch is loaded once. */
static void find_kept(slide *x, unsigned part) {
    fc_cuda_gen *g = &x->part[part];
    (void)fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        g->cached[a] = fc_cuda_is_load(g->k, a) && g->used[a] & FC_CUDA_LOADS &&
                       fc_class_move(g->cls, a, x->f.row) == FC_MOVE_ZERO &&
                       fc_class_move(g->cls, a, x->f.column) == FC_MOVE_ZERO;
}

/* The load of the first part that has loaded the same; UINT32_MAX: none. */
static uint32_t same_as(const slide *x, unsigned part, uint32_t access) {
    const uint32_t of = part == FC_SLIDE_TAKES ? x->j->same[access] : 0;
    return of && x->part[FC_SLIDE_MAKES].cached[of - 1] ? of - 1 : UINT32_MAX;
}

static void keep(slide *x, unsigned part) {
    fc_cuda_gen *g = &x->part[part];
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->cached[a])
            line(x, "%s k%u_%u;", fc_dtypes[g->k->accesses.at[a].dtype].cuda, part, (unsigned)a);
    line(x, "{");
    row_index(x, "0");
    g = enter(x, part);
    fc_cuda_bases(g, x->f.column);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->cached[a] && same_as(x, part, a) != UINT32_MAX)
            fc_cuda_line(&g->t, "k%u_%u = k0_%u;", part, (unsigned)a,
                         (unsigned)same_as(x, part, a));
        else if (g->cached[a])
            fc_cuda_line(&g->t, "k%u_%u = a%u[b%u];", part, (unsigned)a,
                         (unsigned)g->k->accesses.at[a].buffer, (unsigned)a);
    leave(x, g);
}

/* The code of a part at row i*; its stores, or y* of what is set aside. */
static fc_cuda_gen *compute(slide *x, unsigned part, const fc_cuda_group *gr) {
    fc_cuda_gen *g = enter(x, part);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->cached[a])
            fc_cuda_line(&g->t, "const %s q%u = k%u_%u;",
                         fc_dtypes[g->k->accesses.at[a].dtype].cuda, (unsigned)a, part,
                         (unsigned)a);
    (void)fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    fc_cuda_bases(g, x->f.column);
    fc_cuda_group_declare(g, gr, 0, false);
    fc_cuda_group_load(g, gr, false);
    g->windows->together = part == FC_SLIDE_TAKES;
    fc_cuda_group_compute(g, gr, FC_CUDA_STORES);
    return g;
}

/* w*: what a thread reads of a line. */
static void from_line(slide *x, unsigned n) {
    const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[n];
    const unsigned bytes = bytes_of(r), most = 16 / bytes, v = vector_of(x),
                   unit = v < most ? v : most;
    const int32_t low = fc_slide_line_low(r), high = fc_slide_line_high(r);
    line(x, "%s w%u[%u];", type_of(r), n, (unsigned)(high - low) + v);
    line(x, "{");
    line_at(x, n, "const ", "from", "r");
    for (int32_t k = 0; k < high - low + (int32_t)v; k += (int32_t)unit)
        if (k + (int32_t)unit > r->low - low && k < r->high - low + (int32_t)v)
            line(x, "fc_spread(w%u + %d, *(const fc_vec<%s, %u, %u> *)(from + lane * %u + %d));", n,
                 (int)k, type_of(r), unit, unit * bytes, v, (int)k);
    line(x, "}");
}

/* Row r of a turn, of the first map. */
static void make_row(slide *x, const char *number) {
    const fc_kernel *k = x->j->kernel[FC_SLIDE_MAKES];
    const uint32_t store = k->stores.at[0].access;
    const fusec_dtype t = (fusec_dtype)k->accesses.at[store].dtype;
    const fc_cuda_group gr = group_of(x, FC_SLIDE_MAKES, number, x->aside);
    line(x, "#pragma unroll");
    line(x, "for (int r = 0; r < %u; r++) {", rows_of(x));
    line(x, "bool there;");
    line(x, "const ix row = row_at(y + (r + %d), there);", (int)taken(x)->high);
    row_index(x, "row");
    line(x, "fc_vec<%s, %u, %u> y%u;", fc_dtypes[t].cuda, vector_of(x),
         (unsigned)fc_dtypes[t].bytes, (unsigned)store);
    for (unsigned n = 0; n < x->f.reads[FC_SLIDE_MAKES].len; n++) from_line(x, n);
    fc_cuda_gen *g = compute(x, FC_SLIDE_MAKES, &gr);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < %u; e++) {", vector_of(x));
    fc_cuda_line(&g->t, "t0[r + %u][e] = there ? y%u.e[e] : (%s)0;", span_of(x) - 1,
                 (unsigned)store, fc_dtypes[t].cuda);
    fc_cuda_line(&g->t, "}");
    leave(x, g);
}

/* And of the second. */
static void take_row(slide *x, const char *number) {
    const fc_cuda_group gr = group_of(x, FC_SLIDE_TAKES, number, NULL);
    line(x, "#pragma unroll");
    line(x, "for (int r = 0; r < %u; r++) {", rows_of(x));
    line(x, "const ix row = y + r;");
    line(x, "if (row < end) {");
    row_index(x, "row");
    fc_cuda_gen *g = compute(x, FC_SLIDE_TAKES, &gr);
    leave(x, g);
    line(x, "}");
}

/* ---- the frame ------------------------------------------------------------------------------- */

/* Which columns and rows are a block's, and a warp's. */
static void begin(slide *x) {
    fc_cuda_gen *g = &x->part[FC_SLIDE_TAKES];
    const fc_layout first = x->part[0].l;
    const unsigned columns = 32 * vector_of(x);
    line(x, "__shared__ fc_vec<double, 2, 16> room[%u];",
         FC_SLIDE_WARPS * fc_slide_room(&x->f, vector_of(x), rows_of(x)) / 16);
    line(x, "const int lane = (int)(threadIdx.x & 31), warp = (int)(threadIdx.x / 32);");
    line(x, "char *const mine = (char *)room + warp * %u;",
         fc_slide_room(&x->f, vector_of(x), rows_of(x)));
    line(x, "const ix tall = (ix)p.w[%u], down = (ix)p.w[%u], wide = (ix)p.w[%u];",
         (unsigned)first.extents + x->f.row, (unsigned)g->l.extents + x->f.row,
         (unsigned)g->l.extents + x->f.column);
    line(x, "const ix strips = (ix)p.w[%u], height = (ix)p.w[%u];",
         (unsigned)first.extra + FC_PB_SPANS, (unsigned)first.extra + FC_PB_SPAN);
    line(x, "const ix across = (wide + %u) / %u;", FC_SLIDE_WARPS * columns - 1,
         FC_SLIDE_WARPS * columns);
    line(x, "const ix above = fc_quotient((ix)blockIdx.x, across);");
    line(x, "const ix batch = fc_quotient(above, strips);");
    line(x, "const ix left = (((ix)blockIdx.x - above * across) * %d + warp) * %u;", FC_SLIDE_WARPS,
         columns);
    line(x, "const ix begin = (above - batch * strips) * height;");
    line(x, "const ix end = begin + height < down ? begin + height : down;");
    line(x, "if (left >= wide) return;");
    line(x, "const ix i%u = left + lane * %u;", (unsigned)x->f.column, vector_of(x));
    if (x->f.row) {
        g = at_depth(x, g);
        fc_cuda_indices(g, 0, x->f.row, "batch");
    }
}

static void turns(slide *x) {
    const fc_kernel *k = x->j->kernel[FC_SLIDE_MAKES];
    const unsigned rows = rows_of(x), span = span_of(x), kept = span - 1, v = vector_of(x),
                   before = (kept + rows - 1) / rows * rows;
    const int high = (int)taken(x)->high;
    char number[16];
    snprintf(number, sizeof number, "i%u", (unsigned)x->f.column);
    line(x, "%s t0[%u][%u] = {};", fc_dtypes[k->accesses.at[k->stores.at[0].access].dtype].cuda,
         kept + rows, v);
    line(x, "const ix top = begin - %u;", before);
    line(x, "bring(top + %d);", high);
    line(x, "#pragma unroll 1");
    line(x, "for (ix y = top; y < end; y += %u) {", rows);
    line(x, "fc_brought<0>();");
    line(x, "__syncwarp();");
    make_row(x, number);
    line(x, "__syncwarp();");
    line(x, "if (y + %u < end) bring(y + %d);", rows, high + (int)rows);
    line(x, "if (y >= begin) {");
    take_row(x, number);
    line(x, "}");
    line(x, "#pragma unroll");
    line(x, "for (int r = 0; r < %u; r++) {", kept);
    line(x, "#pragma unroll");
    line(x, "for (int e = 0; e < %u; e++) {", v);
    line(x, "t0[r][e] = t0[r + %u][e];", rows);
    line(x, "}");
    line(x, "}");
    line(x, "}");
}

static void body(slide *x) {
    begin(x);
    row_at(x);
    for (unsigned n = 0; n < x->f.reads[FC_SLIDE_MAKES].len; n++) column_at(x, n);
    for (unsigned n = 0; n < x->f.reads[FC_SLIDE_MAKES].len; n++) sources(x, n);
    for (unsigned part = 0; part < 2; part++) keep(x, part);
    bring(x);
    turns(x);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Reads have names of windows: those of the first part w*, a number for each of its arrays, those
 * of the second t0[r + row]. */
static bool name_reads(slide *x, unsigned part) {
    fc_cuda_gen *g = &x->part[part];
    const fc_alloc *alloc = g->code.alloc;
    struct fc_cuda_windows *w = g->windows = fc_calloc(alloc, 1, sizeof *w);
    if (!w) return false;
    w->given = true;
    w->place = fc_calloc(alloc, g->code.ins.len + 1, sizeof *w->place);
    w->varies = fc_calloc(alloc, g->code.ins.len + 1, 1);
    if (!w->place || !w->varies) return false;
    const stack rows = {.low = taken(x)->low, .high = taken(x)->high};
    if (part == FC_SLIDE_TAKES && !fc_push(alloc, &w->stacks, rows)) return false;
    for (size_t n = 0; part == FC_SLIDE_MAKES && n < x->f.reads[part].len; n++) {
        const fc_slide_reads *r = &x->f.reads[part].at[n];
        const window one = {
            .when = FC_NOVAL, .chosen = FC_NOVAL, .low = fc_slide_line_low(r), .dtype = r->dtype};
        if (!fc_push(alloc, &w->of, one)) return false;
    }
    for (fc_val v = 0; v < g->k->code.ins.len; v++) {
        const uint16_t of = x->f.of[part][v];
        const int32_t shift = x->j->shift[part][v];
        if (!of) continue;
        if (part == FC_SLIDE_MAKES) {
            w->place[g->map[v]] = (struct place){.window = of, .at = shift};
            continue;
        }
        const window one = {.when = FC_NOVAL, .chosen = FC_NOVAL, .row = shift, .stack = 1};
        if (!fc_push(alloc, &w->of, one)) return false;
        w->place[g->map[v]] = (struct place){.window = (uint16_t)w->of.len};
    }
    return true;
}

static fusec_status open_part(slide *x, unsigned part, uint8_t *had, fc_error *e) {
    const fc_joined *j = x->j;
    fc_cuda_gen *g = &x->part[part], *of = &x->place[part];
    FC_TRY(fc_cuda_gen_init(g, j->kernel[part], &j->cls[part], x->out, e));
    x->places[part] = *j->kernel[part];
    x->places[part].code = x->f.code[part];
    x->places[part].stores.len = x->places[part].stores.cap = 0;
    FC_TRY(fc_cuda_gen_init(of, &x->places[part], &j->cls[part], x->out, e));
    g->l = of->l = j->layout[part];
    g->had = had;
    if (!part) g->l.words = j->layout[j->n - 1].words; /* of the block of all */
    if (!name_reads(x, part)) return fc_oom(e);
    find_kept(x, part);
    return FUSEC_OK;
}

static fusec_status write(slide *x, const char *name, fc_error *e) {
    for (unsigned part = 0; part < 2; part++) fc_cuda_prelude(&x->part[part]);
    line(x,
         "extern \"C\" __global__ void __launch_bounds__(%d, %u) %s(const __grid_constant__ P p) {",
         32 * FC_SLIDE_WARPS, (unsigned)x->cls->cuda.slide_blocks, name);
    body(x);
    line(x, "}");
    return x->out->oom ? fc_oom(e) : FUSEC_OK;
}

fusec_status fc_cuda_emit_slide(const fc_joined *j, const char *name, fc_str *out, fc_error *e) {
    slide x = {.j = j, .cls = &j->cls[0], .out = out};
    uint8_t had[FC_CUH_COUNT] = {0};
    /* it has been found before, or it would have no class */
    fusec_status s = fc_slide_find(j, &x.f) ? FUSEC_OK : fc_oom(e);
    for (unsigned part = 0; part < 2 && !s; part++) s = open_part(&x, part, had, e);
    x.aside = fc_calloc(out->alloc, j->kernel[0]->accesses.len + 1, 1);
    if (!s && !x.aside) s = fc_oom(e);
    if (!s) x.aside[j->kernel[0]->stores.at[0].access] = 1;
    if (!s) s = write(&x, name, e);
    fc_free(out->alloc, x.aside);
    for (unsigned part = 0; part < 2; part++) {
        if (x.part[part].code.alloc) fc_cuda_gen_free(&x.part[part]);
        if (x.place[part].code.alloc) fc_cuda_gen_free(&x.place[part]);
    }
    fc_slide_free(&x.f);
    return s;
}
