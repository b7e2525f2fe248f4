/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_schedule.c - which sizes of joined products are one launch (cuda_flash.c).
 *
 * A block keeps 128 rows of the left operand, and results of them, and walks over the columns of
 * the first product, once for each stage of what reduces its rows and once for the second product.
 * So k of the first and columns of the second product are few, and rows many. */
#include "codegen/cuda/cuda_flash_facts.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/dot.h"
#include "passes/plan.h"

enum { GROUPS = 9 /* sm_90 */, GROUP_ALIGN = 1 << 10, STATIC_SHARED = 1 << 10 };
enum { LEAST_COLUMNS = 64, SHARE_OF_SMS = 2 }; /* fewer blocks than half of them: three launches */

typedef struct chosen {
    fc_joined *j;
    fc_flash f;
    fc_dot_axes first, last; /* operands of the products */
    uint32_t align;
} chosen;

/* Of the arrays that are passed on, by the nest of the first part. */
static int64_t extent(const chosen *x, uint32_t axis) {
    return x->j->nest[0]->extent[x->f.axis[0][axis]];
}

/* Maps begin at the first element, and sizes are those of what is passed on. */
static bool same_places(const chosen *x) {
    const fc_joined *j = x->j;
    for (uint32_t i = 0; i + 1 < j->n; i++)
        if (j->nest[i]->offset[j->kernel[i]->stores.at[0].access]) return false;
    for (uint32_t i = 1; i < j->n; i++) {
        if (j->nest[i]->offset[x->f.taken[i]]) return false;
        for (uint32_t a = 0; a < x->f.rank; a++)
            if (j->nest[i]->extent[x->f.axis[i][a]] != extent(x, a)) return false;
    }
    return true;
}

/* The operands of the first product: columns stand along the rows; rows along the columns. The
 * last: what is passed on stands along its columns, the other operand along the rows. */
static bool find_sides(chosen *x) {
    fc_joined *j = x->j;
    const fc_nest *a = j->nest[0], *z = j->nest[j->n - 1];
    const uint32_t columns = x->f.axis[0][x->f.rank - 1];
    const bool swapped = !fc_dot_stands(a, x->first.left, columns);
    const uint8_t *rows_of = swapped ? x->first.right : x->first.left,
                  *columns_of = swapped ? x->first.left : x->first.right;
    const bool turned = x->last.right[x->f.taken[j->n - 1]];
    const uint8_t *passed = turned ? x->last.right : x->last.left,
                  *other = turned ? x->last.left : x->last.right;
    if (other[x->f.taken[j->n - 1]] || !fc_dot_stands(a, rows_of, columns) ||
        !fc_dot_stands(z, passed, x->f.across))
        return false;
    uint32_t row = x->f.rank - 1;
    while (row-- > 0) {
        const uint32_t first = x->f.axis[0][row], last = x->f.axis[j->n - 1][row];
        if (!fc_dot_stands(a, rows_of, first) && fc_dot_stands(a, columns_of, first) &&
            fc_dot_stands(z, other, last))
            break;
    }
    if (row == UINT32_MAX) return false;
    fc_flash_set_rows(&x->f, row);
    row = x->f.rank - 2;
    j->cls[0].cuda.dot_swapped = swapped;
    j->cls[0].cuda.dot_axis = (uint16_t)x->f.axis[0][row];
    j->cls[0].cuda.dot_across = (uint16_t)columns;
    j->cls[j->n - 1].cuda.dot_swapped = turned;
    j->cls[j->n - 1].cuda.dot_axis = (uint16_t)x->f.axis[j->n - 1][row];
    j->cls[j->n - 1].cuda.dot_across = (uint16_t)x->f.across;
    return true;
}

/* The access that is an operand as it is; UINT32_MAX: it is computed. */
static uint32_t operand_of(const chosen *x, uint32_t part, bool left) {
    const fc_kernel *k = x->j->kernel[part];
    return fc_cuda_bare(&k->code,
                        k->reductions.at[0].value[left == x->j->cls[part].cuda.dot_swapped]);
}

static uint16_t reads_of(const chosen *x, uint32_t part, bool left, uint32_t axis, uint16_t how) {
    const fc_joined *j = x->j;
    const uint32_t a = operand_of(x, part, left);
    return a != UINT32_MAX && fc_cuda_side_by_side(j->nest[part], a, axis, x->align, FC_CUDA_EIGHT)
               ? how
               : (uint16_t)FC_CUDA_BY_ONE;
}

/* Whether rows are those of a softmax which may be regrouped, and are multiplied as they are. */
static bool goes_once(uint32_t mode, const chosen *x) {
    const uint32_t last = x->j->n - 1;
    return last == 2 && mode & FC_MODE_REASSOC && fc_flash_is_softmax(x->j->kernel[1]) &&
           operand_of(x, last, true) == x->f.taken[last];
}

/* The outer tree, of columns, has runs of elements that are not a thread's. */
static bool has_runs(const fc_kernel *k) {
    for (size_t r = 0; k->schedule == FC_SCHED_OUTER && r < k->reductions.len; r++)
        if (!fc_cuda_any_order(&k->reductions.at[r])) return true;
    return false;
}

static bool choose_texts(const fc_machine *m, uint32_t mode, chosen *x) {
    fc_joined *j = x->j;
    fc_class *first = &j->cls[0], *last = &j->cls[j->n - 1];
    const int64_t deep = j->nest[0]->count, wide = j->nest[j->n - 1]->extent[x->f.across],
                  columns = extent(x, x->f.rank - 1);
    if (deep < 1 || fc_ceil_div(deep, FC_CUDA_DEEP) > FC_FLASH_MOST_DEEP) return false;
    if (wide < 1 || fc_ceil_div(wide, FC_FLASH_BLOCK) > FC_FLASH_MOST_WIDE) return false;
    if (columns < LEAST_COLUMNS) return false;
    first->cuda.flash_deep = (uint16_t)fc_ceil_div(deep, FC_CUDA_DEEP);
    first->cuda.flash_wide = (uint16_t)fc_ceil_div(wide, FC_FLASH_BLOCK);
    first->cuda.flash_once = goes_once(mode, x);
    if (!first->cuda.flash_once && j->n == 3 && has_runs(j->kernel[1])) return false;
    first->cuda.flash_turns = first->cuda.flash_once || fc_flash_together(first) == 1 ? 1 : 2;
    first->cuda.full = columns % FC_FLASH_SIDE == 0;
    first->cuda.dot_left = reads_of(x, 0, true, j->nest[0]->np, FC_CUDA_BY_K);
    first->cuda.dot_right = reads_of(x, 0, false, j->nest[0]->np, FC_CUDA_BY_K);
    last->cuda.dot_right = reads_of(x, j->n - 1, false, x->f.across, FC_CUDA_BY_PLACE);
    const unsigned room =
                       ((unsigned)m->shared_per_block - STATIC_SHARED) / fc_flash_together(first),
                   rows = 2 * fc_flash_rows_room(first) + GROUP_ALIGN,
                   stages = (room - rows) / (2 * fc_flash_stage(first));
    if (room < rows || stages < 2) return false;
    first->cuda.dot_stages = (uint16_t)(stages < 3 ? stages : 3);
    return true;
}

/* One walk leaves hidden tiles out only if what they have is known not to count. */
static fusec_status choose_mask(uint32_t mode, chosen *x, fc_arena *arena, fc_error *e) {
    const uint32_t licence = FC_MODE_NNAN | FC_MODE_NINF;
    const bool finite = (mode & licence) == licence;
    fc_class *first = &x->j->cls[0];
    fc_mask m;
    const fusec_status s = fc_flash_find_mask(x->j, &x->f, finite, arena->alloc, &m);
    if (s == FUSEC_OK && m.n && (!first->cuda.flash_once || fc_flash_hides_all(x->j, &m)))
        first->cuda.flash_mask = finite ? FC_FLASH_FINITE : FC_FLASH_MASKED;
    fc_mask_free(&m);
    return s == FUSEC_OK ? s : fc_fail(e, s, "the mask of a product");
}

static void launch_of(const fc_machine *m, const chosen *x, int64_t tiles, fc_launch *l) {
    const fc_class *cls = &x->j->cls[0];
    const int64_t together = (int64_t)m->sm_count * fc_flash_together(cls);
    const unsigned levels = fc_dot_levels(extent(x, x->f.rank - 1), FC_DOT_CHUNK16);
    memset(l, 0, sizeof *l);
    for (int i = 0; i < 3; i++) l->grid[i] = l->block[i] = 1;
    l->block[0] = FC_CUDA_THREADS;
    l->grid[0] = (uint64_t)(levels && tiles > together ? together : tiles);
    l->shared_bytes =
        2 * (fc_flash_rows_room(cls) + cls->cuda.dot_stages * fc_flash_stage(cls)) + GROUP_ALIGN;
    l->workspace_bytes = (size_t)l->grid[0] * levels * fc_flash_sums(cls) * FC_CUDA_THREADS * 4;
    l->spans = levels;
    l->span = tiles;
}

fusec_status fc_cuda_join_flash(const fc_machine *m, uint32_t mode, uint32_t align, fc_arena *arena,
                                fc_joined *j, fc_launch *l, bool *can, fc_error *e) {
    chosen x = {.j = j, .align = align};
    bool wide = false;
    *can = false;
    if (m->sm_major != GROUPS || m->later || !fc_flash_find(j, &x.f)) return FUSEC_OK;
    for (uint32_t i = 0; i < j->n; i++) {
        if (j->nest[i]->empty || !j->nest[i]->count) return FUSEC_OK;
        FC_TRY(fc_class_of(j->nest[i], FC_TARGET_CUDA, arena, &j->cls[i], e));
        j->cls[i].cuda.kind = FC_CUDA_FLASH;
        j->cls[i].cuda.repeat = 1;
        wide |= j->nest[i]->far;
    }
    if (!same_places(&x)) return FUSEC_OK;
    FC_TRY(fc_dot_find_accesses(j->kernel[0], j->nest[0], arena, &x.first, e));
    FC_TRY(fc_dot_find_accesses(j->kernel[j->n - 1], j->nest[j->n - 1], arena, &x.last, e));
    if (!find_sides(&x) || !choose_texts(m, mode, &x)) return FUSEC_OK;
    FC_TRY(choose_mask(mode, &x, arena, e));
    for (uint32_t i = 0; i < j->n; i++) j->cls[i].wide = wide;
    int64_t tiles = fc_ceil_div(extent(&x, x.f.rank - 2), FC_FLASH_SIDE);
    for (uint32_t a = 0; a + 2 < x.f.rank; a++)
        if (!fc_mul_ok(tiles, extent(&x, a), &tiles)) return FUSEC_OK;
    if (tiles * SHARE_OF_SMS < m->sm_count || tiles > INT32_MAX) return FUSEC_OK;
    launch_of(m, &x, tiles, l);
    if (j->n == 3 && !j->cls[0].cuda.flash_once) j->times[0] = j->kernel[1]->nstages + 1;
    *can = true;
    return FUSEC_OK;
}
