/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_emit.c - the frame of every kernel: parameter block, entry point.
 *
 * In: a kernel and a class. Out: CUDA C that includes nothing and depends on nothing else. What a
 * kernel computes comes from legalised code (g->code), in which stores and reductions are found
 * again through g->store_value and g->red_value. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"

/* ---- the entry point ------------------------------------------------------------------------ */

/* Pointers and parameters of one of several kernels stand at `own`. */
void fc_cuda_arguments(fc_cuda_gen *g) {
    const fc_layout l = g->cls->alike ? fc_alike_layout(g->l, 0) : g->l;
    const char *own = g->cls->alike ? "own + " : "";
    if (g->cls->alike)
        fc_cuda_line(&g->t, "const unsigned int own = blockIdx.y * %u;",
                     (unsigned)(fc_alike_layout(g->l, 1).args - l.args));
    for (size_t i = 0; i < g->k->args.len; i++) {
        const fc_arg *a = &g->k->args.at[i];
        const char *type = fc_dtypes[a->dtype].cuda, *qualifier = a->written ? "" : "const ";
        fc_cuda_line(&g->t, "%s%s *__restrict__ const a%u = (%s%s *)p.w[%s%u];", qualifier, type,
                     (unsigned)i, qualifier, type, own, (unsigned)(l.args + i));
    }
}

static void parameter(fc_cuda_gen *g, fc_val v) {
    fusec_dtype t = (fusec_dtype)g->code.ins.at[v].dtype;
    const fc_layout l = g->cls->alike ? fc_alike_layout(g->l, 0) : g->l;
    const char *own = g->cls->alike ? "own + " : "";
    unsigned word = l.params + (unsigned)g->code.ins.at[v].imm;
    fc_str expr;
    fc_str_init(&expr, g->code.alloc);
    if (t == FUSEC_F32)
        fc_str_printf(&expr, "__uint_as_float((unsigned int)p.w[%s%u])", own, word);
    else if (t == FUSEC_F64)
        fc_str_printf(&expr, "__longlong_as_double(p.w[%s%u])", own, word);
    else
        fc_str_printf(&expr, "(%s)p.w[%s%u]", fc_dtypes[t].cuda, own, word);
    fc_cuda_from_storage(&g->t, v, expr.data);
    if (expr.oom) g->t.out->oom = true;
    fc_str_free(&expr);
    g->done[v] = 1;
}

void fc_cuda_parameters(fc_cuda_gen *g) {
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->code.ins.at[v].op == FC_OP_PARAM) parameter(g, v);
}

enum { BLOCKS_OF_SM = 32 };
enum { FEW = 40, SOME = 64, MANY = 128 }; /* registers of a thread */

/* Registers that a thread of FC_CUDA_ONE should get: so many that a phase can ask for all it loads
 * before it uses the first, and as few as that leaves. 0: as the compiler likes. */
static unsigned registers_of_one(const fc_cuda_gen *g) {
    unsigned elements = 4u * g->cls->cuda.iterations, loaded = 0, kept = 0, held = 0, spare = 24;
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        unsigned registers = elements * fc_cuda_bytes(g->k, a) / 4;
        if (fc_cuda_is_load(g->k, a) && g->k->accesses.at[a].level == FC_POINT) loaded += registers;
        if (g->cached[a]) kept += registers;
    }
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        if (g->hold[v]) held += elements * fc_dtypes[g->code.ins.at[v].dtype].bytes / 4;
        if (g->code.ins.at[v].dtype == FUSEC_F64) spare = 48;
    }
    unsigned row = kept > held ? kept : held; /* what is held takes the place of what was loaded */
    unsigned wanted = loaded - kept + row, least = row + spare;
    if (wanted <= 32 && least <= FEW) return FEW;
    if (wanted <= 64 && least <= SOME) return SOME;
    return least <= MANY ? MANY : 0;
}

static unsigned blocks_of_one(const fc_cuda_gen *g, unsigned threads) {
    unsigned registers = registers_of_one(g),
             blocks = registers ? FC_CUDA_SM_REGISTERS / registers / threads : 0;
    return blocks < BLOCKS_OF_SM ? blocks : (unsigned)BLOCKS_OF_SM;
}

enum { FEW_FUNCTIONS = 3 };

/* What NVRTC makes of a map over one axis that waits for memory is as fast when it optimises
 * little, and takes it a fifth less time. More functions keep the processor busy, several axes make
 * it compute indices, and what reduces needs every register. */
static bool compiles_briefly(const fc_cuda_gen *g) {
    uint32_t ops, functions;
    fc_kernel_cost(g->k, &ops, &functions);
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (g->code.ins.at[i].dtype == FUSEC_F64) return false;
    return g->k->schedule == FC_SCHED_MAP && g->np == 1 && functions <= FEW_FUNCTIONS &&
           ops <= FC_CUDA_FEW_OPERATIONS;
}

static void entry(fc_cuda_gen *g, const char *name) {
    unsigned threads = fc_cuda_block_threads(g->k, g->cls),
             blocks = fc_cuda_min_blocks(g->k, g->cls);
    if (fc_cuda_counts_registers(g->cls)) blocks = blocks_of_one(g, threads);
    if (g->cls->cuda.split == FC_CUDA_GANG) /* relies on it */
        blocks = g->ring ? 1 : fc_cuda_gang_threads(g->k, g->cached) / threads;
    char bounds[32], cluster[48] = "";
    snprintf(bounds, sizeof bounds, blocks ? "%u, %u" : "%u", threads, blocks);
    if (g->cls->cuda.blocks)
        snprintf(cluster, sizeof cluster, "__cluster_dims__(%d, 1, 1) ", g->cls->cuda.blocks);
    if (compiles_briefly(g)) fc_cuda_line(&g->t, "%s", FC_CUDA_BRIEFLY);
    fc_cuda_line(
        &g->t,
        "extern \"C\" __global__ void %s__launch_bounds__(%s) %s(const __grid_constant__ P p) {",
        cluster, bounds, name);
    if (!fc_cuda_is_piped(g->cls)) /* else cuda_flat.c says so */
        fc_cuda_line(&g->t, "fc_begin();");
    fc_cuda_arguments(g);
    fc_cuda_parameters(g);
    fc_cuda_line(&g->t, "const ix rows = (ix)p.w[%u];", g->l.extra + FC_PB_ROWS);
    fc_cuda_line(&g->t, "const long long zero = p.w[%u];", g->l.extra + FC_PB_SPARE0);
    if (g->k->schedule != FC_SCHED_MAP)
        fc_cuda_line(&g->t, "const ix count = (ix)p.w[%u];", g->l.extra + FC_PB_COUNT);
    if (g->cls->cuda.copied) fc_cuda_own_begin(g);
    fc_cuda_walk_loops(g);
    if (g->cls->cuda.copied) fc_cuda_own_end(g);
    fc_cuda_line(&g->t, "}");
}

enum { UNUSED = UINT8_MAX }; /* of g->narrow: no user yet */

/* Which values exist only to be rounded to one 16-bit dtype. */
static void find_narrow(fc_cuda_gen *g) {
    size_t roots = g->k->stores.len + FC_MAX_COMPONENTS * g->k->reductions.len;
    for (fc_val v = (fc_val)g->code.ins.len; v-- > 0;) {
        const fc_instr *i = &g->code.ins.at[v];
        bool half = i->op == FC_OP_CVT && fc_is_half((fusec_dtype)i->dtype);
        uint8_t to = half ? i->dtype : FUSEC_BOOL;
        for (int n = 0; n < fc_instr_arity(i); n++) {
            uint8_t *narrow = &g->narrow[fc_instr_operand(i, n)];
            *narrow = *narrow == UNUSED || *narrow == to ? to : FUSEC_BOOL;
        }
    }
    for (size_t r = 0; r < roots; r++)
        if (g->store_value[r] != FC_NOVAL) g->narrow[g->store_value[r]] = FUSEC_BOOL;
}

/* The functions of folds and loops. */
static fusec_status legalise_bodies(fc_cuda_gen *g, const fc_alloc *alloc) {
    const fc_kernel *k = g->k;
    const size_t n = fc_cuda_nbodies(k);
    fusec_status s = FUSEC_OK;
    g->bodies = fc_calloc(alloc, n + 1, sizeof *g->bodies);
    g->rounds_out = fc_calloc(alloc, k->loops.len + 1, sizeof *g->rounds_out);
    if (!g->bodies || !g->rounds_out) return FUSEC_OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++) fc_code_init(&g->bodies[i], alloc);
    for (size_t i = 0; i < n && s == FUSEC_OK; i++) {
        const bool fold = i < k->records.len;
        const fc_rounds *r = fold ? NULL : k->loops.at[i - k->records.len];
        const fc_code *from = fold ? &k->records.at[i]->code : &r->code;
        fc_val *map = fc_calloc(alloc, from->ins.len + FC_MAX_REPEAT + 2, sizeof *map);
        s = map ? fc_legalize(from, FC_TARGET_CUDA, &g->bodies[i], map) : FUSEC_OUT_OF_MEMORY;
        if (fold || s != FUSEC_OK) {
            fc_free(alloc, map);
            continue;
        }
        fc_val out[FC_MAX_REPEAT + 1];
        for (unsigned o = 0; o < fc_rounds_outs(r); o++) out[o] = map[r->out[o]];
        memcpy(map, out, fc_rounds_outs(r) * sizeof *out);
        g->rounds_out[i - k->records.len] = map;
    }
    return s;
}

static void free_bodies(const fc_cuda_gen *g, const fc_alloc *alloc) {
    for (size_t i = 0; g->bodies && g->rounds_out && i < fc_cuda_nbodies(g->k); i++)
        fc_code_free(&g->bodies[i]);
    for (size_t i = 0; g->rounds_out && i < g->k->loops.len; i++) fc_free(alloc, g->rounds_out[i]);
    fc_free(alloc, g->bodies);
    fc_free(alloc, g->rounds_out);
}

fusec_status fc_cuda_gen_init(fc_cuda_gen *g, const fc_kernel *k, const fc_class *cls, fc_str *out,
                              fc_error *e) {
    size_t len = k->code.ins.len, nstores = k->stores.len, nputs = k->updates.len,
           nreds = k->reductions.len;
    const fc_alloc *alloc = out->alloc;
    memset(g, 0, sizeof *g);
    fc_code_init(&g->code, alloc);
    fc_loops_init(&g->loops, alloc);
    g->k = k;
    g->cls = cls;
    g->np = cls->np;
    g->axes = (uint32_t)cls->np + cls->nr;
    g->l = fc_layout_of((uint32_t)k->args.len, g->axes, (uint32_t)k->accesses.len,
                        (uint32_t)k->params.len);
    fc_val *map = g->map = fc_calloc(alloc, len + 1, sizeof *map);
    if (!map) return fc_oom(e);
    fusec_status s = fc_legalize(&k->code, FC_TARGET_CUDA, &g->code, map);
    if (s == FUSEC_OK) s = legalise_bodies(g, alloc);
    size_t legal = g->code.ins.len;
    g->store_value = fc_calloc(alloc, 2 * (nstores + nputs + FC_MAX_COMPONENTS * nreds) + 2,
                               sizeof *g->store_value);
    g->need = fc_calloc(alloc, 9 * legal + 2 * k->accesses.len + 1, 1);
    if (s == FUSEC_OK && g->store_value && g->need) {
        g->red_value = g->store_value + nstores;
        g->put_value = g->red_value + nreds * FC_MAX_COMPONENTS;
        g->roots = g->put_value + nputs;
        g->done = g->need + legal;
        g->local = g->done + legal;
        g->vary = g->local + legal;
        g->hold = g->vary + legal;
        g->narrow = g->hold + legal;
        g->sign = g->narrow + legal;
        g->outer = g->sign + legal;
        g->block = g->outer + legal;
        g->used = g->block + legal;
        g->cached = g->used + k->accesses.len;
        for (size_t i = 0; i < nstores; i++) g->store_value[i] = map[k->stores.at[i].value];
        for (size_t i = 0; i < nputs; i++) g->put_value[i] = map[k->updates.at[i].value];
        for (size_t i = 0; i < nreds; i++) {
            fc_val *value = g->red_value + i * FC_MAX_COMPONENTS;
            for (unsigned v = 0; v < FC_MAX_COMPONENTS; v++) value[v] = FC_NOVAL;
            fc_red_values(&k->reductions.at[i], map, value);
        }
        memset(g->narrow, UNUSED, legal);
        find_narrow(g);
        fc_cuda_find_signs(g);
        g->t = (fc_cuda_text){.code = &g->code,
                              .k = k,
                              .out = out,
                              .need = g->need,
                              .done = g->done,
                              .local = g->local,
                              .narrow = g->narrow,
                              .sign = g->sign,
                              .bytes = fc_cuda_computes_bytes(&g->code)};
        for (size_t i = 0; i < fc_cuda_nbodies(k); i++)
            g->t.bytes |= fc_cuda_computes_bytes(&g->bodies[i]);
    } else if (s == FUSEC_OK) {
        s = FUSEC_OUT_OF_MEMORY;
    }
    return s == FUSEC_OK ? s : fc_fail(e, s, "the code of a kernel could not be written as CUDA C");
}

void fc_cuda_gen_free(fc_cuda_gen *g) {
    const fc_alloc *alloc = g->code.alloc;
    fc_cuda_inside_free(g);
    fc_cuda_windows_free(g);
    fc_free(alloc, g->map);
    fc_free(alloc, g->need);
    fc_free(alloc, g->store_value);
    free_bodies(g, alloc);
    fc_loops_free(&g->loops);
    fc_code_free(&g->code);
}

/* Loads and values that are kept, then the loop form, which is shown above the text. */
static fusec_status loops(fc_cuda_gen *g, fc_error *e) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        if (g->cls->cuda.rect_rows)
            g->cached[a] = g->cls->aligned && fc_cuda_of_neighbours(g->k, g->cls, a);
        if (g->cls->cuda.tile_side)
            g->cached[a] = fc_class_move(g->cls, a, g->cls->cuda.tile_axis) == FC_MOVE_ONE;
    }
    fc_cuda_schedule_loops(g);
    if (g->loops.oom) return fc_oom(e);
    FC_TRY(fc_loops_verify(&g->loops, g->k, g->cls, e));
    fc_loops_print(&g->loops, "// ", g->t.out);
    return FUSEC_OK;
}

fusec_status fc_cuda_emit(const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                          const char *name, fc_str *out, fc_error *e) {
    (void)m; /* what a text may depend on is in the class */
    fc_cuda_gen g;
    fusec_status s = fc_cuda_gen_init(&g, k, cls, out, e);
    if (s == FUSEC_OK && cls->cuda.iterations) s = fc_cuda_keep(&g, e);
    if (s == FUSEC_OK && fc_cuda_has_places(cls)) s = fc_ring_open(&g, e);
    if (s == FUSEC_OK && cls->cuda.kind == FC_CUDA_MAP) s = fc_cuda_inside_init(&g, e);
    if (s == FUSEC_OK) s = loops(&g, e);
    if (s == FUSEC_OK) fc_cuda_prelude(&g);
    if (s == FUSEC_OK) fc_cuda_extern_functions(&g);
    for (uint32_t r = 0; s == FUSEC_OK && r < k->reductions.len; r++)
        s = fc_cuda_red_functions(&g, r, e);
    for (uint32_t i = 0; s == FUSEC_OK && i < k->loops.len; i++)
        s = fc_cuda_loop_function(&g, i, e);
    if (s == FUSEC_OK) entry(&g, name);
    if (s == FUSEC_OK && out->oom) s = fc_oom(e);
    fc_ring_close(&g);
    fc_cuda_gen_free(&g);
    return s;
}
