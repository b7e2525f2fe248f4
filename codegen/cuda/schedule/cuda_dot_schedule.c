/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_schedule.c - contractions in tiles (cuda_dot.c): the larger tiles where there are enough
 * of them for all SMs, or enough parts of k (cuda_dot_parts.c). As many blocks as run at the same
 * time walk over them: each has its own levels in the workspace.
 *
 * 16-bit operands, and f32 that may be rounded, go to tensor cores, whatever their sizes: which
 * bits a result has must not depend on how many others there are. So an axis of columns is any that
 * one operand alone moves along, the innermost of them; an axis of rows any that the other alone
 * moves along; either may be missing, and what remains is walked over tile by tile. Other products
 * have an axis of both, the innermost one among them; matrices too small for any tile go by
 * columns. */
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/blocks.h"
#include "codegen/dot.h"

enum {
    FLAT_ROWS = 16,
    FEW_ROWS = 64,
    STATIC_SHARED = 1 << 10,
    GROUP_ALIGN = 1 << 10,
    GROUPS = 9 /* sm_90 */
};
enum { MOST = 8 };    /* neighbours behind a product, of a thread */
enum { MATRIX = 16 }; /* up to such sizes each thread has a result of its own, as in columns */

static int64_t size_of(const fc_nest *n, unsigned axis) {
    return axis == n->np ? 1 : n->extent[axis];
}

/* Rows, or columns, of all tiles side by side. */
static int64_t side_of(const fc_class *cls, const fc_nest *n, bool columns) {
    const unsigned also = columns ? cls->cuda.dot_columns : cls->cuda.dot_rows;
    int64_t size = size_of(n, columns ? cls->cuda.dot_across : cls->cuda.dot_axis);
    for (unsigned x = 0; x < n->np; x++)
        if (also >> x & 1) size *= n->extent[x];
    return size;
}

static int64_t tiles_of(const fc_class *cls, const fc_nest *n, fc_cuda_tile_size tile) {
    const fc_cuda_tile *t = &fc_cuda_tiles[tile];
    const int64_t rows = side_of(cls, n, false), columns = side_of(cls, n, true);
    return n->rows / rows / columns * fc_ceil_div(rows, fc_cuda_tile_rows(t)) *
           fc_ceil_div(columns, fc_cuda_tile_columns(t));
}

/* Of an accumulator. */
static unsigned bytes_of(const fc_kernel *k, const fc_class *cls) {
    return cls->cuda.dot_narrow ? 4 : fc_dtypes[k->reductions.at[0].dtype].bytes;
}

/* Whether an access is one of rows that lies side by side along an axis: it is read or stored
 * behind the product. */
static bool is_behind(const fc_kernel *k, const fc_nest *n, uint32_t a, unsigned axis) {
    return k->accesses.at[a].level == FC_ROW && fc_cuda_is_memory(k, a) &&
           n->stride[(size_t)a * (n->np + n->nr) + axis] == 1;
}

/* Whether an array walks all axes of k as one. */
static bool is_one_along_k(const fc_nest *n, uint32_t a) {
    const int64_t *stride = n->stride + (size_t)a * (n->np + n->nr);
    for (uint32_t x = n->np; x + 1 < n->np + n->nr; x++)
        if (stride[x] != stride[x + 1] * n->extent[x + 1]) return false;
    return true;
}

static uint16_t reads_of(const fc_kernel *k, const fc_nest *n, fc_val operand, unsigned place,
                         uint32_t align, const fc_cuda_tile *tensor) {
    const fc_instr *i = &k->code.ins.at[operand];
    const uint32_t a = tensor ? fc_cuda_bare_of(tensor, &k->code, operand) : (uint32_t)i->imm;
    const int by = tensor ? (int)fc_cuda_tile_group(tensor) : 4;
    if (a == UINT32_MAX) return FC_CUDA_BY_ONE;
    if (!tensor && (i->op != FC_OP_LOAD || fc_dtypes[i->dtype].bytes != 4 ||
                    i->dtype != k->reductions.at[0].dtype))
        return FC_CUDA_BY_ONE;
    const uint32_t deep = n->np + n->nr - 1, all = (1u << deep) - (1u << n->np);
    if (!is_one_along_k(n, a)) return FC_CUDA_BY_ONE;
    if (fc_cuda_side_by_side_in(n, a, all, deep, align, by)) return FC_CUDA_BY_K;
    return place < n->np && fc_cuda_side_by_side(n, a, place, align, by) ? FC_CUDA_BY_PLACE
                                                                         : FC_CUDA_BY_ONE;
}

/* ---- operands that are computed -------------------------------------------------------------- */

enum { LEAST_COPIED = 4 }; /* bytes at once */
enum { MADE_BYTES = 8 };   /* of an element at most, of all arrays that it is made of */

/* Whether arrays `uses` give a group of neighbours along an axis all that they need by accesses of
 * 4 to 16 bytes, or stand. */
static bool comes_along(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                        const fc_cuda_tile *t, const uint8_t *uses, unsigned axis, uint32_t align) {
    unsigned bytes = 0;
    bool blocks = false; /* indices: of reads that are one for a block */
    if (axis == n->np && n->nr != 1) return false;
    for (uint32_t a = 0; a < n->naccess; a++) {
        blocks |= uses[a] && !fc_cuda_is_memory(k, a);
        if (!uses[a] || !fc_cuda_is_memory(k, a) || !n->stride[(size_t)a * (n->np + n->nr) + axis])
            continue;
        if (!fc_cuda_side_by_side(n, a, axis, align, (int)fc_cuda_tile_group(t)) ||
            fc_cuda_tile_group(t) * fc_cuda_bytes(k, a) < LEAST_COPIED)
            return false;
        bytes += fc_cuda_bytes(k, a);
    }
    if (blocks && fc_cuda_tile_bytes(t) != 2) return false;
    return (bytes || blocks) && bytes <= MADE_BYTES &&
           bytes == fc_cuda_made_bytes(k, cls, uses, axis);
}

static int64_t number_of(const fc_kernel *k, const fc_nest *n, fc_val v) {
    const fc_instr *i = v == FC_NOVAL ? NULL : &k->code.ins.at[v];
    return !i ? 1 : i->op == FC_OP_CONST ? (int64_t)i->imm : n->number[i->imm];
}

/* Whether a read that is one for a block is one for all neighbours along an axis that are made
 * together, or has them side by side: each for itself, or a few together. */
static bool is_read_at_once(const fc_kernel *k, const fc_nest *n, fc_val v, unsigned axis,
                            uint32_t align) {
    enum { TOGETHER = 2 * FC_CUDA_EIGHT };
    fc_block_read b;
    const uint32_t axes = n->np + n->nr;
    if (!fc_find_block_read(k, v, &b)) return false;
    const int64_t *stride = n->stride + (size_t)b.place * axes;
    bool inner = false;
    int by = stride[axis] ? TOGETHER : 1; /* elements that one access reads */
    for (unsigned i = 0; i < b.n; i++) {
        const fc_block_part *p = &b.part[i];
        if (!n->stride[(size_t)p->index * axes + axis]) continue;
        if (inner || stride[axis] || n->offset[p->index] % TOGETHER) return false;
        inner = true;
        if (p->of < FC_CUDA_EIGHT) {
            if (TOGETHER % p->of || number_of(k, n, p->by) != 1) return false;
            by = TOGETHER / (int)p->of;
        } else if (p->of % TOGETHER) {
            return false;
        }
    }
    if (by == 1) return true;
    if (align % 16 || n->extent[axis] % TOGETHER || n->offset[b.place] % by ||
        (stride[axis] && stride[axis] != 1))
        return false;
    for (uint32_t x = 0; x < axes; x++)
        if (x != axis && stride[x] % by) return false;
    for (unsigned i = 0; i < b.n; i++)
        if (!n->stride[(size_t)b.part[i].index * axes + axis] && number_of(k, n, b.part[i].by) % by)
            return false;
    return true;
}

/* Whether the code of an operand is loads and what is done element by element. */
static bool is_plain(const fc_kernel *k, const fc_nest *n, fc_val v, unsigned axis, uint32_t align,
                     unsigned depth) {
    const fc_instr *i = &k->code.ins.at[v];
    const bool leaf = i->op == FC_OP_LOAD || i->op == FC_OP_CONST || i->op == FC_OP_PARAM ||
                      fc_is_single_index(k, v) || is_read_at_once(k, n, v, axis, align);
    if (leaf || depth == 0) return leaf;
    if (i->op != FC_OP_CAST && i->op != FC_OP_BITCAST && i->op != FC_OP_CVT &&
        !fc_is_elementwise(i->op))
        return false;
    for (int o = 0; o < fc_instr_arity(i); o++)
        if (!is_plain(k, n, fc_instr_operand(i, o), axis, align, depth - 1)) return false;
    return true;
}

enum { PLAIN_DEPTH = 12 };

static uint16_t made_of(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                        const fc_cuda_tile *t, fc_val operand, const uint8_t *uses, unsigned place,
                        uint32_t align) {
    if (n->nr != 1) return FC_CUDA_BY_ONE;
    if (comes_along(k, n, cls, t, uses, n->np, align) &&
        is_plain(k, n, operand, n->np, align, PLAIN_DEPTH))
        return FC_CUDA_MADE_BY_K;
    return place < n->np && comes_along(k, n, cls, t, uses, place, align) &&
                   is_plain(k, n, operand, place, align, PLAIN_DEPTH)
               ? FC_CUDA_MADE_BY_PLACE
               : FC_CUDA_BY_ONE;
}

static const uint8_t *uses_of(const fc_class *cls, const fc_dot_axes *of, bool columns) {
    return columns != (bool)cls->cuda.dot_swapped ? of->right : of->left;
}

static bool is_by_k(unsigned reads) {
    return reads == FC_CUDA_BY_K || reads == FC_CUDA_MADE_BY_K;
}

/* Of what comes of an operand in a step. */
static unsigned raw_bytes(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                          const fc_dot_axes *of, const fc_cuda_tile *t, bool columns) {
    const unsigned reads = columns ? cls->cuda.dot_right : cls->cuda.dot_left,
                   place = columns ? cls->cuda.dot_across : cls->cuda.dot_axis,
                   side = (columns ? fc_cuda_tile_columns : fc_cuda_tile_rows)(t);
    if (!fc_cuda_is_made(reads)) return 0;
    return side * t->depth *
           fc_cuda_made_bytes(k, cls, uses_of(cls, of, columns), is_by_k(reads) ? n->np : place);
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* Of dynamic shared memory; as if lines lay in the longer way, but for piped tiles where it is
 * known how they lie. */
static unsigned stage_bytes(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                            const fc_dot_axes *of, const fc_cuda_tile *t) {
    const unsigned each = fc_cuda_tile_bytes(t);
    unsigned bytes = 0;
    for (int s = 0; s < 2; s++) {
        const unsigned side = s ? fc_cuda_tile_columns(t) : fc_cuda_tile_rows(t),
                       reads = s ? cls->cuda.dot_right : cls->cuda.dot_left,
                       along = fc_cuda_tile_room(t, side, true),
                       across = fc_cuda_tile_room(t, side, false);
        if (t->piped && reads != FC_CUDA_BY_ONE)
            bytes += each * (is_by_k(reads) ? along : across);
        else
            bytes += each * (along > across ? along : across) +
                     (t->piped ? 0 : raw_bytes(k, n, cls, of, t, s));
    }
    return bytes;
}

/* What is in shared memory besides the stages. */
static unsigned other_bytes(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                            const fc_dot_axes *of, const fc_cuda_tile *t) {
    return (t->group ? GROUP_ALIGN : 0) +
           (t->piped ? fc_cuda_flat_ahead(t) * raw_bytes(k, n, cls, of, t, true) : 0);
}

/* Stages of a block that has so much shared memory. */
static unsigned room_for(const fc_kernel *k, const fc_nest *n, const fc_class *cls,
                         const fc_dot_axes *of, const fc_cuda_tile *t, unsigned shared) {
    const unsigned other = other_bytes(k, n, cls, of, t);
    return shared > other ? (shared - other) / stage_bytes(k, n, cls, of, t) : 0;
}

static unsigned shared_of(const fc_machine *m, const fc_cuda_tile *t) {
    return (unsigned)m->shared_per_block - STATIC_SHARED + (t->group ? GROUP_ALIGN : 0);
}

/* As many steps as a tile wants, if they have room. */
static uint16_t stages_for(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                           const fc_class *cls, const fc_dot_axes *of, const fc_cuda_tile *t) {
    const unsigned room = room_for(k, n, cls, of, t, shared_of(m, t));
    return (uint16_t)(room < t->stages ? room : t->stages);
}

/* As many stages as a tile wants, and not so many that blocks which could run side by side have no
 * room; an operand is made element by element where there is not even room for two. */
static void find_stages(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                        const fc_dot_axes *of, const fc_cuda_tile *t, int64_t items, fc_class *cls,
                        fc_launch *l) {
    enum { ENOUGH = 4 };
    const unsigned shared = shared_of(m, t);
    if (room_for(k, n, cls, of, t, shared) < 2) {
        if (fc_cuda_is_made(cls->cuda.dot_left)) cls->cuda.dot_left = FC_CUDA_BY_ONE;
        if (fc_cuda_is_made(cls->cuda.dot_right)) cls->cuda.dot_right = FC_CUDA_BY_ONE;
    }
    const bool makes = fc_cuda_is_made(cls->cuda.dot_left) || fc_cuda_is_made(cls->cuda.dot_right);
    /* of a piped tile that is made one more than is ahead: who multiplies leaves a stage when the
     * next is made, and who makes that has asked for what is ahead */
    const unsigned least = !makes     ? ENOUGH
                           : t->piped ? fc_cuda_flat_ahead(t) + 1
                                      : ENOUGH - 1,
                   most = room_for(k, n, cls, of, t, shared),
                   each =
                       items > m->sm_count ? room_for(k, n, cls, of, t, shared / t->blocks) : most,
                   wanted = each > least ? each : least, room = wanted < most ? wanted : most;
    cls->cuda.dot_stages = (uint16_t)(room < t->stages ? room : t->stages);
    l->shared_bytes =
        cls->cuda.dot_stages * stage_bytes(k, n, cls, of, t) + other_bytes(k, n, cls, of, t);
}

static void launch_of(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                      const fc_dot_axes *of, fc_cuda_tile_size tile, bool may_split, fc_class *cls,
                      fc_launch *l) {
    const fc_cuda_tile *t = &fc_cuda_tiles[tile];
    const int64_t tiles = tiles_of(cls, n, tile);
    if (t->piped && tiles * 8 >= m->sm_count * 7) may_split = false; /* each SM reads all it can */
    const int64_t span = may_split ? fc_cuda_dot_span(m, t, tiles, n->count) : n->count,
                  parts = n->count ? fc_ceil_div(n->count, span) : 1, items = tiles * parts,
                  together = (int64_t)m->sm_count *
                             (t->tensor && !t->group && !t->piped && t->blocks > 2 ? 2 : t->blocks);
    const unsigned levels = fc_dot_levels(n->count < span ? n->count : span, fc_cuda_tile_chunk(t)),
                   bytes = bytes_of(k, cls);
    cls->cuda.dot_tile = (uint16_t)tile;
    cls->cuda.dot_stages = t->stages;
    if (t->tensor) find_stages(m, k, n, of, t, items, cls, l);
    cls->cuda.full = t->piped && fc_cuda_is_made(cls->cuda.dot_right) && n->count % t->depth == 0;
    l->block[0] = fc_cuda_tile_threads(t);
    l->grid[0] = (uint64_t)(items < together || t->stages == 1 ? items : together);
    l->workspace_bytes = (size_t)l->grid[0] * levels * fc_cuda_tile_accumulators(t) *
                         fc_cuda_tile_threads(t) * bytes;
    cls->cuda.split = parts > 1 ? FC_CUDA_SPLIT : FC_CUDA_WHOLE;
    cls->cuda.dot_parts = (uint16_t)(parts > 1 ? fc_cuda_pow2_up(parts) : 0);
    l->spans = parts > 1 ? parts : levels;
    l->span = parts > 1 ? span : tiles;
    l->tickets = parts > 1 ? (uint32_t)tiles : 0;
    if (parts > 1) l->workspace_bytes += (size_t)items * fc_cuda_tile_places(t) * bytes;
}

/* Neighbours along the columns that a thread takes behind the product: what fills 16 bytes of the
 * narrowest array that has them side by side, if they are always aligned. */
static uint8_t group_of(const fc_kernel *k, const fc_nest *n, const fc_class *cls, uint32_t align) {
    const unsigned axis = cls->cuda.dot_across, also = cls->cuda.dot_columns;
    int by = 0;
    if (axis != n->np - 1u || !fc_cuda_dot_is_one(k, n, axis, also)) return 1;
    for (uint32_t a = 0; a < k->accesses.len; a++) {
        const int each = 16 / (int)fc_cuda_bytes(k, a);
        if (is_behind(k, n, a, axis) && each > by) by = each;
    }
    if (by > MOST) by = MOST;
    for (uint32_t a = 0; a < k->accesses.len && by; a++)
        if (is_behind(k, n, a, axis) && !fc_cuda_side_by_side_in(n, a, also, axis, align, by))
            return 1;
    return (uint8_t)(by > 1 ? by : 1);
}

static bool stands(const fc_class *cls, const uint8_t *uses, uint32_t axis) {
    for (uint32_t a = 0; a < cls->naccess; a++)
        if (uses[a] && fc_class_move(cls, a, axis) != FC_MOVE_ZERO) return false;
    return true;
}

/* For tensor cores. */
static void find_axes(const fc_dot_axes *of, fc_class *cls) {
    unsigned place[2] = {cls->np, cls->np};
    bool swapped = false;
    for (uint32_t axis = cls->np; axis-- > 0;) {
        const bool left = !stands(cls, of->left, axis), right = !stands(cls, of->right, axis);
        if (left == right) continue;
        if (place[1] == cls->np) {
            place[1] = axis;
            swapped = left;
        } else if (place[0] == cls->np && left != swapped) {
            place[0] = axis;
        }
    }
    cls->cuda.dot_axis = (uint16_t)place[0];
    cls->cuda.dot_across = (uint16_t)place[1];
    cls->cuda.dot_swapped = swapped;
}

/* Few columns of many rows are the rows, as where the others lie does not matter, and there are
 * thin tiles for those: unless tiles as they are fill the SMs. */
static void turn_over(const fc_machine *m, const fc_nest *n, fc_class *cls) {
    const uint16_t down = cls->cuda.dot_axis, across = cls->cuda.dot_across;
    if (size_of(n, across) > FEW_ROWS || size_of(n, across) >= size_of(n, down) ||
        tiles_of(cls, n, FC_CUDA_GROUP_NARROW) * 2 > m->sm_count)
        return;
    cls->cuda.dot_axis = across;
    cls->cuda.dot_across = down;
    cls->cuda.dot_swapped = !cls->cuda.dot_swapped;
}

/* Whether one step is all of k, most of which exists, and both operands come four at a time. */
static bool is_whole(const fc_nest *n, const fc_class *cls, const fc_cuda_tile *t) {
    return cls->cuda.dot_left == FC_CUDA_BY_K && cls->cuda.dot_right != FC_CUDA_BY_ONE &&
           n->count <= t->depth && n->count * 2 > t->depth;
}

/* Whether a product can take a tile: groups are of one architecture alone, of bytes along k; they,
 * and tiles that have an SM for themselves, need shared memory for three steps, others than the
 * smallest for two; accumulators of 64 bits have registers in small tiles of chains only. */
static bool may_take(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                     const fc_dot_axes *of, const fc_class *cls, fc_cuda_tile_size tile,
                     const fc_cuda_tile *tensor) {
    const fc_cuda_tile *t = &fc_cuda_tiles[tile];
    if (t->tensor != (tensor != NULL) || !t->cost || (tensor && t->bytes != tensor->bytes))
        return false;
    if (t->group && (m->sm_major != GROUPS || m->later)) return false;
    if (t->group && t->bytes && !(is_by_k(cls->cuda.dot_left) && is_by_k(cls->cuda.dot_right)))
        return false;
    if (t->group || (t->bytes && t != tensor))
        return stages_for(m, k, n, cls, of, t) >= (t->group || t->blocks == 1 ? 3 : 2);
    if (t->stages == 1 && !is_whole(n, cls, t)) return false;
    return tensor || tile == FC_CUDA_FMA_SMALL || bytes_of(k, cls) == 4;
}

/* Whether what the columns are made of comes by 16 bytes, or stands along lines. */
static bool comes_whole(const fc_kernel *k, const fc_nest *n, const uint8_t *uses, unsigned axis,
                        uint32_t align) {
    for (uint32_t a = 0; a < n->naccess; a++) {
        if (!uses[a] || !fc_cuda_is_memory(k, a)) continue;
        if (n->stride[(size_t)a * (n->np + n->nr) + axis] &&
            !fc_cuda_side_by_side(n, a, axis, align, 16 / (int)fc_cuda_bytes(k, a)))
            return false;
    }
    return true;
}

/* Whether fetchers can bring an operand: an array as it is, in whatever order, or, of the columns,
 * what is made of what comes by 16 bytes. */
static bool can_fetch(const fc_kernel *k, const fc_nest *n, const fc_dot_axes *of,
                      const fc_class *cls, bool columns, uint32_t align) {
    enum { MOST_CAME = 4 }; /* bytes of an element: 64 registers of a thread */
    const unsigned reads = columns ? cls->cuda.dot_right : cls->cuda.dot_left,
                   axis = is_by_k(reads) ? n->np : cls->cuda.dot_across;
    const uint8_t *uses = uses_of(cls, of, true);
    if (!fc_cuda_is_made(reads)) {
        const fc_val v = k->reductions.at[0].value[columns != (bool)cls->cuda.dot_swapped];
        const uint32_t a = fc_cuda_bare(&k->code, v);
        if (reads != FC_CUDA_BY_ONE || a == UINT32_MAX) return reads != FC_CUDA_BY_ONE;
        /* one by one a line of few columns is no more than a few of a warp's loads */
        return !columns || size_of(n, cls->cuda.dot_axis) > FLAT_ROWS ||
               n->stride[(size_t)a * (n->np + n->nr) + n->np] == 1;
    }
    return columns && comes_whole(k, n, uses, axis, align) &&
           fc_cuda_made_bytes(k, cls, uses, axis) <= MOST_CAME;
}

/* Tiles whose warps fetch or multiply, each for itself, for up to so many rows, the widest first.
 * Columns that are made keep the fetchers busy, as what comes one by one does, so few rows are left
 * to single warps. More rows than one group has are left to tiles that fetch together, if no
 * columns are made. */
enum { WIDTHS = 4, WIDE = 2 /* there have to be enough of these */ };
typedef struct widths {
    int64_t rows;
    fc_cuda_tile_size bare[WIDTHS], made[WIDTHS];
} widths;
#define NONE        FC_CUDA_TILES
#define GROUP       FC_CUDA_PIPE_GROUP_WIDEST, FC_CUDA_PIPE_GROUP_WIDE
#define GROUPS_WIDE FC_CUDA_PIPE_GROUPS_WIDEST, FC_CUDA_PIPE_GROUPS_WIDE
static const widths pipes[] = {
    {16,
     {FC_CUDA_PIPE_GROUP_WIDEST, FC_CUDA_PIPE_WIDE, FC_CUDA_PIPE, NONE},
     {FC_CUDA_PIPE_WIDEST, FC_CUDA_PIPE_WIDE, FC_CUDA_PIPE, NONE}},
    {32, {GROUP, FC_CUDA_PIPE_GROUP, NONE}, {GROUP, FC_CUDA_PIPE_TWO, FC_CUDA_PIPE_GROUP}},
    {64, {GROUP, FC_CUDA_PIPE_GROUP, NONE}, {GROUP, FC_CUDA_PIPE_GROUP, NONE}},
    {128, {NONE, NONE, NONE, NONE}, {GROUPS_WIDE, FC_CUDA_PIPE_GROUPS, NONE}},
    {INT64_MAX, {NONE, NONE, NONE, NONE}, {GROUPS_WIDE, NONE, NONE}}};
#undef GROUPS_WIDE
#undef GROUP

/* Whether such a tile has room for its steps, and k is so long that the first and the last of them
 * don't count: else blocks that share an SM do better. */
static bool may_pipe(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                     const fc_dot_axes *of, const fc_class *cls, const fc_cuda_tile *t) {
    enum { ENOUGH = 4 };
    const bool made = fc_cuda_is_made(cls->cuda.dot_right);
    if (t->group && (m->sm_major != GROUPS || m->later || n->count < t->depth * t->stages))
        return false;
    return stages_for(m, k, n, cls, of, t) >= (made ? fc_cuda_flat_ahead(t) + 2 : ENOUGH);
}

/* The widest of which there are half as many blocks as SMs, as it reads the rows least often; NONE:
 * the operands do not come so. */
static fc_cuda_tile_size pipe_of(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                 const fc_dot_axes *of, const fc_class *cls, uint32_t align) {
    const widths *w = pipes;
    const int64_t rows = side_of(cls, n, false);
    const bool made = fc_cuda_is_made(cls->cuda.dot_right),
               slow = made || (rows <= FEW_ROWS && (cls->cuda.dot_left == FC_CUDA_BY_ONE ||
                                                    cls->cuda.dot_right == FC_CUDA_BY_ONE));
    if (m->sm_major < GROUPS || n->nr != 1 || fc_cuda_numbers_axes(cls) ||
        fc_cuda_is_at(cls->cuda.dot_left) || fc_cuda_is_at(cls->cuda.dot_right) ||
        !can_fetch(k, n, of, cls, false, align) || !can_fetch(k, n, of, cls, true, align))
        return NONE;
    while (rows > w->rows) w++;
    for (size_t i = 0; i < WIDTHS; i++) {
        const fc_cuda_tile_size tile = (slow ? w->made : w->bare)[i];
        if (tile == NONE) break;
        const fc_cuda_tile *t = &fc_cuda_tiles[tile];
        const int64_t tiles = tiles_of(cls, n, tile),
                      span = rows > FLAT_ROWS ? fc_cuda_dot_span(m, t, tiles, n->count) : n->count,
                      parts = n->count ? fc_ceil_div(n->count, span) : 1;
        if (i < WIDE && tiles * parts * 2 < m->sm_count) continue;
        if (may_pipe(m, k, n, of, cls, t)) return tile;
    }
    return NONE;
}

/* With one row or a few on tensor cores: the wide one where there are enough of it, else the one
 * with the fewest steps that has room for several of them. */
static fc_cuda_tile_size flat_of(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                 const fc_dot_axes *of, const fc_class *cls) {
    enum { STEPS = 4 };
    if (tiles_of(cls, n, FC_CUDA_TILE_FLAT_WIDE) * 8 >= m->sm_count * 7)
        return FC_CUDA_TILE_FLAT_WIDE;
    return stages_for(m, k, n, cls, of, &fc_cuda_tiles[FC_CUDA_TILE_FLAT_DEEP]) >= STEPS
               ? FC_CUDA_TILE_FLAT_DEEP
               : FC_CUDA_TILE_FLAT;
}

/* The one that takes least. */
static fc_cuda_tile_size tile_of(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                 const fc_dot_axes *of, const fc_class *cls,
                                 const fc_cuda_tile *tensor, uint32_t align) {
    fc_cuda_tile_size best = FC_CUDA_TILE_FLAT;
    double least = 0;
    const fc_cuda_tile_size pipe =
        tensor && !tensor->bytes ? pipe_of(m, k, n, of, cls, align) : NONE;
    if (pipe != NONE) return pipe;
    if (tensor && side_of(cls, n, false) <= FLAT_ROWS)
        return tensor->bytes == 4   ? FC_CUDA_WORDS_FLAT
               : tensor->bytes == 1 ? FC_CUDA_BYTES_FLAT
               : tensor->bytes      ? FC_CUDA_DOUBLES_SMALL
                                    : flat_of(m, k, n, of, cls);
    for (fc_cuda_tile_size i = 0; i < FC_CUDA_TILES; i++) {
        if (!may_take(m, k, n, of, cls, i, tensor)) continue;
        const double cost = fc_cuda_dot_cost(m, &fc_cuda_tiles[i], tiles_of(cls, n, i), n->count);
        if (best != FC_CUDA_TILE_FLAT && cost >= least) continue;
        least = cost;
        best = i;
    }
    return best;
}

/* Operands that are read element by element so far may have another way, and more axes. */
static void find_window(const fc_kernel *k, const fc_nest *n, const fc_dot_axes *of, uint32_t align,
                        const fc_cuda_tile *tensor, bool columns, fc_class *cls) {
    uint16_t *reads = columns ? &cls->cuda.dot_right : &cls->cuda.dot_left,
             *also = columns ? &cls->cuda.dot_columns : &cls->cuda.dot_rows;
    const unsigned axis = columns ? cls->cuda.dot_across : cls->cuda.dot_axis;
    const fc_val value = k->reductions.at[0].value[columns != (bool)cls->cuda.dot_swapped];
    if (*reads != FC_CUDA_BY_ONE || (tensor && fc_cuda_tile_bytes(tensor) != 2)) return;
    *reads = fc_cuda_dot_window(k, n, value, axis, align, tensor != NULL);
    *also = (uint16_t)fc_cuda_dot_join(k, n, uses_of(cls, of, columns), uses_of(cls, of, !columns),
                                       axis);
}

/* The smallest tile of tensor cores that take such elements; NULL: there are none. */
static const fc_cuda_tile *feed_of(const fc_machine *m, const fc_kernel *k, bool narrow) {
    const uint8_t half = k->reductions.at[0].half;
    if (m->sm_major < 8) return NULL;
    if (half != FUSEC_BOOL)
        return &fc_cuda_tiles[half == FUSEC_F32 ? FC_CUDA_WORDS_SMALL : FC_CUDA_TILE_SMALL];
    return narrow && fc_dot_of_bytes(k) ? &fc_cuda_tiles[FC_CUDA_BYTES_SMALL] : NULL;
}

/* Those of f64 that add products as chains of fma do, one by one in order of k: of architectures
 * where random and special values have shown it. */
static const fc_cuda_tile *chains_of(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                     const fc_dot_axes *of) {
    if (m->sm_major != GROUPS || m->later || k->reductions.at[0].dtype != FUSEC_F64 || n->nr != 1)
        return NULL;
    return n->extent[of->down] > FLAT_ROWS && n->extent[n->np - 1] > FLAT_ROWS
               ? &fc_cuda_tiles[FC_CUDA_DOUBLES_SMALL]
               : NULL;
}

fusec_status fc_cuda_dot_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                  uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *l,
                                  fc_error *e) {
    const fc_reduction *r = &k->reductions.at[0];
    const bool narrow = fc_dot_has_bytes(k, n->count) || fc_dot_is_low(k);
    const fc_cuda_tile *tensor = feed_of(m, k, narrow && n->nr == 1);
    const bool any = tensor && tensor->bytes != 1; /* sums of integers are the same in any kernel */
    fc_dot_axes of;
    FC_TRY((any ? fc_dot_find_accesses : fc_dot_find_axes)(k, n, arena, &of, e));
    if (!any && (!of.found || (n->extent[of.down] <= MATRIX && n->extent[n->np - 1] <= MATRIX)))
        return FUSEC_OK;
    cls->cuda.dot_narrow = narrow;
    if (!tensor) tensor = chains_of(m, k, n, &of);
    if (tensor) {
        find_axes(&of, cls);
        if (!tensor->bytes) turn_over(m, n, cls);
    } else {
        /* few columns: then they are the rows of a thin tile */
        const bool few = bytes_of(k, cls) == 4 && n->extent[n->np - 1] <= FLAT_ROWS;
        cls->cuda.dot_axis = (uint16_t)(few ? n->np - 1 : of.down);
        cls->cuda.dot_across = (uint16_t)(few ? of.down : n->np - 1);
        cls->cuda.dot_swapped = few;
    }
    const bool swapped = cls->cuda.dot_swapped;
    cls->cuda.kind = FC_CUDA_DOT;
    cls->cuda.dot_left = reads_of(k, n, r->value[swapped], cls->cuda.dot_axis, align, tensor);
    cls->cuda.dot_right = reads_of(k, n, r->value[!swapped], cls->cuda.dot_across, align, tensor);
    if (tensor && cls->cuda.dot_left == FC_CUDA_BY_ONE)
        cls->cuda.dot_left = made_of(k, n, cls, tensor, r->value[swapped],
                                     swapped ? of.right : of.left, cls->cuda.dot_axis, align);
    if (tensor && cls->cuda.dot_right == FC_CUDA_BY_ONE)
        cls->cuda.dot_right = made_of(k, n, cls, tensor, r->value[!swapped],
                                      swapped ? of.left : of.right, cls->cuda.dot_across, align);
    for (int s = 0; s < 2; s++) find_window(k, n, &of, align, tensor, s, cls);
    cls->vector = group_of(k, n, cls, align);
    cls->wide = n->far;
    const fc_cuda_tile_size tile = tile_of(m, k, n, &of, cls, tensor, align);
    launch_of(m, k, n, &of, tile, true, cls, l);
    return FUSEC_OK;
}

fusec_status fc_cuda_dot_plain(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                               fc_arena *arena, fc_class *cls, fc_launch *l, fc_error *e) {
    const fc_cuda_tile *const tensor = feed_of(m, k, false);
    fc_dot_axes of;
    if (!tensor) return FUSEC_OK;
    FC_TRY(fc_dot_find_accesses(k, n, arena, &of, e));
    find_axes(&of, cls);
    cls->cuda.kind = FC_CUDA_DOT;
    cls->cuda.dot_left = cls->cuda.dot_right = FC_CUDA_BY_ONE;
    cls->vector = 1;
    launch_of(m, k, n, &of, (fc_cuda_tile_size)(tensor - fc_cuda_tiles), false, cls, l);
    return FUSEC_OK;
}

bool fc_cuda_dot_smaller(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                         fc_launch *l) {
    static const struct {
        fc_cuda_tile_size from, to;
    } smaller[] = {{FC_CUDA_GROUP_LARGE, FC_CUDA_TILE_LARGE},
                   {FC_CUDA_GROUP_SMALL, FC_CUDA_TILE_LARGE},
                   {FC_CUDA_GROUP_NARROW, FC_CUDA_TILE_SMALL},
                   {FC_CUDA_TILE_LARGE, FC_CUDA_TILE_SMALL},
                   {FC_CUDA_WORDS_WIDE, FC_CUDA_WORDS_LARGE},
                   {FC_CUDA_WORDS_LARGE, FC_CUDA_WORDS_SMALL},
                   {FC_CUDA_BYTES_GROUP_LARGE, FC_CUDA_BYTES_LARGE},
                   {FC_CUDA_BYTES_GROUP_SMALL, FC_CUDA_BYTES_LARGE},
                   {FC_CUDA_BYTES_GROUP_NARROW, FC_CUDA_BYTES_SMALL},
                   {FC_CUDA_BYTES_LARGE, FC_CUDA_BYTES_SMALL},
                   {FC_CUDA_DOUBLES_LARGE, FC_CUDA_DOUBLES_SMALL},
                   {FC_CUDA_FMA_LARGE, FC_CUDA_FMA_SMALL},
                   {FC_CUDA_FMA_WHOLE, FC_CUDA_FMA_SMALL}};
    fc_arena arena;
    fc_dot_axes of;
    fc_error e = {0};
    size_t i = 0;
    while (i < FC_COUNT(smaller) && cls->cuda.dot_tile != (uint16_t)smaller[i].from) i++;
    if (i == FC_COUNT(smaller)) return false;
    fc_arena_init(&arena, k->code.alloc);
    const bool found = fc_dot_find_accesses(k, n, &arena, &of, &e) == FUSEC_OK;
    if (found) launch_of(m, k, n, &of, smaller[i].to, true, cls, l);
    fc_arena_free(&arena);
    return found;
}
