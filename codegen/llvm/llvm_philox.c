/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_philox.c - random numbers: the row philox_raw on vectors (ir/philox.h).
 *
 * In: numbers of draws, seeds and streams, one for each lane. Out: the draws. Two draws come from
 * one block, and both halves of a draw are often wanted by neighbours. So where all groups of four
 * lanes (or of two) ask for one block each, which is what consecutive elements do from a multiple
 * of four on, a quarter (a half) of the lanes computes blocks and the results are dealt out. Which
 * it is, is looked at when it runs: so slices, tails and any other index have it, too. */
#include "codegen/llvm/llvm_text.h"

static const char *type_of(fc_ll *f, unsigned W) {
    return fc_ll_type(f, FUSEC_U64, W);
}

static const char *two(fc_ll *f, const char *op, unsigned W, const char *a, const char *b) {
    return fc_ll_ins(f, "%s %s %s, %s", op, type_of(f, W), a, b);
}

static const char *number(fc_ll *f, uint64_t v, unsigned W) {
    return fc_ll_const(f, FUSEC_U64, v, W);
}

static const char *low(fc_ll *f, unsigned W, const char *a) {
    return two(f, "and", W, a, number(f, UINT32_MAX, W));
}
static const char *high(fc_ll *f, unsigned W, const char *a) {
    return two(f, "lshr", W, a, number(f, 32, W));
}

/* The two draws of each block. A word is the low half of a lane of 64 bits, as products are wanted
 * whole. */
static void blocks(fc_ll *f, unsigned W, const char *n, const char *seed, const char *stream,
                   const char *draw[2]) {
    const char *c[4] = {low(f, W, n), high(f, W, n), low(f, W, stream), high(f, W, stream)};
    const char *k[2] = {low(f, W, seed), high(f, W, seed)};
    for (int round = 0; round < 10; round++) {
        const char *a = two(f, "mul", W, c[0], number(f, 0xD2511F53u, W));
        const char *b = two(f, "mul", W, c[2], number(f, 0xCD9E8D57u, W));
        c[0] = two(f, "xor", W, two(f, "xor", W, high(f, W, b), c[1]), k[0]);
        c[2] = two(f, "xor", W, two(f, "xor", W, high(f, W, a), c[3]), k[1]);
        c[1] = low(f, W, b);
        c[3] = low(f, W, a);
        if (round == 9) break;
        k[0] = low(f, W, two(f, "add", W, k[0], number(f, 0x9E3779B9u, W)));
        k[1] = low(f, W, two(f, "add", W, k[1], number(f, 0xBB67AE85u, W)));
    }
    for (int i = 0; i < 2; i++)
        draw[i] = two(f, "or", W, c[2 * i], two(f, "shl", W, c[2 * i + 1], number(f, 32, W)));
}

/* Lanes 0, group, 2 group ... of a. */
static const char *gather(fc_ll *f, unsigned W, unsigned group, const char *a) {
    if (group == 1) return a;
    return fc_ll_pick(f, type_of(f, W), a, NULL, W / group, 0, group, W);
}

/* Each lane `group` times, into W lanes. */
static const char *deal(fc_ll *f, unsigned W, unsigned group, const char *a) {
    unsigned *lane = fc_ll_alloc(f, W * sizeof *lane);
    if (group == 1) return a;
    for (unsigned l = 0; l < W; l++) lane[l] = l / group;
    return fc_ll_shuffle(f, type_of(f, W / group), a, NULL, W, lane);
}

/* Whether each group of lanes is of one value, for all of a[]. */
static const char *alike(fc_ll *f, unsigned W, unsigned group, const char *const a[3]) {
    const char *all = NULL;
    for (int i = 0; i < 3; i++) {
        const char *first = deal(f, W, group, gather(f, W, group, a[i]));
        const char *same = two(f, "icmp eq", W, a[i], first);
        all = all ? fc_ll_ins(f, "and <%u x i1> %s, %s", W, all, same) : same;
    }
    return fc_ll_all_lanes(f, W, all);
}

/* a: numbers of blocks, seeds, streams; odd: the second draw of the block is wanted. */
static const char *by_groups(fc_ll *f, unsigned W, unsigned group, const char *const a[3],
                             const char *odd) {
    const char *draw[2], *all[2], *of[3];
    for (int i = 0; i < 3; i++) of[i] = gather(f, W, group, a[i]);
    blocks(f, W / group, of[0], of[1], of[2], draw);
    for (int i = 0; i < 2; i++) all[i] = deal(f, W, group, draw[i]);
    return fc_ll_select(f, type_of(f, W), W, odd, all[1], all[0]);
}

static const char *by_largest_group(fc_ll *f, unsigned W, unsigned group, const char *const a[3],
                                    const char *odd) {
    if (W % group != 0 || W == 1) group = 1;
    if (group == 1) return by_groups(f, W, 1, a, odd);
    fc_ll_if branch;
    fc_ll_if_begin(f, &branch, alike(f, W, group, a));
    const char *yes = by_groups(f, W, group, a, odd);
    fc_ll_if_else(f, &branch);
    const char *no = by_largest_group(f, W, group / 2, a, odd);
    fc_ll_if_end(f, &branch);
    return fc_ll_either(f, &branch, type_of(f, W), yes, no);
}

const char *fc_ll_philox(fc_ll *f, unsigned W, const char *const *a) {
    const char *one = number(f, 1, W);
    const char *odd = two(f, "icmp ne", W, two(f, "and", W, a[0], one), number(f, 0, W));
    const char *of[3] = {two(f, "lshr", W, a[0], one), a[1], a[2]};
    return by_largest_group(f, W, 4, of, odd);
}
