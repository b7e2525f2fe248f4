/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_facts.h - what schedules and texts of the CUDA target both ask of a kernel and a class:
 * numbers, and no text. A schedule (schedule/) includes this and never asks an emitter; emitters
 * never ask a schedule. */
#ifndef FUSEC_CODEGEN_CUDA_CUDA_FACTS_H
#define FUSEC_CODEGEN_CUDA_CUDA_FACTS_H

#include "codegen/facts.h"
#include "codegen/target.h"

/* ---- what follows from a class --------------------------------------------------------------- */

enum { FC_CUDA_MAP_THREADS = 128, FC_CUDA_THREADS = 256 };
enum {
    FC_CUDA_SCAN_TILE = FC_CUDA_THREADS * FC_RUN
};                           /* elements of a row that a block scans at once, at most */
enum { FC_CUDA_LINE = 128 }; /* bytes that DRAM, caches and bulk copies move at once */

/* Threads of a block that scans, and elements of a row that it scans at once. */
static inline unsigned fc_cuda_scan_threads(const fc_class *cls) {
    return cls->cuda.block_rows || cls->cuda.columns ? cls->cuda.team : (unsigned)FC_CUDA_THREADS;
}
/* Of a block that goes down columns: how many it has, `vector` of a thread side by side, and how
 * many runs of each, one below the other. */
static inline unsigned fc_cuda_scan_columns(const fc_class *cls) {
    return 32u * cls->vector;
}
static inline unsigned fc_cuda_scan_down(const fc_class *cls) {
    return fc_cuda_scan_threads(cls) / 32;
}
/* Runs of a thread, neighbours. */
static inline unsigned fc_cuda_scan_runs(const fc_class *cls) {
    return cls->cuda.runs ? cls->cuda.runs : 1;
}
static inline unsigned fc_cuda_scan_tile(const fc_class *cls) {
    return fc_cuda_scan_threads(cls) * fc_cuda_scan_runs(cls) * FC_RUN;
}

/* Whether parts of rows come to shared memory by bulk copies. */
static inline bool fc_cuda_has_places(const fc_class *cls) {
    return cls->cuda.buffers || cls->cuda.warps;
}

/* Of `once` with two kept axes: how many of the repetitions go along the inner one. */
static inline int fc_cuda_repeat_across(const fc_class *cls) {
    return cls->cuda.repeat >= 16 ? 4 : cls->cuda.repeat >= 4 ? 2 : 1;
}

/* How far the four elements of a thread's group are apart. Where rows are not aligned, loads and
 * stores of single elements are cheapest side by side; it takes four times as many exchanges
 * between lanes, so there must be something to reduce in each first. */
static inline unsigned fc_cuda_apart(const fc_class *cls) {
    return !cls->aligned && (fc_cuda_has_places(cls) || cls->cuda.iterations >= 4) ? 32 : 1;
}

/* Threads of a row, or of the part of it that a block has. */
static inline unsigned fc_cuda_team(const fc_class *cls) {
    return cls->cuda.warps ? 32u * cls->cuda.warps : cls->cuda.team;
}

/* Threads of a block of an inner kernel with threads for a row. What a block has kept room for is
 * free again when its last warp is done, so where a thread keeps much of a row (FC_CUDA_ONE) a
 * block is one row; shorter rows come in fours, or nothing would hide how long a block takes to
 * start. */
static inline unsigned fc_cuda_block(const fc_class *cls) {
    const unsigned team = cls->cuda.team;
    if (cls->cuda.own && (team > 32 || cls->cuda.iterations == 8)) return team;
    if (cls->cuda.own && cls->cuda.iterations == 4) return 4 * team;
    return team > FC_CUDA_THREADS ? team : (unsigned)FC_CUDA_THREADS;
}

/* Tiles of a contraction, of pieces whose results are four registers of a thread: on tensor cores a
 * warp makes one of 16 rows and 8 columns, else all threads one of four rows for each of `lines`
 * lines of threads. A tile has so many warps, down and across, with so many pieces each; elements
 * of k of a step, and how many steps are in shared memory if it has room; blocks of an SM; and what
 * a product costs next to those of other tiles. `group`: four warps multiply together, by
 * instructions that go on by themselves (wgmma, sm_90). `piped`: warps without results fetch, and
 * nobody waits for a whole block (cuda_flat.c, sm_90). `bytes`: of elements on
 * tensor cores, if not two: f32 of which they look at the first bits (tf32), 8-bit integers, f64.
 */
typedef struct fc_cuda_tile {
    bool tensor, group, piped;
    uint8_t down, across, high, wide;
    uint16_t depth;
    uint8_t stages, blocks, lines, cost, warps;
    uint8_t bytes;
} fc_cuda_tile;
typedef enum fc_cuda_tile_size {
    FC_CUDA_TILE_LARGE,
    FC_CUDA_TILE_SMALL,
    FC_CUDA_TILE_FLAT,
    FC_CUDA_FMA_LARGE,
    FC_CUDA_FMA_SMALL,
    FC_CUDA_FMA_THIN,
    FC_CUDA_GROUP_LARGE,
    FC_CUDA_GROUP_SMALL,
    FC_CUDA_GROUP_NARROW,
    FC_CUDA_TILE_FLAT_DEEP,
    FC_CUDA_TILE_FLAT_WIDE,
    FC_CUDA_FMA_WHOLE,
    FC_CUDA_PIPE,
    FC_CUDA_PIPE_WIDE,
    FC_CUDA_PIPE_WIDEST,
    FC_CUDA_PIPE_TWO,
    FC_CUDA_PIPE_GROUP,
    FC_CUDA_PIPE_GROUP_WIDE,
    FC_CUDA_PIPE_GROUP_WIDEST,
    FC_CUDA_PIPE_GROUPS,
    FC_CUDA_PIPE_GROUPS_WIDE,
    FC_CUDA_PIPE_GROUPS_WIDEST,
    FC_CUDA_WORDS_WIDE,
    FC_CUDA_WORDS_LARGE,
    FC_CUDA_WORDS_SMALL,
    FC_CUDA_WORDS_FLAT,
    FC_CUDA_DOUBLES_LARGE,
    FC_CUDA_DOUBLES_SMALL,
    FC_CUDA_BYTES_LARGE,
    FC_CUDA_BYTES_SMALL,
    FC_CUDA_BYTES_FLAT,
    FC_CUDA_BYTES_GROUP_LARGE,
    FC_CUDA_BYTES_GROUP_SMALL,
    FC_CUDA_BYTES_GROUP_NARROW,
    FC_CUDA_TILES
} fc_cuda_tile_size;
extern const fc_cuda_tile fc_cuda_tiles[FC_CUDA_TILES];
/* Of an element that tensor cores take; elements of k that they take at once, of 16 bits and of
 * any; neighbours that are one access of shared memory. */
static inline unsigned fc_cuda_tile_bytes(const fc_cuda_tile *t) {
    return t->bytes ? t->bytes : 2;
}
enum { FC_CUDA_DEEP = 16 };
static inline unsigned fc_cuda_tile_deep(const fc_cuda_tile *t) {
    return 32 / fc_cuda_tile_bytes(t);
}
static inline unsigned fc_cuda_tile_group(const fc_cuda_tile *t) {
    return 16 / fc_cuda_tile_bytes(t);
}
static inline const fc_cuda_tile *fc_cuda_tile_of(const fc_class *cls) {
    return &fc_cuda_tiles[cls->cuda.dot_tile];
}
static inline bool fc_cuda_on_tensor_cores(const fc_class *cls) {
    return cls->cuda.kind == FC_CUDA_FLASH ||
           (cls->cuda.kind == FC_CUDA_DOT && fc_cuda_tile_of(cls)->tensor);
}
static inline unsigned fc_cuda_tile_threads(const fc_cuda_tile *t) {
    return 32u * t->warps;
}
/* Whether results of a tile go from registers to where they are stored. */
static inline bool fc_cuda_is_direct(const fc_class *cls) {
    return fc_cuda_tile_of(cls)->stages == 1 && cls->vector == 4;
}
/* By groups of four warps. */
static inline bool fc_cuda_in_groups(const fc_class *cls) {
    return cls->cuda.kind == FC_CUDA_FLASH ||
           (cls->cuda.kind == FC_CUDA_DOT && fc_cuda_tile_of(cls)->group);
}
static inline bool fc_cuda_is_piped(const fc_class *cls) {
    return cls->cuda.kind == FC_CUDA_DOT && fc_cuda_tile_of(cls)->piped;
}
static inline unsigned fc_cuda_piece_rows(const fc_cuda_tile *t) {
    return t->tensor ? 16 : 4 * t->lines;
}
static inline unsigned fc_cuda_piece_columns(const fc_cuda_tile *t) {
    return t->tensor ? 8 : fc_cuda_tile_threads(t) / t->lines;
}
static inline unsigned fc_cuda_tile_rows(const fc_cuda_tile *t) {
    return fc_cuda_piece_rows(t) * t->down * t->high;
}
static inline unsigned fc_cuda_tile_columns(const fc_cuda_tile *t) {
    return fc_cuda_piece_columns(t) * t->across * t->wide;
}
static inline unsigned fc_cuda_tile_accumulators(const fc_cuda_tile *t) { /* of a thread */
    return 4u * t->high * t->wide;
}
static inline unsigned fc_cuda_tile_busy(const fc_cuda_tile *t) { /* threads that have results */
    return t->tensor ? 32u * t->down * t->across : fc_cuda_tile_threads(t);
}
static inline unsigned fc_cuda_tile_results(const fc_cuda_tile *t) {
    return fc_cuda_tile_rows(t) * fc_cuda_tile_columns(t);
}
static inline unsigned fc_cuda_tile_chunk(const fc_cuda_tile *t) { /* of the tree of nest.h */
    return t->tensor && t->bytes != 8 ? FC_DOT_CHUNK16 : FC_DOT_CHUNK;
}
/* How an operand is read: by single elements, computed by the kernel's own code; where it is a bare
 * array, by 16 bytes of neighbours along k or along the rows (columns) of the tile; where it is
 * computed from arrays that lie so, or stand, by what eight neighbours need of them; where it is an
 * array through a window, by 16 bytes whose address is computed for each (AT). */
typedef enum fc_cuda_reads {
    FC_CUDA_BY_ONE,
    FC_CUDA_BY_K,
    FC_CUDA_BY_PLACE,
    FC_CUDA_MADE_BY_K,
    FC_CUDA_MADE_BY_PLACE,
    FC_CUDA_AT_K,
    FC_CUDA_AT_PLACE,
} fc_cuda_reads;
enum { FC_CUDA_EIGHT = 8 }; /* neighbours of 16 bits that are one access of shared memory */
static inline bool fc_cuda_is_made(unsigned reads) {
    return reads == FC_CUDA_MADE_BY_K || reads == FC_CUDA_MADE_BY_PLACE;
}
static inline bool fc_cuda_is_at(unsigned reads) {
    return reads == FC_CUDA_AT_K || reads == FC_CUDA_AT_PLACE;
}
/* The load behind an operand that is a cast of it, or it itself; FC_NOVAL: it is something else. */
fc_val fc_cuda_window_of(const fc_code *c, fc_val operand);
/* Whether an axis is one of the rows or columns of a tile, or numbered together with them. */
static inline bool fc_cuda_is_of_tile(const fc_class *cls, unsigned axis) {
    axis = fc_class_numbered(cls, axis);
    return axis == cls->cuda.dot_axis || axis == cls->cuda.dot_across;
}
/* Whether a contraction numbers several axes as one. */
static inline bool fc_cuda_numbers_axes(const fc_class *cls) {
    return cls->cuda.kind == FC_CUDA_DOT &&
           (cls->nr > 1 || cls->cuda.dot_rows || cls->cuda.dot_columns);
}
/* Whether operands come to shared memory by copies for which no thread waits. */
static inline bool fc_cuda_brings(const fc_class *cls) {
    return fc_cuda_on_tensor_cores(cls) || cls->cuda.slide_rows ||
           (cls->cuda.kind == FC_CUDA_DOT &&
            (cls->cuda.dot_left == FC_CUDA_BY_PLACE || cls->cuda.dot_right == FC_CUDA_BY_PLACE ||
             cls->cuda.dot_left == FC_CUDA_AT_PLACE || cls->cuda.dot_right == FC_CUDA_AT_PLACE ||
             (cls->cuda.dot_left == FC_CUDA_BY_K && fc_cuda_tile_of(cls)->stages == 1)));
}
/* Bytes of an element that come to shared memory, of arrays `used` that move along an axis. */
unsigned fc_cuda_made_bytes(const fc_kernel *k, const fc_class *cls, const uint8_t *used,
                            unsigned axis);
/* Steps that what the columns of a piped tile are made of comes before they are made: so many
 * elements in all. */
enum { FC_CUDA_FLAT_AHEAD = 24 << 10, FC_CUDA_FLAT_LEAST = 3, FC_CUDA_FLAT_MOST = 6 };
static inline unsigned fc_cuda_flat_ahead(const fc_cuda_tile *t) {
    const unsigned n = FC_CUDA_FLAT_AHEAD / (t->depth * fc_cuda_tile_columns(t));
    return n < FC_CUDA_FLAT_LEAST  ? FC_CUDA_FLAT_LEAST
           : n > FC_CUDA_FLAT_MOST ? FC_CUDA_FLAT_MOST
                                   : n;
}
/* Steps that are asked for before they are needed. What a group multiplies is in use for a step
 * more; who fetches for a piped tile is at the step that it asks for. */
static inline unsigned fc_cuda_tile_ahead(const fc_class *cls) {
    const fc_cuda_tile *t = fc_cuda_tile_of(cls);
    if (t->piped) return fc_cuda_is_made(cls->cuda.dot_right) ? fc_cuda_flat_ahead(t) : 0;
    return cls->cuda.dot_stages - (t->group ? 2u : 1u);
}
/* Elements of a line of an operand of `side` rows (columns) in shared memory, and of all of it, of
 * lines along k or across it. Lines side by side meet all banks once, of words across k four of
 * them; those of a group have 128 bytes, whose sixteens change places from line to line. */
static inline unsigned fc_cuda_tile_line(const fc_cuda_tile *t, unsigned side, bool by_k) {
    if (t->group) return 8 * fc_cuda_tile_group(t);
    const unsigned bytes = t->tensor ? fc_cuda_tile_bytes(t) : 4;
    return (by_k ? t->depth : side) + (t->bytes == 8 || (t->bytes == 4 && !by_k) ? 32 : 16) / bytes;
}
static inline unsigned fc_cuda_tile_room(const fc_cuda_tile *t, unsigned side, bool by_k) {
    const unsigned line = fc_cuda_tile_line(t, side, by_k);
    if (t->group) return (by_k || side > line ? side : line) * t->depth;
    return line * (by_k ? side : t->depth);
}
/* Elements of a line of results in shared memory: pieces of tensor cores meet each bank once. */
static inline unsigned fc_cuda_tile_turned(const fc_cuda_tile *t) {
    return fc_cuda_tile_columns(t) + (t->tensor ? 8u : 0u);
}
static inline unsigned fc_cuda_tile_places(const fc_cuda_tile *t) {
    return fc_cuda_tile_rows(t) * fc_cuda_tile_turned(t);
}
/* The array that an operand on tensor cores is, without any work on it, or UINT32_MAX: of 16 bits,
 * or of a tile. */
uint32_t fc_cuda_bare(const fc_code *c, fc_val operand);
uint32_t fc_cuda_bare_of(const fc_cuda_tile *t, const fc_code *c, fc_val operand);

/* ---- small facts ----------------------------------------------------------------------------- */

enum { FC_CUDA_SM_REGISTERS = 65536 };
enum { FC_CUDA_ENOUGH_BLOCKS = 16 }; /* of an SM: a grid of fewer ends with many SMs idle */

static inline int64_t fc_cuda_pow2_up(int64_t v) {
    int64_t p = 1;
    while (p < v) p *= 2;
    return p;
}

static inline unsigned fc_cuda_log2(int64_t p) {
    unsigned n = 0;
    for (; p > 1; p /= 2) n++;
    return n;
}

/* Of an access: bytes of its element; whether it touches memory, not only an index; whether it is a
 * load. */
static inline unsigned fc_cuda_bytes(const fc_kernel *k, uint32_t a) {
    return fc_dtypes[k->accesses.at[a].dtype].bytes;
}
static inline bool fc_cuda_is_memory(const fc_kernel *k, uint32_t a) {
    return k->accesses.at[a].buffer != FC_NO_BUFFER;
}
static inline bool fc_cuda_is_load(const fc_kernel *k, uint32_t a) {
    return fc_cuda_is_memory(k, a) && !fc_is_stored(k, a);
}

/* ---- reductions ----------------------------------------------------------------------------- */

size_t fc_cuda_red_bytes(const fc_reduction *r); /* of struct redN */
/* Whether any order of joins gives the same: a largest or smallest element, sums that wrap. */
bool fc_cuda_any_order(const fc_reduction *r);
/* Words of 32 bits that it takes where blocks tell each other. */
static inline unsigned fc_cuda_red_words(const fc_reduction *r) {
    return (unsigned)(fc_cuda_red_bytes(r) + 3) / 4;
}
/* Of the workspace of a split, see fc_cuda_partials. */
size_t fc_cuda_partial_bytes(const fc_kernel *k, int64_t rows, int64_t spans);

/* ---- bounds on text and registers ------------------------------------------------------------ */

/* Operations of a map that is straight code: it waits for memory, and NVRTC's own start is all that
 * its text costs. */
enum { FC_CUDA_FEW_OPERATIONS = 48 };
/* Whether code for so many elements may stand in a text, with so many functions at most: compile
 * time stays bounded. */
enum { FC_CUDA_FUNCTIONS = 64, FC_CUDA_MAP_FUNCTIONS = 16 };
bool fc_cuda_text_fits(const fc_kernel *k, unsigned elements, unsigned functions);
/* How many times code for `per` elements may stand in the text of one loop turn: a power of two up
 * to `most`. */
int fc_cuda_unroll(const fc_kernel *k, int most, int per);
/* In how many phases each access is loaded; `phases` comes as 0. */
fusec_status fc_cuda_count_phases(const fc_kernel *k, uint8_t *phases, fc_error *e);
/* Bytes that a thread may keep, with `team` threads a row. */
unsigned fc_cuda_cache_limit(unsigned team);
/* Which loads FC_CUDA_ONE keeps: those that at least two phases use, as far as registers allow.
 * Marks them in `cached`; `all` (may be NULL): whether nothing that two phases use was left out. */
fusec_status fc_cuda_cache(const fc_kernel *k, const fc_class *cls, uint8_t *cached, bool *all,
                           fc_error *e);

/* ---- blocks ---------------------------------------------------------------------------------- */

unsigned fc_cuda_block_threads(const fc_kernel *k, const fc_class *cls);
/* How many blocks of an SM there should be room for, 0 for any number; not of gangs, nor of what
 * counts its registers. */
unsigned fc_cuda_min_blocks(const fc_kernel *k, const fc_class *cls);
/* Whether the blocks of an SM follow from the registers that a thread should get (cuda_emit.c). */
static inline bool fc_cuda_counts_registers(const fc_class *cls) {
    return cls->cuda.own && !cls->cuda.roomy;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* How many spans blocks of an outer kernel with y threads a row join at once: a power of two and a
 * multiple of y. */
static inline int fc_cuda_outer_group(int y) {
    return y >= 32 ? y : y < 4 ? 8 * y : 32;
}
/* Bytes of the widest dtype that is read or written. */
unsigned fc_cuda_widest(const fc_kernel *k);
/* How many elements of a run an outer kernel loads before it uses the first. */
int fc_cuda_outer_batch(const fc_kernel *k, const fc_class *cls);

/* ---- rows that several blocks share ---------------------------------------------------------- */

enum { FC_CUDA_MOST_SHARED = 227 << 10 }; /* of a block, on any device so far */
/* Words of an accumulator of each reduction together; sets of slots of a gang, a power of two. */
unsigned fc_cuda_all_words(const fc_kernel *k);
unsigned fc_cuda_gang_sets(const fc_class *cls);
uint32_t fc_cuda_gang_tickets(const fc_kernel *k, const fc_class *cls, int64_t gangs,
                              int64_t parts);
bool fc_cuda_gang_quads(const fc_class *cls); /* what comes ahead comes by four elements */
/* How many threads of an SM have enough registers for a gang's kernel that keeps `cached`. */
unsigned fc_cuda_gang_threads(const fc_kernel *k, const uint8_t *cached);
unsigned fc_cuda_ring_threads(const fc_kernel *k, const fc_class *cls); /* of a block */
/* Which loads come to the ring. */
fusec_status fc_cuda_ring_loads(const fc_kernel *k, const fc_class *cls, uint8_t *comes,
                                fc_error *e);
/* Whether loads that phases have in common can come to shared memory; then `phases`, which has how
 * many need each, says which do. */
bool fc_ring_find_loads(const fc_kernel *k, const fc_class *cls, uint8_t *phases);
/* Elements of a part. */
unsigned fc_ring_part(const fc_class *cls);
/* Bytes of a place for parts of `part` elements, to which `comes` says what comes, before the room
 * of access `a`; of the place. */
unsigned fc_ring_room(const fc_kernel *k, unsigned part, const uint8_t *comes, uint32_t a);
unsigned fc_ring_place_bytes(const fc_kernel *k, unsigned part, const uint8_t *comes);

/* ---- transposed loads, rectangles ------------------------------------------------------------ */

/* Bytes of the widest access that has neighbours along one of the two axes of a tile. */
unsigned fc_cuda_tile_widest(const fc_kernel *k, const fc_class *cls, uint32_t along);
/* Elements from one line of a tile in shared memory to the next: longer than the tile by one bank.
 */
static inline int fc_cuda_tile_pitch(const fc_kernel *k, uint32_t a, int side) {
    return side + (fc_cuda_bytes(k, a) < 4 ? 4 / (int)fc_cuda_bytes(k, a) : 1);
}

/* Axes of a nest that has rectangles. */
enum { FC_RECT_OUTER, FC_RECT_INNER, FC_RECT_ELEMENT, FC_RECT_AXES };
/* An array of elements that differs between neighbours of a rectangle. */
static inline bool fc_cuda_of_neighbours(const fc_kernel *k, const fc_class *cls, uint32_t a) {
    return fc_cuda_is_load(k, a) && k->accesses.at[a].level == FC_POINT &&
           fc_class_move(cls, a, FC_RECT_INNER) != FC_MOVE_ZERO;
}

#endif
