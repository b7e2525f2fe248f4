/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slide.c - the text of two maps in one launch (cuda_slide_facts.h), as far as others do not
 * have it: a thread goes down its columns and keeps the rows of the first map that the second one
 * reads.
 *
 * In: the walk over the form (cuda_slide_loops.c). Out: what stands around its loops, and the
 * leaves that are about lines and about rows that are passed on.
 *
 * What the first map reads side by side comes to shared memory by asynchronous copies, the places
 * of a line as they are numbered (prelude/slide.cuh): by 16 bytes, and at an edge, or where rows
 * are not aligned, element by element from where the kernel's code says that it stands. A row of
 * what is passed on, t0, that is beyond an edge is the row that stands there, made again, or zero.
 */
#include <stdio.h>

#include "codegen/cuda/cuda_slide.h"
#include "codegen/cuda/cuda_window.h"
#include "codegen/cuda/prelude.h"

typedef fc_slide_gen slide;

static fc_cuda_text *text(const slide *x) {
    return &x->w.in.g->t;
}

static const fc_slide_reads *taken(const slide *x) {
    return &x->f.reads[FC_SLIDE_TAKES].at[0];
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* What follows is text of `g`. */
static fc_cuda_gen *now(slide *x, fc_cuda_gen *g) {
    g->t.depth = text(x)->depth;
    return x->w.in.g = g;
}

/* What a part, or the code of its places, has in the scope that is open. */
static fc_cuda_gen *enter(slide *x, fc_cuda_gen *g) {
    now(x, g);
    if (g < x->place) fc_cuda_arguments(g);
    fc_cuda_parameters(g);
    fc_cuda_line(&g->t, "const long long zero = p.w[%u];", g->l.extra + FC_PB_SPARE0);
    return g;
}

static void leave(const slide *x) {
    memset(x->w.in.g->done, 0, x->w.in.g->code.ins.len);
    fc_cuda_line(text(x), "}");
}

/* A part at a row, which both have the same outer axes of. */
static fc_cuda_gen *enter_row(slide *x, unsigned part, const char *row) {
    fc_cuda_line(text(x), "const ix i%u = %s;", (unsigned)x->f.row, row);
    fc_cuda_gen *g = enter(x, &x->part[part]);
    fc_cuda_bases(g, x->f.column);
    return g;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* at = ..., there = ...: what stands at the place `at`. */
static void stands(slide *x, unsigned part, const fc_slide_reads *r) {
    fc_cuda_gen *g = &x->place[part];
    fc_val roots[2];
    unsigned n = 0;
    if (r->index == FC_NOVAL) return;
    fc_cuda_line(text(x), "{");
    enter(x, g);
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
    leave(x);
}

/* row_at(at, there): the row of the first map that stands at a place of the second one, or some row
 * where none does. */
static void row_at(slide *x) {
    fc_cuda_line(text(x), "const auto row_at = [&](ix at, bool &there) {");
    fc_cuda_line(text(x), "there = true;");
    fc_cuda_line(text(x), "if (at < 0 || at >= tall) {");
    stands(x, FC_SLIDE_TAKES, taken(x));
    fc_cuda_line(text(x), "at = at < 0 ? 0 : at >= tall ? tall - 1 : at;");
    fc_cuda_line(text(x), "}");
    fc_cuda_line(text(x), "return at;");
    fc_cuda_line(text(x), "};");
}

/* ---- lines in shared memory ------------------------------------------------------------------ */

/* lines<n>: what the first map reads of an array. In its scope, `column_at` is the column that
 * stands at a place; -1: none does, or nobody reads there. */
static void lines(slide *x, unsigned n) {
    const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[n];
    const unsigned v = x->cls->vector, rows = x->cls->cuda.slide_rows;
    fc_cuda_line(text(x), "fc_lines<%s, %u, %u> lines%u;", fc_dtypes[r->dtype].cuda,
                 fc_slide_line(r, v), rows, n);
    fc_cuda_line(text(x), "{");
    fc_cuda_line(text(x), "const auto column_at = [&](ix at) {");
    fc_cuda_line(text(x), "bool there = at >= %d && at < wide + %d;",
                 (int)(r->low < 0 ? r->low : 0), (int)(r->high > 0 ? r->high : 0));
    fc_cuda_line(text(x), "if (there) {");
    stands(x, FC_SLIDE_MAKES, r);
    fc_cuda_line(text(x), "}");
    fc_cuda_line(text(x), "return there ? at : (ix)-1;");
    fc_cuda_line(text(x), "};");
    fc_cuda_gen *g = enter_row(x, FC_SLIDE_MAKES, "0");
    fc_cuda_line(&g->t,
                 "fc_lines_begin(lines%u, mine + %u, a%u + b%u, (ix)p.w[%u], left + %d, lane, "
                 "column_at);",
                 n, fc_slide_room(&x->f, n, v, rows), (unsigned)r->arg, (unsigned)r->access,
                 fc_cuda_word(g, r->access) + 1 + (unsigned)x->f.row, (int)fc_slide_line_low(r));
    leave(x);
}

/* Asks for lines, all of them or line r, where the first map is at their row. */
static void ask(slide *x, const char *row, bool all) {
    const fc_cuda_gen *g = enter_row(x, FC_SLIDE_MAKES, row);
    for (unsigned n = 0; n < x->f.reads[FC_SLIDE_MAKES].len; n++) {
        const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[n];
        if (all)
            fc_cuda_line(text(x), "fc_lines_bring(lines%u, a%u + b%u, (ix)p.w[%u], lane);", n,
                         (unsigned)r->arg, (unsigned)r->access,
                         fc_cuda_word(g, r->access) + 1 + (unsigned)x->f.row);
        else
            fc_cuda_line(text(x), "fc_lines_bring_one(lines%u, r, a%u + b%u, lane);", n,
                         (unsigned)r->arg, (unsigned)r->access);
    }
    leave(x);
}

/* bring(place): what the first map reads in the rows at `place` and behind. */
static void bring(slide *x) {
    const unsigned rows = x->cls->cuda.slide_rows;
    fc_cuda_line(text(x), "const auto bring = [&](const ix place) {");
    fc_cuda_line(text(x), "if (place >= 0 && place + %u <= tall) {", rows);
    ask(x, "place", true);
    fc_cuda_line(text(x), "else {");
    fc_cuda_line(text(x), "#pragma unroll 1");
    fc_cuda_line(text(x), "for (int r = 0; r < %u; r++) {", rows);
    fc_cuda_line(text(x), "bool there;");
    ask(x, "row_at(place + r, there)", false);
    fc_cuda_line(text(x), "}");
    fc_cuda_line(text(x), "fc_bring_set();");
    fc_cuda_line(text(x), "};");
}

/* Of the first turn, or of the next one. */
static void fill(slide *x, bool next) {
    const unsigned rows = x->cls->cuda.slide_rows;
    const int high = (int)taken(x)->high;
    if (next) {
        fc_cuda_line(text(x), "__syncwarp();");
        fc_cuda_line(text(x), "if (y + %u < end) bring(y + %d);", rows, high + (int)rows);
        return;
    }
    for (unsigned n = 0; n < x->f.reads[FC_SLIDE_MAKES].len; n++) lines(x, n);
    bring(x);
    fc_cuda_line(text(x), "bring(top + %d);", high);
}

/* w*: what a thread reads of line r. */
static void from_line(const slide *x, unsigned n) {
    const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[n];
    const unsigned most = 16u / fc_dtypes[r->dtype].bytes, v = x->cls->vector;
    fc_cuda_line(text(x), "%s w%u[%u];", fc_dtypes[r->dtype].cuda, n,
                 (unsigned)(fc_slide_line_high(r) - fc_slide_line_low(r)) + v);
    fc_cuda_line(text(x), "fc_lines_take<%u>(w%u, lines%u, r, lane * %u);", v < most ? v : most, n,
                 n, v);
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Of a part: a vector of columns, in a row. */
static fc_cuda_group group_of(const slide *x, unsigned part) {
    return (fc_cuda_group){.n = (int)x->cls->vector,
                           .step = 1,
                           .first = x->f.column,
                           .end = x->f.column + 1,
                           .wide = x->j->cls[part].aligned,
                           .number = x->number,
                           .limit = "wide",
                           .slot = "",
                           .kept = "",
                           .whole = x->j->cls[part].cuda.whole,
                           .aside = part == FC_SLIDE_MAKES ? x->aside : NULL};
}

/* k*: what is the same for all elements of a batch, once for both parts. */
static void keep(slide *x, unsigned part) {
    fc_cuda_gen *g = &x->part[part];
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->cached[a])
            fc_cuda_line(text(x), "%s k%u_%u;", fc_dtypes[g->k->accesses.at[a].dtype].cuda, part,
                         (unsigned)a);
    fc_cuda_line(text(x), "{");
    enter_row(x, part, "0");
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        const uint32_t of = part == FC_SLIDE_TAKES ? x->j->same[a] : 0;
        if (!g->cached[a]) continue;
        if (of && x->part[FC_SLIDE_MAKES].cached[of - 1])
            fc_cuda_line(&g->t, "k%u_%u = k0_%u;", part, (unsigned)a, (unsigned)of - 1);
        else
            fc_cuda_line(&g->t, "k%u_%u = a%u[b%u];", part, (unsigned)a,
                         (unsigned)g->k->accesses.at[a].buffer, (unsigned)a);
    }
    leave(x);
}

static void take_kept(fc_cuda_gen *g, unsigned part) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->cached[a])
            fc_cuda_line(&g->t, "const %s q%u = k%u_%u;",
                         fc_dtypes[g->k->accesses.at[a].dtype].cuda, (unsigned)a, part,
                         (unsigned)a);
}

/* Rows of a turn, of the first map, behind those in t0. */
static void make_rows(slide *x, const fc_loop *n) {
    const fc_kernel *k = x->j->kernel[FC_SLIDE_MAKES];
    const unsigned store = (unsigned)k->stores.at[0].access, v = x->cls->vector;
    const fusec_dtype t = (fusec_dtype)k->accesses.at[store].dtype;
    fc_cuda_line(text(x), "bool there;");
    fc_cuda_line(text(x), "const ix row = row_at(y + (r + %d), there);", (int)taken(x)->high);
    fc_cuda_line(text(x), "fc_vec<%s, %u, %u> y%u;", fc_dtypes[t].cuda, v,
                 (unsigned)fc_dtypes[t].bytes, store);
    for (unsigned i = 0; i < x->f.reads[FC_SLIDE_MAKES].len; i++) from_line(x, i);
    fc_cuda_gen *g = enter_row(x, FC_SLIDE_MAKES, "row");
    take_kept(g, FC_SLIDE_MAKES);
    fc_cuda_walk_list(&x->w, n->body);
    fc_cuda_line(&g->t, "#pragma unroll");
    fc_cuda_line(&g->t, "for (int e = 0; e < %u; e++) {", v);
    fc_cuda_line(&g->t, "t0[r + %u][e] = there ? y%u.e[e] : (%s)0;", fc_slide_span(&x->f) - 1,
                 store, fc_dtypes[t].cuda);
    fc_cuda_line(&g->t, "}");
    leave(x);
}

/* And of the second. */
static void take_rows(slide *x, const fc_loop *n) {
    fc_cuda_line(text(x), "const ix row = y + r;");
    fc_cuda_line(text(x), "if (row < end) {");
    fc_cuda_gen *g = enter_row(x, FC_SLIDE_TAKES, "row");
    take_kept(g, FC_SLIDE_TAKES);
    g->windows->together = true;
    fc_cuda_walk_list(&x->w, n->body);
    leave(x);
    fc_cuda_line(text(x), "}");
}

static void rows_of_turn(slide *x, const fc_loop *n) {
    fc_cuda_line(text(x), "#pragma unroll");
    fc_cuda_line(text(x), "for (int r = 0; r < %u; r++) {", (unsigned)n->count);
    x->w.group = group_of(x, n->part);
    (n->part == FC_SLIDE_MAKES ? make_rows : take_rows)(x, n);
}

/* ---- the frame ------------------------------------------------------------------------------- */

/* Which columns and rows are a block's, and a warp's. */
void fc_slide_begin(slide *x) {
    const fc_layout first = x->part[0].l, second = x->part[1].l;
    const unsigned v = x->cls->vector, rows = x->cls->cuda.slide_rows, columns = 32 * v,
                   bytes = fc_slide_room(&x->f, x->f.reads[FC_SLIDE_MAKES].len, v, rows);
    fc_cuda_text *t = text(x);
    fc_cuda_line(t, "__shared__ fc_vec<double, 2, 16> room[%u];", FC_SLIDE_WARPS * bytes / 16);
    fc_cuda_line(t, "const int lane = (int)(threadIdx.x & 31), warp = (int)(threadIdx.x / 32);");
    fc_cuda_line(t, "char *const mine = (char *)room + warp * %u;", bytes);
    fc_cuda_line(t, "const ix tall = (ix)p.w[%u], down = (ix)p.w[%u], wide = (ix)p.w[%u];",
                 (unsigned)first.extents + x->f.row, (unsigned)second.extents + x->f.row,
                 (unsigned)second.extents + x->f.column);
    fc_cuda_line(t, "const ix strips = (ix)p.w[%u], height = (ix)p.w[%u];",
                 (unsigned)first.extra + FC_PB_SPANS, (unsigned)first.extra + FC_PB_SPAN);
    fc_cuda_line(t, "const ix across = (wide + %u) / %u;", FC_SLIDE_WARPS * columns - 1,
                 FC_SLIDE_WARPS * columns);
    fc_cuda_line(t, "const ix above = fc_quotient((ix)blockIdx.x, across);");
    fc_cuda_line(t, "const ix batch = fc_quotient(above, strips);");
    fc_cuda_line(t, "const ix left = (((ix)blockIdx.x - above * across) * %d + warp) * %u;",
                 FC_SLIDE_WARPS, columns);
    fc_cuda_line(t, "const ix begin = (above - batch * strips) * height;");
    fc_cuda_line(t, "const ix end = begin + height < down ? begin + height : down;");
    fc_cuda_line(t, "const ix top = begin - %u;",
                 (fc_slide_span(&x->f) - 1 + rows - 1) / rows * rows);
    fc_cuda_line(t, "if (left >= wide) return;");
    fc_cuda_line(t, "const ix i%u = left + lane * %u;", (unsigned)x->f.column, v);
    if (x->f.row) fc_cuda_indices(now(x, &x->part[1]), 0, x->f.row, "batch");
    row_at(x);
}

static void turns(slide *x, const fc_loop *n) {
    const fc_kernel *k = x->j->kernel[FC_SLIDE_MAKES];
    fc_cuda_line(text(x), "%s t0[%u][%u] = {};",
                 fc_dtypes[k->accesses.at[k->stores.at[0].access].dtype].cuda,
                 fc_slide_span(&x->f) - 1 + (unsigned)n->step, x->cls->vector);
    fc_cuda_line(text(x), "#pragma unroll 1");
    fc_cuda_line(text(x), "for (ix y = top; y < end; y += %u) {", (unsigned)n->step);
    fc_cuda_walk_list(&x->w, n->body);
    fc_cuda_line(text(x), "}");
}

static void shift(slide *x) {
    fc_cuda_line(text(x), "#pragma unroll");
    fc_cuda_line(text(x), "for (int r = 0; r < %u; r++) {", fc_slide_span(&x->f) - 1);
    fc_cuda_line(text(x), "#pragma unroll");
    fc_cuda_line(text(x), "for (int e = 0; e < %u; e++) {", x->cls->vector);
    fc_cuda_line(text(x), "t0[r][e] = t0[r + %u][e];", x->cls->cuda.slide_rows);
    fc_cuda_line(text(x), "}");
    fc_cuda_line(text(x), "}");
}

bool fc_slide_node(fc_cuda_walk *w, const fc_loop *n) {
    slide *x = w->slide;
    switch (n->kind) {
    case FC_LEAF_FILL:
        if (n->phase == FC_SET_KEPT)
            keep(x, n->part);
        else
            fill(x, n->ahead != FC_LOOP_NOT_AHEAD);
        break;
    case FC_LEAF_AWAIT:
        fc_cuda_line(text(x), "fc_brought<0>();");
        fc_cuda_line(text(x), "__syncwarp();");
        break;
    case FC_LEAF_SHIFT: shift(x); break;
    case FC_LOOP_SERIAL: turns(x, n); break;
    case FC_LOOP_UNROLL: rows_of_turn(x, n); break;
    case FC_LOOP_CASE:
        fc_cuda_line(text(x), "if (y >= begin) {");
        fc_cuda_walk_list(&x->w, n->body);
        fc_cuda_line(text(x), "}");
        break;
    default: return false;
    }
    return true;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Reads have names of windows: those of the first part w*, a number for each of its arrays, those
 * of the second t0[r + row]. */
/* What is the same for all elements of a batch is loaded once. */
static void find_kept(slide *x, unsigned part) {
    fc_cuda_gen *g = &x->part[part];
    (void)fc_cuda_slice(g, FC_CUDA_STORES, FC_POINT);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        g->cached[a] = fc_cuda_is_load(g->k, a) && g->used[a] & FC_CUDA_LOADS &&
                       fc_class_move(g->cls, a, x->f.row) == FC_MOVE_ZERO &&
                       fc_class_move(g->cls, a, x->f.column) == FC_MOVE_ZERO;
}

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

static fusec_status open_part(slide *x, unsigned part, fc_str *out, uint8_t *had, fc_error *e) {
    const fc_joined *j = x->j;
    fc_cuda_gen *g = &x->part[part], *of = &x->place[part];
    FC_TRY(fc_cuda_gen_init(g, j->kernel[part], &j->cls[part], out, e));
    x->places[part] = *j->kernel[part];
    x->places[part].code = x->f.code[part];
    x->places[part].stores.len = x->places[part].stores.cap = 0;
    FC_TRY(fc_cuda_gen_init(of, &x->places[part], &j->cls[part], out, e));
    g->l = of->l = j->layout[part];
    g->had = had;
    if (!part) g->l.words = j->layout[j->n - 1].words; /* of the block of all */
    if (!name_reads(x, part)) return fc_oom(e);
    find_kept(x, part);
    return FUSEC_OK;
}

static fusec_status write(slide *x, const char *name, fc_error *e) {
    fc_cuda_gen *g = &x->part[0];
    snprintf(x->number, sizeof x->number, "i%u", (unsigned)x->f.column);
    FC_TRY(fc_slide_loops(x, e));
    for (unsigned part = 0; part < 2; part++) fc_cuda_prelude(&x->part[part]);
    fc_cuda_line(
        &g->t,
        "extern \"C\" __global__ void __launch_bounds__(%d, %u) %s(const __grid_constant__ P p) {",
        32 * FC_SLIDE_WARPS, (unsigned)x->cls->cuda.slide_blocks, name);
    fc_cuda_line(&g->t, "fc_begin();");
    x->w = (fc_cuda_walk){
        .loops = &g->loops, .in = {.g = g, .apart = 1}, .slide = x, .own = fc_slide_node};
    fc_cuda_walk_list(&x->w, g->loops.function[0]);
    fc_cuda_line(text(x), "}");
    return text(x)->out->oom ? fc_oom(e) : FUSEC_OK;
}

fusec_status fc_cuda_emit_slide(const fc_joined *j, const char *name, fc_str *out, fc_error *e) {
    slide x = {.j = j, .cls = &j->cls[0]};
    uint8_t had[FC_CUH_COUNT] = {0};
    /* it has been found before, or it would have no class */
    fusec_status s = fc_slide_find(j, &x.f) ? FUSEC_OK : fc_oom(e);
    for (unsigned part = 0; part < 2 && !s; part++) s = open_part(&x, part, out, had, e);
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
