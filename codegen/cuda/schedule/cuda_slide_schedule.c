/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slide_schedule.c - which sizes of two maps are one launch (cuda_slide.c).
 *
 * A block makes a strip of rows of its columns, and what the second map reads above and below it
 * once more. So strips are long, and there are as many blocks as run at a time. */
#include "codegen/cuda/cuda_slide_facts.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "passes/fuse.h"

enum { THREADS = 32 * FC_SLIDE_WARPS, LEAST_MAJOR = 8 /* asynchronous copies */ };
enum { MOST_TURN = 4, MOST_OPERATIONS = 2048 }; /* rows in turn; operations of a turn */
enum { MOST_BLOCKS = 4, MOST_REGISTERS = 200, MOST_SHARED = 48 << 10 };
/* A strip has so many times the rows that it makes for the one above, too, which may cost as much
 * as it costs to write what is passed on and read it again (passes/fuse.h). */
enum { STRIP_OF_SPAN = 2 };

typedef struct chosen {
    fc_joined *j;
    fc_slide f;
} chosen;

static int64_t extent(const chosen *x, unsigned part, uint32_t axis) {
    return x->j->nest[part]->extent[axis];
}

/* Whether what is passed on lies in the order of the axes, from its first element on, and both
 * nests have the same columns and outer axes. */
static bool same_places(const chosen *x) {
    const fc_nest *n = x->j->nest[FC_SLIDE_MAKES];
    const uint32_t store = x->j->kernel[FC_SLIDE_MAKES]->stores.at[0].access;
    int64_t dense = 1;
    if (n->offset[store]) return false;
    for (uint32_t a = n->np; a-- > 0;) {
        if (n->stride[(size_t)store * n->np + a] != dense) return false;
        dense *= n->extent[a];
        if (a != x->f.row && extent(x, 1, a) != n->extent[a]) return false;
    }
    return true;
}

/* Whether the first map reads something that comes ahead, and neighbours of all loads lie side by
 * side. */
static bool reads_in_lines(const chosen *x) {
    for (unsigned p = 0; p < 2; p++)
        for (uint32_t a = 0; a < x->j->kernel[p]->accesses.len; a++)
            if (fc_cuda_is_load(x->j->kernel[p], a) &&
                fc_class_move(&x->j->cls[p], a, x->f.column) == FC_MOVE_ANY)
                return false;
    return x->f.reads[FC_SLIDE_MAKES].len > 0;
}

/* Operations on elements: indices are the same for many. */
static unsigned operations(const fc_kernel *k) {
    unsigned n = 0;
    for (size_t v = 0; v < k->code.ins.len; v++) {
        const fc_instr *i = &k->code.ins.at[v];
        if (!fc_is_elementwise(i->op) || i->dtype == FUSEC_I64 || i->dtype == FUSEC_BOOL) continue;
        n += fc_ops[i->op].flags & FC_F_TRANSCENDENTAL ? 1 + FC_FUNCTION_SLOTS : 1;
    }
    return n;
}

static unsigned widest(const chosen *x) {
    unsigned bytes = 4;
    for (unsigned p = 0; p < 2; p++)
        for (uint32_t a = 0; a < x->j->kernel[p]->accesses.len; a++)
            if (fc_cuda_is_memory(x->j->kernel[p], a) && fc_cuda_bytes(x->j->kernel[p], a) > bytes)
                bytes = fc_cuda_bytes(x->j->kernel[p], a);
    return bytes;
}

/* Registers of a thread: rows that are kept, what a vector reads of a row, what is loaded once, and
 * all else. */
static unsigned registers(const chosen *x, unsigned vector, unsigned rows) {
    const fc_kernel *k = x->j->kernel[FC_SLIDE_MAKES];
    unsigned words = (fc_cuda_bytes(k, k->stores.at[0].access) + 3) / 4, n = 34;
    n += (fc_slide_span(&x->f) - 1 + rows) * vector * words;
    for (size_t i = 0; i < x->f.reads[FC_SLIDE_MAKES].len; i++) {
        const fc_slide_reads *r = &x->f.reads[FC_SLIDE_MAKES].at[i];
        n += ((unsigned)(r->high - r->low) + vector) * ((fc_dtypes[r->dtype].bytes + 3u) / 4);
    }
    for (unsigned p = 0; p < 2; p++)
        for (uint32_t a = 0; a < x->j->kernel[p]->accesses.len; a++)
            n += fc_cuda_is_load(x->j->kernel[p], a) && !(p && x->j->same[a]) &&
                 fc_class_move(&x->j->cls[p], a, x->f.row) == FC_MOVE_ZERO &&
                 fc_class_move(&x->j->cls[p], a, x->f.column) == FC_MOVE_ZERO;
    return n;
}

static bool choose_text(chosen *x, uint32_t align) {
    fc_class *first = &x->j->cls[0];
    const unsigned bytes = widest(x), vector = bytes < 16 ? 16 / bytes : 1,
                   work = (operations(x->j->kernel[0]) + operations(x->j->kernel[1])) * vector;
    unsigned rows = MOST_TURN;
    while (rows > 1 && rows * work > MOST_OPERATIONS) rows /= 2;
    const unsigned own = registers(x, vector, rows);
    if (rows * work > MOST_OPERATIONS || own > MOST_REGISTERS) return false;
    if (FC_SLIDE_WARPS * fc_slide_room(&x->f, x->f.reads[FC_SLIDE_MAKES].len, vector, rows) >
        MOST_SHARED)
        return false;
    const unsigned blocks = FC_CUDA_SM_REGISTERS / THREADS / own;
    first->cuda.slide_rows = (uint16_t)rows;
    first->cuda.slide_blocks = (uint16_t)(blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks);
    for (unsigned p = 0; p < 2; p++) {
        fc_class *cls = &x->j->cls[p];
        cls->vector = (uint8_t)vector;
        cls->cuda.whole = extent(x, p, x->f.column) % vector == 0;
        cls->aligned = cls->cuda.whole && fc_cuda_can_be_wide(x->j->kernel[p], x->j->nest[p], cls,
                                                              x->f.column, vector, align);
    }
    return true;
}

static int64_t least_rows(const chosen *x) {
    const fc_kernel *k = x->j->kernel[FC_SLIDE_MAKES];
    const int64_t span = fc_slide_span(&x->f),
                  saved = 2 * FC_BYTE_SLOTS * fc_cuda_bytes(k, k->stores.at[0].access),
                  again = fc_ceil_div((span - 1) * operations(k), saved);
    return again > STRIP_OF_SPAN * span ? again : STRIP_OF_SPAN * span;
}

/* Strips of rows, as many as let all blocks run at a time, or half of them. */
static bool launch_of(const fc_machine *m, const chosen *x, fc_launch *l) {
    const fc_class *cls = &x->j->cls[0];
    const int64_t down = extent(x, 1, x->f.row), least = least_rows(x),
                  slots = (int64_t)m->sm_count * cls->cuda.slide_blocks;
    int64_t across = fc_ceil_div(extent(x, 1, x->f.column), (int64_t)THREADS * cls->vector);
    for (uint32_t a = 0; a < x->f.row; a++)
        if (!fc_mul_ok(across, extent(x, 1, a), &across)) return false;
    int64_t strips = across < slots ? slots / across : 1;
    if (strips * least > down) strips = down / least;
    if (!strips) return false;
    const int64_t rows = cls->cuda.slide_rows,
                  height = fc_ceil_div(fc_ceil_div(down, strips), rows) * rows;
    strips = fc_ceil_div(down, height);
    if (strips * across * 2 < slots || strips * across > INT32_MAX) return false;
    memset(l, 0, sizeof *l);
    for (int i = 0; i < 3; i++) l->grid[i] = l->block[i] = 1;
    l->grid[0] = (uint64_t)(strips * across);
    l->block[0] = THREADS;
    l->spans = strips;
    l->span = height;
    return true;
}

fusec_status fc_cuda_join_slide(const fc_machine *m, uint32_t align, fc_arena *arena, fc_joined *j,
                                fc_launch *l, bool *can, fc_error *e) {
    chosen x = {.j = j};
    bool wide = false;
    *can = false;
    if (m->sm_major < LEAST_MAJOR || j->n != 2 || j->nest[0]->empty || j->nest[1]->empty ||
        !fc_slide_shifts(j, arena))
        return FUSEC_OK;
    for (uint32_t i = 0; i < j->n; i++) {
        FC_TRY(fc_class_of(j->nest[i], FC_TARGET_CUDA, arena, &j->cls[i], e));
        j->cls[i].cuda.kind = FC_CUDA_SLIDE;
        j->cls[i].cuda.repeat = 1;
        wide |= j->nest[i]->far;
    }
    const bool found = fc_slide_find(j, &x.f);
    *can = found && same_places(&x) && reads_in_lines(&x) &&
           fc_slide_is_itself(&x.f, extent(&x, FC_SLIDE_MAKES, x.f.row)) &&
           choose_text(&x, align) && launch_of(m, &x, l);
    for (uint32_t i = 0; i < j->n; i++) j->cls[i].wide = wide;
    fc_slide_free(&x.f);
    return FUSEC_OK;
}
